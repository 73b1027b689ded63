"""What a learner must forget: a background that agrees with the label in training and not at test."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, frequency
from leadline.presentation import figure
from leadline.training import minimise


@claim(sources=("penn",))
def spurious_background(
    key,
    strength: Real(0.4, 0.6) = 0.5,
    background: Real(0.8, 1.5) = 1.0,
    samples: Int(800, 1500) = 1000,
    ridge: Real(0.005, 0.05, log=True) = 0.02,
):
    r"""Spurious correlation with the background.

    If a background agrees with the label with probability q in training and 1 − q at test, a model that uses it loses
    accuracy as q grows, and at q = 1 a background stronger than the signal makes it fail completely: learning must
    discard what transmission would keep.

    $$x = y\,a\,\text{bar} + b\,\text{background} + \varepsilon, \qquad P_{\mathrm{train}}(b = y) = q, \quad
    P_{\mathrm{test}}(b = y) = 1 - q$$

    Assumes: the background carries more signal than the bar.

    Check: The images are 8 × 8: a central bar of 8 pixels has the value ±`strength`, the other 56 pixels
    ±`background`, all with unit noise.
    """
    from scipy.special import ndtr

    rng, fresh = data.generator(key), 4000
    shares = np.array([0.5, 0.8, 0.9, 0.95, 1.0])
    centre = np.zeros((8, 8), bool)
    centre[2:6, 3:5] = True
    bar = centre.ravel()
    looks = strength, background
    drawn = [(_scenes(rng, bar, samples, q, *looks), _scenes(rng, bar, fresh, 1 - q, *looks)) for q in shares]
    right, spread, maps = [], [], []
    for q, ((x, y), (test_x, test_y)) in zip(shares, drawn, strict=True):
        fit = learning.fit_logistic(x, (y + 1) / 2, ridge=ridge)
        w = fit.weights
        hits = np.sum(np.sign(fit.log_odds(test_x)) == test_y)
        signal, nuisance = strength * w[bar].sum(), background * w[~bar].sum()
        score = np.add.outer([signal + nuisance, signal - nuisance], [fit.bias, -fit.bias])  # b = ±y, y = ±1
        exact = np.array([1 - q, q]) @ ndtr(score / np.linalg.norm(w)).mean(axis=1)
        what = f"q = {q:g}: accuracy where the background is shifted, given the weights"
        yield frequency(hits, fresh, exact, what)
        right.append(hits / fresh)
        spread.append(np.abs(w[~bar]).sum() / np.abs(w).sum())
        maps.append((f"q = {q:g}", (w / np.abs(w).max()).reshape(8, 8)))
    yield at_most(np.diff(right), 0.0, "rise of the shifted accuracy with q", strict=True)
    yield at_least(right[0], 0.8, "accuracy at q = ½, where the background says nothing")
    yield at_most(right[-1], 0.05, "shifted accuracy at q = 1")
    yield at_least(spread[-1], spread[0] + 0.3, "share of |w| on the background at q = 1, against that at ½ plus 0.3")
    accuracy, gradients = _network_shifts(rng, bar, drawn)
    yield at_most(accuracy[-1], 0.05, "a network: shifted accuracy at q = 1")
    yield at_least(accuracy[0], accuracy[-1] + 0.5, "a network: accuracy at q = ½, against that at 1 plus ½")
    what = "a network: share of the input gradient on the background at q = 1, against ½"
    yield at_least(gradients[-1], gradients[0], what)
    theory = np.linspace(0.5, 1, 30)
    expected = [_population(q, strength, background, ridge) for q in theory]
    yield figure.curves(
        f"Shifted accuracy falls from {right[0]:.2f} at q = ½ to {right[-1]:.2f} at q = 1",
        "q: background agrees with the label in training",
        "accuracy, background shifted",
        lines={"ridge logistic, infinite sample": (theory, expected)},
        points={f"ridge logistic, {samples} images": (shares, right), "network, 32 units": (shares, accuracy)},
    )
    title = f"The share of the weights' size on the background grows from {spread[0]:.2f} to {spread[-1]:.2f}"
    yield figure.images(title, images=maps, columns=5, diverging=True)


def _scenes(rng, bar: np.ndarray, count: int, q: float, strength: float, background: float):
    """Images in rows and their labels ±1; the background agrees with the label with probability q."""
    y = rng.choice([-1.0, 1.0], count)
    b = np.where(rng.random(count) < q, y, -y)
    clean = np.where(bar, strength * y[:, None], background * b[:, None])
    return clean + rng.standard_normal((count, bar.size)), y


def _population(q: float, strength: float, background: float, ridge: float) -> float:
    """Shifted accuracy of ridge logistic regression on the distribution itself, by its sums over the two parts."""
    from scipy.optimize import minimize
    from scipy.special import ndtr

    z, weight = np.polynomial.hermite_e.hermegauss(60)
    weight = weight / weight.sum()
    signal = np.array([[1, 1], [1, -1]]) * [strength * 8**0.5, background * 56**0.5]  # b = y, b = -y

    def loss(w):
        size = np.linalg.norm(w)
        losses = np.logaddexp(0, -((signal @ w)[:, None] + size * z)) @ weight
        return ridge / 2 * size**2 + np.array([q, 1 - q]) @ losses

    w = minimize(loss, np.array([1.0, 0.1]), method="BFGS").x
    return float(np.array([1 - q, q]) @ ndtr(signal @ w / np.linalg.norm(w)))


def _network_shifts(rng, bar: np.ndarray, drawn: list, units: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Shifted accuracy, and the share of the mean absolute input gradient on the background, one network per q."""
    x, y, test_x, test_y = (np.stack([pair[i][j] for pair in drawn], dtype=np.float32) for i in (0, 1) for j in (0, 1))
    first = rng.standard_normal((len(x), bar.size, units), dtype=np.float32) / np.float32(8)
    last = rng.standard_normal((len(x), units), dtype=np.float32) / np.float32(units**0.5)

    def score(net, x):
        return jax.nn.relu(x @ net[0]) @ net[1]

    def loss(net, x, y):
        return jnp.mean(jax.nn.softplus(-y * score(net, x)))

    rule = optax.adamw(1e-2, weight_decay=0.1)
    nets = (jnp.asarray(first), jnp.asarray(last))
    total = lambda nets, x, y: jnp.sum(jax.vmap(loss)(nets, x, y))  # noqa: E731
    end, _ = minimise(total, nets, rule, 60, jnp.asarray(x), jnp.asarray(y))
    first, last = (np.asarray(w) for w in end)
    hidden = test_x @ first
    accuracy = np.mean(np.sign(np.einsum("qnu,qu->qn", np.maximum(hidden, 0), last)) == test_y, axis=1)
    gradient = np.abs(((hidden > 0) * last[:, None, :]) @ first.transpose(0, 2, 1)).mean(axis=1)  # (q, pixels)
    return accuracy, gradient[:, ~bar].sum(axis=1) / gradient.sum(axis=1)
