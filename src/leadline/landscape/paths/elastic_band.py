"""The nudged elastic band: a chain of models between two, relaxed onto a path of least loss over the lowest pass."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from leadline.training import scan_steps

from .mode_connectors import Curve, is_parameter, straight_line


class Band(NamedTuple):
    """The relaxed chain as a polygon with its losses, ends included; its top; the largest force left on an image.

    The force is the gradient across the band (for a climbing image the whole gradient): 0 on a path of least loss.
    """

    path: Curve
    losses: Float[np.ndarray, " nodes"]
    residual: float

    @property
    def barrier(self) -> float:
        """The largest loss of an image less the larger one of the two ends. `path_profile` looks between images."""
        return float(np.max(self.losses) - max(self.losses[0], self.losses[-1]))


def relax_band(
    loss: Callable[..., Float[Array, ""]],
    a: PyTree,
    b: PyTree,
    *arrays: PyTree,
    images: int = 9,
    num_steps: int = 500,
    optimiser: optax.GradientTransformation | None = None,
    spring: float = 1.0,
    climb: bool = False,
    start: Curve | None = None,
) -> Band:
    """Relax `images` models between a and b under F = −g + (g·τ)τ + k(|θᵢ₊₁−θᵢ| − |θᵢ−θᵢ₋₁|)τ, g the loss gradient.

    τ is the unit tangent towards the neighbour of higher loss, so that the loss pulls an image only across the band
    and the spring k only along it. With `climb` the highest image goes uphill along the band, F = −g + 2(g·τ)τ, and
    ends on the pass itself. `optimiser` is the Optax rule that follows F; Adam at 0.01 unless given. Begins with
    equally spaced points of `start`, or of the straight line. A zero residual proves a critical path, not the lowest.
    Henkelman and Jónsson 2000; Draxler et al. 2018 for networks.

    >>> pass_at = lambda w: (w[0] ** 2 - 1) ** 2 + (w[1] - w[0] ** 2) ** 2
    >>> ends = jnp.array([-1.0, 1.0]), jnp.array([1.0, 1.0])
    >>> band = relax_band(pass_at, *ends, images=7, climb=True, optimiser=optax.sgd(0.05))
    >>> round(band.barrier, 3), band.residual < 1e-3
    (1.0, True)
    """
    if images < 1 or num_steps < 1:
        raise ValueError(f"relax_band got images={images}, num_steps={num_steps}; give at least 1 of each.")
    if spring < 0:
        raise ValueError(f"relax_band got spring={spring}; a spring constant is 0 or more.")
    a, b = (jax.tree.map(lambda x: jnp.asarray(x) if is_parameter(x) else x, tree) for tree in (a, b))
    line = straight_line(a, b)
    shape = line if start is None else start
    flat = jax.vmap(lambda t: _flat(shape(t)))(jnp.linspace(0.0, 1.0, images + 2)[1:-1].astype(_flat(a).dtype))
    rule = optax.adam(0.01) if optimiser is None else optimiser
    nodes, losses, residual = _relaxed(loss, a, _flat(b), flat, rule, spring, climb, num_steps, arrays)
    unravel = ravel_pytree(eqx.filter(a, eqx.is_inexact_array))[1]
    bends = jax.vmap(unravel)(nodes)
    return Band(Curve(a, bends, b, "polygon"), np.asarray(losses, float), float(residual))


def _flat(tree: PyTree) -> Float[Array, " p"]:
    return ravel_pytree(eqx.filter(tree, eqx.is_inexact_array))[0]


@eqx.filter_jit
def _relaxed(loss, a, last, nodes, rule, spring, climb, steps, arrays):
    parameters, rest = eqx.partition(a, eqx.is_inexact_array)
    first, unravel = ravel_pytree(parameters)

    def value(flat: Float[Array, " p"]) -> Float[Array, ""]:
        return loss(eqx.combine(unravel(flat), rest), *arrays)

    ends = value(first), value(last)

    def forces(nodes: Float[Array, "m p"]) -> tuple[Array, Array, Array]:
        inner, gradients = jax.vmap(jax.value_and_grad(value))(nodes)
        losses = jnp.concatenate([ends[0][None], inner, ends[1][None]])
        chain = jnp.concatenate([first[None], nodes, last[None]])
        steps = jnp.diff(chain, axis=0)
        back, ahead = steps[:-1], steps[1:]
        fall, rise = losses[:-2] - losses[1:-1], losses[2:] - losses[1:-1]
        large, small = jnp.maximum(abs(rise), abs(fall)), jnp.minimum(abs(rise), abs(fall))
        towards = losses[2:] > losses[:-2]
        slope = (rise > 0) & (fall < 0), (rise < 0) & (fall > 0)
        up = jnp.where(slope[0], 1.0, jnp.where(slope[1], 0.0, jnp.where(towards, large, small)))
        down = jnp.where(slope[0], 0.0, jnp.where(slope[1], 1.0, jnp.where(towards, small, large)))
        flat = (up == 0) & (down == 0)
        tangent = jnp.where(flat, 1.0, up)[:, None] * ahead + jnp.where(flat, 1.0, down)[:, None] * back
        tangent = tangent / jnp.maximum(jnp.linalg.norm(tangent, axis=1, keepdims=True), jnp.finfo(first.dtype).tiny)
        along = jnp.sum(gradients * tangent, axis=1, keepdims=True)
        across = gradients - along * tangent
        pull = spring * (jnp.linalg.norm(ahead, axis=1) - jnp.linalg.norm(back, axis=1))[:, None]
        uphill = climb & (jnp.arange(len(nodes)) == jnp.argmax(inner))[:, None]
        physical = jnp.where(uphill, gradients - 2 * along * tangent, across)
        return physical - jnp.where(uphill, 0.0, pull) * tangent, losses, jnp.linalg.norm(physical, axis=1).max()

    def no_potential(nodes: Array, *_: None) -> tuple[Float[Array, ""], None]:
        return jnp.zeros((), nodes.dtype), None

    nodes = scan_steps(no_potential, nodes, rule, None, num_steps=steps, gradient=lambda n, *_: forces(n)[0]).model
    _, losses, residual = forces(nodes)
    return nodes, losses, residual
