"""The squared gradient between two multiples of the risk: at a point, in a ball, for other losses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, tangent, training
from leadline.claims.tangent.tangent_space.last_layer import on_sphere
from leadline.evidence import Int, OneOf, Real, assume, at_least, at_most, claim, close, erratum, slope
from leadline.presentation import figure
from leadline.tangent.dynamics.gradient_bounds import sandwich_constants, worst_in_ball

PADDABLE = ("tanh", "relu")  # σ(0) = 0: networks of several widths share one compiled program


@eqx.filter_jit
def _measured(stack, x, y):
    """‖∇R‖²/R, (4/n²) rᵀKr/R and the ends of the spectrum of K for a stack of networks."""

    def one(net):
        r, K = net(x) - y, net.tangent_kernel(x)
        values = jnp.linalg.eigvalsh(K)
        return tangent.gradient_ratio(net, x, y), 4 * r @ K @ r / len(y) / (r @ r), values[0], values[-1], jnp.trace(K)

    return jax.lax.map(one, stack)


def _stacked(nets):
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *nets)


@claim(sources=("cam",), shows=("tangent.gradient_ratio",))
def gradient_sandwich(
    key,
    activation: OneOf(*PADDABLE) = "tanh",
    points: Int(2, 10) = 4,
    dim: Int(2, 20) = 8,
    largest: Int(128, 2048, log=True) = 512,
    draws: Int(5, 40) = 20,
):
    r"""Gradient sandwich from NTK eigenvalues.

    The squared gradient of the mean risk R lies between c(m/n)R and C(m/n)R at every parameter, with c and C four
    times the extreme eigenvalues of the tangent kernel divided by m. The constants depend on the data: C grows with n,
    and c can fall to zero.

    $$\|\nabla R\|^2 = \tfrac{4}{n^2} r^T K r, \qquad c \tfrac{m}{n} R \le \|\nabla R\|^2 \le C \tfrac{m}{n} R, \quad c
    = \tfrac{4 \lambda_{\min}(K)}{m}, \ C = \tfrac{4 \lambda_{\max}(K)}{m}$$

    Assumes: R is the mean of the squared residuals.

    Check: Networks of three widths, at the start and far from it (weights times 3).
    """
    key_x, key_y, key_net = jax.random.split(key, 3)
    x, y = on_sphere(points, dim, key_x), data.generator(key_y).standard_normal(points)
    widths = [largest // 16, largest // 4, largest]
    nets, where = [], []
    for i, m in enumerate(widths):
        for s in range(draws):
            net = tangent.lecun_two_layer(dim, m, activation, key=jax.random.fold_in(key_net, 1000 * i + s))
            far = 3.0 if s % 2 else 1.0
            nets.append(jax.tree.map(lambda leaf, far=far: far * leaf, net).padded(largest))
            where.append((m, far))
    ratio, identity, low, high, trace = (np.asarray(part) for part in _measured(_stacked(nets), x, y))
    yield close(ratio / identity, 1.0, "‖∇R‖² by automatic differentiation over (4/n²) rᵀKr", atol=1e-10)
    m, far = np.array(where).T
    scaled, c, C = ratio * points / m, 4 * np.maximum(low, 0.0) / m, 4 * high / m
    yield at_least(scaled, c, f"‖∇R‖² n/(m R), against c, {len(nets)} parameters", atol=1e-12 * C.max())
    yield at_most(scaled, C, "‖∇R‖² n/(m R), against C", rtol=1e-12)
    yield at_most(C, 4 * trace / m, "C, against 4 trace(K)/m", rtol=1e-12)
    cloud = on_sphere(16, 3, key_x)
    wide = tangent.lecun_two_layer(3, 1024, "sigmoid", key=key_net)
    few, many = (sandwich_constants(wide, cloud[:n]) for n in (4, 16))
    grows = close(many.upper / few.upper, 4.0, "C at 16 points over C at 4, sigmoid on the sphere", rtol=0.25)
    yield grows
    falls = at_most(many.lower, few.lower / 2, "c at 16 points, against half of c at 4, sigmoid on the sphere")
    yield falls
    independent = "c and C do not depend on the number of points"
    wrong = at_most(many.upper, 2 * few.upper, "C at 16 points, against twice C at 4")
    yield erratum(wrong, of=grows, by="cam", prints=independent)
    wrong = at_least(many.lower, few.lower / 2, "c at 16 points, at least half of c at 4")
    yield erratum(wrong, of=falls, by="cam", prints=independent)
    start = far == 1.0
    middle = (np.log(scaled) - np.log(c)) / (np.log(C) - np.log(c))
    title, axis = "Where ‖∇R‖² lies between its bounds, log scale", "0: at c m R/n, 1: at C m R/n"
    samples, rules = {"parameters": middle[np.isfinite(middle)]}, {"c": ("x", 0.0), "C": ("x", 1.0)}
    left = figure.histogram(title, axis, samples=samples, rules=rules, bins=20)
    medians = {name: [np.median(v[(m == w) & start]) for w in widths] for name, v in (("C", C), ("c", c))}
    lines = {f"{name}, median": (widths, values) for name, values in medians.items()}
    title = f"At the start, m = {largest}: c = {medians['c'][-1]:.3g}, C = {medians['C'][-1]:.3g}"
    points = {"measured": (m[start], scaled[start])}
    right = figure.curves(title, "width m", "‖∇R‖² n/(m R)", points=points, lines=lines, log="xy")
    title = f"All {len(nets)} gradients lie between their two constants; the width changes neither"
    yield figure.beside(title, left, right)


@claim(sources=("cam",))
def gradient_sandwich_in_ball(
    key,
    activation: OneOf(*PADDABLE) = "tanh",
    points: Int(2, 6) = 4,
    dim: Int(6, 12) = 8,
    largest: Int(1024, 4096, log=True) = 2048,
    radius: Real(0.2, 1.0) = 1.0,
):
    r"""Gradient sandwich in the unit ball.

    In the unit ball around the start the gradient sandwich holds with constants that are only a little worse, by a
    relative amount of order $m^{-1/2}$. Random directions hardly reveal this loss: the worst direction needs a search.

    $$1 - \frac{\bar c}{c} = O(m^{-1/2}), \qquad \frac{\bar C}{C} - 1 = O(m^{-1/2}) \quad \text{on } \|\theta -
    \theta_0\| \le 1$$

    Assumes: K(θ₀) is nonsingular.

    Check: Orthonormal inputs; a projected gradient search on the extreme eigenvalues, and 50 random directions.
    """
    x = np.eye(points, dim)
    widths = np.array([largest // 8, largest // 4, largest // 2, largest])
    found = []
    for i, m in enumerate(widths):
        net = tangent.lecun_two_layer(dim, int(m), activation, key=jax.random.fold_in(key, i)).padded(largest)
        found.append(worst_in_ball(net, x, radius=radius, width=int(m), key=jax.random.fold_in(key, 50 + i)))
    parts = zip(*((f.start, f.searched, f.random) for f in found), strict=True)
    start, worst, blind = (np.array([[f.lower, f.upper] for f in part]) for part in parts)
    searched, random = np.abs(worst / start - 1), np.abs(blind / start - 1)
    yield at_most(worst[:, 0], start[:, 0], "c̄ found by search, against c", strict=True)
    yield at_least(worst[:, 1], start[:, 1], "C̄ found by search, against C", strict=True)
    yield at_least(worst[-1, 0] / start[-1, 0], 0.8, f"c̄/c at m = {largest}")
    yield at_most(worst[-1, 1] / start[-1, 1], 1.25, f"C̄/C at m = {largest}")
    yield slope(widths, searched[:, 0], -0.5, "1 − c̄/c against the width", within=0.1)
    yield slope(widths, searched[:, 1], -0.5, "C̄/C − 1 against the width", within=0.1)
    yield at_most(random, searched / 2, "deviation found by random directions, against half of the search's")
    names, lines, points = ("1 − c̄/c", "C̄/C − 1"), {}, {}
    for k, name in enumerate(names):
        lines[f"slope −1/2, {name}"] = (widths, searched[0, k] * (widths / widths[0]) ** -0.5)
        points |= {f"{name}, search": (widths, searched[:, k]), f"{name}, random": (widths, random[:, k])}
    title = f"At m = {largest} the ball costs {searched[-1, 0]:.1%} of c and {searched[-1, 1]:.1%} of C"
    yield figure.curves(title, "width m", "relative deviation of the constant", points=points, lines=lines, log="xy")


def _huber_plus_quadratic(f, y, mu):
    r = jnp.abs(f - y)
    return jnp.where(r <= 1, r**2 / 2, r - 0.5) + mu / 2 * r**2


def _logistic(f, y, _):
    return jax.nn.softplus(-y * f)


LOSSES = {"Huber + quadratic": _huber_plus_quadratic, "logistic": _logistic}


@eqx.filter_jit
def _train(net, x, y, mu, rate, loss: str, num_steps: int):
    """Along a descent: the excess loss (both losses have infimum 0), ‖∇R‖² n/excess and the ends of the spectrum."""

    def objective(net, *_):
        values = jax.lax.stop_gradient(jnp.linalg.eigvalsh(net.tangent_kernel(x)))
        return training.RowLosses(LOSSES[loss](net(x), y, mu), aux=values), None

    def measure(seen):
        squared = optax.tree.norm(seen.gradient, squared=True)
        return seen.loss, squared * len(y) / seen.loss, seen.rows.aux[0], seen.rows.aux[-1]

    return training.scan_steps(objective, net, optax.sgd(rate), None, num_steps=num_steps, measure=measure).measured


@claim(sources=("cam",))
def gradient_sandwich_other_losses(
    key,
    activation: OneOf("relu", "tanh", "softplus") = "relu",
    points: Int(2, 8) = 4,
    strength: Real(0.05, 1.0, log=True) = 0.2,
    width: Int(64, 512, log=True) = 128,
    targets: Real(0.5, 4.0) = 2.0,
):
    r"""Gradient sandwich for strongly convex losses.

    For a loss that is μ-strongly convex with L-Lipschitz derivative, the squared gradient lies between 2μλₘᵢₙ/n and
    2Lλₘₐₓ/n times the excess loss, for smooth units and for ReLU. Logistic loss is not strongly convex: its lower
    ratio tends to 0 during training.

    $$\tfrac{2 \mu \lambda_{\min}(K)}{n} (R - R^*) \le \|\nabla R\|^2 \le \tfrac{2 L \lambda_{\max}(K)}{n} (R - R^*)$$

    Assumes: the loss is μ-strongly convex in the output with L-Lipschitz derivative.

    Check: 300 steps of gradient descent; the bounds are checked at each with the kernel of that moment.
    """
    key_net, key_y, key_sign = jax.random.split(key, 3)
    x = np.eye(points, 8)
    net = tangent.lecun_two_layer(8, width, activation, key=key_net)
    y = targets * data.generator(key_y).standard_normal(points)
    n, L = points, 1 + strength
    top, steps = float(np.linalg.eigvalsh(np.asarray(net.tangent_kernel(x)))[-1]), 300
    risk, ratio, low, high = map(np.asarray, _train(net, x, y, strength, n / (L * top), "Huber + quadratic", steps))
    kept = risk > 1e-20 * risk[0]  # below, rounding is all that is left
    assume(low[0] > 0, "the tangent kernel is nonsingular")
    lower, upper = 2 * strength * low, 2 * L * high
    yield at_least(ratio[kept], lower[kept], "‖∇R‖² n/R against 2μλ_min: Huber + (μ/2) r²", rtol=1e-6)
    yield at_most(ratio[kept], upper[kept], "‖∇R‖² n/R against 2Lλ_max: Huber + (μ/2) r²", rtol=1e-6)
    labels = np.where(data.generator(key_sign).random(n) < 0.5, 1.0, -1.0)
    logistic, fall, least, _ = map(np.asarray, _train(net, x, labels, 0.0, 4 * n / top, "logistic", steps))
    yield at_most(fall[-1] / least[-1], 0.1, "logistic: ‖∇R‖² n/(R λ_min) after training")
    yield at_most(fall[-1] / fall[0], 0.2, "logistic: ‖∇R‖² n/R after training, against its start")
    # ℓ' ² / ℓ ≈ e^(-yf) ≈ ℓ far out: the ratio falls in proportion to the loss, so no constant bounds it from below.
    late = slice(steps // 3, None)
    yield slope(logistic[late], fall[late], 1.0, "log ratio against log risk, logistic", within=0.15)
    count = np.arange(steps)
    title = f"Logistic loss: the ratio falls to {fall[-1] / fall[0]:.1g} of its start; a strongly convex loss keeps it"
    points = {
        "Huber + quadratic": (count[kept][::6], ratio[kept][::6] / width),
        "logistic": (count[::6], fall[::6] / width),
    }
    lines = {"2μλ_min/m": (count[kept], lower[kept] / width), "2Lλ_max/m": (count[kept], upper[kept] / width)}
    yield figure.curves(title, "step", "‖∇R‖² n/(m R)", points=points, lines=lines, log="y")
