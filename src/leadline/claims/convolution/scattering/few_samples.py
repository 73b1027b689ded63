"""Scattering coefficients as features: few samples, and shifts that the classifier never saw."""

import jax
import numpy as np

from leadline import convolution, data, regularisation
from leadline.evidence import Int, at_least, at_most, claim
from leadline.presentation import figure

_SPLITS, _TEST = 5, 500


@claim(sources=("cam",), shows=("convolution.Scattering2D",))
def scattering_classifier(key, shift: Int(1, 4) = 4, largest: Int(300, 1297) = 300):
    r"""A linear classifier on scattering coefficients.

    Windowed scattering with a linear classifier needs few samples and stands shifts that it never saw; averaged over
    all positions it does not notice them at all, while on pixels a linear classifier fails.

    $$\hat y(X) = \mathrm{argmax}_k\, \langle w_k, S X \rangle + b_k$$

    Assumes: digits of 24 pixels in a frame of 32, so that shifts move no ink out; ridge regression of the classes on
    standardised features, its penalty chosen by leaving out one, on pixels or logistic regression, whichever is right
    more often; the finding is empirical but for the invariance of the global coefficients.

    Check: Five random splits; each test image clean, and shifted at random by up to `shift` pixels.
    """
    rng = data.generator(key)
    images, labels = _framed_digits(rng, largest + _TEST)
    offsets = rng.integers(-shift, shift + 1, size=(len(images), 2))
    moved = np.stack([np.roll(x, o, axis=(0, 1)) for x, o in zip(images, offsets, strict=True)])
    whole = np.asarray(_global_coefficients(np.concatenate([images, moved[:100]])))
    change = np.linalg.norm(whole[len(images) :] - whole[:100]) / np.linalg.norm(whole[:100])
    yield at_most(change, 1e-5, "global coefficients in single precision: relative change under shifts")
    scattering = convolution.Scattering2D(images.shape[1:], scales=3)
    kinds = ("clean", "shifted")
    pixels, windowed = (
        {k: f(x) for k, x in zip(kinds, (images, moved), strict=True)} for f in (_flat, lambda x: _flat(scattering(x)))
    )
    features = {"pixels": pixels, "windowed": windowed, "global": {"clean": whole[: len(images)]}}
    sizes = (100, largest)
    found = {(name, kind): np.zeros((len(sizes), _SPLITS)) for name, rows in features.items() for kind in rows}
    for split in range(_SPLITS):
        order = rng.permutation(len(images))
        test = order[-_TEST:]
        for name, rows in features.items():
            for i, n in enumerate(sizes):
                makers = (_ridge, _logistic) if name == "pixels" else (_ridge,)
                probes = [make(rows["clean"][order[:n]], labels[order[:n]]) for make in makers]
                for kind, asked in rows.items():
                    found[name, kind][i, split] = max(probe.score(asked[test], labels[test]) for probe in probes)
    gain = regularisation.paired_difference(found["windowed", "clean"][0], found["pixels", "clean"][0])
    what = "100 samples: accuracy of windowed scattering minus that of pixels, lower end of the interval over 5 splits"
    yield at_least(gain.low, 0.03, what).as_empirical()
    lost = {name: found[name, "clean"].mean(-1) - found[name, "shifted"].mean(-1) for name in ("windowed", "pixels")}
    what = "accuracy lost by shifts: windowed scattering, against pixels"
    yield at_most(lost["windowed"], lost["pixels"], what).as_empirical()
    what = "shifted digits: accuracy of global scattering, against pixels"
    yield at_least(found["global", "clean"].mean(-1), found["pixels", "shifted"].mean(-1), what).as_empirical()
    means = {where: a[0].mean() for where, a in found.items()}
    title = (
        f"From 100 digits: scattering {means['windowed', 'clean']:.3f}, shifted {means['windowed', 'shifted']:.3f}; "
        f"pixels {means['pixels', 'clean']:.3f}, shifted {means['pixels', 'shifted']:.3f}"
    )
    points = {
        f"{name}, {kind if name != 'global' else 'clean or shifted'}": (sizes, a.mean(-1), a.min(-1), a.max(-1))
        for (name, kind), a in found.items()
    }
    yield figure.curves(title, "training digits", "test accuracy", points=points, log="x")


def _framed_digits(rng, count):
    """Digits at three times their size, in the middle of 32 pixels."""
    from scipy.ndimage import zoom

    images, labels = data.digits()
    chosen = rng.permutation(len(images))[:count]
    large = zoom(images[chosen].reshape(-1, 8, 8), (1, 3, 3), order=1)
    return np.pad(large, ((0, 0), (4, 4), (4, 4))).astype(np.float32), labels[chosen]


def _ridge(rows, labels):
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), RidgeClassifierCV(np.geomspace(1e-2, 1e6, 17))).fit(rows, labels)


def _logistic(rows, labels):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500).fit(rows, labels)


def _flat(x):
    return np.asarray(x).reshape(len(x), -1)


@jax.jit
def _global_coefficients(images):
    bank = convolution.morlet_bank_2d(images.shape[1:], 3)

    def coefficients(image):
        return convolution.global_scattering(convolution.scattering_layers(image, bank), bank)

    return jax.lax.map(coefficients, images, batch_size=4)
