"""Architectures: networks on graphs, linear networks, sums of networks, dense networks."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, training
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly, model
from leadline.networks.architectures.dense_connections import dense_weight_count
from leadline.networks.architectures.graphs import Affine, dense_graph, residual_graph
from leadline.networks.architectures.linear_networks import eckart_young_error, product_matrix
from leadline.networks.architectures.network_sums import add_networks, scale_network
from leadline.presentation import figure


@model(sources=("cam",))
def dag_network(
    key,
    depth: Int(1, 10) = 3,
    width: Int(1, 64) = 6,
    inputs: Int(1, 64) = 4,
    activation: OneOf("relu", "tanh", "sigmoid", "gelu") = "tanh",
):
    r"""Networks as directed acyclic graphs.

    A network is a directed acyclic graph of elementary maps: affine with activation, sum, concatenation. It is
    evaluated in topological order and differentiated in the reverse order; chains, residual and dense networks are
    instances, and a cycle is refused.

    $$h_v = f_v(h_u : u \to v), \qquad \bar h_u = \sum_{v : u \to v} (\partial f_v / \partial h_u)^\top \bar h_v$$

    Assumes: the graph has no cycle.

    Check: Three networks of a chosen depth and the graphs made of them are compared on the same 20 inputs.
    """
    rng = data.generator(key)
    x, cotangent = jnp.asarray(rng.normal(size=(20, inputs))), jnp.asarray(rng.normal(size=3))
    nets = {
        "chain": drawn(rng, networks.MLP, (inputs, *[width] * depth, 3), activation),
        "residual": drawn(rng, networks.ResidualNetwork, inputs, width, depth, 3, activation),
        "dense": drawn(rng, networks.DenseNetwork, inputs, width, depth, 3, activation),
    }
    as_graph = {"chain": networks.mlp_graph, "residual": residual_graph, "dense": dense_graph}
    graphs = {name: as_graph[name](net) for name, net in nets.items()}

    @eqx.filter_jit
    def both_ways(nets, graphs, x, c):
        direct = {name: (jax.vmap(net)(x), jax.vjp(net, x[0])[1](c)[0]) for name, net in nets.items()}
        return direct, {name: (jax.vmap(g)(x), g.adjoints(x[0], c)) for name, g in graphs.items()}

    direct, swept = both_ways(nets, graphs, x, cotangent)
    for name in nets:
        (outputs, gradient), (values, adjoints) = direct[name], swept[name]
        size, steep = float(jnp.abs(outputs).max()), float(jnp.abs(gradient).max())
        yield close(values, outputs, f"outputs of the {name} graph, 20 inputs", atol=1e-13 * size)
        yield close(adjoints["x"], gradient, f"input adjoint of the {name} graph", atol=1e-13 * steep)
        place = {vertex: i for i, vertex in enumerate(graphs[name].order)}
        rising = [place[v] - place[u] for u, v in graphs[name].edges]
        yield at_least(rising, 1, f"places in the order that each edge of the {name} graph goes forward")
    loop = {f"h{i + 1}": Affine(f"h{i if i else depth}", width) for i in range(depth)}
    edges = {(f"h{i if i else depth}", f"h{i + 1}") for i in range(depth)}
    try:
        networks.DagNetwork(inputs, loop, "h1", key=key)
        refused = ""
    except ValueError as refusal:
        refused = str(refusal)
    named = set(re.findall(r"edge (\w+) -> (\w+) closes", refused))
    yield exactly(len(named & edges), 1, "edges of a cycle that its refusal names")
    shown = graphs["residual"]
    if depth > 5:
        shown = residual_graph(drawn(rng, networks.ResidualNetwork, inputs, width, 5, 3, activation))
    values = {name: float(jnp.sqrt(jnp.mean(v**2))) for name, v in shown.values(x[0]).items()}
    spots = {"x": (-1.0, 0.0), "y": (min(depth, 5) + 1.0, 0.0)}
    for name in shown.order:
        if name[0] in "sh":
            spots[name] = (int(name[1:]) - (0.5 if name[0] == "h" else 0.0), 0.0 if name[0] == "s" else 1.0)
    number = {name: i for i, name in enumerate(spots)}
    least, largest = min(values.values()), max(values.values())
    yield figure.graph(
        f"A residual network as a graph: {len(shown.edges)} edges, as wide as what they carry is large "
        f"(root mean square {least:.2g} to {largest:.2g})",
        nodes=[(*spot, name, values[name] / largest) for name, spot in spots.items()],
        edges=[(number[u], number[v], values[u]) for u, v in shown.edges],
    )


@claim(sources=("eth",))
def linear_network_closure(
    key, inputs: Int(2, 30) = 8, outputs: Int(2, 30) = 6, depth: Int(2, 8) = 4, bottleneck: Int(1, 30) = 3
):
    r"""Deep linear networks collapse to one matrix.

    Linear layers compose to one matrix, whose rank is at most the least width. Where no inner layer is narrower than
    both input and output, every matrix can be reached; a bottleneck of width r leaves the error of the singular values
    beyond r. Training takes another path than with one layer.

    $$W_L \cdots W_1, \qquad \min_{\operatorname{rank} M \le r} \|T - M\|_F = \Big( \sum_{i>r} s_i^2 \Big)^{1/2}$$

    Assumes: no activation, no biases.

    Check: For a random target matrix, networks with one narrow layer are both constructed from its singular vectors
    and trained.
    """
    rng = data.generator(key)
    full = min(inputs, outputs)
    widths = (inputs, *[bottleneck + i % 3 for i in range(depth - 1)], outputs)
    net = drawn(rng, networks.MLP, widths, "identity", bias=False)
    product = product_matrix(net)
    x = jnp.asarray(rng.normal(size=(50, inputs)))
    size = float(jnp.abs(x @ product.T).max())
    yield close(jax.vmap(net)(x), x @ product.T, "outputs of the network, against one matrix", atol=1e-12 * size)
    yield exactly(np.linalg.matrix_rank(product), min(full, bottleneck), "rank of the product W_L … W₁")
    target = rng.normal(size=(outputs, inputs))
    least = eckart_young_error(target, bottleneck)
    best = product_matrix(networks.linear_network(target, widths))
    scale = float(np.linalg.norm(target))
    error = np.linalg.norm(best - target)
    yield close(error, least, "error of the network cut from the singular vectors", atol=1e-12 * scale)
    wide = product_matrix(networks.linear_network(target, (inputs, *[full] * (depth - 1), outputs)))
    yield close(wide, target, "product of wide layers made for a random target matrix", atol=1e-12 * scale)
    # Bottlenecks of every width in one run: a mask keeps r of the units of the middle layer.
    masks = jnp.asarray(np.tril(np.ones((full, full))))
    starts = jnp.asarray(rng.normal(size=(2, full, full, max(inputs, outputs))) / np.sqrt(full))

    def distance(factors, mask, target):
        return jnp.sum(((factors[0].T * mask) @ factors[1] - target) ** 2)

    def train(out, into, mask, target):
        rule = optax.adam(optax.cosine_decay_schedule(0.05, 1500))
        (out, into), _ = training.minimise(distance, (out, into), rule, 1500, mask, target)
        return (out.T * mask) @ into

    train = eqx.filter_jit(jax.vmap(train, (0, 0, 0, None)))
    trained = train(starts[0, :, :, :outputs], starts[1, :, :, :inputs], masks, jnp.asarray(target))
    errors = np.linalg.norm(trained - target, axis=(1, 2))
    bounds = [eckart_young_error(target, r + 1) for r in range(full)]
    yield at_least(errors, bounds, "error of trained networks with bottlenecks 1, 2, ...", atol=1e-9 * scale)
    # The same matrix at the start, the same step size: only the factors differ.
    start = rng.normal(size=(outputs, inputs)) / np.sqrt(inputs + outputs)
    single = networks.linear_network(start, (inputs, outputs))
    deep = networks.linear_network(start, (inputs, *[full] * (depth - 1), outputs))
    step = 0.02 / float(np.linalg.norm(target, 2) ** 2)

    def loss(net, target):
        return jnp.sum((product_matrix(net) - target) ** 2)

    starts, rule = (single, deep), optax.sgd(step)
    losses = [training.minimise(loss, begun, rule, 100, jnp.asarray(target))[1] for begun in starts]
    yield close(losses[1][0], losses[0][0], "loss before the first step, deep against single", rtol=1e-9)
    apart = np.max(np.abs(losses[1] / losses[0] - 1))
    yield at_least(apart, 0.01, f"largest relative difference of the loss curves, depth {depth} against 1")
    s, found = (np.linalg.svd(matrix, compute_uv=False) for matrix in (target, trained))
    r, shown = np.arange(1, full + 1), range(0, full, max(1, full // 5))
    lines = {f"number {i + 1}": (r, np.where(r > i, s[i], 0.0)) for i in shown}
    points = {f"number {i + 1}": (r, found[:, i]) for i in shown}
    title = f"A bottleneck of width r keeps the r largest singular values of the target and loses the other {full} − r"
    across, up = "width r of the bottleneck", "singular values of the product"
    yield figure.curves(title, across, up, lines=lines, points=points)


@claim(sources=("cam",))
def sum_needs_double_width(
    key,
    inputs: Int(1, 50) = 3,
    units: Int(1, 64) = 8,
    layers: Int(1, 4) = 2,
    factor: Real(-100.0, 100.0) = -3.0,
    activation: OneOf("relu", "tanh", "sigmoid", "swish") = "relu",
):
    r"""Adding two networks doubles the width.

    With a linear output layer, multiples of a width-N network have width N, and a sum of two has width 2N. At fixed N
    the networks form a cone, not a linear space: no single ReLU comes nearer to |x| = (x)₊ + (−x)₊ than 1/√12. With
    frozen hidden weights they do form one.

    $$\Phi_1 + \Phi_2 \in \mathcal{N}_{2N}, \qquad \inf_{v, w, b} \| v (w x + b)_+ - |x| \|_{L^2} = 1/\sqrt{12}$$

    Assumes: the output layer is linear; the single ReLU has no output bias, and x is uniform on [−1, 1].

    Check: Random networks serve for the construction, and 100 trained single units and a scan over kinks for the
    counterexample.
    """
    rng = data.generator(key)
    widths = (inputs, *[units] * layers, 2)
    a, b = (drawn(rng, networks.MLP, widths, activation) for _ in range(2))
    x = jnp.asarray(rng.normal(size=(100, inputs)))
    both = add_networks(a, b)
    outputs = jax.vmap(a)(x), jax.vmap(b)(x)
    size = float(jnp.abs(outputs[0]).max() + jnp.abs(outputs[1]).max())
    yield close(jax.vmap(both)(x), outputs[0] + outputs[1], "Φ₁ + Φ₂ as one network", atol=1e-12 * size)
    yield exactly(both.widths[1:-1], 2 * units, "hidden widths of Φ₁ + Φ₂ as one network")
    multiple, tiny = jax.vmap(scale_network(a, factor))(x), 1e-12 * size * max(abs(factor), 1.0)
    yield close(multiple, factor * outputs[0], "a multiple of Φ₁, at the same width", atol=tiny)
    frozen = eqx.tree_at(lambda n: n.layers[-1], a, b.layers[-1])
    merged = eqx.tree_at(lambda n: n.layers[-1], a, jax.tree.map(jnp.add, a.layers[-1], b.layers[-1]))
    together = outputs[0] + jax.vmap(frozen)(x)
    reach = float(jnp.abs(together).max() + jnp.abs(outputs[0]).max())
    yield close(jax.vmap(merged)(x), together, "a sum with frozen hidden weights, at width N", atol=1e-12 * reach)
    halves = [
        networks.mlp_from_affine([(jnp.array([[sign]]), jnp.zeros(1)), (jnp.ones((1, 1)), jnp.zeros(1))], "relu")
        for sign in (1.0, -1.0)
    ]
    grid = jnp.linspace(-1, 1, 201)[:, None]
    exact = jax.vmap(add_networks(*halves))(grid)[:, 0]
    yield close(exact, jnp.abs(grid[:, 0]), "two units: (x)₊ + (−x)₊, against |x|", atol=1e-12)
    # One unit v (w x + b)₊ is a multiple of (x − t)₊ or (t − x)₊; the best multiple leaves an error in closed form.
    kinks = np.concatenate([-np.logspace(6, 0, 200), np.linspace(-1, 1, 401)[1:-1]])
    scanned = np.array([_best_multiple(t) for t in kinks])
    apart = at_least(scanned, 1 / np.sqrt(12), "RMS error to |x| of the best multiple, every kink", atol=1e-12)
    yield apart
    what = "least RMS error to |x|, approached as the kink leaves the interval"
    yield close(scanned.min(), 1 / np.sqrt(12), what, atol=1e-9)
    starts, rule = jnp.asarray(rng.normal(size=(100, 3)) * 1.5), optax.adam(0.03)
    train = jax.vmap(lambda p, x: training.minimise(_unit_distance, p, rule, 500, x)[0], (0, None))
    ended = np.asarray(eqx.filter_jit(train)(starts, grid[:, 0]))
    errors = np.array([_unit_error(*p) for p in ended])
    yield at_least(errors, 1 / np.sqrt(12), "RMS error to |x| of 100 trained single units", atol=1e-12)
    nearest = min(errors.min(), scanned.min())
    wrong = at_most(nearest, 1e-6, "RMS error of the best single unit to the sum of two")
    yield erratum(wrong, of=apart, by="cam", prints="the networks of one architecture form a linear space")
    t = np.asarray(grid[:, 0])
    v, w, c = ended[int(np.argmin(errors))]
    shown = {f"One unit, the best of 100: RMS error {errors.min():.3f}": v * np.maximum(w * t + c, 0)}
    panels = []
    for title, values in (shown | {"Two units: exact": exact}).items():
        points = {"network": (t[::8], values[::8])}
        panels.append(figure.curves(title, "x", "output", lines={"|x|": (t, np.abs(t))}, points=points))
    yield figure.beside("A sum of two one-unit networks has no one-unit network", *panels)


def _unit_distance(parameters: jax.Array, x: jax.Array) -> jax.Array:
    v, w, b = parameters
    return jnp.mean((v * jax.nn.relu(w * x + b) - jnp.abs(x)) ** 2)


def _pieces(*breaks: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights, exact for cubics between the breaks, with total weight 1 on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(2)
    ends = np.unique(np.clip([-1.0, *breaks, 1.0], -1, 1))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel() / 2


def _unit_error(v: float, w: float, b: float) -> float:
    x, weight = _pieces(0.0, -b / w if w else 0.0)
    return float(np.sqrt(weight @ (v * np.maximum(w * x + b, 0) - np.abs(x)) ** 2))


def _best_multiple(kink: float) -> float:
    """The error of the best c (x - t)₊; the mirrored unit does as well, because |x| is even."""
    x, weight = _pieces(0.0, kink)
    unit = np.maximum(x - kink, 0) / (1 + abs(kink))
    c = (weight @ (unit * np.abs(x))) / (weight @ unit**2)
    return float(np.sqrt(weight @ (c * unit - np.abs(x)) ** 2))


@model(sources=("eth",))
def dense_network(
    key,
    inputs: Int(1, 64) = 16,
    growth: Int(1, 32) = 4,
    depth: Int(1, 12) = 6,
    activation: OneOf("relu", "tanh", "sigmoid", "gelu") = "relu",
):
    r"""Densely connected network (DenseNet).

    Every layer reads the input and all layers before it. With growth k and k₀ inputs its L layers have L k k₀ + k²
    L(L−1)/2 weights, which is quadratic in depth. With zero weights on the skips it is a plain chain.

    $$x_{\ell+1} = \phi(W_{\ell+1} [x_\ell, \ldots, x_1, x] + b_{\ell+1})$$

    Check: The weights are counted and the skips set to zero. The architecture is due to Huang et al. (2017); the ETH
    notes cite an application of it to optical flow.
    """
    depths, stored, biases = range(1, 21), [], []
    for layers in depths:
        shapes = eqx.filter_eval_shape(networks.DenseNetwork, inputs, growth, layers, 3, key=key).layers
        stored.append(sum(layer.weight.size for layer in shapes))
        biases.append(sum(layer.bias.size for layer in shapes))
    counts = [dense_weight_count(inputs, growth, layers) for layers in depths]
    yield exactly(stored, counts, "stored weights, 1 to 20 layers")
    yield exactly(biases, growth * np.array(depths), "stored biases, 1 to 20 layers")
    yield exactly(np.diff(stored, 2), growth**2, "second difference of the weights in depth: k²")
    rng = data.generator(key)
    net = drawn(rng, networks.DenseNetwork, inputs, growth, depth, 3, activation)
    x = jnp.asarray(rng.normal(size=(20, inputs)))
    states = [np.asarray(x)]
    for layer in net.layers:
        z = np.concatenate(states[::-1], 1) @ np.asarray(layer.weight).T + np.asarray(layer.bias)
        states.append(np.asarray(networks.activation(activation)(jnp.asarray(z))))
    by_hand = np.concatenate(states[::-1], 1) @ np.asarray(net.last.weight).T + np.asarray(net.last.bias)
    size = float(np.abs(by_hand).max())
    run = eqx.filter_jit(lambda net, x: jax.vmap(net)(x))
    yield close(run(net, x), by_hand, "outputs, against the sum over all earlier layers", atol=1e-12 * size)
    chain = net.without_skips()
    wide = [layer.weight[:, : growth if i else inputs] for i, layer in enumerate((*chain.layers, chain.last))]
    affine = [(w, layer.bias) for w, layer in zip(wide, (*net.layers, net.last), strict=True)]
    outputs = run(networks.mlp_from_affine(affine, activation), x)
    tiny = 1e-12 * float(jnp.abs(outputs).max())
    yield close(run(chain, x), outputs, "outputs without skip weights, against the MLP", atol=tiny)
    reads, names = np.tril(np.ones((depth + 1, depth + 1))), ["x", *(f"h{i + 1}" for i in range(depth))]
    axes = {"xs": names, "ys": [*names[1:], "y"]}
    lines, points = {"L k k₀ + k² L(L−1)/2": (depths, counts)}, {"stored": (depths, stored)}
    yield figure.beside(
        f"Growth {growth} from {inputs} inputs: {depth} layers have {counts[depth - 1]} weights, 20 have {counts[-1]}",
        figure.heatmap("Which layer reads which", "read", "reading layer", values=reads, colour="reads", **axes),
        figure.curves("The count is quadratic in depth", "layers L", "weights", lines=lines, points=points),
    )
