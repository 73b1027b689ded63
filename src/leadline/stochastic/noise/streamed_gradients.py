"""The noise of a stochastic gradient on a large network: without any single gradient, from their norms and products."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PyTree

from leadline.curvature import example_gradient_norms
from leadline.curvature.spectra.estimate import Estimate, exact_estimate

from .noise_spectrum import _jackknife, _ratio, _unbiased


class StreamedNoise(NamedTuple):
    """tr C, ‖g‖² and the noise scale tr C/‖g‖² of the law of the rows, with jackknife intervals; and of the rows alone.

    `seen_trace` and `seen_square` are exact for the finite sum over the rows; `gradient` is their mean gradient.
    """

    trace: Estimate
    gradient_square: Estimate
    noise_scale: Estimate
    seen_trace: Estimate
    seen_square: Estimate
    gradient: PyTree
    samples: int


def streamed_noise(
    losses: Callable[..., Float[Array, " n"]],
    params: PyTree,
    *arrays: Num[Array | np.ndarray, "n ..."],
    confidence: float = 0.95,
) -> StreamedNoise:
    """The noise of gᵢ = ∇ lossesᵢ around their mean g, from ‖gᵢ‖ (one backward pass) and gᵢ·g (one forward pass).

    `losses(params, *rows)` gives one loss per row. No gradient of a single row is formed where the layers allow that
    (`curvature.example_gradient_norms`), so that networks of any size fit.

    >>> noise = streamed_noise(lambda w, y: (w["w"] - y) ** 2 / 2, {"w": jnp.array(0.0)}, jnp.array([1.0, 3.0, 5.0]))
    >>> round(noise.seen_square.value, 5), round(noise.seen_trace.value, 5), round(noise.trace.value, 5)
    (9.0, 2.66667, 4.0)
    """
    n = len(arrays[0]) if arrays else 0
    if n < 3:
        raise ValueError(f"streamed_noise got {n} rows; a variance with an interval needs at least 3.")
    squares = np.asarray(example_gradient_norms(losses, params, *arrays), float) ** 2
    gradient, products = _mean_gradient(losses, params, tuple(jnp.asarray(a) for a in arrays))
    products = np.asarray(products, float)
    square = float(sum(np.sum(np.asarray(leaf, float) ** 2) for leaf in jax.tree.leaves(gradient)))
    if not (np.isfinite(squares).all() and np.isfinite(products).all()):
        raise ValueError("A gradient is not finite; look for overflow, log 0 or division by 0 in the loss.")
    rows, whole = n * products, n**2 * square
    trace, level = _unbiased(squares.sum(), whole, n, 0.0)
    left_out = _unbiased(squares.sum() - squares, whole - 2 * rows + squares, n - 1, 0.0)
    trace = _jackknife(trace, left_out[0], n, 0.0, confidence, positive=True)
    level = _jackknife(level, left_out[1], n, 0.0, confidence)
    how = f"all {n} gradients"
    return StreamedNoise(
        trace,
        level,
        _ratio(trace, level),
        exact_estimate(max(squares.mean() - square, 0.0), how),
        exact_estimate(square, how),
        gradient,
        n,
    )


@eqx.filter_jit
def _mean_gradient(losses: Callable, params: PyTree, arrays: Any) -> tuple[PyTree, Array]:
    free, fixed = eqx.partition(params, eqx.is_inexact_array)

    def of(p: PyTree) -> Array:
        return losses(eqx.combine(p, fixed), *arrays)

    gradient = jax.grad(lambda p: jnp.mean(of(p)))(free)
    return gradient, jax.jvp(of, (free,), (gradient,))[1]
