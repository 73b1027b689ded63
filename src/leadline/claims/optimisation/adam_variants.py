"""Adam as three sources print it, and what its first moment is and is not."""

from collections.abc import Iterator
from typing import Annotated

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation, stochastic
from leadline.claims.optimisation.adam_recursions import adam_path
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, printed

_B1, _B2, _EPS = 0.9, 0.999, 1e-8


def _sheet_path(
    steps: int, step: float, *, new: bool = False, minus: bool = False, powers: bool = False, inside: bool = False
) -> np.ndarray:
    """The sheet's recursion on x²/2 from 1; each switch repairs one misprint, all four make it Adam."""
    x, m, v, path = 1.0, 0.0, 0.0, [1.0]
    for t in range(1, steps + 1):
        m, old, v = _B1 * m + (1 - _B1) * x, v, _B2 * v + (1 - _B2) * x * x
        used = v if new else old
        first, second = (1 - _B1**t, 1 - _B2**t) if powers else (1 - _B1, 1 - _B2)
        root = np.sqrt(used / second) if inside else np.sqrt(used) / second
        x += (-1 if minus else 1) * step * (m / first) / (root + _EPS)
        path.append(x)
    return np.array(path)


def _bare_path(steps: int) -> np.ndarray:
    """No η and no correction."""
    return adam_path(steps, 1.0, _B1, _B2, eps=_EPS, corrected=False)


def _divided_moments(gradients: Iterator[float], decay: float) -> list[float]:
    """m ← (β m + (1 − β) g)/(1 − βᵗ): the correction inside the recursion."""
    m, found = 0.0, []
    for t, g in enumerate(gradients, start=1):
        m = (decay * m + (1 - decay) * g) / (1 - decay**t)
        found.append(m)
    return found


def _divided_path(steps: int, step: float, b1: float) -> np.ndarray:
    x, m, v, path = 1.0, 0.0, 0.0, [1.0]
    with np.errstate(over="ignore"):
        for t in range(1, steps + 1):
            m = (b1 * m + (1 - b1) * x) / (1 - b1**t)
            v = np.float64(_B2 * v + (1 - _B2) * x * x) / (1 - _B2**t)
            x -= step * m / (np.sqrt(v) + _EPS)
            path.append(x)
    return np.array(path)


@claim(
    "adam-printed-variants",
    says=(
        "Three sources print Adam with mistakes: the wrong sign, powers and second moment; no rate; or the correction "
        "inside the recursion. On x²/2 they leap to 10⁷, jump by about 1, or freeze at 0.87; the standard form "
        "reaches 0."
    ),
    formula=r"m \leftarrow \beta_1 m + (1-\beta_1) g, \quad \hat m = m/(1-\beta_1^t), \quad "
    r"x \leftarrow x - \eta \hat m/(\sqrt{\hat v} + \epsilon)",
    sources=("eth", "sheet", "penn"),
)
def adam_printed_variants(key, step: Annotated[float, Range(0.05, 0.2)] = 0.1):
    """f = x²/2 from 1, 500 steps; the misprints of the sheet repaired one after another; a constant gradient."""
    usual = step == 0.1
    standard = adam_path(500, step, _B1, _B2, eps=_EPS)
    yield at_most(abs(standard[-1]), 1e-3, "standard form: |x| after 500 steps")
    yield close(standard[-1], -4.2e-12, "standard form: x after 500 steps", rtol=2e-2).given(usual, "η = 0.1")

    repairs = [
        {}, {"new": True}, {"new": True, "minus": True}, {"new": True, "minus": True, "powers": True},
        {"new": True, "minus": True, "powers": True, "inside": True},
    ]  # fmt: skip
    names = ["as printed", "new v", "and minus", "and powers βᵗ", "and v̂ inside the root"]
    sheet = [_sheet_path(500, step, **r) for r in repairs]
    yield close(sheet[0][1] - 1, step / _EPS, "sheet: first step, against η/δ", rtol=1e-8)
    known = dict(zip(names[:3], (1.003e7, 2.50, 0.119), strict=True))
    for name, path, value in zip(names, sheet, known.values(), strict=False):
        yield close(path[-1], value, f"sheet, {name}: x after 500 steps", rtol=3e-3).given(usual, "η = 0.1")
    yield close(sheet[-1], standard, "sheet with all repairs, against the standard form", atol=1e-12)
    wrong = close(sheet[0][-1], standard[-1], "x after 500 steps, against the standard form", atol=1e-3)
    yield printed(wrong, "sheet", "x + η m̂/(√v/(1 − b) + δ) with m̂ = m/(1 − a) and the old v")

    bare = _bare_path(500)
    yield close(bare[[1, 2, 3]], [-2.16, -0.49, 1.62], "eth, no η: x after 1, 2, 3 steps", atol=6e-3)
    yield printed(close(bare[1], standard[1], "x after a step", atol=0.1), "eth", "θ − m/(√v + δ): no η, no correction")

    divided = np.array(_divided_moments(np.ones(200), _B1))
    yield close(divided[:4], [1, 5.26, 17.8, 47.0], "penn, gradient 1: m at t = 1 … 4", rtol=3e-3)
    yield close(divided.max(), 3945, "penn, gradient 1: largest m", rtol=1e-4)
    yield exactly(int(np.argmax(divided)) + 1, 21, "penn, gradient 1: where m is largest")
    yield printed(at_most(divided, 1.0, "m of a constant gradient 1"), "penn", "m ← (β₁m + (1 − β₁)g)/(1 − β₁ᵗ)")
    frozen = _divided_path(500, step, _B1)
    yield close(frozen[-1], 0.8715, "penn: x after 500 steps", atol=1e-4).given(usual, "η = 0.1")
    yield exactly(float(frozen[-1] - frozen[-100]), 0.0, "penn: x does not move any more, as v has overflowed")
    yield printed(
        close(frozen[-1], standard[-1], "x after 500 steps, β₁ = 0.9", atol=1e-3), "penn", "the same recursion"
    )
    other = _divided_path(500, step, 0.99)
    yield printed(
        close(other[-1], standard[-1], "x after 500 steps, β₁ = 0.99", atol=1e-3), "penn", "β₁ = 0.99 as default"
    )
    start = at_least(1 - _B1**0, 0.0, "the divisor 1 − β₁ᵗ at the printed start t = 0", strict=True)
    yield printed(start, "penn", "t from 0")
    times = np.arange(501)
    yield figure.curves(
        f"On x²/2 the sheet's Adam leaps to {sheet[0][-1]:.2g}, penn's freezes at {frozen[-1]:.2f}, "
        "the standard form reaches 0",
        x="step",
        y="|x|",
        lines={
            "standard": (times, np.abs(standard)),
            "sheet": (times, np.abs(sheet[0])),
            "sheet, new v and minus": (times, np.abs(sheet[2])),
            "eth, no η": (times, np.abs(bare)),
            "penn, β₁ = 0.9": (times, np.abs(frozen)),
        },
        log="y",
    )


def _averaged_sgd(learning_rate, decay) -> optax.GradientTransformation:
    return optax.chain(optax.ema(decay, debias=False), optax.scale_by_learning_rate(learning_rate))


@claim(
    "adam-first-moment-is-momentum",
    says=(
        "Adam's first moment is an average of past gradients: it cuts the variance of white noise to "
        "(1 − β₁)/(1 + β₁), but at a constant step its error keeps a floor. It is no control variate: the error of "
        "SAG's direction vanishes."
    ),
    formula=r"\mathrm{Var}\, m = \frac{1-\beta_1}{1+\beta_1} \mathrm{Var}\, g, \qquad "
    r"\lim \mathrm{E}\|m_t - g(w_t)\|^2 > 0",
    sources=("penn",),
)
def adam_first_moment_is_momentum(
    key,
    b1: Annotated[float, Range(0.5, 0.95)] = 0.9,
    step: Annotated[float, Range(0.02, 0.3)] = 0.1,
):
    """The six-point problem: first at fixed w, 4000 streams of 150 gradients; then 3000 steps of the three methods."""
    rng = data.generator(key)
    problem = stochastic.six_points()
    x, y = (np.asarray(a) for a in problem.arrays)
    each = x[:, 0] * (x[:, 0] * 0.0 - y)  # the six gradients at w = 0
    length, streams = 150, 4000
    weights = (1 - b1) * b1 ** np.arange(length - 1, -1, -1)
    averages = weights @ each[rng.integers(6, size=(length, streams))]
    share = (averages - each.mean() * weights.sum()) ** 2 / each.var()
    factor = (1 - b1) * (1 - b1 ** (2 * length)) / (1 + b1)
    yield mean(share, factor, "variance of m over that of g at fixed w, against (1 − β₁)/(1 + β₁)")

    steps = 3000
    indices = rng.integers(6, size=steps)
    start = jnp.array([2.0])
    slopes, constant = float(np.mean(x**2)), float(np.mean(x[:, 0] * y))
    paths = {"SAG": stochastic.sag(problem, start, step, jnp.asarray(indices), every=1).points}
    for name, decay in (("raw gradient", 0.0), ("first moment", b1)):
        rule = optimisation.tunable(_averaged_sgd, learning_rate=step, decay=decay)
        paths[name] = stochastic.rule_run(problem, rule, start, jnp.asarray(indices)[:, None]).points
    errors = {}
    for name, points in paths.items():
        w = np.asarray(points)[:, 0]
        errors[name] = (-np.diff(w) / step - (slopes * w[:-1] - constant)) ** 2  # ‖direction − g(w)‖²
    floor = {name: float(np.mean(e[steps // 2 :])) for name, e in errors.items()}
    yield at_most(errors["SAG"][-100:], 1e-12, "SAG: squared error of its direction at the end")
    yield at_least(floor["first moment"], 1e-5, "first moment: mean squared error in the second half")
    yield at_most(floor["first moment"], floor["raw gradient"], "first moment: its floor, below the raw gradient's")
    vanishing = at_most(floor["first moment"], 1e-12, "mean squared error of m in the second half")
    yield printed(vanishing, "penn", "the first moment does what the buffer methods do")
    times = np.arange(steps)
    windows = 60
    yield figure.curves(
        f"Averaging gradients leaves an error of {floor['first moment']:.1g}; SAG's goes to 0",
        x="step",
        y="squared distance to the full gradient",
        points={
            name: (
                times.reshape(windows, -1).mean(axis=1),
                np.maximum(errors[name].reshape(windows, -1).mean(axis=1), 1e-32),
            )
            for name in ("raw gradient", "first moment", "SAG")
        },
        log="y",
    )
