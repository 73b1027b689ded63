"""What no first-order method can do: Nesterov's worst chain, the best point in the span, worst cases over a family."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from leadline._checks import require_counts, require_numbers, require_rows

Run = Callable[[Callable[[np.ndarray], np.ndarray], np.ndarray, int], Float[np.ndarray, "points ..."]]
Count = int | Int[np.ndarray, "..."] | Float[np.ndarray, "..."]


def first_order_lower_bound(smoothness: float, distance: float, t: Count) -> float | Float[np.ndarray, "..."]:
    """(3/32) L R²/(t + 1)²: some convex L-smooth function keeps every span method's gap above it at t ≤ (p − 1)/2.

    Nesterov (2004), theorem 2.1.7; the function depends on t.

    >>> round(first_order_lower_bound(32.0, 1.0, 1), 9)
    0.75
    """
    require_counts("first_order_lower_bound", least=0, t=t)
    return 3 / 32 * smoothness * distance**2 / (t + 1) ** 2


def chain_best_gap(t: Count, smoothness: float = 1.0, links: int | None = None) -> float | Float[np.ndarray, "..."]:
    """The least gap in the span after t steps from 0 on `WorstChain(links, L)`: (L/8)(1/(t + 1) − 1/(k + 1)).

    Without `links` the chain is the one for t, k = 2t + 1, and the gap L/(16(t + 1)).

    >>> chain_best_gap(1), chain_best_gap(3, links=3)
    (0.03125, 0.0)
    """
    require_counts("chain_best_gap", least=0, t=t)
    k = 2 * t + 1 if links is None else links
    gap = smoothness / 8 * np.maximum(1 / (t + 1) - 1 / (k + 1), 0.0)
    return gap if np.ndim(gap) else float(gap)


def chain_gradient(w: Float[np.ndarray, "... k"], smoothness: float = 1.0) -> Float[np.ndarray, "... k"]:
    """The gradient of `WorstChain` in NumPy: (L/4)(2wᵢ − wᵢ₋₁ − wᵢ₊₁ − [i = 1]), with w₀ = w_{k+1} = 0.

    >>> chain_gradient(np.zeros(3)).tolist()
    [-0.25, 0.0, 0.0]
    """
    require_rows("chain_gradient", w=w)
    slope = 2 * np.asarray(w, float)
    slope[..., 1:] -= w[..., :-1]
    slope[..., :-1] -= w[..., 1:]
    slope[..., 0] -= 1
    return smoothness / 4 * slope


def chain_gap(w: Float[np.ndarray, "... k"], smoothness: float = 1.0) -> float | Float[np.ndarray, "..."]:
    """l(w) − l* of `WorstChain`, as ½(w − w*)ᵀA(w − w*): no cancellation near the minimum.

    >>> chain_gap(np.zeros(3))
    0.09375
    """
    require_rows("chain_gap", w=w)
    k = np.shape(w)[-1]
    error = np.asarray(w, float) - (1 - np.arange(1, k + 1) / (k + 1))
    jumps = np.diff(error, axis=-1)
    gap = smoothness / 8 * (error[..., 0] ** 2 + np.sum(jumps**2, axis=-1) + error[..., -1] ** 2)
    return gap if np.ndim(gap) else float(gap)


def chain_distance(links: int) -> float:
    """R = ‖w*‖ of the chain: R² = Σ (1 − i/(k + 1))² = k(2k + 1)/(6(k + 1)), below (k + 1)/3.

    >>> round(chain_distance(3) ** 2, 9)
    0.875
    """
    require_counts("chain_distance", least=0, links=links)
    return float(np.sqrt(links * (2 * links + 1) / (6 * (links + 1))))


def conjugate_gradient_points(
    gradient: Callable[[np.ndarray], np.ndarray], start: Float[np.ndarray, " p"], num_steps: int
) -> Float[np.ndarray, "points p"]:
    """Conjugate gradients (SciPy's) on the quadratic with this affine gradient: after t steps the best in the span.

    >>> conjugate_gradient_points(lambda w: np.array([1.0, 4.0]) * w - 4, np.zeros(2), 2)[-1].round(9).tolist()
    [4.0, 1.0]
    """
    require_numbers("conjugate_gradient_points", start=start)
    from scipy.sparse.linalg import LinearOperator, cg

    start = np.asarray(start, float)
    slope, moves = gradient(start), [np.zeros_like(start)]  # SciPy starts from 0 and returns at once where b = 0
    matrix = LinearOperator((len(start),) * 2, matvec=lambda v: gradient(start + v) - slope, dtype=float)
    cg(matrix, -slope, rtol=0.0, atol=0.0, maxiter=num_steps, callback=lambda move: moves.append(move.copy()))
    return start + np.stack(moves + [moves[-1]] * (num_steps + 1 - len(moves)))


def worst_gaps(
    run: Run, times: Int[np.ndarray, " t"], *, knees: int = 2000
) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """The largest gap_t/(L R²), L = R = 1, on the chain for t and on one-dimensional Huber functions, for each t.

    `run(gradient, start, steps)` is a method with L = 1 that works component by component on a vector of starts; the
    Huber knees lie between 10⁻⁷ and 1, with 1/(2t + 1), gradient descent's worst, among them.

    >>> plain = lambda gradient, w, steps: np.stack([w] + [w := w - gradient(w) for _ in range(steps)])
    >>> chain, huber = worst_gaps(plain, np.array([10]), knees=100)
    >>> round(float(huber[0]) * 42, 9)  # 1/(4t + 2)
    1.0
    """
    times = np.asarray(times, int)
    chain = []
    for t in times:
        links = 2 * int(t) + 1
        end = run(chain_gradient, np.zeros(links), int(t))[-1]
        chain.append(chain_gap(end) / chain_distance(links) ** 2)
    knee = np.concatenate([np.geomspace(1e-7, 1.0, knees), 1 / (2 * times + 1)])
    points = run(lambda w: np.clip(w, -knee, knee), np.ones_like(knee), int(times.max()))[times]
    inside = np.clip(points, -knee, knee)
    return np.array(chain), np.max(inside * (points - inside / 2), axis=1)
