"""How far back a user's network sees: gradients, influence and accuracy against the lag, exponents, gates."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from leadline._messages import reason
from leadline.networks.dissection.loops.recurrences import Recurrence, RecurrentNetwork, recurrent_network
from leadline.sequences.gradients.state_jacobians import lyapunov_exponents, state_jacobians
from leadline.sequences.gradients.state_vectors import overflow_step
from leadline.sequences.memory.horizons import context_accuracy, horizon, influence, replaced_influence
from leadline.sequences.memory.saturation import saturation

from ...intake.positions import counting
from ...subject import Rows, Subject

ROWS = 64  # on which gradients and influences are measured
FOLLOWED = 8  # rows whose Jacobians are multiplied
LAGS = 12  # at which inputs are replaced
ENOUGH = 0.95  # of the accuracy with the whole sequence
LARGEST = 512  # numbers in a state whose Jacobians are formed


class Loops(NamedTuple):
    """A network with its recurrences kept whole, or why it has none that can be measured."""

    network: RecurrentNetwork | None
    why: str = ""

    @property
    def forward(self) -> tuple[Recurrence, ...]:
        """The loops over the longest axis of time that go forward."""
        loops = () if self.network is None else self.network.recurrences
        longest = max((loop.length for loop in loops), default=0)
        return tuple(loop for loop in loops if loop.length == longest and not loop.reverse)


class GateShare(NamedTuple):
    """One layer of squashing units: shares of values beyond each limit, mean slope, and units that never move."""

    kind: str
    low: float
    high: float
    slope: float
    stuck: int
    units: int


class Measured(NamedTuple):
    """Curves by lag k = 0, 1, ... (`lags`) or at some lags: `gradient`, log ‖∂l/∂z‖ k steps before the loss;
    `influence`, log of the change of the last output with an input; `context`, accuracy with the last k steps alone.

    `horizons` are the lags at half of the value at lag 1, and the least k with 95% of the accuracy. `exponents`: the
    largest Lyapunov exponent of each loop, mean over rows; `slopes` and `keeps`, row by row: the slope of `gradient`
    against the lag, and the largest mean log of a state's own part, ∂z_i/∂z_i, in one step. `overflow` is the step
    from which a state is not finite.
    """

    steps: int
    size: int
    rows: int
    lags: np.ndarray
    gradient: np.ndarray | None
    influence_lags: np.ndarray
    influence: np.ndarray | None
    context_lags: np.ndarray
    context: np.ndarray | None
    chance: float | None
    horizons: dict[str, int]
    exponents: tuple[float, ...]
    slopes: np.ndarray | None
    keeps: np.ndarray | None
    row_exponents: np.ndarray | None
    gates: dict[str, GateShare]
    shares: dict[str, np.ndarray]
    overflow: int | None
    why_no_loop: str


def loops_of(subject: Subject) -> Loops:
    """The recurrences of a subject's network."""
    try:
        network = recurrent_network(subject.apply, subject.params, subject.train.inputs)
    except Exception as error:  # whatever a user's network raises when it is traced with one row
        return Loops(None, f"the network cannot be traced ({reason(error)})")
    if not network.recurrences:
        return Loops(network, "no loop that carries a state over the steps of the input was found in the network")
    return Loops(network)


def overflow_of(subject: Subject, row: int) -> str:
    """In words, the step from which a recurrence of the network has a state that is not finite; empty if none has."""
    for loop in subject.shared.loops.forward:
        states = loop.values(subject.params, subject.train.inputs[row : row + 1]).states
        lost = overflow_step(states)
        if lost is not None:
            return f": its state is not finite from step {lost + 1} of {loop.length} on"
    return ""


def measure_memory(subject: Subject, key: Any) -> Measured:
    found = subject.shared.loops
    loops = found.forward
    rows = (subject.train if subject.test is None else subject.test).first(ROWS)
    steps = loops[0].length if loops else subject.positions[0] if subject.positions else subject.input_shape[0]
    overflow, gradient, slopes, keeps, exponents, row_exponents = None, None, None, None, (), None
    gates, shares = {}, {}
    if loops:
        values = [loop.values(subject.params, rows.inputs) for loop in loops]
        lost = [overflow_step(v.states) for v in values]
        overflow = min((at + 1 for at in lost if at is not None), default=None)
        if overflow is None:
            gradient = _gradient(subject, loops, rows)
            gates, shares = _gates(loops, values)
            small = [loop for loop in loops if loop.size <= LARGEST]
            if small:
                followed = [_followed(subject, loop, rows) for loop in small]
                exponents = tuple(float(np.mean([e for e, _ in rows_of])) for rows_of in followed)
                row_exponents = np.max([[e for e, _ in rows_of] for rows_of in followed], axis=0)
                keeps = np.max([[k for _, k in rows_of] for rows_of in followed], axis=0)
                slopes = np.array([_slope(row) for row in gradient[: len(keeps)]])
    timed = _timed(subject, rows, steps)
    influence_lags, seen = (np.zeros(0, int), None) if timed is None or overflow else _influence(subject, timed, steps)
    context_lags, context, chance = _context(subject, timed, rows, steps, key)
    horizons = {}
    if gradient is not None and gradient.shape[1] > 1:
        horizons["gradient"] = horizon(np.exp(_mean_log(gradient) - _mean_log(gradient)[1]))
    if seen is not None and np.any(influence_lags == 1):
        curve = _mean_log(seen)
        horizons["influence"] = horizon(np.exp(curve - curve[influence_lags == 1][0]), lags=influence_lags)
    if context is not None:
        enough = context_lags[context >= ENOUGH * context[-1]]
        horizons["accuracy"] = int(enough.min())
    return Measured(
        steps=steps,
        size=sum(loop.size for loop in loops),
        rows=rows.count,
        lags=np.arange(0 if gradient is None else gradient.shape[1]),
        gradient=None if gradient is None else _mean_log(gradient),
        influence_lags=influence_lags,
        influence=None if seen is None else _mean_log(seen),
        context_lags=context_lags,
        context=context,
        chance=chance,
        horizons=horizons,
        exponents=exponents,
        slopes=slopes,
        keeps=keeps,
        row_exponents=row_exponents,
        gates=gates,
        shares=shares,
        overflow=overflow,
        why_no_loop="" if loops else found.why or "its loops go backwards in time",
    )


def _last(targets: np.ndarray) -> np.ndarray:
    """The last position of each row that counts."""
    counts = counting(targets)
    return counts.shape[1] - 1 - np.argmax(counts[:, ::-1], axis=1)


def _gradient(subject: Subject, loops: tuple[Recurrence, ...], rows: Rows) -> np.ndarray:
    """log ‖∂l/∂z‖ (rows, lags) of the loss at the last position, over the states of all loops together."""
    targets, steps = rows.targets, loops[0].length
    ends = np.full(rows.count, steps - 1)
    if subject.positions is not None:
        last = _last(targets)
        kept = np.arange(targets.shape[1]) == last[:, None]
        missing = -1 if subject.classifies else np.nan
        targets = np.where(kept.reshape(*kept.shape, *[1] * (targets.ndim - 2)), targets, missing)
        ends = np.minimum(last, steps - 1)
    parts = [loop.state_gradients(subject.params, rows.inputs, targets, subject.criterion) for loop in loops]
    norms = np.sqrt(sum(np.sum(np.asarray(part, np.float64) ** 2, axis=2) for part in parts))
    shortest = int(ends.min()) + 1
    lagged = np.stack([row[end - np.arange(shortest)] for row, end in zip(norms, ends, strict=True)])
    with np.errstate(divide="ignore"):
        return np.log(lagged)


def _followed(subject: Subject, loop: Recurrence, rows: Rows) -> list[tuple[float, float]]:
    """For a few rows: the largest exponent, and the largest mean log|∂z_i/∂z_i| of a unit."""
    found = []
    for x in rows.inputs[:FOLLOWED]:
        step, start, xs = loop.steps(subject.params, jnp.asarray(x))
        exponent = lyapunov_exponents(step, start, xs, count=1, burn_in=loop.length // 4)[0]
        own = np.abs(np.diagonal(np.asarray(state_jacobians(step, start, xs), np.float64), axis1=1, axis2=2))
        with np.errstate(divide="ignore"):
            found.append((float(exponent), float(np.log(own).mean(axis=0).max())))
    return found


def _gates(loops: tuple[Recurrence, ...], values: list) -> tuple[dict[str, GateShare], dict[str, np.ndarray]]:
    gates, shares = {}, {}
    for number, (loop, seen) in enumerate(zip(loops, values, strict=True), 1):
        for place, (kind, units) in enumerate(zip(loop.kinds, seen.units, strict=True)):
            own = saturation(units, kind)
            name = f"{kind} {loop.kinds[: place + 1].count(kind)}" + (f", layer {number}" if len(loops) > 1 else "")
            gates[name] = GateShare(
                kind, own.low, own.high, float(own.slope.mean()), int(own.stuck.sum()), len(own.stuck)
            )
            shares[name] = own.share
    return gates, shares


class _Timed(eqx.Module):
    """The network on inputs whose second axis is time."""

    apply: Callable
    shape: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, params: Any, inputs: Any) -> Any:
        return self.apply(params, inputs.reshape(len(inputs), *self.shape))


def _timed(subject: Subject, rows: Rows, length: int) -> np.ndarray | None:
    """Inputs as (n, T, ...), where their numbers can be cut into so many steps."""
    size = int(np.prod(subject.input_shape))
    if subject.input_shape[:1] == (length,):
        return np.asarray(rows.inputs)
    return np.asarray(rows.inputs).reshape(rows.count, length, -1) if size % length == 0 else None


def _influence(subject: Subject, timed: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    apply = _Timed(subject.apply, subject.input_shape)
    if subject.integer_inputs:
        lags = _some_lags(length - 1, first=0)
        found = replaced_influence(apply, subject.params, timed, lags)
    else:
        lags = np.arange(length)
        found = influence(apply, subject.params, timed)
    with np.errstate(divide="ignore"):
        return lags, np.log(found)


def _context(
    subject: Subject, timed: np.ndarray | None, rows: Rows, length: int, key: Any
) -> tuple[np.ndarray, np.ndarray | None, float | None]:
    nothing = np.zeros(0, int), None, None
    if timed is None or not subject.classifies:
        return nothing
    rows = (subject.train if subject.test is None else subject.test).first(4 * ROWS)
    timed, labels = _timed(subject, rows, length), rows.targets
    if timed is None:
        return nothing
    if subject.positions is not None:
        whole = _last(labels) == labels.shape[1] - 1
        timed, labels = timed[whole], labels[whole, -1]
    if len(labels) < 2:
        return nothing
    lags = _some_lags(length, first=1)
    apply = _Timed(subject.apply, subject.input_shape)
    found = context_accuracy(apply, subject.params, timed, labels, lags, key=key)
    return lags, found, float(np.bincount(labels).max() / len(labels))


def _some_lags(last: int, *, first: int) -> np.ndarray:
    spread = np.geomspace(1, max(last, 1), LAGS).round().astype(int)
    return np.unique(np.concatenate([[first, 1], spread])).clip(0, last)


def _mean_log(logs: np.ndarray) -> np.ndarray:
    """The median over rows: a row without any gradient has the logarithm -inf."""
    return np.median(logs, axis=0)


def _slope(curve: np.ndarray) -> float:
    usable = np.flatnonzero(np.isfinite(curve[1:])) + 1
    return float(np.polyfit(usable, curve[usable], 1)[0]) if usable.size > 1 else float("-inf")
