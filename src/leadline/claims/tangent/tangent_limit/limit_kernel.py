"""The tangent kernel of networks at the start: its limit of width, and what decides it."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, infinite_width, networks, tangent
from leadline.claims.tangent.function_space.mode_decay import odd_even_digits
from leadline.evidence import Int, OneOf, Real, at_least, claim, erratum, mean, slope
from leadline.presentation import figure

_PAIR = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])


@claim(sources=("eth", "sheet", "cam"), shows=("infinite_width.dense_stack", "networks.TwoLayer"))
def ntk_limit_at_init(
    key,
    activation: OneOf("relu", "tanh", "gelu") = "relu",
    seeds: Int(60, 200) = 90,
    widest: OneOf(1024, 4096) = 4096,
    repeats: Int(2, 4) = 2,
):
    r"""NTK limit at initialisation.

    In the NTK parametrisation the tangent kernel of a random network converges to a fixed kernel Θ as the width m
    grows, with fluctuations of order $m^{-1/2}$; on 400 digits the relative error falls from 0.3 at m = 64 to 0.04 at
    m = 4096.

    $$\hat\Theta_m(x, x') \to \Theta(x, x'), \qquad \mathrm{sd}\,\hat\Theta_m(x, x') = O(m^{-1/2})$$

    Assumes: φ is Lipschitz; one hidden layer, NTK parametrisation, Gaussian weights.

    Check: One pair of inputs over many seeds, then the kernel of 400 digits over `repeats` seeds (ReLU units).
    """
    widths = np.array([64, 256, 1024, 4096])
    widths = widths[widths <= widest]
    limit = _limit(_PAIR, activation)[0, 1]
    first, *rest = jax.random.split(key, 1 + repeats * len(widths))
    rng = data.generator(first)
    entries = {int(m): _kernels(rng, int(m), seeds, activation)[:, 0, 1] for m in (32, 128, 512)}
    for m, values in entries.items():
        yield mean(values, limit, f"Θ̂(x, x') at width {m}, over seeds")
    groups = {m: np.array([g.std(ddof=1) for g in np.array_split(v, 6)]) for m, v in entries.items()}
    deviations = np.concatenate(list(groups.values()))
    what = "rate of the standard deviation over seeds against width"
    yield slope(np.repeat(list(groups), 6), deviations, -0.5, what, within=0.05)
    (x, y), (z, truth) = odd_even_digits(400, 1000)
    theta = _limit(np.concatenate([x, z]), "relu")
    train = theta[:400, :400]
    errors = np.empty((len(widths), repeats))
    for i, m in enumerate(widths):
        for j in range(repeats):
            own = rest[i * repeats + j]
            net = tangent.lecun_two_layer(64, int(m), "relu", gain=math.sqrt(2), parametrisation="ntk", key=own)
            errors[i, j] = np.linalg.norm(np.asarray(net.tangent_kernel(x)) - train) / np.linalg.norm(train)
    across = np.repeat(widths, repeats)
    yield slope(across, errors, -0.5, "400 digits: rate of ‖Θ̂ - Θ‖/‖Θ‖ against width", within=0.05)
    scaled = errors * np.sqrt(widths)[:, None]
    yield mean(scaled, 2.42, "400 digits: √m ‖Θ̂ - Θ‖/‖Θ‖, against 0.296 ... 0.037 in an earlier run")
    spectrum = np.linalg.eigvalsh(train)
    right = np.sign(theta[400:, :400] @ np.linalg.solve(train, y)) == truth
    yield at_least(right.mean(), 0.97, "even or odd: share of 1000 test digits right with the limit kernel")
    m = np.array(list(entries))
    spread = entries[32].std(ddof=1) * np.sqrt(32 / m)
    lines = {"limit": (m, np.full(3, limit))}
    bands = {"±2 sd, as m^(-1/2)": (m, limit - 2 * spread, limit + 2 * spread)}
    points = {"networks": (np.repeat(m, seeds), np.concatenate(list(entries.values())))}
    title = "one entry over seeds"
    left = figure.curves(title, "width m", "Θ̂(x, x')", log="x", lines=lines, bands=bands, points=points)
    lines, points = {"2.42 m^(-1/2)": (widths, 2.42 / np.sqrt(widths))}, {"networks": (across, errors.ravel())}
    title = f"digits; λ from {spectrum[0]:.2g} to {spectrum[-1]:.4g}, accuracy {right.mean():.3f}"
    right = figure.curves(title, "width m", "‖Θ̂ − Θ‖/‖Θ‖", log="xy", lines=lines, points=points)
    ends = errors.mean(axis=1)[[0, -1]]
    title = f"On 400 digits the kernel's error is {ends[0]:.2g} at m = {widths[0]} and {ends[1]:.2g} at {widths[-1]}"
    yield figure.beside(title, left, right)


@claim(sources=("cam", "sheet"), shows=("tangent.lecun_two_layer",))
def parametrisation_decides_the_limit(
    key, activation: OneOf("relu", "tanh", "gelu") = "relu", gain: Real(0.7, 1.6) = 1.4142, seeds: Int(10, 40) = 16
):
    r"""Standard, NTK and mean-field scaling.

    With the scale inside the weights (standard parametrisation) the tangent kernel grows in proportion to the width;
    with the scale outside (NTK parametrisation) it has a finite limit; with the mean-field scale 1/m it vanishes as
    1/m.

    $$K_{\text{standard}} \sim m, \quad K_{\text{ntk}} \to \Theta, \quad K_{\text{mean field}} \sim 1/m$$

    Assumes: one hidden layer, Gaussian weights; gradients in the parameters as they are drawn.

    Check: Widths 100, 400 and 1600 are compared at one input of unit norm, with hidden weights from N(0, 1).
    """
    widths = np.array([100, 400, 1600])
    phi = networks.activation(activation)
    second = float(networks.gaussian_expectation(lambda z: phi(z) ** 2, 1.0))
    slopes = float(networks.gaussian_expectation(lambda z: jax.jvp(phi, (z,), (jnp.ones_like(z),))[1] ** 2, 1.0))
    theta = gain**2 * (second + slopes)
    rng = data.generator(key)
    kernels = {
        form: np.stack([_kernels(rng, int(m), seeds, activation, form, gain)[:, 0, 0] for m in widths])
        for form in ("standard", "ntk", "mean-field")
    }
    predicted = {"standard": widths * second + gain**2 * slopes, "ntk": np.full(3, theta), "mean-field": theta / widths}
    across = np.repeat(widths, seeds)
    for form, rate in (("standard", 1.0), ("ntk", 0.0), ("mean-field", -1.0)):
        for m, values, expected in zip(widths, kernels[form], predicted[form], strict=True):
            yield mean(values, expected, f"K(x, x), {form}, width {m}")
        growth = slope(across, kernels[form], rate, f"rate of K(x, x) against width, {form}", within=0.05)
        yield growth
        if form == "standard":
            wrong = slope(across, kernels[form], 0.0, "rate of K(x, x) against width, standard", within=0.05)
            prints = "Theorem 5.2: weights N(0, 1/N_l) and gradients in them, the kernel converges"
            yield erratum(wrong, of=growth, by="cam", prints=prints)
    grown, stays = kernels["standard"].mean(axis=1), kernels["ntk"][-1].mean()
    title = f"From width 100 to 1600 the standard kernel grows {grown[-1] / grown[0]:.1f} times, NTK: {stays:.3g}"
    lines = {form: (widths, values) for form, values in predicted.items()}
    points = {form: (across, values.ravel()) for form, values in kernels.items()}
    yield figure.curves(title, "width m", "K(x, x)", log="xy", lines=lines, points=points)


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
    return jax.vmap(lambda w, v: networks.TwoLayer(w, v, activation).tangent_kernel(x))(weight, head)


def _limit(x: np.ndarray, activation: str) -> np.ndarray:
    """Θ of f = √(2/m) v·φ(Wx), W and v standard normal."""
    stack = infinite_width.dense_stack(1, activation, W_std=math.sqrt(2), first_W_std=math.sqrt(x.shape[1]))
    return np.asarray(stack.kernel_fn(x))
