"""The soft margin: hinge loss plus ridge, for samples that no hyperplane separates."""

import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from .labelled import signed_sample


class SoftMargin(NamedTuple):
    """A minimiser of hinge plus ridge."""

    weights: Float[np.ndarray, " d"]
    bias: float
    margin: float  # 1/‖w‖, half the width of the band that points pay for entering
    losses: Float[np.ndarray, " n"]  # max(0, 1 - y (w·x + b)), above 1 for a mistake
    objective: float


def soft_margin(
    x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"], *, ridge: float, bias: bool = True
) -> SoftMargin:
    """Minimise (1/n) Σᵢ max(0, 1 - yᵢ (w·xᵢ + b)) + (ridge/2) ‖w‖² (Cortes and Vapnik 1995).

    The bias is not penalised. As ridge → 0 on separable data this is `max_margin`. Solved by scikit-learn: libsvm
    with a bias (the objective is then good to about six digits), liblinear without.

    >>> import numpy as np
    >>> x, y = np.array([[2.0], [1.0], [-1.0], [1.5]]), np.array([1, 1, -1, -1])
    >>> soft = soft_margin(x, y, ridge=0.1)
    >>> soft.weights.round(4).tolist(), round(soft.bias, 4), soft.losses.round(4).tolist()
    ([0.6667], -0.3333, [0.0, 0.6667, 0.0, 1.6667])
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC, LinearSVC

    x, y = signed_sample(x, y)
    if not ridge > 0:
        raise ValueError(f"The ridge is {ridge}, expected a number above 0; for ridge -> 0 use max_margin.")
    if len(np.unique(y)) == 1:
        raise ValueError("All labels are equal, expected both -1 and +1 (a constant classifier fits this sample).")
    C = 1 / (ridge * len(y))
    # libsvm keeps inner products in single precision: centred inputs make them small, and only the bias moves.
    centre = x.mean(axis=0) if bias else np.zeros(x.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            if bias:
                fit = SVC(C=C, kernel="linear", tol=1e-8, cache_size=500).fit(x - centre, y)
            else:
                fit = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=200_000, random_state=0)
                fit.fit(x, y)
        except ConvergenceWarning as reason:
            raise ValueError(f"The solver did not converge at ridge = {ridge:g}; use a larger ridge.") from reason
    w = fit.coef_[0]
    b = float(fit.intercept_[0] - w @ centre) if bias else 0.0
    losses = np.maximum(0, 1 - y * (x @ w + b))
    norm = float(np.linalg.norm(w))
    return SoftMargin(w, b, 1 / norm if norm else float("inf"), losses, float(losses.mean() + ridge / 2 * norm**2))
