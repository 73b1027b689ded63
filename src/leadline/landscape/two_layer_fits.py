"""Small two-layer ReLU networks without biases as classifiers: their losses, training, and the order of their units."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from leadline._arrays import namespace, special
from leadline.networks import TwoLayer
from leadline.training import minimise

Outputs = Float[Array | np.ndarray, "N k"]
Labels = Int[Array | np.ndarray, " N"]
Loss = Float[Array | np.floating, ""]


def random_two_layer(rng: np.random.Generator, inputs: int, width: int, outputs: int) -> TwoLayer:
    """W from N(0, 2/d) and V from N(0, 1/m): outputs of the order of the inputs at any width m."""
    return TwoLayer(
        rng.normal(0.0, np.sqrt(2 / inputs), (width, inputs)), rng.normal(0.0, np.sqrt(1 / width), (outputs, width))
    )


def squared_loss(outputs: Outputs, targets: Outputs) -> Loss:
    """mean ‖f − y‖².

    >>> float(squared_loss(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]])))
    5.0
    """
    return ((outputs - targets) ** 2).sum(axis=1).mean()


def softmax_loss(outputs: Outputs, labels: Labels) -> Loss:
    """The mean cross-entropy of the labels under softmax(f).

    >>> round(float(softmax_loss(np.zeros((3, 4)), np.array([0, 1, 3]))), 6)
    1.386294
    """
    xp = namespace(outputs)
    right = xp.take_along_axis(outputs, labels[:, None], axis=1)[:, 0]
    return (special(xp).logsumexp(outputs, axis=1) - right).mean()


def squared_risk(net: TwoLayer, inputs: Float[Array | np.ndarray, "N d"], labels: Labels) -> Loss:
    """The squared loss of a network whose targets are the labels as unit vectors."""
    return squared_loss(net(inputs), namespace(inputs).eye(len(net.head))[labels])


def softmax_risk(net: TwoLayer, inputs: Float[Array | np.ndarray, "N d"], labels: Labels) -> Loss:
    """The mean cross-entropy of a network."""
    return softmax_loss(net(inputs), labels)


RISKS: dict[str, Callable[..., Any]] = {"squared": squared_risk, "softmax": softmax_risk}


@cache
def falling_adam(rate: float, num_steps: int) -> optax.GradientTransformation:
    """Adam whose step size falls linearly from `rate` to 0; one object for equal numbers, so that it compiles once."""
    return optax.adam(optax.linear_schedule(rate, 0.0, num_steps))


def fit_two_layer(
    start: TwoLayer,
    inputs: Float[np.ndarray, "N d"],
    labels: Int[np.ndarray, " N"],
    *,
    rng: np.random.Generator,
    loss: str = "squared",
    num_steps: int = 300,
    batch: int = 64,
    rate: float = 0.01,
) -> TwoLayer:
    """Adam on random batches, its step size falling to 0; classes by one-hot squares or by softmax. Weights in NumPy.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> net = fit_two_layer(random_two_layer(rng, 2, 16, 2), x, (x[:, 0] > 0).astype(int), rng=rng)
    >>> bool(np.mean((net(x)[:, 1] > net(x)[:, 0]) == (x[:, 0] > 0)) > 0.95)
    True
    """
    if loss not in RISKS:
        raise ValueError(f"The loss {loss!r} is not known here; choose 'squared' or 'softmax'.")
    if labels.min() < 0 or labels.max() >= len(start.head):
        raise ValueError(
            f"Labels go from {labels.min()} to {labels.max()}, but the network has {len(start.head)} outputs; "
            "give labels from 0 to one less than that."
        )
    rule, key = falling_adam(rate, num_steps), jax.random.key(int(rng.integers(2**31)))
    arrays = jnp.asarray(inputs), jnp.asarray(labels)
    net, _ = minimise(RISKS[loss], jax.tree.map(jnp.asarray, start), rule, num_steps, *arrays, batch=batch, key=key)
    return jax.tree.map(np.asarray, net)


def match_hidden_units(a: TwoLayer, b: TwoLayer) -> TwoLayer:
    """b with its hidden units in the order that maximises ⟨Wᵃ, P Wᵇ⟩ + ⟨Vᵃ, Vᵇ Pᵀ⟩: one linear assignment.

    `networks.match_weights` for these networks, where it is the optimum.

    >>> net = TwoLayer(np.array([[1.0], [2.0]]), np.array([[3.0, 5.0]]))
    >>> match_hidden_units(net, TwoLayer(net.weight[::-1], net.head[:, ::-1])).head.tolist()
    [[3.0, 5.0]]
    """
    from scipy.optimize import linear_sum_assignment

    order = linear_sum_assignment(a.weight @ b.weight.T + a.head.T @ b.head, maximize=True)[1]
    return TwoLayer(b.weight[order], b.head[:, order])


class WeightComparison:
    """How alike the weights of two networks are, for the order their hidden units have and for the best.

    >>> net = TwoLayer(np.eye(2), np.array([[3.0, 5.0]]))
    >>> pair = WeightComparison(net, TwoLayer(net.weight[::-1], net.head[:, ::-1]))
    >>> round(pair.cosine, 6), round(pair.matched, 6)
    (0.833333, 1.0)
    """

    def __init__(self, a: TwoLayer, b: TwoLayer) -> None:
        norms = [np.sqrt(np.sum(n.weight**2) + np.sum(n.head**2)) for n in (a, b)]
        # What putting unit l of b in the place of unit k of a adds to the cosine.
        self.gains = (a.weight @ b.weight.T + a.head.T @ b.head) / np.prod(norms)

    @property
    def cosine(self) -> float:
        return float(np.trace(self.gains))

    @property
    def matched(self) -> float:
        """The largest cosine over all orders of the units, as `networks.match_weights` finds it for one layer."""
        from scipy.optimize import linear_sum_assignment

        return float(self.gains[linear_sum_assignment(self.gains, maximize=True)].sum())

    @property
    def score(self) -> float:
        """The cosine less its mean over random orders, in their standard deviations (Hoeffding 1951)."""
        g = self.gains
        centred = g - g.mean(axis=0) - g.mean(axis=1)[:, None] + g.mean()
        return float((np.trace(g) - g.sum() / len(g)) / np.sqrt(np.sum(centred**2) / (len(g) - 1)))
