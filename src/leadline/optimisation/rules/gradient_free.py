"""Descent without gradients: six methods that only ask for values, behind one function that counts what they ask."""

from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from leadline._checks import require_numbers
from leadline.data import generator

Function = Callable[[Float[np.ndarray, " p"]], float]
Estimator = Literal["differences", "spsa", "evolution"]


class GradientFree(NamedTuple):
    """The best point, its value, the evaluations made, and the best value after each of them."""

    point: Float[np.ndarray, " p"]
    value: float
    evaluations: int
    history: Float[np.ndarray, " evaluations"]


def estimate_gradient(
    function: Function, w: Float[np.ndarray, " p"], method: Estimator, rng: np.random.Generator, *, spread: float = 1e-4
) -> Float[np.ndarray, " p"]:
    """∇l(w) from values: p + 1 forward differences; or (l(w + su) − l(w − su)) u/(2s) with random u.

    SPSA has u of random signs (Spall 1992), the evolution strategy u ~ N(0, I): both unbiased on quadratics.

    >>> rng = np.random.default_rng(0)
    >>> estimate_gradient(lambda w: float(w @ w), np.array([1.0, 2.0]), "differences", rng).round(2).tolist()
    [2.0, 4.0]
    """
    require_numbers("estimate_gradient", w=w)
    if method == "differences":
        base = function(w)
        return np.array([(function(w + spread * e) - base) / spread for e in np.eye(w.size)])
    u = rng.choice([-1.0, 1.0], w.size) if method == "spsa" else rng.normal(size=w.size)
    return (function(w + spread * u) - function(w - spread * u)) / (2 * spread) * u


class _Reached(Exception):
    pass


def descend_without_gradient(
    function: Function,
    start: Float[np.ndarray, " p"],
    method: str,
    *,
    goal: float = -np.inf,
    max_steps: int = 100_000,
    smoothness: float = 1.0,
    spread: float = 1e-4,
    key: PRNGKeyArray,
) -> GradientFree:
    """Minimise by values alone until one is at most `goal` or `max_steps` were asked for.

    Gradient estimates take steps 1/L (differences), 1/(L p) (SPSA) and 1/(L (p + 2)) (evolution), the best on
    average on an isotropic quadratic of curvature L = `smoothness`. Random search keeps Gaussian moves that improve and
    changes their length by the 1/5 rule; coordinate search halves its step when no coordinate improves; Nelder-Mead is
    SciPy's.

    >>> import jax
    >>> found = descend_without_gradient(
    ...     lambda w: float(w @ w / 2), np.ones(3), "spsa", goal=1e-3, key=jax.random.key(0)
    ... )
    >>> found.value <= 1e-3, found.evaluations < 200
    (True, True)
    """
    if method not in _METHODS:
        raise ValueError(f"descend_without_gradient got method {method!r}; choose one of {', '.join(_METHODS)}.")
    rng = generator(key)
    seen: list[float] = []
    best = [np.asarray(start, float), np.inf]

    def ask(w: np.ndarray) -> float:
        value = float(function(w))
        if not np.isfinite(value):
            raise ValueError(f"The function is {value} after {len(seen)} evaluations; take a larger `smoothness`.")
        if value < best[1]:
            best[:] = [np.array(w), value]
        seen.append(best[1])
        if value <= goal or len(seen) >= max_steps:
            raise _Reached
        return value

    with suppress(_Reached):
        _METHODS[method](ask, np.array(start, float), rng, smoothness, spread)
    return GradientFree(best[0], float(best[1]), len(seen), np.array(seen))


def _random_search(ask: Function, w: np.ndarray, rng, smoothness: float, spread: float) -> None:
    value, length = ask(w), 1.0
    while length > 1e-12:
        moved = w + length * rng.normal(size=w.size) / np.sqrt(w.size)
        if (after := ask(moved)) < value:
            w, value, length = moved, after, length * 1.5
        else:
            length *= 1.5**-0.25
        length = max(length, 1e-12)


def _coordinate_search(ask: Function, w: np.ndarray, rng, smoothness: float, spread: float) -> None:
    value, length = ask(w), 1.0
    while length > 1e-12:
        improved = False
        for e in np.eye(w.size):
            for sign in (1.0, -1.0):
                if (after := ask(w + sign * length * e)) < value:
                    w, value, improved = w + sign * length * e, after, True
                    break
        length = length if improved else length / 2


def _nelder_mead(ask: Function, w: np.ndarray, rng, smoothness: float, spread: float) -> None:
    from scipy.optimize import minimize

    options = {"maxfev": 10**9, "maxiter": 10**9, "xatol": 1e-14, "fatol": 0.0, "adaptive": True}
    minimize(ask, w, method="Nelder-Mead", options=options)


def _estimated(method: Estimator, scale: Callable[[int], float]) -> Callable:
    def descend(ask: Function, w: np.ndarray, rng, smoothness: float, spread: float) -> None:
        while True:
            gradient = estimate_gradient(ask, w, method, rng, spread=spread)
            w = w - gradient / (smoothness * scale(w.size))

    return descend


_METHODS = {
    "random search": _random_search,
    "coordinate search": _coordinate_search,
    "nelder-mead": _nelder_mead,
    "differences": _estimated("differences", lambda p: 1.0),
    "spsa": _estimated("spsa", lambda p: float(p)),
    "evolution": _estimated("evolution", lambda p: p + 2.0),
}
