"""Memory: how far back a recurrent network sees, how far back it can learn, and what its gates do about it."""

from collections.abc import Iterator

import numpy as np

from leadline.evidence import Comparison, Figure, at_most, mean
from leadline.presentation import figure

from ..instrument_contract import EVERY_KIND, Instrument, Meaning, NotApplicable, plainly
from ..measurements.recurrent.memory_measures import Measured, measure_memory
from ..subject import Subject

SATURATED = 0.9  # of a layer's values beyond its limits: it hardly moves any more
SHORT = 0.25  # of the steps: a horizon below this is short


def refuses(subject: Subject) -> str:
    if subject.shared.loops.forward:
        return ""
    why = subject.shared.loops.why or "the loops of the network go backwards in time"
    if subject.kind != "sequence" or subject.positions is None or len(subject.positions) > 1:
        return why
    return ""


def compare(found: Measured, subject: Subject) -> Iterator[Comparison]:
    if found.overflow is not None:
        yield at_most(found.steps, found.overflow - 1, "steps of a sequence, those with a finite state")
        return
    if found.exponents:
        yield at_most(max(found.exponents), 0.0, "largest Lyapunov exponent, for gradients that do not explode")
    else:
        why = f"a loop was found whose state has few enough numbers ({found.why_no_loop or 'it has too many'})"
        yield NotApplicable("largest Lyapunov exponent", why).comparison()
    if found.slopes is not None and found.row_exponents is not None and len(found.slopes) > 1:
        usable = np.isfinite(found.slopes) & np.isfinite(found.row_exponents)
        if usable.sum() > 1:
            off = found.slopes[usable] - found.row_exponents[usable]
            what = "slope of the log gradient against the lag, less the largest exponent"
            yield mean(off, 0.0, what).as_empirical()
    gated = any(g.kind == "logistic" for g in found.gates.values())
    if gated and found.keeps is not None and found.slopes is not None:
        usable = np.isfinite(found.slopes) & np.isfinite(found.keeps)
        if usable.sum() > 1:
            what = "slope of the log gradient against the lag, less the decay of what the gates keep"
            yield mean((found.slopes - found.keeps)[usable], 0.0, what).as_empirical()
    else:
        yield NotApplicable("decay that the gates predict", "the loop has gates (logistic functions)").comparison()
    if found.gates:
        stuck, units = (sum(getattr(g, name) for g in found.gates.values()) for name in ("stuck", "units"))
        yield at_most(stuck / units, 0.1, "gates and units that are stuck at one end on every row and step")
    if {"accuracy", "gradient"} <= set(found.horizons):
        what = "steps that the accuracy needs, those that half of the gradient reaches"
        yield at_most(found.horizons["accuracy"], found.horizons["gradient"] + 1, what).as_empirical()


def draw(found: Measured, subject: Subject) -> Iterator[Figure]:
    points = {}
    if found.gradient is not None:
        points["gradient"] = (found.lags[1:], found.gradient[1:] - found.gradient[1])
    if found.influence is not None:
        first = found.influence[found.influence_lags == 1]
        if first.size:
            usable = found.influence_lags >= 1
            points["influence"] = (found.influence_lags[usable], found.influence[usable] - first[0])
    lines = {}
    if found.exponents:
        lines["largest exponent"] = (found.lags[1:], (found.lags[1:] - 1) * max(found.exponents))
    if points:
        said = ", ".join(f"{name} {steps}" for name, steps in found.horizons.items())
        yield figure.curves(
            f"Steps back: {said}",
            "lag",
            "log, relative to lag 1",
            points={name: _finite(curve) for name, curve in points.items()},
            lines=lines,
            rules={"half": ("y", float(np.log(0.5)))},
        )
    if found.context is not None:
        yield figure.curves(
            f"With its last {found.horizons['accuracy']} of {found.steps} steps the network has 95% of its accuracy",
            "own steps at the end",
            "accuracy of the last answer",
            points={"accuracy": (found.context_lags, found.context)},
            rules={"most frequent class": ("y", float(found.chance or 0.0))},
            log="x",
        )
    if found.shares:
        worst = max(found.shares, key=lambda name: float(found.shares[name].mean()))
        yield figure.curves(
            f"Saturated most: {worst}, {found.shares[worst].mean():.0%} of its values",
            "step",
            "share of saturated units",
            points={name: (np.arange(1, len(share) + 1), share) for name, share in found.shares.items()},
        )


def _finite(curve: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    lags, values = (np.asarray(part, float) for part in curve)
    return lags[np.isfinite(values)], values[np.isfinite(values)]


def interpret(found: Measured, subject: Subject) -> Meaning:
    if found.overflow is not None:
        return Meaning(
            f"The state of the network is no longer finite from step {found.overflow} of {found.steps} on.",
            0.95,
            "Scale the recurrent weights down, begin with orthogonal ones, or use gated units; clipping the gradient "
            "does not keep the state itself in range.",
            change=1.0,
            rests_on="steps of a sequence",
        )
    seen = ", ".join(f"{steps} by {name}" for name, steps in found.horizons.items()) or "not known"
    told = f"Of {found.steps} steps the horizon is {seen}"
    stuck = {name: g for name, g in found.gates.items() if g.stuck}
    shut = {name: g for name, g in found.gates.items() if g.low + g.high > SATURATED}
    top = max(found.exponents, default=None)
    if top is not None and top > 0.01:
        return Meaning(
            f"{told}; the largest Lyapunov exponent is {plainly(top)}: gradients grow by {np.expm1(top):.0%} a step.",
            0.7,
            "Clip gradients by norm, and begin with recurrent weights of a smaller gain or with orthogonal ones.",
            change=min(1.0, float(np.expm1(top))),
            rests_on="largest Lyapunov exponent",
        )
    if shut:
        name, gate = next(iter(shut.items()))
        return Meaning(
            f"{told}; {gate.low + gate.high:.0%} of the values of {name} are saturated, their mean slope is "
            f"{plainly(gate.slope)}.",
            0.6,
            "Gradients hardly pass these units: begin with a smaller gain or normalise what goes into them.",
            change=gate.low + gate.high,
        )
    reach = found.horizons.get("gradient", found.horizons.get("influence", found.steps))
    needed = found.horizons.get("accuracy")
    if reach < SHORT * found.steps:
        uses = "" if needed is None else f"; it needs {needed} steps for its accuracy"
        return Meaning(
            f"{told}: it sees only the recent past{uses}.",
            0.5 if needed is None or needed >= reach else 0.3,
            "If the task needs more, use gated or linear recurrent cells that start by keeping their state (a forget "
            "bias of 1, eigenvalues near 1).",
            change=1 - reach / found.steps,
        )
    more = f", and {sum(g.stuck for g in stuck.values())} gates or units never move" if stuck else ""
    return Meaning(f"{told}{more}; gradients reach most of the sequence.", 0.2)


INSTRUMENT = Instrument(
    name="memory",
    question="How far back does the network see, and how far back can it learn?",
    formula=r"\Big\| \frac{\partial l_T}{\partial z_{T-k}} \Big\|, \; \Big\| \frac{\partial \hat y_T}{\partial "
    r"x_{T-k}} \Big\| \sim e^{\lambda_1 k}, \qquad \lambda_1 = \lim_{T \to \infty} \tfrac1T \log \|J_T \cdots J_1\|",
    assumes=(
        "the network goes over its input in a loop (a scan) that carries its state",
        "the largest exponent is that of typical rows",
    ),
    measure=measure_memory,
    compare=compare,
    draw=draw,
    interpret=interpret,
    refuses=refuses,
    sources=("penn", "eth", "sheet"),
    entries=("memory-horizon", "jacobian-product-spectrum", "gate-and-unit-saturation", "vanishing-gradient-bound"),
    kinds=EVERY_KIND,
)
