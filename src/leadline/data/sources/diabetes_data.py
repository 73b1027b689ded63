"""The diabetes data of Efron, Hastie, Johnstone and Tibshirani (2004), bundled with scikit-learn."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Diabetes(NamedTuple):
    """Ten measurements of 442 patients, each column with mean 0 and mean square 1, and the disease a year later."""

    inputs: Float[np.ndarray, "442 10"]
    targets: Float[np.ndarray, " 442"]
    names: tuple[str, ...]


def diabetes() -> Diabetes:
    """Load age, sex, body mass, blood pressure and six blood serum values, with the progression of the disease.

    >>> inputs, targets, names = diabetes()
    >>> inputs.shape, names[2], float(targets.max())
    ((442, 10), 'bmi', 346.0)
    """
    from sklearn.datasets import load_diabetes

    bundle = load_diabetes(scaled=False)
    raw = bundle.data.astype(float)
    inputs = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    return Diabetes(inputs, bundle.target.astype(float), tuple(bundle.feature_names))
