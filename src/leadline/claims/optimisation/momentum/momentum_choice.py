"""Which momentum to take: by the condition number, and by default."""

import numpy as np

from leadline import data, optimisation
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, reference
from leadline.optimisation.bounds.momentum_spectrum import best_momentum, measured_factor, steps_for_factor
from leadline.optimisation.rules.momentum_forms import Schedule
from leadline.presentation import figure


def formula(kappa):
    """ρ(κ) = (√κ − 1)/(√κ + 1)."""
    return (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)


@claim(sources=("penn",))
def momentum_versus_condition_number(key, condition: Real(2.0, 1e5, log=True) = 1000.0, modes: Int(2, 40) = 8):
    r"""Best momentum for a condition number.

    The best momentum of Nesterov's method at η = 1/L is (√κ − 1)/(√κ + 1): near 0 for round bowls and near 1 for long
    valleys, with the averaging time 1/(1 − ρ) = (√κ + 1)/2. Large ρ means low friction, c = (1 − ρ)/√η.

    $$\rho(\kappa) = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}, \; \frac{1}{1-\rho} = \frac{\sqrt\kappa+1}{2}$$

    Assumes: a quadratic; η = 1/L.

    Check: The best ρ is searched for by the spectral radius at the given κ, and by runs of 25√κ steps over a grid of ρ
    for κ from 4 to 10⁴.
    """
    rhos = [optimisation.nesterov_tuning(k, 1.0).momentum for k in (10.0, 100.0, 1000.0, 1e4)]
    yield reference(rhos, [0.5195, 0.8182, 0.9387, 0.9802], "ρ(κ) at κ = 10, 100, 1000, 10⁴", digits=4)
    best, _ = best_momentum("nesterov", 1 / condition, condition, 1.0)
    yield close(best, formula(condition), "best ρ by search, against the formula", atol=1e-4)
    yield close(
        1 / (1 - formula(condition)),
        (np.sqrt(condition) + 1) / 2,
        "1/(1 − ρ) at the best ρ, against (√κ + 1)/2",
        rtol=1e-9,
    )
    none, best = (optimisation.equivalent_friction(1 / condition, rho) for rho in (0.0, formula(condition)))
    friction = at_most(best, none, "friction at the best ρ, against that at ρ = 0", strict=True)
    yield friction
    wrong = at_least(best, none, "friction at the best ρ, against that at ρ = 0")
    prints = "ρ, whose value (√κ − 1)/(√κ + 1) is right, is friction that prevents overshooting"
    yield erratum(wrong, of=friction, by="penn", prints=prints)
    rng, kappas, found = data.generator(key), np.geomspace(4, 1e4, 8), []
    start = rng.choice([-1.0, 1.0], size=modes) * rng.uniform(0.5, 1.5, size=modes)
    for kappa in kappas:
        rhos = np.clip(formula(kappa) + np.linspace(-0.06, 0.06, 49), 0.0, 0.999)
        steps, curvatures = int(25 * np.sqrt(kappa)) + 25, np.geomspace(1.0, kappa, modes) / kappa
        plan = Schedule(np.ones(steps), np.tile(rhos[:, None], (steps, 1, 1)))
        path = optimisation.nesterov_two_line(lambda w, h=curvatures: h * w, np.tile(start, (49, 1)), plan)
        found.append(rhos[np.argmin(np.max(np.linalg.norm(path[-steps // 5 :], axis=2), axis=0))])
    yield close(found, formula(kappas), "best ρ in runs on quadratics, κ = 4 … 10⁴", atol=0.02)

    def count(rho):
        return steps_for_factor(optimisation.worst_factor("nesterov", 1e-3, rho, 1000.0, 1.0), np.exp(-1))

    yield close(count(0.06), 1000.0, "steps per factor e at κ = 1000, ρ = 0.06, against κ", rtol=0.1)
    yield close(count(0.94), np.sqrt(1000.0), "steps per factor e at κ = 1000, ρ = 0.94, against √κ", rtol=0.1)
    line = np.geomspace(1.5, 2e4, 100)
    title = f"The best momentum follows (√κ − 1)/(√κ + 1): {formula(condition):.4f} at κ = {condition:.4g}"
    lines = {"(√κ − 1)/(√κ + 1)": (line, formula(line))}
    yield figure.curves(title, "κ", "ρ", lines=lines, points={"best in runs": (kappas, found)}, log="x")


@claim(sources=("penn",))
def default_momentum_regret(key, momentum: Real(0.5, 0.98) = 0.9, method: OneOf("nesterov", "heavy ball") = "nesterov"):
    r"""Cost of the default momentum 0.9.

    ρ = 0.9 is Nesterov's optimum at κ = 361 (for heavy ball's tuning, at κ = 1442). Elsewhere it has a cost: the ratio
    of the number of steps to that with the best ρ, both at η = 1/L, is 1 there, grows on both sides and is about √κ/10
    for large κ. The effective step is η/(1 − ρ), ten times η.

    $$\mathrm{regret}(\kappa) = \frac{\log r(\rho^*)}{\log r(0.9)} \approx (1-\rho)\sqrt\kappa$$

    Assumes: a quadratic; η = 1/L.

    Check: Spectral radii are computed for κ from 2 to 10⁶; the best ρ at η = 1/L is given by its formula and checked
    by search.
    """
    root = np.sqrt(momentum)
    home = ((1 + momentum) / (1 - momentum)) ** 2 if method == "nesterov" else 1 / (1 - root) ** 2
    kappas = [(1.9 / 0.1) ** 2, ((1 + 0.9**0.5) / (1 - 0.9**0.5)) ** 2]
    yield reference(kappas, [361, 1442], "κ at which ρ = 0.9 is best for Nesterov and for heavy ball", digits=4)
    yield close(optimisation.nesterov_tuning(361.0, 1.0).momentum, 0.9, "Nesterov's ρ at κ = 361", atol=1e-9)
    yield close(optimisation.heavy_ball_tuning(1442.0, 1.0).momentum, 0.9, "heavy ball's ρ at κ = 1442", atol=1e-4)

    def best_rho(kappa):
        return formula(kappa) if method == "nesterov" else (1 - 1 / np.sqrt(kappa)) ** 2

    def regret(kappa):
        factors = [optimisation.worst_factor(method, 1 / kappa, rho, kappa, 1.0) for rho in (best_rho(kappa), momentum)]
        return np.log(factors[0]) / np.log(factors[1])

    searched, _ = best_momentum(method, 1 / home, home, 1.0)
    yield close(searched, momentum, f"best ρ by search at κ = {home:.4g}, η = 1/L", atol=1e-4)
    yield close(regret(home), 1.0, f"regret at κ = {home:.4g}", rtol=0.02)
    kappas = np.geomspace(2, 1e6, 61)
    values = np.array([regret(k) for k in kappas])
    yield at_least(values, 1.0, "regret for κ from 2 to 10⁶", rtol=1e-6)
    # Below κ ≈ 1/(1 − ρ) everything converges in a few steps and Nesterov's regret falls again.
    below, above = values[(kappas < home * 0.98) & (kappas > 3 / (1 - momentum))], values[kappas > home * 1.02]
    if len(below) > 1:
        yield at_most(np.diff(below), 0.0, f"change of the regret from κ = 3/(1 − ρ) to {home:.4g}", strict=True)
    yield at_least(np.diff(above), 0.0, f"change of the regret beyond κ = {home:.4g}", strict=True)
    yield close(values[-1], (1 - momentum) * 1000, "regret at κ = 10⁶, against (1 − ρ)√κ", rtol=0.1)
    plan = optimisation.constant_schedule(1.0, momentum, int(40 / (1 - momentum)))
    pace = np.diff(optimisation.heavy_ball_velocity(lambda w: -np.ones_like(w), np.zeros(1), plan)[:, 0])[-1]
    yield close(pace, 1 / (1 - momentum), "effective step over η, constant gradient", rtol=1e-9)
    few, seen = np.geomspace(3, 1e4, 10), []
    for kappa in few:
        rates = [
            np.max(measured_factor(method, np.array([1 / kappa, 1.0]), float(rho), num_steps=2000))
            for rho in (best_rho(kappa), momentum)
        ]
        seen.append(np.log(rates[0]) / np.log(rates[1]))
    large, rules = kappas[30:], {f"κ = {home:.4g}": ("x", home)}
    lines = {"from the spectral radius": (kappas, values), "(1 − ρ)√κ": (large, (1 - momentum) * np.sqrt(large))}
    title = f"ρ = {momentum:g} is right at κ = {home:.4g} and costs {values[-1]:.3g} times the steps at κ = 10⁶"
    points, axes = {"from runs": (few, seen)}, ("κ", "steps / steps with the best ρ")
    yield figure.curves(title, *axes, lines=lines, points=points, rules=rules, log="xy")
