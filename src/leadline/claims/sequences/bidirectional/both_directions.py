"""Models that read a sequence from both ends."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, OneOf, claim, close, exactly, model
from leadline.presentation import figure


@model(sources=("eth", "sheet", "penn"), shows=("sequences.Bidirectional", "sequences.valid_steps"))
def bidirectional_rnn(
    key, cell: OneOf("gru", "lstm", "elman", "mingru") = "gru", units: Int(1, 8) = 4, steps: Int(2, 16) = 9
):
    r"""The bidirectional recurrent network.

    A cell goes over the sequence forwards and another, with weights of its own, backwards; the output at t joins what
    both hold there, so that it depends on the whole sequence. That is why it cannot be used while a sequence is still
    coming in, nor to generate one. A padded sequence is reversed within its own length.

    $$y_t = \psi(W_f h^f_t + W_b h^b_t), \qquad h^f_t = F(h^f_{t-1}, x_t), \quad h^b_t = B(h^b_{t+1}, x_t), \quad
    h^b_{T+1} = 0$$

    Check: Jacobians of every output with respect to every input, beside a network that goes forwards alone; the
    backward states against a forward run over the reversed sequence; a padded sequence against the sequence itself.
    """
    rng = data.generator(key)
    net = sequences.sequence_network(cell, 2, units, 1, bidirectional=True, key=key)
    causal = sequences.sequence_network(cell, 2, units, 1, key=key)
    xs = jnp.asarray(rng.normal(size=(steps, 2)))
    sizes = [np.linalg.norm(np.asarray(jax.jacobian(one)(xs))[:, 0], axis=-1) for one in (causal, net)]
    yield exactly(sizes[1] > 0, True, "outputs of both directions that depend on an input: all pairs (t, s)")
    past = np.tril(np.ones((steps, steps), bool))
    yield exactly(sizes[0] > 0, past, "outputs of the forward network that depend on an input: pairs with s ≤ t")
    both = net.cell
    _, backward = sequences.run(both, xs).states
    mirrored = sequences.run(both.backward, xs[::-1]).states
    outputs = [np.asarray(jax.vmap(both.backward.predict)(states)) for states in (backward, mirrored)]
    yield close(outputs[0], outputs[1][::-1], "backward states, against a run over the reversed sequence", atol=1e-13)
    longer = jnp.concatenate([xs, jnp.asarray(rng.normal(size=(5, 2)))])
    padded = net(longer, sequences.valid_steps(steps, steps + 5))[:steps]
    yield close(padded, net(xs), "outputs with five steps of padding, against those without", atol=1e-13)
    times = list(range(1, steps + 1))
    panels = [
        figure.heatmap(
            name,
            "input of step s",
            "output of step t",
            values=np.log10(np.where(size > 0, size, np.nan)),
            xs=times,
            ys=times,
            colour="log₁₀ ‖∂y/∂x‖",
        )
        for name, size in zip(("forwards", "both directions"), sizes, strict=True)
    ]
    yield figure.beside("Forwards, outputs see a triangle of inputs; in both directions, the square", *panels)


@claim(sources=("penn",), shows=("sequences.Bidirectional",))
def bidirectional_gradient_flow(
    key,
    cell: OneOf("gru", "elman", "mingru") = "gru",
    units: Int(1, 8) = 4,
    steps: Int(3, 40) = 21,
    place: Int(1, 40) = 9,
):
    r"""Gradients in a bidirectional network.

    With a loss at time t alone, the forward states up to t receive a gradient and those after t none; of the backward
    states those from t on do. The adjoint of the backward state at t goes to that at t + 1, from which it was made.

    $$\frac{\partial L_t}{\partial h^f_s} = 0 \text{ for } s > t, \qquad \frac{\partial L_t}{\partial h^b_s} = 0
    \text{ for } s < t$$

    Check: Gradients with respect to a zero added to every state; the norms that come out, against vector-Jacobian
    products of single steps.
    """
    rng = data.generator(key)
    t = min(place, steps) - 1
    both = sequences.sequence_network(cell, 2, units, 1, bidirectional=True, key=key).cell
    xs, w = jnp.asarray(rng.normal(size=(steps, 2))), jnp.asarray(rng.normal(size=2 * units))

    def loss(added):
        forward = _run_with(both.forward, xs, added[0])
        backward = _run_with(both.backward, xs[::-1], added[1][::-1])[::-1]
        return jnp.concatenate([forward[t], backward[t]]) @ w

    gradients = np.asarray(jax.grad(loss)(jnp.zeros((2, steps, units))))
    norms = np.linalg.norm(gradients, axis=-1)
    times = np.arange(steps)
    yield exactly(norms[0] > 0, times <= t, "forward states with a gradient: those up to t")
    yield exactly(norms[1] > 0, times >= t, "backward states with a gradient: those from t on")
    for name, one, adjoint, order in (
        ("forward", both.forward, w[:units], range(t, -1, -1)),
        ("backward", both.backward, w[units:], range(t, steps)),
    ):
        states = sequences.run(one, xs, reverse=name == "backward").states
        found = []
        for s in order:
            found.append(np.asarray(adjoint))
            earlier = s - 1 if name == "forward" else s + 1
            before = states[earlier] if 0 <= earlier < steps else one.init()
            adjoint = jax.vjp(lambda h, s=s, one=one: one.update(h, xs[s]), before)[1](adjoint)[0]
        where = list(order)
        what = f"gradients of the {name} states, against vector-Jacobian products from step to step"
        yield close(gradients[0 if name == "forward" else 1][where], np.array(found), what, atol=1e-13)
    yield figure.curves(
        f"A loss at t = {t + 1} reaches the forward states before it and the backward states after it",
        "step s",
        "norm of the gradient",
        lines={
            "forward states": (times[: t + 1] + 1, norms[0, : t + 1]),
            "backward states": (times[t:] + 1, norms[1, t:]),
        },
        rules={"loss": ("x", t + 1.0)},
        log="y",
    )


def _run_with(cell, xs, added):
    """The states of a run in which something is added to each state before it is used."""

    def step(state, given):
        x, more = given
        after = cell.update(state, x) + more
        return after, after

    return jax.lax.scan(step, cell.init(), (xs, added))[1]
