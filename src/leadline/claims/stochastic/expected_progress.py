"""One step of SGD in expectation: nearer to the minimiser, and when not; all by enumeration."""

from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.noisy_regression import regression_moments
from leadline.evidence import Range, at_most, claim, close, exactly, figure


@claim(
    "sgd-one-step-progress",
    says=(
        "A step of SGD changes the expected squared distance to w* by exactly −2η⟨w − w*, g⟩ + η²E‖gᵢ‖²: progress if "
        "and only if η is below 2⟨w − w*, g⟩/E‖gᵢ‖². That threshold shrinks to 0 at w*, unless every example is "
        "fitted there."
    ),
    formula=r"\|w - w^*\|^2 - E\|w^+ - w^*\|^2 = 2 \eta \langle w - w^*, g \rangle - \eta^2 E \|g_i\|^2",
    sources=("sheet",),
    assumes=("⟨w − w*, g⟩ > 0",),
)
def sgd_one_step_progress(
    key,
    samples: Annotated[int, Range(12, 200)] = 20,
    dim: Annotated[int, Range(1, 8)] = 3,
    distance: Annotated[float, Range(0.01, 10.0, log=True)] = 1.0,
    noise: Annotated[float, Range(0.1, 2.0)] = 0.5,
    share: Annotated[float, Range(0.01, 3.0)] = 0.6,
):
    """Least squares with and without noise in y; the step is `share` times the threshold at distance `distance`."""
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
        best = stochastic.progress_threshold(problem.minimiser + v, problem.minimiser, rows)
        eta = share * best

        def progress(eta, v=v, rows=rows):
            return v @ v - np.mean(np.sum((v - eta * rows) ** 2, axis=1))

        formula = 2 * eta * v @ rows.mean(axis=0) - eta**2 * np.mean(np.sum(rows**2, axis=1))
        scale = distance**2 + eta**2 * np.mean(np.sum(rows**2, axis=1))
        yield close(progress(eta), formula, f"expected progress by enumeration, {name}", atol=1e-12 * scale)
        yield close(progress(best), 0.0, f"expected progress at the threshold, {name}", atol=1e-12 * scale)
        yield exactly(
            [progress(f * best) > 0 for f in (0.01, 0.5, 0.99, 1.01, 2.0)],
            [True, True, True, False, False],
            f"progress at 0.01, 0.5, 0.99, 1.01, 2 times the threshold, {name}",
        )
        thresholds[name] = np.array([
            stochastic.progress_threshold(d * direction, np.zeros(dim), gradients(d * direction)) for d in distances
        ])  # fmt: skip
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
    yield figure.beside(
        f"The largest useful step falls to {thresholds['noisy'][0]:.2g} near w* under noise, and stays {fitted[0]:.2g} "
        "when every example is fitted",
        figure.curves(
            "Expected progress, as a share of the squared distance",
            x="step η",
            y="progress / ‖w − w*‖²",
            lines={name: (x, np.where(y > -1, y, np.nan)) for name, (x, y) in shown.items()},
        ),
        figure.curves(
            "Threshold on a straight way to w*",
            x="distance to w*",
            y="largest useful step",
            lines={name: (distances, values) for name, values in thresholds.items()},
            log="xy",
        ),
    )


@claim(
    "sgd-not-monotone",
    says=(
        "A single step of SGD may raise the loss. For the losses (w ∓ 1)²/2 the share of steps that do is 0 for |w| "
        "> 1, exactly one half for η/(2 − η) < |w| < 1, and 1 below: near w* every step goes up."
    ),
    formula=r"P[l(w^+) > l(w)] = 0,\; \tfrac12,\; 1",
    sources=("penn",),
    assumes=("0 < η < 1",),
)
def sgd_not_monotone(
    key,
    step: Annotated[float, Range(0.02, 0.95)] = 0.3,
    samples: Annotated[int, Range(3, 100)] = 12,
):
    """Shares by enumeration, for two parabolas and for least squares on random data with η·max x² = `step`."""
    rng = data.generator(key)
    edge = step / (2 - step)
    w = np.concatenate([
        rng.uniform(1.0, 3.0, 50), rng.uniform(edge, 1.0, 50), rng.uniform(0, edge, 50)
    ]) * rng.choice([-1, 1], 150)  # fmt: skip
    size = np.abs(w)
    clear = (np.abs(size - 1) > 1e-9) & (np.abs(size - edge) > 1e-9)  # not on an edge, where rounding would decide
    after = w[:, None] - step * (w[:, None] - np.array([1.0, -1.0]))
    share = np.mean(np.abs(after) > size[:, None], axis=1)
    predicted = np.where(size > 1, 0.0, np.where(size > edge, 0.5, 1.0))
    yield exactly(share[clear], predicted[clear], "share of increasing steps at 150 points, two parabolas")

    x, y = rng.uniform(0.5, 1.5, samples), rng.normal(size=samples)
    best = x @ y / (x @ x)
    eta = step / np.max(x**2)
    zone = np.max(np.abs(y / x - best))

    def share_at(v):
        moved = v[:, None] - eta * x * (x * v[:, None] - (y - best * x))
        return np.mean(np.abs(moved) > np.abs(v)[:, None], axis=1)

    far = zone * np.array([1.01, 2.0, 10.0, -1.01, -2.0, -10.0])
    yield exactly(share_at(far), np.zeros(6), "random data: share outside the zone of the single minimisers")
    yield exactly(share_at(np.zeros(1)), [1.0], "random data: share at w*")
    down = far - eta * np.mean(x * (x * far[:, None] - (y - best * x)), axis=1)
    yield at_most(np.abs(down), np.abs(far), "gradient descent from the same points: distance to w*")
    line = np.linspace(0, 2, 801)[1:]
    yield figure.curves(
        f"Far from w* no step raises the loss, inside |w| < 1 half of them do, and inside {edge:.2g} all of them",
        x="distance to w*, in units of the farthest single minimiser",
        y="share of steps that raise the loss",
        lines={"two parabolas": (line, np.where(line > 1, 0.0, np.where(line > edge, 0.5, 1.0)))},
        points={
            "two parabolas": (size[clear], share[clear]),
            "least squares on random data": (line[::20], share_at(zone * line[::20])),
        },
    )
