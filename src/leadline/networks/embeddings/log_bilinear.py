"""The log-bilinear model of words and their neighbours (skip-gram), by full softmax or by negative samples."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from leadline.learning import log_softmax

Counts = Num[Array | np.ndarray, "v v"]


class LogBilinear(eqx.Module):
    """P(ν | ω) = exp(x_ω·z_ν + b_ν) / Σ_μ exp(x_ω·z_μ + b_μ), with an input and an output vector for each word.

    Mnih and Hinton 2007; skip-gram of Mikolov et al. 2013. Only the products x·z are identified: x ↦ A x with
    z ↦ A⁻ᵀ z is the same model. Both start as N(0, scale²/dim).

    >>> model = LogBilinear(5, 3, key=jax.random.key(0))
    >>> model.log_probabilities().shape, bool(jnp.allclose(jnp.exp(model.log_probabilities()).sum(1), 1.0))
    ((5, 5), True)
    """

    inputs: Float[Array, "v dim"]
    outputs: Float[Array, "v dim"]
    bias: Float[Array, " v"] | None

    def __init__(self, vocabulary: int, dim: int, *, bias: bool = True, scale: float = 1.0, key: PRNGKeyArray):
        if vocabulary < 2 or dim < 1:
            raise ValueError(f"LogBilinear got {vocabulary} words and dimension {dim}; give at least 2 and 1.")
        draw = scale * dim**-0.5 * jax.random.normal(key, (2, vocabulary, dim))
        self.inputs, self.outputs = draw[0], draw[1]
        self.bias = jnp.zeros(vocabulary, draw.dtype) if bias else None

    def scores(self) -> Float[Array, "v v"]:
        """x_ω·z_ν + b_ν for all pairs (ω, ν)."""
        products = self.inputs @ self.outputs.T
        return products if self.bias is None else products + self.bias

    def log_probabilities(self) -> Float[Array, "v v"]:
        """log P(ν | ω), one row for each ω."""
        return log_softmax(self.scores())

    def transformed(self, matrix: Float[Array, "dim dim"]) -> "LogBilinear":
        """The same probabilities with x ↦ A x and z ↦ A⁻ᵀ z."""
        moved = (self.inputs @ matrix.T, jnp.linalg.solve(matrix.T, self.outputs.T).T)
        return eqx.tree_at(lambda m: (m.inputs, m.outputs), self, moved)


def full_softmax_loss(model: LogBilinear, counts: Counts) -> Float[Array, ""]:
    """-Σ N[ω, ν] log P(ν | ω) / Σ N: the mean negative log-likelihood of all pairs.

    Its least value is the conditional entropy of the counts, reached at P(ν | ω) = N[ω, ν]/N[ω].

    >>> model = LogBilinear(4, 2, scale=0.0, key=jax.random.key(0))
    >>> round(float(full_softmax_loss(model, jnp.ones((4, 4)))), 4)
    1.3863
    """
    counts = jnp.asarray(counts)
    return -jnp.sum(counts * model.log_probabilities()) / counts.sum()


def negative_sampling_loss(model: LogBilinear, counts: Counts, negatives: float) -> Float[Array, ""]:
    """The mean over all pairs of -log σ(s_{ων}) - k E log σ(-s_{ωμ}), μ drawn by the neighbours' frequency.

    The expectation is taken exactly. Where the vectors are free enough the least value is at
    s = PMI - log k (Levy and Goldberg 2014); pairs that never occur go to minus infinity.

    >>> model = LogBilinear(4, 2, scale=0.0, key=jax.random.key(0))
    >>> round(float(negative_sampling_loss(model, jnp.ones((4, 4)), 1)), 4)
    1.3863
    """
    joint = jnp.asarray(counts) / jnp.sum(counts)
    noise = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    scores = model.scores()
    return jnp.sum(joint * jax.nn.softplus(-scores) + negatives * noise * jax.nn.softplus(scores))


def sampled_loss(
    model: LogBilinear, words: Int[Array, " n"], neighbours: Int[Array, " n"], negatives: Int[Array, "n k"]
) -> Float[Array, ""]:
    """The loss of drawn pairs (ω, ν) and drawn negatives μ: -log σ(s_{ων}) - Σ_k log σ(-s_{ωμ_k}), averaged.

    Its expectation is `negative_sampling_loss`; this is the form for vocabularies too large for all pairs.

    >>> model = LogBilinear(4, 2, scale=0.0, key=jax.random.key(0))
    >>> pair = jnp.array([0]), jnp.array([1]), jnp.array([[2, 3]])
    >>> round(float(sampled_loss(model, *pair)), 4)
    2.0794
    """
    others = jnp.concatenate([neighbours[:, None], negatives], axis=1)  # (n, 1 + k)
    scores = jnp.einsum("nd,nkd->nk", model.inputs[words], model.outputs[others])
    scores = scores if model.bias is None else scores + model.bias[others]
    signs = jnp.concatenate([jnp.ones((1,)), -jnp.ones(negatives.shape[1])]).astype(scores.dtype)
    return jax.nn.softplus(-signs * scores).sum(axis=1).mean()


def nearest_words(vectors: Float[Array | np.ndarray, "v dim"], word: int, count: int = 3) -> Int[np.ndarray, " count"]:
    """The `count` other words whose vectors have the largest cosine with that of `word`, nearest first.

    >>> nearest_words(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), 0, 1).tolist()
    [1]
    """
    vectors = np.asarray(vectors, float)
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)
    cosine = unit @ unit[word]
    cosine[word] = -np.inf
    return np.argsort(-cosine, kind="stable")[:count]
