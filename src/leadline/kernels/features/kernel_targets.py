"""How much a kernel matrix looks like the labels: alignment with the target."""

import numpy as np
from jaxtyping import Array, Float, Num


def alignment(
    gram: Float[Array | np.ndarray, "n n"], y: Num[Array | np.ndarray, "n ..."], *, centred: bool = False
) -> float:
    """⟨K, y yᵀ⟩ / (‖K‖ ‖y yᵀ‖) in Frobenius norms: 1 iff K is a positive multiple of y yᵀ; in [0, 1] for a kernel.

    With `centred`, K is centred on both sides first and the means of y are taken away (Cortes, Mohri and Rostamizadeh
    2012); without, it is the alignment of Cristianini et al. 2002. Labels of several columns (one-hot rows) give Y Yᵀ.

    >>> y = np.array([1.0, -1.0, 1.0, -1.0])
    >>> alignment(np.outer(y, y), y), alignment(np.eye(4), y)
    (1.0, 0.5)
    """
    gram, y = np.asarray(gram), np.asarray(y)
    y = y.astype(gram.dtype).reshape(len(y), -1)
    if centred:
        gram, y = _centred(gram), y - y.mean(0)
    size, target = np.linalg.norm(gram), np.linalg.norm(y.T @ y)  # ‖y yᵀ‖ = ‖yᵀ y‖
    if size == 0 or target == 0:
        raise ValueError("alignment got a kernel matrix or labels of norm 0, perhaps by centring; give ones that vary.")
    return float(np.sum(y * (gram @ y)) / (size * target))


def _centred(gram: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """H K H with H = I - 1 1ᵀ/n."""
    return gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
