"""Label smoothing: targets that bound the logits, and what they do to a softmax regression on digits."""

from functools import lru_cache
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, frequency, method

ITERATIONS = 300  # of L-BFGS on the digits: the mean gap then changes in its third digit only


@method(
    "label-smoothing",
    says=(
        "Smoothed targets put 1−ε on the label and ε/(m−1) on every other class. The libraries' convention, ε spread "
        "over all m "
        "classes, is the same with ε(m−1)/m. The loss is at least the entropy of the targets."
    ),
    formula=(
        r"-(1-\epsilon) \log p_y - \frac{\epsilon}{m-1} \sum_{k \ne y} \log p_k, \qquad \epsilon_{\text{others}} = "
        r"\epsilon_{\text{all}} \frac{m-1}{m}"
    ),
    sources=("penn",),
    shows=("learning.smooth_labels", "learning.others_epsilon", "learning.cross_entropy"),
)
def label_smoothing(
    key,
    classes: Annotated[int, Range(2, 50)] = 10,
    epsilon: Annotated[float, Range(0.01, 0.9)] = 0.1,
    size: Annotated[float, Range(0.2, 5.0, log=True)] = 2.0,
):
    """Gaussian logits of standard deviation `size`, random labels; the figure: softmax regression on 1200 digits."""
    rng = data.generator(key)
    z, y = size * rng.normal(size=(200, classes)), rng.integers(0, classes, 200)
    others = np.asarray(learning.smooth_labels(y, classes, epsilon))
    everywhere = np.asarray(learning.smooth_labels(y, classes, epsilon, convention="all"))
    yield close(others.sum(axis=1), 1.0, "sum of the targets", atol=1e-12)
    converted = np.asarray(learning.smooth_labels(y, classes, learning.others_epsilon(epsilon, classes)))
    yield close(everywhere, converted, "targets of both conventions with ε(m−1)/m", atol=1e-15)
    hot = np.eye(classes)[y]
    yield close(
        everywhere, (1 - epsilon) * hot + epsilon / classes, "libraries' targets as printed by them", atol=1e-15
    )
    log_p = np.asarray(learning.log_softmax(z))
    written = -(1 - epsilon) * log_p[hot == 1] - epsilon / (classes - 1) * np.where(hot == 1, 0.0, log_p).sum(axis=1)
    loss = np.asarray(learning.cross_entropy(z, others))
    yield close(loss, written, "loss against its formula", rtol=1e-12)
    plain = learning.cross_entropy(z, learning.smooth_labels(y, classes, 0.0))
    yield close(plain, learning.cross_entropy(z, y), "ε = 0 against cross-entropy", rtol=1e-12, atol=1e-15)
    least = learning.smoothing_optimum(classes, epsilon).loss
    yield at_least(loss, least, "loss against the entropy of the targets")

    gaps = {e: _gaps(*_digits_fit(e)[:2]) for e in (0.05, 0.1, 0.2)}
    free = {e: learning.smoothing_optimum(10, e).gap for e in gaps}
    yield figure.histogram(
        "Digits, softmax regression: logit gaps lie around log((m−1)(1−ε)/ε), at "
        + ", ".join(f"{g.mean():.2f}" for g in gaps.values()) + " on average for ε = 0.05, 0.1, 0.2",
        x="logit of the label minus mean of the others", bins=50,
        samples={f"ε = {e:g}, free gap {free[e]:.3g}": g.mean(axis=1) for e, g in gaps.items()},
        rules={f"{g:.3g}": ("x", g) for g in free.values()},
    )  # fmt: skip


@claim(
    "label-smoothing-optimum",
    says=(
        "With smoothed targets the best logits are finite: the label's exceeds every other by log((m−1)(1−ε)/ε), "
        "which is "
        "negative for ε > (m−1)/m. A linear model on digits scatters around it; its test log loss falls, its "
        "calibration suffers."
    ),
    formula=(
        r"z_y - z_k = \log \frac{(m-1)(1-\epsilon)}{\epsilon}, \qquad \ell_{\min} = -(1-\epsilon)\log(1-\epsilon) - "
        r"\epsilon "
        r"\log \frac{\epsilon}{m-1}"
    ),
    sources=("penn",),
)
def label_smoothing_optimum(
    key,
    classes: Annotated[int, Range(2, 50)] = 10,
    epsilon: Annotated[float, Range(0.005, 0.98)] = 0.1,
):
    """Free logits descend by L-BFGS from a random start; the digits (1200 for training, 597 for testing) are fixed."""
    from scipy.optimize import minimize

    target = np.asarray(learning.smooth_labels(np.asarray(0), classes, epsilon))
    value = jax.jit(jax.value_and_grad(lambda z, t: learning.cross_entropy(z, t)))
    start = data.generator(key).normal(size=classes)
    best = learning.smoothing_optimum(classes, epsilon)
    found = _smallest(minimize, value, start, target)
    yield close(found.x[0] - found.x[1:], best.gap, "logit gap of the numerical minimiser", atol=1e-4)
    yield close(found.fun, best.loss, "loss of the numerical minimiser", rtol=1e-9)
    yield exactly(
        best.gap < -1e-9, epsilon > (classes - 1) / classes + 1e-9, "the gap is negative, against ε > (m−1)/m"
    )
    ten, library = learning.smoothing_optimum(10, 0.1), learning.smoothing_optimum(10, 0.1, convention="all")
    yield close(
        [ten.gap, ten.loss, library.gap],
        [4.3944, 0.5448, 4.5109],
        "m = 10, ε = 0.1: gap, loss, libraries' gap",
        atol=5e-5,
    )

    plain = _scores(0.0)
    smoothed = {e: _scores(e) for e in (0.05, 0.1, 0.2)}
    gaps = {e: _gaps(*_digits_fit(e)[:2]) for e in smoothed}
    free = {e: learning.smoothing_optimum(10, e).gap for e in smoothed}
    yield close(
        [g.mean() for g in gaps.values()], list(free.values()), "digits: mean gap against the free one", rtol=0.2
    )
    yield at_least([g.std() for g in gaps.values()], 0.1, "digits: scatter of the gaps around it")
    yield at_most(
        smoothed[0.05].log_loss,
        0.5 * plain.log_loss,
        f"digits: test log loss at ε = 0.05, against half of {plain.log_loss:.3g} without",
    )
    yield at_least(
        smoothed[0.05].calibration, 1.5 * plain.calibration,
        f"digits: calibration error at ε = 0.05, against 1.5 times {plain.calibration:.2g} without",
    )  # fmt: skip
    only = [int((a & ~b).sum()) for a, b in ((plain.right, smoothed[0.05].right), (smoothed[0.05].right, plain.right))]
    yield frequency(
        only[0], max(sum(only), 1), 0.5, "digits: of test images that one of the two gets right, share of ε = 0"
    )

    axis = np.concatenate([np.geomspace(0.005, 0.5, 60), np.linspace(0.51, 0.98, 40)])
    some = np.array([0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95])
    measured = []
    for e in some:
        z = _smallest(minimize, value, start, np.asarray(learning.smooth_labels(np.asarray(0), classes, float(e)))).x
        measured.append(float((z[0] - z[1:]).mean()))
    means = [gaps[e].mean() for e in gaps]
    ranges = np.array([np.quantile(gaps[e], (0.1, 0.9)) for e in gaps])
    points = {f"free logits, m = {classes}": (some, measured)}
    points["digits, linear softmax: mean, 10–90%"] = (list(gaps), means, ranges[:, 0], ranges[:, 1])
    lines = {f"log((m−1)(1−ε)/ε), m = {classes}": (axis, np.log((classes - 1) * (1 - axis) / axis))}
    if classes != 10:
        lines["the same for m = 10"] = (axis, np.log(9 * (1 - axis) / axis))
    yield figure.curves(
        f"Smoothing bounds the gap; on digits ε = 0.05 takes test log loss from {plain.log_loss:.2g} to "
        f"{smoothed[0.05].log_loss:.2g}, "
        f"accuracy {plain.right.mean():.3f} to {smoothed[0.05].right.mean():.3f}, calibration error "
        f"{plain.calibration:.2g} to "
        f"{smoothed[0.05].calibration:.2g}",
        x="ε", y="logit gap", lines=lines, points=points,
        rules={f"(m−1)/m = {(classes - 1) / classes:.3g}": ("x", (classes - 1) / classes)},
    )  # fmt: skip


class _Scores(NamedTuple):
    """How a fit does on the test digits."""

    log_loss: float
    calibration: float
    right: np.ndarray


@lru_cache
def _digits_fit(epsilon):
    """Logits of the 1200 training digits, their labels, and the fit."""
    images, labels, *_ = data.digits_split(train=1200)
    targets = np.asarray(learning.smooth_labels(labels, 10, epsilon))
    fit = learning.fit_linear_scores(images, targets, iterations=ITERATIONS)
    return fit.logits(images), labels, fit


def _scores(epsilon):
    *_, images, labels = data.digits_split(train=1200)
    p = np.asarray(learning.softmax(_digits_fit(epsilon)[2].logits(images)))
    right = p.argmax(axis=1) == labels
    return _Scores(learning.log_loss(labels, p), learning.calibration_error(p.max(axis=1), right), right)


def _gaps(z, labels):
    """z_y - z_k for every k ≠ y, row by row."""
    hot = np.eye(z.shape[1], dtype=bool)[labels]
    return z[hot][:, None] - z[~hot].reshape(len(z), -1)


def _smallest(minimize, value, start, target):
    def objective(z):
        loss, slope = value(jnp.asarray(z), target)
        return float(loss), np.asarray(slope)

    return minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 0.0, "maxiter": 1000}
    )
