"""Whitening of data and as a layer."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, differentiation, optimisation, regularisation
from leadline.evidence import Int, Real, at_least, at_most, close, exactly, method
from leadline.presentation import figure
