"""Sliders and fields, made from the parameters that an entry declares."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from leadline.evidence import Parameter, Range
from leadline.evidence.parameters import as_word

POSITIONS = 1000  # of a slider


@dataclass(frozen=True)
class Control:
    """What the page needs to draw one parameter; values are texts as the address and the command line have them."""

    name: str
    kind: str  # slider, choice or switch
    value: str
    default: str
    values: str = ""
    options: tuple[str, ...] = ()
    low: str = ""
    high: str = ""
    log: bool = False
    whole: bool = False
    position: int = 0

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")


def controls(parameters: Iterable[Parameter], values: Mapping[str, Any]) -> list[Control]:
    """One control a parameter, set to the given values."""
    return [_control(p, values.get(p.name, p.default)) for p in parameters]


def _control(parameter: Parameter, value: Any) -> Control:
    shown, default = as_word(value), as_word(parameter.default)
    domain = parameter.domain
    if isinstance(domain, Range):
        return Control(
            parameter.name,
            "slider",
            shown,
            default,
            parameter.values,
            low=_bound(domain.low, parameter.type),
            high=_bound(domain.high, parameter.type),
            log=domain.log,
            whole=parameter.type is int,
            position=_position(domain, float(value)),
        )
    if parameter.type is bool:
        return Control(parameter.name, "switch", shown, default)
    return Control(parameter.name, "choice", shown, default, options=tuple(as_word(o) for o in domain.options))


def _bound(value: float, kind: type) -> str:
    return str(int(value)) if kind is int else str(value)


def _position(domain: Range, value: float) -> int:
    """Where a value is on the slider: the inverse of `Parameter.at`."""
    if domain.high == domain.low:
        return 0
    if domain.log:
        share = math.log(value / domain.low) / math.log(domain.high / domain.low)
    else:
        share = (value - domain.low) / (domain.high - domain.low)
    return round(POSITIONS * min(max(share, 0.0), 1.0))
