"""Three networks on the digits, with the same weights in JAX and in PyTorch, for the races of this folder."""

from typing import Any

import numpy as np

HEADS, WIDTH, TOKENS = 2, 32, 8

SHAPES = {
    "mlp": {"w1": (64, 64), "b1": (64,), "w2": (64, 64), "b2": (64,), "w3": (10, 64), "b3": (10,)},
    "cnn": {"k1": (16, 1, 3, 3), "b1": (16,), "k2": (32, 16, 3, 3), "b2": (32,), "w3": (10, 32 * 64), "b3": (10,)},
    "transformer": {
        "embed": (WIDTH, 8),
        "place": (TOKENS, WIDTH),
        "gain1": (WIDTH,),
        "shift1": (WIDTH,),
        "qkv": (3 * WIDTH, WIDTH),
        "out": (WIDTH, WIDTH),
        "gain2": (WIDTH,),
        "shift2": (WIDTH,),
        "up": (4 * WIDTH, WIDTH),
        "up_bias": (4 * WIDTH,),
        "down": (WIDTH, 4 * WIDTH),
        "down_bias": (WIDTH,),
        "head": (10, WIDTH),
        "head_bias": (10,),
    },
}


def digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    bundle = load_digits()
    return (bundle.images / 16).astype(np.float32), bundle.target.astype(np.int64)


def first_weights(network: str) -> dict[str, np.ndarray]:
    """Normal weights of variance 1/fan-in, small biases (so that no ReLU sits at its kink), gains about 1."""
    rng, weights = np.random.default_rng(0), {}
    for name, shape in SHAPES[network].items():
        deviation = 0.1 if len(shape) == 1 or name == "place" else np.prod(shape[1:]) ** -0.5
        weights[name] = (deviation * rng.normal(size=shape) + name.startswith("gain")).astype(np.float32)
    return weights


def jax_apply(network: str) -> Any:
    """f(params, images) -> logits."""
    import jax
    import jax.numpy as jnp

    def mlp(p: Any, x: Any) -> Any:
        x = jnp.tanh(x.reshape(-1, 64) @ p["w1"].T + p["b1"])
        return jnp.tanh(x @ p["w2"].T + p["b2"]) @ p["w3"].T + p["b3"]

    def cnn(p: Any, x: Any) -> Any:
        x = x[:, None]
        for k, b in (("k1", "b1"), ("k2", "b2")):
            x = jax.nn.relu(jax.lax.conv(x, p[k], (1, 1), "SAME") + p[b][:, None, None])
        return x.reshape(len(x), -1) @ p["w3"].T + p["b3"]

    def normed(x: Any, gain: Any, shift: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + shift

    def transformer(p: Any, x: Any) -> Any:
        h = x @ p["embed"].T + p["place"]  # (n, tokens, width)
        qkv = normed(h, p["gain1"], p["shift1"]) @ p["qkv"].T
        q, k, v = (part.reshape(*part.shape[:2], HEADS, -1) for part in jnp.split(qkv, 3, axis=-1))
        scores = jax.nn.softmax(jnp.einsum("nthd,nshd->nhts", q, k) * (WIDTH // HEADS) ** -0.5)
        h = h + jnp.einsum("nhts,nshd->nthd", scores, v).reshape(h.shape) @ p["out"].T
        up = jax.nn.gelu(normed(h, p["gain2"], p["shift2"]) @ p["up"].T + p["up_bias"], approximate=True)
        h = h + up @ p["down"].T + p["down_bias"]
        return h.mean(axis=1) @ p["head"].T + p["head_bias"]

    return {"mlp": mlp, "cnn": cnn, "transformer": transformer}[network]


def jax_loss(network: str) -> Any:
    """loss(params, images, labels): the mean cross-entropy."""
    import optax

    apply = jax_apply(network)
    return lambda p, x, y: optax.softmax_cross_entropy_with_integer_labels(apply(p, x), y).mean()


def torch_model(network: str, weights: dict[str, np.ndarray], dtype: Any = None) -> Any:
    """The same as a torch.nn.Module; its parameters come in the order of `weights`."""
    import torch
    from torch.nn import functional as F

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, value in weights.items():
                setattr(self, name, torch.nn.Parameter(torch.tensor(value, dtype=dtype or torch.float32)))

        def forward(self, x: Any) -> Any:
            return {"mlp": self.mlp, "cnn": self.cnn, "transformer": self.transformer}[network](x)

        def mlp(self, x: Any) -> Any:
            x = torch.tanh(F.linear(x.reshape(-1, 64), self.w1, self.b1))
            return F.linear(torch.tanh(F.linear(x, self.w2, self.b2)), self.w3, self.b3)

        def cnn(self, x: Any) -> Any:
            x = F.relu(F.conv2d(x[:, None], self.k1, self.b1, padding=1))
            x = F.relu(F.conv2d(x, self.k2, self.b2, padding=1))
            return F.linear(x.flatten(1), self.w3, self.b3)

        def transformer(self, x: Any) -> Any:
            h = F.linear(x, self.embed) + self.place
            qkv = F.linear(F.layer_norm(h, (WIDTH,), self.gain1, self.shift1), self.qkv)
            q, k, v = (part.reshape(*part.shape[:2], HEADS, -1) for part in qkv.chunk(3, dim=-1))
            scores = torch.softmax(torch.einsum("nthd,nshd->nhts", q, k) * (WIDTH // HEADS) ** -0.5, dim=-1)
            h = h + F.linear(torch.einsum("nhts,nshd->nthd", scores, v).reshape(h.shape), self.out)
            up = F.gelu(
                F.linear(F.layer_norm(h, (WIDTH,), self.gain2, self.shift2), self.up, self.up_bias), approximate="tanh"
            )
            h = h + F.linear(up, self.down, self.down_bias)
            return F.linear(h.mean(dim=1), self.head, self.head_bias)

    return Network()


def trained_weights(network: str, steps: int = 200) -> dict[str, np.ndarray]:
    """The weights after some steps of Adam on batches of 128: outliers have left the bulk, as in a network in use."""
    import jax
    import optax

    loss, rule = jax_loss(network), optax.adam(3e-3)
    x, y = digits()

    @jax.jit
    def run(weights: Any, x: Any, y: Any) -> Any:
        def step(state: Any, rows: Any) -> Any:
            weights, memory = state
            update, memory = rule.update(jax.grad(loss)(weights, x[rows], y[rows]), memory)
            return (optax.apply_updates(weights, update), memory), None

        rows = np.random.default_rng(0).integers(len(x), size=(steps, 128))
        return jax.lax.scan(step, (weights, rule.init(weights)), rows)[0][0]

    weights = run(first_weights(network), x, y)
    return {name: np.asarray(weights[name]) for name in SHAPES[network]}
