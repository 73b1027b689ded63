"""Aligning two networks by permuting the hidden units of one, and the loss on the straight line between them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from leadline._checks import require

from ..architectures.fully_connected import MLP
from .symmetries import permute_units

Model = TypeVar("Model", bound=PyTree)


class Matching(NamedTuple):
    """The network B with its units permuted, the permutations of its hidden layers, and the objective along the way.

    Unit i of the permuted layer l is unit permutations[l-1][i] of B. `objective` holds the inner product of the
    parameters of A and the permuted B at the start and after every sweep.
    """

    network: MLP
    permutations: list[Int[np.ndarray, " _"]]
    objective: Float[np.ndarray, " sweeps"]


def match_weights(
    a: MLP, b: MLP, *, start: Sequence[Int[np.ndarray, " _"]] | None = None, sweeps: int = 100
) -> Matching:
    """Permute the hidden units of `b` so that its weights lie near those of `a`: coordinate ascent by assignments.

    For one hidden layer l after the other the permutation P_l is replaced by the best one given the others, which is a
    linear assignment: it maximises ⟨A_l, P_l B_l P_{l-1}ᵀ⟩ + ⟨a_l, P_l b_l⟩ + ⟨A_{l+1}, P_{l+1} B_{l+1} P_lᵀ⟩. The
    objective cannot fall; it stops at a fixed point. With one hidden layer that is the optimum. Begins at `start`, or
    at the identity. Ainsworth et al. 2023, algorithm 1.

    >>> net = MLP((5, 6, 2), key=jax.random.key(0))
    >>> moved = permute_units(net, [jnp.array([3, 1, 5, 0, 2, 4])])
    >>> found = match_weights(net, moved)
    >>> found.permutations[0].tolist(), bool((found.network.layers[0].weight == net.layers[0].weight).all())
    ([3, 1, 4, 0, 5, 2], True)
    """
    _check_alike(a, b)
    A, B = _arrays(a), _arrays(b)
    P = [np.arange(w) for w in a.widths[1:-1]] if start is None else [np.asarray(p) for p in start]
    objective = [_alignment(A, _permuted(B, P))]
    for _ in range(sweeps):
        before = [p.copy() for p in P]
        for layer in range(len(P)):
            P[layer] = _best_assignment(_gains(A, B, P, layer))
        objective.append(_alignment(A, _permuted(B, P)))
        if all(np.array_equal(p, q) for p, q in zip(P, before, strict=True)):
            break
    return Matching(permute_units(b, P), P, np.array(objective))


def match_activations(a: MLP, b: MLP, inputs: Float[Array | np.ndarray, "n ..."]) -> Matching:
    """Permute the hidden units of `b` so that their outputs on `inputs` correlate best with those of `a`.

    Each layer by itself: the assignment that maximises the sum of the correlations of paired units. Units that are
    constant on the inputs correlate with nothing. Li et al. 2016.
    """
    _check_alike(a, b)
    correlations = unit_correlations(a, b, inputs)
    P = [_best_assignment(c) for c in correlations]
    A, B = _arrays(a), _arrays(b)
    identity = [np.arange(w) for w in a.widths[1:-1]]
    objective = [_alignment(A, _permuted(B, identity)), _alignment(A, _permuted(B, P))]
    return Matching(permute_units(b, P), P, np.array(objective))


def unit_correlations(a: MLP, b: MLP, inputs: Float[Array | np.ndarray, "n ..."]) -> list[Float[np.ndarray, "_ _"]]:
    """For every hidden layer the correlations over `inputs` of each unit of `a` (row) with each unit of `b` (column).

    >>> net = MLP((2, 3, 1), "tanh", key=jax.random.key(0))
    >>> unit_correlations(net, net, jax.random.normal(jax.random.key(1), (50, 2)))[0].diagonal().round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    require("unit_correlations", inputs=inputs)
    standard = [
        [_standardised(np.asarray(h)) for h in jax.vmap(net.trace)(jnp.asarray(inputs)).post[1:-1]] for net in (a, b)
    ]
    return [u.T @ v for u, v in zip(*standard, strict=True)]


def interpolate(a: Model, b: Model, alpha: float | Float[Array, ""]) -> Model:
    """(1 - alpha) a + alpha b, leaf by leaf: for any two pytrees of one structure; leaves that are not numbers are a's.

    >>> interpolate({"w": jnp.zeros(2), "name": "left"}, {"w": jnp.ones(2), "name": "right"}, 0.25)["w"].tolist()
    [0.25, 0.25]
    """
    if jax.tree.structure(a) != jax.tree.structure(b):
        raise ValueError("interpolate got two pytrees of different structure; both ends must be built alike.")
    return jax.tree.map(lambda x, y: _between(x, y, alpha), a, b)


class Barrier(NamedTuple):
    """The loss on the line between two networks: `excess` is what lies above the chord, `height` its maximum."""

    alphas: Float[np.ndarray, " points"]
    losses: Float[np.ndarray, " points"]
    excess: Float[np.ndarray, " points"]
    height: float


def barrier(loss: Callable[..., Any], a: Model, b: Model, *arrays: PyTree, points: int = 25) -> Barrier:
    """max over α of L((1-α) A + α B) - (1-α) L(A) - α L(B), with L(model) = loss(model, *arrays).

    α runs over `points` values from 0 to 1, both included, so that the height is at least 0. For any two pytrees of
    one structure and any loss that returns a number.

    >>> double_well = lambda w: float((w["x"] ** 2 - 1) ** 2)
    >>> barrier(double_well, {"x": -1.0}, {"x": 1.0}, points=3).height
    1.0
    """
    if points < 3:
        raise ValueError(f"barrier got {points} points; give at least 3, the two ends and one between them.")
    alphas = np.linspace(0.0, 1.0, points)
    losses = np.array([float(loss(interpolate(a, b, float(alpha)), *arrays)) for alpha in alphas])
    excess = losses - (1 - alphas) * losses[0] - alphas * losses[-1]
    return Barrier(alphas, losses, excess, float(np.max(excess)))


def _check_alike(a: MLP, b: MLP) -> None:
    if jax.tree.structure(a) != jax.tree.structure(b) or a.widths != b.widths:
        raise ValueError(
            f"The networks have widths {a.widths} and {b.widths}; matching needs two of one architecture, with the "
            "same activation and options."
        )


def _arrays(net: MLP) -> list[tuple[np.ndarray, np.ndarray | None]]:
    return [(np.asarray(m.weight, float), None if m.bias is None else np.asarray(m.bias, float)) for m in net.layers]


def _permuted(layers: list, P: list[np.ndarray]) -> list:
    """The arrays after W_l ↦ P_l W_l P_{l-1}ᵀ, b_l ↦ P_l b_l."""
    moved = []
    for index, (W, b) in enumerate(layers):
        W = W if index == 0 else W[:, P[index - 1]]
        if index < len(P):
            W, b = W[P[index]], None if b is None else b[P[index]]
        moved.append((W, b))
    return moved


def _gains(A: list, B: list, P: list[np.ndarray], layer: int) -> np.ndarray:
    """gains[i, j]: what putting unit j of B in the place of unit i of A adds to the objective, in one hidden layer."""
    identity = [np.arange(len(p)) if k == layer else p for k, p in enumerate(P)]
    moved = _permuted(B, identity)
    (W, b), (V, c) = A[layer], moved[layer]
    gains = W @ V.T + A[layer + 1][0].T @ moved[layer + 1][0]
    return gains if b is None else gains + np.outer(b, c)


def _best_assignment(gains: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(gains, maximize=True)[1]


def _alignment(A: list, B: list) -> float:
    """The inner product of all parameters."""
    return float(
        sum(np.sum(W * V) + (0.0 if b is None else np.sum(b * c)) for (W, b), (V, c) in zip(A, B, strict=True))
    )


def _standardised(features: np.ndarray) -> np.ndarray:
    centred = features.astype(float) - features.mean(0)
    length = np.linalg.norm(centred, axis=0)
    return centred / np.where(length > 1e-12 * np.sqrt(len(features)), length, np.inf)


def _between(x: Any, y: Any, alpha: float | Array) -> Any:
    if not eqx.is_inexact_array_like(x):
        return x
    if jnp.shape(x) != jnp.shape(y):
        raise ValueError(f"interpolate got leaves of shapes {jnp.shape(x)} and {jnp.shape(y)}; they must be equal.")
    return (1 - alpha) * x + alpha * y
