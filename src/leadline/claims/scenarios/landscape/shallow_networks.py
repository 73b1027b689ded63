"""The classifier with one hidden layer of tanh units in closed form, without compilation: what the entries on Fisher
information train and differentiate. Weights are one flat vector, in the order of the leaves of `networks.MLP`; complex
weights are allowed, which gives exact second derivatives by complex steps."""

from dataclasses import dataclass

import numpy as np

from leadline import data
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.fisher_spectra import FisherSpectrum, softmax_root_rows


@dataclass(frozen=True)
class ShallowClassifier:
    """Logits V tanh(Wx + b) + c."""

    inputs: int
    hidden: int
    classes: int

    @property
    def size(self) -> int:
        return self.hidden * (self.inputs + 1) + self.classes * (self.hidden + 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The layer of each weight."""
        d, h, c = self.inputs, self.hidden, self.classes
        counts = {"layers[0].weight": h * d, "layers[0].bias": h, "layers[1].weight": c * h, "layers[1].bias": c}
        return tuple(name for name, count in counts.items() for _ in range(count))

    def draw(self, rng: np.random.Generator, gain: float = 1.0) -> np.ndarray:
        """W and V from N(0, gain²/fan-in), biases 0."""
        d, h, c = self.inputs, self.hidden, self.classes
        first, second = rng.normal(size=h * d) / d**0.5, rng.normal(size=c * h) / h**0.5
        return np.concatenate([gain * first, np.zeros(h), gain * second, np.zeros(c)])

    def split(self, w: np.ndarray) -> tuple[np.ndarray, ...]:
        d, h, c = self.inputs, self.hidden, self.classes
        first, bias, second, last = np.split(w, np.cumsum([h * d, h, c * h]))
        return first.reshape(h, d), bias, second.reshape(c, h), last

    def logits(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        first, bias, second, last = self.split(w)
        return np.tanh(x @ first.T + bias) @ second.T + last

    def loss(self, w: np.ndarray, x: np.ndarray, labels: np.ndarray) -> float:
        """The mean cross-entropy; labels as rows of probabilities (n, classes)."""
        z = self.logits(w, x)
        z = z - z.max(axis=1, keepdims=True)
        return float(np.mean(np.log(np.exp(z).sum(axis=1)) - (labels * z).sum(axis=1)))

    def gradient(self, w: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        first, bias, second, last = self.split(w)
        units = np.tanh(x @ first.T + bias)  # (n, h)
        error = (softmax(units @ second.T + last) - labels) / len(x)  # (n, classes)
        back = (error @ second) * (1 - units**2)
        return np.concatenate([(back.T @ x).ravel(), back.sum(0), (error.T @ units).ravel(), error.sum(0)])

    def jacobian(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The derivatives of the logits, (n, classes, p)."""
        first, bias, second, _ = self.split(w)
        n, h, c = len(x), self.hidden, self.classes
        units = np.tanh(x @ first.T + bias)
        inner = second[None] * (1 - units**2)[:, None]  # (n, c, h)
        eye = np.broadcast_to(np.eye(c), (n, c, c))
        first = np.einsum("nch,nd->nchd", inner, x).reshape(n, c, -1)
        second = np.einsum("cb,nh->ncbh", np.eye(c), units).reshape(n, c, c * h)
        return np.concatenate([first, inner, second, eye], axis=2)

    def train(
        self, w, x, labels, num_steps: int, *, rate: float = 1e-2, keep: tuple = (), basis: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Adam on the whole set: the last weights, and those after each of the numbers of steps in `keep`. With a basis
        in rows, Adam on the coordinates in it: `sloppiness.train_in_subspace` without compilation."""
        start, w = w, np.zeros_like(w) if basis is None else np.zeros(len(basis))
        slow, square, kept = np.zeros_like(w), np.zeros_like(w), {}
        for step in range(num_steps + 1):
            here = start + (w if basis is None else w @ basis)
            if step in keep:
                kept[step] = here
            if step == num_steps:
                break
            g = self.gradient(here, x, labels)
            g = g if basis is None else basis @ g
            slow, square = 0.9 * slow + 0.1 * g, 0.999 * square + 0.001 * g * g
            scale = np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8
            w = w - rate * slow / (1 - 0.9 ** (step + 1)) / scale
        return here, kept

    def accuracy(self, w: np.ndarray, x: np.ndarray, labels: np.ndarray) -> float:
        return float(np.mean(self.logits(w, x).argmax(axis=1) == labels.argmax(axis=1)))

    def spectrum(self, w: np.ndarray, x: np.ndarray) -> FisherSpectrum:
        """The Fisher spectrum at w on these inputs."""
        return sloppiness.fisher_spectrum(self.root(w, x), self.names)

    def root(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The stacked square-root Jacobian at w on these inputs."""
        return softmax_root_rows(self.logits(w, x), self.jacobian(w, x))

    def hessian(self, w: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The Hessian of the loss, one complex step of the gradient for each weight."""
        return complex_derivative(lambda v: self.gradient(v, x, labels), w)


def softmax(z: np.ndarray) -> np.ndarray:
    shifted = np.exp(z - z.real.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def complex_derivative(function, w: np.ndarray, step_size: float = 1e-30) -> np.ndarray:
    """The Jacobian Im F(w + i h eₖ)/h of an analytic function, columns by k: exact to rounding."""
    return np.stack([function(w + 1j * step_size * e).imag / step_size for e in np.eye(len(w))], axis=-1)


def one_hot(labels: np.ndarray, classes: int) -> np.ndarray:
    return np.eye(classes)[labels]


def digit_set(count: int, rng: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The first (or `count` random) training digits and their labels as rows."""
    images, labels, *_ = data.digits_split()
    rows = slice(count) if rng is None else rng.choice(len(labels), count, replace=False)
    return images[rows], one_hot(labels[rows], 10)
