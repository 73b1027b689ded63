"""Adam and AMSGrad, each with the options that libraries differ in."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.claims.optimisation.adam_recursions import adam_path
from leadline.evidence import Choice, Range, at_least, at_most, close, exactly, figure, method


@method(
    "adam",
    says=(
        "Adam averages gradients and their squares, corrects both averages for their start at 0, and steps by their "
        "ratio; the first step is η sign(g). Without the correction the early steps are too long."
    ),
    formula=r"w \leftarrow w - \eta\, \hat m / (\sqrt{\hat v} + \epsilon), \quad \hat m = m/(1-\beta_1^t), \quad "
    r"\hat v = v/(1-\beta_2^t)",
    sources=("eth", "sheet", "penn"),
    shows=("optimisation.uncorrected_adam", "optimisation.descend"),
)
def adam(
    key,
    b1: Annotated[float, Range(0.0, 0.94)] = 0.9,
    b2: Annotated[float, Range(0.9, 0.9999)] = 0.999,
    step: Annotated[float, Range(0.001, 0.3, log=True)] = 0.1,
    eps: Annotated[float, Range(1e-10, 1e-4, log=True)] = 1e-8,
):
    """x²/2 from 1, 500 steps: Optax's rules and ours against the recursion written out in NumPy, option by option."""
    objective = optimisation.Quadratic(jnp.ones((1, 1)), jnp.zeros(1))
    numbers = {"learning_rate": step, "b1": b1, "b2": b2}
    forms = {
        "Adam": (optimisation.tunable(optax.adam, eps=eps, eps_root=0.0, **numbers), {"eps": eps}),
        "ε inside the root": (
            optimisation.tunable(optax.adam, eps=0.0, eps_root=eps, **numbers), {"eps": eps, "inside": True},
        ),
        "no correction": (
            optimisation.tunable(optimisation.uncorrected_adam, eps=eps, **numbers), {"eps": eps, "corrected": False},
        ),
        "decoupled weight decay 0.1": (
            optimisation.tunable(optax.adamw, eps=eps, weight_decay=0.1, **numbers), {"eps": eps, "weight_decay": 0.1},
        ),
    }  # fmt: skip
    paths = {}
    for name, (rule, options) in forms.items():
        run = optimisation.descend(objective, rule, jnp.ones(1), 500)
        paths[name] = np.asarray(run.points[:, 0])
        twin = adam_path(500, step, b1, b2, **options)
        nearby = adam_path(500, step, b1, b2, start=1 + 1e-14, **options)
        steady = np.max(np.abs(nearby - twin)) < 1e-11
        yield close(paths[name][:21], twin[:21], f"{name}: 20 steps, against the recursion", atol=1e-10)
        yield close(paths[name], twin, f"{name}: 500 steps, against the recursion", atol=1e-10).given(
            steady, "a run that does not magnify rounding (steps of ±η about the minimum can)"
        )
    yield close(1 - paths["Adam"][1], step, "first step, against η sign(g)", rtol=2 * eps)
    first = step * optimisation.spike_step(b1, b2)
    yield close(
        1 - paths["no correction"][1],
        first / (1 + eps / np.sqrt(1 - b2)),
        "first step without correction, against η(1 − β₁)/√(1 − β₂)",
        rtol=1e-9,
    )
    usual = (b1, b2, step, eps) == (0.9, 0.999, 0.1, 1e-8)
    known = close(paths["Adam"][[1, 2, 3]], [0.9, 0.800412, 0.701586], "x after 1, 2, 3 steps", atol=5e-7)
    yield known.given(usual, "the usual numbers")
    yield close(paths["Adam"][500], -4.16e-12, "x after 500 steps", rtol=2e-3).given(usual, "the usual numbers")
    times = np.arange(1, 61)
    yield figure.curves(
        f"Without correction the first step is {first / step:.2f} η, with it η",
        x="step",
        y="length of the step / η",
        lines={"η": (times, np.ones(60))},
        points={n: (times, np.abs(np.diff(paths[n][:61])) / step) for n in ("Adam", "no correction")},
    )


@method(
    "amsgrad",
    says=(
        "AMSGrad divides by the largest second moment so far: it is Adam while that moment grows, and keeps the small "
        "steps when it falls. Libraries differ in whether they correct before or after the maximum."
    ),
    formula=r"\bar v_t = \max(\bar v_{t-1}, v_t), \qquad w \leftarrow w - \eta\, m / (\sqrt{\bar v} + \epsilon)",
    sources=("sheet",),
    assumes=("its guarantee: convex online losses, bounded domain, η decaying",),
    shows=("optimisation.amsgrad_of_raw_maximum",),
)
def amsgrad(
    key,
    order: Annotated[
        str, Choice("maximum of corrected", "corrected maximum", "no correction")
    ] = "maximum of corrected",
    b1: Annotated[float, Range(0.0, 0.95)] = 0.9,
    b2: Annotated[float, Range(0.9, 0.9999)] = 0.99,
    growth: Annotated[float, Range(1.005, 1.05)] = 1.02,
):
    """Gradients of random sign that grow for 150 steps and then shrink for 150, given to Adam and to AMSGrad."""
    rng = data.generator(key)
    half = 150
    sizes = growth ** np.concatenate([np.arange(half), half - np.arange(half)])
    gradients = sizes * rng.choice([-1.0, 1.0], 2 * half)
    column = jnp.asarray(gradients)[:, None]
    numbers = {"learning_rate": 1.0, "b1": b1, "b2": b2, "eps": 1e-8}
    adam_rule = optimisation.uncorrected_adam if order == "no correction" else optax.adam
    rules = {
        "maximum of corrected": optax.amsgrad,
        "corrected maximum": optimisation.amsgrad_of_raw_maximum,
        "no correction": _reddi,
    }
    plain = np.asarray(optimisation.respond(optimisation.tunable(adam_rule, **numbers), column))[:, 0]
    held = np.asarray(optimisation.respond(optimisation.tunable(rules[order], **numbers), column))[:, 0]

    times = np.arange(1, 2 * half + 1)
    raw = optimisation.running_squares(gradients[:, None], b2)[:, 0]
    corrected = raw / (1 - b2**times)
    moments = {
        "maximum of corrected": np.maximum.accumulate(corrected),
        "corrected maximum": np.maximum.accumulate(raw) / (1 - b2**times),
        "no correction": np.maximum.accumulate(raw),
    }
    averaged = np.convolve(gradients, (1 - b1) * b1 ** np.arange(2 * half))[: 2 * half]
    averaged = averaged if order == "no correction" else averaged / (1 - b1**times)
    yield close(held, -averaged / (np.sqrt(moments[order]) + 1e-8), "steps, against m/(√v̄ + ε)", atol=1e-8)
    yield close(held[:half], plain[:half], "steps while the gradients grow, against Adam's", atol=1e-10)
    seen = np.abs(averaged) > 1e-6
    denominators = np.where(seen, -averaged / np.where(held == 0, 1, held), np.sqrt(moments[order]))
    falls = np.maximum(-np.diff(denominators) / denominators[1:], 0)
    if order == "corrected maximum":
        yield at_least(falls.max(), 0.0, "largest fall of the denominator: it can fall, as 1 − β₂ᵗ rises", strict=True)
    else:
        yield at_most(falls, 0.0, "falls of the denominator", atol=1e-8)
    later = np.abs(held[half:]) <= np.abs(plain[half:]) * (1 + 1e-9)
    yield exactly(bool(later.all()), True, "no step longer than Adam's while the gradients shrink")
    drop = np.sqrt(moments[order][-1] / (raw if order == "no correction" else corrected)[-1])
    yield figure.curves(
        f"AMSGrad's denominator stays, {drop:.2g} times Adam's at the end",
        x=f"step (the gradients shrink from step {half} on)",
        y="denominator",
        lines={
            "Adam, √v": (times, np.sqrt(raw if order == "no correction" else corrected)),
            f"AMSGrad, {order}": (times, np.sqrt(moments[order])),
        },
        points={f"AMSGrad, {order}": (times[::10], denominators[::10])},
        log="y",
    )


def _reddi(learning_rate, b1, b2, eps) -> optax.GradientTransformation:
    moments = optax.scale_by_amsgrad(b1, b2, eps, bias_correction_mu=False, bias_correction_nu=False)
    return optax.chain(moments, optax.scale_by_learning_rate(learning_rate))
