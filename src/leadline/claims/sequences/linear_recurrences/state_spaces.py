"""Linear state spaces, computed in four ways."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, sequences
from leadline.evidence import Int, Real, close, model
from leadline.presentation import figure

EPS = float(np.finfo(float).eps)


@model(sources=("eth", "sheet"), shows=("sequences.LinearStateSpace",))
def linear_state_space(
    key, size: Int(1, 16) = 6, inputs: Int(1, 4) = 2, length: Int(2, 1024) = 256, radius: Real(0.1, 0.99) = 0.95
):
    r"""The linear state space.

    The state is multiplied by one matrix at every step and the input is added; a network reads the state, step by step.
    The states can be computed one after the other, as a convolution with the impulse response, as a prefix product of
    matrices in parallel, or in the coordinates of the eigenvectors. What is kept of an input depends on its age alone,
    not on what it is.

    $$z_{t+1} = A z_t + B x_t = \sum_k A^k B\, x_{t-k}, \qquad y_t = \mathrm{MLP}(\mathrm{Re}(G z_t))$$

    Assumes: A and B do not change with time.

    Check: all ways against the loop, in double precision and in single; the response to a sum of inputs; the kernel
    against the states after one unit input.
    """
    rng = data.generator(key)
    a = rng.normal(size=(size, size))
    a *= radius / np.abs(np.linalg.eigvals(a)).max()
    b, g = rng.normal(size=(size, inputs)), rng.normal(size=(3, size))
    xs = rng.normal(size=(length, inputs))
    head = networks.MLP((3, 8, 2), "tanh", dtype=jnp.float64, key=key)
    layer = sequences.LinearStateSpace(jnp.asarray(a), jnp.asarray(b), jnp.asarray(g), head)
    looped = _states(layer, xs)
    scale = np.abs(looped).max()
    condition = sequences.diagonalise(a, b).condition
    for by in ("scan", "convolution"):
        what = f"states by {by}, against the loop (as a share of the largest)"
        yield close(_states(layer, xs, by) / scale, looped / scale, what, atol=1e-10)
    modal = np.asarray(layer.states(xs, by="diagonal"))  # its decomposition is the host's and cannot be compiled
    what = f"states in the eigenvectors' coordinates (their condition is {condition:.2g}), against the loop"
    yield close(modal / scale, looped / scale, what, atol=10 * size * length * EPS * condition)
    outputs = np.asarray(layer(xs))
    by_step = np.stack([np.asarray(head(jnp.asarray(g @ z))) for z in looped[-3:]])
    yield close(outputs[-3:], by_step, "last outputs, against the network applied to G z by hand", atol=1e-12)
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if hasattr(leaf, "astype") else leaf, layer)
    single = _states(half, xs.astype(np.float32), "scan")
    yield close(single / scale, looped / scale, "states by scan in single precision", atol=1e-4)
    kernel = np.asarray(layer.impulse_response(length))
    unit = np.zeros((length, inputs))
    unit[0, 0] = 1.0
    after = _states(layer, unit)
    yield close(after, kernel[:, :, 0], "states after one unit input, against Aᵏ B", atol=1e-12 * np.abs(kernel).max())
    other = rng.normal(size=(length, inputs))
    together = _states(layer, xs + other)
    what = "response to the sum of two inputs, against the sum of the responses"
    yield close(together / scale, (looped + _states(layer, other)) / scale, what, atol=1e-10)
    lags = np.arange(min(length, 80))
    norms = np.linalg.norm(kernel[: len(lags), :, 0], axis=1)
    title = f"The kernel decays as {radius:.2g} to the power of the lag"
    envelope = norms[-1] * radius ** (lags - lags[-1].astype(float))
    yield figure.curves(
        title,
        "lag k",
        "‖Aᵏ B e₁‖",
        lines={f"c · {radius:.2g}ᵏ": (lags, envelope)},
        points={"after one unit input": (lags, np.linalg.norm(after[: len(lags)], axis=1))},
        log="y",
    )


def _states(layer, xs, by="loop"):
    return np.asarray(_compiled(layer, jnp.asarray(xs), by))


@eqx.filter_jit
def _compiled(layer, xs, by):
    return layer.states(xs, by=by)
