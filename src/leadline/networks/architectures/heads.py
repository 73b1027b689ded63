"""The last layer of a network, by task: real targets, one yes-or-no score, or one logit per class."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leadline.learning import log_softmax


def head_width(task: str, targets: int = 1) -> int:
    """How many outputs a head has: m for m real targets, 1 for two classes, C for C classes.

    >>> head_width("regression", 3), head_width("binary", 2), head_width("classes", 10)
    (3, 1, 10)
    """
    if task not in ("regression", "binary", "classes"):
        raise ValueError(f"There is no task {task!r}; choose 'regression', 'binary' or 'classes'.")
    if targets < 1 or (task == "classes" and targets < 2):
        raise ValueError(f"A head for {task!r} cannot have {targets} targets; give at least {1 + (task == 'classes')}.")
    return 1 if task == "binary" else targets


class TaskHead(eqx.Module):
    """An affine map from p features to the outputs Φ(x) of a task, and the decision made from them.

    Regression: Φ in R^m is the answer. Binary: sgn Φ(x), with sgn 0 = +1. Classes: argmax_j Φ_j(x), where the
    outputs are logits, log-probabilities up to a constant. Decisions have gradient 0: train the outputs instead.

    >>> head = TaskHead(5, "classes", 3, key=jax.random.key(0))
    >>> head(jnp.ones(5)).shape, int(head.decide(jnp.array([0.1, 2.0, -1.0])))
    ((3,), 1)
    """

    linear: eqx.nn.Linear
    task: str = eqx.field(static=True)

    def __init__(
        self,
        features: int,
        task: str,
        targets: int = 1,
        *,
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        self.linear = eqx.nn.Linear(features, head_width(task, targets), dtype=dtype, key=key)
        self.task = task

    def __call__(self, features: Float[Array, " p"]) -> Float[Array, " outputs"]:
        return self.linear(features)

    def decide(self, outputs: Float[Array, "... outputs"]) -> Float[Array, "..."] | Int[Array, "..."]:
        """The answer to the task: the outputs themselves, the sign of the only one, or the place of the largest."""
        if self.task == "regression":
            return outputs
        if self.task == "binary":
            return jnp.where(outputs[..., 0] >= 0, 1.0, -1.0).astype(outputs.dtype)
        return jnp.argmax(outputs, axis=-1)

    def log_probabilities(self, outputs: Float[Array, "... outputs"]) -> Float[Array, "... classes"]:
        """Of each class: z_k - log Σ_j e^{z_j}; for the binary head of -1 and +1, log σ(-z) and log σ(z)."""
        if self.task == "regression":
            raise ValueError("A regression head gives no probabilities; use a head for 'binary' or 'classes'.")
        if self.task == "binary":
            return jnp.concatenate([jax.nn.log_sigmoid(-outputs), jax.nn.log_sigmoid(outputs)], axis=-1)
        return log_softmax(outputs)
