"""Networks of linear layers: the one matrix they compose to, and the best one that a bottleneck allows."""

from collections.abc import Sequence
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..symmetry.conversions import mlp_from_affine
from .fully_connected import MLP


def product_matrix(net: MLP) -> Float[Array, "out in"]:
    """W_L ... W_1, the one matrix that a network of linear layers without biases is.

    >>> import jax
    >>> net = MLP((3, 2, 4), "identity", bias=False, key=jax.random.key(0))
    >>> bool(jnp.allclose(product_matrix(net) @ jnp.ones(3), net(jnp.ones(3)), atol=1e-5))
    True
    """
    if net.activation != "identity" or net.layers[0].bias is not None:
        raise ValueError(
            f"product_matrix got a network with activation {net.activation!r}; it needs 'identity' and no biases."
        )
    product = jnp.eye(net.widths[0], dtype=net.layers[0].weight.dtype)
    for weight, _ in net.affine():
        product = weight @ product
    return product


def linear_network(matrix: Float[Array | np.ndarray, "out in"], widths: Sequence[int]) -> MLP:
    """The linear network of these widths whose product is nearest to `matrix` in Frobenius norm, with balanced layers.

    Its product is the singular value decomposition cut after the narrowest layer's width r, which leaves the error
    (Σ_{i>r} s_i²)^{1/2}: no matrix of rank r has a smaller one (Eckart and Young 1936). Each layer carries the L-th
    root of every singular value kept.

    >>> net = linear_network(np.diag([3.0, 2.0, 1.0]), (3, 2, 3))
    >>> bool(jnp.allclose(product_matrix(net), jnp.diag(jnp.array([3.0, 2.0, 0.0])), atol=1e-5))
    True
    """
    matrix = np.asarray(matrix)
    outputs, inputs = matrix.shape
    if len(widths) < 2 or widths[0] != inputs or widths[-1] != outputs:
        raise ValueError(
            f"linear_network got widths {tuple(widths)} for a {outputs} x {inputs} matrix; begin with {inputs} and end "
            f"with {outputs}."
        )
    depth, rank = len(widths) - 1, min(widths)
    left, s, right = np.linalg.svd(matrix)
    root = np.diag(s[:rank] ** (1 / depth))
    layers = []
    for index, (n, m) in enumerate(pairwise(widths)):
        into = right[:rank] if index == 0 else np.eye(rank, n)
        out = left[:, :rank] if index == depth - 1 else np.eye(m, rank)
        layers.append((jnp.asarray(out @ root @ into), None))
    return mlp_from_affine(layers, "identity")


def eckart_young_error(matrix: Float[Array | np.ndarray, "out in"], rank: int) -> float:
    """(Σ_{i>r} s_i²)^{1/2}: the least Frobenius distance from `matrix` to a matrix of rank r.

    >>> round(eckart_young_error(np.diag([3.0, 2.0, 1.0]), 1), 6)
    2.236068
    """
    if rank < 0:
        raise ValueError(f"eckart_young_error got rank {rank}; give 0 or more.")
    return float(np.linalg.norm(np.linalg.svd(np.asarray(matrix), compute_uv=False)[rank:]))
