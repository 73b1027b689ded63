"""The Fisher information of a model and its spectrum, by the singular values of a square root: g = RᵀR.

Conventions: g is per sample and holds 1/σ²; R stacks the square-root rows of all samples, 1/√n included. The
eigenvalues of g are the squared singular values of R, which keeps the small ones: eigenvalues of the product RᵀR are
lost below 10⁻¹⁶ of the largest, squared singular values only below 10⁻³².
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Num, PyTree

Rows = Float[np.ndarray | Array, "m p"]


@dataclass(frozen=True)
class FisherSpectrum:
    """Eigenvalues of g, descending, at most min(m, p) of them (the rest of the p are 0); `vectors[k]` belongs to the
    k-th. `names` has one name for each parameter, in the order of the coordinates.
    """

    eigenvalues: Float[np.ndarray, " k"]
    vectors: Float[np.ndarray, "k p"]
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """p, the number of parameters."""
        return self.vectors.shape[1]

    def rank(self, threshold: float = 1e-12) -> int:
        """How many eigenvalues exceed `threshold` times the largest."""
        return int(np.sum(self.eigenvalues > threshold * self.eigenvalues[0])) if self.eigenvalues[0] > 0 else 0

    def decades(self, k: int) -> float:
        """log₁₀(λ₁/λₖ), k counted from 1: how many decades the first k eigenvalues span."""
        return spectrum_decades(self.eigenvalues, k)

    def matrix(self) -> Float[np.ndarray, "p p"]:
        """g itself."""
        return self.vectors.T * self.eigenvalues @ self.vectors


def fisher_spectrum(root_jacobian: Rows, names: Sequence[str] | None = None) -> FisherSpectrum:
    """Eigenvalues and eigenvectors of g = RᵀR from the singular value decomposition of R (Transtrum, Machta, Sethna).

    >>> spectrum = fisher_spectrum(np.array([[2.0, 0.0], [0.0, 1e-12]]), names=("stiff", "sloppy"))
    >>> [float(f"{v:.3g}") for v in spectrum.eigenvalues], spectrum.rank()
    ([4.0, 1e-24], 1)
    """
    rows = _checked_rows(root_jacobian)
    p = rows.shape[1]
    names = tuple(f"w[{i}]" for i in range(p)) if names is None else tuple(names)
    if len(names) != p:
        raise ValueError(f"There are {len(names)} names for {p} parameters; give one name for each parameter.")
    _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
    return FisherSpectrum(singular**2, vectors, names)


def fisher_eigenvalues(root_jacobian: Rows) -> Float[np.ndarray, " k"]:
    """The eigenvalues of g = RᵀR alone, descending, min(m, p) of them.

    >>> fisher_eigenvalues(np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 1.0]])).round(12).tolist()
    [9.0, 2.0]
    """
    return np.linalg.svd(_checked_rows(root_jacobian), compute_uv=False) ** 2


def spectrum_decades(eigenvalues: Float[np.ndarray | Array, " k"], k: int) -> float:
    """log₁₀(λ₁/λₖ) of eigenvalues in descending order, k counted from 1.

    >>> spectrum_decades(np.array([10.0, 1.0, 0.01]), 3)
    3.0
    """
    values = np.asarray(eigenvalues)
    if not 1 <= k <= len(values):
        raise ValueError(f"There are {len(values)} eigenvalues and k = {k}; give k from 1 to their number.")
    with np.errstate(divide="ignore"):
        return float(np.log10(values[0]) - np.log10(values[k - 1])) if values[0] > 0 else 0.0


def gaussian_root_jacobian(
    jacobian: Float[np.ndarray | Array, "n *outputs p"], deviation: float | Float[np.ndarray, " n"] = 1.0
) -> Float[np.ndarray, "m p"]:
    """The rows ∇fᵢ/(σᵢ√n) of a regression: RᵀR = (1/n) Σ ∇fᵢ∇fᵢᵀ/σᵢ². Several outputs a sample make several rows.

    >>> root = gaussian_root_jacobian(np.array([[1.0, 0.0], [1.0, 2.0]]), deviation=0.5)
    >>> (root.T @ root).round(12).tolist()
    [[4.0, 4.0], [4.0, 8.0]]
    """
    jacobian = np.asarray(jacobian)
    if jacobian.ndim < 2 or jacobian.size == 0:
        raise ValueError(f"The Jacobian has shape {jacobian.shape}; give samples along axis 0, parameters last.")
    sigma = np.asarray(deviation, jacobian.dtype)
    if not (np.all(sigma > 0) and np.all(np.isfinite(sigma))) or sigma.shape not in ((), jacobian.shape[:1]):
        raise ValueError("The deviation must be positive and finite: one number, or one for each sample.")
    n = len(jacobian)
    scale = (np.broadcast_to(sigma, (n,)) * np.sqrt(n)).reshape((n,) + (1,) * (jacobian.ndim - 1))
    return (jacobian / scale.astype(jacobian.dtype)).reshape(-1, jacobian.shape[-1])


def softmax_root_jacobian(
    apply: Callable[[PyTree, Array], Array], params: PyTree, inputs: Num[np.ndarray | Array, "n ..."]
) -> Float[np.ndarray, "m p"]:
    """The rows √(s_c/n) (J_c − Σ_b s_b J_b) of a classifier with logits apply(params, inputs) (n, C), s their softmax:
    RᵀR = (1/n) Σᵢ Jᵢᵀ (diag sᵢ − sᵢsᵢᵀ) Jᵢ. C rows a sample, of rank C − 1.

    >>> root = softmax_root_jacobian(lambda w, x: x @ w, jnp.zeros((1, 2)), jnp.ones((3, 1)))
    >>> (root.T @ root).round(12).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    return softmax_root_rows(*output_jacobian(apply, params, inputs))


def softmax_root_rows(
    logits: Float[np.ndarray | Array, "n classes"], jacobian: Float[np.ndarray | Array, "n k p"]
) -> Float[np.ndarray, "m p"]:
    """`softmax_root_jacobian` of a classifier whose logits and their Jacobian are known.

    >>> root = softmax_root_rows(np.zeros((1, 2)), np.array([[[1.0], [0.0]]]))
    >>> (root.T @ root).round(12).tolist()
    [[0.25]]
    """
    from scipy.special import softmax

    logits, jacobian = np.asarray(logits), np.asarray(jacobian)
    if jacobian.ndim != 3 or logits.shape != jacobian.shape[:2]:
        raise ValueError(f"Logits {logits.shape} and Jacobian {jacobian.shape} do not fit; give (n, C) and (n, C, p).")
    share = softmax(logits, axis=1)  # (n, C)
    centred = jacobian - np.einsum("nb,nbp->np", share, jacobian)[:, None]
    centred *= np.sqrt(share / len(share))[:, :, None]
    return centred.reshape(-1, jacobian.shape[-1])


def output_jacobian(
    apply: Callable[[PyTree, Array], Array], params: PyTree, inputs: Num[np.ndarray | Array, "n ..."]
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k p"]]:
    """Outputs apply(params, inputs) (n, k) and the Jacobian of each in the p flat parameters.

    Only the floating-point arrays of `params` count, in the order of their leaves. Takes n k p numbers.

    >>> outputs, jacobian = output_jacobian(lambda w, x: x @ w[:, None], jnp.ones(2), jnp.array([[1.0, 2.0]]))
    >>> outputs.tolist(), jacobian.tolist()
    ([[3.0]], [[[1.0, 2.0]]])
    """
    inputs = jnp.asarray(inputs)
    if inputs.ndim == 0 or len(inputs) == 0:
        raise ValueError(f"The inputs have shape {inputs.shape}; give at least one, samples along axis 0.")
    shape = eqx.filter_eval_shape(apply, params, inputs).shape
    if len(shape) != 2 or shape[0] != len(inputs):
        raise ValueError(f"apply gives outputs of shape {shape}; give a function whose outputs are ({len(inputs)}, k).")
    outputs, jacobian = _outputs_and_jacobian(apply, params, inputs)
    return np.asarray(outputs), np.asarray(jacobian)


def entry_names(params: PyTree, *, entries: bool = True) -> tuple[str, ...]:
    """One name for each flat parameter: its leaf and, unless `entries` is false, its place there.

    >>> entry_names({"a": np.zeros((1, 2)), "b": np.zeros(1)})
    ('a[0,0]', 'a[0,1]', 'b[0]')
    >>> entry_names({"a": np.zeros((1, 2)), "b": np.zeros(1)}, entries=False)
    ('a', 'a', 'b')
    """
    names: list[str] = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(eqx.filter(params, eqx.is_inexact_array_like)):
        name = "".join(
            f"[{k.idx}]" if hasattr(k, "idx") else f".{getattr(k, 'name', getattr(k, 'key', k))}" for k in path
        )
        name = name.removeprefix(".") or "w"
        places = [",".join(map(str, i)) for i in np.ndindex(np.shape(leaf))]
        names += [f"{name}[{place}]" if place and entries else name for place in places]
    return tuple(names)


@eqx.filter_jit
def _outputs_and_jacobian(apply: Any, params: PyTree, inputs: Array) -> tuple[Array, Array]:
    moved, rest = eqx.partition(params, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(moved)

    def one(w: Array, x: Array) -> tuple[Array, Array]:
        outputs = apply(eqx.combine(unravel(w), rest), x[None])[0]
        return outputs, outputs

    jacobian, outputs = jax.vmap(jax.jacrev(one, has_aux=True), (None, 0))(flat, inputs)
    return outputs, jacobian


def _checked_rows(root_jacobian: Rows) -> Float[np.ndarray, "m p"]:
    rows = np.asarray(root_jacobian)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"The square-root Jacobian has shape {rows.shape}; give rows of one length, parameters last.")
    if not np.all(np.isfinite(rows)):
        raise ValueError(
            "The square-root Jacobian holds values that are not finite; look at the parameters and inputs."
        )
    return rows
