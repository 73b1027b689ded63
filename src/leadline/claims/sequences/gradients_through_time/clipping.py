"""Clipping gradients by norm and by value, and a cliff."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, training
from leadline.evidence import Int, Real, at_least, at_most, close, erratum, exactly, method
from leadline.presentation import figure


def _clipped(rule, v):
    return np.asarray(rule.update(jnp.asarray(v), rule.init(jnp.asarray(v)))[0])


@method(sources=("penn",))
def gradient_clipping(
    key, dim: Int(2, 50) = 10, limit: Real(0.1, 5.0) = 1.0, step_size: Real(0.01, 0.5) = 0.02, steps: Int(20, 80) = 50
):
    r"""Gradient clipping.

    By norm, a gradient longer than c is shortened to c over all parameters together, and keeps its direction; shorter
    ones stay as they are. By value, each entry is clamped, which turns the gradient and depends on the axes. Descent
    over a cliff diverges without clipping and not with it.

    $$v \min\left(1, \frac{c}{\|v\|}\right), \qquad \operatorname{clip}(v_i, -c, c)$$

    Assumes: c > 0.

    Check: Optax's rules on random vectors and their rotations. The cliff is the loss of a linear unit over `steps`
    steps, steep above w = 1. The form without the minimum is run on a parabola, where it ends in a cycle of two.
    """
    rng = data.generator(key)
    by_norm, by_value = optax.clip_by_global_norm(limit), optax.clip(limit)
    vectors = rng.normal(size=(40, dim)) * np.geomspace(0.01, 100, 40)[:, None]
    shortened = np.array([_clipped(by_norm, v) for v in vectors])
    lengths, after = np.linalg.norm(vectors, axis=1), np.linalg.norm(shortened, axis=1)
    yield at_most(after, limit, "by norm: length after clipping", rtol=1e-6)
    cosine = (vectors * shortened).sum(axis=1) / (lengths * after)
    yield close(cosine, 1.0, "by norm: cosine between before and after", atol=1e-12)
    short = lengths <= limit
    yield close(shortened[short], vectors[short], "by norm: gradients that are short enough, after", atol=0.0)
    clamped = np.array([_clipped(by_value, v) for v in vectors])
    yield at_most(np.abs(clamped), limit, "by value: largest entry after clipping", rtol=1e-12)
    long = vectors[-1]
    turned = long @ clamped[-1] / (np.linalg.norm(long) * np.linalg.norm(clamped[-1]))
    yield at_most(turned, 1.0, "by value: cosine between before and after, of a long one", strict=True)
    Q = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    gaps = [np.linalg.norm(_clipped(rule, Q @ long) - Q @ _clipped(rule, long)) for rule in (by_norm, by_value)]
    yield at_most(gaps[0], 1e-9 * limit, "by norm: rotated then clipped, against clipped then rotated")
    yield at_least(gaps[1], 1e-3 * limit, "by value: the same two differ")
    paths = {name: _cliff(rule, steps) for name, rule in _rules(step_size, limit).items()}
    final = paths["by norm"]
    yield exactly(bool(np.isfinite(final).all()), True, "cliff: the clipped path stays finite")
    lost = ~np.isfinite(paths["unclipped"]) | (np.abs(paths["unclipped"]) > 10)
    yield exactly(bool(lost.any()), True, "cliff: the unclipped path leaves for good").as_empirical()
    always = _always(step_size, limit)
    ran = training.scan_steps(
        lambda w, batch, key, state: (0.5 * w**2, state),
        jnp.asarray(np.pi * limit),
        always,
        None,
        num_steps=int(40 / step_size),
        measure=lambda seen: seen.after.parameters,
    )
    ends = np.abs(np.asarray(ran.measured)[-2:])
    minimum = training.scan_steps(
        lambda w, batch, key, state: (0.5 * w**2, state),
        jnp.asarray(np.pi * limit),
        optax.chain(by_norm, optax.sgd(step_size)),
        None,
        num_steps=int(40 / step_size),
    )
    right = at_most(abs(float(minimum.model)), 1e-6 * limit, "w²/2, clipped by norm: distance from the minimum at last")
    yield right
    yield close(
        ends.sum(), step_size * limit, "w²/2 without the minimum: sum of the last two radii, against ηc", rtol=1e-6
    )
    wrong = at_most(ends.max(), 1e-6 * limit, "w²/2 without the minimum: distance at last")
    yield erratum(
        wrong,
        of=right,
        by="penn",
        prints="c v/(‖v‖ + ε) without min(1, ·), with c as the norm of the clipped gradient: it enlarges small ones",
    )
    grid = np.linspace(0.8, 1.06, 120)
    taken = {name: (np.arange(len(path)), np.where(np.abs(path) < 3, path, np.nan)) for name, path in paths.items()}
    cliff = figure.curves("the cliff", "weight w", "loss", lines={"loss": (grid, _loss(grid, steps))}, log="y")
    taken = {name: (xs[np.isfinite(ys)], ys[np.isfinite(ys)]) for name, (xs, ys) in taken.items()}
    way = figure.curves("paths", "step", "weight w", points=taken)
    yield figure.beside(f"Descent over a cliff: clipped at {limit:g} it ends at w = {final[-1]:.3f}", cliff, way)


def _loss(w, steps):
    """A linear unit that starts at 1 and should be ½ after so many steps."""
    return 0.5 * (w**steps - 0.5) ** 2


def _rules(step_size, limit):
    return {
        "unclipped": optax.sgd(step_size),
        "by norm": optax.chain(optax.clip_by_global_norm(limit), optax.sgd(step_size)),
        "always rescaled": _always(step_size, limit),
    }


def _always(step_size, limit):
    """c v/‖v‖ for all lengths."""
    return optax.chain(optax.normalize_by_update_norm(scale_factor=limit, eps=1e-12), optax.sgd(step_size))


def _cliff(rule, steps, count=60):
    @jax.jit
    def path(start):
        ran = training.scan_steps(
            lambda w, batch, key, state: (_loss(w, steps), state),
            start,
            rule,
            None,
            num_steps=count,
            measure=lambda seen: seen.after.parameters,
        )
        return ran.measured

    return np.asarray(path(jnp.asarray(1.15)))
