"""Curvature: the Hessian's spectrum where the network stands, against its step, its classes and its data."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.audits.spectrum_survey import SpectrumSurvey, spectrum_comparisons, spectrum_figure, survey_spectrum
from leadline.curvature.operators.operator import Operator
from leadline.curvature.operators.symmetric_map import SymmetricMap
from leadline.curvature.spectra.lanczos import Eigenpairs
from leadline.curvature.spectra.spectral_density import SpectralDensity
from leadline.evidence import Comparison, Figure, at_least, at_most, close
from leadline.presentation import figure

from ..instrument import Instrument, Meaning, NotApplicable, plainly
from ..measurements.sloppy_spectrum import SloppySpectrum, sloppy_spectrum
from ..subject import Subject, TrainingHistory

CONFIDENT = 3.29  # standard errors that a normal error exceeds once in 1000 times
SMALL = 30_000  # parameters up to which the density is resolved by 40 products a probe, 20 above
EDGE = 0.2  # relative distance from 2/step within which a network is at the edge of stability
FITS = 0.9  # training accuracy from which outliers are expected
SCATTER = 1 + CONFIDENT * 2**0.5  # a squared mean of zero-mean vectors over its expectation, exceeded more rarely


class Measured(NamedTuple):
    """What the loss looks like around the parameters, on `rows` rows that it classifies with `accuracy`.

    `largest` eigenvalues (descending) with `residuals` (an exact one lies so near; likewise elsewhere),
    `largest_error` the standard error of the first over the rows of all training data (0 where these are all),
    `largest_by_rows` the same eigenvalue as mean of vᵀ∇²ℓᵢv; `least`; `gauss_newton`: its largest eigenvalue, and
    `apart` ≥ ‖H − G‖. `trace` by Hutch++ with what its error exceeds once in 1000 times, `density_trace` likewise by
    the `density`. `outliers`: eigenvalues before the widest gap. `gradient_norm` beside `gradient_scatter`, what
    sampling so many rows makes of a gradient 0; `critical` where it is no more than that explains. `stable` = 2/step
    for plain gradient descent. `relative` is the largest eigenvalue of |w|H|w|, which no rescaling of ReLU units
    changes; `rescaled` are plain and relative one after the first layer was doubled and the second halved, at the same
    outputs. `sloppy`: the Fisher spectrum (see `SloppySpectrum`).
    """

    rows: int
    size: int
    loss: float
    accuracy: float | None
    largest: Float[np.ndarray, " k"]
    residuals: Float[np.ndarray, " k"]
    largest_error: float
    largest_by_rows: float
    least: float
    least_residual: float
    gauss_newton: float
    gauss_newton_residual: float
    apart: float
    trace: float
    trace_reach: float
    density_trace: float
    density_reach: float
    density: SpectralDensity
    outliers: int
    gradient_norm: float
    gradient_scatter: float
    critical: bool
    stable: float | None
    relative: float
    relative_residual: float
    rescaled: tuple[float, float] | None
    rescaled_residual: float | None
    sloppy: SloppySpectrum | None
    parts: tuple[NotApplicable, ...]

    @property
    def survey(self) -> SpectrumSurvey:
        """The part of this that any spectrum has."""
        return SpectrumSurvey(*(getattr(self, name) for name in SpectrumSurvey._fields))


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    """Eigenvalues, density, trace, Gauss-Newton, gradient, relative sharpness, Fisher spectrum."""
    import warnings

    from leadline import curvature
    from leadline.curvature.operators.row_curvatures import curvatures_by_row

    parts: list[NotApplicable] = []
    sample = subject.sample
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kinks: one-sided products are what training used too
        h, largest = subject.shared.hessian, subject.shared.hessian_top
        g = curvature.gauss_newton(subject.apply, subject.criterion, subject.params, *sample, batch=256)
    found = survey_spectrum(h, g, largest, key, num_steps=40 if subject.size <= SMALL else 20)
    bends = curvatures_by_row(subject.row_losses, subject.params, largest.vectors[0], *sample)
    seen = 1 - sample.count / subject.train.count
    error = float(np.std(bends, ddof=1)) * (seen / sample.count) ** 0.5
    loss, norm, scatter = _gradient(subject)
    relative, rescaled = relative_sharpness(subject, h)
    if rescaled is None:
        parts.append(
            NotApplicable("sharpness after rescaling the layers", "the network is a ReLU MLP with a hidden layer")
        )
    sloppy = sloppy_spectrum(subject)
    if isinstance(sloppy, NotApplicable):
        parts.append(sloppy)
        sloppy = None
    past, stable = subject.past, None
    if past.plain:
        stable = 2 / past.step
    else:
        parts.append(NotApplicable("largest Hessian eigenvalue against 2/step", why_not_plain(past)))
    if _accuracy(subject) is None:
        parts.append(NotApplicable("outlying eigenvalues against classes", "the targets are class labels"))
    return Measured(
        rows=sample.count,
        loss=loss,
        accuracy=_accuracy(subject),
        largest_error=error,
        largest_by_rows=float(np.mean(bends)),
        gradient_norm=norm,
        gradient_scatter=scatter,
        critical=norm**2 <= SCATTER * scatter**2,
        stable=stable,
        relative=relative[0],
        relative_residual=relative[1],
        rescaled=None if rescaled is None else rescaled[:2],
        rescaled_residual=None if rescaled is None else rescaled[2],
        sloppy=sloppy,
        parts=tuple(parts),
        **found._asdict(),
    )


def _accuracy(subject: Subject) -> float | None:
    rows = subject.rows
    if not subject.classifies:
        return None
    scores, labels = subject.train_scores[:rows], subject.train.targets[:rows]
    return float(np.mean(scores.argmax(axis=1) == labels)) if labels.ndim == 1 else None


def why_not_plain(past: TrainingHistory) -> str:
    """What a comparison of sharpness and step would need, and the optimiser that prevents it."""
    base = "it was trained by gradient descent at a known constant step, without momentum or decay"
    if past.optimiser not in (None, "sgd"):
        return f"{base} (it was {past.optimiser})"
    return base


def _gradient(subject: Subject) -> tuple[float, float, float]:
    """Mean loss, norm of the mean gradient, and what sampling would make of a gradient 0: √(tr C/n)."""
    from leadline import curvature
    from leadline.curvature.operators.patch_convolutions import PatchConvolutions

    sample = subject.sample
    loss, gradient = _mean_gradient(PatchConvolutions(subject.row_losses), subject.params, *map(jnp.asarray, sample))
    norm = float(np.sqrt(sum(float(np.sum(np.asarray(leaf, float) ** 2)) for leaf in jax.tree.leaves(gradient))))
    some = sample.first(200)
    squares = np.asarray(curvature.example_gradient_norms(subject.row_losses, subject.params, *some), float) ** 2
    spread = max(float(squares.mean()) - norm**2, 0.0)
    return float(loss), norm, float((spread / sample.count) ** 0.5)


@eqx.filter_jit
def _mean_gradient(losses: Callable[..., Array], params: PyTree, x: Array, y: Array) -> tuple[Array, PyTree]:
    return jax.value_and_grad(lambda p: jnp.mean(losses(p, x, y)))(params)


def relative_sharpness(subject: Subject, h: Operator) -> tuple[tuple[float, float], tuple[float, float, float] | None]:
    """λ_max(|w|H|w|) with its residual; both sharpnesses after layers were rescaled, with the larger residual."""
    from leadline import networks
    from leadline.curvature.operators.dense_operator import dense_if_small

    plain = _scaled_top(h, subject.params)
    net = subject.module
    if not (isinstance(net, networks.MLP) and net.activation == "relu" and len(net.layers) > 1):
        return plain, None
    factors = [jnp.full(w, 2.0 if i == 0 else 1.0, subject.dtype) for i, w in enumerate(net.widths[1:-1])]
    params = eqx.filter(networks.rescale_units(net, factors), eqx.is_inexact_array)
    if jax.tree.structure(params) != jax.tree.structure(subject.params):
        return plain, None
    moved = eqx.tree_at(lambda op: op.params, h, params)
    value, residual = _scaled_top(moved, params)
    top = _quiet_top(
        dense_if_small(moved), basis=max(2 * len(subject.shared.hessian_top.values) + 20, 50)
    )  # compiled already
    return plain, (float(top.values[0]), value, residual)


def _scaled_top(h: Operator, params: PyTree) -> tuple[float, float]:
    from leadline import curvature
    from leadline.curvature.operators.dense_operator import dense_if_small
    from leadline.curvature.sharpness.sharpness_measures import ScaledHessian

    scaled = ScaledHessian(h, jnp.abs(h.flat(params)))
    if isinstance(dense_if_small(h), curvature.DenseOperator):
        size = np.abs(np.asarray(h.flat(params)))
        scaled = curvature.DenseOperator(jnp.asarray(size[:, None] * h.dense() * size))
    found = _quiet_top(scaled)
    return float(found.values[0]), float(found.residuals[0])


def _quiet_top(operator: SymmetricMap, basis: int = 50) -> Eigenpairs:
    import warnings

    from leadline import curvature

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the residual says it
        return curvature.top(operator, 1, max_steps=200, tolerance=1e-3, basis=basis)


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    rounding = 30 * float(np.finfo(subject.dtype).eps)
    yield from spectrum_comparisons(found.survey, rounding)
    top = float(found.largest[0])
    yield close(
        found.largest_by_rows,
        top,
        "largest eigenvalue as a mean over rows, by Lanczos",
        atol=float(found.residuals[0]),
        rtol=rounding,
    )
    if found.stable is not None:
        yield at_most(
            top,
            found.stable,
            "largest Hessian eigenvalue, 2/step",
            atol=float(found.residuals[0]) + CONFIDENT * found.largest_error,
        )
    if found.accuracy is not None:
        fits = (found.accuracy >= FITS, "the network fits nine in ten of its training rows")
        least, most = subject.outputs - 1, subject.outputs
        yield at_least(found.outliers, least, "outlying eigenvalues, classes less one").given(*fits).as_empirical()
        yield at_most(found.outliers, most, "outlying eigenvalues, classes").given(*fits).as_empirical()
    if found.rescaled is not None:
        yield close(
            found.rescaled[1],
            found.relative,
            "relative sharpness after rescaling the layers, before",
            atol=found.relative_residual + found.rescaled_residual,
            rtol=rounding,
        )
    if found.sloppy is not None:
        s = found.sloppy
        yield at_most(s.rank, s.most, "rank of the Fisher matrix, rows times free outputs, or parameters")
        yield at_most(s.effective, s.rank, "effective dimension, rank of the Fisher matrix", rtol=1e-3)
    for part in found.parts:
        yield part.comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    rules = {} if found.stable is None else {"2/step": ("x", found.stable)}
    yield spectrum_figure(found.survey, subject.outputs, rules)
    if found.sloppy is not None:
        s = found.sloppy
        some = np.unique(np.geomspace(1, max(s.rank, 1), 60).astype(int)) - 1
        yield figure.curves(
            f"Fisher spectrum of {s.rows} rows: {s.decades:.1f} decades, {s.effective:.0f} effective of "
            f"{found.size} parameters",
            "direction",
            "eigenvalue of the Fisher matrix",
            log="xy",
            points={"eigenvalues": (some + 1, s.eigenvalues[some])},
            rules={"prior of deviation 1": ("y", s.scale)},
        )


def interpret(found: Measured, subject: Subject) -> Meaning:
    top = float(found.largest[0])
    sloppy = ""
    if found.sloppy is not None:
        sloppy = f" {found.sloppy.rows} rows determine about {found.sloppy.effective:.0f} of {found.size} directions."
    if not top > 0:
        return Meaning(
            f"No direction of the loss bends upwards (largest eigenvalue {top:.2g}): this is no minimum.{sloppy}",
            0.7,
            "Check that the outputs depend on the parameters, and train further.",
        )
    outliers = ""
    if found.accuracy is not None:
        matched = found.outliers in (subject.outputs - 1, subject.outputs) and found.accuracy >= FITS
        many = f"{found.outliers} eigenvalues stand" if found.outliers != 1 else "1 eigenvalue stands"
        outliers = f" {many} out for {subject.outputs} classes" + (", as usual once trained." if matched else ".")
    slope = found.gradient_norm / max(found.gradient_scatter, np.finfo(float).tiny)
    still = (
        ""
        if found.critical
        else (f" It is not a critical point: the gradient is {slope:.2g} times what sampling explains.")
    )
    if found.least < -0.1 * top:
        still += f" The most negative curvature is {found.least:.2g}: a saddle rather than a minimum."
    rest = f"{outliers}{still}{sloppy}"
    if found.stable is None:
        return Meaning(
            f"The sharpest direction bends with {top:.3g}, so plain gradient descent is stable for steps up to "
            f"{plainly(2 / top)}.{rest}",
            0.3,
        )
    ratio = top / found.stable
    if ratio > 1 + EDGE:
        return Meaning(
            f"The sharpest direction ({top:.3g}) bends {ratio:.2g} times more than the step {2 / found.stable:.2g} "
            f"allows (2/step = {found.stable:.3g}): descent is unstable there.{rest}",
            0.7,
            f"Lower the step below {plainly(2 / top)}.",
        )
    if ratio >= 1 - EDGE:
        return Meaning(
            f"Training is at the edge of stability: the largest eigenvalue {top:.3g} is within {EDGE:.0%} of 2/step = "
            f"{found.stable:.3g}, so the step, not the data, limits the sharpness.{rest}",
            0.5,
            "Expect a smaller step to end in a sharper place; lower it if the loss jumps.",
        )
    return Meaning(
        f"The sharpest direction bends with {top:.3g}, {ratio:.0%} of the 2/step = {found.stable:.3g} that its step "
        f"can bear: stable, with steps up to {plainly(2 / top)} possible.{rest}",
        0.3 if found.critical else 0.35,
    )


INSTRUMENT = Instrument(
    name="curvature",
    question="How sharp is the loss around the network, how many directions matter, and does its step fit?",
    formula=r"H = \nabla^2 \frac{1}{n} \sum_i \ell_i, \quad \lambda_{\max}(H) \le \frac{2}{\eta}, \quad "
    r"d_{\mathrm{eff}} = \sum_k \frac{\lambda_k}{\lambda_k + 1/n}",
    assumes=(
        "The Hessian is that of the mean loss on the sampled training rows, one-sided at kinks.",
        "2/step bounds the curvature at places where plain gradient descent can stay.",
        "As many outliers as classes is a finding about trained classifiers, not a theorem.",
    ),
    measure=measure,
    compare=compare,
    draw=draw,
    interpret=interpret,
    sources=("eth", "penn"),
    entries=(
        "edge-of-stability",
        "smoothness-hessian-equivalence",
        "network-hessian-degenerate",
        "fisher-versus-hessian",
        "sloppy-spectrum",
        "fisher-rank",
        "effective-dimension",
    ),
)
