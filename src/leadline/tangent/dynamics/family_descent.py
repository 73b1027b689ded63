"""Gradient descent on the mean risk for two-layer networks of several widths at once, in one compiled program."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from leadline._checks import require_counts, require_numbers
from leadline.networks import TwoLayer

from ..two_layer import Inputs, Others, Targets


class FamilyRun(NamedTuple):
    """One trained network: the steps it took, whether it came to the target, and R at every step from 0 on."""

    network: TwoLayer
    steps: int
    reached: bool
    losses: Float[np.ndarray, " steps_and_one"]


def train_family(
    networks: Sequence[TwoLayer],
    x: Inputs,
    y: Targets,
    step_sizes: Sequence[float] | Float[np.ndarray, " k"],
    *,
    until: float = 0.0,
    max_steps: int = 1000,
) -> list[FamilyRun]:
    """θ ← θ - η ∇R, R = (1/n) Σ (f(x_i) - y_i)², each network with its η until R ≤ `until` R₀ or after `max_steps`
    steps.

    The networks have one activation and any widths and scales: narrower ones are filled with masked units, and the
    scale s is carried as a factor s² on the step of s v, which is the same descent.

    >>> from leadline.tangent import lecun_two_layer
    >>> nets = [lecun_two_layer(2, m, "relu", key=jax.random.key(0)) for m in (50, 200)]
    >>> runs = train_family(nets, jnp.eye(2), jnp.ones(2), [0.02, 0.005], until=0.1, max_steps=500)
    >>> [run.reached for run in runs], [run.network.width for run in runs]
    ([True, True], [50, 200])
    """
    require_numbers("train_family", x=x, y=y)
    require_counts("train_family", least=0, max_steps=max_steps)
    if not networks or len(networks) != len(step_sizes):
        raise ValueError(
            f"train_family got {len(networks)} networks and {len(step_sizes)} step sizes; pass one for each."
        )
    rates = np.asarray(step_sizes, float)
    weights, heads, losses, steps = _family(
        networks[0].phi, max_steps, *_padded(networks), rates, jnp.asarray(x), jnp.asarray(y), until
    )
    weights, heads, losses, steps = map(np.asarray, (weights, heads, losses, steps))  # slices of these compile nothing
    found = []
    for i, n in enumerate(networks):
        own = jnp.asarray(weights[i, : n.width]), jnp.asarray(heads[i, : n.width] / n.scale)
        end = eqx.tree_at(lambda t: (t.weight, t.head), n, own)
        history = losses[i, : int(steps[i]) + 1]
        found.append(FamilyRun(end, int(steps[i]), bool(history[-1] <= until * history[0]), history))
    return found


def family_kernels(networks: Sequence[TwoLayer], x: Inputs, z: Others | None = None) -> Float[np.ndarray, "_ n _"]:
    """The tangent kernels of two-layer networks of several widths and scales, in one compiled program.

    >>> from leadline.tangent import lecun_two_layer
    >>> nets = [lecun_two_layer(2, m, "relu", key=jax.random.key(0)) for m in (50, 200)]
    >>> bool(np.allclose(family_kernels(nets, jnp.eye(2))[1], nets[1].tangent_kernel(jnp.eye(2)), rtol=1e-4))
    True
    """
    require_numbers("family_kernels", x=x, z=z)
    if not networks:
        raise ValueError("family_kernels got no networks; pass at least one.")
    x = jnp.asarray(x)
    return np.asarray(_kernels(networks[0].phi, *_padded(networks), x, x if z is None else jnp.asarray(z)))


def _padded(networks: Sequence[TwoLayer]) -> tuple[np.ndarray, ...]:
    """W and s v filled with zeros to one width, the mask of real units, and s²."""
    if len({net.activation for net in networks}) > 1:
        raise ValueError("The networks have different activations; take each activation by itself.")
    width = max(net.width for net in networks)
    weights = np.stack([np.pad(np.asarray(n.weight), ((0, width - n.width), (0, 0))) for n in networks])
    heads = np.stack([np.pad(n.scale * np.asarray(n.head), (0, width - n.width)) for n in networks])
    mask = np.stack([(np.arange(width) < n.width).astype(heads.dtype) for n in networks])
    return weights, heads, mask, np.array([n.scale**2 for n in networks], heads.dtype)


@partial(jax.jit, static_argnums=0)
def _kernels(phi: Callable, weights, heads, mask, squares, x, z):
    def one(weight, head, mask, square):
        def gradients(x):
            h = x @ weight.T
            values, slopes = jax.jvp(phi, (h,), (jnp.ones_like(h),))
            return values * mask, slopes * head

        (last, first), (last_z, first_z) = gradients(x), gradients(z)
        return square * (last @ last_z.T) + (first @ first_z.T) * (x @ z.T)

    return jax.lax.map(lambda parts: one(*parts), (weights, heads, mask, squares))


@partial(jax.jit, static_argnums=(0, 1))
def _family(phi: Callable, max_steps: int, weights, heads, mask, squares, rates, x, y, until):
    return jax.vmap(partial(_descend, phi, max_steps), in_axes=(0, 0, 0, 0, 0, None, None, None))(
        weights, heads, mask, squares, rates.astype(heads.dtype), x, y, until
    )


def _descend(phi, max_steps, weight, head, mask, square, rate, x, y, until):
    def risk(parameters):
        weight, head = parameters
        return jnp.mean(((phi(x @ weight.T) * mask) @ head - y) ** 2)

    value_and_slope = jax.value_and_grad(risk)
    first, slope = value_and_slope((weight, head))
    history = jnp.full(max_steps + 1, jnp.nan, first.dtype).at[0].set(first)

    def going(state):
        count, _, _, loss, _ = state
        return (count < max_steps) & (loss > until * first) & jnp.isfinite(loss)

    def advance(state):
        count, (weight, head), (dw, dv), _, history = state
        parameters = weight - rate * dw, head - rate * square * dv
        loss, slope = value_and_slope(parameters)
        return count + 1, parameters, slope, loss, history.at[count + 1].set(loss)

    count, (weight, head), _, _, history = jax.lax.while_loop(
        going, advance, (jnp.asarray(0), (weight, head), slope, first, history)
    )
    return weight, head, history, count
