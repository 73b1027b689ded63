"""Haiku transforms, written as its documentation writes them."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from frameworks.agreement import check

from leadline import as_apply

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
KEY = jax.random.PRNGKey(0)


def softmax_logits(x):
    return hk.nets.MLP([8, 3])(x)


def with_dropout(x, is_training):
    h = jax.nn.relu(hk.Linear(8)(x))
    h = hk.dropout(hk.next_rng_key(), 0.5, h) if is_training else h
    return hk.Linear(3)(h)


def with_statistics(x, is_training):
    h = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9)(hk.Linear(8)(x), is_training)
    return hk.Linear(3)(jax.nn.relu(h))


def of(forward, params):
    return lambda x: forward(params), jax.grad(lambda p: jnp.sum(forward(p) ** 2))(params)


def test_a_transform_with_and_without_a_key():
    for transform in (hk.transform(softmax_logits), hk.without_apply_rng(hk.transform(softmax_logits))):
        params = transform.init(KEY, X)
        expected = of(lambda p: hk.transform(softmax_logits).apply(p, None, X), params)
        check(as_apply((transform, params)), X, *expected)


def test_dropout_is_off_in_inference_mode():
    for transform in (hk.transform(with_dropout), hk.without_apply_rng(hk.transform(with_dropout))):
        params = transform.init(KEY, X, is_training=False)
        expected = of(lambda p: hk.transform(with_dropout).apply(p, None, X, False), params)
        check(as_apply((transform, params)), X, *expected)


def test_running_statistics_are_used_where_there_is_a_state():
    stateful = hk.transform_with_state(with_statistics)
    params, state = stateful.init(KEY, X, is_training=True)
    _, state = stateful.apply(params, state, None, X, is_training=True)
    expected = of(lambda p: stateful.apply(p, state, None, X, is_training=False)[0], params)
    for transform in (stateful, hk.without_apply_rng(stateful)):
        check(as_apply((transform, (params, state))), X, *expected)


def test_what_is_missing_is_told():
    def masked(x, mask):
        return hk.Linear(2)(x * mask)

    plain, stateful = hk.transform(softmax_logits), hk.transform_with_state(softmax_logits)
    for model, told in (
        (plain, r"Haiku transform without all of its values; give \(transform, params\)"),
        ((stateful, {}), r"give \(transform, \(params, state\)\)"),
        ((hk.transform(masked), hk.transform(masked).init(KEY, X, X)), "needs mask beside its inputs"),
    ):
        with pytest.raises(ValueError, match=told):
            as_apply(model)
