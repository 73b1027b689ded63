"""Wavelets that cover the frequencies of an image, and the transform they make."""

import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.evidence import Int, Real, at_least, at_most, close, method, model, reference
from leadline.presentation import figure

_FINE = 8.0  # samples a unit of length, where the plane is meant


@model(sources=("cam",), shows=("convolution.morlet_bank_2d", "convolution.littlewood_paley"))
def gabor_wavelets(
    key,
    frequency: Real(1.0, 5.0) = 3 * np.pi / 4,
    angle: Real(0.0, 3.1) = 0.0,
    scales: Int(4, 5) = 4,
    angles: Int(2, 5) = 4,
):
    r"""Gabor and Morlet wavelets.

    A Gabor wavelet is a plane wave under a Gaussian; its dilations and rotations cover the frequencies. Its mean is
    not zero, so a multiple of the envelope is subtracted: a Morlet wavelet. The Littlewood-Paley sum says how much of
    each frequency all filters together keep.

    $$\psi(u) = \theta(u) e^{i \eta \cdot u}, \quad \psi_{2^j r}(u) = 2^{2j} \psi(2^j r^{-1} u), \quad A \le
    |\hat\phi(\omega)|^2 + \tfrac12 \sum_\lambda (|\hat\psi_\lambda(\omega)|^2 + |\hat\psi_\lambda(-\omega)|^2) \le
    1$$

    Assumes: the envelope is $e^{-|u|^2}$ where the mean is given; larger j is a higher frequency here (`rising`; most
    texts count the other way).

    Check: Means are sums over a grid of 8 samples a unit of length; dilations and quarter turns of the bank's filters
    are compared frequency by frequency; the sum is measured as the energy of the transform of an impulse.
    """
    grid, sampled = (64, 64), (_FINE / np.sqrt(2), frequency / _FINE, angle)
    area = np.pi  # of the envelope
    gabor = area * convolution.gabor_2d(grid, *sampled).sum()
    morlet = area * convolution.morlet_2d(grid, *sampled, slant=1.0).sum()
    yield close(
        gabor.real, np.pi * np.exp(-(frequency**2) / 4), "mean of a Gabor wavelet, against π exp(−|η|²/4)", atol=1e-12
    )
    known = area * convolution.gabor_2d(grid, _FINE / np.sqrt(2), 0.75 * np.pi / _FINE).sum().real
    yield reference(known, 0.78, "mean of the Gabor wavelet at |η| = 3π/4", digits=2)
    yield at_most(abs(morlet), 1e-12, "mean of the Morlet wavelet")
    side, turns = 4 * 2**scales, 2 * angles  # the widest wavelet fits
    bank = convolution.morlet_bank_2d((side, side), scales, turns, rising=True).normalised()
    psi = bank.wavelets.reshape(scales, turns, side, side)
    k = np.arange(-(side // 4), side // 4)
    slow, fast = (psi[j][:, (s * k)[:, None], s * k] for j, s in ((0, 1), (1, 2)))
    yield at_most(np.abs(fast - slow).max(), 1e-9, "next scale at 2ω, against this one at ω: largest difference")
    i = np.arange(side)
    back = psi[0, :angles][:, -i, i[:, None]]  # angles are numbered backwards: half of them on is a quarter turn back
    turned = psi[0, angles:]
    yield at_most(np.abs(turned - back).max(), 1e-12, "filter turned by 90°, against the filter at that angle")
    impulse = jnp.zeros((side, side)).at[0, 0].set(1.0)
    W = convolution.wavelet_transform(impulse, bank)
    kept = np.abs(np.fft.fft2(W.bands)) ** 2
    flipped = np.roll(kept[:, ::-1, ::-1], 1, axis=(1, 2))
    sums = np.abs(np.fft.fft2(W.lowpass)) ** 2 + (kept + flipped).sum(0) / 2
    yield close(sums.max(), 1.0, "largest Littlewood-Paley sum of the normalised bank, from an impulse", rtol=1e-9)
    yield at_least(sums.min(), 0.0, "smallest Littlewood-Paley sum: the bank misses no frequency", strict=True)
    centre = np.fft.fftshift(sums)[::2, ::2]
    radians = np.round(2 * np.pi * np.fft.fftshift(np.fft.fftfreq(side))[::2], 1)
    title = f"{scales} scales and {turns} angles keep between {sums.min():.2g} and 1 of every frequency"
    options = {"xs": radians.tolist(), "ys": radians.tolist(), "colour": "Littlewood-Paley sum"}
    yield figure.heatmap(title, "ω right (rad/pixel)", "ω down (rad/pixel)", values=centre, **options)
    spaces = np.fft.fftshift(np.fft.ifft2(psi[:, 0]).real, axes=(1, 2))
    half = side // 2
    shown = [
        (f"j = {j}", w[half - 16 : half + 16, half - 16 : half + 16] / np.abs(w).max()) for j, w in enumerate(spaces)
    ]
    title = f"Morlet wavelets of {scales} scales, an octave apart; real parts, each on its own scale"
    yield figure.images(title, images=shown, columns=scales, diverging=True)


@method(sources=("cam",), shows=("convolution.wavelet_transform",))
def wavelet_transform(key, side: Int(16, 48) = 32, scales: Int(1, 3) = 3, angles: Int(2, 8) = 8, images: Int(1, 6) = 3):
    r"""The wavelet transform.

    The image under every wavelet and the low-pass window. It commutes with shifts, and its energy lies between A and B
    times that of the image, where A and B are the extremes of the Littlewood-Paley sum; plane waves reach both.

    $$W[\lambda] X = X * \psi_\lambda, \qquad A \Vert X \Vert^2 \le \Vert X * \phi \Vert^2 + \sum_\lambda \Vert X *
    \psi_\lambda \Vert^2 \le B \Vert X \Vert^2$$

    Assumes: X is real; borders are periodic, or mirrored on a larger grid.

    Check: Noise images are transformed, shifted, and weighed by Parseval's identity; then plane waves of the two
    extreme frequencies, and a ramp with periodic and with mirrored borders.
    """
    rng = data.generator(key)
    bank = convolution.morlet_bank_2d((side, side), scales, angles)
    noise = rng.normal(size=(images, side, side))
    move = tuple(int(m) for m in rng.integers(side, size=2))
    position = np.mgrid[:side, :side]
    sums = convolution.littlewood_paley(bank)
    extremes = [np.unravel_index(k, sums.shape) for k in (sums.argmin(), sums.argmax())]
    waves = np.stack([np.cos(2 * np.pi * (a * position[0] + b * position[1]) / side) for a, b in extremes])
    ramp = np.broadcast_to(np.linspace(0.0, 1.0, side), (side, side))
    digit = np.kron(data.digits().images[int(rng.integers(1000))].reshape(8, 8), np.ones((side // 8,) * 2))
    digit = np.pad(digit, (0, side - len(digit)))
    shown = np.concatenate([noise, np.roll(noise, move, axis=(1, 2)), waves, ramp[None], digit[None]])
    W = convolution.wavelet_transform(shown, bank)
    bands, energies = np.asarray(W.bands), _energies(W)
    off = np.linalg.norm(bands[images : 2 * images] - np.roll(bands[:images], move, axis=(2, 3)))
    off /= np.linalg.norm(bands[:images])
    yield at_most(off, 1e-12, "transform of the shifted image, against the shifted transform")
    weighed = (np.abs(np.fft.fft2(noise)) ** 2 * sums).sum((1, 2)) / side**2
    what = "energy of the coefficients, against Parseval's sum over frequencies"
    yield close(energies[:images], weighed, what, rtol=1e-10)
    ratios = energies / (shown**2).sum((1, 2))
    yield at_least(ratios[:images], sums.min(), "noise: share of the energy kept, against A")
    yield at_most(ratios[:images], sums.max(), "noise: share of the energy kept, against B")
    what = "share kept of the two extreme plane waves, against A and B"
    yield close(ratios[2 * images : 2 * images + 2], [sums.min(), sums.max()], what, rtol=1e-9)
    large = convolution.morlet_bank_2d((2 * side, 2 * side), scales, angles)
    mirrored = np.abs(convolution.wavelet_transform(ramp, large).bands).max()
    what = "largest coefficient of a ramp: mirrored borders, against periodic ones"
    yield at_most(mirrored, np.abs(bands[-2]).max(), what)
    moduli = np.abs(bands[-1])
    degrees = np.degrees(np.arctan2(bank.frequencies[:, 1], bank.frequencies[:, 0]))
    every = max(1, angles // 4)  # at most about four angles are drawn
    rows = [n for n in range(len(moduli)) if bank.directions[n] % every == 0]
    across = len(rows) // scales
    first = [("image", digit), ("low-pass", np.asarray(W.lowpass)[-1]), ("all moduli", moduli.sum(0))]
    seen = []
    for j in range(scales):
        name, picture = first[j]
        seen.append((name, picture / picture.max()))
        row = rows[j * across : (j + 1) * across]
        seen += [(f"j = {j}, {degrees[n]:.0f}°", moduli[n] / moduli.max()) for n in row]
    kept = ratios[:images]
    title = f"The transform keeps {kept.min():.2f} to {kept.max():.2f} of the energy of noise; moduli for a digit"
    yield figure.images(title, images=seen, columns=1 + across)


def _energies(W):
    return np.asarray((W.lowpass**2).sum((-2, -1)) + (np.abs(W.bands) ** 2).sum((-3, -2, -1)))
