"""Heavy ball and Nesterov's method, and the forms they are written in."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.claims.optimisation.momentum_problems import logistic_problem
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    claim,
    close,
    figure,
    method,
    printed,
)


def optax_nesterov(learning_rate, momentum):
    return optax.sgd(learning_rate, momentum, nesterov=True)


@method(
    "heavy-ball",
    says=(
        "Heavy ball adds to the gradient step a part ρ of the last displacement, with ρ in [0, 1): one more buffer. "
        "ρ = 0 is gradient descent; along an eigenvector of a quadratic it is a power of a 2 × 2 matrix."
    ),
    formula=r"w^{t+1} = w^t - \eta\, g(w^t) + \rho\,(w^t - w^{t-1}), \quad w^{-1} = w^0",
    sources=("eth", "sheet", "penn"),
    assumes=("0 ≤ ρ < 1",),
    shows=(
        "optimisation.heavy_ball",
        "optimisation.heavy_ball_tuning",
        "optimisation.companion",
        "optimisation.mode_path",
    ),
)
def heavy_ball(
    key,
    condition: Annotated[float, Range(1.5, 1e4, log=True)] = 20.0,
    scaled_step: Annotated[float, Range(0.05, 1.9)] = 0.3,
    momentum: Annotated[float, Range(0.0, 0.98)] = 0.7,
):
    """A quadratic in the plane with curvatures 1 and κ, in a random basis; η = scaled_step/L."""
    angle = data.generator(key).uniform(0, 2 * np.pi)
    basis = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    bowl = optimisation.spread_quadratic(2, condition, rotation=basis)
    start, steps, step = jnp.asarray(basis @ np.array([1.0, 0.6])), 120, scaled_step / condition
    ours = np.asarray(optimisation.descend(bowl, optimisation.heavy_ball(step, momentum), start, steps).points)
    rule = optimisation.tunable(optax.sgd, learning_rate=step, momentum=momentum)
    theirs = np.asarray(optimisation.descend(bowl, rule, start, steps).points)
    yield close(ours, theirs, "points, against Optax's trace (velocity form)", atol=1e-9)
    modes = ours @ basis
    for i, curvature in enumerate((1.0, condition)):
        powers = modes[0, i] * optimisation.mode_path("heavy ball", step * curvature, momentum, steps)
        yield close(modes[:, i], powers, f"mode λ = {curvature:.4g}, against powers of the matrix", atol=1e-9)
    plain = np.asarray(optimisation.descend(bowl, optimisation.heavy_ball(step, 0.0), start, steps).points) @ basis
    factors = (1 - step * np.array([1.0, condition])) ** np.arange(steps + 1)[:, None]
    yield close(plain, modes[0] * factors, "ρ = 0, against gradient descent", atol=1e-9)
    best = optimisation.heavy_ball_tuning(condition, 1.0)
    radius = optimisation.worst_factor("heavy ball", *best, condition, 1.0)
    yield close(radius, np.sqrt(best.momentum), "factor of the tuning for quadratics, against √ρ", atol=1e-6)

    schedule = optimisation.constant_schedule(scaled_step, 1.0, 2000)
    forever = optimisation.heavy_ball_one_line(lambda w: w, np.ones(1), schedule)
    yield printed(
        at_most(np.max(np.abs(forever[1000:])), 0.5, "|w|/|w⁰| in steps 1000 to 2000 with ρ = 1, along λ = L"),
        "eth", "ρ in [0, 1]",
    )  # fmt: skip
    t = 4
    push = -step * np.asarray(bowl.gradient(jnp.asarray(ours[t])))
    carry = momentum * (ours[t] - ours[t - 1])
    middle, half = (ours[:40].min(axis=0) + ours[:40].max(axis=0)) / 2, 0.55 * np.max(np.ptp(ours[:40], axis=0))
    yield figure.plane(
        f"Step {t + 1} is the gradient step plus ρ = {momentum:.2g} times the last displacement",
        x="w₁",
        y="w₂",
        points={"points wᵗ": ours[:40]},
        lines={"path": (ours[:40, 0], ours[:40, 1])},
        arrows={"− η g": (ours[t], ours[t] + push), "ρ (wᵗ − wᵗ⁻¹)": (ours[t] + push, ours[t] + push + carry)},
        domain=((middle[0] - half, middle[0] + half), (middle[1] - half, middle[1] + half)),
    )


@method(
    "nesterov-accelerated-gradient",
    says=(
        "Nesterov's method first moves on by ρ times the last displacement and takes the gradient there. ρ is "
        "(√κ − 1)/(√κ + 1), or (t − 1)/(t + 2) where m is not known; the loss may ripple, and a restart stops that."
    ),
    formula=r"y^t = w^t + \rho_t (w^t - w^{t-1}), \quad w^{t+1} = y^t - \eta\, g(y^t)",
    sources=("eth", "sheet", "penn"),
    assumes=("η ≤ 1/L",),
    shows=(
        "optimisation.nesterov",
        "optimisation.nesterov_growing",
        "optimisation.GrowingMomentum",
        "optimisation.nesterov_tuning",
        "optimisation.measured_factor",
        "optimisation.growing_schedule",
    ),
)
def nesterov_accelerated_gradient(
    key,
    condition: Annotated[float, Range(20.0, 2000.0, log=True)] = 200.0,
    scaled_step: Annotated[float, Range(0.3, 1.0)] = 1.0,
    momentum: Annotated[float, Range(0.0, 0.98)] = 0.8,
    restart: Annotated[str, Choice("gradient", "function")] = "gradient",
):
    """A quadratic with ten curvatures from 1 to κ; η = scaled_step/L; the constant ρ given, and the growing one."""
    bowl = optimisation.spread_quadratic(10, condition)
    curvatures, start = np.geomspace(1.0, condition, 10), data.generator(key).normal(size=10)
    step, steps = scaled_step / condition, 1000
    scaled = step * curvatures
    ours = optimisation.descend(bowl, optimisation.nesterov(step, momentum), jnp.asarray(start), steps)
    rule = optimisation.tunable(optax_nesterov, learning_rate=step, momentum=momentum)
    theirs = optimisation.descend(bowl, rule, jnp.asarray(start), steps)
    ahead = optimisation.look_ahead_points(np.asarray(ours.points), momentum)
    yield close(theirs.points, ahead, "Optax's points (nesterov=True), against the look-ahead points yᵗ", atol=1e-9)
    powers = [optimisation.mode_path("nesterov", x, momentum, steps) for x in scaled]
    yield close(ours.points, start * np.stack(powers, axis=1), "modes, against powers of the matrix", atol=1e-9)
    seen = optimisation.measured_factor("nesterov", scaled, momentum)
    roots = [np.max(np.abs(np.roots([1, -(1 + momentum) * (1 - x), momentum * (1 - x)]))) for x in scaled]
    yield close(
        seen, roots, "factor per step of each mode, against the roots of z² − (1+ρ)(1−ηλ)z + ρ(1−ηλ)", atol=1e-3
    )

    growing = optimisation.nesterov_two_line(
        lambda w: curvatures * w, start, optimisation.growing_schedule(step, steps)
    )
    gaps = growing**2 @ curvatures / 2
    restarting = optimisation.nesterov_growing(step, restart=restart)
    restarted = np.asarray(optimisation.descend(bowl, restarting, jnp.asarray(start), steps).values)
    yield at_least(np.sum(np.diff(gaps) > 0), 1, "steps that raise the loss, growing momentum")
    yield at_most(restarted[-1], gaps[-1], "gap at the end with restart, against none", rtol=1e-9, atol=1e-25)
    t = np.arange(0, 200)
    raw = (t - 1) / (t + 2)
    friction = (1 - raw[1:]) / np.sqrt(step)
    yield close(friction, 3 / ((t[1:] + 2) * np.sqrt(step)), "friction (1 − ρ_t)/√η, against 3/((t+2)√η)", rtol=1e-12)
    yield printed(at_least(np.diff(friction), 0.0, "growth of the friction"), "penn", "friction grows with t")
    yield printed(at_least(raw[0], 0.0, "ρ at t = 0"), "penn", "ρ_t = (t − 1)/(t + 2) from t = 0 on")
    explicit, implicit = start * (1 - scaled), start / (1 + scaled)
    yield printed(
        close(implicit, explicit, "first step with the gradient at the new point, solved for it", rtol=1e-6),
        "sheet", "the gradient at y_{k+1} in the equation for y_{k+1}",
    )  # fmt: skip
    shown = np.arange(0, 401, 4)
    race = figure.curves(
        f"Growing momentum ripples; with restart the gap falls to {restarted[400]:.0e} in 400 steps",
        x="step t",
        y="gap",
        points={
            "(t − 1)/(t + 2)": (shown, np.maximum(gaps[shown], 1e-30)),
            f"restart on the {restart}": (shown, np.maximum(restarted[shown], 1e-30)),
        },
        log="y",
    )
    plan = optimisation.constant_schedule(0.8 / 12, 0.6, 12)
    w = optimisation.nesterov_two_line(lambda w: np.array([1.0, 12.0]) * w, np.array([1.0, 0.6]), plan)
    y = optimisation.look_ahead_points(w, 0.6)
    picture = figure.plane(
        "From wᵗ first on to yᵗ, then down its gradient",
        x="w₁",
        y="w₂",
        points={"wᵗ": w, "yᵗ": y},
        arrows={"look ahead": (w[2], y[2]), "gradient step at yᵗ": (y[2], w[3])},
    )
    yield figure.beside("Nesterov's method: look ahead, then step; a restart removes the ripples", picture, race)


@claim(
    "momentum-forms-equivalence",
    says=(
        "Heavy ball in one line, in two lines and with a velocity is one method; so is Nesterov's, whose library form "
        "stores the look-ahead points. All this for constant η and ρ: when η changes, the velocity form rescales the "
        "displacement and the others keep it."
    ),
    formula=r"u \leftarrow \rho u - g,\; w \leftarrow w + \eta u \quad\Longleftrightarrow\quad \Delta_t = \eta u",
    sources=("penn",),
    assumes=("constant η and ρ, or a converted schedule",),
    shows=("optimisation.convert_schedule", "optimisation.as_optax_sgd", "optimisation.Schedule"),
)
def momentum_forms_equivalence(
    key,
    scaled_step: Annotated[float, Range(0.05, 1.0)] = 0.5,
    momentum: Annotated[float, Range(0.1, 0.98)] = 0.9,
    drop: Annotated[float, Range(0.02, 0.8)] = 0.1,
    drop_at: Annotated[int, Range(2, 20)] = 15,
):
    """Ridge-logistic regression from a random start, 300 steps; then η falls to `drop` times itself at one step."""
    rng = data.generator(key)
    objective, gradient, smoothness = logistic_problem(rng)
    start, steps, step = rng.normal(size=4) * 3, 300, scaled_step / smoothness
    constant = optimisation.constant_schedule(step, momentum, steps)
    balls = {name: form(gradient, start, constant) for name, form in optimisation.HEAVY_BALL_FORMS.items()}
    one = balls["one line"]
    for name in ("two lines", "velocity"):
        yield close(balls[name], one, f"heavy ball, {name} against one line, 300 steps", atol=1e-10)
    two = optimisation.nesterov_two_line(gradient, start, constant)
    yield close(optimisation.nesterov_velocity(gradient, start, constant), two, "Nesterov: velocity form", atol=1e-10)
    library = optimisation.nesterov_library(gradient, start, constant)
    yield close(
        library, optimisation.look_ahead_points(two, momentum), "Nesterov: library points, against yᵗ", atol=1e-10
    )

    changed = constant._replace(steps=np.where(np.arange(steps) < drop_at, step, drop * step))
    kept = optimisation.heavy_ball_one_line(gradient, start, changed)
    rescaled = optimisation.heavy_ball_velocity(gradient, start, changed)
    split = momentum * (1 - drop) * (kept[drop_at] - kept[drop_at - 1])
    yield close(kept[drop_at + 1] - rescaled[drop_at + 1], split, "split at the drop, against ρ(1 − f)Δ", atol=1e-12)
    yield at_least(np.max(np.abs(split)), 1e-9, "size of the split")
    for target, form in {
        "velocity": optimisation.heavy_ball_velocity,
        "average": optimisation.heavy_ball_average,
    }.items():
        converted = optimisation.convert_schedule(changed, "displacement", target)
        yield close(form(gradient, start, converted), kept, f"{target} form with converted numbers", atol=1e-10)
    rule = optimisation.as_optax_sgd(changed)
    optaxed = optimisation.descend(objective, rule, jnp.asarray(start), steps).points
    yield close(optaxed, kept, "optax.sgd with converted numbers, against one line", atol=1e-10)
    there = (np.diff(one, axis=0)) / step  # the velocity form's u
    yield printed(
        close(there, np.diff(one, axis=0), "u, against wᵗ⁺¹ − wᵗ", atol=1e-10), "penn", "u is exactly the velocity"
    ).given(abs(step - 1) > 1e-6, "η ≠ 1")
    two_line = optimisation.heavy_ball_two_line(gradient, start, changed)
    yield printed(
        close(rescaled, two_line, "library path with a drop, against two lines", atol=1e-10),
        "penn", "the library uses the two-line form",
    )  # fmt: skip
    t = np.arange(drop_at + 41)
    every = t[::2]
    yield figure.curves(
        f"One method until η drops at t = {drop_at}; then the velocity form is off by up to "
        f"{np.max(np.abs(kept - rescaled)):.2g}",
        x="step t",
        y="w₁",
        lines={"one line": (t, kept[t, 0]), "velocity": (t, rescaled[t, 0])},
        points={"two lines": (every, two_line[every, 0])},
        rules={"η drops": ("x", drop_at)},
    )
