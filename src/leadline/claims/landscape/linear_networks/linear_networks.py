"""Linear networks: what they can express, their gradient, their symmetry, and convexity in each factor alone."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, networks
from leadline.claims.scenarios.landscape.white_problem import white_problem
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, model, slope
from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.deep_gradients import conserved_matrices
from leadline.presentation import figure


@model(sources=("penn", "sheet", "cam"))
def linear_network(
    key,
    inputs: Int(5, 8) = 6,
    outputs: Int(4, 5) = 4,
    width: Int(1, 4) = 3,
    depth: Int(2, 6) = 4,
    ratio: Real(0.45, 0.6) = 0.5,
):
    r"""Deep linear network.

    $f(x) = W_L \cdots W_1 x$: whatever the depth, it can be every matrix whose rank is at most the least width p, and
    gradient descent from a small start reaches the best of them, down a staircase of critical levels. A bias is an
    extra input 1, so that W₁ has d + 1 columns.

    $$f(x) = W_L \cdots W_1 x, \quad W^* = \sum_{k \le p} u_k u_k^T L^*$$

    Assumes: white inputs, for the staircase in the order of the modes; distinct eigenvalues of Σ.

    Check: The best map has singular values `ratio`ᵏ; descent starts from Gaussian factors of scale 10⁻¹⁴.
    """
    problem = white_problem(key, inputs, 100, ratio ** (2.0 * np.arange(outputs)))
    best = problem.critical_map(range(width))
    widths = (inputs, *[width + 2 * (layer % 2) for layer in range(depth - 1)], outputs)
    layers = [np.asarray(weight) for weight, _ in networks.linear_network(best, widths).affine()]
    yield close(deep_linear.compose_layers(layers), best, f"W* as a product of {depth} layers", atol=1e-12)
    gradients = deep_linear.layer_gradients(layers, problem.x, problem.y)
    flat = np.concatenate([g.ravel() for g in gradients])
    yield close(flat, 0.0, f"gradient at W* as a product of {depth} layers", atol=1e-10)
    a, b = deep_linear.gaussian_factors(problem, width, 1e-14, key=jax.random.fold_in(key, 1))
    run = deep_linear.descend_factors(problem, a, b, 0.2, int(550 / ratio ** (width - 1)))
    levels = np.array([problem.level(range(r)) for r in range(width + 1)])
    close_by = np.abs(run.losses[:, None] - levels) < 0.005 * run.losses[0]
    yield close(run.losses[-1], levels[-1], "loss after training, against the level of W*", atol=1e-9)
    yield close(run.a @ run.b, best, "product after training, against W*", atol=1e-6)
    yield at_least(close_by.sum(0), 20, "steps at each level {1..r}, r = 0 to p")
    times = deep_linear.passage_times(problem, a, b, step_size=0.2)
    yield close(0.2 * run.passages()[:width], times, "times at which the modes have half strength", rtol=0.01, atol=0.5)
    affine = deep_linear.least_squares_map(np.vstack([problem.x, np.ones(100)]), problem.y)
    fits = [learning.least_squares(problem.x.T, output) for output in problem.y]
    with_bias = [[*fit.weights, fit.bias] for fit in fits]
    yield close(affine, with_bias, "a 1 appended to x: weights and bias", atol=1e-10)
    shown = run.losses[: int(run.passages()[width - 1] * 1.3) + 50]
    lines = {f"level of {r} modes": ([0, len(shown) - 1], [v, v]) for r, v in enumerate(levels)}
    title = f"From a tiny start the loss goes down {width} steps, each at a critical level"
    points = {"training": (np.arange(len(shown)), shown)}
    yield figure.curves(title, "step of gradient descent", "loss", lines=lines, points=points)


@claim(sources=("sheet",))
def deep_linear_gradient(key, depth: Int(2, 6) = 4, width: Int(1, 6) = 4, samples: Int(1, 20) = 5):
    r"""Gradient and balance in deep linear networks.

    The gradient with respect to layer l is the error, seen through the layers above, times what the layers below made
    of x. Gradient flow conserves $W_{l+1}^T W_{l+1} - W_l W_l^T$; gradient descent with step size η lets it drift by
    O(η).

    $$\nabla_{W_l} = (W_L \cdots W_{l+1})^T (W_L \cdots W_1 x - y) x^T (W_{l-1} \cdots W_1)^T, \quad \frac{d}{dt}
    (W_{l+1}^T W_{l+1} - W_l W_l^T) = 0$$

    Check: The layers are Gaussian, of norm about 1, with widths that alternate.
    """
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
    first = conserved_matrices(weights)
    steps = np.array([32, 64, 128, 256, 512])
    drifts = []
    for count in steps:
        run = deep_linear.descend_layers(weights, x, y, step_size=1 / count, num_steps=int(count))
        now = conserved_matrices(run.weights)
        drifts.append(np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(now, first, strict=True))))
    etas = 1 / steps
    yield slope(etas, drifts, 1.0, "drift of the conserved matrices against η: slope on a log-log plot", within=0.1)
    moved = deep_linear.descend_layers(weights, x, y, step_size=etas[0], num_steps=1)
    change = [b - a for a, b in zip(first, conserved_matrices(moved.weights), strict=True)]
    predicted = [etas[0] ** 2 * (up.T @ up - low @ low.T) for low, up in pairwise(exact)]
    for layer, (found, formula) in enumerate(zip(change, predicted, strict=True), 1):
        yield close(found, formula, f"one step: change of matrix {layer}, against η²(∇ᵀ∇ − ∇∇ᵀ)", atol=1e-13)
    title = f"What gradient flow conserves drifts in proportion to the step: {drifts[-1]:.2g} at η = {etas[-1]:.2g}"
    lines, points = {"slope 1": (etas, drifts[-1] * etas / etas[-1])}, {"gradient descent": (etas, drifts)}
    yield figure.curves(title, "step size η", "drift up to time 1", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def linear_net_symmetry(key, dim: Int(3, 6) = 4, width: Int(1, 3) = 2, ratio: Real(0.35, 0.6) = 0.5):
    r"""GL(p) symmetry of linear networks.

    l(AC, C⁻¹B) = l(A, B) for every invertible C, so minima are never isolated: at a minimum with A of rank p the orbit
    has dimension p², which is the nullity of the Hessian. The gradient, the curvature and the path of descent do
    change.

    $$l(A C, C^{-1} B) = l(A, B), \quad C \in GL(p), \quad \dim \ker \nabla^2 l = p^2$$

    Assumes: $d_x = d_y$, for the nullity; λₚ > λₚ₊₁.

    Check: The inputs are white; two runs of descent start from factors of equal and of unequal size.
    """
    problem = white_problem(key, dim, 20 * dim, ratio ** np.arange(dim))
    rng = data.generator(jax.random.fold_in(key, 1))
    a, b = deep_linear.gaussian_factors(problem, width, 1.0, key=jax.random.fold_in(key, 2))
    u, _, v = np.linalg.svd(rng.normal(size=(width, width)))
    c = (u * np.linspace(0.5, 2.0, width)) @ v if width > 1 else np.array([[2.0]])
    moved = a @ c, np.linalg.solve(c, b)
    what = f"loss at (AC, C⁻¹B), C of condition {np.linalg.cond(c):.2g}, against (A, B)"
    yield close(problem.factor_loss(*moved), problem.factor_loss(a, b), what, rtol=1e-12)
    norms = [np.sqrt(sum(np.sum(g**2) for g in problem.factor_gradient(*f))) for f in ((a, b), moved)]
    yield at_least(abs(norms[1] / norms[0] - 1), 1e-6, "relative change of the gradient's norm at (AC, C⁻¹B)")
    top = problem.eigenvectors[:, :width]
    curvatures = np.linalg.eigvalsh(problem.factor_hessian(top, top.T @ problem.best_map))
    null = np.sum(np.abs(curvatures) < 1e-9 * curvatures[-1])
    yield exactly(null, width**2, "nullity of the Hessian at the minimum, against p²")
    yield at_least(curvatures, 0.0, "eigenvalues of the Hessian at the minimum", atol=1e-11)
    skew = np.linalg.eigvalsh(problem.factor_hessian(2 * top, top.T @ problem.best_map / 2))
    change = abs(skew[-1] / curvatures[-1] - 1)
    yield at_least(change, 1e-3, "relative change of the largest Hessian eigenvalue at the minimum for C = 2I")
    gap = ratio ** ((width - 1) / 2) * (1 - ratio**0.5)
    runs = []
    for seed, unbalance in ((3, 1), (4, 5)):
        a, b = deep_linear.gaussian_factors(problem, width, 0.1, key=jax.random.fold_in(key, seed))
        runs.append(deep_linear.descend_factors(problem, unbalance * a, b, 0.2, int(5 * 80 / gap)))
    (a1, b1), (a2, b2) = ((run.a, run.b) for run in runs)
    aligned = np.linalg.lstsq(a1, a2, rcond=None)[0]
    misfits = (("A₁C", a1 @ aligned, a2), ("C⁻¹B₁", np.linalg.solve(aligned, b1), b2))
    for name, found, other in misfits:
        apart = np.linalg.norm(found - other) / np.linalg.norm(other)
        yield at_most(apart, 1e-5, f"two runs aligned by C: relative distance of {name} from the other run")
    apart = np.linalg.norm(a1 - a2) / np.linalg.norm(a2)
    yield at_least(apart, 1e-6, "two runs as they are: relative distance of A₁ and A₂")
    scalar = deep_linear.LinearProblem(np.ones((1, 1)), np.ones((1, 1)))
    middle, half = rng.choice([-1, 1], 24) * rng.uniform(0.1, 1.2, 24), rng.uniform(-1.2, 1.2, 24)
    starts = np.stack([middle + half, middle - half], axis=1)
    runs = [deep_linear.descend_factors(scalar, a[None, None], b[None, None], 0.1, 300) for a, b in starts]
    ends = np.array([[run.a.item(), run.b.item()] for run in runs])
    yield close(ends.prod(axis=1), 1.0, "one unit, 24 starts: ab at the end", atol=1e-6)
    branch = np.geomspace(0.25, 4.0, 80)
    lines = {"ab = 1": (branch, 1 / branch), "its other branch": (-branch, -1 / branch)}
    title = "One unit: 24 runs end all over the hyperbola ab = 1, the orbit of the symmetry"
    points, domain = {"starts": starts, "ends": ends}, ((-2.5, 2.5), (-2.5, 2.5))
    yield figure.plane(title, "a", "b", points=points, lines=lines, domain=domain)


@claim(sources=("penn",), shows=("landscape.deep_linear.LinearProblem",))
def linear_net_block_convexity(
    key, inputs: Int(1, 6) = 4, outputs: Int(1, 6) = 3, width: Int(1, 4) = 2, chords: Int(20, 500) = 200
):
    r"""Block convexity without joint convexity.

    The loss is convex in A for fixed B and in B for fixed A, where its Hessian is $\frac1n \Sigma_{xx} \otimes A^T A$,
    but not in both: between (A, B) and (−A, −B), which have the same loss, lies the origin, which has a larger one.

    $$\nabla^2_B l = \tfrac{1}{n} \Sigma_{xx} \otimes A^T A \succeq 0, \quad \nabla^2_{(A, B)} l \text{ indefinite}$$
    """
    problem = deep_linear.random_problem(inputs, outputs, 20 * inputs, key=key)
    rng = data.generator(jax.random.fold_in(key, 1))
    a, b = rng.normal(size=(2, chords, outputs, width)), rng.normal(size=(2, chords, width, inputs))

    def losses(a, b):
        return np.sum((problem.y - a @ b @ problem.x) ** 2, axis=(1, 2)) / (2 * problem.samples)

    for name, other_a, other_b in (("A alone", a[1], b[0]), ("B alone", a[0], b[1])):
        ends = (losses(a[0], b[0]) + losses(other_a, other_b)) / 2
        middles = losses((a[0] + other_a) / 2, (b[0] + other_b) / 2)
        yield at_most(middles, ends, f"{chords} chords in {name}: loss at the midpoint, against the mean", rtol=1e-12)
    rank = min(inputs, outputs, width)
    best_a = np.zeros((outputs, width))
    best_a[:, :rank] = problem.eigenvectors[:, :rank]
    best_b = deep_linear.best_encoder(problem, best_a)
    origin = problem.factor_loss(0 * best_a, 0 * best_b)
    yield at_least(origin, problem.factor_loss(best_a, best_b), "loss at 0, against ±(A, B) around it", strict=True)
    hessian = problem.factor_hessian(a[0, 0], b[0, 0])
    block = hessian[outputs * width :, outputs * width :]
    in_columns = block.reshape(width, inputs, width, inputs).transpose(1, 0, 3, 2).reshape(block.shape)
    formula = np.kron(problem.sigma_xx, a[0, 0].T @ a[0, 0]) / problem.samples
    size = np.abs(hessian).max()
    yield close(in_columns, formula, "Hessian in vec B, against Σxx ⊗ AᵀA/n", atol=1e-12 * size)
    upper = hessian[: outputs * width, : outputs * width]
    least = [np.linalg.eigvalsh(part)[0] for part in (upper, block)]
    yield at_least(least, 0.0, "least eigenvalue of either block", atol=1e-11 * size)
    at_origin = np.linalg.eigvalsh(problem.factor_hessian(0 * best_a, 0 * best_b))
    yield at_most(at_origin[0], 0.0, "least eigenvalue of the whole Hessian at the origin", strict=True)
    yield at_least(at_origin[-1], 0.0, "largest eigenvalue of the whole Hessian at the origin", strict=True)
    grid, t = np.linspace(-1.6, 1.6, 41), np.linspace(-1, 1, 41)
    regions = grid, grid, np.minimum((1 - np.outer(grid, grid)) ** 2, 4.0)
    lines, points = {"chord": ([-1, 1], [-1, 1])}, {"minima": [[-1.0, -1.0], [1.0, 1.0]]}
    surface = figure.plane("(1 − ab)², cut at 4", "a", "b", regions=regions, lines=lines, points=points)
    lines = {"loss": (t, (1 - t**2) ** 2), "mean of the ends": ([-1, 1], [0, 0])}
    chord = figure.curves("loss along the chord", "place on the chord", "(1 − t²)²", lines=lines)
    title = "Convex in a and in b, not in both: the chord from (−1, −1) to (1, 1) has loss 0 at its ends, 1 in between"
    yield figure.beside(title, surface, chord)
