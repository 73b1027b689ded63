"""Label smoothing: targets that bound the logits, and what they do to a softmax regression on digits."""

from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, frequency, method, reference
from leadline.learning.classification.softmax_loss import others_epsilon
from leadline.presentation import figure

ITERATIONS = 300  # of L-BFGS on the digits: the mean gap then changes in its third digit only


@method(sources=("penn",))
def label_smoothing(
    key, classes: Int(2, 50) = 10, epsilon: Real(0.01, 0.9) = 0.1, size: Real(0.2, 5.0, log=True) = 2.0
):
    r"""Label smoothing.

    Smoothed targets put 1 − ε on the label and ε/(m − 1) on every other class. The convention of the libraries, with ε
    spread over all m classes, is the same with ε(m − 1)/m in place of ε. The loss is at least the entropy of the
    targets.

    $$-(1-\epsilon) \log p_y - \frac{\epsilon}{m-1} \sum_{k \ne y} \log p_k, \qquad \epsilon_{\text{others}} =
    \epsilon_{\text{all}} \frac{m-1}{m}$$

    Check: The logits are Gaussian with standard deviation `size` and the labels random. The figure shows softmax
    regression on 1200 digits.
    """
    rng = data.generator(key)
    z, y = size * rng.normal(size=(200, classes)), rng.integers(0, classes, 200)
    others = learning.smooth_labels(y, classes, epsilon)
    everywhere = learning.smooth_labels(y, classes, epsilon, convention="all")
    yield close(others.sum(axis=1), 1.0, "sum of the targets", atol=1e-12)
    converted = learning.smooth_labels(y, classes, others_epsilon(epsilon, classes))
    yield close(everywhere, converted, "libraries' targets against the others with ε(m−1)/m", atol=1e-15)
    hot = np.eye(classes)[y]
    mixed = (1 - epsilon) * hot + epsilon / classes
    yield close(everywhere, mixed, "libraries' targets against (1 − ε) one-hot + ε/m", atol=1e-15)
    log_p = np.asarray(learning.log_softmax(z))
    written = -(1 - epsilon) * log_p[hot == 1] - epsilon / (classes - 1) * np.where(hot == 1, 0.0, log_p).sum(axis=1)
    loss = learning.cross_entropy(z, others)
    yield close(loss, written, "loss of smoothed targets against its formula", rtol=1e-12)
    plain = learning.cross_entropy(z, learning.smooth_labels(y, classes, 0.0))
    yield close(plain, learning.cross_entropy(z, y), "ε = 0 against cross-entropy", rtol=1e-12, atol=1e-15)
    least = learning.smoothing_optimum(classes, epsilon).loss
    yield at_least(loss, least, "loss against the entropy of the targets")
    gaps = {e: _gaps(*_digits_fit(e)[:2]) for e in (0.05, 0.1, 0.2)}
    free = {e: learning.smoothing_optimum(10, e).gap for e in gaps}
    means = ", ".join(f"{g.mean():.2f}" for g in gaps.values())
    title = f"Digits: logit gaps lie around log((m−1)(1−ε)/ε), on average at {means} for ε = 0.05, 0.1, 0.2"
    samples = {f"ε = {e:g}, free gap {free[e]:.3g}": g.mean(axis=1) for e, g in gaps.items()}
    rules = {f"{g:.3g}": ("x", g) for g in free.values()}
    yield figure.histogram(title, "logit of the label minus mean of the others", bins=50, samples=samples, rules=rules)


@claim(sources=("penn",))
def label_smoothing_optimum(key, classes: Int(2, 50) = 10, epsilon: Real(0.005, 0.98) = 0.1):
    r"""Optimal logits under label smoothing.

    With smoothed targets the best logits are finite: the label's logit exceeds every other by log((m − 1)(1 − ε)/ε),
    which is negative for ε > (m − 1)/m. The gaps of a linear model on digits scatter around this value; its test log
    loss falls, its calibration suffers.

    $$z_y - z_k = \log \frac{(m-1)(1-\epsilon)}{\epsilon}, \qquad \ell_{\min} = -(1-\epsilon)\log(1-\epsilon) -
    \epsilon \log \frac{\epsilon}{m-1}$$

    Check: Free logits descend by L-BFGS from a random start. 1200 digits are for training, 597 for testing.
    """
    start = data.generator(key).normal(size=classes)
    best = learning.smoothing_optimum(classes, epsilon)
    found = _best_logits(start, epsilon)
    yield close(found.x[0] - found.x[1:], best.gap, "logit gap of the numerical minimiser", atol=1e-4)
    yield close(found.fun, best.loss, "loss of the numerical minimiser", rtol=1e-9)
    signs = best.gap * ((classes - 1) / classes - epsilon)
    yield at_least(signs, 0.0, "gap times (m−1)/m − ε: both change their signs together", atol=1e-9)
    ten, library = learning.smoothing_optimum(10, 0.1), learning.smoothing_optimum(10, 0.1, convention="all")
    yield reference([ten.gap, library.gap], [4.3944, 4.5109], "gap for m = 10, ε = 0.1, and libraries' gap", digits=5)
    yield reference(ten.loss, 0.5448, "least loss for m = 10, ε = 0.1", digits=4)
    plain = _scores(0.0)
    smoothed = {e: _scores(e) for e in (0.05, 0.1, 0.2)}
    gaps = {e: _gaps(*_digits_fit(e)[:2]) for e in smoothed}
    free = [learning.smoothing_optimum(10, e).gap for e in smoothed]
    means = [g.mean() for g in gaps.values()]
    yield close(means, free, "digits: mean gap against the free one", rtol=0.2).as_empirical()
    scatter = [g.std() for g in gaps.values()]
    yield at_least(scatter, 0.1, "digits: standard deviation of the gaps").as_empirical()
    some, none = smoothed[0.05], f"{plain.log_loss:.3g} without"
    what = f"digits: test log loss at ε = 0.05, against half of {none}"
    yield at_most(some.log_loss, 0.5 * plain.log_loss, what).as_empirical()
    what = f"digits: calibration error at ε = 0.05, against 1.5 times {plain.calibration:.2g} without"
    yield at_least(some.calibration, 1.5 * plain.calibration, what).as_empirical()
    only = [(a & ~b).sum() for a, b in ((plain.right, some.right), (some.right, plain.right))]
    what = "digits: of test images that one of the two gets right, share of ε = 0"
    yield frequency(only[0], max(sum(only), 1), 0.5, what).as_empirical()
    axis = np.concatenate([np.geomspace(0.005, 0.5, 60), np.linspace(0.51, 0.98, 40)])
    tried = np.array([0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95])
    logits = np.array([_best_logits(start, float(e)).x for e in tried])
    low, high = np.array([np.quantile(g, (0.1, 0.9)) for g in gaps.values()]).T
    points = {f"free logits, m = {classes}": (tried, logits[:, 0] - logits[:, 1:].mean(axis=1))}
    points["digits, linear softmax: mean, 10–90%"] = (list(gaps), means, low, high)
    lines = {
        f"log((m−1)(1−ε)/ε), m = {m}": (axis, np.log((m - 1) * (1 - axis) / axis)) for m in dict.fromkeys((classes, 10))
    }
    title = (
        f"Smoothing bounds the gap; on digits ε = 0.05 takes test log loss from {plain.log_loss:.2g} to "
        f"{some.log_loss:.2g}, accuracy {plain.right.mean():.3f} to {some.right.mean():.3f}, calibration error "
        f"{plain.calibration:.2g} to {some.calibration:.2g}"
    )
    rules = {f"(m−1)/m = {(classes - 1) / classes:.3g}": ("x", (classes - 1) / classes)}
    yield figure.curves(title, "ε", "logit gap", lines=lines, points=points, rules=rules)


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


_value_and_slope = jax.jit(jax.value_and_grad(lambda z, t: learning.cross_entropy(z, t)))


def _best_logits(start, epsilon):
    """The free logits of least loss with label 0, by L-BFGS."""
    from scipy.optimize import minimize

    target = learning.smooth_labels(np.asarray(0), len(start), epsilon)
    options = {"gtol": 1e-10, "ftol": 0.0, "maxiter": 1000}
    return minimize(_value_and_slope, start, args=target, jac=True, method="L-BFGS-B", options=options)
