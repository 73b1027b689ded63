"""The perceptron seen otherwise: as subgradient descent, and in dual form."""

from math import comb

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.claims.scenarios.neurons.perceptron_runs import source_bound
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, method
from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons.dual import dual_cost, inner_product, monomial_features, primal_cost
from leadline.linear_classifiers.perceptrons.subgradient import perceptron_loss, subgradient_descent
from leadline.presentation import figure
from leadline.presentation.figure.plane_shapes import boundary, by_sign


@claim(sources=("sheet", "penn"))
def perceptron_is_sgd(
    key,
    dim: Int(1, 100) = 5,
    samples: Int(5, 500) = 60,
    step_size: Real(0.01, 0.5, log=True) = 0.1,
    start_norm: Real(1.0, 20.0, log=True) = 2.0,
    order: OneOf("cyclic", "permuted", "uniform") = "uniform",
):
    r"""The perceptron as stochastic subgradient descent.

    The perceptron rule is stochastic subgradient descent with step size 1 on max(0, −y w·x), taking the subgradient
    −yx at ties. From w₀ = 0 any step size η gives η times the same path; from w₀ ≠ 0 it does not.

    $$w \leftarrow w - g, \quad g \in \partial \max(0, -y\, w \cdot x), \quad g = -y x \text{ if } y\, w \cdot x \le
    0$$

    Assumes: at a tie the subgradient −yx is chosen from the segment [−yx, 0].
    """
    key_data, key_order, key_points = jax.random.split(key, 3)
    x, y, direction = data.separable_ball(samples, dim, 0.02, key=key_data)
    sweeps = 10
    stream = jnp.concatenate([perceptrons.sweep_order(samples, order, epoch, key_order) for epoch in range(sweeps)])

    def iterates(step, start):
        """The rule's weights after each presentation."""
        run = perceptrons.learn(x, y, order=order, step_size=step, start=start, epochs=sweeps, key=key_order)
        made = np.searchsorted(run.times, np.arange(len(stream) + 1))
        return perceptrons.path(run, x, y).weights[made]

    zero, away = jnp.zeros(dim), -start_norm * direction
    rule, rule_away, rule_small = iterates(1.0, zero), iterates(1.0, away), iterates(step_size, zero)
    descent = {
        (s, name): np.asarray(subgradient_descent(x, y, stream, step_size=s, start=w))
        for s in (1.0, step_size)
        for name, w in (("0", zero), ("away", away))
    }
    yield close(descent[1.0, "0"], rule, "weights after each presentation, SGD against the rule, w₀ = 0, η = 1")
    yield close(descent[1.0, "away"], rule_away, "weights after each presentation, SGD against the rule, w₀ ≠ 0, η = 1")
    tolerance = 1e-12 * np.max(np.abs(rule)) * len(stream)
    yield close(rule_small / step_size, rule, "rule with step size η, divided by η", atol=tolerance)
    yield close(descent[step_size, "0"] / step_size, rule, "SGD with step size η, divided by η", atol=tolerance)
    moves = [np.any(np.diff(descent[s, "away"], axis=0) != 0, axis=1) for s in (1.0, step_size)]
    yield at_least(np.sum(moves[0] != moves[1]), 1, "presentations where only one of the step sizes updates, w₀ ≠ 0")
    w = jax.random.normal(key_points, (samples, dim))
    gradient = jax.vmap(jax.grad(perceptron_loss))(w, x, y)
    away_from_kink = np.abs(np.sum(w * x, 1)) > 1e-3
    differences = _difference_quotients(np.asarray(w), np.asarray(x), np.asarray(y))
    if away_from_kink.any():
        found, expected = gradient[away_from_kink], differences[away_from_kink]
        yield close(found, expected, "gradient against difference quotients, off the kink", atol=1e-6)
    at_tie = jax.vmap(jax.grad(perceptron_loss), (None, 0, 0))(zero, x, y)
    yield close(at_tie, -y[:, None] * x, "subgradient chosen at the tie w = 0, against −y x")
    presented, size = np.arange(len(stream) + 1)[:301], lambda path: np.linalg.norm(path, axis=1)[:301]
    # Each path is drawn as what its updates have added, in units of its step size.
    added = {s: (descent[s, "away"] - np.asarray(away)) / s for s in (1.0, step_size)}
    small = size(descent[step_size, "0"]) / step_size
    title = f"From w₀ = 0 SGD with any step size is the rule, scaled; from ‖w₀‖ = {start_norm:.2g} the step sizes part"
    lines = {"the rule, w₀ = 0": (presented, size(rule))}
    points = {f"SGD, w₀ = 0, η = {step_size:.2g}": (presented[::6], small[::6])}
    steps = {f"SGD, w₀ ≠ 0, η = {s:.2g}": (presented, size(path)) for s, path in added.items()}
    yield figure.curves(title, "presentations", "‖w − w₀‖/η", lines=lines, points=points, steps=steps)


def _difference_quotients(w, x, y, h=1e-5):
    """Central differences of max(0, −y w.x) in each weight."""

    def loss(w):
        return np.maximum(0, -y * np.sum(w * x, axis=1))

    return np.stack([(loss(w + h * e) - loss(w - h * e)) / (2 * h) for e in np.eye(w.shape[1])], axis=1)


@claim(sources=("eth", "penn"))
def perceptron_dual_form(
    key,
    dim: Int(2, 300) = 40,
    samples: Int(2, 1000) = 25,
    margin: Real(0.02, 0.9, log=True) = 0.05,
    start_norm: Real(0.0, 10.0) = 1.0,
    order: OneOf("cyclic", "permuted", "uniform", "adversarial") = "permuted",
):
    r"""Dual form of the perceptron.

    At any time w = w₀ + ∑ αᵢ yᵢ xᵢ, with αᵢ the number of mistakes made on example i, so w − w₀ stays in the span of
    the inputs. The αᵢ depend on the order of presentation.

    $$w_t = w_0 + \sum_i \alpha_i y_i x_i, \qquad \sum_i \alpha_i = t \le R^2/\gamma^2$$

    Check: One run from w₀ = 0 checks the bound, and one from a random w₀ checks the rest.
    """
    key_data, key_order, key_start = jax.random.split(key, 3)
    x, y, direction = data.separable_ball(samples, dim, margin, key=key_data)
    start = jax.random.normal(key_start, (dim,))
    start = start_norm * start / jnp.linalg.norm(start)
    run = perceptrons.learn(x, y, order=order, start=start, key=key_order, epochs=100_000)
    path = perceptrons.path(run, x, y).weights
    rebuilt = perceptrons.mistake_weights(run.mistakes, x, y, start=start)
    scale = float(jnp.linalg.norm(run.weights)) + run.updates
    yield close(rebuilt, run.weights, "w₀ + Σ αᵢ yᵢ xᵢ against w at the stop", atol=1e-12 * scale)
    half = run.updates // 2
    early = np.bincount(run.history[:half], minlength=samples)
    rebuilt = perceptrons.mistake_weights(early, x, y, start=start)
    yield close(rebuilt, path[half], f"w₀ + Σ αᵢ yᵢ xᵢ against w after {half} updates", atol=1e-12 * scale)
    yield exactly(np.bincount(run.history, minlength=samples), run.mistakes, "αᵢ, counted along the path")
    basis = np.linalg.qr(np.asarray(x).T)[0]
    change = path - np.asarray(start)
    outside = np.linalg.norm(change - (change @ basis) @ basis.T, axis=1)
    yield at_most(outside, 1e-12 * scale, "part of w − w₀ outside the span of the inputs").given(samples < dim, "n < d")
    from_zero = perceptrons.learn(x, y, order=order, key=key_order, epochs=100_000)
    yield at_most(np.sum(from_zero.mistakes), source_bound(x, y, direction), "Σ αᵢ from w₀ = 0, against ⌊R²/γ²⌋")
    pair, positive = np.array([[1.0], [2.0]]), np.ones(2)
    orders = [perceptrons.learn(pair, positive).mistakes, perceptrons.learn(pair[::-1], positive).mistakes[::-1]]
    yield exactly(orders, [[1, 0], [0, 1]], "α of the inputs 1 and 2, in the two orders")
    x, y, _ = data.separable_ball(80, 2, 0.01, key=key_data)
    run = perceptrons.learn(x, y, order=order, key=key_order, epochs=100_000)
    x, y, alpha, w = np.asarray(x), np.asarray(y), run.mistakes, np.asarray(run.weights)
    area, names = 20 + 300 * alpha / alpha.max(), ("y = +1, area by α", "y = −1, area by α")
    title = f"{np.sum(alpha > 0)} of 80 points made all {run.updates} mistakes"
    points = by_sign(x, y, names)
    lines = {"w·x = 0 at the stop": boundary(w, 0.0, 1.6)}
    domain = ((-1.05, 1.05), (-1.05, 1.05))
    yield figure.plane(title, "x₁", "x₂", points=points, sizes=by_sign(area, y, names), lines=lines, domain=domain)


@method(sources=("penn",), shows=("linear_classifiers.perceptrons.mistake_weights",))
def dual_prediction(
    key, dim: Int(2, 30) = 12, samples: Int(5, 300) = 60, margin: Real(0.02, 0.9, log=True) = 0.1, degree: Int(1, 3) = 3
):
    r"""Prediction from the support vectors.

    The dual form predicts from the examples on which mistakes were made: score(x) = w₀·x + ∑ αᵢ yᵢ k(xᵢ, x). With
    $n_{\mathrm{sv}}$ such examples it stores $n_{\mathrm{sv}}(d+1)$ numbers against one per feature, so it pays only
    when there are more features than that.

    $$\operatorname{score}(x) = w_0 \cdot x + \sum_i \alpha_i y_i\, x_i \cdot x, \qquad n_{sv}(d + 1) \text{ numbers
    against } d$$

    Check: The perceptron is trained on the inputs, and on all monomials of the given degree, whose dual form uses the
    kernel $(x \cdot z)^{\text{degree}}$. Cost is measured as bytes held and as the operations that XLA counts in the
    compiled prediction: both are exact and repeatable, which a clock is not.
    """
    key_data, key_fresh, key_start = jax.random.split(key, 3)
    x, y, _ = data.separable_ball(samples, dim, margin, key=key_data)
    fresh = jax.random.normal(key_fresh, (50, dim)) / jnp.sqrt(dim)
    run = perceptrons.learn(x, y, start=jax.random.normal(key_start, (dim,)), epochs=50)
    scores = fresh @ run.weights
    dual = perceptrons.dual_form(run, x, y).score(fresh)
    yield close(dual, scores, "dual scores, inner product and w₀ ≠ 0", atol=1e-10)
    measured = {}
    for p in range(1, degree + 1):
        features = monomial_features(x, p)
        run = perceptrons.learn(features, y, epochs=50)
        primal = perceptrons.LinearThreshold(run.weights)
        kernel = inner_product if p == 1 else perceptrons.polynomial_kernel(p)
        dual = perceptrons.dual_form(run, x, y, kernel)
        expanded = monomial_features(fresh, p)
        scale = float(jnp.max(jnp.abs(run.weights)))
        yield close(dual.score(fresh), primal.score(expanded), f"dual scores, degree {p}", atol=1e-10 * scale)
        support = len(dual.support)
        costs = primal_cost(comb(dim + p - 1, p)), dual_cost(support, dim)
        held = [run.weights.nbytes // 8, (dual.support.nbytes + dual.coefficients.nbytes) // 8]
        yield exactly(held, [c.stored for c in costs], f"numbers held, primal and dual, degree {p}")
        pays = costs[0].stored > support * (dim + 1)
        yield exactly(held[1] < held[0], pays, f"dual is smaller, degree {p}, n_sv = {support}")
        if p == 1:
            found = np.array([_operations(primal, expanded), _operations(dual, fresh)]) / 2
            what = "multiply-adds of one prediction, primal and dual, degree 1"
            yield close(found, [c.multiplications for c in costs], what, rtol=0.2, atol=2.0)
            yield at_least(held[1], held[0], "numbers held by the dual, inner product, against the primal's")
        measured[p] = held
    degrees, (weights, numbers) = np.arange(1, 5), np.transpose(list(measured.values()))
    title = f"Monomials of degree {degree} in {dim} inputs: {weights[-1]} weights, or {numbers[-1]} numbers in the dual"
    lines = {"weights: one per monomial": (degrees, [comb(dim + p - 1, p) for p in degrees])}
    points = {"weights held": (degrees[:degree], weights), "dual held, n_sv (d + 1)": (degrees[:degree], numbers)}
    yield figure.curves(title, "degree of the monomials", "numbers stored", lines=lines, points=points, log="y")


def _operations(classifier, x):
    """Floating-point operations of the compiled score of one input, as XLA counts them."""
    compiled = jax.jit(lambda classifier, x: classifier.score(x)).lower(classifier, x[:1]).compile()
    return compiled.cost_analysis()["flops"]
