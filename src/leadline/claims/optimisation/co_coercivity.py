"""What a gradient says of a smooth function: the gap sandwich, and co-coercivity once it is (strongly) convex."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.small_regressions import FEATURES, logistic_problem, random_pairs
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


@claim(
    "gap-sandwich",
    says=(
        "The gap lies between ‖g‖²/(2L) and (L/2)‖w − w*‖². With PL it is at most ‖g‖²/(2μ), which can be computed: a "
        "stopping rule that certifies the gap."
    ),
    formula=r"\frac{\|g\|^2}{2L} \le l - l^* \le \frac L2 \|w - w^*\|^2, \qquad l - l^* \le \frac{\|g\|^2}{2\mu}",
    sources=("penn",),
    assumes=("l is L-smooth with minimiser w*", "PL with μ for the stopping rule"),
)
def gap_sandwich(
    key,
    penalty: Annotated[float, Range(1e-2, 1.0, log=True)] = 0.05,
    goal: Annotated[float, Range(1e-11, 1e-2, log=True)] = 1e-6,
    momentum: Annotated[float, Range(0.1, 0.9)] = 0.6,
):
    """Gradient descent, heavy ball and Newton on logistic regression; `goal` is the gap to be certified."""
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    L, mu, steps = known.smoothness, known.pl, 400
    start = jnp.asarray(rng.normal(size=FEATURES))
    rules = {
        "GD": optimisation.heavy_ball(1 / L, 0.0),
        "heavy ball": optimisation.heavy_ball(1 / L, momentum),
        "Newton": optimisation.newton(),
    }
    curves = {}
    for name, rule in rules.items():
        run = optimisation.descend(logistic, rule, start, steps if name != "Newton" else 8)
        gap, slope2 = np.asarray(run.values) - known.minimum, run.gradient_norms**2
        distance2 = np.sum((np.asarray(run.points) - known.minimiser) ** 2, axis=1)
        above = slope2 / (2 * mu)
        yield at_least(gap, slope2 / (2 * L), f"{name}: gap against ‖g‖²/2L", rtol=1e-9, atol=1e-13)
        yield at_most(gap, L / 2 * distance2, f"{name}: gap against (L/2)‖w − w*‖²", rtol=1e-9, atol=1e-13)
        yield at_most(gap, above, f"{name}: gap against ‖g‖²/2μ", rtol=1e-9, atol=1e-13)
        stop = np.flatnonzero(above <= goal)
        yield at_most(
            gap[stop[0]] if len(stop) else np.inf, goal, f"{name}: gap where the rule stops", atol=1e-13
        ).given(len(stop), "the run reaches the goal")
        curves[name] = (gap, slope2 / (2 * L), L / 2 * distance2, above, int(stop[0]) if len(stop) else len(gap) - 1)
    gap, low, high, above, stop = curves["GD"]
    t = np.flatnonzero(gap > 1e-13)[:: max(1, int(np.sum(gap > 1e-13)) // 60)]
    lines = {"‖g‖²/2L": (t, low[t]), "(L/2)‖w − w*‖²": (t, high[t]), "‖g‖²/2μ": (t, above[t])}
    yield figure.curves(
        f"Along gradient descent the gap stays between its bounds; the rule stops at step {stop} with a gap of "
        f"{max(gap[stop], 0):.2g} ≤ {goal:.2g}",
        x="step", y="loss", log="y", lines=lines, points={"gap": (t, gap[t])}, rules={"stop": ("x", float(stop))},
    )  # fmt: skip


@claim(
    "co-coercivity",
    says=(
        "For a convex function an L-Lipschitz gradient is the same as ⟨dg, dw⟩ ≥ ‖dg‖²/L and as D(w′, w) ≥ ‖dg‖²/(2L). "
        "Without convexity it is false: −w²/2."
    ),
    formula=(
        r"\langle dg, dw \rangle \ge \tfrac1L \|dg\|^2 \iff D(w', w) \ge \tfrac1{2L} \|dg\|^2 \iff \|dg\| \le L\|dw\|"
    ),
    sources=("penn",),
    assumes=("l is convex",),
)  # fmt: skip
def co_coercivity(
    key,
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.05,
    multiplier: Annotated[float, Range(0.5, 2.0)] = 1.0,
    radius: Annotated[float, Range(0.5, 5.0)] = 2.0,
):
    """On least squares `multiplier` · L is accepted iff it is at least L."""
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
    yield exactly(
        [guess["co-coercivity"].holds, guess["Lipschitz gradient"].holds], multiplier >= 1,
        f"least squares: both forms accept {multiplier:g} L",
    )  # fmt: skip

    sine = optimisation.pair_table(optimisation.SineParabola(FEATURES), *random_pairs(rng, max(radius, 2.0)))
    failing = sine.inner < sine.squared_change / 8
    yield at_least(np.mean(failing), 0.0, "w² + 3 sin² w: share of pairs that violate it", strict=True)
    r2 = (first[:, 0] - second[:, 0]) ** 2
    yield printed(
        at_least(-r2, r2, "−w²/2: ⟨dg, dw⟩ against ‖dg‖²/L, L = 1"), "penn", "an L-smooth function is co-coercive"
    )

    # φ(u) = l(u) − ⟨g(w), u⟩ for the first points w, at all other points u.
    (value, other), (slope, _) = smooth.values, smooth.gradients
    w = slice(0, 50)
    least = value[w] - np.sum(slope[w] * smooth.first[w], axis=1)
    elsewhere = np.concatenate([value, other]) - slope[w] @ np.concatenate([smooth.first, smooth.second]).T
    yield at_least(elsewhere, least[:, None], "φ at 20,000 points against φ(w) = l(w) − ⟨g(w), w⟩", atol=1e-12)
    yield printed(close(least, 0.0, "least value of φ", atol=1e-9), "penn", "the minimum of φ is zero")

    shown = slice(0, 400)
    high = float(np.max((smooth.squared_change / smooth_L)[shown]))
    share = float(np.mean(failing))
    line = np.linspace(0, 1, 2)
    yield figure.curves(
        f"⟨dg, dw⟩ ≥ ‖dg‖²/L for every pair of the convex loss; {share:.0%} of the pairs of w² + 3 sin² w violate it",
        x="‖dg‖²/L, largest convex value 1", y="⟨dg, dw⟩ in the same unit", lines={"equality": (line, line)},
        points={
            "logistic + ridge": ((smooth.squared_change / smooth_L)[shown] / high, smooth.inner[shown] / high),
            "w² + 3 sin² w": _scaled(sine.squared_change[shown] / 8, sine.inner[shown]),
        },
    )  # fmt: skip


def _scaled(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x / x.max(), y / x.max()


@claim(
    "co-coercivity-strongly-convex",
    says=(
        "If l is also m-strongly convex, ⟨dg, dw⟩ ≥ mL/(m+L) ‖dw‖² + ‖dg‖²/(m+L). On an eigenvector of a quadratic the "
        "slack is (λ − m)(L − λ)/(m + L): equality at both ends of the spectrum."
    ),
    formula=r"\langle dg, dw \rangle \ge \frac{mL}{m+L} \|dw\|^2 + \frac1{m+L} \|dg\|^2",
    sources=("penn",),
    assumes=("l is m-strongly convex and L-smooth",),
)
def co_coercivity_strongly_convex(
    key,
    penalty: Annotated[float, Range(1e-3, 1.0, log=True)] = 0.05,
    condition: Annotated[float, Range(1.0, 1e4, log=True)] = 10.0,
    radius: Annotated[float, Range(0.5, 5.0)] = 2.0,
):
    """`condition` is κ of the quadratic; κ = 1 (m = L) makes every pair an equality."""
    rng = data.generator(key)
    logistic = logistic_problem(rng, penalty)
    known = logistic.constants()
    table = optimisation.pair_table(logistic, *random_pairs(rng, radius))
    row = optimisation.inequality_table(table, smoothness=known.smoothness, strong_convexity=penalty)
    strong = row["strong co-coercivity"]
    yield at_least(strong.slack + table.rounding, 0.0, "logistic + ridge: slack over 10,000 pairs", atol=1e-12)

    eigenvalues = np.geomspace(1.0, condition, 12)
    basis = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    matrix = basis * eigenvalues @ basis.T
    base = rng.normal(size=12)
    pairs = _quadratic_pairs(matrix, np.tile(base, (12, 1)), base + basis.T)
    m, L = 1.0, condition
    slack = _slack(pairs, m, L) / pairs.squared_distance
    predicted = (eigenvalues - m) * (L - eigenvalues) / (m + L)
    yield close(slack, predicted, "quadratic: slack on eigenvectors", atol=1e-13 * condition)
    yield close(slack[[0, -1]], 0.0, "quadratic: equality on the extreme eigenvectors", atol=1e-13 * condition)
    many = _quadratic_pairs(matrix, *rng.normal(size=(2, 500, 12)))
    yield at_least(
        _slack(many, m, L) / many.squared_distance, 0.0, "quadratic: slack over 500 pairs", atol=1e-13 * condition
    )
    round_one = _quadratic_pairs(3 * np.eye(12), *rng.normal(size=(2, 500, 12)))
    yield at_most(
        np.abs(_slack(round_one, 3.0, 3.0)), 1e-12 * round_one.squared_distance, "m = L: equality for every pair"
    )
    fine = np.geomspace(1.0, max(condition, 1.0 + 1e-9), 100)
    yield figure.curves(
        f"The slack is (λ − m)(L − λ)/(m + L), zero at both ends: at most {predicted.max():.3g} for κ = {condition:g}",
        x="eigenvalue λ", y="slack / ‖dw‖²", log="x" if condition > 1.01 else "",
        lines={"(λ − m)(L − λ)/(m + L)": (fine, (fine - m) * (L - fine) / (m + L))},
        points={"eigenvectors": (eigenvalues, slack)},
    )  # fmt: skip


def _quadratic_pairs(matrix: np.ndarray, a: np.ndarray, b: np.ndarray) -> optimisation.PairTable:
    values = [np.einsum("ni,ij,nj->n", w, matrix, w) / 2 for w in (a, b)]
    return optimisation.tabulate_pairs(a, b, np.stack(values), np.stack([a @ matrix, b @ matrix]))


def _slack(table: optimisation.PairTable, m: float, L: float) -> np.ndarray:
    return optimisation.inequality_table(table, smoothness=L, strong_convexity=m)["strong co-coercivity"].slack
