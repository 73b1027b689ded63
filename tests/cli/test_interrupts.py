"""Ctrl-C ends every command with exit code 130 and one sentence, wherever it falls."""

import os
import signal
import subprocess
import sys
import time

import pytest
import sample_claims  # noqa: F401 - declares the entries

from leadline.cli.interrupts import Interrupts, check
from leadline.evidence import Task, Workers, entry

STOPPED = "leadline: stopped; the same command goes on from here.\n"

SCRIPT = """
import gc, os, signal, sys, time
from leadline.cli import app as commands

def interrupted(phase, info):
    if phase == "start" and marks:
        marks.clear()
        os.kill(os.getpid(), signal.SIGINT)

class Finalised:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def collector():
    gc.callbacks.append(interrupted)
    marks.append(1)
    gc.collect()
    time.sleep(60)

def finaliser():
    Finalised()
    time.sleep(60)

def plain():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

def turned_into_another_exception():
    try:
        plain()
    except KeyboardInterrupt:
        raise RuntimeError("the callback failed")

def importing():
    import a_module_that_is_interrupted
    print(a_module_that_is_interrupted.whole)
    time.sleep(60)

def swallowed():
    from leadline.cli.interrupts import check
    try:
        plain()
    except BaseException:
        pass
    check()
    time.sleep(60)

marks = []
commands.app.command("interrupted")(globals()[sys.argv.pop(1)])
sys.argv.insert(1, "interrupted")
commands.run()
"""


@pytest.mark.parametrize("where", ["collector", "finaliser", "plain", "turned_into_another_exception", "swallowed"])
def test_an_interrupt_ends_a_command_wherever_it_falls(where):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, where],
        capture_output=True,
        text=True,
        timeout=50,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background have it ignored
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", STOPPED)


def test_an_interrupt_in_an_import_waits_until_the_module_is_whole(tmp_path):
    module = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(1000): pass\nwhole = 'whole'\n"
    (tmp_path / "a_module_that_is_interrupted.py").write_text(module)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "importing"],
        capture_output=True,
        text=True,
        timeout=50,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "whole\n", STOPPED)


def test_an_interrupted_process_ends_without_taking_the_interpreter_apart():
    """What is registered for its end does not run: there XLA's threads made it crash."""
    program = (
        "import atexit, os, signal, sys\n"
        "from leadline import __main__\n"
        "from leadline.cli import app\n"
        "atexit.register(print, 'taken apart')\n"
        "app.app.command('interrupted')(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "sys.argv = ['leadline', 'interrupted']\n"
        "__main__.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=50,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", STOPPED)


@pytest.fixture
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_after_the_end_of_a_command_an_interrupt_changes_nothing(usual_handler):
    with Interrupts() as interrupts:
        check()
        interrupts.ignore()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    check()


def mask_of_worker(pid: int) -> set[int]:
    with open(f"/proc/{pid}/status") as status:
        (bits,) = [int(line.split()[1], 16) for line in status if line.startswith("SigBlk")]
    return {number for number in range(1, 65) if bits >> (number - 1) & 1}


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads the signal mask of a process from /proc")
def test_workers_hold_ctrl_c_back_from_their_first_moment():
    with Workers(2) as workers:
        workers.start([])
        processes: dict = {}
        while len(processes) < 2:
            processes = dict(workers._pool._pool_manager.worker_manager.workers)
            time.sleep(0.01)
        assert all(signal.SIGINT in mask_of_worker(p.pid) for p in processes.values())
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_task_for_workers_that_are_stopped_is_cancelled_and_no_error():
    """A searcher of `falsify` may ask for one more run after the command was interrupted."""
    with Workers(1) as workers:
        pass
    assert workers.run(Task.of(entry("sample-holds")), 60).error == "cancelled"
