"""Losses of sequences: of every step that counts, of the last one, of the next token."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PRNGKeyArray, PyTree

from leadline.training import RowLosses
from leadline.training.objectives import loss_called


class Sequences(NamedTuple):
    """A batch of sequences of one padded length: inputs, targets (of each step, or one a sequence), which steps count.

    Without a mask all steps do.
    """

    inputs: Num[Array, "batch T ..."]
    targets: Num[Array, "batch ..."]
    mask: Bool[Array, "batch T"] | None = None


def next_tokens(tokens: Num[Array, "batch T ..."], mask: Bool[Array, "batch T"] | None = None) -> Sequences:
    """The task of predicting each x_{t+1} from x_{1:t}.

    >>> batch = next_tokens(jnp.array([[1, 2, 3, 0]]), jnp.array([[True, True, True, False]]))
    >>> batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist()
    ([[1, 2, 3]], [[2, 3, 0]], [[True, True, False]])
    """
    return Sequences(tokens[:, :-1], tokens[:, 1:], None if mask is None else mask[:, 1:])


class SequenceObjective(eqx.Module):
    r"""$\frac{1}{\sum_{it} m_{it}} \sum_{it} m_{it}\, \ell(\hat y_{it}, y_{it})$ for `training.fit`, m the mask.

    The rows of `fit` are sequences; each gets the losses of its steps, and the mean is over the steps that count, not
    over sequences. A network that reads the last state or the mean has one loss a sequence. `loss` is "cross-entropy",
    "squared" or a function of (outputs, targets), rows of either.

    >>> from leadline.sequences import GRU, SequenceNetwork, valid_steps
    >>> net = SequenceNetwork(GRU(1, 4, key=jax.random.key(0)), 2, key=jax.random.key(1))
    >>> batch = Sequences(jnp.ones((3, 5, 1)), jnp.zeros((3, 5), int), valid_steps(jnp.array([1, 5, 3]), 5))
    >>> rows, _ = SequenceObjective()(net, batch, None, None)
    >>> rows.losses.shape, int(rows.weights.sum())
    ((3, 5), 9)
    """

    loss: str = eqx.field(static=True, default="cross-entropy")

    def __call__(
        self, model: PyTree, batch: Sequences, key: PRNGKeyArray | None = None, state: PyTree = None
    ) -> tuple[RowLosses, PyTree]:
        inputs, targets, mask = batch
        outputs = jax.vmap(model)(inputs) if mask is None else jax.vmap(model)(inputs, mask)
        losses, right = _losses(self.loss, outputs, jnp.asarray(targets))
        weights = mask if losses.ndim == 2 else None
        aux = {} if right is None else {"accuracy": _share(right, weights)}
        return RowLosses(losses, weights, aux), state


def _losses(
    loss: str, outputs: Float[Array, "*axes k"], targets: Num[Array, "..."]
) -> tuple[Float[Array, "*axes"], Float[Array, "*axes"] | None]:
    """One loss for each step or sequence, and where the label has the largest output (None for numbers)."""
    lead = outputs.shape[:-1]
    if targets.shape[: len(lead)] != lead:
        raise ValueError(
            f"The outputs have shape {outputs.shape} and the targets {targets.shape}; give a target for each step to "
            "a network that reads all steps, and one a sequence to one that reads the last."
        )
    flat, rows = outputs.reshape(-1, outputs.shape[-1]), targets.reshape(-1, *targets.shape[len(lead) :])
    losses = loss_called(loss)(flat, rows).reshape(lead)
    if not jnp.issubdtype(targets.dtype, jnp.integer):
        return losses, None
    return losses, (outputs.argmax(-1) == targets).astype(losses.dtype)


def _share(right: Float[Array, "batch ..."], weights: Bool[Array, "batch T"] | None) -> Float[Array, " batch"]:
    if right.ndim == 1:
        return right
    if weights is None:
        return right.mean(1)
    return (right * weights).sum(1) / jnp.maximum(weights.sum(1), 1)
