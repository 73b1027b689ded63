"""Sequence networks by the name of their cell."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from .bidirectional import Bidirectional
from .cell import Cell
from .elman import Elman
from .gru import GRU
from .light_gru import LightGRU
from .lru import LRU
from .lstm import LSTM
from .mingru import MinGRU
from .sequence_network import Reading, SequenceNetwork
from .stack import ResidualBlock, Stack

#: cells by name, each called with inputs, units, options and a key
CELLS: dict[str, Callable[..., Cell]] = {
    "elman": Elman,
    "gru": GRU,
    "lstm": LSTM,
    "light-gru": LightGRU,
    "mingru": MinGRU,
    "lru": LRU,
}


def sequence_network(
    name: str,
    input_size: int,
    hidden_size: int,
    output_size: int,
    *,
    depth: int = 1,
    bidirectional: bool = False,
    residual: bool | None = None,
    vocabulary: int | None = None,
    reading: Reading = "steps",
    key: PRNGKeyArray,
    **options: Any,
) -> SequenceNetwork:
    """A stack of `depth` cells of one name in `CELLS`, with an embedding for tokens and a linear head.

    `options` go to every cell. With `residual` (the LRU's default) a linear map takes the inputs to `hidden_size`
    numbers and the cells stand in residual blocks of that width. Of tokens, `input_size` is the width of the embedding.

    >>> net = sequence_network("lstm", 28, 64, 10, depth=2, reading="last", key=jax.random.key(0))
    >>> [cell.input_size for cell in net.cell.cells]
    [28, 64]
    """
    if name not in CELLS:
        raise ValueError(f"There is no cell called {name!r}; choose one of {', '.join(CELLS)}.")
    if depth < 1:
        raise ValueError(f"sequence_network got depth={depth}; give 1 or more.")
    residual = name == "lru" if residual is None else residual
    if residual and bidirectional:
        raise ValueError("sequence_network makes residual blocks of one direction; leave one of the two out.")
    key_encoder, key_head, *keys = jax.random.split(key, 2 + 2 * depth)
    make = partial(CELLS[name], **options)
    encoder, size, cells = None, input_size, []
    if residual:
        size = hidden_size if vocabulary is None else input_size
        encoder = (
            eqx.nn.Linear(input_size, size, dtype=options.get("dtype"), key=key_encoder) if vocabulary is None else None
        )
    for here, there in zip(keys[::2], keys[1::2], strict=True):
        if residual:
            cells.append(ResidualBlock(make(size, size, key=here), key=there))
        elif bidirectional:
            cells.append(Bidirectional(make(size, hidden_size, key=here), make(size, hidden_size, key=there)))
            size = cells[-1].output_size
        else:
            cells.append(make(size, hidden_size, key=here))
            size = cells[-1].output_size
    cell = cells[0] if depth == 1 else Stack(cells)
    return SequenceNetwork(cell, output_size, reading=reading, vocabulary=vocabulary, encoder=encoder, key=key_head)
