"""The user's cache directory."""

import os
from pathlib import Path

import platformdirs


def cache_directory() -> Path:
    """Where datasets, compiled programs and unfinished runs are kept between calls; LEADLINE_CACHE overrides it."""
    return Path(os.environ.get("LEADLINE_CACHE") or platformdirs.user_cache_dir("leadline"))
