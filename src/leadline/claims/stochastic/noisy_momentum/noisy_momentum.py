"""Whether momentum still accelerates when the gradient is noisy: exact maps of second moments."""

from itertools import product

import numpy as np

from leadline import data
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, mean, reference
from leadline.presentation import figure
from leadline.stochastic.moments import noisy_momentum

_CONDITIONS = np.array([1e2, 1e3, 1e4])
_NOISES = (1.0, 1.5, 2.0, 3.0, 6.0)
_REFERENCE = {  # digits, exponents
    "sgd": (3, (1.00, 1.00, 1.00, 1.00, 1.00)),
    "heavy ball": (2, (0.50, 0.94, 0.96, 0.98, 0.99)),
    "nesterov": (2, (0.51, 0.49, 0.48, 0.65, 0.96)),
}


@claim(sources=("penn",))
def momentum_does_not_accelerate_sgd(
    key,
    noise: Real(1.05, 6.0) = 2.0,
    batch: Int(1, 16) = 1,
    momentum: Real(0.0, 0.99) = 0.9,
    condition: Real(100.0, 1e4, log=True) = 1000.0,
    paths: Int(10_000, 400_000, log=True) = 100_000,
):
    r"""Momentum does not accelerate SGD.

    With multiplicative noise (E q = 1, E q² = K) heavy ball never accelerates: for K > 1 its effective step size is
    bounded and iterations stay proportional to κ. Nesterov's method keeps √κ if and only if K < 3; with batches, if
    and only if b > (K − 1)/2.

    $$\eta h < \frac{2 (1 - \rho^2)}{(1 - \rho) + (1 + \rho)(K - 1)} \;\text{(heavy ball)}, \qquad
    \eta h_{\mathrm{max}} < \frac{2 (3 - K)}{3 K} \;\text{(Nesterov, } \rho \to 1)$$

    Assumes: decoupled coordinates; independent factors q with E q = 1, E q² = K.
    """
    k = noisy_momentum.batch_noise(noise, batch)
    found = _crossing("heavy ball", momentum, k)
    limit = noisy_momentum.heavy_ball_limit(momentum, k)
    yield close(found, limit, "largest stable ηh of heavy ball, against its formula", rtol=1e-3)
    reach = noisy_momentum.heavy_ball_limit(0.999, k) / (1 - 0.999)
    yield at_most(reach, 4.0 / (k - 1), "effective ηh/(1 − ρ) of heavy ball at its limit, ρ = 0.999", rtol=1e-9)
    limit = noisy_momentum.nesterov_limit(k)
    near = _crossing("nesterov", 1 - 1e-6, k) if limit > 0 else 0.0
    what = "largest stable ηh of Nesterov's method at ρ = 1 − 10⁻⁶, against 2(3 − K)/(3K)"
    edge = close(near, limit, what, rtol=1e-3)
    yield edge.given(k < 2.99, "K < 3")
    always = noisy_momentum.mean_square_factor("nesterov", np.geomspace(1e-3, 2, 200), 1 - 1e-6, k)
    never = at_least(always, 1.0, "factor of Nesterov's method at 200 step sizes, ρ = 1 − 10⁻⁶: never stable")
    yield never.given(k > 3.01, "K > 3")
    sizes = np.arange(1, 17)
    kept = sum(noisy_momentum.nesterov_limit(noisy_momentum.batch_noise(noise, int(b))) > 0 for b in sizes)
    predicted = np.sum(sizes > (noise - 1) / 2 * (1 + 1e-12))
    yield exactly(kept, predicted, "batch sizes up to 16 that keep the acceleration, against those with b > (K − 1)/2")
    x = 0.5 * min(noisy_momentum.heavy_ball_limit(momentum, noise), 1 / noise)
    for name in ("heavy ball", "nesterov"):
        exact = _enumerated(name, x, momentum, noise, 10)
        moments = _moments(name, x, momentum, noise, 20)
        yield close(moments[:11], exact, f"E w² for t ≤ 10, {name}: the map, against all 2¹⁰ paths", rtol=1e-10)
        drawn = _simulated(data.generator(key), name, x, momentum, noise, 20, paths)
        spread = np.sqrt(max(_fourth(name, x, momentum, noise, 20) - moments[20] ** 2, 0.0))
        yield mean(drawn, moments[20], f"E w² at t = 20, {name}: the map, against {paths} paths", deviation=spread)
    slopes = {}
    for name, (digits, known) in _REFERENCE.items():
        times = np.array([[_steps(name, kappa, K) for kappa in _CONDITIONS] for K in _NOISES])
        slopes[name] = np.polyfit(np.log(_CONDITIONS), np.log(times).T, 1)[0]
        what = f"exponent of κ in the iterations, K = 1, 1.5, 2, 3, 6, {name}"
        yield reference(slopes[name], known, what, digits=digits)
    here = {name: _steps(name, condition, k) for name in _REFERENCE}
    where = f"iterations of heavy ball at κ = {condition:.3g}, K = {k:.3g}"
    yield at_most(here["heavy ball"], here["sgd"], f"{where}, against SGD")
    floor = (k - 1) / (4 * k) * here["sgd"]
    yield at_least(here["heavy ball"], floor, f"{where}, against (K − 1)/(4K) of SGD's", rtol=0.05)
    yield at_least(slopes["heavy ball"][1:], 0.9, "exponent of κ for heavy ball, K ≥ 1.5: no acceleration")
    yield at_least(slopes["nesterov"][-1], 0.9, "exponent of κ for Nesterov's method, K = 6: no acceleration")
    exponents = slopes["nesterov"][2], slopes["heavy ball"][2]
    title = f"At K = 2 the exponent of κ is {exponents[0]:.2f} for Nesterov's method, {exponents[1]:.2f} for heavy ball"
    points = {name: (_NOISES, values) for name, values in slopes.items()}
    rules = {"K = 3": ("x", 3.0), "√κ": ("y", 0.5)}
    yield figure.curves(title, "K = E q²", "exponent of κ in the iterations", points=points, rules=rules)


def _steps(name: str, condition: float, noise: float) -> float:
    return 1 / np.log(1 / noisy_momentum.best_tuning(name, condition, noise).factor)


def _crossing(name: str, momentum: float, noise: float) -> float:
    """The x at which the factor passes 1, by bisection from a small stable step."""
    low, high = 1e-6, 4.5
    for _ in range(50):
        middle = (low + high) / 2
        stable = noisy_momentum.mean_square_factor(name, middle, momentum, noise) < 1
        low, high = (middle, high) if stable else (low, middle)
    return low


def _moments(name: str, x: float, momentum: float, noise: float, num_steps: int) -> np.ndarray:
    """E wₜ² for t = 0 … steps from w₀ = w₋₁ = 1."""
    matrix, state = noisy_momentum.second_moment_map(name, x, momentum, noise), np.ones(3)
    values = [1.0]
    for _ in range(num_steps):
        state = matrix @ state
        values.append(state[0])
    return np.array(values)


def _transitions(name: str, x: float, momentum: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """The one-hot design: q = 0, or K with probability 1/K; the matrices of (wₜ, wₜ₋₁) and their probabilities."""
    matrices = []
    for q in (0.0, noise):
        if name == "nesterov":
            row = (1 - x * q) * np.array([1 + momentum, -momentum])
        else:
            row = np.array([1 + momentum - x * q, -momentum])
        matrices.append([row, [1.0, 0.0]])
    return np.array(matrices), np.array([1 - 1 / noise, 1 / noise])


def _enumerated(name: str, x: float, momentum: float, noise: float, num_steps: int) -> np.ndarray:
    """E wₜ² over all 2^steps paths of factors, one by one."""
    matrices, chances = _transitions(name, x, momentum, noise)
    choices = np.array(list(product((0, 1), repeat=num_steps)))
    state, weight = np.ones((len(choices), 2)), np.prod(chances[choices], axis=1)
    values = [1.0]
    for t in range(num_steps):
        state = np.einsum("nij,nj->ni", matrices[choices[:, t]], state)
        values.append(weight @ state[:, 0] ** 2)
    return np.array(values)


def _simulated(rng, name: str, x: float, momentum: float, noise: float, num_steps: int, paths: int) -> np.ndarray:
    """wₜ² after the steps on independent paths."""
    now, before = np.ones(paths), np.ones(paths)
    for _ in range(num_steps):
        q = noise * (rng.random(paths) < 1 / noise)
        ahead = (1 + momentum) * now - momentum * before
        now, before = ((1 - x * q) * ahead if name == "nesterov" else ahead - x * q * now), now
    return now**2


def _fourth(name: str, x: float, momentum: float, noise: float, num_steps: int) -> float:
    """E wₜ⁴, from the mean of the fourth Kronecker power."""
    matrices, chances = _transitions(name, x, momentum, noise)
    squares = [np.kron(m, m) for m in matrices]
    power = sum(p * np.kron(s, s) for p, s in zip(chances, squares, strict=True))
    return (np.linalg.matrix_power(power, num_steps) @ np.ones(16))[0]
