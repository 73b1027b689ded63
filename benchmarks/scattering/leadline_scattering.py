"""Leadline's scattering transforms; those of signals with kymatio's gain, for the same answer."""

import jax.numpy as jnp
import numpy as np

from leadline.convolution import Scattering1D, Scattering2D

from ..harness.case import Inputs


def scatter_images(inputs: Inputs, scales: int):
    x = jnp.asarray(inputs["x"])
    scattering = Scattering2D(x.shape[1:], scales)
    return lambda: scattering(x)


def scatter_signals(inputs: Inputs, scales: int, per_octave: int):
    x = jnp.asarray(inputs["x"])
    scattering = Scattering1D(x.shape[1], scales, per_octave)
    gains = scattering.kymatio_gains[:, None]
    return lambda: scattering(x), lambda coefficients: np.asarray(coefficients) * gains
