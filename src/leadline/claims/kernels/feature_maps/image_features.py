"""Features of images made by hand, and what a feature space makes similar."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_least, at_most, exactly, frequency, instrument, mean, model, reference
from leadline.kernels import features
from leadline.kernels.features.boxes import random_boxes
from leadline.kernels.features.similarity import pair_similarities, similarity_auc
from leadline.networks import layer_features
from leadline.presentation import figure

_TRAINED_ON = 1200  # the first digits of the file, unshuffled: other people wrote the last ones


@model(sources=("penn",), shows=("kernels.features.gabor_filter",))
def gabor_features(key, orientations: Int(2, 12) = 8, wavelength: Real(4.0, 9.0) = 6.0, aspect: Real(0.7, 1.2) = 1.0):
    r"""Gabor filter features.

    A Gabor filter is a wave under a Gaussian window with its mean removed; it responds to edges of its own orientation
    and wavelength. The moduli of 16 of them on a coarse grid lift ridge regression on digits well above raw pixels.

    $$g(u,v) = \exp\left(-\tfrac{a^2 + \gamma^2 b^2}{2\sigma^2}\right)\cos\left(\tfrac{2\pi a}{\lambda} +
    \psi\right),\qquad (a, b) = R_\theta (u, v)$$

    Check: A grating of the given wavelength is shown at an orientation of the filter bank and with a random phase;
    then the digits are classified.
    """
    rng = data.generator(key)
    waves = (wavelength / 1.5, wavelength, wavelength * 1.5)
    bank = features.gabor_bank(21, waves, orientations, width=3.5, aspect=aspect)
    small = features.gabor_bank(5, (3.0, 6.0), 8)
    means = [np.abs(b.filters.mean(axis=(1, 2))).max() for b in (bank, small)]
    yield at_most(means, 1e-12, "largest |mean| of a filter in both banks")
    turn = int(rng.integers(orientations))
    angle = np.pi * turn / orientations
    v, u = np.mgrid[:41, :41]
    grating = np.cos(2 * np.pi * (u * np.cos(angle) + v * np.sin(angle)) / wavelength + rng.uniform(0, 2 * np.pi))
    inside = np.abs(features.filter_responses(grating[None], bank.filters))[0, :, 10:31, 10:31].max(axis=(1, 2))
    yield exactly(inside.argmax(), orientations + turn, "filter with the largest response to a grating")
    images, labels = data.digits()
    images = images.reshape(-1, 8, 8)
    raw = _ridge_accuracy(images.reshape(len(images), -1), labels)
    filtered = _ridge_accuracy(features.gabor_features(images, small), labels)
    yield reference(raw, 0.874, "ridge accuracy on raw pixels of digits", digits=2)
    yield reference(filtered, 0.973, "ridge accuracy on 16 Gabor filters of digits", digits=2)
    chosen = int(rng.integers(len(images)))
    responses = np.abs(features.filter_responses(images[chosen : chosen + 1], small.filters))[0]
    degrees = np.rint(np.degrees(small.orientations)).astype(int)
    yield figure.images(
        f"{len(bank.filters)} Gabor filters of wavelengths {', '.join(f'{w:.3g}' for w in waves)} pixels; the grating "
        f"at {np.degrees(angle):.0f}° excites its own most",
        images=[(f"{np.degrees(t):.0f}°", f) for t, f in zip(bank.orientations, bank.filters, strict=True)],
        columns=orientations,
        diverging=True,
    )
    title = f"|response| to a digit {labels[chosen]}: 16 filters raise ridge accuracy from {raw:.3f} to {filtered:.3f}"
    seen = [("image", images[chosen] * responses.max())] + [(f"{degrees[i]}°", responses[i]) for i in range(8)]
    yield figure.images(title, images=seen, columns=9)


def _ridge_accuracy(rows: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.linear_model import RidgeClassifier

    n = _TRAINED_ON
    return float(RidgeClassifier(alpha=0.1).fit(rows[:n], labels[:n]).score(rows[n:], labels[n:]))


@model(sources=("penn",))
def box_indicator_features(key, size: Int(8, 24) = 16, threshold: Real(0.3, 0.7) = 0.5, noise: Real(0.0, 0.1) = 0.05):
    r"""Box indicator features with integral images.

    The indicator of a box is 1 if more than a given share of its pixels is marked; four corners of the integral image
    give it at once. An s × s image has (s(s+1)/2)² boxes, 25,502,500 for s = 100, so one samples; accuracy grows with
    the sample.

    $$\phi_B(x) = 1\left\{\tfrac{1}{|B|} \sum_{p \in B} x_p > \tau\right\}, \qquad \#B =
    \left(\tfrac{s(s+1)}{2}\right)^2$$

    Check: The images are apples and peppers of equal area, 800 to train on and 1000 to test; a network of 32 trained
    units is shown beside.
    """
    from sklearn.linear_model import RidgeClassifier

    key_images, key_boxes, key_net = jax.random.split(key, 3)
    fruit = data.fruit_images(1800, size, noise=noise, key=key_images)
    boxes = random_boxes(size, 2048, key=key_boxes)
    sums = features.box_sums(features.integral_image(fruit.marked[:20]), boxes[:200])
    direct = [[image[a:b, c:d].sum() for a, b, c, d in boxes[:200]] for image in fruit.marked[:20]]
    yield exactly(sums, np.array(direct), "box sums: integral image against direct sums")
    sides = range(1, 13)
    listed = [len(np.unique(features.all_boxes(s), axis=0)) for s in sides]
    yield exactly(listed, [features.box_count(s) for s in sides], "boxes listed for s = 1..12, against (s(s+1)/2)²")
    yield exactly(features.box_count(100), 25_502_500, "boxes of a 100 × 100 image")
    indicators, labels = features.box_features(fruit.marked, boxes, threshold=threshold), fruit.labels
    counts = np.array([8, 32, 128, 512, 2048])
    fits = {m: RidgeClassifier(alpha=10.0).fit(indicators[:800, :m], labels[:800]) for m in counts}
    accuracy = [fit.score(indicators[800:, :m], labels[800:]) for m, fit in fits.items()]
    yield at_least(accuracy[-1], accuracy[0], "test accuracy with 2048 boxes against 8", strict=True).as_empirical()
    pixels = fruit.marked.reshape(len(labels), -1).astype(np.float32)
    net = features.draw_two_layer(size * size, 32, key=key_net)
    run = features.train_two_layer(net, pixels[:800], labels[:800], num_steps=200, decay=1.0)
    scores = np.asarray(jax.vmap(run.network)(jnp.asarray(pixels[800:])))[:, 0]
    right = np.sum(np.sign(scores) == labels[800:])
    learned = right / 1000
    yield frequency(right, 1000, 0.5, "test accuracy of the learned network, above chance", side="at least")
    weights = fits[512].coef_.ravel()
    heaviest = np.argsort(-np.abs(weights))[:4]
    points = {"box indicators, ridge": (counts, accuracy)}
    rules = {"32 trained units on pixels": ("y", learned), "chance": ("y", 0.5)}
    apple, pepper = (fruit.marked[np.flatnonzero(labels == s)[0]] for s in (1, -1))
    marked = {"marked": np.argwhere(apple[::-1])[:, ::-1] + 0.5}
    outlines = {f"box {i + 1}: {weights[b]:+.2f}": _outline(boxes[b], size) for i, b in enumerate(heaviest)}
    title = "apple, and the four boxes of largest weight among 512"
    yield figure.beside(
        f"Indicators of random boxes: {accuracy[0]:.2f} with {counts[0]}, {accuracy[-1]:.2f} with {counts[-1]}; "
        f"32 trained units on pixels: {learned:.2f}",
        figure.plane(title, "column", "row, from below", points=marked, lines=outlines, domain=((0, size), (0, size))),
        figure.curves("test accuracy", "boxes", "accuracy", points=points, rules=rules, log="x"),
        figure.images("an apple and a pepper", images=[("apple", apple), ("pepper", pepper)], columns=2),
    )


def _outline(box: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    top, bottom, left, right = box
    return np.array([left, right, right, left, left]), size - np.array([top, top, bottom, bottom, top])


@instrument(sources=("penn",), shows=("kernels.features.centred_cosine",))
def image_similarity(key, units: Int(64, 256) = 128):
    r"""Image similarity in a feature space.

    The AUC of same-class against different-class pairs under centred cosine similarity measures how well a feature
    space makes related images similar: 1 for the labels, 1/2 for noise. On digits it rises from pixels through Gabor
    features to the layers of a trained network.

    $$\mathrm{AUC} = P(\cos(\phi_i, \phi_j) > \cos(\phi_k, \phi_l) \mid y_i = y_j,\; y_k \ne y_l)$$

    Check: The network is trained on the first 1200 digits of the file, and similarities are scored on the last 597.
    """
    rng, (images, labels) = data.generator(key), data.digits()
    held = labels[_TRAINED_ON:]
    yield exactly(similarity_auc(np.eye(10)[held], held), 1.0, "AUC of one-hot labels as features")
    noise = [similarity_auc(rng.standard_normal((60, 10)), held[:60]) for _ in range(40)]
    yield mean(noise, 0.5, "AUC of noise, 40 draws of 60 rows")
    inputs = images.astype(np.float32)
    net = features.draw_two_layer(64, units, 10, key=key)
    seen = inputs[:_TRAINED_ON], labels[:_TRAINED_ON]
    run = features.train_two_layer(net, *seen, loss="cross-entropy", num_steps=100, snapshots=10)
    _, hidden, logits = layer_features(run.network, inputs[_TRAINED_ON:]).post
    bank = features.gabor_bank(5, (3.0, 6.0), 8)
    square = images[_TRAINED_ON:].reshape(-1, 8, 8)
    spaces = {
        "pixels": images[_TRAINED_ON:],
        "Gabor, every second pixel": features.gabor_features(square, bank, averaged=False),
        "Gabor, averaged": features.gabor_features(square, bank),
        f"hidden layer, {units} units": np.asarray(hidden),
        "output probabilities": np.asarray(jax.nn.softmax(logits)),
    }
    pairs = {name: pair_similarities(f, held) for name, f in spaces.items()}
    auc = {name: similarity_auc(f, held) for name, f in spaces.items()}
    pixels, coarse, averaged, layer, output = auc.values()
    yield reference(pixels, 0.884, "AUC of the similarity of pixels", digits=2)
    yield reference(coarse, 0.910, "AUC of Gabor features at every second pixel", digits=2)
    for better, worse, what in (
        (coarse, pixels, "Gabor features at every second pixel, against pixels"),
        (averaged, coarse, "averaged Gabor features, against every second pixel"),
        (layer, pixels, "the hidden layer of the trained network, against pixels"),
        (output, layer, "the network's output probabilities, against its hidden layer"),
    ):
        yield at_least(better, worse, f"AUC of {what}", strict=True).as_empirical()
    every, panels = rng.permutation(len(pairs["pixels"].related))[:6000], []
    for name in (n for n in pairs if n != "Gabor, every second pixel"):
        similarity, related = pairs[name].similarity[every], pairs[name].related[every]
        samples = {"same digit": similarity[related], "different digits": similarity[~related]}
        title = f"{name}: AUC {auc[name]:.3f}"
        panels.append(figure.histogram(title, "centred cosine similarity", samples=samples, bins=30))
    yield figure.beside(
        f"Pairs of one digit stand out more and more: AUC {pixels:.3f} on pixels, {layer:.3f} on a trained layer, "
        f"{output:.3f} on its output",
        *panels,
    )
