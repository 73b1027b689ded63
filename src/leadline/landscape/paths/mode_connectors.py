"""Curves between two trained models and the loss along them: straight, after alignment, trained Bézier or polygonal."""

from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.networks import MLP, match_activations, match_weights
from leadline.training import scan_steps


class Curve(eqx.Module):
    """θ(t) = Σᵢ wᵢ(t) θᵢ, t in [0, 1], through parameter pytrees θ₀ = `start`, the `bends` θ₁..θₖ, and θ_{k+1} = `end`.

    A Bézier curve has the Bernstein weights wᵢ = C(k+1, i) tⁱ (1−t)^{k+1−i}, a polygon the hat functions
    wᵢ = max(0, 1 − |(k+1)t − i|). The floating-point leaves of `bends` carry the index i as their first axis; whatever
    else the pytrees hold is taken from `start`. With no bends both are the straight line.

    >>> curve = Curve(jnp.array([0.0, 0.0]), jnp.array([[1.0, 2.0]]), jnp.array([2.0, 0.0]), "bezier")
    >>> curve(0.5).tolist(), Curve(curve.start, curve.bends, curve.end, "polygon")(0.5).tolist()
    ([1.0, 1.0], [1.0, 2.0])
    """

    start: PyTree
    bends: PyTree
    end: PyTree
    kind: str = eqx.field(static=True)

    def __call__(self, t: float | Float[Array, ""]) -> PyTree:
        return _point(self, jnp.asarray(t))


@eqx.filter_jit
def _point(curve: Curve, t: Float[Array, ""]) -> PyTree:
    first, rest = eqx.partition(curve.start, is_parameter)
    last = eqx.filter(curve.end, is_parameter)
    weights = _node_weights(curve.kind, jax.tree.leaves(curve.bends)[0].shape[0] + 2, t)

    def point(a: Any, bends: Any, b: Any) -> Array:
        w = weights.astype(bends.dtype)
        return w[0] * a + jnp.tensordot(w[1:-1], bends, 1) + w[-1] * b

    return eqx.combine(jax.tree.map(point, first, curve.bends, last), rest)


def straight_line(a: PyTree, b: PyTree, *, bends: int = 0, kind: str = "polygon") -> Curve:
    """The curve (1−t) a + t b; with `bends` equally spaced nodes on it, from which a bent curve can start.

    >>> line = straight_line({"w": jnp.zeros(2), "name": "left"}, {"w": jnp.ones(2), "name": "right"})
    >>> line(0.25)["w"].tolist(), line(0.25)["name"]
    ([0.25, 0.25], 'left')
    """
    if kind not in ("bezier", "polygon"):
        raise ValueError(f"A curve of kind {kind!r} is not known; choose 'bezier' or 'polygon'.")
    if bends < 0:
        raise ValueError(f"A curve cannot have {bends} bends; give 0 or more.")
    check_alike(a, b)
    first, last = (eqx.filter(tree, is_parameter) for tree in (a, b))
    if bends == 0:
        empty = jax.tree.map(lambda x: jnp.asarray(np.zeros((0, *jnp.shape(x)), jnp.result_type(x))), first)
        return Curve(a, empty, b, kind)
    t = np.arange(1, bends + 1) / (bends + 1)

    @jax.jit
    def between(x: PyTree, y: PyTree) -> PyTree:
        return jax.vmap(lambda s: jax.tree.map(lambda p, q: (1 - s).astype(p.dtype) * p + s.astype(p.dtype) * q, x, y))(
            t
        )

    arrays = [jax.tree.map(jnp.asarray, tree) for tree in (first, last)]
    return Curve(a, between(*arrays), b, kind)


def aligned_line(a: MLP, b: MLP, inputs: Float[Array | np.ndarray, "n ..."] | None = None) -> Curve:
    """The straight line from `a` to `b` with the hidden units of `b` permuted to match those of `a`.

    By weights; with `inputs`, by the correlations of outputs on them first and then by weights from there. The end of
    the line computes the same function as `b`. Ainsworth et al. 2023.
    """
    start = None if inputs is None else match_activations(a, b, inputs).permutations
    return straight_line(a, match_weights(a, b, start=start).network)


class Profile(NamedTuple):
    """The loss at positions along a path, ends included."""

    positions: Float[np.ndarray, " points"]
    losses: Float[np.ndarray, " points"]

    @property
    def barrier(self) -> float:
        """The largest loss on the path less the larger loss of its two ends: at least 0.

        (`networks.barrier` measures the excess over the chord instead: never less than this one on a line.)
        """
        return float(np.max(self.losses) - max(self.losses[0], self.losses[-1]))


def path_profile(
    loss: Callable[..., Any], path: Callable[[float], PyTree], *arrays: PyTree, points: int = 25
) -> Profile:
    """loss(path(t), *arrays) at `points` equally spaced t from 0 to 1, both included.

    Any function from [0, 1] to parameters is a path. The loss is called point by point: pass a compiled one
    (`eqx.filter_jit(loss)`) where that pays. Running statistics of normalisers are no parameters of the path:
    let `loss` compute them anew from its data, or the profile of such a network means little.

    >>> well = lambda w: (w @ w - 1) ** 2
    >>> path_profile(well, straight_line(jnp.array([-1.0, 0.0]), jnp.array([1.0, 0.0])), points=5).barrier
    1.0
    """
    if points < 3:
        raise ValueError(f"path_profile got {points} points; give at least 3, the two ends and one between them.")
    positions = np.linspace(0.0, 1.0, points)
    return Profile(positions, np.array([float(loss(path(float(t)), *arrays)) for t in positions]))


class TrainedCurve(NamedTuple):
    """A curve, and the loss at the random points of each training step before it was made."""

    curve: Curve
    losses: Float[Array, " steps"]


def train_curve(
    loss: Callable[..., Float[Array, ""]],
    a: PyTree,
    b: PyTree,
    *arrays: PyTree,
    key: PRNGKeyArray,
    kind: str = "bezier",
    bends: int = 1,
    num_steps: int = 300,
    optimiser: optax.GradientTransformation | None = None,
    draws: int = 4,
    batch: int | None = None,
) -> TrainedCurve:
    """Minimise the mean of loss(θ(t), *arrays) over t uniform on [0, 1] by moving the bends; the ends stay.

    Every step takes `draws` points, one in each of as many equal parts of [0, 1], and with `batch` that many
    random rows of the arrays; Adam at 0.01 unless another Optax rule is given. Starts from the straight line. The
    default is the quadratic Bézier curve. Garipov et al. 2018.

    >>> ring = lambda w: (w @ w - 1) ** 2
    >>> ends = jnp.array([-1.0, 0.1]), jnp.array([1.0, 0.1])
    >>> bent = train_curve(ring, *ends, key=jax.random.key(0), num_steps=200, optimiser=optax.adam(0.1)).curve
    >>> path_profile(ring, bent).barrier < 0.2 < 0.9 < path_profile(ring, straight_line(*ends)).barrier
    True
    """
    if bends < 1 or num_steps < 1 or draws < 1:
        raise ValueError(
            f"train_curve got bends={bends}, num_steps={num_steps}, draws={draws}; give at least 1 of each."
        )
    line = straight_line(a, b, bends=bends, kind=kind)
    rule = optax.adam(0.01) if optimiser is None else optimiser
    return TrainedCurve(*_trained(loss, line, rule, num_steps, draws, batch, key, arrays))


@eqx.filter_jit
def _trained(
    loss: Callable,
    line: Curve,
    rule: optax.GradientTransformation,
    num_steps: int,
    draws: int,
    batch: int | None,
    key: PRNGKeyArray,
    arrays: tuple,
) -> tuple[Curve, Float[Array, " steps"]]:
    key_points, key_rows = jax.random.split(key)
    positions = (jnp.arange(draws) + jax.random.uniform(key_points, (num_steps, draws))) / draws
    samples = 0 if batch is None else jax.tree.leaves(arrays)[0].shape[0]
    rows = None if batch is None else jax.random.randint(key_rows, (num_steps, batch), 0, samples)

    def along(bends: PyTree, drawn: tuple, key: None, state: None) -> tuple[Float[Array, " draws"], None]:
        ts, chosen = drawn
        seen = arrays if chosen is None else jax.tree.map(lambda x: x[chosen], arrays)
        curve = Curve(line.start, bends, line.end, line.kind)
        return jax.vmap(lambda t: loss(curve(t), *seen))(ts), None

    ran = scan_steps(along, line.bends, rule, (positions, rows))
    return Curve(line.start, ran.model, line.end, line.kind), ran.measured


def is_parameter(leaf: Any) -> bool:
    """Whether a leaf moves along a path: a floating-point array or number.

    >>> [is_parameter(leaf) for leaf in (1.5, np.zeros(2), np.arange(2), "relu")]
    [True, True, False, False]
    """
    return isinstance(leaf, float) or eqx.is_inexact_array(leaf)


def check_alike(a: PyTree, b: PyTree) -> None:
    """ValueError unless two pytrees have one structure, and floating-point leaves of equal shapes in it.

    >>> check_alike({"w": jnp.zeros(2)}, {"w": jnp.ones(2)})
    """
    if jax.tree.structure(a) != jax.tree.structure(b):
        raise ValueError(
            f"The two models have different structures, {jax.tree.structure(a)} and {jax.tree.structure(b)}; "
            "a path needs two of one architecture."
        )
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        if is_parameter(x) and jnp.shape(x) != jnp.shape(y):
            raise ValueError(
                f"The two models differ in the shape of {jax.tree_util.keystr(path) or 'their parameters'}: "
                f"{jnp.shape(x)} and {jnp.shape(y)}; a path needs two of one architecture."
            )
    if not any(is_parameter(x) for x in jax.tree.leaves(a)):
        raise ValueError("The models hold no floating-point parameters; there is nothing to move along a path.")


def _node_weights(kind: str, count: int, t: float | Float[Array, ""]) -> Float[Array, " count"]:
    t, last = jnp.asarray(t), count - 1
    if kind == "polygon":
        return jnp.maximum(0.0, 1 - jnp.abs(last * t - jnp.arange(count)))
    return jnp.stack([comb(last, i) * t**i * (1 - t) ** (last - i) for i in range(count)])
