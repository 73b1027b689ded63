"""The Polyak-Łojasiewicz inequality: measured, implied by strong convexity, and along the training of networks."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, instrument, reference
from leadline.optimisation.objectives.any_loss import evaluate_points
from leadline.presentation import figure


def _sine_parabola(w):
    """x² + 3 sin² x as a function nothing is known of."""
    return jnp.sum(w**2 + 3 * jnp.sin(w) ** 2)


@instrument(sources=("eth", "sheet", "penn"))
def pl_constant(
    key,
    radius: Real(2.3, 20.0) = 6.0,
    probes: Int(500, 5000, log=True) = 2000,
    dimension: Int(2, 30) = 8,
    least: Real(0.01, 1.0, log=True) = 0.1,
    raised: Real(0.001, 0.2, log=True) = 0.05,
):
    r"""Polyak–Łojasiewicz constant.

    The PL constant μ is the least ratio of half the squared gradient norm to the gap l − l*. A non-convex function can
    have a positive one; it is 0 where a saddle or a second minimum stops descent, and an l* set too high inflates it.

    $$\tfrac12 \|\nabla l(w)\|^2 \ge \mu\,(l(w) - l^*), \qquad \mu(w) = \frac{\|\nabla l(w)\|^2}{2 (l(w) - l^*)}$$

    Assumes: l* is known or bracketed; points with l = l* are left out (0/0).

    Check: The parameter `least` is the smallest non-zero eigenvalue of a singular quadratic; l* is then set too high
    by `raised`.
    """
    from scipy.optimize import minimize_scalar

    def ratio(x):
        return float(optimisation.pl_ratios(*_sine_values(np.array([x])), 0.0)[0])

    best = minimize_scalar(ratio, bounds=(2.0, 2.4), method="bounded", options={"xatol": 1e-10})
    yield reference(best.fun, 0.175531, "least μ(x) of x² + 3 sin² x", digits=6)
    yield reference(best.x, 2.20171, "x at which μ(x) of x² + 3 sin² x is least", digits=6)
    on_grid = optimisation.pl_ratios(*_sine_values(np.linspace(1e-3, radius, 20_001)), 0.0)
    yield at_least(on_grid, best.fun, "μ(x) of x² + 3 sin² x on a grid against its least", rtol=1e-12)
    yield at_least(best.fun, 1 / 32, "least μ(x) of x² + 3 sin² x against the constant 1/32 of the literature")
    measured = optimisation.measure_pl(_sine_parabola, jnp.ones(1), minimum=0.0, radius=radius, probes=probes, key=key)
    yield at_least(measured.value, best.fun, "μ sampled in a ball, an upper bound of the least", rtol=1e-12)
    certified = optimisation.measure_pl(optimisation.SineParabola(), jnp.ones(1))
    yield exactly([measured.certified, certified.certified], [False, True], "certified: sampled, by formula")
    curvature = optimisation.measure_strong_convexity(_sine_parabola, jnp.full(1, np.pi / 2))
    yield close(curvature.value, -4.0, "curvature of x² + 3 sin² x at π/2: it is not convex", rtol=1e-9)
    values = np.concatenate([np.zeros(dimension // 2), np.geomspace(least, 1.0, dimension - dimension // 2)])
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    w = rng.normal(size=(200, dimension))
    w[0] = basis[:, dimension // 2] + basis[:, 0]  # along the least curvature that is not zero
    ratios = _ratios(values, w @ basis)
    yield close(ratios.min(), least, "μ of a singular quadratic against its smallest non-zero eigenvalue", rtol=1e-9)
    stops = np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)[1:]
    stuck = [optimisation.measure_pl(optimisation.DoubleWell(), jnp.full(1, w)).value for w in stops]
    yield at_most(stuck, 1e-12, "μ of the double well at its saddle and at its shallow minimum")
    mu = optimisation.measure_pl(_sine_parabola, jnp.full(1, 2.2), minimum=(0.0, raised))
    yield at_least(mu.high, mu.low, f"μ at 2.2 with l* too high by {raised:g} against the true one", strict=True)
    path = [2.6]
    for _ in range(60):
        path.append(path[-1] - 0.02 * (2 * path[-1] + 3 * np.sin(2 * path[-1])))
    along, t = optimisation.pl_ratios(*_sine_values(np.array(path)), 0.0), np.arange(61)
    title = f"Along descent on x² + 3 sin² x the ratio falls to {along.min():.4f}, never below μ = {best.fun:.4f}"
    lines, points = {"least μ": (t, np.full(61, best.fun))}, {"μ(w)": (t, along)}
    axes = "gradient descent steps of 0.02", "μ(w) = ‖∇l‖²/2(l − l*)"
    yield figure.curves(title, *axes, lines=lines, points=points, log="y")


def _sine_values(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x**2 + 3 * np.sin(x) ** 2, np.abs(2 * x + 3 * np.sin(2 * x))


@claim(sources=("sheet", "penn"))
def strong_convexity_implies_pl(
    key,
    dimension: Int(2, 40) = 6,
    condition: Real(1.5, 1e4, log=True) = 100.0,
    functions: Int(5, 60) = 25,
    penalty: Real(0.01, 1.0, log=True) = 0.1,
):
    r"""Strong convexity implies PL.

    An m-strongly convex function satisfies the PL condition with μ = m, with equality for isotropic quadratics. The
    converse is false: x² + 3 sin² x and underdetermined least squares have μ > 0 and are not strongly convex.

    $$l(w') \ge l(w) + \langle g, w' - w \rangle + \tfrac m2 \|w' - w\|^2 \ \Rightarrow\ l^* \ge l(w) - \|g\|^2/(2m)$$

    Assumes: l is differentiable and m-strongly convex with m > 0.

    Check: Random quadratics with m from 0.01 to 10 are tested, then ridge-logistic regression, each at 200 random
    points.
    """
    rng = data.generator(key)
    m = np.geomspace(0.01, 10.0, functions)
    measured = []
    for least in m:
        values = least * np.exp(rng.uniform(0, np.log(condition), dimension))
        values[0] = least
        measured.append(_ratios(values, rng.normal(size=(200, dimension))).min())
    yield at_least(measured, m, "least μ(w) of random quadratics against m", rtol=1e-12)
    isotropic = _ratios(np.full(dimension, 3.0), rng.normal(size=(50, dimension)))
    yield close(isotropic, 3.0, "μ(w) of an isotropic quadratic against m", rtol=1e-12)
    x = rng.normal(size=(50, dimension))
    loss = optimisation.LogisticRidge(x, np.where(rng.random(50) < 0.5, 1.0, -1.0), penalty)
    known = loss.constants()
    points = known.minimiser + 3 * rng.normal(size=(200, dimension))
    values, gradients = evaluate_points(loss, points)
    logistic = optimisation.pl_ratios(values, np.linalg.norm(gradients, axis=1), known.minimum)
    yield at_least(logistic, penalty, "μ(w) of ridge-logistic regression against m = a", rtol=1e-9)
    curvature = 2 + 6 * np.cos(2 * np.linspace(0, np.pi, 1001))
    yield close(curvature.min(), -4.0, "least curvature of x² + 3 sin² x, which has μ = 0.1755", atol=1e-9)
    x, y = rng.normal(size=(dimension, 2 * dimension)), rng.normal(size=dimension)
    wide = optimisation.LeastSquares(x, y).constants()
    yield exactly(wide.strong_convexity, 0.0, "underdetermined least squares: m")
    yield at_least(wide.pl, 0.0, "underdetermined least squares: μ", strict=True)
    title = f"All {functions} quadratics have μ at least m; ridge-logistic has {logistic.min() / penalty:.3g} times m"
    points = {"quadratics": (m, measured), "ridge-logistic": ([penalty], [logistic.min()])}
    axes = "strong convexity m", "PL constant μ, least over 200 points"
    yield figure.curves(title, *axes, lines={"μ = m": (m, m)}, points=points, log="xy")


def _ratios(values: np.ndarray, w: np.ndarray) -> np.ndarray:
    """μ(w) of ½ Σ λᵢ wᵢ²."""
    return optimisation.pl_ratios(np.sum(values * w**2, axis=1) / 2, np.linalg.norm(values * w, axis=1), 0.0)


@claim(sources=("penn",), empirical=True)
def pl_in_wide_networks(
    key,
    widest: Int(128, 1024, log=True) = 256,
    samples: Int(50, 100) = 50,
    num_steps: Int(50, 300) = 120,
    seeds: Int(3, 5) = 3,
):
    r"""PL condition in wide networks.

    With $l = \frac{1}{2n} \sum_i r_i^2$ the local PL ratio of a network is at least $\lambda_{\min}(K)/n$, where K is
    its tangent kernel, exactly and at every step. Empirical finding: this guarantee grows with the width; the ratio
    itself, far above it in a run of finite length, does not always. At zero weights it is 0.

    $$\mu(w) = \frac{\|J^\top r\|^2/n^2}{\|r\|^2/n} \ge \frac{\lambda_{\min}(J J^\top)}{n}$$

    Assumes: squared loss with l* = 0; one output.

    Check: Even digits are told from odd ones by tanh networks of one hidden layer, started from N(0, 1/fan-in), with
    steps of $n/\lambda_{\max}(K_0)$. With fewer than 50 samples the least eigenvalue of three networks is too uncertain
    for a rank correlation, and a narrow one may diverge.
    """
    from scipy.stats import spearmanr

    images, labels = data.digits()
    rng = data.generator(key)
    rows = rng.permutation(len(labels))[:samples]
    x, y = images[rows], np.where(labels[rows] % 2 == 0, 1.0, -1.0)
    x = np.concatenate([x - images.mean(axis=0), np.ones((samples, 1))], axis=1)
    widths = np.unique(np.geomspace(8, widest, 6).astype(int))
    runs = []
    for _ in range(seeds):
        starts = [(rng.normal(size=(w, 65)) / np.sqrt(65), rng.normal(size=w) / np.sqrt(w)) for w in widths]
        runs.append([_train(*start, x, y, num_steps) for start in starts])
    ratios, bounds = np.moveaxis(np.array(runs), 2, 0)  # (seeds, widths, times) each
    yield at_least(ratios, bounds, "μ(w) against λ_min(K)/n, at every record", rtol=1e-9, atol=1e-12)
    yield at_least(ratios.min(), 0.0, "least μ(w) of all runs", strict=True)
    lowest = (np.maximum(part.min(axis=2), 1e-300) for part in (bounds, ratios))
    guaranteed, least = (np.exp(np.mean(np.log(part), axis=0)) for part in lowest)
    yield at_least(spearmanr(widths, guaranteed).statistic, 0.8, "rank correlation of width and the least λ_min(K)/n")
    zero, _ = _train(np.zeros((16, 65)), np.zeros(16), x, y, 20)
    yield at_most(zero, 1e-12, "μ(w) of a network that starts at zero weights")
    times = np.linspace(0, num_steps, ratios.shape[2]).astype(int)
    rise = f"{guaranteed[-1] / guaranteed[0]:.2g}-fold, the least PL ratio {least[-1] / least[0]:.2g}-fold"
    order = f"rank correlation {spearmanr(widths, least).statistic:.2f}"
    lines, points = ({f"width {widths[i]}": (times, part[0, i]) for i in (0, 2, 4)} for part in (bounds, ratios))
    axes = "gradient descent steps", "μ(w); lines: λ_min(K)/n"
    over_time = figure.curves("PL ratio over training", *axes, lines=lines, points=points, log="y")
    lines, points = {"λ_min(K)/n": (widths, guaranteed)}, {"μ(w)": (widths, least)}
    title, axes = f"least of a run, mean of {seeds} seeds", ("width", "least μ(w); line: least λ_min(K)/n")
    over_width = figure.curves(title, *axes, lines=lines, points=points, log="xy")
    title = f"From width {widths[0]} to {widths[-1]} the guarantee λ_min(K)/n rises {rise} ({order})"
    yield figure.beside(title, over_time, over_width)


def _train(weights: np.ndarray, out: np.ndarray, x: np.ndarray, y: np.ndarray, num_steps: int):
    """Full-batch descent of f = out · tanh(weights x); μ(w) and λ_min(K)/n at 11 times."""
    n, gram = len(y), x @ x.T
    records = set(np.linspace(0, num_steps, 11).astype(int))
    mu, bound, step = [], [], 0.0
    for t in range(num_steps + 1):
        hidden = np.tanh(x @ weights.T)  # (n, width)
        residual = hidden @ out - y
        back = (1 - hidden**2) * out  # (n, width)
        down_out, down_in = hidden.T @ residual / n, (back * residual[:, None]).T @ x / n
        if t in records:
            kernel = np.linalg.eigvalsh(hidden @ hidden.T + (back @ back.T) * gram)
            step = step or (n / kernel[-1] if kernel[-1] > 0 else 1.0)
            norm = np.sqrt([np.sum(down_out**2) + np.sum(down_in**2)])
            mu.append(float(optimisation.pl_ratios(np.array([residual @ residual / (2 * n)]), norm, 0.0)[0]))
            bound.append(max(0.0, kernel[0]) / n)
        out, weights = out - step * down_out, weights - step * down_in
    return np.array(mu), np.array(bound)
