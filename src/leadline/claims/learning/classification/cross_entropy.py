"""Cross-entropy: its identities, its gradient, and where gradient descent on it goes."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, method, slope
from leadline.linear_classifiers import margins
from leadline.presentation import figure


@method(sources=("eth", "penn"))
def cross_entropy(
    key, classes: Int(2, 100) = 10, temperature: Real(0.2, 10.0, log=True) = 1.0, size: Real(0.2, 5.0, log=True) = 2.0
):
    r"""Cross-entropy loss from logits.

    Cross-entropy is minus the log-probability of the label, or the entropy of soft targets plus their divergence from
    the prediction. It is computed from the logits by log-sum-exp, never as the logarithm of a softmax.

    $$\ell = -\frac{z_y}{T} + \log \sum_k e^{z_k/T} = \mathrm{KL}(e_y \| p), \qquad -\sum_k t_k \log p_k = H(t) +
    \mathrm{KL}(t \| p)$$

    Check: The logits are Gaussian with standard deviation `size`, the labels random, and the soft targets drawn from a
    symmetric Dirichlet distribution.
    """
    from scipy.special import entr, rel_entr

    rng = data.generator(key)
    z, y = size * rng.normal(size=(100, classes)), rng.integers(0, classes, 100)
    t, hot = rng.dirichlet(np.ones(classes), 100), np.eye(classes)[y]
    p = np.asarray(learning.softmax(z, temperature))
    hard, coded, soft = (learning.cross_entropy(z, target, temperature) for target in (y, hot, t))
    tight = {"rtol": 1e-12, "atol": 1e-12}
    yield close(hard, -np.log(p[np.arange(100), y]), "cross-entropy against −log softmax at the label", **tight)
    divergence = rel_entr(hot, p).sum(axis=1)
    yield close(hard, divergence, "cross-entropy against the divergence of p from the one-hot code", **tight)
    yield close(coded, hard, "one-hot code as soft target, against the label", **tight)
    entropy = entr(t).sum(axis=1)
    yield close(soft, entropy + rel_entr(t, p).sum(axis=1), "soft targets: entropy plus divergence", **tight)
    yield at_least(soft, entropy, "soft targets: at least their entropy", atol=1e-12)
    flat = learning.cross_entropy(np.zeros(classes), np.asarray(classes - 1), temperature)
    yield close(flat, np.log(classes), "loss at zero logits, log m", rtol=1e-12)
    far = 1e4 * np.eye(classes)[0]
    lost = learning.cross_entropy(far, np.asarray(1), temperature)
    yield close(lost, 1e4 / temperature, "loss at a logit 10⁴ too low", rtol=1e-12)
    naive = learning.softmax(far, temperature)[1]
    yield exactly(naive, 0.0, "softmax at a logit 10⁴ too low: its logarithm is infinite")


@claim(sources=("eth", "penn"))
def cross_entropy_gradient(
    key, classes: Int(2, 30) = 5, temperature: Real(0.3, 5.0, log=True) = 1.0, size: Real(0.2, 3.0, log=True) = 1.0
):
    r"""Gradient of cross-entropy is p − t.

    The gradient of the cross-entropy with respect to the logits is (p − t)/T: it sums to 0, and a descent step pushes
    the true logit up and every other logit down in proportion to its probability.

    $$\frac{\partial \ell}{\partial z_k} = \frac{p_k - t_k}{T}, \qquad \sum_k \frac{\partial \ell}{\partial z_k} = 0$$

    Check: The logits are Gaussian with standard deviation `size`. Free logits descend from the first row, step size 1.
    """
    rng = data.generator(key)
    z, y = size * rng.normal(size=(50, classes)), rng.integers(0, classes, 50)
    t = rng.dirichlet(np.ones(classes), 50)
    p, hot = np.asarray(learning.softmax(z, temperature)), np.eye(classes)[y]
    gradient = jax.jit(jax.grad(lambda z, t: learning.cross_entropy(z, t, temperature).sum()))
    hard, soft = np.asarray(gradient(z, hot)), np.asarray(gradient(z, t))
    yield close(hard, (p - hot) / temperature, "gradient by autodiff against (p − t)/T, one-hot targets", atol=1e-12)
    yield close(soft, (p - t) / temperature, "gradient by autodiff against (p − t)/T, soft targets", atol=1e-12)
    h, basis = 1e-5, np.eye(classes)
    either = np.concatenate([z[:, None] + h * basis, z[:, None] - h * basis], axis=1)
    values = learning.cross_entropy(either, np.repeat(t[:, None], 2 * classes, axis=1), temperature)
    numeric = (values[:, :classes] - values[:, classes:]) / (2 * h)
    yield close(numeric, soft, "gradient by finite differences, soft targets", atol=1e-8)
    yield close(np.concatenate([hard, soft]).sum(axis=1), 0.0, "sum of the gradient over the classes", atol=1e-12)
    yield at_most(hard[hot == 1], 0.0, "gradient at the true logit: pushed up", strict=True)
    yield at_least(hard[hot == 0], 0.0, "gradient at every other logit: pushed down", strict=True)
    yield close((hard / p)[hot == 0], 1 / temperature, "push on another logit over its probability", rtol=1e-9)
    start, label = jnp.asarray(z[0]), hot[0]
    path = optimisation.gradient_path(lambda v: gradient(v[None], label[None])[0], start, 1.0, 59)
    shown = np.unique(np.append(np.argsort(-p[0])[:4], y[0]))
    names = {k: f"class {k}, the label" if k == y[0] else f"class {k}" for k in shown}
    values = {"push": {str(k): -hard[0, k] for k in range(min(classes, 12))}}
    push = figure.bars("first push, −(p − t)/T", "class", "push on the logit", values=values)
    points = {name: (np.arange(0, 60, 3), path[::3, k]) for k, name in names.items()}
    along = figure.curves("logits over the steps (the likeliest classes)", "step", "logit", points=points)
    up = f"Descent pushes the true logit up by {-hard[0, y[0]]:.2g} at first and the others down by p/T"
    yield figure.beside(f"{up}; their sum stays the same", push, along)


@claim(sources=("penn", "eth"))
def cross_entropy_divergence(
    key, samples: Int(8, 30) = 12, gap: Real(0.3, 0.6) = 0.5, num_steps: Int(100_000, 1_000_000, log=True) = 300_000
):
    r"""Logistic weights diverge on separable data.

    On separable data the infimum 0 of the cross-entropy is not attained: under gradient descent the loss falls like
    1/t, ‖w‖ grows like ln t/γ and the direction tends, slowly, to that of the maximal margin. On overlapping data the
    minimiser is finite.

    $$L(w_t) \le \frac1t + \frac{\ln^2 t}{2\gamma^2 \eta t}, \qquad \frac{d\|w\|}{d \ln t} \to \frac1\gamma, \qquad
    \frac{w_t}{\|w_t\|} \to \frac{w^*}{\|w^*\|}$$

    Assumes: the data are separable, for the divergence; step size η ≤ 4/max‖x‖².

    Check: Points in the unit disc are fitted without a bias (b = 0) at step size 1. The digits follow, fitted by
    L-BFGS to ever smaller gradients.
    """
    x, y, _ = (np.asarray(a) for a in data.separable_ball(samples, 2, gap, key=key))
    best = margins.max_margin(x, y, bias=False)
    gamma = best.margin
    times = np.unique(np.geomspace(10, num_steps, 61).astype(int))
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
    last = times >= num_steps / 100
    yield slope(times[last], loss[last], -1.0, "slope of the loss over the last two decades", within=0.15)
    yield close(loss[-1] * gamma**2 * times[-1], 1.0, "loss × γ² t at the end, towards 1", atol=0.4)
    spans = times >= num_steps / 10, (times >= num_steps / 100) & (times <= num_steps / 10)
    pace = [np.polyfit(np.log(times[span]), norm[span], 1)[0] * gamma for span in spans]
    yield close(pace[0], 1.0, "γ d‖w‖/d ln t in the last decade", atol=0.3)
    yield at_least(pace[0], pace[1], "γ d‖w‖/d ln t in the last decade against the one before: it rises")
    yield at_least(cosine[-1], 0.9, "cosine of w to the maximal-margin direction at the end")
    finite = learning.finite_fit_exists(cx, (cy + 1) / 2, intercept=False)
    there = learning.fit_logistic(cx, (cy + 1) / 2, intercept=False, ridge=0.0 if finite else 1e-9)
    grown = np.linalg.norm(met, axis=1)
    what = "descent on overlapping classes against the finite minimiser"
    yield close(met[-1], there.weights, what, atol=1e-6).given(finite, "the drawn clouds overlap")
    images, labels, *_ = data.digits_split(train=1200)
    fits = [learning.fit_linear_scores(images, labels, tolerance=g) for g in (1e-3, 1e-5, 1e-7, 1e-9)]
    sizes = [np.linalg.norm(f.weights) for f in fits]
    yield at_most(fits[-1].loss, 1e-8, "digits: cross-entropy where the gradient is 10⁻⁹")
    yield at_least(np.diff(sizes), 0.0, f"digits: growth of ‖W‖, to {sizes[-1]:.4g}", strict=True)
    z = fits[-1].logits(images)
    lead = z[np.arange(1200), labels][:, None] - np.where(np.eye(10, dtype=bool)[labels], -np.inf, z)
    yield at_least(lead.min(), 0.0, "digits: least lead of the true class, which separates them", strict=True)

    def panel(title, y, found, lines={}, log="x"):
        points = {name: (times[::2], values[::2]) for name, values in found.items()}
        return figure.curves(title, "step t", y, log=log, lines=lines, points=points)

    falling, growing = {"1/(γ² t)": (times, 1 / (gamma**2 * times))}, norm[-1] + np.log(times / times[-1]) / gamma
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    title, fitted = "digits, softmax regression: ‖W‖ where L-BFGS stops", {"fits": ([f.loss for f in fits], sizes)}
    yield figure.beside(
        f"Separable, γ = {gamma:.3g}: loss {loss[-1]:.2g} after {num_steps} steps, ‖w‖ = {norm[-1]:.3g} and growing, "
        f"cosine to the widest margin {cosine[-1]:.4f}",
        panel("loss", "loss", {"gradient descent": loss}, falling, log="xy"),
        panel("norm", "‖w‖", {"separable": norm, "overlapping": grown}, {"slope 1/γ": (times, growing)}),
        panel("angle to the maximal margin", "angle (degrees)", {"gradient descent": angle}),
        figure.curves(title, "cross-entropy", "‖W‖", log="x", points=fitted),
    )


@partial(jax.jit, static_argnums=2)
def _descend(rows, counts, steps):
    """Gradient descent with step 1 on the mean logistic losses of several problems; rows of zeros do not matter."""

    def gradient(w):
        wrong = jax.nn.sigmoid(-jnp.einsum("knd,kd->kn", rows, w))
        return -jnp.einsum("kn,knd->kd", wrong, rows) / counts[:, None]

    return optimisation.gradient_path(gradient, jnp.zeros((len(rows), rows.shape[2])), 1.0, steps)


def _runs(times, *samples):
    """The weights after the given numbers of steps, from 0, for each sample (x, y)."""
    most = max(len(y) for _, y in samples)
    rows = [np.pad(y[:, None] * x, ((0, most - len(y)), (0, 0))) for x, y in samples]
    paths = _descend(jnp.asarray(rows), jnp.asarray([float(len(y)) for _, y in samples]), int(times[-1]))
    return np.moveaxis(np.asarray(paths)[times], 1, 0)
