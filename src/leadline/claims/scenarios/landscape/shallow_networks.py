"""The classifier with one hidden layer of tanh units that the entries on Fisher information train and differentiate: a
`networks.MLP` whose weights are one flat vector, in the order of its leaves."""

from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import data, networks, optimisation, training
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.fisher_spectra import FisherSpectrum
from leadline.optimisation.objectives.any_loss import FlatLoss


def logits_of(network: networks.MLP, x: jax.Array) -> jax.Array:
    return jax.vmap(network)(x)


def cross_entropy(network: networks.MLP, x: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean cross-entropy; labels as rows of probabilities (n, classes)."""
    return jnp.mean(optax.softmax_cross_entropy(logits_of(network, x), labels))


_logits = eqx.filter_jit(logits_of)


@dataclass(frozen=True)
class ShallowClassifier:
    """Logits V tanh(Wx + b) + c."""

    inputs: int
    hidden: int
    classes: int

    @cached_property
    def zero(self) -> networks.MLP:
        widths = (self.inputs, self.hidden, self.classes)
        return networks.MLP(widths, "tanh", init="zeros", key=jax.random.key(0))

    @property
    def size(self) -> int:
        return networks.parameter_count(self.zero)

    @property
    def names(self) -> tuple[str, ...]:
        """The layer of each weight."""
        return sloppiness.entry_names(self.zero, entries=False)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """W and V from N(0, 1/fan-in), biases 0."""
        d, h, c = self.inputs, self.hidden, self.classes
        first, second = rng.normal(size=h * d) / d**0.5, rng.normal(size=c * h) / h**0.5
        return np.concatenate([first, np.zeros(h), second, np.zeros(c)])

    def network(self, w: np.ndarray) -> networks.MLP:
        return ravel_pytree(self.zero)[1](jnp.asarray(w))

    def logits(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """At one weight vector, or at each of many, one after the other."""
        if w.ndim > 1:
            return np.stack([self.logits(v, x) for v in w])
        return np.asarray(_logits(self.network(w), x))

    def objective(self, x: np.ndarray, labels: np.ndarray) -> FlatLoss:
        """The mean cross-entropy as a function of the flat weights."""
        return optimisation.flat_objective(cross_entropy, self.zero, x, labels)[0]

    def train(self, w, x, labels, num_steps: int, *, rate: float = 1e-2, every: int | None = None) -> np.ndarray:
        """Adam on the whole set: the weights after every so many steps (only the first and the last by default)."""
        points = _adam_points(self.objective(x, labels), jnp.asarray(w), rate, num_steps, every or max(num_steps, 1))
        return np.concatenate([w[None], points])

    def accuracy(self, w: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """At one weight vector (p,), or at each of many (..., p)."""
        return np.mean(self.logits(w, x).argmax(axis=-1) == labels.argmax(axis=1), axis=-1)

    def spectrum(self, w: np.ndarray, x: np.ndarray) -> FisherSpectrum:
        """The Fisher spectrum at w on these inputs."""
        return sloppiness.fisher_spectrum(self.root(w, x), self.names)

    def root(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The stacked square-root Jacobian at w on these inputs."""
        return sloppiness.softmax_root_jacobian(logits_of, self.network(w), x)

    def hessian(self, w: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The Hessian of the mean cross-entropy."""
        return np.asarray(eqx.filter_jit(FlatLoss.hessian)(self.objective(x, labels), jnp.asarray(w)))


@eqx.filter_jit
def _adam_points(loss: FlatLoss, start: jax.Array, rate: float, num_steps: int, every: int) -> jax.Array:
    """The weights after each `every` steps of Adam."""
    steps = {"num_steps": num_steps, "every": every, "record": lambda seen: seen.after.parameters}
    return training.scan_steps(lambda w, *_: (loss(w), None), start, optax.adam(rate), None, **steps).recorded


def one_hot(labels: np.ndarray, classes: int) -> np.ndarray:
    return np.eye(classes)[labels]


def digit_set(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`count` random training digits and their labels as rows."""
    images, labels, *_ = data.digits_split()
    rows = rng.choice(len(labels), count, replace=False)
    return images[rows], one_hot(labels[rows], 10)
