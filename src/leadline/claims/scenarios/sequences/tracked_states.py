"""Networks trained once to estimate the hidden state of a linear-Gaussian model, kept in the cache."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import sequences, training
from leadline.sequences import LinearGaussian

REFERENCE = {"a": 0.95, "Q": 0.1, "R": 1.0}  # where the specification has its numbers
SMOOTHED = {"a": 0.9, "Q": 0.3, "R": 0.5}
LENGTH = 100


def scalar_model(a: float, Q: float, R: float) -> LinearGaussian:
    """hₜ₊₁ = a hₜ + N(0, Q), xₜ = hₜ + N(0, R): stationary where it can be, otherwise from N(0, 1)."""
    return sequences.linear_gaussian(a, 1.0, Q, R, *(() if abs(a) < 1 else (0.0, 1.0)))


def tracking_network(cell: str, units: int, seed: int, **options: object) -> sequences.SequenceNetwork:
    """A network in single precision that reads numbers and gives one number at each step."""
    with jax.enable_x64(False):
        key = jax.random.key(seed)
        if cell != "linear":
            return sequences.sequence_network(cell, 1, units, 1, key=key, **options)
        first, second = jax.random.split(key)
        linear = sequences.Elman(1, units, "identity", bias=False, gain=0.5, key=first)
        return sequences.SequenceNetwork(linear, 1, bias=False, key=second)


def _train(
    cell: str, units: int, num_steps: int, seed: int, noise: str, burn: int, a: float, Q: float, R: float, both: bool
) -> sequences.SequenceNetwork:
    with jax.enable_x64(False):
        options = {"bidirectional": True} if both else {}
        net = tracking_network(cell, units, seed, **options)
        model = scalar_model(a, Q, R)
        (run,) = sequences.fit_estimators(
            [net], model, length=LENGTH, num_steps=num_steps, noise=noise, burn=burn, key=jax.random.key(1000 + seed)
        )
    return run.model


def trained_tracker(
    cell: str,
    units: int,
    num_steps: int,
    *,
    seed: int = 0,
    noise: str = "gaussian",
    burn: int = 0,
    both: bool = False,
    a: float = REFERENCE["a"],
    Q: float = REFERENCE["Q"],
    R: float = REFERENCE["R"],
) -> sequences.SequenceNetwork:
    """The network after `num_steps` steps of 64 new paths of 100 observations, from the cache if it was trained before.

    Half a minute for a GRU of 32 units and 1500 steps on two cores; `both` directions take twice as long.
    """
    like = tracking_network(cell, units, seed, **({"bidirectional": True} if both else {}))
    options = {"cell": cell, "units": units, "num_steps": num_steps, "seed": seed, "noise": noise, "burn": burn}
    return training.remembered(_train, like, **options, a=a, Q=Q, R=R, both=both)


def filtered_means(model: LinearGaussian, observations: jax.Array) -> np.ndarray:
    """The Kalman filter's estimates of each path, (n, T, 1)."""
    return np.asarray(jax.vmap(lambda xs: sequences.kalman_filter(model, xs, method="scan").means)(observations))


def filter_floor(model: LinearGaussian, length: int = LENGTH, burn: int = 0) -> float:
    """The exact mean squared error of the filter over steps burn + 1 to `length`: variances need no data."""
    found = sequences.kalman_filter(model, jnp.zeros(length))
    return float(found.covariances[burn:, 0, 0].mean())
