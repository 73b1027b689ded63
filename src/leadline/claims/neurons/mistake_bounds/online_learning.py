"""What a mistake bound says about a stream of examples: one pass generalises."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data
from leadline.claims.scenarios.neurons.perceptron_runs import one_pass
from leadline.evidence import Int, Real, at_most, claim, erratum, exactly, frequency, mean
from leadline.linear_classifiers import margins
from leadline.linear_classifiers.margins.mistake_bounds import online_to_batch_bound
from leadline.presentation import figure


@claim(sources=("penn",))
def single_pass_generalisation(
    key,
    margin: Real(0.05, 0.5, log=True) = 0.1,
    dim: Int(5, 60) = 50,
    length: Int(10_000, 100_000, log=True) = 10_000,
    runs: Int(20, 40) = 40,
):
    r"""Online-to-batch bound for the perceptron.

    One pass over an endless stream of margin ρ makes at most R²/ρ² mistakes, so a pass over n examples, stopped at
    random, errs with probability at most R²/(ρ²(n+1)).

    $$\mathbb{E}\,\mathrm{err}(w_t) \le \frac{R^2/\rho^2}{n+1}, \quad t \sim \mathrm{Uniform}\{0,\dots,n\}$$

    Assumes: w₀ = 0; the examples are independent, with ‖x‖ ≤ R and margin at least ρ for one w*.

    Check: All examples have margin exactly ρ, the hardest case; the error of each wₜ is then known exactly.
    """
    enough = round(1 / margin**2)
    grid = np.unique(np.geomspace(1, length, 40).astype(int))
    stops = sorted({min(k * enough, length) for k in (2, 10, 50)})
    counts = np.unique(np.concatenate([grid, stops, [enough]]))
    streams = [one_pass(jax.random.fold_in(key, r), length, dim, margin, counts) for r in range(runs)]
    mistakes, last, random_stop = (np.array([s[k] for s in streams]) for k in range(3))  # each (runs, counts)
    bound = margins.mistake_bound(1.0, margin)
    few = at_most(mistakes[:, -1], bound, f"mistakes on {length} examples, {runs} streams")
    yield few
    for n in stops:
        errors, limit = random_stop[:, np.searchsorted(counts, n)], online_to_batch_bound(1.0, margin, n)
        what, confidence = f"error at a random stop, n = {n}", 1 - 0.01 / len(stops)
        stopped = mean(errors, limit, what, side="at most", confidence=confidence)
        yield stopped
    at_enough = np.searchsorted(counts, enough)
    x, y, _ = data.margin_shell(20_000, dim, margin, key=jax.random.fold_in(key, runs))
    wrong = jnp.sum(y * (x @ streams[0][3]) <= 0)
    what = f"error on fresh examples against its exact value, n = {enough}"
    yield frequency(wrong, 20_000, streams[0][1][at_enough], what)
    perfect = at_most(last[:, at_enough].mean(), 0.0, f"mean error after n = R²/ρ² = {enough} examples")
    yield erratum(perfect, of=stopped, by="penn", prints="n ≈ R²/ρ² samples give perfect generalisation")
    exact = exactly(mistakes[:, -1], bound, "mistakes on the stream")
    yield erratum(exact, of=few, by="penn", prints="the mistakes are “also exact R²/ρ²”")
    averaged, final_error = random_stop.mean(axis=0), last.mean(axis=0)
    shown = np.isin(counts, grid)
    n = counts[shown]
    useful = n[n >= 2.5 * enough]  # just after R²/ρ² the bound says next to nothing
    title = f"After R²/ρ² = {enough} examples the error is {final_error[at_enough]:.2f}, not 0"
    lines = {"R²/(ρ²(n+1))": (useful, (1 / margin**2) / (useful + 1))}
    points = {"random stop": (n, averaged[shown]), "after all n": (n, final_error[shown])}
    rules = {f"n = R²/ρ² = {enough}": ("x", enough)}
    yield figure.curves(title, "examples n", "test error", log="xy", lines=lines, points=points, rules=rules)
