"""Batch gradients and index streams: how a method sees a finite sum."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, stochastic
from leadline.evidence import Int, Real, at_most, close, erratum, exactly, mean, method
from leadline.presentation import figure
from leadline.stochastic.runs.index_streams import SAMPLERS


@method(sources=("sheet", "penn", "eth"), shows=("stochastic.FiniteSum",))
def minibatch_gradient(key, samples: Int(5, 100) = 40, batch: Int(1, 5) = 4, skew: Real(0.0, 2.0) = 1.0):
    r"""Mini-batch gradient estimator.

    The mean of b component gradients, at indices drawn with or without replacement, or by probabilities pᵢ with
    weights 1/(n pᵢ). All n without replacement give the full gradient; n with replacement are still noisy.

    $$\hat g = \frac{1}{b}\sum_{k=1}^{b} \frac{1}{n p_{i_k}}\, g_{i_k}(w)$$

    Check: Least squares in the plane with pᵢ proportional to $i^{\text{skew}}$; 2000 batches of each kind.
    """
    rng = data.generator(key)
    x, y = rng.standard_normal((samples, 2)) + 1.0, rng.standard_normal(samples)
    problem, w = stochastic.least_squares_sum(x, y), jnp.asarray([1.0, 0.5])
    p = np.arange(1.0, samples + 1) ** skew
    p = p / p.sum()
    gradients = x * (x @ np.asarray(w) - y)[:, None]
    full, trace = gradients.mean(0), np.sum(gradients.var(0))
    skewed = stochastic.draw_indices(samples, batch, 2000, probabilities=p, key=key)
    weights = 1 / (samples * p[skewed])
    one = problem.batch_gradient(w, jnp.asarray(skewed[0]), jnp.asarray(weights[0]))
    clouds = {
        "with replacement": gradients[stochastic.draw_indices(samples, batch, 2000, key=key)].mean(1),
        "without": gradients[stochastic.draw_indices(samples, batch, 2000, replacement=False, key=key)].mean(1),
        "by pᵢ, weighted": (weights[..., None] * gradients[skewed]).mean(1),
    }
    derived = clouds["by pᵢ, weighted"][0]
    yield close(one, derived, "weighted batch gradient by differentiation, against xᵢ(xᵢ·w − yᵢ)", rtol=1e-10)
    again = stochastic.draw_indices(samples, batch, 2000, probabilities=p, key=key)
    yield exactly(again, skewed, "the same key draws the same indices")
    whole = stochastic.draw_indices(samples, samples, 3, replacement=False, key=key)
    yield close(gradients[whole].mean(1), np.tile(full, (3, 1)), "ĝ at b = n without replacement", atol=1e-12)
    for name, cloud in clouds.items():
        for axis in range(2):
            yield mean(cloud[:, axis], full[axis], f"batch gradient {name}, coordinate {axis + 1}")
    noisy = gradients[stochastic.draw_indices(samples, samples, 1000, key=key)].mean(1)
    yield mean(np.sum((noisy - full) ** 2, 1), trace / samples, "E‖ĝ − g‖² at b = n with replacement, against tr C/n")
    title = f"Batches of {batch} scatter around the full gradient with variance {trace / batch:.3g}"
    points = {name: cloud[:120] for name, cloud in list(clouds.items())[:2]}
    circles = {"full gradient": full[None]}
    yield figure.plane(title, "first coordinate", "second coordinate", points=points, circles=circles)


@method(sources=("penn",))
def epoch_sampler(key, samples: Int(5, 500) = 50, batch: Int(2, 5) = 5, epochs: Int(50, 400) = 200):
    r"""Epoch sampling schemes.

    Streams of indices: with replacement, a new permutation each epoch, one permutation for ever, or in order.
    Permutations show each index once per epoch; drawing with replacement misses a share that tends to 1/e.

    $$P(i \text{ unseen in } n \text{ draws}) = \left(1 - \frac{1}{n}\right)^n \to e^{-1}$$
    """
    streams = {
        name: stochastic.index_stream(samples, epochs * samples, sampler=name, key=key).reshape(epochs, samples)
        for name in SAMPLERS
    }
    for name in SAMPLERS[1:]:
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
    loaded = np.asarray(loader).reshape(20, samples)
    shuffled = exactly(np.sort(loaded, 1), np.arange(samples), "sorted indices of each epoch of the library's loader")
    yield shuffled
    missed = 1 - np.array([len(np.unique(e)) for e in loaded]) / samples
    wrong = mean(missed, share, "share unseen in an epoch of the library's loader, against (1 − 1/n)ⁿ")
    yield erratum(wrong, of=shuffled, by="penn", prints="in shuffled epochs PyTorch samples with replacement")
    shown = min(samples, 25)
    rules = {f"epoch {e + 1}": ("x", e * shown - 0.5) for e in range(1, 4)}
    panels = []
    for name in SAMPLERS:
        rows = stochastic.index_stream(shown, 4 * shown, sampler=name, key=key)
        panels.append(figure.curves(name, "updates", "index", points={name: (np.arange(4 * shown), rows)}, rules=rules))
    title = f"With replacement {unseen.mean():.1%} of the indices are unseen in an epoch (predicted {share:.1%})"
    yield figure.beside(title, *panels)
