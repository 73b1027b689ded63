"""Contrastive predictive coding: features of a series that tell its own future from the futures of others."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, Real

from leadline._checks import require_counts
from leadline.training import RowLosses


def info_nce(scores: Float[Array, "... candidates"], positive: Array | int = 0) -> Float[Array, "..."]:
    """-log(f_p / Σ_j f_j) with f = exp(scores) over N candidates, of which one, p, is positive.

    The mean of log N - info_nce is at most the information between what is scored, and at most log N (van den Oord, Li
    and Vinyals 2018).

    >>> [round(float(v), 4) for v in info_nce(jnp.zeros((2, 8)))]  # log 8
    [2.0794, 2.0794]
    """
    candidates = scores.shape[-1]
    if not isinstance(positive, Tracer) and not np.all(
        (np.asarray(positive) >= 0) & (np.asarray(positive) < candidates)
    ):
        raise ValueError(
            f"info_nce got the positive candidate {np.max(np.asarray(positive))} of {candidates}; give numbers from 0 "
            f"to {candidates - 1}."
        )
    chosen = jnp.broadcast_to(jnp.asarray(positive), scores.shape[:-1])
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), chosen[..., None], axis=-1)[..., 0]


class ContrastiveCoder(eqx.Module):
    """An encoder z_t = g(x_t), a causal context c_t = GRU(z_1..z_t), and scores z_{t+k}ᵀ W_k c_t for k = 1..K.

    `encoder` maps one observation to `features` numbers; a GRU of `context` units reads them in order. Trained with
    the objective `InfoNCE`, exp(score) becomes proportional to p(x_{t+k}|c_t)/p(x_{t+k}).

    >>> net = ContrastiveCoder(eqx.nn.MLP(1, 4, 8, 1, key=jax.random.key(0)), 4, 6, 2, key=jax.random.key(1))
    >>> latents, contexts = net(jnp.zeros((10, 1)))
    >>> latents.shape, contexts.shape, net.scores(jnp.zeros((3, 10, 1))).shape
    ((10, 4), (10, 6), (3, 2, 8, 3))
    """

    encoder: Callable[[Array], Array]
    context: eqx.nn.GRUCell
    predictors: Float[Array, "ahead features context"]

    def __init__(
        self,
        encoder: Callable[[Array], Array],
        features: int,
        context: int,
        ahead: int,
        *,
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        require_counts("ContrastiveCoder", features=features, context=context, ahead=ahead)
        key_cell, key_scores = jax.random.split(key)
        self.encoder = encoder
        self.context = eqx.nn.GRUCell(features, context, dtype=dtype, key=key_cell)
        drawn = jax.random.normal(key_scores, (ahead, features, context), self.context.weight_hh.dtype)
        self.predictors = drawn / context**0.5

    def __call__(self, series: Real[Array, "time ..."]) -> tuple[Float[Array, "time _"], Float[Array, "time _"]]:
        """Latents and contexts of one series; a context knows nothing of later observations."""
        latents = jax.vmap(self.encoder)(series)

        def step(state: Array, latent: Array) -> tuple[Array, Array]:
            after = self.context(latent, state)
            return after, after

        start = jnp.zeros(self.context.hidden_size, latents.dtype)
        return latents, jax.lax.scan(step, start, latents)[1]

    def scores(self, batch: Real[Array, "rows time ..."]) -> Float[Array, "rows ahead starts candidates"]:
        """The score of series j's observation at t + k, seen from the context of series i at t, at [i, k - 1, t, j].

        Each time in the batch offers one candidate a series: the own one is positive, the others come from the
        marginal distribution where series are independent and stationary.
        """
        latents, contexts = jax.vmap(self)(batch)  # (rows, time, features), (rows, time, context)
        ahead = len(self.predictors)
        starts = batch.shape[1] - ahead
        if starts < 1:
            raise ValueError(
                f"A coder that looks {ahead} steps ahead got series of {batch.shape[1]} observations; give longer ones."
            )
        future = jnp.stack([latents[:, k : k + starts] for k in range(1, ahead + 1)])  # (ahead, rows, starts, features)
        said = jnp.einsum("kfc,itc->kitf", self.predictors, contexts[:, :starts])
        return jnp.einsum("kjtf,kitf->iktj", future, said)


class InfoNCE(eqx.Module):
    """The objective of a `ContrastiveCoder` for `training.fit`: rows are series, candidates the series of the batch.

    >>> coder = ContrastiveCoder(lambda x: x, 1, 2, 1, key=jax.random.key(0))
    >>> rows, _ = InfoNCE()(coder, jnp.zeros((4, 3, 1)), None, None)
    >>> rows.losses.shape, round(float(rows.losses[0, 0, 0]), 4)  # log 4
    ((4, 1, 2), 1.3863)
    """

    def __call__(
        self, model: ContrastiveCoder, series: Real[Array, "rows time ..."], key: PRNGKeyArray | None, state: PyTree
    ) -> tuple[RowLosses, PyTree]:
        scores = model.scores(series)
        return RowLosses(info_nce(scores, jnp.arange(len(series))[:, None, None])), state


def autoregression(
    rows: int, length: int, rho: float | Float[Array, ""], *, key: PRNGKeyArray
) -> Float[Array, "rows length"]:
    """Stationary Gaussian series x_{t+1} = ρ x_t + √(1 - ρ²) ε_t with x_t ~ N(0, 1): Corr(x_t, x_{t+k}) = ρᵏ.

    >>> autoregression(3, 5, 0.9, key=jax.random.key(0)).shape
    (3, 5)
    """
    noise = jax.random.normal(key, (length, rows))

    def step(x: Array, fresh: Array) -> tuple[Array, Array]:
        after = rho * x + jnp.sqrt(1 - rho**2) * fresh
        return after, after

    return jnp.concatenate([noise[:1], jax.lax.scan(step, noise[0], noise[1:])[1]]).T


def autoregression_information(rho: float | np.ndarray, ahead: int | np.ndarray = 1) -> float | np.ndarray:
    """I(x_{t+k}; x_t) = -½ ln(1 - ρ²ᵏ) in nats, which is I(x_{t+k}; x_1..x_t) too: the series is a Markov chain.

    >>> round(float(autoregression_information(0.9)), 4)
    0.8304
    """
    if not np.all(np.abs(rho) < 1) or np.any(np.asarray(ahead) < 1):
        raise ValueError(
            f"autoregression_information got ρ up to {np.max(np.abs(rho)):g}, {np.min(ahead)} ahead; give |ρ| below 1, "
            "and at least 1 step."
        )
    return -np.log1p(-(np.abs(rho) ** (2 * np.asarray(ahead)))) / 2
