"""Balls of data space as ellipsoids of weights: shape, axes and volume."""

from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.evidence import Range, at_most, claim, close, figure, frequency, printed, slope


@claim(
    "data-ball-weight-ellipsoid",
    says=(
        "A small ball of data space comes from the ellipsoid ½ δᵀg δ ≤ ρ² of weights, long where the Fisher metric g "
        "is small. That is local: the image of the ellipsoid has radius ρ(1 + O(ρ)), and for the unit ball the map is "
        "usually far outside its validity."
    ),
    formula=r"\frac{1}{2} \delta^T g\, \delta = \rho^2 \;\Rightarrow\; "
    r"\sqrt{\tfrac{1}{2n} \sum_i (f_i(w+\delta) - f_i(w))^2 / \sigma^2} = \rho\, (1 + O(\rho))",
    sources=("penn",),
    shows=("sloppiness.ellipsoid_points", "sloppiness.data_radii"),
)
def data_ball_weight_ellipsoid(
    key,
    n: Annotated[int, Range(3, 30)] = 8,
    slow: Annotated[float, Range(0.2, 0.8)] = 0.5,
    fast: Annotated[float, Range(1.5, 4.0)] = 2.0,
    deviation: Annotated[float, Range(0.02, 0.3, log=True)] = 0.1,
):
    """Two exponentials at n times up to 3, 200 directions of the ellipsoid, ρ over three decades."""
    regression = sloppiness.sum_of_exponentials(np.linspace(3 / n, 3.0, n), 2)
    w = np.array([slow, fast])
    metric = regression.metric(w, deviation)
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)
    small = 0.01 * np.sqrt(np.linalg.eigvalsh(metric)[0] / 2)  # the long half-axis is then a hundredth of a weight
    rhos = small * np.geomspace(1e-3, 1.0, 7)
    errors = []
    for rho in rhos:
        steps = sloppiness.ellipsoid_points(metric, circle, rho**2)
        errors.append(np.abs(sloppiness.data_radii(regression, w, steps, deviation) / rho - 1).max())
    errors = np.array(errors)
    yield at_most(errors[0], 1e-4, "greatest |radius/ρ − 1| at the least ρ")
    yield slope(rhos[2:], errors[2:], 1.0, "order of the error in ρ", within=0.05)
    unit = sloppiness.ellipsoid_points(metric, circle, 1.0)
    radii = sloppiness.data_radii(regression, w, unit, deviation)
    far = np.abs(radii - 1).max()
    lengths, _ = sloppiness.semi_axes(metric)
    yield printed(
        at_most(far, 0.01, "greatest |radius − 1| of the ellipsoid of the unit ball").given(
            lengths[0] > 0.1, "the long half-axis is more than a tenth of a rate"
        ),
        "penn",
        "the UNIT ball of data space is the ellipsoid",
    )
    images = (regression.predict(w + unit) - regression.predict(w)) / (np.sqrt(2 * n) * deviation)
    plane = np.linalg.svd(regression.jacobian(w), full_matrices=False)[0]
    yield figure.beside(
        f"The ellipse of weights is a circle of data only for small ρ: off by {far:.2g} at ρ = 1",
        figure.plane(
            f"weights: half-axes {lengths[0]:.2g} and {lengths[1]:.2g}",
            x="slow rate",
            y="fast rate",
            lines={"½ δᵀg δ = 1": tuple((w + unit[np.append(np.arange(200), 0)]).T)},
            points={"w": w[None]},
            domain=_square(w + unit),
        ),
        figure.plane(
            "data space, tangent plane: the circle and the image of the ellipse",
            x="stiff direction",
            y="sloppy direction",
            lines={"circle ρ = 1": tuple(circle[np.append(np.arange(200), 0)].T)},
            points={"image of the ellipse": images[::4] @ plane},
            domain=_square(np.vstack([circle, images @ plane])),
        ),
    )


def _square(points):
    centre, half = (points.max(0) + points.min(0)) / 2, 0.55 * np.ptp(points, axis=0).max()
    return (centre[0] - half, centre[0] + half), (centre[1] - half, centre[1] + half)


@claim(
    "ellipsoid-volume",
    says=(
        "The weights with ½ δᵀg δ ≤ 1 have volume V_p 2^(p/2)/√det g: INVERSELY proportional to √det g, which is "
        "itself the volume of the image of a unit cube of weights. Where the metric is sloppy, many weights fit."
    ),
    formula=r"\operatorname{vol}\{\tfrac{1}{2} \delta^T g\, \delta \le 1\} = \frac{V_p\, 2^{p/2}}{\sqrt{\det g}}",
    sources=("penn",),
    shows=("sloppiness.ellipsoid_volume", "sloppiness.unit_ball_volume"),
)
def ellipsoid_volume(
    key,
    dim: Annotated[int, Range(1, 5)] = 3,
    factor: Annotated[float, Range(2.0, 100.0, log=True)] = 64.0,
    draws: Annotated[int, Range(10_000, 400_000, log=True)] = 100_000,
):
    """Random metrics of determinant 1, `factor` and 1/`factor`; Monte Carlo in the box around each ellipsoid."""
    from scipy.spatial import ConvexHull

    rng = data.generator(key)
    root = rng.normal(size=(dim, dim)) + np.eye(dim)
    shape = root.T @ root + 0.2 * np.eye(dim)
    shape /= np.linalg.det(shape) ** (1 / dim)
    determinants = np.geomspace(1 / factor, factor, 5)
    measured, error = [], []
    for determinant in determinants:
        metric = shape * determinant ** (1 / dim)
        half = np.sqrt(2 * np.diag(np.linalg.inv(metric)))
        points = rng.uniform(-half, half, size=(draws, dim))
        inside = int(np.sum(np.einsum("ki,ij,kj->k", points, metric, points) <= 2))
        box = float(np.prod(2 * half))
        predicted = sloppiness.ellipsoid_volume(metric)
        share = inside / draws
        measured.append(share * box)
        error.append(3 * box * np.sqrt(share * (1 - share) / draws))
        if determinant in determinants[[0, 2, 4]]:
            what = (
                f"share of the box inside, det g = {determinant:.4g}: volume {share * box:.4g}, theory {predicted:.4g}"
            )
            yield frequency(inside, draws, min(predicted / box, 1.0), what, confidence=0.9997)
    measured, error = np.array(measured), np.array(error)
    base = sloppiness.unit_ball_volume(dim) * 2 ** (dim / 2)
    yield printed(
        close(measured[-1], base * np.sqrt(factor), f"volume at det g = {factor:g}", rtol=0.1),
        "penn",
        "the volume is proportional to √det g",
    )
    exact = [sloppiness.ellipsoid_volume(shape * d ** (1 / dim)) for d in determinants]
    yield slope(determinants, exact, -0.5, "slope of log volume on log det g", within=1e-9)
    jacobian = rng.normal(size=(dim, dim))
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * dim), -1).reshape(-1, dim) @ jacobian.T
    image = ConvexHull(corners).volume if dim > 1 else float(np.ptp(corners))
    yield close(
        image, np.sqrt(np.linalg.det(jacobian.T @ jacobian)), "√det JᵀJ: volume of the image of a cube", rtol=1e-6
    )
    yield figure.curves(
        f"Volume of the ellipsoid of weights in {dim} dimensions: {measured[-1]:.3g} at det g = {factor:g}, "
        f"{measured[0]:.3g} at its inverse",
        x="det g",
        y="volume",
        lines={
            "V_p 2^(p/2)/√det g": (determinants, base / np.sqrt(determinants)),
            "∝ √det g, as printed": (determinants, base * np.sqrt(determinants)),
        },
        points={f"Monte Carlo, {draws} draws": (determinants, measured, measured - error, measured + error)},
        log="xy",
    )


@claim(
    "contour-axes",
    says=(
        "The contour ½ wᵀH w = c has semi-axes √(2c/λᵢ) along the eigenvectors: the LARGER the curvature, the shorter "
        "the axis. Four decades of eigenvalues make an ellipse a hundred times longer than wide."
    ),
    formula=r"\tfrac{1}{2} w^T H w = c \;\Rightarrow\; a_i = \sqrt{2c / \lambda_i}",
    sources=("penn",),
    shows=("sloppiness.semi_axes", "sloppiness.ellipsoid_points"),
)
def contour_axes(
    key,
    dim: Annotated[int, Range(2, 8)] = 2,
    condition: Annotated[float, Range(2.0, 10_000.0, log=True)] = 9.0,
    level: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
):
    """A random rotation of eigenvalues from 1/condition to 1."""
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    values = np.geomspace(1 / condition, 1.0, dim)
    hessian = (basis * values) @ basis.T
    hessian = (hessian + hessian.T) / 2
    lengths, axes = sloppiness.semi_axes(hessian, level)
    ends = axes * lengths
    heights = np.einsum("ia,ij,ja->a", ends, hessian, ends) / 2
    yield close(heights, level, "½ wᵀH w at the ends of the axes", rtol=1e-9)
    yield close(lengths, np.sqrt(2 * level / values), "semi-axes √(2c/λ)", rtol=1e-8)
    points = sloppiness.ellipsoid_points(hessian, rng.normal(size=(2000, dim)), level)
    sizes = np.linalg.norm(points, axis=1)
    yield at_most(sizes, lengths[0], "distance of 2000 points of the contour, at most the long axis", rtol=1e-9)
    yield at_most(lengths[-1], sizes, "and at least the short one", rtol=1e-9)
    yield close(lengths[0] / lengths[-1], np.sqrt(condition), "length over width: √κ", rtol=1e-7)
    yield printed(
        close(
            lengths[0] / lengths[-1],
            np.sqrt(values[0] / values[-1]),
            "axis of the least over that of the largest λ",
            rtol=0.1,
        ),
        "penn",
        "the semi-axes are proportional to √λ",
    )
    flat, sharp = axes[:, 0], axes[:, -1]
    angles = np.linspace(0, 2 * np.pi, 161)
    turn = np.radians(25.0)  # how the two extreme eigenvectors are drawn
    view = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    lines = {}
    for share in (1.0, 0.5, 0.1):
        ring = np.stack([lengths[0] * np.cos(angles), lengths[-1] * np.sin(angles)], 1) * np.sqrt(share)
        height = np.einsum("ka,ab,kb->k", ring, np.stack([flat, sharp]) @ hessian @ np.stack([flat, sharp]).T, ring) / 2
        lines[f"l = {height.mean():.2g}"] = tuple((ring @ view).T)
    tips = np.array([[lengths[0], 0.0], [-lengths[0], 0.0], [0.0, lengths[-1]], [0.0, -lengths[-1]]]) @ view
    reach = 1.1 * lengths[0]
    yield figure.plane(
        f"Eigenvalues {values[0]:.2g} and {values[-1]:.2g}: semi-axes {lengths[0]:.3g} and {lengths[-1]:.3g}, the "
        "long one along the small eigenvalue",
        x="w in the plane of the extreme eigenvectors",
        y="rotated by 25°",
        lines=lines,
        points={"ends √(2c/λ) of the axes": tips},
        domain=((-reach, reach), (-reach, reach)),
    )
