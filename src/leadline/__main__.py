"""`python -m leadline`; also the `leadline` command. Imports nothing until it is called: workers import it too."""


def main() -> None:
    from leadline.cli.app import run

    run()


if __name__ == "__main__":
    main()
