"""Explicit feature maps: what they separate, which kernels they give, and how many they are."""

from itertools import combinations_with_replacement
from math import comb
from time import perf_counter

import numpy as np

from leadline import data
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, model
from leadline.kernels import features
from leadline.kernels.features.monomials import monomial_count, monomial_exponents, monomial_values
from leadline.linear_classifiers import margins, perceptrons
from leadline.presentation import figure


@model(sources=("cam", "penn"))
def feature_map_model(
    key, shape: OneOf("circles", "xor") = "circles", samples: Int(20, 400) = 120, gap: Real(0.1, 0.6) = 0.3
):
    r"""Linear models over feature maps.

    A model ⟨θ, φ(x)⟩ is nonlinear in x and linear in θ, so every linear method can train it. No line separates XOR, or
    a disc from the ring around it; a plane over quadratic features does, and the perceptron finds one.

    $$f(x) = \langle \theta, \phi(x) \rangle, \qquad y\,f(x) \le 0 \;\Rightarrow\; \theta \leftarrow \theta +
    y\,\phi(x)$$

    Check: The two classes are a gap apart, and a few fixed points make sure that no line separates them.
    """
    x, y = _circles_or_xor(data.generator(key), shape, samples, gap)
    line = margins.separate(x, y)
    yield exactly(line.separable, False, "separable by a line, by linear programming")
    yield at_most(line.residual, 1e-9, "Σ λᵢ yᵢ (xᵢ, 1) of the programme's proof: convex hulls meet")
    lifted = features.monomial_features(x, 2, offset=1.0)
    widest = margins.max_margin(lifted, y, bias=False)
    yield at_least(widest.margin, 0.0, "margin over the 6 quadratic features", strict=True)
    run = perceptrons.learn(lifted, y, epochs=100_000)
    yield exactly(run.converged, True, "the perceptron over the quadratic features stops")
    bound = widest.radius**2 / widest.margin**2
    yield at_most(run.updates, bound, "updates of the perceptron on the features, against R²/γ² in feature space")
    trained = features.FeatureModel(_quadratic, np.asarray(run.weights))
    yield exactly(trained.predict(x), y, "predictions of the perceptron on the features, training points")
    tolerance = 1e-11 * max(1.0, float(np.abs(run.weights).max()))
    yield close((run.mistakes * y) @ lifted, run.weights, "Σ αᵢ yᵢ φ(xᵢ), against θ", atol=tolerance)
    lift = features.paraboloid_lift if shape == "circles" else _with_product
    plane = margins.max_margin(lift(x), y)
    pulled = features.FeatureModel(lift, plane.weights, plane.bias)
    curves = _pulled_back(shape, plane.weights, plane.bias)
    on_curve = np.concatenate([np.column_stack(c) for c in curves])
    tolerance = 1e-10 * (np.abs(plane.weights).sum() + abs(plane.bias)) * (1 + np.abs(on_curve).max() ** 2)
    yield close(pulled(on_curve), 0.0, "w·φ(x) + b on the curve computed from w and b", atol=tolerance)
    word = "(x₁, x₂, ‖x‖²)" if shape == "circles" else "(x₁, x₂, x₁x₂)"
    corners = np.array([[-1.2, -1.2], [1.2, -1.2], [1.2, 1.2], [-1.2, 1.2], [-1.2, -1.2]])
    height = -(corners @ plane.weights[:2] + plane.bias) / plane.weights[2]
    sheet = _from_the_side(np.column_stack([corners, height]))
    seen = np.concatenate([sheet, _from_the_side(lift(x))])[:, 1]
    domain = (-1.9, 1.9), (seen.min() - 0.1, seen.max() + 0.1)
    side, lines = _by_class(_from_the_side(lift(x)), y), {"separating plane": tuple(sheet.T)}
    boundary, square = {f"boundary{' ' * i}": c for i, c in enumerate(curves)}, ((-1.6, 1.6), (-1.6, 1.6))
    title, third = f"lifted to {word}, seen from the side", "third feature + x₂/4"
    back = "pulled back: w·φ(x) + b = 0"
    yield figure.beside(
        f"Lifted to {word} the classes have margin {plane.margin:.2f} from a plane, which is a curve in x",
        figure.plane(title, "x₁ + x₂/2", third, points=side, lines=lines, domain=domain),
        figure.plane(back, "x₁", "x₂", points=_by_class(x, y), lines=boundary, domain=square),
    )


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


@claim(sources=("penn",), shows=("kernels.features.multinomial_weights",))
def quadratic_feature_kernel(key, dim: Int(1, 5) = 5, degree: Int(1, 6) = 6, offset: Real(0.0, 2.0) = 1.0):
    r"""Polynomial kernel as weighted monomials.

    Monomials with multinomial weights have the inner product (x·x' + c)ᵏ: in the plane (1, √2x₁, √2x₂, √2x₁x₂, x₁²,
    x₂²) gives (1 + x·x')². Without √2 on x₁ and x₂ it gives 1 + u + u² with u = x·x', another kernel.

    $$\sum_{|j| \le k} \frac{k!\; c^{k-|j|}}{\prod_i j_i!\,(k-|j|)!}\, x^j x'^j = (x \cdot x' + c)^k$$

    Check: Both sides are compared on 60 × 60 random pairs; errors are relative to (‖x‖ ‖x'‖ + c)ᵏ, the largest value
    the kernel could have.
    """
    rng = data.generator(key)
    x, z = rng.standard_normal((2, 60, dim))
    scale = (np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(z, axis=1) + offset) ** degree
    exact = (x @ z.T + offset) ** degree
    phi, psi = (features.monomial_features(a, degree, offset=offset) for a in (x, z))
    yield close(phi @ psi.T / scale, exact / scale, "φ(x)·φ(x') against (x·x' + c)^k, relative", atol=1e-10)
    exponents = monomial_exponents(dim, degree)
    bare = monomial_values(x, exponents) @ monomial_values(z, exponents).T
    off = np.abs(bare - exact).max() / scale.max()
    mismatch = at_least(off, 1e-6, "largest mismatch without the weights, relative")
    yield mismatch.given(degree >= 2, "degree 2 or more, so that some weight is not 1")
    a, b = rng.standard_normal((2, 60))
    line = np.stack([np.ones(60), 2**0.5 * a, a**2]), np.stack([np.ones(60), 2**0.5 * b, b**2])
    square, product = (1 + a * b) ** 2, (line[0] * line[1]).sum(0)
    yield close(product, square, "1D: (1, √2x, x²) against (1 + xx')²", atol=1e-12 * (1 + np.abs(a * b).max()) ** 2)
    p, q = rng.standard_normal((2, 400, 2))
    u = (p * q).sum(1)
    full, short = ((_plane_map(p, s) * _plane_map(q, s)).sum(1) for s in (2**0.5, 1.0))
    tolerance = 1e-12 * (1 + np.abs(u).max()) ** 2
    yield close(full, (1 + u) ** 2, "2D: six features against (1 + u)²", atol=tolerance)
    yield close(short, 1 + u + u**2, "2D without √2 on x₁, x₂: against 1 + u + u²", atol=tolerance)
    grid, shown = np.linspace(-3, 3, 60), np.flatnonzero(np.abs(u) <= 3)[::4]
    lines = {"without √2 on x₁ and x₂": (grid, grid), "with it": (grid, 0 * grid)}
    points = {name: (u[shown], ((1 + u) ** 2 - v)[shown]) for name, v in zip(lines, (short, full), strict=True)}
    title = "Without √2 on x₁ and x₂ the map misses (1 + u)² by exactly u: it has the kernel 1 + u + u²"
    yield figure.curves(title, "u = x·x'", "(1 + u)² − φ(x)·φ(x')", lines=lines, points=points)


def _plane_map(x: np.ndarray, linear: float) -> np.ndarray:
    a, b = x.T
    return np.column_stack([np.ones(len(x)), linear * a, linear * b, 2**0.5 * a * b, a**2, b**2])


@claim(sources=("penn",))
def feature_dimension_count(key, largest: Int(2, 8) = 8):
    r"""Number of monomial features.

    There are $\binom{d+k}{k}$ monomials of degree at most k in d variables (286 for d = 3, k = 10), while the kernel
    costs O(d) per pair whatever k is. Explicit features pay off when there are fewer of them than about n, the number
    of examples.

    $$\#\{x^j : |j| \le k\} = \binom{d+k}{k}$$

    Check: The monomials are counted by listing them; then one product K v is timed at growing n, as φ(x)(φ(x)ᵀv) and
    through the n × n kernel matrix.
    """
    sizes = np.arange(1, largest + 1)
    table = np.array([[monomial_count(int(d), int(k)) for k in sizes] for d in sizes])
    listed = [[len(np.unique(monomial_exponents(int(d), int(k)), axis=0)) for k in sizes] for d in sizes]
    words = [[sum(1 for _ in combinations_with_replacement(range(d + 1), k)) for k in sizes] for d in sizes]
    yield exactly(listed, table, "distinct exponents listed, against C(d + k, k)")
    yield exactly(words, table, "words of k letters out of d + 1, order ignored, against C(d + k, k)")
    yield exactly(monomial_count(3, 10), 286, "monomials for d = 3, k = 10")
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
        tolerance = 1e-10 * np.abs(v).sum() * 2.0**degree
        yield close(*results, f"K v by explicit features, against the kernel matrix, n = {n}", atol=tolerance)
        for name, way in ways.items():
            timed[name].append(min(_seconds(way) for _ in range(5)))
    operations = {"explicit features": numbers * count * (degree + 2), "kernel matrix": numbers**2 * (3 + degree)}
    cheaper = operations["explicit features"] < operations["kernel matrix"]
    expected = numbers > count * (degree + 2) / (3 + degree)
    yield exactly(cheaper, expected, "explicit features need fewer multiplications, n by n")
    spent = {name: 1e3 * np.array(t) for name, t in timed.items()}
    faster = spent["explicit features"] < spent["kernel matrix"]
    word = f"took less time from {numbers[faster][0]} examples on" if faster.any() else "did not take less time here"
    drawn = [d for d in (1, 2, 4, 8) if d <= largest]
    lines = {f"d = {d}": (sizes, table[d - 1]) for d in drawn}
    points = {f"d = {d}": (sizes, listed[d - 1]) for d in drawn}
    times = {name: (numbers, t) for name, t in spent.items()}
    thousand = {"n = 1000: below, explicit features are fewer": ("y", 1000.0)}
    equal = {f"C(d + k, k) = {count}": ("x", count)}
    listing, product = "features of degree at most k, by listing", f"time of one product K v, d = 3, k = {degree}"
    yield figure.beside(
        f"C({degree + 3}, {degree}) = {count} features for d = 3, k = {degree}: measured, they {word}",
        figure.curves(listing, "degree k", "features", lines=lines, points=points, rules=thousand, log="y"),
        figure.curves(product, "examples n", "milliseconds", points=times, rules=equal, log="xy"),
    )


def _seconds(way) -> float:
    start = perf_counter()
    way()
    return perf_counter() - start
