"""Lines, bands and arcs for pictures of classifiers in the plane."""

import numpy as np


def segment(w, b, shift=0.0, reach=3.0):
    """The line w.x + b = shift ‖w‖ as two end points."""
    normal = np.asarray(w) / np.linalg.norm(w)
    foot = (shift - b / np.linalg.norm(w)) * normal
    along = np.array([-normal[1], normal[0]]) * reach
    ends = np.stack([foot - along, foot + along])
    return ends[:, 0], ends[:, 1]


def band(w, b, width):
    """The plane and both edges of its band; the edges are one line, joined far outside the picture."""
    (ux, uy), (lx, ly) = segment(w, b, width), segment(w, b, -width)
    return {"plane": segment(w, b), "band of width 2γ": (np.append(ux, lx[::-1]), np.append(uy, ly[::-1]))}


def square(x):
    middle, half = (x.max(axis=0) + x.min(axis=0)) / 2, 1.1 * np.ptp(x, axis=0).max() / 2
    return tuple((float(m - half), float(m + half)) for m in middle)


def polar(angle, radius):
    return float(radius * np.cos(angle)), float(radius * np.sin(angle))


def arc(low, high, radius):
    angles = np.linspace(low, max(low, high), 90)
    return radius * np.cos(angles), radius * np.sin(angles)
