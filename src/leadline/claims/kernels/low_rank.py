"""Nyström's approximation of the Gram matrix."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, kernels
from leadline.evidence import Range, at_least, at_most, close, figure, method


@method(
    "nystrom",
    says=(
        "A few columns C of the Gram matrix and the block W of their rows give C W⁺ Cᵀ: exact on those rows, and "
        "everywhere if W has the rank of G; never better than the best matrix of that rank. Its features C W^(−1/2) "
        "serve any linear method. Landmarks: uniform, by leverage, or greedy."
    ),
    formula=r"G \approx C W^{+} C^T, \quad C = G_{:,J}, \; W = G_{J,J}, \qquad \|G - C W^{+} C^T\|_F \ge \|G - G_m\|_F",
    sources=("penn",),
    shows=(
        "kernels.nystrom", "kernels.Nystrom", "kernels.uniform_landmarks", "kernels.ridge_leverage",
        "kernels.leverage_landmarks", "kernels.greedy_landmarks", "kernels.best_rank_errors",
    ),
)  # fmt: skip
def nystrom(
    key,
    train: Annotated[int, Range(300, 1200)] = 1200,
    penalty: Annotated[float, Range(0.03, 1.0, log=True)] = 0.1,
    width: Annotated[float, Range(0.7, 2.0, log=True)] = 1.0,
):
    """Digits, Gaussian kernel of `width` times half the median distance; ridge on the features for ten targets ±1."""
    x, y, tests, labels = data.digits_split(1200)
    x, y = x[:train], y[:train]
    middle = np.median(kernels.squared_distances(x, x)[np.triu_indices(train, 1)]) ** 0.5
    k = kernels.Gaussian(float(width * middle / 2))
    gram = k(x, x)
    size = np.linalg.norm(gram)
    ranks = np.array([32, 64, 128, 256])
    ranks = np.append(ranks, 512) if train >= 1000 else ranks
    optimal = kernels.best_rank_errors(np.linalg.eigvalsh(gram), ranks)
    keys = jax.random.split(key, 3)
    leverage = kernels.ridge_leverage(gram, penalty)
    chosen = {
        "uniform": kernels.uniform_landmarks(train, int(ranks[-1]), key=keys[0]),
        "leverage": kernels.leverage_landmarks(leverage, int(ranks[-1]), key=keys[1]),
        "greedy": kernels.greedy_landmarks(k, x, int(ranks[-1])),
    }
    targets, errors, shares, exactness, below = 2.0 * np.eye(10)[y] - 1, {}, {}, [], []
    for name, ordered in chosen.items():
        errors[name], shares[name] = [], []
        for landmarks in (ordered[:m] for m in ranks):  # each set holds the ones before it
            map = kernels.nystrom(k, x[landmarks])
            z = map(x)
            rest = gram - z @ z.T
            errors[name].append(np.linalg.norm(rest) / size)
            exactness.append(np.abs(rest[landmarks]).max())
            below.append(np.diag(rest).min())
            w = np.linalg.solve(z.T @ z + penalty * np.eye(z.shape[1]), z.T @ targets)
            shares[name].append(np.mean((map(tests) @ w).argmax(axis=1) == labels))
    yield close(exactness, 0.0, "error on the chosen rows", atol=1e-9)
    yield at_least(below, 0.0, "what is left of the diagonal", atol=1e-9)
    for name, e in errors.items():
        yield at_least(e, optimal, f"relative error, {name}, against the best of the rank", rtol=1e-9)
        yield at_most(e, e[:1] + e[:-1], f"relative error, {name}, against that of half the rank", rtol=1e-9)
    linear = kernels.Linear()
    flat = linear(x, x)
    few = kernels.greedy_landmarks(linear, x, 64)
    z = kernels.nystrom(linear, x[few])(x)
    yield close(z @ z.T, flat, "linear kernel, rank at most 64, from as many landmarks", atol=1e-7 * flat.max())
    few = chosen["uniform"][:100]
    doubled = kernels.nystrom(k, np.concatenate([x[few], x[few][:5]]))(x)
    single = kernels.nystrom(k, x[few])(x)
    yield close(doubled @ doubled.T, single @ single.T, "landmarks given twice change nothing", atol=1e-6)
    last = {name: (errors[name][-1], shares[name][-1]) for name in chosen}
    yield figure.beside(
        f"Rank {ranks[-1]} of {train}: error {last['uniform'][0]:.3f} uniform, {last['greedy'][0]:.3f} greedy, "
        f"best {optimal[-1]:.3f}; accuracy {last['uniform'][1]:.3f}, {last['greedy'][1]:.3f}",
        figure.curves(
            "Relative Frobenius error",
            x="landmarks m",
            y="error",
            lines={"best of rank m": (ranks, optimal)},
            points={name: (ranks, e) for name, e in errors.items()},
            log="xy",
        ),
        figure.curves(
            "Test accuracy of ridge on the features",
            x="landmarks m",
            y="accuracy",
            points={name: (ranks, s) for name, s in shares.items()},
            log="x",
        ),
    )
