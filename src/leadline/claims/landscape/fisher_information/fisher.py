"""The Fisher information of a model: how it is computed, what it measures, and what it does not depend on."""

import numpy as np
from scipy.special import softmax

from leadline import curvature, data, networks
from leadline.claims.scenarios.landscape.shallow_networks import ShallowClassifier, logits_of
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.evidence import Int, Real, claim, close, erratum, instrument, mean, slope
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.parameter_directions import name_shares
from leadline.presentation import figure


@instrument(sources=("penn",))
def fisher_information(
    key,
    inputs: Int(1, 6) = 3,
    hidden: Int(1, 8) = 4,
    classes: Int(2, 6) = 3,
    samples: Int(2, 60) = 20,
    draws: Int(500, 20_000, log=True) = 4000,
):
    r"""Fisher information and its spectrum.

    The Fisher information g of a model, taken at its parameters, weights the predictions by 1/σ² for regression, and
    by diag s − ssᵀ for classes. Its spectrum comes from the singular values of the stacked square-root Jacobian, and
    each direction is described by the names of the parameters that carry it.

    $$g = \frac{1}{n} \sum_i J_i^T (\mathrm{diag}\, s_i - s_i s_i^T) J_i$$
    """
    import jax

    rng = data.generator(key)
    network = drawn(rng, networks.MLP, (inputs, hidden, classes), "tanh", gain=1.0)
    net = ShallowClassifier(inputs, hidden, classes)
    w = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(network)])
    x = rng.normal(size=(samples, inputs))
    root = sloppiness.softmax_root_jacobian(logits_of, network, x)
    spectrum = sloppiness.fisher_spectrum(root, net.names)
    g = spectrum.matrix()
    # in forward mode; the library goes backwards
    jacobian = np.asarray(jax.jit(jax.jacfwd(lambda v: logits_of(net.network(v), x)))(w))
    share = softmax(net.logits(w, x), axis=1)
    scale = np.abs(g).max()
    closed = curvature.softmax_fisher(jacobian, share)
    yield close(g, closed, "g from the square-root Jacobian, against its closed form", atol=1e-12 * scale)
    # the mean KL divergence from the model at w is its cross-entropy at the labels s(w), less a constant
    hessian = net.hessian(w, x, share)
    right = close(hessian, g, "Hessian of the mean KL divergence at w, against g", atol=1e-9 * scale)
    yield right
    wrong = close(hessian, samples * g, "Hessian of the mean KL divergence at w, against n g", atol=1e-6 * scale)
    yield erratum(wrong, of=right, by="penn", prints="the sum over the inputs, its 1/n dropped in the last step")
    direction = rng.normal(size=net.size)
    direction /= np.linalg.norm(direction)
    slopes = jacobian @ direction  # (n, classes)
    labels = (rng.random((draws, samples, 1)) > np.cumsum(share, axis=1)).sum(axis=2)  # y ~ the model itself
    labels = np.minimum(labels, classes - 1)
    squares = (slopes - (share * slopes).sum(axis=1, keepdims=True)) ** 2  # (vᵀ∇ log s_c)²
    drawn_squares = np.take_along_axis(np.broadcast_to(squares, (draws, *squares.shape)), labels[..., None], 2)
    variance = (share * squares**2).sum(axis=1) - (share * squares).sum(axis=1) ** 2
    found, expected = drawn_squares.mean(axis=(1, 2)), direction @ g @ direction
    what = "vᵀgv, Monte Carlo with labels drawn from the model"
    yield mean(found, expected, what, deviation=np.sqrt(variance.sum()) / samples)
    gaussian = sloppiness.gaussian_root_jacobian(jacobian, 0.5)
    again = curvature.gauss_newton_matrix(jacobian) / 0.25
    yield close(gaussian.T @ gaussian, again, "regression, σ = ½: g, against Σ∇f∇fᵀ/(nσ²)", rtol=1e-10, atol=1e-12)
    top = sloppiness.describe_directions(spectrum, 1, parts=2)[0]
    heaviest = np.array([next(iter(name_shares(v, net.names))) for v in spectrum.vectors])
    shown = spectrum.eigenvalues > 1e-20 * spectrum.eigenvalues[0]
    points = {}
    for name in dict.fromkeys(net.names):
        if (chosen := shown & (heaviest == name)).any():
            points[f"mostly {name}"] = (1 + np.flatnonzero(chosen), spectrum.eigenvalues[chosen])
    title = f"Fisher spectrum of {net.size} weights, {shown.sum()} directions seen. {top}"
    yield figure.curves(title, "direction k", "eigenvalue λₖ", points=points, log="y")


@claim(sources=("penn",))
def fisher_is_local_distance(
    key, terms: Int(1, 6) = 3, samples: Int(5, 200) = 30, deviation: Real(0.01, 10.0, log=True) = 0.5
):
    r"""Fisher information as a local metric.

    Half the mean squared change of the predictions in units of σ is ½ dwᵀ g dw up to third order in dw: the Fisher
    information is the metric of a squared distance, not the distance itself.

    $$\frac{1}{2n} \sum_i \frac{(f_i(w) - f_i(w+dw))^2}{\sigma^2} = \frac{1}{2} dw^T g\, dw + O(|dw|^3)$$

    Check: The model is $\sum_k e^{-w_k t}$; all rates move up, so that third-order terms do not cancel.
    """
    rng = data.generator(key)
    w, t = np.exp(rng.uniform(np.log(0.3), np.log(3.0), terms)), np.linspace(0.0, 5.0, samples)
    direction = rng.uniform(0.2, 1.0, terms)
    direction /= np.linalg.norm(direction)

    def predict(v):
        return np.exp(-np.outer(t, v)).sum(axis=1)

    root = sloppiness.gaussian_root_jacobian(-t[:, None] * np.exp(-np.outer(t, w)), deviation)
    sizes = np.geomspace(1e-4, 1e-2, 9)
    half = np.array([np.mean((predict(w) - predict(w + s * direction)) ** 2) / (2 * deviation**2) for s in sizes])
    quadratic = sizes**2 * np.sum((root @ direction) ** 2) / 2
    residual = np.abs(half - quadratic)
    yield slope(sizes, residual, 3.0, "power of |dw| in the remainder of ½ dwᵀg dw", within=0.1)
    yield close(half[0] / quadratic[0], 1.0, "half squared distance over ½ dwᵀg dw, |dw| = 10⁻⁴", atol=1e-3)
    power = np.polyfit(np.log(sizes), np.log(residual), 1)[0]
    title = f"The half squared distance follows ½ dwᵀg dw; the remainder falls with power {power:.2f}"
    lines = {"½ dwᵀg dw": (sizes, quadratic), "power 3": (sizes, residual[-1] * (sizes / sizes[-1]) ** 3)}
    points = {"half squared distance": (sizes, half), "remainder": (sizes, residual)}
    yield figure.curves(title, "step |dw|", "in units of σ²", lines=lines, points=points, log="xy")
