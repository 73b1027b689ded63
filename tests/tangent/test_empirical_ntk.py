"""Every route to the tangent kernel against the brute-force twin: the Jacobian, row by row."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from leadline import as_apply, tangent
from leadline.networks import MLP
from leadline.tangent.assembly import cost_model
from leadline.tangent.assembly.tiles import mirrored
from leadline.tangent.empirical_ntk import checked_settings


def brute_force(apply, params, x1, x2):
    flat, back = ravel_pytree(params)
    rows = jax.jit(jax.jacrev(lambda w, x: jnp.ravel(apply(back(w), x))))
    return np.asarray(rows(flat, x1)) @ np.asarray(rows(flat, x2)).T


def draw(*shape):
    return jnp.asarray(np.random.default_rng(shape).standard_normal(shape))


def mixed(p, x):
    """A transposed weight scaled after the product, a gain, a weight used twice, a squared bias, an unused leaf."""
    h = jnp.tanh((x @ p["a"].T) / jnp.sqrt(3.0) + p["b"]) * p["gain"]
    h = h @ p["t"] + jnp.sin(p["t"]).sum()
    return -2 * (p["c"].T @ h) + p["d"] ** 2


def image(p, x):
    y = jax.lax.conv_general_dilated(
        x[None], p["k"], (1, 2), "SAME", rhs_dilation=(2, 1), dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return (y[0] + p["b"]).mean((0, 1))


def tokens(p, x):
    h = jax.nn.gelu(x @ p["w"] + p["b"])
    return jnp.einsum("thd,hde->e", h.reshape(2, 2, 12), p["heads"])


def recurrent(p, x):
    h, _ = jax.lax.scan(lambda h, u: (jnp.tanh(p["w"] @ h + p["u"] @ u), None), jnp.zeros(4, x.dtype), x)
    return p["o"] @ h


def convolutional():
    keys = jax.random.split(jax.random.key(0), 3)
    layers = [
        eqx.nn.Conv2d(2, 4, 3, stride=2, padding=1, key=keys[0]),
        eqx.nn.Lambda(jax.nn.relu),
        eqx.nn.Conv2d(4, 6, 3, groups=2, key=keys[1]),
        eqx.nn.Lambda(jnp.ravel),
        eqx.nn.Linear(24, 2, key=keys[2]),
    ]
    return as_apply(eqx.nn.Sequential(layers))


def of_examples(f, params):
    return as_apply((f, params), batched=False)


def cases():
    ntk = as_apply(MLP((3, 8, 7, 2), "relu", parametrisation="ntk", gain=1.3, bias_scale=0.1, key=jax.random.key(0)))
    leaves = {"a": draw(5, 3), "b": draw(5), "gain": draw(1, 5)[0], "t": draw(5, 5), "c": draw(5, 2), "d": draw(2)}
    return {
        "ntk": (*ntk, (3,), ["structured: dense", "structured: bias of .layers[0].weight"]),
        "mixed": (
            *of_examples(mixed, leaves | {"unused": draw(2)}),
            (3,),
            ["structured: dense", "structured: bias of ['a']"],
        ),
        "image": (*of_examples(image, {"k": draw(3, 2, 2, 4), "b": draw(4)}), (6, 6, 2), ["explicit: bias"]),
        "tokens": (
            *of_examples(tokens, {"w": draw(5, 24), "b": draw(24), "heads": draw(2, 12, 3)}),
            (2, 5),
            ["explicit: bias"],
        ),
        "recurrent": (
            *of_examples(recurrent, {"w": draw(4, 4), "u": draw(4, 3), "o": draw(2, 4)}),
            (5, 3),
            ["structured: dense"],
        ),
        "convolutional": (*convolutional(), (2, 7, 7), ["structured: convolution, outer products", "explicit: bias"]),
    }


@pytest.mark.parametrize("name", ["ntk", "mixed", "image", "tokens", "recurrent", "convolutional"])
def test_the_kernel_is_the_product_of_jacobians_in_small_pieces_too(name, monkeypatch):
    apply, params, shape, routes = cases()[name]
    x1 = draw(7, *shape)
    plan = tangent.ntk_plan(apply, params, x1)
    assert [leaf.route for leaf in plan.leaves][: len(routes)] == routes
    K = brute_force(apply, params, x1, x1)
    monkeypatch.setattr(cost_model, "_TILE_ROWS", 6)
    pieces = tangent.empirical_ntk(apply, params, x1, budget=45_000)
    np.testing.assert_allclose(pieces, K, rtol=1e-10, atol=1e-12 * np.abs(K).max())
    assert (np.asarray(pieces) == np.asarray(pieces).T).all()


@pytest.mark.slow
def test_all_methods_the_layers_and_the_trace_agree():
    apply, params = cases()["mixed"][:2]
    x1, x2 = draw(6, 3), draw(4, 3)
    K = brute_force(apply, params, x1, x2)
    for method in ("explicit", "products"):
        np.testing.assert_allclose(
            tangent.empirical_ntk(apply, params, x1, x2, method=method), K, rtol=1e-9, atol=1e-10
        )
    trace = np.einsum("iaja->ij", K.reshape(6, 2, 4, 2))
    for method in ("auto", "products"):
        found = tangent.empirical_ntk(apply, params, x1, x2, method=method, outputs="trace")
        np.testing.assert_allclose(found, trace, rtol=1e-9, atol=1e-10)
    parts = tangent.layer_ntks(apply, params, x1, x2)
    np.testing.assert_allclose(sum(parts.values()), K, rtol=1e-9, atol=1e-10)
    assert set(parts) == {f"['{name}']" for name in params}
    assert not np.any(parts["['unused']"])
    rest = {name: leaf for name, leaf in params.items() if name != "a"}
    part = brute_force(lambda p, x: apply(rest | p, x), {"a": params["a"]}, x1, x2)
    np.testing.assert_allclose(parts["['a']"], part, rtol=1e-9, atol=1e-10)


def test_custom_derivatives_are_kept():
    """ReLU has the derivative 0 at 0 by its own rule; the derivative of max would be one half."""
    apply, params = as_apply(MLP((2, 3, 1), "relu", key=jax.random.key(1)))
    K = tangent.empirical_ntk(apply, params, jnp.zeros((1, 2)))
    assert K.tolist() == [[1.0]]


def test_a_function_of_batches_and_one_of_single_numbers():
    p, x = {"a": draw(3, 5), "b": draw(5, 2)}, draw(4, 3)
    K = tangent.empirical_ntk(lambda p, x: jnp.tanh(x @ p["a"]) @ p["b"], p, x)
    np.testing.assert_allclose(K, brute_force(lambda p, x: jnp.tanh(x @ p["a"]) @ p["b"], p, x, x), rtol=1e-10)
    assert tangent.empirical_ntk(lambda w, x: w * x, jnp.array(1.0), jnp.array([1.0, 2.0])).tolist() == [[1, 2], [2, 4]]


def test_a_function_is_traced_at_the_first_call_only():
    seen = []

    def f(w, x):
        seen.append(x.shape)
        return x @ w

    kernels = [tangent.empirical_ntk(f, scale * draw(4), draw(3, 4)) for scale in (1.0, 2.0)]
    traced = len(seen)
    kernels.append(tangent.empirical_ntk(f, 3.0 * draw(4), draw(3, 4)))
    assert len(seen) == traced
    np.testing.assert_allclose(kernels[2], draw(3, 4) @ draw(3, 4).T, rtol=1e-12)
    tangent.empirical_ntk(f, draw(5), draw(3, 5))
    assert seen[-1] == (1, 5)


def test_mirrored_copies_the_upper_triangle():
    K = np.random.default_rng(0).standard_normal((83, 83))
    wanted = np.triu(K) + np.triu(K, 1).T
    assert (np.asarray(mirrored(jnp.asarray(K), side=8)) == wanted).all()


def test_a_weight_that_meets_few_positions_goes_by_pairs():
    plan = tangent.ntk_plan(*cases()["tokens"][:2], draw(9, 2, 5))
    assert plan.leaves[2].route == "structured: dense, 2 positions, pairs of positions"
    assert str(plan).count("\n") == 3


def test_bad_input_is_told_in_a_sentence():
    x, w = jnp.ones((3, 2)), jnp.ones(2)
    f = lambda w, x: x @ w  # noqa: E731
    for arguments, word in [
        ((f, {}, x), "no arrays"),
        ((f, jnp.ones(2, int), x), "not real floating point"),
        ((f, w, jnp.ones((3, 4))), "fails for a batch of one example"),
        ((f, w, jnp.ones(())), "shape ()"),
        ((f, w, x, jnp.ones((2, 3))), "fails for a batch of one example"),
        ((lambda w, x: x[0] > 0, w, x), "floating-point array"),
        ((lambda w, x: (x @ w, w), w, x), "returns a tuple of 2, not one array"),
    ]:
        with pytest.raises(ValueError, match=word.replace("(", r"\(").replace(")", r"\)")):
            tangent.empirical_ntk(*arguments)
    with pytest.raises(ValueError, match="did you mean"):
        checked_settings(1e6, "explict", "full")
    with pytest.raises(ValueError, match="too small"):
        tangent.empirical_ntk(f, w, x, budget=10)
    with pytest.raises(ValueError, match="positive"):
        tangent.empirical_ntk(f, w, x, budget=0)
    with pytest.raises(ValueError, match="3 columns"):
        tangent.ntk_product(f, w, x, None, jnp.ones(2))
