"""Classes as codes, and softmax with a temperature: its limits, and the soft maximum behind it."""

from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, method
from leadline.presentation import figure


@method(sources=("penn",))
def class_encoding(key, classes: Int(3, 30) = 10, samples: Int(60, 600) = 300, spread: Real(0.05, 0.2) = 0.12):
    r"""One-hot and multi-hot class encoding.

    Classes become one-hot vectors, label sets multi-hot ones, and the predicted class is that of the largest logit,
    whatever the temperature. Whole numbers as targets impose an order: permuted codes spoil a regression on them.

    $$y \mapsto e_y, \qquad \hat y = \mathrm{argmax}_k z_k = \mathrm{argmax}_k \mathrm{softmax}_k(z/T) \ \text{ for all
    } T > 0$$

    Check: Three clusters of standard deviation `spread` lie at 0, 1 and 2 on a line. The regression is run for every
    permutation of the three codes.
    """
    rng = data.generator(key)
    labels = rng.integers(0, classes, samples)
    decoded = learning.predicted_class(learning.one_hot(labels, classes))
    yield exactly(decoded, labels, "labels decoded from one-hot codes")
    sets = [set(np.flatnonzero(row).tolist()) for row in rng.random((samples, classes)) < 0.3]
    back = learning.label_sets(learning.multi_hot(sets, classes))
    wrong = sum(a != b for a, b in zip(back, sets, strict=True))
    yield exactly(wrong, 0, "label sets not recovered from their multi-hot codes")
    z = rng.integers(-3, 4, (samples, classes)).astype(float)  # whole numbers: many ties
    first = np.array([min(np.flatnonzero(row == row.max())) for row in z])
    temperatures = np.geomspace(1e-3, 1e3, 13)
    decoded = jax.jit(jax.vmap(lambda t: learning.predicted_class(learning.softmax(z, t))))(temperatures)
    yield exactly(decoded, first[None], "argmax at T = 10⁻³ … 10³, ties to the smallest index")
    cluster = np.arange(samples) % 3
    x = (cluster + spread * rng.normal(size=samples))[:, None]
    codes, integer, hot = list(permutations(range(3))), [], []
    for code in codes:
        y = np.array(code)[cluster]
        w = learning.fit_affine(x, y.astype(float), "squared")
        integer.append((np.clip(np.rint(x[:, 0] * w[0] + w[1]), 0, 2) != y).mean())
        scores = learning.fit_linear_scores(x, y, ridge=1e-3).logits(x)
        hot.append(learning.error_rate(y, scores.argmax(axis=1)))
    ordered = np.array([code in ((0, 1, 2), (2, 1, 0)) for code in codes])
    kept, broken = np.array(integer)[ordered], np.array(integer)[~ordered]
    yield at_most(kept, 0.1, "error of regression on codes in the order of the clusters")
    yield at_least(broken, 0.3, "error of regression on codes in another order")
    yield close(hot, hot[0], "error with one-hot codes under all six permutations", atol=1e-12)
    yield at_most(hot, 0.1, "error with one-hot codes")
    names = ["".join(map(str, code)) for code in codes]
    heights = {"regression on the codes": integer, "one-hot, softmax": hot}
    title = (
        f"Permuted codes raise the error of regression on them from {kept.max():.2g} to {broken.max():.2g}; one-hot "
        f"stays at {hot[0]:.2g}"
    )
    values = {name: dict(zip(names, errors, strict=True)) for name, errors in heights.items()}
    yield figure.bars(title, "codes of the clusters at 0, 1, 2", "error", values=values)


@method(sources=("eth", "penn"))
def softmax_with_temperature(
    key, classes: Int(2, 50) = 10, temperature: Real(0.05, 20.0, log=True) = 1.0, size: Real(0.2, 5.0, log=True) = 2.0
):
    r"""Softmax with temperature.

    Softmax turns logits into probabilities, which are sharper the lower the temperature T. Log-probabilities are the
    logits over T minus one constant for all classes; the largest logit is subtracted first, so that nothing overflows.

    $$p_k = \frac{e^{z_k/T}}{\sum_j e^{z_j/T}}, \qquad \frac{\partial p}{\partial z} = \frac{\mathrm{diag}(p) - p
    p^T}{T}, \qquad \log p_k = \frac{z_k}{T} - c(z, T)$$

    Check: The logits are Gaussian with standard deviation `size`.
    """
    rng = data.generator(key)
    z, order = size * rng.normal(size=(64, classes)), rng.permutation(classes)
    logits = np.concatenate([z, z + 100.0, z[:, order], 1e4 * np.sign(z)])
    p, log_p = (np.asarray(a) for a in _both(logits, temperature))
    plain, shifted, permuted, huge = np.split(p, 4)
    yield close(p.sum(axis=1), 1.0, "sum of the probabilities", atol=1e-12)
    yield close(shifted, plain, "probabilities after 100 was added to every logit", rtol=1e-10)
    yield close(permuted, plain[:, order], "probabilities after a permutation", rtol=1e-12)
    lost = np.sum(~np.isfinite(huge)) + np.sum(~np.isfinite(log_p[-64:]))
    yield exactly(lost, 0, "values of p and log p that are not finite at logits ±10⁴")
    constant = z / temperature - log_p[:64]
    spread = np.ptp(constant, axis=1) / np.abs(constant).max(axis=1)
    yield close(spread, 0.0, "spread over the classes of z/T − log p, relative", atol=1e-12)
    formula = learning.softmax_jacobian(z[0], temperature)
    autodiff = jax.jacobian(lambda v: learning.softmax(v, temperature))(jnp.asarray(z[0]))
    yield close(autodiff, formula, "Jacobian of softmax by autodiff against its formula", atol=1e-10)
    yield close(np.asarray(formula).sum(axis=1), 0.0, "row sums of the Jacobian", atol=1e-12 / temperature)
    shown = {f"T = {t:.3g}": t for t in (temperature / 4, temperature, 4 * temperature)}
    first = np.sort(z[0])[::-1][:12]
    m, axis = len(first), np.geomspace(0.01, 100, 81)
    entropies = jax.vmap(lambda t: learning.softmax_entropy(first, t))(axis)
    now = {n: np.asarray(learning.softmax(first, t)) for n, t in shown.items()}
    own = [float(learning.softmax_entropy(first, t)) for t in shown.values()]
    heights = {n: dict(enumerate(v, start=1)) for n, v in now.items()}
    bars = figure.bars("probabilities", "class, by logit", "probability", values=heights)
    title, lines = "entropy", {"H(softmax(z/T))": (axis, entropies)}
    points, rules = {"shown beside": (list(shown.values()), own)}, {f"log {m}": ("y", np.log(m))}
    curve = figure.curves(title, "temperature T", "entropy (nats)", log="x", lines=lines, points=points, rules=rules)
    gets = f"the largest of {m} logits gets {now[f'T = {temperature:.3g}'][0]:.2g}"
    of = f"entropy {own[1]:.2g} of at most log {m} = {np.log(m):.2g}"
    yield figure.beside(f"At T = {temperature:.3g} {gets}; {of}", bars, curve)


@jax.jit
def _both(z, temperature):
    return learning.softmax(z, temperature), learning.log_softmax(z, temperature)


@claim(sources=("penn",))
def softmax_temperature_limits(
    key, classes: Int(2, 100) = 10, largest: Int(1, 10) = 2, gap: Real(0.05, 3.0, log=True) = 0.5
):
    r"""Softmax entropy rises with temperature.

    The entropy of softmax(z/T) rises with T, at the rate Var(z)/T³ under the probabilities themselves: from the
    logarithm of the number of largest logits as T → 0 to log m as T → ∞.

    $$\frac{dH}{dT} = \frac{\mathrm{Var}_p(z)}{T^3} \ge 0, \qquad H \to \log \#\{k : z_k = \max z\}, \quad H \to \log
    m$$

    Check: `largest` of the logits tie for the maximum, and the others lie below it by `gap` or more.
    """
    ties, temperatures = min(largest, classes), np.geomspace(0.05, 50, 61)
    z = _tied_logits(key, classes, ties, gap)

    def variance(temperatures):
        p = np.asarray(learning.softmax(z / temperatures[:, None]))
        return (p * (z - (p * z).sum(axis=1, keepdims=True)) ** 2).sum(axis=1)

    rate = jax.jit(jax.vmap(jax.grad(lambda t, z: learning.softmax_entropy(z, t)), (0, None)))(temperatures, z)
    predicted = variance(temperatures) / temperatures**3
    yield close(rate, predicted, "dH/dT by autodiff against Var(z)/T³", atol=1e-8, rtol=1e-8)
    cold, hot = learning.softmax_entropy(z / np.array([[1e-3], [1e6]]))
    yield close(cold, np.log(ties), "entropy at T = 10⁻³", atol=1e-8)
    yield close(hot, np.log(classes), "entropy at T = 10⁶", atol=1e-8)
    fine = np.geomspace(1e-3, 1e3, 4001)
    entropy = np.asarray(learning.softmax_entropy(z / fine[:, None]))
    yield at_least(np.diff(entropy), 0.0, "growth of the entropy between 4001 temperatures", atol=1e-12)
    climb = variance(fine) / fine**2  # dH/d log T; trapezia, from the cold end
    climbed = np.log(ties) + np.append(0.0, np.cumsum(np.diff(np.log(fine)) * (climb[1:] + climb[:-1]) / 2))
    ends = {f"log {k}": ("y", np.log(k)) for k in (ties, classes)}
    cold, hot = (f"log {k} = {np.log(k):.3g}" for k in (ties, classes))
    title = f"Entropy climbs from {cold} to {hot}, at the rate Var(z)/T³"
    lines, points = {"log #max + ∫ Var(z)/T³ dT": (fine, climbed)}, {"H(softmax(z/T))": (fine[::160], entropy[::160])}
    rules = ends if ties < classes else {}
    yield figure.curves(title, "temperature T", "entropy (nats)", log="x", lines=lines, points=points, rules=rules)


def _tied_logits(key, classes, ties, gap):
    """Logits whose maximum, a random number, is taken `ties` times and exceeds the others by `gap` at least."""
    rng = data.generator(key)
    below = gap + rng.exponential(size=classes - ties)
    return rng.permutation(np.concatenate([np.zeros(ties), -below])) + np.round(rng.normal(), 3)


@claim(sources=("penn",))
def log_sum_exp_max(
    key,
    classes: Int(2, 200) = 10,
    largest: Int(1, 10) = 3,
    gap: Real(0.05, 3.0, log=True) = 0.5,
    size: Real(0.1, 10.0, log=True) = 2.0,
):
    r"""Log-sum-exp is a smooth maximum.

    $T \log \sum_k e^{z_k/T}$ exceeds the largest entry by at most T log m, and as T → 0 by T times the logarithm of
    the number of largest entries: it is a smooth maximum.

    $$\max z \le T \log \sum_k e^{z_k/T} \le \max z + T \log m$$

    Check: The inequalities are tested for 50 Gaussian vectors of standard deviation `size`, the limit for one vector
    with `largest` maxima.
    """
    ties = min(largest, classes)
    z = np.vstack([size * data.generator(key).normal(size=(50, classes)), _tied_logits(key, classes, ties, gap)])
    temperatures = np.geomspace(1e-3, 10, 41)
    soft = np.asarray(jax.jit(jax.vmap(learning.soft_maximum, (None, 0)))(z, temperatures))
    excess = soft - z.max(axis=1)  # (temperature, vector)
    yield at_least(excess, 0.0, "excess of the soft maximum over the maximum", atol=1e-12)
    bound = temperatures[:, None] * np.log(classes)
    yield at_most(excess, bound, "excess of the soft maximum over the maximum, against T log m", atol=1e-12)
    what = "excess over T at T = 10⁻³, against log of the number of maxima"
    yield close(excess[0, -1] / 1e-3, np.log(ties), what, atol=1e-9)
    three = np.array([1.0, 2.0, 3.0])
    right = close(learning.soft_maximum(three, 0.01), 3.0, "soft maximum of (1, 2, 3) at T = 0.01", atol=1e-12)
    yield right
    wrong = close(jax.nn.logsumexp(three / 0.01), 3.0, "log Σ exp(z/T) of (1, 2, 3) at T = 0.01", rtol=0.01)
    yield erratum(wrong, of=right, by="penn", prints="log Σ exp(z/T) ≈ max z, without the factor T")
    lines = {f"T log {classes}, the bound": (temperatures, bound[:, 0])}
    if ties > 1:
        lines[f"T log {ties}, the limit"] = (temperatures, temperatures * np.log(ties))
    seen = np.where(excess[:, -1] > 1e-15, excess[:, -1], np.nan)  # below is rounding
    title = f"The soft maximum exceeds the maximum, taken {ties} times, by T log {ties} and at most by T log {classes}"
    points = {"measured": (temperatures, seen)}
    yield figure.curves(title, "temperature T", "excess over the maximum", log="xy", lines=lines, points=points)
