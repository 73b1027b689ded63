"""Discrete convolution and cross-correlation of arrays with any number of axes, and the parts of it that are kept."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Num

from leadline._arrays import namespace

Signal = Num[Array | np.ndarray, "..."]
Mode = Literal["full", "same", "valid", "circular"]


def convolve(signal: Signal, kernel: Signal, mode: Mode = "full") -> Signal:
    """(f * h)[u] = Σ_t f[t] h[u - t], the product of polynomials with these coefficients, along all axes.

    With n samples and m taps on an axis, "full" keeps all n + m - 1 positions, "same" the n in the middle, "valid" the
    n - m + 1 at which the kernel lies inside the signal, and "circular" has indices modulo n. NumPy arrays in, NumPy
    array out (integers stay exact); JAX arrays can be traced and differentiated. Large kernels are for `fft_convolve`.

    >>> convolve(np.array([2, -1, 1]), np.array([1, 1, 2]))
    array([ 2,  1,  4, -1,  2])
    >>> convolve(np.array([2, -1, 1]), np.array([1, 1, 2]), "circular")
    array([1, 3, 4])
    """
    kept = kept_positions("convolve", np.shape(signal), np.shape(kernel), mode)
    full = _full_in_jax(signal, kernel) if namespace(signal, kernel) is jnp else _full(signal, kernel)
    return _wrapped(full, np.shape(signal)) if mode == "circular" else full[kept]


def correlate(signal: Signal, kernel: Signal, mode: Mode = "full") -> Signal:
    """(f ⋆ h)[u] = Σ_t f[u + t] h[t]: the unflipped kernel slides, as in the layers of deep-learning libraries.

    It is f * h̄ with h̄[t] = h[-t]; nothing is conjugated. "full" begins at u = 1 - m, "valid" and "circular" at u = 0.
    The other convention, Σ_t f[t] h[u + t], is `correlate(kernel, signal)`: these numbers in reverse order.

    >>> correlate(np.array([2, -1, 1]), np.array([1, 1, 2]))
    array([4, 0, 3, 0, 1])
    """
    product = convolve(signal, flip(kernel), mode)
    if mode != "circular":
        return product
    return namespace(product).roll(product, [1 - m for m in np.shape(kernel)], axis=tuple(range(np.ndim(kernel))))


def fft_convolve(signal: Num[Array | np.ndarray, "..."], kernel: Num[Array | np.ndarray, "..."]) -> Any:
    """The full convolution of `convolve` by FFT, zero-padded to n + m - 1 so that nothing wraps around.

    O(N log N) for N = n + m - 1, whatever the kernel; complex signals stay complex, integers become floating.

    >>> fft_convolve(np.array([2, -1, 1]), np.array([1, 1, 2])).round(12)
    array([ 2.,  1.,  4., -1.,  2.])
    """
    xp = namespace(signal, kernel)
    sides = tuple(n + m - 1 for n, m in zip(np.shape(signal), np.shape(kernel), strict=True))
    complex_ = any(xp.iscomplexobj(a) for a in (signal, kernel))
    forward, back = (xp.fft.fftn, xp.fft.ifftn) if complex_ else (xp.fft.rfftn, xp.fft.irfftn)
    length = sides if xp is jnp else fast_sides(sides)
    axes = tuple(range(len(sides)))
    product = forward(signal, length, axes=axes) * forward(kernel, length, axes=axes)
    return back(product, length, axes=axes)[tuple(slice(0, n) for n in sides)]


def flip(kernel: Signal) -> Signal:
    """h̄[t] = h[-t]: the kernel reversed along all axes.

    >>> flip(np.array([[1, 2], [3, 4]])).tolist()
    [[4, 3], [2, 1]]
    """
    return kernel[(slice(None, None, -1),) * np.ndim(kernel)]


def padding_of_mode(kernel: int, mode: Literal["full", "same", "valid"]) -> int:
    """Zeros on each side with which windows of `kernel` taps, one by one, give a mode: 2k, k, 0 for 2k + 1 taps.

    >>> [padding_of_mode(5, mode) for mode in ("full", "same", "valid")]
    [4, 2, 0]
    """
    if kernel < 1:
        raise ValueError(f"padding_of_mode got a kernel of {kernel} taps; give at least 1.")
    if mode == "same" and kernel % 2 == 0:
        raise ValueError(f'A kernel of {kernel} taps has no middle, so "same" needs uneven padding; give an odd one.')
    return {"full": kernel - 1, "same": kernel // 2, "valid": 0}[mode]


def matching_scores(
    image: Num[Array | np.ndarray, "..."], template: Num[Array | np.ndarray, "..."]
) -> Num[Array | np.ndarray, "..."]:
    """Normalised cross-correlation of a template at all positions inside an image: Pearson's r of template and window.

    ρ[u] = Σ_t (f[u+t] - f̄_u)(h[t] - h̄) / (‖f_u - f̄_u‖ ‖h - h̄‖) lies in [-1, 1] and is 1 only for a window that is
    the template up to contrast and brightness, where plain correlation peaks at whatever is bright. A constant window
    scores 0 (Lewis 1995).

    >>> image = np.array([0.0, 9, 9, 9, 0, 1, 3, 1, 0])
    >>> int(np.argmax(matching_scores(image, np.array([1.0, 3, 1]))))
    5
    """
    kept_positions("matching_scores", np.shape(image), np.shape(template), "valid")
    xp = namespace(image, template)
    image = image - xp.mean(image)  # smaller numbers lose fewer digits in the difference of squares below
    centred = template - xp.mean(template)
    if not isinstance(centred, jnp.ndarray) and not centred.any():
        raise ValueError(
            "matching_scores got a constant template, which correlates with nothing; give one that varies."
        )
    ones = xp.ones_like(centred)
    sums, squares = correlate(image, ones, "valid"), correlate(image**2, ones, "valid")
    energy = squares - sums**2 / ones.size
    floor = 1e-9 * xp.max(squares) + xp.finfo(centred.dtype).tiny  # constant windows, up to rounding
    varies = energy > floor
    scale = xp.sqrt(xp.where(varies, energy, 1.0) * (centred**2).sum())
    return xp.where(varies, correlate(image, centred, "valid") / scale, 0.0)


def fast_sides(sides: Sequence[int]) -> tuple[int, ...]:
    """The least sizes from these on whose FFT is fast (products of small primes)."""
    from scipy.fft import next_fast_len

    return tuple(next_fast_len(n, real=True) for n in sides)


def _full(signal: Any, kernel: Any) -> np.ndarray:
    """One scaled copy of the larger array for each entry of the smaller."""
    if signal.ndim == 1:
        return np.convolve(signal, kernel)
    large, small = (signal, kernel) if signal.size >= kernel.size else (kernel, signal)
    sides = [n + m - 1 for n, m in zip(signal.shape, kernel.shape, strict=True)]
    full = np.zeros(sides, np.result_type(signal, kernel))
    for tap in np.ndindex(*small.shape):
        full[tuple(slice(t, t + n) for t, n in zip(tap, large.shape, strict=True))] += small[tap] * large
    return full


def _full_in_jax(signal: Any, kernel: Any) -> Array:
    dtype = jnp.result_type(signal, kernel)
    padding = [(m - 1, m - 1) for m in np.shape(kernel)]
    batch, filters = jnp.asarray(signal, dtype)[None, None], jnp.asarray(flip(kernel), dtype)[None, None]
    return lax.conv_general_dilated(batch, filters, (1,) * np.ndim(kernel), padding)[0, 0]


def _wrapped(full: Signal, n: Sequence[int]) -> Signal:
    """Indices modulo n: blocks of n along an axis are added up."""
    xp = namespace(full)
    for axis, size in enumerate(n):
        missing = -full.shape[axis] % size
        full = xp.pad(full, [(0, missing if a == axis else 0) for a in range(full.ndim)])
        full = full.reshape(*full.shape[:axis], -1, size, *full.shape[axis + 1 :]).sum(axis, dtype=full.dtype)
    return full


def kept_positions(function: str, n: Sequence[int], m: Sequence[int], mode: str) -> tuple[slice, ...]:
    """Which positions of the full convolution a mode keeps, of signals of shape n and kernels of shape m."""
    if mode not in get_args(Mode):
        raise ValueError(f'{function} got mode "{mode}"; give one of {", ".join(get_args(Mode))}.')
    if len(n) != len(m) or not n or 0 in (*n, *m):
        raise ValueError(
            f"{function} got a signal of shape {tuple(n)} and a kernel of shape {tuple(m)}; "
            "give both as many axes, at least one, and at least one element."
        )
    if mode == "valid" and any(b > a for a, b in zip(n, m, strict=True)):
        raise ValueError(
            f"A kernel of shape {tuple(m)} does not fit into a signal of shape {tuple(n)}, so that no position is "
            "valid; give a longer signal or another mode."
        )
    pairs = list(zip(n, m, strict=True))
    if mode in ("full", "circular"):
        return tuple(slice(0, a + b - 1 if mode == "full" else a) for a, b in pairs)
    if mode == "same":
        return tuple(slice((b - 1) // 2, (b - 1) // 2 + a) for a, b in pairs)
    return tuple(slice(b - 1, a) for a, b in pairs)
