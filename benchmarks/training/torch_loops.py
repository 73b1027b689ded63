"""The usual loop of PyTorch: slice, forward, backward, Adam step; the data are tensors in memory, no loader."""

import torch
from torch.nn.functional import cross_entropy, mse_loss

from ..harness.case import Inputs
from ..relu_network import layers, sequential
from . import RATE


def eager(inputs: Inputs, widths: list[int], loss: str, epochs: int, networks: int):
    return _loop(inputs, loss, lambda network: network)


def compiled(inputs: Inputs, widths: list[int], loss: str, epochs: int, networks: int):
    return _loop(inputs, loss, torch.compile)


def _loop(inputs: Inputs, loss: str, wrap):
    x, y = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["y"])
    labels = loss == "cross-entropy"
    y = y.long() if labels else y
    order = torch.from_numpy(inputs["rows"]).long()  # (networks, epochs, steps, batch)
    stacked = layers(inputs)  # of all networks
    network = sequential([(weights[0], biases[0]) for weights, biases in stacked])
    called = wrap(network)

    def load(index: int) -> None:
        with torch.no_grad():
            for linear, (weights, biases) in zip(network[::2], stacked, strict=True):
                linear.weight.copy_(torch.from_numpy(weights[index]))
                linear.bias.copy_(torch.from_numpy(biases[index]))

    def one(index: int) -> torch.Tensor:
        load(index)
        rule = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)
        means = []
        for epoch in order[index]:
            losses = []
            for rows in epoch:
                rule.zero_grad(set_to_none=True)
                outputs = called(x[rows])
                value = cross_entropy(outputs, y[rows]) if labels else mse_loss(outputs[:, 0], y[rows])
                value.backward()
                rule.step()
                losses.append(value.detach())
            means.append(torch.stack(losses).mean())
        return torch.stack(means)

    return lambda: torch.stack([one(index) for index in range(len(order))]).numpy()
