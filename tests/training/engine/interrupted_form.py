"""A run of one form in a process of its own, for tests that kill it. Arguments: directory, epochs, form."""

import sys

import jax

jax.config.update("jax_enable_x64", True)

if __name__ == "__main__":
    from tests.training.engine.forms import train

    train(sys.argv[3], epochs=int(sys.argv[2]), directory=sys.argv[1], every=1, resume=True)
    print("finished", flush=True)
