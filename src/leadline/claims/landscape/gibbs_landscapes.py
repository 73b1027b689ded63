"""Gibbs' law of a landscape: the mass of wells, wide against deep, and a linear network, which has no such law."""

from typing import Annotated

import jax
import numpy as np

from leadline import chains, data, landscape
from leadline.evidence import Choice, Range, at_most, claim, close, exactly, figure, frequency, mean, model, printed


def _grid(low, high, points):
    """An even grid of a box: its points (n, p), and the axes."""
    axes = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)), axes


def _total_variation_bound(law, runs):
    """What a histogram of independent draws stays below with probability 0.999: E TV ≤ ½Σ√(p(1−p)/n), and McDiarmid."""
    return 0.5 * np.sqrt(law * (1 - law) / runs).sum() + np.sqrt(np.log(1000) / (2 * runs))


def _cells(points, values, beta, axes, bins):
    """The mass of Gibbs' law in `bins` equal cells per axis, and the edges."""
    edges = [np.linspace(axis[0], axis[-1], bins + 1) for axis in axes]
    return np.histogramdd(points, bins=edges, weights=chains.gibbs_law(values, beta))[0].ravel(), edges


def _two_wells(ratio, extra, dimension, exponent, beta):
    """A deep narrow and a wide well higher by `extra`, with a barrier of about exponent/β between them."""
    apart = (1 + ratio) / ratio * np.sqrt(2 * exponent / beta)
    centres = np.zeros((2, dimension))
    centres[1, 0] = apart
    return landscape.WellLandscape([0.0, extra], centres, [ratio**2, 1.0], sharpness=50.0 * beta)


@model(
    "gibbs-law-of-a-landscape",
    says=(
        "Gibbs' law e^{−βl}/Z on a landscape of your own wells in one or two dimensions. As β → ∞ wells of equal depth "
        "hold mass in proportion to det(H)^{−1/2}: the wide ones win. A wide well higher by D loses only beyond "
        "β* = log(width ratio)/D, and crossing a barrier takes a time of order e^{βΔ}."
    ),
    formula=r"m_k \to \frac{\det(H_k)^{-1/2}}{\sum_j \det(H_j)^{-1/2}}, \quad "
    r"\beta^* = \frac{\log(\text{width ratio})}{D}",
    sources=("penn",),
    assumes=("barriers well above 1/β", "non-degenerate minima"),
    shows=("landscape.WellLandscape", "landscape.basin_masses", "landscape.laplace_masses", "chains.gibbs_law"),
)
def gibbs_law_of_a_landscape(
    key,
    dimension: Annotated[int, Choice(1, 2)] = 2,
    ratio: Annotated[float, Range(1.5, 4.0)] = 2.0,
    extra: Annotated[float, Range(0.02, 0.2)] = 0.1,
    beta: Annotated[float, Range(20.0, 400.0, log=True)] = 100.0,
    coldest: Annotated[float, Range(8.0, 12.0)] = 10.0,
):
    """Three random wells of equal depth; a deep well and one `ratio` times as wide, `extra` higher; 800 Langevin runs
    over a low barrier; exact crossing times of a double well up to βΔ = `coldest`."""
    rng = data.generator(key)
    apart, points = 15 / np.sqrt(beta), 1201 if dimension == 1 else 181
    place = (
        np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, np.sqrt(3.0)]]) if dimension == 2 else np.array([[-2.0], [0.0], [2.0]])
    )
    axes = np.linalg.qr(rng.normal(size=(3, dimension, dimension)))[0]
    hessians = np.einsum("kij,kj,klj->kil", axes, rng.uniform(0.5, 4.0, (3, dimension)), axes)
    wells = landscape.WellLandscape(np.zeros(3), apart / 2 * place, hessians, sharpness=50.0 * beta)
    margin = 7 / np.sqrt(0.5 * beta)
    grid, _ = _grid((apart / 2 * place).min(0) - margin, (apart / 2 * place).max(0) + margin, points)
    values, basins = wells.values(grid), wells.basins(grid)
    laplace = landscape.laplace_masses(np.zeros(3), hessians, beta)
    found = landscape.basin_masses(values, basins, beta, 3)
    yield close(found, laplace, f"three wells of equal depth: masses at β = {beta:g}, against det(H)^(−1/2)", rtol=0.01)
    widest = int(np.argmin(np.linalg.det(hessians)))
    yield exactly(int(np.argmax(found)), widest, "the well with the most mass: the widest")

    crossing = chains.occupancy_crossover(extra, ratio, dimension)
    pair = _two_wells(ratio, extra, dimension, 14.0, crossing)
    reach = 6 / np.sqrt(0.3 * crossing)
    low, high = np.full(dimension, -reach), np.full(dimension, reach)
    low[0], high[0] = -reach / ratio, float(pair.centres[1, 0]) + reach
    grid, _ = _grid(low, high, points)
    values, basins = pair.values(grid), pair.basins(grid)

    def wide_mass(b):
        return landscape.basin_masses(values, basins, b, 2)[1]

    from scipy.optimize import brentq

    equal = brentq(lambda b: wide_mass(b) - 0.5, 0.6 * crossing, 1.6 * crossing)
    yield close(equal, crossing, "β at which both wells hold ½, against p log(ratio)/D", rtol=0.02)

    warm = 4.0
    easy = _two_wells(1.5, 0.05, dimension, 1.5, warm)
    low, high = np.full(dimension, -2.2), np.full(dimension, 2.2)
    high[0] = float(easy.centres[1, 0]) + 2.2
    fine, fine_axes = _grid(low, high, 960 if dimension == 1 else 192)
    law, edges = _cells(fine, easy.values(fine), warm, fine_axes, 24 if dimension == 1 else 8)
    runs = 800
    start = np.repeat(np.asarray(easy.centres), runs // 2, axis=0)
    langevin = chains.IsotropicLangevin.at(0.02, warm)
    ends = np.asarray(langevin.run(easy, start, 1500, every=1500, key=jax.random.fold_in(key, 1))[-1])
    seen = np.histogramdd(np.clip(ends, low, high), bins=edges)[0].ravel() / runs
    yield at_most(
        chains.total_variation(seen, law),
        _total_variation_bound(law, runs),
        f"{runs} Langevin runs: total variation between histogram and Gibbs' law",
    )
    deep = landscape.basin_masses(easy.values(fine), easy.basins(fine), warm, 2)[0]
    yield frequency(int(np.sum(easy.basins(ends) == 0)), runs, deep, "share of the runs in the deep well")

    line, step = np.linspace(-2.6, 2.6, 401), 0.02
    exponents = np.linspace(coldest - 4, coldest, 5)
    times = []
    for b in 4 * exponents:  # the barrier of (w² − 1)²/4 is ¼
        kernel = chains.gaussian_kernel(line, line - step * (line**3 - line), np.sqrt(2 * step / b))
        times.append(step * np.interp(-1.0, line, chains.hitting_times(kernel.chain, line >= 1.0)))
    growth = np.polyfit(exponents, np.log(times), 1)[0]
    formula = np.array([chains.kramers_time(2.0, -1.0, 0.25, 4 * e) for e in exponents])
    yield close(growth, 1.0, "double well: slope of the log crossing time in β × barrier", atol=0.05)
    yield close(times / formula, 1.0, "crossing time over Kramers' formula", atol=0.25)

    cut = np.zeros((401, dimension))
    cut[:, 0] = np.linspace(-reach / ratio, float(pair.centres[1, 0]) + reach, 401)
    shape = pair.values(cut)
    density = {f"β = {s:g} β*": chains.gibbs_law(shape, s * crossing) for s in (0.5, 1.0, 2.0)}
    betas, marks = np.linspace(0.3, 3.0, 40) * crossing, np.linspace(0.35, 3.0, 12) * crossing
    formula_mass = [landscape.laplace_masses(pair.depths, pair.hessians, b)[1] for b in betas]
    yield figure.beside(
        f"A well {ratio:g} times as wide and {extra:g} higher holds most of the mass up to β = {equal:.3g} "
        f"(predicted {crossing:.3g})",
        figure.curves("the potential, cut through both wells", x="w", y="loss", lines={"l": (cut[:, 0], shape)}),
        figure.curves(
            "Gibbs' density on the cut (largest value 1)", x="w", y="density",
            lines={name: (cut[:, 0], d / d.max()) for name, d in density.items()},
        ),
        figure.curves(
            "mass of the wide well", x="β", y="mass", lines={"Laplace": (betas, formula_mass)},
            points={"on the grid": (marks, [wide_mass(b) for b in marks])},
            rules={"β*": ("x", crossing), "½": ("y", 0.5)},
        ),
        columns=3,
    )  # fmt: skip


def _box_integral(side, beta):
    """∫∫ e^{−β(1−ab)²/2} over |a|, |b| ≤ R: the inner integral in closed form, the outer by quadrature in log a."""
    from scipy.integrate import quad
    from scipy.special import erf

    root = np.sqrt(beta / 2)

    def inner(log_a):  # times a, for da = a d(log a); both signs of a alike
        a = np.exp(log_a)
        return np.sqrt(np.pi) / (2 * root) * (erf(root * (a * side - 1)) + erf(root * (a * side + 1)))

    kink = float(np.log(1 / side))
    parts = [(-40.0, kink - 4), (kink - 4, kink + 4), (kink + 4, float(np.log(side)))]
    return 2 * sum(quad(inner, low, high, limit=200, epsabs=1e-13)[0] for low, high in parts)


def _decayed_integral(decay, beta):
    """∫∫ e^{−β[(1−ab)²/2 + μ(a² + b²)]} over the plane: Gaussian in b, then by quadrature in a."""
    from scipy.integrate import quad

    def inner(a):
        stiff = a * a + 2 * decay
        return np.sqrt(2 * np.pi / (beta * stiff)) * np.exp(-beta * (0.5 + decay * a * a - a * a / (2 * stiff)))

    return 2 * quad(inner, 0.0, np.inf, epsabs=1e-14)[0]


@claim(
    "gibbs-law-of-linear-net",
    says=(
        "The loss ½(1 − ab)² of a linear network is 0 on a hyperbola, and ∫e^{−βl} over the box |a|, |b| ≤ R grows "
        "like 4√(2π/β) log R: there is no Gibbs law. With weight decay μ(a² + b²) there is one, with two peaks, at "
        "a = b = ±√(1 − 2μ)."
    ),
    formula=r"\int_{|a|, |b| \le R} e^{-\beta (1 - ab)^2 / 2} \sim 4 \sqrt{2 \pi / \beta}\, \log R; \quad "
    r"a = b = \pm \sqrt{1 - 2 \mu}",
    sources=("penn",),
    assumes=("μ < ½ for the two peaks",),
    shows=("landscape.quartic_landscape", "chains.IsotropicLangevin"),
)
def gibbs_law_of_linear_net(
    key,
    decay: Annotated[float, Range(0.05, 0.3)] = 0.1,
    beta: Annotated[float, Range(10.0, 40.0)] = 20.0,
    box: Annotated[float, Range(10.0, 1e4, log=True)] = 100.0,
):
    """The integral over boxes from `box` to 16 times it, and 600 Langevin runs with weight decay `decay`."""

    def plain(w):
        return (1 - w[..., 0] * w[..., 1]) ** 2 / 2

    def decayed(w):
        return plain(w) + decay * (w**2).sum(-1)

    sides = box * 2.0 ** np.arange(5)
    integrals = np.array([_box_integral(side, beta) for side in sides])
    rate = 4 * np.sqrt(2 * np.pi / beta)
    yield close(np.diff(integrals) / np.log(2), rate, "growth of the integral per unit of log R", rtol=1e-6)
    yield printed(
        close(integrals[-1], integrals[0], "Z over the box 16R, against Z over the box R", rtol=0.1),
        "penn",
        "a Gibbs law of a linear network without decay: Z would be finite",
    )
    t = np.array([0.25, 0.5, 2.0, 4.0])
    yield printed(
        at_most(
            -plain(np.stack([t, 1 / t], axis=-1)), 0.0, "−l at (t, 1/t), t ≠ 1, if minima are isolated", strict=True
        ),
        "penn",
        "modes at isolated minima",
    )

    peak = np.sqrt(1 - 2 * decay)
    reach = peak + 4.5 / np.sqrt(4 * decay * beta)
    grid, axes = _grid([-reach] * 2, [reach] * 2, 241)
    values = decayed(grid)
    spacing = axes[0][1] - axes[0][0]
    yield close(
        np.exp(-beta * values).sum() * spacing**2,
        _decayed_integral(decay, beta),
        f"with decay {decay:g}: Z on the grid, against the integral over the whole plane",
        rtol=1e-3,
    )
    top = grid[np.argmin(values)]
    yield close(np.abs(top), peak, "where the density is largest on a grid: |a| and |b|", atol=spacing)
    yield exactly(top[0] * top[1] > 0, True, "with one sign: a = b")
    start = np.repeat([[peak, peak], [-peak, -peak]], 300, axis=0)
    # The valley relaxes at the rate 4μ, so 10 times its time constant forget the start.
    rule, steps = chains.IsotropicLangevin.at(0.01, beta), 100 * int(np.ceil(10 / (4 * decay) / 0.01 / 100))
    network = landscape.quartic_landscape({(0, 0): 0.5, (1, 1): -1.0, (2, 2): 0.5, (2, 0): decay, (0, 2): decay})
    ends = np.asarray(rule.run(network, start, steps, every=steps, key=jax.random.fold_in(key, 1))[-1])
    cells, edges = _cells(grid, values, beta, axes, 12)
    seen = np.histogramdd(np.clip(ends, -reach, reach), bins=edges)[0].ravel() / 600
    yield at_most(
        chains.total_variation(seen, cells),
        _total_variation_bound(cells, 600),
        "600 Langevin runs: total variation between histogram and Gibbs' law",
    )
    ahead = ends * np.sign(ends.sum(axis=1, keepdims=True))  # both peaks are alike: fold one onto the other
    mass = chains.gibbs_law(values, beta)
    yield mean(ahead[:, 0] - ahead[:, 1], 0.0, "a − b on the side a + b > 0: balanced")
    expected = float(mass @ np.abs(grid.sum(axis=1))) / 2
    yield mean(ahead.sum(axis=1) / 2, expected, "mean of |a + b|/2, against the grid")
    branch = np.geomspace(1 / reach, reach, 60)
    density = np.exp(-beta * (values - values.min())).reshape(241, 241)[::4, ::4].T
    yield figure.plane(
        f"With decay {decay:g} the density peaks at a = b = ±{peak:.3f}; without, it is constant along the hyperbola "
        "and cannot be normalised",
        x="a",
        y="b",
        regions=(axes[0][::4], axes[1][::4], density),
        lines={"ab = 1": (branch, 1 / branch), "ab = 1, other branch": (-branch, -1 / branch)},
        points={"Langevin runs": ends[::2], "predicted peaks": [[peak, peak], [-peak, -peak]]},
        sizes={"Langevin runs": np.full(300, 12.0), "predicted peaks": np.full(2, 160.0)},
        domain=((-reach, reach), (-reach, reach)),
    )
