import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.training import recipes
from leadline.training.recipes.named_optimisers import OPTIMISERS
from leadline.training.recipes.settings import TrainingSettings


def path(optimiser, steps=5, gradient=lambda w: w, start=1.0):
    """Steps from a starting point, on w²/2 unless another gradient is given."""

    def step(state, _):
        w, memory = state
        change, memory = optimiser.update(gradient(w), memory, w)
        w = optax.apply_updates(w, change)
        return (w, memory), w

    w = jnp.asarray(start)
    return np.asarray(jax.lax.scan(step, (w, optimiser.init(w)), length=steps)[1])


@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_optimiser_descends_and_decay_changes_its_path(name):
    settings = TrainingSettings(epochs=1, optimiser=name, rate=0.01)
    slope = dict(gradient=jnp.ones_like, start=[1.0, 3.0])
    plain = path(recipes.build_optimiser(settings, 5), **slope)
    decayed = path(recipes.build_optimiser(dataclasses.replace(settings, weight_decay=0.5), 5), **slope)
    assert (np.diff(plain.sum(1)) < 0).all()
    assert not np.allclose(plain, decayed, rtol=1e-9)


def test_decay_clipping_and_momentum_do_what_they_say():
    def make(**settings):
        return recipes.build_optimiser(TrainingSettings(epochs=1, rate=0.1, **settings), 5)

    steps = np.arange(1, 6)
    assert np.allclose(path(make(optimiser="sgd")), 0.9**steps)
    assert np.allclose(path(make(optimiser="sgd", weight_decay=1.0)), 0.8**steps)
    assert np.allclose(path(make(optimiser="sgd", clip=0.5)), 1 - 0.05 * steps)
    assert np.allclose(path(make(optimiser="momentum", momentum=0.5), 2), [0.9, 0.9 - 0.1 * (0.9 + 0.5)])


def test_schedules_rise_during_warm_up_and_fall_to_zero():
    def rate(schedule, warmup=0.0):
        settings = TrainingSettings(epochs=4, rate=0.2, schedule=schedule, warmup=warmup)
        return recipes.learning_rate(settings, 10)

    assert rate("constant") == 0.2
    step = np.arange(41)
    assert np.allclose(rate("linear")(step), 0.2 * (1 - step / 40))
    assert np.allclose(rate("cosine")(step), 0.1 * (1 + np.cos(np.pi * step / 40)))
    warm = rate("cosine", 0.5)(step)
    assert np.allclose(warm[:6], 0.2 * np.arange(6) / 5)
    assert np.allclose(warm[5:], 0.1 * (1 + np.cos(np.pi * (step[5:] - 5) / 35)))
    assert np.allclose(rate("constant", 1.0)(step[10:]), 0.2)
