"""Attacks that look for the smallest change: DeepFool, and the radius of each image."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from leadline import robustness
from leadline.claims.robustness.attacks.attacks import linear_rows
from leadline.claims.scenarios.robustness.digits import (
    correct_images,
    decisions,
    digit_scores,
    softmax_regression,
    standard_network,
    test_images,
)
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, exactly, frequency, instrument, method
from leadline.presentation import figure
from leadline.robustness.attacks.attack_radii import best_of

NORMS = {"2": 2.0, "inf": math.inf}


@method(sources=("eth", "sheet"))
def deepfool(key, norm: OneOf("2", "inf") = "2", network: Int(0, 4) = 0, bend: Real(0.0, 1.0) = 0.9):
    r"""DeepFool minimal attack.

    Linearise all scores at the current point, step to the nearest tie, and repeat until the class at x + 1.02 η is
    another: this takes one step and is exact for linear scores. On the digits network all attacks succeed in hardly
    more than one step, within 15 % of a bisection over PGD in the median.

    $$\eta \leftarrow \eta + \frac{|f_k - f_y|}{\|w_k\|_q} u_k, \quad
    k = \mathrm{argmin}_k \frac{|f_k - f_y|}{\|w_k\|_q}, \quad w_k = \nabla (f_k - f_y),
    \; u_k = \mathrm{argmax}_{\|u\|_p \le 1} w_k \cdot u$$

    Assumes: the network's ratios are a measurement; inputs are not clipped.

    Check: Softmax regression and the MLP 64-128-128-10 are attacked on 100 test digits each. The path to the boundary
    is also shown in the plane, where the boundary goes from a line to an ellipse as `bend` grows from 0 to 1.
    """
    p = NORMS[norm]
    line = softmax_regression()
    images = test_images().images[:100]
    found = robustness.deepfool(linear_rows, jax.tree.map(jnp.asarray, line), images, p=p)
    exact = robustness.boundary_distances(line, images, p).min(axis=1)
    yield close(found.on_boundary, exact, "linear scores: length of η, against the exact distance", rtol=1e-9)
    yield exactly(found.steps, 1, "linear scores: linearisations needed")
    net = standard_network(network)
    images, labels = correct_images(net, 100)
    found = robustness.deepfool(digit_scores, net, images, p=p)
    yield exactly(found.fooled.sum(), len(images), "network: decisions changed, as DeepFool says")
    changed = decisions(net, found.inputs) != labels
    yield exactly(changed.sum(), len(images), "network: decisions changed, as the network decides")
    lengths = np.asarray(found.lengths)
    slow = robustness.pgd_radii(digit_scores, net, images, labels, p=p, first=lengths, halvings=6)
    ratio = np.median(lengths / slow.radii)
    yield at_most(ratio, 1.15, "network: median length over that of the bisection over PGD").as_empirical()
    start, share = jnp.array([[1.6, 1.5]]), jnp.asarray(bend)
    ends = [robustness.deepfool(_curved, share, start, p=p, max_steps=m).inputs[0] for m in range(7)]
    path = np.asarray(start + (jnp.stack(ends) - start) / 1.02)
    side = np.linspace(-1.6, 2.0, 67)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    regions = (side, side, _curved(share, jnp.asarray(plane)).argmax(axis=1).reshape(67, 67))
    steps = (np.abs(np.diff(path, axis=0)).max(axis=1) > 0).sum()
    digits = f"{found.steps.mean():.2f} on digits on average, with {ratio:.2f} times the length of PGD"
    title = f"Linearisations until the boundary: {steps} here, {digits}"
    points = {"iterates": path, "start": path[:1]}
    yield figure.plane(title, "x₁", "x₂", regions=regions, lines={"path": path.T}, points=points)


def _curved(bend: jax.Array, inputs: jax.Array) -> jax.Array:
    """Two classes in the plane: inside or outside of an ellipse (bend 1), on either side of a line (bend 0)."""
    ellipse = inputs[:, 0] ** 2 + 2 * inputs[:, 1] ** 2 - 1
    line = inputs[:, 0] + 0.5 * inputs[:, 1] - 1
    return jnp.stack([jnp.zeros(len(inputs)), bend * ellipse + (1 - bend) * line], axis=1)


@instrument(sources=("eth", "sheet"), shows=("robustness.radius_curve",), empirical=True)
def adversarial_radius(key, norm: OneOf("2", "inf") = "2", network: Int(0, 4) = 0):
    r"""Adversarial radius found by attacks.

    The smallest change of each image that DeepFool or a bisection over PGD finds: an upper bound on its true radius,
    exact for linear scores. On the digits network half the images are fooled by a change of about 0.48 in the 2-norm,
    an eighth of the length of a typical image.

    $$\hat r(x) = \min \{ \|\eta\|_p : \eta \; \mathrm{found}, \; f(x + \eta) \ne f(x) \} \ge r(x)$$

    Assumes: inputs are not clipped; the network's radii are a measurement.

    Check: The attacks use 100 correctly classified test digits, first for softmax regression, then for the MLP
    64-128-128-10.
    """
    p = NORMS[norm]
    line = softmax_regression()
    images = test_images().images[:100]
    decided = line(images).argmax(axis=1)
    rows = jax.tree.map(jnp.asarray, line)
    found = robustness.smallest_radii(linear_rows, rows, images, decided, p=p, halvings=6)
    exact = robustness.boundary_distances(line, images, p).min(axis=1)
    yield close(found.radii, exact, "linear scores: radius found, against the exact distance", rtol=1e-4)
    yield at_least(found.radii, exact, "linear scores: radius found, never below the exact distance", rtol=1e-9)
    net = standard_network(network)
    images, labels = correct_images(net, 100)
    quick = robustness.deepfool_radii(digit_scores, net, images, labels, p=p)
    slow = robustness.pgd_radii(digit_scores, net, images, labels, p=p, first=quick.radii, halvings=8)
    best = best_of(quick, slow)
    yield exactly(np.isfinite(best.radii).sum(), len(images), "network: images that were fooled, as the attacks say")
    became = decisions(net, best.inputs)
    yield exactly((became != labels).sum(), len(images), "network: images that were fooled, as the network decides")
    found = robustness.p_norm(best.inputs - images, p)
    yield close(found, best.radii, "network: length of the change, against the radius said", rtol=1e-9)
    if p == 2:
        below = (slow.radii < 0.490).sum()
        yield frequency(below, len(images), 0.5, "network: share fooled below 0.490, the median of an earlier run")
    middle, quickly, slowly = (np.median(f.radii) for f in (best, quick, slow))
    medians = f"(DeepFool {quickly:.3f}, PGD {slowly:.3f})"
    yield figure.histogram(
        f"Half the digits are fooled by a change of {middle:.3f} {medians}",
        f"smallest ‖η‖ found, p = {'∞' if p > 2 else 2}",
        samples={"DeepFool": quick.radii, "bisection over PGD": slow.radii},
        rules={f"median {middle:.3f}": ("x", middle)},
        bins=25,
    )
    shown = []
    for x, moved, label, other in zip(images[:6], best.inputs[:6], labels[:6], became[:6], strict=True):
        shown += [(f"{label}", x), ("η × 10", 0.5 + 5 * (moved - x)), (f"{other}", moved)]
    shown = [(label, np.clip(image, 0, 1).reshape(8, 8)) for label, image in shown]
    title = (
        f"Each digit, its smallest change found (× 10, grey: none), and what is now another digit; median {middle:.3f}"
    )
    yield figure.images(title, images=shown, columns=9)
