"""GPyTorch's exact marginal likelihood, by Cholesky factors as here, and its gradient."""

import gpytorch
import numpy as np
import torch

from ..harness.case import Inputs


class _Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def evidence(inputs: Inputs):
    """Value, and gradient in the logarithms of length, amplitude and noise; GPyTorch's mean over points is undone."""
    x, y = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["y"])
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    process = _Process(x, y, likelihood).double()
    values = {
        process.covar_module.base_kernel: ("lengthscale", 1.5),
        process.covar_module: ("outputscale", 0.8),
        likelihood.noise_covar: ("noise", 0.02),
    }
    raw = []
    for module, (name, value) in values.items():
        setattr(module, name, value)
        raw.append((getattr(module, f"raw_{name}"), module, name))
    likelihood.train()
    process.train()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)

    def both():
        for parameter, _, _ in raw:
            parameter.grad = None
        whole = gpytorch.settings.fast_computations(False, False, False)
        with whole, gpytorch.settings.max_cholesky_size(10**6):
            value = marginal(process(x), y) * len(y)
            value.backward()
        return np.array([value.item(), *(_in_logarithm(*entry) for entry in raw)])

    return both


def _in_logarithm(parameter, module, name) -> float:
    """df/d log v from df/d raw, where v = constraint(raw)."""
    raw = parameter.detach().clone().requires_grad_()
    value = getattr(module, f"raw_{name}_constraint").transform(raw)
    (slope,) = torch.autograd.grad(value.sum(), raw)
    return float((parameter.grad * value / slope).sum())
