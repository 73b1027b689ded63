"""The tangent kernel of networks at the start: its limit of width, and what decides it."""

import math
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, infinite_width, networks, tangent
from leadline.evidence import Choice, Range, at_least, claim, figure, mean, printed, slope

_PAIR = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])


@claim(
    "ntk-limit-at-init",
    says=(
        "In the NTK parametrisation the tangent kernel of a random network converges to a fixed kernel Θ as the width "
        "m grows, with fluctuations of order m^(-1/2); on 400 digits the relative error falls from 0.3 at m = 64 to "
        "0.04 at 4096."
    ),
    formula=r"\hat\Theta_m(x, x') \to \Theta(x, x'), \qquad \mathrm{sd}\,\hat\Theta_m(x, x') = O(m^{-1/2})",
    sources=("eth", "sheet", "cam"),
    assumes=("φ is Lipschitz", "one hidden layer, NTK parametrisation, Gaussian weights"),
    shows=("infinite_width.dense_stack", "tangent.TwoLayer"),
)
def ntk_limit_at_init(
    key,
    activation: Annotated[str, Choice("relu", "tanh", "gelu")] = "relu",
    seeds: Annotated[int, Range(60, 200)] = 90,
    widest: Annotated[int, Choice(1024, 4096)] = 4096,
    repeats: Annotated[int, Range(2, 4)] = 2,
):
    """One pair of inputs over many seeds, then the kernel of 400 digits over `repeats` seeds (ReLU units)."""
    widths = np.array([64, 256, 1024, 4096])
    widths = widths[widths <= widest]
    limit = _limit(_PAIR, activation)[0, 1]
    first, *rest = jax.random.split(key, 1 + repeats * len(widths))
    rng = data.generator(first)
    entries = {int(m): _kernels(rng, int(m), seeds, activation)[:, 0, 1] for m in (32, 128, 512)}
    for m, values in entries.items():
        yield mean(values, limit, f"Θ̂(x, x') at width {m}, over seeds")
    groups = {m: np.array([g.std(ddof=1) for g in np.array_split(v, 6)]) for m, v in entries.items()}
    yield slope(
        np.repeat(list(groups), 6), np.concatenate(list(groups.values())), -0.5,
        "rate of the standard deviation over seeds against width", within=0.05,
    )  # fmt: skip

    x, labels = _digits()
    theta = _limit(x, "relu")
    train = theta[:400, :400]
    errors = np.empty((len(widths), repeats))
    for i, m in enumerate(widths):
        for j in range(repeats):
            net = tangent.lecun_two_layer(
                x.shape[1], int(m), "relu", gain=math.sqrt(2), parametrisation="ntk", key=rest[i * repeats + j]
            )
            errors[i, j] = np.linalg.norm(np.asarray(net.tangent_kernel(x[:400])) - train) / np.linalg.norm(train)
    yield slope(
        np.repeat(widths, repeats), errors.ravel(), -0.5, "400 digits: rate of ‖Θ̂ - Θ‖/‖Θ‖ against width", within=0.05
    )
    scaled = errors * np.sqrt(widths)[:, None]
    yield mean(scaled, 2.42, "400 digits: √m ‖Θ̂ - Θ‖/‖Θ‖, against 0.296 ... 0.037 in an earlier run")
    spectrum = np.linalg.eigvalsh(train)
    right = np.sign(theta[400:, :400] @ np.linalg.solve(train, labels[:400])) == labels[400:]
    yield at_least(right.mean(), 0.97, "even or odd: share of 1000 test digits right with the limit kernel")

    m = np.array(list(entries))
    spread = entries[32].std(ddof=1) * np.sqrt(32 / m)
    yield figure.beside(
        f"The tangent kernel settles as m^(-1/2): on 400 digits its error is {errors[0].mean():.2g} at m = "
        f"{widths[0]}, {errors[-1].mean():.2g} at {widths[-1]}",
        figure.curves(
            "one entry over seeds", x="width m", y="Θ̂(x, x')", log="x",
            lines={"limit": (m, np.full(3, limit))},
            bands={"±2 sd, as m^(-1/2)": (m, limit - 2 * spread, limit + 2 * spread)},
            points={"networks": (np.repeat(m, seeds), np.concatenate(list(entries.values())))},
        ),
        figure.curves(
            f"digits; λ from {spectrum[0]:.2g} to {spectrum[-1]:.4g}, accuracy {right.mean():.3f}",
            x="width m", y="‖Θ̂ − Θ‖/‖Θ‖", log="xy",
            lines={"2.42 m^(-1/2)": (widths, 2.42 / np.sqrt(widths))},
            points={"networks": (np.repeat(widths, repeats), errors.ravel())},
        ),
    )  # fmt: skip


@claim(
    "parametrisation-decides-the-limit",
    says=(
        "With the scale inside the weights (standard parametrisation) the tangent kernel grows in proportion to the "
        "width; with the scale outside it has a finite limit; with the mean-field scale 1/m it vanishes as 1/m."
    ),
    formula=r"K_{\text{standard}} \sim m, \quad K_{\text{ntk}} \to \Theta, \quad K_{\text{mean field}} \sim 1/m",
    sources=("cam", "sheet"),
    assumes=("one hidden layer, Gaussian weights", "gradients in the parameters as they are drawn"),
    shows=("tangent.lecun_two_layer",),
)
def parametrisation_decides_the_limit(
    key,
    activation: Annotated[str, Choice("relu", "tanh", "gelu")] = "relu",
    gain: Annotated[float, Range(0.7, 1.6)] = 1.4142,
    seeds: Annotated[int, Range(10, 40)] = 16,
):
    """Widths 100, 400 and 1600 at one input of unit norm, hidden weights N(0, 1)."""
    widths = np.array([100, 400, 1600])
    phi = networks.activation(activation)
    second = float(networks.gaussian_expectation(lambda z: phi(z) ** 2, 1.0))
    slopes = float(networks.gaussian_expectation(lambda z: jax.jvp(phi, (z,), (jnp.ones_like(z),))[1] ** 2, 1.0))
    theta = gain**2 * (second + slopes)
    rng = data.generator(key)
    kernels = {
        form: np.stack([_kernels(rng, int(m), seeds, activation, form, gain)[:, 0, 0] for m in widths])
        for form in ("standard", "ntk")
    }
    kernels["mean-field"] = np.stack(
        [_kernels(rng, int(m), seeds, activation, "mean-field", gain)[:, 0, 0] for m in widths]
    )
    predicted = {
        "standard": widths * second + gain**2 * slopes,
        "ntk": np.full(3, theta),
        "mean-field": theta / widths,
    }
    across = np.repeat(widths, seeds)
    for form, rate in (("standard", 1.0), ("ntk", 0.0), ("mean-field", -1.0)):
        for m, values, expected in zip(widths, kernels[form], predicted[form], strict=True):
            yield mean(values, expected, f"K(x, x), {form}, width {m}")
        yield slope(across, kernels[form].ravel(), rate, f"rate of K(x, x) against width, {form}", within=0.05)
    yield printed(
        slope(across, kernels["standard"].ravel(), 0.0, "rate of K(x, x) against width, standard", within=0.05),
        "cam", "Theorem 5.2: weights N(0, 1/m), the kernel of the network converges",
    )  # fmt: skip
    grown = kernels["standard"].mean(axis=1)
    yield figure.curves(
        f"From width 100 to 1600 the standard kernel grows {grown[-1] / grown[0]:.1f} times, the NTK form stays at "
        f"{kernels['ntk'][-1].mean():.3g}",
        x="width m", y="K(x, x)", log="xy",
        lines={form: (widths, values) for form, values in predicted.items()},
        points={form: (across, values.ravel()) for form, values in kernels.items()},
    )  # fmt: skip


def _kernels(rng, width: int, seeds: int, activation: str, form: str = "ntk", gain: float = math.sqrt(2)) -> np.ndarray:
    """Tangent kernels (seeds, 2, 2) of two-layer networks at the pair of inputs, in one of the parametrisations."""
    head = rng.standard_normal((seeds, width))
    if form == "standard":
        head, scale = head * gain / math.sqrt(width), 1.0
    else:
        scale = gain / (math.sqrt(width) if form == "ntk" else width)
    weight = rng.standard_normal((seeds, width, 3))
    # The scale is a factor s² of the kernel, so that one compiled program serves all forms of a width.
    return scale**2 * np.asarray(_many_kernels(activation, jnp.asarray(weight), jnp.asarray(head), jnp.asarray(_PAIR)))


@eqx.filter_jit
def _many_kernels(activation, weight, head, x):
    return jax.vmap(lambda w, v: tangent.TwoLayer(w, v, activation).tangent_kernel(x))(weight, head)


def _limit(x: np.ndarray, activation: str) -> np.ndarray:
    """Θ of f = √(2/m) v·φ(Wx), W and v standard normal."""
    stack = infinite_width.dense_stack(1, activation, W_std=math.sqrt(2), first_W_std=math.sqrt(x.shape[1]))
    return np.asarray(stack.kernel_fn(x))


def _digits() -> tuple[np.ndarray, np.ndarray]:
    """400 training and 1000 test digits, centred, of unit norm; even is +1, odd -1."""
    x, y, more, labels = data.digits_split(train=400)
    x, y = np.concatenate([x, more[:1000]]).astype(float), np.concatenate([y, labels[:1000]])
    x -= x[:400].mean(axis=0)
    return x / np.linalg.norm(x, axis=1, keepdims=True), np.where(np.asarray(y) % 2 == 0, 1.0, -1.0)
