"""The Hopfield network: its energy, its dynamics, and why one neuron at a time never raises the energy."""

import jax
import numpy as np

from leadline import data, memories
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, counts_as, exactly, method, model
from leadline.memories.dynamics import trace
from leadline.memories.hopfield import local_fields, sgn
from leadline.presentation import figure


def _symmetric(key, d: int, whole: bool = False) -> np.ndarray:
    """Random symmetric weights without diagonal; small whole numbers make many ties, and are exact."""
    w = jax.random.randint(key, (d, d), -2, 3) if whole else jax.random.normal(key, (d, d))
    upper = np.triu(np.asarray(w, float), 1)
    return upper + upper.T


def _refused(weights: np.ndarray) -> bool:
    try:
        memories.HopfieldNetwork(weights)
    except ValueError:
        return True
    return False


@model(sources=("eth",), shows=("memories.FactoredHopfield", "memories.energy"))
def hopfield_network(
    key, neurons: Int(3, 60) = 24, bias: Real(0.0, 3.0) = 0.5, digit: Int(0, 9) = 3, flips: Real(0.0, 0.5) = 0.2
):
    r"""Hopfield network.

    A Hopfield network holds states of d signs under an energy with symmetric weights and no self-coupling. It reports
    energies, local fields and overlaps with stored patterns.

    $$H(X) = -\frac{1}{2} \sum_{i,j=1}^d w_{ij} X_i X_j + \sum_{i=1}^d b_i X_i, \quad w_{ij} = w_{ji}, \quad w_{ii} =
    0$$
    """
    k_weights, k_bias, k_state, k_cue, k_visits = jax.random.split(key, 5)
    w, b = _symmetric(k_weights, neurons), bias * np.asarray(jax.random.normal(k_bias, (neurons,)))
    states = np.asarray(data.random_signs(5, neurons, key=k_state))
    network, free = memories.HopfieldNetwork(w, b), memories.HopfieldNetwork(w)
    some = range(neurons)
    pair = [sum(w[i, j] * x[i] * x[j] for i in some for j in some) for x in states]
    loops = [-0.5 * p + sum(b[i] * x[i] for i in some) for p, x in zip(pair, states, strict=True)]
    yield close(network.energy(states), loops, "energy against a double loop", atol=1e-10)
    yield close(free.energy(states), free.energy(-states), "energy of X against that of −X, b = 0", atol=1e-12)
    agreeing = [[sum(x == y for x, y in zip(s, t, strict=True)) for t in states] for s in states]
    overlaps = 2 * np.array(agreeing) / neurons - 1
    yield close(memories.overlaps(states, states), overlaps, "overlap against agreeing bits", atol=1e-12)
    yield exactly(_refused(w + np.triu(np.ones_like(w), 1)), True, "asymmetric weights are refused")
    yield exactly(_refused(w + np.eye(neurons)), True, "weights with a diagonal are refused")
    bitmaps = data.digit_bitmaps()[sorted({digit, 0, 1, 7})]
    truth = data.digit_bitmaps()[digit]
    cue = np.asarray(memories.flip_signs(truth, flips, key=k_cue))
    visits = np.concatenate([jax.random.permutation(k, 64) for k in jax.random.split(k_visits, 2)])
    path = trace(memories.projection(bitmaps), cue, visits)
    changes = np.flatnonzero(np.any(path.states[1:] != path.states[:-1], axis=1)) + 1
    frames = [0, *changes[np.linspace(0, len(changes) - 1, 4).astype(int)]] if len(changes) else [0] * 5
    named = [(f"visit {v}" if v else "cue", path.states[v].reshape(8, 8)) for v in frames]
    start, end = (float(state @ truth) / 64 for state in (cue, path.states[-1]))
    title = f"Visit by visit the energy falls; the overlap with the stored {digit} goes from {start:.2f} to {end:.2f}"
    right = figure.curves("", "neurons visited", "energy H", steps={"run": (np.arange(len(visits) + 1), path.energies)})
    yield figure.beside(title, figure.images("", images=[("stored", truth.reshape(8, 8)), *named], columns=3), right)


@method(sources=("eth",))
def hopfield_dynamics(
    key,
    neurons: Int(2, 150) = 60,
    order: OneOf("cyclic", "random") = "cyclic",
    ties: bool = False,
    temperature: Real(0.3, 10.0, log=True) = 1.0,
):
    r"""Asynchronous, synchronous and Glauber dynamics.

    Asynchronous updates visit one neuron at a time until nothing changes. Synchronous updates change all neurons at
    once and end in a cycle of period 1 or 2. At a positive temperature, heat-bath updates preserve the Boltzmann
    distribution.

    $$X_i \leftarrow \mathrm{sgn}\Big( \sum_j w_{ij} X_j - b_i \Big), \quad \mathrm{sgn}(0) = +1$$

    Assumes: W is symmetric with zero diagonal.

    Check: Runs start from 50 random states. The blocked loop is compared with visiting the neurons one by one, and the
    heat bath is checked on four neurons.
    """
    k_weights, k_states, k_order, k_small, k_start, k_heat = jax.random.split(key, 6)
    w, starts = _symmetric(k_weights, neurons, ties), data.random_signs(50, neurons, key=k_states)
    network = memories.HopfieldNetwork(w)
    run = memories.asynchronous(network, starts, order=order, key=k_order)
    ends = np.asarray(run.states)
    yield exactly((~run.converged).sum(), 0, "asynchronous runs that did not settle")
    yield exactly(np.where(ends @ w >= 0, 1.0, -1.0), ends, "end of asynchronous runs against one more step")
    cyclic = run if order == "cyclic" else memories.asynchronous(network, starts)
    one_by_one = trace(w, starts[0], np.tile(np.arange(neurons), int(cyclic.sweeps[0]) + 1))
    yield exactly(cyclic.states[0], one_by_one.states[-1], "end of the blocked loop against neurons visited one by one")
    both = memories.synchronous(network, starts)
    yield exactly((~np.isin(both.period, (1, 2))).sum(), 0, "synchronous runs of another period than 1 and 2")
    inhibiting = memories.HopfieldNetwork(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    period = memories.synchronous(inhibiting, np.ones(2)).period
    yield exactly(period, 2, "synchronous period of two inhibiting neurons from (1, 1)")
    after = memories.synchronous(inhibiting, np.ones(2), num_steps=1).states
    yield exactly(after, [-1, -1], "state of two inhibiting neurons one step after (1, 1)")
    # Stationarity is exact at once: states drawn from the Boltzmann distribution must still follow it after two sweeps.
    small = _symmetric(k_small, 4)
    corners = np.array([[1.0 - 2 * (c >> i & 1) for i in range(4)] for c in range(16)])
    weight = np.exp(-(h := np.asarray(memories.energy(small, corners)) / temperature) + h.min())
    drawn = jax.random.choice(k_start, 16, (4000,), p=weight / weight.sum())
    network = memories.HopfieldNetwork(small)
    heated = memories.glauber(network, corners[drawn], temperature=temperature, sweeps=2, key=k_heat)
    codes = np.bincount(np.asarray(heated < 0).astype(int) @ (1 << np.arange(4)), minlength=16)
    yield counts_as(codes, weight / weight.sum(), "heat-bath states against the Boltzmann distribution")
    shown = 8
    single = np.asarray(one_by_one.states)[::neurons][:shown]
    single = np.concatenate([single, np.repeat(single[-1:], shown - len(single), axis=0)])
    state, together = np.asarray(starts[0]), []
    for _ in range(shown):
        together.append(state)
        state = np.where(w @ state >= 0, 1.0, -1.0)
    axes = {"xs": np.arange(neurons), "ys": np.arange(shown), "colour": "sign", "diverging": True}
    title = (
        f"One neuron at a time settles in {int(cyclic.sweeps[0])} sweeps; all at once has period {int(both.period[0])}"
    )
    left = figure.heatmap("asynchronous", "neuron", "sweep", values=single, **axes)
    right = figure.heatmap("synchronous", "neuron", "sweep", values=np.array(together), **axes)
    yield figure.beside(title, left, right, columns=1)


@claim(sources=("eth",))
def hopfield_effective_field(
    key, neurons: Int(2, 100) = 30, ties: bool = True, diagonal: Real(0.0, 5.0) = 1.0, asymmetry: Real(0.0, 5.0) = 1.0
):
    r"""Local field and energy difference.

    Flipping a neuron from −1 to +1 changes the energy by −2 times its local field, so choosing the lower energy, with
    ties to +1, is the same as taking the sign of the field. This needs symmetric weights with zero diagonal.

    $$H(X_i = +1) - H(X_i = -1) = -2 h_i, \qquad h_i = \sum_j w_{ij} X_j - b_i$$

    Assumes: W is symmetric with zero diagonal.
    """
    k_weights, k_bias, k_state, k_skew = jax.random.split(key, 4)
    w = _symmetric(k_weights, neurons, ties)
    b = np.asarray(jax.random.randint(k_bias, (neurons,), -1, 2), float)
    x = np.asarray(data.random_signs(1, neurons, key=k_state))[0]

    def gains(weights):
        up, down = np.tile(x, (2, neurons, 1))
        np.fill_diagonal(up, 1.0)
        np.fill_diagonal(down, -1.0)
        difference = memories.energy(weights, up, b) - memories.energy(weights, down, b)
        return np.asarray(difference), np.asarray(local_fields(weights, x, b))

    gain, h = gains(w)
    size = 1 + np.abs(w).sum(axis=1).max()
    yield close(gain, -2 * h, "H(X_i = +1) − H(X_i = −1) against −2 h_i", atol=1e-12 * size * neurons)
    # Without whole numbers rounding may decide between two energies as close as 1e-13; there are no ties then.
    lower = np.where(gain <= 0, 1, -1)
    yield exactly(lower, sgn(h), "the sign of lower energy against sgn(h_i)")
    gain_d, h_d = gains(w + diagonal * np.eye(neurons))
    skew = asymmetry * np.triu(np.asarray(jax.random.normal(k_skew, w.shape)), 1)
    gain_a, h_a = gains(w + skew)
    off_d, off_a = gain_d + 2 * h_d, gain_a + 2 * h_a
    what = "error of the identity with diagonal w, against 2 w X_i"
    yield close(off_d, 2 * diagonal * x, what, atol=1e-12 * size * neurons)
    what = "error of the identity with asymmetric weights, against Σ_j (w_ij − w_ji) X_j"
    yield close(off_a, (skew - skew.T) @ x, what, atol=1e-12 * (size + asymmetry * neurons) * neurons)
    off_d, off_a = np.abs(off_d).max(), np.abs(off_a).max()
    largest = at_least(off_d, 0.0, "largest error with a diagonal", strict=True)
    yield largest.given(diagonal > 0, "the diagonal is not 0")
    largest = at_least(off_a, 0.0, "largest error with asymmetric weights", strict=True)
    yield largest.given(asymmetry > 0, "W is asymmetric")
    reach = np.array([min(map(np.min, (h, h_d, h_a))), max(map(np.max, (h, h_d, h_a)))])
    title = f"The energy gain is −2h exactly; with a diagonal or asymmetry it is off by up to {max(off_d, off_a):.2g}"
    points = {
        "symmetric, no diagonal": (h, gain),
        f"diagonal {diagonal:.2g}": (h_d, gain_d),
        f"asymmetry {asymmetry:.2g}": (h_a, gain_a),
    }
    lines = {"−2h": (reach, -2 * reach)}
    yield figure.curves(title, "local field h_i", "H(X_i = +1) − H(X_i = −1)", lines=lines, points=points)


@claim(sources=("eth",))
def hopfield_energy_descent(
    key, neurons: Int(2, 120) = 50, sweeps: Int(1, 30) = 10, ties: bool = True, bias: Real(0.0, 5.0) = 1.0
):
    r"""Energy descent in Hopfield networks.

    No single-neuron update raises the energy, so asynchronous dynamics stop after finitely many flips. Synchronous
    updates and asymmetric weights can cycle for ever.

    $$H(X^{\mathrm{new}}) - H(X) = -(X_i^{\mathrm{new}} - X_i)\, h_i \le 0$$

    Assumes: W is symmetric with zero diagonal; one neuron is updated at a time.

    Check: Integer weights produce exact ties, so that flips which leave the energy unchanged occur.
    """
    k_weights, k_bias, k_state, k_visits = jax.random.split(key, 4)
    w = _symmetric(k_weights, neurons, ties)
    b = np.rint(bias * np.asarray(jax.random.normal(k_bias, (neurons,))))
    starts = np.asarray(data.random_signs(8, neurons, key=k_state))
    visits = np.asarray(jax.random.randint(k_visits, (sweeps * neurons,), 0, neurons))
    paths = [trace(w, x, visits, bias=b) for x in starts]
    rises = np.array([np.diff(path.energies) for path in paths])
    flips = np.array([np.diff(path.states, axis=0).sum(axis=1) for path in paths])  # +2, 0 or -2 for each visit
    yield at_most(rises, 0.0, "change of energy at a visit", atol=1e-12 * (1 + np.abs(w).sum()))
    free = flips[(np.abs(rises) < 1e-9) & (flips != 0)]
    yield exactly((free < 0).sum(), 0, f"flips from +1 to −1 among the {free.size} that leave the energy as it is")
    run = memories.asynchronous(memories.HopfieldNetwork(w, b), starts, sweeps=10_000)
    yield exactly((~run.converged).sum(), 0, "asynchronous runs that do not stop")
    turning = trace(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.ones(2), np.tile([0, 1], 8))
    what = "antisymmetric weights: each state against that of four visits before"
    yield exactly(turning.states[5:], turning.states[1:-4], what)
    yield exactly(len(np.unique(turning.states, axis=0)), 4, "antisymmetric weights: states on the cycle")
    inhibiting, pair, small = np.array([[0.0, -1.0], [-1.0, 0.0]]), [np.array([1.0, 1.0])], np.array([0.5, 0.5])
    for _ in range(8):
        pair.append(np.where(inhibiting @ pair[-1] - small >= 0, 1.0, -1.0))
    together = np.asarray(memories.energy(inhibiting, np.array(pair), small))
    yield exactly(pair[1:3], [[-1, -1], [1, 1]], "synchronous updates: the cycle (1,1) → (−1,−1) → (1,1)")
    yield close(np.diff(together).max(), 2.0, "synchronous updates: rise of the energy on the cycle", atol=1e-12)
    at, stairs = np.arange(0, len(visits) + 1, max(1, len(visits) // 300)), {"two neurons": (np.arange(9), together)}
    falling = {f"start {i + 1}": (at, path.energies[at]) for i, path in enumerate(paths[:5])}
    title = "One neuron at a time the energy only falls; all at once, two neurons go up and down for ever"
    left = figure.curves("asynchronous", "neurons visited", "energy H", steps=falling)
    yield figure.beside(title, left, figure.curves("synchronous, w = −1, b = 1/2", "step", "energy H", steps=stairs))
