"""What has a tangent kernel: a network apply(params, inputs) whose rows do not depend on each other, checked."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PyTree

from leadline._checks import require_numbers
from leadline._shapes import output_shape
from leadline.frameworks.network import Apply, ExampleFunction, of_example


def checked_function(
    apply: Apply, params: PyTree, x: Any, *, what: str = "x1"
) -> tuple[ExampleFunction, Num[Array, "n ..."], tuple[int, ...]]:
    """f of one example, the inputs as an array, and the shape of one output; refuses what has no tangent kernel."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    if not leaves:
        raise ValueError("The parameters hold no arrays; a tangent kernel needs at least one parameter.")
    for path, leaf in leaves:
        if not (hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)):
            kind = leaf.dtype if hasattr(leaf, "dtype") else type(leaf).__name__
            raise ValueError(
                f"Parameter {jax.tree_util.keystr(path) or 'params'} is {kind}, not real floating point; convert it, "
                "or keep it inside apply so that it is no parameter."
            )
    x = x if isinstance(x, jax.Array) else jnp.asarray(np.asarray(x))
    if x.ndim == 0 or x.shape[0] == 0:
        raise ValueError(f"{what} has shape {x.shape}; give a batch of at least one input, examples along axis 0.")
    require_numbers("A tangent kernel", **{what: x})
    f = of_example(apply)
    try:
        out = output_shape(f, params, jax.ShapeDtypeStruct(x.shape[1:], x.dtype))
    except (TypeError, ValueError) as reason:
        line = str(reason).strip().splitlines()[0] if str(reason).strip() else type(reason).__name__
        raise ValueError(
            f"apply(params, inputs) fails for a batch of one example of shape {x.shape[1:]} ({line}); give a function "
            "of batches, or make one by as_apply((f, params), batched=False)."
        ) from reason
    if not hasattr(out, "dtype") or not jnp.issubdtype(out.dtype, jnp.floating):
        raise ValueError(
            "apply(params, inputs) must return one real floating-point array; select the output to differentiate."
        )
    return f, x, tuple(out.shape)


def outputs_at(apply: Apply, params: PyTree, x: Num[Array, "n ..."]) -> Float[Array, "n c"]:
    """The outputs of every row of x, flattened: (n, C)."""
    return apply(params, x).reshape(len(x), -1)
