"""The noise audit: the floors of SGD on the digits, predicted from one covariance and met without a fit."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Array, PRNGKeyArray

from leadline.evidence import Comparison, Figure, at_least, at_most, close, erratum
from leadline.optimisation import SoftmaxRidge
from leadline.presentation import figure
from leadline.stochastic.problems.softmax_sgd import Equilibrium

PENALTY = 0.01
STEPS = 60_000
SIZES, BATCHES = (0.2, 0.05, 0.0125), (1, 4, 16, 64)
RUNS = 6  # of each cell in the regime: one run of 60 000 steps has a statistical error of 3%
LARGEST = 0.01  # the floor up to which the quadratic model is trusted


def floors(problem: SoftmaxRidge, at: Equilibrium, key: PRNGKeyArray) -> Iterator[Comparison | Figure]:
    """Every cell (η, b): predicted before it is run, flagged where the theory is outside its regime."""
    import jax

    from leadline.stochastic import measured_floor, noise_floor

    m = float(problem.penalty)
    rows, ratios = [], {}
    for step in SIZES:
        for batch in BATCHES:
            predicted = noise_floor(step, batch, at.hessian, at.covariance)
            trusted = predicted < LARGEST and STEPS * step * m >= 10
            run = measured_floor(
                problem,
                step,
                batch,
                num_steps=STEPS,
                start=at.minimiser,
                minimum=at.minimum,
                burn_in=0.25,
                runs=RUNS if trusted else 1,
                key=jax.random.fold_in(key, len(rows)),
            )
            found = float(run.floor.mean())
            why = "the floor is below 0.01, where the loss is quadratic, and the run is 10 times its memory"
            ratios[step, batch] = found / predicted
            rows.append((step, batch, predicted, found, trusted))
            yield close(found, predicted, f"floor, η = {step:g}, b = {batch}", rtol=0.05).given(trusted, why)
    small = [(np.log(s), np.log(b), np.log(f)) for s, b, _, f, trusted in rows if trusted]
    design = np.array([[1.0, s, b] for s, b, _ in small])
    fitted = np.linalg.lstsq(design, np.array([f for _, _, f in small]), rcond=None)[0]
    yield close(fitted[1], 1.0, "exponent of η in the floor", atol=0.05)
    yield close(fitted[2], -1.0, "exponent of b in the floor", atol=0.05)
    ratio = np.array([s / b for s, b, *_ in rows])
    order = np.argsort(ratio)
    worst = max(ratios, key=lambda cell: abs(ratios[cell] - 1))
    yield figure.curves(
        "Floors of SGD against η/b, nothing fitted; farthest off: "
        f"η = {worst[0]:g}, b = {worst[1]} ({ratios[worst]:.2f})",
        "η/b",
        "mean gap at the end",
        log="xy",
        lines={"predicted: (η/4b) Σ C_jj/(1 − ηλ_j/2)": (ratio[order], np.array([r[2] for r in rows])[order])},
        points={
            "measured, in the regime": tuple(np.array([(s / b, f) for s, b, _, f, ok in rows if ok]).T),
            "measured, flagged beforehand": tuple(np.array([(s / b, f) for s, b, _, f, ok in rows if not ok]).T),
        },
    )


def variance_reduced(problem: SoftmaxRidge, at: Equilibrium, key: PRNGKeyArray) -> Iterator[Comparison | Figure]:
    """SAGA and SVRG at 1/(3 L_max) reach 1e-10 and 1e-9 where SGD sits on its floor."""
    import jax
    import jax.numpy as jnp

    from leadline.stochastic import finite_softmax, index_stream, saga, sgd_run, svrg

    total, passes = finite_softmax(problem), 45
    n, step = total.samples, 1 / (3 * problem.largest_sample_smoothness)
    start = jnp.zeros(at.minimiser.size)
    stream = jnp.asarray(index_stream(n, 25 * n, key=key))
    gaps = {"SAGA": _gaps(problem, saga(total, start, step, stream).points, at.minimum)}
    inner = jnp.asarray(index_stream(n, 9 * 2 * n, key=jax.random.fold_in(key, 1))).reshape(9, 2 * n)
    snapshots = svrg(total, start, step, inner)
    gaps["SVRG"] = _gaps(problem, snapshots.snapshots, at.minimum)
    gaps["SGD"] = _gaps(problem, sgd_run(total, start, step, stream, every=n).points, at.minimum)
    where = {
        "SAGA": np.arange(len(gaps["SAGA"])) + 1.0,
        "SVRG": np.asarray(snapshots.evaluations) / n,
        "SGD": np.arange(len(gaps["SGD"])) * 1.0,
    }
    yield at_most(gaps["SAGA"][-1], 1e-10, "gap of SAGA, step 1/(3 L_max), after 25 passes")
    yield at_most(
        gaps["SVRG"][where["SVRG"] <= passes][-1], 1e-9, f"gap of SVRG, step 1/(3 L_max), within {passes} passes"
    )
    yield at_least(gaps["SGD"][-1], 1e-4, "gap of SGD with the same step after 25 passes: its floor")
    yield figure.curves(
        f"After 25 passes: SAGA {gaps['SAGA'][-1]:.0e}, SGD with the same step {gaps['SGD'][-1]:.0e}",
        "passes over the data",
        "gap",
        log="y",
        points={name: (where[name], np.maximum(values, 1e-16)) for name, values in gaps.items()},
    )


def averaging(problem: SoftmaxRidge, at: Equilibrium, key: PRNGKeyArray) -> Iterator[Comparison | Figure]:
    """The mean of the last half of the same run: ten times lower at no further gradient."""
    from leadline.stochastic import averaged_gap, measured_floor

    run = measured_floor(
        problem, 0.05, 16, num_steps=STEPS, start=at.minimiser, minimum=at.minimum, key=key, runs=10, burn_in=0.5
    )
    predicted = averaged_gap(STEPS // 2, 16, at.hessian, at.covariance)
    found, last = float(run.averaged.mean()), float(run.floor.mean())
    yield close(found, predicted, "gap of the mean of the last 30 000 iterates, 10 seeds: tr(H⁻¹C)/(bT)", rtol=0.3)
    yield at_least(last / found, 10.0, "gap of the last iterates over that of their mean")
    yield figure.bars(
        f"Averaging lowers the gap {last / found:.0f} times, to {found:.2e} (predicted {predicted:.2e})",
        "",
        "gap",
        log=True,
        values={"measured": {"last iterates": last, "their mean": found}, "predicted": {"their mean": predicted}},
    )


def second_moments(problem: SoftmaxRidge, at: Equilibrium, key: PRNGKeyArray) -> Iterator[Comparison | Figure]:
    """The second moment of a batch never falls below that of the mean; a bound that a text prints does."""
    import jax.numpy as jnp

    w = jnp.zeros(at.minimiser.size)
    gradients = np.asarray(problem.sample_gradients(w))
    mean = gradients.mean(axis=0)
    single, square = float(np.mean(np.sum(gradients**2, axis=1))), float(mean @ mean)
    batches = np.array([1, 4, 16, 64, 256, 1024])
    true = square + (single - square) / batches
    sigma = single / square  # σ₀ = 0 at this point: the smallest σ for which the bound holds with b = 1
    repaired, wrong = (1 + (sigma - 1) / batches) * square, sigma / batches * square
    bound = at_most(true, repaired, "E‖ĝ_b‖² at W = 0, σ₀/b + (1 + (σ − 1)/b)‖g‖²", rtol=1e-12)
    yield bound
    yield erratum(
        at_most(true, wrong, "E‖ĝ_b‖² at W = 0, σ₀/b + (σ/b)‖g‖²", rtol=1e-12),
        of=bound,
        by="penn",
        prints="the second moment of a batch is at most σ₀/b + (σ/b)‖g‖²",
    )
    yield figure.curves(
        f"E‖ĝ_b‖² never falls below ‖g‖² = {square:.3g}; the erratum does",
        "batch b",
        "second moment",
        log="xy",
        lines={"repaired bound": (batches, repaired), "erratum": (batches, wrong)},
        points={"exact": (batches, true)},
    )


def noise_trials() -> Iterator[tuple[str, str, Any]]:
    """The trials of the audit, in order: id, what it says, its generator."""
    from leadline.optimisation import digits_softmax
    from leadline.stochastic import softmax_equilibrium

    problem = digits_softmax(PENALTY)
    at = softmax_equilibrium(problem)
    trace = float(np.trace(at.covariance))
    yield (
        "floors",
        f"SGD settles at (η/4b) Σ C_jj/(1 − ηλ_j/2), from tr C = {trace:.5f} measured once at the minimum.",
        lambda key: floors(problem, at, key),
    )
    yield "variance-reduction", "SAGA and SVRG go on where SGD stops.", lambda key: variance_reduced(problem, at, key)
    yield "averaging", "The mean of SGD's iterates is far better than each.", lambda key: averaging(problem, at, key)
    yield (
        "second-moments",
        "A batch's gradient is never shorter, in mean square, than the whole gradient.",
        lambda key: second_moments(problem, at, key),
    )


def image_trials(name: str = "fashion-mnist", images: int = 10_000) -> Iterator[tuple[str, str, Any]]:
    """The floors on images of another dataset, 7850 weights: predicted from two traces, no Hessian, within 10%."""
    import jax
    import jax.numpy as jnp

    from leadline import data
    from leadline.optimisation import SoftmaxRidge
    from leadline.stochastic import measured_floor
    from leadline.stochastic.noise.softmax_noise import softmax_noise

    sample = data.load(name)
    x = np.asarray(sample.train_inputs[:images], float).reshape(images, -1)
    x = np.concatenate([x, np.ones((images, 1))], axis=1)
    labels = jnp.asarray(sample.train_labels[:images])
    problem = SoftmaxRidge(jnp.asarray(x), labels, jnp.asarray(PENALTY), len(sample.classes))

    def run(key):
        noise = softmax_noise(problem, key=jax.random.fold_in(key, 1))
        rows = []
        for step, batch in ((0.02, 64), (0.01, 16), (0.01, 64)):
            steps = int(10 / (step * PENALTY))
            predicted = noise.floor(step, batch)
            found = measured_floor(
                problem,
                step,
                batch,
                num_steps=steps,
                start=noise.minimiser,
                minimum=noise.minimum,
                key=key,
                burn_in=0.25,
            )
            rows.append((step / batch, predicted, float(found.floor[0])))
            yield close(rows[-1][2], predicted, f"floor, η = {step:g}, b = {batch}, {steps} steps", rtol=0.1)
        ratio, predicted, found = np.array(sorted(rows)).T
        off = np.max(np.abs(found / predicted - 1))
        yield figure.curves(
            f"{images} images of {name}: the floors of SGD, nothing fitted, are within {off:.0%} of the prediction",
            "η/b",
            "mean gap at the end",
            log="xy",
            lines={"predicted: (η/4b)(tr C + (η/2) tr HC)": (ratio, predicted)},
            points={"measured": (ratio, found)},
        )

    yield "image-floors", f"SGD on {images} images of {name} settles where two traces at the minimum say.", run


def _gaps(problem: SoftmaxRidge, points: Array, minimum: float) -> np.ndarray:
    import jax

    return np.asarray(jax.lax.map(problem, points)) - minimum
