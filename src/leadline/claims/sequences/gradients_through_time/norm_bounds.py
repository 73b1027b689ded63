"""What bounds a product of Jacobians: norms of factors, slopes of activations."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation, networks
from leadline.evidence import Int, OneOf, at_most, claim, close, exactly
from leadline.networks.signal.lyapunov import log_growth, log_singular_values
from leadline.presentation import figure

ITERATIONS = 1000
LOGISTIC = ("sigmoid", "tanh", "relu", "softplus")


@claim(sources=("sheet",))
def spectral_norm_product_bound(key, dim: Int(2, 60) = 16, factors: Int(2, 40) = 10, draws: Int(20, 200) = 60):
    r"""The norm of a product is at most the product of the norms.

    The spectral norm is the largest stretch of a vector, the largest singular value. Norms of products are
    submultiplicative, with equality where the top right vector of the one is the top left vector of the other. For
    many factors the bound is loose by a factor that grows exponentially with their number.

    $$\|A\|_2 = \max_{|x| = 1} |Ax| = \sigma_1(A), \qquad \|AB\|_2 \le \|A\|_2 \|B\|_2$$

    Assumes: nothing beyond matching shapes.

    Check: Power iteration against the singular values; random pairs and random products; pairs built to align.
    """
    rng = data.generator(key)
    A = rng.normal(size=(dim, dim))
    _u, s, vt = np.linalg.svd(A)
    start = rng.normal(size=(dim, 1))
    start /= np.linalg.norm(start)
    power = np.exp(0.5 * log_growth([A.T @ A] * ITERATIONS, start=start)[-1, 0])
    overlap = (vt @ start).ravel() ** 2
    left = (1 - overlap[0]) / overlap[0] * (s[1] / s[0]) ** (4 * (ITERATIONS - 1))
    what = f"{ITERATIONS} steps of power iteration, against the largest singular value"
    yield close(power, s[0], what, rtol=1e-8).given(left < 1e-9, "the iteration has converged")
    drawn = rng.normal(size=(draws, 2, dim, dim))
    norms = np.linalg.norm(drawn, 2, axis=(2, 3))
    products = np.linalg.norm(drawn[:, 0] @ drawn[:, 1], 2, axis=(1, 2))
    yield at_most(products / norms.prod(axis=1), 1.0, "‖AB‖ over ‖A‖‖B‖ of random pairs", atol=1e-12)
    top, right = vt[0], start.ravel()
    others = (np.eye(dim) - np.outer(top, top)) @ drawn[0, 0] @ (np.eye(dim) - np.outer(right, right))
    B = 2 * np.linalg.norm(others, 2) * np.outer(top, right) + others  # its top left vector is A's top right one
    aligned = np.linalg.norm(A @ B, 2) / (s[0] * np.linalg.norm(B, 2))
    yield close(aligned, 1.0, "the same where B's top left vector is A's top right one", atol=1e-12)
    second = vt[1]
    apart = np.outer(second, second)
    ratio = np.linalg.norm(A @ apart, 2) / s[0]
    yield close(ratio, s[1] / s[0], "the same where it is A's second: σ₂/σ₁", atol=1e-12)
    numbers = np.unique(np.linspace(1, factors, 8).astype(int))
    chains = rng.normal(size=(8, factors, dim, dim)) / np.sqrt(dim)
    single = np.log(np.linalg.norm(chains, 2, axis=(2, 3)))
    loose = np.array([[log_singular_values(c[:n])[0] for n in numbers] for c in chains])
    loose -= np.array([[row[:n].sum() for n in numbers] for row in single])
    yield at_most(loose, 0.0, "log of norm of product over product of norms, up to all factors", atol=1e-9)
    what = f"the same of {factors} Gaussian factors, mean over 8 chains: per factor beyond the first"
    yield at_most(loose[:, -1].mean() / (factors - 1), -0.1, what).as_empirical()
    yield figure.curves(
        f"The bound on {factors} Gaussian factors is too large by e^{-loose[:, -1].mean():.1f}",
        "number of factors",
        "log (norm of product / product of norms)",
        lines={"bound": (numbers, 0.0 * numbers)},
        points={"8 chains": (numbers, loose.mean(axis=0), loose.min(axis=0), loose.max(axis=0))},
    )


@claim(sources=("eth",), shows=("networks.activation_facts",))
def activation_slope_bounds(key, phi: OneOf(*LOGISTIC) = "sigmoid", layers: Int(1, 30) = 10, width: Int(2, 60) = 20):
    r"""The steepest slope of an activation.

    The slope of the logistic function is at most ¼, reached at 0; that of tanh and ReLU is at most 1. A layer shrinks a
    gradient at least by its slope bound times the norm of its weights, so that L logistic layers leave $4^{-L} \prod
    \|W_l\|$ of it at most.

    $$\sup \sigma' = \tfrac14, \quad \sup \tanh' = \sup \mathrm{relu}' = 1, \qquad \|\delta_0\| \le \alpha^L \prod_l
    \|W_l\|_2 \, \|\delta_L\|$$

    Assumes: α is the supremum of |φ′|.

    Check: A dense grid of automatic derivatives against the catalogue; gradients through random networks against the
    bound of every layer.
    """
    grid = jnp.linspace(-12, 12, 24001)
    suprema = {"sigmoid": 0.25, "tanh": 1.0, "relu": 1.0, "softplus": 1.0}
    slopes = {name: np.asarray(jax.vmap(jax.grad(networks.activation(name)))(grid)) for name in suprema}
    for name, largest in suprema.items():
        facts = networks.activation_facts(name)
        yield exactly(facts.lipschitz, largest, f"{name}: the largest slope, in the catalogue")
        yield at_most(slopes[name].max(), largest, f"{name}: the largest slope on a grid", atol=1e-12)
    for name in ("sigmoid", "tanh"):
        at = float(grid[int(slopes[name].argmax())])
        yield close(at, 0.0, f"{name}: where the slope is largest", atol=1.1e-3)
        yield close(slopes[name].max(), suprema[name], f"{name}: the slope there", atol=1e-12)
    net = networks.MLP((width,) * (layers + 1), phi, init="glorot", last_activation=True, key=key)
    x = jnp.asarray(data.generator(key).normal(size=width))
    J = [np.asarray(j) for j in differentiation.layer_jacobians(net, x)]
    alpha = suprema[phi]
    norms = np.array([np.linalg.norm(np.asarray(w), 2) for w, _ in net.affine()])
    adjoint, lengths = np.ones(width) / np.sqrt(width), [1.0]
    for j in J[::-1]:
        adjoint = j.T @ adjoint
        lengths.append(float(np.linalg.norm(adjoint)))
    ratios = np.array(lengths[1:]) / np.array(lengths[:-1])
    yield at_most(ratios, alpha * norms[::-1], "length of the gradient, layer by layer: ratio, against α‖W‖", rtol=1e-9)
    bound = np.concatenate([[1.0], np.cumprod(alpha * norms[::-1])])
    yield at_most(lengths[-1], bound[-1], f"the same through all {layers} layers", rtol=1e-9)
    depth = np.arange(layers + 1)
    left = figure.curves(
        "slopes", "z", "φ′(z)", lines={n: (grid[4000:-4000:80], s[4000:-4000:80]) for n, s in slopes.items()}
    )
    right = figure.curves(
        "back through a random network",
        "layers back",
        "length of the gradient",
        lines={"bound": (depth, bound)},
        points={"measured": (depth, lengths)},
        log="y",
    )
    title = f"{layers} layers of {phi} units leave {lengths[-1]:.1e} of a gradient; the bound is {bound[-1]:.1e}"
    yield figure.beside(title, left, right)
