"""The scattering transform of images and of signals, against kymatio over NumPy and over PyTorch."""

import numpy as np

from ..harness.case import LEADLINE, Case, Inputs, Side, Work

IMAGES, SIDE, ANGLES = 128, 32, 8
SIGNALS, LENGTH, OCTAVES, PER_OCTAVE = 32, 4096, 6, 8


def images() -> Inputs:
    return {"x": np.random.default_rng(0).normal(size=(IMAGES, SIDE, SIDE)).astype(np.float32)}


def signals() -> Inputs:
    walk = np.random.default_rng(1).normal(size=(SIGNALS, LENGTH)).cumsum(1)
    return {"x": (walk / np.sqrt(LENGTH)).astype(np.float32)}


def _sides(make: str) -> tuple[Side, ...]:
    rivals = [
        Side(f"kymatio ({name})", "benchmarks.scattering.kymatio_side", make, "kymatio", {"backend": backend})
        for name, backend in (("NumPy", "numpy"), ("PyTorch", "torch"))
    ]
    return Side(LEADLINE, "benchmarks.scattering.leadline_scattering", make), *rivals


def _transforms(scales: int) -> float:
    """Operations of one image's Fourier transforms, 5 N log2 N each, which no side can do without."""
    padded = (SIDE // 2**scales + 2) * 2**scales
    flops = 0.0
    for j in range(scales):  # back from each first wavelet, there again, and back from each second one below it
        now = padded / 2**j
        count = ANGLES * (2 if j < scales - 1 else 1) + j * ANGLES**2
        flops += count * 5 * now**2 * np.log2(now**2)
    return flops


CASES = [
    *(
        Case(
            f"scattering of 128 images of 32 x 32, {scales} scales, 8 angles",
            _sides("scatter_images"),
            images,
            {"scales": scales},
            asked=1.5,
            count=IMAGES,
            # Every coefficient is written once.
            work=Work(0.0, 4.0 * IMAGES * paths * (SIDE / 2**scales) ** 2),
            reason=f"{_transforms(scales) / 1e6:.1f} million operations an image in Fourier transforms of 6 to "
            f"{(SIDE // 2**scales + 2) * 2**scales} a side, which reach a tenth of a matrix product; averages are two "
            "small matrix products in place of transforms.",
        )
        for scales, paths in ((2, 81), (3, 217))
    ),
    Case(
        "scattering of 32 signals of 4,096 samples, 6 scales, 8 wavelets an octave",
        _sides("scatter_signals"),
        signals,
        {"scales": OCTAVES, "per_octave": PER_OCTAVE},
        count=SIGNALS,
        reason="long Fourier transforms, which take no less time here than in the rivals.",
    ),
]
