"""Critical points of deep linear networks: the same products as with two layers, other inertias."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, combinations, pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .critical_atlas import hessian_inertia, sigma_rank
from .deep_gradients import compose_layers
from .linear_problem import LinearProblem

Layers = Sequence[Float[np.ndarray, "_ _"]]


class DeepFamily(NamedTuple):
    """A critical product of a deep linear network, its aligned representative, the inertia (n₋, n₀, n₊) there."""

    indices: tuple[int, ...]
    level: float
    layers: list[Float[np.ndarray, "_ _"]]
    inertia: tuple[int, int, int]
    is_global: bool

    @property
    def kind(self) -> str:
        """Global minimum, strict saddle, or saddle without negative curvature (descent only at a higher order)."""
        if self.is_global:
            return "global minimum"
        return "strict saddle" if self.inertia[0] else "saddle without negative curvature"


def deep_atlas(problem: LinearProblem, widths: Sequence[int]) -> list[DeepFamily]:
    """Every critical product of the network of these `widths` (d_x, hidden ones, d_y), lowest loss first.

    They are U_I U_Iᵀ L* with |I| at most the least width, at any depth (Achour, Malgouyres and Gerchinovitz 2021).
    Inertias are those of the exact Hessian at `critical_layers`. From depth 3 on, I = {1, ..., r} with r below the
    least width has no negative curvature there: such saddles are not strict (Kawaguchi 2016).

    >>> problem = LinearProblem(np.eye(2), np.diag([3.0, 2.0]))
    >>> [(f.indices, f.kind) for f in deep_atlas(problem, (2, 1, 1, 2))]  # doctest: +NORMALIZE_WHITESPACE
    [((0,), 'global minimum'), ((1,), 'strict saddle'), ((), 'saddle without negative curvature')]
    """
    rank = sigma_rank(problem)
    narrow = min(*widths, rank)
    families = []
    for size in range(narrow + 1):
        for chosen in combinations(range(rank), size):
            layers = critical_layers(problem, widths, chosen)
            inertia = hessian_inertia(deep_hessian(problem, layers))
            families.append(DeepFamily(chosen, problem.level(chosen), layers, inertia, chosen == tuple(range(narrow))))
    return sorted(families, key=lambda family: family.level)


def critical_layers(
    problem: LinearProblem, widths: Sequence[int], indices: Iterable[int]
) -> list[Float[np.ndarray, "_ _"]]:
    """Layers W_1, ..., W_L with the critical product U_I U_Iᵀ L*: unit k of every layer carries mode i_k, with the L-th
    root of its strength ‖u_iᵀ L*‖; the other units are zero."""
    widths, chosen = tuple(widths), sorted(int(i) for i in indices)
    if len(widths) < 3 or widths[0] != problem.inputs or widths[-1] != problem.outputs or len(chosen) > min(widths):
        raise ValueError(
            f"critical_layers got widths {widths} and {len(chosen)} modes; begin with {problem.inputs}, end with "
            f"{problem.outputs}, with at least one width between, none below the number of modes."
        )
    size, depth = len(chosen), len(widths) - 1
    u = problem.eigenvectors[:, chosen]
    rows = u.T @ problem.best_map
    strengths = np.linalg.norm(rows, axis=1)
    root = strengths ** (1 / depth)
    layers = [np.zeros((after, before)) for before, after in pairwise(widths)]
    layers[0][:size] = rows * (root / strengths)[:, None]
    for middle in layers[1:-1]:
        middle[:size, :size] = np.diag(root)
    layers[-1][:, :size] = u * root
    return layers


def deep_loss(problem: LinearProblem, layers: Layers) -> float:
    """(1/2n)‖Y − W_L … W_1 X‖² from the second moments."""
    product = compose_layers(layers)
    square = np.sum((product @ problem.sigma_xx) * product) - 2 * np.sum(product * problem.sigma_yx)
    return float((problem.energy + square) / (2 * problem.samples))


def deep_gradient(problem: LinearProblem, layers: Layers) -> list[Float[np.ndarray, "_ _"]]:
    """(1/n)(W_L … W_{l+1})ᵀ R (W_{l−1} … W_1)ᵀ for every layer, R = W_L … W_1 Σxx − Σyx."""
    below, above = _partial_products(problem, layers)
    excess = (compose_layers(layers) @ problem.sigma_xx - problem.sigma_yx) / problem.samples
    return [after.T @ excess @ before.T for before, after in zip(below, above, strict=True)]


def deep_hessian(problem: LinearProblem, layers: Layers) -> Float[np.ndarray, "weights weights"]:
    """The Hessian in (W_1, ..., W_L), each row by row: Jᵀ(I ⊗ Σxx)J and the curvature of the product, all over n.

    Layers l < m have the second part [(a, b), (c, e)] ↦ (P_mᵀ R Q_lᵀ)_{ae} (W_{m−1} … W_{l+1})_{bc}, P_m the product
    above m and Q_l the one below l.
    """
    below, above = _partial_products(problem, layers)
    excess = compose_layers(layers) @ problem.sigma_xx - problem.sigma_yx
    jacobian = np.hstack([np.kron(after, before.T) for before, after in zip(below, above, strict=True)])
    weighted = np.kron(np.eye(problem.outputs), problem.sigma_xx)
    hessian = jacobian.T @ weighted @ jacobian
    ends = np.cumsum([0, *(w.size for w in layers)])
    for low in range(len(layers)):
        between = np.eye(layers[low].shape[0])
        for high in range(low + 1, len(layers)):
            outer = above[high].T @ excess @ below[low].T
            block = np.einsum("ae,bc->abce", outer, between).reshape(layers[high].size, layers[low].size)
            hessian[ends[high] : ends[high + 1], ends[low] : ends[low + 1]] += block
            hessian[ends[low] : ends[low + 1], ends[high] : ends[high + 1]] += block.T
            between = layers[high] @ between
    return hessian / problem.samples


def _partial_products(problem: LinearProblem, layers: Layers) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For every layer the product below it and the product above it."""
    below = list(accumulate(layers, lambda product, layer: layer @ product, initial=np.eye(problem.inputs)))[:-1]
    above = list(accumulate(layers[::-1], lambda product, layer: product @ layer, initial=np.eye(problem.outputs)))[:-1]
    return below, above[::-1]
