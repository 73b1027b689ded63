"""A ReLU network as arrays that every environment can read, and in PyTorch; nothing here is of Leadline."""

import itertools

import numpy as np

from .harness.case import Inputs


def he_weights(
    rng: np.random.Generator, widths: tuple[int, ...], *, bias: float = 0.0, networks: tuple[int, ...] = ()
) -> Inputs:
    """He's initialisation, with biases of this deviation, in single precision; `networks` are axes before a layer's."""
    found = {}
    for layer, (i, o) in enumerate(itertools.pairwise(widths)):
        found[f"weight{layer}"] = (rng.normal(size=(*networks, o, i)) * (2 / i) ** 0.5).astype(np.float32)
        shifts = bias * rng.normal(size=(*networks, o)) if bias else np.zeros((*networks, o))
        found[f"bias{layer}"] = shifts.astype(np.float32)
    return found


def layers(inputs: Inputs) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weight and bias of each layer, first to last."""
    count = sum(name.startswith("weight") for name in inputs)
    return [(inputs[f"weight{layer}"], inputs[f"bias{layer}"]) for layer in range(count)]


def sequential(layers: list[tuple[np.ndarray, np.ndarray]]):
    """The network as a torch.nn.Sequential with copies of these weights."""
    import torch

    modules: list[torch.nn.Module] = []
    for weight, bias in layers:
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.weight.data, linear.bias.data = torch.tensor(weight), torch.tensor(bias)
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])
