"""Data of every form, sequences, images in either order, several outputs and the past, as subjects."""

import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from studies.small_subjects import three_clouds

from leadline import networks
from leadline.evidence import BadInput
from leadline.studies import as_subject
from leadline.studies.intake.image_layout import layout_of
from leadline.studies.intake.parts import parts_of

X, Y = three_clouds()
NET = networks.MLP((4, 3), dtype=jnp.float32, key=jax.random.key(0))
W = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)), jnp.float32)


def endless():
    while True:
        yield X[:8], Y[:8]


def test_an_endless_iterator_is_read_up_to_the_rows_and_says_so():
    subject = as_subject(NET, endless(), [(X, Y), (X, Y)], rows=44)
    assert (subject.train.count, subject.test.count) == (44, 44)
    assert subject.data == "the first 44 rows of a generator"
    assert (np.sort(subject.train.targets) == np.sort(np.resize(Y[:8], 44))).all()


@pytest.mark.parametrize("batch", [{"image": X, "label": Y}, [X, Y], (jnp.asarray(X), Y.tolist())])
def test_batches_of_every_form_hold_the_same_rows(batch):
    subject = as_subject(NET, iter([batch]))
    assert subject.data == "all 90 rows of a list_iterator"
    assert {tuple(x) for x in subject.train.inputs} == {tuple(x) for x in X}


def test_loaders_in_a_file_are_training_and_test_rows_or_are_split():
    told = []
    parts = parts_of((endless(), endless()), "data.py:loaders", most=30, notice=told.append)
    assert (len(parts.train[0]), len(parts.test[0]), len(told)) == (30, 30, 2)
    assert told[0] == "data.py:loaders: the first 30 rows of a generator are the training data."
    parts = parts_of(endless(), "data.py:loader", most=30)
    assert (len(parts.train[0]), len(parts.test[0])) == (24, 6)


def test_pytorch_tensors_and_loaders_are_taken():
    torch = pytest.importorskip("torch")
    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y)
    data = torch.utils.data.TensorDataset(x.detach(), y)
    subject = as_subject(NET, (x, y), data)
    assert {tuple(v) for v in subject.test.inputs} == {tuple(v) for v in subject.train.inputs}
    loader = torch.utils.data.DataLoader(data, batch_size=40)
    assert as_subject(NET, loader, rows=50).data == "the first 50 rows of a DataLoader"
    with pytest.raises(BadInput, match="inputs are on the device meta; move them to the CPU"):
        as_subject(NET, (x.to("meta"), y))


def test_a_pytorch_network_given_in_training_mode_is_studied_in_evaluation_mode_and_the_report_says_so():
    torch = pytest.importorskip("torch")
    layers = torch.nn.Linear(X.shape[1], 3), torch.nn.Dropout(0.5)
    told = [as_subject(torch.nn.Sequential(*layers).train(mode), (X, Y)).taken for mode in (True, False)]
    assert told == ["evaluation mode (it was given in training mode)", ""]


def test_texts_are_labels_in_sorted_order_and_their_names_are_kept():
    names = np.array(["cat", "ant", "bee"])
    subject = as_subject(NET, (X, names[Y]), (X, list(names[Y])))
    assert subject.classes == ("ant", "bee", "cat")
    assert (subject.test.targets == np.array([2, 0, 1])[Y]).all()


def test_whole_floats_are_regression_unless_the_loss_says_otherwise():
    pair = (lambda p, x: x @ p, W[:, 0])
    assert as_subject(pair, (X, (Y > 0).astype(float))).kind == "regressor"
    assert as_subject(NET, (X, Y.astype(float)), loss="cross-entropy").kind == "classifier"


def test_the_classes_of_a_scikit_learn_network_are_its_own():
    from sklearn.neural_network import MLPClassifier

    net = MLPClassifier((5,), max_iter=500, random_state=0).fit(X, Y + 4)
    subject = as_subject(net, (X, Y + 4))
    assert subject.classes == ("4", "5", "6")
    assert (subject.train_scores.argmax(1) == subject.train.targets).mean() == pytest.approx(net.score(X, Y + 4))


@pytest.mark.parametrize("shape", [(8, 6), (8, 6, 3), (3, 8, 6), (1, 8, 8), (8, 8, 1)])
def test_images_come_back_from_their_layout(shape):
    inputs = np.random.default_rng(0).normal(size=(5, *shape))
    layout = layout_of(shape)
    images = layout.to_images(inputs)
    assert images.shape == (5, layout.height, layout.width, layout.colours)
    assert (layout.from_images(images) == inputs).all()
    assert layout.channels_first == (shape[0] in (1, 3))


def test_colours_are_moved_where_the_network_takes_them_at_the_other_end():
    net = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(3, 2, 3, key=jax.random.key(0)),
            eqx.nn.Lambda(jnp.ravel),
            eqx.nn.Linear(48, 3, key=jax.random.key(1)),
        ]
    )
    images = np.random.default_rng(0).normal(size=(90, 3, 6, 8))
    first, last = (as_subject(net, (x, Y)) for x in (images, images.transpose(0, 2, 3, 1)))
    np.testing.assert_allclose(first.train_scores, last.train_scores, atol=1e-6)
    assert first.image_shape == last.image_shape == (6, 8, 3)


TOKENS = np.random.default_rng(0).integers(0, 9, size=(40, 7))
EMBEDDING = np.random.default_rng(1).normal(size=(9, 5)).astype(np.float32)


@pytest.mark.parametrize("way", ["-1", "-100", "mask", "scores first"])
def test_the_loss_of_a_sequence_is_the_mean_over_the_positions_that_count(way):
    targets = np.random.default_rng(2).integers(0, 5, size=(40, 7))
    counts = np.random.default_rng(3).random((40, 7)) < 0.6
    counts[:, 0] = True
    table = jnp.asarray(EMBEDDING)
    pair = (lambda p, t: jnp.moveaxis(p[t], 1, -1) if way == "scores first" else p[t], table)
    data = (
        (TOKENS, targets, counts)
        if way == "mask"
        else (TOKENS, np.where(counts, targets, -100 if way == "-100" else -1))
    )
    subject = (
        as_subject(pair, data, seed=1)
        if way == "scores first"
        else as_subject((lambda p, t: p[t], table), data, seed=1)
    )
    assert (subject.kind, subject.integer_inputs, subject.outputs, subject.positions) == ("sequence", True, 5, (7,))
    order = np.random.default_rng(1).permutation(40)
    scores, labels, kept = EMBEDDING[TOKENS][order].astype(float), targets[order], counts[order]
    each = np.log(np.exp(scores).sum(2)) - np.take_along_axis(scores, labels[..., None], 2)[..., 0]
    np.testing.assert_allclose(subject.losses(subject.train), (each * kept).sum(1) / kept.sum(1), rtol=1e-5)
    found, wanted = subject.counted(subject.train_scores, subject.train)
    np.testing.assert_allclose(found, scores[kept], rtol=1e-6)
    assert (wanted == labels[kept]).all()


def test_real_sequences_with_a_mask_and_without_one():
    x = np.random.default_rng(0).normal(size=(30, 6, 4)).astype(np.float32)
    y, counts = x.sum(2), np.arange(6) < np.arange(30)[:, None] % 5 + 1
    pair = (lambda p, x: x @ p, W[:, :1])
    masked = as_subject(pair, (x, np.where(counts, y, np.nan), counts), seed=1)
    assert (masked.kind, masked.classifies) == ("sequence", False)
    order = np.random.default_rng(1).permutation(30)
    errors = ((x @ np.asarray(W[:, 0]) - y) ** 2)[order]
    kept = counts[order]
    np.testing.assert_allclose(masked.losses(masked.train), (errors * kept).sum(1) / kept.sum(1), rtol=1e-4)
    gradient = jax.grad(lambda p: masked.row_losses(p, *masked.train).mean())(masked.params)
    assert np.isfinite(gradient).all()
    assert as_subject(pair, (x, y)).kind == "regressor"


def test_a_classifier_of_tokens_keeps_integers_and_images_of_bytes_become_floats():
    tokens = as_subject((lambda p, t: p[t].mean(1), jnp.asarray(EMBEDDING)), (TOKENS, np.arange(40) % 5))
    assert (tokens.kind, tokens.integer_inputs, tokens.image_layout) == ("classifier", True, None)
    assert not as_subject(NET, ((10 * X).astype(np.uint8), Y)).integer_inputs


def test_one_of_several_outputs_is_studied():
    pair = (lambda p, x: {"logits": x @ p, "hidden": x}, W)
    assert as_subject(pair, (X, Y), select="logits").outputs == 3
    for several, told in ((pair, "by select='logits' (--select logits"), ((lambda p, x: (x @ p, x), W), "by select=0")):
        with pytest.raises(BadInput) as mistake:
            as_subject(several, (X, Y))
        assert told in str(mistake.value)


@pytest.mark.parametrize(
    ("options", "past"),
    [
        ({"optimiser": "sgd", "step_size": 0.1}, ("sgd", 0.1, 0.0, True)),
        ({"optimiser": "SGD", "step_size": 0.1, "momentum": 0.9}, ("momentum", 0.1, 0.9, False)),
        ({"optimiser": "adam", "step_size": 0.1}, ("adam", 0.1, 0.0, False)),
        ({"optimiser": "other"}, ("other", None, 0.0, False)),
    ],
)
def test_a_step_belongs_to_its_optimiser(options, past):
    found = as_subject(NET, (X, Y), **options).past
    assert (found.optimiser, found.step, found.momentum, found.plain) == past


HALF = jax.tree.map(lambda v: v.astype(jnp.float16) if eqx.is_inexact_array(v) else v, NET)


@pytest.mark.parametrize(
    ("model", "train", "options", "told"),
    [
        (NET, (X, Y), {"step_size": 0.1}, "was given without the optimiser that used it"),
        (NET, (X, Y), {"momentum": 0.9}, "momentum 0.9 was given without the optimiser"),
        (NET, (X, Y), {"optimiser": "momentum"}, "say its momentum too"),
        (NET, (X, Y), {"optimiser": "adam", "momentum": 0.9}, "it belongs to sgd"),
        (NET, (X, Y), {"optimiser": "adma"}, "did you mean adam"),
        (NET, (X, Y), {"optimiser": "sgd", "momentum": 1.5}, "The momentum is 1.5"),
        (HALF, (X, Y), {}, "has half precision (float16)"),
        (NET, (X, np.arange(90) % 5), {}, "5 classes among the training labels and the network gives 3 scores"),
        (NET, (X[:, :3], Y), {}, "its weights have the shapes (3, 4): give inputs"),
        (NET, iter([]), {}, "give no rows"),
        (NET, iter([X]), {}, "Batch 0 of the training data is a ndarray, which must be a pair"),
        (NET, iter([(X, Y), (X[:, :2], Y)]), {}, "pad or cut them to one shape"),
        (NET, ((1 / 0, 2) for _ in range(3)), {}, "cannot be read: ZeroDivisionError"),
        (NET, {"a": X, "b": Y}, {}, "a dict with a, b, which must be a pair"),
        (NET, (X, Y, Y[:5]), {}, "a mask of shape (5,)"),
        ((lambda p, t: p[t], jnp.asarray(EMBEDDING)), (TOKENS, np.full((40, 7), -1)), {}, "has no target that counts"),
        (NET, ([[1.0, 2.0], [3.0]], [0, 1]), {}, "are not one array"),
        ((lambda p, x: (x - x.mean(0)) @ p, W), (X, Y), {}, "with the other rows of its batch"),
        (type(NET), (X, Y), {}, "The model is the class MLP; call it to make a network"),
    ],
)
def test_what_does_not_fit_is_told_in_one_sentence(model, train, options, told):
    with pytest.raises(BadInput) as mistake:
        as_subject(model, train, **options)
    assert told in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_a_network_on_another_device_is_named():
    code = """
import jax, numpy as np
from leadline import networks
from leadline.studies import as_subject
net = jax.device_put(networks.MLP((4, 3), key=jax.random.key(0)).layers[0].weight, jax.devices()[1])
try:
    as_subject((lambda p, x: x @ p.T, net), (np.ones((30, 4)), np.arange(30) % 3))
except ValueError as mistake:
    print(mistake)
"""
    flags = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=flags, check=True)
    assert "is on the device cpu:1 and the study computes on cpu:0; move the network" in seen.stdout
