from . import explorer as explorer, pages as pages, runs as runs
from .book import write_book as write_book
from .known_findings import KnownFindings as KnownFindings, State as State
