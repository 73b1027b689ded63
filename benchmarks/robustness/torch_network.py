"""The attacked network in PyTorch."""

import torch

from ..harness.case import Inputs
from ..relu_network import layers, sequential


def attacked(inputs: Inputs):
    network = sequential(layers(inputs)).eval()
    return network, torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["y"]).long()


@torch.no_grad()
def share_fooled(network, x: torch.Tensor, y: torch.Tensor) -> float:
    return float((network(x).argmax(dim=1) != y).float().mean())
