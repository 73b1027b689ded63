"""Scattering of one and of several orders: what is invariant, what is kept, and which paths matter."""

import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, mean, method, model, smaller
from leadline.presentation import figure

_DRAWS = 10  # of either texture


@model(sources=("cam",), shows=("convolution.global_scattering", "convolution.Scattering1D"))
def first_order_scattering(
    key,
    side: Int(32, 64) = 32,
    scales: Int(2, 3) = 3,
    density: Real(0.005, 0.03, log=True) = 0.02,
    shift: Int(1, 4) = 1,
):
    r"""First-order scattering.

    The mean of the modulus of each wavelet coefficient does not change under shifts; averaged over a window of width
    σ instead, it changes by at most t/(σ√e) of the moduli's norm. Unlike the power spectrum it tells textures apart
    whose spectra are equal: of sparse ones the moduli are smaller than of Gaussian ones with the same energy.

    $$S[\lambda] X = \int |X * \psi_\lambda|\, du, \qquad S_J[\lambda] X = |X * \psi_\lambda| * \phi_J$$

    Assumes: shifts are circular; the window is Gaussian.

    Check: A texture of rare impulses is compared with its own Fourier transform under random phases: the same power
    spectrum, other moments.
    """
    rng = data.generator(key)
    bank = convolution.morlet_bank_2d((side, side), scales, 4).normalised()
    sparse = rng.normal(size=(_DRAWS, side, side)) * (rng.uniform(size=(_DRAWS, side, side)) < density)
    sparse[:, 0, 0] += 1.0  # none is empty
    phases = np.fft.fft2(rng.normal(size=sparse.shape))
    mixed = np.fft.ifft2(np.abs(np.fft.fft2(sparse)) * phases / np.abs(phases)).real
    moved = np.roll(sparse, (shift, -shift), axis=(1, 2))
    layers = convolution.scattering_layers(np.concatenate([sparse, mixed, moved]), bank, 1)
    S = np.asarray(convolution.global_scattering(layers, bank)).reshape(3, _DRAWS, -1)[..., 1:]
    change = np.linalg.norm(S[2] - S[0]) / np.linalg.norm(S[0])
    yield at_most(change, 1e-12, "global coefficients: relative change under a shift")
    U = np.asarray(layers[1].moduli).reshape(3, _DRAWS, -1, side, side)
    local = np.asarray(convolution.windowed_scattering(layers[1:], bank)).reshape(U.shape)
    windowed = np.linalg.norm((local[2] - local[0]).reshape(_DRAWS, -1), axis=1)
    bound = (
        np.sqrt(2) * shift / (0.8 * 2 ** (scales - 1) * np.exp(0.5)) * np.linalg.norm(U[0].reshape(_DRAWS, -1), axis=1)
    )
    yield at_most(windowed, bound, "windowed coefficients: change under a shift t, against t/(σ√e) times ‖|X * ψ|‖")
    energies = (U[:2] ** 2).sum((-2, -1))
    what = "energy of each wavelet coefficient: random phases, against the same spectrum as impulses"
    yield close(energies[1], energies[0], what, rtol=1e-9)
    fineness = S[:2].mean(-1) / np.sqrt(energies.mean(-1) / side**2)
    yield smaller(fineness[0], fineness[1], "mean modulus over root of energy: impulses, against random phases")
    by_place = [s.mean(0).reshape(scales, 4) for s in S[:2]]
    degrees = [f"{d:.0f}°" for d in np.degrees(np.arctan2(*bank.frequencies[:4].T[::-1]))]
    options = {"xs": degrees, "ys": [f"j = {j}" for j in range(scales)], "colour": "% of the largest", "text": True}
    names = ("Impulses", "The same spectrum, random phases")
    pictures = [
        figure.heatmap(n, "angle", "scale", values=100 * v / np.max(by_place), **options)
        for n, v in zip(names, by_place, strict=True)
    ]
    ratio = by_place[0].mean() / by_place[1].mean()
    title = f"Equal power spectra, but the moduli of impulses are {ratio:.2f} of those under random phases"
    yield figure.beside(title, *pictures)


@model(sources=("cam",), shows=("convolution.Scattering2D",))
def scattering_transform(
    key, side: Int(16, 32) = 16, scales: Int(2, 3) = 3, angles: Int(2, 8) = 4, pairs: Int(2, 20) = 6
):
    r"""The scattering transform.

    A convolutional network with fixed wavelets and the modulus as activation, whose outputs are averages of every
    layer. Over all positions these do not change under shifts. Where the Littlewood-Paley sum is at most 1, the
    windowed ones expand no distance, and no layer has more energy than the one before, of which averages and next
    layer together keep at least the share A.

    $$W_0 = X, \quad W_i = |W_{i-1} * \psi_{\lambda_i}|, \quad S_m X = \int W_m \text{ or } W_m * \phi_J, \qquad
    \Vert S X - S Y \Vert \le \Vert X - Y \Vert$$

    Assumes: borders are periodic; coefficients are not subsampled; the Littlewood-Paley sum lies in [A, 1].

    Check: Noise images, and images that differ a little, are taken in pairs; digits show how energy falls with the
    order.
    """
    rng = data.generator(key)
    bank = convolution.morlet_bank_2d((side, side), scales, angles).normalised()
    x, y = rng.normal(size=(2, pairs, side, side))
    y[: pairs // 2] = x[: pairs // 2] + 1e-3 * y[: pairs // 2]
    moved = np.roll(x, (3, 5), axis=(1, 2))
    layers = convolution.scattering_layers(np.concatenate([x, y, moved]), bank)
    whole = np.asarray(convolution.global_scattering(layers, bank)).reshape(3, pairs, -1)
    change = np.linalg.norm(whole[2] - whole[0]) / np.linalg.norm(whole[0])
    yield at_most(change, 1e-12, "global coefficients: relative change under a circular shift")
    local = np.asarray(convolution.windowed_scattering(layers, bank)).reshape(3, pairs, -1)
    apart = np.linalg.norm(local[1] - local[0], axis=-1) / np.linalg.norm((y - x).reshape(pairs, -1), axis=-1)
    yield at_most(apart, 1.0, "‖SX − SY‖/‖X − Y‖ of noise and of near images")
    pixels = side // 8
    digits = np.kron(data.digits().images[:50].reshape(-1, 8, 8), np.ones((1, pixels, pixels)))
    digits = np.pad(digits, ((0, 0), *[(0, side - 8 * pixels)] * 2))
    every = convolution.scattering_layers(digits, bank, decreasing=False)
    energy = np.array([float((layer.moduli**2).sum()) for layer in every])
    outputs = np.asarray(convolution.windowed_scattering(every[:2], bank))
    averaged = np.array([(outputs[:, :1] ** 2).sum(), (outputs[:, 1:] ** 2).sum()])
    least = convolution.littlewood_paley(bank).min()
    what = "all paths, digits: energy of averages and next layer, over that of the layer"
    yield at_most((averaged + energy[1:]) / energy[:-1], 1.0, what, rtol=1e-12)
    yield at_least((averaged + energy[1:]) / energy[:-1], least, f"{what}, against A")
    fast = convolution.Scattering2D((side, side), scales, angles)
    kept = [p for layer in convolution.scattering_layers(digits[:1], bank) for p in layer.paths]
    yield exactly(len(fast.paths), len(kept), "paths of the subsampled transform, against those of the definition")
    groups = {f"{m}: {'→'.join(str(j) for j in js) or 'image'}": e for m, js, e in _by_scales(every, bank)}
    title = f"Digits: of energy 1, order 1 has {energy[1] / energy[0]:.2f} and order 2 {energy[2] / energy[0]:.3f}"
    shares = {name: e / energy[0] for name, e in groups.items()}
    yield figure.bars(title, "order: scales along the path", "share of the energy", values={"moduli": shares}, log=True)


@method(sources=("cam",), shows=("convolution.scattering_paths", "convolution.path_count"))
def frequency_decreasing_paths(key, scales: Int(2, 3) = 3, angles: Int(2, 6) = 4, train: Int(200, 600) = 400):
    r"""Frequency-decreasing paths.

    The modulus moves energy to low frequencies, so that $|X * \psi_\lambda|$ has little above λ, and only paths along
    which the frequency falls are kept. A linear classifier loses nothing that counts.

    $$\binom{J + 1}{m} |G|^m \text{ paths instead of } ((J + 1) |G|)^m$$

    Assumes: scales are numbered j = 0..J, |G| angles each; "little" is empirical.

    Check: Paths are listed and counted; energies of order 2 are those of digits at twice their size and of a texture
    of noise; both sets of paths feed ridge regression (penalty by leaving out one) on the same digits.
    """
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = data.generator(key)
    listed = [convolution.scattering_paths(scales, angles, 3, decreasing=d) for d in (True, False)]
    found = [[sum(len(p) == m for p in paths) for m in range(4)] for paths in listed]
    yield exactly(found[0], [_binomial(scales, m) * angles**m for m in range(4)], "decreasing paths of order 0 to 3")
    yield exactly(found[1], [(scales * angles) ** m for m in range(4)], "all paths of order 0 to 3")
    bank = convolution.morlet_bank_2d((16, 16), scales, angles)
    images, labels = data.digits()
    chosen = rng.permutation(len(images))[: train + 600]
    pictures = np.kron(images[chosen].reshape(-1, 8, 8), np.ones((1, 2, 2)))
    layers = convolution.scattering_layers(jnp.asarray(pictures, jnp.float32), bank, decreasing=False)
    smooth = np.fft.ifft2(np.fft.fft2(rng.normal(size=(50, 16, 16))) / (1 + 16 * _radius(16))).real
    textures = convolution.scattering_layers(smooth, bank, decreasing=False)
    followed = np.array([bank.scales[b] - bank.scales[a] for a, b in layers[2].paths])
    for name, order2 in (("digits", layers[2].moduli[:50]), ("1/f noise", textures[2].moduli)):
        energy = np.asarray((order2**2).mean((0, 2, 3)))
        rising, falling = energy[followed < 0].mean(), energy[followed > 0].mean()
        what = f"{name}: energy of a path of increasing frequency over one of decreasing, order 2"
        yield at_most(rising / falling, 1.0, what).as_empirical()
    windows = np.asarray(convolution.windowed_scattering(layers, bank))[..., 2::4, 2::4]
    falls = np.concatenate([np.ones(1 + scales * angles, bool), followed > 0])
    right = []
    for columns in (slice(None), falls):
        rows = windows[:, columns].reshape(len(windows), -1)
        probe = make_pipeline(StandardScaler(), RidgeClassifierCV(np.geomspace(1e-2, 1e6, 17)))
        right.append(probe.fit(rows[:train], labels[chosen[:train]]).predict(rows[train:]) == labels[chosen[train:]])
    lost = "accuracy of a linear classifier on 600 digits: all paths minus decreasing ones, against 1 point"
    yield mean(right[0].astype(float) - right[1], 0.01, lost, side="at most").as_empirical()
    digits = (
        np.asarray((layers[2].moduli[:50] ** 2).mean((0, 2, 3))).reshape(scales, angles, scales, angles).mean((1, 3))
    )
    names = [f"j = {j}" for j in range(scales)]
    options = {"xs": names, "ys": names, "colour": "share", "text": True}
    title = (
        f"{found[0][2]} of {found[1][2]} paths of order 2 are kept, those above the diagonal; their energy on digits"
    )
    yield figure.heatmap(title, "second wavelet", "first wavelet", values=digits / digits.max(), **options)


def _binomial(n, m):
    return int(np.prod(np.arange(n - m + 1, n + 1)) // np.prod(np.arange(1, m + 1)))


def _radius(side):
    f = np.fft.fftfreq(side)
    return np.hypot(f[:, None], f)


def _by_scales(layers, bank):
    """Order, scales along the path, and energy of all paths with these scales."""
    for m, layer in enumerate(layers):
        scales = [tuple(int(bank.scales[n]) for n in p) for p in layer.paths]
        energies = np.asarray((layer.moduli**2).sum((0, -2, -1)))
        for js in dict.fromkeys(scales):
            yield m, js, float(sum(e for e, s in zip(energies, scales, strict=True) if s == js))
