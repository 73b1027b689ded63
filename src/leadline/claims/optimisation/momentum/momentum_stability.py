"""When momentum is stable, when it never rests, and how fast it can be on quadratics."""

import numpy as np

from leadline import optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, reference
from leadline.optimisation.bounds.momentum_spectrum import companion, factor_map
from leadline.optimisation.bounds.step_limits import stable_step_limit
from leadline.presentation import figure


@claim(sources=("penn",))
def undamped_momentum_conserves_energy(
    key,
    scaled_step: Real(0.001, 3.9) = 0.3,
    num_steps: Int(100, 20000, log=True) = 10000,
    beyond: Real(4.05, 8.0) = 4.2,
):
    r"""Undamped momentum conserves energy.

    With ρ = 1 heavy ball is the Störmer–Verlet step of w″ = −g: on a quadratic with ηλ < 4 it oscillates for ever and
    conserves a quadratic form exactly; with ηλ > 4 it diverges.

    $$w_{t+1}^2 - (2 - \eta\lambda)\, w_{t+1} w_t + w_t^2 = \mathrm{const}$$

    Assumes: ρ = 1; a quadratic.

    Check: The run is in one dimension from w = 1 at rest; the invariant is followed over all steps, relative to its
    first value.
    """

    def run(scaled, length):
        plan = optimisation.constant_schedule(scaled, 1.0, length)
        return optimisation.heavy_ball_velocity(lambda w: w, np.ones(1), plan)[:, 0]

    def invariant(path, scaled):
        return path[1:] ** 2 - (2 - scaled) * path[1:] * path[:-1] + path[:-1] ** 2

    w = run(scaled_step, num_steps)
    kept = invariant(w, scaled_step)
    tolerance = 1e-12 * np.sqrt(num_steps) / min(scaled_step, 1.0)
    yield close(kept / kept[0], 1.0, "invariant over its first value", atol=tolerance)
    lasting = at_least(np.max(np.abs(w[num_steps // 2 :])), 0.5, "largest |w| in the second half: no decay")
    yield lasting.given(scaled_step * num_steps**2 > 400, "at least a few turns")
    spread = np.ptp(invariant(run(0.3, 1000), 0.3))
    yield at_most(spread, 1e-13, "spread of the invariant over 1000 steps at ηλ = 0.3")
    angle = np.arccos(1 - scaled_step / 2)
    exact = np.cos(angle * (np.arange(num_steps + 1) + 0.5)) / np.cos(angle / 2)
    yield close(w, exact, "w, against cos((t + ½)θ)/cos(θ/2)", atol=1e-9 / np.cos(angle / 2) ** 2)
    yield at_least(np.abs(run(beyond, 200)[-1]), 1e4, "|w| after 200 steps with ηλ > 4")
    factor = companion("heavy ball", scaled_step, 1.0)
    yield close(np.abs(np.linalg.eigvals(factor)), 1.0, "modulus of the roots of z² − (2 − ηλ)z + 1", atol=1e-7)
    v = np.diff(w)  # v_t = w_{t+1} − w_t
    tolerance = 1e-11 * np.max(np.abs(w))
    yield close(v[1:] - v[:-1], -scaled_step * w[1:-1], "v_t − v_{t−1}, against −ηλ w_t", atol=tolerance)
    turn = np.linspace(0, 2 * np.pi, 200)
    ring = np.stack([np.cos(turn), np.cos(turn + angle)]) / np.cos(angle / 2)
    varied = np.ptp(kept / kept[0])
    title = f"After {num_steps} steps the ellipse has not shrunk: the invariant varies by {varied:.0e}"
    points = {"first steps": (w[:-1][:400], w[1:][:400]), "last steps": (w[-21:-1], w[-20:])}
    yield figure.curves(title, "wᵗ", "wᵗ⁺¹", lines={"conserved ellipse": (ring[0], ring[1])}, points=points)


@claim(sources=("eth", "penn"))
def momentum_stability_region(key, momentum: Real(0.0, 0.99) = 0.9, cells: Int(8, 40) = 24):
    r"""Stability regions of momentum methods.

    On quadratics with largest curvature L, heavy ball is stable if and only if ηL < 2(1 + ρ), and Nesterov's method if
    and only if ηL < (2 + 2ρ)/(1 + 2ρ), which tends to 4/3 as ρ → 1: momentum widens one range and narrows the other.

    $$\eta L < 2(1+\rho) \qquad\text{and}\qquad \eta L < \frac{2+2\rho}{1+2\rho}$$

    Assumes: 0 ≤ ρ < 1; a quadratic.

    Check: The crossing at the given ρ is found by bisection; on a grid of ηL and ρ, runs of 3000 steps are classified
    too.
    """
    heats = []
    rhos, scaled = np.linspace(0.0, 0.96, cells), (np.arange(cells) + 0.5) * 4.2 / cells
    for method in ("heavy ball", "nesterov"):
        limit = stable_step_limit(method, 1.0, momentum)
        low, high = 1.0, 5.0
        for _ in range(60):
            middle = (low + high) / 2
            inside = optimisation.growth_factor(method, middle, 1.0, momentum) < 1
            low, high = (middle, high) if inside else (low, middle)
        yield close(low, limit, f"{method}: ηL at which the radius crosses 1", atol=1e-5)
        yield at_least(limit, {"heavy ball": 2.0, "nesterov": 4 / 3}[method], f"{method}: limit, against its least")
        radius = factor_map(method, scaled, rhos)
        limits = np.array([stable_step_limit(method, 1.0, rho) for rho in rhos])
        stable = scaled < limits[:, None]
        near = np.abs(radius - 1) < 1e-9
        yield exactly((radius < 1)[~near], stable[~near], f"{method}: radius below 1 on the grid, against the formula")
        grid, rho = np.broadcast_to(scaled, radius.shape), np.broadcast_to(rhos[:, None], radius.shape)
        now, before = np.ones_like(grid), np.ones_like(grid)
        for _ in range(3000):
            at = now + rho * (now - before) if method == "nesterov" else now
            now, before = np.clip(now + rho * (now - before) - grid * at, -1e100, 1e100), now
        slow = np.abs(np.log(radius)) * 3000 < 12
        rest = np.abs(now) < 1.0
        yield exactly(rest[~slow], stable[~slow], f"{method}: runs that come to rest, against the formula")
        groups = {"radius below 1": radius < 1, "radius above 1": radius >= 1}
        points = {name: (grid[cells], rho[cells]) for name, cells in groups.items()}
        title = f"{method}: limit {limit:.4g} at ρ = {momentum:.2g}"
        heats.append(figure.curves(title, "ηL", "ρ", lines={"boundary": (limits, rhos)}, points=points))
        values, title = np.minimum(radius[::-1], 2.0) - 1, f"{method}: spectral radius"
        xs, ys = [f"{x:.2f}" for x in scaled], [f"{r:.2f}" for r in rhos[::-1]]
        heat = figure.heatmap(title, "ηL", "ρ", values=values, xs=xs, ys=ys, colour="radius − 1", diverging=True)
        heats.append(heat)
    yield figure.beside("Momentum widens heavy ball's range to 2(1 + ρ) and narrows Nesterov's towards 4/3", *heats)


@claim(sources=("eth", "sheet", "penn"))
def heavy_ball_rate_quadratic(
    key, condition: Real(5.0, 3000.0, log=True) = 100.0, goal: Real(1e-10, 1e-6, log=True) = 1e-8
):
    r"""Optimal heavy-ball rate on quadratics.

    On quadratics the tuning η = 4/(√L + √m)², ρ = ((√κ − 1)/(√κ + 1))² has the factor √ρ per step: a number of steps
    of order √κ log(1/ε). Double roots at both ends of the spectrum add a factor t.

    $$\max_{\lambda} |z| = \sqrt{\rho} = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$$

    Assumes: a quadratic with curvatures in [m, L].

    Check: The spectral radii are computed from the roots, the steps to a relative distance are counted, and the tail
    of a run at the end of the spectrum is examined.
    """
    table = {10.0: (0.519494, 0.818182), 100.0: (0.818182, 0.980198), 1000.0: (0.938693, 0.998002)}
    for kappa, (ball, plain) in table.items():
        tuned = optimisation.heavy_ball_tuning(kappa, 1.0)
        radius = optimisation.worst_factor("heavy ball", *tuned, kappa, 1.0)
        yield reference(radius, ball, f"radius of heavy ball at κ = {kappa:g}", digits=6)
        slow = optimisation.worst_factor("gradient descent", 2 / (1 + kappa), 0.0, kappa, 1.0)
        yield reference(slow, plain, f"radius of gradient descent at 2/(m + L), κ = {kappa:g}", digits=6)
    tuned = optimisation.heavy_ball_tuning(condition, 1.0)
    root, radius = np.sqrt(tuned.momentum), optimisation.worst_factor("heavy ball", *tuned, condition, 1.0)
    yield close(radius, root, "radius, against (√κ − 1)/(√κ + 1)", atol=1e-6)
    near = [
        optimisation.worst_factor("heavy ball", tuned.step * a, min(tuned.momentum + b, 0.9999), condition, 1.0)
        for a, b in ((1.05, 0.0), (0.95, 0.0), (1.0, 0.02 * (1 - root)), (1.0, -0.02 * (1 - root)))
    ]
    yield at_least(near, root, "radius beside the tuning, against the tuning's", rtol=1e-6)
    kappas, counts = np.geomspace(1e3, 1e5, 6), []
    for kappa in kappas:
        modes, steps = np.geomspace(1.0, kappa, 20), int(12 * np.sqrt(kappa) * np.log(1 / goal) / 4) + 50
        plan = optimisation.constant_schedule(*optimisation.heavy_ball_tuning(kappa, 1.0), steps)
        path = optimisation.heavy_ball_velocity(lambda w, modes=modes: modes * w, np.ones(20), plan)
        distance = np.linalg.norm(path, axis=1) / np.sqrt(20)
        counts.append(int(np.flatnonzero(distance > goal)[-1]) + 1)
    fitted = np.polyfit(np.log(kappas), np.log(counts), 1)[0]
    yield close(fitted, 0.5, "slope of steps against κ", atol=0.03)
    t = np.arange(1, int(200 / (1 - root)) if root < 0.99 else 20000)
    t = t[t * np.log(root) > -600]
    tail = optimisation.mode_path("heavy ball", tuned.step, tuned.momentum, int(t[-1]))[1:]
    yield close(tail / root**t, 1 + t * (1 - root), "run along λ = m, against (1 + t(1 − √ρ)) ρ^(t/2)", rtol=1e-5)
    etas, rhos = np.linspace(0.2, 3.8, 28), np.linspace(0.0, 0.98, 24)
    heat = [
        [optimisation.worst_factor("heavy ball", e / condition, r, condition, 1.0) for e in etas] for r in rhos[::-1]
    ]
    i, j = np.unravel_index(np.argmin(heat), (len(rhos), len(etas)))
    title = f"Radius; least cell {heat[i][j]:.3f} at ηL = {etas[j]:.2f}, ρ = {rhos[::-1][i]:.2f}"
    xs, ys = [f"{e:.2f}" for e in etas], [f"{r:.2f}" for r in rhos[::-1]]
    lines = {"slope 1/2": (kappas, counts[-1] * np.sqrt(kappas / kappas[-1]))}
    points, steps = {"heavy ball": (kappas, counts)}, f"Steps to {goal:.0e}: slope {fitted:.3f}"
    yield figure.beside(
        f"κ = {condition:.4g}: least radius {root:.4f} at ηL = {tuned.step * condition:.3g}, ρ = {tuned.momentum:.3g}",
        figure.heatmap(title, "ηL", "ρ", values=np.minimum(heat, 1.1), xs=xs, ys=ys, colour="radius"),
        figure.curves(steps, "κ", "steps", lines=lines, points=points, log="xy"),
    )
