"""The Hopfield network: its energy, its dynamics, and why one neuron at a time never raises the energy."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, memories
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    claim,
    close,
    counts_as,
    exactly,
    figure,
    method,
    model,
    printed,
)


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


@model(
    "hopfield-network",
    says="A Hopfield network holds states of d signs under an energy with symmetric weights and no self-coupling; "
    "it reports energies, local fields and overlaps with stored patterns.",
    formula=r"H(X) = -\frac{1}{2} \sum_{i,j=1}^d w_{ij} X_i X_j + \sum_{i=1}^d b_i X_i, \quad "
    r"w_{ij} = w_{ji}, \quad w_{ii} = 0",
    sources=("eth",),
    shows=("memories.HopfieldNetwork", "memories.FactoredHopfield", "memories.energy", "memories.overlaps"),
)
def hopfield_network(
    key,
    neurons: Annotated[int, Range(3, 60)] = 24,
    bias: Annotated[float, Range(0.0, 3.0)] = 0.5,
    digit: Annotated[int, Range(0, 9)] = 3,
    flips: Annotated[float, Range(0.0, 0.5)] = 0.2,
):
    """Energies against plain double loops, on random weights; the picture is a digit among four being retrieved."""
    k_weights, k_bias, k_state, k_cue, k_visits = jax.random.split(key, 5)
    w, b = _symmetric(k_weights, neurons), bias * np.asarray(jax.random.normal(k_bias, (neurons,)))
    states = np.asarray(data.random_signs(5, neurons, key=k_state))
    network, free = memories.HopfieldNetwork(w, b), memories.HopfieldNetwork(w)
    pair = [sum(w[i, j] * x[i] * x[j] for i in range(neurons) for j in range(neurons)) for x in states]
    loops = [-0.5 * p + sum(b[i] * x[i] for i in range(neurons)) for p, x in zip(pair, states, strict=True)]
    yield close(network.energy(states), loops, "energy against a double loop", atol=1e-10)
    yield close(free.energy(states), free.energy(-states), "energy of X against that of −X, b = 0", atol=1e-12)
    agreeing = [[sum(x == y for x, y in zip(s, t, strict=True)) for t in states] for s in states]
    yield close(
        memories.overlaps(states, states),
        2 * np.array(agreeing) / neurons - 1,
        "overlap against agreeing bits",
        atol=1e-12,
    )
    yield exactly(_refused(w + np.triu(np.ones_like(w), 1)), True, "asymmetric weights are refused")
    yield exactly(_refused(w + np.eye(neurons)), True, "weights with a diagonal are refused")
    yield printed(close(w, np.diag(w)[:, None], "w_ij against w_ii", atol=1e-12), "eth", "w_ij = w_ii")
    n = min(3, neurons - 1)
    short = [-0.5 * p + sum(b[i] * x[i] for i in range(n)) for p, x in zip(pair, states, strict=True)]
    yield printed(
        close(network.energy(states), short, f"energy with the bias summed to n = {n} stored patterns", atol=1e-10),
        "eth",
        "bias summed over i = 1..n",
    ).given(bias > 0, "b is not 0")

    bitmaps = data.digit_bitmaps()[sorted({digit, 0, 1, 7})]
    truth = data.digit_bitmaps()[digit]
    cue = np.asarray(memories.flip_signs(truth, flips, key=k_cue))
    visits = np.concatenate([jax.random.permutation(k, 64) for k in jax.random.split(k_visits, 2)])
    path = memories.trace(memories.projection(bitmaps), cue, visits)
    changes = np.flatnonzero(np.any(path.states[1:] != path.states[:-1], axis=1)) + 1
    frames = [0, *changes[np.linspace(0, len(changes) - 1, 4).astype(int)]] if len(changes) else [0] * 5
    named = [(f"visit {v}" if v else "cue", path.states[v].reshape(8, 8)) for v in frames]
    end = float(memories.overlaps(truth[None], path.states[-1])[0])
    yield figure.beside(
        f"Visit by visit the energy falls, and the overlap with the stored {digit} goes from "
        f"{float(cue @ truth) / 64:.2f} to {end:.2f}",
        figure.images("", images=[("stored", truth.reshape(8, 8)), *named], columns=3),
        figure.curves(
            "", x="neurons visited", y="energy H", steps={"run": (np.arange(len(visits) + 1), path.energies)}
        ),
    )


@method(
    "hopfield-dynamics",
    says="Asynchronous updates visit one neuron at a time until nothing changes; synchronous updates change all at "
    "once and end with period 1 or 2; at a temperature, heat-bath updates keep the Boltzmann law.",
    formula=r"X_i \leftarrow \mathrm{sgn}\Big( \sum_j w_{ij} X_j - b_i \Big), \quad \mathrm{sgn}(0) = +1",
    sources=("eth",),
    assumes=("W is symmetric with zero diagonal",),
    shows=("memories.asynchronous", "memories.synchronous", "memories.glauber", "memories.trace"),
)
def hopfield_dynamics(
    key,
    neurons: Annotated[int, Range(2, 150)] = 60,
    order: Annotated[str, Choice("cyclic", "random")] = "cyclic",
    ties: bool = False,
    temperature: Annotated[float, Range(0.3, 10.0, log=True)] = 1.0,
):
    """Runs from 50 random states; the blocked loop against neurons visited one by one; heat bath on four neurons."""
    k_weights, k_states, k_order, k_small, k_start, k_heat = jax.random.split(key, 6)
    w, starts = _symmetric(k_weights, neurons, ties), data.random_signs(50, neurons, key=k_states)
    network = memories.HopfieldNetwork(w)
    run = memories.asynchronous(network, starts, order=order, key=k_order)
    ends = np.asarray(run.states)
    yield exactly(run.converged, True, "asynchronous runs that settled")
    yield exactly(np.where(ends @ w >= 0, 1.0, -1.0), ends, "ends are fixed points")
    cyclic = run if order == "cyclic" else memories.asynchronous(network, starts)
    one_by_one = memories.trace(w, starts[0], np.tile(np.arange(neurons), int(cyclic.sweeps[0]) + 1))
    yield exactly(cyclic.states[0], one_by_one.states[-1], "end of the blocked loop against neurons visited one by one")
    both = memories.synchronous(network, starts)
    yield exactly(np.isin(both.period, (1, 2)), True, "period of synchronous runs is 1 or 2")
    inhibiting = memories.HopfieldNetwork(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    yield exactly(
        memories.synchronous(inhibiting, np.ones(2)).period,
        2,
        "synchronous period of two inhibiting neurons from (1, 1)",
    )
    yield exactly(memories.synchronous(inhibiting, np.ones(2), steps=1).states, [-1, -1], "their next state")

    # Stationarity is exact at once: states drawn from the Boltzmann law must still follow it after two sweeps.
    small = _symmetric(k_small, 4)
    corners = np.array([[1.0 - 2 * (c >> i & 1) for i in range(4)] for c in range(16)])
    weight = np.exp(-(h := np.asarray(memories.energy(small, corners)) / temperature) + h.min())
    drawn = jax.random.choice(k_start, 16, (4000,), p=weight / weight.sum())
    heated = memories.glauber(
        memories.HopfieldNetwork(small), corners[drawn], temperature=temperature, sweeps=2, key=k_heat
    )
    codes = np.asarray(heated < 0).astype(int) @ (1 << np.arange(4))
    yield counts_as(
        np.bincount(codes, minlength=16), weight / weight.sum(), "heat-bath states against the Boltzmann law"
    )

    shown = 8
    single = np.asarray(one_by_one.states)[::neurons][:shown]
    single = np.concatenate([single, np.repeat(single[-1:], shown - len(single), axis=0)])
    state, together = np.asarray(starts[0]), []
    for _ in range(shown):
        together.append(state)
        state = np.where(w @ state >= 0, 1.0, -1.0)
    yield figure.beside(
        f"From one random state: one neuron at a time settles after {int(cyclic.sweeps[0])} sweeps, all at once ends "
        f"with period {int(both.period[0])}",
        *[
            figure.heatmap(
                name, x="neuron", y="sweep", xs=np.arange(neurons), ys=np.arange(shown), values=rows,
                colour="sign", diverging=True,
            )
            for name, rows in (("asynchronous", single), ("synchronous", np.array(together)))
        ],
        columns=1,
    )  # fmt: skip


@claim(
    "hopfield-effective-field",
    says="Turning a neuron from −1 to +1 changes the energy by −2 times its local field, so choosing the lower energy, "
    "ties to +1, is taking the sign of the field; this needs symmetric weights without diagonal.",
    formula=r"H(X_i = +1) - H(X_i = -1) = -2 h_i, \qquad h_i = \sum_j w_{ij} X_j - b_i",
    sources=("eth",),
    assumes=("W is symmetric with zero diagonal",),
)
def hopfield_effective_field(
    key,
    neurons: Annotated[int, Range(2, 100)] = 30,
    ties: bool = True,
    diagonal: Annotated[float, Range(0.0, 5.0)] = 1.0,
    asymmetry: Annotated[float, Range(0.0, 5.0)] = 1.0,
):
    """Both energies of every neuron, from the definition; the same with a diagonal and with asymmetric weights."""
    k_weights, k_bias, k_state, k_skew = jax.random.split(key, 4)
    w = _symmetric(k_weights, neurons, ties)
    b = np.asarray(jax.random.randint(k_bias, (neurons,), -1, 2), float)
    x = np.asarray(data.random_signs(1, neurons, key=k_state))[0]

    def gains(weights):
        up, down = np.tile(x, (2, neurons, 1))
        np.fill_diagonal(up, 1.0)
        np.fill_diagonal(down, -1.0)
        difference = memories.energy(weights, up, b) - memories.energy(weights, down, b)
        return np.asarray(difference), np.asarray(memories.local_fields(weights, x, b))

    gain, h = gains(w)
    size = 1 + np.abs(w).sum(axis=1).max()
    yield close(gain, -2 * h, "H(X_i = +1) − H(X_i = −1) against −2 h_i", atol=1e-12 * size * neurons)
    # Without whole numbers rounding may decide between two energies as close as 1e-13; there are no ties then.
    lower = np.where(gain <= 0, 1, -1)
    yield exactly(lower, memories.sgn(h), "the sign of lower energy against sgn(h_i)")
    gain_d, h_d = gains(w + diagonal * np.eye(neurons))
    yield close(
        gain_d + 2 * h_d,
        2 * diagonal * x,
        "error of the identity with diagonal w, against 2 w X_i",
        atol=1e-12 * size * neurons,
    )
    skew = asymmetry * np.triu(np.asarray(jax.random.normal(k_skew, w.shape)), 1)
    gain_a, h_a = gains(w + skew)
    yield close(
        gain_a + 2 * h_a,
        (skew - skew.T) @ x,
        "error of the identity with asymmetric weights, against Σ_j (w_ij − w_ji) X_j",
        atol=1e-12 * (size + asymmetry * neurons) * neurons,
    )
    yield at_least(np.abs(gain_d + 2 * h_d).max(), 0.0, "largest error with a diagonal", strict=True).given(
        diagonal > 0, "the diagonal is not 0"
    )
    yield at_least(np.abs(gain_a + 2 * h_a).max(), 0.0, "largest error with asymmetric weights", strict=True).given(
        asymmetry > 0, "W is asymmetric"
    )
    reach = np.array([min(map(np.min, (h, h_d, h_a))), max(map(np.max, (h, h_d, h_a)))])
    yield figure.curves(
        "The energy gain is −2h exactly; with a diagonal or asymmetry it is off by up to "
        f"{max(np.abs(gain_d + 2 * h_d).max(), np.abs(gain_a + 2 * h_a).max()):.2g}",
        x="local field h_i", y="H(X_i = +1) − H(X_i = −1)", lines={"−2h": (reach, -2 * reach)},
        points={
            "symmetric, no diagonal": (h, gain),
            f"diagonal {diagonal:.2g}": (h_d, gain_d),
            f"asymmetry {asymmetry:.2g}": (h_a, gain_a),
        },
    )  # fmt: skip


@claim(
    "hopfield-energy-descent",
    says="No single-neuron update raises the energy, so asynchronous dynamics stop after finitely many flips; "
    "synchronous updates and asymmetric weights can go round for ever.",
    formula=r"H(X^{\mathrm{new}}) - H(X) = -(X_i^{\mathrm{new}} - X_i)\, h_i \le 0",
    sources=("eth",),
    assumes=("W is symmetric with zero diagonal", "one neuron is updated at a time"),
)
def hopfield_energy_descent(
    key,
    neurons: Annotated[int, Range(2, 120)] = 50,
    sweeps: Annotated[int, Range(1, 30)] = 10,
    ties: bool = True,
    bias: Annotated[float, Range(0.0, 5.0)] = 1.0,
):
    """Whole-numbered weights make exact ties, so that flips which change no energy occur and can be followed."""
    k_weights, k_bias, k_state, k_visits = jax.random.split(key, 4)
    w = _symmetric(k_weights, neurons, ties)
    b = np.rint(bias * np.asarray(jax.random.normal(k_bias, (neurons,))))
    starts = np.asarray(data.random_signs(8, neurons, key=k_state))
    visits = np.asarray(jax.random.randint(k_visits, (sweeps * neurons,), 0, neurons))
    paths = [memories.trace(w, x, visits, bias=b) for x in starts]
    rises = np.array([np.diff(path.energies) for path in paths])
    flips = np.array([np.diff(path.states, axis=0).sum(axis=1) for path in paths])  # +2, 0 or -2 for each visit
    yield at_most(rises, 0.0, "change of energy at a visit", atol=1e-12 * (1 + np.abs(w).sum()))
    free = flips[(np.abs(rises) < 1e-9) & (flips != 0)]
    yield exactly((free < 0).sum(), 0, f"flips from +1 to −1 among the {free.size} that leave the energy as it is")
    run = memories.asynchronous(memories.HopfieldNetwork(w, b), starts, sweeps=10_000)
    yield exactly(run.converged, True, "runs that stop")

    turning = memories.trace(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.ones(2), np.tile([0, 1], 8))
    yield exactly(
        turning.states[5:], turning.states[1:-4], "antisymmetric weights: each state against that of four visits before"
    )
    yield exactly(
        np.unique(np.asarray(turning.states), axis=0).shape[0], 4, "antisymmetric weights: states on the cycle"
    )
    inhibiting = np.array([[0.0, -1.0], [-1.0, 0.0]])
    pair, small = [np.array([1.0, 1.0])], np.array([0.5, 0.5])
    for _ in range(8):
        pair.append(np.where(inhibiting @ pair[-1] - small >= 0, 1.0, -1.0))
    together = np.asarray(memories.energy(inhibiting, np.array(pair), small))
    yield exactly(
        [pair[1].tolist(), pair[2].tolist()],
        [[-1, -1], [1, 1]],
        "synchronous updates: the cycle (1,1) → (−1,−1) → (1,1)",
    )
    yield close(np.diff(together).max(), 2.0, "synchronous updates: rise of the energy on the cycle", atol=1e-12)
    yield figure.beside(
        f"One neuron at a time the energy only falls ({neurons} neurons, {len(starts)} starts); "
        "all at once, two neurons go up and down for ever",
        figure.curves(
            "asynchronous", x="neurons visited", y="energy H",
            steps={
                f"start {i + 1}": (np.arange(len(visits) + 1)[::stride], path.energies[::stride])
                for stride in [max(1, len(visits) // 300)]
                for i, path in enumerate(paths[:5])
            },
        ),
        figure.curves(
            "synchronous, w = −1, b = 1/2", x="step", y="energy H", steps={"two neurons": (np.arange(9), together)}
        ),
    )  # fmt: skip
