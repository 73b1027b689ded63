"""Paths in the weights of two-layer linear networks along which the loss is constant or falls."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .critical_atlas import sigma_rank
from .linear_problem import LinearProblem

A = Float[np.ndarray, "d_y p"]
B = Float[np.ndarray, "p d_x"]


class FactorPath(NamedTuple):
    """Factors along a path; between neighbours the path is understood to be followed closely."""

    a: Float[np.ndarray, "times d_y p"]
    b: Float[np.ndarray, "times p d_x"]

    def losses(self, problem: LinearProblem) -> Float[np.ndarray, " times"]:
        return np.array([problem.loss(a @ b) for a, b in zip(self.a, self.b, strict=True)])

    def reversed(self) -> "FactorPath":
        return FactorPath(self.a[::-1], self.b[::-1])

    def then(self, other: "FactorPath") -> "FactorPath":
        return FactorPath(np.concatenate([self.a, other.a]), np.concatenate([self.b, other.b]))


def linear_group_path(matrix: Float[np.ndarray, "p p"], times: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t p p"]:
    """A path of invertible matrices from I at 0 to C at 1, det C > 0: C = QS (polar), Q = e^K, C(t) = e^{tK} Sᵗ.

    >>> path = linear_group_path(np.diag([-2.0, -1.0]), np.linspace(0, 1, 5))
    >>> bool(np.linalg.det(path).min() > 0.9), bool(np.allclose(path[-1], np.diag([-2.0, -1.0])))
    (True, True)
    """
    from scipy.linalg import expm, polar

    if not np.linalg.det(matrix) > 0:
        raise ValueError(
            f"A matrix with determinant {np.linalg.det(matrix):.3g} is not joined to the identity by invertible "
            "matrices; give one with a positive determinant."
        )
    rotation, stretch = polar(matrix)
    values, vectors = np.linalg.eigh(stretch)
    generator = _rotation_generator(rotation)
    return np.stack([expm(t * generator) @ (vectors * values**t) @ vectors.T for t in times])


def minima_path(problem: LinearProblem, start: tuple[A, B], end: tuple[A, B], points: int = 101) -> FactorPath:
    """Between two global minima with p ≤ rank Σ units, through global minima only.

    They are (U_p C, C⁻¹ U_pᵀ L*), C ∈ GL(p): two components, told apart by the sign of det C.
    """
    top = problem.eigenvectors[:, : start[0].shape[1]]
    first, last = top.T @ start[0], top.T @ end[0]
    if np.linalg.det(first) * np.linalg.det(last) <= 0:
        raise ValueError(
            "These minima lie in different components: det C has another sign; join them over a saddle with "
            "crossing_path."
        )
    mixings = first @ linear_group_path(np.linalg.solve(first, last), np.linspace(0, 1, points))
    return _mixed(problem, top, mixings)


def crossing_path(problem: LinearProblem, a: A, b: B, points: int = 101) -> FactorPath:
    """From a global minimum to the other component: u_p turns through u_{p+1} to −u_p.

    The loss rises by (λ_p − λ_{p+1})/(2n) at most (λ_{p+1} = 0 where p is all there is): the next critical level.
    """
    u, p = problem.eigenvectors, a.shape[1]
    mixing = u[:, :p].T @ a
    factors = []
    for angle in np.linspace(0, np.pi, points):
        basis = u[:, :p].copy()
        if p < problem.outputs:
            basis[:, -1] = np.cos(angle) * u[:, p - 1] + np.sin(angle) * u[:, p]
            factors.append((basis @ mixing, np.linalg.solve(mixing, basis.T @ problem.best_map)))
        else:  # no direction is left to turn to: the unit is switched off and on again with the other sign
            flip = np.ones(p)
            flip[-1] = np.cos(angle)
            inverse = np.linalg.solve(mixing, flip[:, None] * (basis.T @ problem.best_map))
            factors.append(((basis * flip) @ mixing, inverse))
    return FactorPath(*(np.stack(part) for part in zip(*factors, strict=True)))


def spare_unit_path(problem: LinearProblem, start: tuple[A, B], end: tuple[A, B], points: int = 101) -> FactorPath:
    """Between two global minima with AB = L* of full rank d_y and p > d_y units: they are connected.

    First B goes to its part outside ker A, then A follows a path A₀C(t); the sign of det C is free, as a direction of
    ker A can be turned over.
    """
    d_y, p = start[0].shape
    if p <= d_y or sigma_rank(problem) < d_y:
        raise ValueError(f"spare_unit_path got {p} units for {d_y} outputs; it needs a full-rank L* and p > {d_y}.")
    first, last = (_settled(problem, a, b, points) for a, b in (start, end))
    frames = [_square(a) for a, _ in (start, end)]
    mixing = np.linalg.solve(*frames)
    if np.linalg.det(mixing) < 0:
        frames[1][-1] *= -1
        mixing = np.linalg.solve(*frames)
    mixings = linear_group_path(mixing, np.linspace(0, 1, points))
    decoders = start[0] @ mixings
    across = FactorPath(decoders, np.linalg.pinv(decoders) @ problem.best_map)
    return first.then(across).then(last.reversed())


def scalar_descent_path(problem: LinearProblem, a: A, b: B, points: int = 51) -> FactorPath:
    """For one output and p ≥ 2 units: never uphill to the global minimum with unit 1 = (1, L*), the others 0.

    One unit takes over the product, so that another is free to become (0, L*); then the outgoing weights go from the
    old unit to the new one, which is a convex problem that ends at its minimum; last the new unit is made the first.
    The loss is constant on all stretches but that one.
    """
    if problem.outputs != 1 or a.shape[1] < 2:
        raise ValueError(f"scalar_descent_path got A of shape {a.shape}; it needs one output and at least 2 units.")
    product, carrier = a @ b, int(np.abs(a[0]).argmax())
    unit = np.eye(a.shape[1])
    alone_b = np.zeros_like(b)
    if a[0, carrier]:
        alone_b[carrier] = product[0] / a[0, carrier]
    alone_a = a * unit[carrier]
    free = 1 if carrier == 0 else 0
    best = problem.best_map
    stops = [(a, b), (a, alone_b), (alone_a, alone_b)]  # the first stretch: AB constant, as A is and B moves in ker A
    ready = alone_b + unit[:, [free]] * best
    stops += [(alone_a, ready), (unit[[free]], ready), (unit[[free]], unit[:, [free]] * best)]
    if free != 0:
        both = (unit[:, [0]] + unit[:, [free]]) * best
        stops += [(unit[[free]], both), (unit[[0]], both), (unit[[0]], unit[:, [0]] * best)]
    times = np.linspace(0, 1, points)[:, None, None]
    legs = [FactorPath(a0 + times * (a1 - a0), b0 + times * (b1 - b0)) for (a0, b0), (a1, b1) in pairwise(stops)]
    return FactorPath(*(np.concatenate(part) for part in zip(*legs, strict=True)))


def _mixed(problem: LinearProblem, basis: np.ndarray, mixings: np.ndarray) -> FactorPath:
    return FactorPath(
        basis @ mixings,
        np.linalg.solve(
            mixings, np.broadcast_to(basis.T @ problem.best_map, (len(mixings), basis.shape[1], problem.inputs))
        ),
    )


def _settled(problem: LinearProblem, a: np.ndarray, b: np.ndarray, points: int) -> FactorPath:
    """From (A, B) with AB = L* to (A, A⁺L*): B moves in ker A."""
    times = np.linspace(0, 1, points)[:, None, None]
    goal = np.linalg.pinv(a) @ problem.best_map
    return FactorPath(np.repeat(a[None], points, 0), b + times * (goal - b))


def _square(a: np.ndarray) -> np.ndarray:
    """A over an orthonormal basis of its kernel: an invertible matrix."""
    return np.vstack([a, np.linalg.svd(a)[2][len(a) :]])


def _rotation_generator(rotation: np.ndarray) -> np.ndarray:
    """A skew K with e^K = Q, det Q = 1, from the real Schur form; eigenvalues −1 are paired into half turns."""
    from scipy.linalg import schur

    form, basis = schur(rotation, output="real")
    size, k = len(form), 0
    generator, turned = np.zeros_like(form), []
    while k < size:
        if k + 1 < size and abs(form[k + 1, k]) > 1e-9:
            angle = np.arctan2(form[k + 1, k], form[k, k])
            generator[k + 1, k], generator[k, k + 1] = angle, -angle
            k += 2
            continue
        if form[k, k] < 0:
            turned.append(k)
        k += 1
    for i, j in zip(turned[::2], turned[1::2], strict=True):
        generator[j, i], generator[i, j] = np.pi, -np.pi
    return basis @ generator @ basis.T
