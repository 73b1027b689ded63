"""The convolutional classifier of images, and what its layers respond to."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, regularisation
from leadline.claims.scenarios.convolution.framed_digits import SIDE, framed_digits
from leadline.claims.scenarios.convolution.learned_features import (
    feature_network,
    first_filters,
    patch_noise,
    untrained_features,
)
from leadline.claims.scenarios.convolution.shifted_digits import framed_classifier, framed_scores
from leadline.convolution import ConvNetwork
from leadline.evidence import Int, at_least, at_most, claim, exactly, frequency, mean, model
from leadline.kernels.features import fit_gabor
from leadline.presentation import figure

AROUND = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


@model(sources=("eth", "sheet"), shows=("convolution.ConvNetwork", "convolution.pyramid"))
def cnn_classifier(key, first: Int(4, 32) = 16, second: Int(4, 48) = 32, tested: Int(200, 500) = 500):
    r"""The convolutional classifier.

    Convolutions to more and more channels with a nonlinearity each, a pooling over positions, and a linear layer on
    what is left: scores of classes. With circular windows and the maximum of each channel over all positions they do
    not depend on where the object is, which a dense network of as many parameters has to learn and does not.

    $$f(x) = W \max_p h_3(x)_p + b, \qquad h_l = \max(0, w_l \star h_{l-1} + b_l)$$

    Check: Shapes, parameters and receptive fields of the specification against those of the arrays and of gradients,
    and against the formula; accuracies of two trained networks on test digits in a frame of 12 × 12, as they are and
    moved by two pixels, each in one of eight directions. The accuracies are of one training.
    """
    channels = (first, second, second)
    layers = convolution.pyramid(channels, 10, wrap=True, head="max")
    net, linear = (ConvNetwork(layers, (1, SIDE, SIDE), f, dtype=float, key=key) for f in ("relu", "identity"))
    rows = net.costs().rows
    x = jnp.asarray(data.generator(key).normal(size=(1, SIDE, SIDE)))
    shapes = ([n for stage in stages for n in stage.shape] for stages in (rows, net.stages(x)))
    yield exactly(*shapes, "shapes, layer by layer, against the outputs")
    by_hand = [first * 10, second * (9 * first + 1), second * (9 * second + 1), 0, 10 * (second + 1)]
    yield exactly([row.weights + row.biases for row in rows], by_hand, "parameters of each layer, against the formula")
    told = int(net.summary().split()[-1].replace(",", ""))
    yield exactly(told, sum(a.size for a in jax.tree.leaves(net)), "parameters in the summary, against the arrays")
    middle = (0, SIDE // 2, SIDE // 2)
    fields = [convolution.gradient_field(lambda x, i=i: linear.stages(x)[i], x, middle) for i in range(3)]
    seen = [convolution.measure_field(field).size for field in fields]
    what = "receptive fields, against where the gradient without nonlinearities is not 0"
    yield exactly([row.field for row in rows[:3]], seen, what)
    trained = {kind: framed_classifier(kind) for kind in ("pooled", "MLP")}
    sizes = {kind: sum(a.size for a in jax.tree.leaves(n) if hasattr(a, "size")) for kind, n in trained.items()}
    yield exactly(list(sizes.values()), [14_378, 14_090], "parameters of the two trained networks")
    *_, images, labels = framed_digits()
    order = data.generator(key).permutation(len(labels))[:tested]
    images, labels = images[order], labels[order]
    distances = range(SIDE // 2 + 1)
    right = {kind: np.stack([_right(n, images, labels, d) for d in distances]) for kind, n in trained.items()}
    what = "digits as they are: accuracy less the dense network's, image by image, -0.01 or more"
    yield mean(right["pooled"][0] - right["MLP"][0], -0.01, what, side="at least").as_empirical()
    moved = regularisation.paired_difference(right["pooled"][2], right["MLP"][2])
    what = "digits moved by 2: accuracy less the dense network's, 0.3 or more, lower end of the interval"
    yield at_least(moved.low, 0.3, what).as_empirical()
    what = "digits as they are: accuracy, 0.98 or more"
    yield frequency(int(right["pooled"][0].sum()), tested, 0.98, what, side="at least").as_empirical()
    names = {"pooled": f"convolutional, {sizes['pooled']:,}", "MLP": f"dense, {sizes['MLP']:,}"}
    points = {names[kind]: (list(distances), hits.mean(1)) for kind, hits in right.items()}
    curve = figure.curves("test digits moved in 8 directions", "shift, pixels", "accuracy", points=points)
    names = [f"{i}: {' × '.join(map(str, row.shape))}" for i, row in enumerate(rows, start=1)]
    counts = {
        "outputs": dict(zip(names, (row.activations for row in rows), strict=True)),
        "parameters": dict(zip(names, by_hand, strict=True)),
    }
    shown = figure.bars("the layers", "layer and its output", "numbers", values=counts)
    kernels = np.asarray(trained["pooled"].built[0].weight)[:, 0]
    pictures = [(str(k), kernel) for k, kernel in enumerate(kernels)]
    filters = figure.images("first filters, 3 × 3", images=pictures, columns=8, diverging=True)
    share = {kind: hits[[0, 2]].mean(1) for kind, hits in right.items()}
    title = (
        f"Convolutional: accuracy {share['pooled'][0]:.3f}, moved by two pixels {share['pooled'][1]:.3f}; "
        f"dense: {share['MLP'][0]:.3f} and {share['MLP'][1]:.3f}"
    )
    yield figure.beside(title, curve, shown, filters)


def _right(net, images, labels, distance):
    """1 where an image is classified rightly, else 0, each moved so far in one of eight directions, in turn."""
    moved = images.copy()
    for k, (i, j) in enumerate(AROUND):
        moved[k::8] = np.roll(images[k::8], (i * distance, j * distance), (1, 2))
    return (np.asarray(framed_scores(net, moved)).argmax(1) == labels).astype(float)


@claim(
    sources=("penn",),
    empirical=True,
    shows=("convolution.top_patches", "convolution.maximise_responses", "kernels.features.fit_gabor"),
)
def feature_hierarchy(key, seed: Int(0, 3) = 0, noise: Int(32, 128) = 64):
    r"""Trained first filters are nearer to Gabor filters than random ones.

    First-layer filters of trained networks are said to look like oriented edge detectors, and deeper units to respond
    to more complex patterns. On digits a Gabor filter explains more of each filter after training than before. But
    noise with the second moments of the digits' own patches is explained even better, so that the rise can come from
    filters becoming smooth, as what they see is, without any preference for edges.

    $$R^2 = \max_{\text{Gabor } g} 1 - \frac{\|w - g\|^2}{\|w - \bar w\|^2}$$

    Check: 16 filters of 7 × 7 before and after 400 steps on framed digits, paired; p < 0.05. The test takes the filters
    of one network for independent. What deeper units respond to is shown and not judged.
    """
    before, after = untrained_features(seed), feature_network(seed)
    start, end = fit_gabor(first_filters(before)), fit_gabor(first_filters(after))
    change = regularisation.paired_difference(end.explained, start.explained, "t")
    yield at_least(change.mean, 0.0, "mean R² after training less before", strict=True)
    yield at_most(change.p_value, 0.05, "p-value of no change, paired over filters")
    smooth = fit_gabor(patch_noise(noise, data.generator(key))).explained
    what = "mean R² of noise as smooth as the digits, against that of trained filters"
    yield at_least(smooth.mean(), end.explained.mean(), what)
    ends = [min(start.explained), max(end.explained)]
    explained = figure.curves(
        "each filter and its best Gabor filter",
        "R² before training",
        "R² after training",
        lines={"no change": (ends, ends)},
        points={"first filters": (start.explained, end.explained)},
        rules={"smooth noise, mean": ("y", float(smooth.mean()))},
    )
    filters = [
        (f"{name}, {r:.2f}", w / np.abs(w).max())
        for name, net, fit in (("before", before, start), ("after", after, end))
        for r, w in zip(fit.explained, first_filters(net), strict=True)
    ]
    shown = figure.images("first filters with R², each on its own scale", images=filters, columns=8, diverging=True)
    images, *_ = framed_digits()
    best = convolution.top_patches(after, images, 2, 3)
    active = np.argsort(-best.responses[:, 0])[:8]
    units = np.column_stack([active, best.places[active, 0]])
    starts = images[best.images[active, 0]]
    size = float(np.linalg.norm(starts, axis=(1, 2)).mean())
    made = convolution.maximise_responses(after, starts, 2, units, norm=size)
    patches = [(f"channel {c}", best.patches[c, k]) for k in range(3) for c in active]
    deeper = figure.images("second convolution: patches it responds to most", images=patches, columns=8)
    climbed = [(f"channel {c}", image) for c, image in zip(active, made, strict=True)]
    ascent = figure.images("images made to excite these channels", images=climbed, columns=8, diverging=True)
    title = (
        f"R² of Gabor filters goes from {start.explained.mean():.2f} to {end.explained.mean():.2f} with training; "
        f"smooth noise has {smooth.mean():.2f}"
    )
    yield figure.beside(title, explained, shown, deeper, ascent)
