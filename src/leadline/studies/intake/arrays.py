"""Whatever holds numbers as a NumPy array: NumPy, JAX, PyTorch, TensorFlow, pandas, Arrow, lists."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from leadline._messages import reason
from leadline.evidence import BadInput
from leadline.frameworks.checks import is_of


def as_array(part: Any, what: str) -> np.ndarray:
    """The part as an array of numbers or texts; BadInput says what it is if it is none.

    >>> as_array([[1, 2], [3, 4]], "training inputs").shape
    (2, 2)
    >>> as_array(np.array(["cat", "dog"], dtype=object), "training targets").dtype.kind
    'U'
    """
    if is_of(part, "torch"):
        return _of_torch(part, what)
    if isinstance(part, list | tuple) and part and all(is_of(row, "torch") for row in part):
        part = [_of_torch(row, what) for row in part]
    try:
        array = np.asarray(part)
    except (ValueError, TypeError, RuntimeError) as error:
        raise BadInput(f"The {what} are not one array ({reason(error)}); give rows of one shape.") from None
    if array.dtype.kind == "O":
        array = _of_objects(array, what)
    if array.dtype.kind == "V" and jnp.issubdtype(array.dtype, jnp.floating):  # bfloat16 and smaller
        array = array.astype(np.float32)
    return array


def _of_torch(part: Any, what: str) -> np.ndarray:
    if part.device.type != "cpu":
        raise BadInput(f"The {what} are on the device {part.device}; move them to the CPU by .cpu() first.")
    part = part.detach()
    return (part.float() if str(part.dtype) == "torch.bfloat16" else part).numpy()


def _of_objects(array: np.ndarray, what: str) -> np.ndarray:
    """An array of Python objects, as tables of mixed columns give, as texts or numbers."""
    if all(isinstance(value, str) for value in array.flat):
        return array.astype(str)
    try:
        return array.astype(float)
    except (ValueError, TypeError):
        kinds = sorted({type(value).__name__ for value in array.flat})
        raise BadInput(f"The {what} hold {' and '.join(kinds)}; convert them to numbers.") from None
