"""A recurrent network for the next character of tinyshakespeare, beside models that count n characters.

    LEADLINE_DATA=where/it/is python docs/recipes/characters.py             python docs/recipes/characters.py gru 20000

The first nine tenths are learnt and the whole of the last tenth is tested, where Witten-Bell models of orders 1 to 5
have 3.347, 2.486, 2.049, 1.774 and 1.669 nats a character. See `MEASURED` for the time and the loss.
"""

import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training

WIDTH, WINDOW, BATCH, ROWS = 128, 100, 64, 30
MEASURED = "not measured on two quiet cores yet; meant to be below order 3 within 5 minutes"


def main(cell: str, num_steps: int) -> None:
    text = data.load("tinyshakespeare")
    tokens, symbols = text.encode(text.text), len(text.vocabulary)
    cut = int(0.9 * len(tokens))
    train, test = jnp.asarray(tokens[:cut]), tokens[cut:]
    keys = jax.random.split(jax.random.key(0), 2)
    net = sequences.sequence_network(cell, 32, WIDTH, symbols, vocabulary=symbols, dtype=jnp.float32, key=keys[0])

    def windows(key: jax.Array) -> sequences.Sequences:
        return sequences.next_tokens(sequences.random_chunks(train[None], WINDOW + 1, BATCH, key=key)[0])

    rate = optax.warmup_cosine_decay_schedule(0.0, 4e-3, num_steps // 20 + 1, num_steps, 2e-4)
    epochs = max(num_steps // 100, 1)
    begun = time.perf_counter()
    run = training.fit(
        net,
        windows,
        objective=sequences.SequenceObjective(),
        optimiser=optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate)),
        epochs=epochs,
        num_steps=num_steps // epochs,
        batch=BATCH,
        key=keys[1],
        progress=True,
    )
    took = time.perf_counter() - begun
    counted = sequences.fit_ngrams(tokens[:cut], 5, symbols=symbols)
    for order in (2, 3, 5):
        loss = -counted.of_order(order).log_probabilities(test).mean()
        print(f"Witten-Bell of order {order}: {loss:.3f} nats a character")
    print(f"{cell} of width {WIDTH}, {num_steps} steps: {loss_on(run.model, test):.3f} nats; {took:.0f} s of training")


def loss_on(net: sequences.SequenceNetwork, tokens: np.ndarray) -> float:
    """The mean over all characters but the first of each of 30 long rows, in which the state is carried on."""
    rows = jnp.asarray(tokens[: len(tokens) // ROWS * ROWS].reshape(ROWS, -1))
    batch = sequences.next_tokens(rows)
    found, _ = eqx.filter_jit(sequences.SequenceObjective())(net, batch)
    return float(found.losses.mean())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "gru", int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
