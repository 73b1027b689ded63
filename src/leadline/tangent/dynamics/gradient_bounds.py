"""Two-sided bounds of the squared gradient by the risk: their constants at a point, and the worst ones in a ball."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from leadline.data import generator
from leadline.frameworks.opening import as_apply
from leadline.networks import TwoLayer, parameter_jacobian

from ..two_layer import Inputs


class Sandwich(NamedTuple):
    """c (m/n) R ≤ ‖∇R‖² ≤ C (m/n) R with c = 4 λ_min(K)/m and C = 4 λ_max(K)/m, for every target vector y."""

    lower: float
    upper: float
    width: int


def _kernel(network: Callable, x: Inputs) -> Float[Array, "n n"]:
    if isinstance(network, TwoLayer):
        return network.tangent_kernel(x)
    J = parameter_jacobian(*as_apply(network), x)
    if J.shape[0] != len(x):
        raise ValueError(
            f"The network has {J.shape[0] // len(x)} outputs; these bounds are for one output: select one of them."
        )
    return J @ J.T


def sandwich_constants(network: Callable, x: Inputs, *, width: int | None = None) -> Sandwich:
    """The constants of the gradient sandwich for the mean risk R = (1/n) Σ r_i², where ‖∇R‖² = (4/n²) rᵀ K r.

    c > 0 is the Polyak-Łojasiewicz inequality; it holds iff the tangent kernel K is nonsingular. `width` is the m of
    the normalisation: the hidden width of a `TwoLayer`, 1 for other networks unless given.

    >>> net = TwoLayer(jnp.eye(2), jnp.array([1.0, 2.0]), "relu")
    >>> sandwich_constants(net, jnp.eye(2))  # K = diag(2, 5), m = 2
    Sandwich(lower=4.0, upper=10.0, width=2)
    """
    K = np.asarray(_kernel(network, x), float)
    m = width or (network.width if isinstance(network, TwoLayer) else 1)
    eigenvalues = np.linalg.eigvalsh(K)
    # The kernel is positive semidefinite: what comes out negative is rounding.
    return Sandwich(4 * max(float(eigenvalues[0]), 0.0) / m, 4 * float(eigenvalues[-1]) / m, m)


@eqx.filter_jit
def gradient_ratio(network: Callable, x: Inputs, y: Float[Array | np.ndarray, " n"]) -> Float[Array, ""]:
    """‖∇R‖² / R by automatic differentiation: between c m/n and C m/n wherever R > 0."""
    parameters, rest = eqx.partition(network, eqx.is_inexact_array)

    def risk(parameters):
        return jnp.mean((_outputs(eqx.combine(parameters, rest), jnp.asarray(x)) - y) ** 2)

    value, slope = jax.value_and_grad(risk)(parameters)
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(slope)) / value


def _outputs(network: Callable, x: Float[Array, "n d"]) -> Float[Array, " n"]:
    if isinstance(network, TwoLayer):
        return network(x)
    return jnp.reshape(jax.vmap(network)(x), (len(x),))


class BallSearch(NamedTuple):
    """The worst constants found within a distance of θ₀: by projected gradient search, by random directions alone."""

    start: Sandwich
    searched: Sandwich
    random: Sandwich
    radius: float


def worst_in_ball(
    network: Any,
    x: Inputs,
    *,
    radius: float = 1.0,
    num_steps: int = 40,
    directions: int = 50,
    width: int | None = None,
    key: PRNGKeyArray,
) -> BallSearch:
    """Least λ_min(K(θ)) and largest λ_max(K(θ)) over ‖θ - θ₀‖ ≤ radius, as constants c̄ and C̄ of the sandwich.

    Projected normalised gradient steps on the extreme eigenvalue (its gradient is that of uᵀ K(θ) u with the
    eigenvector u held), the best point kept; and, for comparison, random points on the sphere. What is found is a
    bound from inside: the true worst constants may be worse still.

    >>> from leadline.tangent import lecun_two_layer
    >>> found = worst_in_ball(lecun_two_layer(2, 30, key=jax.random.key(0)), jnp.eye(2), key=jax.random.key(1))
    >>> found.searched.lower < found.random.lower < found.start.lower < found.searched.upper
    True
    """
    if radius <= 0 or num_steps < 1 or directions < 1:
        raise ValueError(
            f"worst_in_ball got radius {radius}, {num_steps} steps, {directions} directions; all are positive."
        )
    parameters, rest = eqx.partition(network, eqx.is_inexact_array)
    flat, _ = ravel_pytree(parameters)
    seeds = jnp.asarray(generator(key).standard_normal((directions, flat.size)), flat.dtype)
    moving = jnp.asarray(flat != 0, flat.dtype)  # idle units of a padded network are no directions
    start, least, largest, low, high = _ball(parameters, rest, jnp.asarray(x), radius, seeds * moving, num_steps)
    m = width or (network.width if isinstance(network, TwoLayer) else 1)

    def constants(low, high) -> Sandwich:
        return Sandwich(4 * float(low) / m, 4 * float(high) / m, m)

    return BallSearch(constants(*start), constants(least, largest), constants(low, high), radius)


@eqx.filter_jit
def _ball(parameters, rest, x, radius, seeds, num_steps: int):
    origin, back = ravel_pytree(parameters)

    def kernel(theta):
        return _kernel(eqx.combine(back(theta), rest), x)

    def quadratic(theta, u):
        return u @ kernel(theta) @ u

    def search(sign):
        """sign +1: the largest eigenvalue upwards; -1: the least one downwards."""

        def step(state, share):
            theta, best = state
            values, vectors = jnp.linalg.eigh(kernel(theta))
            value = jnp.where(sign > 0, values[-1], values[0])
            best = jnp.where(sign * value > sign * best, value, best)
            slope = jax.grad(quadratic)(theta, jnp.where(sign > 0, vectors[:, -1], vectors[:, 0]))
            move = theta - origin + sign * share * radius * slope / jnp.maximum(jnp.linalg.norm(slope), 1e-300)
            return (origin + move * jnp.minimum(1.0, radius / jnp.linalg.norm(move)), best), None

        shares = jnp.concatenate([jnp.linspace(1.0, 0.02, num_steps, dtype=x.dtype), jnp.zeros(1, x.dtype)])
        return jax.lax.scan(step, (origin, -sign * jnp.inf), shares)[0][1]

    def at(seed):
        values = jnp.linalg.eigvalsh(kernel(origin + radius * seed / jnp.linalg.norm(seed)))
        return values[0], values[-1]

    worst = jax.lax.map(search, jnp.array([-1.0, 1.0], x.dtype))
    low, high = jax.lax.map(at, seeds)
    values = jnp.linalg.eigvalsh(kernel(origin))
    return (values[0], values[-1]), worst[0], worst[1], jnp.min(low), jnp.max(high)
