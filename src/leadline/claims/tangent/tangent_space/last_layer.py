"""The two-layer network, and the Gram matrix of its last layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import as_apply, data, differentiation, networks, tangent
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, exactly, instrument, mean, model
from leadline.presentation import figure
from leadline.tangent.last_layer import last_layer_features

SMOOTH = ("tanh", "sigmoid", "softplus", "gelu")


def on_sphere(points: int, dim: int, key) -> np.ndarray:
    """Independent uniform points on the unit sphere."""
    z = data.generator(key).standard_normal((points, dim))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


@eqx.filter_jit
def _many_outputs(weights, heads, x, activation: str):
    return jax.vmap(lambda W, v: networks.TwoLayer(W, v, activation)(x))(weights, heads)


@model(sources=("cam",), shows=("networks.TwoLayer",))
def lecun_two_layer(
    key,
    dim: Int(1, 50) = 5,
    width: Int(1, 200) = 60,
    activation: OneOf(*SMOOTH) = "tanh",
    length: Real(0.1, 5.0, log=True) = 1.0,
    networks_drawn: Int(500, 5000) = 2000,
):
    r"""Two-layer network with LeCun initialisation.

    A two-layer network without bias, with N(0, 1) entries in W₁ and N(0, 1/m) entries in w₂, is trained in these
    entries. At the start its output at x has mean 0 and variance E[σ(‖x‖Z)²], whatever the width.

    $$f(x) = w_2 \cdot \sigma(W_1 x), \qquad \operatorname{Var} f(x) = E\, \sigma(\|x\| Z)^2$$
    """
    key_net, key_x, key_draws = jax.random.split(key, 3)
    net = tangent.lecun_two_layer(dim, width, activation, key=key_net)
    x = length * on_sphere(3, dim, key_x)
    report = differentiation.check_gradient(lambda n: n(x[0]), net, tolerance=1e-8, entries=6, key=key_x)
    errors = [check.error for check in report.parameters]
    yield at_most(errors, 1e-8, "relative error of the gradients of W₁ and w₂ against central differences")
    phi = networks.activation(activation)
    summed = float(phi(jnp.zeros(()))) * np.sum(net.head)
    yield close(net(jnp.zeros(dim)), summed, "f(0), against σ(0) Σ w₂", atol=1e-13 * width**0.5)
    J = np.asarray(networks.parameter_jacobian(*as_apply(net), x))
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
    title = f"Variance {np.mean(outputs**2):.3g} over {networks_drawn} networks, predicted {predicted:.3g}"
    lines = {"wide limit, Gaussian": (at, np.exp(-(at**2) / 2 / predicted) / np.sqrt(2 * np.pi * predicted))}
    yield figure.histogram(title, "f(x) at the start", samples={"networks": outputs}, lines=lines)


@eqx.filter_jit
def _head_jacobian(net, x):
    return jax.vmap(jax.grad(lambda v, row: eqx.tree_at(lambda n: n.head, net, v)(row)), (None, 0))(net.head, x)


@instrument(sources=("cam",))
def last_layer_gram(
    key, points: Int(4, 24) = 12, dim: Int(4, 60) = 8, activation: OneOf("relu", "tanh", "gelu", "softplus") = "relu"
):
    r"""Gram matrix of last-layer features.

    The Gram matrix of the last layer's features is a sum of m rank-one terms: its rank is min(m, n) for points in
    general position, and with rank n the head alone fits any targets.

    $$\bar K_{ij} = \sum_{k=1}^m \sigma((W_1 x_i)_k)\, \sigma((W_1 x_j)_k), \qquad K - \bar K \succeq 0$$

    Assumes: points in general position; σ is not a polynomial.

    Check: One network and its first m units are used: the Gram matrices of narrower networks are partial sums.
    """
    key_net, key_x, key_deep = jax.random.split(key, 3)
    x = on_sphere(points, dim, key_x) * 1.5
    widest = 16 * points
    net = tangent.lecun_two_layer(dim, widest, activation, key=key_net)
    gram, kernel = np.asarray(tangent.last_layer_gram(net, x)), np.asarray(net.tangent_kernel(x))
    J = np.asarray(_head_jacobian(net, x))
    scale = np.abs(gram).max()
    yield close(gram, J @ J.T, "K̄, against the Jacobian of the last layer", atol=1e-12 * scale)
    yield at_least(np.linalg.eigvalsh(kernel - gram)[0], 0.0, "least eigenvalue of K − K̄", atol=1e-12 * scale * points)
    widths = (dim, 2 * points, 2 * points, 1)
    deep = networks.MLP(widths, activation, parametrisation="ntk", bias_scale=0.3, key=key_deep)
    head = networks.parameter_jacobian(*as_apply(deep), x)[:, -2 * points - 1 :]
    what = "K̄ of a deep network with a bias in its head, against the Jacobian of the last layer"
    yield close(tangent.last_layer_gram(deep, x), head @ head.T, what, atol=1e-12)
    features = np.asarray(last_layer_features(net, x))
    widths = [max(1, points // 4), points // 2, points - 1, 2 * points, 8 * points, widest]
    found = {m: tangent.feature_spectrum(features[:, :m]) for m in widths}
    # Below n units a ReLU unit that is off at every point is no feature; it is counted out.
    alive = {m: min(points, int(np.any(features[:, :m] != 0, axis=0).sum())) for m in widths}
    below = [m for m in widths if m < points]
    yield at_most([found[m].rank for m in below], [alive[m] for m in below], "rank with fewer units than points")
    ranks = [found[m].rank for m in (8 * points, widest)]
    yield exactly(ranks, points, f"rank with many more units than the {points} points")
    target = data.generator(key).standard_normal(points)
    head = np.linalg.lstsq(features, target, rcond=None)[0]
    yield close(features @ head, target, "targets fitted by the last layer alone", atol=1e-6)
    index = np.arange(1, points + 1)
    title = f"Rank {found[below[-1]].rank} with {below[-1]} units; with {widest} all {points} eigenvalues are positive"
    dots = {f"m = {m}": (index, found[m].eigenvalues[::-1] / m) for m in widths if m >= points // 2}
    yield figure.curves(title, "eigenvalue, from the largest", "λ(K̄)/m", points=dots, log="y")
