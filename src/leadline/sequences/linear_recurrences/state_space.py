"""The linear state-space layer z_{t+1} = A z_t + B x_t with a pointwise readout, computed in several ways."""

from collections.abc import Callable
from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Num

from .diagonal_recurrence import linear_recurrence
from .diagonalisation import diagonalise

Mode = Literal["loop", "convolution", "scan", "diagonal"]


class LinearStateSpace(eqx.Module):
    """z_{t+1} = A z_t + B x_t from z_0 = 0, and y_t = f(Re(G z_{t+1})), f an MLP, say.

    A fixed linear recurrence weighs the past by its age alone, never by its content: what it keeps of x_s at time t is
    A^{t-s}B x_s, whatever x_s is.

    >>> layer = LinearStateSpace(jnp.array([[0.5]]), jnp.array([[1.0]]))
    >>> layer(jnp.array([[1.0], [0.0], [0.0]])).ravel().tolist()
    [1.0, 0.5, 0.25]
    """

    transition: Inexact[Array, "m m"]
    inputs: Inexact[Array, "k n"]
    readout: Inexact[Array, "p m"] | None = None
    head: Callable[[Array], Array] | None = None

    def __check_init__(self) -> None:
        a, b = np.shape(self.transition), np.shape(self.inputs)
        if len(a) != 2 or a[0] != a[1] or len(b) != 2 or b[0] != a[0]:
            raise ValueError(f"A has shape {a} and B {b}; give a square A and a B with as many rows.")

    def __call__(self, xs: Num[Array | np.ndarray, "t n"], *, by: Mode = "loop") -> Float[Array, "t p"]:
        """y_1, …, y_T."""
        states = self.states(xs, by=by)
        read = (states if self.readout is None else states @ self.readout.T).real
        return read if self.head is None else jax.vmap(self.head)(read)

    def states(self, xs: Num[Array | np.ndarray, "t n"], *, by: Mode = "loop") -> Inexact[Array, "t m"]:
        """z_1, …, z_T: by the loop (T m² products), by convolution with A^k B, by a scan of matrices (T m³ products in
        O(log T) dependent steps), or in the coordinates of the eigenvectors (T m products, after one decomposition of A
        on the host, which cannot be traced).
        """
        if by not in get_args(Mode):
            raise ValueError(f"A state space cannot be computed by {by!r}; choose one of {', '.join(get_args(Mode))}.")
        if by == "diagonal":
            modes = diagonalise(self.transition, self.inputs)
            modal = linear_recurrence(modes.eigenvalues, jnp.asarray(xs) @ modes.inputs.T)
            states = modal @ jnp.asarray(modes.basis).T
            return states if jnp.iscomplexobj(self.transition) or jnp.iscomplexobj(self.inputs) else states.real
        if by == "convolution":
            return _convolved(self.impulse_response(len(xs)), jnp.asarray(xs))
        driven = jnp.asarray(xs) @ self.inputs.T
        return (_scanned if by == "scan" else _looped)(self.transition, driven)

    def impulse_response(self, length: int) -> Inexact[Array, "t m n"]:
        """A^k B for k = 0, …, `length` - 1: the state k + 1 steps after a unit input."""

        def step(power: Array, _: None) -> tuple[Array, Array]:
            return self.transition @ power, power

        return jax.lax.scan(step, self.inputs, length=length)[1]


def _looped(a: Array, driven: Array) -> Array:
    def step(z: Array, entering: Array) -> tuple[Array, Array]:
        z = a @ z + entering
        return z, z

    return jax.lax.scan(step, jnp.zeros_like(driven[0], dtype=jnp.result_type(a, driven)), driven)[1]


def _scanned(a: Array, driven: Array) -> Array:
    def compose(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
        (a1, b1), (a2, b2) = first, second
        return a2 @ a1, jnp.einsum("tij,tj->ti", a2, b1) + b2

    every = jnp.broadcast_to(a, (len(driven), *a.shape))
    return jax.lax.associative_scan(compose, (every, driven))[1]


def _convolved(kernel: Array, xs: Array) -> Array:
    """Σ_k kernel_k x_{t-k}, by fast Fourier transforms."""
    length, size = len(xs), 2 * len(xs)
    spectrum = jnp.einsum("fmn,fn->fm", jnp.fft.fft(kernel, size, axis=0), jnp.fft.fft(xs, size, axis=0))
    states = jnp.fft.ifft(spectrum, size, axis=0)[:length]
    return states if jnp.iscomplexobj(kernel) or jnp.iscomplexobj(xs) else states.real
