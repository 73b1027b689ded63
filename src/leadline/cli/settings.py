"""Numbers and NAME=VALUE on the command line."""

import math

import typer


def finite(value: float | None) -> float | None:
    """The callback of every option that is a number: infinity and "nan" are numbers to Python, and of no use here."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def settings_of(settings: list[str]) -> dict[str, str]:
    """The settings by name; a hyphen in a name is an underscore."""
    from leadline._messages import BadInput, brief

    given = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"--set {brief(setting)} does not say NAME=VALUE, as in --set margin=0.2.")
        given[name.strip().replace("-", "_")] = value.strip()
    return given
