"""`fit_many`: networks that differ in seed, width or step size, trained at once by one compiled, mapped loop."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key, PRNGKeyArray, PyTree

from .engine.engine import Engine
from .engine.epochs import Loop, Metrics, State
from .engine.objective import Objective
from .engine.players import Player
from .engine.streams import Shuffled
from .feeding import Schedule
from .fitting import Run
from .objectives import Loss, Sample, Supervised, checked_rows, checked_sample, loss_called
from .progress import Bar

Model = TypeVar("Model", bound=PyTree)


def fit_many(
    models: Sequence[Model],
    train: Any,
    *,
    optimiser: optax.GradientTransformation | Callable[[Float[Array, ""]], optax.GradientTransformation],
    rates: Sequence[float] | Float[Array | np.ndarray, " models"] | None = None,
    epochs: int,
    batch: int = 128,
    loss: str | Loss = "cross-entropy",
    objective: Objective | None = None,
    states: Sequence[PyTree] | None = None,
    validation: tuple[Any, Any] | None = None,
    key: PRNGKeyArray,
    progress: bool = False,
) -> list[Run[Model]]:
    """Train all models at once on the same data, each with batches of its own; one `Run` for each, in order.

    With `rates`, `optimiser` is a function such as `optax.adam` that is called with each model's own rate. Models of
    different widths are padded with zeros to the shapes of the widest and the padding is held at zero, which leaves
    each one's function and gradients as they are. `objective` and `states`, one for each model, are those of `fit`:
    several seeds of a network with dropout and batch normalisation; such models have one shape. A model whose loss is
    no longer finite does not stop the others: its run says "diverged".

    >>> from leadline.networks import MLP
    >>> x = jnp.linspace(-1, 1, 32)[:, None]
    >>> nets = [MLP((1, width, 1), "tanh", key=jax.random.key(width)) for width in (4, 8)]
    >>> runs = fit_many(nets, (x, x[:, 0] ** 2), optimiser=optax.adam, rates=[0.01, 0.02], epochs=200, batch=32,
    ...                 loss="squared", key=jax.random.key(0))
    >>> [run.model.widths for run in runs], all(run.history["loss"][-1] < 0.05 for run in runs)
    ([(1, 4, 1), (1, 8, 1)], True)
    """
    if not models:
        raise ValueError("fit_many got no models; give at least one.")
    if epochs < 1:
        raise ValueError(f"fit_many got epochs={epochs}; give 1 or more.")
    if rates is not None and len(rates) != len(models):
        raise ValueError(f"fit_many got {len(rates)} rates for {len(models)} models; give one for each.")
    if objective is None:
        objective, checked = Supervised(loss_called(loss)), partial(checked_sample, models[0], loss=loss)
    elif loss != "cross-entropy":
        raise ValueError("fit_many got a loss beside an objective, which has its own; give one of them.")
    else:
        checked = checked_rows
    sample = jax.device_put(checked(train))
    held = None if validation is None else jax.device_put(checked(validation, what="validation"))
    samples = len(jax.tree.leaves(sample)[0])
    if not 1 <= batch <= samples:
        raise ValueError(f"fit_many got batch={batch} for {samples} examples; choose 1 to that number.")
    stacked, masks, rest = _stack(models, sample.inputs[0] if isinstance(sample, Sample) else None)
    mapped = _Mapped(rest, objective, optimiser, batch)
    rates = None if rates is None else jnp.asarray(rates, _dtype(stacked))
    keys = jax.random.split(key, len(models))
    state = _start(mapped, stacked, masks, rates, keys, _stacked_states(states, len(models)))
    steps = samples // batch
    size = sum(leaf.size for leaf in jax.tree.leaves(stacked))
    at_once = Schedule.of(size, batch, steps, epochs).epochs
    measured: list[Metrics] = []
    with Bar(epochs, 0, steps * batch * len(models), shown=progress) as bar:
        for done in range(0, epochs, at_once):
            count = min(at_once, epochs - done)
            state, metrics = _epochs(mapped, state, masks, rates, sample, held, keys, count)
            measured.append(metrics)
            bar.epoch(done + count, {"loss": float(jnp.nanmedian(metrics.loss[:, -1]))})
    joined = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *measured)
    return [
        _run(one, jax.tree.map(lambda values, i=index: values[i], joined), epochs, steps)
        for index, one in enumerate(_apart(models, state))
    ]


class _Mapped(eqx.Module):
    """What all members share."""

    rest: PyTree
    objective: Objective
    optimiser: Callable | optax.GradientTransformation
    batch: int = eqx.field(static=True)

    def loop(self, mask: PyTree, rate: Float[Array, ""] | None) -> Loop:
        """The loop of one member."""
        rule = self.optimiser if rate is None else self.optimiser(rate)
        return Loop(Engine((Player(self.objective, rule),), self.rest, mask=mask))


@eqx.filter_jit
def _start(
    mapped: _Mapped, stacked: PyTree, masks: PyTree, rates: Array | None, keys: Key[Array, " models"], states: PyTree
) -> State:
    def member(parameters: PyTree, mask: PyTree, rate: Array | None, key: PRNGKeyArray, state: PyTree) -> State:
        return mapped.loop(mask, rate).start(parameters, key, state)

    return eqx.filter_vmap(member)(stacked, masks, rates, keys, states)


@eqx.filter_jit
def _epochs(
    mapped: _Mapped,
    state: State,
    masks: PyTree,
    rates: Array | None,
    train: PyTree,
    held: PyTree | None,
    keys: Key[Array, " models"],
    count: int,
) -> tuple[State, Metrics]:
    def member(state: State, mask: PyTree, rate: Array | None, key: PRNGKeyArray) -> tuple[State, Metrics]:
        return mapped.loop(mask, rate).epochs(state, Shuffled(train, mapped.batch), held, key, count)[:2]

    return eqx.filter_vmap(member)(state, masks, rates, keys)


def _stacked_states(states: Sequence[PyTree] | None, models: int) -> PyTree:
    """All states with a leading axis over models."""
    if states is None:
        return None
    if len(states) != models:
        raise ValueError(f"fit_many got {len(states)} states for {models} models; give one for each.")
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def _dtype(tree: PyTree) -> Any:
    """The floating type of a model's parameters."""
    return jax.tree.leaves(tree)[0].dtype


def _stack(models: Sequence[PyTree], example: Array | None) -> tuple[PyTree, PyTree, PyTree]:
    """All parameters with a leading axis over models, masks of the padding (None without), the widest's other parts."""
    split = [eqx.partition(model, eqx.is_inexact_array) for model in models]
    leaves = [jax.tree.leaves(parameters) for parameters, _ in split]
    if len({tuple(leaf.ndim for leaf in one) for one in leaves}) != 1:
        raise ValueError(
            "fit_many needs models of one kind and depth; these have different numbers of parameters arrays."
        )
    shapes = [
        tuple(max(sizes) for sizes in zip(*(leaf.shape for leaf in place), strict=True))
        for place in zip(*leaves, strict=True)
    ]
    widest = next((i for i, one in enumerate(leaves) if [leaf.shape for leaf in one] == shapes), None)
    if widest is None:
        raise ValueError(
            "fit_many needs one model that is at least as wide as the others in every layer; there is none."
        )
    structure, rest = jax.tree.structure(split[widest][0]), split[widest][1]
    padded = [[_pad(leaf, shape) for leaf, shape in zip(one, shapes, strict=True)] for one in leaves]
    stacked = jax.tree.unflatten(structure, [jnp.stack(place) for place in zip(*padded, strict=True)])
    if all(leaf.shape == shape for one in leaves for leaf, shape in zip(one, shapes, strict=True)):
        if any(not eqx.tree_equal(other, rest) for _, other in split):
            raise ValueError(
                "fit_many got models that differ in more than their parameters; train each kind by itself."
            )
        return stacked, None, rest
    if example is None:
        raise ValueError("fit_many got models of different widths beside an objective; train one width at a time.")
    _check_padding(models, padded, structure, rest, example)
    ones = [[_pad(jnp.ones_like(leaf), shape) for leaf, shape in zip(one, shapes, strict=True)] for one in leaves]
    return stacked, jax.tree.unflatten(structure, [jnp.stack(place) for place in zip(*ones, strict=True)]), rest


def _pad(leaf: Array, shape: tuple[int, ...]) -> Array:
    if leaf.shape == shape:
        return leaf
    return jnp.pad(leaf, [(0, int(most) - own) for own, most in zip(leaf.shape, shape, strict=True)])


def _check_padding(models: Sequence[PyTree], padded: list, structure: Any, rest: PyTree, example: Array) -> None:
    """Zeros must not change what a model computes; they would in one that divides by its width, say."""
    for model, leaves in zip(models, padded, strict=True):
        wide = eqx.combine(jax.tree.unflatten(structure, leaves), rest)
        before, after = model(example), wide(example)
        if before.shape != after.shape or not jnp.allclose(before, after, rtol=1e-3, atol=1e-5):
            raise ValueError(
                "fit_many cannot pad these models to one width, because zeros change what they compute; "
                "train models of this kind one width at a time."
            )


class _Member(NamedTuple):
    """One model's end: its last and its best parameters in it, and the objective's states beside them."""

    last: Any
    best: Any
    state: PyTree
    best_state: PyTree


def _apart(models: Sequence[Model], state: State) -> list[_Member]:
    """The end of each model, which is cut on the host: there a slice costs nothing."""
    host = jax.device_get(state)
    stacked = [jax.tree.leaves(part) for part in (host.carried.parameters, host.best)]
    split = [eqx.partition(model, eqx.is_inexact_array) for model in models]
    leaves = [jax.tree.leaves(parameters) for parameters, _ in split]
    cut = [
        (
            [[_cropped(wide[index], leaf.shape) for wide, leaf in zip(part, own, strict=True)] for part in stacked],
            jax.tree.map(lambda wide, i=index: wide[i], (host.carried.state, host.best_state)),
        )
        for index, own in enumerate(leaves)
    ]
    return [
        _Member(
            *(eqx.combine(jax.tree.unflatten(jax.tree.structure(parameters), part), rest) for part in parts), *states
        )
        for (parameters, rest), (parts, states) in zip(split, jax.device_put(cut), strict=True)
    ]


def _cropped(wide: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return wide[tuple(slice(n) for n in shape)]


def _run(member: _Member, metrics: Metrics, epochs: int, num_steps: int) -> Run:
    """One member's run from its column of every metric."""
    history: dict[str, np.ndarray] = {"epoch": np.arange(1, epochs + 1), "step": np.arange(1, epochs + 1) * num_steps}
    history |= {name: np.asarray(values) for name, values in metrics.columns().items() if np.isfinite(values).any()}
    bad, reason, warnings = metrics.bad_step, "finished", ()
    if (bad >= 0).any():
        epoch = int(np.argmax(bad >= 0))
        reason = "diverged"
        warnings = (f"The loss stopped being finite at step {epoch * num_steps + bad[epoch]} (epoch {epoch + 1}).",)
    return Run(member.last, member.best, history, epochs, reason, warnings, member.state, best_state=member.best_state)
