"""The squared gradient between two multiples of the risk: at a point, in a ball, for other losses."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, tangent
from leadline.claims.tangent.last_layer import on_sphere
from leadline.evidence import Choice, Range, assume, at_least, at_most, claim, close, figure, printed, slope

PADDABLE = ("tanh", "relu")  # σ(0) = 0: networks of several widths share one compiled program


@eqx.filter_jit
def _measured(stack, x, y):
    """‖∇R‖²/R, (4/n²) rᵀKr/R and the ends of the spectrum of K for a stack of networks."""

    def one(net):
        r, K = net.outputs(x) - y, net.tangent_kernel(x)
        values = jnp.linalg.eigvalsh(K)
        return tangent.gradient_ratio(net, x, y), 4 * r @ K @ r / len(y) / (r @ r), values[0], values[-1], jnp.trace(K)

    return jax.lax.map(one, stack)


def _stacked(nets):
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *nets)


@claim(
    "gradient-sandwich",
    says=(
        "The squared gradient of the mean risk lies between c (m/n) R and C (m/n) R at every parameter, with c and C "
        "four times the extreme eigenvalues of the tangent kernel over m. The constants depend on the data: C grows "
        "with n, and c can fall to nothing."
    ),
    formula=r"\|\nabla R\|^2 = \tfrac{4}{n^2} r^T K r, \qquad c \tfrac{m}{n} R \le \|\nabla R\|^2 \le C \tfrac{m}{n} "
    r"R, \quad c = \tfrac{4 \lambda_{\min}(K)}{m}, \ C = \tfrac{4 \lambda_{\max}(K)}{m}",
    sources=("cam",),
    assumes=("R is the mean of squares",),
    shows=("tangent.sandwich_constants", "tangent.Sandwich", "tangent.gradient_ratio"),
)
def gradient_sandwich(
    key,
    activation: Annotated[str, Choice(*PADDABLE)] = "tanh",
    points: Annotated[int, Range(2, 10)] = 4,
    dim: Annotated[int, Range(2, 20)] = 8,
    largest: Annotated[int, Range(128, 2048, log=True)] = 512,
    draws: Annotated[int, Range(5, 40)] = 20,
):
    """Networks of three widths at the start and far from it (weights times 3), each with its own targets."""
    key_x, key_y, key_net = jax.random.split(key, 3)
    x, y = on_sphere(points, dim, key_x), data.generator(key_y).standard_normal(points)
    widths = [largest // 16, largest // 4, largest]
    nets, where = [], []
    for i, m in enumerate(widths):
        for s in range(draws):
            net = tangent.lecun_two_layer(dim, m, activation, key=jax.random.fold_in(key_net, 1000 * i + s))
            far = 3.0 if s % 2 else 1.0
            net = jax.tree.map(lambda leaf, far=far: far * leaf, net)
            nets.append(net.padded(largest))
            where.append((m, far))
    where = np.array(where)
    ratio, identity, low, high, trace = (np.asarray(part) for part in _measured(_stacked(nets), x, y))
    yield close(ratio / identity, 1.0, "‖∇R‖² by automatic differentiation over (4/n²) rᵀKr", atol=1e-10)
    m = where[:, 0]
    scaled, c, C = ratio * points / m, 4 * np.maximum(low, 0.0) / m, 4 * high / m
    yield at_least(scaled, c, f"‖∇R‖² n/(m R), against c, {len(nets)} parameters", atol=1e-12 * C.max())
    yield at_most(scaled, C, "‖∇R‖² n/(m R), against C", rtol=1e-12)
    yield at_most(C, 4 * trace / m, "C, against 4 trace(K)/m", rtol=1e-12)

    cloud = on_sphere(16, 3, key_x)
    wide = tangent.lecun_two_layer(3, 1024, "sigmoid", key=key_net)
    few, many = (tangent.sandwich_constants(wide, cloud[:n]) for n in (4, 16))
    yield close(many.upper / few.upper, 4.0, "C at 16 points over C at 4, sigmoid on the sphere", rtol=0.25)
    independent = "c and C do not depend on the number of points"
    yield printed(at_most(many.upper, 2 * few.upper, "C at 16 points, against twice C at 4"), "cam", independent)
    yield printed(at_least(many.lower, few.lower / 2, "c at 16 points, against half of c at 4"), "cam", independent)
    pick = (where[:, 0] == largest) & (where[:, 1] == 1.0)
    middle = (np.log(scaled) - np.log(c)) / (np.log(C) - np.log(c))
    yield figure.beside(
        f"All {len(nets)} gradients lie between their two constants; the width changes neither",
        figure.histogram(
            "Where ‖∇R‖² lies between its bounds, log scale",
            x="0: at c m R/n, 1: at C m R/n",
            samples={"parameters": middle[np.isfinite(middle)]},
            rules={"c": ("x", 0.0), "C": ("x", 1.0)},
            bins=20,
        ),
        figure.curves(
            f"At the start, m = {largest}: c = {np.median(c[pick]):.3g}, C = {np.median(C[pick]):.3g}",
            x="width m",
            y="‖∇R‖² n/(m R)",
            points={"measured": (m[where[:, 1] == 1.0], scaled[where[:, 1] == 1.0])},
            lines={
                "C, median": (widths, [np.median(C[(m == w) & (where[:, 1] == 1.0)]) for w in widths]),
                "c, median": (widths, [np.median(c[(m == w) & (where[:, 1] == 1.0)]) for w in widths]),
            },
            log="xy",
        ),
    )


@claim(
    "gradient-sandwich-in-ball",
    says=(
        "In the unit ball around the start the gradient sandwich holds with constants that are only a little worse, by "
        "a share of order m^(−1/2). Random directions hardly find it: the worst direction needs a search."
    ),
    formula=r"1 - \frac{\bar c}{c} = O(m^{-1/2}), \qquad \frac{\bar C}{C} - 1 = O(m^{-1/2}) \quad \text{on } "
    r"\|\theta - \theta_0\| \le 1",
    sources=("cam",),
    assumes=("K(θ₀) is nonsingular",),
    shows=("tangent.worst_in_ball", "tangent.BallSearch"),
)
def gradient_sandwich_in_ball(
    key,
    activation: Annotated[str, Choice(*PADDABLE)] = "tanh",
    points: Annotated[int, Range(2, 6)] = 4,
    dim: Annotated[int, Range(6, 12)] = 8,
    largest: Annotated[int, Range(1024, 4096, log=True)] = 2048,
    radius: Annotated[float, Range(0.2, 1.0)] = 1.0,
):
    """Orthonormal inputs; projected gradient search on the extreme eigenvalues, beside 50 random directions."""
    x = np.eye(points, dim)
    widths = np.array([largest // 8, largest // 4, largest // 2, largest])
    found = []
    for i, m in enumerate(widths):
        net = tangent.lecun_two_layer(dim, int(m), activation, key=jax.random.fold_in(key, i)).padded(largest)
        found.append(tangent.worst_in_ball(net, x, radius=radius, width=int(m), key=jax.random.fold_in(key, 50 + i)))
    start, worst, blind = (
        np.array([[f.lower, f.upper] for f in part])
        for part in ([f.start for f in found], [f.searched for f in found], [f.random for f in found])
    )
    searched, random = np.abs(worst / start - 1), np.abs(blind / start - 1)
    yield at_most(worst[:, 0], start[:, 0], "c̄ found by search, against c", strict=True)
    yield at_least(worst[:, 1], start[:, 1], "C̄ found by search, against C", strict=True)
    yield at_least(worst[-1, 0] / start[-1, 0], 0.8, f"c̄/c at m = {largest}")
    yield at_most(worst[-1, 1] / start[-1, 1], 1.25, f"C̄/C at m = {largest}")
    yield slope(widths, searched[:, 0], -0.5, "1 − c̄/c against the width", within=0.1)
    yield slope(widths, searched[:, 1], -0.5, "C̄/C − 1 against the width", within=0.1)
    yield at_most(random, searched / 2, "deviation found by random directions, against half of the search's")
    lines = {
        f"slope −1/2, {name}": (widths, searched[0, k] * (widths / widths[0]) ** -0.5)
        for k, name in enumerate(("c̄", "C̄"))
    }
    yield figure.curves(
        f"At m = {largest} the ball of radius {radius:g} costs {searched[-1, 0]:.1%} of c and {searched[-1, 1]:.1%} of "
        f"C; random directions find {random[-1, 0] / searched[-1, 0]:.0%} of it",
        x="width m",
        y="relative deviation of the constant",
        points={
            "1 − c̄/c, search": (widths, searched[:, 0]),
            "C̄/C − 1, search": (widths, searched[:, 1]),
            "1 − c̄/c, random": (widths, random[:, 0]),
            "C̄/C − 1, random": (widths, random[:, 1]),
        },
        lines=lines,
        log="xy",
    )


def _huber_plus_quadratic(f, y, mu):
    r = jnp.abs(f - y)
    return jnp.where(r <= 1, r**2 / 2, r - 0.5) + mu / 2 * r**2


def _logistic(f, y, _):
    return jax.nn.softplus(-y * f)


LOSSES = {"Huber + quadratic": _huber_plus_quadratic, "logistic": _logistic}


@eqx.filter_jit
def _train(net, x, y, mu, rate, loss: str, steps: int):
    """Along a descent: the excess loss (both losses have infimum 0), ‖∇R‖² n/excess and the ends of the spectrum."""

    def step(net, _):
        values = jnp.linalg.eigvalsh(net.tangent_kernel(x))
        risk, gradient = eqx.filter_value_and_grad(lambda n: jnp.mean(LOSSES[loss](n.outputs(x), y, mu)))(net)
        squared = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient))
        moved = jax.tree.map(lambda p, g: p - rate * g, net, gradient)
        return moved, (risk, squared * len(y) / risk, values[0], values[-1])

    return jax.lax.scan(step, net, None, length=steps)[1]


@claim(
    "gradient-sandwich-other-losses",
    says=(
        "For a loss that is μ-strongly convex with L-Lipschitz slope the squared gradient lies between 2μλ_min/n and "
        "2Lλ_max/n times the excess loss, for smooth units and for ReLU. Logistic loss is not strongly convex: its "
        "lower ratio tends to 0 along training."
    ),
    formula=r"\tfrac{2 \mu \lambda_{\min}(K)}{n} (R - R^*) \le \|\nabla R\|^2 \le \tfrac{2 L \lambda_{\max}(K)}{n} (R "
    r"- R^*)",
    sources=("cam",),
    assumes=("the loss is μ-strongly convex in the output with L-Lipschitz derivative",),
)
def gradient_sandwich_other_losses(
    key,
    activation: Annotated[str, Choice("relu", "tanh", "softplus")] = "relu",
    points: Annotated[int, Range(2, 8)] = 4,
    strength: Annotated[float, Range(0.05, 1.0, log=True)] = 0.2,
    width: Annotated[int, Range(64, 512, log=True)] = 128,
    targets: Annotated[float, Range(0.5, 4.0)] = 2.0,
):
    """300 steps of each descent; the bounds are checked at every one of them with the kernel of that moment."""
    key_net, key_y, key_sign = jax.random.split(key, 3)
    x = np.eye(points, 8)
    net = tangent.lecun_two_layer(8, width, activation, key=key_net)
    y = targets * data.generator(key_y).standard_normal(points)
    n, L = points, 1 + strength
    top = float(np.linalg.eigvalsh(np.asarray(net.tangent_kernel(x)))[-1])
    risk, ratio, low, high = (
        np.asarray(a) for a in _train(net, x, y, strength, n / (L * top), "Huber + quadratic", 300)
    )
    kept = risk > 1e-20 * risk[0]  # below, rounding is all that is left
    assume(low[0] > 0, "the tangent kernel is nonsingular")
    lower, upper = 2 * strength * low, 2 * L * high
    yield at_least(ratio[kept], lower[kept], "‖∇R‖² n/R against 2μλ_min: Huber + (μ/2) r²", rtol=1e-6)
    yield at_most(ratio[kept], upper[kept], "‖∇R‖² n/R against 2Lλ_max", rtol=1e-6)
    labels = np.where(data.generator(key_sign).random(n) < 0.5, 1.0, -1.0)
    steps = 300
    logistic, fall, least, _ = (np.asarray(a) for a in _train(net, x, labels, 0.0, 4 * n / top, "logistic", steps))
    yield at_most(fall[-1] / least[-1], 0.1, "logistic: ‖∇R‖² n/(R λ_min) after training")
    yield at_most(fall[-1] / fall[0], 0.2, "logistic: ‖∇R‖² n/R after training, against its start")
    # ℓ' ² / ℓ ≈ e^(-yf) ≈ ℓ far out: the ratio falls in proportion to the loss, so no constant bounds it from below.
    late = slice(steps // 3, None)
    yield slope(logistic[late], fall[late], 1.0, "log ratio against log risk, logistic", within=0.15)
    count = np.arange(steps)
    yield figure.curves(
        f"Logistic loss: the ratio falls to {fall[-1] / fall[0]:.1g} of its start as the risk falls; the strongly "
        "convex loss keeps it between its bounds",
        x="step",
        y="‖∇R‖² n/(m R)",
        points={
            "Huber + quadratic": (count[kept][::6], ratio[kept][::6] / width),
            "logistic": (count[::6], fall[::6] / width),
        },
        lines={"2μλ_min/m": (count[kept], lower[kept] / width), "2Lλ_max/m": (count[kept], upper[kept] / width)},
        log="y",
    )
