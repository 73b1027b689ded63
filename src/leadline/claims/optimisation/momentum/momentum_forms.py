"""Heavy ball and Nesterov's method, and the forms they are written in."""

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import logistic_problem
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, method
from leadline.optimisation.bounds.momentum_spectrum import measured_factor
from leadline.optimisation.rules import momentum_forms
from leadline.presentation import figure


def optax_nesterov(learning_rate, momentum):
    return optax.sgd(learning_rate, momentum, nesterov=True)


@method(sources=("eth", "sheet", "penn"))
def heavy_ball(
    key, condition: Real(1.5, 1e4, log=True) = 20.0, scaled_step: Real(0.05, 1.9) = 0.3, momentum: Real(0.0, 0.98) = 0.7
):
    r"""Polyak's heavy ball.

    Heavy ball adds to the gradient step a fraction ρ of the last displacement, with ρ in [0, 1), and needs one more
    buffer. ρ = 0 is gradient descent; along an eigenvector of a quadratic the iteration is a power of a 2 × 2 matrix.

    $$w^{t+1} = w^t - \eta\, g(w^t) + \rho\,(w^t - w^{t-1}), \quad w^{-1} = w^0$$

    Assumes: 0 ≤ ρ < 1.

    Check: The method runs on a quadratic in the plane with curvatures 1 and κ, in a random basis; η is the scaled step
    divided by L.
    """
    angle = data.generator(key).uniform(0, 2 * np.pi)
    basis = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    bowl = optimisation.spread_quadratic(2, condition, rotation=basis)
    start, steps, step = jnp.asarray(basis @ np.array([1.0, 0.6])), 120, scaled_step / condition
    ours = np.asarray(optimisation.descend(bowl, optimisation.heavy_ball(step, momentum), start, steps).points)
    rule = optimisation.tunable(optax.sgd, learning_rate=step, momentum=momentum)
    theirs = optimisation.descend(bowl, rule, start, steps).points
    yield close(ours, theirs, "points, against Optax's trace (velocity form)", atol=1e-9)
    modes = ours @ basis
    for i, curvature in enumerate((1.0, condition)):
        powers = modes[0, i] * optimisation.mode_path("heavy ball", step * curvature, momentum, steps)
        yield close(modes[:, i], powers, f"mode λ = {curvature:.4g}, against powers of the matrix", atol=1e-9)
    plain = optimisation.descend(bowl, optimisation.heavy_ball(step, 0.0), start, steps).points @ basis
    factors = (1 - step * np.array([1.0, condition])) ** np.arange(steps + 1)[:, None]
    yield close(plain, modes[0] * factors, "ρ = 0, against gradient descent", atol=1e-9)
    best = optimisation.heavy_ball_tuning(condition, 1.0)
    radius = optimisation.worst_factor("heavy ball", *best, condition, 1.0)
    yield close(radius, np.sqrt(best.momentum), "factor of the tuning for quadratics, against √ρ", atol=1e-6)
    t, path = 4, ours[:40]
    pushed = ours[t] - step * np.asarray(bowl.gradient(jnp.asarray(ours[t])))
    arrows = {"− η g": (ours[t], pushed), "ρ (wᵗ − wᵗ⁻¹)": (pushed, pushed + momentum * (ours[t] - ours[t - 1]))}
    middle, half = (path.min(axis=0) + path.max(axis=0)) / 2, 0.55 * np.max(np.ptp(path, axis=0))
    domain = tuple((m - half, m + half) for m in middle)
    title = f"Step {t + 1} is the gradient step plus ρ = {momentum:.2g} times the last displacement"
    points, lines = {"points wᵗ": path}, {"path": (path[:, 0], path[:, 1])}
    yield figure.plane(title, "w₁", "w₂", points=points, lines=lines, arrows=arrows, domain=domain)


@method(sources=("eth", "sheet", "penn"), shows=("optimisation.nesterov_tuning",))
def nesterov_accelerated_gradient(
    key,
    condition: Real(20.0, 2000.0, log=True) = 200.0,
    scaled_step: Real(0.3, 1.0) = 1.0,
    momentum: Real(0.0, 0.98) = 0.8,
    restart: OneOf("gradient", "function") = "gradient",
):
    r"""Nesterov's accelerated gradient.

    Nesterov's method first moves on by ρ times the last displacement and takes the gradient there. ρ is (√κ − 1)/(√κ +
    1), or (t − 1)/(t + 2) where m is not known; the loss may ripple, and a restart stops that.

    $$y^t = w^t + \rho_t (w^t - w^{t-1}), \quad w^{t+1} = y^t - \eta\, g(y^t)$$

    Assumes: η ≤ 1/L.

    Check: The method runs on a quadratic with ten curvatures from 1 to κ, where η is the scaled step divided by L,
    with the given constant ρ and with the growing one.
    """
    bowl = optimisation.spread_quadratic(10, condition)
    curvatures, start = np.geomspace(1.0, condition, 10), data.generator(key).normal(size=10)
    step, steps = scaled_step / condition, 1000
    scaled = step * curvatures
    ours = optimisation.descend(bowl, optimisation.nesterov(step, momentum), jnp.asarray(start), steps)
    rule = optimisation.tunable(optax_nesterov, learning_rate=step, momentum=momentum)
    theirs = optimisation.descend(bowl, rule, jnp.asarray(start), steps)
    ahead = momentum_forms.look_ahead_points(np.asarray(ours.points), momentum)
    yield close(theirs.points, ahead, "Optax's points (nesterov=True), against the look-ahead points yᵗ", atol=1e-9)
    powers = [optimisation.mode_path("nesterov", x, momentum, steps) for x in scaled]
    yield close(ours.points, start * np.stack(powers, axis=1), "modes, against powers of the matrix", atol=1e-9)
    seen = measured_factor("nesterov", scaled, momentum)
    roots = [np.max(np.abs(np.roots([1, -(1 + momentum) * (1 - x), momentum * (1 - x)]))) for x in scaled]
    what = "factor per step of each mode, against the roots of z² − (1+ρ)(1−ηλ)z + ρ(1−ηλ)"
    yield close(seen, roots, what, atol=1e-3)
    plan = optimisation.growing_schedule(step, steps)
    growing = optimisation.nesterov_two_line(lambda w: curvatures * w, start, plan)
    gaps = growing**2 @ curvatures / 2
    restarting = optimisation.nesterov_growing(step, restart=restart)
    restarted = np.asarray(optimisation.descend(bowl, restarting, jnp.asarray(start), steps).values)
    yield at_least(np.sum(np.diff(gaps) > 0), 1, "steps that raise the loss, growing momentum")
    yield at_most(restarted[-1], gaps[-1], "gap at the end with restart, against none", rtol=1e-9, atol=1e-25)
    t = np.arange(1, 200)
    friction = (1 - (t - 1) / (t + 2)) / np.sqrt(step)
    law = close(friction, 3 / ((t + 2) * np.sqrt(step)), "friction (1 − ρ_t)/√η, against 3/((t+2)√η)", rtol=1e-12)
    yield law
    growth = at_least(np.diff(friction), 0.0, "change of the friction (1 − ρ_t)/√η in a step")
    yield erratum(growth, of=law, by="penn", prints="friction grows with t (its ODE has the vanishing 3/τ)")
    first = close(ours.points[1], start * (1 - scaled), "first step, against w⁰ − ηg(w⁰)", atol=1e-9)
    yield first
    implicit = close(ours.points[1], start / (1 + scaled), "first step, against w¹ = w⁰ − ηg(w¹)", rtol=1e-6)
    yield erratum(implicit, of=first, by="sheet", prints="the gradient at y_{k+1} in the equation for y_{k+1}")
    u = np.arange(401)
    points = {"(t − 1)/(t + 2)": (u, gaps[u]), f"restart on the {restart}": (u, restarted[u])}
    title = f"Growing momentum ripples; with restart the gap falls to {restarted[400]:.0e} in 400 steps"
    race = figure.curves(title, "step t", "gap", points=points, log="y")
    plan = optimisation.constant_schedule(0.8 / 12, 0.6, 12)
    w = optimisation.nesterov_two_line(lambda w: np.array([1.0, 12.0]) * w, np.array([1.0, 0.6]), plan)
    y = momentum_forms.look_ahead_points(w, 0.6)
    arrows, points = {"look ahead": (w[2], y[2]), "gradient step at yᵗ": (y[2], w[3])}, {"wᵗ": w, "yᵗ": y}
    title = "From wᵗ first on to yᵗ, then down its gradient"
    picture = figure.plane(title, "w₁", "w₂", points=points, arrows=arrows)
    yield figure.beside("Nesterov's method: look ahead, then step; a restart removes the ripples", picture, race)


@claim(sources=("penn",))
def momentum_forms_equivalence(
    key,
    scaled_step: Real(0.05, 1.0) = 0.5,
    momentum: Real(0.1, 0.98) = 0.9,
    drop: Real(0.02, 0.8) = 0.1,
    drop_at: Int(2, 20) = 15,
):
    r"""Equivalent forms of momentum.

    Heavy ball in one line, in two lines and with a velocity is one method; so is Nesterov's, whose library form stores
    the look-ahead points. All this holds for constant η and ρ: when η changes, the velocity form rescales the
    displacement and the others keep it.

    $$u \leftarrow \rho u - g,\; w \leftarrow w + \eta u \quad\Longleftrightarrow\quad \Delta_t = \eta u$$

    Assumes: constant η and ρ, or a converted schedule.

    Check: Ridge-logistic regression runs from a random start for 300 steps; then η falls to `drop` times itself at one
    step.
    """
    rng = data.generator(key)
    objective = logistic_problem(rng, 0.05, samples=60)
    gradient, smoothness = objective.gradient, objective.constants().smoothness
    start, steps, step = rng.normal(size=4) * 3, 300, scaled_step / smoothness
    constant = optimisation.constant_schedule(step, momentum, steps)
    balls = {name: form(gradient, start, constant) for name, form in momentum_forms.HEAVY_BALL_FORMS.items()}
    one = balls["one line"]
    for name in ("two lines", "velocity"):
        yield close(balls[name], one, f"heavy ball, {name} against one line, 300 steps", atol=1e-10)
    two = optimisation.nesterov_two_line(gradient, start, constant)
    velocity, library = momentum_forms.nesterov_velocity, momentum_forms.nesterov_library(gradient, start, constant)
    yield close(velocity(gradient, start, constant), two, "Nesterov, velocity form against two lines", atol=1e-10)
    ahead = momentum_forms.look_ahead_points(two, momentum)
    yield close(library, ahead, "Nesterov: library points, against yᵗ", atol=1e-10)
    changed = constant._replace(steps=np.where(np.arange(steps) < drop_at, step, drop * step))
    kept = optimisation.heavy_ball_one_line(gradient, start, changed)
    rescaled = optimisation.heavy_ball_velocity(gradient, start, changed)
    split = momentum * (1 - drop) * (kept[drop_at] - kept[drop_at - 1])
    yield close(kept[drop_at + 1] - rescaled[drop_at + 1], split, "split at the drop, against ρ(1 − f)Δ", atol=1e-12)
    yield at_least(np.max(np.abs(split)), 1e-9, "size of the split")
    forms = {"velocity": optimisation.heavy_ball_velocity, "average": momentum_forms.heavy_ball_average}
    for target, form in forms.items():
        converted = momentum_forms.convert_schedule(changed, "displacement", target)
        path, what = form(gradient, start, converted), f"{target} form with converted numbers, against one line"
        yield close(path, kept, what, atol=1e-10)
    rule = momentum_forms.as_optax_sgd(changed)
    optaxed = optimisation.descend(objective, rule, jnp.asarray(start), steps).points
    library = close(optaxed, kept, "optax.sgd with converted numbers, against one line", atol=1e-10)
    yield library
    two_line = momentum_forms.heavy_ball_two_line(gradient, start, changed)
    wrong = close(rescaled, two_line, "velocity buffer (PyTorch's) through a drop of η, against two lines", atol=1e-10)
    yield erratum(wrong, of=library, by="penn", prints="PyTorch uses the two-line form (it keeps a velocity buffer)")
    t, every = np.arange(drop_at + 41), np.arange(0, drop_at + 41, 2)
    lines = {"one line": (t, kept[t, 0]), "velocity": (t, rescaled[t, 0])}
    points, rules = {"two lines": (every, two_line[every, 0])}, {"η drops": ("x", drop_at)}
    off = np.max(np.abs(kept - rescaled))
    title = f"One method until η drops at t = {drop_at}; then the velocity form is off by up to {off:.2g}"
    yield figure.curves(title, "step t", "w₁", lines=lines, points=points, rules=rules)
