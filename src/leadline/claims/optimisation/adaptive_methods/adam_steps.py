"""Adam's steps: at the start, where its averages are short, and at their longest."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, mean, reference
from leadline.optimisation.bounds.step_bounds import spike_step, worst_gradients
from leadline.presentation import figure


def _average(decay) -> optax.GradientTransformation:
    return optax.ema(decay, debias=False)


@claim(sources=("penn", "eth"))
def adam_bias_correction(
    key, b1: Real(0.0, 0.99) = 0.9, b2: Real(0.9, 0.9999) = 0.999, centre: Real(0.1, 10.0, log=True) = 1.0
):
    r"""Bias correction in Adam.

    Started from zero, Adam's averages are too small in the mean by exactly the factor 1 − βᵗ, so dividing by it makes
    both unbiased. Without the correction the first step is (1 − β₁)/√(1 − β₂) η: 3.16 η at the defaults.

    $$\mathrm{E}\, m_t = (1 - \beta_1^t)\, \mathrm{E}\, g, \qquad \mathrm{E}\, v_t = (1 - \beta_2^t)\, \mathrm{E}\,
    g^2$$

    Assumes: gradients of constant mean; m₀ = v₀ = 0.

    Check: Adam takes 40 steps with a constant gradient, and with 2000 streams of independent Gaussian gradients of the
    same mean.
    """
    rng, steps, many = data.generator(key), 40, 2000
    times = np.arange(1, steps + 1)
    gradients = centre + rng.standard_normal((steps, many))
    gradients[:, 0] = centre
    columns = jnp.asarray(gradients)
    moments = {}
    for power, b in ((1, b1), (2, b2)):
        rule = optimisation.tunable(_average, decay=b)
        moments[power] = np.asarray(optimisation.respond(rule, columns**power))
        what = f"constant gradient: {'mv'[power - 1]}, against (1 − βᵗ) g^{power}"
        yield close(moments[power][:, 0], (1 - b**times) * centre**power, what, rtol=1e-12)
    rule = optimisation.tunable(optimisation.uncorrected_adam, learning_rate=1.0, b1=b1, b2=b2, eps=0.0)
    made = np.asarray(optimisation.respond(rule, columns))
    short = (1 - b1**times) / np.sqrt(1 - b2**times)
    yield close(-made[:, 0], short, "constant gradient: uncorrected step / η, against (1 − β₁ᵗ)/√(1 − β₂ᵗ)", rtol=1e-10)
    first = spike_step(b1, b2)
    yield close(np.abs(made[0]), first, "first uncorrected step / η, any gradient", rtol=1e-10)
    expected = {1: centre, 2: centre**2 + 1}
    spread = {1: 1.0, 2: np.sqrt(2 + 4 * centre**2)}  # of g and of g², g Gaussian
    for power, b in ((1, b1), (2, b2)):
        for t in (1, 5, steps):
            deviation = spread[power] * np.sqrt((1 - b) * (1 - b ** (2 * t)) / (1 + b)) / (1 - b**t)
            what = f"corrected {'mv'[power - 1]} at step {t}, against E g^{power}"
            found = moments[power][t - 1, 1:] / (1 - b**t)
            yield mean(found, expected[power], what, deviation=deviation, confidence=1 - 1e-3 / 6)
    measured = moments[1][:, 1:].mean(axis=1) / centre
    short = 1 - b1**times
    lines = {"m: 1 − β₁ᵗ": (times, short), "corrected: 1": (times, np.ones(steps))}
    points = {"m: 1 − β₁ᵗ": (times, measured), "corrected: 1": (times, measured / short)}
    title = f"m is short by 1 − β₁ᵗ; without correction Adam's first step is {first:.2f} η"
    yield figure.curves(title, "step t", "mean of m over E g", lines=lines, points=points)


@claim(sources=("eth", "penn"))
def adam_step_bound(key, b1: Real(0.0, 0.95) = 0.9, b2: Real(0.91, 0.9999) = 0.999, searched: Int(20, 400) = 100):
    r"""Largest possible Adam step.

    If β₁² < β₂, no sequence of gradients makes Adam's step longer than
    $\frac{1-\beta_1}{\sqrt{(1-\beta_2)(1-\beta_1^2/\beta_2)}}\,\eta$, which is 7.27 η at the defaults, and gradients
    that grow as (β₂/β₁)ᵗ reach it. A spike gives 3.16 η, a constant gradient η. If β₁² ≥ β₂ there is no bound.

    $$\frac{|m|}{\sqrt v} \le \frac{1-\beta_1}{\sqrt{(1-\beta_2)(1-\beta_1^2/\beta_2)}}$$

    Assumes: ε = 0.

    Check: Adam runs on chosen sequences of 1000 gradients: the worst case, a spike, constant gradients, random signs
    and heavy-tailed gradients.
    """
    rng, steps = data.generator(key), 1000
    worst = worst_gradients(b1, b2, steps)
    spike = np.eye(1, steps, steps - 1)[0]
    signs = rng.choice([-1.0, 1.0], (steps, 2000))
    wild = rng.standard_normal((steps, searched))
    wild *= np.exp(rng.normal(0, rng.uniform(0, 6, searched), (steps, searched)))
    columns = np.concatenate([worst[:, None], spike[:, None], np.ones((steps, 1)), signs, wild], axis=1)
    rule = optimisation.tunable(optax.adam, learning_rate=1.0, b1=b1, b2=b2, eps=0.0)
    made = np.nan_to_num(np.abs(np.asarray(optimisation.respond(rule, jnp.asarray(columns)))))
    bound = np.array([optimisation.adam_step_bound(b1, b2, t) for t in range(1, steps + 1)])
    yield close(made[-1, 0], bound[-1], "worst gradients: step / η after 1000 steps, against the bound", rtol=1e-8)
    correction = np.sqrt(1 - b2**steps) / (1 - b1**steps)
    longest = spike_step(b1, b2) * correction
    yield close(made[-1, 1], longest, "spike: step / η, against (1 − β₁)/√(1 − β₂)", rtol=1e-9)
    yield close(made[:, 2], 1.0, "constant gradient: step / η, against 1", rtol=1e-9)
    rms = (1 - b1) ** 2 * (1 - b1 ** (2 * steps)) / (1 - b1**2) / (1 - b1**steps) ** 2
    yield mean(made[-1, 3:2003] ** 2, rms, "random signs: (step / η)², against (1 − β₁)/(1 + β₁)")
    what = f"longest step of {searched + 2000} random sequences, at every t"
    yield at_most(made[:, 3:].max(axis=1), bound, what, rtol=1e-9)
    # Where β₁ > β₂ the worst gradients shrink, and only the last 200 of them are within the range of the numbers.
    pairs = np.array([(u, v) for u in (0.5, 0.8, 0.9) for v in (0.92, 0.95, 0.98, 0.99, 0.997, 0.999, 0.9999)])
    unbounded = np.array([(0.9, 0.7), (0.9, 0.6)])
    adversarial = [worst_gradients(u, v, 4000) for u, v in pairs]
    adversarial += [np.append(np.zeros(3800), worst_gradients(u, v, 200)) for u, v in unbounded]
    ends = np.asarray(_last_steps(jnp.asarray(np.concatenate([pairs, unbounded])), jnp.asarray(np.stack(adversarial))))
    ends, beyond = ends[:-2], ends[-2:]
    formula = np.array([optimisation.adam_step_bound(u, v, 4000) for u, v in pairs])
    what = "worst gradients, 21 pairs (β₁, β₂): step / η after 4000 steps, against the bound"
    yield close(ends, formula, what, rtol=1e-7)
    known = {(0.9, 0.999): 7.204, (0.9, 0.99): 2.3452, (0.9, 0.95): 1.1650}
    for (u, v), value in known.items():
        at = np.argmin(np.abs(pairs - [u, v]).sum(axis=1))
        yield reference(ends[at], value, f"worst gradients, ({u:g}, {v:g}): step / η after 4000 steps", digits=4)
    unlimited = bool(np.isinf(optimisation.adam_step_bound(0.9, 0.8)))
    yield exactly(unlimited, True, "no bound at β = (0.9, 0.8), where β₁² ≥ β₂")
    reached = [optimisation.adam_step_bound(u, v, 200, corrected=False) for u, v in unbounded]
    yield close(beyond, reached, "worst 200 gradients where β₁² > β₂, (0.9, 0.7) and (0.9, 0.6): step / η", rtol=1e-6)
    yield at_least(beyond, 1e5, "worst 200 gradients where β₁² > β₂: step / η is huge")
    fine, lines, points = 1 - np.geomspace(0.08, 1e-4, 60), {}, {}
    for u in (0.5, 0.8, 0.9):
        row = pairs[:, 0] == u
        lines[f"β₁ = {u:g}"] = 1 - fine, [optimisation.adam_step_bound(u, v, 4000) for v in fine]
        points[f"β₁ = {u:g}"] = 1 - pairs[row, 1], ends[row]
    title = "At β₁ = 0.9, β₂ = 0.999 a step can be 7.2 η, and growing gradients make it so"
    yield figure.curves(title, "1 − β₂", "longest step / η after 4000 steps", lines=lines, points=points, log="xy")


@jax.jit
def _last_steps(pairs, columns):
    def last(pair, gradients):
        rule = optimisation.tunable(optax.adam, learning_rate=1.0, b1=pair[0], b2=pair[1], eps=0.0)
        return jnp.abs(optimisation.respond(rule, gradients[:, None])[-1, 0])

    return jax.vmap(last)(pairs, columns)
