"""Adam and AMSGrad, each with the options that libraries differ in."""

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.adam_recursions import adam_path
from leadline.evidence import OneOf, Real, at_least, at_most, close, method, reference
from leadline.optimisation.bounds.step_bounds import spike_step
from leadline.presentation import figure


@method(sources=("eth", "sheet", "penn"))
def adam(
    key,
    b1: Real(0.0, 0.94) = 0.9,
    b2: Real(0.9, 0.9999) = 0.999,
    step_size: Real(0.001, 0.3, log=True) = 0.1,
    eps: Real(1e-10, 1e-4, log=True) = 1e-8,
):
    r"""Adam optimiser.

    Adam averages gradients and their squares, corrects both averages for their start at 0, and steps by their ratio;
    the first step is η sign(g). Without the correction the early steps are too long.

    $$w \leftarrow w - \eta\, \hat m / (\sqrt{\hat v} + \epsilon), \quad \hat m = m/(1-\beta_1^t), \quad \hat v =
    v/(1-\beta_2^t)$$

    Check: On x²/2 from 1, over 500 steps, Optax's rules and ours are compared, option by option, with the recursion
    written out in NumPy.
    """
    objective = optimisation.Quadratic(jnp.ones((1, 1)), jnp.zeros(1))
    numbers = {"learning_rate": step_size, "b1": b1, "b2": b2}
    tunable = optimisation.tunable
    forms = {
        "Adam": (tunable(optax.adam, eps=eps, eps_root=0.0, **numbers), {}),
        "ε inside the root": (tunable(optax.adam, eps=0.0, eps_root=eps, **numbers), {"inside": True}),
        "no correction": (tunable(optimisation.uncorrected_adam, eps=eps, **numbers), {"corrected": False}),
        "weight decay 0.1": (tunable(optax.adamw, eps=eps, weight_decay=0.1, **numbers), {"weight_decay": 0.1}),
    }
    paths = {}
    for name, (rule, options) in forms.items():
        run = optimisation.descend(objective, rule, jnp.ones(1), 500)
        paths[name] = np.asarray(run.points[:, 0])
        twin = adam_path(500, step_size, b1, b2, eps=eps, **options)
        nearby = adam_path(500, step_size, b1, b2, eps=eps, start=1 + 1e-14, **options)
        steady = np.max(np.abs(nearby - twin)) < 1e-11
        yield close(paths[name][:21], twin[:21], f"{name}: 20 steps, against the recursion", atol=1e-10)
        whole = close(paths[name], twin, f"{name}: 500 steps, against the recursion", atol=1e-10)
        yield whole.given(steady, "a run that does not magnify rounding (steps of ±η about the minimum can)")
    yield close(1 - paths["Adam"][1], step_size, "first step, against η sign(g)", rtol=2 * eps)
    first = step_size * spike_step(b1, b2)
    long, what = 1 - paths["no correction"][1], "first step without correction, against η(1 − β₁)/√(1 − β₂)"
    yield close(long, first / (1 + eps / np.sqrt(1 - b2)), what, rtol=1e-9)
    if (b1, b2, step_size, eps) == (0.9, 0.999, 0.1, 1e-8):
        yield reference(paths["Adam"][[1, 2, 3]], [0.9, 0.800412, 0.701586], "Adam: x after 1, 2, 3 steps", digits=6)
        yield reference(paths["Adam"][500], -4.16e-12, "Adam: x after 500 steps", digits=3)
    times, title = np.arange(1, 61), f"Without correction the first step is {first / step_size:.2f} η, with it η"
    points = {n: (times, np.abs(np.diff(paths[n][:61])) / step_size) for n in ("Adam", "no correction")}
    yield figure.curves(title, "step", "length of the step / η", lines={"η": (times, np.ones(60))}, points=points)


@method(sources=("sheet",))
def amsgrad(
    key,
    order: OneOf("maximum of corrected", "corrected maximum", "no correction") = "maximum of corrected",
    b1: Real(0.0, 0.95) = 0.9,
    b2: Real(0.9, 0.9999) = 0.99,
    growth: Real(1.005, 1.05) = 1.02,
):
    r"""AMSGrad optimiser.

    AMSGrad divides by the largest second moment so far: it is Adam while that moment grows, and keeps the small steps
    when it falls. Libraries differ in whether they correct the bias before or after taking the maximum.

    $$\bar v_t = \max(\bar v_{t-1}, v_t), \qquad w \leftarrow w - \eta\, m / (\sqrt{\bar v} + \epsilon)$$

    Assumes: for its guarantee: convex online losses, a bounded domain and decaying η.

    Check: Gradients of random sign that grow for 150 steps and then shrink for 150 are given to Adam and to AMSGrad.
    """
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
    longest = np.abs(plain[half:])
    yield at_most(np.abs(held[half:]), longest, "steps while the gradients shrink, against Adam's", rtol=1e-9)
    adams = raw if order == "no correction" else corrected
    lines = {"Adam, √v": (times, np.sqrt(adams)), f"AMSGrad, {order}": (times, np.sqrt(moments[order]))}
    points = {f"AMSGrad, {order}": (times[::10], denominators[::10])}
    axis, ratio = f"step (the gradients shrink from step {half} on)", np.sqrt(moments[order][-1] / adams[-1])
    title = f"AMSGrad's denominator stays, {ratio:.2g} times Adam's at the end"
    yield figure.curves(title, axis, "denominator", lines=lines, points=points, log="y")


def _reddi(learning_rate, b1, b2, eps) -> optax.GradientTransformation:
    moments = optax.scale_by_amsgrad(b1, b2, eps, bias_correction_mu=False, bias_correction_nu=False)
    return optax.chain(moments, optax.scale_by_learning_rate(learning_rate))
