"""Random Fourier features: their mean and their variance."""

import jax
import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, OneOf, Real, at_most, claim, erratum, mean, method, reference, slope
from leadline.kernels.approximations.fourier import FourierFeatures
from leadline.presentation import figure


@method(sources=("penn",), shows=("kernels.spectral_frequencies",))
def random_fourier_features(
    key,
    kernel: OneOf("Gaussian", "Laplace", "Matern32", "Matern52") = "Gaussian",
    dim: Int(1, 20) = 4,
    scale: Real(0.3, 5.0, log=True) = 1.5,
    draws: Int(200, 2000) = 500,
):
    r"""Random Fourier features.

    A kernel of the difference x − x' is the mean of cosines with frequencies from its spectral distribution (Bochner's
    theorem; it is normal for the Gaussian kernel): √(2/p) cos(Wx + b) with uniform phases, or cosine and sine in
    pairs, also with orthogonal frequencies. The error falls as $p^{-1/2}$.

    $$k(x - x') = \mathbb{E}\, z(x) \cdot z(x'), \quad z(x) = \sqrt{2/p}\, \cos(Wx + b), \; W \sim \mathcal{N}(0,
    I/s^2), \; b \sim U[0, 2\pi]$$

    Check: Many independent draws of 8d features are averaged at one pair of points, and the Gram errors of 30 points
    are followed along p. The features cos(Wx) without a random phase, as in the Penn notes, are shown to estimate k(x
    − x') + k(x + x') instead.
    """
    rng = data.generator(key)
    k = getattr(kernels, kernel)(scale)
    pair = rng.standard_normal((2, dim)) * scale / dim**0.5
    exact = float(k(pair[:1], pair[1:])[0, 0])
    p = 8 * dim
    keys = list(jax.random.split(key, 6))
    for i, (name, form, orthogonal) in enumerate(_VARIANTS):
        z = kernels.draw_fourier_features(k, dim, draws * p, form=form, orthogonal=orthogonal, key=keys[i])(pair)
        products = (z[0] * z[1]).reshape(-1, p) if form == "phase" else _pairs(z).reshape(-1, p // 2)
        values = products.sum(axis=1) * draws  # blocks of d frequencies stay together: 8 d and 4 d are multiples of d
        known = None if orthogonal else float(kernels.fourier_variance(k, pair[:1] - pair[1:], p, form=form)[0]) ** 0.5
        yield mean(values, exact, f"mean of z(x)·z(x'), {name}, against k(x − x')", deviation=known)
    points = rng.standard_normal((30, dim)) * scale / dim**0.5
    gram, upper = k(points, points), np.triu_indices(30, 1)
    sizes = 2 ** np.arange(5, 12)
    deltas = points[upper[0]] - points[upper[1]]
    errors, largest = {}, {}
    for (name, form, orthogonal), own in zip(_VARIANTS, keys[3:6], strict=True):
        runs = [_gram_errors(k, gram, points, upper, int(p), form, orthogonal, own) for p in sizes]
        errors[name] = np.sqrt([mean_square for mean_square, _ in runs])
        largest[name] = np.array([most for _, most in runs])
        yield slope(sizes, errors[name], -0.5, f"root mean square Gram error along p, {name}", within=0.03)
    pairs = len(upper[0]) * 16 * len(sizes)
    bound = np.sqrt(8 * np.log(2 * pairs / 1e-4) / sizes)  # Hoeffding for each entry, all entries together
    for name in ("phases", "pairs"):
        yield at_most(largest[name], bound, f"largest Gram error, against √(8 log(2M/δ)/p), {name}")
    frequencies = rng.standard_normal(4000)
    values = 2 * np.cos(0.7 * frequencies) * np.cos(1.2 * frequencies)
    near, far = np.exp(-(0.5**2) / 2), np.exp(-(1.9**2) / 2)
    yield reference(near + far, 1.0470, "k(x − x') + k(x + x') at 0.7 and 1.2", digits=5)
    both = mean(values, near + far, "mean without phases, against k(x − x') + k(x + x')")
    yield both
    wrong = mean(values, near, "mean without phases, against k(x − x')")
    prints = "Rahimi and Recht's features are cos(w·x), without the random phase (1.0470 against k(x − x') = 0.8825)"
    yield erratum(wrong, of=both, by="penn", prints=prints)
    predicted = {
        name: (sizes, [np.sqrt(np.mean(kernels.fourier_variance(k, deltas, int(s), form=form))) for s in sizes])
        for name, form, orthogonal in _VARIANTS
        if not orthogonal
    }
    ratio = errors["phases"][-1] / errors["pairs"][-1]
    points, axis = {name: (sizes, e) for name, e in errors.items()}, "root mean square error of an entry"
    title = f"The Gram error falls as p^(−1/2); pairs are {ratio:.2g} times as exact as phases"
    yield figure.curves(title, "features p", axis, lines=predicted, points=points, log="xy")


@claim(sources=("penn", "cam"))
def fourier_feature_variance(
    key, features: Int(10, 100) = 20, draws: Int(2000, 10_000) = 4000, scale: Real(0.3, 3.0, log=True) = 1.0
):
    r"""Variance of random Fourier features.

    The variance of z(x)·z(x') at difference δ is (1 + k(2δ)/2 − k(δ)²)/p with phases and (1 + k(2δ) − 2k(δ)²)/p in
    pairs; for the Gaussian kernel, pairs are never worse.

    $$p\, \mathrm{Var} = 1 + \tfrac12 k(2\delta) - k(\delta)^2 \;\text{(phases)}, \quad 1 + k(2\delta) - 2 k(\delta)^2
    \;\text{(pairs)}$$

    Check: Squared deviations are averaged over many draws at δ = (0.3, −0.5, 0.2), and at longer multiples of it.
    """
    features += features % 2
    direction = np.array([0.3, -0.5, 0.2])
    lengths = np.array([0.15, 0.4, 0.616441, 1.0, 1.5, 2.2, 3.2])
    deltas = lengths[:, None] * direction / np.linalg.norm(direction)
    points = np.concatenate([np.zeros((1, 3)), deltas])
    k = kernels.Gaussian(scale)
    exact = k(deltas, points[:1])[:, 0]
    measured, forms = {}, {"phases": "phase", "pairs": "paired"}
    for name, form in forms.items():
        z = kernels.draw_fourier_features(k, 3, draws * features, form=form, key=key)(points)
        products = z[:1] * z[1:] if form == "phase" else np.stack([_pairs(z[[0, i]]) for i in range(1, len(points))])
        values = products.reshape(len(lengths), draws, -1).sum(axis=2) * draws
        squares = features * (values - exact[:, None]) ** 2  # the mean is known: independent, with mean p Var
        predicted = features * kernels.fourier_variance(k, deltas, features, form=form)
        deviations = features * _deviation_of_square(k, deltas, features, form)
        yield mean(squares[2], predicted[2], f"p Var at δ = (0.3, −0.5, 0.2), {name}", deviation=deviations[2])
        for i in (1, 4):
            yield mean(squares[i], predicted[i], f"p Var at ‖δ‖ = {lengths[i]:g}, {name}", deviation=deviations[i])
        half = 3.29 * deviations / draws**0.5
        measured[name] = (lengths, squares.mean(axis=1), squares.mean(axis=1) - half, squares.mean(axis=1) + half)
    unit = kernels.Gaussian(1.0)
    stated = [float(kernels.fourier_variance(unit, direction[None], 1, form=form)[0]) for form in ("phase", "paired")]
    yield reference(stated, [0.550, 0.0999], "p Var at s = 1, phases and pairs", digits=3)
    fine = np.linspace(0, 5 * scale, 200)[:, None]
    curves = {name: kernels.fourier_variance(k, fine, 1, form=form) for name, form in forms.items()}
    yield at_most(curves["pairs"], curves["phases"], "p Var of pairs, against phases, ‖δ‖ ≤ 5s", atol=1e-12)
    shown = fine[:, 0] <= 3.4
    said = ", ".join(f"{name} have {values[1][2]:.3f}/p" for name, values in measured.items())
    title = f"Variance by distance: at ‖δ‖ = 0.62 {said}"
    lines = {name: (fine[shown, 0], c[shown]) for name, c in curves.items()}
    yield figure.curves(title, "‖δ‖", "p times the variance", lines=lines, points=measured)


_VARIANTS = (("phases", "phase", False), ("pairs", "paired", False), ("orthogonal pairs", "paired", True))


def _pairs(z: np.ndarray) -> np.ndarray:
    """The products of two points' paired features, the cosine's and the sine's of a frequency added."""
    products = (z[0] * z[1]).reshape(2, -1)
    return products[0] + products[1]


def _gram_errors(k, gram, points, upper, size, form, orthogonal, key) -> tuple[float, float]:
    """The mean square and the largest error of the entries above the diagonal, over 16 draws of `size` features."""
    own = jax.random.fold_in(key, size)
    drawn = kernels.draw_fourier_features(k, points.shape[1], 16 * size, form=form, orthogonal=orthogonal, key=own)
    frequencies = np.split(drawn.frequencies, 16)
    phases = [None] * 16 if drawn.phases is None else np.split(drawn.phases, 16)
    maps = [FourierFeatures(w, b)(points) for w, b in zip(frequencies, phases, strict=True)]
    errors = np.array([(z @ z.T - gram)[upper] for z in maps])
    return float(np.mean(errors**2)), float(np.abs(errors).max())


def _deviation_of_square(k, deltas: np.ndarray, features: int, form: str) -> np.ndarray:
    """The standard deviation of (z(x)·z(x') − k)², from the moments of cos w·δ, which k(δ), ..., k(4δ) give."""
    k1, k2, k3, k4 = (k(j * deltas, np.zeros((1, 3)))[:, 0] for j in range(1, 5))
    second, third, fourth = (1 + k2) / 2, (3 * k1 + k3) / 4, (3 + 4 * k2 + k4) / 8
    m2, m4 = second - k1**2, fourth - 4 * k1 * third + 6 * k1**2 * second - 3 * k1**4
    terms = features // 2
    if form == "phase":  # a term is cos w·δ plus the cosine of a uniform angle
        m2, m4, terms = m2 + 1 / 2, m4 + 3 * m2 + 3 / 8, features
    return np.sqrt((m4 + (2 * terms - 3) * m2**2) / terms**3)
