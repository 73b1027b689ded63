"""How strong attacks are: a detector that sees small margins, and one step against many."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, robustness
from leadline.claims.robustness.attacks.attacks import linear_rows
from leadline.claims.scenarios.robustness.digits import (
    LabelledImages,
    correct_images,
    decisions,
    digit_scores,
    softmax_regression,
    standard_network,
    test_images,
    untrained_network,
)
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, smaller
from leadline.presentation import figure
from leadline.robustness.linear_distances import LinearScores


@claim(sources=("sheet",), shows=("robustness.runner_up_margin",), empirical=True)
def boundary_detector(
    key, overshoot: Real(0.005, 0.05, log=True) = 0.02, network: Int(0, 4) = 0, factor: Real(2.0, 4.0) = 2.0
):
    r"""Small margins betray minimal attacks.

    A smallest adversarial change ends just across the boundary, so a small margin gives it away. An attack that goes
    further, such as PGD at twice the radius, has margins like those of clean images, or larger ones, and this detector
    no longer sees it.

    $$\mathrm{AUC} = P(m(x_{\mathrm{adv}}) < m(x_{\mathrm{clean}})), \quad m = f_{(1)} - f_{(2)}$$

    Assumes: a measurement on one network and 100 test digits.

    Check: The margins of 100 clean digits are compared with those of DeepFool's images and of PGD's images at `factor`
    times DeepFool's length. Inputs are not clipped.
    """
    net = standard_network(network)
    images, labels = correct_images(net, 100)
    found = robustness.deepfool(digit_scores, net, images, overshoot=overshoot)
    lengths = np.asarray(found.lengths)
    strong = robustness.pgd(digit_scores, net, images, labels, factor * lengths, p=2.0, num_steps=20, loss="margin")
    back = robustness.deepfool(digit_scores, net, found.inputs, overshoot=overshoot)
    groups = {"clean": images, "DeepFool": np.asarray(found.inputs), "PGD": np.asarray(strong.inputs)}
    margins = {name: _margin(net, inputs) for name, inputs in groups.items()}
    seen, missed = (_auc(margins[name], margins["clean"]) for name in ("DeepFool", "PGD"))
    yield exactly(np.asarray(strong.fooled).sum(), len(images), "images that PGD fools")
    yield at_least(seen, 0.95, "AUC of a small margin as the sign of DeepFool", strict=True)
    yield smaller(margins["DeepFool"], margins["PGD"], "margins of DeepFool's images against those of PGD's")
    yield at_most(missed, seen, "AUC against PGD at a larger radius, below that against DeepFool", strict=True)
    away = _auc(np.asarray(back.lengths), lengths)
    yield at_least(away, 0.95, "AUC of a short second DeepFool step as the sign of the first", strict=True)
    misses = f"misses PGD's at {factor:g} times the length (AUC {missed:.2f})"
    title = f"A small margin finds DeepFool's images (AUC {seen:.2f}) and {misses}"
    yield figure.histogram(title, "margin of the decision", samples=margins, bins=30)


def _margin(net: networks.MLP, inputs: np.ndarray) -> np.ndarray:
    scores = np.sort(np.asarray(digit_scores(net, jnp.asarray(inputs))), axis=1)
    return scores[:, -1] - scores[:, -2]


def _auc(flagged: np.ndarray, usual: np.ndarray) -> float:
    """P(flagged < usual) + P(equal)/2: the area under the ROC curve of the rule "small is suspicious"."""
    a, b = flagged[:, None], usual[None, :]
    return float((a < b).mean() + (a == b).mean() / 2)


@claim(sources=("eth", "sheet"), slow="about 10 seconds", empirical=True)
def single_step_gap(key, eps: Real(0.1, 0.4) = 0.3, epochs: Int(20, 120) = 60, network: Int(0, 4) = 0):
    r"""The gap between FGSM and PGD.

    Many steps are at least as strong as one: there is no gap for two classes with linear scores, and one that grows
    with ε for a network. A network trained against the single step can look robust to it and not be: the gap to PGD,
    and transferred attacks stronger than those of its own gradient, reveal it.

    $$\mathrm{acc}_{\mathrm{PGD}}(\epsilon) \le \mathrm{acc}_{\mathrm{FGSM}}(\epsilon)$$

    Assumes: on networks this is a measurement; that there is no gap needs two classes with linear scores.

    Check: The attacks are run on 500 test digits. The second network, 64-128-128-10, is trained against one step of
    size `eps` for `epochs` epochs.
    """
    images, labels = test_images()
    grid = np.array([0.0, 0.05, 0.1, 0.15, 0.2, 0.3])
    pair = np.flatnonzero((labels == 3) | (labels == 8))
    line = softmax_regression()
    two = LinearScores(jnp.asarray(line.weights[[3, 8]]), jnp.asarray(line.bias[[3, 8]]))
    kept = LabelledImages(images[pair], (labels[pair] == 8).astype(int))
    gaps, pixels = [], {"box": robustness.Box(0.0, 1.0)}
    for size in (0.05, 0.2):
        many = robustness.pgd(linear_rows, two, *kept, size, num_steps=10, **pixels)
        one = robustness.fgsm(linear_rows, two, *kept, size, **pixels)
        single = robustness.attack_losses(linear_rows(two, one), jnp.asarray(kept.labels), "cross-entropy")
        gaps.append(many.loss - single)
    yield close(gaps, 0.0, "3 against 8, linear: loss of PGD less that of FGSM", atol=1e-9)
    net = standard_network(network)
    key_train, key_attack = jax.random.split(key)
    rows, start = data.digits_split()[:2], untrained_network(network)
    options = {"eps": eps, "epochs": epochs, "inner": 1, "key": key_train}
    trained = robustness.adversarial_training(digit_scores, start, *rows, **options, **pixels).params
    hard = jax.tree.map(lambda a: a.astype(float), trained)
    ours, theirs = (_both(model, images, labels, grid, key_attack) for model in (net, hard))
    yield at_most(ours[1, 1:], ours[0, 1:], "standard network: accuracy under PGD, against FGSM")
    yield at_most(theirs[1, 1:], theirs[0, 1:], "trained on FGSM: accuracy under PGD, against FGSM")
    at = int(np.abs(grid - eps).argmin())
    gained = theirs[0, at] - ours[0, at]
    yield at_least(gained, 0.0, f"gain by training on FGSM against FGSM at ε = {grid[at]:g}", strict=True)
    borrowed = robustness.pgd(digit_scores, net, images, labels, grid[at], starts=3, key=key_attack, **pixels).inputs
    transferred = (decisions(hard, borrowed) == labels).mean()
    own, strong = theirs[:, at]
    told = ("collapse" if own - strong > 0.3 else "no collapse") + ", masking alarm" * bool(transferred < own)
    points = {}
    for name, (one, many) in {"standard": ours, "trained on FGSM": theirs}.items():
        points |= {f"{name}: FGSM": (grid, one), f"{name}: PGD": (grid, many)}
    title = (
        f"FGSM training, ε = {grid[at]:g}: {own:.2f} right under FGSM, {strong:.2f} under PGD, {transferred:.2f} under "
        f"borrowed PGD: {told}"
    )
    yield figure.curves(title, "ε (pixels in [0, 1])", "accuracy on 500 test digits", points=points)


def _both(net: networks.MLP, images: np.ndarray, labels: np.ndarray, grid: np.ndarray, key) -> np.ndarray:
    """Accuracies under FGSM and PGD, at each ε."""
    one, many = [], []
    for size in grid:
        attacked = robustness.fgsm(digit_scores, net, images, labels, size, box=robustness.Box(0.0, 1.0))
        one.append((decisions(net, attacked) == labels).mean())
        found = robustness.pgd(digit_scores, net, images, labels, size, starts=3, key=key, box=robustness.Box(0.0, 1.0))
        many.append(1 - np.asarray(found.fooled).mean())
    return np.array([one, many])
