"""PyHessian, which keeps the graph of the gradient; its eigenvalues come from power iteration."""

import warnings

import torch
from pyhessian import hessian
from pyhessian.utils import hessian_vector_product

from ..harness.case import Inputs
from . import EIGENVALUES, loosest, repeated, split, weights_of
from .networks import digits, torch_model

warnings.filterwarnings("ignore", message=".*create_graph=True.*")


def product(inputs: Inputs, network: str):
    make, multiply = _hessian(inputs, network)
    return repeated(lambda: multiply(make()))


def kept_product(inputs: Inputs, network: str):
    make, multiply = _hessian(inputs, network)
    made = make()
    return repeated(lambda: multiply(made))


def top(inputs: Inputs, network: str):
    made = _hessian(inputs, network)[0]()

    def values(tolerance: float) -> list[float]:
        torch.manual_seed(0)
        return made.eigenvalues(maxIter=500, tol=tolerance, top_n=EIGENVALUES)[0]

    return loosest(values, inputs["eigenvalues"], (1e-4, 1e-5, 1e-6))


def _hessian(inputs: Inputs, network: str):
    weights = weights_of(network, inputs)
    model, (x, y) = torch_model(network, weights), map(torch.from_numpy, digits())
    direction = [part.clone() for part in split(torch.from_numpy(inputs["direction"]), weights)]

    def make():
        model.zero_grad()  # PyHessian reads the gradient where backward() adds it up
        return hessian(model, torch.nn.CrossEntropyLoss(), data=(x, y), cuda=False)

    def multiply(made) -> torch.Tensor:
        return torch.cat([part.ravel() for part in hessian_vector_product(made.gradsH, made.params, direction)])

    return make, multiply
