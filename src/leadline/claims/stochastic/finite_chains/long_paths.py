"""What one long path shows: return times, occupation, and the path read backwards."""

import jax
import numpy as np

from leadline import chains
from leadline.chains.mixing import asymptotic_variance
from leadline.chains.reversal import is_reversible, triangle_imbalance
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, counts_as, exactly, mean
from leadline.presentation import figure


def _named(name: str, states: int, key) -> "chains.FiniteChain":
    return chains.mole_chain() if name == "mole" else chains.random_irreducible_chain(states, density=0.6, key=key)


@claim(sources=("penn",))
def kac_return_time(
    key,
    chain: OneOf("mole", "random") = "mole",
    states: Int(2, 30) = 8,
    num_steps: Int(10_000, 200_000, log=True) = 40_000,
):
    r"""Kac's return time formula.

    In an irreducible finite chain the expected time until state i is seen again is 1/πᵢ: rare states are rare because
    one waits long for them.

    $$\mathbb{E}_i[\tau_i] = 1 / \pi_i$$

    Assumes: the chain is irreducible.
    """
    key_chain, key_path = jax.random.split(key)
    walk = _named(chain, states, key_chain)
    law = chains.invariant_law(walk)
    yield close(chains.return_times(walk) * law, 1.0, "mean return time × π, every state", rtol=1e-10)
    sizes = zip((3, 10, 40), jax.random.split(key, 3), strict=True)
    for other in [chains.random_irreducible_chain(n, density=0.4, key=k) for n, k in sizes]:
        product = chains.return_times(other) * chains.invariant_law(other)
        yield close(product, 1.0, f"mean return time × π, random chain of {other.states} states", rtol=1e-10)
    state = int(np.argmax(law))
    path = walk.sample(state, num_steps, key=key_path)[0]
    waits = np.diff(np.flatnonzero(path == state))[: int(0.7 * num_steps * law[state])]
    second = (2 * chains.fundamental_matrix(walk, law)[state, state] - law[state]) / law[state] ** 2
    spread = np.sqrt(second - law[state] ** -2)
    yield mean(waits, 1 / law[state], f"mean of {len(waits)} returns to one state", deviation=max(spread, 1e-9))
    # The law of the return time: walk until the state is met.
    longest = int(min(waits.max(), 40))
    taboo, alive, chance = walk.dense.copy(), walk.dense[state].copy(), []
    taboo[state] = 0.0
    for _ in range(longest):
        chance.append(alive[state])
        alive = np.where(np.arange(walk.states) == state, 0.0, alive) @ taboo
    ticks = np.arange(1, longest + 1)
    title = f"Returns take {waits.mean():.4g} steps on average, 1/π = {1 / law[state]:.4g}"
    lines = {"exact law": (ticks, chance)}
    points = {f"{len(waits)} returns": (ticks, np.bincount(waits, minlength=longest + 1)[1 : longest + 1] / len(waits))}
    rules = {f"1/π = {1 / law[state]:.4g}": ("x", 1 / law[state])}
    yield figure.curves(title, "return time", "probability", lines=lines, points=points, rules=rules)


@claim(sources=("penn",))
def occupation_time(
    key,
    chain: OneOf("mole", "random") = "mole",
    states: Int(2, 20) = 6,
    num_steps: Int(100, 3000, log=True) = 1000,
    paths: Int(50, 400) = 200,
):
    r"""Occupation time of a state.

    The fraction of time that one path of an irreducible chain spends in state i tends to πᵢ; its variance is about
    πᵢ(1 − πᵢ)τᵢ/T with the autocorrelation time τᵢ from the fundamental matrix. Paths of a reducible chain disagree
    for ever.

    $$\operatorname{Var}\Big[\frac1T \sum_t 1_{w^t = i}\Big] \approx \pi_i (1 - \pi_i)\, \tau_i / T$$

    Assumes: the chain is irreducible.
    """
    key_chain, key_path, key_blocks = jax.random.split(key, 3)
    walk = _named(chain, states, key_chain)
    law = chains.invariant_law(walk)
    state = int(np.argmax(law))
    seen = (np.arange(walk.states) == state).astype(float)
    exact = chains.time_average_variance(walk, seen, num_steps, law)
    tau = asymptotic_variance(walk, seen, law) / (law[state] * (1 - law[state]))
    # T·Var = σ² + O(1/T): the difference falls like the sum of lagged correlations over T.
    later = chains.time_average_variance(walk, seen, 10 * num_steps, law)
    limit = law[state] * (1 - law[state]) * tau
    rest = (num_steps * exact - limit) / 10
    yield close(10 * num_steps * later - limit, rest, "T Var − π(1 − π)τ at 10 T, against a tenth of it", atol=1e-9)
    inside = walk.sample(law, num_steps - 1, paths=paths, key=key_path) == state
    fractions = inside.mean(axis=1)
    what = f"fraction of {num_steps} steps in one state, {paths} paths"
    yield mean(fractions, law[state], what, deviation=exact**0.5)
    squares = (fractions - law[state]) ** 2 / exact
    yield mean(squares, 1.0, "squared error of the fraction over its variance", deviation=2**0.5)
    blocks = chains.FiniteChain(np.kron(np.eye(2), np.full((2, 2), 0.5)))
    apart = (blocks.sample([0.25] * 4, 200, paths=paths, key=key_blocks) < 2).mean(axis=1)
    yield exactly(np.unique(apart), [0.0, 1.0], "fractions of time in the first of two blocks")
    times = np.unique(np.geomspace(10, num_steps, 60).astype(int))
    width = np.array([4 * chains.time_average_variance(walk, seen, int(t), law) ** 0.5 for t in times])
    running = np.cumsum(inside[:3], axis=1)[:, times - 1] / times
    title = f"Running fractions stay within 4 predicted errors of π = {law[state]:.4g}; τ = {tau:.3g} steps"
    lines = {"π": (times, np.full(len(times), law[state]))}
    bands = {"π ± 4 predicted errors": (times, law[state] - width, law[state] + width)}
    points = {f"path {k + 1}": (times, running[k]) for k in range(3)}
    y = "fraction of time in the state"
    yield figure.curves(title, "steps", y, lines=lines, bands=bands, points=points, log="x")


@claim(sources=("penn",))
def reverse_chain(
    key, chain: OneOf("mole", "random") = "mole", states: Int(3, 20) = 6, pairs: Int(5000, 200_000, log=True) = 50_000
):
    r"""Time reversal of a Markov chain.

    A stationary path read backwards is a chain with matrix $\pi_j P_{ji}/\pi_i$: its rows sum to 1, it has the same π,
    and reversed again it is P. It equals P exactly if all currents vanish, or if all cycles have equal products both
    ways (Kolmogorov).

    $$P^{\mathrm{rev}}_{ij} = \frac{\pi_j P_{ji}}{\pi_i}$$

    Assumes: the chain is irreducible.
    """
    key_chain, key_path = jax.random.split(key)
    walk = _named(chain, states, key_chain)
    law = chains.invariant_law(walk)
    back = chains.reverse_chain(walk, law)
    yield close((walk.dense.T * law / law[:, None]).sum(axis=1), 1.0, "row sums of π_j P_ji/π_i", atol=1e-12)
    yield close(back.propagate(law), law, "π after a step of the reversed chain, against π", atol=1e-12)
    yield close(chains.reverse_chain(back).dense, walk.dense, "reversed twice, against P", atol=1e-12)
    flows = chains.currents(walk, law)
    yield at_least(np.abs(flows).max(), 1e-6, "largest current of P").given(walk.states > 2, "three states")
    yield exactly(is_reversible(walk, law), False, "P is reversible")
    even = chains.metropolis_chain(law)
    yield at_most(np.abs(chains.currents(even, law)).max(), 1e-12, "largest current of the Metropolis chain")
    yield close(chains.invariant_law(even), law, "π of the Metropolis chain", atol=1e-12)
    again = chains.reverse_chain(even).dense
    yield close(again, even.dense, "the Metropolis chain reversed, against itself", atol=1e-12)
    yield at_most(triangle_imbalance(even), 1e-12, "difference of cycle products, Metropolis")
    uneven = at_least(triangle_imbalance(walk), 1e-6, "difference of cycle products, the chain")
    yield uneven.given(chain == "mole", "the mole, whose only cycle is a triangle")
    path = walk.sample(law, 1, paths=pairs, key=key_path)
    counts = np.zeros((walk.states, walk.states))
    np.add.at(counts, (path[:, 1], path[:, 0]), 1)
    joint = law[:, None] * back.dense
    what = f"pairs (later, earlier) of {pairs} stationary moves, against π_i P^rev_ij"
    yield counts_as(counts, joint / joint.sum(), what)
    axes = {"xs": list(walk.names), "ys": list(walk.names), "text": len(law) < 8}
    ahead = figure.heatmap("P: row now, column next", "next", "now", values=walk.dense, **axes)
    behind = figure.heatmap("P reversed: row now, column before", "before", "now", values=back.dense, **axes)
    apart = np.abs(back.dense - walk.dense).max()
    yield figure.beside(f"Forwards and backwards differ by up to {apart:.3g}: not reversible", ahead, behind)
