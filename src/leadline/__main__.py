"""`python -m leadline`; also the `leadline` command. Imports nothing until it is called: workers import it too."""


def main() -> None:
    import signal
    import sys

    try:
        from leadline.cli.app import run

        run()
    except KeyboardInterrupt:  # while this was imported, before `run` listens
        print("leadline: stopped.", file=sys.stderr)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending; nothing is left to interrupt


if __name__ == "__main__":
    main()
