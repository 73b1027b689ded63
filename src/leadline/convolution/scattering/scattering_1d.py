"""The scattering transform of signals, subsampled as far as the wavelets allow."""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from leadline._checks import require_counts, require_numbers

from .filter_bank import FilterBank, morlet_bank_1d
from .morlet_wavelets import gauss_1d


@dataclass(frozen=True)
class Scattering1D:
    r"""Averages over $2^J$ samples of a signal, of its wavelet moduli, and of the wavelet moduli of these.

    As `Scattering2D`, with `per_octave` wavelets in an octave at first order (a pair: at first and second order), and
    averages over about `averaging` samples, 2^scales unless said (Andén and Mallat, Deep scattering spectrum, 2014).
    Filters are those of kymatio 0.3.0. Its coefficients are ours times `kymatio_gains`: its subsampled filters are too
    small by the subsampling, so that they change if the same signal is subsampled less (`oversampling`); ours do not.

    >>> scattering = Scattering1D(256, scales=4)
    >>> scattering(jnp.ones((3, 256))).shape, scattering.paths[-1]
    ((3, 13, 16), (3, 4))
    """

    length: int
    scales: int
    per_octave: int | tuple[int, int] = 1
    averaging: int | None = None
    max_order: int = 2

    def __post_init__(self):
        require_counts("Scattering1D", length=self.length, scales=self.scales, per_octave=self.per_octave)
        require_counts("Scattering1D", averaging=self._averaging)
        if self.max_order not in (1, 2):
            raise ValueError(f"Scattering1D got max_order = {self.max_order}; give 1 or 2.")
        if self._averaging > self.length:
            raise ValueError(
                f"Scattering1D got {self.length} samples and averages over {self._averaging}; give a longer signal, "
                "fewer scales or a shorter averaging."
            )

    @property
    def _averaging(self) -> int:
        return 2**self.scales if self.averaging is None else self.averaging

    @property
    def _halvings(self) -> int:
        """How often the averages are halved."""
        return math.floor(math.log2(self._averaging))

    @cached_property
    def padded_length(self) -> int:
        """A power of two with room for three windows on either side, where mirroring can fill it."""
        window = np.abs(np.fft.ifft(gauss_1d(self.length, 0.1 / self._averaging)))[: self.length // 2]
        beyond = np.cumsum(window[::-1])[::-1]  # of the window's mass, what lies at t or further out
        small = np.flatnonzero(beyond <= 1e-3)
        support = small[0] + 1 if len(small) else self.length // 2
        wanted = math.ceil(math.log2(self.length + 6 * support))
        return 2 ** min(wanted, math.floor(math.log2(max(3 * self.length - 2, 1))))

    @cached_property
    def banks(self) -> tuple[FilterBank, FilterBank]:
        """The filters of both orders at full resolution, on the padded grid."""
        octave = self.per_octave if isinstance(self.per_octave, tuple) else (self.per_octave, 1)
        first, second = (morlet_bank_1d(self.padded_length, self.scales, q, self._averaging) for q in octave)
        return first, second

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The path of each channel: (), (n₁,) or (n₁, n₂), numbers of wavelets in the two banks."""
        j1, j2 = (bank.scales for bank in self.banks)
        first = [(n,) for n in range(len(j1))]
        second = [(n, m) for n in range(len(j1)) for m in range(len(j2)) if j2[m] > j1[n]]
        return ((), *first, *(second if self.max_order == 2 else ()))

    @cached_property
    def kymatio_gains(self) -> Float[np.ndarray, " paths"]:
        """For each path, what kymatio 0.3.0's coefficient is of ours: 2 to minus the halvings before each filter."""
        halved = [np.minimum(bank.scales, self._halvings) for bank in self.banks]
        lost = [sum(int(halved[m][n]) for m, n in enumerate(path)) for path in self.paths]
        return 0.5 ** np.array(lost)

    def __call__(self, signals: Real[Array | np.ndarray, "*batch t"]) -> Float[Array, "*batch paths t_out"]:
        """Coefficients, (..., paths, about t / 2ᴶ), in the precision of the signals."""
        if np.shape(signals)[-1:] != (self.length,):
            raise ValueError(f"Scattering1D of {self.length} samples got {np.shape(signals)}; give (..., length).")
        require_numbers("Scattering1D", signals=signals)
        x = jnp.asarray(signals)
        x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.result_type(float))
        wavelets = [jnp.asarray(bank.wavelets, x.dtype) for bank in self.banks]
        lowpass = jnp.asarray(self.banks[0].lowpass, x.dtype)
        coefficients = _scatter(wavelets, lowpass, x.reshape(-1, self.length), self._plan)
        return coefficients.reshape(*x.shape[:-1], *coefficients.shape[1:])

    @property
    def _plan(self) -> "_Plan":
        spare = self.padded_length - self.length
        start, end = spare // 2, spare // 2 + self.length
        for _ in range(self._halvings):
            start, end = (start + 1) // 2, (end + 1) // 2
        first, second = (tuple(bank.scales.tolist()) for bank in self.banks)
        order = {path: i for i, path in enumerate(_grouped_paths(first, second, self.max_order))}
        places = tuple(order[path] for path in self.paths)
        return _Plan(first, second, self._halvings, start, end, places, self.max_order)


class _Plan(NamedTuple):
    first: tuple[int, ...]  # scales of the wavelets
    second: tuple[int, ...]
    halvings: int
    start: int  # of what the averages keep
    end: int
    places: tuple[int, ...]  # where each path is among the computed ones
    max_order: int


def _grouped_paths(first: tuple[int, ...], second: tuple[int, ...], max_order: int) -> list[tuple[int, ...]]:
    """Paths as `_scatter` computes them: wavelets of one scale at a time."""
    paths: list[tuple[int, ...]] = [()]
    for j1, ns in _by_scale(first):
        paths += [(n,) for n in ns]
        if max_order == 2:
            paths += [(n, m) for j2, ms in _by_scale(second) if j2 > j1 for n in ns for m in ms]
    return paths


def _by_scale(scales: tuple[int, ...]) -> list[tuple[int, list[int]]]:
    return [(j, [n for n, other in enumerate(scales) if other == j]) for j in sorted(set(scales))]


@partial(jax.jit, static_argnames="plan")
def _scatter(wavelets, lowpass, signals, plan):
    n, length = len(lowpass), signals.shape[1]
    left = (n - length) // 2
    x = jnp.pad(signals, ((0, 0), (left, n - length - left)), mode="reflect")

    def average(u_hat, halved):
        """Coefficients of spectra (b, ..., n / 2^halved), the axes between made one."""
        product = _fold(u_hat * _fold(lowpass, 2**halved), 2 ** (plan.halvings - halved))
        s = jnp.fft.ifft(product / 2 ** (plan.halvings - halved)).real
        return s.reshape(len(signals), -1, s.shape[-1])[..., plan.start : plan.end]

    def moduli(u_hat, psi, halved, halvings):
        """Spectra of |u * ψ|, halved further from `halved` to `halvings` times."""
        step = 2 ** (halvings - halved)
        return jnp.fft.fft(jnp.abs(jnp.fft.ifft(_fold(u_hat * _fold(psi, 2**halved), step) / step)))

    x_hat = jnp.fft.fft(x)
    computed = [average(x_hat, 0)]
    for j1, ns in _by_scale(plan.first):
        k1 = min(j1, plan.halvings)
        u1_hat = moduli(x_hat[:, None], wavelets[0][jnp.array(ns)], 0, k1)  # (b, n₁, n / 2^k₁)
        computed.append(average(u1_hat, k1))
        if plan.max_order == 1:
            continue
        for j2, ms in _by_scale(plan.second):
            if j2 > j1:
                k2 = min(j2, plan.halvings)
                u2_hat = moduli(u1_hat[:, :, None], wavelets[1][jnp.array(ms)], k1, k2)  # (b, n₁, n₂, n / 2^k₂)
                computed.append(average(u2_hat, k2))
    return jnp.concatenate(computed, 1)[:, jnp.array(plan.places)]


def _fold(spectrum, step):
    """Sums of the `step` parts of a spectrum: that of every `step`-th sample, times `step`."""
    return spectrum.reshape(*spectrum.shape[:-1], step, -1).sum(-2) if step > 1 else spectrum
