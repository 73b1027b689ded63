"""Flax networks, Linen and NNX, and training states, written as its documentation writes them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx
from flax.core import freeze
from flax.training import train_state
from frameworks.agreement import check

from leadline import as_apply

IMAGES = np.random.default_rng(0).normal(size=(5, 8, 8, 1)).astype(np.float32)
KEY = jax.random.key(0)


class CNN(linen.Module):
    """Convolutions, poolings and two dense layers."""

    @linen.compact
    def __call__(self, x):
        x = linen.avg_pool(linen.relu(linen.Conv(features=4, kernel_size=(3, 3))(x)), (2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        return linen.Dense(features=3)(linen.relu(linen.Dense(features=8)(x)))


class Normalised(linen.Module):
    @linen.compact
    def __call__(self, x, train: bool = True):
        x = linen.Conv(features=4, kernel_size=(3, 3))(x)
        x = linen.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = linen.Dropout(0.5)(linen.relu(x), deterministic=not train)
        return linen.Dense(features=3)(x.mean(axis=(1, 2)))


class TrainState(train_state.TrainState):
    batch_stats: Any


def normalised():
    module = Normalised()
    variables = module.init(KEY, IMAGES, train=False)
    _, moved = module.apply(variables, IMAGES, mutable=["batch_stats"], rngs={"dropout": KEY})
    return module, {"params": variables["params"], "batch_stats": moved["batch_stats"]}


def of_linen(module, variables, **options):
    def forward(p, x):
        return module.apply({**variables, "params": p}, x, **options)

    return (
        lambda x: forward(variables["params"], x),
        jax.grad(lambda p: jnp.sum(forward(p, IMAGES) ** 2))(variables["params"]),
    )


def test_a_train_state_is_its_module_with_its_parameters():
    module = CNN()
    variables = module.init(KEY, IMAGES)
    for params in (variables["params"], variables):  # both are found in use
        state = train_state.TrainState.create(apply_fn=module.apply, params=params, tx=optax.sgd(0.1))
        check(as_apply(state), IMAGES, *of_linen(module, variables))


def test_a_train_state_with_batch_statistics_is_in_inference_mode():
    module, variables = normalised()
    state = TrainState.create(
        apply_fn=module.apply, params=variables["params"], batch_stats=variables["batch_stats"], tx=optax.adam(1e-3)
    )
    check(as_apply(state), IMAGES, *of_linen(module, variables, train=False))


def test_a_train_state_of_another_function_calls_it():
    state = train_state.TrainState.create(
        apply_fn=lambda variables, x: x.reshape(5, -1) @ variables["params"]["w"],
        params={"w": jnp.ones((64, 2))},
        tx=optax.sgd(0.1),
    )
    x = IMAGES.reshape(5, -1)
    check(as_apply(state), IMAGES, lambda _: x @ np.ones((64, 2)), 2 * x.T @ (x @ np.ones((64, 2))))


def test_frozen_variables_and_bound_modules_are_taken():
    module, variables = normalised()
    expected = of_linen(module, variables, train=False)
    check(as_apply((module, freeze(variables))), IMAGES, *expected)
    check(as_apply(module.bind(variables)), IMAGES, *expected)


def test_partitioned_parameters_are_taken_out_of_their_boxes():
    module = linen.Dense(3, kernel_init=linen.with_partitioning(linen.initializers.lecun_normal(), (None, "model")))
    x = IMAGES.reshape(5, -1)
    variables = module.init(KEY, x)
    kernel = variables["params"]["kernel"].value
    gradient = {"bias": 2 * (x @ kernel).sum(0), "kernel": 2 * x.T @ (x @ kernel)}
    check(as_apply((module, variables)), x, lambda _: x @ kernel, gradient)


class NnxCNN(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = nnx.Conv(1, 4, kernel_size=(3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(rate=0.25)
        self.linear = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x, rngs: nnx.Rngs):
        x = nnx.relu(self.norm(self.conv(x)))
        return self.linear(self.drop(x.mean(axis=(1, 2)), rngs=rngs))


class Deterministic(NnxCNN):
    def __call__(self, x, *, deterministic: bool):
        x = nnx.relu(self.norm(self.conv(x)))
        return self.linear(self.drop(x.mean(axis=(1, 2)), deterministic=deterministic, rngs=nnx.Rngs(0)))


@pytest.mark.parametrize("kind", [NnxCNN, Deterministic])
def test_an_nnx_network_with_rngs_of_the_call_is_in_inference_mode(kind):
    net = kind(rngs=nnx.Rngs(0))
    net(IMAGES, rngs=nnx.Rngs(1)) if kind is NnxCNN else net(IMAGES, deterministic=False)  # moves the statistics
    networks = [as_apply(net), as_apply(nnx.split(net))]
    net.eval()

    def forward(n):
        h = nnx.relu(n.norm(n.conv(IMAGES)))
        return n.linear(h.mean(axis=(1, 2)))

    gradient = nnx.to_pure_dict(nnx.grad(lambda n: jnp.sum(forward(n) ** 2))(net))
    for network in networks:
        check(network, IMAGES, lambda _: forward(net), gradient)


def test_a_graph_without_its_state_is_told():
    with pytest.raises(ValueError, match=r"give the pair \(graphdef, state\)"):
        as_apply(nnx.split(NnxCNN(rngs=nnx.Rngs(0)))[0])


class TextClassifier(nnx.Module):
    """Of the last state of a recurrent layer, as in Flax' guides."""

    def __init__(self, cell, features, *, rngs):
        self.rnn = nnx.RNN(cell)
        self.head = nnx.Linear(features, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.rnn(x)[:, -1])


class BothWays(nnx.Module):
    def __init__(self, *, rngs):
        self.rnn = nnx.Bidirectional(nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs)), nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs)))
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.rnn(x))


@pytest.mark.parametrize("kind", ["SimpleCell", "LSTMCell", "OptimizedLSTMCell", "GRUCell", "both ways"])
def test_recurrent_nnx_modules_run_inside_every_transformation_and_are_left_as_they_are(kind):
    rngs = nnx.Rngs(0)
    net = (
        BothWays(rngs=rngs)
        if kind == "both ways"
        else TextClassifier(getattr(nnx, kind)(3, 4, rngs=rngs), 4, rngs=rngs)
    )
    x = jax.random.normal(jax.random.key(0), (5, 6, 3), jnp.float32)
    apply, params = as_apply(net)
    assert np.allclose(apply(params, x), net(x), atol=1e-6)
    assert np.allclose(jax.jit(lambda p, x: apply(p, x))(params, x), net(x), atol=1e-6)
    assert np.allclose(jax.vmap(lambda row: apply.of_example(params, row))(x), net(x), atol=1e-6)
    own = nnx.grad(lambda net: (net(x) ** 2).sum())(net)
    gradient = jax.grad(lambda p: (apply(p, x) ** 2).sum())(params)
    for mine, theirs in zip(jax.tree.leaves(gradient), jax.tree.leaves(nnx.to_pure_dict(own)), strict=True):
        assert np.allclose(mine, theirs, rtol=1e-4, atol=1e-5)


class LinenRecurrent(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.Bidirectional(linen.RNN(linen.LSTMCell(4)), linen.RNN(linen.GRUCell(4)))(x)
        scanned = linen.scan(
            linen.OptimizedLSTMCell, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1
        )(4)
        carry = scanned.initialize_carry(jax.random.key(0), x[:, 0].shape)
        return linen.Dense(2)(scanned(carry, x)[1])


def test_recurrent_linen_modules_run_inside_every_transformation():
    x = jax.random.normal(jax.random.key(0), (5, 6, 3), jnp.float32)
    net = LinenRecurrent()
    variables = net.init(jax.random.key(1), x)
    apply, params = as_apply((net, variables))
    assert np.allclose(jax.jit(lambda p, x: apply(p, x))(params, x), net.apply(variables, x), atol=1e-6)
    assert np.allclose(jax.vmap(lambda row: apply.of_example(params, row))(x), net.apply(variables, x), atol=1e-6)
    own = jax.grad(lambda v: (net.apply(v, x) ** 2).sum())(variables)["params"]
    gradient = jax.grad(lambda p: (apply(p, x) ** 2).sum())(params)
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: np.allclose(a, b, rtol=1e-4, atol=1e-5), gradient, own)))
