"""The linear-Gaussian state-space model: its paths against its joint distribution."""

import jax
import numpy as np
from scipy import stats

from leadline import sequences
from leadline.claims.scenarios.sequences.tracked_states import scalar_model
from leadline.evidence import Int, OneOf, Real, close, distributed_as, exactly, mean, model
from leadline.presentation import figure

PARTS, PATHS = 5, 20_000


@model(sources=("penn",), shows=("sequences.linear_gaussian", "sequences.simulate", "sequences.joint_distribution"))
def linear_gaussian_ssm(
    key,
    a: Real(-1.05, 1.05) = 0.95,
    Q: Real(0.01, 2.0, log=True) = 0.1,
    R: Real(0.01, 10.0, log=True) = 1.0,
    length: Int(3, 200) = 200,
    noise: OneOf("gaussian", "uniform", "laplace", "two points") = "gaussian",
):
    r"""The linear-Gaussian state-space model.

    A hidden state moves linearly with normal noise and is seen through noise. All states and observations together are
    one normal vector. A prior of the first state must be given; for |a| < 1 the stationary one, N(0, Q/(1 − a²)), is
    there by itself, for |a| ≥ 1 there is none.

    $$h_{t+1} = a h_t + \xi_t,\; \xi_t \sim N(0, Q), \qquad x_t = h_t + \nu_t,\; \nu_t \sim N(0, R), \qquad
    \mathrm{Cov}(h_s, h_t) = \frac{Q\, a^{|s - t|}}{1 - a^2} \text{ if stationary}$$

    Assumes: noises independent of each other and of the past.

    Check: The library's joint covariance against sums of powers of a; 100,000 simulated paths against both, with
    observation noise of any distribution; a vector model, whose Mahalanobis distances must follow χ².
    """
    ours = scalar_model(a, Q, R)
    refused = 0
    try:
        sequences.linear_gaussian(a, 1.0, Q, R)
    except ValueError:
        refused = 1
    yield exactly(refused, int(abs(a) >= 1), "a model without a prior: refused, against |a| ≥ 1")
    joint = sequences.joint_distribution(ours, length)
    t = np.arange(1, length + 1)
    start = float(ours.covariance[0, 0])
    variance = np.array([a ** (2 * s) * start + Q * sum(a ** (2 * j) for j in range(s)) for s in t])
    early, late = np.minimum(t[:, None], t), np.maximum(t[:, None], t)
    law = np.sign(a) ** (late - early) * np.abs(a) ** (late - early) * variance[early - 1]
    yield close(joint.state_covariance / variance.max(), law / variance.max(), "covariances of states", atol=1e-12)
    settled = Q * np.abs(a) ** (late - early) * np.sign(a) ** (late - early) / (1 - a**2) if abs(a) < 1 else law
    scale = np.abs(settled).max()
    what = "covariances of states, against Q a^|s − t|/(1 − a²), over the largest"
    yield close(joint.state_covariance / scale, settled / scale, what, atol=1e-10).given(
        abs(a) < 1, "|a| < 1: otherwise there is no stationary distribution"
    )
    s, u = length // 3, 2 * length // 3
    products = []
    for part in range(PARTS):
        drawn = sequences.simulate(ours, length, paths=PATHS, noise=noise, key=jax.random.fold_in(key, part))
        h, x = np.asarray(drawn.states[..., 0]), np.asarray(drawn.observations[..., 0])
        products.append(np.stack([h[:, u] ** 2, h[:, s] * h[:, u], h[:, s] * x[:, u], x[:, u] ** 2, x[:, s] * x[:, u]]))
    found = np.concatenate(products, axis=1)
    hh, hx, xx = joint.state_covariance, joint.cross_covariance, joint.covariance
    named = {"Var(h)": hh[u, u], "Cov(h, h′)": hh[s, u], "Cov(h, x′)": hx[s, u], "Var(x)": xx[u, u]}
    named["Cov(x, x′)"] = xx[s, u]
    for (name, value), samples in zip(named.items(), found, strict=True):
        yield mean(samples, value, f"{name} at a third and two thirds of the time, over {PARTS * PATHS} paths")
    yield from _vector_form(key)
    yield _picture(ours, x[0], h[0], a)


def _vector_form(key):
    """A damped rotation seen in one coordinate: squared Mahalanobis distances of whole series are χ²."""
    turn = 0.95 * np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    rotating = sequences.linear_gaussian(turn, np.array([[1.0, 0.0]]), np.diag([0.2, 0.05]), 0.5)
    drawn = sequences.simulate(rotating, 12, paths=PATHS, key=jax.random.fold_in(key, 99))
    x = np.asarray(drawn.observations).reshape(PATHS, -1)
    joint = sequences.joint_distribution(rotating, 12)
    distances = (x * np.linalg.solve(joint.covariance, x.T).T).sum(1)
    yield distributed_as(distances, stats.chi2(12), "a rotating state of two numbers: Mahalanobis distances, χ² of 12")


def _picture(ours, x, h, a):
    found = sequences.kalman_filter(ours, x)
    t, centre = np.arange(1, len(x) + 1), np.asarray(found.means[:, 0])
    spread = 2 * np.sqrt(np.asarray(found.covariances[:, 0, 0]))
    inside = np.mean(np.abs(h - centre) <= spread)
    return figure.curves(
        f"The state stays within two deviations of its estimate at {inside:.0%} of the steps (a = {a:g})",
        "step t",
        "state and observations",
        lines={"estimate": (t, centre), "true state": (t, h)},
        bands={"estimate": (t, centre - spread, centre + spread)},
        points={"observations": (t, x)},
    )
