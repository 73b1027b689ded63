"""The linear recurrent unit of Orvieto et al. (2023): a diagonal complex recurrence inside the unit disc."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Num, PRNGKeyArray

from .drawing import float_type
from .linear_cell import LinearCell


class LRU(LinearCell):
    r"""ζ_t = λ ⊙ ζ_{t-1} + γ ⊙ (C x_t), y_t = Re(G ζ_t), λ = exp(-exp(ν) + iφ), γ = √(1 - |λ|²).

    |λ| < 1 for all real ν. `normalised=False` leaves γ out. The start is a ring: φ uniform on [0, max_phase], |λ|²
    uniform on [r_min², r_max²] (uniform area), ν = log(-log |λ|). C has entries of variance 1/n, G of 1/m; complex
    arrays are kept as pairs (real, imaginary), since optimisers are made for real ones. The block of the source,
    y = x + MLP(Re(G ζ) + D x), is `ResidualBlock(LRU(...))`. Orvieto et al. 2023.

    >>> cell = LRU(3, 16, 5, key=jax.random.key(0))
    >>> bool((jnp.abs(cell.eigenvalues()) < 1).all()), cell.predict(cell.update(cell.init(), jnp.ones(3))).shape
    (True, (5,))
    """

    log_decay: Float[Array, " m"]  #: ν
    phase: Float[Array, " m"]  #: φ
    input_weight: Float[Array, "2 m n"]  #: C
    output_weight: Float[Array, "2 k m"]  #: G
    normalised: bool = eqx.field(static=True)
    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        output_size: int | None = None,
        *,
        r_min: float = 0.0,
        r_max: float = 1.0,
        max_phase: float = 2 * math.pi,
        normalised: bool = True,
        dtype: jax.typing.DTypeLike | None = None,
        key: PRNGKeyArray,
    ):
        output_size = input_size if output_size is None else output_size
        if not 0 <= r_min < r_max <= 1:
            raise ValueError(f"LRU got the ring {r_min} to {r_max}; give 0 <= r_min < r_max <= 1.")
        if min(input_size, hidden_size, output_size) < 1:
            raise ValueError(f"LRU got the sizes {input_size}, {hidden_size}, {output_size}; all must be positive.")
        kind = float_type(dtype)
        key_radius, key_phase, key_input, key_output = jax.random.split(key, 4)
        square = jax.random.uniform(key_radius, (hidden_size,), kind, r_min**2, r_max**2)
        tiny = jnp.finfo(kind).eps  # neither |λ| = 0, whose ν is infinite, nor |λ| = 1
        self.log_decay = jnp.log(-0.5 * jnp.log(jnp.clip(square, tiny, 1 - tiny)))
        self.phase = jax.random.uniform(key_phase, (hidden_size,), kind, 0, max_phase)
        self.input_weight = jax.random.normal(key_input, (2, hidden_size, input_size), kind) / math.sqrt(2 * input_size)
        self.output_weight = jax.random.normal(key_output, (2, output_size, hidden_size), kind) / math.sqrt(hidden_size)
        self.normalised, self.input_size, self.output_size = normalised, input_size, output_size

    @property
    def hidden_size(self) -> int:
        """The number m of complex units."""
        return len(self.phase)

    def eigenvalues(self) -> Complex[Array, " m"]:
        """λ = exp(-exp(ν) + iφ)."""
        return jnp.exp(jax.lax.complex(-jnp.exp(self.log_decay), self.phase))

    def normaliser(self) -> Float[Array, " m"]:
        """γ = √(1 - |λ|²) = √(-expm1(-2 exp ν)), which keeps its digits where |λ| is close to 1; or ones."""
        if not self.normalised:
            return jnp.ones_like(self.log_decay)
        return jnp.sqrt(-jnp.expm1(-2 * jnp.exp(self.log_decay)))

    def saturated(self) -> int:
        """How many units have |λ| = 0 or 1 to the precision of the parameters: they forget at once, or never.

        >>> cell = LRU(1, 2, key=jax.random.key(0))
        >>> eqx.tree_at(lambda c: c.log_decay, cell, jnp.array([-40.0, 0.0])).saturated()
        1
        """
        radius = jnp.exp(-jnp.exp(self.log_decay))
        return int(((radius == 0) | (radius == 1)).sum())

    def init(self) -> Complex[Array, " m"]:
        return jnp.zeros(self.hidden_size, jnp.result_type(self.phase.dtype, jnp.complex64))

    def project(self, x: Num[Array, " n"]) -> tuple[Complex[Array, " m"], Complex[Array, " m"]]:
        real, imaginary = self.input_weight @ x
        return self.eigenvalues(), self.normaliser() * jax.lax.complex(real, imaginary)

    def predict(self, state: Complex[Array, " m"]) -> Float[Array, " k"]:
        real, imaginary = self.output_weight
        return real @ state.real - imaginary @ state.imag
