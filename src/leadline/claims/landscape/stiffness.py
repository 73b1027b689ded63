"""Stiff and sloppy directions: what a step along each changes, how far spectra fall, how many directions count."""

from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.claims.landscape.shallow_networks import ShallowClassifier, digit_set
from leadline.evidence import Range, at_least, at_most, claim, close, figure, instrument


@instrument(
    "stiff-sloppy-perturbation",
    says=(
        "A step of fixed norm along the k-th eigenvector of g moves the predictions by norm·√(nλₖ), measured on the "
        "sphere 2√s of class probabilities: a stiff direction ruins a classifier, a sloppy one of the same length is "
        "not noticed."
    ),
    formula=r"\| F(w + \epsilon v_k) - F(w) \| = \epsilon \sqrt{n \lambda_k} + O(\epsilon^2)",
    sources=("penn",),
    shows=("sloppiness.direction_responses", "sloppiness.probability_embedding", "sloppiness.name_shares"),
)
def stiff_sloppy_perturbation(
    key,
    images: Annotated[int, Range(10, 60)] = 30,
    hidden: Annotated[int, Range(2, 16)] = 6,
    steps: Annotated[int, Range(0, 300)] = 60,
    norm: Annotated[float, Range(0.1, 10.0, log=True)] = 2.0,
):
    """A digits classifier trained for `steps` steps: a tiny step against the formula, one of `norm` for the picture."""
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    net = ShallowClassifier(64, hidden, 10)
    w, _ = net.train(net.draw(rng), x, y, steps)
    spectrum = net.spectrum(w, x)

    def embed(v):
        return sloppiness.probability_embedding(net.logits(v, x))

    seen = spectrum.eigenvalues > 1e-7 * spectrum.eigenvalues[0]
    small = sloppiness.direction_responses(embed, w, spectrum, 1e-7, images)
    what = "change of predictions over norm·√(nλₖ), norm 10⁻⁷, λₖ > 10⁻⁷λ₁"
    yield close((small.measured / small.predicted)[seen], 1.0, what, rtol=0.05)
    change = sloppiness.direction_responses(embed, w, spectrum, norm, images)
    rises = np.array([net.loss(w + norm * v, x, y) for v in spectrum.vectors]) - net.loss(w, x, y)
    kept = np.array([net.accuracy(w + norm * v, x, y) for v in spectrum.vectors])
    k = 1 + np.arange(len(kept))
    first = next(iter(sloppiness.name_shares(spectrum.vectors[0], net.names)))
    yield figure.beside(
        f"A step of norm {norm:g} changes predictions by {change.measured[0]:.2g} along direction 1 (mostly {first}), "
        f"by {change.measured[-1]:.1g} along direction {len(k)}",
        figure.curves(
            "Change of predictions 2√s, all images", x="direction k", y="‖change‖", log="y",
            lines={"norm·√(nλₖ)": (k[seen], change.predicted[seen])}, points={f"norm {norm:g}": (k, change.measured)},
        ),
        figure.curves(
            "Rise of the loss and accuracy after the step", x="direction k", y="loss rise, accuracy",
            points={"loss rise": (k, rises), "accuracy": (k, kept)},
        ),
    )  # fmt: skip


@claim(
    "sloppy-spectrum",
    says=(
        "The Fisher eigenvalues of a network trained on digits fall over many decades, evenly on a log scale, as those "
        "of the input correlations do; on white noise of the same shape the spectrum is flatter by more than a decade. "
        "The Hessian's is steeper on digits, too, and less steep than Fisher's."
    ),
    formula=r"D_k = \log_{10} \frac{\lambda_1}{\lambda_k}, \qquad D_k^{digits} > D_k^{noise} + 1",
    sources=("penn",),
    shows=("sloppiness.fisher_eigenvalues", "sloppiness.spectrum_decades"),
    empirical=True,
)
def sloppy_spectrum(
    key,
    images: Annotated[int, Range(60, 200)] = 80,
    hidden: Annotated[int, Range(8, 32)] = 12,
    steps: Annotated[int, Range(100, 500)] = 300,
):
    """Adam at 0.01, labels as they are, k = 1.5 images. The size of the source: images = 200, hidden = 32."""
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    noise = rng.normal(size=x.shape) * np.sqrt(np.mean(x**2))
    net = ShallowClassifier(64, hidden, 10)
    start, k = net.draw(rng), 3 * images // 2
    spectra, decades, bends = {}, {}, []
    for name, inputs in (("digits", x), ("white noise", noise)):
        w, _ = net.train(start, inputs, y, steps)
        bent = np.sort(np.abs(np.linalg.eigvalsh(net.hessian(w, inputs, y))))[::-1]
        bends.append(sloppiness.spectrum_decades(bent, k))
        spectra[name] = sloppiness.fisher_eigenvalues(net.root(w, inputs))
        decades[name] = sloppiness.spectrum_decades(spectra[name], k)
    yield at_least(decades["digits"], decades["white noise"] + 1, f"decades from λ₁ to λ{k}: digits, white noise + 1")
    yield at_least(*bends, f"decades of the Hessian's first {k} eigenvalues by size: digits, white noise", strict=True)
    yield at_least(decades["digits"], bends[0], f"digits, decades of the first {k}: Fisher, Hessian", strict=True)
    pixels = data.digits().images
    correlation = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(pixels - pixels.mean(axis=0)))
    inherited = sloppiness.spectrum_decades(correlation, 50)
    yield close(inherited, 2.57, "decades from λ₁ to λ₅₀ of the pixels of all 1797 digits", atol=0.005)
    at = 1 + np.arange(k)
    yield figure.curves(
        f"Fisher spectra over {k} directions: {decades['digits']:.2f} decades on digits, "
        f"{decades['white noise']:.2f} on white noise (Hessian: {bends[0]:.2f}, {bends[1]:.2f})",
        x="direction k",
        y="λₖ/λ₁",
        points={name: (at, values[:k] / values[0]) for name, values in spectra.items()},
        lines={"pixel covariance": (at[:61], correlation[: min(k, 61)] / correlation[0])},
        log="y",
    )


@instrument(
    "effective-dimension",
    says=(
        "How many parameters the data determine: N(t) eigenvalues above a threshold, or smoothly Σλ/(λ + a) with "
        "a = 1/(nτ²) for a prior of deviation τ. For ridge regression it is the number of degrees of freedom; for a "
        "network it stays far below the parameter count."
    ),
    formula=r"d(a) = \sum_k \frac{\lambda_k}{\lambda_k + a}, \qquad N(t) = \#\{\lambda_k > t\}",
    sources=("penn",),
    shows=("sloppiness.effective_dimension", "sloppiness.stiff_count", "sloppiness.prior_scale"),
)
def effective_dimension(
    key,
    images: Annotated[int, Range(20, 120)] = 60,
    hidden: Annotated[int, Range(4, 16)] = 8,
    steps: Annotated[int, Range(0, 300)] = 150,
    prior: Annotated[float, Range(0.03, 3.0, log=True)] = 0.3,
):
    """Ridge on random data; a digits classifier on nested sets of images at fixed weights, and three widths."""
    rng = data.generator(key)
    design, penalty = rng.normal(size=(30, 12)) * np.geomspace(1, 1e-3, 12), prior**2
    hat = design @ np.linalg.solve(design.T @ design + 30 * penalty * np.eye(12), design.T)
    values = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(design))
    freedom = sloppiness.effective_dimension(values, penalty)
    yield close(freedom, np.trace(hat), "ridge: Σλ/(λ + a), trace of the hat matrix", rtol=1e-9)

    x, y = digit_set(images, rng)
    counts, by_count, by_width, sizes = np.unique([images // 4, images // 2, images]), [], [], []
    widths = (max(hidden // 4, 1), hidden // 2, hidden)
    for width in widths:
        net = ShallowClassifier(64, width, 10)
        w, _ = net.train(net.draw(rng), x, y, steps)
        root = net.root(w, x)
        spectrum = sloppiness.fisher_eigenvalues(root)
        by_width.append(float(sloppiness.effective_dimension(spectrum, sloppiness.prior_scale(images, prior))))
        sizes.append(net.size)
    rows = root.reshape(images, 10, -1)
    for count in counts:
        part = sloppiness.fisher_eigenvalues(rows[:count].reshape(10 * count, -1) * np.sqrt(images / count))
        by_count.append(float(sloppiness.effective_dimension(part, sloppiness.prior_scale(int(count), prior))))
    yield at_least(np.diff(by_count), 0.0, "digits, fixed weights: growth of the effective dimension with n", atol=1e-9)
    scale = sloppiness.prior_scale(images, prior)
    sharp, smooth = float(sloppiness.stiff_count(spectrum, scale)), by_width[-1]
    tail = float(spectrum[spectrum <= scale].sum() / scale)
    yield at_least(smooth, sharp / 2, "Σλ/(λ + a), at least N(a)/2")
    yield at_most(smooth, sharp + tail, "Σλ/(λ + a), at most N(a) + Σ λ/a over the rest")
    yield at_most(by_width, sizes, f"effective dimension of widths {widths}, parameter count", strict=True)
    grid = np.geomspace(max(spectrum[0] * 1e-8, 1e-14), spectrum[0], 60)
    yield figure.beside(
        f"{smooth:.0f} of {net.size} parameters are determined by {images} images "
        f"(a = 1/(nτ²) = {scale:.1g}, τ = {prior:g})",
        figure.curves(
            "Effective dimension against the threshold", x="threshold a", y="directions", log="xy",
            lines={"Σ λ/(λ + a)": (grid, sloppiness.effective_dimension(spectrum, grid))},
            steps={"N(a)": (grid, np.maximum(sloppiness.stiff_count(spectrum, grid), 0.5))},
            points={"a = 1/(nτ²)": ([scale], [smooth])}, rules={f"{net.size} parameters": ("y", net.size)},
        ),
        figure.curves(
            "Against the number of images, and of parameters", x="images, or parameters", y="effective dimension",
            log="xy",
            points={"images, fixed weights": (counts, by_count), "parameters, by width": (sizes, by_width)},
        ),
    )  # fmt: skip
