"""A detector that finds a template wherever it lies."""

import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, learning, regularisation
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, mean, model
from leadline.presentation import figure

SIDE = 16


@model(sources=("penn",), shows=("convolution.TemplateDetector",))
def template_detector(
    key, size: Int(3, 7) = 5, noise: Real(0.05, 1.0) = 0.5, images: Int(100, 600) = 300, clutter: Real(3.0, 10.0) = 6.0
):
    r"""Template detector: the largest correlation against a threshold.

    The correlation map with a template moves with the object, and its maximum does not: the decision is the same
    wherever the object lies inside the image. Bright clutter correlates with any template of positive sum, and is
    taken for the object; normalised correlation, which does not see brightness or contrast, is not fooled by it.

    $$f(x) = \mathbb{1}\{\max_{ij} (x \star w)_{ij} \ge \varepsilon\}, \quad
    \rho_{ij} = \frac{\langle x_{ij} - \bar x_{ij}, w - \bar w \rangle}{\|x_{ij} - \bar x_{ij}\| \|w - \bar w\|}$$

    Assumes: the whole object is inside the image; Gaussian noise is independent by pixel.

    Check: A ring of `size` pixels at every place of a 16 × 16 image; images of noise with and without it; flat bright
    squares as clutter.
    """
    rng = data.generator(key)
    ring = np.ones((size, size))
    ring[1:-1, 1:-1] = 0.0
    ring = ring / np.linalg.norm(ring)
    places = [(i, j) for i in range(SIDE - size + 1) for j in range(SIDE - size + 1)]
    placed = np.zeros((len(places), SIDE, SIDE))
    for image, (i, j) in zip(placed, places, strict=True):
        image[i : i + size, j : j + size] = ring
    plain, normalised = (convolution.TemplateDetector(jnp.asarray(ring), 0.0, n) for n in (False, True))
    for name, detector in (("plain", plain), ("normalised", normalised)):
        yield close(detector.score(placed), 1.0, f"{name}: largest response with the object at every place", atol=1e-6)
        yield exactly(detector.peak(placed), places, f"{name}: place of the largest response")
    field = noise / size * rng.normal(size=(2 * images, SIDE, SIDE))  # noise · ‖w‖ beside a response of 1
    there = rng.integers(0, len(places), images)
    with_object = field[:images] + placed[there]
    without = field[images:]
    at_place = np.asarray(plain.response(with_object)).reshape(images, -1)[np.arange(images), there]
    sigma = noise / size
    yield mean(at_place, 1.0, "plain: response at the object in noise of deviation σ, mean: 1", deviation=sigma)
    what = "plain: response at the object in noise of deviation σ, square of its distance from 1: σ²"
    yield mean((at_place - 1) ** 2, sigma**2, what, deviation=np.sqrt(2) * sigma**2)
    cluttered = without.copy()
    corners = rng.integers(0, SIDE - 2 * size + 1, (images, 2))
    for image, (i, j) in zip(cluttered, corners, strict=True):
        image[i : i + 2 * size, j : j + 2 * size] += clutter / size
    curves, areas, more = {}, {}, {}
    for name, detector in (("plain", plain), ("normalised", normalised)):
        positive, negative, bright = (np.asarray(detector.score(x)) for x in (with_object, without, cluttered))
        for kind, against in (("noise", negative), ("bright clutter", bright)):
            curves[f"{name}, {kind}"], areas[name, kind] = _roc(positive, against)
        taken = (np.concatenate([bright, negative]) >= np.median(positive)).astype(float)
        more[name] = regularisation.paired_difference(taken[:images], taken[images:], level=0.999)
    what = "other images taken for the object at the threshold that half the objects pass, with clutter less without"
    yield at_least(more["plain"].low, 0.0, f"plain: {what}, lower end of the interval", strict=True)
    yield at_most(more["normalised"].low, 0.0, f"normalised: {what}, lower end of the interval")
    title = (
        f"Bright clutter takes the area under the ROC of plain correlation from {areas['plain', 'noise']:.2f} to "
        f"{areas['plain', 'bright clutter']:.2f}, of normalised from {areas['normalised', 'noise']:.2f} to "
        f"{areas['normalised', 'bright clutter']:.2f}"
    )
    shown = np.asarray(plain.response(with_object[:1]))[0]
    response = figure.heatmap(
        f"response; the object is at row {places[there[0]][0]}, column {places[there[0]][1]}",
        "column",
        "row",
        values=shown,
        colour="response",
    )
    roc = figure.curves("objects found", "share of other images taken", "share of objects found", lines=curves)
    yield figure.beside(title, response, roc)


def _roc(positive, negative):
    """The curve (share of negatives taken, share of positives found) and the area under it."""
    from sklearn.metrics import roc_curve

    present = np.repeat([1, 0], [len(positive), len(negative)])
    scores = np.concatenate([positive, negative])
    taken, found, _ = roc_curve(present, scores)
    return (taken, found), learning.area_under_curve(present, scores)
