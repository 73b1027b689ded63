"""Batch, layer, instance and group normalisation beside each other as the batch shrinks."""

import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import (
    accuracy,
    conv_maker,
    dense_maker,
    digit_part,
    logits,
    trained,
)
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, claim, close
from leadline.presentation import figure

SIZES = (1, 2, 8, 32)
DENSE = (("batch", 2), ("batch", 32), ("group", 2), ("group", 32))
KINDS = {"batch": "BN", "layer": "LN", "instance": "IN", "group": "GN"}


@claim(sources=("penn", "eth", "sheet"), empirical=True, slow="about a minute", shows=("regularisation.normalisation",))
def normalisation_comparison(key, seeds: Int(5, 10) = 5, examples: Int(512, 4096) = 1024):
    r"""Normalisations as the batch shrinks.

    The statistics of batch normalisation get worse as the batch shrinks; layer, instance and group normalisation do not
    see the batch. Of two vectors it keeps only which is larger in each feature: ±1. One image has the statistics of
    instance normalisation. In batches of 2 it errs more than group normalisation, in dense networks and, as it is said,
    in convolutional ones.

    $$|B| = 2: \; \hat h = \pm 1 \; (\varepsilon \to 0), \qquad |B| = 1: \; \mathrm{BN}_{\mathrm{train}} = \mathrm{IN},
    \qquad \mathrm{error}_{\mathrm{BN}}(2) > \mathrm{error}_{\mathrm{GN}}(2)$$

    Assumes: the same number of examples seen at every batch size; SGD at 0.1 |B|/32 (Wu and He 2018).

    Check: 400 digits, 500 test digits, BN by its buffers; networks 64-48-48-10, and convolutional ones with 8 and 16
    channels in batches of 1, 2, 8 and 32, paired over seeds. A channel of the latter has 64 positions for its
    statistics.
    """
    rng = data.generator(key)
    image = jnp.asarray(rng.normal(size=(1, 3, 5, 5)))
    layer, state = batch_norm(3)
    found, _ = on_batch(layer, state, image)
    instance = regularisation.normalise_features(image, (2, 3))
    yield close(
        found, instance, "one image: batch normalisation in training, against instance normalisation", atol=1e-10
    )
    two = jnp.asarray(rng.normal(size=(2, 3)))
    bare, own = batch_norm(3, epsilon=0.0)
    signs = jnp.sign(two - two[::-1])
    yield close(
        on_batch(bare, own, two)[0], signs, "two vectors: outputs, against the sign of their difference", atol=1e-9
    )
    dense = {(kind, size): _errors(key, kind, size, seeds, examples, dense=True) for kind, size in DENSE}
    pair = dense["batch", 2], dense["group", 2]
    yield paired_excess(*pair, "dense networks, batches of 2: error of BN less that of GN")
    what = "dense networks: error of BN in batches of 2 less that in batches of 32"
    yield paired_excess(dense["batch", 2], dense["batch", 32], what)
    errors = {(kind, size): _errors(key, kind, size, seeds, examples, dense=False) for kind in KINDS for size in SIZES}
    images = errors["batch", 2], errors["group", 2]
    yield paired_excess(*images, "convolutional networks, batches of 2: error of BN less that of GN")
    more, less = (regularisation.paired_difference(*kind) for kind in (pair, images))
    points = {
        name: (np.array(SIZES), np.array([errors[kind, size].mean() for size in SIZES])) for kind, name in KINDS.items()
    }
    wide = {
        name: (np.array([2, 32]), np.array([dense[kind, size].mean() for size in (2, 32)]))
        for kind, name in KINDS.items()
        if (kind, 2) in dense
    }
    told = "" if less.low > 0 else ": not confirmed"
    title = (
        f"BN less GN in batches of 2: {more.mean:+.3f} of error in dense networks, {less.mean:+.3f} "
        f"({less.low:+.3f} to {less.high:+.3f}) in convolutional ones{told}"
    )
    panels = [
        figure.curves("convolutional", "batch size", "test error, mean over seeds", log="x", points=points),
        figure.curves("dense", "batch size", "test error, mean over seeds", log="x", points=wide),
    ]
    yield figure.beside(title, *panels)


def _errors(key, kind, size, seeds, examples, *, dense):
    """Test errors of the networks of that normalisation, trained in batches of that size."""
    part = digit_part(400, images=not dense)
    make = dense_maker((64, 48, 48, 10), normalisation=kind) if dense else conv_maker(kind)
    options = {"num_steps": examples // size, "batch": size, "rate": 0.1 * size / 32}
    nets, states, _ = trained(key, make, part, seeds=seeds, **options)
    return 1 - accuracy(logits(nets, states, part.test_x), part.test_y)
