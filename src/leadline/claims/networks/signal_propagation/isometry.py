"""Orthogonal weights keep lengths through any depth; Gaussian ones spread them like a fan."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data
from leadline.evidence import Int, at_least, at_most, claim, close, distributed_as, erratum, exactly, mean, smaller
from leadline.networks.signal.lyapunov import gaussian_product_exponents, log_growth
from leadline.presentation import figure
from leadline.training import minimise


@claim(sources=("eth",))
def orthogonal_isometry(key, size: Int(8, 40) = 16, layers: Int(2, 400) = 200):
    r"""Orthogonal initialisation preserves norms.

    A square orthogonal matrix preserves every length, forwards and backwards; its eigenvalues lie on the unit circle,
    and products stay orthogonal. A deep linear network initialised in this way trains in a time that hardly depends on
    depth; from Gaussian weights it slows down or stops.

    $$\|W x\| = \|x\|, \quad \|W^\top \delta\| = \|\delta\|, \quad |\lambda_i| = \sigma_i = 1$$

    Assumes: square matrices; for the training time, a step size proportional to 1/depth.

    Check: Products of many matrices are taken; the training time is measured on a linear target for depths 2 to 64,
    with eight starts each.
    """
    rng = data.generator(key)
    gaussian = rng.standard_normal((layers, size, size))
    orthogonal = _uniform_orthogonal(gaussian)
    x, adjoint = rng.standard_normal(size), rng.standard_normal(size)
    forward, backward = x, adjoint
    for w in orthogonal:
        forward = w @ forward
    for w in orthogonal[::-1]:
        backward = w.T @ backward
    lengths = {"forward": np.linalg.norm(forward) / np.linalg.norm(x)}
    lengths["back"] = np.linalg.norm(backward) / np.linalg.norm(adjoint)
    for way, length in lengths.items():
        yield close(length, 1.0, f"length {way} through {layers} layers, relative to the start", atol=1e-12)
    eigenvalues = np.linalg.eigvals(orthogonal[0])
    circle = close(np.abs(eigenvalues), 1.0, "moduli of the eigenvalues of an orthogonal matrix", atol=1e-12)
    yield circle
    real = np.sum(np.abs(eigenvalues.imag) < 1e-12)
    expected = 1 if size % 2 else (0 if np.linalg.det(orthogonal[0]) > 0 else 2)
    yield exactly(real, expected, "real eigenvalues: 1 for odd n, 0 or 2 for even n by det W")
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    spun = np.linalg.eigvals(turn * np.sign(np.linalg.det(turn)))
    wrong = at_most(np.abs(spun.imag).max(), 1e-9, "imaginary parts of a random 3 × 3 rotation's eigenvalues")
    yield erratum(wrong, of=circle, by="eth", prints="orthogonal matrices have eigenvalues ±1")
    depths = (2, 8, 32, 64)
    steps, limit = _training_times(jax.random.fold_in(key, 1), depths)
    medians = np.median(steps, axis=2)  # (start, depth), the median over seeds
    what = f"orthogonal: longest median time, depths {depths[0]} to {depths[-1]}, against 3 times the shortest"
    yield at_most(medians[0].max(), 3 * medians[0].min(), what)
    yield smaller(steps[0, -1], steps[1, -1], f"steps at depth {depths[-1]}: orthogonal against Gaussian")
    what = f"Gaussian, depth {depths[-1]}: median steps, against 3 times those of orthogonal"
    yield at_least(medians[1, -1], 3 * medians[0, -1], what)
    angle = np.linspace(0, 2 * np.pi, 200)
    scale = np.cumsum(log_growth(gaussian[:30] / size**0.5), axis=0)
    levels, chosen = np.arange(1, len(scale) + 1), {"largest": 0, "middle": size // 2, "smallest": size - 1}
    spread = {f"Gaussian, {name}": (levels, np.exp(scale[:, i])) for name, i in chosen.items()}
    flat, products = {"orthogonal: all": (levels, 0.0 * levels + 1)}, "singular values of products: exponents by QR"
    times = {}
    for name, median, runs in zip(("orthogonal", "Gaussian"), medians, steps, strict=True):
        times[name] = (depths, median, runs.min(axis=1), runs.max(axis=1))
    budget = f"steps to 1% of the first loss (at most {limit})"
    yield figure.beside(
        f"Orthogonal weights: all singular values stay 1, and depth {depths[-1]} trains in {medians[0, -1]:.0f} steps, "
        f"depth {depths[0]} in {medians[0, 0]:.0f}",
        figure.plane(
            f"eigenvalues of an orthogonal {size} × {size} matrix",
            "real part",
            "imaginary part",
            points={"eigenvalue": np.stack([eigenvalues.real, eigenvalues.imag], axis=1)},
            lines={"unit circle": (np.cos(angle), np.sin(angle))},
            domain=((-1.2, 1.2), (-1.2, 1.2)),
        ),
        figure.curves(products, "factors", "singular value", lines=flat, points=spread, log="y"),
        figure.curves(budget, "depth", "steps, median of 8 starts", points=times, log="xy"),
    )


def _training_times(key, depths: tuple[int, ...], size: int = 12, outputs: int = 4, seeds: int = 8, limit: int = 200):
    """Steps until the loss of a deep linear network has fallen to 1%, for orthogonal and Gaussian starts.

    Returns (start, depth, seed). All depths are trained in one program: layers beyond a network's depth are identities.
    """
    rng, deepest = data.generator(key), max(depths)
    gaussian = rng.standard_normal((seeds, deepest, size, size), dtype=np.float32) / np.float32(size**0.5)
    orthogonal = _uniform_orthogonal(gaussian)
    targets = _uniform_orthogonal(rng.standard_normal((seeds, size, size), dtype=np.float32))[:, :outputs]

    def loss(weights, target, depth):
        used = jnp.arange(deepest) < depth
        product, _ = jax.lax.scan(
            lambda rows, layer: (jnp.where(layer[1], rows @ layer[0], rows), None),
            jnp.eye(outputs, size, dtype=jnp.float32),
            (weights, used),
        )
        return 0.5 * jnp.sum((product - target) ** 2)

    def train(weights, target, depth):
        _, losses = minimise(lambda w, t, d: loss(w, t, d) / d, weights, optax.sgd(0.2), limit, target, depth)
        reached = losses <= 0.01 * losses[0]
        return jnp.where(reached.any(), jnp.argmax(reached), limit)

    over_seeds = jax.vmap(train, in_axes=(0, 0, None))
    over_starts = jax.vmap(over_seeds, in_axes=(0, None, None))
    over_depths = jax.jit(jax.vmap(over_starts, in_axes=(None, None, 0)))
    times = over_depths(np.stack([orthogonal, gaussian]), targets, np.array(depths, np.float32))
    return np.asarray(times).transpose(1, 0, 2), limit


def _uniform_orthogonal(gaussian):
    """Haar distributed matrices: the Q factors of Gaussian ones with the signs of diag R."""
    q, r = np.linalg.qr(gaussian)
    return q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]


@claim(sources=("eth",))
def gaussian_product_lyapunov(key, size: Int(2, 64) = 16, factors: Int(300, 4000, log=True) = 2000):
    r"""Lyapunov exponents of Gaussian matrix products.

    The singular values of a product of L Gaussian matrices grow like $e^{L \lambda_i}$ with known exponents λᵢ, all
    different: the condition number explodes with depth, while that of a product of orthogonal matrices stays 1.

    $$\lambda_i = \tfrac12\left[\log\tfrac2n + \psi\!\left(\tfrac{n-i+1}{2}\right)\right], \qquad \kappa \sim
    \exp\left(\tfrac L2 [\psi(\tfrac n2) - \psi(\tfrac12)]\right)$$

    Assumes: independent n × n factors with entries N(0, 1/n).

    Check: The exponents come from accumulated QR decompositions; a short product is decomposed directly.
    """
    from scipy.special import polygamma
    from scipy.stats import norm

    drawn = data.generator(key).standard_normal((factors, size, size)) / size**0.5
    growth = log_growth(drawn)
    exponents = gaussian_product_exponents(size)
    spread = 0.5 * polygamma(1, (size - np.arange(size)) / 2) ** 0.5  # of one factor: log χ with n-i+1 degrees
    for name, index in {"largest": 0, "least": size - 1}.items():
        yield mean(growth[:, index], exponents[index], f"{name} Lyapunov exponent", deviation=float(spread[index]))
    errors = (growth.mean(axis=0) - exponents) / (spread / factors**0.5)
    yield distributed_as(errors, norm(), f"errors of all {size} exponents, in units of theory's deviation")
    gap, both = float(exponents[0] - exponents[-1]), float(np.hypot(spread[0], spread[-1]))
    what = "growth of log condition number per factor, against ½[ψ(n/2) − ψ(½)]"
    yield mean(growth[:, 0] - growth[:, -1], gap, what, deviation=both)
    # As many factors as float64 can decompose: the condition number stays below 1e10.
    short = max(1, int(23 / gap))
    singular = np.linalg.svd(np.linalg.multi_dot([np.eye(size), *drawn[:short][::-1]]), compute_uv=False)
    logs, partial = np.log(singular), growth[:short].sum(axis=0)
    yield at_least(logs[0], partial.max(), f"log σ₁ of {short} factors, against the largest log |R_ii|", atol=1e-6)
    yield at_most(logs[-1], partial.min(), f"log σ_n of {short} factors, against the least log |R_ii|", atol=1e-6)
    yield close(logs.sum(), partial.sum(), "log |det|: sum of log σ against sum of log |R_ii|", atol=1e-4)
    turned = np.linalg.svd(np.linalg.multi_dot([np.eye(size), *np.linalg.qr(drawn[:50])[0]]), compute_uv=False)
    yield close(turned, 1.0, "singular values of the product of 50 orthogonal factors", atol=1e-12)
    levels = np.unique(np.linspace(1, min(factors, 60), 15).astype(int))
    totals = np.cumsum(growth, axis=0)[levels - 1]
    shown = sorted({0, size // 4, size // 2, 3 * size // 4, size - 1})
    lines = {f"i = {i + 1}": (levels, levels * exponents[i]) for i in shown} | {"orthogonal": (levels, 0.0 * levels)}
    points = {f"i = {i + 1}": (levels, totals[:, i]) for i in shown}
    condition = f"the condition number is near e^{levels[-1] * gap:.0f}, orthogonal ones keep it at 1"
    title = f"{levels[-1]} Gaussian {size} × {size} factors: {condition}"
    yield figure.curves(title, "factors", "log singular value", lines=lines, points=points)
