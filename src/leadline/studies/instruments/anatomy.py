"""Anatomy: the layers of a network, what they hold and cost, how much they can stretch inputs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from leadline.evidence import Comparison, Figure, at_most
from leadline.networks.dissection.chain import Chain
from leadline.presentation import figure

from ..instrument_contract import EVERY_KIND, Instrument, Meaning, NotApplicable, plainly
from ..subject import Subject

SHOWN = 16  # layers in a figure
UNUSED = "parameters without effect on the output, none"


class Layer(NamedTuple):
    """One layer: name of its weight, "dense" or "conv", shapes, parameters, operations of one example, positions."""

    name: str
    kind: str
    weight_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    parameters: int
    flops: int
    fan_in: int
    fan_out: int


class Measured(NamedTuple):
    """Layers and sums: `parameters` stored, `in_layers`, `in_others` (in none) and `unused` (names without effect).

    `flops` are operations of one example, forwards: 2 per multiply-add of the layers (`layer_flops`) and about one per
    number for the rest. `chain` says whether the network is a chain of layers, else `why_no_chain`. `lipschitz_lower`,
    `lipschitz_upper`: bracket of the Euclidean Lipschitz constant (None where inputs are integers), `factors` by layer,
    `reached` their product up to each layer (with activations and poolings before it); `spectral_norm` is that of a
    single dense layer.
    """

    layers: tuple[Layer, ...]
    parameters: int
    in_layers: int
    in_others: int
    unused: tuple[str, ...]
    unused_parameters: int
    flops: int
    layer_flops: int
    activations: tuple[str, ...]
    chain: bool
    why_no_chain: str
    lipschitz_lower: float | None
    lipschitz_upper: float | None
    factors: dict[str, float]
    reached: dict[str, float]
    spectral_norm: float | None
    parts: tuple[NotApplicable, ...]


def measure(subject: Subject, key: PRNGKeyArray) -> Measured:
    taken, bracket = subject.shared.dissection, subject.shared.lipschitz
    parts: list[NotApplicable] = []
    sizes = {name: int(np.size(leaf)) for name, leaf in zip(taken.network.names, _leaves(subject.params), strict=True)}
    if bracket is None or bracket.upper is None:
        why = "inputs are real numbers" if bracket is None else f"the network is a chain ({bracket.why})"
        parts.append(NotApplicable("largest stretch of inputs, product of norms", why))
    factors, reached = {}, {}
    if bracket is not None and bracket.factors and taken.chain is not None:
        sofar = np.cumprod(bracket.factors)
        for step, factor, product in zip(taken.chain, bracket.factors, sofar, strict=True):
            if step.layer is not None:
                name = taken.layers[step.layer].name
                factors[name], reached[name] = float(factor), float(product)
    return Measured(
        layers=tuple(
            Layer(y.name, y.kind, y.weight_shape, y.output_shape, y.parameters, y.flops, y.fan_in, y.fan_out)
            for y in taken.layers
        ),
        parameters=taken.parameters,
        in_layers=taken.in_layers,
        in_others=taken.in_others,
        unused=taken.unused,
        unused_parameters=sum(sizes[name] for name in taken.unused),
        flops=taken.flops,
        layer_flops=taken.layer_flops,
        activations=tuple(dict.fromkeys(s.function.name for s in (taken.chain.activations if taken.chain else ()))),
        chain=taken.chain is not None,
        why_no_chain=taken.why_no_chain,
        lipschitz_lower=None if bracket is None else float(bracket.lower),
        lipschitz_upper=None if bracket is None or bracket.upper is None else float(bracket.upper),
        factors=factors,
        reached=reached,
        spectral_norm=None if bracket is None else _norm_of_one(taken.chain),
        parts=tuple(parts),
    )


def _leaves(params: PyTree) -> list[Any]:
    import jax

    return jax.tree.leaves(params)


def _norm_of_one(chain: Chain | None) -> float | None:
    """The spectral norm of a chain of one dense layer; None of any other."""
    if chain is None or len(chain.affine) != 1 or chain.activations or chain.affine[0].weight is None:
        return None
    return float(np.linalg.norm(np.asarray(chain.affine[0].weight, np.float64), 2))


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    # that no stretch exceeds the product of norms is true of every chain: a test, and a line of the figure
    chosen = "no output was chosen, for which the weights of the others do nothing"
    yield at_most(found.unused_parameters, 0, UNUSED).given(not subject.selected, chosen)
    for part in found.parts:
        yield part.comparison()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    if found.layers:
        yield _shares(found)


def _shares(found: Measured) -> Figure:
    """Which layers hold and cost most, and by how much each can stretch."""
    most = sorted(found.layers, key=lambda layer: -layer.parameters / found.parameters - layer.flops / found.flops)
    shown = [layer for layer in found.layers if layer in most[:SHOWN]]
    names = _short([layer.name for layer in shown])
    left = figure.bars(
        f"{found.parameters:,} parameters, {found.flops:,} operations per example",
        "layer",
        "% of the network",
        values={
            "parameters": {n: 100 * v.parameters / found.parameters for n, v in zip(names, shown, strict=True)},
            "operations": {n: 100 * v.flops / found.flops for n, v in zip(names, shown, strict=True)},
        },
    )
    share = max(layer.parameters for layer in found.layers) / found.parameters
    title = f"{len(found.layers)} layers; the largest holds {share:.0%} of {found.parameters:,} parameters"
    if len(found.factors) < 2 or not found.lipschitz_upper or found.lipschitz_lower is None:
        return figure.beside(title, left)
    between = f"{found.lipschitz_lower:.3g} to {found.lipschitz_upper:.3g}"
    kept = {n: v.name for n, v in zip(names, shown, strict=True) if v.name in found.factors}
    reached, last = {n: found.reached[name] for n, name in kept.items()}, list(kept)[-1]
    right = figure.categories(
        f"inputs are stretched {between} times",
        "up to layer",
        "largest stretch of inputs",
        lines={"product of norms (at most)": reached | {last: found.lipschitz_upper}},
        points={"whole network, found": {last: found.lipschitz_lower}},
        log=True,
    )
    return figure.beside(f"{title}; inputs are stretched {between} times", left, right)


def _short(names: list[str]) -> list[str]:
    shorter = [name.removesuffix(".weight").removesuffix(".kernel") for name in names]
    return shorter if len(set(shorter)) == len(shorter) else names


def interpret(found: Measured, subject: Subject) -> Meaning:
    if found.unused:
        names = ", ".join(found.unused[:3]) + (", ..." if len(found.unused) > 3 else "")
        told = f"{found.unused_parameters:,} of {found.parameters:,} parameters have no effect on the output"
        if subject.selected and found.unused_parameters < found.parameters:
            return Meaning(f"{told} that was chosen ({names}): they serve the others, or nothing.", 0.25)
        return Meaning(
            f"{told} ({names}).",
            0.7,
            "Remove them, or look for the layer that is never called.",
            change=found.unused_parameters / found.parameters,
            rests_on=UNUSED,
        )
    count, each = len(found.layers), found.parameters / subject.train.count
    size = (
        f"{count} {'layer' if count == 1 else 'layers'}, {found.parameters:,} parameters "
        f"({plainly(each)} per training row), {found.flops:,} operations per example"
    )
    if found.lipschitz_lower is None:
        return Meaning(f"The network has {size}; its inputs are integers, such as words, which it looks up.", 0.2)
    if found.lipschitz_upper is None:
        return Meaning(
            f"The network has {size}; it has no product of norms "
            f"({found.why_no_chain or 'an activation has no largest slope'}), "
            f"so only a lower bound of its stretch of inputs is known: {found.lipschitz_lower:.3g}.",
            0.25,
        )
    ratio = found.lipschitz_upper / max(found.lipschitz_lower, 1e-300)
    told = f"it stretches inputs by at least {found.lipschitz_lower:.3g} and at most {found.lipschitz_upper:.3g} times"
    if found.spectral_norm is not None:
        return Meaning(f"The network is linear with {size}; {told}: its largest singular value.", 0.15)
    if ratio > 100:
        return Meaning(
            f"The network has {size}; {told}, a factor of {ratio:.2g} apart, so certificates from products of norms "
            "will say little.",
            0.4,
            "Use local certificates (interval bounds), not the product of norms.",
        )
    return Meaning(f"The network has {size}; {told}.", 0.2)


INSTRUMENT = Instrument(
    "anatomy",
    "What is the network made of, what does it cost, and how much can it stretch inputs?",
    r"\mathrm{FLOPs} = 2 \sum_l \#W_l \cdot \#\mathrm{positions}_l + \ldots, \quad "
    r"\max_x \|\partial f/\partial x\|_2 \le L \le \prod_l \|W_l\|_2 L_{\varphi_l}",
    (
        "FLOPs: 2 per multiply-add of one example, forwards.",
        "Upper bound of the stretch: a chain of affine maps, activations and poolings.",
    ),
    measure,
    compare,
    draw,
    interpret,
    lambda subject: "",
    ("eth", "penn", "cam"),
    ("layer-stack-calculator", "lipschitz-certificate"),
    EVERY_KIND,
)
