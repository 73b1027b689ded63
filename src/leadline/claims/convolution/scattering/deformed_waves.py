"""What a shift, a dilation and a warp do to the Fourier modulus and to scattering coefficients."""

import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.convolution.scattering.wave_packets import centred_grid, smooth_displacement
from leadline.evidence import Int, Real, at_least, at_most, claim, close, reference, slope
from leadline.presentation import figure

_SIDE = 64
_DILATIONS = np.array([0.01, 0.02, 0.05, 0.1, 0.2])


@claim(sources=("cam",))
def fourier_modulus(
    key, frequency: Real(1.4, 2.3) = 2.0, width: Real(4.0, 6.0) = 5.0, down: Int(0, 63) = 5, right: Int(0, 63) = 11
):
    r"""The Fourier modulus: blind to shifts, unstable to dilations.

    A circular shift changes the phases of the Fourier transform and no modulus. A dilation by ε moves the frequency ω
    by εω, and once that exceeds the bandwidth the modulus has changed by as much as its own size, however small ε is.

    $$\widehat{X(\cdot - \tau)}(\omega) = e^{-2\pi i \langle \tau, \omega \rangle} \hat X(\omega), \qquad
    \frac{\Vert |\hat X_\epsilon| - |\hat X| \Vert}{\Vert X \Vert} = O(1) \text{ once } \epsilon |\omega| >
    \text{bandwidth}$$

    Assumes: shifts are circular; the wave packet is a Gaussian times a cosine, well inside the image and below the
    Nyquist frequency.

    Check: A noise image is shifted; a wave packet in a random direction is evaluated at dilated positions, without
    interpolation, and compared with the overlap of two Gaussian bumps.
    """
    rng = data.generator(key)
    noise = rng.normal(size=(_SIDE, _SIDE))
    shifted = np.roll(noise, (down, right), axis=(0, 1))
    modulus = convolution.fourier_modulus(noise)
    change = np.linalg.norm(convolution.fourier_modulus(shifted) - modulus) / np.linalg.norm(modulus)
    yield at_most(change, 1e-12, "relative change of the Fourier modulus of noise under a circular shift")
    grid = np.fft.fftfreq(_SIDE)
    phases = np.exp(-2j * np.pi * (down * grid[:, None] + right * grid))
    off = np.linalg.norm(np.fft.fft2(shifted) - phases * np.fft.fft2(noise)) / np.linalg.norm(modulus)
    yield at_most(off, 1e-12, "Fourier transform of the shifted image, against the phases times the old one")
    direction, phase = rng.uniform(0, 2 * np.pi, 2)
    predicted = convolution.dilated_modulus_change(_DILATIONS, frequency, width)
    measured = _modulus_changes(frequency, width, direction, phase, _DILATIONS)
    # Tails of the packet beyond the image and of its bumps beyond one another are below a thousandth in these ranges.
    yield close(measured, predicted, "dilation: relative change of the modulus, against two bumps", rtol=2e-3)
    known = _modulus_changes(2.0, 5.0, 0.0, 0.0, _DILATIONS)
    expected = [0.07, 0.14, 0.37, 0.75, 1.33]
    yield reference(known, expected, "change at 2 rad/pixel for ε = 0.01, 0.02, 0.05, 0.1, 0.2", digits=1)
    beyond = 2 / (frequency * width)  # ε|η| is twice the bandwidth
    far = _modulus_changes(frequency, width, direction, phase, np.array([beyond]))
    yield at_least(far, 1.0, "change where the frequency moves by twice the bandwidth")
    fine = np.geomspace(0.005, 0.25, 60)
    lines = {"wave packet": (fine, convolution.dilated_modulus_change(fine, frequency, width))}
    title = f"A shift changes the Fourier modulus by {change:.0e}, a dilation by 5% by {measured[2]:.2f}"
    rules = {"ε|η| = 2 bandwidths": ("x", beyond)}
    points = {"wave packet": (_DILATIONS, measured)}
    axes = ("dilation ε", "relative change of the modulus")
    yield figure.curves(title, *axes, lines=lines, points=points, rules=rules, log="xy")


@claim(sources=("cam",))
def deformation_stability(
    key, frequency: Real(1.6, 2.3) = 2.0, width: Real(4.0, 6.0) = 5.0, scales: Int(3, 4) = 3, shift: Int(1, 4) = 1
):
    r"""Scattering is stable to deformations.

    A deformation $X_\tau(z) = X(z - \tau(z))$ changes scattering coefficients by no more than a constant times its
    gradient, and by its size only in proportion to $2^{-J}$. The Fourier modulus has no such bound: its change grows
    with the frequency of the image besides.

    $$\Vert S X - S X_\tau \Vert \le C \left(2^{-J} \Vert \tau \Vert_\infty + \Vert \nabla \tau \Vert_\infty + \Vert
    H \tau \Vert_\infty\right) \Vert X \Vert$$

    Assumes: the order is finite (C grows with it); the Littlewood-Paley sum is at most 1 for the bound on shifts.

    Check: Wave packets are dilated and warped without interpolation. For a shift t the constant is known: a Gaussian
    window of width σ changes by at most t/(σ√e), and the moduli of m + 1 orders have at most √(m + 1) times the norm
    of the image.
    """
    rng = data.generator(key)
    direction, phase = rng.uniform(0, 2 * np.pi, 2)
    scattering = convolution.Scattering2D((_SIDE, _SIDE), scales)
    small, usual = np.array([0.0025, 0.005, 0.01, 0.02]), _DILATIONS[:4]
    u = centred_grid((_SIDE, _SIDE))
    dilated = [(1 - e) * u for e in (*small, *usual)]
    warped = [u - smooth_displacement(u, s, period=32.0, angle=direction) for s in small]
    eta = _vector(frequency, direction)
    other = [(f, _vector(f, direction)) for f in (frequency / 2, frequency / np.sqrt(2))]
    packets = [convolution.wave_packet(v, eta, width, phase) for v in (u, *dilated, *warped)]
    slower = [convolution.wave_packet(v, e, width, phase) for _, e in other for v in (u, 0.95 * u)]
    S = np.asarray(scattering(np.stack([*packets, *slower])))
    changes = _relative(S[1 : len(packets)], S[0])
    dilations, warps = changes[: len(small)], changes[len(dilated) :]
    found = changes[len(small) : len(dilated)]
    yield slope(small, dilations, 1.0, "dilation: exponent of the change of scattering in ε", within=0.2)
    what = "smooth warp: exponent of the change of scattering in the largest gradient"
    yield slope(small, warps, 1.0, what, within=0.2)
    modulus = _modulus_changes(frequency, width, direction, phase, usual)
    what = "dilation by 0.01 to 0.1: change of scattering, against half that of the Fourier modulus"
    yield at_most(found, modulus / 2, what)
    pairs = S[len(packets) :].reshape(2, 2, -1)
    scattered = [*(_relative(pair[1:], pair[0])[0] for pair in pairs), found[2]]
    moduli = [*(_modulus_changes(f, width, direction, phase, usual[2:3])[0] for f, _ in other), modulus[2]]
    ratios = np.array(moduli) / scattered
    what = "dilation by 5%: Fourier change over scattering change, at √2 times the frequency over before"
    yield at_least(ratios[1:] / ratios[:-1], 1.0, what)
    windows, moved = _shift_changes(rng, shift)
    bounds = np.sqrt(3) * shift / (windows * np.exp(0.5))
    yield at_most(moved, bounds, "shift: ‖SX − SX_τ‖/‖X‖ for windows of four sizes, against √3 t/(σ√e)", trivial=2.0)
    fine = np.geomspace(small[0], usual[-1], 40)
    title = f"A dilation by 5% changes scattering by {found[2]:.2g} and the Fourier modulus by {modulus[2]:.2g}"
    lines = {"Fourier modulus": (fine, convolution.dilated_modulus_change(fine, frequency, width))}
    lines["in proportion to the gradient"] = (fine, fine * dilations[0] / small[0])
    both = {"Fourier modulus": (usual, modulus), "scattering, dilated": (np.append(small, usual), changes[:8])}
    points = both | {"scattering, warped": (small, warps)}
    axes = ("‖∇τ‖∞", "relative change")
    yield figure.curves(title, *axes, lines=lines, points=points, log="xy")


def _vector(frequency, direction):
    return frequency * np.array([np.cos(direction), np.sin(direction)])


def _modulus_changes(frequency, width, direction, phase, dilations):
    u, eta = centred_grid((_SIDE, _SIDE)), _vector(frequency, direction)
    before = convolution.fourier_modulus(convolution.wave_packet(u, eta, width, phase))
    packets = np.stack([convolution.wave_packet((1 - e) * u, eta, width, phase) for e in dilations])
    return _relative(convolution.fourier_modulus(packets), before)


def _relative(after, before):
    return np.linalg.norm((after - before).reshape(len(after), -1), axis=1) / np.linalg.norm(before)


def _shift_changes(rng, shift):
    """Widths of the windows of 1 to 4 scales, and how much a shift of noise changes the coefficients of each."""
    noise = rng.normal(size=(32, 32))
    both = jnp.asarray(np.stack([noise, np.roll(noise, shift, axis=1)]))
    changes = []
    for scales in range(1, 5):
        bank = convolution.morlet_bank_2d((32, 32), scales, 4).normalised()
        S = convolution.windowed_scattering(convolution.scattering_layers(both, bank), bank)
        changes.append(np.linalg.norm(S[1] - S[0]) / np.linalg.norm(noise))
    return 0.8 * 2.0 ** np.arange(4), np.array(changes)
