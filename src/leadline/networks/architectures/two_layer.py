"""The two-layer network f(x) = s V φ(W x): what lazy training and paths between minima are studied on."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline._arrays import follow

from ..activations import activation as activation_called

Inputs = Float[Array, "n d"] | Float[np.ndarray, "n d"]
Others = Float[Array, "k d"] | Float[np.ndarray, "k d"]

#: the activations that NumPy has, too
_PLAIN = {"identity": lambda z: z, "relu": lambda z: np.maximum(z, 0.0), "tanh": np.tanh}


class TwoLayer(eqx.Module):
    """f(x) = s V φ(W x), without bias (append a constant coordinate to x for one); the parameters are W and V.

    V is a vector v (m,) for one number, or a matrix (k, m) for k outputs. `activation` is a name of
    `networks.ACTIVATIONS` or a function. It takes one input (d,) or many (..., d), and follows their array type: NumPy
    in, NumPy out. For one number the tangent kernel is, with H = X Wᵀ,
    K(X, X') = s² [φ(H) φ(H')ᵀ + (φ'(H) ∘ v)(φ'(H') ∘ v)ᵀ ∘ X X'ᵀ].

    >>> net = TwoLayer(jnp.eye(2), jnp.array([1.0, 2.0]))
    >>> float(net(jnp.array([3.0, -1.0]))), net.tangent_kernel(jnp.array([[3.0, -1.0]])).tolist()
    (3.0, [[19.0]])
    >>> TwoLayer(np.eye(2), np.array([[1.0, 2.0], [0.0, 1.0]]))(np.array([[3.0, 1.0]])).tolist()
    [[5.0, 1.0]]
    """

    weight: Float[Array | np.ndarray, "*stack m d"]
    head: Float[Array | np.ndarray, "..."]
    activation: str | Callable = eqx.field(static=True, default="relu")
    scale: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        if self.weight.shape[-2] != self.head.shape[-1]:
            raise ValueError(
                f"W and V have shapes {self.weight.shape} and {self.head.shape}; give (m, d), and (m,) or (k, m)."
            )

    @property
    def width(self) -> int:
        return self.head.shape[-1]

    @property
    def phi(self) -> Callable:
        return activation_called(self.activation) if isinstance(self.activation, str) else self.activation

    @property
    def mass(self) -> float:
        """Σⱼ ‖vⱼ‖ ‖wⱼ‖ over units: row wⱼ of W, column vⱼ of V. For one output and unit rows it is ‖V‖₁.

        >>> TwoLayer(np.eye(2), np.array([[3.0, 0.0], [4.0, -2.0]])).mass
        7.0
        """
        return float(np.linalg.norm(np.atleast_2d(self.head), axis=0) @ np.linalg.norm(self.weight, axis=1))

    def __call__(self, x: Float[Array | np.ndarray, "*points d"]) -> Any:
        """f at one input, or at each of many: a number or k numbers each."""
        _, head = follow(x, self.head)
        return self.scale * (self.features(x) @ head.T)

    def features(self, x: Float[Array | np.ndarray, "*points d"]) -> Any:
        """φ(W x), (*points, m): what the last layer sees."""
        xp, weight = follow(x, self.weight)
        if xp is np and isinstance(self.activation, str) and self.activation in _PLAIN:
            return _PLAIN[self.activation](x @ weight.T)
        return xp.asarray(self.phi(jnp.asarray(x @ weight.T)))

    @eqx.filter_jit
    def tangent_kernel(self, x: Inputs, z: Others | None = None) -> Float[Array, "n _"]:
        """Σ over parameters of ∂f(x) ∂f(z), for all rows of x and z (z = x by default)."""
        x = jnp.asarray(x)
        last, first = self._gradients(x)
        z = x if z is None else jnp.asarray(z)
        last_z, first_z = self._gradients(z)
        return self.scale**2 * (last @ last_z.T + (first @ first_z.T) * (x @ z.T))

    def _gradients(self, x: Float[Array, "n d"]) -> tuple[Float[Array, "n m"], Float[Array, "n m"]]:
        """φ(H) and φ'(H) ∘ v."""
        h = x @ self.weight.T
        values, slopes = jax.jvp(self.phi, (h,), (jnp.ones_like(h),))
        return values, slopes * self.head

    def distance(self, other: "TwoLayer") -> float:
        """‖θ - θ'‖ over all parameters."""
        gaps = jax.tree.map(lambda a, b: np.sum((np.asarray(a) - np.asarray(b)) ** 2), self, other)
        return float(np.sqrt(sum(jax.tree.leaves(gaps))))

    @property
    def size(self) -> float:
        """‖θ‖ over all parameters."""
        return float(np.sqrt(sum(np.sum(np.asarray(leaf) ** 2) for leaf in jax.tree.leaves(self))))

    def paired(self) -> "TwoLayer":
        """Every unit beside a twin of opposite head, s divided by √2: f = 0 everywhere, the same tangent kernel."""
        weight = jnp.concatenate([self.weight, self.weight])
        return TwoLayer(weight, jnp.concatenate([self.head, -self.head]), self.activation, self.scale / 2**0.5)

    def padded(self, width: int) -> "TwoLayer":
        """The same network with idle units (W = 0, v = 0) up to `width`; for φ(0) = 0 they never move.

        Function, tangent kernel and gradient descent stay what they were, so that networks of several widths can
        share one compiled program.
        """
        idle = width - self.width
        if idle < 0:
            raise ValueError(f"padded got width {width} for a network of width {self.width}; pass a larger width.")
        if idle and float(self.phi(jnp.zeros(()))) != 0:
            raise ValueError("padded needs an activation with φ(0) = 0: idle units of this one would speak.")
        weight = np.pad(np.asarray(self.weight), ((0, idle), (0, 0)))
        return eqx.tree_at(
            lambda t: (t.weight, t.head),
            self,
            (jnp.asarray(weight), jnp.asarray(np.pad(np.asarray(self.head), (0, idle)))),
        )
