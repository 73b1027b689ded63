"""Least squares: solvers, degenerate data, and what exactly is minimised."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, learning, training
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    mean,
    method,
    printed,
    smaller,
)  # fmt: skip

EPS = float(np.finfo(float).eps)


@method(
    "least-squares",
    says=(
        "Least squares finds the w with the least ‖Xw − y‖², best by QR or SVD: the normal equations square the "
        "condition number. At the minimum the residual is orthogonal to every column of X."
    ),
    formula=(
        r"w = \operatorname{argmin} \|X w - y\|^2, \qquad X^\top X w = X^\top y, \quad X \in \mathbb{R}^{n "
        r"\times (d+1)}"
    ),
    sources=("eth", "penn"),
    assumes=("rank X = d + 1 (SVD: any rank)",),
    shows=("learning.least_squares", "learning.LinearFit", "learning.design", "data.diabetes", "data.Diabetes"),
)
def least_squares(
    key,
    samples: Annotated[int, Range(40, 400)] = 100,
    dim: Annotated[int, Range(2, 15)] = 5,
    noise: Annotated[float, Range(0.01, 10.0, log=True)] = 1.0,
    condition: Annotated[float, Range(1e10, 1e12, log=True)] = 1e12,
    repeats: Annotated[int, Range(8, 40)] = 16,
):
    """Gaussian inputs; then designs of prescribed condition number up to `condition`, with targets without noise."""
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
    yield close(
        np.linalg.solve(columns @ columns.T, columns @ y),
        solution["svd"],
        "(XXᵀ)⁻¹Xy with the data as columns",
        atol=1e-11 * size,
    )
    rate = samples / (2 * np.linalg.norm(X, 2) ** 2)
    slow = 2 * (np.linalg.norm(X, 2) / np.linalg.svd(X, compute_uv=False)[-1]) ** 2
    descended, _ = training.minimise(
        _mean_square, jnp.zeros(dim + 1), optax.sgd(rate), 3000, jnp.asarray(X), jnp.asarray(y)
    )
    # e^(−3000/κ²) is what is left of the error after 3000 steps; κ² < 60 for these shapes.
    yield close(
        descended, solution["svd"], "weights by gradient descent", atol=1e-11 * size + size * np.exp(-6000 / slow)
    )

    inputs, targets, _ = data.diabetes()
    residual = targets - learning.least_squares(inputs, targets).predict(inputs)
    total = np.sum((targets - targets.mean()) ** 2)
    yield close(residual @ residual, 1263985.8, "residual sum of squares on the diabetes data", atol=0.05)
    yield close(1 - residual @ residual / total, 0.51775, "R² on the diabetes data", atol=5e-6)
    yield printed(
        exactly(_printed_formula(columns, y), "d + 1 weights", f"(XᵀX)⁻¹Xᵀy for X of shape {columns.shape}"),
        "eth", "X ∈ R^{d×n} and w = (XᵀX)⁻¹Xᵀy",
    )  # fmt: skip

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
    yield at_most(
        errors["normal"][solvable], within[solvable] * kappas[solvable, None],
        "relative error of w by normal equations, against n d ε κ²",
    )  # fmt: skip
    hard = solvable & (kappas > 1e4)
    yield smaller(
        errors["qr"][hard].ravel(),
        errors["normal"][hard].ravel(),
        "error of QR against normal equations, condition above 10⁴",
    )

    def middle(name):
        kept = np.isfinite(errors[name]).all(axis=1)
        low, half, high = np.exp(np.quantile(np.log(np.maximum(errors[name][kept], EPS / 10)), [0.1, 0.5, 0.9], axis=1))
        return kappas[kept], half, low, high

    last = np.isfinite(errors["normal"]).all(axis=1).nonzero()[0].max()
    few = kappas[EPS * kappas**2 < 10]
    yield figure.curves(
        f"Normal equations lose twice the digits and break down at condition {kappas[last]:.0e}; QR and SVD reach "
        f"{kappas[-1]:.0e}",
        x="condition number κ of X", y="relative error of w, median and 80% range", log="xy",
        lines={"ε κ": (kappas, EPS * kappas), "ε κ²": (few, EPS * few**2)},
        points={"QR": middle("qr"), "SVD": middle("svd"), "normal equations": middle("normal")},
    )  # fmt: skip


@claim(
    "least-squares-degenerate",
    says=(
        "If X has dependent columns the normal equations have no unique solution: the minimisers are w_min + null(X), "
        "with equal predictions on the data. The pseudo-inverse gives the shortest, and ridge tends to it as the "
        "penalty goes to 0."
    ),
    formula=(
        r"\operatorname{argmin} \|Xw - y\|^2 = X^+ y + \operatorname{null}(X), \qquad "
        r"\|w_\gamma - X^+ y\| = \gamma \, \|(X^\top X / n)^+ X^+ y\| + O(\gamma^2)"
    ),
    sources=("penn", "eth"),
    assumes=("rank X < d + 1",),
)
def least_squares_degenerate(
    key,
    cause: Annotated[
        str, Choice("duplicated column", "constant feature", "sum of columns", "fewer examples than weights")
    ] = "duplicated column",
    samples: Annotated[int, Range(30, 500)] = 60,
    dim: Annotated[int, Range(3, 15)] = 5,
    noise: Annotated[float, Range(0.01, 10.0, log=True)] = 1.0,
    reach: Annotated[float, Range(0.1, 100.0, log=True)] = 3.0,
):
    """A design made deficient on purpose; other minimisers lie at distances up to `reach` along the null space."""
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
    yield exactly(int(np.linalg.matrix_rank(X)), dim + 1 - missing, "rank of X, of d + 1 columns")
    moments = np.linalg.eigvalsh(X.T @ X)
    yield at_most(
        np.abs(moments[:missing]).max(), 10 * max(X.shape) * EPS * moments[-1], "least eigenvalues of XᵀX: rounding"
    )

    fit = learning.least_squares(x, y)
    least = np.append(fit.weights, fit.bias)
    yield close(least, np.linalg.pinv(X) @ y, "weights against X⁺y", atol=1e-10 * np.linalg.norm(least))
    shifts = rng.normal(size=(200, missing))
    shifts *= reach * rng.random((200, 1)) / np.linalg.norm(shifts, axis=1, keepdims=True)
    others = least + shifts @ basis.T
    scale = np.linalg.norm(y) + reach * np.linalg.norm(X, 2)
    yield close(others @ X.T, np.tile(X @ least, (200, 1)), "predictions of 200 other minimisers", atol=1e-13 * scale)
    yield at_least(np.linalg.norm(others, axis=1), np.linalg.norm(least), "length of other minimisers", rtol=1e-12)
    fresh = learning.design(rng.normal(size=(200, dim)))
    spread = np.ptp(fresh @ others.T, axis=1).max()
    yield at_least(spread, 0.0, "their disagreement on a fresh input, at most", strict=True)

    smallest = moments[missing] / n
    gammas = smallest * np.geomspace(1e-5, 1e-2, 7)
    path = np.array([learning.ridge(X, y, g, intercept=False).weights for g in gammas])
    error = np.linalg.norm(path - least, axis=1)
    rate = np.linalg.norm(np.linalg.pinv(X.T @ X / n, rcond=1e-10, hermitian=True) @ least)
    # 1/(λ + γ) lies between (1 − γ/λ)/λ and 1/λ: the error is linear up to the share γ/λ.
    yield at_most(error, gammas * rate, "distance of ridge from X⁺y, against its linear law", rtol=1e-6)
    yield at_least(error, gammas * rate * (1 - gammas / smallest), "distance of ridge from X⁺y, from below", rtol=1e-6)

    pair = rng.normal(size=(40, 1)) @ np.ones((1, 2))
    target = pair @ np.array([1.5, 0.5]) + 0.3 * rng.normal(size=40)
    best = learning.least_squares(pair, target, intercept=False).weights
    grid = np.linspace(-2.5, 3.5, 50)
    height = np.mean((target - pair[:, 0] * (grid[None, :, None] + grid[:, None, None])) ** 2, axis=-1)
    total = best.sum()
    yield figure.plane(
        f"Two equal columns: every w₁ + w₂ = {total:.2f} fits alike; the least-norm minimiser is ({best[0]:.2f}, "
        f"{best[1]:.2f})",
        x="w₁", y="w₂", regions=(grid, grid, -np.log(height)),
        lines={"minimisers": (grid, total - grid)},
        arrows={"the shortest, X⁺y": ((0.0, 0.0), tuple(best))},
        domain=((-2.5, 3.5), (-2.5, 3.5)),
    )  # fmt: skip


@claim(
    "least-squares-is-vertical",
    says=(
        "Least squares minimises squared vertical residuals, not distances to the hyperplane; those are minimised by "
        "total least squares, the smallest singular vector of the centred [X, y]."
    ),
    formula=(
        r"\min_{w,b} \sum_i (y_i - w \cdot x_i - b)^2 \quad\text{against}\quad \min_{w,b} \sum_i \frac{(y_i "
        r"- w \cdot x_i - b)^2}{1 + \|w\|^2}"
    ),
    sources=("penn",),
)
def least_squares_is_vertical(
    key,
    samples: Annotated[int, Range(20, 500)] = 60,
    dim: Annotated[int, Range(1, 10)] = 3,
    noise: Annotated[float, Range(0.01, 3.0, log=True)] = 0.5,
    rivals: Annotated[int, Range(10, 500)] = 200,
):
    """Three points with exact answers; then random data, each fit tried against the other and its neighbours."""
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 2.0, 1.0])
    ordinary, total = learning.least_squares(x, y), learning.total_least_squares(x, y)
    yield close(ordinary.weights[0], 0.5, "slope of least squares through (0,0), (1,2), (2,1)", atol=1e-14)
    yield close(total.weights[0], 1.0, "slope of total least squares", atol=1e-14)
    yield close(_perpendicular(ordinary, x, y).sum(), 1.2, "squared distances to the least-squares line", atol=1e-14)
    yield close(_perpendicular(total, x, y).sum(), 1.0, "squared distances to the total one", atol=1e-14)
    distance = [np.sqrt(_perpendicular(fit, x, y)).mean() for fit in (ordinary, total)]
    yield printed(
        at_most(distance[0], distance[1], "average distance to the least-squares line, against another line"),
        "penn", "it minimises the average distance of the points to the hyperplane",
    )  # fmt: skip

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
    near = [
        learning.LinearFit(fits[1].weights + 0.1 * step[:-1], fits[1].bias + 0.1 * step[-1])
        for step in rng.normal(size=(rivals, dim + 1))
    ]
    yield at_least(
        [_perpendicular(fit, inputs, targets).sum() for fit in near], across[1],
        f"squared distances of {rivals} neighbours of the total fit", rtol=1e-12,
    )  # fmt: skip

    line = np.array([-0.4, 2.6])
    yield figure.plane(
        f"The vertical fit has slope {ordinary.weights[0]:.2g}, the perpendicular one {total.weights[0]:.2g}",
        x="x", y="y",
        points={"data": np.column_stack([x, y])},
        lines={
            "least squares, vertical residuals": _with_residuals(ordinary, x, y, line, vertical=True),
            "total least squares, distances": _with_residuals(total, x, y, line, vertical=False),
        },
        domain=((-0.6, 2.8), (-0.6, 2.8)),
    )  # fmt: skip


@claim(
    "average-versus-max-fit",
    says=(
        "The fit of least maximal residual is decided by d + 2 points with equal extreme residuals, and one outlier "
        "moves it half of its own way; the average loss estimates the expected loss without bias, while the maximum "
        "grows with the sample."
    ),
    formula=(
        r"\min_{w,b} \max_i |y_i - w \cdot x_i - b|; \qquad \text{constants: mean shifts by } t/n, \text{ "
        r"midrange by } t/2"
    ),
    sources=("penn",),
    assumes=("points in general position", "unbounded noise, for the growth of the maximum"),
)
def average_versus_max_fit(
    key,
    samples: Annotated[int, Range(20, 400)] = 60,
    dim: Annotated[int, Range(1, 8)] = 3,
    shift: Annotated[float, Range(0.1, 1000.0, log=True)] = 20.0,
    noise: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
    growth: Annotated[int, Range(10, 1000, log=True)] = 100,
):
    """Random data: the linear programme, the same without its inactive points, and one point pulled up by `shift`."""
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + noise * rng.normal(size=samples)
    fit = learning.chebyshev_fit(x, y)
    yield exactly(int(fit.active.sum()), dim + 2, "points with the extreme residual, d + 2")
    again = learning.chebyshev_fit(x[fit.active], y[fit.active])
    yield close(
        np.append(again.weights, again.bias), np.append(fit.weights, fit.bias), "fit to the active points alone",
        atol=1e-7 * np.ptp(y),
    )  # fmt: skip
    ordinary = learning.least_squares(x, y)
    yield at_most(
        fit.height, np.abs(y - ordinary.predict(x)).max(), "maximal residual against that of least squares", rtol=1e-9
    )

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
    yield mean((short**2).mean(axis=1), 1.0, f"average squared residual of the true function, {samples} points",
               deviation=np.sqrt(2 / samples))  # fmt: skip
    yield smaller(
        np.abs(short).max(axis=1), largest, f"maximal residual of the true function: n = {samples} against {growth} n"
    )

    line_x = np.sort(rng.uniform(-2, 2, (30, 1)), axis=0)
    line_y = 0.5 * line_x[:, 0] + 0.2 * rng.normal(size=30)
    pulled = line_y.copy()
    pulled[-8] += 3.0
    ends = np.array([[-2.0], [2.0]])
    before, after = learning.chebyshev_fit(line_x, line_y), learning.chebyshev_fit(line_x, pulled)
    average = learning.least_squares(line_x, pulled)
    yield figure.beside(
        f"One of {samples} points moved by {shift:.3g}: the midrange follows by {middles[-1] - middles[0]:.3g}, the "
        f"mean by {means[-1] - means[0]:.2g}",
        figure.curves(
            "constant fits", x="displacement t of the largest value", y="shift of the fit",
            lines={"midrange": (pulls, pulls / 2), "mean": (pulls, pulls / samples)},
            points={"midrange": (pulls, middles - middles[0]), "mean": (pulls, means - means[0])},
        ),
        figure.plane(
            "a line, one of 30 points pulled up by 3", x="x", y="y",
            points={"data": np.column_stack([line_x, pulled])},
            lines={
                "least maximum": (ends[:, 0], ends @ after.weights + after.bias),
                "least maximum before": (ends[:, 0], ends @ before.weights + before.bias),
                "least squares": (ends[:, 0], average.predict(ends)),
            },
        ),
    )  # fmt: skip


def _mean_square(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


def _printed_formula(columns, y) -> str:
    try:
        weights = np.linalg.inv(columns.T @ columns) @ (columns.T @ y)
    except (ValueError, np.linalg.LinAlgError):
        return "no product: the shapes do not match"
    return "d + 1 weights" if len(weights) == len(columns) else f"{len(weights)} weights"


def _perpendicular(fit, x, y):
    return (y - fit.predict(x)) ** 2 / (1 + fit.weights @ fit.weights)


def _with_residuals(fit, x, y, ends, *, vertical):
    """One curve along the fitted line that visits every point and comes back."""
    w, b = float(fit.weights[0]), float(fit.bias)
    across = np.zeros(len(y)) if vertical else w * (y - fit.predict(x)) / (1 + w * w)
    feet = x[:, 0] + across
    order = np.argsort(feet)
    xs, ys = [ends[0]], [w * ends[0] + b]
    for i in order:
        xs += [feet[i], x[i, 0], feet[i]]
        ys += [w * feet[i] + b, y[i], w * feet[i] + b]
    return np.array([*xs, ends[1]]), np.array([*ys, w * ends[1] + b])


def _largest_normal(rng, n, count):
    """`count` draws of max |Z| over n standard normal Z, from their law F(z)ⁿ without drawing all of them."""
    from scipy.special import ndtri

    tail = -np.expm1(np.log(rng.random(count)) / n)  # P(|Z| > max)
    return -ndtri(tail / 2)
