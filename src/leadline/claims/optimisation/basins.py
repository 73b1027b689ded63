"""Where descent ends on functions with several minima: basins of the flow, and of steps that are not small."""

from typing import Annotated

import numpy as np

from leadline import optimisation
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure

_ROUGH_MINIMA = np.array([[3.0, 2.0], [-2.805, 3.131], [-3.779, -3.283], [3.584, -1.848]])
_ROUGH_SADDLES = np.array([[0.087, 2.884], [3.385, 0.074], [-3.073, -0.081], [-0.128, -1.954]])


def himmelblau(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∇l and H of Himmelblau's function at rows of points."""
    a, b = w[:, 0] ** 2 + w[:, 1] - 11, w[:, 0] + w[:, 1] ** 2 - 7
    gradient = np.stack([4 * w[:, 0] * a + 2 * b, 2 * a + 4 * w[:, 1] * b], 1)
    mixed = 4 * (w[:, 0] + w[:, 1])
    rows = [[12 * w[:, 0] ** 2 + 4 * w[:, 1] - 42, mixed], [mixed, 4 * w[:, 0] + 12 * w[:, 1] ** 2 - 26]]
    return gradient, np.moveaxis(np.array(rows), 2, 0)


def himmelblau_points() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Its four minima, four saddles and one maximum."""
    return _polished(_ROUGH_MINIMA), _polished(_ROUGH_SADDLES), _polished(np.array([[-0.271, -0.923]]))


def _polished(points: np.ndarray) -> np.ndarray:
    for _ in range(5):
        gradient, hessian = himmelblau(points)
        points = points - np.linalg.solve(hessian, gradient[..., None])[..., 0]
    return points


@claim(
    "gd-basin-dependence",
    says=(
        "On non-convex functions the limit depends on the start. The basins of the flow meet along the stable "
        "manifolds of saddles; gradient descent with small steps has the same basins, with steps near 2/L (L at the "
        "minima) others."
    ),
    formula=r"\lim_{t \to \infty} w^t \;\text{ depends on }\; w^0 \text{ and } \eta",
    sources=("eth", "penn"),
    assumes=("L is the largest curvature at the minima",),
)
def gd_basin_dependence(
    key,
    step: Annotated[float, Range(0.05, 1.95)] = 1.9,
    resolution: Annotated[int, Range(20, 80)] = 50,
    region: Annotated[float, Range(4.5, 5.0)] = 5.0,
):
    """`step` is ηL. Himmelblau's function from a grid of starts in a square of this half-width; and a double well."""
    minima, saddles, _ = himmelblau_points()
    curvature = np.linalg.eigvalsh(himmelblau(minima)[1])
    smoothness = float(curvature.max())
    axis = np.linspace(-region, region, resolution)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    unstable = np.linalg.eigh(himmelblau(saddles)[1])[1][:, :, 0]
    starts = np.concatenate([grid, saddles + 1e-3 * unstable, saddles - 1e-3 * unstable])

    objective = optimisation.Himmelblau()
    cells = len(grid)

    def limits(scaled, method="gradient descent"):
        count = int(max(smoothness / scaled, 400))  # time 1, many times 1/curvature at the flattest minimum
        ends = optimisation.ends_of_descent(objective, starts, scaled / smoothness, count, method=method)
        return optimisation.nearest_limits(ends, minima, 0.5)

    flow = limits(0.2, "flow")
    yield exactly(int(np.sum(flow < 0)), 0, "starts from which the flow does not arrive at a minimum")
    yield exactly(len(np.unique(flow[:cells])), 4, "minima that the flow reaches from the grid")
    sides = flow[cells : cells + 4] != flow[cells + 4 :]
    yield exactly(sides, True, "the two sides of each saddle flow to different minima")
    sizes = np.array([0.01, 0.5, 1.0, 1.5, 1.9])
    shares = [float(np.mean(limits(s)[:cells] == flow[:cells])) for s in sizes]
    chosen = limits(step)[:cells]
    share = float(np.mean(chosen == flow[:cells]))
    yield at_least(shares[0], 0.99, "share of starts with the limit of the flow, ηL = 0.01", strict=True)
    yield at_most(share, shares[0], f"the same share, ηL = {step:.3g}")
    yield at_most(shares[-1], shares[0], "the same share, ηL = 1.9", strict=True)

    well, top = _double_well_limits(0.01, resolution), np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)
    right, line = well
    yield exactly(
        right, line > top[1], "double well: descent with ηL = 0.01 goes right iff it starts right of the barrier"
    )
    yield close(top[1], 0.101031, "the barrier", atol=1e-6)
    wild, _ = _double_well_limits(1.9, resolution)
    yield at_most(
        np.mean(wild == right), 1.0, "double well: share of starts with the same limit, ηL = 1.9", strict=True
    )

    maps = [(f"Flow: {cells} starts", flow[:cells]), (f"Descent, ηL = {step:.3g}", chosen)]
    panels = [
        figure.plane(
            name,
            x="w₁",
            y="w₂",
            points={"minima": minima, "saddles": saddles},
            regions=(axis, axis, labels.reshape(resolution, resolution)),
            domain=((-region, region), (-region, region)),
        )
        for name, labels in maps
    ]
    yield figure.beside(
        f"Descent with ηL = {step:.3g} ends where the flow ends from {share:.1%} of the starts",
        *panels,
        figure.curves(
            "Share of starts with the limit of the flow",
            x="ηL, L the largest curvature at the minima",
            y="share",
            points={"measured": (sizes, np.array(shares))},
        ),
    )


def _double_well_limits(scaled: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether descent on the tilted double well ends on the right, from starts in [−1.7, 1.7]; L at its minima."""
    line = w = np.linspace(-1.7, 1.7, 4 * count)
    for _ in range(int(max(40 / scaled, 400))):
        w = w - scaled / 2.28662 * (w**3 - w + 0.1)
    return w > 0.1, line
