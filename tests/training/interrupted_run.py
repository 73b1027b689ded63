"""A training run in a process of its own, for tests that kill it: python interrupted_run.py DIRECTORY EPOCHS."""

import sys

import jax
import optax

from leadline import data, training
from leadline.networks import MLP

if __name__ == "__main__":
    split = data.digits_split()
    training.fit(
        MLP((64, 32, 10), key=jax.random.key(0), dtype="float32"),
        (split.train_images.astype("float32"), split.train_labels),
        validation=(split.test_images.astype("float32"), split.test_labels),
        optimiser=optax.adam(1e-3),
        epochs=int(sys.argv[2]),
        key=jax.random.key(1),
        directory=sys.argv[1],
        every=1,
        resume=True,
    )
    print("finished", flush=True)
