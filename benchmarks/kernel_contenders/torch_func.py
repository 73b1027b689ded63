"""torch.func with the two routes of its own tutorial on neural tangent kernels; runs in an environment of its own."""

import torch
from protocol import EXAMPLES, points, serve, weights
from torch.func import functional_call, jacrev, jvp, vjp, vmap


def network():
    pairs = weights()
    layers = []
    for weight, bias in pairs:
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data, layer.bias.data = torch.from_numpy(weight), torch.from_numpy(bias)
        layers += [layer, torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    params = {name: p.detach() for name, p in net.named_parameters()}
    return (lambda params, x: functional_call(net, params, (x[None],))[0]), params, torch.from_numpy(points(EXAMPLES))


def jacobian_contraction():
    f, params, x = network()

    def ntk(x):
        n = len(x)
        jacobian = vmap(jacrev(f), (None, 0))(params, x)
        parts = [j.reshape(n * 10, -1) for j in jacobian.values()]
        return sum(part @ part.T for part in parts)

    return lambda: ntk(x[:2]), lambda: ntk(x)


def vector_products():
    f, params, x = network()

    def block(x1, x2):
        def column(v):
            _, pull = vjp(lambda p: f(p, x1), params)
            return jvp(lambda p: f(p, x2), (params,), (pull(v)[0],))[1]

        return vmap(column)(torch.eye(10))

    def ntk(x):
        return torch.stack([vmap(block, (None, 0))(row, x) for row in x])

    return lambda: ntk(x[:2]), lambda: ntk(x)


serve({"empirical jacobian": jacobian_contraction, "empirical products": vector_products})
