"""One factor at a time: the rank of a product, the best factor for a given other, and the two in turn."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, method, reference
from leadline.landscape import deep_linear
from leadline.presentation import figure


@claim(sources=("penn",))
def rank_bottleneck(key, dim: Int(4, 12) = 8, width: Int(1, 3) = 2, train: Int(600, 1600) = 1297):
    r"""Reduced-rank regression through a bottleneck.

    A product AB through p units has rank at most p, at every moment of training: this is reduced-rank regression. The
    best loss falls with every unit until p is the rank of the best map; digits read through few units are misread.

    $$\operatorname{rank}(A B) \le p, \quad l^*_p = \frac{1}{2n} \Big( \operatorname{tr} \Sigma_{yy} - \sum_{k \le p}
    \lambda_k \Big)$$

    Check: The digits are read by reduced-rank regression of the ten indicators on the pixels.
    """
    problem = deep_linear.random_problem(dim, dim, 10 * dim, key=key)
    a, b = deep_linear.gaussian_factors(problem, width, 0.3, key=jax.random.fold_in(key, 1))
    beyond = []
    for _ in range(10):
        values = np.linalg.svd(a @ b, compute_uv=False)
        beyond.append(values[width] / values[0])
        run = deep_linear.descend_factors(problem, a, b, 0.02, 30)
        a, b = run.a, run.b
    yield at_most(beyond, 1e-13, f"singular value {width + 1} of AB over the first, along training")
    yield at_least(run.losses, problem.level(range(width)), "loss in training, against the best of rank p")
    split = data.digits_split(train)
    seen = np.ptp(split.train_images, axis=0) > 0
    centre = split.train_images[:, seen].mean(0)
    x, x_test = ((part[:, seen] - centre).T for part in (split.train_images, split.test_images))
    indicators = np.eye(10)[split.train_labels].T
    share = indicators.mean(1, keepdims=True)
    digits = deep_linear.LinearProblem(x, indicators - share)
    widths = np.arange(10)
    maps = [digits.critical_map(range(p)) for p in widths]
    losses, levels = [digits.loss(w) for w in maps], [digits.level(range(p)) for p in widths]
    wrong = np.array([np.sum(np.argmax(w @ x_test + share, axis=0) != split.test_labels) for w in maps])
    errors = wrong / len(split.test_labels)
    yield close(losses, levels, "digits: loss of the truncated map, against the formula", rtol=1e-10)
    yield at_most(np.diff(levels), 0.0, "digits: change of the best loss with one more unit", strict=True)
    yield close(maps[9], digits.best_map, "digits: 9 units are enough for 10 shares that add up to 1", atol=1e-8)
    for p in (1, 3):
        yield at_least(wrong[p], wrong[9] + 1, f"digits: test images misread through {p} units, against 9")
    lines, points = {"(tr Σyy − λ₁ − … − λ_p)/2n": (widths, levels)}, {"of the map": (widths, losses)}
    best = figure.curves("best loss", "hidden units p", "loss on the training digits", lines=lines, points=points)
    points = {f"{len(split.test_labels)} images": (widths, errors)}
    misread = figure.curves("test error", "hidden units p", "share misread", points=points)
    title = f"Through 1, 3 and 9 units {errors[1]:.0%}, {errors[3]:.0%} and {errors[9]:.1%} of test digits are misread"
    yield figure.beside(title, best, misread)


@claim(sources=("penn",))
def block_optimal_factors(key, inputs: Int(3, 10) = 6, outputs: Int(3, 10) = 5, width: Int(1, 3) = 2):
    r"""Optimal factor given the other.

    For a given A of rank p the best B is (AᵀA)⁻¹AᵀL*, and for a given B of rank p the best A is $\Sigma_{yx} B^T (B
    \Sigma_{xx} B^T)^{-1}$. With dependent columns or rows the best factors form an affine family, from which the
    pseudo-inverse takes the one of least norm.

    $$B = (A^T A)^{-1} A^T \Sigma_{yx} \Sigma_{xx}^{-1}, \quad A = \Sigma_{yx} B^T (B \Sigma_{xx} B^T)^{-1}$$

    Assumes: $\Sigma_{xx}$ is invertible.

    Check: The given factors have singular values between 1 and 2; descent has step size 1/λ₁.
    """
    problem = deep_linear.random_problem(inputs, outputs, 20 * inputs, key=key)
    rng = data.generator(jax.random.fold_in(key, 1))
    stretch = np.linspace(1, 2, width)
    a = np.linalg.qr(rng.normal(size=(outputs, width)))[0] * stretch
    b = (np.linalg.qr(rng.normal(size=(inputs, width)))[0] * stretch).T
    best_b, best_a = deep_linear.best_encoder(problem, a), deep_linear.best_decoder(problem, b)
    size = np.abs(problem.sigma_yx).max() / problem.samples
    yield close(problem.factor_gradient(a, best_b)[1], 0.0, "gradient in B at its optimum", atol=1e-11 * size)
    yield close(problem.factor_gradient(best_a, b)[0], 0.0, "gradient in A at its optimum", atol=1e-11 * size)
    formula = np.linalg.solve(a.T @ a, a.T @ problem.best_map)
    yield close(best_b, formula, "best B for A, against (AᵀA)⁻¹AᵀL*", atol=1e-11 * np.abs(formula).max())
    formula = np.linalg.solve(b @ problem.sigma_xx @ b.T, b @ problem.sigma_yx.T).T
    yield close(best_a, formula, "best A for B, against ΣyxBᵀ(BΣxxBᵀ)⁻¹", atol=1e-9 * np.abs(formula).max())
    curvatures = np.outer(np.linalg.eigvalsh(a.T @ a), np.linalg.eigvalsh(problem.sigma_xx / problem.samples)).ravel()
    condition = curvatures.max() / curvatures.min()
    descended = np.zeros((width, inputs))
    for _ in range(min(int(25 * condition), 40_000)):
        descended = descended - problem.factor_gradient(a, descended)[1] / curvatures.max()
    what = "gradient descent in B alone: where it ends, against the best B"
    settled = close(descended, best_b, what, atol=1e-8 * np.abs(best_b).max())
    yield settled.given(condition < 1600, "condition number of the block below 1600")
    doubled = np.hstack([a, a[:, :1]])
    least = deep_linear.best_encoder(problem, doubled)
    null = np.zeros((width + 1, 1))
    null[[0, -1]] = [[1.0], [-1.0]]
    other = least + null @ rng.normal(size=(1, inputs))
    levels = [problem.factor_loss(doubled, f) for f in (least, other)]
    yield close(
        levels,
        problem.factor_loss(a, best_b),
        "A with a column twice: loss of the least-norm optimum and of another",
        rtol=1e-10,
    )
    what = "A with a column twice: norm of the least-norm optimum, against another"
    yield at_most(np.linalg.norm(least), np.linalg.norm(other), what)
    direction = rng.normal(size=(width, inputs))
    direction *= np.linalg.norm(best_b) / np.linalg.norm(direction)
    t = np.linspace(-1.5, 1.5, 31)
    curve = np.array([problem.factor_loss(a, best_b + u * direction) for u in t])
    bend = np.sum((a @ direction @ problem.sigma_xx) * (a @ direction)) / (2 * problem.samples)
    at_best = problem.factor_loss(a, best_b)
    parabola = at_best + bend * t**2
    yield close(curve, parabola, "loss along a line in B, against a parabola", rtol=1e-10)
    title = f"With A held the loss is a parabola in B; its lowest point, {at_best:.4g}, is at (AᵀA)⁻¹AᵀL*"
    along = "distance from the optimum along a random direction, in norms of B"
    lines, points, rules = {"l* + t²‖ADX‖²/2n": (t, parabola)}, {"loss": (t, curve)}, {"best B": ("x", 0.0)}
    yield figure.curves(title, along, "loss", lines=lines, points=points, rules=rules)


@method(sources=("penn",))
def alternating_least_squares(key, dim: Int(5, 12) = 6, width: Int(1, 4) = 2, ratio: Real(0.2, 0.75) = 0.66476):
    r"""Alternating least squares.

    The best B for A, then the best A for B, in turn: the loss never rises, and the tangent of the largest angle to the
    top-p eigenspace of Σ shrinks by the factor λₚ₊₁/λₚ per sweep, since the method is subspace iteration. At an exact
    saddle it stays.

    $$\operatorname{col}(A) \leftarrow \Sigma \operatorname{col}(A), \quad \tan \theta \leftarrow
    \frac{\lambda_{p+1}}{\lambda_p} \tan \theta$$

    Assumes: λₚ > λₚ₊₁; the start is not orthogonal to an eigenvector of the top p.

    Check: Σ has eigenvalues `ratio`ᵏ; the digits are those of the autoencoder with 4 units.
    """
    problem = deep_linear.random_problem(dim, dim, 20 * dim, key=key, spectrum=ratio ** np.arange(dim))
    start = data.generator(jax.random.fold_in(key, 1)).normal(size=(dim, width))
    run = deep_linear.alternate_factors(problem, start, sweeps=int(np.log(1e-11) / np.log(ratio)))
    factors = (run.tangents[1:] / run.tangents[:-1])[run.tangents[1:] > 1e-8]
    best = problem.level(range(width))
    yield at_most(factors, ratio, "factor of the tangent in every sweep, against λ_{p+1}/λ_p", rtol=1e-6)
    yield close(run.contraction(), ratio, "factor of the tangent in the end, against λ_{p+1}/λ_p", rtol=1e-4)
    yield at_most(np.diff(run.losses), 0.0, "change of the loss with every half sweep", atol=1e-13)
    yield close(run.losses[-1], best, "loss in the end, against the least", atol=1e-12)
    saddle = [*range(width - 1), width]  # the eigenvector p + 1 in place of p
    stuck = deep_linear.alternate_factors(problem, problem.eigenvectors[:, saddle], sweeps=3)
    yield close(stuck.losses, problem.level(saddle), "start at an exact saddle: loss over 3 sweeps", rtol=1e-10)
    digits = deep_linear.digits_autoencoder()
    begun, _ = deep_linear.gaussian_factors(digits, 4, 1.0, key=jax.random.key(0))  # one start for every key
    real = deep_linear.alternate_factors(digits, begun, sweeps=60)
    expected = digits.eigenvalues[4] / digits.eigenvalues[3]
    yield reference(expected, 0.687566, "digits, 4 units: λ₅/λ₄", digits=6)
    yield close(real.contraction(), expected, "digits: factor of the tangent in the end, against λ₅/λ₄", atol=1e-4)
    goal = best + 1e-6 * (problem.level([]) - best)
    needed = _steps_needed(problem, start, goal)
    sweeps = (np.argmax(run.losses <= goal) + 2) // 2
    yield at_most(run.losses.min(), goal, "least loss of alternation, against a millionth of the excess")
    yield at_least(
        min(needed.values()), sweeps, "steps of gradient descent or Adam to a millionth of the excess, against sweeps"
    )
    title = f"Digits, 4 units: the angle shrinks by {real.contraction():.5f} a sweep, λ₅/λ₄ = {expected:.5f}"
    times = np.arange(61)
    lines = {"λ₅/λ₄ a sweep": (times, real.tangents[50] * expected ** (times - 50.0))}
    points = {"digits": (times, real.tangents)}
    yield figure.curves(title, "sweep", "tangent of the largest angle", lines=lines, points=points, log="y")


def _steps_needed(problem, a, goal, most=8000):
    """Steps from A of norm 0.3 and B = Aᵀ to the goal: gradient descent with a safe step, Adam with 0.02."""
    a = a * (0.3 / np.linalg.norm(a, 2))
    widest = float(np.linalg.eigvalsh(problem.sigma_xx)[-1] / problem.samples)
    step = 0.4 / (widest * float(np.linalg.norm(problem.best_map, 2)))
    plain, part, run = 0, 500, None
    while run is None or (run.losses[-1] > goal and plain < most):
        run = deep_linear.descend_factors(problem, *((run.a, run.b) if run else (a, a.T)), step, part)
        plain += int(np.argmax(run.losses <= goal)) if run.losses[-1] <= goal else part

    def loss(factors, x, y):
        return jnp.sum((y - factors[0] @ factors[1] @ x) ** 2) / (2 * x.shape[1])

    objective, start = optimisation.flat_objective(loss, (jnp.asarray(a), jnp.asarray(a.T)), problem.x, problem.y)
    adam, _ = optimisation.steps_to_reach(objective, optax.adam(0.02), start, goal, most)
    return {"GD": plain, "Adam": int(adam)}
