"""NAME=VALUE on the command line."""


def settings_of(settings: list[str]) -> dict[str, str]:
    """The settings by name; a hyphen in a name is an underscore."""
    from leadline.evidence.parameters import BadInput

    given = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"--set {setting} does not say NAME=VALUE, as in --set margin=0.2.")
        given[name.strip().replace("-", "_")] = value.strip()
    return given
