"""The atlas audit: all critical points of a linear autoencoder on images, and gradient descent's way through them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_least, at_most, close, exactly
from leadline.landscape.deep_linear import LinearProblem
from leadline.presentation import figure

HIDDEN = 4
LISTED = 50
SCALES = (1e-30, 1e-4)
#: what is known of the digits beforehand: the staircase of critical levels, and λ₅/λ₄
DIGIT_LEVELS = (2.34664, 1.99721, 1.67763, 1.40085, 1.20350)
DIGIT_CONTRACTION = 0.687566
SHAPES = ((4, 4, 2), (6, 4, 2), (5, 3, 2), (4, 4, 3))


def lowest(problem: LinearProblem, hidden: int, known: bool) -> Iterator[Comparison | Figure]:
    """The lowest families: levels on the data, indices by formula against dense Hessians, the way out of each."""
    from leadline.landscape import deep_linear
    from leadline.landscape.deep_linear.critical_atlas import atlas_columns, sigma_rank

    families = deep_linear.atlas(problem, hidden, most=LISTED)
    columns = atlas_columns(families)
    total = deep_linear.count_families(sigma_rank(problem), hidden)
    yield close(
        [_on_data(problem, *f.factors()) for f in families],
        columns["level"],
        f"loss at the lowest {LISTED} of {total} families, measured and by formula",
        rtol=1e-9,
    )
    if known:
        yield close(columns["level"][0], 1.2034983, "loss at the global minimum", atol=5e-8)
    if problem.inputs <= 64:
        dense = [deep_linear.hessian_inertia(problem.factor_hessian(*f.factors()))[0] for f in families]
        yield exactly(dense, columns["index"], f"negative eigenvalues of {len(dense)} dense Hessians, index by formula")
    falls = [_on_data(problem, *f.escape_curve(0.3)) - f.level for f in families[1:]]
    yield at_most(falls, 0.0, "change of the loss a little along each escape", strict=True)
    modes = max(max(f.indices) for f in families) + 1
    members = np.array([[float(k in f.indices) for k in range(modes)] for f in families])
    yield figure.beside(
        f"The lowest {LISTED} of {total} families: losses {columns['level'][0]:.4f} to {columns['level'][-1]:.4f}, "
        f"indices 0 to {columns['index'].max()}",
        figure.curves(
            "loss and index",
            "index: negative curvatures",
            "loss",
            points={"a family": (columns["index"], columns["level"])},
        ),
        figure.heatmap(
            "which modes a family has",
            "mode",
            "place in the atlas",
            values=members,
            xs=list(range(1, modes + 1)),
            ys=list(range(1, LISTED + 1)),
            colour="in the set",
        ),
    )


def staircase(problem: LinearProblem, hidden: int, known: bool, key: PRNGKeyArray) -> Iterator[Comparison | Figure]:
    """Descent from two scales: the families it passes, when it passes them, and where it ends."""
    from leadline.landscape import deep_linear

    values = problem.eigenvalues / problem.samples
    step = 0.1 if known else 0.07 / values[0]
    levels = np.array([problem.level(range(r)) for r in range(hidden + 1)])
    a, b = deep_linear.gaussian_factors(problem, hidden, 1.0, key=key)
    panels = []
    for scale in SCALES:
        predicted = np.log(1 / scale**2) / (2 * values[:hidden])
        steps = int((1.2 * predicted[-1] + 60 / (values[hidden - 1] - values[hidden])) / step)
        run = deep_linear.descend_factors(problem, scale * a, scale * b, step, steps)
        name = f"from {scale:g}"
        yield at_most(run.losses[-1] - levels[-1], 1e-9, f"{name}: excess after {steps} steps")
        passed = step * run.passages()[:hidden]
        near = np.sum(np.abs(run.losses[:, None] - levels) < 0.005 * levels[0], axis=0)
        if scale == SCALES[0]:
            sets = ["".join(str(k + 1) for k in np.flatnonzero(row > 0.5)) for row in run.strengths]
            order = list(dict.fromkeys(sets))
            expected = ["1234567"[:r] for r in range(hidden + 1)]
            yield exactly(" ".join(order), " ".join(expected), f"{name}: families passed, by their modes")
            yield close(
                passed, predicted, f"{name}: time of half strength of each mode, ln(1/ε²)/2λ_k", rtol=0.08
            ).given(
                (1 - values[hidden - 1] / values[0]) * np.log10(1 / scale) < 15,
                "the last mode is above rounding, 1e-16, when the first is learnt",
            )
            yield at_least(near, 20, f"{name}: steps within 0.5% at each of the {hidden + 1} critical levels").given(
                known, "the digits"
            )
            if known:
                yield close(levels, DIGIT_LEVELS, "the critical levels of the staircase", atol=6e-6)
        else:
            yield at_most(near[1:-1].min(), 19, f"{name}: steps at the level least seen: not all are plateaus").given(
                known, "the digits"
            )
        shown = np.unique(np.linspace(0, min(steps, int(1.5 * predicted[-1] / step)), 180).astype(int))
        lines = {
            f"modes 1 to {r}" if r else "none": ([0, step * shown[-1]], [level] * 2) for r, level in enumerate(levels)
        }
        panels.append(
            figure.curves(
                f"{name}: half strength at {', '.join(f'{t:.4g}' for t in passed)}",
                "time (steps × η)",
                "loss",
                lines=lines,
                points={"gradient descent": (step * shown, run.losses[shown])},
                rules={str(k + 1): ("x", t) for k, t in enumerate(predicted)} if scale == SCALES[0] else {},
            )
        )
    times = ", ".join(f"{t:.4g}" for t in np.log(1 / SCALES[0] ** 2) / (2 * values[:hidden]))
    yield figure.beside(f"Descent passes the families in order; from 1e-30 the modes are predicted at {times}", *panels)


def alternation(problem: LinearProblem, hidden: int, known: bool, key: PRNGKeyArray) -> Iterator[Comparison | Figure]:
    """Alternating least squares contracts by λ_{p+1}/λ_p a sweep."""
    from leadline.landscape import deep_linear

    a, _ = deep_linear.gaussian_factors(problem, hidden, 1.0, key=key)
    run = deep_linear.alternate_factors(problem, a, sweeps=60)
    ratio = problem.eigenvalues[hidden] / problem.eigenvalues[hidden - 1]
    yield close(run.contraction(), ratio, "contraction of the tangent a sweep, λ₅/λ₄", atol=1e-4).given(
        ratio < 0.8, "60 sweeps reach the limit"
    )
    if known:
        yield close(run.contraction(), DIGIT_CONTRACTION, "the same, against the number known", atol=1e-4)
    sweeps = np.arange(len(run.tangents))
    kept = run.tangents > 1e-12
    yield figure.curves(
        f"Alternation contracts by {run.contraction():.5f} a sweep; λ₅/λ₄ = {ratio:.5f}",
        "sweep",
        "tan of the largest angle to the top space",
        log="y",
        lines={"slope λ₅/λ₄": (sweeps[kept], run.tangents[kept][-1] * ratio ** (sweeps[kept] - sweeps[kept][-1]))},
        points={"measured": (sweeps[kept], run.tangents[kept])},
    )


def inertia(key: PRNGKeyArray) -> Iterator[Comparison | Figure]:
    """Every family of the small problems: index and nullity by formula and from the dense Hessian."""
    import jax

    from leadline.landscape import deep_linear

    formula, counted = [], []
    for number, (d_x, d_y, p) in enumerate(SHAPES):
        problem = deep_linear.random_problem(
            d_x, d_y, 40, key=jax.random.fold_in(key, number), spectrum=1.5 ** -np.arange(d_y)
        )
        for family in deep_linear.atlas(problem, p):
            formula.append((family.index, family.nullity))
            counted.append(deep_linear.hessian_inertia(problem.factor_hessian(*family.factors()))[:2])
    yield exactly(np.array(counted), np.array(formula), f"(index, nullity) of all {len(formula)} families, 4 problems")


def atlas_trials(data: str = "digits", *, hidden: int = HIDDEN, images: int = 10_000) -> Iterator[tuple[str, str, Any]]:
    """The trials of the audit, in order: id, what it says, its generator; on the digits or other images."""
    from leadline import data as sources
    from leadline.landscape import deep_linear

    known = data == "digits" and hidden == HIDDEN
    if data == "digits":
        problem = deep_linear.digits_autoencoder()
    else:
        problem = deep_linear.autoencoder_problem(_halved(np.asarray(sources.load(data).train_inputs[:images], float)))
    what = f"linear autoencoder with {hidden} units on {problem.samples} images of {data}"
    yield "atlas", f"The lowest families of critical points of a {what}.", lambda key: lowest(problem, hidden, known)
    yield (
        "staircase",
        f"Gradient descent on a {what} passes the critical families in order, at predicted times.",
        lambda key: staircase(problem, hidden, known, key),
    )
    yield (
        "alternation",
        f"Alternating least squares on a {what} contracts by the ratio of two eigenvalues.",
        lambda key: alternation(problem, hidden, known, key),
    )
    yield "inertia", "Index and nullity follow the formula at every family of four small problems.", inertia


def _on_data(problem: LinearProblem, a: np.ndarray, b: np.ndarray) -> float:
    """(1/2n)‖Y − A(BX)‖², sample by sample."""
    return float(np.sum((problem.y - a @ (b @ problem.x)) ** 2) / (2 * problem.samples))


def _halved(images: np.ndarray) -> np.ndarray:
    """Grey images in rows, each 2 × 2 pixels averaged to one: 28 × 28 becomes 196 numbers."""
    side = round((images.size / len(images)) ** 0.5)
    if side % 2 or images.size != len(images) * side**2:
        raise ValueError(
            f"Images of shape {images.shape[1:]} are not grey squares with an even side; use mnist or such."
        )
    return images.reshape(-1, side // 2, 2, side // 2, 2).mean(axis=(2, 4)).reshape(len(images), -1)
