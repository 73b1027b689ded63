"""Pretext tasks: labels that images bring along, so that a network learns features where nobody has labelled any."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, Real

from leadline.learning import cross_entropy
from leadline.training import RowLosses

#: the eight neighbours of the middle patch in rows of three, the middle left out
PLACES = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2))

Images = Real[Array, "n height width"]


class RotationTask(eqx.Module):
    """By how many quarter turns was an image turned? Four classes (Gidaris, Singh and Komodakis 2018).

    With `disc`, pixels outside the inscribed disc are set to 0: frames, margins and cut corners tell the turn without
    a look at what is shown, and are gone then.

    >>> turned, labels = RotationTask()(jnp.eye(4)[None].repeat(8, axis=0), key=jax.random.key(0))
    >>> turned.shape, set(labels.tolist()) <= {0, 1, 2, 3}
    ((8, 4, 4), True)
    """

    disc: bool = eqx.field(static=True, default=False)

    @property
    def classes(self) -> int:
        return 4

    def __call__(self, images: Images, *, key: PRNGKeyArray) -> tuple[Images, Int[Array, " n"]]:
        if images.shape[1] != images.shape[2]:
            raise ValueError(f"RotationTask got images of {images.shape[1:]}; quarter turns need square ones.")
        labels = jax.random.randint(key, (len(images),), 0, 4)
        turns = [lambda image, k=k: jnp.rot90(image, k) for k in range(4)]
        turned = jax.vmap(lambda image, k: jax.lax.switch(k, turns, image))(self.seen(images), labels)
        return turned, labels

    def seen(self, images: Images) -> Images:
        """The images as the network sees them, unturned: without their corners if `disc`."""
        if not self.disc:
            return images
        side = images.shape[1]
        at = jnp.arange(side) - (side - 1) / 2
        return images * (at[:, None] ** 2 + at**2 <= (side / 2) ** 2)


class PatchTask(eqx.Module):
    """Where does the second patch lie, seen from the first? Eight classes (Doersch, Gupta and Efros 2015).

    The first patch is the middle of a grid of three by three, the second one of its neighbours. Lines that run from one
    patch into the next tell the place without a look at the object: `gap` pixels between patches and a random `jitter`
    of each, of at most that many pixels, take such cues away.

    >>> pairs, labels = PatchTask(2, gap=1)(jnp.zeros((5, 8, 8)), key=jax.random.key(0))
    >>> pairs.shape, labels.shape
    ((5, 2, 2, 2), (5,))
    """

    patch: int = eqx.field(static=True)
    gap: int = eqx.field(static=True, default=0)
    jitter: int = eqx.field(static=True, default=0)

    @property
    def classes(self) -> int:
        return 8

    def __call__(self, images: Images, *, key: PRNGKeyArray) -> tuple[Real[Array, "n 2 patch patch"], Int[Array, " n"]]:
        self._check(images)
        key_place, key_jitter = jax.random.split(key)
        labels = jax.random.randint(key_place, (len(images),), 0, 8)
        moved = jax.random.randint(key_jitter, (len(images), 2, 2), -self.jitter, self.jitter + 1)
        places = jnp.stack([jnp.ones((len(images), 2), int), jnp.asarray(PLACES)[labels]], axis=1)
        return jax.vmap(lambda image, p, m: self._cut(image, p, m))(images, places, moved), labels

    def grid(self, images: Images) -> Real[Array, "n 9 patch patch"]:
        """All nine patches of each image, in their places: what an encoder of patches reads of a whole image."""
        self._check(images)
        places = jnp.stack(jnp.meshgrid(jnp.arange(3), jnp.arange(3), indexing="ij"), axis=-1).reshape(9, 2)
        return jax.vmap(lambda image: self._cut(image, places, jnp.zeros((9, 2), int)))(images)

    def _cut(self, image: Array, places: Int[Array, "k 2"], moved: Int[Array, "k 2"]) -> Array:
        pitch = self.patch + self.gap
        sides = jnp.array(image.shape)
        corners = (sides - 2 * pitch - self.patch) // 2 + places * pitch + moved
        corners = jnp.clip(corners, 0, sides - self.patch)
        return jax.vmap(lambda at: jax.lax.dynamic_slice(image, at, (self.patch, self.patch)))(corners)

    def _check(self, images: Images) -> None:
        needed = 3 * self.patch + 2 * self.gap
        if self.patch < 1 or min(self.gap, self.jitter) < 0 or min(images.shape[1:]) < needed:
            raise ValueError(
                f"PatchTask of {self.patch} pixels with gap {self.gap} and jitter {self.jitter} got images of "
                f"{images.shape[1:]}; three patches and two gaps need {needed} pixels a side."
            )


class Pretext(eqx.Module):
    """The objective of a pretext task for `training.fit`: rows are images, and every step draws its own questions.

    The network maps one input of the task to its class scores; the history has the accuracy.

    >>> objective = Pretext(RotationTask())
    >>> rows, _ = objective(lambda image: jnp.zeros(4), jnp.ones((6, 8, 8)), jax.random.key(0), None)
    >>> [round(float(v), 4) for v in rows.losses[:2]]
    [1.3863, 1.3863]
    """

    task: Callable = eqx.field(static=True)

    def __call__(self, model: Callable, images: Images, key: PRNGKeyArray, state: PyTree) -> tuple[RowLosses, PyTree]:
        inputs, labels = self.task(images, key=key)
        outputs = jax.vmap(model)(inputs)
        right = (jnp.argmax(outputs, axis=1) == labels).astype(outputs.dtype)
        return RowLosses(cross_entropy(outputs, labels), None, {"accuracy": right}), state


class PatchComparer(eqx.Module):
    """Scores of the eight places from a pair of patches: one encoder reads both, a linear layer compares them.

    >>> net = PatchComparer(eqx.nn.MLP(4, 3, 8, 1, key=jax.random.key(0)), 3, key=jax.random.key(1))
    >>> net(jnp.zeros((2, 2, 2))).shape
    (8,)
    """

    encoder: Callable[[Array], Array]
    head: eqx.nn.Linear

    def __init__(self, encoder: Callable[[Array], Array], features: int, *, dtype=None, key: PRNGKeyArray):
        self.encoder, self.head = encoder, eqx.nn.Linear(2 * features, 8, dtype=dtype, key=key)

    def __call__(self, pair: Float[Array, "2 patch patch"]) -> Float[Array, " 8"]:
        return self.head(jax.vmap(lambda patch: self.encoder(patch.ravel()))(pair).ravel())

    def features(self, grid: Float[Array, "9 patch patch"]) -> Float[Array, " _"]:
        """What the encoder has of the nine patches of an image."""
        return jax.vmap(lambda patch: self.encoder(patch.ravel()))(grid).ravel()
