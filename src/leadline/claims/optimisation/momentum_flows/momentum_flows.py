"""Momentum as the motion of a particle, and the equation behind Nesterov's method."""

import jax.numpy as jnp
import numpy as np

from leadline import optimisation
from leadline.evidence import OneOf, Real, at_least, at_most, claim, close, model, reference
from leadline.optimisation.runs.momentum_flows import InertialFlow, Particle
from leadline.presentation import figure

SAVED = 401
ETAS = np.array([1e-1, 1e-2, 1e-3, 1e-4])


def flow(curvatures, start, times, particle, *, cosine=(0.0, 0.0), velocity=None):
    """A flow in two dimensions at (padded) 401 times: one compiled program for the chapter's equations."""
    times = np.asarray(times, float)
    padded = np.concatenate([times, times[-1] + 1e-4 * np.arange(1, SAVED + 1 - len(times))])
    bowl = optimisation.LogCoshBowl(np.asarray(curvatures, float), np.asarray(cosine, float))
    pushed = None if velocity is None else jnp.asarray(velocity, float)
    run = optimisation.inertial_flow(bowl, jnp.asarray(start, float), padded, particle, velocity=pushed)
    return InertialFlow(*(np.asarray(part)[: len(times)] for part in run))


def iterates(curvature, eta, horizon, first, *, ahead=True):
    """wᵗ on (λ/2)w² from 1 with ρ_t = (t − 1)/(t + 2), up to time `horizon`, and the times √η t."""
    steps = int(horizon / np.sqrt(eta))
    form = optimisation.nesterov_two_line if ahead else optimisation.heavy_ball_one_line
    path = form(lambda w: curvature * w, np.array(1.0), optimisation.growing_schedule(eta, steps, first=first))
    return np.sqrt(eta) * np.arange(steps + 1), path


def log_slope(x, y):
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@model(sources=("penn",), shows=("optimisation.inertial_flow", "optimisation.LogCoshBowl"))
def damped_oscillator(
    key, friction: Real(0.05, 4.0) = 0.5, curvature: Real(0.25, 4.0) = 1.0, mass: Real(0.5, 2.0) = 1.0
):
    r"""Damped oscillator as momentum.

    A particle of mass M moves with friction c in the landscape l: without mass it is gradient flow, without friction
    it keeps its energy. Heavy ball is the particle of unit mass with c = (1 − ρ)/√η, seen at time intervals of √η; a
    mode oscillates if and only if c² < 4Mλ.

    $$M w'' = -\nabla l - c\, w', \quad c = \frac{1-\rho}{\sqrt\eta}$$

    Assumes: for heavy ball: time step √η → 0.

    Check: The curvatures are λ and the critical one, c²/(4M); the particle starts from (1, 1) at rest and is followed
    up to time 10.
    """
    critical = friction**2 / (4 * mass)
    times = np.linspace(0, 10, SAVED)
    run = flow([curvature, critical], [1.0, 1.0], times, Particle(mass, friction))
    exact = np.stack([optimisation.damped_mode(times, c, friction, mass) for c in (curvature, critical)], axis=1)
    yield close(run.points, exact, "particle by Diffrax, against the closed form", atol=1e-7)
    energy = run.values + mass / 2 * np.sum(run.velocities**2, axis=1)
    power = friction * np.sum(run.velocities**2, axis=1)
    step = times[1]
    lost = np.concatenate([[0], np.cumsum(power[:-2:2] + 4 * power[1:-1:2] + power[2::2]) * step / 3])  # Simpson
    yield close(energy[::2], energy[0] - lost, "energy, against E(0) − c∫‖w′‖²", atol=1e-5 * energy[0])
    free = flow([curvature, critical], [1.0, 1.0], times, Particle(mass))
    kept = free.values + mass / 2 * np.sum(free.velocities**2, axis=1)
    yield close(kept, kept[0], "energy without friction", rtol=1e-8)
    light = optimisation.damped_mode(times, curvature, 1.0, 1e-6)
    yield close(light, np.exp(-curvature * times), "mass 10⁻⁶ and c = 1, against gradient flow", atol=1e-4)
    decay, regime = friction / (2 * mass), optimisation.damping_regime(curvature, friction, mass)
    turn = np.sqrt(max(curvature / mass - decay**2, 0.0))
    first_zero = (np.pi - np.arctan2(turn, decay)) / turn if regime == "under" else np.inf
    clear = regime != "under" or (abs(first_zero - 10) > 0.5 and np.exp(-decay * first_zero) > 1e-5)
    lowest, what = run.points.min(axis=0), f"least value of the mode λ = {curvature:.3g} up to τ = 10"
    crosses = at_most(lowest[0], -1e-9, what) if first_zero < 10 else at_least(lowest[0], -1e-9, what)
    yield crosses.given(clear or first_zero > 10, "the crossing is large enough to be seen")
    yield at_least(lowest[1], -1e-8, "least value of the critical mode, which does not cross 0")
    etas, errors = np.array([1e-2, 1e-3, 1e-4]), []
    for eta in etas:
        plan = optimisation.constant_schedule(eta, 1 - friction * np.sqrt(eta), int(10 / np.sqrt(eta)))
        ball = optimisation.heavy_ball_velocity(lambda w: curvature * w, np.array(1.0), plan)
        at = np.sqrt(eta) * np.arange(len(ball))
        errors.append(np.max(np.abs(ball - optimisation.damped_mode(at, curvature, friction))))
    order = log_slope(etas, errors)
    yield close(order, 0.5, "order in η of heavy ball's distance from the particle (unit mass)", atol=0.1)
    yield close(optimisation.equivalent_friction(eta, plan.momenta[0]), friction, "c = (1 − ρ)/√η", rtol=1e-9)
    regimes = {"under, c = √λ/4": 0.25, "critical, c = 2√λ": 2.0, "over, c = 6√λ": 6.0}
    root, shown, dots = np.sqrt(curvature), {}, {}
    for name, share in regimes.items():
        shown[name] = (times, optimisation.damped_mode(times, curvature, share * root))
        plan = optimisation.constant_schedule(1e-3, 1 - share * root * np.sqrt(1e-3), 316)
        ball = optimisation.heavy_ball_velocity(lambda w: curvature * w, np.array(1.0), plan)[::12]
        dots[name] = (np.sqrt(1e-3) * 12 * np.arange(len(ball)), ball)
    both = {"with friction": run, "without": free}
    portrait = {name: (path.points[:, 0], path.velocities[:, 0]) for name, path in both.items()}
    yield figure.beside(
        f"Heavy ball is a particle with friction c = (1 − ρ)/√η; at c = {friction:g}, M = {mass:g} the mode "
        f"λ = {curvature:g} is {'critically ' if regime == 'critical' else regime}damped",
        figure.curves("Three regimes (points: heavy ball, η = 10⁻³)", "time τ = √η t", "w", lines=shown, points=dots),
        figure.curves(f"Phase portrait, M = {mass:g}, c = {friction:g}", "w", "w′", lines=portrait),
    )


@claim(sources=("penn",))
def nesterov_ode(key, curvature: Real(0.5, 2.0) = 1.0, horizon: Real(6.0, 20.0) = 10.0, first: OneOf(1, 2) = 2):
    r"""ODE of Nesterov's method.

    As η → 0, Nesterov's method with $\rho_t = (t-1)/(t+2)$, seen at τ = √η t, follows W″ + (3/τ)W′ + ∇l(W) = 0. On a
    quadratic the solution is given by a Bessel function, and the error falls like √η.

    $$W'' + \frac{3}{\tau} W' + \nabla l(W) = 0, \; W = 2 w^0 \frac{J_1(\tau\sqrt\lambda)}{\tau\sqrt\lambda}$$

    Assumes: W(0) = w⁰ and W′(0) = 0; η → 0.

    Check: Runs start from w = 1 with η = 10⁻¹, …, 10⁻⁴; the parameter `first` is the value of t assigned to the first
    displacement.
    """
    times = np.linspace(0, horizon, SAVED)
    run = flow([curvature, 2 * curvature], [1.0, 1.0], times, Particle(vanishing=3.0))
    exact = [optimisation.vanishing_friction_mode(run.times, c) for c in (curvature, 2 * curvature)]
    yield close(run.points, np.stack(exact, axis=1), "Diffrax from τ₀ = 10⁻⁶, against 2J₁(x)/x", atol=1e-7)
    errors, dots = [], {}
    for eta in ETAS:
        at, path = iterates(curvature, eta, horizon, first)
        errors.append(np.max(np.abs(path - optimisation.vanishing_friction_mode(at, curvature))))
        some = slice(None, None, max(1, len(at) // 45))
        if eta > 5e-4:
            dots[f"η = {eta:g}"] = at[some], path[some]
    yield close(log_slope(ETAS[1:], errors[1:]), 0.5, "order in η of the largest error, η = 10⁻² … 10⁻⁴", atol=0.03)
    if (curvature, horizon, first) == (1.0, 10.0, 2):
        yield reference(errors[:2], [0.2904, 0.1033], "largest errors at η = 10⁻¹, 10⁻²", digits=4)
        yield reference(errors[2:], [0.0342, 0.0110], "largest errors at η = 10⁻³, 10⁻⁴", digits=3)
    title = f"Nesterov's iterates close in on the equation: error {errors[0]:.2f} at η = 0.1, {errors[-1]:.3f} at 10⁻⁴"
    lines = {"2J₁(τ√λ)/(τ√λ)": (times, exact[0])}
    yield figure.curves(title, "time τ = √η t", "w", lines=lines, points=dots)


@claim(sources=("penn",))
def nesterov_time_scaling(key, horizon: Real(2.0, 3.0) = 2.5, curvature: Real(0.8, 1.2) = 1.0, first: OneOf(1, 2) = 2):
    r"""Time scaling of accelerated steps.

    One accelerated step advances its equation's time by √η, one step of gradient descent that of the flow by η: to
    reach a fixed time takes a number of steps of order 1/√η against 1/η.

    $$t = T/\sqrt\eta \quad\text{against}\quad t = T/\eta$$

    Assumes: a quadratic; η → 0.

    Check: For η from 10⁻⁴ to 10⁻¹, the first step is found at which w, falling from 1, is within 5% above the state at
    time T.
    """
    etas = np.geomspace(1e-4, 1e-1, 10)
    goals = {
        "Nesterov": 1.05 * float(optimisation.vanishing_friction_mode(np.array([horizon]), curvature)[0]),
        "gradient descent": 1.05 * np.exp(-curvature * horizon),
    }
    steps = {name: [] for name in goals}
    for eta in etas:
        _, path = iterates(curvature, eta, horizon + 3, first)
        steps["Nesterov"].append(int(np.argmax(path <= goals["Nesterov"])))
        plan = optimisation.constant_schedule(eta, 0.0, int(horizon / eta) + 5)
        plain = optimisation.heavy_ball_velocity(lambda w: curvature * w, np.array(1.0), plan)
        steps["gradient descent"].append(int(np.argmax(plain <= goals["gradient descent"])))
    small = etas < 0.02  # above, the steps are a handful and rounding to whole steps decides
    slopes = {name: -log_slope(etas[small], np.array(counts)[small]) for name, counts in steps.items()}
    yield close(slopes["Nesterov"], 0.5, "Nesterov: slope of steps against 1/η", atol=0.05)
    yield close(slopes["gradient descent"], 1.0, "gradient descent: slope of steps against 1/η", atol=0.05)
    few, many = steps["Nesterov"][0], steps["gradient descent"][0]
    yield at_most(few, 0.2 * many, "Nesterov: steps at η = 10⁻⁴, against a fifth of descent's")
    lines = {"T/√η": (1 / etas, horizon / np.sqrt(etas)), "T/η": (1 / etas, horizon / etas)}
    points = {name: (1 / etas, counts) for name, counts in steps.items()}
    found = f"slope {slopes['Nesterov']:.3f} for Nesterov, {slopes['gradient descent']:.3f} for descent"
    yield figure.curves(f"To time T = {horizon:g}: {found}", "1/η", "steps", lines=lines, points=points, log="xy")
