"""Attacks that look for the smallest change: DeepFool, and the radius of each image."""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import robustness
from leadline.claims.robustness.attacks import linear_rows
from leadline.claims.robustness.trained_networks import (
    correct_images,
    decisions,
    digit_scores,
    softmax_regression,
    standard_network,
    test_images,
)
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    close,
    exactly,
    figure,
    frequency,
    instrument,
    method,
    printed,
)

NORMS = {"2": 2.0, "inf": math.inf}


@method(
    "deepfool",
    says=(
        "Linearise all scores where you are, step to the nearest tie, repeat until the class at x + 1.02 η is another: "
        "one step and exact for linear scores. On the digits network all succeed in hardly more than one step, within "
        "15 % of a bisection over PGD in the median."
    ),
    formula=r"\eta \leftarrow \eta + \frac{|f_k - f_y|}{\|w_k\|_q} u_k, \quad k = argmin \frac{|f_k - f_y|}{\|w_k\|_q}",
    sources=("eth", "sheet"),
    assumes=("the network's ratios are a measurement", "inputs are not clipped"),
    shows=("robustness.deepfool",),
)
def deepfool(
    key,
    norm: Annotated[str, Choice("2", "inf")] = "2",
    network: Annotated[int, Range(0, 4)] = 0,
    bend: Annotated[float, Range(0.0, 1.0)] = 0.9,
):
    """Softmax regression and the MLP 64-128-128-10, 100 test digits each; an ellipse in the plane, curved by `bend`."""
    p = NORMS[norm]
    line = softmax_regression()
    images = test_images().images[:100]
    found = robustness.deepfool(linear_rows, jax.tree.map(jnp.asarray, line), images, p=p)
    exact = robustness.boundary_distances(line, images, p).min(axis=1)
    yield close(found.on_boundary, exact, "linear scores: length of η, against the exact distance", rtol=1e-9)
    yield exactly(found.steps, 1, "linear scores: linearisations")

    net = standard_network(network)
    images, labels = correct_images(net, 100)
    found = robustness.deepfool(digit_scores, net, images, p=p)
    yield exactly(np.asarray(found.fooled).sum(), len(images), "network: decisions changed")
    changed = decisions(net, found.inputs) != labels
    yield exactly(changed.sum(), len(images), "network: decisions changed, looked at again")
    lengths = np.asarray(found.lengths)
    slow = robustness.pgd_radii(digit_scores, net, images, labels, p=p, first=lengths, halvings=6)
    ratio = float(np.median(lengths / slow.radii))
    yield at_most(ratio, 1.15, "network: median length over that of the bisection over PGD")
    f = np.asarray(digit_scores(net, jnp.asarray(images[:1])))[0]
    yield printed(exactly((f > f).any(), True, "some f_i > f_i"), "eth", "until f_i(x) > f_i(x)")

    start, share = jnp.array([[1.6, 1.5]]), jnp.asarray(bend)
    shown = [np.asarray(robustness.deepfool(_curved, share, start, p=p, most=m).inputs[0]) for m in range(7)]
    path = np.array([np.asarray(start[0]) + (s - np.asarray(start[0])) / 1.02 for s in shown])
    side = np.linspace(-1.6, 2.0, 67)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    regions = np.asarray(_curved(share, jnp.asarray(plane))).argmax(axis=1).reshape(67, 67)
    steps = int((np.abs(np.diff(path, axis=0)).max(axis=1) > 0).sum())
    yield figure.plane(
        f"Linearisations until the boundary: {steps} here, {np.asarray(found.steps).mean():.2f} on digits on average, "
        f"with {ratio:.2f} times the length of PGD",
        x="x₁",
        y="x₂",
        regions=(side, side, regions),
        lines={"path": (path[:, 0], path[:, 1])},
        points={"iterates": path, "start": path[:1]},
    )


def _curved(bend: jax.Array, inputs: jax.Array) -> jax.Array:
    """Two classes in the plane: inside or outside of an ellipse (bend 1), on either side of a line (bend 0)."""
    ellipse = inputs[:, 0] ** 2 + 2 * inputs[:, 1] ** 2 - 1
    line = inputs[:, 0] + 0.5 * inputs[:, 1] - 1
    return jnp.stack([jnp.zeros(len(inputs)), bend * ellipse + (1 - bend) * line], axis=1)


@instrument(
    "adversarial-radius",
    says=(
        "The smallest change of each image that DeepFool or a bisection over PGD finds: an upper bound of its true "
        "radius, exact for linear scores. On the digits network half the images are fooled by a change of about 0.48 "
        "in the 2-norm, an eighth of the length of a typical image."
    ),
    formula=r"\hat r(x) = \min \{ \|\eta\|_p : \eta \; found, \; f(x + \eta) \ne f(x) \} \ge r(x)",
    sources=("eth", "sheet"),
    assumes=("inputs are not clipped", "the network's radii are a measurement"),
    shows=("robustness.smallest_radii", "robustness.pgd_radii", "robustness.deepfool_radii", "robustness.radius_curve"),
    empirical=True,
)
def adversarial_radius(
    key,
    norm: Annotated[str, Choice("2", "inf")] = "2",
    network: Annotated[int, Range(0, 4)] = 0,
):
    """100 test digits that are classified rightly: softmax regression, then the MLP 64-128-128-10."""
    p = NORMS[norm]
    line = softmax_regression()
    images = test_images().images[:100]
    decided = line(images).argmax(axis=1)
    rows = jax.tree.map(jnp.asarray, line)
    found = robustness.smallest_radii(linear_rows, rows, images, decided, p=p, halvings=6)
    exact = robustness.boundary_distances(line, images, p).min(axis=1)
    yield close(found.radii, exact, "linear scores: radius found, against the exact distance", rtol=1e-4)
    yield at_least(found.radii, exact, "linear scores: never below the exact distance", rtol=1e-9)

    net = standard_network(network)
    images, labels = correct_images(net, 100)
    quick = robustness.deepfool_radii(digit_scores, net, images, labels, p=p)
    slow = robustness.pgd_radii(digit_scores, net, images, labels, p=p, first=quick.radii, halvings=8)
    best = robustness.best_of(quick, slow)
    yield exactly(np.isfinite(best.radii).sum(), len(images), "network: images that were fooled")
    yield exactly((decisions(net, best.inputs) != labels).sum(), len(images), "network: fooled, looked at again")
    yield close(
        robustness.p_norm(best.inputs - images, p), best.radii, "network: the change is as long as said", rtol=1e-9
    )
    if p == 2:
        below = int((slow.radii < 0.490).sum())
        yield frequency(below, len(images), 0.5, "network: share fooled below 0.490, the median of an earlier run")
    middle, middles = float(np.median(best.radii)), [float(np.median(f.radii)) for f in (quick, slow)]
    yield figure.histogram(
        f"Half the digits are fooled by a change of {middle:.3f}, p = {'∞' if p > 2 else 2} "
        f"(DeepFool {middles[0]:.3f}, PGD {middles[1]:.3f})",
        x=f"smallest ‖η‖ found, p = {'∞' if p > 2 else 2}",
        samples={"DeepFool": quick.radii, "bisection over PGD": slow.radii},
        rules={f"median {middle:.3f}": ("x", middle)},
        bins=25,
    )
    shown = []
    for i in range(6):
        eta = best.inputs[i] - images[i]
        became = int(decisions(net, best.inputs[i : i + 1])[0])
        shown += [(f"{labels[i]}", images[i]), ("η × 10", np.clip(0.5 + 5 * eta, 0, 1)), (f"{became}", best.inputs[i])]
    yield figure.images(
        f"Each digit, its smallest change found (× 10, grey: none), and what is now another digit; median {middle:.3f}",
        images=[(label, np.clip(image, 0, 1).reshape(8, 8)) for label, image in shown],
        columns=9,
    )
