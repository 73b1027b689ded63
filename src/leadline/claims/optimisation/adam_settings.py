"""Where Adam fails, what it costs in memory, and how much its β₂ matters."""

from itertools import pairwise
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, optimisation, stochastic
from leadline.claims.optimisation.small_digit_network import digit_sum, network_starts
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure


@claim(
    "adam-counterexample-amsgrad",
    says=(
        "Losses C x, −x, −x in turn on [−1, 1], C > 2: the best point is −1, but Adam with a short second moment goes "
        "to +1, with an average regret that stays at 2(C − 2)/3. AMSGrad, or a long second moment, goes to −1."
    ),
    formula=r"f_t(x) = C x \ (t \equiv 1 \bmod 3), \ -x \text{ else}; \qquad \beta_2 = 1/(1 + C^2), \ "
    r"\eta_t = \eta/\sqrt t",
    sources=("sheet", "penn"),
    assumes=("C > 2", "β₁ = 0"),
)
def adam_counterexample_amsgrad(
    key,
    large: Annotated[float, Range(2.5, 10.0)] = 3.0,
    step: Annotated[float, Range(0.3, 0.85)] = 0.5,
    long: Annotated[float, Range(0.99, 0.9999)] = 0.999,
):
    """3·10⁵ steps from 0."""
    steps = 300_000
    slopes = optimisation.drifting_slopes(steps, large)
    short = 1 / (1 + large**2)
    rules = {
        "Adam": optimisation.online_adaptive(step, short, maximum=False),
        "AMSGrad": optimisation.online_adaptive(step, short, maximum=True),
        f"Adam, β₂ = {long:g}": optimisation.online_adaptive(step, long, maximum=False),
    }
    paths = {name: np.asarray(optimisation.play_online(rule, jnp.asarray(slopes))) for name, rule in rules.items()}
    regrets = {name: optimisation.average_regret(path, slopes) for name, path in paths.items()}
    yield at_least(paths["Adam"][-3:], 0.9, "Adam: x at the end, near the worst point +1")
    stuck = 2 * (large - 2) / 3
    yield close(regrets["Adam"][-1], stuck, "Adam: average regret, against 2(C − 2)/3", rtol=0.05)
    for name in ("AMSGrad", f"Adam, β₂ = {long:g}"):
        yield at_most(paths[name][-3:], -0.9, f"{name}: x at the end, near the best point −1")
        yield at_most(regrets[name][-1], 0.05 * stuck, f"{name}: average regret")
    usual = (large, step) == (3.0, 0.5)
    yield close(regrets["Adam"][-1], 0.667, "Adam: average regret at C = 3", atol=1e-3).given(usual, "C = 3, η = 0.5")
    yield close(regrets["AMSGrad"][-1], 0.0011, "AMSGrad: average regret at C = 3", atol=1e-4).given(
        usual, "C = 3, η = 0.5"
    )
    picked = np.unique(np.geomspace(1, steps, 150).astype(int)) - 1
    yield figure.beside(
        f"Adam drifts to the worst point, {paths['Adam'][-1]:+.2f}, AMSGrad to the best, {paths['AMSGrad'][-1]:+.3f}",
        figure.curves(
            "The iterate",
            x="step", y="x", lines={n: (picked + 1, p[picked]) for n, p in paths.items()}, log="x",
        ),
        figure.curves(
            f"Average regret: {regrets['Adam'][-1]:.3f} and {regrets['AMSGrad'][-1]:.4f}",
            x="step", y="average regret", lines={n: (picked + 1, r[picked]) for n, r in regrets.items()}, log="xy",
        ),
    )  # fmt: skip


@claim(
    "optimiser-memory",
    says=(
        "Besides one gradient, SGD holds 1 number a parameter (the weight), momentum, AdaGrad and RMSProp 2, Adam 3 "
        "and AMSGrad 4."
    ),
    formula=r"\text{bytes} = (1 + \text{moments}) \cdot \text{parameters} \cdot \text{bytes per number}",
    sources=("penn",),
)
def optimiser_memory(
    key,
    width: Annotated[int, Range(2, 2000)] = 128,
    depth: Annotated[int, Range(1, 6)] = 2,
    precision: Annotated[str, Choice("float32", "float64", "float16")] = "float32",
):
    """A dense network of the digits' shape; the shapes of each rule's state, nothing allocated."""
    widths = [64, *[width] * depth, 10]
    shape = jax.eval_shape(
        lambda k: eqx.filter(networks.MLP(widths, dtype=jnp.dtype(precision), key=k), eqx.is_array), key
    )
    parameters = sum(a * b + b for a, b in pairwise(widths))
    rules = {
        "SGD": (optax.sgd(0.1), 1),
        "momentum": (optax.sgd(0.1, momentum=0.9), 2),
        "AdaGrad": (optimisation.adagrad(0.1), 2),
        "RMSProp": (optax.rmsprop(0.1), 2),
        "Adam": (optax.adam(0.1), 3),
        "AMSGrad": (optax.amsgrad(0.1), 4),
    }
    size = jnp.dtype(precision).itemsize
    counted = {}
    for name, (rule, copies) in rules.items():
        memory = optimisation.optimiser_memory_of(rule, shape)
        counted[name] = memory.weights + memory.moments + memory.counters
        yield exactly(
            memory.weights + memory.moments, copies * parameters * size, f"{name}: bytes in arrays like the weights"
        )
        yield at_most(memory.counters, 16, f"{name}: bytes of counters")
    yield figure.bars(
        f"{parameters:,} parameters: {counted['SGD'] / 1e6:.2g} MB with SGD, "
        f"{counted['AMSGrad'] / 1e6:.2g} MB with AMSGrad",
        x="",
        y="bytes for weights and state",
        values={
            f"{n}, × {c}": {"formula": c * parameters * size, "counted": counted[n]} for n, (_, c) in rules.items()
        },
    )


@eqx.filter_jit
def _sweep(problem, starts, batches, pairs, step):
    """(pairs, seeds): the loss at the end over all examples, and the largest step of a weight over η."""

    def run(pair, start, rows):
        rule = optimisation.tunable(optax.adam, learning_rate=step, b1=pair[0], b2=pair[1])
        end = stochastic.rule_run(problem, optimisation.with_largest_step(rule), start, rows, every=rows.shape[0])
        return problem(end.last), end.memory.largest / step

    return jax.vmap(jax.vmap(run, (None, 0, 0)), (0, None, None))(pairs, starts, batches)


@claim(
    "adam-beta2-sensitivity",
    says=(
        "How Adam's β₂ changes training of a digits network with wrong labels, reported with intervals; no value wins "
        "everywhere. What is certain: a step is longer than 2 η only where the bound on |m|/√v allows it."
    ),
    formula=r"\max_t |\Delta w| / \eta \le \max_{t} B_t(\beta_1, \beta_2)",
    sources=("penn",),
    empirical=True,
)
def adam_beta2_sensitivity(
    key,
    wrong: Annotated[float, Range(0.0, 0.4)] = 0.2,
    step: Annotated[float, Range(1e-3, 0.02, log=True)] = 5e-3,
):
    """300 digits, a network 64-16-10, 100 steps of batch 32; β₁ in {0.5, 0.9} × six values of β₂ × 5 seeds."""
    rng = data.generator(key)
    problem = digit_sum(rng, 300, wrong)
    seeds, steps = 5, 100
    starts = network_starts(rng, seeds)
    batches = jnp.asarray(rng.integers(300, size=(seeds, steps, 32)))
    firsts, seconds = (0.5, 0.9), (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
    pairs = np.array([(u, v) for u in firsts for v in seconds])
    losses, longest = (np.asarray(a) for a in _sweep(problem, starts, batches, jnp.asarray(pairs), jnp.asarray(step)))
    bounds = np.array([max(optimisation.adam_step_bound(u, v, t) for t in range(1, steps + 1)) for u, v in pairs])
    yield at_most(longest.max(axis=1), bounds, "longest step / η in every run, against the bound", rtol=1e-3)
    unstable = longest.max(axis=1) > 2
    yield exactly(int(np.sum(unstable & (bounds < 2))), 0, "settings with a step over 2 η where the bound forbids it")
    yield at_least(losses, 0.0, "losses at the end: finite")
    half = 2.776 * losses.std(axis=1, ddof=1) / np.sqrt(seeds)  # Student's 95 % for 5 seeds
    middle = losses.mean(axis=1)
    groups = {f"β₁ = {u:g}": pairs[:, 0] == u for u in firsts}
    best = pairs[int(np.argmin(middle))]
    yield figure.beside(
        f"Best here is β₁ = {best[0]:g}, β₂ = {best[1]:g}; steps over 2 η in {int(unstable.sum())} of the "
        f"{int((bounds > 2).sum())} settings whose bound allows them",
        figure.curves(
            "Loss after 100 steps, 95 % intervals of 5 seeds",
            x="1 − β₂", y="training loss", log="x",
            points={n: (1 - pairs[g, 1], middle[g], (middle - half)[g], (middle + half)[g]) for n, g in groups.items()},
        ),
        figure.curves(
            "Longest step of a weight, and its bound",
            x="1 − β₂", y="step / η", log="xy",
            lines={n: (1 - pairs[g, 1], bounds[g]) for n, g in groups.items()},
            points={n: (1 - pairs[g, 1], longest[g].max(axis=1)) for n, g in groups.items()},
        ),
    )  # fmt: skip
