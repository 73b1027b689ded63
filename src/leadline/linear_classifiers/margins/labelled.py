"""What every function of this room asks of a labelled sample."""

import numpy as np
from jaxtyping import Array, Float, Num


def signed_sample(
    x: Num[Array | np.ndarray, "..."], y: Num[Array | np.ndarray, "..."]
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Return (x, y) as double-precision NumPy arrays, or say what is wrong with them.

    Labels are -1 and +1: the margin y (w·x + b) means nothing for labels 0 and 1.

    >>> import numpy as np
    >>> signed_sample(np.ones((2, 3)), np.array([0, 1]))
    Traceback (most recent call last):
    ...
    ValueError: The labels are [0.0, 1.0], expected -1 and +1; relabel 0/1 targets t as y = 2t - 1.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or not len(x):
        raise ValueError(
            f"The inputs have shape {x.shape} and the labels {y.shape}, expected (n, d) and (n,) with n >= 1."
        )
    if not np.isin(y, (-1.0, 1.0)).all():
        found = np.unique(y)[:4].tolist()
        raise ValueError(f"The labels are {found}, expected -1 and +1; relabel 0/1 targets t as y = 2t - 1.")
    if not np.isfinite(x).all():
        rows = int((~np.isfinite(x).all(axis=1)).sum())
        raise ValueError(f"{rows} of {len(x)} inputs contain NaN or infinity; drop or fill them first.")
    return x, y
