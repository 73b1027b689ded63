"""Orthogonal recurrent weights: how they are drawn, what they keep, and how training leaves them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.linalg import polar
from scipy.stats import beta, uniform

from leadline import data, networks, sequences, training
from leadline.evidence import Int, Real, at_least, at_most, claim, close, distributed_as, exactly, method, slope
from leadline.presentation import figure

from .vanishing import Elementwise


@method(sources=("penn",), shows=("networks.initialiser",))
def orthogonal_initialisation(
    key, units: Int(2, 32) = 8, draws: Int(100, 1000) = 400, steps: Int(10, 100) = 50, gain: Real(0.5, 2.0) = 1.0
):
    r"""Orthogonal initialisation.

    The Q of a Gaussian matrix's QR decomposition, its columns multiplied by the signs of the diagonal of R, is uniform
    on the orthogonal group (Haar); without the signs it is not. The polar factor is uniform too. Rectangular matrices
    have orthonormal rows or columns; a gain g scales all of it.

    $$G = QR, \quad U = Q \operatorname{diag}(\operatorname{sgn} R_{ii}), \qquad U^\top U = I$$

    Assumes: the entries of G are independent and normal.

    Check: `draws` matrices of the library's initialiser. An entry's distribution and the angles of eigenvalues, one
    picked from each matrix, are those of the Haar measure. Gradients against the lag beside those of Gaussian weights.
    """
    draw = networks.initialiser("orthogonal")
    Q = np.asarray(jax.vmap(lambda k: draw(k, (units, units), float))(jax.random.split(key, draws)))
    eye = np.eye(units)
    defects = np.abs(np.swapaxes(Q, 1, 2) @ Q - eye).max(axis=(1, 2))
    yield at_most(defects, 1e-12, "largest entry of UᵀU − I")
    single = np.asarray(draw(key, (units, units), jnp.float32), np.float64)
    yield at_most(np.abs(single.T @ single - eye).max(), 1e-5, "the same in single precision")
    tall = np.asarray(draw(key, (2 * units, units), float))
    yield at_most(np.abs(tall.T @ tall - eye).max(), 1e-12, "a tall matrix: largest entry of UᵀU − I")
    entry = beta((units - 1) / 2, (units - 1) / 2, loc=-1, scale=2)  # of a coordinate on the sphere
    right = distributed_as(Q[:, 0, 0], entry, "first entry: that of a uniform direction")
    yield right
    rng = data.generator(key)
    picked = rng.integers(units, size=draws)
    values = np.linalg.eigvals(Q)[np.arange(draws), picked]
    angles = np.abs(np.angle(values[np.abs(values.imag) > 1e-9]))
    yield distributed_as(angles, uniform(0, np.pi), "angles of eigenvalues that are not real: uniform")
    G = rng.normal(size=(draws, units, units))
    plain = np.linalg.qr(G)[0]
    wrong = distributed_as(plain[:, 0, 0], entry, "first entry of Q without the signs of R")
    yield exactly(str(wrong.verdict), "fails", "without the signs of R the same test: its verdict")
    nearest = np.array([polar(g)[0] for g in G[:100]])
    yield distributed_as(nearest[:, 0, 0], entry, "first entry of polar factors: that of a uniform direction")
    V = jnp.asarray(rng.normal(size=(units, 1)))
    x = jnp.asarray(0.3 * rng.normal(size=(steps, 1)))
    lags = np.unique(np.linspace(1, steps, 10).astype(int))
    curves = {}
    for name, U in {"orthogonal": gain * Q[0], "Gaussian": gain * G[0] / np.sqrt(units)}.items():
        cell = Elementwise(jnp.asarray(U), V, "identity")
        curves[name] = sequences.jacobian_product_norms(cell, jnp.zeros(units), x, lags)
    what = f"linear network with gain {gain:g}: log gradient of orthogonal weights, against k log g"
    yield close(curves["orthogonal"], lags * np.log(gain), what, atol=1e-9)
    circle = np.linspace(0, 2 * np.pi, 200)
    eigenvalues = np.linalg.eigvals(Q[:40]).ravel()
    left = figure.plane(
        "eigenvalues of 40 matrices",
        "real part",
        "imaginary part",
        points={"eigenvalue": np.stack([eigenvalues.real, eigenvalues.imag], axis=1)},
        lines={"unit circle": (np.cos(circle), np.sin(circle))},
        domain=((-1.2, 1.2), (-1.2, 1.2)),
    )
    right = figure.curves(
        "gradient of a linear network",
        "lag",
        "log norm",
        lines={"k log g": (lags, lags * np.log(gain))},
        points={name: (lags, values) for name, values in curves.items()},
    )
    yield figure.beside(
        "Orthogonal weights: eigenvalues all round the circle, gradients that keep their size", left, right
    )


@claim(sources=("penn",), shows=("sequences.retracted", "sequences.orthogonality_defect", "sequences.cayley_step"))
def orthogonal_dynamics(
    key,
    units: Int(2, 64) = 32,
    products: Int(100, 10000, log=True) = 2000,
    step_size: Real(0.001, 0.1, log=True) = 0.02,
):
    r"""Orthogonality is lost in training.

    Powers of an orthogonal matrix keep every length. A gradient step leaves the group at once: a general step by O(η),
    a tangent step W(I + ηΩ) with skew Ω by η²‖ΩᵀΩ‖ exactly. Retractions, by QR, polar factor or Cayley's transform,
    keep it.

    $$\|Q^k x\| = \|x\|, \qquad \|W'^\top W' - I\|_F = \eta^2 \|\Omega^\top \Omega\|_F \text{ for } W' = W(I + \eta
    \Omega)$$

    Assumes: W is orthogonal and Ω is skew-symmetric.

    Check: The length of a vector after many products; defects for several η. Then gradient descent on a quadratic loss
    of W, plainly and with retractions.
    """
    rng = data.generator(key)
    W = np.asarray(networks.initialiser("orthogonal")(key, (units, units), float))
    x = rng.normal(size=units)
    moved = x
    for _ in range(products):
        moved = W @ moved
    what = f"length of a vector after {products} products with an orthogonal matrix, relative"
    yield close(np.linalg.norm(moved) / np.linalg.norm(x), 1.0, what, atol=1e-15 * products + 1e-13)
    S = rng.normal(size=(units, units)) / np.sqrt(units)
    skew = S - S.T
    etas = step_size * np.array([1.0, 0.5, 0.25, 0.125])
    squares = np.linalg.norm(skew.T @ skew)
    tangent = np.array(
        [float(sequences.orthogonality_defect(jnp.asarray(W @ (np.eye(units) + e * skew)))) for e in etas]
    )
    exact = close(tangent / etas**2, squares, "tangent step: defect over η², against ‖ΩᵀΩ‖", rtol=1e-6)
    yield exact
    general = np.array([float(sequences.orthogonality_defect(jnp.asarray(W + e * S))) for e in etas])
    yield slope(etas, general, 1.0, "general step: defect against η, slope on a log-log plot", within=0.1)
    turned = sequences.cayley_step(jnp.asarray(W), jnp.asarray(skew), step_size)
    yield at_most(sequences.orthogonality_defect(turned), 1e-12 * units, "Cayley step: defect")
    near = float(jnp.linalg.norm(turned - W @ (np.eye(units) + step_size * skew)))
    what = "Cayley step: distance from the tangent step, against η²‖Ω²‖/2 and the order after it"
    bound = step_size**2 * squares / 2 * (1 + step_size * np.linalg.norm(skew, 2))
    yield at_most(near, bound, what, rtol=1e-6)
    target = jnp.asarray(rng.normal(size=(units, units)) / np.sqrt(units))
    paths = {
        name: _trained(rule, jnp.asarray(W), target)
        for name, rule in {
            "plain": optax.sgd(step_size),
            "QR": sequences.retracted(optax.sgd(step_size), "qr"),
            "polar": sequences.retracted(optax.sgd(step_size), "polar"),
        }.items()
    }
    yield at_least(paths["plain"][0], 0.1 * step_size, "training without retraction: defect after the first step")
    for name in ("QR", "polar"):
        yield at_most(paths[name], 1e-12 * units, f"training with retraction by {name}: largest defect")
    steps = np.arange(1, len(paths["plain"]) + 1)
    yield figure.curves(
        f"Without retraction WᵀW is off by {paths['plain'][-1]:.2g} at the end, with it by {paths['QR'].max():.0e}",
        "training step",
        "‖WᵀW − I‖",
        points={name: (steps, np.maximum(path, 1e-17)) for name, path in paths.items()},
        log="y",
    )


def _trained(rule, start, target, count=60):
    @jax.jit
    def path(start, target):
        ran = training.scan_steps(
            lambda W, batch, key, state: (0.5 * jnp.sum((W - target) ** 2), state),
            start,
            rule,
            None,
            num_steps=count,
            measure=lambda seen: sequences.orthogonality_defect(seen.after.parameters),
        )
        return ran.measured

    return np.asarray(path(start, target))
