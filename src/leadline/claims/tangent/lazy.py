"""Lazy training: wide networks stay near their start, and their kernel stays what it was."""

from typing import Annotated, NamedTuple

import jax
import numpy as np

from leadline import tangent
from leadline.claims.tangent.mode_decay import odd_even_digits
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, figure, mean, printed, slope

POINTS = np.array([-1.5, -0.5, 0.5, 1.5])
FOUR = np.stack([np.ones(4), POINTS], axis=1), np.array([1.0, -1.0, 0.5, -0.5])  # inputs (1, x)


class Trained(NamedTuple):
    """Runs of several widths and seeds; distances, drifts and step counts are (widths, seeds)."""

    distance: np.ndarray
    relative: np.ndarray
    drift: np.ndarray
    steps: np.ndarray
    reached: bool
    runs: list


def train_widths(widths, seeds, x, y, activation, parametrisation, key, *, gain=1.0, until=1e-4, most=4000) -> Trained:
    """Gradient descent with η = n/(2 λ_max(K)) on the mean risk, for every width and seed."""
    nets = [
        tangent.lecun_two_layer(
            x.shape[1], int(m), activation, gain=gain, parametrisation=parametrisation,
            key=jax.random.fold_in(key, 1000 * i + s),
        )
        for i, m in enumerate(widths)
        for s in range(seeds)
    ]  # fmt: skip
    kernels = tangent.family_kernels(nets, x)
    rates = [len(y) / 2 / np.linalg.eigvalsh(K)[-1] for K in kernels]
    # A family runs until its slowest member is done, at the width of its widest: narrow and wide ones go apart.
    half = len(nets) // 2 if len(y) < 10 else 1
    runs = []
    for start in range(0, len(nets), half):
        group = slice(start, start + half)
        runs += tangent.train_family(nets[group], x, y, rates[group], until=until, most=most)
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


@claim(
    "ntk-constancy",
    says=(
        "In the NTK parametrisation the kernel's relative change during training vanishes as the network widens: no "
        "slower than m^(−1/2), as proved, and measured nearer to m^(−1), the order of the leading correction. In "
        "mean-field scaling it does not vanish."
    ),
    formula=r"\sup_t \|K_t - K_0\| / \|K_0\| = O(m^{-1/2}); \qquad \text{measured } m^{-s}, \ s \in [0.45, 1.1]",
    sources=("eth", "sheet", "cam"),
    assumes=("smooth σ on the four points", "training to a fixed relative loss"),
    empirical=True,
)
def ntk_constancy(
    key,
    task: Annotated[str, Choice("four points", "digits")] = "four points",
    activation: Annotated[str, Choice("tanh", "sin")] = "tanh",
    largest: Annotated[int, Range(1600, 6400, log=True)] = 3200,
    seeds: Annotated[int, Range(3, 6)] = 4,
):
    """Four points to 10⁻⁴ of the initial loss in three parametrisations; or digits, one ReLU layer, 300 steps."""
    if task == "digits":
        yield from _digits_drift(key, min(largest, 1024))
        return
    widths = np.array([largest // 64, largest // 16, largest // 4, largest])
    x, y = FOUR
    ntk, standard, field = (
        train_widths(widths, seeds, x, y, activation, form, jax.random.fold_in(key, i))
        for i, form in enumerate(("ntk", "standard", "mean-field"))
    )
    reached = ntk.reached and standard.reached and field.reached
    stop = "every run comes to 10⁻⁴ of its initial loss"
    slopes = seed_slopes(widths, ntk.drift)
    yield mean(slopes, -0.45, "slope of the drift against the width: at most", side="at most").given(reached, stop)
    yield mean(slopes, -1.1, "slope of the drift against the width: at least", side="at least").given(reached, stop)
    yield at_least(
        np.median(field.drift[-1]) / np.median(field.drift[0]),
        0.5,
        "mean-field: drift at the widest over the narrowest",
    ).given(reached, stop)
    yield mean(
        seed_slopes(widths, standard.drift), -1.5, "slope in the standard parametrisation, η ~ 1/m", side="at most"
    ).given(reached, stop)
    yield printed(
        close(slopes.mean(), -0.5, "measured slope of the drift, NTK parametrisation", atol=0.1),
        "sheet", "the empirical rate of the drift is 1/√m",
    )  # fmt: skip
    middle = {name: np.exp(np.log(run.drift).mean(axis=1)) for name, run in (("ntk", ntk), ("field", field))}
    yield _drift_figure(widths, ntk.drift, middle["ntk"], slopes.mean(), "NTK", field.drift)


def _digits_drift(key, largest):
    (x, y), _ = odd_even_digits(400)
    widths = np.array([largest // 16, largest // 4, largest])
    runs = train_widths(widths, 1, x, y, "relu", "ntk", key, gain=2**0.5, until=0.0, most=300)
    found = float(seed_slopes(widths, runs.drift)[0])
    yield at_most(found, -0.45, "digits: slope of the drift against the width")
    yield at_least(found, -1.1, "digits: slope of the drift against the width")
    yield slope(widths, runs.relative[:, 0], -0.5, "digits: relative movement against the width", within=0.1)
    yield _drift_figure(widths, runs.drift, runs.drift[:, 0], found, "digits, NTK")


def _drift_figure(widths, drift, middle, found, name, field=None):
    points = {name: (np.repeat(widths, drift.shape[1]), drift.ravel())}
    if field is not None:
        points["mean-field"] = (np.repeat(widths, field.shape[1]), field.ravel())
    return figure.curves(
        f"The kernel moves by {middle[0]:.2g} at width {widths[0]} and {middle[-1]:.2g} at {widths[-1]}: slope "
        f"{found:.2f}",
        x="width m",
        y="‖K_T − K_0‖/‖K_0‖",
        points=points,
        lines={
            "slope −1/2 (proved)": (widths, middle[0] * (widths / widths[0]) ** -0.5),
            "slope −1 (leading term)": (widths, middle[0] * (widths / widths[0]) ** -1.0),
        },
        log="xy",
    )


@claim(
    "lazy-training",
    says=(
        "Wider networks end nearer to their start: the relative distance falls as m^(−1/2) in the NTK parametrisation, "
        "where the distance itself is constant, and the distance itself in the standard one with steps ~ 1/m. In "
        "mean-field scaling the relative distance does not fall."
    ),
    formula=r"\|\theta_T - \theta_0\| / \|\theta_0\| \sim m^{-1/2}",
    sources=("eth", "cam"),
    assumes=("training to a fixed relative loss",),
)
def lazy_training(
    key,
    activation: Annotated[str, Choice("tanh", "relu")] = "tanh",
    largest: Annotated[int, Range(3200, 6400, log=True)] = 3200,
    seeds: Annotated[int, Range(2, 5)] = 2,
):
    """Inputs (1, x) at four points, η = n/(2 λ_max), to 10⁻⁴ of the initial loss, in three parametrisations."""
    widths = np.array([largest // 64, largest // 16, largest // 4, largest])
    x, y = FOUR
    standard, ntk, field = (
        train_widths(widths, seeds, x, y, activation, form, jax.random.fold_in(key, i))
        for i, form in enumerate(("standard", "ntk", "mean-field"))
    )
    reached = standard.reached and ntk.reached and field.reached
    stop = "every run comes to 10⁻⁴ of its initial loss"
    many = np.repeat(widths, seeds)
    yield slope(many, standard.distance, -0.5, "distance, standard parametrisation", within=0.1).given(reached, stop)
    yield slope(many, ntk.relative, -0.5, "relative distance, NTK parametrisation", within=0.1).given(reached, stop)
    yield slope(many, ntk.distance, 0.0, "distance, NTK parametrisation", within=0.1).given(reached, stop)
    yield slope(many, field.relative, 0.0, "relative distance, mean-field scaling", within=0.1).given(reached, stop)
    yield slope(many, standard.steps, 0.0, "steps to 10⁻⁴, standard parametrisation", within=0.15).given(reached, stop)
    grid = np.linspace(-2.5, 2.5, 121)
    inputs = np.stack([np.ones_like(grid), grid], axis=1)
    first = standard.runs[::seeds]
    typical = standard.distance.mean(axis=1)
    yield figure.beside(
        f"From m = {widths[0]} to {widths[-1]} the distance falls from {typical[0]:.2f} to {typical[-1]:.2f}, the "
        f"steps stay near {np.median(standard.steps):.0f}",
        figure.curves(
            "Distance from the start after training",
            x="width m",
            y="‖θ_T − θ_0‖",
            points={
                "standard": (many, standard.distance.ravel()),
                "NTK": (many, ntk.distance.ravel()),
                "mean-field": (many, field.distance.ravel()),
            },
            lines={"slope −1/2": (widths, typical[0] * (widths / widths[0]) ** -0.5)},
            log="xy",
        ),
        figure.curves(
            "Fitted functions, standard parametrisation",
            x="x",
            y="f(x)",
            points={"data": (POINTS, y)},
            lines={f"m = {run.network.width}": (grid, np.asarray(run.network.outputs(inputs))) for run in first},
        ),
        figure.curves(
            "Losses over steps, standard parametrisation",
            x="step",
            y="R_k/R_0",
            lines={
                f"m = {run.network.width}": (_thin(np.arange(run.steps + 1)), _thin(run.losses / run.losses[0]))
                for run in first
            },
            log="y",
        ),
    )


def _thin(values) -> np.ndarray:
    return np.asarray(values)[:: max(1, len(values) // 120)]
