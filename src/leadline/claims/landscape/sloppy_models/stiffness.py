"""Stiff and sloppy directions: what a step along each changes, how far spectra fall, how many directions count."""

import numpy as np

from leadline import data
from leadline.claims.scenarios.landscape.shallow_networks import ShallowClassifier, digit_set
from leadline.evidence import Int, Real, at_least, at_most, claim, close, instrument, reference
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.fisher_spectra import spectrum_decades
from leadline.landscape.sloppiness.parameter_directions import direction_responses, name_shares
from leadline.optimisation.objectives.any_loss import evaluate_points
from leadline.presentation import figure


@instrument(sources=("penn",))
def stiff_sloppy_perturbation(
    key,
    images: Int(10, 60) = 30,
    hidden: Int(2, 16) = 6,
    num_steps: Int(0, 300) = 60,
    norm: Real(0.1, 10.0, log=True) = 2.0,
):
    r"""Stiff and sloppy weight perturbations.

    A step of fixed norm along the k-th eigenvector of g moves the predictions by the norm times √(nλₖ), measured on
    the sphere 2√s of class probabilities: a step along a stiff direction ruins a classifier, one of the same length
    along a sloppy direction is not noticed.

    $$\| F(w + \epsilon v_k) - F(w) \| = \epsilon \sqrt{n \lambda_k} + O(\epsilon^2)$$
    """
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    net = ShallowClassifier(64, hidden, 10)
    w = net.train(net.draw(rng), x, y, num_steps)[-1]
    spectrum = net.spectrum(w, x)

    def embed(v):
        return sloppiness.probability_embedding(net.logits(v, x))

    seen = spectrum.eigenvalues > 1e-7 * spectrum.eigenvalues[0]
    small = direction_responses(embed, w, spectrum, 1e-7, images)
    what = "change of predictions over norm·√(nλₖ), norm 10⁻⁷, λₖ > 10⁻⁷λ₁"
    yield close((small.measured / small.predicted)[seen], 1.0, what, rtol=0.05)
    change = direction_responses(embed, w, spectrum, norm, images)
    loss = net.objective(x, y)
    rises = evaluate_points(loss, w + norm * np.stack([0 * w, *spectrum.vectors]))[0]
    rises = rises[1:] - rises[0]
    kept = net.accuracy(w + norm * spectrum.vectors, x, y)
    k = 1 + np.arange(len(kept))
    lines, points = {"norm·√(nλₖ)": (k[seen], change.predicted[seen])}, {f"norm {norm:g}": (k, change.measured)}
    title = "Change of predictions 2√s, all images"
    moved = figure.curves(title, "direction k", "‖change‖", log="y", lines=lines, points=points)
    title, points = "Rise of the loss and accuracy after the step", {"loss rise": (k, rises), "accuracy": (k, kept)}
    after = figure.curves(title, "direction k", "loss rise, accuracy", points=points)
    first = next(iter(name_shares(spectrum.vectors[0], net.names)))
    title = f"Steps of norm {norm:g} change predictions by {change.measured[0]:.2g} along direction 1 (mostly {first})"
    yield figure.beside(f"{title}, by {change.measured[-1]:.1g} along the last", moved, after)


@claim(sources=("penn",), empirical=True)
def sloppy_spectrum(key, images: Int(60, 200) = 80, hidden: Int(8, 32) = 12, num_steps: Int(100, 500) = 300):
    r"""Sloppy Fisher spectrum of trained networks.

    The Fisher eigenvalues of a network trained on digits fall over many decades, evenly on a log scale, as those of
    the input correlations do; on white noise of the same shape the spectrum is flatter by more than a decade. The
    Hessian's spectrum, too, is steeper on digits, and less steep than the Fisher spectrum.

    $$D_k = \log_{10} \frac{\lambda_1}{\lambda_k}, \qquad D_k^{\mathrm{digits}} > D_k^{\mathrm{noise}} + 1$$

    Check: The networks are trained by Adam at 0.01 with the labels left as they are, and k is 1.5 times the number of
    images. The size of the source is `images` = 200 and `hidden` = 32.
    """
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    noise = rng.normal(size=x.shape) * np.sqrt(np.mean(x**2))
    net = ShallowClassifier(64, hidden, 10)
    start, k = net.draw(rng), 3 * images // 2
    spectra, decades, bends = {}, {}, []
    for name, inputs in (("digits", x), ("white noise", noise)):
        w = net.train(start, inputs, y, num_steps)[-1]
        bent = np.sort(np.abs(np.linalg.eigvalsh(net.hessian(w, inputs, y))))[::-1]
        bends.append(spectrum_decades(bent, k))
        spectra[name] = sloppiness.fisher_eigenvalues(net.root(w, inputs))
        decades[name] = spectrum_decades(spectra[name], k)
    digits, white = decades.values()
    yield at_least(digits, white + 1, f"decades from λ₁ to λ{k} of g: digits, against white noise + 1")
    what = f"decades of the Hessian's first {k} eigenvalues by size: digits, against white noise"
    yield at_least(*bends, what, strict=True)
    yield at_least(digits, bends[0], f"digits, decades of the first {k}: Fisher, against Hessian", strict=True)
    pixels = data.digits().images
    correlation = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(pixels - pixels.mean(axis=0)))
    inherited = spectrum_decades(correlation, 50)
    yield reference(inherited, 2.57, "decades from λ₁ to λ₅₀ of the pixels of all 1797 digits", digits=3)
    at = 1 + np.arange(k)
    title = f"Fisher spectra over {k} directions: {digits:.2f} decades on digits, {white:.2f} on white noise"
    points = {name: (at, values[:k] / values[0]) for name, values in spectra.items()}
    lines = {"pixel covariance": (at[:61], correlation[: min(k, 61)] / correlation[0])}
    yield figure.curves(title, "direction k", "λₖ/λ₁", points=points, lines=lines, log="y")


@instrument(sources=("penn",))
def effective_dimension(
    key,
    images: Int(20, 120) = 60,
    hidden: Int(4, 16) = 8,
    num_steps: Int(0, 300) = 150,
    prior: Real(0.03, 3.0, log=True) = 0.3,
):
    r"""Effective dimension of the Fisher spectrum.

    How many parameters the data determine: the number N(t) of eigenvalues above a threshold t, or smoothly Σλ/(λ + a)
    with a = 1/(nτ²) for a prior of standard deviation τ. For ridge regression it is the number of degrees of freedom;
    for a network it stays far below the parameter count.

    $$d(a) = \sum_k \frac{\lambda_k}{\lambda_k + a}, \qquad N(t) = \#\{\lambda_k > t\}$$
    """
    rng = data.generator(key)
    design, penalty = rng.normal(size=(30, 12)) * np.geomspace(1, 1e-3, 12), prior**2
    hat = design @ np.linalg.solve(design.T @ design + 30 * penalty * np.eye(12), design.T)
    values = sloppiness.fisher_eigenvalues(sloppiness.gaussian_root_jacobian(design))
    freedom = sloppiness.effective_dimension(values, penalty)
    yield close(freedom, np.trace(hat), "ridge: Σλ/(λ + a), against the trace of the hat matrix", rtol=1e-9)
    x, y = digit_set(images, rng)
    counts, by_count, by_width, sizes = np.unique([images // 4, images // 2, images]), [], [], []
    widths, scale = (max(hidden // 4, 1), hidden // 2, hidden), sloppiness.prior_scale(images, prior)
    for width in widths:
        net = ShallowClassifier(64, width, 10)
        w = net.train(net.draw(rng), x, y, num_steps)[-1]
        root = net.root(w, x)
        spectrum = sloppiness.fisher_eigenvalues(root)
        by_width.append(sloppiness.effective_dimension(spectrum, scale))
        sizes.append(net.size)
    rows = root.reshape(images, 10, -1)
    for count in counts:
        part = sloppiness.fisher_eigenvalues(rows[:count].reshape(10 * count, -1) * np.sqrt(images / count))
        by_count.append(sloppiness.effective_dimension(part, sloppiness.prior_scale(int(count), prior)))
    yield at_least(np.diff(by_count), 0.0, "digits, fixed weights: growth of the effective dimension with n", atol=1e-9)
    sharp, smooth = sloppiness.stiff_count(spectrum, scale), by_width[-1]
    tail = spectrum[spectrum <= scale].sum() / scale
    yield at_least(smooth, sharp / 2, "digits: Σλ/(λ + a), against N(a)/2")
    yield at_most(smooth, sharp + tail, "digits: Σλ/(λ + a), against N(a) + Σ λ/a over the rest")
    yield at_most(by_width, sizes, f"effective dimension of widths {widths}, against the parameter count", strict=True)
    grid = np.geomspace(max(spectrum[0] * 1e-8, 1e-14), spectrum[0], 60)
    lines = {"Σ λ/(λ + a)": (grid, sloppiness.effective_dimension(spectrum, grid))}
    steps = {"N(a)": (grid, sloppiness.stiff_count(spectrum, grid))}
    points, rules = {"a = 1/(nτ²)": ([scale], [smooth])}, {f"{net.size} parameters": ("y", net.size)}
    curves = {"lines": lines, "steps": steps, "points": points, "rules": rules}
    left = figure.curves("Effective dimension against the threshold", "threshold a", "directions", log="xy", **curves)
    points = {"images, fixed weights": (counts, by_count), "parameters, by width": (sizes, by_width)}
    title = "Against the number of images, and of parameters"
    right = figure.curves(title, "images, or parameters", "effective dimension", log="xy", points=points)
    title = f"{smooth:.0f} of {net.size} parameters are determined by {images} images (τ = {prior:g}, a = {scale:.1g})"
    yield figure.beside(title, left, right)
