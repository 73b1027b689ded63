"""Signals through depth: what a network does to lengths and gradients, and what theory said it would."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline._checks import require
from leadline.data import generator

from ..activations import activation as activation_called
from ..architectures.fully_connected import MLP
from .mean_field import gaussian_expectation, gradient_factor

_MEDIAN = 0.6744897501960817  # of |Z|, Z ~ N(0, 1)


class Signal(NamedTuple):
    """Per layer l = 1..L of a network on a batch: moments of the values z_l, and the norm of the gradient at z_l.

    `gradient_norm` is the root mean square over the batch of ‖∂(a·f(x))/∂z_l‖. A layer is out of range, for float32,
    where half the values are below the smallest normal number (`underflow`) or one is above the largest (`overflow`);
    the first such layer is given, forwards for values and backwards for gradients, and 0 means none.
    """

    second_moment: Float[np.ndarray, " layers"]
    variance: Float[np.ndarray, " layers"]
    gradient_norm: Float[np.ndarray, " layers"]
    underflow: int
    overflow: int
    gradient_underflow: int
    gradient_overflow: int

    @property
    def forward_slope(self) -> float:
        """The least-squares slope of log √(second moment) per layer."""
        return _slope_of_log(np.sqrt(self.second_moment))

    @property
    def backward_slope(self) -> float:
        """The least-squares slope of the log gradient norm per layer towards the input: positive if it explodes."""
        return _slope_of_log(self.gradient_norm[::-1])


class SignalPrediction(NamedTuple):
    """The mean-field values of `Signal`, from the sizes of the weights alone."""

    second_moment: Float[np.ndarray, " layers"]
    gradient_norm: Float[np.ndarray, " layers"]
    underflow: int
    overflow: int
    gradient_underflow: int
    gradient_overflow: int


def measure_signal(
    network: MLP | Sequence[Callable],
    batch: Float[Array | np.ndarray, "batch ..."],
    *,
    direction: Float[Array | np.ndarray, " out"] | None = None,
) -> Signal:
    """Run a batch through the network and the gradient of a·f back; values are those after each layer.

    Layers of an `MLP` are measured before their activation, the last one too. Any other feed-forward network is given
    as the sequence of its layers, each a function of one input. `direction` is a, by default (1, ..., 1)/√N_L. Moments
    are computed in float64, so that they are right where the network itself is close to the limits of float32.

    >>> net = MLP((100, 100, 100, 100), "identity", init="orthogonal", gain=2.0, key=jax.random.key(0))
    >>> found = measure_signal(net, jnp.ones((1, 100)))
    >>> found.second_moment.round(3).tolist(), round(found.backward_slope, 4)
    ([4.0, 16.0, 64.0], 0.6931)
    """
    require("measure_signal", batch=batch)
    layers = _stages(network) if isinstance(network, MLP) else list(network)
    if not layers:
        raise ValueError("measure_signal got no layers; give an MLP or at least one function.")
    value, values, pullbacks = jnp.asarray(batch), [], []
    for layer in layers:
        value, pullback = jax.vjp(jax.vmap(layer), value)
        values.append(np.asarray(value, np.float64).reshape(len(value), -1))
        pullbacks.append(pullback)
    if direction is None:
        adjoint = jnp.full_like(value, value[0].size ** -0.5)
    else:
        adjoint = jnp.broadcast_to(jnp.asarray(direction, value.dtype), value.shape)
    adjoints = []
    for pullback in reversed(pullbacks):
        adjoints.append(np.asarray(adjoint, np.float64).reshape(len(adjoint), -1))
        (adjoint,) = pullback(adjoint)
    depth = len(layers)
    down, up = _first_out_of_range(adjoints)
    with np.errstate(invalid="ignore"):  # values that are infinite already
        variance = np.array([v.var() for v in values])
    return Signal(
        np.array([np.mean(v**2) for v in values]),
        variance,
        np.array([np.sqrt(np.mean(np.sum(a**2, axis=1))) for a in adjoints])[::-1],
        *_first_out_of_range(values),
        depth + 1 - down if down else 0,
        depth + 1 - up if up else 0,
    )


def predict_signal(network: MLP, input_moment: float, *, batch: int = 1) -> SignalPrediction:
    """What mean-field theory says of `measure_signal`, for inputs with mean square `input_moment` and ‖a‖ = 1.

    q_1 = N_0 s_1² E x² + E b_1², q_l = N_{l-1} s_l² E φ(√q_{l-1} Z)² + E b_l²; gradients backwards by
    N_l s_{l+1}² E φ'(√q_l Z)², with s_l² the mean square of W_l.

    >>> net = MLP((100, 100, 100), "relu", init="orthogonal", gain=2.0, key=jax.random.key(0))
    >>> predict_signal(net, 1.0).second_moment.round(3).tolist()
    [4.0, 8.0]
    """
    phi = activation_called(network.activation)
    affine = [(np.asarray(w, np.float64), 0.0 if b is None else np.asarray(b, np.float64)) for w, b in network.affine()]
    gains = [np.sqrt(w.shape[1] * np.mean(w**2)) for w, _ in affine]
    lengths, moment = [], float(input_moment)
    for gain, (_, bias) in zip(gains, affine, strict=True):
        lengths.append(gain**2 * moment + np.mean(bias**2))
        moment = float(gaussian_expectation(lambda z: phi(z) ** 2, lengths[-1]))
    norms = [1.0]
    for q, gain in zip(lengths[-2::-1], gains[:0:-1], strict=True):
        norms.append(norms[-1] * gain * np.sqrt(float(gradient_factor(q, network.activation, 1.0))))
    outputs = np.array([len(w) for w, _ in affine])
    down, up = _range_of_roots(np.array(norms) / np.sqrt(outputs[::-1]), outputs[::-1] * batch)
    depth = len(affine)
    return SignalPrediction(
        np.array(lengths),
        np.array(norms)[::-1],
        *_range_of_roots(np.sqrt(lengths), outputs * batch),
        depth + 1 - down if down else 0,
        depth + 1 - up if up else 0,
    )


class NormEnsemble(NamedTuple):
    """Independent random networks: ‖z_l‖² for l = 1..L, ‖x_l‖² for l = 0..L, and the share of units with z_l > 0."""

    pre: Float[np.ndarray, "draws depth"]
    post: Float[np.ndarray, "draws depth_and_input"]
    active: Float[np.ndarray, "draws depth"]


def norm_ensemble(
    start: Float[Array | np.ndarray, "draws width"],
    depth: int,
    phi: str = "identity",
    *,
    gain: float = 1.0,
    law: str = "normal",
    key: PRNGKeyArray,
) -> NormEnsemble:
    """Send each row of `start` through its own random network x_l = φ(W_l x_{l-1}) of constant width n.

    The entries of W_l are independent, normal or uniform, with variance g²/n. Weights are drawn in float32, norms
    kept in float64.

    >>> norms = norm_ensemble(np.ones((50, 64)), 3, "relu", gain=2**0.5, key=jax.random.key(0))
    >>> norms.post.shape, bool(abs(norms.post[:, -1].mean() / 64 - 1) < 0.3)
    ((50, 4), True)
    """
    if law not in ("normal", "uniform"):
        raise ValueError(f"norm_ensemble got the law {law!r}; choose 'normal' or 'uniform'.")
    f, rng = activation_called(phi), generator(key)
    x = np.asarray(start, np.float64)
    draws, width = x.shape
    pre, post, active = [], [np.sum(x**2, axis=1)], []
    for _ in range(depth):
        if law == "normal":
            weights = rng.standard_normal((draws, width, width), dtype=np.float32)
            scale = gain / np.sqrt(width)
        else:
            weights = rng.random((draws, width, width), dtype=np.float32) - np.float32(0.5)
            scale = gain * np.sqrt(12 / width)
        largest = np.abs(x).max(axis=1, keepdims=True)  # values may be far outside the range of float32
        largest = np.where(largest > 0, largest, 1.0)
        z = (weights @ (x / largest).astype(np.float32)[:, :, None])[:, :, 0].astype(np.float64) * scale * largest
        x = np.asarray(f(jnp.asarray(z)), np.float64) if phi != "relu" else np.maximum(z, 0.0)
        pre.append(np.sum(z**2, axis=1))
        post.append(np.sum(x**2, axis=1))
        active.append(np.mean(z > 0, axis=1))
    return NormEnsemble(np.array(pre).T, np.array(post).T, np.array(active).T)


def gradient_slopes(
    gains: Float[np.ndarray, " gains"],
    phi: str,
    *,
    width: int,
    depth: int,
    lengths: Float[np.ndarray, " gains"],
    bias_scale: float = 0.0,
    nets: int = 4,
    key: PRNGKeyArray,
) -> Float[np.ndarray, "nets gains"]:
    """The mean growth of log ‖∂f/∂z_l‖ per layer, backwards, in random networks with weights N(0, g²/n).

    All gains share the standard normal weights of a network. The first pre-activations are drawn with variance
    `lengths` (a fixed point of the length map, for a slope without transients); gradients are exact, by
    backpropagation, and rescaled on the way so that they stay in range.

    >>> gradient_slopes(np.array([0.5]), "identity", width=64, depth=9, lengths=np.ones(1), key=jax.random.key(0)).shape
    (4, 1)
    """
    if depth < 2:
        raise ValueError(f"gradient_slopes got depth {depth}; a slope needs at least 2 layers.")
    f, rng = activation_called(phi), generator(key)
    gains = np.asarray(gains, np.float32)
    slopes = []
    for _ in range(nets):
        weights = rng.standard_normal((depth - 1, width, width), dtype=np.float32) / np.float32(np.sqrt(width))
        biases = bias_scale * rng.standard_normal((depth - 1, width, 1))
        z = rng.standard_normal((width, 1)) * np.sqrt(lengths)
        derivatives = []
        for w, b in zip(weights, biases, strict=True):
            x, derivative = jax.jvp(f, (jnp.asarray(z),), (jnp.ones_like(z),))
            derivatives.append(np.asarray(derivative))
            z = (w @ np.asarray(x, np.float32)).astype(np.float64) * gains + b
        adjoint = np.repeat(rng.standard_normal((width, 1)), len(gains), axis=1)
        adjoint /= np.linalg.norm(adjoint, axis=0)
        growth = np.zeros(len(gains))
        for w, derivative in zip(weights[::-1], derivatives[::-1], strict=True):
            adjoint = derivative * (w.T @ adjoint.astype(np.float32)) * gains
            norm = np.linalg.norm(adjoint, axis=0)
            growth += np.log(norm)
            adjoint = adjoint / norm
        slopes.append(growth / (depth - 1))
    return np.array(slopes)


def _stages(network: MLP) -> list[Callable]:
    phi = activation_called(network.activation)

    def stage(weight: Array, bias: Array | None, f: Callable) -> Callable:
        return lambda x: weight @ f(x.ravel()) + (0 if bias is None else bias)

    return [stage(w, b, phi if index else lambda x: x) for index, (w, b) in enumerate(network.affine())]


def _first_out_of_range(values: Sequence[np.ndarray]) -> tuple[int, int]:
    """The first layer, from 1, with underflow and with overflow of float32; 0 for none."""
    limits = np.finfo(np.float32)
    under = [bool(np.median(np.abs(v)) < limits.tiny) for v in values]
    over = [bool(~np.all(np.abs(v) <= limits.max)) for v in values]
    return _first(np.array(under)), _first(np.array(over))


def _range_of_roots(roots: np.ndarray, counts: np.ndarray) -> tuple[int, int]:
    """The same from root mean squares: by the median and by the typical largest of so many Gaussian values."""
    limits = np.finfo(np.float32)
    largest = roots * np.sqrt(2 * np.log(np.maximum(counts, 2)))
    return _first(roots * _MEDIAN < limits.tiny), _first(largest > limits.max)


def _first(found: np.ndarray) -> int:
    return int(np.argmax(found)) + 1 if found.any() else 0


def _slope_of_log(values: np.ndarray) -> float:
    usable = np.isfinite(values) & (values > 0)
    if usable.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.flatnonzero(usable), np.log(values[usable]), 1)[0])
