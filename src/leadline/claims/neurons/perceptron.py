"""The perceptron's training rule: what it does, and what one update does."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, perceptrons
from leadline.claims.neurons.plane_shapes import boundary, by_sign
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, method, printed


@method(
    "perceptron-training",
    says=(
        "Present examples; on a mistake y w·x ≤ 0 add y x to w; stop after a sweep without mistake. On separable "
        "data it stops, with no training error."
    ),
    formula=r"y\, w \cdot x \le 0 \;\Rightarrow\; w \leftarrow w + y x, \quad b \leftarrow b + y",
    sources=("eth", "sheet", "penn"),
    assumes=("the data are separable through the origin",),
    shows=(
        "perceptrons.fit",
        "perceptrons.Run",
        "perceptrons.path",
        "perceptrons.sweep_order",
        "perceptrons.pocket",
        "perceptrons.averaged",
        "data.separable_ball",
    ),
)
def perceptron_training(
    key,
    dim: Annotated[int, Range(1, 200)] = 2,
    samples: Annotated[int, Range(2, 2000)] = 80,
    margin: Annotated[float, Range(0.02, 0.9, log=True)] = 0.05,
    order: Annotated[str, Choice("cyclic", "permuted", "uniform", "adversarial")] = "cyclic",
    step: Annotated[float, Range(0.001, 100.0, log=True)] = 0.1,
):
    """Two runs, with step 1 and with the given step, from w = 0; their predictions are compared on fresh points."""
    key_data, key_order, key_fresh = jax.random.split(key, 3)
    x, y, direction = data.separable_ball(samples, dim, margin, key=key_data)
    run = perceptrons.fit(x, y, order=order, key=key_order, epochs=100_000)
    scores = np.asarray(y * (x @ run.weights))
    yield exactly(run.converged, True, "stops by itself")
    yield exactly(int(np.sum(scores <= 0)), 0, "training mistakes at the stop")
    radius, gamma = float(jnp.max(jnp.linalg.norm(x, axis=1))), float(jnp.min(y * (x @ direction)))
    yield at_most(run.updates, int(radius**2 / gamma**2), "updates, against ⌊R²/γ²⌋")
    yield exactly(
        np.bincount(run.history, minlength=samples), run.mistakes, "updates on each example, from the history"
    )
    path = perceptrons.path(run, x, y).weights
    yield close(path[-1], run.weights, "w rebuilt from the path", atol=1e-12 * run.updates)

    scaled = perceptrons.fit(x, y, order=order, step=step, key=key_order, epochs=100_000)
    yield close(
        scaled.weights,
        step * run.weights,
        "weights with step η, against η w",
        atol=1e-10 * step * float(jnp.max(jnp.abs(run.weights))),
    )
    fresh = jax.random.normal(key_fresh, (500, dim))
    labels = [perceptrons.LinearThreshold(r.weights)(fresh) for r in (run, scaled)]
    yield exactly(labels[1], labels[0], "predictions with step η on 500 fresh points")

    # The picture is a run in the plane; at the defaults it is the run above.
    if dim != 2:
        x, y, _ = data.separable_ball(min(samples, 300), 2, margin, key=key_data)
        run = perceptrons.fit(x, y, order=order, key=key_order, epochs=100_000)
        path = perceptrons.path(run, x, y).weights
    shown = sorted({1, run.updates // 3, 2 * run.updates // 3, run.updates} - {0})
    yield figure.plane(
        f"The boundary turns with every mistake and stops after {run.updates} updates in {run.epochs} sweeps",
        x="x₁",
        y="x₂",
        points=by_sign(x, y),
        lines={f"after {t} update{'s' * (t > 1)}": boundary(path[t], 0.0, 1.6) for t in shown},
        domain=((-1.05, 1.05), (-1.05, 1.05)),
    )


@claim(
    "perceptron-tie-rule",
    says=(
        "From w = 0 every score is 0, so the rule must count a tie as a mistake: if only y w·x < 0 is one, "
        "nothing ever moves, and with sgn(0) = +1 all-positive data stop at w = 0."
    ),
    formula=r"\text{update iff } y\, w \cdot x \le 0",
    sources=("sheet", "penn"),
    assumes=("w₀ = 0",),
)
def perceptron_tie_rule(
    key,
    dim: Annotated[int, Range(1, 200)] = 5,
    samples: Annotated[int, Range(5, 2000)] = 100,
    margin: Annotated[float, Range(0.02, 0.9, log=True)] = 0.1,
):
    """The three rules in cyclic order on one separable set, and on the same set with all labels made positive."""
    x, y, direction = data.separable_ball(samples, dim, margin, key=key)
    ties = {"y w·x ≤ 0 is a mistake": "mistake", "y w·x < 0 is a mistake": "correct", "sgn(0) = +1": "positive"}
    runs = {name: perceptrons.fit(x, y, tie=tie, epochs=100_000) for name, tie in ties.items()}
    rule, strict, positive = runs.values()
    errors = {name: perceptrons.path_errors(run, x, y) for name, run in runs.items()}
    radius, gamma = float(jnp.max(jnp.linalg.norm(x, axis=1))), float(jnp.min(y * (x @ direction)))

    yield exactly(strict.updates, 0, "updates, only y w·x < 0 a mistake")
    yield exactly(bool(jnp.all(strict.weights == 0)), True, "strict rule stays at w = 0")
    yield at_least(rule.updates, 1, "updates, ties are mistakes")
    yield at_most(rule.updates, int(radius**2 / gamma**2), "updates, ties are mistakes, against ⌊R²/γ²⌋")
    yield exactly(
        int(np.sum(np.asarray(y * (x @ rule.weights)) <= 0)),
        0,
        "points not strictly correct at the stop, ties are mistakes",
    )
    if positive.updates:
        yield exactly(int(y[positive.history[0]]), -1, "label of the first update with sgn(0) = +1")
    flipped = x * y[:, None]  # the same set with every label +1
    halted = perceptrons.fit(flipped, jnp.ones(samples), tie="positive")
    yield exactly(halted.updates, 0, "updates with sgn(0) = +1 on all-positive data")
    yield at_most(jnp.min(flipped @ halted.weights), 0.0, "least score there: no positive margin")
    learns = at_least(strict.updates, 1, "updates, only y w·x < 0 a mistake")
    yield printed(learns, "sheet", "update if y x·θ < 0, from θ₀ = 0")
    other = perceptrons.fit(flipped, jnp.ones(samples)).updates
    yield printed(
        exactly(halted.updates, other, "updates on all-positive data: sgn(0) = +1 against ties as mistakes"),
        "penn", "sign(0) = +1, and ties counted as mistakes, for the same rule",
    )  # fmt: skip

    last = max(run.presentations for run in runs.values())
    yield figure.curves(
        (
            f"Ties as mistakes: {rule.updates} updates to no error; strict rule: {strict.updates} updates, all "
            f"{samples} points stay on the boundary"
        ),
        x="presentations",
        y="points with y w·x ≤ 0",
        steps={
            name: (np.concatenate([[0], run.times + 1, [last]]), np.append(errors[name], errors[name][-1]))
            for name, run in runs.items()
        },
    )


@claim(
    "perceptron-score-gain",
    says=(
        "One update raises the score of the presented example by exactly ‖x‖²; presented alone, an example needs "
        "⌊−y w·x/‖x‖²⌋ + 1 updates in a row, and other examples may undo the gain."
    ),
    formula=r"y\,(w + y x) \cdot x = y\, w \cdot x + \|x\|^2",
    sources=("eth", "penn"),
    assumes=("ties are mistakes",),
)
def perceptron_score_gain(
    key,
    dim: Annotated[int, Range(1, 200)] = 5,
    samples: Annotated[int, Range(2, 1000)] = 100,
    distance: Annotated[float, Range(0.0, 4.0)] = 1.0,
    start_norm: Annotated[float, Range(0.1, 30.0, log=True)] = 5.0,
):
    """Along a run on overlapping clouds, and for 40 examples presented alone to random starting weights."""
    key_data, key_w, key_x, key_y, key_integers = jax.random.split(key, 5)
    x, y = (np.asarray(part) for part in data.gaussian_clouds(samples, dim, distance, key=key_data))
    run = perceptrons.fit(x, y, epochs=20)
    path = perceptrons.path(run, x, y).weights
    shown, label = x[run.history], y[run.history]
    before, after = label * np.sum(path[:-1] * shown, 1), label * np.sum(path[1:] * shown, 1)
    squared = np.sum(shown**2, 1)
    scale = np.maximum(squared, np.abs(before))
    yield close(
        (after - before) / scale,
        squared / scale,
        f"gain of score at each of {run.updates} updates, relative",
        atol=1e-12,
    )

    starts = jax.random.normal(key_w, (40, dim))
    starts = np.array(start_norm * starts / jnp.linalg.norm(starts, axis=1, keepdims=True))
    alone, sign = jax.random.normal(key_x, (40, dim)), np.asarray(jax.random.rademacher(key_y, (40,), float))
    alone = np.array(alone / jnp.linalg.norm(alone, axis=1, keepdims=True)) * np.linspace(0.3, 3, 40)[:, None]
    # The last ten are small integers with w = -k y x, so that the quotient is exactly k: a tie after k updates.
    alone[30:] = np.asarray(jax.random.randint(key_integers, (10, dim), 1, 4))
    starts[30:] = -np.arange(10)[:, None] * sign[30:, None] * alone[30:]
    counts = [
        perceptrons.fit(alone[i : i + 1], sign[i : i + 1], start=starts[i], epochs=10**6).updates for i in range(40)
    ]
    quotient = -sign * np.sum(starts * alone, 1) / np.sum(alone**2, 1)
    quotient[30:] = np.arange(10)
    predicted = np.maximum(np.floor(quotient).astype(int) + 1, 0)
    yield exactly(np.array(counts), predicted, "updates in a row until correct, 40 examples presented alone")

    pair, labels = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([1.0, -1.0])
    two = perceptrons.path(perceptrons.fit(pair, labels, epochs=1), pair, labels).weights
    yield at_most(two[2] @ pair[0], 0.0, "score of (1, 0), y = +1, once (2, 1), y = −1, has been learnt", strict=True)

    w, point = np.array([-0.9, 1.6]), np.array([1.5, 0.5])
    new = w + point
    yield figure.plane(
        f"One update lifts y w·x from {w @ point:.3g} by ‖x‖² = {point @ point:.3g} to {new @ point:.3g}",
        x="x₁",
        y="x₂",
        points={"x, y = +1": point[None]},
        arrows={"w": ((0, 0), w), "y x": (w, new), "w + y x": ((0, 0), new)},
        lines={"boundary before": boundary(w, 0, 3), "boundary after": boundary(new, 0, 3)},
        domain=((-2.2, 2.2), (-2.2, 2.6)),
    )


@claim(
    "perceptron-zigzag",
    says=(
        "Every update leans back against the current weights: Δw·w = y x·w ≤ 0, with equality only at ties, such "
        "as the first update from 0."
    ),
    formula=r"\langle \Delta w, w \rangle = y\, x \cdot w \le 0",
    sources=("sheet",),
    assumes=("w₀ = 0", "ties are mistakes"),
)
def perceptron_zigzag(
    key,
    dim: Annotated[int, Range(1, 200)] = 2,
    samples: Annotated[int, Range(2, 1000)] = 100,
    margin: Annotated[float, Range(0.02, 0.9, log=True)] = 0.02,
    distance: Annotated[float, Range(0.0, 4.0)] = 1.0,
):
    """All cosines between Δw and w along a run on separable data and one on overlapping clouds (20 sweeps at most)."""
    key_ball, key_clouds = jax.random.split(key)
    ball = data.separable_ball(samples, dim, margin, key=key_ball)
    clouds = data.gaussian_clouds(samples, dim, distance, key=key_clouds)
    paths, cosines = {}, {}
    for name, (x, y) in {"separable": ball[:2], "overlapping": clouds}.items():
        path = perceptrons.path(perceptrons.fit(x, y, epochs=20), x, y).weights
        change, w = np.diff(path, axis=0), path[:-1]
        product, size = np.sum(change * w, 1), np.linalg.norm(change, axis=1) * np.linalg.norm(w, axis=1)
        defined = size > 0
        paths[name], cosines[name] = path, (np.flatnonzero(defined), product[defined] / size[defined])
        if defined.any():
            yield at_most(cosines[name][1], 0.0, f"cosine of Δw and w, {name} data", atol=1e-12)
        yield exactly(float(product[0]), 0.0, f"Δw·w at the first update, {name} data: a tie")
        yield printed(at_most(product, 0.0, f"Δw·w, {name} data", strict=True), "sheet", "⟨Δw, w⟩ < 0 at every update")

    w = paths["separable"] if dim == 2 else None
    if w is None:
        x, y, _ = data.separable_ball(samples, 2, margin, key=key_ball)
        w = perceptrons.path(perceptrons.fit(x, y, epochs=20), x, y).weights
    leaning = np.concatenate([c for _, c in cosines.values()] or [np.zeros(1)])
    yield figure.beside(
        "Each step leans back: the weight path zigzags",
        figure.plane(
            f"Weights of {len(w) - 1} updates in the plane",
            x="w₁",
            y="w₂",
            points={"w after each update": w[:300]},
            lines={"path": (w[:300, 0], w[:300, 1])},
        ),
        figure.curves(
            f"No cosine above 0: the largest is {max(leaning, default=0):.2g}",
            x="update",
            y="cosine of Δw and w",
            points={f"{name}, d = {dim}": (t[:500] + 1, c[:500]) for name, (t, c) in cosines.items() if len(c)},
            rules={"at most 0": ("y", 0.0)},
        ),
    )
