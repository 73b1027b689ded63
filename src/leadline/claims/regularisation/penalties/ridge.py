"""Ridge regression in the basis of singular vectors, and what its penalty does to the condition number."""

import numpy as np

from leadline import data, kernels, learning, optimisation, regularisation
from leadline.evidence import Int, Real, at_most, claim, close, exactly, method, slope
from leadline.presentation import figure

EPS = float(np.finfo(float).eps)


@method(sources=("eth", "sheet", "penn"), shows=("regularisation.RidgeFilter",))
def ridge_spectral_form(key, samples: Int(15, 100) = 40, dim: Int(2, 10) = 6, alpha: Real(1e-8, 1e8, log=True) = 1.0):
    r"""Ridge regression in spectral form.

    The ridge solution shrinks the coordinate along each singular vector by s²/(s² + α): one solution in a primal, a
    dual and a spectral form. The shares add up to the degrees of freedom; α → 0 gives the solution of least norm.

    $$w = (X^\top X + \alpha I)^{-1} X^\top y = X^\top (X X^\top + \alpha I)^{-1} y = \sum_k \frac{s_k}{s_k^2 + \alpha}
    (u_k^\top y)\, v_k, \qquad \mathrm{df} = \sum_k \frac{s_k^2}{s_k^2 + \alpha}$$

    Assumes: α > 0, beside the sum of squares; no intercept, or X and y centred.

    Check: Beside the three forms: gradient descent to its limit, and the posterior mean of a Gaussian process with
    the linear kernel and noise variance α.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + rng.normal(size=samples)
    fits = regularisation.filtered_fits(x, y[:, None], [regularisation.RidgeFilter(alpha / samples)], intercept=False)
    found = fits.weights[0, :, 0]
    primal = np.linalg.solve(x.T @ x + alpha * np.eye(dim), x.T @ y)
    size = np.linalg.norm(primal)
    yield close(found, primal, "weights by filtered singular values, against (XᵀX + αI)⁻¹Xᵀy", atol=1e-8 * size)
    # The dual system has the condition (s₁² + α)/α, and its solution is of the size of y/α in the null space of Xᵀ.
    dual = x.T @ np.linalg.solve(x @ x.T + alpha * np.eye(samples), y)
    lost = 10 * samples * EPS * (np.linalg.norm(x, 2) ** 2 + alpha) / alpha * np.linalg.norm(y) / np.sqrt(alpha)
    yield close(found, dual, "weights against the dual form Xᵀ(XXᵀ + αI)⁻¹y", atol=1e-8 * size + lost)
    objective = optimisation.LeastSquares(x, y, alpha / samples)
    step = 1 / objective.constants().certified().smoothness
    path = optimisation.gradient_path(objective.gradient, np.zeros(dim), step, 3000)
    yield close(path[-1], found, "weights by gradient descent, 3000 steps", atol=1e-8 * size)
    away = rng.normal(size=(5, dim))
    process = kernels.machines.gp_regression(lambda a, b: a @ b.T, x, y, alpha)
    reach = np.linalg.norm(away, axis=1).max()
    what = "predictions against the mean of a Gaussian process with the linear kernel"
    yield close(away @ found, process.mean(away), what, atol=reach * (1e-8 * size + lost))
    trace = np.trace(x @ np.linalg.solve(x.T @ x + alpha * np.eye(dim), x.T))
    yield close(fits.degrees_of_freedom[0], trace, "degrees of freedom, against the trace of the hat matrix", rtol=1e-9)
    few = rng.normal(size=(max(dim // 2, 1), dim))
    target, inverse = rng.normal(size=(len(few), 1)), np.linalg.pinv(few)
    least = regularisation.filtered_fits(few, target, [regularisation.RidgeFilter(0.0)], intercept=False)
    scale = np.linalg.norm(inverse, 2)
    what = "α = 0, fewer rows than weights: weights against the pseudo-inverse"
    yield close(least.weights[0], inverse @ target, what, atol=1e-11 * (1 + scale**2) * np.linalg.norm(target))
    yield from _diabetes_path()


def _diabetes_path():
    """Coefficients and degrees of freedom on the diabetes data, and the norm that only falls."""
    inputs, targets, names = data.diabetes()
    alphas = np.geomspace(1e-2, 1e6, 60)
    filters = [regularisation.RidgeFilter(alpha / len(targets)) for alpha in alphas]
    path = regularisation.filtered_fits(inputs, targets[:, None], filters)
    norms = np.linalg.norm(path.weights[:, :, 0], axis=1)
    yield at_most(np.diff(norms), 0.0, "diabetes: change of ‖w‖ as α grows", atol=1e-12 * norms[0])
    alone = learning.ridge_fits(inputs, targets, alphas / len(targets))
    what = "diabetes: weights of the path, against ridge regression"
    yield close(path.weights[:, :, 0], alone.weights, what, atol=1e-10 * norms[0])
    lines = {names[j]: (alphas, path.weights[:, j, 0]) for j in np.argsort(-np.abs(path.weights[0, :, 0]))[:6]}
    shown = figure.curves("weights, the six largest", "penalty α", "weight", log="x", lines=lines)
    lines = {"1 + Σ s²/(s² + α)": (alphas, path.degrees_of_freedom)}
    freedom = figure.curves("degrees of freedom", "penalty α", "degrees of freedom", log="x", lines=lines)
    half = alphas[np.argmin(np.abs(path.degrees_of_freedom - 6))]
    yield figure.beside(f"Diabetes data: α = {half:.3g} leaves 6 of 11 degrees of freedom", shown, freedom)


@claim(sources=("penn",))
def ridge_conditioning(
    key, samples: Int(20, 200) = 60, dim: Int(2, 20) = 8, accuracy: Real(1e-8, 1e-2, log=True) = 1e-4
):
    r"""Ridge repairs the condition number.

    A ridge adds α to every eigenvalue of XᵀX. The condition number falls, also where a column is there twice and it was
    infinite, and gradient descent needs fewer steps in proportion.

    $$\kappa(X^\top X + \alpha I) = \frac{\lambda_{\max} + \alpha}{\lambda_{\min} + \alpha}, \qquad T = \left\lceil
    \frac{\ln(1/\varepsilon)}{-\ln(1 - 1/\kappa)} \right\rceil$$

    Check: One column is copied, so that $\lambda_{\min} = 0$. Descent with step $1/(\lambda_{\max} + \alpha)$ starts
    from the minimum plus the weakest eigenvector, where the rate is reached; T counts its steps
    until the error is ε times what it was.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    x = np.c_[x, x[:, 0]]
    gram = x.T @ x
    top = np.linalg.norm(x, 2) ** 2
    alphas = np.geomspace(top / 500, top, 12)
    measured = [np.linalg.cond(gram + alpha * np.eye(dim + 1)) for alpha in alphas]
    kappas = (top + alphas) / alphas
    yield close(
        measured, kappas, "condition number with the ridge, by singular values, against the formula", rtol=1e-10
    )
    what = "condition number without a ridge: infinite but for rounding"
    yield at_most(1e14, np.linalg.cond(gram), what)
    weakest = np.linalg.svd(x)[2][-1]
    counts = []
    for alpha, kappa in zip(alphas, kappas, strict=True):
        limit = int(np.ceil(np.log(1 / accuracy) * kappa)) + 2  # −ln(1 − 1/κ) > 1/κ
        ridge = gram + alpha * np.eye(dim + 1)
        path = optimisation.gradient_path(lambda w, ridge=ridge: w @ ridge, weakest, 1 / (top + alpha), limit)
        counts.append(int(np.argmax(np.linalg.norm(path, axis=1) <= accuracy)))
    exact = np.log(accuracy) / np.log1p(-1 / kappas)
    predicted = np.ceil(exact - 1e-9)  # where it is whole, rounding may go either way
    what = "steps of gradient descent to the accuracy, against the formula"
    yield exactly(np.abs(np.array(counts) - predicted) <= (np.abs(exact - np.round(exact)) < 1e-6), True, what)
    yield slope(-1 / np.log1p(-1 / kappas), counts, 1.0, "steps against 1/(−ln(1 − 1/κ)), logarithmic", within=0.05)
    rule = f"κ falls from {kappas[0]:.0f} to {kappas[-1]:.0f}, and the steps from {counts[0]} to {counts[-1]}"
    lines = {"κ": (alphas, kappas), "steps": (alphas, exact)}
    points = {"κ": (alphas, measured), "steps": (alphas, counts)}
    title = f"A column twice: between α = {alphas[0]:.3g} and {alphas[-1]:.3g} {rule}"
    yield figure.curves(
        title, "penalty α", "condition number κ, steps of descent", log="xy", lines=lines, points=points
    )
