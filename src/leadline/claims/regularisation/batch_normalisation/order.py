"""Batch normalisation before or after ReLU."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import dense_maker, digit_part, logits, trained
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, Real, claim, close, mean
from leadline.presentation import figure


@claim(sources=("penn",), empirical=True, shows=("regularisation.RegularisedMLP",))
def batch_norm_order(key, seeds: Int(6, 24) = 12, slow: Real(0.01, 0.05, log=True) = 0.02, fast: Real(0.3, 0.6) = 0.5):
    r"""Batch normalisation before or after ReLU.

    Before ReLU, half of the values are then set to 0, and the next layer's inputs have mean 0.40 and variance 0.34, not
    0 and 1. After ReLU they are standardised, from statistics of values of which many are 0. Neither order is better
    throughout: with small steps the order after ReLU wins, with large ones the order before it.

    $$\mathrm{relu}(\mathrm{BN}(a)): \; \mathbb{E} = \tfrac{1}{\sqrt{2\pi}}, \; \mathrm{Var} = \tfrac12 -
    \tfrac{1}{2\pi}; \qquad \mathrm{BN}(\mathrm{relu}(a)): \; \mathbb{E} = 0, \; \mathrm{Var} = 1$$

    Assumes: Gaussian values before the layer, for the two moments.

    Check: 4000 normal rows of 8 units with means of their own through both orders; the scatter of the batch mean that
    each order divides by, at 16 rows. Then networks 64-48-48-10 on 400 digits, 200 steps of SGD at two step sizes,
    paired over seeds.
    """
    rng = data.generator(key)
    a = jnp.asarray(rng.normal(size=(4000, 8)) * rng.uniform(0.5, 2.0, 8) + rng.normal(size=8))
    layer, state = batch_norm(8)
    first = np.asarray(jnp.maximum(on_batch(layer, state, a)[0], 0.0))
    last = np.asarray(on_batch(layer, state, jnp.maximum(a, 0.0))[0])
    expected, variance = (float(value) for value in regularisation.rectified_moments())
    zeros = (first == 0).mean(axis=1)
    yield mean(zeros, 0.5, "BN then ReLU: share of values at 0")
    what = "BN then ReLU: mean of the next layer's inputs, against 0.399"
    yield mean(first.mean(axis=1), expected, what)
    what = "BN then ReLU: mean squared deviation of the next layer's inputs, against 0.341"
    yield mean(((first - expected) ** 2).mean(axis=1), variance, what)
    yield close(last.mean(axis=0), 0.0, "ReLU then BN: mean of the next layer's inputs", atol=1e-10)
    spread = np.maximum(np.asarray(a), 0.0).var(axis=0)
    yield close(
        last.var(axis=0), spread / (spread + 1e-5), "ReLU then BN: variance of the next layer's inputs", rtol=1e-8
    )
    found = {order: _accuracies(key, order, (slow, fast), seeds) for order in ("before", "after")}
    gains = dict(zip((slow, fast), found["before"] - found["after"], strict=True))
    nothing = np.zeros(seeds)
    yield paired_excess(nothing, gains[slow], f"step size {slow:.2g}: accuracy with BN after ReLU less that before it")
    yield paired_excess(gains[fast], nothing, f"step size {fast:.2g}: accuracy with BN before ReLU less that after it")
    told = "; ".join(_told(rate, gain) for rate, gain in gains.items())
    title = f"Next layer's inputs in both orders; accuracy of BN before ReLU less after: {told}"
    samples = {"BN, then ReLU": first[:, 0], "ReLU, then BN": last[:, 0]}
    yield figure.histogram(title, "input of the next layer, one unit", samples=samples, bins=60)


def _told(rate, gain):
    found = regularisation.paired_difference(gain, np.zeros(len(gain)))
    return f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f}) at η = {rate:.2g}"


def _accuracies(key, order, rates, seeds):
    """Test accuracies (rates, seeds) of the networks with that order, by their buffers."""
    part = digit_part(400)
    make = dense_maker((64, 48, 48, 10), normalisation="batch", order=order)

    def run(rate):
        nets, states, _ = trained(key, make, part, seeds=seeds, num_steps=200, rate=rate)
        return logits(nets, states, part.test_x)

    out = eqx.filter_jit(eqx.filter_vmap(run))(jnp.asarray(rates, jnp.float32))
    return np.asarray(jnp.mean(jnp.argmax(out, axis=-1) == part.test_y, axis=-1))
