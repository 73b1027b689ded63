"""What a gradient says of a smooth function: the gap sandwich, and co-coercivity once it is (strongly) convex."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import FEATURES, logistic_problem, random_pairs
from leadline.evidence import Real, at_least, at_most, claim, close, erratum
from leadline.optimisation.bounds.pair_inequalities import tabulate_pairs
from leadline.presentation import figure


@claim(sources=("penn",))
def gap_sandwich(
    key,
    penalty: Real(1e-2, 1.0, log=True) = 0.05,
    goal: Real(1e-11, 1e-2, log=True) = 1e-6,
    momentum: Real(0.1, 0.9) = 0.6,
):
    r"""Gradient norm and distance bound the gap.

    The gap lies between ‖g‖²/(2L) and (L/2)‖w − w*‖². Under the PL condition it is at most ‖g‖²/(2μ), which can be
    computed: a stopping rule that certifies the gap.

    $$\frac{\|g\|^2}{2L} \le l - l^* \le \frac L2 \|w - w^*\|^2, \qquad l - l^* \le \frac{\|g\|^2}{2\mu}$$

    Assumes: l is L-smooth with minimiser w*; for the stopping rule: PL with constant μ.

    Check: Gradient descent, heavy ball and Newton's method run on logistic regression; the parameter `goal` is the gap
    to be certified.
    """
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    L, mu = known.smoothness, known.pl
    start = jnp.asarray(rng.normal(size=FEATURES))
    rules = {
        "Newton": (optimisation.newton(), 8),
        "heavy ball": (optimisation.heavy_ball(1 / L, momentum), 400),
        "GD": (optimisation.heavy_ball(1 / L, 0.0), 400),
    }
    for name, (rule, steps) in rules.items():
        run = optimisation.descend(logistic, rule, start, steps)
        gap, slope2 = np.asarray(run.values) - known.minimum, run.gradient_norms**2
        distance2 = np.sum((np.asarray(run.points) - known.minimiser) ** 2, axis=1)
        low, high, above = slope2 / (2 * L), L / 2 * distance2, slope2 / (2 * mu)
        yield at_least(gap, low, f"{name}: gap against ‖g‖²/2L", rtol=1e-9, atol=1e-13)
        yield at_most(gap, high, f"{name}: gap against (L/2)‖w − w*‖²", rtol=1e-9, atol=1e-13)
        yield at_most(gap, above, f"{name}: gap against ‖g‖²/2μ", rtol=1e-9, atol=1e-13)
        reached, stop = np.any(above <= goal), np.argmax(above <= goal)
        certified = at_most(gap[stop], goal, f"{name}: gap where the rule ‖g‖²/2μ ≤ ε stops", atol=1e-13)
        yield certified.given(reached, "the run reaches the goal")
    t = np.flatnonzero(gap > 1e-13)
    lines = {"‖g‖²/2L": (t, low[t]), "(L/2)‖w − w*‖²": (t, high[t]), "‖g‖²/2μ": (t, above[t])}
    rules = {"stop": ("x", stop)} if reached else {}
    ending = f"stops at step {stop} with a gap of {max(gap[stop], 0):.2g} ≤ {goal:.2g}" if reached else "never stops"
    title = f"Along gradient descent the gap stays between its bounds; the rule {ending}"
    yield figure.curves(title, "step", "loss", log="y", lines=lines, points={"gap": (t, gap[t])}, rules=rules)


@claim(sources=("penn",))
def co_coercivity(
    key, penalty: Real(1e-3, 1.0, log=True) = 0.05, multiplier: Real(0.5, 2.0) = 1.0, radius: Real(0.5, 5.0) = 2.0
):
    r"""Co-coercivity of the gradient.

    For a convex function, an L-Lipschitz gradient is equivalent to ⟨dg, dw⟩ ≥ ‖dg‖²/L and to D(w′, w) ≥ ‖dg‖²/(2L).
    Without convexity this is false: −w²/2 is a counterexample.

    $$\langle dg, dw \rangle \ge \tfrac1L \|dg\|^2 \iff D(w', w) \ge \tfrac1{2L} \|dg\|^2 \iff \|dg\| \le L\|dw\|$$

    Assumes: l is convex.

    Check: On least squares, the constant `multiplier` · L is accepted if and only if it is at least L.
    """
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    ridge = optimisation.LeastSquares(logistic.x, logistic.y, penalty)
    first, second = random_pairs(rng, radius)
    top = np.linalg.eigh(np.asarray(logistic.x).T @ np.asarray(logistic.x))[1][:, -1]
    second[:20] = first[:20] + np.outer(rng.uniform(0.5, 2, 20), top)
    for name, objective in {"logistic + ridge": logistic, "least squares": ridge}.items():
        L = objective.constants().smoothness
        table = optimisation.pair_table(objective, first, second)
        rows = optimisation.inequality_table(table, smoothness=L, strong_convexity=0.0)
        for row in ("co-coercivity", "co-coercive divergence"):
            yield at_least(rows[row].slack + table.rounding, 0.0, f"{name}: slack of {row}, both orders", atol=1e-12)
        if name == "logistic + ridge":
            smooth, smooth_L = table, L
    guess = optimisation.inequality_table(table, smoothness=multiplier * L, strong_convexity=0.0)
    for row, unit in (("co-coercivity", 1.0), ("Lipschitz gradient", np.sqrt(table.squared_distance))):
        room, what = (
            np.min(guess[row].slack + table.rounding / unit),
            f"least squares: slack of {row}, {multiplier:g} L",
        )
        yield at_least(room, 0.0, what) if multiplier >= 1 else at_most(room, 0.0, what, strict=True)
    sine = optimisation.pair_table(optimisation.SineParabola(FEATURES), *random_pairs(rng, max(radius, 2.0)))
    share = np.mean(sine.inner < sine.squared_change / 8)
    yield at_least(share, 0.0, "w² + 3 sin² w: share of pairs that violate co-coercivity", strict=True)
    # φ(u) = l(u) − ⟨g(w), u⟩ for the first points w, at all other points u.
    (value, other), (slope, _) = smooth.values, smooth.gradients
    w = slice(0, 50)
    least = value[w] - np.sum(slope[w] * smooth.first[w], axis=1)
    elsewhere = np.concatenate([value, other]) - slope[w] @ np.concatenate([smooth.first, smooth.second]).T
    minimum = at_least(elsewhere, least[:, None], "φ at 20,000 points against φ(w) = l(w) − ⟨g(w), w⟩", atol=1e-12)
    yield minimum
    zero = close(least, 0.0, "least value of φ(u) = l(u) − ⟨g(w), u⟩", atol=1e-9)
    yield erratum(zero, of=minimum, by="penn", prints="the minimum of the auxiliary function φ is zero")
    points = {}
    for name, pairs, L in (("logistic + ridge", smooth, smooth_L), ("w² + 3 sin² w", sine, 8.0)):
        change, inner = pairs.squared_change[:400] / L, pairs.inner[:400]
        points[name] = (change / change.max(), inner / change.max())
    title = (
        f"⟨dg, dw⟩ ≥ ‖dg‖²/L for every pair of the convex loss; {share:.0%} of the pairs of w² + 3 sin² w violate it"
    )
    axes = "‖dg‖²/L, largest value 1", "⟨dg, dw⟩ in the same unit"
    yield figure.curves(title, *axes, lines={"equality": ([0, 1], [0, 1])}, points=points)


@claim(sources=("penn",))
def co_coercivity_strongly_convex(
    key,
    penalty: Real(1e-3, 1.0, log=True) = 0.05,
    condition: Real(1.0, 1e4, log=True) = 10.0,
    radius: Real(0.5, 5.0) = 2.0,
):
    r"""Co-coercivity under strong convexity.

    If l is also m-strongly convex, ⟨dg, dw⟩ ≥ mL/(m + L) ‖dw‖² + ‖dg‖²/(m + L). On a unit eigenvector of a quadratic
    the slack is (λ − m)(L − λ)/(m + L): equality holds at both ends of the spectrum.

    $$\langle dg, dw \rangle \ge \frac{mL}{m+L} \|dw\|^2 + \frac1{m+L} \|dg\|^2$$

    Assumes: l is m-strongly convex and L-smooth.

    Check: The parameter `condition` is κ of the quadratic; κ = 1 (m = L) makes every pair an equality.
    """
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    table = optimisation.pair_table(logistic, *random_pairs(rng, radius))
    row = optimisation.inequality_table(table, smoothness=known.smoothness, strong_convexity=penalty)
    strong = row["strong co-coercivity"]
    yield at_least(strong.slack + table.rounding, 0.0, "logistic + ridge: slack over 10,000 pairs", atol=1e-12)
    eigenvalues = np.geomspace(1.0, condition, 12)
    basis = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    matrix, (m, L) = basis * eigenvalues @ basis.T, (1.0, condition)
    base = rng.normal(size=12)
    slack = _quadratic_slack(matrix, np.tile(base, (12, 1)), base + basis.T, m, L)
    predicted = (eigenvalues - m) * (L - eigenvalues) / (m + L)
    yield close(slack, predicted, "quadratic: slack/‖dw‖² on eigenvectors", atol=1e-13 * condition)
    yield close(slack[[0, -1]], 0.0, "quadratic: equality on the extreme eigenvectors", atol=1e-13 * condition)
    many = _quadratic_slack(matrix, *rng.normal(size=(2, 500, 12)), m, L)
    yield at_least(many, 0.0, "quadratic: slack/‖dw‖² over 500 pairs", atol=1e-13 * condition)
    equal = _quadratic_slack(3 * np.eye(12), *rng.normal(size=(2, 500, 12)), 3.0, 3.0)
    yield at_most(np.abs(equal), 1e-12, "m = L: |slack|/‖dw‖² of 500 pairs, equality for each")
    fine = np.geomspace(1.0, max(condition, 1.0 + 1e-9), 100)
    title = f"The slack (λ − m)(L − λ)/(m + L) is 0 at both ends, at most {predicted.max():.3g} for κ = {condition:g}"
    lines = {"(λ − m)(L − λ)/(m + L)": (fine, (fine - m) * (L - fine) / (m + L))}
    points, log = {"eigenvectors": (eigenvalues, slack)}, "x" if condition > 1.01 else ""
    yield figure.curves(title, "eigenvalue λ", "slack / ‖dw‖²", lines=lines, points=points, log=log)


def _quadratic_slack(matrix: np.ndarray, a: np.ndarray, b: np.ndarray, m: float, L: float) -> np.ndarray:
    """The slack of strong co-coercivity of ½ wᵀAw over pairs, in units of ‖dw‖²."""
    values = [np.einsum("ni,ij,nj->n", w, matrix, w) / 2 for w in (a, b)]
    table = tabulate_pairs(a, b, np.stack(values), np.stack([a @ matrix, b @ matrix]))
    rows = optimisation.inequality_table(table, smoothness=L, strong_convexity=m)
    return rows["strong co-coercivity"].slack / table.squared_distance
