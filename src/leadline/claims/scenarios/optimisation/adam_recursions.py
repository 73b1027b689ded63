"""Adam's recursion in one dimension, written out step by step with every option: the twin of the library's rules."""

import numpy as np


def adam_path(
    num_steps: int,
    step_size: float,
    b1: float = 0.9,
    b2: float = 0.999,
    *,
    eps: float = 1e-8,
    corrected: bool = True,
    inside: bool = False,
    weight_decay: float = 0.0,
    start: float = 1.0,
) -> np.ndarray:
    """x⁰ … x^T on x²/2 (gradient x)."""
    x, m, v, path = start, 0.0, 0.0, [start]
    for t in range(1, num_steps + 1):
        m, v = b1 * m + (1 - b1) * x, b2 * v + (1 - b2) * x * x
        mean, square = (m / (1 - b1**t), v / (1 - b2**t)) if corrected else (m, v)
        denominator = np.sqrt(square + eps) if inside else np.sqrt(square) + eps
        x -= step_size * (mean / denominator + weight_decay * x)
        path.append(x)
    return np.array(path)
