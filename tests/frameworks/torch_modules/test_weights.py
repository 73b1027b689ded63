"""Weights from files and dictionaries, put into an architecture."""

import pickle

import pytest
import safetensors.torch
import torch
from torch import nn

from leadline.frameworks.torch_modules.weights import with_weights


def net(units=3):
    return nn.Sequential(nn.Linear(4, units), nn.BatchNorm1d(units))


def check(found, expected):
    assert all(torch.equal(tensor, expected[name]) for name, tensor in found.state_dict().items())


def test_weights_of_every_kind_of_file_are_read_into_a_copy(tmp_path):
    wanted, own = net().state_dict(), net()
    before = {name: tensor.clone() for name, tensor in own.state_dict().items()}
    torch.save(wanted, tmp_path / "net.pt")
    torch.save({"state_dict": {f"module.{n}": t for n, t in wanted.items()}, "epoch": 3}, tmp_path / "net.ckpt")
    safetensors.torch.save_file(wanted, tmp_path / "net.safetensors")
    for name in ("net.pt", "net.ckpt", "net.safetensors"):
        check(with_weights(own, tmp_path / name), wanted)
    check(with_weights(own, wanted), wanted)
    check(own, before)
    assert with_weights(own, wanted).training
    assert not with_weights(own.eval(), wanted).training


def test_weights_that_do_not_fit_are_told_by_name_and_shape():
    with pytest.raises(ValueError, match=r"0\.weight in the state_dict has shape \(5, 4\), and the network's"):
        with_weights(net(), net(5).state_dict())
    with pytest.raises(ValueError, match=r"it lacks 0\.weight, 0\.bias"):
        with_weights(net(), {n: t for n, t in net().state_dict().items() if n[0] == "1"})
    with pytest.raises(ValueError, match=r"has 2\.weight, 2\.bias more"):
        with_weights(net(), nn.Sequential(*net(), nn.Linear(3, 2)).state_dict())
    with pytest.raises(ValueError, match="is no state_dict"):
        with_weights(net(), {"epoch": 3})


class Harmful:
    def __reduce__(self):
        return print, ("unpickled",)


def test_nothing_is_unpickled(tmp_path, capsys):
    (tmp_path / "bad.pt").write_bytes(pickle.dumps({"0.weight": Harmful()}))
    with pytest.raises(ValueError, match=r"bad\.pt cannot be read as weights"):
        with_weights(net(), tmp_path / "bad.pt")
    assert "unpickled" not in capsys.readouterr().out
    with pytest.raises(ValueError, match="There is no file"):
        with_weights(net(), tmp_path / "none.pt")
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read as weights"):
        with_weights(net(), tmp_path / "bad.safetensors")
