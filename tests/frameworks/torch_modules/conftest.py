"""PyTorch is no locked dependency: without it these tests are skipped, and with LEADLINE_TORCH=1 they fail."""

import importlib.util
import os

import pytest

MISSING = importlib.util.find_spec("torch") is None
if MISSING and os.environ.get("LEADLINE_TORCH") == "1":
    raise RuntimeError("LEADLINE_TORCH=1 and there is no torch; install requirements-torch.txt (.ci/run does it).")
if MISSING:
    collect_ignore_glob = ["*.py"]


@pytest.fixture(autouse=True)
def one_thread():
    """PyTorch's threads and XLA's share two cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
