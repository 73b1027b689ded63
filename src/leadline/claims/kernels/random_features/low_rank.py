"""Nyström's approximation of the Gram matrix."""

import jax
import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, Real, at_least, at_most, close, method
from leadline.presentation import figure


@method(sources=("penn",))
def nystrom(
    key, train: Int(300, 1200) = 1200, penalty: Real(0.03, 1.0, log=True) = 0.1, width: Real(0.7, 2.0, log=True) = 1.0
):
    r"""Nyström approximation.

    A few columns C of the Gram matrix and the block W of their rows give C W⁺ Cᵀ: exact on those rows, and everywhere
    if W has the rank of G; never better than the best matrix of that rank. Its features $C W^{-1/2}$ serve any linear
    method. Landmarks are chosen uniformly, by leverage, or greedily.

    $$G \approx C W^{+} C^T, \quad C = G_{:,J}, \; W = G_{J,J}, \qquad \|G - C W^{+} C^T\|_F \ge \|G - G_m\|_F$$

    Check: The data are digits with a Gaussian kernel whose width is a chosen multiple of half the median distance;
    ridge regression on the features is fitted to ten targets ±1.
    """
    x, y, tests, labels = data.digits_split(1200)
    x, y = x[:train], y[:train]
    middle = np.median(kernels.squared_distances(x, x)[np.triu_indices(train, 1)]) ** 0.5
    k = kernels.Gaussian(float(width * middle / 2))
    gram = k(x, x)
    size, ranks = np.linalg.norm(gram), np.array([32, 64, 128, 256, 512] if train >= 1000 else [32, 64, 128, 256])
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
    yield close(exactness, 0.0, "error of C W⁺ Cᵀ on the chosen rows", atol=1e-9)
    yield at_least(below, 0.0, "diagonal of G − C W⁺ Cᵀ", atol=1e-9)
    for name, e in errors.items():
        yield at_least(e, optimal, f"relative error, {name}, against the best of the rank", rtol=1e-9)
        yield at_most(e, e[:1] + e[:-1], f"relative error, {name}, against that of half the rank", rtol=1e-9)
    linear, flat = kernels.Linear(), x @ x.T
    z = kernels.nystrom(linear, x[kernels.greedy_landmarks(linear, x, 64)])(x)
    what = "linear kernel from 64 landmarks, against its Gram matrix of rank at most 64"
    yield close(z @ z.T, flat, what, atol=1e-7 * flat.max())
    few = chosen["uniform"][:100]
    doubled = kernels.nystrom(k, np.concatenate([x[few], x[few][:5]]))(x)
    single = kernels.nystrom(k, x[few])(x)
    yield close(doubled @ doubled.T, single @ single.T, "C W⁺ Cᵀ with landmarks given twice, against once", atol=1e-6)
    lines, axis = {"best of rank m": (ranks, optimal)}, "landmarks m"
    points, accuracies = ({name: (ranks, v) for name, v in part.items()} for part in (errors, shares))
    last = {name: (errors[name][-1], shares[name][-1]) for name in chosen}
    yield figure.beside(
        f"Rank {ranks[-1]} of {train}: error {last['uniform'][0]:.3f} uniform, {last['greedy'][0]:.3f} greedy, "
        f"best {optimal[-1]:.3f}; accuracy {last['uniform'][1]:.3f}, {last['greedy'][1]:.3f}",
        figure.curves("Relative Frobenius error", axis, "error", lines=lines, points=points, log="xy"),
        figure.curves("Test accuracy of ridge on the features", axis, "accuracy", points=accuracies, log="x"),
    )
