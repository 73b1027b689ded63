import jax
import numpy as np
import pytest

from leadline.geometry import (
    cyclic_group,
    dihedral_group,
    group_convolution,
    group_convolution_matrix,
    symmetric_group,
    translate,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("group", [cyclic_group(5), dihedral_group(4), symmetric_group(3)], ids=lambda g: g.name)
def test_it_is_the_sum_over_the_group_and_commutes_with_translations_exactly(group):
    kernel, signal = RNG.integers(-9, 9, (group.order, 3, 2)), RNG.integers(-9, 9, (group.order, 2))
    found = np.asarray(group_convolution(group, kernel, signal))
    every = range(group.order)
    for g in every:
        sums = sum(kernel[group.table[group.inverses[g], h]] @ signal[h] for h in every)
        assert (found[g] == sums).all()
        moved = group_convolution(group, kernel, translate(group, g, signal))
        assert (np.asarray(moved) == np.asarray(translate(group, g, found))).all()
    flat = np.asarray(group_convolution_matrix(group, kernel)) @ signal.ravel()
    assert (flat == found.ravel()).all()


def test_on_the_cyclic_group_it_is_a_product_of_fourier_transforms():
    kernel, signal = RNG.normal(size=8), RNG.normal(size=8)
    found = np.asarray(group_convolution(cyclic_group(8), kernel[:, None, None], signal[:, None]))[:, 0]
    fourier = np.fft.ifft(np.fft.fft(kernel).conj() * np.fft.fft(signal)).real
    assert np.allclose(found, fourier, atol=1e-5)


def test_gradients_are_those_of_the_matrix():
    group = dihedral_group(3)
    kernel, signal = RNG.normal(size=(6, 1, 1)), RNG.normal(size=(6, 1))
    grad = jax.grad(lambda x: (group_convolution(group, kernel, x) ** 2).sum())(signal.astype(np.float32))
    matrix = np.asarray(group_convolution_matrix(group, kernel))
    assert np.allclose(grad[:, 0], 2 * matrix.T @ matrix @ signal[:, 0], rtol=1e-4, atol=1e-5)


def test_shapes_that_do_not_fit_are_said():
    with pytest.raises(ValueError, match="kernel on C_5"):
        group_convolution(cyclic_group(5), np.ones((4, 1, 1)), np.ones((5, 1)))
    with pytest.raises(ValueError, match="signal on C_5"):
        group_convolution(cyclic_group(5), np.ones((5, 1, 2)), np.ones((5, 1)))
