"""Where a loss stands on a sequence, and what padding does to it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training
from leadline.evidence import Int, at_least, close, exactly, method
from leadline.presentation import figure
from leadline.training.engine.objective import mean_loss

ROWS, STEPS, EPOCHS = 1024, 10, 60  # of the three tasks that are learnt
LEARNT = 0.99


@method(
    sources=("eth", "penn"), shows=("sequences.SequenceObjective", "sequences.SequenceNetwork", "sequences.next_tokens")
)
def sequence_heads_and_loss(key, sequences_: Int(2, 12) = 6, longest: Int(2, 20) = 9, delay: Int(1, 5) = 3):
    r"""Heads and losses of sequences.

    A head at every step labels the steps, or predicts the next token, y_t = x_{t+1}; a head on the last state labels
    the sequence. The loss is the mean over steps, or that of the last one. Sequences of several lengths are padded to
    one: the loss is then divided by the number of steps that count, and padding has no part in it, nor a gradient.

    $$L = \frac{1}{\sum_{it} m_{it}} \sum_{i=1}^n \sum_{t=1}^T m_{it}\, \ell(y_{it}, \hat y_{it})$$

    Check: A padded batch against each sequence by itself, for both heads; gradients at the padding; three tasks on
    random bits (the bit some steps ago, the parity so far) that a GRU learns from new bits to right labels.
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
    accuracies = _learnt(key, delay)
    for task, right in accuracies.items():
        yield at_least(right[-1], LEARNT, f"{task}: share of new labels that are right").as_empirical()
    epochs = np.arange(1, EPOCHS + 1)
    yield figure.curves(
        "Three tasks on random bits, learnt by one kind of network with three heads",
        "epochs",
        "labels right, new sequences",
        lines={name: (epochs, right) for name, right in accuracies.items()},
        rules={"chance": ("y", 0.5)},
    )


def _learnt(key, delay):
    """The accuracy on new sequences after each epoch, for each task."""
    tasks = {
        f"bit {delay} steps ago, at every step": lambda rows, k: sequences.shifted_bits(rows, STEPS, delay, key=k),
        "parity so far, at every step": lambda rows, k: sequences.running_parity(rows, STEPS, key=k),
    }
    found = {}
    for number, (name, draw) in enumerate(tasks.items()):
        keys = jax.random.split(jax.random.fold_in(key, number), 4)
        net = sequences.sequence_network("gru", 1, 16, 2, key=keys[0], dtype=jnp.float32)
        train, new = (sequences.Sequences(*draw(ROWS, k)) for k in keys[1:3])
        run = training.fit(
            net, train, objective=sequences.SequenceObjective(), optimiser=optax.adam(0.02), epochs=EPOCHS, batch=64,
            validation=new, key=keys[3],
        )  # fmt: skip
        found[name] = run.history["validation_accuracy"]
    keys = jax.random.split(jax.random.fold_in(key, len(tasks)), 4)
    net = sequences.sequence_network("gru", 1, 16, 2, reading="last", key=keys[0], dtype=jnp.float32)
    train, new = (sequences.shifted_bits(ROWS, STEPS, STEPS - 1, key=k) for k in keys[1:3])
    first = [sequences.Sequences(bits.inputs, bits.labels[:, -1]) for bits in (train, new)]
    run = training.fit(
        net, first[0], objective=sequences.SequenceObjective(), optimiser=optax.adam(0.02), epochs=EPOCHS, batch=64,
        validation=first[1], key=keys[3],
    )  # fmt: skip
    return found | {"first bit, at the end": run.history["validation_accuracy"]}
