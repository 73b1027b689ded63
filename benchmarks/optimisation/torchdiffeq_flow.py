"""Gradient flow by torchdiffeq's Dormand-Prince method, at the same tolerances."""

import torch
from torchdiffeq import odeint

from ..harness.case import Inputs
from . import CLASSES, FEATURES, FLOW_ATOL, FLOW_RTOL, FLOW_TIME
from .torch_loops import softmax_regression


def flow(inputs: Inputs):
    value, times = softmax_regression(inputs), torch.tensor([0.0, FLOW_TIME])

    def downhill(t: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            w = w.detach().requires_grad_()
            return -torch.autograd.grad(value(w), w)[0]

    @torch.no_grad()
    def run() -> float:
        start = torch.zeros(FEATURES, CLASSES)
        return float(value(odeint(downhill, start, times, rtol=FLOW_RTOL, atol=FLOW_ATOL, method="dopri5")[-1]))

    return run
