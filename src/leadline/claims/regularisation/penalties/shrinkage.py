"""What an ℓ2 penalty does near a minimum: each eigendirection of the Hessian is shrunk by its own factor."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation, regularisation
from leadline.evidence import Int, Real, claim, close, erratum, slope
from leadline.presentation import figure

BASE = 0.02  # the penalty that is part of the small network's loss, so that its minimum is strict


@claim(sources=("eth", "sheet"), shows=("regularisation.RidgeFilter",))
def l2_spectral_shrinkage(
    key, dim: Int(2, 30) = 8, condition: Real(2.0, 1e4, log=True) = 100.0, penalty: Real(1e-3, 1e2, log=True) = 1.0
):
    r"""An ℓ2 penalty shrinks along the eigenvectors of the Hessian.

    Near a minimum θ* with Hessian H = QΛQᵀ, the penalty (μ/2)‖θ‖² multiplies the coordinate of θ* along each
    eigenvector by λ/(λ + μ): stiff directions keep their place, flat ones go to 0. For a network this is the first
    order; what is left is of the order μ².

    $$l(\theta) \approx l^* + \tfrac12 (\theta - \theta^*)^\top H (\theta - \theta^*), \qquad \theta_\mu = Q\,
    \mathrm{diag}\!\left(\frac{\lambda_i}{\lambda_i + \mu}\right) Q^\top \theta^*$$

    Assumes: H is positive semidefinite; for a network, μ small against its smallest eigenvalue.

    Check: A random quadratic, and a network of three tanh units on 25 points, whose loss has a small penalty of its
    own; it is minimised anew, by Newton's method, with each further penalty.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    values = np.geomspace(1.0, condition, dim)
    hessian, best = basis * values @ basis.T, rng.normal(size=dim)
    found = regularisation.filtered_minimiser(hessian, best, regularisation.RidgeFilter(penalty))
    solved = np.linalg.solve(hessian + penalty * np.eye(dim), hessian @ best)
    size = np.linalg.norm(best)
    yield close(found, solved, "quadratic: minimiser by shrunk coordinates, against (H + μI)⁻¹Hθ*", atol=1e-10 * size)
    bowl = optimisation.Quadratic(jnp.asarray(hessian), jnp.asarray(hessian @ best))
    away = found - best
    gap, bend = float(bowl.gap(found)), float(away @ hessian @ away)
    half = close(gap, bend / 2, "quadratic: l(θ) − l*, against ½(θ − θ*)ᵀH(θ − θ*)", rtol=1e-6, atol=1e-11 * condition)
    yield half
    yield erratum(
        close(gap, bend, "quadratic: l(θ) − l*, against (θ − θ*)ᵀH(θ − θ*)", rtol=1e-6, atol=1e-11 * condition).given(
            bend > 1e-8 * condition, "the penalty moves the minimum visibly"
        ),
        of=half,
        by="eth",
        prints="l* + (θ − θ*)ᵀH(θ − θ*) without the factor ½; the gradient used next is right",
    )
    points = jnp.linspace(-2, 2, 25)
    targets = jnp.sin(2 * points) + 0.1 * jnp.asarray(rng.normal(size=25))
    start = optimisation.newton_minimum(_network_loss(points, targets, 0.0), rng.normal(size=10))
    stiffness, directions = np.linalg.eigh(start.hessian)
    assumed = start.converged and stiffness[0] > BASE / 4
    strengths = np.geomspace(1e-5, 1e-3, 5)
    moved, expected = [], []
    for strength in strengths:
        end = optimisation.newton_minimum(_network_loss(points, targets, strength), start.point)
        moved.append(end.point)
        if assumed:
            kept = regularisation.RidgeFilter(float(strength))
            expected.append(regularisation.filtered_minimiser(start.hessian, start.point, kept))
    minimum = "Newton's method ends at a minimum with λ_min of at least 0.005"
    what = "network: error of the prediction against μ, logarithmic"
    errors = np.linalg.norm(np.array(moved) - np.array(expected), axis=1) if assumed else strengths
    yield slope(strengths, errors, 2.0, what, within=0.1).given(assumed, minimum)
    ours, mu = start.point @ directions, float(strengths[-1])
    line = np.geomspace(min(values[0], penalty) / 10, max(values[-1], penalty) * 2, 100)
    shares = basis.T @ solved / (basis.T @ best)
    bowl_panel = figure.curves(
        f"quadratic, μ = {penalty:.2g}",
        "eigenvalue λ",
        "share kept",
        log="x",
        lines={"λ/(λ + μ)": (line, line / (line + penalty))},
        points={"minimiser": (values, shares)},
    )
    seen = np.abs(ours) > 1e-2 * np.abs(ours).max()
    kept = 1 - (np.array(moved)[-1] @ directions / np.where(seen, ours, 1.0))[seen]
    net_panel = figure.curves(
        f"network of 10 parameters, μ = {mu:.2g}",
        "eigenvalue λ",
        "share lost",
        log="xy",
        lines={"μ/(λ + μ)": (stiffness, mu / (stiffness + mu))},
        points={"trained anew": (stiffness[seen], kept)},
    )
    yield figure.beside("Stiff directions keep their place, flat ones are shrunk", bowl_panel, net_panel)


def _network_loss(points, targets, strength):
    """Mean squared error of v·tanh(wx + b) + c with three units, and (BASE + strength)/2 times the squared norm."""

    def loss(theta):
        w, b, v, c = theta[:3], theta[3:6], theta[6:9], theta[9]
        outputs = jnp.tanh(points[:, None] * w + b) @ v + c
        return jnp.mean((outputs - targets) ** 2) + (BASE + strength) / 2 * jnp.sum(theta**2)

    return loss
