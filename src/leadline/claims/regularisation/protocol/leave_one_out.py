"""Leave-one-out errors of ridge regression without a refit."""

import numpy as np

from leadline import data, learning, regularisation
from leadline.evidence import Int, Real, claim, close
from leadline.presentation import figure


@claim(sources=("penn",))
def loo_ridge_shortcut(
    key, samples: Int(4, 80) = 40, dim: Int(1, 60) = 6, alpha: Real(1e-6, 1e6, log=True) = 1.0, intercept: bool = True
):
    r"""Leave-one-out without a refit.

    For ridge regression with a fixed penalty the residual of a row, when it is left out of the fit, is its residual in
    the fit of all rows divided by 1 − Hᵢᵢ. One fit gives all n of them.

    $$y_i - \hat y_i^{(-i)} = \frac{y_i - \hat y_i}{1 - H_{ii}}, \qquad H = X (X^\top X + \alpha I)^{-1} X^\top$$

    Assumes: α > 0 stands beside the sum of squares, and is the same for n and n − 1 rows.

    Check: n refits, each without one row; with an intercept 11ᵀ/n of the centred problem joins H.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim)) + 0.5
    y = x @ rng.normal(size=dim) + 3.0 + rng.normal(size=samples)
    alphas = np.unique([1e-6, 1e-3, alpha, 1e3, 1e6])
    found = regularisation.ridge_leave_one_out(x, y, alphas, intercept=intercept)
    others = np.array([np.delete(np.arange(samples), i) for i in range(samples)])
    refits = []
    for a in alphas:
        fit = learning.ridge(x[others], y[others], a / (samples - 1), intercept=intercept)
        refits.append(y - fit.predict(x[:, None, :])[:, 0])
    refits = np.array(refits)
    # Both routes lose what the condition (s₁² + α)/(s_min² + α) of the smallest fit takes.
    kept = [np.linalg.svd(x[rows] - intercept * x[rows].mean(axis=0), compute_uv=False) for rows in others]
    rank = min(samples - 1 - intercept, dim)
    worst = np.array([max((s[0] ** 2 + a) / (s[rank - 1] ** 2 + a) for s in kept) for a in alphas])
    size = np.abs(y).max() + np.abs(refits).max(axis=1)
    scaled = (found.residuals - refits) / (size * np.maximum(1.0, worst * 1e-5))[:, None]
    yield close(scaled, 0.0, "residuals of rows left out: shortcut less refit, relative", atol=1e-10)
    mean_squares = np.mean(refits**2, axis=1)
    what = "penalty with the least leave-one-out error: its error by refits, against the least of refits"
    yield close(mean_squares[list(alphas).index(found.best)], mean_squares.min(), what, rtol=1e-8)
    at = list(alphas).index(alpha)
    ends = [float(refits[at].min()), float(refits[at].max())]
    title = f"{samples} refits and one fit give the same residuals; leverages up to {found.leverages[at].max():.2f}"
    points = {"one row each": (found.residuals[at], refits[at])}
    yield figure.curves(
        title, "residual/(1 − Hᵢᵢ)", "residual after a refit", lines={"equal": (ends, ends)}, points=points
    )
