"""Networks with dropout on a sine of which the middle is missing: several numbers of rows, noises and seeds at once."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from leadline import regularisation, training
from leadline.regularisation.masks.monte_carlo import DropoutPredictions

from .dropout_trainings import with_rate

INNER, OUTER = 0.6, 2.0  # data lie where 0.6 < |x| < 2
HIDDEN = 64


def true_function(x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """sin 3x."""
    return np.sin(3 * x)


def gap_rows(rng: np.random.Generator, rows: int) -> Float[np.ndarray, " n"]:
    """Inputs, uniform on both sides of the gap, in random order."""
    return rng.choice([-1.0, 1.0], rows) * rng.uniform(INNER, OUTER, rows)


def train_on_gap(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, "arms n"],
    counts: Sequence[int],
    rates: Sequence[float],
    key,
    *,
    seeds: int,
    num_steps: int = 2000,
) -> regularisation.RegularisedMLP:
    """Networks 1-64-64-1 with leading axes (arms, seeds): arm a sees the first counts[a] rows, targets y[a].

    Squared error, Adam at 3e-3 in batches of 32 rows drawn with replacement.
    """
    keys = jax.random.split(key, seeds)
    inputs = jnp.asarray(x[:, None], jnp.float32)
    arms = jnp.asarray(y, jnp.float32), jnp.asarray(counts), jnp.asarray(rates, jnp.float32)
    return _train(inputs, arms, keys, num_steps)


@eqx.filter_jit
def _train(inputs, arms, keys, num_steps):
    def one(targets, count, rate, key):
        key_start, key_batches, key_masks = jax.random.split(key, 3)
        net, state = new_network(key_start)
        modal = regularisation.ModalObjective("squared")

        def objective(model, chosen, key, state):
            found, state = modal(with_rate(model, rate), (inputs[chosen], targets[chosen]), key, state)
            return found.losses, state

        stream = jax.random.randint(key_batches, (num_steps, 32), 0, count)
        ran = training.scan_steps(objective, net, optax.adam(3e-3), stream, key=key_masks, state=state)
        return ran.model

    of_seeds = eqx.filter_vmap(one, in_axes=(None, None, None, 0))
    return eqx.filter_vmap(of_seeds, in_axes=(0, 0, 0, None))(*arms, keys)


def new_network(key):
    """The network before training, and its state."""
    make = eqx.nn.make_with_state(regularisation.RegularisedMLP)
    return make((1, HIDDEN, HIDDEN, 1), dropout=0.5, dtype=jnp.float32, key=key)


class OfSeeds(eqx.Module):
    """apply(params, inputs, key) of a stack of networks with one output: (m, seeds)."""

    apply: Callable

    def __call__(self, params, inputs, key):
        keys = jax.random.split(key, len(jax.tree.leaves(params)[0]))
        return jax.vmap(self.apply, (0, None, 0))(params, inputs, keys)[..., 0].T


def predictions(
    nets: regularisation.RegularisedMLP, rate: float, x: Float[Array, " m"], key, *, draws: int = 100
) -> DropoutPredictions:
    """Monte Carlo passes of a stack of networks (seeds): (draws, m, seeds)."""
    state = new_network(key)[1]
    rated = with_rate(nets, rate)
    apply, params = regularisation.keyed_apply((rated, state))

    return regularisation.mc_dropout(OfSeeds(apply), params, x[:, None].astype(np.float32), draws=draws, key=key)
