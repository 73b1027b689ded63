"""A recurrent network on T steps as a feedforward network of T layers with tied weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, sequences
from leadline.evidence import Int, OneOf, at_most, claim, close, exactly
from leadline.presentation import figure

LENGTHS = (64, 256, 1024)  # of the sequences whose gradients' memory is measured


@claim(sources=("penn",), shows=("sequences.unroll", "sequences.last_state", "sequences.Unrolled"))
def weight_tying_is_unrolling(
    key,
    cell: OneOf("elman", "gru", "lstm") = "elman",
    units: Int(1, 16) = 6,
    inputs: Int(1, 8) = 3,
    steps: Int(2, 60) = 20,
):
    r"""Unrolled, a recurrent network is a deep one with tied weights.

    On T steps a recurrent network is a feedforward network of T layers that share their weights, and backpropagation
    through time is ordinary reverse mode on it: the gradient of the shared weights is the sum of those of the T copies.
    It keeps T states, or with checkpoints at every √T-th step about 2√T, for a second forward pass.

    $$\frac{\partial L}{\partial \theta} = \sum_{t=1}^T \frac{\partial L}{\partial \theta_t}\Big|_{\theta_1 = \dots =
    \theta_T = \theta}$$

    Check: Outputs and gradients of the network with a copy of its weights for each step; the recursion of adjoints
    written out, g ← gJ, with the Jacobians of single steps; the memory that compiled gradients take.
    """
    rng = data.generator(key)
    tied = sequences.sequence_network(cell, inputs, units, 1, key=key).cell
    copies = sequences.unroll(tied, steps)
    xs, target = jnp.asarray(rng.normal(size=(steps, inputs))), jnp.asarray(rng.normal(size=units))
    what = f"parameters of {steps} copies over those of one: T"
    yield exactly(networks.parameter_count(copies) / networks.parameter_count(tied), float(steps), what)
    recurrent, feedforward = sequences.run(tied, xs), copies(xs)
    flat = [np.asarray(jax.vmap(tied.predict)(course.states)) for course in (recurrent, feedforward)]
    yield close(
        flat[1], flat[0], "outputs of all layers of the feedforward network, against the recurrent one", atol=1e-13
    )

    def loss(state):
        return jnp.sum((tied.predict(state) - target) ** 2)

    shared = eqx.filter_grad(lambda c: loss(sequences.run(c, xs).last))(tied)
    of_copies = eqx.filter_grad(lambda u: loss(u(xs).last))(copies).copies
    largest = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(shared))
    summed = _flat(jax.tree.map(lambda leaf: leaf.sum(0), of_copies))
    what = "gradients of the copies, summed, against that of the shared weights"
    yield close(summed, _flat(shared), what, atol=1e-12 * largest * steps)
    by_hand, norms = _adjoints(tied, xs, recurrent.states, jax.grad(loss)(recurrent.last))
    what = "gradient by the recursion of adjoints written out, against that of the shared weights"
    yield close(by_hand, _flat(shared), what, atol=1e-12 * largest * steps)
    every = max(1, int(np.sqrt(steps)))
    kept = eqx.filter_grad(lambda c: loss(sequences.last_state(c, xs, every=every)))(tied)
    what = f"gradient with a checkpoint at every {every}th step, against that of the shared weights"
    yield close(_flat(kept), _flat(shared), what, atol=1e-12 * largest * steps)
    plain, thrifty = (np.array([_memory(tied, t, some) for t in LENGTHS]) for some in (False, True))
    what = f"memory of a gradient over {LENGTHS[-1]} steps with checkpoints at every √T-th, over that without"
    yield at_most(thrifty[-1] / plain[-1], 0.5, what)
    grown = [(m[-1] - m[-2]) / (m[-2] - m[-3]) for m in (plain, thrifty)]
    what = f"what memory grows by from T = {LENGTHS[1]} to {LENGTHS[2]}, over the growth up to there: O(T)"
    yield close(grown[0], 4.0, what, rtol=0.1)
    yield close(grown[1], 2.0, what.replace("O(T)", "O(√T) with checkpoints"), rtol=0.25)
    times = np.arange(1, steps + 1)
    of_step = np.sqrt(sum((np.asarray(leaf).reshape(steps, -1) ** 2).sum(1) for leaf in jax.tree.leaves(of_copies)))
    title = "What each step adds to the gradient of the shared weights, for a loss at the last step"
    yield figure.curves(
        title,
        "step t",
        "norm of the gradient of copy t",
        lines={"adjoints by hand": (times, norms)},
        points={"copies": (times, of_step)},
        log="y",
    )


def _flat(tree):
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(tree)])


def _adjoints(cell, xs, states, adjoint):
    """Backpropagation through time: the gradient, and the norm of each step's part, by vector-Jacobian products."""
    before = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest[:-1]]), cell.init(), states)
    total, norms = 0.0, []
    for t in reversed(range(len(xs))):
        state = jax.tree.map(lambda of_steps, t=t: of_steps[t], before)
        _, pull = eqx.filter_vjp(lambda c, s, t=t: c.update(s, xs[t]), cell, state)
        of_cell, adjoint = pull(adjoint)
        part = _flat(eqx.filter(of_cell, eqx.is_inexact_array))
        total, norms = total + part, [float(np.linalg.norm(part)), *norms]
    return total, norms


def _memory(cell, steps, checkpointed):
    """Bytes that the compiled gradient of the last state's norm takes besides inputs and outputs."""
    every = int(np.sqrt(steps)) if checkpointed else None
    arrays, rest = eqx.partition(cell, eqx.is_inexact_array)

    def gradient(arrays, xs):
        def norm(a):
            last = sequences.last_state(eqx.combine(a, rest), xs, every=every)
            return jnp.sum(cell.predict(last) ** 2)

        return jax.grad(norm)(arrays)

    xs = jax.ShapeDtypeStruct((steps, cell.input_size), jnp.result_type(float))
    return jax.jit(gradient).lower(arrays, xs).compile().memory_analysis().temp_size_in_bytes
