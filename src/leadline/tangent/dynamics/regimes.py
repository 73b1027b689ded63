"""Lazy training or feature learning: how far kernel and function have left what the start predicts, and how sure."""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray, PyTree

from leadline.frameworks.network import Apply

Verdict = Literal["lazy", "between", "feature learning"]

LAZY = 0.1  #: up to this relative change the start describes training
FEATURES = 0.5  #: from this relative change of the kernel on it does not


class Regime(NamedTuple):
    """The verdict, the share of resampled sets of rows with the same one, and what it rests on, with intervals.

    `drift` = ‖K − K₀‖/‖K₀‖ of the tangent kernel (None where it was not given), `error` = ‖f − f_lin‖/‖f_lin − f₀‖ of
    the outputs; the intervals hold 99.9% of the resamples.
    """

    verdict: Verdict
    share: float
    drift: float | None
    drift_interval: tuple[float, float] | None
    error: float
    error_interval: tuple[float, float]


def judge_regime(
    apart: Float[np.ndarray, " n"],
    moved: Float[np.ndarray, " n"],
    kernels: tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]] | None = None,
    *,
    key: PRNGKeyArray,
    resamples: int = 4000,
) -> Regime:
    """The regime from squared distances by row, ‖f − f_lin‖² and ‖f_lin − f₀‖², and the kernels (K₀, K) on these rows.

    "lazy": kernel and function both left the start's prediction by at most 0.1 of their size (Weyl: then no rate of
    a mode differs from the start's by more than 0.1 ‖K₀‖); "feature learning": the kernel changed by 0.5 of its size or
    more, or, without kernels, the function left the linearised one by 0.5 of its way; "between" otherwise. In a lazy
    limit both numbers fall like 1/√width to 1/width (Jacot et al. 2018; Chizat et al. 2019), in mean-field scaling they
    do not fall: widths around a thousand are at 0.03 or below, so the verdict depends little on the two thresholds.
    The bootstrap is over rows: it says nothing about other initialisations. A row whose `apart` is not finite, of a
    network that diverged, is infinitely far away.

    >>> one = np.ones(50)
    >>> judge_regime(1e-4 * one, one, (np.eye(50), 1.01 * np.eye(50)), key=jax.random.key(0))[:2]
    ('lazy', 1.0)
    """
    apart, moved = np.asarray(apart, float), np.asarray(moved, float)
    n = len(apart)
    if moved.shape != (n,) or n < 2 or not np.all(moved >= 0) or not moved.sum() > 0:
        raise ValueError("judge_regime needs squared distances of two rows or more, some of which moved; give such.")
    if kernels is not None and any(np.shape(K) != (n, n) for K in kernels):
        raise ValueError(f"The kernels have shapes {[np.shape(K) for K in kernels]} for {n} rows; give (n, n) both.")
    seed = np.asarray(jax.random.key_data(key)).ravel().tolist()
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)
    weights = np.concatenate([np.ones((1, n)), weights])  # the first is the sample itself
    with np.errstate(divide="ignore", invalid="ignore"):
        finite = np.isfinite(apart)
        errors = np.sqrt(weights @ np.where(finite, apart, 0.0) / (weights @ moved))
        errors = np.where(weights @ (~finite) > 0, np.inf, errors)
        drifts = None
        if kernels is not None:
            start, end = (np.asarray(K, float) for K in kernels)
            drifts = np.sqrt(_summed(weights, (end - start) ** 2) / _summed(weights, start**2))
    basis = errors if drifts is None else drifts
    farthest = errors if drifts is None else np.maximum(drifts, errors)
    verdicts = np.where(farthest <= LAZY, 0, np.where(basis >= FEATURES, 2, 1))
    return Regime(
        ("lazy", "between", "feature learning")[verdicts[0]],
        float(np.mean(verdicts[1:] == verdicts[0])),
        None if drifts is None else float(drifts[0]),
        None if drifts is None else _interval(drifts[1:]),
        float(errors[0]),
        _interval(errors[1:]),
    )


def linear_move(apply: Apply, start: PyTree, end: PyTree, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """For every row of x: ‖f(w) − f_lin(w)‖² and ‖f_lin(w) − f(w₀)‖², f_lin the linearisation at w₀.

    >>> apart, moved = linear_move(lambda w, x: x * w**2, jnp.ones(1), 2 * jnp.ones(1), jnp.ones((1, 1)))
    >>> apart.tolist(), moved.tolist()
    ([1.0], [4.0])
    """
    x = jnp.asarray(x)
    before, change, after = _moves(apply, start, end, x)
    before, change, after = (np.asarray(v, float).reshape(len(x), -1) for v in (before, change, after))
    return np.sum((after - before - change) ** 2, axis=1), np.sum(change**2, axis=1)


@eqx.filter_jit
def _moves(apply: Apply, start: PyTree, end: PyTree, x: Any) -> tuple:
    way = jax.tree.map(jnp.subtract, end, start)
    before, change = jax.jvp(lambda p: apply(p, x), (start,), (way,))
    return before, change, apply(end, x)


def _summed(weights: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return np.sum((weights @ matrix) * weights, axis=1)


def _interval(values: np.ndarray) -> tuple[float, float]:
    values = np.where(np.isnan(values), np.inf, values)
    low, high = np.quantile(values, [0.0005, 0.9995], method="nearest")
    return float(low), float(high)
