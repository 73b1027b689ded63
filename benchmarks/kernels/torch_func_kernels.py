"""torch.func with the two routes of its own tutorial on neural tangent kernels."""

import torch
from torch.func import functional_call, jacrev, jvp, vjp, vmap

from ..harness.case import Inputs
from ..relu_network import layers, sequential
from . import OUTPUTS


def _network(inputs: Inputs):
    net = sequential(layers(inputs))
    params = {name: p.detach() for name, p in net.named_parameters()}
    return (lambda params, x: functional_call(net, params, (x[None],))[0]), params, torch.from_numpy(inputs["x"])


def jacobian_contraction(inputs: Inputs):
    f, params, x = _network(inputs)

    def ntk():
        jacobian = vmap(jacrev(f), (None, 0))(params, x)
        parts = [j.reshape(len(x) * OUTPUTS, -1) for j in jacobian.values()]
        return sum(part @ part.T for part in parts).numpy()

    return ntk


def vector_products(inputs: Inputs):
    f, params, x = _network(inputs)

    def block(x1, x2):
        def column(v):
            _, pull = vjp(lambda p: f(p, x1), params)
            return jvp(lambda p: f(p, x2), (params,), (pull(v)[0],))[1]

        return vmap(column)(torch.eye(OUTPUTS))

    def ntk():
        return torch.stack([vmap(block, (None, 0))(row, x) for row in x]).numpy()  # (n, n, outputs, outputs)

    return ntk, lambda K: K.transpose(0, 2, 1, 3).reshape(len(x) * OUTPUTS, -1)
