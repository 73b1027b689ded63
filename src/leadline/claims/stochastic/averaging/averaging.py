"""Averages of SGD's iterates: what they are, and what they do to the noise."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation, stochastic
from leadline.evidence import Int, Real, claim, erratum, method
from leadline.evidence.relations import at_least, at_most, close, exactly, mean, reference, smaller
from leadline.presentation import figure
from leadline.stochastic.averaging import decay_variance_factor, explicit_weights
from leadline.stochastic.moments.scalar_recursion import suffix_moment
from leadline.stochastic.sgd_bounds import settled_average_gap


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
    sources=("sheet", "penn"),
    shows=("stochastic.averaged_parameters", "stochastic.AverageWeight", "stochastic.DecayWeight"),
)
def iterate_averaging(
    key,
    decay: Real(0.5, 0.99) = 0.9,
    power: Real(0.0, 8.0) = 3.0,
    burn_in: Int(0, 100) = 20,
    step_size: Real(0.02, 1.0) = 0.2,
):
    r"""Iterate averaging for SGD.

    Averages of the iterates that leave the path of SGD as it is: running mean, tail mean, polynomial decay and
    exponential decay. Each is u ← u + γₖ(w − u), and stores one more vector.

    $$u \leftarrow u + \gamma_k (w - u), \quad \gamma_k = \tfrac1k,\; \tfrac{q+1}{k+q},\; 1 - \rho,\;
    \tfrac{1-\rho}{1-\rho^k}$$
    """
    rng = data.generator(key)
    start, noise = np.array([2.0, -2.0]), rng.normal(size=(200, 2))
    path, averages = _averaged_run((step_size, decay, power, float(burn_in)), start, noise)
    path = np.concatenate([start[None], np.asarray(path)])
    plain = [start]
    for kick in noise:
        plain.append(plain[-1] - step_size * (np.array([1.0, 0.25]) * plain[-1] + kick))
    yield close(path, plain, "path of SGD, with and without averages", atol=1e-12 * np.abs(path).max())
    kept, count = path[burn_in:], len(path) - burn_in
    lags = np.arange(count)[::-1]
    explicit = {
        "mean": np.full(count, 1 / count),
        "exponential": np.where(lags == count - 1, 1.0, 1 - decay) * decay**lags,
        "debiased": decay**lags / np.sum(decay**lags),
    }
    for name, weights in explicit.items():
        yield close(averages[name], weights @ kept, f"{name} average: online, against explicit weights", atol=1e-12)
    weight = stochastic.PolynomialWeight(power)
    stored = stochastic.average_path(path, weight, burn_in=burn_in)
    yield close(averages["polynomial"], stored, "polynomial average: online, against stored", atol=1e-12)
    total = explicit_weights(weight, count).sum()
    yield close(total, 1.0, "polynomial average: sum of the weights", atol=1e-12)
    online = close(path.sum(axis=0) / len(path), stochastic.average_path(path), "running mean of w⁰ … wᵗ", atol=1e-12)
    yield online
    wrong = close(
        path.sum(axis=0) / (len(path) - 1), stochastic.average_path(path), "sum of t + 1 iterates over t", rtol=1e-9
    )
    yield erratum(wrong, of=online, by="penn", prints="(1/t) Σ over w⁰ … wᵗ")
    numbers = np.size(stochastic.with_average(optax.sgd(step_size)).init(start).average)
    memory = exactly(numbers, 2, "numbers kept for the running mean of points in the plane")
    yield memory
    wrong = at_least(numbers, path.size, "numbers kept for the running mean, against those of the path")
    yield erratum(wrong, of=memory, by="penn", prints="all past iterates must be stored")
    w, total, smooth, held = np.tile(start, (150, 1)), 0.0, np.tile(start, (150, 1)), 0
    for t in range(200):
        w = w - step_size * (np.array([1.0, 0.25]) * w + rng.normal(size=w.shape))
        smooth = decay * smooth + (1 - decay) * w
        if t >= burn_in:
            total, held = total + w, held + 1
    clouds = {"last iterate": w, f"exponential, ρ = {decay:g}": smooth, "mean after burn-in": total / held}
    spread = np.sqrt(np.mean(np.sum(w**2, axis=1))), np.sqrt(np.mean(np.sum((total / held) ** 2, axis=1)))
    title = f"150 runs: distance to w* is {spread[0]:.2g} for the last iterate, {spread[1]:.2g} for the mean"
    yield figure.plane(title, "w₁", "w₂", points=clouds, sizes=dict.fromkeys(clouds, 22.0))


@claim(sources=("penn", "sheet"))
def averaging_reduces_variance(
    key,
    step_size: Real(0.02, 1.0, log=True) = 0.1,
    num_steps: Int(500, 20_000, log=True) = 2000,
    start: Real(0.0, 10.0) = 5.0,
):
    r"""Averaging beats the constant-step noise floor.

    With a constant step size on a quadratic the last iterate stays at the floor η tr C/(4b), while the mean of T
    iterates has gap tr(H⁻¹C)/(2bT), whatever the step size, plus a bias of order 1/(ηT)² that burn-in removes.

    $$E\, \mathrm{gap}(\bar w_T) \approx \frac{\mathrm{tr}(H^{-1} C)}{2 b T}$$

    Assumes: a quadratic, or a loss that is nearly one where the noise takes w.

    Check: Exact moments with h = σ² = b = 1; then 8 runs of 4000 steps on digits with η = 0.1 and b = 16.
    """
    etas = np.full(num_steps, step_size)
    centred, away = (stochastic.scalar_moments(etas, start=s) for s in (0.0, start))
    a, k = 1 - step_size, np.arange(1.0, num_steps + 1)
    exact = np.sum((1 - a ** k[:-1]) ** 2) / num_steps**2
    yield close(centred.mean[-1], exact, "from w*: E w̄², against Σ(1 − aᵏ)²/T²", rtol=1e-9)
    scaled = num_steps * centred.mean[-1] / 2
    yield close(scaled, 0.5, "from w*: T · gap of the mean, against ½", rtol=2 / (step_size * num_steps))
    bias = (start * (1 - a**num_steps) / (step_size * num_steps)) ** 2
    extra, rounding = away.mean[-1] - centred.mean[-1], 1e-14 * (1 + start**2)
    yield close(extra, bias, "bias of E w̄² from w⁰, against its formula", rtol=1e-6, atol=rounding)
    yield at_most(bias, (start / (step_size * num_steps)) ** 2, "bias of E w̄² from w⁰, against (w⁰/(ηhT))²")
    half = num_steps - num_steps // 2
    tail = suffix_moment(etas, num_steps // 2, start=start)
    rest = start**2 * a ** (2 * (num_steps // 2)) / (step_size * half) ** 2
    settled = settled_average_gap(half, step_size, 1, np.eye(1), np.eye(1)) * 2
    yield at_most(tail, settled + rest, "mean of the last half: E w̄², the bias being gone", rtol=1e-9)
    known = [stochastic.scalar_moments(np.full(2000, 0.1), start=s) for s in (0.0, 1.0, 5.0)]
    what = "η = 0.1, T = 2000: gap of the"
    yield reference(known[0].last[-1] / 2, 0.026316, f"{what} last iterate", digits=5)
    gaps = [m.mean[-1] / 2 for m in known]
    yield reference(gaps, [0.000248, 0.000261, 0.000561], f"{what} mean, from 0, 1 and 5", digits=3)
    problem = optimisation.digits_softmax(0.01)
    best, minimum, hessian, covariance = stochastic.softmax_equilibrium(problem)
    leading = 2 * 16 * 2000 * stochastic.averaged_gap(2000, 16, hessian, covariance)
    yield reference(leading, 29.519, "digits: tr(H⁻¹C)", digits=5)
    where = {"num_steps": 4000, "start": best, "minimum": minimum, "key": jax.random.fold_in(key, 1), "runs": 8}
    run = stochastic.measured_floor(problem, 0.1, 16, **where)
    predicted = settled_average_gap(2000, 0.1, 16, hessian, covariance)
    ratios = run.averaged / predicted
    yield mean(ratios, 1.3, "digits: gap of the mean of the last half, over the prediction, at most", side="at most")
    yield mean(ratios, 0.7, "digits: gap of the mean of the last half, over the prediction, at least", side="at least")
    yield smaller(run.averaged, run.floor, "digits: gap of the mean, against that of single iterates")
    times = np.unique(np.geomspace(2, num_steps, 40).round().astype(int))
    tails = [suffix_moment(etas[:t], t // 2, start=start) / 2 for t in times]
    title = (
        f"After {num_steps} steps: gap {away.last[-1] / 2:.2g} of the last iterate, {away.mean[-1] / 2:.2g} of the mean"
    )
    lines = {
        "floor η/(2(2 − η))": (times, np.full(len(times), step_size / (2 * (2 - step_size)))),
        "1/(2T)": (times, 0.5 / times),
    }
    points = {
        "last iterate": (times, away.last[times - 1] / 2),
        "mean": (times, away.mean[times - 1] / 2),
        "mean of the last half": (times, tails),
    }
    yield figure.curves(title, "steps T", "expected gap", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def ema_averaging_variance(
    key, correlation: Real(0.0, 0.99) = 0.95, decay: Real(0.1, 0.99) = 0.9, runs: Int(500, 10_000) = 4000
):
    r"""Variance of an exponential moving average.

    An exponential average of a stationary path with autocorrelation aᵏ has $\frac{1-\rho}{1+\rho} \cdot \frac{1+\rho
    a}{1-\rho a}$ of its variance: little is gained unless the average is longer than the path's correlation time. It
    lags a moving mean by ρ/(1 − ρ) steps.

    $$\frac{\mathrm{Var}\, u}{\mathrm{Var}\, w} = \frac{1-\rho}{1+\rho} \cdot \frac{1 + \rho a}{1 - \rho a}$$

    Assumes: the path is stationary with autocorrelation aᵏ, where a = 1 − ηh for SGD on a quadratic.

    Check: Exact covariance of (w, u) from a Lyapunov equation, against `runs` simulated paths; a ramp shows the lag.
    """
    from scipy.linalg import solve_discrete_lyapunov

    factor = decay_variance_factor(decay, correlation)
    drive = np.array([1.0, 1 - decay])
    step = np.array([[correlation, 0.0], [(1 - decay) * correlation, decay]])
    both = solve_discrete_lyapunov(step, (1 - correlation**2) * np.outer(drive, drive))
    yield close(both[1, 1], factor, "exact variance of u for Var w = 1, against the factor", rtol=1e-9)
    known = decay_variance_factor(0.9, 0.95)
    yield reference(known, 0.6733, "variance factor at a = 0.95, ρ = 0.9", digits=4)
    rng = data.generator(key)
    w, u = rng.normal(size=runs), np.zeros(runs)
    length = int(np.ceil(np.log(1e-6) / np.log(decay)))
    for _ in range(length):
        w = correlation * w + np.sqrt(1 - correlation**2) * rng.normal(size=runs)
        u = decay * u + (1 - decay) * w
    yield mean(u**2, factor, f"variance of u in {runs} paths", deviation=np.sqrt(2) * factor)
    count = int(np.ceil(np.log(1e-16) / np.log(decay))) + 2
    ramp = stochastic.average_path(np.arange(float(count))[:, None], stochastic.DecayWeight(decay))[0]
    yield close(count - 1 - ramp, decay / (1 - decay), "lag behind a ramp, against ρ/(1 − ρ)", atol=1e-9 * count)
    grid_a, grid_rho = [0.0, 0.5, 0.8, 0.9, 0.95, 0.99], [0.5, 0.8, 0.9, 0.95, 0.99]
    table = [[decay_variance_factor(rho, a) for a in grid_a] for rho in grid_rho]
    title = f"At a = {correlation:g} and ρ = {decay:g} averaging leaves {factor:.1%} of the variance"
    axes = {"xs": grid_a, "ys": grid_rho, "colour": "variance left", "text": True}
    yield figure.heatmap(title, "autocorrelation a", "decay ρ", values=table, **axes)
