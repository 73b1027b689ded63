"""Every activation's two expectations against Gauss-Hermite quadrature in the plane, or an exact value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, expit, ndtr

from leadline import infinite_width as iw
from leadline.infinite_width.activation_kernels.hermite import Elementwise
from leadline.infinite_width.activation_kernels.polynomial import Polynomial
from leadline.infinite_width.activation_kernels.trigonometric import Exp, GaussianBump, Sin

Q1, Q2, C = np.array([1.0, 1.3, 0.6, 0.0]), np.array([1.0, 0.4, 0.9, 0.7]), np.array([0.5, -0.7, 0.95, 0.0])


def normal(z):
    return np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


SMOOTH = {
    "erf": (iw.Erf(), erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-z * z)),
    "gelu": (iw.Gelu(), lambda z: z * ndtr(z), lambda z: ndtr(z) + z * normal(z)),
    "sin": (Sin(1.3, 0.7, 0.4), lambda z: 1.3 * np.sin(0.7 * z + 0.4), lambda z: 0.91 * np.cos(0.7 * z + 0.4)),
    "exp": (Exp(1.3, 0.7), lambda z: 1.3 * np.exp(0.7 * z), lambda z: 0.91 * np.exp(0.7 * z)),
    "bump": (GaussianBump(1.3, 0.7), lambda z: 1.3 * np.exp(-0.7 * z**2), lambda z: -1.82 * z * np.exp(-0.7 * z**2)),
    "polynomial": (
        Polynomial((1.0, -2.0, 0.5, 0.3)),
        lambda z: 1 - 2 * z + 0.5 * z**2 + 0.3 * z**3,
        lambda z: -2 + z + 0.9 * z**2,
    ),
    "tanh": (iw.Tanh(), np.tanh, lambda z: 1 / np.cosh(z) ** 2),
    "silu": (iw.Silu(), lambda z: z * expit(z), lambda z: expit(z) * (1 + z * expit(-z))),
}


def in_the_plane(f):
    x, w = np.polynomial.hermite_e.hermegauss(150)
    w = w / w.sum()
    u = np.sqrt(Q1)[:, None, None] * x[:, None]
    v = np.sqrt(Q2)[:, None, None] * (C[:, None, None] * x[:, None] + np.sqrt(1 - C**2)[:, None, None] * x)
    return np.einsum("i,nij,j->n", w, f(u) * f(v), w)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_expectations_of_smooth_activations(name):
    layer, f, slope = SMOOTH[name]
    dual = jax.jit(lambda k, q1, q2: layer.dual(k, layer.notes(q1), layer.notes(q2), True))
    values, slopes = dual(C * np.sqrt(Q1 * Q2), Q1, Q2)
    np.testing.assert_allclose(values, in_the_plane(f), atol=1e-9)
    np.testing.assert_allclose(slopes, in_the_plane(slope), atol=2e-9)
    np.testing.assert_allclose(layer.function(jnp.asarray(C)), f(C), atol=1e-12)


def test_kinks_and_steps_at_angles_with_known_values():
    c = jnp.array([1.0, 0.5, 0.0, -1.0])  # angles 0, π/3, π/2, π
    unit = jnp.ones(4)
    angle = np.arccos(c)
    both = (np.pi - angle) / (2 * np.pi)  # the chance that u > 0 and v > 0
    rectified = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    for layer, values, slopes in (
        (iw.Relu(), rectified, both),
        (iw.LeakyRelu(0.1), 0.81 * rectified + 0.1 * c, 0.81 * both + 0.1),
        (iw.Abs(), 4 * rectified - c, 4 * both - 1),
        (iw.Heaviside(), both, 0 * both),
        (iw.Sign(), 4 * both - 1, 0 * both),
    ):
        found = layer.dual(c, layer.notes(unit), layer.notes(unit), True)
        np.testing.assert_allclose(found[0], values, atol=1e-14)
        np.testing.assert_allclose(found[1], slopes, atol=1e-14)
        np.testing.assert_allclose(layer.moment(unit)[0], values[0], atol=1e-14)


def test_the_declared_accuracy_of_a_series_is_kept():
    series, c = Elementwise(jax.nn.relu, terms=40), np.linspace(-1, 1, 41)
    value_error, slope_error = series.accuracy(1.0)
    found, exact = (
        jax.jit(lambda c, q, layer=layer: layer.dual(c, layer.notes(q), layer.notes(q), True))(c, np.ones(()))
        for layer in (series, iw.Relu())
    )
    assert np.max(np.abs(found[0] - exact[0])) <= value_error < 1e-3
    assert np.max(np.abs(found[1] - exact[1])) <= slope_error < 0.05
    np.testing.assert_allclose(found[0][-1], 0.5, atol=1e-12)


def test_arccos_in_single_precision_is_right_to_its_last_digits():
    from leadline.infinite_width.activation_kernels.rectified import arccos

    c = np.cos(np.linspace(0.01, np.pi - 0.01, 999)).astype(np.float32)
    assert np.max(np.abs(np.asarray(arccos(jnp.asarray(c))) - np.arccos(c.astype(float)))) < 5e-7
