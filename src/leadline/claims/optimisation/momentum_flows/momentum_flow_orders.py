"""What the equation behind momentum explains, and what it does not."""

import numpy as np

from leadline import optimisation
from leadline.claims.optimisation.momentum_flows.momentum_flows import ETAS, SAVED, flow, iterates, log_slope
from leadline.evidence import Real, at_least, at_most, claim, close, reference
from leadline.optimisation.runs.momentum_flows import Particle, nesterov_lyapunov, vanishing_friction_energy
from leadline.presentation import figure


@claim(sources=("penn",))
def heavy_ball_same_ode(key, curvature: Real(0.5, 1.5) = 1.0, horizon: Real(6.0, 12.0) = 10.0):
    r"""Heavy ball and Nesterov share an ODE.

    Heavy ball with $\rho_t = (t-1)/(t+2)$ has the same limit equation as Nesterov's method, so that equation cannot
    explain why one is more stable. The next order does: Nesterov's has the damping √η HW′, and with it the error is of
    order η.

    $$W'' + \frac{3}{\tau} W' + \sqrt\eta\, H W' + \left(1 + \frac{3\sqrt\eta}{2\tau}\right) \nabla l = 0$$

    Assumes: time is read as τ = √η(t + 3/2); the start is τ₀ = 3√η/2 with W′(τ₀) = −√η g(w⁰).

    Check: Both methods run on (λ/2)w² from 1; the high-resolution equation is solved by Diffrax for η = 10⁻¹, 10⁻² and
    10⁻³.
    """
    errors, differences, fine = [], [], []
    for eta in ETAS:
        at, ball = iterates(curvature, eta, horizon, 2, ahead=False)
        _, ahead = iterates(curvature, eta, horizon, 2)
        errors.append(np.max(np.abs(ball - optimisation.vanishing_friction_mode(at, curvature))))
        differences.append(np.max(np.abs(ball - ahead)))
    for eta in ETAS[:3]:
        root = np.sqrt(eta)
        at, path = iterates(curvature, eta, horizon, 2)
        particle = Particle(vanishing=3.0, hessian_damping=root, boost=1.5 * root)
        run = flow([curvature, 1.0], [1.0, 0.0], at + 1.5 * root, particle, velocity=[-root * curvature, 0.0])
        fine.append(np.max(np.abs(run.points[:, 0] - path)))
        low = np.max(np.abs(path - optimisation.vanishing_friction_mode(at, curvature)))
        what = f"error of the high-resolution equation at η = {eta:g}, against the plain one"
        yield at_most(fine[-1], low, what, strict=True)
    order = log_slope(ETAS[1:], errors[1:])
    yield close(order, 0.5, "heavy ball: order in η of its distance from the equation", atol=0.05)
    yield close(log_slope(ETAS[1:], differences[1:]), 0.5, "heavy ball − Nesterov: order in η", atol=0.05)
    yield close(log_slope(ETAS[:3], fine), 1.0, "high-resolution equation: order in η", atol=0.1)
    if (curvature, horizon) == (1.0, 10.0):
        yield reference(errors[:2], [0.3266, 0.1149], "heavy ball's largest errors, η = 10⁻¹, 10⁻²", digits=4)
        yield reference(errors[2:], [0.0379, 0.0122], "heavy ball's largest errors, η = 10⁻³, 10⁻⁴", digits=3)
        yield reference(fine, [0.0209, 0.00236, 0.00025], "largest errors of the high-resolution equation", digits=2)
    at, ball = iterates(curvature, 1e-2, horizon, 2, ahead=False)
    _, ahead = iterates(curvature, 1e-2, horizon, 2)
    limit = {"limit equation": (at, optimisation.vanishing_friction_mode(at, curvature))}
    paths = {"heavy ball": (at, ball), "Nesterov": (at, ahead)}
    lines = {
        "slope 1/2": (ETAS, errors[-1] * np.sqrt(ETAS / ETAS[-1])),
        "slope 1": (ETAS[:3], fine[-1] * ETAS[:3] / ETAS[2]),
    }
    points = {"heavy ball": (ETAS, errors), "Nesterov, high resolution": (ETAS[:3], fine)}
    yield figure.beside(
        f"One equation for both methods; they differ by η to the {log_slope(ETAS[1:], differences[1:]):.2f}",
        figure.curves("η = 0.01", "time τ = √η t", "w", lines=limit, points=paths),
        figure.curves("Largest errors", "η", "error", lines=lines, points=points, log="xy"),
    )


@claim(sources=("penn",))
def nesterov_ode_lyapunov(
    key, friction: Real(1.0, 5.0) = 2.0, horizon: Real(10.0, 100.0) = 60.0, slope: Real(0.001, 0.1, log=True) = 0.01
):
    r"""Lyapunov function of Nesterov's ODE.

    For convex l, E(τ) = τ²(l(W) − l*) + 2‖W + (τ/2)W′ − w*‖² never rises along Nesterov's equation, so the gap is at
    most 2R²/τ². With friction r/τ and r < 3 this is lost: on quadratics the energy falls like τ⁻ʳ.

    $$l(W(\tau)) - l^* \le \frac{2R^2}{\tau^2}$$

    Assumes: l is convex.

    Check: The equation is solved on log cosh(w₁) + (a/2)w₂² from (3, 2) with a = 0.01; quadratics with friction r/τ
    are treated in closed form.
    """
    times = np.linspace(0, horizon, SAVED)
    run = flow([0.0, slope], [3.0, 2.0], times, Particle(vanishing=3.0), cosine=(1.0, 0.0))
    energy = nesterov_lyapunov(run, np.zeros(2), 0.0)
    yield close(energy[0], 26.0, "E(0), against 2R²", rtol=1e-6)
    yield at_most(np.diff(energy), 0.0, "change of E along the equation", atol=1e-8)
    share = run.times**2 * run.values / 26
    yield at_most(share, 1.0, "τ² gap/(2R²) along the equation")
    if (horizon, slope) == (60.0, 0.01):
        yield reference(np.max(share), 0.43, "largest τ² gap/(2R²)", digits=2)
    late, slopes = np.geomspace(100, 1e4, 200), {}
    for r in sorted({1.0, 2.0, 3.0, friction}):
        slopes[r] = log_slope(late, vanishing_friction_energy(late, 1.0, r))
        yield close(slopes[r], -r, f"slope of the energy on a quadratic, r = {r:g}", atol=0.005)
    loose = vanishing_friction_energy(late, 1.0, 1.0) * late**2 / 2
    yield at_least(np.max(loose), 10.0, "τ² energy/(2R²) with r = 1: not bounded by 1")
    other = flow([0.0, slope], [3.0, 2.0], times, Particle(vanishing=friction), cosine=(1.0, 0.0))
    near = np.geomspace(1, 1000, 80)
    points = {
        "E(τ)": (run.times, energy),
        "τ² gap, r = 3": (run.times, 26 * share),
        f"τ² gap, r = {friction:g}": (run.times, other.times**2 * other.values),
    }
    title, rules = "Nesterov's equation on log cosh(w₁) + (a/2)w₂²", {"2R²": ("y", 26.0)}
    lines = {f"r = {r:g}": (near, near**2 * vanishing_friction_energy(near, 1.0, r)) for r in slopes}
    yield figure.beside(
        f"E falls from 26 to {energy[-1]:.3g}; τ² gap stays below {100 * np.max(share):.0f}% of 2R²",
        figure.curves(title, "time τ", "E, and τ² gap", points=points, rules=rules),
        figure.curves("Quadratic: τ² times the energy", "time τ", "τ² energy", lines=lines, log="xy"),
    )
