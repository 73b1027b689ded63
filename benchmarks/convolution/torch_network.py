"""The same network in PyTorch: slice, forward, backward, Adam step."""

import torch
from torch import nn

from ..harness.case import Inputs
from . import RATE


def eager(inputs: Inputs):
    return _loop(inputs, lambda network: network)


def channels_last(inputs: Inputs):
    """With the weights, and so the maps, in the order that oneDNN prefers."""
    return _loop(inputs, lambda network: network.to(memory_format=torch.channels_last))


def compiled(inputs: Inputs):
    return _loop(inputs, torch.compile)


def _loop(inputs: Inputs, wrap):
    x, y = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["y"]).long()
    rows = torch.from_numpy(inputs["rows"]).long()
    first, second, head = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1), nn.Linear(64 * 49, 10)
    parts = [first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), head]
    network = nn.Sequential(*parts)
    called = wrap(network)

    def run():
        with torch.no_grad():
            for index, layer in enumerate((first, second, head)):
                layer.weight.copy_(torch.from_numpy(inputs[f"weight{index}"]))
                layer.bias.zero_()
        rule = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)
        means = []
        for epoch in rows:
            losses = []
            for batch in epoch:
                rule.zero_grad(set_to_none=True)
                value = nn.functional.cross_entropy(called(x[batch]), y[batch])
                value.backward()
                rule.step()
                losses.append(value.detach())
            means.append(torch.stack(losses).mean())
        return torch.stack(means).numpy()

    return run
