import jax
import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler

from leadline import kernels
from leadline.kernels.stationary import Stationary

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3))


@pytest.mark.parametrize("form", ["phase", "paired"])
@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize(
    "kernel", [kernels.Gaussian(0.9), kernels.Laplace(2.0), kernels.Matern32(1.5), kernels.Matern52(1.5)]
)
def test_the_mean_inner_product_is_the_kernel(kernel, form, orthogonal):
    z = kernels.draw_fourier_features(kernel, 3, 60_000, form=form, orthogonal=orthogonal, key=jax.random.key(1))(X)
    deviation = 1.5 / 60_000**0.5  # at most √(1.5/p), and nearly normal
    assert np.abs(z @ z.T - kernel(X, X)).max() < 5 * deviation


def test_the_phase_form_is_scikit_learns():
    ours = kernels.draw_fourier_features(kernels.Gaussian(0.5), 3, 8, form="phase", key=jax.random.key(0))
    theirs = RBFSampler(gamma=2.0, n_components=8).fit(X)
    theirs.random_weights_, theirs.random_offset_ = ours.frequencies.T, ours.phases
    np.testing.assert_allclose(ours(X), theirs.transform(X), atol=1e-12)


def test_the_variances_are_those_of_many_draws():
    kernel, delta = kernels.Gaussian(1.0), np.array([[0.3, -0.5, 0.2]])
    for form in ("phase", "paired"):
        points = np.concatenate([delta, np.zeros((1, 3))])
        values = []
        for seed in range(200):
            z = kernels.draw_fourier_features(kernel, 3, 20, form=form, key=jax.random.key(seed))(points)
            values.append(z[0] @ z[1])
        predicted = kernels.fourier_variance(kernel, delta, 20, form=form)[0]
        assert np.var(values) == pytest.approx(predicted, rel=0.5)  # 5 deviations of a variance of 200


def test_orthogonal_frequencies_are_orthogonal_in_blocks_and_have_the_lengths_of_the_law():
    w = kernels.spectral_frequencies(kernels.Gaussian(1.0), 5, 4000, orthogonal=True, key=jax.random.key(0))
    block = w[5:10]
    np.testing.assert_allclose(block @ block.T, np.diag((block**2).sum(1)), atol=1e-12)
    assert (w**2).sum(1).mean() == pytest.approx(5, rel=0.05)
    assert abs(w[:, 0].mean()) < 0.08


def test_bad_input_is_said_in_a_sentence():
    with pytest.raises(ValueError, match="even number"):
        kernels.draw_fourier_features(kernels.Gaussian(1.0), 3, 7, key=jax.random.key(0))

    class Cauchy(Stationary):
        pass

    with pytest.raises(ValueError, match="not of Cauchy"):
        kernels.spectral_frequencies(Cauchy(1.0), 3, 7, key=jax.random.key(0))
