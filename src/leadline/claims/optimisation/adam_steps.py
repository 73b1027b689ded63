"""Adam's steps: at the start, where its averages are short, and at their longest."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, mean


def _average(decay) -> optax.GradientTransformation:
    return optax.ema(decay, debias=False)


@claim(
    "adam-bias-correction",
    says=(
        "From zero, Adam's averages are short by exactly 1 − βᵗ in the mean, so dividing by it makes both unbiased. "
        "Without the correction the first step is (1 − β₁)/√(1 − β₂) η: 3.16 η at the defaults."
    ),
    formula=r"\mathrm{E}\, m_t = (1 - \beta_1^t)\, \mathrm{E}\, g, \qquad "
    r"\mathrm{E}\, v_t = (1 - \beta_2^t)\, \mathrm{E}\, g^2",
    sources=("penn", "eth"),
    assumes=("gradients of constant mean, m₀ = v₀ = 0",),
)
def adam_bias_correction(
    key,
    b1: Annotated[float, Range(0.0, 0.99)] = 0.9,
    b2: Annotated[float, Range(0.9, 0.9999)] = 0.999,
    centre: Annotated[float, Range(0.1, 10.0, log=True)] = 1.0,
):
    """40 steps of a constant gradient, and of 2000 independent Gaussian ones with the same mean."""
    rng = data.generator(key)
    steps, many = 40, 2000
    times = np.arange(1, steps + 1)
    gradients = centre + rng.standard_normal((steps, many))
    gradients[:, 0] = centre
    columns = jnp.asarray(gradients)
    moments = {
        power: np.asarray(optimisation.respond(optimisation.tunable(_average, decay=b), columns**power))
        for power, b in ((1, b1), (2, b2))
    }
    for power, b in ((1, b1), (2, b2)):
        name = "mv"[power - 1]
        yield close(
            moments[power][:, 0], (1 - b**times) * centre**power,
            f"constant gradient: {name}, against (1 − βᵗ) g^{power}",
            rtol=1e-12,
        )  # fmt: skip
    made = np.asarray(
        optimisation.respond(
            optimisation.tunable(optimisation.uncorrected_adam, learning_rate=1.0, b1=b1, b2=b2, eps=0.0), columns
        )
    )
    short = (1 - b1**times) / np.sqrt(1 - b2**times)
    yield close(-made[:, 0], short, "constant gradient: uncorrected step / η", rtol=1e-10)
    first = optimisation.spike_step(b1, b2)
    yield close(np.abs(made[0]), first, "first uncorrected step / η, any gradient", rtol=1e-10)
    expected = {1: centre, 2: centre**2 + 1}
    spread = {1: 1.0, 2: np.sqrt(2 + 4 * centre**2)}  # of g and of g², g Gaussian
    for power, b in ((1, b1), (2, b2)):
        for t in (1, 5, steps):
            deviation = spread[power] * np.sqrt((1 - b) * (1 - b ** (2 * t)) / (1 + b)) / (1 - b**t)
            yield mean(
                moments[power][t - 1, 1:] / (1 - b**t), expected[power],
                f"corrected {'mv'[power - 1]} at step {t}, against E g^{power}", deviation=deviation,
                confidence=1 - 1e-3 / 6,
            )  # fmt: skip
    measured = moments[1][:, 1:].mean(axis=1) / centre
    yield figure.curves(
        f"m is short by 1 − β₁ᵗ; without correction Adam's first step is {first:.2f} η",
        x="step t",
        y="mean of m over E g",
        lines={"m: 1 − β₁ᵗ": (times, 1 - b1**times), "corrected: 1": (times, np.ones(steps))},
        points={"m: 1 − β₁ᵗ": (times, measured), "corrected: 1": (times, measured / (1 - b1**times))},
    )


@claim(
    "adam-step-bound",
    says=(
        "If β₁² < β₂ no gradients make Adam's step longer than (1 − β₁)/√((1 − β₂)(1 − β₁²/β₂)) η, 7.27 η at the "
        "defaults, and gradients that grow as (β₂/β₁)ᵗ reach it. A spike gives 3.16 η, a constant gradient η. "
        "If β₁² ≥ β₂ there is no bound."
    ),
    formula=r"\frac{|m|}{\sqrt v} \le \frac{1-\beta_1}{\sqrt{(1-\beta_2)(1-\beta_1^2/\beta_2)}}",
    sources=("eth", "penn"),
    assumes=("ε = 0",),
)
def adam_step_bound(
    key,
    b1: Annotated[float, Range(0.0, 0.95)] = 0.9,
    b2: Annotated[float, Range(0.91, 0.9999)] = 0.999,
    searched: Annotated[int, Range(20, 400)] = 100,
):
    """Adam on chosen sequences of 1000 gradients: worst, spike, constant, random signs, and heavy-tailed ones."""
    rng = data.generator(key)
    steps = 1000
    worst = optimisation.worst_gradients(b1, b2, steps)
    spike = np.eye(1, steps, steps - 1)[0]
    signs = rng.choice([-1.0, 1.0], (steps, 2000))
    wild = rng.standard_normal((steps, searched)) * np.exp(
        rng.normal(0, rng.uniform(0, 6, searched), (steps, searched))
    )
    columns = np.concatenate([worst[:, None], spike[:, None], np.ones((steps, 1)), signs, wild], axis=1)
    rule = optimisation.tunable(optax.adam, learning_rate=1.0, b1=b1, b2=b2, eps=0.0)
    made = np.nan_to_num(np.abs(np.asarray(optimisation.respond(rule, jnp.asarray(columns)))))
    bound = np.array([optimisation.adam_step_bound(b1, b2, t) for t in range(1, steps + 1)])
    yield close(
        made[-1, 0], bound[-1], "worst gradients: step / η after 1000 steps, against the bound there", rtol=1e-8
    )
    correction = np.sqrt(1 - b2**steps) / (1 - b1**steps)
    yield close(made[-1, 1], optimisation.spike_step(b1, b2) * correction, "spike: step / η", rtol=1e-9)
    yield close(made[:, 2], 1.0, "constant gradient: step / η", rtol=1e-9)
    rms = (1 - b1) ** 2 * (1 - b1 ** (2 * steps)) / (1 - b1**2) / (1 - b1**steps) ** 2
    yield mean(made[-1, 3:2003] ** 2, rms, "random signs: (step / η)², against (1 − β₁)/(1 + β₁)")
    yield at_most(
        made[:, 3:].max(axis=1), bound, f"longest step of {searched + 2000} random sequences, at every t", rtol=1e-9
    )

    # Where β₁ > β₂ the worst gradients shrink, and only the last 200 of them are within the range of the numbers.
    pairs = np.array([(u, v) for u in (0.5, 0.8, 0.9) for v in (0.92, 0.95, 0.98, 0.99, 0.997, 0.999, 0.9999)])
    unbounded = np.array([(0.9, 0.7), (0.9, 0.6)])
    adversarial = [optimisation.worst_gradients(u, v, 4000) for u, v in pairs]
    adversarial += [np.append(np.zeros(3800), optimisation.worst_gradients(u, v, 200)) for u, v in unbounded]
    ends = np.asarray(_last_steps(jnp.asarray(np.concatenate([pairs, unbounded])), jnp.asarray(np.stack(adversarial))))
    ends, beyond = ends[:-2], ends[-2:]
    formula = np.array([optimisation.adam_step_bound(u, v, 4000) for u, v in pairs])
    yield close(ends, formula, "worst gradients, 21 pairs (β₁, β₂), after 4000 steps", rtol=1e-7)
    known = {(0.9, 0.999): 7.204, (0.9, 0.99): 2.3452, (0.9, 0.95): 1.1650}
    for (u, v), value in known.items():
        at = int(np.argmin(np.abs(pairs - [u, v]).sum(axis=1)))
        yield close(ends[at], value, f"worst gradients, ({u:g}, {v:g}): step / η", atol=5e-4)
    yield exactly(bool(np.isinf(optimisation.adam_step_bound(0.9, 0.8))), True, "no bound where β₁² ≥ β₂")
    reached = [optimisation.adam_step_bound(u, v, 200, corrected=False) for u, v in unbounded]
    yield close(beyond, reached, "worst 200 gradients where β₁² > β₂, (0.9, 0.7) and (0.9, 0.6): step / η", rtol=1e-6)
    yield at_least(beyond, 1e5, "the same: they are huge")
    fine = 1 - np.geomspace(0.08, 1e-4, 60)
    lines = {
        f"β₁ = {u:g}": (1 - fine, [optimisation.adam_step_bound(u, v, 4000) for v in fine]) for u in (0.5, 0.8, 0.9)
    }
    points = {f"β₁ = {u:g}": (1 - pairs[pairs[:, 0] == u, 1], ends[pairs[:, 0] == u]) for u in (0.5, 0.8, 0.9)}
    yield figure.curves(
        "At β₁ = 0.9, β₂ = 0.999 a step can be 7.2 η, and growing gradients make it so",
        x="1 − β₂",
        y="longest step / η after 4000 steps",
        lines=lines,
        points=points,
        log="xy",
    )


@jax.jit
def _last_steps(pairs, columns):
    def last(pair, gradients):
        rule = optimisation.tunable(optax.adam, learning_rate=1.0, b1=pair[0], b2=pair[1], eps=0.0)
        return jnp.abs(optimisation.respond(rule, gradients[:, None])[-1, 0])

    return jax.vmap(last)(pairs, columns)
