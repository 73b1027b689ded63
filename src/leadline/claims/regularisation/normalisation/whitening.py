"""Whitening of data and as a layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, differentiation, optimisation, regularisation
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, method, slope
from leadline.presentation import figure


@method(sources=("penn",), shows=("regularisation.fit_whitening", "regularisation.BatchWhitening"))
def whitening(key, dim: Int(2, 20) = 6, surplus: Int(2, 300) = 60, condition: Real(1.0, 1e4, log=True) = 100.0):
    r"""Whitening.

    Centred data with covariance UΛUᵀ are mapped to covariance I by $\Lambda^{-1/2}U^\top$ (PCA), by
    $U\Lambda^{-1/2}U^\top$ (ZCA, the whitening closest to the data in mean square), or by Cholesky's L⁻¹. As a layer it
    whitens each batch, by eigen-decomposition or by Newton-Schulz products, and can be differentiated, at equal
    eigenvalues too. It costs p³ and needs more rows than features.

    $$\hat x = \Lambda^{-1/2} U^\top x, \quad U \Lambda^{-1/2} U^\top x, \quad L^{-1} x, \qquad \Sigma = U \Lambda
    U^\top = L L^\top, \qquad \frac1n \sum_i \hat x_i \hat x_i^\top = I$$

    Assumes: directions of variance 0 are dropped; Cholesky needs full rank.

    Check: Random data of d + `surplus` rows; 200 random rotations against ZCA; the layer's gradient against differences
    at distinct, close and equal eigenvalues; descent on least squares before and after; the digits for the picture.
    """
    rng = data.generator(key)
    rows = dim + surplus
    x = _spread(rng, rows, np.geomspace(1.0, condition**-0.5, dim)) + rng.normal(size=dim)
    for kind in ("pca", "zca", "cholesky"):
        white = regularisation.fit_whitening(x, kind)(x)
        yield close(white.T @ white / rows, np.eye(dim), f"{kind}: covariance after, against I", atol=1e-8)
    flat = np.concatenate([x, x[:, :1] - x[:, 1:2]], axis=1)
    kept = regularisation.fit_whitening(flat, "pca")
    yield exactly(kept.rank, dim, "with a column that others give: rank kept")
    white = kept(flat)
    yield close(
        white.T @ white / rows,
        np.eye(dim),
        "with a column that others give: covariance on the retained rank",
        atol=1e-8,
    )
    zca = regularisation.fit_whitening(x, "zca")(x)
    centred = x - x.mean(axis=0)
    distance = np.mean(np.sum((centred - zca) ** 2, axis=1))
    turns = np.linalg.qr(rng.normal(size=(200, dim, dim)))[0]
    others = [np.mean(np.sum((centred - zca @ turn) ** 2, axis=1)) for turn in turns]
    yield at_least(others, distance, "mean squared distance to the data after a random rotation, against ZCA's")
    least = np.sum((1 - np.sqrt(np.linalg.eigvalsh(centred.T @ centred / rows))) ** 2)
    yield close(distance, least, "ZCA's mean squared distance, against Σ(1 − √λ)²", rtol=1e-8, atol=1e-10)
    yield from _as_a_layer(rng, rows, dim)
    yield from _descents(rng, centred, zca, condition)
    sides = np.array([16, 32, 64, 128])
    work = [_work(int(p)) for p in sides]
    yield slope(sides, work, 3.0, "floating-point operations of the layer against p", within=0.15)
    images, _ = data.digits()
    shown = images[[0, 1, 2, 3, 4]]
    kinds = {kind: regularisation.fit_whitening(images, kind, epsilon=1e-2) for kind in ("pca", "zca")}
    padded = np.zeros((5, 64))
    padded[:, : kinds["pca"].rank] = kinds["pca"](shown)
    rows_of = {"raw": shown, "PCA": padded, "ZCA": kinds["zca"](shown)}
    grid = [(name, _unit(image).reshape(8, 8)) for name, part in rows_of.items() for image in part]
    title = "Digits raw, PCA-whitened (components in order) and ZCA-whitened, which still look like themselves"
    yield figure.images(title, images=grid, columns=5)


def _spread(rng, rows, deviations):
    """Centred rows whose covariance has these square roots of eigenvalues, in random directions."""
    draws = rng.normal(size=(rows, len(deviations)))
    orthonormal = np.linalg.qr(draws - draws.mean(axis=0))[0] * np.sqrt(rows)
    return (orthonormal * deviations) @ np.linalg.qr(rng.normal(size=(len(deviations),) * 2))[0]


def _as_a_layer(rng, rows, dim):
    """Methods against each other, and gradients at distinct, close and equal eigenvalues."""
    h = jnp.asarray(_spread(rng, rows, np.linspace(0.5, 1.5, dim)))
    eigen = regularisation.BatchWhitening(epsilon=0.0)(h)
    by_data = regularisation.fit_whitening(np.asarray(h), "zca")(np.asarray(h))
    yield close(eigen, by_data, "layer by eigen-decomposition, against ZCA of the batch", atol=1e-9)
    products = regularisation.BatchWhitening(epsilon=0.0, method="newton-schulz", num_steps=25)(h)
    yield close(products, eigen, "layer by Newton-Schulz, against the eigen-decomposition", atol=1e-8)
    dy = jnp.asarray(rng.normal(size=(rows, dim)))
    for name, deviations in (
        ("distinct", np.linspace(0.5, 1.5, dim)),
        ("close", 1 + 1e-7 * np.arange(dim)),
        ("equal", np.ones(dim)),
    ):
        batch = jnp.asarray(_spread(rng, rows, deviations))
        for method_name in ("eigen", "newton-schulz", "cholesky"):
            layer = regularisation.BatchWhitening(epsilon=1e-3, method=method_name, num_steps=25)
            given = _Weighed(layer, dy)
            report = differentiation.check_gradient(
                given, batch, eqx.filter_jit(eqx.filter_grad(_value))(batch, given), steps=(1e-3, 1e-4, 1e-5)
            )
            what = f"{name} eigenvalues, {method_name}: error of the gradient against differences"
            yield at_most(report.parameters[0].error, 1e-6, what)


class _Weighed(eqx.Module):
    """The layer's outputs against a fixed cotangent: a number. A module, so that it is compiled once for each layer."""

    layer: regularisation.BatchWhitening
    dy: jax.Array

    def __call__(self, h):
        return jnp.sum(self.dy * self.layer(h))


def _value(batch, weighed):
    return weighed(batch)


def _descents(rng, centred, white, condition):
    """Gradient descent on least squares with the best fixed step, before and after whitening."""
    y = rng.normal(size=len(centred))
    counts = []
    for inputs in (centred, white):
        hessian, moment = inputs.T @ inputs / len(y), inputs.T @ y / len(y)
        values = np.linalg.eigvalsh(hessian)
        bowl = optimisation.Quadratic(jnp.asarray(hessian), jnp.asarray(moment))
        rule = optimisation.tunable(optax.sgd, learning_rate=2 / (values[0] + values[-1]))
        run = optimisation.descend(bowl, rule, jnp.zeros(len(moment)), 2000)
        gaps = np.asarray(jax.vmap(bowl.gap)(run.points))
        counts.append(int(np.argmax(gaps <= 1e-6 * gaps[0])) if np.any(gaps <= 1e-6 * gaps[0]) else 2001)
    yield exactly(counts[1], 1, "steps of descent to a millionth of the excess loss, after whitening")
    what = "steps of descent to a millionth of the excess loss, before whitening, against the rate ((κ − 1)/(κ + 1))²"
    rate = (condition - 1) / (condition + 1)
    most = 1 if rate < 1e-3 else np.ceil(np.log(1e-6) / (2 * np.log(rate)))
    yield at_most(counts[0], most, what).given(most <= 2000, "the rate allows it within 2000 steps")


def _work(p):
    """What the compiler counts for the Newton-Schulz layer on 2p rows of p features."""
    layer = regularisation.BatchWhitening(method="newton-schulz")
    compiled = jax.jit(layer).lower(jax.ShapeDtypeStruct((2 * p, p), jnp.float64)).compile()
    return compiled.cost_analysis()["flops"]


def _unit(image):
    """Grey values from 0 to 1."""
    return (image - image.min()) / (image.max() - image.min())
