"""Three matrices that are taken for the Hessian of a mean loss: Gauss-Newton, Fisher, outer product of gradients.

With outputs fᵢ(w), Jacobians Jᵢ = ∂fᵢ/∂w and losses ℓ(fᵢ): H = (1/n) Σ [Jᵢᵀ ℓ″ Jᵢ + ℓ′·∇²fᵢ].
"""

import numpy as np
from jaxtyping import Array, Float

from leadline._checks import require

Jacobians = Float[np.ndarray | Array, "n k p"]


def gauss_newton_matrix(
    jacobians: Jacobians, output_hessians: Float[np.ndarray | Array, "n k k"] | None = None
) -> Float[np.ndarray, "p p"]:
    """(1/n) Σ Jᵢᵀ ℓ″(fᵢ) Jᵢ; for ½‖f − y‖², where ℓ″ = I, leave `output_hessians` out. It is H once ℓ′ = 0.

    >>> gauss_newton_matrix(np.array([[[1.0, 2.0]], [[1.0, 0.0]]])).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    require("gauss_newton_matrix", axes=3, jacobians=jacobians)
    j = np.asarray(jacobians, float)
    bent = j if output_hessians is None else np.einsum("nab,nbp->nap", np.asarray(output_hessians, float), j)
    return np.einsum("nap,naq->pq", j, bent) / len(j)


def empirical_fisher_matrix(gradients: Float[np.ndarray | Array, "n p"]) -> Float[np.ndarray, "p p"]:
    """(1/n) Σ gᵢgᵢᵀ with the labels of the data. It vanishes with the residuals; H does not.

    >>> empirical_fisher_matrix(np.array([[1.0, 0.0], [0.0, 2.0]])).tolist()
    [[0.5, 0.0], [0.0, 2.0]]
    """
    g = np.asarray(gradients, float)
    return g.T @ g / len(g)


def softmax_fisher(jacobians: Jacobians, probabilities: Float[np.ndarray | Array, "n k"]) -> Float[np.ndarray, "p p"]:
    """(1/n) Σᵢ E_y[g gᵀ] with labels y drawn from the model itself, exactly; it equals the Gauss-Newton matrix.

    >>> softmax_fisher(np.array([[[1.0], [0.0]]]), np.array([[0.5, 0.5]])).tolist()
    [[0.25]]
    """
    require("softmax_fisher", axes=3, jacobians=jacobians)
    require("softmax_fisher", axes=2, probabilities=probabilities)
    j, s = np.asarray(jacobians, float), np.asarray(probabilities, float)
    classes = s.shape[1]
    scores = s[:, None, :] - np.eye(classes)  # (n, label, output): the gradient of −log s_y in the outputs
    g = np.einsum("nyk,nkp->nyp", scores, j)
    return np.einsum("ny,nyp,nyq->pq", s, g, g) / len(j)
