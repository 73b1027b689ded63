"""Gradient descent and the condition number: the best fixed step, its factor, and the number of steps."""

import numpy as np

from leadline import data, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, reference, slope
from leadline.presentation import figure


@claim(sources=("penn",))
def gd_optimal_step_contraction(
    key,
    condition: Real(1.01, 1e5, log=True) = 10.0,
    dimension: Int(2, 40) = 5,
    convexity: Real(1e-3, 1e3, log=True) = 1.0,
):
    r"""Optimal fixed step of gradient descent.

    On quadratics the worst factor per step is max(|1 − ηm|, |1 − ηL|): a U-shaped function of η whose minimum, at η =
    2/(m + L), is (κ − 1)/(κ + 1) in distance and its square in squared distance.

    $$\min_\eta \max(|1 - \eta m|, |1 - \eta L|) = \frac{\kappa - 1}{\kappa + 1} \;\text{ at }\; \eta = \frac{2}{m +
    L}$$

    Assumes: a quadratic with curvatures from m to L.

    Check: Runs of 20 steps start from the eigenvectors of m and of L in a random basis, over 201 step sizes.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    bowl = optimisation.Quadratic(
        convexity * (basis * np.geomspace(1.0, condition, dimension)) @ basis.T, np.zeros(dimension)
    )
    m, smoothness = convexity, convexity * condition
    best, promised = 2 / (m + smoothness), (condition - 1) / (condition + 1)
    ends = basis[:, [0, -1]].T
    after = np.linalg.norm(ends - best * bowl.gradient(ends), axis=1)
    yield close(after, promised, "factor of a step 2/(m + L) from the eigenvectors of m and of L", atol=1e-12)
    yield close(after**2, promised**2, "factor of the squared distance in a step 2/(m + L)", atol=1e-12)
    sizes = np.sort(np.append(np.linspace(0, 2 / smoothness, 2001)[1:], best))
    worst = np.max(optimisation.growth_factor("gradient descent", sizes[:, None], np.array([m, smoothness])), axis=1)
    least = sizes[np.argmin(worst)] / best
    yield close(least, 1.0, "step size with the least worst factor, in units of 2/(m + L)", rtol=1e-12)
    yield at_least(worst, promised, "worst factor of 2001 step sizes against (κ − 1)/(κ + 1)", rtol=1e-12)
    few = np.linspace(0.05, 2.1, 21) / smoothness
    measured = [np.linalg.norm(ends - eta * bowl.gradient(ends), axis=1).max() for eta in few]
    direct = np.maximum(np.abs(1 - few * m), np.abs(1 - few * smoothness))
    what = "worst measured factor of 21 step sizes, against max(|1 − ηm|, |1 − ηL|)"
    yield close(measured, direct, what, atol=1e-12)
    title = f"The worst factor per step is a U with minimum {promised:.4g} at η = 2/(m + L) (κ = {condition:.3g})"
    lines = {"max(|1 − ηm|, |1 − ηL|)": (np.append(sizes * smoothness, 2.1), np.append(worst, 1.1))}
    points, rules = {"measured": (few * smoothness, measured)}, {"2/(m + L)": ("x", best * smoothness)}
    yield figure.curves(title, "ηL", "worst factor of the distance", lines=lines, points=points, rules=rules)


@claim(sources=("penn",))
def gd_exponential_form(key, condition: Real(2.0, 1e4, log=True) = 10.0, num_steps: Int(1, 1000) = 10):
    r"""Exponential form of the linear rate.

    At η = 2/(m + L) the distance is at most $e^{-2t/\kappa} R$, because log((κ + 1)/(κ − 1)) = 2 artanh(1/κ) ≥ 2/κ;
    $e^{-4t/\kappa}$ bounds the squared distance, not the distance.

    $$\|w^t - w^*\| \le \left(\frac{\kappa - 1}{\kappa + 1}\right)^t R \le e^{-2t/\kappa} R$$

    Assumes: l is m-strongly convex; l is L-smooth; η = 2/(m + L).

    Check: Runs on the quadratic (w₁² + κw₂²)/2 start from its two axes, and the limit of large κ is taken.
    """
    bowl, t = optimisation.spread_quadratic(2, condition), np.arange(1, num_steps + 1)
    run = optimisation.gradient_path(bowl.gradient, np.eye(2), 2 / (1 + condition), num_steps)
    distance = np.linalg.norm(run[1:], axis=-1).max(1)
    bound, squared = np.exp(-2 * t / condition), np.exp(-4 * t / condition)
    seen = distance > 1e-280
    right = at_most(distance[seen], bound[seen], "distance at each t against e^(−2t/κ)", rtol=1e-9)
    yield right
    yield at_most(distance[seen] ** 2, squared[seen], "squared distance at each t against e^(−4t/κ)", rtol=1e-9)
    kappas = np.geomspace(max(condition, 10.0), 1e4 * max(condition, 10.0), 5)
    ratio, what = 2 * np.arctanh(1 / kappas) / (2 / kappas), "log((κ + 1)/(κ − 1)) in units of 2/κ"
    yield at_least(ratio, 1.0, f"{what}, κ growing")
    yield close(ratio, 1 + 1 / (3 * kappas**2), f"{what}: 1 + 1/(3κ²) for large κ", atol=1 / kappas[0] ** 4)
    ten = optimisation.spread_quadratic(2, 10.0)
    tenth = optimisation.gradient_path(ten.gradient, np.array([1.0, 0.0]), 2 / 11, 10)[-1, 0]
    yield reference([tenth, np.exp(-2.0)], [0.13443, 0.13534], "distance and bound at κ = 10, t = 10", digits=5)
    wrong = at_most(distance[seen], squared[seen], "distance at each t against e^(−4t/κ)")
    yield erratum(wrong, of=right, by="penn", prints="‖wᵗ − w*‖ ≤ e^(−4t/κ) ‖w⁰ − w*‖")
    clear = seen & (bound > 1e-12)
    title = f"κ = {condition:.3g}: the distance is just under e^(−2t/κ), and above e^(−4t/κ)"
    lines = {"e^(−2t/κ)": (t[clear], bound[clear]), "e^(−4t/κ)": (t[clear], squared[clear])}
    points = {"measured, worst direction": (t[clear], distance[clear])}
    yield figure.curves(title, "t", "‖wᵗ − w*‖/R", lines=lines, points=points, log="y")


@claim(sources=("penn",))
def gd_iterations_vs_condition_number(
    key, accuracy: Real(1e-12, 1e-2, log=True) = 1e-8, most: Real(100.0, 2e4, log=True) = 1e4
):
    r"""Gradient descent needs order κ steps.

    To reach relative accuracy ε in distance on the worst quadratic, gradient descent takes log(1/ε)/log((κ + 1)/(κ −
    1)) ≤ (κ/2) log(1/ε) steps of size 2/(m + L), and about twice as many of size 1/L: the number is linear in κ.

    $$t_\varepsilon = \frac{\log(1/\varepsilon)}{\log\frac{\kappa + 1}{\kappa - 1}} \le \frac{\kappa}{2}
    \log\frac{1}{\varepsilon}$$

    Assumes: a quadratic with curvatures m and L; η = 2/(m + L).

    Check: The steps of runs on (w₁² + κw₂²)/2 from (1, 1) are counted for both step sizes, with κ from 10 to the
    parameter `most`.
    """
    kappas = np.geomspace(10.0, most, 7)
    counts = np.array([_count(2 / (1 + k), k, accuracy) for k in kappas])
    simple = np.array([_count(1 / k, k, accuracy) for k in kappas])
    fine = np.geomspace(10.0, most, 100)
    formula, smooth = (np.log(1 / accuracy) / np.log((k + 1) / (k - 1)) for k in (kappas, fine))
    yield close(counts, np.ceil(formula), "steps 2/(m + L) to the accuracy, against the formula", atol=1.0)
    yield at_most(counts, np.ceil(kappas / 2 * np.log(1 / accuracy)), "steps against (κ/2) log(1/ε), rounded up")
    yield slope(kappas, formula, 1.0, "exponent of κ in the number of steps", within=0.02)
    yield slope(kappas, counts, 1.0, "exponent of κ in the counted steps", within=0.02)
    yield close(simple / counts, 2.0, "steps of size 1/L for each of size 2/(m + L)", atol=0.12 + 4 / counts.min())
    yield at_least(np.diff(counts), 1, "growth of the number of steps from each κ to the next")
    title = f"Steps to distance {accuracy:.0e} R grow like κ: {counts[-1]} at κ = {most:.3g}, twice that with 1/L"
    lines = {"step 2/(m + L)": (fine, smooth), "step 1/L": (fine, np.log(1 / accuracy) / -np.log1p(-1 / fine))}
    points = {"step 2/(m + L)": (kappas, counts), "step 1/L": (kappas, simple)}
    yield figure.curves(title, "κ", "steps", lines=lines, points=points, log="xy")


def _count(step_size: float, condition: float, accuracy: float) -> int:
    """Steps until both coordinates of the worst quadratic are at most `accuracy` of their start."""
    a, b, t = 1.0, 1.0, 0
    while max(abs(a), abs(b)) > accuracy:
        a, b, t = a - step_size * a, b - step_size * condition * b, t + 1
    return t
