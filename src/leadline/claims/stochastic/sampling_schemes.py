"""Batch gradients and index streams: how a method sees a finite sum."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Range, at_most, close, exactly, figure, mean, method, printed


@method(
    "minibatch-gradient",
    says=(
        "The mean of b component gradients, at indices drawn with or without replacement, or by probabilities pᵢ "
        "with weights 1/(n pᵢ). All n without replacement give the full gradient; n with replacement are still noisy."
    ),
    formula=r"\hat g = \frac{1}{b}\sum_{k=1}^{b} \frac{1}{n p_{i_k}}\, g_{i_k}(w)",
    sources=("sheet", "penn", "eth"),
    shows=("stochastic.FiniteSum", "stochastic.draw_indices"),
)
def minibatch_gradient(
    key,
    samples: Annotated[int, Range(5, 100)] = 40,
    batch: Annotated[int, Range(1, 5)] = 4,
    skew: Annotated[float, Range(0.0, 2.0)] = 1.0,
):
    """Least squares in the plane; pᵢ proportional to i^skew; 2000 batches of each kind."""
    rng = data.generator(key)
    x, y = rng.standard_normal((samples, 2)) + 1.0, rng.standard_normal(samples)
    problem, w = stochastic.least_squares_sum(x, y), jnp.asarray([1.0, 0.5])
    p = np.arange(1.0, samples + 1) ** skew
    p = p / p.sum()
    gradients = np.asarray(x * (x @ np.asarray(w) - y)[:, None])
    full, trace = gradients.mean(0), float(np.sum(gradients.var(0)))
    skewed = stochastic.draw_indices(samples, batch, 2000, probabilities=p, key=key)
    weights = 1 / (samples * p[skewed])
    one = problem.batch_gradient(w, jnp.asarray(skewed[0]), jnp.asarray(weights[0]))
    clouds = {
        "with replacement": gradients[stochastic.draw_indices(samples, batch, 2000, key=key)].mean(1),
        "without": gradients[stochastic.draw_indices(samples, batch, 2000, replacement=False, key=key)].mean(1),
        "by pᵢ, weighted": (weights[..., None] * gradients[skewed]).mean(1),
    }
    yield close(
        one, clouds["by pᵢ, weighted"][0], "batch gradient by differentiation, against xᵢ(xᵢ·w − yᵢ)", rtol=1e-10
    )
    again = stochastic.draw_indices(samples, batch, 2000, probabilities=p, key=key)
    yield exactly(again, skewed, "the same key draws the same indices")
    whole = stochastic.draw_indices(samples, samples, 3, replacement=False, key=key)
    yield close(gradients[whole].mean(1), np.tile(full, (3, 1)), "b = n without replacement", atol=1e-12)
    for name, cloud in clouds.items():
        for axis in range(2):
            yield mean(cloud[:, axis], full[axis], f"batch gradient {name}, coordinate {axis + 1}")
    noisy = gradients[stochastic.draw_indices(samples, samples, 1000, key=key)].mean(1)
    yield mean(np.sum((noisy - full) ** 2, 1), trace / samples, "E‖ĝ − g‖² at b = n with replacement, against tr C/n")
    losses = np.asarray((x @ np.asarray(w) - y) ** 2 / 2)
    yield printed(
        close(losses[whole].mean(1)[:, None] + np.zeros((3, 2)), full, "mean of the losses, as a gradient", atol=1e-9),
        "sheet",
        "ĝ = (1/b) Σ ℓ(w; xᵢ), without ∇",
    )
    yield figure.plane(
        f"Batches of {batch} scatter around the full gradient ({full[0]:.3g}, {full[1]:.3g}) with variance "
        f"{trace / batch:.3g}",
        x="first coordinate",
        y="second coordinate",
        points={name: cloud[:120] for name, cloud in list(clouds.items())[:2]},
        circles={"full gradient": full[None]},
    )


@method(
    "epoch-sampler",
    says=(
        "Streams of indices: with replacement, a new permutation each epoch, one permutation for ever, or in order. "
        "Permutations show each index once an epoch; drawing with replacement misses a share that tends to 1/e."
    ),
    formula=r"P(i \text{ unseen in } n \text{ draws}) = \left(1 - \frac{1}{n}\right)^n \to e^{-1}",
    sources=("penn",),
    shows=("stochastic.index_stream", "stochastic.SAMPLERS"),
)
def epoch_sampler(
    key,
    samples: Annotated[int, Range(5, 500)] = 50,
    batch: Annotated[int, Range(2, 5)] = 5,
    epochs: Annotated[int, Range(50, 400)] = 200,
):
    """Each stream is cut into epochs of n; the printed statement is tested on this library's loader."""
    streams = {
        name: stochastic.index_stream(samples, epochs * samples, sampler=name, key=key).reshape(epochs, samples)
        for name in stochastic.SAMPLERS
    }
    for name in stochastic.SAMPLERS[1:]:
        yield exactly(np.sort(streams[name], 1), np.arange(samples), f"sorted indices of each epoch, {name}")
    yield exactly(streams["shuffle once"], streams["shuffle once"][:1], "shuffle once: every epoch like the first")
    unseen = 1 - np.array([len(np.unique(e)) for e in streams["replacement"]]) / samples
    share = (1 - 1 / samples) ** samples
    yield mean(unseen, share, "share unseen in an epoch with replacement, against (1 − 1/n)ⁿ")
    yield at_most(abs(share - np.exp(-1)), np.exp(-1) / samples, "|(1 − 1/n)ⁿ − 1/e|, against 1/(en)")
    usable = samples - samples % batch
    cut = np.sort(streams["replacement"][:, :usable].reshape(-1, batch), 1)
    distinct = 1 + np.sum(np.diff(cut, axis=1) > 0, axis=1)
    expected = samples * (1 - (1 - 1 / samples) ** batch)
    yield mean(distinct, expected, "different indices in a batch with replacement, against n(1 − (1 − 1/n)^b)")
    loader = jax.jit(data.batch_sequence, static_argnums=(0, 1, 2))(samples, 1, 20 * samples, key=key)
    missed = 1 - np.array([len(np.unique(e)) for e in np.asarray(loader).reshape(20, samples)]) / samples
    yield printed(
        mean(missed, share, "share unseen in an epoch of the library's loader, against (1 − 1/n)ⁿ"),
        "penn",
        "inside an epoch the library samples with replacement",
    )
    shown = min(samples, 25)
    panels = []
    for name in stochastic.SAMPLERS:
        rows = stochastic.index_stream(shown, 4 * shown, sampler=name, key=key)
        panels.append(
            figure.curves(
                name,
                x="updates",
                y="index",
                points={name: (np.arange(4 * shown), rows)},
                rules={f"epoch {e + 1}": ("x", e * shown - 0.5) for e in range(1, 4)},
            )
        )
    yield figure.beside(
        f"With replacement {unseen.mean():.1%} of the indices are unseen in an epoch (predicted {share:.1%}); "
        "in the other three streams none",
        *panels,
    )
