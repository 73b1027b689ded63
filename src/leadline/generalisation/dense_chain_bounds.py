"""The norm, margin and VC bounds of a network given as a chain of dense layers, all at once."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Num

from leadline.networks.dissection import is_homogeneous, read_dense_chain
from leadline.networks.dissection.chain import Chain
from leadline.networks.dissection.dense_chains import DenseChain

from .bounds import Bound
from .capacity.capacity_calculator import growth_bound
from .capacity.growth_functions import log_growth_of_network
from .margin_bounds import (
    frobenius_margin_bound,
    input_norm,
    linear_margin_bound,
    path_margin_bound,
    spectral_margin_bound,
)
from .network_norms import LayerNorms, fold_biases, layer_norms, path_norms, spectral_complexity


class ChainBounds(NamedTuple):
    """Bounds by name, and the norms they are made of; biases are folded into the matrices.

    `complexity` is ∏ρs·(Σ(b/s)^{2/3})^{3/2} and margins divided by `scale` = complexity ‖X‖_F/n are normalised; both
    are None where an activation has no Lipschitz constant. `path` is the largest path norm of an output.
    """

    bounds: dict[str, Bound]
    norms: LayerNorms
    path: float
    complexity: float | None
    scale: float | None


class _Folded(NamedTuple):
    matrices: tuple[Float[np.ndarray, "_ _"], ...]
    lipschitz: Float[np.ndarray, " layers"]
    homogeneous: bool


def chain_bounds(
    chain: Chain,
    margins: Num[np.ndarray, " n"],
    inputs: Num[np.ndarray, "n ..."],
    training_error: float,
    *,
    start: Chain | None = None,
    confidence: float = 0.95,
    trivial: float = 1.0,
) -> ChainBounds:
    """Bounds on the true error of a classifier that is a chain of dense layers, from its training rows and weights.

    `margins` are those of the training rows, `start` the same chain before training (the reference of spectral norms).
    ValueError where the chain has other steps; a bound whose assumptions fail says so itself. Each holds at the given
    confidence by itself.

    >>> import jax
    >>> from leadline.networks.dissection import dissect
    >>> f = lambda p, x: x @ p["w"]
    >>> p, x = {"w": jnp.eye(2)}, np.eye(2).repeat(5000, axis=0)
    >>> found = chain_bounds(dissect(f, p, jnp.ones((4, 2))).chain, np.ones(10_000), x, 0.0)
    >>> found.bounds["linear scores"].vacuous, found.norms.spectral.tolist()
    (False, [1.0])
    """
    dense = read_dense_chain(chain)
    before = None if start is None else read_dense_chain(start)
    folded = _folded(dense)
    flat = np.asarray(inputs).reshape(len(inputs), -1)
    if any(np.any(np.asarray(b)) for b in dense.biases):
        flat = np.column_stack([flat, np.ones(len(flat), flat.dtype)])
        references = _references(before, folded)
    else:
        folded = folded._replace(matrices=_without_biases(folded.matrices))
        references = None if before is None else _without_biases(_folded(before).matrices)
    norms = layer_norms(folded.matrices, references)
    common = {"confidence": confidence, "trivial": trivial}
    bounds = {"VC dimension": _growth(dense, folded, training_error, len(flat), common)}
    if len(folded.matrices) == 1:
        bounds["linear scores"] = linear_margin_bound(margins, folded.matrices[0], flat, **common)
    else:
        for name, rule in (("Frobenius norms", frobenius_margin_bound), ("path norm", path_margin_bound)):
            bounds[name] = _if_homogeneous(rule, folded, margins, flat, common)
    finite = bool(np.isfinite(folded.lipschitz).all())
    complexity = spectral_complexity(norms, folded.lipschitz) if finite else None
    if finite:
        width = max(max(m.shape) for m in folded.matrices)
        bounds["spectral norms"] = spectral_margin_bound(
            margins, norms, flat, width=width, lipschitz=folded.lipschitz, **common
        )
    else:
        bounds["spectral norms"] = Bound.inapplicable(
            "true error, spectral norms and margin", "every activation has a Lipschitz constant", trivial=trivial
        )
    scale = None if not complexity else complexity * input_norm(flat) / len(flat)
    return ChainBounds(bounds, norms, float(path_norms(folded.matrices).max()), complexity, scale)


def _folded(dense: DenseChain) -> _Folded:
    """The chain for inputs (x, 1), its activations φ − φ(0), homogeneous ones scaled to be 1-Lipschitz."""
    weights = [np.asarray(w, float) for w in dense.weights]
    biases = [np.asarray(b, float) for b in dense.biases]
    lipschitz, homogeneous = [1.0], True
    for layer, functions in enumerate(dense.functions):
        at = jnp.asarray([0.0, 1.0])
        for function in functions:
            at = function(at)
        zero, one = (float(v) for v in np.asarray(at, float))
        rho = float(np.prod([f.lipschitz for f in functions]))
        biases[layer + 1] = biases[layer + 1] + weights[layer + 1].sum(axis=1) * zero
        if is_homogeneous(functions) and rho > 0 and abs(one - rho) < 1e-5 * rho:
            weights[layer + 1] = weights[layer + 1] * rho
            rho = 1.0
        else:
            homogeneous = False
        lipschitz.append(max(rho, 1.0))  # the unit that carries the 1 is passed on
    return _Folded(fold_biases(weights, biases), np.array(lipschitz), homogeneous)


def _without_biases(matrices: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return (*(m[:-1, :-1] for m in matrices[:-1]), matrices[-1][:, :-1])


def _references(before: DenseChain | None, folded: _Folded) -> tuple[np.ndarray, ...]:
    """The matrices before training, or zeros; the row that passes on the 1 is never trained."""
    if before is not None:
        return _folded(before).matrices
    zeros = [np.zeros_like(m) for m in folded.matrices]
    for matrix in zeros[:-1]:
        matrix[-1, -1] = 1.0
    return tuple(zeros)


def _growth(dense: DenseChain, folded: _Folded, error: float, n: int, common: dict) -> Bound:
    if not folded.homogeneous:
        return Bound.inapplicable(
            "true error, from the growth function", "the activations are piecewise linear", trivial=common["trivial"]
        )
    sizes = np.cumsum([w.size + b.size for w, b in zip(dense.weights, dense.biases, strict=True)])
    classes = max(len(dense.biases[-1]), 2)
    patterns = log_growth_of_network(n, dense.widths, [int(s) for s in sizes], classes=classes)
    return growth_bound(error, patterns, n, **common)


def _if_homogeneous(rule: Callable[..., Bound], folded: _Folded, margins, inputs, common: dict) -> Bound:
    if not folded.homogeneous:
        return Bound.inapplicable(
            "true error, from norms",
            "the activations are positively homogeneous, as ReLU is",
            trivial=common["trivial"],
        )
    return rule(margins, folded.matrices, inputs, **common)
