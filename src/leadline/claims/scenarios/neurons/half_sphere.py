"""The picture of a hyperplane arrangement in R³: great circles on a half sphere, drawn in a disc."""

import numpy as np

from leadline.linear_classifiers import dichotomies
from leadline.presentation import figure


def well_spread(rng, points: int) -> np.ndarray:
    """Points in R³ whose cells are all large enough to see: of 100 draws the one farthest from degenerate."""
    draws = rng.normal(size=(100, points, 3))
    return max(draws, key=lambda x: dichotomies.general_position(x).smallest)


def half_sphere(title: str, normals: np.ndarray, marks: dict[str, np.ndarray], *, newest: str = ""):
    """The directions w with w·x₁ > 0, seen stereographically in a disc: great circles are arcs, w·x₁ = 0 is the rim.

    Cells come in opposite pairs and none crosses the rim, so the disc shows exactly one of each pair. With `newest`,
    the last great circle is a line of its own, with that name.
    """
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    frame = np.linalg.svd(units[:1])[2]  # pole first
    frame[0] = units[0]

    def disc(directions):
        z = directions / np.linalg.norm(directions, axis=1, keepdims=True) @ frame.T
        return z[:, 1:] / (1 + z[:, :1])

    # One pen stroke: along an arc from rim to rim, then along the rim to the start of the next arc.
    turn, stroke, at = np.linspace(0, 1, 61)[:, None], [], 0.0
    for axis in units[1:] @ frame.T:
        start = np.arctan2(axis[1], -axis[2])  # on the rim and orthogonal to the axis
        rim = at + turn * ((start - at) % np.pi)
        across = np.array([0.0, np.cos(rim[-1, 0]), np.sin(rim[-1, 0])])
        up = np.cross(axis, across)
        arc = np.cos(np.pi * turn) * across + np.sin(np.pi * turn) * up * np.sign(up[0])
        stroke += [np.hstack([0 * rim, np.cos(rim), np.sin(rim)]), arc]
        at = rim[-1, 0] + np.pi
    last = stroke.pop() if newest and stroke else None
    at += np.linspace(0, 2, 181)[:, None] * np.pi
    stroke.append(np.hstack([0 * at, np.cos(at), np.sin(at)]))
    curves = {"w·xᵢ = 0": np.concatenate(stroke)} | ({} if last is None else {newest: last})
    near = {name: disc(w[w @ units[0] > 0]) for name, w in marks.items()}
    points = {name: p for name, p in near.items() if len(p)}
    lines = {name: tuple(disc(c @ frame).T) for name, c in curves.items()}
    axis, domain = "the half sphere of weights w·x₁ > 0 as a disc", ((-1.05, 1.05), (-1.05, 1.05))
    return figure.plane(title, axis, "", points=points, lines=lines, domain=domain)
