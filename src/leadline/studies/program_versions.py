"""What cards and reports were made with."""

from pathlib import Path

from leadline.evidence import versions


def program_versions() -> dict[str, str]:
    """The versions of all that a study may use: its instruments are found by being in their folder."""
    top = Path(__file__).parent
    files = [file.relative_to(top).with_suffix("") for file in top.rglob("*.py")]
    return versions(*sorted(f"leadline.studies.{'.'.join(f.parts)}".removesuffix(".__init__") for f in files))
