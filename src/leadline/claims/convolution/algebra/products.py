"""Discrete convolution and cross-correlation: what each of the two sums computes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from leadline import convolution, data, training
from leadline.evidence import Int, Real, at_least, at_most, claim, erratum, exactly, method
from leadline.presentation import figure

F, H = np.array([2, -1, 1]), np.array([1, 1, 2])


def total(positions, term):
    """Σ over (u, t) of term(u, t) where both indices are inside, for u in `positions`."""
    return np.array([sum(term(u)) for u in positions])


def printed_sum(f, h):
    """Σ_t f[t] h[u + t] at all u with a term."""
    lags = range(1 - len(f), len(h))
    return total(lags, lambda u: (f[t] * h[u + t] for t in range(len(f)) if 0 <= u + t < len(h)))


@method(sources=("eth", "sheet", "penn"))
def convolution_discrete(key, taps: Int(2, 8) = 3, longer: Int(1, 12) = 5, largest: Int(1, 1000) = 9):
    r"""Discrete convolution.

    The sum runs over the support of the kernel with the kernel's own index, or over all of the signal. It multiplies
    polynomials. The modes keep all positions, as many as the signal has, those at which the kernel lies inside, or
    have indices modulo n.

    $$(f * h)[u] = \sum_t f[t]\, h[u - t] = \sum_{t \in \mathrm{supp}\, h} h[t]\, f[u - t]$$

    Check: Random integers up to `largest`, a kernel of `taps` taps and a signal that is `longer`; every mode against
    the sum as it is written, and the product of integer polynomials.
    """
    yield exactly(convolution.convolve(F, H), [2, 1, 4, -1, 2], "(2, −1, 1) ∗ (1, 1, 2)")
    rng = data.generator(key)
    n, m = taps + longer, taps
    f, h = rng.integers(-largest, largest + 1, n), rng.integers(-largest, largest + 1, m)

    def terms(u):
        return (f[t] * h[u - t] for t in range(n) if 0 <= u - t < m)

    full = total(range(n + m - 1), terms)
    at = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}
    for mode, count in {"full": n + m - 1, "same": n, "valid": n - m + 1}.items():
        found = convolution.convolve(f, h, mode)
        yield exactly(found, full[at[mode] : at[mode] + count], f"{mode}: Σ f[t] h[u − t], as written")
    around = total(range(n), lambda u: (f[t] * h[(u - t) % n] for t in range(n) if (u - t) % n < m))
    yield exactly(convolution.convolve(f, h, "circular"), around, "circular: Σ f[t] h[(u − t) mod n]")
    jax_too = convolution.convolve(jnp.asarray(f), jnp.asarray(h))
    product = np.polynomial.Polynomial(f) * np.polynomial.Polynomial(h)
    coefficients = np.zeros(n + m - 1)
    coefficients[: len(product.coef)] = product.coef
    yield exactly(jax_too, coefficients.astype(int), "in JAX: coefficients of the product of two polynomials")
    f, h = rng.integers(1, largest + 1, n), rng.integers(1, largest + 1, m)
    own = total(range(n + m - 1), lambda u: (h[t] * f[u - t] for t in range(m) if 0 <= u - t < n))
    right = exactly(convolution.convolve(f, h), own, "Σ h[t] f[u − t] over the support of h")
    yield right
    cut = total(range(n + m - 1), lambda u: (f[t] * h[u - t] for t in range(m) if 0 <= u - t < m))
    wrong = exactly(convolution.convolve(f, h), cut, "Σ f[t] h[u − t] over the support of h")
    yield erratum(wrong, of=right, by="eth", prints="Σ f[t] h[u − t] cut to t in the support of the kernel h")
    products = [[F[t] * H[u - t] if 0 <= u - t < 3 else 0 for t in range(3)] for u in range(5)]
    table = np.c_[products, convolution.convolve(F, H)]
    names = {"xs": ("t = 0", "t = 1", "t = 2", "sum"), "text": True, "diverging": True}
    title = "The kernel slides: each output is the sum of its row, (2, −1, 1) ∗ (1, 1, 2) = (2, 1, 4, −1, 2)"
    yield figure.heatmap(title, "f[t] h[u − t]", "output u", values=table, **names)


@method(sources=("eth", "sheet", "penn"))
def cross_correlation(key, side: Int(24, 64) = 32, template: Int(5, 9) = 5, noise: Real(0.0, 0.2) = 0.1):
    r"""Cross-correlation.

    The kernel slides without being flipped: this is what the layers of deep-learning libraries compute. The other
    convention, with u + t in the kernel, is the same numbers backwards. A template is found where the correlation
    peaks, once it is normalised: otherwise whatever is bright wins.

    $$(f \star h)[u] = \sum_t f[u + t]\, h[t]$$

    Check: XLA's convolution of the padded signal; a random `template` hidden with `noise` in an image that has a bright
    square.
    """
    yield exactly(convolution.correlate(F, H), [4, 0, 3, 0, 1], "(2, −1, 1) ⋆ (1, 1, 2), all lags")
    library = lax.conv_general_dilated(jnp.asarray(F)[None, None], jnp.asarray(H)[None, None], (1,), [(2, 2)])[0, 0]
    slides = exactly(convolution.correlate(F, H), library, "(2, −1, 1) ⋆ (1, 1, 2), against XLA's convolution")
    yield slides
    other = printed_sum(F, H)
    yield exactly(other, [1, 0, 3, 0, 4], "Σ f[t] h[u + t] of the same")
    yield exactly(convolution.correlate(H, F), other, "Σ f[t] h[u + t]: the correlation with f and h exchanged")
    flipped = convolution.convolve(F, convolution.flip(H))
    wrong = exactly(other, flipped, "Σ f[t] h[u + t], against f ∗ h̄")
    yield erratum(wrong, of=slides, by="eth", prints="f ⋆ h = Σ f[t] h[u + t], and f ⋆ h = f ∗ h̄ in its remark")
    wrong = exactly(other, library, "Σ x_τ w_{k+τ}, against XLA's convolution")
    yield erratum(wrong, of=slides, by="penn", prints="Σ x_τ w_{k+τ} for the libraries' operation")
    rng = data.generator(key)
    count = template**2
    mark = rng.permutation(np.where(np.arange(count) < 0.7 * count, 1.0, -1.0)).reshape(template, template)
    image = noise * rng.normal(size=(side, side))
    low = side // 2
    image[:low, :low] += 6.0  # the clutter
    i, j = rng.integers(low, side - template + 1, 2)
    image[i : i + template, j : j + template] += mark
    scores = convolution.matching_scores(image, mark)
    plain = convolution.correlate(image, mark, "valid")
    found, lured = (np.unravel_index(np.argmax(a), a.shape) for a in (scores, plain))
    yield exactly(found, (i, j), "peak of the normalised correlation: row and column of the template")
    yield at_most(max(lured), low - 1, "peak of the plain correlation: in the bright square")
    yield at_least(scores.max(), 1 / np.sqrt(1 + (4 * noise) ** 2), "normalised correlation at its peak", atol=1e-9)
    grid = np.zeros_like(image)
    grid[: scores.shape[0], : scores.shape[1]] = scores
    panels = [("image", (image - image.min()) / np.ptp(image)), ("normalised correlation", np.maximum(grid, 0))]
    title = f"The template lies at ({i}, {j}), where the normalised correlation is {scores.max():.2f}"
    yield figure.images(title, images=panels, columns=2)


@claim(sources=("eth", "sheet", "penn"))
def correlation_flip_identity(key, taps: Int(1, 6) = 3, length: Int(6, 20) = 10, num_steps: Int(1, 200) = 100):
    r"""Correlation is convolution with the flipped kernel.

    The two operations coincide for symmetric kernels. A network trained with the one equals a network trained with the
    other whose kernels are flipped: nothing is lost by leaving out the flip.

    $$f \star h = f * \bar h, \qquad \bar h[t] = h[-t]$$

    Check: Integers in one and two dimensions, windows summed one by one; `num_steps` of descent with both operations,
    from flipped starts.
    """
    rng = data.generator(key)
    for axes, name in ((1, "one dimension"), (2, "two dimensions")):
        f, h = (rng.integers(-9, 10, (size,) * axes) for size in (length, taps))
        windows = convolution.layer_correlation(f[None], h[None, None], algorithm="taps")[0]
        flipped = convolution.convolve(f, convolution.flip(h), "valid")
        yield exactly(windows, flipped, f"{name}: windows times the kernel, against f ∗ h̄")
        even = h + convolution.flip(h)
        symmetric = convolution.layer_correlation(f[None], even[None, None], algorithm="taps")[0]
        yield exactly(symmetric, convolution.convolve(f, even, "valid"), f"{name}: symmetric kernel, both the same")
    f, h = rng.integers(-9, 10, length), rng.integers(-9, 10, taps)
    backwards = convolution.convolve(f, convolution.flip(h))[::-1]
    yield exactly(printed_sum(f, h), backwards, "Σ f[t] h[u + t]: f ∗ h̄ read backwards")
    x, y = jnp.asarray(rng.normal(size=(20, length))), jnp.asarray(rng.normal(size=20))
    start = jnp.asarray(rng.normal(size=taps) / np.sqrt(taps))
    ends = []
    for operation, kernel in ((_windows, start), (convolution.convolve, start[::-1])):

        def loss(kernel, x, y, operation=operation):
            return jnp.mean((jax.vmap(lambda x: jnp.tanh(operation(x, kernel, "valid")).sum())(x) - y) ** 2)

        ends.append(training.minimise(loss, kernel, optax.sgd(1e-2 / length), num_steps, x, y)[0])
    apart = np.abs(np.asarray(ends[0]) - np.asarray(ends[1])[::-1]).max()
    yield at_most(apart, 1e-10, f"kernels after {num_steps} steps, one of them flipped: largest difference")
    image = data.digits_split().train_images[0].reshape(8, 8)
    kernel = np.array([[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]) / 4.0
    maps = (convolution.correlate(image, kernel, "same"), convolution.convolve(image, kernel[::-1, ::-1], "same"))
    padded = [np.pad(k, ((2, 3), (2, 3))) for k in (kernel, kernel[::-1, ::-1])]
    labels = ("kernel", "flipped kernel", "image", "image ⋆ kernel", "image ∗ flipped")
    title = "Correlation with a kernel is convolution with its mirror image: the feature maps are the same"
    pictures = list(zip(labels, (*padded, image, *maps), strict=True))
    yield figure.images(title, images=pictures, columns=5, diverging=True)


def _windows(x, kernel, mode):
    """The layer's correlation, tap by tap, of one channel; it keeps the positions of "valid"."""
    return convolution.layer_correlation(x[None], kernel[None, None], algorithm="taps")[0]
