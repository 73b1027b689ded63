"""One step of SGD lowers the loss in expectation: the descent lemma, alone and with bounds on the noise."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.claims.scenarios.stochastic.noisy_regression import regression_moments
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly
from leadline.presentation import figure
from leadline.stochastic.sgd_bounds import expected_decrease_bound


def _squared(w, x, y):
    return (x @ w - y) ** 2 / 2


def _logistic(w, x, y):
    return jnp.logaddexp(0, -y * (x @ w))


def _network(w, x, y):
    """Two inputs and three hidden units; w = (a, B)."""
    return (w[:3] @ jnp.tanh(w[3:].reshape(3, 2) @ x) - y) ** 2 / 2


@eqx.filter_jit
def _changes(problem, w, moves, etas):
    """Expected changes of the loss by steps −ηu."""
    after = jax.vmap(jax.vmap(lambda eta, u: problem(w - eta * u), (None, 0)), (0, None))(etas, moves)
    return after.mean(axis=1) - problem(w)


@eqx.filter_jit
def _curvatures(problem, w, moves, etas):
    """For each η the largest curvature along a step −ηu, on 200 points of each of them."""

    def curvature(eta, s, u):
        return u @ jax.jvp(problem.gradient, (w - s * eta * u,), (u,))[1] / (u @ u)

    along = jax.vmap(jax.vmap(curvature, (None, 0, None)), (None, None, 0))
    return jax.lax.map(lambda eta: along(eta, jnp.linspace(0, 1, 200), moves).max(initial=0.0), etas)


@claim(sources=("penn",))
def sgd_descent_lemma(
    key, step_size: Real(0.01, 3.0, log=True) = 0.3, batch: Int(1, 3) = 2, scale: Real(0.1, 3.0) = 1.0
):
    r"""Descent lemma for SGD.

    For a smooth loss the expected change of the loss in one step of SGD is at most −η⟨g, E ĝ⟩ + (Lη²/2) E‖ĝ‖²; for an
    isotropic quadratic there is equality.

    $$E[l(w^+) \mid w] - l(w) \le -\eta \langle g, E \hat g \rangle + \tfrac{L \eta^2}{2} E \|\hat g\|^2$$

    Assumes: l is L-smooth on the segments that the step can take.

    Check: Enumerates all batches of 6 examples at a random point; for the network, L is measured along every step.
    """
    rng = data.generator(key)
    x, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    w = scale * rng.normal(size=9)
    sharpest = np.linalg.eigvalsh(x.T @ x / 6)[-1]
    cases = {
        "least squares": (_squared, y, w[:2], sharpest),
        "logistic": (_logistic, np.sign(y), w[:2], sharpest / 4),
        "network": (_network, y, w, None),
    }
    batches = np.array(list(product(range(6), repeat=batch)))
    etas = step_size * np.geomspace(0.1, 1.0, 8)
    slacks = {}
    for name, (loss, targets, start, known) in cases.items():
        problem = stochastic.FiniteSum(loss, (x, targets))
        rows = np.asarray(problem.gradients(jnp.asarray(start)))
        picked = rows[batches].mean(axis=1)
        change = np.asarray(_changes(problem, start, picked, etas))
        smoothness = np.asarray(_curvatures(problem, start, picked, etas)) if known is None else known
        bound = -etas * (rows.mean(axis=0) @ picked.mean(axis=0))
        bound += smoothness * etas**2 / 2 * np.mean(np.sum(picked**2, axis=1))
        yield at_most(change, bound, f"expected change of the loss, {name}", atol=1e-12 * (1 + np.abs(change).max()))
        slacks[name] = (etas, bound - change)
    centres, curvature = rng.normal(size=(6, 3)), 1.7
    point = w[:3]
    rows = curvature * (point - centres)
    picked = rows[batches].mean(axis=1)
    after = np.mean(np.sum((point - step_size * picked - centres[:, None]) ** 2, axis=2)) * curvature / 2
    before = np.mean(np.sum((point - centres) ** 2, axis=1)) * curvature / 2
    bound = -step_size * rows.mean(axis=0) @ picked.mean(axis=0)
    bound += curvature * step_size**2 / 2 * np.mean(np.sum(picked**2, axis=1))
    what = "isotropic quadratic: expected change of the loss, against the bound"
    yield close(after - before, bound, what, atol=1e-12 * (before + after))
    least = min(s.min() for _, s in slacks.values())
    title = f"The bound on the expected change of one step holds on all three losses (least slack {least:.2g})"
    yield figure.curves(title, "step size η", "bound − expected change", points=slacks, log="xy")


@claim(sources=("penn",))
def sgd_descent_lemma_with_assumptions(
    key,
    samples: Int(10, 100) = 20,
    noise: Real(0.05, 2.0) = 0.5,
    slack: Real(1.02, 10.0, log=True) = 1.2,
    step_size: Real(0.02, 0.95) = 0.5,
):
    r"""SGD descent lemma under bounded second moment.

    With E‖gᵢ‖² ≤ σ₀ + σ‖g‖², the expected change of the loss in one step of SGD is at most −η(1 − ηLσ/2)‖g‖² +
    η²Lσ₀/2, so progress is guaranteed where ‖g‖² > ηLσ₀/(2 − ηLσ); the true region of progress is larger.

    $$E[l(w^+) \mid w] - l(w) \le -\eta \left(1 - \tfrac{\eta L \sigma}{2}\right) \|g\|^2 + \tfrac{\eta^2 L
    \sigma_0}{2}$$

    Assumes: E ĝ = g; E‖gᵢ‖² ≤ σ₀ + σ‖g‖².

    Check: Least squares in the plane with exact (σ₀, σ), σ = `slack` · σₘᵢₙ and η = `step_size` · 2/(Lσ).
    """
    rng = data.generator(key)
    problem = regression_moments(rng, samples, 2, noise)
    form = stochastic.second_moment_form(problem.x, problem.y)
    sigma = slack * form.least_slope
    sigma0, smoothness = form.offset(sigma), np.linalg.eigvalsh(problem.hessian)[-1]
    eta = step_size * 2 / (smoothness * sigma)

    def true_change(v):
        rows = (v @ problem.x.T - problem.residuals)[..., None] * problem.x  # (..., n, 2)
        squares = np.einsum("...ni,ij,...nj->...n", rows, problem.hessian, rows)
        return -eta * form.gradient_square(v) + eta**2 / 2 * squares.mean(axis=-1)

    edge = np.sqrt(eta * smoothness * sigma0 / (2 - eta * smoothness * sigma))  # ‖g‖ at which progress is guaranteed
    reach = 1.6 * edge / np.linalg.eigvalsh(problem.hessian)[0]
    points = rng.uniform(-reach, reach, size=(2000, 2))
    constants = {"smoothness": smoothness, "sigma0": sigma0, "sigma": sigma}
    squares = form.gradient_square(points)
    change, limit = true_change(points), expected_decrease_bound(squares, eta, **constants)
    yield at_most(change, limit, "expected change of the loss at 2000 points", atol=1e-12 * np.abs(limit).max())
    axis = np.linspace(-reach, reach, 61)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    guaranteed, falls = form.gradient_square(grid) > edge**2, true_change(grid) < 0
    yield exactly(np.sum(guaranteed & ~falls), 0, "points with guaranteed progress but without true progress")
    yield at_least(squares[limit < 0].min(initial=np.inf), edge**2, "‖g‖² where the bound is negative")
    yield at_least(np.mean(falls), np.mean(guaranteed), "share of the plane with true, against guaranteed progress")
    shares = np.mean(~guaranteed), np.mean(~falls)
    title = f"Guaranteed progress (blue) leaves out {shares[0]:.1%} of the square, true progress {shares[1]:.1%}"
    regions = (axis, axis, np.where(guaranteed, 1.0, np.where(falls, 0.0, -1.0)))
    domain = ((-reach, reach), (-reach, reach))
    yield figure.plane(title, "v₁ = w₁ − w₁*", "v₂", regions=regions, points={"w*": np.zeros((1, 2))}, domain=domain)
