"""The perceptron seen otherwise: as subgradient descent, and in dual form."""

from math import comb
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, perceptrons
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, method


@claim(
    "perceptron-is-sgd",
    says=(
        "The rule is stochastic subgradient descent with step 1 on max(0, −y w·x), taking −y x at ties. From w₀ "
        "= 0 any step η gives η times the same path; from w₀ ≠ 0 it does not."
    ),
    formula=(
        r"w \leftarrow w - g, \quad g \in \partial \max(0, -y\, w \cdot x), \quad g = -y x \text{ if } y\, w "
        r"\cdot x \le 0"
    ),
    sources=("sheet", "penn"),
    assumes=("at a tie the subgradient −y x is chosen from [−y x, 0]",),
)
def perceptron_is_sgd(
    key,
    dim: Annotated[int, Range(1, 100)] = 5,
    samples: Annotated[int, Range(5, 500)] = 60,
    step: Annotated[float, Range(0.01, 0.5, log=True)] = 0.1,
    start_norm: Annotated[float, Range(1.0, 20.0, log=True)] = 2.0,
    order: Annotated[str, Choice("cyclic", "permuted", "uniform")] = "uniform",
):
    """Automatic differentiation and optax on one side, the rule on the other, with the same stream of examples."""
    key_data, key_order, key_points = jax.random.split(key, 3)
    x, y, direction = data.separable_ball(samples, dim, 0.02, key=key_data)
    sweeps = 10
    stream = jnp.concatenate([perceptrons.sweep_order(samples, order, epoch, key_order) for epoch in range(sweeps)])

    def iterates(step, start):
        """The rule's weights after each presentation."""
        run = perceptrons.fit(x, y, order=order, step=step, start=start, epochs=sweeps, key=key_order)
        made = np.searchsorted(run.times, np.arange(len(stream) + 1))
        return perceptrons.path(run, x, y).weights[made]

    zero, away = jnp.zeros(dim), -start_norm * direction
    rule, rule_away, rule_small = iterates(1.0, zero), iterates(1.0, away), iterates(step, zero)
    starts = {"0": zero, "away": away}
    descent = {(s, name): np.asarray(perceptrons.subgradient_descent(x, y, stream, step=s, start=w))
               for s in (1.0, step) for name, w in starts.items()}  # fmt: skip
    yield close(descent[1.0, "0"], rule, "weights after each presentation, SGD against the rule, w₀ = 0, η = 1")
    yield close(descent[1.0, "away"], rule_away, "the same from w₀ ≠ 0")
    largest = float(np.max(np.abs(rule)))
    yield close(rule_small / step, rule, "rule with step η, divided by η", atol=1e-12 * largest * len(stream))
    yield close(descent[step, "0"] / step, rule, "SGD with step η, divided by η", atol=1e-12 * largest * len(stream))
    moves = {s: np.any(np.diff(descent[s, "away"], axis=0) != 0, axis=1) for s in (1.0, step)}
    yield at_least(int(np.sum(moves[1.0] != moves[step])), 1, "presentations where only one of η, 1 updates, w₀ ≠ 0")

    w = jax.random.normal(key_points, (samples, dim))
    gradient = jax.vmap(jax.grad(perceptrons.perceptron_loss))(w, x, y)
    away_from_kink = np.abs(np.sum(w * x, 1)) > 1e-3
    differences = _difference_quotients(np.asarray(w), np.asarray(x), np.asarray(y))
    if away_from_kink.any():
        yield close(
            gradient[away_from_kink],
            differences[away_from_kink],
            "gradient against difference quotients, off the kink",
            atol=1e-6,
        )
    at_tie = jax.vmap(jax.grad(perceptrons.perceptron_loss), (None, 0, 0))(zero, x, y)
    yield close(at_tie, -y[:, None] * x, "subgradient chosen at the tie w = 0, against −y x")

    shown = slice(0, min(len(stream), 300) + 1)
    presented, norm = np.arange(len(stream) + 1)[shown], lambda path: np.linalg.norm(path, axis=1)[shown]
    # Each path is drawn as what its updates have added, in units of its step.
    added = {s: (descent[s, "away"] - np.asarray(away)) / s for s in (1.0, step)}
    yield figure.curves(
        (
            f"From w₀ = 0 SGD with step {step:.2g} is the rule, scaled; from ‖w₀‖ = {start_norm:.2g} the steps 1 "
            f"and {step:.2g} part"
        ),
        x="presentations",
        y="‖w − w₀‖/η",
        lines={"the rule, w₀ = 0": (presented, norm(rule))},
        points={f"SGD, w₀ = 0, η = {step:.2g}": (presented[::6], (norm(descent[step, "0"]) / step)[::6])},
        steps={f"SGD, w₀ ≠ 0, η = {s:.2g}": (presented, norm(path)) for s, path in added.items()},
    )


def _difference_quotients(w, x, y, h=1e-5):
    """Central differences of max(0, −y w.x) in each weight."""

    def loss(w):
        return np.maximum(0, -y * np.sum(w * x, axis=1))

    return np.stack([(loss(w + h * e) - loss(w - h * e)) / (2 * h) for e in np.eye(w.shape[1])], axis=1)


@claim(
    "perceptron-dual-form",
    says=(
        "At any time w = w₀ + Σ αᵢ yᵢ xᵢ, with αᵢ the number of mistakes made on example i; so w − w₀ stays in "
        "the span of the inputs. The αᵢ depend on the order of presentation."
    ),
    formula=r"w_t = w_0 + \sum_i \alpha_i y_i x_i, \qquad \sum_i \alpha_i = t \le R^2/\gamma^2",
    sources=("eth", "penn"),
)
def perceptron_dual_form(
    key,
    dim: Annotated[int, Range(2, 300)] = 40,
    samples: Annotated[int, Range(2, 1000)] = 25,
    margin: Annotated[float, Range(0.02, 0.9, log=True)] = 0.05,
    start_norm: Annotated[float, Range(0.0, 10.0)] = 1.0,
    order: Annotated[str, Choice("cyclic", "permuted", "uniform", "adversarial")] = "permuted",
):
    """One run from w₀ = 0 for the bound, one from a random w₀ for the rest; the span is found by a QR decomposition."""
    key_data, key_order, key_start = jax.random.split(key, 3)
    x, y, direction = data.separable_ball(samples, dim, margin, key=key_data)
    start = jax.random.normal(key_start, (dim,))
    start = start_norm * start / jnp.linalg.norm(start)
    run = perceptrons.fit(x, y, order=order, start=start, key=key_order, epochs=100_000)
    path = perceptrons.path(run, x, y).weights
    rebuilt = perceptrons.mistake_weights(run.mistakes, x, y, start=start)
    scale = float(jnp.linalg.norm(run.weights)) + run.updates
    yield close(rebuilt, run.weights, "w₀ + Σ αᵢ yᵢ xᵢ against w at the stop", atol=1e-12 * scale)
    half = run.updates // 2
    early = np.bincount(run.history[:half], minlength=samples)
    yield close(
        perceptrons.mistake_weights(early, x, y, start=start),
        path[half],
        f"the same after {half} updates",
        atol=1e-12 * scale,
    )
    yield exactly(np.bincount(run.history, minlength=samples), run.mistakes, "αᵢ, counted along the path")
    basis = np.linalg.qr(np.asarray(x).T)[0]
    change = path - np.asarray(start)
    outside = np.linalg.norm(change - (change @ basis) @ basis.T, axis=1)
    yield at_most(outside, 1e-12 * scale, "part of w − w₀ outside the span of the inputs").given(samples < dim, "n < d")
    from_zero = perceptrons.fit(x, y, order=order, key=key_order, epochs=100_000)
    radius, gamma = float(jnp.max(jnp.linalg.norm(x, axis=1))), float(jnp.min(y * (x @ direction)))
    yield at_most(int(np.sum(from_zero.mistakes)), int(radius**2 / gamma**2), "Σ αᵢ from w₀ = 0, against ⌊R²/γ²⌋")
    pair, positive = np.array([[1.0], [2.0]]), np.ones(2)
    orders = [perceptrons.fit(pair, positive).mistakes, perceptrons.fit(pair[::-1], positive).mistakes[::-1]]
    yield exactly(np.array(orders), np.array([[1, 0], [0, 1]]), "α of the inputs 1 and 2, in the two orders")

    x, y, _ = data.separable_ball(80, 2, 0.01, key=key_data)
    run = perceptrons.fit(x, y, order=order, key=key_order, epochs=100_000)
    x, y, alpha, w = np.asarray(x), np.asarray(y), run.mistakes, np.asarray(run.weights)
    along = 1.6 * np.array([-w[1], w[0]]) / np.linalg.norm(w)
    distance = np.abs(x @ w) / np.linalg.norm(w)
    chosen = alpha > 0
    area = 20 + 300 * alpha / alpha.max()
    yield figure.plane(
        (
            f"{chosen.sum()} of 80 points made all {run.updates} mistakes; they lie "
            f"{distance[chosen].mean():.2g} from the boundary on average, the others "
            f"{distance[~chosen].mean():.2g}"
        ),
        x="x₁",
        y="x₂",
        points={"y = +1, area by α": x[y > 0], "y = −1, area by α": x[y < 0]},
        sizes={"y = +1, area by α": area[y > 0], "y = −1, area by α": area[y < 0]},
        lines={"w·x = 0 at the stop": ([-along[0], along[0]], [-along[1], along[1]])},
        domain=((-1.05, 1.05), (-1.05, 1.05)),
    )


@method(
    "dual-prediction",
    says=(
        "Predict from the mistakes: score(x) = w₀·x + Σ αᵢ yᵢ k(xᵢ, x). It stores n_sv (d + 1) numbers against "
        "one per feature, so it pays only when there are more features than that."
    ),
    formula=(
        r"\operatorname{score}(x) = w_0 \cdot x + \sum_i \alpha_i y_i\, x_i \cdot x, \qquad n_{sv}(d + 1) \text{ "
        r"numbers against } d"
    ),
    sources=("penn",),
    shows=(
        "perceptrons.DualClassifier",
        "perceptrons.dual_form",
        "perceptrons.mistake_weights",
        "perceptrons.dual_cost",
        "perceptrons.primal_cost",
        "perceptrons.polynomial_kernel",
        "perceptrons.monomial_features",
    ),
)
def dual_prediction(
    key,
    dim: Annotated[int, Range(2, 30)] = 12,
    samples: Annotated[int, Range(5, 300)] = 60,
    margin: Annotated[float, Range(0.02, 0.9, log=True)] = 0.1,
    degree: Annotated[int, Range(1, 3)] = 3,
):
    """Trained on the inputs, and on all monomials of the given degree, whose dual uses the kernel (x·z)^degree.

    Cost is measured as bytes held and as the operations XLA counts in the compiled prediction: both are exact and
    repeatable, which a clock is not.
    """
    key_data, key_fresh, key_start = jax.random.split(key, 3)
    x, y, _ = data.separable_ball(samples, dim, margin, key=key_data)
    fresh = jax.random.normal(key_fresh, (50, dim)) / jnp.sqrt(dim)
    run = perceptrons.fit(x, y, start=jax.random.normal(key_start, (dim,)), epochs=50)
    scores = fresh @ run.weights
    yield close(
        perceptrons.dual_form(run, x, y).score(fresh), scores, "dual scores, inner product and w₀ ≠ 0", atol=1e-10
    )

    measured = {}
    for p in range(1, degree + 1):
        features = perceptrons.monomial_features(x, p)
        run = perceptrons.fit(features, y, epochs=50)
        primal = perceptrons.LinearThreshold(run.weights)
        dual = perceptrons.dual_form(
            run, x, y, perceptrons.inner_product if p == 1 else perceptrons.polynomial_kernel(p)
        )
        expanded = perceptrons.monomial_features(fresh, p)
        scale = float(jnp.max(jnp.abs(run.weights)))
        yield close(dual.score(fresh), primal.score(expanded), f"dual scores, degree {p}", atol=1e-10 * scale)
        support = len(dual.support)
        costs = perceptrons.primal_cost(comb(dim + p - 1, p)), perceptrons.dual_cost(support, dim)
        held = [run.weights.nbytes // 8, (dual.support.nbytes + dual.coefficients.nbytes) // 8]
        yield exactly(np.array(held), np.array([c.stored for c in costs]), f"numbers held, primal and dual, degree {p}")
        yield exactly(
            held[1] < held[0], costs[0].stored > support * (dim + 1), f"dual is smaller, degree {p}, n_sv = {support}"
        )
        if p == 1:
            operations = _operations(primal, expanded), _operations(dual, fresh)
            yield close(
                np.array(operations) / 2, np.array([c.multiplications for c in costs], float),
                "multiply-adds of one prediction, primal and dual, degree 1", rtol=0.2, atol=2.0,
            )  # fmt: skip
            yield at_least(held[1], held[0], "numbers held by the dual, inner product, against the primal's")
        measured[p] = held

    degrees = np.arange(1, 5)
    yield figure.curves(
        (
            f"Monomials of degree {degree} in {dim} inputs: {measured[degree][0]} weights, or "
            f"{measured[degree][1]} numbers in the dual"
        ),
        x="degree of the monomials",
        y="numbers stored",
        lines={"weights: one per monomial": (degrees, [comb(dim + p - 1, p) for p in degrees])},
        points={
            "weights held": (list(measured), [held[0] for held in measured.values()]),
            "dual held, n_sv (d + 1)": (list(measured), [held[1] for held in measured.values()]),
        },
        log="y",
    )


def _operations(classifier, x):
    """Floating-point operations of the compiled score of one input, as XLA counts them."""
    compiled = jax.jit(lambda classifier, x: classifier.score(x)).lower(classifier, x[:1]).compile()
    return compiled.cost_analysis()["flops"]
