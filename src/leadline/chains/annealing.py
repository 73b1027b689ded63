"""Descent with isotropic noise under a falling temperature: schedules, the exact law, runs."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray

from leadline.data import generator
from leadline.optimisation.objectives.objective import Objective

from .finite import Law
from .grid import Points, gaussian_kernel, on_grid
from .langevin import chunks, langevin_paths

Temperatures = Float[np.ndarray, " steps"]


def logarithmic_cooling(c: float, num_steps: int) -> Temperatures:
    """T_k = c/log(k + 2): converges to the global minima if c is at least the depth of the deepest other well.

    >>> logarithmic_cooling(1.0, 2).round(4).tolist()
    [1.4427, 0.9102]
    """
    return c / np.log(np.arange(num_steps) + 2)


def geometric_cooling(first: float, last: float, num_steps: int) -> Temperatures:
    """From `first` to `last` by equal factors."""
    return np.geomspace(first, last, num_steps)


def staged_cooling(levels: Num[Array | np.ndarray, " stages"], num_steps: int) -> Temperatures:
    """Equilibrate, then lower: each level is held for an equal stretch of the steps.

    >>> staged_cooling(np.array([2.0, 1.0]), 4).tolist()
    [2.0, 2.0, 1.0, 1.0]
    """
    levels = np.asarray(levels, float)
    return levels[np.minimum(np.arange(num_steps) * len(levels) // num_steps, len(levels) - 1)]


class Stretches(NamedTuple):
    """A schedule made of stretches of constant temperature."""

    temperatures: Float[np.ndarray, " k"]
    lengths: Int[np.ndarray, " k"]

    @property
    def schedule(self) -> Temperatures:
        """The temperature of every step."""
        return np.repeat(self.temperatures, self.lengths)


def in_stretches(temperatures: Temperatures, tolerance: float = 0.01) -> Stretches:
    """The schedule with the temperature held (at its geometric mean) while it changes by less than `tolerance`.

    >>> in_stretches(np.array([1.0, 1.001, 2.0])).lengths.tolist()
    [2, 1]
    """
    if np.min(temperatures) <= 0:
        raise ValueError(f"A temperature of {np.min(temperatures):g} is in the schedule; give positive ones.")
    logs = np.log(temperatures)
    edges, i = [0], 0
    while i < len(logs):  # one round a stretch
        away = np.abs(logs[i:] - logs[i]) > tolerance
        i = i + int(np.argmax(away)) if away.any() else len(logs)
        edges.append(i)
    lengths = np.diff(edges)
    return Stretches(np.exp(np.add.reduceat(logs, edges[:-1]) / lengths), lengths)


def annealed_laws(
    objective: Objective, points: Points, start: Law, stretches: Stretches, *, step_size: float
) -> Float[np.ndarray, "time n"]:
    """The law of W⁺ = W − η g(W) + √(2ηT_k) ξ at the start and after each stretch, exactly on the grid."""
    means = points - step_size * on_grid(objective.gradient, points)[:, 0]
    laws, law = [start], start
    for temperature, length in zip(stretches.temperatures, stretches.lengths, strict=True):
        matrix = gaussian_kernel(points, means, float(np.sqrt(2 * step_size * temperature))).chain.dense
        if length <= len(points):
            for _ in range(length):
                law = law @ matrix
        else:
            law = law @ np.linalg.matrix_power(matrix, int(length))
        law = law / law.sum()
        laws.append(law)
    return np.stack(laws)


def annealed_runs(
    objective: Objective,
    start: Num[Array | np.ndarray, "runs p"],
    temperatures: Temperatures,
    *,
    step_size: float,
    key: PRNGKeyArray,
) -> Float[Array, "runs p"]:
    """Where independent runs of the same process end, each step with its own temperature; one scan.

    >>> from leadline.optimisation import Quadratic
    >>> flat = Quadratic(jnp.eye(1), jnp.zeros(1))
    >>> annealed_runs(flat, np.ones((2, 1)), np.full(3, 1e-30), step_size=0.5, key=jax.random.key(0)).round(6).tolist()
    [[0.125], [0.125]]
    """
    state, rng = jnp.asarray(start, float), generator(key)
    deviations = np.split(np.sqrt(2 * step_size * temperatures), np.cumsum(chunks(len(temperatures), state.size))[:-1])
    for part in deviations:
        noise = part[:, None, None] * rng.standard_normal((len(part), *state.shape))
        state = langevin_paths(objective.gradient, state, jnp.asarray(step_size, float), jnp.asarray(noise[None]))[-1]
    return state


def parallel_tempering(
    objective: Objective,
    start: Num[Array | np.ndarray, "runs p"],
    temperatures: Num[Array | np.ndarray, " levels"],
    *,
    step_size: float,
    rounds: int,
    between: int = 10,
    key: PRNGKeyArray,
) -> Float[Array, "runs p"]:
    """Where the coldest of several coupled walkers stands after `rounds` of `between` steps and one exchange.

    Neighbouring temperatures exchange their walkers with probability min(1, e^{(β_i − β_j)(l_i − l_j)}), even and odd
    pairs in turn; each keeps its Gibbs law (Swendsen and Wang 1986).
    """
    temperatures, rng = np.asarray(temperatures, float), generator(key)
    walkers, turn = jnp.repeat(jnp.asarray(start, float)[:, None], len(temperatures), axis=1), 0
    deviation = np.sqrt(2 * step_size * temperatures)[:, None]
    for part in chunks(rounds, between * walkers.size):
        noise = deviation * rng.standard_normal((part, between, *walkers.shape))
        uniform = rng.random((part, *walkers.shape[:2]))
        now = (jnp.arange(turn, turn + part), jnp.asarray(noise), jnp.asarray(uniform))
        walkers = _temper(objective, walkers, jnp.asarray(temperatures), jnp.asarray(step_size, float), now)
        turn += part
    return walkers[:, -1]


@eqx.filter_jit
def _temper(objective: Objective, walkers: Array, temperatures: Array, step: Array, now: tuple[Array, ...]) -> Array:
    levels = len(temperatures)
    gradient, loss = jax.vmap(jax.vmap(objective.gradient)), jax.vmap(jax.vmap(objective))

    def move(w: Array, kick: Array) -> tuple[Array, None]:
        return w - step * gradient(w) + kick, None

    def one_round(w: Array, now: tuple[Array, ...]) -> tuple[Array, None]:
        turn, kicks, uniform = now
        w, _ = jax.lax.scan(move, w, kicks)
        values = loss(w)
        level = jnp.arange(levels)
        partner = level + jnp.where((level + turn) % 2 == 0, 1, -1)
        partner = jnp.where((partner < 0) | (partner >= levels), level, partner)
        gain = (1 / temperatures - 1 / temperatures[partner]) * (values - values[:, partner])
        uniform = uniform[:, jnp.minimum(level, partner)]  # both of a pair decide alike
        return jnp.where((jnp.log(uniform) < gain)[..., None], w[:, partner], w), None

    return jax.lax.scan(one_round, walkers, now)[0]
