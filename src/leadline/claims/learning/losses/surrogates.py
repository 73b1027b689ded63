"""The zero-one loss and its surrogates: which of them bound the error, and why the hinge has a margin."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from leadline import data, learning, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly
from leadline.learning.risk.half_spaces import best_half_space
from leadline.linear_classifiers import dichotomies, margins
from leadline.presentation import figure

SURROGATES = ("exponential", "logistic", "hinge")


@claim(sources=("penn",))
def surrogate_dominates_zero_one(
    key,
    samples: Int(20, 500) = 200,
    distance: Real(0.0, 4.0) = 1.5,
    rate: Real(0.05, 1.0, log=True) = 1.0,
    num_steps: Int(50, 1000) = 300,
):
    r"""Surrogate losses bound the zero-one loss.

    The exponential loss, the logistic loss over log 2 and the hinge lie above the zero-one loss everywhere, so the
    training error is at most the mean surrogate. The perceptron's loss max(0, −z) gives no bound: it is 0 at w = 0.

    $$1_{z \le 0} \le e^{-z}, \quad 1_{z \le 0} \le \log_2(1 + e^{-z}), \quad 1_{z \le 0} \le \max(0, 1 - z)$$

    Check: Descent starts from 0 on two clouds in the unit ball, where the exponential loss falls at step sizes ≤ 1.
    """
    z = np.linspace(-50, 50, 4001)
    error = learning.zero_one(z)
    for name in SURROGATES:
        card = learning.LOSSES[name]
        what = f"{name} loss × {card.dominates:.3g} above the zero-one loss, on [−50, 50]"
        yield at_least(card.dominates * np.asarray(card.value(z)), error, what)
    x, y = data.gaussian_clouds(samples, 2, distance, key=key)
    x = x / jnp.linalg.norm(x, axis=1).max()
    mistakes, surrogate = (np.asarray(a) for a in _descents(x, y, rate, num_steps))
    for k, name in enumerate(SURROGATES):
        what = f"training error against the mean {name} loss in every step"
        bound = at_most(mistakes[:, k], surrogate[:, k], what, rtol=1e-12)
        yield bound
    nothing = y * (x @ jnp.zeros(2))
    loss = learning.perceptron_hinge(nothing).mean()
    yield exactly(float(loss), 0.0, "mean perceptron loss at w = 0")
    wrong = at_most(learning.zero_one(nothing).mean(), loss, "training error at w = 0 against the mean perceptron loss")
    yield erratum(wrong, of=bound, by="penn", prints="max(0, −y w·x) as a surrogate of the error")
    shown = np.linspace(-2, 3, 201)
    lines = {
        f"{n} × {card.dominates:.3g}": (shown, np.minimum(card.dominates * np.asarray(card.value(shown)), 4))
        for n, card in learning.LOSSES.items()
        if n in SURROGATES
    } | {"perceptron": (shown, learning.perceptron_hinge(shown))}
    steps = {"zero-one": ([-2.0, 0.0, 3.0], [1.0, 0.0, 0.0])}
    above = figure.curves("losses above the step", "margin z", "loss", lines=lines, steps=steps)
    some = np.unique(np.geomspace(1, num_steps, 40).astype(int)) - 1
    points = {n: (surrogate[some, k], mistakes[some, k]) for k, n in enumerate(SURROGATES)}
    lines = {"error = surrogate": ([0.0, 1.0], [0.0, 1.0])}
    title = "over training, from w = 0"
    along = figure.curves(title, "mean surrogate", "training error", lines=lines, points=points)
    ends = f"it ends at {mistakes[-1, 1]:.3g}, below the logistic loss's {surrogate[-1, 1]:.3g}"
    yield figure.beside(f"Error never exceeds the mean surrogate: {ends}", above, along)


@partial(jax.jit, static_argnums=3)
def _descents(x, y, rate, steps):
    """Error and mean surrogate before each step of three descents, one for each surrogate, side by side."""

    def risks(w):
        z = y[:, None] * (x @ w)
        cards = [learning.LOSSES[n] for n in SURROGATES]
        scaled = [card.dominates * card.value(z[:, k]).mean() for k, card in enumerate(cards)]
        return jnp.stack(scaled), learning.zero_one(z).mean(axis=0)

    start = jnp.zeros((x.shape[1], len(SURROGATES)))
    path = optimisation.gradient_path(jax.grad(lambda w: risks(w)[0].sum()), start, rate, steps - 1)
    surrogate, error = jax.vmap(risks)(path)
    return error, surrogate


@claim(sources=("penn", "cam"))
def margin_hinge_needed(
    key,
    samples: Int(10, 100) = 40,
    gap: Real(0.05, 0.5, log=True) = 0.15,
    starts: Int(10, 100) = 60,
    penalty: Real(1e-7, 1e-5, log=True) = 1e-6,
):
    r"""Hinge loss needs its margin.

    The perceptron loss is least at w = 0 and is content with any margin; max(0, 1 − z) excludes w = 0 and bounds the
    error. The 1 only sets the scale: as a ridge penalty tends to 0, the direction of the minimiser tends to that of
    the widest margin.

    $$\frac1n \sum_i \max(0, 1 - y_i w \cdot x_i) + \tfrac{\lambda}{2}\|w\|^2, \quad \lambda \to 0: \
    \frac{w_\lambda}{\|w_\lambda\|} \to \frac{w^*}{\|w^*\|}$$

    Assumes: the data are separable.

    Check: The points lie in the plane, with a bias. Descents on both losses start from `starts` random weights.
    """
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
    least = [p.objective for p in paths]
    yield at_most(least, 1.0, "penalised hinge at its minimum against its value at w = 0", rtol=1e-6)
    rng = data.generator(key)
    names = ("perceptron_hinge", "hinge")
    ends = {name: np.asarray(_descend(name, rows, y, rng.normal(size=(starts, 3)))) for name in names}
    loose, tight = (np.array([margins.data_margin(w[:2], w[2], x, y).margin for w in ends[n]]) for n in ends)
    separators = np.vstack([ends["perceptron_hinge"][loose > 0], np.append(best.weights, best.bias)])
    scaled = y * (separators @ rows.T)
    scaled = scaled / scaled.min(axis=1, keepdims=True)
    yield close(np.maximum(1 - scaled, 0).mean(axis=1), 0.0, "hinge loss of any separator, rescaled", atol=1e-12)
    thin = _thin(best, rows, y, 1e-6 * best.margin)
    yield at_most(np.maximum(-y * (rows @ thin), 0).mean(), 0.0, "perceptron loss of a classifier of tiny margin")
    thinnest = margins.data_margin(thin[:2], thin[2], x, y).margin
    yield at_most(
        thinnest, 2e-6 * best.margin, "margin of a classifier without perceptron loss: a millionth of the widest"
    )
    loose_, tight_ = (f"median {np.median(m):.2g}" for m in (loose, tight))
    widest = f"γ* = {best.margin:.3g}"
    stopped = figure.histogram(
        "margins where descents stop",
        "margin on the training data",
        samples={f"perceptron loss: {loose_}": loose, f"hinge: {tight_}": tight},
        rules={widest: ("x", best.margin)},
        bins=25,
    )
    points = {"margin": (ridges, [margins.data_margin(p.weights, p.bias, x, y).margin for p in paths])}
    title, rules = "hinge plus ridge, exactly minimised", {widest: ("y", best.margin)}
    penalised = figure.curves(title, "penalty", "margin", log="x", points=points, rules=rules)
    title = f"Descents on the perceptron loss stop at a {loose_}, hinge plus ridge at {reached:.3g}, the widest"
    yield figure.beside(title, stopped, penalised)


@partial(jax.jit, static_argnums=0)
def _descend(name, rows, y, starts):
    gradient = jax.grad(lambda w: learning.LOSSES[name].value(y * (w @ rows.T)).sum() / rows.shape[0])
    return optimisation.gradient_path(gradient, starts, 0.1, 3000)[-1]


def _thin(best, rows, y, margin):
    """The widest classifier turned until its margin is only `margin`: still a separator, at the edge of all of them."""
    (w1, w2), length = best.weights, np.linalg.norm(best.weights)

    def turned(angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([c * w1 - s * w2, s * w1 + c * w2, best.bias])

    # Half a turn and one of the classes is wrong.
    return turned(brentq(lambda angle: (y * (rows @ turned(angle))).min() / length - margin, 0.0, np.pi))


@claim(sources=("cam", "penn"))
def zero_one_loss_degenerate(key, points: Int(6, 12) = 10, distance: Real(0.0, 3.0) = 1.0):
    r"""Zero-one loss has no useful gradient.

    The zero-one error is piecewise constant, so its gradient is 0 almost everywhere, and counting only y f < 0 as an
    error makes f = 0 perfect. The best half-space is found exactly only by listing dichotomies.

    $$\nabla_w \frac1n \sum_i 1_{y_i w \cdot x_i \le 0} = 0 \ \text{a.e.}, \qquad f = 0: \ P(f(X) Y < 0) = 0, \ P(f(X)
    \ne Y) = 1$$

    Check: `points` points are drawn from two overlapping clouds in the plane. All 2ⁿ labellings are tried too.
    """
    x, y = (np.asarray(a) for a in data.gaussian_clouds(points, 2, distance, key=key))
    rows = np.column_stack([x, np.ones(points)])
    directions = data.generator(key).normal(size=(50, 3))
    gradient = jax.vmap(jax.grad(lambda w, r, s: learning.zero_one(s * (r @ w)).mean()), (0, None, None))
    yield exactly(gradient(directions, rows, y), 0.0, "gradient of the zero-one error at 50 random classifiers")
    nothing = np.zeros(points)
    yield exactly(learning.zero_one(y * nothing).mean(), 1.0, "error of f = 0, ties counted as errors")
    yield exactly((np.sign(nothing) != y).mean(), 1.0, "share of f(x) ≠ y for f = 0")
    yield exactly((y * nothing < 0).mean(), 0.0, "error of f = 0 if only y f < 0 counts")
    best = best_half_space(x, y)
    labelings = dichotomies.all_labelings(points)
    possible = labelings[dichotomies.realise(rows, labelings).possible]
    yield exactly(best.errors, (possible != y).sum(axis=1).min(), f"least errors among {len(possible)} half-spaces")
    soft = margins.soft_margin(x, y, ridge=1e-3)
    logistic = learning.fit_logistic(x, (y + 1) / 2, ridge=1e-3)
    square = learning.fit_affine(x, y, "squared")
    theirs = {"logistic": (logistic.weights, logistic.bias), "hinge": (soft.weights, soft.bias)}
    theirs["squared"] = (square[:2], square[2])
    errors = {name: int((y * (x @ w + b) <= 0).sum()) for name, (w, b) in theirs.items()}
    yield at_least(list(errors.values()), best.errors, "errors of the surrogates' minimisers against the least")
    angle, offset = np.linspace(-np.pi, np.pi, 121), np.linspace(-3, 3, 121)
    score = np.cos(angle) * x[:, :1] + np.sin(angle) * x[:, 1:]
    terraces = (y[:, None, None] * (score[:, None, :] + offset[None, :, None]) <= 0).sum(axis=0)

    def place(w, b):
        return [[np.arctan2(w[1], w[0]), np.clip(b / np.linalg.norm(w), -3, 3)]]

    marks = {f"exact: {best.errors} errors": place(best.weights, best.bias)}
    marks |= {f"{name}: {errors[name]} errors": place(w, b) for name, (w, b) in theirs.items()}
    levels = len(np.unique(terraces))
    title = f"Half-spaces have {levels} levels of error; the least is {best.errors}, logistic has {errors['logistic']}"
    yield figure.plane(
        title,
        "direction of the normal (angle)",
        "offset b/‖w‖",
        points={name: np.array(p) for name, p in marks.items()},
        sizes=dict.fromkeys(marks, 110.0),
        regions=(angle, offset, terraces),
        domain=((-np.pi, np.pi), (-3.0, 3.0)),
    )
