"""The least eigenvalue of the last layer's Gram matrix: when it is zero, and how it grows with the width."""

from math import comb

import jax
import numpy as np

from leadline import data, networks, tangent
from leadline.claims.tangent.tangent_space.last_layer import on_sphere
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, erratum, exactly, frequency, mean
from leadline.presentation import figure


@claim(sources=("cam",))
def gram_nonsingular(key, dim: Int(2, 5) = 3, units: Int(1, 8) = 4, trials: Int(50, 400) = 150):
    r"""When the last-layer Gram matrix is nonsingular.

    With m ≥ n units the last layer's Gram matrix is nonsingular with high probability if σ is not a polynomial and can
    tell the inputs apart: no pair x, −x for an odd or even σ, no collinear pair for ReLU. A polynomial of degree k
    caps the rank.

    $$\sigma = z^2 : \ \operatorname{rank} \bar K \le \binom{d+1}{2}, \qquad \text{with a constant coordinate }
    \binom{d+2}{2}$$

    Assumes: m ≥ n.

    Check: Many draws of `units` times n features; then distinct inputs that σ cannot tell apart.
    """
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
    # least[activation][geometry]: one value a draw
    least = {name: {where: _least(weights, x, name) / m for where, x in geometries.items()} for name in names}
    positive = {name: np.sum(least[name]["general position"] > 1e-10) for name in names}
    what = f"share of draws with λ_min > 10⁻¹⁰ m, m = {units} n"
    smooth = [positive[name] for name in names if name != "relu"]
    often = frequency(smooth, trials, 0.99, f"{what}, smooth units", side="at least")
    yield often.given(units > 1, "twice as many units as points")
    # A ReLU unit is off at a point with probability 1/2, so that it needs more units than a smooth one.
    often = frequency(positive["relu"], trials, 0.99, f"{what}, ReLU", side="at least")
    yield often.given(units >= 4, "four times as many units as points")
    odd, collinear = least["tanh"]["a pair x, −x"], least["relu"]["a pair x, 2x"]
    blind = at_most(odd, 1e-14, "λ_min/m of tanh with x and −x")
    yield blind
    folded = at_most(collinear, 1e-14, "λ_min/m of ReLU with x and 2x")
    yield folded
    even = _least(weights, geometries["a pair x, −x"], "absolute") / m
    yield at_most(even, 1e-14, "λ_min/m of |z|, an even unit, with x and −x")
    for name in ("softplus", "sigmoid"):
        both = [least[name][where] for where in ("a pair x, −x", "a pair x, 2x")]
        yield at_least(np.median(both, axis=1), 1e-10, f"median λ_min/m of {name} with x and −x, and with x and 2x")
    wrong = at_least(odd, 1e-10, "λ_min/m of tanh on distinct inputs, x and −x")
    yield erratum(wrong, of=blind, by="cam", prints="K̄ > 0 for distinct inputs, in a network without bias")
    wrong = at_least(collinear, 1e-10, "λ_min/m of ReLU on distinct inputs, x and 2x")
    yield erratum(wrong, of=folded, by="cam", prints="the remark that extends it to ReLU")
    many = data.generator(jax.random.fold_in(key, 2)).standard_normal((40, dim))
    w = rng.standard_normal((60, dim + 1))
    plain = tangent.feature_spectrum((many @ w[:, :dim].T) ** 2).rank
    offset = tangent.feature_spectrum((np.column_stack([many, np.ones(40)]) @ w.T) ** 2).rank
    yield exactly(plain, comb(dim + 1, 2), "rank of K̄ for σ = z² at 40 points, 60 units, against binom(d+1, 2)")
    yield exactly(offset, comb(dim + 2, 2), "rank of K̄ for σ = z² with a constant coordinate, against binom(d+2, 2)")
    title = "Distinct inputs are not enough: tanh cannot tell x from −x, nor ReLU x from 2x (zero up to rounding)"
    values = {where: {n: max(np.median(least[n][where]), 1e-18) for n in names} for where in geometries}
    yield figure.bars(title, "activation", "median λ_min(K̄)/m", values=values, log=True)


def _least(weights: np.ndarray, x: np.ndarray, activation: str) -> np.ndarray:
    """λ_min(K̄) for every draw, from singular values."""
    features = np.asarray(networks.activation(activation)(np.einsum("tmd,nd->tnm", weights, x)))
    return np.linalg.svd(features, compute_uv=False)[:, -1] ** 2


@claim(sources=("cam",))
def gram_eigenvalue_linear_in_width(
    key,
    activation: OneOf("sigmoid", "tanh", "softplus", "relu") = "sigmoid",
    width: Int(20_000, 200_000, log=True) = 100_000,
    dim: Int(3, 6) = 3,
):
    r"""Smallest Gram eigenvalue grows linearly.

    K̄/m tends to the matrix with entries E[σ(w·xᵢ) σ(w·xⱼ)], so the least eigenvalue of K̄ grows linearly in the
    width. But its constant can be tiny: for a sigmoid on the sphere it falls from 10⁻² at 4 points to 10⁻⁹ at 32.

    $$\lambda_{\min}(\bar K) = m\, \lambda_{\min}\!\left(E\, v v^T\right) (1 + o(1)), \qquad v_i = \sigma(w \cdot
    x_i)$$

    Assumes: w ~ N(0, I).

    Check: The first m units of one wide network serve as the narrower ones; then more points.
    """
    key_x, key_net, key_many = jax.random.split(key, 3)
    x = _spread(on_sphere(40, dim, key_x), 4)
    limit = tangent.last_layer_limit(x, activation)
    values, vectors = np.linalg.eigh(limit)
    net = tangent.lecun_two_layer(dim, width, activation, key=key_net)
    features = np.asarray(net.features(x))
    yield mean((vectors[:, 0] @ features) ** 2, values[0], "(u·v)² over units, u the limit's last eigenvector")
    widths = np.unique(np.geomspace(100, width, 7).astype(int))
    least = np.array([tangent.feature_spectrum(features[:, :m]).eigenvalues[0] for m in widths])
    settled = close(least[-1] / width, values[0], f"λ_min/m at m = {width}, against quadrature", rtol=0.05)
    yield settled.given(width >= 100_000, "m at least 100000")
    wide = tangent.feature_spectrum(features).eigenvalues / width
    yield close(wide[-1], values[-1], "λ_max/m, against quadrature", rtol=0.05)
    counts = np.array([4, 8, 16, 32])
    cloud = on_sphere(64, 3, key_many)
    cloud = np.concatenate([_spread(cloud, 4), on_sphere(60, 3, key)])  # four well apart, then any
    spectra = np.linalg.eigvalsh(everything := tangent.last_layer_limit(cloud, "sigmoid"))
    ends = np.array([np.linalg.eigvalsh(everything[:n, :n])[[0, -1]] for n in counts])
    yield close(ends[:, 1] / counts, 0.25, "λ_max/(m n) of a sigmoid on the sphere", rtol=0.12)
    yield at_most(ends[-1, 0] / ends[0, 0], 1e-4, "λ_min/m at 32 points over that at 4")
    small = tangent.feature_spectrum(tangent.lecun_two_layer(3, 1000, "sigmoid", key=key_net).features(cloud))
    yield exactly(small.in_doubt, True, "64 points: the spectrum warns that λ_min is below 10⁻¹² λ_max")
    points, lines = {"network": (widths, least / widths)}, {"quadrature": (widths[[0, -1]], values[[0, 0]])}
    title = f"Four points, {activation}: λ_min/m settles at {values[0]:.3g}"
    left = figure.curves(title, "width m", "λ_min(K̄)/m", points=points, lines=lines, log="x")
    points, lines = {"λ_min": (counts, ends[:, 0]), "λ_max": (counts, ends[:, 1])}, {"n/4": (counts, counts / 4)}
    title = f"Sigmoid on the sphere: λ_max = {spectra[-1]:.3g} m at 64 points"
    right = figure.curves(title, "points n", "eigenvalue of the limit", points=points, lines=lines, log="xy")
    title = f"λ_min grows as {values[0]:.3g} m, but the constant falls to {ends[-1, 0]:.1g} for 32 points"
    yield figure.beside(title, left, right)


def _spread(cloud: np.ndarray, count: int) -> np.ndarray:
    """Points of a cloud far from one another and, half as important, from one another's reflections, one by one."""
    chosen = [cloud[0]]
    while len(chosen) < count:
        cosine = cloud @ np.array(chosen).T
        chosen.append(cloud[np.argmin(np.max(np.maximum(cosine, -cosine / 2), axis=1))])
    return np.array(chosen)
