"""Gradient descent and the condition number: the best fixed step, its factor, and the number of steps."""

from typing import Annotated

import numpy as np

from leadline import data, optimisation
from leadline.claims.optimisation import plain_problems
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed, slope


@claim(
    "gd-optimal-step-contraction",
    says=(
        "On quadratics the worst factor per step is max(|1 − ηm|, |1 − ηL|): a U in η whose minimum, at η = 2/(m + L), "
        "is (κ − 1)/(κ + 1) in distance and its square in squared distance."
    ),
    formula=(
        r"\min_\eta \max(|1 - \eta m|, |1 - \eta L|) = \frac{\kappa - 1}{\kappa + 1} "
        r"\;\text{ at }\; \eta = \frac{2}{m + L}"
    ),
    sources=("penn",),
    assumes=("quadratic with curvatures from m to L",),
)
def gd_optimal_step_contraction(
    key,
    condition: Annotated[float, Range(1.01, 1e5, log=True)] = 10.0,
    dimension: Annotated[int, Range(2, 40)] = 5,
    convexity: Annotated[float, Range(1e-3, 1e3, log=True)] = 1.0,
):
    """Runs of 20 steps from the eigenvectors of m and of L in a random basis, over 201 step sizes."""
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    bowl = plain_problems.quadratic(convexity * (basis * np.geomspace(1.0, condition, dimension)) @ basis.T)
    m, smoothness = convexity, convexity * condition
    best = 2 / (m + smoothness)
    promised = (condition - 1) / (condition + 1)
    ends = basis[:, [0, -1]].T
    after = np.linalg.norm(bowl.descent(ends, best, 1)[-1], axis=1)
    yield close(after, promised, "factor of a step 2/(m + L) from the eigenvectors of m and of L", atol=1e-12)
    yield close(after**2, promised**2, "factor of the squared distance", atol=1e-12)
    steps = np.linspace(0, 2 / smoothness, 2001)[1:]
    steps = np.sort(np.append(steps, best))
    worst = np.max(optimisation.growth_factor("gradient descent", steps[:, None], np.array([m, smoothness])), axis=1)
    yield close(
        steps[np.argmin(worst)] / best, 1.0, "step with the least worst factor, in units of 2/(m + L)", rtol=1e-12
    )
    yield at_least(worst, promised, "worst factor over 2001 steps", rtol=1e-12)
    shown = np.linspace(0.05, 2.1, 21) / smoothness
    measured = [np.linalg.norm(bowl.descent(ends, eta, 1)[-1], axis=1).max() for eta in shown]
    direct = np.maximum(np.abs(1 - shown * m), np.abs(1 - shown * smoothness))
    yield close(measured, direct, "worst measured factor over 21 steps, against max(|1 − ηm|, |1 − ηL|)", atol=1e-12)
    yield figure.curves(
        f"The worst factor per step is a U with minimum {promised:.4g} at η = 2/(m + L) (κ = {condition:.3g})",
        x="ηL",
        y="worst factor of the distance per step",
        lines={"max(|1 − ηm|, |1 − ηL|)": (np.append(steps, 2.1 / smoothness) * smoothness, np.append(worst, 1.1))},
        points={"measured": (shown * smoothness, np.array(measured))},
        rules={"2/(m + L)": ("x", best * smoothness)},
    )


@claim(
    "gd-exponential-form",
    says=(
        "At η = 2/(m + L) the distance is at most e^(−2t/κ)R, because log((κ + 1)/(κ − 1)) = 2 artanh(1/κ) ≥ 2/κ; "
        "e^(−4t/κ) bounds the squared distance, not the distance."
    ),
    formula=r"\|w^t - w^*\| \le \left(\frac{\kappa - 1}{\kappa + 1}\right)^t R \le e^{-2t/\kappa} R",
    sources=("penn",),
    assumes=("m-strongly convex", "L-smooth", "η = 2/(m + L)"),
)
def gd_exponential_form(
    key,
    condition: Annotated[float, Range(2.0, 1e4, log=True)] = 10.0,
    steps: Annotated[int, Range(1, 1000)] = 10,
):
    """The quadratic (w₁² + κw₂²)/2 from its two axes; and the limit of large κ."""
    bowl = plain_problems.quadratic(np.diag([1.0, condition]))
    t = np.arange(1, steps + 1)
    distance = np.linalg.norm(bowl.descent(np.eye(2), 2 / (1 + condition), steps)[1:], axis=-1).max(1)
    bound, squared = np.exp(-2 * t / condition), np.exp(-4 * t / condition)
    seen = distance > 1e-280
    yield at_most(distance[seen], bound[seen], "distance at each t against e^(−2t/κ)", rtol=1e-9)
    yield at_most(distance[seen] ** 2, squared[seen], "squared distance against e^(−4t/κ)", rtol=1e-9)
    kappas = np.geomspace(max(condition, 10.0), 1e4 * max(condition, 10.0), 5)
    ratio = 2 * np.arctanh(1 / kappas) / (2 / kappas)
    yield at_least(ratio, 1.0, "log((κ + 1)/(κ − 1)) in units of 2/κ, κ growing")
    yield close(ratio, 1 + 1 / (3 * kappas**2), "the same: 1 + 1/(3κ²) for large κ", atol=1 / kappas[0] ** 4)
    reference = plain_problems.quadratic(np.diag([1.0, 10.0])).descent(np.array([1.0, 0.0]), 2 / 11, 10)[-1, 0]
    yield close([reference, np.exp(-2.0)], [0.13443, 0.13534], "κ = 10, t = 10: measured and bound", atol=5e-6)
    wrong = at_most(distance[seen], squared[seen], "distance at each t against e^(−4t/κ)")
    yield printed(wrong, "penn", "‖wᵗ − w*‖ ≤ e^(−4t/κ) ‖w⁰ − w*‖")
    shown = seen & (bound > 1e-12)
    every = max(1, shown.sum() // 40)
    yield figure.curves(
        f"κ = {condition:.3g}: the distance is just under e^(−2t/κ), above the printed e^(−4t/κ)",
        x="t",
        y="‖wᵗ − w*‖/R",
        lines={"e^(−2t/κ)": (t[shown], bound[shown]), "printed: e^(−4t/κ)": (t[shown], squared[shown])},
        points={"measured, worst direction": (t[shown][::every], distance[shown][::every])},
        log="y",
    )


@claim(
    "gd-iterations-vs-condition-number",
    says=(
        "To relative accuracy ε in distance gradient descent takes log(1/ε)/log((κ + 1)/(κ − 1)) ≤ (κ/2) log(1/ε) "
        "steps of size 2/(m + L) on the worst quadratic, and about twice as many of size 1/L: linear in κ."
    ),
    formula=(
        r"t_\varepsilon = \frac{\log(1/\varepsilon)}{\log\frac{\kappa + 1}{\kappa - 1}} "
        r"\le \frac{\kappa}{2} \log\frac{1}{\varepsilon}"
    ),
    sources=("penn",),
    assumes=("quadratic with curvatures m and L", "η = 2/(m + L)"),
)
def gd_iterations_vs_condition_number(
    key,
    accuracy: Annotated[float, Range(1e-12, 1e-2, log=True)] = 1e-8,
    most: Annotated[float, Range(100.0, 2e4, log=True)] = 1e4,
):
    """The steps of runs on (w₁² + κw₂²)/2 from (1, 1) are counted, κ from 10 to `most`, for both step sizes."""
    kappas = np.geomspace(10.0, most, 7)
    counts = np.array([_count(2 / (1 + k), k, accuracy) for k in kappas])
    simple = np.array([_count(1 / k, k, accuracy) for k in kappas])
    formula = np.log(1 / accuracy) / np.log((kappas + 1) / (kappas - 1))
    yield close(counts, np.ceil(formula), "steps 2/(m + L) to the accuracy, against the formula", atol=1.0)
    yield at_most(counts, np.ceil(kappas / 2 * np.log(1 / accuracy)), "steps against (κ/2) log(1/ε), rounded up")
    yield slope(kappas, formula, 1.0, "exponent of κ in the number of steps", within=0.02)
    yield slope(kappas, counts, 1.0, "exponent of κ in the counted steps", within=0.02)
    yield close(simple / counts, 2.0, "steps of size 1/L for each of size 2/(m + L)", atol=0.12 + 4 / counts.min())
    yield exactly(bool(np.all(np.diff(counts) > 0)), True, "the count grows with κ")
    fine = np.geomspace(10.0, most, 100)
    yield figure.curves(
        f"Steps to distance {accuracy:.0e} R grow like κ: {counts[-1]} at κ = {most:.3g}, twice that with 1/L",
        x="κ",
        y="steps",
        lines={
            "step 2/(m + L)": (fine, np.log(1 / accuracy) / np.log((fine + 1) / (fine - 1))),
            "step 1/L": (fine, np.log(1 / accuracy) / -np.log1p(-1 / fine)),
        },
        points={"step 2/(m + L)": (kappas, counts), "step 1/L": (kappas, simple)},
        log="xy",
    )


def _count(step: float, condition: float, accuracy: float) -> int:
    """Steps until both coordinates of the worst quadratic are at most `accuracy` of their start."""
    a = b = 1.0
    t = 0
    while max(abs(a), abs(b)) > accuracy:
        a, b, t = a - step * a, b - step * condition * b, t + 1
    return t
