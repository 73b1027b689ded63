"""What a PyTorch module becomes: parameters by name, ties, modes, outputs to choose from; and what is refused."""

import collections

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from frameworks.torch_modules.zoo import GPT, made
from torch import nn

from leadline import as_apply
from leadline.evidence import BadInput
from leadline.networks.dissection import dissect
from leadline.studies import as_subject

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


def small(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), *more)


def test_parameters_have_pytorch_s_names_and_tied_ones_are_one():
    net = GPT()
    _, params = as_apply(net, np.zeros((2, 6), int))
    assert set(params) == {name for name, _ in net.named_parameters()}
    assert "head.weight" not in params
    assert params["tokens.weight"].shape == (11, 8)


def test_a_network_in_training_mode_is_taken_in_evaluation_mode_and_left_as_it_is():
    net = small(nn.BatchNorm1d(3), nn.Dropout(0.5))
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    apply, params = as_apply(net, X)
    assert net.training
    assert net[1].training
    assert all(torch.equal(before[name], tensor) for name, tensor in net.state_dict().items())
    np.testing.assert_allclose(apply(params, X), net.eval()(torch.from_numpy(X)).detach(), rtol=1e-5, atol=1e-6)


def test_what_is_compiled_for_one_network_serves_an_equal_one():
    traced = []

    @eqx.filter_jit
    def run(apply, params, x):
        traced.append(x.shape)
        return apply(params, x)

    for _ in range(2):
        run(*as_apply(small(nn.BatchNorm1d(3)), X), jnp.asarray(X))
    assert len(traced) == 1
    assert as_apply(small(), X).apply.function.program != as_apply(small(nn.ReLU()), X).apply.function.program


def test_the_function_maps_over_rows_and_over_parameters():
    apply, params = as_apply(small(nn.Tanh()), X)
    rows = jax.vmap(lambda x: apply(params, x[None])[0])(X)
    np.testing.assert_allclose(rows, apply(params, X), rtol=1e-6)
    stacked = jax.tree.map(lambda p: jnp.stack([p, 2 * p]), params)
    assert jax.vmap(apply, (0, None))(stacked, X).shape == (2, 5, 3)


def test_a_module_of_one_example_is_mapped():
    apply, params = as_apply(small(nn.Flatten(0)), X, batched=False)
    assert apply(params, X).shape == (5, 3)


def test_a_state_dict_beside_the_module_gives_the_values():
    other = {name: tensor + 1 for name, tensor in small().state_dict().items()}
    _, params = as_apply((small(), other), X)
    np.testing.assert_array_equal(params["0.bias"], other["0.bias"])


Both = collections.namedtuple("Both", ["scores", "rest"])


class Several(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.linear, self.form = nn.Linear(4, 3), form

    def forward(self, x):
        return self.form(self.linear(x), x)


@pytest.mark.parametrize(
    ("form", "select", "words"),
    [
        (lambda a, b: (a, b), lambda out: out[0], "a tuple of 2"),
        (lambda a, b: {"scores": a, "rest": [b, b]}, lambda out: out["scores"], "a dict with 'scores', 'rest'"),
        (Both, lambda out: out.scores, "a Both of 2"),
    ],
)
def test_of_several_outputs_one_is_selected(form, select, words):
    apply, params = as_apply(Several(form), X, select=select)
    assert apply(params, X).shape == (5, 3)
    apply, params = as_apply(Several(form), X)
    with pytest.raises(ValueError, match=words):
        apply(params, X)


def test_examples_may_come_from_any_library_and_in_any_number():
    for example in (X, jnp.asarray(X), torch.from_numpy(X), X[:1], X.astype(np.float64)):
        apply, params = as_apply(small(), example)
        assert apply(params, X).shape == (5, 3)
        assert params["0.weight"].dtype == jnp.float32


@pytest.mark.parametrize(
    ("name", "layers", "chain"),
    [
        ("mlp", 3, ["reshape", "affine", "activation", "affine", "activation", "affine"]),
        ("lenet", 5, None),
        ("resnet", 7, None),
    ],
)
def test_dissection_finds_the_layers(name, layers, chain):
    net, example = made(name)
    found = dissect(*as_apply(net, example), jnp.asarray(example.numpy()))
    assert len(found.layers) == layers
    assert found.others == found.unused == ()
    weights = {n for n, p in net.named_parameters() if p.ndim > 1}
    assert {layer.name for layer in found.layers} == weights
    assert (found.chain is None) == (name == "resnet")
    if chain:
        assert [step.kind for step in found.chain] == chain


class Fixed(nn.Module):
    """Takes as many rows as it was written for."""

    def __init__(self, rows):
        super().__init__()
        self.linear, self.rows = nn.Linear(4, 3), rows

    def forward(self, x):
        return self.linear(x).view(self.rows, 3)


def test_a_network_of_one_batch_size_says_so_at_another():
    apply, params = as_apply(Fixed(5), X)
    assert apply(params, X).shape == (5, 3)
    with pytest.raises(ValueError, match="takes 5 rows only, and 2 were given"):
        apply(params, X[:2])


class Forward(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.linear, self.function = nn.Linear(4, 3), function
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        return self.function(self, self.linear(x))


def counted(self, x):
    self.seen += 1
    return x


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x, mask):
        return self.linear(x) * mask


REFUSED = {
    "dropout": (lambda: Forward(lambda self, x: F.dropout(x, 0.5)), "random in evaluation mode too"),
    "noise": (lambda: Forward(lambda self, x: x + torch.randn_like(x)), "randn_like in the forward of Forward"),
    "statistics": (lambda: small(nn.BatchNorm1d(3, track_running_stats=False)), r"in 1 \(BatchNorm1d\)"),
    "unknown": (lambda: Forward(lambda self, x: torch.linalg.matrix_exp(x[:, None] * x[..., None])), "matrix_exp in"),
    "branch": (lambda: Forward(lambda self, x: x if x.sum() > 0 else -x), "data-dependent control flow"),
    "changes": (lambda: Forward(counted), "changes seen at every call"),
    "half": (lambda: small().half(), r"call \.float\(\)"),
    "bfloat16": (lambda: small().bfloat16(), "half precision"),
    "complex": (lambda: small(nn.Linear(3, 2, dtype=torch.complex64)), "complex networks are not taken"),
    "meta": (lambda: small().to("meta"), "on the device meta"),
    "lazy": (lambda: nn.LazyLinear(3), "has no shape yet"),
    "empty": (lambda: nn.ReLU(), "has no floating-point parameters"),
    "script": (lambda: torch.jit.script(small()), "compiled by TorchScript"),
    "tensor": (lambda: torch.ones(3), "a tensor of PyTorch, not a network"),
    "inputs": (TwoInputs, "needs mask beside its inputs"),
    "shape": (lambda: nn.Linear(7, 3), r"does not take the example, of shape \(5, 4\)"),
    "state_dict": (lambda: small().state_dict(), "give the architecture too"),
    "pair": (lambda: (small(), 3), r"\(module, state_dict\)"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_such_form_is_refused_in_a_sentence(name):
    make, words = REFUSED[name]
    with pytest.raises(ValueError, match=words) as refusal:
        as_apply(make(), X)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["dropout", "statistics", "unknown", "branch", "changes", "half", "inputs"])
@pytest.mark.filterwarnings("ignore")
def test_a_study_is_refused_with_the_same_sentence_and_nothing_else_is_printed(name, capsys):
    make, _ = REFUSED[name]
    with pytest.raises(ValueError) as refusal:
        as_apply(make(), X)
    with pytest.raises(BadInput) as mistake:
        as_subject(make(), (np.ones((30, 4), np.float32), np.arange(30) % 3))
    assert str(mistake.value) == str(refusal.value)
    assert capsys.readouterr() == ("", "")


def test_a_study_says_which_shapes_it_saw_and_which_the_weights_have():
    with pytest.raises(BadInput) as mistake:
        as_subject(nn.Linear(7, 3), (np.ones((30, 4), np.float32), np.arange(30) % 3))
    assert str(mistake.value).startswith("The network does not take inputs of shape (4,) (")
    assert "its weights have the shapes (3, 7): give inputs" in str(mistake.value)


def test_a_study_of_a_network_of_one_batch_size_is_refused():
    with pytest.raises(BadInput, match="takes 3 rows only, and 30 were given"):
        as_subject(Fixed(3), (np.ones((30, 4), np.float32), np.arange(30) % 3))


def test_without_an_example_it_is_asked_for():
    with pytest.raises(ValueError, match=r"as_apply\(module, example\)"):
        as_apply(small())


@pytest.mark.parametrize(("example", "words"), [(np.float32(3), "with at least one row"), (X[:0], "with at least one")])
def test_an_example_without_rows_is_refused(example, words):
    with pytest.raises(ValueError, match=words):
        as_apply(small(), example)


def test_inputs_of_another_shape_are_refused():
    apply, params = as_apply(small(), X)
    with pytest.raises(ValueError, match=r"inputs of shape \(n, 4\), and these are of shape \(2, 3\)"):
        apply(params, np.ones((2, 3), np.float32))
