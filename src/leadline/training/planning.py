"""What `fit` was asked to do, checked, as the parts of a run: the loop, its beginning, and where batches come from."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray, PyTree

from .engine.engine import engine_of
from .engine.epochs import Loop, State
from .engine.layout import Layout
from .engine.objective import Objective
from .engine.players import Player
from .engine.recording import Recorder
from .engine.streams import Drawn, Hosted, Shuffled
from .feeding import source_of, start
from .objectives import Loss, Supervised, checked_rows, checked_sample, loss_called


class Plan(NamedTuple):
    """The parts of a run that do not change."""

    loop: Loop
    parameters: PyTree
    state: PyTree
    source: Shuffled | Hosted | Drawn
    held: PyTree
    key: PRNGKeyArray
    settings: dict[str, Any]  # what must be the same when the run is resumed

    def begin(self) -> State:
        """The state before the first step."""
        return self.placed(start(self.loop, self.parameters, self.key, self.state))

    def placed(self, state: State) -> State:
        """The state on the devices of the layout, where there is one."""
        layout = self.loop.engine.layout
        return state if layout is None else layout.place(state)

    def steps_before(self, epoch: int | Any) -> int:
        """How many steps are made before an epoch, counted from 0."""
        return int(epoch) * self.source.num_steps

    def no_records(self) -> PyTree:
        """What is recorded, without a record in it."""
        if self.loop.recorder is None:
            return None
        source, key, state = self.source, self.key, self.begin()
        if isinstance(source, Hosted):
            items = jax.eval_shape(source.take, source.items(0, key=key)[: self.loop.recorder.every])
            source = source.given
        else:
            items = jax.eval_shape(lambda: source.items(0, key=key))
        found = jax.eval_shape(lambda s, i: self.loop.steps(s, source, i)[2], state.carried, items)
        return jax.tree.map(lambda leaf: np.zeros((0, *leaf.shape[1:]), leaf.dtype), found)


def plan(
    model: PyTree,
    train: Any,
    validation: Any,
    *,
    optimiser: optax.GradientTransformation | None,
    batch: int,
    loss: str | Loss,
    objective: Objective | None,
    players: Sequence[Player],
    state: PyTree,
    averages: Sequence[float],
    micro: int,
    recorder: Recorder | None,
    num_steps: int | None,
    patience: int | None,
    key: PRNGKeyArray,
    mesh: Mesh | None,
    shard: bool,
) -> Plan:
    """The run that `fit` describes; ValueError says what does not fit together."""
    plain = objective is None and not players
    if plain:
        train = checked_sample(model, train, loss)
        validation = None if validation is None else checked_sample(model, validation, loss, "validation")
        objective = Supervised(loss_called(loss))
    elif loss != "cross-entropy":
        raise ValueError("fit got a loss beside an objective or players, which have their own; give one of them.")
    elif not callable(train):
        train = checked_rows(train)
        validation = None if validation is None else checked_rows(validation, "validation")
    if not players and objective is not None and optimiser is not None:
        players = (Player(objective, optimiser),)
    elif not players or objective is not None or optimiser is not None:
        raise ValueError("fit needs an optimiser, or players that have one and an objective each; give one of the two.")
    layout = None if mesh is None else Layout(mesh, shard)
    engine, parameters = engine_of(model, players, averages=averages, micro=micro, layout=layout)
    source = _source(train, batch, engine.batches, num_steps, micro, layout)
    held = validation if validation is None or layout is None else layout.place(validation, whole=True)
    settings = {
        "batch": batch,
        "patience": patience,
        "loss": loss if plain and isinstance(loss, str) else " ".join(_name(p.objective) for p in players),
        "key": np.asarray(jax.random.key_data(key)).tolist(),
        "averages": list(averages),
        "micro-batches": micro,
        "turns": [player.turns for player in players],
    }
    held = None if held is None else jax.device_put(held) if layout is None else held
    return Plan(Loop(engine, patience, recorder), parameters, state, source, held, key, settings)


def _source(
    train: Any, batch: int, together: int, num_steps: int | None, micro: int, layout: Layout | None
) -> Shuffled | Hosted | Drawn:
    if callable(train):
        if num_steps is None or num_steps < 1 or micro > 1:
            raise ValueError(
                f"fit got a function that draws batches, num_steps={num_steps} and micro={micro}; say how many steps "
                "make an epoch, and leave micro at 1."
            )
        return Drawn(train, num_steps, together)
    if num_steps is not None:
        raise ValueError(f"fit got num_steps={num_steps} for rows of data, of which an epoch takes all; leave it out.")
    samples = len(jax.tree.leaves(train)[0])
    if not 1 <= batch <= samples // together:
        raise ValueError(f"fit got batch={batch} for {samples} training examples; choose 1 to {samples // together}.")
    shares = micro * (1 if layout is None else layout.shares)
    if batch % shares:
        raise ValueError(f"fit got batch={batch} for {shares} equal parts (micro-batches, devices); choose a multiple.")
    if layout is not None:
        return Shuffled(layout.place(train, whole=True), batch, together)
    return source_of(train, batch, together)


def _name(objective: Callable) -> str:
    objective = objective.loss if isinstance(objective, Supervised) else objective
    return getattr(objective, "__qualname__", type(objective).__qualname__)
