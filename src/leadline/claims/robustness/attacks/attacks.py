"""Gradient attacks: one step, many with a true projection, and what rescaling in its place does."""

import math
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, robustness
from leadline.claims.scenarios.robustness.digits import decisions, digit_scores, standard_network, test_images
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum, exactly, mean, method
from leadline.presentation import figure
from leadline.robustness.attacks.gradient_attacks import Attack
from leadline.robustness.attacks.norm_projections import project, rescale
from leadline.robustness.linear_distances import LinearScores

REFERENCE_EPS = np.array([0.05, 0.1, 0.2])


def linear_rows(scores: LinearScores, inputs: jax.Array) -> jax.Array:
    """A linear classifier as attacks take it: its weights are the parameters."""
    return inputs @ scores.weights.T + scores.bias


@method(sources=("eth", "sheet"))
def fgsm(key, dim: Int(2, 10) = 8, eps: Real(0.01, 0.3, log=True) = 0.1, network: Int(0, 4) = 0):
    r"""Fast gradient sign method (FGSM).

    One step of ascent: ε times the sign of the gradient of the loss in x (not descent). For two classes with linear
    scores it is the best change of its size: the margin falls by exactly ε‖w‖₁. Pixels with zero gradient stay as they
    are. On a network it fools far more images than noise of the same size.

    $$\eta = \epsilon \, \mathrm{sign}(\nabla_x \ell), \quad w \cdot (x + \eta) = w \cdot x - \epsilon \|w\|_1$$

    Assumes: the step is exactly optimal for two classes with linear scores; the network's accuracies are a
    measurement.

    Check: A random linear score is attacked and compared with all 2ᵈ sign patterns. Then the MLP 64-128-128-10 is
    attacked on 500 test digits with pixels in [0, 1].
    """
    rng = data.generator(key)
    w = rng.normal(size=dim) * (np.arange(dim) != 1)  # one weight is 0
    line = LinearScores(jnp.stack([jnp.zeros(dim), jnp.asarray(w)]), jnp.array([0.0, 0.3]))
    x = rng.normal(size=(20, dim))
    moved = np.asarray(robustness.fgsm(linear_rows, line, x, np.ones(20, int), eps))
    fall = (x - moved) @ w
    yield close(fall, eps * np.abs(w).sum(), "linear score: fall of the margin, ε‖w‖₁", rtol=1e-12, atol=1e-12)
    signs = np.array(list(product((-1.0, 1.0), repeat=dim)))
    best = (-eps * signs @ w).max()
    yield close(best, eps * np.abs(w).sum(), f"largest fall among all {2**dim} sign patterns, ε‖w‖₁", rtol=1e-12)
    yield exactly(moved[:, 1], x[:, 1], "pixels whose gradient is 0, before and after: sign(0) = 0")
    net, (images, labels) = standard_network(network), test_images()
    grid = np.unique([0.0, *REFERENCE_EPS, 0.15, 0.3, eps])
    noise = rng.choice([-1.0, 1.0], size=images.shape)
    hit, noisy = np.zeros((2, len(grid), len(labels)), bool)
    for i, size in enumerate(grid):
        attacked = np.asarray(robustness.fgsm(digit_scores, net, images, labels, size, box=robustness.Box(0.0, 1.0)))
        hit[i] = decisions(net, attacked) == labels
        noisy[i] = decisions(net, np.clip(images + size * noise, 0, 1)) == labels
    at = list(grid).index(eps)
    yield at_most(np.abs(attacked - images).max(), grid[-1], "largest change of a pixel", rtol=1e-12)
    difference = noisy[at].astype(float) - hit[at]
    yield mean(difference, 0.0, "network: accuracy under noise, less that under FGSM", side="at least").as_empirical()
    accuracy = hit.mean(axis=1)
    seen = ", ".join(f"{accuracy[list(grid).index(e)]:.3f}" for e in REFERENCE_EPS)
    title = f"FGSM leaves {seen} of the digits right at ε = 0.05, 0.1, 0.2; clean: {accuracy[0]:.3f}"
    lines = {"an earlier run": (REFERENCE_EPS, [0.865, 0.527, 0.044])}
    points = {"FGSM": (grid, accuracy), "random signs": (grid, noisy.mean(axis=1))}
    yield figure.curves(title, "ε (pixels in [0, 1])", "accuracy on 500 test digits", lines=lines, points=points)


@method(sources=("eth", "sheet"))
def pgd(
    key,
    norm: OneOf("inf", "2") = "inf",
    loss: OneOf("cross-entropy", "margin", "targeted") = "cross-entropy",
    eps: Real(0.01, 0.3, log=True) = 0.1,
    network: Int(0, 4) = 0,
):
    r"""Projected gradient descent attack (PGD).

    Ascend, project onto the ball, clip to the pixel range, from several starts, and keep the best: the largest loss
    met never falls with more steps or starts. Started at x with steps of length ε, it is at least that of a single
    step.

    $$\eta \leftarrow \Pi_{\|\eta\|_p \le \epsilon} \left(\eta + a \, d(\nabla_x \ell(x + \eta))\right)$$

    Check: The attack takes 40 steps from 3 starts against the MLP 64-128-128-10 on 500 test digits. Budgets in the
    2-norm are 4ε.
    """
    p, factor = (math.inf, 1.0) if norm == "inf" else (2.0, 4.0)
    size = factor * eps
    net, (images, labels) = standard_network(network), test_images()
    aim = (labels + 1) % 10 if loss == "targeted" else labels
    options = {"p": p, "box": robustness.Box(0.0, 1.0), "loss": loss}

    def attack(budget: float, step_size: float | None = None) -> Attack:
        found = robustness.pgd(
            digit_scores, net, images, aim, budget, step_size=step_size, starts=3, key=key, **options
        )
        return Attack(*(np.asarray(part) for part in found))

    found = attack(size)
    yield at_least(np.diff(found.best, axis=1), 0.0, "growth of the largest loss, step by step")
    yield at_least(found.loss, found.best[0, -1], "largest loss of 3 starts, against the first alone")
    eta = found.inputs - images
    yield at_most(robustness.p_norm(eta, p), size, "length of every change", rtol=1e-9)
    yield at_least(found.inputs, 0.0, "pixels found, at least 0")
    yield at_most(found.inputs, 1.0, "pixels found, at most 1")
    one = robustness.fgsm(digit_scores, net, images, aim, size, **options)
    single = np.asarray(robustness.attack_losses(digit_scores(net, one), jnp.asarray(aim), loss))
    yield at_least(attack(size, size).loss, single, "loss with steps of length ε, against one step", atol=1e-9)
    again = decisions(net, found.inputs)
    fooled = again == aim if loss == "targeted" else again != aim
    yield exactly((fooled != found.fooled).sum(), 0, "digits for which what is said to fool does not, or the reverse")
    told = ", ".join(f"{1 - attack(factor * e).fooled.mean():.3f} at {factor * e:g}" for e in REFERENCE_EPS)
    means = found.best.mean(axis=2)  # (starts, steps)
    spots = np.unique(np.geomspace(1, means.shape[1] - 1, 14).round().astype(int))
    names = ("start 1 (x itself)", "start 2", "start 3")
    points = {name: (spots, line[spots]) for name, line in zip(names, means, strict=True)}
    lines = {"one step (FGSM)": (spots[[0, -1]], [single.mean()] * 2)}
    title = f"PGD, ε = {eps:g}: mean loss {means[:, -1].max():.2f} from the best start; not fooled: {told}"
    yield figure.curves(title, "steps", "largest loss so far, mean of 500 digits", lines=lines, points=points)


@claim(sources=("eth", "sheet"))
def projection_is_not_rescaling(
    key, centre: Real(0.1, 0.9) = 0.3, eps: Real(0.05, 0.2, log=True) = 0.1, network: Int(0, 4) = 0
):
    r"""Projection onto a ball is not rescaling.

    The map z → εz/‖z‖, sometimes given as the projection, pushes every point to the sphere and, for p = ∞, bends it;
    the projection leaves inner points alone and, for p = ∞, clips coordinates. With rescaling, ascent misses a maximum
    inside the ball, and attacks on digits are no stronger on average.

    $$\Pi_\infty(z) = \mathrm{clip}(z, -\epsilon, \epsilon) \ne \epsilon z / \|z\|_\infty$$

    Assumes: the comparison on digits is a measurement.

    Check: The loss ℓ(η) = −‖η − c‖², with ‖c‖ = `centre` so that its maximum is inside the unit ball, is ascended with
    either map. Then PGD is run with either map on 500 test digits.
    """
    rng = data.generator(key)
    z, maps = np.array([2.0, 0.5]), {"projection": project, "rescaling": rescale}
    projected, rescaled = (onto(z, 1.0, math.inf) for onto in maps.values())
    nearest = close(projected, [1.0, 0.5], "projection of (2, 0.5), ε = 1, p = ∞", atol=1e-15)
    yield nearest
    yield close(rescaled, [1.0, 0.25], "rescaled (2, 0.5), ε = 1, p = ∞", atol=1e-15)
    wrong, form = (
        close(rescaled, [1.0, 0.5], "rescaled (2, 0.5), against the nearest point", atol=1e-6),
        "Proj(z) = ε z/‖z‖",
    )
    for source in ("eth", "sheet"):
        yield erratum(wrong, of=nearest, by=source, prints=form)
    angle = rng.uniform(0, 2 * np.pi)
    c = centre * np.array([np.cos(angle), np.sin(angle)])
    start = rescale(rng.normal(size=2), 0.9, 2)
    paths = {}
    for name, onto in maps.items():
        eta, values = start, []
        for _ in range(2000):
            values.append(-((eta - c) ** 2).sum())
            eta = onto(eta - 0.1 * (eta - c), 1.0, 2)
        paths[name] = np.array(values)
    end, low = paths["rescaling"][-1], -((1 - centre) ** 2)
    top = close(paths["projection"][-1], 0.0, "concave loss, projection: last value, the maximum", atol=1e-12)
    yield top
    yield close(end, low, "concave loss, rescaling: last value, −(1 − ‖c‖)²", rtol=1e-6)
    wrong = close(end, 0.0, "concave loss, rescaling: last value, the maximum", atol=1e-3)
    yield erratum(wrong, of=top, by="eth", prints=form)
    net, (images, labels) = standard_network(network), test_images()
    options = {"starts": 3, "key": key, "box": robustness.Box(0.0, 1.0)}
    losses = [robustness.pgd(digit_scores, net, images, labels, eps, onto=m, **options).loss for m in maps.values()]
    gain, what = losses[0] - losses[1], "digits: loss found with the projection, less that with rescaling"
    yield mean(gain, 0.0, what, side="at least").as_empirical()
    grid = np.stack(np.meshgrid(np.linspace(-1.8, 1.8, 9), np.linspace(-1.8, 1.8, 9)), axis=-1).reshape(-1, 2)
    square = {"‖z‖ = 1": ([-1, 1, 1, -1, -1], [-1, -1, 1, 1, -1])}
    panels, domain = [], ((-2, 2), (-2, 2))
    for name, onto in maps.items():
        points = {"z": grid, name: onto(grid, 1.0, math.inf)}
        title = f"{name}, p = ∞, ε = 1"
        panels.append(figure.plane(title, "z₁", "z₂", points=points, lines=square, domain=domain))
    spots = np.unique(np.geomspace(1, 100, 20).round().astype(int))
    points = {name: (spots, path[spots]) for name, path in paths.items()}
    lines = {"−(1 − ‖c‖)²": ([1, 100], [low, low]), "maximum": ([1, 100], [0.0, 0.0])}
    panels.append(figure.curves("A concave loss", "steps", "loss", lines=lines, points=points))
    title = f"Rescaling ends at {end:.2f} where the projection finds 0; on digits it finds {gain.mean():.3g} less loss"
    yield figure.beside(title, *panels, columns=3)
