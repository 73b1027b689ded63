"""What the first state of a recurrent network matters, and for how long."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, sequences, training
from leadline.evidence import Int, Real, at_most, claim
from leadline.presentation import figure

ROWS = 400  # sequences on which losses are measured
STARTS = ("zeros", "Gaussian noise", "learned")
FORGOTTEN = 1e-3
EARLY = 20  # steps on which the first state is learned


@claim(sources=("penn",), shows=("sequences.Elman", "sequences.SequenceNetwork"))
def initial_state_choice(key, top: Real(0.5, 1.5) = 0.9, units: Int(2, 24) = 16, steps: Int(10, 150) = 100):
    r"""The first state is arbitrary: a contracting network forgets it.

    Zeros, noise or a learned vector: with α the largest slope of φ and σ₁ the largest singular value of U, two states
    differ after t steps by at most (ασ₁)ᵗ times what they differed by at first. For ασ₁ < 1 only the first steps
    notice.

    $$\left\| \frac{\partial z_t}{\partial z_0} \right\|_2 \le (\alpha\, \sigma_1(U))^t$$

    Assumes: for the part on losses, ασ₁ < 1, and sequences longer than t* with $(\alpha\sigma_1)^{t^*} < 10^{-3}$.

    Check: Jacobians of a tanh network (α = 1) with random inputs; mean squared errors at each step of networks that
    give the sum of the last three inputs, read out by least squares from states that begin at zeros.
    """
    rng = data.generator(key)
    keys = jax.random.split(key, 3)
    cell = sequences.Elman(1, units, "tanh", key=keys[0])
    scaled = cell.recurrent_weight @ jnp.diag(jnp.asarray(rng.uniform(0.3, 1.0, units)).at[0].set(1.0)) * top
    cell = eqx.tree_at(lambda c: c.recurrent_weight, cell, scaled)
    xs = jnp.asarray(rng.normal(size=(steps, 1)))
    jacobians = jax.jacobian(lambda z: sequences.run(cell, xs, z).states)(jnp.asarray(rng.normal(size=units)))
    norms, times = np.linalg.norm(np.asarray(jacobians), 2, axis=(1, 2)), np.arange(1, steps + 1)
    bound = top**times
    what = "spectral norm of ∂z_t/∂z_0 at every step, against (ασ₁)ᵗ"
    yield at_most(norms, bound, what, rtol=1e-10)
    losses = _losses(cell, keys[1:3], steps)
    late = bound < FORGOTTEN
    contracting = late.any()
    for other in STARTS[1:]:
        gap = np.abs((losses[other] - losses["zeros"]).mean(0)[late]) if late.any() else np.zeros(1)
        error = losses["zeros"].std(0, ddof=1)[late] / np.sqrt(ROWS) if late.any() else np.ones(1)
        what = f"{other}: gap of the loss to that from zeros where (ασ₁)ᵗ < 10⁻³, in standard errors of the loss"
        yield at_most(gap / error, 1.0, what).given(contracting, "the network contracts within these sequences")
    yield figure.beside(
        "The choice of the first state is felt for the first steps",
        figure.curves(
            "influence of the first state",
            "step t",
            "‖∂z_t/∂z_0‖₂",
            lines={"(ασ₁)ᵗ": (times, bound)},
            points={"measured": (times, norms)},
            log="y",
        ),
        figure.curves(
            "loss by position",
            "step t",
            "mean squared error",
            lines={name: (times, of.mean(0)) for name, of in losses.items()},
        ),
    )


def _losses(cell, keys, steps):
    """The squared errors (rows, steps) from each start on the same new sequences, the read-out by least squares."""
    train, fresh = (jax.random.normal(k, (ROWS, steps, 1)) for k in jax.random.split(keys[0]))
    noise = jax.random.normal(keys[1], (ROWS, cell.output_size))
    zeros = jnp.zeros_like(noise)
    early = min(steps, EARLY)
    read = _read_out(_states(cell, train, zeros), train)
    start, _ = training.minimise(
        _error_from, cell.init(), optax.adam(0.1), 40, cell, read, train[:, :early], _sums(train)[:, :early]
    )
    starts = {"zeros": zeros, "Gaussian noise": noise, "learned": jnp.broadcast_to(start, zeros.shape)}
    return {
        name: np.asarray((_states(cell, fresh, of_rows) @ read - _sums(fresh)) ** 2) for name, of_rows in starts.items()
    }


def _states(cell, xs, starts):
    return jax.vmap(lambda x, z: sequences.run(cell, x, z).states)(xs, starts)


def _sums(xs):
    """The sum of the last three inputs, at every step."""
    padded = jnp.pad(xs[..., 0], ((0, 0), (2, 0)))
    return padded[:, 2:] + padded[:, 1:-1] + padded[:, :-2]


def _read_out(states, xs):
    rows = states.reshape(-1, states.shape[-1])
    return jnp.linalg.lstsq(rows, _sums(xs).ravel())[0]


def _error_from(start, cell, read, xs, sums):
    starts = jnp.broadcast_to(start, (len(xs), len(start)))
    return jnp.mean((_states(cell, xs, starts) @ read - sums) ** 2)
