"""Averages of SGD's iterates: what they are, and what they do to the noise."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation, stochastic
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    mean,
    method,
    printed,
    smaller,
)


@jax.jit
def _averaged_run(rule_numbers, start, noise):
    """SGD on ½(w₁² + ¼w₂²) with given noise, under four averages at once: the path and the averages."""
    step, decay, power, burn_in = rule_numbers
    weights = {
        "mean": stochastic.AverageWeight(),
        "polynomial": stochastic.PolynomialWeight(power),
        "exponential": stochastic.DecayWeight(decay),
        "debiased": stochastic.DecayWeight(decay, debias=True),
    }
    rules = {name: stochastic.with_average(optax.sgd(step), w, burn_in=burn_in) for name, w in weights.items()}
    curvature = jnp.array([1.0, 0.25])

    def move(state, kick):
        w, memories = state
        gradient = curvature * w + kick
        updated = {name: rules[name].update(gradient, memories[name], w) for name in rules}
        w = w + updated["mean"][0]
        return (w, {name: memory for name, (_, memory) in updated.items()}), w

    begin = (start, {name: rule.init(start) for name, rule in rules.items()})
    (_, memories), path = jax.lax.scan(move, begin, noise)
    return path, {name: stochastic.averaged_parameters(memory) for name, memory in memories.items()}


@method(
    "iterate-averaging",
    says=(
        "Averages of the iterates that leave the path of SGD as it is: running mean, tail mean, polynomial decay, "
        "exponential decay; each is u ← u + γₖ(w − u), in the memory of one more vector."
    ),
    formula=r"u \leftarrow u + \gamma_k (w - u), \quad \gamma_k = \tfrac1k,\; \tfrac{q+1}{k+q},\;"
    r" 1 - \rho,\; \tfrac{1-\rho}{1-\rho^k}",
    sources=("sheet", "penn"),
    shows=(
        "stochastic.with_average",
        "stochastic.averaged_parameters",
        "stochastic.average_path",
        "stochastic.explicit_weights",
        "stochastic.AverageWeight",
        "stochastic.PolynomialWeight",
        "stochastic.DecayWeight",
    ),
)
def iterate_averaging(
    key,
    decay: Annotated[float, Range(0.5, 0.99)] = 0.9,
    power: Annotated[float, Range(0.0, 8.0)] = 3.0,
    burn_in: Annotated[int, Range(0, 100)] = 20,
    step: Annotated[float, Range(0.02, 1.0)] = 0.2,
):
    """200 noisy steps in the plane as an Optax rule with four averages, against averages of the stored path."""
    rng = data.generator(key)
    start, noise = np.array([2.0, -2.0]), rng.normal(size=(200, 2))
    path, averages = _averaged_run((step, decay, power, float(burn_in)), start, noise)
    path = np.concatenate([start[None], np.asarray(path)])
    plain = [start]
    for kick in noise:
        plain.append(plain[-1] - step * (np.array([1.0, 0.25]) * plain[-1] + kick))
    yield close(path, plain, "the path, with and without averages", atol=1e-12 * np.abs(path).max())
    kept, count = path[burn_in:], len(path) - burn_in
    lags = np.arange(count)[::-1]
    explicit = {
        "mean": np.full(count, 1 / count),
        "exponential": np.where(lags == count - 1, 1.0, 1 - decay) * decay**lags,
        "debiased": decay**lags / np.sum(decay**lags),
    }
    for name, weights in explicit.items():
        yield close(averages[name], weights @ kept, f"{name}: kept online, against explicit weights", atol=1e-12)
    weight = stochastic.PolynomialWeight(power)
    yield close(
        averages["polynomial"], stochastic.average_path(path, weight, burn_in=burn_in),
        "polynomial: online, against stored", atol=1e-12,
    )  # fmt: skip
    yield close(stochastic.explicit_weights(weight, count).sum(), 1.0, "polynomial: sum of the weights", atol=1e-12)

    whole = stochastic.average_path(path)
    yield printed(
        close(path.sum(axis=0) / (len(path) - 1), whole, "sum of t + 1 iterates over t", rtol=1e-9),
        "penn", "(1/t) Σ over w⁰ … wᵗ",
    )  # fmt: skip
    memory = stochastic.with_average(optax.sgd(step)).init(start)
    kept_numbers = np.size(memory.average)
    yield exactly(kept_numbers, 2, "numbers kept for the running mean of points in the plane")
    yield printed(
        at_least(kept_numbers, path.size, "numbers kept for the running mean"), "penn", "all iterates must be stored"
    )
    before = stochastic.average_path(path[:-1])
    gradient = (path[-2] - path[-1]) / step
    stray = before + (path[-1] - before) / len(path) - step * gradient / len(path)
    yield printed(
        close(stray, whole, "the running mean with a further −η∇/(t + 1)", rtol=1e-9),
        "sheet",
        "… − η∇/(t + 1) at the end",
    )

    w, total, smooth, held = np.tile(start, (150, 1)), 0.0, np.tile(start, (150, 1)), 0
    for t in range(200):
        w = w - step * (np.array([1.0, 0.25]) * w + rng.normal(size=w.shape))
        smooth = decay * smooth + (1 - decay) * w
        if t >= burn_in:
            total, held = total + w, held + 1
    clouds = {"last iterate": w, f"exponential, ρ = {decay:g}": smooth, "mean after burn-in": total / held}
    spreads = [float(np.sqrt(np.mean(np.sum(c**2, axis=1)))) for c in clouds.values()]
    yield figure.plane(
        f"150 runs: distance to w* is {spreads[0]:.2g} for the last iterate, {spreads[1]:.2g} for the exponential "
        f"average, {spreads[2]:.2g} for the mean",
        x="w₁",
        y="w₂",
        points=clouds,
        sizes=dict.fromkeys(clouds, 22.0),
    )


@claim(
    "averaging-reduces-variance",
    says=(
        "With a constant step on a quadratic the last iterate stays at the floor η tr C/4, while the mean of T "
        "iterates has gap tr(H⁻¹C)/(2T), whatever the step, plus a bias of order 1/(ηT)² that burn-in removes."
    ),
    formula=r"E\, gap(\bar w_T) \approx \frac{tr(H^{-1} C)}{2 b T}",
    sources=("penn", "sheet"),
    assumes=("a quadratic, or a loss that is nearly one where the noise takes w",),
    shows=("stochastic.scalar_moments", "stochastic.averaged_gap", "stochastic.settled_average_gap"),
)
def averaging_reduces_variance(
    key,
    step: Annotated[float, Range(0.02, 1.0, log=True)] = 0.1,
    steps: Annotated[int, Range(500, 20_000, log=True)] = 2000,
    start: Annotated[float, Range(0.0, 10.0)] = 5.0,
):
    """Exact moments with h = σ² = 1; then softmax regression on digits, η = 0.1, b = 16, 8 runs of 4000 steps."""
    etas = np.full(steps, step)
    centred, away = (stochastic.scalar_moments(etas, start=s) for s in (0.0, start))
    a, k = 1 - step, np.arange(1.0, steps + 1)
    yield close(
        centred.mean[-1], np.sum((1 - a ** k[:-1]) ** 2) / steps**2, "from w*: E w̄², against Σ(1 − aᵏ)²/T²", rtol=1e-9
    )
    yield close(steps * centred.mean[-1] / 2, 0.5, "from w*: T · gap of the mean", rtol=2 / (step * steps))
    bias = (start * (1 - a**steps) / (step * steps)) ** 2
    yield close(
        away.mean[-1] - centred.mean[-1], bias, "bias of the mean from w⁰", rtol=1e-6, atol=1e-14 * (1 + start**2)
    )
    yield at_most(bias, (start / (step * steps)) ** 2, "that bias, against (w⁰/(ηhT))²")
    tail = float(stochastic.suffix_moment(etas, steps // 2, start=start))
    rest = start**2 * a ** (2 * (steps // 2)) / (step * (steps - steps // 2)) ** 2
    settled = stochastic.settled_average_gap(steps - steps // 2, step, 1, np.eye(1), np.eye(1)) * 2
    yield at_most(tail, settled + rest, "mean of the last half: E w̄², the bias being gone", rtol=1e-9)
    known = [stochastic.scalar_moments(np.full(2000, 0.1), start=s) for s in (0.0, 1.0, 5.0)]
    yield close(known[0].last[-1] / 2, 0.026316, "η = 0.1, T = 2000: gap of the last iterate", atol=5e-7)
    yield close(
        [m.mean[-1] / 2 for m in known], [0.000248, 0.000261, 0.000560], "gap of the mean, from 0, 1 and 5", atol=1e-6
    )

    problem = optimisation.digits_softmax(0.01)
    best, minimum, hessian, covariance = stochastic.softmax_equilibrium(problem)
    leading = 2 * 16 * 2000 * stochastic.averaged_gap(2000, 16, hessian, covariance)
    yield close(leading, 29.519, "digits: tr(H⁻¹C)", atol=5e-4)
    run = stochastic.measured_floor(
        problem, 0.1, 16, steps=4000, start=best, minimum=minimum, key=jax.random.fold_in(key, 1), runs=8
    )
    predicted = stochastic.settled_average_gap(2000, 0.1, 16, hessian, covariance)
    ratios = run.averaged / predicted
    yield mean(ratios, 1.3, "digits: gap of the mean of the last half, over the prediction, at most", side="at most")
    yield mean(ratios, 0.7, "digits: gap of the mean of the last half, over the prediction, at least", side="at least")
    yield smaller(run.averaged, run.floor, "digits: gap of the mean, against that of single iterates")
    times = np.unique(np.geomspace(2, steps, 40).round().astype(int))
    tails = [float(stochastic.suffix_moment(etas[:t], t // 2, start=start)) / 2 for t in times]
    yield figure.curves(
        f"After {steps} steps the last iterate has gap {away.last[-1] / 2:.2g}, the mean {away.mean[-1] / 2:.2g}, "
        f"the mean of the last half {tails[-1]:.2g}",
        x="steps T",
        y="expected gap",
        lines={
            "floor η/(2(2 − η))": (times, np.full(len(times), step / (2 * (2 - step)))),
            "1/(2T)": (times, 0.5 / times),
        },
        points={
            "last iterate": (times, away.last[times - 1] / 2),
            "mean": (times, away.mean[times - 1] / 2),
            "mean of the last half": (times, tails),
        },
        log="xy",
    )


@claim(
    "ema-averaging-variance",
    says=(
        "An exponential average of a stationary path with autocorrelation aᵏ has ((1 − ρ)/(1 + ρ))(1 + ρa)/(1 − ρa) "
        "of its variance: little is gained unless it is longer than the path's memory. It lags a moving mean by "
        "ρ/(1 − ρ) steps."
    ),
    formula=r"\frac{Var\, u}{Var\, w} = \frac{1-\rho}{1+\rho} \cdot \frac{1 + \rho a}{1 - \rho a}",
    sources=("penn",),
    assumes=("the path is stationary with autocorrelation a^k; for SGD on a quadratic a = 1 − ηh",),
    shows=("stochastic.decay_variance_factor",),
)
def ema_averaging_variance(
    key,
    correlation: Annotated[float, Range(0.0, 0.99)] = 0.95,
    decay: Annotated[float, Range(0.1, 0.99)] = 0.9,
    runs: Annotated[int, Range(500, 10_000)] = 4000,
):
    """Exact covariance of (w, u) by a Lyapunov equation, 4000 simulated paths, and a ramp."""
    from scipy.linalg import solve_discrete_lyapunov

    factor = stochastic.decay_variance_factor(decay, correlation)
    drive = np.array([1.0, 1 - decay])
    both = solve_discrete_lyapunov(
        np.array([[correlation, 0.0], [(1 - decay) * correlation, decay]]),
        (1 - correlation**2) * np.outer(drive, drive),
    )
    yield close(both[1, 1], factor, "exact variance of u, for Var w = 1", rtol=1e-9)
    yield close(stochastic.decay_variance_factor(0.9, 0.95), 0.6733, "a = 0.95, ρ = 0.9", atol=5e-5)
    rng = data.generator(key)
    w = rng.normal(size=runs)
    u = np.zeros(runs)
    length = int(np.ceil(np.log(1e-6) / np.log(decay)))
    for _ in range(length):
        w = correlation * w + np.sqrt(1 - correlation**2) * rng.normal(size=runs)
        u = decay * u + (1 - decay) * w
    yield mean(u**2, factor, f"variance of u in {runs} paths", deviation=np.sqrt(2) * factor)
    count = int(np.ceil(np.log(1e-16) / np.log(decay))) + 2
    ramp = stochastic.average_path(np.arange(float(count))[:, None], stochastic.DecayWeight(decay))[0]
    yield close(count - 1 - ramp, decay / (1 - decay), "lag behind a ramp, against ρ/(1 − ρ)", atol=1e-9 * count)
    grid_a, grid_rho = [0.0, 0.5, 0.8, 0.9, 0.95, 0.99], [0.5, 0.8, 0.9, 0.95, 0.99]
    table = [[float(stochastic.decay_variance_factor(rho, a)) for a in grid_a] for rho in grid_rho]
    yield figure.heatmap(
        f"At a = {correlation:g} and ρ = {decay:g} averaging leaves {factor:.1%} of the variance; of white noise "
        f"{(1 - decay) / (1 + decay):.1%}",
        x="autocorrelation a",
        y="decay ρ",
        values=table,
        xs=grid_a,
        ys=grid_rho,
        colour="variance left",
        text=True,
    )
