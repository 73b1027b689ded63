"""Balls of data space as ellipsoids of weights: shape, axes and volume."""

import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_most, claim, close, erratum, frequency, slope
from leadline.kernels.features.neighbours import unit_ball_volume
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.weight_ellipsoids import (
    data_radii,
    ellipsoid_points,
    ellipsoid_volume as sloppiness_ellipsoid_volume,
    semi_axes,
)
from leadline.presentation import figure


@claim(sources=("penn",))
def data_ball_weight_ellipsoid(
    key,
    n: Int(3, 30) = 8,
    slow: Real(0.2, 0.8) = 0.5,
    fast: Real(1.5, 4.0) = 2.0,
    deviation: Real(0.02, 0.3, log=True) = 0.1,
):
    r"""Weight ellipsoid of a data-space ball.

    A small ball of data space comes from the ellipsoid ½ δᵀg δ ≤ ρ² of weights, which is long where the Fisher metric
    g is small. This is local: the image of the ellipsoid has radius ρ(1 + O(ρ)), and for the unit ball the map is
    usually far outside its range of validity.

    $$\frac{1}{2} \delta^T g\, \delta = \rho^2 \;\Rightarrow\; \sqrt{\tfrac{1}{2n} \sum_i (f_i(w+\delta) - f_i(w))^2 /
    \sigma^2} = \rho\, (1 + O(\rho))$$

    Check: The model is a sum of two exponentials at n times up to 3; ρ goes over three decades.
    """
    regression = sloppiness.sum_of_exponentials(np.linspace(3 / n, 3.0, n), 2)
    w = np.array([slow, fast])
    metric = regression.metric(w, deviation)
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)
    small = 0.01 * np.sqrt(np.linalg.eigvalsh(metric)[0] / 2)  # the long half-axis is then a hundredth of a weight
    rhos = small * np.geomspace(1e-3, 1.0, 7)
    errors = []
    for rho in rhos:
        steps = ellipsoid_points(metric, circle, rho**2)
        errors.append(np.abs(data_radii(regression, w, steps, deviation) / rho - 1).max())
    yield at_most(errors[0], 1e-4, "greatest |radius/ρ − 1| at the least ρ")
    yield slope(rhos[2:], errors[2:], 1.0, "order in ρ of the greatest |radius/ρ − 1|", within=0.05)
    unit = ellipsoid_points(metric, circle, 1.0)
    far = np.abs(data_radii(regression, w, unit, deviation) - 1).max()
    lengths, _ = semi_axes(metric)
    images = (regression.predict(w + unit) - regression.predict(w)) / (np.sqrt(2 * n) * deviation)
    images = images @ np.linalg.svd(regression.jacobian(w), full_matrices=False)[0]
    ring = np.append(np.arange(200), 0)
    title = f"weights: half-axes {lengths[0]:.2g} and {lengths[1]:.2g}"
    lines, points, domain = {"½ δᵀg δ = 1": tuple((w + unit[ring]).T)}, {"w": w[None]}, _square(w + unit)
    weights = figure.plane(title, "slow rate", "fast rate", lines=lines, points=points, domain=domain)
    title = "data space, tangent plane: the circle and the image of the ellipse"
    lines, points = {"circle ρ = 1": tuple(circle[ring].T)}, {"image of the ellipse": images[::4]}
    domain = _square(np.vstack([circle, images]))
    tangent = figure.plane(title, "stiff direction", "sloppy direction", lines=lines, points=points, domain=domain)
    title = f"The ellipse of weights is a circle of data only for small ρ: off by {far:.2g} at ρ = 1"
    yield figure.beside(title, weights, tangent)


def _square(points):
    centre, half = (points.max(0) + points.min(0)) / 2, 0.55 * np.ptp(points, axis=0).max()
    return (centre[0] - half, centre[0] + half), (centre[1] - half, centre[1] + half)


@claim(sources=("penn",))
def ellipsoid_volume(
    key, dim: Int(1, 5) = 3, factor: Real(2.0, 100.0, log=True) = 64.0, draws: Int(10_000, 400_000, log=True) = 100_000
):
    r"""Volume of the Fisher ellipsoid.

    The weights with ½ δᵀg δ ≤ 1 have volume $V_p\, 2^{p/2} / \sqrt{\det g}$. It is inversely proportional to √det g,
    which is itself the volume of the image of a unit cube of weights. Where the metric is sloppy, many weights fit.

    $$\operatorname{vol}\{\tfrac{1}{2} \delta^T g\, \delta \le 1\} = \frac{V_p\, 2^{p/2}}{\sqrt{\det g}}$$
    """
    from scipy.spatial import ConvexHull

    rng = data.generator(key)
    root = rng.normal(size=(dim, dim)) + np.eye(dim)
    shape = root.T @ root + 0.2 * np.eye(dim)
    shape /= np.linalg.det(shape) ** (1 / dim)
    determinants = np.geomspace(1 / factor, factor, 5)
    measured, error, exact = [], [], []
    for k, determinant in enumerate(determinants):
        metric = shape * determinant ** (1 / dim)
        half = np.sqrt(2 * np.diag(np.linalg.inv(metric)))
        points = rng.uniform(-half, half, size=(draws, dim))
        inside, box = np.sum(np.einsum("ki,ij,kj->k", points, metric, points) <= 2), np.prod(2 * half)
        share, volume = inside / draws, sloppiness_ellipsoid_volume(metric)
        measured.append(share * box)
        error.append(3 * box * np.sqrt(share * (1 - share) / draws))
        exact.append(volume)
        if k % 2 == 0:
            what = f"share of the box inside, det g = {determinant:.4g}: volume {share * box:.4g}, theory {volume:.4g}"
            last = frequency(inside, draws, min(volume / box, 1.0), what, confidence=0.9997)
            yield last
    measured, error = np.array(measured), np.array(error)
    base, roots = unit_ball_volume(dim) * 2 ** (dim / 2), np.sqrt(determinants)
    what = f"volume at det g = {factor:g}, against V_p 2^(p/2) √det g"
    wrong = close(measured[-1], base * np.sqrt(factor), what, rtol=0.1)
    yield erratum(wrong, of=last, by="penn", prints="the volume is proportional to √det g")
    yield slope(determinants, exact, -0.5, "slope of log volume on log det g", within=1e-9)
    jacobian = rng.normal(size=(dim, dim))
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * dim), -1).reshape(-1, dim) @ jacobian.T
    image = ConvexHull(corners).volume if dim > 1 else np.ptp(corners)
    root = np.sqrt(np.linalg.det(jacobian.T @ jacobian))
    yield close(image, root, "volume of the image of a unit cube, against √det JᵀJ", rtol=1e-6)
    title = f"Volume in {dim} dimensions: {measured[-1]:.3g} at det g = {factor:g}, {measured[0]:.3g} at its inverse"
    lines = {"V_p 2^(p/2)/√det g": (determinants, base / roots), "∝ √det g (erratum)": (determinants, base * roots)}
    points = {f"Monte Carlo, {draws} draws": (determinants, measured, measured - error, measured + error)}
    yield figure.curves(title, "det g", "volume", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def contour_axes(
    key, dim: Int(2, 8) = 2, condition: Real(2.0, 10_000.0, log=True) = 9.0, level: Real(0.1, 10.0, log=True) = 1.0
):
    r"""Axes of quadratic loss contours.

    The contour ½ wᵀH w = c has semi-axes √(2c/λᵢ) along the eigenvectors: the larger the curvature, the shorter the
    axis. Four decades of eigenvalues make an ellipse a hundred times longer than it is wide.

    $$\tfrac{1}{2} w^T H w = c \;\Rightarrow\; a_i = \sqrt{2c / \lambda_i}$$
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    values = np.geomspace(1 / condition, 1.0, dim)
    hessian = (basis * values) @ basis.T
    hessian = (hessian + hessian.T) / 2
    lengths, axes = semi_axes(hessian, level)
    long, short = lengths[0], lengths[-1]
    ends = axes * lengths
    heights = np.einsum("ia,ij,ja->a", ends, hessian, ends) / 2
    yield close(heights, level, "½ wᵀH w at the ends of the axes, against c", rtol=1e-9)
    yield close(lengths, np.sqrt(2 * level / values), "semi-axes, against √(2c/λ)", rtol=1e-8)
    sizes = np.linalg.norm(ellipsoid_points(hessian, rng.normal(size=(2000, dim)), level), axis=1)
    yield at_most(sizes, long, "distance of 2000 points of the contour from 0, against the long axis", rtol=1e-9)
    yield at_most(short, sizes, "short axis, against the distance of 2000 points of the contour from 0", rtol=1e-9)
    ratio = close(long / short, np.sqrt(condition), "length over width of the contour, against √κ", rtol=1e-7)
    yield ratio
    what = "axis of the least over that of the largest λ, against √(λ_min/λ_max)"
    wrong = close(long / short, np.sqrt(values[0] / values[-1]), what, rtol=0.1)
    yield erratum(wrong, of=ratio, by="penn", prints="the semi-axes are proportional to √λ")
    extremes, angles = axes[:, [0, -1]], np.linspace(0, 2 * np.pi, 161)
    turn = np.radians(25.0)  # how the two extreme eigenvectors are drawn
    view = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    lines = {}
    for share in (1.0, 0.5, 0.1):
        ring = np.stack([long * np.cos(angles), short * np.sin(angles)], 1) * np.sqrt(share)
        height = np.einsum("ka,ab,kb->k", ring, extremes.T @ hessian @ extremes, ring) / 2
        lines[f"l = {height.mean():.2g}"] = tuple((ring @ view).T)
    points = {"ends √(2c/λ) of the axes": [[long, 0], [-long, 0], [0, short], [0, -short]] @ view}
    title = f"Eigenvalues {values[0]:.2g} and {values[-1]:.2g}: semi-axes {long:.3g} and {short:.3g}"
    along, domain = "w in the plane of the extreme eigenvectors", ((-1.1 * long, 1.1 * long),) * 2
    yield figure.plane(title, along, "rotated by 25°", lines=lines, points=points, domain=domain)
