"""Starting is cheap: nothing heavy is imported before it is needed."""

import subprocess
import sys


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


def test_listing_the_claims_needs_neither_scipy_nor_altair_nor_scikit_learn():
    seen = modules_after("import leadline.claims; leadline.claims.load()")
    assert "leadline.claims.neurons" in seen
    assert not seen & {"altair", "sklearn", "scipy.stats", "vl_convert"}
