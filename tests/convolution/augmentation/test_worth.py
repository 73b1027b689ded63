"""What copies are worth, what they are taken for, and what rests on the background: planted answers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.convolution import quarter_turns
from leadline.convolution.augmentation import (
    NewBackground,
    Noise,
    Shift,
    augmentation_worth,
    effective_training_size,
    gradient_share,
    label_transitions,
)

KEY = jax.random.key(0)


def test_an_error_law_is_inverted():
    sizes = np.array([20, 40, 80, 160])
    errors = 2.0 / np.sqrt(sizes)[:, None] * np.ones(6)
    found = effective_training_size(sizes, errors, np.full(6, 2 / np.sqrt(57)), key=KEY)
    assert found.size == pytest.approx(57)
    assert found.low == pytest.approx(57)
    noisy = errors * np.exp(0.05 * np.random.default_rng(0).normal(size=errors.shape))
    found = effective_training_size(sizes, noisy, errors[1], key=KEY)
    assert found.low <= 40 <= found.high
    assert found.low < found.high
    assert effective_training_size(sizes, errors, np.zeros(6), key=KEY).size == 160  # beyond the curve: its end
    with pytest.raises(ValueError, match="a column for each repeat"):
        effective_training_size(sizes, errors, np.zeros(5), key=KEY)
    with pytest.raises(ValueError, match="small to large"):
        effective_training_size(sizes[::-1], errors, np.zeros(6), key=KEY)


def test_copies_that_change_nothing_are_worth_their_rows_and_independent_ones_all():
    x = jax.random.normal(KEY, (400, 5))
    y = (x[:, 0] > 0).astype(int)

    def scores(scale, x):
        return scale * jnp.stack([-x[:, 0], x[:, 0]], axis=1)

    still = augmentation_worth(scores, 1.0, x, y, lambda key, row: row, key=KEY)
    assert still.gain == pytest.approx(1)
    assert still.agreement == 1
    assert "add little" in still.advice
    redrawn = augmentation_worth(scores, 1.0, x, y, lambda key, row: jax.random.normal(key, row.shape), key=KEY)
    assert redrawn.gain > 0.8 * redrawn.copies
    assert redrawn.moved_loss > redrawn.loss
    assert "rises" in redrawn.advice
    assert redrawn.agreement == pytest.approx(0.5, abs=0.1)
    other = augmentation_worth(scores, 1.0, x, y, lambda key, row: row.at[1].set(0.0), key=KEY)
    assert other.gain == pytest.approx(1)
    few = augmentation_worth(lambda w, x: x @ w, jnp.ones(5), x, x.sum(1), Noise(0.5), loss="squared", key=KEY)
    assert 1 < few.gain <= few.copies
    with pytest.raises(ValueError, match="at least 2"):
        augmentation_worth(scores, 1.0, x, y, Noise(0.1), copies=1, key=KEY)


def _bars(count=40):
    bars = np.zeros((3 * count, 3, 3))
    bars[:count, 1], bars[count : 2 * count, :, 1], bars[2 * count :] = 1.0, 1.0, 1.0
    return bars, np.repeat([0, 1, 2], count)


def _bar_scores(scale, images):
    across, down = images[:, 1].sum(axis=1), images[:, :, 1].sum(axis=1)
    return scale * np.stack([across - down, down - across, images.sum((1, 2)) - 6], axis=1)


def test_bars_exchange_under_a_quarter_turn_and_squares_stay():
    bars, labels = _bars()
    turns = quarter_turns()
    found = [label_transitions(_bar_scores, 5.0, bars, labels, t) for t in turns]
    assert [f.exchanged for f in found] == [(), ((0, 1),), (), ((0, 1),)]
    assert found[1].becomes == ((0, 1), (1, 0))
    assert found[1].lost == (0, 1)
    assert found[0].preserved
    assert found[1].shares.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_a_sink_is_no_exchange_and_few_examples_prove_nothing():
    bars, labels = _bars()
    found = label_transitions(_bar_scores, 5.0, bars, labels, np.ones_like)
    assert found.exchanged == ()
    assert found.becomes == ((0, 2), (1, 2))
    assert found.lost == (0, 1)
    few, names = _bars(2)
    assert label_transitions(_bar_scores, 5.0, few, names, quarter_turns()[1]).exchanged == ()
    with pytest.raises(ValueError, match="keeps every row"):
        label_transitions(_bar_scores, 5.0, bars, labels, lambda x: x[1:])
    with pytest.raises(ValueError, match="labels from"):
        label_transitions(_bar_scores, 5.0, bars, labels + 1, quarter_turns()[1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        label_transitions(_bar_scores, 5.0, bars, labels, np.ones_like, share=2.0)


def test_backgrounds_go_where_the_mask_is_not():
    backs = jnp.arange(3.0)[:, None, None] * jnp.ones((3, 2, 2))
    layers = jnp.stack([jnp.full((2, 2), 9.0), jnp.eye(2)])
    found = np.asarray(jax.vmap(NewBackground(backs), (0, None))(jax.random.split(KEY, 60), layers))
    assert (found[:, 0, 0] == 9).all()
    assert set(found[:, 0, 1]) == {0.0, 1.0, 2.0}


def test_the_share_of_a_gradient_is_that_of_the_weights():
    weights = jnp.asarray(np.random.default_rng(1).normal(size=(6, 2)))
    where = np.array([[1, 1, 0, 0, 0, 1]] * 3)
    x, labels = np.random.default_rng(2).normal(size=(3, 6)), np.array([0, 1, 0])
    slope = np.abs(np.asarray(weights[:, 0] - weights[:, 1]))
    found = gradient_share(lambda w, x: x @ w, weights, jnp.asarray(x), labels, where)
    np.testing.assert_allclose(found, slope[[0, 1, 5]].sum() / slope.sum(), rtol=1e-5)
    with pytest.raises(ValueError, match="rows"):
        gradient_share(lambda w, x: x @ w, weights, jnp.asarray(x), labels[:2], where)


def test_a_network_with_circular_symmetry_gains_nothing_from_circular_shifts():
    x = jax.random.normal(KEY, (60, 6, 6))
    y = (x.std((1, 2)) > 1).astype(int)

    def spread(scale, x):
        return scale * jnp.stack([1 - x.std((1, 2)), x.std((1, 2)) - 1], axis=1)

    worth = augmentation_worth(spread, 20.0, x, y, Shift(3, wrap=True), key=KEY)
    assert worth.gain == pytest.approx(1, abs=1e-3)
    assert augmentation_worth(spread, 20.0, x, y, Shift(3), key=KEY).gain > 1.1
