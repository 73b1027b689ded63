"""Classes of functions linear in their parameters, and empirical risk minimisation over them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks
from leadline.evidence import Int, Real, assume, at_most, claim, close, exactly, method, model
from leadline.learning.risk.erm import descend_risk
from leadline.learning.risk.hypotheses import monomial_coefficients, sign_labels
from leadline.linear_classifiers import margins
from leadline.presentation import figure


def _wave(x):
    return np.sin(2 * np.pi * x[..., 0])


@model(sources=("cam", "penn"))
def hypothesis_classes(key, samples: Int(20, 500, log=True) = 40, degree: Int(1, 12) = 4, dim: Int(1, 20) = 3):
    r"""Function classes linear in their parameters.

    Function classes that are linear in their parameters share one solver: affine functions, cosine series, polynomials
    (solved in an orthogonal basis), any features. A function is a point in parameter space; its sign is a classifier
    once sgn(0) is fixed.

    $$f_\theta(x) = \sum_k \theta_k \varphi_k(x), \qquad f_{\theta + \delta} - f_\theta = f_\delta$$
    """
    rng = data.generator(key)
    x = rng.random((samples, 1))
    y = _wave(x) + 0.2 * rng.standard_normal(samples)
    grid = np.linspace(0, 1, 101)[:, None]
    legendre = learning.polynomials(degree)
    powers = learning.polynomials(degree, basis="monomial")
    conditions = [np.linalg.cond(c.features(x)) for c in (legendre, powers)]
    fits = [c.fit(x, y) for c in (legendre, powers)]
    size = np.abs(fits[1]).max()
    well, condition = conditions[1] < 1e6, "the monomial fit is well conditioned: condition below 10⁶"
    curves = [c.predict(theta, grid) / size for c, theta in zip((legendre, powers), fits, strict=True)]
    what = "orthogonal against monomial fit on [0, 1], relative to the largest coefficient"
    yield close(*curves, what, atol=1e-8).given(well, condition)
    what = "coefficients of the orthogonal fit in powers, against the monomial fit's"
    yield close(monomial_coefficients(fits[0]) / size, fits[1] / size, what, atol=1e-8).given(well, condition)
    yield at_most(*conditions, "condition of the orthogonal features, against the powers'", rtol=1e-9)
    centre = rng.normal(size=(3, dim))
    users = learning.LinearClass(lambda x: np.exp(-((x[..., None, :] - centre) ** 2).sum(-1)), 3)
    everything = (
        (learning.affine(dim), rng.normal(size=(20, dim))),
        (learning.cosine_series(degree), grid),
        (legendre, grid),
        (users, rng.normal(size=(20, dim))),
    )
    moved = []
    for family, points in everything:
        theta, change = rng.normal(size=(2, family.size))
        both = family.predict(theta + change, points) - family.predict(theta, points)
        moved.append(np.abs(both - family.predict(change, points)).max())
    yield close(moved, 0.0, "f_{θ+δ} − f_θ against f_δ: affine, cosine, polynomial, user's features", atol=1e-11)
    scores = np.concatenate([rng.normal(size=50), np.zeros(5)])
    for choice in (1, -1):
        labels = sign_labels(scores, at_zero=choice)
        yield exactly(labels[-5:], float(choice), f"labels at score 0 with sgn(0) = {choice:+d}")
        yield exactly(np.unique(labels), [-1.0, 1.0], f"values of sgn(f) with sgn(0) = {choice:+d}")
    line = learning.affine()
    best = line.fit(x, y)
    lines = {"least squares": best, "less steep": 0.4 * best, "lifted": best + np.array([0.0, 0.6])}
    ws, bs = np.linspace(best[0] - 3, best[0] + 3, 41), np.linspace(best[1] - 1.8, best[1] + 1.8, 41)
    moments = learning.empirical_moments(line.features(x), y)
    surface = moments(np.stack(np.meshgrid(ws, bs), axis=-1))
    ends = np.array([[0.0], [1.0]])
    drawn = {name: (ends[:, 0], line.predict(theta, ends)) for name, theta in lines.items()}
    over = figure.curves("Lines over data space", "x", "y", lines=drawn, points={"examples": (x[:, 0], y)})
    title = "Points in parameter space, over the log of the empirical risk"
    points = {name: theta[None] for name, theta in lines.items()}
    inside = figure.plane(title, "w", "b", points=points, regions=(ws, bs, np.log(surface)))
    title = f"Three lines over the data are three points (w, b); the least-squares point has risk {moments(best):.3g}"
    yield figure.beside(title, over, inside)


@claim(sources=("cam",))
def cosine_series_is_even(key, order: Int(1, 50) = 10, frequency: Int(1, 5) = 1, grid: Int(400, 4000) = 1000):
    r"""Cosine series cannot fit a sine.

    Every cosine series is even, has period 1 and satisfies f(x) = f(1 − x). So on [0, 1] the best one for sin(2πx) has
    mean squared error 1/2, whatever its length; with sines the error is 0.

    $$\min_a \int_0^1 \Big(\sin 2\pi x - \sum_{n=0}^N a_n \cos 2\pi n x\Big)^2 dx = \frac12$$

    Assumes: x is uniform on [0, 1].
    """
    assume(order >= frequency, "the series is long enough to hold the target's frequency")
    x = ((np.arange(grid) + 0.5) / grid)[:, None]
    target = np.sin(2 * np.pi * frequency * x[:, 0])
    rng = data.generator(key)
    series = learning.cosine_series(order)
    a = rng.normal(size=order + 1)
    points = rng.uniform(-2, 2, (50, 1))
    value = series.predict(a, points)
    reach = np.abs(a).sum()
    for name, other in {"f(−x)": -points, "f(1 + x)": 1 + points, "f(1 − x)": 1 - points}.items():
        yield close(series.predict(a, other) / reach, value / reach, f"{name} against f(x), random series", atol=1e-12)
    orders = np.arange(order + 1)
    errors = []
    for sines in (False, True):
        classes = [learning.cosine_series(int(n), sines=sines) for n in orders]
        errors.append([np.mean((c.predict(c.fit(x, target), x) - target) ** 2) for c in classes])
    yield close(errors[0], 0.5, "least error of a cosine series, every length", atol=1e-6)
    yield at_most(errors[1][frequency:], 1e-10, "least error with sines, from the target's frequency on")
    lines = {"target": (x[:, 0], target)}
    shown, points = x[:: max(1, grid // 30)], {}
    for name, sines in {"cosine series": False, "with sines": True}.items():
        best = learning.cosine_series(order, sines=sines)
        points[name] = (shown[:, 0], best.predict(best.fit(x, target), shown))
    fits = figure.curves(f"Best fits of length {order}", "x", "f(x)", lines=lines, points=points)
    points = {"cosine series": (orders, errors[0]), "with sines": (orders, errors[1])}
    lines = {"1/2": (orders, np.full(len(orders), 0.5))}
    against = figure.curves("Error against length", "N", "mean squared error", lines=lines, points=points)
    sine = f"sin(2π{frequency if frequency > 1 else ''}x)"
    title = f"However long, the best cosine series for {sine} has error {errors[0][-1]:.4g}"
    yield figure.beside(title, fits, against)


@method(sources=("cam",))
def empirical_risk_minimisation(
    key, samples: Int(10, 300, log=True) = 80, dim: Int(1, 8) = 3, noise: Real(0.05, 5.0, log=True) = 1.0
):
    r"""Empirical risk minimisation.

    The mean loss is minimised over a class: exactly for squared loss, by a convex solver for convex losses, by
    gradient descent for networks. The answer states whether a minimiser exists, whether it is the only one, and how
    far from the infimum it can be.

    $$A(Z) \in \operatorname{argmin}_{f \in \mathcal F} \frac1n \sum_{i=1}^n L(f, z_i)$$
    """
    assume(samples > dim + 1, "more examples than parameters")
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    features = learning.affine(dim).features(x)
    truth = rng.normal(size=dim + 1)
    clean = features @ truth
    y = clean + noise * rng.normal(size=samples)
    labels = np.where(y > 0, 1.0, -1.0)
    separable = np.where(clean > 0, 1.0, -1.0)
    squared = learning.minimise_risk(features, y)
    yield at_most(squared.gradient_norm, 1e-10 * np.abs(y).max(), "gradient norm, squared loss")
    yield at_most(squared.gap, 1e-12, "risk above its minimum, squared loss")
    for loss, target in {"absolute": y, "hinge": labels}.items():
        best = learning.minimise_risk(features, target, loss=loss)
        yield at_most(abs(best.gap), 1e-8 * max(1.0, np.abs(target).max()), f"duality gap, {loss} loss")
    overlap = learning.minimise_risk(features, labels, loss="logistic")
    separated = margins.separate(x, labels).separable
    yield exactly(overlap.exists, not separated, "logistic loss has a minimiser, against the separability programme")
    norm = overlap.gradient_norm if overlap.exists else 0.0
    yield at_most(norm, 1e-8, "gradient norm, logistic loss").given(overlap.exists, "the labels overlap")
    none = learning.minimise_risk(features, separable, loss="logistic")
    yield exactly(none.exists, False, "separable labels: logistic loss has a minimiser")
    yield exactly(none.risk, 0.0, "separable labels: infimum of the logistic risk")
    direction = separable * (features @ none.parameters)
    shrinking = [np.mean(np.logaddexp(0, -t * direction / direction.min())) for t in (1, 3, 10, 30)]
    yield at_most(
        np.diff(shrinking),
        0.0,
        "separable labels: change of the risk further along the separating direction",
        strict=True,
    )
    doubled = np.hstack([features, features[:, :1]])
    twins = learning.minimise_risk(doubled, y)
    yield exactly(twins.unique, False, "duplicated column: the least-squares minimiser is unique")
    yield exactly(twins.null_space.shape[1], 1, "duplicated column: dimension of the set of minimisers")
    yield exactly(squared.unique, True, "the Gaussian design: the minimiser is unique")
    along = twins.parameters + 3.0 * twins.null_space[:, 0]
    risk = np.mean((doubled @ along - y) ** 2)
    yield close(risk, twins.risk, "duplicated column: risk of another minimiser", rtol=1e-9)
    net = networks.MLP((dim, 8, 1), "tanh", key=key)
    end = descend_risk(_network_risk, net, optax.adam(0.01), 300, jnp.asarray(x), jnp.asarray(y))
    yield at_most(end.risk, float(end.losses[0]), "network: risk after 300 steps, against the start", strict=True)


def _network_risk(model, x, y):
    return jnp.mean((jax.vmap(model)(x)[:, 0] - y) ** 2)
