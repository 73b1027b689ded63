"""Gibbs distributions on landscapes: the mass of wells, wide against deep, and a linear network, which has none."""

import jax
import numpy as np

from leadline import chains, data, landscape
from leadline.evidence import OneOf, Real, at_least, at_most, claim, close, erratum, exactly, frequency, mean, model
from leadline.presentation import figure


def _grid(low, high, points):
    """An even grid of a box: its points (n, p), and the axes."""
    axes = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)), axes


def _as_gibbs(ends, points, values, beta, axes, bins):
    """Ends of independent runs, against the Gibbs distribution on a grid: total variation over cells of a box.

    A histogram of n draws stays below the bound with probability 0.999: E TV ≤ ½Σ√(p(1 − p)/n), and McDiarmid.
    """
    edges, n = [np.linspace(axis[0], axis[-1], bins + 1) for axis in axes], len(ends)
    mass = np.histogramdd(points, bins=edges, weights=chains.gibbs_law(values, beta))[0].ravel()
    inside = np.clip(ends, [axis[0] for axis in axes], [axis[-1] for axis in axes])
    apart = chains.total_variation(np.histogramdd(inside, bins=edges)[0].ravel() / n, mass)
    bound = 0.5 * np.sqrt(mass * (1 - mass) / n).sum() + np.sqrt(np.log(1000) / (2 * n))
    return at_most(apart, bound, f"{n} Langevin runs: total variation between histogram and Gibbs distribution")


def _two_wells(ratio, extra, dimension, exponent, beta):
    """A deep narrow and a wide well higher by `extra`, with a barrier of about exponent/β between them."""
    apart = (1 + ratio) / ratio * np.sqrt(2 * exponent / beta)
    centres = np.zeros((2, dimension))
    centres[1, 0] = apart
    return landscape.WellLandscape([0.0, extra], centres, [ratio**2, 1.0], sharpness=50.0 * beta)


@model(sources=("penn",))
def gibbs_law_of_a_landscape(
    key,
    dimension: OneOf(1, 2) = 2,
    ratio: Real(1.5, 4.0) = 2.0,
    extra: Real(0.02, 0.2) = 0.1,
    beta: Real(20.0, 400.0, log=True) = 100.0,
    coldest: Real(8.0, 12.0) = 10.0,
):
    r"""Gibbs distribution on a landscape of wells.

    The Gibbs distribution $e^{-\beta l}/Z$ on a landscape of your own wells in one or two dimensions. As β → ∞ wells
    of equal depth hold mass in proportion to $\det(H)^{-1/2}$: the wide ones win. A wide well that is higher by D
    loses in p dimensions only beyond β* = p log(width ratio)/D, and a barrier of height Δ takes a time of order
    $e^{\beta\Delta}$ to cross.

    $$m_k \to \frac{\det(H_k)^{-1/2}}{\sum_j \det(H_j)^{-1/2}}, \quad \beta^* = \frac{p \log(\text{width ratio})}{D}$$

    Assumes: barriers well above 1/β; non-degenerate minima.

    Check: The masses are tested on three random wells of equal depth and on a deep well beside one `ratio` times as
    wide and `extra` higher. The dynamics are tested with 800 Langevin runs over a low barrier and with exact crossing
    times of a double well up to βΔ = `coldest`.
    """
    from scipy.optimize import brentq

    rng = data.generator(key)
    apart, points = 15 / np.sqrt(beta), 1201 if dimension == 1 else 181
    place = [[-1.0, 0.0], [1.0, 0.0], [0.0, np.sqrt(3.0)]] if dimension == 2 else [[-2.0], [0.0], [2.0]]
    place = apart / 2 * np.array(place)
    axes = np.linalg.qr(rng.normal(size=(3, dimension, dimension)))[0]
    hessians = np.einsum("kij,kj,klj->kil", axes, rng.uniform(0.5, 4.0, (3, dimension)), axes)
    wells = landscape.WellLandscape(np.zeros(3), place, hessians, sharpness=50.0 * beta)
    margin = 7 / np.sqrt(0.5 * beta)
    grid, _ = _grid(place.min(0) - margin, place.max(0) + margin, points)
    values, basins = wells.values(grid), wells.basins(grid)
    laplace = landscape.laplace_masses(np.zeros(3), hessians, beta)
    found = landscape.basin_masses(values, basins, beta, 3)
    yield close(found, laplace, f"three wells of equal depth: masses at β = {beta:g}, against det(H)^(−1/2)", rtol=0.01)
    yield exactly(np.argmax(found), np.argmin(np.linalg.det(hessians)), "the well with the most mass: the widest")

    crossing = chains.occupancy_crossover(extra, ratio, dimension)
    pair = _two_wells(ratio, extra, dimension, 14.0, crossing)
    reach = 6 / np.sqrt(0.3 * crossing)
    low, high = np.full(dimension, -reach), np.full(dimension, reach)
    low[0], high[0] = -reach / ratio, float(pair.centres[1, 0]) + reach
    grid, _ = _grid(low, high, points)
    losses, sides = pair.values(grid), pair.basins(grid)

    def wide_mass(b):
        return landscape.basin_masses(losses, sides, b, 2)[1]

    equal = brentq(lambda b: wide_mass(b) - 0.5, 0.6 * crossing, 1.6 * crossing)
    yield close(equal, crossing, "β at which both wells hold ½, against p log(ratio)/D", rtol=0.02)

    warm = 4.0
    easy = _two_wells(1.5, 0.05, dimension, 1.5, warm)
    low, high = np.full(dimension, -2.2), np.full(dimension, 2.2)
    high[0] = float(easy.centres[1, 0]) + 2.2
    fine, fine_axes = _grid(low, high, 960 if dimension == 1 else 192)
    start = np.repeat(np.asarray(easy.centres), 400, axis=0)
    langevin = chains.IsotropicLangevin.at(0.02, warm)
    ends = np.asarray(langevin.run(easy, start, 1500, every=1500, key=jax.random.fold_in(key, 1))[-1])
    values = easy.values(fine)
    yield _as_gibbs(ends, fine, values, warm, fine_axes, 24 if dimension == 1 else 8)
    deep = landscape.basin_masses(values, easy.basins(fine), warm, 2)[0]
    yield frequency(np.sum(easy.basins(ends) == 0), 800, deep, "share of the Langevin runs in the deep well")

    line, step = np.linspace(-2.6, 2.6, 401), 0.02
    exponents, times = np.linspace(coldest - 4, coldest, 5), []
    for b in 4 * exponents:  # the barrier of (w² − 1)²/4 is ¼
        kernel = chains.gaussian_kernel(line, line - step * (line**3 - line), np.sqrt(2 * step / b))
        times.append(step * np.interp(-1.0, line, chains.hitting_times(kernel.chain, line >= 1.0)))
    growth = np.polyfit(exponents, np.log(times), 1)[0]
    formula = np.array([chains.kramers_time(2.0, -1.0, 0.25, 4 * e) for e in exponents])
    yield close(growth, 1.0, "double well: slope of the log crossing time in β × barrier", atol=0.05)
    yield close(times / formula, 1.0, "double well: crossing time over Kramers' formula", atol=0.25)

    cut = np.zeros((401, dimension))
    w = cut[:, 0] = np.linspace(-reach / ratio, float(pair.centres[1, 0]) + reach, 401)
    shape = pair.values(cut)
    potential = figure.curves("the potential, cut through both wells", "w", "loss", lines={"l": (w, shape)})
    density = {f"β = {s:g} β*": chains.gibbs_law(shape, s * crossing) for s in (0.5, 1.0, 2.0)}
    lines = {name: (w, d / d.max()) for name, d in density.items()}
    densities = figure.curves("Gibbs density on the cut (largest value 1)", "w", "density", lines=lines)
    betas, marks = np.linspace(0.3, 3.0, 40) * crossing, np.linspace(0.35, 3.0, 12) * crossing
    lines = {"Laplace": (betas, [landscape.laplace_masses(pair.depths, pair.hessians, b)[1] for b in betas])}
    points, rules = {"on the grid": (marks, [wide_mass(b) for b in marks])}, {"β*": ("x", crossing), "½": ("y", 0.5)}
    masses = figure.curves("mass of the wide well", "β", "mass", lines=lines, points=points, rules=rules)
    title = f"A well {ratio:g} times as wide, {extra:g} higher, leads up to β = {equal:.3g} (predicted {crossing:.3g})"
    yield figure.beside(title, potential, densities, masses, columns=3)


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


@claim(sources=("penn",))
def gibbs_law_of_linear_net(
    key, decay: Real(0.05, 0.3) = 0.1, beta: Real(10.0, 40.0) = 20.0, box: Real(10.0, 1e4, log=True) = 100.0
):
    r"""No Gibbs distribution without weight decay.

    The loss ½(1 − ab)² of a linear network is 0 on a hyperbola, and $\int e^{-\beta l}$ over the box |a|, |b| ≤ R
    grows like $4\sqrt{2\pi/\beta}\, \log R$: there is no Gibbs distribution. With weight decay μ(a² + b²) there is
    one, with two peaks, at a = b = ±√(1 − 2μ).

    $$\int_{|a|, |b| \le R} e^{-\beta (1 - ab)^2 / 2} \sim 4 \sqrt{2 \pi / \beta}\, \log R; \quad a = b = \pm \sqrt{1 -
    2 \mu}$$

    Assumes: μ < ½ for the two peaks.

    Check: The boxes go from `box` to 16 times that size; 600 Langevin runs are made with decay.
    """
    integrals = np.array([_box_integral(side, beta) for side in box * 2.0 ** np.arange(5)])
    rate = 4 * np.sqrt(2 * np.pi / beta)
    growth = close(np.diff(integrals) / np.log(2), rate, "growth of the integral per unit of log R", rtol=1e-6)
    yield growth
    wrong = close(integrals[-1], integrals[0], "integral over the box 16R, against that over the box R", rtol=0.1)
    prints = "a Gibbs distribution of a linear network without decay, one mode at each global minimum"
    yield erratum(wrong, of=growth, by="penn", prints=prints)
    peak = np.sqrt(1 - 2 * decay)
    reach = peak + 4.5 / np.sqrt(4 * decay * beta)
    grid, axes = _grid([-reach] * 2, [reach] * 2, 241)
    values = (1 - grid[:, 0] * grid[:, 1]) ** 2 / 2 + decay * (grid**2).sum(1)
    spacing = axes[0][1] - axes[0][0]
    whole, on_grid = _decayed_integral(decay, beta), np.exp(-beta * values).sum() * spacing**2
    yield close(on_grid, whole, f"with decay {decay:g}: Z on the grid, against Z over the whole plane", rtol=1e-3)
    top = grid[np.argmin(values)]
    yield close(np.abs(top), peak, "where the density is largest on a grid: |a| and |b|", atol=spacing)
    yield at_least(top.prod(), 0.0, "where the density is largest on a grid: ab, of one sign", strict=True)
    peaks = [[peak, peak], [-peak, -peak]]
    start = np.repeat(peaks, 300, axis=0)
    # The valley relaxes at the rate 4μ, so 10 times its time constant forget the start.
    rule, steps = chains.IsotropicLangevin.at(0.01, beta), 100 * int(np.ceil(10 / (4 * decay) / 0.01 / 100))
    network = landscape.quartic_landscape({(0, 0): 0.5, (1, 1): -1.0, (2, 2): 0.5, (2, 0): decay, (0, 2): decay})
    ends = np.asarray(rule.run(network, start, steps, every=steps, key=jax.random.fold_in(key, 1))[-1])
    yield _as_gibbs(ends, grid, values, beta, axes, 12)
    ahead = ends * np.sign(ends.sum(axis=1, keepdims=True))  # both peaks are alike: fold one onto the other
    yield mean(ahead[:, 0] - ahead[:, 1], 0.0, "Langevin runs: a − b on the side a + b > 0, balanced")
    expected = float(chains.gibbs_law(values, beta) @ np.abs(grid.sum(axis=1))) / 2
    yield mean(ahead.sum(axis=1) / 2, expected, "Langevin runs: mean of |a + b|/2, against the grid")
    branch = np.geomspace(1 / reach, reach, 60)
    density = np.exp(-beta * (values - values.min())).reshape(241, 241)[::4, ::4].T
    title = f"With decay {decay:g} the density peaks at a = b = ±{peak:.3f}; without, it cannot be normalised"
    regions, domain = (axes[0][::4], axes[1][::4], density), ((-reach, reach), (-reach, reach))
    lines = {"ab = 1": (branch, 1 / branch), "ab = 1, other branch": (-branch, -1 / branch)}
    points = {"Langevin runs": ends[::2], "predicted peaks": peaks}
    dots = {"sizes": {"Langevin runs": 12.0, "predicted peaks": 160.0}, "points": points}
    yield figure.plane(title, "a", "b", regions=regions, lines=lines, domain=domain, **dots)
