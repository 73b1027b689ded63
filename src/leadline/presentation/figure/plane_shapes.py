"""Lines, bands and arcs for pictures of classifiers in the plane."""

import numpy as np


def boundary(w, b, reach=3.0, shift=0.0):
    """Two ends of the line w·x + b = shift ‖w‖, `reach` to each side of its point nearest to the origin."""
    w, length = np.asarray(w, float), np.linalg.norm(w)
    centre, along = (shift - b / length) * w / length, np.array([-w[1], w[0]]) / length
    ends = np.array([centre - reach * along, centre + reach * along])
    return ends[:, 0], ends[:, 1]


def by_sign(x, sign, names=("y = +1", "y = −1")):
    """The points of each class, where it has any."""
    x, sign = np.asarray(x), np.asarray(sign)
    return {name: x[sign == s] for name, s in zip(names, (1, -1), strict=True) if np.any(sign == s)}


def band(w, b, width):
    """The plane and both edges of its band; the edges are one line, joined far outside the picture."""
    (ux, uy), (lx, ly) = boundary(w, b, shift=width), boundary(w, b, shift=-width)
    return {"plane": boundary(w, b), "band of width 2γ": (np.append(ux, lx[::-1]), np.append(uy, ly[::-1]))}


def square(x):
    middle, half = (x.max(axis=0) + x.min(axis=0)) / 2, 1.1 * np.ptp(x, axis=0).max() / 2
    return tuple((float(m - half), float(m + half)) for m in middle)


def polar(angle, radius):
    return float(radius * np.cos(angle)), float(radius * np.sin(angle))


def arc(low, high, radius):
    angles = np.linspace(low, max(low, high), 90)
    return radius * np.cos(angles), radius * np.sin(angles)
