"""The rate audit: certified constants of softmax regression on the digits predict five optimisers before they run."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from leadline.evidence import Comparison, Figure, at_least, at_most, erratum, exactly
from leadline.optimisation.objectives.objective import Constants
from leadline.presentation import figure

GOAL = 1e-8
#: ridge penalty → the methods that are run with it; plain descent would take 30 000 steps and more with the last two
RACES = {
    0.1: ("descent 1/L", "descent 2/(m+L)", "Nesterov", "Nesterov, growing", "heavy ball", "Newton"),
    0.01: ("descent 1/L", "descent 2/(m+L)", "Nesterov", "Nesterov, growing", "heavy ball", "Newton"),
    0.001: ("Nesterov", "heavy ball"),
    0.0001: ("Nesterov", "heavy ball", "Newton"),
}


class Race(NamedTuple):
    """The gaps of each method with one penalty, up to the goal, and what is certified of the problem."""

    constants: Constants
    distance: float
    gaps: dict[str, np.ndarray]

    @property
    def counts(self) -> dict[str, int]:
        return {name: len(gaps) - 1 for name, gaps in self.gaps.items()}


def run_race(penalty: float, names: tuple[str, ...]) -> Race:
    """Every named method from W = 0 until the gap is 10⁻⁸."""
    import jax.numpy as jnp
    import optax

    from leadline import optimisation as o
    from leadline.optimisation.runs.descent import losses_until

    problem = o.digits_softmax(penalty)
    known = problem.constants()
    L, m, minimiser, minimum = known.certified()
    distance = float(np.linalg.norm(minimiser))
    rules = {
        "descent 1/L": o.tunable(optax.sgd, learning_rate=1 / L),
        "descent 2/(m+L)": o.tunable(optax.sgd, learning_rate=2 / (m + L)),
        "Nesterov": o.nesterov(*o.nesterov_tuning(L, m)),
        "Nesterov, growing": o.nesterov_growing(1 / L),
        "heavy ball": o.heavy_ball(*o.heavy_ball_tuning(L, m)),
        "Newton": o.newton(),
    }
    start, gaps = jnp.zeros(650), {}
    descent = o.gd_pl_steps(L, m, float(problem(start)) - minimum, GOAL)
    accelerated = 5 * o.nesterov_steps(L, m, distance, GOAL)
    for name in names:
        most = descent if "descent" in name else 30 if name == "Newton" else accelerated
        count, losses = losses_until(problem, rules[name], start, minimum + GOAL, most)
        gaps[name] = np.asarray(losses)[: min(int(count), most) + 1] - minimum
    return Race(known, distance, gaps)


def race(found: Race) -> Iterator[Comparison | Figure]:
    """Bounds at every iteration, and the counts."""
    from leadline import optimisation as o

    known, gaps = found.constants, found.gaps
    L, m, _, _ = known.certified()
    bounds: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "descent 1/L": lambda t, g: np.asarray(o.gd_pl_bound(L, m, g[0], t)),
        "descent 2/(m+L)": lambda t, g: np.asarray(o.gd_strongly_convex_bound(L, m, found.distance, t)),
        "Nesterov": lambda t, g: np.asarray(o.nesterov_strongly_convex_bound(L, m, found.distance, t)),
        "Nesterov, growing": lambda t, g: np.asarray(o.nesterov_convex_bound(L, found.distance, t)),
    }
    lines = {}
    for name, values in gaps.items():
        if name in bounds:
            t = np.arange(len(values))
            bound = bounds[name](t, values)
            yield at_most(values, bound, f"{name}: gap at every step, bound", rtol=1e-9, atol=1e-12)
            shown = _few(len(values))
            lines[f"{name}, bound"] = (t[shown], bound[shown])
        yield at_most(values[-1], GOAL, f"{name}: gap after {len(values) - 1} steps")
    counts = ", ".join(f"{name} {count}" for name, count in found.counts.items())
    yield figure.curves(
        f"κ = {known.condition:.4g}, steps to gap 1e-8: {counts}",
        "step",
        "gap",
        log="xy",
        lines={name: curve for name, curve in lines.items() if "growing" not in name},
        points={name: (np.arange(len(v))[_few(len(v))] + 1, v[_few(len(v))]) for name, v in gaps.items()},
    )


def slopes(races: dict[float, Race]) -> Iterator[Comparison | Figure]:
    """How the counts grow with the condition number: κ for descent, √κ for the accelerated methods."""
    limits = {"descent 1/L": (0.9, 1.0), "Nesterov": (0.48, 0.55), "heavy ball": (0.48, 0.55)}
    points, found = {}, {}
    for name, (low, high) in limits.items():
        ran = [race for race in races.values() if name in race.counts]
        kappas, counts = (
            np.array(v, float) for v in zip(*[(r.constants.condition, r.counts[name]) for r in ran], strict=True)
        )
        found[name] = float(np.polyfit(np.log(kappas), np.log(counts), 1)[0])
        points[name] = (kappas, counts)
        yield at_least(found[name], low, f"{name}: exponent of κ in the number of steps")
        yield at_most(found[name], high, f"{name}: exponent of κ in the number of steps")
    said = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
    yield figure.curves(f"Exponents of κ: {said}", "condition number κ", "steps to gap 1e-8", log="xy", points=points)


def newton_order() -> Iterator[Comparison | Figure]:
    """The order of Newton's method from its gradients: q in [1.8, 2.2]."""
    import jax.numpy as jnp

    from leadline import optimisation as o

    problem = o.digits_softmax(0.1)
    norms = o.descend(problem, o.newton(), jnp.zeros(650), 5).gradient_norms
    falls = -np.diff(np.log(norms[norms > 1e-13]))
    order = float(falls[-1] / falls[-2])
    yield at_least(order, 1.8, "order q of Newton's method, from its last gradients")
    yield at_most(order, 2.2, "order q of Newton's method, from its last gradients")
    yield figure.curves(
        f"Newton's gradient norms fall with order {order:.2f}: the digits double at every step",
        "step",
        "gradient norm",
        log="y",
        points={"measured": (np.arange(len(norms)), np.maximum(norms, 1e-17))},
    )


def printed_step(found: Race) -> Iterator[Comparison | Figure]:
    """On the quadratic model at the minimum of a = 0.01: the printed step 2/(m + L) diverges, 1/L converges."""
    import jax.numpy as jnp

    from leadline import optimisation as o

    problem = o.digits_softmax(0.01)
    hessian = np.asarray(problem.hessian(jnp.asarray(found.constants.minimiser)))
    values = np.linalg.eigvalsh(hessian)
    m, L = float(values[0]), float(values[-1])
    bowl = o.Quadratic(jnp.asarray(hessian), jnp.zeros(650))
    momentum = o.nesterov_tuning(L, m).momentum
    start = jnp.ones(650) / 650**0.5
    runs = {}
    for name, step in (("1/L", 1 / L), ("2/(m+L)", 2 / (m + L))):
        check = o.check_step("nesterov", step, L, momentum)
        runs[name] = np.asarray(o.descend(bowl, o.nesterov(step, momentum), start, 300).values)
        predicted = exactly(
            bool(runs[name][-1] < runs[name][0]),
            check.stable,
            f"step {name} converges, as said before: {check.sentence}",
        )
        yield predicted
    yield erratum(
        at_most(runs["2/(m+L)"][-1], runs["2/(m+L)"][0], "loss after 300 steps with step 2/(m+L), first loss"),
        of=predicted,
        by="penn",
        prints="Nesterov's method converges for every step up to 2/(m + L)",
    )
    t = np.arange(301)
    yield figure.curves(
        f"The quadratic model at the minimum (κ = {L / m:.0f}): step 2/(m+L) explodes to {runs['2/(m+L)'][-1]:.0e}",
        "step",
        "loss",
        log="y",
        points={f"step {name}": (t, np.maximum(v, 1e-18)) for name, v in runs.items()},
    )


def rate_trials() -> Iterator[tuple[str, str, Any]]:
    """The trials of the audit, in order: id, what it says, its generator; each race is run when its turn comes."""
    races: dict[float, Race] = {}

    def raced(penalty):
        races[penalty] = run_race(penalty, RACES[penalty])
        yield from race(races[penalty])

    for penalty in RACES:
        says = (
            f"Softmax regression on 1797 digits, ridge {penalty:g}: certified L and m bound every method at every step."
        )
        yield f"race-{penalty:g}", says, lambda key, a=penalty: raced(a)
    yield "slopes", "Steps grow as κ for gradient descent and as √κ for accelerated methods.", lambda key: slopes(races)
    yield "newton", "Newton's method converges with order 2.", lambda key: newton_order()
    yield (
        "printed-step",
        "Nesterov's method with the step 2/(m + L) that a text allows is unstable when κ > 4; with 1/L it converges.",
        lambda key: printed_step(races[0.01]),
    )


def _few(length: int) -> np.ndarray:
    return np.unique(np.geomspace(1, length, 80).astype(int)) - 1
