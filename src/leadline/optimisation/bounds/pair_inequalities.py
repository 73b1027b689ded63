"""Every inequality that convexity and smoothness promise of a pair of points, with its slack."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Points = Float[np.ndarray | Array, "n p"]
Others = Float[np.ndarray | Array, "k p"]
Numbers = Float[np.ndarray, " n"]


class PairTable(NamedTuple):
    """What the inequalities are made of, for n pairs (w, w′) with dw = w′ − w and dg = g(w′) − g(w).

    `forward` is the Bregman divergence D(w′, w) = l(w′) − l(w) − ⟨g(w), dw⟩ and `backward` is D(w, w′). `rounding`
    bounds the rounding error of the divergences and inner products.
    """

    first: Float[np.ndarray, "n p"]
    second: Float[np.ndarray, "n p"]
    values: Float[np.ndarray, "2 n"]
    gradients: Float[np.ndarray, "2 n p"]
    forward: Numbers
    backward: Numbers
    inner: Numbers
    squared_distance: Numbers
    squared_change: Numbers
    rounding: Numbers

    @property
    def curvature_ratios(self) -> Numbers:
        """⟨dg, dw⟩/‖dw‖²: between m and L."""
        return self.inner / self.squared_distance

    @property
    def secant_ratios(self) -> Numbers:
        """‖dg‖/‖dw‖: at most L."""
        return np.sqrt(self.squared_change / self.squared_distance)


class Inequality(NamedTuple):
    """One inequality over all pairs: slack ≥ 0 where it holds; the pair of least slack is the witness."""

    slack: Numbers
    least: float
    first: Float[np.ndarray, " p"]
    second: Float[np.ndarray, " p"]
    holds: bool


def pair_table(function: Callable[[Array], Array], first: Points, second: Others) -> PairTable:
    """Values, gradients and divergences of l for pairs of points in rows; l must be finite there.

    >>> table = pair_table(lambda w: w @ w, np.array([[0.0]]), np.array([[2.0]]))
    >>> table.forward.tolist(), table.inner.tolist(), table.curvature_ratios.tolist()
    ([4.0], [8.0], [2.0])
    """
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape:
        raise ValueError(
            f"pair_table got points of shapes {first.shape} and {second.shape}; give pairs of equal shape."
        )
    points = np.concatenate([first, second])
    values, gradients = (np.asarray(part) for part in _evaluate(function, jnp.asarray(points, float)))
    finite = np.isfinite(values) & np.isfinite(gradients).all(axis=1)
    if not finite.all():
        bad = points[int(np.argmin(finite))]
        raise ValueError(f"The loss or its gradient is not finite at w = {bad[:6]}; keep the points inside its domain.")
    n = len(first)
    return tabulate_pairs(first, second, values.reshape(2, n), gradients.reshape(2, n, -1))


def tabulate_pairs(
    first: Points, second: Points, values: Float[np.ndarray, "2 n"], gradients: Float[np.ndarray, "2 n p"]
) -> PairTable:
    """The same table where l and g at the two points of each pair are known already."""
    w, z, (a, b), (ga, gb) = np.asarray(first), np.asarray(second), values, gradients
    dw, dg = z - w, gb - ga
    slope_a, slope_b = np.sum(ga * dw, axis=1), np.sum(gb * dw, axis=1)
    norms = np.linalg.norm(ga, axis=1) + np.linalg.norm(gb, axis=1)
    reach = np.linalg.norm(w, axis=1) + np.linalg.norm(z, axis=1)
    rounding = 32 * np.finfo(values.dtype).eps * (np.abs(a) + np.abs(b) + norms * reach)
    return PairTable(
        w,
        z,
        np.stack([a, b]),
        np.stack([ga, gb]),
        b - a - slope_a,
        a - b + slope_b,
        np.sum(dg * dw, axis=1),
        np.sum(dw**2, axis=1),
        np.sum(dg**2, axis=1),
        rounding,
    )


def inequality_table(
    table: PairTable, *, smoothness: float | None = None, strong_convexity: float | None = None
) -> dict[str, Inequality]:
    """The inequalities that L-smoothness and m-strong convexity (m = 0: convexity) promise, by name.

    Without `strong_convexity` nothing that needs convexity is listed.

    >>> table = pair_table(lambda w: -w @ w / 2, np.array([[0.0]]), np.array([[2.0]]))
    >>> {name: row.least for name, row in inequality_table(table, smoothness=1.0).items()}
    {'Lipschitz gradient': 0.0, 'curvature at most L': 8.0, 'descent lemma': 0.0}
    >>> inequality_table(table, strong_convexity=0.0)["tangent below"].holds
    False
    """
    d2, g2, inner = table.squared_distance, table.squared_change, table.inner
    least, L, m = np.minimum(table.forward, table.backward), smoothness, strong_convexity
    slacks: dict[str, Numbers] = {}
    if L is not None:
        slacks["Lipschitz gradient"] = L * np.sqrt(d2) - np.sqrt(g2)
        slacks["curvature at most L"] = L * d2 - inner
        slacks["descent lemma"] = L / 2 * d2 - np.maximum(np.abs(table.forward), np.abs(table.backward))
    if m is not None:
        slacks["tangent below"] = least
        slacks["monotone gradient"] = inner
        if m > 0:
            slacks["parabola below"] = least - m / 2 * d2
            slacks["curvature at least m"] = inner - m * d2
        if L:
            slacks["co-coercivity"] = inner - g2 / L
            slacks["co-coercive divergence"] = least - g2 / (2 * L)
            slacks["strong co-coercivity"] = inner - m * L / (m + L) * d2 - g2 / (m + L)
    return {name: _row(table, name, slack) for name, slack in slacks.items()}


def _row(table: PairTable, name: str, slack: Numbers) -> Inequality:
    rounding = table.rounding / (np.sqrt(table.squared_distance) if name == "Lipschitz gradient" else 1.0)
    worst = int(np.argmin(slack + rounding))
    holds = bool(np.all(slack >= -rounding))
    return Inequality(slack, float(slack[worst]), table.first[worst], table.second[worst], holds)


@eqx.filter_jit
def _evaluate(function: Callable[[Array], Array], points: Float[Array, "n p"]) -> tuple[Array, Array]:
    return jax.vmap(jax.value_and_grad(function))(points)
