"""Recurrent layers: Elman, LSTM and GRU, stacked and in both directions, as scans over time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from .linear import same_precision


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    x, weight = same_precision(x, weight)
    out = lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))
    return out if bias is None else out + bias


def _lstm_step(state: tuple[Array, Array], inner: Array, weight: Array, bias: Any) -> tuple[Array, Array]:
    """i, f, g, o = W_ih x + b_ih + W_hh h + b_hh;  c' = σ(f) c + σ(i) tanh(g);  h' = σ(o) tanh(c')."""
    h, c = state
    i, f, g, o = jnp.split(inner + _affine(h, weight, bias), 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def _gru_step(state: tuple[Array], inner: Array, weight: Array, bias: Any) -> tuple[Array]:
    """r, z = σ(·);  n = tanh(W_in x + b_in + r (W_hn h + b_hn));  h' = (1 - z) n + z h."""
    (h,) = state
    (r, z, n), (hr, hz, hn) = jnp.split(inner, 3, axis=-1), jnp.split(_affine(h, weight, bias), 3, axis=-1)
    z = jax.nn.sigmoid(z + hz)
    return ((1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn) + z * h,)


def _elman_step(state: tuple[Array], inner: Array, weight: Array, bias: Any, activation: Callable) -> tuple[Array]:
    return (activation(inner + _affine(state[0], weight, bias)),)


def _scan(step: Callable, x: Array, state: tuple, arrays: Sequence[Any], backwards: bool) -> tuple[Array, tuple]:
    """One layer in one direction over x (time, n, inputs): outputs (time, n, units) and the last state."""
    w_ih, w_hh, b_ih, b_hh = arrays
    inner = _affine(x, w_ih, b_ih)
    dtype = jnp.result_type(inner, w_hh)

    def advance(carried: tuple, row: Array) -> tuple[tuple, Array]:
        new = step(carried, row, w_hh, b_hh)
        return new, new[0]

    first = tuple(part.astype(dtype) for part in state)
    last, outputs = lax.scan(advance, first, inner.astype(dtype), reverse=backwards)
    return outputs, last


def _layers(
    step: Callable,
    x: Array,
    states: tuple[Array, ...],
    arrays: Sequence[Array],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    projected: bool = False,
) -> tuple[Array, ...]:
    """Outputs and the last state of every layer and direction, stacked, for each part of the state."""
    if x.ndim == 2:  # one example
        one = tuple(s[:, None] for s in states)
        axis = 0 if batch_first else 1
        out, *last = _layers(
            step, jnp.expand_dims(x, axis), one, arrays, has_biases, num_layers, bidirectional, batch_first
        )
        return jnp.squeeze(out, axis), *(s[:, 0] for s in last)
    directions, each = 1 + bidirectional, 4 if has_biases else 2
    if len(arrays) != num_layers * directions * each:
        raise ValueError("An LSTM with projections (proj_size) is not taken; give one without, or its forward in JAX.")
    h = x.swapaxes(0, 1) if batch_first else x  # (time, n, inputs)
    ends = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            own = [*arrays[number * each : (number + 1) * each], None, None][:4]
            out, last = _scan(step, h, tuple(s[number] for s in states), own, direction == 1)
            outputs.append(out)
            ends.append(last)
        h = jnp.concatenate(outputs, axis=-1) if directions == 2 else outputs[0]
    out = h.swapaxes(0, 1) if batch_first else h
    return out, *(jnp.stack([end[part] for end in ends]) for part in range(len(states)))


def _operation(step: Callable) -> Callable:
    """ATen's call of a recurrent layer; `hx` is its state, or a list of states (LSTM)."""

    def operation(
        x: Array,
        hx: Any,
        params: Sequence[Array],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Array, ...]:
        states = tuple(hx) if isinstance(hx, tuple | list) else (hx,)
        return _layers(step, x, states, params, has_biases, num_layers, bidirectional, batch_first)

    return operation


def _cell(step: Callable) -> Callable:
    def operation(x: Array, hx: Any, w_ih: Array, w_hh: Array, b_ih: Any = None, b_hh: Any = None) -> Any:
        state = tuple(hx) if isinstance(hx, tuple | list) else (hx,)
        new = step(state, _affine(x, w_ih, b_ih), w_hh, b_hh)
        return new if len(new) > 1 else new[0]

    return operation


_tanh_step, _relu_step = (partial(_elman_step, activation=f) for f in (jnp.tanh, jax.nn.relu))

OPERATIONS: dict[str, Callable] = {
    "lstm.input": _operation(_lstm_step),
    "gru.input": _operation(_gru_step),
    "rnn_tanh.input": _operation(_tanh_step),
    "rnn_relu.input": _operation(_relu_step),
    "lstm_cell": _cell(_lstm_step),
    "gru_cell": _cell(_gru_step),
    "rnn_tanh_cell": _cell(_tanh_step),
    "rnn_relu_cell": _cell(_relu_step),
}
