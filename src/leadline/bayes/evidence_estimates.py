"""The evidence Z = ∫p(D|θ)p(θ)dθ where there is no closed form: Laplace's approximation and importance sampling."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline.data import generator

from .posterior_modes import PosteriorMode

FEWEST_EFFECTIVE = 100


def laplace_log_evidence(mode: PosteriorMode) -> float:
    """ln Z ≈ −E(θ_MAP) + (d/2) ln 2π − ½ ln det ∇²E: exact for a Gaussian posterior, off by O(1/n) for n smooth data.

    >>> laplace_log_evidence(PosteriorMode(np.zeros(1), math.log(2 * math.pi) / 2, np.eye(1)))
    0.0
    """
    sign, logdet = np.linalg.slogdet(mode.hessian)
    if not sign > 0:
        raise ValueError("The Hessian of the energy is not positive definite at the mode; Laplace's method needs that.")
    return float(-mode.energy + len(mode.theta) / 2 * math.log(2 * math.pi) - logdet / 2)


class ImportanceEvidence(NamedTuple):
    """ln Z with its standard error, the effective number of draws (Σw)²/Σw², and the weights w over their mean.

    `warning` is empty, or says that too few draws carry the weight for the error to be believed.
    """

    log_evidence: float
    error: float
    effective_size: float
    relative_weights: Float[np.ndarray, " draws"]
    warning: str


def importance_log_evidence(
    energy: Callable[[Float[np.ndarray, "draws d"]], Float[np.ndarray, " draws"]],
    mode: PosteriorMode,
    *,
    widened: float = 1.5,
    draws: int = 4000,
    key: PRNGKeyArray,
) -> ImportanceEvidence:
    """ln mean e^{−E(θ)}/q(θ) over draws of q = N(θ_MAP, `widened`² · Laplace's covariance).

    A proposal wider than the posterior keeps the weights bounded for Gaussian tails; a narrow one (`widened` below
    1/√2) has weights of infinite variance, which the effective size betrays.

    >>> import jax
    >>> normal = lambda t: t[:, 0] ** 2 / 2 + math.log(2 * math.pi) / 2
    >>> found = importance_log_evidence(normal, PosteriorMode(np.zeros(1), 0.0, np.eye(1)), key=jax.random.key(0))
    >>> abs(found.log_evidence) < 4 * found.error, found.warning
    (True, '')
    """
    if draws < 2 or not widened > 0:
        raise ValueError(
            f"importance_log_evidence got {draws} draws and width {widened}; give 2 or more, and a positive one."
        )
    dim = len(mode.theta)
    root = widened * np.linalg.cholesky(mode.covariance)
    noise = generator(key).standard_normal((draws, dim))
    log_q = -0.5 * np.sum(noise**2, axis=1) - dim / 2 * math.log(2 * math.pi) - np.sum(np.log(np.diag(root)))
    log_w = -np.asarray(energy(mode.theta + noise @ root.T), float) - log_q
    top = log_w.max()
    w = np.exp(log_w - top)
    relative = w / w.mean()
    size = float(w.sum() ** 2 / np.sum(w**2))
    warning = ""
    if size < max(FEWEST_EFFECTIVE, draws / 20):
        warning = (
            f"only {size:.0f} of {draws} draws carry the weight; the error is not to be believed: widen the proposal "
            "or use quadrature"
        )
    error = float(relative.std(ddof=1) / math.sqrt(draws))
    return ImportanceEvidence(float(top + np.log(w.mean())), error, size, relative, warning)
