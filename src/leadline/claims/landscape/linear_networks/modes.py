"""Modes of a linear network learnt one after the other: sigmoids in time."""

from itertools import pairwise

import numpy as np

from leadline import data
from leadline.evidence import OneOf, Real, at_least, claim, close, reference, slope
from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.mode_curves import deep_mode_strength, mode_half_time, mode_strength
from leadline.presentation import figure

_TARGETS = np.array([4.0, 3.0, 2.0, 1.0])


@claim(sources=("sheet",))
def stagewise_mode_learning(
    key, depth: OneOf(2, 3) = 2, start: Real(3e-4, 3e-2, log=True) = 1e-3, step_size: Real(5e-4, 2e-3, log=True) = 1e-3
):
    r"""Stagewise learning of singular modes.

    On white data, and from small balanced factors aligned with the singular vectors of G, every singular value of AB
    follows its own sigmoid and passes half strength at ln(s/a₀ − 1)/(2s): strong modes first, each after a plateau at
    a saddle. Deeper networks wait longer and rise faster; a small random start keeps the order.

    $$a(t) = \frac{s e^{2 s t}}{e^{2 s t} - 1 + s / a_0}, \quad t_{1/2} = \frac{\ln(s / a_0 - 1)}{2 s}$$

    Assumes: white inputs; balanced, aligned start; small step size η.

    Check: G is a random 4 × 4 matrix with singular values 4, 3, 2 and 1; the layers start at strength a₀.
    """
    rng = data.generator(key)
    u, v, *hidden = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(depth + 1))
    target = (u * _TARGETS) @ v.T
    turns = [v, *hidden, u]  # any rotation of the hidden units changes nothing
    layers = [start ** (1 / depth) * after @ before.T for before, after in pairwise(turns)]
    known = [mode_half_time(s, 1e-3) for s in _TARGETS]
    yield reference(known, [1.037, 1.334, 1.900, 3.453], "half times for a₀ = 0.001", digits=4)
    horizon = 1.6 * _half_time(1.0, start, depth)
    errors, etas = [], step_size * np.array([8.0, 4.0, 1.0])
    for eta in etas:
        times = eta * np.arange(int(horizon / eta) + 1)
        run = deep_linear.descend_layers(layers, np.eye(4), target, step_size=float(eta), num_steps=len(times) - 1)
        strengths = np.einsum("ik,tij,jk->tk", u, run.products, v)
        theory = np.stack([deep_mode_strength(times, s, start, depth=depth) for s in _TARGETS], axis=1)
        errors.append(np.abs(strengths - theory).max())
    if depth == 2:
        exact = np.stack([mode_strength(times, s, start) for s in _TARGETS], axis=1)
        yield close(theory, exact, "the sigmoid, against the differential equation", rtol=1e-6)
    yield slope(etas, errors, 1.0, "largest error of the theory against η: slope on a log-log plot", within=0.1)
    stated = close(errors[-1], 0.013, "largest error of the theory at η = a₀ = 0.001", atol=1e-3)
    yield stated.given(depth == 2 and step_size == start == 1e-3, "two layers, η = 0.001, a₀ = 0.001")
    measured = times[np.argmax(strengths > _TARGETS / 2, axis=0)]
    predicted = np.array([_half_time(s, start, depth) for s in _TARGETS])
    yield close(measured, predicted, "half times of gradient descent", rtol=0.02, atol=2 * step_size)
    across = np.einsum("ik,tij,jl->tkl", u, run.products, v) * (1 - np.eye(4))
    yield close(across, 0.0, "modes stay apart: the product between them", atol=1e-9)
    tiny = [1e-6 * rng.normal(size=(4, 4)) for _ in range(2)]
    free = deep_linear.descend_layers(tiny, np.eye(4), target, step_size=0.02, num_steps=1500)
    order = np.argmax(np.einsum("ik,tij,jk->tk", u, free.products, v) > _TARGETS / 2, axis=0)
    yield at_least(np.diff(order), 1, "two layers, random start of scale 1e-6: steps from mode to mode")
    saddles = np.array([np.sum(_TARGETS[r:] ** 2) / 2 for r in range(5)])
    rests = (np.abs(free.losses[:, None] - saddles) < 0.01 * free.losses[0]).sum(0)
    yield at_least(rests, 5, "steps within 1% of the loss of each saddle on the way")
    title = f"Modes 4, 3, 2, 1 at half strength at {', '.join(f'{t:.3f}' for t in measured)}; error {errors[-1]:.3f}"
    lines, points = ({f"s = {s:g}": (times, of[:, k]) for k, s in enumerate(_TARGETS)} for of in (theory, strengths))
    along = "time (step size × steps)"
    yield figure.curves(title, along, "singular value of the product", lines=lines, points=points)


def _half_time(target, start, depth):
    """From ∫ da / (L a^{2−2/L} (s − a)), in closed form for two layers."""
    if depth == 2:
        return mode_half_time(float(target), start)
    from scipy.integrate import quad

    rate = lambda log: np.exp(log) / (depth * np.exp(log) ** (2 - 2 / depth) * (target - np.exp(log)))  # noqa: E731
    return quad(rate, np.log(start), np.log(target / 2))[0]
