"""Features drawn at random and frozen: the model, its convex training and its limiting kernel."""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from leadline import data, kernel_machines, kernels, learning
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, mean, model, printed


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


@model(
    "random-feature-model",
    says=(
        "Draw S and b once, freeze them, train only w in w·σ(Sᵀx + b). With p features it works in the space of the "
        "kernel E σ(s·x+b)σ(s·x'+b), estimated by p draws: weights w_i = (1/p)Σ α_j φ(x_j, θ_i) give exactly the "
        "estimated kernel expansion."
    ),
    formula=r"f(x) = w \cdot \sigma(S^T x + b), \qquad w_i = \tfrac1p \sum_j \alpha_j\, \phi(x_j, \theta_i)",
    sources=("cam", "penn"),
    shows=(
        "learning.RandomFeatures",
        "learning.draw_features",
        "learning.expansion_readout",
        "learning.fit_readout",
        "learning.FEATURE_ACTIVATIONS",
    ),
)
def random_feature_model(
    key,
    activation: Annotated[str, Choice("relu", "cos", "sign", "erf")] = "relu",
    dim: Annotated[int, Range(1, 20)] = 3,
    centres: Annotated[int, Range(2, 50)] = 20,
):
    """A random expansion; 1200 digits against p; noisy sin 4x beside exact kernel ridge with the limiting kernel."""
    rng = data.generator(key)
    draw = {"weight_scale": 1.0, "key": key}
    phi = learning.draw_features(dim, 200, activation, **draw)
    x, z, alpha = rng.standard_normal((centres, dim)), rng.standard_normal((40, dim)), rng.standard_normal(centres)
    expansion = phi.estimated_kernel(z, x) @ alpha
    plugged = learning.expansion_readout(phi, x, alpha)
    size = float(np.abs(expansion).max())
    yield close(
        plugged.predict(phi(z)), expansion, "plug-in weights against the estimated expansion", atol=1e-10 * size
    )
    taken_out = np.outer(alpha, phi(x).sum(axis=0)) / 200  # row j: alpha_j in front of the sum over j
    misses = np.abs(phi(z) @ taken_out.T - expansion[:, None]).max(axis=0) / size
    yield printed(
        at_most(misses.min(), 1e-6, "α_j in front of the sum over j: relative error at the best j"),
        "cam", "w_i = (1/p) α_j Σ_j φ(x_j, θ_i)",
    )  # fmt: skip

    many = learning.draw_features(dim, 40_000, activation, **draw)
    products = (many(x[:1]) * many(x[1:2]))[0]
    exact = float(_limit(activation)(x[:1], x[1:2])[0, 0])
    yield mean(products, exact, "mean of φ(x, θ)φ(x', θ) over 40000 draws, against the kernel")
    one, deep = _two_neurons(rng, x[0])
    yield mean(one, 0.0, "covariance over draws of the squares of two erf neurons, one hidden layer")
    yield printed(
        mean(deep, 0.0, "the same for two neurons over one random layer of 3 units"),
        "cam", "the neurons of a deep random network are independent draws",
    )  # fmt: skip

    split = data.digits_split(1200)
    targets = np.eye(10)[split.train_labels] - 0.1
    large = learning.draw_features(64, 1024, activation, key=key)
    sizes, accuracy = np.array([16, 64, 256, 1024]), []
    for p in sizes:
        fit = kernel_machines.kernel_ridge(large.first(p).estimated_kernel, split.train_images, targets, 1e-5)
        predicted = np.asarray(fit.predict(split.test_images)).argmax(axis=1)
        accuracy.append(float(np.mean(predicted == split.test_labels)))
    yield at_least(accuracy[-1], accuracy[0], "accuracy on digits with 1024 features against 16", strict=True)

    t = np.sort(rng.uniform(-1, 1, (30, 1)), axis=0)
    y = np.sin(4 * t[:, 0]) + 0.1 * rng.standard_normal(30)
    grid = np.linspace(-1, 1, 121)[:, None]
    exact_fit = np.asarray(kernel_machines.kernel_ridge(_limit(activation), t, y, 1e-4).predict(grid))
    line = learning.draw_features(1, 4000, activation, **draw)
    fits = {}
    for p in (20, 200, 4000):
        fit = learning.fit_readout(line.first(p), t, y, ridge=p * 30 * 1e-4)
        fits[p] = np.asarray(fit.predict(line.first(p)(grid)))
    apart = {p: float(np.sqrt(np.mean((f - exact_fit) ** 2))) for p, f in fits.items()}
    yield at_most(apart[4000], apart[20], "distance to exact kernel ridge, 4000 features against 20", strict=True)
    yield figure.beside(
        f"{activation} features: {apart[20]:.2g} away from exact kernel ridge with 20, {apart[4000]:.2g} with 4000; "
        f"digits {accuracy[0]:.2f} to {accuracy[-1]:.2f}",
        figure.curves(
            "fits of noisy sin 4x", x="x", y="prediction",
            lines={"exact kernel ridge": (grid[:, 0], exact_fit)}
            | {f"{p} features": (grid[:, 0], fits[p]) for p in fits},
            points={"data": (t[:, 0], y)},
        ),
        figure.curves(
            "digits, ridge on frozen features", x="features p", y="test accuracy", log="x",
            points={"measured": (sizes, accuracy)},
        ),
    )  # fmt: skip


def _two_neurons(rng, x: np.ndarray, draws: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """(A - mean A)(B - mean B) over draws of networks, A and B the squares of two erf neurons of one layer at x."""
    from scipy.special import erf

    x = 2 * x / np.linalg.norm(x)
    below = np.maximum(rng.standard_normal((draws, 3, len(x))) @ x, 0)  # ReLU units shared by the second layer
    layers = (
        rng.standard_normal((draws, 2, len(x))) @ x,
        (rng.standard_normal((draws, 2, 3)) @ below[:, :, None])[..., 0],
    )
    squares = [erf(layer) ** 2 for layer in layers]
    one, deep = (np.prod(s - s.mean(axis=0), axis=1) for s in squares)
    return one, deep


@claim(
    "random-feature-training-convex",
    says=(
        "With frozen features every convex loss stays convex in w, so all restarts reach one value. The perceptron "
        "loss max(0, −yz) is convex too but least at w = 0 already: hinge or logistic loss is needed."
    ),
    formula=(
        r"L(w) = \tfrac1n \sum_i \ell(y_i\, w \cdot \phi(x_i)) + \gamma \|w\|^2, \quad "
        r"\ell \text{ convex} \Rightarrow L \text{ convex}"
    ),
    sources=("penn",),
    assumes=("the loss is convex in the score",),
    shows=("learning.draw_features",),
)
def random_feature_training_convex(
    key,
    samples: Annotated[int, Range(50, 400)] = 200,
    units: Annotated[int, Range(10, 200)] = 60,
    gamma: Annotated[float, Range(1e-3, 1.0, log=True)] = 1e-2,
):
    """ReLU features of noisy labels x₁x₂ in the plane; 1000 pairs of weights; 20 starts of L-BFGS."""
    from scipy.optimize import minimize
    from scipy.special import expit

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

        chord = share[:, 0] * risk(u) + (1 - share[:, 0]) * risk(v)
        yield at_most(risk(share * u + (1 - share) * v), chord, f"{name} loss between two weights, against the chord",
                      rtol=1e-12)  # fmt: skip

    def objective(w):
        margin = y * (phi @ w)
        slope = -(y * expit(-margin)) @ phi / samples + 2 * gamma * w
        return float(np.logaddexp(0, -margin).mean() + gamma * w @ w), slope

    starts = rng.standard_normal((20, units)) * np.geomspace(0.1, 100, 20)[:, None]
    ends = [minimize(objective, w, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0.0, "gtol": 1e-10})
            for w in starts]  # fmt: skip
    values = np.array([e.fun for e in ends])
    yield close(values, values.min(), "regularised logistic objective after 20 restarts", atol=1e-6)
    best = ends[int(values.argmin())].x
    accuracy = float(np.mean(y * (phi @ best) > 0))
    zero = np.zeros(units)
    yield exactly(
        float(losses["perceptron"](y * (phi @ zero)).mean()), 0.0, "perceptron loss at w = 0, its least value"
    )
    yield printed(
        at_least(float(np.mean(y * (phi @ zero) > 0)), accuracy,
                 "share correct at the minimiser w = 0 of the perceptron loss, against logistic"),
        "penn", "train w by minimising Σ max(0, −y w·φ(x))",
    )  # fmt: skip


@model(
    "network-feature-kernel",
    says=(
        "Neurons φ(x, θ) with random θ are features in L²(μ), with the kernel k(x, x') = ∫ φφ' dμ wherever φ(x, ·) is "
        "square-integrable. For standard normal weights ReLU and erf have closed forms in the angle and the norms."
    ),
    formula=(
        r"k_{\mathrm{ReLU}} = \frac{\|x\|\|x'\|}{2\pi}(\sin t + (\pi - t)\cos t), \quad "
        r"k_{\mathrm{erf}} = \frac2\pi \arcsin\frac{2 x \cdot x'}{\sqrt{(1 + 2\|x\|^2)(1 + 2\|x'\|^2)}}"
    ),
    sources=("cam",),
    assumes=("φ(x, ·) is square-integrable under μ",),
    shows=("kernels.ArcCosine", "kernels.ArcSine", "learning.RandomFeatures"),
)
def network_feature_kernel(
    key,
    draws: Annotated[int, Range(100_000, 2_000_000, log=True)] = 2_000_000,
    dim: Annotated[int, Range(2, 6)] = 3,
):
    """At x = (1, 2, −1), x' = (0.5, −1, 2), and at a random pair in the given dimension."""
    rng = data.generator(key)
    fixed = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 2.0]])
    limits = {"ReLU": (lambda a, b: kernels.ArcCosine(1)(a, b) / 2), "erf": kernels.ArcSine()}
    phis = {"ReLU": learning.FEATURE_ACTIVATIONS["relu"], "erf": learning.FEATURE_ACTIVATIONS["erf"]}
    closed = {name: float(k(fixed[:1], fixed[1:])[0, 0]) for name, k in limits.items()}
    yield close([closed["ReLU"], closed["erf"]], [0.19837, -0.38805], "closed forms at the pair, against the reference",
                atol=5e-6)  # fmt: skip
    weights = rng.standard_normal((draws, 3))
    for name, phi in phis.items():
        products = phi(weights @ fixed[0]) * phi(weights @ fixed[1])
        yield mean(products, closed[name], f"{name}: {draws} draws at the pair, against the closed form")
    pair = rng.standard_normal((2, dim))
    few = rng.standard_normal((100_000, dim))
    for name, phi in phis.items():
        exact = float(limits[name](pair[:1], pair[1:])[0, 0])
        yield mean(phi(few @ pair[0]) * phi(few @ pair[1]), exact, f"{name}: 100000 draws at a random pair")

    reach = np.array([3.0, 4.0])
    squares = _truncated_square(reach)
    yield printed(
        close(squares[1], squares[0], "∫ φ² dμ over |θ| ≤ 4 against |θ| ≤ 3, φ = exp θ², normal μ", rtol=0.01),
        "cam", "continuity of φ suffices for k(x, x) to exist",
    )  # fmt: skip
    other = float(limits["erf"](2 * fixed[:1], 2 * fixed[1:])[0, 0])
    yield printed(
        close(other, closed["erf"], "erf features in L²(N(0, 4I)), against the kernel of N(0, I)", rtol=1e-3),
        "cam", "k(x, x') = ⟨φ(x, ·), φ(x', ·)⟩ in another measure than that of k",
    )  # fmt: skip

    angles, fine = np.linspace(0, np.pi, 13), np.linspace(0, np.pi, 90)
    plane = weights[:20_000, :2]
    curves, sampled = {}, {}
    for name, phi in phis.items():
        first, circle = np.array([[1.0, 0.0]]), lambda t: np.column_stack([np.cos(t), np.sin(t)])
        curves[name] = (fine, np.asarray(limits[name](first, circle(fine)))[0])
        sampled[name] = (angles, (phi(plane @ first.T) * phi(plane @ circle(angles).T)).mean(axis=0))
    yield figure.curves(
        "The kernels of random ReLU and erf neurons, from 20000 draws and in closed form",
        x="angle between unit vectors x and x'", y="k(x, x')", lines=curves, points=sampled,
    )  # fmt: skip


def _truncated_square(reach: np.ndarray) -> np.ndarray:
    """∫ exp(2θ²) dN(0, 1) over |θ| <= reach: erfi(√1.5 reach)/√3."""
    from scipy.special import erfi

    return erfi(1.5**0.5 * reach) / 3**0.5
