"""The tilted double well: its numbers, grids fine enough for a Langevin kernel, and what is asked of laws on them."""

import numpy as np

from leadline import chains, optimisation

SHALLOW, BARRIER, DEEP, HEIGHT = 0.945649, 0.101031, -1.046681, 0.157665  # at tilt 0.1: places, and ΔE


def langevin_on_wells(step_size: float, beta: float, *, tilt: float = 0.1, reach: float = 2.5):
    """The model at (η, β), its kernel for the tilted double well on a third of the noise, and the losses there."""
    langevin = chains.IsotropicLangevin.at(step_size, beta)
    count = int(np.ceil(2 * reach / (langevin.deviation / 3))) + 1
    points = chains.even_grid(-reach, reach, max(count, 301))
    objective = optimisation.DoubleWell(tilt)
    return langevin, langevin.kernel(objective, points), well_losses(points, tilt)


def well_losses(points: np.ndarray, tilt: float = 0.1) -> np.ndarray:
    return (points**2 - 1) ** 2 / 4 + tilt * points
