"""Instruments on a run: is a step one of descent, how far has the run come, and what class of convergence is it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Int, Real, at_least, at_most, close, erratum, exactly, instrument
from leadline.optimisation.instruments.step_directions import directions_of_steps
from leadline.optimisation.objectives.any_loss import evaluate_points
from leadline.optimisation.runs.descent import Descent
from leadline.presentation import figure


@instrument(sources=("penn",))
def descent_direction(
    key, cases: Int(100, 5000, log=True) = 1000, momentum: Real(0.85, 0.98) = 0.95, num_steps: Int(60, 200) = 120
):
    r"""Descent direction test.

    A step d with ⟨g, d⟩ < 0 lowers the loss if it is short enough, and one with ⟨g, d⟩ > 0 raises it. The steps of
    momentum methods, of Adam, and of Newton's method near a maximum are not always descent steps.

    $$\langle \nabla l(w), d \rangle < 0 \Rightarrow l(w + \epsilon d) < l(w) \text{ for small } \epsilon > 0$$

    Assumes: l is differentiable; ∇l ≠ 0.

    Check: Himmelblau's function has four minima and, near (−0.27, −0.92), a maximum where Newton's step goes up.
    """
    rng = data.generator(key)
    objective = optimisation.Himmelblau()
    points, directions = rng.uniform(-5, 5, (cases, 2)), rng.normal(size=(cases, 2))
    found = directions_of_steps(objective, points, directions, epsilon=1e-6)
    gradients = evaluate_points(objective, points)[1]
    norms, lengths = np.linalg.norm(gradients, axis=1), np.linalg.norm(directions, axis=1)
    h = 1e-4 * directions / lengths[:, None]
    ahead, behind = (evaluate_points(objective, points + step)[0] for step in (h, -h))
    central = (ahead - behind) / 2e-4 * lengths
    steep, unit = norms > 10, norms * lengths
    yield close((found.slope / unit)[steep], (central / unit)[steep], "slope against a central difference", atol=1e-6)
    clear = (np.abs(found.cosine) > 1e-3) & steep
    signs = np.sign(-found.change[clear]), np.sign(found.cosine[clear])
    yield exactly(*signs, "sign of the decrease at 1e-6 against that of the cosine")
    near = np.array([-0.270845, -0.923039]) + 0.05 * rng.normal(size=(20, 2))  # the maximum
    hessians = jax.vmap(objective.hessian)(jnp.asarray(near))
    newton = -np.linalg.solve(hessians, evaluate_points(objective, near)[1][:, :, None])[:, :, 0]
    descends = directions_of_steps(objective, near, newton).descends
    yield exactly(descends.sum(), 0, "descending Newton steps at a maximum")
    start = jnp.asarray(rng.uniform(-1, 1, 2))
    rules = {
        "momentum": optimisation.tunable(optax.sgd, learning_rate=0.002, momentum=momentum),
        "Adam": optimisation.tunable(optax.adam, learning_rate=0.3),
        "gradient descent": optimisation.tunable(optax.sgd, learning_rate=0.002),
    }
    cosines, uphill = {}, {}
    for name, rule in rules.items():
        run = optimisation.descend(objective, rule, start, num_steps)
        path = np.asarray(run.points)
        seen = directions_of_steps(objective, path[:-1], np.diff(path, axis=0))
        moving = np.linalg.norm(np.asarray(run.gradients)[:-1], axis=1) > 1e-6
        cosines[name] = np.where(moving, seen.cosine, np.nan)
        uphill[name] = np.sum(moving & (seen.cosine < -1e-6))
    yield at_least([uphill["momentum"], uphill["Adam"]], 1, f"steps uphill of momentum {momentum:g} and of Adam")
    yield exactly(uphill["gradient descent"], 0, "steps uphill of gradient descent")
    title = f"Of {num_steps} steps {uphill['momentum']} with momentum and {uphill['Adam']} of Adam point uphill"
    points = {name: (np.arange(num_steps), cosine) for name, cosine in cosines.items()}
    rules = {"uphill below": ("y", 0.0)}
    yield figure.curves(title, "step", "cosine of the step with −∇l", points=points, rules=rules)


def _run(path: np.ndarray, values: np.ndarray, gradients: np.ndarray) -> Descent:
    return Descent(jnp.asarray(path), jnp.asarray(values), jnp.asarray(gradients))


@instrument(sources=("penn", "sheet"))
def convergence_measures(
    key,
    dimension: Int(2, 40) = 8,
    condition: Real(2.0, 1000.0, log=True) = 50.0,
    epsilon: Real(1e-4, 1e-2, log=True) = 1e-3,
    scale: Real(0.01, 100.0, log=True) = 10.0,
):
    r"""Gap, distance and gradient norm.

    The gap, the distance to the minimiser and the gradient norm all measure convergence; under strong convexity they
    bound each other, and at a flat minimum they decay at different rates. A small gradient alone can mean a saddle,
    and its size depends on the scale of the loss.

    $$\tfrac m2 \|w - w^*\|^2 \le l(w) - l^* \le \tfrac L2 \|w - w^*\|^2, \qquad \|\nabla l(w)\| \le \epsilon$$

    Assumes: for the two-sided bound: l is m-strongly convex and L-smooth.

    Check: The measures are taken on a quadratic, on w⁴/4 with steps of 0.1, and at the saddle of ½(w₁² − w₂²),
    approached along its stable side.
    """
    rng = data.generator(key)
    values = np.geomspace(1.0, condition, dimension)
    path = (1 - values / condition) ** np.arange(301)[:, None] * rng.normal(size=dimension)
    run = _run(path, path**2 @ values / 2, path * values)
    found = optimisation.measure_convergence(run, minimiser=np.zeros(dimension), minimum=0.0)
    yield at_most(found.distance**2 / 2, found.gap, "(m/2)‖w − w*‖² against the gap, every iterate", rtol=1e-9)
    yield at_most(found.gap, condition * found.distance**2 / 2, "gap against (L/2)‖w − w*‖², every iterate", rtol=1e-9)
    hit, small = found.hitting_time("gradient_norm", epsilon), np.linalg.norm(path * values, axis=1) <= epsilon
    first = np.argmax(small) if small.any() else -1
    yield exactly(-1 if hit is None else hit, first, "first step with ‖g‖ ≤ ε (−1: none)")
    scaled = optimisation.measure_convergence(_run(path, scale * run.values, scale * run.gradients), minimum=0.0)
    norms = scaled.gradient_norm, scale * found.gradient_norm
    yield close(*norms, f"gradient norms of {scale:g} l: another ε, the same points", rtol=1e-9)
    flat = [1.0]
    for _ in range(4000):
        flat.append(flat[-1] - 0.1 * flat[-1] ** 3)
    w = np.array(flat)
    run = _run(w[:, None], w**4 / 4, (w**3)[:, None])
    quartic = optimisation.measure_convergence(run, minimiser=np.zeros(1), minimum=0.0)
    for name, power in (("gap", 2.0), ("distance", 0.5), ("gradient_norm", 1.5)):
        fitted = optimisation.convergence_order(getattr(quartic, name))
        yield close(fitted.fitted.value, power, f"exponent of the {name} at the flat minimum of w⁴", rtol=0.02)
    point = np.array([0.5**20, 0.0])  # twenty steps of 1/2 from (1, 0)
    kinds = []
    for curvatures, w in (([1, -1], point), ([1, -1], np.eye(2)[0]), ([1, 2], point), ([-1, -2], point)):
        objective = optimisation.Quadratic(jnp.diag(jnp.array(curvatures, float)), jnp.zeros(2))
        kinds.append(optimisation.classify_stationary(objective, w, epsilon).kind)
    what = "kind of ε-stationary points by the signs of their curvature"
    yield exactly(kinds, ["saddle", "moving", "minimum", "maximum"], what)
    points, reached, t = {}, [], np.arange(301)
    for name in ("gap", "distance", "gradient_norm"):
        label, hit = name.replace("_", " "), found.hitting_time(name, epsilon)
        points[label] = (t, getattr(found, name))
        reached.append(f"{label} {'never' if hit is None else hit}")
    title = f"Three measures fall below {epsilon:.2g} at different steps: {'; '.join(reached)}"
    rules = {f"{epsilon:.2g}": ("y", epsilon)}
    yield figure.curves(title, "gradient descent steps of 1/L", "measure", points=points, rules=rules, log="y")


@instrument(sources=("penn",))
def convergence_order_classifier(
    key,
    length: Int(200, 3000, log=True) = 400,
    noise: Real(0.0, 0.01) = 0.005,
    kept: Real(0.5, 1.0) = 0.6,
    rate: Real(0.5, 0.95) = 0.9,
):
    r"""Order of convergence of a run.

    The ratio of successive gaps tends to 1 (sublinear, a power of t), to a rate between 0 and 1 (linear, a straight
    line on a semilogarithmic plot) or to 0 (superlinear). The class, its exponent with an interval, and the window
    used are read off a run.

    $$\rho = \lim \frac{e_{t+1}}{e_t}: \quad \rho = 1 \text{ sublinear},\ 0 < \rho < 1 \text{ linear},\ \rho = 0 \text{
    superlinear};\quad q = \lim \frac{\log e_{t+1}}{\log e_t}$$

    Assumes: the gaps are positive, so l* is known.

    Check: The classifier is given gaps with multiplicative noise, gaps with a plateau at 10⁻¹⁶ such as rounding
    leaves, and those of descent on a quadratic.
    """
    rng = data.generator(key)
    t = np.arange(1.0, length + 1)
    plateau = 1e-16 * (1 + rng.random(length))
    cases = {
        "1/t": (1 / t, "sublinear", 1.0),
        "1/t²": (t**-2, "sublinear", 2.0),
        f"{rate:g}ᵗ": (rate**t, "linear", rate),
        "with a plateau": (rate**t + plateau, "linear", rate),
        "2^−2ᵗ": (2.0 ** -(2.0 ** np.arange(6)), "superlinear", 2.0),
    }
    found = {}
    for name, (gaps, _, _) in cases.items():
        moved = gaps * np.exp(noise * rng.normal(size=gaps.size))
        found[name] = optimisation.convergence_order(moved, first=1, kept=kept, key=key)
    names, fits = [f.name for f in found.values()], [f.fitted.value for f in found.values()]
    _, kinds, known = zip(*cases.values(), strict=True)
    yield exactly(names, kinds, "class of five known sequences")
    yield close(fits, known, "exponent, rate or order of five known sequences", rtol=0.02)
    noiseless = optimisation.convergence_order(rate**t, first=1, kept=kept, key=key).fitted
    yield close([noiseless.low, noiseless.high], rate, "interval of the rate without noise", rtol=1e-6)
    values, start = np.geomspace(1.0, 20.0, 6), rng.uniform(0.5, 1.5, 6)  # the slowest mode is there from the start
    descent = np.array([np.sum(values * ((1 - values / 20) ** k * start) ** 2) / 2 for k in range(length)])
    named = optimisation.convergence_order(descent, kept=kept, key=key)
    linear = exactly(named.name, "linear", "class of gradient descent on a quadratic")
    yield linear
    yield close(named.fitted.value, (1 - 1 / 20) ** 2, "rate of descent on a quadratic against (1 − 1/κ)²", rtol=0.02)
    wrong = exactly(named.name, "sublinear", "class of gradient descent on a quadratic, names swapped")
    yield erratum(wrong, of=linear, by="penn", prints="0 < ρ < 1 is sub-linear convergence and ρ = 1 linear")
    first, last = found["1/t"].window
    window, power = t[first - 1 : last], found["1/t"].fitted.value
    first, last = named.window
    times, rho = np.arange(first, last + 1), named.fitted.value  # the geometric fit goes through the window's end
    fit = (times + 1.0, descent[last] * rho ** (times - last))
    lines = {f"t^−{power:.3f}": (window, window**-power), f"{rho:.4f}ᵗ": fit}
    points = {"1/t": (t, 1 / t), "descent on a quadratic": (t, np.maximum(descent, 1e-18))}
    title = f"A {named.name} rate ({rho:.4f}) is straight on the left, a power of t ({power:.3f}) on the right"
    yield figure.beside(
        title,
        figure.curves("semilogarithmic", "t", "gap", lines=lines, points=points, log="y"),
        figure.curves("logarithmic", "t", "gap", lines=lines, points=points, log="xy"),
    )
