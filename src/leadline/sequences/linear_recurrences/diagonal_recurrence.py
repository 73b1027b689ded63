"""z_t = a_t ⊙ z_{t-1} + b_t, one number of each channel at a time: by a loop, a scan, a convolution, a matrix."""

from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Num

from leadline._checks import require_numbers

Way = Literal["scan", "loop", "convolution", "dense"]
Values = Num[Array | np.ndarray, "..."]
Map = tuple[Values, Values] | Num[Array | np.ndarray, "2 ..."]  #: a and b of z -> a z + b


def compose(first: Map, second: Map) -> tuple[Values, Values]:
    """The map z -> a z + b that comes of one and then another: (a₁, b₁) ∘ (a₂, b₂) = (a₁a₂, a₂b₁ + b₂), associative.

    >>> compose((jnp.array([2.0]), jnp.array([1.0])), (jnp.array([3.0]), jnp.array([5.0])))[1].tolist()
    [8.0]
    """
    (a1, b1), (a2, b2) = first, second
    return a1 * a2, a2 * b1 + b2


def fastest_here() -> Way:
    """ "loop" on a processor, which takes its steps at the speed of its memory; "scan" where many run at once."""
    return "loop" if jax.default_backend() == "cpu" else "scan"


def linear_recurrence(
    gates: Num[Array | np.ndarray, "..."],
    inputs: Num[Array | np.ndarray, "t m"],
    start: Num[Array | np.ndarray, " m"] | None = None,
    *,
    by: Way | None = None,
    reverse: bool = False,
) -> Inexact[Array, "t m"]:
    """z_1, …, z_T of z_t = a_t ⊙ z_{t-1} + b_t, with z_0 = `start` (zeros by default), complex or real.

    `gates` are those of every step, (T, m), or one set for all, (m,). With `reverse` z_t = a_t ⊙ z_{t+1} + b_t from
    z_{T+1} = `start`. The ways give the same numbers and differ in what they take; left out, it is the fastest here:

    - "loop": T dependent steps, each number read and written once: on a processor nothing is faster;
    - "scan": (a₁, b₁) ∘ (a₂, b₂) = (a₁a₂, a₂b₁ + b₂) is associative (Blelloch 1990; Martin and Cundy 2018): twice the
      work in O(log T) dependent steps, for devices that do many at once;
    - "convolution": with the kernel a^k by fast Fourier transforms, O(T log T), for constant gates alone; its error
      scales with the largest input, not with the state at hand;
    - "dense": the lower triangular matrix of the products a_t ⋯ a_{s+1}, T² numbers a channel.

    >>> linear_recurrence(jnp.array([0.5]), jnp.array([[1.0], [1.0], [1.0]])).ravel().tolist()
    [1.0, 1.5, 1.75]
    >>> linear_recurrence(jnp.array([[0.5], [0.0]]), jnp.ones((2, 1)), jnp.array([2.0]), by="loop").ravel().tolist()
    [2.0, 1.0]
    """
    require_numbers("linear_recurrence", gates=gates, inputs=inputs, start=start)
    by = fastest_here() if by is None else by
    a, b, varying = _checked(gates, inputs, by)
    if reverse:
        turned = (a[::-1] if varying else a), b[::-1]
        return linear_recurrence(*turned, start, by=by)[::-1]
    before = jnp.zeros_like(b[0]) if start is None else jnp.asarray(start, b.dtype)
    b = b.at[0].add((a[0] if varying else a) * before)
    if by == "convolution":
        return _convolved(a, b)
    return {"scan": _scanned, "loop": _looped, "dense": _multiplied}[by](jnp.broadcast_to(a, b.shape), b)


def log_space_recurrence(
    log_gates: Float[Array | np.ndarray, "t ..."], log_inputs: Float[Array | np.ndarray, "s ..."]
) -> Float[Array, "t ..."]:
    """log z_t of z_t = a_t z_{t-1} + b_t with z_0 = 0, from log a_t and log b_t: for positive gates and inputs alone.

    log z_t = A_t + log Σ_{s ≤ t} exp(log b_s - A_s) with A_t = Σ_{s ≤ t} log a_s (Heinsen 2023): nothing underflows.
    Put log z_0 before the inputs, with a gate of 1, to start elsewhere.

    >>> import numpy as np
    >>> half = np.full((200, 1), np.log(0.5), np.float32)
    >>> float(jnp.exp(log_space_recurrence(half, np.zeros((200, 1), np.float32))[-1, 0]).round(4))
    2.0
    """
    if np.shape(log_gates) != np.shape(log_inputs):
        raise ValueError(
            f"The logarithms of the gates have shape {np.shape(log_gates)} and those of the inputs "
            f"{np.shape(log_inputs)}; give one gate for each input."
        )
    total = jnp.cumsum(jnp.asarray(log_gates), axis=0)
    return total + jax.lax.cumlogsumexp(jnp.asarray(log_inputs) - total, axis=0)


def _checked(gates: Array | np.ndarray, inputs: Array | np.ndarray, by: str) -> tuple[Array, Array, bool]:
    """Gates and inputs of one type, and whether the gates have a time axis."""
    if by not in get_args(Way):
        raise ValueError(f"A recurrence cannot be computed by {by!r}; choose one of {', '.join(get_args(Way))}.")
    kind = jnp.result_type(gates, inputs, 0.0)
    a, b = jnp.asarray(gates, kind), jnp.asarray(inputs, kind)
    if len(b) == 0:
        raise ValueError("A recurrence needs inputs, one row for each step; there is none.")
    varying = a.ndim == 2
    if a.shape not in (b.shape, b.shape[1:], ()):
        raise ValueError(
            f"The gates have shape {a.shape} and the inputs {b.shape}; give gates of shape {b.shape}, or "
            f"{b.shape[1:]} for the same ones at every step."
        )
    if by == "convolution" and varying:
        raise ValueError(
            "Gates that change with time are no convolution; choose by='scan', or give one set of gates for all steps."
        )
    return a, b, varying


def _scanned(a: Array, b: Array) -> Array:
    return jax.lax.associative_scan(compose, (a, b))[1]


def _looped(a: Array, b: Array) -> Array:
    def step(z: Array, gate_and_input: tuple[Array, Array]) -> tuple[Array, Array]:
        gate, entering = gate_and_input
        z = gate * z + entering
        return z, z

    return jax.lax.scan(step, jnp.zeros_like(b[0]), (a, b))[1]


def _multiplied(a: Array, b: Array) -> Array:
    """Row t of the matrix has a_t ⋯ a_{s+1} at s < t, 1 at s = t and 0 beyond."""

    def row(above: Array, gate_and_place: tuple[Array, Array]) -> tuple[Array, Array]:
        gate, place = gate_and_place
        now = (gate * above).at[place].set(1)
        return now, now

    matrix = jax.lax.scan(row, jnp.zeros_like(b), (a, jnp.arange(len(b))))[1]  # (t, s, m)
    return jnp.einsum("tsm,sm->tm", matrix, b)


def _convolved(a: Array, b: Array) -> Array:
    length = len(b)
    powers = jnp.concatenate([jnp.ones_like(b[:1]), jnp.broadcast_to(a, b[1:].shape)])
    kernel = jnp.cumprod(powers, axis=0)  # a^k
    if jnp.iscomplexobj(b):
        forward, backward = jnp.fft.fft, jnp.fft.ifft
    else:
        forward, backward = jnp.fft.rfft, jnp.fft.irfft
    size = 2 * length
    return backward(forward(kernel, size, axis=0) * forward(b, size, axis=0), size, axis=0)[:length].astype(b.dtype)
