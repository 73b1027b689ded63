"""The list of convex functions with its near misses, and what midpoints alone can prove."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close
from leadline.presentation import figure


class _Member(eqx.Module):
    """One function of the list, chosen by number: all of them are one program."""

    number: jax.Array
    shape: jax.Array
    matrix: jax.Array

    def __call__(self, w: jax.Array) -> jax.Array:
        branches = [
            lambda w, a: jnp.sum(jnp.abs(w) ** a),
            lambda w, _: jnp.sum(jnp.exp(w)),
            lambda w, _: -jnp.sum(jnp.log(w)),
            lambda w, _: 2 * w[0] - w[1] + 1,
            lambda w, _: w @ (self.matrix @ w) + w[0],
            lambda w, p: jnp.sum(jnp.abs(w) ** p) ** (1 / p),
            lambda w, _: jnp.max(jnp.abs(w)),
            lambda w, _: jax.nn.logsumexp(w),
        ]
        return jax.lax.switch(self.number, branches, w, self.shape)


@claim(sources=("penn",))
def convex_function_zoo(
    key,
    exponent: Real(1.0, 6.0) = 1.5,
    near_miss: Real(0.2, 0.8) = 0.5,
    skew: Real(2.5, 10.0) = 4.0,
    pairs: Int(1000, 10_000, log=True) = 4000,
):
    r"""A zoo of convex functions.

    These are convex: wᵃ on w > 0 for a ≥ 1 or a ≤ 0, |w|ᵃ for a ≥ 1, the exponential, −log on w > 0, affine functions,
    wᵀAw if and only if the symmetric part of A is positive semidefinite, p-norms for p ≥ 1, and log-sum-exp. The near
    misses are refuted.

    $$w^\top A w \ \text{convex} \iff \tfrac12 (A + A^\top) \succeq 0$$

    Check: The parameter `exponent` serves both |w|ᵃ and the norm, and the near-miss exponent their non-convex
    neighbours; `skew` is the entry A₁₂.
    """
    one, rng = np.eye(2), data.generator(key)
    zoo = {  # number, shape, matrix, only w > 0, convex, twice differentiable
        "|w|^a": (0, exponent, one, False, True, exponent >= 2),
        "|w|": (0, 1.0, one, False, True, False),
        "w^a, w > 0": (0, exponent, one, True, True, True),
        "1/w, w > 0": (0, -1.0, one, True, True, True),
        "exp": (1, 1.0, one, False, True, True),
        "−log, w > 0": (2, 1.0, one, True, True, True),
        "affine": (3, 1.0, one, False, True, True),
        "A psd": (4, 1.0, np.array([[1.0, 1.0], [1.0, 1.0]]), False, True, True),
        "A skew + 1": (4, 1.0, np.array([[1.0, skew], [-skew, 1.0]]), False, True, True),
        "p-norm": (5, exponent, one, False, True, exponent >= 2),
        "max-norm": (6, 1.0, one, False, True, False),
        "log-sum-exp": (7, 1.0, one, False, True, True),
        "√w-like, w > 0": (0, near_miss, one, True, False, True),
        "|w|^½-like": (0, near_miss, one, False, False, False),
        "p = ½ “norm”": (5, near_miss, one, False, False, False),
        "A indefinite": (4, 1.0, np.diag([1.0, -1.0]), False, False, True),
        "A triangular": (4, 1.0, np.array([[1.0, skew], [0.0, 1.0]]), False, False, True),
    }
    panels, refuted = [], 0
    for name, (number, shape, matrix, positive, convex, smooth) in zoo.items():
        member = _Member(jnp.asarray(number), jnp.asarray(shape), jnp.asarray(matrix))
        low, high = np.full(2, 0.05 if positive else -3.0), np.full(2, 3.0)
        search = optimisation.refute_convexity(member, low, high, key=key, pairs=pairs, climb_steps=0)
        violation = search.witness.violation if search.refuted else 0.0
        what = f"{name}: worst violation of the chord test in {pairs} pairs"
        yield at_most(violation, 0.0, what) if convex else at_least(violation, 0.0, what, strict=True)
        if smooth:
            values = np.linalg.eigvalsh(_values_and_hessians(member, rng.uniform(low, high, (500, 2)))[1])
            if convex:
                size = 1 + np.abs(values).max()
                yield at_least(values, 0.0, f"{name}: eigenvalues of the Hessian", atol=1e-12 * size)
            else:
                yield at_most(values.min(), 0.0, f"{name}: least eigenvalue of the Hessian", strict=True)
        refuted += search.refuted
        if name in ("exp", "−log, w > 0", "p-norm", "√w-like, w > 0", "A indefinite", "A triangular"):
            panels.append(_panel(name, member, search.witness, (low, high) if positive else ([-3.0, -1.0], [3.0, 2.0])))
    # the last matrix and its Hessians: A triangular
    eigenvalues, symmetric = np.linalg.eigvals(matrix).real, np.linalg.eigvalsh(matrix + matrix.T)
    yield at_least(eigenvalues.min(), 0.0, "least eigenvalue of the triangular A")
    yield close(values.min(), symmetric[0], "least curvature of wᵀAw, A triangular: that of A + Aᵀ", rtol=1e-9)
    title = f"{len(zoo) - refuted} functions pass {pairs} chords, {refuted} near misses are refuted by one"
    yield figure.beside(title, *panels, columns=3)


@eqx.filter_jit
def _values_and_hessians(member, w):
    return jax.vmap(member)(w), jax.vmap(jax.hessian(member))(w)


def _panel(name, member, witness, ends):
    """The function on a line: through the violating pair if there is one."""
    a, b = map(np.asarray, ends if witness is None else (witness.first, witness.second))
    t = np.linspace(0, 1, 500)
    values = _values_and_hessians(member, a + t[:, None] * (b - a))[0]
    verdict = "no violation" if witness is None else f"above its chord by {witness.violation:.2g}"
    lines = {"function": (t, values), "chord": (t[[0, -1]], values[np.array([0, -1])])}
    return figure.curves(f"{name}: {verdict}", "t", "l(w + t(w′ − w))", lines=lines)


@claim(sources=("penn",))
def midpoint_convexity(key, levels: Int(1, 10) = 10, pairs: Int(10, 200) = 40, dimension: Int(1, 20) = 3):
    r"""Midpoint convexity implies convexity.

    For a continuous function the midpoint inequality implies convexity: applied n times it gives the chord inequality
    at every t = k/2ⁿ, and these t are dense. Without continuity it fails (Hamel functions).

    $$l\Bigl(\tfrac{1}{2^n} \textstyle\sum_{i=1}^{2^n} w_i\Bigr) \le \tfrac{1}{2^n} \textstyle\sum_i l(w_i), \qquad t =
    k/2^n$$

    Assumes: l is continuous.

    Check: All 2ⁿ − 1 inner dyadic points of each chord are tested; the parameter `levels` is n.
    """
    rng = data.generator(key)
    n = 2**levels
    t = np.arange(n + 1) / n
    first, second = rng.uniform(0.05, 3.0, (2, pairs, dimension))
    points = first[:, None] * (1 - t)[:, None] + second[:, None] * t[:, None]  # (pairs, 2ⁿ + 1, dimension)
    convex = {
        "exp": lambda w: np.sum(np.exp(w), axis=-1),
        "w^1.5": lambda w: np.sum(w**1.5, axis=-1),
        "−log": lambda w: -np.sum(np.log(w), axis=-1),
        "‖w‖₃": lambda w: np.linalg.norm(w, 3, axis=-1),
        "log-sum-exp": lambda w: np.log(np.sum(np.exp(w), axis=-1)),
    }
    for name, function in convex.items():
        values = function(points)
        size = 1e-13 * (1 + np.abs(values).max())
        bound = _bound_by_halving(values[:, 0], values[:, -1], levels)
        chord = values[:, :1] * (1 - t) + values[:, -1:] * t
        yield at_most(values, bound, f"{name} at all t = k/2ⁿ against the bound by halving", atol=size)
        yield close(bound, chord, f"{name}: the bound by halving is the chord", atol=size)
        many = rng.uniform(0.05, 3.0, (pairs, n, dimension))
        jensen = function(many.mean(axis=1)) - function(many).mean(axis=1)
        yield at_most(jensen, 0.0, f"{name} at the mean of {n} points minus the mean of {name}", atol=size)
    other = {
        "w² + 3 sin² w": lambda w: np.sum(w**2 + 3 * np.sin(w) ** 2, axis=-1),
        "√w": lambda w: np.sum(np.sqrt(w), axis=-1),
        "(w² − 1)²": lambda w: np.sum((w**2 - 1) ** 2, axis=-1),
    }
    shares = {}
    for name, function in other.items():
        a, b = rng.uniform(0.05, 3.0, (2, 2000, 1))
        for kind, place in (("midpoint", 0.5), ("random t", rng.uniform(0, 1, (2000, 1)))):
            s = np.ravel(place)
            above = function(place * a + (1 - place) * b) - s * function(a) - (1 - s) * function(b)
            shares[name, kind] = np.mean(above > 1e-9)
    yield at_least(list(shares.values()), 0.0, "share of pairs that refute, midpoint and random t", strict=True)
    a, b = 0.1, 3.0
    x = np.linspace(a, b, 101)
    lines, points = {"exp": (x, np.exp(x)), "chord": ([a, b], np.exp([a, b]))}, {}
    for level in (1, 2, 3):
        place = a + (b - a) * np.arange(1, 2**level, 2) / 2**level
        points[f"n = {level}"] = (place, np.exp(place))
    middle, anywhere = shares["w² + 3 sin² w", "midpoint"], shares["w² + 3 sin² w", "random t"]
    title = (
        f"Midpoints fill the chord of exp; w² + 3 sin² w is refuted by {middle:.2g} of them, {anywhere:.2g} of random t"
    )
    yield figure.curves(title, "w", "exp(w)", lines=lines, points=points)


def _bound_by_halving(first: np.ndarray, second: np.ndarray, levels: int) -> np.ndarray:
    """The bounds that midpoints alone give: each new point gets the mean of the bounds of its two neighbours."""
    bound = np.stack([first, second], axis=1)
    for _ in range(levels):
        finer = np.empty((len(bound), 2 * bound.shape[1] - 1))
        finer[:, ::2], finer[:, 1::2] = bound, (bound[:, :-1] + bound[:, 1:]) / 2
        bound = finer
    return bound
