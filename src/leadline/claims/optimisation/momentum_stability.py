"""When momentum is stable, when it never rests, and how fast it can be on quadratics."""

from typing import Annotated

import numpy as np

from leadline import optimisation
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    printed,
)


@claim(
    "undamped-momentum-conserves-energy",
    says=(
        "With ρ = 1 heavy ball is the Störmer-Verlet step of w″ = −g: on a quadratic with ηλ < 4 it oscillates "
        "for ever and conserves a quadratic form exactly; with ηλ > 4 it diverges."
    ),
    formula=r"w_{t+1}^2 - (2 - \eta\lambda)\, w_{t+1} w_t + w_t^2 = \mathrm{const}",
    sources=("penn",),
    assumes=("ρ = 1", "a quadratic"),
)
def undamped_momentum_conserves_energy(
    key,
    scaled_step: Annotated[float, Range(0.001, 3.9)] = 0.3,
    steps: Annotated[int, Range(100, 20000, log=True)] = 10000,
    beyond: Annotated[float, Range(4.05, 8.0)] = 4.2,
):
    """One dimension from w = 1 at rest; the invariant over all steps, relative to its first value."""
    plan = optimisation.constant_schedule(scaled_step, 1.0, steps)
    w = optimisation.heavy_ball_velocity(lambda w: w, np.ones(1), plan)[:, 0]

    def invariant(path):
        return path[1:] ** 2 - (2 - scaled_step) * path[1:] * path[:-1] + path[:-1] ** 2

    kept = invariant(w)
    yield close(
        kept / kept[0], 1.0, "invariant over its first value", atol=1e-12 * np.sqrt(steps) / min(scaled_step, 1.0)
    )
    yield at_least(np.max(np.abs(w[steps // 2 :])), 0.5, "largest |w| in the second half: no decay").given(
        scaled_step * steps**2 > 400, "at least a few turns"
    )
    brief = optimisation.heavy_ball_velocity(lambda w: w, np.ones(1), optimisation.constant_schedule(0.3, 1.0, 1000))[
        :, 0
    ]
    spread = np.ptp(brief[1:] ** 2 - 1.7 * brief[1:] * brief[:-1] + brief[:-1] ** 2)
    yield at_most(spread, 1e-13, "spread over 1000 steps at ηλ = 0.3 (reference 3e-15)")
    angle = np.arccos(1 - scaled_step / 2)
    exact = np.cos(angle * (np.arange(steps + 1) + 0.5)) / np.cos(angle / 2)
    yield close(w, exact, "w, against cos((t + ½)θ)/cos(θ/2)", atol=1e-9 / np.cos(angle / 2) ** 2)
    far = optimisation.heavy_ball_velocity(lambda w: w, np.ones(1), optimisation.constant_schedule(beyond, 1.0, 200))[
        :, 0
    ]
    yield at_least(np.abs(far[-1]), 1e4, "|w| after 200 steps with ηλ > 4")
    factor = optimisation.companion("heavy ball", scaled_step, 1.0)
    yield close(np.abs(np.linalg.eigvals(factor)), 1.0, "modulus of the roots", atol=1e-7)
    v = np.diff(w)  # v_t = w_{t+1} − w_t
    yield close(
        v[1:] - v[:-1], -scaled_step * w[1:-1], "v_t − v_{t−1}, against −ηλ w_t", atol=1e-12 * np.max(np.abs(w)) * 10
    )
    yield printed(
        close(v[1:] - v[:-1], -scaled_step * w[2:], "v_{t+1} − v_t, against −ηλ w_{t+1}", atol=1e-9 * scaled_step),
        "penn", "the acceleration is v_{t+1} − v_t for v_t = w_{t+1} − w_t",
    )  # fmt: skip
    shown = slice(0, min(steps, 400))
    turn = np.linspace(0, 2 * np.pi, 200)
    ring = np.stack([np.cos(turn), np.cos(turn + angle)]) / np.cos(angle / 2)
    yield figure.curves(
        f"After {steps} steps the ellipse has not shrunk: the invariant varies by {np.ptp(kept / kept[0]):.0e}",
        x="wᵗ",
        y="wᵗ⁺¹",
        lines={"conserved ellipse": (ring[0], ring[1])},
        points={"first steps": (w[:-1][shown], w[1:][shown]), "last steps": (w[-21:-1], w[-20:])},
    )


@claim(
    "momentum-stability-region",
    says=(
        "On quadratics with top curvature L, heavy ball is stable if and only if ηL < 2(1 + ρ); Nesterov's method if "
        "and only if ηL < (2 + 2ρ)/(1 + 2ρ), which tends to 4/3: momentum widens one range and narrows the other."
    ),
    formula=r"\eta L < 2(1+\rho) \qquad\text{and}\qquad \eta L < \frac{2+2\rho}{1+2\rho}",
    sources=("eth", "penn"),
    assumes=("0 ≤ ρ < 1", "a quadratic"),
    shows=("optimisation.factor_map", "optimisation.stable_step_limit"),
)
def momentum_stability_region(
    key,
    momentum: Annotated[float, Range(0.0, 0.99)] = 0.9,
    cells: Annotated[int, Range(8, 40)] = 24,
):
    """The crossing at the given ρ by bisection; a grid of ηL and ρ, where runs of 3000 steps are classified too."""
    heats = []
    rhos, scaled = np.linspace(0.0, 0.96, cells), (np.arange(cells) + 0.5) * 4.2 / cells
    for method in ("heavy ball", "nesterov"):
        limit = optimisation.stable_step_limit(method, 1.0, momentum)
        low, high = 1.0, 5.0
        for _ in range(60):
            middle = (low + high) / 2
            inside = optimisation.growth_factor(method, middle, 1.0, momentum) < 1
            low, high = (middle, high) if inside else (low, middle)
        yield close(low, limit, f"{method}: ηL at which the radius crosses 1", atol=1e-5)
        yield at_least(limit, {"heavy ball": 2.0, "nesterov": 4 / 3}[method], f"{method}: limit, against its least")
        radius = optimisation.factor_map(method, scaled, rhos)
        stable = scaled < np.array([optimisation.stable_step_limit(method, 1.0, rho) for rho in rhos])[:, None]
        near = np.abs(radius - 1) < 1e-9
        yield exactly((radius < 1)[~near], stable[~near], f"{method}: radius below 1 on the grid, against the formula")
        grid, rho = np.broadcast_to(scaled, radius.shape), np.broadcast_to(rhos[:, None], radius.shape)
        now, before = np.ones_like(grid), np.ones_like(grid)
        for _ in range(3000):
            at = now + rho * (now - before) if method == "nesterov" else now
            now, before = np.clip(now + rho * (now - before) - grid * at, -1e100, 1e100), now
        slow = np.abs(np.log(radius)) * 3000 < 12
        bounded = np.abs(now) < 1.0
        yield exactly(bounded[~slow], stable[~slow], f"{method}: runs that come to rest, against the formula")
        heats.append(
            figure.curves(
                f"{method}: limit {limit:.4g} at ρ = {momentum:.2g}",
                x="ηL",
                y="ρ",
                lines={"boundary": (np.array([optimisation.stable_step_limit(method, 1.0, r) for r in rhos]), rhos)},
                points={
                    "radius below 1": (grid[radius < 1], rho[radius < 1]),
                    "radius above 1": (grid[radius >= 1], rho[radius >= 1]),
                },
            )
        )
        heats.append(
            figure.heatmap(
                f"{method}: spectral radius",
                x="ηL",
                y="ρ",
                values=np.minimum(radius[::-1], 2.0) - 1,
                xs=[f"{x:.2f}" for x in scaled],
                ys=[f"{r:.2f}" for r in rhos[::-1]],
                colour="radius − 1",
                diverging=True,
            )
        )
    yield figure.beside("Momentum widens heavy ball's range to 2(1 + ρ) and narrows Nesterov's towards 4/3", *heats)


@claim(
    "heavy-ball-rate-quadratic",
    says=(
        "On quadratics the tuning η = 4/(√L + √m)², ρ = ((√κ − 1)/(√κ + 1))² has factor √ρ per step: a number of steps "
        "like √κ log 1/ε. Double roots at both ends of the spectrum add a factor t."
    ),
    formula=r"\max_{\lambda} |z| = \sqrt{\rho} = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}",
    sources=("eth", "sheet", "penn"),
    assumes=("a quadratic with curvatures in [m, L]",),
)
def heavy_ball_rate_quadratic(
    key,
    condition: Annotated[float, Range(5.0, 3000.0, log=True)] = 100.0,
    goal: Annotated[float, Range(1e-10, 1e-6, log=True)] = 1e-8,
):
    """Radii from the roots, steps to a relative distance, and the tail of a run at the end of the spectrum."""
    table = {10.0: (0.519494, 0.818182), 100.0: (0.818182, 0.980198), 1000.0: (0.938693, 0.998002)}
    for kappa, (ball, plain) in table.items():
        tuned = optimisation.heavy_ball_tuning(kappa, 1.0)
        radius = optimisation.worst_factor("heavy ball", *tuned, kappa, 1.0)
        yield close(radius, ball, f"radius at κ = {kappa:g}: reference", atol=1e-6)
        slow = optimisation.worst_factor("gradient descent", 2 / (1 + kappa), 0.0, kappa, 1.0)
        yield close(slow, plain, f"gradient descent at 2/(m + L), κ = {kappa:g}: reference", atol=1e-6)
    tuned = optimisation.heavy_ball_tuning(condition, 1.0)
    root = np.sqrt(tuned.momentum)
    yield close(
        optimisation.worst_factor("heavy ball", *tuned, condition, 1.0),
        root,
        "radius, against (√κ − 1)/(√κ + 1)",
        atol=1e-6,
    )
    near = [
        optimisation.worst_factor("heavy ball", tuned.step * a, min(tuned.momentum + b, 0.9999), condition, 1.0)
        for a, b in ((1.05, 0.0), (0.95, 0.0), (1.0, 0.02 * (1 - root)), (1.0, -0.02 * (1 - root)))
    ]
    yield at_least(near, root, "radius beside the tuning, against the tuning's", rtol=1e-6)

    kappas = np.geomspace(1e3, 1e5, 6)
    counts = []
    for kappa in kappas:
        step, rho = optimisation.heavy_ball_tuning(kappa, 1.0)
        modes = np.geomspace(1.0, kappa, 20)
        steps = int(12 * np.sqrt(kappa) * np.log(1 / goal) / 4) + 50
        path = optimisation.heavy_ball_velocity(
            lambda w, modes=modes: modes * w, np.ones(20), optimisation.constant_schedule(step, rho, steps)
        )
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
    yield figure.beside(
        f"κ = {condition:.4g}: least radius {root:.4f} at ηL = {tuned.step * condition:.3g}, ρ = {tuned.momentum:.3g}",
        figure.heatmap(
            f"Radius; least cell {heat[i][j]:.3f} at ηL = {etas[j]:.2f}, ρ = {rhos[::-1][i]:.2f}",
            x="ηL",
            y="ρ",
            values=np.minimum(heat, 1.1),
            xs=[f"{e:.2f}" for e in etas],
            ys=[f"{r:.2f}" for r in rhos[::-1]],
            colour="radius",
        ),
        figure.curves(
            f"Steps to {goal:.0e}: slope {fitted:.3f}",
            x="κ",
            y="steps",
            lines={"slope 1/2": (kappas, counts[-1] * np.sqrt(kappas / kappas[-1]))},
            points={"heavy ball": (kappas, counts)},
            log="xy",
        ),
    )
