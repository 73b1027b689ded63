"""Internal covariate shift, measured: how a layer's inputs and its gradient change when the layers below it learn."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from leadline._checks import require
from leadline.kernels import Gaussian


def moment_shift(before: Float[Array, "n units"], after: Float[Array, "m units"]) -> Float[Array, ""]:
    """√(mean over units of (Δμ)² + (Δσ)²) over the root mean square deviation before.

    The numerator is, but for √units, the Wasserstein-2 distance of two normal distributions with these means and
    standard deviations unit by unit; the ratio does not depend on the scale of the activations.

    >>> float(moment_shift(jnp.array([[-1.0], [1.0]]), jnp.array([[2.0], [4.0]])))
    3.0
    """
    require("moment_shift", axes=2, before=before, after=after)
    if before.shape[1] != after.shape[1]:
        raise ValueError(
            f"moment_shift got {before.shape[1]} units before and {after.shape[1]} after; give the same layer."
        )
    spread = jnp.mean(jnp.var(before, 0))
    if not isinstance(spread, Tracer) and not bool(spread > 0):
        raise ValueError("moment_shift got activations that do not vary over the rows before; give rows that differ.")
    moved = (jnp.mean(after, 0) - jnp.mean(before, 0)) ** 2 + (jnp.std(after, 0) - jnp.std(before, 0)) ** 2
    return jnp.sqrt(jnp.mean(moved) / spread)


def squared_mmd(
    a: Float[Array, "n units"], b: Float[Array, "m units"], length_scale: float | Float[Array, ""]
) -> Float[Array, ""]:
    """The unbiased estimate of the squared maximum mean discrepancy under exp(−‖x − z‖²/(2s²)) (Gretton et al. 2012).

    E k(a, a′) + E k(b, b′) − 2 E k(a, b), over pairs of different rows: 0 on average for one distribution, so that it
    may be below 0.

    >>> x = jnp.array([[0.0], [1.0], [2.0], [3.0]])
    >>> bool(squared_mmd(x, x + 50.0, 1.0) > 0.5), bool(squared_mmd(x, x + 0.1, 1.0) < 0.0)
    (True, True)
    """
    require("squared_mmd", axes=2, a=a, b=b)
    if len(a) < 2 or len(b) < 2:
        raise ValueError(f"squared_mmd got {len(a)} and {len(b)} rows; pairs need at least 2 of each.")
    kernel = Gaussian(length_scale)

    def within(x: Array) -> Array:
        gram = kernel(x, x)
        return (jnp.sum(gram) - jnp.trace(gram)) / (len(x) * (len(x) - 1))

    return within(a) + within(b) - 2 * jnp.mean(kernel(a, b))


class GradientShift(NamedTuple):
    """For each layer its gradient before and after the layers below it made their step.

    Where a gradient is 0 its direction is unknown: the cosine is 0, the distance 0 if it stays 0 and else infinite.
    """

    distances: Float[Array, " layers"]  #: ‖G′ − G‖/‖G‖
    cosines: Float[Array, " layers"]


def gradient_shift(
    loss: Callable[[Sequence[PyTree]], Float[Array, ""]], before: Sequence[PyTree], after: Sequence[PyTree]
) -> GradientShift:
    """How the gradient of each layer changes when only the layers before it are updated (Santurkar et al. 2018).

    `loss` takes the parameters of all layers, first to last; `before` and `after` are these around one step. The first
    layer's gradient does not change.

    >>> found = gradient_shift(lambda p: (p[0] * p[1] - 1.0) ** 2, (jnp.array(2.0), jnp.array(1.0)),
    ...                        (jnp.array(1.5), jnp.array(0.5)))
    >>> found.distances.tolist(), found.cosines.tolist()
    ([0.0, 0.625], [1.0, 1.0])
    """
    if len(before) != len(after):
        raise ValueError(f"gradient_shift got {len(before)} layers before and {len(after)} after; give the same ones.")
    first = jax.grad(lambda p: loss(p))(tuple(before))
    distances, cosines = [], []
    for layer, own in enumerate(first):
        mixed = (*after[:layer], *before[layer:])
        own, new = _flat(own), _flat(jax.grad(lambda p: loss(p))(mixed)[layer])
        moved, size, after_size = (jnp.linalg.norm(vector) for vector in (new - own, own, new))
        distances.append(jnp.where(moved > 0, moved / size, 0.0))
        product = size * after_size
        cosines.append(jnp.where(product > 0, new @ own / jnp.where(product > 0, product, 1.0), 0.0))
    return GradientShift(jnp.stack(distances), jnp.stack(cosines))


class StepLandscape(NamedTuple):
    """The loss along a gradient step of several lengths, and how well the gradient foretells itself there."""

    losses: Float[Array, " sizes"]
    gradient_changes: Float[Array, " sizes"]  #: ‖∇l(θ − η∇l) − ∇l(θ)‖


def step_landscape(
    loss: Callable[[PyTree], Float[Array, ""]], params: PyTree, step_sizes: Float[Array, " sizes"]
) -> StepLandscape:
    """l(θ − η∇l(θ)) and ‖∇l(θ − η∇l(θ)) − ∇l(θ)‖ for each η: variation of the loss, predictiveness of the gradient.

    Both small over a wide range of η means that larger steps are safe (Santurkar et al. 2018).

    >>> found = step_landscape(lambda w: jnp.sum(w**2), jnp.array([1.0]), jnp.array([0.25, 0.5]))
    >>> found.losses.tolist(), found.gradient_changes.tolist()
    ([0.25, 0.0], [1.0, 2.0])
    """
    slope = jax.grad(loss)(params)

    def at(size: Array) -> tuple[Array, Array]:
        value, new = jax.value_and_grad(loss)(jax.tree.map(lambda p, g: p - size * g, params, slope))
        return value, jnp.linalg.norm(_flat(new) - _flat(slope))

    return StepLandscape(*jax.vmap(at)(step_sizes))


def _flat(tree: PyTree) -> Float[Array, " size"]:
    return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)])
