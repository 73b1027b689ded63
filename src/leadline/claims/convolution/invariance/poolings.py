"""Maximum and mean over windows, and how gradients go back through a maximum."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.evidence import Int, at_least, claim, close, erratum, exactly, method
from leadline.presentation import figure

EXAMPLE = np.array([[1.0, 3.0, 2.0, 1.0], [4.0, 6.0, 5.0, 0.0], [3.0, 1.0, 8.0, 2.0], [0.0, 2.0, 4.0, 7.0]])


@method(sources=("eth", "sheet", "penn"), shows=("convolution.max_pool", "convolution.average_pool"))
def pooling(key, side: Int(8, 24) = 12, window: Int(1, 4) = 3, stride: Int(1, 4) = 2, reach: Int(1, 3) = 1):
    r"""Maximum and average pooling.

    The largest or the mean value of every r × r window, one window every s positions (s = r if nothing is said). There
    are no weights. The mean is linear: a convolution with $r^{-2}$ everywhere, of which every s-th output is kept. It
    is the stride that makes the map smaller.

    $$y_{ij} = \max_{0 \le k, l < r} x_{si + k, sj + l}, \quad
    \bar y_{ij} = \frac{1}{r^2} \sum_{0 \le k, l < r} x_{si + k, sj + l}$$

    Check: Noise images against loops over all windows, against XLA's convolution, and a 4 × 4 example by hand.
    """
    x = data.generator(key).normal(size=(2, side, side))
    starts = range(0, side - window + 1, stride)
    windows = [[x[:, i : i + window, j : j + window] for j in starts] for i in starts]
    largest, means = (
        np.moveaxis([[f(w, axis=(1, 2)) for w in row] for row in windows], 2, 0) for f in (np.max, np.mean)
    )
    pooled = convolution.max_pool(x, window, stride)
    yield exactly(pooled, largest, "maxima over windows, against a loop over all of them")
    averaged = convolution.average_pool(x, window, stride)
    yield close(averaged, means, "means over windows, against a loop over all of them", atol=1e-14)
    kernel = jnp.full((1, 1, window, window), window**-2.0)
    convolved = jax.lax.conv_general_dilated(jnp.asarray(x)[:, None], kernel, (stride, stride), "VALID")[:, 0]
    yield close(averaged, convolved, "means over windows, against a convolution with constant weights", atol=1e-14)
    even = side - side % 2
    halved = convolution.max_pool(x[:, :even, :even], 2)
    smaller = exactly(halved.shape[1:], even // 2, "side of a map after 2 × 2 pooling at stride 2: half")
    yield smaller
    at_stride_one = convolution.max_pool(x[:, :even, :even], 2, 1)
    unchanged = exactly(at_stride_one.shape[1:], even // 2, "side of a map after 2 × 2 pooling at stride 1: half")
    yield erratum(unchanged, of=smaller, by="eth", prints="pooling downsamples: max over k, l of I[i + k, j + l]")
    width = 2 * reach + 1
    image = jnp.ones((width + 2, width + 2))
    one = jax.grad(lambda image: convolution.average_pool(image, width, 1)[1, 1])(image)
    seen = int(jnp.count_nonzero(one))
    counted = exactly(seen, (2 * reach + 1) ** 2, f"pixels in the window of offsets −{reach} to {reach}: (2k + 1)²")
    yield counted
    narrow = exactly(seen, reach**2, f"pixels in the window of offsets −{reach} to {reach}: k²")
    yield erratum(narrow, of=counted, by="penn", prints="a window of k × k, below a maximum over offsets from −k to k")
    by_hand = {"max": convolution.max_pool(EXAMPLE, 2), "mean": convolution.average_pool(EXAMPLE, 2)}
    yield exactly(by_hand["max"], [[6, 5], [3, 8]], "the 4 × 4 example by hand: maxima")
    yield exactly(by_hand["mean"], [[3.5, 2.0], [1.5, 5.25]], "the 4 × 4 example by hand: means")
    everywhere = [convolution.max_pool(EXAMPLE, 4).item(), convolution.average_pool(EXAMPLE, 4).item()]
    yield exactly(everywhere, [8.0, 3.0625], "the 4 × 4 example by hand: maximum and mean of all")
    panels = [
        figure.heatmap(name, "column", "row", values=np.asarray(values), colour="value", text=True)
        for name, values in (
            ("4 × 4 values", EXAMPLE),
            ("maxima of 2 × 2, stride 2", by_hand["max"]),
            ("means of 2 × 2, stride 2", by_hand["mean"]),
            ("maxima of 2 × 2, stride 1", convolution.max_pool(EXAMPLE, 2, 1)),
        )
    ]
    yield figure.beside("It is the stride that halves the side, not the maximum", *panels)


@claim(sources=("eth",), shows=("convolution.max_pool_gradient", "convolution.tied_windows"))
def max_pooling_backward(
    key, side: Int(6, 20) = 9, window: Int(2, 4) = 3, stride: Int(1, 4) = 2, channels: Int(2, 8) = 4
):
    r"""Max pooling passes the gradient to the maximiser.

    The gradient by the output of a window goes to its largest entry and adds up where windows overlap. Where several
    entries are largest, a rule must choose: the first of them, or all in equal shares; either keeps the sum. Behind a
    ReLU such ties are common: every window of values that are all at most zero is one.

    $$\frac{\partial L}{\partial x_p} = \sum_{w :\, p \in \mathrm{argmax}\, w} \frac{\partial L}{\partial y_w}$$

    Check: Noise, where no two values are equal, against automatic and finite differences; small integers, where many
    are, against two derivatives that choose, JAX's window reduction and `max_pool`; ties of digits behind a random
    3 × 3 layer with ReLU are counted.
    """
    rng = data.generator(key)
    x, tied = rng.normal(size=(side, side)), rng.integers(0, 3, (side, side)).astype(float)
    y, back = jax.vjp(lambda x: convolution.max_pool(x, window, stride), jnp.asarray(x))
    upstream = rng.normal(size=y.shape)
    routed = convolution.max_pool_gradient(x, upstream, window, stride)
    yield close(routed, back(jnp.asarray(upstream))[0], "no ties: routed gradient, against automatic", atol=1e-13)
    step = 1e-3 * np.min(np.diff(np.sort(x, axis=None)))  # no order of values changes
    moved = jnp.asarray(x) + step * jnp.eye(side**2).reshape(-1, side, side)
    difference = ((convolution.max_pool(moved, window, stride) - y) * upstream).sum((1, 2)) / step
    # the change of a value is rounded to eps, and divided by the step
    room = 8 * np.finfo(float).eps * np.abs(x).max() * np.abs(upstream).sum() / step
    yield close(routed.ravel(), difference, "no ties: routed gradient, against finite differences", atol=room)
    first = convolution.max_pool_gradient(tied, upstream, window, stride)
    by_jax = jax.vjp(lambda x: _window_maxima(x, window, stride), jnp.asarray(tied))[1](jnp.asarray(upstream))[0]
    yield close(first, by_jax, "ties: all to the first maximiser, against JAX's window reduction", atol=1e-13)
    equal = convolution.max_pool_gradient(tied, upstream, window, stride, ties="equal")
    own = jax.vjp(lambda x: convolution.max_pool(x, window, stride), jnp.asarray(tied))[1](jnp.asarray(upstream))[0]
    yield close(equal, own, "ties: in equal shares, against automatic differentiation of max_pool", atol=1e-13)
    for name, found in (("to the first", first), ("in equal shares", equal)):
        what = f"ties {name}: sum of the gradient by the input, against that by the output"
        yield close(found.sum(), upstream.sum(), what, atol=1e-12)

    def total(x):
        return (np.abs(upstream) * np.asarray(convolution.max_pool(x, window, stride))).sum((-2, -1))

    noise = rng.normal(size=(50, side, side))
    for name in ("first", "equal"):
        g = np.asarray(convolution.max_pool_gradient(tied, np.abs(upstream), window, stride, ties=name))
        above = total(tied + noise) - total(tied) - (g * noise).sum((1, 2))
        what = f"ties {name}: a subgradient of Σ|u|y, least of f(x + v) − f(x) − g·v over 50 directions"
        yield at_least(above, 0.0, what, atol=1e-12)
    images = data.digits_split()[2][:40].reshape(-1, 1, 8, 8)
    kernel = rng.normal(size=(channels, 1, 3, 3)) / 3
    before = np.array(jax.lax.conv(jnp.asarray(images), jnp.asarray(kernel), (1, 1), "SAME"))
    before += 0.1 * rng.normal(size=(channels, 1, 1))
    after = np.maximum(before, 0.0)
    options = {"window": window, "stride": window}
    negative = np.asarray(convolution.max_pool(before, **options)) <= 0
    tied_before = convolution.tied_windows(before, **options)
    tied_after = convolution.tied_windows(after, **options)
    what = "digits behind a layer with ReLU: tied windows, against those all ≤ 0 or tied before"
    yield exactly(tied_after.sum(), (negative | tied_before).sum(), what)
    shares = tied_before.mean(), tied_after.mean()
    small = EXAMPLE.copy()
    small[2, 2:] = 7.0
    ups = np.array([[1.0, 2.0], [3.0, 4.0]])
    panels = [
        figure.heatmap(name, "column", "row", values=np.asarray(values), colour="value", text=True)
        for name, values in (
            ("values; below right three are largest", small),
            ("gradient by the maxima of 2 × 2", ups),
            ("gradient by the values, to the first", convolution.max_pool_gradient(small, ups, 2)),
            ("gradient by the values, in equal shares", convolution.max_pool_gradient(small, ups, 2, ties="equal")),
        )
    ]
    title = f"The gradient goes to the maximiser; of digits {shares[1]:.0%} of the windows are tied behind a ReLU"
    yield figure.beside(f"{title}, {shares[0]:.0%} before", *panels)


def _window_maxima(x, window, stride):
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (window, window), (stride, stride), "VALID")
