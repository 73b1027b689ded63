"""What gated cells are when their gates are held open or shut, and which contains which."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares

from leadline import data, sequences
from leadline.evidence import Int, at_least, at_most, claim, close
from leadline.presentation import figure

FORCED = 50.0
POINTS, STARTS = 60, 8  # of the fits of one LSTM step to one GRU step
FOUND = 1e-6  # a residual below this is a fit


@claim(sources=("penn",), shows=("sequences.GRU",))
def gru_gate_limits(key, units: Int(1, 12) = 4, inputs: Int(1, 6) = 3):
    r"""The GRU between copying and forgetting.

    With its update gate shut (u → 0) a GRU copies its state; with u → 1 and the reset gate open (r → 1) it is a tanh
    network; with u → 1 and r → 0 it is feedforward in x. So the Jacobian of one step is the identity, that of the tanh
    network, or 0.

    $$h' = h, \qquad h' = \tanh(W_h h + W_x x), \qquad h' = \tanh(W_x x)$$

    Check: Biases of ±50 on the gates; states and Jacobians of one step.
    """
    rng = data.generator(key)
    h, x = jnp.asarray(rng.normal(size=units)), jnp.asarray(rng.normal(size=inputs))
    base = sequences.GRU(inputs, units, key=key)
    w_h, w_x = np.asarray(base.weight_hh)[2 * units :], np.asarray(base.weight_ih)[2 * units :]
    recurrent = np.tanh(w_h @ h + w_x @ x)
    limits = {
        "u → 0, state copied": (_forced(base, 0.0, -FORCED), h, np.eye(units)),
        "u → 1, r → 1, tanh network": (_forced(base, FORCED, FORCED), recurrent, (1 - recurrent**2)[:, None] * w_h),
        "u → 1, r → 0, feedforward": (_forced(base, -FORCED, FORCED), np.tanh(w_x @ x), np.zeros((units, units))),
    }
    for name, (cell, state, jacobian) in limits.items():
        yield close(cell.update(h, x), state, f"{name}: next state", atol=1e-14)
        yield close(jax.jacobian(cell.update)(h, x), jacobian, f"{name}: Jacobian", atol=1e-14)
    axis = np.linspace(-6, 6, 13)
    norm = jax.jit(jax.vmap(lambda r, u: jnp.linalg.norm(jax.jacobian(_forced(base, r, u).update)(h, x), 2)))
    rs, us = np.meshgrid(axis, axis)
    values = np.asarray(norm(jnp.asarray(rs.ravel()), jnp.asarray(us.ravel()))).reshape(rs.shape)
    names = [f"{1 / (1 + np.exp(-a)):.2f}" if a % 2 == 0 else f"{1 / (1 + np.exp(-a)):.3f}" for a in axis]
    title = "Between copying (u near 0), a recurrent network (u, r near 1) and a feedforward one (u near 1, r near 0)"
    yield figure.heatmap(
        title, "reset gate r", "update gate u", values=values[::-1], xs=names, ys=names[::-1], colour="‖∂h'/∂h‖₂"
    )


def _forced(cell, reset, update):
    """The cell whose reset and update gates have these pre-activations, whatever comes in."""
    m = cell.output_size
    bias = jnp.concatenate([jnp.full(m, reset), jnp.full(m, update), jnp.zeros(m)])
    gates = jnp.arange(3 * m)[:, None] < 2 * m
    arrays = (jnp.where(gates, 0, cell.weight_ih), jnp.where(gates, 0, cell.weight_hh), bias)
    return eqx.tree_at(lambda c: (c.weight_ih, c.weight_hh, c.bias), cell, arrays)


@claim(sources=("penn",), shows=("sequences.LSTM", "sequences.GRU"))
def lstm_contains_reset_free_gru(key, units: Int(1, 12) = 5, inputs: Int(1, 6) = 3, steps: Int(1, 60) = 30):
    r"""The LSTM contains the GRU without its reset gate.

    An LSTM that shows c as it is (no tanh), with f = 1 − i and o = 1, is the GRU with r = 1: $W_f = -W_i$ makes f and i
    add up to 1. The reset gate has no counterpart in an LSTM, and there the inclusion ends.

    $$c_t = (1 - i) \odot c_{t-1} + i \odot \tanh(W_g [x_t; h_{t-1}]), \quad h_t = c_t$$

    Why: seen as a function of h for one x, both steps are ratios of exponentials. The poles of the LSTM's lie at
    $w_h h + w_x x + b \in i\pi(k + \tfrac12)$ or twice that, at heights Im h that do not depend on x; those of the
    candidate tanh(x + r(x) w h) of the GRU lie at heights that are proportional to 1/r(x).

    Check: States of both over a sequence. For the other half, one step of an LSTM with one unit fitted to one step of
    a GRU with random weights by least squares, from several random starts: with r = 1 a search gets below 10⁻⁶, which
    shows that it finds what is there; with r = σ(4x) none does.
    """
    rng = data.generator(key)
    gru = sequences.GRU(inputs, units, key=key)
    blocks = [jnp.split(w, 3) for w in (gru.weight_ih, gru.weight_hh)]
    always = jnp.concatenate([jnp.full(units, 40.0), jnp.asarray(0.3 * rng.normal(size=2 * units))])
    free = eqx.tree_at(
        lambda c: (c.weight_ih, c.weight_hh, c.bias),
        gru,
        (*[jnp.concatenate([0 * r, u, n]) for r, u, n in blocks], always),
    )
    _, b_u, b_n = jnp.split(always, 3)
    lstm = eqx.tree_at(
        lambda c: (c.weight_ih, c.weight_hh, c.bias),
        sequences.LSTM(inputs, units, squash=None, key=key),
        (
            *[jnp.concatenate([u, -u, n, 0 * r]) for r, u, n in blocks],
            jnp.concatenate([b_u, -b_u, b_n, jnp.full(units, 40.0)]),
        ),
    )
    xs = jnp.asarray(rng.normal(size=(steps, inputs)))
    ours, theirs = sequences.run(lstm, xs).states.h, sequences.run(free, xs).states
    yield close(ours, theirs, "states of the LSTM with tied gates, against the GRU with r = 1", atol=1e-13)
    control, fitted = (_fit(rng, reset) for reset in (False, True))
    what = f"root mean squared residual of the best of {STARTS} fits of an LSTM step to a GRU step"
    yield at_most(min(control), FOUND, f"{what} with r = 1")
    yield at_least(min(fitted), FOUND, f"{what} with r = σ(4x)", strict=True).given(
        min(control) <= FOUND, "the search finds the fit where there is one"
    )
    order = np.arange(1, STARTS + 1)
    yield figure.curves(
        "An LSTM step fits a GRU step without reset exactly, and one with reset it does not",
        "start, best first",
        "residual",
        points={"r = 1": (order, np.maximum(np.sort(control), 1e-17)), "r = σ(4x)": (order, np.sort(fitted))},
        log="y",
    )


def _fit(rng, reset):
    """The residuals of fits of (h, x) -> h' by one LSTM step with one unit, from random weights."""
    key = jax.random.key(int(rng.integers(2**31)))
    arrays = lambda c: (c.weight_ih, c.weight_hh, c.bias)  # noqa: E731
    gru = sequences.GRU(1, 1, key=key)
    w_x, w_h, b = (jnp.asarray(rng.uniform(0.5, 1.5, 3) * rng.choice([-1.0, 1.0], 3))[:, None] for _ in range(3))
    w_x, w_h, b = w_x.at[0].set(4.0), w_h.at[0].set(0.0), b.at[0].set(0.0)
    if not reset:
        w_x, b = w_x.at[0].set(0), b.at[0].set(FORCED)
    gru = eqx.tree_at(arrays, gru, (w_x, w_h, b[:, 0]))
    hs, xs = jnp.asarray(rng.uniform(-1.5, 1.5, (2, POINTS, 1)))
    targets = jax.vmap(gru.update)(hs, xs)
    lstm = sequences.LSTM(1, 1, squash=None, key=key)

    @jax.jit
    def residuals(theta):
        cell = eqx.tree_at(arrays, lstm, (theta[:4, None], theta[4:8, None], theta[8:]))
        return jax.vmap(lambda h, x, y: cell.update(sequences.LSTMState(h, h), x).h - y)(hs, xs, targets).ravel()

    jacobian = jax.jit(jax.jacobian(residuals))
    found = []
    for start in range(STARTS):
        theta = rng.normal(size=12)
        if start % 2:  # every other search begins near f = 1 - i and o = 1, where a GRU without reset lies
            theta[[1, 5, 9]], theta[[3, 7, 11]] = -theta[[0, 4, 8]], (0.0, 0.0, 5.0)
        fit = least_squares(residuals, theta, jacobian, max_nfev=200, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        found.append(np.sqrt(np.mean(fit.fun**2)))
    return found
