"""Running statistics: their time constant, scatter and bias, and how they are recalibrated."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import (
    accuracy,
    dense_maker,
    digit_part,
    hidden_layers,
    logits,
    recalibrated,
    trained,
)
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, Real, close, erratum, mean, method
from leadline.presentation import figure

STREAMS = 2000


@method(sources=("penn",), shows=("regularisation.running_law", "regularisation.torch_buffers"))
def running_statistics(
    key, decay: Real(0.5, 0.98) = 0.9, batch: Int(2, 64) = 8, num_steps: Int(5, 200) = 60, drift: Real(0.0, 0.5) = 0.05
):
    r"""Running statistics.

    A buffer keeps a share ρ of itself and takes 1 − ρ of each batch's statistic. It follows with time constant
    1/(1 − ρ); what it began with has weight ρᵗ; it scatters by (1 − ρ)/(1 + ρ) of a batch statistic's variance. The
    mean of batch variances lacks the factor |B|/(|B| − 1) of the total. PyTorch's momentum is 1 − ρ, its running
    variance the unbiased one.

    $$b_t = \rho\, b_{t-1} + (1 - \rho)\, s_t, \quad \mathbb{E} b_t - \mathbb{E} s = \rho^t (b_0 - \mathbb{E} s), \quad
    \mathrm{Var}\, b_t = \frac{1-\rho}{1+\rho} (1 - \rho^{2t})\, \mathrm{Var}\, s$$

    Assumes: independent batches of independent rows.

    Check: 2000 streams of batches of normal rows, mean 2, deviation 3; a mean that moves by `drift` a step is followed
    ρ/(1 − ρ) steps behind, once the start is forgotten.
    """
    rng = data.generator(key)
    rows = 2.0 + 3.0 * rng.normal(size=(num_steps, STREAMS, batch))
    means, variances = rows.mean(axis=2), rows.var(axis=2)
    law = regularisation.running_law(decay, num_steps)
    buffers = np.asarray(regularisation.running_average(jnp.asarray(means), decay, 0.0))
    steps = 1 + np.arange(num_steps)
    ones = np.asarray(regularisation.running_average(jnp.ones(num_steps), decay, 0.0))
    what = "a constant statistic: the buffer, against 1 − exp(−t/τ), τ = −1/ln ρ"
    yield close(ones, 1 - np.exp(steps * np.log(decay)), what, rtol=1e-9)
    expected = 2.0 - 2.0 * float(law.start_weight)
    deviation = 3.0 / np.sqrt(batch) * np.sqrt(float(law.variance_share))
    yield mean(buffers[-1], expected, "running mean after the last step, begun at 0: 2 − 2ρᵗ", deviation=deviation)
    squares = (buffers[-1] - expected) ** 2
    what = "variance of the running mean, against (1 − ρ)/(1 + ρ) (1 − ρ²ᵗ) of a batch mean's"
    yield mean(squares, deviation**2, what, deviation=np.sqrt(2) * deviation**2)
    spread = regularisation.running_average(jnp.asarray(variances), decay, 9.0 * (batch - 1) / batch)
    whole = np.asarray(spread)[-1] * batch / (batch - 1)
    yield mean(whole, 9.0, "running variance times |B|/(|B| − 1), against the variance 9")
    moving = means + drift * np.arange(num_steps)[:, None]
    followed = np.asarray(regularisation.running_average(jnp.asarray(moving), decay, 2.0))[-1]
    behind = 2.0 + drift * (num_steps - 1) - followed
    what = "a drifting mean: how far the buffer is behind, against δρ/(1 − ρ) (1 − ρᵗ⁻¹)"
    yield mean(behind, drift * law.lag * (1 - decay ** (num_steps - 1)), what, deviation=deviation)
    yield from _other_convention(rows[:, :3], decay, batch)
    grid, panels = 1 + np.arange(120), {}
    truth = np.where(grid < 40, 0.0, np.minimum((grid - 40) * 0.05, 2.0))
    noisy = truth + rng.normal(size=120) / np.sqrt(batch)
    for rho in (0.5, 0.9, 0.98):
        path = regularisation.running_average(jnp.asarray(noisy), rho, 0.0)
        panels[f"ρ = {rho:g}"] = (grid, np.asarray(path))
    title = "A longer memory scatters less and follows a drifting mean later"
    axes = "step", "running mean"
    yield figure.curves(title, *axes, lines={"true mean": (grid, truth)}, points=panels)


def _other_convention(rows, decay, batch):
    """Equinox' buffers exported, against PyTorch's recursion written out: momentum 1 − ρ, unbiased batch variance."""
    layer, state = batch_norm(3, decay=decay)
    begun = {"": {"running_mean": np.zeros(3), "running_var": np.ones(3)}}
    state = regularisation.from_torch_buffers(layer, state, begun, batch)

    def step(state, x):
        return on_batch(layer, state, x)[1], None

    state, _ = jax.lax.scan(step, state, jnp.asarray(rows.transpose(0, 2, 1)))
    found = regularisation.torch_buffers(layer, state, batch)[""]
    average, spread, momentum = np.zeros(3), np.ones(3), 1 - decay
    for x in rows:
        average = (1 - momentum) * average + momentum * x.mean(axis=1)
        spread = (1 - momentum) * spread + momentum * x.var(axis=1, ddof=1)
    yield close(found["momentum"], momentum, "exported momentum, against 1 − ρ", rtol=1e-12)
    yield close(found["running_mean"], average, "exported running mean, against PyTorch's recursion", atol=1e-10)
    yield close(found["running_var"], spread, "exported running variance, against PyTorch's recursion", rtol=1e-10)


@method(sources=("penn",), shows=("regularisation.recalibrate",))
def batch_norm_recalibration(key, drop: Real(0.1, 0.7) = 0.5, batch: Int(7, 200) = 64):
    r"""Recalibration of batch normalisation.

    The buffers are computed anew, as the statistics of training inputs under the weights as they are: batch
    normalisation in training mode, dropout OFF, weights frozen. A run in training mode as a whole would keep dropout
    on, and with it the wrong variances. So too after weights were averaged, or for inputs of another domain.

    $$\mu_l = \frac1n \sum_i a_l(x_i), \qquad \sigma_l^2 = \frac1n \sum_i (a_l(x_i) - \mu_l)^2, \qquad a_l: \text{ what
    goes into layer } l \text{ in evaluation}$$

    Assumes: the inputs are those of training, or of the domain of use.

    Check: Five networks 64-48-48-10 with dropout, trained on 400 digits; their buffers after `recalibrate`, in one
    batch and in batches of `batch`, against the statistics of the evaluation written out. That accuracy on 500 other
    digits rises is a finding.
    """
    part = digit_part(400)
    make = dense_maker((64, 48, 48, 10), normalisation="batch", dropout=drop)
    nets, states, _ = trained(key, make, part, seeds=5, num_steps=150)
    net, state = jax.tree.map(
        lambda leaf: leaf[0].astype(float) if eqx.is_inexact_array(leaf) else leaf[0] if eqx.is_array(leaf) else leaf,
        (nets, states),
    )
    x = part.x.astype(float)
    whole = regularisation.batch_norm_buffers(net, regularisation.recalibrate(net, state, x))
    parts = regularisation.batch_norm_buffers(net, regularisation.recalibrate(net, state, x, batch=batch))
    inputs, _ = hidden_layers(net, whole.values(), x)
    size = max(float(jnp.max(jnp.abs(a))) for a in inputs)

    def beside(found, what):
        means = [np.asarray(b.mean - a.mean(axis=0)) for b, a in zip(found.values(), inputs, strict=True)]
        spreads = [np.asarray(b.variance - a.var(axis=0)) for b, a in zip(found.values(), inputs, strict=True)]
        return close(np.concatenate([*means, *spreads]), 0.0, what, atol=1e-6 * (1 + size**2))

    right = beside(whole, "all rows at once: buffers less the statistics of evaluation")
    yield right
    yield beside(parts, f"batches of {batch}: buffers less the statistics of evaluation")
    noisy = _trained_mode(net, state, x, key)
    yield erratum(
        beside(noisy, "a run in training mode, dropout on: buffers less the statistics of evaluation"),
        of=right,
        by="penn",
        prints="the buffers settle to the non-dropped-out values by a run in training mode; that mode keeps dropout on",
    )
    after = recalibrated(nets, states, part.x)
    scores = [accuracy(logits(nets, own, part.test_x), part.test_y) for own in (states, after)]
    yield paired_excess(scores[1], scores[0], "accuracy after recalibration less before, by network")
    ratio = {name: np.asarray(noisy[name].variance / whole[name].variance) for name in whole}
    points = {f"layer {index + 1}": (np.arange(len(r)), np.sort(r)) for index, r in enumerate(ratio.values())}
    gain = regularisation.paired_difference(scores[1], scores[0])
    seen = "" if gain.low > 0 else " (a gain is not confirmed)"
    title = (
        f"With dropout on, variances are up to {max(r.max() for r in ratio.values()):.2g} times those of evaluation; "
        f"accuracy {scores[0].mean():.3f} before recalibration, {scores[1].mean():.3f} after{seen}"
    )
    axes = "unit, in order", "variance with dropout on, over evaluation's"
    yield figure.curves(title, *axes, lines={"1": (np.arange(48), np.ones(48))}, points=points)


def _trained_mode(net, state, x, key):
    """Buffers by 20 passes of all rows in training mode, dropout on, averaged."""

    @eqx.filter_jit
    def one(key):
        fresh = regularisation.set_batch_norm_buffers(net, state, regularisation.batch_norm_buffers(net, state))
        keys = jax.random.split(key, len(x))
        run = jax.vmap(lambda row, state, k: net(row, state, key=k), (0, None, 0), (0, None), axis_name="batch")
        before = regularisation.batch_norm_buffers(net, fresh)
        after = regularisation.batch_norm_buffers(net, run(x, fresh, keys)[1])
        decay = net.normalisations[0].momentum
        return jax.tree.map(lambda new, old: (new - decay * old) / (1 - decay), after, before)

    return jax.tree.map(lambda parts: jnp.mean(parts, axis=0), jax.vmap(one)(jax.random.split(key, 20)))
