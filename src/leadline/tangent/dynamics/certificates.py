"""The theorem that gradient descent converges geometrically near its start, evaluated for a network and data."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from leadline._checks import require_numbers

from ..two_layer import Inputs, Targets
from .gradient_bounds import Sandwich, _outputs, sandwich_constants

Verdict = Literal["applicable", "silent", "violated"]


@dataclass(frozen=True)
class Certificate:
    """What the theorem promises for θ ← θ - η ∇R from θ₀, if c̄ and C̄ bound the gradient in the unit ball around θ₀:

    R_k ≤ (1 - α/(2√R₀))^k R₀ and ‖θ_k - θ₀‖ ≤ 1 for k ≤ K_max = ⌊(c̄/α) √(m/(C̄ n))⌋; so R_k ≤ ε R₀ after
    K' = ⌈log ε / log(1 - α/(2√R₀))⌉ steps, provided K' ≤ K_max. "silent": it is not, and nothing is promised about ε.
    """

    constants: Sandwich
    lower: float
    upper: float
    points: int
    risk: float
    alpha: float
    accuracy: float

    @property
    def step(self) -> float:
        """η = α n / (c̄ m √R₀); 0 where c̄ = 0."""
        scale = self.lower * self.constants.width * math.sqrt(self.risk)
        return self.alpha * self.points / scale if scale > 0 else 0.0

    @property
    def rate(self) -> float:
        """1 - α/(2√R₀), the promised factor per step."""
        return 1 - self.alpha / (2 * math.sqrt(self.risk)) if self.risk > 0 else 1.0

    @property
    def most_steps(self) -> int:
        """K_max: so many steps stay in the unit ball."""
        if self.alpha == 0:
            return 0
        return math.floor(self.lower / self.alpha * math.sqrt(self.constants.width / (self.upper * self.points)))

    @property
    def needed_steps(self) -> int | None:
        """K': so many steps bring R to ε R₀ by the bound; None where the bound does not fall."""
        return math.ceil(math.log(self.accuracy) / math.log(self.rate)) if self.rate < 1 else None

    @property
    def path_bound(self) -> float:
        """(4/c̄) √(C̄ n R₀/m): the length of the whole path, by the geometric series."""
        if self.lower == 0:
            return math.inf
        return 4 / self.lower * math.sqrt(self.upper * self.points * self.risk / self.constants.width)

    @property
    def needed_width(self) -> float:
        """m ≥ C̄ n (α K'/c̄)²: the width from which K' ≤ K_max, were c̄, C̄ and R₀ to stay what they are."""
        if self.needed_steps is None:
            return math.inf
        return self.upper * self.points * (self.alpha * self.needed_steps / self.lower) ** 2

    @property
    def verdict(self) -> Verdict:
        reached = self.risk == 0 or (self.needed_steps is not None and self.needed_steps <= self.most_steps)
        return "applicable" if reached else "silent"

    def bound(self, num_steps: int) -> Float[np.ndarray, " steps_and_one"]:
        """R₀ rate^k for k = 0..steps."""
        return self.risk * self.rate ** np.arange(num_steps + 1)

    def judge(self, run: "CertifiedRun") -> Verdict:
        """The verdict after a run: "violated" where a step k ≤ K_max contradicts the rate or leaves the unit ball."""
        last = min(self.most_steps, len(run.losses) - 1)
        slow = run.losses[: last + 1] > self.bound(last) * (1 + 1e-9)
        far = run.distances[: last + 1] > 1 + 1e-9
        broken = slow | far | ~np.isfinite(run.losses[: last + 1])
        return "violated" if bool(broken.any()) else self.verdict


class CertifiedRun(NamedTuple):
    """R_k, ‖θ_k - θ₀‖ and the length of the path up to step k, for k = 0..steps."""

    losses: Float[np.ndarray, " k"]
    distances: Float[np.ndarray, " k"]
    path: Float[np.ndarray, " k"]

    def steps_to(self, accuracy: float) -> int | None:
        """The first k with R_k ≤ ε R₀, or None."""
        below = np.flatnonzero(self.losses <= accuracy * self.losses[0])
        return int(below[0]) if below.size else None


def certify(
    network: Callable,
    x: Inputs,
    y: Targets,
    *,
    accuracy: float = 0.1,
    margin: float = 1.25,
    share: float = 0.25,
    width: int | None = None,
) -> Certificate:
    """Evaluate the theorem of geometric convergence for this network and these data: applicable or silent.

    c and C come from the tangent kernel at the start; in the unit ball they may be worse, and c̄ = c/`margin`,
    C̄ = `margin` C are taken (`worst_in_ball` searches for a counterexample). α is `share` of its greatest value
    2 (c̄/C̄) √R₀, at which η = 1/L. The network has one output; R = (1/n) Σ (f(x_i) - y_i)².

    >>> from leadline.tangent import lecun_two_layer
    >>> net = lecun_two_layer(8, 1024, "tanh", key=jax.random.key(0))
    >>> found = certify(net, jnp.eye(4, 8), jnp.array([1.0, -1.0, 0.5, -0.5]))
    >>> found.verdict, found.needed_steps <= found.most_steps
    ('applicable', True)
    """
    y = np.asarray(y)
    if len(x) != len(y) or y.ndim != 1:
        raise ValueError(f"certify got {len(x)} inputs and targets of shape {y.shape}; pass one number for each input.")
    if not 0 < accuracy < 1 or not margin >= 1 or not 0 < share <= 1:
        raise ValueError(
            f"certify got accuracy {accuracy}, margin {margin}, share {share}; they lie in (0, 1), [1, ∞) and (0, 1]."
        )
    constants = sandwich_constants(network, x, width=width)
    lower, upper = constants.lower / margin, constants.upper * margin
    # Eigenvalues below rounding are no evidence of a positive one.
    lower = lower if lower > 1e-13 * upper else 0.0
    risk = float(np.mean((np.asarray(_outputs(network, jnp.asarray(x))) - y) ** 2))
    alpha = share * 2 * lower / upper * math.sqrt(risk) if upper > 0 else 0.0
    return Certificate(constants, lower, upper, len(y), risk, alpha, accuracy)


def certified_descent(
    network: Callable, x: Inputs, y: Targets, certificate: Certificate, *, num_steps: int | None = None
) -> CertifiedRun:
    """The descent that the certificate is about, with its step size; K_max steps unless told otherwise.

    >>> from leadline.tangent import lecun_two_layer
    >>> net = lecun_two_layer(8, 1024, "tanh", key=jax.random.key(0))
    >>> x, y = jnp.eye(4, 8), jnp.array([1.0, -1.0, 0.5, -0.5])
    >>> found = certify(net, x, y)
    >>> found.judge(certified_descent(net, x, y, found))
    'applicable'
    """
    require_numbers("certified_descent", x=x, y=y)
    parameters, rest = eqx.partition(network, eqx.is_inexact_array)
    num_steps = certificate.most_steps if num_steps is None else num_steps
    found = _run(parameters, rest, jnp.asarray(x), jnp.asarray(y), jnp.asarray(certificate.step, float), num_steps)
    return CertifiedRun(*(np.asarray(part) for part in found))


@eqx.filter_jit
def _run(parameters, rest, x, y, rate, num_steps: int):
    origin, back = ravel_pytree(parameters)

    def risk(theta):
        return jnp.mean((_outputs(eqx.combine(back(theta), rest), x) - y) ** 2)

    def step(state, _):
        theta, length = state
        value, slope = jax.value_and_grad(risk)(theta)
        record = value, jnp.linalg.norm(theta - origin), length
        return (theta - rate * slope, length + rate * jnp.linalg.norm(slope)), record

    return jax.lax.scan(step, (origin, jnp.zeros((), origin.dtype)), None, length=num_steps + 1)[1]
