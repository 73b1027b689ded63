"""Where SGD with a constant step settles: Gaussian in two moments, but uniform, Cantor or heavy-tailed in law."""

from itertools import product
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, stochastic
from leadline.claims.stochastic.descent_runs import regression
from leadline.evidence import Range, at_least, at_most, claim, close, distributed_as, exactly, figure, mean, model


@eqx.filter_jit
def _model_steps(problem, w, eta, batch, normals):
    return jax.vmap(lambda xi: stochastic.gaussian_step(problem, w, eta, batch, xi))(normals)


@model(
    "sgd-gaussian-model",
    says=(
        "Gradient descent with normal noise of covariance η²C(W)/b: the same mean and covariance of a step as SGD, at "
        "every W, so on least squares the same stationary variance. The law of a step becomes normal as b grows."
    ),
    formula=r"W^+ = W - \eta\, g(W) + \frac{\eta}{\sqrt b}\, C(W)^{1/2}\, \xi, \quad \xi \sim N(0, I)",
    sources=("penn",),
    shows=("stochastic.gaussian_step", "stochastic.gaussian_model_run"),
)
def sgd_gaussian_model(
    key,
    batch: Annotated[int, Range(1, 4)] = 2,
    eta: Annotated[float, Range(0.02, 0.3, log=True)] = 0.2,
    chains: Annotated[int, Range(200, 2000)] = 600,
):
    """Least squares with 8 examples in the plane, step η times the largest stable one; 150 steps of each chain."""
    rng = data.generator(key)
    x, y = regression(rng, 8, 2)
    problem, moments = stochastic.least_squares_sum(x, y), stochastic.LeastSquaresMoments(x, y)
    step, w = eta * moments.largest_step(batch), moments.minimiser + np.array([1.0, -0.5])
    gradients = x * (x @ w - y)[:, None]
    drawn = w - step * gradients[np.array(list(product(range(8), repeat=batch)))].mean(1)
    # a step is affine in its 8 normal numbers: its law is known from their unit vectors
    normals = np.concatenate([np.eye(9, 8, -1), rng.standard_normal((300, 8))])
    moved = np.asarray(
        _model_steps(problem, jnp.asarray(w), jnp.asarray(step), jnp.asarray(batch), jnp.asarray(normals))
    )
    columns, cloud = moved[:9], moved[9:]
    root = (columns[1:] - columns[0]).T
    spread = np.trace(root @ root.T)
    yield close(columns[0], drawn.mean(0), "mean of a step: model, against all batches of SGD", atol=1e-12)
    exact = learning.gradient_covariance(drawn)
    yield close(root @ root.T, exact, "covariance of a step: model, against all batches of SGD", atol=1e-12 * spread)

    along, kurtosis = (gradients - gradients.mean(0)) @ np.array([1.0, 0.5]), []
    for b in (1, 2, 3, 4):
        noise = along[np.array(list(product(range(8), repeat=b)))].mean(1)
        kurtosis.append(float(np.mean(noise**4) / np.mean(noise**2) ** 2 - 3))
    yield close(kurtosis, kurtosis[0] / np.arange(1, 5), "excess kurtosis of batch noise, against κ/b", atol=1e-10)

    start = jnp.asarray(moments.minimiser)
    run = jax.vmap(lambda own: stochastic.gaussian_model_run(problem, start, step, batch, own)[-1])
    last = np.asarray(run(jnp.asarray(rng.standard_normal((chains, 150, 8))))) - moments.minimiser
    path = moments.path(moments.minimiser, np.full(150, step), batch)
    yield mean(np.sum(last**2, 1), path.distances[-1], "E‖W − w*‖² of the model after 150 steps, against SGD's")
    limit = np.trace(moments.stationary(step, batch))
    yield at_most(path.distances[-1], limit, "that, against the stationary variance, from below", rtol=1e-12)
    if moments.contraction(step, batch) ** 150 < 1e-6:  # otherwise 150 steps do not reach the stationary law
        yield close(path.distances[-1], limit, "that, against the stationary variance", rtol=1e-3)
    reached = np.unique(drawn.round(9), axis=0)
    yield figure.plane(
        f"One step, b = {batch}: the same mean and covariance; SGD has {len(reached)} possible points, the model "
        "all of the plane",
        x="w₁",
        y="w₂",
        points={"Gaussian model": cloud, "SGD, all batches": reached},
    )


@claim(
    "sgd-invariant-law",
    says=(
        "SGD on the two parabolas (w ∓ 1)²/2 has noise that is constant and isotropic, and yet its invariant law is "
        "uniform at η = ½, the Cantor law at η = ⅔, and normal only as η → 0: two moments do not make the law."
    ),
    formula=r"w^+ = (1 - \eta)\, w \pm \eta: \quad \mathrm{Var} = \frac{\eta}{2 - \eta}, \quad "
    r"\kappa = -\frac{2 \eta^4}{1 - (1 - \eta)^4} \Big/ \mathrm{Var}^2",
    sources=("penn",),
    assumes=("b = 1 for the uniform and the Cantor law",),
    shows=("stochastic.BernoulliConvolution",),
)
def sgd_invariant_law(
    key,
    eta: Annotated[float, Range(0.03, 0.95)] = 0.1,
    batch: Annotated[int, Range(1, 4)] = 1,
    samples: Annotated[int, Range(20000, 200000, log=True)] = 50000,
):
    """Independent draws of the invariant law; at ½ and ⅔ also with b = 1, whatever the parameters are."""
    law = stochastic.BernoulliConvolution(eta, batch)
    drawn = law.sample(samples, key=key)
    yield mean(drawn, 0.0, "mean", deviation=np.sqrt(law.variance))
    yield mean(drawn**2, law.variance, f"variance at η = {eta:.3g}, b = {batch}, against η/(b(2 − η))")
    yield mean(drawn**4, law.kurtosis * law.variance**2, "fourth moment, against the sum of cumulants")
    uniform, cantor = (stochastic.BernoulliConvolution(s).sample(samples, key=key) for s in (1 / 2, 2 / 3))
    yield distributed_as(uniform, lambda w: np.clip((1 + w) / 2, 0, 1), "law at η = ½, against the uniform law")
    inside = int(np.sum(np.abs(cantor) < 1 / 3 - 1e-12))
    yield exactly(inside, 0, f"draws in the middle third at η = ⅔, of {samples}")
    known = [stochastic.BernoulliConvolution(s).kurtosis for s in (1 / 2, 2 / 3, 0.1)]
    yield close(known, [1.8, 1.4, 2.7901], "kurtosis at η = ½, ⅔ and 0.1", atol=5e-5)
    size = stochastic.BernoulliConvolution(2 / 3).dimension
    yield close(size, np.log(2) / np.log(3), "dimension of the Cantor support", rtol=1e-12)
    gaps = {s: _distance_to_normal(stochastic.BernoulliConvolution(s)) for s in (0.05, 0.1, 0.2, 0.4)}
    noise = 1 / np.sqrt(2e5)
    yield close(gaps[0.1], 0.0055, "Kolmogorov distance to normal at η = 0.1, against that of 2e5 draws", atol=noise)
    order = np.array(list(gaps.values()))
    yield at_least(order[1:] / order[:-1], 1.5, "growth of that distance when η doubles")
    panels = []
    for s, sample in ((2 / 3, cantor), (1 / 2, uniform), (eta, drawn)):
        across = np.linspace(-1, 1, 201)
        variance = stochastic.BernoulliConvolution(s, batch if sample is drawn else 1).variance
        normal = np.exp(-(across**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        panels.append(
            figure.histogram(
                f"η = {s:.3g}",
                x="w",
                samples={"SGD": sample},
                lines={"normal, same variance": (across, normal)},
                bins=81,
            )
        )
    yield figure.beside(
        f"Cantor at ⅔, uniform at ½, nearly normal at small η: distance to normal {gaps[0.4]:.2g} at η = 0.4, "
        f"{gaps[0.05]:.2g} at 0.05",
        *panels,
        columns=3,
    )


def _distance_to_normal(law):
    from scipy.special import ndtr

    grid, values = law.cdf(2001)
    return float(np.max(np.abs(values - ndtr(grid / np.sqrt(law.variance)))))


@claim(
    "sgd-heavy-tails",
    says=(
        "Least squares with unbounded features makes SGD a Kesten process: P(|w| > s) falls as s^−α, where "
        "E|1 − ηx²|^α = 1. With Gaussian features the variance is infinite from η = ⅔ on; larger batches raise α."
    ),
    formula=r"w^+ = (1 - \eta x^2)\, w + \eta x y, \quad E|1 - \eta x^2|^\alpha = 1",
    sources=("penn",),
    assumes=("x and y from N(0, 1)", "E log|1 − ηx²| < 0"),
    shows=(
        "stochastic.kesten_tail_index",
        "stochastic.kesten_chain",
        "stochastic.kesten_moment",
        "stochastic.hill_estimate",
    ),
)
def sgd_heavy_tails(
    key,
    share: Annotated[float, Range(0.8, 1.25)] = 1.0,
    batch: Annotated[int, Range(1, 4)] = 1,
    chains: Annotated[int, Range(10000, 40000)] = 20000,
):
    """Step share · 2b/(b + 2), at which the variance is infinite; 300 steps of each chain, Hill on 1 in 600 values."""
    known = [stochastic.kesten_tail_index(s) for s in (0.5, 2 / 3, 0.8)]
    yield close(known, [2.9040, 2.0, 1.5464], "α at η = .5, ⅔, .8 with b = 1", atol=6e-5)
    critical = [stochastic.kesten_tail_index(2 * b / (b + 2), b) for b in (1, 2, 4)]
    yield close(critical, 2.0, "α at η = 2b/(b + 2), b = 1, 2, 4", atol=1e-8)
    eta = share * 2 * batch / (batch + 2)
    alpha = stochastic.kesten_tail_index(eta, batch)
    more = stochastic.kesten_tail_index(eta, batch + 1)
    yield at_least(more, alpha, "α with one more example in the batch", strict=True)
    path = stochastic.kesten_chain(eta, batch, chains, 300, burn_in=100, key=key)
    top = path.size // 600
    hill = stochastic.hill_estimate(path, top)
    blocks = [stochastic.hill_estimate(part, top // 20) for part in np.array_split(path, 20, axis=1)]
    error = float(np.std(blocks, ddof=1) / np.sqrt(20))
    yield close(hill, alpha, "Hill's estimate, within 5 % and four standard errors", rtol=0.05, atol=4 * error)
    size = np.sort(np.abs(path), axis=None)[::-1]
    ranks = np.unique(np.geomspace(20, path.size / 20, 30).astype(int))
    tail = ranks / path.size
    anchor = size[top]
    across = np.geomspace(size[ranks[-1]], size[ranks[0]], 20)
    yield figure.curves(
        f"Step {eta:.3g}, b = {batch}: tail index {hill:.3g} measured, {alpha:.4g} predicted; variance "
        f"{'finite' if alpha > 2 + 1e-9 else 'infinite'}",
        x="s",
        y="P(|w| > s)",
        lines={f"slope −α = −{alpha:.3g}": (across, top / path.size * (across / anchor) ** -alpha)},
        points={"SGD": (size[ranks], tail)},
        log="xy",
    )
