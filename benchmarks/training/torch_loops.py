"""The usual loop of PyTorch: slice, forward, backward, Adam step; the data are tensors in memory, no loader."""

import torch
from torch.nn.functional import cross_entropy, mse_loss

from ..harness.case import Inputs
from ..relu_network import layers, sequential
from . import RATE


def eager(inputs: Inputs, widths: list[int], loss: str, epochs: int, networks: int, normalised: bool):
    return _loop(inputs, loss, lambda network: network, normalised)


def compiled(inputs: Inputs, widths: list[int], loss: str, epochs: int, networks: int, normalised: bool):
    return _loop(inputs, loss, torch.compile, normalised)


def _normalised(network: torch.nn.Sequential) -> torch.nn.Sequential:
    """Batch normalisation before every ReLU."""
    modules = []
    for module in network:
        if isinstance(module, torch.nn.ReLU):
            modules.append(torch.nn.BatchNorm1d(modules[-1].out_features, momentum=0.01))
        modules.append(module)
    return torch.nn.Sequential(*modules)


def _loop(inputs: Inputs, loss: str, wrap, normalised: bool):
    x, y = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["y"])
    labels = loss == "cross-entropy"
    y = y.long() if labels else y
    order = torch.from_numpy(inputs["rows"]).long()  # (networks, epochs, steps, batch)
    stacked = layers(inputs)  # of all networks
    network = sequential([(weights[0], biases[0]) for weights, biases in stacked])
    network = _normalised(network) if normalised else network
    linears = [module for module in network if isinstance(module, torch.nn.Linear)]
    norms = [module for module in network if isinstance(module, torch.nn.BatchNorm1d)]
    called = wrap(network)

    def load(index: int) -> None:
        with torch.no_grad():
            for linear, (weights, biases) in zip(linears, stacked, strict=True):
                linear.weight.copy_(torch.from_numpy(weights[index]))
                linear.bias.copy_(torch.from_numpy(biases[index]))
        for norm in norms:
            norm.reset_running_stats()
            torch.nn.init.ones_(norm.weight)
            torch.nn.init.zeros_(norm.bias)

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
