"""The freedom of hidden units: which changes of weights change no output, and what training kept of their balance."""

import math
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PyTree

from leadline.networks import dissection
from leadline.networks.dissection.dense_chains import DenseChain

from ..instrument_contract import NotApplicable
from ..subject import Subject


class Balance(NamedTuple):
    """I_l = ‖W_{l+1}‖² − ‖W_l‖² − ‖b_l‖² of every hidden layer before training (`start`) and `now`.

    `moved` is how far the two norms went, |Δ‖W_{l+1}‖²| + |Δ(‖W_l‖² + ‖b_l‖²)|.
    """

    start: Float[np.ndarray, " hidden"]
    now: Float[np.ndarray, " hidden"]
    moved: Float[np.ndarray, " hidden"]

    @property
    def share(self) -> Float[np.ndarray, " hidden"]:
        """|ΔI_l| as a share of how far the norms went; 0 where they did not move."""
        return np.abs(self.now - self.start) / np.where(self.moved > 0, self.moved, 1.0)


class UnitSymmetries(NamedTuple):
    """What may be done to the hidden units of a chain of dense layers.

    `hidden`: widths of the hidden layers; `activation`: their functions. `copies`: log10 of the number of networks that
    reordering (and changing signs, where `signs` may be changed) makes of this one. `rescalable`: whether units can be
    rescaled; `balance`: what gradient flow then keeps, None where it is not known.
    """

    hidden: tuple[int, ...]
    activation: tuple[str, ...]
    copies: float
    signs: bool
    rescalable: bool
    balance: Balance | None


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


def unit_symmetries(subject: Subject, parts: list[NotApplicable]) -> UnitSymmetries | None:
    """The freedom of a dense chain's hidden units; what does not apply is added to `parts`."""
    chain = dense_layers(subject)
    if isinstance(chain, NotApplicable):
        parts.append(chain)
        return None
    if not chain.widths:
        parts.append(NotApplicable("permutation and rescaling of hidden units", "there is a hidden layer"))
        return None
    signs = all(map(dissection.is_odd, chain.functions))
    rescalable = all(map(dissection.is_homogeneous, chain.functions))
    return UnitSymmetries(
        chain.widths,
        tuple("+".join(f.name for f in fs) or "identity" for fs in chain.functions),
        chain.copies() + (sum(chain.widths) * math.log10(2) if signs else 0.0),
        signs,
        rescalable,
        _balance(subject, chain, rescalable, parts),
    )


def _balance(subject: Subject, chain: DenseChain, rescalable: bool, parts: list[NotApplicable]) -> Balance | None:
    what = "balance of scales, kept by gradient flow"
    if not rescalable:
        parts.append(NotApplicable(what, "units can be rescaled: φ(at) = aφ(t) for a > 0"))
        return None
    before = None if subject.past.start is None else dense_layers(subject, subject.past.start)
    if before is None or isinstance(before, NotApplicable) or not _as_stored(subject, chain):
        parts.append(NotApplicable(what, "the weights act as they are stored, and those before training are known"))
        return None
    into, out = np.abs(np.subtract(_squares(chain), _squares(before)))
    return Balance(before.invariants(), chain.invariants(), into + out)


def _squares(chain: DenseChain) -> Float[np.ndarray, "2 hidden"]:
    """‖W_l‖² + ‖b_l‖² and ‖W_{l+1}‖² of every hidden layer l."""
    weights = np.array([float(np.sum(np.asarray(w, float) ** 2)) for w in chain.weights])
    biases = np.array([float(np.sum(np.asarray(b, float) ** 2)) for b in chain.biases])
    return np.stack([(weights + biases)[:-1], weights[1:]])


def _as_stored(subject: Subject, chain: DenseChain) -> bool:
    """Whether the norm of every weight is that of a stored array."""
    norms = [float(np.linalg.norm(np.asarray(leaf, float))) for leaf in jax.tree.leaves(subject.params)]
    return all(np.isclose(norms, np.linalg.norm(np.asarray(w, float)), rtol=1e-4).any() for w in chain.weights)
