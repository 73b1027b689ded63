"""Activation functions with their slopes, a registry by name, and the pre-activations that give a chosen value.

Where a function has a kink, its slope there is the one on the left of it: 0 for ReLU, c for leaky ReLU; 0 for |z|.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float


def gelu(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """Gaussian error linear unit: z Φ(z) = (z/2)(1 + erf(z/√2)), with Φ the normal distribution function.

    Written with erfc, since 1 + erf cancels for z far below 0. Hendrycks and Gimpel 2016.

    >>> [round(float(gelu(jnp.asarray(z))), 5) for z in (-1.0, 0.0, 1.0)]
    [-0.15866, 0.0, 0.84134]
    """
    return 0.5 * z * erfc(-z * np.sqrt(0.5).astype(z.dtype))


def gelu_tanh(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The usual cheap stand-in for gelu: (z/2)(1 + tanh(√(2/π)(z + 0.044715 z³))), off by at most 4.73e-4.

    >>> z = jnp.linspace(-4, 4, 801)
    >>> bool(jnp.abs(gelu_tanh(z) - gelu(z)).max() < 4.8e-4)
    True
    """
    return 0.5 * z * (1 + jnp.tanh(np.sqrt(2 / np.pi).astype(z.dtype) * (z + 0.044715 * z**3)))


def gelu_derivative(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The slope of gelu, Φ(z) + z φ(z), with φ the normal density; it is negative left of z = -0.7518.

    >>> round(float(gelu_derivative(jnp.asarray(0.0))), 3)
    0.5
    """
    half = np.sqrt(0.5).astype(z.dtype)
    density = jnp.exp(-0.5 * z**2) * np.sqrt(0.5 / np.pi).astype(z.dtype)
    return 0.5 * erfc(-z * half) + z * density


def identity(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """z itself: a linear unit."""
    return z


def sigmoid_derivative(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """σ'(z) = σ(z) σ(-z), at most 1/4. The usual σ (1 - σ) has lost all its digits at z = 37; this has not at 700.

    >>> float(sigmoid_derivative(jnp.asarray(0.0)))
    0.25
    """
    return jax.nn.sigmoid(z) * jax.nn.sigmoid(-z)


def inverse_sigmoid(
    p: Float[Array | np.ndarray, "..."] | float, q: Float[Array | np.ndarray, "..."] | float | None = None
) -> Float[Array, "..."]:
    """The z with σ(z) = p: log p - log q, where q = 1 - p.

    Near p = 1 the difference 1 - p has few digits, and none at z > 36.7 in double precision: pass q = σ(-z) if it is
    known, and the round trip is exact to rounding.

    >>> round(float(inverse_sigmoid(0.75)), 4)
    1.0986
    >>> float(inverse_sigmoid(jax.nn.sigmoid(50.0), jax.nn.sigmoid(-50.0)))
    50.0
    """
    p = jnp.asarray(p)
    return jnp.log(p) - (jnp.log1p(-p) if q is None else jnp.log(q))


def tanh_derivative(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """tanh'(z) = sech²(z) = 4 σ(2z) σ(-2z), at most 1. The usual 1 - tanh² is 0 from z = 20 on in double precision.

    >>> float(tanh_derivative(jnp.asarray(0.0)))
    1.0
    """
    return 4 * sigmoid_derivative(2 * z)


def leaky_relu(z: Float[Array, "..."], slope: float = 0.01) -> Float[Array, "..."]:
    """z for z > 0 and c z below, c = `slope`; ReLU for c = 0, linear for c = 1.

    >>> leaky_relu(jnp.array([-2.0, 3.0])).tolist()
    [-0.02, 3.0]
    """
    return jnp.where(z > 0, z, slope * z)


def absolute(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """|z| = (z)₊ + (-z)₊, the unit AbsU; its slope is sgn(z), and 0 at 0, where JAX's own `abs` takes 1.

    >>> absolute(jnp.array([-2.0, 3.0])).tolist(), float(jax.grad(absolute)(0.0))
    ([2.0, 3.0], 0.0)
    """
    return jax.nn.relu(z) + jax.nn.relu(-z)


def swish_derivative(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """The slope of swish, z σ(z): σ(z) + z σ(z) σ(-z) = σ(z) (1 + z σ(-z)), largest 1.0998 at 2.3994.

    >>> float(swish_derivative(jnp.asarray(0.0)))
    0.5
    """
    return jax.nn.sigmoid(z) * (1 + z * jax.nn.sigmoid(-z))


def heaviside(z: Float[Array, "..."], *, closed: bool = False) -> Float[Array, "..."]:
    """1{z > 0}, or 1{z ≥ 0} if `closed`. Its derivative is 0 wherever it has one.

    >>> heaviside(jnp.array([-1.0, 0.0, 1.0])).tolist(), float(heaviside(jnp.asarray(0.0), closed=True))
    ([0.0, 0.0, 1.0], 1.0)
    """
    return (z >= 0 if closed else z > 0).astype(z.dtype)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def straight_through(z: Float[Array, "..."], width: float = 1.0) -> Float[Array, "..."]:
    """1{z > 0} with a made-up derivative: 1 for |z| ≤ width and 0 beyond; `width=float("inf")` gives 1 everywhere.

    A surrogate that lets a gradient through a threshold (Bengio, Léonard and Courville 2013).

    >>> straight_through(jnp.array([-0.5, 2.0])).tolist()
    [0.0, 1.0]
    >>> jax.vmap(jax.grad(straight_through))(jnp.array([-0.5, 2.0])).tolist()
    [1.0, 0.0]
    """
    return heaviside(z)


@straight_through.defjvp
def _straight_through_jvp(width, primals, tangents):
    (z,), (direction,) = primals, tangents
    return heaviside(z), jnp.where(jnp.abs(z) <= width, direction, jnp.zeros_like(direction))


#: Activation functions by name; all act entry by entry on arrays of any shape and keep the dtype.
ACTIVATIONS: dict[str, Callable] = {
    "identity": identity,
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "relu": jax.nn.relu,
    "leaky_relu": leaky_relu,
    "absolute": absolute,
    "swish": jax.nn.silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "heaviside": heaviside,
    "heaviside_closed": partial(heaviside, closed=True),
    "straight_through": straight_through,
    "sin": jnp.sin,
}


def activation(name: str) -> Callable:
    """The activation function of that name in `ACTIVATIONS`.

    >>> float(activation("relu")(jnp.asarray(-2.0)))
    0.0
    """
    if name not in ACTIVATIONS:
        raise ValueError(f"There is no activation called {name!r}; choose one of {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]


def preimage(
    phi: Callable, level: float, *, low: float = -10.0, high: float = 10.0, points: int = 2001
) -> Float[np.ndarray, "pieces 2"]:
    """All t in [low, high] with phi(t) = level, as rows (first, last): one point, or an interval where phi is flat.

    Sign changes of phi - level between `points` grid values are refined by Brent's method; runs of grid values on
    which phi equals the level exactly become intervals whose ends are exact to one grid step. Roots that phi touches
    without crossing between two grid points, and pairs of roots closer than the grid step, are not seen.

    >>> preimage(jnp.tanh, 0.5).round(4).tolist()
    [[0.5493, 0.5493]]
    >>> preimage(jax.nn.relu, 0.0).tolist()
    [[-10.0, 0.0]]
    """
    from scipy.optimize import brentq

    if not low < high:
        raise ValueError(f"The interval [{low}, {high}] is empty; low must be below high.")

    def above(t: float) -> float:
        return float(phi(jnp.asarray(t))) - level

    grid = np.linspace(low, high, points)
    gap = np.asarray(phi(jnp.asarray(grid))) - level
    pieces, i = [], 0
    while i < points:
        if gap[i] == 0:
            end = i
            while end + 1 < points and gap[end + 1] == 0:
                end += 1
            pieces.append((grid[i], grid[end]))
            i = end + 1
            continue
        if i + 1 < points and gap[i] * gap[i + 1] < 0:
            left, right = above(grid[i]), above(grid[i + 1])
            # One number may round otherwise than the same number in an array: then the root is a grid point.
            if left * right < 0:
                root = brentq(above, grid[i], grid[i + 1], xtol=1e-12)
            else:
                root = grid[i] if abs(left) < abs(right) else grid[i + 1]
            pieces.append((root, root))
        i += 1
    return np.array(pieces, dtype=float).reshape(-1, 2)
