"""How adaptive steps behave under scaling and over time."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Range, at_least, at_most, claim, close, figure, mean, slope


def _adagrad_scaled(scale, learning_rate, eps):
    return optax.chain(_times(scale), optimisation.adagrad(learning_rate, eps))


def _rmsprop_scaled(scale, learning_rate, eps):
    return optax.chain(_times(scale), optax.rmsprop(learning_rate, 0.99, eps, eps_in_sqrt=False))


def _adam_scaled(scale, learning_rate, eps):
    return optax.chain(_times(scale), optax.adam(learning_rate, eps=eps))


def _times(scale) -> optax.GradientTransformation:
    return optax.stateless(lambda gradient, _: scale * gradient)


_RULES = {"AdaGrad": _adagrad_scaled, "RMSProp": _rmsprop_scaled, "Adam": _adam_scaled}


@claim(
    "adaptive-scale-invariance",
    says=(
        "With ε = 0, AdaGrad, RMSProp and Adam do not change when the loss or any coordinate of the gradient is "
        "multiplied by a positive number. They do change with the units of w: for w = s u their step in w scales as s, "
        "gradient descent's as s², Newton's not at all."
    ),
    formula=r"\Delta w(c \odot g) = \Delta w(g), \qquad \Delta w_{w = s u} \propto s^{1}",
    sources=("sheet", "penn", "eth"),
)
def adaptive_scale_invariance(
    key,
    scale: Annotated[float, Range(1e-6, 1e6, log=True)] = 1e-4,
    unit: Annotated[float, Range(0.01, 100.0, log=True)] = 10.0,
    step: Annotated[float, Range(1e-4, 0.01, log=True)] = 0.01,
    eps: Annotated[float, Range(1e-9, 1e-6, log=True)] = 1e-8,
):
    """A quadratic in three dimensions, 80 steps: c, and c_k different in each coordinate, against c = 1."""
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
        points = np.asarray(_scaled_paths(make, objective, start, jnp.asarray(scales), jnp.asarray(epsilons), step))
        yield close(points[1], points[0], f"{name}, loss × {scale:g}: iterates", atol=1e-10)
        yield close(points[2], points[0], f"{name}, gradient × (c, 1, 1/c): iterates", atol=1e-10)
        seen = np.abs(points[3, 1] - points[3, 0])
        # the size that each rule compares with ε at its first step: RMSProp's average starts at 0
        size = np.abs(gradient) * tiny * (0.1 if name == "RMSProp" else 1.0)
        free = np.abs(points[0, 1] - points[0, 0])
        yield close(
            seen / free, size / (size + eps), f"{name}, c|g| near ε: first step over that with ε = 0", rtol=1e-6
        )
        shown[name] = points

    exponents = {"adaptive": 1, "gradient descent": 2, "Newton": 0}
    steps = {name: [] for name in exponents}
    units = np.array([1.0, unit])
    for s in units:  # in u, with w = s u
        g, h = s * gradient, s**2 * np.asarray(objective.matrix)
        moved = [optax.adam(step, eps=0.0), optax.sgd(step)]
        moved = [np.asarray(rule.update(jnp.asarray(g), rule.init(jnp.asarray(g)))[0]) for rule in moved]
        for name, change in zip(exponents, [*moved, -np.linalg.solve(h, g)], strict=True):
            steps[name].append(np.linalg.norm(s * change))
    for name, exponent in exponents.items():
        ratio = steps[name][1] / steps[name][0]
        yield close(
            ratio, unit**exponent, f"{name}: step in w at w = {unit:g} u, over that at s = 1: s^{exponent}", rtol=1e-9
        )
    times = np.arange(81)
    ends = np.abs(shown["Adam"][3, -1, 0] - shown["Adam"][0, -1, 0])
    yield figure.curves(
        f"Adam's path is the same for the loss × {scale:g}; with c|g| near ε it is {ends:.2g} behind",
        x="step",
        y="first coordinate",
        lines={"loss": (times, shown["Adam"][0, :, 0])},
        points={
            f"loss × {scale:g}": (times[::4], shown["Adam"][1, ::4, 0]),
            f"loss × {tiny:.1g}, ε = {eps:.1g}": (times[::4], shown["Adam"][3, ::4, 0]),
        },
    )


@partial(jax.jit, static_argnums=0)
def _scaled_paths(make, objective, start, scales, epsilons, step):
    def run(scale, eps):
        rule = optimisation.tunable(make, scale=scale, learning_rate=step, eps=eps)
        return optimisation.descend(objective, rule, start, 80).points

    return jax.vmap(run)(scales, epsilons)


@claim(
    "adagrad-step-decay",
    says=(
        "Under gradients of steady size G AdaGrad's rate is η/(G√t); rare coordinates keep larger rates, in inverse "
        "proportion to their root mean square; after one burst a rate never recovers, while RMSProp forgets it."
    ),
    formula=r"\eta_t = \frac{\eta}{\sqrt{\sum_{s \le t} g_s^2}} \approx \frac{\eta}{G \sqrt t}",
    sources=("sheet", "eth"),
)
def adagrad_step_decay(
    key,
    size: Annotated[float, Range(0.01, 10.0, log=True)] = 1.0,
    rarity: Annotated[float, Range(0.05, 1.0)] = 0.2,
    decay: Annotated[float, Range(0.9, 0.999)] = 0.99,
    step: Annotated[float, Range(0.001, 1.0, log=True)] = 0.1,
):
    """64 coordinates each of constant, Gaussian and rare gradients, 3000 steps; a burst of 100 G at step 100."""
    rng = data.generator(key)
    steps, many = 3000, 64
    times = np.arange(1, steps + 1)
    constant = np.full((steps, 1), size)
    made = optimisation.respond(
        optimisation.tunable(optimisation.adagrad, learning_rate=step, delta=0.0), jnp.asarray(constant)
    )
    yield close(
        -np.asarray(made)[:, 0] / size,
        step / (size * np.sqrt(times)),
        "constant gradient: rate, against η/(|g|√t)",
        rtol=1e-10,
    )
    noise = size * rng.standard_normal((steps, many))
    rates = step / np.sqrt(optimisation.running_squares(noise, None))
    picked = np.unique(np.geomspace(100, steps, 40).astype(int)) - 1
    typical = np.exp(np.mean(np.log(rates), axis=1))
    yield slope(times[picked], typical[picked], -0.5, "noise: exponent of the rate in t", within=0.02)
    rare = size * (rng.random((steps, 4 * many)) < rarity)
    total = optimisation.running_squares(rare, None)[-1] / (steps * size**2)
    deviation = np.sqrt(rarity * (1 - rarity) / steps)
    yield mean(
        total, rarity, "rare gradients: (η/(G√t · rate))², against their frequency", deviation=deviation,
    )  # fmt: skip

    burst = constant.copy()
    burst[99] = 100 * size
    summed = step / np.sqrt(optimisation.running_squares(burst, None)[:, 0])
    yield at_most(summed[99:], step / (100 * size), "AdaGrad's rate from the burst on, against η/(100 G)")
    moving = optimisation.running_squares(burst, decay)[:, 0]
    calm = size**2 * (1 - decay**times)
    excess = (moving - calm)[99:400]
    forgotten = (1e4 - 1) * size**2 * (1 - decay) * decay ** np.arange(excess.size)
    yield close(excess, forgotten, "RMSProp: what is left of the burst, against β^k", rtol=1e-9, atol=1e-9 * size**2)
    half = int(np.ceil(np.log(max((1e4 - 1) * (1 - decay) / 3, 1.0)) / -np.log(decay)))
    late = 99 + half
    if late < steps:
        back = size / np.sqrt(moving[late])
        yield at_least(back, 0.5, f"RMSProp's rate over its steady rate, {half} steps after the burst", rtol=1e-9)
    yield figure.curves(
        f"The rate falls as 1/√t; one burst cuts AdaGrad's for ever, RMSProp's for {half} steps",
        x="step",
        y="rate of a coordinate",
        lines={"η/(G√t)": (times, step / (size * np.sqrt(times)))},
        points={
            "noise": (times[picked], typical[picked]),
            "burst, AdaGrad": (times[picked], summed[picked]),
            "burst, RMSProp": (times[picked], step / np.sqrt(moving[picked])),
        },
        log="xy",
    )
