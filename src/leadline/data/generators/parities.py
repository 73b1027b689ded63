"""Labels that are a product of a few of many signs: the task that frozen features find hard."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..randomness import generator


class ParitySample(NamedTuple):
    """Inputs with entries -1 and +1, and the product of the first few of them as label."""

    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]


def sparse_parity(
    samples: int, dim: int, order: int = 2, *, key: PRNGKeyArray, dtype: type = np.float64
) -> ParitySample:
    """x uniform on {-1, 1}^d and y = x_1 ... x_order: uncorrelated with every function of fewer of these coordinates.

    >>> import jax
    >>> x, y = sparse_parity(4, 10, key=jax.random.key(0))
    >>> x.shape, bool((y == x[:, 0] * x[:, 1]).all())
    ((4, 10), True)
    """
    if samples < 1 or not 1 <= order <= dim:
        raise ValueError(
            f"sparse_parity got samples={samples}, dim={dim}, order={order}; "
            "expected samples >= 1 and an order from 1 to dim."
        )
    x = generator(key).choice(np.array([-1, 1], dtype), (samples, dim))
    return ParitySample(x, x[:, :order].prod(axis=1))
