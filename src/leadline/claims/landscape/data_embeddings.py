"""Training runs of many architectures as curves in one data space, drawn in a plane."""

import warnings
from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.evidence import Range, at_least, at_most, close, figure, instrument

_CLASSIFIERS = {"softmax": (), "16 ReLU": (16,), "64 ReLU": (64,), "32-32 ReLU": (32, 32)}


def _regression_paths(rng, runs, steps):
    """Predictions at 30 probes along descent on sin 2x, for networks and a polynomial; {name: (runs, t, n)}."""
    xs, probes = np.linspace(-2, 2, 15), np.linspace(-2, 2, 30)
    basis = np.polynomial.chebyshev.chebvander
    makers = {
        "polynomial": sloppiness.linear_model(lambda x: basis(x / 2, 6), xs, [f"T{k}" for k in range(7)]),
        "4 tanh units": sloppiness.network_model(xs, 4),
        "12 tanh units": sloppiness.network_model(xs, 12),
    }
    kept = np.unique(np.geomspace(1, steps + 1, 30).astype(int)) - 1
    paths = {}
    for name, regression in makers.items():
        starts = rng.normal(size=(runs, regression.size)) * 0.4
        found = [
            sloppiness.optimiser_path(regression, np.sin(2 * xs), w, "gradient", step=0.1, steps=steps) for w in starts
        ]
        paths[name] = np.stack([regression.at(probes).predict(p[kept]) for p in found])
    return paths


def _digit_paths(rng, runs, probes, epochs):
    """Class probabilities at probe digits through training, by scikit-learn; {name: (runs, t, n, 10)}."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.neural_network import MLPClassifier

    x, y = data.digits()
    x, y = np.asarray(x, float).reshape(len(x), -1), np.asarray(y)
    x = x / x.max()
    order = rng.permutation(len(x))
    train, probe = order[:300], order[300 : 300 + probes]
    paths = {}
    for name, hidden in _CLASSIFIERS.items():
        paths[name] = []
        for _ in range(runs):
            seed = int(rng.integers(2**31))
            network = (
                MLPClassifier(hidden, learning_rate_init=1e-2, batch_size=100, random_state=seed)
                if hidden
                else SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.02, alpha=0.0, random_state=seed)
            )
            laws = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for _ in range(epochs):
                    network.partial_fit(x[train], y[train], classes=np.arange(10))
                    laws.append(network.predict_proba(x[probe]))
            paths[name].append(laws)
    return {name: np.clip(np.array(laws), 1e-12, None) for name, laws in paths.items()}, y[probe]


@instrument(
    "data-space-embedding",
    says=(
        "The predictions of any model on a fixed probe set are a point of one data space, so that training runs of "
        "different architectures are curves in it. PCA (regression) or InPCA (probabilities) draws them in a plane and "
        "says what share it shows; with all coordinates every distance is exact."
    ),
    formula=r"D_{uv} = -\frac{1}{n} \sum_i \ln \sum_c \sqrt{p_{ui}(c)\, p_{vi}(c)}, "
    r"\quad -\tfrac{1}{2} L D L = U \Lambda U^T",
    sources=("penn",),
    shows=("sloppiness.pca_embedding", "sloppiness.intensive_embedding", "sloppiness.intensive_distances"),
)
def data_space_embedding(
    key,
    runs: Annotated[int, Range(1, 4)] = 2,
    probes: Annotated[int, Range(20, 300)] = 60,
    steps: Annotated[int, Range(100, 1000)] = 200,
    epochs: Annotated[int, Range(5, 40)] = 12,
):
    """Descent on sin 2x with a polynomial and two networks; four classifiers of digits trained on 300 examples."""
    rng = data.generator(key)
    regression = _regression_paths(rng, runs, steps)
    points = np.concatenate([p.reshape(-1, p.shape[-1]) for p in regression.values()])
    flat = sloppiness.pca_embedding(points)
    exact = ((points[:, None] - points[None]) ** 2).sum(-1)
    yield close(flat.squared_distances(), exact, "PCA: squared distances in all coordinates", atol=1e-9 * exact.max())
    yield at_most(flat.squared_distances(2), exact, "PCA: in the plane no distance grows", atol=1e-9 * exact.max())
    kept = flat.squared_distances(2).sum() / exact.sum()
    yield close(kept, flat.explained[:2].sum(), "PCA: kept share of all squared distances, against Σλ", rtol=1e-9)

    laws, labels = _digit_paths(rng, runs, probes, epochs)
    n = len(labels)
    truth, ignorance = np.eye(10)[labels], np.full((n, 10), 0.1)
    models = np.concatenate([p.reshape(-1, n, 10) for p in laws.values()] + [truth[None], ignorance[None]])
    models /= models.sum(-1, keepdims=True)
    distances = sloppiness.intensive_distances(models)
    made = sloppiness.distance_embedding(distances)
    yield close(made.squared_distances(), distances, "InPCA: distances in all coordinates", atol=1e-9 * distances.max())
    yield close(distances[-1, -2], np.log(10) / 2, "ignorance to truth: ½ ln 10", rtol=1e-12)
    shares = made.explained[:3]
    yield at_least(
        shares.sum(), 3 / len(models), f"InPCA: share of the first 3 of {len(models)} coordinates, above chance"
    )
    yield figure.beside(
        f"Training runs in one data space: two coordinates show {flat.explained[:2].sum():.0%} (regression) and "
        f"{shares[:2].sum():.0%} (digits, InPCA)",
        _plane("regression of sin 2x, PCA", flat, {k: p.shape[:2] for k, p in regression.items()}, {}),
        _plane(
            "digits, InPCA of class probabilities",
            made,
            {k: p.shape[:2] for k, p in laws.items()},
            {"truth": made.coordinates[-2:-1, :2], "ignorance": made.coordinates[-1:, :2]},
        ),
    )


def _plane(title, embedding, shapes, marks):
    """One cloud an architecture: its runs, point by point."""
    clouds, begin = {}, 0
    for name, (runs, length) in shapes.items():
        clouds[name] = embedding.coordinates[begin : begin + runs * length, :2]
        begin += runs * length
    shares = embedding.explained
    return figure.curves(
        title,
        x=f"coordinate 1 ({shares[0]:.0%})",
        y=f"coordinate 2 ({shares[1]:.0%})",
        points={name: tuple(c.T) for name, c in (clouds | marks).items()},
    )
