"""The same loops in PyTorch, with gradients by autograd."""

import torch
from torch.nn.functional import cross_entropy

from ..harness.case import Inputs
from . import CLASSES, ETA, FEATURES, RATE, RIDGE, SAGA_RATE

torch.set_default_dtype(torch.float64)


def path(inputs: Inputs):
    x, y, rows = torch.tensor(inputs["x"]), torch.tensor(inputs["y"]), inputs["rows"].tolist()

    def run() -> float:
        w = torch.zeros(1, requires_grad=True)
        rule = torch.optim.SGD([w], lr=ETA)
        for i in rows:
            rule.zero_grad(set_to_none=True)
            ((x[i] * w - y[i]) ** 2 / 2).sum().backward()
            rule.step()
        return float(w.detach()[0])

    return run


def sweep(inputs: Inputs, steps: int):
    matrix, sizes = torch.tensor(inputs["matrix"]), torch.tensor(inputs["sizes"])

    def run() -> float:
        w, losses = torch.ones(len(sizes), len(matrix)), torch.empty(steps + 1, len(sizes))
        for t in range(steps + 1):
            image = w @ matrix
            losses[t] = (w * image).sum(dim=1) / 2
            w = w - sizes[:, None] * image
        return float(losses[-1].sum())

    return run


def descent(inputs: Inputs, steps: int):
    value = softmax_regression(inputs)

    def run() -> float:
        w = torch.zeros(FEATURES, CLASSES, requires_grad=True)
        rule = torch.optim.SGD([w], lr=RATE)
        for _ in range(steps):
            rule.zero_grad(set_to_none=True)
            value(w).backward()
            rule.step()
        return float(value(w.detach()))

    return run


def saga(inputs: Inputs):
    value, x = softmax_regression(inputs), torch.tensor(inputs["x"])
    rows, right = inputs["rows"].tolist(), torch.eye(CLASSES)[torch.tensor(inputs["y"])]

    @torch.no_grad()
    def run() -> float:
        w = torch.zeros(FEATURES, CLASSES)
        stored = torch.softmax(x @ w, dim=1) - right
        mean = x.T @ stored / len(x)
        for i in rows:
            fresh = torch.softmax(x[i] @ w, dim=0) - right[i]
            change = torch.outer(x[i], fresh - stored[i])
            w = w - SAGA_RATE * (change + mean + RIDGE * w)
            mean += change / len(x)
            stored[i] = fresh
        return float(value(w))

    return run


def softmax_regression(inputs: Inputs):
    x, y = torch.tensor(inputs["x"]), torch.tensor(inputs["y"])

    def value(w: torch.Tensor) -> torch.Tensor:
        return cross_entropy(x @ w, y) + RIDGE / 2 * (w**2).sum()

    return value
