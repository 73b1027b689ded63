"""Training the linearised network: least squares, the span of the gradients, prediction in closed form."""

import math

import equinox as eqx
import jax
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import as_apply, data, infinite_width, learning, networks, tangent, training
from leadline.claims.tangent.tangent_space.tangent_kernel import drawn_mlp
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, method
from leadline.presentation import figure
from leadline.tangent.least_squares import off_span


def _network(key, inputs, width, samples, activation="tanh"):
    """(apply, θ₀, J, x, y, f₀) for a small NTK-parametrised network and random data."""
    rng = data.generator(key)
    x, y = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    net = drawn_mlp(rng, (inputs, width, 1), activation, gain=2**0.5, bias_scale=0.5)
    apply, params = as_apply(net)
    J = np.asarray(networks.parameter_jacobian(apply, params, x))
    return apply, params, J, x, y, np.asarray(tangent.OutputRisk(apply).outputs(params, x))[:, 0]


@claim(sources=("eth", "sheet"))
def linearised_least_squares(
    key, samples: Int(2, 12) = 8, width: Int(8, 64) = 16, inputs: Int(4, 10) = 6, gap: Real(0.1, 4.0) = 1.0
):
    r"""Training the linearisation is least squares.

    Training the linearised network on squared loss is least squares on the residual targets. Gradient descent from β =
    0 finds the solution of least norm, Jᵀ K⁺ (y − f₀); with more parameters than data there are others that fit.

    $$\beta^* = J^\top K^{+} (y - f_0), \quad \|\beta^*\|^2 = (y - f_0)^\top K^{+} (y - f_0)$$

    Assumes: gradient descent with a step size below 2/λₘₐₓ.

    Check: More parameters than data; then the first input once more, with its label shifted by `gap`.
    """
    apply, params, J, x, y, f0 = _network(key, inputs, width, samples)
    primal, dual = tangent.tangent_fit(J, y - f0, dual=False), tangent.tangent_fit(J, y - f0)
    size = np.sqrt(primal.squared_norm)
    library = learning.least_squares(J, y - f0, intercept=False).weights
    yield close(primal.beta, library, "J⁺(y - f₀) by the singular values of J, against least squares", atol=1e-9 * size)
    yield close(dual.beta, primal.beta, "Jᵀ K⁺ (y - f₀), against J⁺(y - f₀)", atol=1e-8 * size)
    lam = np.linalg.eigvalsh(J @ J.T)
    steps = math.ceil(25 * lam[-1] / lam[0])
    lin = tangent.linearise(apply, params)
    risk, time, step = tangent.OutputRisk(lin), np.array([steps / lam[-1]]), (1 + 1e-12) / lam[-1]
    end = tangent.parameter_flow(risk, lin.zero(), time, x, y, integrator="descent", step_size=step)
    beta = np.asarray(ravel_pytree(jax.tree.map(lambda leaf: leaf[0], end))[0])
    yield close(beta, dual.beta, f"β after {steps} steps of descent from 0, against Jᵀ K⁺ (y - f₀)", atol=1e-8 * size)
    quadratic = (y - f0) @ np.linalg.solve(J @ J.T, y - f0)
    yield close(np.sum(beta**2), quadratic, "‖β‖², against (y - f₀)ᵀ K⁻¹ (y - f₀)", rtol=1e-7)
    extra = off_span(J, data.generator(jax.random.fold_in(key, 2)).standard_normal(J.shape[1]))
    other = dual.beta + extra
    yield close(J @ other, J @ dual.beta, "outputs with a null vector added to β", atol=1e-10 * size * np.sqrt(lam[-1]))
    what = "‖β + null vector‖², against the sum of both squares"
    least = close(other @ other, dual.squared_norm + extra @ extra, what, rtol=1e-9)
    yield least
    apart = np.linalg.norm(other - dual.beta)
    wrong = close(apart, 0.0, "distance of two β with the same least loss", atol=1e-8 * size)
    yield erratum(wrong, of=least, by="eth", prints="the unique minimiser (it is the one of least norm)")
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
        def half_squares(beta, rows, *_):
            A, b = (J[rows], r[rows]) if some else (J, r)
            return ((A @ beta - b) ** 2).sum() / 2, None

        ran = training.scan_steps(half_squares, start, rule, rows, record=lambda seen: seen.after.parameters)
        return ran.recorded

    return {name: run(rule, name == "stochastic descent") for name, rule in rules.items()}


@claim(sources=("sheet",))
def gd_stays_in_tangent_span(
    key, samples: Int(2, 15) = 10, width: Int(8, 64) = 20, inputs: Int(2, 10) = 5, num_steps: Int(20, 400) = 100
):
    r"""Gradient methods stay in the tangent span.

    Gradient descent, stochastic gradient descent and heavy ball on the linearised network never leave the span of the
    gradients at the data: from 0 they stay in it, and from elsewhere the component outside it never moves. Adam, which
    scales each coordinate, leaves it.

    $$\beta_0 = 0 \;\Rightarrow\; \beta_k \in \operatorname{span}\{\nabla_\theta f(x_i)\}$$

    Check: Four optimisers are run from β = 0 and from a random start; the stochastic one uses all batches of 2.
    """
    _, _, J, _, y, f0 = _network(key, inputs, width, samples)
    rng = data.generator(jax.random.fold_in(key, 3))
    rows = rng.integers(0, samples, (num_steps, 2))
    eta = 0.5 / np.linalg.eigvalsh(J @ J.T)[-1]
    drawn = {}
    for name, start in (("from 0", np.zeros(J.shape[1])), ("from a random start", rng.standard_normal(J.shape[1]))):
        outside = off_span(J, start)
        for rule, path in _paths(J, y - f0, start, eta, rows).items():
            moved = np.linalg.norm(off_span(J, np.asarray(path)) - outside, axis=1)
            if rule != "Adam":
                yield at_most(moved, 1e-10, f"movement outside the span, {rule}, {name}")
            else:
                share = moved[-1] / np.linalg.norm(np.asarray(path)[-1] - start)
                yield at_least(share, 1e-3, f"share of the movement outside the span, Adam, {name}")
            if name == "from 0":
                drawn[rule] = moved
    title = f"Adam leaves the span of the {samples} gradients; the others stay within rounding"
    points = {rule: (np.arange(1, num_steps + 1), moved) for rule, moved in drawn.items()}
    yield figure.curves(title, "step", "norm of β outside the span", points=points, log="y")


@method(sources=("eth", "sheet"))
def ntk_predictor(key, samples: Int(2, 10) = 6, width: Int(20, 200) = 64, horizon: Real(1.0, 200.0, log=True) = 50.0):
    r"""Closed-form NTK predictor.

    The trained linearised network has a closed form: its start plus the kernel applied to what training has made of
    the residuals, after any time of the flow or any number of steps. In the limit it interpolates.

    $$f_t(x) = f_0(x) + k(x,X) K^{-1} (I - e^{-Kt}) (y - f_0(X)), \quad f_j(x) = f_0(x) + k(x,X) K^{-1} (I - (I - \eta
    K)^j) (y - f_0(X))$$

    Check: One ReLU network on a line; descent and flow of the linearised network at four times.
    """
    rng = data.generator(key)
    x = np.linspace(-1, 1, samples)[:, None] + rng.uniform(-0.3, 0.3, (samples, 1)) / samples
    y, z = np.sign(np.sin(5 * x[:, 0] + rng.uniform(0, 6))), np.linspace(-1.3, 1.3, 53)[:, None]
    net = drawn_mlp(rng, (1, width, 1), "relu", gain=2**0.5, bias_scale=0.7)
    apply, params = as_apply(net)
    both = np.concatenate([x, z])
    kernel = np.asarray(tangent.empirical_ntk(apply, params, both, x))
    lin = tangent.linearise(apply, params)
    risk = tangent.OutputRisk(lin)
    start = np.asarray(risk.outputs(lin.zero(), both))[:, 0]
    K = kernel[:samples]
    top = np.linalg.eigvalsh(K)[-1]
    times = np.unique(np.round(horizon * np.array([0.02, 0.1, 0.3, 1.0])).clip(1)) / top

    def trained(integrator, step):
        path = tangent.parameter_flow(risk, lin.zero(), times, x, y, integrator=integrator, step_size=step)
        return np.asarray(_outputs(risk, path, both))

    wide = infinite_width.WideTraining(K, y)
    predicted = np.asarray(wide.at(kernel).from_start(start[:samples], start, times))
    measured = trained("rk4", 0.01 / top)
    right = close(measured, predicted, "flow of the linearised network on data and 53 points, all times", atol=1e-8)
    yield right
    stepwise = infinite_width.WideTraining(K, y, step_size=1 / top)
    counts = np.round(times * top)
    descended = np.asarray(stepwise.at(kernel).from_start(start[:samples], start, counts))
    run, what = trained("descent", (1 + 1e-12) / top), "descent on the linearised network, η = 1/λ_max, all step counts"
    yield close(run, descended, what, atol=1e-8)
    limit = np.asarray(wide.at(kernel).from_start(start[:samples], start))
    yield close(limit[:samples], y, "limit at the data: interpolation", atol=1e-6)
    factor = np.linalg.cholesky(K + 1e-12 * top * np.eye(samples))
    solved = np.linalg.solve(factor.T, np.linalg.solve(factor, y - start[:samples]))
    cholesky = close(start + kernel @ solved, limit, "limit by Cholesky with jitter 10⁻¹² λ_max", atol=1e-4)
    yield cholesky.given(np.linalg.cond(K) < 1e6, "K has a condition number below 10⁶")
    what = "k K⁻¹(I - e^(-Kt))(y - f₀) alone, against the trained linearised network"
    wrong = close(predicted[-1] - start, measured[-1], what, atol=1e-8)
    yield erratum(wrong, of=right, by="eth", prints="f*(x) = k(x, X) K⁻¹ (y − f₀(X)), without f₀(x)")
    names = [f"t = {t * top:.3g}/λ_max" for t in times[[0, -1]]]
    shown = {"start": start, **dict(zip(names, predicted[[0, -1]], strict=True)), "t = ∞": limit}
    lines = {name: (z[:, 0], p[samples:]) for name, p in shown.items()}
    points = {name: (z[::4, 0], m[samples::4]) for name, m in zip(names, measured[[0, -1]], strict=True)}
    title = f"Trained and predicted outputs differ by {np.abs(measured - predicted).max():.0e} at most"
    yield figure.curves(title, "x", "f(x)", lines=lines, points=points | {"data": (x[:, 0], y)})


@eqx.filter_jit
def _outputs(risk, path, points):
    return jax.lax.map(lambda beta: risk.outputs(beta, points)[:, 0], path)
