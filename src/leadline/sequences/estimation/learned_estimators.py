"""Networks that learn to estimate a hidden state, and their grade against the best that any function can do."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, Real

from leadline._checks import require_counts
from leadline.training import fit_many
from leadline.training.fitting import Run

from .simulation import noise_called, simulate
from .state_space import LinearGaussian

Network = TypeVar("Network", bound=PyTree)
EPOCH = 50  # steps of an epoch, after which the loss is recorded


def fit_estimators(
    networks: Sequence[Network],
    model: LinearGaussian,
    *,
    length: int = 100,
    batch: int = 64,
    num_steps: int = 1000,
    step_size: float = 0.01,
    burn: int = 0,
    noise: str = "gaussian",
    key: PRNGKeyArray,
    progress: bool = False,
) -> list[Run[Network]]:
    """Train networks of one kind to give hₜ of observations: mean squared error on paths drawn anew at every step.

    network(xs) takes (T, k) to (T, d). Adam with a cosine schedule from `step_size` to 0. The first `burn` steps of a
    path do not count. With fresh paths there is no overfitting: the loss tends to that of the best estimator the
    network can be, which is never below that of the Kalman filter (causal networks) or smoother (bidirectional ones).

    >>> from leadline.sequences import Elman, SequenceNetwork, linear_gaussian
    >>> net = SequenceNetwork(Elman(1, 2, key=jax.random.key(0)), 1, key=jax.random.key(1))
    >>> model = linear_gaussian(0.9, 1.0, 0.1, 1.0)
    >>> (run,) = fit_estimators([net], model, num_steps=100, length=10, batch=8, key=jax.random.key(2))
    >>> bool(run.history["loss"][-1] < run.history["loss"][0])
    True
    """
    require_counts("fit_estimators", length=length, batch=batch, num_steps=num_steps)
    noise_called("fit_estimators", noise)
    if not 0 <= burn < length:
        raise ValueError(f"fit_estimators got burn={burn} for paths of length {length}; give 0 to {length - 1}.")
    dtype = jax.tree.leaves(networks[0])[0].dtype
    small = jax.tree.map(lambda part: part.astype(dtype), model)
    epochs = max(num_steps // EPOCH, 1)
    per_epoch = min(num_steps, EPOCH)
    rule = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(step_size, epochs * per_epoch))
    )
    return fit_many(
        networks,
        {"path": np.zeros(batch * per_epoch, np.int32)},  # the paths themselves are drawn from the key of a step
        objective=_Tracking(small, length, burn, noise),
        optimiser=rule,
        epochs=epochs,
        batch=batch,
        key=key,
        progress=progress,
    )


class _Tracking(eqx.Module):
    """The objective: squared errors of each of a batch of new paths."""

    model: LinearGaussian
    length: int = eqx.field(static=True)
    burn: int = eqx.field(static=True)
    noise: str = eqx.field(static=True)

    def __call__(self, network: Any, rows: dict[str, Array], key: PRNGKeyArray, state: PyTree) -> tuple[Array, PyTree]:
        drawn = simulate(self.model, self.length, paths=len(rows["path"]), noise=self.noise, key=key)
        errors = jax.vmap(network)(drawn.observations) - drawn.states
        return (errors[:, self.burn :] ** 2).sum(-1).mean(-1), state


class Grade(NamedTuple):
    """An estimator's mean squared error beside the least possible, on the same paths."""

    errors: Float[np.ndarray, " n"]  # of each path
    best_errors: Float[np.ndarray, " n"]  # those of the best estimator
    floor: float  # the exact expectation of the latter
    excess: float  # mean squared distance from the best estimates, the expected difference of the errors
    standard_error: float  # of the excess

    @property
    def ratio(self) -> float:
        """Error over the floor: 1 is the optimum, and nothing is below."""
        return 1 + self.excess / self.floor


def grade_estimates(
    estimates: Real[Array | np.ndarray, "..."],
    states: Real[Array | np.ndarray, "..."],
    best: Real[Array | np.ndarray, "..."],
    floor: float,
) -> Grade:
    """How far estimates (n, T, d) are from the optimum: E‖ĥ − h‖² = E‖h* − h‖² + E‖ĥ − h*‖², h* the conditional mean.

    The last term is measured directly, with far less noise than the difference of the first two; it is exact in
    expectation because the error of a conditional mean is uncorrelated with every function of the observations.

    >>> truth = np.zeros((2, 1, 1))
    >>> grade_estimates(truth + 2.0, truth, truth + 1.0, 1.0).ratio
    2.0
    """
    estimates, states, best = (np.asarray(part, float) for part in (estimates, states, best))
    if not estimates.shape == states.shape == best.shape or estimates.ndim != 3:
        raise ValueError(
            f"grade_estimates got estimates {estimates.shape}, states {states.shape} and best {best.shape}; give three "
            "arrays (paths, steps, numbers) of one shape."
        )

    def of_paths(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ((a - b) ** 2).sum(-1).mean(-1)

    apart = of_paths(estimates, best)
    spread = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else float("nan")
    return Grade(of_paths(estimates, states), of_paths(best, states), float(floor), float(apart.mean()), float(spread))


def estimates_of(network: Callable, observations: Real[Array | np.ndarray, "n T k"]) -> np.ndarray:
    """network(xs) of each path, in the network's own precision."""
    dtype = jax.tree.leaves(network)[0].dtype
    return np.asarray(_mapped(network, jnp.asarray(observations, dtype)), float)


@eqx.filter_jit
def _mapped(network: Callable, observations: Float[Array, "n T k"]) -> Float[Array, "n T d"]:
    return jax.vmap(network)(observations)
