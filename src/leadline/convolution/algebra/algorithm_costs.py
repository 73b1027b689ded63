"""What the algorithms for a convolutional layer cost: operations and memory from the shapes, and the time here."""

import time
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from leadline._checks import require_counts

from .layer_algorithms import ALGORITHMS, Algorithm, Input, Kernel, layer_correlation, layer_geometry


class LayerWork(NamedTuple):
    """Multiply-adds of an algorithm (of real numbers), and how many numbers its largest array of its own holds."""

    multiply_adds: float
    buffer: int


def layer_work(shape: tuple[int, ...], kernel: tuple[int, ...], algorithm: Algorithm, *, padding: int = 0) -> LayerWork:
    """Work and memory of `layer_correlation` at stride 1, from the shapes alone.

    With N positions of the padded input, M of the output and k^d taps: M k^d C_in C_out multiply-adds directly, with a
    buffer of C_in k^d M numbers for im2col. By FFT (5/4) N log₂ N for each of the C_in + C_in C_out + C_out real
    transforms (a radix-2 transform of N real numbers takes about (5/2) N log₂ N operations) and 2 N C_in C_out for the
    products, whatever k is.

    >>> [layer_work((1, 32, 32), (1, 1, 5, 5), name).buffer for name in ("taps", "im2col")]
    [784, 19600]
    """
    outputs = layer_geometry("layer_work", shape, kernel, 1, padding, 1).outputs
    positions, (out, into), taps = prod(outputs), kernel[:2], prod(kernel[2:])
    if algorithm == "fft":
        size = prod(n + 2 * padding for n in shape[1:])
        transforms = 1.25 * size * np.log2(size) * (into + into * out + out)
        return LayerWork(float(transforms + 2 * size * into * out), size * into * out)
    buffer = {"taps": out * positions, "im2col": into * taps * positions, "xla": 0}[algorithm]
    return LayerWork(positions * taps * into * out, buffer)


class AlgorithmTuner:
    """Times the algorithms of `layer_correlation` once for each pair of shapes, dtype and options, and keeps the times.

    Each is the least of `repeats` timings, taken in turn, of a program compiled beforehand. What
    `torch.backends.cudnn.benchmark = True` does for PyTorch (where it is off unless switched on).

    >>> tuner = AlgorithmTuner()
    >>> x, kernel = jnp.ones((1, 32, 32)), jnp.ones((1, 1, 3, 3))
    >>> sorted(tuner.times(x, kernel)), tuner.fastest(x, kernel) in ("taps", "im2col", "fft", "xla")
    (['fft', 'im2col', 'taps', 'xla'], True)
    """

    def __init__(self, *, repeats: int = 3, clock: Callable[[], float] = time.perf_counter):
        require_counts("AlgorithmTuner", repeats=repeats)
        self._repeats, self._clock = repeats, clock
        self._known: dict[tuple, dict[str, float]] = {}

    def times(self, x: Input, kernel: Kernel, **options: int | bool) -> dict[str, float]:
        """Seconds of each algorithm on arrays like these, fastest first."""
        case = (np.shape(x), np.shape(kernel), str(x.dtype), str(kernel.dtype), *sorted(options.items()))
        if case not in self._known:
            self._known[case] = self._timed(jnp.asarray(x), jnp.asarray(kernel), options)
        return dict(self._known[case])

    def fastest(self, x: Input, kernel: Kernel, **options: int | bool) -> str:
        """The algorithm with the least time on arrays like these."""
        return next(iter(self.times(x, kernel, **options)))

    def _timed(self, x: Input, kernel: Kernel, options: dict[str, Any]) -> dict[str, float]:
        compiled = {
            name: jax.jit(lambda x, w, name=name: layer_correlation(x, w, algorithm=name, **options))
            for name in ALGORITHMS
        }
        for run in compiled.values():
            jax.block_until_ready(run(x, kernel))
        times = dict.fromkeys(compiled, float("inf"))
        for _ in range(self._repeats):
            for name, run in compiled.items():
                begin = self._clock()
                jax.block_until_ready(run(x, kernel))
                times[name] = min(times[name], self._clock() - begin)
        return dict(sorted(times.items(), key=lambda item: item[1]))
