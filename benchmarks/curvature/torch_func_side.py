"""The Hessian product as torch.func composes it, forward over reverse, and SciPy's eigsh on it."""

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator
from torch.func import functional_call, grad, jvp
from torch.nn.functional import cross_entropy

from ..harness.case import Inputs
from . import arpack, loosest, repeated, split, weights_of
from .networks import digits, torch_model


def product(inputs: Inputs, network: str):
    multiply, direction = _hessian(inputs, network), torch.from_numpy(inputs["direction"])
    return repeated(lambda: multiply(direction))


def top(inputs: Inputs, network: str):
    multiply, size = _hessian(inputs, network), len(inputs["direction"])

    def matvec(v: np.ndarray) -> np.ndarray:
        return multiply(torch.from_numpy(np.ascontiguousarray(v.ravel(), np.float32))).numpy()

    operator = LinearOperator((size, size), matvec, dtype=np.float32)
    return loosest(lambda tolerance: arpack(operator, tolerance), inputs["eigenvalues"])


def _hessian(inputs: Inputs, network: str):
    model, (x, y) = torch_model(network, weights_of(network, inputs)), map(torch.from_numpy, digits())
    weights = {name: value.detach() for name, value in model.named_parameters()}
    gradient = grad(lambda p: cross_entropy(functional_call(model, p, (x,)), y))

    def multiply(v: torch.Tensor) -> torch.Tensor:
        parts = dict(zip(weights, split(v, weights), strict=True))
        return torch.cat([part.ravel() for part in jvp(gradient, (weights,), (parts,))[1].values()])

    return multiply
