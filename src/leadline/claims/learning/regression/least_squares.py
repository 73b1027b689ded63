"""Least squares: solvers, degenerate data, and what exactly is minimised."""

import jax.numpy as jnp
import numpy as np

from leadline import data, learning, training
from leadline.evidence import Int, OneOf, Real, claim, erratum, method
from leadline.evidence.relations import at_least, at_most, close, exactly, mean, reference, smaller
from leadline.learning.regression.linear import LinearFit
from leadline.presentation import figure

EPS = float(np.finfo(float).eps)


@method(sources=("eth", "penn"))
def least_squares(
    key,
    samples: Int(40, 400) = 100,
    dim: Int(2, 15) = 5,
    noise: Real(0.01, 10.0, log=True) = 1.0,
    condition: Real(1e10, 1e12, log=True) = 1e12,
    repeats: Int(8, 40) = 16,
):
    r"""Linear least squares.

    Least squares finds the w with the least ‖Xw − y‖², best by QR or SVD: the normal equations square the condition
    number. At the minimum the residual is orthogonal to every column of X.

    $$w = \operatorname{argmin} \|X w - y\|^2, \qquad X^\top X w = X^\top y, \quad X \in \mathbb{R}^{n \times (d+1)}$$

    Assumes: rank X = d + 1 (any rank with the SVD).

    Check: After Gaussian inputs, designs of condition number up to `condition` are solved for noiseless targets.
    """
    import optax

    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + 1.0 + noise * rng.normal(size=samples)
    fits = {name: learning.least_squares(x, y, method=name) for name in ("svd", "qr", "normal")}
    solution = {name: np.append(fit.weights, fit.bias) for name, fit in fits.items()}
    X = learning.design(x)
    scaled = np.abs(X.T @ (y - X @ solution["svd"])) / (np.linalg.norm(X, axis=0) * np.linalg.norm(y))
    yield at_most(scaled, samples * EPS, "|Xᵀ(y − Xw)|, relative to the lengths of column and y")
    size = np.linalg.norm(solution["svd"])
    yield close(solution["qr"], solution["svd"], "weights by QR against SVD", atol=1e-12 * size)
    yield close(solution["normal"], solution["svd"], "weights by normal equations against SVD", atol=1e-11 * size)
    columns = X.T  # data as columns, X in R^{(d+1) x n}
    by_columns = np.linalg.solve(columns @ columns.T, columns @ y)
    repaired = close(by_columns, solution["svd"], "(XXᵀ)⁻¹Xy with the data as columns", atol=1e-11 * size)
    yield repaired
    what = "columns of Xᵀ with the data as columns, against the length of y in Xᵀy"
    prints = "X ∈ R^{d×n} with loss ‖Xᵀw − y‖², and w = (XᵀX)⁻¹Xᵀy"
    yield erratum(exactly(columns.T.shape[1], len(y), what), of=repaired, by="eth", prints=prints)
    rate = samples / (2 * np.linalg.norm(X, 2) ** 2)
    slow = 2 * (np.linalg.norm(X, 2) / np.linalg.svd(X, compute_uv=False)[-1]) ** 2
    rows = jnp.asarray(X), jnp.asarray(y)
    descended, _ = training.minimise(_mean_square, jnp.zeros(dim + 1), optax.sgd(rate), 3000, *rows)
    # e^(−3000/κ²) is what is left of the error after 3000 steps; κ² < 60 for these shapes.
    left = 1e-11 + np.exp(-6000 / slow)
    yield close(descended, solution["svd"], "weights by gradient descent against SVD", atol=left * size)

    inputs, targets, _ = data.diabetes()
    residual = targets - learning.least_squares(inputs, targets).predict(inputs)
    total = np.sum((targets - targets.mean()) ** 2)
    yield reference(residual @ residual, 1263985.8, "residual sum of squares on the diabetes data", digits=8)
    yield reference(1 - residual @ residual / total, 0.51775, "R² on the diabetes data", digits=5)

    kappas = np.geomspace(1e2, condition, 16)
    errors = {name: np.full((len(kappas), repeats), np.nan) for name in fits}
    for i, kappa in enumerate(kappas):
        for j in range(repeats):
            left = np.linalg.qr(rng.normal(size=(samples, dim)))[0]
            right = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
            design = (left * np.geomspace(1, 1 / kappa, dim)) @ right.T
            w = rng.normal(size=dim)
            for name in fits:
                try:
                    found = learning.least_squares(design, design @ w, intercept=False, method=name).weights
                except np.linalg.LinAlgError:  # Cholesky's factor does not exist: XᵀX is singular to rounding
                    continue
                errors[name][i, j] = np.linalg.norm(found - w) / np.linalg.norm(w)
    within = samples * dim * EPS * kappas[:, None]
    for name in ("qr", "svd"):
        yield at_most(errors[name], within, f"relative error of w by {name.upper()}, against n d ε κ")
    solvable = kappas**2 < 0.01 / (samples * dim * EPS)
    bound = within[solvable] * kappas[solvable, None]
    yield at_most(errors["normal"][solvable], bound, "relative error of w by normal equations, against n d ε κ²")
    hard = solvable & (kappas > 1e4)
    what = "error of QR against normal equations, condition above 10⁴"
    yield smaller(errors["qr"][hard].ravel(), errors["normal"][hard].ravel(), what)

    def middle(name):
        low, half, high = np.quantile(errors[name], [0.1, 0.5, 0.9], axis=1)
        return kappas, half, low, high

    last = kappas[np.isfinite(errors["normal"]).all(axis=1)].max()
    few = kappas[EPS * kappas**2 < 10]
    yield figure.curves(
        f"Normal equations lose twice the digits and end at condition {last:.0e}; QR and SVD reach {kappas[-1]:.0e}",
        "condition number κ of X",
        "relative error of w, median and 80% range",
        log="xy",
        lines={"ε κ": (kappas, EPS * kappas), "ε κ²": (few, EPS * few**2)},
        points={"QR": middle("qr"), "SVD": middle("svd"), "normal equations": middle("normal")},
    )


@claim(sources=("penn", "eth"))
def least_squares_degenerate(
    key,
    cause: OneOf(
        "duplicated column", "constant feature", "sum of columns", "fewer examples than weights"
    ) = "duplicated column",
    samples: Int(30, 500) = 60,
    dim: Int(3, 15) = 5,
    noise: Real(0.01, 10.0, log=True) = 1.0,
    reach: Real(0.1, 100.0, log=True) = 3.0,
):
    r"""Minimum-norm least squares.

    If X has dependent columns, the normal equations have no unique solution: the minimisers are $w_{\min} +
    \operatorname{null}(X)$, with equal predictions on the data. The pseudo-inverse gives the shortest of them, and
    ridge regression tends to it as the penalty goes to 0.

    $$\operatorname{argmin} \|Xw - y\|^2 = X^+ y + \operatorname{null}(X), \qquad \|w_\gamma - X^+ y\| = \gamma \,
    \|(X^\top X / n)^+ X^+ y\| + O(\gamma^2)$$

    Assumes: rank X < d + 1.

    Check: The design is rank-deficient. Other minimisers lie at distances up to `reach` along the null space.
    """
    rng = data.generator(key)
    n = samples if cause != "fewer examples than weights" else (dim + 1) // 2
    x = rng.normal(size=(n, dim))
    missing = 1
    if cause == "duplicated column":
        x[:, -1] = x[:, 0]
    elif cause == "constant feature":
        x[:, -1] = 2.0
    elif cause == "sum of columns":
        x[:, -1] = x[:, 0] + x[:, 1]
    else:
        missing = dim + 1 - n
    y = rng.normal(size=dim) @ x.T + 1.0 + noise * rng.normal(size=n)
    X = learning.design(x)
    basis = learning.null_space(x)
    yield exactly(basis.shape[1], missing, "dimension of the null space")
    yield exactly(np.linalg.matrix_rank(X), dim + 1 - missing, "rank of X, of d + 1 columns")
    moments = np.linalg.eigvalsh(X.T @ X)
    rounding = 10 * max(X.shape) * EPS * moments[-1]
    yield at_most(np.abs(moments[:missing]).max(), rounding, "least eigenvalues of XᵀX: rounding")
    fit = learning.least_squares(x, y)
    least = np.append(fit.weights, fit.bias)
    yield close(least, np.linalg.pinv(X) @ y, "weights against X⁺y", atol=1e-10 * np.linalg.norm(least))
    shifts = rng.normal(size=(200, missing))
    shifts *= reach * rng.random((200, 1)) / np.linalg.norm(shifts, axis=1, keepdims=True)
    others = least + shifts @ basis.T
    scale = np.linalg.norm(y) + reach * np.linalg.norm(X, 2)
    yield close(others @ X.T, X @ least, "predictions of 200 other minimisers", atol=1e-13 * scale)
    yield at_least(np.linalg.norm(others, axis=1), np.linalg.norm(least), "length of other minimisers", rtol=1e-12)
    fresh = learning.design(rng.normal(size=(200, dim)))
    spread = np.ptp(fresh @ others.T, axis=1).max()
    yield at_least(spread, 0.0, "largest disagreement of the minimisers on a fresh input", strict=True)
    smallest = moments[missing] / n
    gammas = smallest * np.geomspace(1e-5, 1e-2, 7)
    path = np.array([learning.ridge(X, y, g, intercept=False).weights for g in gammas])
    error = np.linalg.norm(path - least, axis=1)
    rate = np.linalg.norm(np.linalg.pinv(X.T @ X / n, rcond=1e-10, hermitian=True) @ least)
    # 1/(λ + γ) lies between (1 − γ/λ)/λ and 1/λ: the error is linear up to the share γ/λ.
    yield at_most(error, gammas * rate, "distance of ridge from X⁺y, against γ ‖(XᵀX/n)⁺X⁺y‖", rtol=1e-6)
    yield at_least(error, gammas * rate * (1 - gammas / smallest), "distance of ridge from X⁺y, from below", rtol=1e-6)
    pair = rng.normal(size=(40, 1)) @ np.ones((1, 2))
    target = pair @ np.array([1.5, 0.5]) + 0.3 * rng.normal(size=40)
    best = learning.least_squares(pair, target, intercept=False).weights
    grid = np.linspace(-2.5, 3.5, 50)
    height = np.mean((target - pair[:, 0] * (grid[None, :, None] + grid[:, None, None])) ** 2, axis=-1)
    total = best.sum()
    title = f"Two equal columns: all w₁ + w₂ = {total:.2f} fit alike; the shortest is ({best[0]:.2f}, {best[1]:.2f})"
    regions, lines = (grid, grid, -np.log(height)), {"minimisers": (grid, total - grid)}
    arrows, domain = {"the shortest, X⁺y": ((0.0, 0.0), tuple(best))}, ((-2.5, 3.5), (-2.5, 3.5))
    yield figure.plane(title, "w₁", "w₂", regions=regions, lines=lines, arrows=arrows, domain=domain)


@claim(sources=("penn",))
def least_squares_is_vertical(
    key,
    samples: Int(20, 500) = 60,
    dim: Int(1, 10) = 3,
    noise: Real(0.01, 3.0, log=True) = 0.5,
    rivals: Int(10, 500) = 200,
):
    r"""Ordinary against total least squares.

    Least squares minimises squared vertical residuals, not distances to the hyperplane; those are minimised by total
    least squares, given by the smallest singular vector of the centred [X, y].

    $$\min_{w,b} \sum_i (y_i - w \cdot x_i - b)^2 \quad\text{against}\quad \min_{w,b} \sum_i \frac{(y_i - w \cdot x_i -
    b)^2}{1 + \|w\|^2}$$
    """
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 2.0, 1.0])
    ordinary, total = learning.least_squares(x, y), learning.total_least_squares(x, y)
    yield close(ordinary.weights[0], 0.5, "slope of least squares through (0,0), (1,2), (2,1)", atol=1e-14)
    yield close(total.weights[0], 1.0, "slope of total least squares through (0,0), (1,2), (2,1)", atol=1e-14)
    yield close(_perpendicular(ordinary, x, y).sum(), 1.2, "squared distances to the least-squares line", atol=1e-14)
    yield close(_perpendicular(total, x, y).sum(), 1.0, "squared distances to the total-least-squares line", atol=1e-14)
    rng = data.generator(key)
    inputs = rng.normal(size=(samples, dim))
    targets = inputs @ rng.normal(size=dim) + noise * rng.normal(size=samples)
    fits = learning.least_squares(inputs, targets), learning.total_least_squares(inputs, targets)
    vertical = [np.sum((targets - fit.predict(inputs)) ** 2) for fit in fits]
    across = [_perpendicular(fit, inputs, targets).sum() for fit in fits]
    yield at_most(vertical[0], vertical[1], "squared vertical residuals: least squares against total", rtol=1e-12)
    yield at_most(across[1], across[0], "squared distances: total against least squares", rtol=1e-12)
    smallest = np.linalg.svd(np.column_stack([inputs, targets]) - np.append(inputs.mean(0), targets.mean()))[1][-1]
    yield close(across[1], smallest**2, "squared distances of the total fit: last singular value squared", rtol=1e-9)
    steps = 0.1 * rng.normal(size=(rivals, dim + 1))
    near = [LinearFit(fits[1].weights + step[:-1], fits[1].bias + step[-1]) for step in steps]
    theirs = [_perpendicular(fit, inputs, targets).sum() for fit in near]
    yield at_least(theirs, across[1], f"squared distances of {rivals} neighbours of the total fit", rtol=1e-12)
    line = np.array([-0.4, 2.6])
    title = f"The vertical fit has slope {ordinary.weights[0]:.2g}, the perpendicular one {total.weights[0]:.2g}"
    points = {"data": np.column_stack([x, y])}
    lines = {
        "least squares, vertical residuals": _with_residuals(ordinary, x, y, line, vertical=True),
        "total least squares, distances": _with_residuals(total, x, y, line, vertical=False),
    }
    yield figure.plane(title, "x", "y", points=points, lines=lines, domain=((-0.6, 2.8), (-0.6, 2.8)))


@claim(sources=("penn",))
def average_versus_max_fit(
    key,
    samples: Int(20, 400) = 60,
    dim: Int(1, 8) = 3,
    shift: Real(0.1, 1000.0, log=True) = 20.0,
    noise: Real(0.1, 10.0, log=True) = 1.0,
    growth: Int(10, 1000, log=True) = 100,
):
    r"""Average loss against maximal loss.

    The fit with the least maximal residual is decided by d + 2 points with equal extreme residuals, and one outlier
    moves it by half of the outlier's own shift; the average loss estimates the expected loss without bias, while the
    maximum grows with the sample.

    $$\min_{w,b} \max_i |y_i - w \cdot x_i - b|; \qquad \text{constants: mean shifts by } t/n, \text{ midrange by }
    t/2$$

    Assumes: points in general position; unbounded noise, for the growth of the maximum.

    Check: On random data the linear programme is solved, then solved again without its inactive points. For constants,
    the largest value is pulled up by `shift`.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + noise * rng.normal(size=samples)
    fit = learning.chebyshev_fit(x, y)
    yield exactly(fit.active.sum(), dim + 2, "points with the extreme residual, d + 2")
    again = learning.chebyshev_fit(x[fit.active], y[fit.active])
    refitted, whole = (np.append(f.weights, f.bias) for f in (again, fit))
    yield close(refitted, whole, "least-maximum fit to the active points alone", atol=1e-7 * np.ptp(y))
    largest = np.abs(y - learning.least_squares(x, y).predict(x)).max()
    yield at_most(fit.height, largest, "maximal residual against that of least squares", rtol=1e-9)
    level = noise * rng.normal(size=samples)
    top = int(level.argmax())
    pulls = shift * np.linspace(0, 1, 6)
    moved = np.tile(level, (6, 1))
    moved[:, top] += pulls
    nothing = np.empty((samples, 0))
    means = np.array([learning.least_squares(nothing, row).bias for row in moved])
    middles = np.array([learning.chebyshev_fit(nothing, row).bias for row in moved])
    scale = shift + np.abs(level).max()
    yield close(means - means[0], pulls / samples, "shift of the mean, against t/n", atol=1e-12 * scale)
    yield close(middles - middles[0], pulls / 2, "shift of the midrange, against t/2", atol=1e-8 * scale)
    short = rng.normal(size=(400, samples))
    long = rng.normal(size=(400, samples * growth)) if samples * growth <= 4000 else None
    largest = np.abs(long).max(axis=1) if long is not None else _largest_normal(rng, samples * growth, 400)
    what = f"average squared residual of the true function, {samples} points"
    yield mean((short**2).mean(axis=1), 1.0, what, deviation=np.sqrt(2 / samples))
    what = f"maximal residual of the true function: n = {samples} against {growth} n"
    yield smaller(np.abs(short).max(axis=1), largest, what)
    line_x = np.sort(rng.uniform(-2, 2, (30, 1)), axis=0)
    line_y = 0.5 * line_x[:, 0] + 0.2 * rng.normal(size=30)
    pulled = line_y.copy()
    pulled[-8] += 3.0
    ends = np.array([[-2.0], [2.0]])
    before, after = learning.chebyshev_fit(line_x, line_y), learning.chebyshev_fit(line_x, pulled)
    lines = {
        "least maximum": (ends[:, 0], ends @ after.weights + after.bias),
        "least maximum before": (ends[:, 0], ends @ before.weights + before.bias),
        "least squares": (ends[:, 0], learning.least_squares(line_x, pulled).predict(ends)),
    }
    points = {"data": np.column_stack([line_x, pulled])}
    line = figure.plane("a line, one of 30 points pulled up by 3", "x", "y", points=points, lines=lines)
    lines = {"midrange": (pulls, pulls / 2), "mean": (pulls, pulls / samples)}
    found = {"midrange": middles - middles[0], "mean": means - means[0]}
    points = {name: (pulls, moves) for name, moves in found.items()}
    title = "displacement t of the largest value"
    constants = figure.curves("constant fits", title, "shift of the fit", lines=lines, points=points)
    follows = f"the midrange follows by {found['midrange'][-1]:.3g}, the mean by {found['mean'][-1]:.2g}"
    yield figure.beside(f"One of {samples} points moved by {shift:.3g}: {follows}", constants, line)


def _mean_square(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


def _perpendicular(fit, x, y):
    return (y - fit.predict(x)) ** 2 / (1 + fit.weights @ fit.weights)


def _with_residuals(fit, x, y, ends, *, vertical):
    """One curve along the fitted line that visits every point and comes back."""
    w, b = float(fit.weights[0]), float(fit.bias)
    feet = x[:, 0] + (0.0 if vertical else w * (y - fit.predict(x)) / (1 + w * w))
    xs, ys = [ends[0]], [w * ends[0] + b]
    for i in np.argsort(feet):
        xs += [feet[i], x[i, 0], feet[i]]
        ys += [w * feet[i] + b, y[i], w * feet[i] + b]
    return np.array([*xs, ends[1]]), np.array([*ys, w * ends[1] + b])


def _largest_normal(rng, n, count):
    """`count` draws of max |Z| over n standard normal Z, from its distribution F(z)ⁿ without drawing all of them."""
    from scipy.special import ndtri

    tail = -np.expm1(np.log(rng.random(count)) / n)  # P(|Z| > max)
    return -ndtri(tail / 2)
