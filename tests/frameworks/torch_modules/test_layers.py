"""Layers and functions of torch.nn one by one, a family in one export: outputs, gradients by inputs and parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from frameworks.torch_modules.agreement import distance
from torch import nn

from leadline import as_apply

pytestmark = pytest.mark.slow  # four minutes of tracing and compiling


class Family(nn.Module):
    """Every layer, or function, on the same input; the outputs by name."""

    def __init__(self, **layers):
        super().__init__()
        self.layers = nn.ModuleDict({n: f for n, f in layers.items() if isinstance(f, nn.Module)})
        self.functions = {n: f for n, f in layers.items() if not isinstance(f, nn.Module)}
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        x = x * self.scale if x.is_floating_point() else x
        calls = {**self.layers, **self.functions}
        return {name: call(x) for name, call in calls.items()}


def check(family, x, tolerance=1e-5):
    """Outputs of two batch sizes, and the gradient of a random weighted sum of each output."""
    family = family.eval()
    apply, params = as_apply(family, x, select=lambda out: out)
    for rows in (x, x[:1]):
        expected = family(rows)
        found = apply.function(params, rows.numpy())
        assert list(found) == list(expected)
        for name in expected:
            assert distance(found[name], expected[name].detach()) < tolerance, name
    names = dict(family.named_parameters())
    weights = {n: torch.randn_like(y) for n, y in expected.items() if y.is_floating_point()}
    own = rows.clone().requires_grad_(rows.is_floating_point())
    total = sum((y * weights[n]).sum() for n, y in family(own).items() if n in weights)
    total.backward()

    def value(p, inputs):
        out = apply.function(p, inputs)
        return sum(jnp.sum(out[n] * w.numpy()) for n, w in weights.items())

    slopes = jax.grad(value, (0, 1) if own.requires_grad else 0)(params, jnp.asarray(rows.numpy()))
    of_params = slopes[0] if own.requires_grad else slopes
    if own.requires_grad:
        assert distance(slopes[1], own.grad) < tolerance
    largest = max(float(p.grad.abs().max()) for p in names.values() if p.grad is not None)
    for name, p in names.items():
        expected = np.zeros(p.shape) if p.grad is None else p.grad.numpy()
        assert np.abs(of_params[name] - expected).max() < tolerance * largest, name


def test_activations():
    plain = (nn.ReLU, nn.ReLU6, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Softplus, nn.Softsign, nn.Tanh)
    plain += (nn.Sigmoid, nn.LogSigmoid, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.Hardshrink, nn.Softshrink)
    plain += (nn.Tanhshrink, nn.LeakyReLU, nn.PReLU, nn.Identity)
    layers = {layer.__name__: layer() for layer in plain}
    more = {
        "celu": nn.CELU(2.0),
        "gelu_tanh": nn.GELU("tanh"),
        "softplus": nn.Softplus(3.0, 2.0),
        "prelu": nn.PReLU(4),
        "threshold": nn.Threshold(0.2, -1.0),
        "rrelu": nn.RReLU(),
        "glu": nn.GLU(1),
        "softmax": nn.Softmax(1),
        "log_softmax": nn.LogSoftmax(-1),
        "softmin": nn.Softmin(1),
        "softmax2d": nn.Softmax2d(),
    }
    torch.manual_seed(0)
    check(Family(**layers, **more), 2 * torch.randn(3, 4, 2, 5))


def test_arithmetic_and_elementary_functions():
    positive = {f: getattr(torch, f) for f in ("log", "log1p", "log2", "log10", "sqrt", "rsqrt", "lgamma", "digamma")}
    names = ("abs", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "atan", "exp", "exp2", "expm1", "erf", "erfc")
    names += ("reciprocal", "neg", "square", "sign", "floor", "ceil", "trunc", "frac", "isnan", "isfinite", "sigmoid")
    inside = {f: getattr(torch, f) for f in ("asin", "acos", "atanh", "erfinv", "logit")}
    more = {
        "add": lambda x: torch.add(x, x.cos(), alpha=2) + 1,
        "rsub": lambda x: 1 - x,
        "div": lambda x: torch.div(x, 0.3, rounding_mode="floor") + torch.div(x, 0.7, rounding_mode="trunc"),
        "floor_divide": lambda x: x.detach() // 0.3,
        "remainder": lambda x: x % 0.7 + torch.fmod(x, 0.6),
        "pow": lambda x: x**2 + x**3.0 + x.abs() ** 0.5 + 2**x + x.abs() ** x.abs(),
        "clamp": lambda x: x.clamp(-0.5, 0.5) + x.clamp(min=0) + x.clamp(max=0.1),
        "extremes": lambda x: torch.maximum(x, x.sin()) + torch.minimum(x, -x) + torch.max(x, x * 0.3),
        "where": lambda x: torch.where(x > 0, x, x.exp()),
        "comparisons": lambda x: ((x > 0) & (x <= 1) | ~(x != 2) ^ (x < 0)).float(),
        "logical": lambda x: torch.logical_and(x > 0, x < 1).int() + torch.logical_not(x > 0),
        "masked_fill": lambda x: x.masked_fill(x > 0, -1.0),
        "lerp": lambda x: torch.lerp(x, x.sin(), 0.3),
        "addcmul": lambda x: torch.addcmul(x, x, x.cos(), value=0.5) + torch.addcdiv(x, x, x.cosh(), value=2),
        "atan2": lambda x: torch.atan2(x, x.cos()),
        "xlogy": lambda x: torch.xlogy(x.abs(), x.abs()) + torch.logaddexp(x, x.cos()),
        "int_mean": lambda x: (x > 0).long() / 2 + torch.arange(5) * 0.5,
        "round": lambda x: torch.round(x, decimals=1),
        "nan_to_num": lambda x: torch.nan_to_num(torch.log(x.detach())),
        "types": lambda x: x.double().to(torch.int32).type_as(x) + x.long().bool(),
    }
    torch.manual_seed(1)
    calls = {
        **{f: getattr(torch, f) for f in names},
        **{f: (lambda x, g=g: g(x.abs() + 0.1)) for f, g in positive.items()},
        **{f: (lambda x, g=g: g(torch.sigmoid(x))) for f, g in inside.items()},
    }
    check(Family(**calls, **more), torch.randn(3, 4, 5))


def test_normalisations_dense_layers_and_products():
    torch.manual_seed(2)
    layers = {
        "linear": nn.Linear(6, 3),
        "no_bias": nn.Linear(6, 2, bias=False),
        "batch": nn.BatchNorm1d(4),
        "plain_batch": nn.BatchNorm1d(4, affine=False),
        "layer": nn.LayerNorm((4, 6)),
        "rms": nn.RMSNorm(6),
        "group": nn.GroupNorm(2, 4),
        "instance": nn.InstanceNorm1d(4, affine=True),
        "tracked": nn.InstanceNorm1d(4, track_running_stats=True),
        "local": nn.LocalResponseNorm(2),
        "weight_norm": nn.utils.parametrizations.weight_norm(nn.Linear(6, 2)),
        "old_weight_norm": nn.utils.weight_norm(nn.Linear(6, 2)),
        "spectral": nn.utils.parametrizations.spectral_norm(nn.Linear(6, 2)),
        "orthogonal": lambda x: F.normalize(x, dim=-1) + F.normalize(x, p=1, dim=1),
        "similarity": lambda x: F.cosine_similarity(x, x.cos(), dim=-1),
        "einsum": lambda x: torch.einsum("nij,nkj->nik", x, x.cos()),
        "matmul": lambda x: x @ x.transpose(1, 2) + torch.bmm(x, x.mT),
        "addmm": lambda x: torch.baddbmm(x @ x.mT, x, x.mT, beta=0.5, alpha=2),
        "cdist": lambda x: torch.cdist(x, x.cos()),
        "dot": lambda x: torch.mv(x[0], x[0, 0]) + torch.dot(x[0, 0], x[0, 1]),
        "outer": lambda x: torch.outer(x[0, 0], x[0, 1]),
    }
    layers["batch"].running_mean.normal_()
    check(Family(**layers), torch.randn(3, 4, 6))


def test_a_bilinear_layer_and_distances():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Bilinear(3, 3, 2)

        def forward(self, x):
            return self.layer(x[:, :3], x[:, 3:])

    check(Family(pair=Pair()), torch.randn(4, 6))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolutions_and_their_transposes(axes):
    torch.manual_seed(axes)
    conv, back = getattr(nn, f"Conv{axes}d"), getattr(nn, f"ConvTranspose{axes}d")
    layers = {
        "plain": conv(4, 3, 3),
        "strided": conv(4, 2, 3, stride=2, padding=1, bias=False),
        "dilated": conv(4, 2, 2, dilation=2, padding=2),
        "grouped": conv(4, 6, 2, groups=2),
        "same": conv(4, 2, 4, padding="same"),
        "back": back(4, 3, 3),
        "back_strided": back(4, 2, 3, stride=2, padding=1, output_padding=1),
        "back_grouped": back(4, 6, 2, groups=2, dilation=2, bias=False),
    }
    if axes == 2:
        layers["reflected"] = conv(4, 2, 3, padding=1, padding_mode="reflect")
        layers["circular"] = conv(4, 2, 3, padding=1, padding_mode="circular")
    check(Family(**layers), torch.randn(2, 4, *(6, 5, 7)[:axes]))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_poolings(axes):
    largest, mean = getattr(nn, f"MaxPool{axes}d"), getattr(nn, f"AvgPool{axes}d")
    small, small_max = getattr(nn, f"AdaptiveAvgPool{axes}d"), getattr(nn, f"AdaptiveMaxPool{axes}d")
    layers = {
        "max": largest(2),
        "max_padded": largest(3, stride=2, padding=1),
        "max_ceil": largest(3, stride=2, ceil_mode=True),
        "max_dilated": largest(2, stride=1, dilation=2),
        "mean": mean(2),
        "mean_padded": mean(3, stride=2, padding=1),
        "mean_inside": mean(3, stride=2, padding=1, count_include_pad=False),
        "mean_ceil": mean(2, stride=2, ceil_mode=True),
        "mean_ceil_padded": mean(3, stride=2, padding=1, ceil_mode=True),
        "adaptive_one": small(1),
        "adaptive": small(3),
        "adaptive_max": small_max(2),
    }
    if axes == 1:
        layers["power"] = nn.LPPool1d(2, 2)
    check(Family(**layers), torch.randn(2, 3, *(7, 6, 9)[:axes]))


def test_padding_resizing_and_shuffling():
    layers = {
        "zero": nn.ZeroPad2d((1, 2, 0, 1)),
        "cut": nn.ConstantPad2d((-1, 1, 2, -1), 0.5),
        "reflect": nn.ReflectionPad2d((1, 2, 3, 1)),
        "replicate": nn.ReplicationPad2d(2),
        "circular": nn.CircularPad2d(1),
        "nearest": nn.Upsample(scale_factor=2),
        "nearest_size": nn.Upsample(size=(7, 3)),
        "exact": nn.Upsample(size=(7, 9), mode="nearest-exact"),
        "bilinear": nn.Upsample(scale_factor=1.5, mode="bilinear"),
        "aligned": nn.Upsample(size=(9, 5), mode="bilinear", align_corners=True),
        "bicubic": nn.Upsample(size=(9, 5), mode="bicubic"),
        "shuffle": nn.PixelShuffle(2),
        "unshuffle": nn.PixelUnshuffle(2),
        "channels": nn.ChannelShuffle(2),
        "flatten": nn.Flatten(),
        "unflatten": nn.Unflatten(1, (2, 2)),
        "rolled": lambda x: x.roll((1, -2), (2, 3)).flip(1, 3).rot90(1, (2, 3)),
        "windows": lambda x: x.unfold(2, 3, 2),
        "patches": nn.Unfold(2, stride=2),
    }
    check(Family(**layers), torch.randn(2, 4, 4, 6))


def test_shapes_and_indices():
    calls = {
        "views": lambda x: x.permute(0, 2, 1).reshape(x.shape[0], -1).view(-1, 4, 3).transpose(1, 2),
        "squeezed": lambda x: x[:, None].squeeze(1),
        "all_squeezed": lambda x: x[:, :1, :1].squeeze() + 0 * x.sum((1, 2)),
        "expand": lambda x: x[:, :1].expand(-1, 2, -1).repeat(1, 2, 1).repeat_interleave(2, dim=1),
        "join": lambda x: torch.cat([torch.stack([x, x.cos()], 1), x[:, None]], 1),
        "parts": lambda x: sum(p.sum(-1) for p in (*x.split(2, -1), *x.chunk(2, 1), *x.unbind(1))[:1]),
        "slices": lambda x: x[:, 1:, ::2] + x[:, :-1, 1::2] + x[:, -2:, 0:3:2],
        "narrow": lambda x: x.narrow(1, 1, 2).movedim(1, 2),
        "indexed": lambda x: x[:, torch.tensor([2, 0])][..., torch.tensor([[1, 0], [3, 3]])],
        "select": lambda x: x.index_select(1, torch.tensor([0, 2])) + x.select(1, -1)[:, None],
        "gather": lambda x: x.gather(2, torch.tensor([[[0, 3]]]).expand(x.shape[0], 2, -1)),
        "scatter": lambda x: (
            torch.zeros_like(x).scatter(2, x.argsort(-1)[..., :2], x[..., :2])
            + x.scatter(1, torch.zeros_like(x[:, :1]).long(), 2.0)
        ),
        "scatter_add": lambda x: x.scatter_add(2, torch.ones_like(x).long(), x.cos()),
        "scatter_reduce": lambda x: (
            x.scatter_reduce(2, torch.ones_like(x).long(), x.cos(), "mean")
            + x.scatter_reduce(2, torch.ones_like(x).long(), x.cos(), "amax", include_self=False)
        ),
        "written": lambda x: written(x),
        "triangles": lambda x: x.tril() + x.triu(1) + torch.eye(3, 4) + torch.linspace(0, 1, 4),
        "diagonal": lambda x: x.diagonal(dim1=1, dim2=2) + x.new_ones(3) + torch.full((3,), 2.0),
        "one_hot": lambda x: F.one_hot((x > 0).long(), 2) * x[..., None],
        "made": lambda x: torch.zeros(x.shape[0], 3, 4) + torch.ones_like(x) * torch.arange(4) + x.new_full((4,), 0.5),
        "meshgrid": lambda x: x * torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")[0],
    }
    check(Family(**calls), torch.randn(3, 3, 4))


def written(x):
    y = x.clone()
    y[:, 0] = 0.0
    y[:, 1:, 2] += x[:, 1:, 0]
    y[:, :, -1].mul_(2)
    return y.masked_fill_(y > 1, 1.0)


def test_reductions_and_orders():
    calls = {
        "sums": lambda x: x.sum(1) + x.mean(1, keepdim=True)[:, 0] + x.prod(1) + (x > 0).sum(1),
        "whole": lambda x: x.sum() + x.mean() + x.max() + x.min() + x.std() + x.var() + x.prod(),
        "extremes": lambda x: x.amax(1) + x.amin((1,)) + x.max(1).values + x.min(dim=1)[0],
        "places": lambda x: x.argmax(1) + x.argmin(1) + x.max(1).indices,
        "spread": lambda x: x.var(1) + x.std(1, unbiased=False) + torch.var_mean(x, 1)[0],
        "logsumexp": lambda x: x.logsumexp(1) + x.cumsum(1)[:, -1] + x.cumprod(1)[:, 1],
        "norms": lambda x: x.norm(dim=1) + x.norm(1, dim=1) + torch.linalg.vector_norm(x, 3, dim=1),
        "infinite": lambda x: torch.linalg.vector_norm(x, float("inf"), dim=1) + x.relu().norm(dim=1),
        "top": lambda x: x.topk(2, dim=1).values + x.topk(2, 1, largest=False)[0],
        "sorted": lambda x: x.sort(1).values + x.sort(1, descending=True)[0] * x.argsort(1),
        "any": lambda x: (x > 0).any(1).float() + (x > 0).all(1),
        "softmax": lambda x: x.softmax(1).log() + F.log_softmax(x, 1),
    }
    check(Family(**calls), torch.randn(3, 4, 5))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind):
    torch.manual_seed(4)
    layer = getattr(nn, kind)

    class Last(nn.Module):
        def __init__(self, *sizes, **options):
            super().__init__()
            self.layer = layer(*sizes, **options)

        def forward(self, x):
            out, state = self.layer(x)
            return out + (state[0] if isinstance(state, tuple) else state).sum()

    layers = {
        "first": Last(3, 4, batch_first=True),
        "deep": Last(3, 2, num_layers=2, bidirectional=True, batch_first=True, dropout=0.5),
        "plain": Last(3, 4, bias=False, batch_first=True, **({"nonlinearity": "relu"} if kind == "RNN" else {})),
    }
    cell = getattr(nn, f"{kind}Cell")(3, 4)
    layers["cell"] = nn.Sequential(nn.Flatten(0, 1), cell) if kind != "LSTM" else nn.Identity()
    check(Family(**layers), torch.randn(2, 5, 3))


def test_attention_with_every_kind_of_mask():
    class Attention(nn.Module):
        def __init__(self, **options):
            super().__init__()
            self.layer, self.options = nn.MultiheadAttention(4, 2, batch_first=True), options

        def forward(self, x):
            return self.layer(x, x, x, **self.options)[0]

    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    hidden = ~torch.eye(5, dtype=torch.bool)
    hidden[1] = False  # sees nothing
    layers = {
        "heads": Attention(),
        "weightless": Attention(need_weights=False),
        "masked": Attention(attn_mask=mask, need_weights=False),
        "causal": lambda x: F.scaled_dot_product_attention(x, x, x.cos(), is_causal=True),
        "hidden": lambda x: F.scaled_dot_product_attention(x, x, x.cos(), attn_mask=hidden),
        "added": lambda x: F.scaled_dot_product_attention(x, x, x.cos(), attn_mask=x @ x.mT, scale=0.3),
        "decoder": nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    }
    torch.manual_seed(5)
    check(Family(**layers), torch.randn(3, 5, 4))


def test_embeddings_of_integer_inputs():
    layers = {"table": nn.Embedding(7, 3), "padded": nn.Embedding(7, 2, padding_idx=0)}
    check(Family(**layers), torch.tensor([[0, 3, 6], [1, 0, 2]]))
