"""What kind of critical point a weight vector is: loss, gradient, inertia of the Hessian, label, way out."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline import curvature
from leadline.curvature.operators.operator import Operator
from leadline.optimisation import flat_objective

from .null_space_probes import NullSpaceProbe, probe_null_space
from .refinement import second_order_at

_DENSE = 1000
_MOST = 64


class CriticalReport(NamedTuple):
    """A point of a loss surface by its derivatives.

    `negative`, `zero`, `positive` count the eigenvalues of the Hessian below −`threshold`, within it, above it: its
    inertia. `label` is "not critical", "strict minimum", "strict saddle", "maximum", or, where the null space decides,
    "degenerate minimum", "degenerate saddle", "degenerate maximum" or "flat" (nothing found along the null space and
    no other curvature). `escape` is a unit step that lowers the loss, a pytree like the parameters (add it with
    `equinox.apply_updates`); None where none is known. `order` is the order at which the loss falls along it: 1 along
    −∇l, 2 along negative curvature, 3 or more along the null space, 0 without. `eigenvalues` are all of them in
    ascending order or, by Lanczos, those up to the threshold; `counted` is False where their allowed number ran out, so
    that `negative` and `zero` are lower bounds and `positive` is an upper one.
    """

    loss: float
    gradient_norm: float
    negative: int
    zero: int
    positive: int
    label: str
    escape: PyTree
    order: int
    threshold: float
    eigenvalues: Float[np.ndarray, " k"]
    counted: bool
    probe: NullSpaceProbe | None

    @property
    def inertia(self) -> tuple[int, int, int]:
        """(n₋, n₀, n₊)."""
        return self.negative, self.zero, self.positive

    @property
    def index(self) -> int:
        """n₋, the number of directions of negative curvature."""
        return self.negative


def critical_point_report(
    loss: Callable[..., Any],
    params: PyTree,
    *data: PyTree,
    method: Literal["auto", "dense", "lanczos"] = "auto",
    relative: float | None = None,
    floor: float = 0.0,
    gradient_tolerance: float | None = None,
    most: int = _MOST,
    radius: float | None = None,
) -> CriticalReport:
    """Loss, ‖∇l‖, inertia, label and escape direction of loss(params, *data) at `params`.

    An eigenvalue counts as zero if its modulus is at most `relative` ‖H‖ + `floor`; by default relative is √ε p^{1/2}.
    Give a floor where the point was found by iteration and the whole Hessian may vanish there. ‖∇l‖ counts as zero up
    to √ε(1 + ‖H‖) unless `gradient_tolerance` is given. Semidefinite Hessians decide nothing (x³ and −x⁴ have H = 0 at
    0): then the loss is probed at distance `radius` along the null space. A smooth loss is assumed. Up to 1000
    parameters the whole Hessian is formed; above, its negative and null eigenvalues are found by Lanczos iteration with
    deflation, at most `most` of them.

    >>> import jax.numpy as jnp
    >>> report = critical_point_report(lambda w: w[0] ** 2 - w[1] ** 2, jnp.zeros(2))
    >>> report.label, report.inertia, abs(report.escape).tolist()
    ('strict saddle', (1, 0, 1), [0.0, 1.0])
    >>> critical_point_report(lambda w: w[0] ** 3, jnp.zeros(1)).label
    'degenerate saddle'
    """
    objective, w = flat_objective(loss, params, *data)
    if method not in ("auto", "dense", "lanczos"):
        raise ValueError(f"method = {method!r} is unknown; give 'auto', 'dense' or 'lanczos'.")
    if most < 1:
        raise ValueError(f"most = {most} leaves no eigenvalue to compute; give at least 1.")
    eps = float(np.finfo(w.dtype).eps)
    relative = float(np.sqrt(eps * w.size)) if relative is None else relative
    value, gradient, matrix = second_order_at(
        objective, w, dense=method != "lanczos" and (w.size <= _DENSE or method == "dense")
    )
    if matrix is not None:
        spectrum, vectors = np.linalg.eigh(matrix)
        norm = float(np.abs(spectrum).max())
        threshold = relative * norm + floor
        counted = True
    else:
        operator = curvature.hessian(objective, w)
        norm, spectrum, vectors, counted = _least_eigenvalues(operator, relative, floor, most)
        threshold = relative * norm + floor
    negative = int(np.sum(spectrum < -threshold))
    null = np.abs(spectrum) <= threshold
    zero = w.size - negative if norm <= threshold and not negative else int(null.sum())
    positive = w.size - negative - zero
    slope = float(np.linalg.norm(gradient))
    allowed = np.sqrt(eps) * (1 + norm) if gradient_tolerance is None else gradient_tolerance
    probe, label, step, order = None, "", None, 0
    if negative:
        step, order = vectors[:, 0], 2
        step = -step if gradient @ step > 0 else step
    if slope > allowed:
        label, step, order = "not critical", -gradient / slope, 1
    elif negative and positive:
        label = "strict saddle"
    elif not zero:
        label = "maximum" if negative else "strict minimum"
    else:
        basis = vectors[:, null] if null.any() else np.eye(w.size, min(w.size, _MOST), dtype=w.dtype)
        probe = probe_null_space(objective, w, basis, spectrum[~null], vectors[:, ~null], radius=radius)
        label = _degenerate_label(negative, positive, probe)
        if not negative and probe.descent_order:
            step, order = probe.descent_direction, probe.descent_order
    escape = None if step is None else _as_update(objective, params, step.astype(w.dtype))
    return CriticalReport(
        value, slope, negative, zero, positive, label, escape, order, threshold, spectrum, counted, probe
    )


def _degenerate_label(negative: int, positive: int, probe: NullSpaceProbe) -> str:
    falls, rises = bool(negative or probe.descent_order), bool(positive or probe.ascent_order)
    if falls and rises:
        return "degenerate saddle"
    return "degenerate maximum" if falls else "degenerate minimum" if rises else "flat"


class _Deflated(eqx.Module):
    """A + s VᵀV: found eigenvectors (rows of V, padded by zeros) are moved out of the way, so that copies show up."""

    operator: Operator
    vectors: Float[Array, "most p"]
    shift: Array

    @property
    def size(self) -> int:
        return self.operator.size

    @property
    def dtype(self) -> Any:
        return self.operator.dtype

    def __call__(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        return self.operator(v) + self.shift * (self.vectors @ v) @ self.vectors

    def dense(self) -> Float[np.ndarray, "p p"]:
        V = np.asarray(self.vectors)
        return self.operator.dense() + float(self.shift) * V.T @ V


def _least_eigenvalues(
    hessian: Operator, relative: float, floor: float, most: int
) -> tuple[float, np.ndarray, np.ndarray, bool]:
    """‖H‖, and all eigenvalues up to the threshold with their vectors (columns), but at most `most` of them.

    Lanczos finds one copy of a multiple eigenvalue; what was found is therefore deflated and the search repeated until
    the least eigenvalue left is positive. The last value is that one, where the search came so far.
    """
    known = np.zeros((most, hessian.size), hessian.dtype)
    deflated = _Deflated(hessian, jnp.asarray(known), jnp.zeros((), hessian.dtype))
    norm = float(np.abs(curvature.top(deflated, 1, which="magnitude").values).max())
    threshold = relative * norm + floor
    if norm <= threshold:
        return norm, np.zeros(0), np.zeros((hessian.size, 0)), True
    values: list[float] = []
    at_once = min(8, hessian.size)
    while len(values) < most:
        deflated = _Deflated(hessian, jnp.asarray(known), jnp.asarray(3 * norm, hessian.dtype))
        found = curvature.top(deflated, at_once, which="smallest")
        low = found.values <= threshold
        if not low.any() or len(values) == hessian.size:
            return norm, *_sorted(values, known), True
        for value, vector in zip(found.values[low][: most - len(values)], found.vectors[low], strict=False):
            known[len(values)] = vector
            values.append(float(value))
    return norm, *_sorted(values, known), False


def _sorted(values: list[float], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(values)
    return np.array(values)[order], rows[: len(values)][order].T


def _as_update(objective: Any, params: PyTree, step: Float[np.ndarray, " p"]) -> PyTree:
    unravel = getattr(objective, "unravel", None)
    return unravel(np.asarray(step)) if unravel is not None else np.asarray(step)


def labels_by_necessary_conditions(eigenvalues: Float[Array | np.ndarray, " p"], threshold: float) -> set[str]:
    """What the second-order NECESSARY conditions allow at a critical point: H ⪰ 0 a minimum, H ⪯ 0 a maximum.

    They exclude; they do not define. At x³ and −x⁴ both hold at 0.

    >>> sorted(labels_by_necessary_conditions(np.zeros(1), 0.0))
    ['maximum', 'minimum', 'saddle']
    """
    values = np.asarray(eigenvalues)
    allowed = {"saddle"} if not (np.all(values > threshold) or np.all(values < -threshold)) else set()
    if np.all(values >= -threshold):
        allowed.add("minimum")
    if np.all(values <= threshold):
        allowed.add("maximum")
    return allowed
