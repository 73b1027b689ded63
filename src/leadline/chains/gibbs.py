"""Gibbs laws e^{−βl}/Z: their partition function by three routes, and the mass of wells."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from .finite import Law

Loss = Callable[[Float[np.ndarray, "... p"]], Float[np.ndarray, "..."]]

_OCTAVES = 14
_NODES = 24


def gibbs_law(losses: Num[Array | np.ndarray, " n"], beta: float) -> Law:
    """e^{−βl}/Σ e^{−βl} at the points of an even grid.

    >>> gibbs_law(np.array([0.0, np.log(3.0)]), 1.0).round(6).tolist()
    [0.75, 0.25]
    """
    losses = np.asarray(losses, float)
    weight = np.exp(-beta * (losses - losses.min()))
    return weight / weight.sum()


class PartitionFunction(NamedTuple):
    """log Z(β), E_β[l], and the share of Z in the outermost shell; `finite` is False where the integral diverges."""

    log_value: float
    mean_loss: float
    outer_share: float
    finite: bool


def partition_function(
    loss: Loss, beta: float, *, dimension: int = 1, centre: float = 0.0, scale: float = 1.0
) -> PartitionFunction:
    """Z(β) = ∫ e^{−βl(w)} dw over ℝ or ℝ² by quadrature on intervals that double, up to 2¹⁴ times `scale`.

    `loss` takes an array of points (..., p). If the outermost shell still holds a noticeable share, the integral is
    reported as infinite: a flat or too slowly rising direction, which weight decay would cure.

    >>> gauss = partition_function(lambda w: (w**2).sum(-1) / 2, 2.0)
    >>> round(gauss.log_value, 6), round(float(np.log(np.pi)) / 2, 6), gauss.finite
    (0.572365, 0.572365, True)
    >>> partition_function(lambda w: 0 * w[..., 0], 1.0).finite
    False
    """
    if beta <= 0 or dimension not in (1, 2):
        raise ValueError(f"beta = {beta:g} in {dimension} dimensions: give beta > 0 and 1 or 2 dimensions.")
    nodes, weights, outer = _doubling_rule(scale, _NODES if dimension == 1 else _NODES // 2)
    nodes = nodes + centre
    if dimension == 1:
        points, mass, edge = nodes[:, None], weights, outer
    else:
        points = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1)
        mass, edge = weights[:, None] * weights, outer[:, None] | outer
    values = np.asarray(loss(points), float)
    lowest = values.min()
    density = mass * np.exp(-beta * (values - lowest))
    total = density.sum()
    share = float(density[edge].sum() / total)
    if share > 1e-9:
        return PartitionFunction(float("inf"), float("nan"), share, False)
    return PartitionFunction(float(np.log(total) - beta * lowest), float((density * values).sum() / total), share, True)


def _doubling_rule(scale: float, nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre on ±[0, s/4], …, ±[s 2^k, s 2^{k+1}], each octave cut into quarters up to 4s; True on the last."""
    octaves = scale * 2.0 ** np.arange(-2, _OCTAVES + 1)
    cut = [np.linspace(a, b, 5)[:-1] if b <= 4 * scale else np.array([a]) for a, b in itertools.pairwise(octaves)]
    edges = np.concatenate([np.linspace(0, octaves[0], 3)[:-1], *cut, octaves[-1:]])
    x, w = np.polynomial.legendre.leggauss(nodes)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    right, weight = (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()
    outer = right > octaves[-2]
    return (
        np.concatenate([-right[::-1], right]),
        np.concatenate([weight[::-1], weight]),
        np.concatenate([outer[::-1], outer]),
    )


def laplace_log_partition(
    losses: Num[Array | np.ndarray, " wells"], hessians: Num[Array | np.ndarray, "wells p p"], beta: float
) -> float:
    """log Σ_k (2π/β)^{p/2} det(H_k)^{−1/2} e^{−βl_k} over the minima: exact for one parabola, asymptotic in β.

    >>> round(laplace_log_partition(np.zeros(1), np.ones((1, 1, 1)), 2.0), 6)
    0.572365
    """
    from scipy.special import logsumexp

    hessians = np.asarray(hessians, float)
    signs, logs = np.linalg.slogdet(hessians)
    if np.any(signs <= 0) or np.any(np.linalg.eigvalsh(hessians)[:, 0] <= 0):
        raise ValueError("A Hessian is not positive definite, so the minimum is degenerate: Laplace's formula is void.")
    p = hessians.shape[-1]
    return float(logsumexp(p / 2 * np.log(2 * np.pi / beta) - logs / 2 - beta * np.asarray(losses, float)))


def thermodynamic_log_partition(
    mean_loss: Callable[[float], float], start: float, log_start: float, beta: float
) -> float:
    """log Z(β) = log Z(β₀) − ∫ E_b[l] db from β₀ to β, by 24 Gauss-Legendre nodes in log b.

    >>> round(thermodynamic_log_partition(lambda b: 1 / (2 * b), 1.0, float(np.log(2 * np.pi)) / 2, 2.0), 6)
    0.572365
    """
    x, w = np.polynomial.legendre.leggauss(24)
    logs = np.log(start) + (x + 1) / 2 * np.log(beta / start)
    terms = np.array([mean_loss(float(b)) * b for b in np.exp(logs)])
    return float(log_start - np.log(beta / start) / 2 * (w @ terms))


def well_masses(
    depths: Num[Array | np.ndarray, " wells"],
    curvatures: Num[Array | np.ndarray, " wells"],
    beta: float,
    dimension: int = 1,
) -> Law:
    """The shares e^{−βl_k} h_k^{−p/2} of isotropic wells with curvatures h_k in p dimensions (Laplace), normalised.

    >>> well_masses(np.zeros(2), np.array([1.0, 4.0]), 10.0).round(6).tolist()
    [0.666667, 0.333333]
    """
    logs = -beta * np.asarray(depths, float) - dimension / 2 * np.log(np.asarray(curvatures, float))
    return gibbs_law(-logs, 1.0)


def occupancy_crossover(extra_loss: float, width_ratio: float, dimension: int = 1) -> float:
    """β at which a wide well, higher by `extra_loss`, holds as much mass as a deep one: p log(width ratio)/extra loss.

    >>> round(occupancy_crossover(0.1, np.e), 6)
    10.0
    """
    return dimension * float(np.log(width_ratio)) / extra_loss


def kramers_time(well_curvature: float, barrier_curvature: float, barrier: float, beta: float) -> float:
    """Mean time η·t to cross a barrier of height ΔE: 2π/√(l''(well)|l''(barrier)|) e^{βΔE} (Eyring, Kramers 1940).

    >>> round(kramers_time(1.0, -1.0, 0.0, 5.0), 6)
    6.283185
    """
    if well_curvature <= 0 or barrier_curvature >= 0:
        raise ValueError(
            f"Curvatures {well_curvature:g} at the well and {barrier_curvature:g} at the barrier: the first must be "
            "positive, the second negative."
        )
    return float(2 * np.pi / np.sqrt(-well_curvature * barrier_curvature) * np.exp(beta * barrier))
