"""ReLU and dropout beside batch normalisation: what they make of standardised values."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import dense_maker, digit_part, hidden_layers, trained
from leadline.evidence import Int, Real, at_least, claim, close, mean, reference
from leadline.presentation import figure


@claim(sources=("penn",), shows=("regularisation.rectified_moments",))
def relu_after_standardising(key, shift: Real(-3.0, 3.0) = 0.0, samples: Int(1000, 200_000) = 40_000):
    r"""ReLU of a standard normal value.

    ReLU behind a normalisation gives values that are no longer standardised: mean 1/√(2π) = 0.399 and variance
    ½ − 1/(2π) = 0.341. With a shift b before it the mean is φ(b) + bΦ(b).

    $$\mathbb{E}\,\mathrm{relu}(z + b) = \varphi(b) + b\,\Phi(b), \qquad \mathbb{E}\,\mathrm{relu}(z+b)^2 = (1 + b^2)
    \Phi(b) + b\,\varphi(b)$$

    Assumes: z is standard normal.

    Check: Quadrature and draws; the two numbers at b = 0 are references.
    """
    rng = data.generator(key)
    found = [float(value) for value in regularisation.rectified_moments(shift)]
    integrals = [
        quad(lambda z, k=k: (z + shift) ** k * norm.pdf(z), -shift, max(12.0, 12.0 - shift), epsabs=1e-13)[0]
        for k in (1, 2)
    ]
    yield close(found[0], integrals[0], "mean of relu(z + b), against quadrature", atol=1e-10)
    yield close(found[1], integrals[1] - integrals[0] ** 2, "variance of relu(z + b), against quadrature", atol=1e-10)
    draws = np.maximum(rng.normal(size=samples) + shift, 0.0)
    yield mean(draws, found[0], "mean of draws of relu(z + b)", deviation=np.sqrt(found[1]))
    yield mean((draws - found[0]) ** 2, found[1], "mean squared deviation of draws of relu(z + b)")
    plain = [float(value) for value in regularisation.rectified_moments(0.0)]
    yield reference(plain, (0.39894, 0.34085), "mean and variance of relu(z)", digits=5)
    grid = np.linspace(-3, 3, 61)
    lines = [np.asarray(value) for value in regularisation.rectified_moments(jnp.asarray(grid))]
    z = rng.normal(size=20_000)
    few = np.linspace(-3, 3, 13)
    measured = np.maximum(z + few[:, None], 0.0)
    title = "Behind ReLU a standard normal value has mean 0.40 and variance 0.34"
    yield figure.curves(
        title,
        "shift b",
        "moment of relu(z + b)",
        lines={"mean": (grid, lines[0]), "variance": (grid, lines[1])},
        points={"mean": (few, measured.mean(axis=1)), "variance": (few, measured.var(axis=1))},
    )


@claim(sources=("penn",), shows=("regularisation.dropout_variance", "regularisation.recalibrate"))
def dropout_batch_norm_variance_shift(key, drop: Real(0.05, 0.8) = 0.5, offset: Real(-2.0, 2.0) = 0.0):
    r"""Dropout before batch normalisation shifts its variance.

    Inverted dropout keeps the mean and raises the variance from σ² to (σ² + μ²)/(1 − p) − μ² while it is on. Buffers of
    a batch normalisation behind it learn the larger variance, and in evaluation, with dropout off, they are wrong.

    $$\mathrm{Var}_{\mathrm{train}} = \frac{\sigma^2 + \mu^2}{1 - p} - \mu^2, \qquad \mathrm{Var}_{\mathrm{eval}} =
    \sigma^2$$

    Assumes: masks are independent of the values and of each other.

    Check: Both outcomes of each mask; draws of the layer. Then six networks 64-48-48-48-10
    trained on 400 digits, dropout behind each hidden layer: the variance of wᵀx before the second and third
    normalisation grows by p/(1 − p) Σ w²E[x²]; what the buffers learnt is reported beside it.
    """
    rng = data.generator(key)
    x = offset + rng.normal(size=200)
    average, spread = x.mean(), x.var()
    predicted = float(regularisation.dropout_variance(average, spread, drop))
    kept = x / (1 - drop)
    total = (1 - drop) * np.mean(kept**2) - (np.mean((1 - drop) * kept)) ** 2
    yield close(predicted, total, "variance with dropout on, against both outcomes of each mask", rtol=1e-10)
    layer, keys = regularisation.Dropout(drop), jax.random.split(key, 4000)
    draws = np.asarray(jax.vmap(lambda k: layer(jnp.asarray(x), key=k))(keys))
    yield mean(((draws - average) ** 2).mean(axis=1), predicted, "mean squared deviation of draws of the layer")
    yield reference(
        regularisation.dropout_variance(0.0, 1.0, 0.5),
        2.0,
        "variance with dropout on over off: standard normal values, p = ½",
        digits=5,
    )
    rectified = regularisation.rectified_moments()
    # The curriculum has 0.842 here; (σ² + μ²)/(1 − p) − μ² = 1 − 1/(2π) = 0.84085 exactly.
    value = float(regularisation.dropout_variance(*rectified, 0.5))
    yield reference(
        [value, float(rectified[1])],
        [0.84085, 0.34085],
        "variance with dropout on and off: ReLU of standard normal values, p = ½",
        digits=5,
    )
    measured, expected, learnt = _network_ratios(key, drop)
    what = "six networks: variance before a normalisation, dropout on over off, less the predicted ratio"
    yield mean((measured - expected).mean(axis=(0, 2)), 0.0, what)
    what = "variance in the buffers that training left, over that of evaluation: mean ratio of each network"
    yield at_least(learnt.mean(axis=1), 1.0, what, strict=True).as_empirical()
    reach = np.array([1.0, max(expected.max(), measured.mean(axis=1).max())])
    title = (
        f"At p = {drop:g} dropout multiplies the variance before a normalisation by {measured.mean():.2g}, as predicted"
    )
    axes = "predicted ratio of a unit", "measured ratio, mean of 40 masks"
    points = {"units of six networks": (expected.ravel(), measured.mean(axis=1).ravel())}
    yield figure.curves(title, *axes, lines={"equal": (reach, reach)}, points=points)


def _network_ratios(key, drop):
    """For the second and third layer of each network: variance with 40 masks over that without, measured (networks,
    masks, units) and predicted (networks, 1, units); and that in the buffers over that of evaluation (networks, units).
    """
    part = digit_part(400)
    make = dense_maker((64, 48, 48, 48, 10), normalisation="batch", dropout=drop)
    nets, states, _ = trained(key, make, part, seeds=6, num_steps=200)
    layer = regularisation.Dropout(drop)

    @eqx.filter_jit
    def of_network(net, state, key):
        right = regularisation.batch_norm_buffers(net, regularisation.recalibrate(net, state, part.x))
        inputs, outputs = hidden_layers(net, right.values(), part.x)
        found = []
        for index, (w, _) in list(enumerate(net.dense.affine()))[1:-1]:
            h, plain = outputs[index - 1], jnp.var(inputs[index], axis=0)
            keys = jax.random.split(jax.random.fold_in(key, index), 40)
            on = jax.vmap(lambda k, h=h, w=w: jnp.var(layer(h, key=k) @ w.T, axis=0))(keys)
            # The variance of n rows has (1 − 1/n) of what independent masks add.
            added = drop / (1 - drop) * (1 - 1 / len(h)) * (w**2 @ jnp.mean(h**2, axis=0))
            found.append((on / plain, (1 + added / plain)[None]))
        measured, expected = (jnp.concatenate(pair, axis=1) for pair in zip(*found, strict=True))
        kept = regularisation.batch_norm_buffers(net, state)
        learnt = [kept[name].variance / right[name].variance for name in list(kept)[1:]]
        return measured, expected, jnp.concatenate(learnt)

    found = eqx.filter_vmap(of_network)(nets, states, jax.random.split(key, 6))
    return tuple(np.asarray(part, float) for part in found)
