"""Normalisation within one example: over its features, or over groups of its channels."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.evidence import Int, Real, at_least, close, erratum, exactly, method
from leadline.presentation import figure


@method(sources=("eth", "sheet", "penn"), shows=("regularisation.normalise_features_gradient",))
def layer_normalisation(
    key, features: Int(3, 200) = 16, rows: Int(1, 50) = 5, epsilon: Real(1e-12, 1e-1, log=True) = 1e-5
):
    r"""Layer normalisation.

    The mean and variance are those of the m features of one example. Before the affine part the output lies in the
    hyperplane of sum 0, on the sphere of radius √m but for ε. It does not change when the example is shifted or scaled,
    nor with the other rows of a batch: one row is enough, and training is as evaluation. RMS normalisation leaves the
    mean where it is.

    $$\hat h = \frac{h - \mu}{\sqrt{\sigma^2 + \varepsilon}}, \quad \mathbf{1}^\top \hat h = 0, \quad \|\hat h\|^2 =
    \frac{m\, \sigma^2}{\sigma^2 + \varepsilon} \to m$$

    Check: Equinox' layers; the backward formula against its automatic derivative. Invariance to scale is exact for
    ε = 0; the statement with ε is that of the radius.
    """
    rng = data.generator(key)
    h = jnp.asarray(2.0 + 3.0 * rng.normal(size=(rows, features)))
    layer = eqx.nn.LayerNorm(features, eps=epsilon, use_weight=False, use_bias=False)
    bare = eqx.nn.LayerNorm(features, eps=0.0, use_weight=False, use_bias=False)
    out = jax.vmap(layer)(h)
    yield close(jnp.sum(out, axis=1), 0.0, "sum of the outputs of a row", atol=1e-12 * features)
    spread = np.asarray(h).var(axis=1)
    radius = np.sqrt(features * spread / (spread + epsilon))
    what = "norm of the output, against √(m σ²/(σ² + ε))"
    yield close(jnp.linalg.norm(out, axis=1), radius, what, rtol=1e-10)
    shift, factor = jnp.asarray(rng.normal(size=(rows, 1))), jnp.asarray(np.exp(rng.normal(size=(rows, 1))))
    moved = jax.vmap(bare)(factor * h + shift)
    yield close(moved, jax.vmap(bare)(h), "ε = 0: output after a shift and a scale of each row", atol=1e-10)
    alone = regularisation.normalise_features(h[0], epsilon=epsilon)
    yield close(out[0], alone, "output of a row in its batch, against the formula on that row alone", atol=1e-12)
    rms = eqx.nn.RMSNorm(features, eps=0.0, use_weight=False, use_bias=False)
    turned = jax.vmap(rms)(h)
    yield close(jnp.linalg.norm(turned, axis=1), np.sqrt(features), "RMS: norm of the output, against √m", rtol=1e-10)
    yield close(jax.vmap(rms)(factor * h), turned, "RMS: output after a scale of each row", atol=1e-10)
    away = jnp.max(jnp.abs(jax.vmap(rms)(h + 5.0) - turned))
    yield at_least(away, 1e-2, "RMS: change of the output when 5 is added to each feature", strict=True)
    gain, offset, dy = (jnp.asarray(rng.normal(size=features)) for _ in range(3))
    whole = eqx.tree_at(lambda n: (n.weight, n.bias), eqx.nn.LayerNorm(features, eps=epsilon), (gain, offset))
    by_jax = jax.vjp(whole, h[0])[1](dy)[0]
    by_hand = regularisation.normalise_features_gradient(h[0], gain * dy, epsilon=epsilon)
    yield close(by_hand, by_jax, "backward formula, against the automatic derivative", atol=1e-11)
    ratios = np.geomspace(1e-6, 1e3, 25)
    factors = np.sqrt(epsilon / (ratios * float(spread[0])))
    norms = jnp.linalg.norm(jax.vmap(layer)(jnp.asarray(factors)[:, None] * h[0]), axis=1)
    lines = {"√(m/(1 + ε/σ²))": (ratios, np.sqrt(features / (1 + ratios)))}
    title = f"The outputs lie on a sphere of radius √{features} as long as ε is small against the variance"
    yield figure.curves(title, "ε over the variance", "norm", log="x", lines=lines, points={"a row": (ratios, norms)})


@method(sources=("penn",), shows=("regularisation.normalise_features",))
def group_and_instance_normalisation(
    key, groups: Int(1, 6) = 3, per_group: Int(1, 5) = 4, side: Int(2, 8) = 5, rows: Int(2, 12) = 6
):
    r"""Group and instance normalisation.

    Group normalisation takes mean and variance over G groups of the channels of ONE example, and over its positions.
    With one group it is layer normalisation over the whole image; with as many groups as channels it is instance
    normalisation, which removes the contrast and brightness of each channel. Other examples do not matter.

    $$\hat h_{ncs} = \frac{h_{ncs} - \mu_{n g(c)}}{\sqrt{\sigma^2_{n g(c)} + \varepsilon}}, \qquad G = 1:
    \text{layer}, \quad G = C: \text{instance}$$

    Check: Equinox' `GroupNorm` on random images of G times `per_group` channels, against a loop over groups. The
    erratum is normalisation over parts of the batch.
    """
    rng = data.generator(key)
    channels = groups * per_group
    h = 1.0 + rng.normal(size=(rows, channels, side, side)) * np.exp(rng.normal(size=(rows, channels, 1, 1)))

    def grouped(count, epsilon=1e-5):
        return eqx.filter_jit(jax.vmap(eqx.nn.GroupNorm(count, channels, eps=epsilon)))

    found = np.asarray(grouped(groups)(jnp.asarray(h)))
    brute = np.empty_like(h)
    for start in range(0, channels, per_group):
        part = h[:, start : start + per_group]
        centre, spread = part.mean(axis=(1, 2, 3), keepdims=True), part.var(axis=(1, 2, 3), keepdims=True)
        brute[:, start : start + per_group] = (part - centre) / np.sqrt(spread + 1e-5)
    right = close(found, brute, "GroupNorm, against mean and variance of each group of channels", atol=1e-10)
    yield right
    whole = jax.vmap(eqx.nn.LayerNorm((channels, side, side)))(jnp.asarray(h))
    yield close(grouped(1)(jnp.asarray(h)), whole, "one group, against layer normalisation over the image", atol=1e-10)
    instance = regularisation.normalise_features(jnp.asarray(h), (2, 3))
    what = "a group for each channel, against instance normalisation"
    yield close(grouped(channels)(jnp.asarray(h)), instance, what, atol=1e-10)
    contrast, brightness = np.exp(rng.normal(size=(rows, channels, 1, 1))), rng.normal(size=(rows, channels, 1, 1))
    bare = grouped(channels, 0.0)
    what = "instance, ε = 0: output after another contrast and brightness of each channel"
    yield close(bare(jnp.asarray(contrast * h + brightness)), bare(jnp.asarray(h)), what, atol=1e-9)
    seen = _depends(jnp.asarray(h), groups)
    yield exactly(seen[1:].sum(), 0, "entries of other examples on which one output depends")
    yield exactly(seen[0, per_group:].sum(), 0, "entries of other groups on which one output depends")
    parts = [half - half.mean(axis=0) for half in np.array_split(h, 2)]
    across = np.concatenate([part / np.sqrt((part**2).mean(axis=0) + 1e-5) for part in parts])
    yield erratum(
        close(found, across, "GroupNorm, against mean and variance over two parts of the batch", atol=1e-10),
        of=right,
        by="penn",
        prints="group normalisation uses partitions of the mini-batch; it is the channels of one example that are "
        "partitioned",
    )
    panels = []
    for name, count in (("layer (1 group)", 1), (f"{groups} groups", groups), ("instance", channels)):
        shared = _depends(jnp.asarray(h[:3, :, :2, :2]), count).reshape(3, channels, -1)
        shared = shared.transpose(0, 2, 1).reshape(-1, channels)
        panels.append(figure.heatmap(name, "channel", "position, example by example", values=shared.astype(float)))
    yield figure.beside("What one output depends on: the first channel's, at the first position", *panels)


def _depends(h, count):
    """Where the first output's derivative in the images is not 0, under a group normalisation of so many groups."""

    @eqx.filter_jit
    def slopes(h):
        layer = eqx.nn.GroupNorm(count, h.shape[1])
        return jax.grad(lambda x: jax.vmap(layer)(x)[0, 0, 0, 0])(h)

    return np.abs(np.asarray(slopes(h))) > 0
