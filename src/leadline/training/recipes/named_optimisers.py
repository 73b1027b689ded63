"""Optax optimisers and schedules by name."""

from collections.abc import Callable

import optax

from .settings import TrainingSettings

#: Optimisers by name, each made of a step size (or a schedule), a momentum and a weight decay.
OPTIMISERS: dict[str, Callable[..., optax.GradientTransformation]] = {
    "sgd": lambda rate, momentum, decay: _penalised(optax.sgd(rate), decay),
    "momentum": lambda rate, momentum, decay: _penalised(optax.sgd(rate, momentum), decay),
    "nesterov": lambda rate, momentum, decay: _penalised(optax.sgd(rate, momentum, nesterov=True), decay),
    "adam": lambda rate, momentum, decay: _penalised(optax.adam(rate), decay),
    "adamw": lambda rate, momentum, decay: optax.adamw(rate, weight_decay=decay),
    "amsgrad": lambda rate, momentum, decay: _penalised(optax.amsgrad(rate), decay),
    "nadam": lambda rate, momentum, decay: _penalised(optax.nadam(rate), decay),
    "radam": lambda rate, momentum, decay: _penalised(optax.radam(rate), decay),
    "adabelief": lambda rate, momentum, decay: _penalised(optax.adabelief(rate), decay),
    "adagrad": lambda rate, momentum, decay: _penalised(optax.adagrad(rate), decay),
    "rmsprop": lambda rate, momentum, decay: _penalised(optax.rmsprop(rate, momentum=momentum), decay),
    "lamb": lambda rate, momentum, decay: optax.lamb(rate, weight_decay=decay),
    "lion": lambda rate, momentum, decay: optax.lion(rate, weight_decay=decay),
}


def _penalised(optimiser: optax.GradientTransformation, decay: float) -> optax.GradientTransformation:
    """Descent on the loss plus decay/2 times the squared norm of the parameters."""
    return optax.chain(optax.add_decayed_weights(decay), optimiser) if decay else optimiser


def learning_rate(settings: TrainingSettings, num_steps: int) -> optax.Schedule | float:
    """The step size at each step of a run of `num_steps` steps for each epoch: up to `rate` by warm-up, then as
    scheduled.

    >>> rate = learning_rate(TrainingSettings(epochs=4, rate=0.1, schedule="linear", warmup=1), num_steps=10)
    >>> [round(float(rate(step)), 3) for step in (0, 5, 10, 25, 40)]
    [0.0, 0.05, 0.1, 0.05, 0.0]
    """
    rate, warm = settings.rate, round(settings.warmup * num_steps)
    rest = max(settings.epochs * num_steps - warm, 1)
    falling = {
        "constant": optax.constant_schedule(rate),
        "cosine": optax.cosine_decay_schedule(rate, rest),
        "linear": optax.linear_schedule(rate, 0.0, rest),
    }[settings.schedule]
    if warm:
        return optax.join_schedules([optax.linear_schedule(0.0, rate, warm), falling], [warm])
    return rate if settings.schedule == "constant" else falling


def build_optimiser(settings: TrainingSettings, num_steps: int) -> optax.GradientTransformation:
    """The optimiser of a run with `num_steps` steps in each epoch: clipping first, then the rule with its schedule."""
    rule = OPTIMISERS[settings.optimiser](learning_rate(settings, num_steps), settings.momentum, settings.weight_decay)
    return optax.chain(optax.clip_by_global_norm(settings.clip), rule) if settings.clip else rule
