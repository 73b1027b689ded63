"""The best regressor of each loss, and the split of every squared risk around it."""

import numpy as np

from leadline import data, learning
from leadline.evidence import Int, OneOf, Real, claim, close, mean
from leadline.presentation import figure
from leadline.regularisation.evaluation.finite_distributions import finite_distribution


@claim(sources=("penn",))
def optimal_regressor_by_loss(key, skew: Real(0.0, 3.0) = 1.0, inputs: Int(1, 8) = 4, values: Int(3, 60) = 25):
    r"""The best regressor depends on the loss.

    At each x the prediction with the least expected squared loss is the mean of y given x; with the least expected
    absolute loss it is the median, with the least expected pinball loss of level τ the τ-quantile.

    $$f^*(x) = \mathbb{E}[y|x] \;\text{ minimises }\; \mathbb{E}(f(x) - y)^2, \qquad \operatorname{med}[y|x] \;
    \text{ minimises }\; \mathbb{E}|f(x) - y|$$

    Assumes: E y² is finite.

    Check: y takes finitely many values, with probabilities drawn at random and made lopsided by `skew`. The least risk
    at each x is searched: where the slope of the squared risk is 0, and for the others by golden section.
    """
    law = _skewed(data.generator(key), skew, inputs, values)
    reach = float(np.ptp(law.values)) + 1.0
    losses = {
        "squared": (lambda c, y: (c - y) ** 2, law.mean()),
        "absolute": (lambda c, y: np.abs(c - y), law.quantile(0.5)),
        "pinball 0.9": (lambda c, y: np.asarray(learning.pinball(c, y, 0.9)), law.quantile(0.9)),
    }
    found = {name: _search(law, name, loss, reach) for name, (loss, _) in losses.items()}
    yield close(found["squared"], law.mean(), "least squared risk at each x, against E[y|x]", atol=1e-8 * reach)
    for name in ("absolute", "pinball 0.9"):
        # Where F passes the level within rounding, a whole interval minimises: there compare the risks themselves.
        loss, quantile = losses[name]
        risks = law.conditional_risk(found[name], loss), law.conditional_risk(quantile, loss)
        yield close(risks[1], risks[0], f"{name} risk of the quantile at each x, against the least", atol=1e-8 * reach)
        level = 0.5 if name == "absolute" else 0.9
        steps = np.abs(np.cumsum(law.conditional, axis=1) - level).min(axis=1) > 1e-6
        if steps.any():
            what = f"least {name} risk at each x, against the {'median' if level == 0.5 else '0.9-quantile'}"
            yield close(found[name][steps], quantile[steps], what, atol=1e-8 * reach)
    grid = np.linspace(law.values.min(), law.values.max(), 201)
    lines, points = {}, {}
    for name, (loss, best) in losses.items():
        curve = law.conditional_risk(np.repeat(grid[:, None], inputs, axis=1), loss)[:, 0]
        lines[name] = grid, curve / curve.max()
        least = law.conditional_risk(best, loss)[0] / curve.max()
        points[name] = [best[0]], [least]
    middle = f"the mean {law.mean()[0]:.2f}, absolute at the median {law.quantile()[0]:.2f}"
    title = f"At one x the expected squared loss is least at {middle}"
    yield figure.curves(title, "prediction c", "expected loss of c, over its largest", lines=lines, points=points)


def _skewed(rng, skew, inputs, values):
    """Random P(x) and P(y|x) on random values; weights fall as exp(−skew·rank), so that the right tail is long."""
    y = np.sort(rng.normal(size=values)) + np.exp(skew * np.linspace(-2, 2, values)) / np.exp(skew)
    weights = rng.dirichlet(np.ones(values), size=inputs) * np.exp(-skew * np.linspace(0, 2, values))
    conditional = weights / weights.sum(axis=1, keepdims=True)
    return finite_distribution(rng.dirichlet(np.ones(inputs)), y, conditional)


def _search(law, name, loss, reach):
    """The least risk at each x from values of the risk alone."""
    from scipy.optimize import brentq, minimize_scalar

    best = []
    for row in range(len(law.inputs)):
        one = law._replace(inputs=np.ones(1), conditional=law.conditional[row : row + 1])
        risk = lambda c, one=one: one.risk(np.array([c]), loss)  # noqa: E731
        low, high = float(law.values.min()) - 0.5, float(law.values.max()) + 0.5
        if name == "squared":  # a central difference of a parabola is its slope
            best.append(brentq(lambda c, risk=risk: risk(c + 1) - risk(c - 1), low, high, xtol=1e-12))
        else:
            best.append(minimize_scalar(risk, bracket=(low, high), method="golden", tol=1e-11).x)
    return np.array(best)


@claim(sources=("penn",))
def risk_split_at_optimum(
    key,
    inputs: Int(1, 40) = 10,
    values: Int(2, 40) = 12,
    spread: Real(0.01, 10.0, log=True) = 1.0,
    kind: OneOf("random", "f*", "constant") = "random",
):
    r"""Every risk splits at the best regressor.

    The squared risk of any function is its mean squared distance from f* = E[y|x] plus the Bayes error. The cross term
    is exactly 0, because f* − y has mean 0 at every x.

    $$R(f) = \mathbb{E}_x (f - f^*)^2 + \mathbb{E}(f^* - y)^2, \qquad \mathbb{E}\,(f - f^*)(f^* - y) = 0$$

    Assumes: squared loss; E y² is finite.

    Check: A random distribution on finitely many values; f is drawn with the standard deviation `spread`, or is f*, or
    a constant. R(f) is the sum over all pairs; and the mean over 20000 draws.
    """
    rng = data.generator(key)
    law = _skewed(rng, 1.0, inputs, values)
    functions = {
        "random": lambda: spread * rng.normal(size=inputs),
        "f*": law.mean,
        "constant": lambda: np.full(inputs, spread * rng.normal()),
    }
    chosen = [functions[kind]() for _ in range(20)]
    splits = [law.split(f) for f in chosen]
    risks = np.array([law.risk(f) for f in chosen])
    sums = np.array([one.distance + one.floor for one in splits])
    yield close(risks, sums, "R(f) of 20 functions, against E(f − f*)² + E(f* − y)²", atol=1e-12 * risks.max())
    yield close([one.cross for one in splits], 0.0, "cross term E(f − f*)(f* − y)", atol=1e-12 * risks.max())
    x, y = law.draw(20_000, rng)
    yield mean((chosen[0][x[:, 0]] - y) ** 2, sums[0], "squared loss of 20000 draws, against the sum of the two terms")
    few = range(6)
    shown = {
        "E(f − f*)²": {f"f{k + 1}": splits[k].distance for k in few},
        "E(f* − y)²": {f"f{k + 1}": splits[k].floor for k in few},
        "their sum": {f"f{k + 1}": sums[k] for k in few},
        "R(f)": {f"f{k + 1}": risks[k] for k in few},
    }
    title = f"The two terms add up to the risk; no function is below E(f* − y)² = {splits[0].floor:.3g}"
    yield figure.bars(title, "function", "squared loss", values=shown)
