"""A path between any two two-layer ReLU networks that is convex in the middle and rises little outside it.

Freeman and Bruna 2017. What it rises by is bounded by the covering radius of the unit rows of the first layer.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from leadline.networks import MLP, TwoLayer, interpolate

Matrix = Float[np.ndarray, "_ _"]

#: what the segments do, in order: the loss is constant on segments 2, 3, 5 and 6 and convex on segment 4
SEGMENTS = (
    "move A's rows",
    "merge A",
    "free rows to B's",
    "exchange W₂",
    "free rows to A's",
    "split B",
    "move B's rows",
)


def two_layer(net: MLP | TwoLayer) -> TwoLayer:
    """The matrices of a network with one hidden layer of ReLUs and no biases; ValueError for any other.

    >>> two_layer(TwoLayer(np.ones((4, 2)), np.ones((3, 4)))).mass.__round__(6)
    9.797959
    """
    if isinstance(net, TwoLayer):
        first, second = (np.asarray(w, float) for w in (net.weight, net.head))
        if net.activation != "relu" or net.scale != 1:
            raise ValueError(f"The network has φ = {net.activation!r}, s = {net.scale}; this path needs 'relu' and 1.")
        if first.ndim != 2 or second.ndim != 2:
            raise ValueError(f"W₁ and W₂ have shapes {first.shape} and {second.shape}; give (n, d) and (k, n).")
        return TwoLayer(first, second)
    if len(net.layers) != 2:
        raise ValueError(f"The network has {len(net.layers)} layers; this path is between networks of exactly 2.")
    if net.activation != "relu" or net.last_activation:
        what = (
            "an activation after the last layer" if net.activation == "relu" else f"the activation {net.activation!r}"
        )
        raise ValueError(f"The network has {what}; this path needs 'relu' between two layers and nothing after.")
    (first, b), (second, c) = net.affine()
    if any(bias is not None and np.any(np.asarray(bias) != 0) for bias in (b, c)):
        raise ValueError(
            "The network has biases; this path is for networks without: "
            "append a constant 1 to the inputs, take b₁ as a column of W₁ and subtract b₂ from the targets."
        )
    return TwoLayer(np.asarray(first, float), np.asarray(second, float))


def normalise_rows(net: TwoLayer) -> TwoLayer:
    """The same function with rows of W₁ of length 1, their lengths moved into W₂ (max(·, 0) is homogeneous).

    A unit with a zero row computes nothing: it is dropped, which here means that its outgoing weights become 0 and its
    row a copy of the first row that is not zero, so that the width stays.

    >>> net = normalise_rows(TwoLayer(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[1.0, 9.0]])))
    >>> net.weight.tolist(), net.head.tolist()
    ([[0.6, 0.8], [0.6, 0.8]], [[5.0, 0.0]])
    """
    lengths = np.linalg.norm(net.weight, axis=1)
    alive = lengths > 0
    spare = np.eye(1, net.weight.shape[1])[0] if not alive.any() else None
    unit = net.weight / np.where(alive, lengths, 1.0)[:, None]
    unit = np.where(alive[:, None], unit, unit[np.argmax(alive)] if spare is None else spare)
    return TwoLayer(unit, net.head * lengths)


class Covering(NamedTuple):
    """For each row its nearest centre and the distance to it; centres are their own. `radius` is the largest."""

    nearest: Int[np.ndarray, " n"]
    distances: Float[np.ndarray, " n"]

    @property
    def radius(self) -> float:
        return float(np.max(self.distances))


def row_covering(rows: Float[np.ndarray, "n d"], *, centres: Int[np.ndarray, " m"] | None = None) -> Covering:
    """ε = maxⱼ min_{k in centres} ‖wⱼ − wₖ‖; the first n/2 rows are the centres unless others are given.

    >>> row_covering(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]])).distances.round(4).tolist()
    [0.0, 0.0, 0.6325, 0.6325]
    """
    from scipy.spatial import cKDTree

    n = len(rows)
    if centres is None:
        if n < 2 or n % 2:
            raise ValueError(f"There are {n} rows; half of an even number, at least 2, are the centres.")
        centres = np.arange(n // 2)
    distances, index = cKDTree(rows[centres]).query(rows)
    nearest = np.asarray(centres)[index]
    nearest[centres], distances[centres] = centres, 0.0
    return Covering(nearest, distances)


class AlmostConvexPath(NamedTuple):
    """The eight corners of the path, from A to B with unit rows, and how half of each network's rows cover the others.

    `path(t)` for t in [0, 1] is the network at that share of the seven segments, so that `path_profile` can draw it.
    """

    corners: tuple[TwoLayer, ...]
    covering_a: Covering
    covering_b: Covering

    def __call__(self, t: float) -> TwoLayer:
        segment = min(int(7 * t), 6)
        return self.at(segment, 7 * t - segment)

    def at(self, segment: int, s: float) -> TwoLayer:
        """The network at share s of a segment, 0 to 6."""
        return interpolate(self.corners[segment], self.corners[segment + 1], s)

    def losses(
        self, criterion: Callable[[np.ndarray], Any], inputs: Float[np.ndarray, "N d"], *, points: int = 9
    ) -> Float[np.ndarray, "7 points"]:
        """criterion(outputs) at `points` places of each segment, both its ends included; outputs have shape (N, k)."""
        places = np.linspace(0.0, 1.0, points)
        return np.array([[float(criterion(self.at(k, s)(inputs))) for s in places] for k in range(7)])

    def output_bounds(self, inputs: Float[np.ndarray, "N d"]) -> tuple[np.ndarray, np.ndarray]:
        """For each input the most by which the outputs on A's, on B's outer segment differ from A's, from B's.

        ‖f_t(x) − f_A(x)‖ ≤ ‖x‖ Σⱼ ‖vⱼ‖ dⱼ ≤ ‖x‖ (Σⱼ ‖vⱼ‖) ε, with dⱼ the distance of row j from its centre and
        ε = max dⱼ the covering radius; these are the second, looser form. On all other segments but the convex one
        the outputs are those at the end of the outer one.
        """
        size = np.linalg.norm(inputs, axis=1)
        return (
            size * self.corners[0].mass * self.covering_a.radius,
            size * self.corners[-1].mass * self.covering_b.radius,
        )


def almost_convex_path(a: MLP | TwoLayer, b: MLP | TwoLayer) -> AlmostConvexPath:
    """Seven straight segments between two networks W₂ max(W₁x, 0) of one even width n, after `normalise_rows`.

    (1) each row of A moves to the nearest of A's first n/2 rows; (2) W₂ moves to the sums over the units that are now
    equal, 0 on the second half; (3) the free second half moves to B's second half; (4) W₂ moves to that of B, merged on
    its second half; then (3), (2), (1) of B backwards. The function does not change on (2) and (3), and is linear in t
    on (4), so that every loss that is convex in the outputs is convex there; only (1) can rise, as far
    as `output_bounds` allow.

    >>> rng = np.random.default_rng(0)
    >>> a, b = (TwoLayer(rng.normal(size=(64, 2)), rng.normal(size=(1, 64))) for _ in range(2))
    >>> x = rng.normal(size=(50, 2))
    >>> losses = almost_convex_path(a, b).losses(lambda f: np.mean((f - x[:, :1]) ** 2), x)
    >>> bool(np.ptp(losses[1:3]) < 1e-9), bool(np.diff(losses[3], 2).min() > -1e-9)
    (True, True)
    """
    a, b = two_layer(a), two_layer(b)
    if a.weight.shape != b.weight.shape or a.head.shape != b.head.shape:
        raise ValueError(
            f"The networks have weights of shapes {a.weight.shape}, {a.head.shape} and {b.weight.shape}, "
            f"{b.head.shape}; the path is between two of one shape."
        )
    n = len(a.weight)
    if n < 2 or n % 2:
        raise ValueError(f"The networks have {n} hidden units; the path needs an even number, at least 2.")
    a, b = normalise_rows(a), normalise_rows(b)
    half = n // 2
    cover_a = row_covering(np.asarray(a.weight))
    cover_b = row_covering(np.asarray(b.weight), centres=np.arange(half, n))
    rows_a, rows_b = a.weight[cover_a.nearest], b.weight[cover_b.nearest]
    merged_a, merged_b = _merged(np.asarray(a.head), cover_a.nearest), _merged(np.asarray(b.head), cover_b.nearest)
    shared = np.concatenate([a.weight[:half], b.weight[half:]])
    corners = (
        a,
        TwoLayer(rows_a, a.head),
        TwoLayer(rows_a, merged_a),
        TwoLayer(shared, merged_a),
        TwoLayer(shared, merged_b),
        TwoLayer(rows_b, merged_b),
        TwoLayer(rows_b, b.head),
        b,
    )
    return AlmostConvexPath(corners, cover_a, cover_b)


def squared_outer_bound(risk: float, output_bound: Float[np.ndarray, " N"]) -> float:
    """(√r̂ + √mean δ²)²: the most that mean ‖f − y‖² can be where outputs differ by at most δ from a network of risk r̂.

    >>> squared_outer_bound(0.25, np.array([0.5, 0.5]))
    1.0
    """
    return float((np.sqrt(risk) + np.sqrt(np.mean(output_bound**2))) ** 2)


def lipschitz_outer_bound(lipschitz: float | Float[np.ndarray, " N"], output_bound: Float[np.ndarray, " N"]) -> float:
    """mean Lᵢ δᵢ: the most by which a loss with Lipschitz constants Lᵢ in the outputs can exceed that of the network.

    √2 is the constant of the cross-entropy in the logits, 1 that of the logistic loss.

    >>> lipschitz_outer_bound(2.0, np.array([0.5, 1.5]))
    2.0
    """
    return float(np.mean(lipschitz * output_bound))


def _merged(second: Matrix, nearest: Int[np.ndarray, " n"]) -> Matrix:
    merged = np.zeros_like(second)
    np.add.at(merged.T, nearest, second.T)
    return merged
