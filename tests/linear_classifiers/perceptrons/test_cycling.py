import numpy as np
import pytest

from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons.cycling import find_cycle, sweep_states

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1.0, 1.0, 1.0, -1.0])


def test_states_after_each_sweep_are_those_of_a_replay():
    x, y = XOR
    run = perceptrons.learn(x, y, bias=True, epochs=4)
    w, b, states = np.zeros(2), 0.0, [[0.0, 0.0, 0.0]]
    for _ in range(4):
        for i in range(4):
            if y[i] * (x[i] @ w + b) <= 0:
                w, b = w + y[i] * x[i], b + y[i]
        states.append([*w, b])
    assert sweep_states(run, x, y).tolist() == states


def test_the_first_repetition_is_found():
    states = np.array([[5.0], [3.0], [1.0], [2.0], [3.0], [1.0]])
    assert find_cycle(states) == (1, 3)
    assert find_cycle(states[:4]) is None
    assert find_cycle(np.array([[0.0], [-0.0]])) == (0, 1)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_the_cycle_of_xor_predicts_the_state_a_thousand_sweeps_later(scale):
    x, y = XOR[0] * scale, XOR[1]
    states = sweep_states(perceptrons.learn(x, y, bias=True, epochs=1000), x, y)
    begin, period = find_cycle(states)
    assert states[1000].tolist() == states[begin + (1000 - begin) % period].tolist()
