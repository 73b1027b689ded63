"""Networks with branches: copies of a signal, layers side by side, their sum or concatenation."""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from .combinators import Identity, Serial, serial
from .layer import Covariance, Form, Layer, Needs


@dataclass(frozen=True)
class FanOut(Layer):
    """`copies` of the signal, one for each branch of a `parallel` that follows."""

    copies: int = 2

    def form(self, form: Form) -> Any:
        return (form,) * self.copies

    def needs(self, after: Any) -> Needs:
        return Needs(*(max(level) for level in zip(*after, strict=True)))

    def side(self, form: Form, variance: Array | None) -> tuple[Any, Any]:
        return (variance,) * self.copies, ()

    def pair(self, form: Form, covariance: Covariance, first: Any, second: Any) -> Any:
        return (covariance,) * self.copies

    def output_shape(self, shape: tuple[int, ...]) -> Any:
        return (shape,) * self.copies

    def apply(self, params: Any, x: Array) -> Any:
        return (x,) * self.copies


@dataclass(frozen=True)
class Parallel(Layer):
    """Layers side by side, each on its own copy of the signal; see `parallel`."""

    layers: tuple[Layer, ...]

    def form(self, form: Any) -> Any:
        if not isinstance(form, tuple) or len(form) != len(self.layers):
            raise ValueError(f"parallel has {len(self.layers)} branches; put FanOut({len(self.layers)}) before it.")
        return tuple(layer.form(one) for layer, one in zip(self.layers, form, strict=True))

    def offsetwise(self) -> bool:
        return all(layer.offsetwise() for layer in self.layers)

    def needs(self, after: Any) -> Any:
        after = after if isinstance(after, tuple) and not isinstance(after, Needs) else (after,) * len(self.layers)
        return tuple(layer.needs(one) for layer, one in zip(self.layers, after, strict=True))

    def side(self, form: Any, variance: Any) -> tuple[Any, Any]:
        done = [layer.side(*one) for layer, *one in zip(self.layers, form, variance, strict=True)]
        return tuple(variance for variance, _ in done), tuple(notes for _, notes in done)

    def pair(self, form: Any, covariance: Any, first: Any, second: Any) -> Any:
        branches = zip(self.layers, form, covariance, first, second, strict=True)
        return tuple(layer.pair(*one) for layer, *one in branches)

    def output_shape(self, shape: Any) -> Any:
        return tuple(layer.output_shape(one) for layer, one in zip(self.layers, shape, strict=True))

    def init(self, key: PRNGKeyArray, shape: Any, dtype: Any = None) -> Any:
        keys = jax.random.split(key, len(self.layers))
        return tuple(layer.init(k, one, dtype) for layer, k, one in zip(self.layers, keys, shape, strict=True))

    def apply(self, params: Any, x: Any) -> Any:
        return tuple(layer.apply(p, one) for layer, p, one in zip(self.layers, params, x, strict=True))


def parallel(*layers: Layer) -> Parallel:
    """The layers side by side, between FanOut and FanInSum or FanInConcat."""
    return Parallel(tuple(layers))


@dataclass(frozen=True)
class FanInSum(Layer):
    """The sum of branches: kernels add, as the branches are independent.

    At most one branch may pass its input on without an affine layer of its own: x + x, or x + relu(x), would have
    covariances between the branches, and is refused.
    """

    def form(self, form: Any) -> Form:
        if not isinstance(form, tuple):
            raise ValueError("FanInSum got one signal; put FanOut and parallel before it.")
        if len({(one.positions, one.width) for one in form}) > 1:
            raise ValueError(
                "FanInSum got branches of different shapes "
                f"{[(*one.positions, one.width) for one in form]}; these must agree."
            )
        origins = [origin for one in form for origin in one.origins]
        if len(set(origins)) < len(origins):
            raise ValueError(
                "FanInSum got branches that share random weights, so that their covariance is not 0; end all branches "
                "but one with a Dense or Conv layer of their own."
            )
        if sum(not one.centred for one in form) > 1:
            raise ValueError(
                "FanInSum got more than one branch whose units do not have mean 0, so that their covariance is not 0; "
                "end all branches but one with a Dense or Conv layer of their own."
            )
        centred = all(one.centred for one in form)
        return replace(form[0], gaussian=all(one.gaussian for one in form), centred=centred, origins=frozenset(origins))

    def needs(self, after: Needs) -> Needs:
        return after

    def side(self, form: Any, variance: Any) -> tuple[Array | None, Any]:
        return (None if any(v is None for v in variance) else _total(variance)), ()

    def pair(self, form: Any, covariance: Any, first: Any, second: Any) -> Covariance:
        nngp, ntk = zip(*covariance, strict=True)
        return Covariance(_total(nngp), None if ntk[0] is None else _total(ntk))

    def output_shape(self, shape: Any) -> tuple[int, ...]:
        return shape[0]

    def apply(self, params: Any, x: Any) -> Array:
        return _total(x)


def _total(parts: Sequence[Array]) -> Array:
    return functools.reduce(operator.add, parts)


@dataclass(frozen=True)
class FanInConcat(Layer):
    """The channels of all branches in one signal: kernels are averaged, weighted with the widths.

    Units of different branches have different variances, so that a Dense or Conv layer must follow.
    """

    def form(self, form: Any) -> Form:
        if not isinstance(form, tuple):
            raise ValueError("FanInConcat got one signal; put FanOut and parallel before it.")
        if any(one.width is None for one in form):
            raise ValueError("FanInConcat weighs its branches with their widths; give every layer its width.")
        origins = frozenset(origin for one in form for origin in one.origins)
        centred = all(one.centred for one in form)
        return replace(form[0], gaussian=False, centred=centred, origins=origins, width=sum(one.width for one in form))

    def _mean(self, form: Any, parts: Any) -> Array:
        total = sum(one.width for one in form)
        return _total([part * (one.width / total) for one, part in zip(form, parts, strict=True)])

    def side(self, form: Any, variance: Any) -> tuple[Array | None, Any]:
        return None if variance[0] is None else self._mean(form, variance), ()

    def pair(self, form: Any, covariance: Any, first: Any, second: Any) -> Covariance:
        nngp, ntk = zip(*covariance, strict=True)
        return Covariance(self._mean(form, nngp), None if ntk[0] is None else self._mean(form, ntk))

    def output_shape(self, shape: Any) -> tuple[int, ...]:
        return (*shape[0][:-1], sum(one[-1] for one in shape))

    def apply(self, params: Any, x: Any) -> Array:
        return jnp.concatenate(x, axis=-1)


def residual(*layers: Layer) -> Serial:
    """x + F(x), with F the layers one after the other; the last should be affine.

    >>> from leadline.infinite_width import Dense
    >>> block = residual(Dense(8, W_std=2.0))
    >>> serial(Dense(8), block).kernel_fn(jnp.ones((1, 3)), get="nngp").tolist()
    [[5.0]]
    """
    return serial(FanOut(2), parallel(Identity(), serial(*layers)), FanInSum())
