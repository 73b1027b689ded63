"""Training on several devices and in several processes is training on one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAME = "averages True True\nstate True True\nplayers True True\n"


def start(process, processes, devices, port=0):
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    command = [sys.executable, "-m", "tests.training.engine.sharded_run", str(process), str(processes), str(port)]
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ | flags, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.mark.slow
def test_eight_devices_end_where_one_does():
    out, err = start(0, 1, 8).communicate(timeout=300)
    assert out == SAME, err


@pytest.mark.slow
def test_two_processes_end_where_one_does():
    port = free_port()
    runs = [start(process, 2, 2, port) for process in range(2)]
    for run in runs:
        out, err = run.communicate(timeout=300)
        said = [line for line in out.splitlines(keepends=True) if not line.startswith("[Gloo]")]
        assert "".join(said) == SAME, err
