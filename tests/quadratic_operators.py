"""Hessians of quadratics with a chosen spectrum: what the estimators of `curvature` are tested on."""

import jax.numpy as jnp
import numpy as np

from leadline import curvature


def signed_squares(w, x, sign):
    return sign * (x @ w) ** 2 / 2


def with_spectrum(eigenvalues, seed=0, dtype=float):
    """(operator, matrix): the mean of ± ½(xᵢ·w)² over rows xᵢ along random orthonormal axes.

    Tests that ask for one size share what is compiled.
    """
    eigenvalues = np.asarray(eigenvalues, float)
    p = len(eigenvalues)
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(p, p)))[0].T
    rows = np.sqrt(p * np.abs(eigenvalues))[:, None] * axes
    data = jnp.asarray(rows, dtype), jnp.asarray(np.sign(eigenvalues), dtype)
    with np.errstate(invalid="ignore"):  # infinite eigenvalues are asked for as well
        matrix = (axes.T * eigenvalues) @ axes
    return curvature.hessian(signed_squares, jnp.zeros(p, dtype), *data), matrix
