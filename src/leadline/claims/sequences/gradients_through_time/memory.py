"""How far back a model sees: three curves against the lag."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, Real, at_most, close, exactly, instrument
from leadline.presentation import figure


@instrument(
    sources=("penn", "sheet"),
    shows=("sequences.memory_bench", "sequences.gradient_transport", "sequences.influence", "sequences.horizon"),
)
def memory_horizon(key, weight: Real(0.3, 0.97) = 0.9, steps: Int(10, 60) = 30, register: Int(2, 16) = 8):
    r"""The memory horizon.

    Three curves against the lag k: how much of the gradient of the last loss reaches the state k steps before, how much
    the last output moves with the input k steps before, and how well that input can be recalled. The horizon is the
    largest lag at half of the value at lag 1. Of one linear unit all three decay as the k-th power of its weight.

    $$\left| \frac{\partial l_T}{\partial z_{T-k}} \right|, \quad \left| \frac{\partial \hat y_T}{\partial x_{T-k}}
    \right|, \quad \operatorname{corr}(\hat y_T, x_{T-k}) \;\propto\; w^k$$

    Assumes: for the recall of one unit, inputs that are uncorrelated over time.

    Check: One linear unit with inputs whose sample covariance is exactly the identity. Then a register that shifts: its
    recall is perfect up to its size and nil beyond, which is capacity; what training makes of it is another matter.
    """
    rng = data.generator(key)
    cell = sequences.Elman(1, 1, "identity", bias=False, key=key)
    cell = eqx.tree_at(
        lambda c: (c.recurrent_weight, c.input_weight), cell, (jnp.full((1, 1), weight), jnp.full((1, 1), 0.7))
    )
    Q = np.linalg.qr(rng.normal(size=(steps, steps)))[0]
    x = np.concatenate([Q, -Q]) * np.sqrt(steps)  # mean 0, covariance the identity
    inputs = jnp.asarray(x[:, :, None])
    lags = np.arange(steps)
    report = sequences.memory_bench(cell, inputs)
    gradient = np.exp(report.gradient - report.gradient[0])
    yield close(gradient, weight ** np.arange(steps + 1), "linear unit: gradient against lag, relative", rtol=1e-9)
    seen = np.exp(report.influence)
    yield close(seen, 0.7 * weight**lags, "linear unit: influence against lag", rtol=1e-9)
    outputs = _last_states(cell, inputs)
    recall = sequences.recall_correlation(outputs, x, lags)
    scale = np.sqrt((1 - weight**2) / (1 - weight ** (2 * steps)))
    yield close(
        recall, scale * weight**lags, "linear unit: correlation of the output with the input", rtol=1e-8, atol=1e-13
    )
    expected = min(1 + int(np.floor(np.log(0.5) / np.log(weight) + 1e-9)), steps)
    found = [report.gradient_horizon, sequences.horizon(seen), sequences.horizon(recall)]
    inner = min(expected, steps - 1)
    yield exactly(found, [expected, inner, inner], "horizons by gradient, influence and recall")
    yield close(report.exponents[0], np.log(weight), "linear unit: Lyapunov exponent", atol=1e-9)
    shift = np.eye(register, k=-1)
    held = sequences.Elman(1, register, "identity", bias=False, key=key)
    first = jnp.zeros((register, 1)).at[0].set(1.0)
    held = eqx.tree_at(lambda c: (c.recurrent_weight, c.input_weight), held, (jnp.asarray(shift), first))
    remembered = sequences.recall_correlation(_last_states(held, inputs), x, lags)
    inside = lags < register
    yield close(remembered[inside], 1.0, f"register of {register}: recall within its size", atol=1e-9)
    if (~inside).any():
        yield at_most(remembered[~inside], 1e-9, f"register of {register}: recall beyond its size")
    yield close((remembered**2).sum(), min(register, steps), "register: sum of squared recall, its capacity", rtol=1e-8)
    yield figure.curves(
        f"One linear unit of weight {weight:g} sees {expected} steps back, a register of {register} exactly {register}",
        "lag k",
        "relative to lag 0",
        lines={"wᵏ": (lags, weight**lags)},
        points={
            "gradient": (lags, gradient[:-1]),
            "influence": (lags, seen / seen[0]),
            "recall": (lags, recall / recall[0]),
            "register, recall": (lags, remembered),
        },
    )


def _last_states(cell, inputs):
    return np.asarray(jax.vmap(lambda row: sequences.run(cell, row).last)(inputs))
