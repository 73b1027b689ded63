"""Kernels against neural-tangents 0.6.5 and torch.func: the same networks, points and precision, taken in turn.

    python benchmarks/kernels.py [--cases dense,empirical,growth,convolution,images] [--repetitions 5] [--json FILE]

neural-tangents runs in an environment of its own with the newest JAX on which it imports, torch in another; both are
made under .benchmarks/ on the first run (pip is asked for the packages). Every contender has a process of its own,
which waits while the others run, with 20 GiB at most and 15 minutes for a run. Each runs once before it is timed, so
that compilation does not count. The table has medians of seconds, the peak memory above that of a process that has
seen a few inputs, and the ratio of the fastest rival's time to Leadline's. The case `images`, a convolutional network
on 200 images, is left out unless asked for, since neural-tangents does not come to its end; so is `empirical-all`, with
neural-tangents' other routes and torch.func, which take minutes or more memory than there is.
"""

import argparse
import itertools
import json
import math
import resource
import select
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / ".benchmarks"
PAUSE = 0.5  # seconds in which the threads of the contender before come to rest
TIME_LIMIT = 900  # seconds for one run, then a contender is out
MEMORY_LIMIT = 20 * 2**30  # bytes of addresses for a contender, so that none takes the machine down

PACKAGES = {  # the rival -> what its environment holds
    "neural_tangents_065": ["neural-tangents==0.6.5", "jax==0.5.3", "jaxlib==0.5.3"],
    "torch_func": ["torch==2.13.0", "numpy"],
}
CASES = {  # case -> Leadline's run, the rivals' runs, the ratio asked for
    "dense": ("dense", [("neural_tangents_065", "dense")], 2.0),
    "convolution": ("convolution 4", [("neural_tangents_065", "convolution 4")], 2.0),
    "images": ("convolution 200", [("neural_tangents_065", "convolution 200")], 2.0),
    "empirical": ("empirical", [("neural_tangents_065", "empirical structured")], 5.0),
    "empirical-all": (
        "empirical",
        [
            ("neural_tangents_065", "empirical structured"),
            ("neural_tangents_065", "empirical products"),
            ("neural_tangents_065", "empirical jacobian"),
            ("torch_func", "empirical jacobian"),
            ("torch_func", "empirical products"),
        ],
        5.0,
    ),
}
SIZES = (2000, 4000, 8000)


class Contender:
    """A process that runs one case whenever asked."""

    def __init__(self, program: str, case: str, python: Path | str = sys.executable):
        self.name = "leadline" if program == "ours" else f"{program.split('_')[0]} ({case.split()[-1]})"
        self.answers: list[dict] = []
        self.failure = ""
        command = [str(python), str(HERE / "kernel_contenders" / f"{program}.py"), case]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, preexec_fn=_limit_memory, **pipes)
        self._read()

    def run(self) -> None:
        """One run; a contender that has failed, for want of memory say, is out of the race and said so."""
        if self.failure:
            return
        time.sleep(PAUSE)
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self._read()
        if line:
            self.answers.append(json.loads(line))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(60)

    def _read(self) -> str:
        if not select.select([self.process.stdout], [], [], TIME_LIMIT)[0]:
            self.process.kill()
            self.failure = f"stopped after {TIME_LIMIT} s"
            return ""
        line = self.process.stdout.readline().strip()
        if not line:
            self.process.wait(60)
            last = self.process.stderr.read().strip().splitlines()
            self.failure = last[-1][:120] if last else f"ended with {self.process.returncode}"
        return line

    def summary(self) -> dict:
        if not self.answers:
            return {"name": self.name, "failure": self.failure}
        seconds = statistics.median(a["seconds"] for a in self.answers[1:] or self.answers)
        return {"name": self.name, "seconds": seconds, "bytes": max(a["bytes"] for a in self.answers),
                "digest": self.answers[-1]["digest"]}  # fmt: skip


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))


def environment(rival: str) -> Path:
    """The interpreter of a rival's environment, made if it is not there."""
    place = ENVIRONMENTS / rival
    python = place / "bin" / "python"
    done = place / "packages.txt"
    wanted = "\n".join(PACKAGES[rival])
    if not done.exists() or done.read_text() != wanted:
        print(f"making {place.relative_to(HERE.parent)} ...", file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[rival]], check=True)
        done.write_text(wanted)
    return python


def race(case: str, repetitions: int) -> dict:
    """All contenders of a case in turn; one that is far behind after its first run is not asked again."""
    ours, rivals, asked = CASES[case]
    contenders = [Contender("ours", ours), *(Contender(r, c, environment(r)) for r, c in rivals)]
    for contender in contenders:
        contender.run()
    best = min(c.answers[0]["seconds"] for c in contenders if c.answers)
    for _, contender in itertools.product(range(repetitions), contenders):
        if contender.answers and contender.answers[0]["seconds"] < 50 * best:
            contender.run()
    rows = [contender.summary() for contender in contenders]
    for contender in contenders:
        contender.close()
    mine, others = rows[0], [row for row in rows[1:] if "seconds" in row]
    ratio = min(row["seconds"] for row in others) / mine["seconds"] if others else math.nan
    share = mine["bytes"] / min(row["bytes"] for row in others) if others else math.nan
    return {"case": case, "ratio": ratio, "asked": asked, "memory_share": share, "contenders": rows}


def growth(repetitions: int) -> dict:
    """How the time of the dense kernel grows with the number of points: the slope on logarithmic axes."""
    seconds = []
    for size in SIZES:
        contender = Contender("ours", f"dense {size}")
        for _ in range(repetitions + 1):
            contender.run()
        seconds.append(min(a["seconds"] for a in contender.answers[1:]))
        contender.close()
    slope = math.log(seconds[-1] / seconds[0]) / math.log(SIZES[-1] / SIZES[0])
    return {"case": "growth", "points": SIZES, "seconds": seconds, "slope": slope}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="dense,empirical,growth,convolution")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = []
    for case in arguments.cases.split(","):
        if case == "growth":
            found = growth(arguments.repetitions)
            shown = ", ".join(f"{n}: {s:.2f} s" for n, s in zip(SIZES, found["seconds"], strict=True))
            print(f"growth with the points: {shown}; slope {found['slope']:.2f} (n² is 2)", flush=True)
        else:
            found = race(case, arguments.repetitions)
            for row in found["contenders"]:
                told = row.get("failure") or f"{row['seconds']:.3f} s, {row['bytes'] / 2**20:.0f} MiB"
                print(f"{case}: {row['name']}: {told}", flush=True)
            print(f"{case}: ratio {found['ratio']:.2f} (asked: {found['asked']}), "
                  f"memory {found['memory_share']:.2f} of the least of the rivals", flush=True)  # fmt: skip
        results.append(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
