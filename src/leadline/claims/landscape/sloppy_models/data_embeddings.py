"""Training runs of many architectures as curves in one data space, drawn in a plane."""

import equinox as eqx
import jax
import numpy as np
import optax

from leadline import data, networks, training
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.evidence import Int, at_least, at_most, close, instrument
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.path_lengths import optimiser_path
from leadline.landscape.sloppiness.manifolds.trajectory_embeddings import distance_embedding
from leadline.landscape.sloppiness.models.regression_models import linear_model
from leadline.presentation import figure

_CLASSIFIERS = {"softmax": (), "16 ReLU": (16,), "64 ReLU": (64,), "32-32 ReLU": (32, 32)}


def _regression_paths(rng, runs, steps):
    """Predictions at 30 probes along descent on sin 2x, for networks and a polynomial; {name: (runs, t, n)}."""
    xs, probes = np.linspace(-2, 2, 15), np.linspace(-2, 2, 30)
    basis = np.polynomial.chebyshev.chebvander
    makers = {
        "polynomial": linear_model(lambda x: basis(x / 2, 6), xs, [f"T{k}" for k in range(7)]),
        "4 tanh units": sloppiness.network_model(xs, 4),
        "12 tanh units": sloppiness.network_model(xs, 12),
    }
    kept, target, paths = np.unique(np.geomspace(1, steps + 1, 30).astype(int)) - 1, np.sin(2 * xs), {}
    for name, regression in makers.items():
        paths[name] = []
        for w in rng.normal(size=(runs, regression.size)) * 0.4:
            path = optimiser_path(regression, target, w, "gradient", step_size=0.1, num_steps=steps)
            paths[name].append(regression.at(probes).predict(path[kept]))
    return {name: np.stack(found) for name, found in paths.items()}


def _digit_paths(rng, runs, probes, epochs):
    """Class probabilities at probe digits through training; {name: (runs, t, n, 10)}."""
    x, y = data.digits()
    x, y = np.asarray(x, float).reshape(len(x), -1), np.asarray(y)
    x = x / x.max()
    order = rng.permutation(len(x))
    train, probe = order[:300], order[300 : 300 + probes]
    paths = {}
    for name, hidden in _CLASSIFIERS.items():
        nets = [drawn(rng, networks.MLP, (64, *hidden, 10), "relu", bias_scale=0.0) for _ in range(runs)]
        rows = [rng.permutation(train) for _ in range(runs * epochs)]
        rows = np.reshape(rows, (runs, epochs * 3, 100))
        paths[name] = [_probabilities(net, x, y, each, x[probe]) for net, each in zip(nets, rows, strict=True)]
    return {name: np.clip(np.array(found), 1e-12, None) for name, found in paths.items()}, y[probe]


@eqx.filter_jit
def _probabilities(net, x, y, rows, probes):
    """The class probabilities of the probes after every epoch of Adam at 10⁻² on three batches of 100 digits each."""
    static = eqx.filter(net, eqx.is_inexact_array, inverse=True)

    def losses(net, rows, *_):
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x[rows]), y[rows]), None

    def record(seen):
        return jax.nn.softmax(jax.vmap(eqx.combine(seen.after.parameters, static))(probes))

    return training.scan_steps(losses, net, optax.adam(1e-2), rows, record=record, every=3).recorded


@instrument(sources=("penn",), shows=("landscape.sloppiness.intensive_embedding",))
def data_space_embedding(
    key, runs: Int(1, 4) = 2, probes: Int(20, 300) = 60, num_steps: Int(100, 1000) = 200, epochs: Int(5, 40) = 12
):
    r"""Training runs embedded in data space.

    The predictions of any model on a fixed probe set are a point of one data space, so that training runs of different
    architectures are curves in it. PCA (for regression) or InPCA (for probabilities) draws them in a plane and says
    what share of the variation the plane shows; with all coordinates every distance is exact.

    $$D_{uv} = -\frac{1}{n} \sum_i \ln \sum_c \sqrt{p_{ui}(c)\, p_{vi}(c)}, \quad -\tfrac{1}{2} L D L = U \Lambda U^T$$

    Check: Descent on sin 2x, a polynomial and two networks; four classifiers of 300 digits.
    """
    rng = data.generator(key)
    regression = _regression_paths(rng, runs, num_steps)
    points = np.concatenate([p.reshape(-1, p.shape[-1]) for p in regression.values()])
    flat = sloppiness.pca_embedding(points)
    exact = ((points[:, None] - points[None]) ** 2).sum(-1)
    within, drawn = 1e-9 * exact.max(), flat.squared_distances(2)
    yield close(flat.squared_distances(), exact, "PCA: squared distances in all coordinates", atol=within)
    yield at_most(drawn, exact, "PCA: squared distances in the plane, against those in data space", atol=within)
    shown = flat.explained[:2].sum()
    yield close(drawn.sum() / exact.sum(), shown, "PCA: kept share of all squared distances, against Σλ", rtol=1e-9)
    classified, labels = _digit_paths(rng, runs, probes, epochs)
    n = len(labels)
    truth, ignorance = np.eye(10)[labels], np.full((n, 10), 0.1)
    models = np.concatenate([p.reshape(-1, n, 10) for p in classified.values()] + [truth[None], ignorance[None]])
    models /= models.sum(-1, keepdims=True)
    distances = sloppiness.intensive_distances(models)
    made = distance_embedding(distances)
    yield close(made.squared_distances(), distances, "InPCA: distances in all coordinates", atol=1e-9 * distances.max())
    yield close(distances[-1, -2], np.log(10) / 2, "InPCA: ignorance to truth, against ½ ln 10", rtol=1e-12)
    shares, what = made.explained[:3], f"InPCA: share of the first 3 of {len(models)} coordinates, against chance"
    yield at_least(shares.sum(), 3 / len(models), what)
    ends = {"truth": made.coordinates[-2:-1], "ignorance": made.coordinates[-1:]}
    left = _plane("regression of sin 2x, PCA", flat, regression, {})
    right = _plane("digits, InPCA of class probabilities", made, classified, ends)
    title = f"Two coordinates show {shown:.0%} (regression) and {shares[:2].sum():.0%} (digits, InPCA) of the variation"
    yield figure.beside(title, left, right)


def _plane(title, embedding, paths, marks):
    """One cloud an architecture: its runs, point by point."""
    clouds, begin, shares = {}, 0, embedding.explained
    for name, path in paths.items():
        clouds[name] = embedding.coordinates[begin : (begin := begin + path.shape[0] * path.shape[1])]
    points = {name: tuple(c[:, :2].T) for name, c in (clouds | marks).items()}
    return figure.curves(title, f"coordinate 1 ({shares[0]:.0%})", f"coordinate 2 ({shares[1]:.0%})", points=points)
