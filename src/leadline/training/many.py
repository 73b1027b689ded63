"""`fit_many`: networks that differ in seed, width or step size, trained at once by one compiled, mapped loop."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from .engine.engine import Engine
from .engine.epochs import Loop, Metrics, State
from .engine.players import Player
from .engine.streams import Shuffled
from .feeding import Schedule
from .fitting import Run
from .objectives import Loss, Sample, Supervised, checked_sample, loss_called
from .progress import Bar

Model = TypeVar("Model", bound=PyTree)


def fit_many(
    models: Sequence[Model],
    train: tuple[Any, Any],
    *,
    optimiser: optax.GradientTransformation | Callable[[Float[Array, ""]], optax.GradientTransformation],
    rates: Sequence[float] | Float[Array | np.ndarray, " models"] | None = None,
    rows: Int[Array | np.ndarray, "models n"] | None = None,
    epochs: int,
    batch: int = 128,
    loss: str | Loss = "cross-entropy",
    validation: tuple[Any, Any] | None = None,
    key: PRNGKeyArray,
    progress: bool = False,
) -> list[Run[Model]]:
    """Train all models at once on the same data, each with batches of its own; one `Run` for each, in order.

    With `rates`, `optimiser` is a function such as `optax.adam` that is called with each model's own rate. Models of
    different widths are padded with zeros to the shapes of the widest and the padding is held at zero, which leaves
    each one's function and gradients as they are. With `rows` each model sees these rows of `train` alone, as often as
    they are named: resamples of a bootstrap, folds. A model whose loss is no longer finite does not stop the others:
    its run says "diverged".

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
    sample = jax.device_put(checked_sample(models[0], train, loss))
    held = None if validation is None else jax.device_put(checked_sample(models[0], validation, loss, "validation"))
    rows = None if rows is None else _checked_rows(np.asarray(rows), len(models), len(sample.inputs))
    examples = len(sample.inputs) if rows is None else rows.shape[1]
    if not 1 <= batch <= examples:
        raise ValueError(f"fit_many got batch={batch} for {examples} examples; choose 1 to that number.")
    stacked, masks, rest = _stack(models, sample.inputs[0])
    mapped = _Mapped(rest, loss_called(loss), optimiser, batch)
    rates = None if rates is None else jnp.asarray(rates, _dtype(stacked))
    keys = jax.random.split(key, len(models))
    state = _start(mapped, stacked, masks, rates, keys)
    steps = examples // batch
    size = sum(leaf.size for leaf in jax.tree.leaves(stacked))
    at_once = Schedule.of(size, batch, steps, epochs).epochs
    measured: list[Metrics] = []
    with Bar(epochs, 0, steps * batch * len(models), shown=progress) as bar:
        for done in range(0, epochs, at_once):
            count = min(at_once, epochs - done)
            state, metrics = _epochs(mapped, state, masks, rates, rows, sample, held, keys, count)
            measured.append(metrics)
            bar.epoch(done + count, {"loss": float(jnp.nanmedian(metrics.loss[:, -1]))})
    joined = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *measured)
    return [
        _run(last, best, jax.tree.map(lambda values, i=index: values[i], joined), epochs, steps)
        for index, (last, best) in enumerate(_apart(models, state))
    ]


class _Mapped(eqx.Module):
    """What all members share."""

    rest: PyTree
    loss: Loss = eqx.field(static=True)
    optimiser: Callable | optax.GradientTransformation
    batch: int = eqx.field(static=True)

    def loop(self, mask: PyTree, rate: Float[Array, ""] | None) -> Loop:
        """The loop of one member."""
        rule = self.optimiser if rate is None else self.optimiser(rate)
        return Loop(Engine((Player(Supervised(self.loss), rule),), self.rest, mask=mask))


@eqx.filter_jit
def _start(mapped: _Mapped, stacked: PyTree, masks: PyTree, rates: Array | None, keys: Key[Array, " models"]) -> State:
    def member(parameters: PyTree, mask: PyTree, rate: Array | None, key: PRNGKeyArray) -> State:
        return mapped.loop(mask, rate).start(parameters, key)

    return eqx.filter_vmap(member)(stacked, masks, rates, keys)


@eqx.filter_jit
def _epochs(
    mapped: _Mapped,
    state: State,
    masks: PyTree,
    rates: Array | None,
    rows: Int[Array, "models n"] | None,
    train: Sample,
    held: Sample | None,
    keys: Key[Array, " models"],
    count: int,
) -> tuple[State, Metrics]:
    def member(
        state: State, mask: PyTree, rate: Array | None, own: Int[Array, " n"] | None, key: PRNGKeyArray
    ) -> tuple[State, Metrics]:
        source = Shuffled(train, mapped.batch, chosen=own)
        return mapped.loop(mask, rate).epochs(state, source, held, key, count)[:2]

    return eqx.filter_vmap(member)(state, masks, rates, rows, keys)


def _checked_rows(rows: np.ndarray, models: int, examples: int) -> Int[Array, "models n"]:
    if rows.ndim != 2 or len(rows) != models or rows.dtype.kind not in "iu" or not rows.size:
        raise ValueError(
            f"fit_many got rows of type {rows.dtype} and shape {rows.shape} for {models} models; give row numbers, one "
            "line of them for each model."
        )
    if rows.min() < 0 or rows.max() >= examples:
        raise ValueError(
            f"fit_many got the row number {rows.min() if rows.min() < 0 else rows.max()} for {examples} examples; give "
            f"0 to {examples - 1}."
        )
    return jnp.asarray(rows)


def _dtype(tree: PyTree) -> Any:
    """The floating type of a model's parameters."""
    return jax.tree.leaves(tree)[0].dtype


def _stack(models: Sequence[PyTree], example: Array) -> tuple[PyTree, PyTree, PyTree]:
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
        return stacked, None, rest
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


def _apart(models: Sequence[Model], state: State) -> list[tuple[Model, Model]]:
    """Each model with its last and with its best parameters, which are cut on the host: there a slice costs nothing."""
    stacked = [jax.tree.leaves(part) for part in jax.device_get((state.carried.parameters, state.best))]
    split = [eqx.partition(model, eqx.is_inexact_array) for model in models]
    leaves = [jax.tree.leaves(parameters) for parameters, _ in split]
    cut = [
        [[_cropped(wide[index], leaf.shape) for wide, leaf in zip(part, own, strict=True)] for part in stacked]
        for index, own in enumerate(leaves)
    ]
    return [
        tuple(eqx.combine(jax.tree.unflatten(jax.tree.structure(parameters), part), rest) for part in parts)
        for (parameters, rest), parts in zip(split, jax.device_put(cut), strict=True)
    ]


def _cropped(wide: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return wide[tuple(slice(n) for n in shape)]


def _run(last: Model, best: Model, metrics: Metrics, epochs: int, num_steps: int) -> Run[Model]:
    """One member's run from its column of every metric."""
    history: dict[str, np.ndarray] = {"epoch": np.arange(1, epochs + 1), "step": np.arange(1, epochs + 1) * num_steps}
    history |= {name: np.asarray(values) for name, values in metrics.columns().items() if np.isfinite(values).any()}
    bad = metrics.bad_step
    if (bad < 0).all():
        return Run(last, best, history, epochs, "finished")
    epoch = int(np.argmax(bad >= 0))
    warning = f"The loss stopped being finite at step {epoch * num_steps + bad[epoch]} (epoch {epoch + 1})."
    return Run(last, best, history, epochs, "diverged", (warning,))
