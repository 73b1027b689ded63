"""What a convolutional layer computes, and its derivatives by inputs and weights."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.signal import convolve, correlate

from leadline import convolution, data
from leadline.convolution import ConvLayer, ConvNetwork
from leadline.convolution.layers.layer_operations import correlate_windows
from leadline.differentiation import check_gradient
from leadline.evidence import Int, at_most, claim, close, erratum, exactly, model
from leadline.presentation import figure


@model(sources=("eth", "sheet", "penn"))
def conv_layer(key, side: Int(5, 16) = 9, channels: Int(1, 6) = 3, outputs: Int(1, 6) = 4, stride: Int(1, 3) = 1):
    r"""The convolutional layer.

    Every output channel has one kernel for each input channel and one scalar bias, shared by all positions. Libraries
    lay the kernel on unturned (cross-correlation); turned kernels give the true convolution.

    $$y_{c,i,j} = b_c + \sum_r \sum_{k,l} w_{c,r,k,l}\, x_{r,i+k,j+l}$$

    Check: The layer is compared with SciPy's correlation channel by channel, with products of patches and with the FFT;
    its gradient with differences; its parameters with $C_{out}(C_{in}K^2 + 1)$.
    """
    rng = data.generator(key)
    x = rng.normal(size=(channels, side, side))
    kernel = rng.normal(size=(outputs, channels, 3, 3))

    def library(x, kernel, **options):
        layer = ConvLayer(outputs, 3, stride=stride, padding="same", **options)
        return np.moveaxis(np.asarray(correlate_windows(jnp.moveaxis(x, 0, -1), jnp.asarray(kernel), layer)), -1, 0)

    def slid(method):
        full = [sum(correlate(p, k, "same", method=method) for p, k in zip(x, ks, strict=True)) for ks in kernel]
        return np.stack(full)[:, ::stride, ::stride]

    found = library(x, kernel)
    yield close(found, slid("direct"), "the layer, against sums over the window", atol=1e-10)
    yield close(found, slid("fft"), "the layer, against products of Fourier transforms", atol=1e-10)
    patches = convolution.layer_correlation(x, kernel, stride=stride, padding=1, algorithm="im2col")
    yield close(found, patches, "the layer, against one product of patches", atol=1e-10)
    turned = [sum(convolve(p, k, "same") for p, k in zip(x, ks, strict=True)) for ks in kernel]
    turned = np.stack(turned)[:, ::stride, ::stride]
    yield close(library(x, kernel, flip=True), turned, "kernels turned: true convolution, by SciPy", atol=1e-10)
    net = ConvNetwork([ConvLayer(outputs, 3, padding="same")], x.shape, dtype=float, key=key)
    stored = sum(leaf.size for leaf in jax.tree.leaves(net))
    yield exactly(stored, outputs * (9 * channels + 1), "stored numbers of the layer")
    sizes = [convolution.stack_costs([ConvLayer(1, 3, padding=p)], x.shape).rows[0].shape[1] for p in ("same", 0)]
    yield exactly(sizes, [side, side - 2], "side with padding same and with none")
    report = check_gradient(lambda k: jnp.sum(jnp.sin(_outputs(x, k, stride))), kernel, tolerance=1e-7, key=key)
    what = "derivative of Σ sin y by the kernel: largest error against differences, relative"
    yield at_most(report.error, report.tolerance, what)
    pictures = [(f"in {r + 1}", p) for r, p in enumerate(x)] + [(f"out {c + 1}", p) for c, p in enumerate(found)]
    title = f"{channels} channels become {outputs} by {outputs * channels} kernels of 3 x 3"
    yield figure.images(title, images=pictures, columns=max(channels, outputs), diverging=True)


def _outputs(x, kernel, stride, padding="same"):
    layer = ConvLayer(kernel.shape[0], kernel.shape[-1], stride=stride, padding=padding)
    return jnp.moveaxis(correlate_windows(jnp.moveaxis(jnp.asarray(x), 0, -1), kernel, layer), -1, 0)


@claim(sources=("penn",))
def one_by_one_convolution(key, channels: Int(4, 64) = 32, narrow: Int(1, 32) = 8, kernel: Int(1, 7) = 3):
    r"""A convolution of one tap is a matrix at every pixel.

    It applies the same linear map to the channels at each position. Around a wide layer, as a bottleneck C → r → C, it
    takes the multiplications a pixel from $k^2 C^2$ to $2 r C + k^2 r^2$.

    $$k^2 C^2 \to 2 r C + k^2 r^2$$

    Check: The layer is compared with a product along the channels, and the multiplications with the calculator's.
    """
    rng = data.generator(key)
    x, w = rng.normal(size=(channels, 6, 5)), rng.normal(size=(narrow, channels))
    found = _outputs(x, jnp.asarray(w)[:, :, None, None], 1)
    yield close(found, np.tensordot(w, x, 1), "1 x 1 convolution, against a product of the channels", atol=1e-12)
    side = 8

    def adds(layers):
        return convolution.stack_costs(layers, (channels, side, side)).multiply_adds / side**2

    odd = kernel if kernel % 2 else kernel + 1
    wide = [ConvLayer(channels, odd, padding="same")]
    yield exactly(adds(wide), odd**2 * channels**2, "multiplications a pixel of the wide layer")
    rows = np.unique(np.linspace(1, channels, 12).astype(int))
    counted = [adds([ConvLayer(r, 1), ConvLayer(r, odd, padding="same"), ConvLayer(channels, 1)]) for r in rows]
    predicted = [2 * r * channels + odd**2 * r**2 for r in rows]
    yield exactly(counted, predicted, "multiplications a pixel of the bottleneck, at every r")
    points = {"bottleneck": (rows, counted)}
    lines = {"2rC + k²r²": (rows, predicted), "direct, k²C²": (rows[[0, -1]], [odd**2 * channels**2] * 2)}
    half = rows[len(rows) // 2]
    share = (2 * half * channels + odd**2 * half**2) / (odd**2 * channels**2)
    title = f"A bottleneck of {half} channels takes {share:.0%} of the multiplications of {odd} x {odd} on {channels}"
    yield figure.curves(title, "channels r inside", "multiplications a pixel", log="y", lines=lines, points=points)


@claim(sources=("eth", "penn"))
def conv_backward(key, side: Int(5, 9) = 7, channels: Int(1, 3) = 2, stride: Int(1, 3) = 1, padding: Int(0, 2) = 1):
    r"""Backward pass of a convolutional layer.

    For y = x * w, true convolution, the derivative by x correlates dy with w, and that by w correlates dy with x; a
    layer that correlates has the full convolution of dy with w for dx. The bias has the sum of dy.

    $$dw_{m,n} = \sum_{i,j} \delta_{ij}\, x_{i-m,j-n}, \qquad dx_{i,j} = \sum_{m,n} \delta_{mn}\, w_{m-i,n-j}$$

    Check: JAX's derivative of a layer with `stride` and `padding` is compared with the transposed sparse matrix of the
    layer, with sums over positions and with differences; at stride 1, true convolution in all positions with both
    correlations.
    """
    rng = data.generator(key)
    x = rng.normal(size=(channels, side, side))
    layer = ConvLayer(2, 3, stride=stride, padding=padding)
    net = ConvNetwork([layer], x.shape, "identity", dtype=float, key=key)
    y, back = jax.vjp(lambda x, net: net(x), jnp.asarray(x), net)
    dy = rng.normal(size=y.shape)
    dx, by_layer = back(jnp.asarray(dy))
    w, dw, db = net.built[0].weight, by_layer.built[0].weight, by_layer.built[0].bias
    matrix = convolution.layer_matrix(np.asarray(w), x.shape, stride=stride, padding=padding)
    yield close(np.ravel(dx), matrix.T @ dy.ravel(), "dx, against the transposed matrix of the layer", atol=1e-10)
    yield close(db, dy.sum((1, 2)), "db, against the sum of dy over positions", atol=1e-10)
    report = check_gradient(lambda net: jnp.sum(dy * net(jnp.asarray(x))), net, by_layer, tolerance=1e-8, key=key)
    what = "dw and db: largest error against differences, relative"
    yield at_most(report.error, report.tolerance, what)
    wide, rows, columns = np.pad(x, ((0, 0), *[(padding, padding)] * 2)), *dy.shape[1:]
    by_hand = np.zeros(w.shape)
    for m, n in np.ndindex(3, 3):
        seen = wide[:, m : m + (rows - 1) * stride + 1 : stride, n : n + (columns - 1) * stride + 1 : stride]
        by_hand[:, :, m, n] = np.einsum("oij,cij->oc", dy, seen)
    yield close(dw, by_hand, "dw, against the sum of dy x over positions", atol=1e-10)
    one, kernel = x[0], np.asarray(w[0, 0])
    full = correlate(one, kernel[::-1, ::-1], "full")
    delta = rng.normal(size=full.shape)

    def true_convolution(x, k):
        return jax.scipy.signal.convolve2d(x, k, mode="full")

    _, pull = jax.vjp(true_convolution, jnp.asarray(one), jnp.asarray(kernel))
    by_input, by_kernel = map(np.asarray, pull(jnp.asarray(delta)))
    right = close(
        by_kernel, correlate(delta, one, "valid"), "true convolution: dw, against delta correlated with x", atol=1e-10
    )
    yield right
    yield close(
        by_input, correlate(delta, kernel, "valid"), "true convolution: dx, against delta correlated with w", atol=1e-10
    )
    printed = correlate(delta, one[::-1, ::-1], "valid")
    wrong = close(by_kernel, printed, "true convolution: dw, against delta convolved with x", atol=1e-10)
    yield erratum(wrong, of=right, by="eth", prints="the sum of δ_ij x_{i−m,j−n} is the convolution Δ * X")
    maps = {"dw": by_kernel, "δ ⋆ x, correlation": correlate(delta, one, "valid"), "δ ∗ x, as printed": printed}
    shown = [(name, np.kron(each, np.ones((8, 8)))) for name, each in maps.items()]
    yield figure.images("The gradient of the kernel is a correlation", images=shown, columns=3, diverging=True)


@claim(sources=("sheet",))
def weight_sharing_gradient(key, side: Int(4, 12) = 8, channels: Int(1, 4) = 2):
    r"""The gradient of a shared weight is a sum over its uses.

    A weight that is used at many positions has the sum of the derivatives that untied copies of it would have.

    $$\frac{\partial L}{\partial w} = \sum_p \frac{\partial L}{\partial w_p}\Big|_{w_p = w}$$

    Check: A locally connected layer, whose copies all have the value of the kernel, against the convolution.
    """
    rng = data.generator(key)
    x, w = jnp.asarray(rng.normal(size=(channels, side, side))), jnp.asarray(rng.normal(size=(1, channels, 3, 3)))
    n = side - 2
    places = [(i, j) for i in range(n) for j in range(n)]
    windows = jnp.stack([x[:, i : i + 3, j : j + 3] for i, j in places])

    def untied(copies):
        return jnp.sum(jnp.sin(jnp.einsum("pckl,pckl->p", copies, windows)))

    copies = jax.grad(untied)(jnp.broadcast_to(w[0], windows.shape))
    shared = jax.grad(lambda w: jnp.sum(jnp.sin(_outputs(x, w, 1, 0))))(w)[0]
    yield close(shared, copies.sum(0), "derivative of the kernel, against the sum over its copies", atol=1e-12)
    by_tap = np.asarray(copies)[:, 0].reshape(n, n, 3, 3)
    pictures = [(f"tap {k}, {m}", by_tap[:, :, k, m]) for k in range(3) for m in range(3)]
    title = f"{n * n} positions each add their share to the 9 taps of channel 1"
    yield figure.images(title, images=pictures, columns=3, diverging=True)


@claim(sources=("sheet",))
def sparse_jacobian(key, side: Int(4, 9) = 6, channels: Int(1, 3) = 2, stride: Int(1, 2) = 1, padding: Int(0, 1) = 1):
    r"""A convolution has a sparse Jacobian.

    The derivative of an output by an input outside its window is 0: the pattern of the Jacobian is that of a Toeplitz
    matrix, with at most $n_{out} k^2 C_{in}$ entries.

    $$\frac{\partial x^l_i}{\partial x^{l-1}_j} = 0 \quad (j \notin I_i)$$

    Check: JAX's Jacobian against the windows, taken one by one.
    """
    rng = data.generator(key)
    x, w = rng.normal(size=(channels, side, side)), jnp.asarray(rng.normal(size=(2, channels, 3, 3)))
    jacobian = np.asarray(jax.jacobian(lambda x: _outputs(x, w, stride, padding))(jnp.asarray(x)))
    outputs = jacobian.shape[:3]
    mask = np.zeros(jacobian.shape, bool)
    for o, i, j in np.ndindex(outputs):
        top, left = i * stride - padding, j * stride - padding
        mask[o, i, j, :, max(top, 0) : top + 3, max(left, 0) : left + 3] = True
    yield exactly(jacobian != 0, mask, "where the Jacobian is not 0, against the windows")
    bound = int(np.prod(outputs)) * 9 * channels
    yield at_most(int((jacobian != 0).sum()), bound, "entries of the Jacobian that are not 0, against n_out k² C_in")
    flat = (jacobian != 0).reshape(int(np.prod(outputs)), -1)[: outputs[1] * outputs[2], : side * side]
    title = f"{(jacobian != 0).sum()} of {jacobian.size} entries of the Jacobian are not 0"
    yield figure.heatmap(
        title, "input pixel of channel 1", "output pixel of channel 1", values=flat.astype(float), colour="not 0"
    )
