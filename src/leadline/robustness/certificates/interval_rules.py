"""Interval rules for the primitives of traced programs: sound bounds of one step from bounds of what enters it."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from .interval_arithmetic import Bind, Interval, Known, bilinear, both, high_of, low_of, magnitude, outward, widened

# Increasing in every argument: the step itself, on all lower and on all upper bounds.
EXACT = {
    "reshape",
    "transpose",
    "broadcast_in_dim",
    "squeeze",
    "expand_dims",
    "slice",
    "rev",
    "copy",
    "reduce_max",
    "reduce_min",
    "reduce_window_max",
    "reduce_window_min",
    "cummax",
    "cummin",
    "concatenate",
    "pad",
    "clamp",
    "max",
    "min",
    "sort",
    "split",
    "floor",
    "ceil",
    "round",
    "sign",
    "stop_gradient",
    "optimization_barrier",
    "reduce_and",
    "reduce_or",
    "and",
    "or",
    "real",
    "reduce_precision",
    "name",
    "stack",
    "unstack",
    "tile",
}
ROUNDED = {
    "tanh",
    "logistic",
    "exp",
    "exp2",
    "expm1",
    "erf",
    "cbrt",
    "atan",
    "asinh",
    "sinh",
    "add",
    "add_any",
    "convert_element_type",
}
SUMS: dict[str, Callable] = {
    "reduce_sum": lambda shape, settings: math.prod(shape[i] for i in settings["axes"]),
    "cumsum": lambda shape, settings: shape[settings["axis"]],
    "reduce_window_sum": lambda shape, settings: math.prod(settings["window_dimensions"]),
}  # by their numbers of terms
DECREASING = frozenset(["neg", "erfc", "acos", "not"])
LIMITED = {
    "log": (0.0, np.inf),
    "log1p": (-1.0, np.inf),
    "sqrt": (0.0, np.inf),
    "rsqrt": (0.0, np.inf),
    "asin": (-1.0, 1.0),
    "acosh": (1.0, np.inf),
    "atanh": (-1.0, 1.0),
    "erf_inv": (-1.0, 1.0),
}
INDEXED = frozenset(["gather", "dynamic_slice"])
RANGES = {
    "tanh": (-1.0, 1.0),
    "erf": (-1.0, 1.0),
    "logistic": (0.0, 1.0),
    "exp": (0.0, np.inf),
    "exp2": (0.0, np.inf),
    "expm1": (-1.0, np.inf),
    "erfc": (0.0, 2.0),
    "sqrt": (0.0, np.inf),
    "rsqrt": (0.0, np.inf),
}


def bounds_of(name: str, bind: Bind, settings: Mapping[str, Any], inputs: list[Interval | Known]) -> Any:
    """Bounds of one step with at least one uncertain input; None where there is no rule."""
    lows, highs = [low_of(i) for i in inputs], [high_of(i) for i in inputs]
    if (name == "sort" and len(inputs) > 1) or (name in ("and", "or") and jnp.result_type(lows[0]).kind != "b"):
        return None  # not increasing
    if name in EXACT:
        return both(bind(*lows), bind(*highs))
    if name in ROUNDED:
        return outward(Interval(bind(*lows), bind(*highs)), RANGES.get(name))
    if name in SUMS:
        terms = SUMS[name](np.shape(lows[0]), settings)
        return widened(Interval(bind(*lows), bind(*highs)), bind(magnitude(inputs[0])), terms)
    if name in DECREASING:
        return outward(Interval(bind(*highs), bind(*lows)), RANGES.get(name))
    if name in LIMITED:
        inside = [jnp.clip(end, *LIMITED[name]) for end in (lows[0], highs[0])]
        ends = [bind(end) for end in inside]
        return outward(Interval(*(ends[::-1] if name == "rsqrt" else ends)), RANGES.get(name))
    if name in INDEXED:
        certain = not any(isinstance(i, Interval) for i in inputs[1:])
        return both(bind(lows[0], *lows[1:]), bind(highs[0], *lows[1:])) if certain else None
    rule = RULES.get(name)
    return None if rule is None else rule(bind, settings, inputs)


def _dot(bind, settings, inputs):
    (contracted, _), _ = settings["dimension_numbers"]
    shape = np.shape(low_of(inputs[0]))
    kept = {k: v for k, v in settings.items() if k in ("dimension_numbers", "preferred_element_type")}

    def product(x, y):
        return lax.dot_general(x, y, precision=lax.Precision.HIGHEST, **kept)

    return bilinear(product, *inputs, terms=math.prod(shape[i] for i in contracted))


def _convolution(bind, settings, inputs):
    shape = np.shape(low_of(inputs[1]))
    return bilinear(bind, *inputs, terms=math.prod(shape) // shape[settings["dimension_numbers"].rhs_spec[0]])


def _corners(combine, a, b):
    """The least and the largest of a combination over the corners; 0 · ∞ is 0, as no value is infinite itself."""
    corners = [combine(x, y) for x in _ends(a) for y in _ends(b)]
    corners = [jnp.where(jnp.isnan(c), jnp.zeros_like(c), c) for c in corners]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = jnp.minimum(low, corner), jnp.maximum(high, corner)
    return outward(Interval(low, high))


def _ends(value):
    return [value.low, value.high] if isinstance(value, Interval) else [value]


def _times(bind, settings, inputs):
    if inputs[0] is inputs[1]:
        return _square(bind, settings, inputs)
    return _corners(bind, *inputs)


def _over(bind, settings, inputs):
    quotient = _corners(bind, *inputs)
    if not isinstance(inputs[1], Interval):
        return quotient
    zero = (inputs[1].low <= 0) & (inputs[1].high >= 0)
    return Interval(jnp.where(zero, -jnp.inf, quotient.low), jnp.where(zero, jnp.inf, quotient.high))


def _minus(bind, settings, inputs):
    a, b = inputs
    if a is b:
        return Interval(jnp.zeros_like(a.low), jnp.zeros_like(a.low))
    return outward(Interval(bind(low_of(a), high_of(b)), bind(high_of(a), low_of(b))))


def _absolute(bind, settings, inputs):
    low, high = inputs[0]
    least = jnp.where((low <= 0) & (high >= 0), jnp.zeros_like(low), jnp.minimum(abs(low), abs(high)))
    return Interval(least, jnp.maximum(abs(low), abs(high)))


def _square(bind, settings, inputs):
    low, high = _absolute(bind, settings, inputs)
    return outward(Interval(low * low, high * high), (0.0, np.inf))


def _integer_power(bind, settings, inputs):
    power = settings["y"]
    if power < 0:
        whole = _integer_power(bind, {"y": -power}, inputs)
        return _over(lambda a, b: a / b, settings, [jnp.ones_like(whole.low), whole])
    even = power % 2 == 0
    low, high = _absolute(bind, settings, inputs) if even else inputs[0]
    result = Interval(lax.integer_pow(low, power), lax.integer_pow(high, power))
    return outward(result, (0.0, np.inf) if even else None, ulps=2 * abs(power) + 2)


def _power(bind, settings, inputs):
    base, exponent = inputs
    if not isinstance(exponent, Interval) and np.ndim(exponent) == 0 and not isinstance(exponent, Tracer):
        value = float(exponent)
        if value.is_integer() and abs(value) < 64 and isinstance(base, Interval):
            return _integer_power(bind, {"y": int(value)}, [base])
    positive = Interval(jnp.maximum(low_of(base), 0), jnp.maximum(high_of(base), 0))
    low, high = _corners(bind, positive, exponent)
    known = low_of(base) > 0
    return Interval(jnp.where(known, low, -jnp.inf), jnp.where(known, high, jnp.inf))


def _wave(peak: float) -> Callable:
    """sin or cos, with maxima at peak + 2πZ and minima half a turn later."""

    def rule(bind, settings, inputs):
        low, high = inputs[0]

        def passes(phase):  # is phase + 2π k inside for some k? asked of a slightly larger interval
            slack = 8 * jnp.finfo(low.dtype).eps * (1 + jnp.maximum(abs(low), abs(high)))
            first = jnp.ceil((low - slack - phase) / (2 * np.pi))
            return ~(first * (2 * np.pi) + phase > high + slack)

        ends = outward(Interval(jnp.minimum(bind(low), bind(high)), jnp.maximum(bind(low), bind(high))), (-1.0, 1.0))
        return Interval(
            jnp.where(passes(peak + np.pi), -1.0, ends.low).astype(low.dtype),
            jnp.where(passes(peak), 1.0, ends.high).astype(low.dtype),
        )

    return rule


def _comparison(name: str) -> Callable:
    """A truth value is bounded by "surely" and "possibly"."""

    def rule(bind, settings, inputs):
        a, b = inputs
        if name in ("lt", "le"):
            a, b = b, a
        (la, ha), (lb, hb) = (low_of(a), high_of(a)), (low_of(b), high_of(b))
        if name in ("gt", "lt"):
            return Interval(la > hb, ha > lb)
        if name in ("ge", "le"):
            return Interval(la >= hb, ha >= lb)
        same = Interval((la == ha) & (lb == hb) & (la == lb), (la <= hb) & (lb <= ha))
        return same if name == "eq" else Interval(~same.high, ~same.low)

    return rule


def _select(bind, settings, inputs):
    which, cases = inputs[0], inputs[1:]
    lows, highs = [low_of(c) for c in cases], [high_of(c) for c in cases]
    if not isinstance(which, Interval):
        return Interval(lax.select_n(which, *lows), lax.select_n(which, *highs))
    sure = jnp.broadcast_to(which.low == which.high, lows[0].shape)
    low = jnp.where(sure, lax.select_n(which.low, *lows), jnp.stack(lows).min(0))
    return Interval(low, jnp.where(sure, lax.select_n(which.low, *highs), jnp.stack(highs).max(0)))


def _finite(bind, settings, inputs):
    return Interval(bind(inputs[0].low) & bind(inputs[0].high), jnp.ones(inputs[0].low.shape, bool))


def _cosh(bind, settings, inputs):
    low, high = _absolute(bind, settings, inputs)
    return outward(Interval(bind(low), bind(high)), (1.0, np.inf))


def _product(bind, settings, inputs):
    """A product of numbers that are not negative; unbounded otherwise."""
    low, high = inputs[0]
    safe = (low >= 0).all()
    size = low.size
    ends = outward(Interval(bind(jnp.maximum(low, 0)), bind(jnp.maximum(high, 0))), (0.0, np.inf), ulps=2 * size + 4)
    return Interval(jnp.where(safe, ends.low, -jnp.inf), jnp.where(safe, ends.high, jnp.inf))


RULES: dict[str, Callable] = {
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "mul": _times,
    "div": _over,
    "sub": _minus,
    "abs": _absolute,
    "square": _square,
    "integer_pow": _integer_power,
    "pow": _power,
    "sin": _wave(np.pi / 2),
    "cos": _wave(0.0),
    "cosh": _cosh,
    "select_n": _select,
    "is_finite": _finite,
    "reduce_prod": _product,
    **{name: _comparison(name) for name in ("gt", "ge", "lt", "le", "eq", "ne")},
}
