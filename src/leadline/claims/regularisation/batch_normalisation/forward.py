"""Batch normalisation: what it computes, for vectors and for images."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, Real, at_least, close, exactly, method
from leadline.presentation import figure


@method(sources=("eth", "sheet", "penn"), shows=("regularisation.BatchNorm",))
def batch_normalisation(
    key,
    rows: Int(2, 60) = 12,
    channels: Int(2, 15) = 5,
    side: Int(2, 8) = 4,
    epsilon: Real(1e-8, 1e-1, log=True) = 1e-5,
):
    r"""Batch normalisation.

    Each feature has its mean and biased variance over the batch (for an image each channel, over rows and positions)
    made 0 and 1, then a trained scale and shift. In evaluation running buffers stand for the batch: c channels have 2c
    parameters and 2c buffers. Features are not decorrelated. One row alone gives the shift.

    $$\hat h = \frac{h - \mu_B}{\sqrt{\sigma_B^2 + \varepsilon}}, \qquad y = \gamma \hat h + \beta, \qquad \sigma_B^2 =
    \frac{1}{|B|} \sum_{i \in B} (h_i - \mu_B)^2$$

    Check: The layer against NumPy, its backward pass against the formula, an image against the same values as rows; it
    commutes with cyclic translation, which statistics of each position do not. One row: Equinox' own layer, since
    `BatchNorm` refuses to train on it.
    """
    rng = data.generator(key)
    layer, state = batch_norm(channels, epsilon=epsilon)
    gain, shift = jnp.asarray(rng.normal(size=channels)), jnp.asarray(rng.normal(size=channels))
    layer = eqx.tree_at(lambda n: (n.weight, n.bias), layer, (gain, shift))
    run = eqx.filter_jit(on_batch)
    h = rng.normal(size=(rows, channels)) @ rng.normal(size=(channels, channels)) + 2.0
    out, _ = run(layer, state, jnp.asarray(h))
    hhat = (h - h.mean(axis=0)) / np.sqrt(h.var(axis=0) + epsilon)
    size = 1 + np.abs(hhat).max()
    yield close(out, gain * hhat + shift, "outputs, against γĥ + β", atol=1e-10 * size)
    dy = jnp.asarray(rng.normal(size=h.shape))
    by_jax = eqx.filter_jit(lambda h: jax.vjp(lambda h: on_batch(layer, state, h)[0], h)[1](dy)[0])(jnp.asarray(h))
    by_hand = regularisation.normalise_features_gradient(jnp.asarray(h), gain * dy, epsilon=epsilon)
    scale = float(jnp.max(jnp.abs(gain))) / np.sqrt(h.var(axis=0) + epsilon).min()
    what = "backward pass by the formula, against the automatic derivative"
    yield close(by_hand, by_jax, what, atol=1e-9 * (1 + scale))
    before, after = np.corrcoef(h.T), np.corrcoef(np.asarray(out).T) * np.outer(np.sign(gain), np.sign(gain))
    yield close(after, before, "correlations of the features after, against before: none is removed", atol=1e-8)
    images = jnp.asarray(1.0 + rng.normal(size=(rows, channels, side, side)))
    planes, _ = run(layer, state, images)
    flat = jnp.moveaxis(images, 1, 3).reshape(-1, channels)
    as_rows = run(layer, state, flat)[0].reshape(rows, side, side, channels)
    yield close(planes, jnp.moveaxis(as_rows, 3, 1), "images, against |B|HW rows of c features", atol=1e-10)
    moved, turned = jnp.roll(images[0], 1, axis=2), images.at[0].set(jnp.roll(images[0], 1, axis=2))
    there, _ = run(layer, state, turned)
    yield close(there[0], jnp.roll(planes[0], 1, axis=2), "one image translated: its outputs translated", atol=1e-10)
    by_position = regularisation.normalise_features(images, 0, epsilon=epsilon)
    again = regularisation.normalise_features(turned, 0, epsilon=epsilon)
    away = float(jnp.max(jnp.abs(again[0] - jnp.roll(by_position[0], 1, axis=2))))
    what = "statistics of each position: the outputs are not translated (largest difference)"
    yield at_least(away, 1e-3, what, strict=True).given(
        float(jnp.max(jnp.abs(moved - images[0]))) > 0.1, "the translated image differs from itself"
    )
    wide, kept = batch_norm(15)
    trained = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(wide, eqx.is_inexact_array)))
    # The state also counts batches; the two averages for each channel are its floating-point numbers.
    buffers = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(kept, eqx.is_inexact_array)))
    yield exactly((trained, buffers), (30, 30), "15 features: parameters and buffers")
    single, own = eqx.nn.make_with_state(eqx.nn.BatchNorm)(channels, "batch", eps=epsilon, mode="batch")
    single = eqx.tree_at(lambda n: (n.weight, n.bias), single, (gain, shift))
    alone, _ = on_batch(single, own, jnp.asarray(h[:1]))
    yield close(alone[0], shift, "one row alone: the shift", atol=1e-12)
    panels = []
    for name, function in (
        ("vectors: its feature over the batch", lambda x: run(layer, state, x)[0][0, 0]),
        ("images: its channel over batch and space", lambda x: run(layer, state, x)[0][0, 0, 0, 0]),
    ):
        given = jnp.asarray(h[:4]) if "vectors" in name else images[:3]
        shared = np.abs(np.asarray(jax.grad(function)(given))) > 0
        cells = shared.reshape(*shared.shape[:2], -1).transpose(0, 2, 1).reshape(-1, channels)
        panels.append(figure.heatmap(name, "channel", "row (and position)", values=cells.astype(float)))
    yield figure.beside("What the first output depends on: entries that share its statistics", *panels)
