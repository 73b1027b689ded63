"""`leadline wide`: the infinitely wide network of a recipe, from the command line."""

import jsonschema
import numpy as np
from documented_json import schema, strict

RECIPE = """
data = {name = "digits", images = 300}
model = {kind = "mlp", hidden = [32], parametrisation = "ntk", gain = 1.4}
training = {epochs = 2, batch = 100}
"""


def test_the_infinite_width_is_shown_beside_the_finite_run(leadline, tmp_path):
    recipe = tmp_path / "small.toml"
    recipe.write_text(RECIPE)
    assert leadline("train", recipe, "--out", tmp_path / "run").code == 0
    found = leadline("wide", recipe, "--beside", tmp_path / "run", "--json")
    assert found.code == 0
    record = strict(found.out)
    jsonschema.validate(record, schema("wide"))
    assert record["images"] == 300
    assert record["layers"]
    assert record["finite_test_accuracy"] is not None
    assert record["kernels"][0]["test_accuracy"] == independent_accuracy()


def independent_accuracy():
    """The same regression in NumPy: the NTK of one hidden ReLU layer without biases, gain 1.4 in both layers."""
    from leadline import data

    x, labels, tests, test_labels = data.digits_split()
    x, labels = x[:300].astype(float), labels[:300]

    def kernel(a, b):
        scale = np.sqrt(np.outer((a**2).sum(1), (b**2).sum(1))) * 1.4**2 / 64
        u = np.clip(1.4**2 * a @ b.T / 64 / scale, -1, 1)
        angle = np.arccos(u)
        nngp = 1.4**2 * scale * (np.sin(angle) + (np.pi - angle) * u) / (2 * np.pi)
        return nngp + scale * u * 1.4**2 * (np.pi - angle) / (2 * np.pi)

    K = kernel(x, x)
    targets = np.eye(10)[labels]
    centre = targets.mean(0)
    alpha = np.linalg.solve(K + 1e-4 * np.trace(K) / 300 * np.eye(300), targets - centre)
    return float(np.mean(np.argmax(kernel(tests.astype(float), x) @ alpha + centre, 1) == test_labels))


def test_bad_input_is_one_sentence(leadline, tmp_path):
    recipe = tmp_path / "small.toml"
    recipe.write_text(RECIPE)
    for options, told in (
        (("--ridge", "0"), "The ridge is 0.0; give a number above 0"),
        (("--memory", "0.0001"), "does not fit into 0.0001 GiB; give --memory more"),
        (("--beside", tmp_path), "has no finished run"),
    ):
        found = leadline("wide", recipe, *options)
        assert found.code == 2
        assert told in found.err.splitlines()[-1]
        assert "Traceback" not in found.err
    recipe.write_text(RECIPE.replace("images = 300", "images = 3000"))
    found = leadline("wide", recipe)
    assert "images = 3000 is more than the 1297 training images" in found.err
