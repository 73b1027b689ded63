"""What to say when a loss is no longer finite: at which step, and the likely cause, measured."""

import math
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .engine.epochs import Loop, Measured, State
from .engine.objective import as_row_losses, mean_loss
from .engine.players import Player
from .engine.streams import Source
from .feeding import items_of, run_steps

if TYPE_CHECKING:
    from .fitting import Run


class Diverged(RuntimeError):
    """The loss is not finite. `step` and `epoch` count from 0; `run` holds the last finite state and its history."""

    def __init__(self, message: str, *, step: int, epoch: int, cause: str, run: "Run"):
        super().__init__(message)
        self.step, self.epoch, self.cause, self.run = step, epoch, cause, run


@eqx.filter_jit
def _measure(loop: Loop, player: Player, state: State, source: Source, item: PyTree) -> tuple[Float[Array, ""], ...]:
    """Gradient norm and the length of the optimiser's step, of one player on one batch."""
    at = state.carried
    key = at.step_key()
    part = player.part(at.parameters)
    moved, turn = loop.engine.turn(player, at, item, key, source.fetch)
    length = optax.tree.norm(optax.tree.sub(player.part(moved.parameters), part))
    return optax.tree.norm(turn.gradient), length


def _sharpness(loop: Loop, player: Player, state: State, source: Source, item: PyTree) -> float:
    """The Hessian eigenvalue of largest modulus of one player on one batch; NaN where products are not finite."""
    from leadline.curvature import hessian

    at = state.carried
    key = at.step_key()

    def loss(part: PyTree, batch: PyTree) -> Float[Array, ""]:
        model = loop.engine.model(player.put(at.parameters, part))
        return mean_loss(as_row_losses(player.objective(model, batch, key, at.state)[0]))

    operator = hessian(loss, player.part(at.parameters), source.fetch(item))
    if not jnp.isfinite(operator(jnp.ones(operator.size, operator.dtype))).all():
        return math.nan
    return float(operator.top(1, which="magnitude", tolerance=1e-3).values[0])


def likely_cause(loop: Loop, calm: State, source: Any, key: PRNGKeyArray, num_steps: int) -> str:
    """Why the loss is not finite `num_steps` steps after the state `calm`, from measurements there and on the way."""
    fed, items = items_of(source, int(calm.epoch), num_steps + 1, key)
    measured = run_steps(loop, calm, fed, items)
    player = _first_bad(loop, measured)
    first = jax.tree.map(lambda a: a[0], items)
    if loop.engine.batches > 1:
        first = jax.tree.map(lambda a: a[sum(p.turns for p in _before(loop, player))], first)
    norm, length = (float(value) for value in _measure(loop, player, calm, fed, first))
    if num_steps == 0:
        return (
            f"the loss is not finite before any step is made (gradient norm {norm:.3g}): the outputs overflow; "
            "scale the inputs or the first weights down"
        )
    weighed = measured.gradient_norm[:num_steps]
    weighed = weighed[~jnp.isnan(weighed)]
    curvature = _sharpness(loop, player, calm, fed, first)
    last = float(weighed[-1]) if weighed.size else float("nan")
    rate = length / norm if norm > 0 else 0.0
    limit = 2 / rate if rate > 0 else float("inf")
    growth = f"the gradient norm went from {norm:.3g} to {last:.3g} within {num_steps} steps"
    if curvature > limit:
        factor = 1.5 * curvature * rate / 2
        advice = f"divide the step size by {factor:.2g} or more" if math.isfinite(factor) else "take a far smaller one"
        return (
            f"the steps are too long: the sharpness {curvature:.3g} is above 2/(step size) = {limit:.3g}, and "
            f"{growth}; {advice}"
        )
    if not last < 100 * norm:
        return (
            f"the gradients explode: {growth}, with sharpness {curvature:.3g} against 2/(step size) = {limit:.3g}; "
            "clip the gradient or take a smaller step size"
        )
    return (
        f"the loss itself left the range of its numbers ({growth}, sharpness {curvature:.3g}); "
        "look for a logarithm of 0 or a division by 0 in the loss or the model"
    )


def _first_bad(loop: Loop, measured: Measured) -> Player:
    """The player whose loss is the first not to be finite after the last step."""
    for player in loop.engine.players:
        if not bool(jnp.isfinite(measured.losses[player.name][-1])):
            return player
    return loop.engine.players[-1]


def _before(loop: Loop, player: Player) -> list[Player]:
    """The players whose turns come before."""
    names = [other.name for other in loop.engine.players]
    return list(loop.engine.players[: names.index(player.name)])
