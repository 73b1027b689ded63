"""What standardised features do to the conditioning of least squares."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require


class FeatureConditions(NamedTuple):
    """κ of XᵀX/n and its eigenvalues, as given and with all columns at mean 0 and variance 1 (correlations)."""

    before: float
    after: float
    spectrum_before: Float[np.ndarray, " d"]
    spectrum_after: Float[np.ndarray, " d"]

    @property
    def advice(self) -> str:
        if self.after < self.before:
            return f"standardise the features: κ falls from {self.before:.3g} to {self.after:.3g}"
        return f"leave the features as they are: κ = {self.before:.3g}, standardised {self.after:.3g}"


def condition_of_features(x: Float[np.ndarray | Array, "n d"]) -> FeatureConditions:
    """The condition number of least squares on features X, before and after standardising its columns.

    >>> found = condition_of_features(np.array([[100.0, 1.0], [-100.0, 1.0], [100.0, -1.0], [-100.0, -1.0]]))
    >>> round(found.before), round(found.after)
    (10000, 1)
    """
    require("condition_of_features", axes=2, x=x)
    x = np.asarray(x, float)
    spread = x.std(axis=0)
    if len(x) < x.shape[1] + 1 or not np.all(spread > 0):
        raise ValueError(
            f"condition_of_features got {x.shape[0]} rows, {x.shape[1]} columns, {int(np.sum(spread == 0))} of them "
            "constant; give more rows than columns and leave constant columns out."
        )
    spectra = [np.linalg.svd(matrix, compute_uv=False) ** 2 / len(x) for matrix in (x, (x - x.mean(axis=0)) / spread)]
    before, after = (float(s[0] / s[-1]) if s[-1] > 0 else np.inf for s in spectra)
    return FeatureConditions(before, after, spectra[0], spectra[1])
