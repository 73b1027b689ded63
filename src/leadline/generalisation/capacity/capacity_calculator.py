"""Bounds that count what a class could do: its members, its bits, its VC dimension; all with constants, in logs."""

import math
from collections.abc import Callable
from typing import NamedTuple

from ..bounds import Bound, check_confidence
from ..pac_bayes_bounds import kl_inverse


def finite_class_tail(log_size: float, samples: int, width: float) -> Bound:
    """P(sup_F |R̂ − R| > ε) ≤ 2|F| e^{−2nε²}, by Hoeffding and a union bound; `log_size` is ln|F|.

    >>> round(finite_class_tail(math.log(10), 500, 0.1).value, 6)
    0.000908
    """
    _check_class(log_size, samples)
    log = math.log(2) + log_size - 2 * samples * width**2
    return Bound.from_log(
        log,
        "probability that some member's gap exceeds ε",
        ingredients={"ln |F|": log_size, "rows": samples, "ε": width},
    )


def finite_class_size(log_size: float, width: float, *, confidence: float = 0.95) -> int:
    """n = ⌈ln(2|F|/δ)/(2ε²)⌉ rows suffice for all gaps to be at most ε.

    >>> finite_class_size(20 * math.log(2), 0.1)
    878
    """
    delta = check_confidence(confidence, 1)
    return math.ceil((math.log(2) + log_size + math.log(1 / delta)) / (2 * width**2))


def finite_class_bound(
    training_error: float, log_size: float, samples: int, *, confidence: float = 0.95, trivial: float = 1.0
) -> Bound:
    """kl⁻¹(R̂ | (ln|F| + ln(1/δ))/n) bounds the error of every member: the Chernoff bound, a union bound over F.

    It is below R̂ + √((ln|F| + ln(1/δ))/(2n)), and never above 1.

    >>> round(finite_class_bound(0.0, math.log(1000), 1000).value, 4)
    0.0099
    """
    _check_class(log_size, samples)
    delta = check_confidence(confidence, samples)
    value = float(kl_inverse(training_error, (log_size + math.log(1 / delta)) / samples))
    return Bound(
        value,
        "true error, from the number of networks",
        trivial=trivial,
        ingredients={"training error": training_error, "ln |F|": log_size, "rows": samples, "confidence": confidence},
    )


def bits_bound(
    training_error: float,
    parameters: int,
    samples: int,
    *,
    bits: int = 32,
    confidence: float = 0.95,
    trivial: float = 1.0,
) -> Bound:
    """The finite-class bound for all networks with p stored numbers of so many bits: |F| ≤ 2^{p·bits}, VC ≤ p·bits.

    >>> bits_bound(0.0, 9000, 1297).vacuous, bits_bound(0.0, 1, 50000).vacuous
    (True, False)
    """
    found = finite_class_bound(
        training_error, parameters * bits * math.log(2), samples, confidence=confidence, trivial=trivial
    )
    # 1 − e^{−c} rounds to 1 for large c; whatever the rounding, it is no news
    return Bound(
        min(found.value, 1.0),
        "true error, from the stored bits",
        trivial=trivial,
        ingredients=dict(found.ingredients) | {"bits": parameters * bits},
    )


def vc_inequality(log_growth: float, samples: int, width: float) -> Bound:
    """P(sup_F |R̂ − R| > ε) ≤ 8 Π(n) e^{−nε²/32} (Vapnik, Chervonenkis 1971; Devroye, Györfi, Lugosi, theorem 12.5).

    >>> vc_inequality(50000 * math.log(2), 50000, 1.0).vacuous
    True
    """
    _check_class(log_growth, samples)
    return Bound.from_log(
        math.log(8) + log_growth - samples * width**2 / 32,
        "probability that some member's gap exceeds ε",
        ingredients={"ln Π(n)": log_growth, "rows": samples, "ε": width},
    )


def vc_vacuous_below(log_growth: Callable[[int], float], width: float) -> int:
    """The least n from which on 8 Π(n) e^{−nε²/32} < 1; `log_growth(n)` is ln Π(n), polynomial in n.

    >>> vc_vacuous_below(lambda n: math.log(2 * n), 0.1)
    43014
    """

    def says_nothing(n: int) -> bool:
        return math.log(8) + log_growth(n) - n * width**2 / 32 >= 0

    high = 64
    while says_nothing(high):
        high *= 2
        if high > 2**60:
            raise ValueError("The bound stays vacuous up to 2^60 rows; is ln Π(n) at least of order n?")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if says_nothing(middle) else (low, middle)
    return high


def growth_bound(
    training_error: float, log_growth: float, samples: int, *, confidence: float = 0.95, trivial: float = 1.0
) -> Bound:
    """R̂ + √(32 (ln(8 Π(n)) + ln(1/δ))/n): the VC inequality, solved for the gap.

    >>> growth_bound(0.0, 1000 * math.log(2), 1000).value > math.sqrt(32 * math.log(2))
    True
    """
    _check_class(log_growth, samples)
    delta = check_confidence(confidence, samples)
    value = training_error + math.sqrt(32 * (math.log(8) + log_growth + math.log(1 / delta)) / samples)
    return Bound(
        value,
        "true error, from the growth function",
        trivial=trivial,
        ingredients={
            "training error": training_error,
            "ln Π(n)": log_growth,
            "rows": samples,
            "confidence": confidence,
        },
    )


class SampleOrders(NamedTuple):
    """Numbers of rows of the order that suffices for excess risk ε, with and without the superfluous ln(1/ε)."""

    classical: float
    tight: float


def vc_sample_orders(dimension: float, width: float, *, confidence: float = 0.95) -> SampleOrders:
    """(V/ε²) ln(1/ε) + ln(1/δ)/ε² and (V + ln(1/δ))/ε², without their constants: orders, no guarantees.

    >>> [round(v) for v in vc_sample_orders(10, 0.1)]
    [2602, 1300]
    """
    delta = check_confidence(confidence, 1)
    rest = math.log(1 / delta) / width**2
    return SampleOrders(dimension / width**2 * math.log(1 / width) + rest, dimension / width**2 + rest)


def vc_schematic(dimension: float, samples: int, *, confidence: float = 0.95) -> Bound:
    """2√((2V − ln δ)/n), the coarse form for the excess risk: its constant is unproved, read it as an order.

    >>> vc_schematic(1e8, 50_000, confidence=0.999).value.__round__(1)
    126.5
    """
    delta = check_confidence(confidence, samples)
    return Bound(
        2 * math.sqrt((2 * dimension - math.log(delta)) / samples),
        "excess risk, schematic",
        ingredients={"V": dimension, "rows": samples, "confidence": confidence},
    )


def vc_excess(dimension: float, samples: int, *, confidence: float = 0.95) -> Bound:
    """2√((V(ln(2n/V) + 1) + ln(4/δ))/n) bounds the excess risk of the empirical minimiser (Vapnik 1998), for n ≥ V.

    >>> vc_excess(1e8, 50_000).valid, round(vc_excess(3, 10_000).value, 3)
    (False, 0.116)
    """
    delta = check_confidence(confidence, samples)
    ingredients = {"V": dimension, "rows": samples, "confidence": confidence}
    if samples < dimension:
        return Bound.inapplicable(
            "excess risk, refined", f"n ≥ V, and n = {samples}, V = {dimension:g}", ingredients=ingredients
        )
    radicand = dimension * (math.log(2 * samples / dimension) + 1) + math.log(4 / delta)
    return Bound(2 * math.sqrt(radicand / samples), "excess risk, refined", ingredients=ingredients)


class VcOrders(NamedTuple):
    """c pL ln(p/L) ≤ VC ≤ C pL ln p for ReLU networks with p weights in L layers; c and C are not specified."""

    lower: float
    upper: float


def relu_vc_orders(parameters: int, layers: int) -> VcOrders:
    """pL ln(p/L) and pL ln p, the orders between which the VC dimension of ReLU networks lies (Bartlett, Harvey, Liaw,
    Mehrabian 2019): orders only, without constants.

    >>> [f"{v:.3g}" for v in relu_vc_orders(10**6, 10)]
    ['1.15e+08', '1.38e+08']
    """
    if parameters < 1 or layers < 1 or layers > parameters:
        raise ValueError(f"Got {parameters} weights in {layers} layers; give at least one weight for each layer.")
    size = parameters * layers
    return VcOrders(size * math.log(parameters / layers), size * math.log(parameters))


def _check_class(log_size: float, samples: int) -> None:
    if not log_size >= 0 or samples < 1:
        raise ValueError(
            f"Got ln of the size {log_size} and {samples} rows; give a class of 1 or more and 1 row or more."
        )
