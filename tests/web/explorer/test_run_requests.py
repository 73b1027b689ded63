import json

import pytest
import sample_claims  # noqa: F401  (registers the entries)

from leadline.evidence import BadInput, entry
from leadline.web.explorer.run_requests import NoSuchEntry, entry_named, task_of_address, wanted_by

HOLDS, BOUND = entry("sample-holds"), entry("sample-slow-descent")


def body(**fields):
    return json.dumps({"id": "sample-slow-descent"} | fields).encode()


def test_an_address_means_a_task():
    task = task_of_address(BOUND, [("x", "0.25"), ("other", "3"), ("seed", "7")])
    assert (task.parameters, task.seed) == ({"x": 0.25, "other": 3}, 7)
    assert task_of_address(BOUND, []).parameters == {"x": 0.1, "other": 0}


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ([("x", "2")], "x = 2 is outside its range"),
        ([("x", "-1e400")], "x = -inf is not a finite number"),
        ([("x", "nan")], "x = nan is not a finite number"),
        ([("x", "")], "x = '' is not a number"),
        ([("x", "true")], "x = 'true' is not a number"),
        ([("other", "1.5")], "other = 1.5 is not a whole number"),
        ([("other", "9" * 400)], "other = inf is not a finite number"),
        ([("x", "0.1"), ("x", "0.2")], "x is given twice"),
        ([("y", "1")], "There is no parameter 'y'"),
        ([("__class__", "1")], "There is no parameter '__class__'"),
        ([("seed", "-1")], "seed = '-1' is not a whole number"),
        ([("seed", "2147483648")], "seed = 2147483648 is outside its range"),
        ([("seed", "9" * 5000)], "is not a whole number"),
        ([("seed", "1e3")], "is not a whole number"),
        ([("seed", "٣")], "is not a whole number"),
        ([("seed", "1"), ("seed", "2")], "seed is given twice"),
    ],
)
def test_what_cannot_be_in_an_address_is_said(query, sentence):
    with pytest.raises(BadInput) as mistake:
        task_of_address(BOUND, query)
    assert sentence in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_json_means_a_run():
    wanted = wanted_by(body(kind="falsify", parameters={"x": "0.5", "other": 2}, seed=9, budget=10, page="p"))
    assert (wanted.kind, wanted.entry, wanted.seed, wanted.budget, wanted.page) == ("falsify", BOUND, 9, 10.0, "p")
    assert wanted.task().parameters == {"x": 0.5, "other": 2}
    assert wanted_by(body(seed="12")).seed == 12
    assert wanted_by(body()).kind == "check"


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (b"", "The request is not JSON"),
        (b"{", "The request is not JSON"),
        (b"\xff", "The request is not JSON"),
        (b"[" * 60_000, "The request is not JSON"),
        (b'{"a":' * 10_000, "The request is not JSON"),
        (b'{"id":"sample-slow-descent","seed":' + b"9" * 5000 + b"}", "seed must be a whole number or text"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'"check"', "not a JSON object"),
        (body(kind=3), "kind must be text"),
        (body(kind="delete"), "There is no kind of run 'delete'"),
        (body(id=["a"]), "id must be text"),
        (body(parameters=[1]), "parameters must be an object of parameters"),
        (body(parameters=None), "parameters must be an object"),
        (body(seed=True), "seed must be a whole number or text"),
        (body(seed=1.5), "seed must be a whole number or text"),
        (body(seed=-1), "seed = -1 is outside its range"),
        (body(seed=2**31), "is outside its range"),
        (body(budget="long"), "budget must be a whole number or a number"),
        (body(kind="falsify", budget=1e9), "budget = 1e+09 is outside its range"),
        (body(kind="falsify", budget=float("nan")), "budget = nan is outside its range"),
        (body(kind="example", object="os.system"), "There is no object of sample-slow-descent 'os.system'"),
        (body(page="p" * 101), "page must be at most 100 characters"),
        (body(command="rm"), "There is no field 'command'"),
        (body(parameters={"x": True}), "x = true is not a finite number"),
        (body(parameters={"x": None}), "x = None is not a finite number"),
        (body(parameters={"x": [0.1]}), "is not a finite number"),
        (body(parameters={"x": {"y": 1}}), "is not a finite number"),
        (body(parameters={"x": float("nan")}), "x = nan is not a finite number"),
        (body(parameters={"x": 10**400}), "x = inf is not a finite number"),
        (b'{"id":"sample-slow-descent","parameters":{"x":1e400}}', "x = inf is not a finite number"),
        (body(parameters={"x": 1.5}), "x = 1.5 is outside its range"),
        (body(parameters={"other": 1.5}), "other = 1.5 is not a whole number"),
        (body(parameters={"z": 1}), "There is no parameter 'z'"),
        (body(parameters={"seed": 1}), "There is no parameter 'seed'"),
        (body(parameters={"x": "\ud800"}), "is not a number"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(sent, sentence):
    with pytest.raises(BadInput) as mistake:
        wanted_by(sent)
    assert sentence in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_an_entry_that_does_not_exist_is_told_apart_from_other_mistakes():
    assert entry_named("sample-holds") is HOLDS
    with pytest.raises(NoSuchEntry, match="did you mean sample-holds"):
        wanted_by(b'{"id": "sample-hold"}')
    with pytest.raises(NoSuchEntry):
        wanted_by(b"{}")
