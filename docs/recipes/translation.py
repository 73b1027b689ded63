"""Numbers in words to digits, or written dates to ISO dates, by an encoder and a decoder with attention.

    python docs/recipes/translation.py numbers      python docs/recipes/translation.py dates

See `MEASURED` for the time and the share of new texts that were translated without an error.
"""

import sys
import time

import jax
import numpy as np
import optax

from leadline import sequences, training

ROWS, TESTED, WIDTH, BATCH = 20_000, 1_000, 96, 64
MEASURED = "not measured on two quiet cores yet"


def texts(task: str) -> sequences.Pairs:
    """Sources and targets, one row each."""
    if task == "dates":
        pairs = sequences.date_pairs(ROWS + TESTED, key=jax.random.key(0))
    else:
        rng = np.random.default_rng(0)
        size = 10 ** rng.integers(1, 7, ROWS + TESTED)  # as many short numbers as long ones
        pairs = sequences.number_pairs(rng.integers(0, size))
    return sequences.Pairs(pairs.source, pairs.target)


def main(task: str, epochs: int) -> None:
    pairs = texts(task)
    train = sequences.Pairs(*(part[:ROWS] for part in pairs))
    seen = {row.tobytes() for row in train.source}
    new = np.array([i for i in range(ROWS, ROWS + TESTED) if pairs.source[i].tobytes() not in seen])
    net = sequences.EncoderDecoder(
        int(pairs.source.max()) + 1,
        int(pairs.target.max()) + 1,
        WIDTH,
        embedding=32,
        attention=True,
        key=jax.random.key(1),
    )
    rate = optax.warmup_cosine_decay_schedule(0.0, 5e-3, 100, epochs * (ROWS // BATCH), 1e-4)
    begun = time.perf_counter()
    run = training.fit(
        net,
        train,
        objective=sequences.teacher_forcing,
        optimiser=optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate)),
        epochs=epochs,
        batch=BATCH,
        key=jax.random.key(2),
        progress=True,
    )
    took = time.perf_counter() - begun
    longest = pairs.target.shape[1]
    for width in (None, 4):
        written = sequences.translate_sequences(run.model, pairs.source[new], max_length=longest, width=width)
        share = sequences.exact_matches(written, pairs.target[new]).mean()
        name = "greedily" if width is None else f"by a beam of {width}"
        print(f"{task}: {share:.4f} of {len(new)} new texts without an error, {name}; {took:.0f} s of training")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "dates", int(sys.argv[2]) if len(sys.argv) > 2 else 6)
