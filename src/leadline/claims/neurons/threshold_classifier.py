"""The linear threshold classifier and the geometry of its boundary."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import perceptrons
from leadline.claims.neurons.plane_shapes import boundary, by_sign
from leadline.evidence import Range, claim, close, exactly, figure, model, printed


@model(
    "linear-threshold-classifier",
    says=(
        "f(x) = sgn(w·x + b): the bias may be absorbed by x → (x, 1), the 0/1 form is the same classifier "
        "relabelled, and the value of sgn(0) matters only on the plane."
    ),
    formula=r"f(x) = \operatorname{sgn}(w \cdot x + b) = \operatorname{sgn}\bigl((w, b) \cdot (x, 1)\bigr)",
    sources=("eth", "sheet", "penn"),
    shows=(
        "perceptrons.LinearThreshold",
        "perceptrons.from_threshold",
        "perceptrons.fires",
        "perceptrons.absorb_bias",
        "perceptrons.with_constant",
    ),
)
def linear_threshold_classifier(
    key,
    dim: Annotated[int, Range(1, 200)] = 2,
    samples: Annotated[int, Range(20, 2000)] = 200,
    bias: Annotated[float, Range(-2.0, 2.0)] = 0.5,
):
    """Random inputs are off the plane; small integers are often on it, and integer arithmetic says which."""
    key_w, key_x, key_integers = jax.random.split(key, 3)
    w, x = jax.random.normal(key_w, (dim,)), jax.random.normal(key_x, (samples, dim))
    unit = perceptrons.LinearThreshold(w, bias)
    output = unit(x)
    absorbed = perceptrons.absorb_bias(unit)
    yield exactly(absorbed(perceptrons.with_constant(x)), output, "outputs, bias absorbed against explicit")
    by_terms = sum(np.asarray(x)[:, j] * float(w[j]) for j in range(dim)) + bias
    yield close(unit.score(x), by_terms, "scores, against the sum term by term", atol=1e-10)
    t = perceptrons.fires(w, -bias, x)
    yield exactly(2 * t.astype(int) - 1, output.astype(int), "0/1 outputs relabelled 2t − 1, off the plane")

    grid = np.asarray(jax.random.randint(key_integers, (samples + 1, dim), -2, 3))
    weights, points, offset = grid[0], grid[1:], round(bias)
    on_plane = points @ weights + offset == 0
    outputs = {v: np.asarray(perceptrons.LinearThreshold(weights, offset, at_zero=v)(points)) for v in (-1, 0, 1)}
    differ = (outputs[-1] != outputs[0]) | (outputs[0] != outputs[1])
    yield exactly(differ, on_plane, "points where the three values of sgn(0) differ: those on the plane")

    last_squared = x[:, :-1] @ w[:-1] + x[:, -1] * x[:, -1]
    yield printed(
        close(last_squared, x @ w, "sum with last term x_d x_d, against w·x", atol=1e-6),
        "penn",
        "w_1 x_1 + ... + x_d x_d",
    )
    mixed = exactly(t.astype(int), output.astype(int), "0/1 outputs against −1/+1 outputs")
    yield printed(mixed, "penn", "the sign formula with values 0 and 1").given(
        bool(jnp.any(output < 0)), "some output is −1"
    )

    # The picture is always the plane: the first two inputs, or two fresh ones.
    w2 = np.asarray(jax.random.normal(key_w, (2,)))
    x2 = np.asarray(jax.random.normal(key_x, (min(samples, 300), 2)))
    side = np.asarray(perceptrons.LinearThreshold(w2, bias)(x2))
    foot = np.asarray(perceptrons.foot(w2, bias, jnp.zeros(2)))
    unit_normal = w2 / np.linalg.norm(w2)
    yield figure.plane(
        (
            f"The line w·x + b = 0 with b = {bias:.2g} leaves {int(np.sum(side > 0))} of {len(x2)} points on the "
            "side w points to"
        ),
        x="x₁",
        y="x₂",
        points=by_sign(x2, side, ("f(x) = +1", "f(x) = −1")),
        lines={"w·x + b = 0": boundary(w2, bias, 4)},
        arrows={"w/‖w‖": (foot, foot + unit_normal)},
        domain=((-3.2, 3.2), (-3.2, 3.2)),
    )


def _nearest_on_plane(w, b, x):
    """Minimise ‖x − z‖² subject to w.z + b = 0 by its optimality (KKT) equations, one linear solve for all rows."""
    d = len(w)
    equations = np.block([[2 * np.eye(d), w[:, None]], [w[None], np.zeros((1, 1))]])
    right = np.vstack([2 * x.T, np.full((1, len(x)), -b)])
    return np.linalg.solve(equations, right)[:d].T


@claim(
    "hyperplane-distance",
    says=(
        "A point lies |w·x + b|/‖w‖ away from the plane w·x + b = 0; with the bias absorbed, the same quotient "
        "is a distance in R^(d+1), smaller by the factor √(1 + b²/‖w‖²)."
    ),
    formula=(
        r"\operatorname{dist}(x) = \frac{|w \cdot x + b|}{\|w\|}, \qquad \frac{|\tilde w \cdot \tilde "
        r"x|}{\|\tilde w\|} = \frac{\operatorname{dist}(x)}{\sqrt{1 + b^2/\|w\|^2}}"
    ),
    sources=("eth", "penn"),
    assumes=("w ≠ 0",),
)
def hyperplane_distance(
    key,
    dim: Annotated[int, Range(1, 100)] = 3,
    points: Annotated[int, Range(1, 500)] = 50,
    bias: Annotated[float, Range(-3.0, 3.0)] = 1.0,
    weight_norm: Annotated[float, Range(0.1, 10.0, log=True)] = 1.5,
):
    """The closed forms against the numerical minimiser of the distance over the plane, in R^d and in R^(d+1)."""
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
    yield close(perceptrons.plane_offset(w, bias), origin @ w / weight_norm, "offset −b/‖w‖", atol=1e-9)

    extended, constant = np.append(w, bias), np.ones((points, 1))
    lifted = np.hstack([x, constant])
    distance_lifted = np.linalg.norm(lifted - _nearest_on_plane(extended, 0.0, lifted), axis=1)
    quotient = np.abs(perceptrons.absorbed_distance(w, bias, x))
    factor = np.sqrt(1 + bias**2 / weight_norm**2)
    yield close(quotient, distance_lifted, "absorbed quotient against the least distance in R^(d+1)", atol=1e-9)
    yield close(factor * distance_lifted, distance, "√(1 + b²/‖w‖²) × that distance, against the one in R^d", atol=1e-9)
    wrong = close(quotient, distance, "absorbed quotient as distance in input space", atol=1e-9)
    yield printed(wrong, "penn", "y w~·x~/‖w~‖ is the distance of x to the boundary").given(
        abs(bias) > 0.01 * weight_norm, "b is not 0"
    )

    w2, x2 = weight_norm * np.array([0.6, 0.8]), np.array([1.6, 1.2])
    true, absorbed = (float(f(w2, bias, x2)) for f in (perceptrons.signed_distance, perceptrons.absorbed_distance))
    foot = np.asarray(perceptrons.foot(w2, bias, x2))
    angles = np.linspace(0, 2 * np.pi, 90)

    def ring(radius):
        return x2[0] + radius * np.cos(angles), x2[1] + radius * np.sin(angles)

    reach = 1.3 * abs(true) + 0.5
    yield figure.plane(
        (
            f"The circle of radius |w·x + b|/‖w‖ = {abs(true):.3g} touches the line; the absorbed quotient "
            f"{abs(absorbed):.3g} is {factor:.3g} times smaller"
        ),
        x="x₁",
        y="x₂",
        lines={
            "w·x + b = 0": boundary(w2, bias, 3 * reach + 10),
            "radius |w·x + b|/‖w‖": ring(abs(true)),
            "radius of the absorbed quotient": ring(abs(absorbed)),
        },
        arrows={"perpendicular": (x2, foot)},
        labels=[(x2[0], x2[1] + 0.05 * reach, "x")],
        domain=((x2[0] - reach, x2[0] + reach), (x2[1] - reach, x2[1] + reach)),
    )
