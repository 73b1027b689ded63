"""Reordering, rescaling and changing signs of hidden units: verified on the network's own dense layers."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from leadline.networks import dissection
from leadline.networks.dissection.dense_chains import DenseChain

from ..instrument import NotApplicable
from ..subject import Subject

CHECKED = 64  # rows on which symmetries are verified


class UnitSymmetries(NamedTuple):
    """What reordering and rescaling hidden units does to a chain of dense layers.

    `hidden`: widths of the hidden layers; `activation`: their functions. `permuted`, `rescaled`, `flipped`: largest
    change of an output by reordering units, rescaling them by factors of 0.1 to 10, changing their signs, each with the
    bound on rounding; None where the activation has no such symmetry. `copies`: log10 of the number of networks that
    reordering (and signs) make of this one. `into`, `out`: both sides of the balance of gradients, unit by unit, and
    `balance_rounding` what rounding may make of their difference. `head_sum`: largest sum over classes of the last
    layer's gradient, with what rounding may make of it. `invariants`: squared norm of the weights out of, less that of
    weights and bias into, each hidden layer, now and at the start; `norms_moved`: how far both norms went.
    """

    hidden: tuple[int, ...]
    activation: tuple[str, ...]
    permuted: tuple[float, float] | None = None
    rescaled: tuple[float, float] | None = None
    flipped: tuple[float, float] | None = None
    copies: float | None = None
    into: Float[np.ndarray, " units"] | None = None
    out: Float[np.ndarray, " units"] | None = None
    balance_rounding: float | None = None
    head_sum: tuple[float, float] | None = None
    invariants: Float[np.ndarray, " hidden"] | None = None
    invariants_start: Float[np.ndarray, " hidden"] | None = None
    norms_moved: Float[np.ndarray, " hidden"] | None = None


def dense_layers(subject: Subject, params: PyTree | None = None) -> DenseChain | NotApplicable:
    """The network as a chain of dense layers, at its own or at other parameters, or why it is none."""
    what = "permutation and rescaling of hidden units"
    if params is None:
        taken = subject.shared.dissection
    else:
        taken = dissection.dissect(subject.apply, params, subject.sample.inputs[:8])
    if taken.chain is None:
        return NotApplicable(what, f"the network is a chain of layers ({taken.why_no_chain})")
    try:
        return dissection.read_dense_chain(taken.chain)
    except ValueError:
        return NotApplicable(what, "every layer of the chain is dense")


def unit_symmetries(subject: Subject, rng: np.random.Generator, parts: list[NotApplicable]) -> UnitSymmetries | None:
    """Verify the symmetries that a dense chain has; what does not apply is added to `parts`."""
    chain = dense_layers(subject)
    if isinstance(chain, NotApplicable):
        parts.append(chain)
        return None
    rows = subject.sample.first(CHECKED)
    x, eps = rows.inputs.reshape(rows.count, -1), float(np.finfo(subject.dtype).eps)
    outputs, gradient = _outputs_and_gradient(chain, subject.criterion, jnp.asarray(x), jnp.asarray(rows.targets))
    names = tuple("+".join(f.name for f in fs) or "identity" for fs in chain.functions)
    found: dict[str, Any] = {}
    if subject.loss == "cross-entropy":
        head = np.column_stack([gradient.weights[-1], gradient.biases[-1]]).astype(float)
        inside = np.abs(np.asarray(_before_head(chain, jnp.asarray(x)), float)).mean(0).max()  # of which it is a mean
        found["head_sum"] = (float(np.abs(head.sum(0)).max()), eps * (rows.count + subject.outputs) * max(inside, 1.0))
    if not chain.widths:
        parts.append(NotApplicable("permutation and rescaling of hidden units", "there is a hidden layer"))
        return UnitSymmetries((), names, **found)

    def change(other: DenseChain) -> tuple[float, float]:
        apart = np.abs(np.asarray(_outputs(other, jnp.asarray(x)), float) - np.asarray(outputs, float))
        return float(apart.max()), float((chain.rounding(x) + other.rounding(x)).max())

    found["copies"] = chain.copies()
    found["permuted"] = change(chain.reorder([rng.permutation(n) for n in chain.widths]))
    homogeneous = all(map(dissection.is_homogeneous, chain.functions))
    if homogeneous:
        found["rescaled"] = change(chain.rescale([10.0 ** rng.uniform(-1, 1, n) for n in chain.widths]))
        found["into"], found["out"] = chain.unit_balance(gradient)
        size = sum(chain.unit_balance(_absolute(gradient, chain)))
        # sums over rows and weights: γ of as many terms as rows, inputs and outputs of the widest layer
        terms = rows.count + max(max(w.shape) for w in chain.weights) * len(chain.weights)
        found["balance_rounding"] = eps * terms * float(size.max())
        found |= _invariants(subject, chain, parts)
    else:
        parts.append(
            NotApplicable("rescaling of hidden units", f"φ(at) = aφ(t) for a > 0 (here {', '.join(set(names))})")
        )
    if all(map(dissection.is_odd, chain.functions)):
        found["flipped"] = change(chain.rescale([rng.choice([-1.0, 1.0], n) for n in chain.widths]))
        found["copies"] += sum(chain.widths) * math.log10(2)
    return UnitSymmetries(chain.widths, names, **found)


def _invariants(subject: Subject, chain: DenseChain, parts: list[NotApplicable]) -> dict[str, Any]:
    before = None if subject.past.start is None else dense_layers(subject, subject.past.start)
    if before is None or isinstance(before, NotApplicable) or not _as_stored(subject, chain):
        why = "the weights act as they are stored, and those before training are known"
        parts.append(NotApplicable("balance of scales over training", why))
        return {"invariants": chain.invariants()}
    square = [[float(np.sum(np.asarray(w, float) ** 2)) for w in c.weights] for c in (before, chain)]
    moved = np.abs(np.subtract(*square))
    return {
        "invariants": chain.invariants(),
        "invariants_start": before.invariants(),
        "norms_moved": moved[1:] + moved[:-1],
    }


def _as_stored(subject: Subject, chain: DenseChain) -> bool:
    """Whether the norm of every weight is that of a stored array."""
    norms = [float(np.linalg.norm(np.asarray(leaf, float))) for leaf in jax.tree.leaves(subject.params)]
    return all(np.isclose(norms, np.linalg.norm(np.asarray(w, float)), rtol=1e-4).any() for w in chain.weights)


def _absolute(gradient: PyTree, chain: DenseChain) -> PyTree:
    """|g w|/w in the place of g, so that the balance sums absolute values."""
    return jax.tree.map(lambda g, w: np.abs(np.asarray(g, float)) * np.sign(np.asarray(w, float)), gradient, chain)


@eqx.filter_jit
def _outputs(chain: DenseChain, x: Array) -> Array:
    return chain(x)


@eqx.filter_jit
def _outputs_and_gradient(
    chain: DenseChain, criterion: Callable[..., Array], x: Array, y: Array
) -> tuple[Array, PyTree]:
    def loss(c: DenseChain) -> tuple[Array, Array]:
        outputs = c(x)
        return jnp.mean(criterion(outputs, y)), outputs

    (_, outputs), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(chain)
    return outputs, gradient


@eqx.filter_jit
def _before_head(chain: DenseChain, x: Array) -> Array:
    """What the last layer reads."""
    if not chain.widths:
        return x
    short = DenseChain([*chain.weights[:-1]], [*chain.biases[:-1]], chain.functions[:-1])
    x = short(x)
    for function in chain.functions[-1]:
        x = function(x)
    return x
