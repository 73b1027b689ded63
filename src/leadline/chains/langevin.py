"""The isotropic Langevin model of SGD: its temperature, its exact kernel on a grid, and runs of it."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from leadline.data import generator
from leadline.optimisation.objectives.objective import Objective

from .grid import GridKernel, Points, gaussian_kernel, on_grid

_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class IsotropicLangevin:
    """W⁺ = W − η g(W) + (η s/√b) ξ, ξ ~ N(0, I): descent with the noise of a batch of b, were it isotropic.

    Its inverse temperature is β = 2b/(η s²). It needs the full gradient; it is a model, not SGD.

    >>> model = IsotropicLangevin(step=0.1, batch=1.0)
    >>> model.beta, model.deviation
    (20.0, 0.1)
    """

    step: float
    batch: float
    noise: float = 1.0

    def __post_init__(self) -> None:
        if not (self.step > 0 and self.batch > 0 and self.noise > 0):
            raise ValueError(
                f"step = {self.step:g}, batch = {self.batch:g}, noise = {self.noise:g} must all be positive numbers."
            )

    @classmethod
    def at(cls, step_size: float, beta: float) -> "IsotropicLangevin":
        """The model with this step and inverse temperature (s = 1, b = βη/2)."""
        return cls(step_size, beta * step_size / 2)

    @property
    def beta(self) -> float:
        """2b/(η s²)."""
        return 2 * self.batch / (self.step * self.noise**2)

    @property
    def temperature(self) -> float:
        """η s²/(2b)."""
        return 1 / self.beta

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in one step, √(2η/β)."""
        return self.step * self.noise / float(np.sqrt(self.batch))

    def stationary_variance(self, curvature: float) -> float:
        """On (h/2)w²: exactly (1/(βh))/(1 − ηh/2); infinite from ηh = 2 on. Gibbs' law says 1/(βh)."""
        if self.step * curvature >= 2:
            return float("inf")
        return 1 / (self.beta * curvature) / (1 - self.step * curvature / 2)

    def kernel(self, objective: Objective, points: Points) -> GridKernel:
        """The exact transition matrix for an objective of one variable on an even grid.

        >>> from leadline.chains import even_grid, invariant_law
        >>> from leadline.optimisation import Quadratic
        >>> kernel = IsotropicLangevin(0.5, 4.0).kernel(Quadratic(jnp.eye(1), jnp.zeros(1)), even_grid(-2.5, 2.5, 101))
        >>> round(float(invariant_law(kernel.chain) @ kernel.points**2), 5)
        0.08333
        """
        slope = on_grid(objective.gradient, points)[:, 0]
        return gaussian_kernel(points, points - self.step * slope, self.deviation)

    def run(
        self,
        objective: Objective,
        start: Num[Array | np.ndarray, "runs p"],
        num_steps: int,
        *,
        every: int = 1,
        key: PRNGKeyArray,
    ) -> Float[Array, "records runs p"]:
        """Independent runs side by side; every k-th state is kept, the first included; k = `every` divides
        `num_steps`."""
        if every < 1 or num_steps % every:
            raise ValueError(f"every = {every} does not divide {num_steps} steps; give a divisor.")
        state, rng, parts = jnp.asarray(start, float), generator(key), [jnp.asarray(start, float)[None]]
        for records in chunks(num_steps // every, every * state.size):
            noise = self.deviation * rng.standard_normal((records, every, *state.shape))
            parts.append(langevin_paths(objective.gradient, state, jnp.asarray(self.step), jnp.asarray(noise)))
            state = parts[-1][-1]
        return jnp.concatenate(parts)


def chunks(rounds: int, numbers: int) -> list[int]:
    """`rounds` of `numbers` random numbers each, in equal chunks of about four million numbers and a remainder."""
    per = max(1, min(rounds, _AT_ONCE // max(1, numbers)))
    return [per] * (rounds // per) + ([rounds % per] if rounds % per else []) if rounds else []


@eqx.filter_jit
def langevin_paths(
    gradient: Callable[[Float[Array, " p"]], Float[Array, " p"]],
    start: Float[Array, "runs p"],
    step_size: Float[Array, ""],
    noise: Float[Array, "records every runs p"],
) -> Float[Array, "records runs p"]:
    """W⁺ = W − η g(W) + noise as one scan that keeps the state after every row of `noise`.

    The noise is drawn beforehand: compiling a generator of normal numbers takes longer than such a run.
    """

    def move(w: Array, kick: Array) -> tuple[Array, None]:
        return w - step_size * jax.vmap(gradient)(w) + kick, None

    def record(w: Array, kicks: Array) -> tuple[Array, Array]:
        w, _ = jax.lax.scan(move, w, kicks)
        return w, w

    return jax.lax.scan(record, start, noise)[1]
