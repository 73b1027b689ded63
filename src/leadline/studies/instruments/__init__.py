"""The instruments of a study. Every file here is one and holds it as INSTRUMENT; a new file is a new instrument."""

import importlib
import pkgutil

from leadline._messages import unknown
from leadline.evidence import BadInput

from ..instrument_contract import Instrument

#: The order of the report; instruments that are not named here follow in the order of their names.
ORDER = (
    "anatomy",
    "sight",
    "signal",
    "modes",
    "memory",
    "tangent",
    "curvature",
    "optimisation",
    "generalisation",
    "calibration",
    "robustness",
    "symmetry",
    "memorisation",
)


def instruments() -> dict[str, Instrument]:
    """Every instrument by name, in the order of the report."""
    files = {module.name for module in pkgutil.iter_modules(__path__)}
    names = [name for name in ORDER if name in files] + sorted(files - set(ORDER))
    found = (importlib.import_module(f"{__name__}.{name}").INSTRUMENT for name in names)
    return {instrument.name: instrument for instrument in found}


def named_instrument(name: str) -> Instrument:
    """One instrument by its name; called with a subject it gives its card.

    >>> named_instrument("robustness").question
    'How small a change of an input changes the decision, and what change is excluded?'
    """
    found = instruments()
    if name not in found:
        raise BadInput(unknown("instrument", name, found))
    return found[name]
