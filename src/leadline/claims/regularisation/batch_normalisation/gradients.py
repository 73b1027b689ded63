"""Gradients through batch statistics: the backward pass, the bias that has none, the weights' direction."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, differentiation, regularisation, training
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, Real, at_most, claim, close, erratum
from leadline.presentation import figure


class _Weighed(eqx.Module):
    """γĥ against a fixed cotangent, with the batch's statistics or with constant ones: a number."""

    dy: jax.Array
    epsilon: float = eqx.field(static=True)

    def __call__(self, h):
        return jnp.sum(self.dy * regularisation.normalise_features(h, epsilon=self.epsilon))


@claim(sources=("penn",), shows=("regularisation.normalise_features_gradient",))
def batch_norm_backward(
    key, rows: Int(2, 200) = 8, channels: Int(1, 8) = 3, epsilon: Real(1e-5, 1e-1, log=True) = 1e-3
):
    r"""The backward pass of batch normalisation.

    The gradient flows through the batch's mean and variance: from the gradient of the output its mean over the batch
    and its part along ĥ are taken off. Where the statistics are held constant instead, the gradient is wrong in its
    first digit.

    $$\frac{\partial l}{\partial h} = \frac{\gamma}{\sqrt{\sigma^2 + \varepsilon}} \left(\delta - \overline{\delta} -
    \hat h\, \overline{\delta \hat h}\right), \qquad \delta = \frac{\partial l}{\partial y}$$

    Assumes: at least two rows.

    Check: Random rows and a random gradient of the output; against central differences and the automatic derivative.
    """
    rng = data.generator(key)
    h = jnp.asarray(rng.normal(size=(rows, channels)))
    gain, dy = jnp.asarray(rng.normal(size=channels)), jnp.asarray(rng.normal(size=(rows, channels)))
    formula = regularisation.normalise_features_gradient(h, gain * dy, epsilon=epsilon)
    layer, state = batch_norm(channels, epsilon=epsilon)
    layer = eqx.tree_at(lambda n: n.weight, layer, gain)
    by_jax = eqx.filter_jit(lambda h: jax.vjp(lambda h: on_batch(layer, state, h)[0], h)[1](dy)[0])(h)
    inverse = 1 / np.sqrt(np.asarray(h).var(axis=0) + epsilon)
    size = float(np.max(np.abs(np.asarray(gain) * inverse)) * jnp.max(jnp.abs(dy)))
    yield close(formula, by_jax, "formula, against the automatic derivative of the layer", atol=1e-11 * size)
    # The function bends on the scale √(σ² + ε) and no finer, so that one of these steps fits.
    given = _Weighed(gain * dy, epsilon)
    constant = gain * dy * jnp.asarray(inverse)
    errors = []
    for supplied in (formula, constant):
        report = differentiation.check_gradient(given, h, supplied, steps=(1e-3, 1e-4, 1e-5, 1e-6), entries=40, key=key)
        check = report.parameters[0]
        errors.append(check.error * float(jnp.max(jnp.abs(formula))))
    right = at_most(errors[0], 1e-6 * size, "formula: error against central differences")
    yield right
    yield erratum(
        at_most(errors[1], 1e-6 * size, "statistics held constant: error against central differences"),
        of=right,
        by="penn",
        prints="μ and σ² do not have any back-propagation gradient: they are no parameters, but the gradient of h goes "
        "through them, as the same text uses for the bias",
    )
    values = {"error": {"through μ and σ": max(errors[0], 1e-16), "μ, σ held constant": errors[1]}}
    title = f"Held constant, the statistics make the gradient wrong by {errors[1]:.2g}; the formula is right"
    yield figure.bars(title, "rule", "largest error against differences", values=values, log=True)


def _centred_loss(bias, x, target, *, ignored):
    """Mean squared error of x + b less its mean; with `ignored`, the mean is no function of b."""
    h = x + bias
    centre = jnp.mean(h)
    centre = jax.lax.stop_gradient(centre) if ignored else centre
    return jnp.mean((h - centre - target) ** 2)


@claim(sources=("penn",))
def batch_norm_makes_bias_redundant(
    key,
    rows: Int(2, 500) = 50,
    step_size: Real(0.01, 0.4) = 0.1,
    goal: Real(0.2, 5.0) = 1.0,
    num_steps: Int(5, 300) = 60,
):
    r"""A bias before batch normalisation has no gradient.

    h = x + b less its mean over the batch does not depend on b, so that the gradient in b is 0. A step that ignores how
    the mean depends on b sees the gradient of ĥ instead: then b moves on for ever while the loss stays as it is.

    $$\hat h = h - \bar h, \; h = x + b \;\Rightarrow\; \frac{\partial l}{\partial b} = 0; \qquad \bar h \text{
    ignored}: \; b_t = 2 \eta\, \overline{y}\, t, \quad l_t = l_0$$

    Assumes: the loss is the mean squared error to targets with mean ȳ.

    Check: Gradient descent with and without the dependence of the mean; then the gradient of a bias under `BatchNorm`.
    """
    rng = data.generator(key)
    x, y = jnp.asarray(rng.normal(size=rows)), jnp.asarray(goal + 0.5 * rng.normal(size=rows))
    steps = np.arange(num_steps + 1)
    paths, losses = {}, {}
    for name, ignored in (("dependence kept", False), ("dependence ignored", True)):

        def objective(bias, batch, key, state, ignored=ignored):
            return _centred_loss(bias, x, y, ignored=ignored), state

        ran = training.scan_steps(
            objective,
            jnp.zeros(()),
            optax.sgd(step_size),
            None,
            num_steps=num_steps,
            measure=lambda seen: (seen.before.parameters, seen.loss, seen.gradient),
        )
        bias, loss, gradient = (np.asarray(part) for part in ran.measured)
        paths[name] = np.append(bias, float(ran.model))
        losses[name] = np.append(loss, float(_centred_loss(ran.model, x, y, ignored=False)))
        if not ignored:
            kept = gradient
    size = float(jnp.mean(jnp.abs(y))) + 1
    zero = close(kept, 0.0, "gradient in b, with the dependence of the mean", atol=1e-12 * size)
    yield zero
    line = 2 * step_size * float(jnp.mean(y)) * steps
    drift = close(
        paths["dependence ignored"],
        line,
        "dependence ignored: b after t steps, against 2ηȳt",
        atol=1e-10 * size * num_steps,
    )
    yield drift
    yield close(
        losses["dependence ignored"],
        losses["dependence ignored"][0],
        "dependence ignored: the loss after t steps, against that at the start",
        rtol=1e-10,
    )
    layer, state = batch_norm(3)
    h, dy = jnp.asarray(rng.normal(size=(rows, 3))), jnp.asarray(rng.normal(size=(rows, 3)))
    of_bias = jax.grad(lambda b: jnp.sum(dy * on_batch(layer, state, h + b)[0]))(jnp.zeros(3))
    spread = np.sqrt(np.asarray(h).var(axis=0) + 1e-5).min()
    what = "BatchNorm: gradient of a bias before it"
    yield close(of_bias, 0.0, what, atol=1e-11 * rows * float(jnp.max(jnp.abs(dy))) / spread**2)
    yield erratum(
        close(kept, -2 * float(jnp.mean(y)), "gradient in b, as the sum of the gradients in ĥ", atol=1e-12 * size),
        of=zero,
        by="penn",
        prints="the batch normalisation paper takes ∂l/∂b for that of ĥ; the passage quoted begins 'If a gradient "
        "descent step ignores the dependence' and warns against it",
    )
    drawn = figure.curves(
        "the bias", "step", "b", lines={"2ηȳt": (steps, line)}, points={k: (steps, v) for k, v in paths.items()}
    )
    flat = figure.curves("the loss", "step", "l", points={k: (steps, v) for k, v in losses.items()})
    yield figure.beside("With the mean's dependence ignored b drifts for ever and the loss does not move", drawn, flat)


@claim(sources=("eth", "sheet"), shows=("regularisation.BatchNorm",))
def batch_norm_weight_direction(
    key,
    dim: Int(2, 30) = 6,
    rows: Int(5, 300) = 60,
    factor: Real(0.01, 100.0, log=True) = 3.0,
    epsilon: Real(1e-6, 1.0, log=True) = 1e-2,
):
    r"""Batch normalisation sees only the direction of the weights.

    BN of wᵀx is wᵀ(x − Ex) over the norm of w in the metric of the inputs' covariance. It does not change when w is
    scaled; the gradient is orthogonal to w and falls as 1/‖w‖. With ε > 0 a part ε/(σ² + ε) of this is lost.

    $$\mathrm{BN}(w^\top x) = \frac{w^\top (x - \mathbb{E} x)}{\|w\|_\Sigma}, \qquad w^\top \nabla_w l = 0, \qquad
    \nabla_w l(c w) = \tfrac1c \nabla_w l(w)$$

    Assumes: c > 0; ε = 0 but for the last comparison; w is not in the kernel of Σ.

    Check: Random inputs with a random covariance; the loss is a random linear function of the outputs plus their cube.
    """
    rng = data.generator(key)
    x = jnp.asarray(rng.normal(size=(rows, dim)) @ rng.normal(size=(dim, dim)) + 1.0)
    w, dy = jnp.asarray(rng.normal(size=dim)), jnp.asarray(rng.normal(size=rows))

    def outputs(w, x, own):
        layer, state = batch_norm(1, epsilon=own)
        return on_batch(layer, state, (x @ w)[:, None])[0][:, 0]

    def loss(w, x, own):
        out = outputs(w, x, own)
        return jnp.mean(dy * out + out**3)

    slope = jax.jit(jax.grad(loss), static_argnums=2)
    cov = np.cov(np.asarray(x).T, bias=True)
    length = float(np.sqrt(w @ cov @ w))
    here = np.asarray(outputs(w, x, 0.0))
    direct = np.asarray((x - x.mean(axis=0)) @ w) / length
    yield close(here, direct, "BN of wᵀx, against wᵀ(x − Ex)/‖w‖ in the metric of Σ", atol=1e-9)
    yield close(outputs(factor * w, x, 0.0), here, "outputs with cw, against those with w", atol=1e-9)
    centred = np.asarray(x - x.mean(axis=0))
    unit = np.asarray(w) / np.linalg.norm(w)
    what = "centred x: BN, against (w/‖w‖)ᵀx times the ratio of the two norms"
    yield close(outputs(w, jnp.asarray(centred), 0.0), centred @ unit * np.linalg.norm(w) / length, what, atol=1e-9)
    gradient, scaled = np.asarray(slope(w, x, 0.0)), np.asarray(slope(factor * w, x, 0.0))
    # Both are differences of terms of the size |x||δ|/σ, which sets the rounding.
    rounding = float(jnp.max(jnp.abs(x)) / length * (jnp.max(jnp.abs(dy)) + 3 * np.max(here**2)))
    what = "gradient along the weights, wᵀ∇l over ‖w‖"
    yield close(w @ gradient / np.linalg.norm(w), 0.0, what, atol=1e-10 * rounding)
    yield close(factor * scaled, gradient, "c∇l(cw), against ∇l(w)", atol=1e-10 * rounding)
    with_eps, out = np.asarray(slope(w, x, epsilon)), np.asarray(outputs(w, x, epsilon))
    inner = np.mean((np.asarray(dy) + 3 * out**2) * out)
    what = "ε > 0: wᵀ∇l, against ε/(σ² + ε) of the mean of ĥ ∂l/∂ĥ"
    yield close(
        w @ with_eps, epsilon / (length**2 + epsilon) * inner, what, atol=1e-10 * (1 + rounding * np.linalg.norm(w))
    )
    factors = np.geomspace(0.1, 10, 21)
    losses = np.array([loss(c * w, x, 0.0) for c in factors])
    lengths = np.array([np.linalg.norm(slope(c * w, x, 0.0)) for c in factors])
    ray = figure.curves(
        "along a ray, relative to c = 1",
        "c",
        "loss and length of its gradient",
        log="xy",
        lines={"1": (factors, np.ones_like(factors)), "1/c": (factors, 1 / factors)},
        points={"l(cw)": (factors, losses / losses[10]), "‖∇l(cw)‖": (factors, lengths / lengths[10])},
    )
    angles = np.linspace(0, 2 * np.pi, 25)[:-1]
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    flat = x[:, :2]
    place = np.argmax([np.linalg.norm(slope(jnp.asarray(point), flat, 0.0)) for point in circle])
    steps = {r: -np.asarray(slope(jnp.asarray(r * circle[place]), flat, 0.0)) for r in (1.0, 2.0)}
    reach = 1 / np.linalg.norm(steps[1.0])
    around = np.linspace(0, 2 * np.pi, 121)
    plane = figure.plane(
        "steps −∇l on two circles",
        "w₁",
        "w₂",
        lines={f"‖w‖ = {r:g}": (r * np.cos(around), r * np.sin(around)) for r in steps},
        arrows={
            f"step at ‖w‖ = {r:g}": (tuple(r * circle[place]), tuple(r * circle[place] + reach * step))
            for r, step in steps.items()
        },
        domain=((-2.5, 2.5), (-2.5, 2.5)),
    )
    yield figure.beside("The loss is constant along each ray; steps are tangent, and shorter farther out", ray, plane)
