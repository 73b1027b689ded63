"""Training both layers of a network at once: saddles, permuted twins and restarts."""

import equinox as eqx
import jax
import numpy as np

from leadline import data
from leadline.evidence import Int, at_least, claim, close
from leadline.kernels import features
from leadline.kernels.features.two_layer import stack_networks, two_layer_loss
from leadline.networks import barrier, permute_units
from leadline.presentation import figure


@claim(sources=("penn",))
def joint_training_nonconvex(key, units: Int(3, 12) = 6, samples: Int(50, 200) = 100):
    r"""Training both layers is not convex.

    Training w and S together is not convex, since they multiply: (1 − ws)² has a saddle at 0 with eigenvalues ±2; a
    network and a copy with its hidden units permuted have equal loss, while their midpoint has a higher one; restarts
    end at different losses, while with frozen features they all agree.

    $$\nabla^2 (1 - ws)^2 (0) = \begin{pmatrix} 0 & -2 \\ -2 & 0 \end{pmatrix}, \qquad L(\tfrac{\theta + P\theta}{2}) >
    L(\theta) = L(P\theta)$$

    Check: tanh networks of one input are fitted to sin 4x from 20 starts; the same starts are then trained with the
    first layer frozen.
    """
    hessian = jax.jit(jax.hessian(lambda p: (1 - p[0] * p[1]) ** 2))(np.zeros(2))
    yield close(np.linalg.eigvalsh(hessian), [-2.0, 2.0], "Hessian eigenvalues of (1 − ws)² at 0", atol=1e-14)
    rng = data.generator(key)
    x = np.sort(rng.uniform(-1, 1, (samples, 1)), axis=0)
    y = np.sin(4 * x[:, 0]) + 0.1 * rng.standard_normal(samples)
    draw = {"activation": "tanh", "bias_scale": 1.0, "dtype": np.float64}
    seeds = rng.integers(0, 2**31, 20)
    drawn = [features.draw_two_layer(1, units, key=jax.random.key(int(s)), **draw) for s in seeds]
    nets = stack_networks(drawn)
    train = eqx.filter_vmap(lambda net: features.train_two_layer(net, x, y, num_steps=2000, rate=0.02, loss="squared"))
    runs = train(nets)
    final = np.asarray(runs.losses)[:, -1]
    first = jax.tree.map(lambda leaf: np.asarray(leaf)[0], nets.layers[0])
    frozen = _frozen_losses(rng, first.weight, first.bias, x, y)
    yield close(frozen, frozen.min(), "final objectives of 20 restarts, first layer frozen", atol=1e-6)
    yield at_least(np.ptp(final), 1e-5, "spread of the final losses of 20 restarts, all trained")
    best = jax.tree.map(lambda leaf: np.asarray(leaf)[int(final.argmin())], runs.network)
    twin = permute_units(best, [np.roll(np.arange(units), 1)])
    losses = np.asarray(barrier(_squared_loss, best, twin, x, y, points=41).losses)
    yield close(losses[-1], losses[0], "loss of the permuted twin, against the network's", rtol=1e-9)
    yield at_least(losses[20], losses[0], "loss halfway between the twins, against their own", strict=True)
    rank, title = np.arange(1, 21), "loss on the segment between twins"
    convex = {"if it were convex, at most": ([0, 1], [losses[0], losses[-1]])}
    points = {"measured": (np.linspace(0, 1, 41), losses)}
    # below 1e-12 rounding decides
    groups = {"all trained": final, "first layer frozen": frozen}
    excess = {name: (rank, np.maximum(np.sort(v) - v.min(), 1e-12)) for name, v in groups.items()}
    yield figure.beside(
        f"Between a network and its permuted twin the loss rises from {losses[0]:.2g} to {losses[20]:.2g}; "
        f"restarts end between {final.min():.2g} and {final.max():.2g}",
        figure.curves(title, "share of the twin", "mean squared loss", lines=convex, points=points),
        figure.curves("20 restarts, sorted", "rank", "final loss above the least", points=excess, log="y"),
    )


@eqx.filter_jit
def _squared_loss(net, x, y):
    return two_layer_loss(net, x, y, "squared")


def _frozen_losses(rng, weight: np.ndarray, bias: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The least mean squared loss plus 1e-3 ‖w‖² over output weights, reached from 20 starts."""
    from scipy.optimize import minimize

    phi = np.column_stack([np.tanh(x @ weight.T + bias), np.ones(len(x))])

    def objective(w):
        residual = phi @ w - y
        return float(residual @ residual / len(y) + 1e-3 * w @ w), 2 * (residual @ phi / len(y) + 1e-3 * w)

    starts = rng.standard_normal((20, phi.shape[1])) * 3
    return np.array([minimize(objective, w, jac=True, method="BFGS", options={"gtol": 1e-9}).fun for w in starts])
