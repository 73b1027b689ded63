"""Kernels of wide and of finite networks, and Gaussian processes: neural-tangents, torch.func, GPyTorch."""

import itertools

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work
from ..relu_network import he_weights

WIDTHS = (784, 512, 512, 10)
OUTPUTS = WIDTHS[-1]


def points(count: int) -> Inputs:
    """Inputs of norm √784 in single precision."""
    x = np.random.default_rng(0).normal(size=(count, 784)).astype(np.float32)
    return {"x": x / np.linalg.norm(x, axis=1, keepdims=True) * 28}


def images(count: int) -> Inputs:
    return {"x": np.random.default_rng(1).normal(size=(count, 28, 28, 1)).astype(np.float32)}


def network(count: int) -> Inputs:
    """He's initialisation of the network 784-512-512-10, with biases, and points to take its kernel at."""
    return {**points(count), **he_weights(np.random.default_rng(2), WIDTHS)}


def regression(count: int) -> Inputs:
    """Noisy values of a smooth function of eight variables."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(count, 8))
    return {"x": x, "y": np.sin(x.sum(axis=1)) + 0.1 * rng.normal(size=count)}


def finite_flops(count: int) -> float:
    """Matrix products of the finite kernel: half of the Gram matrices of inputs and of signals, and what gives these.

    Θ = Σ_l (D_l D_lᵀ) ∘ (H_l H_lᵀ ⊗ 1) with H_l (n, width) and D_l (n · outputs, width); D of the last layer is the
    unit matrix for every point. Symmetry leaves half. H takes a forward pass, D one back for every output, without the
    first layer and the last, which only scales.
    """
    rows, weights = count * OUTPUTS, [i * o for i, o in itertools.pairwise(WIDTHS)]
    signals = sum(2 * rows**2 * width for width in WIDTHS[1:-1])
    inputs = sum(2 * count**2 * width for width in WIDTHS[:-1])
    return (signals + inputs) / 2 + 2 * count * sum(weights) + 2 * rows * sum(weights[1:-1])


def side(make: str, **settings) -> Side:
    return Side(LEADLINE, "benchmarks.kernels.leadline_kernels", make, settings=settings)


def neural_tangents(make: str, **settings) -> Side:
    return Side("neural-tangents", "benchmarks.kernels.neural_tangents_065", make, "neural-tangents", settings)


def torch_func(make: str, name: str) -> Side:
    return Side(f"torch.func ({name})", "benchmarks.kernels.torch_func_kernels", make, "torch")


DENSE_POINTS, FINITE_POINTS, FEW_POINTS, PROCESS_POINTS = 5000, 512, 32, 2000

CASES = [
    Case(
        "NTK of 3 hidden ReLU layers, 5,000 points",
        (side("dense"), neural_tangents("dense")),
        lambda: points(DENSE_POINTS),
        tolerance=1e-3,  # the diagonal of neural-tangents is off by 8e-4 in single precision, all else agrees to 1e-6
        asked=2.0,
        # x xᵀ, of which symmetry leaves half; the kernel itself must at least be written
        work=Work(DENSE_POINTS**2 * 784, 4 * DENSE_POINTS**2),
        reason="on one core x xᵀ takes 0.30 of 0.43 s (65 GFlop/s in tiles of 512, of which those on the diagonal are "
        "computed whole), the maps from layer to layer 0.06, and writing tiles and their transposes 0.05.",
    ),
    Case(
        "NTK of 5 convolutions and global average pooling, 4 images",
        (side("convolution"), neural_tangents("convolution")),
        lambda: images(4),
        tolerance=1e-4,
        asked=2.0,
        quick=False,
    ),
    Case(
        "finite NTK of 784-512-512-10, 512 points, all outputs",
        (side("finite"), neural_tangents("finite", implementation="STRUCTURED_DERIVATIVES")),
        lambda: network(FINITE_POINTS),
        tolerance=1e-3,
        asked=5.0,
        work=Work(finite_flops(FINITE_POINTS), 4 * (FINITE_POINTS * OUTPUTS) ** 2),
        reason="products run at 135 GFlop/s on both cores and take 0.22 s, an eighth of it because tiles on the "
        "diagonal are computed whole (smaller and larger tiles are slower); the first touch of the result's "
        "memory takes 0.03, the signals 0.03, writing tiles and mirroring them 0.04.",
    ),
    Case(
        "finite NTK of 784-512-512-10, 32 points, all outputs",
        (
            side("finite"),
            neural_tangents("finite", implementation="STRUCTURED_DERIVATIVES"),
            torch_func("jacobian_contraction", "Jacobian"),
            torch_func("vector_products", "products"),
        ),
        lambda: network(FEW_POINTS),
        tolerance=1e-3,
        work=Work(finite_flops(FEW_POINTS)),
        reason="of 5.7 ms 1.5 are checks and the call from Python, 4 the program: products of 320 rows reach 84 "
        "GFlop/s, the small operations between them take as long.",
    ),
    Case(
        "evidence of a Gaussian process and its gradient, 2,000 points",
        (side("evidence"), Side("GPyTorch", "benchmarks.kernels.gpytorch_evidence", "evidence", "torch")),
        lambda: regression(PROCESS_POINTS),
        tolerance=1e-6,
        # Cholesky factor n³/3, its inverse n³/3 and their product n³/3 (symmetric), for the gradient of log det
        work=Work(PROCESS_POINTS**3, precision="float64"),
        reason="on one core LAPACK's Cholesky factor and the two triangular solves of the inverse take 0.61 of 0.67 s; "
        "solving against the unit matrix does not use its zeros, as LAPACK's potri (0.16 s), which JAX lacks, does.",
    ),
]
