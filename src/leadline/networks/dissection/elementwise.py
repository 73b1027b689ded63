"""Scalar functions that act entry by entry: recognised by their values, with the largest slope they have."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .. import activation_facts

#: primitives that act entry by entry
ELEMENTWISE = frozenset(
    (
        "abs",
        "acos",
        "acosh",
        "add",
        "add_any",
        "and",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "clamp",
        "convert_element_type",
        "copy",
        "copy_p",
        "cos",
        "cosh",
        "digamma",
        "div",
        "eq",
        "erf",
        "erf_inv",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "ge",
        "gt",
        "integer_pow",
        "is_finite",
        "le",
        "lgamma",
        "log",
        "log1p",
        "logistic",
        "lt",
        "max",
        "min",
        "mul",
        "name",
        "ne",
        "neg",
        "nextafter",
        "not",
        "or",
        "pow",
        "rem",
        "round",
        "rsqrt",
        "select_n",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "stop_gradient",
        "sub",
        "tan",
        "tanh",
        "xor",
    )
)
_MOVES_OF_NUMBERS = frozenset({"broadcast_in_dim", "reshape", "squeeze"})
_GRID = np.unique(
    np.concatenate([np.linspace(-30, 30, 6001), np.geomspace(1e-6, 30, 400), -np.geomspace(1e-6, 30, 400)])
)
_FAR = np.array([1e2, 1e3, 1e4])


@dataclass(frozen=True, eq=False)
class ScalarFunction:
    """φ, applied entry by entry: its name if it is known, and the supremum of its |slope|.

    `certain` says whether the constant is known in closed form; else it is the largest slope and secant seen on a fine
    grid of [-30, 30] and far outside, infinite where slopes grow without end. `slope(z)` is φ' as automatic
    differentiation has it.
    """

    name: str
    function: Callable[[Array], Array]
    lipschitz: float
    certain: bool
    factor: float = 1.0  #: φ = factor × the function of that name

    def __call__(self, z: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        return self.function(jnp.asarray(z))

    def slope(self, z: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        z = jnp.asarray(z)
        return jax.jvp(self.function, (z,), (jnp.ones_like(z),))[1]

    @property
    def known(self) -> bool:
        return self.name != "unknown"


def scalar_function(f: Callable[[Array], Array], dtype: Any = None) -> ScalarFunction:
    """Recognise a function of single numbers by its values (a constant factor apart), with its Lipschitz constant.

    >>> found = scalar_function(lambda z: 0.5 * jnp.maximum(z, 0))
    >>> found.name, found.factor, found.lipschitz
    ('relu', 0.5, 0.5)
    >>> scalar_function(lambda z: jnp.log(1 + jnp.exp(z / 2)) + 0.1 * z).name
    'unknown'
    """
    dtype = jnp.result_type(float) if dtype is None else dtype
    grid = _GRID.astype(dtype)
    values = np.asarray(f(jnp.asarray(grid)), np.float64)
    points = grid.astype(np.float64)
    tolerance = 64 * float(jnp.finfo(dtype).eps)
    for name, (reference, lipschitz) in known_functions().items():
        expected = reference(points)
        largest = np.abs(expected).argmax()
        factor = float(values[largest] / expected[largest])
        if not math.isfinite(factor) or factor == 0:
            continue
        factor = 1.0 if abs(factor - 1) < tolerance else factor
        room = tolerance * (np.minimum(1 + np.abs(values), 30) + 30 * (name in ("sin", "cos"))) * max(1.0, abs(factor))
        if np.all(np.abs(values - factor * expected) <= room + tolerance * np.abs(values)):
            return ScalarFunction(name, f, lipschitz * abs(factor), math.isfinite(lipschitz), factor)
    leak = float(values[0] / points[0])
    if np.all(np.abs(values - np.where(points > 0, points, leak * points)) <= 30 * tolerance):
        return ScalarFunction("leaky_relu", f, max(1.0, abs(leak)), True)
    return ScalarFunction("unknown", f, _largest_slope(f, values, dtype), False)


@cache
def known_functions() -> dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]]:
    """Activation functions by name, in NumPy, with the supremum of their |slope|, a last digit rounded up."""
    from scipy.special import erfc, expit

    def slope(name: str) -> float:
        return activation_facts(name).lipschitz

    def quiet(f: Callable) -> Callable:
        def function(z: np.ndarray) -> np.ndarray:
            with np.errstate(over="ignore"):
                return f(z)

        return function

    table: dict[str, tuple[Callable, float]] = {
        "identity": (lambda z: z, 1.0),
        "relu": (lambda z: np.maximum(z, 0), 1.0),
        "tanh": (np.tanh, 1.0),
        "sigmoid": (expit, 0.25),
        "gelu": (lambda z: 0.5 * z * erfc(-z * math.sqrt(0.5)), slope("gelu")),
        "gelu_tanh": (
            lambda z: 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))),
            slope("gelu_tanh"),
        ),
        "swish": (lambda z: z * expit(z), slope("swish")),
        "softplus": (lambda z: np.logaddexp(z, 0), 1.0),
        "leaky_relu": (lambda z: np.where(z > 0, z, 0.01 * z), 1.0),
        "absolute": (np.abs, 1.0),
        "elu": (lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))), 1.0),
        "selu": (
            lambda z: 1.0507009873554805 * np.where(z > 0, z, 1.6732632423543772 * np.expm1(np.minimum(z, 0))),
            1.758099340847377,
        ),
        "relu6": (lambda z: np.clip(z, 0, 6), 1.0),
        "hard_tanh": (lambda z: np.clip(z, -1, 1), 1.0),
        "hard_sigmoid": (lambda z: np.clip(z + 3, 0, 6) / 6, 0.16666666666666669),
        "hard_swish": (lambda z: z * np.clip(z + 3, 0, 6) / 6, 1.5),
        "softsign": (lambda z: z / (1 + np.abs(z)), 1.0),
        "mish": (lambda z: z * np.tanh(np.logaddexp(z, 0)), 1.0885),
        "log_sigmoid": (lambda z: -np.logaddexp(-z, 0), 1.0),
        "sin": (np.sin, 1.0),
        "cos": (np.cos, 1.0),
        "arctan": (np.arctan, 1.0),
        "heaviside": (lambda z: (z > 0).astype(float), math.inf),
        "square": (np.square, math.inf),
        "exp": (np.exp, math.inf),
    }
    return {name: (quiet(f), lipschitz) for name, (f, lipschitz) in table.items()}


def _largest_slope(f: Callable, values: np.ndarray, dtype: Any) -> float:
    far = np.concatenate([-_FAR[::-1], _FAR])
    points = jnp.asarray(np.concatenate([_GRID, far]), dtype)
    slopes = np.abs(np.asarray(jax.jvp(f, (points,), (jnp.ones_like(points),))[1], np.float64))
    gaps, rises = np.diff(_GRID), np.abs(np.diff(values))
    near, beyond = float(np.max(slopes[: len(_GRID)])), float(np.max(slopes[len(_GRID) :]))
    if not (math.isfinite(near) and math.isfinite(beyond)) or beyond > 1.05 * near:
        return math.inf
    rounding = 100 * float(jnp.finfo(dtype).eps) * (1 + np.abs(values[1:]))
    if np.any(rises > 2 * near * gaps + rounding):
        return math.inf  # a jump
    secants = np.where(gaps > 1e-3, rises / gaps, 0.0)  # over less they are rounding
    return max(near, beyond, float(secants.max())) * (1 + 1e-4)


def acts_entrywise(eqn_name: str, settings: Any) -> bool:
    """Whether a primitive, or all that it calls, acts entry by entry."""
    if eqn_name in ELEMENTWISE:
        return True
    inner = [v for v in settings.values() if hasattr(v, "eqns") or hasattr(v, "jaxpr")]
    jaxprs = [getattr(v, "jaxpr", v) for v in inner]
    return bool(jaxprs) and all(_entrywise_program(jaxpr) for jaxpr in jaxprs if hasattr(jaxpr, "eqns"))


def _entrywise_program(jaxpr: Any) -> bool:
    """Every equation acts entry by entry, and only single numbers are broadcast."""
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in _MOVES_OF_NUMBERS:
            if math.prod(eqn.invars[0].aval.shape) != 1:
                return False
        elif not acts_entrywise(name, eqn.params):
            return False
    return True
