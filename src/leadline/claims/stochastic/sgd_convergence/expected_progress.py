"""One step of SGD in expectation: nearer to the minimiser, and when not; all by enumeration."""

import numpy as np

from leadline import data
from leadline.claims.scenarios.stochastic.noisy_regression import regression_moments
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly
from leadline.presentation import figure
from leadline.stochastic.sgd_bounds import progress_threshold


@claim(sources=("sheet",))
def sgd_one_step_progress(
    key,
    samples: Int(12, 200) = 20,
    dim: Int(1, 8) = 3,
    distance: Real(0.01, 10.0, log=True) = 1.0,
    noise: Real(0.1, 2.0) = 0.5,
    share: Real(0.01, 3.0) = 0.6,
):
    r"""One-step progress threshold of SGD.

    A step of SGD changes the expected squared distance to w* by exactly −2η⟨w − w*, g⟩ + η²E‖gᵢ‖²: there is progress
    if and only if η is below 2⟨w − w*, g⟩/E‖gᵢ‖². That threshold shrinks to 0 at w*, unless every example is fitted
    there.

    $$\|w - w^*\|^2 - E\|w^+ - w^*\|^2 = 2 \eta \langle w - w^*, g \rangle - \eta^2 E \|g_i\|^2$$

    Assumes: ⟨w − w*, g⟩ > 0.

    Check: Least squares with and without noise in y; the step size is `share` times the threshold at `distance`.
    """
    rng = data.generator(key)
    direction = rng.normal(size=dim)
    direction /= np.linalg.norm(direction)
    distances = np.geomspace(1e-3, 10.0, 25)
    thresholds, shown = {}, {}
    for name, level in (("noisy", noise), ("interpolated", 0.0)):
        problem = regression_moments(rng, samples, dim, level)

        def gradients(v, problem=problem):
            return problem.x * (problem.x @ v - problem.residuals)[:, None]

        v = distance * direction
        rows = gradients(v)
        best = progress_threshold(problem.minimiser + v, problem.minimiser, rows)
        eta = share * best

        def progress(eta, v=v, rows=rows):
            return v @ v - np.mean(np.sum((v - eta * rows) ** 2, axis=1))

        formula = 2 * eta * v @ rows.mean(axis=0) - eta**2 * np.mean(np.sum(rows**2, axis=1))
        scale = distance**2 + eta**2 * np.mean(np.sum(rows**2, axis=1))
        yield close(progress(eta), formula, f"expected progress by enumeration, {name}", atol=1e-12 * scale)
        yield close(progress(best), 0.0, f"expected progress at the threshold, {name}", atol=1e-12 * scale)
        gains = [progress(f * best) * (1 if f < 1 else -1) for f in (0.01, 0.5, 0.99, 1.01, 2.0)]
        what = f"progress at 0.01, 0.5, 0.99, loss of it at 1.01, 2 times the threshold, {name}"
        yield at_least(gains, 0.0, what, strict=True)
        ways = [(d * direction, gradients(d * direction)) for d in distances]
        thresholds[name] = np.array([progress_threshold(v, np.zeros(dim), rows) for v, rows in ways])
        if name == "noisy":
            etas = np.linspace(0, 1.5 * best, 60)
            for label, d in (("at this distance", distance), ("ten times nearer", distance / 10)):
                near = gradients(d * direction)
                gains = [d**2 - np.mean(np.sum((d * direction - e * near) ** 2, axis=1)) for e in etas]
                shown[label] = (etas, np.array(gains) / d**2)
            noise_at_best = np.mean(np.sum(gradients(np.zeros(dim)) ** 2, axis=1))
            ratio = thresholds[name][0] * noise_at_best / (2 * 1e-6 * direction @ problem.hessian @ direction)
            yield close(ratio, 1.0, "threshold at 10⁻³ from w*, over 2vᵀHv/E‖gᵢ(w*)‖²", rtol=0.05 / noise)
    fitted = thresholds["interpolated"]
    yield close(fitted, fitted[-1], "interpolated: threshold along the way to w*, against that far away", rtol=1e-6)
    lines = {name: (x, np.where(y > -1, y, np.nan)) for name, (x, y) in shown.items()}
    title = "Expected progress, as a share of the squared distance"
    gain = figure.curves(title, "step size η", "progress / ‖w − w*‖²", lines=lines)
    lines = {name: (distances, values) for name, values in thresholds.items()}
    title = "Threshold on a straight way to w*"
    way = figure.curves(title, "distance to w*", "largest useful step size", lines=lines, log="xy")
    least = thresholds["noisy"][0]
    title = f"The largest useful step size falls to {least:.2g} near w*; without noise it stays {fitted[0]:.2g}"
    yield figure.beside(title, gain, way)


@claim(sources=("penn",))
def sgd_not_monotone(key, step_size: Real(0.02, 0.95) = 0.3, samples: Int(3, 100) = 12):
    r"""SGD is not a descent method.

    A single step of SGD may raise the loss. For the losses (w ∓ 1)²/2 the share of steps that do is 0 for |w| > 1,
    exactly one half for η/(2 − η) < |w| < 1, and 1 below: near w* every step goes up.

    $$P[l(w^+) > l(w)] = 0,\; \tfrac12,\; 1$$

    Assumes: 0 < η < 1.

    Check: Enumeration for two parabolas, and for least squares on random data with η · max x² = `step_size`.
    """
    rng = data.generator(key)
    edge = step_size / (2 - step_size)
    ranges = ((1.0, 3.0), (edge, 1.0), (0, edge))
    w = np.concatenate([rng.uniform(*ends, 50) for ends in ranges]) * rng.choice([-1, 1], 150)
    size = np.abs(w)
    clear = (np.abs(size - 1) > 1e-9) & (np.abs(size - edge) > 1e-9)  # not on an edge, where rounding would decide
    after = w[:, None] - step_size * (w[:, None] - np.array([1.0, -1.0]))
    share = np.mean(np.abs(after) > size[:, None], axis=1)
    predicted = np.where(size > 1, 0.0, np.where(size > edge, 0.5, 1.0))
    yield exactly(share[clear], predicted[clear], "share of increasing steps at 150 points, two parabolas")
    x, y = rng.uniform(0.5, 1.5, samples), rng.normal(size=samples)
    best = x @ y / (x @ x)
    eta = step_size / np.max(x**2)
    zone = np.max(np.abs(y / x - best))

    def share_at(v):
        moved = v[:, None] - eta * x * (x * v[:, None] - (y - best * x))
        return np.mean(np.abs(moved) > np.abs(v)[:, None], axis=1)

    far = zone * np.array([1.01, 2.0, 10.0, -1.01, -2.0, -10.0])
    what = "random data: share of increasing steps"
    yield exactly(share_at(far), np.zeros(6), f"{what} outside the zone of the single minimisers")
    yield exactly(share_at(np.zeros(1)), [1.0], f"{what} at w*")
    down = far - eta * np.mean(x * (x * far[:, None] - (y - best * x)), axis=1)
    yield at_most(np.abs(down), np.abs(far), "distance to w* after a step of gradient descent, against before")
    line = np.linspace(0, 2, 801)[1:]
    title = f"Far from w* no step raises the loss, inside |w| < 1 half of them do, and inside {edge:.2g} all of them"
    across = "distance to w*, in units of the farthest single minimiser"
    lines = {"two parabolas": (line, np.where(line > 1, 0.0, np.where(line > edge, 0.5, 1.0)))}
    points = {"two parabolas": (size[clear], share[clear]), "random data": (line[::20], share_at(zone * line[::20]))}
    yield figure.curves(title, across, "share of steps that raise the loss", lines=lines, points=points)
