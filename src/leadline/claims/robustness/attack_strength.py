"""How strong attacks are: a detector that sees small margins, and one step against many."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, robustness
from leadline.claims.robustness.attacks import linear_rows
from leadline.claims.robustness.trained_networks import (
    LabelledImages,
    correct_images,
    decisions,
    digit_scores,
    softmax_regression,
    standard_network,
    test_images,
    untrained_network,
)
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    smaller,
)


@claim(
    "boundary-detector",
    says=(
        "A smallest change ends just across the boundary, so that a small margin gives it away; an attack that goes "
        "on, PGD at twice the radius, has margins like those of clean images, or larger ones, and this detector no "
        "longer sees it."
    ),
    formula=r"AUC = P(m(x_{adv}) < m(x_{clean})), \quad m = f_{(1)} - f_{(2)}",
    sources=("sheet",),
    assumes=("a measurement on one network and 100 test digits",),
    shows=("robustness.deepfool", "robustness.runner_up_margin"),
    empirical=True,
)
def boundary_detector(
    key,
    overshoot: Annotated[float, Range(0.005, 0.05, log=True)] = 0.02,
    network: Annotated[int, Range(0, 4)] = 0,
    factor: Annotated[float, Range(2.0, 4.0)] = 2.0,
):
    """Margins of 100 clean digits, of DeepFool's, and of PGD's at `factor` times DeepFool's length; not clipped."""
    net = standard_network(network)
    images, labels = correct_images(net, 100)
    found = robustness.deepfool(digit_scores, net, images, overshoot=overshoot)
    lengths = np.asarray(found.lengths)
    strong = robustness.pgd(digit_scores, net, images, labels, factor * lengths, p=2.0, steps=20, loss="margin")
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
    yield figure.histogram(
        f"A small margin finds DeepFool's images (AUC {seen:.2f}) and misses PGD's at {factor:g} times the length "
        f"(AUC {missed:.2f})",
        x="margin of the decision",
        samples=margins,
        bins=30,
    )


def _margin(net: networks.MLP, inputs: np.ndarray) -> np.ndarray:
    scores = np.sort(np.asarray(digit_scores(net, jnp.asarray(inputs))), axis=1)
    return scores[:, -1] - scores[:, -2]


def _auc(flagged: np.ndarray, usual: np.ndarray) -> float:
    """P(flagged < usual) + P(equal)/2: the area under the ROC curve of the rule "small is suspicious"."""
    a, b = flagged[:, None], usual[None, :]
    return float((a < b).mean() + (a == b).mean() / 2)


@claim(
    "single-step-gap",
    says=(
        "Many steps are at least as strong as one: no gap for two classes with linear scores, one that grows with ε "
        "for a network. A network trained against the single step can look robust to it and not be: the gap to PGD, "
        "and transferred attacks stronger than its own gradient, tell."
    ),
    formula=r"acc_{PGD}(\epsilon) \le acc_{FGSM}(\epsilon)",
    sources=("eth", "sheet"),
    assumes=("on networks a measurement; no gap: two classes, linear scores",),
    shows=("robustness.fgsm", "robustness.pgd", "robustness.adversarial_training"),
    slow="about 10 seconds",
    empirical=True,
)
def single_step_gap(
    key,
    eps: Annotated[float, Range(0.1, 0.4)] = 0.3,
    epochs: Annotated[int, Range(20, 120)] = 60,
    network: Annotated[int, Range(0, 4)] = 0,
):
    """500 test digits; the second network, 64-128-128-10, is trained against one step of `eps` for `epochs` epochs."""
    images, labels = test_images()
    grid = np.array([0.0, 0.05, 0.1, 0.15, 0.2, 0.3])
    pair = np.flatnonzero((labels == 3) | (labels == 8))
    line = softmax_regression()
    two = robustness.LinearScores(jnp.asarray(line.weights[[3, 8]]), jnp.asarray(line.bias[[3, 8]]))
    kept = LabelledImages(images[pair], (labels[pair] == 8).astype(int))
    gaps = []
    for size in (0.05, 0.2):
        many = robustness.pgd(linear_rows, two, *kept, size, steps=10, low=0.0, high=1.0)
        one = robustness.fgsm(linear_rows, two, *kept, size, low=0.0, high=1.0)
        single = np.asarray(robustness.attack_losses(linear_rows(two, one), jnp.asarray(kept.labels), "cross-entropy"))
        gaps.append(np.asarray(many.loss) - single)
    yield close(np.stack(gaps), 0.0, "3 against 8, linear: loss of PGD less that of FGSM", atol=1e-9)

    net = standard_network(network)
    key_train, key_attack = jax.random.split(key)
    train_images, train_labels, *_ = data.digits_split()
    trained = robustness.adversarial_training(
        digit_scores, untrained_network(network), train_images, train_labels, eps=eps, epochs=epochs, inner=1,
        low=0.0, high=1.0, key=key_train,
    ).params  # fmt: skip
    hard = jax.tree.map(lambda a: a.astype(float), trained)
    curves = {}
    for name, model in (("standard", net), ("trained on FGSM", hard)):
        curves[f"{name}: FGSM"], curves[f"{name}: PGD"] = _both(model, images, labels, grid, key_attack)
    rows = range(1, len(grid))
    ours = [(curves["standard: PGD"][i], curves["standard: FGSM"][i]) for i in rows]
    yield at_most([a for a, _ in ours], [b for _, b in ours], "standard network: accuracy under PGD, against FGSM")
    theirs = [(curves["trained on FGSM: PGD"][i], curves["trained on FGSM: FGSM"][i]) for i in rows]
    yield at_most([a for a, _ in theirs], [b for _, b in theirs], "trained on FGSM: accuracy under PGD, against FGSM")
    at = int(np.abs(grid - eps).argmin())
    gained = curves["trained on FGSM: FGSM"][at] - curves["standard: FGSM"][at]
    yield at_least(gained, 0.0, f"gain by this training against FGSM at ε = {grid[at]:g}", strict=True)
    borrowed = robustness.pgd(
        digit_scores, net, images, labels, grid[at], starts=3, key=key_attack, low=0.0, high=1.0
    ).inputs
    transferred = float((decisions(hard, borrowed) == labels).mean())
    own, strong = curves["trained on FGSM: FGSM"][at], curves["trained on FGSM: PGD"][at]
    collapsed = own - strong > 0.3
    alarm = ", masking alarm" if transferred < own else ""
    yield figure.curves(
        f"FGSM training, ε = {grid[at]:g}: {own:.2f} right under FGSM, {strong:.2f} under PGD, {transferred:.2f} under "
        f"borrowed PGD: {'collapse' if collapsed else 'no collapse'}{alarm}",
        x="ε (pixels in [0, 1])",
        y="accuracy on 500 test digits",
        points={name: (grid, values) for name, values in curves.items()},
    )


def _both(net: networks.MLP, images: np.ndarray, labels: np.ndarray, grid: np.ndarray, key) -> tuple[list, list]:
    """Accuracies under FGSM and PGD at each ε."""
    one, many = [], []
    for size in grid:
        attacked = robustness.fgsm(digit_scores, net, images, labels, size, low=0.0, high=1.0)
        one.append(float((decisions(net, attacked) == labels).mean()))
        found = robustness.pgd(digit_scores, net, images, labels, size, starts=3, key=key, low=0.0, high=1.0)
        many.append(1 - float(np.asarray(found.fooled).mean()))
    return one, many
