"""Classes as codes, and softmax with a temperature: its limits, and the soft maximum behind it."""

from itertools import permutations
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method, printed


@method(
    "class-encoding",
    says=(
        "Classes become one-hot vectors, label sets multi-hot ones, and the predicted class is the largest logit, "
        "whatever the "
        "temperature. Whole numbers as targets impose an order: permuting the codes spoils a regression on them."
    ),
    formula=(
        r"y \mapsto e_y, \qquad \hat y = \mathrm{argmax}_k z_k = \mathrm{argmax}_k \mathrm{softmax}_k(z/T) \ \text{ "
        r"for all } T > 0"
    ),
    sources=("penn",),
    shows=("learning.one_hot", "learning.predicted_class", "learning.multi_hot", "learning.label_sets"),
)
def class_encoding(
    key,
    classes: Annotated[int, Range(3, 30)] = 10,
    samples: Annotated[int, Range(60, 600)] = 300,
    spread: Annotated[float, Range(0.05, 0.2)] = 0.12,
):
    """Three clusters of standard deviation `spread` at 0, 1, 2 on a line, for every permutation of the three codes."""
    rng = data.generator(key)
    labels = rng.integers(0, classes, samples)
    yield exactly(
        learning.predicted_class(learning.one_hot(labels, classes)), labels, "labels decoded from one-hot codes"
    )
    sets = [set(np.flatnonzero(row).tolist()) for row in rng.random((samples, classes)) < 0.3]
    back = learning.label_sets(learning.multi_hot(sets, classes))
    yield exactly([a == b for a, b in zip(back, sets, strict=True)], True, "label sets decoded from multi-hot codes")
    z = rng.integers(-3, 4, (samples, classes)).astype(float)  # whole numbers: many ties
    first = np.array([min(np.flatnonzero(row == row.max())) for row in z])
    temperatures = np.geomspace(1e-3, 1e3, 13)
    decoded = jax.jit(jax.vmap(lambda t: learning.predicted_class(learning.softmax(z, t))))(temperatures)
    yield exactly(decoded, np.tile(first, (13, 1)), "argmax at T = 10⁻³ … 10³, ties to the smallest index")

    cluster = np.arange(samples) % 3
    x = (cluster + spread * rng.normal(size=samples))[:, None]
    codes = list(permutations(range(3)))
    integer, hot = [], []
    for code in codes:
        y = np.array(code)[cluster]
        w = learning.fit_affine(x, y.astype(float), "squared")
        integer.append(float((np.clip(np.rint(x[:, 0] * w[0] + w[1]), 0, 2) != y).mean()))
        scores = learning.fit_linear_scores(x, y, ridge=1e-3).logits(x)
        hot.append(learning.error_rate(y, scores.argmax(axis=1)))
    ordered = [code in ((0, 1, 2), (2, 1, 0)) for code in codes]
    kept, broken = np.array(integer)[ordered], np.array(integer)[~np.array(ordered)]
    yield at_most(kept, 0.1, "error of regression on codes in the order of the clusters")
    yield at_least(broken, 0.3, "error of regression on codes in another order")
    yield close(hot, hot[0], "error with one-hot codes under all six permutations", atol=1e-12)
    yield at_most(hot, 0.1, "error with one-hot codes")
    names = ["".join(map(str, code)) for code in codes]
    yield figure.bars(
        f"Permuted codes raise the error of regression on them from {kept.max():.2g} to {broken.max():.2g}; one-hot "
        f"stays at {hot[0]:.2g}",
        x="codes of the clusters at 0, 1, 2", y="error",
        values={
            "regression on the codes": dict(zip(names, integer, strict=True)),
            "one-hot, softmax": dict(zip(names, hot, strict=True)),
        },
    )  # fmt: skip


@method(
    "softmax-with-temperature",
    says=(
        "Softmax turns logits into probabilities, sharper the lower the temperature T. Log-probabilities are the "
        "logits over T "
        "minus one constant for all classes; the largest logit is subtracted first, so that nothing overflows."
    ),
    formula=(
        r"p_k = \frac{e^{z_k/T}}{\sum_j e^{z_j/T}}, \qquad \frac{\partial p}{\partial z} = \frac{\mathrm{diag}(p) - p "
        r"p^T}{T}, \qquad \log p_k = \frac{z_k}{T} - c(z, T)"
    ),
    sources=("eth", "penn"),
    shows=("learning.softmax", "learning.log_softmax", "learning.softmax_jacobian", "learning.softmax_entropy"),
)
def softmax_with_temperature(
    key,
    classes: Annotated[int, Range(2, 50)] = 10,
    temperature: Annotated[float, Range(0.05, 20.0, log=True)] = 1.0,
    size: Annotated[float, Range(0.2, 5.0, log=True)] = 2.0,
):
    """Gaussian logits of standard deviation `size`."""
    rng = data.generator(key)
    z, order = size * rng.normal(size=(64, classes)), rng.permutation(classes)
    logits = np.concatenate([z, z + 100.0, z[:, order], 1e4 * np.sign(z)])
    p, log_p = (np.asarray(a) for a in _both(logits, temperature))
    plain, shifted, permuted, huge = np.split(p, 4)
    yield close(p.sum(axis=1), 1.0, "sum of the probabilities", atol=1e-12)
    yield close(shifted, plain, "probabilities after 100 was added to every logit", rtol=1e-10)
    yield close(permuted, plain[:, order], "probabilities after a permutation", rtol=1e-12)
    yield exactly(np.isfinite(huge) & np.isfinite(log_p[-64:]), True, "p and log p finite at logits ±10⁴")
    constant = z / temperature - log_p[:64]
    spread = np.ptp(constant, axis=1) / np.abs(constant).max(axis=1)
    yield close(spread, 0.0, "spread over the classes of z/T − log p, relative", atol=1e-12)
    formula = learning.softmax_jacobian(z[0], temperature)
    autodiff = jax.jacobian(lambda v: learning.softmax(v, temperature))(jnp.asarray(z[0]))
    yield close(autodiff, formula, "Jacobian by autodiff", atol=1e-10)
    yield close(np.asarray(formula).sum(axis=1), 0.0, "row sums of the Jacobian", atol=1e-12 / temperature)

    three = np.array([1.0, 2.0, 3.0])
    ratio = np.asarray(learning.log_softmax(three, temperature)) / three
    yield printed(
        close(ratio, ratio[0], "log p over the logit, for z = (1, 2, 3): one number for all classes", rtol=1e-6),
        "penn", "log p is proportional to the logit",
    )  # fmt: skip
    changed = (learning.predicted_class(z) != learning.predicted_class(plain)).sum()
    yield printed(
        at_least(changed, 1, "predictions of 64 that change when the softmax is left out"),
        "eth", "the last layer must be a softmax",
    )  # fmt: skip

    shown = {f"T = {t:.3g}": t for t in (temperature / 4, temperature, 4 * temperature)}
    first = np.sort(z[0])[::-1][:12]
    names = [str(k) for k in range(1, len(first) + 1)]
    axis = np.geomspace(0.01, 100, 81)
    entropies = np.asarray(jax.vmap(lambda t: learning.softmax_entropy(first, t))(axis))
    now = {n: np.asarray(learning.softmax(first, t)) for n, t in shown.items()}
    own = [float(learning.softmax_entropy(first, t)) for t in shown.values()]
    yield figure.beside(
        f"At T = {temperature:.3g} the largest of {len(first)} logits gets {now[f'T = {temperature:.3g}'][0]:.2g}; "
        "entropy "
        f"{own[1]:.2g} of at most log {len(first)} = {np.log(len(first)):.2g}",
        figure.bars("probabilities", x="class, by logit", y="probability",
                    values={n: dict(zip(names, v, strict=True)) for n, v in now.items()}),
        figure.curves("entropy", x="temperature T", y="entropy (nats)", log="x",
                      lines={"H(softmax(z/T))": (axis, entropies)},
                      points={"shown beside": (list(shown.values()), own)},
                      rules={f"log {len(first)}": ("y", np.log(len(first)))}),
    )  # fmt: skip


@jax.jit
def _both(z, temperature):
    return learning.softmax(z, temperature), learning.log_softmax(z, temperature)


@claim(
    "softmax-temperature-limits",
    says=(
        "The entropy of softmax(z/T) rises with T, at the rate Var(z)/T³ under the probabilities themselves: from the "
        "logarithm "
        "of the number of largest logits as T → 0 to log m as T → ∞."
    ),
    formula=(
        r"\frac{dH}{dT} = \frac{\mathrm{Var}_p(z)}{T^3} \ge 0, \qquad H \to \log \#\{k : z_k = \max z\}, \quad H \to "
        r"\log m"
    ),
    sources=("penn",),
)
def softmax_temperature_limits(
    key,
    classes: Annotated[int, Range(2, 100)] = 10,
    largest: Annotated[int, Range(1, 10)] = 2,
    gap: Annotated[float, Range(0.05, 3.0, log=True)] = 0.5,
):
    """`largest` of the logits tie for the maximum; the others lie below it by `gap` or more."""
    ties = min(largest, classes)
    z = _tied_logits(key, classes, ties, gap)
    temperatures = np.geomspace(0.05, 50, 61)
    rate = np.asarray(
        jax.jit(jax.vmap(jax.grad(lambda t, z: learning.softmax_entropy(z, t)), (0, None)))(temperatures, z)
    )
    p = np.asarray(learning.softmax(z / temperatures[:, None]))
    variance = (p * (z - (p * z).sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    yield close(rate, variance / temperatures**3, "dH/dT by autodiff against Var(z)/T³", atol=1e-8, rtol=1e-8)
    ends = np.array([1e-3, 1e6])
    cold, hot = np.asarray(learning.softmax_entropy(z / ends[:, None]))
    yield close(cold, np.log(ties), "entropy at T = 10⁻³", atol=1e-8)
    yield close(hot, np.log(classes), "entropy at T = 10⁶", atol=1e-8)
    fine = np.geomspace(1e-3, 1e3, 4001)
    q = np.asarray(learning.softmax(z / fine[:, None]))
    entropy = np.asarray(learning.softmax_entropy(z / fine[:, None]))
    yield at_least(np.diff(entropy), 0.0, "growth of the entropy between 4001 temperatures", atol=1e-12)
    density = (q * (z - (q * z).sum(axis=1, keepdims=True)) ** 2).sum(axis=1) / fine**3
    # Trapezia in log T, from the cold end.
    climbed = np.log(ties) + np.append(
        0.0, np.cumsum(np.diff(np.log(fine)) * ((density * fine)[1:] + (density * fine)[:-1]) / 2)
    )
    every = slice(0, None, 160)
    yield figure.curves(
        f"Entropy climbs from log {ties} = {np.log(ties):.3g} to log {classes} = {np.log(classes):.3g}, at the rate "
        "Var(z)/T³",
        x="temperature T", y="entropy (nats)", log="x",
        lines={"log #max + ∫ Var(z)/T³ dT": (fine[::20], climbed[::20])},
        points={"H(softmax(z/T))": (fine[every], entropy[every])},
        rules={f"log {ties}": ("y", np.log(ties)), f"log {classes}": ("y", np.log(classes))} if ties < classes else {},
    )  # fmt: skip


def _tied_logits(key, classes, ties, gap):
    """Logits whose maximum, a random number, is taken `ties` times and exceeds the others by `gap` at least."""
    rng = data.generator(key)
    below = gap + rng.exponential(size=classes - ties)
    return rng.permutation(np.concatenate([np.zeros(ties), -below])) + np.round(rng.normal(), 3)


@claim(
    "log-sum-exp-max",
    says=(
        "T log Σ exp(z/T) exceeds the largest entry by at most T log m, and by T times the logarithm of the number of "
        "largest "
        "entries as T → 0: a smooth maximum."
    ),
    formula=r"\max z \le T \log \sum_k e^{z_k/T} \le \max z + T \log m",
    sources=("penn",),
)
def log_sum_exp_max(
    key,
    classes: Annotated[int, Range(2, 200)] = 10,
    largest: Annotated[int, Range(1, 10)] = 3,
    gap: Annotated[float, Range(0.05, 3.0, log=True)] = 0.5,
    size: Annotated[float, Range(0.1, 10.0, log=True)] = 2.0,
):
    """Inequalities for 50 Gaussian vectors of standard deviation `size`, the limit for one with `largest` maxima."""
    ties = min(largest, classes)
    z = np.vstack([size * data.generator(key).normal(size=(50, classes)), _tied_logits(key, classes, ties, gap)])
    temperatures = np.geomspace(1e-3, 10, 41)
    soft = np.asarray(jax.jit(jax.vmap(learning.soft_maximum, (None, 0)))(jnp.asarray(z), jnp.asarray(temperatures)))
    excess = soft - z.max(axis=1)  # (temperature, vector)
    yield at_least(excess, 0.0, "excess of the soft maximum over the maximum", atol=1e-12)
    bound = temperatures[:, None] * np.log(classes)
    yield at_most(excess, np.broadcast_to(bound, excess.shape), "the same against T log m", atol=1e-12)
    yield close(excess[0, -1] / 1e-3, np.log(ties), "excess over T at T = 10⁻³", atol=1e-9)
    three = np.array([1.0, 2.0, 3.0])
    yield close(learning.soft_maximum(three, 0.01), 3.0, "soft maximum of (1, 2, 3) at T = 0.01", atol=1e-12)
    yield printed(
        close(jax.nn.logsumexp(three / 0.01), 3.0, "log Σ exp(z/T) of (1, 2, 3) at T = 0.01", rtol=0.01),
        "penn", "log Σ exp(z/T) ≈ max z, without the factor T",
    )  # fmt: skip
    lines = {f"T log {classes}, the bound": (temperatures, bound[:, 0])}
    if ties > 1:
        lines[f"T log {ties}, the limit"] = (temperatures, temperatures * np.log(ties))
    seen = np.where(excess[:, -1] > 1e-15, excess[:, -1], np.nan)
    yield figure.curves(
        f"The soft maximum exceeds the maximum, taken {ties} times, by T log {ties} and at most by T log {classes}",
        x="temperature T", y="excess over the maximum", log="xy", lines=lines,
        points={"measured": (temperatures, seen)},
    )  # fmt: skip
