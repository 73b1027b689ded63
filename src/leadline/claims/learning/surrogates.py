"""The zero-one loss and its surrogates: which of them bound the error, and why the hinge has a margin."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, dichotomies, learning, margins
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed

SURROGATES = ("exponential", "logistic", "hinge")


@claim(
    "surrogate-dominates-zero-one",
    says=(
        "The exponential loss, the logistic loss over log 2 and the hinge lie above the zero-one loss everywhere, so "
        "the "
        "training error is at most the mean surrogate. The perceptron's loss max(0, −z) gives no such bound: it is 0 "
        "at w = 0."
    ),
    formula=r"1_{z \le 0} \le e^{-z}, \quad 1_{z \le 0} \le \log_2(1 + e^{-z}), \quad 1_{z \le 0} \le \max(0, 1 - z)",
    sources=("penn",),
)
def surrogate_dominates_zero_one(
    key,
    samples: Annotated[int, Range(20, 500)] = 200,
    distance: Annotated[float, Range(0.0, 4.0)] = 1.5,
    rate: Annotated[float, Range(0.05, 1.0, log=True)] = 1.0,
    steps: Annotated[int, Range(50, 1000)] = 300,
):
    """Gradient descent from 0 on two clouds scaled into the unit ball: the exponential loss falls at any rate ≤ 1."""
    z = np.linspace(-50, 50, 4001)
    error = np.asarray(learning.zero_one(z))
    for name in SURROGATES:
        card = learning.LOSSES[name]
        yield at_least(
            card.dominates * np.asarray(card.value(z)), error, f"{name} loss × {card.dominates:.3g}, on [−50, 50]"
        )

    x, y = data.gaussian_clouds(samples, 2, distance, key=key)
    x = x / jnp.linalg.norm(x, axis=1).max()
    mistakes, surrogate = (np.asarray(a) for a in _descents(x, y, rate, steps))
    for k, name in enumerate(SURROGATES):
        yield at_most(
            mistakes[:, k], surrogate[:, k], f"training error against the mean {name} loss in every step", rtol=1e-12
        )

    nothing = y * (x @ jnp.zeros(2))
    yield exactly(float(learning.perceptron_hinge(nothing).mean()), 0.0, "mean perceptron loss at w = 0")
    yield printed(
        at_most(float(learning.zero_one(nothing).mean()), 0.0, "error at w = 0, where that loss is 0"),
        "penn", "a small surrogate loss max(0, −z) forces few mistakes",
    )  # fmt: skip

    shown = np.linspace(-2, 3, 201)
    lines = {f"{n} × {learning.LOSSES[n].dominates:.3g}": learning.LOSSES[n] for n in SURROGATES}
    curves = {n: (shown, np.minimum(card.dominates * np.asarray(card.value(shown)), 4)) for n, card in lines.items()}
    curves |= {"perceptron": (shown, np.asarray(learning.perceptron_hinge(shown)))}
    some = np.unique(np.geomspace(1, steps, 40).astype(int)) - 1
    yield figure.beside(
        f"Error never exceeds the mean surrogate: it ends at {mistakes[-1, 1]:.3g}, below the logistic loss's "
        f"{surrogate[-1, 1]:.3g}",
        figure.curves(
            "losses above the step", x="margin z", y="loss",
            lines=curves, steps={"zero-one": (np.array([-2.0, 0.0, 3.0]), np.array([1.0, 0.0, 0.0]))},
        ),
        figure.curves(
            "over training, from w = 0", x="mean surrogate", y="training error",
            lines={"error = surrogate": (np.array([0.0, 1.0]), np.array([0.0, 1.0]))},
            points={n: (surrogate[some, k], mistakes[some, k]) for k, n in enumerate(SURROGATES)},
        ),
    )  # fmt: skip


@partial(jax.jit, static_argnums=3)
def _descents(x, y, rate, steps):
    """Error and mean surrogate before each step of three descents, one for each surrogate, side by side."""

    def risks(w):
        z = y[:, None] * (x @ w)
        scaled = [
            learning.LOSSES[n].dominates * learning.LOSSES[n].value(z[:, k]).mean() for k, n in enumerate(SURROGATES)
        ]
        return jnp.stack(scaled), learning.zero_one(z).mean(axis=0)

    def step(w, _):
        gradient, error = jax.grad(lambda w: (risks(w)[0].sum(), risks(w)[1]), has_aux=True)(w)
        return w - rate * gradient, (error, risks(w)[0])

    return jax.lax.scan(step, jnp.zeros((x.shape[1], len(SURROGATES))), None, length=steps)[1]


@claim(
    "margin-hinge-needed",
    says=(
        "The perceptron loss is least at w = 0 and is content with any margin; max(0, 1 − z) excludes w = 0 and "
        "bounds the "
        "error. The 1 only sets the scale: as a ridge penalty tends to 0 the minimiser tends to the widest margin."
    ),
    formula=(
        r"\frac1n \sum_i \max(0, 1 - y_i w \cdot x_i) + \tfrac{\lambda}{2}\|w\|^2, \quad \lambda \to 0: \ "
        r"\frac{w_\lambda}{\|w_\lambda\|} \to \frac{w^*}{\|w^*\|}"
    ),
    sources=("penn", "cam"),
    assumes=("the data are separable",),
)
def margin_hinge_needed(
    key,
    samples: Annotated[int, Range(10, 100)] = 40,
    gap: Annotated[float, Range(0.05, 0.5, log=True)] = 0.15,
    starts: Annotated[int, Range(10, 100)] = 60,
    penalty: Annotated[float, Range(1e-7, 1e-5, log=True)] = 1e-6,
):
    """Points in the plane with a bias; descents on both losses start from `starts` random weights."""
    sample = data.separable_ball(samples, 2, gap, key=key)
    x, y = np.array(sample.x), np.array(sample.y)
    if y[0] == y[1]:  # both classes are needed for a margin with a bias
        x[0], y[0] = -x[0], -y[0]
    rows = np.column_stack([x, np.ones(samples)])
    nothing = np.zeros(samples)
    yield exactly(float(learning.perceptron_hinge(nothing).mean()), 0.0, "perceptron loss at w = 0, its least value")
    yield exactly(float(learning.hinge(nothing).mean()), 1.0, "hinge loss at w = 0")

    best = margins.max_margin(x, y)
    soft = margins.soft_margin(x, y, ridge=penalty)
    reached = margins.data_margin(soft.weights, soft.bias, x, y).margin
    yield close(reached, best.margin, f"margin of hinge plus ridge at penalty {penalty:.2g}", rtol=0.01)
    ridges = np.geomspace(0.02, penalty, 9)
    paths = [margins.soft_margin(x, y, ridge=r) for r in ridges]
    hinge_at = [p.objective for p in paths]
    yield at_most(hinge_at, 1.0, "penalised hinge at its minimum against its value at w = 0", rtol=1e-6)

    rng = data.generator(key)
    ends = {name: _trained(name, rows, y, rng.normal(size=(starts, 3))) for name in ("perceptron_hinge", "hinge")}
    loose, tight = (np.array([margins.data_margin(w[:2], w[2], x, y).margin for w in ends[n]]) for n in ends)
    separators = np.vstack([ends["perceptron_hinge"][loose > 0], np.append(best.weights, best.bias)])
    scaled = y * (separators @ rows.T)
    scaled = scaled / scaled.min(axis=1, keepdims=True)
    yield close(np.maximum(1 - scaled, 0).mean(axis=1), 0.0, "hinge loss of any separator, rescaled", atol=1e-12)
    thin = _thin(best, rows, y, 1e-6 * best.margin)
    yield at_most((np.maximum(-y * (rows @ thin), 0)).mean(), 0.0, "perceptron loss of a classifier of tiny margin")
    yield at_most(
        margins.data_margin(thin[:2], thin[2], x, y).margin, 2e-6 * best.margin, "its margin, a millionth of the widest"
    )

    at = f"perceptron loss: median {np.median(loose):.2g}"
    yield figure.beside(
        f"From {starts} starts the perceptron loss stops at a median margin {np.median(loose):.2g}, hinge plus ridge "
        "at "
        f"{reached:.3g}, the widest",
        figure.histogram(
            "margins where descents stop", x="margin on the training data",
            samples={at: loose, f"hinge: median {np.median(tight):.2g}": tight},
            rules={f"γ* = {best.margin:.3g}": ("x", best.margin)}, bins=25,
        ),
        figure.curves(
            "hinge plus ridge, exactly minimised", x="penalty", y="margin", log="x",
            points={"margin": (ridges, [margins.data_margin(p.weights, p.bias, x, y).margin for p in paths])},
            rules={f"γ* = {best.margin:.3g}": ("y", best.margin)},
        ),
    )  # fmt: skip


@partial(jax.jit, static_argnums=0)
def _descend(name, rows, y, starts):
    def step(w, _):
        gradient = jax.grad(lambda w: learning.LOSSES[name].value(y * (w @ rows.T)).sum())(w) / rows.shape[0]
        return w - 0.1 * gradient, None

    return jax.lax.scan(step, starts, None, length=3000)[0]


def _trained(name, rows, y, starts):
    return np.asarray(_descend(name, jnp.asarray(rows), jnp.asarray(y), jnp.asarray(starts)))


def _thin(best, rows, y, margin):
    """The widest classifier turned until its margin is only `margin`: still a separator, at the edge of all of them."""
    (w1, w2), length = best.weights, np.linalg.norm(best.weights)

    def turned(angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([c * w1 - s * w2, s * w1 + c * w2, best.bias])

    low, high = 0.0, np.pi  # half a turn and one of the classes is wrong
    for _ in range(200):
        middle = (low + high) / 2
        left = (y * (rows @ turned(middle))).min() / length
        low, high = (middle, high) if left > margin else (low, middle)
    return turned(low)


@claim(
    "zero-one-loss-degenerate",
    says=(
        "The zero-one error is piecewise constant, so its gradient is 0 almost everywhere, and counting only y f < 0 "
        "as an "
        "error makes f = 0 perfect. The best half-space is found exactly only by listing dichotomies."
    ),
    formula=(
        r"\nabla_w \frac1n \sum_i 1_{y_i w \cdot x_i \le 0} = 0 \ \text{a.e.}, \qquad f = 0: \ P(f(X) Y < 0) = 0, \ "
        r"P(f(X) \ne Y) = 1"
    ),
    sources=("cam", "penn"),
)
def zero_one_loss_degenerate(
    key,
    points: Annotated[int, Range(6, 12)] = 10,
    distance: Annotated[float, Range(0.0, 3.0)] = 1.0,
):
    """`points` from two overlapping clouds in the plane; all 2ⁿ labelings are tried beside the enumeration of cells."""
    x, y = (np.asarray(a) for a in data.gaussian_clouds(points, 2, distance, key=key))
    rows = np.column_stack([x, np.ones(points)])
    directions = data.generator(key).normal(size=(50, 3))
    gradient = jax.vmap(jax.grad(lambda w, r, s: learning.zero_one(s * (r @ w)).mean()), (0, None, None))
    yield exactly(gradient(directions, rows, y), 0.0, "gradient of the zero-one error at 50 random classifiers")

    nothing = np.zeros(points)
    yield exactly(float(learning.zero_one(y * nothing).mean()), 1.0, "error of f = 0, ties counted as errors")
    yield exactly(float((np.sign(nothing) != y).mean()), 1.0, "share of f(x) ≠ y for f = 0")
    yield printed(
        exactly(float((y * nothing < 0).mean()), 1.0, "error of f = 0 if only y f < 0 counts"),
        "cam", "the loss is 1 iff f(x) y < 0",
    )  # fmt: skip

    best = learning.best_half_space(x, y)
    labelings = dichotomies.all_labelings(points)
    possible = labelings[dichotomies.realise(rows, labelings).possible]
    yield exactly(best.errors, (possible != y).sum(axis=1).min(), f"least errors among {len(possible)} half-spaces")
    fits = {
        "logistic": learning.fit_logistic(x, (y + 1) / 2, ridge=1e-3),
        "hinge": margins.soft_margin(x, y, ridge=1e-3),
    }
    theirs = {name: (fit.weights, fit.bias) for name, fit in fits.items()}
    square = learning.fit_affine(x, y, "squared")
    theirs |= {"squared": (square[:2], square[2])}
    errors = {name: int((y * (x @ w + b) <= 0).sum()) for name, (w, b) in theirs.items()}
    yield at_least(list(errors.values()), best.errors, "errors of the surrogates' minimisers against the least")

    angle, offset = np.linspace(-np.pi, np.pi, 121), np.linspace(-3, 3, 121)
    score = np.cos(angle) * x[:, :1] + np.sin(angle) * x[:, 1:]
    terraces = (y[:, None, None] * (score[:, None, :] + offset[None, :, None]) <= 0).sum(axis=0)

    def place(w, b):
        return [[np.arctan2(w[1], w[0]), np.clip(b / np.linalg.norm(w), -3, 3)]]

    marks = {f"exact: {best.errors} errors": place(best.weights, best.bias)}
    marks |= {f"{name}: {errors[name]} errors": place(w, b) for name, (w, b) in theirs.items()}
    yield figure.plane(
        f"The error of half-spaces is a terrace of {len(np.unique(terraces))} levels; {best.errors} of {points} is "
        "the least, "
        f"logistic reaches {errors['logistic']}",
        x="direction of the normal (angle)", y="offset b/‖w‖",
        points={name: np.array(p) for name, p in marks.items()}, sizes=dict.fromkeys(marks, 110.0),
        regions=(angle, offset, terraces), domain=((-np.pi, np.pi), (-3.0, 3.0)),
    )  # fmt: skip
