"""Exposure bias: how much worse a predictor is on its own outputs than on the truth, by how far it has gone."""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .encoder_decoder import EncoderDecoder, target_mask
from .forcing import Pairs, roll_out


class ExposureBias(NamedTuple):
    """Losses by horizon, fed with the truth and with own outputs; row by row."""

    forced: Float[np.ndarray, "rows horizons"]
    free: Float[np.ndarray, "rows horizons"]

    @property
    def gap(self) -> Float[np.ndarray, " horizons"]:
        """Free-running minus teacher-forced loss, averaged over the rows."""
        return np.nanmean(self.free - self.forced, 0)

    def growth_rate(self, most: float) -> float:
        """The slope of the mean logarithm of the free-running loss by horizon, while its median is below `most`."""
        middle = np.nanmedian(self.free, 0)
        small = (middle > 0) & (middle < most)
        until = len(small) if small.all() else int(np.argmin(small))
        if until < 2:
            raise ValueError(
                f"The free-running loss is above {most:g} from the first step on; give a larger limit to fit a rate."
            )
        with np.errstate(divide="ignore"):
            logs = np.log(self.free[:, :until])
        logs = np.where(np.isfinite(logs), logs, np.nan)
        return float(np.polyfit(np.arange(until), np.nanmean(logs, 0), 1)[0])

    def usable_horizon(self, tolerance: float) -> Float[np.ndarray, " rows"]:
        """Of each row the steps until the free-running loss first exceeds the tolerance; infinite if it never does."""
        over = self.free > tolerance
        return np.where(over.any(1), over.argmax(1) + 1.0, math.inf)


def predicted_horizon(error: float, tolerance: float, exponent: float) -> float:
    """ln(tolerance / e₀) / Λ: the steps in which an error e₀ grows to the tolerance at the Lyapunov exponent Λ.

    >>> round(predicted_horizon(1e-6, 0.1, math.log(2)), 1)
    16.6
    """
    if not (error > 0 and tolerance > 0 and exponent > 0):
        raise ValueError(
            f"predicted_horizon got {error:g}, {tolerance:g} and {exponent:g}; errors grow only for positive numbers."
        )
    return math.log(tolerance / error) / exponent


def forecast_exposure(predict: Callable[[Array], Array], paths: Float[Array | np.ndarray, "rows T"]) -> ExposureBias:
    """|x̂ - x| of a one-step predictor along true paths: from the true state before, and from its own predictions.

    Column k has the errors at x_{k+1}. The predictor of the paths themselves has no error in either.

    >>> paths = np.array([[0.1, 0.2, 0.4, 0.8]])
    >>> found = forecast_exposure(lambda x: 2.1 * x, paths)
    >>> found.forced.round(3).tolist(), found.free.round(3).tolist()
    ([[0.01, 0.02, 0.04]], [[0.01, 0.041, 0.126]])
    """
    truth = jnp.asarray(paths)
    if truth.shape[1] < 2:
        raise ValueError(f"Paths of {truth.shape[1]} states have nothing to predict; give two or more.")
    forced = jax.vmap(predict, 1, 1)(truth[:, :-1])

    def step(x: Array, _: None) -> tuple[Array, Array]:
        x = predict(x)
        return x, x

    _, free = jax.lax.scan(step, truth[:, 0], length=truth.shape[1] - 1)
    return ExposureBias(*(np.abs(np.asarray(found - truth[:, 1:])) for found in (forced, free.T)))


def decoding_exposure(model: EncoderDecoder, pairs: Pairs, *, key: PRNGKeyArray | None = None) -> ExposureBias:
    """-log p(y_t) of the true token at t, after true tokens and after the model's own.

    Its own are the likeliest ones, or drawn by `key`. Tokens after the end count as missing (nan).

    >>> net = EncoderDecoder(3, 4, 5, key=jax.random.key(0))
    >>> found = decoding_exposure(net, Pairs(np.array([[1, 2]]), np.array([[3, 1, 0]])))
    >>> found.free.shape, float(found.gap[0])
    ((1, 3), 0.0)
    """
    source, target = (jnp.asarray(part) for part in pairs)
    keys = None if key is None else jax.random.split(key, len(target))
    losses = [np.asarray(_losses(model, source, target, jnp.full(target.shape, own), keys)) for own in (False, True)]
    counts = np.asarray(target_mask(target))
    return ExposureBias(*(np.where(counts, found, np.nan) for found in losses))


@eqx.filter_jit
def _losses(
    model: EncoderDecoder, source: Int[Array, "n S"], target: Int[Array, "n T"], own: Array, keys: Array | None
) -> Float[Array, "n T"]:
    def one(x: Array, y: Array, mine: Array, key: Array | None) -> Array:
        logs = roll_out(model, x, y, mine, key=key).log_probabilities
        return -jnp.take_along_axis(logs, y[:, None], 1)[:, 0]

    return jax.vmap(one)(source, target, own, keys)
