"""The McCulloch-Pitts unit, its gates, and the Boolean functions that one unit can compute."""

import itertools

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Int, Num

Bits = Num[Array | np.ndarray, "..."] | Bool[Array | np.ndarray, "..."]

LARGEST_INPUT_COUNT = 20


class ThresholdUnit(eqx.Module):
    """f(x) = 1{Σᵢ wᵢ xᵢ ≥ θ} for x in {0,1}ⁿ: fixed weights, no learning, a tie fires.

    McCulloch and Pitts (1943) take w in {-1,+1}ⁿ (inhibit, excite); any real weights are accepted. With `veto`, an
    active input that it marks silences the unit whatever the sum: the absolute inhibition of the 1943 paper.
    Inputs may be NumPy or JAX arrays of shape (..., n); the answer has shape (...) and the dtype bool.

    >>> import jax.numpy as jnp
    >>> unit = ThresholdUnit(jnp.array([1, 1, -1]), 2)      # two excite, one inhibits
    >>> unit(jnp.array([[1, 1, 0], [1, 1, 1]])).tolist()
    [True, False]
    """

    weights: Num[Array | np.ndarray, " n"]
    threshold: Num[Array | np.ndarray, ""] | int | float
    veto: Bool[Array | np.ndarray, " n"] | None = None

    def __call__(self, x: Bits) -> Bool[Array | np.ndarray, "..."]:
        if x.shape[-1:] != self.weights.shape:
            raise ValueError(
                f"The unit has {self.weights.shape[0]} inputs but x has shape {x.shape}: "
                "its last axis must be the inputs."
            )
        fires = x @ self.weights >= self.threshold
        return fires if self.veto is None else fires & ~((x != 0) & self.veto).any(-1)


def binary_inputs(n: int) -> Int[np.ndarray, "rows n"]:
    """All 2ⁿ points of {0,1}ⁿ, counting upwards in binary with the first input as the highest bit.

    >>> binary_inputs(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if not 0 <= n <= LARGEST_INPUT_COUNT:
        raise ValueError(f"There are 2^n inputs to list: n must be between 0 and {LARGEST_INPUT_COUNT}, not {n}.")
    return np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1) & 1


def truth_table(unit, n: int) -> Bool[np.ndarray, " rows"]:
    """The 2ⁿ answers of a unit, a network or any function of (..., n) bits, in the order of `binary_inputs`.

    >>> truth_table(gate("and", 2), 2).astype(int).tolist()
    [0, 0, 0, 1]
    """
    return np.asarray(unit(binary_inputs(n))) != 0


def gate(name: str, n: int = 2) -> ThresholdUnit:
    """The sign-weight unit of a gate on n inputs: "and", "or", "nand", "nor", "majority" (ties count) or "not" (n = 1).

    >>> truth_table(gate("majority", 3), 3).astype(int).tolist()
    [0, 0, 0, 1, 0, 1, 1, 1]
    """
    if n < 1 or (name == "not" and n != 1):
        raise ValueError(f"The gate '{name}' cannot have {n} inputs: 'not' takes one, the others one or more.")
    sign, threshold = {
        "and": (1, n),
        "or": (1, 1),
        "majority": (1, (n + 1) // 2),
        "nand": (-1, 1 - n),
        "nor": (-1, 0),
        "not": (-1, 0),
    }.get(name, (0, 0))
    if sign == 0:
        raise ValueError(f"There is no gate '{name}': choose and, or, nand, nor, majority or not.")
    return ThresholdUnit(np.full(n, sign), threshold)


def realised_tables(n: int, weights: tuple[int, ...] = (-1, 1)) -> Bool[np.ndarray, "functions rows"]:
    """The distinct truth tables of all units on n inputs whose integer weights come from the given set.

    Every weight vector meets every threshold that matters: the sum takes integer values, so θ from the smallest sum
    (always fires) to one above the largest (never fires). Signs give n 2ⁿ + 2 tables. Weights up to 1, 1, 2, 3 in
    absolute value already give every linearly separable function of n = 1, 2, 3, 4 inputs (Muroga 1971).

    >>> [len(realised_tables(n)) for n in (1, 2, 3)]
    [4, 10, 26]
    """
    candidates = len(weights) ** n
    if candidates * 2**n > 10**8:
        raise ValueError(
            f"{candidates} weight vectors on {n} inputs are too many to enumerate: lower n or the number of weights."
        )
    vectors = np.array(list(itertools.product(weights, repeat=n)), dtype=int).reshape(candidates, n)
    sums = vectors @ binary_inputs(n).T  # (vectors, 2ⁿ)
    thresholds = np.arange(sums.min(), sums.max() + 2)
    # A table is a row of bits packed into bytes, so that equal functions are equal rows, one threshold at a time.
    packed = [np.unique(np.packbits(sums >= theta, axis=1), axis=0) for theta in thresholds]
    return np.unpackbits(np.unique(np.concatenate(packed), axis=0), axis=1, count=2**n).astype(bool)
