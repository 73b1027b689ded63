"""What derivatives cost: bracketings, paths, reverse mode's constant, checkpointing."""

import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation
from leadline.claims.scenarios.networks.layer_pairs import pair_parameters, relative_error
from leadline.differentiation.operation_counts import jacobian_chain_multiply_adds, network_multiply_adds
from leadline.differentiation.path_sums import LocalEdge, diamond_chain, local_edges, sum_paths, sweep_paths
from leadline.differentiation.tracers import Operations
from leadline.evidence import Figure, Int, Real, at_most, claim, close, exactly, method, slope
from leadline.presentation import figure


@claim(sources=("sheet",))
def chain_rule_composition(key, n0: Int(2, 60) = 30, n1: Int(2, 60) = 12, n2: Int(2, 60) = 8, n3: Int(1, 60) = 1):
    r"""Chain rule and the order of multiplication.

    The derivative of $G \circ F_\theta \circ H$ with respect to its input is the product of three Jacobians, with
    respect to θ of two. Any bracketing gives the same matrix at a different price: for few outputs it is cheapest to
    start from the output.

    $$\partial_x = (\partial G)(\partial F)(\partial H), \quad \partial_\theta = (\partial G)(\partial_\theta F); \quad
    n_3 n_1 (n_2 + n_0) \ \text{or} \ n_2 n_0 (n_1 + n_3) \ \text{multiply-adds}$$

    Assumes: smooth maps.

    Check: The maps are H(x) = tanh(Ax + a), $F_\theta(h) = \sin(\theta h)$ and G(f) = softplus(Bf) with random
    matrices, and a tape counts the products.
    """
    rng = data.generator(key)
    A, theta, B = (rng.normal(size=s) / s[1] ** 0.5 for s in ((n1, n0), (n2, n1), (n3, n2)))
    a, x = rng.normal(size=n1), rng.normal(size=n0)
    of_x, of_theta, dG, dF, dF_theta, dH = (np.asarray(j) for j in _three_maps(x, theta, A, a, B))
    yield close(dG @ dF @ dH, of_x, "∂G ∂F ∂H against autodiff in x", atol=1e-12)
    yield close(dG @ dF_theta.reshape(n2, -1), of_theta.reshape(n3, -1), "∂G ∂_θF against autodiff in θ", atol=1e-12)

    def counted(n3: int) -> list[int]:
        matrices = rng.normal(size=(n3, n2)), dF, dH
        counts = []
        for left in (True, False):
            tape = differentiation.Tape()
            g, f, h = (tape.variable(m) for m in matrices)
            _ = (g @ f) @ h if left else g @ (f @ h)
            counts.append(tape.evaluated.products)
        return counts

    sizes = (n0, n1, n2, n3)
    costs = jacobian_chain_multiply_adds(sizes)
    yield exactly(counted(n3), costs, "multiply-adds of both bracketings, counted against the library's")
    formula = (n3 * n1 * (n2 + n0), n2 * n0 * (n1 + n3))
    yield exactly(costs, formula, "multiply-adds of both bracketings, against the formula")
    scalar = jacobian_chain_multiply_adds((n0, n1, n2, 1))
    yield at_most(*scalar, "multiply-adds for one output, from its side against from the input's")
    outputs, names = np.unique(np.geomspace(1, 60, 9).astype(int)), ("(∂G ∂F) ∂H", "∂G (∂F ∂H)")
    price = np.transpose([jacobian_chain_multiply_adds((n0, n1, n2, int(m))) for m in outputs])
    measured = np.transpose([counted(int(m)) for m in outputs])
    lines, points = ({n: (outputs, v) for n, v in zip(names, side, strict=True)} for side in (price, measured))
    title = "Price against the number of outputs"
    yield figure.beside(
        f"The same {n3} × {n0} Jacobian costs {costs[0]} multiply-adds from the output's side, {costs[1]} from "
        f"the input's: a factor {max(costs) / min(costs):.2g}",
        _matrix_chain(sizes),
        figure.curves(title, "outputs n₃", "multiply-adds", lines=lines, points=points, log="xy"),
    )


@claim(sources=("sheet", "penn"))
def sum_over_paths(key, diamonds: Int(1, 13) = 8, nodes: Int(3, 18) = 14, density: Real(0.1, 1.0) = 0.7):
    r"""Derivatives as sums over paths.

    A derivative is the sum over all directed paths of the product of the local derivatives along them. L diamonds in a
    row have 2ᴸ paths, yet reverse mode takes only two operations for each edge.

    $$\frac{\partial\, \text{out}}{\partial\, \text{in}} = \sum_{\text{paths}} \prod_{(i,j) \in \text{path}}
    \frac{\partial x_j}{\partial x_i}$$

    Assumes: a directed acyclic graph.

    Check: All paths are enumerated in a random graph of numbers, whose edges are present with a chosen probability,
    and in a chain of diamonds.
    """
    rng = data.generator(key)
    edges = [
        LocalEdge(i, j, float(rng.normal()))
        for j in range(1, nodes)
        for i in range(j)
        if i == j - 1 or rng.random() < density
    ]
    slow = sum_paths(edges, 0, nodes - 1, limit=2**17)
    fast = sweep_paths(edges, 0, nodes - 1)
    sizes = [edge._replace(partial=abs(edge.partial)) for edge in edges]
    scale = sweep_paths(sizes, 0, nodes - 1).derivative  # of what may cancel
    what = f"derivative over {slow.paths} paths of a random graph against reverse mode"
    yield close(slow.derivative / scale, fast.derivative / scale, what, atol=1e-12)
    yield exactly(fast.paths, slow.paths, "paths, counted by the sweep and one by one")
    yield exactly(fast.operations, 2 * len(edges), "operations of reverse mode: two for each edge")
    slopes = rng.uniform(0.5, 1.5, size=(diamonds, 2))
    x0 = float(rng.normal())
    lengths = np.arange(1, diamonds + 1)
    enumerated, swept = [], []
    for length in lengths:
        tape = differentiation.Tape()
        x = tape.variable(x0)
        y = diamond_chain(x, slopes[:length])
        chain = local_edges(tape)
        enumerated.append(sum_paths(chain, x.node, y.node))
        swept.append(sweep_paths(chain, x.node, y.node))
    exact = jax.grad(lambda x: _diamonds(x, slopes))(x0)
    sizes = [edge._replace(partial=abs(edge.partial)) for edge in chain]
    bound = sweep_paths(sizes, x.node, y.node).derivative
    found = np.array([enumerated[-1].derivative, swept[-1].derivative, float(tape.gradient(y, x))])
    yield close(found / bound, exact / bound, "chain of diamonds: paths, sweep and tape against jax.grad", atol=1e-12)
    yield exactly([p.paths for p in enumerated], 2**lengths, "paths of 1, 2, ... diamonds")
    slow, fast = ([p.operations for p in counts] for counts in (enumerated, swept))
    yield exactly(slow, 3 * lengths * 2**lengths - 1, "operations path by path, 1, 2, ... diamonds")
    yield exactly(fast, 12 * lengths, "operations of reverse mode, 1, 2, ... diamonds")
    lines = {"3 L 2^L − 1": (lengths, 3 * lengths * 2.0**lengths - 1), "12 L": (lengths, 12 * lengths)}
    points = {"path by path": (lengths, slow), "reverse mode": (lengths, fast)}
    title = "Operations for one derivative"
    yield figure.beside(
        f"{diamonds} diamonds have {2**diamonds} paths: {slow[-1]} operations one by one, {fast[-1]} by reverse mode",
        _diamond_picture(min(diamonds, 5)),
        figure.curves(title, "diamonds L", "operations", lines=lines, points=points, log="y"),
    )


@claim(sources=("eth", "penn", "sheet"))
def cheap_gradient_cost(
    key, depth: Int(1, 64) = 8, width: Int(1, 64) = 16, inputs: Int(1, 64) = 20, outputs: Int(1, 64) = 10
):
    r"""Cheap gradient principle.

    The gradient of a fully connected network costs less than 3 evaluations of the network, however many weights it
    has; finite differences cost one evaluation for each weight.

    $$\frac{\text{forward} + \text{reverse}}{\text{forward}} = 3 - \frac{N_1 N_0}{\sum_l N_l N_{l-1}} \le 3$$

    Assumes: only multiply-adds of matrix products are counted; the adjoint of the input is not computed.

    Check: Multiply-adds are counted on the tape. The clock compares value and gradient of ReLU layers, 128 wide, for a
    batch of 256; it is judged for hand-written layers run one by one. For layers compiled by JAX the ratio is shown
    and not judged: the compiled value keeps no activations, so its gradient pays for memory as well as arithmetic, and
    more so with depth.
    """
    rng = data.generator(key)
    widths = (inputs, *[width] * (depth - 1), outputs)
    formula = network_multiply_adds(widths)
    forward, backward, stored = _counted(widths, rng)
    yield exactly((forward, backward), formula, "multiply-adds forward and backward, counted against the formula")
    layers, total = [a * b for a, b in itertools.pairwise(widths)], (forward + backward) / forward
    what = "multiply-adds forward and reverse over those forward"
    yield close(total, 3 - layers[0] / sum(layers), f"{what}, against 3 − N₁N₀/ΣN_lN_{{l−1}}", rtol=1e-12)
    yield at_most(total, 3.0, f"{what}, against 3")
    yield exactly(stored, 2 * sum(widths[1:]), "numbers stored for the backward pass: z and h of every layer")
    deeper = [sum(_counted((width,) * (d + 1), rng)[:2]) for d in (2, 4, 6)]
    yield exactly(deeper[2] - deeper[1], deeper[1] - deeper[0], "multiply-adds for two more layers, then for two more")
    sides = np.array([4, 6, 8, 12, 16, 24, 32])
    counts = np.array([_counted((n, n, n, n), rng)[:2] for n in sides])
    weights = 3 * sides**2
    reverse = counts.sum(axis=1)
    differences = (weights + 1) * counts[:, 0]
    tangents = np.array([_tangent_products(n, rng) for n in sides[:3]])
    yield slope(weights, reverse, 1.0, "exponent of the cost of reverse mode in the number of weights", within=1e-6)
    yield slope(weights, differences, 2.0, "exponent of the cost of finite differences in the weights", within=0.02)
    passes = weights * 5 * sides**2  # one for each weight: its tangent in three layers, that of the values in two
    yield exactly(tangents, passes[:3], "multiply-adds of forward mode: one pass for each weight")
    depths = (2, 11, 64)
    ratios, compiled = zip(*(_timed_ratios(layers_timed, rng) for layers_timed in depths), strict=True)
    yield at_most(ratios, 6.0, "time of value and gradient over time of value, hand-written layers, depths 2, 11, 64")
    methods = {
        "reverse mode, (2 + 2/3) p": ((weights, weights * 8 / 3), (weights, reverse)),
        "finite differences, (p + 1) p": ((weights, (weights + 1.0) * weights), (weights, differences)),
        "forward mode, p passes": ((weights, passes), (weights[:3], tangents)),
    }
    lines, points = ({name: pair[side] for name, pair in methods.items()} for side in (0, 1))
    clock = {"layer by layer, by hand": (depths, ratios), "compiled, jax.grad": (depths, compiled)}
    titles = "Three methods for the gradient of all weights", "By the clock: value and gradient over value"
    yield figure.beside(
        f"A gradient costs {total:.3g} evaluations in multiply-adds; by the clock {min(ratios):.2g} to "
        f"{max(ratios):.2g} layer by layer, {min(compiled):.2g} to {max(compiled):.2g} compiled",
        figure.curves(titles[0], "weights p", "multiply-adds", lines=lines, points=points, log="xy"),
        figure.curves(titles[1], "layers", "ratio of times", points=clock, rules={"bound 6": ("y", 6.0)}, log="x"),
    )


@method(sources=("sheet", "penn"))
def gradient_checkpointing(key, layers: Int(1, 64) = 36, width: Int(1, 32) = 8, batch: Int(1, 32) = 4):
    r"""Gradient checkpointing.

    Keep every k-th activation and recompute the others on the way back: ⌈L/k⌉ + k activations in memory instead of L,
    for at most one more forward pass. k near √L needs least.

    $$\text{memory} = \lceil L/k \rceil + k \ \ge\ 2\sqrt{L}, \qquad \text{forward evaluations} \le 2L$$

    Assumes: a chain of layers of equal size.

    Check: A chain of alternating affine and tanh layers is run with every k from 1 to L (20 of them at most).
    """
    rng = data.generator(key)
    affine, tanh = differentiation.affine_pair(), differentiation.pointwise_pair("tanh")
    pairs = [tanh if number % 2 else affine for number in range(layers)]
    theta = [pair_parameters(pair, width, rng) for pair in pairs]
    h = jnp.asarray(rng.normal(size=(batch, width)))

    def head(out):
        return (0.5 * jnp.sum(out**2), out)

    ks = np.unique([*np.geomspace(1, layers, 20).round().astype(int), round(layers**0.5)])
    runs = [differentiation.checkpointed_gradient(pairs, theta, h, head, every=int(k)) for k in ks]
    full = runs[-1]  # k = L keeps everything
    errors = [relative_error(run[1:3], full[1:3]) for run in runs]
    yield at_most(errors, 1e-12, "relative error of checkpointed gradients against the full tape")
    chain = differentiation.chain_pair(pairs)
    out, cache = chain.forward(h, theta)
    plain = chain.backward(out, cache)[0]
    scale = max(float(jnp.abs(plain).max()), 1e-200)
    yield close(full.input_adjoint / scale, plain / scale, "k = L against plain backpropagation", atol=1e-12)
    peaks = [run.peak_stored for run in runs]
    yield exactly(peaks, -(-layers // ks) + ks, "most activations stored at a time, against ⌈L/k⌉ + k")
    yield at_most([max(run.evaluations) for run in runs], 2, "forward evaluations of any layer")
    totals = [sum(run.evaluations) for run in runs]
    yield exactly(totals, 2 * layers - ks, "forward evaluations, against 2 L − k: the last segment runs once")
    every = np.arange(1, layers + 1)
    memory = -(-layers // every) + every
    yield exactly(memory.min(), np.ceil(2 * np.sqrt(layers) - 1e-9), "least memory over all k, against ⌈2√L⌉")
    best = int(every[np.argmin(memory)])
    stored = {"lines": {"⌈L/k⌉ + k": (every, memory)}, "points": {"counted": (ks, peaks)}}
    run = {"lines": {"2 L − k": (every, 2 * layers - every)}, "points": {"counted": (ks, totals)}}
    rules, k = {f"√L = {np.sqrt(layers):.3g}": ("x", np.sqrt(layers))}, "k, layers from one kept activation to the next"
    yield figure.beside(
        f"{layers} layers: {memory.min()} activations in memory at k = {best} instead of {layers + 1}, for "
        f"{2 * layers - best} layer evaluations instead of {layers}",
        figure.curves("Memory", k, "activations stored", rules=rules, **stored),
        figure.curves("Time", k, "forward evaluations of layers", **run),
    )


@jax.jit
def _three_maps(x, theta, A, a, B):
    """Jacobians of G ∘ F_θ ∘ H in x and θ by autodiff, and those of the three maps at the points they meet."""
    H, F, G = lambda x: jnp.tanh(A @ x + a), lambda theta, h: jnp.sin(theta @ h), lambda f: jax.nn.softplus(B @ f)
    h, f = H(x), F(theta, H(x))

    def whole(x, theta):
        return G(F(theta, H(x)))

    return (
        jax.jacrev(whole)(x, theta),
        jax.jacrev(whole, argnums=1)(x, theta),
        jax.jacfwd(G)(f),
        jax.jacfwd(F, argnums=1)(theta, h),
        jax.jacfwd(F)(theta, h),
        jax.jacfwd(H)(x),
    )


def _matrix_chain(sizes) -> "Figure":
    """The three matrices drawn to scale, from the output's on the left to the input's on the right."""
    n0, n1, n2, n3 = sizes
    boxes, labels, left = {}, [], 0.0
    gap = 0.15 * max(sizes)
    for name, rows, columns in (("∂G", n3, n2), ("∂F", n2, n1), ("∂H", n1, n0)):
        right = left + columns
        boxes[f"{name}: {rows} x {columns}"] = ([left, right, right, left, left], [0, 0, -rows, -rows, 0])
        labels.append((left, 0.6 * gap, name))
        left = right + gap
    domain = ((-gap, left), (-max(n1, n2, n3) - gap, 3 * gap))
    title = "The three Jacobians, drawn to scale"
    return figure.plane(title, "", "", lines=boxes, labels=labels, axes=False, domain=domain)


def _diamonds(x, slopes):
    for a, b in slopes:
        x = jnp.sin(a * x) + jnp.cos(b * x)
    return x


def _diamond_picture(count: int) -> "Figure":
    """The chain of diamonds with one of its paths in orange."""
    nodes, edges = [(0.0, 0.0, "x", 0.0)], []
    for d in range(count):
        start = 3 * d
        nodes += [(2 * d + 1.0, 1.0, "sin", 0.0), (2 * d + 1.0, -1.0, "cos", 0.0), (2 * d + 2.0, 0.0, "+", 0.0)]
        upper = -1.0 if d % 2 == 0 else 1.0
        edges += [(start, start + 1, upper), (start + 1, start + 3, upper)]
        edges += [(start, start + 2, -upper), (start + 2, start + 3, -upper)]
    return figure.graph(f"{count} diamonds, one of their {2**count} paths in orange", nodes=nodes, edges=edges)


def _counted(widths, rng):
    """Multiply-adds forward and backward of a tanh network on the tape, and the numbers that the tape stores."""
    tape = differentiation.Tape()
    h = rng.normal(size=widths[0])
    for inputs, outputs in itertools.pairwise(widths):
        h = np.tanh(tape.variable(rng.normal(size=(outputs, inputs)) / inputs**0.5) @ h)
    stored = sum(node.value.size for node in tape.nodes if node.operation != "variable")
    tape.adjoints(h.sum())
    return tape.evaluated.products, tape.pulled.products, stored


def _tangent_products(side, rng):
    """Multiply-adds of forward mode for all weights of three square layers: one pass for each weight."""
    weights = rng.normal(size=(3, side, side)) / side**0.5
    x = rng.normal(size=side)
    counter = Operations()
    for unit in np.eye(weights.size):
        h, dual = x, differentiation.Dual(weights, unit.reshape(weights.shape), counter)
        for layer in range(3):
            h = np.tanh(dual[layer] @ h)
    return counter.products


@jax.jit
def _compiled_value(weights, x):
    for weight in weights:
        x = jax.nn.relu(x @ weight)
    return jnp.sum(x**2)


_compiled_gradient = jax.jit(jax.value_and_grad(_compiled_value))


def _timed_ratios(depth, rng, *, width=128, batch=256):
    """Time of value and gradient over time of value: by hand-written layers one by one, and by compiled jax.grad."""
    weights = [jnp.asarray(w) for w in rng.normal(size=(depth, width, width)) * (2 / width) ** 0.5]
    x = jnp.asarray(rng.normal(size=(batch, width)))
    layers = [differentiation.affine_pair(), differentiation.pointwise_pair("relu")]
    chain = differentiation.chain_pair(layers * depth)
    theta = [part for w in weights for part in ({"weight": w, "bias": jnp.zeros(width)}, ())]

    def by_hand():
        out, cache = chain.forward(x, theta)
        return chain.backward(out, cache)

    return (
        _median_ratio(by_hand, lambda: chain.forward(x, theta)[0]),
        _median_ratio(lambda: _compiled_gradient(weights, x), lambda: _compiled_value(weights, x)),
    )


def _median_ratio(slower, faster, repetitions=5):
    """The median processor time of one over that of the other, run in turn; it does not see what else is running."""
    times = {slower: [], faster: []}
    for repetition in range(repetitions + 1):
        for function, seconds in times.items():
            start = time.process_time()
            jax.block_until_ready(function())
            if repetition:  # the first compiles
                seconds.append(time.process_time() - start)
    return float(np.median(times[slower]) / np.median(times[faster]))
