"""The forms in which heavy ball and Nesterov's method are written, and how hyper-parameters go from one to another.

Each form runs in NumPy on any gradient, with a step and a momentum for every t (arrays of one length), and returns the
points w⁰ … w^T. With constant numbers all forms of a method are one; with changing ones `convert_schedule` is needed.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float

from leadline._checks import require_numbers

Numbers = Float[np.ndarray, " steps"]
Gradient = Callable[[np.ndarray], np.ndarray]
Points = Float[np.ndarray, "points ..."]


class Schedule(NamedTuple):
    """η_t and ρ_t for t = 0, 1, …."""

    steps: Numbers
    momenta: Numbers


def constant_schedule(step_size: float, momentum: float, length: int) -> Schedule:
    """η and ρ, `length` times.

    >>> constant_schedule(0.5, 0.9, 2).momenta.tolist()
    [0.9, 0.9]
    """
    return Schedule(np.full(length, float(step_size)), np.full(length, float(momentum)))


def growing_schedule(step_size: float, length: int, *, first: int = 1) -> Schedule:
    """η and ρ_t = (t − 1)/(t + 2), with ρ_0 = 0; `first` as in `GrowingMomentum`.

    >>> growing_schedule(1.0, 5).momenta.tolist()
    [0.0, 0.0, 0.25, 0.4, 0.5]
    """
    t = np.arange(length) + first - 1.0
    return Schedule(np.full(length, float(step_size)), np.maximum(t - 1, 0) / (t + 2))


def heavy_ball_one_line(
    gradient: Gradient, start: np.ndarray, schedule: Schedule, *, velocity: np.ndarray | float = 0.0
) -> Points:
    """wᵗ⁺¹ = wᵗ − η_t g(wᵗ) + ρ_t (wᵗ − wᵗ⁻¹), w⁻¹ = w⁰ − `velocity`.

    >>> heavy_ball_one_line(lambda w: w, np.ones(1), constant_schedule(0.5, 0.5, 2))[:, 0].tolist()
    [1.0, 0.5, 0.0]
    """
    require_numbers("heavy_ball_one_line", start=start)
    points, before = [np.asarray(start, float)], np.asarray(start, float) - velocity
    for step, momentum in zip(*schedule, strict=True):
        w = points[-1]
        points.append(w - step * gradient(w) + momentum * (w - before))
        before = w
    return np.stack(points)


def heavy_ball_two_line(gradient: Gradient, start: np.ndarray, schedule: Schedule) -> Points:
    """uᵗ = (1 + ρ) wᵗ − ρ wᵗ⁻¹, wᵗ⁺¹ = uᵗ − η g(wᵗ): the point is carried on, the gradient is not taken there."""
    points, before = [np.asarray(start, float)], np.asarray(start, float)
    for step, momentum in zip(*schedule, strict=True):
        w = points[-1]
        ahead = (1 + momentum) * w - momentum * before
        points.append(ahead - step * gradient(w))
        before = w
    return np.stack(points)


def heavy_ball_velocity(gradient: Gradient, start: np.ndarray, schedule: Schedule) -> Points:
    """u ← ρu − g(w), w ← w + ηu, u⁰ = 0: Optax's trace and PyTorch's SGD, up to the sign of u."""
    points, u = [np.asarray(start, float)], np.zeros_like(start, dtype=float)
    for step, momentum in zip(*schedule, strict=True):
        u = momentum * u - gradient(points[-1])
        points.append(points[-1] + step * u)
    return np.stack(points)


def heavy_ball_average(gradient: Gradient, start: np.ndarray, schedule: Schedule) -> Points:
    """u ← ρu + (1 − ρ) g(w), w ← w − ηu, u⁰ = 0: an exponential average of gradients, Adam's first moment."""
    points, u = [np.asarray(start, float)], np.zeros_like(start, dtype=float)
    for step, momentum in zip(*schedule, strict=True):
        u = momentum * u + (1 - momentum) * gradient(points[-1])
        points.append(points[-1] - step * u)
    return np.stack(points)


def nesterov_two_line(gradient: Gradient, start: np.ndarray, schedule: Schedule) -> Points:
    """yᵗ = wᵗ + ρ_t (wᵗ − wᵗ⁻¹), wᵗ⁺¹ = yᵗ − η_t g(yᵗ), w⁻¹ = w⁰.

    >>> nesterov_two_line(lambda w: w, np.ones(1), constant_schedule(0.5, 0.5, 2))[:, 0].tolist()
    [1.0, 0.5, 0.125]
    """
    require_numbers("nesterov_two_line", start=start)
    points, before = [np.asarray(start, float)], np.asarray(start, float)
    for step, momentum in zip(*schedule, strict=True):
        w = points[-1]
        ahead = w + momentum * (w - before)
        points.append(ahead - step * gradient(ahead))
        before = w
    return np.stack(points)


def nesterov_velocity(gradient: Gradient, start: np.ndarray, schedule: Schedule) -> Points:
    """u ← ρu − g(w + ηρu), w ← w + ηu, u⁰ = 0."""
    points, u = [np.asarray(start, float)], np.zeros_like(start, dtype=float)
    for step, momentum in zip(*schedule, strict=True):
        u = momentum * u - gradient(points[-1] + step * momentum * u)
        points.append(points[-1] + step * u)
    return np.stack(points)


def nesterov_library(gradient: Gradient, start: np.ndarray, schedule: Schedule) -> Points:
    """buf ← ρ buf + g(y), y ← y − η(g + ρ buf): Optax's and PyTorch's form; its points are the look-ahead points yᵗ."""
    points, buf = [np.asarray(start, float)], np.zeros_like(start, dtype=float)
    for step, momentum in zip(*schedule, strict=True):
        g = gradient(points[-1])
        buf = momentum * buf + g
        points.append(points[-1] - step * (g + momentum * buf))
    return np.stack(points)


def look_ahead_points(points: Points, momentum: float) -> Points:
    """yᵗ = wᵗ + ρ(wᵗ − wᵗ⁻¹) of a Nesterov run, y⁰ = w⁰.

    >>> look_ahead_points(np.array([[1.0], [0.5]]), 0.5)[:, 0].tolist()
    [1.0, 0.25]
    """
    return points + momentum * np.diff(points, axis=0, prepend=points[:1])


HEAVY_BALL_FORMS = {"one line": heavy_ball_one_line, "two lines": heavy_ball_two_line, "velocity": heavy_ball_velocity}


def convert_schedule(schedule: Schedule, source: str, target: str) -> Schedule:
    """The numbers with which form `target` of heavy ball takes the steps that `source` takes with `schedule`.

    "displacement" (one and two lines): Δ_t = ρ_t Δ_{t−1} − η_t g. "velocity" (Optax, PyTorch): u ← ρu + g, Δ = −ηu, so
    its displacement momentum is ρ_t η_t/η_{t−1}. "average" (u ← ρu + (1 − ρ)g): η is 1/(1 − ρ) times larger.

    >>> dropped = Schedule(np.array([0.1, 0.1, 0.01]), np.array([0.9, 0.9, 0.9]))
    >>> [round(r, 3) for r in convert_schedule(dropped, "displacement", "velocity").momenta.tolist()]
    [0.9, 0.9, 9.0]
    >>> [round(h, 3) for h in convert_schedule(constant_schedule(0.1, 0.9, 1), "velocity", "average").steps.tolist()]
    [1.0]
    """
    for form in (source, target):
        if form not in ("displacement", "velocity", "average"):
            raise ValueError(f"form is {form!r}; give 'displacement', 'velocity' or 'average'.")
    steps, momenta = (np.asarray(part, float) for part in schedule)
    if steps.shape != momenta.shape or steps.ndim != 1 or not steps.size:
        raise ValueError(f"steps {steps.shape} and momenta {momenta.shape} differ; give two vectors of one length.")
    if source != "displacement":
        before = np.concatenate([steps[:1], steps[:-1]])
        scale = np.ones_like(momenta) if source == "velocity" else 1 - momenta
        steps, momenta = steps * scale, momenta * steps / before
    if target == "velocity":
        momenta = momenta * np.concatenate([steps[:1], steps[:-1]]) / steps
    elif target == "average":
        lengths = [steps[0] / (1 - momenta[0])]
        for step, momentum in zip(steps, momenta, strict=True):
            lengths.append(step + momentum * lengths[-1])
        lengths = np.array(lengths)
        steps, momenta = lengths[1:], momenta * lengths[:-1] / lengths[1:]
    return Schedule(steps, momenta)


def as_optax_sgd(schedule: Schedule, *, nesterov: bool = False) -> optax.GradientTransformation:
    """optax.sgd that takes the steps of `heavy_ball` (or of `nesterov`, at its look-ahead points) with these numbers.

    Optax rescales the displacement when its learning rate changes, so the momentum is converted. After the last t the
    last numbers go on. Nesterov's method needs constant numbers: Optax has one momentum for two places.

    >>> rule = as_optax_sgd(constant_schedule(0.5, 0.5, 1))
    >>> state = rule.init(jnp.zeros(1))
    >>> change, state = rule.update(jnp.array([2.0]), state)
    >>> rule.update(jnp.array([2.0]), state)[0].tolist()
    [-1.5]
    """
    changing = any(len(np.unique(part)) > 1 for part in schedule)
    if nesterov and changing:
        raise ValueError(
            "optax.sgd(nesterov=True) is Nesterov's method for constant numbers only; use `nesterov` itself."
        )
    if not changing:
        return optax.sgd(float(schedule.steps[0]), momentum=float(schedule.momenta[0]), nesterov=nesterov)
    steps, momenta = (jnp.asarray(part) for part in convert_schedule(schedule, "displacement", "velocity"))
    # The conversion of a change lasts one step: what goes on is the last momentum itself.
    steps, momenta = jnp.append(steps, steps[-1]), jnp.append(momenta, schedule.momenta[-1])
    return optax.inject_hyperparams(optax.sgd)(
        learning_rate=lambda t: steps[jnp.minimum(t, len(steps) - 1)],
        momentum=lambda t: momenta[jnp.minimum(t, len(momenta) - 1)],
    )
