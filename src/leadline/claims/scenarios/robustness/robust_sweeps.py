"""Networks trained at several radii, several seeds at once: clean and robust accuracy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, robustness
from leadline.claims.scenarios.robustness.digits import digit_scores

WIDTH = 64
TEST_ROWS = 500


def images_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images in rows and labels, test images and labels; Fashion-MNIST in part and at half its resolution."""
    if name == "digits":
        return data.digits_split()
    _, x, y, test_x, test_y, _ = data.load(name)

    def halved(images: np.ndarray) -> np.ndarray:
        return images.reshape(len(images), 14, 2, 14, 2).mean((2, 4)).reshape(len(images), 196)

    return halved(x[:1500]), y[:1500], halved(test_x[:TEST_ROWS]), test_y[:TEST_ROWS]


def clean_and_robust(
    name: str, levels: np.ndarray, seeds: int, epochs: int, key: jax.Array
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clean accuracy (levels, seeds), that under PGD at 0.1, and clean accuracy (seeds,) of interval training."""
    x, y, test_x, test_y = (jnp.asarray(part) for part in images_of(name))
    x, test_x = x.astype(jnp.float32), test_x.astype(jnp.float32)
    keys, box = jax.random.split(key, seeds), robustness.Box(0.0, 1.0)

    def start(key: jax.Array) -> networks.MLP:
        return networks.MLP((x.shape[1], WIDTH, WIDTH, 10), "relu", dtype=jnp.float32, key=key)

    def measured(net: networks.MLP) -> tuple[jax.Array, jax.Array]:
        found = robustness.pgd(digit_scores, net, test_x, test_y, 0.1, num_steps=20, box=box)
        return (digit_scores(net, test_x).argmax(1) == test_y).mean(), 1 - found.fooled.mean()

    def attacked(key: jax.Array, eps: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = robustness.adversarial_training(
            digit_scores, start(key), x, y, eps=eps, epochs=epochs, inner=5, box=box, ramp=0.3, key=key
        )
        return measured(found.params)

    def boxed(key: jax.Array) -> jax.Array:
        found = robustness.interval_training(digit_scores, start(key), x, y, eps=0.1, epochs=2 * epochs, key=key)
        return (digit_scores(found.params, test_x).argmax(1) == test_y).mean()

    one_radius = eqx.filter_jit(jax.vmap(attacked, in_axes=(0, None)))
    found = [one_radius(keys, jnp.asarray(level, jnp.float32)) for level in levels]
    clean, stood = (np.stack([np.asarray(f[i], np.float64) for f in found]) for i in range(2))
    return clean, stood, np.asarray(jax.jit(jax.vmap(boxed))(keys), np.float64)
