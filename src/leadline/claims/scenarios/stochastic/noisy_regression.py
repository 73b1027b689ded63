"""The least-squares problems of this chapter, with as much noise as asked for."""

import numpy as np

from leadline import stochastic
from leadline.stochastic.problems.finite_sum import six_points


def regression_data(rng, samples, dim, noise, condition=1.0):
    """X with standard deviations from 1 down to κ^(−1/2), y = X·1 + noise; without noise every example is fitted."""
    x = rng.normal(size=(samples, dim)) * np.geomspace(1.0, condition**-0.5, dim)
    return x, x @ np.ones(dim) + noise * rng.normal(size=samples)


def regression_moments(rng, samples, dim, noise, condition=1.0):
    """The exact moments of SGD on `regression_data`."""
    return stochastic.LeastSquaresMoments(*regression_data(rng, samples, dim, noise, condition))


def six_moments():
    """The exact moments of SGD on the six points."""
    return stochastic.LeastSquaresMoments(*(np.asarray(a) for a in six_points().arrays))


def extreme_curvatures(problem):
    """L and m of a least-squares problem."""
    values = np.linalg.eigvalsh(problem.hessian)
    return float(values[-1]), float(values[0])
