"""Networks that are trained once: by whom, how often, and what happens to files that are damaged."""

import os
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.training import remembered
from leadline.training.recipes import parse_recipe

RECIPE = 'data.name = "digits"\nmodel.kind = "linear"\ntraining.epochs = 1\ndata.images = 200'
LIKE = {"w": jnp.zeros(3)}
TRAINED = []


def counted(scale=1.0, seed=0):
    """A training that says how often it ran."""
    TRAINED.append(seed)
    return {"w": scale * jnp.asarray(np.random.default_rng(seed).normal(size=3))}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path))
    monkeypatch.delenv("LEADLINE_FRESH", raising=False)
    TRAINED.clear()
    return tmp_path / "weights"


def files(cache):
    return sorted(cache.glob("*.safetensors"))


def test_it_is_trained_once_and_read_with_the_same_bits(cache):
    first, again = (remembered(counted, LIKE, scale=2.0, seed=3, notice=pytest.fail) for _ in range(2))
    assert TRAINED == [3]
    np.testing.assert_array_equal(first["w"], again["w"])
    np.testing.assert_array_equal(first["w"], 2.0 * np.random.default_rng(3).normal(size=3))
    remembered(counted, LIKE, scale=2.0, seed=4)
    assert TRAINED == [3, 4]
    assert len(files(cache)) == 2


def test_a_recipe_gives_the_network_that_it_trains(cache):
    from leadline.training.recipes import train

    recipe = parse_recipe(RECIPE)
    kept, read, trained = remembered(recipe), remembered(recipe), train(recipe).model
    for network in (kept, read):
        np.testing.assert_array_equal(network.layers[0].weight, trained.layers[0].weight)
    other = remembered(parse_recipe(RECIPE + "\ntraining.seed = 1"))
    assert (other.layers[0].weight != kept.layers[0].weight).any()
    assert len(files(cache)) == 2
    with pytest.raises(ValueError, match="give it alone"):
        remembered(recipe, seed=3)


def flip(file):
    """One bit of the last weight."""
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [flip, lambda f: f.write_bytes(f.read_bytes()[:-5]), lambda f: f.write_bytes(b""), lambda f: f.write_text("x")],
)
def test_a_damaged_file_is_said_and_trained_anew(cache, damage):
    whole = remembered(counted, LIKE)
    damage(files(cache)[0])
    said = []
    np.testing.assert_array_equal(remembered(counted, LIKE, notice=said.append)["w"], whole["w"])
    assert len(TRAINED) == 2
    assert "is damaged (" in said[0]
    assert said[0].endswith("it is trained anew.")
    remembered(counted, LIKE, notice=pytest.fail)
    assert len(TRAINED) == 2


def test_fresh_trains_and_keeps_what_came_out(cache, monkeypatch):
    remembered(counted, LIKE)
    monkeypatch.setenv("LEADLINE_FRESH", "1")
    remembered(counted, LIKE)
    assert len(TRAINED) == 2
    assert len(files(cache)) == 1


def test_the_digest_changes_with_the_source_the_versions_and_the_precision(monkeypatch):
    module = sys.modules[remembered.__module__]
    digests = {module._digest({"source": source}) for source in ("a", "b")}
    with jax.enable_x64(False):
        digests.add(module._digest({"source": "a"}))
    monkeypatch.setattr(module, "version", lambda name: "0.0")
    digests.add(module._digest({"source": "a"}))
    assert len(digests) == 4


def test_weights_that_nobody_read_for_long_are_deleted(cache):
    remembered(counted, LIKE, seed=1)
    (old,) = files(cache)
    os.utime(old, (time.time() - 40 * 86400,) * 2)
    remembered(counted, LIKE, seed=2)
    assert old not in files(cache)


def test_a_cache_that_cannot_be_written_costs_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path / "file"))
    said = []
    assert remembered(counted, LIKE, notice=said.append)["w"].shape == (3,)
    assert said[-1].startswith("Cannot keep the weights in ")


def test_what_cannot_be_remembered_is_told():
    local = 3.0

    def closed():
        return {"w": local * jnp.ones(3)}

    with pytest.raises(ValueError, match="define it at the top of a module"):
        remembered(closed, LIKE)
    with pytest.raises(ValueError, match="give like="):
        remembered(counted)
    with pytest.raises(ValueError, match="numbers, texts or lists"):
        remembered(counted, LIKE, scale=jnp.ones(3))
    with pytest.raises(ValueError, match="of another model: w is"):
        remembered(counted, {"w": jnp.zeros(4)})


PROGRAM = """
import sys, time
import numpy as np
from leadline.training import remembered
sys.path.insert(0, {folder!r})
from slow_recipe import slow
print(remembered(slow, {{"w": np.zeros(2)}}, seed=5)["w"].tolist())
"""

SLOW = """
import os, time
import numpy as np

def slow(seed):
    with open({log!r}, "a") as log:
        log.write(str(os.getpid()) + chr(10))
    time.sleep(2)
    return {{"w": np.random.default_rng(seed).normal(size=2)}}
"""


def test_of_several_processes_that_ask_at_once_one_trains(tmp_path):
    log = tmp_path / "log"
    (tmp_path / "slow_recipe.py").write_text(SLOW.format(log=str(log)))
    command = [sys.executable, "-c", PROGRAM.format(folder=str(tmp_path))]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    answers = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0] * 4, answers
    assert len({out for out, _ in answers}) == 1
    assert len(log.read_text().split()) == 1


def test_a_process_that_is_killed_while_it_trains_leaves_nothing_and_holds_nobody_up(tmp_path, cache):
    log = tmp_path / "log"
    (tmp_path / "slow_recipe.py").write_text(SLOW.format(log=str(log)).replace("sleep(2)", "sleep(600)"))
    command = [sys.executable, "-c", PROGRAM.format(folder=str(tmp_path))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not log.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert files(cache) == []
    (tmp_path / "slow_recipe.py").write_text(SLOW.format(log=str(log)).replace("sleep(2)", "sleep(0)"))
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert len(files(cache)) == 1
