"""The linear autoencoder on digits: principal components, learnt one after the other; and more units than needed."""

import jax
import numpy as np

from leadline.evidence import Int, Real, at_least, at_most, claim, close, reference
from leadline.landscape import deep_linear
from leadline.presentation import figure


@claim(sources=("penn",))
def linear_autoencoder_is_pca(
    key, units: Int(1, 4) = 4, decades: Real(28.0, 33.0) = 30.0, step_size: Real(0.05, 0.12) = 0.1
):
    r"""Linear autoencoders learn PCA.

    A linear autoencoder with p units learns the projector on the top p principal components: the subspace, not the
    axes. From a start of size ε gradient descent finds them one by one, component k at time ln(1/ε²)/(2λₖ), and
    between two of them the loss rests at a critical level if ε is small enough.

    $$W^* = U_p U_p^T, \quad l^* = \tfrac{1}{2} \sum_{k>p} \lambda_k, \quad t_k = \frac{\ln(1/\epsilon^2)}{2
    \lambda_k}$$

    Assumes: centred data; λ are the eigenvalues of the covariance; float64, since float32 cannot hold 10⁻⁶⁰ and below
    ε = 10⁻³⁵ rounding errors start modes.

    Check: The data are the 1797 digits divided by 16 and centred, with the 61 pixels that vary. The factors start
    Gaussian, at scale $10^{-d}$ with d = `decades`, and at scale 10⁻⁴.
    """
    problem = deep_linear.digits_autoencoder()
    rates = problem.eigenvalues / problem.samples
    levels = np.array([problem.level(range(r)) for r in range(5)])
    stairs = [2.34664, 1.99721, 1.67763, 1.40085, 1.20350]
    yield reference(levels, stairs, "levels of 0 to 4 components on the digits", digits=6)
    yield reference(levels[4], 1.2034983, "loss of the best 4 units on the digits", digits=8)
    yield close(levels[units], rates[units:].sum() / 2, "level of p components, against ½ Σ_{k>p} λ_k", rtol=1e-12)
    top = problem.eigenvectors[:, :units]
    yield close(problem.critical_map(range(units)), top @ top.T, "W*, against the projector on p components", atol=1e-9)
    scale, times = 10.0**-decades, decades * np.log(10) / rates[:units]  # times: ln(1/ε²)/(2λ)
    steps = int((times[-1] * 1.15 + 30 / (rates[units - 1] - rates[units])) / step_size)
    a, b = deep_linear.gaussian_factors(problem, units, scale, key=key)
    run = deep_linear.descend_factors(problem, a, b, step_size, steps)
    found = run.passages()[:units] * step_size
    level = levels[: units + 1]
    yield at_most(run.losses[-1] - level[-1], 1e-9, "excess loss in the end")
    yield close(run.a @ run.b, top @ top.T, "product in the end, against the projector", atol=1e-4)
    sharp = deep_linear.passage_times(problem, a, b, step_size=step_size)
    overlaps = np.exp(-rates[:units] * deep_linear.passage_times(problem, a, b)) / scale
    rough = close(found, times, "half-strength times, against ln(1/ε²)/(2λ_k)", rtol=0.08)
    yield rough.given(overlaps.min() > 0.1, "a start with at least ε/10 in each component")
    what = "half-strength times, against the start's part in each component and growth 1 + ηλ"
    yield close(found, sharp, what, rtol=0.003, atol=step_size)
    rests = (np.abs(run.losses[:, None] - level) < 0.005 * run.losses[0]).sum(0)
    apart = np.diff(sharp).min(initial=np.inf) > 5 + 20 * step_size
    yield at_least(rests, 20, "steps within 0.5% of each level").given(apart, "components 5 + 20η apart in time")
    axes = np.abs(np.linalg.svd(run.a, full_matrices=False)[0].T @ top)
    yield close(np.linalg.norm(axes, axis=0), 1.0, "components within the space of A's columns", atol=1e-6)
    a, b = deep_linear.gaussian_factors(problem, units, 1e-4, key=jax.random.fold_in(key, 1))
    coarse = deep_linear.descend_factors(problem, a, b, step_size, int(60 / step_size))
    if units > 1:
        visits = (np.abs(coarse.losses[:, None] - level) < 0.005 * coarse.losses[0]).sum(0)
        together = np.diff(deep_linear.passage_times(problem, a, b, step_size=step_size)).min() < 4
        blurred = at_most(visits[1:-1].min(), 19, "starts of size 1e-4: steps spent at the least visible level")
        yield blurred.given(together, "two components within a time of 4")
    clock = step_size * np.arange(min(steps, int(times[-1] * 1.25 / step_size)))
    early = min(len(clock), len(coarse.losses))
    lines = {f"level {v:.5f}": ([0, clock[-1]], [v, v]) for v in level}
    points = {f"from 1e-{decades:.3g}": (clock, run.losses[: len(clock)])}
    points |= {"from 1e-4": (clock[:early], coarse.losses[:early])}
    came, expected = (", ".join(f"{t:.0f}" for t in part) for part in (found, times))
    title = f"Digits, {units} units: components at times {came} (predicted {expected}); from 1e-4 the levels blur"
    yield figure.curves(title, "time (step size × steps)", "loss", lines=lines, points=points)


@claim(sources=("penn",), shows=("landscape.deep_linear.LinearProblem",))
def overcomplete_gives_ols(
    key, inputs: Int(2, 8) = 6, outputs: Int(2, 8) = 5, surplus: Int(0, 3) = 2, ratio: Real(0.2, 0.6) = 0.5
):
    r"""Wide linear networks recover least squares.

    With $p \ge \min(d_x, d_y)$ hidden units the best linear network is the least-squares map itself. With fewer the
    excess loss is $\frac{1}{2n} \sum_{k>p} \lambda_k$, which falls with every unit and vanishes at that width.

    $$p \ge \min(d_x, d_y) \Rightarrow A B = L^*, \quad l^*_p - l^* = \frac{1}{2n} \sum_{k>p} \lambda_k$$

    Assumes: $\Sigma_{xx}$ is invertible.

    Check: The factors are fitted by alternating least squares for p from 1 to $\min(d_x, d_y)$ + `surplus`.
    """
    spectrum = ratio ** np.arange(outputs) if outputs <= inputs else None
    problem = deep_linear.random_problem(inputs, outputs, 20 * inputs, key=key, spectrum=spectrum)
    full = min(inputs, outputs)
    least = problem.loss(problem.best_map)
    size = np.abs(problem.best_map).max()
    widths = np.arange(1, full + surplus + 1)
    predicted = np.array([problem.eigenvalues[p:].clip(0).sum() for p in widths]) / (2 * problem.samples)
    measured = []
    for p in widths:
        start, _ = deep_linear.gaussian_factors(problem, int(p), 1.0, key=jax.random.fold_in(key, int(p)))
        run = deep_linear.alternate_factors(problem, start, sweeps=40 if p < full else 2)
        product = run.a @ run.b
        measured.append(problem.loss(product) - least)
        if p >= full:
            yield close(product, problem.best_map, f"{p} units: AB, against L*", atol=1e-6 * size)
    reached = np.array([problem.loss(problem.critical_map(range(min(p, outputs)))) - least for p in widths])
    scale = problem.energy / problem.samples
    yield close(reached, predicted, "excess of the best map of rank p, against (1/2n) Σ_{k>p} λ_k", atol=1e-12 * scale)
    alternated = close(measured, predicted, "excess by alternating, against (1/2n) Σ_{k>p} λ_k", atol=1e-9 * scale)
    yield alternated.given(spectrum is not None, "eigenvalues with the stated ratio")
    yield at_most(predicted[widths >= full], 1e-12 * scale, "excess from p = min(d_x, d_y) on")
    yield at_least(predicted[: full - 1], 1e-9 * scale, "excess below p = min(d_x, d_y)")
    title = f"The excess loss falls with every unit and is gone at {full} = min({inputs}, {outputs})"
    lines, points = {"(1/2n) Σ_{k>p} λ_k": (widths, predicted)}, {"alternating least squares": (widths, measured)}
    yield figure.curves(title, "hidden units p", "excess over the least-squares map", lines=lines, points=points)
