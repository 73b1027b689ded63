"""Lazy training: wide networks stay near their start, and their kernel stays what it was."""

from typing import NamedTuple

import jax
import numpy as np

from leadline import tangent
from leadline.claims.tangent.function_space.mode_decay import odd_even_digits
from leadline.evidence import Int, OneOf, at_least, at_most, claim, mean, slope
from leadline.presentation import figure

POINTS = np.array([-1.5, -0.5, 0.5, 1.5])
FOUR = np.stack([np.ones(4), POINTS], axis=1), np.array([1.0, -1.0, 0.5, -0.5])  # inputs (1, x)
STOP = "every run comes to 10⁻⁴ of its initial loss"


class Trained(NamedTuple):
    """Runs of several widths and seeds; distances, drifts and step counts are (widths, seeds)."""

    distance: np.ndarray
    relative: np.ndarray
    drift: np.ndarray
    steps: np.ndarray
    reached: bool
    runs: list


def train_widths(
    widths, seeds, x, y, activation, parametrisation, key, *, gain=1.0, until=1e-4, max_steps=4000
) -> Trained:
    """Gradient descent with η = n/(2 λ_max(K)) on the mean risk, for every width and seed."""
    form = {"gain": gain, "parametrisation": parametrisation}
    nets = [
        tangent.lecun_two_layer(x.shape[1], int(m), activation, key=jax.random.fold_in(key, 1000 * i + s), **form)
        for i, m in enumerate(widths)
        for s in range(seeds)
    ]
    kernels = tangent.family_kernels(nets, x)
    rates = [len(y) / 2 / np.linalg.eigvalsh(K)[-1] for K in kernels]
    # A family runs until its slowest member is done, at the width of its widest: narrow and wide ones go apart.
    half = len(nets) // 2 if len(y) < 10 else 1
    runs = []
    for start in range(0, len(nets), half):
        group = slice(start, start + half)
        runs += tangent.train_family(nets[group], x, y, rates[group], until=until, max_steps=max_steps)
    ends = tangent.family_kernels([run.network for run in runs], x)
    distance = np.array([run.network.distance(net) for run, net in zip(runs, nets, strict=True)])
    table = {
        "distance": distance,
        "relative": distance / np.array([net.size for net in nets]),
        "drift": np.array([np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(ends, kernels, strict=True)]),
        "steps": np.array([run.steps for run in runs]),
    }
    table = {name: values.reshape(len(widths), seeds) for name, values in table.items()}
    return Trained(**table, reached=all(run.reached for run in runs), runs=runs)


def seed_slopes(widths, table) -> np.ndarray:
    """The slope of log table against log width, for every seed."""
    return np.polyfit(np.log(widths), np.log(table), 1)[0]


@claim(sources=("eth", "sheet", "cam"), empirical=True)
def ntk_constancy(
    key,
    task: OneOf("four points", "digits") = "four points",
    activation: OneOf("tanh", "sin") = "tanh",
    largest: Int(1600, 6400, log=True) = 3200,
    seeds: Int(3, 6) = 4,
):
    r"""Constancy of the NTK during training.

    In the NTK parametrisation the kernel's relative change during training vanishes as the network widens: no slower
    than $m^{-1/2}$, as proved, and as measured closer to m⁻¹, the order of the leading correction. In mean-field
    scaling it does not vanish.

    $$\sup_t \|K_t - K_0\| / \|K_0\| = O(m^{-1/2}); \qquad \text{measured } m^{-s}, \ s \in [0.45, 1.1]$$

    Assumes: smooth σ on the four points; training to a fixed relative loss.

    Check: Four points, to 10⁻⁴ of the initial loss; or digits, with one ReLU layer and 300 steps.
    """
    if task == "digits":
        yield from _digits_drift(key, min(largest, 1024))
        return
    widths = np.array([largest // 64, largest // 16, largest // 4, largest])
    x, y = FOUR
    ntk, standard, field = (
        train_widths(widths, seeds, x, y, activation, form, jax.random.fold_in(key, i))
        for i, form in enumerate(("ntk", "standard", "mean-field"))
    )
    slopes, steep = seed_slopes(widths, ntk.drift), seed_slopes(widths, standard.drift)
    kept = np.median(field.drift[-1]) / np.median(field.drift[0])
    for comparison in (
        mean(slopes, -0.45, "slope of the drift against the width: at most", side="at most"),
        mean(slopes, -1.1, "slope of the drift against the width: at least", side="at least"),
        at_least(kept, 0.5, "mean-field: drift at the widest over the narrowest"),
        mean(steep, -1.5, "slope of the drift in the standard parametrisation, η ~ 1/m", side="at most"),
    ):
        yield comparison.given(all(run.reached for run in (ntk, standard, field)), STOP)
    middle = np.exp(np.log(ntk.drift).mean(axis=1))
    yield _drift_figure(widths, ntk.drift, middle, "NTK", field.drift)


def _digits_drift(key, largest):
    (x, y), _ = odd_even_digits(400)
    widths = np.array([largest // 16, largest // 4, largest])
    runs = train_widths(widths, 1, x, y, "relu", "ntk", key, gain=2**0.5, until=0.0, max_steps=300)
    found = seed_slopes(widths, runs.drift)[0]
    yield at_most(found, -0.45, "digits: slope of the drift against the width, at most")
    yield at_least(found, -1.1, "digits: slope of the drift against the width, at least")
    yield slope(widths, runs.relative[:, 0], -0.5, "digits: relative movement against the width", within=0.1)
    yield _drift_figure(widths, runs.drift, runs.drift[:, 0], "digits, NTK")


def _drift_figure(widths, drift, middle, name, field=None):
    points = {name: (np.repeat(widths, drift.shape[1]), drift.ravel())}
    if field is not None:
        points["mean-field"] = (np.repeat(widths, field.shape[1]), field.ravel())
    title = f"The kernel moves by {middle[0]:.2g} at width {widths[0]}, {middle[-1]:.2g} at {widths[-1]}"
    lines = {
        "slope −1/2 (proved)": (widths, middle[0] * (widths / widths[0]) ** -0.5),
        "slope −1 (leading term)": (widths, middle[0] * (widths / widths[0]) ** -1.0),
    }
    return figure.curves(title, "width m", "‖K_T − K_0‖/‖K_0‖", points=points, lines=lines, log="xy")


@claim(sources=("eth", "cam"))
def lazy_training(
    key, activation: OneOf("tanh", "relu") = "tanh", largest: Int(3200, 6400, log=True) = 3200, seeds: Int(2, 5) = 2
):
    r"""Lazy training.

    Wider networks end nearer to their start. In the NTK parametrisation the relative distance falls as $m^{-1/2}$
    while the distance itself is constant; in the standard parametrisation with step sizes ~ 1/m the distance itself
    falls as $m^{-1/2}$. In mean-field scaling the relative distance does not fall.

    $$\|\theta_T - \theta_0\| / \|\theta_0\| \sim m^{-1/2}$$

    Assumes: training to a fixed relative loss.

    Check: Inputs (1, x) at four points, η = n/(2λₘₐₓ), to 10⁻⁴ of the initial loss.
    """
    widths = np.array([largest // 64, largest // 16, largest // 4, largest])
    x, y = FOUR
    standard, ntk, field = (
        train_widths(widths, seeds, x, y, activation, form, jax.random.fold_in(key, i))
        for i, form in enumerate(("standard", "ntk", "mean-field"))
    )
    many = np.repeat(widths, seeds)
    for table, rate, what, within in (
        (standard.distance, -0.5, "distance from the start against the width, standard parametrisation", 0.1),
        (ntk.relative, -0.5, "relative distance against the width, NTK parametrisation", 0.1),
        (ntk.distance, 0.0, "distance from the start against the width, NTK parametrisation", 0.1),
        (field.relative, 0.0, "relative distance against the width, mean-field scaling", 0.1),
        (standard.steps, 0.0, "steps to 10⁻⁴ against the width, standard parametrisation", 0.15),
    ):
        fall = slope(many, table, rate, what, within=within)
        yield fall.given(all(run.reached for run in (standard, ntk, field)), STOP)
    grid = np.linspace(-2.5, 2.5, 121)
    inputs = np.stack([np.ones_like(grid), grid], axis=1)
    typical = standard.distance.mean(axis=1)
    runs = {"standard": standard, "NTK": ntk, "mean-field": field}
    points = {name: (many, run.distance.ravel()) for name, run in runs.items()}
    lines = {"slope −1/2": (widths, typical[0] * (widths / widths[0]) ** -0.5)}
    title = "Distance from the start after training"
    first = figure.curves(title, "width m", "‖θ_T − θ_0‖", points=points, lines=lines, log="xy")
    one_each = {f"m = {run.network.width}": run for run in standard.runs[::seeds]}
    lines = {name: (grid, run.network(inputs)) for name, run in one_each.items()}
    title = "Fitted functions, standard parametrisation"
    second = figure.curves(title, "x", "f(x)", points={"data": (POINTS, y)}, lines=lines)
    lines = {name: (np.arange(run.steps + 1), run.losses / run.losses[0]) for name, run in one_each.items()}
    title = "Losses over steps, standard parametrisation"
    third = figure.curves(title, "step", "R_k/R_0", lines=lines, log="y")
    title = f"From m = {widths[0]} to {widths[-1]} the distance falls from {typical[0]:.2f} to {typical[-1]:.2f}"
    yield figure.beside(title, first, second, third)
