"""Which functions a kernel's space holds: membership, evaluation, and the spaces of integral kernels."""

import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, model, reference
from leadline.presentation import figure


def grid(n: int) -> np.ndarray:
    """1/n, 2/n, ..., 1 as a column."""
    return np.arange(1, n + 1)[:, None] / n


@claim(sources=("cam",))
def rkhs_membership(
    key, power: Real(0.2, 3.0) = 0.75, size: Int(128, 1500) = 1000, scale: Real(0.1, 2.0, log=True) = 0.5
):
    r"""Which functions belong to an RKHS.

    The norm of the shortest interpolant of f on nested point sets never falls, and stays bounded if and only if f is
    in the space. For k = min on [0, 1] the squared norm of sin(πx/2) tends to π²/8, that of √x grows like ¼ ln n, and
    that of a step like n.

    $$\|f_n\|^2 = f^T K^{-1} f = n \sum_i \left(f(\tfrac in) - f(\tfrac{i-1}n)\right)^2$$

    Check: The sine, the root and the step are interpolated at n = 10, 100, 1000, powers of x on doubling grids, and a
    Laplace expansion, which belongs to its space.
    """
    cases = {
        "sin(πx/2)": lambda x: np.sin(np.pi * x[:, 0] / 2),
        "√x": lambda x: np.sqrt(x[:, 0]),
        "step at 1/2": lambda x: (x[:, 0] >= 0.5).astype(float),
    }
    sizes, minimum = (10, 100, 1000), kernels.Minimum()
    found = {name: kernels.interpolant_norms(minimum, f, [grid(n) for n in sizes]).squared for name, f in cases.items()}
    for name, f in cases.items():
        exact = [n * np.sum(np.diff(np.concatenate([[0.0], f(grid(n))])) ** 2) for n in sizes]
        yield close(found[name], exact, f"fᵀK⁻¹f for {name}, against n Σ (f(i/n) − f((i−1)/n))²", rtol=1e-8)
    sine, root = found["sin(πx/2)"], found["√x"]
    yield reference(sine, [1.23117, 1.23368, 1.23370], "fᵀK⁻¹f for sin(πx/2) at n = 10, 100, 1000", digits=6)
    yield at_most(sine, np.pi**2 / 8, "fᵀK⁻¹f for sin(πx/2), against ‖f‖² = π²/8", rtol=1e-9)
    yield reference(root, [1.573, 2.149, 2.725], "fᵀK⁻¹f for √x at n = 10, 100, 1000", digits=4)
    what = "growth of fᵀK⁻¹f for √x with ten times the points, against ¼ ln 10"
    yield close(np.diff(root), np.log(10) / 4, what, atol=1e-3)
    yield close(found["step at 1/2"], sizes, "fᵀK⁻¹f for the step, against n", rtol=1e-9)
    nested = [max(4, size // 32) * 2**j for j in range(6)]
    powers = kernels.interpolant_norms(minimum, lambda x: x[:, 0] ** power, [grid(n) for n in nested]).squared
    yield at_least(np.diff(powers), 0.0, f"change of the norm of x^{power:g} as nested grids grow", atol=1e-9)
    if power > 0.5:
        limit = power**2 / (2 * power - 1)
        yield at_most(powers, limit, f"fᵀK⁻¹f for x^{power:g}, against ∫ f'² = p²/(2p − 1)", rtol=1e-9)
    else:
        n = np.array(nested)
        floor = np.maximum(n ** (1 - 2 * power), 1 + power**2 * np.log(n / 2))
        yield at_least(powers, floor, f"x^{power:g} is outside: against the larger of n^(1−2p) and 1 + p² ln(n/2)")
    rng = data.generator(key)
    laplace, centres, alpha = kernels.Laplace(scale), rng.uniform(0, 1, (5, 1)), rng.normal(size=5)
    inside = kernels.interpolant_norms(laplace, lambda x: laplace(x, centres) @ alpha, [grid(n) for n in nested[:4]])
    true = kernels.rkhs_norm(laplace, centres, alpha) ** 2
    yield at_most(inside.squared, true, "a Laplace expansion on nested grids, against its own ‖f‖²", rtol=1e-9)
    what = "change of a Laplace expansion's interpolant norm as the grids grow"
    yield at_least(np.diff(inside.squared), 0.0, what, atol=1e-9 * true)
    line, n = np.array([10, 1000]), np.array(sizes)
    lines = {
        "sin(πx/2)": (line, np.full(2, np.pi**2 / 8)),
        "√x": (n, root[0] + np.log(n / 10) / 4),
        "step at 1/2": (line, line),
    }
    points = {name: (n, values) for name, values in found.items()}
    step = found["step at 1/2"][-1]
    title = f"n = 1000: sin(πx/2) has {sine[-1]:.4f} (bounded), √x {root[-1]:.3f} (ln n), the step {step:.0f} (n)"
    yield figure.curves(title, "grid points n", "‖interpolant‖²", lines=lines, points=points, log="xy")


@claim(sources=("cam",))
def evaluation_functional_norm(key, x: Real(0.05, 1.0) = 0.3, finest: Int(6, 11) = 10, trials: Int(10, 2000) = 300):
    r"""Norm of the evaluation functional.

    A Hilbert space of functions has a kernel if and only if every evaluation f ↦ f(x) is bounded; its norm is √k(x,
    x). In L₂ it is not: the function equal to √n on [0, 1/n] and 0 elsewhere has norm 1 and the value √n at 0.

    $$\sup_{f \ne 0} \frac{|f(x)|}{\|f\|} = \sqrt{k(x, x)}$$

    Check: The largest |f(x)|/‖f‖ is taken over functions on n = 2, 4, … cells: broken lines with ∫ f'², and steps with
    ∫ f².
    """
    rng, k = data.generator(key), kernels.Minimum()
    sizes = 2 ** np.arange(1, finest + 1)
    place = np.array([[x]])
    # The supremum over expansions with given centres is the norm of the projection of k(·, x): √(k_xᵀK⁻¹k_x).
    best = [kernels.interpolant_norms(k, lambda p: k(p, place)[:, 0], [grid(n)]).squared[0] ** 0.5 for n in sizes]
    yield at_most(best, np.sqrt(x), "largest |f(x)|/‖f‖ over broken lines with n pieces, against √x", rtol=1e-12)
    yield at_least(np.diff(best), 0.0, "change of the largest ratio as the pieces are halved", atol=1e-12)
    gap = x - best[-1] ** 2  # a piece of the Brownian bridge: at most h/4
    yield at_most(gap, 1 / (4 * sizes[-1]), "x − (largest ratio)² at the finest grid, against h/4", atol=1e-12)
    centres, alpha = rng.uniform(0, 1, (trials, 8, 1)), rng.normal(size=(trials, 8))
    drawn = zip(centres, alpha, strict=True)
    ratios = [abs((k(place, c) @ a)[0]) / max(kernels.rkhs_norm(k, c, a), 1e-300) for c, a in drawn]
    yield at_most(ratios, np.sqrt(x), "|f(x)|/‖f‖ for random expansions, against √k(x, x) = √x", rtol=1e-9)
    own = x / kernels.rkhs_norm(k, place, np.ones(1))
    yield close(own, np.sqrt(x), "|f(x)|/‖f‖ at f = k(·, x), against √x", rtol=1e-12)
    # Steps on n cells with ∫ f² = h Σ f²: all mass in one cell is best.
    square = np.sqrt(sizes)
    steps = np.eye(1, sizes[-1])[0] * square[-1]
    yield close(np.sum(steps**2) / sizes[-1], 1.0, "∫ f² of f = √n on [0, 1/n]", rtol=1e-12)
    unbounded = close(steps[0], square[-1], "value at 0 of f = √n on [0, 1/n], against h^(−1/2)", rtol=1e-12)
    yield unbounded
    draws = rng.normal(size=(50, sizes[-1]))
    heights = np.abs(draws[:, 0]) / np.sqrt(np.mean(draws**2, axis=1))
    yield at_most(heights, square[-1], "|f(0)|/‖f‖ for random steps, against h^(−1/2)", rtol=1e-12)
    f, g = draws[0], draws[1]
    yield close(
        (2 * f - 3 * g)[0],
        2 * f[0] - 3 * g[0],
        "evaluation of step functions: 2f − 3g at 0, against 2f(0) − 3g(0)",
        atol=1e-12,
    )
    bounded = at_most(square[-1], square[0], "|f(0)|/‖f‖ in L₂: the finest grid against the coarsest")
    prints = "Def. 3.13: every evaluation is a linear functional (Riesz, its next step, needs it bounded)"
    yield erratum(bounded, of=unbounded, by="cam", prints=prints)
    lines = {"∫ f'²: √x": (sizes[[0, -1]], np.full(2, np.sqrt(x))), "∫ f²: h^(−1/2)": (sizes, square)}
    points = {"∫ f'²: √x": (sizes, best), "∫ f²: h^(−1/2)": (sizes, square)}
    reached = f"in L₂ it reaches {square[-1]:.0f} on {sizes[-1]} cells"
    title = f"Evaluation at x = {x:g}: bounded by √x = {np.sqrt(x):.3f} where ∫ f'² is the norm; {reached}"
    yield figure.curves(title, "cells n = 1/h", "largest |f(x)|/‖f‖", lines=lines, points=points, log="xy")


@model(sources=("cam",))
def integral_kernel(
    key, scale: Real(0.05, 1.0, log=True) = 0.15, centres: Int(1, 12) = 5, extra: Real(0.1, 10.0, log=True) = 1.0
):
    r"""Integral kernels and smoothed functions.

    k(x, y) = ∫ G(z, x) G(z, y) dz is a kernel; its space holds the smoothed functions f = ∫ g(z) G(z, ·) dz, and ‖f‖
    is the least ‖g‖ among the g that give f. A Gaussian G of width s gives a Gaussian kernel of width √2 s.

    $$k(x, y) = \int G(z, x)\, G(z, y)\, dz, \quad \|f\| = \min\{\|g\|_{L_2} : f = \int g(z)\, G(z, \cdot)\, dz\}$$

    Check: The inputs lie in [−1, 1], z lies on a grid of spacing s/8 that reaches 9s further, and g gains a part of a
    chosen norm.
    """
    rng = data.generator(key)
    nodes = np.arange(-1 - 9 * scale, 1 + 9 * scale, scale / 8)[:, None]
    k = kernels.IntegralKernel(kernels.Gaussian(scale), nodes, np.full(len(nodes), scale / 8))
    x, alpha = np.sort(rng.uniform(-1, 1, (centres, 1)), axis=0), rng.normal(size=centres)
    fresh = np.linspace(-1, 1, 201)[:, None]
    size, wider = scale * np.sqrt(np.pi), kernels.Gaussian(np.sqrt(2) * scale)
    what = "∫ G(z, x) G(z, y) dz, against s√π exp(−(x − y)²/(4s²))"
    yield close(k(x, fresh), size * wider(x, fresh), what, atol=1e-10)
    g = k.density(x, alpha)
    square = kernels.rkhs_norm(k, x, alpha) ** 2
    exact = size * alpha @ wider(x, x) @ alpha
    yield close(k.density_norm(g) ** 2, exact, "∫ g² by quadrature, against αᵀKα", atol=1e-6)
    f = k.function(g, fresh)
    yield close(f, alpha @ k(x, fresh), "∫ g(z) G(z, ·) dz, against Σ αᵢ k(xᵢ, ·)", atol=1e-10)
    # A part orthogonal to every G(·, x), x one of the inputs.
    basis = np.linalg.qr(k.smoothing(nodes, x))[0]
    waves = np.cos(rng.uniform(1, 3, 5) / scale * nodes + rng.uniform(0, 2 * np.pi, 5)).sum(axis=1)
    rest = waves * np.exp(-((nodes[:, 0] / 1.5) ** 2))
    rest -= basis @ (basis.T @ rest)
    rest -= basis @ (basis.T @ rest)
    rest *= extra / k.density_norm(rest)
    same = k.function(g + rest, x)
    yield close(same, k.function(g, x), "f at the inputs with an orthogonal part added to g", atol=1e-10)
    longer = k.density_norm(g + rest)
    yield close(longer**2, square + extra**2, "‖g + h‖², against ‖f‖² + ‖h‖²", rtol=1e-8)
    # The same for all inputs at once: with steps G = 1{z < x} on [0, 2] and x in [0, 1], g beyond 1 does nothing.
    cells = (np.arange(400)[:, None] + 0.5) / 200
    steps = kernels.IntegralKernel(lambda z, p: (z < p.T).astype(float), cells, np.full(400, 1 / 200))
    unit = grid(50)
    yield close(steps(unit, unit), kernels.Minimum()(unit, unit), "steps: ∫ G G, against min(x, y)", atol=1e-12)
    idle = np.where(cells[:, 0] > 1, extra, 0.0)
    yield close(steps.function(idle, unit), 0.0, "steps: ∫ g G for g on (1, 2], at 50 inputs in [0, 1]", atol=1e-12)
    lines = {
        "f = ∫ g(z) G(z, ·) dz": (fresh[:, 0], f),
        "g, the shortest": (nodes[:, 0], g),
        "g + h gives f at the inputs, too": (nodes[:, 0], g + rest),
        "G(z, 0)": (nodes[:, 0], kernels.Gaussian(scale)(np.zeros((1, 1)), nodes)[0]),
    }
    title = f"Smoothing g with G of width {scale:g} gives f: ‖f‖ = ‖g‖ = {square**0.5:.3g}; ‖g + h‖ = {longer:.3g}"
    yield figure.curves(title, "x or z", "value", lines=lines, points={"f at the inputs": (x[:, 0], same)})
