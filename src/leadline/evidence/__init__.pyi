from .comparison import (
    Comparison as Comparison,
    Erratum as Erratum,
    Inapplicable as Inapplicable,
    Verdict as Verdict,
    assume as assume,
    erratum as erratum,
)
from .execution import run_entry as run_entry, versions as versions
from .falsifier import Falsification as Falsification, falsify as falsify
from .figure import Figure as Figure
from .finding import Finding as Finding
from .parameters import (
    BadInput as BadInput,
    Choice as Choice,
    Int as Int,
    OneOf as OneOf,
    Parameter as Parameter,
    Range as Range,
    Real as Real,
    resolve as resolve,
)
from .registry import (
    KINDS as KINDS,
    Entry as Entry,
    claim as claim,
    declare as declare,
    entries as entries,
    entry as entry,
    instrument as instrument,
    method as method,
    model as model,
    stated as stated,
)
from .relations import (
    at_least as at_least,
    at_most as at_most,
    close as close,
    counts_as as counts_as,
    distributed_as as distributed_as,
    exactly as exactly,
    frequency as frequency,
    mean as mean,
    reference as reference,
    same_distribution as same_distribution,
    slope as slope,
    smaller as smaller,
)
from .runner import Task as Task, Workers as Workers, run_tasks as run_tasks
from .sources import SOURCES as SOURCES, Source as Source
from .store import RunDirectory as RunDirectory
