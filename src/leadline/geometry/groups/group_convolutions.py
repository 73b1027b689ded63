"""Convolution on any finite group from its table: the linear maps that commute with left translations."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from .finite_group import FiniteGroup


def group_convolution(
    group: FiniteGroup, kernel: Num[Array, "n out into"] | Any, signal: Num[Array, "n into"] | Any
) -> Num[Array, "n out"]:
    """(κX)(g) = Σ_h κ(g⁻¹h) X(h), with κ: G → R^(out x into) and X: G → R^into (Cohen and Welling 2016).

    On C_n this is the circular correlation Σ_k κ(k) X(g + k).

    >>> from leadline.geometry import cyclic_group
    >>> kernel, signal = jnp.zeros((4, 1, 1)).at[1].set(1.0), jnp.arange(4.0)[:, None]
    >>> group_convolution(cyclic_group(4), kernel, signal)[:, 0].tolist()
    [1.0, 2.0, 3.0, 0.0]
    """
    kernel, signal = _checked(group, kernel), jnp.asarray(signal)
    if signal.ndim != 2 or signal.shape[0] != group.order or signal.shape[1] != kernel.shape[2]:
        raise ValueError(
            f"A signal on {group.name} for this kernel has shape {group.order, kernel.shape[2]}; got {signal.shape}."
        )
    return jnp.einsum("ghoi,hi->go", kernel[_differences(group)], signal)


def group_convolution_matrix(
    group: FiniteGroup, kernel: Num[Array, "n out into"] | Any
) -> Float[Array, "n_out n_into"] | Num[Array, "..."]:
    """The matrix of `group_convolution` on flattened signals: block (g, h) is κ(g⁻¹h).

    >>> from leadline.geometry import cyclic_group
    >>> group_convolution_matrix(cyclic_group(3), jnp.arange(3.0)[:, None, None]).tolist()
    [[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]]
    """
    kernel = _checked(group, kernel)
    n, out, into = kernel.shape
    return kernel[_differences(group)].transpose(0, 2, 1, 3).reshape(n * out, n * into)


def translate(group: FiniteGroup, g: int, signal: Num[Array, "n ..."] | Any) -> Num[Array, "n ..."]:
    """(gX)(z) = X(g⁻¹z), the left action on signals.

    >>> from leadline.geometry import cyclic_group
    >>> translate(cyclic_group(4), 1, jnp.arange(4.0)).tolist()
    [3.0, 0.0, 1.0, 2.0]
    """
    return jnp.asarray(signal)[group.table[group.inverses[g]]]


def _differences(group: FiniteGroup) -> Any:
    return group.table[group.inverses]  # [g, h] = g⁻¹h


def _checked(group: FiniteGroup, kernel: Any) -> Array:
    kernel = jnp.asarray(kernel)
    if kernel.ndim != 3 or kernel.shape[0] != group.order:
        raise ValueError(
            f"A kernel on {group.name} has shape ({group.order}, channels out, channels in); got {kernel.shape}."
        )
    return kernel
