"""How far a finite network's tangent kernel is from its infinite-width limit, and how far it should be."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray, PyTree

from leadline._checks import require_numbers
from leadline.frameworks.network import Apply

from .averaged_kernels import averaged_ntk


class WideDistance(NamedTuple):
    """‖K̄ − Θ‖/‖Θ‖ of this network and of copies with shuffled weights; one more copy exceeds `limit` once in 1000.

    That is the t-prediction limit of the logarithms.
    """

    distance: float
    copies: Float[np.ndarray, " c"]
    limit: float


def distance_to_wide(
    apply: Apply,
    params: PyTree,
    x: Any,
    wide: Float[Any, "n n"],
    *,
    key: PRNGKeyArray,
    copies: int = 8,
    kernel: Float[Any, "n n"] | None = None,
) -> WideDistance:
    """The relative distance of the averaged tangent kernel at random weights from the limit Θ = `wide`, beside copies.

    Weights that were drawn independently stay a draw from the same distribution when the entries of each array are
    shuffled: the copies are networks of the same size at other initialisations, whatever the architecture. At width m
    the distance is of order 1/√m (Jacot et al. 2018).

    >>> import jax.numpy as jnp
    >>> apply, x = lambda w, x: x @ w, jnp.eye(2)
    >>> found = distance_to_wide(apply, jnp.ones((2, 1)), x, x, key=jax.random.key(0))
    >>> found.distance, found.limit  # a linear model has the kernel of its limit at every width
    (0.0, 0.0)
    """
    require_numbers("distance_to_wide", x=x)
    from scipy.special import stdtrit

    if copies < 3:
        raise ValueError(f"distance_to_wide got {copies} copies; give at least 3 for an interval.")
    theta = np.asarray(wide, float)
    size = float(np.linalg.norm(theta))
    if not 0 < size < np.inf:
        raise ValueError("The wide kernel is 0 or not finite; give the limit kernel on the same inputs.")

    def distance(K: np.ndarray) -> float:
        return float(np.linalg.norm(np.asarray(K, float) - theta)) / size

    here = distance(averaged_ntk(apply, params, x) if kernel is None else kernel)
    drawn = np.array(
        [distance(averaged_ntk(apply, shuffle_entries(params, key=one), x)) for one in jax.random.split(key, copies)]
    )
    if not np.all(drawn > 0):
        return WideDistance(here, drawn, float(drawn.max()))
    logs = np.log(drawn)
    reach = float(stdtrit(copies - 1, 0.999)) * float(logs.std(ddof=1)) * np.sqrt(1 + 1 / copies)
    return WideDistance(here, drawn, float(np.exp(logs.mean() + reach)))


def shuffle_entries(params: PyTree, *, key: PRNGKeyArray) -> PyTree:
    """The same parameters with the entries of each array in random order.

    >>> import jax.numpy as jnp
    >>> sorted(shuffle_entries(jnp.arange(4.0), key=jax.random.key(1)).tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
    return jax.tree.map(lambda leaf: rng.permutation(np.ravel(leaf)).reshape(np.shape(leaf)), params)
