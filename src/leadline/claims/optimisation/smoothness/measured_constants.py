"""The constants of a loss, measured and certified: strong convexity, smoothness, Lipschitz constant, conditioning."""

import jax.numpy as jnp
import numpy as np

from leadline import curvature, data, optimisation
from leadline.claims.scenarios.optimisation.small_networks import network_loss
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, instrument
from leadline.presentation import figure


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


@instrument(sources=("sheet", "penn"))
def strong_convexity_constant(
    key,
    dimension: Int(2, 60) = 10,
    condition: Real(1.5, 1e4, log=True) = 50.0,
    pairs: Int(10, 2000, log=True) = 300,
    radius: Real(0.1, 10.0, log=True) = 1.0,
    decay: Real(0.001, 10.0, log=True) = 0.5,
):
    r"""Estimating the strong convexity constant.

    The strong convexity constant m of a loss on a region is estimated from above by the least curvature over pairs of
    points and by the least Hessian eigenvalue; weight decay a adds exactly a to each of them.

    $$m \le \min \frac{2 D(w', w)}{\|w - w'\|^2}, \quad m \le \min \frac{\langle g - g', w - w' \rangle}{\|w - w'\|^2},
    \quad m \le \min \lambda_{\min}(H)$$

    Assumes: the loss is twice differentiable on the region.

    Check: The estimates are made on a quadratic, whose m is known, and then on logistic regression with penalty 0.01,
    measured as if it were any loss.
    """
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
    options = {"radius": radius, "probes": 8, "key": key}
    constants = [optimisation.measure_strong_convexity(loss, centre, **options) for loss in (plain, more)]
    seen = [each.high for each in constants]  # the least eigenvalue at nine points; certified, the penalty
    yield close(seen[1] - seen[0], decay, "rise of the least Hessian eigenvalue by weight decay", rtol=1e-9, atol=1e-12)
    yield at_least(seen, [each.value for each in constants], "least eigenvalue seen against the certified m", rtol=1e-9)
    yield exactly([each.certified for each in constants], True, "logistic regression is certified")
    yield close(constants[0].value, 0.01, "certified m of logistic regression: its penalty", rtol=1e-12)
    curvatures, refined = found.monotone[2:], found.monotone.min()
    title = f"Curvatures of {pairs} pairs lie between m = 1 and L = {condition:.4g}; least {curvatures.min():.3g}, "
    samples, rules = {"⟨Δg, Δw⟩/‖Δw‖²": curvatures}, {"m": ("x", 1.0), "L": ("x", condition)}
    yield figure.histogram(f"{title}refined {refined:.4g}", "curvature ratio of a pair", samples=samples, rules=rules)


@instrument(sources=("eth", "sheet", "penn"))
def smoothness_constant(
    key,
    dimension: Int(130, 500) = 150,
    condition: Real(2.0, 1e4, log=True) = 100.0,
    samples: Int(5, 500) = 50,
    radius: Real(0.1, 20.0, log=True) = 3.0,
    step_size: Real(0.01, 0.1, log=True) = 0.1,
):
    r"""Estimating the smoothness constant.

    The smoothness constant L is the largest Hessian norm: exact on quadratics, certified by a formula for logistic
    regression, and sampled elsewhere, which can only be too low. Steps of 1/L are safe; just above 2/L a quadratic
    diverges.

    $$L = \sup_{a \ne b} \frac{\|g(a) - g(b)\|}{\|a - b\|} = \sup_w \|H(w)\|$$

    Assumes: the loss is twice differentiable; no global L is claimed for networks.

    Check: Dimensions above 128 are handled by Lanczos iteration, with Hessian-vector products only. The network of the
    figure has 24 weights.
    """
    rng = data.generator(key)
    values = np.geomspace(1.0, condition, dimension)
    top = curvature.hessian(_rotated(rng, values), jnp.zeros(dimension)).top(1)
    yield close(top.values[0], condition, "L of a quadratic by Lanczos against its largest eigenvalue", rtol=1e-6)
    error = abs(top.values[0] - condition)
    yield at_most(error, top.residuals[0], "error of the Ritz value against its residual", atol=1e-9 * condition)
    loss = _logistic(rng, samples, 1, 0.01)
    certified = optimisation.measure_smoothness(loss, jnp.zeros(1))
    outside = optimisation.measure_smoothness(loss, jnp.full(1, radius), radius=radius, probes=20, key=key)
    yield at_most(outside.low, certified.value, "logistic regression: sampled L against the certified L", rtol=1e-12)
    yield at_least(certified.low, 0.9 * certified.value, "L seen at the maximising point w = 0 against 0.9 L")
    pairs = rng.uniform(-radius, radius, (2, 200))
    signed = np.asarray(loss.y * loss.x[:, 0])[:, None, None]
    slopes = np.mean(-signed / (1 + np.exp(signed * pairs)), axis=0) + 0.01 * pairs
    secants = np.abs(np.diff(slopes, axis=0) / np.diff(pairs, axis=0))
    yield at_most(secants, certified.value, "‖Δg‖/‖Δw‖ of 200 pairs against the certified L", rtol=1e-9)
    start = rng.normal(size=dimension)
    below, above = (np.linalg.norm((1 - factor / condition * values) ** 4000 * start) for factor in (1.98, 2.02))
    least = 4000 * np.log(1.02) + np.log(abs(start[-1]))
    yield at_most(np.log(below), np.log(np.linalg.norm(start)), "log ‖w‖ after 4000 steps of 1.98/L", strict=True)
    yield at_least(np.log(above), least, "log ‖w‖ after 4000 steps of 2.02/L", rtol=1e-9)
    x, weights = jnp.linspace(-2.0, 2.0, 24), {name: jnp.asarray(rng.normal(size=8)) for name in "abc"}
    options = {"step_size": step_size, "num_steps": 1000, "every": 50}
    times, sharpness, *_ = optimisation.sharpness_path(network_loss, weights, x, jnp.sin(2 * x), **options)
    span = f"{sharpness.min():.3g} and {sharpness.max():.3g}"
    title = f"The local L of a small network moves between {span}; steps of {step_size:g} allow {2 / step_size:.3g}"
    lines, points = {"2/step size": (times[[0, -1]], [2 / step_size] * 2)}, {"local L": (times, sharpness)}
    axes = "gradient descent steps", "largest Hessian eigenvalue"
    yield figure.curves(title, *axes, lines=lines, points=points, log="y")


@instrument(sources=("penn",))
def loss_lipschitz_constant(
    key,
    dimension: Int(1, 40) = 5,
    condition: Real(1.0, 100.0, log=True) = 10.0,
    samples: Int(10, 300) = 80,
    largest: Real(1.0, 100.0, log=True) = 30.0,
):
    r"""Lipschitz constant of a loss.

    The Lipschitz constant B of a loss on a ball is the largest gradient norm there. It stays bounded for the logistic
    loss and grows with the radius for a quadratic: bounded gradients and strong convexity exclude each other on the
    whole space.

    $$B = \sup_{w \ne w'} \frac{|l(w) - l(w')|}{\|w - w'\|} = \sup_w \|\nabla l(w)\|$$

    Assumes: the region is convex.

    Check: Five radii from `largest`/300 up to `largest` are used, with one compiled search for each loss.
    """
    rng = data.generator(key)
    top = condition if dimension > 1 else 1.0
    quadratic = _rotated(rng, np.geomspace(1.0, condition, dimension))
    logistic = _logistic(rng, samples, dimension, 0.0)
    radii = largest * np.geomspace(1 / 300, 1.0, 5)
    points = {}
    for name, loss in (("quadratic", quadratic), ("logistic", logistic)):
        found = [optimisation.measure_lipschitz(loss, jnp.zeros(dimension), radius=float(r), key=key) for r in radii]
        gradients, pairs = ([getattr(f, k).value for f in found] for k in ("by_gradients", "by_pairs"))
        yield close(pairs, gradients, f"B by pairs against B by gradients, {name} loss", rtol=1e-2)
        points[name] = (radii, gradients)
    yield close(points["quadratic"][1], top * radii, "B of the quadratic against L × radius", rtol=1e-2)
    bound = np.mean(np.linalg.norm(np.asarray(logistic.x), axis=1))
    what = "B of the logistic loss against the mean norm of its examples"
    yield at_most(points["logistic"][1], bound, what, rtol=1e-12)
    grown = points["quadratic"][1][-1]
    title = (
        f"Up to radius {largest:g} B of the quadratic grows to {grown:.3g}, of the logistic loss it is ≤ {bound:.3g}"
    )
    lines = {"quadratic": (radii, top * radii), "logistic": (radii, np.full(5, bound))}
    yield figure.curves(title, "radius of the ball", "Lipschitz constant B", lines=lines, points=points, log="xy")


@instrument(sources=("penn",))
def condition_number(
    key,
    dimension: Int(4, 60) = 12,
    condition: Real(2.0, 1e5, log=True) = 1000.0,
    flat: Int(0, 10) = 3,
    negative: Int(0, 10) = 2,
    scales: Real(100.0, 1e5, log=True) = 1000.0,
):
    r"""Condition number of the Hessian.

    κ = L/m is the ratio of the extreme Hessian eigenvalues; where some are zero or negative, it is the ratio of those
    above a tolerance. Standardising the features lowers κ of a badly scaled regression to that of its correlation
    matrix.

    $$\kappa = \lambda_{\max}/\lambda_{\min}, \qquad \kappa_{\text{eff}} = \lambda_{\max}/\min\{\lambda_i > \epsilon
    \lambda_{\max}\}$$

    Assumes: $\lambda_{\max} > 0$.

    Check: A prescribed spectrum is joined by `flat` zero and `negative` negative eigenvalues; the columns of the
    regression are spread over `scales`.
    """
    rng = data.generator(key)
    positive = np.geomspace(1.0, condition, dimension)
    spectrum = np.concatenate([-rng.uniform(0.01, 1.0, negative) * condition, np.zeros(flat), positive])
    given = (_any_loss, jnp.zeros(spectrum.size), _rotated(rng, spectrum))
    found, kappa = optimisation.hessian_spectrum(*given), optimisation.measure_condition(*given)
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
    kappa = correlation[-1] / correlation[0]
    yield close(both.after, kappa, "κ after standardising against the correlation matrix", rtol=1e-8)
    yield at_most(both.after, both.before, "κ after standardising against before", strict=True)
    order = np.arange(1, dimension + 1)
    points = {"as given": (order, both.spectrum_before), "standardised": (order, both.spectrum_after)}
    title = f"Standardising the columns lowers κ from {both.before:.3g} to {both.after:.3g}"
    yield figure.curves(title, "eigenvalue, from the largest", "eigenvalue of XᵀX/n", points=points, log="y")
