"""The global minimum of a two-layer linear network, and that there is no other local one."""

import jax
import numpy as np

from leadline import data
from leadline.claims.scenarios.landscape.white_problem import white_problem
from leadline.evidence import Int, Real, at_least, claim, close, exactly
from leadline.landscape import deep_linear
from leadline.presentation import figure


@claim(sources=("penn", "sheet"), shows=("landscape.deep_linear.LinearProblem",))
def global_minimum_is_truncated(
    key, d: Int(3, 6) = 5, hidden: Int(1, 2) = 2, ratio: Real(2.0, 4.0) = 2.5, problems: Int(3, 20) = 8
):
    r"""Global minimum is the truncated SVD.

    The best product is $W^* = U_p U_p^T L^*$, for white inputs the singular value decomposition of L* cut after p
    terms; gradient descent, stochastic gradient descent and alternating least squares all end there. It is unique
    exactly if λₚ > λₚ₊₁, and alternation takes the longer the closer these two are.

    $$W^* = U_p U_p^T L^*, \; l(W^*) = \frac{1}{2n} \left[ \mathrm{tr}\, \Sigma_{yy} - \sum_{k \le p} \lambda_k
    \right]$$

    Assumes: λₚ > λₚ₊₁.
    """
    modes = np.arange(d)
    spectrum = ratio**-modes
    problem = white_problem(key, d, 60, spectrum)
    best, level = problem.critical_map(range(hidden)), problem.level(range(hidden))
    u, s, v = np.linalg.svd(problem.best_map)
    cut = (u[:, :hidden] * s[:hidden]) @ v[:hidden]
    yield close(cut, best, "L* cut after p singular values, against W*", atol=1e-10)
    start = deep_linear.gaussian_factors(problem, hidden, 0.3, key=jax.random.fold_in(key, 1))
    steps = int(60 / (spectrum[hidden - 1] ** 0.5 - spectrum[hidden] ** 0.5))
    run = deep_linear.descend_factors(problem, *start, 0.3, steps)
    yield close(run.losses[-1], level, f"descent: loss after {steps} steps", atol=1e-8)
    yield close(run.a @ run.b, best, "descent: product at the end", atol=1e-4)
    swept = deep_linear.alternate_factors(problem, start[0], sweeps=60)
    yield close(swept.losses[-1], level, "alternation: loss after 60 sweeps", atol=1e-8)
    yield close(swept.a @ swept.b, best, "alternation: product at the end", atol=1e-6)
    exact = white_problem(jax.random.fold_in(key, 2), d, 60, np.where(modes < hidden, spectrum, 0), noise=0.0)
    a, b = (0.5 * part / 0.3 for part in start)
    rng = data.generator(jax.random.fold_in(key, 3))
    for rows in rng.integers(exact.samples, size=(4000, 8)):
        x, y = exact.x[:, rows], exact.y[:, rows]
        hidden_values = b @ x
        error = (a @ hidden_values - y) / 8
        a, b = a - 0.05 * error @ hidden_values.T, b - 0.05 * a.T @ error @ x.T
    least = exact.level(range(hidden))
    yield close(exact.loss(a @ b), least, "SGD on a target of rank p: loss after 4000 updates", atol=1e-8)
    values = np.where(modes == hidden, spectrum[hidden - 1], spectrum)
    tied = white_problem(jax.random.fold_in(key, 4), d, 60, values)
    first, second = (tied.critical_map([*range(hidden - 1), last]) for last in (hidden - 1, hidden))
    yield close(tied.loss(first), tied.loss(second), "λ_p = λ_{p+1}: loss of two products", rtol=1e-10)
    yield at_least(np.linalg.norm(first - second), 1e-2, "λ_p = λ_{p+1}: distance of the two products")
    sweeps = []
    for share in (0.5, 0.8, 0.9):
        values = np.where(modes == hidden - 1, 1.0, np.where(modes < hidden, 1.0 + modes[::-1], share))
        close_by = white_problem(jax.random.fold_in(key, 5), d, 60, values)
        tangents = deep_linear.alternate_factors(close_by, start[0], sweeps=200).tangents
        sweeps.append(np.sum(tangents > 1e-6 * tangents[0]))
    yield at_least(np.diff(sweeps), 1, "sweeps that λ_{p+1}/λ_p = 0.8 and 0.9 take more than 0.5 and 0.8")
    ends, predicted = [], []
    for number in range(problems):
        gaps, drawn = rng.uniform(1.3, 3.0, size=d), jax.random.fold_in(key, 10 + number)
        values = rng.uniform(0.5, 2) / np.cumprod(gaps)
        other = deep_linear.random_problem(d + 1, d, 50, key=drawn, spectrum=values)
        ends.append(deep_linear.alternate_factors(other, rng.normal(size=(d, hidden)), sweeps=70).losses[-1])
        predicted.append(other.level(range(hidden)))
    yield close(ends, predicted, f"alternation on {problems} random problems: last loss", atol=1e-8)
    line, off = [min(predicted), max(predicted)], np.abs(np.subtract(ends, predicted)).max()
    title = f"Last losses of {problems} random problems lie on the closed form, within {off:.0e}"
    lines, points = {"equal": (line, line)}, {"alternating least squares": (predicted, ends)}
    yield figure.curves(title, "(tr Σyy − Σ_{k≤p} λ_k)/2n", "last loss", lines=lines, points=points)


@claim(sources=("penn", "sheet"))
def no_bad_local_minima(
    key,
    d: Int(3, 5) = 4,
    hidden: Int(2, 3) = 2,
    ratio: Real(2.0, 3.0) = 2.5,
    starts: Int(30, 200) = 200,
    quasi: Int(4, 20) = 8,
):
    r"""Two-layer linear networks: no bad minima.

    Every local minimum of a two-layer linear network is global: from random starts all runs end at one loss, where a
    ReLU network of the same size on the same data ends at several. It may take long: beside the saddle at 0 the time
    grows as the logarithm of the inverse scale of the start, divided by the steepest negative curvature there.

    $$t_{\mathrm{plateau}} \approx \frac{\ln(1/\varepsilon)}{|\lambda_{\mathrm{min}}|}$$

    Assumes: squared loss; generic data.

    Check: Gradient descent with momentum is run from `starts` Gaussian starts, and BFGS from `quasi` of them.
    """
    from scipy.optimize import minimize

    problem, rng = white_problem(key, d, 60, ratio ** -np.arange(d)), data.generator(jax.random.fold_in(key, 1))
    level = problem.level(range(hidden))
    a0, b0 = 0.5 * rng.normal(size=(starts, d, hidden)), 0.5 * rng.normal(size=(starts, hidden, d))
    linear = _trained(problem, a0, b0, relu=False)
    yield close(linear, level, f"last loss of {starts} linear runs, descent with momentum", atol=1e-7)

    def value_and_gradient(w):
        a, b = w[: d * hidden].reshape(d, hidden), w[d * hidden :].reshape(hidden, d)
        return problem.factor_loss(a, b), np.concatenate([part.ravel() for part in problem.factor_gradient(a, b)])

    flat = np.concatenate([a0[:quasi].reshape(quasi, -1), b0[:quasi].reshape(quasi, -1)], axis=1)
    by_bfgs = [minimize(value_and_gradient, w, jac=True, method="BFGS").fun for w in flat]
    yield close(by_bfgs, level, f"last loss of {quasi} linear runs, BFGS", atol=1e-7)
    rectified = _trained(problem, a0, b0, relu=True)
    atoms = [1 + np.sum(np.diff(np.sort(losses)) > 1e-3) for losses in (linear, rectified)]
    yield exactly(atoms[0], 1, "last losses farther apart than 0.001, linear")
    yield at_least(atoms[1], 2, "last losses farther apart than 0.001, ReLU")
    a, b = a0[0], b0[0]
    steepest = np.linalg.norm(problem.sigma_yx, 2) / problem.samples
    at_zero = np.linalg.eigvalsh(problem.factor_hessian(0 * a, 0 * b))
    yield close(at_zero[0], -steepest, "least eigenvalue of the Hessian at 0, against −‖Σyx‖/n", rtol=1e-9)
    scales, step, times = np.array([1e-4, 1e-7, 1e-10, 1e-13]), 0.1 / steepest, []
    halfway = (problem.level([]) + problem.level([0])) / 2
    for scale in scales:
        losses = deep_linear.descend_factors(problem, scale * a, scale * b, step, 600).losses
        after = int(np.argmax(losses < halfway))
        times.append(after - (halfway - losses[after]) / (losses[after - 1] - losses[after]))
    per_e, logs = 1 / np.log1p(step * steepest), np.log(1 / scales)
    slopes = np.diff(times) / np.diff(logs)
    yield close(slopes, per_e, "steps on the plateau for a start e times smaller: 1/ln(1 + η|λ_min|)", rtol=0.01)
    ends = figure.histogram("last losses", "last loss", samples={"linear": linear, "ReLU": rectified})
    points, along = {"descent": (logs, times)}, "ln(1/scale of the start)"
    lines = {"slope 1/ln(1 + η|λ_min|)": (logs, times[0] + per_e * (logs - logs[0]))}
    leaving = figure.curves("time to leave 0", along, "steps to half of the first mode", points=points, lines=lines)
    title = f"{starts} starts end at {atoms[0]} loss (linear) and at {atoms[1]} losses (ReLU)"
    yield figure.beside(title, ends, leaving)


def _trained(problem, a, b, *, relu: bool):
    """Last losses of all starts at once: heavy ball on the full data, step size 0.075, momentum 0.9."""
    x, y, n = problem.x, problem.y, problem.samples
    moves = [np.zeros_like(a), np.zeros_like(b)]
    for count in range(4000):
        if relu:
            before = b @ x
            hidden = np.maximum(before, 0)
            error = (a @ hidden - y) / n
            in_a = error @ np.swapaxes(hidden, 1, 2)
            in_b = ((np.swapaxes(a, 1, 2) @ error) * (before > 0)) @ x.T
        else:
            excess = a @ (b @ (problem.sigma_xx / n)) - problem.sigma_yx / n
            in_a, in_b = excess @ np.swapaxes(b, 1, 2), np.swapaxes(a, 1, 2) @ excess
        moves = [0.9 * m - 0.075 * g for m, g in zip(moves, (in_a, in_b), strict=True)]
        a, b = a + moves[0], b + moves[1]
        if count % 100 == 0 and (max(np.abs(in_a).max(), np.abs(in_b).max()) < 1e-8 or (relu and count >= 1500)):
            break
    hidden = np.maximum(b @ x, 0) if relu else b @ x
    return np.sum((a @ hidden - y) ** 2, axis=(1, 2)) / (2 * n)
