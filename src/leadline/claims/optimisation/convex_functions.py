"""The list of convex functions with its near misses, and what midpoints alone can prove."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


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


@claim(
    "convex-function-zoo",
    says=(
        "Convex: w^a on w > 0 for a ≥ 1 or a ≤ 0, |w|^a for a ≥ 1, exp, −log on w > 0, affine functions, wᵀAw iff the "
        "symmetric part of A is psd, p-norms for p ≥ 1, log-sum-exp. The near misses are refuted."
    ),
    formula=r"w^\top A w \ \text{convex} \iff \tfrac12 (A + A^\top) \succeq 0",
    sources=("penn",),
)
def convex_function_zoo(
    key,
    exponent: Annotated[float, Range(1.0, 6.0)] = 1.5,
    near_miss: Annotated[float, Range(0.2, 0.8)] = 0.5,
    skew: Annotated[float, Range(2.5, 10.0)] = 4.0,
    pairs: Annotated[int, Range(1000, 10_000, log=True)] = 4000,
):
    """`exponent` serves |w|^a and the norm, `near_miss` their non-convex neighbours; `skew` is the entry A₁₂."""
    one = np.eye(2)
    list_of = {
        # name: (number, shape, matrix, only w > 0, convex, twice differentiable)
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
    rng = data.generator(key)
    found, curved = {}, {}
    for name, (number, shape, matrix, positive, _, smooth) in list_of.items():
        member = _Member(jnp.asarray(number), jnp.asarray(shape), jnp.asarray(matrix))
        options = {"low": np.full(2, 0.05 if positive else -3.0), "high": np.full(2, 3.0), "key": key, "climb_steps": 0}
        found[name] = optimisation.refute_convexity(member, test="chord", pairs=pairs, **options)
        if smooth:
            w = rng.uniform(options["low"], options["high"], (500, 2))
            curved[name] = np.linalg.eigvalsh(_hessian(number, shape, matrix, w))
    convex = {name: row[4] for name, row in list_of.items()}
    for name, search in found.items():
        yield exactly(search.refuted, not convex[name], f"{name}: chord test finds a violation in {pairs}")
    for name, values in curved.items():
        if convex[name]:
            yield at_least(values, 0.0, f"{name}: eigenvalues of the Hessian", atol=1e-12 * (1 + np.abs(values).max()))
        else:
            yield at_most(values.min(), 0.0, f"{name}: least eigenvalue of the Hessian", strict=True)
    triangular = list_of["A triangular"][2]
    eigenvalues, symmetric = np.linalg.eigvals(triangular).real, np.linalg.eigvalsh(triangular + triangular.T)
    yield at_least(eigenvalues.min(), 0.0, "least eigenvalue of the triangular A")
    yield close(curved["A triangular"].min(), symmetric[0], "its curvature: that of A + Aᵀ", rtol=1e-9)
    yield printed(
        at_least(-found["A triangular"].witness.violation, 0.0, "chord gap of wᵀAw, eigenvalues of A not negative"),
        "penn", "wᵀAw is convex if A is psd",
    )  # fmt: skip
    with np.errstate(invalid="ignore"):
        below = bool(np.isfinite(-np.log(-1.0)))
    yield printed(exactly(below, True, "−log w is a number at w = −1"), "penn", "−log w is convex on all of ℝ")

    panels = [_panel(name, *list_of[name][:4], found[name]) for name in
              ("exp", "−log, w > 0", "p-norm", "√w-like, w > 0", "A indefinite", "A triangular")]  # fmt: skip
    refuted = sum(search.refuted for search in found.values())
    yield figure.beside(
        f"{len(found) - refuted} functions pass {pairs} chords, {refuted} near misses are refuted by one", *panels,
        columns=3,
    )  # fmt: skip


def _hessian(number: int, shape: float, matrix: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The Hessians of a twice differentiable member at the rows of w, by hand."""
    n, a = len(w), shape
    if number in (0, 1, 2):
        bend = {0: lambda: a * (a - 1) * np.abs(w) ** (a - 2), 1: lambda: np.exp(w), 2: lambda: w**-2.0}[number]()
        return bend[:, :, None] * np.eye(2)
    if number in (3, 4):
        return np.broadcast_to(matrix + matrix.T if number == 4 else np.zeros((2, 2)), (n, 2, 2))
    if number == 5:
        u = np.abs(w) / np.sum(np.abs(w) ** a, axis=1, keepdims=True) ** (1 / a)
        slope, size = np.sign(w) * u ** (a - 1), np.linalg.norm(w, a, axis=1)[:, None, None]
        return (a - 1) * ((u ** (a - 2))[:, :, None] * np.eye(2) - slope[:, :, None] * slope[:, None, :]) / size
    s = np.exp(w) / np.sum(np.exp(w), axis=1, keepdims=True)
    return s[:, :, None] * np.eye(2) - s[:, :, None] * s[:, None, :]


def _panel(name, number, shape, matrix, positive, search):
    """The function on a line: through the violating pair if there is one."""
    if search.witness is None:
        a, b = (np.full(2, 0.05), np.full(2, 3.0)) if positive else (np.array([-3.0, -1.0]), np.array([3.0, 2.0]))
    else:
        a, b = search.witness.first, search.witness.second
    t = np.linspace(0, 1, 41)
    w = a + t[:, None] * (b - a)
    with np.errstate(divide="ignore"):
        values = {
            0: lambda: np.sum(np.abs(w) ** shape, axis=1), 1: lambda: np.sum(np.exp(w), axis=1),
            2: lambda: -np.sum(np.log(w), axis=1), 4: lambda: np.einsum("ni,ij,nj->n", w, matrix, w) + w[:, 0],
            5: lambda: np.sum(np.abs(w) ** shape, axis=1) ** (1 / shape),
        }[number]()  # fmt: skip
    verdict = "no violation" if search.witness is None else f"above its chord by {search.witness.violation:.2g}"
    ends = (np.array([0.0, 1.0]), values[[0, -1]])
    return figure.curves(
        f"{name}: {verdict}", x="t", y="l(w + t(w′ − w))", lines={"function": (t, values), "chord": ends}
    )


@claim(
    "midpoint-convexity",
    says=(
        "For a continuous function the midpoint inequality implies convexity: applied n times it gives the chord "
        "inequality at every t = k/2ⁿ, and these t are dense. Without continuity it fails (Hamel functions)."
    ),
    formula=(
        r"l\Bigl(\tfrac{1}{2^n} \textstyle\sum_{i=1}^{2^n} w_i\Bigr) \le \tfrac{1}{2^n} \textstyle\sum_i l(w_i), "
        r"\qquad t = k/2^n"
    ),
    sources=("penn",),
    assumes=("l is continuous",),
)
def midpoint_convexity(
    key,
    levels: Annotated[int, Range(1, 10)] = 10,
    pairs: Annotated[int, Range(10, 200)] = 40,
    dimension: Annotated[int, Range(1, 20)] = 3,
):
    """All 2ⁿ − 1 inner dyadic points of each chord; `levels` is n."""
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
            above = (
                function(place * a + (1 - place) * b)
                - np.ravel(place) * function(a)
                - np.ravel(1 - place) * function(b)
            )
            shares[name, kind] = float(np.mean(above > 1e-9))
    yield at_least(list(shares.values()), 0.0, "share of pairs that refute, midpoint and random t", strict=True)
    arguments = [0]
    for _ in range(levels):
        arguments = [copy for argument in arguments for copy in (2 * argument, 2 * argument + 1)]
    yield exactly(len(set(arguments)), 2**levels, "points in the mean after n halvings")
    yield printed(
        exactly(len(set(arguments)), levels, "points in the mean after n halvings"), "penn",
        "iterated n times, the midpoint inequality is for n arguments",
    )  # fmt: skip

    a, b = 0.1, 3.0
    x = np.linspace(a, b, 101)
    marks = {}
    for level in (1, 2, 3):
        place = a + (b - a) * np.arange(1, 2**level, 2) / 2**level
        marks[f"n = {level}"] = (place, np.exp(place))
    ratio = shares["w² + 3 sin² w", "midpoint"], shares["w² + 3 sin² w", "random t"]
    yield figure.curves(
        f"Midpoints fill the chord of exp; on w² + 3 sin² w the midpoint test refutes with {ratio[0]:.2g} of the "
        f"pairs, random t with {ratio[1]:.2g}",
        x="w", y="exp(w)",
        lines={"exp": (x, np.exp(x)), "chord": (np.array([a, b]), np.exp([a, b]))}, points=marks,
    )  # fmt: skip


def _bound_by_halving(first: np.ndarray, second: np.ndarray, levels: int) -> np.ndarray:
    """The bounds that midpoints alone give: each new point gets the mean of the bounds of its two neighbours."""
    bound = np.stack([first, second], axis=1)
    for _ in range(levels):
        finer = np.empty((len(bound), 2 * bound.shape[1] - 1))
        finer[:, ::2], finer[:, 1::2] = bound, (bound[:, :-1] + bound[:, 1:]) / 2
        bound = finer
    return bound
