"""The linear threshold classifier and the geometry of its boundary."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline.evidence import Int, Real, claim, close, exactly, model
from leadline.linear_classifiers import perceptrons
from leadline.linear_classifiers.perceptrons.classifier import fires
from leadline.linear_classifiers.perceptrons.hyperplane import absorbed_distance, plane_offset
from leadline.presentation import figure
from leadline.presentation.figure.plane_shapes import boundary, by_sign


@model(sources=("eth", "sheet", "penn"), shows=("linear_classifiers.perceptrons.from_threshold",))
def linear_threshold_classifier(key, dim: Int(1, 200) = 2, samples: Int(20, 2000) = 200, bias: Real(-2.0, 2.0) = 0.5):
    r"""Linear threshold classifier.

    The classifier is f(x) = sgn(w·x + b). The bias may be absorbed by x → (x, 1), the 0/1 form is the same classifier
    relabelled, and the value of sgn(0) matters only on the plane.

    $$f(x) = \operatorname{sgn}(w \cdot x + b) = \operatorname{sgn}\bigl((w, b) \cdot (x, 1)\bigr)$$

    Check: Random inputs lie off the plane; small integers often lie on it, and integer arithmetic decides which do.
    """
    key_w, key_x, key_integers = jax.random.split(key, 3)
    w, x = jax.random.normal(key_w, (dim,)), jax.random.normal(key_x, (samples, dim))
    unit = perceptrons.LinearThreshold(w, bias)
    output = unit(x)
    absorbed = perceptrons.absorb_bias(unit)
    yield exactly(absorbed(perceptrons.with_constant(x)), output, "outputs, bias absorbed against explicit")
    by_terms = sum(np.asarray(x)[:, j] * float(w[j]) for j in range(dim)) + bias
    yield close(unit.score(x), by_terms, "scores, against the sum term by term", atol=1e-10)
    t = fires(w, -bias, x)
    yield exactly(2 * t.astype(int) - 1, output.astype(int), "0/1 outputs relabelled 2t − 1, off the plane")
    grid = np.asarray(jax.random.randint(key_integers, (samples + 1, dim), -2, 3))
    weights, points, offset = grid[0], grid[1:], round(bias)
    on_plane = points @ weights + offset == 0
    outputs = {v: np.asarray(perceptrons.LinearThreshold(weights, offset, at_zero=v)(points)) for v in (-1, 0, 1)}
    differ = (outputs[-1] != outputs[0]) | (outputs[0] != outputs[1])
    yield exactly(differ, on_plane, "points where the three values of sgn(0) differ: those on the plane")
    # The picture is always the plane: the first two inputs, or two fresh ones.
    w2 = np.asarray(jax.random.normal(key_w, (2,)))
    x2 = np.asarray(jax.random.normal(key_x, (min(samples, 300), 2)))
    side = np.asarray(perceptrons.LinearThreshold(w2, bias)(x2))
    foot = np.asarray(perceptrons.foot(w2, bias, jnp.zeros(2)))
    title = f"The line w·x + b = 0 leaves {np.sum(side > 0)} of {len(x2)} points on the side w points to"
    dots = by_sign(x2, side, ("f(x) = +1", "f(x) = −1"))
    lines = {"w·x + b = 0": boundary(w2, bias, 4)}
    arrows = {"w/‖w‖": (foot, foot + w2 / np.linalg.norm(w2))}
    yield figure.plane(title, "x₁", "x₂", points=dots, lines=lines, arrows=arrows, domain=((-3.2, 3.2), (-3.2, 3.2)))


def _nearest_on_plane(w, b, x):
    """Minimise ‖x − z‖² subject to w.z + b = 0 by its optimality (KKT) equations, one linear solve for all rows."""
    d = len(w)
    equations = np.block([[2 * np.eye(d), w[:, None]], [w[None], np.zeros((1, 1))]])
    right = np.vstack([2 * x.T, np.full((1, len(x)), -b)])
    return np.linalg.solve(equations, right)[:d].T


@claim(sources=("eth", "penn"))
def hyperplane_distance(
    key,
    dim: Int(1, 100) = 3,
    points: Int(1, 500) = 50,
    bias: Real(-3.0, 3.0) = 1.0,
    weight_norm: Real(0.1, 10.0, log=True) = 1.5,
):
    r"""Distance from a point to a hyperplane.

    A point lies at distance |w·x + b|/‖w‖ from the plane w·x + b = 0. With the bias absorbed, the same quotient is a
    distance in ℝᵈ⁺¹, smaller by the factor $\sqrt{1 + b^2/\|w\|^2}$.

    $$\operatorname{dist}(x) = \frac{|w \cdot x + b|}{\|w\|}, \qquad \frac{|\tilde w \cdot \tilde x|}{\|\tilde w\|} =
    \frac{\operatorname{dist}(x)}{\sqrt{1 + b^2/\|w\|^2}}$$

    Assumes: w ≠ 0.
    """
    key_w, key_x = jax.random.split(key)
    w = jax.random.normal(key_w, (dim,))
    w = np.asarray(weight_norm * w / jnp.linalg.norm(w))
    x = np.asarray(jax.random.normal(key_x, (points, dim)))
    nearest = _nearest_on_plane(w, bias, x)
    distance = np.linalg.norm(x - nearest, axis=1)
    formula = np.abs(perceptrons.signed_distance(w, bias, x))
    yield close(formula, distance, "|w·x + b|/‖w‖ against the least distance", atol=1e-9)
    yield close(perceptrons.foot(w, bias, x), nearest, "foot of the perpendicular", atol=1e-9)
    origin = _nearest_on_plane(w, bias, np.zeros((1, dim)))[0]
    yield close(
        plane_offset(w, bias),
        origin @ w / weight_norm,
        "offset −b/‖w‖ of the plane, against that of a point on it",
        atol=1e-9,
    )
    lifted = np.hstack([x, np.ones((points, 1))])
    distance_lifted = np.linalg.norm(lifted - _nearest_on_plane(np.append(w, bias), 0.0, lifted), axis=1)
    quotient = np.abs(absorbed_distance(w, bias, x))
    factor = np.sqrt(1 + bias**2 / weight_norm**2)
    yield close(quotient, distance_lifted, "absorbed quotient against the least distance in ℝᵈ⁺¹", atol=1e-9)
    yield close(factor * distance_lifted, distance, "√(1 + b²/‖w‖²) × distance in ℝᵈ⁺¹, against that in ℝᵈ", atol=1e-9)
    w2, x2 = weight_norm * np.array([0.6, 0.8]), np.array([1.6, 1.2])
    true, absorbed = (float(f(w2, bias, x2)) for f in (perceptrons.signed_distance, absorbed_distance))
    foot = np.asarray(perceptrons.foot(w2, bias, x2))
    circle = np.array([np.cos(turn := np.linspace(0, 2 * np.pi, 90)), np.sin(turn)])
    reach = 1.3 * abs(true) + 0.5
    title = f"The circle of radius |w·x + b|/‖w‖ touches the line; the absorbed quotient is {factor:.3g} times smaller"
    lines = {
        "w·x + b = 0": boundary(w2, bias, 3 * reach + 10),
        "radius |w·x + b|/‖w‖": x2[:, None] + abs(true) * circle,
        "radius of the absorbed quotient": x2[:, None] + abs(absorbed) * circle,
    }
    arrows, labels = {"perpendicular": (x2, foot)}, [(x2[0], x2[1] + 0.05 * reach, "x")]
    domain = tuple((c - reach, c + reach) for c in x2)
    yield figure.plane(title, "x₁", "x₂", lines=lines, arrows=arrows, labels=labels, domain=domain)
