"""Explicit feature maps: what they separate, which kernels they give, and how many they are."""

from itertools import combinations_with_replacement
from math import comb
from time import perf_counter
from typing import Annotated

import numpy as np

from leadline import data, features, margins, perceptrons
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, model, printed


@model(
    "feature-map-model",
    says=(
        "A model ⟨θ, φ(x)⟩ is nonlinear in x and linear in θ, so every linear method trains it. No line separates XOR "
        "or a disc from the ring around it; a plane over quadratic features does, and the perceptron finds one."
    ),
    formula=(
        r"f(x) = \langle \theta, \phi(x) \rangle, \qquad "
        r"y\,f(x) \le 0 \;\Rightarrow\; \theta \leftarrow \theta + y\,\phi(x)"
    ),
    sources=("cam", "penn"),
    shows=(
        "features.FeatureModel",
        "features.monomial_features",
        "features.paraboloid_lift",
    ),
)
def feature_map_model(
    key,
    shape: Annotated[str, Choice("circles", "xor")] = "circles",
    samples: Annotated[int, Range(20, 400)] = 120,
    gap: Annotated[float, Range(0.1, 0.6)] = 0.3,
):
    """Two classes a gap apart, a few fixed points making sure that no line separates them."""
    x, y = _circles_or_xor(data.generator(key), shape, samples, gap)
    line = margins.separate(x, y)
    yield exactly(line.separable, False, "separable by a line, by linear programming")
    yield at_most(line.residual, 1e-9, "Σ λᵢ yᵢ (xᵢ, 1) of the programme's proof: convex hulls meet")

    lifted = features.monomial_features(x, 2, offset=1.0)
    widest = margins.max_margin(lifted, y, bias=False)
    yield at_least(widest.margin, 0.0, "margin over the 6 quadratic features", strict=True)
    run = perceptrons.fit(lifted, y, epochs=100_000)
    yield exactly(run.converged, True, "perceptron over the features stops")
    yield at_most(run.updates, widest.radius**2 / widest.margin**2, "its updates, against R²/γ² in feature space")
    trained = features.FeatureModel(_quadratic, np.asarray(run.weights))
    yield exactly(np.asarray(trained.predict(x)), y, "its predictions on the training points")
    yield close(
        (run.mistakes * y) @ lifted, run.weights, "θ against Σ αᵢ yᵢ φ(xᵢ)",
        atol=1e-11 * max(1.0, float(np.abs(run.weights).max())),
    )  # fmt: skip

    lift = features.paraboloid_lift if shape == "circles" else _with_product
    plane = margins.max_margin(lift(x), y)
    pulled = features.FeatureModel(lift, plane.weights, plane.bias)
    curves = _pulled_back(shape, plane.weights, plane.bias)
    on_curve = np.concatenate([np.column_stack(c) for c in curves])
    yield close(
        pulled(on_curve), 0.0, "w·φ(x) + b on the curve computed from w and b",
        atol=1e-10 * float(np.abs(plane.weights).sum() + abs(plane.bias)) * float(1 + np.abs(on_curve).max() ** 2),
    )  # fmt: skip
    word = "(x₁, x₂, ‖x‖²)" if shape == "circles" else "(x₁, x₂, x₁x₂)"
    corners = np.array([[-1.2, -1.2], [1.2, -1.2], [1.2, 1.2], [-1.2, 1.2], [-1.2, -1.2]])
    height = -(corners @ plane.weights[:2] + plane.bias) / plane.weights[2]
    sheet = _from_the_side(np.column_stack([corners, height]))
    seen = np.concatenate([sheet, _from_the_side(lift(x))])[:, 1]
    low, high = float(seen.min()), float(seen.max())
    yield figure.beside(
        f"Lifted to {word} the classes have margin {plane.margin:.2f} from a plane, which is a curve in x",
        figure.plane(
            f"lifted to {word}, seen from the side", x="x₁ + x₂/2", y="third feature + x₂/4",
            points=_by_class(_from_the_side(lift(x)), y), lines={"separating plane": tuple(sheet.T)},
            domain=((-1.9, 1.9), (low - 0.1, high + 0.1)),
        ),
        figure.plane(
            "pulled back: w·φ(x) + b = 0", x="x₁", y="x₂", points=_by_class(x, y),
            lines={f"boundary{' ' * i}": c for i, c in enumerate(curves)}, domain=((-1.6, 1.6), (-1.6, 1.6)),
        ),
    )  # fmt: skip


def _quadratic(x):
    return features.monomial_features(x, 2, offset=1.0)


def _with_product(x):
    return np.column_stack([x, x[:, 0] * x[:, 1]])


def _circles_or_xor(rng, shape: str, samples: int, gap: float) -> tuple[np.ndarray, np.ndarray]:
    if shape == "xor":
        x = rng.uniform(gap / 2, 1, (samples, 2)) * rng.choice([-1.0, 1.0], (samples, 2))
        x[:4] = [[1, 1], [-1, -1], [1, -1], [-1, 1]]
        return x, np.sign(x[:, 0] * x[:, 1])
    y = rng.choice([-1.0, 1.0], samples)
    y[:5] = [1, 1, 1, 1, -1]
    inner = (1 - gap) * 0.7
    radius = np.where(y > 0, rng.uniform(inner + gap, 1, samples), inner * rng.random(samples) ** 0.5)
    angle = rng.uniform(0, 2 * np.pi, samples)
    x = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    x[:4] = [[1, 0], [-1, 0], [0, 1], [0, -1]]  # the square of these four holds the inner disc
    return x, y


def _pulled_back(shape: str, w: np.ndarray, b: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The circle ‖x + w₁₂/(2w₃)‖² = ‖w₁₂/(2w₃)‖² - b/w₃, or the two branches of x₂ = -(b + w₁x₁)/(w₂ + w₃x₁)."""
    if shape == "circles":
        centre = -w[:2] / (2 * w[2])
        radius = np.sqrt(centre @ centre - b / w[2])
        angle = np.linspace(0, 2 * np.pi, 200)
        return [(centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle))]
    pole = -w[1] / w[2]
    reach = np.geomspace(1e-2, 3, 100)
    return [(x1, -(b + w[0] * x1) / (w[1] + w[2] * x1)) for x1 in (pole - reach, pole + reach)]


def _from_the_side(points: np.ndarray) -> np.ndarray:
    return np.column_stack([points[:, 0] + points[:, 1] / 2, points[:, 2] + points[:, 1] / 4])


def _by_class(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    return {"y = +1": x[y > 0], "y = −1": x[y < 0]}


@claim(
    "quadratic-feature-kernel",
    says=(
        "Monomials with multinomial weights have the inner product (x·x' + c)^k: in the plane (1, √2x₁, √2x₂, √2x₁x₂, "
        "x₁², x₂²) gives (1 + x·x')². Without √2 on x₁ and x₂ it gives 1 + u + u², another kernel."
    ),
    formula=r"\sum_{|j| \le k} \frac{k!\; c^{k-|j|}}{\prod_i j_i!\,(k-|j|)!}\, x^j x'^j = (x \cdot x' + c)^k",
    sources=("penn",),
    shows=("features.monomial_features", "features.multinomial_weights", "features.monomial_exponents"),
)
def quadratic_feature_kernel(
    key,
    dim: Annotated[int, Range(1, 5)] = 5,
    degree: Annotated[int, Range(1, 6)] = 6,
    offset: Annotated[float, Range(0.0, 2.0)] = 1.0,
):
    """60 x 60 random pairs; errors are relative to (‖x‖ ‖x'‖ + c)^k, the largest value the kernel could have."""
    rng = data.generator(key)
    x, z = rng.standard_normal((2, 60, dim))
    scale = (np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(z, axis=1) + offset) ** degree
    exact = (x @ z.T + offset) ** degree
    phi, psi = (features.monomial_features(a, degree, offset=offset) for a in (x, z))
    yield close(phi @ psi.T / scale, exact / scale, "φ(x)·φ(x') against (x·x' + c)^k, relative", atol=1e-10)
    exponents = features.monomial_exponents(dim, degree)
    bare = features.monomial_values(x, exponents) @ features.monomial_values(z, exponents).T
    yield at_least(
        np.abs(bare - exact).max() / scale.max(), 1e-6, "largest mismatch without the weights, relative"
    ).given(degree >= 2, "degree 2 or more, so that some weight is not 1")  # fmt: skip

    a, b = rng.standard_normal((2, 60))
    line = np.stack([np.ones(60), 2**0.5 * a, a**2]), np.stack([np.ones(60), 2**0.5 * b, b**2])
    yield close((line[0] * line[1]).sum(0), (1 + a * b) ** 2, "1D: (1, √2x, x²) against (1 + xx')²",
                atol=1e-12 * float((1 + np.abs(a * b).max()) ** 2))  # fmt: skip
    p, q = rng.standard_normal((2, 400, 2))
    u = (p * q).sum(1)
    full, short = ((_plane_map(p, s) * _plane_map(q, s)).sum(1) for s in (2**0.5, 1.0))
    yield close(full, (1 + u) ** 2, "2D: six features against (1 + u)²", atol=1e-12 * float((1 + np.abs(u).max()) ** 2))
    yield close(short, 1 + u + u**2, "2D without √2 on x₁, x₂: against 1 + u + u²",
                atol=1e-12 * float((1 + np.abs(u).max()) ** 2))  # fmt: skip
    yield printed(
        close(short, (1 + u) ** 2, "2D without √2 on x₁, x₂: against (1 + u)²", rtol=1e-6),
        "penn", "(1, x₁, x₂, √2x₁x₂, x₁², x₂²) for (1 + x·x')²",
    )  # fmt: skip
    grid = np.linspace(-3, 3, 60)
    shown = np.abs(u) <= 3
    yield figure.curves(
        "The printed map misses (1 + u)² by exactly u: it has the kernel 1 + u + u²",
        x="u = x·x'", y="(1 + u)² − φ(x)·φ(x')",
        lines={"printed map": (grid, grid), "with √2 on x₁ and x₂": (grid, 0 * grid)},
        points={
            "printed map": (u[shown][::4], ((1 + u) ** 2 - short)[shown][::4]),
            "with √2 on x₁ and x₂": (u[shown][::4], ((1 + u) ** 2 - full)[shown][::4]),
        },
    )  # fmt: skip


def _plane_map(x: np.ndarray, linear: float) -> np.ndarray:
    a, b = x.T
    return np.column_stack([np.ones(len(x)), linear * a, linear * b, 2**0.5 * a * b, a**2, b**2])


@claim(
    "feature-dimension-count",
    says=(
        "There are C(d + k, k) monomials of degree at most k in d variables (286 for d = 3, k = 10), while the kernel "
        "costs O(d) per pair whatever k is. Explicit features pay off when they are fewer than about the n examples."
    ),
    formula=r"\#\{x^j : |j| \le k\} = \binom{d+k}{k}",
    sources=("penn",),
    shows=("features.monomial_count", "features.monomial_exponents"),
)
def feature_dimension_count(key, largest: Annotated[int, Range(2, 8)] = 8):
    """Counts by listing; then one product K v at growing n, as φ(x)(φ(x)ᵀv) and through the n x n kernel matrix."""
    sizes = np.arange(1, largest + 1)
    table = np.array([[features.monomial_count(int(d), int(k)) for k in sizes] for d in sizes])
    listed = [[len(np.unique(features.monomial_exponents(int(d), int(k)), axis=0)) for k in sizes] for d in sizes]
    words = [[sum(1 for _ in combinations_with_replacement(range(d + 1), k)) for k in sizes] for d in sizes]
    yield exactly(np.array(listed), table, "distinct exponents listed, against C(d + k, k)")
    yield exactly(np.array(words), table, "words of k letters out of d + 1, order ignored, against C(d + k, k)")
    yield exactly(features.monomial_count(3, 10), 286, "d = 3, k = 10")

    rng = data.generator(key)
    degree, count = 6, comb(3 + 6, 6)
    numbers = count * np.array([1, 2, 4, 8, 16, 32]) // 2
    timed = {"explicit features": [], "kernel matrix": []}
    for n in numbers:
        x, v = rng.standard_normal((n, 3)) / 3, rng.standard_normal(n)
        ways = {
            "explicit features": lambda x=x, v=v: (f := features.monomial_features(x, degree, offset=1.0)) @ (f.T @ v),
            "kernel matrix": lambda x=x, v=v: (x @ x.T + 1) ** degree @ v,
        }
        results = [way() for way in ways.values()]
        yield close(
            results[0], results[1], f"K v both ways, n = {n}", atol=1e-10 * float(np.abs(v).sum() * 2.0**degree)
        )
        for name, way in ways.items():
            timed[name].append(min(_seconds(way) for _ in range(5)))
    operations = {"explicit features": numbers * count * (degree + 2), "kernel matrix": numbers**2 * (3 + degree)}
    cheaper = operations["explicit features"] < operations["kernel matrix"]
    yield exactly(
        cheaper, numbers > count * (degree + 2) / (3 + degree), "explicit features need fewer multiplications"
    )
    spent = {name: 1e3 * np.array(t) for name, t in timed.items()}
    faster = spent["explicit features"] < spent["kernel matrix"]
    word = f"took less time from {numbers[faster][0]} examples on" if faster.any() else "did not take less time here"
    yield figure.beside(
        f"C({degree + 3}, {degree}) = {count} features for d = 3, k = {degree}: measured, they {word}",
        figure.curves(
            "features of degree at most k, by listing", x="degree k", y="features", log="y",
            lines={f"d = {d}": (sizes, table[d - 1]) for d in (1, 2, 4, 8) if d <= largest},
            points={f"d = {d}": (sizes, np.array(listed)[d - 1]) for d in (1, 2, 4, 8) if d <= largest},
            rules={"n = 1000: below, explicit features are fewer": ("y", 1000.0)},
        ),
        figure.curves(
            f"time of one product K v, d = 3, k = {degree}", x="examples n", y="milliseconds", log="xy",
            points={name: (numbers, t) for name, t in spent.items()},
            rules={f"C(d + k, k) = {count}": ("x", float(count))},
        ),
    )  # fmt: skip


def _seconds(way) -> float:
    start = perf_counter()
    way()
    return perf_counter() - start
