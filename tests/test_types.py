"""The library is typed so that pyright finds no mistake; pyproject.toml says how it looks."""

import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PYRIGHT = TESTS / "node_modules" / ".bin" / "pyright"


@pytest.mark.slow  # three minutes of one core, most of them NumPy's overloads
def test_pyright_finds_nothing():
    assert PYRIGHT.exists(), "Checking types needs pyright; run `npm ci --prefix tests` (.ci/run does it)."
    result = subprocess.run([PYRIGHT, "--threads", "2"], cwd=TESTS.parent, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
