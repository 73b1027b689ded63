"""When every direction of a gradient is kept, not only the largest."""

import jax.numpy as jnp
import numpy as np

from leadline import data, sequences
from leadline.evidence import Int, Real, at_most, claim, close
from leadline.presentation import figure

from .vanishing import Elementwise


@claim(sources=("eth",), shows=("sequences.jacobian_product_spectrum",))
def isometry_condition(
    key, units: Int(2, 24) = 8, steps: Int(10, 100) = 40, drive: Real(0.05, 2.0) = 0.5, shrink: Real(0.1, 0.9) = 0.5
):
    r"""Norm one at every step prevents explosion only.

    Jacobians of norm 1 keep a gradient from exploding; a direction with a smaller singular value decays nevertheless.
    All directions are kept where every Jacobian is orthogonal, as without activation, and no fixed U achieves that
    while φ′ varies along the path: with tanh an orthogonal U loses more, the stronger the inputs.

    $$\|J_j\|_2 = 1 \Rightarrow \Big\| \prod_j J_j \Big\|_2 \le 1, \qquad J_j^\top J_j = I \;\forall j \Rightarrow
    \sigma_i\Big(\prod_j J_j\Big) = 1 \;\forall i$$

    Assumes: nothing beyond an elementwise activation.

    Check: The singular values of products of Jacobians against the lag: orthogonal and linear; one value of J smaller;
    tanh with an orthogonal U under weak and strong inputs.
    """
    rng = data.generator(key)
    Q = np.linalg.qr(rng.normal(size=(units, units)))[0]
    V = rng.normal(size=(units, 2))
    x = jnp.asarray(rng.normal(size=(steps, 2)))
    lags = np.unique(np.geomspace(1, steps, 6).astype(int))
    start = jnp.zeros(units)

    def spectrum(U, phi, scale):
        cell = Elementwise(jnp.asarray(U), jnp.asarray(scale * V), phi)
        return sequences.jacobian_product_spectrum(cell, start, x, lags).log_singular_values

    linear = spectrum(Q, "identity", drive)
    yield close(linear, 0.0, "orthogonal U, no activation: log of every singular value, all lags", atol=1e-9)
    weak = np.diag([1.0] * (units - 1) + [shrink])
    one_less = spectrum(weak, "identity", drive)
    yield close(one_less[:, 0], 0.0, f"J of norm 1 with one singular value {shrink:g}: log of the largest", atol=1e-9)
    what = f"the same: log of the smallest, against k log {shrink:g}"
    yield close(one_less[:, -1], lags * np.log(shrink), what, atol=1e-8)
    bent = spectrum(Q, "tanh", drive)
    yield at_most(bent, 0.0, "orthogonal U, tanh: log of every singular value", atol=1e-9)
    yield at_most(bent[-1, 0], -1e-6, f"the same: log of the largest after {steps} steps")
    strong = spectrum(Q, "tanh", 2 * drive)
    what = "tanh: mean log singular value, inputs twice as strong, less that at the first strength"
    yield at_most(strong[-1].mean() - bent[-1].mean(), 0.0, what).as_empirical()
    middle = units // 2
    yield figure.curves(
        f"Orthogonal U with tanh: after {steps} steps singular values are e^{bent[-1, 0]:.1f} to e^{bent[-1, -1]:.1f}",
        "lag",
        "log singular value of the product",
        lines={"orthogonal, linear": (lags, 0.0 * lags), f"one value {shrink:g}": (lags, lags * np.log(shrink))},
        points={
            "tanh, largest": (lags, bent[:, 0]),
            "tanh, middle": (lags, bent[:, middle]),
            "tanh, smallest": (lags, bent[:, -1]),
            f"one value {shrink:g}": (lags, one_less[:, -1]),
        },
    )
