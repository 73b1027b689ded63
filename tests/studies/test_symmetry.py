import dataclasses
import math
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from studies.small_subjects import linear_subject, three_clouds

from leadline import convolution, networks
from leadline.studies import as_subject
from leadline.studies.instruments.symmetry import BALANCE, INSTRUMENT, SHIFTED, compare, interpret, measure


class FlatNet(eqx.Module):
    net: networks.MLP

    def __call__(self, x):
        return self.net(x.ravel())


def quadrants(count, seed):
    """8 x 8 images with a bright square in one of four corners, which is the label."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 4
    images = rng.uniform(0, 0.2, size=(count, 8, 8)).astype(np.float32)
    for image, label in zip(images, labels, strict=True):
        i, j = 4 * (label // 2), 4 * (label % 2)
        image[i + 1 : i + 3, j + 1 : j + 3] += 1
    return images, labels


@pytest.fixture(scope="module")
def linear_images():
    weights = np.zeros((4, 64), np.float32)
    for label in range(4):
        mask = np.zeros((8, 8))
        mask[4 * (label // 2) + 1 : 4 * (label // 2) + 3, 4 * (label % 2) + 1 : 4 * (label % 2) + 3] = 1
        weights[label] = mask.ravel()
    train, test = quadrants(60, 0), quadrants(40, 1)
    params = {"w": jnp.asarray(weights)}
    return as_subject((lambda p, x: x.reshape(len(x), -1) @ p["w"].T, params), train, test, loss="cross-entropy")


def test_of_a_linear_model_every_number_has_a_closed_form(linear_images):
    found = measure(linear_images, jax.random.key(0))
    x, y = linear_images.test
    w = np.asarray(linear_images.params["w"], float)
    scores = x.reshape(40, -1) @ w.T
    answers = found.images.answers
    assert answers.accuracy == 1.0
    for change in found.images.changes:
        if change.kind == "shifts":
            way, by = change.name.split()
            moved = np.roll(x, int(by), axis=1 if way == "down" else 2).reshape(40, -1)
            after = moved @ w.T
            assert change.relative == pytest.approx(np.linalg.norm(after - scores) / np.linalg.norm(scores), rel=1e-4)
            assert answers.right[change.name] == (after.argmax(1) == y).sum()
            assert answers.changed[change.name] == (after.argmax(1) != scores.argmax(1)).sum()
    assert answers.right["mirror"] == 0  # left and right corners change places
    assert answers.changed["mirror"] == 40
    assert found.units is None
    assert interpret(found, linear_images).sentence.startswith("A shift by one pixel")


def test_an_invariant_network_is_recognised_and_the_prediction_holds():
    layers = [
        convolution.ConvLayer(3, 3, padding="same", wrap=True, turn=True),
        convolution.GlobalPool(),
        convolution.DenseLayer(4),
    ]
    net = convolution.ConvNetwork(layers, (1, 8, 8), channels_last=True, key=jax.random.key(0))
    subject = as_subject(net, quadrants(40, 0), quadrants(24, 1))
    card = INSTRUMENT(subject)
    assert "invariant to flips and shifts and turns" in card.meaning.sentence
    assert len(card.finding.figures) == 2


def test_accuracy_that_a_small_move_takes_away_is_not_confirmed_and_the_advice_rests_on_it(linear_images):
    card = INSTRUMENT(linear_images)
    shifted = next(c for c in card.finding.comparisons if c.what == SHIFTED)
    found = measure(linear_images, linear_images.key("symmetry"))
    answers = found.images.answers
    lost = answers._replace(right=answers.right | {"right 1": 10})
    broken = found._replace(images=found.images._replace(answers=lost))
    again = next(c for c in compare(broken, linear_images) if c.what == SHIFTED)
    assert (str(shifted.verdict), str(again.verdict)) == ("holds", "fails")
    assert again.empirical
    meaning = interpret(broken, linear_images)
    assert meaning.change == pytest.approx(0.75)
    assert again.what.startswith(meaning.rests_on)


START = networks.MLP((4, 6, 5, 3), "relu", dtype=float, key=jax.random.key(1))


def trained(step, *, steps=200):
    """A ReLU network and the same after plain gradient descent."""
    x, y = three_clouds()

    def loss(net):
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), y).mean()

    net = START
    gradient = jax.jit(jax.grad(loss))
    for _ in range(steps):
        net = jax.tree.map(lambda p, g: p - step * g, net, gradient(net))
    return as_subject(net, (x, y), three_clouds(60, seed=1), start=START, optimiser="sgd", step_size=step, batch=len(x))


@pytest.fixture(scope="module")
def relu_subject():
    return trained(0.05)


def test_gradient_descent_with_small_steps_keeps_the_balance_of_scales(relu_subject):
    card = INSTRUMENT(relu_subject)
    units = card["units"]
    assert units["hidden"] == [6, 5]
    assert units["copies"] == pytest.approx(math.log10(math.factorial(6) * math.factorial(5)))
    assert (units["signs"], units["rescalable"]) == (False, True)
    (balance,) = (c for c in card.finding.comparisons if c.what == BALANCE)
    assert str(balance.verdict) == "holds"
    assert "rescaled" in card.meaning.sentence
    assert card.meaning.weight < 0.1
    assert len(card.finding.figures) == 1


def test_one_step_changes_the_balance_by_its_square_times_what_the_gradients_differ():
    """I_l changes by η²(‖∇W_{l+1}‖² − ‖∇W_l‖² − ‖∇b_l‖²), and to first order not at all."""
    step = 1.0
    subject = trained(step, steps=1)
    balance = measure(subject, jax.random.key(0)).units.balance
    moves = [
        (np.sum(((b.weight - a.weight) / step) ** 2), np.sum(((b.bias - a.bias) / step) ** 2))
        for a, b in zip(START.layers, subject.module.layers, strict=True)
    ]
    expected = [float(step**2 * (w2 - w1 - b1)) for (w1, b1), (w2, _) in pairwise(moves)]
    assert balance.now - balance.start == pytest.approx(expected, rel=1e-3)


def test_without_gradient_descent_nothing_is_said_of_the_balance(relu_subject):
    adam = dataclasses.replace(relu_subject, past=relu_subject.past._replace(optimiser="adam"))
    (balance,) = (c for c in INSTRUMENT(adam).finding.comparisons if c.what == BALANCE)
    assert str(balance.verdict) == "inapplicable"


def test_a_tanh_regression_as_a_plain_function_has_signs_to_change():
    rng = np.random.default_rng(0)
    params = {
        "a": jnp.asarray(rng.normal(size=(4, 5)), jnp.float32),
        "b": jnp.asarray(rng.normal(size=(5, 1)), jnp.float32),
    }
    x = rng.normal(size=(40, 4)).astype(np.float32)
    subject = as_subject((lambda p, x: jnp.tanh(x @ p["a"]) @ p["b"], params), (x, x[:, :1]))
    card = INSTRUMENT(subject)
    assert (card["units"]["signs"], card["units"]["rescalable"]) == (True, False)
    assert card["units"]["copies"] == pytest.approx(math.log10(math.factorial(5) * 2**5))
    assert card.verdict == "inapplicable"


def test_a_linear_model_without_images_has_little_to_show():
    card = INSTRUMENT(linear_subject())
    assert card["images"] is None
    assert "no images" in card.meaning.sentence
    assert not card.tells


def by_layer(*layers, side=12, seed=0):
    net = convolution.ConvNetwork([*layers, convolution.DenseLayer(4)], (1, side, side), key=jax.random.key(seed))
    x = np.random.default_rng(seed).normal(size=(24, 1, side, side))
    return as_subject(net, (x, np.arange(24) % 4))


def test_circular_layers_and_a_pooled_head_lose_nothing():
    circular = convolution.ConvLayer(3, 3, padding="same", wrap=True)
    subject = by_layer(circular, circular, convolution.GlobalPool())
    found = measure(subject, jax.random.key(0)).layers
    assert max(y.shifted for y in found.layers) < 1e-6
    assert found.outputs < 1e-6
    assert min(y.mirrored for y in found.layers) > 0.1  # random kernels are not symmetric
    assert "Every layer moves with the image" in INSTRUMENT(subject).meaning.sentence


def test_padding_stride_and_head_are_named_where_they_break_equivariance():
    subject = by_layer(
        convolution.ConvLayer(3, 3, padding="same", wrap=True),
        convolution.ConvLayer(3, 3, padding="same"),
        convolution.PoolLayer(2),
    )
    card = INSTRUMENT(subject)
    first, second, pool = card["layers"]["layers"]
    assert first["shifted"] < 1e-6 < 1e-3 < second["shifted"]
    assert max(y["inside"] for y in (first, second, pool)) < 1e-6
    assert (pool["pixels"], pool["stride"]) == (2, 2)
    assert "lost at the border from built[1] on" in card.meaning.sentence
    assert "stride of pooling behind built[1]" in card.meaning.sentence
    assert "in the head" in card.meaning.sentence
    assert card.counts()["fails"] == 0


def test_weights_that_depend_on_the_place_are_found():
    ramp = jnp.linspace(1.0, 2.0, 12)

    def apply(params, x):
        y = jax.lax.conv(x[:, None] * (1 + 0 * ramp) ** 1, params["w"], (1, 1), "SAME")
        return jax.lax.conv(y * ramp, params["w"], (1, 1), "SAME").reshape(len(x), 4, -1).mean(2)

    params = {"w": jnp.ones((1, 1, 3, 3))}
    x = np.random.default_rng(0).normal(size=(24, 12, 12))
    subject = as_subject((apply, params), (x, np.arange(24) % 4))
    verdicts = {c.what: str(c.verdict) for c in INSTRUMENT(subject).finding.comparisons}
    assert [v for what, v in verdicts.items() if "moves with the image" in what] == ["fails"]


def test_symmetric_kernels_mirror_and_turn_with_the_image():
    turning = convolution.ConvLayer(3, 3, padding="same", wrap=True, turn=True)
    layers = [turning, turning, convolution.GlobalPool(), convolution.DenseLayer(4)]
    net = convolution.ConvNetwork(layers, (1, 8, 8), channels_last=True, key=jax.random.key(0))
    subject = as_subject(net, quadrants(40, 0), quadrants(24, 1))
    found = measure(subject, jax.random.key(0)).layers
    assert max(y.turned for y in found.layers) < 1e-5
    assert max(y.shifted for y in found.layers) < 1e-5
