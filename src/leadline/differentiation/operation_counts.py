"""How many multiply-adds derivatives take: formulas, to be met by the tape's counter."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple


class MultiplyAdds(NamedTuple):
    """Multiply-adds of the matrix products of one example."""

    forward: int
    backward: int  # of the adjoints and the weights' gradients, without the adjoint of the input

    @property
    def ratio(self) -> float:
        """Forward and backward together, against forward."""
        return (self.forward + self.backward) / self.forward


def network_multiply_adds(widths: Sequence[int]) -> MultiplyAdds:
    """Of a fully connected network: Σ N_l N_{l-1} forward, as many for the weights' gradients and for the adjoints.

    The first layer's input needs no adjoint, so that the ratio is 3 - N₁N₀ / Σ N_l N_{l-1}, below 3 at any size.

    >>> network_multiply_adds((64, 64, 10)), round(network_multiply_adds((64, 64, 10)).ratio, 3)
    (MultiplyAdds(forward=4736, backward=5376), 2.135)
    """
    if len(widths) < 2 or min(widths) < 1:
        raise ValueError(f"A network needs two widths or more, all positive; got {tuple(widths)}.")
    layers = [a * b for a, b in itertools.pairwise(widths)]
    return MultiplyAdds(sum(layers), 2 * sum(layers) - layers[0])


def jacobian_chain_multiply_adds(sizes: Sequence[int]) -> tuple[int, int]:
    """Multiply-adds of J_k ⋯ J₂ J₁ from the output's side and from the input's, J_i of shape (n_i, n_{i-1}).

    From the output: n_k Σ_{i<k} n_i n_{i-1}; from the input: n₀ Σ_{i>1} n_i n_{i-1}. Output first is cheaper for one
    output (reverse mode), input first for one input (forward mode).

    >>> jacobian_chain_multiply_adds((100, 50, 20, 1))
    (6000, 102000)
    """
    if len(sizes) < 3 or min(sizes) < 1:
        raise ValueError(f"A chain of matrices needs three sizes or more, all positive; got {tuple(sizes)}.")
    pairs = [a * b for a, b in itertools.pairwise(sizes)]
    return sizes[-1] * sum(pairs[:-1]), sizes[0] * sum(pairs[1:])
