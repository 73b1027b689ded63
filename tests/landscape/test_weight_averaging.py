"""Averages of checkpoints: values, structures, Jensen, and the soup's guarantee."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadline.landscape import RunningAverage, greedy_soup, uniform_average
from leadline.landscape.weight_averaging import averaged_loss
from leadline.stochastic import DecayWeight, average_path


@pytest.fixture
def path():
    return np.random.default_rng(0).normal(size=(5, 3))


def test_running_and_uniform_averages_agree_and_other_weights_are_those_of_recorded_paths(path):
    checkpoints = [{"w": jnp.asarray(row), "epoch": i} for i, row in enumerate(path)]
    swa, ema = RunningAverage.of(checkpoints[0]), RunningAverage.of(checkpoints[0], DecayWeight(0.7))
    for checkpoint in checkpoints[1:]:
        swa, ema = swa.add(checkpoint), ema.add(checkpoint)
    mean = uniform_average(checkpoints)
    np.testing.assert_allclose(mean["w"], path.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(swa.average["w"], mean["w"], rtol=1e-12)
    np.testing.assert_allclose(ema.average["w"], average_path(path, DecayWeight(0.7)), rtol=1e-12)
    assert mean["epoch"] == 0
    assert swa.count == 5


def test_single_precision_stays_single(path):
    checkpoints = [jnp.asarray(row, jnp.float32) for row in path]
    assert uniform_average(checkpoints).dtype == jnp.float32
    assert RunningAverage.of(checkpoints[0]).add(checkpoints[1]).average.dtype == jnp.float32


def test_averaging_gains_on_convex_losses_and_loses_between_two_wells(path):
    assert averaged_loss(lambda w: float(np.sum(w**4)), list(path)).gain > 0
    wells = averaged_loss(lambda w: float((w[0] ** 2 - 1) ** 2), [np.array([-1.0]), np.array([1.0])])
    assert (wells.loss, wells.gain) == (1.0, -1.0)


def test_a_soup_is_never_worse_than_its_best_checkpoint_and_leaves_out_what_harms(path):
    target = path[:2].mean(axis=0)
    checkpoints = [*path, np.full(3, 50.0), np.full(3, np.nan)]
    soup = greedy_soup(lambda w, t: float(np.sum((w - t) ** 2)), checkpoints, target)
    assert soup.loss <= np.nanmin(soup.losses)
    assert not {5, 6} & set(soup.members)
    np.testing.assert_allclose(soup.parameters, np.mean([checkpoints[i] for i in soup.members], axis=0), rtol=1e-12)
    assert soup.loss == pytest.approx(np.sum((soup.parameters - target) ** 2), rel=1e-12)


def test_nothing_to_average_and_different_structures_are_said(path):
    for average in (uniform_average, lambda c: greedy_soup(np.sum, c)):
        with pytest.raises(ValueError, match="no checkpoints"):
            average([])
        with pytest.raises(ValueError, match="shape"):
            average([np.zeros(2), np.zeros(3)])
    with pytest.raises(ValueError, match="finite loss"):
        greedy_soup(lambda w: np.inf, [np.zeros(2)])
    with pytest.raises(ValueError, match="different structures"):
        RunningAverage.of({"w": np.zeros(2)}).add([np.zeros(2)])
