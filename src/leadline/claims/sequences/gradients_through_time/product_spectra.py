"""The instrument: all singular values of Jacobian products, Lyapunov spectra, and how training changes them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, sequences, training
from leadline.evidence import Int, at_most, close, instrument
from leadline.presentation import figure

STEPS, EVERY = 240, 40


@instrument(sources=("eth", "penn"), shows=("sequences.jacobian_product_spectrum", "sequences.lyapunov_exponents"))
def jacobian_product_spectrum(key, units: Int(2, 16) = 6, steps: Int(20, 200) = 60):
    r"""The spectrum of Jacobian products.

    For any recurrence: all singular values of the Jacobian from one state to another against the lag, on a logarithmic
    scale however far apart they are, and the Lyapunov exponents, their growth rates. The exponents sum to the mean
    logarithm of the determinant of one step.

    $$\lambda_i = \lim_{k \to \infty} \tfrac1k \log \sigma_i(J_k \cdots J_1), \qquad \sum_i \lambda_i = \tfrac1T
    \sum_t \log |\det J_t|$$

    Assumes: the recurrence is differentiable along its path.

    Check: A diagonal linear system has the logarithms of its entries; a GRU is compared with determinants and, for a
    short product, with its own singular values. Then the gradient of a tanh network is followed through training.
    """
    rng = data.generator(key)
    entries = jnp.asarray(np.sort(rng.uniform(0.05, 1.5, units))[::-1].copy())
    x = jnp.asarray(rng.normal(size=(steps, 2)))
    found = sequences.jacobian_product_spectrum(lambda z, x: entries * z + x[0], jnp.zeros(units), x, (1, steps))
    logs = np.log(np.asarray(entries))
    yield close(found.exponents, logs, "diagonal linear system: exponents, against log|λ|", atol=1e-10)
    what = f"the same: log of all singular values over {steps} steps"
    yield close(found.log_singular_values[1], steps * logs, what, atol=1e-8)
    cell = sequences.GRU(2, units, key=key)
    exponents = sequences.lyapunov_exponents(cell.update, cell.init(), x)
    J = np.asarray(sequences.state_jacobians(cell.update, cell.init(), x))
    determinants = np.linalg.slogdet(J)[1]
    what = "GRU: sum of all exponents, against the mean of log|det J|"
    yield close(exponents.sum(), determinants.mean(), what, atol=1e-9 * units)
    first = sequences.lyapunov_exponents(cell.update, cell.init(), x, count=1)
    top = sequences.jacobian_product_norms(cell.update, cell.init(), x, (steps,))[0] / steps
    what = "GRU: largest exponent by one vector, against log norm of the whole product per step"
    yield at_most(first[0], top, what, atol=1e-9)
    short = 4
    spectrum = sequences.jacobian_product_spectrum(cell.update, cell.init(), x[:short], (short,))
    direct = np.log(np.linalg.svd(np.linalg.multi_dot(J[:short][::-1]), compute_uv=False))
    what = f"GRU: log singular values over {short} steps, against those of the product itself"
    yield close(spectrum.log_singular_values[0], direct, what, atol=1e-6)
    lags, heat, accuracy = _followed(key)
    yield figure.heatmap(
        f"Gradients against the lag in training: accuracy {accuracy[0]:.2f} at first, {accuracy[-1]:.2f} at last",
        "lag",
        "training step",
        values=heat,
        xs=lags,
        ys=[i * EVERY for i in range(len(heat))],
        colour="log gradient, relative",
    )


def _followed(key, lag=8, units=16):
    """log ‖∂l/∂z‖ against lag, relative, of a tanh network that learns to recall, at several steps of training."""
    cell = sequences.Elman(2, units, "tanh", gain=0.9, key=key)
    net = sequences.SequenceNetwork(cell, 2, reading="last", key=key)
    rows = sequences.recall_task(64, lag, key=jax.random.fold_in(key, 1))

    def objective(net, batch, key, state):
        task = sequences.recall_task(64, lag, key=key)
        return learning.cross_entropy(jax.vmap(net)(task.inputs), task.labels), state

    ran = eqx.filter_jit(
        lambda net: training.scan_steps(
            objective,
            net,
            optax.adam(1e-2),
            None,
            num_steps=STEPS,
            key=key,
            record=lambda seen: seen.before.parameters,
            every=EVERY,
        )
    )(net)
    still = eqx.partition(net, eqx.is_inexact_array)[1]
    heat, accuracy = [], []
    for i in range(STEPS // EVERY):
        now = eqx.combine(jax.tree.map(lambda leaf, i=i: leaf[i], ran.recorded), still)
        moved = sequences.gradient_transport(now, rows.inputs, rows.labels, learning.cross_entropy)
        heat.append((moved - moved[:, :1]).mean(axis=0))  # relative to the last state: the loss itself falls
        accuracy.append(float((jax.vmap(now)(rows.inputs).argmax(-1) == rows.labels).mean()))
    return list(range(lag + 2)), np.array(heat), accuracy
