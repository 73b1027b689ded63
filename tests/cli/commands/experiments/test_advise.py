"""`leadline advise`: recommendations from measured constants, from the command line."""

import jax.numpy as jnp
import jsonschema
import pytest
from documented_json import schema, strict

from leadline.cli.commands.experiments.advise import _record
from leadline.stochastic import advise
from leadline.stochastic.problems.finite_sum import six_points

RECIPE = """
data = {name = "digits", images = 200}
model.kind = "linear"
training.epochs = 1
"""


def test_the_record_is_as_documented():
    record = {"advice": _record(advise(six_points(), jnp.zeros(1), accuracy=0.02)), "findings": []}
    jsonschema.validate(record, schema("advise"))


@pytest.mark.slow
def test_a_recipe_is_advised_on_and_followed(leadline, tmp_path):
    recipe = tmp_path / "small.toml"
    recipe.write_text(RECIPE)
    found = leadline("advise", recipe, "--most", "500", "--json")
    assert found.code == 0
    record = strict(found.out)
    jsonschema.validate(record, schema("advise"))
    assert [f["id"] for f in record["findings"]] == ["whole-gradients", "batches"]


def test_bad_input_is_one_sentence(leadline, tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('data.name = "digitz"')
    for arguments in ((tmp_path / "none.toml",), (wrong,), ("--penalty", "0")):
        found = leadline("advise", *arguments)
        assert found.code == 2
        assert found.err.startswith("leadline: ")
        assert "Traceback" not in found.err
