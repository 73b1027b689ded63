import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import average_pool, blur_pool, max_pool, norm_pool

RNG = np.random.default_rng(0)
BY_LOOP = {"max": np.max, "mean": np.mean}


def by_loop(x, window, stride, padding, kind):
    """Every window by its indices, in plain loops over the last two axes."""
    fill = -np.inf if kind == "max" else 0.0
    if padding == "wrap":
        x, rows, columns = np.tile(x, (2, 2)), x.shape[0] // stride, x.shape[1] // stride
    else:
        x = np.pad(x, padding, constant_values=fill)
        rows, columns = ((side - window) // stride + 1 for side in x.shape)
    out = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            cells = x[stride * i : stride * i + window, stride * j : stride * j + window]
            out[i, j] = BY_LOOP[kind](cells)
    return out


@pytest.mark.parametrize(
    ("window", "stride", "padding"),
    [(1, 1, 0), (2, 2, 0), (2, 2, 1), (3, 2, 1), (3, 1, "wrap"), (3, 3, "wrap"), (2, 3, "wrap"), (9, 1, 4)],
)
def test_pooling_is_what_a_loop_over_windows_gives(window, stride, padding):
    x = RNG.normal(size=(2, 9, 6))  # windows of 9 x 9 are more than are cut place by place
    for pool, kind in ((max_pool, "max"), (average_pool, "mean")):
        found = pool(x, window, stride, padding=padding)
        expected = np.stack([by_loop(plane, window, stride, padding, kind) for plane in x])
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_pooling_agrees_with_the_layers_of_pytorch():
    torch = pytest.importorskip("torch")
    x = RNG.normal(size=(2, 3, 11, 8)).astype(np.float32)
    given, at = torch.from_numpy(x), dict(kernel_size=3, stride=2, padding=1)
    np.testing.assert_array_equal(max_pool(x, 3, 2, padding=1), torch.nn.functional.max_pool2d(given, **at))
    np.testing.assert_allclose(average_pool(x, 3, 2, padding=1), torch.nn.functional.avg_pool2d(given, **at), atol=1e-6)


def test_one_and_three_axes_of_positions():
    x = RNG.normal(size=(4, 6, 6, 6))
    assert max_pool(x, 2, sides=3).shape == (4, 3, 3, 3)
    line = max_pool(x[0, 0, 0], 2, sides=1)
    np.testing.assert_array_equal(line, x[0, 0, 0].reshape(3, 2).max(1))


def test_the_norm_pool_lies_between_the_mean_and_the_maximum():
    x = np.abs(RNG.normal(size=(8, 8)))
    np.testing.assert_allclose(norm_pool(x, 2, order=1), average_pool(x, 2), rtol=1e-6)
    np.testing.assert_allclose(norm_pool(x, 2, order=2) ** 2, average_pool(x**2, 2), rtol=1e-5)
    np.testing.assert_allclose(norm_pool(1e30 * x, 2, order=400), 1e30 * max_pool(x, 2), rtol=0.01)


def test_the_blur_has_the_gain_of_the_binomial_kernel():
    n = 16
    for k in range(n // 2):
        wave = np.exp(2j * np.pi * k * np.arange(n) / n)
        blurred = np.asarray(blur_pool(wave.real, 1, taps=5, sides=1)) + 1j * np.asarray(
            blur_pool(wave.imag, 1, taps=5, sides=1)
        )
        np.testing.assert_allclose(blurred, wave * np.cos(np.pi * k / n) ** 4, atol=1e-6)
    x = RNG.normal(size=(3, 8, 8))
    np.testing.assert_allclose(blur_pool(x, 2), np.asarray(blur_pool(x, 1))[:, ::2, ::2], atol=1e-6)


def test_pooling_follows_the_dtype_and_can_be_differentiated_inside_jit():
    x = jnp.asarray(RNG.normal(size=(4, 4)), jnp.float32)
    assert max_pool(x, 2).dtype == average_pool(x, 2).dtype == blur_pool(x).dtype == jnp.float32
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(max_pool(x, 2))))(x)
    assert gradient.sum() == 4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: max_pool(x, 9), "does not fit"),
        (lambda x: max_pool(x, 0), "1 or more"),
        (lambda x: max_pool(x, 2, padding=2), "padding 2"),
        (lambda x: max_pool(x, 2, 3, padding="wrap"), "go around"),
        (lambda x: average_pool(x, 2, sides=3), "axes"),
        (lambda x: max_pool(x.astype(int), 2), "floating-point"),
        (lambda x: blur_pool(x, taps=2), "odd number"),
        (lambda x: norm_pool(x, 2, order=0.5), "order"),
    ],
)
def test_bad_input_gets_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call(np.ones((8, 8)))
