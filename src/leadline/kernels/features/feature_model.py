"""A linear model on a feature map: nonlinear in the input, linear in what is trained."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class FeatureModel(eqx.Module):
    """f(x) = ⟨θ, φ(x)⟩ + b for the rows of x; any linear method trains θ on the rows of φ(x).

    `phi` maps rows of inputs to rows of features. The decision boundary of sgn f is the hyperplane θ·z + b = 0 pulled
    back: {x : θ·φ(x) + b = 0}.

    >>> square = FeatureModel(lambda x: x**2, np.array([1.0, 1.0]), -1.0)
    >>> square(np.array([[0.6, 0.8], [1.0, 1.0]])).round(6).tolist()
    [0.0, 1.0]
    """

    phi: Callable = eqx.field(static=True)
    theta: Float[Array | np.ndarray, " p"]
    bias: float | Float[Array | np.ndarray, ""] = 0.0

    def __call__(self, x: Float[Array | np.ndarray, "n d"]) -> Float[Array | np.ndarray, " n"]:
        features = self.phi(x)
        if features.shape[1] != self.theta.shape[0]:
            raise ValueError(
                f"The feature map gives {features.shape[1]} features and there are {self.theta.shape[0]} parameters; "
                "give one parameter for each feature."
            )
        return features @ self.theta + self.bias

    def predict(self, x: Float[Array | np.ndarray, "n d"]) -> Float[Array | np.ndarray, " n"]:
        """The sign of f, with +1 at 0."""
        return jnp.where(self(x) >= 0, 1.0, -1.0)
