"""The zoo: networks that nobody here wrote for the instruments, each with its data, as subjects of a study.

`ZOO[name]()` makes the subject. A network of another framework joins by a function with @entry that returns what
`as_subject` takes: (model, train, test, options).
"""

import importlib.util
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_diabetes, load_digits
from studies import zoo_networks as networks

from leadline import as_apply
from leadline.studies import as_subject
from leadline.studies.subject import Subject

KEY = jax.random.key(0)
ZOO: dict[str, Callable[[], Subject]] = {}
CHEAP = ("mlp", "regression-mlp")  #: those that the fast tests study


def entry(make: Callable[[], tuple]) -> Callable[[], tuple]:
    """Put a network into the zoo under the function's name."""
    name = make.__name__.replace("_", "-")

    def subject() -> Subject:
        model, train, test, *options = make()
        return as_subject(model, train, test, name=name, **(options[0] if options else {}))

    ZOO[name] = subject
    return make


@lru_cache
def digits(side: int = 8, rows: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Digits of scikit-learn, each pixel repeated and the frame padded to `side`: (n, side, side) in [0, 1]."""
    x, y = load_digits(return_X_y=True)
    x = x.reshape(-1, 8, 8)[:rows] / 16
    times = side // 8
    x, rest = x.repeat(times, 1).repeat(times, 2), side - 8 * times
    return np.pad(x, ((0, 0), *2 * ((rest // 2, rest - rest // 2),))).astype(np.float32), y[:rows]


def halves(x: np.ndarray, y: np.ndarray, train: int = 400) -> tuple:
    """Training and test rows."""
    return (x[:train], y[:train]), (x[train:], y[train:])


def images(side: int, *, channel: int | None = None, flat: bool = False) -> tuple:
    """Digits as rows of numbers, or with a channel axis at `channel`."""
    x, y = digits(side)
    x = x.reshape(len(x), -1) if flat else x
    return halves(x if channel is None else np.expand_dims(x, channel), y)


def single(model: Any) -> Any:
    """The network in single precision, as the data are, whatever JAX's default."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if eqx.is_inexact_array(leaf) else leaf, model)


def trained(model: Any, rows: tuple[np.ndarray, np.ndarray], steps: int = 60) -> Any:
    """An Equinox module after some steps of Adam on batches of 64."""
    model = single(model)
    apply, params = as_apply(model)
    rule = optax.adam(2e-3)
    x, y = map(jnp.asarray, rows)

    def loss(params: Any, some: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(apply(params, x[some]), y[some]).mean()

    def step(carry: Any, key: Any) -> Any:
        params, state = carry
        gradient = jax.grad(loss)(params, jax.random.randint(key, (64,), 0, len(x)))
        change, state = rule.update(gradient, state)
        return (optax.apply_updates(params, change), state), None

    keys = jax.random.split(KEY, steps)
    (params, _), _ = jax.jit(lambda p: jax.lax.scan(step, (p, rule.init(p)), keys))(params)
    return eqx.combine(params, model)


def before(train: tuple, test: tuple, model: Any) -> tuple:
    """The trained network, its data and the network before."""
    model = single(model)
    return trained(model, train), train, test, {"start": model}


@entry
def mlp() -> tuple:
    return before(*images(8, flat=True), eqx.nn.MLP(64, 10, 32, 2, key=KEY))


@entry
def lenet() -> tuple:
    return before(*images(28, channel=1), networks.LeNet(KEY))


@entry
def equinox_cnn() -> tuple:
    train, test = images(28, channel=1)
    return trained(networks.ExampleCNN(KEY), train), train, test


@entry
def resnet() -> tuple:
    return single(eqx.nn.make_with_state(networks.ResNet)(KEY)), *images(16, channel=1)


@entry
def nnx_resnet() -> tuple:
    return networks.NnxResNet(nnx.Rngs(0)), *images(16, channel=3)


@entry
def unet() -> tuple:
    train, test = images(16, channel=1)
    return trained(networks.UNet(KEY), train), train, test


@entry
def vit() -> tuple:
    train, test = images(16, channel=1)
    return trained(networks.ViT(KEY), train), train, test


@entry
def gru() -> tuple:
    train, test = images(8)
    return trained(networks.RowGRU(KEY), train), train, test


@entry
def tokens() -> tuple:
    x = np.random.default_rng(0).integers(0, 20, (600, 12))
    train, test = halves(x, (x < 5).sum(1) > 3)
    train, test = ((x, y.astype(int)) for x, y in (train, test))
    return trained(networks.TokenClassifier(KEY), train), train, test


@entry
def regression_mlp() -> tuple:
    x, y = load_diabetes(return_X_y=True)
    x, y = (((a - a.mean(0)) / a.std(0)).astype(np.float32) for a in (x, y))
    return eqx.nn.MLP(10, "scalar", 24, 2, jax.nn.tanh, key=KEY), *halves(x, y, 300)


@entry
def large_mlp() -> tuple:
    train, test = images(28, flat=True)
    keys = jax.random.split(KEY, 4)
    sizes = (784, 2048, 1536, 400, 10)
    layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes, sizes[1:], keys, strict=False)]
    layers = [part for layer in layers for part in (layer, eqx.nn.Lambda(jax.nn.relu))][:-1]
    return trained(eqx.nn.Sequential(layers), train, 20), train, test


@entry
def language_model() -> tuple:
    x = np.random.default_rng(0).integers(0, 12, (160, 10))
    before = np.where(np.arange(10) > 0, np.roll(x, 1, axis=1), -1)  # the word before; the first has none
    return networks.LanguageModel(nnx.Rngs(0)), *halves(x, before, 100)


if importlib.util.find_spec("torch"):

    @entry
    def torch_resnet() -> tuple:
        import torch
        from frameworks.torch_modules.zoo import ResNet

        torch.manual_seed(0)
        x, y = digits(8)
        return ResNet(), *halves(np.repeat(x[:, None], 3, axis=1), y % 5)
