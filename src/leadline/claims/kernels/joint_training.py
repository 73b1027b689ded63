"""Training both layers of a network at once: saddles, permuted twins and restarts."""

from typing import Annotated

import equinox as eqx
import jax
import numpy as np

from leadline import data, features
from leadline.evidence import Range, at_least, claim, close, figure
from leadline.networks import barrier, permute_units


@claim(
    "joint-training-nonconvex",
    says=(
        "Training w and S together is not convex, for they multiply: (1 − ws)² has a saddle at 0 with eigenvalues ±2; "
        "a network and the same with its hidden units permuted have equal loss, their midpoint a higher one; restarts "
        "end at different losses, while with frozen features they all agree."
    ),
    formula=(
        r"\nabla^2 (1 - ws)^2 (0) = \begin{pmatrix} 0 & -2 \\ -2 & 0 \end{pmatrix}, \qquad "
        r"L(\tfrac{\theta + P\theta}{2}) > L(\theta) = L(P\theta)"
    ),
    sources=("penn",),
    shows=("features.train_two_layer", "features.two_layer_loss", "networks.permute_units"),
)
def joint_training_nonconvex(
    key,
    units: Annotated[int, Range(3, 12)] = 6,
    samples: Annotated[int, Range(50, 200)] = 100,
):
    """tanh networks of one input fitted to sin 4x, 20 starts at once; the same starts with the first layer frozen."""
    hessian = np.asarray(jax.jit(jax.hessian(lambda p: (1 - p[0] * p[1]) ** 2))(np.zeros(2)))
    yield close(np.linalg.eigvalsh(hessian), [-2.0, 2.0], "Hessian eigenvalues of (1 − ws)² at 0", atol=1e-14)

    rng = data.generator(key)
    x = np.sort(rng.uniform(-1, 1, (samples, 1)), axis=0)
    y = np.sin(4 * x[:, 0]) + 0.1 * rng.standard_normal(samples)
    draw = {"activation": "tanh", "bias_scale": 1.0, "dtype": np.float64}
    seeds = rng.integers(0, 2**31, 20)
    nets = features.stack_networks(
        [features.draw_two_layer(1, units, key=jax.random.key(int(s)), **draw) for s in seeds]
    )
    train = eqx.filter_vmap(
        lambda net: features.train_two_layer(net, x, y, steps=2000, rate=0.02, loss="squared")
    )  # fmt: skip
    runs = train(nets)
    final = np.asarray(runs.losses)[:, -1]
    first = jax.tree.map(lambda leaf: np.asarray(leaf)[0], nets.layers[0])
    frozen = _frozen_losses(rng, first.weight, first.bias, x, y)
    yield close(frozen, frozen.min(), "final objectives of 20 restarts, first layer frozen", atol=1e-6)
    yield at_least(np.ptp(final), 1e-5, "spread of the final losses of 20 restarts, all trained")

    best = jax.tree.map(lambda leaf: np.asarray(leaf)[int(final.argmin())], runs.network)
    twin = permute_units(best, [np.roll(np.arange(units), 1)])
    along = barrier(_squared_loss, best, twin, x, y, points=41)
    losses = np.asarray(along.losses)
    yield close(losses[-1], losses[0], "loss of the permuted twin", rtol=1e-9)
    yield at_least(losses[20], losses[0], "loss halfway between the twins, against their own", strict=True)
    yield figure.beside(
        f"Between a network and its permuted twin the loss rises from {losses[0]:.2g} to {losses[20]:.2g}; "
        f"restarts end between {final.min():.2g} and {final.max():.2g}",
        figure.curves(
            "loss on the segment between twins", x="share of the twin", y="mean squared loss",
            lines={"if it were convex, at most": ([0, 1], [losses[0], losses[-1]])},
            points={"measured": (np.linspace(0, 1, 41), losses)},
        ),
        figure.curves(
            "20 restarts, sorted", x="rank", y="final loss above the least",
            log="y",
            points={
                "all trained": (np.arange(1, 21), np.maximum(np.sort(final) - final.min(), 1e-12)),
                "first layer frozen": (np.arange(1, 21), np.maximum(np.sort(frozen) - frozen.min(), 1e-12)),
            },
        ),
    )  # fmt: skip


@eqx.filter_jit
def _squared_loss(net, x, y):
    return features.two_layer_loss(net, x, y, "squared")


def _frozen_losses(rng, weight: np.ndarray, bias: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The least mean squared loss plus 1e-3 ‖w‖² over output weights, reached from 20 starts."""
    from scipy.optimize import minimize

    phi = np.column_stack([np.tanh(x @ weight.T + bias), np.ones(len(x))])

    def objective(w):
        residual = phi @ w - y
        return float(residual @ residual / len(y) + 1e-3 * w @ w), 2 * (residual @ phi / len(y) + 1e-3 * w)

    starts = rng.standard_normal((20, phi.shape[1])) * 3
    return np.array([minimize(objective, w, jac=True, method="BFGS", options={"gtol": 1e-9}).fun for w in starts])
