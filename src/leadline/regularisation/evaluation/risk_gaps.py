"""Training risk, test risk and the gap between them, each with its error."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Num, Shaped

from leadline._checks import require, require_rows
from leadline.learning.risk.distributions import Loss, pointwise_loss
from leadline.learning.risk.risk import RiskEstimate, estimate_risk
from leadline.probability import binomial_interval

Rows = tuple[Shaped[Array | np.ndarray, "_ ..."], Shaped[Array | np.ndarray, "_ ..."]]


class RiskGap(NamedTuple):
    """The mean loss on the rows of the fit and on new rows, with intervals."""

    train: RiskEstimate
    test: RiskEstimate

    @property
    def gap(self) -> float:
        """Test risk less training risk: what a regulariser is to make small without raising the first."""
        return self.test.risk - self.train.risk

    @property
    def gap_error(self) -> float:
        """The standard error of the gap, for given rows of the fit."""
        return float(np.hypot(self.train.error, self.test.error))


def risk_gap(
    predict: Callable[[Any], Any], train: Rows, test: Rows, *, loss: Loss = "squared", confidence: float = 0.95
) -> RiskGap:
    """R̂(f) on (x, y) of the fit, R̂(f) on rows that it never saw, and the gap R − R̂.

    The interval of the test risk holds R(f); that of the training risk is only the spread of its losses, since the
    fit chose them small. Losses that are all 0 or 1 get the exact interval of Clopper and Pearson.

    >>> x, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    >>> found = risk_gap(lambda x: x[:, 0], (x, y), (x + 2, y), loss="squared")
    >>> found.train.risk, found.test.risk, found.gap
    (0.0, 4.0, 4.0)
    """
    return RiskGap(*(loss_estimate(_losses(predict, *rows, loss), confidence=confidence) for rows in (train, test)))


def loss_estimate(losses: Num[Array | np.ndarray, " _"], *, confidence: float = 0.95) -> RiskEstimate:
    """The mean loss with its interval: Student's, or where all losses are 0 or 1 that of Clopper and Pearson.

    >>> loss_estimate(np.zeros(10)).high.__round__(4)
    0.3085
    """
    require("loss_estimate", axes=1, losses=losses)
    losses = np.asarray(losses, float)
    found = estimate_risk(losses, confidence=confidence)
    if not np.isin(losses, (0.0, 1.0)).all():
        return found
    low, high = binomial_interval(int(losses.sum()), losses.size, confidence=confidence)
    return found._replace(low=float(low), high=float(high))


def _losses(predict: Callable[[Any], Any], x: Any, y: Any, loss: Loss) -> np.ndarray:
    require_rows("risk_gap", x=x, y=y)
    return np.asarray(pointwise_loss(loss)(np.asarray(predict(x)), np.asarray(y)), float)
