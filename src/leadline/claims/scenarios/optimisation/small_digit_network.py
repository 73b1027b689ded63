"""A small network on the digits as a finite sum over examples, its parameters in one vector."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic

HIDDEN = 16
_ENDS = (64 * HIDDEN, 65 * HIDDEN, 75 * HIDDEN)


def network_loss(w, image, label):
    """Cross-entropy of a ReLU network 64-16-10 with parameters w for one digit."""
    a, b, c = _ENDS
    hidden = jax.nn.relu(image @ w[:a].reshape(64, HIDDEN) + w[a:b])
    scores = hidden @ w[b:c].reshape(HIDDEN, 10) + w[c:]
    return jax.nn.logsumexp(scores) - scores[label]


def network_starts(rng: np.random.Generator, seeds: int) -> jax.Array:
    """He's initialisation, biases 0: (seeds, p)."""
    a, b, c = _ENDS
    scale = np.zeros(c + 10)
    scale[:a], scale[b:c] = np.sqrt(2 / 64), np.sqrt(2 / HIDDEN)
    return jnp.asarray(rng.standard_normal((seeds, scale.size)) * scale)


def digit_sum(rng: np.random.Generator, samples: int, wrong: float = 0.0) -> stochastic.FiniteSum:
    """`samples` of the digits, each with a random label with probability `wrong`."""
    images, labels = data.digits()
    chosen = rng.choice(len(images), samples, replace=False)
    noisy = np.where(rng.random(samples) < wrong, rng.integers(10, size=samples), labels[chosen])
    return stochastic.FiniteSum(network_loss, (jnp.asarray(images[chosen], float), jnp.asarray(noisy)))
