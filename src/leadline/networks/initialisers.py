"""Rules for drawing the first weights of a layer; a weight matrix has shape (out, in), as in Equinox."""

from collections.abc import Callable
from typing import Literal

import jax
from jaxtyping import Array, Float, PRNGKeyArray

Initialiser = Callable[[PRNGKeyArray, tuple[int, int], jax.typing.DTypeLike], Float[Array, "out in"]]

# Scaled rules: variance scale / fan, with fan the inputs n, the outputs m or their mean.
_SCALED: dict[str, tuple[float, Literal["fan_in", "fan_out", "fan_avg"], Literal["normal", "uniform"]]] = {
    "lecun": (1.0, "fan_in", "normal"),
    "lecun_uniform": (1.0, "fan_in", "uniform"),
    "lecun_backward": (1.0, "fan_out", "normal"),
    "glorot": (1.0, "fan_avg", "normal"),
    "glorot_uniform": (1.0, "fan_avg", "uniform"),
    "he": (2.0, "fan_in", "normal"),
    "he_uniform": (2.0, "fan_in", "uniform"),
    "pytorch": (1 / 3, "fan_in", "uniform"),
}

#: Initialisers by name, each called with a key, a shape (out, in) and a dtype. With n inputs and m outputs the
#: variances are 1/n (lecun), 1/m (lecun_backward), 2/(n+m) (glorot), 2/n (he), 1/(3n) (pytorch: uniform on ±1/√n).
#: Orthogonal matrices are Haar distributed: the QR factor Q of a Gaussian matrix, its columns multiplied by the signs
#: of diag R (Mezzadri 2007). `ones` and `zeros` are for study: units that start equal stay equal.
INITIALISERS: dict[str, Initialiser] = {
    **{
        name: jax.nn.initializers.variance_scaling(scale, mode, law, in_axis=-1, out_axis=-2)
        for name, (scale, mode, law) in _SCALED.items()
    },
    "orthogonal": jax.nn.initializers.orthogonal(column_axis=-1),
    "normal": jax.nn.initializers.normal(1.0),
    "ones": jax.nn.initializers.ones,
    "zeros": jax.nn.initializers.zeros,
}


def initialiser(name: str) -> Initialiser:
    """The initialiser of that name in `INITIALISERS`.

    >>> import jax.numpy as jnp
    >>> w = initialiser("he")(jax.random.key(0), (400, 100), jnp.float32)
    >>> round(float(w.var()) * 100, 1)
    2.0
    """
    if name not in INITIALISERS:
        raise ValueError(f"There is no initialiser called {name!r}; choose one of {', '.join(INITIALISERS)}.")
    return INITIALISERS[name]


def weight_moment(name: str, inputs: int, outputs: int) -> float:
    """E W_ij² of a rule for a layer with n = `inputs` and m = `outputs`: the variance, except for `ones`.

    An orthogonal matrix has orthonormal rows or columns, whichever are fewer, so that E W_ij² = 1/max(n, m).

    >>> [weight_moment(rule, 64, 256) for rule in ("lecun", "glorot", "he", "orthogonal")]
    [0.015625, 0.00625, 0.03125, 0.00390625]
    """
    initialiser(name)
    if min(inputs, outputs) < 1:
        raise ValueError(f"weight_moment got {inputs} inputs and {outputs} outputs; both must be positive.")
    if name in _SCALED:
        scale, mode, _ = _SCALED[name]
        return scale / {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[mode]
    return {"orthogonal": 1 / max(inputs, outputs), "normal": 1.0, "ones": 1.0, "zeros": 0.0}[name]
