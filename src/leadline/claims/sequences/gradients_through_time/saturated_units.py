"""Saturated gates and units, and the gradients that they cost."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, Real, close, exactly, instrument
from leadline.presentation import figure


@instrument(sources=("penn",), shows=("sequences.saturation", "sequences.unit_values"))
def gate_and_unit_saturation(
    key, weight: Real(0.2, 2.0) = 1.2, steps: Int(5, 80) = 30, units: Int(2, 32) = 8, drive: Real(0.1, 4.0) = 1.5
):
    r"""Saturated gates and units.

    At each step, the share of units beyond ±0.95 (tanh) or outside 0.025 to 0.975 (logistic), and their mean slope.
    Every gradient that passes a unit is multiplied by its slope: of a single unit, the product of the slopes and the
    weights is the gradient. Units that never leave one end are stuck, and are named.

    $$\frac{\partial z_T}{\partial z_{T-k}} = \prod_{t = T-k+1}^{T} \varphi'(a_t)\, u, \qquad \varphi' = 1 - h^2
    \text{ or } s(1 - s)$$

    Assumes: the gates and units are logistic functions or hyperbolic tangents.

    Check: Pre-activations that are forced, whose shares are counted; a tanh unit whose gradient is compared with the
    product of its slopes; an LSTM whose forget gates are set wide open.
    """
    rng = data.generator(key)
    forced = rng.normal(size=(5, steps, units)) * 3 * drive
    for kind, values, limits in (
        ("tanh", np.tanh(forced), (np.arctanh(0.95),)),
        ("logistic", 1 / (1 + np.exp(-forced)), (np.log(0.975 / 0.025),)),
    ):
        found = sequences.saturation(values, kind)
        counted = (np.abs(forced) > limits[0]).sum(axis=(0, 2))
        what = f"{kind} units with forced pre-activations: saturated ones at each step"
        yield exactly(np.rint(found.share * 5 * units).astype(int), counted, what)
    cell = sequences.Elman(1, 1, "tanh", bias=False, key=key)
    cell = eqx.tree_at(
        lambda c: (c.recurrent_weight, c.input_weight), cell, (jnp.full((1, 1), weight), jnp.ones((1, 1)))
    )
    x = jnp.asarray(drive * rng.normal(size=(1, steps, 1)))
    (unit,) = sequences.unit_values(cell.update, cell.init(), x)
    slopes = sequences.saturation(unit.values, "tanh").slope
    predicted = np.concatenate([[0.0], np.cumsum(np.log(weight * slopes)[::-1])])
    lags = np.arange(steps + 1)
    measured = sequences.jacobian_product_norms(cell.update, cell.init(), x[0], lags)
    size = np.abs(np.log(slopes)).sum() + 1
    what = "one tanh unit: log gradient against lag, by the product of its slopes and by differentiation"
    # 1 - h² has lost digits where the unit is saturated: h is known to 1e-16, so that the slope is known to 2e-16.
    yield close(measured, predicted, what, atol=1e-9 * size + float(np.sum(1e-14 / slopes)))
    gated = sequences.LSTM(2, units, key=key)
    bias = gated.bias.at[units : 2 * units].set(20.0)  # input, forget, candidate, output
    gated = eqx.tree_at(lambda c: c.bias, gated, bias)
    rows = jnp.asarray(rng.normal(size=(4, steps, 2)))
    gates = {
        u.name: sequences.saturation(u.values, u.kind) for u in sequences.unit_values(gated.update, gated.init(), rows)
    }
    yield exactly(int(gates["logistic 2"].stuck.sum()), units, "LSTM with forget biases of 20: stuck forget gates")
    yield exactly(int(gates["logistic 1"].stuck.sum()), 0, "the same LSTM: stuck input gates")
    by_hand = jax.vmap(lambda row: _forget_gates(gated, row))(rows)
    seen = next(u.values for u in sequences.unit_values(gated.update, gated.init(), rows) if u.name == "logistic 2")
    yield close(seen, by_hand, "the same LSTM: forget gates as traced, against the cell's own", atol=1e-12)
    times = np.arange(1, steps + 1)
    left = figure.curves(
        "one tanh unit",
        "lag",
        "log gradient",
        lines={"product of slopes": (lags, predicted)},
        points={"measured": (lags, measured)},
    )
    right = figure.curves(
        "an LSTM with open forget gates",
        "step",
        "share of saturated units",
        points={name: (times, gate.share) for name, gate in gates.items()},
    )
    title = f"The slopes of one unit explain its gradient; {units} of {units} forget gates are stuck open"
    yield figure.beside(title, left, right)


def _forget_gates(cell, row):
    def step(state, x):
        into = cell.project(x)
        return cell.advance(state, into), cell.gates(state, into).forget

    return jax.lax.scan(step, cell.init(), row)[1]
