"""The two-layer network f(x) = s v·φ(W x): the test bed of lazy training, with its tangent kernel in closed form."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.data import generator
from leadline.networks import activation as activation_called

Inputs = Float[Array, "n d"] | Float[np.ndarray, "n d"]
Others = Float[Array, "k d"] | Float[np.ndarray, "k d"]
Targets = Float[Array, " _"] | Float[np.ndarray, " _"]


class TwoLayer(eqx.Module):
    """f(x) = s v·φ(W x), without bias (append a constant coordinate to x for one); the parameters are W and v.

    `activation` is a name of `networks.ACTIVATIONS` or a function. Calling it maps one input to one number; `outputs`
    maps a batch. Its tangent kernel is, with H = X Wᵀ,
    K(X, X') = s² [φ(H) φ(H')ᵀ + (φ'(H) ∘ v)(φ'(H') ∘ v)ᵀ ∘ X X'ᵀ].

    >>> net = TwoLayer(jnp.eye(2), jnp.array([1.0, 2.0]), "relu")
    >>> float(net(jnp.array([3.0, -1.0]))), net.tangent_kernel(jnp.array([[3.0, -1.0]])).tolist()
    (3.0, [[19.0]])
    """

    weight: Float[Array, "m d"]
    head: Float[Array, " m"]
    activation: str | Callable = eqx.field(static=True)
    scale: float = eqx.field(static=True, default=1.0)

    @property
    def width(self) -> int:
        return self.head.shape[-1]

    @property
    def phi(self) -> Callable:
        return activation_called(self.activation) if isinstance(self.activation, str) else self.activation

    def __call__(self, x: Float[Array, " d"] | Float[np.ndarray, " d"]) -> Float[Array, ""]:
        return self.scale * (self.head @ self.phi(self.weight @ x))

    def outputs(self, x: Inputs) -> Float[Array, " n"]:
        """f at every row of x."""
        return self.scale * (self.features(x) @ self.head)

    def features(self, x: Inputs) -> Float[Array, "n m"]:
        """φ(X Wᵀ): what the last layer sees."""
        return self.phi(jnp.asarray(x) @ self.weight.T)

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


def lecun_two_layer(
    dim: int,
    width: int,
    activation: str | Callable = "tanh",
    *,
    gain: float = 1.0,
    parametrisation: str = "standard",
    key: PRNGKeyArray,
) -> TwoLayer:
    """A random two-layer network: W has N(0, 1) entries; with g = `gain`, the last layer is

    standard: s = 1, v ~ N(0, g²/m) (LeCun), tangent kernel ~ m; ntk: s = g/√m, v ~ N(0, 1), the same function at the
    start with a kernel of order 1; mean-field: s = g/m, v ~ N(0, 1), where features move at every width.

    >>> net = lecun_two_layer(3, 1000, "relu", gain=2**0.5, parametrisation="ntk", key=jax.random.key(0))
    >>> net.weight.shape, bool(abs(net.tangent_kernel(jnp.eye(3))[0, 0] - 2) < 0.3)  # its limit is 2 ‖x‖²
    ((1000, 3), True)
    """
    if dim < 1 or width < 1:
        raise ValueError(f"lecun_two_layer got dim {dim} and width {width}; both are at least 1.")
    rng = generator(key)
    weight, head = rng.standard_normal((width, dim)), rng.standard_normal(width)
    match parametrisation:
        case "standard":
            head, scale = head * gain / width**0.5, 1.0
        case "ntk":
            scale = gain / width**0.5
        case "mean-field":
            scale = gain / width
        case _:
            raise ValueError(
                f"lecun_two_layer got parametrisation {parametrisation!r}; choose 'standard', 'ntk' or 'mean-field'."
            )
    return TwoLayer(jnp.asarray(weight), jnp.asarray(head), activation, scale)
