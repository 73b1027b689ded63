"""What a layer of infinite width is: its effect on one input's variance and on the covariances of pairs of inputs."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

_FRESH = itertools.count(1)


@dataclass(frozen=True)
class Form:
    """What is known of a signal without its numbers.

    `positions` is its shape in space, () for vectors; `width` the number of units (or channels), None if not given.
    `full` and `variances_full` say whether the covariances, of pairs and of single inputs, are kept between all pairs
    of positions or only between equal positions. `gaussian`: the units are Gaussian with mean 0, independent of each
    other, as after an affine layer. `centred`: their mean over units is 0. `origins`: the affine layers (0: the input)
    whose randomness the units share. `offset`: covariances are not of equal positions but of s with s + offset,
    counted around the edges.
    """

    positions: tuple[int, ...] = ()
    width: int | None = None
    full: bool = False
    variances_full: bool = False
    gaussian: bool = False
    centred: bool = False
    origins: frozenset[int] = frozenset({0})
    offset: tuple[Array, ...] | None = None

    def affine(self, width: int | None, positions: tuple[int, ...] | None = None) -> "Form":
        """The form after a layer of fresh Gaussian weights."""
        positions = self.positions if positions is None else positions
        return replace(
            self, width=width, positions=positions, gaussian=True, centred=True, origins=frozenset({next(_FRESH)})
        )


class Needs(NamedTuple):
    """What later layers read: covariances between all positions (`full`), variances not at all (0), at each position
    (1) or between all positions (2)."""

    full: bool = False
    variances: int = 0


class Covariance(NamedTuple):
    """Covariances of pairs of inputs (x_i, z_j): position axes first, then (i, j).

    `nngp` is E[f(x) f(z)] of one unit over the initialisations, `ntk` the tangent kernel (None if nobody asks).
    """

    nngp: Float[Array, "... m n"]
    ntk: Float[Array, "... m n"] | None

    def each(self, change: Callable[[Array], Array]) -> "Covariance":
        """The same change made to both."""
        return Covariance(change(self.nngp), None if self.ntk is None else change(self.ntk))


@dataclass(frozen=True)
class Layer:
    """A layer of infinite width: a frozen, hashable value.

    A layer says what form its output has (`form`), what it reads (`needs`), how it changes the variance of a single
    input (`side`, which also returns the notes on that input that the pairs will need) and how it changes the
    covariances of pairs (`pair`). What is done once per input is never done once per pair.
    `kernel_fn` gives the kernels, `init` and `apply` a random network of finite width with these kernels as limits.
    """

    def form(self, form: Form) -> Form:
        raise NotImplementedError

    def offsetwise(self) -> bool:
        """Whether covariances of positions s, s + d change independently for each d, and positions stay."""
        return True

    def needs(self, after: Needs) -> Needs:
        return after

    def side(self, form: Form, variance: Array | None) -> tuple[Array | None, Any]:
        """The variance (..., n) after the layer, and notes whose arrays end with the axis n."""
        raise NotImplementedError

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Covariance:
        """The covariances after the layer, from those before it and the notes on both inputs."""
        raise NotImplementedError

    def how(self) -> str:
        """How the limit is computed: a closed form, or a quadrature and its accuracy."""
        return "closed form"

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one output from that of one input, in the finite network."""
        return shape

    def init(self, key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any = None) -> Any:
        """Parameters of a finite network of the given widths, for inputs of this shape."""
        return ()

    def apply(self, params: Any, x: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
        """The finite network on a batch."""
        raise NotImplementedError

    def kernel_fn(self, x1: Any, x2: Any = None, get: str | tuple[str, ...] = "ntk") -> Any:
        """The limit kernels of all pairs of rows: "nngp", "ntk" or a tuple of both; `x2=None` means x1 again.

        Inputs are (n, d), (n, length, channels) or (n, height, width, channels). Before the first layer the kernel
        is the mean of x z over the channels.
        """
        from ..evaluation import kernels

        return kernels(self, x1, x2, get)


def spread(form: Form, notes: Array, side: int) -> Array:
    """Notes (*more, *positions, n) of one input laid out for covariances (*positions, m, n), or (*p, *p, m, n)."""
    notes = notes[..., :, None] if side == 0 else notes[..., None, :]
    return between_positions(form, notes, side, 2) if form.full else notes


def between_positions(form: Form, notes: Array, side: int, last: int) -> Array:
    """Notes (*more, *positions, *last axes) as rows or columns of covariances between all positions."""
    count = len(form.positions)
    more, ends = notes.shape[: notes.ndim - last - count], notes.shape[notes.ndim - last :]
    ones = (1,) * count
    inner = (*form.positions, *ones) if side == 0 else (*ones, *form.positions)
    return notes.reshape(*more, *inner, *ends)


def position_diagonal(form: Form, variance: Array) -> Array:
    """The variances at each position, (*positions, n), from those between all positions if these are kept."""
    if not form.variances_full or not form.positions:
        return variance
    count = len(form.positions)
    for _ in range(count):  # the diagonal moves to the end: after all, they are in order
        variance = jnp.diagonal(variance, axis1=0, axis2=count)
        count -= 1
    return jnp.moveaxis(variance, 0, -1)


def normal(key: PRNGKeyArray, shape: tuple[int, ...], dtype: Any) -> Array:
    """Standard normal draws, in the default dtype unless one is given."""
    return jax.random.normal(key, shape, dtype or jnp.zeros(()).dtype)
