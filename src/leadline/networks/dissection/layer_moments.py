"""What a batch does inside a network, layer by layer: sizes of values and gradients, units that no longer respond."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from .chain import Chain, ChainStep
from .dissecting import Dissection

NUMBERS = 2 * 10**7  # of values that are held for all layers together
QUIET = 0.01  # a slope below this share of the largest counts as saturated
SATURATING = ("tanh", "sigmoid", "softsign", "hard_tanh", "hard_sigmoid", "arctan", "relu6")  # flat on both sides
MOSTLY = 0.95  # of the rows: then a unit counts as saturated


@dataclass(frozen=True, eq=False)
class LayerMoments:
    """One layer on a batch. A unit of a convolution is a channel, at all its positions.

    `second` is the mean of z² over rows and entries, `gradient` the root mean square over rows of the norm of the
    gradient of a row's loss by z. `unit_second` and `unit_gradient` are means of squares by unit. `dead` units get no
    gradient from any row: φ'(z) = 0 on all of them, or, where the activation is not known, no gradient at all.
    `saturated` units of an activation that is flat on both sides have |φ'| below 1% of its largest on 95% of the
    entries; `active` is the share of entries with z > 0 by unit. `row_second` and `row_gradient` are sums of squares by
    row.
    """

    second: float
    variance: float
    gradient: float
    unit_second: Float[np.ndarray, " units"]
    unit_gradient: Float[np.ndarray, " units"]
    unit_output: Float[np.ndarray, " units"] | None  #: mean square of φ(z) by unit
    concentration: float | None  #: tr C²/(tr C)² of φ(z), C its second moments: 1 over the number of its directions
    row_second: Float[np.ndarray, " n"]
    row_gradient: Float[np.ndarray, " n"]
    dead: Bool[np.ndarray, " units"]
    saturated: Bool[np.ndarray, " units"] | None
    active: Float[np.ndarray, " units"]
    activation: str
    pull: float  #: Σ over rows of z · gradient, kept by homogeneous activations from layer to layer
    pull_without_bias: float | None  #: the same with z - b
    pull_scale: float  #: Σ |z| |gradient|, against which rounding counts
    row_spread: float  #: mean squared distance of z from its mean over rows


def measure_moments(
    dissection: Dissection,
    params: PyTree,
    inputs: Any,
    targets: Any,
    criterion: Callable,
    *,
    chain: Chain | None = None,
) -> tuple[LayerMoments, ...]:
    """The moments of every layer on a batch, of which as many rows are taken as fit; `chain` is that of `params`.

    >>> from leadline.networks.dissection import dissect
    >>> apply, w, x = (lambda w, x: x @ w), 2 * jnp.eye(3), jnp.ones((4, 3))
    >>> (found,) = measure_moments(dissect(apply, w, x), w, x, jnp.zeros((4, 3)), lambda f, y: jnp.sum((f - y) ** 2, 1))
    >>> found.second, round(found.gradient, 4)  # the gradient of |f|² is 2 f = (4, 4, 4)
    (4.0, 6.9282)
    """
    rows = max(1, NUMBERS // max(1, sum(layer.unit_of.size for layer in dissection.layers)))
    inputs, targets = inputs[:rows], targets[:rows]
    signals = dissection.signals(params, inputs, targets, criterion)
    after = _activation_of_layer(dissection.chain if chain is None else chain)
    found = []
    for number, layer in enumerate(dissection.layers):
        z = np.asarray(signals.values[number], np.float64)
        g = np.asarray(signals.gradients[number], np.float64)
        found.append(_moments(z, g, layer.unit_of, *after.get(number, (None, None))))
    return tuple(found)


def _activation_of_layer(chain: Chain | None) -> dict[int, tuple[ChainStep | None, np.ndarray | None]]:
    """By layer: the activation that follows it (None at the end) and its bias."""
    found: dict[int, tuple[ChainStep | None, np.ndarray | None]] = {}
    steps = () if chain is None else chain.steps
    for number, step in enumerate(steps):
        if step.layer is not None:
            following = next((s for s in steps[number + 1 :] if s.kind in ("activation", "affine")), None)
            found[step.layer] = (following if following and following.kind == "activation" else None, step.bias)
    return found


def _moments(z: np.ndarray, g: np.ndarray, unit: np.ndarray, follow: ChainStep | None, bias: Any) -> LayerMoments:
    n, units = len(z), int(unit.max()) + 1
    entries = np.bincount(unit, minlength=units)

    def by_unit(columns: np.ndarray) -> np.ndarray:
        return np.bincount(unit, weights=columns, minlength=units) / entries

    dead, saturated, output, concentration = by_unit(np.any(g != 0, axis=0).astype(float)) == 0, None, None, None
    if follow is not None and follow.function is not None:
        values = jnp.asarray(z, follow.dtype)
        after, slope = (np.asarray(v, np.float64) for v in _with_slope(follow.function.function, values))
        slope = np.abs(slope)
        dead = by_unit(np.any(slope != 0, axis=0).astype(float)) == 0
        output, concentration = by_unit(np.mean(after**2, axis=0)), direction_concentration(after)
        if follow.function.name in SATURATING:
            saturated = by_unit(np.mean(slope < QUIET * follow.function.lipschitz, axis=0)) >= MOSTLY
    squares, pulls = g**2, float(np.sum(z * g))
    return LayerMoments(
        second=float(np.mean(z**2)),
        variance=float(np.var(z)),
        gradient=float(np.sqrt(squares.sum() / n)),
        unit_second=by_unit(np.mean(z**2, axis=0)),
        unit_gradient=by_unit(np.mean(squares, axis=0)),
        unit_output=output,
        concentration=concentration,
        row_second=np.sum(z**2, axis=1),
        row_gradient=np.sum(squares, axis=1),
        dead=dead,
        saturated=saturated,
        active=by_unit(np.mean(z > 0, axis=0)),
        activation="" if follow is None or follow.function is None else follow.function.name,
        pull=pulls,
        pull_without_bias=None
        if bias is not None and bias.size != z.shape[1]
        else float(np.sum((z - (0 if bias is None else np.asarray(bias, np.float64))) * g)),
        pull_scale=float(np.sum(np.abs(z * g))),
        row_spread=float(np.sum(np.var(z, axis=0))),
    )


@eqx.filter_jit
def _with_slope(function: Callable, z: Array) -> tuple[Array, Array]:
    return jax.jvp(function, (z,), (jnp.ones_like(z),))


def direction_concentration(rows: Float[np.ndarray, "n d"]) -> float:
    """tr C²/(tr C)² with C = Σ x xᵀ/n: 1 where all rows lie on one line, 1/d where they fill all directions alike.

    >>> direction_concentration(np.eye(4)), direction_concentration(np.ones((3, 5)))
    (0.25, 1.0)
    """
    gram = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    total = float(np.trace(gram))
    return float(np.sum(gram**2)) / total**2 if total > 0 else 1.0
