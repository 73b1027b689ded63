"""Gradient attacks: one step, many with a true projection, what rescaling in its place does, and DeepFool."""

import math
from itertools import product
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, robustness
from leadline.claims.robustness.trained_networks import (
    decisions,
    digit_scores,
    standard_network,
    test_images,
)
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, mean, method, printed

REFERENCE_EPS = np.array([0.05, 0.1, 0.2])


def linear_rows(scores: robustness.LinearScores, inputs: jax.Array) -> jax.Array:
    """A linear classifier as attacks take it: its weights are the parameters."""
    return inputs @ scores.weights.T + scores.bias


@method(
    "fgsm",
    says=(
        "One step of ascent, ε times the sign of the loss gradient in x (not descent). For two classes with linear "
        "scores it is the best change of its size: the margin falls by exactly ε‖w‖₁. Pixels without gradient stay. On "
        "a network it fools far more images than noise of the same size."
    ),
    formula=r"\eta = \epsilon \, sign(\nabla_x \ell), \quad w \cdot (x + \eta) = w \cdot x - \epsilon \|w\|_1",
    sources=("eth", "sheet"),
    assumes=("exactness: two classes with linear scores", "the network's accuracies are a measurement"),
    shows=("robustness.fgsm",),
)
def fgsm(
    key,
    dim: Annotated[int, Range(2, 10)] = 8,
    eps: Annotated[float, Range(0.01, 0.3, log=True)] = 0.1,
    network: Annotated[int, Range(0, 4)] = 0,
):
    """A random linear score against all 2^d sign patterns; then the MLP 64-128-128-10 on 500 test digits in [0, 1]."""
    rng = data.generator(key)
    w = rng.normal(size=dim) * (np.arange(dim) != 1)  # one weight is 0
    line = robustness.LinearScores(jnp.stack([jnp.zeros(dim), jnp.asarray(w)]), jnp.array([0.0, 0.3]))
    x = rng.normal(size=(20, dim))
    moved = np.asarray(robustness.fgsm(linear_rows, line, x, np.ones(20, int), eps))
    fall = (x - moved) @ w
    yield close(fall, eps * np.abs(w).sum(), "linear score: fall of the margin, ε‖w‖₁", rtol=1e-12, atol=1e-12)
    signs = np.array(list(product((-1.0, 1.0), repeat=dim)))
    best = float((-eps * signs @ w).max())
    yield close(best, eps * np.abs(w).sum(), f"largest fall among all {2**dim} sign patterns", rtol=1e-12)
    yield exactly(moved[:, 1], x[:, 1], "pixels whose gradient is 0 stay: sign(0) = 0")
    yield printed(
        close((x - (2 * x - moved)) @ w, eps * np.abs(w).sum(), "fall of the margin after x − ε sign(∇ℓ)", rtol=1e-9),
        "eth",
        "one step of gradient descent on the loss",
    )

    net, (images, labels) = standard_network(network), test_images()
    grid = np.unique([0.0, *REFERENCE_EPS, 0.15, 0.3, eps])
    noise = rng.choice([-1.0, 1.0], size=images.shape)
    hit, noisy = np.zeros((2, len(grid), len(labels)), bool)
    for i, size in enumerate(grid):
        attacked = np.asarray(robustness.fgsm(digit_scores, net, images, labels, size, low=0.0, high=1.0))
        hit[i] = decisions(net, attacked) == labels
        noisy[i] = decisions(net, np.clip(images + size * noise, 0, 1)) == labels
    at = list(grid).index(eps)
    yield at_most(np.abs(attacked - images).max(), grid[-1], "largest change of a pixel", rtol=1e-12)
    yield mean(
        noisy[at].astype(float) - hit[at], 0.0, "network: accuracy under noise, less that under FGSM", side="at least"
    )
    accuracy = hit.mean(axis=1)
    seen = [accuracy[list(grid).index(e)] for e in REFERENCE_EPS]
    yield figure.curves(
        f"FGSM leaves {seen[0]:.3f}, {seen[1]:.3f}, {seen[2]:.3f} of the digits right at ε = 0.05, 0.1, 0.2; clean: "
        f"{accuracy[0]:.3f}",
        x="ε (pixels in [0, 1])",
        y="accuracy on 500 test digits",
        lines={"an earlier run": (REFERENCE_EPS, [0.865, 0.527, 0.044])},
        points={"FGSM": (grid, accuracy), "random signs": (grid, noisy.mean(axis=1))},
    )


@method(
    "pgd",
    says=(
        "Ascend, project onto the ball, clip to the pixel range, from several starts, and keep the best: the "
        "largest loss met never falls with steps or starts; started at x with steps of length ε it is at least "
        "that of one step."
    ),
    formula=r"\eta \leftarrow \Pi_{\|\eta\|_p \le \epsilon} \left(\eta + a \, d(\nabla_x \ell(x + \eta))\right)",
    sources=("eth", "sheet"),
    shows=("robustness.pgd", "robustness.project"),
)
def pgd(
    key,
    norm: Annotated[str, Choice("inf", "2")] = "inf",
    loss: Annotated[str, Choice("cross-entropy", "margin", "targeted")] = "cross-entropy",
    eps: Annotated[float, Range(0.01, 0.3, log=True)] = 0.1,
    network: Annotated[int, Range(0, 4)] = 0,
):
    """40 steps from 3 starts against the MLP 64-128-128-10 on 500 test digits; 2-norm budgets are 4ε."""
    p = math.inf if norm == "inf" else 2.0
    size = eps if norm == "inf" else 4 * eps
    net, (images, labels) = standard_network(network), test_images()
    aim = (labels + 1) % 10 if loss == "targeted" else labels

    def attack(budget: float, step: float | None = None) -> robustness.Attack:
        found = robustness.pgd(
            digit_scores, net, images, aim, budget, p=p, step=step, starts=3, key=key, low=0.0, high=1.0, loss=loss
        )
        return robustness.Attack(*(np.asarray(part) for part in found))

    found = attack(size)
    yield at_least(np.diff(found.best, axis=1), 0.0, "growth of the largest loss, step by step")
    yield at_least(found.loss, found.best[0, -1], "largest loss of 3 starts, against the first alone")
    eta = found.inputs - images
    yield at_most(robustness.p_norm(eta, p), size, "length of every change", rtol=1e-9)
    yield at_least(found.inputs, 0.0, "pixels found, at least 0")
    yield at_most(found.inputs, 1.0, "pixels found, at most 1")
    whole = attack(size, step=size)
    one = robustness.fgsm(digit_scores, net, images, aim, size, low=0.0, high=1.0, loss=loss, p=p)
    single = np.asarray(robustness.attack_losses(digit_scores(net, one), jnp.asarray(aim), loss))
    yield at_least(whole.loss, single, "loss with steps of length ε, against one step", atol=1e-9)
    again = decisions(net, found.inputs)
    yield exactly(again == aim if loss == "targeted" else again != aim, found.fooled, "what is said to fool does fool")
    factor = 1.0 if norm == "inf" else 4.0
    table = [1 - attack(factor * e).fooled.mean() for e in REFERENCE_EPS]
    time = np.arange(found.best.shape[1])
    spots = np.unique(np.geomspace(1, time[-1], 14).round().astype(int))
    told = ", ".join(f"{v:.3f}" for v in table)
    yield figure.curves(
        f"PGD, ε = {eps:g}: mean loss {found.best[:, -1].mean(axis=1).max():.2f} from the best start; not fooled at "
        f"{'4ε' if p == 2 else 'ε'} = {', '.join(f'{factor * e:g}' for e in REFERENCE_EPS)}: {told}",
        x="steps",
        y="largest loss so far, mean of 500 digits",
        lines={"one step (FGSM)": ([1, time[-1]], [single.mean()] * 2)},
        points={
            f"start {i + 1}" + (" (x itself)" if i == 0 else ""): (spots, found.best[i].mean(axis=1)[spots])
            for i in range(3)
        },
    )


@claim(
    "projection-is-not-rescaling",
    says=(
        "z → εz/‖z‖, printed as the projection, pushes every point to the sphere and, for p = ∞, bends it; the "
        "projection leaves inner points alone and clips coordinates. With rescaling, ascent misses a maximum inside "
        "the ball, and attacks on digits are no stronger on average."
    ),
    formula=r"\Pi_\infty(z) = clip(z, -\epsilon, \epsilon) \ne \epsilon z / \|z\|_\infty",
    sources=("eth", "sheet"),
    assumes=("the comparison on digits is a measurement",),
    shows=("robustness.project", "robustness.rescale"),
)
def projection_is_not_rescaling(
    key,
    centre: Annotated[float, Range(0.1, 0.9)] = 0.3,
    eps: Annotated[float, Range(0.05, 0.2, log=True)] = 0.1,
    network: Annotated[int, Range(0, 4)] = 0,
):
    """ℓ(η) = −‖η − c‖² with ‖c‖ = `centre` inside the unit ball; then PGD with either map on 500 test digits."""
    rng = data.generator(key)
    z = np.array([2.0, 0.5])
    yield close(robustness.project(z, 1.0, math.inf), [1.0, 0.5], "projection of (2, 0.5), ε = 1, p = ∞", atol=1e-15)
    rescaled = robustness.rescale(z, 1.0, math.inf)
    yield close(rescaled, [1.0, 0.25], "rescaled (2, 0.5)", atol=1e-15)
    form = "Proj(z) = ε z/‖z‖"
    for source in ("eth", "sheet"):
        yield printed(
            close(rescaled, [1.0, 0.5], "rescaled (2, 0.5), against the nearest point", atol=1e-6), source, form
        )
    angle = rng.uniform(0, 2 * np.pi)
    c = centre * np.array([np.cos(angle), np.sin(angle)])
    start = robustness.rescale(rng.normal(size=2), 0.9, 2)
    paths = {}
    for name, onto in (("projection", robustness.project), ("rescaling", robustness.rescale)):
        eta, values = start, []
        for _ in range(2000):
            values.append(-((eta - c) ** 2).sum())
            eta = onto(eta - 0.1 * (eta - c), 1.0, 2)
        paths[name] = np.array(values)
    yield close(paths["projection"][-1], 0.0, "concave loss, projection: last value, the maximum", atol=1e-12)
    yield close(
        paths["rescaling"][-1], -((1 - centre) ** 2), "concave loss, rescaling: last value, −(1 − ‖c‖)²", rtol=1e-6
    )
    yield printed(close(paths["rescaling"][-1], 0.0, "concave loss, rescaling: the maximum", atol=1e-3), "eth", form)

    net, (images, labels) = standard_network(network), test_images()
    losses = {}
    for name, onto in (("projection", robustness.project), ("rescaling", robustness.rescale)):
        found = robustness.pgd(digit_scores, net, images, labels, eps, starts=3, key=key, low=0.0, high=1.0, onto=onto)
        losses[name] = np.asarray(found.loss)
    gain = losses["projection"] - losses["rescaling"]
    yield mean(gain, 0.0, "digits: loss found with the projection, less that with rescaling", side="at least")
    grid = np.stack(np.meshgrid(np.linspace(-1.8, 1.8, 9), np.linspace(-1.8, 1.8, 9)), axis=-1).reshape(-1, 2)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]], float)
    panels = [
        figure.plane(
            f"{name}, p = ∞, ε = 1",
            x="z₁",
            y="z₂",
            points={"z": grid, name: onto(grid, 1.0, math.inf)},
            lines={"‖z‖ = 1": (square[:, 0], square[:, 1])},
            domain=((-2, 2), (-2, 2)),
        )
        for name, onto in (("projection", robustness.project), ("rescaling", robustness.rescale))
    ]
    spots = np.unique(np.geomspace(1, 100, 20).round().astype(int))
    panels.append(
        figure.curves(
            f"Concave loss: {abs(paths['projection'][-1]):.2f} and {paths['rescaling'][-1]:.2f}",
            x="steps",
            y="loss",
            lines={"−(1 − ‖c‖)²": ([1, 100], [-((1 - centre) ** 2)] * 2), "maximum": ([1, 100], [0.0, 0.0])},
            points={name: (spots, path[spots]) for name, path in paths.items()},
        )
    )
    yield figure.beside(
        f"Rescaling ends at {paths['rescaling'][-1]:.2f} where the projection finds 0; on digits it finds "
        f"{gain.mean():.3g} less loss",
        *panels,
        columns=3,
    )
