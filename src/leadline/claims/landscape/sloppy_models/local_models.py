"""Around a minimum: the quadratic model and its reach, and what the spread of its eigenvalues costs an optimiser."""

import jax.numpy as jnp
import numpy as np

from leadline import data, landscape, optimisation
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, method, slope
from leadline.presentation import figure


def _exponential_bowl(w, curvatures, basis):
    """Σ c_k (e^{u_k} − 1 − u_k) in rotated coordinates u: Hessian c_k and third derivative c_k at 0, all known."""
    u = basis @ w
    return jnp.sum(curvatures * (jnp.exp(u) - 1 - u))


@method(sources=("penn",), shows=("landscape.local_quadratic",))
def local_quadratic_model(
    key, dim: Int(2, 8) = 4, decades: Real(0.0, 5.0) = 4.0, tolerance: Real(0.01, 0.3, log=True) = 0.1
):
    r"""Quadratic model and its radius of validity.

    Near a minimum w* the loss is l(w*) + ½(w − w*)ᵀH(w − w*) up to a cubic remainder. Along each eigenvector of H
    there is a radius at which the remainder passes a tenth of the predicted increase: beyond it the eigenvalues say
    nothing about the valley. This radius need not be longer along flat directions.

    $$l(w) = l(w^*) + \frac{1}{2} (w - w^*)^T H (w - w^*) + O(|w - w^*|^3)$$

    Assumes: three continuous derivatives; ∇l(w*) = 0.

    Check: The loss is $\sum_k c_k (e^{u_k} - 1 - u_k)$ in a random basis, with $c_k$ spread over `decades` decades,
    for which the remainder and the radii are known in closed form.
    """
    from scipy.optimize import brentq

    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    curvatures = np.geomspace(10.0**-decades, 1.0, dim)
    inputs = (jnp.asarray(curvatures), jnp.asarray(basis))
    found = landscape.trust_radii(_exponential_bowl, jnp.zeros(dim), *inputs, tolerance=tolerance)
    yield close(found.model.eigenvalues, curvatures, "eigenvalues of the quadratic model", rtol=1e-6)

    def relative_error(r):
        """Along ±u_k, whatever the curvature c_k."""
        return 2 * (np.expm1(r) - r) / r**2 - 1

    exact = sorted(brentq(lambda r, s=s: abs(relative_error(s * r)) - tolerance, 1e-3, 5.0) for s in (1.0, -1.0))
    apart = decades > 0.5, "the eigenvalues differ"  # otherwise any basis of a shared eigenspace may come out
    radii = np.sort(found.radii, axis=1)
    yield close(radii, exact, "radius at the tolerance, along ± every eigenvector", rtol=1e-3).given(*apart)
    ratio = np.nanmax(radii[:, 0]) / np.nanmin(radii[:, 0])
    yield close(ratio, 1.0, "longest over shortest radius, curvatures over all decades", rtol=1e-3).given(*apart)
    direction = np.abs(rng.normal(size=dim)) @ basis  # third derivative Σ c_k v_k³ > 0
    direction /= np.linalg.norm(direction)
    steps = np.geomspace(1e-3, 3e-2, 8)
    u = basis @ direction * steps[:, None]
    exact_loss = (curvatures * (np.expm1(u) - u)).sum(axis=1)
    remainder = np.abs(exact_loss - found.model.increase(steps[:, None] * direction))
    third = (curvatures * (basis @ direction) ** 3).sum() / 6
    yield slope(steps, remainder, 3.0, "exponent of the remainder in the distance", within=0.05)
    what = "remainder over r³, against a sixth of the third derivative"
    yield close(remainder[0] / steps[0] ** 3, third, what, rtol=0.01)
    title = f"The remainder passes {tolerance:.0%} of the increase at r = {exact[0]:.3g} along every eigenvector"
    r, rules = np.geomspace(1e-3, 2.0, 60), {f"tolerance {tolerance:.2g}": ("y", tolerance)}
    lines = {"2(eʳ − 1 − r)/r² − 1": (r, relative_error(r)), "r/3": (r, r / 3)}
    points = {f"radius found, {dim} eigenvectors": (radii[:, 0], np.full(dim, tolerance))}
    curves = {"lines": lines, "points": points, "rules": rules, "log": "xy"}
    yield figure.curves(title, "distance r along an eigenvector", "|l − q| over the predicted increase", **curves)


@claim(sources=("penn",))
def conditioning_slows_descent(
    key,
    accuracy: Real(1e-8, 1e-4, log=True) = 1e-6,
    most: Real(1000.0, 4000.0, log=True) = 2000.0,
    decades: Real(1.0, 6.0) = 4.0,
    spectrum: OneOf("uniform", "Chebyshev") = "Chebyshev",
):
    r"""Condition number and convergence speed.

    On a quadratic of condition number κ gradient descent needs a number of steps proportional to κ; heavy ball,
    Nesterov's method and conjugate gradients need a number proportional to √κ. Eigenvalues over D decades give contour
    axes in the ratio $10^{D/2}$ and best single steps in the ratio $10^D$, the larger step for the long axis.

    $$t_{GD} \sim \kappa \ln(1/\varepsilon), \qquad t_{\mathrm{acc}} \sim \sqrt{\kappa} \ln(1/\varepsilon)$$

    Assumes: quadratic; constants known to the methods.

    Check: The relative distance to the minimum is followed for κ from 30 to `most`. Conjugate gradients are run with
    1000 eigenvalues from 1 to κ, the other methods with the two extreme ones, which decide.
    """
    kappas = np.round(np.geomspace(30.0, most, 5), 3)
    shape = {"uniform": np.linspace(0, 1, 1000), "Chebyshev": (1 - np.cos(np.linspace(0, np.pi, 1000))) / 2}[spectrum]
    counts = {name: [] for name in ("gradient descent", "heavy ball", "Nesterov", "conjugate gradients")}
    for kappa in kappas:
        ends, values = np.array([1.0, kappa]), 1 + (kappa - 1) * shape
        budget = int(3 * np.sqrt(kappa) * np.log(10 / accuracy)) + 50
        tunings = {
            "gradient descent": (2 / (1 + kappa), 0.0, int(kappa * np.log(2 / accuracy))),
            "heavy ball": (*optimisation.heavy_ball_tuning(kappa, 1.0), budget),
            "Nesterov": (*optimisation.nesterov_tuning(kappa, 1.0), budget),
        }
        for name, tuning in tunings.items():
            run = optimisation.nesterov_two_line if name == "Nesterov" else optimisation.heavy_ball_one_line
            path = run(lambda w, ends=ends: ends * w, np.ones(2), optimisation.constant_schedule(*tuning))
            counts[name].append(_first(path, accuracy))
        path = optimisation.conjugate_gradient_points(lambda w, values=values: values * w, np.ones(1000), budget)
        counts["conjugate gradients"].append(_first(path, accuracy))
    plain, *_, conjugate = counts.values()
    what = "exponent of κ in the steps of"
    linear, root = (slope(kappas, plain, power, f"{what} gradient descent", within=0.05) for power in (1.0, 0.5))
    yield linear
    for name in ("heavy ball", "Nesterov", "conjugate gradients"):
        yield slope(kappas, counts[name], 0.5, f"{what} {name}", within=0.05)
    yield erratum(root, of=linear, by="penn", prints="a number of steps proportional to √κ at the best learning rate")
    values = np.array([1.0, 10.0**-decades])
    axes, best = np.sqrt(2 / values), 1 / values
    yield close(1 - best * values, 0.0, "each coordinate after one step of its own best size 1/λ", atol=1e-15)
    yield close(axes[1] / axes[0], 10 ** (decades / 2), f"ratio of the contour's axes, {decades:g} decades", rtol=1e-12)
    what = "ratio of the best step sizes along the contour's axes, long over short"
    steps = close(best[1] / best[0], 10**decades, what, rtol=1e-12)
    yield steps
    wrong = close(best[1] / best[0], axes[1] / axes[0], f"{what}, against that of the axes", rtol=0.01)
    yield erratum(wrong, of=steps, by="penn", prints="a step ratio of 100 for four decades, which is that of the axes")
    wrong = at_most(best[1], best[0], "best step size along the long axis, against that along the short one")
    yield erratum(wrong, of=steps, by="penn", prints="the long axis needs the smaller step")
    what = f"steps of gradient descent for one of conjugate gradients, κ = {most:g}"
    yield at_least(plain[-1] / conjugate[-1], 4.0, what)
    fine, decay = np.geomspace(30.0, most, 60), np.log(1 / accuracy) / 2
    lines = {"(κ/2) ln(1/ε)": (fine, fine * decay), "(√κ/2) ln(1/ε)": (fine, np.sqrt(fine) * decay)}
    points = {name: (kappas, count) for name, count in counts.items()}
    title = f"At κ = {most:.4g}: {plain[-1]} steps of gradient descent, {conjugate[-1]} of conjugate gradients"
    reach = f"steps to a relative distance of {accuracy:.0e}"
    yield figure.curves(title, "condition number κ", reach, lines=lines, points=points, log="xy")


def _first(points: np.ndarray, accuracy: float) -> int:
    """The first t from which the largest coordinate is at most `accuracy` of its start, for good."""
    above = np.flatnonzero(np.abs(points).max(axis=1) > accuracy)
    return int(above[-1]) + 1
