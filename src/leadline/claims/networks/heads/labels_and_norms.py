"""Logistic regression in its two label conventions, and the duality of norms behind sign gradients."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, networks, optimisation
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly
from leadline.linear_classifiers import margins
from leadline.presentation import figure


@claim(sources=("sheet",))
def logistic_label_conventions(
    key, dim: Int(2, 10) = 2, samples: Int(20, 200) = 60, margin: Real(0.3, 1.0) = 0.5, decades: Int(4, 5) = 5
):
    r"""Logistic regression with labels ±1 or 0/1.

    With labels ±1 or 0/1 logistic regression has the same loss and gradient, under y → 2y − 1. On separable data it
    has no minimiser: ‖θ‖ grows like log t, and θ/‖θ‖ turns towards the maximum-margin direction.

    $$\log(1 + e^{-y x \cdot \theta}) = -y' \log p - (1 - y') \log (1 - p), \quad y' = \tfrac{y + 1}{2}, \; p =
    \sigma(x \cdot \theta)$$

    Assumes: for the second part, the data are separable.

    Check: The data are two blobs separated along x₁, leaning towards x₂, and four points that fix the widest margin.
    Plain gradient descent runs from 0 with a step size below 2/λ, where λ is the largest curvature; the angle is taken
    at t = 10, 100 and so on.
    """
    rng = data.generator(key)
    y = np.where(np.arange(samples) % 2, 1.0, -1.0)
    x = rng.normal(size=(samples, dim))
    theta = rng.normal(size=dim)
    zero_one = (y + 1) / 2

    def signed_loss(theta):
        return learning.logistic(jnp.asarray(y) * (x @ theta))

    def binary_loss(theta):
        return learning.binary_cross_entropy(x @ theta, jnp.asarray(zero_one))

    p = 1 / (1 + np.exp(-x @ theta))
    by_sign = -(1 / (1 + np.exp(y * (x @ theta))) * y)[:, None] * x
    by_bit = (p - zero_one)[:, None] * x
    yield close(signed_loss(theta), binary_loss(theta), "losses of the two conventions", atol=1e-14, rtol=1e-14)
    yield close(by_sign, by_bit, "gradients −σ(−y x·θ) y x and (p − y) x", atol=1e-14, rtol=1e-14)
    yield close(jax.jacobian(signed_loss)(theta), by_sign, "gradient by autodiff, ±1", atol=1e-14, rtol=1e-13)
    yield close(jax.jacobian(binary_loss)(theta), by_bit, "gradient by autodiff, 0/1", atol=1e-14, rtol=1e-13)
    curvature = np.asarray(jax.hessian(lambda t: signed_loss(t).sum())(theta))
    yield close(curvature, (x.T * (p * (1 - p))) @ x, "Hessian, against Σ p(1−p) x xᵀ", rtol=1e-12, atol=1e-12)
    yield at_least(np.linalg.eigvalsh(curvature)[0], 0.0, "least eigenvalue of the Hessian", atol=1e-12)

    # Blobs leaning towards x₂ pull θ off the widest margin at first; the four corners make e₁ that direction.
    blob = np.abs(rng.normal(size=(samples, dim)))
    blob[:, 2:] = rng.normal(size=(samples, dim - 2))
    blob += np.array([margin + 0.5, 1.0] + [0.0] * (dim - 2))
    corner = np.zeros((4, dim))
    corner[:, 0], corner[:, 1] = margin, (1.0, 1.0, 1.0, -1.0)
    signed = np.concatenate([blob, corner])  # y x
    labels = np.concatenate([y, [1.0, -1.0, 1.0, -1.0]])
    widest = margins.max_margin(signed * labels[:, None], labels, bias=False)
    yield close(widest.margin, margin, "widest margin through the origin", rtol=1e-6)
    direction = widest.weights / np.linalg.norm(widest.weights)
    step = 4 * len(signed) / np.linalg.norm(signed, ord=2) ** 2
    gradient = jax.grad(lambda theta: learning.logistic(signed @ theta).mean())
    path = optimisation.gradient_path(gradient, jnp.zeros(dim), step, 10**decades)
    times = np.unique(np.round(np.logspace(0, decades, 6 * decades + 1)).astype(int))
    thetas = np.asarray(path)[times]
    norms = np.linalg.norm(thetas, axis=1)
    across = np.linalg.norm(thetas - np.outer(thetas @ direction, direction), axis=1)
    angles = np.degrees(np.arctan2(across, thetas @ direction))
    powers = [np.flatnonzero(times == 10**k)[0] for k in range(1, decades + 1)]
    yield at_least(np.diff(norms[powers]), 0.0, "growth of ‖θ‖ from decade to decade", strict=True)
    yield at_most(np.diff(angles[powers]), 0.0, "change of the angle to the widest margin per decade", strict=True)
    growth = np.diff(norms[powers])[-1] / np.log(10)
    yield at_least(growth, 0.5 / margin, "d‖θ‖/d log t in the last decade, against half of 1/γ")
    yield at_most(growth, 2 / margin, "d‖θ‖/d log t in the last decade, against twice 1/γ")
    line = norms[-1] + np.log(times / times[-1]) / margin
    lines = {"log t / γ, through the last point": (times[line > 0], line[line > 0])}
    angle = "Angle to the maximum-margin direction"
    yield figure.beside(
        f"On separable data ‖θ‖ grows by {growth:.2g} per e-fold of t (1/γ = {1 / margin:.2g}), "
        f"and its angle to the widest margin falls to {angles[-1]:.2g}°",
        figure.curves("Norm of θ", "step t", "‖θ‖", log="x", lines=lines, points={"measured": (times, norms)}),
        figure.curves(angle, "step t", "degrees", log="x", points={"measured": (times, angles)}),
    )


@claim(sources=("sheet",))
def holder_duality(key, p: OneOf("1", "1.5", "2", "4", "inf") = "1.5", dim: Int(1, 200, log=True) = 10):
    r"""Hölder's inequality and dual norms.

    Σ|vᵢuᵢ| is at most $\|v\|_p \|u\|_{p^*}$, for p < ∞ with equality at $u_i = \operatorname{sgn}(v_i)\,|v_i|^{p-1}$,
    for p = ∞ at the largest coordinate. Over an $\ell_\infty$ ball the best direction is the sign vector, the step of
    sign-gradient attacks.

    $$\sum_i |v_i u_i| \le \|v\|_p \|u\|_{p^*}, \quad \tfrac1p + \tfrac1{p^*} = 1$$

    Check: It is checked on 10⁴ random pairs of vectors, half of them with heavy tails.
    """
    rng, exponent = data.generator(key), float(p)
    star = networks.dual_exponent(exponent)
    v, u = rng.normal(size=(2, 10_000, dim))
    v[::2], u[1::2] = rng.standard_cauchy(size=(5000, dim)), rng.standard_cauchy(size=(5000, dim))
    size = np.linalg.norm(v, ord=exponent, axis=1)
    ratio = np.abs(v * u).sum(axis=1) / (size * np.linalg.norm(u, ord=star, axis=1))
    yield at_most(ratio, 1.0, "Σ|vu| over ‖v‖_p ‖u‖_{p*}, 10⁴ pairs", rtol=1e-12)
    best = np.asarray(networks.dual_maximiser(v, exponent))
    yield close(np.linalg.norm(best, ord=star, axis=1), 1.0, "dual norm of the maximiser", rtol=1e-12)
    yield close((best * v).sum(axis=1) / size, 1.0, "v·u over ‖v‖_p ‖u‖_{p*} at the maximiser", rtol=1e-12)
    signs = np.asarray(networks.dual_maximiser(v, 1.0))
    yield exactly(signs, np.sign(v), "maximiser over the l∞ ball, against sgn(v)")
    yield close((signs * v).sum(axis=1), np.abs(v).sum(axis=1), "gain of the sign vector, against ‖v‖₁", rtol=1e-12)
    direction = np.array([0.9, 0.5])
    angle = np.linspace(0, 2 * np.pi, 241)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    balls, tips = {}, {}
    for q in dict.fromkeys([1.0, exponent, 2.0, np.inf]):
        dual = networks.dual_exponent(q)
        edge = circle / np.linalg.norm(circle, ord=dual, axis=1, keepdims=True)
        name = f"‖u‖_{dual:.3g} = 1" if np.isfinite(dual) else "‖u‖_∞ = 1"
        balls[name] = edge.T
        tips[name] = np.asarray(networks.dual_maximiser(direction, q))[None]
    gain = np.linalg.norm(direction, ord=exponent)
    yield figure.plane(
        f"Where v = (0.9, 0.5) reaches furthest in each unit ball: its gain is the dual norm, {gain:.3g} for p = {p}",
        "u₁",
        "u₂",
        lines=balls,
        points=tips,
        arrows={"v": ((0.0, 0.0), tuple(direction))},
        domain=((-1.25, 1.25), (-1.25, 1.25)),
    )
