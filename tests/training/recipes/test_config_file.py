import re

import pytest

from leadline.evidence import BadInput
from leadline.training import recipes
from leadline.training.recipes.config_file import example, line_of
from leadline.training.recipes.settings import MODEL_KINDS, Mlp, Recipe, types_of

SMALL = """\
[data]
name = "digits"
validation = 0.2

[model]
kind = "mlp"
hidden = [8]

[training]
epochs = 2
batch = 32
"""


def test_a_recipe_is_read_with_its_defaults():
    recipe = recipes.parse_recipe(SMALL)
    assert recipe.data.name == "digits"
    assert recipe.model == Mlp(hidden=(8,))
    assert (recipe.training.epochs, recipe.training.optimiser, recipe.training.rate) == (2, "adam", 0.001)
    assert recipe.run.keep == 3
    assert recipe.text == SMALL


def test_dotted_keys_inline_tables_and_whole_numbers_for_numbers_are_toml_too():
    recipe = recipes.parse_recipe(
        'data.name = "mnist"\nmodel = {kind = "conv", channels = [4, 8]}\ntraining.epochs = 3\ntraining.rate = 1'
    )
    assert (recipe.kind, recipe.model.channels, recipe.training.rate) == ("conv", (4, 8), 1.0)


def test_a_single_number_is_a_list_of_one():
    one, listed = (
        recipes.parse_recipe(f'data.name = "mnist"\nmodel = {{kind = "conv", channels = {c}}}\ntraining.epochs = 3')
        for c in ("16", "[16]")
    )
    assert one.model == listed.model
    assert one.model.channels == (16,)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("kernel = 4", "line 2: kernel = 4 has no centre; give an odd number."),
        ("channels = [2, 2, 2, 2]", "line 2: 4 convolutions in blocks of 1 do not fit 8 x 8 pixels: A window of 2 "),
    ],
)
def test_a_convolutional_network_that_does_not_fit_the_images_is_refused_before_anything_is_made(settings, told):
    text = f'data.name = "digits"\nmodel = {{kind = "conv", {settings}}}\ntraining.epochs = 3'
    with pytest.raises(recipes.RecipeError, match=re.escape(told)):
        recipes.parse_recipe(text)


def test_the_example_is_a_recipe_that_shows_every_key_with_its_default():
    text = example()
    recipe = recipes.parse_recipe(text)
    assert recipe.kind == "mlp"
    bare = re.sub(r"^# (?=\w+ = )", "", text, flags=re.M)  # with what is commented out switched on
    shown = set(re.findall(r"^(\w+) = ", bare, re.M))
    tables = (recipe.data, recipe.training, recipe.augmentation, recipe.run)
    settings = [*map(type, tables), *MODEL_KINDS.values()]
    assert shown == {"kind"} | {key for cls in settings for key in types_of(cls)}
    others = re.compile(
        r"^(width|growth|depth|channels|kernel|block|head|cell|units|bidirectional|steps|reading) = .*\n", re.M
    )
    assert recipes.parse_recipe(others.sub("", bare)).values() == recipe.values()


@pytest.mark.parametrize("kind", MODEL_KINDS)
def test_a_recipe_written_out_is_read_back_the_same(kind):
    recipe = recipes.parse_recipe(SMALL.replace('"mlp"\nhidden = [8]', f'"{kind}"'))
    again = recipes.parse_recipe(recipe.toml())
    assert again == recipe
    assert isinstance(again, Recipe)
    assert again.values() == recipe.values()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("name = ", "nam = ", "line 2: There is no key in [data] 'nam'; did you mean name?"),
        ('"digits"', '"digit"', "line 2: There is no name 'digit'; did you mean digits?"),
        ('"digits"', "3", "line 2: name = 3 is not a text in quotes."),
        ("validation = 0.2", "validation = 1.2", "line 3: validation = 1.2 is out of range; give 0 to 0.9."),
        ("validation = 0.2", "validation = true", "line 3: validation = true is not a number."),
        ("validation = 0.2", "validation = nan", "line 3: validation = nan is out of range; give 0 to 0.9."),
        ("[model]", "[modell]", "line 5: There is no table 'modell'; did you mean model?"),
        ('"mlp"', '"mpl"', "line 6: There is no kind 'mpl'; did you mean mlp?"),
        ('kind = "mlp"', "", "line 5: [model] needs kind, one of mlp, residual, dense, conv, linear, recurrent."),
        ("hidden", "hiden", "line 7: There is no key in [model] of the kind mlp 'hiden'; did you mean hidden?"),
        ("[8]", "8.5", "line 7: hidden = 8.5 is not a whole number or a list of them."),
        ("[8]", "[8, 0]", "line 7: hidden = [8, 0] is out of range; give 1 to 65536."),
        ("[8]", "[8, 2.5]", "line 7: hidden = [8, 2.5] is not a whole number or a list of them."),
        ("epochs = 2", "epochs = 2.5", "line 10: epochs = 2.5 is not a whole number."),
        ("epochs = 2", "epochs = 0", "line 10: epochs = 0 is out of range; give 1 to 1e+06."),
        ("epochs = 2", "", "line 9: [training] needs epochs, a whole number."),
        ("batch = 32", "batch = 5000", "line 11: batch = 5000 is more than the 1038 training images."),
        ("batch = 32", "rate = 0.0", "line 11: rate = 0.0 is out of range; give more than 0."),
        ("batch = 32", "warmup = 2", "line 11: warmup = 2 must be less than epochs = 2."),
        ("batch = 32", 'optimiser = "adan"', "line 11: There is no optimiser 'adan'; did you mean adam or "),
        ("batch = 32", 'loss = "squared"\nsmoothing = 0.1', "line 12: smoothing is for loss"),
        ("[8]", "[8]\ndropout = 1.0", "line 8: dropout = 1.0 is out of range; give 0 to 0.99."),
        ("[8]", '[16, 12]\nnormalisation = "group"', "line 7: hidden = 12 does not divide into 8 groups."),
        ("batch = 32", "[runs]", "line 11: There is no table 'runs'; did you mean run?"),
        ("batch = 32", "[run]\nevery = -1", "line 12: every = -1 is out of range; give 0 or more."),
        ("batch = 32", "batch = ", "line 11: this is not TOML: Invalid value."),
        ("batch = 32", "epochs = 3", "line 11: this is not TOML: Cannot overwrite a value."),
        ("[data]", "[data", "line 1: this is not TOML: Expected ']' at the end of a table declaration."),
        ("[data]", "data = 3\n[x]", "line 1: data is a table, [data], not a value."),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(old, new, sentence):
    assert old in SMALL
    with pytest.raises(recipes.RecipeError) as mistake:
        recipes.parse_recipe(SMALL.replace(old, new, 1), "a.toml")
    said = str(mistake.value)
    assert said.startswith("a.toml, line ")
    assert sentence in said
    assert "\n" not in said


def test_patience_needs_data_held_out_and_a_missing_table_is_named():
    text = SMALL.replace("validation = 0.2", "").replace("batch = 32", "patience = 3")
    with pytest.raises(recipes.RecipeError, match=r"line 11: patience needs data held out: set validation in \[data\]"):
        recipes.parse_recipe(text)
    with pytest.raises(recipes.RecipeError, match=r"has no table \[training\]"):
        recipes.parse_recipe(SMALL[: SMALL.index("[training]")])


def test_a_normalisation_must_fit_the_batch_and_the_channels():
    text = SMALL.replace("[8]", '[8]\nnormalisation = "batch"').replace("batch = 32", "batch = 1")
    with pytest.raises(recipes.RecipeError, match=r'line 12: batch = 1 has no variance for normalisation = "batch"'):
        recipes.parse_recipe(text)
    conv = SMALL.replace('"mlp"\nhidden = [8]', '"conv"\nchannels = [6]\nnormalisation = "group"')
    assert recipes.parse_recipe(conv).model.channels == (6,)
    assert recipes.parse_recipe(conv.replace("group", "batch").replace("batch = 32", "batch = 1")).training.batch == 1
    with pytest.raises(recipes.RecipeError, match="line 7: channels = 12 does not divide into 8 groups"):
        recipes.parse_recipe(conv.replace("[6]", "[6, 12]"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[training]\n# epochs = 1\nepochs = 2", 3),
        ("[other]\nepochs = 1\n[training] # here\n  epochs = 2", 4),
        ("training.epochs = 2", 1),
        ('\n"training" . "epochs" = 2', 2),
        ("\ntraining = { batch = 3, epochs = 2 }", 2),
        ("[training]\nmy_epochs = 1\nepochs.x = 2", 3),
        ("[training]\nbatch = 3", 1),
        ("", None),
    ],
)
def test_the_line_of_a_key_is_found_however_it_is_written(text, line):
    assert line_of(text, "training", "epochs") == line


def test_files_that_cannot_be_read_are_said(tmp_path):
    with pytest.raises(recipes.RecipeError, match=r"There is no file .*none.toml"):
        recipes.read_recipe(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match=r"cannot be read as TOML .*utf-8"):
        recipes.read_recipe(tmp_path / "b.toml")
