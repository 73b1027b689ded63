"""The least eigenvalue of the last layer's Gram matrix: when it is zero, and how it grows with the width."""

from math import comb
from typing import Annotated

import jax
import numpy as np

from leadline import data, networks, tangent
from leadline.claims.tangent.last_layer import on_sphere
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, frequency, mean, printed


@claim(
    "gram-nonsingular",
    says=(
        "With m ≥ n units the last layer's Gram matrix is nonsingular with high probability if σ is no polynomial and "
        "can tell the inputs apart: no pair x, −x for an odd σ, no collinear pair for ReLU. A polynomial of degree k "
        "caps the rank."
    ),
    formula=r"\sigma = z^2 : \ \operatorname{rank} \bar K \le \binom{d+1}{2}, \qquad \text{with a constant coordinate "
    r"} \binom{d+2}{2}",
    sources=("cam",),
    assumes=("m ≥ n",),
)
def gram_nonsingular(
    key,
    dim: Annotated[int, Range(2, 5)] = 3,
    units: Annotated[int, Range(1, 8)] = 4,
    trials: Annotated[int, Range(50, 400)] = 150,
):
    """λ_min over many draws of `units` times n features; then two sets of distinct inputs that σ cannot tell apart."""
    key_x, key_w = jax.random.split(key)
    points = dim + 2
    m = units * points
    rng = data.generator(key_w)
    weights = rng.standard_normal((trials, m, dim))
    fair = _spread(on_sphere(60, dim, key_x), points)
    base = fair[:-1]
    geometries = {
        "general position": fair,
        "a pair x, −x": np.concatenate([base, -base[:1]]),
        "a pair x, 2x": np.concatenate([base, 2 * base[:1]]),
    }
    names = ("tanh", "relu", "softplus", "sigmoid")
    least = {
        name: {where: _least(weights, x, name) / m for where, x in geometries.items()} for name in names
    }  # least[activation][geometry]: one value a draw
    seen = [least[name]["general position"] for name in names if name != "relu"]
    yield frequency(
        [int(np.sum(values > 1e-10)) for values in seen], trials, 0.99, f"λ_min > 10⁻¹⁰ m over draws, m = {units} n",
        side="at least",
    ).given(units > 1, "twice as many units as points")  # fmt: skip
    # A ReLU unit is off at a point with probability 1/2, so that it needs more units than a smooth one.
    yield frequency(
        int(np.sum(least["relu"]["general position"] > 1e-10)), trials, 0.99, "the same for ReLU", side="at least"
    ).given(units >= 4, "four times as many units as points")
    odd, collinear = least["tanh"]["a pair x, −x"], least["relu"]["a pair x, 2x"]
    yield at_most(odd, 1e-14, "λ_min/m of tanh with x and −x")
    yield at_most(collinear, 1e-14, "λ_min/m of ReLU with x and 2x")
    for name in ("softplus", "sigmoid"):
        both = [least[name][where] for where in ("a pair x, −x", "a pair x, 2x")]
        yield at_least(np.median(both, axis=1), 1e-10, f"median λ_min/m of {name} on the same points")
    distinct = "distinct inputs suffice for K̄ > 0"
    yield printed(at_least(odd, 1e-10, "λ_min/m of tanh on distinct inputs, x and −x"), "cam", distinct)
    yield printed(at_least(collinear, 1e-10, "λ_min/m of ReLU on distinct inputs, x and 2x"), "cam", distinct)

    many = data.generator(jax.random.fold_in(key, 2)).standard_normal((40, dim))
    w = rng.standard_normal((60, dim + 1))
    plain = tangent.feature_spectrum((many @ w[:, :dim].T) ** 2).rank
    offset = tangent.feature_spectrum((np.column_stack([many, np.ones(40)]) @ w.T) ** 2).rank
    yield exactly(plain, comb(dim + 1, 2), "rank of K̄ for σ = z² at 40 points, 60 units, against binom(d+1, 2)")
    yield exactly(offset, comb(dim + 2, 2), "rank with a constant coordinate, against binom(d+2, 2)")
    yield figure.bars(
        "Distinct inputs are not enough: tanh cannot tell x from −x, nor ReLU x from 2x; there λ_min/m is zero up to "
        "rounding",
        x="activation",
        y="median λ_min(K̄)/m",
        values={where: {n: max(float(np.median(least[n][where])), 1e-18) for n in names} for where in geometries},
        log=True,
    )


def _least(weights: np.ndarray, x: np.ndarray, activation: str) -> np.ndarray:
    """λ_min(K̄) for every draw, from singular values."""
    features = np.asarray(networks.activation(activation)(np.einsum("tmd,nd->tnm", weights, x)))
    return np.linalg.svd(features, compute_uv=False)[:, -1] ** 2


@claim(
    "gram-eigenvalue-linear-in-width",
    says=(
        "K̄/m tends to the matrix of E σ(w·x_i) σ(w·x_j), so the least eigenvalue of K̄ grows linearly in the width; "
        "but its constant can be tiny: for a sigmoid on the sphere it falls from 10⁻² at 4 points to 10⁻⁹ at 32."
    ),
    formula=r"\lambda_{\min}(\bar K) = m\, \lambda_{\min}\!\left(E\, v v^T\right) (1 + o(1)), \qquad v_i = \sigma(w "
    r"\cdot x_i)",
    sources=("cam",),
    assumes=("w ~ N(0, I)",),
    shows=("tangent.last_layer_limit",),
)
def gram_eigenvalue_linear_in_width(
    key,
    activation: Annotated[str, Choice("sigmoid", "tanh", "softplus", "relu")] = "sigmoid",
    width: Annotated[int, Range(20_000, 200_000, log=True)] = 100_000,
    dim: Annotated[int, Range(3, 6)] = 3,
):
    """Four points and one wide network whose first m units are the narrower ones; then more and more points."""
    key_x, key_net, key_many = jax.random.split(key, 3)
    x = _spread(on_sphere(40, dim, key_x), 4)
    limit = tangent.last_layer_limit(x, activation)
    values, vectors = np.linalg.eigh(limit)
    net = tangent.lecun_two_layer(dim, width, activation, key=key_net)
    features = np.asarray(net.features(x))
    yield mean((vectors[:, 0] @ features) ** 2, values[0], "(u·v)² over units, u the limit's last eigenvector")
    widths = np.unique(np.geomspace(100, width, 7).astype(int))
    least = np.array([tangent.feature_spectrum(features[:, :m]).eigenvalues[0] for m in widths])
    yield close(least[-1] / width, values[0], f"λ_min/m at m = {width}, against quadrature", rtol=0.05).given(
        width >= 100_000, "m at least 100000"
    )
    wide = tangent.feature_spectrum(features).eigenvalues / width
    yield close(wide[-1], values[-1], "λ_max/m, against quadrature", rtol=0.05)

    counts = np.array([4, 8, 16, 32])
    cloud = on_sphere(64, 3, key_many)
    cloud = np.concatenate([_spread(cloud, 4), on_sphere(60, 3, key)])  # four well apart, then any
    spectra = np.linalg.eigvalsh(everything := tangent.last_layer_limit(cloud, "sigmoid"))
    ends = np.array([np.linalg.eigvalsh(everything[:n, :n])[[0, -1]] for n in counts])
    yield close(ends[:, 1] / counts, 0.25, "λ_max/(m n) of a sigmoid on the sphere", rtol=0.12)
    yield at_most(ends[-1, 0] / ends[0, 0], 1e-4, "λ_min/m at 32 points over that at 4")
    small = tangent.feature_spectrum(
        np.asarray(tangent.lecun_two_layer(3, 1000, "sigmoid", key=key_net).features(cloud))
    )
    yield exactly(small.in_doubt, True, "64 points: the spectrum warns that λ_min is below 10⁻¹² λ_max")
    yield figure.beside(
        f"λ_min grows as {values[0]:.3g} m, but the constant falls to {ends[-1, 0]:.1g} for 32 points",
        figure.curves(
            f"Four points, {activation}: λ_min/m settles at {values[0]:.3g}",
            x="width m",
            y="λ_min(K̄)/m",
            points={"network": (widths, least / widths)},
            lines={"quadrature": (widths[[0, -1]], values[[0, 0]])},
            log="x",
        ),
        figure.curves(
            f"Sigmoid on the sphere: λ_max = {spectra[-1]:.3g} m at 64 points",
            x="points n",
            y="eigenvalue of the limit",
            points={"λ_min": (counts, ends[:, 0]), "λ_max": (counts, ends[:, 1])},
            lines={"n/4": (counts, counts / 4)},
            log="xy",
        ),
    )


def _spread(cloud: np.ndarray, count: int) -> np.ndarray:
    """Points of a cloud far from one another and, half as important, from one another's reflections, one by one."""
    chosen = [cloud[0]]
    while len(chosen) < count:
        chosen.append(cloud[np.argmin(np.max(_nearness(cloud @ np.array(chosen).T), axis=1))])
    return np.array(chosen)


def _nearness(cosine: np.ndarray) -> np.ndarray:
    return np.maximum(cosine, -cosine / 2)
