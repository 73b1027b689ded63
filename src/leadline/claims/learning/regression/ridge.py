"""Ridge regression and, beyond it, penalties by any seminorm."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, optimisation, training
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, mean, method
from leadline.presentation import figure

EPS = float(np.finfo(float).eps)


@method(sources=("cam",))
def ridge_regression(
    key,
    samples: Int(60, 400) = 100,
    dim: Int(1, 15) = 6,
    gamma: Real(1e-4, 1e3, log=True) = 0.1,
    noise: Real(0.01, 5.0, log=True) = 1.0,
):
    r"""Ridge regression.

    Ridge regression adds γ‖θ‖² to the mean squared error, and so nγ to the diagonal of XᵀX; the bias is not penalised.
    The solution runs from the pseudo-inverse solution (γ → 0) to 0 (γ → ∞).

    $$\theta = (X^\top X + n \gamma I)^{-1} X^\top y = \sum_j \frac{s_j\, u_j \cdot y}{s_j^2 + n\gamma} v_j, \qquad
    \mathrm{df}(\gamma) = \sum_j \frac{s_j^2}{s_j^2 + n\gamma}$$
    """
    import optax

    rng = data.generator(key)
    x = rng.normal(size=(samples, dim)) + 1.0
    y = x @ rng.normal(size=dim) + 3.0 + noise * rng.normal(size=samples)
    plain = learning.ridge(x, y, gamma, intercept=False).weights
    matrix = x.T @ x + samples * gamma * np.eye(dim)
    missed = matrix @ plain - x.T @ y
    scale = np.linalg.norm(matrix, 2) * np.linalg.norm(plain) + np.linalg.norm(x.T @ y)
    yield at_most(np.linalg.norm(missed) / scale, samples * EPS, "residual of (XᵀX + nγI)θ = Xᵀy, relative")
    fit = learning.ridge(x, y, gamma)
    centred = x - x.mean(axis=0)
    rate = optax.sgd(1 / (2 * np.linalg.norm(centred, 2) ** 2 / samples + 2 * gamma))
    rows = jnp.asarray(centred), jnp.asarray(y - y.mean())
    end, _ = training.minimise(partial(_ridge_objective, gamma=gamma), jnp.zeros(dim), rate, 2000, *rows)
    size = np.linalg.norm(fit.weights)
    yield close(end, fit.weights, "weights by gradient descent against the closed form", atol=1e-9 * size)
    moved = learning.ridge(x, y + 100.0, gamma)
    yield close(moved.weights, fit.weights, "weights after adding 100 to every target", atol=1e-12 * (size + 100))
    yield close(moved.bias, fit.bias + 100, "bias after adding 100 to every target", rtol=1e-12, atol=1e-11)
    few = rng.normal(size=(max(dim // 2, 1), dim))
    target = rng.normal(size=len(few))
    inverse = np.linalg.pinv(few)
    small, least = learning.ridge(few, target, 1e-12, intercept=False).weights, inverse @ target
    what = "weights at γ = 10⁻¹² against the pseudo-inverse, fewer examples than weights"
    scale = np.linalg.norm(least) * max(1.0, np.linalg.norm(inverse, 2) ** 2)
    yield close(small, least, what, atol=1e-6 * scale)
    gammas = np.geomspace(1e-4, 1e6, 41)
    fits = learning.ridge_fits(x, y, gammas)
    bound = np.linalg.norm(centred.T @ (y - y.mean())) / (samples * gammas)
    norms = np.linalg.norm(fits.weights, axis=1)
    yield at_most(norms, bound, "‖θ‖ along the path against ‖Xᵀy‖/(nγ)", rtol=1e-9)
    yield at_most(np.diff(norms), 0.0, "change of ‖θ‖ as γ grows", atol=1e-12 * size)
    single = np.array([learning.ridge(x, y, g).weights for g in gammas[::10]])
    yield close(fits.weights[::10], single, "weights of the path against single fits", atol=1e-12 * size)
    inputs, targets, names = data.diabetes()
    shown = np.geomspace(1e-4, 1e3, 60)
    path, few = learning.ridge_fits(inputs, targets, shown), shown[::6]
    X, ridge = inputs - inputs.mean(axis=0), len(targets) * np.eye(len(names))
    hat = [1 + np.trace(X @ np.linalg.solve(X.T @ X + g * ridge, X.T)) for g in few]
    yield close(path.degrees_of_freedom[::6], hat, "degrees of freedom against the trace of the hat matrix", rtol=1e-9)
    lines = {names[j]: (shown, path.weights[:, j]) for j in np.argsort(-np.abs(path.weights[0]))[:7]}
    title = "weights, the seven largest"
    shrinking = figure.curves(title, "penalty γ", "weight, standardised inputs", log="x", lines=lines)
    lines = {"1 + Σ s²/(s² + nγ)": (shown, path.degrees_of_freedom)}
    points, title = {"trace of the hat matrix": (few, hat)}, "effective degrees of freedom"
    freedom = figure.curves(title, "penalty γ", "degrees of freedom", log="x", lines=lines, points=points)
    half = shown[np.argmin(np.abs(path.degrees_of_freedom - 6))]
    title = f"Diabetes data: the weights shrink towards 0; γ = {half:.2g} leaves 6 of 11 degrees of freedom"
    yield figure.beside(title, shrinking, freedom)


@claim(sources=("cam",))
def ridge_strong_convexity(
    key,
    samples: Int(5, 100) = 30,
    dim: Int(2, 40) = 10,
    gamma: Real(1e-3, 10.0, log=True) = 0.05,
    num_steps: Int(50, 400) = 150,
):
    r"""Ridge objective is strongly convex.

    The ridge objective is strongly convex with modulus $\mu = 2(\lambda_{\min} + \gamma)$, so its minimiser is unique
    and gradient descent with step size 1/L shrinks the error at least by the factor 1 − μ/L per step. Without γ this
    needs full column rank.

    $$\nabla^2 = 2\,(X^\top X/n + \gamma I) \succeq \mu I, \qquad \|\theta_{t+1} - \theta^*\| \le (1 - \mu/L)
    \|\theta_t - \theta^*\|$$

    Assumes: γ > 0, or X has full column rank.

    Check: Descent starts from 0 and from the minimiser plus the weakest eigenvector, where equality holds.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim)) / np.sqrt(1 + np.arange(dim))
    y = x @ rng.normal(size=dim) + rng.normal(size=samples)
    best = learning.ridge(x, y, gamma, intercept=False).weights
    moments, vectors = np.linalg.eigh(x.T @ x / samples)
    full = samples >= dim
    lowest = moments[0] if full else 0.0
    mu, L = 2 * (lowest + gamma), 2 * (moments[-1] + gamma)
    starts = np.stack([np.zeros(dim), best + vectors[:, 0]])
    hessian, paths = _descend(x, y, gamma, 1 / L, starts, num_steps)
    curvature = np.linalg.eigvalsh(hessian)
    yield close(curvature, 2 * (moments + gamma), "eigenvalues of the Hessian by autodiff", atol=1e-10 * L)
    error = np.linalg.norm(np.asarray(paths) - best, axis=-1)  # (starts, steps + 1)
    rounding = 1e-13 * (1 + np.linalg.norm(best))
    what, shrunk = "error after each step, against (1 − μ/L) times the error before", (1 - mu / L) * error[:, :-1]
    yield at_most(error[:, 1:], shrunk, what, atol=rounding)
    visible = error[1, :-1] > 1e-8
    what = "error along the weakest direction, against (1 − μ/L) times the error before"
    yield close(error[1, 1:][visible], shrunk[1, visible], what, atol=rounding, rtol=0.01)
    free = learning.null_space(x, intercept=False)
    yield exactly(free.shape[1], max(dim - samples, 0), "directions without curvature at γ = 0: d − n of them")
    if not full:
        starts = np.stack([np.zeros(dim), free[:, 0]])
        _, plain = _descend(x, y, 0.0, 1 / (2 * moments[-1]), starts, num_steps)
        kept = np.asarray(plain)[1] @ free[:, 0]
        yield close(kept, 1.0, "component in the null space along descent at γ = 0: never shrinks", atol=1e-10)
    t = np.arange(num_steps + 1)
    bound = error[0, 0] * (1 - mu / L) ** t
    title = f"Every step leaves at most {1 - mu / L:.4g} of the error: μ = {mu:.3g}, L = {L:.3g}"
    lines = {"from 0: bound": _seen(t, bound), "weakest direction: equality": _seen(t, (1 - mu / L) ** t)}
    points = {"from 0": _seen(t, error[0]), "along the weakest direction": _seen(t, error[1])}
    yield figure.curves(title, "steps of gradient descent", "‖θ − θ*‖", log="y", lines=lines, points=points)


@method(sources=("cam",), shows=("learning.spline_space",))
def tikhonov_path(
    key,
    samples: Int(30, 80) = 40,
    noise: Real(0.2, 0.6) = 0.3,
    width: Real(0.08, 0.2) = 0.12,
    repeats: Int(20, 60) = 24,
):
    r"""Tikhonov regularisation and smoothing splines.

    Tikhonov regularisation is least squares plus γ times a squared seminorm: of the weights, an RKHS norm, ∫f′² (H¹)
    or ∫f″² (H²). What the seminorm does not see stays free: as γ → ∞, H¹ ends at the mean, H² at the regression line.

    $$\min_f \tfrac1n \sum_i (f(x_i) - y_i)^2 + \gamma |f|^2 \ \xrightarrow{\gamma \to \infty}\ \text{least squares
    within } \{f : |f| = 0\}$$

    Assumes: noisy data, for an optimal γ strictly between 0 and ∞.

    Check: Points of sin 2πx are taken in the middles of equal cells. The kernel is Gaussian of width `width`, and the
    test risk is computed on a fine grid.
    """
    rng = data.generator(key)
    x, grid = (np.arange(samples) + 0.5) / samples, np.linspace(0, 1, 101)
    truth = np.sin(2 * np.pi * grid)
    y = np.sin(2 * np.pi * x) + noise * rng.normal(size=(repeats, samples))
    problems = _problems(x, grid, width)
    gammas = np.geomspace(1e-10, 1e3, 27)
    line = np.polynomial.Polynomial.fit(x, y[0], 1)
    limits = {"ℓ2 of weights": 0 * grid, "RKHS": 0 * grid, "H¹": 0 * grid + y[0].mean(), "H²": line(grid)}
    risks, expected, curves = {}, {}, {}
    for name, (features, fine, penalty) in problems.items():
        fits = learning.tikhonov_fits(features, y[0], penalty, np.append(gammas, 1e9))
        c, g = fits.coefficients[:-1], gammas[:, None]
        missed = (c @ features.T - y[0]) @ features / samples + g * (c @ penalty)
        scale = np.abs(y[0] @ features).max() / samples + (np.abs(g) * np.abs(c) @ np.abs(penalty)).max(axis=1)
        # A kernel matrix is singular to rounding, and its square root is known to √ε.
        yield at_most(np.abs(missed).max(axis=1) / scale, 10 * np.sqrt(EPS), f"gradient at the fits, relative, {name}")
        yield close(fine @ fits.coefficients[-1], limits[name], f"fit at γ = 10⁹, {name}", atol=1e-6)
        yield close(fine @ fits.limit, limits[name], f"limit γ → ∞, {name}", atol=1e-9)
        # The fit is linear in y: fits to unit vectors give the smoother S, and with it the exact expected risk.
        units = learning.tikhonov_fits(features, np.eye(samples), penalty, gammas).coefficients
        smoother = np.moveaxis(units @ fine.T, 0, -1)  # (gammas, grid, samples)
        bias = smoother @ np.sin(2 * np.pi * x) - truth
        expected[name] = np.mean(bias**2, axis=1) + noise**2 * np.mean(np.sum(smoother**2, axis=-1), axis=1)
        best = int(expected[name].argmin())
        what = f"risk at both ends of γ, {name}, against the least"
        yield at_least(expected[name][[0, -1]], expected[name][best], what, strict=True)
        drawn = learning.tikhonov_fits(features, y, penalty, gammas).coefficients
        risks[name] = np.mean((drawn @ fine.T - truth) ** 2, axis=-1)  # (repeats, gammas)
        yield mean(risks[name][:, best], expected[name][best], f"risk of {repeats} fits at the best γ, {name}")
        shown = [max(best - 8, 0), best, min(best + 4, len(gammas) - 2), len(gammas) - 1]
        curves[name] = {f"γ = {gammas[k]:.0e}": (grid, fine @ fits.coefficients[k]) for k in shown}
    for name, dimension in (("H¹", 1), ("H²", 2)):
        eigenvalues = np.linalg.eigvalsh(problems[name][2])
        free = np.sum(eigenvalues < 1e-10 * eigenvalues[-1])
        yield exactly(free, dimension, f"dimension of what {name} does not see")
    panels = [
        figure.curves(f"{name}: fits", "x", "f(x)", lines=curves[name], points={"data": (x, y[0])})
        for name in ("RKHS", "H¹", "H²")
    ]
    lines = {name: (gammas, r) for name, r in expected.items()}
    points = {name: (gammas[::2], r.mean(axis=0)[::2]) for name, r in risks.items()}
    title = f"mean excess risk of {repeats} fits"
    panels.append(figure.curves(title, "γ", "E (f − f*)²", log="xy", lines=lines, points=points))
    first, second = (gammas[expected[name].argmin()] for name in ("H¹", "H²"))
    ends = "at γ = 1000 H¹ is the mean and H² the regression line"
    yield figure.beside(f"The best γ lies inside: {first:.0e} for H¹, {second:.0e} for H²; {ends}", *panels)


def _ridge_objective(theta, x, y, gamma):
    return jnp.mean((x @ theta - y) ** 2) + gamma * jnp.sum(theta**2)


@partial(jax.jit, static_argnames="steps")
def _descend(x, y, gamma, rate, starts, steps):
    """The Hessian, and the iterates of gradient descent from each start."""

    gradient = jax.vmap(jax.grad(lambda theta: _ridge_objective(theta, x, y, gamma)))
    path = optimisation.gradient_path(gradient, starts, rate, steps)  # (steps + 1, starts, d)
    return jax.hessian(_ridge_objective)(starts[0], x, y, gamma), jnp.moveaxis(path, 1, 0)


def _seen(x, y):
    return x[y > 1e-14], y[y > 1e-14]  # below is rounding


def _problems(x, grid, width):
    """Features at the data and on the grid, and the penalty matrix, of four seminorms."""
    problems = {"ℓ2 of weights": (learning.legendre_features(x, 15), learning.legendre_features(grid, 15), np.eye(16))}

    def kernel(a, b):
        return np.exp(-((a[:, None] - b[None, :]) ** 2) / (2 * width**2))

    problems["RKHS"] = (kernel(x, x), kernel(grid, x), kernel(x, x))
    for name, order in (("H¹", 1), ("H²", 2)):
        space = learning.spline_space(np.linspace(0, 1, 31), order)
        problems[name] = (space.features(x), space.features(grid), space.penalty)
    return problems
