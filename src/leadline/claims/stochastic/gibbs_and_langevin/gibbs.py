"""Gibbs distributions: the partition function, and the temperature of SGD."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import chains, data, optimisation, stochastic
from leadline.chains.wells import critical_points_on
from leadline.claims.scenarios.stochastic.well_grids import well_losses
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, exactly, instrument, mean
from leadline.presentation import figure


@instrument(sources=("penn",))
def partition_function(
    key,
    beta: Real(2.0, 300.0, log=True) = 50.0,
    decay: Real(0.001, 1.0, log=True) = 0.05,
    curvature: Real(0.1, 10.0, log=True) = 2.0,
    tilt: Real(0.0, 0.2) = 0.1,
):
    r"""Partition function of a loss.

    $Z(\beta) = \int e^{-\beta l}\, dw$ is found by quadrature, by Laplace's formula summed over the wells, and by
    integrating the mean loss over β. With an unbounded flat direction it is infinite, which is reported; weight decay
    makes it finite.

    $$Z(\beta) = \int e^{-\beta l}\,dw \approx \sum_k \Big(\frac{2\pi}{\beta}\Big)^{p/2} \frac{e^{-\beta
    l_k}}{\sqrt{\det H_k}}, \quad \frac{d \log Z}{d\beta} = -\mathbb{E}_\beta[l]$$
    """
    one = chains.partition_function(lambda w: curvature / 2 * w[..., 0] ** 2, beta)
    yield close(one.log_value, np.log(2 * np.pi / (beta * curvature)) / 2, "log Z of a parabola", atol=1e-9)
    yield close(one.mean_loss, 1 / (2 * beta), "mean loss of a parabola, against 1/(2β)", rtol=1e-8)
    flat = chains.partition_function(lambda w: curvature / 2 * w[..., 0] ** 2, beta, dimension=2)
    yield exactly(flat.finite, False, "Z is finite with a flat direction")
    bent = chains.partition_function(
        lambda w: curvature / 2 * w[..., 0] ** 2 + decay / 2 * np.sum(w**2, axis=-1), beta, dimension=2
    )
    known = np.log(2 * np.pi / beta) - np.log((curvature + decay) * decay) / 2
    yield close(bent.log_value, known, "log Z in two dimensions with weight decay", atol=1e-7)

    def loss(w):
        return well_losses(w[..., 0], tilt)

    wells = critical_points_on(optimisation.DoubleWell(tilt), chains.even_grid(-3.0, 3.0, 301)).minima

    def laplace(b):
        return chains.laplace_log_partition(wells.losses, wells.curvatures[:, None, None], b)

    routes = chains.partition_function(loss, beta)
    ratio = close(np.exp(laplace(beta) - routes.log_value), 1.0, "Z by Laplace over Z by quadrature", atol=0.05)
    yield ratio.given(beta >= 50, "β ≥ 50")
    first = chains.partition_function(loss, 1.0).log_value

    def integrated(b):
        return chains.thermodynamic_log_partition(
            lambda inner: chains.partition_function(loss, inner).mean_loss, 1.0, first, b
        )

    yield close(integrated(beta), routes.log_value, "log Z by integrating the mean loss, against quadrature", atol=1e-3)
    grid = np.geomspace(2.0, 300.0, 13)
    shown = [chains.partition_function(loss, b).log_value for b in grid]
    title = f"log Z of the double well at β = {beta:g}: {routes.log_value:.4f}, by Laplace {laplace(beta):.4f}"
    found = {"quadrature": shown, "Laplace, sum over wells": [laplace(b) for b in grid]}
    lines = {name: (grid, values + grid * wells.losses.min()) for name, values in found.items()}
    points = {"integrated mean loss": (grid, [integrated(b) for b in grid] + grid * wells.losses.min())}
    yield figure.curves(title, "β", "log Z + β min l", lines=lines, points=points, log="x")


def _sum_of_tilted_parabolas(curvatures: np.ndarray, noise: float) -> stochastic.FiniteSum:
    """½ Σ h_j w_j² + z·w with z = ± noise √p e_j, uniform over 2p samples: gradient noise of covariance noise² I."""
    p = len(curvatures)
    z = noise * np.sqrt(p) * np.concatenate([np.eye(p), -np.eye(p)])
    return stochastic.FiniteSum(_tilted_parabola, (jnp.asarray(z), jnp.tile(jnp.asarray(curvatures), (2 * p, 1))))


def _tilted_parabola(w, z, curvatures):
    return jnp.sum(curvatures * w**2) / 2 + z @ w


def _digit_regression(pixels: int) -> optimisation.SoftmaxRidge:
    """Softmax regression on the digits, averaged to pixels × pixels, with a constant feature and ridge 0.01."""
    images, labels = data.digits()
    cut = 8 // pixels
    pooled = np.asarray(images).reshape(-1, pixels, cut, pixels, cut).mean(axis=(2, 4)).reshape(len(images), -1)
    x = np.concatenate([pooled, np.ones((len(images), 1))], axis=1)
    return optimisation.SoftmaxRidge(jnp.asarray(x), jnp.asarray(labels), jnp.asarray(0.01), 10)


@instrument(sources=("penn",))
def sgd_temperature(key, step_size: Real(0.05, 0.2) = 0.1, batch: Int(8, 32) = 16, pixels: OneOf(4, 8) = 4):
    r"""Temperature of SGD.

    A Gibbs distribution has one temperature. For SGD three readings can be compared: from the trace of the noise, from
    the excess loss (equipartition), and one for each direction. With isotropic noise all agree; on digits the first
    two do, while those of the directions spread over decades.

    $$T = \frac{\eta s^2}{2b}, \quad \frac{\eta \operatorname{tr} C}{2bp}, \quad \frac{2(\mathbb{E} l - l^*)}{p}, \quad
    \frac{\eta C_{jj}}{2b}$$

    Assumes: small η, where the readings agree up to 1/(1 − ηλ/2).
    """
    key_even, key_digits = jax.random.split(key)
    bowls = _sum_of_tilted_parabolas(np.geomspace(0.2, 1.0, 6), 1.5)
    run = {"step_size": step_size, "batch": batch}
    even = chains.measure_temperatures(bowls, np.zeros(6), **run, num_steps=40_000, key=key_even)
    truth = step_size * 1.5**2 / (2 * batch)
    yield close(even.trace, truth, "isotropic noise: trace temperature, against ηs²/(2b)", rtol=1e-9)
    yield close(even.directions, truth, "isotropic noise: temperature of every direction, against ηs²/(2b)", rtol=1e-9)
    yield mean(even.blocks, even.expected, "isotropic noise: equipartition, against its value at this η")
    correction = even.expected / truth - 1
    yield at_most(correction, step_size, "isotropic noise: correction of equipartition, against η L", strict=True)
    objective = _digit_regression(pixels)
    best = objective.constants().minimiser
    problem = stochastic.finite_softmax(objective)
    found = chains.measure_temperatures(problem, best, **run, num_steps=20_000, every=25, key=key_digits)
    measured = found.equipartition
    error = (measured.high - measured.low) / 2 / measured.value
    what = f"digits: equipartition (error bar {error:.0%}) over the trace formula"
    yield close(measured.value / found.expected, 1.0, what, atol=0.05 + error)
    yield close(np.mean(found.directions), found.trace, "digits: mean of the directions, against the trace", rtol=1e-9)
    yield at_least(found.spread, 2.0, "digits: decades between the hottest direction and nine tenths of the others")
    order = np.argsort(-found.directions)
    seen = order[found.directions[order] > 1e-3 * found.trace]
    rank = np.arange(1, len(seen) + 1)
    title = f"Digits: trace {found.trace:.3g}, equipartition {measured.value:.3g}; the directions spread over decades"
    lines = {"η C_jj/(2b)": (rank, found.directions[seen]), "trace": (rank, np.full(len(rank), found.trace))}
    points = {"λ_j E v_j² (1 − ηλ_j/2), from the run": (rank, found.measured[seen])}
    yield figure.curves(title, "direction, by falling temperature", "temperature", lines=lines, points=points, log="xy")
