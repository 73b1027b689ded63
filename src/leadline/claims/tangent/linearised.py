"""Training the linearised network: least squares, the span of the gradients, prediction in closed form."""

import math
from typing import Annotated

import equinox as eqx
import jax
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import data, infinite_width, learning, networks, tangent
from leadline.claims.tangent.function_space import tangent_mlp
from leadline.evidence import Range, at_least, at_most, claim, close, figure, method, printed


def _network(key, inputs, width, samples, activation="tanh"):
    """(f, θ₀, J, x, y, f₀) for a small NTK-parametrised network and random data."""
    rng = data.generator(key)
    x, y = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    net = tangent_mlp(rng, (inputs, width, 1), activation, gain=2**0.5, bias_scale=0.5)
    f, params = tangent.as_function(net)
    J = np.asarray(networks.parameter_jacobian(net, x))
    return f, params, J, x, y, np.asarray(tangent.OutputRisk(f).outputs(params, x))[:, 0]


@claim(
    "linearised-least-squares",
    says=(
        "Training the linearised network on squared loss is least squares on the residual targets. Descent from β = 0 "
        "finds the solution of least norm Jᵀ K⁺ (y - f₀); with more parameters than data there are others that fit."
    ),
    formula=r"\beta^* = J^\top K^{+} (y - f_0), \quad \|\beta^*\|^2 = (y - f_0)^\top K^{+} (y - f_0)",
    sources=("eth", "sheet"),
    assumes=("descent with a step below 2/λ_max",),
    shows=("tangent.tangent_fit", "tangent.linearise"),
)
def linearised_least_squares(
    key,
    samples: Annotated[int, Range(2, 12)] = 8,
    width: Annotated[int, Range(8, 64)] = 16,
    inputs: Annotated[int, Range(4, 10)] = 6,
    gap: Annotated[float, Range(0.1, 4.0)] = 1.0,
):
    """A tanh network with more parameters than data; then the first input once more, its label shifted by `gap`."""
    f, params, J, x, y, f0 = _network(key, inputs, width, samples)
    primal, dual = tangent.tangent_fit(J, y - f0, dual=False), tangent.tangent_fit(J, y - f0)
    size = float(np.sqrt(primal.squared_norm))
    library = learning.least_squares(J, y - f0, intercept=False).weights
    yield close(primal.beta, library, "J⁺(y - f₀) by the singular values of J, against least squares", atol=1e-9 * size)
    yield close(dual.beta, primal.beta, "Jᵀ K⁺ (y - f₀), against J⁺(y - f₀)", atol=1e-8 * size)
    lam = np.linalg.eigvalsh(J @ J.T)
    steps = math.ceil(25 * lam[-1] / lam[0])
    lin = tangent.linearise(f, params)
    end = tangent.gradient_flow(
        tangent.OutputRisk(lin), lin.zero(), np.array([steps / lam[-1]]), x, y,
        integrator="descent", step=(1 + 1e-12) / lam[-1],
    )  # fmt: skip
    beta = np.asarray(ravel_pytree(jax.tree.map(lambda leaf: leaf[0], end))[0])
    yield close(beta, dual.beta, f"β after {steps} steps of descent from 0, against Jᵀ K⁺ (y - f₀)", atol=1e-8 * size)
    quadratic = (y - f0) @ np.linalg.solve(J @ J.T, y - f0)
    yield close(np.sum(beta**2), quadratic, "‖β‖², against (y - f₀)ᵀ K⁻¹ (y - f₀)", rtol=1e-7)

    extra = tangent.off_span(J, data.generator(jax.random.fold_in(key, 2)).standard_normal(J.shape[1]))
    other = dual.beta + extra
    yield close(J @ other, J @ dual.beta, "outputs with a null vector added to β", atol=1e-10 * size * np.sqrt(lam[-1]))
    yield close(other @ other, dual.squared_norm + extra @ extra, "its squared norm, the sum of both", rtol=1e-9)
    yield printed(
        close(np.linalg.norm(other - dual.beta), 0.0, "distance of two β with the same least loss", atol=1e-8 * size),
        "eth", "the minimiser is unique",
    )  # fmt: skip
    yield close(dual.unreached, 0.0, "residual left, y - f₀ in the range of K", atol=1e-9 * size * np.sqrt(lam[-1]))
    twice, labels = np.concatenate([J, J[:1]]), np.append(y - f0, y[0] - f0[0] + gap)
    left = tangent.tangent_fit(twice, labels, rtol=1e-12).unreached
    expected = np.zeros(samples + 1)
    expected[[0, -1]] = -gap / 2, gap / 2
    yield close(left, expected, "residual left where one input has two labels", atol=1e-7)


@eqx.filter_jit
def _paths(J, r, start, eta, rows):
    """β along descent, stochastic descent, heavy ball and Adam on ½‖Jβ - r‖²: (steps, P) each."""
    rules = {
        "gradient descent": optax.sgd(eta),
        "stochastic descent": optax.sgd(eta),
        "heavy ball": optax.sgd(eta, momentum=0.9),
        "Adam": optax.adam(0.05),
    }

    def run(rule, some):
        def step(state, rows):
            beta, memory = state
            A, b = (J[rows], r[rows]) if some else (J, r)
            change, memory = rule.update(A.T @ (A @ beta - b), memory)
            beta = beta + change
            return (beta, memory), beta

        return jax.lax.scan(step, (start, rule.init(start)), rows)[1]

    return {name: run(rule, name == "stochastic descent") for name, rule in rules.items()}


@claim(
    "gd-stays-in-tangent-span",
    says=(
        "Descent, stochastic descent and heavy ball on the linearised network never leave the span of the gradients at "
        "the data: from 0 they stay in it, from elsewhere the part outside never moves. Adam, which scales each "
        "coordinate, leaves it."
    ),
    formula=r"\beta_0 = 0 \;\Rightarrow\; \beta_k \in \operatorname{span}\{\nabla_\theta f(x_i)\}",
    sources=("sheet",),
    shows=("tangent.off_span",),
)
def gd_stays_in_tangent_span(
    key,
    samples: Annotated[int, Range(2, 15)] = 10,
    width: Annotated[int, Range(8, 64)] = 20,
    inputs: Annotated[int, Range(2, 10)] = 5,
    steps: Annotated[int, Range(20, 400)] = 100,
):
    """Four rules, all batches of 2 for the stochastic one; from β = 0 and from a random start."""
    _, _, J, _, y, f0 = _network(key, inputs, width, samples)
    rng = data.generator(jax.random.fold_in(key, 3))
    rows = rng.integers(0, samples, (steps, 2))
    eta = 0.5 / np.linalg.eigvalsh(J @ J.T)[-1]
    drawn = {}
    for name, start in (("from 0", np.zeros(J.shape[1])), ("from a random start", rng.standard_normal(J.shape[1]))):
        paths = _paths(J, y - f0, start, eta, rows)
        outside = tangent.off_span(J, start)
        for rule, path in paths.items():
            moved = np.linalg.norm(tangent.off_span(J, np.asarray(path)) - outside, axis=1)
            if rule != "Adam":
                yield at_most(moved, 1e-10, f"movement outside the span, {rule}, {name}")
            else:
                share = moved[-1] / np.linalg.norm(np.asarray(path)[-1] - start)
                yield at_least(share, 1e-3, f"share of the movement outside the span, Adam, {name}")
            if name == "from 0":
                drawn[rule] = moved
    yield figure.curves(
        f"Adam leaves the span of the {samples} gradients; the others stay within rounding",
        x="step",
        y="norm of β outside the span",
        points={rule: (np.arange(1, steps + 1), np.maximum(moved, 1e-18)) for rule, moved in drawn.items()},
        log="y",
    )


@method(
    "ntk-predictor",
    says=(
        "The trained linearised network in closed form: its start plus the kernel times what training has made of the "
        "residuals, after any time of the flow or any number of steps; in the limit it interpolates."
    ),
    formula=(
        r"f_t(x) = f_0(x) + k(x,X) K^{-1} (I - e^{-Kt}) (y - f_0(X)), \quad "
        r"f_j(x) = f_0(x) + k(x,X) K^{-1} (I - (I - \eta K)^j) (y - f_0(X))"
    ),
    sources=("eth", "sheet"),
    shows=("infinite_width.WideTraining", "infinite_width.WidePrediction", "tangent.linearise"),
)
def ntk_predictor(
    key,
    samples: Annotated[int, Range(2, 10)] = 6,
    width: Annotated[int, Range(20, 200)] = 64,
    horizon: Annotated[float, Range(1.0, 200.0, log=True)] = 50.0,
):
    """One ReLU network on a line; the linearised network trained by descent and by the flow, at five times."""
    rng = data.generator(key)
    x = np.linspace(-1, 1, samples)[:, None] + rng.uniform(-0.3, 0.3, (samples, 1)) / samples
    y, z = np.sign(np.sin(5 * x[:, 0] + rng.uniform(0, 6))), np.linspace(-1.3, 1.3, 53)[:, None]
    net = tangent_mlp(rng, (1, width, 1), "relu", gain=2**0.5, bias_scale=0.7)
    f, params = tangent.as_function(net)
    both = np.concatenate([x, z])
    kernel = np.asarray(tangent.empirical_ntk(f, params, both, x))
    lin = tangent.linearise(f, params)
    risk = tangent.OutputRisk(lin)
    start = np.asarray(risk.outputs(lin.zero(), both))[:, 0]
    K = kernel[:samples]
    top = float(np.linalg.eigvalsh(K)[-1])
    times = np.unique(np.round(horizon * np.array([0.02, 0.1, 0.3, 1.0])).clip(1)) / top

    def trained(integrator, step):
        path = tangent.gradient_flow(risk, lin.zero(), times, x, y, integrator=integrator, step=step)
        return np.asarray(_outputs(risk, path, both))

    wide = infinite_width.WideTraining(K, y)
    predicted = np.asarray(wide.at(kernel).from_start(start[:samples], start, times))
    measured = trained("rk4", 0.01 / top)
    yield close(measured, predicted, "flow of the linearised network on data and 53 points, all times", atol=1e-8)
    stepwise = infinite_width.WideTraining(K, y, step=1 / top)
    counts = np.round(times * top)
    descended = np.asarray(stepwise.at(kernel).from_start(start[:samples], start, counts))
    yield close(
        trained("descent", (1 + 1e-12) / top), descended, "descent with η = 1/λ_max, the same after all step counts",
        atol=1e-8,
    )  # fmt: skip
    limit = np.asarray(wide.at(kernel).from_start(start[:samples], start))
    yield close(limit[:samples], y, "limit at the data: interpolation", atol=1e-6)
    factor = np.linalg.cholesky(K + 1e-12 * top * np.eye(samples))
    solved = np.linalg.solve(factor.T, np.linalg.solve(factor, y - start[:samples]))
    fine = np.linalg.cond(K) < 1e6
    yield close(start + kernel @ solved, limit, "limit by Cholesky with jitter 10⁻¹² λ_max", atol=1e-4).given(
        fine, "K has a condition number below 10⁶"
    )
    yield printed(
        close(predicted[-1] - start, measured[-1], "k K⁻¹(I - e^(-Kt))(y - f₀) alone, against the trained", atol=1e-8),
        "eth", "f*(x) = k(x, X) K⁻¹ (y - f₀(X)), without f₀(x)",
    )  # fmt: skip
    names = [f"t = {t * top:.3g}/λ_max" for t in times[[0, -1]]]
    shown = {"start": start, **dict(zip(names, predicted[[0, -1]], strict=True)), "t = ∞": limit}
    points = {name: (z[::4, 0], m[samples::4]) for name, m in zip(names, measured[[0, -1]], strict=True)}
    yield figure.curves(
        f"From the random start to interpolation: trained points on predicted lines, apart by "
        f"{np.abs(measured - predicted).max():.0e} at most",
        x="x",
        y="f(x)",
        lines={name: (z[:, 0], p[samples:]) for name, p in shown.items()},
        points={**points, "data": (x[:, 0], y)},
    )


@eqx.filter_jit
def _outputs(risk, path, points):
    return jax.lax.map(lambda beta: risk.outputs(beta, points)[:, 0], path)
