"""Where Adam fails, what it costs in memory, and how much its β₂ matters."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, optimisation, stochastic
from leadline.claims.scenarios.optimisation.small_digit_network import digit_sum, network_starts
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, reference
from leadline.optimisation.rules.adaptive_rules import with_largest_step
from leadline.optimisation.rules.optimiser_memory import optimiser_memory_of
from leadline.optimisation.runs.online import drifting_slopes, online_adaptive
from leadline.presentation import figure


@claim(sources=("sheet", "penn"))
def adam_counterexample_amsgrad(
    key, large: Real(2.5, 10.0) = 3.0, step_size: Real(0.3, 0.85) = 0.5, long: Real(0.99, 0.9999) = 0.999
):
    r"""Adam fails to converge, AMSGrad does.

    With the losses Cx, −x, −x in turn on [−1, 1] and C > 2, the best point is −1, but Adam with a short second-moment
    average goes to +1, with an average regret that stays at 2(C − 2)/3. AMSGrad, or Adam with a long second-moment
    average, goes to −1.

    $$f_t(x) = C x \ (t \equiv 1 \bmod 3), \ -x \text{ else}; \qquad \beta_2 = 1/(1 + C^2), \ \eta_t = \eta/\sqrt t$$

    Assumes: C > 2; β₁ = 0.

    Check: The methods run for 3·10⁵ steps from 0.
    """
    steps = 300_000
    slopes = drifting_slopes(steps, large)
    short = 1 / (1 + large**2)
    rules = {
        "Adam": online_adaptive(step_size, short, maximum=False),
        "AMSGrad": online_adaptive(step_size, short, maximum=True),
        f"Adam, β₂ = {long:g}": online_adaptive(step_size, long, maximum=False),
    }
    paths = {name: np.asarray(optimisation.play_online(rule, jnp.asarray(slopes))) for name, rule in rules.items()}
    regrets = {name: optimisation.average_regret(path, slopes) for name, path in paths.items()}
    yield at_least(paths["Adam"][-3:], 0.9, "Adam: x at the end, near the worst point +1")
    stuck = 2 * (large - 2) / 3
    yield close(regrets["Adam"][-1], stuck, "Adam: average regret, against 2(C − 2)/3", rtol=0.05)
    for name in ("AMSGrad", f"Adam, β₂ = {long:g}"):
        yield at_most(paths[name][-3:], -0.9, f"{name}: x at the end, near the best point −1")
        yield at_most(regrets[name][-1], 0.05 * stuck, f"{name}: average regret")
    if (large, step_size) == (3.0, 0.5):
        yield reference(regrets["Adam"][-1], 0.667, "Adam: average regret at C = 3", digits=3)
        yield reference(regrets["AMSGrad"][-1], 0.0011, "AMSGrad: average regret at C = 3", digits=2)
    times = np.arange(1, steps + 1)
    points, averages = ({n: (times, values) for n, values in part.items()} for part in (paths, regrets))
    title = f"Average regret: {regrets['Adam'][-1]:.3f} and {regrets['AMSGrad'][-1]:.4f}"
    yield figure.beside(
        f"Adam drifts to the worst point, {paths['Adam'][-1]:+.2f}, AMSGrad to the best, {paths['AMSGrad'][-1]:+.3f}",
        figure.curves("The iterate", "step", "x", lines=points, log="x"),
        figure.curves(title, "step", "average regret", lines=averages, log="xy"),
    )


@claim(sources=("penn",))
def optimiser_memory(
    key, width: Int(2, 2000) = 128, depth: Int(1, 6) = 2, precision: OneOf("float32", "float64", "float16") = "float32"
):
    r"""Optimiser state per parameter.

    Besides one gradient, SGD holds 1 number per parameter (the weight), momentum, AdaGrad and RMSProp hold 2, Adam 3
    and AMSGrad 4.

    $$\text{bytes} = (1 + \text{moments}) \cdot \text{parameters} \cdot \text{bytes per number}$$

    Check: The numbers are counted for a dense network of the digits' shape, from the shapes of each optimiser's state;
    nothing is allocated.
    """
    widths = [64, *[width] * depth, 10]
    numbers = jnp.dtype(precision)
    shape = jax.eval_shape(lambda k: eqx.filter(networks.MLP(widths, dtype=numbers, key=k), eqx.is_array), key)
    parameters = sum(a * b + b for a, b in pairwise(widths))
    rules = {
        "SGD": (optax.sgd(0.1), 1),
        "momentum": (optax.sgd(0.1, momentum=0.9), 2),
        "AdaGrad": (optimisation.adagrad(0.1), 2),
        "RMSProp": (optax.rmsprop(0.1), 2),
        "Adam": (optax.adam(0.1), 3),
        "AMSGrad": (optax.amsgrad(0.1), 4),
    }
    counted, values = {}, {}
    for name, (rule, copies) in rules.items():
        memory = optimiser_memory_of(rule, shape)
        counted[name] = memory.weights + memory.moments + memory.counters
        formula = copies * parameters * numbers.itemsize
        yield exactly(memory.weights + memory.moments, formula, f"{name}: bytes in arrays like the weights")
        yield at_most(memory.counters, 16, f"{name}: bytes of counters")
        values[f"{name}, × {copies}"] = {"formula": formula, "counted": counted[name]}
    sgd, most = (f"{counted[name] / 1e6:.2g} MB" for name in ("SGD", "AMSGrad"))
    title = f"{parameters:,} parameters: {sgd} with SGD, {most} with AMSGrad"
    yield figure.bars(title, "", "bytes for weights and state", values=values)


@eqx.filter_jit
def _sweep(problem, starts, batches, pairs, step):
    """(pairs, seeds): the loss at the end over all examples, and the largest step of a weight over η."""

    def run(pair, start, rows):
        rule = optimisation.tunable(optax.adam, learning_rate=step, b1=pair[0], b2=pair[1])
        end = stochastic.rule_run(problem, with_largest_step(rule), start, rows, every=rows.shape[0])
        return problem(end.last), end.opt_state.largest / step

    return jax.vmap(jax.vmap(run, (None, 0, 0)), (0, None, None))(pairs, starts, batches)


@claim(sources=("penn",), empirical=True)
def adam_beta2_sensitivity(key, wrong: Real(0.0, 0.4) = 0.2, step_size: Real(1e-3, 0.02, log=True) = 5e-3):
    r"""Sensitivity of Adam to β₂.

    The effect of Adam's β₂ on training a digits network with wrong labels is reported with intervals; no value wins
    everywhere. What is certain: a step is longer than 2η only where the bound on |m|/√v allows it.

    $$\max_t |\Delta w| / \eta \le \max_{t} B_t(\beta_1, \beta_2)$$

    Check: A 64-16-10 network is trained on 300 digits for 100 steps of batch size 32, with β₁ in {0.5, 0.9}, six
    values of β₂ and 5 seeds.
    """
    rng = data.generator(key)
    problem, seeds, steps = digit_sum(rng, 300, wrong), 5, 100
    starts = network_starts(rng, seeds)
    batches = jnp.asarray(rng.integers(300, size=(seeds, steps, 32)))
    firsts, seconds = (0.5, 0.9), (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
    pairs = np.array([(u, v) for u in firsts for v in seconds])
    swept = _sweep(problem, starts, batches, jnp.asarray(pairs), jnp.asarray(step_size))
    losses, longest = map(np.asarray, swept)
    bounds = np.array([max(optimisation.adam_step_bound(u, v, t) for t in range(1, steps + 1)) for u, v in pairs])
    yield at_most(longest.max(axis=1), bounds, "longest step / η in every run, against the bound", rtol=1e-3)
    unstable = longest.max(axis=1) > 2
    yield exactly(np.sum(unstable & (bounds < 2)), 0, "settings with a step over 2 η where the bound forbids it")
    yield at_least(losses, 0.0, "training losses at the end, which are finite")
    half = 2.776 * losses.std(axis=1, ddof=1) / np.sqrt(seeds)  # Student's 95 % for 5 seeds
    middle = losses.mean(axis=1)
    groups = {f"β₁ = {u:g}": pairs[:, 0] == u for u in firsts}
    best = pairs[int(np.argmin(middle))]
    short = {n: 1 - pairs[g, 1] for n, g in groups.items()}
    ends = {n: (short[n], middle[g], (middle - half)[g], (middle + half)[g]) for n, g in groups.items()}
    lines = {n: (short[n], bounds[g]) for n, g in groups.items()}
    points = {n: (short[n], longest[g].max(axis=1)) for n, g in groups.items()}
    loss, longest_step = "Loss after 100 steps, 95 % intervals of 5 seeds", "Longest step of a weight, and its bound"
    yield figure.beside(
        f"Best here is β₁ = {best[0]:g}, β₂ = {best[1]:g}; steps over 2 η in {unstable.sum()} of the "
        f"{(bounds > 2).sum()} settings whose bound allows them",
        figure.curves(loss, "1 − β₂", "training loss", points=ends, log="x"),
        figure.curves(longest_step, "1 − β₂", "step / η", lines=lines, points=points, log="xy"),
    )
