"""Which variables: subset selection, the lasso, and how much each variable matters."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, training
from leadline.evidence import Int, Real, claim, instrument, method
from leadline.evidence.relations import at_least, at_most, close, exactly, mean, reference, smaller
from leadline.learning.importance import drop_one_rise
from leadline.learning.regression.sparse import lasso_certificate
from leadline.presentation import figure


@method(sources=("penn",), shows=("learning.forward_selection", "learning.backward_selection", "learning.best_subsets"))
def subset_selection(
    key,
    samples: Int(40, 400) = 80,
    dim: Int(3, 11) = 8,
    correlation: Real(0.9, 0.99) = 0.98,
    blur: Real(0.2, 1.0) = 0.5,
):
    r"""Forward and backward subset selection.

    Forward selection adds the variable that lowers the residual sum of squares most, backward selection drops the one
    that raises it least. Neither beats trying all subsets, and forward steps can miss a pair that fits exactly.

    $$S_{k+1} = S_k \cup \{ j^* \}, \quad j^* = \operatorname{argmin}_j \mathrm{RSS}(S_k \cup \{j\})$$

    Assumes: n > d, for backward selection.

    Check: The first design is random and correlated. In the second, y = x₁ − x₂ with corr(x₁, x₂) = `correlation`,
    beside x₃ = y + noise.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim)) @ rng.normal(size=(dim, dim))
    y = x @ rng.normal(size=dim) + 2 * rng.normal(size=samples)
    paths = _all_paths(x, y)
    for name, path in paths.items():
        what, rounding = f"change of the residual sum with each variable, {name}", 1e-12 * path.residual[0]
        yield at_most(np.diff(path.residual), 0.0, what, atol=rounding)
        yield exactly(path.chosen.sum(axis=1), np.arange(dim + 1), f"variables chosen, {name}")
    best = paths["all subsets"].residual
    for name in ("forward", "backward"):
        yield at_least(paths[name].residual, best, f"residual sum, {name} against the best subset", rtol=1e-9)
    refit = [np.sum((y - learning.least_squares(x[:, c], y).predict(x[:, c])) ** 2) for c in paths["forward"].chosen]
    yield close(paths["forward"].residual, refit, "residual sums of the forward path against refits", rtol=1e-8)
    pair = rng.normal(size=(samples, 2)) @ np.linalg.cholesky([[1, correlation], [correlation, 1]]).T
    difference = pair[:, 0] - pair[:, 1]
    third = difference + blur * difference.std() * rng.normal(size=samples)
    trap = _all_paths(np.column_stack([pair, third]), difference)
    total = trap["forward"].residual[0]
    yield exactly(np.flatnonzero(trap["forward"].chosen[1]) + 1, [3], "first variable of the forward path: x₃")
    yield at_least(trap["forward"].residual[2] / total, 1e-6, "share of y missed by the forward pair", strict=True)
    yield exactly(np.flatnonzero(trap["backward"].chosen[2]) + 1, [1, 2], "pair of the backward path: x₁, x₂")
    yield at_most(trap["backward"].residual[2] / total, 1e-20, "share of y missed by the backward pair")
    inputs, targets, names = data.diabetes()
    real = _all_paths(inputs, targets)
    apart = np.sum(real["forward"].residual > real["all subsets"].residual * (1 + 1e-9))
    panels = []
    for title, found in (("y = x₁ − x₂ with a blurred copy x₃ of y", trap), ("diabetes data, ten variables", real)):
        shares = {name: path.residual / found["forward"].residual[0] for name, path in found.items()}
        curves = {name: (np.arange(len(share)), share) for name, share in shares.items()}
        lines = {"all subsets": curves.pop("all subsets")}
        panels.append(figure.curves(title, "variables", "residual sum / total", lines=lines, points=curves))
    missed = f"{trap['forward'].residual[2] / total:.0%} of an exactly linear y"
    title = f"Forward steps miss {missed}; on the diabetes data the best subset at {apart} of {len(names)} sizes"
    yield figure.beside(title, *panels)


@method(sources=("penn",))
def lasso(
    key,
    samples: Int(60, 400) = 100,
    dim: Int(2, 20) = 10,
    share: Real(0.01, 0.9, log=True) = 0.2,
    noise: Real(0.1, 5.0, log=True) = 1.0,
):
    r"""Lasso regression.

    The lasso penalises ∑|wⱼ| and sets weights to exactly 0: all of them for λ ≥ $\lambda_{\max} = \|X^\top y\|_\infty
    / n$; then they enter one by one as λ falls. With orthonormal columns it soft-thresholds least squares.

    $$\min_w \tfrac{1}{2n} \|y - Xw\|^2 + \lambda \|w\|_1, \qquad w = 0 \iff \lambda \ge \lambda_{\max} = \|X^\top
    y\|_\infty / n$$

    Assumes: centred targets (the intercept is not penalised).

    Check: The penalty is `share` times $\lambda_{\max}$. Coordinate descent is compared with proximal steps.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ (rng.normal(size=dim) * (np.arange(dim) < dim / 2)) + 2.0 + noise * rng.normal(size=samples)
    ceiling = learning.lasso_ceiling(x, y)
    yield exactly(
        learning.lasso(x, y, ceiling * (1 + 1e-9)).weights, 0.0, "lasso weights at a penalty just above λ_max"
    )
    below = learning.lasso(x, y, ceiling * (1 - 1e-6)).weights
    yield at_least(jnp.max(jnp.abs(below)), 0.0, "largest lasso weight at a penalty just below λ_max", strict=True)
    fit = learning.lasso(x, y, share * ceiling)
    plain = learning.least_squares(x, y).weights
    unpenalised = learning.lasso(x, y, 0.0).weights
    yield close(unpenalised, plain, "weights at λ = 0 against least squares", atol=1e-8 * ceiling)
    slow = learning.proximal_lasso(x, y, share * ceiling, num_steps=3000)
    size = jnp.max(jnp.abs(fit.weights))
    yield close(slow, fit.weights, "weights by proximal gradient against coordinate descent", atol=1e-8 * size)
    differ = jnp.sum((slow != 0) != (fit.weights != 0))
    yield exactly(differ, 0, "columns in one support only, proximal gradient and coordinate descent")
    centred = rng.normal(size=(samples, dim))
    q = np.linalg.qr(centred - centred.mean(axis=0))[0] * np.sqrt(samples)  # XᵀX/n = I, and columns sum to 0
    plain, largest = learning.least_squares(q, y).weights, learning.lasso_ceiling(q, y)
    cut = learning.soft_threshold(jnp.asarray(plain), share * largest)
    what = "weights with orthonormal columns against soft-thresholded least squares"
    yield close(learning.lasso(q, y, share * largest).weights, cut, what, atol=1e-9 * largest)
    inputs, targets, names = data.diabetes()
    top = float(learning.lasso_ceiling(inputs, targets))
    yield reference(top, 45.16, "λ_max of the diabetes data", digits=4)
    penalties = top * np.geomspace(1, 1e-3, 60)
    path = np.asarray(learning.lasso_path(inputs, targets, penalties).weights)
    entered = np.argmax(path != 0, axis=0)
    yield exactly(names[np.argmin(entered)], "bmi", "first variable to enter, diabetes data")
    count = np.sum(path[np.argmin(np.abs(penalties - top / 10))] != 0)
    title = f"Weights enter one by one below λ_max = {top:.2f}, first bmi; at λ_max/10 {count} of {len(names)}"
    lines = {names[j]: (penalties, path[:, j]) for j in np.argsort(entered)[:7]}
    yield figure.curves(title, "penalty λ", "weight, standardised inputs", log="x", lines=lines)


@claim(sources=("penn",))
def lasso_optimality(
    key,
    samples: Int(120, 400) = 150,
    noise: Real(0.2, 1.0) = 0.7,
    correlation: Real(0.97, 0.995) = 0.99,
    bootstraps: Int(50, 100) = 60,
):
    r"""Optimality conditions of the lasso.

    Weights solve the lasso iff every residual correlation is λ sign(w) on the support and at most λ in absolute value
    off it. This makes weights exactly 0, which subgradient steps miss; correlated columns destabilise the support.

    $$\tfrac1n X_j^\top r = \lambda \,\mathrm{sign}(w_j) \ (w_j \ne 0), \qquad \tfrac1n |X_j^\top r| \le \lambda \ (w_j
    = 0)$$

    Check: There are twelve columns of equal correlation, four of them with weight 1, and λ = 0.4.
    """
    rng = data.generator(key)
    dim, penalty, steps = 12, 0.4, 10_000
    truth = (np.arange(dim) < 4).astype(float)
    own, shared = rng.normal(size=(samples, dim)), rng.normal(size=(samples, 1))
    error = noise * rng.normal(size=samples)
    rows = np.vstack([np.arange(samples), rng.integers(0, samples, (bootstraps, samples))])  # the sample itself first

    def problem(rho):
        x = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own
        return jnp.asarray(x), jnp.asarray(x @ truth + error)

    many = jax.jit(jax.vmap(lambda x, y, r: learning.lasso(x[r], y[r], penalty).weights, in_axes=(None, None, 0)))
    levels = (0.0, 0.5, 0.9, correlation)
    overlap, frequency, proofs, solution = {}, {}, {}, {}
    for rho in levels:
        x, y = problem(rho)
        solution[rho], *drawn = np.asarray(many(x, y, rows))
        proofs[rho] = lasso_certificate(x, y, solution[rho], penalty)
        supports = np.array(drawn) != 0
        a, b = supports[0 : bootstraps // 2 * 2 : 2], supports[1::2]  # disjoint pairs: independent overlaps
        overlap[rho] = (a & b).sum(axis=1) / np.maximum((a | b).sum(axis=1), 1)
        frequency[rho] = supports.mean(axis=0)
    gaps, violations = [p.gap for p in proofs.values()], [p.violation for p in proofs.values()]
    yield at_most(violations, 1e-8, "violation of the optimality conditions, four correlations")
    yield at_most(gaps, 1e-8, "duality gap, four correlations")
    yield at_least(gaps, 0.0, "duality gap is not negative", atol=1e-12)
    what = f"overlap of supports in bootstraps, correlation {correlation:g} against 0"
    yield smaller(overlap[correlation], overlap[0.0], what).as_empirical()
    (x, y), best = problem(0.0), solution[0.0]
    proximal = learning.proximal_lasso(x, y, penalty, num_steps=steps)
    descended = _subgradient(x, y, penalty, steps)
    differ = np.sum((np.asarray(proximal) != 0) != (best != 0))
    yield exactly(differ, 0, f"columns in one support only, {steps} proximal steps and the solution")
    yield at_least(np.sum(best == 0), 1, "exact zeros of the solution")
    yield exactly(np.sum(descended == 0), 0, f"exact zeros after {steps} subgradient steps")
    perturbed = best + 0.01 * rng.normal(size=(20, dim))
    values = [lasso_certificate(x, y, w, penalty).objective for w in perturbed]
    yield at_least(values, proofs[0.0].objective, "objective at other weights, against the certified one", rtol=1e-12)
    index = np.arange(1, dim + 1)
    on, ends = best != 0, index[[0, -1]]
    correlations = np.asarray(proofs[0.0].correlations)
    lines = {"λ": (ends, [penalty] * 2), "−λ": (ends, [-penalty] * 2)}
    points = {"wⱼ ≠ 0": (index[on], correlations[on]), "wⱼ = 0": (index[~on], correlations[~on])}
    title = "uncorrelated columns: residual correlations"
    band = figure.curves(title, "column", "Xⱼᵀr / n", lines=lines, points=points)
    shares = {f"correlation {r:g}": dict(zip(index, frequency[r], strict=True)) for r in (0.0, correlation)}
    bars = figure.bars(f"share of {bootstraps} bootstraps that choose a column", "column", "share", values=shares)
    agree = f"with correlation {correlation:g} bootstraps agree on {overlap[correlation].mean():.0%} of the support"
    yield figure.beside(f"{on.sum()} correlations touch the band ±{penalty}, the others do not; {agree}", band, bars)


@instrument(sources=("penn",))
def variable_importance(
    key,
    samples: Int(150, 500) = 200,
    dim: Int(2, 6) = 5,
    noise: Real(0.1, 1.0, log=True) = 0.5,
    resamples: Int(50, 150) = 60,
):
    r"""Variable importance by refit and permutation.

    A variable's importance is the rise of the mean squared residual when it is left out and the model refitted, or
    when it is permuted. Variables that stand in for each other share it: of two copies neither seems to matter.

    $$I_j = \min_{w : w_j = 0} \tfrac1n \|y - Xw\|^2 - \min_w \tfrac1n \|y - Xw\|^2, \qquad \mathbb{E}_\pi I_j^\pi = 2
    w_j^2 \operatorname{Var}(x_j)$$

    Assumes: least squares, for the two closed forms.

    Check: Independent inputs have weights 1, 2, 4, …; then a copy of the strongest is added.
    """
    rng = data.generator(key)
    weights = 2.0 ** np.arange(dim)
    x = rng.normal(size=(samples, dim))
    y = x @ weights + noise * rng.normal(size=samples)
    fit = learning.least_squares(x, y)
    refit = learning.refit_importance(x, y)
    yield close(refit, drop_one_rise(x, y) / samples, "rise after a refit against its closed form", rtol=1e-9)
    yield exactly(np.argsort(refit), np.arange(dim), "ranking of variables by a refit, against |w|")
    shuffled = learning.permutation_importance(fit.predict, x, y, repeats=50, key=jax.random.fold_in(key, 1))
    yield exactly(np.argsort(shuffled.mean(axis=0)), np.arange(dim), "ranking by permutation, against |w|")
    predicted = 2 * fit.weights**2 * x.var(axis=0)
    for j in range(dim):
        yield mean(shuffled[:, j], predicted[j], f"rise by permutation of x{j + 1}, against 2w²Var(x)")
    copied = np.column_stack([x, x[:, -1]])
    doubled, single = (learning.variable_importance(z, y, resamples=10, key=key) for z in (copied, x))
    both = np.abs(doubled.value[[-2, -1]])
    yield at_most(both, 1e-12 * np.mean(y**2), "importance of both copies of the strongest variable")
    yield exactly(doubled.collinear, True, "copies flagged by the condition number")
    yield exactly(single.collinear, False, "independent inputs flagged by the condition number")
    inputs, targets, names = data.diabetes()
    found = learning.variable_importance(inputs, targets, resamples=resamples, key=jax.random.fold_in(key, 2))
    yield at_least(found.high, found.low, "upper end of the bootstrap interval against the lower")
    order = np.argsort(-found.value)
    total, most = targets.var(), order[0]
    shown = (("lower 2.5%", found.low), ("estimate", found.value), ("upper 2.5%", found.high))
    title = (
        f"Diabetes data: {names[most]} matters most, {found.value[most] / total:.1%} of the variance; "
        f"condition number {found.condition:.0f}"
    )
    values = {label: {names[j]: v[j] / total for j in order} for label, v in shown}
    yield figure.bars(title, "variable", "rise of the mean squared residual / variance of y", values=values)


@claim(sources=("penn",))
def drop_one_identity(
    key,
    samples: Int(30, 400) = 100,
    dim: Int(1, 20) = 8,
    noise: Real(0.01, 10.0, log=True) = 1.0,
    correlation: Real(0.0, 0.99) = 0.5,
    designs: Int(1, 20) = 5,
):
    r"""Residual rise from dropping one column.

    When a column leaves least squares and the rest is fitted again, the residual sum of squares rises by exactly wⱼ² /
    [(XᵀX)⁻¹]ⱼⱼ: no refit is needed to know it.

    $$\mathrm{RSS}_{-j} - \mathrm{RSS} = \frac{w_j^2}{[(X^\top X)^{-1}]_{jj}}$$

    Assumes: X has full column rank.
    """
    rng = data.generator(key)
    formula, refitted = [], []
    for _ in range(designs):
        common, own = rng.normal(size=(samples, 1)), rng.normal(size=(samples, dim))
        x = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
        y = x @ rng.normal(size=dim) + 1.0 + noise * rng.normal(size=samples)
        formula.append(drop_one_rise(x, y) / np.sum(y**2))
        refitted.append(samples * learning.refit_importance(x, y) / np.sum(y**2))
    # The refits' rise is a difference of two sums of squares: it is known to n ε times the sum of squares.
    yield close(refitted, formula, f"rise in {designs} random designs / Σy²", rtol=1e-9, atol=1e-13)
    inputs, targets, names = data.diabetes()
    predicted = drop_one_rise(inputs, targets)
    measured = len(targets) * learning.refit_importance(inputs, targets)
    yield close(measured, predicted, "rise on the diabetes data", rtol=1e-9, atol=1e-13 * (targets @ targets))
    both = np.array([predicted.min(), predicted.max()])
    worst = np.max(np.abs(measured / predicted - 1))
    title = f"All {len(names)} rises on the diabetes data lie on the diagonal, to {worst:.0e}"
    lines, points = {"equal": (both, both)}, {"variables of the diabetes data": (predicted, measured)}
    yield figure.curves(title, "wⱼ² / [(XᵀX)⁻¹]ⱼⱼ", "rise after a refit", log="xy", lines=lines, points=points)


def _all_paths(x, y):
    return {
        "forward": learning.forward_selection(x, y),
        "backward": learning.backward_selection(x, y),
        "all subsets": learning.best_subsets(x, y),
    }


def _subgradient(x, y, penalty, steps):
    """Subgradient steps of size 1/(10 + t) on the lasso's objective, centred, from 0."""
    import optax

    def objective(w, x, y):
        return jnp.mean((y - x @ w) ** 2) / 2 + penalty * jnp.sum(jnp.abs(w))

    rate = optax.sgd(lambda t: 1.0 / (10.0 + t))
    end, _ = training.minimise(objective, jnp.zeros(x.shape[1]), rate, steps, x - x.mean(axis=0), y - y.mean())
    return end
