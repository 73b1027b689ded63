"""Who trains: one with the whole model, or several with a part of it each, who take turns."""

from collections.abc import Callable, Sequence

import equinox as eqx
import optax
from jaxtyping import PyTree

from .objective import Objective


class Player(eqx.Module):
    """An objective, the Optax rule that makes it smaller, and which part of the model it may move.

    `objective(model, batch, key, state)` sees the whole model. A player moves the part of the model (a dictionary)
    that has its name, or all of it where the name is empty, `turns` times in a round and each time on a batch of its
    own. `gradient(model, batch, key, state)` replaces automatic differentiation: forces that have no potential, or a
    closed form.

    >>> critic = Player(lambda model, batch, key, state: (batch - model["critic"], state), optax.sgd(0.1), "critic", 5)
    >>> critic.part({"critic": 1.0, "generator": 2.0}), critic.put({"critic": 1.0, "generator": 2.0}, 3.0)
    (1.0, {'critic': 3.0, 'generator': 2.0})
    """

    objective: Objective
    optimiser: optax.GradientTransformation
    name: str = eqx.field(static=True, default="")
    turns: int = eqx.field(static=True, default=1)
    gradient: Callable[..., PyTree] | None = None

    def part(self, tree: PyTree) -> PyTree:
        """This player's part of a tree over all parameters."""
        return tree[self.name] if self.name else tree

    def put(self, tree: PyTree, part: PyTree) -> PyTree:
        """The tree with this player's part replaced."""
        return {**tree, self.name: part} if self.name else part


def check_players(players: Sequence[Player], model: PyTree) -> None:
    """ValueError unless each player has a part of the model of its own and at least one turn."""
    names = [player.name for player in players]
    if not players or len(set(names)) < len(names) or (len(names) > 1 and "" in names):
        raise ValueError(f"The players are called {names}; give at least one, and each of several a name of its own.")
    for player in players:
        if player.turns < 1:
            raise ValueError(f"The player {player.name!r} has {player.turns} turns in a round; give 1 or more.")
        if player.name and (not isinstance(model, dict) or player.name not in model):
            known = list(model) if isinstance(model, dict) else type(model).__name__
            raise ValueError(
                f"The player {player.name!r} has no part in the model ({known}); give a dictionary of parts."
            )
