"""The noise of a stochastic gradient on any loss: its trace, its spectrum and the batch at which it stops to matter."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline.curvature.spectra.estimate import Estimate, exact_estimate
from leadline.data import generator


class GradientNoise(NamedTuple):
    """tr C, ‖g‖², the noise scale tr C/‖g‖² (the critical batch of McCandlish et al. 2018), and the spectrum of C."""

    trace: Estimate
    gradient_square: Estimate
    noise_scale: Estimate
    spectrum: Float[np.ndarray, " k"]
    samples: int
    parameters: int

    @property
    def effective_rank(self) -> float:
        """(tr C)²/tr C²: how many equal eigenvalues would spread as much."""
        return float(self.spectrum.sum() ** 2 / np.sum(self.spectrum**2)) if self.spectrum.any() else 0.0

    def count_above(self, share: float = 1e-3) -> int:
        """The number of eigenvalues above `share` of the largest; never more than min(n − 1, p)."""
        return int(np.sum(self.spectrum > share * self.spectrum[0])) if self.spectrum.any() else 0

    def batch_trace(self, batch: float) -> float:
        """tr C/b, the total variance of a batch drawn with replacement."""
        return self.trace.value / batch


def gradient_noise(
    loss: Callable[..., Float[Array, ""]],
    params: PyTree,
    *arrays: Num[Array | np.ndarray, "_ ..."],
    most: int | None = None,
    population: bool = False,
    confidence: float = 0.95,
    key: PRNGKeyArray | None = None,
) -> GradientNoise:
    """The noise of gᵢ = ∇loss(params, *rowᵢ) around g, from the n × n Gram matrix: no p × p matrix is formed.

    The finite sum over all n rows is known exactly. With `most`, that many rows are drawn with `key` and stand for all;
    with `population`, the rows stand for the law they came from. Then the estimates are unbiased, and their intervals
    come from the jackknife. The loss of one example may have any pytree as parameters.

    >>> noise = gradient_noise(lambda w, y: (w["w"] - y) ** 2 / 2, {"w": jnp.array(0.0)}, jnp.array([1.0, 3.0]))
    >>> noise.trace.value, noise.gradient_square.value, noise.noise_scale.value, noise.spectrum.tolist()
    (1.0, 4.0, 0.25, [1.0])
    """
    total = _common_rows(arrays)
    chosen = total if most is None else min(most, total)
    if chosen < 2:
        raise ValueError(f"gradient_noise got {chosen} row(s); a variance needs at least 2.")
    if chosen < total:
        if key is None:
            raise ValueError(f"gradient_noise is to draw {chosen} of {total} rows: give a key.")
        rows = np.sort(generator(key).choice(total, chosen, replace=False))
        arrays = tuple(np.asarray(a)[rows] for a in arrays)
    gram = np.asarray(_gradient_gram(loss, params, tuple(jnp.asarray(a) for a in arrays)), float)
    if not np.isfinite(gram).all():
        raise ValueError("A gradient is not finite; look for overflow, log 0 or division by 0 in the loss.")
    parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(params, eqx.is_inexact_array)))
    sampled = chosen < total or population
    seen_share = 0.0 if population else chosen / total
    return noise_of_gram(gram, parameters, seen_share=seen_share if sampled else 1.0, confidence=confidence)


def noise_of_gram(
    gram: Float[np.ndarray, "n n"], parameters: int, *, seen_share: float = 1.0, confidence: float = 0.95
) -> GradientNoise:
    """The same from the products gᵢ·gⱼ of n gradients, which are `seen_share` of all there are (0: of a law)."""
    n = len(gram)
    centred = gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
    spectrum = np.maximum(np.linalg.eigvalsh(centred / n)[::-1], 0.0)[: max(min(n - 1, parameters), 1)]
    if seen_share >= 1:
        how = f"all {n} gradients"
        trace, square = exact_estimate(np.trace(centred) / n, how), exact_estimate(max(gram.mean(), 0.0), how)
    else:
        diagonal, rows, whole = np.diag(gram), gram.sum(1), gram.sum()
        trace_value, square_value = _unbiased(diagonal.sum(), whole, n, seen_share)
        left_out = _unbiased(diagonal.sum() - diagonal, whole - 2 * rows + diagonal, n - 1, seen_share)
        trace = _jackknife(trace_value, left_out[0], n, seen_share, confidence, positive=True)
        square = _jackknife(square_value, left_out[1], n, seen_share, confidence)
        spectrum = spectrum * (n - seen_share) / (n - 1)
    return GradientNoise(trace, square, _ratio(trace, square), spectrum, n, parameters)


def _unbiased(squares, products, n, seen_share):
    """tr C and ‖g‖² without bias, from Σ‖gᵢ‖² and ‖Σgᵢ‖² of n gradients drawn without replacement from n/share."""
    spread = (squares - products / n) / (n - 1)
    return spread * (1 - seen_share / n), products / n**2 - (1 - seen_share) * spread / n


def _jackknife(
    value: float, without: np.ndarray, n: int, seen_share: float, confidence: float, positive: bool = False
) -> Estimate:
    """An interval from the values without each gradient; that of a positive number is made on its logarithm."""
    from scipy.special import stdtrit

    positive = positive and value > 0 and without.min() > 0
    scale = np.log(without) if positive else without
    error = np.sqrt((1 - seen_share) * (n - 1) / n * np.sum((scale - scale.mean()) ** 2))
    half = float(stdtrit(n - 1, 0.5 + confidence / 2) * error)
    low, high = (value * np.exp(-half), value * np.exp(half)) if positive else (value - half, value + half)
    return Estimate(float(value), float(low), float(high), False, f"jackknife over {n} gradients")


def _ratio(trace: Estimate, square: Estimate) -> Estimate:
    """tr C/‖g‖², with the ends of both intervals; infinite where ‖g‖² may be 0."""

    def over(above: float, below: float) -> float:
        return max(above, 0.0) / below if below > 0 else float("inf")

    value = over(trace.value, square.value)
    low, high = over(trace.low, square.high), over(trace.high, square.low)
    return Estimate(value, min(low, value), max(high, value), trace.certified, trace.how)


def _common_rows(arrays: tuple) -> int:
    rows = [len(a) for a in arrays]
    if not rows or min(rows) != max(rows):
        raise ValueError(f"gradient_noise got arrays with {rows} rows; give at least one, all with the same number.")
    return rows[0]


@eqx.filter_jit
def _gradient_gram(loss: Callable, params: PyTree, arrays: tuple) -> Float[Array, "n n"]:
    free, fixed = eqx.partition(params, eqx.is_inexact_array)

    def one(free: PyTree, *row: Array) -> Array:
        return loss(eqx.combine(free, fixed), *row)

    gradients = jax.vmap(jax.grad(one), (None, *(0 for _ in arrays)))(free, *arrays)
    flat = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(gradients)]
    return jnp.asarray(sum(leaf @ leaf.T for leaf in flat))
