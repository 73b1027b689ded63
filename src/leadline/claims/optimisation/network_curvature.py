"""The Hessian of a network: rank-deficient at interpolation, merely ill conditioned elsewhere."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, optimisation
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import Choice, Range, at_least, at_most, claim, figure, printed


def _squared_loss(net, x, y):
    return jnp.mean(jnp.sum((jax.vmap(net)(x) - y) ** 2, axis=1)) / 2


def _cross_entropy(net, x, labels):
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), labels))


def _digits(pixels: int, samples: int) -> tuple[jax.Array, jax.Array]:
    """Digits of 64 pixels, or of 16 that are means of four."""
    images, labels = data.digits()
    x = images[:samples]
    if pixels == 16:
        x = x.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    return jnp.asarray(x), jnp.asarray(labels[:samples])


@claim(
    "network-hessian-degenerate",
    says=(
        "With squared loss at exact interpolation a network's Hessian has rank at most samples × outputs, so all other "
        "eigenvalues vanish. Away from it only symmetries force zeros: the others are small, and many are "
        "negative; the Hessian of a trained network is extremely ill conditioned."
    ),
    formula=r"H = \frac1n J^\top J + \frac1n \sum_i r_i \nabla^2 f_i, \quad r = 0 \Rightarrow \mathrm{rank}\, H \le nk",
    sources=("penn",),
    assumes=("squared loss and zero residuals, for the rank", "the network is smooth (tanh)"),
    empirical=True,
)
def network_hessian_degenerate(
    key,
    width: Annotated[int, Range(8, 32)] = 16,
    points: Annotated[int, Range(4, 12)] = 8,
    residual: Annotated[float, Range(0.1, 1.0, log=True)] = 0.3,
    samples: Annotated[int, Range(100, 500)] = 200,
    pixels: Annotated[int, Choice(16, 64)] = 16,
    goal: Annotated[float, Range(0.002, 0.05, log=True)] = 0.004,
):
    """A teacher of 3 inputs gives its own data, then data with residuals.

    A network `pixels`-`width`-10 learns digits by L-BFGS down to the loss `goal`.
    """
    rng = data.generator(key)
    teacher = drawn(rng, networks.MLP, (3, width, 1), "tanh")
    x = jnp.asarray(rng.normal(size=(points, 3)))
    first, last = teacher.layers
    y = jnp.tanh(x @ first.weight.T + first.bias) @ last.weight.T + last.bias  # residuals are zero to rounding
    parameters = networks.flatten_parameters(teacher)[0].size
    exact = optimisation.hessian_spectrum(_squared_loss, teacher, x, y)
    rank = parameters - exact.near_zero(1e-10)
    yield at_most(rank, points, f"rank of the Hessian of {parameters} weights at interpolation against n × outputs")
    noise = jnp.asarray(residual * rng.choice([-1.0, 1.0], size=(points, 1)))
    away = optimisation.hessian_spectrum(_squared_loss, teacher, x, y + noise)
    yield at_least(away.negative(1e-10), 1, f"negative eigenvalues with residuals ±{residual:g}")
    yield printed(
        at_least(away.near_zero(1e-10), parameters - points, "zero eigenvalues with residuals, against p − n"),
        "penn", "overparameterised networks always have zero eigenvalues",
    )  # fmt: skip

    images, labels = _digits(pixels, samples)
    start = drawn(rng, networks.MLP, (pixels, width, 10), "tanh", gain=1.0, bias_scale=0.0)
    objective, w = optimisation.flat_objective(_cross_entropy, start, images, labels)
    end, loss = _train(objective, np.asarray(w), goal)
    found = optimisation.hessian_spectrum(objective, end)
    p, top = len(found.values), found.values[-1]
    yield at_least(found.negative(1e-10), 1, f"negative eigenvalues of the digit network, loss {loss:.2g}")
    yield at_least(
        found.effective_condition(1e-9), 1e4, "effective κ of the digit network (eigenvalues above 1e-9 λ_max)"
    )
    dead = int(np.sum(np.all(np.asarray(images) == 0, axis=0)))
    forced = width + 1 + width * dead
    yield at_least(
        found.near_zero(1e-11), forced,
        f"its zero eigenvalues against those of its symmetries: outputs shifted, {dead} pixels always 0",
    )  # fmt: skip

    size = np.clip(np.abs(found.values) / top, 1e-9, None)
    decades = np.sign(found.values) * (np.log10(size) + 9)
    yield figure.histogram(
        f"Of {p} eigenvalues {found.negative()} are negative and {found.near_zero()} below 1e-6 λ_max; λ_max = "
        f"{top:.2g}, λ_min = {found.values[0]:.2g} at loss {loss:.2g}",
        x="sign(λ) × decades of |λ|/λ_max above 1e-9", samples={"digit network": decades},
        rules={"0": ("x", 0.0), "1e-6 λ_max": ("x", 3.0), "λ_max": ("x", 9.0)}, bins=45,
    )  # fmt: skip


def _train(objective, w: np.ndarray, goal: float) -> tuple[jax.Array, float]:
    """L-BFGS until the loss is at most `goal`."""
    from scipy.optimize import minimize

    def both(w: np.ndarray) -> tuple[float, np.ndarray]:
        values, gradients = optimisation.evaluate_points(objective, w[None])
        return float(values[0]), gradients[0]

    def stop(intermediate_result) -> None:
        if intermediate_result.fun <= goal:
            raise StopIteration

    end = minimize(both, w, jac=True, method="L-BFGS-B", callback=stop, options={"maxiter": 500})
    return jnp.asarray(end.x), float(end.fun)
