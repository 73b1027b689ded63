"""Saturated units and gates of a recurrence: where slopes are small, and which units never move."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from leadline.networks.dissection.loops.squashing_units import with_squashed

from ..gradients.state_vectors import Step, state_vectors, trajectory

LIMITS = {"tanh": (-0.95, 0.95), "logistic": (0.025, 0.975)}  # beyond these a unit is called saturated


class Saturation(NamedTuple):
    """One layer of squashing units over rows and time.

    `share` and `slope` are, at each step, the share of units beyond their limits and the mean of φ': 1 - h² of a tanh,
    s(1 - s) of a logistic unit. `low` and `high` are the shares of all values beyond each limit. A `stuck` unit is
    beyond the same limit on every row at every step; a `dead` one has the same value everywhere.
    """

    kind: str
    share: Float[np.ndarray, " steps"]
    slope: Float[np.ndarray, " steps"]
    low: float
    high: float
    stuck: Bool[np.ndarray, " m"]
    dead: Bool[np.ndarray, " m"]
    mean: Float[np.ndarray, " m"]  # of each unit over rows and time


def saturation(values: Float[Array | np.ndarray, "..."], kind: str) -> Saturation:
    """Which of the values (rows, time, units) of squashing units lie beyond ±0.95 (tanh) or outside 0.025..0.975.

    Gradients that pass such a unit are multiplied by its slope φ', which is at most 0.0975 there for a tanh and 0.0244
    for a logistic unit.

    >>> found = saturation(np.array([[[0.0, 0.99], [0.99, 0.99]]]), "tanh")
    >>> found.share.tolist(), found.stuck.tolist(), found.slope.round(3).tolist()
    ([0.5, 1.0], [False, True], [0.51, 0.02])
    """
    if kind not in LIMITS:
        raise ValueError(f"There are no units of kind {kind!r}; choose tanh or logistic.")
    values = np.asarray(values, np.float64)
    if values.ndim != 3 or not values.size:
        raise ValueError(f"saturation got values of shape {values.shape}; give (rows, time, units), none empty.")
    low, high = (values < LIMITS[kind][0], values > LIMITS[kind][1])
    slopes = 1 - values**2 if kind == "tanh" else values * (1 - values)
    return Saturation(
        kind,
        (low | high).mean(axis=(0, 2)),
        slopes.mean(axis=(0, 2)),
        float(low.mean()),
        float(high.mean()),
        np.asarray(low.all(axis=(0, 1)) | high.all(axis=(0, 1))),
        np.asarray(np.ptp(values, axis=(0, 1)) == 0),
        values.mean(axis=(0, 1)),
    )


class UnitValues(NamedTuple):
    """Squashing units of a recurrence by name, such as "logistic 1", with values (rows, time, units)."""

    name: str
    kind: str
    values: Float[Array, "n steps m"]


def unit_values(step: Step, start: PyTree, inputs: PyTree) -> list[UnitValues]:
    """The values of all logistic functions and tangents in F(z_{t-1}, x_t): gates and candidates of any cell.

    `inputs` have rows and time as their first axes. Units are numbered by kind in the order in which F evaluates them:
    of `GRU` the reset gate is logistic 1 and the update gate logistic 2, of `LSTM` input, forget and output gate are
    logistic 1, 2 and 3.

    >>> import jax.numpy as jnp
    >>> cell = lambda z, x: jax.nn.sigmoid(x) * z + jnp.tanh(x)
    >>> [(unit.name, unit.values.shape) for unit in unit_values(cell, jnp.zeros(3), jnp.ones((2, 5, 3)))]
    [('logistic 1', (2, 5, 3)), ('tanh 1', (2, 5, 3))]
    """
    on_vectors, _ = state_vectors(step, start)
    states = jax.vmap(lambda x: trajectory(step, start, x))(inputs)[:, :-1]
    kinds: list[str] = []

    def one(z: Array, x: Any) -> list[Array]:
        _, found = with_squashed(on_vectors, z, x)
        kinds[:] = [unit.kind for unit in found]
        return [unit.values.ravel() for unit in found]

    values = eqx.filter_jit(jax.vmap(jax.vmap(one)))(states, inputs)
    order = [kinds[: i + 1].count(kind) for i, kind in enumerate(kinds)]
    return [UnitValues(f"{kind} {n}", kind, v) for kind, n, v in zip(kinds, order, values, strict=True)]
