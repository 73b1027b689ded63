"""What the decoder is fed while it is trained: the truth, its own output, or one or the other by chance."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from leadline.training import RowLosses

from .encoder_decoder import END, EncoderDecoder, target_mask


class Pairs(NamedTuple):
    """Sources and targets, one row each, filled up with 0: a batch of `training.fit`."""

    source: Int[Array, "n S"]
    target: Int[Array, "n T"]


class Rollout(NamedTuple):
    """log p of every symbol at every step, and what the decoder was fed."""

    log_probabilities: Float[Array, "T symbols"]
    fed: Int[Array, " T"]


def roll_out(
    model: EncoderDecoder,
    source: Int[Array, " S"],
    target: Int[Array, " T"],
    own: Bool[Array, " T"],
    *,
    key: PRNGKeyArray | None = None,
) -> Rollout:
    """The decoder step by step, fed at t its own output of t - 1 where `own` is true and the truth y_{t-1} elsewhere.

    Its own output is the likeliest symbol, or with a `key` one that is drawn. With `own` nowhere it is teacher forcing,
    with `own` everywhere it runs freely. The first step is fed the beginning.

    >>> net = EncoderDecoder(3, 4, 5, key=jax.random.key(0))
    >>> x, y = jnp.array([1, 2]), jnp.array([3, 1, 2, 0])
    >>> roll_out(net, x, y, jnp.zeros(4, bool)).fed.tolist()
    [0, 3, 1, 2]
    """
    memory = model.encode(source)
    keys = None if key is None else jax.random.split(key, len(target))

    def step(carried: tuple[PyTree, Array, Array], given: tuple) -> tuple[tuple[PyTree, Array, Array], tuple]:
        state, said, truth = carried
        mine, after, now = given
        fed = jnp.where(mine, said, truth)
        logs, state = model.step(memory, state, fed)
        says = jnp.argmax(logs) if now is None else jax.random.categorical(now, logs)
        return (state, says.astype(truth.dtype), after), (logs, fed)

    first = jnp.asarray(END, target.dtype)
    _, (logs, fed) = jax.lax.scan(step, (memory.last, first, first), (own, target, keys))
    return Rollout(logs, fed)


def teacher_forcing(
    model: EncoderDecoder, batch: Pairs, key: PRNGKeyArray | None, state: PyTree
) -> tuple[RowLosses, PyTree]:
    """The objective of `training.fit`: -log p(y_t | x, y_{<t}) of each token, the true ones before it.

    >>> net = EncoderDecoder(3, 4, 5, key=jax.random.key(0))
    >>> rows, _ = teacher_forcing(net, Pairs(jnp.array([[1, 2]]), jnp.array([[3, 0, 0]])), None, None)
    >>> rows.losses.shape, rows.weights.astype(int).tolist()
    ((1, 3), [[1, 1, 0]])
    """
    return _token_losses(jax.vmap(model.log_probabilities)(*batch), batch[1]), state


class ScheduledSampling(eqx.Module):
    """The objective in which the decoder is fed its own output with probability ε, else the truth.

    `share` is ε, or a function of the number of steps taken, which `fit` then carries as its state, from
    `jnp.zeros((), int)` on. ε = 0 is teacher forcing and ε = 1 free running (Bengio et al. 2015). Its own outputs are
    drawn unless `likeliest`. No gradient goes through the choice of a token.

    >>> net = EncoderDecoder(3, 4, 5, key=jax.random.key(0))
    >>> pairs = Pairs(jnp.array([[1, 2]]), jnp.array([[3, 1, 0]]))
    >>> forced, _ = teacher_forcing(net, pairs, None, None)
    >>> rows, _ = ScheduledSampling(0.0)(net, pairs, jax.random.key(1), None)
    >>> bool(jnp.allclose(rows.losses, forced.losses, atol=1e-5))
    True
    """

    share: float | Callable[[Array], Array] = eqx.field(static=True)
    likeliest: bool = eqx.field(default=False, static=True)

    def __call__(
        self, model: EncoderDecoder, batch: Pairs, key: PRNGKeyArray, state: PyTree
    ) -> tuple[RowLosses, PyTree]:
        source, target = batch
        share = self.share(state) if callable(self.share) else self.share
        key_own, key_drawn = jax.random.split(key)
        own = jax.random.bernoulli(key_own, share, target.shape)
        keys = None if self.likeliest else jax.random.split(key_drawn, len(target))
        roll = jax.vmap(lambda x, y, mine, k: roll_out(model, x, y, mine, key=k).log_probabilities)
        losses = _token_losses(roll(source, target, own, keys), target)
        return losses, state + 1 if callable(self.share) else state


def _token_losses(logs: Float[Array, "n T symbols"], target: Int[Array, "n T"]) -> RowLosses:
    chosen = jnp.take_along_axis(logs, target[..., None], -1)[..., 0]
    mask = target_mask(target)
    right = (jnp.argmax(logs, -1) == target) | ~mask
    return RowLosses(-chosen, mask, {"exact match": right.all(-1).astype(chosen.dtype)})
