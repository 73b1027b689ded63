"""Where the Fisher information is the Hessian of the loss, and where it is not."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit, softmax

from leadline import data, optimisation
from leadline.claims.scenarios.landscape.shallow_networks import ShallowClassifier, digit_set
from leadline.evidence import Int, at_least, at_most, claim, close, erratum
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.fisher_spectra import softmax_root_rows
from leadline.presentation import figure


@claim(sources=("penn",), shows=("landscape.sloppiness.gaussian_root_jacobian",))
def fisher_versus_hessian(
    key, images: Int(20, 120) = 60, hidden: Int(3, 8) = 4, num_steps: Int(100, 1000) = 400, terms: Int(1, 5) = 3
):
    r"""Fisher information versus Hessian.

    The Hessian of a loss is the Fisher term plus residuals times the curvature of the model. The two are equal at zero
    residual and for models linear in the logits, whatever the labels. Elsewhere g is positive semidefinite and H is
    indefinite; at a cross-entropy minimum they agree only if the model matches the distribution of the labels.

    $$H = g + \frac{1}{n} \sum_i r_i \nabla^2 f_i$$

    Check: The comparison is made on sums of exponentials, softmax regression, a one-parameter curve of classifiers,
    and a tanh network on the first 8 principal components of the digits. Hessians are computed by automatic
    differentiation.
    """
    rng = data.generator(key)
    sizes, ratios = _regression_differences(rng, terms)
    yield close(ratios / sizes, ratios[0] / sizes[0], "‖H − g‖/‖g‖ over ‖r‖, sums of exponentials", rtol=1e-6)
    yield at_most(_softmax_regression_difference(rng), 1e-13, "‖H − g‖/‖g‖, softmax regression, random labels")
    (matched, misspecified), slopes = _curved_minima(rng)
    yield at_most(slopes, 1e-6, "|gradient| at both cross-entropy minima of a curved family")
    right = at_most(matched, 1e-6, "‖H − g‖/‖g‖ at the cross-entropy minimum, labels distributed as the model")
    yield right
    wrong = at_most(misspecified, 1e-6, "‖H − g‖/‖g‖ at the cross-entropy minimum, labels distributed otherwise")
    yield erratum(wrong, of=right, by="penn", prints="g is the Hessian at the minimum of the cross-entropy")
    x, y = digit_set(images, rng)
    x = x - x.mean(axis=0)
    x = 2 * (x @ np.linalg.svd(x, full_matrices=False)[2][:8].T)
    net = ShallowClassifier(8, hidden, 10)
    times = sorted({t for t in (0, 5, 20, 50, 100, num_steps) if t <= num_steps})
    path = net.train(net.draw(rng), x, y, num_steps, every=1)
    differences, least_h, least_g = [], [], []
    for w in path[times]:
        hessian, root = net.hessian(w, x, y), net.root(w, x)
        g = root.T @ root
        differences.append(_apart(hessian, g))
        top = np.linalg.norm(g, 2)
        least_h.append(np.linalg.eigvalsh(hessian)[0] / top)
        least_g.append(np.linalg.eigvalsh(g)[0] / top)
    own = _apart(net.hessian(w, x, softmax(net.logits(w, x), axis=1)), g)
    yield at_most(own, 1e-12, "‖H − g‖/‖g‖ of the trained network, labels distributed as it says")
    yield at_least(least_g, 0.0, "network in training: least eigenvalue of g over its largest", atol=1e-13)
    yield at_most(min(least_h), 0.0, "network in training: least eigenvalue of H over the largest of g", strict=True)
    steps, along = np.maximum(times, 1), "step (0 drawn at 1)"
    title, points = f"‖H − g‖/‖g‖ from {differences[0]:.2f} to {differences[-1]:.2g}", {"network": (steps, differences)}
    apart = figure.curves(title, along, "‖H − g‖/‖g‖", points=points, log="x")
    title, points = "Least eigenvalue over the largest of g", {"H": (steps, least_h), "g": (steps, least_g)}
    least = figure.curves(title, along, "λ_min/λ_max(g)", points=points, log="x")
    title = f"Digits network: H is indefinite (least eigenvalue {min(least_h):.2g} of the largest of g), g never"
    yield figure.beside(title, apart, least)


def _apart(hessian, g) -> float:
    return np.linalg.norm(hessian - g) / np.linalg.norm(g)


def _regression_differences(rng, terms) -> tuple[np.ndarray, np.ndarray]:
    """‖H − g‖/‖g‖ of Σₖ exp(−wₖt) at residuals of one direction and several sizes."""
    t, w = np.linspace(0.1, 5.0, 30), np.exp(rng.uniform(np.log(0.3), np.log(3.0), terms))
    residual = rng.normal(size=30)
    root = sloppiness.gaussian_root_jacobian(-t[:, None] * np.exp(-np.outer(t, w)))
    g = root.T @ root
    targets = np.exp(-np.outer(t, w)).sum(axis=1)

    def loss(v, size):
        return jnp.mean((jnp.exp(-jnp.outer(t, v)).sum(axis=1) - targets + size * residual) ** 2) / 2

    sizes = np.array([0.01, 0.1, 1.0, 10.0])
    hessians = jax.vmap(jax.hessian(loss), (None, 0))(w, sizes)
    return sizes, np.array([_apart(h, g) for h in hessians])


def _softmax_regression_difference(rng) -> float:
    """Logits Wx are linear in W: random weights, inputs and labels."""
    x, w = rng.normal(size=(40, 3)), rng.normal(size=12)
    labels = rng.integers(4, size=40)
    logits = x @ w.reshape(3, 4)
    jacobian = np.einsum("cb,nd->ncdb", np.eye(4), x).reshape(40, 4, 12)
    root = softmax_root_rows(logits, jacobian)
    g = root.T @ root
    loss = optimisation.SoftmaxRidge(jnp.asarray(x), jnp.asarray(labels), jnp.asarray(0.0), 4)
    return _apart(jax.hessian(loss)(jnp.asarray(w)), g)


def _curved_minima(rng) -> tuple[list[float], list[float]]:
    """Two classes with logit wx + w²q: |H − g|/g at the minimum if labels follow w = 1, and if they follow x − q."""
    from scipy.optimize import minimize_scalar

    x, q = rng.normal(size=(2, 400))
    found, slopes = [], []
    for truth in (x + q, x - q):
        chance = expit(truth)

        def loss(w, chance=chance):
            z = w * x + w * w * q
            return float(np.mean(np.logaddexp(0, z) - chance * z))

        def slope(w, chance=chance):
            return np.mean((1 / (1 + np.exp(-(w * x + w * w * q))) - chance) * (x + 2 * w * q))

        best = minimize_scalar(loss, bounds=(-0.2, 2.0), method="bounded", options={"xatol": 1e-12}).x
        share = 1 / (1 + np.exp(-(best * x + best**2 * q)))
        g = np.mean(share * (1 - share) * (x + 2 * best * q) ** 2)
        slopes.append(abs(slope(best)))
        found.append(abs(slope(best + 1e-30j).imag / 1e-30 - g) / g)
    return found, slopes
