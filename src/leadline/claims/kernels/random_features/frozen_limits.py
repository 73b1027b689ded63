"""Where frozen random features work, and where no number of them below the number of pairs can."""

from math import comb

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, at_least, at_most, claim, mean
from leadline.learning.regression.random_features import RandomFeatures
from leadline.presentation import figure


@claim(sources=("penn",), shows=("learning.fit_readout",), empirical=True)
def when_random_features_work(key, dim: Int(20, 50) = 40):
    r"""When random features succeed and fail.

    Frozen features explain on average at most $\min(n, p)/\binom{d}{2}$ of a product xᵢxⱼ on {−1, 1}ᵈ, so n and p must
    reach the order of the number of pairs. They do well in few dimensions, on additive targets, and on a pattern that
    stays in place.

    $$\frac{1}{\binom d2} \sum_{i<j} R^2(x_i x_j) \le \frac{\min(n, p)}{\binom d2}$$

    Assumes: the distribution of the frozen weights is the same for every coordinate.

    Check: The features are ReLU units and the readout is fitted by ridge regression on 1000 examples; for the bound,
    every pair of coordinates is a target.
    """
    rng = data.generator(key)
    count = comb(dim, 2)
    x = rng.choice(np.array([-1, 1], np.float32), (4000 + 1000, dim))
    i, j = np.triu_indices(dim, 1)
    pairs = x[:, i] * x[:, j]
    sizes, explained = np.array([25, 50, 100, 200, 400]), []
    wide = learning.draw_features(dim, 1000, "relu", key=key, dtype=np.float32)
    for p in sizes:
        phi = wide.first(int(p))(x)
        gram = phi[:4000].T @ phi[:4000] + 1e-3 * np.eye(p, dtype=np.float32)
        scores = phi[4000:] @ np.linalg.solve(gram, phi[:4000].T @ pairs[:4000])
        explained.append((1 - (scores - pairs[4000:]) ** 2).mean(axis=1))
        what = f"explained share of x_i x_j, mean over {count} pairs, {p} features"
        yield mean(explained[-1], p / count, what, side="at most")
    phi = wide(x)
    gram = phi[:100] @ phi[:100].T / 1000 + 0.1 * np.eye(100, dtype=np.float32)
    scores = phi[4000:] @ (phi[:100].T @ np.linalg.solve(gram, pairs[:100])) / 1000
    share = (1 - (scores - pairs[4000:]) ** 2).mean(axis=1)
    what = f"explained share of x_i x_j, mean over {count} pairs, 100 examples and 1000 features"
    yield mean(share, 100 / count, what, side="at most")
    dims, widths = (10, 20, 40, 80), (100, 1000, 4000)
    table = np.zeros((len(dims), len(widths)))
    for row, d in enumerate(dims):
        sample = data.sparse_parity(2000, d, key=jax.random.fold_in(key, d), dtype=np.float32)
        drawn = learning.draw_features(d, widths[-1], "relu", key=jax.random.fold_in(key, d + 1), dtype=np.float32)
        table[row] = [_test_accuracy(drawn.first(p), *sample) for p in widths]
    yield at_least(table[0, 1:], 0.97, "accuracy on x₁x₂, d = 10, 1000 and 4000 features")
    yield at_most(table[3, :2], 0.65, "accuracy on x₁x₂, d = 80, 100 and 1000 features")
    yield at_most(np.diff(table[:, 1]), 0.0, "change of the accuracy on x₁x₂ from d to 2d, 1000 features", atol=0.01)
    additive = _test_accuracy(drawn.first(100), sample.x, np.sign(sample.x[:, :3].sum(axis=1)))
    what = "d = 80, 100 features: accuracy on the majority of three signs, against x₁x₂"
    yield at_least(additive, table[3, 0], what, strict=True)
    frozen = learning.draw_features(144, 1000, "relu", key=key, dtype=np.float32)
    patterns = [_test_accuracy(frozen, *_patterns(rng, 2000, moved)) for moved in (False, True)]
    yield at_least(patterns[0], 0.97, "accuracy on a 3 × 3 pattern in place, in 12 × 12 images, 1000 features")
    yield at_least(patterns[0], patterns[1], "accuracy on the pattern in place, against moved about", strict=True)
    lines = {"p / C(d, 2)": (sizes, sizes / count)}
    points = {"least squares on 4000 examples": (sizes, np.mean(explained, axis=1))}
    title, product = "test accuracy on x₁x₂, 1000 examples", f"explained share of a product, d = {dim}"
    axis = "frozen features p"
    yield figure.beside(
        f"1000 frozen features reach {table[0, 1]:.2f} on x₁x₂ in 10 dimensions and {table[3, 1]:.2f} in 80; a pattern "
        f"in place {patterns[0]:.2f}, moved about {patterns[1]:.2f}",
        figure.heatmap(title, axis, "dimension d", values=table, xs=widths, ys=dims, colour="accuracy", text=True),
        figure.curves(product, axis, "R², mean over pairs", lines=lines, points=points),
    )


def _test_accuracy(phi: RandomFeatures, x: np.ndarray, y: np.ndarray) -> float:
    """Ridge on the first 1000 examples, share correct on the others."""
    fit = learning.fit_readout(phi, x[:1000], y[:1000], ridge=1e-2 * len(phi.biases))
    return float(np.mean(np.sign(fit.predict(phi(x[1000:]))) == y[1000:]))


def _patterns(rng, samples: int, moved: bool) -> tuple[np.ndarray, np.ndarray]:
    """A T or the same upside down, of contrast 2 on noise of deviation 0.3, at row and column 4 or anywhere."""
    letter = np.array([[2, 2, 2], [0, 2, 0], [0, 2, 0]], np.float32)
    y = rng.choice(np.array([-1, 1], np.float32), samples)
    images = 0.3 * rng.standard_normal((samples, 12, 12), dtype=np.float32)
    corner = rng.integers(0, 10, (samples, 2)) if moved else np.full((samples, 2), 4)
    rows, columns = (corner[:, axis, None] + np.arange(3) for axis in (0, 1))
    shapes = np.where(y[:, None, None] > 0, letter, letter[::-1])
    images[np.arange(samples)[:, None, None], rows[:, :, None], columns[:, None, :]] += shapes
    return images.reshape(samples, -1), y
