"""The first adaptive methods: AdaGrad, and a diagonal of squared gradients."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.special import expit

from leadline import data, optimisation, stochastic
from leadline.evidence import Int, Real, at_most, close, mean, method, smaller
from leadline.optimisation.rules.diagonal_scaling import scaled_direction, squared_gradient_diagonal
from leadline.presentation import figure
from leadline.stochastic.problems.linear_loss import logistic_of_score


def _zipf_features(rng: np.random.Generator, samples: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Feature j = 1, 2, … is 1 with probability j^(−3/2), else 0; labels of a logistic model with weights ±2."""
    x = (rng.random((samples, features)) < np.arange(1, features + 1) ** -1.5).astype(float)
    weights = 2.0 * np.where(np.arange(features) % 2, 1, -1)
    return x, np.where(rng.random(samples) < expit(x @ weights), 1.0, -1.0)


@method(sources=("eth", "sheet"), shows=("stochastic.rule_run",))
def adagrad(
    key,
    step_size: Real(0.01, 2.0, log=True) = 0.5,
    delta: Real(1e-10, 1e-3, log=True) = 1e-8,
    features: Int(30, 60) = 40,
):
    r"""AdaGrad optimiser.

    AdaGrad divides each coordinate's step by the root of the sum of its squared gradients: step sizes only shrink, the
    first step is η sign(g), and rare features keep larger step sizes. Where frequencies fall as $j^{-3/2}$ and there
    is hardly any penalty, rare features are learned faster than by SGD; this is not so in every setting.

    $$s_j \leftarrow s_j + g_j^2, \qquad w_j \leftarrow w_j - \eta\, g_j / (\sqrt{s_j} + \delta)$$

    Check: The rule is compared with its closed form; then both methods solve sparse logistic regression, each at the
    best of five step sizes.
    """
    rng = data.generator(key)
    gradients = rng.standard_normal((200, 4)) * np.array([1e-2, 1.0, 10.0, 1.0])
    gradients[:, 3] *= rng.random(200) < 0.1
    rule = partial(optimisation.tunable, optimisation.adagrad, learning_rate=step_size)
    made = np.asarray(optimisation.respond(rule(delta=delta), jnp.asarray(gradients)))
    root = np.sqrt(np.cumsum(gradients**2, axis=0))
    yield close(made, -step_size * gradients / (root + delta), "steps, against −ηg/(√Σg² + δ)", atol=1e-12 * step_size)
    bare = optimisation.respond(rule(delta=0.0), jnp.asarray(gradients))
    theirs = optax.adagrad(step_size, initial_accumulator_value=0.0, eps=0.0)
    theirs = optimisation.respond(theirs, jnp.asarray(gradients))
    yield close(bare, theirs, "steps with δ = 0, against Optax with s⁰ = 0 and no ε", atol=1e-12 * step_size)
    first = -step_size * np.sign(gradients[0])
    yield close(bare[0], first, "first step with δ = 0, against −η sign(g)", atol=1e-12 * step_size)
    rates = step_size / (root[20:] + delta)
    yield at_most(np.diff(rates, axis=0), 0.0, "growth of a coordinate's step size from step to step")
    seeds, steps, tried = 8, 500, np.geomspace(0.2, 5, 5)
    x, y = _zipf_features(rng, 2000, features)
    penalty = 1e-4
    best = optimisation.LogisticRidge(x, y, penalty).constants().minimiser
    loss = stochastic.LinearLoss(logistic_of_score, jnp.asarray(penalty), 1)
    problem = stochastic.FiniteSum(loss, (x, y))
    draws = jnp.asarray(rng.integers(len(x), size=(seeds, steps, 4)))
    rare = slice(features // 2, None)
    paths, losses, errors = {}, {}, {}
    for name, make in {"AdaGrad": optimisation.adagrad, "SGD": optax.sgd}.items():
        paths[name] = np.asarray(_paths(problem, make, jnp.asarray(tried), draws, features))  # (rates, seeds, t, p)
        ends = paths[name][:, :, -1]
        scores = np.logaddexp(0, -y * (ends @ x.T)).mean(axis=-1) + penalty * (ends**2).sum(axis=-1) / 2
        losses[name] = np.nan_to_num(scores.mean(axis=1), nan=np.inf)
        chosen = ends[np.argmin(losses[name])]
        errors[name] = np.linalg.norm(chosen[:, rare] - best[rare], axis=1) / np.linalg.norm(best[rare])
    what = "error of the rarer half of the weights, AdaGrad's below SGD's, each at its best η"
    yield smaller(errors["AdaGrad"], errors["SGD"], what)
    chosen = np.argmin(losses["AdaGrad"])
    eta, path = tried[chosen], paths["AdaGrad"][chosen, 0]
    rows = np.asarray(draws[0])
    margins = y[rows] * np.einsum("tbj,tj->tb", x[rows], path[:-1])
    pulled = -np.einsum("tb,tbj->tj", y[rows] * expit(-margins), x[rows]) / rows.shape[1] + penalty * path[:-1]
    total = np.sqrt(np.cumsum(pulled**2, axis=0))
    rates = np.where(total > 0, eta / np.maximum(total, 1e-9), np.nan)
    times, shown = np.arange(1, steps + 1), (0, features // 4, features - 1)
    ratio = np.mean(errors["SGD"]) / np.mean(errors["AdaGrad"])
    title = f"Step sizes only shrink; the weights of rare features are {ratio:.1f} times nearer than with SGD"
    held = {f"feature in 1 of {(j + 1) ** 1.5:.0f} examples": (times, rates[:, j]) for j in shown}
    yield figure.curves(title, "step", "step size η/(√s + δ) of a coordinate", steps=held, log="xy")


@partial(jax.jit, static_argnums=(1, 4))
def _paths(problem, make, rates, draws, features):
    def run(rate, rows):
        rule = optimisation.tunable(make, learning_rate=rate)
        return stochastic.rule_run(problem, rule, jnp.zeros(features), rows).points

    return jax.vmap(jax.vmap(run, (None, 0)), (0, None))(rates, draws)


@method(sources=("penn",))
def diagonal_preconditioner(
    key, samples: Int(20, 500) = 100, features: Int(2, 20) = 6, batch: Int(2, 32) = 8, decay: Real(0.8, 0.99) = 0.95
):
    r"""Diagonal preconditioner from squared gradients.

    Divide each gradient coordinate by the root of its mean squared per-example gradient. RMSProp's running average of
    squared batch gradients estimates something else: the squared mean plus the variance divided by the batch size b.

    $$G_{kk} = \frac1n \sum_i (\partial_k \ell_i)^2, \qquad \mathrm{E}\, v_k = g_k^2 + \mathrm{Var}_k / b$$

    Check: Logistic regression is held at fixed weights, with 400 independent running averages for each of the two
    batch sizes.
    """
    rng = data.generator(key)
    x = rng.standard_normal((samples, features)) * np.geomspace(0.2, 3, features)
    y, w = rng.choice([-1.0, 1.0], samples), rng.standard_normal(features) / 2
    each = -(y * expit(-y * (x @ w)))[:, None] * x
    exact = np.mean(each**2, axis=0)
    loss = stochastic.LinearLoss(logistic_of_score, jnp.asarray(0.0), 1)
    found = squared_gradient_diagonal(loss, jnp.asarray(w), jnp.asarray(x), jnp.asarray(y))
    yield close(found, exact, "G_kk from per-example gradients, against the closed form", rtol=1e-12)
    full = each.mean(axis=0)
    direction = scaled_direction(jnp.asarray(full), found, 1e-8)
    yield at_most(np.abs(direction), 1.0, "|g_k|/(√G_kk + δ): at most 1, by Jensen", rtol=1e-12)
    steps, streams = int(np.ceil(6 / (1 - decay))), 400
    correction = 1 - decay**steps
    rows = rng.integers(samples, size=(steps, streams, batch))
    single, several = each[rows[..., 0]], each[rows].mean(axis=2)  # (steps, streams, p)
    theirs = optimisation.tunable(optax.rmsprop, learning_rate=0.1, decay=decay, eps=1e-8)
    made = optimisation.respond(theirs, jnp.asarray(several[:, 0]))
    ours = optimisation.running_squares(several[:, 0], decay)
    yield close(made, -0.1 * several[:, 0] / np.sqrt(ours + 1e-8), "steps of Optax's RMSProp, from √(v + ε)", rtol=1e-9)
    ends = {
        b: optimisation.running_squares(part.reshape(steps, -1), decay)[-1].reshape(streams, features) / correction
        for b, part in ((1, single), (batch, several))
    }
    spread = np.sqrt((1 - decay) * (1 - decay ** (2 * steps)) / (1 + decay)) / correction
    mixed = full**2 + np.var(each, axis=0) / batch
    confidence = 1 - 1e-3 / features
    for k in {0, features // 2, features - 1}:
        deviation = np.std(each[:, k] ** 2) * spread
        what = f"running average of squares, one example, coordinate {k}, against G_kk"
        yield mean(ends[1][:, k], exact[k], what, deviation=deviation, confidence=confidence)
        what = f"running average of squares, batch {batch}, coordinate {k}, against g² + Var/b"
        yield mean(ends[batch][:, k], mixed[k], what, confidence=confidence)
    line = np.geomspace(mixed.min() / 2, exact.max() * 2, 50)
    points = {"one example": (exact, ends[1].mean(axis=0)), f"batch {batch}": (exact, ends[batch].mean(axis=0))}
    share = np.median(mixed / exact)
    title = f"One example at a time estimates G; batches of {batch} estimate {share:.2f} of it (median)"
    axes = "exact G_kk", "running average of squares"
    yield figure.curves(title, *axes, lines={"equal": (line, line)}, points=points, log="xy")
