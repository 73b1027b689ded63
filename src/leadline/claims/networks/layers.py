"""Fully connected networks: their forward pass, their parameters as numbers and as one vector, their training."""

from itertools import pairwise
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, embeddings, learning, networks, training
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    close,
    exactly,
    figure,
    instrument,
    method,
    model,
    printed,
)


def _by_loops(net, x):
    """The forward pass of one input, number by number, with Python's own arithmetic."""
    phi = networks.activation(net.activation)
    h = [float(v) for v in x]
    for index, layer in enumerate(net.layers):
        weight, bias = np.asarray(layer.weight), layer.bias
        z = []
        for i in range(weight.shape[0]):
            total = 0.0 if bias is None else float(bias[i])
            for j, value in enumerate(h):
                total += float(weight[i, j]) * value
            z.append(total)
        inner = index + 1 < len(net.layers) or net.last_activation
        h = [float(v) for v in phi(jnp.asarray(z))] if inner else z
    return np.array(h)


@model(
    "mlp",
    says="A fully connected network alternates affine maps and an activation; the bias of a layer has as many entries "
    "as the layer has units, and the last layer is linear by default. Without biases a ReLU network is homogeneous.",
    formula=r"x_0 = x, \quad z_l = W_l x_{l-1} + b_l, \quad x_l = \varphi(z_l), \quad W_l \in \mathbb{R}^{N_l \times "
    r"N_{l-1}}, \; b_l \in \mathbb{R}^{N_l}",
    sources=("eth", "penn", "cam"),
    shows=("networks.MLP", "networks.Trace"),
)
def mlp(
    key,
    inputs: Annotated[int, Range(1, 12)] = 4,
    width: Annotated[int, Range(2, 24)] = 8,
    hidden_layers: Annotated[int, Range(0, 6)] = 2,
    activation: Annotated[str, Choice("tanh", "sigmoid", "relu", "leaky_relu", "swish", "gelu")] = "tanh",
    scale: Annotated[float, Range(0.01, 100.0, log=True)] = 3.0,
):
    """One random network with 3 outputs, five inputs; finite differences are central ones, along random directions."""
    key_net, key_x, key_w = jax.random.split(key, 3)
    widths = (inputs, *[width] * hidden_layers, 3)
    net = networks.MLP(widths, activation, init="lecun", bias_scale=0.5, key=key_net)
    many = jax.random.normal(key_x, (200, inputs))
    trace = eqx.filter_jit(jax.vmap(lambda x: net.trace(x)))(many)
    values, x = trace.post, many[:5]
    trace = jax.tree.map(lambda a: a[:5], trace)
    outputs = trace.post[-1]
    yield exactly([z.shape[1] for z in trace.pre], widths[1:], "pre-activations returned, by layer")
    yield exactly([h.shape[1] for h in trace.post], widths, "post-activations returned, from the input up")
    yield close(outputs, np.stack([_by_loops(net, row) for row in np.asarray(x)]), "outputs, against loops", atol=1e-12)

    weights, rebuild = networks.flatten_parameters(net)
    direction = jax.random.normal(key_w, (8, weights.size)) / weights.size**0.5

    @jax.jit
    def slopes(weights, direction, x):
        def along(t, w):
            return jnp.sum(jax.vmap(rebuild(weights + t * w))(x) ** 2)

        exact = jax.vmap(jax.grad(along), in_axes=(None, 0))(0.0, direction)
        central = jax.vmap(lambda w: (along(1e-5, w) - along(-1e-5, w)) / 2e-5)(direction)
        return exact, central

    exact, central = slopes(weights, direction, x)
    kinked = activation in ("relu", "leaky_relu")
    size = float(jnp.abs(exact).max()) + float(jnp.sum(outputs**2)) + 1
    yield close(central / size, exact / size, "slopes in the parameters, against finite differences", atol=1e-7).given(
        not kinked or float(min(jnp.abs(z).min() for z in trace.pre[:-1] or [jnp.ones(1)])) > 1e-3,
        "no pre-activation is within 0.001 of a kink",
    )

    plain = networks.MLP(widths, "relu", bias=False, key=key_net)
    once, scaled = eqx.filter_jit(lambda net, x: (jax.vmap(net)(x), jax.vmap(net)(scale * x)))(plain, x)
    yield close(scaled / scale, once, "f(a x)/a of a ReLU network without biases, against f(x)", atol=1e-12)

    shapes = [layer.bias.shape[0] for layer in net.layers]
    yield exactly(shapes, widths[1:], "entries of b_l, against the units of layer l")
    wrong = exactly(shapes, widths[:-1], "entries of b_l, against the inputs of layer l")
    yield printed(wrong, "eth", "b ∈ Rⁿ with n the input dimension of the layer").given(
        widths[:-1] != widths[1:], "some layer has not as many units as inputs"
    )
    ended = networks.mlp_from_affine(net.affine(), activation, last_activation=True)
    last = jax.vmap(ended)(x)
    yield close(
        last, networks.activation(activation)(outputs), "output with the activation on the last layer", atol=1e-12
    )
    yield printed(
        close(last, outputs, "output with the activation on the last layer", atol=1e-6), "cam",
        "Φ = φ(W_L … + b_L), said to end without activation",
    )  # fmt: skip

    nodes, first, edges = [], [], []
    top = max(float(jnp.abs(v).mean(axis=0).max()) for v in values)
    for level, (value, count) in enumerate(zip(values, widths, strict=True)):
        first.append(len(nodes))
        strength = np.asarray(jnp.abs(value).mean(axis=0))
        for unit in range(min(count, 8)):
            height = (min(count, 8) - 1) / 2 - unit
            nodes.append((1.6 * level, height, f"{strength[unit]:.2g}", float(strength[unit] / top)))
    for level, layer in enumerate(net.layers):
        for i in range(min(widths[level + 1], 8)):
            for j in range(min(widths[level], 8)):
                edges.append((first[level] + j, first[level + 1] + i, float(layer.weight[i, j])))
    spread = [f"{float(v.var()):.2g}" for v in values]
    yield figure.graph(
        f"Mean |activation| of each unit (at most 8 a layer); variance by layer {', '.join(spread)}",
        nodes=nodes,
        edges=edges,
    )


@instrument(
    "parameter-count",
    says="An MLP has Σ N_l (N_{l−1} + 1) parameters; per layer and input it does N_l N_{l−1} multiply-adds and keeps "
    "N_l activations. At a fixed budget a deeper network is a thinner one.",
    formula=r"P = \sum_{l=1}^{L} N_l (N_{l-1} + 1)",
    sources=("cam", "penn"),
    shows=(
        "networks.parameter_count",
        "networks.mlp_parameters",
        "networks.layer_costs",
        "networks.LayerCost",
        "networks.width_at_budget",
    ),
)
def parameter_count(
    key,
    inputs: Annotated[int, Range(1, 200)] = 64,
    width: Annotated[int, Range(1, 200)] = 32,
    hidden_layers: Annotated[int, Range(0, 6)] = 1,
    budget: Annotated[int, Range(1000, 6000, log=True)] = 3000,
):
    """The chart trains ReLU networks of 1, 2 and 4 hidden layers within the budget on 500 digits, 200 Adam steps."""
    widths = (inputs, *[width] * hidden_layers, 10)
    net = networks.MLP(widths, key=key)
    predicted = networks.mlp_parameters(widths)
    yield exactly(networks.mlp_parameters((64, 32, 10)), 2410, "parameters of (64, 32, 10)")
    yield exactly(networks.parameter_count(net), predicted, "stored numbers of the MLP, against Σ N_l (N_{l−1} + 1)")
    costs = networks.layer_costs(net)
    by_hand = [(m * (n + 1), m * n, m) for n, m in pairwise(widths)]
    table = [(c.parameters, c.multiply_adds, c.activations) for c in costs]
    yield exactly(table, by_hand, "parameters, multiply-adds and activations of each layer")
    bare = eqx.filter_eval_shape(networks.MLP, widths, bias=False, key=key)
    yield exactly(networks.parameter_count(bare), predicted - sum(widths[1:]), "stored numbers without biases")

    form = eqx.filter_eval_shape  # shapes without numbers: nothing is drawn
    others = {
        "networks.ConvClassifier": (
            form(networks.ConvClassifier, 8, 8, 10, key=key),
            8 * (9 + 1) + 16 * (9 * 8 + 1) + 10 * (16 * 4 + 1),
        ),
        "networks.TaskHead": (form(networks.TaskHead, inputs, "classes", 3, key=key), 3 * (inputs + 1)),
        "networks.ResidualNetwork": (
            form(networks.ResidualNetwork, inputs, width, 3, 2, key=key),
            networks.mlp_parameters((inputs, *[width] * 4, 2)),
        ),
        "networks.AbsoluteBypass": (form(networks.relu_to_absolute, net), predicted),
        "embeddings.LogBilinear": (form(embeddings.LogBilinear, 20, width, key=key), 20 * (2 * width + 1)),
    }
    found = [networks.parameter_count(model) for model, _ in others.values()]
    yield exactly(found, [count for _, count in others.values()], f"stored numbers of {', '.join(others)}")

    train_x, train_y, test_x, test_y = data.digits_split()
    train_x, test_x = (jnp.asarray(part, jnp.float32) for part in (train_x[:500], test_x))
    train_y, test_y = (jnp.asarray(part) for part in (train_y[:500], test_y))
    depths, accuracy, rule = [1, 2, 4], [], optax.adam(5e-3)

    def loss(net, x, y):
        return learning.cross_entropy(jax.vmap(net)(x), y).mean()

    for hidden in depths:
        thin = networks.width_at_budget(budget, hidden, 64, 10)
        used, over = (networks.mlp_parameters((64, *[thin + more] * hidden, 10)) for more in (0, 1))
        yield at_most(used, budget, f"parameters with {hidden} hidden layers of {thin}")
        yield at_least(over, budget, f"with one unit more in each of {hidden} layers", strict=True)
        net = networks.MLP((64, *[thin] * hidden, 10), dtype=jnp.float32, key=key)
        net, _ = training.minimise(loss, net, rule, 200, train_x, train_y)
        accuracy.append(float(networks.accuracy(net, test_x, test_y)))
    best = int(np.argmax(accuracy))
    yield figure.curves(
        f"{budget} parameters on the digits: best with {depths[best]} hidden layer{'s' * (depths[best] > 1)}, "
        f"test accuracy {accuracy[best]:.3f} (one network each)",
        x="hidden layers",
        y="test accuracy after 200 steps",
        points={"at most the budget": (depths, accuracy)},
    )


@method(
    "flatten-parameters",
    says="All parameters of a model as one vector and back, without losing a bit or a dtype, so that algorithms for "
    "vectors apply to it.",
    formula=r"\text{parameters} \leftrightarrow w \in \mathbb{R}^p",
    sources=("penn",),
    shows=("networks.flatten_parameters",),
)
def flatten_parameters(
    key,
    width: Annotated[int, Range(1, 64, log=True)] = 16,
    hidden_layers: Annotated[int, Range(1, 4)] = 2,
    steps: Annotated[int, Range(1, 50)] = 20,
    rate: Annotated[float, Range(1e-4, 0.3, log=True)] = 0.1,
):
    """Descent with plain steps, once on the vector and once tensor by tensor, from the same gradients."""
    key_net, key_x = jax.random.split(key)
    net = networks.MLP((5, *[width] * hidden_layers, 2), "tanh", bias_scale=1.0, key=key_net)
    # Half of the layers in single precision: the vector is double, and every number gets its own dtype back.
    mixed = eqx.tree_at(lambda n: n.layers[0], net, jax.tree.map(lambda a: a.astype(jnp.float32), net.layers[0]))
    for name, kept in {"double": net, "mixed": mixed}.items():
        vector, rebuild = networks.flatten_parameters(kept)
        back = rebuild(vector)
        yield exactly(vector.size, networks.parameter_count(kept), f"length of the vector, {name} precision")
        pairs = list(zip(jax.tree.leaves(kept), jax.tree.leaves(back), strict=True))
        yield exactly(all(a.dtype == b.dtype for a, b in pairs), True, f"dtypes after the round trip, {name}")
        same = all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)
        yield exactly(same, True, f"bits after the round trip, {name}")
    again, _ = networks.flatten_parameters(rebuild(vector))
    yield exactly(np.array_equal(np.asarray(again), np.asarray(vector)), True, "vector → model → vector")

    x = jax.random.normal(key_x, (30, 5))
    y = jnp.stack([jnp.sin(x[:, 0]), x[:, 1] * x[:, 2]], axis=1)

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x) - y) ** 2)

    vector, rebuild = networks.flatten_parameters(net)
    gradient = eqx.filter_jit(eqx.filter_grad(loss))
    tree = net
    for _ in range(steps):
        slope, _ = networks.flatten_parameters(gradient(rebuild(vector), x, y))
        vector = vector - rate * slope
        tree = jax.tree.map(lambda w, g: w - rate * g, tree, gradient(tree, x, y))
    flat, _ = networks.flatten_parameters(tree)
    yield exactly(
        np.array_equal(np.asarray(flat), np.asarray(vector)), True, f"bits after {steps} steps, vector against tensors"
    )
    direct = jax.grad(lambda w: loss(rebuild(w), x, y))(flat)
    by_tree, _ = networks.flatten_parameters(gradient(tree, x, y))
    yield close(direct, by_tree, "gradient in the vector, against the flattened gradient", atol=1e-14, rtol=1e-12)


@method(
    "training-objective",
    says="Training minimises the mean loss over all layers at once, by minibatch SGD or any Optax rule. "
    "The perceptron's loss max(0, −y f) has the worthless minimum w = 0; margin hinge, logistic and squared loss do "
    "not.",
    formula=r"\min_w \frac1n \sum_{i=1}^{n} \ell(y_i, f(x_i; w)), \quad \max(0, 1 - y f), \; \max(0, -y f), \; "
    r"\log(1 + e^{-y f}), \; (y - f)^2",
    sources=("penn",),
    shows=("training.minimise", "learning.hinge", "learning.perceptron_hinge", "learning.logistic", "learning.squared"),
)
def training_objective(
    key,
    samples: Annotated[int, Range(20, 300)] = 100,
    width: Annotated[int, Range(2, 64, log=True)] = 16,
    batch: Annotated[int, Range(1, 20)] = 10,
    rate: Annotated[float, Range(0.001, 0.5, log=True)] = 0.1,
    noise: Annotated[float, Range(0.0, 0.3)] = 0.15,
):
    """Two half-moons, one hidden layer of tanh units. The margin losses are functions of y f, since y² = 1."""
    from sklearn.datasets import make_moons

    key_net, key_batches = jax.random.split(key)
    x, bit = make_moons(samples, noise=noise, random_state=int(data.generator(key).integers(2**31)))
    x, y = jnp.asarray(x), jnp.asarray(2.0 * bit - 1)
    net = networks.MLP((2, width, 1), "tanh", init="lecun", bias_scale=0.5, key=key_net)
    losses = {
        "margin hinge": learning.hinge,
        "perceptron hinge": learning.perceptron_hinge,
        "logistic": learning.logistic,
        "squared": lambda z: learning.squared(z, 1.0),
    }

    def objective(which):
        return lambda net, x, y: losses[which](y * jax.vmap(net)(x)[:, 0]).mean()

    zero = jax.tree.map(jnp.zeros_like, net)
    values = {name: float(objective(name)(zero, x, y)) for name in losses}
    at_zero = eqx.filter_grad(objective("perceptron hinge"))(zero, x, y)
    largest = max(float(jnp.abs(a).max()) for a in jax.tree.leaves(at_zero))
    yield exactly(values["perceptron hinge"], 0.0, "perceptron hinge at w = 0")
    yield exactly(largest, 0.0, "its gradient there, all layers")
    yield close(values["margin hinge"], 1.0, "margin hinge at w = 0", rtol=1e-14)
    yield close(values["logistic"], np.log(2), "logistic loss at w = 0", rtol=1e-14)
    yield close(values["squared"], 1.0, "squared loss at w = 0", rtol=1e-14)
    yield printed(
        at_least(values["perceptron hinge"], 0.0, "loss of the worthless w = 0", strict=True), "penn",
        "train with max(0, −y ŷ)",
    )  # fmt: skip

    end, _ = training.minimise(objective("margin hinge"), net, optax.sgd(rate), 3, x, y, batch=batch, key=key_batches)
    rows = np.asarray(data.batch_sequence(samples, batch, 3, key=key_batches))
    W, b, v, c = (np.asarray(a) for layer in net.layers for a in (layer.weight, layer.bias))
    for chosen in rows:
        inputs, labels = np.asarray(x)[chosen], np.asarray(y)[chosen]
        hidden = np.tanh(inputs @ W.T + b)
        out = hidden @ v[0] + c[0]
        slope = -labels * (labels * out < 1) / batch  # ∂ mean hinge / ∂ f
        back = slope[:, None] * v[0] * (1 - hidden**2)
        W, b = W - rate * back.T @ inputs, b - rate * back.sum(axis=0)
        v, c = v - rate * (slope @ hidden)[None], c - rate * slope.sum()
    ours = [np.asarray(a) for layer in end.layers for a in (layer.weight, layer.bias)]
    for name, found, expected in zip(("W₁", "b₁", "W₂", "b₂"), ours, (W, b, v, c), strict=True):
        yield close(found, expected, f"{name} after 3 steps of SGD, against steps by hand", atol=1e-12)

    steps, curves, errors = 300, {}, {}

    @eqx.filter_jit
    def train(net, which, x, y):
        def chosen(net, x, y):
            z = y * jax.vmap(net)(x)[:, 0]
            return jax.lax.switch(which, list(losses.values()), z).mean()

        end, path = training.minimise(chosen, net, optax.adam(0.02), steps, x, y)
        return path, jnp.mean(y * jax.vmap(end)(x)[:, 0] <= 0)

    for index, name in enumerate(losses):
        path, wrong = train(net, jnp.asarray(index), x, y)
        curves[name], errors[name] = (np.arange(steps), np.asarray(path)), float(wrong)
        yield at_most(float(path[-1]), float(path[0]), f"{name}: last loss against the first")
    yield figure.curves(
        "Full-batch Adam on two moons; training errors after 300 steps: "
        + ", ".join(f"{name} {100 * e:.0f}%" for name, e in errors.items()),
        x="step",
        y="training loss",
        lines=curves,
    )
