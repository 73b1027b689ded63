"""Adam as three sources have it, and what its first moment is and is not."""

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation, stochastic
from leadline.claims.scenarios.optimisation.adam_recursions import adam_path
from leadline.evidence import Real, at_least, at_most, claim, close, erratum, exactly, mean, reference
from leadline.presentation import figure
from leadline.stochastic.problems.finite_sum import six_points

_B1, _B2, _EPS = 0.9, 0.999, 1e-8


def _sheet_path(num_steps: int, step_size: float, *, minus=False, powers=False, inside=False) -> np.ndarray:
    """The sheet's recursion on x²/2 from 1; each switch repairs one slip, all three make it Adam."""
    x, m, v, path = 1.0, 0.0, 0.0, [1.0]
    for t in range(1, num_steps + 1):
        m, v = _B1 * m + (1 - _B1) * x, _B2 * v + (1 - _B2) * x * x
        first, second = (1 - _B1**t, 1 - _B2**t) if powers else (1 - _B1, 1 - _B2)
        root = np.sqrt(v / second) if inside else np.sqrt(v) / second
        x += (-1 if minus else 1) * step_size * (m / first) / (root + _EPS)
        path.append(x)
    return np.array(path)


def _divided_path(num_steps: int, step_size: float, b1: float) -> np.ndarray:
    """m ← (β m + (1 − β) g)/(1 − βᵗ) and so for v: the corrections inside the recursion."""
    x, m, v, path = 1.0, 0.0, 0.0, [1.0]
    with np.errstate(over="ignore"):
        for t in range(1, num_steps + 1):
            m = (b1 * m + (1 - b1) * x) / (1 - b1**t)
            v = np.float64(_B2 * v + (1 - _B2) * x * x) / (1 - _B2**t)
            x -= step_size * m / (np.sqrt(v) + _EPS)
            path.append(x)
    return np.array(path)


@claim(sources=("eth", "sheet", "penn"))
def adam_printed_variants(key, step_size: Real(0.05, 0.2) = 0.1):
    r"""Errata in three statements of Adam.

    Three sources state Adam with slips: a plus sign and corrections without the power t; 1 in place of the step size;
    or the correction inside the recursion. On x²/2 these climb to 2.5, jump by about 1, or freeze at 0.87; the standard
    form reaches 0.

    $$m \leftarrow \beta_1 m + (1-\beta_1) g, \quad \hat m = m/(1-\beta_1^t), \quad x \leftarrow x - \eta \hat
    m/(\sqrt{\hat v} + \epsilon)$$

    Check: All forms run on f = x²/2 from 1 for 500 steps, and on a constant gradient; the slips of the summary sheet
    are repaired one after another.
    """
    standard = adam_path(500, step_size, _B1, _B2, eps=_EPS)
    settled = at_most(abs(standard[-1]), 1e-3, "standard form: |x| after 500 steps")
    yield settled
    first = close(standard[1], 1 - step_size, "standard form: x after a step, against 1 − η", atol=1e-6)
    yield first
    ema = optimisation.respond(optax.ema(_B1, debias=True), jnp.ones((200, 1)))
    steady = close(ema, 1.0, "standard form: m̂ of a constant gradient 1", atol=1e-6)
    yield steady
    repairs = {"as it stands": {}, "with a minus": {"minus": True}}
    sheet = {name: _sheet_path(500, step_size, **repair) for name, repair in repairs.items()}
    repaired = _sheet_path(500, step_size, minus=True, powers=True, inside=True)
    yield close(repaired, standard, "sheet with a minus, powers βᵗ and v̂ inside the root: x, against Adam", atol=1e-12)
    wrong = close(sheet["as it stands"][-1], standard[-1], "sheet: x after 500 steps, against Adam", atol=1e-3)
    prints = "x + η m̂/(√v/(1 − b) + δ), m̂ = m/(1 − a): a plus sign, and no powers t"
    yield erratum(wrong, of=settled, by="sheet", prints=prints)
    bare = adam_path(500, 1.0, _B1, _B2, eps=_EPS, corrected=False)
    for t, value, digits in ((1, -2.16, 3), (2, -0.49, 2), (3, 1.62, 3)):
        yield reference(bare[t], value, f"eth, 1 in place of η: x after {t} steps", digits=digits)
    wrong = close(bare[1], standard[1], "eth: x after a step, against Adam", atol=0.1)
    yield erratum(wrong, of=first, by="eth", prints="θ − m/(√v + δ): the numerator is 1 where η belongs")
    divided = [0.0]
    for t in range(1, 201):
        divided.append((_B1 * divided[-1] + (1 - _B1)) / (1 - _B1**t))
    yield reference(divided[1:5], [1, 5.263, 17.85, 47.00], "penn, gradient 1: m at t = 1 … 4", digits=4)
    yield reference(max(divided), 3945.1, "penn, gradient 1: largest m", digits=5)
    yield exactly(np.argmax(divided), 21, "penn, gradient 1: t at which m is largest")
    prints = "m ← (β₁m + (1 − β₁)g)/(1 − β₁ᵗ): the correction inside the recursion"
    yield erratum(at_most(divided, 1.0, "penn: m of a constant gradient 1"), of=steady, by="penn", prints=prints)
    frozen = _divided_path(500, step_size, _B1)
    yield exactly(frozen[-1] - frozen[-100], 0.0, "penn: change of x in the last 99 steps, as v has overflowed")
    for b1 in (_B1, 0.99):
        end = _divided_path(500, step_size, b1)[-1]
        wrong = close(end, standard[-1], f"penn: x after 500 steps with β₁ = {b1:g}, against Adam", atol=1e-3)
        yield erratum(wrong, of=settled, by="penn", prints=f"{prints}; β₁ = 0.99 as default")
    if step_size == 0.1:
        yield reference(standard[-1], -4.2e-12, "standard form: x after 500 steps", digits=2)
        yield reference(frozen[-1], 0.8715, "penn: x after 500 steps", digits=4)
        for (name, path), value, digits in zip(sheet.items(), (2.50, 0.1192), (3, 4), strict=True):
            yield reference(path[-1], value, f"sheet, {name}: x after 500 steps", digits=digits)
    paths = {"standard": standard, "eth, no η": bare, "penn, β₁ = 0.9": frozen}
    paths |= {f"sheet, {name}": path for name, path in sheet.items()}
    lines = {name: (np.arange(501), np.abs(path)) for name, path in paths.items()}
    far, stuck = sheet["as it stands"][-1], frozen[-1]
    title = f"On x²/2 the sheet's Adam climbs to {far:.2g}, penn's freezes at {stuck:.2f}, the standard form reaches 0"
    yield figure.curves(title, "step", "|x|", lines=lines, log="y")


def _averaged_sgd(learning_rate, decay) -> optax.GradientTransformation:
    return optax.chain(optax.ema(decay, debias=False), optax.scale_by_learning_rate(learning_rate))


@claim(sources=("penn",))
def adam_first_moment_is_momentum(key, b1: Real(0.5, 0.95) = 0.9, step_size: Real(0.02, 0.3) = 0.1):
    r"""Adam's first moment is momentum.

    Adam's first moment is an average of past gradients: it cuts the variance of white noise to (1 − β₁)/(1 + β₁) of
    its size, but at a constant step size its error keeps a floor. It is not a control variate: the error of SAG's
    direction vanishes.

    $$\mathrm{Var}\, m = \frac{1-\beta_1}{1+\beta_1} \mathrm{Var}\, g, \qquad \lim \mathrm{E}\|m_t - g(w_t)\|^2 > 0$$

    Check: On the six-point problem, 4000 streams of 150 gradients are first averaged at fixed w; then the three
    methods run for 3000 steps.
    """
    rng, problem = data.generator(key), six_points()
    x, y = map(np.asarray, problem.arrays)
    each = x[:, 0] * (x[:, 0] * 0.0 - y)  # the six gradients at w = 0
    length, streams = 150, 4000
    weights = (1 - b1) * b1 ** np.arange(length - 1, -1, -1)
    averages = weights @ each[rng.integers(6, size=(length, streams))]
    share = (averages - each.mean() * weights.sum()) ** 2 / each.var()
    factor = (1 - b1) * (1 - b1 ** (2 * length)) / (1 + b1)
    yield mean(share, factor, "variance of m over that of g at fixed w, against (1 − β₁)/(1 + β₁)")
    steps, start = 3000, jnp.array([2.0])
    indices = jnp.asarray(rng.integers(6, size=steps))
    slopes, constant = np.mean(x**2), np.mean(x[:, 0] * y)
    paths = {"SAG": stochastic.sag(problem, start, step_size, indices, every=1).points}
    for name, decay in (("raw gradient", 0.0), ("first moment", b1)):
        rule = optimisation.tunable(_averaged_sgd, learning_rate=step_size, decay=decay)
        paths[name] = stochastic.rule_run(problem, rule, start, indices[:, None]).points
    errors = {}
    for name, points in paths.items():
        w = np.asarray(points)[:, 0]
        errors[name] = (-np.diff(w) / step_size - (slopes * w[:-1] - constant)) ** 2  # ‖direction − g(w)‖²
    floor = {name: float(np.mean(e[steps // 2 :])) for name, e in errors.items()}
    yield at_most(errors["SAG"][-100:], 1e-12, "SAG: squared error of its direction at the end")
    yield at_least(floor["first moment"], 1e-5, "first moment: mean squared error in the second half")
    yield at_most(floor["first moment"], floor["raw gradient"], "first moment: its floor, below the raw gradient's")
    times = np.arange(steps).reshape(60, -1).mean(axis=1)
    points = {name: (times, e.reshape(60, -1).mean(axis=1)) for name, e in errors.items()}
    title = f"Averaging gradients leaves an error of {floor['first moment']:.1g}; SAG's goes to 0"
    yield figure.curves(title, "step", "squared distance to the full gradient", points=points, log="y")
