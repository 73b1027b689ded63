"""Curvature: the Hessian's spectrum where the network stands, against its step, its classes and its data."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.audits.spectrum_survey import spectrum_figure
from leadline.curvature.operators.hessian_operator import Hessian
from leadline.curvature.spectra.spectral_density import SpectralDensity
from leadline.evidence import Comparison, Figure, at_least, at_most
from leadline.presentation import figure

from ..instrument_contract import EVERY_KIND, Instrument, Meaning, NotApplicable, plainly
from ..measurements.sloppy_spectrum import SloppySpectrum, sloppy_spectrum
from ..subject import Rows, Subject, TrainingHistory

CONFIDENT = 3.29  # standard errors that a normal error exceeds once in 1000 times
SMALL = 30_000  # parameters up to which the density is resolved by 40 products a probe, 20 above
EDGE = 0.2  # relative distance from 2/step within which a network is at the edge of stability
FITS = 0.9  # training accuracy from which outliers are expected
SCATTER = 1 + CONFIDENT * 2**0.5  # a squared mean of zero-mean vectors over its expectation, exceeded more rarely


class Measured(NamedTuple):
    """What the loss looks like around the parameters, on `rows` rows that it classifies with `accuracy`.

    `largest` eigenvalues (descending) with `residuals` (an exact one lies so near; likewise elsewhere),
    `largest_error` the standard error of the first over the rows of all training data (0 where these are all); `least`;
    `gauss_newton`: vᵀGv of the Gauss-Newton matrix along the sharpest direction v. `trace` by the `density`, with what
    its error exceeds once in 1000 times. `outliers`: eigenvalues before the widest gap, of the `converged` first ones.
    `gradient_norm` beside `gradient_scatter`, what sampling so many rows makes of a gradient 0; `critical` where it is
    no more than that explains. `stable`: see `stability_limit`. `relative` is the largest eigenvalue of |w|H|w|, which
    no rescaling of ReLU units changes. `sloppy`: the Fisher spectrum (see `SloppySpectrum`).
    """

    rows: int
    size: int
    loss: float
    accuracy: float | None
    largest: Float[np.ndarray, " k"]
    residuals: Float[np.ndarray, " k"]
    largest_error: float
    least: float
    least_residual: float
    gauss_newton: float
    trace: float
    trace_reach: float
    density: SpectralDensity
    outliers: int
    converged: int
    gradient_norm: float
    gradient_scatter: float
    critical: bool
    stable: float | None
    relative: float
    relative_residual: float
    sloppy: SloppySpectrum | None
    parts: tuple[NotApplicable, ...]


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    """Eigenvalues, density, Gauss-Newton part, gradient, relative sharpness, Fisher spectrum."""
    import warnings

    from scipy.special import stdtrit

    from leadline import curvature
    from leadline.curvature.operators.dense_operator import dense_if_small
    from leadline.curvature.operators.row_curvatures import curvatures_by_row

    parts: list[NotApplicable] = []
    shared, rows, (_, held, most) = subject.shared, subject.shared.curved_rows, subject.shared.lanczos
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kinks (one-sided products are what training used too) and of residuals
        h, largest = dense_if_small(shared.hessian), shared.hessian_top
        least = curvature.top(
            shared.iterated_hessian, 1, which="smallest", max_steps=min(200, 2 * held, most), tolerance=1e-3, basis=held
        )
        g = curvature.gauss_newton(subject.apply, subject.criterion, subject.params, *rows, batch=256)
    top = largest.vectors[0]
    probes, num_steps = _density_products(subject)
    density = h.density(key=jax.random.split(key, 2)[0], probes=probes, num_steps=min(num_steps, h.size))
    mean, deviation = density.moment(1)
    bends = curvatures_by_row(subject.row_losses, subject.params, top, *rows)
    seen = 1 - rows.count / subject.train.count
    error = float(np.std(bends, ddof=1)) * (seen / rows.count) ** 0.5
    loss, norm, scatter = _gradient(subject, rows)
    relative = relative_sharpness(shared.hessian, subject.params, held, min(200, most))
    sloppy = sloppy_spectrum(subject)
    if isinstance(sloppy, NotApplicable):
        parts.append(sloppy)
        sloppy = None
    past = subject.past
    stable = stability_limit(past)
    if stable is None:
        parts.append(NotApplicable("largest Hessian eigenvalue against 2/step", why_not_plain(past)))
    if _accuracy(subject) is None:
        parts.append(NotApplicable("outlying eigenvalues against classes", "each row has one class label"))
    sure = max(int(np.sum(np.cumprod(largest.converged))), 1)
    return Measured(
        rows=rows.count,
        size=subject.size,
        loss=loss,
        accuracy=_accuracy(subject),
        largest=np.asarray(largest.values, float),
        residuals=np.asarray(largest.residuals, float),
        largest_error=error,
        least=float(least.values[0]),
        least_residual=float(least.residuals[0]),
        gauss_newton=float(np.dot(top, np.asarray(g(jnp.asarray(top))))),
        trace=mean * subject.size,
        trace_reach=float(stdtrit(probes - 1, 0.9995)) * deviation * subject.size,
        density=density,
        outliers=curvature.count_outliers(np.asarray(largest.values, float)[:sure]),
        converged=sure,
        gradient_norm=norm,
        gradient_scatter=scatter,
        critical=norm**2 <= SCATTER * scatter**2,
        stable=stable,
        relative=relative[0],
        relative_residual=relative[1],
        sloppy=sloppy,
        parts=tuple(parts),
    )


def _density_products(subject: Subject) -> tuple[int, int]:
    """Probes and products of each for the density: 8 of 40 (20 for large networks), or what the budget allows."""
    num_steps = 40 if subject.size <= SMALL else 20
    seconds = subject.budget.costs.product * subject.shared.curved_rows.count
    products = subject.budget.count(
        "curvature", "products for the density", 8 * num_steps, seconds=seconds, part=0.2, least=16
    )
    return (
        (8, num_steps) if products == 8 * num_steps else (max(products // num_steps, 2), min(num_steps, products // 2))
    )


def _accuracy(subject: Subject) -> float | None:
    rows = subject.rows
    if not subject.classifies:
        return None
    scores, labels = subject.train_scores[:rows], subject.train.targets[:rows]
    return float(np.mean(scores.argmax(axis=1) == labels)) if labels.ndim == 1 else None


def stability_limit(past: TrainingHistory) -> float | None:
    """The curvature above which the rule of training leaves a quadratic's minimum; None where no theory gives one.

    Gradient descent with step η: 2/η. With momentum β: 2(1 + β)/η; Nesterov's: (2/η)(1 + β)/(1 + 2β) (Cohen et al.
    2021). Rules that scale each weight (Adam) have such a limit for the scaled Hessian only, and their scales are not
    known.

    >>> stability_limit(TrainingHistory(optimiser="momentum", step=0.5, momentum=0.9))
    7.6
    """
    if past.step is None or not past.constant_step or past.weight_decay:
        return None
    if past.plain:
        return 2 / past.step
    beta = past.momentum
    if past.optimiser in ("sgd", "momentum"):
        return 2 * (1 + beta) / past.step
    return 2 * (1 + beta) / (1 + 2 * beta) / past.step if past.optimiser == "nesterov" else None


def _limit_words(past: TrainingHistory) -> str:
    if not past.momentum:
        return "2/step"
    return "(2/step)(1 + β)/(1 + 2β)" if past.optimiser == "nesterov" else "2(1 + β)/step"


def why_not_plain(past: TrainingHistory) -> str:
    """What a comparison of sharpness and step would need, and the optimiser that prevents it."""
    base = "it was trained by gradient descent at a known constant step, without momentum or decay"
    if past.optimiser not in (None, "sgd"):
        return f"{base} (it was {past.optimiser})"
    return base


def _gradient(subject: Subject, sample: Rows) -> tuple[float, float, float]:
    """Mean loss, norm of the mean gradient, and what sampling would make of a gradient 0: √(tr C/n)."""
    from leadline import curvature
    from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions

    loss, gradient = _mean_gradient(
        CanonicalConvolutions(subject.row_losses), subject.params, *map(jnp.asarray, sample)
    )
    norm = float(np.sqrt(sum(float(np.sum(np.asarray(leaf, float) ** 2)) for leaf in jax.tree.leaves(gradient))))
    some = sample.first(200)
    squares = np.asarray(curvature.example_gradient_norms(subject.row_losses, subject.params, *some), float) ** 2
    spread = max(float(squares.mean()) - norm**2, 0.0)
    return float(loss), norm, float((spread / sample.count) ** 0.5)


@eqx.filter_jit
def _mean_gradient(losses: Callable[..., Array], params: PyTree, x: Array, y: Array) -> tuple[Array, PyTree]:
    return jax.value_and_grad(lambda p: jnp.mean(losses(p, x, y)))(params)


def relative_sharpness(h: Hessian, params: PyTree, basis: int = 50, max_steps: int = 200) -> tuple[float, float]:
    """λ_max(|w|H|w|) with its residual."""
    import warnings

    from leadline import curvature
    from leadline.curvature.operators.dense_operator import dense_if_small
    from leadline.curvature.sharpness.sharpness_measures import ScaledHessian

    scaled = ScaledHessian(h, jnp.abs(h.flat(params)))
    if isinstance(dense_if_small(h), curvature.DenseOperator):
        size = np.abs(np.asarray(h.flat(params)))
        scaled = curvature.DenseOperator(jnp.asarray(size[:, None] * h.dense() * size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the residual says it
        found = curvature.top(scaled, 1, max_steps=max_steps, tolerance=1e-3, basis=basis)
    return float(found.values[0]), float(found.residuals[0])


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    top = float(found.largest[0])
    if found.stable is not None:
        yield at_most(
            top,
            found.stable,
            f"largest Hessian eigenvalue, {_limit_words(subject.past)}",
            atol=float(found.residuals[0]) + CONFIDENT * found.largest_error,
        )
    if found.accuracy is not None:
        fits = (found.accuracy >= FITS, "the network fits nine in ten of its training rows")
        least, most = subject.outputs - 1, subject.outputs
        seen = (_sees_outliers(found, subject), "more eigenvalues than classes converge within the budget")
        for said in (
            at_least(found.outliers, least, "outlying eigenvalues, classes less one"),
            at_most(found.outliers, most, "outlying eigenvalues, classes"),
        ):
            yield said.given(*fits).given(*seen).as_empirical()
        share = "share of the largest eigenvalue that its Gauss-Newton part explains, nine tenths"
        yield at_least(found.gauss_newton / top if top else 0.0, FITS, share).given(*fits).as_empirical()
    for part in found.parts:
        yield part.comparison()


def _sees_outliers(found: Measured, subject: Subject) -> bool:
    """Whether enough eigenvalues are known for the gap behind as many as classes to be seen."""
    return found.converged > subject.outputs or found.converged == len(found.largest)


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    rules = {} if found.stable is None else {_limit_words(subject.past): ("x", found.stable)}
    yield spectrum_figure(found, subject.outputs, rules)
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
    if found.accuracy is not None and _sees_outliers(found, subject):
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
        what = "this is a saddle" if found.critical else "the loss is not convex here"
        still += f" The most negative curvature is {found.least:.2g}: {what}."
    rest = f"{outliers}{still}{sloppy}"
    if found.stable is None:
        return Meaning(
            f"The sharpest direction bends with {top:.3g}, so plain gradient descent is stable for steps up to "
            f"{plainly(2 / top)}.{rest}",
            0.25 if found.critical else 0.35,
        )
    ratio, limit, step = top / found.stable, _limit_words(subject.past), subject.past.step or 0.0
    evidence = f"this follows from the largest eigenvalue on {found.rows} rows at the present weights"
    if ratio > 1 + EDGE:
        return Meaning(
            f"The sharpest direction ({top:.3g}) bends {ratio:.2g} times more than the step {step:.2g} "
            f"allows ({limit} = {found.stable:.3g}): descent is unstable there.{rest}",
            0.7,
            f"Lower the step below {plainly(step / ratio)}: {evidence}.",
            change=1 - 1 / ratio,
            rests_on="largest Hessian eigenvalue",
        )
    if ratio >= 1 - EDGE:
        return Meaning(
            f"Training is at the edge of stability: the largest eigenvalue {top:.3g} is within {EDGE:.0%} of {limit} = "
            f"{found.stable:.3g}, so the step, not the data, limits the sharpness.{rest}",
            0.5,
            f"Lower the step only if the loss jumps: {evidence}, and a smaller one would end in a sharper place.",
            rests_on="largest Hessian eigenvalue",
        )
    return Meaning(
        f"The sharpest direction bends with {top:.3g}, {ratio:.0%} of the {limit} = {found.stable:.3g} that its step "
        f"can bear: stable.{rest}",
        0.25 if found.critical else 0.35,
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
    kinds=EVERY_KIND,
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
