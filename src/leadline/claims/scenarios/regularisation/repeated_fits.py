"""Noisy points of a sine, and learners fit(x, y, rng) that are fitted to many samples of them."""

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline import data
from leadline.learning.regression.polynomial import polynomial_fit


def noisy_sine(
    samples: int, noise: float, *, key: PRNGKeyArray
) -> tuple[Float[np.ndarray, "n 1"], Float[np.ndarray, " n"]]:
    """x uniform on [−1, 1] in one column, y = sin πx with normal noise."""
    rng = data.generator(key)
    x = rng.uniform(-1, 1, samples)
    return x[:, None], np.sin(np.pi * x) + noise * rng.normal(size=samples)


def polynomial_learner(degree: int):
    """Least squares on polynomials up to a degree."""

    def fit(x, y, rng):
        fitted = polynomial_fit(np.ravel(x), y, degree, domain=(-1.0, 1.0))
        return lambda new: fitted.predict(np.ravel(new))

    return fit


def tree_learner(depth: int | None = None):
    """A regression tree of scikit-learn's, grown to its leaves unless a depth is given."""
    from sklearn.tree import DecisionTreeRegressor

    def fit(x, y, rng):
        tree = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(np.reshape(x, (-1, 1)), y)
        return lambda new: tree.predict(np.reshape(new, (-1, 1)))

    return fit
