"""Smoothness: the Lipschitz gradient seen through Hessians, curvature ratios and the first-order remainder."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.small_regressions import FEATURES, logistic_problem, random_pairs
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, printed


@claim(
    "smoothness-hessian-equivalence",
    says=(
        "A C² function is L-smooth iff its Hessian has norm at most L everywhere: −LI ⪯ H ⪯ LI. For a convex function "
        "H ⪯ LI suffices; for −2w² + w it does not."
    ),
    formula=r"\|g(a) - g(b)\| \le L \|a - b\| \iff -L I \preceq H \preceq L I",
    sources=("eth", "penn", "sheet"),
    assumes=("l is C² on a convex domain",),
)
def smoothness_hessian_equivalence(
    key,
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.05,
    radius: Annotated[float, Range(1.0, 6.0)] = 2.0,
    bend: Annotated[float, Range(1.1, 10.0)] = 2.0,
):
    """The concave witness is −`bend` w² + w, which has H ⪯ I."""
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    L = logistic.constants().smoothness
    first, second = random_pairs(rng, radius)
    table = optimisation.pair_table(logistic, first, second)
    x = np.asarray(logistic.x)
    nodes = (np.polynomial.legendre.leggauss(12)[0] + 1) / 2
    few = slice(0, 500)
    path = first[few, None] + nodes[:, None] * (second - first)[few, None]
    s = 1 / (1 + np.exp(-path @ x.T))  # (pairs, nodes, samples)
    weighted = (s * (1 - s)).reshape(-1, len(x))
    hessians = np.einsum("ki,ia,ib->kab", weighted, x, x, optimize=True) / len(x) + penalty * np.eye(FEATURES)
    top = np.linalg.eigvalsh(hessians)[:, -1].reshape(-1, len(nodes)).max(axis=1)
    rounding = (table.rounding / table.squared_distance)[few].max()
    yield at_most(
        table.secant_ratios[few], top, "logistic: ‖dg‖/‖dw‖ against max ‖H‖ on the segment", rtol=1e-6, atol=rounding
    )
    yield at_most(top, L, "logistic: max ‖H‖ on the segment against L", rtol=1e-12)

    a, b = random_pairs(rng, radius, 1)
    w, z = a[:, 0], b[:, 0]
    secant = np.abs((2 * w + 3 * np.sin(2 * w)) - (2 * z + 3 * np.sin(2 * z))) / np.abs(w - z)
    norm = np.abs(2 + 6 * np.cos(2 * w))
    yield at_most(secant, 8.0, "w² + 3 sin² w: secant ratios against L = 8", rtol=1e-9)
    yield at_least(secant.max(), 0.95 * 8, "w² + 3 sin² w: largest secant ratio of 10,000 tends to L")
    yield at_least(norm.max(), 0.99 * 8, "w² + 3 sin² w: largest |H| of 10,000 tends to L")

    witness = np.abs(-2 * bend * (w - z)) / np.abs(w - z)
    yield close(witness, 2 * bend, "−bw² + w: secant ratio 2b although H ⪯ I", rtol=1e-9)
    yield printed(at_most(witness, 1.0, "secant ratio of a function with H ⪯ 1·I"), "penn", "L-smooth iff H ⪯ LI")
    shown = slice(0, 300)
    line = np.array([0.0, top.max() * 1.05])
    yield figure.curves(
        f"No secant ratio exceeds the largest Hessian norm on its segment; the largest of all is {top.max():.3g}, "
        f"L = {L:.3g}",
        x="max ‖H‖ on the segment", y="‖dg‖/‖dw‖", lines={"equal": (line, line)},
        points={"pairs": (top[shown], table.secant_ratios[shown])},
    )  # fmt: skip


@claim(
    "smoothness-inner-product-bound",
    says=(
        "L-smoothness bounds every curvature ratio ⟨dg, dw⟩/‖dw‖² by L, and strong convexity by m from below. Only for "
        "convex functions does the bound imply smoothness: −2w² has ratio −4 ≤ 1, yet L = 4."
    ),
    formula=r"m \|dw\|^2 \le \langle dg, dw \rangle \le L \|dw\|^2",
    sources=("penn",),
)
def smoothness_inner_product_bound(
    key,
    objective: Annotated[str, Choice("logistic", "least squares", "chain")] = "logistic",
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.05,
    radius: Annotated[float, Range(0.5, 5.0)] = 2.0,
):
    """10,000 pairs in a box of half-width `radius`."""
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    chosen = {
        "logistic": logistic,
        "least squares": optimisation.LeastSquares(logistic.x, logistic.y, penalty),
        "chain": optimisation.WorstChain(FEATURES, 1.0),
    }[objective]
    known = chosen.constants()
    L, m = known.smoothness, known.strong_convexity
    table = optimisation.pair_table(chosen, *random_pairs(rng, radius))
    rows = optimisation.inequality_table(table, smoothness=L, strong_convexity=m)
    for name in ("curvature at least m", "curvature at most L", "Lipschitz gradient"):
        unit = np.sqrt(table.squared_distance) if name == "Lipschitz gradient" else 1.0
        room = rows[name].slack + table.rounding / unit
        yield at_least(room, 0.0, f"{objective}: slack of {name}", atol=1e-12)
    concave = optimisation.tabulate_pairs(
        table.first[:, :1], table.second[:, :1],
        np.stack([-2 * table.first[:, 0] ** 2, -2 * table.second[:, 0] ** 2]),
        np.stack([-4 * table.first[:, :1], -4 * table.second[:, :1]]),
    )  # fmt: skip
    yield at_most(concave.curvature_ratios, 1.0, "−2w²: curvature ratios against 1")
    yield close(concave.secant_ratios, 4.0, "−2w²: secant ratios, so L = 4", rtol=1e-9)
    ratios = table.curvature_ratios
    yield figure.histogram(
        f"10,000 curvature ratios between {ratios.min():.3g} and {ratios.max():.3g} lie in [m, L] = [{m:.3g}, {L:.3g}]",
        x="⟨dg, dw⟩/‖dw‖²", samples={objective: ratios}, rules={"m": ("x", m), "L": ("x", L)},
    )  # fmt: skip


@claim(
    "gradient-remainder-integral",
    says=(
        "What a function has above its tangent is the integral of the change of the gradient along the segment; no "
        "convexity is needed."
    ),
    formula=r"l(x) - l(y) - \langle g(y), x - y \rangle = \int_0^1 \langle g(y + s(x-y)) - g(y), x - y \rangle\, ds",
    sources=("sheet",),
    assumes=("l is C¹",),
)
def gradient_remainder_integral(
    key,
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.05,
    radius: Annotated[float, Range(0.2, 1.0)] = 1.0,
    knee: Annotated[float, Range(0.05, 0.9)] = 0.3,
):
    """Gauss-Legendre with 32 nodes; for the Huber function with the given knee, between its kinks."""
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    x, y = rng.uniform(-radius, radius, (2, 100, FEATURES))

    def slope(points: np.ndarray) -> np.ndarray:
        return np.asarray(_gradients(logistic, jnp.asarray(points)))

    table = optimisation.pair_table(logistic, y, x)
    integral = optimisation.remainder_integral(slope, x, y)
    yield close(integral, table.forward, "logistic: integral against D(x, y)", atol=1e-12)
    a, b = rng.uniform(-radius, radius, (2, 100, 3))
    sine = optimisation.remainder_integral(lambda w: 2 * w + 3 * np.sin(2 * w), a, b)
    exact = np.sum(
        a**2 + 3 * np.sin(a) ** 2 - b**2 - 3 * np.sin(b) ** 2 - (2 * b + 3 * np.sin(2 * b)) * (a - b), axis=1
    )
    yield close(sine, exact, "w² + 3 sin² w: integral against D(x, y)", atol=1e-12)

    start, end = -1.0, 1.5
    kinks = sorted({(place - start) / (end - start) for place in (-knee, knee)})
    ends = np.array([[end]]), np.array([[start]])
    split = optimisation.remainder_integral(lambda w: np.clip(w, -knee, knee), *ends, breaks=kinks)
    whole = optimisation.remainder_integral(lambda w: np.clip(w, -knee, knee), *ends)
    huber = [knee * abs(u) - knee**2 / 2 for u in (end, start)]
    target = huber[0] - huber[1] + knee * (end - start)
    yield close(split, target, "Huber: composite rule between the kinks against D(x, y)", atol=1e-12)
    yield at_most(
        abs(split - target), abs(whole - target), "Huber: error of the composite against the plain rule", atol=1e-13
    )

    s = np.linspace(0, 1, 101)
    w = start + s * (end - start)
    integrand = ((2 * w + 3 * np.sin(2 * w)) - (2 * start + 3 * np.sin(2 * start))) * (end - start)
    gap = (
        end**2
        + 3 * np.sin(end) ** 2
        - start**2
        - 3 * np.sin(start) ** 2
        - (2 * start + 3 * np.sin(2 * start)) * (end - start)
    )
    found = optimisation.remainder_integral(lambda u: 2 * u + 3 * np.sin(2 * u), *ends)[0]
    yield figure.curves(
        f"The shaded area, {found:.4f}, is what w² + 3 sin² w has above its tangent: {gap:.4f}",
        x="s", y="⟨g(y + s(x−y)) − g(y), x−y⟩", lines={"integrand": (s, integrand)},
        bands={"area": (s, np.zeros_like(s), integrand)},
    )  # fmt: skip


@eqx.filter_jit
def _gradients(objective, points):
    return jax.vmap(objective.gradient)(points)


@claim(
    "descent-lemma",
    says=(
        "An L-smooth function stays within (L/2)‖dw‖² of its tangent, above and below; convexity is not needed. With a "
        "constant below L a pair violates it, so it validates a guess of L."
    ),
    formula=r"|l(w') - l(w) - \langle g(w), w' - w \rangle| \le \tfrac L2 \|w' - w\|^2",
    sources=("sheet", "penn"),
    assumes=("l is L-smooth",),
)
def descent_lemma(
    key,
    multiplier: Annotated[float, Range(0.5, 2.0)] = 0.9,
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.05,
    radius: Annotated[float, Range(1.0, 5.0)] = 3.0,
):
    """The guess is `multiplier` · L; pairs along the top eigenvector of a quadratic decide about it."""
    rng = data.generator(key)
    first, second = random_pairs(rng, radius)
    logistic = logistic_problem(rng, penalty)
    ridge = optimisation.LeastSquares(logistic.x, logistic.y, penalty)
    vectors = np.linalg.eigh(np.asarray(logistic.x).T @ np.asarray(logistic.x))[1]
    second[:20] = first[:20] + np.outer(rng.uniform(0.5, 2, 20), vectors[:, -1])
    quadratic = optimisation.pair_table(ridge, first, second)
    L = ridge.constants().smoothness
    slack = optimisation.inequality_table(quadratic, smoothness=L)["descent lemma"]
    yield at_least(slack.slack + quadratic.rounding, 0.0, "least squares: slack with the certified L", atol=1e-12)
    tight = 2 * quadratic.forward[:20] / quadratic.squared_distance[:20]
    yield close(tight, L, "least squares: tight along the top eigenvector", rtol=1e-9)
    guess = optimisation.inequality_table(quadratic, smoothness=multiplier * L)["descent lemma"]
    yield exactly(guess.holds, multiplier >= 1, f"least squares: the validator accepts {multiplier:g} L")
    sine = optimisation.pair_table(optimisation.SineParabola(FEATURES), *random_pairs(rng, radius))
    rough = optimisation.inequality_table(sine, smoothness=8.0)["descent lemma"]
    yield at_least(rough.slack + sine.rounding, 0.0, "w² + 3 sin² w, not convex: slack with L = 8", atol=1e-12)

    w, z = first[:, 0], second[:, 0]
    upper = 0.5 * (z - w) ** 2 - (-2 * (z - w) ** 2)
    yield at_least(upper, 0.0, "−2w²: the upper side holds with L = 1 although L = 4")
    yield at_least(np.abs(-2 * (z - w) ** 2), 0.5 * (z - w) ** 2, "−2w²: the lower side fails with L = 1")

    at = 0.15
    u = np.linspace(-1.3, 1.6, 117)
    graph, tangent = u**2 + 3 * np.sin(u) ** 2, at**2 + 3 * np.sin(at) ** 2 + (2 * at + 3 * np.sin(2 * at)) * (u - at)
    top, low, guessed = (tangent + c / 2 * (u - at) ** 2 for c in (8.0, -8.0, 8.0 * multiplier))
    word = "cuts through it" if np.any(graph > guessed + 1e-9) else "stays above it"
    lines = {"+L parabola": (u, top), "−L parabola": (u, low)}
    if multiplier != 1:
        lines[f"{multiplier:g} L"] = (u, guessed)
    yield figure.curves(
        f"Parabolas of curvature ±L touch w² + 3 sin² w at {at:g} and enclose it; the one with {multiplier:g} L {word}",
        x="w", y="loss", lines=lines, points={"loss": (u[::3], graph[::3])},
    )  # fmt: skip
