"""Ctrl-C: for every command the one way in which it is heard, even where it falls into something that loses it."""

import signal
import sys
import threading
import time
from types import FrameType

_AGAIN = 0.05  # seconds until a lost interrupt is sent once more
_IMPORTING = 10.0  # seconds for which an interrupt waits for the end of an import


class Interrupts:
    """While it is entered, Ctrl-C raises KeyboardInterrupt in the main thread and is remembered.

    One that falls into a callback of the garbage collector (JAX has one) or a finaliser is not raised but only printed
    by Python, and the command would go on; it is sent again instead. So is one that falls into an import, since
    modules in C++ that are only half imported (JAX's) end the process with a crash, now or at its end. One that a
    library turns into an exception of its own is seen by `check`. After `ignore` the command is over, and another one
    changes nothing.
    """

    def __init__(self) -> None:
        self.came = False
        self._first = 0.0  # when the first one came
        self._over = False

    def __enter__(self) -> "Interrupts":
        global _current
        self._usual = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        self._hook, self._before, _current = sys.unraisablehook, _current, self
        if self._usual:
            signal.signal(signal.SIGINT, self._heard)
            sys.unraisablehook = self._unraisable
        return self

    def __exit__(self, *_: object) -> None:
        global _current
        _current = self._before
        if self._usual:
            sys.unraisablehook = self._hook
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def ignore(self) -> None:
        """From now on, let what is being said be said to its end."""
        self._over = True

    def _heard(self, _: int, frame: FrameType | None) -> None:
        self._first = self._first if self.came else time.monotonic()
        self.came = True
        if self._over:
            return
        if _importing(frame) and time.monotonic() - self._first < _IMPORTING:
            self._send_again()
        else:
            raise KeyboardInterrupt

    def _unraisable(self, lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            self._hook(lost)
        elif not self._over:
            self._send_again()

    def _send_again(self) -> None:
        main = threading.main_thread().ident  # sent to the process, it might wake another thread and not this one
        again = threading.Timer(_AGAIN, signal.pthread_kill, (main, signal.SIGINT))
        again.daemon = True
        again.start()


def _importing(frame: FrameType | None) -> bool:
    """Whether an import statement is under way."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


_current: Interrupts | None = None


def check() -> None:
    """Raise KeyboardInterrupt if one came to the command under way, whatever became of it."""
    if _current is not None and _current.came:
        raise KeyboardInterrupt
