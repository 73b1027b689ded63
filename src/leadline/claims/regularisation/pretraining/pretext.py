"""Self-supervised pretraining: features from images alone, and what they are worth when labels are few."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import convolution, data, networks, regularisation, training
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Real, exactly, frequency, method
from leadline.presentation import figure

NETWORKS, DRAWS, CHANNELS = 3, 2, 8
COUNTS = (10, 30, 100, 300, 1000)


@method(
    sources=("sheet",),
    shows=("regularisation.RotationTask", "regularisation.Pretext", "regularisation.label_efficiency"),
    slow="a minute and a half",
    empirical=True,
)
def self_supervised_pretraining(key, penalty: Real(0.1, 10.0, log=True) = 1.0):
    r"""Self-supervised pretraining.

    A network learns a question that images answer by themselves: by how many quarter turns was this one turned? Its
    features, read by a linear probe, need fewer labels than those of the same network untrained, and more than those
    that were trained on all labels. Marks at the border answer the question without the image; they can be cut off.

    $$\min_\theta -E \log p_\theta(k \,|\, R^k x), \quad k \sim U\{0, 1, 2, 3\}$$

    Assumes: the images have an upper side that is worth knowing.

    Check: Three networks of two convolutions on 1297 unlabelled digits; probes on 10 to 1000 labels, two draws of
    these each; the same for random features and for those of training on all 1297 labels. Differences are paired by
    network and draw. Fine-tuning on 100 labels is reported beside training from the random start; that it is better
    is not confirmed here.
    """
    x, y, held, truth = data.digits_split()
    x, held = (part.reshape(-1, 8, 8).astype(np.float32) for part in (x, held))
    yield from _cues(key, x)
    seeds = [int(s) for s in jax.random.randint(key, (NETWORKS,), 0, 2**31 - 1)]
    pretext = [training.remembered(_pretrained, _start(0, 4), seed=seed) for seed in seeds]
    taught = [training.remembered(_supervised, _start(0, 10), seed=seed) for seed in seeds]
    kinds = {"pretrained": pretext, "random": [_start(seed, 4) for seed in seeds], "supervised": taught}
    found = {name: [] for name in kinds}
    for i in range(NETWORKS):
        train = {name: _features(nets[i], x) for name, nets in kinds.items()}
        test = {name: _features(nets[i], held) for name, nets in kinds.items()}
        own = jax.random.fold_in(key, i)
        scores = regularisation.label_efficiency(train, y, test, truth, COUNTS, draws=DRAWS, penalty=penalty, key=own)
        for name, table in scores.accuracy.items():
            found[name].append(table)
    error = {name: 1 - np.concatenate(tables) for name, tables in found.items()}  # (networks × draws, counts)
    few = {name: e[:, :3].mean(axis=1) for name, e in error.items()}
    for worse, better in (("random", "pretrained"), ("pretrained", "supervised")):
        what = f"probe error, mean of 10, 30 and 100 labels, {worse} less {better} features"
        yield paired_excess(few[worse], few[better], what)
    tuned = _tuned(key, pretext, kinds["random"], x, y, held, truth)
    points = {name: (COUNTS, *(f(1 - e, axis=0) for f in (np.mean, np.min, np.max))) for name, e in error.items()}
    ten = {name: 1 - e[:, 0].mean() for name, e in error.items()}
    title = (
        f"Ten labels: probe accuracy {ten['pretrained']:.2f} pretrained, {ten['random']:.2f} random, "
        f"{ten['supervised']:.2f} supervised features; fine-tuned on 100: {tuned['pretrained'].mean():.3f} against "
        f"{tuned['random'].mean():.3f}"
    )
    yield figure.curves(title, "labels", "test accuracy", log="x", points=points)


def _cues(key, images):
    """A mark in the upper left corner answers the question, unless only the inscribed disc is shown."""
    marked = jnp.asarray(images).at[:, 0, 0].set(10.0)

    def answered(task):
        turned, turns = task(marked, key=key)
        corners = np.stack([turned[:, 0, 0], turned[:, -1, 0], turned[:, -1, -1], turned[:, 0, -1]], axis=1)
        return np.asarray(corners.argmax(axis=1) == np.asarray(turns))

    what = "images with a marked corner: turns that the brightest corner tells"
    yield exactly(answered(regularisation.RotationTask()).sum(), len(images), what)
    hits = answered(regularisation.RotationTask(disc=True))
    yield frequency(
        hits.sum(),
        len(hits),
        0.25,
        "images with a marked corner, the disc alone shown: turns that the brightest corner tells, against chance",
    )


def _start(seed, classes):
    layers = convolution.pyramid((CHANNELS, 2 * CHANNELS), classes)
    return convolution.ConvNetwork(layers, (1, 8, 8), channels_last=True, key=jax.random.key(seed))


def _images():
    return jnp.asarray(data.digits_split().train_images.reshape(-1, 8, 8), jnp.float32)


def _pretrained(seed):
    """The network after 40 epochs of quarter turns."""
    objective, rule = regularisation.Pretext(regularisation.RotationTask()), optax.adam(3e-3)
    key = jax.random.key(seed)
    return training.fit(
        _start(seed, 4), _images(), objective=objective, optimiser=rule, epochs=40, batch=64, key=key
    ).model


def _supervised(seed):
    """The network after 20 epochs on all labels."""
    labels = jnp.asarray(data.digits_split().train_labels)
    key = jax.random.key(seed)
    return training.fit(
        _start(seed, 10), (_images(), labels), optimiser=optax.adam(3e-3), epochs=20, batch=64, key=key
    ).model


def _features(net, images):
    """What the network has before its last layer."""
    return np.asarray(_without_head(net, jnp.asarray(images)))


@eqx.filter_jit
def _without_head(net, images):
    return jax.vmap(lambda image: net.stages(image)[-2].ravel())(images)


def _tuned(key, pretext, random, x, y, held, truth):
    """Test accuracies after 100 epochs on 100 labels, all layers trained, from both kinds of weights."""
    rows = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel()).permutation(len(y))[:100]
    starts = [
        eqx.tree_at(lambda n: n.built[:-1], _start(i, 10), net.built[:-1])
        for nets in (pretext, random)
        for i, net in enumerate(nets)
    ]
    sample = jnp.asarray(x[rows]), jnp.asarray(y[rows])
    runs = training.fit_many(starts, sample, optimiser=optax.adam(3e-3), epochs=100, batch=25, key=key)
    scores = [float(networks.accuracy(run.model, jnp.asarray(held), jnp.asarray(truth))) for run in runs]
    return {"pretrained": np.array(scores[:NETWORKS]), "random": np.array(scores[NETWORKS:])}
