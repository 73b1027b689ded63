"""Smoothness: the Lipschitz gradient seen through Hessians, curvature ratios and the first-order remainder."""

import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import FEATURES, logistic_problem, random_pairs
from leadline.evidence import OneOf, Real, at_least, at_most, claim, close
from leadline.optimisation.bounds.pair_inequalities import tabulate_pairs
from leadline.optimisation.instruments.remainders import remainder_integral
from leadline.presentation import figure


@claim(sources=("eth", "penn", "sheet"))
def smoothness_hessian_equivalence(
    key, penalty: Real(1e-3, 1.0, log=True) = 0.05, radius: Real(1.0, 6.0) = 2.0, bend: Real(1.1, 10.0) = 2.0
):
    r"""Smoothness as a Hessian bound.

    A C² function is L-smooth if and only if its Hessian has norm at most L everywhere: −LI ⪯ H ⪯ LI. For a convex
    function H ⪯ LI suffices; for −2w² + w it does not.

    $$\|g(a) - g(b)\| \le L \|a - b\| \iff -L I \preceq H \preceq L I$$

    Assumes: l is C² on a convex domain.

    Check: With b the parameter `bend`, the concave counterexample is −bw² + w, which has H ⪯ I.
    """
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    L = logistic.constants().smoothness
    first, second = random_pairs(rng, radius)
    table = optimisation.pair_table(logistic, first, second)
    nodes = (np.polynomial.legendre.leggauss(12)[0] + 1) / 2
    few = slice(0, 500)
    path = first[few, None] + nodes[:, None] * (second - first)[few, None]
    hessians = logistic.hessian(path.reshape(-1, FEATURES))
    top = np.linalg.eigvalsh(hessians)[:, -1].reshape(-1, len(nodes)).max(axis=1)
    rounding, secants = (table.rounding / table.squared_distance)[few].max(), table.secant_ratios[few]
    yield at_most(secants, top, "logistic: ‖dg‖/‖dw‖ against max ‖H‖ on the segment", rtol=1e-6, atol=rounding)
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
    line = [0.0, top.max() * 1.05]
    title = f"No secant ratio exceeds the largest Hessian norm on its segment: at most {top.max():.3g}, L = {L:.3g}"
    lines, points = {"equal": (line, line)}, {"pairs": (top[:300], secants[:300])}
    yield figure.curves(title, "max ‖H‖ on the segment", "‖dg‖/‖dw‖", lines=lines, points=points)


@claim(sources=("penn",))
def smoothness_inner_product_bound(
    key,
    objective: OneOf("logistic", "least squares", "chain") = "logistic",
    penalty: Real(1e-3, 1.0, log=True) = 0.05,
    radius: Real(0.5, 5.0) = 2.0,
):
    r"""Curvature ratios between m and L.

    L-smoothness bounds every curvature ratio ⟨dg, dw⟩/‖dw‖² by L from above, and strong convexity by m from below.
    Only for convex functions does the upper bound imply smoothness: −2w² has ratio −4 ≤ 1, yet L = 4.

    $$m \|dw\|^2 \le \langle dg, dw \rangle \le L \|dw\|^2$$

    Check: The ratios are taken over 10,000 pairs in a box of half-width `radius`.
    """
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
    pair = np.stack([table.first[:, :1], table.second[:, :1]])
    concave = tabulate_pairs(*pair, -2 * pair[..., 0] ** 2, -4 * pair)
    yield at_most(concave.curvature_ratios, 1.0, "−2w²: curvature ratios against 1")
    yield close(concave.secant_ratios, 4.0, "−2w²: secant ratios, so L = 4", rtol=1e-9)
    ratios = table.curvature_ratios
    title = f"10,000 curvature ratios from {ratios.min():.3g} to {ratios.max():.3g} lie in [m, L] = [{m:.3g}, {L:.3g}]"
    rules = {"m": ("x", m), "L": ("x", L)}
    yield figure.histogram(title, "⟨dg, dw⟩/‖dw‖²", samples={objective: ratios}, rules=rules)


@claim(sources=("sheet",))
def gradient_remainder_integral(
    key, penalty: Real(1e-3, 1.0, log=True) = 0.05, radius: Real(0.2, 1.0) = 1.0, knee: Real(0.05, 0.9) = 0.3
):
    r"""Integral form of the tangent remainder.

    The height of a function above its tangent is the integral of the change of the gradient along the segment; no
    convexity is needed.

    $$l(x) - l(y) - \langle g(y), x - y \rangle = \int_0^1 \langle g(y + s(x-y)) - g(y), x - y \rangle\, ds$$

    Assumes: l is C¹.

    Check: The integral is computed by Gauss–Legendre quadrature with 32 nodes; for the Huber function with the given
    knee, between its kinks.
    """
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    x, y = rng.uniform(-radius, radius, (2, 100, FEATURES))
    table = optimisation.pair_table(logistic, y, x)
    integral = remainder_integral(logistic.gradient, x, y)
    yield close(integral, table.forward, "logistic: integral against D(x, y)", atol=1e-12)
    a, b = rng.uniform(-radius, radius, (2, 100, 3))
    sine = optimisation.SineParabola()
    exact = sine(a) - sine(b) - np.sum(sine.gradient(b) * (a - b), axis=1)
    found = remainder_integral(sine.gradient, a, b)
    yield close(found, exact, "w² + 3 sin² w: integral against D(x, y)", atol=1e-12)
    x, y = np.array([[1.5]]), np.array([[-1.0]])
    huber = optimisation.Huber(knee)
    kinks = [(place - y.item()) / (x - y).item() for place in (-knee, knee)]
    split = remainder_integral(huber.gradient, x, y, breaks=kinks)
    whole = remainder_integral(huber.gradient, x, y)
    target = huber(x) - huber(y) - (huber.gradient(y) * (x - y))[0]
    yield close(split, target, "Huber: composite rule between the kinks against D(x, y)", atol=1e-12)
    errors = abs(split - target), abs(whole - target)
    yield at_most(*errors, "Huber: error of the composite against the plain rule", atol=1e-13)
    s = np.linspace(0, 1, 101)
    integrand = ((sine.gradient(y + s * (x - y)) - sine.gradient(y)) * (x - y))[0]
    gap = (sine(x) - sine(y) - (sine.gradient(y) * (x - y))[0]).item()
    area = remainder_integral(sine.gradient, x, y).item()
    title = f"The shaded area, {area:.4f}, is what w² + 3 sin² w has above its tangent: {gap:.4f}"
    lines, bands = {"integrand": (s, integrand)}, {"area": (s, 0 * s, integrand)}
    yield figure.curves(title, "s", "⟨g(y + s(x−y)) − g(y), x−y⟩", lines=lines, bands=bands)


@claim(sources=("sheet", "penn"))
def descent_lemma(
    key, multiplier: Real(0.5, 2.0) = 0.9, penalty: Real(1e-3, 1.0, log=True) = 0.05, radius: Real(1.0, 5.0) = 3.0
):
    r"""Descent lemma.

    An L-smooth function stays within (L/2)‖dw‖² of its tangent, above and below; convexity is not needed. With a
    constant below L some pair violates the bound, so it validates a guess of L.

    $$|l(w') - l(w) - \langle g(w), w' - w \rangle| \le \tfrac L2 \|w' - w\|^2$$

    Assumes: l is L-smooth.

    Check: The guess is `multiplier` · L; pairs along the top eigenvector of a quadratic decide whether it holds.
    """
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
    room, what = np.min(guess.slack + quadratic.rounding), f"least squares: least slack of the guess {multiplier:g} L"
    yield at_least(room, 0.0, what) if multiplier >= 1 else at_most(room, 0.0, what, strict=True)
    sine = optimisation.pair_table(optimisation.SineParabola(FEATURES), *random_pairs(rng, radius))
    rough = optimisation.inequality_table(sine, smoothness=8.0)["descent lemma"]
    yield at_least(rough.slack + sine.rounding, 0.0, "w² + 3 sin² w, not convex: slack with L = 8", atol=1e-12)
    square = (second[:, 0] - first[:, 0]) ** 2
    yield at_least(0.5 * square - (-2 * square), 0.0, "−2w²: the upper side holds with L = 1 although L = 4")
    yield at_least(np.abs(-2 * square), 0.5 * square, "−2w²: the lower side fails with L = 1")
    at, u = 0.15, np.linspace(-1.3, 1.6, 117)
    graph, tangent = u**2 + 3 * np.sin(u) ** 2, at**2 + 3 * np.sin(at) ** 2 + (2 * at + 3 * np.sin(2 * at)) * (u - at)
    top, low, guessed = (tangent + c / 2 * (u - at) ** 2 for c in (8.0, -8.0, 8.0 * multiplier))
    word = "cuts through it" if np.any(graph > guessed + 1e-9) else "stays above it"
    lines = {"+L parabola": (u, top), "−L parabola": (u, low)}
    if multiplier != 1:
        lines[f"{multiplier:g} L"] = (u, guessed)
    title = f"Parabolas of curvature ±L touch w² + 3 sin² w and enclose it; the one with {multiplier:g} L {word}"
    yield figure.curves(title, "w", "loss", lines=lines, points={"loss": (u[::3], graph[::3])})
