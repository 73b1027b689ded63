"""Double descent: least squares on random features through the interpolation peak, and a ridge that removes it."""

import jax
import numpy as np

from leadline import learning, regularisation
from leadline.claims.scenarios.regularisation.digit_features import digit_sweeps
from leadline.evidence import Int, OneOf, Real, at_most, claim, close
from leadline.presentation import figure


@claim(sources=("eth", "penn"), shows=("regularisation.feature_sweep",), empirical=True)
def double_descent(key, images: OneOf(100, 150, 200) = 100, corrupted: Real(0.0, 0.3) = 0.0, seeds: Int(3, 7) = 3):
    r"""Double descent.

    Minimum-norm least squares on p random ReLU features of n points interpolates from p = n on. The test error rises
    to a peak at p = n, where the smallest singular value of the features is least, and falls again beyond. A ridge
    removes the peak.

    $$\hat W = \Phi^{+} Y, \qquad \Phi_{ik} = \max(0, w_k \cdot x_i), \qquad \|\Phi^{+}\| = \frac{1}{s_{\min}(\Phi)}
    \text{ largest at } p = n$$

    Assumes: features in general position; an adequate ridge for the last part.

    Check: Digits with one-hot targets, pixels centred, no bias; medians over `seeds` draws of rows and features. The
    best ridge at each p is the one with the least error on the test rows.
    """
    counts = sorted({round(images * r) for r in (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 5, 25)})
    sweeps = digit_sweeps(key, images, corrupted, counts, seeds)
    p = np.array(counts)
    test = np.median([s.test for s in sweeps], axis=0)  # (counts, alphas)
    train = np.array([s.train[:, 0] for s in sweeps])
    yield at_most(train[:, p > images], 1e-10, "training error from p > n on: every draw interpolates")
    smallest = np.median([s.smallest for s in sweeps], axis=0)
    place = p[np.argmin(smallest[2:]) + 2]
    what = "features at which the smallest singular value is least, over n"
    yield close(place / images, 1.0, what, atol=0.1).as_empirical()
    peak = p[np.argmax(test[:, 0])]
    yield close(peak / images, 1.0, "features at which the test error peaks, over n", atol=0.1).as_empirical()
    what = "test error at p = 25n, against a tenth of that at p = n"
    yield at_most(test[-1, 0], test[p == images, 0] / 10, what).as_empirical()
    best = test.min(axis=1)
    yield at_most(best[1:], 1.05 * best[:-1], "best ridge: test error at the next p, against 1.05 times").as_empirical()
    # An independent route to one point of the curve: the library's readout, one output at a time.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel())
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    phi = learning.draw_features(3, 30, "relu", bias_scale=0.0, key=key)
    small = regularisation.feature_sweep(phi, x, y, x[:5], y[:5], (30,), alphas=(0.5,))
    said = [learning.fit_readout(phi, x, column, ridge=0.5).predict(phi(x[:5])) for column in y.T]
    expected = np.mean(np.sum((np.array(said).T - y[:5]) ** 2, axis=1))
    yield close(
        small.test[0, 0], expected, "12 random points: error of the sweep, against the readout alone", rtol=1e-9
    )
    lines = {"minimum norm": (p / images, test[:, 0]), "best ridge": (p / images, best)}
    lines["minimum norm, training"] = (p / images, np.maximum(np.median(train, axis=0), 1e-6))
    title = (
        f"Test error {test[:, 0].max():.3g} at p = {peak}, n = {images}; {test[-1, 0]:.2g} at p = {p[-1]}; "
        f"a ridge removes the peak ({best[p == images][0]:.2g})"
    )
    yield figure.curves(
        title, "features over rows p/n", "squared error", log="xy", points=lines, rules={"p = n": ("x", 1.0)}
    )
