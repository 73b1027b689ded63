"""Covariate shift to experiment with: one rule for the answers, two distributions of the inputs, both known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator
from leadline.learning import GaussianClasses
from leadline.learning.risk.distributions import Sample


@dataclass(frozen=True)
class CovariateShift:
    """y = f(x) + σ ε with ε ~ N(0, 1) on both sides; x has one density in training and another at test time.

    `train` and `test` are mixtures of Gaussians (`learning.GaussianClasses`), of which `shifted_inputs` makes one from
    the other. p(y|x) is common: that is what makes the shift one of the covariates only (Shimodaira 2000).

    >>> import jax
    >>> at_zero = GaussianClasses(((0.0,),), (0,))
    >>> shift = CovariateShift(lambda x: x[..., 0] ** 2, at_zero, shifted_inputs(at_zero, by=1.0), noise=0.1)
    >>> shift.draw("test", 5, key=jax.random.key(0)).x.shape
    (5, 1)
    >>> shift.weights(np.array([[0.5], [1.5]])).round(4).tolist()  # exp(δx - δ²/2)
    [1.0, 2.7183]
    """

    target: Callable[[Any], Any]
    train: GaussianClasses
    test: GaussianClasses
    noise: float = 0.0

    def draw(self, part: Literal["train", "test"], n: int, *, key: PRNGKeyArray) -> Sample:
        """n independent examples of one side."""
        if part not in ("train", "test"):
            raise ValueError(f"CovariateShift was asked for the part {part!r}; say 'train' or 'test'.")
        rng = generator(key)
        x = (self.train if part == "train" else self.test).draw((n,), rng).x
        return Sample(x, np.asarray(self.target(x)) + self.noise * rng.standard_normal(n))

    def weights(self, x: Num[Array | np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """p_test(x)/p_train(x), row by row."""
        return np.asarray(self.test.density(x) / self.train.density(x))


def shifted_inputs(
    inputs: GaussianClasses, *, by: float = 0.0, stretch: float = 1.0, shares: Sequence[float] | None = None
) -> GaussianClasses:
    """The mixture with every mean moved by `by` along the first axis, deviations times `stretch`, or other `shares`.

    >>> two = GaussianClasses(((0.0, 0.0), (2.0, 0.0)), (0, 1))
    >>> moved = shifted_inputs(two, by=1.0, stretch=0.5, shares=(0.9, 0.1))
    >>> moved.means, moved.scale, moved.shares
    (((1.0, 0.0), (3.0, 0.0)), 0.5, (0.9, 0.1))
    """
    if not stretch > 0:
        raise ValueError(f"shifted_inputs got stretch = {stretch}; give a number above 0.")
    means = tuple((mean[0] + by, *mean[1:]) for mean in inputs.means)
    kept = inputs.shares if shares is None else tuple(shares)
    return replace(inputs, means=means, scale=inputs.scale * stretch, shares=kept)
