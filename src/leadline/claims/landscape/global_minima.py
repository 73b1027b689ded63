"""The global minimum of a two-layer linear network, and that there is no other local one."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Range, at_least, claim, close, exactly, figure


def _white(key, d: int, spectrum, n: int = 60, noise: float = 0.3) -> deep_linear.LinearProblem:
    """d white inputs, XXᵀ = nI, d outputs; `spectrum` is that of Σ/n."""
    drawn = deep_linear.random_problem(d, d, n, key=key, spectrum=spectrum, noise=noise)
    white = np.linalg.solve(np.linalg.cholesky(drawn.sigma_xx / n), drawn.x)
    return deep_linear.LinearProblem(white, drawn.y)


@claim(
    "global-minimum-is-truncated",
    says=(
        "The best product is W* = U_p U_pᵀ L*, for white inputs the singular value decomposition of L* cut after p "
        "terms; descent, stochastic descent and alternation all end there. It is unique exactly if λ_p > λ_{p+1}, and "
        "alternation needs the longer the closer these two are."
    ),
    formula=r"W^* = U_p U_p^T L^*, \; l(W^*) = \frac{1}{2n} \left[ tr\, \Sigma_{yy} - \sum_{k \le p} \lambda_k \right]",
    sources=("penn", "sheet"),
    assumes=("λ_p > λ_{p+1}",),
    shows=("deep_linear.LinearProblem",),
)
def global_minimum_is_truncated(
    key,
    d: Annotated[int, Range(3, 6)] = 5,
    hidden: Annotated[int, Range(1, 2)] = 2,
    ratio: Annotated[float, Range(2.0, 4.0)] = 2.5,
    problems: Annotated[int, Range(3, 20)] = 8,
):
    """White inputs; λ_k = ratio^{-k}; random problems with random gaps for alternation."""
    spectrum = ratio ** -np.arange(d)
    problem = _white(key, d, spectrum)
    best, level = problem.critical_map(range(hidden)), problem.level(range(hidden))
    u, s, v = np.linalg.svd(problem.best_map)
    yield close(
        (u[:, :hidden] * s[:hidden]) @ v[:hidden], best, "L* cut after p singular values, against W*", atol=1e-10
    )

    start = deep_linear.gaussian_factors(problem, hidden, 0.3, key=jax.random.fold_in(key, 1))
    steps = int(60 / (spectrum[hidden - 1] ** 0.5 - spectrum[hidden] ** 0.5))
    run = deep_linear.descend_factors(problem, *start, 0.3, steps)
    yield close(run.losses[-1], level, f"descent: loss after {steps} steps", atol=1e-8)
    yield close(run.a @ run.b, best, "descent: product at the end", atol=1e-4)
    swept = deep_linear.alternate_factors(problem, start[0], sweeps=60)
    yield close(swept.losses[-1], level, "alternation: loss after 60 sweeps", atol=1e-8)
    yield close(swept.a @ swept.b, best, "alternation: product at the end", atol=1e-6)

    exact = _white(jax.random.fold_in(key, 2), d, np.where(np.arange(d) < hidden, spectrum, 0), noise=0.0)
    a, b = (0.5 * part / 0.3 for part in start)
    rng, updates = data.generator(jax.random.fold_in(key, 3)), 4000
    for rows in rng.integers(exact.samples, size=(updates, 8)):
        x, y = exact.x[:, rows], exact.y[:, rows]
        hidden_values = b @ x
        error = (a @ hidden_values - y) / 8
        a, b = a - 0.05 * error @ hidden_values.T, b - 0.05 * a.T @ error @ x.T
    yield close(
        exact.loss(a @ b),
        exact.level(range(hidden)),
        f"SGD on a target of rank p: loss after {updates} updates",
        atol=1e-8,
    )

    tied = _white(jax.random.fold_in(key, 4), d, np.where(np.arange(d) == hidden, spectrum[hidden - 1], spectrum))
    first, second = (tied.critical_map([*range(hidden - 1), last]) for last in (hidden - 1, hidden))
    yield close(tied.loss(first), tied.loss(second), "λ_p = λ_{p+1}: loss of two products", rtol=1e-10)
    yield at_least(np.linalg.norm(first - second), 1e-2, "λ_p = λ_{p+1}: distance of the two products")

    sweeps = []
    for share in (0.5, 0.8, 0.9):
        values = np.where(np.arange(d) < hidden, 1.0 + np.arange(d)[::-1], share)
        close_by = _white(jax.random.fold_in(key, 5), d, np.where(np.arange(d) == hidden - 1, 1.0, values))
        tangents = deep_linear.alternate_factors(close_by, start[0], sweeps=200).tangents
        sweeps.append(int(np.sum(tangents > 1e-6 * tangents[0])))
    yield at_least(np.diff(sweeps), 1, "more sweeps for λ_{p+1}/λ_p = 0.5, 0.8, 0.9")

    ends, predicted = [], []
    for number in range(problems):
        gaps = rng.uniform(1.3, 3.0, size=d)
        other = deep_linear.random_problem(
            d + 1, d, 50, key=jax.random.fold_in(key, 10 + number), spectrum=rng.uniform(0.5, 2) / np.cumprod(gaps)
        )
        ends.append(deep_linear.alternate_factors(other, rng.normal(size=(d, hidden)), sweeps=70).losses[-1])
        predicted.append(other.level(range(hidden)))
    yield close(ends, predicted, f"alternation on {problems} random problems: last loss", atol=1e-8)
    line, off = [min(predicted), max(predicted)], np.abs(np.subtract(ends, predicted)).max()
    yield figure.curves(
        f"Last losses of {problems} random problems lie on the closed form, within {off:.0e}",
        x="(tr Σyy − Σ_{k≤p} λ_k)/2n",
        y="last loss",
        lines={"equal": (line, line)},
        points={"alternating least squares": (predicted, ends)},
    )


@claim(
    "no-bad-local-minima",
    says=(
        "Every local minimum of a two-layer linear network is global: from random starts all runs end at one loss, "
        "where a ReLU network of the same size on the same data ends at several. It may take long: beside the saddle "
        "at 0 the time grows as ln(1/scale of the start) over the steepest descent there."
    ),
    formula=r"t_{plateau} \approx \frac{\ln(1/\varepsilon)}{|\lambda_{min}|}",
    sources=("penn", "sheet"),
    assumes=("squared loss", "generic data"),
    shows=("deep_linear.descend_factors",),
)
def no_bad_local_minima(
    key,
    d: Annotated[int, Range(3, 5)] = 4,
    hidden: Annotated[int, Range(2, 3)] = 2,
    ratio: Annotated[float, Range(2.0, 3.0)] = 2.5,
    starts: Annotated[int, Range(30, 200)] = 200,
    quasi: Annotated[int, Range(4, 20)] = 8,
):
    """Descent with momentum from `starts` Gaussian starts at once; BFGS from `quasi`; ReLU units by the same."""
    from scipy.optimize import minimize

    problem = _white(key, d, ratio ** -np.arange(d))
    n, rng = problem.samples, data.generator(jax.random.fold_in(key, 1))
    level = problem.level(range(hidden))
    a0, b0 = 0.5 * rng.normal(size=(starts, d, hidden)), 0.5 * rng.normal(size=(starts, hidden, d))
    linear = _trained(problem, a0, b0, relu=False)
    yield close(linear, level, f"last loss of {starts} linear runs, descent with momentum", atol=1e-7)

    def value_and_gradient(w):
        a, b = w[: d * hidden].reshape(d, hidden), w[d * hidden :].reshape(hidden, d)
        return problem.factor_loss(a, b), np.concatenate([part.ravel() for part in problem.factor_gradient(a, b)])

    by_bfgs = [
        minimize(value_and_gradient, np.concatenate([a.ravel(), b.ravel()]), jac=True, method="BFGS").fun
        for a, b in zip(a0[:quasi], b0[:quasi], strict=True)
    ]
    yield close(by_bfgs, level, f"last loss of {quasi} linear runs, BFGS", atol=1e-7)
    rectified = _trained(problem, a0, b0, relu=True)
    atoms = [1 + int(np.sum(np.diff(np.sort(losses)) > 1e-3)) for losses in (linear, rectified)]
    yield exactly(atoms[0], 1, "last losses farther apart than 0.001, linear")
    yield at_least(atoms[1], 2, "last losses farther apart than 0.001, ReLU")

    a, b = a0[0], b0[0]
    steepest = np.linalg.norm(problem.sigma_yx, 2) / n
    yield close(
        np.linalg.eigvalsh(problem.factor_hessian(0 * a, 0 * b))[0],
        -steepest,
        "least eigenvalue at 0: −‖Σyx‖/n",
        rtol=1e-9,
    )
    scales, step = np.array([1e-4, 1e-7, 1e-10, 1e-13]), 0.1 / steepest
    halfway = (problem.level([]) + problem.level([0])) / 2
    times = []
    for scale in scales:
        losses = deep_linear.descend_factors(problem, scale * a, scale * b, step, 600).losses
        after = int(np.argmax(losses < halfway))
        times.append(after - (halfway - losses[after]) / (losses[after - 1] - losses[after]))
    per_e = 1 / np.log1p(step * steepest)
    slopes = np.diff(times) / np.diff(np.log(1 / scales))
    yield close(slopes, per_e, "steps on the plateau for a start e times smaller: 1/ln(1 + η|λ_min|)", rtol=0.01)
    yield figure.beside(
        f"{starts} starts end at {atoms[0]} loss (linear) and at {atoms[1]} (ReLU); the plateau at 0 grows by "
        f"{slopes.mean():.1f} steps for each factor e",
        figure.histogram("last losses", x="last loss", samples={"linear": linear, "ReLU": rectified}),
        figure.curves(
            "time to leave 0", x="ln(1/scale of the start)", y="steps to half of the first mode",
            points={"descent": (np.log(1 / scales), times)},
            lines={"slope 1/ln(1 + η|λ_min|)": (np.log(1 / scales), times[0] + per_e * np.log(scales[0] / scales))},
        ),
    )  # fmt: skip


def _trained(problem, a, b, *, relu: bool, rate: float = 0.075, momentum: float = 0.9, steps: int = 4000) -> np.ndarray:
    """Last losses of all starts at once; heavy ball on the full data."""
    x, y, n = problem.x, problem.y, problem.samples
    moves = [np.zeros_like(a), np.zeros_like(b)]
    for count in range(steps):
        if relu:
            before = b @ x
            hidden = np.maximum(before, 0)
            error = (a @ hidden - y) / n
            in_a = error @ np.swapaxes(hidden, 1, 2)
            in_b = ((np.swapaxes(a, 1, 2) @ error) * (before > 0)) @ x.T
        else:
            excess = a @ (b @ (problem.sigma_xx / n)) - problem.sigma_yx / n
            in_a, in_b = excess @ np.swapaxes(b, 1, 2), np.swapaxes(a, 1, 2) @ excess
        moves = [momentum * m - rate * g for m, g in zip(moves, (in_a, in_b), strict=True)]
        a, b = a + moves[0], b + moves[1]
        if count % 100 == 0 and (max(np.abs(in_a).max(), np.abs(in_b).max()) < 1e-8 or (relu and count >= 1500)):
            break
    hidden = np.maximum(b @ x, 0) if relu else b @ x
    return np.sum((a @ hidden - y) ** 2, axis=(1, 2)) / (2 * n)
