"""What a perceptron does on data that no hyperplane separates: it runs in circles."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Num

from .training import Run, path


class Cycle(NamedTuple):
    """The state after sweep `begin` comes back every `period` sweeps."""

    begin: int
    period: int


def sweep_states(
    run: Run, x: Num[Array | np.ndarray, "n d"], y: Num[Array | np.ndarray, " n"]
) -> Float[np.ndarray, "sweeps_plus_1 d_plus_1"]:
    """(w, b) at the start and after each sweep of n presentations.

    >>> from leadline.linear_classifiers.perceptrons.training import learn
    >>> x, y = np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])
    >>> sweep_states(learn(x, y, epochs=2), x, y).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    weights, biases = path(run, x, y)
    states = np.hstack([weights, biases[:, None]])
    return states[np.searchsorted(run.times, len(y) * np.arange(run.epochs + 1))]


def find_cycle(states: Float[np.ndarray, "sweeps_plus_1 d"]) -> Cycle | None:
    """The first exact repetition among the states after each sweep, or None.

    In cyclic order the state after a sweep determines the next one, so one repetition means that it repeats for ever.
    With rational data the states lie on a lattice, and by the cycling theorem (Minsky and Papert; Block and Levin
    1970) in a ball, so there must be one.

    >>> find_cycle(np.array([[0.0], [1.0], [2.0], [1.0]]))
    Cycle(begin=1, period=2)
    """
    seen: dict[bytes, int] = {}
    for sweep, state in enumerate(states + 0.0):  # -0.0 + 0.0 is 0.0: equal states have equal bytes
        begin = seen.setdefault(state.tobytes(), sweep)
        if begin < sweep:
            return Cycle(begin, sweep - begin)
    return None
