"""Steps of SGD from where training ended: how many are affordable, and what single noisy ones do."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from leadline import stochastic
from leadline.curvature.operators.operator import Operator
from leadline.stochastic.moments.quadratic_floors import FloorCheck
from leadline.stochastic.runs.short_continuations import LossAround, tree_dot

from ..instrument_contract import NotApplicable
from ..subject import Subject

RUNS = 4


def affordable(subject: Subject, batch: int, rows: int, *, draws: int, num_steps: int) -> tuple[int, int, int]:
    """Noisy steps, steps of each run and looks at the whole loss during it: as given (10 looks), or what fits."""
    budget, costs = subject.budget, subject.budget.costs
    noisy = costs.product * rows + 2 * costs.gradient * batch + costs.forward * rows
    draws = budget.count("optimisation", "noisy steps", draws, seconds=noisy, part=0.3, least=4)
    step = 2 * RUNS * costs.gradient * batch  # on these rows, and on all
    num_steps = budget.count("optimisation", "steps of SGD from here", num_steps, seconds=step, part=0.3, least=16)
    look = RUNS * costs.gradient * rows
    looks = budget.count("optimisation", "looks at the whole loss", 10, seconds=look, part=0.3, least=2)
    return draws, num_steps, looks


def noisy_steps(
    here: LossAround, hessian: Operator, g: PyTree, step_size: float, batch: int, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """‖ĝ‖² of drawn batches, the change of the loss by each one's step, and η²ĉᵀHĉ/2 for independent noise ĉ."""
    before, count = here.row_losses(here.params), len(here.arrays[0])
    squares, changes, second = [], [], []
    for _ in range(draws):
        drawn = here.batch_gradient(rng.integers(count, size=batch))
        squares.append(tree_dot(drawn, drawn))
        changes.append((here.row_losses(here.moved(drawn, step_size)) - before).mean())
        other = here.batch_gradient(rng.integers(count, size=batch))  # independent of the step whose change is measured
        noise = jax.tree.map(jnp.subtract, other, g)
        second.append(step_size**2 / 2 * tree_dot(noise, hessian(noise)))
    return np.array(squares), np.array(changes), np.array(second)


def equilibrium_floor(
    subject: Subject,
    here: LossAround,
    g: PyTree,
    step_size: float,
    batch: int,
    key: PRNGKeyArray,
    parts: list[NotApplicable],
) -> FloorCheck | None:
    """The loss at which SGD settles around the minimum of a small quadratic; None, and the reason in `parts`, else."""
    what = "stationary floor of SGD, predicted by the noise"
    if subject.size > 400:
        parts.append(
            NotApplicable(
                what, f"the loss is quadratic with a minimum (not looked for among {subject.size} parameters)"
            )
        )
        return None
    found = stochastic.quadratic_floor(
        here.losses,
        subject.params,
        here.arrays,
        np.asarray(subject.shared.hessian.dense(), float),
        g,
        step_size=step_size,
        batch=batch,
        key=key,
    )
    if found.why:
        parts.append(NotApplicable(what, found.why))
        return None
    return found
