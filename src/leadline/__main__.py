"""`python -m leadline`; also the `leadline` command. Imports nothing until it is called: workers import it too."""

_INTERRUPTED = 130


def main() -> None:
    import signal
    import sys

    try:
        from leadline.cli.app import run

        run()
    except KeyboardInterrupt:  # while this was imported, before `run` listens
        print("leadline: stopped.", file=sys.stderr)
        _end(_INTERRUPTED)
    except SystemExit as leave:
        if leave.code == _INTERRUPTED:
            _end(_INTERRUPTED)
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending; nothing is left to interrupt


def _end(code: int) -> None:
    """End the process at once, without taking the interpreter apart.

    All files are closed by now. What an interrupt left half done in threads of XLA or Orbax would be torn from under
    them, and some of the time (3 of 60 interrupts of `train`) the process ended with a segmentation fault.
    """
    import contextlib
    import os
    import sys

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
