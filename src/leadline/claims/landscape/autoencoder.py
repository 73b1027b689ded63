"""The linear autoencoder on digits: principal components, learnt one after the other; and more units than needed."""

from typing import Annotated

import jax
import numpy as np

from leadline import deep_linear
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure


@claim(
    "linear-autoencoder-is-pca",
    says=(
        "A linear autoencoder with p units learns the projector on the top p principal components: the subspace, not "
        "the axes. From a start of size ε gradient descent finds them one by one: component k at time "
        "ln(1/ε²)/(2λ_k), and between two of them the loss rests at a critical level, if ε is small enough."
    ),
    formula=(
        r"W^* = U_p U_p^T, \quad l^* = \tfrac{1}{2} \sum_{k>p} \lambda_k, \quad"
        r" t_k = \frac{\ln(1/\epsilon^2)}{2 \lambda_k}"
    ),
    sources=("penn",),
    assumes=(
        "centred data; λ are eigenvalues of the covariance",
        "float64: float32 cannot hold 1e-60; below ε = 1e-35 rounding errors start modes",
    ),
    shows=("deep_linear.digits_autoencoder", "deep_linear.descend_factors", "deep_linear.passage_times"),
)
def linear_autoencoder_is_pca(
    key,
    units: Annotated[int, Range(1, 4)] = 4,
    decades: Annotated[float, Range(28.0, 33.0)] = 30.0,
    step: Annotated[float, Range(0.05, 0.12)] = 0.1,
):
    """The 1797 digits over 16, centred, 61 pixels that vary; Gaussian factors of scale 10^-decades, and of 1e-4."""
    problem = deep_linear.digits_autoencoder()
    rates = problem.eigenvalues / problem.samples
    levels = np.array([problem.level(range(r)) for r in range(5)])
    yield close(levels, [2.34664, 1.99721, 1.67763, 1.40085, 1.20350], "levels of 0 to 4 components", atol=5e-6)
    yield close(levels[4], 1.2034983, "loss of the best 4 units", atol=5e-8)
    yield close(problem.level(range(units)), rates[units:].sum() / 2, "level, against ½ Σ_{k>p} λ_k", rtol=1e-12)
    top = problem.eigenvectors[:, :units]
    yield close(problem.critical_map(range(units)), top @ top.T, "W*, against the projector on p components", atol=1e-9)

    scale = 10.0**-decades
    times = decades * np.log(10) / rates[:units]  # ln(1/ε²)/(2λ)
    steps = int((times[-1] * 1.15 + 30 / (rates[units - 1] - rates[units])) / step)
    a, b = deep_linear.gaussian_factors(problem, units, scale, key=key)
    run = deep_linear.descend_factors(problem, a, b, step, steps)
    found = run.passages()[:units] * step
    level = levels[: units + 1]
    yield at_most(run.losses[-1] - level[-1], 1e-9, "excess loss in the end")
    yield close(run.a @ run.b, top @ top.T, "product in the end, against the projector", atol=1e-4)
    sharp = deep_linear.passage_times(problem, a, b, step=step)
    overlaps = np.exp(-rates[:units] * deep_linear.passage_times(problem, a, b)) / scale
    rough = close(found, times, "half-strength times, against ln(1/ε²)/(2λ_k)", rtol=0.08)
    yield rough.given(overlaps.min() > 0.1, "a start with at least ε/10 in each component")
    yield close(found, sharp, "the same, from what the start holds of each and growth 1 + ηλ", rtol=0.003, atol=step)
    rests = (np.abs(run.losses[:, None] - level) < 0.005 * run.losses[0]).sum(0)
    apart = np.diff(sharp).min(initial=np.inf) > 5 + 20 * step
    yield at_least(rests, 20, "steps within 0.5% of each level").given(apart, "components 5 + 20η apart in time")
    axes = np.abs(np.linalg.svd(run.a, full_matrices=False)[0].T @ top)
    yield close(np.linalg.norm(axes, axis=0), 1.0, "components within the space of A's columns", atol=1e-6)

    a, b = deep_linear.gaussian_factors(problem, units, 1e-4, key=jax.random.fold_in(key, 1))
    coarse = deep_linear.descend_factors(problem, a, b, step, int(60 / step))
    if units > 1:
        visits = (np.abs(coarse.losses[:, None] - level) < 0.005 * coarse.losses[0]).sum(0)
        together = np.diff(deep_linear.passage_times(problem, a, b, step=step)).min() < 4
        blurred = at_most(visits[1:-1].min(), 19, "from 1e-4: steps at the least visible level")
        yield blurred.given(together, "two components within a time of 4")
    kept = np.unique(np.linspace(0, min(steps, int(times[-1] * 1.25 / step)), 190).astype(int))
    early = kept[kept <= int(60 / step)]
    listed = ", ".join(f"{t:.0f}" for t in found)
    yield figure.curves(
        f"Digits, {units} units: from 1e-{decades:.3g} the components come at times {listed} "
        f"(predicted {', '.join(f'{t:.0f}' for t in times)}); from 1e-4 the levels blur",
        x="time (step size × steps)",
        y="loss",
        lines={f"level {v:.5f}": ([0, kept[-1] * step], [v, v]) for v in level},
        points={
            f"from 1e-{decades:.3g}": (kept * step, run.losses[kept]),
            "from 1e-4": (early * step, coarse.losses[early]),
        },
    )


@claim(
    "overcomplete-gives-ols",
    says=(
        "With p ≥ min(d_x, d_y) hidden units the best linear network is the least-squares map itself. With fewer the "
        "excess loss is (1/2n) Σ_{k>p} λ_k, which falls with every unit and vanishes there."
    ),
    formula=r"p \ge \min(d_x, d_y) \Rightarrow A B = L^*, \quad l^*_p - l^* = \frac{1}{2n} \sum_{k>p} \lambda_k",
    sources=("penn",),
    assumes=("Σxx is invertible",),
    shows=("deep_linear.LinearProblem", "deep_linear.alternate_factors"),
)
def overcomplete_gives_ols(
    key,
    inputs: Annotated[int, Range(2, 8)] = 6,
    outputs: Annotated[int, Range(2, 8)] = 5,
    surplus: Annotated[int, Range(0, 3)] = 2,
    ratio: Annotated[float, Range(0.2, 0.6)] = 0.5,
):
    """Eigenvalues ratio^k of Σ/n where d_y ≤ d_x; p from 1 to min(d_x, d_y) + `surplus`, alternating."""
    spectrum = ratio ** np.arange(outputs) if outputs <= inputs else None
    problem = deep_linear.random_problem(inputs, outputs, 20 * inputs, key=key, spectrum=spectrum)
    full = min(inputs, outputs)
    least = problem.loss(problem.best_map)
    size = float(np.abs(problem.best_map).max())
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
    scale = float(problem.energy / problem.samples)
    yield close(reached, predicted, "excess of the best map of rank p, against (1/2n) Σ_{k>p} λ_k", atol=1e-12 * scale)
    gap = "eigenvalues with the stated ratio"
    yield close(measured, predicted, "excess found by alternating", atol=1e-9 * scale).given(spectrum is not None, gap)
    yield exactly(predicted[widths >= full] < 1e-12 * scale, True, "no excess from min(d_x, d_y) on")
    yield at_least(predicted[: full - 1], 1e-9 * scale, "excess below that")
    yield figure.curves(
        f"The excess loss falls with every unit and is gone at {full} = min({inputs}, {outputs})",
        x="hidden units p",
        y="excess over the least-squares map",
        lines={"(1/2n) Σ_{k>p} λ_k": (widths, predicted)},
        points={"alternating least squares": (widths, measured)},
    )
