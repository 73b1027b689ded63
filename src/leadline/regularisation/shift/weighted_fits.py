"""Importance-weighted empirical risk minimisation: training rows counted as often as the test inputs have them."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Num, PRNGKeyArray, PyTree, Real

from leadline._checks import require_rows
from leadline.learning import design, least_squares
from leadline.learning.regression.linear import LinearFit
from leadline.training import RowLosses, checked_sample, fit
from leadline.training.fitting import Run
from leadline.training.objectives import Loss, loss_called

from .importance_weights import Weights, require_overlap

Model = TypeVar("Model", bound=PyTree)


class ImportanceWeighted(eqx.Module):
    """The objective pᵢ lᵢ(θ) + (μ/2)‖θ - θ̂‖² of rows {"inputs", "targets", "weights"}, for `training.fit`.

    The weight multiplies the loss of its row, and a batch has the plain mean of these, so that the gradient of every
    batch is unbiased for (1/n) Σ pᵢ lᵢ; dividing by the weights of a batch would not be. μ is `proximal`, θ̂ the
    `anchor`.

    >>> objective = ImportanceWeighted(lambda outputs, targets: (outputs - targets) ** 2)
    >>> rows = {"inputs": jnp.ones(2), "targets": jnp.zeros(2), "weights": jnp.array([0.5, 2.0])}
    >>> objective(lambda x: 3 * x, rows, None, None)[0].losses.tolist()
    [4.5, 18.0]
    """

    loss: Loss = eqx.field(static=True)
    anchor: PyTree = None
    proximal: float = 0.0

    def __call__(
        self, model: Callable, rows: dict[str, Array], key: PRNGKeyArray | None, state: PyTree
    ) -> tuple[RowLosses, PyTree]:
        losses = rows["weights"] * self.loss(jax.vmap(model)(rows["inputs"]), rows["targets"])
        if self.anchor is not None:
            here, there = (eqx.filter(tree, eqx.is_inexact_array) for tree in (model, self.anchor))
            apart = jax.tree.map(jnp.subtract, here, there)
            losses = losses + self.proximal / 2 * optax.tree.norm(apart, squared=True)
        return RowLosses(losses), state


def fit_weighted(
    model: Model,
    train: tuple[Any, Any],
    weights: Weights,
    *,
    loss: str | Loss = "cross-entropy",
    proximal: float = 0.0,
    optimiser: optax.GradientTransformation,
    epochs: int,
    batch: int = 128,
    key: PRNGKeyArray,
) -> Run[Model]:
    """Minimise (1/n) Σ pᵢ lᵢ(θ) + (μ/2)‖θ - θ̂‖² by `training.fit`, from the network θ̂ as it is given.

    Unbiased for the risk under the test inputs where pᵢ = p_test(xᵢ)/p_train(xᵢ) (Shimodaira 2000). Train on the plain
    loss first and give the result: `proximal` μ then holds the weighted fit near it. Weights come from known densities
    or from `density_ratios`; below an effective sample size of 10 the fit is refused.

    >>> net = eqx.nn.Linear(1, 1, key=jax.random.key(0))
    >>> x = np.linspace(-1, 1, 64)[:, None]
    >>> run = fit_weighted(net, (x, x[:, 0] ** 2), (x[:, 0] > 0) * 1.0, loss="squared", optimiser=optax.sgd(0.3),
    ...                    epochs=300, batch=64, key=jax.random.key(1))
    >>> round(float(run.model.weight[0, 0]), 1)  # the line of x² on [0, 1]
    1.0
    """
    x, y = checked_sample(model, train, loss)
    p = require_overlap("fit_weighted", weights, len(x))
    if not proximal >= 0:
        raise ValueError(f"fit_weighted got proximal = {proximal}; give a number of at least 0.")
    kind = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))[0].dtype
    objective = ImportanceWeighted(loss_called(loss), model if proximal else None, proximal)
    rows = {"inputs": x, "targets": y, "weights": p.astype(kind)}
    return fit(model, rows, objective=objective, optimiser=optimiser, epochs=epochs, batch=min(batch, len(p)), key=key)


def weighted_least_squares(
    x: Real[Array | np.ndarray, "n d"],
    y: Num[Array | np.ndarray, " n"],
    weights: Weights,
    *,
    proximal: float = 0.0,
    anchor: LinearFit | None = None,
) -> LinearFit:
    """The affine function that minimises (1/n) Σ pᵢ (yᵢ - w·xᵢ - b)² + (μ/2)(‖w - ŵ‖² + (b - b̂)²), exactly.

    μ is `proximal` and (ŵ, b̂) the `anchor`, the unweighted fit say. Refused below an effective sample size of 10.

    >>> x = np.linspace(0, 1, 201)[:, None]
    >>> fit = weighted_least_squares(x, x[:, 0] ** 2, np.ones(201))
    >>> round(float(fit.weights[0]), 6)
    1.0
    """
    require_rows("weighted_least_squares", x=x, y=y)
    p = require_overlap("weighted_least_squares", weights, len(x))
    if (anchor is None) != (proximal == 0) or proximal < 0:
        raise ValueError(
            f"weighted_least_squares got proximal = {proximal} and {'no' if anchor is None else 'an'} anchor; give a "
            "strength above 0 and an anchor together."
        )
    matrix, scale = np.asarray(design(np.asarray(x, float))), np.sqrt(p / len(p))
    rows, answers = scale[:, None] * matrix, scale * np.asarray(y, float)
    if anchor is not None:
        pull = np.sqrt(proximal / 2)
        near = np.append(np.asarray(anchor.weights, float), float(anchor.bias))
        rows = np.concatenate([rows, pull * np.eye(matrix.shape[1])])
        answers = np.concatenate([answers, pull * near])
    found = np.asarray(least_squares(rows, answers, intercept=False).weights)
    return LinearFit(found[:-1], float(found[-1]))
