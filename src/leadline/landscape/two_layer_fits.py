"""Small two-layer ReLU networks without biases, trained by Adam in NumPy: nothing is compiled."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from .paths.almost_convex_paths import TwoLayer


def random_two_layer(rng: np.random.Generator, inputs: int, width: int, outputs: int) -> TwoLayer:
    """W₁ from N(0, 2/d) and W₂ from N(0, 1/n): outputs of the order of the inputs at any width n."""
    return TwoLayer(
        rng.normal(0.0, np.sqrt(2 / inputs), (width, inputs)), rng.normal(0.0, np.sqrt(1 / width), (outputs, width))
    )


def squared_loss(outputs: Float[np.ndarray, "N k"], targets: Float[np.ndarray, "N k"]) -> float:
    """mean ‖f − y‖².

    >>> squared_loss(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]]))
    5.0
    """
    return float(np.mean(np.sum((outputs - targets) ** 2, axis=1)))


def softmax_loss(outputs: Float[np.ndarray, "N k"], labels: Int[np.ndarray, " N"]) -> float:
    """The mean cross-entropy of the labels under softmax(f).

    >>> round(softmax_loss(np.zeros((3, 4)), np.array([0, 1, 3])), 6)
    1.386294
    """
    from scipy.special import logsumexp

    return float(np.mean(logsumexp(outputs, axis=1) - outputs[np.arange(len(labels)), labels]))


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
    """Adam (β = 0.9, 0.999) on batches drawn with replacement; classes by one-hot squares or by softmax.

    The step size falls linearly from `rate` to 0.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> net = fit_two_layer(random_two_layer(rng, 2, 16, 2), x, (x[:, 0] > 0).astype(int), rng=rng)
    >>> bool(np.mean((net(x)[:, 1] > net(x)[:, 0]) == (x[:, 0] > 0)) > 0.95)
    True
    """
    _check(loss, labels, start)
    targets = np.eye(len(start.second))[labels]

    def gradients(weights: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        rows = rng.integers(0, len(inputs), batch)
        return two_layer_gradients(TwoLayer(*weights), inputs[rows], targets[rows], loss)

    return TwoLayer(*_adam([w.copy() for w in start], gradients, num_steps, rate))


def bend_between(
    a: TwoLayer,
    b: TwoLayer,
    inputs: Float[np.ndarray, "N d"],
    labels: Int[np.ndarray, " N"],
    *,
    rng: np.random.Generator,
    loss: str = "squared",
    num_steps: int = 300,
    batch: int = 64,
    rate: float = 0.01,
) -> TwoLayer:
    """The control point M of the Bézier curve (1−t)² a + 2t(1−t) M + t² b whose mean loss over t is least, by Adam.

    What `train_curve` does for any pytree, here in NumPy: the gradient in M is 2t(1−t) that of the loss at the point,
    for one random t and batch a step. Starts from the middle of the line. `Curve(a, bends, b, "bezier")` with M as its
    one bend, or `bezier_point`, is the curve.
    """
    _check(loss, labels, a)
    targets = np.eye(len(a.second))[labels]

    def gradients(weights: list[np.ndarray]) -> list[np.ndarray]:
        t = rng.uniform()
        rows = rng.integers(0, len(inputs), batch)
        at = bezier_point(a, TwoLayer(*weights), b, t)
        return [2 * t * (1 - t) * g for g in two_layer_gradients(at, inputs[rows], targets[rows], loss)]

    return TwoLayer(*_adam([(p + q) / 2 for p, q in zip(a, b, strict=True)], gradients, num_steps, rate))


def match_hidden_units(a: TwoLayer, b: TwoLayer) -> TwoLayer:
    """b with its hidden units in the order that maximises ⟨W₁ᵃ, P W₁ᵇ⟩ + ⟨W₂ᵃ, W₂ᵇ Pᵀ⟩: one linear assignment.

    `networks.match_weights` for these networks, where it is the optimum; in NumPy.

    >>> net = TwoLayer(np.array([[1.0], [2.0]]), np.array([[3.0, 5.0]]))
    >>> match_hidden_units(net, TwoLayer(net.first[::-1], net.second[:, ::-1])).second.tolist()
    [[3.0, 5.0]]
    """
    from scipy.optimize import linear_sum_assignment

    order = linear_sum_assignment(a.first @ b.first.T + a.second.T @ b.second, maximize=True)[1]
    return TwoLayer(b.first[order], b.second[:, order])


def bezier_point(a: TwoLayer, bend: TwoLayer, b: TwoLayer, t: float) -> TwoLayer:
    """(1−t)² a + 2t(1−t) bend + t² b.

    >>> nets = [TwoLayer(np.full((2, 1), v), np.full((1, 2), v)) for v in (0.0, 1.0, 0.0)]
    >>> bezier_point(*nets, 0.5).first.ravel().tolist()
    [0.5, 0.5]
    """
    return TwoLayer(*((1 - t) ** 2 * p + 2 * t * (1 - t) * m + t**2 * q for p, m, q in zip(a, bend, b, strict=True)))


def two_layer_gradients(
    net: TwoLayer, inputs: Float[np.ndarray, "N d"], targets: Float[np.ndarray, "N k"], loss: str
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "k n"]]:
    """The gradients in W₁ and W₂ of mean ‖f − y‖², or of the mean cross-entropy of one-hot targets under softmax(f).

    >>> net = TwoLayer(np.ones((1, 1)), np.ones((1, 1)))
    >>> [g.item() for g in two_layer_gradients(net, np.array([[2.0]]), np.array([[0.0]]), "squared")]
    [8.0, 8.0]
    """
    hidden = np.maximum(inputs @ net.first.T, 0.0)  # (N, n)
    outputs = hidden @ net.second.T  # (N, k)
    if loss == "squared":
        error = 2 * (outputs - targets) / len(inputs)
    else:
        shares = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        error = (shares / shares.sum(axis=1, keepdims=True) - targets) / len(inputs)
    return ((error @ net.second) * (hidden > 0)).T @ inputs, error.T @ hidden


def _check(loss: str, labels: np.ndarray, net: TwoLayer) -> None:
    if loss not in ("squared", "softmax"):
        raise ValueError(f"The loss {loss!r} is not known here; choose 'squared' or 'softmax'.")
    if labels.min() < 0 or labels.max() >= len(net.second):
        raise ValueError(
            f"Labels go from {labels.min()} to {labels.max()}, but the network has {len(net.second)} outputs; "
            "give labels from 0 to one less than that."
        )


def _adam(weights: list[np.ndarray], gradients: Callable, num_steps: int, rate: float) -> list[np.ndarray]:
    means, squares = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    for t in range(1, num_steps + 1):
        size = rate * (1 - (t - 1) / num_steps)
        for w, g, m, s in zip(weights, gradients(weights), means, squares, strict=True):
            m += 0.1 * (g - m)
            s += 0.001 * (g * g - s)
            w -= size / (1 - 0.9**t) * m / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
    return weights
