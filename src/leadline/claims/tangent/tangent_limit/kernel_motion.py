"""How much a network's tangent kernel moves: during training, and by the curvature of the network itself."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import data, tangent, training
from leadline.claims.tangent.tangent_space.tangent_kernel import drawn_mlp
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, instrument, slope
from leadline.kernels import features
from leadline.presentation import figure

_DESCENT_UNIT = optax.sgd(1.0)


def _two_layer_kernel(params, x):
    """The closed form of the tangent kernel of v·tanh(W x/√d)/√m, from its parameters."""
    W, v = (np.asarray(leaf) for leaf in jax.tree.leaves(params))
    m, d = W.shape
    h = np.tanh(x @ W.T / np.sqrt(d))
    back = v[0] * (1 - h**2)
    return (back @ back.T) * (x @ x.T) / (m * d), h @ h.T / m


@instrument(sources=("cam", "sheet"))
def ntk_drift(
    key,
    points: Int(3, 30) = 12,
    narrow: Int(4, 32) = 16,
    factor: Int(4, 16) = 8,
    checkpoints: Int(2, 12) = 6,
    num_steps: Int(1, 40) = 20,
):
    r"""Drift of the tangent kernel.

    The relative change of the tangent kernel on a probe set since the start, for each layer and in total, says how far
    a network has left its linearisation, whose kernel does not move. Wider networks drift less.

    $$D(t) = \|K_t - K_0\|_F / \|K_0\|_F$$

    Check: Digits; two-layer tanh networks of widths m, m·`factor`, m·`factor`², `num_steps` per checkpoint.
    """
    images, digit = data.digits()
    rng = data.generator(key)
    rows = rng.permutation(len(digit))[:points]
    x = (images[rows] - images.mean(axis=0)) * 3
    y = np.where(digit[rows] % 2, 1.0, -1.0)
    widths = (narrow, narrow * factor, narrow * factor**2)
    lines, last = {}, []
    for width in widths:
        f, params = tangent.as_function(drawn_mlp(rng, (64, width, 1), "tanh", bias=False))
        path, kernel = [params], sum(_two_layer_kernel(params, x))
        rate = 0.5 / np.linalg.eigvalsh(kernel)[-1]

        def loss(params, x, y, rate, f=f):
            return rate * 0.5 * jnp.sum((jax.vmap(lambda row: f(params, row)[0])(x) - y) ** 2)

        for _ in range(checkpoints):
            path.append(training.minimise(loss, path[-1], _DESCENT_UNIT, num_steps, x, y, rate)[0])
        drift = tangent.ntk_drift(f, path, x, y)
        closed = [_two_layer_kernel(params, x) for params in path]
        for layer, (name, measured) in enumerate(drift.layers.items()):
            direct = [np.linalg.norm(K[layer] - closed[0][layer]) / np.linalg.norm(closed[0][layer]) for K in closed]
            yield close(measured, direct, f"drift of {name}, width {width}, and the closed form", rtol=1e-7, atol=1e-10)
        direct = [np.linalg.norm(sum(K) - kernel) / np.linalg.norm(kernel) for K in closed]
        yield close(drift.total, direct, f"drift in all, width {width}, and the closed form", rtol=1e-7, atol=1e-10)
        aligned = [features.alignment(sum(K), y) for K in closed]
        yield close(drift.alignment, aligned, f"alignment with the labels, width {width}", rtol=1e-9)
        moved = np.linalg.norm(ravel_pytree(path[-1])[0] - ravel_pytree(path[0])[0])
        yield close(drift.distance[-1], moved, f"distance of the parameters, width {width}", rtol=1e-9)
        lines[f"width {width}"] = (np.arange(len(path)) * num_steps, drift.total)
        last.append(drift.total[-1])
        if width == narrow:
            lin = tangent.linearise(f, params)
            still = tangent.ntk_drift(lin, [jax.tree.map(jnp.subtract, p, params) for p in (path[0], path[-1])], x)
            yield at_most(still.total, 1e-12, "drift of the linearised network along the same path")
    yield at_least(last[0], last[-1], f"final drift at width {narrow} against {widths[-1]}")
    moved = f"{last[0]:.1%} at width {narrow} and {last[-1]:.2%} at {widths[-1]}"
    title = f"After {checkpoints * num_steps} steps the kernel has moved by {moved}"
    yield figure.curves(title, "step", "relative drift of the kernel", points=lines)


def _masked(activation):
    """A bias-free network whose last input coordinate is its width, within wider arrays.

    Units beyond the width are 0 and have no gradient: networks of all widths are one program.
    """

    def phi(h, xp):
        if activation == "relu":
            return 2**0.5 * xp.maximum(h, 0.0)
        return xp.tanh(h) if activation == "tanh" else h / xp.sqrt(1 + h**2)

    def f(params, z, xp=jnp):
        x, m = z[:-1], z[-1]
        on = xp.arange(params[0].shape[0]) < m
        h = xp.where(on, phi(params[0] @ x, xp), 0.0)
        for W in params[1:-1]:
            h = xp.where(on, phi(W @ h / xp.sqrt(m), xp), 0.0)
        return params[-1] @ h / xp.sqrt(m)

    return f


@instrument(sources=("sheet",))
def hessian_gradient_ratio(
    key,
    inputs: Int(2, 8) = 4,
    activation: OneOf("tanh", "algebraic") = "tanh",
    change: Real(0.05, 0.5) = 0.3,
    draws: Int(3, 8) = 4,
):
    r"""Hessian-to-gradient ratio of a network.

    The norm of the Hessian of an output with respect to the parameters, divided by its squared gradient norm, says how
    far the function is from linear while the output changes by about 1. In the NTK parametrisation it falls as one
    over the square root of the width.

    $$\frac{\|\nabla^2_\theta f(x)\|_2}{\|\nabla_\theta f(x)\|^2} = O(m^{-1/2})$$

    Assumes: one output.

    Check: Widths 16 to 128 are used, with `draws` networks and inputs: one hidden ReLU layer, whose Hessian is known,
    then 2 and 3 hidden layers of smooth units. The linearisation error is taken at parameters moved so far that the
    output could move by `change`.
    """
    rng = data.generator(key)
    widths = np.array([16, 32, 64, 128])
    x = rng.standard_normal((draws, inputs))
    x *= np.sqrt(inputs) / np.linalg.norm(x, axis=1, keepdims=True)
    length, points, lines = np.sqrt(inputs), {}, {}
    for depth in (1, 2, 3):
        f = _masked(activation if depth > 1 else "relu")
        name = f"{depth} {activation} layers" if depth > 1 else "1 ReLU layer"
        ratios, shares = [], []
        for point in x:
            shapes = [(widths[-1], inputs), *[(widths[-1], widths[-1])] * (depth - 1), (widths[-1],)]
            params = [rng.standard_normal(shape) for shape in shapes]
            rows = np.array([[*point / (length if depth > 1 else 1.0), m] for m in widths])
            found = tangent.hessian_gradient_ratio(f, params, rows, iterations=24)
            ratios.append(np.asarray(found.ratio))
            if depth == 1:
                norm = np.asarray(found.hessian_norm)
                lit = np.array([(params[0][:m] @ point > 0).any() for m in widths])
                yield close(norm[lit], (np.sqrt(2 / widths) * length)[lit], "ReLU: ‖Hess‖ and √(2/m) ‖x‖", rtol=1e-8)
            else:
                size = change / np.sqrt(found.squared_gradient[-1])
                error = _bending(f, params, rows[-1], found.direction[-1], size)
                shares.append(error / (change**2 * ratios[-1][-1] / 2))
        middle = np.exp(np.log(ratios).mean(axis=0))
        points[name] = (np.tile(widths, draws), np.ravel(ratios))
        if depth == 1:
            lines["1/(‖x‖ √(2m)), 1 layer"] = (widths, 1 / (length * np.sqrt(2 * widths)))
            continue
        lines[f"slope −1/2, {depth} layers"] = (widths, middle[-1] * (widths / widths[-1]) ** -0.5)
        yield slope(widths, middle, -0.5, f"order of the ratio in the width, {name}", within=0.03)
        yield at_most(shares, 3.0, f"{name}: measured over predicted linearisation error, at most 3")
        yield at_least(shares, 1 / 3, f"{name}: measured over predicted linearisation error, at least 1/3")
    title = f"With 3 layers the ratio falls as 1/√m, from {middle[0]:.2g} at width 16 to {middle[-1]:.2g} at 128"
    yield figure.curves(title, "width m", "‖Hess‖ / ‖grad‖²", points=points, lines=lines, log="xy")


def _bending(f, params, row, direction, size):
    """|f(θ + δu) + f(θ - δu) - 2 f(θ)|/2 for the direction u of largest curvature: the error of the linearisation
    there, averaged over the two signs."""
    parts = np.split(np.asarray(direction), np.cumsum([leaf.size for leaf in params])[:-1])
    change = [size * part.reshape(leaf.shape) for part, leaf in zip(parts, params, strict=True)]
    ahead, behind = ([leaf + sign * step for leaf, step in zip(params, change, strict=True)] for sign in (1, -1))
    return abs(f(ahead, row, np) + f(behind, row, np) - 2 * f(params, row, np)) / 2
