"""Claims can fail: with a wrong constant, sign or index in the library, the claim's own comparisons reject it."""

import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import leadline.claims
from leadline.evidence import Comparison, Verdict, entry, run_entry

leadline.claims.load()


def scaled(factor):
    """The right function with its result multiplied by a wrong constant."""
    return lambda right: lambda *args, **kwargs: right(*args, **kwargs) * factor


def with_field(name, factor):
    """The right function with one field of its result multiplied by a wrong constant."""

    def mutate(right):
        def wrong(*args, **kwargs):
            result = right(*args, **kwargs)
            return result._replace(**{name: getattr(result, name) * factor})

        return wrong

    return mutate


def shifted_argument(right):
    """The count of n + 1 things where n were asked for: the off-by-one that textbooks print."""
    return lambda n, *args, **kwargs: right(n + 1, *args, **kwargs)


def last_input_kept(right):
    """The sub-network in which the last unit of each layer is never masked."""

    def wrong(network, masks):
        return right(network, [None if mask is None else jnp.asarray(mask).at[..., -1].set(1.0) for mask in masks])

    return wrong


def moved_without_inverse(right):
    """Signals moved by X(gz), which turns the order of products round."""
    return lambda group, g, signal: jnp.asarray(signal)[group.table[g]]


def one_place(right):
    """The value at one position in place of the mean over all."""
    return lambda layers, bank: jnp.concatenate([layer.moduli[..., 0, 0] for layer in layers], -1)


def targets_now(right):
    """The task of the next token with the current one as target."""
    return lambda tokens, mask=None: right(tokens, mask)._replace(targets=tokens[:, :-1])


MUTATIONS = [
    # entry, function of the library, what goes wrong
    ("kalman-filter", "sequences.estimation.filtering.kalman_filter", with_field("means", 1.001)),
    (
        "linear-gaussian-ssm",
        "sequences.estimation.joint_distribution.joint_distribution",
        with_field("state_covariance", 1.001),
    ),
    ("kalman-one-step-update", "sequences.estimation.point_mass.point_mass_filter", with_field("variances", 1.001)),
    ("riccati-steady-state", "sequences.estimation.steady_state.riccati_path", scaled(1.001)),
    ("kalman-sufficient-statistic", "sequences.estimation.filtering.kalman_filter", with_field("means", 1.01)),
    ("sufficiency-gap", "sequences.memory.sufficiency_gap.linear_state_gap", with_field("best", 0.99)),
    ("kalman-smoother", "sequences.estimation.smoothing.kalman_smoother", with_field("covariances", 1.001)),
    ("steady-kalman-is-linear-rnn", "sequences.estimation.steady_state.steady_state", with_field("gain", 1.01)),
    ("parallel-scan", "sequences.linear_recurrences.prefix_scans.prefix_scan", with_field("work", 2)),
    (
        "lru-universality",
        "sequences.linear_recurrences.input_windows.window_matrix",
        lambda right: lambda values, length, *weights: right(values, length, *weights)[:, ::-1],
    ),
    (
        "generic-diagonalisability",
        "sequences.linear_recurrences.diagonalisation.perturbed_jordan_block",
        lambda right: lambda size, corner, *value: right(size, 2 * corner, *value),
    ),
    (
        "n-gram-language-model",
        "sequences.text.ngrams.fit_ngrams",
        lambda right: lambda tokens, order, **options: right(tokens, order, **(options | {"smoothing": "add-k"})),
    ),
    ("perplexity", "sequences.text.perplexity.perplexity", scaled(1.001)),
    ("exposure-bias", "sequences.translation.exposure.predicted_horizon", scaled(1.5)),
    ("autoregressive-factorisation", "sequences.translation.encoder_decoder.text_log_probability", scaled(1.01)),
    (
        "convolution-discrete",
        "convolution.algebra.discrete.convolve",
        lambda right: lambda f, h, *mode: right(f, h[::-1], *mode),
    ),
    ("conv-spectral-norm", "convolution.algebra.layer_spectra.layer_singular_values", scaled(1.001)),
    (
        "toeplitz-matrix",
        "convolution.algebra.matrices.convolution_matrix",
        lambda right: lambda h, *a: right(h[::-1], *a),
    ),
    ("fourier-transform", "convolution.algebra.continuous.fourier_transform", with_field("values", 1.001)),
    ("image-filters", "convolution.algebra.image_filters.sobel_gradient", with_field("direction", -1)),
    (
        "centre-surround-filter",
        "convolution.algebra.image_filters.frequency_response",
        lambda right: lambda *a: right(*a) + 0.01,
    ),
    (
        "transposed-convolution",
        "convolution.algebra.transposed.overlap_counts",
        lambda right: lambda k, s, n: right(k + 1, s, n)[:-1],
    ),
    ("bayes-error", "regularisation.evaluation.nearest_neighbour_bracket.cover_hart_ceiling", scaled(0.7)),
    ("bias-variance-decomposition", "regularisation.evaluation.bias_variance.squared_terms", with_field("truth", 1.1)),
    ("u-shaped-risk-curve", "regularisation.evaluation.bias_variance.linear_terms", with_field("variance", 1.3)),
    ("zero-one-bias-variance", "regularisation.evaluation.bias_variance.zero_one_terms", with_field("variance", 1.01)),
    ("aggregation-by-loss", "regularisation.evaluation.bias_variance.aggregate", scaled(1.01)),
    (
        "k-fold-cross-validation",
        "regularisation.evaluation.cross_validation.cross_validate",
        with_field("test_size", 0.1),
    ),
    (
        "validation-overfitting",
        "regularisation.evaluation.selection_optimism.selection_optimism",
        with_field("exact", 1.05),
    ),
    (
        "validation-overfitting",
        "regularisation.evaluation.selection_optimism.attack_accuracy",
        with_field("exact", 0.95),
    ),
    ("paired-model-comparison", "regularisation.evaluation.paired_comparisons.holm", lambda right: np.asarray),
    ("paired-model-comparison", "regularisation.evaluation.paired_comparisons.mcnemar", with_field("p_value", 0.3)),
    ("error-regime-diagnosis", "regularisation.evaluation.error_regimes.diagnose", with_field("step", -1)),
    ("dropout-mask-moments", "regularisation.masks.dropout_regression.masked_moments", with_field("second", 1.001)),
    ("dropout-is-weighted-ridge", "regularisation.masks.dropout_regression.dropout_ridge", scaled(1.05)),
    ("dropout-masks-inputs-or-weights", "regularisation.masks.sub_networks.sub_network", last_input_kept),
    ("dropout-ensemble", "regularisation.masks.mask_ensembles.mask_ensemble", with_field("probabilities", 1.01)),
    ("dropout-weight-scaling-accuracy", "regularisation.masks.sub_networks.sub_network", last_input_kept),
    (
        "dropout",
        "regularisation.layers.dropout.convert_dropout",
        lambda right: lambda weight, p, *, to: right(weight, 1.01 * p, to=to),
    ),
    (
        "loo-ridge-shortcut",
        "regularisation.penalties.leave_one_out.ridge_leave_one_out",
        with_field("residuals", 1.001),
    ),
    ("ridge-spectral-form", "regularisation.penalties.filtered_fits.filtered_fits", with_field("weights", 1.001)),
    ("l2-spectral-shrinkage", "regularisation.penalties.spectral_filters.filtered_minimiser", scaled(1.001)),
    ("early-stopping-spectral-filter", "regularisation.penalties.spectral_filters.filtered_minimiser", scaled(1.001)),
    ("early-stopping-matches-ridge", "regularisation.penalties.spectral_risk.filter_risk", with_field("variance", 1.3)),
    (
        "norm-constraint-acts-late",
        "regularisation.penalties.penalty_rules.constrained",
        lambda right: lambda rule, radius, **k: right(rule, 0.9 * radius, **k),
    ),
    (
        "weight-decay",
        "regularisation.penalties.penalty_rules.decoupled_decay",
        lambda right: lambda rule, step, decay, **k: right(rule, step, 1.01 * decay, **k),
    ),
    ("double-descent", "regularisation.penalties.feature_sweeps.feature_sweep", with_field("test", 1.001)),
    ("covariate-shift", "regularisation.shift.detector.detect_shift", with_field("p_value", 0.2)),
    (
        "importance-weighted-erm",
        "regularisation.shift.weighted_fits.weighted_least_squares",
        lambda right: lambda x, y, weights, **k: right(x, y, weights**0.5, **k),
    ),
    ("distillation-gradient", "regularisation.distillation.students.distillation_loss", scaled(1.001)),
    ("infonce-lower-bound", "regularisation.pretraining.contrastive_coding.autoregression_information", scaled(1.1)),
    ("feature-normalisation", "regularisation.statistics.feature_normalisation.normalise_features", scaled(1.0001)),
    (
        "batch-norm-backward",
        "regularisation.statistics.feature_normalisation.normalise_features_gradient",
        scaled(1.0001),
    ),
    ("layer-normalisation", "regularisation.statistics.feature_normalisation.normalise_features_gradient", scaled(-1)),
    (
        "relu-after-standardising",
        "regularisation.statistics.feature_normalisation.rectified_moments",
        lambda right: lambda *a: tuple(1.001 * value for value in right(*a)),
    ),
    ("running-statistics", "regularisation.statistics.running_averages.running_law", with_field("variance_share", 1.2)),
    (
        "weight-norm-gradients",
        "regularisation.layers.weight_normalisation.weight_norm_gradients",
        lambda right: lambda *a: (right(*a)[0], 1.0001 * right(*a)[1]),
    ),
    ("whitening", "regularisation.layers.whitening.fit_whitening", with_field("transform", 1.0001)),
    ("weight-norm-equals-batch-norm", "regularisation.layers.whitening.fit_whitening", with_field("transform", 1.001)),
    (
        "novikoff-bound",
        "linear_classifiers.margins.mistake_bounds.mistake_bound",
        lambda right: lambda *a, **k: right(*a, **k) // 2,
    ),
    ("max-margin-classifier", "linear_classifiers.margins.hard_margin.max_margin", with_field("margin", 1.05)),
    ("hyperplane-distance", "linear_classifiers.perceptrons.hyperplane.signed_distance", scaled(1.01)),
    ("perceptron-is-sgd", "linear_classifiers.perceptrons.subgradient.perceptron_loss", scaled(-1)),
    ("cover-count", "linear_classifiers.dichotomies.cover.cover_count", shifted_argument),
    ("cover-capacity-transition", "linear_classifiers.dichotomies.cover.cover_share", shifted_argument),
    ("gelu", "networks.activations.gelu_derivative", scaled(-1)),
    ("learned-prior-search", "neurons.agents.prior_search.expected_looks", scaled(1.2)),
    ("hopfield-bit-flip", "memories.crosstalk.bit_flip_probability", scaled(1.3)),
    ("hopfield-crosstalk-identity", "memories.crosstalk.crosstalk_sums", scaled(-1)),
    ("hopfield-effective-field", "memories.hopfield.energy", scaled(2)),
    ("hopfield-capacity-transition", "memories.capacity.mean_field_overlap", scaled(0.97)),
    ("modern-hopfield-is-attention", "memories.modern.modern_update", scaled(1.0001)),
    ("dense-memory-capacity", "memories.dense.dense_bit_error", scaled(1.5)),
    ("channel-coding-pipeline", "neurons.coding.channel.channel_capacity", scaled(0.5)),
    ("gaussian-product-lyapunov", "networks.signal.lyapunov.gaussian_product_exponents", scaled(1.05)),
    (
        "effective-parameter-count",
        "networks.jacobian_rank.two_layer_rank",
        lambda right: lambda *a, **k: right(*a, **k) + 1,
    ),
    ("softmax-jacobian", "learning.classification.softmax_loss.softmax_jacobian", scaled(1.001)),
    ("cross-entropy", "learning.classification.softmax_loss.cross_entropy", scaled(-1)),
    ("sgd-unbiased", "stochastic.moments.batch_rules.noise_share", scaled(1.01)),
    ("drop-one-identity", "learning.importance.drop_one_rise", scaled(1.0001)),
    (
        "ridge-regression",
        "learning.regression.ridge_path.ridge",
        lambda right: lambda x, y, gamma, **k: right(x, y, 2 * gamma, **k),
    ),
    ("plug-in-interval-undercovers", "learning.regression.gaussian_model.plug_in_coverage", scaled(1.03)),
    ("error-decomposition", "learning.risk.error_terms.uniform_gap", with_field("value", 0.05)),
    ("gaussian-kl-formula", "probability.information.gaussian_kl", scaled(1.1)),
    ("poisson-limit", "probability.tail_bounds.poisson_distance", scaled(1.1)),
    ("curse-of-dimensionality", "kernels.features.neighbours.asymptotic_neighbour_distance", scaled(1.2)),
    ("feature-dimension-count", "kernels.features.monomials.monomial_count", shifted_argument),
    ("mercer-expansion", "kernels.mercer.brownian_eigenvalues", scaled(1.02)),
    ("fourier-feature-variance", "kernels.approximations.fourier.fourier_variance", scaled(1.2)),
    ("finite-width-kurtosis", "infinite_width.layers.layer_draws.output_kurtosis", scaled(1.1)),
    ("last-layer-gram", "tangent.last_layer.last_layer_gram", scaled(1.001)),
    ("empirical-ntk", "tangent.empirical_ntk.empirical_ntk", scaled(1.001)),
    ("barrier-crossing-kramers", "chains.gibbs.kramers_time", scaled(2)),
    ("momentum-stability-region", "optimisation.bounds.step_limits.stable_step_limit", scaled(1.01)),
    ("gd-rate-convex", "optimisation.bounds.rate_bounds.gd_convex_bound", scaled(0.999)),
    ("occupation-time", "chains.mixing.time_average_variance", scaled(9)),
    (
        "sgd-stationary-variance-1d",
        "stochastic.moments.moments.LeastSquaresMoments",
        lambda right: lambda x, y: right(x, 1.1 * y),
    ),
    ("nesterov-rate-convex", "optimisation.bounds.rate_bounds.nesterov_convex_bound", scaled(0.1)),
    ("kac-return-time", "chains.invariant.return_times", scaled(1.001)),
    ("ema-averaging-variance", "stochastic.averaging.decay_variance_factor", scaled(1.2)),
    ("sgd-heavy-tails", "stochastic.moments.kesten.kesten_tail_index", scaled(1.5)),
    ("block-optimal-factors", "landscape.deep_linear.block_optima.best_encoder", scaled(1.001)),
    ("stagewise-mode-learning", "landscape.deep_linear.mode_curves.mode_strength", scaled(1.1)),
    (
        "saddle-family-count",
        "landscape.deep_linear.critical_atlas.count_families",
        lambda right: lambda *a, **k: right(*a, **k) + 1,
    ),
    ("ellipsoid-volume", "landscape.sloppiness.weight_ellipsoids.ellipsoid_volume", scaled(1.1)),
    (
        "vandermonde-sloppiness",
        "landscape.sloppiness.models.vandermonde_matrices.vandermonde_log10_determinant",
        scaled(1.01),
    ),
    ("covering-radius-rate", "landscape.surfaces.random_coverings.covering_constant", scaled(0.8)),
    (
        "contour-axes",
        "landscape.sloppiness.weight_ellipsoids.semi_axes",
        lambda right: lambda *a: (1.01 * right(*a)[0], right(*a)[1]),
    ),
    ("effective-dimension", "landscape.sloppiness.effective_dimensions.effective_dimension", scaled(1.01)),
    ("great-circle-geodesic", "landscape.sloppiness.manifolds.model_manifolds.haversine", scaled(1.001)),
    ("evidence", "bayes.linear_posteriors.linear_log_evidence", scaled(1.001)),
    ("hoeffding-and-test-set-size", "generalisation.held_out_bounds.hoeffding_test_size", scaled(2)),
    ("vc-finite-class", "generalisation.capacity.growth_functions.class_vc_dimension", scaled(2)),
    ("diagonal-gaussian-kl", "generalisation.pac_bayes_bounds.diagonal_gaussian_kl", scaled(1.1)),
    ("change-of-measure", "generalisation.pac_bayes_bounds.change_of_measure_gap", scaled(-1)),
    ("linear-minimal-perturbation", "robustness.linear_distances.boundary_distances", scaled(1.01)),
    ("norm-balls", "robustness.attacks.norm_projections.project", scaled(1.01)),
    ("fgsm", "robustness.attacks.gradient_attacks.fgsm", scaled(-1)),
    (
        "noise-injection",
        "regularisation.noise.injected_noise.noisy_inputs",
        lambda right: lambda x, scale, *, key: right(x, 1.2 * scale, key=key),
    ),
    ("input-noise-is-ridge", "regularisation.noise.noise_penalties.input_noise_ridge", scaled(1.2)),
    ("input-noise-is-ridge", "regularisation.noise.noise_penalties.input_noise_penalty", scaled(1.01)),
    ("weight-noise-trace-penalty", "regularisation.noise.noise_penalties.smoothed_losses", scaled(1.01)),
    ("virtual-examples", "regularisation.noise.virtual_examples.virtual_sample_size", with_field("correlation", 0.9)),
    ("bootstrap", "regularisation.committees.resamples.distinct_share", scaled(1.02)),
    ("bagging-committee", "regularisation.committees.resamples.left_out_mean", scaled(1.5)),
    ("bagging-variance", "regularisation.committees.committee_variance.member_moments", with_field("products", 0.8)),
    ("boosting", "regularisation.committees.boosting.adaboost", with_field("weights", 1.001)),
    ("boosting-training-error-bound", "regularisation.committees.boosting.adaboost", with_field("errors", 0.99)),
    ("train-eval-audit", "regularisation.modes.auditing._noise", lambda right: lambda *a: None),
    ("jitter-is-ridge", "regularisation.noise.noise_penalties.input_noise_ridge", scaled(1.2)),
    ("jitter-augmentation-smooths", "convolution.augmentation.kernel_smoother.jitter_limit", scaled(1.1)),
    ("augmentation-effective-size", "convolution.augmentation.worth.effective_training_size", with_field("size", 1.01)),
    (
        "label-preservation",
        "convolution.augmentation.transition_matrices.label_transitions",
        with_field("exchanged", 0),
    ),
    (
        "finite-group-convolution",
        "geometry.groups.group_convolutions.group_convolution",
        lambda right: lambda group, kernel, signal: right(group, jnp.asarray(kernel)[group.inverses], signal),
    ),
    (
        "group-convolution-equivariance",
        "geometry.groups.group_convolutions.group_convolution_matrix",
        lambda right: lambda group, kernel: right(group, kernel)[::-1],
    ),
    ("finite-group-signals", "geometry.groups.group_convolutions.translate", moved_without_inverse),
    ("haar-invariance", "geometry.groups.haar_measures.modular_factor", scaled(1.01)),
    ("finite-groups", "geometry.groups.finite_group.table_fault", lambda right: lambda table: None),
    ("group-representations", "geometry.groups.representations.multiplicities", scaled(2)),
    (
        "group-smoothing",
        "geometry.groups.smoothing.smooth",
        lambda right: lambda f, group, *more: right(f, getattr(group, "matrices", group)[:-1]),
    ),
    (
        "equivariant-linear-maps",
        "geometry.groups.equivariant_maps.equivariant_basis",
        lambda right: lambda rho, sigma: right(rho, sigma)[1:],
    ),
    ("smoothing-reduces-risk", "geometry.groups.smoothing.smooth", lambda r: lambda f, m: r(f, m[: len(m) // 2])),
    (
        "symmetry-defect",
        "geometry.groups.symmetry_defects.relabel_nodes",
        lambda right: lambda p, graph: (graph[0][p], graph[1][p]),
    ),
    (
        "train-eval-audit",
        "regularisation.modes.layer_findings.offset",
        lambda right: lambda running, measured: right(measured, measured),
    ),
    ("infonce-lower-bound", "regularisation.pretraining.contrastive_coding.info_nce", scaled(0.9)),
    ("knowledge-distillation", "regularisation.distillation.students.distillation_loss", scaled(-1)),
    (
        "batch-norm-weight-direction",
        "regularisation.layers.normalisation.BatchNorm",
        lambda right: lambda channels, *, eps, **k: right(channels, eps=eps + 1e-3, **k),
    ),
    ("pooling", "convolution.pooling.windows.average_pool", scaled(1.001)),
    (
        "max-pooling-backward",
        "convolution.pooling.routed_gradients.max_pool_gradient",
        lambda right: lambda x, upstream, *a, ties="first", **k: right(-x, upstream, *a, ties=ties, **k),
    ),
    (
        "pooling-equivariance",
        "convolution.pooling.windows.max_pool",
        lambda right: lambda x, window, stride=None, **k: right(x, window, stride, **k).at[..., 0].multiply(1.01),
    ),
    (
        "average-pooling-smooths",
        "convolution.pooling.shift_spectra.average_gains",
        lambda right: lambda *a: right(*a) + 1e-6,
    ),
    (
        "max-pooling-local-invariance",
        "convolution.pooling.windows.max_pool",
        lambda right: lambda x, window, stride=None, **k: right(x, max(window - 1, 1), stride or window, **k),
    ),
    ("fourier-modulus", "convolution.scattering.wave_packets.dilated_modulus_change", scaled(1.01)),
    ("gabor-wavelets", "convolution.scattering.morlet_wavelets.gabor_2d", scaled(1.01)),
    ("wavelet-transform", "convolution.scattering.filter_bank.littlewood_paley", scaled(1.001)),
    ("first-order-scattering", "convolution.scattering.scattering_network.global_scattering", one_place),
    ("scattering-transform", "convolution.scattering.scattering_network.windowed_scattering", scaled(10.0)),
    (
        "frequency-decreasing-paths",
        "convolution.scattering.paths.scattering_paths",
        lambda right: lambda *args, **kwargs: right(*args, **kwargs)[:-1],
    ),
    (
        "deformation-stability",
        "convolution.scattering.wave_packets.smooth_displacement",
        lambda right: lambda u, steepness, **k: right(u, steepness**2, **k),
    ),
    ("scattering-classifier", "convolution.scattering.scattering_network.global_scattering", one_place),
    ("cnn-classifier", "convolution.layers.receptive_fields.receptive_field", with_field("size", 2)),
    ("feature-hierarchy", "kernels.features.gabor_fits.fit_gabor", with_field("explained", -1)),
    ("segmentation-network", "learning.classification.overlaps.intersection_over_union", scaled(1.001)),
    ("sequence-heads-and-loss", "sequences.learning.sequence_losses.next_tokens", targets_now),
    (
        "weight-tying-is-unrolling",
        "sequences.learning.unrolling.last_state",
        lambda right: lambda cell, xs, *a, **k: right(cell, xs[1:], *a, **k),
    ),
    ("gating", "sequences.cells.gating.memory_half_life", scaled(1.5)),
    ("mingru", "sequences.linear_recurrences.diagonal_recurrence.linear_recurrence", scaled(1.001)),
    ("lru", "sequences.linear_recurrences.diagonal_recurrence.linear_recurrence", scaled(1.001)),
    (
        "bidirectional-rnn",
        "sequences.cells.cell.valid_steps",
        lambda right: lambda lengths, steps: right(lengths + 1, steps),
    ),
    ("bptt", "sequences.gradients.elman_backward.elman_backward", with_field("U", 1.001)),
    ("rnn-jacobians", "sequences.gradients.state_jacobians.state_jacobians", scaled(1.001)),
    (
        "truncated-bptt",
        "sequences.gradients.truncated.truncated_trajectory",
        lambda right: lambda step, start, inputs, window: right(step, start, inputs, window + 1),
    ),
    (
        "vanishing-gradient-bound",
        "sequences.gradients.state_jacobians.jacobian_product_norms",
        lambda right: lambda *args: right(*args) + 1.0,
    ),
    ("isometry-condition", "networks.signal.lyapunov.log_singular_values", scaled(1.01)),
    ("jacobian-product-spectrum", "sequences.gradients.state_jacobians.lyapunov_exponents", scaled(1.001)),
    ("memory-horizon", "sequences.memory.horizons.recall_correlation", scaled(0.999)),
    ("gate-and-unit-saturation", "sequences.memory.saturation.saturation", with_field("slope", 1.001)),
    ("orthogonal-dynamics", "sequences.gradients.orthogonal_steps.cayley_step", scaled(1.001)),
]


class Noticed(Exception):
    """A comparison fails, as it must with a broken library."""


@pytest.fixture(autouse=True)
def nothing_compiled_is_kept():
    """A compiled function has the mutation inside and would outlive it."""
    yield
    jax.clear_caches()


CASES = [  # each compiles its entry anew; a tenth of them is enough for every run of the tests
    pytest.param(*mutation, id=mutation[0], marks=[] if index % 10 == 0 else [pytest.mark.slow])
    for index, mutation in enumerate(MUTATIONS)
]


@pytest.mark.parametrize(("id", "target", "mutate"), CASES)
def test_a_broken_library_is_rejected(monkeypatch, id, target, mutate):
    place, _, name = target.rpartition(".")
    right = getattr(importlib.import_module(f"leadline.{place}"), name)
    importlib.import_module(entry(id).module)  # before the mutation, which what it imports would keep
    parts = place.split(".")
    for depth in range(1, len(parts)):  # packages load a public name when it is first asked for, and keep it
        getattr(importlib.import_module(".".join(["leadline", *parts[:depth]])), name, None)
    wrong = mutate(right)
    for module in [m for n, m in sys.modules.items() if n.startswith("leadline.")]:  # wherever users and claims find it
        for held in [held for held, value in vars(module).items() if value is right]:
            monkeypatch.setitem(vars(module), held, wrong)
    try:
        unconfirmed = findings_that_fail(id)
    except Noticed:  # what is wrong need only be noticed: the rest of the entry is not run
        return
    monkeypatch.undo()  # findings alone, which may come out unconfirmed without the mutation, too
    jax.clear_caches()
    noticed = unconfirmed and unconfirmed - findings_that_fail(id)
    assert noticed, f"{id} does not notice that {target} is wrong"


def findings_that_fail(id):
    """What an entry finds unconfirmed; `Noticed` is raised where theory fails."""
    unconfirmed = set()

    def observe(item):
        if isinstance(item, Comparison) and item.verdict is Verdict.FAILS and not item.erratum:
            if not item.empirical:
                raise Noticed(item.what)
            unconfirmed.add(item.what)

    run_entry(entry(id), observe=observe)
    return unconfirmed


def test_a_wrong_seed_changes_measurements_but_not_the_verdict():
    a, b = (run_entry(entry("novikoff-bound"), seed=s) for s in (1, 2))
    assert a.verdict is b.verdict is Verdict.HOLDS
    assert [c.measured for c in a.comparisons] != [c.measured for c in b.comparisons]
    assert np.isfinite([a.slack, b.slack]).all()
