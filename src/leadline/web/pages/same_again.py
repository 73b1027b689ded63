"""The same result elsewhere: as an address, as a command and in Python, with only what differs from the defaults."""

import shlex
from typing import Any
from urllib.parse import urlencode

from leadline.evidence import Task
from leadline.evidence.parameters import as_word

from .addresses import Addresses


def changed(task: Task) -> dict[str, Any]:
    """The parameters that are not at their defaults."""
    return {p.name: task.parameters[p.name] for p in task.entry.parameters if task.parameters[p.name] != p.default}


def view_address(to: Addresses, task: Task) -> str:
    """The page of an entry set to parameters and seed."""
    query = {name: as_word(value) for name, value in changed(task).items()} | ({"seed": task.seed} if task.seed else {})
    return to.entry(task.entry.id) + (f"?{urlencode(query)}" if query else "")


def command(task: Task) -> str:
    """What gives the same in the terminal."""
    words = [f"--set {name}={shlex.quote(as_word(value))}" for name, value in changed(task).items()]
    return " ".join(["leadline check", task.entry.id, *words, *([f"--seed {task.seed}"] if task.seed else [])])


def python(task: Task) -> str:
    """What gives the same in Python."""
    given = "".join(f", {name}={value!r}" for name, value in changed(task).items())
    seed = f", seed={task.seed}" if task.seed else ""
    return f'import leadline\n\nleadline.check("{task.entry.id}"{given}{seed})'


def setting(task: Task) -> str:
    """All parameters and the seed in words."""
    told = [f"{name.replace('_', ' ')} {as_word(value)}" for name, value in task.parameters.items()]
    return ", ".join([*told, f"seed {task.seed}"])
