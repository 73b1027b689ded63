"""What holds of every finite chain: invariant laws, periods, return times, occupation, reversal."""

import numpy as np

from leadline import chains
from leadline.chains.named_chains import random_chains
from leadline.data import generator
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly
from leadline.presentation import figure
from leadline.presentation.figure.chain_pictures import eigenvalue_plane


def _converges(chain) -> bool:
    try:
        chains.invariant_law(chain, "power")
    except ValueError:
        return False
    return True


def _corner(laws) -> np.ndarray:
    """Laws on three states as points of an equilateral triangle."""
    return np.asarray(laws) @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


@claim(sources=("penn",))
def invariant_distribution_existence_uniqueness(
    key, samples: Int(10, 1000, log=True) = 250, states: Int(2, 12) = 8, moves: Real(0.2, 4.0) = 0.6
):
    r"""Existence and uniqueness of invariant distributions.

    Every finite chain has an invariant distribution; there are as many extreme ones as closed classes, and this number
    is the dimension of the null space of Pᵀ − I. One closed class suffices for uniqueness; aperiodicity is needed only
    for the law at time t to converge.

    $$\dim \ker (P^{\top} - I) = \#\{\text{closed classes}\} \ge 1$$

    Check: Random sparse chains (about `moves` extra moves per row), the identity, two blocks, and the 2-cycle.
    """
    drawn = random_chains(samples, states, density=min(1.0, moves / states), key=key)
    closed = np.array([len(chains.closed_classes(c)) for c in drawn])
    singular = np.linalg.svd(np.stack([c.dense.T - np.eye(states) for c in drawn]), compute_uv=False)
    nullity = (singular < 1e-10).sum(axis=1)
    yield exactly(nullity, closed, f"nullity of Pᵀ − I, against closed classes, {samples} chains")
    yield at_least(closed.min(), 1, "least number of closed classes")
    worst = max(np.abs(laws @ c.matrix - laws).max() for c in drawn[:40] for laws in [chains.invariant_laws(c)])
    yield at_most(worst, 1e-12, "violation of Pᵀπ = π by the law of each closed class, 40 chains")
    rng = generator(key)
    identity, blocks = chains.FiniteChain(np.eye(3)), chains.FiniteChain([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    law = rng.dirichlet(np.ones(3))
    yield close(identity.propagate(law), law, "a random law under the identity, against itself", atol=1e-15)
    ends, share = chains.invariant_laws(blocks), rng.uniform(0.2, 0.8)
    yield exactly(len(ends), 2, "extreme invariant laws of two blocks")
    mixed = share * ends[0] + (1 - share) * ends[1]
    yield close(blocks.propagate(mixed), mixed, "a mixture of the two blocks' laws, against itself", atol=1e-15)
    flip = chains.cycle_chain(2)
    yield exactly(len(chains.invariant_laws(flip)), 1, "extreme invariant laws of the 2-cycle")
    yield exactly(_converges(flip), False, "laws of the 2-cycle converge")
    far = chains.total_variation(flip.laws(0, 9), np.full(2, 0.5))
    yield close(far, 0.5, "TV to π of the 2-cycle, steps 0 to 9", atol=0.0)
    yield exactly(_converges(chains.lazy_chain(flip)), True, "laws of the lazy 2-cycle converge")
    corners = _corner(np.eye(3))
    outline, one = np.vstack([corners, corners[:1]]), _corner(chains.invariant_laws(chains.mole_chain()))
    title = "Invariant laws: a point, a segment, the whole triangle"
    lines = {"identity: the triangle": tuple(outline.T), "two blocks: a segment": tuple(_corner(ends).T)}
    points = {"mole: one point": one, "mixture of two blocks": _corner(mixed[None])}
    labels = [(*corners[i], f"state {i + 1}") for i in range(3)]
    domain = ((-0.15, 1.25), (-0.1, 1.05))
    yield figure.plane(title, "", "", lines=lines, points=points, labels=labels, domain=domain, axes=False)


def _cyclic_chain(period: int, width: int, rng: np.random.Generator):
    """Random moves from each of `period` groups of `width` states into the next group."""
    matrix = np.zeros((period * width, period * width))
    for k in range(period):
        here = slice(k * width, (k + 1) * width)
        after = np.arange((k + 1) * width, (k + 2) * width) % (period * width)
        matrix[here, after] = rng.dirichlet(np.ones(width), size=width)
    return chains.FiniteChain(matrix)


@claim(sources=("penn",))
def periodicity_and_lazy_chains(key, longest: Int(2, 12) = 12, width: Int(1, 5) = 3, shown: Int(2, 12) = 6):
    r"""Periodicity and lazy chains.

    The period is one number for a class: the greatest common divisor of the return times, and the number of
    eigenvalues of modulus 1. One positive self-transition makes a class aperiodic; the lazy chain (P + I)/2 has period
    1, the same π, and eigenvalues (1 + λ)/2.

    $$\lambda \mapsto \tfrac12 (1 + \lambda), \quad \lambda^k = 1 \text{ for the } k\text{-cycle}$$
    """
    rng = generator(key)
    lengths = np.arange(2, longest + 1)
    cycles = [chains.cycle_chain(int(k)) for k in lengths]
    random = [_cyclic_chain(int(k), width, rng) for k in lengths]
    for name, family in (("cycles", cycles), ("random chains round k groups", random)):
        classes = [chains.communicating_classes(c) for c in family]
        yield exactly([c[0].period for c in classes], lengths, f"periods, {name}")
        values = [np.linalg.eigvals(c.dense) for c in family]
        on_circle = [int(np.sum(np.abs(np.abs(v) - 1) < 1e-8)) for v in values]
        yield exactly(on_circle, lengths, f"eigenvalues of modulus 1, {name}")
        lazy = [chains.lazy_chain(c) for c in family]
        yield exactly([chains.communicating_classes(c)[0].period for c in lazy], 1, f"periods of the lazy {name}")
        pairs = zip(family, lazy, strict=True)
        off = max(np.abs(chains.invariant_law(a) - chains.invariant_law(b)).max() for a, b in pairs)
        yield at_most(off, 1e-12, f"π of the lazy chain minus π, {name}")
    for k, cycle in zip(lengths, cycles, strict=True):
        roots = np.exp(2j * np.pi * np.arange(k) / k)
        for what, chain, expected in (
            ("the cycle, against roots of unity", cycle, roots),
            ("the lazy cycle, against (1 + λ)/2", chains.lazy_chain(cycle), (1 + roots) / 2),
        ):
            found = np.linalg.eigvals(chain.dense)
            apart = np.abs(found[:, None] - expected).min(axis=0).max()
            if k in (2, longest):
                yield at_most(apart, 1e-10, f"eigenvalues of {what}, k = {k}")
    last = cycles[-1]
    after = last.propagate(0, longest)
    yield close(after, last.law(0), "law of the longest cycle after k steps: back at the start", atol=0.0)
    far = chains.total_variation(chains.lazy_chain(last).step_matrix(4000), np.full(longest, 1 / longest)).max()
    yield at_most(far, 1e-12, "TV to π of the lazy cycle after 4000 steps")
    looped = last.dense.copy()
    looped[0] = 0.9 * looped[0] + 0.1 * np.eye(longest)[0]
    period = chains.communicating_classes(chains.FiniteChain(looped))[0].period
    yield exactly(period, 1, "period of the longest cycle once one state may stay put")
    before = np.linalg.eigvals(_cyclic_chain(shown, width, rng).dense)
    first = eigenvalue_plane(f"Period {shown}: {shown} eigenvalues of modulus 1", {"λ": before})
    second = eigenvalue_plane("Lazy: (1 + λ)/2", {"(1 + λ)/2": (1 + before) / 2})
    title = f"Laziness halves 1 − λ: of {shown} eigenvalues on the circle only 1 stays"
    yield figure.beside(title, first, second)
