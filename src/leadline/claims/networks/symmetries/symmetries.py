"""Symmetries of parameters: permuted and rescaled units, gradients beside them, and the parameters that are left."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import as_apply, data, networks, training
from leadline.claims.scenarios.networks.digit_networks import cross_entropy, digits, member, trained
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly, instrument, slope
from leadline.networks.jacobian_rank import two_layer_rank
from leadline.networks.symmetry.symmetries import layer_norms, permutation_copies, scale_balance, scale_invariants
from leadline.presentation import figure


@claim(sources=("eth", "penn"), shows=("networks.random_permutations",))
def permutation_symmetry(
    key,
    width: Int(3, 128) = 64,
    layers: Int(1, 3) = 1,
    activation: OneOf("relu", "tanh", "sigmoid", "gelu") = "relu",
    num_steps: Int(1, 600) = 300,
):
    r"""Permutation symmetry of hidden units.

    Permuting the units of a hidden layer (the rows of its weights and the columns of the next) leaves the function
    unchanged: a network has at least $\prod_l N_l!$ copies. A doubly stochastic matrix in place of the permutation
    does not.

    $$(W_1, b_1, W_2) \to (P W_1, P b_1, W_2 P^\top), \qquad \phi(P z) = P \phi(z)$$

    Assumes: the activation acts entry by entry.

    Check: A network trained on the digits has its hidden units shuffled, in single and double precision.
    """
    rng = data.generator(key)
    stack = trained((64, *[width] * layers, 10), key, seeds=1, num_steps=num_steps, activation=activation)
    orders = [jnp.asarray(rng.permutation(width)) for _ in range(layers)]

    @eqx.filter_jit
    def examined(net, images, labels):
        loss, gradient = eqx.filter_value_and_grad(cross_entropy)(net, images, labels)
        return jax.vmap(net)(images), loss, optax.global_norm(gradient)

    changes = {}
    for dtype, bar in ((jnp.float32, 1e-5), (jnp.float64, 1e-12)):
        net, (images, labels, *_) = member(stack, 0, dtype), digits(dtype)
        before, after = (examined(n, images, labels) for n in (net, networks.permute_units(net, orders)))
        name, size = jnp.dtype(dtype).name, float(jnp.abs(before[0]).max())
        changes[name] = float(jnp.abs(after[0] - before[0]).max())
        yield close(after[0], before[0], f"outputs after permuting, {name}", atol=bar * size)
    yield close(after[1], before[1], "loss after permuting", rtol=1e-10)
    yield close(after[2], before[2], "gradient norm after permuting", rtol=1e-9)
    copies = layers * math.lgamma(width + 1)
    counted = int(permutation_copies(net)).bit_length() * np.log(2)
    yield close(counted, copies, "log of the number of copies, against Σ log N_l!", atol=np.log(2))
    # One hidden layer of three units, where a 3-cycle is not its own inverse; penn's S is the transpose of W.
    phi = networks.activation(activation)
    x, S1, S2 = (rng.normal(size=shape) for shape in ((50, 4), (4, 3), (3, 2)))
    T = np.eye(3)[:, [1, 2, 0]]

    def output(first, second):
        return np.asarray(phi(jnp.asarray(x @ first))) @ second

    target = output(S1, S2)
    scale = float(np.abs(target).max() + np.abs(S2).max())
    cycle = close(output(S1 @ T, T.T @ S2), target, "outputs with S₁T and Tᵀ S₂, T a 3-cycle", atol=1e-13 * scale)
    yield cycle
    wrong = close(output(S1 @ T, T @ S2), target, "outputs with S₁T and T S₂, T a 3-cycle", atol=1e-6 * scale)
    yield erratum(wrong, of=cycle, by="penn", prints="S₁' = S₁ T, S₂' = T S₂")
    half = np.full((2, 2), 0.5)
    yield exactly([*half.sum(0), *half.sum(1)], 1.0, "row and column sums of the matrix ½ 1 1ᵀ")
    z = np.array([0.0 if activation == "sigmoid" else 1.0, -3.0])
    mixed = np.abs(phi(jnp.asarray(half @ z)) - half @ phi(jnp.asarray(z))).max()
    yield at_least(mixed, 1e-6, "|φ(Pz) − Pφ(z)| for the doubly stochastic P = ½ 1 1ᵀ")
    weights, shown = np.asarray(net.layers[-1].weight), min(width, 16)
    panels = {"Output weights, as trained": weights, "Output weights, permuted": weights[:, np.asarray(orders[-1])]}
    title = "Shuffled units, the same outputs: the largest change is {float64:.1g} (float32: {float32:.1g})"
    place = "hidden unit's place"
    yield figure.beside(
        title.format(**changes),
        *(figure.heatmap(t, place, "class", values=w[:, :shown], diverging=True) for t, w in panels.items()),
    )


@claim(sources=("penn", "cam"))
def scale_symmetry(
    key,
    inputs: Int(2, 10) = 4,
    units: Int(4, 24) = 8,
    layers: Int(1, 4) = 2,
    activation: OneOf("relu", "leaky_relu", "absolute") = "relu",
    factor: Real(10.0, 100.0, log=True) = 10.0,
):
    r"""Rescaling symmetry of ReLU networks.

    For positively homogeneous activations the weights into a hidden unit may be multiplied by a > 0 and those out of
    it divided by a: the function is the same, along a hyperbola in parameter space on which norm, gradient and
    sharpness change. Negative a, swish and sigmoid break it.

    $$(w_j, b_j, v_j) \to (a_j w_j, a_j b_j, v_j / a_j), \qquad \phi(a t) = a\, \phi(t),\; a > 0$$

    Assumes: φ is positively homogeneous: ReLU, leaky ReLU, absolute value, identity.

    Check: Random networks are evaluated on 100 Gaussian inputs; the Hessian is that of the mean squared error of a
    two-layer network.
    """
    rng = data.generator(key)
    x = jnp.asarray(rng.normal(size=(100, inputs)))
    net = drawn(rng, networks.MLP, (inputs, *[units] * layers, 2), activation)
    factors = [jnp.asarray(10 ** rng.uniform(-3, 3, units)) for _ in range(layers)]
    run = eqx.filter_jit(lambda net, x: jax.vmap(net)(x))
    before = run(net, x)
    size = float(jnp.abs(before).max())
    # A sum over units: rounding is that of its largest term.
    rescaled = run(networks.rescale_units(net, factors), x)
    same = close(rescaled, before, "outputs after factors from 0.001 to 1000", atol=1e-12 * size * units)
    yield same
    negative = run(networks.rescale_units(net, [jnp.full(units, -2.0)] * layers), x)
    negative = close(negative, before, "outputs after the factor −2", atol=1e-6 * size)
    yield erratum(negative, of=same, by="penn", prints="the symmetry holds for any scalar α")

    W1, b1, W2, b2 = (rng.normal(size=shape) for shape in ((units, inputs), (units,), (1, units), (1,)))
    phi = networks.activation(activation)

    def two(first, bias, second):
        return np.asarray(phi(x @ first.T + bias)) @ second.T + b2

    ends = [(a * W1, a * b1, W2 / a) for a in (1.0, factor)]
    product = ends[1][0][0, 0] * ends[1][2][0, 0]
    hyperbola = close(product, W1[0, 0] * W2[0, 0], "w v along the orbit: a hyperbola", rtol=1e-12)
    yield hyperbola
    middle = [(p + q) / 2 for p, q in zip(*ends, strict=True)]
    straight = close(two(*middle), two(*ends[0]), "outputs half-way between two points of the orbit", atol=1e-6)
    yield erratum(straight, of=hyperbola, by="penn", prints="the invariant set is a straight line")
    for other in ("swish", "sigmoid"):
        strange = eqx.tree_at(lambda n: n.layers, drawn(rng, networks.MLP, net.widths, other), net.layers)
        moved = networks.rescale_units(strange, [jnp.full(units, factor)] * layers)
        plain = run(strange, x)
        changed = float(jnp.abs(run(moved, x) - plain).max() / jnp.abs(plain).max())
        yield at_least(changed, 1e-3, f"relative change of the outputs with {other}, factor {factor:g}")

    target = jnp.asarray(np.tanh(rng.normal(size=(100, 1))))
    affine = [(W1 / inputs**0.5, b1), (W2 / units**0.5, b2)]
    small = networks.mlp_from_affine([tuple(map(jnp.asarray, layer)) for layer in affine], activation)

    @eqx.filter_jit
    def measured(net, x, target):
        flat, back = networks.flatten_parameters(net)

        def loss(w):
            return jnp.mean((jax.vmap(back(w))(x) - target) ** 2)

        sharpness = jnp.linalg.eigvalsh(jax.hessian(loss)(flat))[-1]
        return sharpness, jnp.linalg.norm(jax.grad(loss)(flat)), loss(flat), jnp.sum(flat**2)

    orbit = (1 / factor, 1.0, factor)
    found = np.array([measured(networks.rescale_units(small, [jnp.full(units, a)]), x, target) for a in orbit])
    sharp, steep, losses, norms = found.T
    yield close(losses, losses[1], "loss along the orbit", rtol=1e-10)
    what = f"top Hessian eigenvalue at a = {factor:g}, over that at a = 1"
    yield at_least(sharp[2] / sharp[1], 10.0, what, strict=True)
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
        "weight w into the unit",
        "weight v out of it",
        regions=(axis, axis, np.log(top)),
        lines={"orbit of zero loss": (curve, 1 / curve)},
        points={"rescaled by a": np.stack([stops, 1 / stops], 1)},
        labels=[(a, 1 / a, f"{2 * (a**2 + a**-2):.1f}") for a in stops],
    )


@claim(sources=("penn",))
def gradient_orthogonal_to_symmetry(
    key, inputs: Int(2, 20) = 6, units: Int(4, 32) = 12, layers: Int(1, 3) = 2, num_steps: Int(1, 400) = 200
):
    r"""Symmetries conserve quantities under gradient flow.

    The gradient of every loss is orthogonal to the orbit of a symmetry. For ReLU scaling, what goes into a unit and
    what comes out of it balance: ⟨∂L/∂w, w⟩ + b ∂L/∂b = ⟨∂L/∂v, v⟩. So without biases gradient flow conserves
    $\|W_{l+1}\|^2 - \|W_l\|^2$, and gradient descent drifts in proportion to its step size.

    $$\langle \partial_{W_\ell} L, W_\ell \rangle = \sum_i \partial_{f_i} \ell\, f_i, \qquad \frac{d}{dt}
    (\|W_{\ell+1}\|^2 - \|W_\ell\|^2) = 0$$

    Assumes: φ is positively homogeneous; for the identities of whole layers and the conserved norms, no biases.

    Check: Random networks with and without biases, one trained on the digits, and gradient descent with five step
    sizes are examined.
    """
    rng = data.generator(key)
    x, y = jnp.asarray(rng.normal(size=(50, inputs))), jnp.asarray(rng.normal(size=(50, 3)))

    def squared(net, x, y):
        return jnp.mean(jnp.sum((jax.vmap(net)(x) - y) ** 2, 1))

    gradient = eqx.filter_jit(jax.grad(squared))
    biased = drawn(rng, networks.MLP, (inputs, *[units] * layers, 3))
    yield _balance(scale_balance(biased, gradient(biased, x, y)), "random data")
    images, labels, *_ = digits(jnp.float64)
    digit = member(trained((64, *[units] * layers, 10), key, seeds=1, num_steps=num_steps), 0, jnp.float64)
    slopes = eqx.filter_jit(jax.grad(cross_entropy))(digit, images, labels)
    yield _balance(scale_balance(digit, slopes), "a trained digits network")

    free = drawn(rng, networks.MLP, (inputs, *[units] * layers, 3), bias=False)
    slopes = gradient(free, x, y)
    products = np.array([float(jnp.vdot(g.weight, m.weight)) for g, m in zip(slopes.layers, free.layers, strict=True)])
    outputs = np.asarray(jax.vmap(free)(x))
    terms = 2 * (outputs - np.asarray(y)) * outputs
    size, euler = np.abs(terms).sum(1).mean(), terms.sum(1).mean()
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
    what = "Hessian along the orbit: minus the gradient's image, not 0"
    yield close(curved, expected, what, atol=1e-10 * (steep + reach))

    # Descent for one flow time with steps η, all of them in one scan: a lane is read where it has come to that time.
    rates, time = np.array([1.0, 0.5, 0.25, 0.125, 0.0625]), 32
    net = eqx.tree_at(lambda n: n.layers[-1].weight, free, free.layers[-1].weight * 0.3)
    gains = np.array([np.linalg.norm(np.asarray(layer.weight), 2) ** 2 for layer in net.layers])
    curvature = 2 * float(np.linalg.norm(np.asarray(x), 2) ** 2) / len(x) * np.sum(np.prod(gains) / gains)
    scale = 0.5 / curvature  # the largest step: half the inverse of a bound on the Gauss-Newton curvature

    @eqx.filter_jit
    def descend(net, rates, x, y):
        def run(rate):
            return training.scan_steps(
                lambda net, *_: (squared(net, x, y), None),
                net,
                optax.sgd(rate),
                None,
                num_steps=round(time / 0.0625),
                measure=lambda seen: jnp.concatenate(scale_invariants(seen.after.parameters)),
            ).measured

        return jax.vmap(run)(rates)

    path = np.asarray(descend(net, jnp.asarray(rates * scale), x, y))  # (rates, steps, hidden units)
    moved = path - np.concatenate([np.asarray(part) for part in scale_invariants(net)])
    drift = np.linalg.norm(moved, axis=2)
    last = [round(time / rate) - 1 for rate in rates]
    ends = drift[np.arange(len(rates)), last]
    size = float(layer_norms(net).max())
    first = moved[np.arange(len(rates)), last, :units]
    together, apart = np.abs(first.sum(1)), np.abs(first).sum(1)
    for name, values, met, assumption in (
        ("‖v_j‖² − ‖w_j‖², all hidden units", ends, ends > 1e-10 * size, "the network is not dead on the data"),
        ("‖W₂‖² − ‖W₁‖²", together, together > 0.2 * apart, "the drifts of the units do not cancel in the sum"),
    ):
        what, drifts = f"exponent of the drift of {name} in the step size η", np.maximum(values, 1e-300)
        yield slope(rates, drifts, 1.0, what, within=0.1).given(np.all(met), assumption)
    runs = {}
    for rate, end, values in zip(rates, last, drift, strict=True):
        runs[f"η/η₁ = {rate:g}"] = (np.arange(1, end + 2) * rate, values[: end + 1])
    title = f"Halving η halves the drift of ‖v_j‖² − ‖w_j‖²: from {ends[0]:.2g} to {ends[-1]:.2g} in four halvings"
    change = "change of ‖v_j‖² − ‖w_j‖², norm over units"
    yield figure.curves(title, "flow time, in largest steps", change, points=runs, log="y")


def _balance(pairs, where: str):
    into, out = (np.concatenate([np.asarray(pair[side]) for pair in pairs]) for side in (0, 1))
    scale = float(np.abs(np.concatenate([into, out])).max()) or 1.0
    return close(into / scale, out / scale, f"⟨∂L/∂w, w⟩ + b ∂L/∂b against ⟨∂L/∂v, v⟩, every unit, {where}", atol=1e-10)


def _unit_tangent(net: networks.MLP, values: networks.MLP) -> networks.MLP:
    """(w_j, b_j, -v_j) of `values` at unit 0 of the first hidden layer of `net`, and zeros elsewhere."""
    zero = jax.tree.map(jnp.zeros_like, net)

    def where(n):
        return (n.layers[0].weight, n.layers[0].bias, n.layers[1].weight)

    (w, b, v), (w0, b0, v0) = where(values), where(zero)
    return eqx.tree_at(where, zero, (w0.at[0].set(w[0]), b0.at[0].set(b[0]), v0.at[:, 0].set(-v[:, 0])))


@instrument(sources=("penn",), shows=("networks.parameter_jacobian",))
def effective_parameter_count(
    key, inputs: Int(2, 10) = 5, units: Int(1, 12) = 7, deep: Int(2, 10) = 6, samples: Int(1000, 6000) = 3000
):
    r"""Parameters that matter: Jacobian rank.

    The rank of the derivative of a network with respect to its parameters, over many inputs, counts the parameters
    that matter. A ReLU network with one hidden layer of m units on d inputs has rank m d of m(d+1) parameters, with
    biases m(d+1)+1 of m(d+2)+1; a deep one loses at least one for each hidden unit.

    $$\operatorname{rank} \partial f / \partial w \le p - \sum_{\ell \text{ hidden}} N_\ell$$

    Assumes: hidden units in general position: no two have nearly the same boundary on the inputs.

    Check: The inputs are Gaussian, and the tolerance is 10⁻⁹ of the largest singular value; the deep network has two
    hidden layers of equal width and one output.
    """
    rng = data.generator(key)
    x = jnp.asarray(2 * rng.normal(size=(samples, inputs)))
    for bias in (False, True):
        net = drawn(rng, networks.MLP, (inputs, units, 1), bias=bias)
        found = networks.effective_parameters(*as_apply(net), x)
        parameters = units * (inputs + 2) + 1 if bias else units * (inputs + 1)
        words = "with" if bias else "without"
        yield exactly(found.parameters, parameters, f"parameters, one hidden layer {words} biases")
        rank = two_layer_rank(inputs, units, bias=bias)  # after the loop: with biases
        yield exactly(found.rank, rank, f"rank, one hidden layer {words} biases").given(
            _separate(net, x, 3 * (inputs + 1)), "the inputs lie on both sides of every unit and between every two"
        )
        yield at_most(found.rank, rank, f"rank, one hidden layer {words} biases, against p − m")
    stacked = networks.effective_parameters(*as_apply(drawn(rng, networks.MLP, (inputs, deep, deep, 1))), x)
    bound = stacked.parameters - 2 * deep
    yield at_most(stacked.rank, bound, "rank, two hidden layers, against p − hidden units")
    smooth = drawn(rng, networks.MLP, (inputs, min(units, 4), 1), "tanh", bias_scale=0.7)
    curved = networks.effective_parameters(*as_apply(smooth), x)
    yield at_most(curved.rank, curved.parameters, "rank, tanh: no scale to lose, against p")
    s = found.singular_values / found.singular_values[0]
    yield figure.curves(
        f"{found.rank} of {found.parameters} parameters count with one hidden layer, {stacked.rank} of "
        f"{stacked.parameters} with two (bound {bound})",
        "number of the singular value",
        "singular value of ∂f/∂w, relative",
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
