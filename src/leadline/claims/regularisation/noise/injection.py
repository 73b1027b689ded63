"""Noise that is drawn anew at every step of training, and is off when a network is judged."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, regularisation, training
from leadline.evidence import Int, Real, close, exactly, frequency, mean, method
from leadline.presentation import figure


@method(sources=("sheet",), shows=("regularisation.NoiseInjection",))
def noise_injection(
    key,
    inputs: Real(0.01, 1.0, log=True) = 0.3,
    weights: Real(0.01, 1.0, log=True) = 0.1,
    flips: Real(0.0, 0.9) = 0.2,
    classes: Int(2, 12) = 10,
):
    r"""Noise injection.

    During training Gaussian noise is added to inputs, to weights (one draw for a batch) or to targets, or labels are
    with probability p drawn anew; each step has its own noise, whose size may follow a schedule. It is off when the
    network is judged.

    $$\theta_{t+1} = \theta_t - \eta \nabla_\theta\, l\big(f(x + s_t \xi_t;\, \theta_t + \sigma_t \zeta_t),\, \tilde
    y_t\big), \qquad \xi_t, \zeta_t \sim N(0, I)$$

    Assumes: the noise of different steps is independent.

    Check: Networks whose loss is a known function of the noise show its moments. In a run of `fit` on a noisy sine,
    with noise that is annealed to 0, the validation loss is that of the network without noise.
    """
    keys = jax.random.split(key, 5)
    x = jnp.asarray(data.generator(keys[0]).normal(size=(4000, 3)))
    first = x[:, :1]

    def losses(noise, model, targets, own):
        return np.asarray(noise(model, (x, targets), own, None)[0].losses)

    noisy = regularisation.NoiseInjection("squared", inputs=inputs)
    found = losses(noisy, lambda row: row[:1], first, keys[1])
    yield mean(found, inputs**2, "inputs: mean square of the noise in one input, against s²")
    zero = eqx.tree_at(lambda m: m.weight, eqx.nn.Linear(3, 1, use_bias=False, key=keys[1]), jnp.zeros((1, 3)))
    noisy = regularisation.NoiseInjection("squared", weights=weights)
    rows = jnp.eye(3)[:1]
    each = jax.jit(jax.vmap(lambda k: noisy(zero, (rows, jnp.zeros((1, 1))), k, None)[0].losses[0]))
    found = np.asarray(each(jax.random.split(keys[2], 4000)))
    yield mean(found, weights**2, "weights: mean square of the noise in one weight, against σ²")
    noisy = regularisation.NoiseInjection("squared", targets=inputs)
    found = losses(noisy, lambda row: row[:1], first, keys[3])
    yield mean(found, inputs**2, "targets: mean square of the noise, against s²")
    labels = jnp.arange(4000) % classes
    noisy = regularisation.NoiseInjection(targets=flips)
    right = noisy(lambda label: 9.0 * jax.nn.one_hot(label, classes), (labels, labels), keys[4], None)[0].aux
    kept = int(np.sum(right["accuracy"]))
    what = "labels that are kept, against 1 − p(C − 1)/C"
    yield frequency(kept, 4000, 1 - flips * (classes - 1) / classes, what)
    yield from _annealed_run(key, inputs)


def _annealed_run(key, scale):
    rng = data.generator(key)
    x = rng.uniform(-1, 1, (96, 1)).astype(np.float32)
    y = (np.sin(np.pi * x[:, 0]) + 0.2 * rng.normal(size=96)).astype(np.float32)
    train, held = (x[:64], y[:64]), (x[64:], y[64:])
    network = networks.MLP((1, 32, 1), "tanh", dtype=jnp.float32, key=key)
    epochs = 80
    noisy = regularisation.NoiseInjection("squared", inputs=optax.linear_schedule(scale, 0.0, 2 * epochs))
    options = {"optimiser": optax.adam(0.02), "epochs": epochs, "batch": 32, "validation": held, "key": key}
    run = training.fit(network, train, objective=noisy, state=jnp.array(0), **options)
    yield exactly(run.state, 2 * epochs, "steps that the schedule of the noise has counted, against those of the run")
    outputs = jax.vmap(run.model)(jnp.asarray(held[0]))[:, 0]
    what = "last validation loss of the run with noise, against the network without"
    yield close(run.history["validation_loss"][-1], np.mean((np.asarray(outputs) - held[1]) ** 2), what, rtol=1e-5)
    steps = 1 + np.arange(epochs)
    points = {
        "training, with noise": (steps, run.history["loss"]),
        "validation, without": (steps, run.history["validation_loss"]),
    }
    title = f"Noise of size {scale:g} is annealed to 0; validation never sees it"
    yield figure.curves(title, "epoch", "mean squared error", points=points, log="y")
