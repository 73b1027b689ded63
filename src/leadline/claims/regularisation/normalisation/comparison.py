"""Batch, layer, instance and group normalisation beside each other as the batch shrinks."""

import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import accuracy, conv_maker, digit_part, logits, trained
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, claim, close, mean
from leadline.presentation import figure

SIZES = (1, 2, 8, 32)
KINDS = {"batch": "BN", "layer": "LN", "instance": "IN", "group": "GN"}


@claim(
    sources=("penn", "eth", "sheet"), empirical=True, slow="about 40 seconds", shows=("regularisation.normalisation",)
)
def normalisation_comparison(key, seeds: Int(5, 10) = 5, examples: Int(512, 4096) = 1024):
    r"""Normalisations as the batch shrinks.

    Batch normalisation gets worse as the batch shrinks, since its statistics do; layer, instance and group
    normalisation do not see the batch. With one image the statistics of batch normalisation are those of that image: it
    IS instance normalisation in training, and another function in evaluation. Which one is best depends on the task.

    $$\mathrm{error}_{\mathrm{BN}}(|B| = 2) > \mathrm{error}_{\mathrm{GN}}(|B| = 2), \qquad |B| = 1: \;
    \mathrm{BN}_{\mathrm{train}} = \mathrm{IN}$$

    Assumes: the same number of examples seen at every batch size; SGD at 0.1 |B|/32 (Wu and He 2018).

    Check: Convolutional networks with 8 and 16 channels on 400 digits, batches of 1, 2, 8 and 32, paired over
    seeds; 500 test digits, BN by its buffers.
    """
    rng = data.generator(key)
    images = jnp.asarray(rng.normal(size=(1, 3, 5, 5)))
    layer, state = batch_norm(3)
    found, _ = on_batch(layer, state, images)
    instance = regularisation.normalise_features(images, (2, 3))
    yield close(
        found, instance, "one image: batch normalisation in training, against instance normalisation", atol=1e-10
    )
    part = digit_part(400, images=True)
    errors = {}
    for kind in KINDS:
        for size in SIZES:
            options = {"num_steps": examples // size, "batch": size, "rate": 0.1 * size / 32}
            nets, states, _ = trained(key, conv_maker(kind), part, seeds=seeds, **options)
            errors[kind, size] = 1 - accuracy(logits(nets, states, part.test_x), part.test_y)
    more = errors["batch", 2] - errors["group", 2]
    what = "batches of 2: error of BN less that of GN, paired: not below 0"
    yield mean(more, 0.0, what, side="at least")
    what = "batches of 1: error of BN less that of GN, paired: not below 0"
    yield mean(errors["batch", 1] - errors["group", 1], 0.0, what, side="at least")
    points = {
        name: (np.array(SIZES), np.array([errors[kind, size].mean() for size in SIZES])) for kind, name in KINDS.items()
    }
    error = more.std(ddof=1) / np.sqrt(seeds)
    told = "" if more.mean() > 2 * error else " (not confirmed here)"
    title = f"In batches of 2 BN errs by {more.mean():+.3f} ± {error:.3f} more than GN{told}"
    yield figure.curves(title, "batch size", "test error, mean over seeds", log="x", points=points)
