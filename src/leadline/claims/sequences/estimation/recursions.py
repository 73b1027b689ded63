"""One step of the Kalman filter by completing the square, and where its variances settle."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.claims.scenarios.sequences.tracked_states import scalar_model
from leadline.evidence import Int, Real, at_most, claim, close, exactly, reference
from leadline.presentation import figure


@claim(sources=("penn",), shows=("sequences.KalmanFilter", "sequences.point_mass_filter"))
def kalman_one_step_update(
    key,
    a: Real(-1.05, 1.05) = 0.95,
    Q: Real(0.05, 2.0, log=True) = 0.1,
    R: Real(0.05, 5.0, log=True) = 1.0,
    points: Int(5, 50) = 20,
):
    r"""One Kalman step is Bayes' rule.

    The prior N(h; aμ, P) times the likelihood N(x; h, R) is, up to a factor that does not depend on h, the normal
    density with the filter's mean and variance. So a filter that is optimal at t is optimal at t + 1.

    $$\frac{(h - a\mu)^2}{P} + \frac{(x - h)^2}{R} = \frac{(h - m)^2}{v} + \frac{(x - a\mu)^2}{P + R}, \qquad m = a\mu +
    k\,(x - a\mu), \; v = \frac{PR}{P + R}$$

    Assumes: P, R > 0.

    Check: The identity in exact rationals at random points, with the filter's own formulas; the library's step against
    these rationals, and against a posterior on a grid that knows densities only.
    """
    rng = data.generator(key)
    gaps, steps, exact = [], [], []
    rational = [Fraction(round(value * 64) or 1, 64) for value in (a, Q, R)]
    ours = scalar_model(*(float(part) for part in rational))
    cell = sequences.KalmanFilter(ours)
    for _ in range(points):
        mu, v, x, h = (Fraction(int(n), 16) for n in rng.integers(-64, 65, 4))
        v = abs(v) + Fraction(1, 16)
        alpha, q, r = rational
        P = alpha**2 * v + q
        k = P / (P + r)
        m, after = alpha * mu + k * (x - alpha * mu), (1 - k) * P
        left = (h - alpha * mu) ** 2 / P + (x - h) ** 2 / r
        gaps.append(int(left != (h - m) ** 2 / after + (x - alpha * mu) ** 2 / (P + r)))
        belief = cell.init()._replace(mean=jnp.array([float(mu)]), covariance=jnp.array([[float(v)]]))
        state = cell.update(belief, jnp.array([float(x)]))
        steps.append((float(state.mean[0]), float(state.covariance[0, 0])))
        exact.append((float(m), float(after)))
    yield exactly(gaps, 0, "exact rationals: points at which both sides differ")
    yield close(np.array(steps), np.array(exact), "library's mean and variance, against rationals", atol=1e-12)
    x = sequences.simulate(ours, 3, key=key).observations[0]
    found = sequences.kalman_filter(ours, x)
    spread = float(jnp.sqrt(found.covariances.min()))
    narrowest = min(spread, *(float(part) ** 0.5 for part in rational[1:]))  # of all densities that meet the grid
    reach = 9 * float(jnp.sqrt(ours.covariance[0, 0] + ours.Q[0, 0])) + float(jnp.abs(x).max())
    grid = np.linspace(-reach, reach, int(np.ceil(4 * reach / narrowest)) | 1)
    masses = sequences.point_mass_filter(ours, x, grid)
    what = "posterior on a grid of three observations: means, against the filter"
    yield close(np.asarray(masses.means), np.asarray(found.means[:, 0]), what, atol=1e-8)
    what = "posterior on a grid of three observations: variances, against the filter"
    yield close(np.asarray(masses.variances), np.asarray(found.covariances[:, 0, 0]), what, atol=1e-8)
    shown = np.linspace(float(found.means[0, 0]) - 5 * spread, float(found.means[0, 0]) + 5 * spread, 200)
    centre, variance = float(found.means[0, 0]), float(found.covariances[0, 0, 0])
    curve = np.exp(-((shown - centre) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    inside = (grid >= shown[0]) & (grid <= shown[-1])
    yield figure.curves(
        "The posterior that a grid finds is the filter's normal density",
        "state h",
        "density after one observation",
        lines={"N(m, v) of the filter": (shown, curve)},
        points={"prior times likelihood, on a grid": (grid[inside], np.asarray(masses.densities[0])[inside])},
    )


@claim(sources=("penn",), shows=("sequences.riccati_path", "sequences.steady_state"))
def riccati_steady_state(
    key, a: Real(-1.05, 1.05) = 0.95, Q: Real(0.01, 2.0, log=True) = 0.1, R: Real(0.05, 10.0, log=True) = 1.0
):
    r"""The filter's variance settles.

    The predicted variance converges from any start to the positive fixed point of its recursion, even where the state
    itself grows. The distance from it shrinks by the factor (a(1 − k*))² a step in the end.

    $$P = \frac{a^2 P R}{P + R} + Q \;\Longrightarrow\; P^* = \frac{c + \sqrt{c^2 + 4QR}}{2}, \; c = Q + (a^2 - 1) R;
    \qquad \frac{P_{t+1} - P^*}{P_t - P^*} = \frac{a^2 R^2}{(P_t + R)(P^* + R)} \to (a(1 - k^*))^2$$

    Assumes: Q > 0 and R > 0.

    Check: Iterates of the library from four starts and its solver of the Riccati equation, against the closed form;
    ratios of distances at every step; a vector model, whose iterates must end at the solver's matrix.
    """
    ours = sequences.linear_gaussian(a, 1.0, Q, R, 0.0, 1.0)
    c = Q + (a**2 - 1) * R
    # The root that loses no digits: P* > 0 is one of two whose product is −QR.
    big = (abs(c) + np.sqrt(c**2 + 4 * Q * R)) / 2
    limit = big if c >= 0 else Q * R / big
    k = limit / (limit + R)
    rate = (a * (1 - k)) ** 2
    num_steps = int(min(20_000, 60 + 2 * np.log(1e-16) / np.log(max(rate, 1e-3))))
    starts = [0.0, Q, 10 * limit, 1000.0]
    paths = [np.asarray(sequences.riccati_path(ours, jnp.array([[s]]), num_steps))[:, 0, 0] for s in starts]
    yield close([path[-1] for path in paths], limit, "iterates from four starts, against the closed form", rtol=1e-12)
    steady = sequences.steady_state(ours)
    found = [steady.predicted.item(), steady.gain.item(), steady.posterior.item(), steady.contraction]
    what = "solver: P*, gain, posterior variance, contraction, against closed forms"
    yield close(found, [limit, k, limit * (1 - k), rate], what, rtol=1e-9)
    for start, path in zip(starts[:3], paths, strict=False):
        away = path - limit
        clear = np.abs(away[:-1]) > 1e-6 * limit  # below, rounding is more than 10⁻⁹ of what is left
        if clear.any():
            ratios = away[1:][clear] / away[:-1][clear]
            predicted = a**2 * R**2 / ((path[:-1][clear] + R) * (limit + R))
            what = f"from P = {start:.3g}: ratios of distances, against a²R²/((P + R)(P* + R))"
            yield close(ratios, predicted, what, atol=1e-8)
    turn = 0.99 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    vector = sequences.linear_gaussian(turn, np.array([[1.0, 0.0]]), Q * np.eye(2), R)
    last = np.asarray(sequences.riccati_path(vector, jnp.zeros((2, 2)), 4000))[-1]
    whole = sequences.steady_state(vector).predicted
    yield close(last, whole, "a rotating state: iterates, against the solver", atol=1e-9 * float(np.abs(whole).max()))
    known = [sequences.steady_state(scalar_model(b, 0.1, 1.0)) for b in (0.95, 1.0, 1.05)]
    yield reference(
        [s.predicted.item() for s in known], [0.317480, 0.370156, 0.433292], "P* for a = 0.95, 1, 1.05", digits=6
    )
    said = [known[0].gain.item(), known[0].contraction]
    yield reference(said, [0.240975, 0.519947], "a = 0.95: gain and contraction", digits=6)
    yield at_most(rate, 1.0, "contraction (a(1 − k*))² below 1", strict=True)
    yield _picture(paths, starts, limit, rate)


def _picture(paths, starts, limit, rate):
    shown = int(min(len(paths[0]) - 1, max(10, np.log(1e-8) / np.log(max(rate, 1e-3)))))
    t = np.arange(shown + 1)
    values = figure.curves(
        "from several starts",
        "step",
        "predicted variance P",
        points={f"P₀ = {s:.3g}": (t, path[: shown + 1]) for s, path in zip(starts[:3], paths, strict=False)},
        rules={"P*": ("y", limit)},
    )
    away = np.abs(paths[0][: shown + 1] - limit)
    rates = figure.curves(
        "distance from P*, start 0",
        "step",
        "|P − P*|",
        lines={"predicted slope": (t, away[-1] * rate ** (t - float(shown)))},
        points={"iterates": (t, away)},
        log="y",
    )
    title = f"The variance settles at {limit:.4f}; a step leaves {rate:.3f} of the distance"
    return figure.beside(title, values, rates)
