"""Finite Markov chains: what they are, what can be read off them, and two small ones in fractions."""

from fractions import Fraction

import jax
import numpy as np

from leadline import chains
from leadline.chains.named_chains import rational_mole, reflected_walk, walk_with_late_returns
from leadline.evidence import Int, OneOf, Real, erratum, instrument, method, model
from leadline.evidence.relations import at_least, at_most, close, counts_as, exactly
from leadline.presentation import figure
from leadline.presentation.figure.chain_pictures import eigenvalue_plane, ring


def _refusal(action) -> str:
    try:
        action()
    except ValueError as problem:
        return str(problem)
    return ""


@model(sources=("penn",), shows=("chains.RationalChain",))
def markov_chain(
    key,
    chain: OneOf("mole", "random") = "mole",
    states: Int(2, 20) = 6,
    density: Real(0.1, 1.0) = 0.5,
    num_steps: Int(1, 50) = 4,
    paths: Int(1000, 200_000, log=True) = 100_000,
):
    r"""Finite Markov chain.

    A finite chain is a matrix whose row i is the distribution of the next state when the present one is i. The law of
    the state moves by the transposed matrix, and the t-th power of the matrix holds the t-step probabilities.

    $$\pi^{t+1} = P^{\top} \pi^t, \quad (P^t)_{ij} = P(w^t = j \mid w^0 = i)$$
    """
    key_chain, key_path = jax.random.split(key)
    mole = chain == "mole"
    walk = chains.mole_chain() if mole else chains.random_irreducible_chain(states, density=density, key=key_chain)
    laws = walk.laws(0, num_steps)
    yield close(walk.matrix.sum(axis=1), 1.0, "sums of the rows", atol=1e-12)
    yield close(laws[-1], walk.step_matrix(num_steps)[0], "law after t steps, against row 0 of Pᵗ", atol=1e-12)
    sampled = walk.sample(0, num_steps, paths=paths, key=key_path)
    counts = np.bincount(sampled[:, -1], minlength=walk.states)
    yield counts_as(counts, laws[-1], f"states of {paths} paths after {num_steps} steps")
    t = min(num_steps, 20)
    exact = [float(p) for p in rational_mole().propagate((1, 0, 0), t)]
    yield close(chains.mole_chain().propagate(0, t), exact, "law of the mole, against fractions", atol=1e-14)
    said = _refusal(lambda: chains.FiniteChain([[0.5, 0.5], [0.4, 0.5]]))
    yield exactly("Row 1" in said and "sums to 0.9" in said, True, "a row with sum 0.9 is refused by its number")
    said = _refusal(lambda: chains.FiniteChain([[1.5, -0.5], [0.0, 1.0]]))
    yield exactly("P[0, 1] = -0.5" in said, True, "a negative entry is refused by its place")
    shown = sorted({0, 1, min(2, num_steps), num_steps})
    now = laws[-1] / laws[-1].max()
    flow = walk.dense * (1 - np.eye(walk.states))
    nodes = [(x, y, name, p) for (x, y), name, p in zip(ring(walk.states), walk.names, now, strict=True)]
    edges = [(int(i), int(j), float(flow[i, j])) for i, j in np.argwhere(flow > 0)]
    graph = figure.graph(f"The chain at step {num_steps}: dark states are likely", nodes=nodes, edges=edges)
    found = {f"step {t}": laws[t] for t in shown} | {f"{paths} paths, step {num_steps}": counts / paths}
    values = {name: dict(zip(walk.names, law, strict=True)) for name, law in found.items()}
    bars = figure.bars(f"Laws of {walk.states} states", "state", "probability", values=values)
    spread = np.sum(laws[-1] > 0)
    yield figure.beside(f"Mass 1 in one state has spread over {spread} states after {num_steps} steps", graph, bars)


_KNOWN = ("mole", "lazy cycle", "two blocks", "birth and death", "late returns", "random")


@instrument(sources=("penn",), shows=("chains.communicating_classes", "chains.mixing_time", "chains.currents"))
def markov_chain_analyser(
    key, shown: OneOf(*_KNOWN) = "mole", states: Int(3, 12) = 6, up: Real(0.05, 0.5) = 0.3, down: Real(0.05, 0.5) = 0.4
):
    r"""Markov chain analyser.

    From the matrix alone: which states form a closed class, the period of each, the invariant distributions, mean
    return times, the spectral gap, the mixing time and the net currents. Positive recurrence means a finite expected
    return time; reversible means that the reversed matrix is the same.

    $$P^{\mathrm{rev}}_{ij} = \pi_j P_{ji} / \pi_i, \quad J_{ij} = \pi_i P_{ij} - \pi_j P_{ji}$$

    Check: Chains with known answers: identity, blocks, cycles, birth and death, mole, two states, late returns.
    """
    cycle, lazy = chains.cycle_chain(states), chains.lazy_chain(chains.cycle_chain(states))
    both = np.zeros((states + 2, states + 2))
    both[:2, :2], both[2:, 2:] = 0.5, lazy.matrix
    late = walk_with_late_returns()
    known = {
        "mole": chains.mole_chain(),
        "lazy cycle": lazy,
        "two blocks": chains.FiniteChain(both),
        "birth and death": chains.birth_death_chain(np.full(states - 1, up), np.full(states - 1, down)),
        "late returns": late,
        "random": chains.random_irreducible_chain(states, density=0.4, key=key),
    }
    reports = {name: chains.analyse(chain) for name, chain in known.items()}
    identity = chains.analyse(chains.FiniteChain(np.eye(states)))
    yield exactly(len(identity.closed), states, "closed classes of the identity")
    round_trip = chains.analyse(cycle)
    yield exactly([c.period for c in round_trip.closed], [states], f"period of the {states}-cycle")
    yield close(round_trip.gap, 0.0, "spectral gap of the cycle", atol=1e-12)
    yield exactly(reports["lazy cycle"].closed[0].period, 1, "period of the lazy cycle")
    gap = 1 - np.cos(np.pi / states)
    yield close(reports["lazy cycle"].gap, gap, "spectral gap of the lazy cycle, against 1 − cos(π/n)", atol=1e-10)
    yield exactly(len(reports["two blocks"].closed), 2, "closed classes of two blocks")
    ratio = (up / down) ** np.arange(states)
    yield close(reports["birth and death"].laws[0], ratio / ratio.sum(), "birth and death: π ∝ (up/down)^i", atol=1e-12)
    yield at_most(np.abs(reports["birth and death"].currents).max(), 1e-12, "largest current of birth and death")
    yield close(reports["mole"].returns, [76 / 12, 76 / 27, 76 / 37], "mean return times of the mole", rtol=1e-12)
    yield close(reports["mole"].currents[0, 2], 6 / 76, "current of the mole from 1 to 3", atol=1e-14)
    there = chains.hitting_times(chains.two_state_chain(up, down), 1)[0]
    yield close(there, 1 / up, "mean time from one state to the other, two states", rtol=1e-12)
    for name in ("lazy cycle", "birth and death", "random"):
        t, law = reports[name].mixing, reports[name].laws[0]
        worst = [chains.total_variation(known[name].step_matrix(s), law).max() for s in (t - 1, t)]
        yield at_most(worst[1], 0.25, f"worst TV at the mixing time, {name}")
        yield at_least(worst[0], 0.25, f"worst TV one step before the mixing time, {name}", strict=True)

    # The fair walk on 0, 1, 2, … returns for certain, yet the mean return time of the walk cut at n grows without end.
    short, long = (chains.return_times(reflected_walk(n))[0] for n in (states, 10 * states))
    means = [2.0 * states - 1, 20.0 * states - 1]
    yield close([short, long], means, "mean return to 0 of the fair walk cut at n, against 2n − 1", rtol=1e-9)
    period = exactly(reports["late returns"].closed[0].period, 2, "period with returns after 4, 6, 8, …")
    yield period
    wrong = at_least(late.step_matrix(2)[0, 0], 0.0, "probability to be back after 2 steps, period 2", strict=True)
    prints = "period k: a return has positive probability at all multiples of k"
    yield erratum(wrong, of=period, by="penn", prints=prints)
    mole = known["mole"].matrix
    back = chains.reverse_chain(known["mole"]).matrix
    current = at_least(np.abs(reports["mole"].currents).max(), 1e-3, "largest current of the mole")
    yield current
    wrong = close(back, mole, "reversed matrix of the mole, which exists, against P", atol=1e-12)
    yield erratum(wrong, of=current, by="penn", prints="a chain is reversible when its reversed matrix exists")

    chain, report = known[shown], reports[shown]
    flows = report.currents if report.currents is not None else np.zeros((chain.states, chain.states))
    axes = {"xs": chain.names, "ys": chain.names}
    laws = {f"class {k + 1}": dict(zip(chain.names, law, strict=True)) for k, law in enumerate(report.laws)}
    title = f"Currents up to {flows.max():.3g}"
    yield figure.beside(
        f"Report card, {shown}: {report}",
        figure.heatmap("P: row now, column next", "next", "now", values=chain.dense, **axes, colour="P"),
        eigenvalue_plane(f"Eigenvalues: gap {report.gap:.3g}", {"eigenvalues of P": report.eigenvalues}),
        figure.heatmap(title, "to", "from", values=flows, **axes, colour="current", diverging=True),
        figure.bars("Invariant laws, one for each closed class", "state", "π", values=laws),
    )


@method(sources=("penn",), shows=("chains.invariant_laws",))
def invariant_distribution(key, states: Int(2, 200, log=True) = 20, density: Real(0.2, 1.0) = 0.5):
    r"""Invariant distribution from the balance equations.

    The invariant distribution solves the balance equations and sums to 1. It is found by an eigenvector, by power
    iteration, or by a linear solve in which the normalisation replaces one balance equation. Small chains are solved
    in fractions.

    $$P^{\top} \pi = \pi, \quad \sum_i \pi_i = 1$$

    Assumes: one closed class; aperiodic, for power iteration.

    """
    chain = chains.random_irreducible_chain(states, density=density, key=key)
    routes = {name: chains.invariant_law(chain, name) for name in ("solve", "eigenvector", "power", "elimination")}
    for name in ("eigenvector", "power", "elimination"):
        yield close(routes[name], routes["solve"], f"π by {name}, against the linear solve", atol=1e-12)
    for name, law in routes.items():
        yield close(law @ chain.matrix, law, f"Pᵀπ, against π, by {name}", atol=1e-12)
        yield close(law.sum(), 1.0, f"sum of π by {name}", atol=1e-12)
        yield at_least(law.min(), 0.0, f"least entry of π by {name}")
    size = min(states, 6)
    whole = np.rint(chain.dense[:size, :size] * 20).astype(int) + np.roll(np.eye(size, dtype=int), 1, axis=1)
    exact = chains.RationalChain([[Fraction(int(w), int(row.sum())) for w in row] for row in whole])
    law = exact.invariant_law()
    moved = max(abs(a - b) for a, b in zip(exact.propagate(law), law, strict=True))
    yield exactly(float(moved), 0.0, f"largest entry of Pᵀπ − π in fractions, {size} states")
    yield close(chains.invariant_law(exact.chain), [float(p) for p in law], "π, against fractions", atol=1e-13)
    refused = {"closed classes, {0} and {1}": chains.FiniteChain(np.eye(2)), "period 2": chains.cycle_chain(2)}
    for said, problem in refused.items():
        words = _refusal(lambda problem=problem: chains.invariant_law(problem, "power"))
        yield exactly(said in words, True, f"power iteration is refused with the words “{said}”")
    order = np.argsort(-routes["solve"])
    gap = max(np.abs(routes[name] - routes["solve"]).max() for name in routes)
    title = f"Three routes to π of {states} states differ by {gap:.1g} at most"
    lines = {"linear solve": (np.arange(states), routes["solve"][order])}
    points = {name: (np.arange(states), routes[name][order]) for name in ("eigenvector", "power")}
    yield figure.curves(title, "state, by falling probability", "π", lines=lines, points=points)
