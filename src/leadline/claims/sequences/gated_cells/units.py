"""The long short-term memory and the gated recurrent unit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation, sequences
from leadline.evidence import Int, Real, at_least, at_most, close, erratum, model
from leadline.presentation import figure


@model(sources=("eth", "sheet", "penn"), shows=("sequences.LSTM", "sequences.LSTMState"))
def lstm(key, units: Int(1, 16) = 5, inputs: Int(1, 8) = 3, steps: Int(2, 60) = 24, forget_bias: Real(-2, 6) = 1.0):
    r"""Long short-term memory.

    Beside its output h the cell keeps c, which the forget gate f decays and to which the input gate i admits the
    candidate g; the output gate o decides what is shown. The gates are logistic, the candidate is a tanh. With the
    feedback of h cut, the derivative of c over many steps is the product of the forget gates, and nothing else. Two
    variants have h = o ⊙ tanh(Uc) and h = o ⊙ c.

    $$c_t = f \odot c_{t-1} + i \odot g, \quad h_t = o \odot \tanh(c_t), \qquad i, f, o = \sigma(W_\cdot [x_t; h_{t-1}]
    + b_\cdot), \quad g = \tanh(W_g [x_t; h_{t-1}] + b_g)$$

    Check: The cell of Equinox with the same weights; both variants against the last line of the formula; gradients
    against differences; the derivative of c with the recurrent weights set to 0.
    """
    rng = data.generator(key)
    xs = jnp.asarray(rng.normal(size=(steps, inputs)))
    theirs = eqx.nn.LSTMCell(inputs, units, key=key)
    hs, cs = _equinox(theirs, xs, (jnp.zeros(units), jnp.zeros(units)))
    copied = sequences.run(sequences.LSTM.like(theirs), xs).states
    yield close(copied.h, hs, "outputs h, against Equinox's cell with the same weights", atol=1e-12)
    yield close(copied.c, cs, "kept values c, against Equinox's cell with the same weights", atol=1e-12)
    cell = sequences.LSTM(inputs, units, forget_bias=forget_bias, key=key)
    course = sequences.run(cell, xs)
    gates = _gates(cell, xs, course.states)
    admitted = at_least(gates.input, 0.0, "values of the input gate i = σ(·): at least 0")
    yield admitted
    yield erratum(
        at_least(gates.candidate, 0.0, "values of tanh(·), called the input gate: at least 0"),
        of=admitted,
        by="eth",
        prints="tanh(V x) is the input gate and σ(G x) the 'gate gate'; the names are the other way round, the "
        "equations are right",
    )
    for name, options in (("U inside the tanh", {"output_map": True}), ("no squashing", {"squash": None})):
        variant = sequences.LSTM(inputs, units, forget_bias=forget_bias, **options, key=key)
        states = sequences.run(variant, xs).states
        inside = states.c if variant.output_map is None else states.c @ variant.output_map.T
        shown = _gates(variant, xs, states).output * (inside if variant.squash is None else jnp.tanh(inside))
        yield close(states.h, shown, f"outputs with {name}, against the formula", atol=1e-12)
    report = differentiation.check_gradient(lambda c: jnp.sum(sequences.run(c, xs[:8]).last.h ** 2), cell, key=key)
    yield at_most(report.error, report.tolerance, "relative error of gradients, against central differences")
    cut = eqx.tree_at(lambda c: c.weight_hh, cell, jnp.zeros_like(cell.weight_hh))

    def kept(c):
        return sequences.run(cut, xs, sequences.LSTMState(jnp.zeros(units), c)).last.c

    forgets = _gates(cut, xs, sequences.run(cut, xs).states).forget
    what = "∂c_T/∂c_0 without feedback of h, against the diagonal matrix of products of forget gates"
    yield close(
        jax.jacobian(kept)(jnp.zeros(units)), np.diag(np.prod(np.asarray(forgets), 0)), what, rtol=1e-10, atol=1e-300
    )
    times = np.arange(1, steps + 1)
    lines = {name: (times, np.asarray(values)[:, 0]) for name, values in gates._asdict().items()}
    yield figure.curves(
        "One unit over a sequence: three gates between 0 and 1, a candidate between −1 and 1, and what is kept",
        "step",
        "value",
        lines=lines | {"kept, c": (times, np.asarray(course.states.c)[:, 0])},
    )


@model(sources=("eth", "sheet", "penn"), shows=("sequences.GRU",))
def gru(key, units: Int(1, 16) = 5, inputs: Int(1, 8) = 3, steps: Int(2, 60) = 24, start: Real(0.0, 3.0) = 1.5):
    r"""The gated recurrent unit.

    The new state is a mean of the old one and a candidate n, weighed unit by unit by the update gate u; the reset
    gate r decides what the candidate sees of the old state. So no unit leaves the range of its start and of [−1, 1].
    Libraries apply r after the matrix product, and some learn the gate s = 1 − u that keeps: with the sign of its
    weights turned, the same cell.

    $$h_t = (1-u) \odot h_{t-1} + u \odot n, \quad n = \tanh(W_h (r \odot h_{t-1}) + W_x x_t), \qquad r, u =
    \sigma(W_{r,u} [x_t; h_{t-1}])$$

    Check: The cell of Equinox (reset after the product, gate that keeps) with the same weights; the other convention;
    the published form, with the reset before the product, step by step from the formula.
    """
    rng = data.generator(key)
    xs = jnp.asarray(rng.normal(size=(steps, inputs)))
    h0 = jnp.asarray(start * rng.choice([-1.0, 1.0], units))
    theirs = eqx.nn.GRUCell(inputs, units, key=key)
    same = sequences.GRU.like(theirs)
    states = sequences.run(same, xs, h0).states
    yield close(states, _equinox(theirs, xs, h0), "states, against Equinox's cell with the same weights", atol=1e-12)
    turned = _with_turned_gate(same, units)
    what = "states with u in place of s = 1 − u and the sign of its weights turned, against the cell that keeps"
    yield close(sequences.run(turned, xs, h0).states, states, what, atol=1e-12)
    yield at_most(np.abs(states).max(), max(start, 1.0), "largest |h| of all units and steps, against max(|h₀|, 1)")
    cell = sequences.GRU(inputs, units, reset="before", key=key)
    cell = eqx.tree_at(lambda c: c.bias, cell, jnp.asarray(0.5 * rng.normal(size=3 * units)))
    published = np.asarray(sequences.run(cell, xs, h0).states)
    what = "states with the reset before the product, against the formula with gates of the current input"
    now = close(_formula(cell, xs, h0, xs), published, what, atol=1e-12)
    yield now
    earlier = jnp.concatenate([jnp.zeros((1, inputs)), xs[:-1]])
    yield erratum(
        close(_formula(cell, xs, h0, earlier), published, "the same with gates of the input before", atol=1e-12),
        of=now,
        by="penn",
        prints="the gates of step t + 1 are formed from x_t; the candidate (8.11) and the LSTM's gates (8.12) have "
        "x_{t+1}",
    )
    yield _picture(rng, key)


def _equinox(cell, xs, state):
    """The states of a cell of Equinox at every step."""
    return jax.lax.scan(lambda s, x: (cell(x, s),) * 2, state, xs)[1]


def _gates(cell, xs, states):
    """The gates of all steps, from the states before them."""
    before = jax.tree.map(lambda first, of: jnp.concatenate([first[None], of[:-1]]), cell.init(), states)
    return jax.vmap(lambda s, x: cell.gates(s, cell.project(x)))(before, xs)


def _with_turned_gate(cell, units):
    signs = jnp.repeat(jnp.array([1.0, -1.0, 1.0]), units)
    new = sequences.GRU(cell.input_size, units, gate="update", key=jax.random.key(0))
    parts = lambda c: (c.weight_ih, c.weight_hh, c.bias, c.bias_n)  # noqa: E731
    w_x, w_h, b, b_n = parts(cell)
    return eqx.tree_at(parts, new, (signs[:, None] * w_x, signs[:, None] * w_h, signs * b, b_n))


def _formula(cell, xs, h, seen_by_gates):
    """The published form, a step at a time; the gates see one sequence of inputs, the candidate another."""
    (w_r, w_u, w_x), (v_r, v_u, w_h) = (np.split(np.asarray(w), 3) for w in (cell.weight_ih, cell.weight_hh))
    b_r, b_u, b_n = np.split(np.asarray(cell.bias), 3)
    h, states = np.asarray(h), []
    for x, seen in zip(np.asarray(xs), np.asarray(seen_by_gates), strict=True):
        r, u = (1 / (1 + np.exp(-(w @ seen + v @ h + b))) for w, v, b in ((w_r, v_r, b_r), (w_u, v_u, b_u)))
        h = (1 - u) * h + u * np.tanh(w_x @ x + w_h @ (r * h) + b_n)
        states.append(h)
    return np.array(states)


def _picture(rng, key):
    """One unit whose update gate opens for marked tokens: what is irrelevant passes without a trace."""
    steps = 30
    cell = sequences.GRU(2, 1, key=key)
    weight = jnp.array([[0.0, 0.0], [0.0, 16.0], [2.0, 0.0]])  # the gate sees the mark, the candidate the value
    arrays = (weight, jnp.zeros((3, 1)), jnp.array([0.0, -8.0, 0.0]))
    cell = eqx.tree_at(lambda c: (c.weight_ih, c.weight_hh, c.bias), cell, arrays)
    marks = (np.arange(steps) % 7 == 2).astype(float)
    xs = jnp.asarray(np.stack([rng.normal(size=steps), marks], 1))
    states = sequences.run(cell, xs).states
    times = np.arange(1, steps + 1)
    return figure.curves(
        "A unit whose update gate opens for marked tokens keeps its state in between",
        "step",
        "value",
        lines={"update gate u": (times, np.asarray(_gates(cell, xs, states).update)[:, 0])},
        steps={"state h": (times, np.asarray(states)[:, 0])},
        points={"input": (times, np.asarray(xs)[:, 0])},
    )
