"""The distribution of trained networks over their random starts, predicted without training any."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, infinite_width, networks, training
from leadline.evidence import Int, OneOf, at_least, at_most, claim, distributed_as, mean
from leadline.presentation import figure

_DATA = {
    5: (np.array([0.2, 1.1, 1.9, 2.8, 4.0]), np.array([1.0, -1.0, 0.5, -0.5, 1.0])),
    4: (np.array([0.3, 1.7, 3.1, 4.9]), np.array([1.0, -1.0, 0.5, -0.5])),
}
_GRID = np.linspace(0, 2 * math.pi, 25)[:-1]


@claim(sources=("sheet",))
def seed_ensemble_law(
    key, width: Int(512, 16384, log=True) = 1024, seeds: Int(100, 300) = 150, points: OneOf(5, 4) = 5
):
    r"""Distribution of trained wide networks.

    Over random initialisations the trained, very wide network is Gaussian, with mean Θ(x, X)Θ⁻¹y and a covariance
    given by the tangent kernel and the NNGP kernel. It is not the posterior of the NNGP.

    $$A = \Theta(x, X)\, \Theta(X, X)^{-1}: \quad E f = A y, \quad \mathrm{Cov} f = K_{xx} + A K_{XX} A^\top - A K_{Xx}
    - K_{xX} A^\top$$

    Assumes: NTK parametrisation, all layers trained by small steps to convergence; infinite width.

    Check: Bias-free ReLU networks on points of the unit circle; with 5 points λₘᵢₙ(Θ) = 0.21.
    """
    angles, y = _DATA[points]
    x, grid = _circle(angles), _circle(_GRID)
    stack = infinite_width.dense_stack(1, "relu", W_std=math.sqrt(2), first_W_std=math.sqrt(2))
    wide = infinite_width.train_wide(stack, x, y, grid)
    centre, covariance = np.asarray(wide.mean()), np.asarray(wide.covariance())
    bayes = infinite_width.nngp_posterior(wide.training.nngp, y, wide.nngp, wide.nngp_points)
    other, spread = np.asarray(bayes.mean), np.asarray(bayes.covariance)
    rng = data.generator(key)
    weight, head = jnp.asarray(rng.standard_normal((seeds, width, 2))), jnp.asarray(rng.standard_normal((seeds, width)))
    starts = networks.TwoLayer(weight, head, "relu", math.sqrt(2 / width))
    slowest, fastest = np.asarray(wide.training.eigenvalues)[[0, -1]]
    step = 4 / 3 / fastest  # the fastest mode is multiplied by -1/3 at each step: stable
    steps = math.ceil(math.log(1e-5) / math.log(1 - step * slowest))
    f, left = map(np.asarray, _train_all(steps, starts, *map(jnp.asarray, (x, y, grid, step))))
    yield at_most(left / np.linalg.norm(y), 0.02, f"residual of every network after {steps} steps, over ‖y‖")
    size = np.linalg.norm(centre)
    error = np.linalg.norm(f.mean(axis=0) - centre) / size
    # 0.03 at m = 16384, growing as m^(-1/2), and three standard errors of an average over so many networks
    bar = 0.03 * math.sqrt(16384 / width) + 3 * math.sqrt(np.trace(covariance) / seeds) / size
    yield at_most(error, bar, "relative error of the predicted mean at 24 points")
    scaled = ((f - centre) ** 2).sum(axis=1) / np.trace(covariance)
    yield mean(scaled, 1.0, "squared distance from the predicted mean, over the predicted total variance")
    far = int(np.argmax(np.diag(covariance)))
    there = f[:, far]
    what = "most uncertain of 24 outputs, in predicted units, against the normal distribution"
    predicted = distributed_as((there - centre[far]) / math.sqrt(covariance[far, far]), _standard_normal, what)
    yield predicted.given(points == 4, "Θ is well conditioned, so that finite width does not shift the mean")
    what = "most uncertain of 24 outputs, in its own units, against the normal distribution"
    yield distributed_as((there - there.mean()) / there.std(), _standard_normal, what)
    apart = np.linalg.norm(other - centre) / size
    posterior = ((f - other) ** 2).sum(axis=1) / np.trace(spread)
    lowest = posterior.mean() - 3.3 * posterior.std(ddof=1) / math.sqrt(seeds)
    differ = apart > 0.3, "the two distributions are far enough apart for so few networks"
    what = "squared distance from the NNGP posterior's mean over its total variance, at the least: rejected"
    yield at_least(lowest, 1.0, what, strict=True).given(*differ)
    gap = np.linalg.norm(f.mean(axis=0) - other) / size
    what = "distance of the average network from the NNGP mean, against twice that from Ay"
    yield at_least(gap, 2 * error, what).given(*differ)
    limit, prior = (1.645 * np.sqrt(np.maximum(np.diag(c), 0)) for c in (covariance, spread))
    title = f"{seeds} networks of width {width}: mean within {error:.1%} of Ay; the NNGP posterior is {apart:.0%} off"
    lines = {"mean Ay": (_GRID, centre), "NNGP mean": (_GRID, other)}
    bands = {
        "90% of networks": (_GRID, centre - limit, centre + limit),
        "90%, NNGP posterior": (_GRID, other - prior, other + prior),
    }
    dots = {"trained networks": (np.tile(_GRID, 40), f[:40].ravel()), "data": (angles, y)}
    yield figure.curves(title, "angle", "output after training", lines=lines, bands=bands, points=dots)


@eqx.filter_jit
def _train_all(steps, networks, x, y, grid, step):
    """Outputs on the grid and norm of the residual of each network after gradient descent on ½ Σ r²."""

    def train(network):
        end, _ = training.minimise(lambda n: 0.5 * jnp.sum((n(x) - y) ** 2), network, optax.sgd(step), steps)
        return end(grid), jnp.linalg.norm(end(x) - y)

    return jax.vmap(train)(networks)


def _circle(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _standard_normal(z: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(z)
