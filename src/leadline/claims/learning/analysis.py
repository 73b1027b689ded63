"""Analysis: Jacobians, determinants, permutations, log(1 + x), polynomials."""

from decimal import Decimal, localcontext
from itertools import permutations
from math import comb
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation, probability
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    instrument,
    printed,
    slope,
)
from leadline.networks import MLP


@instrument(
    "jacobian",
    says=(
        "The Jacobian holds all partial derivatives ∂F_i/∂x_j of a layer or network. Its largest singular value is the "
        "local Lipschitz constant; the ratio of largest to smallest is the condition."
    ),
    formula=(
        r"J_{ij} = \frac{\partial F_i}{\partial x_j} \in \mathbb{R}^{m \times n}, \qquad "
        r"J_{G \circ F}(x) = J_G(F(x))\, J_F(x)"
    ),
    sources=("sheet",),
    assumes=("F is differentiable at x",),
    shows=(
        "differentiation.jacobian_report",
        "differentiation.JacobianReport",
        "differentiation.jacobian_matrix",
        "differentiation.layer_jacobians",
    ),
)
def jacobian(
    key,
    depth: Annotated[int, Range(1, 8)] = 4,
    width: Annotated[int, Range(2, 24)] = 12,
    outputs: Annotated[int, Range(1, 24)] = 5,
    activation: Annotated[str, Choice("tanh", "sigmoid", "softplus", "gelu", "sin")] = "tanh",
):
    """A random network from `width` inputs to `outputs`, at a random point; spectra of h_l as a function of x."""
    rng = data.generator(key)
    widths = (width, *[width] * (depth - 1), outputs)
    net = drawn(rng, MLP, widths, activation, gain=1.0)
    x = jnp.asarray(rng.normal(size=width))
    forward, backward, layers, nearby = (jax.tree.map(np.asarray, part) for part in _jacobians(net, x))
    scale = max(1e-12, np.abs(forward).max())
    report = differentiation.jacobian_report(net, x)
    yield exactly(report.matrix.shape, (outputs, width), "shape: outputs times inputs")
    yield close(forward / scale, backward / scale, "forward mode against reverse mode", atol=1e-12)
    coarse = max(scale, 1e-5)  # differences do not see smaller derivatives beside outputs of size 1
    yield close(nearby / coarse, forward / coarse, "central differences, h = 1e-5, against autodiff", atol=1e-5)
    product = np.eye(width)
    spectra = {}
    for number, layer in enumerate(layers, start=1):
        product = layer @ product
        spectra[f"h{number}"] = np.linalg.svd(product, compute_uv=False)
    yield close(product / scale, forward / scale, "product of the layers' Jacobians against the whole", atol=1e-10)
    matrix = rng.normal(size=(outputs, width))
    linear = differentiation.jacobian_report(lambda x: jnp.asarray(matrix) @ x, x)
    yield close(linear.matrix, matrix, "Jacobian of a linear map against its matrix", rtol=1e-14)
    direct = np.linalg.svd(matrix)[1]
    yield close(linear.condition, direct[0] / direct[-1], "condition of a linear map", rtol=1e-9)
    # The Lipschitz constant is local: small steps grow no more, and along the top singular vector just as much.
    _, _, right = np.linalg.svd(report.matrix)
    size = 1e-6
    grown = np.linalg.norm(net(x + size * right[0]) - net(x)) / size
    yield close(grown, report.lipschitz, "growth of a step of 1e-6 along the top singular vector", rtol=1e-3, atol=1e-8)
    square = forward[: min(outputs, width), : min(outputs, width)]
    constant = np.broadcast_to(np.diag(square)[:, None], square.shape)
    yield printed(
        close(constant / scale, square / scale, "matrix with entries ∂F_i/∂x_i, a square part of it", atol=1e-9),
        "sheet", "the Jacobi matrix as (∂F_i/∂x_i)",
    ).given(min(outputs, width) > 1, "more than one output")  # fmt: skip
    ranks = {name: np.arange(1, len(values) + 1) for name, values in spectra.items()}
    yield figure.curves(
        f"Singular values of ∂h_l/∂x: the largest goes from {spectra['h1'][0]:.2g} in layer 1 to "
        f"{report.lipschitz:.2g} at the output, the condition is {report.condition:.2g}",
        x="rank of the singular value", y="singular value",
        points={name: (ranks[name], values) for name, values in spectra.items()}, log="y",
    )  # fmt: skip


@claim(
    "determinant-rules",
    says=(
        "Log-determinants add under products, signs multiply, and the inverse has the opposite one. In floating point "
        "the error is at most of the order of the condition number; the determinant itself overflows."
    ),
    formula=r"\log|\det AB| = \log|\det A| + \log|\det B|, \qquad \det A^{-1} = 1/\det A",
    sources=("sheet",),
    assumes=("square matrices", "the inverse rule: A is invertible"),
    shows=("differentiation.composed_log_determinant",),
)
def determinant_rules(
    key,
    size: Annotated[int, Range(2, 500)] = 60,
    condition: Annotated[float, Range(1.0, 1e12, log=True)] = 1e6,
):
    """A has the given condition number, B is orthogonal times 2; errors are bounded by 10 n ε cond(A)."""
    rng = data.generator(key)
    conditions = np.unique(np.append(np.geomspace(1, 1e12, 7), condition))
    B = 2 * np.linalg.qr(rng.normal(size=(size, size)))[0]
    epsilon = np.finfo(float).eps
    products, inverses, signs = [], [], []
    for value in conditions:
        A = _conditioned(size, value, rng)
        (sign_a, log_a), (sign_b, log_b), (sign_ab, log_ab) = (np.linalg.slogdet(m) for m in (A, B, A @ B))
        sign_inverse, log_inverse = np.linalg.slogdet(np.linalg.inv(A))
        products.append(abs(log_ab - log_a - log_b))
        inverses.append(abs(log_inverse + log_a))
        signs.append((sign_ab == sign_a * sign_b) and (sign_inverse == sign_a))
    bound = 10 * size * epsilon * conditions
    yield at_most(products, bound, "|log|det AB| − log|det A| − log|det B||, against 10 n ε cond")
    yield at_most(inverses, bound, "|log|det A⁻¹| + log|det A||, against 10 n ε cond")
    yield exactly(signs, True, "signs multiply, and the inverse has the sign of A")

    large = rng.normal(size=(500, 500))
    with np.errstate(over="ignore"):
        plain = float(np.linalg.det(large))
    yield exactly(bool(np.isinf(plain)), True, "det of a Gaussian 500 x 500 matrix overflows")
    yield exactly(bool(np.isfinite(np.linalg.slogdet(large)[1])), True, "slogdet of it does not")

    W = [jnp.asarray(rng.normal(size=(4, 4))) for _ in range(3)]
    maps = [lambda x, w=w: w @ x + 0.3 * jnp.tanh(x) for w in W]
    x = jnp.asarray(rng.normal(size=4))
    _, sign, log = differentiation.composed_log_determinant(maps, x)
    whole = differentiation.jacobian_matrix(lambda x: maps[2](maps[1](maps[0](x))), x)
    sign_whole, log_whole = np.linalg.slogdet(np.asarray(whole))
    spread = float(np.linalg.cond(np.asarray(whole)))
    yield close(
        float(log),
        log_whole,
        "log|det J| of three maps in a row, added, against the whole",
        atol=100 * epsilon * spread,
    )
    yield exactly(float(sign), float(sign_whole), "its sign")
    yield figure.curves(
        f"Log-determinants of {size} x {size} matrices are off by {products[-1]:.1g} at condition 1e12",
        x="condition number of A", y="absolute error of the logarithm", lines={"10 n ε cond(A)": (conditions, bound)},
        points={"product": (conditions, np.maximum(products, 1e-17)),
                "inverse": (conditions, np.maximum(inverses, 1e-17))},
        log="xy",
    )  # fmt: skip


@instrument(
    "permutation-matrix-check",
    says=(
        "A permutation matrix has entries 0 and 1 with one 1 in each row and column. Unit row and column sums alone "
        "are not enough: only permutations commute with every pointwise function."
    ),
    formula=(
        r"P \in \{0,1\}^{n \times n},\ P\mathbf{1} = \mathbf{1},\ P^T\mathbf{1} = \mathbf{1} \iff "
        r"\varphi(Pv) = P\varphi(v) \ \forall \varphi, v"
    ),
    sources=("eth",),
    assumes=("the equivalence: P is doubly stochastic",),
    shows=("probability.permutation_fault", "probability.permutation_order"),
)
def permutation_matrix_check(
    key,
    size: Annotated[int, Range(2, 6)] = 5,
    mixture: Annotated[int, Range(2, 6)] = 3,
    mixtures: Annotated[int, Range(1, 200)] = 50,
):
    """All permutations of up to `size`, and doubly stochastic matrices mixed from `mixture` different permutations."""
    rng = data.generator(key)
    accepted, counts = [], []
    for n in range(1, size + 1):
        every = [np.eye(n, dtype=int)[list(order)] for order in permutations(range(n))]
        accepted.append(sum(not probability.permutation_fault(p) for p in every))
        counts.append(len(every))
    yield exactly(accepted, counts, f"permutation matrices accepted, n = 1 to {size}, against n!")
    v = rng.normal(size=size)
    orders = [probability.permutation_order(p) for p in every]
    yield exactly([v[order] for order in orders], [p @ v for p in every], "P v against v in the order of P")

    def relu(v):
        return np.maximum(v, 0)

    yield exactly([relu(p @ v) for p in every], [p @ relu(v) for p in every], "ReLU(P v) against P ReLU(v)")

    caught, gaps = 0, []
    for _ in range(mixtures):
        picked = rng.choice(len(every), min(mixture, len(every)), replace=False)
        weights = 0.5 / len(picked) + 0.5 * rng.dirichlet(np.ones(len(picked)))  # none is nearly 0
        mixed = sum(w * every[i] for w, i in zip(weights, picked, strict=True))
        fault = probability.permutation_fault(mixed)
        caught += "neither 0 nor 1" in fault
        _i, j = np.argwhere((mixed > 1e-9) & (mixed < 1 - 1e-9))[0]
        vector = 2.0 * (np.arange(size) == j) - 1  # +1 at j, -1 elsewhere
        gaps.append(np.abs(relu(mixed @ vector) - mixed @ relu(vector)).max())
    yield exactly(caught, mixtures, "mixtures of permutations rejected, with the entry that is neither 0 nor 1")
    yield at_least(gaps, 0.0, "|ReLU(P v) − P ReLU(v)| of a mixture, v = ±1 around such an entry", strict=True)
    faults = {
        "not square": np.ones((2, 3)),
        "row 1 sums": np.array([[1, 0], [0, 0]]),
        "column 0 sums": np.array([[1, 0], [1, 0]]),
    }  # fmt: skip
    yield exactly(
        [name in probability.permutation_fault(m) for name, m in faults.items()], True, "faults called by name"
    )
    half, vector = np.full((2, 2), 0.5), np.array([1.0, -1.0])
    yield printed(
        close(relu(half @ vector), half @ relu(vector), "ReLU(P v) against P ReLU(v), all of P is ½, v = (1, −1)"),
        "eth", "unit row and column sums make a permutation matrix",
    )  # fmt: skip


@claim(
    "log1p-linearisation",
    says=(
        "log(1 + x) is x − x²/2 to second order and never above x. Forming 1 + x in double precision loses what is "
        "below 1e-16; log1p does not."
    ),
    formula=r"\log(1+x) = x - \tfrac12 x^2 + O(x^3), \qquad \log(1+x) \le x \quad (x > -1)",
    sources=("sheet",),
    assumes=("x > −1",),
)
def log1p_linearisation(
    key,
    largest: Annotated[float, Range(1e-4, 2e-3, log=True)] = 1e-3,
    points: Annotated[int, Range(5, 60)] = 25,
):
    """The slope is taken from 1e-6 to `largest`; errors against 40 digits for x = 1e-1 to 1e-16 and random points."""
    rng = data.generator(key)
    x = np.geomspace(1e-6, largest, points)
    gap = np.abs(np.log1p(x) - x)
    yield slope(x, gap, 2.0, "exponent of |log1p(x) − x|", within=0.02)
    yield close(gap / x**2, np.full(points, 0.5), "|log1p(x) − x| / x², against ½", rtol=0.01)
    wide = np.concatenate([-1 + np.geomspace(1e-12, 1, 200), np.geomspace(1e-16, 1e12, 200), rng.exponential(size=200)])
    yield at_most(np.log1p(wide), wide, "log(1 + x) against x, 600 points from −1 to 1e12")

    small = 10.0 ** -np.arange(1, 17)
    drawn = 10.0 ** rng.uniform(-16, -1, size=points)
    tested = np.concatenate([small, drawn])
    exact = _exact_logarithm(tested)
    careful, naive = np.abs(np.log1p(tested) / exact - 1), np.abs(np.log(1 + tested) / exact - 1)
    epsilon = np.finfo(float).eps
    yield at_most(careful, 4 * epsilon, "relative error of log1p, x = 1e-1 to 1e-16")
    yield at_most(naive, epsilon / tested + 4 * epsilon, "relative error of log(1 + x), against ε/x")
    yield exactly(float(np.log(1 + 1e-16)), 0.0, "log(1 + x) at x = 1e-16: all digits are lost")
    order = np.argsort(tested)
    yield figure.beside(
        f"log(1 + x) is off by {naive[8]:.1g} at x = 1e-9 and by all of it at 1e-16; log1p by "
        f"{max(careful.max(), epsilon):.1g} at most",
        figure.curves(
            "Relative error", x="x", y="relative error", lines={"ε/x": (tested[order], epsilon / tested[order])},
            points={"log(1 + x)": (tested, np.maximum(naive, 1e-17)), "log1p(x)": (tested, np.maximum(careful, 1e-17))},
            log="xy",
        ),
        figure.curves(
            "Distance from x", x="x", y="|log1p(x) − x|", lines={"x²/2": (x, x**2 / 2)}, points={"measured": (x, gap)},
            log="xy",
        ),
    )  # fmt: skip


@claim(
    "weierstrass-density",
    says=(
        "Every continuous function on an interval is a uniform limit of polynomials. Bernstein's converge always, if "
        "slowly; Chebyshev interpolation geometrically for analytic functions; equispaced interpolation may diverge."
    ),
    formula=(
        r"\|B_n f - f\|_\infty \to 0, \qquad \|B_n |x - \tfrac12| - |x - \tfrac12|\,\|_\infty = 2^{-n-1} "
        r"\binom{n}{n/2} \approx \frac{1}{\sqrt{2 \pi n}}"
    ),
    sources=("sheet",),
    assumes=("f is continuous on a closed interval",),
    shows=(
        "probability.bernstein_polynomial",
        "probability.chebyshev_interpolant",
        "probability.equispaced_interpolant",
        "probability.largest_error",
    ),
)
def weierstrass_density(
    key,
    degree: Annotated[int, Range(10, 1000, log=True)] = 640,
    pole: Annotated[float, Range(0.05, 0.4)] = 0.2,
):
    """|x − ½| by Bernstein up to `degree`; eˣ by Chebyshev; Runge's 1/(1 + (x/pole)²), whose poles are at ±i pole."""

    def kink(x):
        return np.abs(x - 0.5)

    top = 2 * (degree // 2)
    degrees = np.unique([10, 40, 160, 640, top])
    errors = np.array([_bernstein_error(kink, int(n)) for n in degrees])
    exact = np.array([comb(int(n), int(n) // 2) / 2 ** (int(n) + 1) for n in degrees])
    yield close(errors, exact, "sup error of Bernstein polynomials of |x − ½|, against its exact value", rtol=1e-9)
    listed = np.isin(degrees, [10, 40, 160, 640])
    yield close(errors[listed], [0.1230, 0.0627, 0.0315, 0.0158], "the same at degrees 10, 40, 160, 640", atol=6e-5)
    yield close(errors * np.sqrt(2 * np.pi * degrees), np.ones(len(degrees)), "error times √(2πn)", rtol=0.03)
    yield slope(degrees, errors, -0.5, "exponent of the error in the degree", within=0.01)

    orders = np.arange(2, 15)
    smooth = np.array(
        [_interpolation_error(probability.chebyshev_interpolant, np.exp, int(n), 0.0, 1.0) for n in orders]
    )
    yield at_most(smooth[-1], 1e-14, "sup error of eˣ by Chebyshev interpolation of degree 14")

    def runge(x):
        return 1 / (1 + (x / pole) ** 2)

    grid = np.arange(10, 51, 8)
    equal, chebyshev = (
        np.array([_interpolation_error(rule, runge, int(n), -1.0, 1.0) for n in grid])
        for rule in (probability.equispaced_interpolant, probability.chebyshev_interpolant)
    )
    yield at_least(
        np.diff(np.log(equal)), 0.0, "growth of the error on equal spaces, degrees 10, 18, ..., 50", strict=True
    )
    bound = _chebyshev_bound(pole, grid)
    yield at_most(chebyshev, bound, "error at Chebyshev points, against the bound by the ellipse inside the poles")
    yield figure.curves(
        f"Bernstein converges as n^(−1/2), to {errors[-1]:.2g} at degree {degrees[-1]}; Chebyshev geometrically, to "
        f"{smooth[-1]:.1g} at degree 14; equal spaces diverge, to {equal[-1]:.2g} at degree 50",
        x="degree", y="sup error",
        lines={"1/√(2πn)": (degrees, 1 / np.sqrt(2 * np.pi * degrees))},
        points={"Bernstein, |x − ½|": (degrees, errors), "Chebyshev, eˣ": (orders, smooth),
                "Chebyshev, Runge": (grid, chebyshev), "equal spaces, Runge": (grid, equal)}, log="xy",
    )  # fmt: skip


@eqx.filter_jit
def _jacobians(net, x):
    """By forward mode, by reverse mode, layer by layer, and by central differences."""
    step = 1e-5
    nearby = jax.vmap(lambda e: (net(x + step * e) - net(x - step * e)) / (2 * step))(jnp.eye(x.size)).T
    forward, backward = (differentiation.jacobian_matrix(net, x, mode=mode) for mode in ("forward", "reverse"))
    return forward, backward, differentiation.layer_jacobians(net, x), nearby


def _conditioned(size, condition, rng):
    """A random matrix with singular values spaced geometrically from 1 down to 1/condition."""
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(2))
    return left * np.geomspace(1, 1 / condition, size) @ right.T


def _exact_logarithm(x):
    """log(1 + x) from 40 digits, rounded to double precision at the end."""
    with localcontext() as context:
        context.prec = 40
        return np.array([float((1 + Decimal(float(v))).ln()) for v in x])


def _bernstein_error(function, degree):
    return probability.largest_error(function, probability.bernstein_polynomial(function, degree), points=201)


def _interpolation_error(rule, function, degree, low, high):
    return probability.largest_error(
        function, rule(function, degree, low=low, high=high), low=low, high=high, points=2001
    )


def _chebyshev_bound(pole, degrees):
    """4 M ρ^(−n)/(ρ − 1) with M the largest |f| on the ellipse with half-axes of sum ρ, 4/5 of the way to the poles."""
    rho = 1 + 0.8 * (pole + np.sqrt(1 + pole**2) - 1)
    around = rho * np.exp(1j * np.linspace(0, 2 * np.pi, 4001))
    z = (around + 1 / around) / 2
    return 4 * np.abs(1 / (1 + (z / pole) ** 2)).max() * rho ** -degrees.astype(float) / (rho - 1)
