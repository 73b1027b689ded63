"""Starting is cheap: nothing heavy is imported before it is needed."""

import subprocess
import sys

from leadline import claims
from leadline.evidence import entry


def modules_after(code: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_the_help_is_shown_without_importing_jax_or_any_other_heavy_library():
    seen = modules_after(
        "import sys; sys.argv = ['leadline', '--help']\n"
        "from leadline.cli.app import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass"
    )
    assert "typer" in seen
    assert not seen & {"jax", "numpy", "scipy", "altair", "sklearn", "equinox"}


def test_listing_the_claims_reads_the_index_and_imports_no_numerical_library():
    seen = modules_after(
        "import sys; sys.argv = ['leadline', 'claims', 'novikoff']\n"
        "from leadline.cli.app import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass"
    )
    assert "leadline.evidence.registry" in seen
    assert not seen & {"jax", "numpy", "scipy", "altair", "sklearn", "equinox"}
    assert not any(name.startswith("leadline.claims.neurons") for name in seen)


def test_an_entry_that_runs_imports_its_own_module_and_no_other_of_its_chapter():
    claims.load()
    seen = modules_after("import leadline; leadline.check('margin-sign')")
    assert seen & set(claims.modules()) == {entry("margin-sign").module}
    assert not seen & {"sklearn", "vl_convert.vl_convert"}  # nothing is drawn
