"""Small networks of the kinds that people have in PyTorch, written anew: name -> (module, example)."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn


def mlp():
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3))
    return net, torch.randn(4, 6)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 5, padding=2), nn.Conv2d(4, 6, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(6 * 4 * 4, 24), nn.Linear(24, 12), nn.Linear(12, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def lenet():
    return LeNet(), torch.randn(3, 1, 24, 24)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.layer1, self.layer2 = BasicBlock(4, 4, 1), BasicBlock(4, 8, 2)
        self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(8, 5)

    def forward(self, x):
        x = self.layer2(self.layer1(self.stem(x)))
        return self.fc(torch.flatten(self.pool(x), 1))


def resnet():
    return ResNet(), torch.randn(2, 3, 8, 8)


class UNet(nn.Module):
    """Down by pooling, up once by a transposed convolution and once by bilinear interpolation, skips concatenated."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = self.twice(1, 4), self.twice(4, 8), self.twice(8, 8)
        self.up2, self.merge2 = nn.ConvTranspose2d(8, 8, 2, stride=2), self.twice(16, 4)
        self.up1, self.merge1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), self.twice(8, 4)
        self.head = nn.Conv2d(4, 2, 1)

    @staticmethod
    def twice(inputs, outputs):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.GroupNorm(2, outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.InstanceNorm2d(outputs, affine=True),
            nn.LeakyReLU(0.1),
        )

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        b = self.merge2(torch.cat([self.up2(c), b], 1))
        return self.head(self.merge1(torch.cat([self.up1(b), a], dim=1)))


def unet():
    return UNet(), torch.randn(2, 1, 12, 8)


class DenseNet(nn.Module):
    def __init__(self, growth=3):
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.steps = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(n), nn.ReLU(inplace=True), nn.Conv2d(n, growth, 3, padding=1, bias=False))
            for n in (4, 4 + growth, 4 + 2 * growth)
        )
        self.transition = nn.Sequential(nn.BatchNorm2d(13), nn.Conv2d(13, 6, 1), nn.AvgPool2d(2, 2))
        self.classifier = nn.Linear(6, 4)

    def forward(self, x):
        features = [self.first(x)]
        for step in self.steps:
            features.append(step(torch.cat(features, 1)))
        out = F.relu(self.transition(torch.cat(features, 1)), inplace=True)
        return self.classifier(F.adaptive_avg_pool2d(out, 1).flatten(1))


def densenet():
    return DenseNet(), torch.randn(2, 2, 8, 8)


class Inception(nn.Module):
    """Four branches: 1x1, 3x3 as 1x3 and 3x1, 5x5, pooled; then the largest over positions."""

    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(3, 2, 1)
        self.three = nn.Sequential(
            nn.Conv2d(3, 2, 1), nn.Conv2d(2, 2, (1, 3), padding=(0, 1)), nn.Conv2d(2, 3, (3, 1), padding=(1, 0))
        )
        self.five = nn.Sequential(nn.Conv2d(3, 2, 1), nn.ReLU6(), nn.Conv2d(2, 2, 5, padding="same"))
        self.pooled = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), nn.Conv2d(3, 2, 1))
        self.fc = nn.Linear(9, 4)

    def forward(self, x):
        parts = [self.one(x), self.three(x), self.five(x), self.pooled(F.avg_pool2d(x, 3, 1, 1))]
        return self.fc(torch.cat(parts, 1).amax(dim=(2, 3)))


def inception():
    return Inception(), torch.randn(2, 3, 9, 7)


class MobileNet(nn.Module):
    """Depthwise convolutions, squeeze and excitation, hard activations."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.depth = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8, bias=False)
        self.norm, self.act = nn.BatchNorm2d(8), nn.Hardswish(inplace=True)
        self.squeeze, self.excite = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)
        self.point, self.fc = nn.Conv2d(8, 6, 1), nn.Linear(6, 3)

    def forward(self, x):
        x = self.act(self.norm(self.depth(self.stem(x))))
        gate = F.hardsigmoid(self.excite(F.silu(self.squeeze(x.mean((2, 3), keepdim=True)))))
        return self.fc(self.point(x * gate).mean([-2, -1]))


def mobilenet():
    return MobileNet(), torch.randn(2, 3, 10, 10)


class WindowAttention(nn.Module):
    """Attention within shifted windows, with a learned bias by relative position and a mask at the border."""

    def __init__(self, dim=8, heads=2, window=2, side=4, shift=1):
        super().__init__()
        self.heads, self.window, self.shift, self.side = heads, window, shift, side
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads))
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        gap = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + window - 1
        self.register_buffer("index", gap[..., 0] * (2 * window - 1) + gap[..., 1])
        zone = torch.zeros(1, side, side, 1)
        for n, rows in enumerate((slice(0, -window), slice(-window, -shift), slice(-shift, None))):
            for m, columns in enumerate((slice(0, -window), slice(-window, -shift), slice(-shift, None))):
                zone[:, rows, columns] = 3 * n + m
        zones = self.cut(zone).squeeze(-1)
        self.register_buffer("mask", (zones[:, None] != zones[:, :, None]).float() * -100)

    def cut(self, x):
        n, h, w, c = x.shape
        s = self.window
        return x.view(n, h // s, s, w // s, s, c).transpose(2, 3).reshape(-1, s * s, c)

    def forward(self, x):
        n, h, w, c = x.shape
        s = self.window
        cut = self.cut(torch.roll(x, (-self.shift, -self.shift), dims=(1, 2)))
        q, k, v = self.qkv(cut).reshape(-1, s * s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        scores = scores + self.table[self.index.view(-1)].view(s * s, s * s, -1).permute(2, 0, 1).unsqueeze(0)
        windows = self.mask.shape[0]
        scores = scores.view(n, windows, self.heads, s * s, s * s) + self.mask.unsqueeze(1).unsqueeze(0)
        out = scores.view(-1, self.heads, s * s, s * s).softmax(-1) @ v
        out = self.proj(out.transpose(1, 2).reshape(-1, s * s, c))
        out = out.view(n, h // s, w // s, s, s, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
        return torch.roll(out, shifts=(self.shift, self.shift), dims=(1, 2))


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm1, self.norm2 = nn.Conv2d(3, 8, 2, 2), nn.LayerNorm(8), nn.LayerNorm(8)
        self.attention = WindowAttention()
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.merge, self.head = nn.Linear(32, 8, bias=False), nn.Linear(8, 4)

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 3, 1)
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        corners = [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]]
        return self.head(self.merge(torch.cat(corners, -1)).mean((1, 2)))


def swin():
    return Swin(), torch.randn(2, 3, 8, 8)


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(1, 8, 4, 4)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 8)), nn.Parameter(0.1 * torch.randn(1, 5, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.places
        return self.head(self.encoder(x)[:, 0])


def vit():
    return ViT(), torch.randn(2, 1, 8, 8)


class Block(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU("tanh"), nn.Linear(4 * dim, dim), nn.Dropout(0.1))

    def forward(self, x):
        n, t, c = x.size()
        q, k, v = (
            p.view(n, t, self.heads, c // self.heads).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(c, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(n, t, c))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Token and position tables, two causal blocks, and a head whose weight is the token table."""

    def __init__(self, vocabulary=11, time=6, dim=8):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, dim), nn.Embedding(time, dim)
        self.blocks, self.norm = nn.Sequential(Block(dim), Block(dim)), nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))


def gpt():
    return GPT(), torch.randint(0, 11, (3, 6))


class Recurrent(nn.Module):
    def __init__(self, layer, features):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(features, 3)

    def forward(self, x):
        out, _ = self.layer(x)
        return self.head(out[:, -1])


def lstm():
    return Recurrent(nn.LSTM(4, 5, num_layers=2, batch_first=True, dropout=0.2), 5), torch.randn(2, 6, 4)


def gru():
    return Recurrent(nn.GRU(4, 5, bidirectional=True, batch_first=True), 10), torch.randn(2, 6, 4)


class TextLSTM(nn.Module):
    """Time first, a table with padding, the last hidden and cell states."""

    def __init__(self):
        super().__init__()
        self.table, self.lstm = nn.Embedding(9, 4, padding_idx=0), nn.LSTM(4, 5)
        self.head = nn.Linear(10, 2)

    def forward(self, ids):
        _, (h, c) = self.lstm(self.table(ids).transpose(0, 1))
        return self.head(torch.cat([h[-1], c[-1]], dim=-1))


def text_lstm():
    return TextLSTM(), torch.randint(0, 9, (3, 5))


class GCN(nn.Module):
    """Graph convolutions on one graph, for a batch of signals on its nodes: by matrix and by edges."""

    def __init__(self, nodes=5):
        super().__init__()
        edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
        adjacency = torch.eye(nodes)
        adjacency[edges[0], edges[1]] = adjacency[edges[1], edges[0]] = 1
        scale = adjacency.sum(1) ** -0.5
        self.register_buffer("adjacency", scale[:, None] * adjacency * scale)
        self.register_buffer("edges", edges)
        self.weight1, self.lin2 = nn.Parameter(torch.randn(3, 6) / 2), nn.Linear(6, 4)

    def forward(self, x):
        h = F.elu(self.adjacency @ (x @ self.weight1))
        messages = self.lin2(h)[:, self.edges[0]]
        summed = torch.zeros_like(h[..., :4]).index_add(1, self.edges[1], messages)
        return F.log_softmax(summed, dim=-1).mean(1)


def gcn():
    return GCN(), torch.randn(2, 5, 3)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(2, 4, 3, stride=2, padding=1), nn.SELU(), nn.Conv1d(4, 6, 4, stride=2))
        self.decoder = nn.Sequential(
            nn.ConvTranspose1d(6, 4, 4, stride=2),
            nn.Softplus(),
            nn.ConvTranspose1d(4, 2, 3, stride=2, padding=1, output_padding=1),
        )

    def forward(self, x):
        code = self.encoder(x)
        return {"code": code, "image": self.decoder(code)}["image"]


def autoencoder():
    return Autoencoder(), torch.randn(2, 2, 16)


class RotaryMixture(nn.Module):
    """Rotary positions, RMS norm, grouped-query attention and SwiGLU, as in recent language models."""

    def __init__(self, dim=8, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.each = heads, groups, dim // heads
        self.norm = nn.RMSNorm(dim)
        self.q, self.kv = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 2 * groups * self.each, bias=False)
        self.gate, self.up, self.down = nn.Linear(dim, 12), nn.Linear(dim, 12), nn.Linear(12, dim)

    def rotated(self, x):
        t = torch.arange(x.shape[-2]).float()
        angle = torch.outer(t, 10000 ** (-torch.arange(0, self.each, 2).float() / self.each))
        a, b = x[..., : self.each // 2], x[..., self.each // 2 :]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def forward(self, x):
        n, t, c = x.shape
        h = self.norm(x)
        q = self.q(h).view(n, t, self.heads, self.each).transpose(1, 2)
        k, v = self.kv(h).view(n, t, 2, self.groups, self.each).permute(2, 0, 3, 1, 4)
        mask = torch.ones(t, t, dtype=torch.bool).tril()
        y = F.scaled_dot_product_attention(self.rotated(q), self.rotated(k), v, attn_mask=mask, enable_gqa=True)
        x = x + y.transpose(1, 2).reshape(n, t, c) / math.sqrt(2)
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


def rotary():
    return RotaryMixture(), torch.randn(2, 5, 8)


_MAKERS = (mlp, lenet, resnet, unet, densenet, inception, mobilenet, swin)
_MAKERS += (vit, gpt, lstm, gru, text_lstm, gcn, autoencoder, rotary)
NETWORKS: dict[str, Callable] = {make.__name__: make for make in _MAKERS}
QUICK = ("mlp", "lenet", "resnet", "gpt", "lstm")


def made(name: str) -> tuple[nn.Module, torch.Tensor]:
    """A network with running statistics that are not those of the beginning, in evaluation mode."""
    torch.manual_seed(0)
    net, example = NETWORKS[name]()
    for module in net.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_(0, 0.3)
            module.running_var.uniform_(0.5, 1.5)
    return net.eval(), example
