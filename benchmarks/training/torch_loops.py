"""The usual loop of PyTorch: slice, forward, backward, Adam step; the data are tensors in memory, no loader."""

import itertools

import torch
from torch.nn.functional import cross_entropy, mse_loss

from ..harness.case import Inputs
from . import RATE


def eager(inputs: Inputs, widths: list[int], loss: str, epochs: int, networks: int):
    return _loop(inputs, widths, loss, lambda network: network)


def compiled(inputs: Inputs, widths: list[int], loss: str, epochs: int, networks: int):
    return _loop(inputs, widths, loss, torch.compile)


def _loop(inputs: Inputs, widths: list[int], loss: str, wrap):
    x, y = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["y"])
    labels = loss == "cross-entropy"
    y = y.long() if labels else y
    order = torch.from_numpy(inputs["rows"]).long()  # (networks, epochs, steps, batch)
    layers: list[torch.nn.Module] = []
    for i, o in itertools.pairwise(widths):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    called = wrap(network)

    def load(index: int) -> None:
        with torch.no_grad():
            for layer, linear in enumerate(network[::2]):
                linear.weight.copy_(torch.from_numpy(inputs[f"weight{layer}"][index]))
                linear.bias.copy_(torch.from_numpy(inputs[f"bias{layer}"][index]))

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
