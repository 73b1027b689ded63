"""Averages over a group: the Reynolds operator makes any function invariant or equivariant."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

from .representations import Representation

Function = Callable[[Any], Any]
Matrices = Num[np.ndarray, "..."] | Num[Array, "..."] | Representation  #: (elements, d, d)


def smooth(function: Function, inputs: Matrices, outputs: Matrices | None = None) -> Function:
    """The Reynolds operator: (S f)(x) = (1/|G|) Σ_g f(ρ(g)x), or (1/|G|) Σ_g σ(g)⁻¹ f(ρ(g)x) with `outputs` σ.

    The first is invariant and the second equivariant, whatever f; S S = S, and S leaves alone what is so already.
    It may leave nothing: an odd f under the change of signs gives 0. `function` maps one vector (d,) to any array.

    >>> swap = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> float(smooth(lambda x: x[0] ** 2, swap)(jnp.array([1.0, 3.0])))
    5.0
    >>> smooth(lambda x: jnp.array([x[0], 0.0]), swap, swap)(jnp.array([1.0, 3.0])).tolist()
    [0.5, 1.5]
    """
    rho = _matrices(inputs)
    if outputs is None:
        return lambda x: jax.tree.map(lambda y: y.mean(0), jax.vmap(lambda m: function(_acted(m, x)))(rho))
    back = np.linalg.inv(_matrices(outputs))
    if len(back) != len(rho):
        raise ValueError(f"smooth got {len(rho)} matrices for inputs and {len(back)} for outputs; give one a element.")
    return lambda x: jax.vmap(lambda m, b: _acted(b, function(_acted(m, x))))(rho, back).mean(0)


def sampled_smooth(
    function: Function, move: Callable[[Key[Array, ""], Any], Any], keys: Key[Array, " draws"]
) -> Function:
    """(1/m) Σ f(g_i x) over g_i drawn anew by `move(key, x)`: for groups that are large or continuous (Haar measure).

    The mean over draws is S f; the error falls as draws^(-1/2). See `random_rotation` for a uniform rotation.

    >>> def flip(key, x):
    ...     return jnp.where(jax.random.bernoulli(key), -x, x)
    >>> bool(abs(sampled_smooth(lambda x: x, flip, jax.random.split(jax.random.key(0), 10_000))(1.0)) < 0.05)
    True
    """
    return lambda x: jax.tree.map(lambda y: y.mean(0), jax.vmap(lambda key: function(move(key, x)))(keys))


def random_rotation(key: Key[Array, ""], dim: int) -> Float[Array, "dim dim"]:
    """A rotation drawn from the Haar measure of SO(dim): QR of a Gaussian matrix with the signs of R's diagonal.

    Mezzadri (2007); without the signs the law is not uniform.

    >>> q = random_rotation(jax.random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5)), round(float(jnp.linalg.det(q)), 4)
    (True, 1.0)
    """
    q, r = jnp.linalg.qr(jax.random.normal(key, (dim, dim)))
    q = q * jnp.sign(jnp.diagonal(r))
    return q.at[:, 0].multiply(jnp.sign(jnp.linalg.det(q)))


def _matrices(given: Matrices) -> Any:
    matrices = given.matrices if isinstance(given, Representation) else given
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
        raise ValueError(f"A group acts by square matrices, one for each element; got an array {matrices.shape}.")
    return matrices


def _acted(matrix: Any, x: Any) -> Array:
    if jnp.ndim(x) != 1 or matrix.shape[1] != jnp.shape(x)[0]:
        raise ValueError(f"Matrices of size {matrix.shape[0]} act on vectors of as many numbers; got {jnp.shape(x)}.")
    return jnp.asarray(matrix, jnp.result_type(x, jnp.float32)) @ x
