"""Features drawn at random and frozen: the model, its convex training and its limiting kernel."""

from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.special import erf, expit
from scipy.stats import cauchy, norm

from leadline import data, kernels, learning
from leadline.evidence import (
    Int,
    OneOf,
    Real,
    at_least,
    at_most,
    claim,
    close,
    erratum,
    exactly,
    mean,
    model,
    reference,
)
from leadline.kernels import machines
from leadline.learning.regression.random_features import FEATURE_ACTIVATIONS, expansion_readout
from leadline.presentation import figure


def _limit(activation: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The kernel E φ(w·x + b) φ(w·z + b) for standard normal w and b: one of (x, 1) and (z, 1)."""

    def cosines(x, z):
        near, far = (((x[:, None] - s * z[None]) ** 2).sum(-1) for s in (1, -1))
        return (np.exp(-near / 2) + np.exp(-far / 2)) / 2

    of_pairs = {
        "relu": lambda x, z: kernels.ArcCosine(1)(x, z) / 2,
        "erf": kernels.ArcSine(),
        "sign": lambda x, z: 2 * kernels.ArcCosine(0)(x, z) - 1,
        "cos": cosines,
    }[activation]
    return lambda x, z: np.asarray(of_pairs(_with_one(x), _with_one(z)))


def _with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])


@model(sources=("cam", "penn"))
def random_feature_model(
    key, activation: OneOf("relu", "cos", "sign", "erf") = "relu", dim: Int(1, 20) = 3, centres: Int(2, 50) = 20
):
    r"""Random feature model.

    Draw S and b once, freeze them, and train only w in w·σ(Sᵀx + b). With p features the model works in the space of
    the kernel E[σ(s·x + b)σ(s·x' + b)], estimated by p draws: the weights $w_i = \frac{1}{p} \sum_j \alpha_j \phi(x_j,
    \theta_i)$ give exactly the estimated kernel expansion.

    $$f(x) = w \cdot \sigma(S^T x + b), \qquad w_i = \tfrac1p \sum_j \alpha_j\, \phi(x_j, \theta_i)$$

    Check: A random expansion is compared with its weights; 1200 digits are learned along p; noisy values of sin 4x are
    fitted beside exact kernel ridge with the limiting kernel.
    """
    rng, draw = data.generator(key), {"weight_scale": 1.0, "key": key}
    phi = learning.draw_features(dim, 200, activation, **draw)
    x, z, alpha = rng.standard_normal((centres, dim)), rng.standard_normal((40, dim)), rng.standard_normal(centres)
    expansion = phi.estimated_kernel(z, x) @ alpha
    plugged = expansion_readout(phi, x, alpha)
    tolerance = 1e-10 * float(np.abs(expansion).max())
    yield close(plugged.predict(phi(z)), expansion, "plug-in weights, against the estimated expansion", atol=tolerance)
    many = learning.draw_features(dim, 40_000, activation, **draw)
    products = (many(x[:1]) * many(x[1:2]))[0]
    exact = float(_limit(activation)(x[:1], x[1:2])[0, 0])
    yield mean(products, exact, "mean of φ(x, θ)φ(x', θ) over 40000 draws, against the kernel")
    one, deep = _two_neurons(rng, x[0])
    shallow = mean(one, 0.0, "covariance over draws of the squares of two erf neurons, one hidden layer")
    yield shallow
    wrong = mean(deep, 0.0, "covariance of the squares of two erf neurons over one random layer of 3 units")
    prints = "each unit of the last hidden layer of a deep network has its own θᵢ from μ (they share lower weights)"
    yield erratum(wrong, of=shallow, by="cam", prints=prints)
    split = data.digits_split(1200)
    targets = np.eye(10)[split.train_labels] - 0.1
    large = learning.draw_features(64, 1024, activation, key=key)
    sizes, accuracy = np.array([16, 64, 256, 1024]), []
    for p in sizes:
        fit = machines.kernel_ridge(large.first(p).estimated_kernel, split.train_images, targets, 1e-5)
        accuracy.append(np.mean(fit.predict(split.test_images).argmax(axis=1) == split.test_labels))
    more = at_least(accuracy[-1], accuracy[0], "accuracy on digits with 1024 features against 16", strict=True)
    yield more.as_empirical()
    t = np.sort(rng.uniform(-1, 1, (30, 1)), axis=0)
    y = np.sin(4 * t[:, 0]) + 0.1 * rng.standard_normal(30)
    grid = np.linspace(-1, 1, 121)[:, None]
    exact_fit = np.asarray(machines.kernel_ridge(_limit(activation), t, y, 1e-4).predict(grid))
    line = learning.draw_features(1, 4000, activation, **draw)
    fits = {}
    for p in (20, 200, 4000):
        fit = learning.fit_readout(line.first(p), t, y, ridge=p * 30 * 1e-4)
        fits[p] = fit.predict(line.first(p)(grid))
    apart = {p: np.sqrt(np.mean((f - exact_fit) ** 2)) for p, f in fits.items()}
    yield at_most(apart[4000], apart[20], "distance to exact kernel ridge, 4000 features against 20", strict=True)
    lines = {"exact kernel ridge": exact_fit} | {f"{p} features": fit for p, fit in fits.items()}
    lines, points = {name: (grid[:, 0], fit) for name, fit in lines.items()}, {"measured": (sizes, accuracy)}
    yield figure.beside(
        f"{activation} features: {apart[20]:.2g} away from exact kernel ridge with 20, {apart[4000]:.2g} with 4000; "
        f"digits {accuracy[0]:.2f} to {accuracy[-1]:.2f}",
        figure.curves("fits of noisy sin 4x", "x", "prediction", lines=lines, points={"data": (t[:, 0], y)}),
        figure.curves("digits, ridge on frozen features", "features p", "test accuracy", points=points, log="x"),
    )


def _two_neurons(rng, x: np.ndarray, draws: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """(A - mean A)(B - mean B) over draws of networks, A and B the squares of two erf neurons of one layer at x."""
    x = 2 * x / np.linalg.norm(x)
    below = np.maximum(rng.standard_normal((draws, 3, len(x))) @ x, 0)  # ReLU units shared by the second layer
    layers = (
        rng.standard_normal((draws, 2, len(x))) @ x,
        (rng.standard_normal((draws, 2, 3)) @ below[:, :, None])[..., 0],
    )
    one, deep = (np.prod(s - s.mean(axis=0), axis=1) for s in (erf(layer) ** 2 for layer in layers))
    return one, deep


@claim(sources=("penn",))
def random_feature_training_convex(
    key, samples: Int(50, 400) = 200, units: Int(10, 200) = 60, gamma: Real(1e-3, 1.0, log=True) = 1e-2
):
    r"""Training frozen features is convex.

    With frozen features every convex loss stays convex in w, so all restarts reach one value. The perceptron loss
    max(0, −yz) is convex too, but already minimal at w = 0: hinge or logistic loss is needed.

    $$L(w) = \tfrac1n \sum_i \ell(y_i\, w \cdot \phi(x_i)) + \gamma \|w\|^2, \quad \ell \text{ convex} \Rightarrow L
    \text{ convex}$$

    Assumes: the loss is convex in the score.

    Check: ReLU features are fitted to noisy labels x₁x₂ in the plane; convexity is tried at 1000 pairs of weights, and
    L-BFGS is run from 20 starts.
    """
    from scipy.optimize import minimize

    rng = data.generator(key)
    x = rng.standard_normal((samples, 2))
    y = np.where(rng.random(samples) < 0.1, -1, 1) * np.sign(x[:, 0] * x[:, 1])
    phi = learning.draw_features(2, units, "relu", key=key)(x) / units**0.5
    losses = {
        "logistic": lambda m: np.logaddexp(0, -m),
        "hinge": lambda m: np.maximum(0, 1 - m),
        "perceptron": lambda m: np.maximum(0, -m),
    }
    u, v = rng.standard_normal((2, 1000, units)) * rng.uniform(0.1, 30, (2, 1000, 1))
    share = rng.random((1000, 1))
    for name, loss in losses.items():

        def risk(w, loss=loss):
            return loss(y * (w @ phi.T)).mean(axis=1) + gamma * (w**2).sum(axis=1)

        chord, between = share[:, 0] * risk(u) + (1 - share[:, 0]) * risk(v), risk(share * u + (1 - share) * v)
        yield at_most(between, chord, f"{name} loss between two weights, against the chord", rtol=1e-12)

    def objective(w):
        margin = y * (phi @ w)
        slope = -(y * expit(-margin)) @ phi / samples + 2 * gamma * w
        return float(np.logaddexp(0, -margin).mean() + gamma * w @ w), slope

    starts = rng.standard_normal((20, units)) * np.geomspace(0.1, 100, 20)[:, None]
    options = {"maxiter": 5000, "ftol": 0.0, "gtol": 1e-10}
    ends = [minimize(objective, w, jac=True, method="L-BFGS-B", options=options) for w in starts]
    values = np.array([e.fun for e in ends])
    yield close(values, values.min(), "regularised logistic objective after 20 restarts", atol=1e-6)
    best, zero = ends[values.argmin()].x, np.zeros(units)
    idle = exactly(losses["perceptron"](y * (phi @ zero)).mean(), 0.0, "perceptron loss at w = 0, its least value")
    yield idle
    shares = (np.mean(y * (phi @ w) > 0) for w in (zero, best))
    wrong = at_least(*shares, "share correct at the minimiser w = 0 of the perceptron loss, against logistic")
    prints = "the hinge loss max(0, −yz), small only where mistakes are few (a margin question hints at 1 − yz)"
    yield erratum(wrong, of=idle, by="penn", prints=prints)


@model(sources=("cam",))
def network_feature_kernel(key, draws: Int(100_000, 2_000_000, log=True) = 2_000_000, dim: Int(2, 6) = 3):
    r"""Arc-cosine and arcsine kernels of neurons.

    Neurons φ(x, θ) with random θ are features in L²(μ), with the kernel k(x, x') = ∫ φ(x, θ) φ(x', θ) dμ(θ) wherever
    φ(x, ·) is square-integrable. For standard normal weights, ReLU and erf have closed forms in the angle and the
    norms.

    $$k_{\mathrm{ReLU}} = \frac{\|x\|\|x'\|}{2\pi}(\sin t + (\pi - t)\cos t), \quad k_{\mathrm{erf}} = \frac2\pi
    \arcsin\frac{2 x \cdot x'}{\sqrt{(1 + 2\|x\|^2)(1 + 2\|x'\|^2)}}$$

    Assumes: φ(x, ·) is square-integrable under μ.

    Check: The closed forms are tested at x = (1, 2, −1), x' = (0.5, −1, 2), and at a random pair in the given
    dimension.
    """
    rng = data.generator(key)
    fixed = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 2.0]])
    limits = {"ReLU": (lambda a, b: kernels.ArcCosine(1)(a, b) / 2), "erf": kernels.ArcSine()}
    phis = {"ReLU": FEATURE_ACTIVATIONS["relu"], "erf": FEATURE_ACTIVATIONS["erf"]}
    closed = {name: float(k(fixed[:1], fixed[1:])[0, 0]) for name, k in limits.items()}
    what = "closed forms of ReLU and erf at x = (1, 2, −1), x' = (0.5, −1, 2)"
    yield reference(list(closed.values()), [0.19837, -0.38805], what, digits=5)
    weights = rng.standard_normal((draws, 3))
    for name, phi in phis.items():
        products = phi(weights @ fixed[0]) * phi(weights @ fixed[1])
        yield mean(products, closed[name], f"{name}: {draws} draws at the pair, against the closed form")
    pair = rng.standard_normal((2, dim))
    few = rng.standard_normal((100_000, dim))
    for name, phi in phis.items():
        exact = float(limits[name](pair[:1], pair[1:])[0, 0])
        products = phi(few @ pair[0]) * phi(few @ pair[1])
        yield mean(products, exact, f"{name}: 100000 draws at a random pair, against the closed form")
    square = {  # ∫ φ² dμ over |θ| ≤ 10 and 20 for a ReLU unit φ = max(θ, 0)
        mu.name: [quad(lambda t, mu=mu: t**2 * mu.pdf(t), 0, reach)[0] for reach in (10, 20)] for mu in (norm, cauchy)
    }
    normal = close(square["norm"], 0.5, "∫ φ² dμ of a ReLU unit, normal weights, |θ| ≤ 10 and 20, against ½", atol=1e-9)
    yield normal
    wrong = close(*square["cauchy"], "∫ φ² dμ of a ReLU unit, Cauchy weights: |θ| ≤ 10 against |θ| ≤ 20", rtol=0.01)
    prints = "φ(x, ·) is in L²(μ) as φ is continuous (this needs compact parameters or moments of μ)"
    yield erratum(wrong, of=normal, by="cam", prints=prints)
    angles, fine = np.linspace(0, np.pi, 13), np.linspace(0, np.pi, 90)
    plane = weights[:20_000, :2]
    curves, sampled = {}, {}
    for name, phi in phis.items():
        first, circle = np.array([[1.0, 0.0]]), lambda t: np.column_stack([np.cos(t), np.sin(t)])
        curves[name] = (fine, np.asarray(limits[name](first, circle(fine)))[0])
        sampled[name] = (angles, (phi(plane @ first.T) * phi(plane @ circle(angles).T)).mean(axis=0))
    title = "The kernels of random ReLU and erf neurons, from 20000 draws and in closed form"
    yield figure.curves(title, "angle between unit vectors x and x'", "k(x, x')", lines=curves, points=sampled)
