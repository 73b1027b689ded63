"""The `leadline` command and how its errors are told."""

import os
import sys

import typer
from typer.exceptions import TyperException

from .commands.book import book
from .commands.check import check
from .commands.cite import cite
from .commands.claims import claims
from .commands.data import data
from .commands.experiments.advise import advise
from .commands.experiments.audit import audit
from .commands.experiments.landscape import landscape
from .commands.experiments.regularise import regularise
from .commands.experiments.stress import stress
from .commands.falsify import falsify
from .commands.serve import serve
from .commands.study import study
from .commands.train import Stopped, train
from .commands.wide import wide
from .interrupts import Interrupts

_INTERRUPTED = 130
_MOST = 1000  # characters of a sentence, whatever a user typed

app = typer.Typer(
    name="leadline",
    help="Deep learning, theory beside measurement: run every claim of a graduate curriculum and see whether it holds.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(study)
app.command()(serve)
app.command()(book)
app.command()(claims)
app.command()(check)
app.command()(falsify)
app.command()(cite)
app.command()(data)
app.command()(train)
app.command()(wide)
app.command()(advise)
app.command()(landscape)
app.command()(audit)
app.command()(stress)
app.command()(regularise)


def run() -> None:
    """Run the command line; a user's mistake is one sentence on stderr and exit code 2, Ctrl-C one and 130."""
    with Interrupts() as interrupts:
        code, told = _outcome(interrupts)
        interrupts.ignore()
        if code == _INTERRUPTED:
            told = told or "stopped; the same command goes on from here."
        if told:
            print(f"leadline: {told}", file=sys.stderr)
        sys.exit(code)


def _outcome(interrupts: Interrupts) -> tuple[int, str]:
    """The exit code of the command, and what is to be said of it."""
    from leadline._messages import BadInput

    try:
        if sys.argv[-1:] == ["--"]:
            raise BadInput("-- is followed by nothing; leave it out, or say what comes after it.")
        return app(standalone_mode=False) or 0, ""  # Typer turns Ctrl-C into an exit code without a word
    except typer.Exit as leave:
        return leave.exit_code, ""
    except (BadInput, TyperException) as mistake:
        return (_INTERRUPTED, "") if interrupts.came else (2, _sentence(mistake))
    except Stopped as stop:
        return _INTERRUPTED, str(stop)
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED, ""
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0, ""
    except Exception:
        if interrupts.came:  # a library made an exception of its own of it
            return _INTERRUPTED, ""
        raise


def _sentence(mistake: Exception) -> str:
    from leadline._messages import brief

    message = mistake.format_message() if isinstance(mistake, TyperException) else str(mistake)
    return brief(message, _MOST)
