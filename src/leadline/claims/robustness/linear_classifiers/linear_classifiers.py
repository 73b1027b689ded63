"""Norms, their balls, and linear classifiers: the smallest change in closed form, and what each norm changes."""

import math
from itertools import combinations

import jax
import numpy as np

from leadline import data, networks, robustness
from leadline.claims.scenarios.robustness.digits import (
    correct_images,
    digit_scores,
    softmax_regression,
    standard_network,
    test_images,
)
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly, method
from leadline.presentation import figure
from leadline.robustness.attacks.norm_projections import project
from leadline.robustness.linear_distances import LinearScores, minimal_perturbation

NORMS = {"1": 1.0, "2": 2.0, "inf": math.inf}


@method(sources=("eth",))
def norm_balls(key, dim: Int(2, 40) = 6, eps: Real(0.05, 5.0, log=True) = 1.0, order: Real(1.1, 10.0, log=True) = 3.0):
    r"""Projections and dual norms of ℓₚ balls.

    The nearest point of a ball is found by shrinking (p = 2), clipping (p = ∞), soft thresholding at the exact level
    (p = 1), or keeping the k largest coordinates (p = 0). The steepest direction of g in a norm is g/‖g‖, sign(g), or
    the largest coordinate alone, and attains $\epsilon \|g\|_q$, with q dual to p.

    $$\max_{\|\eta\|_p \le \epsilon} g \cdot \eta = \epsilon \|g\|_q, \quad 1/p + 1/q = 1$$

    Check: Each of 20 Gaussian points of length about 3ε is compared with 10 000 random points of the ball, also for
    any p (`order`).
    """
    rng = data.generator(key)
    z = 3 * eps / math.sqrt(dim) * rng.normal(size=(20, dim))
    for p in (0, 1, 2, math.inf):
        size = 1 + dim // 3 if p == 0 else eps
        near = np.asarray(project(z, size, p))
        if p == 0:
            others = 3 * eps * rng.normal(size=(10_000, dim))
            others[rng.random((10_000, dim)).argsort(axis=1) >= size] = 0.0
        else:
            seed = jax.random.fold_in(key, int(min(p, 9)))
            others = np.asarray(robustness.random_in_ball(seed, (10_000, dim), eps, p))
        name = f"p = {p:g}"
        yield at_most(robustness.p_norm(near, p), size, f"{name}: length of the projection", rtol=1e-12)
        yield close(project(near, size, p), near, f"{name}: projected twice", atol=1e-12 * eps)
        gaps = ((z[:, None] ** 2).sum(2) - 2 * z @ others.T + (others**2).sum(1)).min(axis=1)  # nearest of the others
        what = f"{name}: squared distance of 10 000 other points, against the projection's"
        yield at_least(gaps, ((z - near) ** 2).sum(axis=1), what, rtol=1e-12)
    for p in (1.0, 2.0, math.inf, order):
        eta = eps * np.asarray(robustness.steepest_direction(z, p))
        reached = robustness.p_norm(z, networks.dual_exponent(p))
        yield close((z * eta).sum(axis=1), eps * reached, f"p = {p:g}: g·η of the steepest direction", rtol=1e-12)
        yield at_most(robustness.p_norm(eta, p), eps, f"p = {p:g}: length of the steepest direction", rtol=1e-12)
    opposite = np.array([1.0, -1.0])
    right = close(robustness.p_norm(opposite, 1), np.abs(opposite).sum(), "‖(1, −1)‖₁, against Σ|x_i|", atol=1e-12)
    yield right
    wrong = close(robustness.p_norm(opposite, 1), opposite.sum(), "‖(1, −1)‖₁, against Σ x_i", atol=1e-12)
    yield erratum(wrong, of=right, by="eth", prints="‖x‖_p = (Σ x_i^p)^{1/p}, without absolute values")
    point = np.array([1.4, 0.9])
    angles = np.linspace(0, 2 * np.pi, 241)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lines, arrows, domain = {}, {}, ((-1.3, 1.7), (-1.3, 1.7))
    for name, p in {"p = 1": 1, "p = 2": 2, "p = ∞": math.inf}.items():
        lines[name] = tuple((circle / np.linalg.norm(circle, ord=p, axis=1, keepdims=True)).T)
        arrows[name] = (point, np.asarray(project(point, 1.0, p)))
    title = "One point, three unit balls, three nearest points: soft threshold (1), shrink (2), clip (∞)"
    yield figure.plane(title, "x₁", "x₂", lines=lines, arrows=arrows, domain=domain)


def _points_inside(rng: np.random.Generator, shape: tuple[int, int], eps: float, p: float) -> np.ndarray:
    """Uniform in the ball, p = 1, 2, ∞."""
    if p == math.inf:
        return rng.uniform(-eps, eps, shape)
    t = rng.normal(size=shape) if p == 2 else rng.laplace(size=shape)
    return eps * rng.random((shape[0], 1)) ** (1 / shape[1]) * t / np.linalg.norm(t, ord=p, axis=1, keepdims=True)


@claim(sources=("eth", "sheet"))
def linear_minimal_perturbation(key, norm: OneOf("1", "2", "inf") = "2", image: Int(0, 499) = 0):
    r"""Minimal perturbation of a linear classifier.

    For linear scores the smallest p-norm change that ties class y with class k has length $(f_y - f_k)/\|w_y -
    w_k\|_q$, for p = 2 along $w_k - w_y$; the least over k is the distance to another decision. The change ends on the
    boundary: the least overshoot crosses it.

    $$\eta = \frac{f_y - f_k}{\|w_k - w_y\|^2} (w_k - w_y), \; \|\eta\|_p = \frac{f_y - f_k}{\|w_y - w_k\|_q}$$

    Assumes: the scores are affine in the input; inputs are not clipped.

    Check: The formula is tested on softmax regression on the digits for all 500 test images. For one image a solver
    finds the distances to the regions of the 9 other classes.
    """
    rng, p = data.generator(key), NORMS[norm]
    scores, (images, _) = softmax_regression(), test_images()
    f = np.asarray(scores(images))
    decided = f.argmax(axis=1)
    distances = np.asarray(robustness.boundary_distances(scores, images, p))
    eta = np.asarray(minimal_perturbation(scores, images, p))
    reached = np.sort(np.asarray(scores(images + eta)), axis=1)
    yield close(
        reached[:, -1], reached[:, -2], "largest score at x + η, against the second", atol=1e-12 * np.abs(f).max()
    )
    yield close(robustness.p_norm(eta, p), distances.min(axis=1), "‖η‖ against the least distance", rtol=1e-12)
    crossed = np.asarray(scores(images + (1 + 1e-6) * eta)).argmax(axis=1)
    yield exactly((crossed != decided).sum(), len(images), "decisions changed at x + (1 + 10⁻⁶) η")
    if p == 2:
        k = distances.argmin(axis=1)
        towards = scores.weights[k] - scores.weights[decided]
        rows = np.arange(len(f))
        factor = (f[rows, decided] - f[rows, k]) / (towards**2).sum(axis=1)
        yield close(eta, factor[:, None] * towards, "η along w_k − w_y", atol=1e-12)
    u = _points_inside(rng, (10_000, 64), 1.0, p)
    which = np.arange(10_000) % len(images)
    length = 0.999 * distances.min(axis=1)[which] / np.linalg.norm(u, ord=p, axis=1)
    tried = np.asarray(scores(images[which] + length[:, None] * u)).argmax(axis=1)
    yield exactly((tried != decided[which]).sum(), 0, "flips by 10 000 random changes of 0.999 ‖η‖")
    regions, ties = _region_distances(scores.weights, f[image], p), distances[image]
    others = np.isfinite(ties)
    yield close(regions.min(), ties.min(), "solver: distance to the nearest other region, closed form", rtol=1e-6)
    yield at_least(regions[others], ties[others], "solver: region of class k, against its tie with y", rtol=1e-6)
    found = {"tie of k with y: (f_y − f_k)/‖w_y − w_k‖": ties, "region of k (solver)": regions}
    values = {name: {str(k): v[k] for k in np.flatnonzero(others)} for name, v in found.items()}
    nearest = f"class {ties.argmin()} is nearest, at {ties.min():.3f} in the {'∞' if norm == 'inf' else norm}-norm"
    title = f"Test digit {image}, decided as {decided[image]}: {nearest}"
    yield figure.bars(title, "class k", "distance", values=values)


def _region_distances(weights: np.ndarray, f: np.ndarray, p: float) -> np.ndarray:
    """The smallest p-norm change that gives each class the largest score, by a solver; ∞ for the class it has."""
    from scipy.optimize import linprog, minimize

    found, d = np.full(len(f), np.inf), weights.shape[1]
    for k in range(len(f)):
        if k == f.argmax():
            continue
        rivals = np.arange(len(f)) != k
        slopes, gaps = weights[k] - weights[rivals], f[rivals] - f[k]  # slopes η >= gaps
        if p == 2:
            rule = {"type": "ineq", "fun": lambda v, a=slopes, c=gaps: a @ v - c, "jac": lambda v, a=slopes: a}
            start = slopes[gaps.argmax()] * gaps.max() / (slopes[gaps.argmax()] ** 2).sum()
            options = {"constraints": rule, "method": "SLSQP", "options": {"ftol": 1e-14, "maxiter": 200}}
            found[k] = np.linalg.norm(minimize(lambda v: v @ v / 2, start, jac=lambda v: v, **options).x)
        elif p == 1:  # η = a − b, a, b >= 0, Σ a + b least
            found[k] = linprog(np.ones(2 * d), A_ub=-np.hstack([slopes, -slopes]), b_ub=-gaps).fun
        else:  # |η_i| <= t, t least
            eye, one = np.eye(d), np.ones((d, 1))
            box = np.block([[-slopes, np.zeros((len(gaps), 1))], [eye, -one], [-eye, -one]])
            limits = np.concatenate([-gaps, np.zeros(2 * d)])
            found[k] = linprog(np.eye(d + 1)[d], A_ub=box, b_ub=limits, bounds=[(None, None)] * (d + 1)).fun
    return found


@claim(sources=("eth",))
def norm_shapes_perturbation(key, dim: Int(3, 12) = 10, network: Int(0, 4) = 0, image: Int(0, 49) = 0):
    r"""The norm shapes the perturbation.

    The norm decides what the smallest change looks like. On a linear score, p = ∞ changes every pixel by the same
    amount, p = 2 changes them in proportion to w, p = 1 changes one pixel, and p = 0 those with the few largest
    weights. The share (‖η‖₁/‖η‖₂)²/d of pixels in use is 1 for p = ∞, 1/d for p = 1, and in between for p = 2; a
    network shows the same order.

    $$s = \frac{1}{d} \left(\frac{\|\eta\|_1}{\|\eta\|_2}\right)^2, \; s_\infty = 1 \ge s_2 \ge s_1 = 1/d$$

    Assumes: no weight of the linear score is 0; the order on a network is a measurement.

    Check: A random linear score is used first. Then 50 test digits are attacked by PGD in the three norms, at budgets
    that fool most of them.
    """
    rng = data.generator(key)
    line = LinearScores(np.stack([rng.normal(size=dim), np.zeros(dim)]), np.array([0.5, 0.0]))
    w, x = np.abs(line.weights[0]), rng.normal(size=(1, dim))
    expected = {math.inf: 1.0, 2.0: w.sum() ** 2 / (w**2).sum() / dim, 1.0: 1 / dim}
    for p, value in expected.items():
        found = _used_share(np.asarray(minimal_perturbation(line, x, p)))
        yield close(found, value, f"linear score, p = {p:g}: share of coordinates in use", rtol=1e-12)
    gap, cap = abs(float(line(x)[0] @ np.array([1.0, -1.0]))), 0.5
    greedy = 1 + int(np.searchsorted(cap * np.cumsum(np.sort(w)[::-1]), gap)) if gap > 0 else 0
    reach = [max(cap * w[list(some)].sum() for some in combinations(range(dim), m)) for m in range(dim + 1)]
    if reach[-1] >= gap:
        fewest = next(m for m in range(dim + 1) if reach[m] >= gap)
        yield exactly(greedy, fewest, "p = 0, |η_i| ≤ ½: fewest coordinates, the largest weights first")
    net = standard_network(network)
    images, labels = correct_images(net, 50)
    shares, drawn = {}, [("image", 2 * images[image].reshape(8, 8) - 1)]
    for name, p, eps in (("∞", math.inf, 0.2), ("2", 2.0, 1.0), ("1", 1.0, 4.0)):
        found = robustness.pgd(digit_scores, net, images, labels, eps, p=p, num_steps=20, loss="margin")
        change = np.asarray(found.inputs) - images
        shares[name] = _used_share(change)
        drawn.append((f"p = {name}", (change[image] / np.abs(change[image]).max()).reshape(8, 8)))
    for more, less in (("∞", "2"), ("2", "1")):
        what = f"network: share of pixels in use, p = {more} against {less}, every image"
        yield at_least(shares[more], shares[less], what, strict=True).as_empirical()
    told = ", ".join(f"{np.median(share):.2f} (p = {name})" for name, share in shares.items())
    title = f"Share of pixels in use: {told}; each change scaled to 1"
    yield figure.images(title, images=drawn, columns=4, diverging=True)


def _used_share(eta: np.ndarray) -> np.ndarray:
    return (np.abs(eta).sum(axis=1) ** 2 / (eta**2).sum(axis=1)) / eta.shape[1]
