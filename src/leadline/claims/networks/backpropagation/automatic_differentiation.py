"""Automatic differentiation: the tape, forward mode, reverse mode."""

import itertools
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation
from leadline.evidence import Int, at_least, at_most, close, exactly, method
from leadline.presentation import figure
from leadline.presentation.figure.graph_pictures import graph_pair


@method(sources=("sheet", "penn"))
def autodiff_tape(key, nodes: Int(5, 200) = 40, rows: Int(1, 5) = 2, columns: Int(1, 5) = 3):
    r"""Automatic differentiation on a tape.

    A function written in plain NumPy is recorded as a graph of operations, each with its local derivatives; one sweep
    forwards over the graph gives derivatives, one sweep backwards gives adjoints.

    $$\bar{x}_i = \sum_{j\ \text{reads}\ i} \left(\frac{\partial x_j}{\partial x_i}\right)^{T} \bar{x}_j$$

    Assumes: every operation has a local rule.

    Check: A random graph of operations on a number, a row, a column and a matrix is compared with jax.jacobian.
    """
    rng = data.generator(key)
    program = _random_program(rng, nodes)
    shapes = [(), (columns,), (rows, 1), (rows, columns)]
    inputs = [rng.normal(size=shape) for shape in shapes]
    weights = rng.normal(size=(3, rows, columns))
    tape = differentiation.Tape()
    variables = [tape.variable(value, f"x{i}") for i, value in enumerate(inputs)]
    outputs = [_evaluate(program, variables, weight, np) for weight in weights]
    backwards = np.stack([np.concatenate([np.ravel(tape.gradient(out, v)) for v in variables]) for out in outputs])
    units = np.eye(sum(value.size for value in inputs))
    forwards = np.stack([_tangents(tape, variables, unit, outputs) for unit in units], axis=1)
    exact = _jax_jacobian(program, inputs, weights)
    scale = max(1.0, np.abs(exact).max())
    for mode, found in (("reverse", backwards), ("forward", forwards)):
        yield close(found / scale, exact / scale, f"Jacobian of a graph of {nodes} operations, {mode} mode", atol=1e-12)
    tape = differentiation.Tape()
    x, matrix = tape.variable(inputs[1], "x"), tape.variable(inputs[3], "m")
    spread = (matrix + x).sum()  # x is repeated along the rows
    yield close(tape.gradient(spread, x), np.full(columns, rows), "adjoint of a row that was broadcast", rtol=1e-15)
    reused = (x * x * x).sum()
    yield close(tape.gradient(reused, x), 3 * inputs[1] ** 2, "adjoint of a node used three times", rtol=1e-14)
    fan = sum((k * np.sin(x)).sum() for k in range(1, 6))
    yield close(tape.gradient(fan, x), 15 * np.cos(inputs[1]), "adjoint of a node read by five others", rtol=1e-14)
    refusals = [_refused(change, x) for change in (_set_item, _add_in_place, _write_into, _write_value)]
    yield exactly(refusals, "ValueError", "answer to x[0] = 1, x += 1, np.add(x, 1, out=x) and x.value[0] = 1")
    values, adjoints, order = _worked_graph()
    w, x, v, y = np.array([0.5, -1.0]), np.array([2.0, 1.0]), 3.0, 1.0
    h = 1 / (1 + np.exp(-w @ x))
    yield close(adjoints["v"], -(y - v * h) * h, "v̄ of the worked graph", rtol=1e-14)
    yield close(adjoints["z"], -(y - v * h) * v * h * (1 - h), "z̄ of the worked graph", rtol=1e-14)
    yield exactly(" ".join(order), "z h e ℓ ℓ e h z", "order of the worked graph's steps, forward then backward")
    places = {"z": (0, 1), "h": (1, 1), "v": (1, 2), "e": (2, 1), "ℓ": (3, 1)}
    edges = [("z", "h"), ("h", "e"), ("v", "e"), ("e", "ℓ")]
    title = "z = w·x, h = σ(z), e = v h, ℓ = (y − e)²/2: values from left to right, adjoints from right to left"
    yield graph_pair(title, places, edges, values, adjoints)


@method(sources=("sheet",), shows=("differentiation.Dual",))
def forward_mode(key, inputs: Int(1, 30) = 12, outputs: Int(1, 30) = 5, width: Int(1, 30) = 8, depth: Int(1, 10) = 3):
    r"""Forward-mode differentiation.

    Forward mode carries a tangent along with every value: one pass gives J u for one direction u, the whole Jacobian
    of N inputs takes N passes, and nothing has to be stored.

    $$(x, \dot{x}) \mapsto (f(x), J_f(x)\,\dot{x}), \qquad \text{cost}(J) = N \cdot \text{cost}(J u)$$

    Assumes: every operation has a local rule.

    Check: A chain of tanh layers with a chosen number of inputs and outputs is differentiated. The storage needed is
    compared between chains of 10 and 80 operations.
    """
    rng = data.generator(key)
    weights = _chain_weights(rng, inputs, outputs, width, depth)
    x, u = rng.normal(size=inputs), rng.normal(size=inputs)

    def network(x):
        return _tanh_chain(x, weights, np)

    exact = _chain_jacobian(x, weights)
    one = differentiation.jvp(network, x, u)
    yield close(one.tangent, exact @ u, "J u by forward mode against jax", atol=1e-12)
    whole = differentiation.forward_jacobian(network, x)
    yield close(whole.matrix, exact, "whole Jacobian by forward mode against jax", atol=1e-12)
    yield exactly(whole.passes, inputs, "passes for the whole Jacobian, against the number of inputs")
    some = np.arange(1, inputs + 1)
    counted = np.cumsum([differentiation.jvp(network, x, unit).operations for unit in np.eye(inputs)])
    predicted = some * one.operations
    yield exactly(counted, predicted, "operations for the first 1, 2, ... columns: that many times one pass")
    unit = np.ones(20_000)
    peaks = [_peak_memory(lambda d=d: differentiation.jvp(lambda z: _sine_chain(z, d), unit, unit)) for d in (10, 80)]
    yield at_most(peaks[1] / peaks[0], 1.1, "peak memory of 80 operations over that of 10, forward mode")
    title = f"Each of the {inputs} columns takes {one.operations} operations: forward mode pays by the input"
    lines, points = {"columns times one pass": (some, predicted)}, {"counted": (some, counted)}
    yield figure.curves(title, "columns of the Jacobian", "operations on tangents", lines=lines, points=points)


@method(sources=("sheet",))
def reverse_mode(key, inputs: Int(1, 30) = 12, outputs: Int(1, 30) = 5, width: Int(1, 30) = 8, depth: Int(1, 10) = 3):
    r"""Reverse-mode differentiation.

    Reverse mode stores the values of one forward pass and carries an adjoint back: one pass gives Jᵀc, the whole
    Jacobian of M outputs takes M passes, and the gradient of a single number takes one.

    $$\bar{x} = J_f(x)^T \bar{y}, \qquad \langle u, J w \rangle = \langle J^T u, w \rangle$$

    Assumes: every operation has a local rule; the values of the forward pass are kept.

    Check: The chain of tanh layers that serves for forward mode is differentiated backwards. The storage needed is
    compared between chains of 10 and 80 operations.
    """
    rng = data.generator(key)
    weights = _chain_weights(rng, inputs, outputs, width, depth)
    x, w, u = rng.normal(size=inputs), rng.normal(size=inputs), rng.normal(size=outputs)

    def network(x):
        return _tanh_chain(x, weights, np)

    exact = _chain_jacobian(x, weights)
    one = differentiation.vjp(network, x, u)
    yield close(one.adjoint, exact.T @ u, "Jᵀc by reverse mode against jax", atol=1e-12)
    pushed = differentiation.jvp(network, x, w).tangent
    scale = max(1.0, float(np.linalg.norm(u) * np.linalg.norm(pushed)))
    yield close(u @ pushed / scale, one.adjoint @ w / scale, "adjoint test: ⟨u, J w⟩ against ⟨Jᵀu, w⟩", atol=1e-13)
    whole = differentiation.reverse_jacobian(network, x)
    yield close(whole.matrix, exact, "whole Jacobian by reverse mode against jax", atol=1e-12)
    yield exactly(whole.passes, outputs, "passes for the whole Jacobian, against the number of outputs")
    some = np.arange(1, outputs + 1)
    counted = np.cumsum([differentiation.vjp(network, x, unit).operations for unit in np.eye(outputs)])
    yield exactly(counted, some * one.operations, "operations for the first 1, 2, ... rows: that many times one pass")
    gradient = differentiation.reverse_jacobian(lambda x: (network(x) ** 2).sum(), x)
    yield exactly(gradient.passes, 1, "passes for the gradient of one number")
    unit = np.ones(20_000)
    peaks = [_peak_memory(lambda d=d: differentiation.vjp(lambda z: _sine_chain(z, d), unit, unit)) for d in (10, 80)]
    yield at_least(peaks[1] / peaks[0], 3.0, "peak memory of 80 operations over that of 10: values are stored")
    back, ahead = outputs * one.operations, inputs * differentiation.jvp(network, x, w).operations
    shapes = np.unique(np.geomspace(1, 60, 8).astype(int))
    backward, forward, whole = np.transpose([_jacobian_operations(rng, inputs, int(m), width, depth) for m in shapes])
    lines = {"reverse, M times one pass": (shapes, shapes * backward)}
    lines[f"forward, {inputs} times one pass"] = (shapes, inputs * forward)
    cheaper = f"{'reverse' if back < ahead else 'forward'} mode is cheaper"
    title = f"The {outputs} × {inputs} Jacobian takes {back} operations backwards and {ahead} forwards: {cheaper}"
    points = {"reverse, counted": (shapes, whole)}
    yield figure.curves(title, "outputs M", "operations for the whole Jacobian", lines=lines, points=points, log="xy")


_UNARY = ("sin", "tanh", "square", "negative")
_BINARY = ("add", "subtract", "multiply")


def _random_program(rng, nodes):
    """Operations as (name, first argument, second argument), arguments by number: inputs 0 to 3, then nodes."""
    program = []
    for number in range(4, 4 + nodes):
        name = str(rng.choice([*_UNARY, *_BINARY, "row mean"]))
        recent = max(0, number - 8)  # mostly recent nodes, so that graphs are deep and some nodes fan out

        def pick(low=recent, number=number):
            return int(rng.integers(low, number) if rng.random() < 0.7 else rng.integers(number))

        program.append((name, pick(), pick()))
    return program


def _evaluate(program, inputs, weight, xp):
    """The sum of all nodes, weighted entry by entry; every node is squashed, so that no graph explodes."""
    values = list(inputs)
    for name, a, b in program:
        if name in _UNARY:
            values.append(getattr(xp, name)(xp.tanh(values[a])))
        elif name in _BINARY:
            values.append(xp.tanh(getattr(xp, name)(values[a], values[b])))
        else:
            values.append(xp.mean(values[a] * (1.0 + 0.0 * values[3]), axis=1, keepdims=True))
    total = values[-1]
    for value in values[4:-1:3]:
        total = total + value
    return xp.sum(total * weight)


def _jax_jacobian(program, inputs, weights):
    @jax.jit
    def jacobian(inputs, weights):
        def outputs(*inputs):
            return jnp.stack([_evaluate(program, inputs, weight, jnp) for weight in weights])

        return jax.jacrev(outputs, argnums=(0, 1, 2, 3))(*inputs)

    return np.concatenate([np.asarray(part).reshape(len(weights), -1) for part in jacobian(inputs, weights)], axis=1)


def _tangents(tape, variables, unit, outputs):
    """One column of the Jacobian: forward mode over the tape along one unit vector of all inputs together."""
    cuts = np.cumsum([v.size for v in variables])[:-1]
    parts = [part.reshape(v.shape) for part, v in zip(np.split(unit, cuts), variables, strict=True)]
    found = tape.tangents(dict(zip(variables, parts, strict=True)))
    return np.array([float(found[out.node]) for out in outputs])


def _worked_graph():
    """Values and adjoints by name of z = w·x, h = σ(z), e = v h, ℓ = (y - e)²/2, and the order of the steps."""
    from scipy.special import expit

    tape = differentiation.Tape()
    w, v = tape.variable(np.array([0.5, -1.0])), tape.variable(3.0, "v")
    z = (w @ np.array([2.0, 1.0])).named("z")
    h = expit(z).named("h")
    e = (v * h).named("e")
    loss = ((1.0 - e) ** 2 / 2).named("ℓ")
    steps = [step for step in tape.steps(loss) if step.label]
    values = {step.label: step.value.item() for step in steps if step.direction == "forward"}
    adjoints = {step.label: step.adjoint.item() for step in steps if step.direction == "backward"}
    return values, adjoints, [step.label for step in steps if step.label != "v"]


def _refused(change, x):
    try:
        change(x)
    except ValueError as error:
        return type(error).__name__
    return "accepted"


def _set_item(x):
    x[0] = 1.0


def _add_in_place(x):
    x += 1.0


def _write_into(x):
    np.add(x, 1.0, out=x)


def _write_value(x):
    x.value[0] = 1.0


def _chain_weights(rng, inputs, outputs, width, depth):
    widths = [inputs, *[width] * (depth - 1), outputs]
    return [rng.normal(size=(b, a)) / a**0.5 for a, b in itertools.pairwise(widths)]


def _tanh_chain(x, weights, xp):
    for weight in weights:
        x = xp.tanh(weight @ x)
    return x


def _jacobian_operations(rng, inputs, outputs, width, depth):
    """Operations of one backward pass, of one forward pass, and of the whole Jacobian by reverse mode."""
    weights = _chain_weights(rng, inputs, outputs, width, depth)
    network, x = lambda x: _tanh_chain(x, weights, np), rng.normal(size=inputs)
    one = differentiation.vjp(network, x, np.ones(outputs)), differentiation.jvp(network, x, x)
    return *(run.operations for run in one), differentiation.reverse_jacobian(network, x).operations


def _chain_jacobian(x, weights):
    return np.asarray(jax.jit(jax.jacfwd(lambda x, weights: _tanh_chain(x, weights, jnp)))(x, weights))


def _sine_chain(x, depth):
    for _ in range(depth):
        x = np.sin(x)
    return x


def _peak_memory(run):
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
