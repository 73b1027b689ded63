"""Cross-entropy: its identities, its gradient, and where gradient descent on it goes."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, margins
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method, printed, slope


@method(
    "cross-entropy",
    says=(
        "Cross-entropy is minus the log-probability of the label, or the entropy of soft targets plus their "
        "divergence from "
        "the prediction. It is computed from the logits by log-sum-exp, never as the logarithm of a softmax."
    ),
    formula=(
        r"\ell = -\frac{z_y}{T} + \log \sum_k e^{z_k/T} = \mathrm{KL}(e_y \| p), \qquad -\sum_k t_k \log p_k = H(t) + "
        r"\mathrm{KL}(t \| p)"
    ),
    sources=("eth", "penn"),
    shows=("learning.cross_entropy",),
)
def cross_entropy(
    key,
    classes: Annotated[int, Range(2, 100)] = 10,
    temperature: Annotated[float, Range(0.2, 10.0, log=True)] = 1.0,
    size: Annotated[float, Range(0.2, 5.0, log=True)] = 2.0,
):
    """Gaussian logits of standard deviation `size`, random labels, targets from a symmetric Dirichlet law."""
    from scipy.special import entr, rel_entr

    rng = data.generator(key)
    z, y = size * rng.normal(size=(100, classes)), rng.integers(0, classes, 100)
    t, hot = rng.dirichlet(np.ones(classes), 100), np.eye(classes)[y]
    p = np.asarray(learning.softmax(z, temperature))
    hard, soft = (np.asarray(learning.cross_entropy(z, target, temperature)) for target in (y, t))
    yield close(hard, -np.log(p[np.arange(100), y]), "−log softmax at the label", rtol=1e-12, atol=1e-12)
    yield close(
        hard, rel_entr(hot, p).sum(axis=1), "divergence of the prediction from the one-hot code", rtol=1e-12, atol=1e-12
    )
    yield close(
        np.asarray(learning.cross_entropy(z, hot, temperature)),
        hard,
        "one-hot code as soft target",
        rtol=1e-12,
        atol=1e-12,
    )
    parts = entr(t).sum(axis=1) + rel_entr(t, p).sum(axis=1)
    yield close(soft, parts, "soft targets: entropy plus divergence", rtol=1e-12, atol=1e-12)
    yield at_least(soft, entr(t).sum(axis=1), "soft targets: at least their entropy", atol=1e-12)
    flat = learning.cross_entropy(np.zeros(classes), np.asarray(classes - 1), temperature)
    yield close(flat, np.log(classes), "loss at zero logits, log m", rtol=1e-12)
    far = 1e4 * np.eye(classes)[0]
    yield close(
        learning.cross_entropy(far, np.asarray(1), temperature),
        1e4 / temperature,
        "loss at a logit 10⁴ too low",
        rtol=1e-12,
    )
    with np.errstate(divide="ignore"):
        naive = -np.log(np.asarray(learning.softmax(far, temperature))[1])
    yield exactly(bool(np.isinf(naive)), True, "the same by the logarithm of the softmax is infinite")


@claim(
    "cross-entropy-gradient",
    says=(
        "In the logits the gradient of cross-entropy is (p − t)/T: it sums to 0, pushes the true logit up and every "
        "other down "
        "in proportion to its probability."
    ),
    formula=(
        r"\frac{\partial \ell}{\partial z_k} = \frac{p_k - t_k}{T}, \qquad \sum_k \frac{\partial \ell}{\partial z_k} "
        r"= 0"
    ),
    sources=("eth", "penn"),
)
def cross_entropy_gradient(
    key,
    classes: Annotated[int, Range(2, 30)] = 5,
    temperature: Annotated[float, Range(0.3, 5.0, log=True)] = 1.0,
    size: Annotated[float, Range(0.2, 3.0, log=True)] = 1.0,
):
    """Gaussian logits of standard deviation `size`; then free logits descend, from the first row, with step 1."""
    rng = data.generator(key)
    z, y = size * rng.normal(size=(50, classes)), rng.integers(0, classes, 50)
    t = rng.dirichlet(np.ones(classes), 50)
    p, hot = np.asarray(learning.softmax(z, temperature)), np.eye(classes)[y]
    gradient = jax.jit(jax.grad(lambda z, t: learning.cross_entropy(z, t, temperature).sum()))
    hard, soft = np.asarray(gradient(z, hot)), np.asarray(gradient(z, t))
    yield close(hard, (p - hot) / temperature, "gradient by autodiff, one-hot targets", atol=1e-12)
    yield close(soft, (p - t) / temperature, "gradient by autodiff, soft targets", atol=1e-12)
    h, basis = 1e-5, np.eye(classes)
    either = np.concatenate([z[:, None] + h * basis, z[:, None] - h * basis], axis=1)
    values = np.asarray(learning.cross_entropy(either, np.repeat(t[:, None], 2 * classes, axis=1), temperature))
    numeric = (values[:, :classes] - values[:, classes:]) / (2 * h)
    yield close(numeric, soft, "finite differences", atol=1e-8)
    yield close(np.concatenate([hard, soft]).sum(axis=1), 0.0, "sum of the gradient over the classes", atol=1e-12)
    yield at_most(hard[hot == 1], 0.0, "gradient at the true logit: pushed up", strict=True)
    yield at_least(hard[hot == 0], 0.0, "gradient at every other logit: pushed down", strict=True)
    yield close((hard / p)[hot == 0], 1 / temperature, "push on another logit over its probability", rtol=1e-9)

    steps = 60
    start, label = jnp.asarray(z[0]), hot[0]
    path = jax.lax.scan(lambda v, _: (v - gradient(v[None], label[None])[0], v), start, None, length=steps)[1]
    path, shown = np.asarray(path), np.unique(np.append(np.argsort(-p[0])[:4], y[0]))
    names = {k: f"class {k}, the label" if k == y[0] else f"class {k}" for k in shown}
    yield figure.beside(
        f"Descent pushes the true logit up by {-hard[0, y[0]]:.2g} at first and the others down by p/T; their sum "
        "stays the same",
        figure.bars("first push, −(p − t)/T", x="class", y="push on the logit",
                    values={"push": {str(k): -hard[0, k] for k in range(min(classes, 12))}}),
        figure.curves("logits over the steps (the likeliest classes)", x="step", y="logit",
                      points={names[k]: (np.arange(0, steps, 3), path[::3, k]) for k in shown}),
    )  # fmt: skip


@claim(
    "cross-entropy-divergence",
    says=(
        "On separable data the infimum 0 of the cross-entropy is not attained: under gradient descent the loss falls "
        "like 1/t, "
        "‖w‖ grows like ln t/γ and the direction tends, slowly, to the maximal margin. On overlapping data the "
        "minimiser is finite."
    ),
    formula=(
        r"L(w_t) \le \frac1t + \frac{\ln^2 t}{2\gamma^2 \eta t}, \qquad \frac{d\|w\|}{d \ln t} \to \frac1\gamma, "
        r"\qquad \frac{w_t}{\|w_t\|} \to \frac{w^*}{\|w^*\|}"
    ),
    sources=("penn", "eth"),
    assumes=("divergence: the data are separable", "step η ≤ 4/max‖x‖²"),
)
def cross_entropy_divergence(
    key,
    samples: Annotated[int, Range(8, 30)] = 12,
    gap: Annotated[float, Range(0.3, 0.6)] = 0.5,
    steps: Annotated[int, Range(100_000, 1_000_000, log=True)] = 300_000,
):
    """Points in the unit disc, b = 0, step 1. The digits follow, fitted by L-BFGS to ever smaller gradients."""
    x, y, _ = (np.asarray(a) for a in data.separable_ball(samples, 2, gap, key=key))
    best = margins.max_margin(x, y, bias=False)
    gamma = best.margin
    times = np.unique(np.geomspace(10, steps, 61).astype(int))
    overlap = data.gaussian_clouds(48, 2, 1.0, key=key)
    cx, cy = np.asarray(overlap.x) / 3, np.asarray(overlap.y)
    weights, met = _runs(times, (x, y), (cx, cy))
    norm = np.linalg.norm(weights, axis=1)
    loss = np.logaddexp(0, -y * (weights @ x.T)).mean(axis=1)
    cosine = weights @ best.weights / norm * gamma
    bound = 1 / times + np.log(times) ** 2 / (2 * gamma**2 * times)
    yield at_most(loss, bound, "loss against 1/t + ln²t/(2γ²t)", rtol=1e-9)
    # No classifier of this length has every margin above γ‖w‖, so one example at least pays for it.
    yield at_least(gamma * norm, -np.log(np.expm1(samples * loss)), "γ‖w‖ against −ln(exp(n L) − 1)", atol=1e-9)
    last = times >= steps / 100
    yield slope(times[last], loss[last], -1.0, "slope of the loss over the last two decades", within=0.15)
    yield close(loss[-1] * gamma**2 * times[-1], 1.0, "loss × γ² t at the end, towards 1", atol=0.4)
    spans = times >= steps / 10, (times >= steps / 100) & (times <= steps / 10)
    pace = [np.polyfit(np.log(times[span]), norm[span], 1)[0] * gamma for span in spans]
    yield close(pace[0], 1.0, "γ d‖w‖/d ln t in the last decade", atol=0.3)
    yield at_least(pace[0], pace[1], "the same against the decade before: it rises")
    yield at_least(cosine[-1], 0.9, "cosine of w to the maximal-margin direction at the end")

    finite = learning.finite_fit_exists(cx, (cy + 1) / 2, intercept=False)
    there = learning.fit_logistic(cx, (cy + 1) / 2, intercept=False, ridge=0.0 if finite else 1e-9)
    grown = np.linalg.norm(met, axis=1)
    yield close(met[-1], there.weights, "descent on overlapping classes against the finite minimiser", atol=1e-6).given(
        finite, "the drawn clouds overlap"
    )
    yield printed(
        at_least(grown[-1] / grown[times >= steps / 10][0], 1.01, "growth of ‖w‖ in the last decade, overlapping"),
        "penn", "minimising cross-entropy makes the logits diverge",
    ).given(finite, "the drawn clouds overlap")  # fmt: skip

    images, labels, *_ = data.digits_split(train=1200)
    fits = [learning.fit_linear_scores(images, labels, tolerance=g) for g in (1e-3, 1e-5, 1e-7, 1e-9)]
    sizes = [float(np.linalg.norm(f.weights)) for f in fits]
    yield at_most(fits[-1].loss, 1e-8, "digits: cross-entropy where the gradient is 10⁻⁹")
    yield at_least(np.diff(sizes), 0.0, f"digits: growth of ‖W‖, to {sizes[-1]:.4g}", strict=True)
    z = fits[-1].logits(images)
    lead = z[np.arange(1200), labels][:, None] - np.where(np.eye(10, dtype=bool)[labels], -np.inf, z)
    yield at_least(lead.min(), 0.0, "digits: least lead of the true class, which separates them", strict=True)

    yield figure.beside(
        f"Separable, γ = {gamma:.3g}: loss {loss[-1]:.2g} after {steps} steps, ‖w‖ = {norm[-1]:.3g} and growing, "
        "cosine to the "
        f"widest margin {cosine[-1]:.4f}",
        figure.curves("loss", x="step t", y="loss", log="xy", lines={"1/(γ² t)": (times, 1 / (gamma**2 * times))},
                      points={"gradient descent": (times[::2], loss[::2])}),
        figure.curves("norm", x="step t", y="‖w‖", log="x",
                      lines={"slope 1/γ": (times, norm[-1] + np.log(times / times[-1]) / gamma)},
                      points={"separable": (times[::2], norm[::2]), "overlapping": (times[::2], grown[::2])}),
        figure.curves("angle to the maximal margin", x="step t", y="angle (degrees)", log="x",
                      points={"gradient descent": (times[::2], np.degrees(np.arccos(np.clip(cosine[::2], -1, 1))))}),
        figure.curves("digits, softmax regression: ‖W‖ where L-BFGS stops", x="cross-entropy", y="‖W‖", log="x",
                      points={"fits": ([f.loss for f in fits], sizes)}),
    )  # fmt: skip


@partial(jax.jit, static_argnums=2)
def _descend(rows, counts, steps):
    """Gradient descent with step 1 on the mean logistic losses of several problems; rows of zeros do not matter."""

    def step(w, _):
        wrong = jax.nn.sigmoid(-jnp.einsum("knd,kd->kn", rows, w))
        return w + jnp.einsum("kn,knd->kd", wrong, rows) / counts[:, None], w

    return jax.lax.scan(step, jnp.zeros((len(rows), rows.shape[2])), None, length=steps + 1)[1]


def _runs(times, *samples):
    """The weights after the given numbers of steps, from 0, for each sample (x, y)."""
    most = max(len(y) for _, y in samples)
    rows = [np.pad(y[:, None] * x, ((0, most - len(y)), (0, 0))) for x, y in samples]
    paths = _descend(jnp.asarray(rows), jnp.asarray([float(len(y)) for _, y in samples]), int(times[-1]))
    return np.moveaxis(np.asarray(paths)[times], 1, 0)
