"""Leadline's Hessian operators, called as a user calls them."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import curvature

from ..harness.case import Inputs
from . import EIGENVALUES, loosest, repeated, split, weights_of
from .networks import digits, jax_loss

BATCHES = {"mlp": None, "cnn": 64, "transformer": 256}  # rows taken at a time: what fits into the cache


def product(inputs: Inputs, network: str):
    return _products(inputs, network, _hessian(inputs, network))


def kept_product(inputs: Inputs, network: str):
    return _products(inputs, network, _hessian(inputs, network).linearised())


def top(inputs: Inputs, network: str):
    operator = _hessian(inputs, network)
    operator = (
        operator if network == "cnn" else operator.linearised()
    )  # what a convolution keeps is too large for the cache
    return loosest(
        lambda tolerance: operator.top(EIGENVALUES, which="magnitude", tolerance=tolerance).values,
        inputs["eigenvalues"],
    )


def _hessian(inputs: Inputs, network: str):
    weights = {name: jnp.asarray(value) for name, value in weights_of(network, inputs).items()}
    return curvature.hessian(jax_loss(network), weights, *digits(), batch=BATCHES[network])


def _products(inputs: Inputs, network: str, operator):
    """JAX flattens a dictionary by its keys, PyTorch in the order of the parameters: so does the answer."""
    weights = weights_of(network, inputs)
    names = sorted(weights)
    parts = dict(zip(weights, split(jnp.asarray(inputs["direction"]), weights), strict=True))
    direction = jnp.concatenate([jnp.ravel(parts[name]) for name in names])

    def in_order(product):
        found = dict(zip(names, split(product, {name: weights[name] for name in names}), strict=True))
        return np.concatenate([np.ravel(found[name]) for name in weights])

    return repeated(lambda: jax.block_until_ready(operator(direction))), in_order
