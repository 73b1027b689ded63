"""Layers with random weights: how far the gradient reaches, how large the signal stays, how many samples they need."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.convolution import ConvLayer, ConvNetwork
from leadline.convolution.layers.receptive_fields import uniform_field_deviation
from leadline.evidence import Int, Real, at_least, claim, close, mean
from leadline.presentation import figure


@claim(sources=("penn", "eth"))
def effective_receptive_field(key, depth: Int(1, 8) = 4, kernel: Int(2, 5) = 3, networks: Int(200, 4000) = 2000):
    r"""The effective receptive field grows like the root of the depth.

    The L-fold convolution of the uniform distribution on k taps is the profile of the gradient where all weights are
    equal and positive, and of the mean squared gradient where they are independent with mean 0. Its deviation is
    $\sqrt{L (k^2-1)/12}$, while the field itself grows like L.

    $$\sigma = \sqrt{L (k^2 - 1)/12}, \qquad r = 1 + L (k - 1)$$

    Assumes: linear layers of one channel at stride 1.

    Check: The gradient of a network with constant kernels against the L-fold convolution; the mean of squared
    gradients of random networks against it at the centre of the field, in its sum and in its second moment.
    """
    layers = [ConvLayer(1, kernel, bias=False)] * depth
    r = convolution.receptive_field(layers).size
    profile = np.array([1.0])
    for _ in range(depth):
        profile = np.convolve(profile, np.full(kernel, 1 / kernel))
    signal = jnp.zeros((1, r))
    net = ConvNetwork(layers, signal.shape, "identity", init="normal", dtype=float, key=key)
    equal = convolution.gradient_field(jax.tree.map(jnp.ones_like, net), signal, (0, 0))[0]
    yield close(equal, profile, "equal weights: gradient's profile, against the L-fold convolution", atol=1e-12)
    seen, predicted = convolution.measure_field(equal), uniform_field_deviation(layers)
    yield close(seen.deviation, np.sqrt(depth * (kernel**2 - 1) / 12), "equal weights: its deviation", rtol=1e-10)

    def squared(key):
        drawn = ConvNetwork(layers, (1, r), "identity", init="normal", dtype=float, key=key)
        return jax.grad(lambda x: drawn(x)[0, 0])(signal)[0] ** 2

    rows = np.asarray(jax.jit(jax.vmap(squared))(jax.random.split(key, networks))) / kernel**depth
    middle = r // 2
    yield mean(rows[:, middle], profile[middle], "independent weights: mean squared gradient in the middle")
    yield mean(rows.sum(1), 1.0, "independent weights: mean squared gradient, summed over the field")
    at = np.arange(r) - (r - 1) / 2
    what = "independent weights: second moment of the mean squared gradient about the centre, L (k² − 1)/12"
    yield mean(rows @ at**2, depth * (kernel**2 - 1) / 12, what)
    fine = np.linspace(at[0], at[-1], 200)
    bell = np.exp(-(fine**2) / (2 * predicted**2)) / (predicted * np.sqrt(2 * np.pi))
    title = f"The field spans {r} positions, and the gradient's deviation is {predicted:.2f}"
    lines = {"L-fold convolution": (at, profile), "Gaussian": (fine, bell)}
    points = {"equal weights": (at, equal), f"mean square of {networks} networks": (at, rows.mean(0))}
    yield figure.curves(title, "input position from the centre", "share of the gradient", lines=lines, points=points)


@claim(sources=("penn",))
def conv_initialisation(key, channels: Int(1, 16) = 4, side: Int(5, 12) = 8, draws: Int(500, 4000) = 2000):
    r"""Fan-in of a convolution.

    A window sees $C_{in} k^2$ inputs: weights of variance $1/(C_{in}k^2)$ keep the second moment through a linear layer
    in the interior, $2/(C_{in}k^2)$ through ReLU. Averaged over weights, correlations between pixels do not matter.
    Zero padding lowers the border by the share of the taps inside: 6/9 at an edge, 4/9 in a corner of 3 x 3.

    $$E y^2 = \sigma_w^2\, C_{in} k^2\, E x^2$$

    Check: The mean over weights and inputs, at the centre, an edge and a corner, with 99.9% intervals.
    """
    rng = data.generator(key)
    keys = jax.random.split(key, draws)
    noise = jnp.asarray(rng.normal(size=(draws, channels, side, side)))
    layer, half = [ConvLayer(1, 3, padding="same")], side // 2

    def linear(key, x):
        return ConvNetwork(layer, x.shape, "identity", init="lecun", dtype=float, key=key)(x)[0] ** 2

    def rectified(key, x):
        net = ConvNetwork([*layer, ConvLayer(1, 1)], x.shape, init="he", dtype=float, key=key)
        return net.stages(x)[0][0] ** 2

    maps = np.asarray(jax.jit(jax.vmap(linear))(keys, noise))
    yield mean(maps[:, half, half], 1.0, "variance 1/(C k²), white input: second moment in the middle")
    yield mean(maps[:, 0, half], 6 / 9, "variance 1/(C k²), white input: second moment at an edge")
    yield mean(maps[:, 0, 0], 4 / 9, "variance 1/(C k²), white input: second moment in a corner")
    kept = np.asarray(jax.jit(jax.vmap(rectified))(keys, noise))[:, half, half]
    yield mean(kept, 1.0, "variance 2/(C k²), behind ReLU: second moment in the middle")
    equal = jnp.broadcast_to(jnp.asarray(rng.normal(size=(draws, 1, 1, 1))), noise.shape)
    same = np.asarray(jax.jit(jax.vmap(linear))(keys, equal))[:, half, half]
    yield mean(same, 1.0, "all pixels equal: second moment in the middle")
    title = f"Second moment {maps[:, half, half].mean():.2f} inside, {maps[:, 0, 0].mean():.2f} in a corner"
    yield figure.heatmap(title, "column", "row", values=maps.mean(0), colour="E y²")


@claim(sources=("eth", "sheet"))
def weight_sharing_efficiency(
    key, positions: Int(8, 30) = 20, taps: Int(1, 5) = 3, noise: Real(0.1, 2.0) = 0.5, samples: Int(60, 400) = 80
):
    r"""Sharing weights saves samples.

    Least squares learns a circular filter of k taps on n positions from N examples of white input, noise of variance
    s². The excess error of an output is s²n/(N−n−1) for a dense layer, s²k/(N−k−1) for a local one and about s²k/(Nn)
    for a convolution, to second order s²k/(Nn) (1 + (k+1)/(Nn)). Where the target depends on the position, the
    convolution keeps a floor.

    $$\frac{s^2 n}{N-n-1}, \qquad \frac{s^2 k}{N-k-1}, \qquad \approx \frac{s^2 k}{N n}$$

    Assumes: the target is a circular filter; white Gaussian inputs; N > n + 1.

    Check: 200 fits of each layer, with 99.9% intervals; the convolution against its second order, beyond which terms
    are of relative size (k/(Nn))².
    """
    rng, trials = data.generator(key), 200
    x = rng.normal(size=(trials, samples, positions))
    windows = np.stack([np.roll(x, -t, axis=2) for t in range(taps)], axis=3)  # (trials, N, n, k)
    filt = rng.normal(size=taps)
    y = windows @ filt + noise * rng.normal(size=x.shape)
    matrix = sum(filt[t] * np.roll(np.eye(positions), t, axis=1) for t in range(taps))
    dense = np.linalg.solve(np.swapaxes(x, 1, 2) @ x, np.swapaxes(x, 1, 2) @ y)  # (trials, n, n)
    local_x = np.swapaxes(windows, 1, 2)  # (trials, n, N, k)
    moments = np.swapaxes(local_x, 2, 3)
    local = np.linalg.solve(moments @ local_x, moments @ np.swapaxes(y, 1, 2)[..., None])[..., 0]
    flat = windows.reshape(trials, -1, taps)
    turned = np.swapaxes(flat, 1, 2)
    shared = np.linalg.solve(turned @ flat, turned @ y.reshape(trials, -1, 1))[..., 0]
    excess = {
        "dense": ((dense - matrix.T) ** 2).sum((1, 2)) / positions,
        "local": ((local - filt) ** 2).sum((1, 2)) / positions,
        "convolution": ((shared - filt) ** 2).sum(1),
    }
    predicted = {
        "dense": noise**2 * positions / (samples - positions - 1),
        "local": noise**2 * taps / (samples - taps - 1),
        # E tr(Gram⁻¹) to second order: the lags 0 of the Gram matrix have variance 2/(Nn), the others 1/(Nn).
        "convolution": noise**2 * taps / (samples * positions) * (1 + (taps + 1) / (samples * positions)),
    }
    for name, values in excess.items():
        yield mean(values, predicted[name], f"{name}: excess error of an output")
    ramp = 1 + np.arange(positions) / positions
    uneven = windows @ filt * ramp
    fit = np.linalg.solve(turned @ flat, turned @ uneven.reshape(trials, -1, 1))[..., 0]
    floor = float(np.mean(((fit[:, None] - ramp[:, None] * filt) ** 2).sum(2)))
    least = ramp.var() * (filt**2).sum()  # of the filter that is nearest to all positions
    yield at_least(
        floor, least, "target that depends on the position: error that stays, against the best shared filter"
    )
    bars = {"measured": {n: float(e.mean()) for n, e in excess.items()}, "predicted": predicted}
    gain = excess["dense"].mean() / excess["convolution"].mean()
    title = f"{samples} examples: the convolution's error is {gain:.0f} times smaller than the dense layer's"
    yield figure.bars(title, "layer", "excess error of an output", values=bars, log=True)
