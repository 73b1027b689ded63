"""Backpropagation through time by hand: its recursion, its Jacobians, its parts by lag."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, sequences
from leadline.evidence import Int, OneOf, Real, at_least, claim, close, erratum, method
from leadline.presentation import figure


def _elman(rng, units, inputs, phi, scale):
    """An Elman cell with drawn weights: U with singular values around `scale`."""
    cell = sequences.Elman(inputs, units, phi, key=jax.random.key(0))
    arrays = (
        scale * rng.normal(size=(units, units)) / np.sqrt(units),
        rng.normal(size=(units, inputs)) / np.sqrt(inputs),
        0.3 * rng.normal(size=units),
    )
    return eqx.tree_at(lambda c: (c.recurrent_weight, c.input_weight, c.bias), cell, tuple(map(jnp.asarray, arrays)))


@method(sources=("eth", "sheet", "penn"), shows=("sequences.elman_backward", "sequences.gradient_by_lag"))
def bptt(
    key,
    steps: Int(1, 20) = 5,
    units: Int(1, 12) = 4,
    phi: OneOf("tanh", "sigmoid", "relu", "softplus", "identity") = "tanh",
    scale: Real(0.2, 1.5) = 1.0,
):
    r"""Backpropagation through time.

    The adjoint of the state goes backwards: at each step the loss of that step is added and the Jacobian of the next
    step is applied, transposed. The gradients of the shared weights are sums of outer products over all steps, and
    split by the lag between a loss and the step whose weights it sees.

    $$g_t = \frac{\partial l_t}{\partial z_t} + J_{t+1}^\top g_{t+1}, \quad J_t = \operatorname{diag}(\varphi'(a_t)) U,
    \qquad \frac{dE}{dU} = \sum_t (\varphi'(a_t) \odot g_t) z_{t-1}^\top, \quad \frac{dE}{dV} = \sum_t (\varphi'(a_t)
    \odot g_t) x_t^\top$$

    Assumes: the pre-activation is U z + V x + b with the weights shared by all steps.

    Check: Random weights and a squared loss at every step, against the automatic derivative of the library's cell and
    against central differences; the parts by lag are computed from any step's own derivative.
    """
    rng = data.generator(key)
    cell = _elman(rng, units, 3, phi, scale)
    x = jnp.asarray(rng.normal(size=(steps, 3)))
    W, y = jnp.asarray(rng.normal(size=(2, units))), jnp.asarray(rng.normal(size=(steps, 2)))

    def loss(cell):
        z = sequences.run(cell, x).states
        return 0.5 * jnp.sum((z @ W.T - y) ** 2)

    U, V, b = cell.recurrent_weight, cell.input_weight, cell.bias
    ran = sequences.elman_forward(U, V, x, b=b, phi=phi)
    slopes = (ran.states @ W.T - y) @ W  # ∂l_t/∂z_t
    by_hand = sequences.elman_backward(U, V, x, ran, slopes, phi=phi)
    by_jax = eqx.filter_jit(eqx.filter_grad(loss))(cell)
    pairs = (("U", by_jax.recurrent_weight), ("V", by_jax.input_weight), ("b", by_jax.bias))
    size = max(float(jnp.abs(of).max()) for _, of in pairs) + 1e-3
    for name, automatic in pairs:
        what = f"dE/d{name} by hand, against the automatic derivative of the cell"
        yield close(getattr(by_hand, name), automatic, what, atol=1e-11 * size)
    direction = jnp.asarray(rng.normal(size=U.shape))
    value = eqx.filter_jit(lambda shift: loss(eqx.tree_at(lambda c: c.recurrent_weight, cell, U + shift * direction)))
    h = 1e-5
    difference = float(value(h) - value(-h)) / (2 * h)
    along = float(jnp.sum(by_hand.U * direction))
    reach = 1e-6 * (size * float(jnp.abs(direction).sum()) + float(value(0.0)))
    what = "derivative along a random direction of U, against central differences"
    yield close(along, difference, what, atol=reach).given(phi != "relu", "the activation has no kinks")

    def step(params, z, x):
        return networks.activation(phi)(params["U"] @ z + params["V"] @ x + params["b"])

    parts = sequences.gradient_by_lag(step, {"U": U, "V": V, "b": b}, ran.start, x, slopes)
    for name in ("U", "V"):
        what = f"dE/d{name}: sum of its parts over all lags"
        yield close(parts.parameters[name].sum(axis=0), getattr(by_hand, name), what, atol=1e-11 * size)
    # Two steps of one unit, with the loss (y₂ - ŷ₂)² of the notes: its derivative has the factor 2.
    one = sequences.TwoStep(
        *(float(v) for v in rng.normal(size=3)), tuple(rng.normal(size=2)), tuple(rng.normal(size=2)), False
    )
    terms = sequences.two_step_adjoints(one)
    weights = (one.u, one.w, one.v)
    whole = sequences.two_step_loss(one)
    slope = [float(whole(_shifted(weights, i, h)) - whole(_shifted(weights, i, -h))) / (2 * h) for i in range(3)]
    found = np.array([terms[name] for name in ("u", "w", "v")])
    what = "two steps, loss at the second: adjoints of u, w, v, against central differences"
    right = close(found, slope, what, atol=1e-7 * (np.abs(found).max() + 1))
    yield right
    wrong = close(
        found / 2, slope, "the same without the factor 2 in every adjoint", atol=1e-7 * (np.abs(found).max() + 1)
    )
    yield erratum(
        wrong, of=right, by="penn", prints="the adjoints of the loss ‖y₂ − ŷ₂‖², which has no ½, without the factor 2"
    )
    norms = np.linalg.norm(np.asarray(parts.parameters["V"]).reshape(steps, -1), axis=1)
    yield figure.bars(
        f"The part of dE/dV at lag 0 is {norms[0]:.2g} long, that at lag {steps - 1} {norms[-1]:.2g}",
        "lag between the loss and the step",
        "length of the part",
        values={"‖part of dE/dV‖": {str(k): float(v) for k, v in enumerate(norms)}},
    )
    yield _unrolled(terms)


def _shifted(weights, place, by):
    return tuple(w + by * (i == place) for i, w in enumerate(weights))


def _unrolled(terms):
    """The two-step graph with the adjoints on its nodes."""
    nodes = [
        (0, 0, "x₁", 0.1),
        (1, 1, "a₁", 0.3),
        (2, 2, "h₁", 0.3),
        (3, 0, "x₂", 0.1),
        (4, 1, "a₂", 0.3),
        (5, 2, "ŷ₂", 0.6),
    ]
    edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 4, 1.0), (3, 4, 1.0), (4, 5, 1.0)]
    back = ", ".join(
        f"{name} {terms[term]:.2g}" for name, term in (("ŷ₂", "e2"), ("a₂", "a2"), ("h₁", "h1"), ("a₁", "a1"))
    )
    return figure.graph(f"Adjoints, back from the loss at the second step: {back}", nodes=nodes, edges=edges)


@claim(sources=("sheet", "eth"), shows=("sequences.state_jacobians",))
def rnn_jacobians(key, steps: Int(2, 20) = 8, units: Int(2, 12) = 4, phi: OneOf("tanh", "sigmoid", "relu") = "tanh"):
    r"""Jacobians of a recurrent network.

    A state depends on the one before through diag(φ′)U, an output on its state through diag(ψ′)W, or through
    (diag p − ppᵀ)W for a softmax. The gradient of a state sums over all later losses; the product of the Jacobians has
    the latest factor on the left, and the other order is wrong.

    $$\frac{dE}{dz_q} = \sum_{s \ge q} \frac{\partial E}{\partial y_s} \frac{\partial y_s}{\partial z_s} J_s J_{s-1}
    \cdots J_{q+1}, \qquad J_{k+1} = \operatorname{diag}(\varphi'(U z_k + V x_{k+1})) U$$

    Assumes: more than one unit, for the order to matter.

    Check: Each formula against the automatic derivative; the sum over pairs of steps against the backward recursion.
    """
    rng = data.generator(key)
    cell = _elman(rng, units, 2, phi, 1.2)
    U, V, b = cell.recurrent_weight, cell.input_weight, cell.bias
    x = jnp.asarray(rng.normal(size=(steps, 2)))
    ran = sequences.elman_forward(U, V, x, b=b, phi=phi)
    slope = networks.activation_facts(phi).derivative
    formula = slope(ran.pre)[:, :, None] * U
    J = np.asarray(sequences.state_jacobians(cell.update, cell.init(), x))
    yield close(J, formula, "diag(φ′)U, against the Jacobians of the cell's update", atol=1e-12)
    W = jnp.asarray(rng.normal(size=(3, units)))
    z = ran.states[-1]
    elementwise = jax.jacfwd(lambda z: jnp.tanh(W @ z))(z)
    by_formula = networks.activation_facts("tanh").derivative(W @ z)[:, None] * W
    yield close(by_formula, elementwise, "diag(ψ′)W, against the Jacobian of a tanh output", atol=1e-12)
    p = jax.nn.softmax(W @ z)
    of_softmax = jax.jacfwd(lambda z: jax.nn.softmax(W @ z))(z)
    yield close((jnp.diag(p) - jnp.outer(p, p)) @ W, of_softmax, "(diag p − ppᵀ)W, against the softmax's", atol=1e-12)
    y = jnp.asarray(rng.normal(size=(steps, 3)))
    slopes = np.asarray((ran.states @ W.T - y) @ W)
    recursion = np.asarray(sequences.elman_backward(U, V, x, ran, jnp.asarray(slopes), phi=phi).states)
    direct, reverse, share = np.zeros_like(slopes), np.zeros_like(slopes), np.full((steps, steps), np.nan)
    for q in range(steps):
        for s in range(q, steps):
            factors = [np.eye(units), *J[q + 1 : s + 1]]
            latest_left = np.linalg.multi_dot([np.eye(units), *factors[::-1]])
            part = slopes[s] @ latest_left
            direct[q] += part
            reverse[q] += slopes[s] @ np.linalg.multi_dot([np.eye(units), *factors])
            share[s, q] = np.linalg.norm(part)
    size = float(np.abs(recursion).max())
    yield close(direct, recursion, "dE/dz: sum over all later losses, against the recursion", atol=1e-11 * size)
    off = np.abs(reverse - recursion).max() / size
    what = "the same with the factors in the other order: its error, relative to the largest entry"
    yield at_least(off, 1e-6, what).given(steps > 2, "there are three steps or more")
    yield figure.heatmap(
        "How much the loss of step s contributes to the gradient of state q",
        "state q",
        "loss of step s",
        values=share,
        xs=range(1, steps + 1),
        ys=range(1, steps + 1),
        colour="length",
    )
