"""Fisher spectra against dense definitions, JAX Hessians and the network in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import curvature, networks
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.fisher_spectra import softmax_root_rows, spectrum_decades


@pytest.fixture(scope="module")
def network():
    return drawn(np.random.default_rng(0), networks.MLP, (3, 4, 3), "tanh", gain=1.0)


@pytest.fixture(scope="module")
def inputs():
    return np.random.default_rng(1).normal(size=(7, 3))


def apply(network, rows):
    return jax.vmap(network)(rows)


def _closed_form(network, x):
    """Logits V tanh(Wx + b) + c and their Jacobian, in NumPy."""
    (w, b), (v, c) = [(np.asarray(layer.weight), np.asarray(layer.bias)) for layer in network.layers]
    units, n, k = np.tanh(x @ w.T + b), len(x), len(c)
    inner = v[None] * (1 - units**2)[:, None]  # (n, k, h)
    parts = [np.einsum("nkh,nd->nkhd", inner, x), inner, np.einsum("kj,nh->nkjh", np.eye(k), units)]
    parts.append(np.broadcast_to(np.eye(k), (n, k, k)))
    return units @ v.T + c, np.concatenate([part.reshape(n, k, -1) for part in parts], axis=2)


def test_softmax_root_gives_the_fisher_matrix_and_the_jacobian_is_that_of_the_closed_form(network, inputs):
    logits, jacobian = sloppiness.output_jacobian(apply, network, inputs)
    expected = _closed_form(network, inputs)
    np.testing.assert_allclose(logits, expected[0], rtol=1e-12)
    np.testing.assert_allclose(jacobian, expected[1], atol=1e-13)
    names = sloppiness.entry_names(network, entries=False)
    share = np.asarray(jax.nn.softmax(logits))
    root = sloppiness.softmax_root_jacobian(apply, network, inputs)
    np.testing.assert_allclose(root.T @ root, curvature.softmax_fisher(jacobian, share), atol=1e-14)
    spectrum = sloppiness.fisher_spectrum(root, names)
    np.testing.assert_allclose(spectrum.matrix(), root.T @ root, atol=1e-14)
    assert spectrum.rank() <= 7 * 2
    assert spectrum.size == 31


def test_small_eigenvalues_survive_that_a_product_loses():
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    singular = np.geomspace(1, 1e-11, 6)
    values = sloppiness.fisher_eigenvalues(left * singular @ right.T)
    np.testing.assert_allclose(values, singular**2, rtol=1e-3)
    assert spectrum_decades(values, 6) == pytest.approx(22, abs=0.01)


def test_deviations_weigh_samples_and_outputs_become_rows():
    jacobian = np.random.default_rng(4).normal(size=(5, 2, 3))
    sigma = np.array([1.0, 2.0, 0.5, 1.0, 4.0])
    root = sloppiness.gaussian_root_jacobian(jacobian, sigma)
    expected = np.einsum("nkp,nkq,n->pq", jacobian, jacobian, 1 / sigma**2) / 5
    np.testing.assert_allclose(root.T @ root, expected, rtol=1e-12)
    assert sloppiness.gaussian_root_jacobian(jacobian.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sloppiness.fisher_spectrum(np.ones((2, 3)), names=("a",)), "1 names for 3 parameters"),
        (lambda: sloppiness.fisher_spectrum(np.array([[np.nan]])), "not finite"),
        (lambda: sloppiness.gaussian_root_jacobian(np.ones((2, 3)), 0.0), "positive"),
        (lambda: spectrum_decades(np.ones(3), 4), "k = 4"),
        (lambda: sloppiness.output_jacobian(lambda w, x: x @ w, jnp.ones(2), jnp.ones((3, 2))), "shape"),
        (lambda: softmax_root_rows(np.ones((2, 3)), np.ones((2, 2, 5))), "do not fit"),
    ],
)
def test_bad_input_is_told_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
