"""What a network or its data may be that cannot be studied: each is one sentence, exit code 2 and ValueError.

Damaged files of every form are in tests/test_damaged_files.py, another device in tests/studies/test_intake.py.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from leadline.evidence import BadInput
from leadline.studies import SubjectRequest, open_subject

X = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
Y = np.arange(40) % 3

NETWORKS = """
import jax
import jax.numpy as jnp

W = jnp.ones((4, 3), jnp.float32)
linear = (lambda p, x: x @ p, W)
half = (lambda p, x: x @ p, W.astype("float16"))
brain = (lambda p, x: x @ p, W.astype("bfloat16"))
imaginary = (lambda p, x: (x @ p).real, W.astype("complex64"))
bare = (lambda p, x: x[:, :3], {})
whole = (lambda p, x: x @ p, W.astype("int32"))
pair = (lambda p, x: (x.sum(1), x @ p), W)
named = (lambda p, x: {"features": x, "logits": x @ p}, W)
infinite = (lambda p, x: x @ p / 0, W)
batchwise = (lambda p, x: (x - x.mean(0)) @ p, W)
raising = (lambda p, x: {}[0], W)
weighted = (lambda p, x: x @ p["w"], {"w": W})
"""
TORCH = """
import torch
from torch import nn

linear = nn.Linear(4, 3)
half = nn.Linear(4, 3).half()
elsewhere = nn.Linear(4, 3, device="meta")
bare = nn.Flatten()


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return {"features": x, "logits": self.head(x)}


class Noisy(nn.Linear):
    def forward(self, x):
        return super().forward(x) + torch.randn(3)


class Branching(nn.Linear):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else x[:, :3]


class Imaginary(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4, 3, dtype=torch.complex64))

    def forward(self, x):
        return (x.to(torch.complex64) @ self.w).real


named, noisy, branching, imaginary = Named(), Noisy(4, 3), Branching(4, 3), Imaginary()
"""

OF_JAX = [
    ("half precision", "half", "rows.npz", (), "has half precision (float16)"),
    ("half precision, bfloat16", "brain", "rows.npz", (), "has half precision (bfloat16)"),
    ("complex parameters", "imaginary", "rows.npz", (), "give real and imaginary parts as two arrays"),
    ("no parameters", "bare", "rows.npz", (), "has no floating-point parameters"),
    ("integer parameters", "whole", "rows.npz", (), "must be a pytree of floating-point arrays"),
    ("a tuple", "pair", "rows.npz", (), "--select 0"),
    ("a dictionary", "named", "rows.npz", (), "--select features"),
    ("an output that is not there", "named", "rows.npz", ("--select", "scores"), "no 'scores'"),
    ("outputs that are not finite", "infinite", "rows.npz", (), "not finite for training row"),
    ("rows that depend on one another", "batchwise", "rows.npz", (), "with the other rows of its batch"),
    ("a network that raises", "raising", "rows.npz", (), "KeyError"),
    ("inputs of another shape", "linear", "wide.npz", (), "(5,)"),
    ("more classes than scores", "linear", "classes.npz", (), "5 classes among the training labels"),
    ("one class", "linear", "same.npz", (), "Every training label is 0"),
    ("NaN among the inputs", "linear", "nan.npz", (), "is not a finite number"),
    ("as many targets as inputs", "linear", "uneven.npz", (), "40 inputs and 39 targets"),
    ("too few rows", "linear", "few.npz", (), "training rows; a study needs 20"),
    ("weights of another network", "weighted", "rows.npz", ("--weights", "other.safetensors"), "of another model"),
    ("weights that are cut off", "weighted", "rows.npz", ("--weights", "torn.safetensors"), "torn.safetensors"),
    ("a step without its optimiser", "linear", "rows.npz", ("--step", "0.1"), "without the optimiser"),
]
OF_TORCH = [
    ("half precision", "half", "rows.npz", (), "half precision; call .float()"),
    ("another device", "elsewhere", "rows.npz", (), "device meta"),
    ("complex parameters", "imaginary", "rows.npz", (), "complex"),
    ("no parameters", "bare", "rows.npz", (), "has no floating-point parameters"),
    ("a dictionary", "named", "rows.npz", (), "--select features"),
    ("inputs of another shape", "linear", "wide.npz", (), "(5,)"),
    ("more classes than scores", "linear", "classes.npz", (), "5 classes among the training labels"),
    ("randomness in evaluation mode", "noisy", "rows.npz", (), "random"),
    ("control flow that asks the data", "branching", "rows.npz", (), "data"),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(NETWORKS)
    (tmp_path / "torch_nets.py").write_text(TORCH)
    np.savez("rows.npz", x=X, y=Y)
    np.savez("wide.npz", x=np.pad(X, ((0, 0), (0, 1))), y=Y)
    np.savez("classes.npz", x=X, y=np.arange(40) % 5)
    np.savez("same.npz", x=X, y=0 * Y)
    np.savez("nan.npz", x=np.where(X > 2, np.nan, X), y=Y)
    np.savez("uneven.npz", x=X, y=Y[:39])
    np.savez("few.npz", x=X[:10], y=Y[:10])
    save_file({"w": np.zeros((2, 2), np.float32)}, "other.safetensors")
    (tmp_path / "torn.safetensors").write_bytes((tmp_path / "other.safetensors").read_bytes()[:20])


def refused(leadline, model, data, words, told):
    found = leadline("study", model, "--data", data, *words, "--only", "anatomy", "--out", "out")
    assert (found.code, found.out) == (2, "")
    assert len(found.err.strip().splitlines()) == 1
    assert found.err.startswith("leadline: ")
    assert told in found.err
    options = {word.removeprefix("--"): value for word, value in zip(words[::2], words[1::2], strict=True)}
    kinds = {"step": float, "weights": Path}
    options = {name: kinds.get(name, str)(value) for name, value in options.items()}
    with pytest.raises(BadInput) as mistake:
        open_subject(SubjectRequest(model, data=data, **options))
    assert found.err.strip() == f"leadline: {mistake.value}"
    assert str(mistake.value).endswith(".")
    assert isinstance(mistake.value, ValueError)


@pytest.mark.parametrize(
    ("model", "data", "words", "told"), [row[1:] for row in OF_JAX], ids=[row[0] for row in OF_JAX]
)
def test_a_network_or_data_that_cannot_be_studied_are_one_sentence(leadline, place, model, data, words, told):
    refused(leadline, f"nets.py:{model}", data, words, told)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is no locked dependency")
@pytest.mark.parametrize(
    ("model", "data", "words", "told"), [row[1:] for row in OF_TORCH], ids=[row[0] for row in OF_TORCH]
)
def test_so_are_pytorchs(leadline, place, model, data, words, told):
    refused(leadline, f"torch_nets.py:{model}", data, words, told)
