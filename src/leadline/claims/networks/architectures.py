"""Architectures: networks on graphs, linear networks, sums of networks, dense networks."""

import re
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, training
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, model, printed


@model(
    "dag-network",
    says=(
        "A network is a directed acyclic graph of elementary maps: affine with activation, sum, concatenation. It is "
        "evaluated in topological order and differentiated in the reverse order; chains, residual and dense networks "
        "are instances, and a cycle is refused."
    ),
    formula=(
        r"h_v = f_v(h_u : u \to v), \qquad"
        r" \bar h_u = \sum_{v : u \to v} (\partial f_v / \partial h_u)^\top \bar h_v"
    ),
    sources=("cam",),
    assumes=("the graph has no cycle",),
    shows=(
        "networks.DagNetwork",
        "networks.Affine",
        "networks.Sum",
        "networks.Concatenation",
        "networks.mlp_graph",
        "networks.residual_graph",
        "networks.dense_graph",
    ),
)
def dag_network(
    key,
    depth: Annotated[int, Range(1, 10)] = 3,
    width: Annotated[int, Range(1, 64)] = 6,
    inputs: Annotated[int, Range(1, 64)] = 4,
    activation: Annotated[str, Choice("relu", "tanh", "sigmoid", "gelu")] = "tanh",
):
    """Three networks of `depth` layers and the graphs made of them, on the same 20 inputs."""
    rng = data.generator(key)
    x, cotangent = jnp.asarray(rng.normal(size=(20, inputs))), jnp.asarray(rng.normal(size=3))
    nets = {
        "chain": drawn(rng, networks.MLP, (inputs, *[width] * depth, 3), activation),
        "residual": drawn(rng, networks.ResidualNetwork, inputs, width, depth, 3, activation),
        "dense": drawn(rng, networks.DenseNetwork, inputs, width, depth, 3, activation),
    }
    graphs = {
        "chain": networks.mlp_graph(nets["chain"]),
        "residual": networks.residual_graph(nets["residual"]),
        "dense": networks.dense_graph(nets["dense"]),
    }

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
        rising = [place[u] < place[v] for u, v in graphs[name].edges]
        yield exactly(rising, True, f"every edge of the {name} graph goes forward in the order")

    loop = {f"h{i + 1}": networks.Affine(f"h{i if i else depth}", width) for i in range(depth)}
    edges = {(f"h{i if i else depth}", f"h{i + 1}") for i in range(depth)}
    try:
        networks.DagNetwork(inputs, loop, "h1", key=key)
        named = None
    except ValueError as refusal:
        named = re.search(r"edge (\w+) -> (\w+) closes", str(refusal))
    yield exactly(named is not None and named.groups() in edges, True, "a cycle is refused and one of its edges named")

    shown = graphs["residual"]
    if depth > 5:
        shown = networks.residual_graph(drawn(rng, networks.ResidualNetwork, inputs, width, 5, 3, activation))
    values = {name: float(jnp.sqrt(jnp.mean(v**2))) for name, v in shown.values(x[0]).items()}
    spots = {"x": (-1.0, 0.0), "y": (min(depth, 5) + 1.0, 0.0)}
    for name in shown.order[1:]:
        if name[0] in "sh" and name != "y":
            spots[name] = (int(name[1:]) - (0.5 if name[0] == "h" else 0.0), 0.0 if name[0] == "s" else 1.0)
    number = {name: i for i, name in enumerate(spots)}
    largest = max(values.values())
    yield figure.graph(
        (
            f"A residual network as a graph: {len(shown.edges)} edges, as wide as what they carry is large "
            f"(root mean square {min(values.values()):.2g} to {largest:.2g})"
        ),
        nodes=[(*spot, name, values[name] / largest) for name, spot in spots.items()],
        edges=[(number[u], number[v], values[u]) for u, v in shown.edges],
    )


@claim(
    "linear-network-closure",
    says=(
        "Linear layers compose to one matrix, whose rank is at most the least width. Where no inner layer is narrower "
        "than input and output every matrix can be reached; a bottleneck r leaves the error of the singular values "
        "beyond r. Training goes another way than with one layer."
    ),
    formula=(
        r"W_L \cdots W_1, \qquad"
        r" \min_{\operatorname{rank} M \le r} \|T - M\|_F = \Big( \sum_{i>r} s_i^2 \Big)^{1/2}"
    ),
    sources=("eth",),
    assumes=("no activation, no biases",),
    shows=("networks.product_matrix", "networks.linear_network", "networks.eckart_young_error"),
)
def linear_network_closure(
    key,
    inputs: Annotated[int, Range(2, 30)] = 8,
    outputs: Annotated[int, Range(2, 30)] = 6,
    depth: Annotated[int, Range(2, 8)] = 4,
    bottleneck: Annotated[int, Range(1, 30)] = 3,
):
    """A random target matrix; networks with one narrow layer, made from its singular vectors and trained."""
    rng = data.generator(key)
    full = min(inputs, outputs)
    widths = (inputs, *[bottleneck + i % 3 for i in range(depth - 1)], outputs)
    net = drawn(rng, networks.MLP, widths, "identity", bias=False)
    product = networks.product_matrix(net)
    x = jnp.asarray(rng.normal(size=(50, inputs)))
    size = float(jnp.abs(x @ product.T).max())
    yield close(jax.vmap(net)(x), x @ product.T, "outputs, against one matrix", atol=1e-12 * size)
    rank = int(np.linalg.matrix_rank(np.asarray(product)))
    yield exactly(rank, min(full, bottleneck), "rank of the product")

    target = rng.normal(size=(outputs, inputs))
    least = networks.eckart_young_error(target, bottleneck)
    best = networks.linear_network(target, widths)
    scale = float(np.linalg.norm(target))
    error = float(np.linalg.norm(np.asarray(networks.product_matrix(best)) - target))
    yield close(error, least, "error of the network cut from the singular vectors", atol=1e-12 * scale)
    wide = networks.linear_network(target, (inputs, *[full] * (depth - 1), outputs))
    yield close(networks.product_matrix(wide), target, "any matrix, once no layer is too narrow", atol=1e-12 * scale)

    # Bottlenecks of every width in one run: a mask keeps r of the units of the middle layer.
    masks = jnp.asarray(np.tril(np.ones((full, full))))
    starts = jnp.asarray(rng.normal(size=(2, full, full, max(inputs, outputs))) / np.sqrt(full))

    def distance(factors, mask, target):
        return jnp.sum(((factors[0].T * mask) @ factors[1] - target) ** 2)

    def train(out, into, mask, target):
        rule = optax.adam(optax.cosine_decay_schedule(0.05, 1500))
        (out, into), _ = training.minimise(distance, (out, into), rule, 1500, mask, target)
        return (out.T * mask) @ into

    trained = eqx.filter_jit(jax.vmap(train, (0, 0, 0, None)))(
        starts[0, :, :, :outputs], starts[1, :, :, :inputs], masks, jnp.asarray(target)
    )
    errors = np.linalg.norm(np.asarray(trained) - target, axis=(1, 2))
    bounds = np.array([networks.eckart_young_error(target, r + 1) for r in range(full)])
    yield at_least(errors, bounds, "error of trained networks with bottlenecks 1, 2, ...", atol=1e-9 * scale)

    # The same matrix at the start, the same step size: only the factors differ.
    start = rng.normal(size=(outputs, inputs)) / np.sqrt(inputs + outputs)
    single = networks.linear_network(start, (inputs, outputs))
    deep = networks.linear_network(start, (inputs, *[full] * (depth - 1), outputs))
    step = 0.02 / float(np.linalg.norm(target, 2) ** 2)
    losses = [
        np.asarray(training.minimise(_matrix_distance, begun, optax.sgd(step), 100, jnp.asarray(target))[1])
        for begun in (single, deep)
    ]
    yield close(losses[1][0], losses[0][0], "loss before the first step, deep against single", rtol=1e-9)
    apart = np.max(np.abs(losses[1] / losses[0] - 1))
    yield at_least(apart, 0.01, f"largest relative difference of the loss curves, depth {depth} against 1")

    s, found = np.linalg.svd(target, compute_uv=False), np.linalg.svd(np.asarray(trained), compute_uv=False)
    r = np.arange(1, full + 1)
    shown = range(0, full, max(1, full // 5))
    yield figure.curves(
        f"A bottleneck of width r keeps the r largest singular values of the target and loses the other {full} − r",
        x="width r of the bottleneck",
        y="singular values of the product",
        lines={f"number {i + 1}": (r, np.where(r > i, s[i], 0.0)) for i in shown},
        points={f"number {i + 1}": (r, found[:, i]) for i in shown},
    )


def _matrix_distance(net: networks.MLP, target: jax.Array) -> jax.Array:
    return jnp.sum((networks.product_matrix(net) - target) ** 2)


@claim(
    "sum-needs-double-width",
    says=(
        "With a linear output layer, multiples of a width-N network have width N, and a sum of two has width 2N. At "
        "fixed N the networks form a cone, not a linear space: no single ReLU comes nearer to |x| = (x)₊ + (−x)₊ than "
        "1/√12. With frozen hidden weights they do form one."
    ),
    formula=(
        r"\Phi_1 + \Phi_2 \in \mathcal{N}_{2N}, \qquad"
        r" \inf_{v, w, b} \| v (w x + b)_+ - |x| \|_{L^2} = 1/\sqrt{12}"
    ),
    sources=("cam",),
    assumes=("the output layer is linear", "the single ReLU has no output bias; x is uniform on [−1, 1]"),
    shows=("networks.add_networks", "networks.scale_network"),
)
def sum_needs_double_width(
    key,
    inputs: Annotated[int, Range(1, 50)] = 3,
    units: Annotated[int, Range(1, 64)] = 8,
    layers: Annotated[int, Range(1, 4)] = 2,
    factor: Annotated[float, Range(-100.0, 100.0)] = -3.0,
    activation: Annotated[str, Choice("relu", "tanh", "sigmoid", "swish")] = "relu",
):
    """Random networks for the construction; 100 trained single units and a scan over kinks for the counterexample."""
    rng = data.generator(key)
    widths = (inputs, *[units] * layers, 2)
    a, b = (drawn(rng, networks.MLP, widths, activation) for _ in range(2))
    x = jnp.asarray(rng.normal(size=(100, inputs)))
    both = networks.add_networks(a, b)
    outputs = jax.vmap(a)(x), jax.vmap(b)(x)
    size = float(jnp.abs(outputs[0]).max() + jnp.abs(outputs[1]).max())
    yield close(jax.vmap(both)(x), outputs[0] + outputs[1], "Φ₁ + Φ₂ as one network", atol=1e-12 * size)
    yield exactly(both.widths[1:-1], 2 * units, "hidden widths of the sum")
    yield close(
        jax.vmap(networks.scale_network(a, factor))(x), factor * outputs[0], "a multiple, at the same width",
        atol=1e-12 * size * max(abs(factor), 1.0),
    )  # fmt: skip
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
    exact = jax.vmap(networks.add_networks(*halves))(grid)[:, 0]
    yield close(exact, jnp.abs(grid[:, 0]), "two units: (x)₊ + (−x)₊, against |x|", atol=1e-12)

    # One unit v (w x + b)₊ is a multiple of (x − t)₊ or (t − x)₊; the best multiple leaves an error in closed form.
    kinks = np.concatenate([-np.logspace(6, 0, 200), np.linspace(-1, 1, 401)[1:-1]])
    scanned = np.array([_best_multiple(t)[1] for t in kinks])
    yield at_least(scanned, 1 / np.sqrt(12), "RMS error to |x| of the best multiple, every kink", atol=1e-12)
    yield close(
        scanned.min(), 1 / np.sqrt(12), "least RMS error, approached as the kink leaves the interval", atol=1e-9
    )
    starts = jnp.asarray(rng.normal(size=(100, 3)) * 1.5)
    rule = optax.adam(0.03)
    train = jax.vmap(lambda p, x: training.minimise(_unit_distance, p, rule, 500, x)[0], (0, None))
    ended = np.asarray(eqx.filter_jit(train)(starts, grid[:, 0]))
    errors = np.array([_unit_error(*p) for p in ended])
    yield at_least(errors, 1 / np.sqrt(12), "RMS error to |x| of 100 trained single units", atol=1e-12)
    yield printed(
        at_most(min(errors.min(), scanned.min()), 1e-6, "RMS error of the best single unit to the sum of two"),
        "cam", "the networks of one architecture form a linear space",
    )  # fmt: skip

    v, w, c = ended[int(np.argmin(errors))]
    fitted = v * np.maximum(w * np.asarray(grid[:, 0]) + c, 0)
    few = slice(0, None, 8)
    yield figure.beside(
        "A sum of two one-unit networks has no one-unit network",
        *(
            figure.curves(
                title, x="x", y="output",
                lines={"|x|": (grid[:, 0], jnp.abs(grid[:, 0]))},
                points={"network": (grid[few, 0], values[few])},
            )
            for title, values in (
                (f"One unit, the best of 100: RMS error {errors.min():.3f}", fitted),
                ("Two units: exact", exact),
            )
        ),
    )  # fmt: skip


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


def _best_multiple(kink: float) -> tuple[float, float]:
    """The best c and the error of c (x - t)₊; the mirrored unit does as well, because |x| is even."""
    x, weight = _pieces(0.0, kink)
    unit = np.maximum(x - kink, 0) / (1 + abs(kink))
    c = (weight @ (unit * np.abs(x))) / (weight @ unit**2)
    return c, float(np.sqrt(weight @ (c * unit - np.abs(x)) ** 2))


@model(
    "dense-network",
    says=(
        "Every layer reads the input and all layers before it. With growth k and k₀ inputs its L layers have "
        "L k k₀ + k² L(L−1)/2 weights: quadratic in depth. With zero weights on the skips it is a plain chain."
    ),
    formula=r"x_{\ell+1} = \phi(W_{\ell+1} [x_\ell, \ldots, x_1, x] + b_{\ell+1})",
    sources=("eth",),
    shows=("networks.DenseNetwork", "networks.dense_weight_count"),
)
def dense_network(
    key,
    inputs: Annotated[int, Range(1, 64)] = 16,
    growth: Annotated[int, Range(1, 32)] = 4,
    depth: Annotated[int, Range(1, 12)] = 6,
    activation: Annotated[str, Choice("relu", "tanh", "sigmoid", "gelu")] = "relu",
):
    """Huang et al. 2017 is the source of the architecture; eth cites an application of it to optical flow."""
    depths = range(1, 21)
    stored, biases = [], []
    for layers in depths:
        shapes = eqx.filter_eval_shape(networks.DenseNetwork, inputs, growth, layers, 3, key=key).layers
        stored.append(sum(layer.weight.size for layer in shapes))
        biases.append(sum(layer.bias.size for layer in shapes))
    counts = [networks.dense_weight_count(inputs, growth, layers) for layers in depths]
    yield exactly(stored, counts, "stored weights, 1 to 20 layers")
    yield exactly(biases, [layers * growth for layers in depths], "stored biases, 1 to 20 layers")
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
    plain = networks.mlp_from_affine(
        [(w, layer.bias) for w, layer in zip(wide, (*net.layers, net.last), strict=True)], activation
    )
    outputs = run(plain, x)
    yield close(
        run(chain, x),
        outputs,
        "outputs without skip weights, against the MLP",
        atol=1e-12 * float(jnp.abs(outputs).max()),
    )

    reads = np.tril(np.ones((depth + 1, depth + 1)))
    names = ["x", *(f"h{i + 1}" for i in range(depth))]
    yield figure.beside(
        f"Growth {growth} from {inputs} inputs: {depth} layers have {counts[depth - 1]} weights, 20 have {counts[-1]}",
        figure.heatmap(
            "Which layer reads which", x="read", y="reading layer", values=reads, xs=names, ys=[*names[1:], "y"],
            colour="reads",
        ),
        figure.curves(
            "The count is quadratic in depth",
            x="layers L",
            y="weights",
            lines={"L k k₀ + k² L(L−1)/2": (list(depths), counts)},
            points={"stored": (list(depths), stored)},
        ),
    )  # fmt: skip
