"""How much the gradients of single examples resemble each other, layer by layer."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline.curvature.spectra.estimate import Estimate
from leadline.data import generator


def mean_pairwise_cosine(
    gradients: Float[np.ndarray | Array, "n p"], *, resamples: int = 200, key: PRNGKeyArray
) -> Estimate:
    """The mean of cos(gᵢ, gⱼ) over pairs i ≠ j, with a 95% bootstrap interval over examples; it is at least −1/(n − 1).

    A pair of one example with its own copy, which resampling makes, is not counted. Zero gradients have cosine 0.

    >>> import jax
    >>> found = mean_pairwise_cosine(np.array([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]), key=jax.random.key(0))
    >>> round(found.value, 6)
    -0.333333
    """
    g = np.asarray(gradients, float)
    n = len(g)
    if n < 2 or not np.isfinite(g).all():
        raise ValueError(f"mean_pairwise_cosine got {n} gradients; give at least 2, all of them finite.")
    norms = np.linalg.norm(g, axis=1, keepdims=True)
    unit = g / np.where(norms > 0, norms, 1.0)
    cosines = unit @ unit.T
    own = np.diag(cosines)

    def weighted(counts: np.ndarray) -> np.ndarray:
        pairs = counts.sum(axis=-1) ** 2 - np.sum(counts**2, axis=-1)
        return (np.sum(counts @ cosines * counts, axis=-1) - counts**2 @ own) / np.maximum(pairs, 1)

    value = float(weighted(np.ones((1, n)))[0])
    counts = generator(key).multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)
    low, high = np.quantile(weighted(counts), [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value), False, f"bootstrap over {n} gradients")


@eqx.filter_jit
def _gradients(loss: Callable, params: PyTree, arrays: tuple) -> PyTree:
    free, fixed = eqx.partition(params, eqx.is_inexact_array)

    def one(free: PyTree, *row: Array) -> Array:
        return loss(eqx.combine(free, fixed), *row)

    return jax.vmap(jax.grad(one), (None, *(0 for _ in arrays)))(free, *arrays)


def layer_gradients(
    loss: Callable[..., Float[Array, ""]], params: PyTree, *arrays: Num[Array | np.ndarray, "n ..."]
) -> dict[str, Float[np.ndarray, "n _"]]:
    """∇ℓᵢ of every example for each layer: the leaves that share their path up to its last part (weight and bias).

    >>> parts = layer_gradients(lambda p, x: p["in"]["w"] * x, {"in": {"w": jnp.array(1.0)}}, jnp.array([2.0, 3.0]))
    >>> {name: part.tolist() for name, part in parts.items()}
    {"['in']": [[2.0], [3.0]]}
    """
    found = jax.tree_util.tree_flatten_with_path(_gradients(loss, params, tuple(jnp.asarray(a) for a in arrays)))[0]
    layers: dict[str, list[np.ndarray]] = {}
    for path, leaf in found:
        name = jax.tree_util.keystr(path[:-1]) or jax.tree_util.keystr(path)
        layers.setdefault(name, []).append(np.asarray(leaf).reshape(len(leaf), -1))
    return {name: np.concatenate(parts, axis=1) for name, parts in layers.items()}
