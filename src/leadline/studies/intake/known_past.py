"""What a user knows of how a network was trained: its optimiser, step, momentum, batch and start."""

import math

from leadline._messages import unknown
from leadline.evidence import BadInput
from leadline.training.recipes.named_optimisers import OPTIMISERS

from ..subject import TrainingHistory

OTHER = "other"  # a rule that is not among those with a name
WITH_MOMENTUM = ("momentum", "nesterov")


def known_past(
    past: TrainingHistory | None,
    *,
    optimiser: str | None,
    step_size: float | None,
    momentum: float | None,
    batch: int | None,
) -> TrainingHistory:
    """The past with what is said besides; a step belongs to an optimiser, and is refused without one.

    >>> known_past(None, optimiser="sgd", step_size=0.1, momentum=None, batch=64).plain
    True
    >>> known_past(None, optimiser="SGD", step_size=0.1, momentum=0.9, batch=64).optimiser
    'momentum'
    """
    past = past or TrainingHistory()
    if step_size is not None and not 0 < step_size < math.inf:
        raise BadInput(f"The step size is {step_size}; give a finite number above 0, or leave it out.")
    if batch is not None and batch < 1:
        raise BadInput(f"The batch size is {batch}; give 1 or more, or leave it out.")
    if momentum is not None and not 0 <= momentum < 1:
        raise BadInput(f"The momentum is {momentum}; give a number from 0 to less than 1, or leave it out.")
    name = past.optimiser if optimiser is None else optimiser.lower()
    if name is None and (step_size is not None or momentum is not None):
        what = f"step size {step_size}" if step_size is not None else f"momentum {momentum}"
        raise BadInput(
            f"The {what} was given without the optimiser that used it; say optimiser= (--optimiser in a terminal) sgd, "
            "momentum, adam or another, since theory says different things of each, or leave it out."
        )
    if name is not None and name not in (*OPTIMISERS, OTHER):
        raise BadInput(unknown("optimiser", name, [*OPTIMISERS, OTHER]))
    if name == "sgd" and momentum:
        name = "momentum"  # as PyTorch and Optax call it
    if momentum is not None and momentum > 0 and name not in WITH_MOMENTUM:
        raise BadInput(f"The momentum {momentum} was given for {name}; it belongs to sgd, momentum or nesterov.")
    strength = past.momentum if momentum is None else momentum
    if name in WITH_MOMENTUM and name != past.optimiser and not strength:
        raise BadInput(f"The optimiser is {name}; say its momentum too, as in momentum=0.9 (--momentum in a terminal).")
    return past._replace(
        optimiser=name,
        step=past.step if step_size is None else step_size,
        momentum=strength if name in WITH_MOMENTUM else 0.0,
        batch=past.batch if batch is None else batch,
    )
