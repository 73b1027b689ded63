"""Convolutions as matrices, and their singular values."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline._arrays import spectral_norm
from leadline.evidence import Int, at_least, at_most, claim, close, exactly
from leadline.presentation import figure


@claim(sources=("eth", "sheet", "penn"))
def toeplitz_matrix(key, length: Int(2, 30) = 12, taps: Int(1, 8) = 4, side: Int(5, 12) = 8):
    r"""Convolution as a Toeplitz matrix.

    The full convolution of n samples with m taps is a banded matrix with constant diagonals, (n + m − 1) × n, of which
    m numbers are distinct. Its transpose is the backward pass. Circular convolution gives a circulant matrix, diagonal
    in the DFT; two dimensions give Toeplitz blocks in Toeplitz order, or circulant blocks in circulant order.

    $$H_{ij} = h_{i - j + 1}, \qquad (f * h) = H f, \qquad \partial (y^\top H f) / \partial f = H^\top y$$

    Check: Integers; the matrix times the signal against the sum over taps, images of `side` × `side` with kernels of 1
    to 5 taps a side, and reverse-mode differentiation.
    """
    example = convolution.convolution_matrix(np.array([1, 1, 2]), 3).toarray()
    printed = [[1, 0, 0], [1, 1, 0], [2, 1, 1], [0, 2, 1], [0, 0, 2]]
    yield exactly(example, printed, "the 5 × 3 matrix of (1, 1, 2)")
    rng = data.generator(key)
    f, h = rng.integers(-9, 10, length), rng.integers(1, 10**6, taps)
    matrix = convolution.convolution_matrix(h, length)
    yield exactly(matrix @ f, convolution.convolve(f, h), "H f against the convolution")
    yield exactly(len(np.unique(matrix.data)), len(np.unique(h)), "distinct numbers in H")
    yield exactly(matrix.nnz, length * taps, "entries of H that are not 0")
    y = rng.integers(-9, 10, length + taps - 1)
    floats = (jnp.asarray(a, float) for a in (f, h))
    signal, kernel = floats
    _, back = jax.vjp(lambda f: convolution.convolve(f, kernel), signal)
    yield exactly(back(jnp.asarray(y, float))[0], matrix.T @ y, "backward pass, against Hᵀ y")
    images = rng.integers(-9, 10, (side, side))
    for mode in ("full", "same", "valid", "circular"):
        pairs = [(k, rng.integers(-9, 10, (k, k))) for k in range(1, 6)]
        found = [convolution.convolution_matrix(w, images.shape, mode) @ images.ravel() for _, w in pairs]
        direct = [convolution.convolve(images, w, mode).ravel() for _, w in pairs]
        yield exactly(np.concatenate(found), np.concatenate(direct), f"two dimensions, {mode}: H x, 1 to 5 taps a side")
    small = np.pad(h, (0, max(length - taps, 0)))[:length] % 10
    around = convolution.convolution_matrix(small, length, "circular").toarray()
    waves = np.fft.fft(np.eye(length)) / np.sqrt(length)
    diagonal = waves @ around @ waves.conj().T
    gap = np.abs(diagonal - np.diag(np.fft.fft(small))).max() / max(np.abs(small).sum(), 1)
    yield at_most(gap, 1e-12, "circulant matrix in the basis of the DFT: distance from the diagonal of ĥ, relative")
    w = np.arange(1, 10).reshape(3, 3)
    panels = [
        figure.heatmap("1-D: Toeplitz", "input", "output", values=convolution.convolution_matrix(w[0], 8).toarray()),
        figure.heatmap("2-D: block Toeplitz", "pixel in", "pixel out", values=_small(w, "full")),
        figure.heatmap("2-D, wrapped: block circulant", "pixel in", "pixel out", values=_small(w, "circular")),
    ]
    yield figure.beside("A convolution is a matrix of few numbers on constant diagonals", *panels, columns=3)


def _small(w, mode):
    return convolution.convolution_matrix(w, (5, 5), mode).toarray()


@claim(sources=("penn",))
def conv_spectral_norm(
    key,
    side: Int(4, 12) = 8,
    taps: Int(1, 4) = 3,
    inputs: Int(1, 4) = 2,
    outputs: Int(1, 4) = 3,
    padding: Int(0, 3) = 1,
):
    r"""The spectral norm of a convolutional layer.

    The singular values of a layer that wraps around are those of the small matrices $\hat k(\omega)$, one for each
    frequency of the image; with one channel they are the moduli of the kernel's DFT. The largest is the layer's exact
    ℓ₂ Lipschitz constant. Zero-padded, the norm is at most the supremum over all frequencies.

    $$\sigma(K) = \bigcup_\omega \sigma(\hat k(\omega)), \quad \|K_{\mathrm{circular}}\| = \max_\omega
    \|\hat k(\omega)\|, \quad \|K_{\mathrm{padded}}\| \le \sup_\omega \|\hat k(\omega)\|$$

    Assumes: stride 1 (a stride adds up the frequencies that it merges).

    Check: The layer's whole matrix, written down tap by tap, and its singular values. The 5.7096 that was measured
    elsewhere belongs to a random kernel whose seed is not known.
    """
    rng = data.generator(key)
    taps = min(taps, side)
    kernel = rng.normal(size=(1, 1, taps, taps))
    dense = convolution.convolution_matrix(kernel[0, 0], (side, side), "circular").toarray()
    values = np.sort(np.linalg.svd(dense, compute_uv=False))
    moduli = np.sort(np.abs(np.fft.fft2(kernel[0, 0], (side, side))).ravel())
    yield close(
        moduli, values, "one channel: |DFT| of the kernel, against all singular values", atol=1e-12 * values[-1]
    )
    kernel = rng.normal(size=(outputs, inputs, taps, taps))
    layer = _circular_matrix(kernel, side)
    values = np.linalg.svd(layer, compute_uv=False)
    found = convolution.layer_singular_values(kernel, (side, side))
    every = np.sort(found.ravel())[::-1][: len(values)]
    yield close(every, values, f"{inputs} to {outputs} channels: all singular values", atol=1e-12 * values[0])
    norm = float(found.max())
    yield close(norm, spectral_norm(layer), "the largest, against ‖K‖ of the matrix", rtol=1e-12)
    strided = np.kron(np.ones(outputs, bool), (np.indices((side, side)) % 2 == 0).all(0).ravel()).astype(bool)
    even = side % 2 == 0
    two = convolution.layer_singular_values(kernel, (side - side % 2,) * 2, stride=2).max()
    whole = spectral_norm(layer[strided])
    yield close(two, whole, "stride 2: the largest, against the matrix", rtol=1e-12).given(
        even, "the stride divides the side"
    )
    bound = convolution.layer_norm_bound(kernel)
    padded = convolution.layer_matrix(kernel, (inputs, side, side), padding=min(padding, side)).toarray()
    yield at_most(spectral_norm(padded), bound.upper, "zero-padded: ‖K‖, against the supremum of the symbol")
    yield at_most(norm, bound.upper, "wrapped: ‖K‖, against the supremum of the symbol")
    long = convolution.layer_norm_bound(kernel[:, :, 0])
    line = convolution.layer_matrix(kernel[:, :, 0], (inputs, 200), padding=taps // 2).toarray()
    yield at_least(spectral_norm(line), 0.98 * long.lower, "one dimension, 200 samples: the bound is nearly reached")
    grid = np.linspace(-0.5, 0.5, 41)
    spots = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
    heights = np.linalg.norm(_symbol(kernel, spots), ord=2, axis=(1, 2)).reshape(41, 41)
    top = (bound.frequency + 0.5) % 1 - 0.5
    name = f"‖k̂‖ is largest, {bound.lower:.3f}, at ({top[0]:.2f}, {top[1]:.2f}): no padded layer exceeds it"
    corner = figure.plane(
        name,
        "frequency down, cycles a pixel",
        "frequency across",
        points={"the maximum": top[None], "its mirror image": -top[None]},
        regions=(grid, grid, heights.T),
        domain=((-0.5, 0.5), (-0.5, 0.5)),
    )
    yield corner


def _symbol(kernel, spots):
    from leadline.convolution.algebra.layer_spectra import symbol

    return symbol(kernel, spots)


def _circular_matrix(kernel, side):
    """The layer's matrix with windows that wrap: one block of circulants for each pair of channels."""
    blocks = [[convolution.convolution_matrix(w, (side, side), "circular").toarray() for w in row] for row in kernel]
    return np.block(blocks)
