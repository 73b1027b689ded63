"""Signal: how large values and gradients are from layer to layer, against mean-field theory, and dead units."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from leadline.evidence import Comparison, Figure, at_most, close, mean
from leadline.networks.dissection.chain import Chain
from leadline.networks.dissection.layer_moments import LayerMoments
from leadline.presentation import figure

from ..instrument_contract import EVERY_KIND, Instrument, Meaning, NotApplicable
from ..measurements.layer_laws import growth_bounds, log_slope, scatter_ranges
from ..subject import Subject

ROWS = 1000
LEAST = 100  # rows that are looked at however little time there is
CHANCE = 1e-3
SHOWN = 60  # layers in a figure
UNEVEN = 100.0  # gradients at the first layer and at the last, this many times apart
DEAD = 0.05  # of the hidden units, above which it is said
EVEN = "gradient norm at the first layer over that at the last: log₁₀, within a hundred times"
ALIVE = "share of hidden units that no row sends a gradient through, one in twenty"


class Measured(NamedTuple):
    """What runs through the network on some training rows, by layer, in order.

    `names`, `kinds`, `units`: of the layers. `second`: mean square of the pre-activations; `gradient`: root mean
    square, over rows, of the norm of the gradient of a row's loss by them. `forward_slope`, `backward_slope`: growth of
    log(root mean square) per layer, and of log(gradient norm) per layer towards the input (None for one layer).
    `gradient_ratio`: the gradient norm at the first layer over that at the last (None where that is 0). `dead`,
    `saturated`: numbers of units (saturated None where the activation is not known). `start_second`, `start_gradient`,
    `start_active` (share of z > 0
    over all units) and the predictions `start_second_theory`, `start_gradient_theory` with their 99.9% ranges
    `start_second_range`, `start_gradient_range`, all before training. `second_theory`, `gradient_theory`: mean field
    with the present weights, which need not hold after training. `growth`, `growth_bound`: gradient norm of each layer
    over that of the next, and the product of norms that bounds it; `spread_growth`: the same forwards for the root mean
    square distance from the mean over rows.
    """

    rows: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    units: tuple[int, ...]
    activations: tuple[str, ...]
    second: np.ndarray
    gradient: np.ndarray
    forward_slope: float | None
    backward_slope: float | None
    gradient_ratio: float | None
    dead: tuple[int, ...]
    saturated: tuple[int | None, ...]
    start_second: np.ndarray | None
    start_gradient: np.ndarray | None
    start_active: np.ndarray | None
    start_second_theory: np.ndarray | None
    start_gradient_theory: np.ndarray | None
    start_second_range: np.ndarray | None
    start_gradient_range: np.ndarray | None
    second_theory: np.ndarray | None
    gradient_theory: np.ndarray | None
    growth: np.ndarray | None
    growth_bound: np.ndarray | None
    spread_growth: np.ndarray | None
    parts: tuple[NotApplicable, ...]

    @property
    def beginning(self) -> "Beginning | None":
        """The sizes before training with their predictions; None where one of them is not known."""
        measured = self.start_second, self.start_gradient
        predicted = self.start_second_theory, self.start_gradient_theory
        parts = [*measured, *predicted, self.start_second_range, self.start_gradient_range]
        known = [part for part in parts if part is not None]
        return Beginning(*known) if len(known) == len(parts) else None

    @property
    def growths(self) -> "Growths | None":
        """The growth from layer to layer with its bound; None where there is none."""
        if self.growth is None or self.growth_bound is None or self.spread_growth is None:
            return None
        return Growths(self.growth, self.growth_bound, self.spread_growth)


class Beginning(NamedTuple):
    """Before training: mean squares of values and norms of gradients by layer, predictions, 99.9% ranges of these."""

    second: np.ndarray
    gradient: np.ndarray
    second_theory: np.ndarray
    gradient_theory: np.ndarray
    second_range: np.ndarray
    gradient_range: np.ndarray


class Growths(NamedTuple):
    """From each layer to the next: of the gradient, the bound on both, and of differences between rows."""

    gradient: np.ndarray
    bound: np.ndarray
    spread: np.ndarray


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    from leadline.networks.dissection import measure_moments, predict_moments
    from leadline.networks.dissection.chain_mean_field import why_no_mean_field

    taken, passes = subject.shared.dissection, 2 if subject.past.start is None else 4
    most = min(ROWS, subject.sample.count)
    seconds = passes * subject.budget.costs.gradient
    sample = subject.sample.first(subject.budget.rows("signal", seconds, most, least=LEAST))

    def moments(params: PyTree, chain: Chain | None) -> tuple[LayerMoments, ...]:
        return measure_moments(taken, params, *sample, subject.criterion, chain=chain)

    now = moments(subject.params, taken.chain)
    x = sample.inputs[: len(now[0].row_second)]
    parts, chain = [], taken.chain
    no_theory = why_no_mean_field(
        chain, taken.why_no_chain and f"the network is a chain of layers ({taken.why_no_chain})"
    )
    theory = start = before = ranges = None
    if no_theory:
        parts.append(NotApplicable("sizes of values and gradients, mean field", no_theory))
    else:
        theory = predict_moments(chain, x, now)
    params = subject.past.start if subject.past.start is not None or subject.past.epochs != 0 else subject.params
    if params is None:
        parts.append(
            NotApplicable("sizes at the start of training, mean field", "the parameters before training are known")
        )
    else:
        first = taken.chain_at(params)
        start = moments(params, first)
        if not no_theory:
            before = predict_moments(first, x, start)
            ranges = (
                scatter_ranges(before.second, before.second_spread, CHANCE),
                scatter_ranges(before.gradient**2, before.gradient_spread, CHANCE),
            )
    growth, bound, spread = growth_bounds(subject, now, parts)
    return Measured(
        rows=len(x),
        names=tuple(layer.name for layer in taken.layers),
        kinds=tuple(layer.kind for layer in taken.layers),
        units=tuple(len(m.unit_second) for m in now),
        activations=tuple(m.activation for m in now),
        second=np.array([m.second for m in now]),
        gradient=np.array([m.gradient for m in now]),
        forward_slope=log_slope(np.sqrt([m.second for m in now])),
        backward_slope=log_slope(np.array([m.gradient for m in now])[::-1]),
        gradient_ratio=now[0].gradient / now[-1].gradient if now[-1].gradient > 0 else None,
        dead=tuple(int(m.dead.sum()) for m in now),
        saturated=tuple(None if m.saturated is None else int(m.saturated.sum()) for m in now),
        start_second=None if start is None else np.array([m.second for m in start]),
        start_gradient=None if start is None else np.array([m.gradient for m in start]),
        start_active=None if start is None else np.concatenate([m.active[m.unit_second > 0] for m in start]),
        start_second_theory=None if before is None else before.second,
        start_gradient_theory=None if before is None else before.gradient,
        start_second_range=None if ranges is None else ranges[0],
        start_gradient_range=None if ranges is None else np.sqrt(ranges[1]),
        second_theory=None if theory is None else theory.second,
        gradient_theory=None if theory is None else theory.gradient,
        growth=growth,
        growth_bound=bound,
        spread_growth=spread,
        parts=tuple(parts),
    )


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    first = found.beginning
    if first is not None:
        what = "mean square of pre-activations at the start, mean field"
        yield _in_range(first.second, first.second_theory, first.second_range, what)
        if len(found.names) > 1:
            inner = (first.gradient[:-1], first.gradient_theory[:-1], first.gradient_range[:-1])
            yield _in_range(*inner, "gradient norm by layer at the start, mean field")
    if found.start_active is not None and found.start_active.size > 1:
        yield mean(found.start_active, 0.5, "share of inputs that activate a unit at the start, one half")
    # that nothing grows by more than the product of norms is true of every chain: a test, and a line of the figure
    if found.gradient_ratio is not None and len(found.names) > 1 and 0 < found.gradient_ratio < math.inf:
        yield close(math.log10(found.gradient_ratio), 0.0, EVEN, atol=math.log10(UNEVEN)).as_empirical()
    if any(found.activations):
        yield at_most(_dead_share(found), DEAD, ALIVE).as_empirical()
    for part in found.parts:
        yield part.comparison()


def _hidden(found: Measured) -> int:
    """The number of units with an activation; of all where there is none."""
    return sum(u for u, a in zip(found.units, found.activations, strict=True) if a) or sum(found.units)


def _dead_share(found: Measured) -> float:
    return sum(found.dead) / _hidden(found)


def _in_range(measured: np.ndarray, predicted: np.ndarray, ranges: np.ndarray, what: str) -> Comparison:
    """Each measurement within its 99.9% range; the layer with the least room is reported."""
    low, high = ranges.T
    room = np.minimum(measured - low, high - measured) / np.maximum((high - low) / 2, 1e-300)
    room = np.where(np.isfinite(room), np.clip(room, -1, 1), -1.0)
    i = int(np.argmin(room))
    return Comparison(
        what,
        "close",
        float(measured[i]),
        float(predicted[i]),
        float(room[i]),
        cases=len(room),
        chance=CHANCE,
        interval=(float(low[i]), float(high[i])),
    )


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    depth = min(len(found.names), SHOWN)
    first = found.beginning
    ratio = found.second[:depth].max() / max(found.second[:depth].min(), 1e-300)
    left = _by_layer(
        f"mean square of values: largest over least {ratio:.3g}",
        "mean square before φ",
        found.second[:depth],
        found.second_theory,
        found.start_second,
        None if first is None else (first.second_theory, first.second_range),
    )
    right = _by_layer(
        "no gradient" if found.gradient_ratio is None else f"gradient norm: first over last {found.gradient_ratio:.3g}",
        "norm of ∂loss/∂value",
        found.gradient[:depth],
        found.gradient_theory,
        found.start_gradient,
        None if first is None else (first.gradient_theory, first.gradient_range),
    )
    title = f"Root mean square of the outputs {math.sqrt(found.second[-1]):.3g}"
    if found.backward_slope is not None:
        title = f"Gradients change by a factor of {math.exp(found.backward_slope):.3g} a layer towards the input"
    title += f"; {sum(found.dead)} of {sum(found.units)} units are dead"
    yield figure.beside(title, *(_whole_layers(panel, depth) for panel in (left, right)))
    if found.growths is not None and np.all(np.isfinite(found.growths.bound)):
        yield _growth(found.growths)
    hidden = [n for n, a in enumerate(found.activations) if a][:SHOWN]
    if hidden and (sum(found.dead) or any(found.saturated[n] for n in hidden)):
        label = {n: f"{n + 1}: {found.activations[n]}" for n in hidden}
        values = {"dead": {label[n]: 100 * found.dead[n] / found.units[n] for n in hidden}}
        if any(found.saturated[n] is not None for n in hidden):
            values["saturated"] = {label[n]: 100 * (found.saturated[n] or 0) / found.units[n] for n in hidden}
        title = f"{sum(found.dead)} of {sum(found.units)} units get no gradient from any of {found.rows} rows"
        yield figure.bars(title, "layer", "% of units", values=values)


def _by_layer(
    title: str,
    height: str,
    now: np.ndarray,
    now_theory: np.ndarray | None,
    start: np.ndarray | None,
    start_theory: tuple[np.ndarray, np.ndarray] | None,
) -> Figure:
    """Sizes layer by layer, now and at the start, with mean field's lines and the range of networks this wide."""
    depth = len(now)
    at = np.arange(1, depth + 1)
    lines, points, bands = {}, {}, {}
    if start is not None:
        points["at the start"] = (at, start[:depth])
    if start_theory is not None:
        lines["at the start"] = (at, start_theory[0][:depth])
        if depth > 1:
            bands["range of networks this wide"] = (at, *start_theory[1][:depth].T)
    points["now"] = (at, now)
    if now_theory is not None:
        lines["now"] = (at, now_theory[:depth])
    return figure.curves(title, "layer", height, lines=lines, points=points, bands=bands, log="y")


def _growth(growths: Growths) -> Figure:
    """How much gradients and differences of rows can grow from layer to layer, and how much they do."""
    depth = min(len(growths.gradient), SHOWN)
    at = np.arange(1, depth + 1)
    share = np.max(np.maximum(growths.gradient, growths.spread) / np.maximum(growths.bound, 1e-300))
    least = min(part.min() for part in growths)
    panel = figure.curves(
        f"From layer to layer, gradients and differences of rows grow by up to {share:.0%} of what norms allow",
        "from layer",
        "growth to the next",
        lines={"product of norms (at most)": (at, growths.bound[:depth])},
        points={
            "gradient, backwards": (at, growths.gradient[:depth]),
            "differences, forwards": (at, growths.spread[:depth]),
        },
        log="y" if least > 0 else "",
    )
    return _whole_layers(panel, depth)


def _whole_layers(panel: Figure, depth: int) -> Figure:
    """The same chart with whole numbers on its horizontal axis."""
    marks, layers = [], list(range(1, depth + 1, -(-depth // 12)))
    for mark in panel.spec["layer"]:
        encoding = dict(mark.get("encoding", {}))
        if "x" in encoding:
            encoding["x"] = encoding["x"] | {"axis": {"values": layers, "format": "d"}}
        marks.append(mark | {"encoding": encoding})
    return replace(panel, spec=panel.spec | {"layer": marks})


def interpret(found: Measured, subject: Subject) -> Meaning:
    depth, ratio = len(found.names), found.gradient_ratio
    dead, quiet = _dead_share(found), sum(s or 0 for s in found.saturated) / _hidden(found)
    if not (np.all(np.isfinite(found.second)) and np.all(np.isfinite(found.gradient))):
        return Meaning(
            "Values or gradients inside the network are not finite on the training rows.",
            0.95,
            "Lower the step size or the scale of the weights.",
            change=1.0,
        )
    if depth == 1:
        return Meaning(
            f"There is one layer, so nothing can vanish or explode on the way; its outputs have root mean square "
            f"{math.sqrt(found.second[0]):.3g}.",
            0.15,
        )
    if ratio is None or not math.isfinite(ratio):
        return Meaning("No gradient enters the network at its output: every sampled row is fitted to rounding.", 0.3)
    if ratio < 1e-4:
        return Meaning(
            f"Gradients vanish: the first of {depth} layers receives {ratio:.1e} of the gradient at the last, so it "
            "hardly learns.",
            0.9,
            "Use a larger weight scale (He for relu, Glorot for tanh), skip connections or normalisation.",
            change=1 - ratio,
            rests_on=EVEN,
        )
    if ratio > 1e4:
        return Meaning(
            f"Gradients explode: the first of {depth} layers receives {ratio:.1e} times the gradient at the last.",
            0.9,
            "Use a smaller weight scale, gradient clipping or normalisation.",
            change=1 - 1 / ratio,
            rests_on=EVEN,
        )
    if dead > 0.3:
        return Meaning(
            f"{dead:.0%} of the hidden units are dead: no sampled row sends a gradient through them, so they are "
            "carried along for nothing.",
            0.75,
            "Lower the step size, use leaky_relu or gelu, or a narrower network.",
            change=min(dead, 1.0),
            rests_on=ALIVE,
        )
    if quiet > 0.3:
        return Meaning(
            f"{quiet:.0%} of the hidden units are saturated on nearly all rows, so little gradient passes them.",
            0.65,
            "Scale the inputs or the first weights down, or use an activation that does not saturate.",
            change=min(quiet, 1.0),
        )
    told = f"the gradient at the first of {depth} layers is {ratio:.2g} times that at the last"
    even = 1 / UNEVEN <= ratio <= UNEVEN
    if dead > DEAD:
        return Meaning(
            f"Signals pass {'well' if even else 'unevenly'} ({told}), but {dead:.0%} of the hidden units are dead.",
            0.45,
            "A narrower network may do as well.",
            change=dead,
            rests_on=ALIVE,
        )
    units = f"{dead:.1%} of the hidden units are dead" if dead else "no hidden unit is dead"
    if not even:
        return Meaning(f"Signals pass, but unevenly: {told}, and {units}.", 0.35)
    return Meaning(f"Signals pass well in both directions: {told}, and {units}.", 0.2)


def refuses(subject: Subject) -> str:
    return (
        "" if subject.shared.dissection.layers else "no parameter meets the input in a product, so there are no layers"
    )


INSTRUMENT = Instrument(
    "signal",
    "Do values and gradients keep their size from layer to layer, and do all units still respond?",
    r"q_{l+1} = N_l s_{l+1}^2\, \mathbb{E}\,\varphi(\sqrt{q_l} Z)^2 + \mathbb{E}\, b_{l+1}^2, \quad "
    r"\|g_l\|^2 = N_l s_{l+1}^2\, \mathbb{E}\,\varphi'(\sqrt{q_l} Z)^2\, \|g_{l+1}\|^2",
    (
        "Mean field: weights that are independent of each other and of the data, as before training; a dense chain.",
        "Bounds by norms: the network is a chain of affine maps, activations and poolings.",
    ),
    measure,
    compare,
    draw,
    interpret,
    refuses,
    ("eth", "penn"),
    ("signal-propagation", "mean-field-gradient-slope", "activation-saturation"),
    EVERY_KIND,
)
