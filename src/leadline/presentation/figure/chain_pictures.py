"""Shapes that the pictures of chains share."""

import numpy as np

from .planar import plane


def ring(states: int) -> list[tuple[float, float]]:
    """Places on a circle, the first at the top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(states) / states
    return list(zip(np.cos(angle).tolist(), np.sin(angle).tolist(), strict=True))


def eigenvalue_plane(title: str, values: dict[str, np.ndarray]):
    """Eigenvalues in the complex plane with the unit circle."""
    turn = np.linspace(0, 2 * np.pi, 181)
    return plane(
        title,
        "real part",
        "imaginary part",
        points={name: np.stack([np.real(v), np.imag(v)], axis=1) for name, v in values.items()},
        lines={"unit circle": (np.cos(turn), np.sin(turn))},
        domain=((-1.15, 1.15), (-1.15, 1.15)),
    )
