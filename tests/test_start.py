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


def test_pages_made_in_many_threads_parse_no_source_and_import_nothing_of_the_library():
    """Python 3.11 fails now and then where several threads parse, and an import of the library parses its stubs."""
    seen = modules_after(
        "import ast, sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from leadline import claims\n"
        "from leadline.evidence import entries\n"
        "from leadline.presentation.library import library_names\n"
        "from leadline.web.book import BookFindings\n"
        "from leadline.web.pages.site import Site\n"
        "claims.load()\n"
        "site = Site(BookFindings([]))\n"
        "def parse(*arguments, **options):\n"
        "    raise SystemError('parsed in a request thread')\n"
        "ast.parse = parse\n"
        "pages = [lambda name=name: site.of_library(name) for name in library_names()[::9]]\n"
        "pages += [lambda id=e.id: site.entry(id) for e in entries()[::9]]\n"
        "pages += 8 * [site.home, site.library, site.sources, site.errata, lambda: site.search('margin')]\n"
        "with ThreadPoolExecutor(16) as threads:\n"
        "    assert all(threads.map(lambda make: make(), pages))"
    )
    assert "leadline.presentation.library.offer" in seen
    assert not seen & {"jax", "leadline.kernels", "leadline.optimisation", "leadline.linear_classifiers"}
