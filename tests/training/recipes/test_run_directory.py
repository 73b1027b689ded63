import json

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import data, training
from leadline.training import recipes
from leadline.training.recipes.named_models import build_model
from leadline.training.recipes.run_directory import classification_loss
from leadline.training.recipes.settings import TrainingSettings

TEXT = """\
data = {name = "digits", validation = 0.2}
model = {kind = "mlp", hidden = [16]}
[training]
epochs = 4
rate = 0.01
[run]
every = 1
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "a"
    return directory, recipes.train(recipes.parse_recipe(TEXT), directory)


def test_a_run_leaves_config_metrics_checkpoints_weights_and_result(finished):
    directory, outcome = finished
    assert (directory / "config.toml").read_text() == TEXT
    assert len((directory / "metrics.jsonl").read_text().splitlines()) == 4
    assert {"2", "3", "4"} <= {p.name for p in (directory / "checkpoints").iterdir()}
    assert json.loads((directory / "result.json").read_text()) == outcome.record()
    assert outcome.test_accuracy > 0.5


def test_the_weights_are_those_that_were_tested(finished):
    import jax

    directory, outcome = finished
    fresh = build_model(outcome.recipe.model, (8, 8), 10, key=jax.random.key(5))
    net = training.load_weights(directory / "weights.safetensors", fresh)
    sample = data.load("digits")
    right = jnp.argmax(jax.vmap(net)(jnp.asarray(sample.test_inputs)), axis=1) == sample.test_labels
    assert float(right.mean()) == pytest.approx(outcome.test_accuracy)
    assert outcome.parameters == 64 * 16 + 16 + 16 * 10 + 10


def test_a_directory_with_a_run_is_refused_and_untouched(finished):
    directory, outcome = finished
    before = {p: p.read_bytes() for p in directory.rglob("*") if p.is_file()}
    with pytest.raises(recipes.RunExists, match="already holds a run"):
        recipes.train(outcome.recipe, directory)
    changed = recipes.parse_recipe(TEXT.replace("0.01", "0.02"))
    with pytest.raises(recipes.RunExists, match=r"holds a run with training.rate = 0.01, not 0.02; resume it with"):
        recipes.train(changed, directory, resume=True)
    other = recipes.parse_recipe(TEXT.replace('kind = "mlp", hidden = [16]', 'kind = "linear"'))
    with pytest.raises(recipes.RunExists, match=r'model.kind = "mlp", not "linear"'):
        recipes.train(other, directory, resume=True)
    assert {p: p.read_bytes() for p in directory.rglob("*") if p.is_file()} == before


def test_another_config_in_the_directory_is_not_overwritten(tmp_path):
    (tmp_path / "config.toml").write_text("mine = true")
    with pytest.raises(recipes.RunExists, match="already holds a run"):
        recipes.train(recipes.parse_recipe(TEXT), tmp_path)
    (tmp_path / "config.toml").unlink()
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(recipes.RunExists, match=r"has metrics.jsonl but no config.toml"):
        recipes.train(recipes.parse_recipe(TEXT), tmp_path, resume=True)


def test_an_interrupted_run_resumed_ends_with_the_same_bits(finished, tmp_path):
    directory, outcome = finished

    def interrupt(record):
        if record["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recipes.train(outcome.recipe, tmp_path, on_epoch=interrupt)
    assert not (tmp_path / "result.json").exists()
    moved = recipes.parse_recipe(TEXT + "keep = 2\ndirectory = 'elsewhere'\n")  # [run] may change
    again = recipes.train(moved, tmp_path, resume=True)
    for file in ("weights.safetensors", "metrics.jsonl"):
        assert (tmp_path / file).read_bytes() == (directory / file).read_bytes()
    assert again.test_loss == outcome.test_loss


def test_without_held_out_data_the_last_model_is_the_result():
    text = TEXT.replace("validation = 0.2", "validation = 0").replace("epochs = 4", "epochs = 2\nsmoothing = 0.1")
    outcome = recipes.train(recipes.parse_recipe(text))
    assert outcome.model is outcome.run.model
    assert "validation_loss" not in outcome.run.history
    assert outcome.run.history["loss"][-1] < outcome.run.history["loss"][0]


def test_losses_by_name_agree_with_their_formulas():
    scores, labels = jnp.array([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]]), jnp.array([0, 2])
    log_p = np.asarray(scores) - np.log(np.exp(np.asarray(scores)).sum(1, keepdims=True))
    plain = -log_p[np.arange(2), np.asarray(labels)]
    smoothed = classification_loss(TrainingSettings(epochs=1, smoothing=0.3))(scores, labels)
    assert classification_loss(TrainingSettings(epochs=1)) == "cross-entropy"
    assert np.allclose(optax.softmax_cross_entropy_with_integer_labels(scores, labels), plain)
    assert np.allclose(smoothed, 0.7 * plain - 0.3 * log_p.mean(1))
    squared = classification_loss(TrainingSettings(epochs=1, loss="squared"))(scores, labels)
    assert np.allclose(squared, [1 + 1 + 0.25, 0 + 9 + 0])
