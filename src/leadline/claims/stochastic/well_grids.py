"""Grids fine enough for a Langevin kernel on the double well, and what is asked of laws on them."""

import numpy as np

from leadline import chains, optimisation


def langevin_on_wells(step: float, beta: float, *, tilt: float = 0.1, reach: float = 2.5):
    """The model at (η, β), its kernel for the tilted double well on a third of the noise, and the losses there."""
    langevin = chains.IsotropicLangevin.at(step, beta)
    count = int(np.ceil(2 * reach / (langevin.deviation / 3))) + 1
    points = chains.even_grid(-reach, reach, max(count, 301))
    objective = optimisation.DoubleWell(tilt)
    return langevin, langevin.kernel(objective, points), well_losses(points, tilt)


def well_losses(points: np.ndarray, tilt: float = 0.1) -> np.ndarray:
    return (points**2 - 1) ** 2 / 4 + tilt * points


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """KL(p‖q) of two laws on one grid."""
    from scipy.special import rel_entr

    return float(rel_entr(p, q).sum())
