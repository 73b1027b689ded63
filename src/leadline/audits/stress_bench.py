"""The stress bench: a user's optimiser on the worst-case functions, with the bounds it keeps and those it breaks.

Every trial has smoothness L = 1 (or says which), so that one range of step sizes serves all; each trial takes the
step size that suits the optimiser best, because a bound that fails at its best step fails at every step.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leadline.evidence import Comparison, Figure, Finding, at_least, at_most, run_entry
from leadline.evidence.parameters import BadInput
from leadline.evidence.registry import Entry
from leadline.presentation import figure

from .trial import trial

SIZES = np.geomspace(1e-4, 20.0, 54)
_DIMENSION = 20


@dataclass(frozen=True)
class Contender:
    """make(step, **settings), to be called with the step size alone."""

    make: Callable
    settings: tuple[tuple[str, Any], ...] = ()

    def __call__(self, step: Any) -> Any:
        return self.make(step, **dict(self.settings))


def worst_chain(entrant: Contender) -> Iterator[Comparison | Figure]:
    """Nesterov's chain, on which no method that stays in the span of its gradients is fast."""
    import jax.numpy as jnp

    from leadline.optimisation import (
        WorstChain,
        check_span,
        convergence_order,
        gd_convex_bound,
        nesterov_convex_bound,
        step_sweep,
    )
    from leadline.optimisation.runs.stress_runs import best_size

    steps = 60
    chain = WorstChain(2 * steps + 1, 1.0)
    known = chain.constants().certified()
    start, distance = jnp.zeros(2 * steps + 1), float(np.linalg.norm(known.minimiser))
    gaps = np.asarray(step_sweep(chain, entrant, jnp.asarray(SIZES), start, steps)) - known.minimum
    best = best_size(SIZES, gaps[:, -1])
    gap, t = gaps[best], np.arange(1, steps + 1)
    spans = check_span(_rotated(100.0), entrant(SIZES[best]), jnp.ones(_DIMENSION), 8).first_order
    yield at_least(
        gap[-1],
        3 / 32 * distance**2 / (steps + 1) ** 2,
        f"gap after {steps} steps, lower bound for every first-order method",
    ).given(spans, "the method stays in the span of its gradients")
    yield at_least(gap[-1], 1 / (16 * (steps + 1)), "gap, best point in the span of the gradients", rtol=1e-9).given(
        spans, "the method stays in the span of its gradients"
    )
    yield at_most(gap[1:], gd_convex_bound(1.0, distance, t), "gap, gradient descent's guarantee LR²/(4t + 2)")
    yield at_most(gap[1:], nesterov_convex_bound(1.0, distance, t), "gap, Nesterov's guarantee 2LR²/(t + 1)²")
    order = convergence_order(gap, first=0)
    yield figure.curves(
        f"At its best step, {SIZES[best]:.2g}/L, the run is {order.name} ({order.fitted.value:.3g}); it "
        + ("stays in" if spans else "leaves")
        + " the span of its gradients",
        "step t",
        "gap",
        log="xy",
        lines={
            "gradient descent's guarantee": (t, gd_convex_bound(1.0, distance, t)),
            "Nesterov's guarantee": (t, nesterov_convex_bound(1.0, distance, t)),
        },
        points={
            "measured": (t, gap[1:]),
            f"lower bound at t = {steps}": ([steps], [3 / 32 * distance**2 / (steps + 1) ** 2]),
        },
    )


def sharp_huber(entrant: Contender) -> Iterator[Comparison | Figure]:
    """The Huber function with knee R/(2t + 1): gradient descent attains its bound on it."""
    import jax
    import jax.numpy as jnp

    from leadline.optimisation import Huber, gd_convex_bound, nesterov_convex_bound, step_sweep
    from leadline.optimisation.runs.stress_runs import best_size

    counts = np.array([5, 15, 50, 150])
    knees = jnp.asarray(1 / (2 * counts + 1.0))

    def sweep(knee):
        return step_sweep(Huber(knee), entrant, jnp.asarray(SIZES), jnp.ones(1), int(counts[-1]))

    values = np.asarray(jax.jit(jax.vmap(sweep))(knees))
    gaps = np.stack([values[i, :, t] for i, t in enumerate(counts)], axis=1)  # (sizes, counts)
    best = best_size(SIZES, np.max(gaps * (4 * counts + 2), axis=1))
    slow, fast = gd_convex_bound(1.0, 1.0, counts), nesterov_convex_bound(1.0, 1.0, counts)
    yield at_most(gaps[best], slow, "gap after t steps, gradient descent's guarantee R²L/(4t + 2)", rtol=1e-9)
    yield at_most(gaps[best], fast, "gap after t steps, Nesterov's guarantee 2LR²/(t + 1)²", rtol=1e-9)
    yield figure.curves(
        f"The sharp Huber functions at one step size, {SIZES[best]:.2g}/L: "
        f"{'within' if np.all(gaps[best] <= slow * (1 + 1e-9)) else 'above'} gradient descent's guarantee",
        "step t",
        "gap on the function made for t",
        log="xy",
        lines={"gradient descent's guarantee": (counts, slow), "Nesterov's guarantee": (counts, fast)},
        points={"measured": (counts, gaps[best])},
    )


def conditioning(entrant: Contender) -> Iterator[Comparison | Figure]:
    """Rotated quadratics of growing condition number: how steps grow in number, and from where they are too long."""
    import jax.numpy as jnp

    from leadline.optimisation import convergence_order, gd_steps, nesterov_steps, step_sweep
    from leadline.optimisation.runs.stress_runs import best_size, hitting_sweep, largest_stable

    most, accuracy = 30_000, 1e-6
    conditions = np.array([10.0, 100.0, 1000.0, 10_000.0])
    start = jnp.ones(_DIMENSION)
    counts, goals = [], []
    for condition in conditions:
        bowl = _rotated(condition)
        goals.append(accuracy * float(bowl(start)))
        hits = np.asarray(hitting_sweep(bowl, entrant, jnp.asarray(SIZES), start, goals[-1], most))
        counts.append(int(hits.min()))
        if condition == 100.0:
            fine = np.geomspace(1e-3, 20.0, 200)
            runs = np.asarray(step_sweep(bowl, entrant, jnp.asarray(fine), start, 300))
            limit = largest_stable(fine, runs)
            ends = runs[:, -1]
            law = _order(convergence_order, runs[best_size(fine, ends)])
    counts = np.array(counts)
    reached = counts <= most
    distance = float(np.linalg.norm(start))
    gd = np.array([gd_steps(1.0, 1 / k, distance, goal) for k, goal in zip(conditions, goals, strict=True)])
    fast = np.array([nesterov_steps(1.0, 1 / k, distance, goal) for k, goal in zip(conditions, goals, strict=True)])
    yield at_most(counts, gd, f"steps to {accuracy:g} of the first gap, gradient descent's guarantee")
    yield at_most(counts, fast, f"steps to {accuracy:g} of the first gap, Nesterov's guarantee")
    yield at_least(limit, 1.0, "largest stable step times L at κ = 100, where gradient descent has 2")
    growth = np.polyfit(np.log(conditions[reached]), np.log(counts[reached]), 1)[0] if reached.sum() > 1 else np.nan
    yield figure.beside(
        f"Steps grow as κ^{growth:.2f}: {_named(growth)}; at κ = 100 it is {law}",
        figure.curves(
            "Steps at the best step size",
            "condition number κ",
            "steps",
            log="xy",
            lines={"gradient descent's guarantee": (conditions, gd), "Nesterov's guarantee": (conditions, fast)},
            points={"measured": (conditions[reached], counts[reached])},
        ),
        figure.curves(
            f"After 300 steps at κ = 100: diverges above {limit:.3g}/L"
            if limit < fine[-1]
            else f"After 300 steps at κ = 100: no divergence up to {fine[-1]:g}/L",
            "step size times L",
            "loss",
            log="xy",
            points={"measured": (fine, np.where(np.isfinite(ends), np.clip(ends, 1e-16, 1e8), 1e8))},
            rules={"gradient descent diverges": ("x", 2.0)},
        ),
    )


def three_cycle(entrant: Contender) -> Iterator[Comparison | Figure]:
    """Lessard's function (m = 1, L = 25): a tuning that is best on quadratics need not converge."""
    import jax.numpy as jnp

    from leadline.optimisation import Lessard, Quadratic, step_sweep
    from leadline.optimisation.runs.stress_runs import best_size, ends_from, outside

    bowl = Quadratic(jnp.diag(jnp.array([1.0, 25.0])), jnp.zeros(2))
    tuned = np.geomspace(1e-3, 10.0, 300) / 25
    ends = np.asarray(step_sweep(bowl, entrant, jnp.asarray(tuned), jnp.ones(2), 100))[:, -1]
    step = float(tuned[best_size(tuned, ends)])
    starts = np.linspace(-6, 6, 121)
    tails = np.asarray(ends_from(Lessard(), entrant(step), jnp.asarray(starts[:, None]), 2000, 3))
    astray = outside(tails, radius=1e-3)
    share = float(np.mean(astray))
    yield at_most(share, 0.0, "share of starts in [−6, 6] that do not reach the minimum in 2000 steps")
    finite = np.where(np.isfinite(tails[..., 0]), np.clip(tails[..., 0], -1e3, 1e3), 1e3)
    said = "every start converges" if share == 0 else f"{share:.0%} of the starts do not converge"
    yield figure.curves(
        f"Tuned on quadratics (step {25 * step:.2g}/L): {said}",
        "start",
        "last three points",
        points={f"point {i + 1} of the last three": (starts, finite[:, i]) for i in range(3)},
        rules={"minimum": ("y", 0.0)},
    )


def drift(entrant: Contender) -> Iterator[Comparison | Figure]:
    """Reddi's online problem: rare large gradients must not be averaged away."""
    import jax
    import jax.numpy as jnp
    import optax

    from leadline.optimisation import average_regret, play_online
    from leadline.optimisation.runs.online import drifting_slopes
    from leadline.optimisation.runs.stress_runs import best_size

    steps, slope = 100_000, 3.0
    slopes, sizes = drifting_slopes(steps, slope), np.geomspace(0.02, 2.0, 9)

    def play(size):
        paced = optax.chain(entrant(size), optax.scale_by_schedule(lambda t: 1 / jnp.sqrt(t + 1.0)))
        return play_online(paced, jnp.asarray(slopes))

    runs = np.asarray(jax.vmap(play)(jnp.asarray(sizes)))
    regrets = np.array([average_regret(points, slopes)[-1] for points in runs])
    best = best_size(sizes, regrets)
    bound = (2**2 / (2 * sizes[best]) + slope**2 * sizes[best]) / np.sqrt(steps)
    points = runs[best]
    yield at_most(regrets[best], bound, "average regret, projected gradient descent's guarantee (Zinkevich)")
    yield at_most(points[-1], 0.0, "last point; the best fixed one is −1")
    shown = np.unique(np.geomspace(1, steps, 200).astype(int)) - 1
    yield figure.curves(
        f"f = 3x, −x, −x, …: after {steps} rounds at {points[-1]:+.3f}, average regret {regrets[best]:.3g}",
        "round",
        "x",
        log="x",
        points={"measured": (shown + 1, points[shown])},
        rules={"best fixed point": ("y", -1.0)},
    )


def digits_regression(entrant: Contender) -> Iterator[Comparison | Figure]:
    """Softmax regression on the bundled digits, ridge 0.1: certified L = 5.82, m = 0.1, κ = 58."""
    import jax.numpy as jnp

    from leadline.optimisation import descend, digits_softmax, gd_steps, nesterov_steps, step_sweep
    from leadline.optimisation.runs.stress_runs import best_size

    loss = digits_softmax(0.1)
    L, m, minimiser, minimum = loss.constants().certified()
    start, goal, most = jnp.zeros(650), 1e-8, 1100
    sizes = np.geomspace(1e-3, 16.0, 15) / L
    early = np.asarray(step_sweep(loss, entrant, jnp.asarray(sizes), start, 120))[:, -1]
    step = float(sizes[best_size(sizes, early)])
    gaps = np.asarray(descend(loss, entrant(step), start, most).values) - minimum
    below = np.flatnonzero(gaps <= goal)
    count = int(below[0]) if below.size else most + 1
    distance = float(np.linalg.norm(minimiser))
    slow = gd_steps(L, m, distance, goal, step_size=1 / L)
    fast = nesterov_steps(L, m, distance, goal)
    yield at_most(count, slow, "steps to gap 1e-8, gradient descent's certified bound")
    yield at_most(count, fast, "steps to gap 1e-8, Nesterov's certified bound")
    t = np.arange(most + 1)
    shown = slice(0, min(most, count + 60) + 1)
    said = f"gap 1e-8 after {count} steps" if below.size else f"gap {np.nanmin(gaps):.1e} after {most} steps"
    yield figure.curves(
        f"Digits, κ = {L / m:.0f}: {said} with step {step * L:.2g}/L (bounds: {slow} and {fast})",
        "step",
        "gap",
        log="y",
        points={"measured": (t[shown], np.maximum(gaps[shown], 1e-16))},
        rules={"goal": ("y", goal)},
    )


TRIALS = {
    "worst-chain": (
        worst_chain,
        "Nesterov's chain: gaps after t steps between the lower bound for every first-order "
        "method and the guarantees of gradient descent and of Nesterov's method.",
    ),
    "sharp-huber": (sharp_huber, "Huber functions with knee R/(2t + 1), on which gradient descent attains its bound."),
    "conditioning": (
        conditioning,
        "Rotated quadratics, κ = 10 to 10⁴: how the number of steps grows, and above which "
        "step size the method diverges.",
    ),
    "three-cycle": (three_cycle, "A strongly convex function on which the best tuning for quadratics may cycle."),
    "drift": (drift, "An online problem whose rare large gradients decide: the average regret must go to 0."),
    "digits": (digits_regression, "Softmax regression on real digits: steps to gap 1e-8 beside certified bounds."),
}


def stress(make: Callable, settings: Mapping[str, Any] = {}, *, command: str = "") -> Iterator[tuple[Entry, Finding]]:
    """Put an optimiser through every trial; `make(step, **settings)` gives an Optax rule.

    Yields for each trial what it is and its finding: a bound that is broken is a comparison that fails. `command` is
    what the findings say one should type to see them again.
    """
    entrant = Contender(make, tuple(settings.items()))
    _checked(entrant)
    for name, (run, statement) in TRIALS.items():
        entry = trial(name, statement, lambda key, run=run: run(entrant), chapter="stress")
        yield entry, replace(run_entry(entry), asked=command)


def _checked(entrant: Contender) -> None:
    """A rule is made and asked for one update, inside a trace as the sweeps do."""
    import jax
    import jax.numpy as jnp

    from leadline.training import apply_rule

    def once(step):
        w, rule = jnp.ones(2), entrant(step)
        return apply_rule(rule, rule.init(w), w, w @ w, 2 * w, lambda w: w @ w)[0]

    try:
        change = jax.eval_shape(once, jnp.ones(()))
    except Exception as error:  # whatever a user's function raises is one sentence
        raise BadInput(
            f"The optimiser cannot be used ({type(error).__name__}: {_first_line(error)}); it must be a function of "
            "the step size, which may be a JAX number, and give an Optax transformation."
        ) from None
    if getattr(change, "shape", None) != (2,):
        raise BadInput(
            "The optimiser's update does not have the shape of the parameters; give an Optax transformation."
        )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200]


def _rotated(condition: float) -> Any:
    """A quadratic with eigenvalues spread evenly in the logarithm from 1/κ to 1, in a random basis."""
    import jax.numpy as jnp

    from leadline.optimisation import Quadratic

    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(_DIMENSION, _DIMENSION)))[0]
    return Quadratic(jnp.asarray(basis * np.geomspace(1 / condition, 1.0, _DIMENSION) @ basis.T), jnp.zeros(_DIMENSION))


def _named(growth: float) -> str:
    if not np.isfinite(growth):
        return "too few runs arrived to say how"
    if growth < 0.3:
        return "hardly at all"
    if growth < 0.65:
        return "the exponent of accelerated methods"
    return "the exponent of gradient descent" if growth < 1.2 else "a worse exponent than gradient descent's"


def _order(classify: Callable, values: np.ndarray) -> str:
    try:
        order = classify(values)
    except ValueError:
        return "at the minimum at once"
    return f"{order.name} ({order.fitted.value:.3g})"
