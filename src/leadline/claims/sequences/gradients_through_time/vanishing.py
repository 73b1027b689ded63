"""Gradients that vanish: the bound by the largest singular value, and when it is strict."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks, sequences
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, erratum
from leadline.presentation import figure

SCALES = (0.5, 0.9, 1.0, 1.1, 2.0)


class Elementwise(eqx.Module):
    """z' = φ(U z + V x), U and V arrays: one compiled program for all weights."""

    U: jax.Array
    V: jax.Array
    phi: str = eqx.field(static=True)

    def __call__(self, z, x):
        return networks.activation(self.phi)(self.U @ z + self.V @ x)


@claim(sources=("eth", "sheet", "penn"), shows=("sequences.jacobian_product_norms",))
def vanishing_gradient_bound(
    key,
    phi: OneOf("tanh", "sigmoid", "relu") = "tanh",
    units: Int(2, 64) = 24,
    steps: Int(20, 200) = 100,
    drive: Real(0.0, 3.0) = 1.0,
):
    r"""The bound by which gradients vanish.

    With α the largest slope of φ, the gradient over k steps is at most $(\alpha \sigma_1(U))^k$: it vanishes
    exponentially where the product is below 1, strictly. The condition is sufficient, not necessary; it is about the
    largest singular value, not the spectral radius. A network of ten layers loses little of what a hundred steps lose.

    $$\left\| \frac{\partial z_T}{\partial z_t} \right\|_2 \le \prod_{j = t+1}^{T} \|J_j\|_2 \le (\alpha
    \sigma_1(U))^{T - t}$$

    Assumes: an elementwise activation, and the same U at every step.

    Check: Random U scaled so that ασ₁ is 0.5, 0.9, 1, 1.1, 2, white inputs; logarithms of norms by vector-Jacobian
    products that are renormalised at every step. At equality an orthogonal U without activation keeps the norm.
    """
    rng = data.generator(key)
    alpha = networks.activation_facts(phi).lipschitz
    gaussian, V = rng.normal(size=(units, units)), rng.normal(size=(units, 2)) / np.sqrt(2)
    x = jnp.asarray(drive * rng.normal(size=(steps, 2)))
    lags = np.unique(np.geomspace(1, steps, 14).astype(int))
    curves, bounds = {}, {}
    for scale in SCALES:
        U = gaussian * (scale / alpha / np.linalg.norm(gaussian, 2))
        cell = Elementwise(jnp.asarray(U), jnp.asarray(V), phi)
        found = sequences.jacobian_product_norms(cell, jnp.zeros(units), x, lags)
        line = lags * np.log(scale)
        yield at_most(found, line, f"ασ₁ = {scale:g}: log norm of the gradient at all lags", atol=1e-9)
        name = f"ασ₁ = {scale:g}"
        curves[name], bounds[name] = (lags, found), (lags, line)
        if scale == 0.9:
            J = np.asarray(sequences.state_jacobians(cell, jnp.zeros(units), x))
            single = np.log(np.linalg.norm(J, 2, axis=(1, 2)))
            between = np.array([single[steps - k :].sum() for k in lags])
            yield at_most(found, between, "ασ₁ = 0.9: the same, against the norms of the factors", atol=1e-9)
            short, long = found[lags <= 10][-1], found[-1]
            what = f"ασ₁ = 0.9: log norm over {steps} steps, less that over the last {lags[lags <= 10][-1]}"
            yield at_most(long - short, (steps - lags[lags <= 10][-1]) * np.log(0.9), what, atol=1e-9)
    Q = np.linalg.qr(gaussian)[0]
    keeping = Elementwise(jnp.asarray(Q), jnp.asarray(V), "identity")
    kept = sequences.jacobian_product_norms(keeping, jnp.zeros(units), x, (steps,))[0]
    right = close(kept, 0.0, f"ασ₁ = 1, orthogonal U, no activation: log norm over {steps} steps", atol=1e-9)
    yield right
    wrong = at_most(kept, np.log(0.5), "the same: has it fallen to one half?")
    yield erratum(
        wrong,
        of=right,
        by="eth",
        prints="vanishing gradients for σ₁(U) ≤ 1/α: at equality nothing need decay, < is meant",
    )
    half = gaussian * (2.0 / alpha / np.linalg.norm(gaussian, 2))
    radius = np.abs(np.linalg.eigvals(half)).max() * alpha
    yield at_least(2.0, radius, "ασ₁ = 2: against α times the spectral radius of the same U", atol=1e-9)
    yield figure.curves(
        f"{phi}: after {steps} steps ασ₁ = 0.9 leaves e^{curves['ασ₁ = 0.9'][1][-1]:.0f} of a gradient",
        "lag",
        "log norm of the gradient",
        lines=bounds,
        points=curves,
    )
