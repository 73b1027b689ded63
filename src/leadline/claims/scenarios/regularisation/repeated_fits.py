"""Noisy points of a sine, and learners fit(x, y, rng) that are fitted to many samples of them."""

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline import data


def noisy_sine(
    samples: int, noise: float, *, key: PRNGKeyArray
) -> tuple[Float[np.ndarray, "n 1"], Float[np.ndarray, " n"]]:
    """x uniform on [−1, 1] in one column, y = sin πx with normal noise."""
    rng = data.generator(key)
    x = rng.uniform(-1, 1, samples)
    return x[:, None], np.sin(np.pi * x) + noise * rng.normal(size=samples)


def polynomial_learner(degree: int):
    """Least squares on Legendre polynomials up to a degree."""

    def fit(x, y, rng):
        weights = np.linalg.lstsq(_features(x, degree), y, rcond=None)[0]
        return lambda new: _features(new, degree) @ weights

    return fit


def tree_learner(depth: int | None = None):
    """A regression tree of scikit-learn's, grown to its leaves unless a depth is given."""
    from sklearn.tree import DecisionTreeRegressor

    def fit(x, y, rng):
        tree = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(np.reshape(x, (-1, 1)), y)
        return lambda new: tree.predict(np.reshape(new, (-1, 1)))

    return fit


def _features(x, degree):
    return np.polynomial.legendre.legvander(np.ravel(x), degree)
