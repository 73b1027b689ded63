from .queue import Runs as Runs
from .run import Run as Run
from .run_events import Busy as Busy, Event as Event, Known as Known, Wanted as Wanted
