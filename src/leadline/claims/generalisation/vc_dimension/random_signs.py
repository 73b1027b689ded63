"""Rademacher complexity: how well classes, and trained networks, correlate with random signs."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, generalisation, networks, optimisation
from leadline.claims.generalisation.vc_dimension.network_capacity import shuffled_digits
from leadline.evidence import Int, Real, at_least, at_most, frequency, instrument, mean
from leadline.generalisation.capacity.rademacher_averages import reached_correlation
from leadline.presentation import figure


@instrument(sources=("penn",))
def rademacher_complexity(
    key,
    n: Int(60, 300) = 120,
    radius: Real(0.1, 10.0, log=True) = 1.0,
    delta: Real(0.01, 0.2, log=True) = 0.05,
    epochs: Int(40, 200) = 100,
):
    r"""Rademacher complexity.

    $\mathrm{Rad}_S(F)$ measures how well the class correlates with random signs on the sample: $(B/n)\, E\|\sum_i
    \sigma_i x_i\|$ for linear functions of norm B, at most $\sqrt{2 \ln \Pi(n)/n}$ for classifiers (Massart). It
    bounds every gap at once; a network that fits random labels has a value near 1, and its bound says nothing.

    $$R \le \hat R + 2\, \mathrm{Rad}_S(\ell \circ F) + 3 \sqrt{\ln(2/\delta) / (2 n)}$$

    Check: The complexity is computed for the ball of linear functions on n digits, for thresholds on the line (with
    300 data sets for the bound), and for MLPs of width 4, 16 and 64 trained by Adam on random signs of the same
    digits.
    """
    rng = data.generator(key)
    x, _ = shuffled_digits(rng)
    keys = jax.random.split(key, 4)
    ball = generalisation.rademacher_of_linear_ball(x[:n], radius, key=keys[0], draws=400)
    ceiling = generalisation.linear_ball_ceiling(x[:n], radius)
    what = "linear ball on digits: (B/n)E‖Σσx‖"
    yield mean(ball.samples, ceiling, f"{what} against B√Σ‖x‖²/n", side="at most")
    yield mean(ball.samples, ceiling / math.sqrt(2), f"{what} against Khinchin's floor", side="at least")
    squares = (ball.samples * n / radius) ** 2
    yield mean(squares, (x[:n] ** 2).sum(), "linear ball: E‖Σσx‖² = Σ‖x‖², by Monte Carlo")
    few = generalisation.rademacher_of_linear_ball(x[:10], radius, key=keys[0])
    sampled = radius * np.linalg.norm(rng.choice([-1.0, 1.0], size=(4000, 10)) @ x[:10], axis=1) / 10
    yield mean(sampled, few.value, "ten digits: all 2¹⁰ signs against Monte Carlo")
    sizes = np.array([4, 8, 12, 30, n])
    found = [generalisation.rademacher_of_patterns(_thresholds(int(m)), key=keys[1], draws=500) for m in sizes]
    massart = [generalisation.massart_ceiling(math.log(2 * m), int(m)) for m in sizes]
    low = [f.value - 4 * f.standard_error for f in found]
    yield at_most(low, massart, "thresholds of both signs: Rad (less 4 standard errors) against Massart's ceiling")
    complexity = found[-1].value + 4 * found[-1].standard_error
    slack = generalisation.rademacher_bound(0.0, complexity / 2, n, confidence=1 - delta).value
    gaps = _threshold_gaps(rng, n, 300)
    yield frequency((gaps > slack).sum(), 300, delta, f"thresholds: some gap beyond {slack:.3f}", side="at most")
    marks = np.unique(np.geomspace(2, epochs, 6).astype(int))
    reached = {}
    for w in (4, 16, 64):
        reached[w] = reached_correlation(_learner(x[:n], w, marks), n, key=keys[3], draws=2)
    value = float(reached[64][:, -1].mean())
    free = generalisation.rademacher_bound(0.0, value / 2, n, confidence=1 - delta).value
    what = f"bound of width 64, which reaches a correlation of {value:.2f}: vacuous from 1 on"
    yield at_least(free, 1.0, what).given(value > 0.95, "training reached the signs within these epochs")
    title = f"On random signs of {n} digits an MLP of width 64 reaches a correlation of {value:.2f}"
    points = {f"width {w}": (marks, r.mean(axis=0)) for w, r in reached.items()}
    rules = {"√(2 ln Π/n) of thresholds": ("y", massart[-1]), "fits every sign": ("y", 1.0)}
    yield figure.curves(title, "epochs", "correlation with random signs", points=points, rules=rules, log="x")


def _thresholds(n: int) -> np.ndarray:
    """All labellings of n ordered points by a threshold, of both signs."""
    rows = np.where(np.arange(n) >= np.arange(n + 1)[:, None], 1.0, -1.0)
    return np.unique(np.concatenate([rows, -rows]), axis=0)


def _threshold_gaps(rng, n: int, sets: int) -> np.ndarray:
    """sup (R − R̂) over thresholds of both signs, exactly, on labels sgn(x − 1/2) of which 30% are flipped."""
    points = np.sort(rng.random((sets, n)), axis=1)
    labels = np.where(points > 0.5, 1, -1) * np.where(rng.random((sets, n)) < 0.3, -1, 1)
    none = np.zeros((sets, 1))
    positive_below = np.concatenate([none, np.cumsum(labels == 1, axis=1)], axis=1)
    negative_below = np.concatenate([none, np.cumsum(labels == -1, axis=1)], axis=1)
    errors = (positive_below + negative_below[:, -1:] - negative_below) / n
    low, high = np.concatenate([none, points], axis=1), np.concatenate([points, none + 1], axis=1)
    most = 0.3 + 0.4 * np.maximum(np.abs(low - 0.5), np.abs(high - 0.5))
    least = 0.3 + 0.4 * np.maximum(np.maximum(low - 0.5, 0.5 - high), 0.0)
    return np.maximum(most - errors, errors - least).max(axis=1)


def _logistic_loss(net, x, signs):
    return jnp.mean(jax.nn.softplus(-signs * jax.vmap(net)(x)[:, 0]))


def _learner(x: np.ndarray, width: int, marks: np.ndarray):
    """learn(signs, draw) for `reached_correlation`: an MLP by Adam on all examples, its signs at the marked steps."""
    rule = optimisation.tunable(optax.adam, learning_rate=0.02)
    outputs = eqx.filter_jit(lambda loss, points: jax.vmap(lambda w: jax.vmap(loss.parameters(w))(x)[:, 0])(points))

    def learn(signs: np.ndarray, draw: int) -> np.ndarray:
        start = networks.MLP((x.shape[1], width, 1), key=jax.random.key(draw))
        loss, w = optimisation.flat_objective(_logistic_loss, start, x, signs)
        points = optimisation.descend(loss, rule, w, int(marks[-1])).points[marks]
        return np.where(outputs(loss, points) > 0, 1, -1)

    return learn
