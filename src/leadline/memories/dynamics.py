"""Running a Hopfield network: one neuron at a time, all at once, or at a temperature.

Asynchronous runs of many states are one compiled loop. A sweep goes through the neurons in blocks: the fields of a
block come from one matrix product, and within the block each flip corrects the fields of the neurons still to come.
The result is that of visiting the neurons one after the other; the cost is that of a matrix product.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray

from .hopfield import FactoredHopfield, HopfieldNetwork, check_signs, energy, sgn

BLOCK = 32  # fastest on a CPU at d = 1000..4000 with 50..300 states; the result does not depend on it


class Retrieval(NamedTuple):
    """Where asynchronous runs ended: states, sweeps that changed something, single flips, and whether they settled."""

    states: Float[Array, "*batch d"]
    sweeps: Int[Array, "*batch"]
    flips: Int[Array, "*batch"]
    converged: Bool[Array, "*batch"]


class SynchronousRun(NamedTuple):
    """Where synchronous runs ended: state, steps before it first appeared, and its period: 1, 2, or 0 if unsettled."""

    states: Float[Array, "*batch d"]
    steps: Int[Array, "*batch"]
    period: Int[Array, "*batch"]


class Trace(NamedTuple):
    """The states before the first and after each visit, and their energies."""

    states: Float[Array, "visits+1 d"]
    energies: Float[Array, " visits+1"]


def asynchronous(
    network: HopfieldNetwork | FactoredHopfield,
    states: Num[Array | np.ndarray, "*batch d"],
    *,
    order: str = "cyclic",
    sweeps: int = 200,
    key: PRNGKeyArray | None = None,
) -> Retrieval:
    """Visit the neurons one by one, X_i ← sgn(Σⱼ w_ij X_j - bᵢ) with sgn(0) = +1, until a sweep changes nothing.

    `order` is "cyclic", or "random" with a `key`: a new permutation for each sweep, shared by all states of the batch.
    At most `sweeps` sweeps are made.

    >>> import jax
    >>> from leadline import data, memories
    >>> patterns = data.random_signs(10, 200, key=jax.random.key(0))
    >>> cues = patterns.at[:, :40].multiply(-1)  # a fifth of the bits is wrong
    >>> run = asynchronous(memories.hebbian_network(patterns), cues)
    >>> bool(run.converged.all()), int((run.states == patterns).all(axis=1).sum())
    (True, 10)
    """
    if order not in ("cyclic", "random"):
        raise ValueError(f'The order must be "cyclic" or "random", but got {order!r}.')
    if order == "random" and key is None:
        raise ValueError('The order "random" draws a permutation for each sweep: pass key=jax.random.key(...).')
    batch, flat = _flatten(network, states)
    # Numbers go in as arrays: a Python number would be a constant, and a new one a new compilation.
    final, counts, flips, settled = _run(network, flat, jnp.asarray(sweeps), key if order == "random" else None)
    return Retrieval(final.T.reshape(*batch, -1), counts.reshape(batch), flips.reshape(batch), settled.reshape(batch))


def glauber(
    network: HopfieldNetwork | FactoredHopfield,
    states: Num[Array | np.ndarray, "*batch d"],
    *,
    temperature: float,
    sweeps: int,
    key: PRNGKeyArray,
) -> Float[Array, "*batch d"]:
    """Heat-bath updates: X_i ← +1 with probability 1/(1 + exp(-2 hᵢ/T)), in cyclic sweeps.

    Their stationary distribution is the Boltzmann distribution, proportional to exp(-H(X)/T). At T = 0 they are
    `asynchronous`.

    >>> import jax, jax.numpy as jnp
    >>> network = HopfieldNetwork(jnp.zeros((1, 1)), bias=jnp.array([-1.0]))  # one neuron in a field h = 1
    >>> ends = glauber(network, jnp.ones((10_000, 1)), temperature=2.0, sweeps=1, key=jax.random.key(0))
    >>> abs(float((ends > 0).mean()) - 0.731) < 0.02  # 1/(1 + exp(-1))
    True
    """
    if not temperature >= 0:
        raise ValueError(f"The temperature must be at least 0, but got {temperature}.")
    batch, flat = _flatten(network, states)
    heat = jnp.asarray(temperature, flat.dtype)
    return _heat(network, flat, heat, jnp.asarray(sweeps), key).T.reshape(*batch, -1)


def synchronous(
    network: HopfieldNetwork | FactoredHopfield, states: Num[Array | np.ndarray, "*batch d"], *, num_steps: int = 1000
) -> SynchronousRun:
    """Update all neurons at once, X ← sgn(W X - b). For symmetric W every run ends with period 1 or 2.

    >>> import jax.numpy as jnp
    >>> network = HopfieldNetwork(jnp.array([[0.0, -1.0], [-1.0, 0.0]]))
    >>> run = synchronous(network, jnp.array([1.0, 1.0]))
    >>> int(run.period)  # (1, 1) <-> (-1, -1)
    2
    """
    batch, flat = _flatten(network, states)
    final, count, period = _run_synchronous(network, flat.T, jnp.asarray(num_steps))
    return SynchronousRun(final.reshape(*batch, -1), count.reshape(batch), period.reshape(batch))


def trace(
    weights: Num[Array | np.ndarray, "d d"],
    state: Num[Array | np.ndarray, " d"],
    visits: Int[Array | np.ndarray, " visits"],
    *,
    bias: Num[Array | np.ndarray, " d"] | None = None,
) -> Trace:
    """Follow one state visit by visit, X_i ← sgn(hᵢ), under any square matrix, also one that breaks the assumptions.

    >>> import jax.numpy as jnp
    >>> path = trace(jnp.array([[0.0, 1.0], [-1.0, 0.0]]), jnp.array([1.0, 1.0]), jnp.array([0, 1, 0, 1]))
    >>> path.states.tolist()  # antisymmetric weights: the state goes round for ever
    [[1.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]
    """
    check_signs(state, "The state")
    weights = jnp.asarray(weights)
    dtype = jnp.result_type(weights, float)
    bias = jnp.zeros(weights.shape[0], dtype) if bias is None else jnp.asarray(bias, dtype)
    states = _visit(weights.astype(dtype), jnp.asarray(state, dtype), jnp.asarray(visits), bias)
    return Trace(states, energy(weights, states, bias))


def _flatten(network, states) -> tuple[tuple[int, ...], Float[Array, "d k"]]:
    check_signs(states, "The states")
    states = jnp.asarray(states, network.bias.dtype)
    d = network.bias.shape[0]
    if states.shape[-1] != d:
        raise ValueError(
            f"The network has {d} neurons, but the states have {states.shape[-1]}: pass states (..., {d})."
        )
    return states.shape[:-1], states.reshape(-1, d).T


def _sweep(network, states, summary, order, noise=None):
    """Visit all neurons once in the given order (padded with d to whole blocks); `noise` (d, k) adds to the fields."""
    blocks = order.reshape(-1, BLOCK)
    bias = network.bias / network.unit

    def visit_block(carry, index):
        states, summary = carry
        before = states.at[index].get(mode="fill", fill_value=1)  # (B, k)
        fields, weights = network.block(summary, before, index)
        fields -= bias.at[index].get(mode="fill", fill_value=0)[:, None]
        if noise is not None:
            fields += noise.at[index].get(mode="fill", fill_value=0) / network.unit

        # Neurons that no state wants to flip would be left as they are: go from flip to flip, in the order of visits.
        def wanting(fields, new, start):
            return ((sgn(fields) != new).any(axis=1)) & (jnp.arange(BLOCK) >= start)

        def visit(carry):
            fields, new, wants = carry
            j = jnp.argmax(wants)
            value = sgn(fields[j])
            fields, new = fields + weights[:, j, None] * (value - new[j]), new.at[j].set(value)
            return fields, new, wanting(fields, new, j + 1)

        start = (fields, before, wanting(fields, before, 0))
        _, after, _ = jax.lax.while_loop(lambda carry: carry[-1].any(), visit, start)
        change = jnp.where((index < len(bias))[:, None], after - before, 0)
        return (states.at[index].add(change, mode="drop"), network.absorb(summary, change, index)), None

    return jax.lax.scan(visit_block, (states, summary), blocks)[0]


def _padded(order: Int[Array, " d"]) -> Int[Array, " padded"]:
    d = order.shape[0]
    return jnp.concatenate([order, jnp.full(-d % BLOCK, d, order.dtype)])


@eqx.filter_jit
def _run(network, states, sweeps, key):
    d, k = states.shape
    cyclic = jnp.arange(d)

    def unsettled(carry):
        return (carry[0] < sweeps) & ~carry[-1].all()

    def sweep(carry):
        step, states, summary, counts, flips, _ = carry
        order = cyclic if key is None else jax.random.permutation(jax.random.fold_in(key, step), d)
        new, summary = _sweep(network, states, summary, _padded(order))
        flipped = jnp.sum(new != states, axis=0)  # each neuron is visited once a sweep, so differences are flips
        return step + 1, new, summary, counts + (flipped > 0), flips + flipped, flipped == 0

    zeros = jnp.zeros(k, int)
    start = (jnp.asarray(0), states, network.summarise(states), zeros, zeros, jnp.zeros(k, bool))
    _, final, _, counts, flips, settled = jax.lax.while_loop(unsettled, sweep, start)
    return final, counts, flips, settled


@eqx.filter_jit
def _heat(network, states, temperature, sweeps, key):
    order = _padded(jnp.arange(states.shape[0]))

    def sweep(step, carry):
        # P(h + T/2 L ≥ 0) = 1/(1 + exp(-2h/T)) for logistic L: a heat-bath step is a sign with a noisy field.
        logistic = jax.random.logistic(jax.random.fold_in(key, step), states.shape, states.dtype)
        return _sweep(network, *carry, order=order, noise=0.5 * temperature * logistic)

    return jax.lax.fori_loop(0, sweeps, sweep, (states, network.summarise(states)))[0]


@eqx.filter_jit
def _run_synchronous(network, states, steps):
    k = states.shape[0]

    def unsettled(carry):
        return (carry[0] < steps) & (carry[-1] == 0).any()

    def step(carry):
        count, previous, current, taken, period = carry
        following = sgn(network.fields(current))
        found = jnp.where((following == current).all(axis=1), 1, jnp.where((following == previous).all(axis=1), 2, 0))
        # A settled state goes on through its cycle; its own count and period are kept.
        arrived = count - (found == 2)
        return (
            count + 1,
            current,
            following,
            jnp.where(period == 0, arrived, taken),
            jnp.where(period == 0, found, period),
        )

    start = (jnp.asarray(0), jnp.zeros_like(states), states, jnp.zeros(k, int), jnp.zeros(k, int))
    _, _, final, taken, period = jax.lax.while_loop(unsettled, step, start)
    return final, taken, period


@jax.jit
def _visit(weights, state, visits, bias):
    def visit(state, i):
        state = state.at[i].set(sgn(weights[i] @ state - bias[i]))
        return state, state

    return jnp.concatenate([state[None], jax.lax.scan(visit, state, visits)[1]])
