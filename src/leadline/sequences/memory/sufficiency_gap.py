"""How much of what the past says about a target a state has lost: probes of the state against the best predictor."""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Real

from leadline._checks import require, require_rows
from leadline.data import generator
from leadline.networks import MLP
from leadline.training import fit

from ..estimation.joint_distribution import joint_distribution
from ..estimation.state_space import LinearGaussian

Probe = Literal["linear", "mlp"]


class SufficiencyGap(NamedTuple):
    """Mean squared errors of the best probe of a family and of the best predictor, and what lies between."""

    probe: str  # the family, on which the value depends
    loss: float
    best: float
    standard_error: float  # of the gap; 0 where it is exact

    @property
    def gap(self) -> float:
        """Loss of the probe less that of the best predictor from the whole history; 0 for a sufficient state."""
        return self.loss - self.best

    @property
    def nats(self) -> float:
        """½ ln(loss/best): the gap in information, where errors are normal."""
        return 0.5 * float(np.log(self.loss / self.best))


def linear_state_gap(
    model: LinearGaussian, weights: Real[Array | np.ndarray, "p T k"] | Real[Array | np.ndarray, "p T"]
) -> SufficiencyGap:
    """The exact gap about h_T of a state that is linear in the observations, s = Σₜ weights[:, t] xₜ.

    Of normal variables the best probe is linear: its error is tr(Var h − Cov(h, s) Var(s)⁺ Cov(s, h)), and that of the
    best predictor is tr(Var h − Cov(h, x) Var(x)⁻¹ Cov(x, h)).

    >>> from leadline.sequences import linear_gaussian
    >>> last = np.array([[0.0, 1.0]])  # the last of two observations
    >>> found = linear_state_gap(linear_gaussian(0.5, 1.0, 0.75, 1.0), last)
    >>> round(found.loss, 12), round(found.best, 12)
    (0.5, 0.466666666667)
    """
    require("linear_state_gap", weights=weights)
    W = np.asarray(weights, float)
    W = W[:, :, None] if W.ndim == 2 else W
    if W.ndim != 3 or W.shape[2] != len(model.C):
        raise ValueError(
            f"linear_state_gap got weights of shape {W.shape}; give (state, steps, {len(model.C)}), one for each "
            "observation."
        )
    joint = joint_distribution(model, W.shape[1])
    flat, d = W.reshape(len(W), -1), len(model.A)
    own, cross = joint.state_covariance[-d:, -d:], joint.cross_covariance[-d:]
    seen = cross @ flat.T
    spread = flat @ joint.covariance @ flat.T
    loss = np.trace(own - seen @ np.linalg.pinv(spread, rcond=1e-13, hermitian=True) @ seen.T)
    best = np.trace(own - cross @ np.linalg.solve(joint.covariance, cross.T))
    return SufficiencyGap("linear", float(loss), float(best), 0.0)


def sufficiency_gap(
    states: Real[Array | np.ndarray, "n p"],
    targets: Real[Array | np.ndarray, "n q"],
    best: Real[Array | np.ndarray, "n q"],
    *,
    probe: Probe = "linear",
    width: int = 32,
    epochs: int = 60,
    key: PRNGKeyArray,
) -> SufficiencyGap:
    """Fit a probe of the states on half of the rows; on the others, its squared error less that of `best`.

    `best` are the predictions of the best predictor that is known: the Kalman filter's where data are linear-Gaussian,
    and then the gap is that to the optimum; otherwise it is relative to what was given, and may be negative. A "linear"
    probe is least squares; "mlp" adds to it a network of one hidden layer on its residuals, and keeps its best epoch on
    a fifth of the rows it fits, so that it is no worse than the linear one beyond noise. Rows should be independent,
    one of each sequence.

    >>> import jax
    >>> rng = np.random.default_rng(0)
    >>> h = rng.normal(size=(400, 1))
    >>> found = sufficiency_gap(2 * h, h, h, key=jax.random.key(0))
    >>> abs(found.gap) < 1e-12
    True
    """
    require_rows("sufficiency_gap", states=states, targets=targets, best=best)
    require("sufficiency_gap", axes=2, states=states, targets=targets, best=best)
    if probe not in ("linear", "mlp"):
        raise ValueError(f"sufficiency_gap got the probe {probe!r}; give 'linear' or 'mlp'.")
    x, y, reference = (np.asarray(part, float) for part in (states, targets, best))
    if len(x) < 4 * (x.shape[1] + 1):
        raise ValueError(
            f"sufficiency_gap got {len(x)} rows for states of {x.shape[1]} numbers; give at least "
            f"{4 * (x.shape[1] + 1)}."
        )
    order = generator(key).permutation(len(x))
    seen, held = order[: len(x) // 2], order[len(x) // 2 :]
    centre, scale = x[seen].mean(0), x[seen].std(0)
    z = (x - centre) / np.where(scale > 0, scale, 1.0)
    ones = np.ones((len(z), 1))
    fitted = np.hstack([z, ones]) @ np.linalg.lstsq(np.hstack([z, ones])[seen], y[seen], rcond=None)[0]
    if probe == "mlp":
        fitted = fitted + _residual_network(z, y - fitted, seen, width, epochs, key)
    losses = ((fitted - y) ** 2).sum(1)[held]
    bests = ((reference - y) ** 2).sum(1)[held]
    spread = float((losses - bests).std(ddof=1) / np.sqrt(len(held)))
    return SufficiencyGap(probe, float(losses.mean()), float(bests.mean()), spread)


def _residual_network(
    z: Float[np.ndarray, "n p"],
    left: Float[np.ndarray, "n q"],
    seen: np.ndarray,
    width: int,
    epochs: int,
    key: PRNGKeyArray,
) -> Float[np.ndarray, "n q"]:
    """What a small network makes of residuals, or 0 where no epoch of it is better than that on held rows."""

    size = left[seen].std() or 1.0
    rows = z.astype(np.float32), (left / size).astype(np.float32)
    cut = len(seen) * 4 // 5
    train, check = (tuple(part[at] for part in rows) for at in (seen[:cut], seen[cut:]))
    network = MLP((z.shape[1], width, left.shape[1]), "tanh", dtype=jnp.float32, key=key)
    batch = min(64, cut)
    options = {"epochs": epochs, "batch": batch, "loss": "squared", "optimiser": optax.adam(1e-2), "key": key}
    run = fit(network, train, validation=check, **options)
    outputs = np.asarray(jax.vmap(run.best)(jnp.asarray(rows[0])), float)
    before, after = ((check[1] - guess) ** 2 for guess in (0.0, outputs[seen[cut:]]))
    return outputs * size if after.sum() < before.sum() else np.zeros_like(left)
