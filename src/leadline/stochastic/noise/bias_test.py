"""Is the mean of a loader's batch gradients the full gradient? A test on random projections, and a score a layer."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.data import generator


class GradientBias(NamedTuple):
    """`p_value` of "the mean is the full gradient", and for each layer a standard score, N(0, 1) without bias."""

    p_value: float
    z_scores: dict[str, float]
    batches: int

    def biased(self, level: float = 1e-3) -> bool:
        return self.p_value < level


def gradient_bias(
    loss: Callable[..., Float[Array, ""]],
    params: PyTree,
    data: tuple,
    batches: Iterable[tuple],
    *,
    projections: int = 4,
    key: PRNGKeyArray,
) -> GradientBias:
    """Compare the gradients of loss(params, *batch) over a loader's batches with that of loss(params, *data).

    `loss` is that of a whole batch, with its weights if the batch brings any, so that non-uniform sampling, a short
    last batch that counts like the others, and losses that couple the examples (batch normalisation, contrastive) show.

    >>> import jax.numpy as jnp
    >>> mean_square = lambda w, y: ((w[0] - y) ** 2).mean() / 2
    >>> data = jnp.arange(20.0)
    >>> first_half = [(data[(7 * k % 10,),],) for k in range(40)]
    >>> gradient_bias(mean_square, jnp.zeros(1), (data,), first_half, key=jax.random.key(0)).biased()
    True
    """
    slope = eqx.filter_jit(eqx.filter_grad(loss))
    full = slope(params, *data)
    seen = [slope(params, *batch) for batch in batches]
    stacked = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *seen)
    return compare_gradients(full, stacked, projections=projections, key=key)


def compare_gradients(full: PyTree, batches: PyTree, *, projections: int = 4, key: PRNGKeyArray) -> GradientBias:
    """The same from gradients: `full`, and `batches` with one more axis in front for the independent batches.

    The whole gradient is projected on a few random directions: Hotelling's T² of the differences, referred to F. A
    layer's score takes its direction from the first half of the batches and tests it on the second.
    """
    rng = generator(key)
    named = jax.tree_util.tree_leaves_with_path(full)
    pieces = [np.asarray(leaf, float) for leaf in jax.tree.leaves(batches)]
    count = len(pieces[0])
    difference = {
        jax.tree_util.keystr(path).strip(".[]'") or "w": piece.reshape(count, -1) - np.asarray(leaf, float).ravel()
        for (path, leaf), piece in zip(named, pieces, strict=True)
    }
    size = sum(piece.shape[1] for piece in difference.values())
    projections = min(projections, size)
    if count < 2 * projections + 4:
        raise ValueError(
            f"{count} batches are too few for {projections} projections; give {2 * projections + 4} or more."
        )
    projected = np.asarray(sum(d @ rng.standard_normal((d.shape[1], projections)) for d in difference.values()))
    return GradientBias(_hotelling(projected), {name: _split_score(d) for name, d in difference.items()}, count)


def _hotelling(projected: Float[np.ndarray, "batches k"]) -> float:
    from scipy.special import fdtrc

    count, k = projected.shape
    centre = projected.mean(axis=0)
    spread = np.atleast_2d(np.cov(projected, rowvar=False))
    square = count * centre @ np.linalg.pinv(spread, hermitian=True) @ centre
    return float(fdtrc(k, count - k, square * (count - k) / (k * (count - 1))))


def _split_score(difference: Float[np.ndarray, "batches p"]) -> float:
    half = len(difference) // 2
    along = difference[half:] @ difference[:half].mean(axis=0)
    spread = along.std(ddof=1)
    return float(np.sqrt(len(along)) * along.mean() / spread) if spread > 0 else 0.0
