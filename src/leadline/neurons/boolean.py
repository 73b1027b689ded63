"""Boolean functions as two-layer threshold networks: a compiler, and what few hidden units can reach."""

import itertools
import math

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Int

from .threshold import Bits, binary_inputs, realised_tables


class ThresholdNetwork(eqx.Module):
    """f(x) = 1{Σₖ vₖ hₖ ≥ φ} of hidden units hₖ = 1{wₖ·x ≥ θₖ}, for x in {0,1}ᵈ; ties fire.

    Inputs are NumPy or JAX arrays of shape (..., d); the answer has shape (...) and the dtype bool.

    >>> xor = ThresholdNetwork(np.array([[1, 1], [-1, -1]]), np.array([1, -1]), np.array([1, 1]), 2)
    >>> xor(binary_inputs(2)).astype(int).tolist()
    [0, 1, 1, 0]
    """

    weights: Int[Array | np.ndarray, "hidden d"]
    thresholds: Int[Array | np.ndarray, " hidden"]
    output_weights: Int[Array | np.ndarray, " hidden"]
    output_threshold: int

    def hidden(self, x: Bits) -> Bool[Array | np.ndarray, "..."]:
        """Which hidden units fire: shape (..., hidden)."""
        if x.shape[-1:] != self.weights.shape[1:]:
            raise ValueError(
                f"The network has {self.weights.shape[1]} inputs but x has shape {x.shape}: "
                "its last axis must be the inputs."
            )
        return x @ self.weights.T >= self.thresholds

    def __call__(self, x: Bits) -> Bool[Array | np.ndarray, "..."]:
        return self.hidden(x).astype(int) @ self.output_weights >= self.output_threshold


def compile_truth_table(table: Bool[Array | np.ndarray, " rows"], *, complement: bool = True) -> ThresholdNetwork:
    """The depth-2 network of a truth table of 2ᵈ rows (in the order of `binary_inputs`), one hidden unit per minterm.

    The unit of a minterm has weight +1 where its bit is 1 and -1 where it is 0, and its number of ones as threshold, so
    it fires at that input alone. The output is an OR: at most 2ᵈ hidden units. With `complement`, a table with more
    ones than zeros has its zeros compiled and the output is a NOR: at most 2^{d-1} hidden units.

    >>> network = compile_truth_table(np.array([False, True, True, False]))      # XOR
    >>> network.weights.tolist(), network.thresholds.tolist()
    ([[-1, 1], [1, -1]], [1, 1])
    """
    table = np.asarray(table)
    dim = len(table).bit_length() - 1
    if table.ndim != 1 or len(table) != 2**dim:
        raise ValueError(f"A truth table has 2^d rows, one for each input, not the shape {table.shape}.")
    negate = complement and 2 * table.sum() > len(table)
    minterms = binary_inputs(dim)[table != negate]
    return ThresholdNetwork(
        weights=2 * minterms - 1,
        thresholds=minterms.sum(1),
        output_weights=np.full(len(minterms), -1 if negate else 1),
        output_threshold=0 if negate else 1,
    )


def compiled_share(dim: int, hidden: int) -> float:
    """Share of the 2^(2ᵈ) functions that `compile_truth_table` fits into a number of hidden units.

    A function with s ones takes min(s, 2ᵈ - s) units, so this is a sum of binomial coefficients.

    >>> compiled_share(2, 1), compiled_share(2, 2)
    (0.625, 1.0)
    """
    rows = 2**dim
    return sum(math.comb(rows, ones) for ones in range(rows + 1) if min(ones, rows - ones) <= hidden) / 2**rows


def functions_with_hidden_units(dim: int, hidden: int) -> int:
    """How many functions of d ≤ 3 bits some two-layer threshold network with that many hidden units computes.

    Exhaustive: every choice of hidden units among all linear threshold functions of the inputs, every linear threshold
    function of their values as output. Without hidden units the output sees nothing and is constant.

    >>> [functions_with_hidden_units(2, hidden) for hidden in (0, 1, 2)]
    [2, 14, 16]
    """
    if not 1 <= dim <= 3 or not 0 <= hidden <= 3:
        raise ValueError(
            f"The search is exhaustive for d in 1..3 and up to 3 hidden units, not d = {dim} and {hidden} units."
        )
    if hidden == 0:
        return 2
    units = _linear_functions(dim)
    units = units[~units[:, 0]]  # (units, 2ᵈ); the output unit can undo a negation, so one of f and not f is enough
    choices = np.array(list(itertools.combinations(range(len(units)), hidden)))
    # The index of the pattern of hidden values at each input; an output function is a table over these indices.
    index = sum(units[choice].astype(np.uint8) << k for k, choice in enumerate(choices.T))  # (choices, 2ᵈ)
    place = 1 << np.arange(2**dim)
    reached = {int(code) for output in _linear_functions(hidden) for code in np.unique(output[index] @ place)}
    return len(reached)


def _linear_functions(dim: int) -> Bool[np.ndarray, "functions rows"]:
    largest = {1: 1, 2: 1, 3: 2}[dim]
    return realised_tables(dim, tuple(range(-largest, largest + 1)))
