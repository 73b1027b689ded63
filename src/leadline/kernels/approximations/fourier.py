"""Random Fourier features: finitely many cosines whose inner products have a stationary kernel as their mean."""

from typing import Literal, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leadline._arrays import namespace
from leadline.data import generator

from ..pairs import Points
from ..stationary import Gaussian, Laplace, Matern32, Matern52, Stationary

_DEGREES = {Laplace: 1, Matern32: 3, Matern52: 5}  # of freedom of the t distribution of the frequencies


class FourierFeatures(NamedTuple):
    """z(x) with E z(x)·z(x') = k(x, x') (Rahimi and Recht 2007).

    With phases √(2/p) cos(W x + b), p frequencies; without them √(2/p) (cos W x, sin W x), p/2 frequencies.
    """

    frequencies: Float[np.ndarray, "frequencies d"]
    phases: Float[np.ndarray, " p"] | None

    def __call__(self, x: Points) -> Float[Array | np.ndarray, "m p"]:
        xp = namespace(x)
        angles = x.reshape(len(x), -1) @ self.frequencies.T.astype(x.dtype)  # (m, frequencies)
        if self.phases is not None:
            return (2 / len(self.phases)) ** 0.5 * xp.cos(angles + self.phases.astype(x.dtype))
        return len(self.frequencies) ** -0.5 * xp.concatenate([xp.cos(angles), xp.sin(angles)], axis=1)


def spectral_frequencies(
    kernel: Stationary, inputs: int, count: int, *, orthogonal: bool = False, key: PRNGKeyArray
) -> Float[np.ndarray, "count inputs"]:
    """Frequencies from the law whose characteristic function is k (Bochner): N(0, I/s²) for the Gaussian kernel.

    For Matérn ν (Laplace: ν = 1/2) it is the multivariate t distribution with 2ν degrees of freedom, over s.
    `orthogonal` makes the frequencies orthogonal in blocks of `inputs`, their lengths left independent (Yu et al.
    2016): every frequency keeps its distribution.

    >>> import jax
    >>> W = spectral_frequencies(Gaussian(1.0), 2, 4, orthogonal=True, key=jax.random.key(0))
    >>> abs(float(W[0] @ W[1])) < 1e-12
    True
    """
    if type(kernel) not in (Gaussian, *_DEGREES):
        raise ValueError(
            f"spectral_frequencies knows the laws of Gaussian, Laplace, Matern32 and Matern52, not of "
            f"{type(kernel).__name__}; use one of these, or kernels.nystrom, which works for every kernel."
        )
    if min(inputs, count) < 1:
        raise ValueError(f"spectral_frequencies got {inputs} inputs and {count} frequencies; both must be positive.")
    rng = generator(key)
    drawn = rng.standard_normal((count, inputs))
    if orthogonal:
        blocks = rng.standard_normal((-(-count // inputs), inputs, inputs))
        directions, r = np.linalg.qr(blocks)
        directions = directions * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]  # uniform on the rotations
        lengths = np.linalg.norm(drawn, axis=1, keepdims=True)
        drawn = lengths * directions.transpose(0, 2, 1).reshape(-1, inputs)[:count]
    if type(kernel) in _DEGREES:
        degrees = _DEGREES[type(kernel)]
        drawn = drawn / np.sqrt(rng.chisquare(degrees, (count, 1)) / degrees)
    return drawn / float(kernel.scale)


def draw_fourier_features(
    kernel: Stationary,
    inputs: int,
    features: int,
    *,
    form: Literal["phase", "paired"] = "paired",
    orthogonal: bool = False,
    key: PRNGKeyArray,
) -> FourierFeatures:
    """p random features of a stationary kernel; "paired" has the smaller variance for the Gaussian kernel.

    >>> import jax
    >>> z = draw_fourier_features(Gaussian(1.0), 3, 10, key=jax.random.key(0))(np.ones((2, 3)))
    >>> z.shape, round(float(z[0] @ z[1]), 12)
    ((2, 10), 1.0)
    """
    if form == "phase":
        key_phases = jax.random.fold_in(key, 1)
        frequencies = spectral_frequencies(kernel, inputs, features, orthogonal=orthogonal, key=key)
        return FourierFeatures(frequencies, generator(key_phases).uniform(0, 2 * np.pi, features))
    if form != "paired":
        raise ValueError(f"draw_fourier_features got form '{form}'; choose 'phase' or 'paired'.")
    if features < 2 or features % 2:
        raise ValueError(f"Paired features come in twos, a cosine and a sine; {features} is not an even number.")
    return FourierFeatures(spectral_frequencies(kernel, inputs, features // 2, orthogonal=orthogonal, key=key), None)


def fourier_variance(
    kernel: Stationary, delta: Points, features: int, *, form: Literal["phase", "paired"] = "paired"
) -> Float[Array | np.ndarray, " m"]:
    """Variance of z(x)·z(x') at δ = x - x' with independent frequencies, k(δ) = k(δ, 0).

    Phase form (1 + k(2δ)/2 - k(δ)²)/p, paired form (1 + k(2δ) - 2k(δ)²)/p.

    >>> fourier_variance(Gaussian(1.0), np.array([[0.0], [9.0]]), 100).round(6).tolist()
    [0.0, 0.01]
    """
    origin = namespace(delta).zeros_like(delta[:1])
    once, twice = kernel(delta, origin)[:, 0], kernel(2 * delta, origin)[:, 0]
    return (1 + twice / 2 - once**2) / features if form == "phase" else (1 + twice - 2 * once**2) / features
