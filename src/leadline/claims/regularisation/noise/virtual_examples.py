"""Virtual examples: what transformed copies do to the error, how much they are worth, which of them to refuse."""

import jax
import numpy as np

from leadline import convolution, data, kernels, regularisation
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, exactly, mean, method
from leadline.presentation import figure

SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
DRAWS, HELD = 7, 500


@method(
    sources=("sheet",),
    shows=("regularisation.virtual_examples", "regularisation.virtual_sample_size", "regularisation.label_changes"),
    empirical=True,
)
def virtual_examples(key, samples: Int(20, 60) = 30, correlation: Real(0.05, 0.95) = 0.5):
    r"""Virtual examples.

    Each pair (x, y) is replaced by (τx, y) for transformations τ that keep the label. The sample is larger but
    dependent: K copies of n points are worth nK/(1 + (K − 1)ρ) independent ones for a mean of losses that correlate
    by ρ among copies. A τ that turns one class into another must be refused.

    $$(x, y) \mapsto (\tau x, y), \qquad n_{\mathrm{eff}} = \frac{nK}{1 + (K - 1)\rho}$$

    Assumes: τ keeps labels; different points are independent.

    Check: Kernel ridge regression on the digits with shifts by one pixel, 7 draws of the training images, judged on
    untouched images (a finding, not a theorem). For $n_{\mathrm{eff}}$: losses with a common normal part, and
    those of the digits.
    """
    x, y = data.digits()
    images = x.reshape(-1, 8, 8)
    shifts = convolution.zero_shifts(SHIFTS)
    yield from _worth_of_copies(key, correlation)
    sizes = (samples, 2 * samples, 4 * samples)
    errors = np.zeros((2, len(sizes), DRAWS))  # (without, with)
    defects, ratios = np.zeros((2, DRAWS)), []
    for draw in range(DRAWS):
        order = data.generator(jax.random.fold_in(key, draw)).permutation(len(y))
        held = order[-HELD:]
        for index, size in enumerate(sizes):
            rows = order[:size]
            for kind, moves in enumerate((shifts[:1], shifts)):
                predict = _fitted(regularisation.virtual_examples(images[rows], y[rows], moves))
                errors[kind, index, draw] = (predict(images[held]).argmax(axis=1) != y[held]).mean()
                if index == 1:
                    moved = [convolution.invariance_defect(predict, images[held[:200]], t).mean for t in shifts[1:]]
                    defects[kind, draw] = np.mean(moved)
        ratios.append(_variance_ratio(predict, images[held], y[held], shifts))
    for index, size in enumerate(sizes):
        yield paired_excess(*errors[:, index], f"error of {size} images less that of their 5 copies each")
    yield paired_excess(*defects, "mean of |f(τx) − f(x)| without copies less that with them")
    yield mean(np.log(ratios), 0.0, "digits: log of the variance of a mean of losses over σ²/n_eff").as_empirical()
    yield from _refused(key, images, y, shifts)
    half = 2 * errors.std(axis=2, ddof=1) / np.sqrt(DRAWS)
    middle = errors.mean(axis=2)
    points = {
        name: (sizes, middle[kind], middle[kind] - half[kind], middle[kind] + half[kind])
        for kind, name in enumerate(("images alone", "5 shifted copies"))
    }
    title = f"Copies shifted by a pixel: error {middle[0, 1]:.1%} becomes {middle[1, 1]:.1%} at {sizes[1]} images"
    curves = figure.curves(f"mean of {DRAWS} draws", "training images", "test error", points=points, log="xy")
    shown = [(t.name.removeprefix("zero "), t(images[k : k + 1])[0]) for k in (0, 5) for t in shifts]
    yield figure.beside(title, curves, figure.images("τx of two digits", images=shown, columns=5))


def _fitted(sample):
    """Scores of ten classes by kernel ridge regression."""
    flat = sample.images.reshape(len(sample.labels), -1)
    # the same nγ for any number of rows: more rows do not change the penalty beside the sum of squares
    fit = kernels.machines.kernel_ridge(kernels.Gaussian(2.5), flat, np.eye(10)[sample.labels] - 0.1, 1e-3 / len(flat))
    return lambda images: np.asarray(fit.predict(images.reshape(len(images), -1)))


def _worth_of_copies(key, correlation, points=400, copies=5, repeats=300):
    """Losses with a common part of each point: the variance of their mean against σ²/n_eff with the known ρ."""
    rng = data.generator(key)
    common = rng.normal(size=(repeats, points, 1))
    own = rng.normal(size=(repeats, points, copies))
    losses = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    found = [regularisation.virtual_sample_size(one) for one in losses]
    yield mean([f.correlation for f in found], correlation, "normal losses: estimated ρ, against the true one")
    worth = points * copies / (1 + (copies - 1) * correlation)
    what = "normal losses: square of their mean, against σ²/n_eff"
    yield mean(losses.mean(axis=(1, 2)) ** 2, 1 / worth, what, deviation=np.sqrt(2) / worth)


def _variance_ratio(predict, images, labels, shifts, group=10):
    """Variance of the mean loss of groups of points with their copies, over σ²/n_eff from the other half."""
    copies = [predict(t(images)) for t in shifts]
    losses = np.stack([((scores - np.eye(10)[labels] + 0.1) ** 2).sum(axis=1) for scores in copies], axis=1)
    first, second = losses[::2], losses[1::2]
    found = regularisation.virtual_sample_size(first)
    worth = group * len(shifts) / (1 + (len(shifts) - 1) * found.correlation)
    return second.reshape(-1, group * len(shifts)).mean(axis=1).var(ddof=1) / (first.var() / worth)


def _refused(key, images, labels, shifts):
    order = data.generator(key).permutation(len(labels))
    seen, held = order[:900], order[900:]
    turns = convolution.quarter_turns()[1:]
    found = regularisation.label_changes(images[seen], labels[seen], images[held], labels[held], (*shifts, *turns))
    named = {(change.transformation, change.label, change.becomes) for change in found}
    yield exactly(("turn 180°", 6, 9) in named, True, "the probe finds that a 6 turned by 180° is a 9").as_empirical()
    moved = sum(name.startswith("zero shift") for name, _, _ in named)
    yield exactly(moved, 0, "shifts by one pixel that the probe refuses").as_empirical()
