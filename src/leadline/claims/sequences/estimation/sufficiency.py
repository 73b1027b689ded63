"""Two numbers replace the past of a linear-Gaussian model; of other noise they do not, and of other states neither."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from leadline import sequences
from leadline.claims.scenarios.sequences.tracked_states import filter_floor, filtered_means, scalar_model
from leadline.evidence import Int, Real, at_least, at_most, claim, close, distributed_as, instrument, mean, smaller
from leadline.presentation import figure

PATHS, STEPS = 40, 500


@claim(sources=("penn",), shows=("sequences.point_mass_filter", "sequences.kalman_filter"))
def kalman_sufficient_statistic(
    key,
    a: Real(0.3, 0.98) = 0.95,
    Q: Real(0.05, 0.5, log=True) = 0.1,
    R: Real(0.5, 2.0, log=True) = 1.0,
    length: Int(3, 12) = 8,
):
    r"""The filter's mean and variance are sufficient.

    With linear dynamics and normal noise the next state depends on the whole past through the posterior mean and
    variance alone. Without normality it does not: the Kalman filter is then the best linear estimator, with the same
    error as under normal noise of that variance, and the exact posterior needs more than two moments and is better.

    $$p(h_{t+1} \mid x_{1:t}) = p(h_{t+1} \mid \mu_t, v_t) \quad \text{if } \xi, \nu \text{ are normal}$$

    Assumes: for sufficiency, normal noises.

    Check: Two histories with one posterior mean, by an exact filter on a grid; the F-test of the observations beside
    the mean, over 200 samples of states. Counter-check: noise of ±√0.96 with N(0, 0.04) around it (times √R), on 40
    paths of 500 steps.
    """
    ours = scalar_model(a, Q, R)
    yield from _same_mean(ours, length, key)
    yield from _regressions(ours, length, key)
    floor = filter_floor(ours, STEPS)
    reach = 7 * float(jnp.sqrt(ours.covariance[0, 0])) + 3
    narrow = 0.4 * min(0.2 * np.sqrt(R), np.sqrt(Q))
    grid = np.linspace(-reach, reach, int(2 * reach / narrow) | 1)
    errors, found = {}, {}
    for name in ("gaussian", "two points"):
        drawn = sequences.simulate(ours, STEPS, paths=PATHS, noise=name, key=jax.random.fold_in(key, 2))
        exact = jax.vmap(lambda xs, name=name: sequences.point_mass_filter(ours, xs, grid, noise=name))(
            drawn.observations
        )
        means, h = filtered_means(ours, drawn.observations)[..., 0], np.asarray(drawn.states)[..., 0]
        found[name] = h, exact, means
        errors[name] = {"Kalman": (means - h) ** 2, "exact": (np.asarray(exact.means) - h) ** 2}
        errors[name] = {filter_: squares.mean(1) for filter_, squares in errors[name].items()}
        what = f"{name} noise: error of the Kalman filter, against its exact variance under normal noise"
        yield mean(errors[name]["Kalman"], floor, what)
        what = f"{name} noise: error of the exact filter less its own variance, against 0"
        yield mean(errors[name]["exact"] - np.asarray(exact.variances).mean(1), 0.0, what)
    gap = np.abs(np.asarray(found["gaussian"][1].means) - found["gaussian"][2]).max()
    yield close(gap, 0.0, "gaussian noise: means of the exact filter less the Kalman filter's", atol=1e-6)
    both = errors["two points"]
    yield smaller(both["exact"], both["Kalman"], "two points: errors of the exact filter, against the Kalman filter's")
    ratio = both["exact"].mean() / both["Kalman"].mean()
    yield at_most(ratio, 0.6, "two points: exact over Kalman error").as_empirical()
    yield _bimodal(ours, *found["two points"], both)


def _same_mean(ours, length, key):
    """Histories that differ by a vector on which the posterior mean does not depend have one predictive density."""
    x = sequences.simulate(ours, length, key=key).observations[0]
    weights = jax.grad(lambda xs: sequences.kalman_filter(ours, xs).means[-1, 0])(x)[:, 0]
    shift = jax.random.normal(jax.random.fold_in(key, 1), (length,))
    shift = shift - weights * (weights @ shift) / (weights @ weights)
    other = x + shift[:, None]
    reach = 8 * float(jnp.sqrt(ours.covariance[0, 0])) + float(jnp.abs(other).max() + jnp.abs(x).max())
    grid = np.linspace(-reach, reach, int(6 * reach / min(1.0, float(jnp.sqrt(ours.Q[0, 0])))) | 1)
    one, two = (sequences.point_mass_filter(ours, xs, grid).densities[-1] for xs in (x, other))
    apart = float(jnp.abs(one - two).sum() * (grid[1] - grid[0]))
    yield at_most(apart, 1e-6, "two histories with one mean: L1 distance of exact posteriors")
    unlike = sequences.point_mass_filter(ours, x + weights[:, None], grid).densities[-1]
    apart = float(jnp.abs(one - unlike).sum() * (grid[1] - grid[0]))
    yield at_least(apart, 1e-6, "two histories with different means: the same distance", strict=True)


def _regressions(ours, length, key):
    """p-values of F = ((RSS of h on μ − RSS of h on x)/(t − 1))/(RSS/(n − t)): uniform if x adds nothing to μ."""
    samples, rows = 200, 100
    drawn = sequences.simulate(ours, length + 1, paths=samples * rows, key=jax.random.fold_in(key, 3))
    xs = np.asarray(drawn.observations)[:, :length, 0].reshape(samples, rows, length)
    after = np.asarray(drawn.states)[:, length, 0].reshape(samples, rows)
    weights = jax.grad(lambda xs: sequences.kalman_filter(ours, xs).means[-1, 0])(jnp.zeros((length, 1)))[:, 0]
    mu = (xs @ np.asarray(weights))[..., None]

    def left(columns):
        fitted = np.linalg.pinv(columns) @ after[..., None]
        return ((after - (columns @ fitted)[..., 0]) ** 2).sum(1)

    restricted, full = left(mu), left(xs)
    F = (restricted - full) / (length - 1) / (full / (rows - length))
    p_values = stats.f.sf(F, length - 1, rows - length)
    yield distributed_as(p_values, stats.uniform(), "next state: p-values of the observations beside the mean, uniform")


def _bimodal(ours, states, exact, means, both):
    """The step whose exact posterior is widest, and so least like a normal density."""
    path, at = np.unravel_index(np.argmax(np.asarray(exact.variances)[:, 100:]), (PATHS, STEPS - 100))
    at = int(at) + 100
    grid, density = np.asarray(exact.grid[path]), np.asarray(exact.densities[path, at])
    centre, variance = float(means[path, at]), sequences.steady_state(ours).posterior.item()
    normal = np.exp(-((grid - centre) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    shown = np.abs(grid - centre) < 5 * np.sqrt(variance)
    least, linear = both["exact"].mean(), both["Kalman"].mean()
    return figure.curves(
        f"Two-point noise: error {least:.3f} for the exact filter, {linear:.3f} for the Kalman filter",
        "state h",
        f"posterior density after {at + 1} observations",
        lines={"exact": (grid[shown], density[shown]), "Kalman filter": (grid[shown], normal[shown])},
        rules={"true state": ("x", float(states[path, at]))},
    )


@instrument(sources=("penn",), shows=("sequences.sufficiency_gap", "sequences.linear_state_gap"))
def sufficiency_gap(
    key,
    a: Real(0.3, 0.98) = 0.95,
    Q: Real(0.05, 1.0, log=True) = 0.1,
    R: Real(0.2, 3.0, log=True) = 1.0,
    length: Int(4, 40) = 30,
):
    r"""What a state has lost of the past.

    The sufficiency gap is the loss of the best probe of a state less that of the best predictor from the whole
    history. It is 0 for the Kalman filter's mean, positive for a state that keeps the last observations only, and it
    depends on the family of probes: a linear one cannot read what a network can.

    $$\mathrm{gap} = \min_{g}\, \mathbb{E}\,(g(s_t) - h_t)^2 - \mathbb{E}\,(\mathbb{E}[h_t \mid x_{1:t}] - h_t)^2$$

    Assumes: the best predictor is known; otherwise the gap is relative to the best known one.

    Check: Exact gaps of linear states from the joint distribution; probes fitted to 6000 samples of the cube of the
    filter's mean, which says as much as the mean itself.
    """
    ours = scalar_model(a, Q, R)
    weights = np.asarray(jax.grad(lambda xs: sequences.kalman_filter(ours, xs).means[-1, 0])(jnp.zeros((length, 1))))
    kalman = sequences.linear_state_gap(ours, weights[None])
    yield close(kalman.gap, 0.0, "Kalman filter's mean: exact gap", atol=1e-10)
    last = np.eye(length)[::-1]  # row m is the observation m steps ago
    windows = [sequences.linear_state_gap(ours, last[:m]) for m in range(1, length + 1)]
    gaps = np.array([w.gap for w in windows])
    V, v = float(ours.covariance[0, 0]), float(sequences.kalman_filter(ours, jnp.zeros(length)).covariances[-1, 0, 0])
    yield close(
        gaps[0], V * R / (V + R) - v, "last observation: exact gap, against VR/(V + R) − v", rtol=1e-9, atol=1e-12
    )
    yield at_least(gaps[0], 0.0, "last observation: exact gap above 0", strict=True)
    yield at_most(np.diff(gaps), 0.0, "one more observation kept: change of the gap", atol=1e-12)
    yield from _probes(ours, length, key)
    yield figure.curves(
        f"The last observation alone loses {gaps[0] / v:.0%} of the least error; the filter's mean loses nothing",
        "observations kept in the state",
        "gap in mean squared error",
        lines={"exact": (np.arange(1, length), gaps[:-1])},
        points={"Kalman mean, one number": ([1], [max(kalman.gap, 1e-14)])},
        log="y",
    )


def _probes(ours, length, key):
    drawn = sequences.simulate(ours, length, paths=6000, key=key)
    means = jax.vmap(lambda xs: sequences.kalman_filter(ours, xs, method="scan").means[-1])(drawn.observations)
    best, target = np.asarray(means), np.asarray(drawn.states)[:, -1]
    cubed = (best / best.std()) ** 3
    plain = sequences.sufficiency_gap(best, target, best, key=key)
    linear, network = (sequences.sufficiency_gap(cubed, target, best, probe=p, key=key) for p in ("linear", "mlp"))
    close_to_zero = plain.gap / (plain.standard_error or 1.0)
    yield at_most(abs(close_to_zero), 5.0, "filter's mean, linear probe: |gap| in standard errors")
    # Of a normal m, E[m m³]²/(E[m²] E[m⁶]) = 9/15: a line reads 0.6 of its variance V − v off the cube.
    exact = 0.4 * (float(ours.covariance[0, 0]) - sequences.linear_state_gap(ours, np.eye(length)).best)
    off = abs(linear.gap - exact) / linear.standard_error
    yield at_most(off, 5.0, "its cube, linear probe: gap less 0.4 (V − v), in standard errors")
    room = 5 * linear.standard_error
    yield at_most(network.gap, linear.gap, "its cube: gap of a network, against that of a linear probe", atol=room)
    room = 5 * float(np.hypot(network.standard_error, linear.standard_error / 2))
    what = "its cube: gap of a network, against half of a linear probe's, within 5 standard errors of the difference"
    yield at_most(network.gap, linear.gap / 2, what, atol=room).as_empirical()
