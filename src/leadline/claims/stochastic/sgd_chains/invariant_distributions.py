"""Where SGD with a constant step settles: Gaussian in two moments, yet uniform, Cantor or heavy-tailed."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from leadline import data, stochastic
from leadline.claims.stochastic.gradient_oracles.descent_runs import regression
from leadline.evidence import Int, Real, claim, model
from leadline.evidence.relations import at_least, at_most, close, distributed_as, exactly, mean, reference
from leadline.presentation import figure
from leadline.stochastic.moments.bernoulli_convolution import BernoulliConvolution
from leadline.stochastic.moments.kesten import kesten_chain, kesten_tail_index
from leadline.stochastic.problems.sgd_models import gaussian_model_run, gaussian_step


@eqx.filter_jit
def _model_steps(problem, w, eta, batch, normals):
    return jax.vmap(lambda xi: gaussian_step(problem, w, eta, batch, xi))(normals)


@model(sources=("penn",))
def sgd_gaussian_model(key, batch: Int(1, 4) = 2, eta: Real(0.02, 0.3, log=True) = 0.2, chains: Int(200, 2000) = 600):
    r"""Gaussian model of SGD noise.

    Gradient descent with normal noise of covariance η²C(W)/b: a step has the same mean and covariance as one of SGD,
    at every W, so on least squares the stationary variance is the same. The distribution of an SGD step becomes normal
    as b grows.

    $$W^+ = W - \eta\, g(W) + \frac{\eta}{\sqrt b}\, C(W)^{1/2}\, \xi, \quad \xi \sim N(0, I)$$

    Check: Chains of 150 steps on least squares with 8 examples in the plane, η times the largest stable step size.
    """
    rng = data.generator(key)
    x, y = regression(rng, 8, 2)
    problem, moments = stochastic.least_squares_sum(x, y), stochastic.LeastSquaresMoments(x, y)
    step, w = eta * moments.largest_step(batch), moments.minimiser + np.array([1.0, -0.5])
    gradients = x * (x @ w - y)[:, None]
    drawn = w - step * gradients[np.array(list(product(range(8), repeat=batch)))].mean(1)
    # a step is affine in its 8 normal numbers: its distribution is known from their unit vectors
    normals = np.concatenate([np.eye(9, 8, -1), rng.standard_normal((300, 8))])
    given = (jnp.asarray(part) for part in (w, step, batch, normals))
    moved = np.asarray(_model_steps(problem, *given))
    columns, cloud = moved[:9], moved[9:]
    root = (columns[1:] - columns[0]).T
    spread = np.trace(root @ root.T)
    yield close(columns[0], drawn.mean(0), "mean of a step: model, against all batches of SGD", atol=1e-12)
    exact = np.cov(drawn.T, bias=True)
    yield close(root @ root.T, exact, "covariance of a step: model, against all batches of SGD", atol=1e-12 * spread)
    along, kurtosis = (gradients - gradients.mean(0)) @ np.array([1.0, 0.5]), []
    for b in (1, 2, 3, 4):
        noise = along[np.array(list(product(range(8), repeat=b)))].mean(1)
        kurtosis.append(np.mean(noise**4) / np.mean(noise**2) ** 2 - 3)
    yield close(kurtosis, kurtosis[0] / np.arange(1, 5), "excess kurtosis of batch noise, against κ/b", atol=1e-10)
    start = jnp.asarray(moments.minimiser)
    run = jax.vmap(lambda own: gaussian_model_run(problem, start, step, batch, own)[-1])
    last = np.asarray(run(jnp.asarray(rng.standard_normal((chains, 150, 8))))) - moments.minimiser
    path = moments.path(moments.minimiser, np.full(150, step), batch)
    yield mean(np.sum(last**2, 1), path.distances[-1], "E‖W − w*‖² of the model after 150 steps, against SGD's")
    limit = np.trace(moments.stationary(step, batch))
    what = "E‖w − w*‖² after 150 steps, against the stationary variance"
    yield at_most(path.distances[-1], limit, f"{what}, from below", rtol=1e-12)
    if moments.contraction(step, batch) ** 150 < 1e-6:  # otherwise 150 steps do not reach the stationary law
        yield close(path.distances[-1], limit, what, rtol=1e-3)
    reached = np.unique(drawn.round(9), axis=0)
    title = f"One step, b = {batch}: the same mean and covariance; SGD has {len(reached)} possible points"
    yield figure.plane(title, "w₁", "w₂", points={"Gaussian model": cloud, "SGD, all batches": reached})


@claim(sources=("penn",))
def sgd_invariant_law(
    key, eta: Real(0.03, 0.95) = 0.1, batch: Int(1, 4) = 1, samples: Int(20000, 200000, log=True) = 50000
):
    r"""SGD's invariant distribution need not be Gaussian.

    SGD on the two parabolas (w ∓ 1)²/2 has noise that is constant and isotropic, and yet its invariant distribution is
    uniform at η = ½, the Cantor distribution at η = ⅔, and normal only as η → 0: two moments do not determine the
    distribution.

    $$w^+ = (1 - \eta)\, w \pm \eta: \quad \mathrm{Var} = \frac{\eta}{2 - \eta}, \quad \kappa = -\frac{2 \eta^4}{1 - (1
    - \eta)^4} \Big/ \mathrm{Var}^2$$

    Assumes: b = 1 for the uniform and the Cantor distribution.

    Check: Independent draws from the invariant distribution; those at η = ½ and η = ⅔ with b = 1.
    """
    law = BernoulliConvolution(eta, batch)
    drawn = law.sample(samples, key=key)
    where = f"η = {eta:.3g}, b = {batch}"
    yield mean(drawn, 0.0, f"mean of the draws at {where}", deviation=np.sqrt(law.variance))
    yield mean(drawn**2, law.variance, f"variance at {where}, against η/(b(2 − η))")
    yield mean(drawn**4, law.kurtosis * law.variance**2, f"fourth moment at {where}, against the sum of cumulants")
    uniform, cantor = (BernoulliConvolution(s).sample(samples, key=key) for s in (1 / 2, 2 / 3))
    yield distributed_as(uniform, lambda w: np.clip((1 + w) / 2, 0, 1), "draws at η = ½, against uniform ones")
    yield exactly(np.sum(np.abs(cantor) < 1 / 3 - 1e-12), 0, f"draws in the middle third at η = ⅔, of {samples}")
    known = [BernoulliConvolution(s).kurtosis for s in (1 / 2, 2 / 3, 0.1)]
    yield reference(known, [1.8, 1.4, 2.7901], "kurtosis at η = ½, ⅔ and 0.1", digits=5)
    size = BernoulliConvolution(2 / 3).dimension
    yield close(size, np.log(2) / np.log(3), "dimension of the Cantor support", rtol=1e-12)
    gaps = {s: _distance_to_normal(BernoulliConvolution(s)) for s in (0.05, 0.1, 0.2, 0.4)}
    noise, what = 1 / np.sqrt(2e5), "Kolmogorov distance to the normal distribution"
    yield close(gaps[0.1], 0.0055, f"{what} at η = 0.1, against that of 2e5 draws", atol=noise)
    order = np.array(list(gaps.values()))
    yield at_least(order[1:] / order[:-1], 1.5, f"growth of the {what} when η doubles")
    panels = []
    for s, sample in ((2 / 3, cantor), (1 / 2, uniform), (eta, drawn)):
        across = np.linspace(-1, 1, 201)
        variance = BernoulliConvolution(s, batch if sample is drawn else 1).variance
        normal = np.exp(-(across**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        lines = {"normal, same variance": (across, normal)}
        panels.append(figure.histogram(f"η = {s:.3g}", "w", samples={"SGD": sample}, lines=lines, bins=81))
    title = "Cantor at ⅔, uniform at ½, nearly normal at small η: distance to normal"
    yield figure.beside(f"{title} {gaps[0.4]:.2g} at η = 0.4, {gaps[0.05]:.2g} at 0.05", *panels, columns=3)


def _distance_to_normal(law):
    grid, values = law.cdf(2001)
    return np.max(np.abs(values - ndtr(grid / np.sqrt(law.variance))))


@claim(sources=("penn",), shows=("stochastic.kesten_moment",))
def sgd_heavy_tails(key, share: Real(0.8, 1.25) = 1.0, batch: Int(1, 4) = 1, chains: Int(10000, 40000) = 20000):
    r"""Heavy tails of SGD (Kesten process).

    Least squares with unbounded features makes SGD a Kesten process: P(|w| > s) falls as $s^{-\alpha}$, where $E|1 -
    \eta x^2|^{\alpha} = 1$. With Gaussian features the variance is infinite from η = ⅔ on; larger batches raise α.

    $$w^+ = (1 - \eta x^2)\, w + \eta x y, \quad E|1 - \eta x^2|^\alpha = 1$$

    Assumes: x and y from N(0, 1); E log|1 − ηx²| < 0.

    Check: η is `share` times 2b/(b + 2), where the variance becomes infinite; 300 steps a chain, Hill's top 1 in 600.
    """
    known = [kesten_tail_index(s) for s in (0.5, 2 / 3, 0.8)]
    yield reference(known, [2.9040, 2.0, 1.5464], "α at η = .5, ⅔, .8 with b = 1", digits=5)
    critical = [kesten_tail_index(2 * b / (b + 2), b) for b in (1, 2, 4)]
    yield close(critical, 2.0, "α at η = 2b/(b + 2), b = 1, 2, 4", atol=1e-8)
    eta = share * 2 * batch / (batch + 2)
    alpha = kesten_tail_index(eta, batch)
    more = kesten_tail_index(eta, batch + 1)
    yield at_least(more, alpha, "α with one more example in the batch, against α", strict=True)
    path = kesten_chain(eta, batch, chains, 300, burn_in=100, key=key)
    top = path.size // 600
    hill = stochastic.hill_estimate(path, top)
    blocks = [stochastic.hill_estimate(part, top // 20) for part in np.array_split(path, 20, axis=1)]
    error = np.std(blocks, ddof=1) / np.sqrt(20)
    yield close(hill, alpha, "Hill's estimate of α, within 5 % and four standard errors", rtol=0.05, atol=4 * error)
    size = np.sort(np.abs(path), axis=None)[::-1]
    ranks = np.unique(np.geomspace(20, path.size / 20, 30).astype(int))
    tail, anchor = ranks / path.size, size[top]
    across = np.geomspace(size[ranks[-1]], size[ranks[0]], 20)
    title = f"η = {eta:.3g}, b = {batch}: tail index {hill:.3g} measured, {alpha:.4g} predicted"
    lines = {f"slope −α = −{alpha:.3g}": (across, top / path.size * (across / anchor) ** -alpha)}
    yield figure.curves(title, "s", "P(|w| > s)", lines=lines, points={"SGD": (size[ranks], tail)}, log="xy")
