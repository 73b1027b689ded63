"""How well the rows of a hidden layer cover each other: exactly for random rows, and how fast in the width."""

import numpy as np

from leadline import data, landscape
from leadline.evidence import Int, Real, claim, erratum, instrument
from leadline.evidence.relations import at_most, close, distributed_as, exactly, frequency, mean, slope
from leadline.landscape.surfaces import random_coverings
from leadline.presentation import figure


@instrument(sources=("cam",))
def neuron_covering_radius(key, half: Int(4, 1000, log=True) = 128, dim: Int(2, 10) = 3, draws: Int(100, 600) = 400):
    r"""Covering radius of a hidden layer.

    The covering radius of a hidden layer is the largest distance from one of its unit rows to the nearest of the first
    half of them. It decides how much the almost convex path can rise. For random rows the distribution of a nearest
    distance is exact: $P(> r) = (1 - F(r))^{n/2}$, with F(r) the share of the sphere in a cap.

    $$\varepsilon_A = \max_j \min_{k \le n/2} \| w_j - w_k \|$$

    Check: The radius is computed from sorted angles for uniform points on the circle, and from all pairs for rows in
    `dim` dimensions. The distribution is tested on `draws` draws of one row.
    """
    rng = data.generator(key)
    angles = rng.uniform(0, 2 * np.pi, 2 * half)
    circle = landscape.row_covering(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    centres = np.sort(angles[:half])
    around = np.concatenate([centres[-1:] - 2 * np.pi, centres, centres[:1] + 2 * np.pi])
    after = np.searchsorted(around, angles[half:])
    arcs = np.minimum(around[after] - angles[half:], angles[half:] - around[after - 1])
    yield close(circle.distances[half:], 2 * np.sin(arcs / 2), "circle: distances, by sorted angles", atol=1e-12)
    yield close(circle.radius, 2 * np.sin(arcs.max() / 2), "circle: ε, by sorted angles", rtol=1e-12)
    rows = random_coverings.unit_rows(rng, 2 * half, dim)
    cover = landscape.row_covering(rows)
    pairs = np.sqrt(np.maximum(2 - 2 * rows[half:] @ rows[:half].T, 0.0))
    yield close(cover.distances[half:], pairs.min(axis=1), f"d = {dim}: distances, by all pairs", atol=1e-7)
    yield exactly(cover.distances[:half], np.zeros(half), "centres: distance from themselves")
    products = random_coverings.unit_rows(rng, draws, half, dim)[:, :, 0]  # with the fixed row e₁
    single = np.sqrt(np.maximum(2 - 2 * products.max(axis=1), 0.0))

    def cdf(r):
        return 1 - (1 - random_coverings.cap_fraction(r, dim)) ** half

    yield distributed_as(single, cdf, "nearest distance of one row, in independent layers")
    grid, nearest = np.linspace(0, max(cover.radius, single.max()), 200), cover.distances[half:]
    title = f"{half} nearest distances, d = {dim}: mean {nearest.mean():.3f}, largest ε = {cover.radius:.3f}"
    lines, rules = {"exact density": (grid, np.gradient(cdf(grid), grid))}, {"ε": ("x", cover.radius)}
    samples = {"one layer": nearest}
    yield figure.histogram(title, "distance to the nearest centre", samples=samples, lines=lines, rules=rules, bins=16)


@claim(sources=("cam",))
def covering_radius_rate(key, dim: Int(2, 5) = 3, layers: Int(20, 60) = 30, expected: Real(0.1, 2.0, log=True) = 0.5):
    r"""Covering rate of random rows.

    A set of n/2 random unit rows covers n/2 others within $\varepsilon \approx c_d (\ln n / n)^{1/(d-1)}$, where $c_d$
    is 2π, 2.83 and 2.11 for d = 2, 3 and 4. The expected number of rows beyond r is exactly $(n/2)(1 - F(r))^{n/2}$.
    Without the logarithm the power of n is wrong: the measured exponents are −0.83, −0.39 and −0.27.

    $$\varepsilon_n \sim c_d \left( \frac{\ln n}{n} \right)^{1/(d-1)}$$

    Assumes: rows independent and uniform on the sphere, d ≥ 2.

    Check: `layers` layers are drawn at each width; r is the radius beyond which `expected` rows should lie.
    """
    rng = data.generator(key)
    widths = 2 ** np.arange(6, 13)
    tried = np.array([random_coverings.typical_radius(int(n), dim, expected=expected) for n in widths])
    radii, beyond = np.zeros((2, len(widths), layers))
    for i, n in enumerate(widths):
        for j in range(layers):
            distances = landscape.row_covering(random_coverings.unit_rows(rng, int(n), dim)).distances
            radii[i, j], beyond[i, j] = distances.max(), np.sum(distances > tried[i])
    inverse = random_coverings.expected_uncovered(tried[-1], 4096, dim)
    yield close(inverse, expected, "expected rows beyond the radius tried", rtol=1e-8)
    yield mean(beyond, expected, f"rows beyond r, where {expected:.3g} are expected, all widths")
    over = np.sum(radii > tried[:, None])
    yield frequency(over, radii.size, min(expected, 1.0), "share of layers with ε > r", side="at most")
    typical = np.array([random_coverings.typical_radius(int(n), dim) for n in widths])
    many, limit = np.repeat(widths, layers), random_coverings.covering_constant(dim)
    power = np.polyfit(np.log(many), np.log(radii.ravel()), 1)[0]
    predicted = np.polyfit(np.log(widths), np.log(typical), 1)[0]
    what = "exponent of n in ε, against that of the radius one row is expected to exceed"
    exponent = close(power, predicted, what, atol=0.06)
    yield exponent
    wrong = slope(many, radii.ravel(), -1 / (dim - 1), "exponent of n in ε, against −1/(d−1)")
    yield erratum(wrong, of=exponent, by="cam", prints="ε is of the order n^{−1/(d−1)}, without a logarithm")
    middle = radii.mean(axis=1)
    ratios, raw = middle / (np.log(widths) / widths) ** (1 / (dim - 1)), middle / widths ** (-1 / (dim - 1))
    what = "spread over the widths of ln ε less its rate, with the logarithm, against without"
    yield at_most(np.ptp(np.log(ratios)), np.ptp(np.log(raw)), what, strict=True)
    yield at_most(ratios, 1.1 * limit, "ε/(ln n/n)^{1/(d−1)}, against 1.1 times its limit c_d")
    lines = {"one row expected beyond": (widths, typical)}
    points = {"mean and range": (widths, middle, radii.min(axis=1), radii.max(axis=1))}
    title = f"Covering radius of {layers} random layers"
    measured = figure.curves(title, "width n", "ε", log="xy", lines=lines, points=points)
    points = {"ε / (ln n/n)^{1/(d−1)}": (widths, ratios), "ε / n^{−1/(d−1)}": (widths, raw)}
    title = f"With the logarithm {ratios[0]:.2f} to {ratios[-1]:.2f}, without {raw[0]:.2f} to {raw[-1]:.2f}"
    scaled = figure.curves(title, "width n", "normalised ε", log="x", rules={"c_d": ("y", limit)}, points=points)
    title = f"d = {dim}: ε falls as n^{power:.2f} over these widths, and (ln n/n)^(1/{dim - 1}) explains it"
    yield figure.beside(title, measured, scaled)
