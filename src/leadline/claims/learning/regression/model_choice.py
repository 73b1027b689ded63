"""Choosing a class of functions: what it misses, what it learns from noise, and in which units it sees its inputs."""

import jax.numpy as jnp
import numpy as np

from leadline import data, learning, training
from leadline.evidence import Int, Real, claim, method
from leadline.evidence.relations import at_least, at_most, close, distributed_as, exactly, mean, reference, slope
from leadline.learning.regression.polynomial import PolynomialFit, polynomial_fit
from leadline.learning.scaling import descent_curve, log_inputs
from leadline.presentation import figure

DEGREES = (1, 3, 5, 7)


@claim(sources=("penn", "cam"))
def linear_model_rigidity(
    key,
    largest: Int(20_000, 100_000, log=True) = 100_000,
    noise: Real(0.0, 1.0) = 0.3,
    repeats: Int(20, 60) = 24,
    dim: Int(1, 8) = 4,
    frequency: Real(1.0, 4.0) = 1.5,
):
    r"""Approximation error of a rigid class.

    A class that misses the truth keeps an error that no sample size removes: lines fitted to sin 2πx end at 1/2 − 3/π²
    = 0.196. Only the rest decays, like 1/n; more features lower the floor.

    $$\mathbb{E}\,(\hat f_n - f^*)^2 = \min_{f \in F} \mathbb{E}\,(f - f^*)^2 + \frac{\mathrm{tr}\, C}{n} + O(n^{-2}),
    \qquad C = \mathbb{E}\,\big(\sigma^2 + \delta(x)^2\big)\, p(x) p(x)^\top$$

    Assumes: x is uniform on [0, 1] (or normal, for w·sin(Ax) + b); homoscedastic noise.

    Check: p₀, p₁, … are orthonormal Legendre polynomials, so the risk of a fit is a sum of squared coefficients.
    """
    from scipy.special import chdtr

    rng = data.generator(key)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    nodes, weights = (nodes + 1) / 2, weights / 2
    basis, truth = learning.legendre_features(nodes, max(DEGREES)), np.sin(2 * np.pi * nodes)
    best = basis.T @ (weights * truth)  # coefficients of the truth
    line = PolynomialFit(best[:2], (0.0, 1.0)).monomial()
    floors, covariance = {}, {}
    for m in DEGREES:
        features = basis[:, : m + 1]
        missed = truth - features @ best[: m + 1]
        floors[m] = float(weights @ missed**2)
        covariance[m] = features.T @ ((weights * (noise**2 + missed**2))[:, None] * features)
    yield close(line[1], -6 / np.pi, "slope of the best line, against −6/π", atol=1e-12)
    yield close(floors[1], 0.5 - 3 / np.pi**2, "error of the best line, against 1/2 − 3/π²", atol=1e-12)
    yield at_most(np.diff(list(floors.values())), 0.0, "change of the floor, degrees 1, 3, 5, 7", strict=True)
    sizes = np.unique(np.geomspace(30, largest, 6).astype(int))
    estimation = {m: np.zeros((len(sizes), repeats)) for m in DEGREES}
    scaled = {m: np.zeros((len(sizes), repeats)) for m in DEGREES}
    for i, n in enumerate(sizes):
        for j in range(repeats):
            x = rng.random(n)
            y = np.sin(2 * np.pi * x) + noise * rng.normal(size=n)
            features = learning.legendre_features(x, max(DEGREES))
            for m in DEGREES:
                fit = learning.least_squares(features[:, : m + 1], y, intercept=False, method="normal").weights
                error = fit - best[: m + 1]
                estimation[m][i, j] = error @ error
                scaled[m][i, j] = n * error @ np.linalg.solve(covariance[m], error)
    for m in DEGREES:
        what = f"errors of coefficients at n = {sizes[-1]}, degree {m}: normal with covariance C/n, by chi-square"
        yield distributed_as(scaled[m][-1], lambda t, m=m: chdtr(m + 1, t), what)
    yield slope(sizes[2:], estimation[1][2:].mean(axis=1), -1.0, "decay of the rest with n for lines, on log-log axes")
    risk = floors[1] + estimation[1][-1]
    yield close(risk, 0.5 - 3 / np.pi**2, f"risk of fitted lines at n = {sizes[-1]}", rtol=0.01)
    # Truth w·sin(Ax) + b, x normal: E[x sin(a·x)] = a e^{−‖a‖²/2} gives the best line, and C the variance.
    A = rng.normal(size=(6, dim))
    A *= frequency / np.linalg.norm(A, axis=1, keepdims=True)
    w = rng.normal(size=6)
    plane = (w * np.exp(-(frequency**2) / 2)) @ A
    minus, plus = (np.sum((A[:, None] + s * A[None]) ** 2, axis=-1) for s in (-1, 1))
    floor = w @ ((np.exp(-minus / 2) - np.exp(-plus / 2)) / 2) @ w - plane @ plane
    n, estimates = 5000, []
    for _ in range(repeats):
        x = rng.normal(size=(n, dim))
        fit = learning.least_squares(x, np.sin(x @ A.T) @ w + 0.5 + noise * rng.normal(size=n))
        estimates.append(fit.weights @ plane / (plane @ plane))
    yield mean(estimates, 1.0, "weights of lines fitted to w·sin(Ax) + b, along the best ones")
    fresh = rng.normal(size=(20_000, dim))
    yield mean((np.sin(fresh @ A.T) @ w - fresh @ plane) ** 2, floor, "error of the best line for w·sin(Ax) + b")
    ns = np.geomspace(sizes[0], sizes[-1], 60)
    names = {m: f"degree {m}, floor {floors[m]:.2g}" for m in DEGREES}
    title = f"Lines stop at {floors[1]:.3f} however many points they see; degree 7 goes on to {floors[7]:.1g}"
    lines = {names[m]: (ns, floors[m] + np.trace(covariance[m]) / ns) for m in DEGREES}
    points = {names[m]: (sizes, floors[m] + estimation[m].mean(axis=1)) for m in DEGREES}
    yield figure.curves(title, "examples n", "E (f − f*)², mean over fits", log="xy", lines=lines, points=points)


@claim(sources=("penn", "cam"))
def polynomial_overfitting(
    key, points: Int(8, 12) = 10, noise: Real(0.15, 0.8) = 0.3, repeats: Int(200, 4000, log=True) = 1000
):
    r"""Overfitting by polynomials.

    For polynomials fitted to ten noisy points of a sine, the training error falls to 0 as the degree grows, the test
    error falls and then rises, and the coefficients explode.

    $$\mathbb{E}\,\mathrm{MSE}_{\mathrm{train}}(M) = \tfrac1n \|(I - H_M) f\|^2 + \sigma^2 \Big(1 -
    \frac{M+1}{n}\Big)$$

    Assumes: equally spaced points; degree below the number of points.
    """
    rng = data.generator(key)
    x, grid = np.linspace(0, 1, points), np.linspace(0, 1, 401)
    truth, target = np.sin(2 * np.pi * x), np.sin(2 * np.pi * grid)
    y = truth + noise * rng.normal(size=(repeats, points))
    degrees = np.arange(points)
    train, test, size = (np.zeros((points, repeats)) for _ in range(3))
    expected = np.zeros((2, points))
    for m in degrees:
        fit = polynomial_fit(np.broadcast_to(x, y.shape), y, m)
        features, fine = learning.legendre_features(x, m), learning.legendre_features(grid, m)
        train[m] = np.mean((fit.coefficients @ features.T - y) ** 2, axis=1)
        test[m] = np.mean((fit.coefficients @ fine.T - target) ** 2, axis=1) + noise**2
        size[m] = np.abs(fit.monomial()).max(axis=1)
        predict = np.linalg.pinv(features)
        expected[0, m] = np.mean((features @ (predict @ truth) - truth) ** 2) + noise**2 * (1 - (m + 1) / points)
        missed = np.mean((fine @ (predict @ truth) - target) ** 2)
        expected[1, m] = missed + noise**2 * (1 + np.mean(np.sum((fine @ predict) ** 2, axis=1)))
    shown = sorted({0, 1, 3, points - 1})
    for m in shown[:-1]:
        yield mean(train[m], expected[0, m], f"mean squared training error, degree {m}")
        yield mean(test[m], expected[1, m], f"mean squared test error, degree {m}")
    yield mean(test[-1], expected[1, -1], f"mean squared test error, degree {points - 1}")
    yield at_most(train[-1], 1e-20 * points, f"squared training error of degree {points - 1}: rounding")
    yield at_most(np.diff(train, axis=0), 0.0, "change of the training error with each degree, every draw", atol=1e-20)
    best = expected[1].argmin()
    yield at_least(best, 1, "degree of least expected test error: not the first")
    yield at_most(best, points - 2, "degree of least expected test error: not the last")
    ends = test[[0, -1]] - test[best]
    errors = ends.std(axis=1, ddof=1) / np.sqrt(repeats)
    yield at_least(
        ends.mean(axis=1) / errors,
        2.0,
        f"test error of the least and largest degree above degree {best}'s, in standard errors",
    )
    largest = np.median(size, axis=1)
    yield at_least(largest[-1], 50 * largest[3], "median largest coefficient, against 50 times that of degree 3")
    inside, outside = np.sqrt(train).mean(axis=1), np.median(np.sqrt(test), axis=1)
    usual = points == 10 and noise == 0.3
    for found, value, what in (
        (inside[0], 0.715, "mean training RMSE, degree 0"),
        (inside[1], 0.570, "mean training RMSE, degree 1"),
        (outside[0], 0.777, "median test RMSE, degree 0"),
        (outside[1], 0.570, "median test RMSE, degree 1"),
        (outside[-1], 0.631, "median test RMSE, degree 9"),
    ):
        yield reference(found, value, what, digits=1).given(usual, "ten points, noise 0.3")
    for found, value, what in (  # where a digit is more than a tenth of the value
        (inside[3], 0.232, "mean training RMSE, degree 3, against 0.232"),
        (outside[3], 0.346, "median test RMSE, degree 3, against 0.346"),
        (largest[-1], 4e5, "median largest coefficient, degree 9, against 4·10⁵"),
    ):
        yield close(found, value, what, rtol=0.1).given(usual, "ten points, noise 0.3")
    lines = {}
    for m in shown:
        curve = learning.legendre_features(grid, m) @ polynomial_fit(x, y[0], m).coefficients
        lines[f"degree {m}"] = (grid, np.where(np.abs(curve) < 2.2, curve, np.nan))
    drawn = figure.curves("one draw of the data", "x", "y", lines=lines, points={"data": (x, y[0])})
    rms, found = np.sqrt(expected), np.sqrt([train.mean(axis=1), test.mean(axis=1)])
    lines = {"test": (degrees, rms[1]), "training": (degrees[:-1], rms[0, :-1])}
    shown = {"test": (degrees, found[1]), "training": (degrees[:-1], found[0, :-1])}
    title, rules = f"root mean square over {repeats} draws", {"noise": ("y", noise)}
    average = figure.curves(title, "degree", "error", log="y", lines=lines, points=shown, rules=rules)
    exact = f"degree {points - 1} fits {points} points exactly and errs by {rms[1, -1]:.2g} on new ones"
    yield figure.beside(f"Test error is least at degree {best}; {exact}", drawn, average)


@claim(sources=("penn", "cam"), empirical=True)
def class_size_tradeoff(key, samples: Int(24, 60) = 30, noise: Real(0.3, 0.7) = 0.5, repeats: Int(60, 200) = 100):
    r"""U-shaped test error and double descent.

    Over growing classes (degree, tree depth, 1/k of nearest neighbours) the training error falls while the test error
    has a minimum inside the range. This is not universal: past interpolation, the least-norm fit gets better again.

    $$F_1 \subset F_2 \subset \dots: \quad \hat R(\hat f_j) \ge \hat R(\hat f_{j+1}), \qquad \mathbb{E} R(\hat f_j)
    \text{ is least inside}$$

    Assumes: noise is present; moderate n; no explicit regularisation.

    Check: Points of sin 2πx are taken in the middles of equal cells. The test risk is exact on a fine grid.
    """
    rng = data.generator(key)
    x, grid = (np.arange(samples) + 0.5) / samples, (np.arange(200) + 0.5) / 200
    target = np.sin(2 * np.pi * grid)
    y = np.sin(2 * np.pi * x) + noise * rng.normal(size=(repeats, samples))
    degrees = np.array([0, 1, 2, 3, 4, 5, 7, 9, 12, 15])
    depths = np.array([0, 1, 2, 3, 4, 6, 8])
    neighbours = np.unique(np.round(np.geomspace(samples, 1, 9)).astype(int))[::-1]
    families = {
        "polynomials": (degrees, "degree", _polynomials(x, y, grid, degrees)),
        "trees": (depths, "depth", _trees(x, y, grid, depths)),
        "nearest neighbours": (1 / neighbours, "1/k", _neighbours(x, y, grid, neighbours)),
    }
    panels, lowest = [], {}
    for name, (sizes, label, (inside, outside)) in families.items():
        train = np.mean((inside - y) ** 2, axis=-1)
        test = np.mean((outside - target) ** 2, axis=-1) + noise**2
        if name == "nearest neighbours":
            for k, change in zip(neighbours[1:], np.diff(train, axis=0), strict=True):
                yield mean(change, 0.0, f"change of the training risk down to k = {k} neighbours", side="at most")
        else:
            what = f"change of the training risk with each class, every draw, {name}"
            yield at_most(np.diff(train, axis=0), 0.0, what, atol=1e-12)
        half = repeats // 2
        best = int(test[:, :half].mean(axis=1).argmin())  # chosen on one half of the draws, judged on the other
        judged = test[:, half:]
        yield at_least(best, 1, f"place of the least test risk, {name}: not the first")
        yield at_most(best, len(sizes) - 2, f"place of the least test risk, {name}: not the last")
        ends = judged[[0, -1]] - judged[best]
        errors = ends.std(axis=1, ddof=1) / np.sqrt(ends.shape[1])
        yield at_least(
            ends.mean(axis=1) / errors,
            2.0,
            f"test error of the smallest and largest class above the best, in standard errors, {name}",
        )
        lowest[name] = f"{label} {sizes[best]:.2g}"
        panels.append(_risk_panel(f"{name}: least at {lowest[name]}", label, sizes, train, test))
    past = np.geomspace(samples + 5, 10 * samples, 8)
    beyond = np.unique([0, 1, 3, 5, 9, 15, samples // 2 + 5, samples - 1, samples, *past]).astype(int)
    inside, outside = _polynomials(x, y, grid, beyond)
    train, test = np.mean((inside - y) ** 2, axis=-1), np.mean((outside - target) ** 2, axis=-1) + noise**2
    risk = test.mean(axis=1)
    way = abs(beyond[risk.argmax()] - (samples - 1))
    yield at_most(way, 6, "degrees between the peak of the test risk and interpolation, n − 1")
    yield at_most(risk[-1], 0.1 * risk.max(), f"mean test risk at degree {10 * samples}, against a tenth of the peak")
    title = "polynomials past interpolation, least norm: the exception"
    panels.append(_risk_panel(title, "degree", beyond[1:], train[1:], test[1:]))
    title = f"Test risk is least inside: {', '.join(lowest.values())}; past degree {samples - 1} it falls again"
    yield figure.beside(title, *panels)


@method(sources=("penn",))
def input_scaling(
    key,
    samples: Int(60, 500) = 200,
    dim: Int(2, 10) = 4,
    decades: Real(1.0, 4.0) = 2.5,
    noise: Real(0.05, 1.0, log=True) = 0.2,
):
    r"""Standardising inputs and taking logarithms.

    Standardising the inputs leaves the least-squares predictions as they are and makes gradient descent fast; taking
    logarithms of positive inputs changes the class of functions.

    $$x \mapsto (x - \bar x)/s \ \text{ or } \ \log x, \qquad t_\varepsilon \le \frac{\kappa}{2} \ln
    \frac{1}{\varepsilon}$$

    Assumes: inputs above 0, for the logarithm; step size 1/L, for the number of steps.

    Check: Log-normal inputs have units over `decades` powers of ten; targets are linear in their logarithms.
    """
    import optax

    rng = data.generator(key)
    logs = 0.6 * rng.normal(size=(samples, dim)) + 0.8 * rng.normal(size=(samples, 1))  # correlated, variance 1
    x = np.exp(logs) * 10.0 ** np.linspace(0, decades, dim)
    y = logs @ rng.choice([-1.0, 1.0], dim) + noise * rng.normal(size=samples)
    standard = learning.standardise(x)
    inputs = {"raw": x, "standardised": standard.values, "log": learning.standardise(log_inputs(x)).values}
    fits = {name: learning.least_squares(z, y) for name, z in inputs.items()}
    fitted = {name: fits[name].predict(z) for name, z in inputs.items()}
    what, scale = "predictions after standardising, against those from raw inputs", np.abs(y).max()
    yield close(fitted["standardised"], fitted["raw"], what, atol=1e-8 * scale)
    back = fits["standardised"].weights / standard.scale
    yield close(back, fits["raw"].weights, "weights after standardising, in raw units", rtol=1e-7, atol=1e-9)
    residual = {name: np.mean((y - f) ** 2) for name, f in fitted.items()}
    yield at_most(residual["log"], residual["raw"], "mean squared residual, log inputs against raw", strict=True)
    laws = {name: descent_curve(z, y) for name, z in inputs.items()}
    rate, steps, paths = optax.sgd(1.0), 400, {}
    for name, z in inputs.items():
        X = learning.design(z)
        X = X * np.sqrt(samples / 2) / np.linalg.norm(X, 2)  # L = 1: one step size, one compilation
        _, losses = training.minimise(_mean_square, jnp.zeros(dim + 1), rate, steps, jnp.asarray(X), jnp.asarray(y))
        paths[name] = np.asarray(losses) - residual[name]
        first = laws[name].excess.sum()
        what = f"excess loss along gradient descent, {name} inputs, against its eigenvalue sum"
        yield close(paths[name], laws[name].excess_after(np.arange(steps)), what, atol=1e-9 * first)
        paths[name] /= first
    needed = {name: law.steps_to(1e-6) for name, law in laws.items()}
    bound = [law.condition / 2 * np.log(1e6) + 1 for law in laws.values()]
    yield at_most(list(needed.values()), bound, "steps to 10⁻⁶ of the first excess, against κ/2 ln 10⁶")
    yield at_least(laws["raw"].condition, laws["standardised"].condition, "condition of XᵀX, raw against standardised")
    yield at_most(needed["standardised"], needed["raw"], "steps to 10⁻⁶, standardised against raw")
    yield exactly(_refuses(np.append(x, np.zeros((1, dim)), axis=0)), "ValueError", "answer of log to an input of 0")
    names = {name: f"{name}: κ = {laws[name].condition:.2g}" for name in inputs}
    fine = np.unique(np.geomspace(1, max(10 * needed["standardised"], steps), 80).astype(int))
    raw, standardised, logarithms = needed.values()
    title = f"Steps to 10⁻⁶: {raw:.2g} raw, {standardised} standardised, {logarithms} with logarithms"
    lines = {names[n]: _visible(fine, law.excess_after(fine) / law.excess.sum()) for n, law in laws.items()}
    points = {names[n]: _visible(np.arange(steps), path) for n, path in paths.items()}
    yield figure.curves(title, "gradient steps", "excess loss / first excess", log="xy", lines=lines, points=points)


def _mean_square(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


def _visible(x, y):
    return x[y > 1e-10], y[y > 1e-10]  # below is rounding


def _refuses(x) -> str:
    try:
        log_inputs(x)
    except ValueError:
        return "ValueError"
    return "an answer"


def _polynomials(x, y, grid, degrees):
    """Values at x and on the grid of the least-norm fits, (classes, draws, points) each."""
    inside, outside = [], []
    for m in degrees:
        features = learning.legendre_features(x, int(m))
        coefficients = y @ np.linalg.pinv(features).T  # one pseudo-inverse serves all draws: their points are the same
        inside.append(coefficients @ features.T)
        outside.append(coefficients @ learning.legendre_features(grid, int(m)).T)
    return np.array(inside), np.array(outside)


def _trees(x, y, grid, depths):
    from sklearn.dummy import DummyRegressor
    from sklearn.tree import DecisionTreeRegressor

    inside, outside = [], []
    for depth in depths:
        if depth == 0:
            fits = [DummyRegressor().fit(x[:, None], row) for row in y]
        else:
            fits = [DecisionTreeRegressor(max_depth=int(depth), random_state=0).fit(x[:, None], row) for row in y]
        inside.append([fit.predict(x[:, None]) for fit in fits])
        outside.append([fit.predict(grid[:, None]) for fit in fits])
    return np.array(inside), np.array(outside)


def _neighbours(x, y, grid, counts):
    from sklearn.neighbors import KNeighborsRegressor

    fits = [KNeighborsRegressor(int(k)).fit(x[:, None], y.T) for k in counts]  # all draws as outputs of one
    return np.array([f.predict(x[:, None]).T for f in fits]), np.array([f.predict(grid[:, None]).T for f in fits])


def _risk_panel(title, label, sizes, train, test):
    def band(risk):
        half = 2 * risk.std(axis=1, ddof=1) / np.sqrt(risk.shape[1])
        middle = risk.mean(axis=1)
        kept = middle > 1e-6  # below is rounding
        return tuple(v[kept] for v in (sizes, middle, np.maximum(middle - half, middle / 10), middle + half))

    log = "xy" if label == "1/k" or sizes.max() > 50 else "y"
    points = {"test": band(test), "training": band(train)}
    return figure.curves(title, label, "mean squared error", points=points, log=log)
