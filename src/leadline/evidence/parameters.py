"""Parameters of an entry, read from its signature: type, default, range and scale.

The command line, the browser's sliders and the falsifier's search space are all made from these.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from leadline._messages import BadInput, brief, unknown

Value = int | float | bool | str


@dataclass(frozen=True)
class Range:
    """An interval of numbers, both ends included; `log` for a logarithmic scale."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, init=False)
class Choice:
    """One of a few words or numbers."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any):
        object.__setattr__(self, "options", options)


def Int(low: int, high: int, *, log: bool = False) -> Any:
    """The annotation of a whole number from low to high: `dim: Int(1, 500) = 20`."""
    return Annotated[int, Range(low, high, log)]


def Real(low: float, high: float, *, log: bool = False) -> Any:
    """The annotation of a number from low to high: `margin: Real(0.005, 0.9, log=True) = 0.1`."""
    return Annotated[float, Range(low, high, log)]


def OneOf(*options: Value) -> Any:
    """The annotation of one of a few words or numbers: `order: OneOf("cyclic", "permuted") = "cyclic"`."""
    return Annotated[type(options[0]), Choice(*options)]


@dataclass(frozen=True)
class Parameter:
    """One parameter of an entry."""

    name: str
    type: type
    default: Value
    domain: Range | Choice

    def validate(self, value: Any) -> Value:
        """The value in the parameter's type, or BadInput saying what is wrong with it."""
        if isinstance(self.domain, Choice):
            if value not in self.domain.options or isinstance(value, bool) != (self.type is bool):
                raise BadInput(f"{self.name} = {_show(value)} is not one of {_listed(self.domain)}.")
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise BadInput(f"{self.name} = {_show(value)} is not a finite number; {self._expected()}.")
        if self.type is int and value != int(value):
            raise BadInput(f"{self.name} = {_show(value)} is not a whole number; {self._expected()}.")
        if not self.domain.low <= value <= self.domain.high:
            raise BadInput(f"{self.name} = {value:g} is outside its range; {self._expected()}.")
        return self.type(value)

    def parse(self, text: str) -> Value:
        """The value that a word of the command line means."""
        if self.type is bool:
            words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            return self.validate(words.get(text.lower(), text))
        if self.type is str:
            return self.validate(text)
        try:
            number = float(text)
        except ValueError:
            raise BadInput(f"{self.name} = {_show(text)} is not a number; {self._expected()}.") from None
        return self.validate(int(number) if self.type is int and number.is_integer() else number)

    def at(self, position: float) -> Value:
        """The value at a position in [0, 1] of the parameter's scale."""
        position = min(max(position, 0.0), 1.0)
        if isinstance(self.domain, Choice):
            return self.domain.options[min(int(position * len(self.domain.options)), len(self.domain.options) - 1)]
        low, high = self.domain.low, self.domain.high
        value = low * (high / low) ** position if self.domain.log else low + (high - low) * position
        value = min(max(value, low), high)
        return round(value) if self.type is int else float(f"{value:.6g}")

    @property
    def values(self) -> str:
        """What it can be set to, in words."""
        if isinstance(self.domain, Choice):
            return ", ".join(_show(o).strip("'") for o in self.domain.options)
        return f"{self.domain.low:g} to {self.domain.high:g}" + (", logarithmic" if self.domain.log else "")

    def to_json(self) -> dict[str, Any]:
        record = {"name": self.name, "type": self.type.__name__, "default": self.default}
        if isinstance(self.domain, Choice):
            return record | {"options": list(self.domain.options)}
        return record | {"low": self.domain.low, "high": self.domain.high, "log": self.domain.log}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Parameter":
        domain = (
            Choice(*record["options"]) if "options" in record else Range(*(record[k] for k in ("low", "high", "log")))
        )
        kind = {"int": int, "float": float, "str": str, "bool": bool}[record["type"]]
        return cls(record["name"], kind, record["default"], domain)

    def _expected(self) -> str:
        if isinstance(self.domain, Choice):
            return f"give one of {_listed(self.domain)}"
        kind = "a whole number" if self.type is int else "a number"
        return f"give {kind} from {self.domain.low:g} to {self.domain.high:g}"


def parameters_of(function: Callable) -> tuple[Parameter, ...]:
    """The parameters that a claim's signature declares after `key`."""
    hints = get_type_hints(function, include_extras=True)
    names = list(inspect.signature(function).parameters.values())
    if not names or names[0].name != "key":
        raise TypeError(f"{function.__name__} must take `key` first.")
    return tuple(_parameter(p, hints.get(p.name)) for p in names[1:])


def _parameter(declared: inspect.Parameter, hint: Any) -> Parameter:
    if declared.default is inspect.Parameter.empty:
        raise TypeError(f"Parameter {declared.name} needs a default.")
    if hint is bool:
        return Parameter(declared.name, bool, declared.default, Choice(False, True))
    domains = [a for a in get_args(hint)[1:] if isinstance(a, Range | Choice)]
    kind = get_args(hint)[0] if get_args(hint) and get_origin(hint) is not type(None) else hint
    if kind not in (int, float, str) or len(domains) != 1:
        raise TypeError(f"Parameter {declared.name} needs Int(...), Real(...), OneOf(...) or bool.")
    if isinstance(domains[0], Range) and domains[0].log and domains[0].low <= 0:
        raise TypeError(f"Parameter {declared.name} has a logarithmic range that reaches zero.")
    parameter = Parameter(declared.name, kind, declared.default, domains[0])
    parameter.validate(declared.default)
    return parameter


def resolve(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Value]:
    """Every parameter's value: the given one, checked, or the default."""
    known = {p.name: p for p in parameters}
    for name in given:
        if name not in known:
            raise BadInput(unknown("parameter", name, known))
    return {
        name: p.parse(given[name]) if isinstance(given.get(name), str) else p.validate(given.get(name, p.default))
        for name, p in known.items()
    }


def as_word(value: Any) -> str:
    """A value as the command line and addresses write it, and `Parameter.parse` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _listed(choice: Choice) -> str:
    return ", ".join(map(_show, choice.options))


def _show(value: Any) -> str:
    return f"'{brief(value)}'" if isinstance(value, str) else brief(as_word(value))
