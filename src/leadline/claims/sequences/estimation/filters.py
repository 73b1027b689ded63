"""The Kalman filter against conditioning on the whole past at once, and the whiteness of its innovations."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from leadline import data, sequences
from leadline.claims.scenarios.sequences.tracked_states import scalar_model
from leadline.evidence import Int, Real, at_most, close, distributed_as, exactly, method
from leadline.presentation import figure

SERIES, STEPS, LAGS = 200, 400, 10


@method(sources=("penn",), shows=("sequences.kalman_filter", "sequences.KalmanFilter", "sequences.ljung_box"))
def kalman_filter(
    key,
    a: Real(-1.05, 1.05) = 0.95,
    Q: Real(0.01, 2.0, log=True) = 0.1,
    R: Real(0.01, 10.0, log=True) = 1.0,
    length: Int(2, 40) = 20,
    missing: Real(0.0, 0.6) = 0.2,
):
    r"""The Kalman filter.

    The posterior of the state given the past is normal, and its mean and variance follow from those one step before:
    predict, then move towards the observation by the gain. Variances and gains do not depend on the data. Without
    observation noise the gain is 1; without process noise and |a| < 1 it goes to 0.

    $$P = a^2 v_t + Q, \quad k = \frac{P}{P + R}, \quad \mu_{t+1} = a\mu_t + k\,(x_{t+1} - a\mu_t), \quad v_{t+1} =
    (1 - k)^2 P + k^2 R = (1 - k) P$$

    Assumes: linear dynamics and observations; normal noises and prior; all parameters known.

    Check: As a loop and as an associative scan, against conditioning the joint normal vector on each prefix, of a
    scalar and of a vector model in which a share `missing` of the numbers is not observed; likelihoods; p-values of
    the Ljung-Box test over 200 series, which must be uniform; single precision where R is small beside P.
    """
    ours = scalar_model(a, Q, R)
    x = sequences.simulate(ours, length, key=key).observations[0]
    yield from _against_batch(ours, x, "scalar")
    rng = data.generator(key)
    vector = _vector_model(rng)
    y = np.array(sequences.simulate(vector, length, key=key).observations[0])
    y[rng.random(y.shape) < missing] = np.nan
    yield from _against_batch(vector, y, "vector with missing numbers")
    found, other = (sequences.kalman_filter(ours, xs) for xs in (x, jnp.ones_like(x)))
    yield exactly(np.asarray(found.gains), np.asarray(other.gains), "gains on two different series")
    exact = sequences.kalman_filter(scalar_model(a, Q, 0.0), x)
    yield exactly(np.asarray(exact.gains), 1.0, "gains without observation noise")
    still = sequences.kalman_filter(sequences.linear_gaussian(a, 1.0, 0.0, R, 0.0, 1.0), x)
    bound = np.abs(a) ** (2 * np.arange(1, length + 1)) / R
    what = "gains without process noise from a variance of 1, against a²ᵗ/R"
    yield at_most(np.asarray(still.gains[:, 0, 0]), bound, what, rtol=1e-12)
    yield from _white(ours, key)
    yield from _single_precision()
    yield _picture(ours, x, found)


def _vector_model(rng):
    A = rng.normal(size=(3, 3))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    root = rng.normal(size=(3, 3))
    return sequences.linear_gaussian(A, rng.normal(size=(2, 3)), root @ root.T / 3, np.array([[0.5, 0.2], [0.2, 0.3]]))


def _against_batch(ours, xs, name):
    """Means, variances and likelihood of both forms, against conditioning on each prefix: the future is missing."""
    xs = np.asarray(xs)
    joint = sequences.joint_distribution(ours, len(xs))
    prefixes = [joint.given(np.where(np.arange(len(xs))[:, None] <= t, xs, np.nan)) for t in range(len(xs))]
    means = np.stack([c.means[t] for t, c in enumerate(prefixes)])
    covariances = np.stack([c.covariances[t] for t, c in enumerate(prefixes)])
    size = np.sqrt(joint.state_covariance.max())  # what conditioning subtracts from, and so rounds to
    for form in ("loop", "scan"):
        found = sequences.kalman_filter(ours, xs, method=form)
        gap = np.abs(np.asarray(found.means) - means).max() / (size + np.abs(means).max())
        what = f"{name}, {form}: means against batch conditioning, relative"
        yield close(gap, 0.0, what, atol=1e-10)
        gap = np.abs(np.asarray(found.covariances) - covariances).max() / size**2
        yield close(gap, 0.0, f"{name}, {form}: covariances against batch conditioning, relative", atol=1e-10)
        what = f"{name}, {form}: log-likelihood, against the joint density"
        yield close(float(found.log_likelihood), prefixes[-1].log_likelihood, what, rtol=1e-10, atol=1e-10)


def _white(ours, key):
    """Innovations of many series: normal of variance P + R, and p-values of the Ljung-Box test uniform."""
    drawn = sequences.simulate(ours, STEPS, paths=SERIES, key=jax.random.fold_in(key, 1))
    found = jax.vmap(lambda xs: sequences.kalman_filter(ours, xs))(drawn.observations)
    scaled = np.asarray(found.innovations / jnp.sqrt(found.innovation_covariances[..., 0]))[..., 0]
    chosen = scaled[:, :: STEPS // 20].ravel()
    yield distributed_as(chosen, stats.norm(), "innovations over √(P + R), against N(0, 1)")
    p_values = np.array([sequences.ljung_box(series, LAGS).p_value for series in scaled])
    yield distributed_as(p_values, stats.uniform(), f"p-values of whiteness at {LAGS} lags over {SERIES} series")


def _single_precision():
    """v = PR/(P + R) where R is a millionth of P: Joseph's form keeps it in float32, (1 − k)P does not."""
    P, R = 1.0, 1e-6
    one = jnp.float32
    ours = sequences.linear_gaussian(one(0.0), one(1.0), one(P), one(R), one(0.0), one(1.0))
    found = sequences.kalman_filter(ours, jnp.zeros(1, one))
    exact = P * R / (P + R)
    eps = float(jnp.finfo(one).eps)
    plain = float(one(P) * (one(1.0) - found.gains[0, 0, 0]))
    error = abs(float(found.covariances[0, 0, 0]) / exact - 1)
    what = "float32, R = P/10⁶: relative error of the variance in Joseph's form, against eight roundings"
    yield at_most(error, 8 * eps, what)
    what = "float32, R = P/10⁶: the same error, against that of (1 − k)P"
    yield at_most(error, abs(plain / exact - 1), what, strict=True)


def _picture(ours, x, found):
    t = np.arange(1, len(x) + 1)
    long = sequences.simulate(ours, 2000, key=jax.random.key(0)).observations[0]
    rho = sequences.ljung_box(np.asarray(sequences.kalman_filter(ours, long).innovations[:, 0]), LAGS)
    band = 1.96 / np.sqrt(2000)
    lags = np.arange(1, LAGS + 1)
    gains = figure.curves(
        "gain and posterior variance",
        "step t",
        "value",
        lines={"gain k": (t, found.gains[:, 0, 0]), "variance v": (t, found.covariances[:, 0, 0])},
    )
    white = figure.curves(
        "autocorrelation of 2000 innovations",
        "lag",
        "correlation",
        bands={"95% of white noise": (lags, np.full(LAGS, -band), np.full(LAGS, band))},
        points={"innovations": (lags, rho.autocorrelations)},
    )
    return figure.beside("The gain settles, and what is left of the observations is white", gains, white)
