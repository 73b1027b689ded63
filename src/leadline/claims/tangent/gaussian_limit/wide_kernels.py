"""The two kernels of infinitely wide networks, their recursion over layers, and the ReLU kernels in closed form."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, infinite_width, networks
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, mean, method, reference, slope
from leadline.presentation import figure

_PAIR = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
_ANGLES = np.linspace(0.0, math.pi, 25)
_FAN = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), np.zeros(25)], axis=1)
_DEPTHS = (1, 2, 3)
_ONE = math.sqrt(3)  # times the usual 1/√3 for inputs in R³: first weights of variance 1, so that K⁰ = x·x' + σ_b²


@method(sources=("sheet", "cam", "eth"), shows=("infinite_width.Dense",))
def nngp_kernel(
    key,
    activation: OneOf("relu", "absolute", "gelu", "sin", "tanh", "swish", "sigmoid") = "gelu",
    gain: Real(0.7, 2.0) = 1.3,
    bias: Real(0.1, 1.0) = 0.3,
):
    r"""NNGP kernel recursion.

    The outputs of an infinitely wide random network are a Gaussian process whose kernel follows from layer to layer by
    one Gaussian expectation, in closed form for ReLU, erf, GELU, |·|, sin and others, and by a short series for the
    rest.

    $$K^{l+1}(x, x') = \sigma_w^2\, E\, \varphi(u) \varphi(v) + \sigma_b^2, \qquad (u, v) \sim N(0, K^l|_{x, x'}),
    \quad K^0 = c_0\, x \cdot x' + \sigma_b^2$$

    Assumes: Gaussian weights of variance $\sigma_w^2$ over the fan-in; hidden widths go to infinity.

    Check: Reference numbers of an independent library; a second recursion integrates in polar coordinates.
    """
    expected = {
        (math.sqrt(2), 0.0): ([0.677548, 0.733434, 0.775312], [1.0, 1.0, 1.0]),
        (1.0, 0.5): ([0.709527, 0.615666, 0.561336], [0.875, 0.6875, 0.59375]),
    }
    through = infinite_width.kernels_through_depth
    for (g, s), (across, own) in expected.items():
        K = np.asarray(through("relu", _PAIR, 3, g, s, first_W_std=_ONE).nngp)[1:]
        yield reference(K[:, 0, 1], across, f"ReLU, σ_w² = {g * g:.0f}, σ_b = {s}: K(x, x')", digits=6)
        yield close(K[:, 0, 0], own, f"ReLU, σ_w² = {g * g:.0f}, σ_b = {s}: K(x, x)", atol=1e-6)
    found = np.asarray(through(activation, _FAN, 3, gain, bias, first_W_std=_ONE).nngp)[:, 0]
    stack = infinite_width.dense_stack(2, activation, gain, bias, first_W_std=_ONE)
    stacked, what = stack.kernel_fn(_FAN, get="nngp")[0], "K of dense_stack, two hidden layers, against the recursion"
    yield close(stacked, found[2], what, rtol=1e-10, atol=1e-12)
    integrated = {0: found[0]}
    q = 1 + bias**2
    for depth in _DEPTHS:
        c = np.clip(integrated[depth - 1] / q, -1, 1)
        after = float(networks.length_map(q, activation, gain, bias))
        integrated[depth] = after * networks.correlation_map(c, q, activation, gain, bias)
        q = after
        what = f"{activation}, {depth} hidden layers: closed form or series, and quadrature in the plane"
        yield close(found[depth], integrated[depth], what, atol=1e-6)
    title = f"K of {activation} layers at a right angle: {found[1][12]:.3g} after one, {found[3][12]:.3g} after three"
    lines = {f"{d} hidden, kernel_fn": (_ANGLES, found[d]) for d in _DEPTHS}
    points = {f"{d} hidden, quadrature": (_ANGLES, integrated[d]) for d in _DEPTHS}
    yield figure.curves(title, "angle of x and x' (radians)", "K(x, x')", lines=lines, points=points)


@claim(sources=("sheet",))
def correlation_map(
    key,
    start: Real(-0.95, 0.9) = 0.0,
    gain: Real(0.5, 3.0) = 1.6,
    bias: Real(0.1, 0.5) = 0.2,
    units: Int(5000, 100_000, log=True) = 20_000,
):
    r"""Correlation map through depth.

    The correlation of two inputs follows c → F(c) through depth. ReLU at $\sigma_w^2$ = 2 draws all inputs together,
    but only as 9π²/(2l²) in the depth l, for F has slope 1 at 1; tanh has an ordered phase, c → 1, and a chaotic one,
    c → c* < 1.

    $$F(c) = \frac{\sin p + (\pi - p) \cos p}{\pi}, \quad p = \arccos c, \qquad 1 - c_l \sim \frac{9 \pi^2}{2 l^2}$$

    Assumes: infinite width; for ReLU, $\sigma_w^2$ = 2 and no bias.

    Check: `gain` and `bias` are those of the tanh network, `units` is the width of the wide ReLU layers.
    """
    through = infinite_width.correlations_through_depth
    c = np.asarray(through("relu", np.array([0.0, start]), 10_000, math.sqrt(2)))
    listed = [0.318, 0.494, 0.605, 0.681, 0.736, 0.777, 0.809, 0.834, 0.855, 0.872]
    yield reference(c[1:11, 0], listed, "c₁ ... c₁₀ from c₀ = 0", digits=3)
    yield reference(1 - c[100, 0], 3.577e-3, "1 - c₁₀₀ from c₀ = 0", digits=4)
    depth = np.geomspace(1000, 10_000, 8).astype(int)
    yield slope(depth, 1 - c[depth, 1], -2.0, "rate of 1 - c_l, depths 1000 to 10,000", within=0.02)
    ratio = (1 - c[[100, 1000, 10_000], 1]) / (4.5 * math.pi**2 / np.array([100, 1000, 10_000]) ** 2.0)
    yield close(ratio[2], 1.0, "(1 - c_l) 2l²/(9π²) at depth 10,000", atol=0.01)
    off = np.abs(ratio - 1)
    yield at_most(off[2], off[1], "|(1 - c_l) 2l²/(9π²) - 1| at depth 10,000, against 1000", strict=True)
    rng = data.generator(key)
    u, other = rng.standard_normal((2, units))
    for level in (0, 2, 5):
        v = c[level, 1] * u + math.sqrt(1 - c[level, 1] ** 2) * other
        product = 2 * np.maximum(u, 0) * np.maximum(v, 0)
        yield mean(product, c[level + 1, 1], f"correlation after one ReLU layer of {units} units, from c_{level}")
    q = networks.length_fixed_point("tanh", gain, bias)
    chi = float(networks.gradient_factor(q, "tanh", gain))
    tanh = np.asarray(through("tanh", np.array([0.0, start]), 10_000, gain, bias, variance=q))[:, 1]
    ordered = at_most(1 - tanh[-1], 1e-6, f"tanh, χ = {chi:.3f}: 1 - c in the ordered phase")
    yield ordered.given(chi < 0.97, "χ is clearly below 1")
    chaotic = at_least(1 - tanh[-1], 1e-3, f"tanh, χ = {chi:.3f}: 1 - c in the chaotic phase")
    yield chaotic.given(chi > 1.03, "χ is clearly above 1")
    grid = np.linspace(-1, 1, 101)
    F = np.asarray(through("relu", grid, 1, math.sqrt(2)))[1]
    stairs, layers = np.unique(c[:12, 1]), np.unique(np.geomspace(1, 10_000, 40).astype(int))
    lines, steps = {"F": (grid, F), "c": (grid, grid)}, {"layers": (stairs[:-1], stairs[1:])}
    title = "cobweb of the first layers"
    left = figure.curves(title, "c at layer l", "c at layer l + 1", lines=lines, steps=steps)
    points = {"ReLU": (layers, 1 - c[layers, 1])}
    lines = {"9π²/(2l²)": (layers[8:], 4.5 * math.pi**2 / layers[8:] ** 2.0)}
    right = figure.curves("1 - c against depth", "layer l", "1 - c", log="xy", points=points, lines=lines)
    title = f"100 ReLU layers take c = {start:.2g} to {c[100, 1]:.4f}; tanh with σ_w = {gain:.3g} to {tanh[-1]:.3g}"
    yield figure.beside(title, left, right)


@method(sources=("cam",), shows=("infinite_width.Relu", "infinite_width.Erf", "infinite_width.Gelu"))
def infinite_ntk(
    key,
    activation: OneOf("relu", "erf", "gelu", "tanh", "sin") = "erf",
    gain: Real(0.7, 2.0) = 1.4,
    bias: Real(0.0, 1.0) = 0.3,
    seeds: Int(200, 2000, log=True) = 400,
):
    r"""Infinite-width NTK recursion.

    In the NTK parametrisation the tangent kernel of an infinitely wide network is fixed, and follows from layer to
    layer by the expectations of φ(u)φ(v) and φ′(u)φ′(v).

    $$\Theta^{l+1} = \sigma_w^2\, \Theta^l\, E\, \varphi'(u) \varphi'(v) + K^{l+1}, \qquad \Theta^0 = K^0$$

    Assumes: NTK parametrisation; hidden widths go to infinity one after the other.

    Check: With one hidden layer the expected kernel is exactly the limit: mean over `seeds` networks of width 32.
    """
    expected = {
        (math.sqrt(2), 0.0): ([1.100447, 1.544416, 1.952287], [2.0, 3.0, 4.0]),
        (1.0, 0.5): ([1.023185, 1.025460, 0.998793], [1.5, 1.4375, 1.3125]),
    }
    through = infinite_width.kernels_through_depth
    for (g, s), (across, own) in expected.items():
        name = f"ReLU, σ_w² = {g * g:.0f}, σ_b = {s}"
        T = np.asarray(through("relu", _PAIR, 3, g, s, first_W_std=_ONE).ntk)[1:]
        for depth, (found, value) in enumerate(zip(T[:, 0, 1], across, strict=True), start=1):
            what = f"{name}, {depth} hidden: Θ(x, x')"
            yield reference(found, value, what, digits=7 if value > 1 else 6)
        yield close(T[:, 0, 0], own, f"{name}: Θ(x, x)", atol=1e-6)
    layer = infinite_width.activation_layer(activation)
    notes = layer.notes(jnp.asarray([1.0, 1.7]))
    one, two = (jax.tree.map(lambda a, i=i: a[..., i], notes) for i in (0, 1))
    k = jnp.linspace(-1.2, 1.2, 9)
    _, along = jax.jvp(lambda k: layer.dual(k, one, two, False)[0], (k,), (jnp.ones_like(k),))
    what = "E φ'φ', against the derivative of E φφ by the covariance"
    yield close(layer.dual(k, one, two, True)[1], along, what, rtol=1e-8, atol=1e-8)
    narrow = infinite_width.dense_stack(1, activation, gain, bias, first_W_std=_ONE, width=32)
    x = jnp.asarray(_PAIR)
    limit = np.asarray(narrow.kernel_fn(x))
    kernels = np.asarray(_tangent_kernels(narrow, x, jax.random.split(key, seeds)))
    for i, j in ((0, 0), (0, 1)):
        what = f"Θ̂ of networks of width 32, inputs {i + 1}, {j + 1}, mean over seeds"
        yield mean(kernels[:, i, j], limit[i, j], what)
    curves = [np.asarray(k)[:, 0] for k in through(activation, _FAN, 3, gain, bias, first_W_std=_ONE)]
    shallow, deep = curves[1][[1, 3], 0]
    title = f"Θ of {activation} networks at angle 0: {shallow:.3g} with one hidden layer, {deep:.3g} with three"
    lines = {f"{name}, {d} hidden": (_ANGLES, curves[i][d]) for i, name in enumerate(("K", "Θ")) for d in (1, 3)}
    points = {"mean of finite networks": ([0.0, math.acos(0.6)], kernels.mean(axis=0)[0])}
    yield figure.curves(title, "angle of x and x' (radians)", "kernel", lines=lines, points=points)


def _tangent_kernels(net, x, keys):
    """Θ̂ of one finite network for every key, by explicit gradients."""

    def one(key):
        params = net.init(key, (3,))
        rows = jax.jacrev(lambda p: net.apply(p, x)[:, 0])(params)
        flat = jnp.concatenate([leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(rows)], axis=1)
        return flat @ flat.T

    return jax.jit(jax.vmap(one))(keys)


@claim(sources=("eth",))
def relu_ntk_two_layer(
    key,
    dim: Int(2, 100) = 10,
    cosine: Real(-0.95, 0.95) = 0.3,
    units: Int(2000, 500_000, log=True) = 100_000,
    width: Int(10, 1000, log=True) = 100,
):
    r"""NTK of a two-layer ReLU network.

    The tangent kernel of a wide two-layer ReLU network without bias is ‖x‖‖x′‖κ(u), with u the cosine of the angle: κ
    is 2 for parallel inputs and 0 for opposite ones.

    $$\kappa(u) = \frac{2u}{\pi} (\pi - \arccos u) + \frac{\sqrt{1 - u^2}}{\pi}$$

    Assumes: f(x) = $\sqrt{2/m}\, \sum_j v_j (w_j \cdot x)_+$ with standard normal v and w; m → ∞.
    """
    hidden, head = infinite_width.Dense(width, W_std=math.sqrt(dim)), infinite_width.Dense(1, math.sqrt(2))
    net = infinite_width.serial(hidden, infinite_width.Relu(), head)

    def kappa(u):
        return 2 * u / math.pi * (math.pi - np.arccos(u)) + np.sqrt(1 - u * u) / math.pi

    u = np.array([1.0, 0.6, 0.3, cosine, 0.0, -1.0])
    x = np.zeros((6, dim))
    x[:, 0], x[:, 1] = u, np.sqrt(1 - u * u)
    exact = [2.0, 1.100447, 0.661840, kappa(cosine), 1 / math.pi, 0.0]
    yield close(net.kernel_fn(x[:1], x)[0], exact, "κ at cosines 1, 0.6, 0.3, the chosen one, 0, -1", atol=1e-6)
    rng = data.generator(key)
    inputs = rng.standard_normal((6, dim))
    norms = np.linalg.norm(inputs, axis=1)
    c = np.clip(inputs @ inputs.T / np.outer(norms, norms), -1, 1)
    yield close(net.kernel_fn(inputs), np.outer(norms, norms) * kappa(c), "‖x‖‖x'‖κ(u), random inputs", rtol=1e-6)
    stretched = np.asarray(net.kernel_fn(inputs * (1 + 1e-15)))
    yield close(np.isfinite(stretched).mean(), 1.0, "share of finite values when rounding makes |u| > 1")
    w, v = rng.standard_normal((2, units)), rng.standard_normal(units)
    h, g = w[0], cosine * w[0] + math.sqrt(1 - cosine**2) * w[1]
    both = (h > 0) & (g > 0)
    per_unit = 2 * both * (h * g + v**2 * cosine)
    yield mean(per_unit, kappa(cosine), f"κ({cosine:.2g}) from {units} random units")
    grid = np.linspace(-1, 1, 101)
    at, draws = np.linspace(-0.95, 0.95, 13), min(units // width, 8)
    w1, w2, v = w[0][: draws * width], w[1][: draws * width], v[: draws * width]
    partner = at[:, None] * w1 + np.sqrt(1 - at[:, None] ** 2) * w2
    finite = 2 * (w1 > 0) * (partner > 0) * (w1 * partner + v**2 * at[:, None])
    finite = finite.reshape(13, draws, width).mean(axis=2)
    title = f"κ is 0 for opposite inputs and 2 for parallel ones; networks of width {width} lie around it"
    points = {f"networks of width {width}": (np.repeat(at, draws), finite.ravel())}
    yield figure.curves(title, "cosine u", "tangent kernel", lines={"κ": (grid, kappa(grid))}, points=points)
