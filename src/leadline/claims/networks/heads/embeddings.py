"""Vectors for words: the log-bilinear model by full softmax and by negative samples."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import training
from leadline.evidence import Int, at_least, at_most, close, model
from leadline.networks import embeddings
from leadline.networks.embeddings.corpora import OTHER, dataset_descriptions
from leadline.presentation import figure


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


@model(sources=("sheet",), shows=("networks.embeddings.sampled_loss",))
def log_bilinear_embeddings(
    key, vocabulary: Int(20, 200) = 50, dim: Int(2, 200) = 50, window: Int(1, 5) = 2, negatives: Int(1, 15) = 5
):
    r"""Log-bilinear word embeddings.

    Each word has an input and an output vector, and a neighbour's probability is a softmax of their inner products.
    Negative sampling has its optimum at PMI − log k. The vectors are determined only up to x → Ax, z → A⁻ᵀz.

    $$P(\nu \mid \omega) = \frac{e^{x_\omega \cdot z_\nu + b_\nu}}{\sum_\mu e^{x_\omega \cdot z_\mu + b_\mu}}, \qquad
    x_\omega \cdot z_\nu = \mathrm{PMI}(\omega, \nu) - \log k$$

    Assumes: for the two fits, a dimension of at least the size of the vocabulary.

    Check: The text is scikit-learn's descriptions of its six bundled datasets, about 1700 words, with all rare words
    treated as one word. Both losses are minimised over all pairs at once, by Adam. Frequent pairs are those seen 3
    times or more.
    """
    corpus = embeddings.index_words(dataset_descriptions(), vocabulary)
    words, size = corpus.words, len(corpus.words)
    counts = embeddings.window_counts(corpus.tokens, size, window)
    exact = embeddings.conditionals(counts)
    key_full, key_negative, key_matrix = jax.random.split(key, 3)
    enough = dim >= size, "the dimension is at least the vocabulary"

    steps, pairs = 400, jnp.asarray(counts, float)
    rule = optax.adam(optax.cosine_decay_schedule(0.1, steps))
    model = embeddings.LogBilinear(size, dim, key=key_full)
    model, losses = training.minimise(embeddings.full_softmax_loss, model, rule, steps, pairs)
    log_p = np.asarray(model.log_probabilities())
    log_exact = np.log(np.where(exact > 0, exact, 1.0))  # 0 where nothing was seen, which is multiplied by 0
    share = counts.sum(axis=1) / counts.sum()
    entropy, divergence = -share @ (exact * log_exact).sum(axis=1), share @ (exact * (log_exact - log_p)).sum(axis=1)
    yield close(np.exp(log_p).sum(axis=1), 1.0, "sum of P(ν | ω) over ν", atol=1e-12)
    yield at_least(losses[-1], entropy, "loss at the end, against the conditional entropy of the text", rtol=1e-12)
    yield at_most(divergence, 1e-3, "mean KL of the text's conditionals from the model's").given(*enough)

    sampled, loss = embeddings.LogBilinear(size, dim, bias=False, key=key_negative), embeddings.negative_sampling_loss
    sampled, _ = training.minimise(loss, sampled, rule, steps, pairs, jnp.asarray(float(negatives)))
    frequent = counts >= 3
    target = embeddings.pointwise_mutual_information(counts)[frequent] - np.log(negatives)
    found = np.asarray(sampled.scores())[frequent]
    correlation, common = np.corrcoef(found, target)[0, 1], f"{frequent.sum()} frequent pairs"
    yield at_least(correlation, 0.9, f"correlation of x·z with PMI − log k, {common}").given(*enough)
    off = np.median(np.abs(found - target))
    yield at_most(off, 0.05, f"median of |x·z − (PMI − log k)|, {common}").given(*enough)

    rotation = jnp.linalg.qr(jax.random.normal(key_matrix, (dim, dim)))[0]
    moved = model.transformed(rotation * jnp.linspace(0.5, 2.0, dim))
    tiny = 1e-12 * max(1.0, np.abs(log_p).max())
    yield close(moved.log_probabilities(), log_p, "log P after x → Ax, z → A⁻ᵀz", atol=tiny)
    shift = jnp.linalg.norm(moved.inputs - model.inputs) / jnp.linalg.norm(model.inputs)
    yield at_least(shift, 1e-3, "relative change of the vectors x by x → Ax")

    vectors = np.asarray(sampled.inputs)
    centred = vectors - vectors.mean(axis=0)
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    long = [i for i, word in enumerate(words) if len(word) > 2 and word != OTHER]
    shown = _apart(plane, long)[:16]
    probe = next((i for i in long if words[i] in ("wine", "iris", "cancer", "data", "set")), long[0])
    near = embeddings.nearest_words(vectors, probe)
    ends = (target.min(), target.max())
    yield figure.beside(
        f"A text of {len(corpus.tokens)} words, its {size - 1} commonest kept apart: nearest to “{words[probe]}” are "
        + ", ".join(f"“{words[i]}”" for i in near),
        figure.plane(
            "Input vectors in their two principal directions",
            "first direction",
            "second direction",
            points={"words": plane[shown]},
            labels=[(*plane[i].tolist(), words[i]) for i in shown],
            domain=_framed(plane[shown]),
        ),
        figure.curves(
            f"Inner products follow PMI − log {negatives}: correlation {correlation:.3f}",
            "PMI − log k, from the text",
            "x·z, from negative sampling",
            lines={"x·z = PMI − log k": (ends, ends)},
            points={"pairs seen 3 times or more": (target, found)},
        ),
    )
