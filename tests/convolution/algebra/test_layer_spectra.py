import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import layer_matrix, layer_norm_bound, layer_singular_values

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("sides", "taps"), [((8,), (3,)), ((6, 8), (3, 2)), ((2, 4), (3, 3)), ((4, 2, 4), (2, 2, 3))])
@pytest.mark.parametrize("channels", [(1, 1), (3, 2), (2, 3)])
@pytest.mark.parametrize("stride", [1, 2])
def test_the_values_are_those_of_the_matrix(sides, taps, channels, stride):
    kernel = RNG.normal(size=(*channels, *taps))
    outputs = np.prod([n // stride for n in sides])
    found = np.sort(layer_singular_values(kernel, sides, stride=stride).ravel())
    rows = _circular(kernel, sides, stride)
    assert rows.shape == (channels[0] * outputs, channels[1] * np.prod(sides))
    expected = np.sort(np.linalg.svd(rows, compute_uv=False))
    size = min(len(found), len(expected))
    np.testing.assert_allclose(found[-size:], expected[-size:], atol=1e-12)
    np.testing.assert_allclose(found[:-size], 0, atol=1e-12)


def _circular(kernel, sides, stride):
    """The circular layer's matrix from unit inputs, by indices modulo the sides."""
    into = [(r, *p) for r in range(kernel.shape[1]) for p in np.ndindex(*sides)]
    out = [(c, *p) for c in range(kernel.shape[0]) for p in np.ndindex(*[n // stride for n in sides])]
    matrix = np.zeros((len(out), len(into)))
    for row, (c, *p) in enumerate(out):
        for r, *k in np.ndindex(*kernel.shape[1:]):
            place = (np.array(p) * stride + k) % sides
            matrix[row, into.index((r, *place))] += kernel[(c, r, *k)]
    return matrix


@pytest.mark.parametrize(("shape", "taps"), [((2, 30), (3,)), ((2, 9, 8), (3, 3)), ((1, 12, 12), (5, 2))])
def test_no_padded_layer_exceeds_the_symbol(shape, taps):
    kernel = RNG.normal(size=(3, shape[0], *taps))
    bound = layer_norm_bound(kernel)
    for padding in (0, 1, 2):
        norm = np.linalg.norm(layer_matrix(kernel, shape, padding=padding).toarray(), 2)
        assert norm <= bound.upper
    assert bound.lower <= bound.upper <= 1.02 * bound.lower
    fine = layer_singular_values(kernel, (48,) * len(taps))[:, 0].max()
    assert fine <= bound.lower * (1 + 1e-9)


def test_long_signals_come_near_the_bound():
    kernel = RNG.normal(size=(1, 1, 4))
    norm = np.linalg.norm(layer_matrix(kernel, (1, 400), padding=2).toarray(), 2)
    assert norm == pytest.approx(layer_norm_bound(kernel).lower, rel=1e-3)


def test_the_norm_can_be_differentiated():
    kernel = jnp.asarray(RNG.normal(size=(2, 2, 3)))
    gradient = jax.grad(lambda k: layer_singular_values(k, (8,)).max())(kernel)
    step = 1e-2 * np.ones((2, 2, 3))
    up, down = (float(layer_singular_values(kernel + s, (8,)).max()) for s in (step, -step))
    assert (gradient * 2 * step).sum() == pytest.approx(up - down, rel=0.02)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="multiple of the stride"):
        layer_singular_values(np.ones((1, 1, 3)), (7,), stride=2)
    with pytest.raises(ValueError, match="NaN"):
        layer_norm_bound(np.full((1, 1, 3), np.nan))
