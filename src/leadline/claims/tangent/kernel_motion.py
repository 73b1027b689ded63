"""How much a network's tangent kernel moves: during training, and by the curvature of the network itself."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import data, features, tangent, training
from leadline.claims.tangent.tangent_kernel import drawn_mlp
from leadline.evidence import Choice, Range, at_least, at_most, close, figure, instrument, slope

_DESCENT_UNIT = optax.sgd(1.0)


def _two_layer_kernel(params, x):
    """The closed form of the tangent kernel of v.tanh(W x/√d)/√m, from its parameters."""
    W, v = (np.asarray(leaf) for leaf in jax.tree.leaves(params))
    m, d = W.shape
    h = np.tanh(x @ W.T / np.sqrt(d))
    back = v[0] * (1 - h**2)
    first, last = (back @ back.T) * (x @ x.T) / (m * d), h @ h.T / m
    return first, last


@instrument(
    "ntk-drift",
    says=(
        "The relative change of the tangent kernel on a probe set since the start, for each layer and in all, says how "
        "far a network has left its linearisation, whose kernel does not move. Wider networks drift less."
    ),
    formula=r"D(t) = \|K_t - K_0\|_F / \|K_0\|_F",
    sources=("cam", "sheet"),
    shows=("tangent.ntk_drift", "tangent.Drift"),
)
def ntk_drift(
    key,
    points: Annotated[int, Range(3, 30)] = 12,
    narrow: Annotated[int, Range(4, 32)] = 16,
    factor: Annotated[int, Range(4, 16)] = 8,
    checkpoints: Annotated[int, Range(2, 12)] = 6,
    steps: Annotated[int, Range(1, 40)] = 20,
):
    """Digits, even against odd; two-layer tanh networks of widths m, m·factor and m·factor²; `steps` per checkpoint."""
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
            path.append(training.minimise(loss, path[-1], _DESCENT_UNIT, steps, x, y, rate)[0])
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
        lines[f"width {width}"] = (np.arange(len(path)) * steps, drift.total)
        last.append(drift.total[-1])
        if width == narrow:
            lin = tangent.linearise(f, params)
            still = tangent.ntk_drift(lin, [jax.tree.map(jnp.subtract, p, params) for p in (path[0], path[-1])], x)
            yield at_most(still.total, 1e-12, "drift of the linearised network along the same path")
    yield at_least(last[0], last[-1], f"final drift at width {narrow} against {widths[-1]}")
    yield figure.curves(
        f"After {checkpoints * steps} steps the kernel has moved by {last[0]:.1%} at width {narrow} and by "
        f"{last[-1]:.2%} at {widths[-1]}",
        x="step", y="relative drift of the kernel", points=lines,
    )  # fmt: skip


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


@instrument(
    "hessian-gradient-ratio",
    says=(
        "The norm of the Hessian of an output by the parameters over its squared gradient says how far the function is "
        "from linear while the output changes by about 1; in the NTK parametrisation it falls as one over the root of "
        "the width."
    ),
    formula=r"\frac{\|\nabla^2_\theta f(x)\|_2}{\|\nabla_\theta f(x)\|^2} = O(m^{-1/2})",
    sources=("sheet",),
    assumes=("one output",),
    shows=("tangent.hessian_gradient_ratio", "tangent.HessianRatio", "tangent.extreme_eigenpair"),
)
def hessian_gradient_ratio(
    key,
    inputs: Annotated[int, Range(2, 8)] = 4,
    activation: Annotated[str, Choice("tanh", "algebraic")] = "tanh",
    change: Annotated[float, Range(0.05, 0.5)] = 0.3,
    draws: Annotated[int, Range(3, 8)] = 4,
):
    """Widths 16 to 128, `draws` networks and inputs; one hidden ReLU layer, whose Hessian is known, then 2 and 3 smooth
    ones. The linearisation error is that of parameters moved so far that the output could move by `change`."""
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
        yield at_most(shares, 3.0, f"{name}: measured over predicted linearisation error")
        yield at_least(shares, 1 / 3, f"{name}: measured over predicted linearisation error")
    yield figure.curves(
        f"With 3 layers the ratio falls as 1/√m, from {middle[0]:.2g} at width {widths[0]} to {middle[-1]:.2g} at "
        f"{widths[-1]}",
        x="width m", y="‖Hess‖ / ‖grad‖²", points=points, lines=lines, log="xy",
    )  # fmt: skip


def _bending(f, params, row, direction, size):
    """|f(θ + δu) + f(θ - δu) - 2 f(θ)|/2 for the direction u of largest curvature: the error of the linearisation
    there, averaged over the two signs."""
    parts = np.split(np.asarray(direction), np.cumsum([leaf.size for leaf in params])[:-1])
    change = [size * part.reshape(leaf.shape) for part, leaf in zip(parts, params, strict=True)]
    ahead, behind = ([leaf + sign * step for leaf, step in zip(params, change, strict=True)] for sign in (1, -1))
    return abs(f(ahead, row, np) + f(behind, row, np) - 2 * f(params, row, np)) / 2
