"""How far the tangent kernel moves during training: in all, layer by layer, and towards the labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PyTree

from leadline.frameworks.network import Apply
from leadline.kernels.features import alignment

from ..assembly.cost_model import Method
from ..empirical_ntk import BUDGET, layer_ntks


class Drift(NamedTuple):
    """At every checkpoint t: D = ‖K_t - K_0‖/‖K_0‖ in all and for each leaf, the distance ‖θ_t - θ_0‖, the same over
    ‖θ_0‖, and the alignment of K_t with the labels (None without labels). A leaf whose K_0 is 0 has drift NaN."""

    total: Float[np.ndarray, " t"]
    layers: dict[str, Float[np.ndarray, " t"]]
    distance: Float[np.ndarray, " t"]
    relative_distance: Float[np.ndarray, " t"]
    alignment: Float[np.ndarray, " t"] | None


def ntk_drift(
    apply: Apply,
    checkpoints: Sequence[PyTree],
    x: Any,
    y: Any = None,
    *,
    budget: float = BUDGET,
    method: Method = "auto",
) -> Drift:
    """The drift of the tangent kernel on the probe set x from the first of a sequence of parameters to each of them.

    >>> import jax.numpy as jnp
    >>> apply = lambda w, x: w[0] * (x @ w[1])
    >>> start, end = (jnp.array(1.0), jnp.array([1.0, 0.0])), (jnp.array(2.0), jnp.array([1.0, 0.0]))
    >>> drift = ntk_drift(apply, [start, end], jnp.eye(2))
    >>> drift.total.round(4).tolist(), drift.distance.tolist()
    ([0.0, 1.8974], [0.0, 1.0])
    """
    if not len(checkpoints):
        raise ValueError("ntk_drift got no checkpoints; give the parameters at the start and later ones.")
    first: dict[str, np.ndarray] = {}
    origin: list[np.ndarray] = []
    whole = np.zeros(())
    records: dict[str, list] = {"total": [], "distance": [], "alignment": []}
    layers: dict[str, list[float]] = {}
    for params in checkpoints:
        parts = {p: np.asarray(K) for p, K in layer_ntks(apply, params, x, budget=budget, method=method).items()}
        flat = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
        K = np.asarray(sum(parts.values()))
        if not first:
            first, origin, whole = parts, flat, K
        records["total"].append(_relative(K, whole))
        for path, part in parts.items():
            layers.setdefault(path, []).append(_relative(part, first[path]))
        records["distance"].append(_distance(flat, origin))
        if y is not None:
            records["alignment"].append(alignment(K, _labels(y, K.shape[0])))
    length = _distance(origin, [np.zeros_like(leaf) for leaf in origin])
    distance = np.array(records["distance"])
    return Drift(
        np.array(records["total"]),
        {path: np.array(values) for path, values in layers.items()},
        distance,
        distance / length if length > 0 else np.full_like(distance, np.nan),
        None if y is None else np.array(records["alignment"]),
    )


def _relative(K: np.ndarray, start: np.ndarray) -> float:
    size = float(np.linalg.norm(start))
    return float(np.linalg.norm(K - start)) / size if size > 0 else float("nan")


def _distance(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return float(np.sqrt(sum(float(np.sum((u - v) ** 2)) for u, v in zip(a, b, strict=True))))


def _labels(y: Any, rows: int) -> np.ndarray:
    y = np.asarray(y, float).reshape(-1)
    if y.size != rows:
        raise ValueError(f"The labels have {y.size} numbers and the kernel {rows} rows; give one for each output.")
    return y
