"""How the Gibbs distribution shares its mass among wells: depth against width, and the limit of low temperature."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc

from leadline import chains, optimisation
from leadline.chains.gibbs import well_masses
from leadline.chains.grid import on_grid
from leadline.chains.wells import ParabolaWells, TwinWells
from leadline.claims.scenarios.stochastic.well_grids import well_losses
from leadline.evidence import Int, Real, at_least, claim, close
from leadline.presentation import figure


def _masses(points, wells, beta, dimension):
    """The shares of the deep and the wide well, p − 1 further directions of the well's curvature integrated exactly."""
    values = wells.depths[:, None] + wells.curvatures[:, None] * (points - wells.centres[:, None]) ** 2 / 2
    lowest = np.asarray(values.min(axis=0))
    deep = np.asarray(values[0] < values[1])
    bend = np.where(deep, float(wells.curvatures[0]), float(wells.curvatures[1]))
    law = chains.gibbs_law(beta * lowest + (dimension - 1) / 2 * np.log(bend), 1.0)
    return law[deep].sum(), law[~deep].sum()


@claim(sources=("penn",))
def gibbs_well_occupancy(
    key,
    ratio: Real(1.5, 4.0) = 2.0,
    extra: Real(0.01, 0.05) = 0.03,
    dimension: Int(1, 20) = 5,
    beta: Real(30.0, 200.0, log=True) = 40.0,
):
    r"""Wide wells versus deep wells.

    The Gibbs density favours low loss, but the mass of a well is $e^{-\beta l} \det(H)^{-1/2}$: a wide shallow well
    wins below β = p log(width ratio)/(loss difference), and that crossover grows with the dimension.

    $$\frac{m_{\mathrm{wide}}}{m_{\mathrm{deep}}} \approx e^{-\beta \Delta} r^{p}, \quad \beta_c = \frac{p \log
    r}{\Delta}$$

    Assumes: wells separated by barriers well above 1/β; η does not go to 0 during the run.

    Check: Two parabolas of widths 1 : `ratio`, the wide one higher by `extra`; in p dimensions along a channel.
    """
    wells = ParabolaWells(depths=(0.0, extra), curvatures=(ratio**2, 1.0), centres=(-1.5, 1.5))
    points = chains.even_grid(-4.0, 6.0, 8001)
    deep, wide = _masses(points, wells, beta, 1)
    depths, bends = np.array([0.0, extra]), np.array([ratio**2, 1.0])
    laplace = well_masses(depths, bends, beta)
    what = "mass of the wide well over the deep one, against Laplace"
    yield close(wide / deep, laplace[1] / laplace[0], what, rtol=0.05)

    def crossover(p):
        guess = chains.occupancy_crossover(extra, ratio, p)
        return brentq(lambda b: np.log(np.divide(*_masses(points, wells, b, p))), 0.5 * guess, 2 * guess)

    dimensions = sorted({1, 2, dimension, 2 * dimension})
    found = np.array([crossover(p) for p in dimensions])
    predicted = np.array([chains.occupancy_crossover(extra, ratio, p) for p in dimensions])
    yield close(found, predicted, f"crossover β in {dimensions} dimensions, against p log(r)/Δ", rtol=0.1)
    yield at_least(deep / wide * ratio, 1.0, "ratio of the densities at the two minima, e^{βΔ}: the deep one is higher")
    line = np.linspace(0.1, 2.5, 61) * predicted[0]
    marks = np.linspace(0.15, 2.4, 13) * predicted[0]
    shares = {p: [_masses(points, wells, b, p)[1] for b in marks] for p in (1, dimension)}
    title = f"A well {ratio:g} times as wide and {extra:g} higher holds more mass up to β = {found[0]:.3g}"
    lines = {f"Laplace, p = {p}": (line, [well_masses(depths, bends, b, p)[1] for b in line]) for p in shares}
    exact = {f"exact, p = {p}": (marks, values) for p, values in shares.items()}
    rules = {"equal masses": ("y", 0.5)}
    yield figure.curves(title, "β", "mass of the wide well", lines=lines, points=exact, rules=rules)


@claim(sources=("penn",))
def gibbs_concentration(
    key, eps: Real(0.005, 0.15, log=True) = 0.05, ratio: Real(1.0, 9.0) = 4.0, tilt: Real(0.1, 0.3) = 0.1
):
    r"""Gibbs measure concentrates on global minima.

    As β → ∞ the Gibbs mass of {l < l* + ε} tends to 1 for every ε > 0; several global minima share it in proportion to
    $\det(H)^{-1/2}$.

    $$\pi_\beta\{l < l^* + \varepsilon\} \to 1, \quad \text{shares} \propto \det(H_k)^{-1/2}$$

    Assumes: non-degenerate minima.
    """
    points = chains.even_grid(-2.5, 2.5, 20_001)
    losses = well_losses(points, tilt)
    inside = losses < losses.min() + eps
    betas = np.geomspace(0.5, 20 / eps, 25)
    mass = np.array([chains.gibbs_law(losses, b)[inside].sum() for b in betas])
    yield at_least(np.diff(mass), 0.0, "rise of the mass in {l < l* + ε} from β to β", atol=1e-12)
    yield at_least(mass[-1], 0.999, f"mass within ε at β = 20/ε = {20 / eps:.3g}")
    # The set of mass below ε has e^{−βε} of the rest at best: log of what is outside falls with slope −ε or more.
    late = betas > 4 / eps
    outside = np.array([chains.gibbs_law(losses, b)[~inside].sum() for b in betas[late]])
    fall = -np.diff(np.log(outside)) / np.diff(betas[late])
    yield at_least(fall, eps, "rate at which the mass outside falls in β, against ε", rtol=0.01)
    values = on_grid(TwinWells(ratio), points)
    share = np.array([chains.gibbs_law(values, b)[points < 0].sum() for b in (50.0, 200.0, 800.0)])
    predicted = well_masses(np.zeros(2), np.array([1.0, ratio]), 200.0)[0]
    yield close(share[1], predicted, "share of the wider of two global minima at β = 200", rtol=0.01)
    errors = np.abs(share - predicted)
    yield at_least(errors[0], errors[2], "error of the wider minimum's share at β = 50, against β = 800")
    known = optimisation.DoubleWell(tilt).constants()
    yield close(losses.min(), known.minimum, "lowest loss on the grid, against l*", atol=1e-6)
    title = f"Mass within ε = {eps:g} of the minimum: {mass[0]:.3g} at first, {mass[-1]:.6g} at β = {betas[-1]:.3g}"
    lines = {"one parabola: P(χ² < 2βε)": (betas, gammainc(0.5, betas * eps))}
    found = {"double well, quadrature": (betas, mass)}
    yield figure.curves(title, "β", "mass of {l < l* + ε}", lines=lines, points=found, log="x")
