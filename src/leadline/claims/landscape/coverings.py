"""How well the rows of a hidden layer cover each other: exactly for random rows, and how fast in the width."""

from typing import Annotated

import numpy as np

from leadline import data, landscape
from leadline.evidence import (
    Range,
    at_most,
    claim,
    close,
    distributed_as,
    exactly,
    figure,
    frequency,
    instrument,
    mean,
    printed,
    slope,
)


@instrument(
    "neuron-covering-radius",
    says=(
        "The covering radius of a hidden layer is the largest distance from one of its unit rows to the nearest of the "
        "first half of them. It decides how much the almost convex path can rise. For random rows the law of a "
        "nearest distance is exact: P(> r) = (1 − F(r))^{n/2} with F(r) the share of the sphere in a cap."
    ),
    formula=r"\varepsilon_A = \max_j \min_{k \le n/2} \| w_j - w_k \|",
    sources=("cam",),
    shows=("landscape.row_covering", "landscape.Covering", "landscape.cap_fraction", "landscape.cap_radius",
           "landscape.unit_rows", "landscape.SEGMENTS"),
)  # fmt: skip
def neuron_covering_radius(
    key,
    half: Annotated[int, Range(4, 1000, log=True)] = 128,
    dim: Annotated[int, Range(2, 10)] = 3,
    draws: Annotated[int, Range(100, 600)] = 400,
):
    """Uniform points on the circle, by sorted angles; rows in `dim` dimensions, by all pairs; `draws` of one row."""
    rng = data.generator(key)
    angles = rng.uniform(0, 2 * np.pi, 2 * half)
    circle = landscape.row_covering(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    centres = np.sort(angles[:half])
    around = np.concatenate([centres[-1:] - 2 * np.pi, centres, centres[:1] + 2 * np.pi])
    after = np.searchsorted(around, angles[half:])
    arcs = np.minimum(around[after] - angles[half:], angles[half:] - around[after - 1])
    yield close(circle.distances[half:], 2 * np.sin(arcs / 2), "circle: distances, by sorted angles", atol=1e-12)
    yield close(circle.radius, 2 * np.sin(arcs.max() / 2), "circle: ε, by sorted angles", rtol=1e-12)

    rows = landscape.unit_rows(rng, 2 * half, dim)
    cover = landscape.row_covering(rows)
    pairs = np.sqrt(np.maximum(2 - 2 * rows[half:] @ rows[:half].T, 0.0))
    yield close(cover.distances[half:], pairs.min(axis=1), f"d = {dim}: distances, by all pairs", atol=1e-7)
    yield exactly(cover.distances[:half], np.zeros(half), "centres: distance from themselves")

    products = landscape.unit_rows(rng, draws, half, dim)[:, :, 0]  # with the fixed row e₁
    single = np.sqrt(np.maximum(2 - 2 * products.max(axis=1), 0.0))

    def law(r):
        return 1 - (1 - landscape.cap_fraction(r, dim)) ** half

    yield distributed_as(single, law, "nearest distance of one row, in independent layers")
    grid = np.linspace(0, max(cover.radius, single.max()), 200)
    yield figure.histogram(
        f"{half} nearest distances, d = {dim}: mean {cover.distances[half:].mean():.3f}, "
        f"largest ε = {cover.radius:.3f}",
        x="distance to the nearest centre", samples={"one layer": cover.distances[half:]},
        lines={"exact density": (grid, np.gradient(law(grid), grid))}, rules={"ε": ("x", cover.radius)}, bins=16,
    )  # fmt: skip


@claim(
    "covering-radius-rate",
    says=(
        "n/2 random unit rows cover n/2 others within ε ≈ c_d (ln n/n)^{1/(d−1)}: 2π, 2.83, 2.11 for d = 2, 3, 4. The "
        "expected number of rows beyond r is exactly (n/2)(1 − F(r))^{n/2}. Without the logarithm the power of n is "
        "wrong: measured exponents are −0.83, −0.39, −0.27."
    ),
    formula=r"\varepsilon_n \sim c_d \left( \frac{\ln n}{n} \right)^{1/(d-1)}",
    sources=("cam",),
    assumes=("rows independent and uniform on the sphere, d ≥ 2",),
    shows=("landscape.expected_uncovered", "landscape.typical_radius", "landscape.covering_constant"),
)
def covering_radius_rate(
    key,
    dim: Annotated[int, Range(2, 5)] = 3,
    layers: Annotated[int, Range(20, 60)] = 30,
    expected: Annotated[float, Range(0.1, 2.0, log=True)] = 0.5,
):
    """`layers` random layers of each width, 64 to 4096; `expected` rows should lie beyond the radius tried."""
    rng = data.generator(key)
    widths = 2 ** np.arange(6, 13)
    tried = np.array([landscape.typical_radius(int(n), dim, expected=expected) for n in widths])
    radii, beyond = np.zeros((2, len(widths), layers))
    for i, n in enumerate(widths):
        for j in range(layers):
            distances = landscape.row_covering(landscape.unit_rows(rng, int(n), dim)).distances
            radii[i, j], beyond[i, j] = distances.max(), np.sum(distances > tried[i])
    yield close(
        landscape.expected_uncovered(tried[-1], 4096, dim),
        expected,
        "expected rows beyond r, by its inverse",
        rtol=1e-8,
    )
    yield mean(beyond, expected, f"rows beyond r, where {expected:.3g} are expected, all widths")
    yield frequency(
        np.sum(radii > tried[:, None]), radii.size, min(expected, 1.0), "share of layers with ε > r", side="at most"
    )
    typical = np.array([landscape.typical_radius(int(n), dim) for n in widths])
    power = np.polyfit(np.log(np.repeat(widths, layers)), np.log(radii.ravel()), 1)[0]
    predicted = np.polyfit(np.log(widths), np.log(typical), 1)[0]
    yield close(
        power, predicted, "exponent of n in ε, against that of the radius one row is expected to exceed", atol=0.06
    )
    yield printed(slope(np.repeat(widths, layers), radii.ravel(), -1 / (dim - 1), "exponent of n in ε"), "cam",
                  "ε is of the order n^{−1/(d−1)}, without a logarithm")  # fmt: skip
    scale, plain = (np.log(widths) / widths) ** (1 / (dim - 1)), widths ** (-1 / (dim - 1))
    ratios, raw = radii.mean(axis=1) / scale, radii.mean(axis=1) / plain
    yield at_most(
        np.ptp(np.log(ratios)),
        np.ptp(np.log(raw)),
        "spread of ln ε over the widths, with the logarithm and without",
        strict=True,
    )
    yield at_most(ratios, 1.1 * landscape.covering_constant(dim), "ε/(ln n/n)^{1/(d−1)}, a little above its limit c_d")
    yield figure.beside(
        f"d = {dim}: ε falls as n^{power:.2f} over these widths, and (ln n/n)^(1/{dim - 1}) explains it",
        figure.curves(
            f"Covering radius of {layers} random layers", x="width n", y="ε", log="xy",
            lines={"one row expected beyond": (widths, typical)},
            points={"mean and range": (widths, radii.mean(axis=1), radii.min(axis=1), radii.max(axis=1))},
        ),
        figure.curves(
            f"With the logarithm {ratios[0]:.2f} to {ratios[-1]:.2f} (limit {landscape.covering_constant(dim):.2f}), "
            f"without {raw[0]:.2f} to {raw[-1]:.2f}",
            x="width n", y="normalised ε", log="x", rules={"c_d": ("y", landscape.covering_constant(dim))},
            points={"ε / (ln n/n)^{1/(d−1)}": (widths, ratios), "ε / n^{−1/(d−1)}": (widths, raw)},
        ),
    )  # fmt: skip
