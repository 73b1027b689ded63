"""The curvature instrument: the closed form of a linear softmax model, squared losses, steps, and what it says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from studies.small_subjects import three_clouds

from leadline import networks
from leadline.studies import as_subject
from leadline.studies.budget import PassCosts
from leadline.studies.instruments.curvature import INSTRUMENT, relative_sharpness, stability_limit, why_not_plain
from leadline.studies.measurements.sloppy_spectrum import sloppy_spectrum
from leadline.studies.subject import TrainingHistory

TRAIN = three_clouds()


def softmax_hessian(subject):
    """Xᵀ(diag p − p pᵀ)X/n with X the inputs and a 1, in the order (weights by class, biases)."""
    x = np.c_[subject.sample.inputs.astype(float), np.ones(subject.sample.count)]
    logits = subject.scores(subject.sample.inputs).astype(float)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    M = p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :]
    H = np.einsum("ncd,ni,nj->cidj", M, x, x) / len(x)
    weights = [(c, i) for c in range(3) for i in range(4)] + [(c, 4) for c in range(3)]
    return np.array([[H[c, i, d, j] for d, j in weights] for c, i in weights])


@pytest.fixture(scope="module")
def linear():
    net = networks.MLP((4, 3), key=jax.random.key(0))
    net = eqx.tree_at(lambda n: n.layers[0].weight, net, jnp.eye(3, 4) * 1.5)
    subject = as_subject(net, TRAIN, step_size=0.5, batch=90, past=TrainingHistory(optimiser="sgd"))
    return subject, INSTRUMENT.measure(subject, subject.key("curvature"))


def test_a_linear_softmax_model_has_hessian_gauss_newton_and_fisher_in_closed_form(linear):
    subject, found = linear
    H = softmax_hessian(subject)
    values = np.linalg.eigvalsh(H)[::-1]
    np.testing.assert_allclose(found.largest, values[: len(found.largest)], atol=1e-6)
    np.testing.assert_allclose(found.least, values[-1], atol=1e-6)
    np.testing.assert_allclose(found.gauss_newton, values[0], rtol=1e-5)
    assert abs(found.trace - np.trace(H)) <= found.trace_reach
    np.testing.assert_allclose(found.density.total, 1.0, atol=1e-3)
    assert found.largest_error == 0
    np.testing.assert_allclose(found.sloppy.eigenvalues[:10], values[:10], rtol=1e-4)  # 10 = 2 free outputs x 5 inputs
    assert found.sloppy.rows == 90
    assert found.sloppy.rank == 10
    assert found.sloppy.most == 15
    np.testing.assert_allclose(found.sloppy.effective, np.sum(values / (values + 1 / 90)), rtol=1e-4)
    np.testing.assert_allclose(found.sloppy.decades, np.log10(values[0] / values[9]), rtol=1e-3)


def test_gradient_and_relative_sharpness_of_a_linear_model_in_closed_form(linear):
    subject, found = linear
    x, y = subject.sample
    x = np.c_[x.astype(float), np.ones(len(x))]
    logits = subject.train_scores.astype(float)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    residual = p - np.eye(3)[y]
    np.testing.assert_allclose(found.gradient_norm, np.linalg.norm(residual.T @ x / len(x)), rtol=1e-4)
    squares = np.sum(residual**2, axis=1) * np.sum(x**2, axis=1)
    scatter = np.sqrt((squares.mean() - found.gradient_norm**2) / len(x))
    np.testing.assert_allclose(found.gradient_scatter, scatter, rtol=1e-4)
    net = subject.module.layers[0]
    w = np.abs(np.concatenate([np.ravel(net.weight), net.bias]))
    np.testing.assert_allclose(
        found.relative, np.linalg.eigvalsh(w[:, None] * softmax_hessian(subject) * w)[-1], rtol=1e-4
    )


def test_the_card_of_a_linear_model_compares_its_sharpness_with_its_step(linear):
    subject, found = linear
    comparisons = {c.what: c for c in INSTRUMENT.compare(found, subject)}
    assert not any(str(c.verdict) == "fails" for what, c in comparisons.items() if "finding" not in what)
    against = comparisons["largest Hessian eigenvalue, 2/step"]
    assert against.predicted == 4.0
    assert against.measured == found.largest[0]
    assert len(comparisons) == 4  # the step, two of outliers, Gauss-Newton: nothing that could not fail
    assert len(list(INSTRUMENT.draw(found, subject))) == 2


def test_every_outcome_has_its_sentence(linear):
    subject, found = linear
    top = float(found.largest[0])
    told = [
        found._replace(stable=10 * top, critical=True),
        found._replace(stable=1.1 * top),
        found._replace(stable=0.5 * top),
        found._replace(stable=None, critical=False, least=-top),
        found._replace(stable=None, critical=True, least=-top),
        found._replace(largest=-found.largest[::-1]),
    ]
    meanings = [INSTRUMENT.interpret(f, subject) for f in told]
    expected = ("stable", "edge of stability", "unstable", "not convex", "saddle", "no minimum")
    for meaning, words in zip(meanings, expected, strict=True):
        assert words in meaning.sentence
        assert 0 <= meaning.weight <= 1
    assert "not a critical point" in meanings[3].sentence
    assert "critical" not in meanings[0].sentence
    outside = next(c for c in INSTRUMENT.compare(told[2], subject) if "2/step" in c.what)
    assert str(outside.verdict) == "fails"


def test_regression_by_a_plain_function_has_the_hessian_of_least_squares():
    x = TRAIN[0].astype(np.float64)
    subject = as_subject((lambda w, x: x @ w[:, None], jnp.ones(4)), (x, x[:, 0] + 1.0), rows=60)
    found = INSTRUMENT.measure(subject, subject.key("curvature"))
    sampled = subject.sample.inputs
    values = np.linalg.eigvalsh(2 * sampled.T @ sampled / 60)[::-1]  # of ‖f − y‖²
    np.testing.assert_allclose(found.largest, values, rtol=1e-8)
    np.testing.assert_allclose(found.sloppy.eigenvalues[:4], values / 2, rtol=1e-8)
    each = 2 * (sampled @ np.linalg.eigh(sampled.T @ sampled)[1][:, -1]) ** 2
    np.testing.assert_allclose(found.largest_error, np.std(each, ddof=1) * np.sqrt((1 - 60 / 90) / 60), rtol=1e-6)
    comparisons = list(INSTRUMENT.compare(found, subject))
    unmet = {c.what: c.unmet for c in comparisons if c.unmet}
    assert "class label" in unmet["outlying eigenvalues against classes"]
    assert "known constant step" in unmet["largest Hessian eigenvalue against 2/step"]
    assert not any(str(c.verdict) == "fails" for c in comparisons)


def test_rescaling_the_layers_of_a_relu_network_changes_the_plain_sharpness_only():
    net = networks.MLP((4, 6, 3), key=jax.random.key(3))
    moved = networks.rescale_units(net, [jnp.full(6, 2.0)])
    before, after = (as_subject(n, TRAIN) for n in (net, moved))
    relative, again = (relative_sharpness(s.shared.hessian, s.params)[0] for s in (before, after))
    np.testing.assert_allclose(again, relative, rtol=1e-3)
    plain, other = (np.linalg.eigvalsh(s.shared.hessian.dense())[-1] for s in (before, after))
    assert abs(other / plain - 1) > 0.05


def test_the_rank_and_the_effective_dimension_of_the_fisher_matrix_are_within_their_bounds():
    subject = as_subject(networks.MLP((4, 40, 3), key=jax.random.key(3)), TRAIN)
    found = sloppy_spectrum(subject)
    assert 0 < found.effective <= found.rank <= found.most == 90 * 2


def test_a_budget_that_is_too_small_cuts_rows_products_and_vectors_and_the_card_says_so():
    net = networks.MLP((4, 60, 20, 3), key=jax.random.key(3))
    subject = as_subject(net, TRAIN)
    subject.budget.restore(PassCosts(1e-6, 3e-6, 1e4, 1e5, 1e8), 2**30)  # however busy the machine is
    whole = INSTRUMENT(subject)
    assert whole.left_out == ()
    assert whole.sizes["rows"] == 90
    subject = as_subject(net, TRAIN)
    subject.budget.restore(PassCosts(1e-2, 3e-2, 1e4, 1e5, 1e8), 2**30)
    card = INSTRUMENT(subject)
    assert card["rows"] == 64
    assert "64 of 90 rows" in card.left_out[0]
    assert card.sizes["products for the density"] == 16
    assert abs(card["largest"][0] / whole["largest"][0] - 1) < 0.5


@pytest.mark.parametrize(("name", "beta"), [("sgd", 0.0), ("momentum", 0.9), ("nesterov", 0.9), ("nesterov", 0.3)])
def test_the_limit_of_each_rule_is_where_it_leaves_the_minimum_of_a_quadratic(name, beta):
    step = 0.1
    limit = stability_limit(TrainingHistory(optimiser=name, step=step, momentum=beta))
    rule = optax.sgd(step, beta or None, nesterov=name == "nesterov")

    def end(curvature):
        def one(_, carried):
            x, state = carried
            change, state = rule.update(curvature * x, state)
            return x + change, state

        start = jnp.ones(())
        return abs(float(jax.lax.fori_loop(0, 3000, one, (start, rule.init(start)))[0]))

    assert end(0.99 * limit) < 1e-3
    assert not end(1.01 * limit) < 1e3


def test_rules_without_such_a_limit_have_none():
    for past in (
        TrainingHistory(),
        TrainingHistory(step=0.1),
        TrainingHistory(optimiser="adam", step=0.1),
        TrainingHistory(optimiser="sgd", step=0.1, weight_decay=0.1),
        TrainingHistory(optimiser="momentum", momentum=0.9, step=0.1, constant_step=False),
    ):
        assert stability_limit(past) is None


def test_other_optimisers_are_told_why_their_step_is_not_compared():
    assert "adam" in why_not_plain(TrainingHistory(optimiser="adam", step=1e-3))
    assert why_not_plain(TrainingHistory()).endswith("decay")


def test_of_a_sequence_the_hessian_is_that_of_the_mean_over_its_positions():
    draw = np.random.default_rng(0)
    tokens, targets = draw.integers(0, 4, (30, 5)), draw.integers(-1, 3, (30, 5))
    targets[:, 0] = 0  # one that counts in every row
    table = jnp.asarray(draw.normal(size=(4, 3)))
    subject = as_subject((lambda p, t: p[t], table), (tokens, targets))
    assert subject.kind == "sequence"
    card = INSTRUMENT(subject)
    scores, counts = np.asarray(table)[tokens], (targets >= 0) / (targets >= 0).sum(1, keepdims=True) / 30
    p = np.exp(scores) / np.exp(scores).sum(2, keepdims=True)
    hessian = np.zeros((4, 3, 4, 3))  # p_a (δ_ab − p_b) where a token stands, by its share of the mean
    for token, share, q in zip(tokens.ravel(), counts.ravel(), p.reshape(-1, 3), strict=True):
        hessian[token, :, token, :] += share * (np.diag(q) - np.outer(q, q))
    values = np.linalg.eigvalsh(hessian.reshape(12, 12))[::-1]
    np.testing.assert_allclose(card["largest"][:4], values[:4], rtol=1e-6)
    assert card["accuracy"] is None
    assert any(c.what == "Fisher spectrum" and c.unmet for c in card.finding.comparisons)


def test_outliers_are_not_counted_where_too_few_eigenvalues_converged(linear):
    subject, measured = linear
    found = measured._replace(accuracy=1.0, converged=1)
    counted = [c for c in INSTRUMENT.compare(found, subject) if c.what.startswith("outlying")]
    assert all("converge" in c.unmet for c in counted)
    assert "out for" not in INSTRUMENT.interpret(found, subject).sentence
