"""Weight decay: what it does to iterates, when it is an ℓ2 penalty, and why biases are left out."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, optimisation, regularisation, training
from leadline.claims.scenarios.optimisation.small_regressions import logistic_problem
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, method
from leadline.presentation import figure


@method(sources=("eth", "sheet", "penn"))
def weight_decay(
    key, step_size: Real(0.01, 0.5) = 0.2, decay: Real(0.01, 2.0, log=True) = 0.2, num_steps: Int(5, 200) = 60
):
    r"""Weight decay.

    Weight decay multiplies the weights by 1 − ημ before each gradient step. For plain SGD this is the step on
    l + (μ/2)‖θ‖². Where the data have no gradient the norm falls as (1 − ημ)ᵗ; beyond ημ = 2 it grows.

    $$\theta_{t+1} = (1 - \eta\mu)\,\theta_t - \eta \nabla l(\theta_t)$$

    Check: Logistic regression on 30 points; `decoupled_decay` beside Optax's SGD against SGD on the penalised loss.
    """
    rng = data.generator(key)
    loss = logistic_problem(rng, 0.0)
    penalised = optimisation.LogisticRidge(loss.x, loss.y, decay)
    start = jnp.asarray(rng.normal(size=loss.x.shape[1]))
    plain = optimisation.tunable(optax.sgd, learning_rate=step_size)
    decayed = regularisation.decoupled_decay(plain, step_size, decay, group=regularisation.everything)
    outside = np.asarray(optimisation.descend(loss, decayed, start, num_steps).points)
    inside = np.asarray(optimisation.descend(penalised, plain, start, num_steps).points)
    step = close(
        outside, inside, "iterates of decay, against SGD on l + (μ/2)‖θ‖²", atol=1e-12 * (1 + np.abs(inside).max())
    )
    yield step
    first, slope = np.asarray(start), np.asarray(loss.gradient(start))
    flat = optimisation.Quadratic(jnp.zeros((len(first), len(first))), jnp.zeros(len(first)))
    free = np.asarray(optimisation.descend(flat, decayed, start, num_steps).points)
    t = np.arange(num_steps + 1)
    law = np.abs(1 - step_size * decay) ** t * np.linalg.norm(first)
    shrinks = close(np.linalg.norm(free, axis=1), law, "‖θₜ‖ without a data gradient: |1 − ημ|ᵗ‖θ₀‖", rtol=1e-11)
    yield shrinks
    grown = (1 + step_size * decay) ** t * np.linalg.norm(first)
    yield erratum(
        close(np.linalg.norm(free, axis=1), grown, "‖θₜ‖ without a data gradient, by θ − η(∇l − μθ)", rtol=1e-11),
        of=shrinks,
        by="eth",
        prints="θ − η(∇l − μθ): a slip of the sign, since the next line has the factor (1 − ημ)",
    )
    yield erratum(
        close((1 - step_size * decay) * first - slope, inside[1], "first iterate by (1 − ημ)θ − ∇l", atol=1e-12),
        of=step,
        by="eth",
        prints="(1 − ημ)θ − ∇l: the step size before the gradient is missing",
    )
    wild = optax.chain(plain, optax.add_decayed_weights(-2.1))
    last = optimisation.descend(flat, wild, start, num_steps).points[-1]
    what = "‖θ‖ at the end with ημ = 2.1: it has grown by 1.1ᵗ"
    yield close(np.linalg.norm(last), 1.1**num_steps * np.linalg.norm(first), what, rtol=1e-10)
    lines = {"(1 − ημ)ᵗ‖θ₀‖": (t, law)}
    points = {
        "no data gradient": (t, np.linalg.norm(free, axis=1)),
        "on the data": (t, np.linalg.norm(outside, axis=1)),
    }
    title = f"Without data the weights decay to {law[-1] / law[0]:.2g} of their norm; with data they settle"
    yield figure.curves(title, "step t", "‖θₜ‖", lines=lines, points=points)


def tanh_squares(params, x, y):
    """Mean squared error of the network x ↦ v·tanh(Wx + b)."""
    return jnp.mean((jnp.tanh(x @ params["W"].T + params["b"]) @ params["v"] - y) ** 2)


@eqx.filter_jit
def _paths(start, x, y, batches, eta, mu):
    """For each rule the parameters after every step, with the penalty inside the loss and with decoupled decay."""
    penalised = regularisation.Penalised(tanh_squares, regularisation.SquaredNorm(regularisation.everything), mu)
    rules = {"SGD": optax.sgd(eta), "momentum": optax.sgd(eta, momentum=0.9), "Adam": optax.adam(eta)}

    def path(loss, rule):
        def objective(params, rows, key, state):
            return loss(params, x[rows], y[rows]), state

        ran = training.scan_steps(objective, start, rule, batches, measure=lambda seen: seen.after.parameters)
        return jnp.concatenate([leaf.reshape(len(batches), -1) for leaf in jax.tree.leaves(ran.measured)], axis=1)

    def beside(rule):
        return optax.chain(rule, optax.add_decayed_weights(-eta * mu))  # as decoupled_decay, of traced numbers

    found = {name: (path(penalised, rule), path(tanh_squares, beside(rule))) for name, rule in rules.items()}
    return found, path(tanh_squares, optax.adamw(eta, weight_decay=mu))


@claim(sources=("eth", "sheet", "penn"), shows=("regularisation.decoupled_decay",))
def weight_decay_equals_l2_only_for_sgd(
    key, step_size: Real(0.003, 0.05, log=True) = 0.02, decay: Real(0.03, 1.0, log=True) = 0.1, hidden: Int(3, 16) = 8
):
    r"""Weight decay is an ℓ2 penalty for plain SGD only.

    Decoupled decay and the term (μ/2)‖θ‖² in the loss give the same iterates for plain (S)GD. With momentum whose
    velocity does not see the decay, and with Adam, which divides the penalty's gradient by its own scale, they do not:
    AdamW is not Adam with ℓ2.

    $$\theta - \eta\,(\nabla l + \mu\theta) = (1 - \eta\mu)\,\theta - \eta \nabla l, \qquad \theta - \eta
    \frac{\hat m(\nabla l + \mu\theta)}{\sqrt{\hat v(\nabla l + \mu\theta)}} \ne (1 - \eta\mu)\,\theta - \eta
    \frac{\hat m(\nabla l)}{\sqrt{\hat v(\nabla l)}}$$

    Assumes: the same start and the same batches.

    Check: A network with one hidden layer of `hidden` tanh units, 200 steps on batches of 16 of 64 rows.
    """
    rng = data.generator(key)
    x = rng.normal(size=(64, 4))
    y = np.sin(x.sum(axis=1)) + 0.3 * rng.normal(size=64)
    start = {"W": rng.normal(size=(hidden, 4)) / 2, "b": 0.1 * rng.normal(size=hidden), "v": rng.normal(size=hidden)}
    start = jax.tree.map(jnp.asarray, start)
    batches = data.batch_sequence(64, 16, 200, key=key)
    rows = jnp.asarray(x), jnp.asarray(y)
    found, adamw = _paths(start, *rows, batches, jnp.asarray(step_size), jnp.asarray(decay))
    apart = {
        name: np.linalg.norm(inside - outside, axis=1) / np.linalg.norm(inside, axis=1)
        for name, (inside, outside) in found.items()
    }
    yield at_most(apart["SGD"], 1e-12, "SGD: distance of the iterates over their norm")
    yield at_least(apart["Adam"][-1], 1e-3, "Adam: distance of the iterates over their norm, at the end", strict=True)
    # The first step has no velocity yet; what the velocity adds of the decay is of the order ημ from the second on.
    what = "momentum 0.9: distance of the iterates over their norm, at the end"
    yield at_least(apart["momentum"][-1], 1e-6, what, strict=True)
    what = "AdamW of Optax: distance to Adam with decoupled decay over the norm"
    gap = np.linalg.norm(adamw - found["Adam"][1], axis=1) / np.linalg.norm(adamw, axis=1)
    yield at_most(gap, 1e-10, what)
    steps = 1 + np.arange(200)
    points = {name: (steps, np.maximum(distance, 1e-17)) for name, distance in apart.items()}
    title = (
        f"Decay and penalty: the same for SGD; for Adam apart by {apart['Adam'][-1]:.2g} of the norm after 200 steps"
    )
    yield figure.curves(title, "step", "distance over norm", log="y", points=points)


@claim(sources=("penn",), shows=("regularisation.matrices",))
def no_decay_on_biases(key, samples: Int(10, 200) = 40, dim: Int(1, 8) = 4, alpha: Real(0.1, 100.0, log=True) = 10.0):
    r"""Biases are not decayed.

    With centred inputs, ridge regression that penalises the bias too has b = nȳ/(n + α) where the free bias is ȳ.
    Adding c to all targets leaves the error of the free fit as it is; with the penalised bias it adds a squared bias
    that grows as c².

    $$b_{\mathrm{pen}} = \frac{n \bar y}{n + \alpha}, \qquad \mathrm{MSE}_{\mathrm{pen}}(c) = \mathrm{MSE}_{
    \mathrm{free}} + \left(\frac{\alpha\,(\bar y + c)}{n + \alpha}\right)^2$$

    Assumes: the columns of X have mean 0; the penalty is α beside the sum of squares.

    Check: Errors are those on the training rows, where the formula is exact. A network of 16 tanh units is trained on
    targets moved by 5, with the penalty on everything and on matrices alone.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    x = x - x.mean(axis=0)
    y = x @ rng.normal(size=dim) + 0.3 * rng.normal(size=samples)
    shifts = np.linspace(0, 100, 11)
    free = [learning.ridge(x, y + c, alpha / samples) for c in shifts]
    bound = [learning.ridge(learning.design(x), y + c, alpha / samples, intercept=False).weights for c in shifts]
    means = y.mean() + shifts
    kept = samples * means / (samples + alpha)
    yield close([w[-1] for w in bound], kept, "penalised bias, against nȳ/(n + α)", atol=1e-10, rtol=1e-10)
    yield close([fit.bias for fit in free], means, "free bias, against ȳ", atol=1e-10, rtol=1e-12)
    errors = np.array([np.mean((fit.predict(x) - y - c) ** 2) for fit, c in zip(free, shifts, strict=True)])
    yield close(errors, errors[0], "error of the free fit at every shift, against none", rtol=1e-9)
    worse = np.array([np.mean((x @ w[:-1] + w[-1] - y - c) ** 2) for w, c in zip(bound, shifts, strict=True)])
    added = (alpha * means / (samples + alpha)) ** 2
    yield close(worse, errors[0] + added, "error with a penalised bias, against the formula", rtol=1e-9)
    gain = _mean_residuals(x, y + 5.0, key)
    what = "network: squared mean residual, all penalised less matrices alone"
    yield paired_excess(*gain, what, level=0.99)
    lines = {"bias penalised": (shifts, errors[0] + added), "bias free": (shifts, errors)}
    points = {"bias penalised": (shifts, worse), "bias free": (shifts, errors)}
    title = f"A penalised bias follows only {samples / (samples + alpha):.0%} of a shift of the targets"
    yield figure.curves(title, "shift c of the targets", "mean squared error", lines=lines, points=points)


def _mean_residuals(x, y, key):
    """The squared mean residuals of six networks with the penalty on everything, and with it on matrices alone."""

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x)[:, 0] - y) ** 2)

    @eqx.filter_jit
    def squares(keys, x, y):
        def one(key, group):
            net = networks.MLP((x.shape[1], 16, 1), "tanh", key=key)
            whole = regularisation.Penalised(loss, regularisation.SquaredNorm(group), 0.1)
            trained, _ = training.minimise(whole, net, optax.adam(0.03), 300, x, y)
            return jnp.mean(jax.vmap(trained)(x)[:, 0] - y) ** 2

        return [jax.vmap(lambda k, g=g: one(k, g))(keys) for g in (regularisation.everything, regularisation.matrices)]

    return [np.asarray(part) for part in squares(jax.random.split(key, 6), jnp.asarray(x), jnp.asarray(y))]
