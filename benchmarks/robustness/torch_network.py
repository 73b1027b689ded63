"""The attacked network in PyTorch."""

import torch

from ..harness.case import Inputs
from . import WIDTHS


def attacked(inputs: Inputs):
    layers: list[torch.nn.Module] = []
    for index in range(len(WIDTHS) - 1):
        weight, bias = torch.from_numpy(inputs[f"weight{index}"]), torch.from_numpy(inputs[f"bias{index}"])
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data, layer.bias.data = weight, bias
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).eval(), torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["y"]).long()


@torch.no_grad()
def share_fooled(network, x: torch.Tensor, y: torch.Tensor) -> float:
    return float((network(x).argmax(dim=1) != y).float().mean())
