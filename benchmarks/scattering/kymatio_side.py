"""kymatio 0.3.0 with either of its backends for CPUs."""

from ..harness.case import Inputs


def scatter_images(inputs: Inputs, scales: int, backend: str):
    library, x = _backend(inputs, backend)
    scattering = library.Scattering2D(scales, tuple(x.shape[1:]))
    return lambda: scattering(x)


def scatter_signals(inputs: Inputs, scales: int, per_octave: int, backend: str):
    library, x = _backend(inputs, backend)
    scattering = library.Scattering1D(scales, x.shape[1], per_octave)
    return lambda: scattering(x)


def _backend(inputs: Inputs, backend: str):
    if backend == "numpy":
        import kymatio.numpy as library

        return library, inputs["x"]
    import kymatio.torch as library
    import torch

    return library, torch.from_numpy(inputs["x"].copy())
