"""Whether momentum still accelerates when the gradient is noisy: exact maps of second moments."""

from itertools import product
from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean, printed

_CONDITIONS = np.array([1e2, 1e3, 1e4])
_NOISES = (1.0, 1.5, 2.0, 3.0, 6.0)
_REFERENCE = {
    "sgd": (1.00, 1.00, 1.00, 1.00, 1.00),
    "heavy ball": (0.50, 0.94, 0.96, 0.98, 0.99),
    "nesterov": (0.51, 0.49, 0.48, 0.65, 0.95),
}


@claim(
    "momentum-does-not-accelerate-sgd",
    says=(
        "With multiplicative noise (E q = 1, E q² = K) heavy ball never accelerates: for K > 1 its effective step is "
        "bounded and iterations stay proportional to κ. Nesterov's method keeps √κ if and only if K < 3; with batches "
        "if and only if b > (K − 1)/2."
    ),
    formula=(
        r"\eta h < \frac{2 (1 - \rho^2)}{(1 - \rho) + (1 + \rho)(K - 1)} \;\text{(heavy ball)}, \qquad "
        r"\eta h_{max} < \frac{2 (3 - K)}{3 K} \;\text{(Nesterov, } \rho \to 1)"
    ),
    sources=("penn",),
    assumes=("decoupled coordinates", "independent factors q with E q = 1, E q² = K"),
)
def momentum_does_not_accelerate_sgd(
    key,
    noise: Annotated[float, Range(1.05, 6.0)] = 2.0,
    batch: Annotated[int, Range(1, 16)] = 1,
    momentum: Annotated[float, Range(0.0, 0.99)] = 0.9,
    condition: Annotated[float, Range(100.0, 1e4, log=True)] = 1000.0,
    paths: Annotated[int, Range(10_000, 400_000, log=True)] = 100_000,
):
    """Thresholds at K of this noise and batch; the map against all paths of 10 steps and against simulated ones."""
    k = stochastic.batch_noise(noise, batch)
    found = _crossing("heavy ball", momentum, k)
    yield close(found, stochastic.heavy_ball_limit(momentum, k), "largest stable ηh of heavy ball", rtol=1e-3)
    reach = stochastic.heavy_ball_limit(0.999, k) / (1 - 0.999)
    yield at_most(reach, 4.0 / (k - 1), "effective step ηh/(1 − ρ) of heavy ball at its limit, ρ = 0.999", rtol=1e-9)
    limit = stochastic.nesterov_limit(k)
    near = _crossing("nesterov", 1 - 1e-6, k) if limit > 0 else 0.0
    edge = close(
        near, limit, "largest stable ηh of Nesterov's method at ρ = 1 − 10⁻⁶, against 2(3 − K)/(3K)", rtol=1e-3
    )
    yield edge.given(k < 2.99, "K < 3")
    always = stochastic.mean_square_factor("nesterov", np.geomspace(1e-3, 2, 200), 1 - 1e-6, k)
    yield at_least(always, 1.0, "factor of Nesterov's method, ρ = 1 − 10⁻⁶, over 200 steps: never stable").given(
        k > 3.01, "K > 3"
    )
    sizes = np.arange(1, 17)
    kept = [stochastic.nesterov_limit(stochastic.batch_noise(noise, int(b))) > 0 for b in sizes]
    yield exactly(
        kept,
        sizes > (noise - 1) / 2 * (1 + 1e-12),
        "batch sizes 1 … 16 that keep the acceleration, against b > (K − 1)/2",
    )

    x = 0.5 * min(stochastic.heavy_ball_limit(momentum, noise), 1 / noise)
    for name in ("heavy ball", "nesterov"):
        exact = _enumerated(name, x, momentum, noise, 10)
        moments = _moments(name, x, momentum, noise, 20)
        yield close(moments[:11], exact, f"E w² for t ≤ 10, {name}: the map, against all 2¹⁰ paths", rtol=1e-10)
        drawn = _simulated(data.generator(key), name, x, momentum, noise, 20, paths)
        spread = np.sqrt(max(_fourth(name, x, momentum, noise, 20) - moments[20] ** 2, 0.0))
        yield mean(drawn, moments[20], f"E w² at t = 20, {name}: the map, against {paths} paths", deviation=spread)

    slopes = {}
    for name, reference in _REFERENCE.items():
        times = np.array([[_steps(name, kappa, K) for kappa in _CONDITIONS] for K in _NOISES])
        slopes[name] = np.polyfit(np.log(_CONDITIONS), np.log(times).T, 1)[0]
        yield close(
            slopes[name], reference, f"exponent of κ in the iterations, K = 1, 1.5, 2, 3, 6, {name}", atol=0.012
        )
    here = {name: _steps(name, condition, k) for name in _REFERENCE}
    gain = at_most(
        here["heavy ball"], here["sgd"], f"iterations of heavy ball at κ = {condition:.3g}, K = {k:.3g}, against SGD"
    )
    yield gain
    floor = (k - 1) / (4 * k) * here["sgd"]
    yield at_least(here["heavy ball"], floor, "and against (K − 1)/(4K) of SGD's: a constant factor at best", rtol=0.05)
    fast = printed(
        at_least(slopes["nesterov"][1:3], 0.9, "exponent of κ for Nesterov's method, K = 1.5 and 2"), "penn",
        "momentum of either kind gains at best a constant factor with stochastic gradients",
    )  # fmt: skip
    yield fast
    yield at_least(slopes["heavy ball"][1:], 0.9, "exponent of κ for heavy ball, K ≥ 1.5: there it is true")
    yield at_least(slopes["nesterov"][-1], 0.9, "exponent of κ for Nesterov's method, K = 6: there too")
    yield figure.curves(
        (
            f"Nesterov keeps √κ under noise while K < 3 ({slopes['nesterov'][2]:.2f} at K = 2), heavy ball does not "
            f"({slopes['heavy ball'][2]:.2f})"
        ),
        x="K = E q²",
        y="exponent of κ in the iterations",
        points={name: (np.array(_NOISES), values) for name, values in slopes.items()},
        rules={"K = 3": ("x", 3.0), "√κ": ("y", 0.5)},
    )


def _steps(name: str, condition: float, noise: float) -> float:
    return 1 / np.log(1 / stochastic.best_tuning(name, condition, noise).factor)


def _crossing(name: str, momentum: float, noise: float) -> float:
    """The x at which the factor passes 1, by bisection from a small stable step."""
    low, high = 1e-6, 4.5
    for _ in range(50):
        middle = (low + high) / 2
        stable = stochastic.mean_square_factor(name, middle, momentum, noise) < 1
        low, high = (middle, high) if stable else (low, middle)
    return low


def _moments(name: str, x: float, momentum: float, noise: float, steps: int) -> np.ndarray:
    """E wₜ² for t = 0 … steps from w₀ = w₋₁ = 1."""
    matrix, state = stochastic.second_moment_map(name, x, momentum, noise), np.ones(3)
    values = [1.0]
    for _ in range(steps):
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


def _enumerated(name: str, x: float, momentum: float, noise: float, steps: int) -> np.ndarray:
    """E wₜ² over all 2^steps paths of factors, one by one."""
    matrices, chances = _transitions(name, x, momentum, noise)
    choices = np.array(list(product((0, 1), repeat=steps)))
    state, weight = np.ones((len(choices), 2)), np.prod(chances[choices], axis=1)
    values = [1.0]
    for t in range(steps):
        state = np.einsum("nij,nj->ni", matrices[choices[:, t]], state)
        values.append(float(weight @ state[:, 0] ** 2))
    return np.array(values)


def _simulated(rng, name: str, x: float, momentum: float, noise: float, steps: int, paths: int) -> np.ndarray:
    """wₜ² after the steps on independent paths."""
    now, before = np.ones(paths), np.ones(paths)
    for _ in range(steps):
        q = noise * (rng.random(paths) < 1 / noise)
        ahead = (1 + momentum) * now - momentum * before
        now, before = ((1 - x * q) * ahead if name == "nesterov" else ahead - x * q * now), now
    return now**2


def _fourth(name: str, x: float, momentum: float, noise: float, steps: int) -> float:
    """E wₜ⁴, from the mean of the fourth Kronecker power."""
    matrices, chances = _transitions(name, x, momentum, noise)
    squares = [np.kron(m, m) for m in matrices]
    power = sum(p * np.kron(s, s) for p, s in zip(chances, squares, strict=True))
    return float((np.linalg.matrix_power(power, steps) @ np.ones(16))[0])
