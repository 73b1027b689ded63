"""curvlinops' Hessian, and SciPy's eigsh on it."""

import torch
from curvlinops import HessianLinearOperator

from ..harness.case import Inputs
from . import arpack, loosest, repeated, weights_of
from .networks import digits, torch_model


def product(inputs: Inputs, network: str):
    operator, direction = _hessian(inputs, network), torch.from_numpy(inputs["direction"])
    return repeated(lambda: (operator @ direction).detach())


def top(inputs: Inputs, network: str):
    operator = _hessian(inputs, network).to_scipy()
    return loosest(lambda tolerance: arpack(operator, tolerance), inputs["eigenvalues"])


def _hessian(inputs: Inputs, network: str):
    model, (x, y) = torch_model(network, weights_of(network, inputs)), map(torch.from_numpy, digits())
    settings = {"check_deterministic": False, "progressbar": False}
    return HessianLinearOperator(model, torch.nn.CrossEntropyLoss(), list(model.parameters()), [(x, y)], **settings)
