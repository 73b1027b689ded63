"""The Fisher information of a model: how it is computed, what it measures, and what it does not depend on."""

from typing import Annotated

import numpy as np

from leadline import data, networks, optimisation, sloppiness
from leadline.claims.landscape.shallow_networks import ShallowClassifier, one_hot, softmax
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import Range, claim, close, figure, instrument, mean, printed, slope


@instrument(
    "fisher-information",
    says=(
        "The Fisher information g of a model at its weights: predictions weighed by 1/σ² for regression, by "
        "diag s − ssᵀ for classes. Its spectrum comes from the singular values of the stacked square-root Jacobian; "
        "each direction is told by the names of the parameters that carry it."
    ),
    formula=r"g = \frac{1}{n} \sum_i J_i^T (\mathrm{diag}\, s_i - s_i s_i^T) J_i",
    sources=("penn",),
    shows=(
        "sloppiness.fisher_spectrum",
        "sloppiness.softmax_root_jacobian",
        "sloppiness.gaussian_root_jacobian",
        "sloppiness.describe_directions",
        "optimisation.empirical_fisher",
    ),
)
def fisher_information(
    key,
    inputs: Annotated[int, Range(1, 6)] = 3,
    hidden: Annotated[int, Range(1, 8)] = 4,
    classes: Annotated[int, Range(2, 6)] = 3,
    samples: Annotated[int, Range(2, 60)] = 20,
    draws: Annotated[int, Range(500, 20_000, log=True)] = 4000,
):
    """A random network V tanh(Wx + b) + c on Gaussian inputs; JAX's derivatives against closed forms."""
    import jax

    rng = data.generator(key)
    network = drawn(rng, networks.MLP, (inputs, hidden, classes), "tanh", gain=1.0)
    net = ShallowClassifier(inputs, hidden, classes)  # the same network in closed form
    w = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(network)])
    x = rng.normal(size=(samples, inputs))
    root = sloppiness.softmax_root_jacobian(lambda n, rows: jax.vmap(n)(rows), network, x)
    spectrum = sloppiness.fisher_spectrum(root, sloppiness.entry_names(network, entries=False))
    g = spectrum.matrix()
    jacobian, share = net.jacobian(w, x), softmax(net.logits(w, x))
    scale = np.abs(g).max()
    closed = optimisation.softmax_fisher(jacobian, share)
    yield close(g, closed, "g from the square root, closed form", atol=1e-12 * scale)
    # the mean KL divergence from the model at w is its cross-entropy at the labels s(w), less a constant
    hessian = net.hessian(w, x, share)
    yield close(hessian, g, "Hessian of the mean KL divergence at w", atol=1e-9 * scale)

    direction = rng.normal(size=net.size)
    direction /= np.linalg.norm(direction)
    slopes = jacobian @ direction  # (n, classes)
    labels = (rng.random((draws, samples, 1)) > np.cumsum(share, axis=1)).sum(axis=2)  # y ~ the model itself
    labels = np.minimum(labels, classes - 1)
    scores = np.take_along_axis(np.broadcast_to(slopes, (draws, *slopes.shape)), labels[..., None], 2)[..., 0]
    scores = scores - (share * slopes).sum(axis=1)  # (draws, n): vᵀ∇ log s_y
    squares = (slopes - (share * slopes).sum(axis=1, keepdims=True)) ** 2
    variance = (share * squares**2).sum(axis=1) - (share * squares).sum(axis=1) ** 2
    yield mean(
        np.mean(scores**2, axis=1),
        direction @ g @ direction,
        "vᵀgv, Monte Carlo with labels drawn from the model",
        deviation=float(np.sqrt(variance.sum()) / samples),
    )
    gaussian = sloppiness.gaussian_root_jacobian(jacobian, 0.5)
    again = optimisation.gauss_newton_matrix(jacobian) / 0.25
    yield close(gaussian.T @ gaussian, again, "regression, σ = 1/2: (1/n) Σ ∇f∇fᵀ/σ²", rtol=1e-10, atol=1e-12)

    given = one_hot(rng.integers(classes, size=samples), classes)
    empirical = optimisation.empirical_fisher(np.einsum("nc,ncp->np", share - given, jacobian))
    yield printed(
        close(samples * g, hessian, "Σ without 1/n, Hessian of the mean KL", atol=1e-6 * scale),
        "penn",
        "the classification metric without the 1/n of its definition",
    )
    yield printed(
        close(empirical, g, "Σ_c s_c ∇log s_y ∇log s_yᵀ, g", atol=1e-6 * scale),
        "penn",
        "y in place of c in the sum over classes: that is the empirical Fisher of the labels",
    )
    top = sloppiness.describe_directions(spectrum, 1, parts=2)[0]
    heaviest = [next(iter(sloppiness.name_shares(v, net.names))) for v in spectrum.vectors]
    shown = spectrum.eigenvalues > 1e-20 * spectrum.eigenvalues[0]
    yield figure.curves(
        f"Fisher spectrum of {net.size} weights, {int(shown.sum())} directions seen. {top}",
        x="direction k",
        y="eigenvalue λₖ",
        points={
            f"mostly {name}": (1 + np.flatnonzero(chosen), spectrum.eigenvalues[chosen])
            for name in dict.fromkeys(net.names)
            if (chosen := shown & (np.array(heaviest) == name)).any()
        },
        log="y",
    )


@claim(
    "fisher-is-local-distance",
    says=(
        "Half the mean squared change of the predictions in units of σ is ½ dwᵀ g dw up to third order in dw: the "
        "Fisher information is the metric of a squared distance, not the distance itself."
    ),
    formula=r"\frac{1}{2n} \sum_i \frac{(f_i(w) - f_i(w+dw))^2}{\sigma^2} = \frac{1}{2} dw^T g\, dw + O(|dw|^3)",
    sources=("penn",),
)
def fisher_is_local_distance(
    key,
    terms: Annotated[int, Range(1, 6)] = 3,
    samples: Annotated[int, Range(5, 200)] = 30,
    deviation: Annotated[float, Range(0.01, 10.0, log=True)] = 0.5,
):
    """Σₖ exp(−wₖt) with random rates in [0.3, 3], all rates moved up (so that the third-order terms do not cancel)."""
    rng = data.generator(key)
    w, t = np.exp(rng.uniform(np.log(0.3), np.log(3.0), terms)), np.linspace(0.0, 5.0, samples)
    direction = rng.uniform(0.2, 1.0, terms)
    direction /= np.linalg.norm(direction)

    def predict(v):
        return np.exp(-np.outer(t, v)).sum(axis=1)

    root = sloppiness.gaussian_root_jacobian(-t[:, None] * np.exp(-np.outer(t, w)), deviation)
    along = float(np.sum((root @ direction) ** 2))
    sizes = np.geomspace(1e-4, 1e-2, 9)
    half = np.array([np.mean((predict(w) - predict(w + s * direction)) ** 2) / (2 * deviation**2) for s in sizes])
    quadratic = sizes**2 * along / 2
    residual = np.abs(half - quadratic)
    yield slope(sizes, residual, 3.0, "power of |dw| in the remainder", within=0.1)
    yield close(half[0] / quadratic[0], 1.0, "half squared distance over ½ dwᵀg dw, |dw| = 10⁻⁴", atol=1e-3)
    yield printed(
        close(np.sqrt(2 * half[0]), quadratic[0], "distance itself, ½ dwᵀg dw", rtol=0.1),
        "penn",
        "½ dwᵀ g dw is the distance between the two models",
    )
    yield figure.curves(
        "The half squared distance follows ½ dwᵀg dw; the remainder falls with power "
        f"{np.polyfit(np.log(sizes), np.log(residual), 1)[0]:.2f}",
        x="step |dw|",
        y="in units of σ²",
        lines={"½ dwᵀg dw": (sizes, quadratic), "power 3": (sizes, residual[-1] * (sizes / sizes[-1]) ** 3)},
        points={"half squared distance": (sizes, half), "remainder": (sizes, residual)},
        log="xy",
    )
