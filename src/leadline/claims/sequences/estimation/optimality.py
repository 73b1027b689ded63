"""The conditional mean has the least mean squared error of all estimators, on average and not path by path."""

import jax
import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.tracked_states import (
    REFERENCE,
    filter_floor,
    filtered_means,
    scalar_model,
    trained_tracker,
)
from leadline.evidence import Int, Real, at_least, at_most, claim, mean
from leadline.presentation import figure

UNITS, STEPS = 32, 1500
WINDOWS, DECAYS = range(1, 21), np.linspace(0.05, 0.95, 19)


@claim(
    sources=("penn",),
    shows=("sequences.kalman_filter", "sequences.grade_estimates"),
    slow="about a minute the first time, then seconds",
)
def conditional_mean_optimal(
    key,
    a: Real(-1.0, 1.0) = 0.95,
    Q: Real(0.02, 2.0, log=True) = 0.1,
    R: Real(0.05, 5.0, log=True) = 1.0,
    length: Int(20, 200) = 100,
    paths: Int(200, 4000) = 1000,
):
    r"""The conditional mean is optimal.

    Of all functions of the observations so far, the mean of the state given them has the least mean squared error, and
    that error is the expected posterior variance. It is so on average over states and observations: at a single step
    of a path others may be closer.

    $$\mathbb{E}\,(f(x_{1:t}) - h_t)^2 = \mathbb{E}\, v_t + \mathbb{E}\,(f(x_{1:t}) - \mathbb{E}[h_t \mid x_{1:t}])^2
    \ge \mathbb{E}\, v_t$$

    Assumes: finite variances; for the Kalman filter to be that mean, linear dynamics and normal noises.

    Check: Errors of several estimators over independent paths; windows and decays of averages are chosen on other
    paths. The GRU (32 units, 1500 steps) was trained at a = 0.95, Q = 0.1, R = 1 and is judged there, whatever the
    parameters are.
    """
    ours = scalar_model(a, Q, R)
    tuning = sequences.simulate(ours, length, paths=300, key=jax.random.fold_in(key, 1))
    drawn = sequences.simulate(ours, length, paths=paths, key=key)
    floor, best = filter_floor(ours, length), filtered_means(ours, drawn.observations)
    x = np.asarray(drawn.observations)[..., 0]
    other, truth = np.asarray(tuning.observations)[..., 0], np.asarray(tuning.states)[..., 0]
    window = min(WINDOWS, key=lambda w: np.mean((_average(other, w) - truth) ** 2))
    decay = min(DECAYS, key=lambda d: np.mean((_smoothed(other, d) - truth) ** 2))
    estimators = {
        "last observation": x,
        f"mean of the last {window}": _average(x, window),
        "exponential average": _smoothed(x, decay),
        "open loop": np.broadcast_to(float(ours.mean[0]) * a ** np.arange(1, length + 1), x.shape),
    }
    grades = {
        name: sequences.grade_estimates(said[..., None], drawn.states, best, floor)
        for name, said in {"Kalman filter": best[..., 0], **estimators}.items()
    }
    kalman = grades["Kalman filter"]
    yield mean(kalman.errors, floor, "Kalman filter: mean squared error, against the exact variance")
    for name in estimators:
        what = f"{'moving average' if 'mean' in name else name}: mean squared error, at least the exact variance"
        yield mean(grades[name].errors, floor, what, side="at least")
        extra = grades[name].errors - grades[name].best_errors
        what = f"{'moving average' if 'mean' in name else name}: error above the filter's, the mean squared distance"
        yield mean(extra, grades[name].excess, what)
    h = np.asarray(drawn.states)[..., 0]
    closer = np.mean(np.abs(x - h) < np.abs(best[..., 0] - h))
    yield at_least(closer, 0.0, "share of steps at which the last observation is closer than the filter", strict=True)
    network = _trained(key)
    known = filter_floor(scalar_model(**REFERENCE))
    yield mean(
        network.errors, known, "GRU at a = 0.95: mean squared error, at least the exact variance", side="at least"
    )
    yield at_most(network.ratio, 1.01, "GRU at a = 0.95: error over the Kalman filter's").as_empirical()
    errors = {name: grade.errors.mean() / floor for name, grade in grades.items()}
    errors["GRU (a = 0.95)"] = float(network.errors.mean()) / known
    yield figure.categories(
        f"Nothing is below the exact variance; the GRU is {network.ratio - 1:.2%} above it",
        "estimator",
        "mean squared error over the least possible",
        points={"measured": errors},
        rules={"exact floor": ("y", 1.0)},
    )


def _average(x, window):
    """The mean of the last observations, of those that there are."""
    total = np.cumsum(x, axis=1)
    before = np.concatenate([np.zeros((len(x), window)), total], axis=1)[:, : x.shape[1]]
    return (total - before) / np.minimum(np.arange(1, x.shape[1] + 1), window)


def _smoothed(x, decay):
    """e ← decay e + (1 − decay) x from 0."""
    said, state = np.zeros_like(x), np.zeros(len(x))
    for t in range(x.shape[1]):
        state = decay * state + (1 - decay) * x[:, t]
        said[:, t] = state
    return said


def _trained(key):
    known = scalar_model(**REFERENCE)
    net = trained_tracker("gru", UNITS, STEPS)
    drawn = sequences.simulate(known, 100, paths=2000, key=jax.random.fold_in(key, 2))
    said = sequences.estimates_of(net, drawn.observations)
    return sequences.grade_estimates(said, drawn.states, filtered_means(known, drawn.observations), filter_floor(known))
