"""Two small chains, in fractions: the mole of three holes, and two states."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from leadline import chains
from leadline.evidence import Range, assume, claim, close, exactly, figure, printed


@claim(
    "whack-the-mole-chain",
    says=(
        "The mole of three holes tends to (12, 27, 37)/76 from any hole; the distance falls by 0.456155 per step,"
        " and a current of 6/76 goes round 1 → 3 → 2 → 1, so the chain is not reversible."
    ),
    formula=r"\lim_t (P^{\top})^t \pi^1 = (12, 27, 37)/76, \quad |\lambda_2| = \tfrac14 + \tfrac{\sqrt{17}}{20}",
    sources=("penn",),
    assumes=("the edited chain has one closed class of period 1",),
)
def whack_the_mole_chain(
    key,
    p12: Annotated[float, Range(0.0, 0.6)] = 0.4,
    p13: Annotated[float, Range(0.0, 0.6)] = 0.5,
    p21: Annotated[float, Range(0.0, 0.6)] = 0.4,
    p23: Annotated[float, Range(0.0, 0.6)] = 0.6,
    p31: Annotated[float, Range(0.0, 0.6)] = 0.0,
    p32: Annotated[float, Range(0.0, 0.6)] = 0.6,
):
    """All numbers of the mole in fractions; with other probabilities, what holds of every such chain."""
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
            same = exact.propagate((1, 0, 0), t) == tuple(Fraction(s) for s in said)
            yield exactly(same, True, f"π after {t} steps is ({', '.join(said)}), in fractions")
        yield exactly(law == (Fraction(12, 76), Fraction(27, 76), Fraction(37, 76)), True, "π = (12, 27, 37)/76")
        values = np.sort(report.eigenvalues.real)
        yield close(values, [-0.25 - 17**0.5 / 20, -0.25 + 17**0.5 / 20, 1.0], "eigenvalues", atol=1e-12)
        far = chains.total_variation(chain.laws(0, 13), numbers)
        yield close(far[13] / far[12], 0.25 + 17**0.5 / 20, "ratio of TV at step 12", atol=1e-6)
        yield close([float(t) for t in exact.return_times()], [6.3333, 2.8148, 2.0541], "mean return times", atol=5e-5)
        yield close(report.currents[0, 2], 0.078947, "current from 1 to 3", atol=5e-7)
    kept = numbers > 0
    returns = np.array([float(t) for t in chains.RationalChain(rows).return_times()]) if kept.all() else report.returns
    yield close(returns[kept] * numbers[kept], 1.0, "mean return time × π", rtol=1e-9)
    flow = report.currents
    yield close([flow[0, 1], flow[1, 2]], [flow[2, 0]] * 2, "currents 1→2, 2→3, against 3→1", atol=1e-12)
    rounds = 4000
    yield close(chain.step_matrix(rounds), np.tile(numbers, (3, 1)), f"rows of P^{rounds}, against π", atol=1e-9).given(
        report.gap > 0.01, "a spectral gap above 0.01"
    )
    product = chain.step_matrix(rounds) @ np.array([1.0, 0.0, 0.0])
    yield close(product, numbers[0], "Pᵗ(1, 0, 0), against the constant π₁", atol=1e-9).given(
        report.gap > 0.01, "a spectral gap above 0.01"
    )
    wrong = close(product, numbers, "Pᵗ(1, 0, 0) in the limit, against π", atol=1e-6)
    uneven = np.abs(numbers - numbers[0]).max() > 1e-3 and report.gap > 0.01
    yield printed(wrong.given(uneven, "π is not uniform"), "penn", "π = lim Pᵗ π¹, without the transpose")

    laws, times = chain.laws(0, 12), (0, 1, 2, 3, 6, 12)
    places = {0: (0.0, 1.0), 1: (0.87, -0.5), 2: (-0.87, -0.5)}
    current = flow[0, 2]
    tour = [(0, 2), (2, 1), (1, 0)] if current >= 0 else [(2, 0), (1, 2), (0, 1)]
    yield figure.beside(
        f"The mole's law is within {chains.total_variation(laws[-1], numbers):.1g} of π after 12 steps; "
        f"a current of {abs(current):.4g} remains",
        figure.bars(
            "π^t, begun in hole 1",
            x="step t",
            y="probability",
            values={f"hole {i + 1}": {str(t): laws[t, i] for t in times} for i in range(3)},
        ),
        figure.plane(
            f"Net current {abs(current):.4g} round the holes",
            x="",
            y="",
            points={"hole, by π": np.array([places[i] for i in range(3)])},
            sizes={"hole, by π": 200 + 2200 * numbers},
            arrows={
                f"{i + 1} → {j + 1}": (
                    0.82 * np.array(places[i]) + 0.18 * np.array(places[j]),
                    0.2 * np.array(places[i]) + 0.8 * np.array(places[j]),
                )
                for i, j in tour
            }
            if abs(current) > 1e-9
            else {},
            labels=[(places[i][0] + 0.06, places[i][1] + 0.06, str(i + 1)) for i in range(3)],
            domain=((-1.3, 1.3), (-0.9, 1.4)),
            axes=False,
        ),
    )


@claim(
    "two-state-chain",
    says=(
        "Leave state 1 with probability a and state 2 with b: π = (b, a)/(a + b) and the distance to it is "
        "multiplied by 1 − a − b in each step. The two balance equations are one equation; the normalisation must"
        " be imposed."
    ),
    formula=r"\pi = \frac{(b, a)}{a + b}, \quad \lambda_2 = 1 - a - b",
    sources=("penn",),
)
def two_state_chain(
    key,
    a: Annotated[float, Range(0.01, 0.99)] = 0.5,
    b: Annotated[float, Range(0.01, 0.99)] = 0.4,
    steps: Annotated[int, Range(3, 30)] = 10,
):
    """The law in fractions, the rank of the balance equations, and the total variation step by step."""
    exact = chains.RationalChain([[1 - Fraction(str(a)), Fraction(str(a))], [Fraction(str(b)), 1 - Fraction(str(b))]])
    law = exact.invariant_law()
    total = Fraction(str(a)) + Fraction(str(b))
    yield exactly(law == (Fraction(str(b)) / total, Fraction(str(a)) / total), True, "π = (b, a)/(a + b), in fractions")
    if (a, b) == (0.5, 0.4):
        yield exactly(law == (Fraction(4, 9), Fraction(5, 9)), True, "π = (4/9, 5/9)")
    yield exactly(exact.rank_of_balance(), 1, "rank of Pᵀ − I")
    report = chains.analyse(exact.chain)
    yield exactly(report.irreducible and report.aperiodic, True, "irreducible and aperiodic")
    factor = 1 - a - b
    others = np.sort(report.eigenvalues.real)
    yield close(others, np.sort([1.0, factor]), "eigenvalues", atol=1e-12)
    numbers = np.array([float(p) for p in law])
    far = chains.total_variation(exact.chain.laws(0, steps), numbers)
    yield close(
        far, far[0] * abs(factor) ** np.arange(steps + 1), "TV after t steps, against TV₀ |1 − a − b|ᵗ", atol=1e-14
    )
    doubled = 2 * numbers
    yield close(doubled @ exact.chain.matrix, doubled, "Pᵀ(2π), against 2π", atol=1e-14)
    yield printed(
        close(doubled.sum(), 1.0, "sum of 2π, which solves the balance equations", atol=1e-9),
        "penn", "the normalisation follows from the balance equations",
    )  # fmt: skip
    shown = far > 1e-14
    yield figure.curves(
        f"TV to (b, a)/(a + b) falls by {abs(factor):.3g} in every step",
        x="step",
        y="total variation",
        lines={
            "TV₀ |1 − a − b|ᵗ": (np.arange(steps + 1)[shown], (far[0] * abs(factor) ** np.arange(steps + 1))[shown])
        },
        points={"propagated law": (np.arange(steps + 1)[shown], far[shown])},
        log="y",
    )
