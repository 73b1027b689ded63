"""How the cost of Leadline's own work grows, beside the slope that theory gives."""

from ..harness.case import LEADLINE, Growth, Side
from ..kernels import network, points


def side(make: str) -> Side:
    return Side(LEADLINE, "benchmarks.scaling.sizes", make)


CASES = [
    Growth(
        "NTK of 3 hidden ReLU layers against points",
        side("wide_kernel"),
        "count",
        (2000, 4000, 8000, 16000),
        2.0,
        points,
        within=0.15,
    ),
    Growth(
        "finite NTK of 784-512-512-10 against points",
        side("finite_kernel"),
        "count",
        (256, 512, 1024),
        2.0,
        network,
        within=0.15,
    ),
    Growth("Adam step against width", side("step_of_width"), "width", (512, 1024, 2048, 4096), 2.0, within=0.15),
    Growth("Adam step against depth", side("step_of_depth"), "depth", (4, 8, 16, 32), 1.0, within=0.15),
    Growth(
        "Hessian product against rows", side("product_of_rows"), "rows", (4000, 8000, 16000, 32000), 1.0, within=0.15
    ),
    Growth("Hessian product against depth", side("product_of_depth"), "depth", (4, 8, 16, 32), 1.0, within=0.15),
    Growth("sharded NTK against devices, a core for each", side("devices"), "count", (1, 2), -1.0, within=0.15),
]
