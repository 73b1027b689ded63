"""Where a loss stands on a sequence, and what padding does to it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training
from leadline.evidence import Int, at_least, close, exactly, method
from leadline.presentation import figure
from leadline.training.engine.objective import mean_loss

TASKS = ("the bit before, at every step", "parity so far, at every step", "first bit, at the end")
ROWS, STEPS, EPOCHS, UNITS = 1024, 8, 50, 24  # of the three tasks that are learnt
LEARNT = 0.99


@method(
    sources=("eth", "penn"), shows=("sequences.SequenceObjective", "sequences.SequenceNetwork", "sequences.next_tokens")
)
def sequence_heads_and_loss(key, sequences_: Int(2, 12) = 6, longest: Int(2, 20) = 9):
    r"""Heads and losses of sequences.

    A head at every step labels the steps, or predicts the next token, $y_t = x_{t+1}$; a head on the last state labels
    the sequence. The loss is the mean over steps, or that of the last one. Sequences of several lengths are padded to
    one: the loss is then divided by the number of steps that count, and padding has no part in it, nor a gradient.

    $$L = \frac{1}{\sum_{it} m_{it}} \sum_{i=1}^n \sum_{t=1}^T m_{it}\, \ell(y_{it}, \hat y_{it})$$

    Check: A padded batch against each sequence by itself, for both heads; gradients at the padding; three tasks on
    random bits, each with a head of its own on one GRU: the bit before, the parity so far, the first bit at the end.
    """
    rng = data.generator(key)
    lengths = rng.integers(1, longest + 1, sequences_)
    tokens = rng.integers(0, 5, (sequences_, longest + 1))
    mask = np.asarray(sequences.valid_steps(jnp.asarray(lengths), longest))
    net = sequences.sequence_network("gru", 3, 4, 5, vocabulary=5, key=key)
    whole = np.concatenate([np.ones((sequences_, 1), bool), mask], 1)
    batch = sequences.next_tokens(jnp.asarray(tokens), jnp.asarray(whole))
    yield exactly(batch.targets, tokens[:, 1:], "targets of the next-token task, against the tokens one step later")
    objective = sequences.SequenceObjective()
    found = mean_loss(objective(net, batch)[0])
    alone = [
        optax.softmax_cross_entropy_with_integer_labels(net(jnp.asarray(row[:n])), row[1 : n + 1])
        for row, n in zip(tokens, lengths, strict=True)
    ]
    what = f"loss of {sequences_} padded sequences, against the mean over all {lengths.sum()} steps without padding"
    yield close(found, np.concatenate(alone).mean(), what, rtol=1e-12)
    label = sequences.sequence_network("lstm", 2, 4, 5, reading="last", key=key)
    xs, labels = jnp.asarray(rng.normal(size=(sequences_, longest, 2))), rng.integers(0, 5, sequences_)
    last = sequences.Sequences(xs, jnp.asarray(labels), jnp.asarray(mask))
    cut = [
        optax.softmax_cross_entropy_with_integer_labels(label(x[:n]), y)
        for x, n, y in zip(xs, lengths, labels, strict=True)
    ]
    what = "loss of a head on the last state of padded sequences, against sequences that are cut off"
    yield close(mean_loss(objective(label, last)[0]), np.mean(cut), what, rtol=1e-12)
    of_inputs = jax.grad(lambda xs: mean_loss(objective(label, last._replace(inputs=xs))[0]))(xs)
    padding = np.abs(np.asarray(of_inputs)).sum(-1)[~mask]
    what = f"largest gradient at {padding.size} steps of padding"
    yield exactly(padding.max(initial=0.0), 0.0, what)
    accuracies = _learnt(key)
    for task, right in accuracies.items():
        yield at_least(right[-1], LEARNT, f"{task}: share of new labels that are right").as_empirical()
    epochs = np.arange(1, EPOCHS + 1)
    yield figure.curves(
        "Three tasks on random bits, learnt by one network with three heads",
        "epochs",
        "labels right, new sequences",
        lines={name: (epochs, right) for name, right in accuracies.items()},
        rules={"chance": ("y", 0.5)},
    )


def _learnt(key):
    """The accuracy on new sequences after each epoch, of one network with a head for each task."""
    keys = jax.random.split(key, 4)
    net = sequences.sequence_network("gru", 1, UNITS, len(TASKS), key=keys[0], dtype=jnp.float32)
    train, new = (_tasks(k) for k in keys[1:3])
    run = training.fit(
        net,
        train,
        objective=_three_heads,
        optimiser=optax.adam(0.02),
        epochs=EPOCHS,
        batch=64,
        validation=new,
        key=keys[3],
    )
    return {name: run.history[f"validation_{name}"] for name in TASKS}


def _tasks(key):
    """Random bits with the labels of all three tasks, (rows, steps, tasks), and which of them are asked for."""
    bits, before, asked = sequences.shifted_bits(ROWS, STEPS, 1, key=key)
    parity = sequences.running_parity(ROWS, STEPS, key=key).labels  # the same key: the same bits
    first = jnp.broadcast_to(bits[:, :1, 0] > 0, asked.shape)
    at_the_end = jnp.broadcast_to(jnp.arange(STEPS) == STEPS - 1, asked.shape)
    labels = jnp.stack([before, parity, first], -1)
    counts = jnp.stack([asked, jnp.ones_like(asked), at_the_end], -1)
    return bits.astype(jnp.float32), labels, counts


def _three_heads(net, batch, key, state):
    """Cross-entropies of three yes-or-no heads; those that are not asked for have no weight."""
    inputs, labels, counts = batch
    outputs = jax.vmap(net)(inputs)
    losses = optax.sigmoid_binary_cross_entropy(outputs, labels)
    shares = (((outputs > 0) == labels) * counts).sum(1) / counts.sum(1)
    return training.RowLosses(losses, counts, {name: shares[:, i] for i, name in enumerate(TASKS)}), state
