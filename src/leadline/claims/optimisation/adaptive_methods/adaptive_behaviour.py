"""How adaptive steps behave under scaling and over time."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Real, at_least, at_most, claim, close, mean, slope
from leadline.presentation import figure


def _scaled(rule):
    """The rule behind a factor on the gradient, with its numbers as arguments."""

    def make(scale, learning_rate, eps):
        return optax.chain(optax.stateless(lambda gradient, _: scale * gradient), rule(learning_rate, eps))

    return make


_RULES = {
    "AdaGrad": _scaled(optimisation.adagrad),
    "RMSProp": _scaled(lambda rate, eps: optax.rmsprop(rate, 0.99, eps, eps_in_sqrt=False)),
    "Adam": _scaled(lambda rate, eps: optax.adam(rate, eps=eps)),
}


@claim(sources=("sheet", "penn", "eth"))
def adaptive_scale_invariance(
    key,
    scale: Real(1e-6, 1e6, log=True) = 1e-4,
    unit: Real(0.01, 100.0, log=True) = 10.0,
    step_size: Real(1e-4, 0.01, log=True) = 0.01,
    eps: Real(1e-9, 1e-6, log=True) = 1e-8,
):
    r"""Scale invariance of adaptive methods.

    With ε = 0, AdaGrad, RMSProp and Adam do not change when the loss or any coordinate of the gradient is multiplied
    by a positive number. They do change with the units of w: for w = su their step in w scales as s, that of gradient
    descent as s², and Newton's not at all.

    $$\Delta w(c \odot g) = \Delta w(g), \qquad \Delta w_{w = s u} \propto s^{1}$$

    Check: The methods run for 80 steps on a quadratic in three dimensions: with one factor c, and with a different
    factor in each coordinate, against c = 1.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    objective = optimisation.Quadratic(jnp.asarray(basis * [1.0, 3.0, 10.0] @ basis.T), jnp.zeros(3))
    start = jnp.asarray(np.sign(rng.standard_normal(3)) * rng.uniform(1.5, 3, 3))
    gradient = np.asarray(objective.matrix @ start)
    tiny = eps / np.abs(gradient).max()  # c |g| as small as ε
    scales = np.stack([np.ones(3), np.full(3, scale), scale ** np.array([1.0, 0.0, -1.0]), np.full(3, tiny)])
    epsilons = np.array([0.0, 0.0, 0.0, eps])
    shown = {}
    for name, make in _RULES.items():
        points = _scaled_paths(make, objective, start, jnp.asarray(scales), jnp.asarray(epsilons), step_size)
        yield close(points[1], points[0], f"{name}, loss × {scale:g}: iterates, against c = 1", atol=1e-10)
        yield close(points[2], points[0], f"{name}, gradient × (c, 1, 1/c): iterates, against c = 1", atol=1e-10)
        seen = np.abs(points[3, 1] - points[3, 0])
        # the size that each rule compares with ε at its first step: RMSProp's average starts at 0
        size = np.abs(gradient) * tiny * (0.1 if name == "RMSProp" else 1.0)
        share = seen / np.abs(points[0, 1] - points[0, 0])
        yield close(share, size / (size + eps), f"{name}, c|g| near ε: first step over that with ε = 0", rtol=1e-6)
        shown[name] = points
    exponents = {"adaptive": 1, "gradient descent": 2, "Newton": 0}
    steps = {name: [] for name in exponents}
    for s in (1.0, unit):  # in u, with w = s u
        g, h = s * gradient, s**2 * np.asarray(objective.matrix)
        moved = [optax.adam(step_size, eps=0.0), optax.sgd(step_size)]
        moved = [np.asarray(rule.update(jnp.asarray(g), rule.init(jnp.asarray(g)))[0]) for rule in moved]
        for name, change in zip(exponents, [*moved, -np.linalg.solve(h, g)], strict=True):
            steps[name].append(np.linalg.norm(s * change))
    for name, exponent in exponents.items():
        ratio, what = steps[name][1] / steps[name][0], f"{name}: step in w for w = {unit:g} u, over that for w = u"
        yield close(ratio, unit**exponent, f"{what}, against s^{exponent}", rtol=1e-9)
    times, (plain, scaled, _, near) = np.arange(81), np.asarray(shown["Adam"])[:, :, 0]
    behind = abs(near[-1] - plain[-1])
    title = f"Adam's path is the same for the loss × {scale:g}; with c|g| near ε it is {behind:.2g} behind"
    points = {
        f"loss × {scale:g}": (times[::4], scaled[::4]),
        f"loss × {tiny:.1g}, ε = {eps:.1g}": (times[::4], near[::4]),
    }
    yield figure.curves(title, "step", "first coordinate", lines={"loss": (times, plain)}, points=points)


@partial(jax.jit, static_argnums=0)
def _scaled_paths(make, objective, start, scales, epsilons, step):
    def run(scale, eps):
        rule = optimisation.tunable(make, scale=scale, learning_rate=step, eps=eps)
        return optimisation.descend(objective, rule, start, 80).points

    return jax.vmap(run)(scales, epsilons)


@claim(sources=("sheet", "eth"))
def adagrad_step_decay(
    key,
    size: Real(0.01, 10.0, log=True) = 1.0,
    rarity: Real(0.05, 1.0) = 0.2,
    decay: Real(0.9, 0.999) = 0.99,
    step_size: Real(0.001, 1.0, log=True) = 0.1,
):
    r"""Decay of AdaGrad's step size.

    Under gradients of steady size G, AdaGrad's step size is η/(G√t). Rare coordinates keep larger step sizes, in
    inverse proportion to their root mean square. After one burst a step size never recovers, whereas RMSProp forgets
    it.

    $$\eta_t = \frac{\eta}{\sqrt{\sum_{s \le t} g_s^2}} \approx \frac{\eta}{G \sqrt t}$$

    Check: AdaGrad runs for 3000 steps on 64 coordinates each of constant, Gaussian and rare gradients, with a burst of
    100 G at step 100.
    """
    rng = data.generator(key)
    steps, many = 3000, 64
    times = np.arange(1, steps + 1)
    constant, law = np.full((steps, 1), size), step_size / (size * np.sqrt(times))
    rule = optimisation.tunable(optimisation.adagrad, learning_rate=step_size, delta=0.0)
    made = optimisation.respond(rule, jnp.asarray(constant))[:, 0]
    yield close(-made / size, law, "constant gradient: step size, against η/(|g|√t)", rtol=1e-10)
    noise = size * rng.standard_normal((steps, many))
    rates = step_size / np.sqrt(optimisation.running_squares(noise, None))
    picked = np.unique(np.geomspace(100, steps, 40).astype(int)) - 1
    typical = np.exp(np.mean(np.log(rates), axis=1))
    yield slope(times[picked], typical[picked], -0.5, "noise: exponent of the step size in t", within=0.02)
    rare = size * (rng.random((steps, 4 * many)) < rarity)
    total = optimisation.running_squares(rare, None)[-1] / (steps * size**2)
    deviation = np.sqrt(rarity * (1 - rarity) / steps)
    yield mean(total, rarity, "rare gradients: (η/(G√t · step size))², against their frequency", deviation=deviation)
    burst = constant.copy()
    burst[99] = 100 * size
    summed = step_size / np.sqrt(optimisation.running_squares(burst, None)[:, 0])
    yield at_most(summed[99:], step_size / (100 * size), "AdaGrad's step size from the burst on, against η/(100 G)")
    moving = optimisation.running_squares(burst, decay)[:, 0]
    calm = size**2 * (1 - decay**times)
    excess = (moving - calm)[99:400]
    forgotten = (1e4 - 1) * size**2 * (1 - decay) * decay ** np.arange(excess.size)
    yield close(excess, forgotten, "RMSProp: what is left of the burst, against β^k", rtol=1e-9, atol=1e-9 * size**2)
    half = int(np.ceil(np.log(max((1e4 - 1) * (1 - decay) / 3, 1.0)) / -np.log(decay)))
    if 99 + half < steps:
        back = size / np.sqrt(moving[99 + half])
        yield at_least(back, 0.5, f"RMSProp's step size over its steady one, {half} steps after the burst", rtol=1e-9)
    rates = {"noise": typical, "burst, AdaGrad": summed, "burst, RMSProp": step_size / np.sqrt(moving)}
    points = {name: (times[picked], values[picked]) for name, values in rates.items()}
    title = f"The step size falls as 1/√t; one burst cuts AdaGrad's for ever, RMSProp's for {half} steps"
    lines = {"η/(G√t)": (times, law)}
    yield figure.curves(title, "step", "step size of a coordinate", lines=lines, points=points, log="xy")
