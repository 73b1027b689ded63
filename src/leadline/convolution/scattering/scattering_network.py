"""The scattering network by its definition: every path at full resolution, with any bank, to any order."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require_counts

from .filter_bank import FilterBank


class ScatteringLayer(NamedTuple):
    """One order of a scattering network: the moduli of all paths, each path a tuple of wavelets of the bank."""

    paths: tuple[tuple[int, ...], ...]
    moduli: Float[Array, "..."]  # (*batch, paths, *sides)


def scattering_layers(
    x: Real[Array | np.ndarray, "..."], bank: FilterBank, max_order: int = 2, *, decreasing: bool = True
) -> tuple[ScatteringLayer, ...]:
    r"""$U_0 = x$ and $U_m = |U_{m-1} * \psi_{\lambda_m}|$ for every path $(\lambda_1, \dots, \lambda_m)$, circular.

    A convolutional network with fixed filters and the modulus as its activation (Mallat, Group invariant scattering,
    2012). With `decreasing`, only paths along which the frequency falls: the modulus moves energy to low frequencies,
    and others have little. Nothing is subsampled; `Scattering2D` and `Scattering1D` are the fast forms.

    >>> from leadline.convolution import morlet_bank_1d
    >>> layers = scattering_layers(jnp.eye(32)[0], morlet_bank_1d(32, 2))
    >>> [layer.moduli.shape for layer in layers], layers[2].paths
    ([(1, 32), (3, 32), (3, 32)], ((0, 1), (0, 2), (1, 2)))
    """
    require_counts("scattering_layers", least=0, max_order=max_order)
    dims, x = len(bank.shape), jnp.asarray(x)
    if x.shape[-dims:] != bank.shape:
        raise ValueError(f"scattering_layers got x of shape {x.shape} and a bank of {bank.shape}; give (..., *sides).")
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    psi = jnp.asarray(bank.wavelets, x.dtype)
    height = np.linalg.norm(bank.frequencies, axis=1)
    follows = height[None] < height[:, None] * (1 - 1e-9) if decreasing else np.ones((len(height),) * 2, bool)
    layers = [ScatteringLayer(((),), jnp.expand_dims(x, -dims - 1))]
    for _ in range(max_order):
        before = layers[-1]
        steps = [(i, n) for i, p in enumerate(before.paths) for n in range(len(psi)) if not p or follows[p[-1], n]]
        if not steps:
            break
        parents, children = (np.array(column) for column in zip(*steps, strict=True))
        paths = tuple((*before.paths[i], n) for i, n in steps)
        layers.append(ScatteringLayer(paths, _moduli(before.moduli, psi, parents, children, dims)))
    return tuple(layers)


@partial(jax.jit, static_argnames="dims")
def _moduli(u, psi, parents, children, dims):
    axes = tuple(range(-dims, 0))
    spectra = jnp.take(jnp.fft.fftn(u, axes=axes), parents, axis=-dims - 1)
    return jnp.abs(jnp.fft.ifftn(spectra * psi[children], axes=axes))


def global_scattering(layers: tuple[ScatteringLayer, ...], bank: FilterBank) -> Float[Array, "*batch paths"]:
    r"""The mean of $U_m$ over all positions, for every path of every order: invariant to circular shifts.

    >>> from leadline.convolution import morlet_bank_1d
    >>> x, bank = jnp.eye(32)[0], morlet_bank_1d(32, 2)
    >>> a, b = (global_scattering(scattering_layers(s, bank), bank) for s in (x, jnp.roll(x, 5)))
    >>> bool(jnp.allclose(a, b, atol=1e-7))
    True
    """
    axes = tuple(range(-len(bank.shape), 0))
    return jnp.concatenate([layer.moduli.mean(axes) for layer in layers], -1)


def windowed_scattering(layers: tuple[ScatteringLayer, ...], bank: FilterBank) -> Float[Array, "..."]:
    r"""$U_m * \phi_J$ for every path of every order, at full resolution: invariant to shifts well below the window.

    Where the Littlewood-Paley sum of the bank is at most 1 (`FilterBank.normalised`) it expands no distance:
    $\Vert Sx - Sy \Vert \le \Vert x - y \Vert$.

    >>> from leadline.convolution import morlet_bank_1d
    >>> x, bank = jnp.eye(32)[0], morlet_bank_1d(32, 2).normalised()
    >>> S = windowed_scattering(scattering_layers(x, bank), bank)
    >>> S.shape, bool(jnp.linalg.norm(S) <= jnp.linalg.norm(x))
    ((7, 32), True)
    """
    axes = tuple(range(-len(bank.shape), 0))
    u = jnp.concatenate([layer.moduli for layer in layers], axes[0] - 1)
    return jnp.fft.ifftn(jnp.fft.fftn(u, axes=axes) * jnp.asarray(bank.lowpass, u.dtype), axes=axes).real
