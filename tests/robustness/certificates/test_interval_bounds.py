import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.robustness import Box, NoIntervalRule, interval_margins, interval_outputs
from leadline.robustness.certificates.interval_arithmetic import Interval, bilinear
from leadline.robustness.certificates.interval_certificates import certified, interval_radii
from leadline.robustness.certificates.interval_rules import RULES

KEYS = jax.random.split(jax.random.key(0), 6)


class Convolutional(eqx.Module):
    convolution: eqx.nn.Conv2d
    largest: eqx.nn.MaxPool2d
    average: eqx.nn.AvgPool2d
    head: eqx.nn.Linear

    def __call__(self, x):
        return self.head(self.average(self.largest(jax.nn.relu(self.convolution(x)))).ravel())


def residual(x):
    for key in KEYS[:2]:
        x = x + jax.nn.leaky_relu(jax.random.normal(key, (6, 6)) @ x)
    return x


def in_a_loop(x):
    def step(state, weight):
        state = jnp.tanh(weight @ state)
        return state, state.sum()

    return jnp.concatenate(jax.tree.leaves(jax.lax.scan(step, x, jax.random.normal(KEYS[2], (3, 6, 6)), reverse=True)))


def attention():
    layer = eqx.nn.MultiheadAttention(2, 6, key=KEYS[3])
    return lambda x: layer(x, x, x)


def odds_and_ends(x):
    parts = [
        jnp.sin(3 * x),
        jnp.cos(x),
        x**3,
        x**-2,
        x**2.0,
        jnp.abs(x),
        x * x,
        x - x,
        1 / (1 + x**2),
        jnp.sqrt(jnp.abs(x)),
        jnp.sort(x),
        jnp.cumsum(x),
        jnp.clip(x, -0.1, 0.2),
        jnp.where(x > 0.1, x, 0.1 * x),
        jnp.exp(-x),
        jnp.cosh(x),
        jnp.where(jnp.full(6, 0.2) >= x, jnp.expm1(x), x),
        jnp.flip(x) * x,
        (x > 0).astype(x.dtype),
        jnp.floor(4 * x),
        jnp.prod(jnp.abs(x))[None],
        jnp.linalg.norm(x)[None],
        jnp.logaddexp(x, 0.0),
        jnp.abs(x) ** 1.5,
        jax.nn.gelu(x, approximate=False),
        jax.nn.softmax(x),
        jax.nn.silu(x),
        jax.nn.elu(x),
        x[::2],
        jnp.pad(x, 1),
        jnp.outer(x, x).ravel(),
    ]
    return jnp.concatenate(parts)


VECTORS = (
    eqx.nn.MLP(6, 3, 8, 2, key=KEYS[4]),
    eqx.nn.MLP(6, 3, 8, 1, activation=jax.nn.gelu, key=KEYS[5]),
    eqx.nn.LayerNorm(6),
)


def vectors(x):
    """A perceptron, one with gelu, layer norm, a residual network, a loop, and single functions."""
    return jnp.concatenate([*(f(x) for f in VECTORS), residual(x), in_a_loop(x), odds_and_ends(x)])


ZOO = {
    "vectors": (vectors, (6,)),
    "attention": (attention(), (3, 6)),
    "convolution": (
        Convolutional(
            eqx.nn.Conv2d(1, 2, 3, key=KEYS[0]),
            eqx.nn.MaxPool2d(2, 1),
            eqx.nn.AvgPool2d(2, 1),
            eqx.nn.Linear(8, 3, key=KEYS[1]),
        ),
        (1, 6, 6),
    ),
}


@pytest.mark.parametrize("name", ZOO)
def test_no_point_of_the_box_leaves_the_bounds(name):
    f, shape = ZOO[name]
    rng = np.random.default_rng(0)
    bounds = jax.jit(lambda low, high: interval_outputs(f, low, high))
    values = jax.jit(jax.vmap(f))
    for radius in (0.0, 0.02, 0.5):
        centre = rng.normal(size=shape)
        low, high = centre - radius, centre + radius
        points = rng.uniform(low, high, size=(200, *shape))
        corners = np.where(points > centre, high, low)
        below, above = bounds(low, high)
        seen = np.asarray(values(np.concatenate([points, corners])))
        assert np.all(seen >= np.asarray(below))
        assert np.all(seen <= np.asarray(above))


def test_in_single_precision_rounding_is_outward():
    weight = np.random.default_rng(5).normal(size=(300, 40)).astype(np.float32)
    centre = np.random.default_rng(6).normal(size=300).astype(np.float32)
    below, above = interval_outputs(lambda x: jnp.tanh(x @ weight), centre, centre)
    exact = np.tanh(centre.astype(np.float64) @ weight.astype(np.float64))
    assert np.all((np.asarray(below) <= exact) & (exact <= np.asarray(above)))
    assert np.max(np.asarray(above) - np.asarray(below)) < 0.05


def test_one_affine_layer_is_exact():
    rng = np.random.default_rng(1)
    weight, bias, low = rng.normal(size=(4, 6)), rng.normal(size=4), rng.normal(size=6)
    high = low + rng.uniform(size=6)
    below, above = interval_outputs(lambda x: weight @ x + bias, low, high)
    middle, reach = weight @ (low + high) / 2 + bias, np.abs(weight) @ (high - low) / 2
    np.testing.assert_allclose(below, middle - reach, rtol=0, atol=1e-13)
    np.testing.assert_allclose(above, middle + reach, rtol=0, atol=1e-13)


def test_a_branch_knows_its_condition():
    below, above = interval_outputs(lambda x: jnp.where(x > 0, x, 0.1 * x), -jnp.ones(1), jnp.ones(1))
    np.testing.assert_allclose([below[0], above[0]], [-0.1, 1.0], atol=1e-12)


def test_bounds_of_products_of_two_uncertain_matrices_hold_and_are_attained_for_symmetric_boxes():
    a, b = (Interval(-jnp.full(s, r), jnp.full(s, r)) for s, r in (((2, 3), 0.5), ((3, 2), 2.0)))
    found = bilinear(jnp.matmul, a, b, 3)
    np.testing.assert_allclose(found.high, 3.0, rtol=1e-12)
    np.testing.assert_allclose(found.low, -3.0, rtol=1e-12)


def test_dividing_by_what_may_be_zero_is_unbounded():
    below, above = interval_outputs(lambda x: 1 / x, -jnp.ones(1), jnp.ones(1))
    assert (below[0], above[0]) == (-jnp.inf, jnp.inf)


def test_a_primitive_without_a_rule_is_named():
    with pytest.raises(NoIntervalRule, match="argmax"):
        interval_outputs(lambda x: x[jnp.argmax(x)], jnp.zeros(3), jnp.ones(3))
    assert "argmax" not in RULES


def test_bounds_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match="same shape"):
        interval_outputs(jnp.sin, jnp.zeros(2), jnp.zeros(3))


def linear(params, x):
    return x @ params[0] + params[1]


def two_layers(params, x):
    return jnp.maximum(x @ params[0] + params[1], 0) @ params[2]


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(2)
    params = rng.normal(size=(5, 8)), rng.normal(size=8), rng.normal(size=(8, 3))
    x = rng.normal(size=(6, 5))
    return params, x, rng.integers(3, size=6)


def test_margins_of_a_linear_model_are_exact(cases):
    (_, _, _), x, y = cases
    rng = np.random.default_rng(3)
    weight, bias = rng.normal(size=(5, 3)), rng.normal(size=3)
    difference = weight.T[y][:, None] - weight.T
    middle = np.einsum("nkd,nd->nk", difference, x) + bias[y][:, None] - bias
    exact = middle - 0.1 * np.abs(difference).sum(2)
    found = np.array(interval_margins(linear, (weight, bias), x, y, 0.1))
    assert np.all(np.isinf(found[np.arange(6), y]))
    found[np.arange(6), y] = 0.0
    np.testing.assert_allclose(found, exact, atol=1e-12)
    radii = interval_radii(linear, (weight, bias), x, y, largest=4.0, halvings=40)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(np.abs(difference).sum(2) > 0, middle / np.abs(difference).sum(2), np.inf).min(1)
    np.testing.assert_allclose(radii, np.clip(distance, 0, 4.0), atol=1e-9)


def test_margins_use_score_differences_and_are_sound(cases):
    params, x, y = cases
    low, high = interval_outputs(lambda x: two_layers(params, x), x - 0.05, x + 0.05)
    apart = np.asarray(low)[np.arange(6), y][:, None] - np.asarray(high)
    found = np.asarray(interval_margins(two_layers, params, x, y, 0.05))
    assert np.all(found >= apart)
    assert np.any(np.isfinite(found) & (found > apart + 1e-3))
    inside = x[:, None] + np.random.default_rng(4).choice([-0.05, 0.05], size=(6, 100, 5))
    scores = np.asarray(two_layers(params, inside))
    margins = scores[np.arange(6), :, y][:, :, None] - scores
    rest = np.arange(3) != y[:, None]
    assert np.all(margins.min(1)[rest] >= found[rest])


def test_scores_that_do_not_end_in_a_product_are_bounded_one_by_one(cases):
    params, x, y = cases
    found = np.asarray(interval_margins(lambda p, x: jnp.tanh(two_layers(p, x)), params, x, y, 0.0))
    scores = np.tanh(np.asarray(two_layers(params, x)))
    rest = np.arange(3) != y[:, None]
    np.testing.assert_allclose(found[rest], (scores[np.arange(6), y][:, None] - scores)[rest], atol=1e-12)


def test_every_row_may_have_its_own_radius_and_pixels_limit_the_box(cases):
    params, x, y = cases
    y = np.asarray(two_layers(params, x)).argmax(1)
    sure = certified(two_layers, params, x, y, np.array([0.0, 9.0] * 3))
    assert sure.tolist() == [True, False] * 3
    assert certified(two_layers, params, x, y, 9.0, box=Box(x.min(), x.min())).shape == (6,)


def test_a_negative_radius_is_told(cases):
    with pytest.raises(ValueError, match="not negative"):
        interval_margins(two_layers, *cases, -0.1)
