"""Whether a network in JAX is the one in PyTorch: outputs and gradients, on batches of several sizes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from leadline import as_apply


def rows_like(example: torch.Tensor, n: int) -> torch.Tensor:
    """n fresh inputs of the example's kind."""
    if example.is_floating_point():
        return torch.randn(n, *example.shape[1:], dtype=example.dtype)
    return torch.randint(0, int(example.max()) + 1, (n, *example.shape[1:]))


def distance(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest entry."""
    found, expected = (np.asarray(v, float) for v in (found, expected))
    assert found.shape == expected.shape, (found.shape, expected.shape)
    return float(np.max(np.abs(found - expected), initial=0.0) / max(np.max(np.abs(expected), initial=0.0), 1e-30))


def compare(net: torch.nn.Module, example: torch.Tensor, sizes: tuple[int, ...] = (1, 3, 7)) -> tuple[float, float]:
    """The largest distances of outputs and of parameter gradients; the gradient is that of a random weighted sum."""
    apply, params = as_apply(net, example)
    traced = []

    @jax.jit
    def value_and_gradient(p, x, weights):
        traced.append(x.shape)
        out, back = jax.vjp(lambda q: apply(q, x), p)
        return out, back(weights)[0]

    outputs, gradients = [], []
    for n in sizes:
        for _ in range(2):
            x = rows_like(example, n)
            expected = net(x)
            weights = torch.randn_like(expected)
            names = dict(net.named_parameters())
            slopes = torch.autograd.grad((expected * weights).sum(), list(names.values()), allow_unused=True)
            out, gradient = value_and_gradient(params, jnp.asarray(x.numpy()), jnp.asarray(weights.numpy()))
            assert set(gradient) == set(names)
            assert out.dtype == expected.detach().numpy().dtype
            outputs.append(distance(out, expected.detach()))
            largest = max(float(s.abs().max()) for s in slopes if s is not None)
            for name, slope in zip(names, slopes, strict=True):
                slope = torch.zeros_like(names[name]) if slope is None else slope
                assert gradient[name].shape == slope.shape
                gradients.append(float(np.abs(np.asarray(gradient[name]) - slope.numpy()).max()) / largest)
    assert len(traced) == len(sizes)  # compiled once for each shape
    return max(outputs), max(gradients)
