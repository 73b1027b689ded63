"""What the Fisher information takes from data: the inputs, not the labels, and no more directions than outputs."""

import jax
import numpy as np
from scipy.special import softmax

from leadline import data
from leadline.claims.scenarios.landscape.shallow_networks import ShallowClassifier, digit_set, logits_of
from leadline.evidence import Int, at_least, at_most, claim, close, exactly
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.fisher_spectra import softmax_root_rows
from leadline.presentation import figure


@claim(sources=("penn",))
def fisher_ignores_labels(key, images: Int(10, 60) = 40, hidden: Int(2, 16) = 6, num_steps: Int(0, 300) = 150):
    r"""The Fisher information ignores labels.

    The Fisher information depends on the inputs and the model only; shuffling the labels leaves it as it is. The
    empirical Fisher, made from gradients at the given labels, changes, and equals the Fisher information only on
    average over labels drawn from the model.

    $$g = \frac{1}{n} \sum_i E_{y \sim s_i} [\nabla \log s_i(y) \nabla \log s_i(y)^T]$$
    """
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    net = ShallowClassifier(64, hidden, 10)
    w = net.train(net.draw(rng), x, y, num_steps)[-1]
    logits, jacobian = sloppiness.output_jacobian(logits_of, net.network(w), x)
    share = softmax(logits, axis=1)
    shuffled = y[rng.permutation(images)]
    spectra, empirical = [], []
    for labels in (y, shuffled):
        bend = jax.vmap(jax.jacfwd(lambda z, y: jax.nn.softmax(z) - y))(logits, labels)  # ∂(s − y)/∂logits
        values, vectors = np.linalg.eigh(bend)
        half = np.sqrt(np.clip(values, 0, None))[:, :, None] * np.swapaxes(vectors, 1, 2)
        spectra.append(sloppiness.fisher_eigenvalues((half @ jacobian).reshape(-1, net.size) / np.sqrt(images)))
        empirical.append(np.einsum("nc,ncp->np", share - labels, jacobian))
    fisher = sloppiness.fisher_eigenvalues(softmax_root_rows(logits, jacobian))
    for name, found in zip(("true", "shuffled"), spectra, strict=True):
        yield close(found, fisher, f"spectrum of g with {name} labels, and without any", atol=1e-12 * fisher[0])
    size = [np.sum(g**2) / images for g in empirical]
    same, other, cross = (np.sum((empirical[i] @ empirical[j].T) ** 2) for i, j in ((0, 0), (1, 1), (0, 1)))
    change = np.sqrt(max(same + other - 2 * cross, 0.0) / same)
    yield at_least(change, 0.1, "relative change of the empirical Fisher by the shuffle")
    # each label drawn from the model: the trace of the empirical Fisher has the trace of g as its mean
    lengths = np.stack([np.sum(np.einsum("nc,ncp->np", share - e, jacobian) ** 2, axis=1) for e in np.eye(10)], axis=1)
    draws = np.minimum((rng.random((400, images, 1)) > np.cumsum(share, axis=1)).sum(axis=2), 9)
    traces = np.take_along_axis(np.broadcast_to(lengths, (400, images, 10)), draws[..., None], 2)[..., 0].mean(axis=1)
    spread = (share * lengths**2).sum(axis=1) - (share * lengths).sum(axis=1) ** 2
    # Chebyshev in place of the normal distribution: after training the rare wrong label is nearly all of the trace
    error = np.sqrt(spread.sum() / (400 * 1e-3)) / images
    what = "trace of the empirical Fisher, labels drawn from the model, against tr g (within Chebyshev's 99.9%)"
    yield close(traces.mean(), fisher.sum(), what, atol=error)
    at, points = 1 + np.arange(images), {"g, shuffled labels": (1 + np.arange(images), spectra[1][:images])}
    for name, gradients in zip(("true", "shuffled"), empirical, strict=True):
        found = sloppiness.fisher_eigenvalues(gradients / np.sqrt(images))
        points[f"empirical, {name}"] = (at[found > 1e-14], found[found > 1e-14])
    title = f"Shuffled labels: g as before; the trace of the empirical Fisher goes from {size[0]:.2g} to {size[1]:.2g}"
    lines = {"g, true labels": (at, spectra[0][:images])}
    yield figure.curves(title, "direction k", "eigenvalue", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def fisher_rank(key, images: Int(10, 200) = 50, hidden: Int(3, 32) = 8, num_steps: Int(0, 300) = 0):
    r"""Rank of the Fisher information.

    The Fisher information g of n inputs with m outputs has rank at most min(p, nm), and for a softmax of C classes at
    most min(p, n(C − 1)): with few data most directions are not seen at all. A count of the inputs alone, without the
    outputs, is too small.

    $$\mathrm{rank}\, g \le \min(p, n (C - 1))$$

    Check: The rank is computed for tanh networks on digits with 10 classes, at a threshold of 10⁻¹² of λ₁. The numbers
    of the source are `images` = 200 and `hidden` = 32.
    """
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    net = ShallowClassifier(64, hidden, 10)
    w = net.train(net.draw(rng), x, y, num_steps)[-1]
    root = net.root(w, x).reshape(images, 10, -1)
    counts = np.unique(np.geomspace(2, images, 5).astype(int))
    ranks, limits, sharper = [], [], []
    for n in counts:
        values = sloppiness.fisher_eigenvalues(root[:n].reshape(-1, net.size) * np.sqrt(images / n))
        ranks.append(np.sum(values > 1e-12 * values[0]))
        limits.append(min(net.size, n * 9))
        dark = np.sum(np.all(x[:n] == 0, axis=0))  # pixels that are 0 in all images: their weights are not seen
        sharper.append(min(net.size - (hidden + 1) - hidden * dark, n * 9))
    yield at_most(ranks, limits, "rank of g, against min(p, n(C − 1))")
    yield at_most(ranks, sharper, "rank of g, without dark pixels and the h + 1 shifts common to all logits")
    cifar = min(50_000 * 9, 3_000_000)
    yield exactly(cifar, 450_000, "CIFAR-10, 50 000 images, 3 million weights: bound n(C − 1)")
    title = f"From {images} images g sees {ranks[-1]} of {net.size} directions; bound min(p, n(C − 1)) = {limits[-1]}"
    lines = {"min(p, n(C − 1))": (counts, limits), "min(p, n)": (counts, np.minimum(counts, net.size))}
    points, rules = {"numerical rank": (counts, ranks)}, {f"{net.size} weights": ("y", net.size)}
    yield figure.curves(title, "images n", "rank of g", lines=lines, points=points, log="xy", rules=rules)
