"""Equinox networks with batch normalisation, dropout and keys, written as its documentation writes them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from frameworks.agreement import check

from leadline import as_apply

IMAGES = np.random.default_rng(0).normal(size=(5, 2, 8, 8))
ROWS = np.random.default_rng(1).normal(size=(6, 4))
KEY = jax.random.key(0)


class Block(eqx.Module):
    """Two convolutions with batch normalisation and a shortcut."""

    first: eqx.nn.Conv2d
    first_norm: eqx.nn.BatchNorm
    second: eqx.nn.Conv2d
    second_norm: eqx.nn.BatchNorm

    def __init__(self, channels, key):
        one, two = jax.random.split(key)
        self.first = eqx.nn.Conv2d(channels, channels, 3, padding=1, use_bias=False, key=one)
        self.first_norm = eqx.nn.BatchNorm(channels, axis_name="batch", mode="batch")
        self.second = eqx.nn.Conv2d(channels, channels, 3, padding=1, use_bias=False, key=two)
        self.second_norm = eqx.nn.BatchNorm(channels, axis_name="batch", mode="batch")

    def __call__(self, x, state):
        h, state = self.first_norm(self.first(x), state)
        h, state = self.second_norm(self.second(jax.nn.relu(h)), state)
        return jax.nn.relu(x + h), state


class ResNet(eqx.Module):
    stem: eqx.nn.Conv2d
    blocks: list
    pool: eqx.nn.AdaptiveAvgPool2d
    drop: eqx.nn.Dropout
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 4)
        self.stem = eqx.nn.Conv2d(2, 4, 3, padding=1, key=keys[0])
        self.blocks = [Block(4, key) for key in keys[1:3]]
        self.pool = eqx.nn.AdaptiveAvgPool2d(1)
        self.drop = eqx.nn.Dropout(0.3)
        self.head = eqx.nn.Linear(4, 3, key=keys[3])

    def __call__(self, x, state, key=None):
        x = self.stem(x)
        for block in self.blocks:
            x, state = block(x, state)
        return self.head(self.drop(self.pool(x).ravel(), key=key)), state


def trained_resnet():
    """A residual network whose running statistics have seen a batch, in inference mode and not."""
    net, state = eqx.nn.make_with_state(ResNet)(KEY)
    run = jax.vmap(net, in_axes=(0, None, 0), out_axes=(0, None), axis_name="batch")
    _, state = run(IMAGES, state, jax.random.split(KEY, 5))
    return net, state


def test_a_residual_network_with_its_state_gives_what_equinox_gives_in_inference_mode():
    net, state = trained_resnet()
    still = eqx.nn.inference_mode(net)

    def forward(n, x):
        return jax.vmap(lambda one: n(one, state)[0], axis_name="batch")(x)

    gradient = eqx.filter_grad(lambda n: jnp.sum(forward(n, IMAGES) ** 2))(still)
    check(as_apply((net, state)), IMAGES, lambda x: forward(still, x), eqx.filter(gradient, eqx.is_inexact_array))


class Regularised(eqx.Module):
    """Splits its key at every call, as the layers that it calls draw from parts of it."""

    first: eqx.nn.Linear
    drops: list
    last: eqx.nn.Linear

    def __init__(self, key):
        one, two = jax.random.split(key)
        self.first, self.last = eqx.nn.Linear(4, 8, key=one), eqx.nn.Linear(8, 3, key=two)
        self.drops = [eqx.nn.Dropout(0.5), eqx.nn.Dropout(0.2)]

    def __call__(self, x, key):
        keys = jax.random.split(key, 2)
        h = self.drops[0](jax.nn.gelu(self.first(x)), key=keys[0])
        return self.last(self.drops[1](h, key=keys[1]))


class OptionalKey(Regularised):
    def __call__(self, x, *, key=None):
        return Regularised.__call__(self, x, key)


class Compiled(Regularised):
    """Draws inside a function that is compiled on its own."""

    def __call__(self, x, key, inference):
        return eqx.filter_jit(lambda n, x, k: Regularised.__call__(n, x, k))(self, x, key) * (1 if inference else 2)


class PassesNone(Regularised):
    def __call__(self, x, key):
        return self.last(self.drops[0](jax.nn.gelu(self.first(x)), key=key))


@pytest.mark.parametrize("kind", [Regularised, OptionalKey, Compiled, PassesNone])
def test_dropout_with_keys_is_off_and_its_keys_are_not_asked_for(kind):
    net = kind(KEY)

    def forward(n, x):
        return jax.vmap(n.last)(jax.nn.gelu(jax.vmap(n.first)(x)))

    gradient = eqx.filter_grad(lambda n: jnp.sum(forward(n, ROWS) ** 2))(net)
    check(as_apply(net), ROWS, lambda x: forward(net, x), eqx.filter(gradient, eqx.is_inexact_array))


class Noisy(eqx.Module):
    weight: jax.Array

    def __call__(self, x, key):
        return x * self.weight + jax.random.normal(jax.random.split(key)[0], x.shape)


def test_a_network_that_draws_in_inference_mode_too_is_refused():
    apply, params = as_apply(Noisy(jnp.ones(4)))
    with pytest.raises(ValueError, match=r"a Noisy, draws random numbers from its key in inference mode too"):
        apply(params, ROWS)


class Rotation(eqx.Module):
    phase: jax.Array

    def __call__(self, x):
        return (x * self.phase).real


def test_complex_parameters_are_named():
    with pytest.raises(ValueError, match=r"Parameter \.phase of the network, a Rotation, is complex64; keep real and"):
        as_apply(Rotation(jnp.ones(4, jnp.complex64)))


def test_a_state_that_no_argument_takes_is_told():
    _, state = trained_resnet()
    with pytest.raises(ValueError, match="takes no argument named state"):
        as_apply((Noisy(jnp.ones(4)), state))
