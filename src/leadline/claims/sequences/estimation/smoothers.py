"""The Kalman smoother: the best use of past and future."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import sequences
from leadline.claims.scenarios.sequences.tracked_states import SMOOTHED, scalar_model, trained_tracker
from leadline.evidence import Int, Real, at_most, close, mean, method, reference
from leadline.presentation import figure

UNITS, STEPS, PATHS = 16, 600, 2000


@method(sources=("penn",), shows=("sequences.kalman_smoother",), slow="about a minute the first time, then seconds")
def kalman_smoother(
    key,
    a: Real(-1.05, 1.05) = 0.9,
    Q: Real(0.01, 2.0, log=True) = 0.3,
    R: Real(0.01, 10.0, log=True) = 0.5,
    length: Int(2, 60) = 30,
):
    r"""The Kalman smoother.

    A backward pass over the filter gives the posterior of every state given all observations. Its variance is nowhere
    above the filter's, and equal to it at the end. It is what a bidirectional network can at best attain.

    $$C_t = \frac{a v_t}{P_{t+1}}, \qquad m_t = \mu_t + C_t\,(m_{t+1} - a\mu_t), \qquad s_t = v_t + C_t^2\,(s_{t+1} -
    P_{t+1})$$

    Assumes: linear dynamics and observations; normal noises and prior.

    Check: As a loop and as an associative scan, against conditioning the joint normal vector on all observations. A
    bidirectional GRU of 16 units, trained on fresh paths at a = 0.9, Q = 0.3, R = 0.5 whatever the parameters are, is
    judged by its error on 2000 others.
    """
    ours = scalar_model(a, Q, R)
    x = sequences.simulate(ours, length, key=key).observations[0]
    filtered = sequences.kalman_filter(ours, x)
    joint = sequences.joint_distribution(ours, length)
    exact = joint.given(np.asarray(x))
    for form in ("loop", "scan"):
        found = sequences.kalman_smoother(ours, x, method=form)
        scale = np.abs(exact.means).max() + np.sqrt(exact.covariances.max())
        what = f"{form}: smoothed means against batch conditioning, relative"
        yield close(np.asarray(found.means) / scale, exact.means / scale, what, atol=1e-10)
        what = f"{form}: smoothed variances against batch conditioning, relative"
        rounding = 64 * np.finfo(float).eps * joint.state_covariance.max()  # what conditioning subtracts from
        yield close(np.asarray(found.covariances), exact.covariances, what, rtol=1e-10, atol=rounding)
    s, v = np.asarray(found.covariances[:, 0, 0]), np.asarray(filtered.covariances[:, 0, 0])
    yield at_most(s, v, "smoothed variance at each step, against the filtered", rtol=1e-12)
    yield close(s[-1], v[-1], "smoothed and filtered variance at the end", rtol=1e-12)
    known = sequences.kalman_smoother(scalar_model(**SMOOTHED), jnp.zeros(30)).covariances[:, 0, 0]
    ratio = float((known / sequences.kalman_filter(scalar_model(**SMOOTHED), jnp.zeros(30)).covariances[:, 0, 0])[15])
    yield reference(ratio, 0.746, "a = 0.9, Q = 0.3, R = 0.5: smoothed over filtered variance in the middle", digits=3)
    yield from _bidirectional(key)
    t = np.arange(1, length + 1)
    centre, around = np.asarray(filtered.means[:, 0]), np.asarray(found.means[:, 0])
    bands = {
        "filtered": (t, centre - 2 * np.sqrt(v), centre + 2 * np.sqrt(v)),
        "smoothed": (t, around - 2 * np.sqrt(s), around + 2 * np.sqrt(s)),
    }
    middle = s[length // 2] / v[length // 2]
    title = f"Given the future too, the variance in the middle is {middle:.2f} of the filter's"
    lines = {"filtered": (t, centre), "smoothed": (t, around)}
    points = {"observations": (t, np.asarray(x)[:, 0])}
    yield figure.curves(title, "step t", "state, ± 2 deviations", lines=lines, bands=bands, points=points)


def _bidirectional(key):
    known = scalar_model(**SMOOTHED)
    net = trained_tracker("gru", UNITS, STEPS, both=True, **SMOOTHED)
    drawn = sequences.simulate(known, 100, paths=PATHS, key=jax.random.fold_in(key, 1))
    best = jax.vmap(lambda xs: sequences.kalman_smoother(known, xs, method="scan").means)(drawn.observations)
    floor = float(sequences.kalman_smoother(known, jnp.zeros(100)).covariances.mean())
    grade = sequences.grade_estimates(sequences.estimates_of(net, drawn.observations), drawn.states, best, floor)
    what = "bidirectional GRU: mean squared error of 2000 paths, against the smoother's exact variance"
    yield mean(grade.errors, floor, what, side="at least")
    yield mean(grade.best_errors, floor, "smoother: mean squared error of 2000 paths, against its variance")
    yield at_most(grade.ratio, 1.05, "bidirectional GRU: error over the smoother's").as_empirical()
