"""Modes of a linear recurrence, and why nearly every matrix has them."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from leadline import data, sequences
from leadline.evidence import Int, Real, at_least, at_most, claim, close, reference, slope
from leadline.presentation import figure

EPS = float(np.finfo(float).eps)


@claim(sources=("eth", "sheet"), shows=("sequences.diagonalise", "sequences.LinearStateSpace"))
def linear_recurrence_diagonalisation(
    key, size: Int(2, 8) = 4, length: Int(20, 500) = 200, radius: Real(0.3, 0.95) = 0.8
):
    r"""A linear recurrence is a bundle of scalar ones.

    In the coordinates of its eigenvectors the recurrence falls apart into scalar ones, with m products a step in place
    of m². The way back multiplies rounding errors by the condition number of the eigenvectors: harmless for normal
    matrices, ruinous near defective ones.

    $$A = P \Lambda P^{-1}, \quad \zeta_{t+1} = \Lambda \zeta_t + P^{-1}B x_t, \quad z_t = P \zeta_t, \qquad
    \max_t \|P\zeta_t - z_t\| \lesssim \varepsilon\, \mathrm{cond}(P) \max_t \|z_t\|$$

    Assumes: A has a basis of eigenvectors, over the complex numbers; its spectral radius is below 1.

    Check: orthogonal, random and nearly defective matrices, all of the same spectral radius; the constant is the size
    times the memory of the recurrence; operations of one step as XLA counts them.
    """
    rng = data.generator(key)
    b, xs = rng.normal(size=(size, 1)), rng.normal(size=(length, 1))
    turned = np.linalg.qr(rng.normal(size=(size, size)))[0]
    drawn = rng.normal(size=(size, size))
    cases = {"orthogonal": radius * turned, "random": radius * drawn / np.abs(np.linalg.eigvals(drawn)).max()}
    corners = 10.0 ** -np.arange(2, 12, 2)
    for corner in corners:
        block = sequences.perturbed_jordan_block(size, corner)
        ring = corner ** (1 / size)
        cases[f"Jordan block, corner {corner:.0e}"] = (radius - ring * radius / 2) * np.eye(size) + radius / 2 * block
    constant = 10 * size / (1 - radius)
    conditions, errors = [], []
    for name, a in cases.items():
        layer = sequences.LinearStateSpace(jnp.asarray(a), jnp.asarray(b))
        looped, modal = np.asarray(layer.states(xs)), np.asarray(layer.states(xs, by="diagonal"))
        condition = sequences.diagonalise(a).condition
        error = np.abs(looped - modal).max() / np.abs(looped).max()
        conditions.append(condition)
        errors.append(max(error, EPS / 10))
        what = f"{name}: error of the modal form, in units of the rounding error"
        yield at_most(error / EPS, constant * condition, what)
    grown = errors[-1] / errors[0]
    what = f"growth of the error from orthogonal to cond(P) = {conditions[-1]:.1g}"
    yield at_least(grown, 10.0, what).given(conditions[-1] > 1e5, "the last matrix is nearly defective")
    sizes = np.array([16, 32, 64, 128])
    ratio = [_operations(m, False) / _operations(m, True) for m in sizes]
    yield slope(sizes, ratio, 1.0, "operations of a dense step over those of a modal one, by the size m", within=0.1)
    order = np.argsort(conditions)
    spread = np.array(conditions)[order]
    yield figure.curves(
        "The error of the modal form follows the condition of the eigenvectors",
        "cond(P)",
        "largest error of a state, relative",
        lines={"ε cond(P)": (spread, EPS * spread), "bound": (spread, constant * EPS * spread)},
        points={"measured": (spread, np.array(errors)[order])},
        log="xy",
    )


def _operations(size: int, modal: bool) -> float:
    """Floating-point operations of one step, as XLA counts them, in real numbers of the same kind."""
    shape = (size,) if modal else (size, size)
    a, z = jax.ShapeDtypeStruct(shape, jnp.float64), jax.ShapeDtypeStruct((size,), jnp.float64)
    step = (lambda a, z, u: a * z + u) if modal else (lambda a, z, u: a @ z + u)
    return jax.jit(step).lower(a, z, z).compile().cost_analysis()["flops"]


@claim(sources=("eth",), shows=("sequences.perturbed_jordan_block", "sequences.eigenvalue_gaps"))
def generic_diagonalisability(
    key, size: Int(2, 8) = 4, corner: Real(1e-8, 1e-2, log=True) = 1e-8, draws: Int(100, 10000) = 10000
):
    r"""Almost every matrix has distinct eigenvalues.

    The real matrices with a repeated eigenvalue are the zeros of a polynomial, a null set: a matrix with a density has
    distinct complex eigenvalues and is diagonalisable. Near the exceptions it is so only just. A Jordan block of size m
    with ε in its corner has its eigenvalues on a circle of radius $\varepsilon^{1/m}$ and eigenvectors of condition
    $\varepsilon^{-(1-1/m)}$.

    $$P(\exists\, i \ne j: \lambda_i = \lambda_j) = 0, \qquad
    \lambda_k = \varepsilon^{1/m} e^{2\pi i k/m}, \quad \mathrm{cond}(P) = \varepsilon^{-(1 - 1/m)}$$

    Assumes: the entries of the matrix have a joint density.

    Check: Gaussian matrices; the least gap of eigenvalues against the error that they are computed with (rounding times
    the condition of the eigenvalue).
    """
    rng = data.generator(key)
    matrices = rng.normal(size=(draws, size, size))
    values, vectors = np.linalg.eig(matrices)
    gaps = sequences.eigenvalue_gaps(values.astype(complex))
    yield at_least(gaps.min(), 0.0, f"least distance of two eigenvalues in {draws} Gaussian matrices", strict=True)
    norms = np.linalg.norm(matrices, 2, axis=(1, 2))
    left = np.linalg.inv(vectors)
    worst = np.linalg.norm(left, axis=2).max(
        1
    )  # of the eigenvalues: their left eigenvectors, the right ones have length 1
    doubt = 2 * size * EPS * norms * worst
    yield at_least(gaps / doubt, 1.0, "gap over the error of computed eigenvalues: they are apart for certain")
    block = sequences.perturbed_jordan_block(size, corner)
    found = sequences.diagonalise(block)
    radius, condition = corner ** (1 / size), corner ** -(1 - 1 / size)
    yield close(np.abs(found.eigenvalues), radius, "Jordan block: moduli of the eigenvalues, ε^{1/m}", rtol=1e-6)
    yield close(found.condition, condition, "Jordan block: condition of the eigenvectors, ε^{-(1-1/m)}", rtol=1e-5)
    scaled = np.diag(corner ** (np.arange(size) / size))
    fourier = scaled @ scipy.linalg.dft(size).conj()
    yield close(np.linalg.cond(fourier), condition, "the same from its eigenvectors in closed form", rtol=1e-6)
    if (size, corner) == (4, 1e-8):
        yield reference(found.condition, 1.000e6, "m = 4, ε = 1e-8: condition", digits=4)
        other = sequences.diagonalise(sequences.perturbed_jordan_block(8, 1e-4)).condition
        yield reference(other, 3162.28, "m = 8, ε = 1e-4: condition", digits=6)
    turn = np.linspace(0, 2 * np.pi, 200)
    ring = {f"radius ε^(1/{size}) = {radius:.2g}": (radius * np.cos(turn), radius * np.sin(turn))}
    points = {"eigenvalues": np.stack([found.eigenvalues.real, found.eigenvalues.imag], 1), "ε = 0": np.zeros((1, 2))}
    title = f"A corner of {corner:.0e} moves the eigenvalues of a Jordan block by {radius:.2g}"
    domain = ((-1.2 * radius, 1.2 * radius),) * 2
    yield figure.plane(title, "Re λ", "Im λ", points=points, lines=ring, domain=domain)
