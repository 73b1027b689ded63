"""From a network and inputs to matrices of kernel values."""

import sys
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from leadline.kernels import gram
from leadline.kernels.gram.tiles import LARGEST_TILE

from .layers.combinators import Serial
from .layers.layer import Covariance, Form, Layer, Needs
from .layers.pooling import Flatten, GlobalAvgPool
from .layers.position_offsets import over_offsets
from .pair_tiles import one_side, over_tiles, own_kernels

_KINDS = ("nngp", "ntk")
_ONE_CORE, _ONE_CORE_IMAGES = 1000, 32  # inputs a side: a larger matrix is spread over the cores


def kernels(network: Layer, x1: Any, x2: Any, get: str | tuple[str, ...]) -> Any:
    """See `Layer.kernel_fn`."""
    wanted = (get,) if isinstance(get, str) else tuple(get)
    for kind in wanted:
        if kind not in _KINDS:
            raise ValueError(f"kernel_fn got get={kind!r}; choose 'nngp', 'ntk' or a tuple of these.")
    x1 = _inputs(x1)
    x2 = None if x2 is None else _inputs(x2)
    if x2 is not None and x1.shape[1:] != x2.shape[1:]:
        raise ValueError(
            f"kernel_fn got inputs of shapes {x1.shape} and {x2.shape}; all but the first number must agree."
        )
    if x2 is not None and x1.dtype != x2.dtype:
        x1, x2 = jnp.promote_types(x1.dtype, x2.dtype).type(x1), jnp.promote_types(x1.dtype, x2.dtype).type(x2)
    if isinstance(get, str) and _is_large(x1, x2):
        return _over_cores(network, get, x1, x2)
    found = _matrices(network, "ntk" in wanted, x1, x2)
    answer = tuple(getattr(found, kind) for kind in wanted)
    return answer[0] if isinstance(get, str) else answer


def _inputs(x: Any) -> Array:
    if isinstance(x, np.ndarray) and x.dtype == np.float64 and jax.dtypes.canonicalize_dtype(x.dtype) != x.dtype:
        warnings.warn(
            "kernel_fn got float64 inputs while JAX computes in float32: kernel values keep 6 to 7 digits, the tangent "
            "kernel of nearly equal inputs 3; for all digits set jax.config.update('jax_enable_x64', True), or pass "
            "float32.",
            stacklevel=4,
        )
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.zeros(()).dtype)
    if x.ndim not in (2, 3, 4):
        raise ValueError(
            f"kernel_fn got inputs of shape {x.shape}; give (n, features), (n, length, channels) or "
            "(n, height, width, channels)."
        )
    return x


def _is_large(x1: Array, x2: Array | None) -> bool:
    """Whether the matrix is worth several cores; in a compiled function, or elsewhere than on cores, it is not."""
    if isinstance(x1, Tracer) or isinstance(x2, Tracer) or jax.default_backend() != "cpu":
        return False
    least = _ONE_CORE if x1.ndim == 2 else _ONE_CORE_IMAGES
    return len(x1) * len(x1 if x2 is None else x2) > least**2


def _over_cores(network: Layer, kind: str, x1: Array, x2: Array | None) -> Array:
    """Tiles computed by all cores, each written to its place as it comes."""
    vectors = x1.ndim == 2
    largest = LARGEST_TILE if vectors else _ONE_CORE_IMAGES
    K = gram(_PairKernel(network, kind), x1, x2, budget=sys.maxsize, largest=largest)
    if x2 is None and vectors:
        np.fill_diagonal(K, np.asarray(_diagonal(network, kind, x1)))
    return jax.device_put(K)  # takes the memory over; jnp.asarray copies


@dataclass(frozen=True)
class _PairKernel:
    """One kernel of a network as a function of two batches; equal ones share their compiled tiles."""

    network: Layer
    kind: str

    def __call__(self, x1: Array, x2: Array) -> Array:
        return getattr(_matrices(self.network, self.kind == "ntk", x1, x2), self.kind)


@partial(jax.jit, static_argnums=(0, 1))
def _diagonal(network: Layer, kind: str, x: Array) -> Array:
    needs = network.needs(Needs())
    form = Form((), x.shape[-1], needs.full, needs.variances > 1)
    return getattr(own_kernels(network, form, kind == "ntk", x, one_side(network, form, x)), kind)


@partial(jax.jit, static_argnums=(0, 1))
def _matrices(network: Layer, tangent: bool, x1: Array, x2: Array | None) -> Covariance:
    layers = network.layers if isinstance(network, Serial) else (network,)
    if isinstance(layers[0], Flatten):
        x1, x2 = x1.reshape(len(x1), -1), None if x2 is None else x2.reshape(len(x2), -1)
    needs = network.needs(Needs())
    form = Form(x1.shape[1:-1], x1.shape[-1], needs.full, needs.variances > 1)
    pooled = next((i for i, layer in enumerate(layers) if isinstance(layer, GlobalAvgPool)), None)
    if form.positions and pooled and needs.variances < 2 and all(layer.offsetwise() for layer in layers[:pooled]):
        found = over_offsets(Serial(layers[:pooled]), layers[pooled + 1 :], form, tangent, x1, x2)
    else:
        found = over_tiles(network, form, tangent, x1, x2)
    return found.each(lambda k: jnp.moveaxis(k, (-2, -1), (0, 1))) if found.nngp.ndim > 2 else found
