"""Fully connected networks: their forward pass, their parameters as numbers and as one vector, their training."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import convolution, data, learning, networks, training
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, erratum, exactly, instrument, method, model
from leadline.networks import embeddings
from leadline.presentation import figure
from leadline.presentation.figure.graph_pictures import layered_graph


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


@model(sources=("eth", "penn", "cam"))
def mlp(
    key,
    inputs: Int(1, 12) = 4,
    width: Int(2, 24) = 8,
    hidden_layers: Int(0, 6) = 2,
    activation: OneOf("tanh", "sigmoid", "relu", "leaky_relu", "swish", "gelu") = "tanh",
    scale: Real(0.01, 100.0, log=True) = 3.0,
):
    r"""Multilayer perceptron.

    A fully connected network alternates affine maps and an activation; the bias of a layer has as many entries as the
    layer has units, and the last layer is linear by default. Without biases a ReLU network is positively homogeneous.

    $$x_0 = x, \quad z_l = W_l x_{l-1} + b_l, \quad x_l = \varphi(z_l), \quad W_l \in \mathbb{R}^{N_l \times N_{l-1}},
    \; b_l \in \mathbb{R}^{N_l}$$

    Check: One random network with 3 outputs is evaluated at five inputs; derivatives are compared with central finite
    differences along random directions.
    """
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
    yield close(outputs, [_by_loops(net, row) for row in np.asarray(x)], "outputs, against loops", atol=1e-12)
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
    nearest = min((float(jnp.abs(z).min()) for z in trace.pre[:-1]), default=1.0)
    clear = activation not in ("relu", "leaky_relu") or nearest > 1e-3
    size = jnp.abs(exact).max() + jnp.sum(outputs**2) + 1
    yield close(central / size, exact / size, "slopes in the parameters, against finite differences", atol=1e-7).given(
        clear, "no pre-activation is within 0.001 of a kink"
    )
    plain = networks.MLP(widths, "relu", bias=False, key=key_net)
    once, scaled = eqx.filter_jit(lambda net, x: (jax.vmap(net)(x), jax.vmap(net)(scale * x)))(plain, x)
    yield close(scaled / scale, once, "f(a x)/a of a ReLU network without biases, against f(x)", atol=1e-12)
    shapes = [layer.bias.shape[0] for layer in net.layers]
    units = exactly(shapes, widths[1:], "entries of b_l, against the units of layer l")
    yield units
    wrong = exactly(shapes, widths[:-1], "entries of b_l, against the inputs of layer l")
    yield erratum(wrong, of=units, by="eth", prints="b ∈ Rⁿ with n the input dimension of the layer").given(
        widths[:-1] != widths[1:], "some layer has not as many units as inputs"
    )
    ended = jax.vmap(networks.mlp_from_affine(net.affine(), activation, last_activation=True))(x)
    expected = networks.activation(activation)(outputs)
    yield close(ended, expected, "output with the activation on the last layer", atol=1e-12)
    sizes = [np.abs(v).mean(axis=0)[:8] for v in values]
    weights = [np.asarray(layer.weight)[:8, :8] for layer in net.layers]
    spread = ", ".join(f"{float(v.var()):.2g}" for v in values)
    title = f"Mean |activation| of each unit (at most 8 a layer); variance by layer {spread}"
    yield layered_graph(title, sizes, weights)


@instrument(sources=("cam", "penn"))
def parameter_count(
    key,
    inputs: Int(1, 200) = 64,
    width: Int(1, 200) = 32,
    hidden_layers: Int(0, 6) = 1,
    budget: Int(1000, 6000, log=True) = 3000,
):
    r"""Parameters and cost of an MLP.

    An MLP has $\sum_l N_l (N_{l-1} + 1)$ parameters; per layer and input it does $N_l N_{l-1}$ multiply-adds and keeps
    $N_l$ activations. At a fixed budget a deeper network is a thinner one.

    $$P = \sum_{l=1}^{L} N_l (N_{l-1} + 1)$$

    Check: The counts are checked against the arrays of a network. The chart trains ReLU networks of 1, 2 and 4 hidden
    layers within the budget on 500 digits, by 200 steps of Adam.
    """
    widths = (inputs, *[width] * hidden_layers, 10)
    net = networks.MLP(widths, key=key)
    predicted = networks.mlp_parameters(widths)
    yield exactly(networks.mlp_parameters((64, 32, 10)), 2410, "parameters of the MLP (64, 32, 10)")
    yield exactly(networks.parameter_count(net), predicted, "stored numbers of the MLP, against Σ N_l (N_{l−1} + 1)")
    by_hand = [(m * (n + 1), m * n, m) for n, m in pairwise(widths)]
    table = [(c.parameters, c.multiply_adds, c.activations) for c in networks.layer_costs(net)]
    yield exactly(table, by_hand, "parameters, multiply-adds and activations of each layer")
    form = eqx.filter_eval_shape  # shapes without numbers: nothing is drawn
    bare = networks.parameter_count(form(networks.MLP, widths, bias=False, key=key))
    yield exactly(bare, predicted - sum(widths[1:]), "stored numbers of the MLP without biases")
    convolutional, residual = 8 * (9 + 1) + 16 * (9 * 8 + 1) + 10 * (16 * 4 + 1), (inputs, *[width] * 4, 2)
    others = [
        (form(convolution.ConvNetwork, convolution.pyramid((8, 16), 10), (1, 8, 8), key=key), convolutional),
        (form(networks.TaskHead, inputs, "classes", 3, key=key), 3 * (inputs + 1)),
        (form(networks.ResidualNetwork, inputs, width, 3, 2, key=key), networks.mlp_parameters(residual)),
        (form(networks.relu_to_absolute, net), predicted),
        (form(embeddings.LogBilinear, 20, width, key=key), 20 * (2 * width + 1)),
    ]
    found, counts = [networks.parameter_count(model) for model, _ in others], [count for _, count in others]
    yield exactly(found, counts, f"stored numbers of {', '.join(type(model).__name__ for model, _ in others)}")
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
        yield at_least(over, budget, f"parameters with {hidden} hidden layers of {thin + 1}", strict=True)
        net = networks.MLP((64, *[thin] * hidden, 10), dtype=jnp.float32, key=key)
        net, _ = training.minimise(loss, net, rule, 200, train_x, train_y)
        accuracy.append(float(networks.accuracy(net, test_x, test_y)))
    best, top = depths[int(np.argmax(accuracy))], max(accuracy)
    title = f"{budget} parameters on the digits: best with {best} hidden layers, test accuracy {top:.3f}"
    points = {"at most the budget": (depths, accuracy)}
    yield figure.curves(title, "hidden layers", "test accuracy after 200 steps", points=points)


@method(sources=("penn",))
def flatten_parameters(
    key,
    width: Int(1, 64, log=True) = 16,
    hidden_layers: Int(1, 4) = 2,
    num_steps: Int(1, 50) = 20,
    rate: Real(1e-4, 0.3, log=True) = 0.1,
):
    r"""Flattening parameters to one vector.

    All parameters of a model are written as one vector and back, without losing a bit or a dtype, so that algorithms
    for vectors apply to the model.

    $$\text{parameters} \leftrightarrow w \in \mathbb{R}^p$$

    Check: Gradient descent with plain steps is run once on the vector and once tensor by tensor, from the same
    gradients.
    """
    key_net, key_x = jax.random.split(key)
    net = networks.MLP((5, *[width] * hidden_layers, 2), "tanh", bias_scale=1.0, key=key_net)
    # Half of the layers in single precision: the vector is double, and every number gets its own dtype back.
    mixed = eqx.tree_at(lambda n: n.layers[0], net, jax.tree.map(lambda a: a.astype(jnp.float32), net.layers[0]))
    for name, kept in {"double": net, "mixed": mixed}.items():
        vector, rebuild = networks.flatten_parameters(kept)
        back = rebuild(vector)
        yield exactly(vector.size, networks.parameter_count(kept), f"length of the vector, {name} precision")
        old, new = jax.tree.leaves(kept), jax.tree.leaves(back)
        dtypes = [str(a.dtype) for a in old]
        yield exactly([str(a.dtype) for a in new], dtypes, f"dtypes after the round trip, {name} precision")
        changed = sum(int(jnp.sum(a != b)) for a, b in zip(old, new, strict=True))
        yield exactly(changed, 0, f"numbers changed by the round trip, {name} precision")
    again, _ = networks.flatten_parameters(rebuild(vector))
    yield exactly(jnp.sum(again != vector), 0, "numbers changed by vector → model → vector")
    x = jax.random.normal(key_x, (30, 5))
    y = jnp.stack([jnp.sin(x[:, 0]), x[:, 1] * x[:, 2]], axis=1)

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x) - y) ** 2)

    vector, rebuild = networks.flatten_parameters(net)
    gradient = eqx.filter_jit(eqx.filter_grad(loss))
    tree = net
    for _ in range(num_steps):
        slope, _ = networks.flatten_parameters(gradient(rebuild(vector), x, y))
        vector = vector - rate * slope
        tree = jax.tree.map(lambda w, g: w - rate * g, tree, gradient(tree, x, y))
    flat, _ = networks.flatten_parameters(tree)
    yield exactly(jnp.sum(flat != vector), 0, f"numbers that differ after {num_steps} steps, vector against tensors")
    direct = jax.grad(lambda w: loss(rebuild(w), x, y))(flat)
    by_tree, _ = networks.flatten_parameters(gradient(tree, x, y))
    yield close(direct, by_tree, "gradient in the vector, against the flattened gradient", atol=1e-14, rtol=1e-12)


@method(sources=("penn",))
def training_objective(
    key,
    samples: Int(20, 300) = 100,
    width: Int(2, 64, log=True) = 16,
    batch: Int(1, 20) = 10,
    rate: Real(0.001, 0.5, log=True) = 0.1,
    noise: Real(0.0, 0.3) = 0.15,
):
    r"""Training as empirical risk minimisation.

    Training minimises the mean loss over all layers at once, by minibatch SGD or any Optax optimiser. The perceptron
    loss max(0, −y f) has the worthless minimum w = 0; the margin hinge, logistic and squared losses do not.

    $$\min_w \frac1n \sum_{i=1}^{n} \ell(y_i, f(x_i; w)), \quad \max(0, 1 - y f), \; \max(0, -y f), \; \log(1 + e^{-y
    f}), \; (y - f)^2$$

    Check: The data are two half-moons, and the network has one hidden layer of tanh units. The margin losses are
    functions of y f, since y² = 1.
    """
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
    yield exactly(largest, 0.0, "gradient of the perceptron hinge at w = 0, all layers")
    for name, value in (("margin hinge", 1.0), ("logistic", np.log(2)), ("squared", 1.0)):
        yield close(values[name], value, f"{name} loss at w = 0", rtol=1e-14)
    end, _ = training.minimise(objective("margin hinge"), net, optax.sgd(rate), 3, x, y, batch=batch, key=key_batches)
    rows = np.asarray(data.batch_sequence(samples, batch, 3, key=key_batches))
    W, b, v, c = (np.asarray(a) for a in jax.tree.leaves(net.layers))
    for chosen in rows:
        inputs, labels = np.asarray(x)[chosen], np.asarray(y)[chosen]
        hidden = np.tanh(inputs @ W.T + b)
        out = hidden @ v[0] + c[0]
        slope = -labels * (labels * out < 1) / batch  # ∂ mean hinge / ∂ f
        back = slope[:, None] * v[0] * (1 - hidden**2)
        W, b = W - rate * back.T @ inputs, b - rate * back.sum(axis=0)
        v, c = v - rate * (slope @ hidden)[None], c - rate * slope.sum()
    ours, by_hand = jax.tree.leaves(end.layers), (W, b, v, c)
    for name, found, expected in zip(("W₁", "b₁", "W₂", "b₂"), ours, by_hand, strict=True):
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
        yield at_most(path[-1], path[0], f"{name}: last training loss, against the first")
    wrong = ", ".join(f"{name} {e:.0%}" for name, e in errors.items())
    title = f"Full-batch Adam on two moons; training errors after 300 steps: {wrong}"
    yield figure.curves(title, "step", "training loss", lines=curves)
