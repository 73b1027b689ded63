"""Ridge regression and, beyond it, penalties by any seminorm."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, training
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, method

EPS = float(np.finfo(float).eps)


@method(
    "ridge-regression",
    says=(
        "Ridge regression adds γ‖θ‖² to the mean squared error, so nγ to the diagonal of XᵀX; the bias is not "
        "penalised. It runs from the pseudo-inverse solution (γ → 0) to 0 (γ → ∞)."
    ),
    formula=(
        r"\theta = (X^\top X + n \gamma I)^{-1} X^\top y = \sum_j \frac{s_j\, u_j \cdot y}{s_j^2 + n\gamma} "
        r"v_j, \qquad "
        r"\mathrm{df}(\gamma) = \sum_j \frac{s_j^2}{s_j^2 + n\gamma}"
    ),
    sources=("cam",),
    shows=("learning.ridge", "learning.ridge_fits", "learning.RidgeFits"),
)
def ridge_regression(
    key,
    samples: Annotated[int, Range(60, 400)] = 100,
    dim: Annotated[int, Range(1, 15)] = 6,
    gamma: Annotated[float, Range(1e-4, 1e3, log=True)] = 0.1,
    noise: Annotated[float, Range(0.01, 5.0, log=True)] = 1.0,
):
    """Random inputs with a mean; one penalty, its limits, and the whole path on the diabetes data."""
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
    rate = 1 / (2 * np.linalg.norm(centred, 2) ** 2 / samples + 2 * gamma)
    end, _ = training.minimise(
        lambda w, x, y: jnp.mean((x @ w - y) ** 2) + gamma * jnp.sum(w**2),
        jnp.zeros(dim), optax.sgd(rate), 2000, jnp.asarray(centred), jnp.asarray(y - y.mean()),
    )  # fmt: skip
    size = np.linalg.norm(fit.weights)
    yield close(end, fit.weights, "weights by gradient descent", atol=1e-9 * size)
    moved = learning.ridge(x, y + 100.0, gamma)
    yield close(moved.weights, fit.weights, "weights after adding 100 to every target", atol=1e-12 * (size + 100))
    yield close(moved.bias, fit.bias + 100, "bias after adding 100 to every target", rtol=1e-12, atol=1e-11)

    few = rng.normal(size=(max(dim // 2, 1), dim))
    target = rng.normal(size=len(few))
    small, least = learning.ridge(few, target, 1e-12, intercept=False).weights, np.linalg.pinv(few) @ target
    yield close(small, least, "weights at γ = 10⁻¹² against the pseudo-inverse, fewer examples than weights",
                atol=1e-6 * np.linalg.norm(least) * max(1.0, np.linalg.norm(np.linalg.pinv(few), 2) ** 2))  # fmt: skip
    gammas = np.geomspace(1e-4, 1e6, 41)
    fits = learning.ridge_fits(x, y, gammas)
    bound = np.linalg.norm(centred.T @ (y - y.mean())) / (samples * gammas)
    yield at_most(np.linalg.norm(fits.weights, axis=1), bound, "‖θ‖ along the path against ‖Xᵀy‖/(nγ)", rtol=1e-9)
    yield at_most(np.diff(np.linalg.norm(fits.weights, axis=1)), 0.0, "change of ‖θ‖ as γ grows", atol=1e-12 * size)
    single = np.array([learning.ridge(x, y, g).weights for g in gammas[::10]])
    yield close(fits.weights[::10], single, "weights of the path against single fits", atol=1e-12 * size)

    inputs, targets, names = data.diabetes()
    n = len(targets)
    shown = np.geomspace(1e-4, 1e3, 60)
    path = learning.ridge_fits(inputs, targets, shown)
    few_gammas = shown[::6]
    X = inputs - inputs.mean(axis=0)
    hat = [1 + np.trace(X @ np.linalg.solve(X.T @ X + n * g * np.eye(len(names)), X.T)) for g in few_gammas]
    yield close(path.degrees_of_freedom[::6], hat, "degrees of freedom against the trace of the hat matrix", rtol=1e-9)
    largest = np.argsort(-np.abs(path.weights[0]))[:7]
    half = shown[np.argmin(np.abs(path.degrees_of_freedom - 6))]
    yield figure.beside(
        f"Diabetes data: the weights shrink towards 0; γ = {half:.2g} leaves 6 of 11 degrees of freedom",
        figure.curves(
            "weights, the seven largest", x="penalty γ", y="weight, standardised inputs", log="x",
            lines={names[j]: (shown, path.weights[:, j]) for j in largest},
        ),
        figure.curves(
            "effective degrees of freedom", x="penalty γ", y="degrees of freedom", log="x",
            lines={"1 + Σ s²/(s² + nγ)": (shown, path.degrees_of_freedom)},
            points={"trace of the hat matrix": (few_gammas, hat)},
        ),
    )  # fmt: skip


@claim(
    "ridge-strong-convexity",
    says=(
        "The ridge objective is strongly convex with modulus μ = 2(λ_min + γ), so its minimiser is unique and gradient "
        "descent with step 1/L shrinks the error by 1 − μ/L or more per step. Without γ this needs full column rank."
    ),
    formula=(
        r"\nabla^2 = 2\,(X^\top X/n + \gamma I) \succeq \mu I, \qquad \|\theta_{t+1} - \theta^*\| \le (1 - "
        r"\mu/L) \|\theta_t - \theta^*\|"
    ),
    sources=("cam",),
    assumes=("γ > 0, or X of full column rank",),
)
def ridge_strong_convexity(
    key,
    samples: Annotated[int, Range(5, 100)] = 30,
    dim: Annotated[int, Range(2, 40)] = 10,
    gamma: Annotated[float, Range(1e-3, 10.0, log=True)] = 0.05,
    steps: Annotated[int, Range(50, 400)] = 150,
):
    """Descent from 0 and from the minimiser plus the weakest eigenvector, along which the bound is an equality."""
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim)) / np.sqrt(1 + np.arange(dim))
    y = x @ rng.normal(size=dim) + rng.normal(size=samples)
    best = learning.ridge(x, y, gamma, intercept=False).weights
    moments, vectors = np.linalg.eigh(x.T @ x / samples)
    full = samples >= dim
    lowest = moments[0] if full else 0.0
    mu, L = 2 * (lowest + gamma), 2 * (moments[-1] + gamma)
    hessian, paths = _descend(
        jnp.asarray(x),
        jnp.asarray(y),
        gamma,
        1 / L,
        jnp.stack([jnp.zeros(dim), jnp.asarray(best + vectors[:, 0])]),
        steps,
    )
    yield close(
        np.linalg.eigvalsh(hessian), 2 * (moments + gamma), "eigenvalues of the Hessian by autodiff", atol=1e-10 * L
    )
    error = np.linalg.norm(np.asarray(paths) - best, axis=-1)  # (starts, steps + 1)
    rounding = 1e-13 * (1 + np.linalg.norm(best))
    yield at_most(
        error[:, 1:], (1 - mu / L) * error[:, :-1], "error after each step, against (1 − μ/L) times the error before",
        atol=rounding,
    )  # fmt: skip
    visible = error[1, :-1] > 1e-8
    yield close(
        error[1, 1:][visible], (1 - mu / L) * error[1, :-1][visible], "error along the weakest direction",
        atol=rounding, rtol=0.01,
    )  # fmt: skip

    free = learning.null_space(x, intercept=False)
    yield exactly(free.shape[1] > 0, not full, "directions without curvature at γ = 0: only if rank X < d")
    if not full:
        starts = jnp.stack([jnp.zeros(dim), jnp.asarray(free[:, 0])])
        _, plain = _descend(jnp.asarray(x), jnp.asarray(y), 0.0, 1 / (2 * moments[-1]), starts, steps)
        kept = np.asarray(plain)[1] @ free[:, 0]
        yield close(kept, 1.0, "component in the null space along descent at γ = 0: never shrinks", atol=1e-10)

    t = np.arange(steps + 1)
    some = np.unique(np.geomspace(1, steps, 20).astype(int))
    bound = error[0, 0] * (1 - mu / L) ** t
    yield figure.curves(
        f"Every step leaves at most {1 - mu / L:.4g} of the error: μ = {mu:.3g}, L = {L:.3g}",
        x="steps of gradient descent", y="‖θ − θ*‖", log="y",
        lines={
            "from 0: bound": _seen(t, bound),
            "weakest direction: equality": _seen(t, (1 - mu / L) ** t),
        },
        points={"from 0": _seen(some, error[0, some]), "along the weakest direction": _seen(some, error[1, some])},
    )  # fmt: skip


@method(
    "tikhonov-path",
    says=(
        "Least squares plus γ times a squared seminorm: weights, an RKHS norm, ∫f′² (H¹) or ∫f″² (H²). What the "
        "seminorm does not see stays free: as γ → ∞, H¹ ends at the mean, H² at the regression line."
    ),
    formula=(
        r"\min_f \tfrac1n \sum_i (f(x_i) - y_i)^2 + \gamma |f|^2 \ \xrightarrow{\gamma \to \infty}\ "
        r"\text{least squares within } \{f : |f| = 0\}"
    ),
    sources=("cam",),
    assumes=("noisy data, for a best γ inside",),
    shows=("learning.tikhonov_fits", "learning.TikhonovFits", "learning.spline_space", "learning.SplineSpace"),
)
def tikhonov_path(
    key,
    samples: Annotated[int, Range(30, 80)] = 40,
    noise: Annotated[float, Range(0.2, 0.6)] = 0.3,
    width: Annotated[float, Range(0.08, 0.2)] = 0.12,
    repeats: Annotated[int, Range(20, 60)] = 24,
):
    """Points of sin 2πx in the middles of equal cells; a Gaussian kernel of `width`; the test risk on a fine grid."""
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
        yield at_least(
            expected[name][[0, -1]],
            expected[name][best],
            f"risk at both ends of γ, {name}, against the least",
            strict=True,
        )
        drawn = learning.tikhonov_fits(features, y, penalty, gammas).coefficients
        risks[name] = np.mean((drawn @ fine.T - truth) ** 2, axis=-1)  # (repeats, gammas)
        yield mean(risks[name][:, best], expected[name][best], f"risk of {repeats} fits at the best γ, {name}")
        shown = [max(best - 8, 0), best, min(best + 4, len(gammas) - 2), len(gammas) - 1]
        curves[name] = {f"γ = {gammas[k]:.0e}": (grid, fine @ fits.coefficients[k]) for k in shown}
    seminorm = {name: problems[name][2] for name in ("H¹", "H²")}
    for name, dimension in (("H¹", 1), ("H²", 2)):
        eigenvalues = np.linalg.eigvalsh(seminorm[name])
        free = int((eigenvalues < 1e-10 * eigenvalues[-1]).sum())
        yield exactly(free, dimension, f"dimension of what {name} does not see")

    panels = [
        figure.curves(f"{name}: fits", x="x", y="f(x)", lines=curves[name], points={"data": (x, y[0])})
        for name in ("RKHS", "H¹", "H²")
    ]
    lowest = {name: gammas[r.argmin()] for name, r in expected.items()}
    yield figure.beside(
        f"The best γ lies inside: {lowest['H¹']:.0e} for H¹, {lowest['H²']:.0e} for H²; at γ = 1000 H¹ is the mean and "
        "H² the regression line",
        *panels,
        figure.curves(
            f"mean excess risk of {repeats} fits", x="γ", y="E (f − f*)²", log="xy",
            lines={name: (gammas, r) for name, r in expected.items()},
            points={name: (gammas[::2], r.mean(axis=0)[::2]) for name, r in risks.items()},
        ),
    )  # fmt: skip


def _ridge_objective(theta, x, y, gamma):
    return jnp.mean((x @ theta - y) ** 2) + gamma * jnp.sum(theta**2)


@partial(jax.jit, static_argnames="steps")
def _descend(x, y, gamma, rate, starts, steps):
    """The Hessian, and the iterates of gradient descent from each start."""

    def step(theta, _):
        slope = jax.vmap(jax.grad(_ridge_objective), in_axes=(0, None, None, None))(theta, x, y, gamma)
        theta = theta - rate * slope
        return theta, theta

    _, path = jax.lax.scan(step, starts, length=steps)
    whole = jnp.concatenate([starts[None], path])  # (steps + 1, starts, d)
    return jax.hessian(_ridge_objective)(starts[0], x, y, gamma), jnp.moveaxis(whole, 1, 0)


def _seen(x, y):
    return x[y > 1e-14], y[y > 1e-14]


def _problems(x, grid, width):
    """Features at the data and on the grid, and the penalty matrix, of four seminorms."""
    problems = {
        "ℓ2 of weights": (learning.legendre_features(x, 15), learning.legendre_features(grid, 15), np.eye(16)),
    }

    def kernel(a, b):
        return np.exp(-((a[:, None] - b[None, :]) ** 2) / (2 * width**2))

    problems["RKHS"] = (kernel(x, x), kernel(grid, x), kernel(x, x))
    for name, order in (("H¹", 1), ("H²", 2)):
        space = learning.spline_space(np.linspace(0, 1, 31), order)
        problems[name] = (space.features(x), space.features(grid), space.penalty)
    return problems
