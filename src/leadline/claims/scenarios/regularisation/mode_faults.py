"""A trained network with dropout and batch normalisation, and the same with one mistake each in its modes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from leadline import data, training
from leadline.regularisation import ModalObjective, RegularisedMLP

BATCH = 32
_ROWS, _DIM, _EPOCHS = 256, 6, 30


class Seeded(NamedTuple):
    """What `audit_modes` is given: the network with its state, training inputs, new inputs, the size of a batch."""

    model: tuple[eqx.Module, eqx.nn.State]
    inputs: np.ndarray
    new_inputs: np.ndarray | None = None
    batch: int | None = None


def seeded_faults(width: int, rate: float, key: PRNGKeyArray) -> dict[str, tuple[str, Seeded]]:
    """By a description: the cause that was put into a working network (empty for none), and the network."""
    rng = data.generator(key)
    x = rng.normal(1.0, 2.0, size=(_ROWS, _DIM)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 2).astype(int)
    net, state = eqx.nn.make_with_state(RegularisedMLP)(
        (_DIM, width, width, 2), dropout=rate, normalisation="batch", dtype=jnp.float32, key=key
    )
    steps = _EPOCHS * (_ROWS // BATCH)
    run = training.fit(
        net,
        (x, y),
        objective=ModalObjective(),
        state=state,
        optimiser=optax.adam(optax.cosine_decay_schedule(0.01, steps)),
        epochs=_EPOCHS,
        batch=BATCH,
        key=key,
    )
    net, state = run.model, run.state
    used = eqx.nn.inference_mode(net)
    empty = jax.tree.map(jnp.zeros_like, state)
    old = jax.tree.map(lambda a: 0.05 * a if a.ndim else a, state)
    dropout_on = eqx.tree_at(lambda n: n.dropouts[1].inference, used, replace=False)
    norm_on = eqx.tree_at(lambda n: n.normalisations[0].inference, used, replace=False)
    return {
        "as trained": ("", Seeded((used, state), x, x[::-1], BATCH)),
        "never switched to use": ("dropout left on", Seeded((net, state), x)),
        "one dropout not switched": ("mode forgotten in one branch", Seeded((dropout_on, state), x)),
        "one norm not switched": ("mode forgotten in one branch", Seeded((norm_on, state), x)),
        "state dropped": ("stale statistics", Seeded((used, empty), x)),
        "state of other weights": ("stale statistics", Seeded((used, old), x)),
        "another axis": ("wrong axis", Seeded((_with(used, "axis_name", "time", last=True), state), x)),
        "statistics frozen": ("frozen buffers", Seeded((_with(used, "momentum", 1.0), state), x)),
        "batches of two": ("tiny batch", Seeded((used, state), x, batch=2)),
        "inputs shifted": ("domain shift", Seeded((used, state), x, 3 * x + 4, BATCH)),
    }


def _with(net: Any, field: str, value: Any, *, last: bool = False) -> Any:
    """The network whose normalisations (or the last of them) have another value of a fixed field."""
    where: Callable = (lambda n: n.normalisations[-1]) if last else (lambda n: n.normalisations)
    norms = net.normalisations[-1:] if last else net.normalisations
    changed = []
    for norm in norms:
        copy = object.__new__(type(norm))
        for name, old in vars(norm).items():
            object.__setattr__(copy, name, value if name == field else old)
        changed.append(copy)
    return eqx.tree_at(where, net, changed[0] if last else tuple(changed))
