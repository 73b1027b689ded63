"""Modes of a linear network learnt one after the other: sigmoids in time."""

from itertools import pairwise
from typing import Annotated

import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Choice, Range, at_least, claim, close, figure, slope

_TARGETS = np.array([4.0, 3.0, 2.0, 1.0])


@claim(
    "stagewise-mode-learning",
    says=(
        "On white data and from small balanced factors aligned with the singular vectors of G, every singular value "
        "of AB follows its own sigmoid and passes half strength at ln(s/a₀ − 1)/(2s): strong modes first, each after "
        "a plateau at a saddle. Deeper networks wait longer and rise faster; a small random start keeps the order."
    ),
    formula=r"a(t) = \frac{s e^{2 s t}}{e^{2 s t} - 1 + s / a_0}, \quad t_{1/2} = \frac{\ln(s / a_0 - 1)}{2 s}",
    sources=("sheet",),
    assumes=("white inputs", "balanced, aligned start", "small step η"),
    shows=("deep_linear.mode_strength", "deep_linear.mode_half_time", "deep_linear.deep_mode_strength"),
)
def stagewise_mode_learning(
    key,
    depth: Annotated[int, Choice(2, 3)] = 2,
    start: Annotated[float, Range(3e-4, 3e-2, log=True)] = 1e-3,
    step: Annotated[float, Range(5e-4, 2e-3, log=True)] = 1e-3,
):
    """G of size 4 × 4 with singular values 4, 3, 2, 1 and random singular vectors; balanced layers at strength a₀."""
    rng = data.generator(key)
    u, v, *hidden = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(depth + 1))
    target = (u * _TARGETS) @ v.T
    root = start ** (1 / depth)
    turns = [v, *hidden, u]  # any rotation of the hidden units changes nothing
    layers = [root * after @ before.T for before, after in pairwise(turns)]
    known = [deep_linear.mode_half_time(s, 1e-3) for s in _TARGETS]
    yield close(known, [1.037, 1.334, 1.900, 3.453], "half times for a₀ = 0.001", atol=5e-4)

    horizon = 1.6 * _half_time(1.0, start, depth)
    errors, etas = [], step * np.array([8.0, 4.0, 1.0])
    for eta in etas:
        times = eta * np.arange(int(horizon / eta) + 1)
        run = deep_linear.descend_layers(layers, np.eye(4), target, step=float(eta), steps=len(times) - 1)
        strengths = np.einsum("ik,tij,jk->tk", u, run.products, v)
        theory = np.stack([deep_linear.deep_mode_strength(times, s, start, depth=depth) for s in _TARGETS], axis=1)
        errors.append(np.abs(strengths - theory).max())
    if depth == 2:
        exact = np.stack([deep_linear.mode_strength(times, s, start) for s in _TARGETS], axis=1)
        yield close(theory, exact, "the sigmoid, against the differential equation", rtol=1e-6)
    yield slope(etas, errors, 1.0, "largest error against the step: slope", within=0.1)
    reference = depth == 2 and step == 1e-3 and start == 1e-3
    stated = close(errors[-1], 0.013, "largest error, against the number of the reference run", atol=1e-3)
    yield stated.given(reference, "two layers, η = 0.001, a₀ = 0.001")
    measured = times[np.argmax(strengths > _TARGETS / 2, axis=0)]
    predicted = np.array([_half_time(s, start, depth) for s in _TARGETS])
    yield close(measured, predicted, "half times of gradient descent", rtol=0.02, atol=2 * step)
    across = np.einsum("ik,tij,jl->tkl", u, run.products, v) * (1 - np.eye(4))
    yield close(across, 0.0, "modes stay apart: the product between them", atol=1e-9)

    tiny = [1e-6 * rng.normal(size=(4, 4)) for _ in range(2)]
    free = deep_linear.descend_layers(tiny, np.eye(4), target, step=0.02, steps=1500)
    order = np.argmax(np.einsum("ik,tij,jk->tk", u, free.products, v) > _TARGETS / 2, axis=0)
    yield at_least(np.diff(order), 1, "two layers, random start of scale 1e-6: steps from mode to mode")
    saddles = np.array([np.sum(_TARGETS[r:] ** 2) / 2 for r in range(5)])
    rests = (np.abs(free.losses[:, None] - saddles) < 0.01 * free.losses[0]).sum(0)
    yield at_least(rests, 5, "steps within 1% of the loss of each saddle on the way")
    kept = np.unique(np.linspace(0, len(times) - 1, 45).astype(int))
    yield figure.curves(
        f"{depth} layers: modes 4, 3, 2, 1 reach half strength at {', '.join(f'{t:.3f}' for t in measured)}; "
        f"largest error of the theory {errors[-1]:.3f}",
        x="time (step size × steps)",
        y="singular value of the product",
        lines={f"s = {s:g}": (times[::20], theory[::20, k]) for k, s in enumerate(_TARGETS)},
        points={f"s = {s:g}": (times[kept], strengths[kept, k]) for k, s in enumerate(_TARGETS)},
    )


def _half_time(target, start, depth):
    """From ∫ da / (L a^{2−2/L} (s − a)), in closed form for two layers."""
    if depth == 2:
        return deep_linear.mode_half_time(float(target), start)
    from scipy.integrate import quad

    rate = lambda log: np.exp(log) / (depth * np.exp(log) ** (2 - 2 / depth) * (target - np.exp(log)))  # noqa: E731
    return quad(rate, np.log(start), np.log(target / 2))[0]
