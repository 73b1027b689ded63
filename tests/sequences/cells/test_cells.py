"""Every cell behind the one interface: item by item, masked, reversed, in parallel; Equinox's cells as oracles."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences import (
    GRU,
    LRU,
    LSTM,
    Bidirectional,
    Elman,
    LightGRU,
    MinGRU,
    Recurrence,
    ResidualBlock,
    Stack,
    deep_transition,
    run,
    valid_steps,
)
from leadline.sequences.cells.cell import held

KEYS = jax.random.split(jax.random.key(0), 9)
N, M, T = 3, 4, 7
XS = jax.random.normal(jax.random.key(1), (T, N))
MASK = jnp.array([True, True, False, True, True, False, False])

CELLS = {
    "elman": Elman(N, M, key=KEYS[0]),
    "elman relu without bias": Elman(N, M, "relu", bias=False, key=KEYS[0]),
    "deep transition": deep_transition(N, M, 2, key=KEYS[1]),
    "gru": GRU(N, M, key=KEYS[2]),
    "gru, reset before": GRU(N, M, reset="before", gate="keep", key=KEYS[2]),
    "lstm": LSTM(N, M, key=KEYS[3]),
    "lstm with map": LSTM(N, M, output_map=True, squash=None, key=KEYS[3]),
    "light gru": LightGRU(N, M, key=KEYS[4]),
    "mingru": MinGRU(N, M, key=KEYS[5]),
    "lru": LRU(N, M, 2, key=KEYS[6]),
    "stack": Stack((LSTM(N, M, key=KEYS[3]), MinGRU(M, M, key=KEYS[5]))),
    "block": ResidualBlock(LRU(N, M, key=KEYS[6]), key=KEYS[7]),
    "blocks": Stack([ResidualBlock(LRU(N, M, key=k), key=k) for k in KEYS[6:8]]),
}


def outputs(cell, course):
    return np.asarray(jax.vmap(cell.predict)(course.states))


@pytest.mark.parametrize("name", CELLS)
def test_item_by_item_equals_the_run(name):
    cell = CELLS[name]
    state, found = cell.init(), []
    for x in XS:
        state = cell.update(state, x)
        found.append(cell.predict(state))
    course = run(cell, XS)
    np.testing.assert_allclose(outputs(cell, course), np.array(found), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(cell.predict(course.last), found[-1], rtol=1e-10, atol=1e-12)
    assert course.states is not None
    assert found[0].shape == (cell.output_size,)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("reverse", [False, True])
def test_steps_that_do_not_count_are_as_if_they_were_not_there(name, reverse):
    cell = CELLS[name]
    with_gaps = run(cell, XS, mask=MASK, reverse=reverse)
    without = run(cell, XS[MASK], reverse=reverse)
    np.testing.assert_allclose(outputs(cell, with_gaps)[np.asarray(MASK)], outputs(cell, without), atol=1e-12)
    np.testing.assert_allclose(cell.predict(with_gaps.last), cell.predict(without.last), atol=1e-12)


@pytest.mark.parametrize("name", CELLS)
def test_a_reversed_run_is_a_run_over_the_reversed_sequence(name):
    cell = CELLS[name]
    back, mirrored = run(cell, XS, reverse=True), run(cell, XS[::-1])
    np.testing.assert_allclose(outputs(cell, back), outputs(cell, mirrored)[::-1], atol=1e-12)


@pytest.mark.parametrize("name", ["mingru", "lru", "block", "blocks"])
@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_parallel_scan_equals_the_loop_from_any_state(name, mask, reverse):
    cell = CELLS[name]
    state = jax.tree.map(lambda leaf: leaf + 0.5, cell.init())
    loop, scan = (run(cell, XS, state, mask=mask, reverse=reverse, parallel=p) for p in (False, True))
    for a, b in zip(jax.tree.leaves(loop), jax.tree.leaves(scan), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CELLS)
def test_padding_has_no_gradient(name):
    cell = CELLS[name]
    gradient = jax.grad(lambda xs: jnp.sum(outputs_of(cell, run(cell, xs, mask=MASK)) ** 2))(XS)
    size = np.abs(np.asarray(gradient)).sum(1)
    assert (size[~np.asarray(MASK)] == 0).all()
    assert (size[np.asarray(MASK)] > 0).all()


def outputs_of(cell, course):
    return jax.vmap(cell.predict)(course.states)


@pytest.mark.parametrize("bias", [True, False])
def test_the_gru_is_that_of_equinox(bias):
    theirs = eqx.nn.GRUCell(N, M, use_bias=bias, key=KEYS[8])
    h = jnp.ones(M)
    for x in XS:
        np.testing.assert_allclose(GRU.like(theirs).update(h, x), theirs(x, h), rtol=1e-12)
        h = theirs(x, h)


@pytest.mark.parametrize("bias", [True, False])
def test_the_lstm_is_that_of_equinox_and_passes_through_recurrence_too(bias):
    theirs = eqx.nn.LSTMCell(N, M, use_bias=bias, key=KEYS[8])
    wrapped = Recurrence(lambda z, x: theirs(x, z), (jnp.zeros(M),) * 2, N, M, readout=lambda z: z[0])
    ours = run(LSTM.like(theirs), XS)
    np.testing.assert_allclose(outputs(wrapped, run(wrapped, XS)), ours.states.h, rtol=1e-10)


def test_both_directions_see_what_each_sees_and_padding_changes_nothing():
    both = Bidirectional(CELLS["lstm"], CELLS["gru"])
    course = run(both, XS)
    expected = np.concatenate([run(CELLS["lstm"], XS).states.h, run(CELLS["gru"], XS[::-1]).states[::-1]], 1)
    np.testing.assert_allclose(outputs(both, course), expected, atol=1e-12)
    padded = run(both, jnp.concatenate([XS, XS]), mask=valid_steps(T, 2 * T))
    np.testing.assert_allclose(outputs(both, padded)[:T], expected, atol=1e-12)
    with pytest.raises(ValueError, match="no step by step update"):
        both.update(both.init(), XS[0])


def test_a_stack_may_hold_both_directions():
    both = Bidirectional(CELLS["gru"], CELLS["gru"])
    stack = Stack((both, GRU(2 * M, 2, key=KEYS[0])))
    assert outputs(stack, run(stack, XS)).shape == (T, 2)


def test_single_precision_stays_single_whatever_the_default():
    for kind in (Elman, GRU, LSTM, LightGRU, MinGRU, LRU):
        cell = kind(N, M, dtype=jnp.float32, key=KEYS[0])
        assert outputs(cell, run(cell, XS.astype(jnp.float32))).dtype == np.float32
        assert outputs(cell, run(cell, XS)).dtype == np.float64


def test_values_are_held_from_either_side():
    values = jnp.arange(4.0)
    mask = jnp.array([False, True, False, True])
    assert held(values, jnp.array(9.0), mask).tolist() == [9.0, 1.0, 1.0, 3.0]
    assert held(values, jnp.array(9.0), mask, reverse=True).tolist() == [1.0, 1.0, 3.0, 3.0]


def test_eigenvalues_of_a_ring_lie_in_it_and_saturation_is_said():
    cell = LRU(1, 500, r_min=0.5, r_max=0.9, key=KEYS[0])
    radii = np.abs(cell.eigenvalues())
    assert 0.5 <= radii.min() < 0.55 < 0.85 < radii.max() <= 0.9
    assert cell.saturated() == 0
    gone = eqx.tree_at(lambda c: c.log_decay, cell, jnp.full(500, 8.0))
    assert gone.saturated() == 500


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: run(CELLS["gru"], XS[:, :2]), r"shape \(7, 2\) for a cell with 3 inputs"),
        (lambda: run(CELLS["gru"], XS, parallel=True), "not linear in its state"),
        (lambda: LRU(3, 4, r_min=0.9, r_max=0.5, key=KEYS[0]), "ring 0.9 to 0.5"),
        (lambda: Elman(0, 4, key=KEYS[0]), "must be positive"),
        (lambda: Stack(()), "no cells"),
        (lambda: Stack((CELLS["gru"], CELLS["gru"])), "4 outputs below one with 3 inputs"),
        (lambda: ResidualBlock(CELLS["gru"], key=KEYS[0]), "3 inputs and 4 outputs"),
        (lambda: Bidirectional(CELLS["gru"], GRU(2, 4, key=KEYS[0])), "3 and 2 inputs"),
    ],
)
def test_what_does_not_fit_is_said(call, words):
    with pytest.raises(ValueError, match=words):
        call()
