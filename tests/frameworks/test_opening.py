"""`as_apply` against each framework's own forward pass and gradient."""

from collections import namedtuple
from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx
from frameworks import agreement

import leadline
from leadline import Network, as_apply

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
KEY = jax.random.key(0)


def check(network, forward, gradient):
    agreement.check(network, X, forward, gradient)


def test_an_equinox_module_of_one_example():
    net = eqx.nn.MLP(4, 3, 8, 2, key=KEY)
    gradient = eqx.filter_grad(lambda n: jnp.sum(jax.vmap(n)(X) ** 2))(net)
    check(as_apply(net), jax.vmap(net), eqx.filter(gradient, eqx.is_inexact_array))


class Rowwise(eqx.Module):
    """Takes a batch: it centres it first."""

    weight: jax.Array
    shift: int = 1

    def __call__(self, x):
        return (x - x.mean(0)) @ self.weight + self.shift


def test_an_equinox_module_of_a_batch_is_called_once_with_all_rows():
    net = Rowwise(jnp.asarray(X.T[:, :2]))
    check(as_apply(net, batched=True), net, jax.grad(lambda w: jnp.sum(Rowwise(w)(X) ** 2))(net.weight))


class Normalised(eqx.Module):
    first: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    drop: eqx.nn.Dropout

    def __init__(self, key):
        self.first = eqx.nn.Linear(4, 3, key=key)
        self.norm = eqx.nn.BatchNorm(3, "batch", mode="ema")
        self.drop = eqx.nn.Dropout(0.5)

    def __call__(self, x, state, *, key=None):
        x, state = self.norm(self.first(x), state)
        return self.drop(x, key=key), state


def test_an_equinox_module_with_batch_normalisation_and_dropout_is_in_inference_mode():
    net, state = eqx.nn.make_with_state(Normalised)(KEY)
    train = jax.vmap(lambda x, key, s: net(x, s, key=key), (0, 0, None), (0, None), axis_name="batch")
    _, state = train(X, jax.random.split(KEY, 6), state)
    mean, var = state.get(net.norm.ema_state_index)

    def forward(n, x):
        h = x @ n.first.weight.T + n.first.bias
        return (h - mean) / jnp.sqrt(var + n.norm.eps) * n.norm.weight + n.norm.bias

    gradient = eqx.filter_grad(lambda n: jnp.sum(forward(n, X) ** 2))(net)
    check(as_apply((net, state)), lambda x: forward(net, x), eqx.filter(gradient, eqx.is_inexact_array))
    assert net.drop.inference is False
    check(as_apply((net, state)), lambda x: forward(net, x), eqx.filter(gradient, eqx.is_inexact_array))


class Nnx(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.out = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        return self.out(self.drop(nnx.relu(self.norm(self.hidden(x)))))


def test_a_flax_nnx_module_is_taken_in_inference_mode_and_left_as_it_is():
    net = Nnx(nnx.Rngs(0))
    net(X)  # moves the running statistics
    network = as_apply(net)
    assert net.drop.deterministic is False
    net.eval()
    gradient = nnx.to_pure_dict(nnx.grad(lambda n: jnp.sum(n(X) ** 2))(net))
    check(network, net, gradient)


class Linen(linen.Module):
    features: Sequence[int] = (8, 3)

    @linen.compact
    def __call__(self, x, train: bool):
        x = linen.Dense(self.features[0])(x)
        x = linen.BatchNorm(use_running_average=not train)(x)
        x = linen.Dropout(0.5, deterministic=not train)(x)
        return linen.Dense(self.features[1])(linen.relu(x))


@pytest.mark.parametrize("features", [(8, 3), [8, 3]])
def test_a_flax_linen_module_with_its_variables_or_bound(features):
    module = Linen(features)
    variables = module.init(KEY, X, train=False)
    variables["batch_stats"] = jax.tree.map(lambda v: v + 0.5, variables["batch_stats"])

    def forward(p, x):
        return module.apply({**variables, "params": p}, x, train=False)

    gradient = jax.grad(lambda p: jnp.sum(forward(p, X) ** 2))(variables["params"])
    for network in ((module, variables), module.bind(variables)):
        check(as_apply(network), lambda x: forward(variables["params"], x), gradient)


class Transformed(NamedTuple):
    """Has the signature of Haiku's `transform`."""

    init: object
    apply: object


def test_a_haiku_transform_with_and_without_state():
    params = {"linear": {"w": jnp.asarray(X.T[:, :3]), "b": jnp.ones(3)}}

    def plain(params, rng, x):  # haiku.transform
        assert rng is None
        return x @ params["linear"]["w"] + params["linear"]["b"]

    def stateful(params, state, rng, x):  # haiku.transform_with_state
        return state["scale"] * plain(params, rng, x), state

    gradient = jax.grad(lambda p: jnp.sum(plain(p, None, X) ** 2))(params)
    check(as_apply((Transformed(dict, plain), params)), lambda x: plain(params, None, x), gradient)
    both = as_apply((Transformed(dict, stateful), (params, {"scale": jnp.asarray(1.0)})))
    check(both, lambda x: plain(params, None, x), gradient)
    with pytest.raises(ValueError, match=r"Haiku transform without all of its values; give \(transform, \(params, st"):
        as_apply((Transformed(dict, stateful), params))
    with pytest.raises(ValueError, match=r"give \(transform, params\)"):
        as_apply(Transformed(dict, plain))


def test_a_function_of_a_batch_or_of_one_example():
    w = X.T[:, :3]
    check(as_apply((lambda p, x: x @ p, w)), lambda x: x @ w, 2 * X.T @ (X @ w))
    check(as_apply((lambda p, x: p.T @ x, w), batched=False), lambda x: x @ w, 2 * X.T @ (X @ w))


def test_a_network_is_itself_and_unpacks_into_two():
    network = as_apply(eqx.nn.Linear(4, 2, key=KEY))
    assert as_apply(network) is network
    assert isinstance(network, Network)
    assert leadline.as_apply is as_apply
    apply, params = network
    assert (apply, params) == (network.apply, network.params)


def test_what_is_compiled_for_a_network_serves_the_same_network_with_other_weights():
    traced = []

    @eqx.filter_jit
    def run(apply, params):
        traced.append(1)
        return apply(params, X)

    for seed in range(3):
        run(*as_apply(eqx.nn.MLP(4, 3, 8, 1, key=jax.random.key(seed))))
        run(*as_apply(Nnx(nnx.Rngs(0))))
    assert len(traced) == 2


def test_integer_inputs_reach_an_embedding_as_integers():
    net = eqx.nn.Embedding(5, 3, key=KEY)
    tokens = np.array([3, 1, 4, 1])
    apply, params = as_apply(net)
    np.testing.assert_array_equal(apply(params, tokens), net.weight[tokens])
    dense = eqx.nn.Linear(1, 2, key=KEY)
    np.testing.assert_allclose(leadline.as_apply(dense).apply(dense, tokens[:, None]), jax.vmap(dense)(tokens[:, None]))


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_half_precision_stays(dtype):
    net = jax.tree.map(lambda v: v.astype(dtype) if eqx.is_inexact_array(v) else v, eqx.nn.MLP(4, 3, 8, 1, key=KEY))
    apply, params = as_apply(net)
    x = jnp.asarray(X, dtype)
    assert {leaf.dtype for leaf in jax.tree.leaves(params)} == {jnp.dtype(dtype)}
    assert apply(params, x).dtype == dtype
    np.testing.assert_array_equal(apply(params, x).astype(float), jax.vmap(net)(x).astype(float))


Pair = namedtuple("Pair", "mean scale")


@pytest.mark.parametrize(
    ("returned", "told", "choice"),
    [
        (lambda h: (h, h), "a tuple of 2", "out[0]"),
        (lambda h: {"logits": h, "loss": 0.0}, "a dict with 'logits', 'loss'", "out['logits']"),
        (lambda h: Pair(h, h), "a Pair of 2", "out.mean"),
    ],
)
def test_of_several_outputs_one_is_chosen(returned, told, choice):
    w = jnp.asarray(X.T[:, :2])
    pair = (lambda p, x: returned(x @ p), w)
    apply, params = as_apply(pair)
    with pytest.raises(ValueError) as mistake:
        apply(params, X)
    assert f"returns {told}, not one array" in str(mistake.value)
    assert f"select=lambda out: {choice}" in str(mistake.value)
    place = str(mistake.value).partition("as in select=")[2].partition(" or ")[0]
    for select in (eval(f"lambda out: {choice}"), eval(place)):
        apply, params = as_apply(pair, select=select)
        np.testing.assert_allclose(apply(params, X), X @ w, rtol=1e-6)
    apply, params = as_apply(pair, select="nothing")
    with pytest.raises(ValueError, match=r"has no 'nothing'; choose one by select="):
        apply(params, X)


class NeedsMask(eqx.Module):
    weight: jax.Array

    def __call__(self, x, mask):
        return x * self.weight * mask


class LinenNeedsMask(linen.Module):
    @linen.compact
    def __call__(self, x, mask):
        return linen.Dense(2)(x * mask)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("a text", "The model is a str, not a network"),
        (len, "without parameters, not a network"),
        ((len, {}), "has no floating-point parameters"),
        (eqx.nn.Lambda(jnp.tanh), "a Lambda, has no floating-point parameters"),
        (NeedsMask(jnp.ones(4)), "needs mask beside its inputs at every call"),
        (eqx.nn.make_with_state(Normalised)(KEY)[0], "give the pair (network, state)"),
        (eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, "batch", mode="ema")[0], "give the pair (network, state)"),
        (Linen(), "Flax Linen module without its variables"),
        ((Linen(), {"kernel": X}), "with its 'params'"),
        ((LinenNeedsMask(), {"params": {"w": X}}), "needs mask beside"),
        ((nnx.Linear(2, 2, rngs=nnx.Rngs(0)), {}), "give the module alone"),
        ((lambda p, x: x, {"w": 1}), "Parameter ['w'] is int; the parameters must be a pytree of floating-point"),
        ((lambda p, x: x, {"w": np.arange(3)}), "is int64"),
        ((lambda p, x: x, {"w": np.ones(3) * 1j}), "is complex128"),
        ((SimpleNamespace(), X), "not a network"),
    ],
)
def test_what_is_no_network_is_told_in_one_sentence(model, told):
    with pytest.raises(ValueError) as mistake:
        as_apply(model)
    assert told in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_rows_that_do_not_correspond_are_told():
    w = jnp.ones(4)
    apply, params = as_apply((lambda p, x: jnp.sum(x @ p), w))
    with pytest.raises(ValueError, match="not one row for each; say batched=False"):
        apply(params, X)
    with pytest.raises(ValueError, match="single number"):
        apply(params, np.asarray(3.0))
