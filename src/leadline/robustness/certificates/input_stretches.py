"""The largest stretch of a network near its inputs, ‖∂f/∂x‖₂: by Jacobians, or by products where these are dear."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..attacks.gradient_attacks import Inputs

KRYLOV = 8  # vectors of a space in which the most stretched direction is sought
TOGETHER = 4 * 10**6  # entries of the Jacobians, or of the spaces' vectors, held at once
POINTS = 512  # half of them inputs, half moved ones
RANDOM = 5  # moves across the most stretched direction, beside the two along it


def stretch_passes(outputs: int) -> int:
    """Passes through the network that one stretch costs: one for each output, or two for each Krylov vector."""
    return min(outputs, 2 * KRYLOV)


def largest_stretch(
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    inputs: Inputs,
    *,
    key: PRNGKeyArray,
    rounds: int = 4,
    points: int = POINTS,
) -> tuple[float, Float[np.ndarray, "..."]]:
    """The largest ‖∂f/∂x‖₂ found at the inputs and near the best of them, and where: a lower bound of the constant.

    Derivatives of ReLU networks are constant in pieces, so that no gradient leads upward; from the best inputs moves
    along the most stretched direction and across it are tried, the best are kept, and so on, `rounds` times. Half of
    the `points` are inputs, the rounds share the others.
    """
    inputs = np.asarray(inputs)
    size, moves = max(math.prod(inputs.shape[1:]), 1), 2 + RANDOM
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    kept = max(points // (2 * max(rounds, 1) * moves), 1)
    batch = min(64, max(points // 2, 1))
    places = inputs[: max(points // 2, 1)]
    values, directions = stretches(apply, params, places, batch=batch, key=key)
    typical = float(np.linalg.norm((inputs - inputs.mean(0)).reshape(len(inputs), -1), axis=1).mean()) or 1.0
    for turn in range(rounds):
        best = np.argsort(values)[::-1][:kept]
        places, values, directions = places[best], values[best], directions[best]
        length = typical * 2.0 ** -(turn % 3 + 1)
        random = rng.normal(size=(len(places), RANDOM, size))
        random /= np.linalg.norm(random, axis=2, keepdims=True)
        along = directions[:, None] * np.array([1.0, -1.0])[:, None]
        moved = places.reshape(-1, 1, size) + length * np.concatenate([along, random], 1)
        moved = moved.reshape(-1, *inputs.shape[1:])
        new_values, new_directions = stretches(apply, params, moved, batch=batch, key=key)
        places, values = np.concatenate([places, moved]), np.concatenate([values, new_values])
        directions = np.concatenate([directions, new_directions])
    top = int(np.argmax(values))
    return float(values[top]), places[top]


def stretches(
    apply: Callable[[PyTree, Array], Array], params: PyTree, points: Inputs, *, batch: int = 64, key: PRNGKeyArray
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
    """σ = ‖∂f/∂x‖₂ at every point and the unit direction that is stretched so much.

    Exact from the whole Jacobians where these are no dearer than a Krylov space; else from below, the largest stretch
    in the space of v, JᵀJv, (JᵀJ)²v, … for a random v.
    """
    points = np.asarray(points)
    shape, dtype = points.shape[1:], jnp.result_type(*jax.tree.leaves(params))
    size = max(math.prod(shape), 1)
    outputs = math.prod(jax.eval_shape(apply, params, jax.ShapeDtypeStruct((1, *shape), dtype)).shape[1:])
    passes = stretch_passes(outputs)
    batch = int(np.clip(TOGETHER // (size * passes), 1, batch))
    start = jax.random.normal(key, shape, dtype)
    found = []
    for i in range(0, len(points), batch):
        part = points[i : i + batch]
        padded = jnp.asarray(np.concatenate([part, np.repeat(part[-1:], batch - len(part), 0)]), dtype)
        if outputs <= passes:
            jacobians = np.asarray(_jacobians(apply, params, padded), np.float64)[: len(part)]
            found.append(_top_singular(jacobians.reshape(len(part), outputs, size)))
        else:
            spaces, images = (np.asarray(a, np.float64)[: len(part)] for a in _krylov(apply, params, padded, start))
            found.append(_top_stretched(spaces.reshape(len(part), KRYLOV, size), images))
    return np.concatenate([values for values, _ in found]), np.concatenate([vectors for _, vectors in found])


@eqx.filter_jit
def _jacobians(apply: Callable, params: PyTree, points: Float[Array, "n ..."]) -> Float[Array, "n k ..."]:
    def one(x: Array) -> Array:
        return apply(params, x[None])[0]

    return jax.vmap(jax.jacrev(one))(points)


@eqx.filter_jit
def _krylov(
    apply: Callable, params: PyTree, points: Float[Array, "n ..."], start: Float[Array, "..."]
) -> tuple[Float[Array, "n q ..."], Float[Array, "n q k"]]:
    """Orthonormal vectors of the Krylov space of JᵀJ at every point, and their images Jv."""

    def at(x: Array) -> tuple[Array, Array]:
        _, forward = jax.linearize(lambda x: apply(params, x[None]).ravel(), x)
        backward = jax.linear_transpose(forward, x)

        def step(space: Array, number: Array) -> tuple[Array, Array]:
            image = forward(space[number].reshape(x.shape))
            (back,) = backward(image)
            new = back.ravel()
            for _ in range(2):  # once leaves rounding along the old vectors
                new = new - space.T @ (space @ new)
            length, rounding = jnp.linalg.norm(new), 100 * jnp.finfo(x.dtype).eps * jnp.linalg.norm(back)
            new = jnp.where(length > rounding, new / jnp.where(length > 0, length, 1), 0)  # 0: the space is complete
            return space.at[number + 1].set(new, mode="drop"), image

        first = start.ravel() / jnp.linalg.norm(start)
        space = jnp.zeros((KRYLOV, x.size), x.dtype).at[0].set(first)
        return jax.lax.scan(step, space, jnp.arange(KRYLOV))

    return jax.vmap(at)(points)


def _top_singular(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest singular value and its right vector, from the eigenvectors of A Aᵀ."""
    _, vectors = np.linalg.eigh(matrices @ matrices.transpose(0, 2, 1))
    right = np.einsum("nk,nkd->nd", vectors[:, :, -1], matrices)
    norms = np.linalg.norm(right, axis=1)
    return norms, right / np.maximum(norms, 1e-300)[:, None]


def _top_stretched(spaces: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """max ‖Jv‖/‖v‖ over the span of the vectors, and v/‖v‖: from the eigenvectors of the Gram matrix of images."""
    _, vectors = np.linalg.eigh(images @ images.transpose(0, 2, 1))
    v, image = (np.einsum("nq,nqd->nd", vectors[:, :, -1], a) for a in (spaces, images))
    length = np.maximum(np.linalg.norm(v, axis=1), 1e-300)
    return np.linalg.norm(image, axis=1) / length, v / length[:, None]
