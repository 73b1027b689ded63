"""What the layers of a network hold on a data set: values, their rank, and what a linear classifier reads there."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .architectures.fully_connected import MLP

Matrix = Float[Array | np.ndarray, "n d"]


class LayerFeatures(NamedTuple):
    """Values on a data set, one row an input: pre-activations z₁..z_L, post-activations x₀ (the input) .. x_L."""

    pre: tuple[Float[Array, "n _"], ...]
    post: tuple[Float[Array, "n _"], ...]


class FeatureStatistics(NamedTuple):
    """Over units and inputs of one layer: mean, variance, share of exact zeros, and the effective rank."""

    mean: float
    variance: float
    sparsity: float
    effective_rank: float


def layer_features(net: MLP, inputs: Float[Array | np.ndarray, "n ..."]) -> LayerFeatures:
    """Pre- and post-activations of every layer on a data set.

    >>> features = layer_features(MLP((4, 3, 2), key=jax.random.key(0)), jnp.ones((7, 4)))
    >>> [z.shape for z in features.pre], [h.shape for h in features.post]
    ([(7, 3), (7, 2)], [(7, 4), (7, 3), (7, 2)])
    """
    trace = jax.vmap(net.trace)(jnp.asarray(inputs))
    return LayerFeatures(trace.pre, trace.post)


def effective_rank(features: Matrix) -> float:
    """exp of the entropy of p_i = s_i²/Σ s², with s the singular values: at most the rank, equal for equal s_i.

    Roy and Vetterli 2007, with squared singular values. 0 for a matrix of zeros.

    >>> round(effective_rank(np.diag([2.0, 2.0, 2.0, 0.0])), 6)
    3.0
    """
    s = np.linalg.svd(np.asarray(features, float), compute_uv=False)
    total = np.sum(s**2)
    if total == 0:
        return 0.0
    p = s**2 / total
    p = p[p > 0]
    return float(np.exp(-np.sum(p * np.log(p))))


def feature_statistics(features: Matrix) -> FeatureStatistics:
    """Mean, variance, sparsity and effective rank of the features of one layer.

    >>> statistics = feature_statistics(np.array([[0.0, 2.0], [0.0, 2.0]]))
    >>> statistics.mean, statistics.variance, statistics.sparsity, round(statistics.effective_rank, 6)
    (1.0, 1.0, 0.5, 1.0)
    """
    values = np.asarray(features, float)
    return FeatureStatistics(
        float(values.mean()), float(values.var()), float(np.mean(values == 0)), effective_rank(values)
    )


def probe_accuracy(
    train_features: Matrix,
    train_labels: Int[Array | np.ndarray, " n"],
    test_features: Float[Array | np.ndarray, "m d"],
    test_labels: Int[Array | np.ndarray, " m"],
    *,
    penalty: float = 1.0,
) -> float:
    """Test accuracy of a linear probe: logistic regression on frozen, standardised features. Alain and Bengio 2017.

    `penalty` is the weight of ‖w‖²/2 beside the summed cross-entropy.

    >>> x, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> probe_accuracy(x, y, x, y)
    1.0
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if penalty <= 0:
        raise ValueError(f"probe_accuracy got penalty {penalty}; give a number above 0.")
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=1 / penalty, max_iter=1000))
    probe.fit(np.asarray(train_features), np.asarray(train_labels))
    return float(probe.score(np.asarray(test_features), np.asarray(test_labels)))


def principal_plane(features: Matrix) -> Float[np.ndarray, "n 2"]:
    """The features on the two directions along which they vary most (principal components), largest first.

    >>> points = np.outer(np.arange(3.0), [0.6, 0.8, 0.0])
    >>> np.abs(principal_plane(points)).round(6).tolist()
    [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    values = np.asarray(features, float)
    if min(values.shape) < 2:
        raise ValueError(f"principal_plane got features of shape {values.shape}; it needs two rows and two columns.")
    u, s, _ = np.linalg.svd(values - values.mean(0), full_matrices=False)
    return u[:, :2] * s[:2]
