"""Around a minimum: the quadratic model and its reach, and what the spread of its eigenvalues costs an optimiser."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, landscape, optimisation
from leadline.evidence import Choice, Range, at_least, claim, close, exactly, figure, method, printed, slope


def _exponential_bowl(w, curvatures, basis):
    """Σ c_k (e^{u_k} − 1 − u_k) in rotated coordinates u: Hessian c_k and third derivative c_k at 0, all known."""
    u = basis @ w
    return jnp.sum(curvatures * (jnp.exp(u) - 1 - u))


@method(
    "local-quadratic-model",
    says=(
        "Near a minimum w* the loss is l(w*) + ½(w − w*)ᵀH(w − w*) up to a cubic remainder. Along each eigenvector of "
        "H there is a radius at which the remainder passes a tenth of the increase predicted: beyond it eigenvalues "
        "tell nothing of the valley. It need not be longer along flat directions."
    ),
    formula=r"l(w) = l(w^*) + \frac{1}{2} (w - w^*)^T H (w - w^*) + O(|w - w^*|^3)",
    sources=("penn",),
    assumes=("three continuous derivatives", "∇l(w*) = 0"),
    shows=("landscape.local_quadratic", "landscape.trust_radii"),
)
def local_quadratic_model(
    key,
    dim: Annotated[int, Range(2, 8)] = 4,
    decades: Annotated[float, Range(0.0, 5.0)] = 4.0,
    tolerance: Annotated[float, Range(0.01, 0.3, log=True)] = 0.1,
):
    """Σ c_k (eᵘᵏ − 1 − u_k), c over `decades`, in a random basis: remainder and radii in closed form."""
    from scipy.optimize import brentq

    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    curvatures = np.geomspace(10.0**-decades, 1.0, dim)
    inputs = (jnp.asarray(curvatures), jnp.asarray(basis))
    found = landscape.trust_radii(_exponential_bowl, jnp.zeros(dim), *inputs, tolerance=tolerance)
    model = found.model
    yield close(model.eigenvalues, curvatures, "eigenvalues of the model", rtol=1e-6)

    # Along ±u_k the relative error is |2(eʳ − 1 − r)/r² − 1|, whatever the curvature c_k.
    exact = sorted(
        brentq(lambda r, s=s: abs(2 * (np.expm1(s * r) - s * r) / r**2 - 1) - tolerance, 1e-3, 5.0) for s in (1.0, -1.0)
    )
    distinct = decades > 0.5  # otherwise any basis of a shared eigenspace may come out
    apart = "the eigenvalues differ"
    radii = np.sort(found.radii, axis=1)
    yield close(radii, np.tile(exact, (dim, 1)), "radius at the tolerance, along ± every eigenvector", rtol=1e-3).given(
        distinct, apart
    )
    ratio = np.nanmax(radii[:, 0]) / np.nanmin(radii[:, 0])
    yield close(ratio, 1.0, "longest over shortest radius, curvatures over all the decades", rtol=1e-3).given(
        distinct, apart
    )

    direction = np.abs(rng.normal(size=dim)) @ basis  # third derivative Σ c_k v_k³ > 0
    direction /= np.linalg.norm(direction)
    steps = np.geomspace(1e-3, 3e-2, 8)
    u = basis @ direction * steps[:, None]
    exact_loss = (curvatures * (np.expm1(u) - u)).sum(axis=1)
    remainder = np.abs(exact_loss - model.increase(steps[:, None] * direction))
    third = (curvatures * (basis @ direction) ** 3).sum() / 6
    yield slope(steps, remainder, 3.0, "exponent of the remainder in the distance", within=0.05)
    yield close(
        remainder[0] / steps[0] ** 3, third, "remainder over r³ against a sixth of the third derivative", rtol=0.01
    )
    yield figure.curves(
        f"The remainder grows like r³; it passes {tolerance:.0%} of the increase at r = {exact[0]:.3g} along every "
        "eigenvector, stiff or sloppy",
        x="distance r along an eigenvector of curvature 1",
        y="|l − q| over the predicted increase",
        lines={
            "2(eʳ − 1 − r)/r² − 1": (r := np.geomspace(1e-3, 2.0, 60), 2 * (np.expm1(r) - r) / r**2 - 1),
            "r/3": (r, r / 3),
        },
        points={f"radius found, {dim} eigenvectors": (radii[:, 0], np.full(dim, tolerance))},
        rules={f"tolerance {tolerance:.2g}": ("y", tolerance)},
        log="xy",
    )


@claim(
    "conditioning-slows-descent",
    says=(
        "On a quadratic of condition κ gradient descent needs a number of steps proportional to κ, heavy ball, "
        "Nesterov's method and conjugate gradients to √κ. Eigenvalues over D decades: contour axes in the ratio "
        "10^{D/2}, best single steps in the ratio 10^D, the larger for the long axis."
    ),
    formula=r"t_{GD} \sim \kappa \ln(1/\varepsilon), \qquad t_{acc} \sim \sqrt{\kappa} \ln(1/\varepsilon)",
    sources=("penn",),
    assumes=("quadratic", "constants known to the methods"),
)
def conditioning_slows_descent(
    key,
    accuracy: Annotated[float, Range(1e-8, 1e-4, log=True)] = 1e-6,
    most: Annotated[float, Range(1000.0, 4000.0, log=True)] = 2000.0,
    decades: Annotated[float, Range(1.0, 6.0)] = 4.0,
    spectrum: Annotated[str, Choice("uniform", "Chebyshev")] = "Chebyshev",
):
    """κ from 30 to `most`; relative distance to the minimum; 1000 eigenvalues from 1 to κ for conjugate gradients, the
    two ends (which decide) for the others."""
    kappas = np.round(np.geomspace(30.0, most, 5), 3)
    shape = {
        "uniform": np.linspace(0, 1, 1000),
        "Chebyshev": (1 - np.cos(np.linspace(0, np.pi, 1000))) / 2,
    }[spectrum]
    counts = {name: [] for name in ("gradient descent", "heavy ball", "Nesterov", "conjugate gradients")}
    for kappa in kappas:
        ends = np.array([1.0, kappa])
        budget = int(3 * np.sqrt(kappa) * np.log(10 / accuracy)) + 50
        counts["gradient descent"].append(
            _first(
                optimisation.heavy_ball_one_line(
                    lambda w, ends=ends: ends * w,
                    np.ones(2),
                    optimisation.constant_schedule(2 / (1 + kappa), 0.0, int(kappa * np.log(2 / accuracy))),
                ),
                accuracy,
            )
        )
        for name, run, tuning in (
            ("heavy ball", optimisation.heavy_ball_one_line, optimisation.heavy_ball_tuning),
            ("Nesterov", optimisation.nesterov_two_line, optimisation.nesterov_tuning),
        ):
            schedule = optimisation.constant_schedule(*tuning(kappa, 1.0), budget)
            counts[name].append(_first(run(lambda w, ends=ends: ends * w, np.ones(2), schedule), accuracy))
        values = 1 + (kappa - 1) * shape
        path = optimisation.conjugate_gradient_points(lambda w, values=values: values * w, np.ones(1000), budget)
        counts["conjugate gradients"].append(_first(path, accuracy))
    for name, exponent in (
        ("gradient descent", 1.0),
        ("heavy ball", 0.5),
        ("Nesterov", 0.5),
        ("conjugate gradients", 0.5),
    ):
        yield slope(kappas, counts[name], exponent, f"exponent of κ in the steps of {name}", within=0.05)
    yield printed(
        slope(kappas, counts["gradient descent"], 0.5, "exponent of κ in the steps of gradient descent", within=0.05),
        "penn",
        "gradient descent needs √κ steps: accelerated methods do",
    )

    stiff, sloppy = 1.0, 10.0**-decades
    axes, best = np.sqrt(2 / np.array([stiff, sloppy])), 1 / np.array([stiff, sloppy])
    landed = np.ones(2) - best * np.array([stiff, sloppy])
    yield close(landed, 0.0, "each coordinate after one step of its own best size 1/λ", atol=1e-15)
    yield close(axes[1] / axes[0], 10 ** (decades / 2), f"ratio of the contour's axes, {decades:g} decades", rtol=1e-12)
    yield close(best[1] / best[0], 10**decades, "ratio of the best steps along them, long over short", rtol=1e-12)
    yield printed(
        close(
            best.max() / best.min(), axes.max() / axes.min(), "ratio of the best steps along the two axes", rtol=0.01
        ),
        "penn",
        "the best steps stand in the ratio of the axes (100 for four decades)",
    )
    yield printed(
        exactly(int(np.argmin(best)), int(np.argmax(axes)), "axis with the smaller best step (1: the long one)"),
        "penn",
        "the long axis needs the smaller step",
    )
    yield at_least(
        counts["gradient descent"][-1] / counts["conjugate gradients"][-1],
        4.0,
        f"steps of gradient descent for one of conjugate gradients, κ = {most:g}",
    )
    fine = np.geomspace(30.0, most, 60)
    decay = np.log(1 / accuracy)
    yield figure.curves(
        f"At κ = {most:.4g}: {counts['gradient descent'][-1]} steps of gradient descent, "
        f"{counts['conjugate gradients'][-1]} of conjugate gradients",
        x="condition number κ",
        y=f"steps to a relative distance of {accuracy:.0e}",
        lines={
            "(κ/2) ln(1/ε)": (fine, fine / 2 * decay),
            "(√κ/2) ln(1/ε)": (fine, np.sqrt(fine) / 2 * decay),
        },
        points={name: (kappas, np.array(count)) for name, count in counts.items()},
        log="xy",
    )


def _first(points: np.ndarray, accuracy: float) -> int:
    """The first t from which the largest coordinate is at most `accuracy` of its start, for good."""
    above = np.flatnonzero(np.abs(points).max(axis=1) > accuracy)
    return int(above[-1]) + 1
