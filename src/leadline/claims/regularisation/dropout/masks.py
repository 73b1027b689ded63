"""The dropout layer: its mean, its second moment, its two conventions, and the mask of a unit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, regularisation
from leadline.evidence import Int, Real, at_least, close, erratum, exactly, frequency, mean, method
from leadline.presentation import figure

DRAWS = 4000


@method(
    sources=("eth", "sheet", "penn"),
    shows=("regularisation.Dropout", "regularisation.DropConnect", "regularisation.convert_dropout"),
)
def dropout(key, units: Int(2, 32) = 8, rate: Real(0.05, 0.9) = 0.5):
    r"""Dropout.

    In training each unit is set to 0 with probability p, anew for every input; the same mask serves forwards and
    backwards. Inverted dropout divides by π = 1 − p and changes nothing at test time; classic dropout multiplies the
    weights behind the unit by π at test time. The mean is kept and the second moment grows by 1/π. Dropping single
    weights is DropConnect.

    $$\tilde h = \frac{r \circ h}{\pi}, \quad r_k \sim \mathrm{Bernoulli}(\pi): \qquad E\,\tilde h = h, \quad E\,
    \tilde h_k^2 = \frac{h_k^2}{\pi}, \quad \mathrm{Cov}(w \cdot \tilde h,\, v \cdot \tilde h) = \frac{1 - \pi}{\pi}
    \sum_k w_k v_k h_k^2$$

    Assumes: 0 ≤ p < 1.

    Check: 4000 masks of one hidden layer; training with both conventions from matched weights, step by step; two
    outputs behind the same units vary together with dropout, and would not with masks of single weights.
    """
    rng = data.generator(key)
    h, keep = jnp.asarray(rng.uniform(0.5, 1.5, units)), 1 - rate
    layer = regularisation.Dropout(rate)
    drawn = np.asarray(jax.vmap(lambda k: layer(h, key=k))(jax.random.split(key, DRAWS)))
    yield frequency(np.sum(drawn != 0), drawn.size, keep, "share of units that are kept")
    signs = rng.choice([-1.0, 1.0], units)
    yield mean(drawn @ signs, float(signs @ h), "units with signs drawn, in training, against those at test time")
    yield mean(np.sum((drawn / h) ** 2, axis=1), units / keep, "Σ(h̃/h)², against units/π")
    yield exactly(eqx.nn.inference_mode(layer)(h), h, "units at test time, against h")
    slope = jax.grad(lambda h, k: jnp.sum(layer(h, key=k)))(h, key)
    yield close(slope, layer(h, key=key) / h, "gradient by h, against the forward mask r/π", rtol=1e-12)
    yield from _conventions(rng, h, rate, key)
    w, v = np.asarray(rng.uniform(0.5, 1.5, (2, units)))
    first, second = drawn @ w, drawn @ v
    products = (first - w @ h) * (second - v @ h)
    together = mean(products, rate / keep * float(np.sum(w * v * h**2)), "covariance of two outputs behind dropout")
    yield together
    connect = regularisation.DropConnect(eqx.tree_at(lambda m: m.weight, _linear(units), jnp.stack([w, v])), rate)
    each = np.asarray(jax.vmap(lambda k: connect(h, key=k))(jax.random.split(key, DRAWS)))
    apart = (each[:, 0] - w @ h) * (each[:, 1] - v @ h)
    yield mean(apart, 0.0, "covariance of two outputs behind DropConnect")
    yield erratum(
        mean(products, 0.0, "covariance of two outputs behind dropout, by a mask for each weight"),
        of=together,
        by="eth",
        prints="dropout as disabling single weights, a mask bᵢ for each: that is DropConnect; dropout disables units",
    )
    yield _drawn_sub_networks(rng)


def _linear(units):
    return eqx.nn.Linear(units, 2, use_bias=False, dtype=jnp.float64, key=jax.random.key(0))


def _conventions(rng, h, rate, key):
    """Classic and inverted training from matched weights: with steps matched too, the test outputs stay equal."""
    keep = 1 - rate
    inverted, classic = (regularisation.Dropout(rate, convention=c) for c in ("inverted", "classic"))
    start = jnp.asarray(rng.normal(size=len(h)))

    def descend(layer, w, step_size):
        for k in jax.random.split(key, 5):
            w = w - step_size * jax.grad(lambda w, k=k: (w @ layer(h, key=k) - 1.0) ** 2)(w)
        return w

    eta = 0.1 * keep**2 / float(h @ h)
    ends = [descend(inverted, start, eta), descend(classic, start / keep, eta / keep**2)]
    size = float(jnp.abs(ends[1]).max())
    what = "weights after classic training, against those after inverted training divided by π"
    converted = regularisation.convert_dropout(ends[0], rate, to="classic")
    yield close(ends[1], converted, what, atol=1e-11 * size)
    tested = [w @ eqx.nn.inference_mode(layer)(h) for w, layer in zip(ends, (inverted, classic), strict=True)]
    yield close(tested[1], tested[0], "test output after classic training, against inverted", atol=1e-11 * size)
    moved = float(jnp.linalg.norm(ends[0] - start) / jnp.linalg.norm(start))
    yield at_least(moved, 1e-6, "change of the weights in these steps, relative")


def _drawn_sub_networks(rng):
    """Four random sub-networks of 3-4-4-2."""
    widths = (3, 4, 4, 2)
    panels = []
    for number in range(4):
        on = [np.ones(3), *(rng.random(4) < 0.5 for _ in range(2)), np.ones(2)]
        nodes = [
            (float(column), i - (width - 1) / 2, "" if on[column][i] else "×", 0.7 if on[column][i] else 0.0)
            for column, width in enumerate(widths)
            for i in range(width)
        ]
        first = np.cumsum((0, *widths))
        edges = [
            (int(first[c] + j), int(first[c + 1] + i), 1.0)
            for c in range(3)
            for j in range(widths[c])
            for i in range(widths[c + 1])
            if on[c][j] and on[c + 1][i]
        ]
        panels.append(figure.graph(f"mask {number + 1}", nodes=nodes, edges=edges))
    return figure.beside("Each input meets a sub-network of its own: four masks with p = 0.5", *panels)
