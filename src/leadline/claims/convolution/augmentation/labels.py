"""Which labels a transformation keeps, by a reference classifier."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, kernels
from leadline.convolution import augmentation as aug
from leadline.convolution.symmetry.image_transformations import flips
from leadline.evidence import Int, at_least, exactly, frequency, instrument
from leadline.presentation import figure

BEFORE, AFTER = 1, 2  # the two tokens of the text whose order matters


@instrument(sources=("penn", "eth"), shows=("convolution.augmentation.label_transitions",))
def label_preservation(key, train: Int(700, 1000) = 900, reach: Int(8, 30) = 15, texts: Int(1000, 4000) = 2000):
    r"""Label preservation.

    A transformation may be used for augmentation if it keeps the label. A reference classifier, trained on untouched
    examples, names the transformed ones: the matrix of true class against named class shows which classes become one
    another (6 and 9 under a half turn) and which are no longer recognised.

    $$M_{ij} = \#\{x \text{ of class } i : \hat c(Tx) = j\}$$

    Assumes: the classifier names untouched examples well.

    Check: Kernel ridge regression on the digits and those held out. Texts of two tasks, whose classifiers are exact:
    which of two neighbouring words comes first, and which of two words is more frequent, under word-order noise;
    two neighbours change places with probability r²/(2(r + 1)²) if none moves by more than r.
    """
    x, y = data.digits()
    order = data.generator(key).permutation(len(y))
    seen, held = order[:train], order[train:]
    fit = kernels.machines.kernel_ridge(kernels.Gaussian(2.5), x[seen], np.eye(10)[y[seen]], 1e-3 / train)
    images, labels = x[held].reshape(-1, 8, 8), y[held]

    def scores(fit, images):
        return 10 * np.asarray(fit.predict(np.asarray(images).reshape(len(images), -1)))

    turns, mirror = convolution.quarter_turns(), flips()[1]
    named = {t.name: aug.label_transitions(scores, fit, images, labels, t) for t in (turns[0], turns[2], mirror)}
    still, half, mirrored = named.values()
    yield exactly(len(still.becomes) + len(still.exchanged) + len(still.lost), 0, "identity: classes that are flagged")
    yield exactly((6, 9) in half.exchanged, True, "half turn: 6 and 9 become one another").as_empirical()
    shares = half.shares[[0, 8], [0, 8]]
    yield at_least(shares, 0.5, "half turn: share of 0 and of 8 that stay what they are").as_empirical()
    yield exactly(
        [c in half.lost for c in (0, 8)], False, "half turn: whether 0, and 8, are no longer recognised"
    ).as_empirical()
    what = "mirror: pairs of classes that become one another"
    yield exactly(len(mirrored.exchanged), 0, what).as_empirical()
    lost = len(mirrored.lost)
    yield at_least(
        lost, 1, "mirror: classes that are no longer recognised (2, 3, 5, 6, 7, ... have a side)"
    ).as_empirical()
    yield from _word_order(key, reach, texts)
    title = f"A half turn makes 9 of {half.shares[6, 9]:.0%} of the 6, and 6 of {half.shares[9, 6]:.0%} of the 9"
    digits = list(range(10))
    options = {"xs": digits, "ys": digits, "colour": "share", "text": True}
    panels = [
        figure.heatmap(name, "named", "class", values=np.round(found.shares, 2), **options)
        for name, found in (("half turn", half), ("mirror left-right", mirrored))
    ]
    yield figure.beside(title, *panels)


def _word_order(key, reach, texts, length=32):
    rng = data.generator(key)
    which, place = rng.integers(2, size=texts), rng.integers(length - 1, size=texts)
    ordered = rng.integers(3, 9, (texts, length))
    rows = np.arange(texts)
    ordered[rows, place], ordered[rows, place + 1] = np.where(which, AFTER, BEFORE), np.where(which, BEFORE, AFTER)
    counted = rng.integers(0, 9, (texts, length))
    more = ((counted == BEFORE).sum(axis=1) > (counted == AFTER).sum(axis=1)).astype(int)

    def first(_, tokens):
        tokens = np.asarray(tokens)
        earlier = (tokens == BEFORE).argmax(axis=1) < (tokens == AFTER).argmax(axis=1)
        return 10.0 * np.stack([earlier, ~earlier], axis=1)

    def frequent(_, tokens):
        tokens = np.asarray(tokens)
        larger = (tokens == BEFORE).sum(axis=1) > (tokens == AFTER).sum(axis=1)
        return 10.0 * np.stack([~larger, larger], axis=1)

    def shuffled(tokens):
        return aug.augment(aug.WordOrderNoise(reach), jnp.asarray(tokens), key=jax.random.fold_in(key, 1))

    found = aug.label_transitions(first, None, ordered, which, shuffled)
    moved = int(found.counts[0, 1] + found.counts[1, 0])
    what = "which word comes first: texts whose label the word order noise changes, against r²/(2(r + 1)²)"
    yield frequency(moved, texts, reach**2 / (2 * (reach + 1) ** 2), what)
    yield exactly(len(found.becomes), 2, "which word comes first: classes that are flagged")
    kept = aug.label_transitions(frequent, None, counted, more, shuffled)
    yield exactly(kept.counts[0, 1] + kept.counts[1, 0], 0, "which word is more frequent: texts whose label changes")
