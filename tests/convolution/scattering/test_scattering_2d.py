import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import Scattering2D, morlet_bank_2d, path_count
from leadline.convolution.scattering import scattering_2d

# kymatio 0.3.0 (scipy 1.16.3), float64 input: Scattering2D(2, (9, 12), L=4)(x)[:, 1, 1] with the x of `picture`.
KYMATIO = [1.1299313, 0.1777257, 0.4316136, 0.143087, 0.0835203, 0.2261689, 0.1739634, 0.1224168, 0.1664935, 0.0087859]
KYMATIO += [0.0172788, 0.0153776, 0.0079332, 0.0413677, 0.0825091, 0.0460607, 0.0374762, 0.0167186, 0.0267844]
KYMATIO += [0.0087134, 0.0081676, 0.0075819, 0.0156947, 0.0080092, 0.0034867]
# The same library: Scattering2D(3, (16, 16), L=3)(cos(0.4 i j) + 0.02 i²)[::4, 0, 1].
KYMATIO_THREE = [0.2247284, 0.1421631, 0.0935514, 0.0417095, 0.0256484, 0.0485271, 0.0278286, 0.0170286, 0.018294]
KYMATIO_THREE += [0.0184627]


def picture():
    i, j = np.mgrid[:9, :12]
    return np.sin(0.7 * i**2 + 0.3 * j) + 0.05 * i * j


def by_definition(scattering, image, dtype=float):
    """Every path by itself, by Fourier on the padded grid, and only at the end every 2^J-th pixel of it."""
    bank, J, L = scattering.bank, scattering.scales, scattering.angles
    room = [((big - side) // 2, (big - side + 1) // 2) for big, side in zip(bank.shape, image.shape, strict=True)]
    x = np.pad(image, room, mode="reflect")

    def filtered(u, spectrum):
        return np.fft.ifft2(np.fft.fft2(u) * spectrum)

    coefficients = []
    for path in scattering.paths:
        u = x
        for j, theta in path:
            u = np.abs(filtered(u, bank.wavelets[j * L + theta]))
        coefficients.append(filtered(u, bank.lowpass).real[:: 2**J, :: 2**J][1:-1, 1:-1])
    return np.array(coefficients)


def test_coefficients_are_those_of_kymatio():
    scattering = Scattering2D((9, 12), scales=2, angles=4)
    np.testing.assert_allclose(scattering(picture())[:, 1, 1], KYMATIO, atol=1e-6)
    i, j = np.mgrid[:16, :16]
    three = Scattering2D((16, 16), scales=3, angles=3)(np.cos(0.4 * i * j) + 0.02 * i**2)
    np.testing.assert_allclose(three[::4, 0, 1], KYMATIO_THREE, atol=1e-6)


@pytest.mark.parametrize(("shape", "scales", "angles"), [((32, 32), 2, 8), ((21, 30), 3, 4)])
def test_subsampling_changes_little_beside_the_definition(shape, scales, angles):
    """Halving cuts frequencies at which the filters have about a hundredth; nothing else differs."""
    x = np.random.default_rng(0).normal(size=shape).cumsum(0).cumsum(1) / 10
    scattering = Scattering2D(shape, scales, angles)
    fast, slow = np.asarray(scattering(x)), by_definition(scattering, x)
    orders = np.array([len(p) for p in scattering.paths])
    np.testing.assert_allclose(fast[0], slow[0], atol=1e-12)  # nothing is halved before the only average
    full = np.array([p[0][0] == 0 if len(p) == 1 else False for p in scattering.paths])
    np.testing.assert_allclose(fast[full], slow[full], atol=1e-12)
    for order in (1, 2):
        rows = orders == order
        assert np.linalg.norm(fast[rows] - slow[rows]) < 0.02 * np.linalg.norm(slow[rows])


def test_each_order_has_its_paths_in_order():
    scattering = Scattering2D((32, 32), scales=3, angles=4)
    assert [sum(len(p) == m for p in scattering.paths) for m in range(3)] == [path_count(3, 4, m) for m in range(3)]
    assert scattering(np.ones((32, 32))).shape == (len(scattering.paths), 4, 4)
    assert Scattering2D((32, 32), 3, 4, max_order=1)(np.ones((32, 32))).shape == (13, 4, 4)


def test_a_batch_in_pieces_is_its_images_one_by_one(monkeypatch):
    x = np.random.default_rng(1).normal(size=(7, 16, 16))
    scattering = Scattering2D((16, 16), scales=2, angles=4)
    one_by_one = np.stack([scattering(image) for image in x])
    monkeypatch.setattr(scattering_2d, "_CHUNK_BYTES", 3 * 4**2 * 24**2 * 16)  # three images at a time
    np.testing.assert_allclose(scattering(x), one_by_one, atol=1e-13)
    np.testing.assert_allclose(scattering(x.reshape(7, 1, 16, 16))[:, 0], one_by_one, atol=1e-13)


def test_the_precision_is_that_of_the_images():
    scattering = Scattering2D((16, 16), scales=2, angles=4)
    x = np.random.default_rng(2).normal(size=(16, 16))
    double, single = scattering(x), scattering(jnp.asarray(x, jnp.float32))
    assert (double.dtype, single.dtype) == (jnp.float64, jnp.float32)
    np.testing.assert_allclose(single, double, atol=2e-6)
    assert scattering(np.ones((16, 16), np.uint8)).dtype == jnp.float64


def test_a_constant_image_has_no_wavelet_coefficients():
    coefficients = Scattering2D((16, 16), scales=2)(np.full((16, 16), 3.0))
    np.testing.assert_allclose(coefficients[0], 3.0 * morlet_bank_2d((24, 24), 2).lowpass[0, 0], rtol=1e-12)
    np.testing.assert_allclose(coefficients[1:], 0.0, atol=1e-13)


def test_derivatives_are_those_of_differences():
    scattering = Scattering2D((8, 8), scales=2, angles=2)
    rng = np.random.default_rng(3)
    x, v = rng.normal(size=(2, 8, 8))
    weights = rng.normal(size=scattering(x).shape)

    def value(x):
        return (scattering(x) * weights).sum()

    step = 1e-6
    difference = (value(x + step * v) - value(x - step * v)) / (2 * step)
    np.testing.assert_allclose((jax.grad(value)(jnp.asarray(x)) * v).sum(), difference, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(((8, 8), 4), "2^scales = 16"), (((8, 8), 0), "scales = 0"), (((8, 8), 2, 8, 3), "max_order = 3")],
)
def test_a_transform_that_cannot_be_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words.replace("^", r"\^")):
        Scattering2D(*arguments)


def test_images_of_another_size_or_with_nan_are_refused():
    scattering = Scattering2D((8, 8), 2)
    with pytest.raises(ValueError, match="got \\(8, 9\\)"):
        scattering(np.ones((8, 9)))
    with pytest.raises(ValueError, match="NaN at 1 of 64"):
        scattering(np.where(np.eye(8) * np.arange(8) == 3, np.nan, 1.0))
