"""The double-descent audit: random features of the digits through p = n, with and without a ridge, labels and noise."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_most, close
from leadline.presentation import figure

#: Median test errors of the specification, 10 seeds, 200 rows: squared error by number of features.
STATED = {50: 0.441, 200: 96.0, 400: 0.331, 5000: 0.182}


def descents(
    key: PRNGKeyArray, images: int, corrupted: float, counts: Sequence[int], seeds: int
) -> Iterator[Comparison | Figure]:
    """The peak at p = n, the second descent, and the ridge that removes the peak; medians over seeds."""
    from leadline.claims.scenarios.regularisation.digit_features import ALPHAS, digit_sweeps

    sweeps = digit_sweeps(key, images, corrupted, counts, seeds)
    p = np.array(counts)
    test = np.median([s.test for s in sweeps], axis=0)  # (counts, alphas)
    mistakes = np.median([s.mistakes for s in sweeps], axis=0)
    train = np.median([s.train for s in sweeps], axis=0)
    peak = p[np.argmax(test[:, 0])]
    yield close(peak / images, 1.0, "features at which the test error peaks, over rows", atol=0.1).as_empirical()
    at_peak, last = test[p == images, 0][0], test[-1, 0]
    yield at_most(last, at_peak / 10, f"test error at p = {p[-1]}, against a tenth of that at p = n").as_empirical()
    first = test[p < images, 0].min()
    what = f"test error at p = {p[-1]}, against the least before the peak"
    yield at_most(last, first, what).as_empirical()
    best = test.min(axis=1)
    yield at_most(best[1:], 1.05 * best[:-1], "best ridge: test error at the next p, against 1.05 times").as_empirical()
    if corrupted == 0 and images == 200:
        for count, value in STATED.items():
            if count in counts:
                found = test[p == count, 0][0]
                # Medians of ten heavy-tailed errors: at the peak only the order of magnitude is stable.
                room = np.log(3.0) if count == images else 0.1
                what = f"p = {count}: ln of the median test error over {value:g}, as specified"
                yield close(np.log(found / value), 0.0, what, atol=float(room)).as_empirical()
    strong = ALPHAS.index(1.0)
    title = (
        f"Test error {first:.2g} before, {at_peak:.3g} at, {last:.2g} after p = n = {images}; mistakes "
        f"{mistakes[p == images, 0][0]:.0%} at the peak, {mistakes[-1, 0]:.1%} at p = {p[-1]}"
    )
    points = {
        "minimum norm, test": (p, test[:, 0]),
        "ridge α = 1, test": (p, test[:, strong]),
        "best ridge, test": (p, best),
        "minimum norm, training": (p, np.where(train[:, 0] > 1e-6, train[:, 0], np.nan)),
    }
    rules = {"p = n": ("x", float(images))}
    yield figure.curves(title, "random features p", "squared error, median", log="xy", points=points, rules=rules)


def double_descent_trials(
    images: int = 200,
    counts: Sequence[int] = (20, 50, 100, 150, 180, 190, 200, 210, 220, 250, 300, 400, 1000, 5000),
    seeds: int = 10,
) -> Iterator[tuple[str, str, Callable[[PRNGKeyArray], Iterator[Comparison | Figure]]]]:
    """The trials of the audit, in order: id, what it says, its generator."""
    yield (
        "clean-labels",
        f"Least squares on random ReLU features of {images} digits has its largest test error at p = n, and its least "
        "beyond; a ridge removes the peak.",
        lambda key: descents(key, images, 0.0, counts, seeds),
    )
    yield (
        "noisy-labels",
        "With a fifth of the labels random the peak is higher, and a ridge removes it all the same.",
        lambda key: descents(key, images, 0.2, counts, seeds),
    )
