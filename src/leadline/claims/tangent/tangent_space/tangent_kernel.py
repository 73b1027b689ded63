"""The tangent space of a network: its kernel and its linearisation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import as_apply, data, networks, tangent, training
from leadline.evidence import Int, OneOf, at_least, at_most, close, instrument, model, slope
from leadline.presentation import figure


def drawn_mlp(rng, widths, activation, **options):
    """A network in NTK parametrisation, all of whose parameters are N(0, 1), drawn by NumPy: nothing to compile."""
    options |= {"parametrisation": "ntk", "key": jax.random.key(0)}
    shapes = eqx.filter_eval_shape(networks.MLP, widths, activation, **options)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape)), shapes)


def digit_model(key, kind, width, points):
    """A network as (apply, params), digits sorted by class, and ±1 labels: even against odd for the one output."""
    images, digit = data.digits()
    rows = data.generator(key).permutation(len(digit))[:points]
    rows = rows[np.lexsort((digit[rows], digit[rows] % 2))]
    x = images[rows] - images.mean(axis=0)
    y = np.where(digit[rows] % 2, 1.0, -1.0)
    if kind == "two-layer":
        net = tangent.lecun_two_layer(64, width, "relu", gain=2**0.5, parametrisation="ntk", key=key)
        return *as_apply(net), x, y, net
    if kind == "dense":
        net = drawn_mlp(data.generator(key), (64, width, width, 2), "tanh", bias_scale=0.3)
        return *as_apply(net), x, np.stack([y, -y], axis=1), net
    first, last = jax.random.split(key)
    pooled = [eqx.nn.Lambda(jax.nn.gelu), eqx.nn.Lambda(lambda h: h.mean((1, 2)))]
    convolution, head = eqx.nn.Conv2d(1, width, 3, padding=1, key=first), eqx.nn.Linear(width, 2, key=last)
    net = eqx.nn.Sequential([convolution, *pooled, head])
    return *as_apply(net), x.reshape(-1, 1, 8, 8), np.stack([y, -y], axis=1), net


@instrument(sources=("eth", "sheet", "cam"), shows=("tangent.ntk_plan",))
def empirical_ntk(
    key,
    network: OneOf("two-layer", "dense", "convolutional") = "two-layer",
    width: Int(4, 128) = 64,
    points: Int(6, 60) = 36,
):
    r"""Empirical neural tangent kernel.

    The gradients of a network's outputs with respect to its parameters are features; their Gram matrix K = JJᵀ is
    positive semidefinite and is the sum of one part for every layer. Explicit Jacobians, products of forward- and
    reverse-mode differentiation, and the layers' own structure give the same matrix.

    $$K_{(i,a),(j,b)} = \nabla_\theta f_a(x_i) \cdot \nabla_\theta f_b(x_j) = \sum_l K^{(l)}_{(i,a),(j,b)}$$

    Check: Digits sorted by class; even against odd for the two-layer network, whose kernel has a closed form.
    """
    apply, params, x, y, net = digit_model(key, network, width, points)
    report = tangent.describe_ntk(apply, params, x, y)
    parts = tangent.layer_ntks(apply, params, x)
    K = np.asarray(sum(parts.values()))
    unit = np.abs(K).max()
    for route in ("explicit", "products"):
        other = np.asarray(tangent.empirical_ntk(apply, params, x, method=route))
        yield close(other / unit, K / unit, f"kernel by {route}, against the sum of the layers' kernels", atol=1e-10)
    yield at_least(report.eigenvalues[-1], -1e-12 * report.trace, "least eigenvalue of K")
    yield close(sum(report.shares.values()), 1.0, "shares of the layers in the trace", rtol=1e-10)
    v = data.generator(key).standard_normal(len(K))
    product = tangent.ntk_product(apply, params, x, None, v)
    yield close(product / unit, K @ v / unit, "K v without the matrix, against K v", atol=1e-8)
    if network == "two-layer":
        X, m = np.asarray(x), width
        H, head = X @ np.asarray(net.weight).T, np.asarray(net.head)
        on = (H > 0) * head
        formula = 2 / m * (np.maximum(H, 0) @ np.maximum(H, 0).T + (on @ on.T) * (X @ X.T))
        yield close(K / unit, formula / unit, "two-layer ReLU network: measured and closed form", atol=1e-12)
    outputs = len(K) // points
    blocks = K.reshape(points, outputs, points, outputs)
    rows = [*range(points), 0]
    repeated = blocks[np.ix_(rows, range(outputs), rows)].reshape((points + 1) * outputs, -1)
    null = np.linalg.eigvalsh(repeated)[outputs - 1]
    yield at_most(null, 1e-12 * np.trace(repeated), "eigenvalue that a repeated input makes 0")
    spectrum = report.eigenvalues[report.eigenvalues > 1e-14 * report.trace]
    half = int(np.searchsorted(np.cumsum(report.weights), 0.5)) + 1
    values, dots = np.einsum("iaja->ij", blocks), {"λ of K": (np.arange(1, len(spectrum) + 1), spectrum)}
    yield figure.beside(
        f"{points} digits: rank {report.rank} of {len(K)}, half of the labels lies in {half} of the modes",
        figure.heatmap("kernel, examples sorted by class", "example", "example", values=values, colour="K"),
        figure.curves("spectrum: the predicted rates", "mode", "eigenvalue", log="xy", points=dots),
    )


def _half_squared(lin, beta, x, y):
    return 0.5 * jnp.sum((lin(beta, x) - y) ** 2)


@model(sources=("eth", "sheet"), shows=("tangent.Linearised",))
def linearised_network(
    key,
    width: Int(4, 128) = 24,
    points: Int(2, 16) = 8,
    activation: OneOf("tanh", "gelu", "sigmoid") = "tanh",
    num_steps: Int(1, 200) = 50,
):
    r"""Linearised network.

    The linearised network is the first-order expansion in the parameters: affine in β = θ − θ₀, nonlinear in x, with a
    constant tangent kernel. It costs one forward-mode derivative and is trained like any model.

    $$h_\beta(x) = f_{\theta_0}(x) + \beta \cdot \nabla_\theta f_{\theta_0}(x)$$

    Assumes: a smooth activation (for the order of the error).

    Check: Two hidden layers and two outputs, random points, `num_steps` steps of gradient descent on β.
    """
    rng = data.generator(key)
    x, y = rng.standard_normal((points, 3)), rng.standard_normal((points, 2))
    apply, params = as_apply(drawn_mlp(rng, (3, width, width, 2), activation, gain=1.5, bias_scale=0.3))
    lin = tangent.linearise(apply, params)
    u = jax.tree.map(lambda leaf: rng.standard_normal(leaf.shape), params)
    size = np.sqrt(sum(np.sum(leaf**2) for leaf in jax.tree.leaves(u)))
    u = jax.tree.map(lambda leaf: leaf / size, u)

    @jax.jit
    def along(params, u, s, x):
        """Both functions at θ₀ + s u for all s and x, and their gradients by the parameters of the sum of outputs."""

        def both(s):
            beta = jax.tree.map(lambda leaf: s * leaf, u)
            moved = jax.tree.map(jnp.add, params, beta)
            return apply(moved, x), lin(beta, x)

        zero = jax.tree.map(jnp.zeros_like, params)
        gradients = (jax.grad(lambda p: jnp.sum(apply(p, x)))(params), jax.grad(lambda b: jnp.sum(lin(b, x)))(zero))
        return *jax.vmap(both)(s), gradients

    s = np.concatenate([[0.0], np.logspace(-3.5, -1.5, 9), np.linspace(-8, 8, 33)])
    full, straight, (gradient, gradient_of_lin) = along(params, u, s, x)
    full, straight = np.asarray(full), np.asarray(straight)
    unit = np.abs(full[0]).max()
    yield close(straight[0] / unit, full[0] / unit, "value at β = 0, against the network's", atol=1e-12)
    ours, theirs = (ravel_pytree(g)[0] for g in (gradient, gradient_of_lin))
    apart = np.linalg.norm(ours - theirs) / np.linalg.norm(ours)
    yield at_most(apart, 1e-12, "relative difference of gradients at β = 0")
    error = np.linalg.norm((full - straight)[1:10], axis=(1, 2))
    yield slope(s[1:10], error, 2.0, "order of the error in the distance from θ₀", within=0.05)
    K = np.asarray(tangent.empirical_ntk(lin, lin.zero(), x))
    step = 1 / np.linalg.eigvalsh(K)[-1]
    loss = jax.tree_util.Partial(_half_squared, lin)
    end, losses = training.minimise(loss, lin.zero(), optax.sgd(step), num_steps, x, y)
    yield at_most(losses[-1], losses[0], "loss of the trained linearisation, against its start", rtol=1e-12)
    later, unit = np.asarray(tangent.empirical_ntk(lin, end, x)), np.abs(K).max()
    yield close(later / unit, K / unit, "tangent kernel after training, against before", atol=1e-12)
    line, far = s[10:], np.linalg.norm((full - straight)[-1])
    title = f"The linearisation is off by {error[-1]:.2g} at distance {s[9]:.2g}, by {far:.2g} at {line[-1]:.0f}"
    lines, dots = {"linearised network": (line, straight[10:, 0, 0])}, {"network": (line, full[10:, 0, 0])}
    axes = "distance s from θ₀ along a random direction", "first output at the first point"
    yield figure.curves(title, *axes, lines=lines, points=dots)
