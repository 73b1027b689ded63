"""The constants of a loss, measured and certified: strong convexity, smoothness, Lipschitz constant, conditioning."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.evidence import Range, at_least, at_most, close, exactly, figure, instrument


def _rotated(rng: np.random.Generator, values: np.ndarray) -> optimisation.Quadratic:
    """½ wᵀAw with given eigenvalues in a random basis."""
    basis = np.linalg.qr(rng.normal(size=(values.size, values.size)))[0]
    matrix = basis * values @ basis.T
    return optimisation.Quadratic(jnp.asarray((matrix + matrix.T) / 2), jnp.zeros(values.size))


def _logistic(rng: np.random.Generator, samples: int, dimension: int, penalty: float) -> optimisation.LogisticRidge:
    x = rng.normal(size=(samples, dimension))
    y = np.where(x[:, 0] + rng.normal(size=samples) > 0, 1.0, -1.0)
    return optimisation.LogisticRidge(x, y, penalty)


def _any_loss(w, loss):
    """The same loss as a function of parameters and data that nothing is known of."""
    return loss(w)


@instrument(
    "strong-convexity-constant",
    says=(
        "The strong convexity m of a loss on a region is estimated from above by the least curvature over pairs of "
        "points and by the least Hessian eigenvalue; weight decay a adds exactly a to each of them."
    ),
    formula=(
        r"m \le \min \frac{2 D(w', w)}{\|w - w'\|^2}, \quad m \le \min \frac{\langle g - g', w - w' \rangle}"
        r"{\|w - w'\|^2}, \quad m \le \min \lambda_{\min}(H)"
    ),
    sources=("sheet", "penn"),
    assumes=("the loss is twice differentiable on the region",),
    shows=("optimisation.measure_strong_convexity", "optimisation.curvature_ratios", "optimisation.Estimate"),
)
def strong_convexity_constant(
    key,
    dimension: Annotated[int, Range(2, 60)] = 10,
    condition: Annotated[float, Range(1.5, 1e4, log=True)] = 50.0,
    pairs: Annotated[int, Range(10, 2000, log=True)] = 300,
    radius: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    decay: Annotated[float, Range(0.001, 10.0, log=True)] = 0.5,
):
    """A quadratic, whose m is known, then logistic regression with penalty 0.01, measured as if it were any loss."""
    rng = data.generator(key)
    quadratic = _rotated(rng, np.geomspace(1.0, condition, dimension))
    options = {"radius": radius, "pairs": pairs, "key": key}
    centre = jnp.zeros(dimension)
    found = optimisation.curvature_ratios(quadratic, centre, **options)
    yield close(found.monotone.min(), 1.0, "least ⟨Δg, Δw⟩/‖Δw‖² after refinement against λ_min", rtol=1e-8)
    yield close(found.bregman.min(), 1.0, "least 2D/‖Δw‖² after refinement against λ_min", rtol=1e-8)
    yield at_least(found.monotone[2:], 1.0, "⟨Δg, Δw⟩/‖Δw‖² of random pairs against m", rtol=1e-9)
    yield at_least(found.bregman[2:], 1.0, "2D/‖Δw‖² of random pairs against m", rtol=1e-7)

    plain, more = (_logistic(data.generator(key), 60, dimension, penalty) for penalty in (0.01, 0.01 + decay))
    ratios = [optimisation.curvature_ratios(loss, centre, refine=False, **options) for loss in (plain, more)]
    for name in ("monotone", "bregman"):
        before, after = (getattr(each, name) for each in ratios)
        yield close(after - before, decay, f"rise of each {name} ratio by weight decay", atol=1e-6 * (1 + decay))
    found_m = [
        optimisation.measure_strong_convexity(loss, centre, radius=radius, probes=8, key=key) for loss in (plain, more)
    ]
    seen = [each.high for each in found_m]  # the least eigenvalue at nine points; certified, the penalty
    yield close(seen[1] - seen[0], decay, "rise of the least Hessian eigenvalue", rtol=1e-9, atol=1e-12)
    yield at_least(seen, [each.value for each in found_m], "least eigenvalue seen against the certified m", rtol=1e-9)
    yield exactly([each.certified for each in found_m], True, "logistic regression is certified")
    yield close(found_m[0].value, 0.01, "certified m of logistic regression: its penalty", rtol=1e-12)

    yield figure.histogram(
        f"Curvatures of {pairs} random pairs lie between m = 1 and L = {condition:.4g}; the least is "
        f"{found.monotone[2:].min():.3g}, refined {found.monotone.min():.4g}",
        x="curvature ratio of a pair", samples={"⟨Δg, Δw⟩/‖Δw‖²": found.monotone[2:]},
        rules={"m": ("x", 1.0), "L": ("x", condition)},
    )  # fmt: skip


def _regression_loss(weights, x, y):
    """The mean squared error of a network with one hidden layer of tanh units."""
    hidden = jnp.tanh(x * weights["in"] + weights["bias"])
    return jnp.mean((hidden @ weights["out"] - y) ** 2) / 2


@instrument(
    "smoothness-constant",
    says=(
        "The smoothness L is the largest Hessian norm: exact on quadratics, certified by a formula for logistic "
        "regression, elsewhere sampled, which can only be too low. Steps of 1/L are safe; just above 2/L a quadratic "
        "diverges."
    ),
    formula=r"L = \sup_{a \ne b} \frac{\|g(a) - g(b)\|}{\|a - b\|} = \sup_w \|H(w)\|",
    sources=("eth", "sheet", "penn"),
    assumes=("the loss is twice differentiable", "no global L is claimed for networks"),
    shows=("optimisation.measure_smoothness", "optimisation.extreme_eigenvalues", "optimisation.sharpness_path"),
)
def smoothness_constant(
    key,
    dimension: Annotated[int, Range(130, 500)] = 150,
    condition: Annotated[float, Range(2.0, 1e4, log=True)] = 100.0,
    samples: Annotated[int, Range(5, 500)] = 50,
    radius: Annotated[float, Range(0.1, 20.0, log=True)] = 3.0,
    step: Annotated[float, Range(0.01, 0.1, log=True)] = 0.1,
):
    """Dimensions above 128 go by Lanczos, products only. The network of the figure has 24 weights."""
    rng = data.generator(key)
    quadratic = _rotated(rng, np.geomspace(1.0, condition, dimension))
    ends = optimisation.extreme_eigenvalues(quadratic, jnp.zeros(dimension))
    top = ends.greatest
    yield close(top.value, condition, "L of a quadratic by Lanczos against its largest eigenvalue", rtol=1e-6)
    yield at_most(
        abs(top.value - condition), top.residual, "error of the Ritz value against its residual", atol=1e-9 * condition
    )

    loss = _logistic(rng, samples, 1, 0.01)
    certified = optimisation.measure_smoothness(loss, jnp.zeros(1))
    outside = optimisation.measure_smoothness(loss, jnp.full(1, radius), radius=radius, probes=20, key=key)
    yield at_most(
        outside.low, certified.value, "sampled L of logistic regression against the certified one", rtol=1e-12
    )
    yield at_least(certified.low, 0.9 * certified.value, "L seen at the maximising point w = 0 against 0.9 L")
    pairs = rng.uniform(-radius, radius, (2, 200))
    margins = np.asarray(loss.y)[:, None, None] * np.asarray(loss.x)[:, :, None] * pairs  # (samples, 2, 200)
    slopes = np.mean(-np.asarray(loss.y * loss.x[:, 0])[:, None, None] / (1 + np.exp(margins)), axis=0) + 0.01 * pairs
    secants = np.abs(np.diff(slopes, axis=0) / np.diff(pairs, axis=0))
    yield at_most(secants, certified.value, "‖Δg‖/‖Δw‖ of 200 pairs against the certified L", rtol=1e-9)

    values = np.geomspace(1.0, condition, dimension)
    start = rng.normal(size=dimension)
    logs = [np.log(np.linalg.norm((1 - factor / condition * values) ** 4000 * start)) for factor in (1.98, 2.02)]
    yield at_most(logs[0], np.log(np.linalg.norm(start)), "log ‖w‖ after 4000 steps of 1.98/L", strict=True)
    yield at_least(
        logs[1], 4000 * np.log(1.02) + np.log(abs(start[-1])), "log ‖w‖ after 4000 steps of 2.02/L", rtol=1e-9
    )

    x = jnp.linspace(-2.0, 2.0, 24)[:, None]
    weights = {name: jnp.asarray(rng.normal(size=8)) for name in ("in", "bias", "out")}
    path = optimisation.sharpness_path(
        _regression_loss, weights, x, jnp.sin(2 * x[:, 0]), step=step, steps=1000, every=50
    )  # fmt: skip
    yield figure.curves(
        f"The local L of a small network moves between {path.sharpness.min():.3g} and "
        f"{path.sharpness.max():.3g} while it learns; steps of {step:g} allow {2 / step:.3g}",
        x="gradient descent steps", y="largest Hessian eigenvalue",
        lines={"2/step size": (path.times, np.full(len(path.times), 2 / step))},
        points={"local L": (path.times, path.sharpness)}, log="y",
    )  # fmt: skip


@instrument(
    "loss-lipschitz-constant",
    says=(
        "The Lipschitz constant B of a loss on a ball is the largest gradient norm there. It stays bounded for the "
        "logistic loss and grows with the radius for a quadratic: bounded gradients and strong convexity exclude each "
        "other on all of space."
    ),
    formula=r"B = \sup_{w \ne w'} \frac{|l(w) - l(w')|}{\|w - w'\|} = \sup_w \|\nabla l(w)\|",
    sources=("penn",),
    assumes=("the region is convex",),
    shows=("optimisation.measure_lipschitz", "optimisation.LipschitzEstimates"),
)
def loss_lipschitz_constant(
    key,
    dimension: Annotated[int, Range(1, 40)] = 5,
    condition: Annotated[float, Range(1.0, 100.0, log=True)] = 10.0,
    samples: Annotated[int, Range(10, 300)] = 80,
    largest: Annotated[float, Range(1.0, 100.0, log=True)] = 30.0,
):
    """Five radii from `largest`/300 up; one compiled search for each loss."""
    rng = data.generator(key)
    top = condition if dimension > 1 else 1.0
    quadratic = _rotated(rng, np.geomspace(1.0, condition, dimension))
    logistic = _logistic(rng, samples, dimension, 0.0)
    radii = largest * np.geomspace(1 / 300, 1.0, 5)
    centre = jnp.zeros(dimension)
    both = {
        name: [optimisation.measure_lipschitz(loss, centre, radius=float(r), key=key) for r in radii]
        for name, loss in (("quadratic", quadratic), ("logistic", logistic))
    }
    for name, found in both.items():
        by_gradients, by_pairs = (np.array([getattr(f, k).value for f in found]) for k in ("by_gradients", "by_pairs"))
        yield close(by_pairs, by_gradients, f"B by pairs against B by gradients, {name} loss", rtol=1e-2)
    measured = {name: np.array([f.by_gradients.value for f in found]) for name, found in both.items()}
    yield close(measured["quadratic"], top * radii, "B of the quadratic against L × radius", rtol=1e-2)
    bound = float(np.mean(np.linalg.norm(np.asarray(logistic.x), axis=1)))
    yield at_most(
        measured["logistic"], bound, "B of the logistic loss against the mean norm of its examples", rtol=1e-12
    )
    yield figure.curves(
        f"On balls up to radius {largest:g} the quadratic's B grows to {measured['quadratic'][-1]:.3g}, the logistic "
        f"loss stays below {bound:.3g}",
        x="radius of the ball", y="Lipschitz constant B",
        lines={"quadratic": (radii, top * radii), "logistic": (radii, np.full(5, bound))},
        points={"quadratic": (radii, measured["quadratic"]), "logistic": (radii, measured["logistic"])}, log="xy",
    )  # fmt: skip


@instrument(
    "condition-number",
    says=(
        "κ = L/m is the ratio of the extreme Hessian eigenvalues; where some are zero or negative, of those above a "
        "tolerance. Standardised features lower a badly scaled regression to the κ of its correlation matrix."
    ),
    formula=r"\kappa = \lambda_{\max}/\lambda_{\min}, \qquad \kappa_{\text{eff}} = \lambda_{\max}/\min\{\lambda_i > "
    r"\epsilon \lambda_{\max}\}",
    sources=("penn",),
    assumes=("λ_max > 0",),
    shows=(
        "optimisation.measure_condition",
        "optimisation.hessian_spectrum",
        "optimisation.HessianSpectrum",
        "optimisation.condition_of_features",
    ),
)
def condition_number(
    key,
    dimension: Annotated[int, Range(4, 60)] = 12,
    condition: Annotated[float, Range(2.0, 1e5, log=True)] = 1000.0,
    flat: Annotated[int, Range(0, 10)] = 3,
    negative: Annotated[int, Range(0, 10)] = 2,
    scales: Annotated[float, Range(100.0, 1e5, log=True)] = 1000.0,
):
    """`flat` zero and `negative` negative eigenvalues beside a prescribed spectrum; columns spread over `scales`."""
    rng = data.generator(key)
    positive = np.geomspace(1.0, condition, dimension)
    spectrum = np.concatenate([-rng.uniform(0.01, 1.0, negative) * condition, np.zeros(flat), positive])
    quadratic = _rotated(rng, spectrum)
    w = jnp.zeros(spectrum.size)
    found = optimisation.hessian_spectrum(_any_loss, w, quadratic)
    kappa = optimisation.measure_condition(_any_loss, w, quadratic)
    yield close(found.values, np.sort(spectrum), "eigenvalues against the prescribed ones", atol=1e-12 * condition)
    yield close(kappa.value, condition, "effective κ against the prescribed one", rtol=1e-8)
    yield exactly(found.negative(1e-6), negative, "negative eigenvalues counted")
    yield exactly(found.near_zero(1e-6), flat, "near-zero eigenvalues counted")
    whole = optimisation.measure_condition(_rotated(rng, positive), jnp.zeros(dimension))
    yield close(whole.value, condition, "certified κ of a positive definite quadratic", rtol=1e-8)

    mixing = np.eye(dimension) + 0.3 * rng.normal(size=(dimension, dimension)) / np.sqrt(dimension)
    x = rng.normal(size=(20 * dimension, dimension)) @ mixing * np.geomspace(1.0, scales, dimension)
    both = optimisation.condition_of_features(x)
    correlation = np.linalg.eigvalsh(np.corrcoef(x.T))
    yield close(
        both.after, correlation[-1] / correlation[0], "κ after standardising against the correlation matrix", rtol=1e-8
    )
    yield at_most(both.after, both.before, "κ after standardising against before", strict=True)
    order = np.arange(1, dimension + 1)
    yield figure.curves(
        f"Standardising the columns lowers κ from {both.before:.3g} to {both.after:.3g}",
        x="eigenvalue, from the largest", y="eigenvalue of XᵀX/n",
        points={"as given": (order, both.spectrum_before), "standardised": (order, both.spectrum_after)}, log="y",
    )  # fmt: skip
