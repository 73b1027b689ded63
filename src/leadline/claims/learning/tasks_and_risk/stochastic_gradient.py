"""Stochastic gradient descent and the exact covariance of its noise."""

from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Int, OneOf, Real, at_most, claim, close, exactly, mean, method
from leadline.learning.sampling import batch_covariance, draw_batches, sgd_path
from leadline.presentation import figure


def _squared(w, x, y):
    return (w @ x - y) ** 2


def _absolute(w, x, y):
    return jnp.abs(w @ x - y)


@method(sources=("penn", "eth"))
def stochastic_gradient(
    key,
    samples: Int(4, 200, log=True) = 32,
    num_steps: Int(10, 200) = 60,
    step_size: Real(0.001, 0.1, log=True) = 0.05,
    scheme: OneOf("replacement", "permuted") = "replacement",
):
    r"""Gradient steps on single examples.

    A mean of n losses is minimised by steps along the negative gradient of one of them, or of a batch, drawn uniformly
    with replacement or from a new permutation in each epoch. A batch of all n is gradient descent; subgradients do.

    $$w \leftarrow w - \eta\, \frac1B \sum_{i \in \omega} \nabla \ell_i(w)$$
    """
    rng = data.generator(key)
    t = rng.uniform(-1, 1, samples)
    x = np.stack([1.5 * t, np.ones(samples)], axis=1)
    y = x @ np.array([1.0, 0.5]) + 0.5 * rng.standard_normal(samples)
    w = rng.normal(size=2)
    gradients = learning.sample_gradients(_squared, w, x, y)
    full = 2 * x.T @ (x @ w - y) / samples
    scale = jnp.abs(gradients).max()
    yield close(gradients.mean(0) / scale, full / scale, "mean of the n gradients, against ∇ℓ", atol=1e-12)
    slopes = learning.sample_gradients(_absolute, w, x, y).mean(0)
    yield close(slopes, x.T @ np.sign(x @ w - y) / samples, "mean of the n subgradients of |w·x − y|", atol=1e-12)
    start = jnp.array([-1.0, 1.5])
    everything = draw_batches(samples, samples, num_steps, scheme="permuted", key=key)
    whole = sgd_path(_squared, start, step_size, everything, x, y)
    plain = [np.array(start)]
    for _ in range(num_steps):
        plain.append(plain[-1] - step_size * 2 * x.T @ (x @ plain[-1] - y) / samples)
    yield close(whole, plain, "batch of all n, against gradient descent, every step", atol=1e-10)
    paths = {}
    for batch in sorted({1, max(samples // 4, 1)}):
        drawn = draw_batches(samples, batch, num_steps, scheme=scheme, key=jax.random.fold_in(key, batch))
        paths[f"B = {batch}"] = np.asarray(sgd_path(_squared, start, step_size, drawn, x, y))
        replay = np.array(start)
        for rows in np.asarray(drawn):
            replay = replay - step_size * 2 * x[rows].T @ (x[rows] @ replay - y[rows]) / batch
        yield close(paths[f"B = {batch}"][-1], replay, f"end of the path with B = {batch}, replayed", atol=1e-10)
    if scheme == "permuted":
        epoch = draw_batches(samples, 1, samples, scheme="permuted", key=key)
        yield exactly(np.sort(epoch, axis=None), np.arange(samples), "examples seen in one permuted epoch")
    kinked = np.asarray(sgd_path(_absolute, start, step_size, drawn, x, y))
    risks = np.abs(kinked @ x.T - y).mean(1)
    yield at_most(risks.min(), risks[0], "absolute loss: least risk along the path, against the start")
    best = learning.least_squares(x, y, intercept=False).weights
    paths[f"B = n = {samples}"] = np.asarray(whole)
    ws, bs = np.linspace(-1.6, 2.2, 45), np.linspace(-0.7, 2.1, 45)
    surface = learning.empirical_moments(x, y)(np.stack(np.meshgrid(ws, bs), axis=-1))
    far, near = (np.linalg.norm(path[-1] - best) for path in (paths["B = 1"], paths[f"B = n = {samples}"]))
    title = f"After {num_steps} steps of size {step_size:g}: B = 1 ends {far:.2g} from the minimum, B = n {near:.2g}"
    lines, points = {name: (path[:, 0], path[:, 1]) for name, path in paths.items()}, {"minimum": best[None]}
    regions = (ws, bs, np.log(surface))
    yield figure.plane(title, "w", "b", lines=lines, points=points, regions=regions, domain=((-1.6, 2.2), (-0.7, 2.1)))


@claim(sources=("penn",))
def sgd_unbiased(key, few: Int(2, 8) = 6, batch: Int(1, 4) = 3, many: Int(50, 300) = 100, dim: Int(1, 6) = 3):
    r"""Mean and covariance of mini-batch gradients.

    The gradient of a random batch is unbiased. Its covariance is S/B with replacement and (S/B)(n − B)/(n − 1)
    without, where S is the covariance of one uniformly drawn gradient.

    $$\mathbb{E}\, g_B = \nabla \ell, \qquad \operatorname{Cov} g_B = \frac SB \;\text{ or }\; \frac SB \cdot
    \frac{n-B}{n-1}$$

    Assumes: indices are uniform on 1, …, n.
    """
    rng = data.generator(key)
    x, y, w = rng.normal(size=(many, dim)), rng.normal(size=many), rng.normal(size=dim)
    gradients = np.asarray(learning.sample_gradients(_squared, w, x, y))
    gradients = gradients / np.abs(gradients).max()
    small, fewer = gradients[:few], min(batch, few)
    enumerated = {"with": product(range(few), repeat=batch), "without": combinations(range(few), fewer)}
    for (word, batches), size in zip(enumerated.items(), (batch, fewer), strict=True):
        drawn = small[np.array(list(batches))].mean(axis=1)
        centred = drawn - drawn.mean(0)
        of = f"of all {len(drawn)} batches {word} replacement, B = {size}"
        yield close(drawn.mean(0), small.mean(0), f"mean {of}", atol=1e-12)
        covariance = batch_covariance(small, size, replacement=word == "with")
        yield close(centred.T @ centred / len(drawn), covariance, f"covariance {of}", atol=1e-12)
    repeats = 1000
    permuted = rng.permuted(np.tile(np.arange(many), (repeats, 1)), axis=1)
    independent = np.asarray(draw_batches(many, many, repeats, key=key))
    sizes = np.unique(np.geomspace(1, many, 9).round().astype(int))
    centred = gradients - gradients.mean(0)
    noise, predicted = {}, {}
    for word, rows in {"with": independent, "without": permuted}.items():
        means = np.cumsum(centred[rows], axis=1)[:, sizes - 1] / sizes[:, None]
        noise[word] = (means**2).sum(-1)
        covariances = [batch_covariance(gradients, int(b), replacement=word == "with") for b in sizes]
        predicted[word] = np.trace(covariances, axis1=1, axis2=2)
    middle = len(sizes) // 2 + 1
    for word, found in noise.items():
        what = f"‖g_B − ∇ℓ‖² over {repeats} batches {word} replacement, n = {many}, B = {sizes[middle]}"
        yield mean(found[:, middle], predicted[word][middle], what)
    yield close(noise["without"][:, -1], 0.0, "‖g_B − ∇ℓ‖² for B = n without replacement", atol=1e-20)
    unit, b = predicted["with"][0], np.arange(1, many)
    share = {word: found.mean(0) / unit for word, found in noise.items()}
    title = (
        f"At B = {sizes[middle]} of n = {many} the noise is {share['with'][middle]:.3g} of a single gradient's with "
        f"replacement, {share['without'][middle]:.3g} without"
    )
    lines = {"with replacement": (b, 1 / b), "without replacement": (b, (many - b) / (many - 1) / b)}
    points = {f"{word} replacement": (sizes[:-1], found[:-1]) for word, found in share.items()}
    yield figure.curves(title, "batch size B", "E ‖g_B − ∇ℓ‖² / tr S", lines=lines, points=points, log="xy")
