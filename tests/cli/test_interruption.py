"""A check killed again and again ends with the same findings as one left in peace."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from leadline.evidence import RunDirectory

ENTRIES = (
    "gelu",
    "mcculloch-pitts-count",
    "xor-not-separable",
    "hyperplane-distance",
    "margin-sign",
    "general-position",
    "cover-shattering",
    "value-of-history",
)


def start(out, cache):
    command = [sys.executable, "-m", "leadline", "check", *ENTRIES, "--jobs", "2", "--out", str(out)]
    environment = os.environ | {"LEADLINE_CACHE": str(cache)}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background have it ignored
    )


def without_times(directory):
    return {f.id: f.to_json() | {"seconds": None} for f in RunDirectory(directory).findings()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    base = tmp_path_factory.mktemp("undisturbed")
    process = start(base / "out", base / "cache")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    return base


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 20])
def test_killing_a_check_at_random_moments_loses_nothing_but_time(undisturbed, tmp_path, kills):
    rng = random.Random(0)
    out = tmp_path / "out"
    kept = 0
    for _ in range(kills):
        process = start(out, undisturbed / "cache")
        time.sleep(rng.uniform(0.1, 6.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        store = RunDirectory(out)
        readable = len(store.findings())
        assert readable >= kept
        assert store.damaged <= kills
        kept = readable
    process = start(out, undisturbed / "cache")
    printed, err = process.communicate(timeout=300)
    assert process.returncode == 0, printed + err
    assert without_times(out) == without_times(undisturbed / "out")


@pytest.mark.slow
def test_ctrl_c_stops_with_a_sentence_and_leaves_a_run_that_goes_on(undisturbed, tmp_path):
    process = start(tmp_path / "out", undisturbed / "cache")
    while not (tmp_path / "out" / "findings.jsonl").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "leadline: stopped; the same command goes on from here."
    assert "Traceback" not in err
    assert 1 <= len(RunDirectory(tmp_path / "out").findings()) < len(ENTRIES)


def test_workers_end_when_their_parent_is_killed(undisturbed, tmp_path):
    process = start(tmp_path / "out", undisturbed / "cache")
    while not (tmp_path / "out" / "findings.jsonl").exists():
        time.sleep(0.05)
    children = descendants(process.pid)
    assert children
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 20
    while any(alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert [child for child in children if alive(child)] == []


def descendants(pid):
    listing = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listing.splitlines()]
    found, frontier = [], {pid}
    while frontier:
        frontier = {child for child, parent in pairs if parent in frontier}
        found += frontier
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
