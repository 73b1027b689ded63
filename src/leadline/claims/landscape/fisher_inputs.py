"""What the Fisher information takes from data: the inputs, not the labels, and no more directions than outputs."""

from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.claims.landscape.shallow_networks import ShallowClassifier, digit_set, softmax
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


@claim(
    "fisher-ignores-labels",
    says=(
        "The Fisher information depends on the inputs and the model only; shuffling the labels leaves it as it is. The "
        "empirical Fisher, made from gradients at the given labels, changes, and is the Fisher information only on "
        "average over labels drawn from the model."
    ),
    formula=r"g = \frac{1}{n} \sum_i E_{y \sim s_i} [\nabla \log s_i(y) \nabla \log s_i(y)^T]",
    sources=("penn",),
    shows=("sloppiness.softmax_root_rows", "sloppiness.fisher_eigenvalues"),
)
def fisher_ignores_labels(
    key,
    images: Annotated[int, Range(10, 60)] = 40,
    hidden: Annotated[int, Range(2, 16)] = 6,
    steps: Annotated[int, Range(0, 300)] = 150,
):
    """A digits classifier trained for `steps` steps; curvature of the loss in the logits taken at the labels given."""
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    net = ShallowClassifier(64, hidden, 10)
    w, _ = net.train(net.draw(rng), x, y, steps)
    jacobian, logits = net.jacobian(w, x), net.logits(w, x)
    share = softmax(logits)
    shuffled = y[rng.permutation(images)]
    spectra, empirical = [], []
    for labels in (y, shuffled):
        bend = np.stack(  # ∂(s − y)/∂logits at these labels, by complex steps
            [(softmax(logits + 1e-30j * e) - labels).imag / 1e-30 for e in np.eye(10)], axis=-1
        )
        values, vectors = np.linalg.eigh(bend)
        half = np.sqrt(np.clip(values, 0, None))[:, :, None] * np.swapaxes(vectors, 1, 2)
        spectra.append(sloppiness.fisher_eigenvalues((half @ jacobian).reshape(-1, net.size) / np.sqrt(images)))
        gradients = np.einsum("nc,ncp->np", share - labels, jacobian)
        empirical.append(gradients)
    fisher = sloppiness.fisher_eigenvalues(sloppiness.softmax_root_rows(logits, jacobian))
    for name, found in zip(("true", "shuffled"), spectra, strict=True):
        yield close(found, fisher, f"spectrum of g with {name} labels, and without any", atol=1e-12 * fisher[0])
    size = [float(np.sum(g**2)) / images for g in empirical]
    cross = np.sum((empirical[0] @ empirical[1].T) ** 2)
    norms = [float(np.sum((g @ g.T) ** 2)) for g in empirical]
    change = np.sqrt(max(norms[0] + norms[1] - 2 * cross, 0.0) / norms[0])
    yield at_least(change, 0.1, "relative change of the empirical Fisher by the shuffle")
    # each label drawn from the model: the trace of the empirical Fisher has the trace of g as its mean
    lengths = np.stack([np.sum(np.einsum("nc,ncp->np", share - e, jacobian) ** 2, axis=1) for e in np.eye(10)], axis=1)
    draws = np.minimum((rng.random((400, images, 1)) > np.cumsum(share, axis=1)).sum(axis=2), 9)
    traces = np.take_along_axis(np.broadcast_to(lengths, (400, images, 10)), draws[..., None], 2)[..., 0].mean(axis=1)
    spread = (share * lengths**2).sum(axis=1) - (share * lengths).sum(axis=1) ** 2
    deviation = float(np.sqrt(spread.sum()) / images)
    what = "trace of the empirical Fisher, labels drawn from the model, and tr g"
    # Chebyshev in place of the normal law: after training the rare wrong label is nearly all of the trace
    error = deviation / np.sqrt(400 * 1e-3)
    yield close(traces.mean(), fisher.sum(), f"{what} (within Chebyshev's 99.9%)", atol=error)
    at = 1 + np.arange(images)
    beside = [sloppiness.fisher_eigenvalues(g / np.sqrt(images)) for g in empirical]
    yield figure.curves(
        f"Shuffled labels: g as before; the trace of the empirical Fisher goes from {size[0]:.2g} to {size[1]:.2g}",
        x="direction k",
        y="eigenvalue",
        lines={"g, true labels": (at, spectra[0][:images])},
        points={
            "g, shuffled labels": (at, spectra[1][:images]),
            "empirical, true": (at[beside[0] > 1e-14], beside[0][beside[0] > 1e-14]),
            "empirical, shuffled": (at[beside[1] > 1e-14], beside[1][beside[1] > 1e-14]),
        },
        log="xy",
    )


@claim(
    "fisher-rank",
    says=(
        "g of n inputs with m outputs has rank at most min(p, nm), for a softmax of C classes min(p, n(C − 1)): with "
        "few data most directions are not seen at all. Counting inputs alone, without the outputs, is too small."
    ),
    formula=r"rank\, g \le \min(p, n (C - 1))",
    sources=("penn",),
    shows=("sloppiness.fisher_eigenvalues",),
)
def fisher_rank(
    key,
    images: Annotated[int, Range(10, 200)] = 50,
    hidden: Annotated[int, Range(3, 32)] = 8,
    steps: Annotated[int, Range(0, 300)] = 0,
):
    """Digits, tanh units, 10 classes; threshold 10⁻¹² of λ₁. The numbers of the source: images = 200, hidden = 32."""
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    net = ShallowClassifier(64, hidden, 10)
    w, _ = net.train(net.draw(rng), x, y, steps)
    root = sloppiness.softmax_root_rows(net.logits(w, x), net.jacobian(w, x)).reshape(images, 10, -1)
    counts = np.unique(np.geomspace(2, images, 5).astype(int))
    ranks, limits, sharper = [], [], []
    for n in counts:
        values = sloppiness.fisher_eigenvalues(root[:n].reshape(-1, net.size) * np.sqrt(images / n))
        ranks.append(int(np.sum(values > 1e-12 * values[0])))
        limits.append(min(net.size, n * 9))
        dark = int(np.sum(np.all(x[:n] == 0, axis=0)))  # pixels that are 0 in all images: their weights are not seen
        sharper.append(min(net.size - (hidden + 1) - hidden * dark, n * 9))
    yield at_most(ranks, limits, "rank of g, min(p, n(C − 1))")
    yield at_most(ranks, sharper, "rank of g, without dark pixels and the h + 1 shifts common to all logits")
    yield printed(
        at_most(ranks[0], min(net.size, counts[0]), f"rank of g from {counts[0]} images, min(p, n)"),
        "penn",
        "the rank is compared with n alone: min(p, n)",
    )
    cifar = min(50_000 * 9, 3_000_000)
    yield exactly(cifar, 450_000, "CIFAR-10, 50 000 images, 3 million weights: bound n(C − 1)")
    yield figure.curves(
        f"From {images} images g sees {ranks[-1]} of {net.size} directions; bound min(p, n(C − 1)) = {limits[-1]}",
        x="images n",
        y="rank of g",
        lines={"min(p, n(C − 1))": (counts, limits), "min(p, n)": (counts, np.minimum(counts, net.size))},
        points={"numerical rank": (counts, ranks)},
        log="xy",
        rules={f"{net.size} weights": ("y", net.size)},
    )
