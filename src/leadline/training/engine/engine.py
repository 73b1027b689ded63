"""The engine: one pure step of every player, and the scan of it over a stream of batches."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .accumulation import batch_loss, loss_and_gradient
from .averages import averages_after, averages_from
from .layout import Layout
from .objective import RowLosses, as_row_losses, mean_loss
from .players import Player, check_players
from .recording import Seen, loss_seen, scan_recorded

Fetch = Callable[[PyTree], PyTree]


class Carried(NamedTuple):
    """All that goes from step to step, one pytree of arrays: what a checkpoint must hold for a run to go on alike."""

    step: Int[Array, ""]
    parameters: PyTree
    opt_state: PyTree  #: of the one player, or by the players' names
    state: PyTree  #: the objective's: an Equinox `State`, any pytree of arrays, or None
    averages: tuple[PyTree, ...]  #: of the parameters, one for each decay
    key: PRNGKeyArray | None  #: of the run

    def step_key(self) -> PRNGKeyArray | None:
        """The key of the coming step: of the run's key and the step's number alone."""
        return None if self.key is None else jax.random.fold_in(self.key, self.step)


class Turn(NamedTuple):
    """What one turn of one player saw."""

    item: PyTree
    rows: RowLosses
    loss: Float[Array, ""]
    gradient: PyTree


def as_it_is(item: PyTree) -> PyTree:
    """The item of a stream that already is the batch."""
    return item


class Engine(eqx.Module):
    """What stays the same during a run; its methods are pure functions of what is carried."""

    players: tuple[Player, ...]
    rest: PyTree  #: of the model: what is not a floating-point array
    decays: tuple[float, ...] = eqx.field(static=True, default=())
    micro: int = eqx.field(static=True, default=1)  #: micro-batches to a batch
    mask: PyTree = None  #: 0 where a parameter is only there to give narrower networks the shape of the widest
    layout: Layout | None = eqx.field(static=True, default=None)  #: of batches and parameters over devices

    @property
    def batches(self) -> int:
        """How many batches a step takes: one for each turn of each player."""
        return sum(player.turns for player in self.players)

    def model(self, parameters: PyTree) -> PyTree:
        """The model with these parameters."""
        if self.mask is not None:
            parameters = jax.tree.map(jnp.multiply, parameters, self.mask)
        return eqx.combine(parameters, self.rest)

    def start(self, parameters: PyTree, key: PRNGKeyArray | None = None, state: PyTree = None) -> Carried:
        """What is carried into the first step."""
        opt_state = {player.name: player.optimiser.init(player.part(parameters)) for player in self.players}
        opt_state = opt_state.get("", opt_state)
        return Carried(
            jnp.zeros((), jnp.int32),
            parameters,
            opt_state,
            jax.tree.map(jnp.asarray, state),
            averages_from(self.decays, parameters),
            key,
        )

    def turn(
        self, player: Player, at: Carried, item: PyTree, key: PRNGKeyArray | None, fetch: Fetch
    ) -> tuple[Carried, Turn]:
        """One update by one player on one batch; the rule is told the loss here and as a function."""

        def ask(part: PyTree, item: PyTree, key: PRNGKeyArray | None, state: PyTree) -> tuple[RowLosses, PyTree]:
            rows, after = player.objective(
                self.model(player.put(at.parameters, part)), self.batch(item, fetch), key, state
            )
            return as_row_losses(rows), after

        part, told = player.part(at.parameters), at.state
        if player.gradient is None:
            loss, rows, state, gradient = loss_and_gradient(ask, part, item, key, told, self.micro)
        else:
            rows, state = ask(part, item, key, told)
            loss = mean_loss(rows)
            gradient = player.gradient(self.model(at.parameters), self.batch(item, fetch), key, told)
        moved, memory = apply_rule(
            player.optimiser,
            player.part(at.opt_state),
            part,
            loss,
            gradient,
            lambda other: batch_loss(ask, other, item, key, told, self.micro),
        )
        at = at._replace(
            parameters=self._laid_out(player.put(at.parameters, moved)),
            opt_state=self._laid_out(player.put(at.opt_state, memory)),
            state=state,
        )
        return at, Turn(item, rows, loss, gradient)

    def batch(self, item: PyTree, fetch: Fetch) -> PyTree:
        """The batch of an item of the stream, shared out among devices where there is a layout."""
        return fetch(item) if self.layout is None else self.layout.shared_out(fetch(item))

    def step(self, at: Carried, item: PyTree, number: Int[Array, ""], fetch: Fetch = as_it_is) -> tuple[Carried, Seen]:
        """A round: every player's turns, in order; `item` has a leading axis over turns where there are several."""
        key = at.step_key()
        before, turns = at, {}
        if self.batches == 1:
            at, turns[self.players[0].name] = self.turn(self.players[0], at, item, key, fetch)
        else:
            first = 0
            for player in self.players:
                at, turns[player.name] = self._turns(player, at, item, first, key, fetch)
                first += player.turns
        averages = averages_after(self.decays, at.averages, at.parameters)
        at = at._replace(step=at.step + 1, averages=averages)
        told = [
            {name: self.batch(turn.item, fetch) for name, turn in turns.items()},
            *({name: turn[place] for name, turn in turns.items()} for place in (1, 2, 3)),
        ]
        batch, rows, loss, gradient = (column.get("", column) for column in told)
        return at, Seen(number, before, batch, rows, loss, gradient, at)

    def run(
        self,
        at: Carried,
        stream: PyTree,
        *,
        num_steps: int | None = None,
        fetch: Fetch = as_it_is,
        measure: Callable[[Seen], PyTree] = loss_seen,
        record: Callable[[Seen], PyTree] | None = None,
        every: int = 1,
    ) -> tuple[Carried, PyTree, PyTree]:
        """The steps on the items of a stream: the end, `measure` of every step, `record` of every so many."""
        length = jax.tree.leaves(stream)[0].shape[0] if num_steps is None else num_steps

        def step(at: Carried, item: PyTree, number: Array) -> tuple[Carried, Seen]:
            return self.step(at, item, number, fetch)

        return scan_recorded(step, at, stream, length, measure=measure, record=record, every=every)

    def _turns(
        self, player: Player, at: Carried, items: PyTree, first: int, key: PRNGKeyArray | None, fetch: Fetch
    ) -> tuple[Carried, Turn]:
        """All turns of one player in a round, which are number `first` and those after it."""

        def one(at: Carried, given: tuple) -> tuple[Carried, Turn]:
            number, item = given
            own = None if key is None else jax.random.fold_in(key, number)
            return self.turn(player, at, item, own, fetch)

        given = first + jnp.arange(player.turns), jax.tree.map(lambda a: a[first : first + player.turns], items)
        if player.turns == 1:
            return one(at, jax.tree.map(lambda a: a[0], given))
        at, turns = jax.lax.scan(one, at, given)
        return at, jax.tree.map(lambda a: a[-1], turns)

    def _laid_out(self, tree: PyTree) -> PyTree:
        return tree if self.layout is None else self.layout.held(tree)


def engine_of(
    model: PyTree,
    players: Player | Sequence[Player],
    *,
    averages: Sequence[float] = (),
    micro: int = 1,
    mask: PyTree = None,
    layout: Layout | None = None,
) -> tuple[Engine, PyTree]:
    """The engine for a model, and the model's parameters: its floating-point arrays."""
    players = (players,) if isinstance(players, Player) else tuple(players)
    check_players(players, model)
    if micro < 1 or (micro > 1 and any(player.gradient is not None for player in players)):
        raise ValueError(f"The engine got {micro} micro-batches; give 1 or more, and 1 with a gradient of your own.")
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)
    averages_from(averages, None)
    return Engine(players, rest, tuple(averages), micro, mask, layout), parameters


def apply_rule(
    optimiser: optax.GradientTransformation,
    opt_state: PyTree,
    parameters: PyTree,
    value: Float[Array, ""],
    gradient: PyTree,
    value_fn: Callable[[PyTree], Float[Array, ""]],
) -> tuple[PyTree, PyTree]:
    """One step of an Optax rule: the new parameters and the rule's new state.

    The rule is told the loss at these parameters and as a function, which line searches and Newton's method ask for.

    >>> rule = optax.sgd(0.5)
    >>> w = jnp.array([1.0])
    >>> apply_rule(rule, rule.init(w), w, w @ w, 2 * w, lambda w: w @ w)[0].tolist()
    [0.0]
    """
    told = optax.with_extra_args_support(optimiser)
    change, opt_state = told.update(gradient, opt_state, parameters, value=value, grad=gradient, value_fn=value_fn)
    return optax.apply_updates(parameters, change), opt_state
