"""Where descent ends on functions with several minima: basins of the flow, and of steps that are not small."""

import numpy as np

from leadline import optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, exactly, reference
from leadline.optimisation.runs.basins_of_attraction import ends_of_descent, nearest_limits
from leadline.presentation import figure

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


@claim(sources=("eth", "penn"))
def gd_basin_dependence(
    key, step_size: Real(0.05, 1.95) = 1.9, resolution: Int(20, 80) = 50, region: Real(4.5, 5.0) = 5.0
):
    r"""Basins of attraction of gradient descent.

    On non-convex functions the limit depends on the start. The basins of the gradient flow meet along the stable
    manifolds of saddles; gradient descent has the same basins with small steps, but different ones with steps near 2/L
    (L at the minima).

    $$\lim_{t \to \infty} w^t \;\text{ depends on }\; w^0 \text{ and } \eta$$

    Assumes: L is the largest curvature at the minima.

    Check: The parameter `step_size` is ηL. Gradient descent runs on Himmelblau's function from a grid of starts in a
    square of the given half-width, and on a double well.
    """
    minima, saddles, _ = himmelblau_points()
    smoothness = np.linalg.eigvalsh(himmelblau(minima)[1]).max()
    axis = np.linspace(-region, region, resolution)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    unstable = np.linalg.eigh(himmelblau(saddles)[1])[1][:, :, 0]
    starts = np.concatenate([grid, saddles + 1e-3 * unstable, saddles - 1e-3 * unstable])
    objective, cells = optimisation.Himmelblau(), len(grid)

    def limits(scaled, method="gradient descent"):
        count = int(max(smoothness / scaled, 400))  # time 1, many times 1/curvature at the flattest minimum
        ends = ends_of_descent(objective, starts, float(scaled / smoothness), count, method=method)
        return nearest_limits(ends, minima, 0.5)

    flow, beside = np.split(limits(0.2, "flow"), [cells])
    unsettled = np.sum(flow < 0) + np.sum(beside < 0)
    yield exactly(unsettled, 0, "starts from which the flow does not arrive at a minimum")
    yield exactly(len(np.unique(flow)), 4, "minima that the flow reaches from the grid")
    same = np.sum(beside[:4] == beside[4:])
    yield exactly(same, 0, "saddles whose two sides flow to the same minimum")
    sizes = [0.01, 0.5, 1.0, 1.5, 1.9]
    shares = [np.mean(limits(s)[:cells] == flow) for s in sizes]
    chosen = limits(step_size)[:cells]
    share, what = np.mean(chosen == flow), "share of starts with the limit of the flow"
    yield at_least(shares[0], 0.99, f"{what}, ηL = 0.01", strict=True)
    yield at_most(share, shares[0], f"{what}, ηL = {step_size:.3g} against 0.01")
    yield at_most(shares[-1], shares[0], f"{what}, ηL = 1.9 against 0.01", strict=True)
    (right, line), (wild, _) = (_double_well_limits(scaled, resolution) for scaled in (0.01, 1.9))
    barrier = np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)[1]
    across = np.sum(right != (line > barrier))
    yield exactly(across, 0, "double well: starts from which descent with ηL = 0.01 crosses the barrier")
    yield reference(barrier, 0.101031, "double well: its barrier", digits=6)
    yield at_most(np.mean(wild == right), 1.0, "double well: share of starts with one limit at ηL = 1.9", strict=True)
    points, domain = {"minima": minima, "saddles": saddles}, ((-region, region), (-region, region))
    panels = []
    for name, ends in ((f"Flow: {cells} starts", flow), (f"Descent, ηL = {step_size:.3g}", chosen)):
        regions = (axis, axis, ends.reshape(resolution, resolution))
        panels.append(figure.plane(name, "w₁", "w₂", points=points, regions=regions, domain=domain))
    axes = "ηL, L the largest curvature at the minima", "share"
    panels.append(figure.curves(f"S{what[1:]}", *axes, points={"measured": (sizes, shares)}))
    title = f"Descent with ηL = {step_size:.3g} ends where the flow ends from {share:.1%} of the starts"
    yield figure.beside(title, *panels)


def _double_well_limits(scaled: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether descent on the tilted double well ends on the right, from starts in [−1.7, 1.7]; L at its minima."""
    line = w = np.linspace(-1.7, 1.7, 4 * count)
    for _ in range(int(max(40 / scaled, 400))):
        w = w - scaled / 2.28662 * (w**3 - w + 0.1)
    return w > 0.1, line
