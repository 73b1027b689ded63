"""Directions and step sizes of gradient descent: the steepest direction, the five regimes, the edge of stability."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, optimisation
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.claims.scenarios.optimisation.small_networks import half_squared_error
from leadline.evidence import Int, OneOf, Real, assume, at_least, at_most, claim, close, exactly
from leadline.optimisation.bounds.step_regimes import observed_regime, step_regime
from leadline.presentation import figure


@claim(sources=("sheet",))
def steepest_descent_direction(
    key,
    mixed: Real(-3.0, 3.0) = 1.0,
    steep: Real(2.0, 30.0) = 10.0,
    first: Real(0.5, 2.0) = 1.0,
    second: Real(-1.0, 1.0) = 0.3,
):
    r"""Steepest descent depends on the norm.

    The best direction for a short step tends to u = −g/‖g‖ as the step shrinks; to first order it is turned from it by
    the angle η‖PHu‖/‖g‖, where P = I − uuᵀ. In other norms the steepest directions differ: −sign(g) for ℓ∞, one
    coordinate for ℓ₁.

    $$\min_{\|v\| = 1} l(w + \eta v): \quad v \to u = -g/\|g\|, \qquad \text{angle} \approx \eta\,\|(I - u u^\top) H
    u\|/\|g\|$$

    Assumes: g ≠ 0; l is twice differentiable.

    Check: The Hessian H has the diagonal (1, `steep`) and the off-diagonal entry `mixed`, and w = (`first`, `second`);
    the minimiser on each circle is found by Brent's root finder.
    """
    from scipy.optimize import brentq

    hessian = np.array([[1.0, mixed], [mixed, steep]])
    w = np.array([first, second])
    g = hessian @ w
    norm = np.linalg.norm(g)
    assume(norm > 0.3, "g is not 0")
    u = -g / norm
    across = np.array([-u[1], u[0]])
    turn = across @ hessian @ u / norm  # per unit of step, with its sign
    size = np.linalg.norm(hessian, 2)
    etas = np.array([1e-1, 1e-2, 1e-3, 1e-4]) * min(1.0, 4 * norm / size)
    apart = min(np.abs(g)) > 0.02 * norm and abs(abs(g[0]) - abs(g[1])) > 0.02 * norm

    def slope(angle: float, eta: float) -> float:
        v, side = np.cos(angle) * u + np.sin(angle) * across, np.cos(angle) * across - np.sin(angle) * u
        return float(g @ side + eta * side @ hessian @ v)

    angles = np.array([brentq(slope, -1.2, 1.2, args=(eta,), xtol=1e-15, rtol=8.9e-16) for eta in etas])
    errors = np.abs(angles + etas * turn)  # the minimiser turns against the sign of uᵀ⊥Hu
    what = "angle minus η‖PHu‖/‖g‖"
    yield at_most(errors, 2 * (etas * size / norm) ** 2, f"{what}, against 2(η‖H‖/‖g‖)²", atol=1e-14)
    yield at_most(errors[1:], 0.03 * errors[:-1], f"{what} at one tenth of the step: second order", atol=1e-13)
    turns = np.linspace(0, 2 * np.pi, 40_001)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=1)

    def lowest(ball: np.ndarray, eta: float) -> int:
        moved = w + eta * ball
        return np.argmin(np.sum(moved @ hessian * moved, axis=1))

    for name, order, dual in (("ℓ₂", 2.0, 2.0), ("ℓ∞", np.inf, 1.0), ("ℓ₁", 1.0, np.inf)):
        ball = circle / np.linalg.norm(circle, ord=order, axis=1, keepdims=True)
        best, steepest = ball[lowest(ball, etas[-1])], -np.asarray(networks.dual_maximiser(g, dual))
        right = close(best, steepest, f"best of 40 000 directions of unit {name} norm", atol=2e-3)
        yield right.given(apart or name == "ℓ₂", "g is away from axes and diagonals")
    radii = np.array([1.0, 0.3, 0.1, 0.03]) * norm / size
    lines = {f"η = {eta:.2g}": tuple((w + eta * circle[::400]).T) for eta in radii}
    points = {"lowest on each circle": [w + eta * circle[lowest(circle, eta)] for eta in radii]}
    off = ", ".join(f"{np.degrees(abs(angles[i])):.2g}° off at η = {etas[i]:.2g}" for i in (0, 2))
    title, arrows = f"On shrinking circles the lowest point approaches −g: {off}", {"−g": (w, w + 1.1 * radii[0] * u)}
    domain = tuple((c - 1.15 * radii[0], c + 1.15 * radii[0]) for c in w)
    yield figure.plane(title, "w₁", "w₂", lines=lines, points=points, arrows=arrows, domain=domain)


@claim(sources=("penn", "eth", "sheet"))
def gd_step_size_regimes(
    key,
    product: Real(0.05, 2.5) = 1.8,
    curvature: Real(0.01, 100.0, log=True) = 2.0,
    condition: Real(2.0, 500.0, log=True) = 50.0,
    dimension: Int(2, 20) = 6,
):
    r"""Step-size regimes of gradient descent.

    On a parabola of curvature λ, gradient descent is monotone for ηλ < 1, ends in one step at 1, alternates up to 2,
    cycles at 2 and diverges beyond, with the factor |1 − ηλ| per step. On a quadratic it converges from every start if
    and only if 0 < η < 2/L.

    $$w^{t+1} = (1 - \eta\lambda)\, w^t, \qquad \text{convergence from every start} \iff 0 < \eta < 2/L$$

    Assumes: l is quadratic; m > 0.

    Check: The parameter `product` is ηλ of the run that is drawn. The limit is sought among 401 step sizes around 2/L,
    with 4000 iterations each.
    """
    rng = data.generator(key)
    grid = np.concatenate([np.linspace(0.05, 2.5, 50), [1.0, 2.0]])
    etas, w = grid / curvature, [np.ones(len(grid))]
    for _ in range(11):
        w.append(w[-1] - etas * curvature * w[-1])
    seen = [observed_regime(path) for path in np.transpose(w)]
    told = [step_regime(eta, curvature) for eta in etas]
    yield close(np.abs(w[1] / w[0]), np.abs(1 - grid), "factor per step against |1 − ηλ|", atol=1e-12)
    yield exactly(seen, told, f"regime seen against the one predicted, {len(grid)} step sizes")
    values, start = np.geomspace(1.0, condition, dimension), rng.normal(size=dimension)
    start[-1] = start[-1] or 1.0
    etas = np.linspace(1.98, 2.02, 401) / condition
    w = np.tile(start, (401, 1))
    for t in range(4000):
        if t == 3000:
            before = np.linalg.norm(w, axis=1)
        w = w - etas[:, None] * values * w
    grows = np.linalg.norm(w, axis=1) > before
    yield exactly(np.diff(grows.astype(int)).sum(), 1, "sign changes between convergence and divergence")
    yield close(etas[np.argmax(grows)] * condition, 2.0, "first diverging η times L", rtol=1e-3)
    bounce = (1 - product) ** np.arange(9.0)
    side = 1.15 * max(1.0, np.abs(bounce).max())
    xs = np.linspace(-side, side, 201)
    word = step_regime(product, 1.0, tolerance=1e-9)
    path = (bounce, curvature * bounce**2 / 2)
    title = f"At ηλ = {product:g} descent is {word}: each step multiplies w by {1 - product:.3g}"
    lines = {"parabola": (xs, curvature * xs**2 / 2), "path": path}
    yield figure.curves(title, "w", "(λ/2) w²", lines=lines, points={"iterates": path})


def _cross_entropy(net, x, targets):
    return jnp.mean(optax.softmax_cross_entropy(jax.vmap(net)(x), targets))


@claim(sources=("eth", "sheet"), empirical=True)
def edge_of_stability(
    key,
    eta: Real(0.5, 0.9) = 0.6,
    width: Int(24, 64) = 32,
    samples: Int(80, 200) = 100,
    num_steps: Int(2000, 6000, log=True) = 2000,
    loss: OneOf("squared", "cross-entropy") = "squared",
):
    r"""Edge of stability.

    An empirical finding, beyond what the descent lemma covers: full-batch gradient descent on a network with squared
    loss sharpens until the largest Hessian eigenvalue is about 2/η and stays there, while the loss still falls over
    long times, though not at every step.

    $$\eta\,\lambda_{\max}(H(w_t)) \to\ \approx 2$$

    Assumes: squared loss, full batches and fixed η; long enough runs.

    Check: The data are digits minus their mean, and the network is a tanh network with 64 inputs, `width` hidden units
    and 10 outputs, its weights drawn from N(0, 1/fan-in); $\lambda_{\max}$ is computed by Lanczos iteration at 21
    times.
    """
    images, labels = data.digits()
    rng = data.generator(key)
    rows = rng.permutation(len(labels))[:samples]
    x, y = jnp.asarray(images[rows] - images.mean(axis=0)), jnp.asarray(np.eye(10)[labels[rows]])
    net = drawn(rng, networks.MLP, (64, width, 10), "tanh", gain=1.0, bias_scale=0.0)
    squared, options = loss == "squared", {"step_size": eta, "num_steps": num_steps, "every": num_steps // 20}
    path = optimisation.sharpness_path(half_squared_error if squared else _cross_entropy, net, x, y, **options)
    late, losses, half = np.median(path.stability[10:]), path.losses, len(path.losses) // 2
    only = "squared loss; the cross-entropy leaves the edge late"
    yield at_least(late, 1.9, "η λ_max, median of the second half, against 1.9").given(squared, only)
    yield at_most(late, 2.15, "η λ_max, median of the second half, against 2.15").given(squared, only)
    yield at_most(losses[-1], losses[half], "loss at the end against that half way")
    rises = np.sum(np.diff(losses[half:]) > 0)
    yield at_least(rises, 1, "steps of the second half at which the loss rises").given(squared, only)
    falls = f"the loss falls from {losses[half]:.2g} half way to {losses[-1]:.2g}"
    title = f"η λ_max ends at {path.stability[-1]:.3g}; {falls}, rising at {rises} of {len(losses) - half} steps"
    lines, points = {"2/η": (path.times[[0, -1]], [2 / eta] * 2)}, {"λ_max": (path.times, path.sharpness)}
    fallen = {"loss": (np.arange(len(losses)), losses)}
    yield figure.beside(
        title,
        figure.curves("sharpness", "step", "largest Hessian eigenvalue", lines=lines, points=points),
        figure.curves(f"{loss} loss", "step", "loss", points=fallen, log="y"),
    )
