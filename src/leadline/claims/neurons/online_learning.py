"""What a mistake bound says about a stream of examples: one pass generalises."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, margins
from leadline.claims.neurons.perceptron_runs import one_pass
from leadline.evidence import Range, at_most, claim, exactly, figure, frequency, mean, printed


@claim(
    "single-pass-generalisation",
    says=(
        "One pass over an endless stream of margin ρ makes at most R²/ρ² mistakes, so a pass over n examples, "
        "stopped at random, errs with probability at most R²/(ρ²(n+1))."
    ),
    formula=r"\mathbb{E}\,\mathrm{err}(w_t) \le \frac{R^2/\rho^2}{n+1}, \quad t \sim \mathrm{Uniform}\{0,\dots,n\}",
    sources=("penn",),
    assumes=("w₀ = 0", "the examples are independent, with ‖x‖ ≤ R and margin at least ρ for one w*"),
)
def single_pass_generalisation(
    key,
    margin: Annotated[float, Range(0.05, 0.5, log=True)] = 0.1,
    dim: Annotated[int, Range(5, 60)] = 50,
    length: Annotated[int, Range(10_000, 100_000, log=True)] = 10_000,
    runs: Annotated[int, Range(20, 40)] = 40,
):
    """All examples at margin exactly ρ, the hardest case; the error of each w_t is then known exactly."""
    enough = round(1 / margin**2)
    grid = np.unique(np.geomspace(1, length, 40).astype(int))
    stops = sorted({min(k * enough, length) for k in (2, 10, 50)})
    counts = np.unique(np.concatenate([grid, stops, [enough]]))
    streams = [one_pass(jax.random.fold_in(key, r), length, dim, margin, counts) for r in range(runs)]
    mistakes, last, random_stop = (np.array([s[k] for s in streams]) for k in range(3))  # each (runs, counts)
    bound = margins.mistake_bound(1.0, margin)
    yield at_most(mistakes[:, -1], bound, f"mistakes on {length} examples, {runs} streams")
    for n in stops:
        i = np.searchsorted(counts, n)
        limit = margins.online_to_batch_bound(1.0, margin, n)
        yield mean(
            random_stop[:, i],
            limit,
            f"error at a random stop, n = {n}",
            side="at most",
            confidence=1 - 0.01 / len(stops),
        )

    at_enough = np.searchsorted(counts, enough)
    x, y, _ = data.margin_shell(20_000, dim, margin, key=jax.random.fold_in(key, runs))
    final = streams[0][3]
    wrong = int(jnp.sum(y * (x @ final) <= 0))
    yield frequency(
        wrong, 20_000, streams[0][1][at_enough], f"error on fresh examples against its exact value, n = {enough}"
    )
    yield printed(
        at_most(last[:, at_enough].mean(), 0.0, f"mean error after n = R²/ρ² = {enough} examples"),
        "penn",
        "n ≈ R²/ρ² examples give perfect generalisation",
    )
    yield printed(exactly(mistakes[:, -1], bound, "mistakes on the stream"), "penn", "exactly R²/ρ² mistakes")

    averaged, final_error = random_stop.mean(axis=0), last.mean(axis=0)
    shown = np.isin(counts, grid)
    n = counts[shown]
    useful = n[n >= 2.5 * enough]  # just after R²/ρ² the bound says next to nothing
    yield figure.curves(
        f"After R²/ρ² = {enough} examples the error is {final_error[at_enough]:.2f}, not 0; "
        f"{mistakes[:, at_enough].mean():.0f} mistakes by then, {mistakes[:, -1].mean():.0f} by n = {length}",
        x="examples n", y="test error", log="xy",
        lines={"R²/(ρ²(n+1))": (useful, (1 / margin**2) / (useful + 1))},
        points={"random stop": (n, averaged[shown]), "after all n": (n, final_error[shown])},
        rules={f"printed n = {enough}": ("x", enough)},
    )  # fmt: skip
