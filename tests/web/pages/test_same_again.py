"""The same result elsewhere: addresses, commands and Python give back the task they were made from."""

import itertools
import shlex
from urllib.parse import parse_qsl, urlsplit

import pytest

import leadline
from leadline.evidence import Int, OneOf, Real, Task, claim, entry, exactly
from leadline.web.explorer.run_requests import task_of_address
from leadline.web.pages.addresses import Addresses
from leadline.web.pages.same_again import command, python, view_address


@claim()
def same_again(
    key,
    count: Int(1, 10**7, log=True) = 5,
    rate: Real(-1.0, 1e6) = 0.1,
    order: OneOf("cyclic", "shuffle once", "a&b=c?d#e+%") = "cyclic",
    depth: OneOf(1, 2, 4) = 2,
    bias: bool = False,
):
    """The same again.

    It has a parameter of every kind.
    """
    yield exactly(1, 1, "one")


TASKS = [
    ({}, 0),
    ({"count": 3_000_000}, 7),
    ({"rate": -0.30000000000000004, "bias": True}, 2**31 - 1),
    ({"order": "a&b=c?d#e+%", "depth": 4}, 0),
    ({"order": "shuffle once", "rate": 1e-05}, 1),
]


@pytest.mark.parametrize(("given", "seed"), TASKS)
def test_address_command_and_python_lead_back_to_the_task(given, seed, monkeypatch):
    task = Task.of(entry("same-again"), given, seed)
    parts = urlsplit(view_address(Addresses(), task))
    query = parse_qsl(parts.query, strict_parsing=bool(parts.query))
    assert parts.path == "/entries/same-again"
    assert {name for name, _ in query} == set(given) | ({"seed"} if seed else set())
    assert task_of_address(task.entry, query) == task

    words = shlex.split(command(task))
    assert words[:3] == ["leadline", "check", "same-again"]
    told = dict(w.split("=", 1) for before, w in itertools.pairwise(words) if before == "--set")
    assert Task.of(task.entry, told, int(words[-1]) if "--seed" in words else 0) == task

    asked = {}
    monkeypatch.setattr(leadline, "check", lambda id, **given: asked.update(given, id=id))
    exec(python(task), {})
    assert asked.pop("id") == "same-again"
    seed = asked.pop("seed", 0)
    assert Task.of(task.entry, asked, seed) == task
