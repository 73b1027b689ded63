"""Weight normalisation: a start from data, its gradients, its growing vectors, and when it is batch normalisation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, regularisation, training
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, method
from leadline.presentation import figure


@method(sources=("eth",), shows=("regularisation.weight_normalised", "regularisation.data_dependent_start"))
def weight_normalisation(key, inputs: Int(1, 64) = 12, outputs: Int(1, 32) = 6, rows: Int(3, 500) = 100):
    r"""Weight normalisation.

    Each unit's weights are written as a length times a direction, w = γv/‖v‖, and γ and v are trained. The function of
    a layer is that of the plain layer with the same w. Set once from data, γ and the bias give each unit mean 0 and
    variance 1 on the first batch. v = 0 has no direction and is refused.

    $$w = \gamma \frac{v}{\|v\|}, \qquad \gamma = \frac{1}{s}, \; b = -\frac{m}{s}, \qquad m, s^2: \text{mean and
    variance of } \frac{v^\top x}{\|v\|}$$

    Assumes: every unit's output varies over the first batch.

    Check: Equinox' `WeightNorm` around a linear layer and a convolution.
    """
    rng = data.generator(key)
    linear = eqx.nn.Linear(inputs, outputs, key=key)
    x = jnp.asarray(3.0 + 2.0 * rng.normal(size=(rows, inputs)))
    layer = regularisation.weight_normalised(linear)
    yield close(jax.vmap(layer)(x), jax.vmap(linear)(x), "outputs, against the plain layer's", atol=1e-11)
    gains, directions = rng.normal(size=(outputs, 1)), rng.normal(size=(outputs, inputs))
    other = eqx.tree_at(lambda n: (n.g, n.layer.weight), layer, (jnp.asarray(gains), jnp.asarray(directions)))
    rebuilt = gains * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    plain = eqx.tree_at(lambda n: n.weight, linear, jnp.asarray(rebuilt))
    yield close(jax.vmap(other)(x), jax.vmap(plain)(x), "other γ and v: outputs, against w = γv/‖v‖", atol=1e-11)
    refused = False
    try:
        regularisation.weight_normalised(eqx.tree_at(lambda n: n.weight, linear, jnp.zeros((outputs, inputs))))
    except ValueError:
        refused = True
    yield exactly(refused, True, "v = 0 is refused")
    started = regularisation.data_dependent_start(layer, x)
    out = np.asarray(jax.vmap(started)(x))
    yield close(out.mean(axis=0), 0.0, "started from data: means of the outputs", atol=1e-10)
    yield close(out.var(axis=0), 1.0, "started from data: variances of the outputs", rtol=1e-9)
    conv = regularisation.weight_normalised(eqx.nn.Conv2d(2, 3, 3, key=key))
    images = jnp.asarray(rng.normal(size=(8, 2, 6, 6)))
    seen = np.asarray(jax.vmap(regularisation.data_dependent_start(conv, images))(images))
    yield close(
        seen.var(axis=(0, 2, 3)), 1.0, "convolution started from data: variances over rows and space", rtol=1e-9
    )
    before = np.asarray(jax.vmap(layer)(x))
    units = np.arange(outputs)
    points = {"as drawn": (units, before.std(axis=0)), "started from data": (units, out.std(axis=0))}
    title = "Started from data, every unit has deviation 1 on the first batch"
    yield figure.curves(title, "unit", "deviation of its outputs", lines={"1": (units, 1 + 0 * units)}, points=points)


@claim(sources=("eth",), shows=("regularisation.weight_norm_gradients",))
def weight_norm_gradients(
    key, inputs: Int(2, 100) = 10, outputs: Int(1, 20) = 4, length: Real(0.01, 100.0, log=True) = 2.0
):
    r"""Gradients of weight normalisation.

    With w = γv/‖v‖, the gradient in γ is that in w along v, and the gradient in v is that in w without its part along
    v, times γ/‖v‖.

    $$\frac{\partial l}{\partial \gamma} = \frac{v^\top \nabla_w l}{\|v\|}, \qquad \frac{\partial l}{\partial v} =
    \frac{\gamma}{\|v\|} \left(I - \frac{v v^\top}{\|v\|^2}\right) \nabla_w l$$

    Assumes: v is not 0.

    Check: The squared error of a layer of tanh units, through Equinox' `WeightNorm`, against the automatic derivative.
    """
    rng = data.generator(key)
    x, y = jnp.asarray(rng.normal(size=(30, inputs))), jnp.asarray(rng.normal(size=(30, outputs)))
    v = rng.normal(size=(outputs, inputs))
    v = jnp.asarray(length * v / np.linalg.norm(v, axis=1, keepdims=True))
    gain = jnp.asarray(rng.normal(size=outputs))

    def loss(layer):
        return jnp.mean((jnp.tanh(jax.vmap(layer)(x)) - y) ** 2)

    linear = eqx.nn.Linear(inputs, outputs, use_bias=False, key=key)
    made = eqx.nn.WeightNorm(eqx.tree_at(lambda n: n.weight, linear, v))
    by_jax = eqx.filter_grad(loss)(eqx.tree_at(lambda n: n.g, made, gain[:, None]))
    w = (gain / jnp.linalg.norm(v, axis=1))[:, None] * v
    dw = eqx.filter_grad(loss)(eqx.tree_at(lambda n: n.weight, linear, w)).weight
    dg, dv = regularisation.weight_norm_gradients(v, gain, dw)
    size = float(jnp.abs(dw).max())
    yield close(dg, by_jax.g[:, 0], "gradient in γ, against the automatic derivative", atol=1e-12 * size)
    scale = size * float(jnp.abs(gain).max()) / length
    what = "gradient in v, against the automatic derivative"
    yield close(dv, by_jax.layer.weight, what, atol=1e-12 * max(scale, 1e-300))
    across, along = np.asarray(by_jax.layer.weight).ravel(), np.asarray(dv).ravel()
    reach = np.array([across.min(), across.max()])
    points = {"each weight": (across, along)}
    title = f"The projected gradient is the automatic one, for all {dv.size} weights"
    axes = "automatic derivative in v", "(γ/‖v‖)(I − vvᵀ/‖v‖²)∇l"
    yield figure.curves(title, *axes, lines={"equal": (reach, reach)}, points=points)


@claim(sources=("eth",), shows=("regularisation.weight_norm_gradients",))
def weight_norm_growth(
    key, inputs: Int(2, 50) = 10, num_steps: Int(5, 300) = 100, step_size: Real(0.01, 10.0, log=True) = 1.0
):
    r"""The vectors of weight normalisation only grow.

    The gradient in v is orthogonal to v, so that a step of gradient descent adds its squared length to that of v: the
    norm never falls. As w depends on v/‖v‖ alone, too large a step lowers the next ones. That more step sizes do well
    than without is often found; eight draws do not confirm it here.

    $$v_t^\top \nabla_v l = 0 \;\Rightarrow\; \|v_{t+1}\|^2 = \|v_t\|^2 + \eta^2 \|\nabla_v l\|^2$$

    Assumes: plain gradient descent; no weight decay on v.

    Check: Logistic regression on 60 points, without bias. Then, empirically, the number of step sizes from 10⁻³ to 10³
    (two to a decade) from which 200 steps come within 10 % of the best final loss, with w and with (γ, v), over eight
    draws of noisy labels (noise 3, so that no w separates them); both start at the same w.
    """
    rng = data.generator(key)
    x, y, start = _logistic_draw(rng, inputs)
    path = _norm_paths(start, x, y, jnp.asarray(step_size), num_steps)
    v, dv = np.asarray(path[0]), np.asarray(path[1])
    squares, slopes = (v**2).sum(axis=1), (dv**2).sum(axis=1)
    inner = np.sum(v[:-1] * dv, axis=1)
    orthogonal = np.abs(inner) / np.maximum(np.sqrt(squares[:-1] * slopes), 1e-300)
    # What is left of the gradient when its part along v is subtracted is rounded at the size of ∇l, not of itself.
    seen = slopes > 1e-16 * slopes.max()
    yield at_most(orthogonal[seen], 1e-6, "cosine of v and its gradient")
    what = "‖v‖² after each step, against ‖v‖² + η²‖∇l‖²"
    yield close(squares[1:], squares[:-1] + step_size**2 * slopes, what, rtol=1e-10)
    yield at_least(squares[1:], squares[:-1], "‖v‖² after each step, against before", rtol=1e-13)
    rates = np.geomspace(1e-3, 1e3, 13)
    losses = _final_losses(jax.random.split(key, 8), inputs, jnp.asarray(rates))  # (draws, rates, 2)
    losses = np.where(np.isfinite(losses), losses, np.inf)
    best = losses.min(axis=(1, 2))
    good = (losses <= 1.1 * best[:, None, None] + 1e-3).sum(axis=1)
    yield paired_excess(good[:, 1], good[:, 0], "step sizes that do well, with (γ, v) less with w")
    steps = np.arange(num_steps + 1)
    predicted = np.sqrt(squares[0] + np.concatenate([[0.0], np.cumsum(step_size**2 * slopes)]))
    growth = figure.curves(
        f"η = {step_size:.3g}: ‖v‖ grows and stays",
        "step",
        "‖v‖",
        lines={"√(‖v₀‖² + η²Σ‖∇l‖²)": (steps, predicted)},
        points={"descent": (steps, np.sqrt(squares))},
    )
    middle = np.median(losses, axis=0)
    robust = figure.curves(
        "loss after 200 steps",
        "step size",
        "median over eight draws",
        log="xy",
        points={"trained in w": (rates, middle[:, 0]), "trained in (γ, v)": (rates, middle[:, 1])},
    )
    more = regularisation.paired_difference(good[:, 1], good[:, 0])
    seen = "" if more.low > 0 else ", which is not confirmed"
    told = f"{more.mean:.2f} ({more.low:.2f} to {more.high:.2f}) more step sizes do well than with w{seen}"
    yield figure.beside(f"Steps are orthogonal to v, which grows; {told}", growth, robust)


def _logistic_draw(rng, inputs):
    """60 points, labels by a random unit with so much noise that no unit separates them, and a start for w."""
    x = rng.normal(size=(60, inputs))
    y = np.sign(x @ rng.normal(size=inputs) + 3.0 * rng.normal(size=60))
    return jnp.asarray(x), jnp.asarray(y), jnp.asarray(rng.normal(size=inputs))


def _loss(w, x, y):
    return jnp.mean(jax.nn.softplus(-y * (x @ w)))


def _normed_loss(pair, x, y):
    gain, v = pair
    return _loss(gain * v / jnp.linalg.norm(v), x, y)


@eqx.filter_jit
def _norm_paths(start, x, y, eta, num_steps):
    """v before every step and at the end, and its gradient at every step."""

    def objective(pair, batch, key, state):
        return _normed_loss(pair, x, y), state

    def seen(step):
        return step.before.parameters[1], step.gradient[1]

    pair = jnp.linalg.norm(start), start
    ran = training.scan_steps(objective, pair, optax.sgd(eta), None, num_steps=num_steps, measure=seen)
    return jnp.concatenate([ran.measured[0], ran.model[1][None]]), ran.measured[1]


def _final_losses(keys, inputs, rates):
    """For each draw and step size the loss after 200 steps, in w and in (γ, v)."""
    draws = [_logistic_draw(data.generator(key), inputs) for key in keys]
    x, y, start = (jnp.stack(part) for part in zip(*draws, strict=True))

    @eqx.filter_jit
    def run(x, y, start, rates):
        def one(x, y, start, eta):
            rule = optax.sgd(eta)
            plain, _ = training.minimise(_loss, start, rule, 200, x, y)
            normed, _ = training.minimise(_normed_loss, (jnp.linalg.norm(start), start), rule, 200, x, y)
            return jnp.stack([_loss(plain, x, y), _normed_loss(normed, x, y)])

        return jax.vmap(jax.vmap(one, (None, None, None, 0)), (0, 0, 0, None))(x, y, start, rates)

    return np.asarray(run(x, y, start, rates))


@claim(sources=("eth",), shows=("regularisation.fit_whitening",))
def weight_norm_equals_batch_norm(
    key, dim: Int(2, 30) = 8, condition: Real(2.0, 1e4, log=True) = 100.0, rows: Int(40, 2000) = 300
):
    r"""Weight normalisation is batch normalisation on white inputs.

    Batch normalisation divides wᵀx by ‖w‖ in the metric of the inputs' covariance Σ, weight normalisation by ‖w‖. On
    centred inputs the two agree exactly where these norms do, for all w if the inputs are white; their ratio moves away
    from 1 as the condition number of Σ grows.

    $$\frac{w^\top (x - \mathbb{E} x)}{\|w\|_\Sigma} = \frac{w^\top x}{\|w\|_2} \iff \|w\|_\Sigma = \|w\|_2, \qquad
    \|w\|_\Sigma^2 = w^\top \Sigma\, w$$

    Assumes: centred inputs; ε = 0; no shift.

    Check: Random data whose covariance has eigenvalues spread evenly, on a logarithmic scale, around 1; 200 random w.
    """
    rng = data.generator(key)
    raw = rng.normal(size=(max(rows, 2 * dim), dim))
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    white = regularisation.fit_whitening(raw, "zca")(raw)
    w = rng.normal(size=(200, dim))
    unit = w / np.linalg.norm(w, axis=1, keepdims=True)
    layer, state = batch_norm(200, epsilon=0.0)

    def outputs(x):
        batch, _ = on_batch(layer, state, jnp.asarray(x @ w.T))
        return np.asarray(batch), x @ unit.T  # (rows, units) by each

    batch, weight = outputs(white)
    yield close(batch, weight, "white inputs: BN of wᵀx, against wᵀx/‖w‖, for 200 random w", atol=1e-8)

    def coloured(kappa):
        values = np.geomspace(kappa**-0.5, kappa**0.5, dim)
        return (white @ (basis * np.sqrt(values))) @ basis.T, (basis * values) @ basis.T, values

    x, cov, values = coloured(condition)
    batch, weight = outputs(x)
    ratio = np.linalg.norm(w, axis=1) / np.sqrt(np.einsum("ki,ij,kj->k", w, cov, w))
    what = "coloured inputs: BN of wᵀx, against wᵀx/‖w‖ times ‖w‖/‖w‖ in the metric of Σ"
    yield close(batch, weight * ratio, what, atol=1e-8 * np.abs(batch).max())
    # One w for which the norms agree although Σ is not I: of two eigenvectors, weighed so that wᵀΣw = wᵀw.
    least, most = values[0], values[-1]
    balanced = np.sqrt(most - 1) * basis[:, 0] + np.sqrt(1 - least) * basis[:, -1]
    one, own = batch_norm(1, epsilon=0.0)
    there, _ = on_batch(one, own, jnp.asarray(x @ balanced)[:, None])
    what = "a w with the same two norms: BN of wᵀx on coloured inputs, against wᵀx/‖w‖"
    yield close(there[:, 0], x @ balanced / np.linalg.norm(balanced), what, atol=1e-7 * np.abs(there).max())
    grid = np.geomspace(1, condition, 9)
    off = []
    for kappa in grid:
        batch, weight = outputs(coloured(float(kappa))[0])
        off.append(np.mean(np.abs(batch - weight), axis=0).mean())
    off = np.array(off)
    yield at_least(off[1:], off[:-1], "mean deviation of the outputs, against that at a smaller condition number")
    title = (
        f"On white inputs the two agree; at condition number {condition:.3g} they differ by {off[-1]:.2g} on average"
    )
    axes = "condition number of the inputs' covariance", "mean |BN − WN| of the outputs"
    yield figure.curves(title, *axes, log="x", points={"200 random w": (grid, off)})
