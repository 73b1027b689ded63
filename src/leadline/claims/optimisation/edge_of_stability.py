"""Directions and step sizes of gradient descent: the steepest direction, the five regimes, the edge of stability."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, optimisation
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import Choice, Range, assume, at_least, at_most, claim, close, exactly, figure


@claim(
    "steepest-descent-direction",
    says=(
        "The best direction for a short step tends to −g/‖g‖ as the step shrinks; to first order it is turned "
        "from it by η‖PHu‖/‖g‖. In other norms the steepest directions differ: −sign(g) for ℓ∞, one coordinate for ℓ₁."
    ),
    formula=r"\min_{\|v\| = 1} l(w + \eta v): \quad v \to u = -g/\|g\|, \qquad \text{angle} \approx "
    r"\eta\,\|(I - u u^\top) H u\|/\|g\|",
    sources=("sheet",),
    assumes=("g ≠ 0", "l is twice differentiable"),
)
def steepest_descent_direction(
    key,
    mixed: Annotated[float, Range(-3.0, 3.0)] = 1.0,
    steep: Annotated[float, Range(2.0, 30.0)] = 10.0,
    first: Annotated[float, Range(0.5, 2.0)] = 1.0,
    second: Annotated[float, Range(-1.0, 1.0)] = 0.3,
):
    """H = [[1, mixed], [mixed, steep]], w = (first, second); the minimiser on each circle by Brent's root."""
    from scipy.optimize import brentq

    hessian = np.array([[1.0, mixed], [mixed, steep]])
    w = np.array([first, second])
    g = hessian @ w
    norm = np.linalg.norm(g)
    assume(norm > 0.3, "g is not 0")
    u = -g / norm
    across = np.array([-u[1], u[0]])
    turn = across @ hessian @ u / norm  # per unit of step, with its sign
    etas = np.array([1e-1, 1e-2, 1e-3, 1e-4]) * min(1.0, 4 * norm / np.linalg.norm(hessian, 2))
    apart = min(np.abs(g)) > 0.02 * norm and abs(abs(g[0]) - abs(g[1])) > 0.02 * norm

    def slope(angle: float, eta: float) -> float:
        v, side = np.cos(angle) * u + np.sin(angle) * across, np.cos(angle) * across - np.sin(angle) * u
        return float(g @ side + eta * side @ hessian @ v)

    angles = np.array([brentq(slope, -1.2, 1.2, args=(eta,), xtol=1e-15, rtol=8.9e-16) for eta in etas])
    errors = np.abs(angles + etas * turn)  # the minimiser turns against the sign of uᵀ⊥Hu
    relative = etas * np.linalg.norm(hessian, 2) / norm
    yield at_most(errors, 2 * relative**2, "angle minus η‖PHu‖/‖g‖, against 2(η‖H‖/‖g‖)²", atol=1e-14)
    yield at_most(errors[1:], 0.03 * errors[:-1], "the same at one tenth of the step: second order", atol=1e-13)

    directions = {"l2": 2.0, "l∞": 1.0, "l1": np.inf}  # the exponent of the dual norm
    turns = np.linspace(0, 2 * np.pi, 40_001)
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for name, dual in directions.items():
        order = {"l2": 2.0, "l∞": np.inf, "l1": 1.0}[name]
        ball = circle / np.linalg.norm(circle, ord=order, axis=1, keepdims=True)
        moved = w + etas[-1] * ball
        best = ball[np.argmin(np.sum(moved @ hessian * moved, axis=1))]
        steepest = -np.asarray(networks.dual_maximiser(g, dual))
        what = f"best of 40 000 directions of unit {name} norm"
        yield close(best, steepest, what, atol=2e-3).given(apart or name == "l2", "g is away from axes and diagonals")
    shown = np.array([1.0, 0.3, 0.1, 0.03]) * norm / np.linalg.norm(hessian, 2)
    ends = []
    for eta in shown:
        ball = w + eta * circle
        ends.append(ball[np.argmin(np.sum(ball @ hessian * ball, axis=1))])
    side = 1.15 * shown[0]
    far = w + 1.1 * shown[0] * u
    yield figure.plane(
        f"On shrinking circles the lowest point approaches −g: {np.degrees(abs(angles[0])):.2g}° off at η = "
        f"{etas[0]:.2g}, {np.degrees(abs(angles[2])):.2g}° at {etas[2]:.2g}",
        x="w₁", y="w₂",
        lines={f"η = {eta:.2g}": (w[0] + eta * circle[::400, 0], w[1] + eta * circle[::400, 1]) for eta in shown},
        points={"lowest on each circle": np.array(ends)}, arrows={"−g": (tuple(w), tuple(far))},
        domain=((w[0] - side, w[0] + side), (w[1] - side, w[1] + side)),
    )  # fmt: skip


@claim(
    "gd-step-size-regimes",
    says=(
        "On a parabola of curvature λ gradient descent is monotone for ηλ < 1, ends in one step at 1, "
        "alternates up to 2, cycles at 2 and diverges beyond, by the factor |1 − ηλ| per step. On a quadratic "
        "it converges from every start iff 0 < η < 2/L."
    ),
    formula=r"w^{t+1} = (1 - \eta\lambda)\, w^t, \qquad \text{convergence from every start} \iff 0 < \eta < 2/L",
    sources=("penn", "eth", "sheet"),
    assumes=("l is quadratic", "m > 0"),
)
def gd_step_size_regimes(
    key,
    product: Annotated[float, Range(0.05, 2.5)] = 1.8,
    curvature: Annotated[float, Range(0.01, 100.0, log=True)] = 2.0,
    condition: Annotated[float, Range(2.0, 500.0, log=True)] = 50.0,
    dimension: Annotated[int, Range(2, 20)] = 6,
):
    """`product` is ηλ of the run that is drawn. The limit is sought among 401 steps around 2/L in 4000 iterations."""
    rng = data.generator(key)
    grid = np.concatenate([np.linspace(0.05, 2.5, 50), [1.0, 2.0]])
    factors, seen, told = [], [], []
    for value in grid:
        eta, w = value / curvature, np.empty(12)
        w[0] = 1.0
        for t in range(11):
            w[t + 1] = w[t] - eta * curvature * w[t]
        factors.append(np.abs(w[1] / w[0]))
        seen.append(optimisation.observed_regime(w))
        told.append(optimisation.step_regime(eta, curvature))
    yield close(factors, np.abs(1 - grid), "factor per step against |1 − ηλ|", atol=1e-12)
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
    word = optimisation.step_regime(product, 1.0, tolerance=1e-9)
    yield figure.curves(
        f"At ηλ = {product:g} descent is {word}: each step multiplies w by {1 - product:.3g}",
        x="w", y="(λ/2) w²",
        lines={"parabola": (xs, curvature * xs**2 / 2), "path": (bounce, curvature * bounce**2 / 2)},
        points={"iterates": (bounce, curvature * bounce**2 / 2)},
    )  # fmt: skip


def _squared(net, x, targets):
    return jnp.mean(jnp.sum((jax.vmap(net)(x) - targets) ** 2, axis=1)) / 2


def _cross_entropy(net, x, targets):
    return jnp.mean(optax.softmax_cross_entropy(jax.vmap(net)(x), targets))


@claim(
    "edge-of-stability",
    says=(
        "Finding, beyond what the descent lemma covers: full-batch gradient descent on a network with squared "
        "loss sharpens until the largest Hessian eigenvalue is about 2/η and stays there, while the loss still "
        "falls over long times, though not at every step."
    ),
    formula=r"\eta\,\lambda_{\max}(H(w_t)) \to\ \approx 2",
    sources=("eth", "sheet"),
    assumes=("squared loss, full batches, fixed η", "long enough runs"),
    empirical=True,
)
def edge_of_stability(
    key,
    eta: Annotated[float, Range(0.5, 0.9)] = 0.6,
    width: Annotated[int, Range(24, 64)] = 32,
    samples: Annotated[int, Range(80, 200)] = 100,
    steps: Annotated[int, Range(2000, 6000, log=True)] = 2000,
    loss: Annotated[str, Choice("squared", "cross-entropy")] = "squared",
):
    """Digits minus their mean, tanh network 64-width-10, weights N(0, 1/fan-in); λ_max by Lanczos at 21 times."""
    images, labels = data.digits()
    rng = data.generator(key)
    rows = rng.permutation(len(labels))[:samples]
    x, y = jnp.asarray(images[rows] - images.mean(axis=0)), jnp.asarray(np.eye(10)[labels[rows]])
    net = drawn(rng, networks.MLP, (64, width, 10), "tanh", gain=1.0, bias_scale=0.0)
    squared = loss == "squared"
    path = optimisation.sharpness_path(
        _squared if squared else _cross_entropy, net, x, y, step=eta, steps=steps, every=steps // 20
    )
    late = path.stability[10:]
    only = "squared loss; the cross-entropy leaves the edge late"
    yield at_least(np.median(late), 1.9, "η λ_max, median of the second half").given(squared, only)
    yield at_most(np.median(late), 2.15, "η λ_max, median of the second half").given(squared, only)
    half = len(path.losses) // 2
    yield at_most(path.losses[-1], path.losses[half], "loss at the end against that half way")
    rises = int(np.sum(np.diff(path.losses[half:]) > 0))
    yield at_least(rises, 1, "steps of the second half at which the loss rises").given(squared, only)
    times = np.arange(len(path.losses))[:: max(1, len(path.losses) // 200)]
    yield figure.beside(
        f"η λ_max ends at {path.stability[-1]:.3g} (η = {eta:g}); the loss falls from {path.losses[half]:.2g} "
        f"half way to {path.losses[-1]:.2g}, rising at {rises} of {len(path.losses) - half} steps",
        figure.curves(
            "sharpness", x="step", y="largest Hessian eigenvalue",
            lines={"2/η": (path.times, np.full(len(path.times), 2 / eta))},
            points={"λ_max": (path.times, path.sharpness)},
        ),
        figure.curves(f"{loss} loss", x="step", y="loss", points={"loss": (times, path.losses[times])}, log="y"),
    )  # fmt: skip
