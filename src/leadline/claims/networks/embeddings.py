"""Vectors for words: the log-bilinear model by full softmax and by negative samples."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import embeddings, training
from leadline.evidence import Range, at_least, at_most, close, exactly, figure, model


def _apart(plane, chosen):
    """Those of the chosen points whose labels do not run into each other, the first ones first."""
    kept, (width, height) = [], np.ptp(plane, axis=0)
    for i in chosen:
        gaps = np.abs(plane[kept] - plane[i]) / (width, height)
        if not np.any((gaps[:, 0] < 0.2) & (gaps[:, 1] < 0.06)):
            kept.append(i)
    return kept


def _framed(points):
    """A square around the points with room for labels on the right."""
    middle, half = (points.max(axis=0) + points.min(axis=0)) / 2, 0.62 * np.ptp(points, axis=0).max()
    (x, y), shift = middle, 0.1 * half
    return (float(x + shift - half), float(x + shift + half)), (float(y - half), float(y + half))


@model(
    "log-bilinear-embeddings",
    says="Each word has an input and an output vector, and a neighbour's probability is a softmax of their inner "
    "products. Negative sampling has its optimum at PMI − log k. The vectors are known only up to x → Ax, z → A⁻ᵀz.",
    formula=r"P(\nu \mid \omega) = \frac{e^{x_\omega \cdot z_\nu + b_\nu}}{\sum_\mu e^{x_\omega \cdot z_\mu + b_\mu}}, "
    r"\qquad x_\omega \cdot z_\nu = \mathrm{PMI}(\omega, \nu) - \log k",
    sources=("sheet",),
    assumes=("a dimension of at least the vocabulary for the two fits",),
    shows=(
        "embeddings.LogBilinear",
        "embeddings.full_softmax_loss",
        "embeddings.negative_sampling_loss",
        "embeddings.sampled_loss",
        "embeddings.window_counts",
        "embeddings.conditionals",
        "embeddings.pointwise_mutual_information",
        "embeddings.nearest_words",
        "embeddings.dataset_descriptions",
        "embeddings.index_words",
    ),
)
def log_bilinear_embeddings(
    key,
    vocabulary: Annotated[int, Range(20, 200)] = 50,
    dim: Annotated[int, Range(2, 200)] = 50,
    window: Annotated[int, Range(1, 5)] = 2,
    negatives: Annotated[int, Range(1, 15)] = 5,
):
    """The text is scikit-learn's descriptions of its six bundled datasets, about 1700 words; rare words are one word.

    Both losses are minimised over all pairs at once, by Adam. Frequent pairs are those seen 3 times or more.
    """
    corpus = embeddings.index_words(embeddings.dataset_descriptions(), vocabulary)
    words, size = corpus.words, len(corpus.words)
    counts = embeddings.window_counts(corpus.tokens, size, window)
    exact = embeddings.conditionals(counts)
    key_full, key_negative, key_matrix = jax.random.split(key, 3)
    free = dim >= size
    enough = "the dimension is at least the vocabulary"

    steps = 400
    rule = optax.adam(optax.cosine_decay_schedule(0.1, steps))
    model = embeddings.LogBilinear(size, dim, key=key_full)
    model, losses = training.minimise(embeddings.full_softmax_loss, model, rule, steps, jnp.asarray(counts, float))
    log_p = np.asarray(model.log_probabilities())
    positive = exact > 0
    divergence = np.where(positive, exact * (np.log(np.where(positive, exact, 1.0)) - log_p), 0.0).sum(axis=1)
    share = counts.sum(axis=1) / counts.sum()
    entropy = -float(np.sum(share[:, None] * np.where(positive, exact * np.log(np.where(positive, exact, 1.0)), 0.0)))
    yield close(np.exp(log_p).sum(axis=1), 1.0, "sum of P(ν | ω) over ν", atol=1e-12)
    yield at_least(
        float(losses[-1]), entropy, "loss at the end, against the conditional entropy of the text", rtol=1e-12
    )
    yield at_most(float(share @ divergence), 1e-3, "mean KL of the text's conditionals from the model's").given(
        free, enough
    )

    sampled = embeddings.LogBilinear(size, dim, bias=False, key=key_negative)
    sampled, _ = training.minimise(
        embeddings.negative_sampling_loss,
        sampled,
        rule,
        steps,
        jnp.asarray(counts, float),
        jnp.asarray(float(negatives)),
    )
    frequent = counts >= 3
    target = embeddings.pointwise_mutual_information(counts)[frequent] - np.log(negatives)
    found = np.asarray(sampled.scores())[frequent]
    correlation = float(np.corrcoef(found, target)[0, 1])
    yield at_least(correlation, 0.9, f"correlation of x·z with PMI − log k, {frequent.sum()} frequent pairs").given(
        free, enough
    )
    yield at_most(float(np.median(np.abs(found - target))), 0.05, "median of |x·z − (PMI − log k)| on them").given(
        free, enough
    )

    rotation = jnp.linalg.qr(jax.random.normal(key_matrix, (dim, dim)))[0]
    matrix = rotation * jnp.linspace(0.5, 2.0, dim)
    moved = model.transformed(matrix)
    yield close(
        moved.log_probabilities(), log_p, "log P after x → Ax, z → A⁻ᵀz", atol=1e-12 * max(1.0, np.abs(log_p).max())
    )
    yield exactly(bool(jnp.allclose(moved.inputs, model.inputs)), False, "the vectors are the same after that")

    vectors = np.asarray(sampled.inputs)
    centred = vectors - vectors.mean(axis=0)
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    long = [i for i, word in enumerate(words) if len(word) > 2 and word != embeddings.OTHER]
    shown = _apart(plane, long)[:16]
    probe = next((i for i in long if words[i] in ("wine", "iris", "cancer", "data", "set")), long[0])
    near = embeddings.nearest_words(vectors, probe)
    yield figure.beside(
        f"A text of {len(corpus.tokens)} words, its {size - 1} commonest kept apart: nearest to “{words[probe]}” are "
        + ", ".join(f"“{words[i]}”" for i in near),
        figure.plane(
            "Input vectors in their two principal directions",
            x="first direction",
            y="second direction",
            points={"words": plane[shown]},
            labels=[(float(plane[i, 0]), float(plane[i, 1]), words[i]) for i in shown],
            domain=_framed(plane[shown]),
        ),
        figure.curves(
            f"Inner products follow PMI − log {negatives}: correlation {correlation:.3f}",
            x="PMI − log k, from the text",
            y="x·z, from negative sampling",
            lines={"x·z = PMI − log k": ([target.min(), target.max()], [target.min(), target.max()])},
            points={"pairs seen 3 times or more": (target, found)},
        ),
    )
