"""Analysis: Jacobians, determinants, permutations, log(1 + x), polynomials."""

from decimal import Decimal, localcontext
from itertools import permutations
from math import comb

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation, probability
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.differentiation.jacobians import composed_log_determinant
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, instrument, reference, slope
from leadline.networks import MLP
from leadline.presentation import figure
from leadline.probability.permutations import permutation_fault
from leadline.probability.polynomials import chebyshev_interpolant, equispaced_interpolant, largest_error


@instrument(sources=("sheet",), shows=("differentiation.jacobian_matrix", "differentiation.layer_jacobians"))
def jacobian(
    key,
    depth: Int(1, 8) = 4,
    width: Int(2, 24) = 12,
    outputs: Int(1, 24) = 5,
    activation: OneOf("tanh", "sigmoid", "softplus", "gelu", "sin") = "tanh",
):
    r"""Jacobian and local Lipschitz constant.

    The Jacobian holds all partial derivatives $\partial F_i/\partial x_j$ of a layer or network. Its largest singular
    value is the local Lipschitz constant; the ratio of the largest to the smallest is the condition number.

    $$J_{ij} = \frac{\partial F_i}{\partial x_j} \in \mathbb{R}^{m \times n}, \qquad J_{G \circ F}(x) = J_G(F(x))\,
    J_F(x)$$

    Assumes: F is differentiable at x.

    Check: A random network from `width` inputs to `outputs` outputs is differentiated at a random point. The spectra
    are those of the hidden layers $h_l$ as functions of x.
    """
    rng = data.generator(key)
    widths = (width, *[width] * (depth - 1), outputs)
    net = drawn(rng, MLP, widths, activation, gain=1.0)
    x = jnp.asarray(rng.normal(size=width))
    forward, backward, layers, nearby = (jax.tree.map(np.asarray, part) for part in _jacobians(net, x))
    scale = max(1e-12, np.abs(forward).max())
    report = differentiation.jacobian_report(net, x)
    yield exactly(report.matrix.shape, (outputs, width), "shape of the Jacobian: outputs times inputs")
    yield close(forward / scale, backward / scale, "Jacobian by forward mode against reverse mode", atol=1e-12)
    coarse = max(scale, 1e-5)  # differences do not see smaller derivatives beside outputs of size 1
    yield close(nearby / coarse, forward / coarse, "central differences, h = 1e-5, against autodiff", atol=1e-5)
    product, spectra = np.eye(width), {}
    for number, layer in enumerate(layers, start=1):
        product = layer @ product
        values = np.linalg.svd(product, compute_uv=False)
        spectra[f"h{number}"] = (np.arange(1, len(values) + 1), values)
    yield close(product / scale, forward / scale, "product of the layers' Jacobians against the whole", atol=1e-10)
    matrix = rng.normal(size=(outputs, width))
    linear = differentiation.jacobian_report(lambda x: jnp.asarray(matrix) @ x, x)
    yield close(linear.matrix, matrix, "Jacobian of a linear map against its matrix", rtol=1e-14)
    direct = np.linalg.svd(matrix)[1]
    yield close(linear.condition, direct[0] / direct[-1], "condition of a linear map, against its SVD", rtol=1e-9)
    # The Lipschitz constant is local: small steps grow no more, and along the top singular vector just as much.
    _, _, right = np.linalg.svd(report.matrix)
    grown = np.linalg.norm(net(x + 1e-6 * right[0]) - net(x)) / 1e-6
    yield close(grown, report.lipschitz, "growth of a step of 1e-6 along the top singular vector", rtol=1e-3, atol=1e-8)
    first, last = spectra["h1"][1][0], report.lipschitz
    title = (
        f"The largest singular value of ∂h_l/∂x goes from {first:.2g} to {last:.2g}, condition {report.condition:.1g}"
    )
    yield figure.curves(title, "rank of the singular value", "singular value", points=spectra, log="y")


@claim(sources=("sheet",))
def determinant_rules(key, size: Int(2, 500) = 60, condition: Real(1.0, 1e12, log=True) = 1e6):
    r"""Determinants of products and inverses.

    Log-determinants add under products, signs multiply, and the inverse has the opposite log-determinant. In floating
    point the error is at most of the order of the condition number times the machine precision; the determinant itself
    overflows.

    $$\log|\det AB| = \log|\det A| + \log|\det B|, \qquad \det A^{-1} = 1/\det A$$

    Assumes: square matrices; A is invertible, for the inverse rule.

    Check: A has the given condition number and B is twice an orthogonal matrix. The errors must stay below 10 n ε
    cond(A), where ε is the machine precision.
    """
    rng = data.generator(key)
    conditions = np.unique(np.append(np.geomspace(1, 1e12, 7), condition))
    B = 2 * np.linalg.qr(rng.normal(size=(size, size)))[0]
    epsilon = np.finfo(float).eps
    products, inverses, wrong = [], [], 0
    for value in conditions:
        A = _conditioned(size, value, rng)
        (sign_a, log_a), (sign_b, log_b), (sign_ab, log_ab) = (np.linalg.slogdet(m) for m in (A, B, A @ B))
        sign_inverse, log_inverse = np.linalg.slogdet(np.linalg.inv(A))
        products.append(abs(log_ab - log_a - log_b))
        inverses.append(abs(log_inverse + log_a))
        wrong += (sign_ab != sign_a * sign_b) + (sign_inverse != sign_a)
    bound = 10 * size * epsilon * conditions
    yield at_most(products, bound, "|log|det AB| − log|det A| − log|det B||, against 10 n ε cond")
    yield at_most(inverses, bound, "|log|det A⁻¹| + log|det A||, against 10 n ε cond")
    yield exactly(wrong, 0, "products without the product of the signs, and inverses without the sign of A")
    large = rng.normal(size=(500, 500))
    with np.errstate(over="ignore"):
        plain = np.linalg.det(large)
    yield exactly(np.isinf(plain), True, "det of a Gaussian 500 × 500 matrix overflows")
    yield exactly(np.isfinite(np.linalg.slogdet(large)[1]), True, "slogdet of a Gaussian 500 × 500 matrix is finite")
    W = [jnp.asarray(rng.normal(size=(4, 4))) for _ in range(3)]
    maps = [lambda x, w=w: w @ x + 0.3 * jnp.tanh(x) for w in W]
    x = jnp.asarray(rng.normal(size=4))
    _, sign, log = composed_log_determinant(maps, x)
    whole = np.asarray(differentiation.jacobian_matrix(lambda x: maps[2](maps[1](maps[0](x))), x))
    sign_whole, log_whole = np.linalg.slogdet(whole)
    rounding = 100 * epsilon * np.linalg.cond(whole)
    yield close(log, log_whole, "log|det J| of three maps in a row, added, against the whole", atol=rounding)
    yield exactly(float(sign), sign_whole, "sign of det J of three maps in a row, against the whole")
    title = f"Log-determinants of {size} × {size} matrices are off by {products[-1]:.1g} at condition 1e12"
    lines = {"10 n ε cond(A)": (conditions, bound)}
    points = {"product": (conditions, products), "inverse": (conditions, inverses)}
    yield figure.curves(title, "condition number of A", "error of the logarithm", lines=lines, points=points, log="xy")


@instrument(sources=("eth",))
def permutation_matrix_check(key, size: Int(2, 6) = 5, mixture: Int(2, 6) = 3, mixtures: Int(1, 200) = 50):
    r"""Recognising permutation matrices.

    A permutation matrix has entries 0 and 1 with one 1 in each row and column. Unit row and column sums alone are not
    enough: only permutations commute with every pointwise function.

    $$P \in \{0,1\}^{n \times n},\ P\mathbf{1} = \mathbf{1},\ P^T\mathbf{1} = \mathbf{1} \iff \varphi(Pv) = P\varphi(v)
    \ \forall \varphi, v$$

    Assumes: P is doubly stochastic, for the equivalence.

    Check: All permutations of up to `size` elements are tested, and doubly stochastic matrices mixed from `mixture`
    different permutations.
    """
    rng = data.generator(key)
    accepted, counts = [], []
    for n in range(1, size + 1):
        every = [np.eye(n, dtype=int)[list(order)] for order in permutations(range(n))]
        accepted.append(sum(not permutation_fault(p) for p in every))
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
        caught += "neither 0 nor 1" in permutation_fault(mixed)
        _i, j = np.argwhere((mixed > 1e-9) & (mixed < 1 - 1e-9))[0]
        vector = 2.0 * (np.arange(size) == j) - 1  # +1 at j, -1 elsewhere
        gaps.append(np.abs(relu(mixed @ vector) - mixed @ relu(vector)).max())
    yield exactly(caught, mixtures, "mixtures of permutations rejected, with the entry that is neither 0 nor 1")
    yield at_least(gaps, 0.0, "|ReLU(P v) − P ReLU(v)| of a mixture, v = ±1 around such an entry", strict=True)
    half, vector = np.full((2, 2), 0.5), np.array([1.0, -1.0])
    faults = {
        "not square": np.ones((2, 3)),
        "row 1 sums": np.array([[1, 0], [0, 0]]),
        "column 0 sums": np.array([[1, 0], [1, 0]]),
        "neither 0 nor 1": half,
    }
    missed = sum(name not in permutation_fault(m) for name, m in faults.items())
    yield exactly(missed, 0, "faults that the validator does not name")
    gap = np.abs(relu(half @ vector) - half @ relu(vector))
    yield at_least(gap, 0.0, "|ReLU(P v) − P ReLU(v)| where all of P is ½, v = (1, −1)", strict=True)


@claim(sources=("sheet",))
def log1p_linearisation(key, largest: Real(1e-4, 2e-3, log=True) = 1e-3, points: Int(5, 60) = 25):
    r"""Second-order expansion of log(1 + x).

    log(1 + x) is x − x²/2 to second order and never above x. Forming 1 + x in double precision loses what is below
    10⁻¹⁶; log1p does not.

    $$\log(1+x) = x - \tfrac12 x^2 + O(x^3), \qquad \log(1+x) \le x \quad (x > -1)$$

    Assumes: x > −1.

    Check: The slope of |log(1 + x) − x| on logarithmic axes is taken from x = 10⁻⁶ to x = `largest`. Errors are
    measured against 40-digit arithmetic for x from 10⁻¹ to 10⁻¹⁶ and at random points.
    """
    rng = data.generator(key)
    x = np.geomspace(1e-6, largest, points)
    gap = np.abs(np.log1p(x) - x)
    yield slope(x, gap, 2.0, "exponent of |log1p(x) − x|", within=0.02)
    yield close(gap / x**2, 0.5, "|log1p(x) − x| / x², against ½", rtol=0.01)
    wide = np.concatenate([-1 + np.geomspace(1e-12, 1, 200), np.geomspace(1e-16, 1e12, 200), rng.exponential(size=200)])
    yield at_most(np.log1p(wide), wide, "log(1 + x) against x, 600 points from −1 to 1e12")
    tested = 10.0 ** np.concatenate([-np.arange(1.0, 17), rng.uniform(-16, -1, size=points)])
    exact = _exact_logarithm(tested)
    careful, naive = np.abs(np.log1p(tested) / exact - 1), np.abs(np.log(1 + tested) / exact - 1)
    epsilon = np.finfo(float).eps
    yield at_most(careful, 4 * epsilon, "relative error of log1p, x = 1e-1 to 1e-16")
    yield at_most(naive, epsilon / tested + 4 * epsilon, "relative error of log(1 + x), against ε/x")
    yield exactly(np.log(1 + 1e-16), 0.0, "log(1 + x) at x = 1e-16: all digits are lost")
    ends = np.array([1e-16, 1e-1])
    lines, points = {"ε/x": (ends, epsilon / ends)}, {"log(1 + x)": (tested, naive), "log1p(x)": (tested, careful)}
    errors = figure.curves("Relative error", "x", "relative error", lines=lines, points=points, log="xy")
    lines, points = {"x²/2": (x, x**2 / 2)}, {"measured": (x, gap)}
    distance = figure.curves("Distance from x", "x", "|log1p(x) − x|", lines=lines, points=points, log="xy")
    off = f"off by {naive[8]:.1g} at x = 1e-9 and by all of it at 1e-16"
    yield figure.beside(f"log(1 + x) is {off}; log1p by {max(careful.max(), epsilon):.1g} at most", errors, distance)


@claim(sources=("sheet",), shows=("probability.bernstein_polynomial",))
def weierstrass_density(key, degree: Int(10, 1000, log=True) = 640, pole: Real(0.05, 0.4) = 0.2):
    r"""Weierstrass approximation theorem.

    Every continuous function on an interval is a uniform limit of polynomials. Bernstein's polynomials always
    converge, if slowly; Chebyshev interpolation converges geometrically for analytic functions; equispaced
    interpolation may diverge.

    $$\|B_n f - f\|_\infty \to 0, \qquad \|B_n |x - \tfrac12| - |x - \tfrac12|\,\|_\infty = 2^{-n-1} \binom{n}{n/2}
    \approx \frac{1}{\sqrt{2 \pi n}}$$

    Assumes: f is continuous on a closed interval.

    Check: |x − ½| is approximated by Bernstein polynomials up to `degree`, eˣ by Chebyshev interpolation. Equispaced
    interpolation is tried on Runge's function 1/(1 + (x/a)²), where a is the parameter `pole`.
    """

    def kink(x):
        return np.abs(x - 0.5)

    top = 2 * (degree // 2)
    degrees = np.unique([10, 40, 160, 640, top])
    errors = np.array([_bernstein_error(kink, int(n)) for n in degrees])
    exact = [comb(int(n), int(n) // 2) / 2 ** (int(n) + 1) for n in degrees]
    what = "sup error of Bernstein polynomials of |x − ½|"
    yield close(errors, exact, f"{what}, against its exact value", rtol=1e-9)
    least, *others = errors[np.isin(degrees, [10, 40, 160, 640])]
    yield reference(least, 0.1230, f"{what}, degree 10", digits=4)
    yield reference(others, [0.0627, 0.0315, 0.0158], f"{what}, degrees 40, 160, 640", digits=3)
    yield close(errors * np.sqrt(2 * np.pi * degrees), 1.0, f"{what}, times √(2πn)", rtol=0.03)
    yield slope(degrees, errors, -0.5, "exponent of the Bernstein error in the degree", within=0.01)
    orders, rules = np.arange(2, 15), (equispaced_interpolant, chebyshev_interpolant)
    smooth = [_interpolation_error(rules[1], np.exp, int(n), 0.0, 1.0) for n in orders]
    yield at_most(smooth[-1], 1e-14, "sup error of eˣ by Chebyshev interpolation of degree 14")

    def runge(x):
        return 1 / (1 + (x / pole) ** 2)

    grid = np.arange(10, 51, 8)
    equal, chebyshev = ([_interpolation_error(rule, runge, int(n), -1.0, 1.0) for n in grid] for rule in rules)
    what = "growth of the log error on equal spaces, degrees 10, 18, …, 50"
    yield at_least(np.diff(np.log(equal)), 0.0, what, strict=True)
    bound = _chebyshev_bound(pole, grid)
    yield at_most(chebyshev, bound, "error at Chebyshev points, against the bound by the ellipse inside the poles")
    lines = {"1/√(2πn)": (degrees, 1 / np.sqrt(2 * np.pi * degrees))}
    points = {"Bernstein, |x − ½|": (degrees, errors), "Chebyshev, eˣ": (orders, smooth)}
    points |= {"Chebyshev, Runge": (grid, chebyshev), "equal spaces, Runge": (grid, equal)}
    ends = f"Chebyshev {smooth[-1]:.1g} at degree 14; equal spaces diverge, to {equal[-1]:.2g} at degree 50"
    title = f"Bernstein reaches {errors[-1]:.2g} at degree {degrees[-1]}, {ends}"
    yield figure.curves(title, "degree", "sup error", lines=lines, points=points, log="xy")


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
    return largest_error(function, probability.bernstein_polynomial(function, degree), points=201)


def _interpolation_error(rule, function, degree, low, high):
    fit = rule(function, degree, low=low, high=high)
    return largest_error(function, fit, low=low, high=high, points=2001)


def _chebyshev_bound(pole, degrees):
    """4 M ρ^(−n)/(ρ − 1) with M the largest |f| on the ellipse with half-axes of sum ρ, 4/5 of the way to the poles."""
    rho = 1 + 0.8 * (pole + np.sqrt(1 + pole**2) - 1)
    around = rho * np.exp(1j * np.linspace(0, 2 * np.pi, 4001))
    z = (around + 1 / around) / 2
    return 4 * np.abs(1 / (1 + (z / pole) ** 2)).max() * rho ** -degrees.astype(float) / (rho - 1)
