"""The kernels beside scikit-learn, SciPy, Monte Carlo and their own limits, in NumPy and in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from leadline import kernels
from leadline.kernels.pairs import cosines, distances

RNG = np.random.default_rng(0)
X, Z = RNG.standard_normal((7, 3)), RNG.standard_normal((5, 3))
LIBRARY = [
    kernels.Linear(),
    kernels.Affine(0.5),
    kernels.Polynomial(3, 0.5),
    kernels.Gaussian(1.3),
    kernels.Laplace(0.7),
    kernels.Matern32(0.8),
    kernels.Matern52(0.8),
    kernels.Minimum(),
    kernels.ArcCosine(0),
    kernels.ArcCosine(1),
    kernels.ArcCosine(2),
    kernels.ArcSine(),
    kernels.Gaussian(1.0) + 2.0 * kernels.Linear(),
    kernels.Laplace(1.0) * kernels.Affine(1.0),
    kernels.Normalised(kernels.Polynomial(2, 1.0)),
    kernels.Centred(kernels.Gaussian(1.0), X),
]
every_kernel = pytest.mark.parametrize("kernel", LIBRARY, ids=lambda k: type(k).__name__)


def test_the_values_are_those_of_scikit_learn():
    np.testing.assert_allclose(kernels.Gaussian(1.3)(X, Z), rbf_kernel(X, Z, gamma=1 / (2 * 1.3**2)), rtol=1e-12)
    np.testing.assert_allclose(
        kernels.Polynomial(3, 0.5)(X, Z), polynomial_kernel(X, Z, degree=3, gamma=1.0, coef0=0.5), rtol=1e-10
    )
    flat = X[:, :1]
    np.testing.assert_allclose(kernels.Laplace(0.7)(flat, flat), laplacian_kernel(flat, gamma=1 / 0.7), rtol=1e-12)


@pytest.mark.parametrize(("kernel", "nu"), [(kernels.Laplace, 0.5), (kernels.Matern32, 1.5), (kernels.Matern52, 2.5)])
def test_matern_is_the_bessel_formula(kernel, nu):
    from sklearn.gaussian_process.kernels import Matern

    np.testing.assert_allclose(kernel(0.8)(X, Z), Matern(0.8, nu=nu)(X, Z), rtol=1e-10)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_twice_the_expectation_over_random_neurons(order):
    w = RNG.standard_normal((200_000, 3))
    features = [np.where(w @ p > 0, (w @ p) ** order, 0.0) for p in (X[0], Z[0])]
    products = 2 * features[0] * features[1]
    assert abs(products.mean() - kernels.ArcCosine(order)(X, Z)[0, 0]) < 4 * products.std() / 200_000**0.5


@every_kernel
def test_the_diagonal_is_the_diagonal_and_no_eigenvalue_is_negative(kernel):
    matrix = kernel(X, X)
    assert isinstance(matrix, np.ndarray)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(matrix), rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * np.abs(matrix).max() * len(X)


def test_numpy_and_jax_agree_and_zero_and_coincident_inputs_have_gradients():
    points = np.concatenate([np.zeros((1, 3)), X, X[:1]])

    def total(x):
        matrices = [k(x, points) for k in LIBRARY]
        return sum(m.sum() for m in matrices), matrices

    (_, matrices), gradient = jax.jit(jax.value_and_grad(total, has_aux=True))(jnp.asarray(points))
    for kernel, matrix in zip(LIBRARY, matrices, strict=True):
        np.testing.assert_allclose(matrix, kernel(points, points), rtol=1e-9, atol=1e-12)
    assert np.all(np.isfinite(gradient))


def test_a_point_is_at_distance_zero_from_itself_however_far_out():
    far = X + 1e6
    assert np.array_equal(np.diag(distances(far, far)), np.zeros(7))
    assert np.array_equal(np.diag(cosines(far, far)), np.ones(7))
    np.testing.assert_allclose(kernels.squared_distances(far, far), kernels.squared_distances(X, X), rtol=1e-5)


def test_the_second_derivative_of_smooth_kernels_at_coincident_points_is_right():
    smooth, zero = [kernels.Gaussian(0.5), kernels.Matern52(0.5), kernels.Matern32(0.5)], jnp.zeros((1, 1))
    curvature = jax.jit(jax.hessian(lambda p: jnp.stack([k(p[None, None], zero)[0, 0] for k in smooth])))(jnp.zeros(()))
    np.testing.assert_allclose(curvature, [-4.0, -20 / 3, -12.0])


def test_tiny_and_huge_inputs_keep_their_digits():
    step = kernels.ArcCosine(0)
    np.testing.assert_allclose(step(1e-200 * X, 1e200 * Z), step(X, Z), rtol=1e-9)
    assert np.array_equal(step.diagonal(1e-200 * X), np.ones(7))
    slope = jax.jit(jax.grad(lambda p: kernels.ArcSine()(p, p).sum()))(jnp.asarray(1e9 * X))
    assert np.isfinite(slope).all()


def test_single_precision_stays_single_precision():
    single = X.astype(np.float32)
    assert all(k(single, single).dtype == np.float32 for k in LIBRARY[:-1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernels.Linear()(X, Z[:, :2]), "3 and with 2 features"),
        (lambda: kernels.Gaussian(0.0), "scale = 0"),
        (lambda: kernels.Polynomial(2, -1.0), "offset = -1"),
        (lambda: kernels.Polynomial(0), "degree 0"),
        (lambda: -2.0 * kernels.Linear(), "factor = -2"),
    ],
)
def test_bad_input_is_said_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
