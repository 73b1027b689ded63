"""The affine part of batch normalisation: what gain and shift are worth, and how noisy their gradients are."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import (
    affine_parts,
    cross_entropy,
    dense_maker,
    digit_part,
    logits,
    recalibrated,
    trained,
)
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, Real, claim, close, slope
from leadline.presentation import figure

ARMS = {"both": (1, 1), "no shift": (1, 0), "no gain": (0, 1), "neither": (0, 0)}  # whether gain, shift are trained


def _ablations(key, arms, *, seeds, num_steps, batch):
    """For each arm the test losses of `seeds` networks 64-32-32-10 whose gains or shifts may stay at 1 and 0."""
    part = digit_part(300)
    make = dense_maker((64, 32, 32, 10), normalisation="batch")

    def run(gain, shift):
        def held(net, key):
            shares = [gain, shift] * len(net.normalisations)
            kept = [_scaled_gradient(part, share) for part, share in zip(affine_parts(net), shares, strict=True)]
            return eqx.tree_at(affine_parts, net, kept)

        nets, states, _ = trained(key, make, part, seeds=seeds, num_steps=num_steps, batch=batch, wrap=held)
        return logits(nets, recalibrated(nets, states, part.x), part.test_x)

    marks = jnp.asarray([ARMS[name] for name in arms], jnp.float32)
    outputs = eqx.filter_jit(eqx.filter_vmap(run))(marks[:, 0], marks[:, 1])
    return {name: cross_entropy(out, part.test_y) for name, out in zip(arms, outputs, strict=True)}


def _scaled_gradient(values, share):
    """The values, with their gradient multiplied by the share."""
    return share * values + (1 - share) * jax.lax.stop_gradient(values)


@claim(sources=("eth",), empirical=True, shows=("regularisation.BatchNorm",))
def batch_norm_gain_versus_shift(key, seeds: Int(5, 40) = 20, num_steps: Int(50, 400) = 150):
    r"""Gain against shift of batch normalisation.

    Removing the shift of batch normalisation costs less than removing its gain: the test loss without the shift is
    below that without the gain.

    $$y = \gamma \hat h + \beta: \qquad \mathbb{E}\, l(\beta = 0) < \mathbb{E}\, l(\gamma = 1)$$

    Assumes: plain SGD at 0.1, batches of 32.

    Check: Four ablations of networks 64-32-32-10 on 300 digits, the same starts and batches in each, paired by seed;
    test loss on 500 others, buffers recalibrated.
    """
    losses = _ablations(key, tuple(ARMS), seeds=seeds, num_steps=num_steps, batch=32)
    pair = losses["no gain"], losses["no shift"]
    yield paired_excess(*pair, "test loss without the gain less that without the shift", level=0.99)
    more = regularisation.paired_difference(*pair, level=0.99)
    seen = "" if more.low > 0 else ", which is not confirmed"
    half = {name: 2 * values.std(ddof=1) / np.sqrt(seeds) for name, values in losses.items()}
    points = {
        "test loss": {
            name: (float(v.mean()), float(v.mean() - half[name]), float(v.mean() + half[name]))
            for name, v in losses.items()
        }
    }
    title = (
        f"Without the gain the test loss is {more.mean:.4f} ({more.low:.4f} to {more.high:.4f}) above that without the "
        f"shift{seen}"
    )
    yield figure.categories(title, "trained part", "test loss, mean ± 2 standard errors", points=points)


@claim(sources=("penn",), shows=("regularisation.set_batch_norm_buffers",))
def batch_norm_affine_instability(
    key, deviation: Real(0.01, 10.0, log=True) = 0.1, epsilon: Real(1e-8, 1e-2, log=True) = 1e-5, seeds: Int(4, 20) = 8
):
    r"""Noise of batch statistics in the affine part.

    An error in the batch's mean moves the normalised value by −1/√(σ² + ε) times itself: a small σ magnifies it. The
    gradients of gain and shift are means over the batch, so that their variance falls as one over its size, and small
    batches train the affine part noisily.

    $$\frac{\partial \hat h}{\partial \mu} = -\frac{1}{\sqrt{\sigma^2 + \varepsilon}}, \qquad \mathrm{Var}\,
    \frac{\partial l}{\partial \gamma}, \; \mathrm{Var}\, \frac{\partial l}{\partial \beta} \propto \frac{1}{|B|}$$

    Assumes: independent rows; batches of 16 or more for the power law.

    Check: The layer's buffers are moved and its outputs read. Gradients of the squared error to targets ½z + noise over
    1500 batches of 16 to 256 standard normal z. Then, reported, test losses of networks trained in batches of 4 with
    and without the affine part.
    """
    rng = data.generator(key)
    layer, state = batch_norm(2, epsilon=epsilon)
    h = jnp.asarray(deviation * rng.normal(size=(20, 2)))
    spread, moved = jnp.full(2, deviation**2), jnp.array([0.3, -0.2]) * deviation
    outputs = []
    for centre in (jnp.zeros(2), moved):
        own = regularisation.set_batch_norm_buffers(layer, state, {"": (centre, spread)})
        outputs.append(on_batch(layer, own, h, inference=True)[0])
    change = (outputs[1] - outputs[0]) / moved
    what = "change of ĥ over that of μ, against −1/√(σ² + ε)"
    yield close(change, -1 / np.sqrt(deviation**2 + epsilon), what, rtol=1e-9)
    sizes = np.array([16, 32, 64, 128, 256])
    variances = {"gain": [], "shift": []}
    for size, own in zip(sizes, jax.random.split(key, len(sizes)), strict=True):
        gradients = np.asarray(_affine_gradients(own, int(size)))
        for column, name in enumerate(variances):
            variances[name].append(gradients[:, column].var(ddof=1))
    for name, values in variances.items():
        # Each variance is of 1500 draws; beyond that, statistics of a batch of 16 differ by a few percent from the law.
        yield slope(sizes, values, -1.0, f"variance of the gradient of the {name} against |B|", within=0.05)
    losses = _ablations(key, ("both", "neither"), seeds=seeds, num_steps=200, batch=4)
    less = losses["neither"] - losses["both"]
    lines = {f"{name}: 1/|B|": (sizes, values[-1] * sizes[-1] / sizes) for name, values in variances.items()}
    points = {f"{name}: measured": (sizes, values) for name, values in variances.items()}
    title = (
        "The affine part's gradients scatter as 1/|B|; in batches of 4, no affine part changes the test loss by "
        f"{less.mean():+.3f} ± {less.std(ddof=1) / np.sqrt(seeds):.3f}"
    )
    yield figure.curves(title, "batch size", "variance of the gradient", log="xy", lines=lines, points=points)


@eqx.filter_jit
def _affine_gradients(key, size):
    """Gradients in gain and shift (1500, 2) of the mean squared error on batches of that size."""
    layer, state = batch_norm(1)

    def one(key):
        key_rows, key_noise = jax.random.split(key)
        z = jax.random.normal(key_rows, (size, 1))
        target = 0.5 * z + jax.random.normal(key_noise, (size, 1))

        def loss(pair):
            own = eqx.tree_at(lambda n: (n.weight, n.bias), layer, pair)
            return jnp.mean((on_batch(own, state, z)[0] - target) ** 2)

        gain, shift = jax.grad(loss)((jnp.ones(1), jnp.zeros(1)))
        return jnp.stack([gain[0], shift[0]])

    return jax.vmap(one)(jax.random.split(key, 1500))
