"""Two small chains, in fractions: the mole of three holes, and two states."""

from fractions import Fraction

import numpy as np

from leadline import chains
from leadline.evidence import Int, Real, assume, claim, close, erratum, exactly, reference
from leadline.presentation import figure


def _apart(found, expected) -> float:
    """The largest difference, in fractions."""
    return float(max(abs(p - Fraction(q)) for p, q in zip(found, expected, strict=True)))


@claim(sources=("penn",))
def whack_the_mole_chain(
    key,
    p12: Real(0.0, 0.6) = 0.4,
    p13: Real(0.0, 0.6) = 0.5,
    p21: Real(0.0, 0.6) = 0.4,
    p23: Real(0.0, 0.6) = 0.6,
    p31: Real(0.0, 0.6) = 0.0,
    p32: Real(0.0, 0.6) = 0.6,
):
    r"""Whack-the-mole Markov chain.

    The mole of three holes tends to (12, 27, 37)/76 from any hole; the distance falls by a factor 0.456155 per step,
    and a current of 6/76 goes round 1 → 3 → 2 → 1, so the chain is not reversible.

    $$\lim_t (P^{\top})^t \pi^1 = (12, 27, 37)/76, \quad |\lambda_2| = \tfrac14 + \tfrac{\sqrt{17}}{20}$$

    Assumes: the edited chain has one closed class of period 1.
    """
    off = [[0, p12, p13], [p21, 0, p23], [p31, p32, 0]]
    rows = [[Fraction(str(p)) for p in row] for row in off]
    assume(all(sum(row) <= 1 for row in rows), "the probabilities of leaving a hole sum to at most 1")
    rows = [[1 - sum(row) if i == j else p for j, p in enumerate(row)] for i, row in enumerate(rows)]
    exact = chains.RationalChain(rows)
    closed = chains.closed_classes(exact.chain)
    assume(len(closed) == 1 and closed[0].period == 1, "one closed class of period 1")
    mole = (p12, p13, p21, p23, p31, p32) == (0.4, 0.5, 0.4, 0.6, 0.0, 0.6)
    chain = chains.FiniteChain(exact.chain.matrix, ("1", "2", "3"))
    law, report = exact.invariant_law(), chains.analyse(chain)
    numbers = np.array([float(p) for p in law])
    if mole:
        for t, said in ((1, (".1", ".4", ".5")), (2, (".17", ".34", ".49")), (3, (".153", ".362", ".485"))):
            apart = _apart(exact.propagate((1, 0, 0), t), said)
            yield exactly(apart, 0.0, f"difference of the law after {t} steps from ({', '.join(said)}), in fractions")
        apart = _apart(law, (Fraction(12, 76), Fraction(27, 76), Fraction(37, 76)))
        yield exactly(apart, 0.0, "difference of π from (12, 27, 37)/76, in fractions")
        values = np.sort(report.eigenvalues.real)
        yield close(values, [-0.25 - 17**0.5 / 20, -0.25 + 17**0.5 / 20, 1.0], "eigenvalues of the mole", atol=1e-12)
        far = chains.total_variation(chain.laws(0, 13), numbers)
        yield close(far[13] / far[12], 0.25 + 17**0.5 / 20, "TV at step 13 over that at 12, against |λ₂|", atol=1e-6)
        returns = [float(t) for t in exact.return_times()]
        yield reference(returns, [6.3333, 2.8148, 2.0541], "mean return times of the three holes", digits=5)
        yield reference(report.currents[0, 2], 0.078947, "current from 1 to 3", digits=5)
    kept = numbers > 0
    returns = np.array([float(t) for t in chains.RationalChain(rows).return_times()]) if kept.all() else report.returns
    yield close(returns[kept] * numbers[kept], 1.0, "mean return time × π", rtol=1e-9)
    flow = report.currents
    yield close([flow[0, 1], flow[1, 2]], [flow[2, 0]] * 2, "currents 1→2, 2→3, against 3→1", atol=1e-12)
    rounds = 4000
    mixes, power = (report.gap > 0.01, "a spectral gap above 0.01"), chain.step_matrix(rounds)
    yield close(power, np.tile(numbers, (3, 1)), f"rows of P^{rounds}, against π", atol=1e-9).given(*mixes)
    yield close(power[:, 0], numbers[0], "Pᵗ(1, 0, 0), against the constant π₁", atol=1e-9).given(*mixes)
    laws, times = chain.laws(0, 12), (0, 1, 2, 3, 6, 12)
    places = np.array([(0.0, 1.0), (0.87, -0.5), (-0.87, -0.5)])
    current = flow[0, 2]
    tour = [(0, 2), (2, 1), (1, 0)] if current >= 0 else [(2, 0), (1, 2), (0, 1)]
    arrows = {f"{i + 1} → {j + 1}": [s * places[i] + (1 - s) * places[j] for s in (0.82, 0.2)] for i, j in tour}
    values = {f"hole {i + 1}": {str(t): laws[t, i] for t in times} for i in range(3)}
    bars = figure.bars("π^t, begun in hole 1", "step t", "probability", values=values)
    shapes = {
        "points": {"hole, by π": places},
        "sizes": {"hole, by π": 200 + 2200 * numbers},
        "arrows": arrows if abs(current) > 1e-9 else {},
        "labels": [(x + 0.06, y + 0.06, str(i + 1)) for i, (x, y) in enumerate(places)],
        "domain": ((-1.3, 1.3), (-0.9, 1.4)),
    }
    round_trip = figure.plane(f"Net current {abs(current):.4g} round the holes", "", "", **shapes, axes=False)
    far = chains.total_variation(laws[-1], numbers)
    yield figure.beside(f"The mole's law is within {far:.1g} of π after 12 steps", bars, round_trip)


@claim(sources=("penn",))
def two_state_chain(key, a: Real(0.01, 0.99) = 0.5, b: Real(0.01, 0.99) = 0.4, num_steps: Int(3, 30) = 10):
    r"""Two-state Markov chain.

    Leave state 1 with probability a and state 2 with probability b: then $\pi = \frac{(b, a)}{a + b}$ and the distance
    to it is multiplied by 1 − a − b in each step. The two balance equations are one equation; the normalisation must
    be imposed.

    $$\pi = \frac{(b, a)}{a + b}, \quad \lambda_2 = 1 - a - b$$

    """
    out, back = Fraction(str(a)), Fraction(str(b))
    exact = chains.RationalChain([[1 - out, out], [back, 1 - back]])
    law = exact.invariant_law()
    predicted = (back / (out + back), out / (out + back))
    yield exactly(_apart(law, predicted), 0.0, "difference of π from (b, a)/(a + b), in fractions")
    if (a, b) == (0.5, 0.4):
        yield exactly(_apart(law, ("4/9", "5/9")), 0.0, "difference of π from (4/9, 5/9), in fractions")
    rank = exactly(exact.rank_of_balance(), 1, "rank of Pᵀ − I: one equation for two unknowns")
    yield rank
    classes = chains.communicating_classes(exact.chain)
    yield exactly([len(classes), classes[0].period], 1, "number of classes, and the period of the first")
    factor, t = 1 - a - b, np.arange(num_steps + 1)
    values = np.sort(chains.analyse(exact.chain).eigenvalues.real)
    yield close(values, np.sort([1.0, factor]), "eigenvalues, against 1 and 1 − a − b", atol=1e-12)
    numbers = np.array([float(p) for p in law])
    far = chains.total_variation(exact.chain.laws(0, num_steps), numbers)
    geometric = far[0] * abs(factor) ** t
    yield close(far, geometric, "TV after t steps, against TV₀ |1 − a − b|ᵗ", atol=1e-14)
    doubled = 2 * numbers
    yield close(doubled @ exact.chain.matrix, doubled, "Pᵀ(2π), against 2π", atol=1e-14)
    wrong = close(doubled.sum(), 1.0, "sum of 2π, which solves the balance equations", atol=1e-9)
    yield erratum(wrong, of=rank, by="penn", prints="the normalisation follows from the balance equations")
    shown = far > 1e-14
    title = f"TV to (b, a)/(a + b) falls by {abs(factor):.3g} in every step"
    lines = {"TV₀ |1 − a − b|ᵗ": (t[shown], geometric[shown])}
    points = {"propagated law": (t[shown], far[shown])}
    yield figure.curves(title, "step", "total variation", lines=lines, points=points, log="y")
