"""Many classifiers of the digits, good and poor, judged on two disjoint test sets."""

import warnings

import numpy as np
from jaxtyping import Bool, PRNGKeyArray

from leadline import data


def judged_digit_models(
    key: PRNGKeyArray, images: int, shift: float
) -> tuple[Bool[np.ndarray, "models m"], Bool[np.ndarray, "models m"]]:
    """Which of 26 models has which item right, in two halves of the digits that are not trained on.

    The pixels of the second half carry Gaussian noise of standard deviation `shift`.
    """
    x, y = data.digits()
    rng = data.generator(key)
    order = rng.permutation(len(y))
    train, rest = order[:images], order[images:]
    half = len(rest) // 2
    old, new = rest[:half], rest[half : 2 * half]
    noisy = x[new] + shift * rng.normal(size=x[new].shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are stopped before they converge: they are meant to differ
        fitted = [model.fit(x[train], y[train]) for model in _models()]
    return tuple(
        np.array([model.predict(rows) == y[at] for model in fitted]) for rows, at in ((x[old], old), (noisy, new))
    )


def _models() -> list:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return [
        *(KNeighborsClassifier(k) for k in (1, 3, 7, 15, 40, 100)),
        *(DecisionTreeClassifier(max_depth=d, random_state=0) for d in (2, 3, 4, 6, 9, 12)),
        *(LogisticRegression(C=c, max_iter=50) for c in (1e-4, 1e-3, 1e-2, 1.0)),
        *(RidgeClassifier(a) for a in (0.1, 10.0, 1000.0)),
        *(SVC(C=c, gamma="scale") for c in (0.01, 0.05, 5.0)),
        NearestCentroid(),
        LinearDiscriminantAnalysis(),
        GaussianNB(var_smoothing=0.1),
        BernoulliNB(binarize=0.5),
    ]
