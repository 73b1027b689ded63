"""How much a network can stretch differences of inputs, from both sides, and the radii that this certifies."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline._arrays import spectral_norm
from leadline._checks import require_numbers

from ..attacks.gradient_attacks import Inputs, Labels
from .input_stretches import POINTS, largest_stretch

DENSE_ENTRIES = 3 * 10**6  # of a matrix that is decomposed rather than iterated on
KRYLOV = 60  # Lanczos vectors
MISSES = 1e-9  # chance that an iterated norm is below the true one
ROUNDING = 1e-5  # relative, of norms computed in single precision


class LipschitzBracket(NamedTuple):
    """lower ≤ L ≤ upper for the Euclidean Lipschitz constant L of a network.

    `lower` is the largest stretch found, at the input `where`; `upper` the product of the `factors` of the chain's
    steps (None, and `why` says the reason, where the network is no chain). pairs[i, j] bounds the constant of the score
    difference fᵢ - fⱼ (None without an affine last step).
    """

    lower: float
    upper: float | None
    where: Float[np.ndarray, "..."]
    why: str = ""
    factors: tuple[float, ...] = ()
    pairs: Float[np.ndarray, "k k"] | None = None


def lipschitz_bracket(
    chain: Any,
    apply: Callable[[PyTree, Array], Array],
    params: PyTree,
    inputs: Inputs,
    *,
    key: PRNGKeyArray,
    why: str = "",
    rounds: int = 4,
    points: int = POINTS,
) -> LipschitzBracket:
    """The Euclidean Lipschitz constant of a network between the largest stretch found and the product of its layers'.

    Below: the largest ‖∂f/∂x‖₂ over the inputs, from the best of which a few rounds of moves along and across the most
    stretched direction go on, at about `points` points in all. Above: ∏ ‖Wₗ‖₂ × the constants of activations and
    poolings (Szegedy et al. 2013); norms of matrices too large to decompose are Ritz values enlarged such that they are
    too small with chance 10⁻⁹ (Kuczynski and Wozniakowski 1992). `chain` is that of `dissection.dissect`; with None,
    `why` is kept as the reason.

    >>> import jax.numpy as jnp
    >>> from leadline.networks.dissection import dissect
    >>> apply = lambda w, x: x @ w
    >>> w = jnp.diag(jnp.array([3.0, 1.0]))
    >>> chain = dissect(apply, w, jnp.ones((4, 2))).chain
    >>> bracket = lipschitz_bracket(chain, apply, w, jnp.ones((4, 2)), key=jax.random.key(0))
    >>> round(bracket.lower, 3), round(bracket.upper, 3), round(float(bracket.pairs[0, 1]), 3)
    (3.0, 3.0, 3.162)
    """
    require_numbers("lipschitz_bracket", params=params, inputs=inputs)
    lower, where = largest_stretch(apply, params, inputs, key=key, rounds=rounds, points=points)
    if chain is None:
        return LipschitzBracket(lower, None, where, why or "the network is not a chain of known maps")
    factors = [step_norm(step, jax.random.fold_in(key, 1 + n)) for n, step in enumerate(chain)]
    if not all(map(math.isfinite, factors)):
        return LipschitzBracket(lower, None, where, "an activation has no largest slope", tuple(factors))
    upper = math.prod(factors)
    return LipschitzBracket(lower, upper, where, "", tuple(factors), _pairs(chain, factors))


def step_norm(step: Any, key: PRNGKeyArray) -> float:
    """The Euclidean Lipschitz constant of one step of a chain, or a bound of it, rounded up."""
    if step.kind != "affine":
        return float(step.lipschitz)
    entries = math.prod(step.in_shape) * math.prod(step.out_shape) if step.weight is None else step.weight.size
    if entries <= DENSE_ENTRIES:
        matrix = np.asarray(step.matrix(), np.float64)
        return spectral_norm(matrix) * (1 + 1e-12 if step.weight is not None else 1 + ROUNDING)
    return _iterated_norm(step, key)


def _iterated_norm(step: Any, key: PRNGKeyArray) -> float:
    """‖W‖₂ from above by Lanczos on WᵀW from a Gaussian start.

    After q products P(λ < (1 - e) λ_max) ≤ 1.648 √n exp(-√e (2q - 1)); the Ritz value is divided by 1 - e.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = math.prod(step.in_shape)
    product = jax.jit(lambda v: step.transposed(step.linear(v.reshape(step.in_shape))).ravel())
    operator = LinearOperator(
        (size, size), matvec=lambda v: np.asarray(product(v.ravel()), np.float64), dtype=np.float64
    )
    start = np.asarray(jax.random.normal(key, (size,)), np.float64)
    top = eigsh(operator, k=1, v0=start, ncv=KRYLOV, tol=1e-3, return_eigenvectors=False)[0]
    missing = (math.log(1.648 * math.sqrt(size) / MISSES) / (2 * KRYLOV - 1)) ** 2
    return math.sqrt(float(top) / (1 - missing)) * (1 + ROUNDING)


def _pairs(chain: Any, factors: list[float]) -> Float[np.ndarray, "k k"] | None:
    """‖wᵢ - wⱼ‖₂ × the constant of all steps before the last affine one (which only reshapings may follow)."""
    last = max((n for n, step in enumerate(chain) if step.kind == "affine"), default=None)
    if last is None or any(step.kind != "reshape" for step in chain.steps[last + 1 :]):
        return None
    matrix = np.asarray(chain[last].matrix(), np.float64)
    gram = matrix @ matrix.T
    squares = np.diag(gram)[:, None] + np.diag(gram)[None] - 2 * gram
    return np.sqrt(np.maximum(squares, 0)) * math.prod(factors[:last]) * (1 + ROUNDING)


def lipschitz_radii(
    scores: Float[Array | np.ndarray, "n k"],
    upper: float,
    labels: Labels | None = None,
    pairs: Float[Array | np.ndarray, "k k"] | None = None,
) -> Float[np.ndarray, " n"]:
    """Euclidean radii within which no change of the input changes the class: margin/(√2 L), or with `pairs`, bounds of
    the constants of score differences, the sharper min_k (f_y - f_k)/L(f_y - f_k) (Tsuzuku et al. 2018).

    `labels` are the true classes (by default the predicted ones); a wrong prediction has radius 0.

    >>> import jax.numpy as jnp
    >>> lipschitz_radii(jnp.array([[3.0, 1.0]]), 2.0).round(4).tolist()
    [0.7071]
    """
    scores = np.asarray(scores, np.float64)
    if not upper >= 0:
        raise ValueError(f"lipschitz_radii got the constant {upper}; give a bound that is not negative.")
    labels = scores.argmax(1) if labels is None else np.asarray(labels)
    margins = scores[np.arange(len(scores)), labels][:, None] - scores
    constants = np.full(margins.shape, math.sqrt(2) * upper)
    if pairs is not None:
        constants = np.minimum(constants, np.asarray(pairs, np.float64)[labels])
    with np.errstate(divide="ignore", invalid="ignore"):
        radii = np.where(constants > 0, margins / constants, np.where(margins > 0, np.inf, 0.0))
    radii[np.arange(len(scores)), labels] = np.inf
    return np.maximum(radii.min(1), 0.0)
