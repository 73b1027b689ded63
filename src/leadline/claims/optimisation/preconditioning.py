"""Preconditioned descent: other coordinates, the condition number that counts, and what may stand for the Hessian."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.claims.optimisation.line_search_zigzag import ellipse
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, method, printed


@method(
    "preconditioned-gradient-descent",
    says=(
        "w ← w − ηPg with positive definite P, such as G^(−1/2), is gradient descent in the coordinates u = P^(−1/2)w. "
        "P = I, a diagonal, H^(−1/2), the diagonal of the empirical Fisher matrix, or H⁻¹, which is Newton's method."
    ),
    formula=(
        r"w^{t+1} = w^t - \eta P\, \nabla l(w^t) \;\Leftrightarrow\; "
        r"u^{t+1} = u^t - \eta \nabla_u\, l(P^{1/2} u^t), \; w = P^{1/2} u"
    ),
    sources=("penn",),
    assumes=("P is positive definite",),
    shows=("optimisation.preconditioner", "optimisation.scale_by_matrix", "optimisation.symmetric_power"),
)
def preconditioned_gradient_descent(
    key,
    kind: Annotated[
        str, Choice("inverse root", "identity", "diagonal", "inverse", "empirical fisher")
    ] = "inverse root",
    dimension: Annotated[int, Range(2, 20)] = 4,
    condition: Annotated[float, Range(2.0, 1e3, log=True)] = 50.0,
    step: Annotated[float, Range(0.01, 1.0, log=True)] = 0.5,
    steps: Annotated[int, Range(1, 100)] = 30,
):
    """Logistic regression with ridge; P of this kind from the Hessian at the start; η = `step`/λ_max(PH)."""
    rng = data.generator(key)
    y = rng.choice([-1.0, 1.0], 60)
    x = rng.normal(size=(60, dimension)) * np.geomspace(0.3, 1.0, dimension) + 0.3 * y[:, None]
    penalty = float(np.linalg.norm(x, 2) ** 2 / 240) / (condition - 1)
    loss, start = plain_problems.logistic(x, y, penalty), rng.normal(size=dimension)
    hessian = x.T @ x / 240 + penalty * np.eye(dimension)  # at 0
    gradients = -x * (y * np.exp(-np.logaddexp(0.0, y * (x @ start))))[:, None] + penalty * start
    matrix = optimisation.preconditioner(kind, hessian, gradients=gradients)
    root = optimisation.symmetric_power(matrix, 0.5)
    eta = step / float(np.linalg.eigvalsh(root @ hessian @ root)[-1])
    rule = optimisation.scale_by_matrix(matrix)
    w, u, memory = start, np.linalg.solve(root, start), rule.init(jnp.zeros(dimension))
    there, here = [u], [w]
    for _ in range(steps):
        change, memory = rule.update(jnp.asarray(loss.gradient(w)), memory)
        w, u = w - eta * np.asarray(change), u - eta * root @ loss.gradient(root @ u)
        there.append(u)
        here.append(w)
    here, there = np.array(here), np.array(there)
    yield close(there @ root, here, "iterates in the coordinates u, mapped back by P^½", atol=1e-10)
    yield at_most(loss.value(here[-1]), loss.value(start), "loss at the end, against the start")
    before, after = float(np.linalg.cond(hessian)), optimisation.preconditioned_condition(matrix, hessian)

    bowl = hessian
    landed = {
        name: start - optimisation.preconditioner(name, bowl) @ (bowl @ start) for name in ("inverse", "inverse root")
    }
    yield at_most(
        np.linalg.norm(landed["inverse"]), 1e-10 * condition, "quadratic, P = H⁻¹, η = 1: distance to the minimum"
    )
    squared = optimisation.symmetric_power(bowl @ bowl, -0.5)
    yield close(squared, optimisation.preconditioner("inverse", bowl), "(H²)^(−1/2), against H⁻¹", rtol=1e-6, atol=1e-6)
    newton = at_most(np.linalg.norm(landed["inverse root"]), 1e-6, "the same with P = G^(−1/2), G = H")
    yield printed(newton, "penn", "with G = H the method is Newton's")
    singular = np.sqrt(np.diag([1.0, 0.0]))  # the square root of a G that is psd only
    definite = at_least(singular[1, 1], 0.0, "least eigenvalue of G^½ for G = diag(1, 0)", strict=True)
    yield printed(definite, "penn", "G may be psd only: its square root keeps the preconditioner definite")

    two = np.array([[1.0, 0.6], [0.6, 1.0]]) * np.sqrt(np.outer([1.0, 8.0], [1.0, 8.0]))
    small = optimisation.preconditioner(kind if kind != "empirical fisher" else "diagonal", two)
    half = optimisation.symmetric_power(small, 0.5)
    straight = half @ two @ half
    first = np.array([1.2, 0.35])
    paths = {}
    for name, matrix_shown, begin in (("w", two, first), ("u", straight, np.linalg.solve(half, first))):
        factor = np.eye(2) - 0.9 / np.linalg.eigvalsh(straight)[-1] * (small @ two if name == "w" else straight)
        path = np.array([np.linalg.matrix_power(factor, t) @ begin for t in range(12)])
        level = begin @ matrix_shown @ begin / 2
        paths[name] = figure.plane(
            f"coordinates {name}: κ = {np.linalg.cond(matrix_shown):.3g}",
            x=f"{name}₁", y=f"{name}₂",
            points={"iterates": path},
            lines={f"{share:.0%} of l": ellipse(matrix_shown, level * share) for share in (1.0, 0.3, 0.05)}
            | {"path": (path[:, 0], path[:, 1])},
            domain=_square(matrix_shown, level),
        )  # fmt: skip
    yield figure.beside(
        f"P = {kind}: descent in u = P^(−1/2)w, where the logistic problem has κ = {after:.3g} instead of {before:.3g}",
        *paths.values(),
    )


def _square(matrix: np.ndarray, level: float) -> tuple[tuple[float, float], tuple[float, float]]:
    reach = 1.1 * max(float(np.max(np.abs(c))) for c in ellipse(matrix, level))
    return (-reach, reach), (-reach, reach)


@claim(
    "preconditioning-condition-number",
    says=(
        "The rate of preconditioned descent is that of the condition number of PH: κ for P = I, √κ for H^(−1/2), 1 for "
        "H⁻¹. P = diag(H)⁻¹ gives 1 when H is diagonal, and may help or hurt in rotated bases."
    ),
    formula=r"\kappa(I H) = \kappa, \quad \kappa(H^{-1/2} H) = \sqrt{\kappa}, \quad \kappa(H^{-1} H) = 1",
    sources=("penn",),
    assumes=("quadratic with positive definite H",),
)
def preconditioning_condition_number(
    key,
    condition: Annotated[float, Range(10.0, 1e4, log=True)] = 100.0,
    dimension: Annotated[int, Range(3, 10)] = 6,
    angle: Annotated[float, Range(0.0, 45.0)] = 30.0,
):
    """A random basis; 600 random bases for the diagonal; a plane whose axes are turned by `angle` degrees."""
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
        rate = _measured_rate(matrix, hessian)
        yield close(
            rate,
            (kappa - 1) / (kappa + 1),
            f"factor per step of descent with P = {name}, from its worst start",
            atol=1e-8,
        )
    once = rng.normal(size=dimension)
    solved = once - optimisation.preconditioner("inverse", hessian) @ (hessian @ once)
    yield at_most(np.linalg.norm(solved), 1e-9 * condition, "distance after one step with P = H⁻¹")

    scale = 1 / np.sqrt(np.diagonal(hessians, axis1=1, axis2=2))
    spectra = np.linalg.eigvalsh(hessians * scale[:, :, None] * scale[:, None, :])
    scaled = spectra[:, -1] / spectra[:, 0]
    own = optimisation.preconditioned_condition(optimisation.preconditioner("diagonal", hessian), hessian)
    yield close(own, scaled[0], "κ of diag(H)⁻¹H, from P^½HP^½ and from the unit-diagonal scaling", rtol=1e-8)
    yield at_most(scaled.min(), condition, "least κ of diag(H)⁻¹H over 600 random bases: it can help", strict=True)
    yield at_least(scaled.max(), condition, "largest: it can hurt", strict=True)
    turns = np.append(np.linspace(0, 45, 46), angle)
    plane = np.array([_turned(condition, t) for t in turns])
    closed = np.array([_turned_closed(condition, t) for t in turns])
    yield close(
        plane, closed, "κ of diag(H)⁻¹H in a plane turned by 0 … 45 degrees, against (1 + |c|)/(1 − |c|)", rtol=1e-7
    )
    yield close(plane[[0, 45]], [1.0, condition], "κ of diag(H)⁻¹H at 0 and 45 degrees", rtol=1e-7)
    line = np.linspace(0, 45, 181)
    yield figure.curves(
        (
            f"diag(H)⁻¹ helps near the axes and not at 45°; of 600 bases in {dimension} dimensions it hurts "
            f"{np.mean(scaled > condition):.0%} (κ = {condition:.3g})"
        ),
        x="angle of the eigenvectors to the axes, degrees",
        y="κ of PH",
        lines={
            "P = I": (line, np.full(181, condition)),
            "P = H^(−1/2)": (line, np.full(181, np.sqrt(condition))),
            "P = diag(H)⁻¹": (line, np.array([_turned_closed(condition, t) for t in line])),
            "P = H⁻¹": (line, np.ones(181)),
        },
        points={"P = diag(H)⁻¹": (turns[:46:3], plane[:46:3])},
        log="y",
    )


def _measured_rate(matrix: np.ndarray, hessian: np.ndarray) -> float:
    """Two steps 2/(m + L) of PH from the sum of its end eigenvectors; their factor per step in the norm of P^(−1/2)."""
    root = optimisation.symmetric_power(matrix, 0.5)
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
