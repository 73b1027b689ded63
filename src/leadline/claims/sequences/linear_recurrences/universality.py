"""The last state of a diagonal recurrence determines its inputs, as far as conditioning lets it."""

import jax.numpy as jnp
import numpy as np

from leadline import data, learning, sequences
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, reference
from leadline.presentation import figure

EPS = float(np.finfo(float).eps)


@claim(sources=("eth",), shows=("sequences.recover_window", "sequences.window_matrix"))
def lru_universality(
    key, window: Int(4, 48) = 32, radius: Real(0.9, 1.0) = 0.99, draws: Int(10, 100) = 50, features: Int(64, 512) = 256
):
    r"""A diagonal recurrence keeps a whole window.

    With at least as many distinct eigenvalues as inputs, all reached by the input, the last state determines the
    window, so that every function of the window is a function of the state, which a wide enough network approximates.
    Whether this can be done in floating point is decided by the condition number: 1 for roots of unity, exactly
    $r^{-(T-1)}$ for r times these, large for random points of a ring, hopeless for real eigenvalues.

    $$\zeta_T = V x, \quad V_{it} = \lambda_i^{T-t}, \qquad
    \det V = \prod_{i<j} (\lambda_j - \lambda_i) \ne 0, \quad \mathrm{cond}(V) = r^{-(T-1)}$$

    Assumes: scalar inputs; the state begins at 0; the eigenvalues are distinct and the input reaches all of them.

    Check: windows recovered from the state of the recurrence, which is run as a scan; medians over the draws of a
    random ring from 0.9 to 0.999. That eth names Feng et al. 2024 for the theorem is a matter of citation: it is due to
    Orvieto and others.
    """
    rng = data.generator(key)
    turns = np.exp(2j * np.pi * np.arange(window) / window)
    layouts = {"roots of unity": turns, f"{radius:.3g} times these": radius * turns}
    for name, values in layouts.items():
        x = rng.normal(size=window)
        state = np.asarray(sequences.linear_recurrence(jnp.asarray(values), np.repeat(x[:, None], window, 1)))[-1]
        found = sequences.recover_window(values, state, window)
        exact = float(np.abs(values[0])) ** -(window - 1.0)
        yield close(found.condition, exact, f"{name}: cond(V), against r to the power -(T - 1)", rtol=1e-9)
        what = f"{name}: error of the recovered window"
        yield at_most(np.abs(found.inputs - x).max(), 100 * window * EPS * found.condition, what)
    rings = [_ring(rng, window) for _ in range(draws)]
    conditions = np.array([np.linalg.cond(sequences.window_matrix(ring, window)) for ring in rings])
    middle = float(np.median(conditions))
    what = f"random ring: median of log₁₀ cond(V) over {draws} draws, against equispaced points"
    yield at_least(np.log10(middle), np.log10(0.9 ** -(window - 1.0)), what)
    lengths = [n for n in (4, 8, 12, 16, 24, 32, 48) if n <= window] or [window]
    medians = [
        float(np.median([np.linalg.cond(sequences.window_matrix(_ring(rng, n), n)) for _ in range(draws)]))
        for n in lengths
    ]
    real = {n: np.linalg.cond(sequences.window_matrix(np.linspace(0.05, 0.95, n), n)) for n in lengths}
    yield at_least(real[lengths[-1]], 1e16, f"real eigenvalues 0.05 to 0.95: cond(V) at T = {lengths[-1]}").given(
        lengths[-1] >= 24, "the window has 24 inputs or more"
    )
    ranks = [np.linalg.matrix_rank(sequences.window_matrix(turns[:m], window)) for m in (window // 2, window)]
    yield exactly(ranks, [window // 2, window], "rank of V for half as many eigenvalues as inputs, and for as many")
    if window == 32:
        yield reference(np.linalg.cond(sequences.window_matrix(0.99 * turns, 32)), 1.37, "r = 0.99: cond", digits=3)
    yield from _readout(rng, features, key)
    shown = {"random ring: median": (lengths, medians), "real, 0.05 to 0.95": (lengths, list(real.values()))}
    measured = [float(np.linalg.cond(sequences.window_matrix(radius * _turns(n), n))) for n in lengths]
    yield figure.curves(
        "Only eigenvalues spread over the circle keep a window in floating point",
        "inputs T, as many eigenvalues",
        "cond(V)",
        lines={f"{radius:.3g} times roots of unity": (lengths, [radius ** -(n - 1.0) for n in lengths])},
        points=shown | {f"{radius:.3g} times roots of unity": (lengths, measured)},
        rules={"1 / ε": ("y", 1 / EPS)},
        log="y",
    )


def _readout(rng: np.random.Generator, features: int, key):
    """A frozen wide layer on the state of four inputs, read linearly: the product of the first and the last input."""
    windows = rng.uniform(-1, 1, (3000, 4))
    states = windows @ sequences.window_matrix(_turns(4), 4).T
    seen = np.concatenate([states.real, states.imag], 1)
    wanted = windows[:, 0] * windows[:, -1]
    wide = learning.draw_features(8, features, "tanh", key=key)
    errors = []
    for count in (features // 16, features):
        some = wide.first(count)
        fit = learning.fit_readout(some, seen[:2000], wanted[:2000])
        errors.append(float(np.mean((fit.predict(some(seen[2000:])) - wanted[2000:]) ** 2) / wanted.var()))
    what = f"product of first and last input, read off the state by {features} features: unexplained share"
    yield at_most(errors[1], 0.05, what).as_empirical()
    what = f"the same by {features // 16} features, against {features}"
    yield at_least(errors[0], errors[1], what).as_empirical()


def _turns(count: int) -> np.ndarray:
    return np.exp(2j * np.pi * np.arange(count) / count)


def _ring(rng: np.random.Generator, count: int) -> np.ndarray:
    """Uniform by area between the radii 0.9 and 0.999."""
    return np.sqrt(rng.uniform(0.9**2, 0.999**2, count)) * np.exp(2j * np.pi * rng.uniform(size=count))
