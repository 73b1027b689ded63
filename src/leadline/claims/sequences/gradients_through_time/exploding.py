"""Gradients that explode: growth needs more than a large singular value."""

import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, reference
from leadline.networks.signal.lyapunov import log_growth, log_singular_values
from leadline.presentation import figure

from .vanishing import Elementwise

GAINS = (0.7, 0.9, 1.1, 1.5, 2.0)


@claim(sources=("eth", "sheet", "penn"), shows=("sequences.lyapunov_exponents", "sequences.overflow_step"))
def exploding_gradient_conditions(
    key, units: Int(50, 800) = 200, gain: Real(0.5, 2.0) = 0.9, steps: Int(200, 600) = 300
):
    r"""When gradients explode.

    $\alpha\sigma_1(U) > 1$ is necessary for growth and not sufficient: in a linear network the spectral radius sets the
    rate, and saturation shrinks φ′. A large random tanh network left to itself has a Lyapunov exponent near log g for g
    below 1, and for g clearly above 1 a positive one, far below log g.

    $$\|U^k v\|^{1/k} \to \rho(U), \qquad \lambda_1 \approx \log g \;(g < 1), \qquad 0 < \lambda_1 \ll \log g
    \;(g > 1)$$

    Assumes: U has independent entries N(0, g²/m), and the start is random.

    Check: A linear network at `gain`; a tanh network without inputs for five gains, the first third of its steps left
    out. A unit that doubles is seen to overflow at step 1024.
    """
    rng = data.generator(key)
    gaussian = rng.normal(size=(units, units)) / np.sqrt(units)
    U, v = gain * gaussian, rng.normal(size=(units, 1))
    values = np.linalg.eigvals(U)
    radius, top = np.abs(values).max(), np.linalg.norm(U, 2)
    growth = log_growth([U] * 4000, start=v / np.linalg.norm(v))[2000:, 0].mean()
    # The phase of a leading pair of eigenvalues makes single steps differ; over a long run the mean is log ρ.
    yield close(np.exp(growth), radius, "linear: growth of ‖Uᵏv‖ per step, against the spectral radius", rtol=5e-3)
    yield at_most(np.exp(growth), top, "linear: growth of ‖Uᵏv‖ per step, against σ₁")
    start = jnp.asarray(rng.normal(size=units))
    nothing = jnp.zeros((units, 1))
    inputs = jnp.zeros((steps, 1))
    exponents = {}
    for g in GAINS:
        cell = Elementwise(jnp.asarray(g * gaussian), nothing, "tanh")
        found = sequences.lyapunov_exponents(cell, start, inputs, count=1, burn_in=steps // 3)
        exponents[g] = float(found[0])
        yield at_most(
            exponents[g], np.log(g * np.linalg.norm(gaussian, 2)), f"tanh, g = {g:g}: exponent, against log σ₁"
        )
    for g in (0.7, 0.9):
        yield at_most(exponents[g], 0.0, f"tanh, g = {g:g}: the exponent is negative", strict=True).as_empirical()
        what = f"tanh, g = {g:g}: exponent, against log of the spectral radius"
        yield close(exponents[g], np.log(g * radius / gain), what, atol=0.05).as_empirical()
    for g in (1.5, 2.0):
        yield at_least(exponents[g], 0.0, f"tanh, g = {g:g}: the exponent is positive", strict=True).as_empirical()
        yield at_most(exponents[g], np.log(g) / 2, f"tanh, g = {g:g}: exponent, against ½ log g").as_empirical()
    doubling = sequences.trajectory(lambda z, x: 2 * z, jnp.ones(1), jnp.zeros(1100))
    yield exactly(sequences.overflow_step(doubling), 1024, "a unit that doubles from 1: the step at which it overflows")
    axis = np.linspace(0.6, 2.1, 60)
    yield figure.curves(
        f"A tanh network of {units} units at g = 2 has the exponent {exponents[2.0]:.2f}, far below log 2 = 0.69",
        "gain g",
        "largest Lyapunov exponent",
        lines={"log g": (axis, np.log(axis))},
        points={"measured": (list(exponents), list(exponents.values()))},
        rules={"neither grows nor decays": ("y", 0.0)},
    )


@claim(sources=("penn",))
def matrix_power_asymptotics(
    key, diagonal: Real(0.1, 0.95) = 0.5, shear: Real(0.0, 20.0) = 10.0, power: Int(1, 200) = 60, dim: Int(2, 20) = 8
):
    r"""The spectral radius decides over powers.

    $A^k x$ tends to 0 for every x exactly where the spectral radius is below 1; a norm below 1 is sufficient. Above 1
    it grows unless x has no part in the growing eigenspaces. A non-normal matrix with a small radius and a large norm
    lets powers grow at first and then decay.

    $$\rho(A)^k \le \|A^k\|_2 \le \|A\|_2^k, \qquad A = \begin{pmatrix} a & b \\ 0 & a \end{pmatrix} \Rightarrow A^k =
    a^k \begin{pmatrix} 1 & kb/a \\ 0 & 1 \end{pmatrix}$$

    Assumes: for the example, 0 < a < 1.

    Check: The shear matrix against its closed form, a random normal matrix, and one with an eigenvalue above 1.
    """
    rng = data.generator(key)
    A = np.array([[diagonal, shear], [0.0, diagonal]])
    powers = np.arange(1, max(power, 2) + 1)
    logs = np.array([log_singular_values([A] * k)[0] for k in powers[:: max(1, power // 25)]])
    at = powers[:: max(1, power // 25)]
    closed = np.array(
        [k * np.log(diagonal) + np.log(np.linalg.norm([[1, k * shear / diagonal], [0, 1]], 2)) for k in at]
    )
    yield close(logs, closed, "log ‖Aᵏ‖ of the shear, against its closed form", atol=1e-8)
    norm = np.linalg.norm(A, 2)
    yield at_most(logs, at * np.log(norm), "log ‖Aᵏ‖, against k log ‖A‖", atol=1e-8)
    yield at_least(logs, at * np.log(diagonal), "log ‖Aᵏ‖, against k log ρ", atol=1e-8)
    example = np.array([[0.5, 10.0], [0.0, 0.5]])
    yield reference(np.linalg.norm(example, 2), 10.025, "a = ½, b = 10: ‖A‖", digits=5)
    decayed = float(np.exp(log_singular_values([example] * 60)[0]))
    right = at_most(decayed, 2e-15, "a = ½, b = 10: ‖A⁶⁰‖, although ‖A‖ = 10")
    yield right
    x = np.linalg.svd(example)[2][0]
    grown = np.linalg.norm(np.linalg.matrix_power(example, 60) @ x)
    wrong = at_least(grown, 1.0, "the same: |A⁶⁰x| with x the top right vector, has it grown?")
    yield erratum(
        wrong,
        of=right,
        by="penn",
        prints="Aᵏx blows up where the top singular value is above 1 and x is not orthogonal to its vector",
    )
    Q = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    normal = Q @ np.diag(rng.uniform(-1.2, 1.2, dim)) @ Q.T
    radius = np.abs(np.linalg.eigvalsh(normal)).max()
    found = log_singular_values([normal] * power)[0]
    yield close(found, power * np.log(radius), "normal matrix: log ‖Aᵏ‖, against k log ρ", atol=1e-8 * power)
    values = np.array([1.3] + [0.5] * (dim - 1))
    basis = rng.normal(size=(dim, dim)) + 2 * np.eye(dim)
    growing = basis @ np.diag(values) @ np.linalg.inv(basis)
    inside = basis[:, 1:] @ rng.normal(size=dim - 1)
    few = min(power, 20)
    left = np.linalg.norm(np.linalg.matrix_power(growing, few) @ inside) / np.linalg.norm(inside)
    rounding = 1e-15 * 1.3**few * np.linalg.cond(basis) ** 2 * dim
    what = f"one eigenvalue 1.3, x without a part in its space: |Aᵏx|/|x| at k = {few}, against ½ᵏ"
    yield close(left, 0.5**few, what, atol=rounding)
    yield figure.curves(
        f"Norm {norm:.3g}, spectral radius {diagonal:g}: powers grow to {np.exp(logs.max()):.3g} and then decay",
        "power k",
        "log ‖Aᵏ‖",
        lines={"ρᵏ": (at, at * np.log(diagonal)), "‖A‖ᵏ": (at, at * np.log(norm))},
        points={"‖Aᵏ‖": (at, logs)},
    )
