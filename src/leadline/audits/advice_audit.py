"""Advice for a loss and the runs that follow it, theory beside measurement."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Array, PRNGKeyArray

from leadline.evidence import Comparison, Figure, Finding, at_most, close, run_entry
from leadline.evidence.registry import Entry
from leadline.presentation import figure
from leadline.stochastic import Advice, FiniteSum

from .trial import trial

MOST_STEPS = 20_000  # of a run that follows the advice


def advice_report(
    advice: Advice, problem: FiniteSum, start: Array, *, seed: int = 0, command: str = "", max_steps: int = MOST_STEPS
) -> Iterator[tuple[Entry, Finding]]:
    """Follow both plans of an `Advice` on its finite sum, from `start`, and compare with what was predicted.

    Runs are cut after `max_steps` steps; predictions for later times are then said to be inapplicable.
    """
    trials: tuple[tuple[str, str, Callable], ...] = (
        ("whole-gradients", f"{advice.full}.", lambda key: _full(advice, problem, start, key, max_steps)),
        (
            "batches",
            f"{advice.batches}, floor {advice.batches.floor:.3g}.",
            lambda key: _batches(advice, problem, start, key, max_steps),
        ),
    )
    for name, statement, run in trials:
        entry = trial(name, statement, run, kind="advice", chapter="advise", empirical=not advice.certified)
        yield entry, replace(run_entry(entry, seed=seed), asked=command)


def _full(
    advice: Advice, problem: FiniteSum, start: Array, key: PRNGKeyArray, max_steps: int
) -> Iterator[Comparison | Figure]:
    from leadline.optimisation import gd_pl_bound, nesterov_strongly_convex_bound
    from leadline.stochastic import follow

    plan = advice.full
    steps = min(plan.steps if advice.certified else 10 * plan.steps, max_steps)
    run = follow(plan, problem, start, num_steps=steps, looks=steps, key=key)
    gaps = run.values - advice.minimum
    L, m = advice.smoothness.value, min(advice.convexity.value, advice.smoothness.value)
    if plan.momentum or advice.convex:
        bound = np.asarray(nesterov_strongly_convex_bound(L, m, advice.distance, run.steps))
    else:
        bound = np.asarray(gd_pl_bound(L, m, advice.gap, run.steps))
    reached = np.flatnonzero(gaps <= advice.accuracy)
    count = int(run.steps[reached[0]]) if reached.size else steps + 1
    yield at_most(gaps, bound, "gap at every step, bound", atol=1e-12)
    yield at_most(count, plan.steps, f"steps to the gap {advice.accuracy:.3g}").given(
        reached.size or steps >= plan.steps, f"the run is not cut after {max_steps} steps"
    )
    shown = np.unique(np.geomspace(1, len(gaps), 200).astype(int)) - 1
    said = (
        f"{count} steps to the gap {advice.accuracy:.2g}, at most {plan.steps} predicted"
        if reached.size
        else (f"the gap {advice.accuracy:.2g} is not reached in {steps} steps")
    )
    yield figure.curves(
        f"{plan.method} with whole gradients: {said}",
        "step",
        "gap",
        log="y",
        lines={"bound": (run.steps[shown], bound[shown])},
        points={"measured": (run.steps[shown], np.maximum(gaps[shown], 1e-16))},
        rules={"accuracy asked for": ("y", advice.accuracy)},
    )


def _batches(
    advice: Advice, problem: FiniteSum, start: Array, key: PRNGKeyArray, max_steps: int
) -> Iterator[Comparison | Figure]:
    from leadline.stochastic import follow

    plan = advice.batches
    steps = min(2 * plan.steps, max_steps)
    run = follow(plan, problem, start, num_steps=steps, looks=400, key=key)
    gaps = run.values - advice.minimum
    settled = run.steps >= plan.steps
    whole = bool(settled.sum() > 20)
    floor = float(np.mean(gaps[settled])) if whole else float("nan")
    yield at_most(floor, advice.accuracy, f"mean gap after {plan.steps} steps, accuracy asked for").given(
        whole, f"the run is not cut after {max_steps} steps"
    )
    spread = _error(gaps[settled]) if whole else 0.0
    yield close(floor, plan.floor, "mean gap at the end, predicted floor", rtol=0.05, atol=4 * spread).given(
        whole and advice.certified, "the noise is measured at the minimum and the run reaches its floor"
    )
    word = "settles at" if advice.certified else f"mean gap after {plan.steps} steps"
    said = f"{word} {floor:.3g}, predicted {plan.floor:.3g}" if whole else f"cut after {steps} steps"
    expected = plan.floor + (1 - plan.step * min(advice.convexity.value, 1 / plan.step)) ** run.steps * advice.gap
    yield figure.curves(
        f"SGD, step {plan.step:.3g}, batches of {plan.batch}: {said}",
        "step",
        "gap",
        log="y",
        lines={"predicted: (1 − ηm)ᵗ gap₀ + floor": (run.steps, expected)},
        points={"measured": (run.steps, np.maximum(gaps, 1e-16))},
        rules={"accuracy asked for": ("y", advice.accuracy)},
    )


def _error(values: np.ndarray) -> float:
    """The standard error of the mean of a correlated series, from the means of 10 blocks."""
    blocks = [block.mean() for block in np.array_split(values, 10)]
    return float(np.std(blocks, ddof=1) / np.sqrt(len(blocks)))
