"""The two-layer network, and the Gram matrix of its last layer."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation, networks, tangent
from leadline.evidence import Choice, Range, at_least, at_most, close, exactly, figure, instrument, mean, model

SMOOTH = ("tanh", "sigmoid", "softplus", "gelu")


def on_sphere(points: int, dim: int, key) -> np.ndarray:
    """Independent uniform points on the unit sphere."""
    z = data.generator(key).standard_normal((points, dim))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


@eqx.filter_jit
def _many_outputs(weights, heads, x, activation: str):
    return jax.vmap(lambda W, v: tangent.TwoLayer(W, v, activation)(x))(weights, heads)


@model(
    "lecun-two-layer",
    says=(
        "A two-layer network without bias, W₁ of N(0, 1) and w₂ of N(0, 1/m) entries, trained in these entries: at "
        "the start its output at x has mean 0 and variance E σ(‖x‖Z)², whatever the width."
    ),
    formula=r"f(x) = w_2 \cdot \sigma(W_1 x), \qquad \operatorname{Var} f(x) = E\, \sigma(\|x\| Z)^2",
    sources=("cam",),
    shows=("tangent.TwoLayer", "tangent.lecun_two_layer"),
)
def lecun_two_layer(
    key,
    dim: Annotated[int, Range(1, 50)] = 5,
    width: Annotated[int, Range(1, 500)] = 60,
    activation: Annotated[str, Choice(*SMOOTH)] = "tanh",
    length: Annotated[float, Range(0.1, 5.0, log=True)] = 1.0,
    networks_drawn: Annotated[int, Range(500, 5000)] = 2000,
):
    """Gradients against differences; the law at one input over many draws; the kernel against automatic derivatives."""
    key_net, key_x, key_draws = jax.random.split(key, 3)
    net = tangent.lecun_two_layer(dim, width, activation, key=key_net)
    x = length * on_sphere(3, dim, key_x)
    report = differentiation.check_gradient(lambda n: n(x[0]), net, tolerance=1e-8, entries=6, key=key_x)
    yield exactly(report.passed, True, "gradients agree with differences to 1e-8")
    phi = networks.activation(activation)
    yield close(
        net(jnp.zeros(dim)),
        float(phi(jnp.zeros(()))) * np.sum(net.head),
        "f(0), against σ(0) Σ w₂",
        atol=1e-13 * width**0.5,
    )
    J = np.asarray(networks.parameter_jacobian(net, x))
    kernel = np.asarray(net.tangent_kernel(x))
    yield close(kernel, J @ J.T, "closed-form tangent kernel, against J Jᵀ", atol=1e-12 * np.abs(kernel).max())

    rng = data.generator(key_draws)
    weights = rng.standard_normal((networks_drawn, width, dim))
    heads = rng.standard_normal((networks_drawn, width)) / width**0.5
    outputs = np.asarray(_many_outputs(weights, heads, x[0], activation))
    predicted = float(networks.gaussian_expectation(lambda z: phi(z) ** 2, length**2))
    fourth = float(networks.gaussian_expectation(lambda z: phi(z) ** 4, length**2))
    spread = np.sqrt(3 * (predicted**2 * (1 - 1 / width) + fourth / width) - predicted**2)
    yield mean(outputs, 0.0, "mean of f(x) over networks", deviation=predicted**0.5)
    yield mean(outputs**2, predicted, "variance of f(x) over networks, E σ(‖x‖Z)²", deviation=spread)
    at = np.linspace(-4, 4, 200) * predicted**0.5
    yield figure.histogram(
        f"Over {networks_drawn} networks of width {width} the output has variance {np.mean(outputs**2):.3g}, "
        f"predicted {predicted:.3g}",
        x="f(x) at the start",
        samples={"networks": outputs},
        lines={"wide limit, Gaussian": (at, np.exp(-(at**2) / 2 / predicted) / np.sqrt(2 * np.pi * predicted))},
    )


@eqx.filter_jit
def _head_jacobian(net, x):
    return jax.vmap(jax.grad(lambda v, row: eqx.tree_at(lambda n: n.head, net, v)(row)), (None, 0))(net.head, x)


@instrument(
    "last-layer-gram",
    says=(
        "The Gram matrix of the last layer's features is a sum of m rank-one terms: its rank is min(m, n) for points "
        "in general position, and with rank n the head alone fits any targets."
    ),
    formula=r"\bar K_{ij} = \sum_{k=1}^m \sigma((W_1 x_i)_k)\, \sigma((W_1 x_j)_k), \qquad K - \bar K \succeq 0",
    sources=("cam",),
    assumes=("points in general position", "σ is not a polynomial"),
    shows=(
        "tangent.last_layer_gram",
        "tangent.last_layer_features",
        "tangent.feature_spectrum",
        "tangent.FeatureSpectrum",
    ),
)
def last_layer_gram(
    key,
    points: Annotated[int, Range(4, 24)] = 12,
    dim: Annotated[int, Range(4, 60)] = 8,
    activation: Annotated[str, Choice("relu", "tanh", "gelu", "softplus")] = "relu",
):
    """One network and its first m units: the Gram matrices of narrower networks are partial sums."""
    key_net, key_x, key_deep = jax.random.split(key, 3)
    x = on_sphere(points, dim, key_x) * 1.5
    widest = 16 * points
    net = tangent.lecun_two_layer(dim, widest, activation, key=key_net)
    gram, kernel = np.asarray(tangent.last_layer_gram(net, x)), np.asarray(net.tangent_kernel(x))
    J = np.asarray(_head_jacobian(net, x))
    scale = np.abs(gram).max()
    yield close(gram, J @ J.T, "K̄, against the Jacobian of the last layer", atol=1e-12 * scale)
    yield at_least(np.linalg.eigvalsh(kernel - gram)[0], 0.0, "least eigenvalue of K − K̄", atol=1e-12 * scale * points)
    deep = networks.MLP(
        (dim, 2 * points, 2 * points, 1), activation, parametrisation="ntk", bias_scale=0.3, key=key_deep
    )
    head = networks.parameter_jacobian(deep, x)[:, -2 * points - 1 :]
    yield close(
        tangent.last_layer_gram(deep, x),
        head @ head.T,
        "the same for a deep network with a bias in its head",
        atol=1e-12,
    )

    features = np.asarray(tangent.last_layer_features(net, x))
    widths = [max(1, points // 4), points // 2, points - 1, 2 * points, 8 * points, widest]
    found = {m: tangent.feature_spectrum(features[:, :m]) for m in widths}
    # Below n units a ReLU unit that is off at every point is no feature; it is counted out.
    alive = {m: min(points, int(np.any(features[:, :m] != 0, axis=0).sum())) for m in widths}
    below = [m for m in widths if m < points]
    yield at_most([found[m].rank for m in below], [alive[m] for m in below], "rank with fewer units than points")
    yield exactly(
        [found[m].rank for m in (8 * points, widest)], points, f"rank with many more units than the {points} points"
    )
    target = data.generator(key).standard_normal(points)
    head = np.linalg.lstsq(features, target, rcond=None)[0]
    yield close(features @ head, target, "targets fitted by the last layer alone", atol=1e-6)
    shown = [m for m in widths if m >= points // 2]
    index = np.arange(1, points + 1)
    yield figure.curves(
        f"Rank {found[below[-1]].rank} with {below[-1]} units; with {widest} all {points} eigenvalues "
        "are positive and grow with m",
        x="eigenvalue, from the largest",
        y="λ(K̄)/m",
        points={f"m = {m}": (index, found[m].eigenvalues[::-1] / m) for m in shown},
        log="y",
    )
