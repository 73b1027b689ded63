"""Preconditioned descent: other coordinates, the condition number that counts, and what may stand for the Hessian."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation.gradient_descent.line_search_zigzag import ellipse
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, method
from leadline.optimisation.rules.preconditioning import symmetric_power
from leadline.presentation import figure


@method(sources=("penn",))
def preconditioned_gradient_descent(
    key,
    kind: OneOf("inverse root", "identity", "diagonal", "inverse", "empirical fisher") = "inverse root",
    dimension: Int(2, 20) = 4,
    condition: Real(2.0, 1e3, log=True) = 50.0,
    step_size: Real(0.01, 1.0, log=True) = 0.5,
    num_steps: Int(1, 100) = 30,
):
    r"""Preconditioned gradient descent.

    w ← w − ηPg with positive definite P, such as $G^{-1/2}$, is gradient descent in the coordinates $u = P^{-1/2} w$.
    P can be I, a diagonal, $H^{-1/2}$, the inverse root of the diagonal of the empirical Fisher matrix, or H⁻¹, which
    is Newton's method.

    $$w^{t+1} = w^t - \eta P\, \nabla l(w^t) \;\Leftrightarrow\; u^{t+1} = u^t - \eta \nabla_u\, l(P^{1/2} u^t), \; w =
    P^{1/2} u$$

    Assumes: P is positive definite.

    Check: On logistic regression with ridge, P of the chosen kind is formed from the Hessian at the start, with $\eta
    = \text{step}/\lambda_{\max}(PH)$.
    """
    rng = data.generator(key)
    y = rng.choice([-1.0, 1.0], 60)
    x = rng.normal(size=(60, dimension)) * np.geomspace(0.3, 1.0, dimension) + 0.3 * y[:, None]
    penalty = float(np.linalg.norm(x, 2) ** 2 / 240) / (condition - 1)
    loss, start = optimisation.LogisticRidge(x, y, penalty), rng.normal(size=dimension)
    hessian = loss.hessian(np.zeros(dimension))
    matrix = optimisation.preconditioner(kind, hessian, gradients=loss.sample_gradients(start))
    root = symmetric_power(matrix, 0.5)
    eta = step_size / np.linalg.eigvalsh(root @ hessian @ root)[-1]
    rule = optimisation.scale_by_matrix(matrix)
    w, u, state = start, np.linalg.solve(root, start), rule.init(jnp.zeros(dimension))
    there, here = [u], [w]
    for _ in range(num_steps):
        change, state = rule.update(jnp.asarray(loss.gradient(w)), state)
        w, u = w - eta * np.asarray(change), u - eta * root @ loss.gradient(root @ u)
        there.append(u)
        here.append(w)
    yield close(np.array(there) @ root, here, "iterates in the coordinates u, mapped back by P^½", atol=1e-10)
    yield at_most(loss(w), loss(start), "loss at the end, against the start")
    before, after = np.linalg.cond(hessian), optimisation.preconditioned_condition(matrix, hessian)
    inverse = optimisation.preconditioner("inverse", hessian)
    landed = np.linalg.norm(start - inverse @ (hessian @ start))
    yield at_most(landed, 1e-10 * condition, "quadratic, P = H⁻¹, η = 1: distance to the minimum")
    squared = symmetric_power(hessian @ hessian, -0.5)
    yield close(squared, inverse, "(H²)^(−1/2), against H⁻¹", rtol=1e-6, atol=1e-6)
    two = np.array([[1.0, 0.6], [0.6, 1.0]]) * np.sqrt(np.outer([1.0, 8.0], [1.0, 8.0]))
    small = optimisation.preconditioner(kind if kind != "empirical fisher" else "diagonal", two)
    half = symmetric_power(small, 0.5)
    straight, first, panels = half @ two @ half, np.array([1.2, 0.35]), []
    eta = 0.9 / np.linalg.eigvalsh(straight)[-1]
    for name, bowl, begin in (("w", two, first), ("u", straight, np.linalg.solve(half, first))):
        factor = np.eye(2) - eta * (small @ two if name == "w" else straight)
        path = np.array([np.linalg.matrix_power(factor, t) @ begin for t in range(12)])
        level = begin @ bowl @ begin / 2
        lines = {f"{share:.0%} of l": ellipse(bowl, level * share) for share in (1.0, 0.3, 0.05)}
        lines["path"] = path[:, 0], path[:, 1]
        reach = 1.1 * np.max(np.abs(ellipse(bowl, level)))
        domain, title = ((-reach, reach),) * 2, f"coordinates {name}: κ = {np.linalg.cond(bowl):.3g}"
        axes = f"{name}₁", f"{name}₂"
        panels.append(figure.plane(title, *axes, points={"iterates": path}, lines=lines, domain=domain))
    where = f"where the logistic problem has κ = {after:.3g} instead of {before:.3g}"
    yield figure.beside(f"P = {kind}: descent in u = P^(−1/2)w, {where}", *panels)


@claim(sources=("penn",))
def preconditioning_condition_number(
    key, condition: Real(10.0, 1e4, log=True) = 100.0, dimension: Int(3, 10) = 6, angle: Real(0.0, 45.0) = 30.0
):
    r"""Condition number after preconditioning.

    The rate of preconditioned descent is that of the condition number of PH: κ for P = I, √κ for $P = H^{-1/2}$, 1 for
    P = H⁻¹. P = diag(H)⁻¹ gives 1 when H is diagonal, and may help or hurt in rotated bases.

    $$\kappa(I H) = \kappa, \quad \kappa(H^{-1/2} H) = \sqrt{\kappa}, \quad \kappa(H^{-1} H) = 1$$

    Assumes: a quadratic with positive definite H.

    Check: The rates are measured in a random basis; the diagonal preconditioner is tried in 600 random bases, and in a
    plane whose axes are turned by `angle` degrees.
    """
    rng = data.generator(key)
    values = np.geomspace(1.0, condition, dimension)
    bases = np.linalg.qr(rng.normal(size=(600, dimension, dimension)))[0]
    hessians = (bases * values) @ np.swapaxes(bases, 1, 2)
    hessian = hessians[0]
    kappas = [
        optimisation.preconditioned_condition(optimisation.preconditioner(kind, hessian), hessian)
        for kind in ("identity", "inverse root", "inverse")
    ]
    yield close(kappas, [condition, np.sqrt(condition), 1.0], "κ of PH for P = I, H^(−1/2), H⁻¹", rtol=1e-9)
    for name, kappa, kind in zip(("I", "H^(−1/2)"), kappas, ("identity", "inverse root"), strict=False):
        matrix = optimisation.preconditioner(kind, hessian)
        expected = (kappa - 1) / (kappa + 1)
        what = f"factor per step of descent with P = {name}, from its worst start"
        yield close(_measured_rate(matrix, hessian), expected, what, atol=1e-8)
    once = rng.normal(size=dimension)
    solved = once - optimisation.preconditioner("inverse", hessian) @ (hessian @ once)
    yield at_most(np.linalg.norm(solved), 1e-9 * condition, "distance after one step with P = H⁻¹")
    scale = 1 / np.sqrt(np.diagonal(hessians, axis1=1, axis2=2))
    spectra = np.linalg.eigvalsh(hessians * scale[:, :, None] * scale[:, None, :])
    scaled = spectra[:, -1] / spectra[:, 0]
    own = optimisation.preconditioned_condition(optimisation.preconditioner("diagonal", hessian), hessian)
    yield close(own, scaled[0], "κ of diag(H)⁻¹H, from P^½HP^½ and from the unit-diagonal scaling", rtol=1e-8)
    yield at_most(scaled.min(), condition, "least κ of diag(H)⁻¹H over 600 random bases: it can help", strict=True)
    yield at_least(scaled.max(), condition, "largest κ of diag(H)⁻¹H over 600 random bases: it can hurt", strict=True)
    turns = np.append(np.linspace(0, 45, 46), angle)
    plane = np.array([_turned(condition, t) for t in turns])
    what = "κ of diag(H)⁻¹H in a plane turned by 0 … 45 degrees, against (1 + |c|)/(1 − |c|)"
    yield close(plane, [_turned_closed(condition, t) for t in turns], what, rtol=1e-7)
    yield close(plane[[0, 45]], [1.0, condition], "κ of diag(H)⁻¹H at 0 and 45 degrees", rtol=1e-7)
    line = np.linspace(0, 45, 181)
    constants = {"P = I": condition, "P = H^(−1/2)": np.sqrt(condition), "P = H⁻¹": 1.0}
    lines = {name: (line, np.full(181, value)) for name, value in constants.items()}
    lines["P = diag(H)⁻¹"] = line, [_turned_closed(condition, t) for t in line]
    hurt, axis = np.mean(scaled > condition), "angle of the eigenvectors to the axes, degrees"
    where = f"of 600 bases in {dimension} dimensions it hurts {hurt:.0%} (κ = {condition:.3g})"
    title = f"diag(H)⁻¹ helps near the axes and not at 45°; {where}"
    points = {"P = diag(H)⁻¹": (turns[:46:3], plane[:46:3])}
    yield figure.curves(title, axis, "κ of PH", lines=lines, points=points, log="y")


def _measured_rate(matrix: np.ndarray, hessian: np.ndarray) -> float:
    """Two steps 2/(m + L) of PH from the sum of its end eigenvectors; their factor per step in the norm of P^(−1/2)."""
    root = symmetric_power(matrix, 0.5)
    values, vectors = np.linalg.eigh(root @ hessian @ root)
    start = root @ (vectors[:, 0] + vectors[:, -1])
    w = start
    for _ in range(2):
        w = w - 2 / (values[0] + values[-1]) * matrix @ (hessian @ w)
    before, after = (np.linalg.norm(np.linalg.solve(root, v)) for v in (start, w))
    return float(np.sqrt(after / before))


def _turned(condition: float, degrees: float) -> float:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[c, -s], [s, c]])
    hessian = (turn * np.array([1.0, condition])) @ turn.T
    return optimisation.preconditioned_condition(optimisation.preconditioner("diagonal", hessian), hessian)


def _turned_closed(condition: float, degrees: float) -> float:
    """(1 + |c|)/(1 − |c|) with the correlation c = h₁₂/√(h₁₁h₂₂)."""
    c2, s2 = np.cos(np.radians(degrees)) ** 2, np.sin(np.radians(degrees)) ** 2
    a, b, mixed = c2 + condition * s2, s2 + condition * c2, (condition - 1) * np.sqrt(c2 * s2)
    gap = condition / (np.sqrt(a * b) + mixed) / np.sqrt(a * b)  # 1 − c without cancellation: h₁₁h₂₂ − h₁₂² = κ
    return float((2 - gap) / gap)
