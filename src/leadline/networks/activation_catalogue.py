"""What is known of each activation function: its slope, its kinks, its bounds and its symmetries."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .activations import ACTIVATIONS, gelu_derivative, heaviside, sigmoid_derivative, swish_derivative, tanh_derivative

Function = Callable[[Float[Array, "..."]], Float[Array, "..."]]


@dataclass(frozen=True)
class Activation:
    """An activation function φ with its slope φ' in closed form and its properties.

    At a kink `derivative` gives the convention's value; `subdifferential` the interval of slopes between the sides.
    """

    name: str
    function: Function
    derivative: Function
    limits: tuple[float, float]  # of φ at -∞ and +∞; nan where there is none
    values: tuple[float, float]  # infimum and supremum of φ
    lipschitz: float  # sup |φ'|; inf for a jump
    monotone: Literal["strictly", "weakly", "no"]  # φ(s) < φ(t), or φ(s) ≤ φ(t), for all s < t
    homogeneous: bool = False  # φ(a t) = a φ(t) for all a > 0
    odd: bool = False
    kinks: tuple[float, ...] = ()
    subdifferential: tuple[float, float] | None = None

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.values[0]) and math.isfinite(self.values[1])

    @property
    def sigmoidal(self) -> bool:
        """Limits 0 and 1, monotone or not (Cybenko 1989); some authors ask for `monotone` besides."""
        return self.limits == (0.0, 1.0)


def activation_facts(name: str) -> Activation:
    """What is known of the activation of that name in `ACTIVATIONS`.

    >>> swish = activation_facts("swish")
    >>> swish.monotone, round(swish.lipschitz, 4), activation_facts("relu").kinks
    ('no', 1.0998, (0.0,))
    >>> [name for name in ACTIVATIONS if activation_facts(name).homogeneous]
    ['identity', 'relu', 'leaky_relu', 'absolute']
    """
    if name not in _CATALOGUE:
        raise ValueError(f"There is no activation called {name!r}; choose one of {', '.join(_CATALOGUE)}.")
    return _CATALOGUE[name]


def _gelu_tanh_derivative(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """Of (z/2)(1 + tanh u) = z σ(2u), u = √(2/π)(z + a z³): σ(2u) + 2 z u' σ(2u) σ(-2u)."""
    scale, cubic = math.sqrt(2 / math.pi), 0.044715
    twice = 2 * scale * (z + cubic * z**3)
    return jax.nn.sigmoid(twice) + 2 * scale * z * (1 + 3 * cubic * z**2) * sigmoid_derivative(twice)


def _leaky_slope(z: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.where(z > 0, 1.0, 0.01).astype(z.dtype)


def _within_one(z: Float[Array, "..."]) -> Float[Array, "..."]:
    return (jnp.abs(z) <= 1).astype(z.dtype)


_STEP = {"limits": (0.0, 1.0), "values": (0.0, 1.0), "lipschitz": math.inf, "monotone": "weakly", "kinks": (0.0,)}
_WHOLE = {"limits": (-math.inf, math.inf), "values": (-math.inf, math.inf)}
_FACTS = {
    "identity": dict(
        derivative=jnp.ones_like, **_WHOLE, lipschitz=1.0, monotone="strictly", homogeneous=True, odd=True
    ),
    "tanh": dict(
        derivative=tanh_derivative, limits=(-1.0, 1.0), values=(-1.0, 1.0), lipschitz=1.0, monotone="strictly", odd=True
    ),
    "sigmoid": dict(
        derivative=sigmoid_derivative, limits=(0.0, 1.0), values=(0.0, 1.0), lipschitz=0.25, monotone="strictly"
    ),
    "softplus": dict(
        derivative=jax.nn.sigmoid, limits=(0.0, math.inf), values=(0.0, math.inf), lipschitz=1.0, monotone="strictly"
    ),
    "relu": dict(
        derivative=heaviside,
        limits=(0.0, math.inf),
        values=(0.0, math.inf),
        lipschitz=1.0,
        monotone="weakly",
        homogeneous=True,
        kinks=(0.0,),
        subdifferential=(0.0, 1.0),
    ),
    "leaky_relu": dict(
        derivative=_leaky_slope,
        **_WHOLE,
        lipschitz=1.0,
        monotone="strictly",
        homogeneous=True,
        kinks=(0.0,),
        subdifferential=(0.01, 1.0),
    ),
    "absolute": dict(
        derivative=jnp.sign,
        limits=(math.inf, math.inf),
        values=(0.0, math.inf),
        lipschitz=1.0,
        monotone="no",
        homogeneous=True,
        kinks=(0.0,),
        subdifferential=(-1.0, 1.0),
    ),
    "swish": dict(
        derivative=swish_derivative,
        limits=(0.0, math.inf),
        values=(-0.2784645427610738, math.inf),
        lipschitz=1.0998393201288669,
        monotone="no",
    ),
    "gelu": dict(
        derivative=gelu_derivative,
        limits=(0.0, math.inf),
        values=(-0.1699712074822765, math.inf),
        lipschitz=1.128904145185155,
        monotone="no",
    ),
    "gelu_tanh": dict(
        derivative=_gelu_tanh_derivative,
        limits=(0.0, math.inf),
        values=(-0.1700407505166628, math.inf),
        lipschitz=1.1289930686587718,
        monotone="no",
    ),
    "heaviside": dict(derivative=jnp.zeros_like, **_STEP),
    "heaviside_closed": dict(derivative=jnp.zeros_like, **_STEP),
    "straight_through": dict(derivative=_within_one, **_STEP),  # its surrogate, which is no derivative
    "sin": dict(
        derivative=jnp.cos, limits=(math.nan, math.nan), values=(-1.0, 1.0), lipschitz=1.0, monotone="no", odd=True
    ),
}
_CATALOGUE = {name: Activation(name, ACTIVATIONS[name], **facts) for name, facts in _FACTS.items()}
