"""Symmetries of parameters: permuted and rescaled units, gradients beside them, and the parameters that are left."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks
from leadline.claims.networks.digit_networks import cross_entropy, digits, member, trained
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import (
    Choice,
    Range,
    assume,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    instrument,
    printed,
    slope,
)  # fmt: skip


@claim(
    "permutation-symmetry",
    says=(
        "Permuting the units of a hidden layer, the rows of its weights and the columns of the next, leaves the "
        "function unchanged: a network has at least ∏ N_l! copies. Only 0/1 matrices do this; a doubly "
        "stochastic one does not."
    ),
    formula=r"(W_1, b_1, W_2) \to (P W_1, P b_1, W_2 P^\top), \qquad \phi(P z) = P \phi(z)",
    sources=("eth", "penn"),
    assumes=("the activation acts entry by entry",),
    shows=("networks.permute_units", "networks.random_permutations", "networks.permutation_copies"),
)
def permutation_symmetry(
    key,
    width: Annotated[int, Range(3, 128)] = 64,
    layers: Annotated[int, Range(1, 3)] = 1,
    activation: Annotated[str, Choice("relu", "tanh", "sigmoid", "gelu")] = "relu",
    steps: Annotated[int, Range(1, 600)] = 300,
):
    """A network trained on the digits, in single and double precision, with its hidden units shuffled."""
    rng = data.generator(key)
    stack = trained((64, *[width] * layers, 10), key, seeds=1, steps=steps, activation=activation)
    orders = [jnp.asarray(rng.permutation(width)) for _ in range(layers)]

    @eqx.filter_jit
    def examined(net, images, labels):
        loss, gradient = eqx.filter_value_and_grad(cross_entropy)(net, images, labels)
        return jax.vmap(net)(images), loss, optax.global_norm(gradient)

    changes = {}
    for dtype in (jnp.float64, jnp.float32):
        net = member(stack, 0, dtype)
        images, labels, *_ = digits(dtype)
        before, after = (examined(n, images, labels) for n in (net, networks.permute_units(net, orders)))
        size = float(jnp.abs(before[0]).max())
        bar = 1e-12 if dtype == jnp.float64 else 1e-5
        changes[dtype] = float(jnp.abs(after[0] - before[0]).max())
        yield close(after[0], before[0], f"outputs after permuting, {jnp.dtype(dtype).name}", atol=bar * size)
        if dtype == jnp.float64:
            yield close(after[1], before[1], "loss after permuting", rtol=1e-10)
            yield close(after[2], before[2], "gradient norm after permuting", rtol=1e-9)
    net = member(stack, 0, jnp.float64)
    copies = sum(float(np.sum(np.log(np.arange(1, width + 1)))) for _ in range(layers))
    counted = int(networks.permutation_copies(net)).bit_length() * np.log(2)
    yield close(counted, copies, "log of the number of copies, against Σ log N_l!", atol=np.log(2))

    # One hidden layer of three units, where a 3-cycle is not its own inverse; penn's S is the transpose of W.
    phi = networks.activation(activation)
    x, S1, S2 = (rng.normal(size=shape) for shape in ((50, 4), (4, 3), (3, 2)))
    T = np.eye(3)[:, [1, 2, 0]]

    def output(first, second):
        return np.asarray(phi(jnp.asarray(x @ first))) @ second

    target = output(S1, S2)
    scale = float(np.abs(target).max() + np.abs(S2).max())
    yield close(output(S1 @ T, T.T @ S2), target, "S₁T and Tᵀ S₂, a 3-cycle", atol=1e-13 * scale)
    wrong = close(output(S1 @ T, T @ S2), target, "S₁T and T S₂, a 3-cycle", atol=1e-6 * scale)
    yield printed(wrong, "penn", "S₁' = S₁ T, S₂' = T S₂")
    half = np.full((2, 2), 0.5)
    yield exactly(half.sum(0).tolist() + half.sum(1).tolist(), 1.0, "row and column sums of the matrix ½ 1 1ᵀ")
    z = np.array([1.0, -3.0]) if activation != "sigmoid" else np.array([0.0, -3.0])
    mixed, apart = phi(jnp.asarray(half @ z)), half @ np.asarray(phi(jnp.asarray(z)))
    stochastic = close(mixed, apart, "φ(Pz) against Pφ(z) for P = ½ 1 1ᵀ", atol=1e-6)
    yield printed(stochastic, "eth", "P is any matrix with unit row and column sums")

    shown = min(width, 16)
    W = np.asarray(net.layers[-1].weight)
    order = np.asarray(orders[-1])
    yield figure.beside(
        (
            f"Shuffled units, the same outputs: the largest change is {changes[jnp.float64]:.1g} "
            f"(float32: {changes[jnp.float32]:.1g})"
        ),
        *(
            figure.heatmap(
                title, x="hidden unit's place", y="class", values=matrix[:, :shown], colour="weight", diverging=True
            )
            for title, matrix in (("Output weights, as trained", W), ("Output weights, permuted", W[:, order]))
        ),
    )


@claim(
    "scale-symmetry",
    says=(
        "For positively homogeneous activations the weights into a hidden unit may be multiplied by a > 0 and those "
        "out of it divided by a: the same function, along a hyperbola in parameter space on which norm, gradient and "
        "sharpness change. Negative a, a = 0, swish and sigmoid break it."
    ),
    formula=r"(w_j, b_j, v_j) \to (a_j w_j, a_j b_j, v_j / a_j), \qquad \phi(a t) = a\, \phi(t),\; a > 0",
    sources=("penn", "cam"),
    assumes=("φ is positively homogeneous: ReLU, leaky ReLU, absolute value, identity",),
    shows=("networks.rescale_units",),
)
def scale_symmetry(
    key,
    inputs: Annotated[int, Range(2, 10)] = 4,
    units: Annotated[int, Range(4, 24)] = 8,
    layers: Annotated[int, Range(1, 4)] = 2,
    activation: Annotated[str, Choice("relu", "leaky_relu", "absolute")] = "relu",
    factor: Annotated[float, Range(10.0, 100.0, log=True)] = 10.0,
):
    """Random networks on 100 Gaussian inputs; the Hessian is that of the mean squared error of a two-layer one."""
    rng = data.generator(key)
    x = jnp.asarray(rng.normal(size=(100, inputs)))
    net = drawn(rng, networks.MLP, (inputs, *[units] * layers, 2), activation)
    factors = [jnp.asarray(10 ** rng.uniform(-3, 3, units)) for _ in range(layers)]
    run = eqx.filter_jit(lambda net, x: jax.vmap(net)(x))
    before = run(net, x)
    after = run(networks.rescale_units(net, factors), x)
    size = float(jnp.abs(before).max())
    # A sum over units: rounding is that of its largest term.
    yield close(after, before, "outputs after factors from 0.001 to 1000", atol=1e-12 * size * units)

    negative = run(networks.rescale_units(net, [jnp.full(units, -2.0)] * layers), x)
    yield printed(close(negative, before, "outputs after the factor −2", atol=1e-6 * size), "penn", "any scalar α")
    W1, b1, W2, b2 = (rng.normal(size=shape) for shape in ((units, inputs), (units,), (1, units), (1,)))
    phi = networks.activation(activation)

    def hidden(first, bias):
        return np.asarray(phi(jnp.asarray(np.asarray(x) @ first.T + bias)))

    def two(first, bias, second):
        return hidden(first, bias) @ second.T + b2

    with np.errstate(divide="ignore", invalid="ignore"):
        at_zero = two(0 * W1, 0 * b1, W2 / 0.0)
    yield printed(close(at_zero, two(W1, b1, W2), "outputs at λ = 0", atol=1e-6), "cam", "λ in R₊, 0 included")
    ends = [(a * W1, a * b1, W2 / a) for a in (1.0, factor)]
    middle = [(p + q) / 2 for p, q in zip(*ends, strict=True)]
    straight = close(two(*middle), two(*ends[0]), "outputs half-way between two points of the orbit", atol=1e-6)
    yield printed(straight, "penn", "the orbit is a straight line")
    yield close(
        ends[1][0][0, 0] * ends[1][2][0, 0], W1[0, 0] * W2[0, 0], "w v along the orbit: a hyperbola", rtol=1e-12
    )
    for other in ("swish", "sigmoid"):
        strange = eqx.tree_at(lambda n: n.layers, drawn(rng, networks.MLP, net.widths, other), net.layers)
        moved = networks.rescale_units(strange, [jnp.full(units, factor)] * layers)
        plain = run(strange, x)
        changed = float(jnp.abs(run(moved, x) - plain).max() / jnp.abs(plain).max())
        yield at_least(changed, 1e-3, f"relative change of the outputs with {other}, factor {factor:g}")

    target = jnp.asarray(np.tanh(rng.normal(size=(100, 1))))
    small = networks.mlp_from_affine(
        [(jnp.asarray(W1) / inputs**0.5, jnp.asarray(b1)), (jnp.asarray(W2) / units**0.5, jnp.asarray(b2))], activation
    )

    @eqx.filter_jit
    def measured(net, x, target):
        flat, back = networks.flatten_parameters(net)

        def loss(w):
            return jnp.mean((jax.vmap(back(w))(x) - target) ** 2)

        return (
            jnp.linalg.eigvalsh(jax.hessian(loss)(flat))[-1],
            jnp.linalg.norm(jax.grad(loss)(flat)),
            loss(flat),
            jnp.sum(flat**2),
        )

    orbit = np.array([1 / factor, 1.0, factor])
    found = np.array([measured(networks.rescale_units(small, [jnp.full(units, a)]), x, target) for a in orbit])
    sharp, steep, losses, norms = found.T
    yield close(losses, losses[1], "loss along the orbit", rtol=1e-10)
    yield at_least(
        sharp[2] / sharp[1], 10.0, f"top Hessian eigenvalue at a = {factor:g}, over that at a = 1", strict=True
    )
    yield at_least(steep.max() / steep.min(), 1.1, "largest over least gradient norm along the orbit")
    yield at_least(norms.max() / norms.min(), 1.1, "largest over least squared norm along the orbit")

    # The slice of one unit v (w x)₊ fitted to x₊ at x = 1, where L = (v w - 1)²: its Hessian in closed form.
    axis = np.linspace(0.15, 4, 60)
    w, v = np.meshgrid(axis, axis)
    cross = 2 * (2 * w * v - 1)
    top = (v**2 + w**2) + np.sqrt((v**2 - w**2) ** 2 + cross**2)
    curve = np.geomspace(0.25, 4, 200)
    stops = np.array([0.3, 0.5, 1.0, 2.0, 3.3])
    yield figure.plane(
        "The orbit w v = 1 is a hyperbola; its sharpness 2(w² + v²) is least where w = v (blue: sharp, orange: flat)",
        x="weight w into the unit",
        y="weight v out of it",
        regions=(axis, axis, np.log(top)),
        lines={"orbit of zero loss": (curve, 1 / curve)},
        points={"rescaled by a": np.stack([stops, 1 / stops], 1)},
        labels=[(a, 1 / a, f"{2 * (a**2 + a**-2):.1f}") for a in stops],
        domain=((0.15, 4), (0.15, 4)),
    )


@claim(
    "gradient-orthogonal-to-symmetry",
    says=(
        "The gradient of every loss is orthogonal to the orbit of a symmetry. For ReLU scaling, what goes into a unit "
        "and what comes out balance: ⟨∂L/∂w, w⟩ + b ∂L/∂b = ⟨∂L/∂v, v⟩. So gradient flow conserves ‖W_{l+1}‖² − "
        "‖W_l‖², and gradient descent drifts in proportion to its step."
    ),
    formula=(
        r"\langle \partial_{W_\ell} L, W_\ell \rangle = \sum_i \partial_{f_i} \ell\, f_i, \qquad"
        r" \frac{d}{dt} (\|W_{\ell+1}\|^2 - \|W_\ell\|^2) = 0"
    ),
    sources=("penn",),
    assumes=("φ is positively homogeneous; no biases for the layer identities",),
    shows=("networks.scale_balance", "networks.scale_invariants", "networks.layer_norms"),
)
def gradient_orthogonal_to_symmetry(
    key,
    inputs: Annotated[int, Range(2, 20)] = 6,
    units: Annotated[int, Range(4, 32)] = 12,
    layers: Annotated[int, Range(1, 3)] = 2,
    steps: Annotated[int, Range(1, 400)] = 200,
):
    """Random networks with and without biases, one trained on the digits, and descent with five step sizes."""
    rng = data.generator(key)
    x, y = jnp.asarray(rng.normal(size=(50, inputs))), jnp.asarray(rng.normal(size=(50, 3)))

    def squared(net, x, y):
        return jnp.mean(jnp.sum((jax.vmap(net)(x) - y) ** 2, 1))

    gradient = eqx.filter_jit(jax.grad(squared))
    biased = drawn(rng, networks.MLP, (inputs, *[units] * layers, 3))
    yield _balance(networks.scale_balance(biased, gradient(biased, x, y)), "random data")
    images, labels, *_ = digits(jnp.float64)
    digit = member(trained((64, *[units] * layers, 10), key, seeds=1, steps=steps), 0, jnp.float64)
    yield _balance(
        networks.scale_balance(digit, eqx.filter_jit(jax.grad(cross_entropy))(digit, images, labels)),
        "a trained digits network",
    )

    free = drawn(rng, networks.MLP, (inputs, *[units] * layers, 3), bias=False)
    slopes = gradient(free, x, y)
    products = np.array([float(jnp.vdot(g.weight, m.weight)) for g, m in zip(slopes.layers, free.layers, strict=True)])
    outputs = np.asarray(jax.vmap(free)(x))
    euler = float(np.mean(np.sum(2 * (outputs - np.asarray(y)) * outputs, 1)))
    size = float(np.mean(np.sum(np.abs(2 * (outputs - np.asarray(y)) * outputs), 1)))
    yield close(products, euler, "⟨∂L/∂W, W⟩ of every layer, against Σ ∂ℓ/∂f f", atol=1e-10 * max(size, 1.0))

    # The orbit's tangent u = (w_j, b_j, -v_j) at unit 0: J u = 0 always; H u = -(g_w, g_b, -g_v), 0 only at rest.
    flat, back = networks.flatten_parameters(biased)
    tangent = networks.flatten_parameters(_unit_tangent(biased, biased))[0]
    expected = -networks.flatten_parameters(_unit_tangent(biased, gradient(biased, x, y)))[0]

    @eqx.filter_jit
    def along(flat, tangent, x, y):
        _, moved = jax.jvp(lambda w: jax.vmap(back(w))(x), (flat,), (tangent,))
        return moved, jax.jvp(jax.grad(lambda w: squared(back(w), x, y)), (flat,), (tangent,))[1]

    moved, curved = along(flat, tangent, x, y)
    reach = float(jnp.abs(jax.vmap(biased)(x)).max()) + float(jnp.abs(tangent).max())
    yield close(moved, 0.0, "Jacobian of the function along the orbit", atol=1e-11 * reach * units)
    steep = float(jnp.abs(curved).max() + jnp.abs(expected).max())
    yield close(
        curved, expected, "Hessian along the orbit: minus the gradient's image, not 0", atol=1e-10 * (steep + reach)
    )

    # Descent for one flow time with steps η, all of them in one scan: a lane is read where it has come to that time.
    rates, time = np.array([1.0, 0.5, 0.25, 0.125, 0.0625]), 32
    net = eqx.tree_at(lambda n: n.layers[-1].weight, free, free.layers[-1].weight * 0.3)
    gains = np.array([np.linalg.norm(np.asarray(layer.weight), 2) ** 2 for layer in net.layers])
    curvature = 2 * float(np.linalg.norm(np.asarray(x), 2) ** 2) / len(x) * np.sum(np.prod(gains) / gains)
    scale = 0.5 / curvature  # the largest step: half the inverse of a bound on the Gauss-Newton curvature

    @eqx.filter_jit
    def descend(net, rates, x, y):
        def run(rate):
            def step(net, _):
                change = jax.grad(squared)(net, x, y)
                net = jax.tree.map(lambda p, g: p - rate * g, net, change)
                return net, jnp.concatenate(networks.scale_invariants(net))

            return jax.lax.scan(step, net, None, length=round(time / 0.0625))[1]

        return jax.vmap(run)(rates)

    path = np.asarray(descend(net, jnp.asarray(rates * scale), x, y))  # (rates, steps, hidden units)
    moved = path - np.concatenate([np.asarray(part) for part in networks.scale_invariants(net)])
    drift = np.linalg.norm(moved, axis=2)
    last = [round(time / rate) - 1 for rate in rates]
    ends = drift[np.arange(len(rates)), last]
    size = float(networks.layer_norms(net).max())
    assume(bool(np.all(ends > 1e-10 * size)), "the network is not dead on the data: some hidden units are on")
    what = "in the step η, fixed flow time"
    yield slope(rates, ends, 1.0, f"exponent of the drift of ‖v_j‖² − ‖w_j‖², all hidden units, {what}", within=0.1)
    first = moved[np.arange(len(rates)), last, :units]
    together, apart = np.abs(first.sum(1)), np.abs(first).sum(1)
    alike = bool(np.all(together > 0.2 * apart))
    yield slope(
        rates, np.maximum(together, 1e-300), 1.0, f"exponent of the drift of ‖W₂‖² − ‖W₁‖² {what}", within=0.1
    ).given(alike, "the drifts of the units do not cancel in the sum over the layer")
    yield figure.curves(
        f"Halving the step halves the drift of ‖v_j‖² − ‖w_j‖²: from {ends[0]:.2g} to {ends[-1]:.2g} in four halvings",
        x="flow time, in largest steps",
        y="change of ‖v_j‖² − ‖w_j‖², norm over units",
        points={
            f"η/η₁ = {rate:g}": _thinned(np.arange(1, end + 2) * rate, drift[i, : end + 1])
            for i, (rate, end) in enumerate(zip(rates, last, strict=True))
        },
        log="y",
    )


def _thinned(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep = np.unique(np.linspace(0, len(t) - 1, 16).astype(int))
    return t[keep], values[keep]


def _balance(pairs, where: str):
    into, out = (np.concatenate([np.asarray(pair[side]) for pair in pairs]) for side in (0, 1))
    scale = float(np.abs(np.concatenate([into, out])).max()) or 1.0
    return close(into / scale, out / scale, f"⟨∂L/∂w, w⟩ + b ∂L/∂b against ⟨∂L/∂v, v⟩, every unit, {where}", atol=1e-10)


def _unit_tangent(net: networks.MLP, values: networks.MLP) -> networks.MLP:
    """(w_j, b_j, -v_j) of `values` at unit 0 of the first hidden layer of `net`, and zeros elsewhere."""
    zero = jax.tree.map(jnp.zeros_like, net)

    def where(n):
        return (n.layers[0].weight, n.layers[0].bias, n.layers[1].weight)

    w, b, v = where(values)
    parts = where(zero)
    new = (parts[0].at[0].set(w[0]), parts[1].at[0].set(b[0]), parts[2].at[:, 0].set(-v[:, 0]))
    return eqx.tree_at(where, zero, new)


@instrument(
    "effective-parameter-count",
    says=(
        "The rank of the derivative of a network by its parameters, over many inputs, counts those that matter. A ReLU "
        "network with one hidden layer of m units on d inputs has rank m d of m(d+1) parameters, with biases m(d+1)+1 "
        "of m(d+2)+1; a deep one loses at least one for each hidden unit."
    ),
    formula=r"\operatorname{rank} \partial f / \partial w \le p - \sum_{\ell \text{ hidden}} N_\ell",
    sources=("penn",),
    assumes=("hidden units in general position: no two have nearly the same boundary on the inputs",),
    shows=(
        "networks.effective_parameters",
        "networks.EffectiveParameters",
        "networks.parameter_jacobian",
        "networks.two_layer_rank",
    ),
)
def effective_parameter_count(
    key,
    inputs: Annotated[int, Range(2, 10)] = 5,
    units: Annotated[int, Range(1, 12)] = 7,
    deep: Annotated[int, Range(2, 10)] = 6,
    samples: Annotated[int, Range(1000, 6000)] = 3000,
):
    """Gaussian inputs, tolerance 1e-9 of the largest singular value; the deep network is inputs-deep-deep-1."""
    rng = data.generator(key)
    x = jnp.asarray(2 * rng.normal(size=(samples, inputs)))
    spectra = {}
    for bias in (False, True):
        net = drawn(rng, networks.MLP, (inputs, units, 1), bias=bias)
        found = networks.effective_parameters(net, x)
        parameters = units * (inputs + 2) + 1 if bias else units * (inputs + 1)
        words = "with" if bias else "without"
        yield exactly(found.parameters, parameters, f"parameters, one hidden layer {words} biases")
        rank = networks.two_layer_rank(inputs, units, bias=bias)
        yield exactly(found.rank, rank, f"rank, one hidden layer {words} biases").given(
            _separate(net, x, 3 * (inputs + 1)), "the inputs lie on both sides of every unit and between every two"
        )
        yield at_most(found.rank, rank, f"rank, one hidden layer {words} biases, against p − m")
        spectra[bias] = found
    net = drawn(rng, networks.MLP, (inputs, deep, deep, 1))
    stacked = networks.effective_parameters(net, x)
    bound = stacked.parameters - 2 * deep
    yield at_most(stacked.rank, bound, "rank, two hidden layers, against p − hidden units")
    smooth = drawn(rng, networks.MLP, (inputs, min(units, 4), 1), "tanh", bias_scale=0.7)
    curved = networks.effective_parameters(smooth, x)
    yield at_most(curved.rank, curved.parameters, "rank, tanh: no scale to lose, against p")

    chosen = spectra[True]
    s = np.maximum(chosen.singular_values / chosen.singular_values[0], 1e-18)
    rank = networks.two_layer_rank(inputs, units, bias=True)
    yield figure.curves(
        (
            f"{chosen.rank} of {chosen.parameters} parameters count with one hidden layer, {stacked.rank} of "
            f"{stacked.parameters} with two (bound {bound})"
        ),
        x="number of the singular value",
        y="singular value of ∂f/∂w, relative",
        points={"one hidden layer, with biases": (np.arange(len(s)) + 1, s)},
        rules={f"predicted rank {rank}": ("x", rank + 0.5), "tolerance": ("y", 1e-9)},
        log="y",
    )


def _separate(net: networks.MLP, x: jax.Array, least: int) -> bool:
    """Whether so many inputs lie on each side of every unit, and tell every two units and their negatives apart."""
    on = np.asarray(networks.layer_features(net, x).pre[0]) > 0  # (samples, units)
    sides = np.minimum(on.sum(0), (~on).sum(0))
    both = on.astype(float).T @ on + (~on).astype(float).T @ ~on
    apart = np.minimum(both, len(on) - both) + np.where(np.eye(len(both), dtype=bool), np.inf, 0)
    return bool(sides.min() >= least and apart.min() >= least)
