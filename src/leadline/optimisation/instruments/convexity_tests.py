"""The search for a proof that a function is not convex: five tests, random pairs, then ascent on the violation."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Real

from leadline.data import generator

Test = Literal["chord", "midpoint", "bregman", "monotonicity", "hessian"]
Function = Callable[[Array], Array]
Bound = float | Real[np.ndarray | Array, " p"]
Points = Float[np.ndarray | Array, "n p"]

_DENSE = 100  # up to this many parameters the Hessian is formed; beyond, Lanczos on products with it


class Witness(NamedTuple):
    """Two points that prove a function not convex, and by how much they violate the test's inequality.

    For "hessian" the second point is w + v, v the unit eigenvector of the most negative curvature −`violation`.
    """

    test: str
    violation: float
    first: Float[np.ndarray, " p"]
    second: Float[np.ndarray, " p"]
    t: float

    def __str__(self) -> str:
        what = {
            "chord": f"at {self.t:.3g} w + {1 - self.t:.3g} w′ the function is {{v}} above its chord",
            "midpoint": "at the midpoint of w and w′ the function is {v} above its chord",
            "bregman": "at w′ the function is {v} below its tangent at w",
            "monotonicity": "⟨g(w) − g(w′), w − w′⟩ is −{v}",
            "hessian": "the curvature at w along w′ − w is −{v}",
        }[self.test].format(v=f"{self.violation:.6g}")
        return f"{what}, w = {_show(self.first)}, w′ = {_show(self.second)}"


class ConvexitySearch(NamedTuple):
    """What one test found in `tried` pairs (points for "hessian"): the worst witness, or None, which proves nothing."""

    test: str
    tried: int
    witness: Witness | None

    @property
    def refuted(self) -> bool:
        return self.witness is not None

    def __str__(self) -> str:
        return f"{self.test}: {self.witness or f'no violation found in {self.tried} (sampling refutes, never proves)'}"


def convexity_violation(
    function: Function, first: Float[Array, " p"], second: Float[Array, " p"], t: float | Array, test: Test
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """By how much the pair (w, w′) violates a convexity inequality (positive: not convex), and the size of its terms.

    chord: l(tw + (1−t)w′) − t l(w) − (1−t) l(w′); midpoint: t = ½; bregman: −D(w′, w); monotonicity:
    −⟨g(w) − g(w′), w − w′⟩; hessian: −vᵀH(w)v with v = (w′ − w)/‖w′ − w‖.

    >>> float(convexity_violation(lambda w: -w @ w, jnp.array([-1.0]), jnp.array([1.0]), 0.5, "midpoint")[0])
    1.0
    """
    step = second - first

    def slope(w: Array) -> Array:
        return jax.jvp(function, (w,), (step,))[1]

    if test in ("chord", "midpoint"):
        a, b, middle = function(first), function(second), function(t * first + (1 - t) * second)
        return middle - t * a - (1 - t) * b, abs(a) + abs(b) + abs(middle)
    if test == "bregman":
        (a, rise), b = jax.jvp(function, (first,), (step,)), function(second)
        return a + rise - b, abs(a) + abs(b) + abs(rise)
    if test == "monotonicity":
        before, after = slope(first), slope(second)
        return before - after, abs(before) + abs(after)
    curvature = jax.jvp(slope, (first,), (step,))[1] / (step @ step)
    return -curvature, abs(curvature)


def refute_convexity(
    function: Function,
    low: Bound,
    high: Bound,
    *,
    key: PRNGKeyArray,
    dimension: int = 1,
    test: Test = "chord",
    pairs: int = 1000,
    climbs: int = 8,
    climb_steps: int = 40,
) -> ConvexitySearch:
    """Look for a proof that l is not convex on the box [low, high]: random pairs, then projected ascent from the best.

    A number for `low` or `high` bounds each of `dimension` coordinates. A violation counts if it is above the rounding
    of the terms it is made of. `climb_steps` = 0 leaves out the ascent, and with it the compilation.

    >>> found = refute_convexity(lambda w: jnp.sum(w**3), -1.0, 1.0, key=jax.random.key(0), climb_steps=0)
    >>> found.refuted, refute_convexity(lambda w: w @ w, -1.0, 1.0, key=jax.random.key(0), climb_steps=0).refuted
    (True, False)
    """
    low, high = (np.broadcast_to(np.asarray(b, float), _shape(low, high, dimension)) for b in (low, high))
    if not np.all(low < high) or not np.all(np.isfinite(high - low)) or pairs < 1:
        raise ValueError(
            "refute_convexity needs finite bounds with low < high and at least 1 pair; correct the region."
        )
    rng = generator(key)
    first, second = rng.uniform(low, high, (2, pairs, len(low)))
    t = rng.uniform(0.02, 0.98, pairs) if test == "chord" else np.full(pairs, 0.5)
    return _search(function, first, second, t, test, (low, high), climbs, climb_steps)


def refute_convexity_along(function: Function, points: Points, *, test: Test = "chord") -> ConvexitySearch:
    """The same tests on the pairs of given points: the two ends of a segment, or the points of a trajectory.

    Of more than 60 points 60 are taken, evenly; the chords of a few points are tried at up to 31 places.

    >>> double_well = lambda w: jnp.sum((w**2 - 1) ** 2)
    >>> refute_convexity_along(double_well, jnp.array([[-1.0], [1.0]])).witness.violation
    1.0
    """
    chosen = np.asarray(points)[np.unique(np.linspace(0, len(points) - 1, min(len(points), 60)).astype(int))]
    if len(chosen) < 2:
        raise ValueError(f"refute_convexity_along got {len(chosen)} points; give at least the two ends of a segment.")
    i, j = np.triu_indices(len(chosen), 1)
    places = int(np.clip(2000 // len(i), 1, 31)) | 1 if test == "chord" else 1
    t = np.tile(np.linspace(0, 1, places + 2)[1:-1], len(i))
    first, second = (np.repeat(chosen[k], places, axis=0) for k in (i, j))
    return _search(function, first, second, t, test, None, 0, 0)


def _search(function, first, second, t, test, box, climbs, climb_steps) -> ConvexitySearch:
    if test == "hessian":
        second, size = _lowest_directions(function, first)
    violation, terms = (np.asarray(part) for part in _measure(function, *_on_device(first, second, t), test=test))
    finite = np.isfinite(violation)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise ValueError(
            f"The function or its slope is not finite at or between w = {_show(first[bad])} and "
            f"w′ = {_show(second[bad])}; keep the region inside the function's domain."
        )
    size = float(np.max(terms)) if test != "hessian" else size
    if climb_steps and box is not None:
        order = np.argsort(violation)[-climbs:]
        climbed = _climb(function, first[order], second[order], t[order], box, test, climb_steps)
        best = int(np.argmax(climbed[0]))
        top, a, b, place = (part[best] for part in climbed)
        if not top >= violation.max():
            top, a, b, place = (part[order[-1]] for part in (violation, first, second, t))
    else:
        worst = int(np.argmax(violation))
        top, a, b, place = (part[worst] for part in (violation, first, second, t))
    rounding = 1000 * float(np.finfo(violation.dtype).eps) * size
    if not top > rounding:
        return ConvexitySearch(test, len(violation), None)
    if test == "hessian":
        b = a + (b - a) / np.linalg.norm(b - a)
    return ConvexitySearch(test, len(violation), Witness(test, float(top), a, b, float(place)))


@eqx.filter_jit
def _measure(function, first, second, t, test):
    return jax.vmap(lambda a, b, s: convexity_violation(function, a, b, s, test))(first, second, t)


def _climb(function, first, second, t, box, test, steps):
    """Normalised steps up the violation, shrinking and projected on the box; the best of each path.

    One step is compiled and called from Python: compiling the loop would cost more than it saves.
    """
    low, high = box
    width = (high - low, high - low, 0.5 if test == "chord" else 0.0)
    place = best = tuple(np.asarray(part, float) for part in (first, second, t))
    top = np.full(len(t), -np.inf)
    for scale in 0.3 * 0.88 ** np.arange(steps + 1):
        value, gradient = _slopes(function, *_on_device(*place), test=test)
        better = np.asarray(value) > top
        top = np.where(better, value, top)
        best = tuple(np.where(_like(better, new), new, old) for new, old in zip(place, best, strict=True))
        scaled = [w * np.nan_to_num(np.asarray(g, float)) for w, g in zip(width, gradient, strict=True)]
        length = np.sqrt(np.sum(scaled[0] ** 2 + scaled[1] ** 2, axis=1) + scaled[2] ** 2) + 1e-300
        a, b, s = (p + scale * w * g / _like(length, p) for p, w, g in zip(place, width, scaled, strict=True))
        place = (np.clip(a, low, high), b if test == "hessian" else np.clip(b, low, high), np.clip(s, 0.02, 0.98))
    return top, *best


@eqx.filter_jit
def _slopes(function, first, second, t, test):
    def violation(place):
        return convexity_violation(function, *place, test=test)[0]

    return jax.vmap(jax.value_and_grad(violation))((first, second, t))


def _on_device(*parts: np.ndarray) -> tuple[Array, ...]:
    """In JAX's own floating type: what is done in NumPy outside needs no compilation."""
    return tuple(jnp.asarray(part, float) for part in parts)


def _like(flags: np.ndarray, part: np.ndarray) -> np.ndarray:
    return flags[:, None] if part.ndim == 2 else flags


def _lowest_directions(function, points: np.ndarray) -> tuple[np.ndarray, float]:
    """w + v for the unit eigenvector v of H(w)'s least eigenvalue, and the largest curvature met."""
    p = points.shape[1]
    if p <= _DENSE:
        values, vectors = np.linalg.eigh(np.asarray(_hessians(function, *_on_device(points))))
        return points + vectors[:, :, 0], float(np.abs(values).max())
    from scipy.sparse.linalg import LinearOperator, eigsh

    product = jax.jit(lambda w, v: jax.jvp(jax.grad(function), (w,), (v,))[1])
    directions, size = [], 0.0
    for w in points:
        operator = LinearOperator((p, p), matvec=lambda v, w=w: np.asarray(product(*_on_device(w, v))), dtype=float)
        start = np.random.default_rng(0).normal(size=p)
        values, vectors = eigsh(operator, k=1, which="SA", v0=start, tol=1e-6)
        size = max(size, float(np.abs(eigsh(operator, k=1, which="LM", v0=start, tol=1e-2)[0][0])))
        directions.append(vectors[:, 0])
    return points + np.stack(directions), size


@eqx.filter_jit
def _hessians(function, points):
    return jax.vmap(jax.hessian(function))(points)


def _shape(low: Bound, high: Bound, dimension: int) -> tuple[int]:
    return np.broadcast_shapes(np.shape(low), np.shape(high), (1,)) if np.ndim(low) or np.ndim(high) else (dimension,)


def _show(point: Array | np.ndarray) -> str:
    shown = ", ".join(f"{v:.6g}" for v in np.asarray(point)[:6])
    return f"({shown}{', …' if len(point) > 6 else ''})"
