"""Deep ensembles: networks that differ in their start, their batches and, if asked, their rows, averaged."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Num, PRNGKeyArray, PyTree

from leadline.training import fit_many

from .resamples import bootstrap_rows, left_out_mean


class DeepEnsemble(eqx.Module):
    """Trained networks of one architecture as one model: called on one input it gives their average.

    For classifiers the average is that of the probabilities, and the output is its logarithm, so that softmax,
    cross-entropy, metrics and distillation take the ensemble as they take a network. For regressors it is that of the
    outputs.
    """

    stacked: PyTree  #: the members' floating-point arrays, members along the first axis
    rest: PyTree  #: what else a network has, the same for all
    classifies: bool = eqx.field(static=True)
    rows: Int[np.ndarray, "members n"] | None = None  #: the training rows of each member, where they were resampled

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(jax.tree.leaves(self.stacked)[0])

    def member(self, index: int) -> Any:
        """One of the networks."""
        return eqx.combine(jax.tree.map(lambda a: a[index], self.stacked), self.rest)

    def outputs(self, x: Num[Array | np.ndarray, "m ..."]) -> Float[Array, "members m ..."]:
        """The outputs of every member on a batch, before they are averaged."""
        return _outputs(self.stacked, self.rest, jnp.asarray(x))

    def predictions(self, x: Num[Array | np.ndarray, "m ..."]) -> Float[Array, "members m ..."]:
        """What is averaged: the members' probabilities of classes, or their outputs."""
        found = self.outputs(x)
        return jax.nn.softmax(found, axis=-1) if self.classifies else found

    def __call__(self, x: Num[Array, "..."]) -> Float[Array, "..."]:
        """The average on one input: the log of the mean probabilities, or the mean output."""
        each = eqx.filter_vmap(lambda member: eqx.combine(member, self.rest)(x))(self.stacked)
        if not self.classifies:
            return jnp.mean(each, axis=0)
        return jax.scipy.special.logsumexp(jax.nn.log_softmax(each, axis=-1), axis=0) - jnp.log(self.size)

    def out_of_bag(self, x: Num[Array | np.ndarray, "n ..."]) -> Float[np.ndarray, "n ..."]:
        """For each training row the mean prediction of the members that did not see it; NaN where all did."""
        if self.rows is None:
            raise ValueError("This ensemble saw all rows; give deep_ensemble resample=True to have rows left out.")
        return left_out_mean(np.asarray(self.predictions(x)), self.rows)


@eqx.filter_jit
def _outputs(stacked: PyTree, rest: PyTree, x: Array) -> Array:
    return eqx.filter_vmap(lambda member: jax.vmap(eqx.combine(member, rest))(x))(stacked)


def deep_ensemble(
    make: Callable[[PRNGKeyArray], Any],
    train: tuple[Any, Any],
    *,
    members: int = 8,
    resample: bool = False,
    optimiser: optax.GradientTransformation,
    epochs: int,
    batch: int = 128,
    loss: str = "cross-entropy",
    key: PRNGKeyArray,
    progress: bool = False,
) -> DeepEnsemble:
    """Train `members` networks make(key) at once by `fit_many`, each with a start and batches of its own; average them.

    With `resample` each is trained on a bootstrap resample of the rows (bagging; Breiman 1996), and the rows it did
    not see give an out-of-bag error; without, all see all rows (Lakshminarayanan, Pritzel and Blundell 2017).
    ValueError if a member diverges.

    >>> from leadline.networks import MLP
    >>> x = jnp.linspace(-1, 1, 64)[:, None]
    >>> found = deep_ensemble(lambda key: MLP((1, 8, 2), "tanh", key=key), (x, (x[:, 0] > 0).astype(int)), members=3,
    ...                       optimiser=optax.adam(0.05), epochs=40, batch=32, key=jax.random.key(0))
    >>> mean = jax.nn.softmax(jax.vmap(found)(x))
    >>> bool(jnp.allclose(mean, found.predictions(x).mean(axis=0), atol=1e-6))
    True
    """
    if members < 1:
        raise ValueError(f"deep_ensemble got members = {members}; give at least 1.")
    if loss not in ("cross-entropy", "squared"):
        raise ValueError(f"deep_ensemble got loss = {loss!r}; choose 'cross-entropy' or 'squared'.")
    starts, training, drawing = jax.random.split(key, 3)
    models = [make(own) for own in jax.random.split(starts, members)]
    rows = bootstrap_rows(len(train[0]), members, key=drawing) if resample else None
    runs = fit_many(
        models,
        train,
        optimiser=optimiser,
        epochs=epochs,
        batch=batch,
        loss=loss,
        rows=rows,
        key=training,
        progress=progress,
    )
    lost = [str(index) for index, run in enumerate(runs) if run.reason == "diverged"]
    if lost:
        raise ValueError(f"deep_ensemble: member {', '.join(lost)} diverged; choose a smaller step size.")
    split = [eqx.partition(run.model, eqx.is_inexact_array) for run in runs]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(parameters for parameters, _ in split))
    return DeepEnsemble(stacked, split[0][1], loss == "cross-entropy", rows)
