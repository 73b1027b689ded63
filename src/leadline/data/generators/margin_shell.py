"""A source whose every example has the same norm and the same margin."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, UInt32


class ShellSample(NamedTuple):
    """Points on the unit sphere, labels in {-1, +1}, and the unit vector w* with y w*.x = margin for all of them."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    direction: Float[Array, " d"]


def margin_shell(samples: int, dim: int, margin: float, *, key: PRNGKeyArray | UInt32[Array, "2"]) -> ShellSample:
    """x = y rho w* + √(1 - rho²) u: y a fair sign, u uniform on the unit sphere orthogonal to w*.

    So ‖x‖ = 1 and y w*.x = rho exactly, for every example: the hardest source of margin rho, whose errors
    `shell_error` knows in closed form. w* is the first axis. Needs dim ≥ 2.

    >>> sample = margin_shell(5, 50, 0.1, key=jax.random.key(0))
    >>> [f"{m:.4f}" for m in sample.y * (sample.x @ sample.direction)]
    ['0.1000', '0.1000', '0.1000', '0.1000', '0.1000']
    """
    if samples < 1 or dim < 2 or not 0 <= margin <= 1:
        raise ValueError(
            f"margin_shell got samples={samples}, dim={dim}, margin={margin}; "
            "expected samples >= 1, dim >= 2 and a margin in [0, 1]."
        )
    return _margin_shell(samples, dim, margin, key)


@partial(jax.jit, static_argnums=(0, 1))
def _margin_shell(samples, dim, margin, key) -> ShellSample:
    key_label, key_rest = jax.random.split(key)
    y = jax.random.rademacher(key_label, (samples,), jnp.result_type(float))
    rest = jax.random.normal(key_rest, (samples, dim - 1))
    rest = jnp.sqrt(1 - margin**2) * rest / jnp.linalg.norm(rest, axis=1, keepdims=True)
    x = jnp.concatenate([(margin * y)[:, None], rest], axis=1)
    return ShellSample(x, y, jnp.eye(dim, dtype=x.dtype)[0])


def shell_error(weights: Float[Array, "*batch d"], margin: float) -> Float[Array, "*batch"]:
    """Exact probability that y w·x ≤ 0 on `margin_shell`: the test error of w, without a test set.

    With w = (a, v) and rho the margin, y w·x = a rho + √(1 - rho²) ‖v‖ s, where s is one coordinate of a
    uniform point on the sphere of R^(d-1): (1 + s)/2 ~ Beta((d-2)/2, (d-2)/2), and s = -1, +1 for d = 2.
    Ties count as errors, so w = 0 has error 1.

    >>> [f"{e:.3f}" for e in shell_error(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 0.1)]
    ['0.000', '0.500']
    """
    dim = weights.shape[-1]
    a, v = weights[..., 0], jnp.linalg.norm(weights[..., 1:], axis=-1)
    reach = jnp.sqrt(1 - margin**2) * v
    # The error is P(s ≤ level).
    level = jnp.where(reach > 0, -a * margin / jnp.where(reach > 0, reach, 1), jnp.where(a > 0, -2.0, 2.0))
    if dim == 2:
        return ((level >= -1).astype(level.dtype) + (level >= 1)) / 2
    half = (dim - 2) / 2
    return jax.scipy.special.betainc(half, half, (1 + jnp.clip(level, -1, 1)) / 2)
