"""Stochastic gradient descent and the exact law of its noise."""

from itertools import combinations, product
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Choice, Range, at_most, claim, close, exactly, figure, mean, method


def _squared(w, x, y):
    return (w @ x - y) ** 2


def _absolute(w, x, y):
    return jnp.abs(w @ x - y)


@method(
    "stochastic-gradient",
    says=(
        "Minimise a mean of n losses by steps along the gradient of one of them, or of a batch, drawn uniformly with "
        "replacement or from a permutation an epoch. A batch of all n is gradient descent; subgradients will do."
    ),
    formula=r"w \leftarrow w - \eta\, \frac1B \sum_{i \in \omega} \nabla \ell_i(w)",
    sources=("penn", "eth"),
    shows=("learning.sgd_path", "learning.draw_batches", "learning.sample_gradients"),
)
def stochastic_gradient(
    key,
    samples: Annotated[int, Range(4, 200, log=True)] = 32,
    steps: Annotated[int, Range(10, 200)] = 60,
    step: Annotated[float, Range(0.001, 0.1, log=True)] = 0.05,
    scheme: Annotated[str, Choice("replacement", "permuted")] = "replacement",
):
    """A line fitted to noisy data: the n single gradients are enumerated, the paths compared with gradient descent."""
    rng = data.generator(key)
    t = rng.uniform(-1, 1, samples)
    x = np.stack([1.5 * t, np.ones(samples)], axis=1)
    y = x @ np.array([1.0, 0.5]) + 0.5 * rng.standard_normal(samples)
    w = jnp.asarray(rng.normal(size=2))
    gradients = learning.sample_gradients(_squared, w, x, y)
    full = 2 * x.T @ (x @ np.asarray(w) - y) / samples
    scale = float(jnp.abs(gradients).max())
    yield close(np.asarray(gradients.mean(0)) / scale, full / scale, "mean of the n gradients, against ∇ℓ", atol=1e-12)
    slopes = learning.sample_gradients(_absolute, w, x, y).mean(0)
    residual = np.sign(x @ np.asarray(w) - y)
    yield close(slopes, x.T @ residual / samples, "mean of the n subgradients of |w·x − y|", atol=1e-12)

    start = jnp.array([-1.0, 1.5])
    everything = learning.draw_batches(samples, samples, steps, scheme="permuted", key=key)
    whole = learning.sgd_path(_squared, start, step, everything, x, y)
    plain = np.empty((steps + 1, 2))
    plain[0] = start
    for k in range(steps):
        plain[k + 1] = plain[k] - step * 2 * x.T @ (x @ plain[k] - y) / samples
    yield close(whole, plain, "batch of all n, against gradient descent, every step", atol=1e-10)

    paths = {}
    for batch in sorted({1, max(samples // 4, 1)}):
        drawn = learning.draw_batches(samples, batch, steps, scheme=scheme, key=jax.random.fold_in(key, batch))
        paths[f"B = {batch}"] = np.asarray(learning.sgd_path(_squared, start, step, drawn, x, y))
        replay = np.array(start)
        for rows in np.asarray(drawn):
            replay = replay - step * 2 * x[rows].T @ (x[rows] @ replay - y[rows]) / batch
        yield close(paths[f"B = {batch}"][-1], replay, f"end of the path with B = {batch}, replayed", atol=1e-10)
    if scheme == "permuted":
        epoch = np.asarray(learning.draw_batches(samples, 1, samples, scheme="permuted", key=key)).ravel()
        yield exactly(np.sort(epoch), np.arange(samples), "examples seen in one permuted epoch")
    kinked = learning.sgd_path(_absolute, start, step, drawn, x, y)
    yield at_most(
        np.min(np.abs(np.asarray(kinked) @ x.T - y).mean(1)),
        np.abs(x @ np.asarray(start) - y).mean(),
        "absolute loss: least risk along the path, against the start",
    )

    best = learning.least_squares(x, y, intercept=False).weights
    paths[f"B = n = {samples}"] = np.asarray(whole)
    ws, bs = np.linspace(-1.6, 2.2, 45), np.linspace(-0.7, 2.1, 45)
    moments = learning.empirical_moments(x, y)
    surface = moments(np.stack(np.meshgrid(ws, bs), axis=-1))
    far = np.linalg.norm(paths["B = 1"][-1] - best)
    near = np.linalg.norm(np.asarray(whole)[-1] - best)
    yield figure.plane(
        f"After {steps} steps of size {step:g}: B = 1 ends {far:.2g} from the minimum, B = n ends {near:.2g} from it",
        x="w",
        y="b",
        lines={name: (path[:, 0], path[:, 1]) for name, path in paths.items()},
        points={"minimum": best[None]},
        regions=(ws, bs, np.log(surface)),
        domain=((-1.6, 2.2), (-0.7, 2.1)),
    )


@claim(
    "sgd-unbiased",
    says=(
        "The gradient of a random batch is unbiased. Its covariance is S/B with replacement and (S/B)(n−B)/(n−1) "
        "without, S the covariance of one uniformly drawn gradient."
    ),
    formula=(
        r"\mathbb{E}\, g_B = \nabla \ell, \qquad \operatorname{Cov} g_B = \frac SB \;\text{ or }\; "
        r"\frac SB \cdot \frac{n-B}{n-1}"
    ),
    sources=("penn",),
    assumes=("indices uniform on 1..n",),
    shows=("learning.gradient_covariance", "learning.batch_covariance"),
)
def sgd_unbiased(
    key,
    few: Annotated[int, Range(2, 8)] = 6,
    batch: Annotated[int, Range(1, 4)] = 3,
    many: Annotated[int, Range(50, 300)] = 100,
    dim: Annotated[int, Range(1, 6)] = 3,
):
    """All batches of a small set enumerated; 1000 growing batches of a larger one, drawn both ways."""
    rng = data.generator(key)
    x, y, w = rng.normal(size=(many, dim)), rng.normal(size=many), jnp.asarray(rng.normal(size=dim))
    gradients = np.asarray(learning.sample_gradients(_squared, w, x, y))
    gradients = gradients / np.abs(gradients).max()
    small = gradients[:few]
    without = min(batch, few)
    for replacement, batches in {
        True: np.array(list(product(range(few), repeat=batch))),
        False: np.array(list(combinations(range(few), without))),
    }.items():
        drawn = small[batches].mean(axis=1)
        word = "with" if replacement else "without"
        size = batch if replacement else without
        centred = drawn - drawn.mean(0)
        yield close(drawn.mean(0), small.mean(0), f"mean of all {len(batches)} batches {word} replacement", atol=1e-12)
        yield close(
            centred.T @ centred / len(drawn),
            learning.batch_covariance(small, size, replacement=replacement),
            f"their covariance, B = {size}, {word} replacement",
            atol=1e-12,
        )

    repeats = 1000
    permuted = rng.permuted(np.tile(np.arange(many), (repeats, 1)), axis=1)
    independent = np.asarray(learning.draw_batches(many, many, repeats, key=key))
    sizes = np.unique(np.geomspace(1, many, 9).round().astype(int))
    centred = gradients - gradients.mean(0)
    noise = {}
    for replacement, rows in {True: independent, False: permuted}.items():
        sums = np.cumsum(centred[rows], axis=1)[:, sizes - 1] / sizes[:, None]
        noise[replacement] = (sums**2).sum(-1)
    predicted = {
        r: np.array([learning.batch_covariance(gradients, int(b), replacement=r).trace() for b in sizes]) for r in noise
    }
    middle = len(sizes) // 2 + 1
    for replacement, name in {True: "with", False: "without"}.items():
        yield mean(
            noise[replacement][:, middle],
            predicted[replacement][middle],
            f"‖g_B − ∇ℓ‖² over {repeats} batches {name} replacement, n = {many}, B = {sizes[middle]}",
        )
    yield close(noise[False][:, -1], 0.0, "the same for B = n without replacement", atol=1e-20)

    unit = predicted[True][0]
    shown = sizes[:-1]
    whole = np.arange(1, many)
    yield figure.curves(
        f"At B = {sizes[middle]} of n = {many} the noise is {noise[True][:, middle].mean() / unit:.3g} of a single "
        f"gradient's with replacement, {noise[False][:, middle].mean() / unit:.3g} without",
        x="batch size B",
        y="E ‖g_B − ∇ℓ‖² / tr S",
        lines={
            "with replacement": (whole, 1 / whole),
            "without replacement": (whole, (many - whole) / (many - 1) / whole),
        },
        points={
            "with replacement": (shown, noise[True].mean(0)[:-1] / unit),
            "without replacement": (shown, noise[False].mean(0)[:-1] / unit),
        },
        log="xy",
    )
