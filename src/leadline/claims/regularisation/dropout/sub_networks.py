"""Dropout as an ensemble: its sub-networks counted and summed, and how well one scaled pass stands for them."""

from math import comb

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, probability, regularisation
from leadline.evidence import Int, Real, at_least, claim, close, exactly, mean, slope
from leadline.presentation import figure

PASSES = 2**13
INPUTS, CLASSES = 3, 3
UNITS, NETWORKS = 3, 12  # of the ReLU networks: in a hidden layer; how many are drawn


@claim(
    sources=("eth", "sheet", "penn"),
    shows=("regularisation.mask_ensemble", "regularisation.distinct_subnetworks", "regularisation.mc_dropout"),
)
def dropout_ensemble(key, width: Int(2, 6) = 5, keep: Real(0.1, 0.9) = 0.5, rows: Int(1, 8) = 4):
    r"""Dropout trains an ensemble.

    With m units that may drop, dropout trains $2^m$ sub-networks that share their weights, for every 0 < p < 1. Passes
    with random masks average to their exact mixture, with an error that falls as 1/√M. Masks that empty a layer all
    give one function: two layers of 5 units have 1024 masks and 962 functions.

    $$p(y|x) = \sum_{b \in \{0,1\}^m} p(b)\, p_b(y|x), \quad p(b) = \prod_i \pi^{b_i} (1 - \pi)^{1 - b_i}; \qquad
    \prod_l (2^{n_l} - 1) + 1 \text{ functions}$$

    Assumes: for the count, no biases and weights in general position.

    Check: A network with two hidden layers of tanh units and a softmax: all masks, and passes of the same network with
    dropout layers; the squared error of one pass against the exact variance, and its fall with the number of passes.
    """
    rng = data.generator(key)
    widths = (INPUTS, width, width, CLASSES)
    make = eqx.nn.make_with_state(regularisation.RegularisedMLP)
    net, state = make(widths, "tanh", dropout=1 - keep, bias=False, dtype=jnp.float64, gain=2.0, key=key)
    x = jnp.asarray(rng.normal(size=(rows, INPUTS)))

    def of_mask(b):
        masks = [None, b[:width] / keep, b[width:] / keep]
        return jax.nn.softmax(jax.vmap(regularisation.sub_network(net.dense, masks))(x))

    exact = regularisation.mask_ensemble(of_mask, np.full(2 * width, keep))
    yield exactly(len(exact.masks), 2 ** (2 * width), f"masks of two layers of {width} units")
    points = jnp.asarray(rng.normal(size=(8, INPUTS)) / 2)  # where tanh is not yet flat
    values = regularisation.mask_ensemble(
        lambda b: jax.vmap(regularisation.sub_network(net.dense, [None, b[:width], b[width:]]))(points).ravel(),
        np.full(2 * width, keep),
    ).outputs
    rounded = np.round(np.asarray(values), 10) + 0.0  # -0 and 0 are one
    what = f"different functions among them, against the count (2ⁿ − 1)² + 1 of n = {width}"
    yield exactly(len(np.unique(rounded, axis=0)), regularisation.distinct_subnetworks((width, width)), what)
    yield close(exact.probabilities.sum(), 1.0, "sum of the probabilities of all masks", atol=1e-12)
    passes = regularisation.mc_dropout(
        *regularisation.keyed_apply((net, state)), x, draws=PASSES, key=key, link=jax.nn.softmax
    ).passes
    mixture = np.asarray(exact.mean)
    squares = ((np.asarray(exact.outputs) - mixture) ** 2).mean(axis=(1, 2))  # of each mask
    variance = float(exact.probabilities @ squares)
    deviation = float(np.sqrt(exact.probabilities @ (squares - variance) ** 2))
    seen = ((passes - mixture) ** 2).mean(axis=(1, 2))
    what = "squared distance of one pass from the mixture, against the exact variance"
    yield mean(seen, variance, what, deviation=deviation)
    counts, errors = 2 ** np.arange(0, 8), []
    for count in counts:
        averages = passes.reshape(PASSES // count, count, rows, CLASSES).mean(axis=1)
        errors.append(np.sqrt(((averages - mixture) ** 2).mean()))
    yield slope(counts, errors, -0.5, "error of Monte Carlo dropout against passes, logarithmic", within=0.05)
    scaled = np.asarray(jax.nn.softmax(jax.vmap(net.dense)(x)))
    gap = float(np.sqrt(np.mean((scaled - mixture) ** 2)))
    yield figure.curves(
        f"Random passes tend to the mixture of all {len(exact.masks)} masks; one scaled pass stays {gap:.2g} off",
        "passes M",
        "root mean square error of probabilities",
        log="xy",
        lines={"exact: σ/√M": (counts, np.sqrt(variance / counts))},
        points={"Monte Carlo dropout": (counts, errors)},
        rules={"one scaled pass": ("y", gap)},
    )


@claim(sources=("penn", "eth", "sheet"), shows=("regularisation.sub_network", "regularisation.mask_ensemble"))
def dropout_weight_scaling_accuracy(key, keep: Real(0.1, 0.9) = 0.5, rows: Int(2, 16) = 6):
    r"""One scaled pass and the ensemble.

    One pass with weights scaled by π gives the mean of all sub-networks if outputs are linear in the units, also
    through several layers. For one softmax layer it gives their geometric mean, renormalised. For deep networks it is
    an approximation, and may miss: ten inputs ±1 of one ReLU have the mean 315/512, and the scaled pass gives 0.

    $$\sum_b p(b)\, (W \mathrm{diag}(b)\, x) = \pi W x, \qquad \mathrm{softmax}(\pi W x) \propto \prod_b
    \mathrm{softmax}(W \mathrm{diag}(b)\, x)^{p(b)}$$

    Check: All masks: of two hidden linear layers, of the inputs of a softmax layer, and of 12 ReLU networks with one
    to four hidden layers of three units, where the divergence of the scaled pass from the ensemble is measured.
    """
    rng = data.generator(key)
    x = jnp.asarray(rng.normal(size=(rows, 4)))
    linear = networks.MLP((4, 5, 5, 3), "identity", bias_scale=1.0, dtype=jnp.float64, key=key)
    ensemble = regularisation.mask_ensemble(
        lambda b: jax.vmap(regularisation.sub_network(linear, [None, b[:5], b[5:]]))(x), np.full(10, keep)
    )
    scaled = jax.vmap(regularisation.sub_network(linear, [None, np.full(5, keep), np.full(5, keep)]))(x)
    size = float(np.abs(ensemble.outputs).max())
    yield close(scaled, ensemble.mean, "linear layers: scaled pass, against the mean over all masks", atol=1e-12 * size)
    layer = networks.MLP((4, 3), bias_scale=1.0, gain=2.0, dtype=jnp.float64, key=key)

    def said(mask):
        return jax.nn.softmax(jax.vmap(regularisation.sub_network(layer, [mask]))(x))

    members = regularisation.mask_ensemble(said, np.full(4, keep))
    what = "softmax layer: scaled pass, against the renormalised geometric mean"
    yield close(said(np.full(4, keep)), members.geometric_mean, what, atol=1e-12)
    what = "softmax layer: largest distance of the scaled pass from the plain mean"
    yield at_least(np.abs(said(np.full(4, keep)) - members.mean).max(), 1e-6, what)
    unit = networks.mlp_from_affine([(jnp.array([[1.0, -1.0] * 5]), jnp.zeros(1))], "relu", last_activation=True)
    half = regularisation.mask_ensemble(
        lambda b: regularisation.sub_network(unit, [b])(jnp.ones(10))[0], np.full(10, 0.5)
    ).mean
    yield close(half, 10 * comb(9, 4) / 2**11, "one ReLU of ten inputs ±1, π = ½: mean over all masks", rtol=1e-12)
    alone = regularisation.sub_network(unit, [np.full(10, 0.5)])(jnp.ones(10))[0]
    yield exactly(float(alone), 0.0, "one ReLU of ten inputs ±1, π = ½: the scaled pass")
    kept, depths = (0.8, 0.5, 0.2), (1, 2, 3, 4)
    keys = jax.random.split(key, NETWORKS)
    gaps = np.array([_divergences(x, depth, kept, keys) for depth in depths])
    what = "ReLU networks: KL(ensemble, scaled pass) at four depths and three rates"
    yield at_least(gaps, 1e-6, what)
    points = {f"p = {1 - pi:.1f}": (depths, gaps[:, i]) for i, pi in enumerate(kept)}
    title = f"For deep networks one scaled pass is not the ensemble: at p = 0.5 it is {gaps[:, 1].max():.2g} nats off"
    yield figure.curves(title, "hidden layers", "KL(ensemble, scaled pass), nats", log="y", points=points)


def _divergences(x, depth, kept, keys):
    """The mean divergence of the plain pass from the ensemble of inverted dropout, over networks and rows."""

    def of_network(key):
        net = networks.MLP((4, *[UNITS] * depth, 3), bias_scale=0.5, dtype=jnp.float64, key=key)

        def said(scales):
            return jax.nn.softmax(jax.vmap(regularisation.sub_network(net, [None, *jnp.split(scales, depth)]))(x))

        plain = said(jnp.ones(UNITS * depth))
        mixtures = [
            regularisation.mask_ensemble(lambda b, pi=pi: said(b / pi), np.full(UNITS * depth, pi)).mean for pi in kept
        ]
        return jnp.stack([jax.vmap(probability.kl_divergence)(mixture, plain).mean() for mixture in mixtures])

    return jax.vmap(of_network)(keys).mean(axis=0)
