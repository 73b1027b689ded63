"""Linear networks: what they can express, their gradient, their symmetry, and convexity in each factor alone."""

from itertools import pairwise
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, deep_linear, learning, networks
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, model, printed, slope


@model(
    "linear-network",
    says=(
        "f(x) = W_L … W_1 x: whatever the depth, it can be every matrix whose rank is at most the least width p, and "
        "gradient descent from a small start reaches the best of them, down a staircase of critical levels. A bias is "
        "an extra input 1, so that W_1 has d + 1 columns."
    ),
    formula=r"f(x) = W_L \cdots W_1 x, \quad W^* = \sum_{k \le p} u_k u_k^T L^*",
    sources=("penn", "sheet", "cam"),
    assumes=("white inputs, for the staircase in the order of the modes", "distinct eigenvalues of Σ"),
    shows=("deep_linear.LinearProblem", "deep_linear.descend_factors", "deep_linear.compose_layers"),
)
def linear_network(
    key,
    inputs: Annotated[int, Range(5, 8)] = 6,
    outputs: Annotated[int, Range(4, 5)] = 4,
    width: Annotated[int, Range(1, 4)] = 3,
    depth: Annotated[int, Range(2, 6)] = 4,
    ratio: Annotated[float, Range(0.45, 0.6)] = 0.5,
):
    """Singular values ratio^k of the best map, 100 white samples; Gaussian factors of scale 1e-14, step 0.2."""
    n = 100
    drawn = deep_linear.random_problem(inputs, outputs, n, key=key, spectrum=ratio ** (2.0 * np.arange(outputs)))
    white = np.linalg.solve(np.linalg.cholesky(drawn.sigma_xx / n), drawn.x)
    problem = deep_linear.LinearProblem(white, drawn.y)
    best = problem.critical_map(range(width))
    widths = (inputs, *[width + 2 * (layer % 2) for layer in range(depth - 1)], outputs)
    layers = [np.asarray(weight) for weight, _ in networks.linear_network(best, widths).affine()]
    yield close(deep_linear.compose_layers(layers), best, f"W* as a product of {depth} layers", atol=1e-12)
    gradients = deep_linear.layer_gradients(layers, problem.x, problem.y)
    yield close(np.concatenate([g.ravel() for g in gradients]), 0.0, "gradient there", atol=1e-12 * n)

    a, b = deep_linear.gaussian_factors(problem, width, 1e-14, key=jax.random.fold_in(key, 1))
    slowest = ratio ** (width - 1)
    run = deep_linear.descend_factors(problem, a, b, 0.2, int(5 * 110 / slowest))
    levels = np.array([problem.level(range(r)) for r in range(width + 1)])
    close_by = np.abs(run.losses[:, None] - levels) < 0.005 * run.losses[0]
    yield close(run.losses[-1], levels[-1], "loss after training, against the level of W*", atol=1e-9)
    yield close(run.a @ run.b, best, "product after training, against W*", atol=1e-6)
    yield at_least(close_by.sum(0), 20, "steps at each level {1..r}, r = 0 to p")
    times = deep_linear.passage_times(problem, a, b, step=0.2)
    yield close(0.2 * run.passages()[:width], times, "times at which the modes have half strength", rtol=0.01, atol=0.5)

    extended = np.vstack([problem.x, np.ones(n)])
    fits = [learning.least_squares(problem.x.T, output) for output in problem.y]
    affine = deep_linear.least_squares_map(extended, problem.y)
    with_bias = [[*fit.weights, fit.bias] for fit in fits]
    yield close(affine, with_bias, "a 1 appended to x: weights and bias", atol=1e-10)
    kept = exactly(affine.shape[1], inputs, "columns of B after a 1 is appended")
    yield printed(kept, "penn", "A and B stay d × d after a 1 is appended to x")
    end = min(len(run.losses), int(run.passages()[width - 1] * 1.3) + 50)
    times = np.unique(np.linspace(0, end - 1, 160).astype(int))
    yield figure.curves(
        f"From a tiny start the loss goes down {width} steps, each at a critical level",
        x="step of gradient descent",
        y="loss",
        lines={f"level of {r} modes": (times[[0, -1]], [v, v]) for r, v in enumerate(levels)},
        points={"training": (times, run.losses[times])},
    )


@claim(
    "deep-linear-gradient",
    says=(
        "The gradient with respect to layer l is the error, seen through the layers above, times what the layers "
        "below made of x. Gradient flow conserves W_{l+1}ᵀW_{l+1} − W_lW_lᵀ; gradient descent with step η lets it "
        "drift by O(η)."
    ),
    formula=(
        r"\nabla_{W_l} = (W_L \cdots W_{l+1})^T (W_L \cdots W_1 x - y) x^T (W_{l-1} \cdots W_1)^T, \quad"
        r" \frac{d}{dt} (W_{l+1}^T W_{l+1} - W_l W_l^T) = 0"
    ),
    sources=("sheet",),
    shows=("deep_linear.layer_gradients", "deep_linear.conserved_matrices", "deep_linear.descend_layers"),
)
def deep_linear_gradient(
    key,
    depth: Annotated[int, Range(2, 6)] = 4,
    width: Annotated[int, Range(1, 6)] = 4,
    samples: Annotated[int, Range(1, 20)] = 5,
):
    """Gaussian layers of norm about 1, widths that alternate; time 1 of the flow at five step sizes."""
    rng = data.generator(key)
    widths = [width + layer % 2 for layer in range(depth + 1)]
    weights = [rng.normal(size=(m, k)) / np.sqrt(m + k) for k, m in pairwise(widths)]
    x = rng.normal(size=(widths[0], samples)) / np.sqrt(samples)
    y = rng.normal(size=(widths[-1], samples)) / np.sqrt(samples)

    def loss(weights, x, y):
        for weight in weights:
            x = weight @ x
        return jnp.sum((x - y) ** 2) / 2

    automatic = jax.jit(jax.grad(loss))([jnp.asarray(w) for w in weights], x, y)
    exact = deep_linear.layer_gradients(weights, x, y)
    for layer, (ours, theirs) in enumerate(zip(exact, automatic, strict=True), 1):
        yield close(ours, theirs, f"gradient of layer {layer}, against automatic differentiation", atol=1e-12)

    first = deep_linear.conserved_matrices(weights)
    steps = np.array([32, 64, 128, 256, 512])
    drifts = []
    for count in steps:
        run = deep_linear.descend_layers(weights, x, y, step=1 / count, steps=int(count))
        now = deep_linear.conserved_matrices(run.weights)
        drifts.append(np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(now, first, strict=True))))
    etas = 1 / steps
    yield slope(etas, drifts, 1.0, "drift against η: slope on a log-log plot", within=0.1)
    moved = deep_linear.descend_layers(weights, x, y, step=etas[0], steps=1)
    change = [b - a for a, b in zip(first, deep_linear.conserved_matrices(moved.weights), strict=True)]
    predicted = [etas[0] ** 2 * (up.T @ up - low @ low.T) for low, up in pairwise(exact)]
    for layer, (found, formula) in enumerate(zip(change, predicted, strict=True), 1):
        yield close(found, formula, f"one step: change of matrix {layer}, against η²(∇ᵀ∇ − ∇∇ᵀ)", atol=1e-13)
    yield figure.curves(
        f"What gradient flow conserves drifts in proportion to the step: {drifts[-1]:.2g} at η = {etas[-1]:.2g}",
        x="step η",
        y="drift of the conserved matrices up to time 1",
        lines={"slope 1": (etas, drifts[-1] * etas / etas[-1])},
        points={"gradient descent": (etas, drifts)},
        log="xy",
    )


@claim(
    "linear-net-symmetry",
    says=(
        "l(AC, C⁻¹B) = l(A, B) for every invertible C, so minima are never isolated: at a minimum with A of rank p "
        "the orbit has dimension p², which is the nullity of the Hessian. Gradient, curvature and the path of descent "
        "do change."
    ),
    formula=r"l(A C, C^{-1} B) = l(A, B), \quad C \in GL(p), \quad \dim \ker \nabla^2 l = p^2",
    sources=("penn",),
    assumes=("d_x = d_y, for the nullity", "λ_p > λ_{p+1}"),
    shows=("deep_linear.LinearProblem", "deep_linear.descend_factors"),
)
def linear_net_symmetry(
    key,
    dim: Annotated[int, Range(3, 6)] = 4,
    width: Annotated[int, Range(1, 3)] = 2,
    ratio: Annotated[float, Range(0.35, 0.6)] = 0.5,
):
    """Eigenvalues ratio^k of Σ/n, white inputs; two runs of descent, from factors of equal and unequal size."""
    n = 20 * dim
    drawn = deep_linear.random_problem(dim, dim, n, key=key, spectrum=ratio ** np.arange(dim))
    problem = deep_linear.LinearProblem(np.linalg.solve(np.linalg.cholesky(drawn.sigma_xx / n), drawn.x), drawn.y)
    rng = data.generator(jax.random.fold_in(key, 1))
    a, b = deep_linear.gaussian_factors(problem, width, 1.0, key=jax.random.fold_in(key, 2))
    u, _, v = np.linalg.svd(rng.normal(size=(width, width)))
    c = (u * np.linspace(0.5, 2.0, width)) @ v if width > 1 else np.array([[2.0]])
    condition = float(np.linalg.cond(c))
    moved = a @ c, np.linalg.solve(c, b)
    yield close(
        problem.factor_loss(*moved), problem.factor_loss(a, b), f"loss after C of condition {condition:.2g}", rtol=1e-12
    )
    norms = [float(np.sqrt(sum(np.sum(g**2) for g in problem.factor_gradient(*f)))) for f in ((a, b), moved)]
    yield at_least(abs(norms[1] / norms[0] - 1), 1e-6, "relative change of the gradient's norm")

    top = problem.eigenvectors[:, :width]
    curvatures = np.linalg.eigvalsh(problem.factor_hessian(top, top.T @ problem.best_map))
    yield exactly(int(np.sum(np.abs(curvatures) < 1e-9 * curvatures[-1])), width**2, "nullity at the minimum")
    yield at_least(curvatures, 0.0, "its Hessian has no negative eigenvalue", atol=1e-11)
    skew = np.linalg.eigvalsh(problem.factor_hessian(2 * top, top.T @ problem.best_map / 2))
    yield at_least(abs(skew[-1] / curvatures[-1] - 1), 1e-3, "relative change of its largest eigenvalue for C = 2I")

    gap = ratio ** ((width - 1) / 2) * (1 - ratio**0.5)
    runs = []
    for seed, unbalance in ((3, 1), (4, 5)):
        a, b = deep_linear.gaussian_factors(problem, width, 0.1, key=jax.random.fold_in(key, seed))
        runs.append(deep_linear.descend_factors(problem, unbalance * a, b, 0.2, int(5 * 80 / gap)))
    (a1, b1), (a2, b2) = ((run.a, run.b) for run in runs)
    aligned = np.linalg.lstsq(a1, a2, rcond=None)[0]
    yield at_most(np.linalg.norm(a1 @ aligned - a2) / np.linalg.norm(a2), 1e-5, "two runs: A₂ against A₁C")
    yield at_most(np.linalg.norm(np.linalg.solve(aligned, b1) - b2) / np.linalg.norm(b2), 1e-5, "B₂ against C⁻¹B₁")
    apart = np.linalg.norm(a1 - a2) / np.linalg.norm(a2)
    yield at_least(apart, 1e-6, "the same two runs as they are: relative distance of A₁ and A₂")

    scalar = deep_linear.LinearProblem(np.ones((1, 1)), np.ones((1, 1)))
    middle, half = rng.choice([-1, 1], 24) * rng.uniform(0.1, 1.2, 24), rng.uniform(-1.2, 1.2, 24)
    starts = np.stack([middle + half, middle - half], axis=1)
    ends = np.array([[f.item() for f in _end(scalar, start)] for start in starts])
    yield close(ends.prod(axis=1), 1.0, "one unit, 24 starts: ab at the end", atol=1e-6)
    branch = np.geomspace(0.25, 4.0, 80)
    yield figure.plane(
        "One unit: 24 runs end all over the hyperbola ab = 1, the orbit of the symmetry",
        x="a",
        y="b",
        points={"starts": starts, "ends": ends},
        lines={"ab = 1": (branch, 1 / branch), "its other branch": (-branch, -1 / branch)},
        domain=((-2.5, 2.5), (-2.5, 2.5)),
    )


def _end(problem, start):
    run = deep_linear.descend_factors(problem, start[:1, None], start[1:, None], 0.1, 300)
    return run.a, run.b


@claim(
    "linear-net-block-convexity",
    says=(
        "The loss is convex in A for fixed B and in B for fixed A, where its Hessian is Σxx ⊗ AᵀA/n, but not in both: "
        "between (A, B) and (−A, −B), which have the same loss, lies the origin, which has a larger one."
    ),
    formula=(
        r"\nabla^2_B l = \tfrac{1}{n} \Sigma_{xx} \otimes A^T A \succeq 0, \quad"
        r" \nabla^2_{(A, B)} l \text{ indefinite}"
    ),
    sources=("penn",),
    shows=("deep_linear.LinearProblem",),
)
def linear_net_block_convexity(
    key,
    inputs: Annotated[int, Range(1, 6)] = 4,
    outputs: Annotated[int, Range(1, 6)] = 3,
    width: Annotated[int, Range(1, 4)] = 2,
    chords: Annotated[int, Range(20, 500)] = 200,
):
    """Chords between Gaussian points, midpoint against the mean of the ends; Hessian blocks in closed form."""
    problem = deep_linear.random_problem(inputs, outputs, 20 * inputs, key=key)
    rng = data.generator(jax.random.fold_in(key, 1))
    a = rng.normal(size=(2, chords, outputs, width))
    b = rng.normal(size=(2, chords, width, inputs))
    ends, middles = {}, {}
    pairs = {"A alone": ((a[0], b[0]), (a[1], b[0])), "B alone": ((a[0], b[0]), (a[0], b[1]))}
    for name, (one, two) in pairs.items():
        ends[name] = (_losses(problem, *one) + _losses(problem, *two)) / 2
        middles[name] = _losses(problem, (one[0] + two[0]) / 2, (one[1] + two[1]) / 2)
        yield at_most(middles[name], ends[name], f"{chords} chords in {name}: midpoint against mean", rtol=1e-12)
    rank = min(inputs, outputs, width)
    best_a = np.zeros((outputs, width))
    best_a[:, :rank] = problem.eigenvectors[:, :rank]
    best_b = deep_linear.best_encoder(problem, best_a)
    origin = problem.factor_loss(0 * best_a, 0 * best_b)
    yield at_least(origin, problem.factor_loss(best_a, best_b), "origin, against ±(A, B) around it", strict=True)

    hessian = problem.factor_hessian(a[0, 0], b[0, 0])
    block = hessian[outputs * width :, outputs * width :]
    in_columns = block.reshape(width, inputs, width, inputs).transpose(1, 0, 3, 2).reshape(block.shape)
    formula = np.kron(problem.sigma_xx, a[0, 0].T @ a[0, 0]) / problem.samples
    size = float(np.abs(hessian).max())
    yield close(in_columns, formula, "Hessian in vec B, against Σxx ⊗ AᵀA/n", atol=1e-12 * size)
    upper = hessian[: outputs * width, : outputs * width]
    least = [np.linalg.eigvalsh(part)[0] for part in (upper, block)]
    yield at_least(least, 0.0, "least eigenvalue of either block", atol=1e-11 * size)
    at_origin = np.linalg.eigvalsh(problem.factor_hessian(0 * best_a, 0 * best_b))
    yield at_most(at_origin[0], 0.0, "least eigenvalue of the whole Hessian at the origin", strict=True)
    yield at_least(at_origin[-1], 0.0, "its largest", strict=True)

    grid = np.linspace(-1.6, 1.6, 41)
    surface = np.minimum((1 - np.outer(grid, grid)) ** 2, 4.0)
    t = np.linspace(-1, 1, 41)
    yield figure.beside(
        "Convex in a and in b, not in both: the chord from (−1, −1) to (1, 1) has loss 0 at its ends, 1 in between",
        figure.plane(
            "(1 − ab)², cut at 4",
            x="a",
            y="b",
            regions=(grid, grid, surface),
            lines={"chord": ([-1, 1], [-1, 1])},
            points={"minima": np.array([[-1.0, -1.0], [1.0, 1.0]])},
        ),
        figure.curves(
            "loss along the chord",
            x="place on the chord",
            y="(1 − t²)²",
            lines={"loss": (t, (1 - t**2) ** 2), "mean of the ends": ([-1, 1], [0, 0])},
        ),
    )


def _losses(problem, a, b):
    """The loss at many pairs of factors."""
    return np.sum((problem.y - a @ b @ problem.x) ** 2, axis=(1, 2)) / (2 * problem.samples)
