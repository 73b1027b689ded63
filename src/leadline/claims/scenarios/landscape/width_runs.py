"""Two-layer networks of one width trained on two digits, several seeds at once, in NumPy."""

import numpy as np

from leadline import data


def digits_pair(rng: np.random.Generator, count: int, dims: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` images of 3 and 8 by their first principal components, of mean length 1, with a constant; labels ±1."""
    images, labels = data.digits()
    kept = np.flatnonzero(np.isin(labels, (3, 8)))
    centred = images[kept] - images[kept].mean(axis=0)
    projected = centred @ np.linalg.svd(centred, full_matrices=False)[2][:dims].T
    chosen = rng.choice(len(kept), count, replace=False)
    x = projected[chosen] / np.sqrt(np.mean(np.sum(projected[chosen] ** 2, axis=1)))
    return np.hstack([x, np.full((count, 1), 0.5)]), np.where(labels[kept[chosen]] == 3, 1.0, -1.0)


def relative_distances(
    rng: np.random.Generator, x: np.ndarray, y: np.ndarray, width: int, seeds: int, until: float, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """‖w_end − w₀‖/‖w₀‖ and whether the loss fell to `until` of the first, for `seeds` ReLU networks in the NTK form.

    f = √(2/m) v·max(Wx, 0), all weights from N(0, 1); descent on the mean square with η = n/(2λ_max(K₀)), less where
    the trace of the tangent kernel K has grown.
    """
    s = np.sqrt(2 / width)
    W, v = rng.normal(size=(seeds, width, x.shape[1])), rng.normal(size=(seeds, width))
    W0, v0 = W.copy(), v.copy()
    reached, first, rate = np.zeros(seeds, bool), None, None
    for _ in range(most + 1):
        z = x @ W.swapaxes(1, 2)  # (seeds, n, width)
        h, gate = np.maximum(z, 0), (z > 0) * v[:, None]
        error = s * np.einsum("snm,sm->sn", h, v) - y
        losses = np.mean(error**2, axis=1)
        if first is None:
            kernel = s**2 * (h @ h.swapaxes(1, 2) + (gate @ gate.swapaxes(1, 2)) * (x @ x.T))
            first, rate = losses, len(y) / (2 * np.maximum(np.linalg.eigvalsh(kernel)[:, -1], 1e-12))
        reached |= losses <= until * first
        if reached.all():
            break
        traces = s**2 * (np.sum(h**2, axis=(1, 2)) + np.sum(gate**2, axis=2) @ np.sum(x**2, axis=1))
        eta = np.minimum(rate, len(y) / (1.5 * np.maximum(traces, 1e-12)))
        push = np.where(reached, 0.0, 2 * s * eta / len(y))[:, None] * error
        W -= np.einsum("snm,sn,nd->smd", gate, push, x, optimize=True)
        v -= np.einsum("snm,sn->sm", h, push)
    moved = np.sum((W - W0) ** 2, axis=(1, 2)) + np.sum((v - v0) ** 2, axis=1)
    return np.sqrt(moved / (np.sum(W0**2, axis=(1, 2)) + np.sum(v0**2, axis=1))), reached
