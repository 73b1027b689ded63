"""A network as a chain of maps, one after the other: affine, activation, pooling, reshaping; or why it is none."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadline.differentiation.programs.traced_program import Fixed, Step

from .elementwise import ScalarFunction

LARGEST_MATRIX = 2**24  # entries of a dense matrix that is made of an affine step


@dataclass(frozen=True, eq=False)
class ChainStep:
    """One map of a chain, called on one value of shape `in_shape`.

    kind: "affine" (W x + b; `weight` is W as a dense matrix (out, in) of the flattened values where the layer is dense,
    with all scales in it, and None for convolutions and other maps; `bias` is b flattened, or None where it is 0),
    "activation" (entry by entry; `function` says which), "pool" (largest value or sum over windows) or "reshape" (moves
    numbers). `lipschitz` bounds the Euclidean Lipschitz constant of all but affine steps, for which it is None.
    """

    kind: str
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    steps: tuple[Step, ...] = field(repr=False)
    start: int  #: the slot of the input
    end: int  #: the slot of the result
    constants: dict[int, Array] = field(repr=False)
    layer: int | None = None  #: the number of the layer among `Dissection.layers`
    weight: Float[np.ndarray, "out in"] | None = None
    bias: Float[np.ndarray, " out"] | None = None
    function: ScalarFunction | None = None
    lipschitz: float | None = None
    pool: str = ""  #: "max" or "mean" (any sum)
    window: tuple[int, ...] | None = None  #: of a pooling, over the axes that it pools
    stride: tuple[int, ...] | None = None
    dtype: Any = None

    def __call__(self, value: Float[Array, "..."]) -> Float[Array, "..."]:
        values: dict[int, Any] = {**self.constants, self.start: value}
        for step in self.steps:
            results = step.run(*(i.value if isinstance(i, Fixed) else values[i] for i in step.inputs))
            values.update(zip(step.outputs, results, strict=True))
        return values[self.end]

    @property
    def is_convolution(self) -> bool:
        return any(s.primitive == "conv_general_dilated" for s in self.steps)

    def linear(self, direction: Float[Array, "..."]) -> Float[Array, "..."]:
        """W v of an affine step: its derivative in a direction v of shape `in_shape`."""
        zero = jnp.zeros(self.in_shape, self.dtype)
        return jax.jvp(self.__call__, (zero,), (jnp.asarray(direction, self.dtype),))[1]

    def transposed(self, adjoint: Float[Array, "..."]) -> Float[Array, "..."]:
        """Wᵀ u of an affine step, for u of shape `out_shape`."""
        zero = jnp.zeros(self.in_shape, self.dtype)
        return jax.vjp(self.__call__, zero)[1](jnp.asarray(adjoint, self.dtype))[0]

    def matrix(self, largest: int = LARGEST_MATRIX) -> Float[np.ndarray, "out in"]:
        """W of an affine step as a dense matrix, of convolutions too, if it has at most `largest` entries."""
        if self.weight is not None:
            return self.weight
        rows, columns = math.prod(self.out_shape), math.prod(self.in_shape)
        if self.kind != "affine" or rows * columns > largest:
            raise ValueError(
                f"The {self.kind} step from {columns} to {rows} numbers has no dense matrix of at most {largest} "
                "entries; use `linear` and `transposed`."
            )
        return affine_matrix(self)


def affine_matrix(step: ChainStep) -> Float[np.ndarray, "out in"]:
    """The dense matrix of an affine step, column by column or row by row, whichever are fewer."""
    rows, columns = math.prod(step.out_shape), math.prod(step.in_shape)
    if columns <= rows:
        basis = jnp.eye(columns, dtype=step.dtype).reshape(columns, *step.in_shape)
        return np.asarray(jax.jit(jax.vmap(step.linear))(basis)).reshape(columns, rows).T
    basis = jnp.eye(rows, dtype=step.dtype).reshape(rows, *step.out_shape)
    return np.asarray(jax.jit(jax.vmap(step.transposed))(basis)).reshape(rows, columns)


@dataclass(frozen=True, eq=False)
class Chain:
    """f = step_m ∘ ... ∘ step_1 on one example; calling the chain gives the network's output.

    >>> from leadline.networks.dissection import dissect
    >>> from leadline.networks import MLP
    >>> from leadline import as_apply
    >>> chain = dissect(*as_apply(MLP((4, 3, 2), "tanh", key=jax.random.key(0))), jnp.ones((5, 4))).chain
    >>> [step.kind for step in chain], chain.affine[0].weight.shape, chain.activations[0].function.name
    (['reshape', 'affine', 'activation', 'affine'], (3, 4), 'tanh')
    """

    steps: tuple[ChainStep, ...]

    def __iter__(self) -> Iterator[ChainStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, number: int) -> ChainStep:
        return self.steps[number]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        for step in self.steps:
            x = step(x)
        return x

    @property
    def affine(self) -> tuple[ChainStep, ...]:
        """The affine steps."""
        return tuple(s for s in self.steps if s.kind == "affine")

    @property
    def activations(self) -> tuple[ChainStep, ...]:
        return tuple(s for s in self.steps if s.kind == "activation")

    @property
    def dense(self) -> bool:
        """Whether every step is a dense affine map, an activation or a reshaping: a plain multilayer perceptron."""
        return all(
            s.kind in ("activation", "reshape") or (s.kind == "affine" and s.weight is not None) for s in self.steps
        )
