"""The perceptron's training rule: what it does, and what one update does."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.claims.scenarios.neurons.perceptron_runs import source_bound
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly, method
from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons.variants import path_errors
from leadline.presentation import figure
from leadline.presentation.figure.plane_shapes import boundary, by_sign

SHOWS = tuple(f"linear_classifiers.perceptrons.{name}" for name in ("sweep_order", "pocket", "averaged"))


@method(sources=("eth", "sheet", "penn"), shows=SHOWS)
def perceptron_training(
    key,
    dim: Int(1, 200) = 2,
    samples: Int(2, 2000) = 80,
    margin: Real(0.02, 0.9, log=True) = 0.05,
    order: OneOf("cyclic", "permuted", "uniform", "adversarial") = "cyclic",
    step_size: Real(0.001, 100.0, log=True) = 0.1,
):
    r"""Perceptron learning algorithm.

    Present the examples one by one; on a mistake, y w·x ≤ 0, add yx to w; stop after a sweep without a mistake. On
    separable data it stops, with no training error.

    $$y\, w \cdot x \le 0 \;\Rightarrow\; w \leftarrow w + y x, \quad b \leftarrow b + y$$

    Assumes: the data are separable through the origin.
    """
    key_data, key_order, key_fresh = jax.random.split(key, 3)
    x, y, direction = data.separable_ball(samples, dim, margin, key=key_data)
    run = perceptrons.learn(x, y, order=order, key=key_order, epochs=100_000)
    yield at_most(run.epochs, 100_000, "sweeps until it stops, against the budget", strict=True)
    yield exactly(jnp.sum(y * (x @ run.weights) <= 0), 0, "training mistakes at the stop")
    yield at_most(run.updates, source_bound(x, y, direction), "updates, against ⌊R²/γ²⌋")
    counted = np.bincount(run.history, minlength=samples)
    yield exactly(counted, run.mistakes, "updates on each example, counted along the history")
    path = perceptrons.path(run, x, y).weights
    yield close(path[-1], run.weights, "w rebuilt from the path", atol=1e-12 * run.updates)
    scaled = perceptrons.learn(x, y, order=order, step_size=step_size, key=key_order, epochs=100_000)
    tolerance = 1e-10 * step_size * float(jnp.max(jnp.abs(run.weights)))
    yield close(scaled.weights, step_size * run.weights, "weights with step size η, against η w", atol=tolerance)
    fresh = jax.random.normal(key_fresh, (500, dim))
    labels = [perceptrons.LinearThreshold(r.weights)(fresh) for r in (run, scaled)]
    yield exactly(labels[1], labels[0], "predictions with step size η on 500 fresh points, against step size 1")
    # The picture is a run in the plane; at the defaults it is the run above.
    if dim != 2:
        x, y, _ = data.separable_ball(min(samples, 300), 2, margin, key=key_data)
        run = perceptrons.learn(x, y, order=order, key=key_order, epochs=100_000)
        path = perceptrons.path(run, x, y).weights
    shown = sorted({1, run.updates // 3, 2 * run.updates // 3, run.updates} - {0})
    title = f"The boundary turns with every mistake and stops after {run.updates} updates in {run.epochs} sweeps"
    lines = {f"after {t} update{'s' * (t > 1)}": boundary(path[t], 0.0, 1.6) for t in shown}
    yield figure.plane(title, "x₁", "x₂", points=by_sign(x, y), lines=lines, domain=((-1.05, 1.05), (-1.05, 1.05)))


@claim(sources=("sheet", "penn"))
def perceptron_tie_rule(
    key, dim: Int(1, 200) = 5, samples: Int(5, 2000) = 100, margin: Real(0.02, 0.9, log=True) = 0.1
):
    r"""Ties must count as mistakes.

    From w = 0 every score is 0, so the rule must count a tie as a mistake: if only y w·x < 0 counts as one, nothing
    ever moves, and with sgn(0) = +1 training on all-positive data stops at w = 0.

    $$\text{update iff } y\, w \cdot x \le 0$$

    Assumes: w₀ = 0.

    Check: Cyclic order, on one separable set and on the same set with all labels made positive.
    """
    x, y, direction = data.separable_ball(samples, dim, margin, key=key)
    ties = {"y w·x ≤ 0 is a mistake": "mistake", "y w·x < 0 is a mistake": "correct", "sgn(0) = +1": "positive"}
    runs = {name: perceptrons.learn(x, y, tie=tie, epochs=100_000) for name, tie in ties.items()}
    rule, strict, positive = runs.values()
    errors = {name: path_errors(run, x, y) for name, run in runs.items()}
    yield exactly(strict.updates, 0, "updates, only y w·x < 0 a mistake")
    yield at_most(jnp.abs(strict.weights), 0.0, "|w| of the strict rule at the stop")
    moves = at_least(rule.updates, 1, "updates, ties are mistakes")
    yield moves
    yield at_most(rule.updates, source_bound(x, y, direction), "updates, ties are mistakes, against ⌊R²/γ²⌋")
    yield exactly(jnp.sum(y * (x @ rule.weights) <= 0), 0, "points not strictly correct at the stop, ties are mistakes")
    if positive.updates:
        yield exactly(y[positive.history[0]], -1, "label of the first update with sgn(0) = +1")
    flipped = x * y[:, None]  # the same set with every label +1
    halted = perceptrons.learn(flipped, jnp.ones(samples), tie="positive")
    yield exactly(halted.updates, 0, "updates with sgn(0) = +1 on all-positive data")
    yield at_most(jnp.min(flipped @ halted.weights), 0.0, "least score with sgn(0) = +1 on all-positive data")
    learns = at_least(strict.updates, 1, "updates, only y w·x < 0 a mistake")
    yield erratum(learns, of=moves, by="sheet", prints="no update where y x·θ ≥ 0, from θ₀ = 0")
    last = max(run.presentations for run in runs.values())
    steps = {
        name: (np.concatenate([[0], run.times + 1, [last]]), np.append(errors[name], errors[name][-1]))
        for name, run in runs.items()
    }
    title = f"Ties as mistakes: {rule.updates} updates to no error; strict rule: {strict.updates} updates"
    yield figure.curves(title, "presentations", "points with y w·x ≤ 0", steps=steps)


@claim(sources=("eth", "penn"))
def perceptron_score_gain(
    key,
    dim: Int(1, 200) = 5,
    samples: Int(2, 1000) = 100,
    distance: Real(0.0, 4.0) = 1.0,
    start_norm: Real(0.1, 30.0, log=True) = 5.0,
):
    r"""Score gain of one perceptron update.

    One update raises the score of the presented example by exactly ‖x‖². Presented alone, an example needs ⌊−y
    w·x/‖x‖²⌋ + 1 updates in a row, and other examples may undo the gain.

    $$y\,(w + y x) \cdot x = y\, w \cdot x + \|x\|^2$$

    Assumes: ties are mistakes.

    Check: A run on overlapping clouds, and 40 examples presented alone to random starting weights.
    """
    key_data, key_w, key_x, key_y, key_integers = jax.random.split(key, 5)
    x, y = (np.asarray(part) for part in data.gaussian_clouds(samples, dim, distance, key=key_data))
    run = perceptrons.learn(x, y, epochs=20)
    path = perceptrons.path(run, x, y).weights
    shown, label = x[run.history], y[run.history]
    before, after = label * np.sum(path[:-1] * shown, 1), label * np.sum(path[1:] * shown, 1)
    squared = np.sum(shown**2, 1)
    scale = np.maximum(squared, np.abs(before))
    gain = (after - before) / scale
    yield close(gain, squared / scale, f"gain of score at each of {run.updates} updates, relative", atol=1e-12)
    starts = jax.random.normal(key_w, (40, dim))
    starts = np.array(start_norm * starts / jnp.linalg.norm(starts, axis=1, keepdims=True))
    alone, sign = jax.random.normal(key_x, (40, dim)), np.asarray(jax.random.rademacher(key_y, (40,), float))
    alone = np.array(alone / jnp.linalg.norm(alone, axis=1, keepdims=True)) * np.linspace(0.3, 3, 40)[:, None]
    # The last ten are small integers with w = -k y x, so that the quotient is exactly k: a tie after k updates.
    alone[30:] = np.asarray(jax.random.randint(key_integers, (10, dim), 1, 4))
    starts[30:] = -np.arange(10)[:, None] * sign[30:, None] * alone[30:]
    cases = zip(alone[:, None], sign[:, None], starts, strict=True)
    counts = [perceptrons.learn(one, label, start=start, epochs=10**6).updates for one, label, start in cases]
    quotient = -sign * np.sum(starts * alone, 1) / np.sum(alone**2, 1)
    quotient[30:] = np.arange(10)
    predicted = np.maximum(np.floor(quotient).astype(int) + 1, 0)
    yield exactly(counts, predicted, "updates in a row until correct, 40 examples presented alone")
    pair, labels = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([1.0, -1.0])
    two = perceptrons.path(perceptrons.learn(pair, labels, epochs=1), pair, labels).weights
    yield at_most(two[2] @ pair[0], 0.0, "score of (1, 0), y = +1, once (2, 1), y = −1, has been learnt", strict=True)
    w, point = np.array([-0.9, 1.6]), np.array([1.5, 0.5])
    new = w + point
    title = f"One update lifts y w·x from {w @ point:.3g} by ‖x‖² = {point @ point:.3g} to {new @ point:.3g}"
    points = {"x, y = +1": point[None]}
    arrows = {"w": ((0, 0), w), "y x": (w, new), "w + y x": ((0, 0), new)}
    lines = {"boundary before": boundary(w, 0, 3), "boundary after": boundary(new, 0, 3)}
    yield figure.plane(title, "x₁", "x₂", points=points, arrows=arrows, lines=lines, domain=((-2.2, 2.2), (-2.2, 2.6)))


@claim(sources=("sheet",))
def perceptron_zigzag(
    key,
    dim: Int(1, 200) = 2,
    samples: Int(2, 1000) = 100,
    margin: Real(0.02, 0.9, log=True) = 0.02,
    distance: Real(0.0, 4.0) = 1.0,
):
    r"""Perceptron updates oppose the weights.

    Every update points against the current weights or is orthogonal to them: Δw·w = y x·w ≤ 0, with equality only at
    ties, such as the first update from 0.

    $$\langle \Delta w, w \rangle = y\, x \cdot w \le 0$$

    Assumes: w₀ = 0; ties are mistakes.

    Check: One run on separable data and one on overlapping clouds (at most 20 sweeps).
    """
    key_ball, key_clouds = jax.random.split(key)
    ball = data.separable_ball(samples, dim, margin, key=key_ball)
    clouds = data.gaussian_clouds(samples, dim, distance, key=key_clouds)
    paths, cosines = {}, {}
    for name, (x, y) in {"separable": ball[:2], "overlapping": clouds}.items():
        path = perceptrons.path(perceptrons.learn(x, y, epochs=20), x, y).weights
        change, w = np.diff(path, axis=0), path[:-1]
        product, size = np.sum(change * w, 1), np.linalg.norm(change, axis=1) * np.linalg.norm(w, axis=1)
        defined = size > 0
        paths[name], cosines[name] = path, (np.flatnonzero(defined), product[defined] / size[defined])
        if defined.any():
            yield at_most(cosines[name][1], 0.0, f"cosine of Δw and w, {name} data", atol=1e-12)
        yield exactly(product[0], 0.0, f"Δw·w at the first update, {name} data: a tie")
    w = paths["separable"]
    if dim != 2:
        x, y, _ = data.separable_ball(samples, 2, margin, key=key_ball)
        w = perceptrons.path(perceptrons.learn(x, y, epochs=20), x, y).weights
    largest = max((c.max() for _, c in cosines.values() if len(c)), default=0.0)
    path = {"path": (w[:300, 0], w[:300, 1])}
    points = {f"{name}, d = {dim}": (t + 1, c) for name, (t, c) in cosines.items() if len(c)}
    title = f"No cosine above 0: the largest is {largest:.2g}"
    updates = {"w after each update": w[:300]}
    left = figure.plane(f"Weights of {len(w) - 1} updates in the plane", "w₁", "w₂", points=updates, lines=path)
    right = figure.curves(title, "update", "cosine of Δw and w", points=points, rules={"at most 0": ("y", 0.0)})
    yield figure.beside("Each step leans back: the weight path zigzags", left, right)
