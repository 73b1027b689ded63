"""Orthogonal weights keep lengths through any depth; Gaussian ones spread them like a fan."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks
from leadline.evidence import (
    Range,
    at_least,
    at_most,
    claim,
    close,
    distributed_as,
    exactly,
    figure,
    mean,
    printed,
    smaller,
)  # fmt: skip
from leadline.training import minimise


@claim(
    "orthogonal-isometry",
    says=(
        "A square orthogonal matrix keeps every length, forwards and backwards; its eigenvalues lie on the unit "
        "circle, and products stay orthogonal. A deep linear network started so trains in a time that hardly depends "
        "on depth; from Gaussian weights it slows down or stops."
    ),
    formula=r"\|W x\| = \|x\|, \quad \|W^\top \delta\| = \|\delta\|, \quad |\lambda_i| = \sigma_i = 1",
    sources=("eth",),
    assumes=("square matrices", "step size proportional to 1/depth, for the training time"),
)
def orthogonal_isometry(
    key,
    size: Annotated[int, Range(8, 40)] = 16,
    layers: Annotated[int, Range(2, 400)] = 200,
):
    """Products of `layers` matrices; training time on a linear target for depths 2 to 64, eight starts each."""
    rng = data.generator(key)
    gaussian = rng.standard_normal((layers, size, size))
    orthogonal = _uniform_orthogonal(gaussian)
    x, adjoint = rng.standard_normal(size), rng.standard_normal(size)
    forward, backward = x, adjoint
    for w in orthogonal:
        forward = w @ forward
    for w in orthogonal[::-1]:
        backward = w.T @ backward
    yield close(np.linalg.norm(forward) / np.linalg.norm(x), 1.0, f"length after {layers} layers", atol=1e-12)
    yield close(np.linalg.norm(backward) / np.linalg.norm(adjoint), 1.0, f"length back {layers} layers", atol=1e-12)
    eigenvalues = np.linalg.eigvals(orthogonal[0])
    yield close(np.abs(eigenvalues), 1.0, "moduli of the eigenvalues", atol=1e-12)
    real = int(np.sum(np.abs(eigenvalues.imag) < 1e-12))
    sign = float(np.sign(np.linalg.det(orthogonal[0])))
    yield exactly(
        real, 1 if size % 2 else (0 if sign > 0 else 2), "real eigenvalues: 1 for odd n, 0 or 2 for even n by det W"
    )
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    spun = np.linalg.eigvals(turn)
    yield printed(
        at_most(np.abs(spun.imag).max(), 1e-9, "imaginary parts of a random 3 x 3 rotation's eigenvalues"),
        "eth", "orthogonal matrices have eigenvalues ±1",
    )  # fmt: skip

    depths = (2, 8, 32, 64)
    steps, limit = _training_times(jax.random.fold_in(key, 1), depths)
    medians = np.median(steps, axis=2)  # (start, depth), the median over seeds
    yield at_most(
        medians[0].max(), 3 * medians[0].min(), f"orthogonal: longest median time, depths {depths[0]} to {depths[-1]}, "
        "against 3x the shortest",
    )  # fmt: skip
    yield smaller(steps[0, -1], steps[1, -1], f"steps at depth {depths[-1]}: orthogonal against Gaussian")
    yield at_least(
        medians[1, -1],
        3 * medians[0, -1],
        f"Gaussian, depth {depths[-1]}: median steps, against 3x those of orthogonal",
    )

    circle = np.linspace(0, 2 * np.pi, 200)
    scale = np.cumsum(networks.log_growth(gaussian[:30] / size**0.5), axis=0)
    levels = np.arange(1, len(scale) + 1)
    yield figure.beside(
        f"Orthogonal weights: all singular values stay 1, and depth {depths[-1]} trains in {medians[0, -1]:.0f} steps, "
        f"depth {depths[0]} in {medians[0, 0]:.0f}",
        figure.plane(
            f"eigenvalues of an orthogonal {size} x {size} matrix", x="real part", y="imaginary part",
            points={"eigenvalue": np.stack([eigenvalues.real, eigenvalues.imag], axis=1)},
            lines={"unit circle": (np.cos(circle), np.sin(circle))}, domain=((-1.2, 1.2), (-1.2, 1.2)),
        ),
        figure.curves(
            "singular values of products: exponents by QR", x="factors", y="singular value",
            lines={"orthogonal: all": (levels, 0.0 * levels + 1)},
            points={
                f"Gaussian, {name}": (levels, np.exp(scale[:, index]))
                for name, index in {"largest": 0, "middle": size // 2, "smallest": size - 1}.items()
            }, log="y",
        ),
        figure.curves(
            f"steps to 1% of the first loss (at most {limit})", x="depth", y="steps, median of 8 starts",
            points={
                name: (depths, medians[i], steps[i].min(axis=1), steps[i].max(axis=1))
                for i, name in enumerate(("orthogonal", "Gaussian"))
            }, log="xy",
        ),
    )  # fmt: skip


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
            jnp.eye(outputs, size, dtype=jnp.float32), (weights, used),
        )  # fmt: skip
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


@claim(
    "gaussian-product-lyapunov",
    says=(
        "The singular values of a product of L Gaussian matrices grow like exp(L λ_i) with known exponents λ_i, all "
        "different: the condition number explodes with depth, while a product of orthogonal matrices keeps 1."
    ),
    formula=(
        r"\lambda_i = \tfrac12\left[\log\tfrac2n + \psi\!\left(\tfrac{n-i+1}{2}\right)\right], \qquad \kappa \sim "
        r"\exp\left(\tfrac L2 [\psi(\tfrac n2) - \psi(\tfrac12)]\right)"
    ),
    sources=("eth",),
    assumes=("independent n x n factors with entries N(0, 1/n)",),
    shows=("networks.gaussian_product_exponents", "networks.log_growth"),
)
def gaussian_product_lyapunov(
    key,
    size: Annotated[int, Range(2, 64)] = 16,
    factors: Annotated[int, Range(300, 4000, log=True)] = 2000,
):
    """Exponents from accumulated QR decompositions; a short product is decomposed directly."""
    from scipy.special import polygamma
    from scipy.stats import norm

    drawn = data.generator(key).standard_normal((factors, size, size)) / size**0.5
    growth = networks.log_growth(drawn)
    exponents = networks.gaussian_product_exponents(size)
    spread = 0.5 * polygamma(1, (size - np.arange(size)) / 2) ** 0.5  # of one factor: log χ with n-i+1 degrees
    measured = growth.mean(axis=0)
    for name, index in {"top": 0, "bottom": size - 1}.items():
        yield mean(growth[:, index], exponents[index], f"{name} exponent", deviation=float(spread[index]))
    yield distributed_as(
        (measured - exponents) / (spread / factors**0.5), norm(), f"all {size} errors, in units of theory's"
    )
    gap = float(exponents[0] - exponents[-1])
    yield mean(
        growth[:, 0] - growth[:, -1], gap, "growth of log condition number per factor, against ½[ψ(n/2) − ψ(½)]",
        deviation=float(np.hypot(spread[0], spread[-1])),
    )  # fmt: skip

    # As many factors as float64 can decompose: the condition number stays below 1e10.
    short = max(1, int(23 / gap))
    singular = np.linalg.svd(np.linalg.multi_dot([np.eye(size), *drawn[:short][::-1]]), compute_uv=False)
    partial = growth[:short].sum(axis=0)
    yield at_least(
        np.log(singular[0]), partial.max(), f"log σ₁ of {short} factors, against the largest log |R_ii|", atol=1e-6
    )
    yield at_most(
        np.log(singular[-1]), partial.min(), f"log σ_n of {short} factors, against the least log |R_ii|", atol=1e-6
    )
    yield close(np.log(singular).sum(), partial.sum(), "log |det|: sum of log σ against sum of log |R_ii|", atol=1e-4)
    q = np.linalg.qr(drawn[:50])[0]
    yield close(
        np.linalg.svd(np.linalg.multi_dot([np.eye(size), *q]), compute_uv=False), 1.0,
        "singular values of 50 orthogonal factors", atol=1e-12,
    )  # fmt: skip

    levels = np.unique(np.linspace(1, min(factors, 60), 15).astype(int))
    totals = np.cumsum(growth, axis=0)[levels - 1]
    shown = sorted({0, size // 4, size // 2, 3 * size // 4, size - 1})[:5]
    names = {i: f"i = {i + 1}" for i in shown}
    yield figure.curves(
        f"{levels[-1]} Gaussian {size} x {size} factors: the condition number is near e^{levels[-1] * gap:.0f}, "
        "orthogonal ones keep it at 1",
        x="factors", y="log singular value",
        lines={names[i]: (levels, levels * exponents[i]) for i in shown} | {"orthogonal": (levels, 0.0 * levels)},
        points={names[i]: (levels, totals[:, i]) for i in shown},
    )  # fmt: skip
