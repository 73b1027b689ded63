"""How values and gradients change from layer to layer of a subject in theory, beside what was measured."""

import math
from itertools import pairwise

import numpy as np

from leadline.networks.dissection.layer_moments import LayerMoments

from ..instrument_contract import NotApplicable
from ..subject import Subject


def scatter_ranges(predicted: np.ndarray, spread: np.ndarray, chance: float) -> np.ndarray:
    """(layers, 2): over draws of weights a mean square scatters about as chi-square, 2/spread degrees of freedom."""
    from scipy.stats import chi2

    degrees = 2 / np.maximum(spread, 1e-12)
    tail = chance / 2 / len(predicted)
    tails = np.array([tail, 1 - tail])
    return predicted[:, None] * chi2.ppf(tails, degrees[:, None]) / degrees[:, None]


def log_slope(values: np.ndarray) -> float | None:
    """The least-squares slope of log(values) per layer; None for one layer or values that are not positive."""
    if len(values) < 2 or not (np.all(np.isfinite(values)) and np.all(values > 0)):
        return None
    return float(np.polyfit(np.arange(len(values)), np.log(values), 1)[0])


def growth_bounds(subject: Subject, now: tuple[LayerMoments, ...], parts: list[NotApplicable]) -> tuple:
    """Gradient norm of each layer over that of the next with its bound, and the growth of the spread of values."""
    taken = subject.shared.dissection
    bracket = subject.shared.lipschitz if taken.chain is not None else None
    factors = () if bracket is None else bracket.factors
    if len(now) < 2:
        parts.append(NotApplicable("growth from layer to layer, product of norms", "there are two layers or more"))
        return None, None, None
    if taken.chain is None or len(factors) != len(taken.chain):
        why = f"the network is a chain ({taken.why_no_chain})" if taken.chain is None else "inputs are real numbers"
        parts.append(NotApplicable("growth from layer to layer, product of norms", why))
        return None, None, None
    places = [number for number, step in enumerate(taken.chain) if step.layer is not None]
    between = pairwise(places)
    bound = np.array([math.prod(factors[a + 1 : b + 1]) for a, b in between])
    gradient, spread = np.array([m.gradient for m in now]), np.sqrt([m.row_spread for m in now])
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.nan_to_num(gradient[:-1] / gradient[1:])
        wider = np.nan_to_num(spread[1:] / spread[:-1])
    return growth, bound, wider
