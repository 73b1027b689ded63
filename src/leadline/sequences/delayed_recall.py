"""Repeating what was heard d steps ago: the task that shows how far back a causal convolutional network can see."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Recall(NamedTuple):
    """A causal stack of convolutions, one kernel a layer, fitted to recall; how often it is right on new sequences."""

    kernels: tuple[Float[np.ndarray, " k"], ...]
    right: int
    trials: int

    @property
    def accuracy(self) -> float:
        return self.right / self.trials


def fit_recall(
    kernel: int, dilations: Sequence[int], delay: int, *, rows: int, rng: np.random.Generator, sweeps: int = 60
) -> Recall:
    """Fit y_T = x_{T-delay}, x_t = ±1, by a stack of dilated causal convolutions, layer after layer by least squares.

    A layer's output is linear in its own kernel while the others are held fixed, so that every step is a least-squares
    fit; one filter is enough, because the wanted composite kernel is a product of single taps. The last output sees
    r = 1 + Σ (k - 1) dil_l inputs: for delay ≥ r the target is independent of all of them.

    >>> fit_recall(2, (1, 2), 3, rows=200, rng=np.random.default_rng(0)).accuracy
    1.0
    """
    if delay < 0:
        raise ValueError(f"The delay is {delay}; give 0 or more.")
    length = max(1 + sum((kernel - 1) * d for d in dilations), delay + 1)
    signals = rng.choice([-1.0, 1.0], size=(2, rows, length))
    train, test = signals
    kernels = [np.abs(rng.normal(size=kernel)) + 0.5 for _ in dilations]
    kernels = [k / np.linalg.norm(k) for k in kernels]
    for sweep in range(sweeps):
        before = [k.copy() for k in kernels]
        for level, dilation in enumerate(dilations):
            rest = _composite(
                [k for m, k in enumerate(kernels) if m != level], [d for m, d in enumerate(dilations) if m != level]
            )
            taps = [_delayed(train, rest, j * dilation) for j in range(kernel)]
            kernels[level] = np.linalg.lstsq(np.stack(taps, 1), train[:, -1 - delay], rcond=None)[0]
            kernels[level] /= np.linalg.norm(kernels[level]) or 1.0
        if sweep and max(np.abs(a - b).max() for a, b in zip(kernels, before, strict=True)) < 1e-12:
            break
    outputs = _delayed(test, _composite(kernels, dilations), 0)
    return Recall(tuple(kernels), int((np.sign(outputs) == test[:, -1 - delay]).sum()), rows)


def _composite(kernels: Sequence[np.ndarray], dilations: Sequence[int]) -> np.ndarray:
    """The one causal kernel that the stack amounts to; element d is the weight of x_{T-d}."""
    whole = np.ones(1)
    for kernel, dilation in zip(kernels, dilations, strict=True):
        stuffed = np.zeros((len(kernel) - 1) * dilation + 1)
        stuffed[::dilation] = kernel
        whole = np.convolve(whole, stuffed)
    return whole


def _delayed(signals: np.ndarray, kernel: np.ndarray, delay: int) -> np.ndarray:
    """Σ_d kernel_d x_{T - d - delay} of each row."""
    end = signals.shape[1] - delay
    return signals[:, end - len(kernel) : end][:, ::-1] @ kernel
