"""What noise does on average: in the inputs it is ridge regression, in the weights a penalty on curvature."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import curvature, data, learning, networks, optimisation, regularisation, training
from leadline.evidence import Int, Real, claim, mean, slope
from leadline.presentation import figure

CHAINS, STEPS = 64, 600


@eqx.filter_jit
def _noisy_descents(x, y, scale, step, keys):
    """For each key the mean weights over the second half of a run of SGD with fresh noise in all inputs."""
    noisy = regularisation.NoiseInjection("squared", inputs=scale)

    def objective(weights, batch, key, state):
        return noisy(lambda row: (row @ weights)[None], (x, y), key, state)

    def one(key):
        ran = training.scan_steps(
            objective,
            jnp.zeros(x.shape[1]),
            optax.sgd(step),
            None,
            num_steps=STEPS,
            key=key,
            measure=lambda seen: seen.after.parameters,
        )
        return jnp.mean(ran.measured[STEPS // 2 :], axis=0)

    return jax.vmap(one)(keys)


@claim(sources=("sheet",), shows=("regularisation.input_noise_ridge", "regularisation.NoiseInjection"))
def input_noise_is_ridge(
    key, samples: Int(20, 100) = 40, dim: Int(2, 6) = 4, scale: Real(0.1, 1.0, log=True) = 0.5, width: Int(2, 12) = 6
):
    r"""Noise in the inputs is ridge regression.

    Noise of covariance s²I in the inputs of linear regression adds n s²‖w‖² to the sum of squares on average: ridge
    with α = n s², and SGD with fresh noise tends to that solution. For a network the leading term is s²(‖∇f‖² − (y −
    f)Δf) at each row, with a remainder of order s⁴.

    $$\mathbb{E}\,\|y - (X + E)w\|^2 = \|y - Xw\|^2 + n s^2 \|w\|^2, \qquad \mathbb{E}\,(y - f(x + s\xi))^2 = (y -
    f)^2 + s^2\big(\|\nabla f\|^2 - (y - f)\Delta f\big) + O(s^4)$$

    Assumes: the noise is independent of the rows and drawn anew at every step.

    Check: 64 runs of 600 steps on all rows, whose last 300 iterates are averaged; singular values of X are between 0.7
    and 1.4 times √n, so that the start is forgotten. The network has two inputs: the expectation is a quadrature.
    """
    rng = data.generator(key)
    left, _, right = np.linalg.svd(rng.normal(size=(samples, dim)), full_matrices=False)
    x = np.sqrt(samples) * (left * rng.uniform(0.7, 1.4, dim)) @ right
    truth = rng.normal(size=dim)
    y = x @ truth + 0.5 * rng.normal(size=samples)
    noisy = regularisation.NoiseInjection("squared", inputs=scale)
    drawn = jax.jit(jax.vmap(lambda k: jnp.sum(noisy(lambda r: (r @ truth)[None], (x, y), k, None)[0].losses)))
    sums = np.asarray(drawn(jax.random.split(key, 2000)))
    alpha = regularisation.input_noise_ridge(samples, scale)
    plain = np.sum((y - x @ truth) ** 2)
    what = "sum of squares with noisy inputs, mean of 2000 draws, against ‖y − Xw‖² + n s²‖w‖²"
    yield mean(sums, plain + alpha * truth @ truth, what)
    largest = np.linalg.norm(x, 2) ** 2 / samples
    found, scales = {}, (scale / 2, scale, 2 * scale)
    for index, s in enumerate(scales):
        step = 0.1 / (largest + s**2)
        keys = jax.random.split(jax.random.fold_in(key, index), CHAINS)
        runs = _noisy_descents(jnp.asarray(x), jnp.asarray(y), jnp.asarray(s), jnp.asarray(step), keys)
        found[s] = np.asarray(runs)
        goal = learning.ridge(x, y, regularisation.input_noise_ridge(samples, s) / samples, intercept=False).weights
        away = learning.least_squares(x, y, intercept=False).weights - goal
        what = f"noisy SGD, s = {s:g}: distance from ridge towards least squares, against 0"
        yield mean((found[s] - goal) @ away / np.linalg.norm(away), 0.0, what)
        for i in range(dim if s == scale else 0):
            yield mean(found[s][:, i], goal[i], f"noisy SGD, s = {s:g}: weight {i + 1}, against ridge regression")
    yield from _network_remainder(key, rng, width)
    alphas = np.geomspace(samples * (scale / 6) ** 2, samples * (4 * scale) ** 2, 60)
    path = learning.ridge_fits(x, y, alphas / samples, intercept=False).weights
    lines = {f"weight {i + 1}": (alphas, path[:, i]) for i in range(dim)}
    at = [regularisation.input_noise_ridge(samples, s) for s in scales]
    points = {f"weight {i + 1}": (at, [found[s][:, i].mean() for s in scales]) for i in range(dim)}
    title = "SGD with noise of size s in the inputs lies on the ridge path at α = n s²"
    yield figure.curves(title, "α = n s²", "weight", lines=lines, points=points, log="x")


def _network_remainder(key, rng, width):
    """The remainder of the second-order formula for a small network, by Gauss-Hermite quadrature of the noise."""
    network = networks.MLP((2, width, 1), "tanh", key=key)
    x, y = jnp.asarray(rng.normal(size=(12, 2))), jnp.asarray(rng.normal(size=12))

    def apply(params, inputs):
        return jax.vmap(params)(inputs)[:, 0]

    nodes, weights = np.polynomial.hermite_e.hermegauss(14)
    moves = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() / weights.sum() ** 2

    def left(s):
        seen = jax.vmap(lambda move: (y - apply(network, x + s * move)) ** 2)(jnp.asarray(moves))
        leading = regularisation.input_noise_penalty(apply, network, x, y, s)
        return jnp.asarray(mass) @ seen - (y - apply(network, x)) ** 2 - leading

    scales = np.geomspace(0.02, 0.1, 6)
    rows = np.asarray(jax.jit(jax.vmap(left))(jnp.asarray(scales)))
    size = np.linalg.norm(rows, axis=1)
    what = "network: what s²(‖∇f‖² − (y − f)Δf) leaves over, power of s"
    yield slope(scales, size, 4.0, what, within=0.05)


@claim(sources=("sheet",), shows=("regularisation.smoothed_losses", "curvature.hessian"))
def weight_noise_trace_penalty(
    key,
    scale: Real(0.01, 1.0, log=True) = 0.1,
    dim: Int(2, 30) = 12,
    width: Int(2, 10) = 5,
    draws: Int(500, 8000) = 4000,
):
    r"""Noise in the weights penalises curvature.

    The mean loss at weights with Gaussian noise of size s is the loss plus s²/2 times the trace of its Hessian, up to
    order s⁴; for quadratics it is exactly that. Noise therefore prefers flat minima.

    $$\mathbb{E}\, l(w + s\xi) = l(w) + \frac{s^2}{2}\, \mathrm{tr}\, H(w) + O(s^4), \qquad \xi \sim N(0, I)$$

    Assumes: l has four continuous derivatives, bounded near w on the scale of the noise.

    Check: A quadratic with known Hessian; a tanh network on 30 points, where the same draws ξ give the excess loss and
    Hutchinson's ξᵀHξ, so that the sampling error of order s² cancels in the remainder.
    """
    rng = data.generator(key)
    root = rng.normal(size=(dim, dim)) / np.sqrt(dim)
    matrix, vector, at = root @ root.T, rng.normal(size=dim), jnp.asarray(rng.normal(size=dim))

    def bowl(w):
        return w @ jnp.asarray(matrix) @ w / 2 + jnp.asarray(vector) @ w

    keys = jax.random.split(key, 3)
    excess = np.asarray(regularisation.smoothed_losses(bowl, at, scale, draws=draws, key=keys[0])) - float(bowl(at))
    yield mean(excess, scale**2 * np.trace(matrix) / 2, "quadratic: excess loss of noisy weights, against (s²/2) tr H")
    network = networks.MLP((2, width, 1), "tanh", key=keys[1])
    x, y = jnp.asarray(rng.normal(size=(30, 2))), jnp.asarray(rng.normal(size=30))

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x)[:, 0] - y) ** 2)

    flat, start = optimisation.flat_objective(loss, network, x, y)
    operator = curvature.hessian(flat, start)
    exact = float(curvature.trace(operator, key=keys[2], probes=operator.size).value)

    @jax.jit
    def excesses(scales):
        """Of every scale the excess losses, and ξᵀHξ/2 of the same draws ξ."""
        options = {"draws": draws, "key": keys[2]}
        risen = jax.vmap(lambda s: regularisation.smoothed_losses(flat, start, s, **options))(scales) - flat(start)
        return risen, regularisation.smoothed_losses(
            lambda v: v @ operator(v) / 2, jnp.zeros_like(start), 1.0, **options
        )

    scales = np.geomspace(0.01, 0.1, 7)
    risen, halves = map(np.asarray, excesses(jnp.asarray(scales)))
    yield mean(2 * halves, exact, "network: Hutchinson's ξᵀHξ, against the sum of the Hessian's diagonal")
    left = np.abs((risen - scales[:, None] ** 2 * halves).mean(axis=1))
    yield slope(scales, left, 4.0, "network: what (s²/2) tr H leaves over, power of s", within=0.05)
    small = scales[2]
    ratio = risen[2] / (small**2 / 2 * exact)
    what = f"network: excess loss over (s²/2) tr H at s = {small:.2g}, without its remainder"
    yield mean(ratio - left[2] / (small**2 / 2 * exact), 1.0, what)
    lines = {
        "(s²/2) tr H": (scales, scales**2 * exact / 2),
        "remainder, power 4": (scales, left[-1] * (scales / 0.1) ** 4),
    }
    points = {"(s²/2) tr H": (scales, np.abs(risen.mean(axis=1))), "remainder, power 4": (scales, left)}
    title = f"Noise in the weights adds (s²/2) tr H to the loss, tr H = {exact:.3g}"
    yield figure.curves(title, "size s of the noise", "excess loss", lines=lines, points=points, log="xy")
