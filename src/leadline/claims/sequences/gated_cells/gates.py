"""A gate as a soft Boolean, and how long a gated state remembers."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, method, reference
from leadline.presentation import figure

BIASES = (0.0, 1.0, 3.0, 5.0)


@method(sources=("eth", "sheet", "penn"), shows=("sequences.soft_gate", "sequences.memory_half_life"))
def gating(key, bias: Real(-3.0, 7.0) = 2.0, units: Int(1, 32) = 8, temperature: Real(0.05, 5.0, log=True) = 0.5):
    r"""Gating.

    A gate multiplies each unit by a number between 0 and 1 that a control input ζ decides: a Boolean that can be
    learnt. It is never exactly 0 or 1, and where it is close its gradient s(1 − s) vanishes. A low temperature makes it
    harder; the straight-through form is a step with the soft gate's gradient. A state that passes a constant gate s at
    every step has lost half of itself after ln 2/(−ln s) steps.

    $$z \leftarrow \sigma(G\zeta) \odot z, \qquad t_{1/2} = \frac{\ln 2}{-\ln s}$$

    Check: The first step at which a cell with a constant gate has at most half of its first state; gradients against
    s(1 − s)z; the half-lives of four forget biases.
    """
    rng = data.generator(key)
    control, z = jnp.asarray(3 * rng.normal(size=units)), jnp.asarray(rng.normal(size=units))
    s = 1 / (1 + np.exp(-np.asarray(control) / temperature))
    let_through = sequences.soft_gate(control, z, temperature=temperature)
    yield close(let_through, s * z, "what a gate at this temperature lets through, against σ(ζ/τ) z", rtol=1e-12)
    soft, hard = (
        jax.grad(lambda c, h=h: sequences.soft_gate(c, z, temperature=temperature, straight_through=h).sum())(control)
        for h in (False, True)
    )
    slope = s * (1 - s) * np.asarray(z) / temperature
    scale = np.abs(z).max() / temperature
    yield close(soft, slope, "gradient with respect to ζ, against s(1 − s) z/τ", rtol=1e-9, atol=1e-15 * scale)
    yield close(hard, soft, "gradient of the straight-through gate, against the soft one's", rtol=1e-12)
    step = sequences.soft_gate(control, jnp.ones(units), temperature=temperature, straight_through=True)
    yield close(step, np.asarray(control) > 0, "values of the straight-through gate: 0 or 1", atol=1e-15)
    wide = jnp.asarray([-700.0, -30.0, 30.0, 700.0])
    least = jnp.minimum(jax.nn.sigmoid(wide), jax.nn.sigmoid(-wide))
    yield at_least(least, 0.0, "smaller one of s and 1 − s up to |ζ| = 700", strict=True)
    slopes = jax.vmap(jax.grad(jax.nn.sigmoid))(wide[:2])
    yield at_most(slopes, np.exp(wide[:2]), "slope of a gate that is shut, ζ = −700 and −30, against e^ζ", rtol=1e-12)
    curves = {b: _memory(b) for b in (*BIASES, bias)}
    half = np.array([float(sequences.memory_half_life(jax.nn.sigmoid(b))) for b in curves])
    passed = [int(np.argmax(values <= 0.5)) for values in curves.values()]
    what = "first step at which half of a state is gone behind a gate σ(b), against ⌈ln 2/(−ln σ(b))⌉"
    yield exactly(passed, np.ceil(half * (1 - 1e-12)).astype(int), what)
    yield reference(half[:1], 1.0, "half-life at the bias 0", digits=3)
    yield reference(half[1:4], (2.21, 14.3, 103), "half-lives at the biases 1, 3 and 5", digits=3)
    steps = np.arange(101)
    yield figure.curves(
        f"Behind a gate σ(b) half of a state is left after {half[1]:.1f} steps at b = 1 and {half[3]:.0f} at b = 5",
        "steps",
        "share of the first state",
        lines={f"b = {b:g}": (steps, values[: len(steps)]) for b, values in curves.items()},
        rules={"half": ("y", 0.5)},
    )


def _memory(bias, steps=2000):
    """The state of a cell that keeps σ(bias) of it at each step and gets nothing new; from 1, with the start."""
    cell = sequences.MinGRU(1, 1, keep_bias=bias, key=jax.random.key(0))
    states = sequences.run(cell, jnp.zeros((steps, 1)), jnp.ones(1), parallel=False).states
    return np.concatenate([[1.0], np.asarray(states)[:, 0]])
