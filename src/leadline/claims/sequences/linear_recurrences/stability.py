"""When a linear recurrence stays bounded, and how long it remembers."""

import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, slope
from leadline.presentation import figure


@claim(sources=("eth", "sheet"), shows=("sequences.recurrence_stability", "sequences.power_norms"))
def linear_recurrence_stability(
    key, radius: Real(0.5, 0.99) = 0.95, angle: Real(0.1, 3.0) = 0.7, length: Int(50, 1000) = 400
):
    r"""Stability of a linear recurrence.

    Without inputs the state stays bounded if and only if no eigenvalue lies outside the unit circle and those on it
    have all their eigenvectors. Every bounded input keeps it bounded if and only if all modes that the input reaches
    lie inside. On the circle an input in resonance grows linearly, a Jordan block as a polynomial. A mode inside
    forgets in $1/(-\ln|\lambda|)$ steps; a matrix that is not normal may grow first.

    $$|z_k| = |\lambda|^k, \qquad \lambda = x_t^{1/t} = e^{i\varphi}: \; |z_t| = t, \qquad
    \|J^k\| \sim k^{m-1}/(m-1)!$$

    Assumes: the matrix does not change with time.

    Check: impulse responses; a resonant input; the verdicts for six matrices against their simulated powers.
    """
    rng = data.generator(key)
    value = radius * np.exp(1j * angle)
    steps = np.arange(length)
    unit = np.zeros((length, 1), complex)
    unit[0] = 1.0
    response = np.asarray(sequences.linear_recurrence(np.array([value]), unit))[:, 0]
    apart = np.abs(response - value**steps)
    yield at_most(apart, 1e-12, "response to one unit input, distance from λᵏ")
    report = sequences.recurrence_stability(np.array([[value]]))
    kept = np.abs(response) > 1e-250
    fitted = np.polyfit(steps[kept], np.log(np.abs(response[kept])), 1)[0]
    yield close(-1 / fitted, report.horizons[0], "memory from the fitted decay, against 1 / (-ln |λ|)", rtol=1e-9)
    tone = np.exp(1j * angle * (steps + 1))[:, None]
    resonant = np.abs(np.asarray(sequences.linear_recurrence(np.array([np.exp(1j * angle)]), tone))[:, 0])
    yield close(resonant, steps + 1.0, "|λ| = 1 in resonance: the state after t steps, against t", rtol=1e-10)
    inside = np.abs(np.asarray(sequences.linear_recurrence(np.array([value]), tone))[:, 0])
    what = "the same input at |λ| < 1: largest state, against 1 / (1 - |λ|)"
    yield at_most(inside.max(), 1 / (1 - radius), what, rtol=1e-10)
    for size in (2, 3):
        norms = sequences.power_norms(sequences.perturbed_jordan_block(size, 0.0, 1.0), 4000)[1000:]
        powers = np.arange(1000, 4001)
        what = f"Jordan block of size {size} at 1: growth of ‖Jᵏ‖ as a power of k"
        yield slope(powers, norms, size - 1.0, what, within=0.01)
    yield from _verdicts(rng)
    gain = 4.0
    skewed = np.array([[radius, gain], [0.0, radius]])
    norms = sequences.power_norms(skewed, length)
    peak = gain / (-np.log(radius) * np.e * radius)
    yield at_least(norms.max(), peak * radius, "not normal: largest ‖Aᵏ‖, although |λ| < 1").given(
        length > -2 / np.log(radius), "the peak lies within the steps"
    )
    few = np.unique(np.linspace(1, length - 1, 30).astype(int))
    yield figure.curves(
        f"A mode of modulus {radius:.2g} forgets in {report.horizons[0]:.3g} steps; on the circle resonance grows",
        "steps",
        "modulus of the state",
        lines={f"{radius:.2g}ᵏ": (steps, radius**steps), "t": (steps[1:], steps[1:] + 1.0)},
        points={
            "one unit input": (few, np.abs(response)[few]),
            "resonance at |λ| = 1": (few, resonant[few]),
            "the same tone inside": (few, inside[few]),
            "‖Aᵏ‖, not normal": (few, norms[few]),
        },
        log="y",
    )


def _verdicts(rng: np.random.Generator):
    """Six matrices in random coordinates: what the eigenvalues say, and what powers do over 3000 steps."""
    turn = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
    cases = {
        "decaying modes": (np.diag([0.5, -0.9, 0.2]), np.ones((3, 1)), True, True),
        "a rotation": (turn, np.eye(2), True, False),
        "1 twice, with two eigenvectors": (np.diag([1.0, 1.0, 0.5]), np.ones((3, 1)), True, False),
        "1 twice, with one eigenvector": (np.array([[1.0, 1.0], [0.0, 1.0]]), np.eye(2), False, False),
        "a growing mode": (np.diag([1.01, 0.3]), np.ones((2, 1)), False, False),
        "a growing mode that no input reaches": (np.diag([1.01, 0.3]), np.array([[0.0], [1.0]]), False, True),
    }
    for name, (a, b, free, driven) in cases.items():
        basis = np.linalg.qr(rng.normal(size=a.shape))[0]
        moved, entering = basis @ a @ basis.T, basis @ b
        report = sequences.recurrence_stability(moved, entering)
        norms = sequences.power_norms(moved, 3000)
        bounded = bool(norms[1500:].max() < 1.5 * norms[:1500].max())
        yield exactly(report.free_response_bounded, free, f"{name}: bounded without inputs, from eigenvalues")
        yield exactly(bounded, free, f"{name}: bounded without inputs, from 3000 powers")
        total = np.cumsum([np.abs(p).sum() for p in _responses(moved, entering, 3000)])
        settles = bool(total[-1] < 1.01 * total[1500])
        yield exactly(report.input_response_bounded, driven, f"{name}: bounded for bounded inputs, from eigenvalues")
        yield exactly(settles, driven, f"{name}: Σ |Aᵏ B| converges, over 3000 steps")


def _responses(a: np.ndarray, b: np.ndarray, num_steps: int):
    """Aᵏ B; what rounding leaves in modes that are not reached is taken off."""
    modes, vectors = np.linalg.eig(a)
    weights = np.linalg.solve(vectors, b.astype(complex))
    weights[np.abs(weights) < 1e-9] = 0
    for k in range(num_steps):
        yield vectors @ (modes[:, None] ** k * weights)
