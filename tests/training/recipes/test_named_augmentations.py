"""The table [augmentation] of a recipe."""

import jax
import numpy as np
import pytest

from leadline.convolution.augmentation import ChannelsLast
from leadline.training.recipes import RecipeError, parse_recipe, train
from leadline.training.recipes.named_augmentations import augmented, image_steps
from leadline.training.recipes.settings import AugmentationSettings

TEXT = 'data = {name = "digits", validation = 0.1}\nmodel = {kind = "mlp", hidden = [32]}\ntraining = {epochs = 2}\n'
EVERYTHING = """[augmentation]
shift = 1
flip = 0.5
rotation = 10
zoom = 0.1
elastic = 0.5
brightness = 0.1
contrast = 0.2
noise = 0.05
cutout = 2
mixup = 0.2
"""


def test_a_recipe_without_the_table_is_unchanged_and_one_with_it_round_trips():
    plain, whole = parse_recipe(TEXT), parse_recipe(TEXT + EVERYTHING)
    assert not plain.augmentation.used
    assert whole.augmentation.used
    assert len(image_steps(whole.augmentation)) == 8
    assert parse_recipe(whole.toml()).augmentation == whole.augmentation
    assert whole.values()["augmentation.shift"] == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("flip = 1.5", "out of range; give 0 to 1"),
        ("shift = 0.5", "not a whole number"),
        ("turn = 3", "turn"),
        ("rotation = -1", "give 0 to 180"),
    ],
)
def test_mistakes_are_told_with_their_line(line, words):
    with pytest.raises(RecipeError, match=words) as told:
        parse_recipe(TEXT + "[augmentation]\n" + line)
    assert "line 5" in str(told.value)


def test_mixup_needs_cross_entropy():
    with pytest.raises(RecipeError, match="mixup is for loss"):
        parse_recipe(TEXT.replace("epochs = 2", 'epochs = 2, loss = "squared"') + EVERYTHING)


def test_training_with_it_is_a_function_of_the_seed_and_differs_from_training_without():
    accuracies = [train(parse_recipe(TEXT + "augmentation.shift = 1")).test_loss for _ in range(2)]
    assert accuracies[0] == accuracies[1] != train(parse_recipe(TEXT)).test_loss


def test_every_step_at_once_and_a_network_with_modes_train():
    text = TEXT.replace("hidden = [32]", 'hidden = [32], normalisation = "batch"')
    text = text.replace("epochs = 2", "epochs = 2, smoothing = 0.1")
    assert np.isfinite(train(parse_recipe(text + EVERYTHING)).test_loss)


def test_colours_are_the_last_axis_and_rows_are_no_images():
    settings = AugmentationSettings(shift=1)
    found = augmented(settings, None, "cross-entropy", (8, 8, 3), classes=10)
    assert isinstance(found.step.steps[0], ChannelsLast)
    assert found.step(jax.random.key(0), jax.numpy.ones((8, 8, 3))).shape == (8, 8, 3)
    with pytest.raises(ValueError, match="for images"):
        augmented(settings, None, "cross-entropy", (8,), classes=10)
