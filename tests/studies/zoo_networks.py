"""Networks as the documentation of Equinox and Flax writes them, for the zoo of the studies' tests."""

import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx


class LeNet(eqx.Module):
    """LeCun et al. 1998 with max-pooling: two convolutions, three dense layers, 44,000 parameters at 28 x 28."""

    layers: eqx.nn.Sequential

    def __init__(self, key):
        keys = jax.random.split(key, 5)
        self.layers = eqx.nn.Sequential(
            [
                eqx.nn.Conv2d(1, 6, 5, padding=2, key=keys[0]),
                eqx.nn.Lambda(jax.nn.relu),
                eqx.nn.MaxPool2d(2, 2),
                eqx.nn.Conv2d(6, 16, 5, key=keys[1]),
                eqx.nn.Lambda(jax.nn.relu),
                eqx.nn.MaxPool2d(2, 2),
                eqx.nn.Lambda(jnp.ravel),
                eqx.nn.Linear(400, 120, key=keys[2]),
                eqx.nn.Lambda(jax.nn.relu),
                eqx.nn.Linear(120, 84, key=keys[3]),
                eqx.nn.Lambda(jax.nn.relu),
                eqx.nn.Linear(84, 10, key=keys[4]),
            ]
        )

    def __call__(self, x):
        return self.layers(x)


class ExampleCNN(eqx.Module):
    """The CNN of Equinox' MNIST example, functions in a list, log-probabilities out: 919,000 parameters."""

    layers: list

    def __init__(self, key):
        keys = jax.random.split(key, 4)
        self.layers = [
            eqx.nn.Conv2d(1, 3, kernel_size=4, key=keys[0]),
            eqx.nn.MaxPool2d(kernel_size=2),
            jax.nn.relu,
            jnp.ravel,
            eqx.nn.Linear(1728, 512, key=keys[1]),
            jax.nn.sigmoid,
            eqx.nn.Linear(512, 64, key=keys[2]),
            jax.nn.relu,
            eqx.nn.Linear(64, 10, key=keys[3]),
            jax.nn.log_softmax,
        ]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Block(eqx.Module):
    """A basic residual block with batch normalisation; a 1 x 1 convolution where shapes change."""

    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    norms: list
    short: eqx.nn.Conv2d | None

    def __init__(self, channels, out, stride, key):
        a, b, c = jax.random.split(key, 3)
        self.first = eqx.nn.Conv2d(channels, out, 3, stride, 1, use_bias=False, key=a)
        self.second = eqx.nn.Conv2d(out, out, 3, 1, 1, use_bias=False, key=b)
        self.norms = [eqx.nn.BatchNorm(out, "batch", mode="batch") for _ in range(2)]
        self.short = None if stride == 1 and channels == out else eqx.nn.Conv2d(channels, out, 1, stride, key=c)

    def __call__(self, x, state):
        y, state = self.norms[0](self.first(x), state)
        y, state = self.norms[1](self.second(jax.nn.relu(y)), state)
        return jax.nn.relu(y + (x if self.short is None else self.short(x))), state


class ResNet(eqx.Module):
    """Three stages of blocks as in He et al. 2016 for small images; three blocks a stage are ResNet-20."""

    stem: eqx.nn.Conv2d
    blocks: list
    head: eqx.nn.Linear

    def __init__(self, key, blocks=3, width=16):
        keys = jax.random.split(key, 3 * blocks + 2)
        self.stem = eqx.nn.Conv2d(1, width, 3, padding=1, key=keys[0])
        self.blocks, channels = [], width
        for number in range(3 * blocks):
            out = width * 2 ** (number // blocks)
            self.blocks.append(Block(channels, out, 1 + (out != channels), keys[number + 1]))
            channels = out
        self.head = eqx.nn.Linear(channels, 10, key=keys[-1])

    def __call__(self, x, state):
        x = self.stem(x)
        for block in self.blocks:
            x, state = block(x, state)
        return self.head(x.mean((1, 2))), state


class NnxBlock(nnx.Module):
    def __init__(self, width, rngs):
        self.first = nnx.Conv(width, width, (3, 3), rngs=rngs)
        self.second = nnx.Conv(width, width, (3, 3), rngs=rngs)
        self.norms = nnx.List([nnx.BatchNorm(width, rngs=rngs), nnx.BatchNorm(width, rngs=rngs)])

    def __call__(self, x):
        y = nnx.relu(self.norms[0](self.first(x)))
        return nnx.relu(x + self.norms[1](self.second(y)))


class NnxResNet(nnx.Module):
    """A residual network of Flax: channels last, of a batch."""

    def __init__(self, rngs, width=8, blocks=2):
        self.stem = nnx.Conv(1, width, (3, 3), rngs=rngs)
        self.blocks = nnx.List([NnxBlock(width, rngs) for _ in range(blocks)])
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.head = nnx.Linear(width, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return self.head(self.drop(x.mean((1, 2))))


class UNet(eqx.Module):
    """Down, up by repetition, a skip connection by concatenation, and global pooling into ten scores."""

    down: eqx.nn.Conv2d
    middle: eqx.nn.Conv2d
    up: eqx.nn.ConvTranspose2d
    last: eqx.nn.Conv2d
    pool: eqx.nn.AvgPool2d
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 5)
        self.down = eqx.nn.Conv2d(1, 8, 3, padding=1, key=keys[0])
        self.pool = eqx.nn.AvgPool2d(2, 2)
        self.middle = eqx.nn.Conv2d(8, 16, 3, padding=1, key=keys[1])
        self.up = eqx.nn.ConvTranspose2d(16, 8, 2, 2, key=keys[2])
        self.last = eqx.nn.Conv2d(24, 8, 3, padding=1, key=keys[3])
        self.head = eqx.nn.Linear(8, 10, key=keys[4])

    def __call__(self, x):
        fine = jax.nn.relu(self.down(x))
        coarse = jax.nn.relu(self.middle(self.pool(fine)))
        repeated = jax.image.resize(coarse, (coarse.shape[0], *fine.shape[1:]), "nearest")[:8]
        joined = jnp.concatenate([fine, self.up(coarse), repeated])
        return self.head(jax.nn.relu(self.last(joined)).mean((1, 2)))


class EncoderBlock(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norms: list
    mlp: eqx.nn.MLP

    def __init__(self, width, key):
        a, b = jax.random.split(key)
        self.attention = eqx.nn.MultiheadAttention(4, width, key=a)
        self.norms = [eqx.nn.LayerNorm(width) for _ in range(2)]
        self.mlp = eqx.nn.MLP(width, width, 2 * width, 1, jax.nn.gelu, key=b)

    def __call__(self, x):
        y = jax.vmap(self.norms[0])(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))


class ViT(eqx.Module):
    """Patches, a class token, learned positions, two encoder blocks."""

    patches: eqx.nn.Conv2d
    token: jax.Array
    positions: jax.Array
    blocks: list
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __init__(self, key, side=16, patch=4, width=32):
        keys = jax.random.split(key, 6)
        self.patches = eqx.nn.Conv2d(1, width, patch, patch, key=keys[0])
        self.token = 0.02 * jax.random.normal(keys[1], (1, width))
        self.positions = 0.02 * jax.random.normal(keys[2], ((side // patch) ** 2 + 1, width))
        self.blocks = [EncoderBlock(width, k) for k in keys[3:5]]
        self.norm = eqx.nn.LayerNorm(width)
        self.head = eqx.nn.Linear(width, 10, key=keys[5])

    def __call__(self, x):
        x = self.patches(x)
        x = jnp.concatenate([self.token, x.reshape(len(x), -1).T]) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[0]))


class RowGRU(eqx.Module):
    """A GRU that reads an image row by row."""

    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear

    def __init__(self, key, inputs=8, hidden=32):
        a, b = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(inputs, hidden, key=a)
        self.head = eqx.nn.Linear(hidden, 10, key=b)

    def __call__(self, x):
        last, _ = jax.lax.scan(lambda h, row: (self.cell(row, h), None), jnp.zeros(self.cell.hidden_size), x)
        return self.head(last)


class TokenClassifier(eqx.Module):
    """Words as integers: their vectors, one residual dense layer at each, the mean over positions, two scores."""

    words: eqx.nn.Embedding
    mixer: eqx.nn.Linear
    head: eqx.nn.Linear

    def __init__(self, key, words=20, width=16):
        a, b, c = jax.random.split(key, 3)
        self.words = eqx.nn.Embedding(words, width, key=a)
        self.mixer = eqx.nn.Linear(width, width, key=b)
        self.head = eqx.nn.Linear(width, 2, key=c)

    def __call__(self, tokens):
        x = jax.vmap(self.words)(tokens)
        x = x + jax.nn.relu(jax.vmap(self.mixer)(x))
        return self.head(x.mean(0))


class LanguageModel(nnx.Module):
    """Words as integers, one block of causal attention, scores of the words at every position: a sequence."""

    def __init__(self, rngs, words=12, width=8):
        self.words = nnx.Embed(words, width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, width, decode=False, rngs=rngs)
        self.head = nnx.Linear(width, words, rngs=rngs)

    def __call__(self, tokens):
        x = self.words(tokens)
        return self.head(x + self.attention(x, mask=nnx.make_causal_mask(tokens)))
