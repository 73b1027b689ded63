"""The audit of the Kalman floor: trained networks graded against the least error that any function can have."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from leadline.evidence import Comparison, Figure, assume, at_least, at_most, close, mean, reference
from leadline.presentation import figure

STEPS, UNITS, PATHS = 1500, 32, 4000
CELLS = ("linear", "elman", "gru", "lstm", "mingru", "lru")
Say = Callable[[str], None]


def floor_of_cells(
    key: PRNGKeyArray, say: Say, num_steps: int, cells: tuple[str, ...] = CELLS
) -> Iterator[Comparison | Figure]:
    """Every cell, trained on fresh paths with a = 0.95, Q = 0.1, R = 1, on 4000 others."""
    from leadline import sequences
    from leadline.claims.scenarios.sequences.tracked_states import (
        REFERENCE,
        filter_floor,
        filtered_means,
        scalar_model,
        trained_tracker,
    )

    known = scalar_model(**REFERENCE)
    drawn = sequences.simulate(known, 100, paths=PATHS, key=key)
    best, floor = filtered_means(known, drawn.observations), filter_floor(known)
    grades = {}
    for cell in cells:
        say(f"{cell}, {num_steps} steps")
        net = trained_tracker(cell, 1 if cell == "linear" else UNITS, num_steps)
        said = sequences.estimates_of(net, drawn.observations)
        grades[cell] = sequences.grade_estimates(said, drawn.states, best, floor)
        what = f"{cell}: mean squared error of {PATHS} paths, at least the exact floor"
        yield mean(grades[cell].errors, floor, what, side="at least")
    kalman = next(iter(grades.values())).best_errors
    yield mean(kalman, floor, f"Kalman filter: mean squared error of {PATHS} paths, against its exact variance")
    if "gru" in grades:
        yield at_most(grades["gru"].ratio, 1.01, "GRU: error over the exact floor").as_empirical()
    points = {
        cell: (grade.excess / floor, *((grade.excess + z * grade.standard_error) / floor for z in (-1.96, 1.96)))
        for cell, grade in grades.items()
    }
    closest = min(grades, key=lambda cell: grades[cell].excess)
    yield figure.categories(
        f"All are above the floor {floor:.4f}; the closest is {closest}, by {grades[closest].ratio - 1:.2%}",
        "cell",
        "mean squared error above the floor, over the floor",
        points={"measured": points},
        rules={"1%": ("y", 0.01)},
        log=True,
    )


def both_directions(key: PRNGKeyArray, say: Say, num_steps: int) -> Iterator[Comparison | Figure]:
    """A bidirectional GRU against the smoother, and a forward one against the filter, on the same paths."""
    from leadline import sequences
    from leadline.claims.scenarios.sequences.tracked_states import (
        SMOOTHED,
        filter_floor,
        filtered_means,
        scalar_model,
        trained_tracker,
    )

    known = scalar_model(**SMOOTHED)
    drawn = sequences.simulate(known, 100, paths=PATHS, key=key)
    smoothed = jax.vmap(lambda xs: sequences.kalman_smoother(known, xs, method="scan").means)(drawn.observations)
    floors = {
        "forward": filter_floor(known),
        "both directions": float(sequences.kalman_smoother(known, jnp.zeros(100)).covariances.mean()),
    }
    best = {"forward": filtered_means(known, drawn.observations), "both directions": np.asarray(smoothed)}
    errors = {}
    for name, units, both in (("forward", 2 * UNITS // 2, False), ("both directions", UNITS // 2, True)):
        say(f"GRU, {name}, {num_steps} steps")
        a, Q, R = (SMOOTHED[name] for name in "aQR")
        net = trained_tracker("gru", units, num_steps, both=both, a=a, Q=Q, R=R)
        said = sequences.estimates_of(net, drawn.observations)
        grade = sequences.grade_estimates(said, drawn.states, best[name], floors[name])
        errors[name] = float(grade.errors.mean())
        what = f"GRU, {name}: mean squared error, at least its exact floor"
        yield mean(grade.errors, floors[name], what, side="at least")
        yield at_most(grade.ratio, 1.02, f"GRU, {name}: error over its exact floor").as_empirical()
    what = "GRU in both directions: mean squared error, against the filter's floor, which no causal network passes"
    yield at_most(errors["both directions"], floors["forward"], what, strict=True).as_empirical()
    yield figure.categories(
        "The future is worth what the smoother says, and a bidirectional network gets it",
        "network",
        "mean squared error",
        lines={"exact floor": floors},
        points={"GRU": errors},
    )


def other_noise(key: PRNGKeyArray, say: Say, num_steps: int) -> Iterator[Comparison | Figure]:
    """Noise of two points: a network passes the Kalman filter, and stays above the exact posterior on a grid."""
    from leadline import sequences
    from leadline.claims.scenarios.sequences.tracked_states import (
        REFERENCE,
        filtered_means,
        scalar_model,
        trained_tracker,
    )

    known = scalar_model(**REFERENCE)
    drawn = sequences.simulate(known, 100, paths=500, noise="two points", key=key)
    say("the exact filter on a grid")
    grid = np.linspace(-8, 8, 201)
    exact = jax.jit(jax.vmap(lambda xs: sequences.point_mass_filter(known, xs, grid, noise="two points")[2:4]))(
        drawn.observations
    )
    means, variances = (np.asarray(part) for part in exact)
    floor = float(variances.mean())
    say(f"GRU on noise of two points, {num_steps} steps")
    net = trained_tracker("gru", UNITS, num_steps, noise="two points")
    said = sequences.estimates_of(net, drawn.observations)
    grade = sequences.grade_estimates(said, drawn.states, means[..., None], floor)
    linear = ((filtered_means(known, drawn.observations) - np.asarray(drawn.states)) ** 2)[..., 0].mean(1)
    yield mean(grade.best_errors - variances.mean(1), 0.0, "exact filter: error less its own variance, against 0")
    extra = grade.errors - grade.best_errors
    yield mean(extra, 0.0, "GRU: error above that of the exact filter, at least 0", side="at least")
    what = "GRU: mean squared error, against that of the Kalman filter, the best linear estimator"
    yield at_most(float(grade.errors.mean()), float(linear.mean()), what, strict=True).as_empirical()
    values = {"Kalman filter": float(linear.mean()), "GRU": float(grade.errors.mean()), "exact, on a grid": floor}
    yield figure.bars(
        f"Noise of two points: the GRU's error is {values['GRU'] / values['Kalman filter']:.2f} of the Kalman filter's",
        "estimator",
        "mean squared error",
        values={"error": values},
    )


def nile(key: PRNGKeyArray, say: Say) -> Iterator[Comparison | Figure]:
    """The local level of the Nile's yearly flow: variances by maximum likelihood, and the filter three ways."""
    from leadline import data, sequences

    say("the Nile")
    try:
        series = data.load("nile")
    except data.DataUnavailable as missing:
        assume(False, f"the Nile series, which is not at hand: {missing}")
        return
    x = series.values

    def local_level(p: dict[str, Any]) -> sequences.LinearGaussian:
        return sequences.diffuse_start(1.0, 1.0, p["level"], p["noise"], x[:1])

    found = sequences.maximise_likelihood(local_level, {"level": 1000.0, "noise": 10_000.0}, x[1:])
    variances = [found.parameters["noise"], found.parameters["level"]]
    yield reference(variances, [15099.0, 1469.1], "variances of noise and level (Durbin and Koopman)", digits=4)
    exact = sequences.joint_distribution(found.model, len(x) - 1).given(x[1:])
    for form in ("loop", "scan"):
        smoothed = sequences.kalman_smoother(found.model, x[1:], method=form)
        what = f"smoothed level by the {form}, against batch conditioning, relative"
        yield close(np.asarray(smoothed.means), exact.means, what, rtol=1e-10)
        what = f"log-likelihood by the {form}, against the joint density"
        yield close(float(smoothed.log_likelihood), exact.log_likelihood, what, rtol=1e-10)
    filtered = sequences.kalman_filter(found.model, x[1:])
    scaled = np.asarray(filtered.innovations[:, 0] / jnp.sqrt(filtered.innovation_covariances[:, 0, 0]))
    p_value = sequences.ljung_box(scaled, 10).p_value
    yield at_least(p_value, 0.05, "innovations: p-value of whiteness at 10 lags").as_empirical()
    t, level = series.times[1:], np.asarray(smoothed.means[:, 0])
    spread = 2 * np.sqrt(np.asarray(smoothed.covariances[:, 0, 0]))
    yield figure.curves(
        f"The Nile's level falls about 1899; variances {variances[0]:.0f} and {variances[1]:.1f}",
        "year",
        "flow (10⁸ m³)",
        lines={"smoothed level": (t, level)},
        bands={"smoothed level": (t, level - spread, level + spread)},
        points={"flow": (series.times, x)},
    )


def kalman_floor_trials(
    *, say: Say = lambda text: None, num_steps: int = STEPS, cells: tuple[str, ...] = CELLS
) -> Iterator[tuple[str, str, Any]]:
    """The trials of the audit, in order: id, what it says, its generator."""
    yield (
        "floor-of-cells",
        "No cell has an error below the exact variance of the Kalman filter, and a trained GRU is within 1% of it.",
        lambda key: floor_of_cells(key, say, num_steps, cells),
    )
    yield (
        "both-directions",
        "The smoother is the floor of bidirectional networks as the filter is of causal ones.",
        lambda key: both_directions(key, say, num_steps // 2),
    )
    yield (
        "other-noise",
        "Where the noise is not normal a network passes the Kalman filter, and not the exact posterior.",
        lambda key: other_noise(key, say, num_steps),
    )
    yield (
        "nile",
        "The local level model of the Nile's flow has the variances of the literature.",
        lambda key: nile(key, say),
    )
