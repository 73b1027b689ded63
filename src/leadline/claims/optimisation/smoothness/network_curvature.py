"""The Hessian of a network: rank-deficient at interpolation, merely ill conditioned elsewhere."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, optimisation
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.claims.scenarios.optimisation.small_networks import half_squared_error
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, erratum
from leadline.optimisation.objectives.any_loss import evaluate_points
from leadline.presentation import figure


def _cross_entropy(net, x, labels):
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), labels))


def _digits(pixels: int, samples: int) -> tuple[jax.Array, jax.Array]:
    """Digits of 64 pixels, or of 16 that are means of four."""
    images, labels = (part[:samples] for part in data.digits())
    if pixels == 16:
        images = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    return jnp.asarray(images), jnp.asarray(labels)


@claim(sources=("penn",), empirical=True)
def network_hessian_degenerate(
    key,
    width: Int(8, 32) = 16,
    points: Int(4, 12) = 8,
    residual: Real(0.1, 1.0, log=True) = 0.3,
    samples: Int(100, 500) = 200,
    pixels: OneOf(16, 64) = 16,
    goal: Real(0.002, 0.05, log=True) = 0.004,
):
    r"""Network Hessians are degenerate.

    With squared loss at exact interpolation a network's Hessian has rank at most samples × outputs, so all other
    eigenvalues vanish. Away from it only symmetries force zeros: the others are small, and many are negative; the
    Hessian of a trained network is extremely ill conditioned.

    $$H = \frac1n J^\top J + \frac1n \sum_i r_i \nabla^2 f_i, \quad r = 0 \Rightarrow \mathrm{rank}\, H \le nk$$

    Assumes: for the rank: squared loss and zero residuals; the network is smooth (tanh).

    Check: A teacher network with 3 inputs generates its own data, then data with residuals. A network with `pixels`
    inputs, `width` hidden units and 10 outputs learns digits by L-BFGS down to the loss `goal`.
    """
    rng = data.generator(key)
    teacher = drawn(rng, networks.MLP, (3, width, 1), "tanh")
    x = jnp.asarray(rng.normal(size=(points, 3)))
    y = jax.vmap(teacher)(x)  # no residuals
    parameters = networks.flatten_parameters(teacher)[0].size
    exact = optimisation.hessian_spectrum(half_squared_error, teacher, x, y)
    found = parameters - exact.near_zero(1e-10)
    rank = at_most(found, points, f"rank of the Hessian of {parameters} weights at interpolation against n × outputs")
    yield rank
    noise = jnp.asarray(residual * rng.choice([-1.0, 1.0], size=(points, 1)))
    away = optimisation.hessian_spectrum(half_squared_error, teacher, x, y + noise)
    yield at_least(away.negative(1e-10), 1, f"negative eigenvalues with residuals ±{residual:g}")
    zeros = at_least(away.near_zero(1e-10), 1, f"zero eigenvalues of {points} samples, {parameters} weights, residuals")
    twice = "with twice as many weights as samples the Hessian of a deep network always has zero eigenvalues"
    yield erratum(zeros, of=rank, by="penn", prints=twice)
    images, labels = _digits(pixels, samples)
    start = drawn(rng, networks.MLP, (pixels, width, 10), "tanh", gain=1.0, bias_scale=0.0)
    objective, w = optimisation.flat_objective(_cross_entropy, start, images, labels)
    end, loss = _train(objective, np.asarray(w), goal)
    found = optimisation.hessian_spectrum(objective, end)
    p, top = len(found.values), found.values[-1]
    yield at_least(found.negative(1e-10), 1, f"negative eigenvalues of the digit network, loss {loss:.2g}")
    kappa = found.effective_condition(1e-9)
    yield at_least(kappa, 1e4, "effective κ of the digit network (eigenvalues above 1e-9 λ_max)")
    dead = np.sum(np.all(np.asarray(images) == 0, axis=0))
    what = f"digit network: zero eigenvalues against those of its symmetries (outputs shifted, {dead} dead pixels)"
    yield at_least(found.near_zero(1e-11), width + 1 + width * dead, what)
    size = np.clip(np.abs(found.values) / top, 1e-9, None)
    decades = np.sign(found.values) * (np.log10(size) + 9)
    ends = f"λ from {found.values[0]:.2g} to {top:.2g} at loss {loss:.2g}"
    title = f"Of {p} eigenvalues {found.negative()} are negative, {found.near_zero()} below 1e-6 λ_max; {ends}"
    rules = {"0": ("x", 0.0), "1e-6 λ_max": ("x", 3.0), "λ_max": ("x", 9.0)}
    axis = "sign(λ) × decades of |λ|/λ_max above 1e-9"
    yield figure.histogram(title, axis, samples={"digit network": decades}, rules=rules, bins=45)


def _train(objective, w: np.ndarray, goal: float) -> tuple[jax.Array, float]:
    """L-BFGS until the loss is at most `goal`."""
    from scipy.optimize import minimize

    def both(w: np.ndarray) -> tuple[float, np.ndarray]:
        values, gradients = evaluate_points(objective, w[None])
        return float(values[0]), gradients[0]

    def stop(intermediate_result) -> None:
        if intermediate_result.fun <= goal:
            raise StopIteration

    end = minimize(both, w, jac=True, method="L-BFGS-B", callback=stop, options={"maxiter": 500})
    return jnp.asarray(end.x), float(end.fun)
