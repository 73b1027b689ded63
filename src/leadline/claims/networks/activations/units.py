"""One unit and one layer of units: ridge functions, half-spaces, and what a threshold does to a gradient."""

from math import comb

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, training
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, model
from leadline.linear_classifiers import dichotomies, perceptrons
from leadline.presentation import figure

SMOOTH = ("identity", "tanh", "sigmoid", "relu", "leaky_relu", "absolute", "swish", "gelu", "softplus", "sin")


@model(sources=("cam",))
def artificial_neuron(
    key, dim: Int(1, 200, log=True) = 2, activation: OneOf(*SMOOTH) = "tanh", scale: Real(0.1, 10.0, log=True) = 2.0
):
    r"""Artificial neuron.

    A unit takes a weighted sum of its inputs, adds a bias and applies an activation: d + 1 parameters. It is constant
    along every direction orthogonal to its weights.

    $$\varphi(x; w, b) = \sigma(w \cdot x + b), \quad \nabla_x \varphi = \sigma'(w \cdot x + b)\, w$$

    Check: A network of one layer with one output, with the activation applied to that output, is taken as one unit.
    """
    key_net, key_x, key_u = jax.random.split(key, 3)
    unit = networks.MLP((dim, 1), activation, bias_scale=1.0, last_activation=True, key=key_net)
    length = jnp.linalg.norm(unit.layers[0].weight)
    unit = eqx.tree_at(lambda u: u.layers[0].weight, unit, scale * unit.layers[0].weight / length)
    w, b = unit.layers[0].weight[0], unit.layers[0].bias[0]
    yield exactly(networks.parameter_count(unit), dim + 1, "parameters of one unit")
    x, u = (jax.random.normal(k, (200, dim)) for k in (key_x, key_u))
    u -= jnp.outer(u @ w, w) / (w @ w)
    value, gradient = jax.vmap(jax.value_and_grad(lambda x: unit(x)[0]))(x)
    size = float(jnp.maximum(1.0, jnp.abs(value).max()))
    yield close(jax.vmap(unit)(x + u)[:, 0], value, "f(x + u) for u orthogonal to w", atol=1e-12 * size)
    facts = networks.activation_facts(activation)
    slope = facts.derivative(x @ w + b)[:, None]
    yield close(gradient, slope * w, "∇f by automatic differentiation, against σ'(w·x + b) w", atol=1e-12)
    plane, offset = (np.asarray(w), float(b)) if dim == 2 else (scale * np.array([0.8, 0.6]), 0.5)
    xs = np.linspace(-3, 3, 46)
    grid = np.stack(np.meshgrid(xs, xs), -1)
    centre, along = -offset * plane / scale**2, np.array([-plane[1], plane[0]]) / scale
    regions = (xs, xs, facts.function(jnp.asarray(grid @ plane + offset)))
    lines = {"w·x + b = 0": np.transpose([centre - 9 * along, centre + 9 * along])}
    arrows = {"direction of w": (centre, centre + 1.2 * plane / scale)}
    title = f"A {activation} unit changes only across its hyperplane w·x + b = 0"
    yield figure.plane(title, "x₁", "x₂", regions=regions, lines=lines, arrows=arrows)


@claim(sources=("cam",))
def neuron_halfspace_split(key, units: Int(1, 12) = 5, dim: Int(1, 4) = 2):
    r"""A threshold unit splits space in two.

    A threshold unit with w ≠ 0 is the indicator of one side of its hyperplane. A layer of m of them in general
    position gives as many binary codes as the hyperplanes have regions; a unit with w = 0 gives no hyperplane at all.

    $$\#\{\text{codes}\} = \sum_{i=0}^{d} \binom{m}{i}$$

    Assumes: the hyperplanes are in general position.

    Check: The regions are listed exactly, by linear programmes; a point of each is then given to the layer.
    """
    key_net, key_x = jax.random.split(key)
    layer = networks.MLP((dim, units), "heaviside", bias_scale=0.5, last_activation=True, key=key_net)
    w, b = layer.layers[0].weight, layer.layers[0].bias
    x = 2 * jax.random.normal(key_x, (10_000, dim))
    code = jax.vmap(layer)(x)
    side = jnp.stack([perceptrons.signed_distance(w[i], b[i], x) for i in range(units)], axis=1)
    yield exactly(code, (side > 0).astype(float), "code bits, against the sign of (w·x + b)/‖w‖")
    # Regions of the plane are the cells of directions (x, 1): those on the positive side of the last coordinate.
    lifted = np.vstack([np.column_stack([w, b]), np.eye(dim + 1)[-1:]])
    cells = dichotomies.enumerate_cells(lifted)
    inside = cells.signs[:, -1] > 0
    points = cells.witnesses[inside, :dim] / cells.witnesses[inside, dim:]
    predicted = sum(comb(units, i) for i in range(dim + 1))
    yield exactly(inside.sum(), predicted, "regions of the arrangement")

    def codes(layer, x):
        return len(np.unique(jax.vmap(layer)(jnp.asarray(x)), axis=0))

    yield exactly(codes(layer, points), predicted, "distinct codes of one point of each region")
    yield at_most(codes(layer, x), predicted, "distinct codes of 10⁴ random points")
    flat = eqx.tree_at(lambda n: n.layers[0].weight, layer, jnp.zeros_like(w))
    yield exactly(codes(flat, x), 1, "distinct codes with all weights 0")
    picture = layer if dim == 2 else networks.MLP((2, units), "heaviside", bias_scale=0.5, key=key_net)
    weight, bias = np.asarray(picture.layers[0].weight), np.asarray(picture.layers[0].bias)
    xs = np.linspace(-4, 4, 61)
    grid = np.stack(np.meshgrid(xs, xs), -1)
    bits = (grid @ weight.T + bias > 0).astype(int)
    _, number = np.unique(bits.reshape(-1, units), axis=0, return_inverse=True)
    shade = np.random.default_rng(0).permutation(number.max() + 1)[number]
    lines = {}
    for i, (w, b) in enumerate(zip(weight, bias, strict=True)):
        centre, along = -b * w / (w @ w), np.array([-w[1], w[0]]) / np.linalg.norm(w)
        lines[f"unit {i + 1}"] = np.transpose([centre - 12 * along, centre + 12 * along])
    in_plane, seen = sum(comb(units, i) for i in range(3)), number.max() + 1
    title = f"{units} threshold unit{'s' * (units > 1)} in the plane: {in_plane} codes, {seen} in this window"
    yield figure.plane(title, "x₁", "x₂", regions=(xs, xs, shade.reshape(len(xs), -1)), lines=lines)


@claim(sources=("penn", "cam"))
def heaviside_zero_gradient(
    key, width: Int(32, 128, log=True) = 32, hidden_layers: Int(1, 3) = 2, noise: Real(0.0, 0.15) = 0.1
):
    r"""Threshold units block the gradient.

    Below a layer of threshold units every gradient is exactly 0, so gradient training moves only the layers above. A
    straight-through surrogate, a made-up slope in the backward pass, restores learning.

    $$\theta' = 0 \text{ almost everywhere} \;\Rightarrow\; \partial L / \partial W_l = 0 \text{ below}$$

    Check: The data are two half-moons of 200 points; five networks of each kind are trained from five random keys by
    Adam with step size 0.01 on full batches. In the straight-through networks the derivative of the step function is
    taken to be 1 for |z| ≤ 1 and 0 beyond.
    """
    from sklearn.datasets import make_moons

    key_data, key_nets = jax.random.split(key)
    x, y = make_moons(200, noise=noise, random_state=int(data.generator(key_data).integers(2**31)))
    x, y = jnp.asarray(x), jnp.asarray(2.0 * y - 1)
    keys, steps = jax.random.split(key_nets, 5), 200
    widths = (2, *[width] * hidden_layers, 1)

    def loss(net, x, y):
        return learning.logistic(y * jax.vmap(net)(x)[:, 0]).mean()

    nets = eqx.filter_jit(eqx.filter_vmap(lambda k: networks.MLP(widths, "heaviside", bias_scale=0.5, key=k)))(keys)

    @eqx.filter_jit
    def run(nets, x, y):
        return eqx.filter_vmap(lambda net: training.minimise(loss, net, optax.adam(0.01), steps + 1, x, y))(nets)

    ends, losses = {}, {}
    for name in ("heaviside", "straight_through", "relu"):
        form = eqx.filter_eval_shape(networks.MLP, widths, name, key=keys[0])
        start = jax.tree.unflatten(jax.tree.structure(form), jax.tree.leaves(nets))  # the same weights
        ends[name], losses[name] = run(start, x, y)
    first = jax.tree.map(lambda a: a[0], nets)
    slopes = eqx.filter_jit(eqx.filter_grad(loss))(first, x, y)
    below = [jnp.abs(a).max() for a in jax.tree.leaves(slopes.layers[:-1])]
    yield exactly(below, 0.0, "largest gradient in the hidden layers below a threshold")
    above = jnp.abs(slopes.layers[-1].weight).max()
    yield at_least(above, 0.0, "largest gradient in the layer above the thresholds", strict=True)
    old, new = (jax.tree.leaves(stack.layers[:-1]) for stack in (nets, ends["heaviside"]))
    moved = sum(int(jnp.sum(a != b)) for a, b in zip(old, new, strict=True))
    yield exactly(moved, 0, f"hidden weights that moved in {steps} steps")
    through = losses["straight_through"]
    yield at_most(through[:, -1] / through[:, 0], 0.5, "last over first loss, straight-through, each of 5 keys")
    middle = {name: np.median(values, axis=0) for name, values in losses.items()}
    labels = {"heaviside": "threshold", "straight_through": "threshold, straight-through slope", "relu": "ReLU"}
    lines = {labels[name]: (np.arange(steps + 1), values) for name, values in middle.items()}
    title = (
        f"Loss after {steps} steps, median of 5: threshold {middle['heaviside'][-1]:.2g} (only the last layer learns), "
        f"straight-through {middle['straight_through'][-1]:.2g}, ReLU {middle['relu'][-1]:.2g}"
    )
    yield figure.curves(title, "step", "training loss", lines=lines)
