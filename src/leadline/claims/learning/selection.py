"""Which variables: subset selection, the lasso, and how much each variable matters."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, training
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    instrument,
    mean,
    method,
    smaller,
)  # fmt: skip


@method(
    "subset-selection",
    says=(
        "Forward selection adds the variable that lowers the residual sum most, backward selection drops the one that "
        "raises it least. Neither beats trying all subsets, and forward steps can miss a pair that is exact."
    ),
    formula=r"S_{k+1} = S_k \cup \{ j^* \}, \quad j^* = \operatorname{argmin}_j \mathrm{RSS}(S_k \cup \{j\})",
    sources=("penn",),
    assumes=("n > d, for backward selection",),
    shows=(
        "learning.forward_selection",
        "learning.backward_selection",
        "learning.best_subsets",
        "learning.SubsetPath",
    ),
)
def subset_selection(
    key,
    samples: Annotated[int, Range(40, 400)] = 80,
    dim: Annotated[int, Range(3, 11)] = 8,
    correlation: Annotated[float, Range(0.9, 0.99)] = 0.98,
    blur: Annotated[float, Range(0.2, 1.0)] = 0.5,
):
    """A correlated random design; then y = x₁ − x₂ with corr(x₁, x₂) = `correlation` beside x₃ = y + noise."""
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim)) @ rng.normal(size=(dim, dim))
    y = x @ rng.normal(size=dim) + 2 * rng.normal(size=samples)
    paths = _all_paths(x, y)
    for name, path in paths.items():
        yield at_most(
            np.diff(path.residual), 0.0, f"change of the residual sum with each variable, {name}",
            atol=1e-12 * path.residual[0],
        )  # fmt: skip
        yield exactly(path.chosen.sum(axis=1), np.arange(dim + 1), f"variables chosen, {name}")
    for name in ("forward", "backward"):
        yield at_least(
            paths[name].residual,
            paths["all subsets"].residual,
            f"residual sum, {name} against the best subset",
            rtol=1e-9,
        )
    refit = [np.sum((y - learning.least_squares(x[:, c], y).predict(x[:, c])) ** 2) for c in paths["forward"].chosen]
    yield close(paths["forward"].residual, refit, "residual sums of the forward path against refits", rtol=1e-8)

    pair = rng.normal(size=(samples, 2)) @ np.linalg.cholesky([[1, correlation], [correlation, 1]]).T
    difference = pair[:, 0] - pair[:, 1]
    third = difference + blur * difference.std() * rng.normal(size=samples)
    trap = _all_paths(np.column_stack([pair, third]), difference)
    total = trap["forward"].residual[0]
    yield exactly(trap["forward"].chosen[1], [False, False, True], "first variable of the forward path: x₃")
    yield at_least(trap["forward"].residual[2] / total, 1e-6, "share of y missed by the forward pair", strict=True)
    yield exactly(trap["backward"].chosen[2], [True, True, False], "pair of the backward path: x₁, x₂")
    yield at_most(trap["backward"].residual[2] / total, 1e-20, "share of y missed by the backward pair")

    inputs, targets, names = data.diabetes()
    real = _all_paths(inputs, targets)
    sizes = np.arange(len(names) + 1)
    apart = [k for k in sizes if real["forward"].residual[k] > real["all subsets"].residual[k] * (1 + 1e-9)]
    yield figure.beside(
        f"Forward steps miss {trap['forward'].residual[2] / total:.0%} of an exactly linear y; on the diabetes data "
        f"they miss the best subset at {len(apart)} of 10 sizes",
        figure.curves(
            "y = x₁ − x₂ with a blurred copy x₃ of y", x="variables", y="residual sum / total",
            lines={"all subsets": (np.arange(4), trap["all subsets"].residual / total)},
            points={name: (np.arange(4), trap[name].residual / total) for name in ("forward", "backward")},
        ),
        figure.curves(
            "diabetes data, ten variables", x="variables", y="residual sum / total",
            lines={"all subsets": (sizes, real["all subsets"].residual / real["forward"].residual[0])},
            points={
                name: (sizes, real[name].residual / real["forward"].residual[0]) for name in ("forward", "backward")
            },
        ),
    )  # fmt: skip


@method(
    "lasso",
    says=(
        "The lasso penalises Σ|w| and sets weights to exactly 0: all of them from λ_max = ‖Xᵀy‖∞/n on, then they enter "
        "one by one as λ falls. With orthonormal columns it soft-thresholds least squares."
    ),
    formula=(
        r"\min_w \tfrac{1}{2n} \|y - Xw\|^2 + \lambda \|w\|_1, \qquad w = 0 \iff \lambda \ge \lambda_{\max} = "
        r"\|X^\top y\|_\infty / n"
    ),
    sources=("penn",),
    assumes=("centred targets (the intercept is not penalised)",),
    shows=(
        "learning.lasso",
        "learning.LassoFit",
        "learning.lasso_path",
        "learning.lasso_ceiling",
        "learning.proximal_lasso",
        "learning.soft_threshold",
    ),
)
def lasso(
    key,
    samples: Annotated[int, Range(60, 400)] = 100,
    dim: Annotated[int, Range(2, 20)] = 10,
    share: Annotated[float, Range(0.01, 0.9, log=True)] = 0.2,
    noise: Annotated[float, Range(0.1, 5.0, log=True)] = 1.0,
):
    """The penalty is `share` times λ_max; coordinate descent against proximal gradient steps and closed forms."""
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ (rng.normal(size=dim) * (np.arange(dim) < dim / 2)) + 2.0 + noise * rng.normal(size=samples)
    ceiling = float(learning.lasso_ceiling(x, y))
    yield exactly(learning.lasso(x, y, ceiling * (1 + 1e-9)).weights, 0.0, "weights just above λ_max")
    below = learning.lasso(x, y, ceiling * (1 - 1e-6)).weights
    yield at_least(jnp.max(jnp.abs(below)), 0.0, "largest weight just below λ_max", strict=True)
    fit = learning.lasso(x, y, share * ceiling)
    ordinary = learning.least_squares(x, y).weights
    yield close(
        learning.lasso(x, y, 0.0).weights, ordinary, "weights at λ = 0 against least squares", atol=1e-8 * ceiling
    )
    slow = learning.proximal_lasso(x, y, share * ceiling, steps=3000)
    size = float(jnp.max(jnp.abs(fit.weights)))
    yield close(slow, fit.weights, "weights by proximal gradient against coordinate descent", atol=1e-8 * size)
    yield exactly(slow != 0, fit.weights != 0, "support by proximal gradient against coordinate descent")

    centred = rng.normal(size=(samples, dim))
    q = np.linalg.qr(centred - centred.mean(axis=0))[0] * np.sqrt(samples)  # XᵀX/n = I, and columns sum to 0
    plain = learning.least_squares(q, y).weights
    largest = float(learning.lasso_ceiling(q, y))
    yield close(
        learning.lasso(q, y, share * largest).weights,
        learning.soft_threshold(jnp.asarray(plain), share * largest),
        "weights with orthonormal columns against soft-thresholded least squares",
        atol=1e-9 * largest,
    )

    inputs, targets, names = data.diabetes()
    top = float(learning.lasso_ceiling(inputs, targets))
    yield close(top, 45.16, "λ_max of the diabetes data", atol=0.005)
    penalties = top * np.geomspace(1, 1e-3, 60)
    path = np.asarray(learning.lasso_path(inputs, targets, penalties).weights)
    entered = [int(np.argmax(path[:, j] != 0)) for j in range(len(names))]
    yield exactly(names[int(np.argmin(entered))], "bmi", "first variable to enter, diabetes data")
    count = int((path[np.argmin(np.abs(penalties - top / 10))] != 0).sum())
    yield figure.curves(
        f"Weights enter one by one below λ_max = {top:.2f}, first bmi; at λ_max/10 there are {count} of {len(names)}",
        x="penalty λ", y="weight, standardised inputs", log="x",
        lines={names[j]: (penalties, path[:, j]) for j in np.argsort(entered)[:7]},  # as many as there are colours
    )  # fmt: skip


@claim(
    "lasso-optimality",
    says=(
        "Weights solve the lasso iff every residual correlation is λ sign(w) on the support and at most λ off it. "
        "That makes weights exactly 0, which subgradient steps miss; with correlated columns the support is unstable."
    ),
    formula=(
        r"\tfrac1n X_j^\top r = \lambda \,\mathrm{sign}(w_j) \ (w_j \ne 0), \qquad \tfrac1n |X_j^\top r| \le \lambda \ "
        r"(w_j = 0)"
    ),
    sources=("penn",),
)
def lasso_optimality(
    key,
    samples: Annotated[int, Range(120, 400)] = 150,
    noise: Annotated[float, Range(0.2, 1.0)] = 0.7,
    correlation: Annotated[float, Range(0.97, 0.995)] = 0.99,
    bootstraps: Annotated[int, Range(50, 100)] = 60,
):
    """Twelve columns of equal correlation, four of them with weight 1; λ = 0.4."""
    rng = data.generator(key)
    dim, penalty = 12, 0.4
    truth = (np.arange(dim) < 4).astype(float)
    steps = 10_000
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
        proofs[rho] = learning.lasso_certificate(x, y, solution[rho], penalty)
        supports = np.array(drawn) != 0
        a, b = supports[0 : bootstraps // 2 * 2 : 2], supports[1::2]  # disjoint pairs: independent overlaps
        overlap[rho] = (a & b).sum(axis=1) / np.maximum((a | b).sum(axis=1), 1)
        frequency[rho] = supports.mean(axis=0)
    yield at_most(
        [p.violation for p in proofs.values()], 1e-8, "violation of the optimality conditions, four correlations"
    )
    yield at_most([p.gap for p in proofs.values()], 1e-8, "duality gap, four correlations")
    yield at_least([p.gap for p in proofs.values()], 0.0, "duality gap is not negative", atol=1e-12)
    yield smaller(
        overlap[correlation], overlap[0.0], f"overlap of supports in bootstraps, correlation {correlation:g} against 0"
    )

    (x, y), best = problem(0.0), solution[0.0]
    proximal = learning.proximal_lasso(x, y, penalty, steps=steps)
    descended = _subgradient(x, y, penalty, steps)
    yield exactly(np.asarray(proximal) != 0, best != 0, f"support after {steps} proximal steps")
    yield at_least(int((best == 0).sum()), 1, "exact zeros of the solution")
    yield exactly(int((descended == 0).sum()), 0, f"exact zeros after {steps} subgradient steps")
    perturbed = best + 0.01 * rng.normal(size=(20, dim))
    values = [learning.lasso_certificate(x, y, w, penalty).objective for w in perturbed]
    yield at_least(values, proofs[0.0].objective, "objective at other weights, against the certified one", rtol=1e-12)

    index = np.arange(1, dim + 1)
    on = best != 0
    correlations = np.asarray(proofs[0.0].correlations)
    yield figure.beside(
        f"{int(on.sum())} correlations touch the band ±{penalty}, the others stay inside; with correlation "
        f"{correlation:g} bootstraps agree on {overlap[correlation].mean():.0%} of the support",
        figure.curves(
            "uncorrelated columns: residual correlations", x="column", y="Xⱼᵀr / n",
            lines={"λ": (index[[0, -1]], [penalty] * 2), "−λ": (index[[0, -1]], [-penalty] * 2)},
            points={"wⱼ ≠ 0": (index[on], correlations[on]), "wⱼ = 0": (index[~on], correlations[~on])},
        ),
        figure.bars(
            f"share of {bootstraps} bootstraps that choose a column", x="column", y="share",
            values={
                f"correlation {rho:g}": {str(j): float(f) for j, f in zip(index, frequency[rho], strict=True)}
                for rho in (0.0, correlation)
            },
        ),
    )  # fmt: skip


@instrument(
    "variable-importance",
    says=(
        "A variable's importance is the rise of the mean squared residual without it, after a refit, or when it is "
        "permuted. Variables that stand in for each other share it: of two copies neither seems to matter."
    ),
    formula=(
        r"I_j = \min_{w : w_j = 0} \tfrac1n \|y - Xw\|^2 - \min_w \tfrac1n \|y - Xw\|^2, \qquad "
        r"\mathbb{E}_\pi I_j^\pi = 2 w_j^2 \operatorname{Var}(x_j)"
    ),
    sources=("penn",),
    assumes=("least squares, for the two closed forms",),
    shows=(
        "learning.variable_importance",
        "learning.Importance",
        "learning.refit_importance",
        "learning.permutation_importance",
        "learning.drop_one_rise",
    ),
)
def variable_importance(
    key,
    samples: Annotated[int, Range(150, 500)] = 200,
    dim: Annotated[int, Range(2, 6)] = 5,
    noise: Annotated[float, Range(0.1, 1.0, log=True)] = 0.5,
    resamples: Annotated[int, Range(50, 150)] = 60,
):
    """Independent inputs with weights 1, 2, 4, …, then a copy of the strongest; last the diabetes data."""
    rng = data.generator(key)
    weights = 2.0 ** np.arange(dim)
    x = rng.normal(size=(samples, dim))
    y = x @ weights + noise * rng.normal(size=samples)
    fit = learning.least_squares(x, y)
    refit = learning.refit_importance(x, y)
    yield close(refit, learning.drop_one_rise(x, y) / samples, "rise after a refit against its closed form", rtol=1e-9)
    yield exactly(np.argsort(refit), np.arange(dim), "ranking of variables by a refit, against |w|")
    shuffled = learning.permutation_importance(fit.predict, x, y, repeats=50, key=jax.random.fold_in(key, 1))
    yield exactly(np.argsort(shuffled.mean(axis=0)), np.arange(dim), "ranking by permutation, against |w|")
    for j in range(dim):
        yield mean(
            shuffled[:, j],
            2 * fit.weights[j] ** 2 * x[:, j].var(),
            f"rise by permutation of x{j + 1}, against 2w²Var(x)",
        )

    copied = np.column_stack([x, x[:, -1]])
    doubled = learning.variable_importance(copied, y, resamples=10, key=key)
    yield at_most(
        np.abs(doubled.value[[-2, -1]]), 1e-12 * np.mean(y**2), "importance of both copies of the strongest variable"
    )
    yield exactly(doubled.collinear, True, "copies flagged by the condition number")
    yield exactly(
        learning.variable_importance(x, y, resamples=10, key=key).collinear, False, "independent inputs flagged"
    )

    inputs, targets, names = data.diabetes()
    found = learning.variable_importance(inputs, targets, resamples=resamples, key=jax.random.fold_in(key, 2))
    yield at_least(found.high, found.low, "upper end of the bootstrap interval against the lower")
    order = np.argsort(-found.value)
    total = targets.var()
    yield figure.bars(
        f"Diabetes data: {names[order[0]]} matters most, {found.value[order[0]] / total:.1%} of the variance; "
        f"condition number {found.condition:.0f}",
        x="variable", y="rise of the mean squared residual / variance of y",
        values={
            label: {names[j]: float(v[j] / total) for j in order}
            for label, v in (("lower 2.5%", found.low), ("estimate", found.value), ("upper 2.5%", found.high))
        },
    )  # fmt: skip


@claim(
    "drop-one-identity",
    says=(
        "When a column leaves least squares and the rest is fitted again, the residual sum rises by exactly "
        "wⱼ² / [(XᵀX)⁻¹]ⱼⱼ: no refit is needed to know it."
    ),
    formula=r"\mathrm{RSS}_{-j} - \mathrm{RSS} = \frac{w_j^2}{[(X^\top X)^{-1}]_{jj}}",
    sources=("penn",),
    assumes=("X has full column rank",),
)
def drop_one_identity(
    key,
    samples: Annotated[int, Range(30, 400)] = 100,
    dim: Annotated[int, Range(1, 20)] = 8,
    noise: Annotated[float, Range(0.01, 10.0, log=True)] = 1.0,
    correlation: Annotated[float, Range(0.0, 0.99)] = 0.5,
    designs: Annotated[int, Range(1, 20)] = 5,
):
    """Random designs with a common factor, with an intercept; then the diabetes data. RSS is that of the refits."""
    rng = data.generator(key)
    formula, refitted = [], []
    for _ in range(designs):
        x = np.sqrt(correlation) * rng.normal(size=(samples, 1)) + np.sqrt(1 - correlation) * rng.normal(
            size=(samples, dim)
        )
        y = x @ rng.normal(size=dim) + 1.0 + noise * rng.normal(size=samples)
        formula.append(learning.drop_one_rise(x, y) / np.sum(y**2))
        refitted.append(samples * learning.refit_importance(x, y) / np.sum(y**2))
    # The refits' rise is a difference of two sums of squares: it is known to n ε times the sum of squares.
    yield close(refitted, formula, f"rise in {designs} random designs / Σy²", rtol=1e-9, atol=1e-13)
    inputs, targets, names = data.diabetes()
    predicted = learning.drop_one_rise(inputs, targets)
    measured = len(targets) * learning.refit_importance(inputs, targets)
    yield close(measured, predicted, "rise on the diabetes data", rtol=1e-9, atol=1e-13 * float(targets @ targets))
    both = np.array([predicted.min(), predicted.max()])
    worst = float(np.max(np.abs(measured / predicted - 1)))
    yield figure.curves(
        f"All {len(names)} rises on the diabetes data lie on the diagonal, to {worst:.0e}",
        x="wⱼ² / [(XᵀX)⁻¹]ⱼⱼ", y="rise of the residual sum after a refit", log="xy",
        lines={"equal": (both, both)}, points={"variables of the diabetes data": (predicted, measured)},
    )  # fmt: skip


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
