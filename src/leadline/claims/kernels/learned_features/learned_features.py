"""From frozen to learned features: the two-layer network, and the kernel it learns."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, at_least, at_most, claim, close, exactly, model
from leadline.kernels import features
from leadline.kernels.features.two_layer import stack_networks
from leadline.learning.regression.linear import LinearFit
from leadline.learning.regression.random_features import FEATURE_ACTIVATIONS, RandomFeatures
from leadline.networks import MLP, parameter_count
from leadline.presentation import figure

_STEPS, _DECAY = 300, 1.0  # of AdamW at rate 0.01, for every sparse parity here


def _hidden(net: MLP, x: np.ndarray) -> np.ndarray:
    """The ReLU layer on the rows of x, in NumPy: snapshots have many shapes to compile otherwise."""
    layer = net.layers[0]
    return np.maximum(x @ np.asarray(layer.weight).T + np.asarray(layer.bias), 0)


def _scores(net: MLP, x: np.ndarray) -> np.ndarray:
    layer = net.layers[1]
    return _hidden(net, x) @ np.asarray(layer.weight)[0] + np.asarray(layer.bias)[0]


@model(sources=("penn",), shows=("networks.MLP",), empirical=True)
def two_layer_network(key, dim: Int(20, 40) = 40, units: Int(80, 200) = 100):
    r"""Two-layer network with learned features.

    In sgn(w·σ(Sᵀx + b)) train w, S and b: p(d + 2) parameters instead of p. With S and b frozen it is the
    random-feature model; on the product x₁x₂ of signs in 40 dimensions, 100 trained units reach test accuracy 1 from
    1000 examples, where 4000 frozen ones do not.

    $$f(x) = \operatorname{sgn}(w \cdot \sigma(S^T x + b)), \qquad p(d + 2) \text{ parameters}$$

    Check: The network is trained on 1000 examples of x₁x₂, all at once, by AdamW on the logistic loss; then it is
    tried with twice as many coordinates.
    """
    train, test = _parity(key, dim)
    start = features.draw_two_layer(dim, units, key=key)
    yield exactly(parameter_count(start) - 1, units * (dim + 2), "parameters besides the output bias, against p(d + 2)")
    frozen = features.train_two_layer(start, *train, num_steps=_STEPS, decay=_DECAY, frozen=True)
    layer, readout = frozen.network.layers
    moved = [jnp.abs(layer.weight - start.layers[0].weight).max(), jnp.abs(layer.bias - start.layers[0].bias).max()]
    yield exactly(moved, 0.0, "largest change of S and of b in training with S frozen")
    relu = FEATURE_ACTIVATIONS["relu"]
    drawn = RandomFeatures(np.asarray(layer.weight), np.asarray(layer.bias), relu)
    linear = LinearFit(np.asarray(readout.weight)[0], float(readout.bias[0])).predict(drawn(test[0]))
    scores = np.asarray(jax.vmap(frozen.network)(jnp.asarray(test[0])))[:, 0]
    tolerance = 1e-5 * float(1 + np.abs(linear).max())
    yield close(scores, linear, "scores of the frozen network, against the random-feature model's", atol=tolerance)
    run = features.train_two_layer(start, *train, num_steps=_STEPS, decay=_DECAY)
    accuracy = {
        f"{units} trained": _accuracy(_scores(run.network, test[0]), test[1]),
        f"{units} frozen": _accuracy(scores, test[1]),
        "4000 frozen": _frozen_accuracy(key, train, test),
    }
    trained, few, many = accuracy.values()
    yield at_least(trained, 0.99, f"test accuracy of {units} trained units, d = {dim}")
    yield at_least(trained, few, "test accuracy, trained against the same units frozen", strict=True)
    yield at_least(trained, many, "test accuracy, trained against 4000 frozen units")
    train, test = _parity(jax.random.fold_in(key, 1), 2 * dim)
    wider = features.draw_two_layer(2 * dim, units, key=key)
    wide = features.train_two_layer(wider, *train, num_steps=_STEPS, decay=_DECAY)
    doubled = {
        f"{units} trained": _accuracy(_scores(wide.network, test[0]), test[1]),
        "4000 frozen": _frozen_accuracy(key, train, test),
    }
    learned, fixed = doubled.values()
    yield at_least(learned, fixed, f"test accuracy, trained against 4000 frozen units, d = {2 * dim}", strict=True)
    heavy = np.argsort(-np.abs(np.asarray(run.network.layers[1].weight)[0]))[:14]
    targets = {"x₁x₂ = +1": [[1, 1], [-1, -1]], "x₁x₂ = −1": [[1, -1], [-1, 1]]}
    panels, domain = [], ((-1.6, 1.6), (-1.6, 1.6))
    for name, net in (("before training", start), ("after", run.network)):
        title, lines = f"{name}: where 14 units switch on", {"units": _unit_lines(net, heavy)}
        panels.append(figure.plane(title, "x₁", "x₂", points=targets, lines=lines, domain=domain))
    values = {f"d = {dim}": accuracy, f"d = {2 * dim}": doubled}
    yield figure.beside(
        f"x₁x₂ from 1000 examples: {units} trained units reach {trained:.2f} in {dim} dimensions and {learned:.2f} in "
        f"{2 * dim}, 4000 frozen ones {many:.2f} and {fixed:.2f}",
        *panels,
        figure.bars("test accuracy (chance: 0.5)", "units", "accuracy", values=values),
    )


def _parity(key, dim: int):
    x, y = data.sparse_parity(2000, dim, key=key, dtype=np.float32)
    return (x[:1000], y[:1000]), (x[1000:], y[1000:])


def _accuracy(scores: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(np.sign(scores) == y))


def _frozen_accuracy(key, train, test) -> float:
    phi = learning.draw_features(train[0].shape[1], 4000, "relu", key=key, dtype=np.float32)
    return _accuracy(learning.fit_readout(phi, *train, ridge=40.0).predict(phi(test[0])), test[1])


def _unit_lines(net: MLP, units: np.ndarray, far: float = 100.0) -> tuple[np.ndarray, np.ndarray]:
    """The lines s₁x₁ + s₂x₂ + b = 0 of some units as one path, which goes from line to line on a far circle."""
    weight, bias = (np.asarray(a, float)[units] for a in (net.layers[0].weight[:, :2], net.layers[0].bias))
    path = []
    for (a, b), c in zip(weight, bias, strict=True):
        foot, along = -c * np.array([a, b]) / (a**2 + b**2), np.array([-b, a]) / np.hypot(a, b)
        if foot @ foot >= far**2:
            continue
        reach = np.sqrt(far**2 - foot @ foot)
        ends = [foot - reach * along, foot + reach * along]
        if path:
            angles = np.unwrap([np.arctan2(*p[::-1]) for p in (path[-1], ends[0])])
            path += [far * np.array([np.cos(t), np.sin(t)]) for t in np.linspace(*angles, 60)]
        path += ends
    path = np.array(path)
    return path[:, 0], path[:, 1]


@claim(sources=("cam",), empirical=True)
def learned_layers_learn_the_kernel(key, dim: Int(20, 40) = 40, units: Int(80, 160) = 100):
    r"""Training aligns the hidden kernel.

    Training the lower layer moves the kernel of the hidden layer towards the target: on sparse parity, where features
    must be learned, the centred alignment rises from 0.01 to above 0.3; on digits, where the initial kernel already
    suits the task, it hardly moves.

    $$A(K, y) = \frac{\langle K, y y^T \rangle}{\|K\|\,\|y y^T\|} \quad \text{(both centred)}$$

    Check: Three networks are trained on parity and one on digits; alignment and accuracy are measured on held-out
    examples at ten times.
    """
    keys = jax.random.split(key, 3)
    tasks = [_parity(k, dim) for k in keys]
    nets = stack_networks([features.draw_two_layer(dim, units, key=k) for k in keys])
    x, y = (np.stack([train[part] for train, _ in tasks]) for part in (0, 1))
    train = partial(features.train_two_layer, num_steps=_STEPS, decay=_DECAY, snapshots=10)
    runs = eqx.filter_vmap(train)(nets, x, y)
    snapshots, times = jax.tree.map(np.asarray, runs.snapshots), np.arange(11) * (_STEPS // 10)
    parity, accuracy = np.zeros((3, 11)), np.zeros((3, 11))
    for s, (_, (held, labels)) in enumerate(tasks):
        for t in range(11):
            net = jax.tree.map(lambda leaf, s=s, t=t: leaf[s, t], snapshots)
            hidden = _hidden(net, held)
            parity[s, t] = features.alignment(hidden @ hidden.T, labels, centred=True)
            accuracy[s, t] = _accuracy(_scores(net, held), labels)
    yield at_most(parity[:, 0], 0.05, "parity, 3 networks: alignment before training")
    yield at_least(parity[:, -1], 0.3, "parity, 3 networks: alignment after training")
    yield at_least(parity[:, -1] / parity[:, 0], 10.0, "parity, 3 networks: alignment after training over that before")
    yield at_least(accuracy[:, -1], 0.99, "parity, 3 networks: test accuracy after training")
    images, labels = data.digits()
    images, seen = images.astype(np.float32), 1200
    net = features.draw_two_layer(64, 128, 10, key=key)
    run = features.train_two_layer(net, images[:seen], labels[:seen], loss="cross-entropy", num_steps=100, snapshots=10)
    classes = np.eye(10)[labels[seen:]]
    nets = [run.at(t) for t in range(11)]
    layers = [_hidden(n, images[seen:]) for n in nets]
    digits = [features.alignment(h @ h.T, classes, centred=True) for h in layers]
    outputs = [h @ n.layers[1].weight.T + n.layers[1].bias for h, n in zip(layers, nets, strict=True)]
    correct = [np.mean(out.argmax(axis=1) == labels[seen:]) for out in outputs]
    yield at_least(digits[0], 0.3, "digits: alignment before training")
    yield at_most(digits[-1] / digits[0], 1.5, "digits: alignment after training over that before")
    all_times, tens = np.tile(times, 3), np.arange(11) * 10
    left = {"alignment": (all_times, parity.ravel()), "accuracy": (all_times, accuracy.ravel())}
    right = {"alignment": (tens, digits), "accuracy": (tens, correct)}
    title = f"x₁x₂ in {dim} dimensions, {units} units, 3 networks"
    yield figure.beside(
        f"Alignment with the target: parity {parity[:, 0].mean():.3f} to {parity[:, -1].mean():.2f}, digits "
        f"{digits[0]:.2f} to {digits[-1]:.2f}",
        figure.curves(title, "step", "held-out value", points=left),
        figure.curves("digits, 128 units", "step", "held-out value", points=right),
    )
