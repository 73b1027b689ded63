"""What a critical point is: inertia, label and way out, where the Hessian decides and where it does not."""

from itertools import product

import jax.numpy as jnp
import numpy as np

from leadline import data, landscape
from leadline.evidence import Int, OneOf, Real, erratum, exactly, instrument
from leadline.landscape.critical_points.reports import labels_by_necessary_conditions
from leadline.presentation import figure

_X, _Y, _Z = (2, 0, 0), (0, 2, 0), (0, 0, 2)

# name: (polynomial, inertia (n₋, n₀, n₊) at 0, label, order at which the loss falls)
_KNOWN = {
    "x²−y²+z²": ({_X: 1.0, _Y: -1.0, _Z: 1.0}, (1, 0, 2), "strict saddle", 2),
    "x²+y²+z²": ({_X: 1.0, _Y: 1.0, _Z: 1.0}, (0, 0, 3), "strict minimum", 0),
    "−x²−y²−z²": ({_X: -1.0, _Y: -1.0, _Z: -1.0}, (3, 0, 0), "maximum", 2),
    "monkey saddle x³−3xy²+z²": ({(3, 0, 0): 1.0, (1, 2, 0): -3.0, _Z: 1.0}, (0, 2, 1), "degenerate saddle", 3),
    "x³": ({(3, 0, 0): 1.0}, (0, 3, 0), "degenerate saddle", 3),
    "−x⁴": ({(4, 0, 0): -1.0}, (0, 3, 0), "degenerate maximum", 4),
    "x⁴+y²+z²": ({(4, 0, 0): 1.0, _Y: 1.0, _Z: 1.0}, (0, 1, 2), "degenerate minimum", 0),
    "valley y²+z²": ({_Y: 1.0, _Z: 1.0}, (0, 1, 2), "degenerate minimum", 0),
    "(y−x²)²−x⁴/2+z²": ({_Y: 1.0, (2, 1, 0): -2.0, (4, 0, 0): 0.5, _Z: 1.0}, (0, 1, 2), "degenerate saddle", 4),
}


def _deep_linear_loss(weights, x, y):
    """The mean squared error of W_L ⋯ W_1 x."""
    for weight in weights:
        x = weight @ x
    return jnp.mean(jnp.sum((y - x) ** 2, axis=0)) / 2


def _factor_loss(factors, matrix):
    """½‖M − AB‖²."""
    return jnp.sum((matrix - factors[0] @ factors[1]) ** 2) / 2


@instrument(sources=("penn",), shows=("landscape.probe_null_space",))
def critical_point_report(
    key,
    coupling: Real(0.0, 0.2) = 0.15,
    depth: OneOf(3, 4) = 3,
    width: Int(1, 4) = 2,
    chosen: OneOf("1 2", "1 3", "2 5", "3 6") = "2 5",
):
    r"""Critical point classifier.

    At any weights, the report gives the loss, the gradient norm, the inertia (n₋, n₀, n₊) of the Hessian, and a label.
    Where n₀ > 0 and no signs differ, the Hessian decides nothing, and the null space is probed: x³, −x⁴ and the origin
    of a deep linear network all have H = 0, and none is a minimum.

    $$\nabla l = 0,\; H \succ 0 \Rightarrow \text{strict minimum}; \quad \nabla l = 0,\; H \succeq 0 \not\Rightarrow
    \text{minimum}$$

    Assumes: the loss is smooth at the point.

    Check: The report is tested on nine polynomials with known answers, a deep linear network at 0, a rank-2 saddle of
    ½‖M − AB‖² with 204 parameters by both routes, and the 27 critical points of three double wells coupled by a random
    matrix.
    """
    rng = data.generator(key)
    for name, (terms, inertia, label, order) in _KNOWN.items():
        report = landscape.critical_point_report(landscape.quartic_landscape(terms), jnp.zeros(3))
        labelled = exactly(report.label, label, f"kind of the critical point 0 of {name}")
        yield labelled
        yield exactly([*report.inertia, report.order], [*inertia, order], f"{name}: n₋, n₀, n₊, order of the descent")
        if name in ("x³", "−x⁴"):
            by_necessity = labels_by_necessary_conditions(report.eigenvalues, report.threshold)
            is_one = report.label.endswith("minimum")
            wrong = exactly("minimum" in by_necessity, is_one, f"{name}: 0 is a local minimum if g = 0 and H ⪰ 0")
            yield erratum(wrong, of=labelled, by="penn", prints="g = 0 and H ⪰ 0 as the definition of a local minimum")
    x, y = rng.normal(size=(2, width, 20))
    origin = [jnp.zeros((width, width))] * depth
    report = landscape.critical_point_report(_deep_linear_loss, origin, x, y)
    yield exactly(
        report.label, "degenerate saddle", f"kind of the critical point 0 of a linear network of depth {depth}"
    )
    found = [report.negative, report.zero, report.order]
    yield exactly(found, [0, depth * width**2, depth], f"depth {depth} at 0: n₋, n₀ (all), order of the descent")
    size, modes = 51, np.array([int(i) for i in chosen.split()])
    strengths = np.geomspace(3.0, 1.0, size)
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(2))
    roots = np.sqrt(strengths[modes - 1])
    factors = (jnp.asarray(left[:, modes - 1] * roots), jnp.asarray(roots[:, None] * right[:, modes - 1].T))
    matrix = (left * strengths) @ right.T
    routes = [landscape.critical_point_report(_factor_loss, factors, matrix, method=m) for m in ("dense", "lanczos")]
    missed = sum(sum(j not in modes for j in range(1, i)) for i in modes)
    yield exactly(routes[0].inertia, [missed, 4, 4 * size - 4 - missed], f"½‖M − AB‖², modes {chosen}: inertia")
    yield exactly(routes[1].inertia, routes[0].inertia, "½‖M − AB‖²: inertia by Lanczos with deflation, against dense")
    draw = rng.normal(size=(3, 3))
    mixing = draw + draw.T
    wells = landscape.coupled_wells(coupling * mixing / np.abs(mixing).sum(axis=1).max())
    corners = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
    ends = [landscape.refine_critical_point(wells, jnp.asarray(corner)) for corner in corners]
    found = [landscape.critical_point_report(wells, end.params) for end in ends]
    zeros = (corners == 0).sum(axis=1)
    index, losses = [r.index for r in found], [r.loss for r in found]
    yield exactly(sum(end.converged for end in ends), 27, "starts refined to a critical point, of 27")
    yield exactly(index, zeros, "index of each of the 27 critical points: its zeros when uncoupled")
    title = f"27 critical points of coupled wells: loss rises with the index, {min(losses):.2f} to {max(losses):.2f}"
    lines, points = {"uncoupled: n₋/4": (range(4), np.arange(4) / 4)}, {"critical points": (index, losses)}
    yield figure.curves(title, "index n₋ (directions of descent)", "loss", lines=lines, points=points)
