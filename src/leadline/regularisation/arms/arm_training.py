"""Training an arm: all its seeds, and all members of its bag, by one call of `fit_many`."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num, PRNGKeyArray, PyTree

from leadline.training import fit_many

from ..committees.resamples import bootstrap_rows
from ..layers.modal_objective import ModalObjective
from ..layers.regularised_mlp import RegularisedMLP
from ..penalties.norms import matrices
from .arm import Arm
from .member_objective import Member, MemberObjective, Places
from .seeded_rows import SeededRows

_ROWS = 2000  # evaluated at once

#: make(key, dropout=, normalisation=) -> (network, state of its layers); without the keywords, networks without layers
MakeNetwork = Callable[..., tuple[Any, PyTree]]


def dense_networks(hidden: tuple[int, ...], inputs: int, classes: int) -> MakeNetwork:
    """ReLU networks with these hidden widths, He's start and 32-bit numbers, with the layers that an arm asks for.

    >>> net, _ = dense_networks((8,), 4, 3)(jax.random.key(0), dropout=0.5)
    >>> net.widths
    (4, 8, 3)
    """

    def make(key: PRNGKeyArray, *, dropout: float = 0.0, normalisation: Any = None) -> tuple[Any, PyTree]:
        build = eqx.nn.make_with_state(RegularisedMLP)
        widths = (inputs, *hidden, classes)
        return build(widths, dropout=dropout, normalisation=normalisation, dtype=jnp.float32, key=key)

    return make


class Lost(ValueError):
    """An arm whose loss stopped being finite, at which seeds."""


class TrainedArm(eqx.Module):
    """The trained networks of an arm, those of a seed side by side; it gives averaged probabilities of classes."""

    parameters: PyTree  #: seeds times bag along the first axis
    layers: PyTree  #: the states of the networks' layers, likewise
    shift: Float[Array, "members ..."]
    scale: Float[Array, "members ..."]
    rest: PyTree  #: what else a network has
    bag: int = eqx.field(static=True)

    def log_probabilities(self, x: Num[np.ndarray, "n ..."]) -> Float[np.ndarray, "seeds n classes"]:
        """ln of the mean over the bag of the probabilities, for the networks of each seed, in inference mode."""
        parts = [
            np.asarray(_log_probabilities(self, jnp.asarray(x[at : at + _ROWS]))) for at in range(0, len(x), _ROWS)
        ]
        return np.concatenate(parts, axis=1)

    def networks(self) -> Iterator[tuple[Any, PyTree]]:
        """Each network in its mode of training and the state of its layers, seed by seed, a bag's members in turn."""
        for member in range(len(self.shift)):
            own = jax.tree.map(operator.itemgetter(member), (self.parameters, self.layers))
            yield eqx.combine(own[0], self.rest), own[1]


@eqx.filter_jit
def _log_probabilities(arm: TrainedArm, x: Num[Array, "n ..."]) -> Float[Array, "seeds n classes"]:
    objective = ModalObjective()

    def member(parameters: PyTree, layers: PyTree, shift: Array, scale: Array) -> Array:
        network = _in_use(eqx.combine(parameters, arm.rest))
        return jax.nn.log_softmax(objective.outputs(network, (x - shift) / scale, None, layers)[0])

    found = eqx.filter_vmap(member)(arm.parameters, arm.layers, arm.shift, arm.scale)
    found = found.reshape(-1, arm.bag, *found.shape[1:])
    return jax.scipy.special.logsumexp(found, axis=1) - jnp.log(jnp.asarray(arm.bag, found.dtype))


def _in_use(network: Any) -> Any:
    """The network in inference mode, where it has modes."""
    parts = jax.tree.leaves(network, is_leaf=lambda part: hasattr(part, "inference"))
    return eqx.nn.inference_mode(network) if any(hasattr(part, "inference") for part in parts) else network


@dataclass(frozen=True)
class Trainer:
    """What all arms have in common: inputs, rows of each seed, networks, rule, number of steps and keys."""

    pool: Float[np.ndarray, "n ..."]
    drawn: SeededRows
    classes: int
    make: MakeNetwork
    rule: Callable[[Float[Array, ""]], optax.GradientTransformation]  #: of the strength of decay
    num_steps: int
    batch: int
    standardise: bool
    key: PRNGKeyArray

    def start(self, arm: Arm, teacher: Float[np.ndarray, "seeds n classes"] | None = None) -> list[tuple[Any, Member]]:
        """The untrained networks of an arm, seed by seed, each with what it has for itself.

        `teacher` has the probabilities of classes of all rows of the pool, by seed.
        """
        starting, resampling, _ = jax.random.split(self.key, 3)
        wanted = {"dropout": arm.dropout, "normalisation": arm.normalisation}
        wanted = {name: value for name, value in wanted.items() if value}
        begun, count = [], self.drawn.train
        for seed, (rows, labels) in enumerate(zip(self.drawn.rows, self.drawn.labels, strict=True)):
            own = jax.random.fold_in(starting, seed)
            targets = np.eye(self.classes, dtype=np.float32)[labels]
            if teacher is not None:
                targets[:count] = teacher[seed, rows[:count]]
            targets[:count] = (1 - arm.smoothing) * targets[:count] + arm.smoothing / self.classes
            shift, scale, noise = self._scaling(rows[:count], arm.noise)
            resamples = bootstrap_rows(count, arm.bag, key=jax.random.fold_in(resampling, seed))
            for number in range(arm.bag):
                seen = np.arange(len(rows))
                seen[:count] = resamples[number] if arm.bag > 1 else seen[:count]
                network, layers = self.make(jax.random.fold_in(own, number), **wanted)
                begun.append((network, Member(rows[seen], targets[seen], shift, scale, noise, layers)))
        return begun

    def _scaling(self, rows: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What is taken from inputs and divides them, from the training rows alone, and the noise in these units."""
        seen = self.pool[rows]
        if not self.standardise:
            spread = float(np.sqrt(seen.var(axis=0).mean()))
            return np.zeros_like(seen[0]), np.ones_like(seen[0]), np.asarray(noise * spread, np.float32)
        scale = seen.std(axis=0)
        scale = np.where(scale > 1e-6 * (scale.max() or 1.0), scale, 1.0)  # of a column that is always the same: 1
        return seen.mean(axis=0), scale, np.asarray(noise, np.float32)

    def untrained(self, arm: Arm) -> TrainedArm:
        """The arm before the first step: its structure, for those who read trained numbers from a file."""
        return _trained(self.start(arm), arm.bag)

    def train(self, arm: Arm, teacher: Float[np.ndarray, "seeds n classes"] | None = None) -> TrainedArm:
        """The arm trained; `Lost` if one of its networks diverged."""
        begun = self.start(arm, teacher)
        count = self.drawn.train
        epochs = -(-(arm.stop or self.num_steps) // (count // self.batch))
        held = Places(count + np.arange(self.drawn.held), np.zeros(self.drawn.held, np.float32))
        runs = fit_many(
            [network for network, _ in begun],
            Places(np.arange(count), np.ones(count, np.float32)),
            objective=MemberObjective(self.pool, noisy=arm.noise > 0),
            states=[member for _, member in begun],
            optimiser=self.rule,
            rates=[arm.decay] * len(begun),
            validation=held if arm.stop else None,
            epochs=epochs,
            batch=self.batch,
            key=jax.random.split(self.key, 3)[2],
        )
        lost = [str(index // arm.bag) for index, run in enumerate(runs) if run.reason == "diverged"]
        if lost:
            raise Lost(f"its loss stopped being finite at seed {', '.join(dict.fromkeys(lost))}")
        ends = [(run.best, run.best_state) if arm.stop else (run.model, run.state) for run in runs]
        return _trained(ends, arm.bag)


def _trained(ends: list[tuple[Any, Member]], bag: int) -> TrainedArm:
    split = [eqx.partition(network, eqx.is_inexact_array) for network, _ in ends]
    kept = [(parameters, m.layers, m.shift, m.scale) for (parameters, _), (_, m) in zip(split, ends, strict=True)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *kept)
    parameters, layers, shift, scale = stacked
    return TrainedArm(parameters, layers, shift, scale, split[0][1], bag)


def penalised_rule(
    optimiser: optax.GradientTransformation,
) -> Callable[[Float[Array, ""]], optax.GradientTransformation]:
    """decay -> the rule on the loss plus (decay/2)‖W‖² over weight matrices, whatever the rule makes of gradients."""
    return lambda decay: optax.chain(optax.add_decayed_weights(decay, mask=matrices), optimiser)
