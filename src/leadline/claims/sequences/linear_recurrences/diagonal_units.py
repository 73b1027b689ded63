"""The linear recurrent unit: complex eigenvalues that cannot leave the unit disc."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training
from leadline.evidence import Int, Real, at_least, at_most, close, distributed_as, mean, model
from leadline.presentation import figure
from leadline.presentation.figure.chain_pictures import eigenvalue_plane

PATHS = 4000
UPDATES = 10_000
ROWS, EPOCHS, DELAY, LENGTH = 512, 30, 8, 24  # of the task on which eigenvalues are moved


@model(sources=("eth",), shows=("sequences.LRU", "sequences.ResidualBlock", "sequences.linear_recurrence"))
def lru(
    key,
    units: Int(8, 128) = 32,
    steps: Int(16, 400) = 200,
    r_min: Real(0.0, 0.9) = 0.4,
    r_max: Real(0.91, 0.999) = 0.99,
):
    r"""The linear recurrent unit.

    A diagonal complex recurrence whose eigenvalues are written so that no step of an optimiser takes them out of the
    unit disc: |λ| = exp(−exp ν) < 1 for every real ν. The factor γ makes white inputs of variance 1 into states of
    variance 1, where without it they have 1/(1 − |λ|²). At the start the eigenvalues lie in a ring, uniformly by area.

    $$\zeta_t = \lambda \odot \zeta_{t-1} + \gamma \odot C x_t, \quad \lambda = e^{-e^{\nu} + i\varphi}, \quad \gamma =
    \sqrt{1 - |\lambda|^2}, \qquad y_t = x_t + \mathrm{MLP}(\mathrm{Re}(G \zeta_t) + D x_t)$$

    Check: The polar form; loop against scan, of the unit and of its residual block; means of $|\zeta_T|^2$ over 4000
    paths, against the closed form at T; 10⁴ random updates of ν and φ, and of λ itself; the areas of the start.
    """
    rng = data.generator(key)
    cell = sequences.LRU(3, units, r_min=r_min, r_max=r_max, key=key)
    radii, phases = np.exp(-np.exp(np.asarray(cell.log_decay))), np.asarray(cell.phase)
    eigenvalues = np.asarray(cell.eigenvalues())
    yield close(eigenvalues.real, radii * np.cos(phases), "Re λ, against r cos φ", atol=1e-14)
    yield close(eigenvalues.imag, radii * np.sin(phases), "Im λ, against r sin φ", atol=1e-14)
    many = sequences.LRU(1, 4096, r_min=r_min, r_max=r_max, key=jax.random.fold_in(key, 1)).eigenvalues()
    share = (np.abs(np.asarray(many)) ** 2 - r_min**2) / (r_max**2 - r_min**2)
    yield distributed_as(share, lambda u: np.clip(u, 0, 1), "share of the ring's area inside each |λ|: uniform")
    xs = jnp.asarray(rng.normal(size=(steps, 3)))
    block = sequences.ResidualBlock(cell, key=key)
    for name, one in (("unit", cell), ("block", block)):
        looped, scanned = (jax.vmap(one.predict)(sequences.run(one, xs, parallel=p).states) for p in (False, True))
        yield close(
            scanned, looped, f"outputs of the {name} by a parallel scan, against a loop", rtol=1e-10, atol=1e-11
        )
    yield from _variances(rng, key, r_min, r_max, steps)
    walked, free = _walks(rng, cell)
    yield at_most(np.abs(walked).max(), 1.0, f"largest |λ| within {UPDATES} random updates of ν and φ")
    yield at_least(np.abs(free).max(), 1.0, f"largest |λ| within {UPDATES} random updates of λ itself", strict=True)
    yield at_most(cell.saturated(), 0, "units whose |λ| rounds to 0 or 1 at the start")
    shut = eqx.tree_at(lambda c: c.log_decay, cell, jnp.full(units, -40.0).at[0].set(0.0))
    yield at_least(shut.saturated(), units - 1, "units said to be saturated where ν = −40, |λ| = 1 to rounding")
    before, after = _trained(key)
    title = f"Eigenvalues before and after learning to repeat what was heard {DELAY} steps ago"
    yield eigenvalue_plane(title, {"before": before, "after": after})
    yield figure.histogram(
        "Areas of the start are uniform",
        "(|λ|² − r_min²)/(r_max² − r_min²)",
        samples={"4096 eigenvalues": share},
        bins=20,
    )


def _variances(rng, key, r_min, r_max, steps):
    """E |ζ_T|² of one unit with C = 1 on white noise: 1 - |λ|^{2T} with γ, and (1 - |λ|^{2T})/(1 - |λ|²) without."""
    noise = jnp.asarray(rng.normal(size=(PATHS, steps, 1)))
    for normalised, name in ((True, "with γ"), (False, "without γ")):
        unit = sequences.LRU(1, 1, r_min=r_min, r_max=r_max, normalised=normalised, key=key)
        unit = eqx.tree_at(lambda c: c.input_weight, unit, jnp.array([1.0, 0.0])[:, None, None])
        last = jax.jit(jax.vmap(lambda x, c=unit: sequences.run(c, x).last))(noise)
        r2 = float(np.abs(unit.eigenvalues()[0]) ** 2)
        expected = (1 - r2**steps) / (1.0 if normalised else 1 - r2)
        what = f"mean of |ζ_T|² {name} after {steps} white inputs, |λ| = {np.sqrt(r2):.3f}"
        yield mean(np.abs(np.asarray(last)[:, 0]) ** 2, expected, what)


def _walks(rng, cell):
    """Eigenvalues on the way of many random updates: of (ν, φ), and of the numbers themselves."""
    moves = 0.05 * rng.normal(size=(2, UPDATES, cell.hidden_size)).cumsum(1)
    by_parts = jax.vmap(
        lambda nu, phi: eqx.tree_at(
            lambda c: (c.log_decay, c.phase), cell, (cell.log_decay + nu, cell.phase + phi)
        ).eigenvalues()
    )(*jnp.asarray(moves))
    return np.asarray(by_parts), np.asarray(cell.eigenvalues()) + moves[0] + 1j * moves[1]


def _trained(key):
    """The eigenvalues of a small network before and after training on delayed recall."""
    keys = jax.random.split(key, 4)
    cell = sequences.LRU(1, 24, 8, r_min=0.4, r_max=0.9, dtype=jnp.float32, key=keys[0])
    net = sequences.SequenceNetwork(cell, 2, key=keys[1])
    bits = sequences.shifted_bits(ROWS, LENGTH, DELAY, key=keys[2])
    task = sequences.Sequences(jnp.asarray(bits.inputs, jnp.float32), bits.labels, asked=bits.asked)
    run = training.fit(
        net,
        task,
        objective=sequences.SequenceObjective(),
        optimiser=optax.adam(0.01),
        epochs=EPOCHS,
        batch=32,
        key=keys[3],
    )
    return np.asarray(cell.eigenvalues()), np.asarray(run.model.cell.eigenvalues())
