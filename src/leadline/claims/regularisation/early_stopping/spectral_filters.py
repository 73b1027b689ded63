"""Early stopping as a spectral filter, and how close it is to ridge regression."""

import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation, regularisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, mean, reference
from leadline.presentation import figure


@claim(sources=("eth", "sheet"), shows=("regularisation.DescentFilter",))
def early_stopping_spectral_filter(
    key,
    dim: Int(2, 30) = 10,
    condition: Real(2.0, 1e4, log=True) = 100.0,
    share: Real(0.05, 1.2) = 0.5,
    num_steps: Int(1, 300) = 100,
):
    r"""Early stopping is a spectral filter.

    T steps of gradient descent on a quadratic bring the coordinate along each eigenvector a share 1 − (1 − ηλ)ᵀ of the
    way from the start to the minimum: stiff directions first. It converges iff $\eta < 2/\lambda_{\max}$.

    $$\theta_T = Q\,(I - \eta\Lambda)^T Q^\top \theta_0 + Q\,[I - (I - \eta\Lambda)^T]\, Q^\top \theta^*$$

    Assumes: l is quadratic with a positive definite Hessian.

    Check: The step size is `share` times $2/\lambda_{\max}$; beyond 1 it diverges, and the formula says how.
    """
    rng = data.generator(key)
    basis, values = np.linalg.qr(rng.normal(size=(dim, dim)))[0], np.geomspace(1.0, condition, dim)
    hessian, best, start = basis * values @ basis.T, rng.normal(size=dim), rng.normal(size=dim)
    eta = 2 * share / condition
    bowl = optimisation.Quadratic(jnp.asarray(hessian), jnp.asarray(hessian @ best))
    path = optimisation.gradient_path(bowl.gradient, start, eta, num_steps)
    zero = optimisation.gradient_path(bowl.gradient, 0 * start, eta, num_steps)
    growth = max(1.0, abs(1 - 2 * share)) ** np.arange(num_steps + 1)
    times = np.unique(np.linspace(0, num_steps, 8).astype(int))
    filters = [regularisation.DescentFilter(eta, int(t)) for t in times]
    found = np.array([regularisation.filtered_minimiser(hessian, best, f, start) for f in filters])
    size = np.linalg.norm(best) + np.linalg.norm(start)
    scale = 1e-10 * size * growth[times, None]
    yield close((path[times] - found) / scale, 0.0, "iterates less the formula, over 10⁻¹⁰ of their size", atol=1.0)
    shares = np.array([f(values) for f in filters])
    coordinates, wanted = zero[times] @ basis, basis.T @ best
    what = "from 0: coordinates of the iterates, against the filter times those of θ*, over 10⁻¹⁰ of their size"
    right = close((coordinates - shares * wanted) / scale, 0.0, what, atol=1.0)
    yield right
    yield erratum(
        close(
            (coordinates - shares) / scale,
            0.0,
            "from 0: coordinates of the iterates, against the filter alone",
            atol=1.0,
        ),
        of=right,
        by="eth",
        prints="θ_T = I − (I − ηΛ)ᵀθ* = diag(1 − (1 − ηλ)ᵀ): a bracket and the last θ* are missing",
    )
    long = regularisation.DescentFilter(eta, 10**6)
    stable = long.is_stable(values)
    nearer = np.abs((path[-1] - best) @ basis) < np.abs((start - best) @ basis)
    yield exactly(
        stable, bool(nearer.all()), "whether it converges, as the filter says, and as every mode has come nearer"
    )
    where = np.geomspace(0.3, condition, 200)
    shown = [t for t in (1, 3, 10, 30, 100, 300) if t <= num_steps] or [num_steps]
    lines = {f"T = {t}": (where, regularisation.DescentFilter(eta, t)(where)) for t in shown}
    points = {f"T = {t}": (values, zero[t] @ basis / wanted) for t in shown}
    reach = "converges" if stable else "diverges: η ≥ 2/λ_max"
    title = f"Each mode is fitted by 1 − (1 − ηλ)ᵀ: stiff ones first; η = {eta:.2g} {reach}"
    yield figure.curves(title, "eigenvalue λ", "share fitted", log="x", lines=lines, points=points)


@claim(sources=("eth", "sheet"), shows=("regularisation.FlowFilter", "regularisation.RidgeFilter"))
def early_stopping_matches_ridge(
    key,
    dim: Int(2, 60) = 20,
    decades: Real(0.5, 6.0) = 3.0,
    noise: Real(0.05, 5.0, log=True) = 1.0,
    samples: Int(60, 200) = 100,
):
    r"""Early stopping is close to ridge regression.

    Stopping gradient flow at t = 1/μ filters as ridge with penalty μ does, to first order in λ/μ. Everywhere the two
    shares differ by at most 0.2036, at λ = 2.51μ, and for least squares with any spectrum, signal and noise the risk
    of the stopped flow is at most 1.686 times that of ridge.

    $$1 - e^{-r} \approx \frac{r}{1 + r}, \quad r = \lambda/\mu, \quad T = \frac{1}{\eta\mu}; \qquad
    \frac{R_{\mathrm{flow}}(1/\mu)}{R_{\mathrm{ridge}}(\mu)} \le \sup_r \left(\frac{(1 - e^{-r})(1 + r)}{r}\right)^2 =
    1.686$$

    Assumes: y = Xθ* + ε with independent noise of one variance; descent from 0.

    Check: A random spectrum over `decades` decades and a random signal; the formula of the risk against 300 samples of
    noise; gradient descent on the digits (5 or more) along each eigenvector of their covariance.
    """
    rng = data.generator(key)
    known = regularisation.flow_against_ridge()
    r = np.geomspace(1e-4, 1e4, 200_001)
    flow, ridge = regularisation.FlowFilter(1.0), regularisation.RidgeFilter(1.0)
    yield close(
        (flow(r) - ridge(r)).max(), known.gap, "largest gap of the filters on a grid, against (1 + r)² = eʳ", atol=1e-7
    )
    yield close(
        ((flow(r) / ridge(r)) ** 2).max(),
        known.ratio,
        "largest variance ratio on a grid, against its equation",
        atol=1e-7,
    )
    yield at_most(flow.left(r), ridge.left(r), "bias factor of the flow, against that of ridge")
    yield reference(
        [known.gap, known.ratio, known.gap_at, known.ratio_at],
        [0.2036, 1.686, 2.51, 1.793],
        "flow beside ridge: largest gap, largest variance ratio, and λ/μ at each",
        digits=3,
    )
    at = np.array([0.1, 1.0, 10.0])
    yield reference(ridge(at), [0.0909, 0.500, 0.909], "ridge's share at μ = 10λ, λ, λ/10", digits=3)
    yield reference(flow(at), [0.0952, 0.632, 0.99995], "the flow's share at μ = 10λ, λ, λ/10", digits=3)
    small = np.array([1e-5, 1e-4, 1e-3])
    yield at_most(np.abs(flow(small) / ridge(small) - 1), small, "relative gap where λ ≪ μ, against λ/μ")
    x = rng.normal(size=(samples, min(dim, samples))) * 10 ** (-decades / 2 * rng.random(min(dim, samples)))
    eigenvalues, vectors = np.linalg.eigh(x.T @ x / samples)
    theta = rng.normal(size=len(eigenvalues)) * 10 ** rng.uniform(-1, 1)
    signal = vectors.T @ theta
    mus = np.geomspace(eigenvalues[-1] * 1e-6, eigenvalues[-1] * 1e3, 60)
    ratios = {}
    for kind in ("weights", "predictions"):
        risks = [
            [regularisation.filter_risk(f, eigenvalues, signal, noise, samples, of=kind).total for f in pair]
            for pair in ((regularisation.FlowFilter(1 / mu), regularisation.RidgeFilter(mu)) for mu in mus)
        ]
        ratios[kind] = np.array([a / b for a, b in risks])
        yield at_most(ratios[kind], known.ratio, f"risk of the {kind}: flow over ridge, at any μ", rtol=1e-9)
    mu = float(mus[np.argmin([b for _, b in risks])])
    y = x @ theta + noise * rng.normal(size=(300, samples))
    for name, kept in (("flow", regularisation.FlowFilter(1 / mu)), ("ridge", regularisation.RidgeFilter(mu))):
        fits = regularisation.filtered_fits(x, y.T, [kept], intercept=False)
        errors = np.mean((x @ (fits.weights[0] - theta[:, None])) ** 2, axis=0)
        expected = float(regularisation.filter_risk(kept, eigenvalues, signal, noise, samples, of="predictions").total)
        yield mean(errors, expected, f"{name}: error of 300 fits, against the formula of the risk")
    yield from _digits_modes(known, mus, ratios)


def _digits_modes(known, mus, ratios):
    """Gradient descent on the digits, mode by mode, beside both filters."""
    images, labels = data.digits()
    x, y = images - images.mean(axis=0), (labels >= 5) - np.mean(labels >= 5)
    eigenvalues, vectors = np.linalg.eigh(x.T @ x / len(y))
    seen = eigenvalues > 1e-9 * eigenvalues[-1]
    eta, T = 0.5 / eigenvalues[-1], 200
    moment, covariance = x.T @ y / len(y), x.T @ x / len(y)
    end = optimisation.gradient_path(lambda w: covariance @ w - moment, np.zeros(64), eta, T)[-1]
    shares = (vectors.T @ end)[seen] * eigenvalues[seen] / (vectors.T @ moment)[seen]
    mu, lam = 1 / (eta * T), eigenvalues[seen]
    predicted = regularisation.DescentFilter(eta, T)(lam)
    yield close(shares, predicted, "digits: share of each mode after 200 steps, against the filter", atol=1e-6)
    gap = shares - regularisation.RidgeFilter(mu)(lam)
    # e⁻ˣ − (1 − x/T)ᵀ is between 0 and x²e⁻ˣ/T, which is at most 4e⁻²/T.
    yield at_most(gap, known.gap + 4 * np.exp(-2) / T, "digits: share of each mode, descent less ridge", atol=1e-6)
    yield at_least(gap, 0.0, "digits: descent is ahead of ridge in each mode", atol=1e-6)
    line = np.geomspace(lam[0], lam[-1], 200)
    flow, ridge = regularisation.FlowFilter(1 / mu)(line), regularisation.RidgeFilter(mu)(line)
    filters = figure.curves(
        "digits: descent stopped after 200 steps",
        "eigenvalue λ",
        "share fitted",
        log="x",
        lines={"1 − exp(−λ/μ)": (line, flow), "λ/(λ + μ)": (line, ridge)},
        bands={"gap": (line, ridge, flow)},
        points={"gradient descent": (lam, shares)},
    )
    risk = figure.curves(
        "risk of the stopped flow over that of ridge",
        "penalty μ, time 1/μ",
        "ratio of risks",
        log="x",
        points={f"of {kind}": (mus, values) for kind, values in ratios.items()},
        rules={"1.686": ("y", known.ratio)},
    )
    worst = max(float(values.max()) for values in ratios.values())
    yield figure.beside(
        f"Stopped descent is close to ridge: risk at most {worst:.2f} times, never above 1.686", filters, risk
    )
