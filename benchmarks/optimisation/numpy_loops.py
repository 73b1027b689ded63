"""The same loops in NumPy, with gradients in closed form."""

import numpy as np

from ..harness.case import Inputs
from . import CLASSES, ETA, FEATURES, RATE, RIDGE, SAGA_RATE


def path(inputs: Inputs):
    x, y = inputs["x"], inputs["y"]

    def run() -> float:
        w = np.zeros(1)
        for i in inputs["rows"]:
            w = w - ETA * x[i] * (x[i] * w - y[i])
        return w[0]

    return run


def sweep(inputs: Inputs, steps: int):
    matrix, sizes = inputs["matrix"], inputs["sizes"]

    def run() -> float:
        w, losses = np.ones((len(sizes), len(matrix))), np.empty((steps + 1, len(sizes)))
        for t in range(steps + 1):
            image = w @ matrix
            losses[t] = np.sum(w * image, axis=1) / 2
            w = w - sizes[:, None] * image
        return losses[-1].sum()

    return run


def descent(inputs: Inputs, steps: int):
    from scipy.special import softmax

    x, right, value = _softmax_regression(inputs)

    def run() -> float:
        w = np.zeros((FEATURES, CLASSES))
        for _ in range(steps):
            w = w - RATE * (x.T @ (softmax(x @ w, axis=1) - right) / len(x) + RIDGE * w)
        return value(w)

    return run


def saga(inputs: Inputs):
    from scipy.special import softmax

    x, right, value = _softmax_regression(inputs)

    def run() -> float:
        w = np.zeros((FEATURES, CLASSES))
        stored = softmax(x @ w, axis=1) - right
        mean = x.T @ stored / len(x)
        for i in inputs["rows"]:
            scores = x[i] @ w
            fresh = np.exp(scores - scores.max())
            fresh = fresh / fresh.sum() - right[i]
            change = np.outer(x[i], fresh - stored[i])
            w = w - SAGA_RATE * (change + mean + RIDGE * w)
            mean += change / len(x)
            stored[i] = fresh
        return value(w)

    return run


def _softmax_regression(inputs: Inputs):
    from scipy.special import logsumexp

    x, right = inputs["x"], np.eye(CLASSES)[inputs["y"]]

    def value(w: np.ndarray) -> float:
        scores = x @ w
        return np.mean(logsumexp(scores, axis=1) - np.sum(scores * right, axis=1)) + RIDGE / 2 * np.sum(w**2)

    return x, right, value
