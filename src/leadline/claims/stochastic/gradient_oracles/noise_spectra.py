"""The spectrum of gradient noise over training, and what an ensemble of runs says of its expectation."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Int, Real, at_most, close, erratum, frequency, instrument, mean
from leadline.presentation import figure
from leadline.stochastic.noise.noise_spectrum import noise_of_gram
from leadline.stochastic.problems.finite_sum import six_points


def digit_loss(params, x, label):
    """Cross-entropy of a network with one tanh layer, of one image."""
    scores = params["readout"] @ jnp.tanh(params["weights"] @ x) + params["bias"]
    return jax.nn.logsumexp(scores) - scores[label]


def _flat(gradients):
    return np.concatenate([np.asarray(gradients[name]).reshape(60, -1) for name in sorted(gradients)], axis=1)


@jax.jit
def _digit_gradients(params, x, labels):
    return jax.vmap(jax.grad(digit_loss), (None, 0, 0))(params, x, labels)


@instrument(sources=("penn",))
def gradient_noise_spectrum(
    key, width: Int(2, 12) = 4, num_steps: Int(10, 400, log=True) = 150, threshold: Real(1e-6, 1e-1, log=True) = 1e-3
):
    r"""Gradient noise spectrum and noise scale.

    The eigenvalues of C are found from the n × n Gram matrix of centred gradients, on any loss: tr C, effective rank,
    noise scale tr C/‖g‖². The rank is at most n − 1 whatever the network; low rank does not mean little noise.

    $$\mathrm{spec}^+(C) = \mathrm{spec}^+\!\left(\tfrac{1}{n} \bar G \bar G^T\right), \quad b_{\mathrm{crit}} =
    \frac{\mathrm{tr}\, C}{\|g\|^2}$$

    Check: A 64-width-10 network on 60 digits, by full gradient descent with step size 0.5; 4000 pairs of batches of 8.
    """
    rng = data.generator(key)
    images, labels = data.digits()
    rows = rng.choice(len(images), 60, replace=False)
    x, y = jnp.asarray(images[rows].reshape(60, 64)), jnp.asarray(labels[rows])
    params = {
        "weights": jnp.asarray(rng.standard_normal((width, 64)) / 8),
        "readout": jnp.asarray(rng.standard_normal((10, width)) / np.sqrt(width)),
        "bias": jnp.zeros(10),
    }
    seen, kept = {}, sorted({0, num_steps // 5, num_steps})
    for t in range(num_steps + 1):
        if t in kept:
            seen[t] = stochastic.gradient_noise(digit_loss, params, x, y)
        each = _digit_gradients(params, x, y)
        if t == 0:
            first_gradients = _flat(each)
        if t < num_steps:
            params = {name: p - 0.5 * np.asarray(each[name]).mean(0) for name, p in params.items()}
    flat = _flat(each)
    noise, covariance = seen[num_steps], np.cov(flat.T, bias=True)
    dense = np.linalg.eigvalsh(covariance)[::-1]
    rank = min(59, flat.shape[1])
    yield close(noise.spectrum, dense[:rank], "eigenvalues of C: Gram matrix, against dense C", atol=1e-10 * dense[0])
    yield close(
        noise.trace.value, np.trace(covariance), "tr C, against the covariance matrix of all gradients", rtol=1e-10
    )
    yield close(
        noise.gradient_square.value, np.sum(flat.mean(0) ** 2), "‖g‖², against the mean of all gradients", rtol=1e-9
    )
    yield at_most(noise.count_above(threshold), rank, "eigenvalues above the threshold, against min(n − 1, p)")
    yield at_most(noise.effective_rank, rank, "effective rank, against min(n − 1, p)", rtol=1e-12)
    gram, covered = first_gradients @ first_gradients.T, 0
    for _ in range(200):
        some = rng.choice(60, 30, replace=False)
        estimate = noise_of_gram(gram[np.ix_(some, some)], flat.shape[1], seen_share=0.5)
        covered += estimate.trace.holds(seen[0].trace.value)
    yield frequency(covered, 200, 0.9, "95 % intervals for tr C from half of the rows that hold it", side="at least")
    along = (flat - flat.mean(0)) @ rng.standard_normal(flat.shape[1])
    first, second = along[rng.integers(60, size=(2, 4000, 8))].mean(-1)
    product, one = first * second, np.mean(along**2) / 8
    yield mean(product, 0.0, "covariance of two independent batches")
    own = mean(first**2, one, "variance of a batch, against uᵀCu/b")
    yield own
    wrong = mean(product, one, "covariance of two independent batches, as the noise covariance uᵀCu/b")
    yield erratum(wrong, of=own, by="penn", prints="the covariance between two mini-batches, for that of one")
    order = np.arange(1, rank + 1)
    title = f"Noise scale {seen[0].noise_scale.value:.3g} → {noise.noise_scale.value:.3g} after {num_steps} steps"
    points = {f"step {t}: noise scale {s.noise_scale.value:.3g}": (order, s.spectrum[:rank]) for t, s in seen.items()}
    rules = {f"{threshold:.1g} of the largest": ("y", threshold * noise.spectrum[0])}
    yield figure.curves(title, "rank of the eigenvalue", "eigenvalue of C", points=points, rules=rules, log="y")


@instrument(sources=("penn",))
def convergence_in_expectation(key, runs: Int(100, 400) = 200, eta: Real(0.1, 0.9) = 0.5, start: Real(0.5, 3.0) = 2.0):
    r"""Confidence bands for convergence in expectation.

    Rates of SGD are about the mean over runs. An ensemble of N seeds gives that mean with a confidence band, which
    covers the exact curve as often as it claims, and quantiles that show how far single runs are from it.

    $$\bar\ell_t = \frac{1}{N}\sum_s \ell(w_s^t) \pm t_{N-1}\, \frac{\hat s_t}{\sqrt N}$$

    Check: 200 ensembles of N runs of 30 steps on the six-point problem with step size η/Lₘₐₓ; bands at five times.
    """
    six = six_points()
    moments = stochastic.LeastSquaresMoments(*(np.asarray(a) for a in six.arrays))
    step, ensembles = eta / 1.44, 200
    origin = moments.minimiser + start
    exact = moments.path(origin, np.full(30, step))
    rows = stochastic.index_stream(6, 30, key=key, seeds=ensembles * runs)
    w = np.asarray(stochastic.sgd_runs(six, origin, step, rows))[..., 0].reshape(ensembles, runs, 31)
    gap = moments.hessian[0, 0] * (w - moments.minimiser[0]) ** 2 / 2
    gaps = {t: gap[..., t] for t in (1, 3, 8, 15, 30)}
    covered = []
    for t, values in gaps.items():
        band = stochastic.ensemble_band(values.T, confidence=0.95)
        covered.append(int(band.covers(np.full(ensembles, exact.gaps[t])).sum()))
    where = f"ensembles of {runs} whose 95 % band covers the exact mean, at five times"
    yield frequency(covered, ensembles, 0.92, f"{where}, at least 92 %", side="at least")
    yield frequency(covered, ensembles, 0.98, f"{where}, at most 98 %", side="at most")
    for t, values in gaps.items():
        yield mean(values, exact.gaps[t], f"mean gap of all {ensembles * runs} runs at t = {t}, against the exact one")
    fan = gap[0]
    band, times = stochastic.ensemble_band(fan), np.arange(31)
    title = f"The mean of {runs} runs follows the exact curve to {exact.gaps[-1]:.3g}; single runs are far from it"
    lines = {"exact mean": (times, exact.gaps)}
    points = {f"mean of {runs} runs, 95 %": (times, band.mean, band.low, band.high)}
    bands = {"80 % of the runs": (times, band.quantiles[0], band.quantiles[2])}
    yield figure.curves(title, "step", "gap", lines=lines, points=points, bands=bands, log="y")
