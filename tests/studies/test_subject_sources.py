from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file
from studies.small_subjects import three_clouds

from leadline import networks, training
from leadline.evidence import BadInput
from leadline.studies import SubjectRequest, open_subject
from leadline.studies.intake.tables import read_parts
from leadline.training.recipes import parse_recipe, train

X, Y = three_clouds()

NETWORKS = """
import equinox as eqx, jax, jax.numpy as jnp
net = eqx.nn.MLP(4, 3, 8, 1, key=jax.random.key(0))
def make(): return net
pair = (lambda params, x: x @ params, jnp.ones((4, 3)))
words = "no network"
imaginary = (lambda params, x: x @ params + 1j, jnp.ones((4, 3)))
decisions = (lambda params, x: x @ params > 0, jnp.ones((4, 3)))
def raises(): raise RuntimeError("no rows\\ntoday")
def leaves(): raise SystemExit(0)
def scores(params, x): return x @ params
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with networks in nets.py and the same rows in four forms."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    (tmp_path / "nets.py").write_text(NETWORKS)
    (tmp_path / "rows.py").write_text("import numpy as np\nrows = dict(np.load('rows.npz'))\n")
    np.savez(tmp_path / "rows.npz", x=X, y=Y)
    table = pa.table({f"x{i}": X[:, i] for i in range(4)} | {"kind": [f"class {y}" for y in Y]})
    csv.write_csv(table, tmp_path / "rows.csv")
    parquet.write_table(table, tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("data", ["rows.npz", "rows.py:rows", "rows.csv", "rows.parquet"])
def test_the_same_rows_come_from_every_form_of_file(place, data):
    subject = open_subject(SubjectRequest("nets.py:net", data=data, target="kind"))
    assert (subject.train.count, subject.test.count, subject.outputs) == (72, 18, 3)
    distances = np.linalg.norm(subject.train.inputs[:, None] - X, axis=2)
    assert distances.min(axis=1).max() < 1e-6
    assert (Y[distances.argmin(axis=1)] == subject.train.targets).all()


@pytest.mark.parametrize("model", ["nets.py:net", "nets.py:make", "nets.py:pair"])
def test_a_network_a_maker_of_one_and_a_function_with_its_parameters_are_taken(place, model):
    assert open_subject(SubjectRequest(model, data="rows.npz")).outputs == 3


def test_npz_with_a_test_part_keeps_it(place):
    np.savez("parts.npz", x_train=X[:60], y_train=Y[:60], x_test=X[60:], y_test=Y[60:])
    parts = read_parts(place / "parts.npz")
    assert (parts.train[0] == X[:60]).all()
    assert (parts.test[1] == Y[60:]).all()


def test_weights_come_from_a_safetensors_file(place):
    net = networks.MLP((64, 10), init="lecun", dtype=np.float32, key=jax.random.key(7))
    training.save_weights(place / "w.safetensors", net)
    subject = open_subject(SubjectRequest("linear", weights=place / "w.safetensors"))
    assert (subject.params.layers[0].weight == net.layers[0].weight).all()
    assert subject.past.step is None


TORCH = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
    def forward(self, x):
        h = torch.relu(self.hidden(x))
        return {"logits": self.out(h), "hidden": h}
model = Net().eval()
"""


@pytest.mark.parametrize("file", ["w.pt", "w.safetensors"])
def test_a_pytorch_module_in_a_file_gets_its_weights_and_one_of_its_outputs(place, file):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_tensors

    from leadline.studies.named_functions import loaded_file

    (place / "torch_net.py").write_text(TORCH)
    torch.manual_seed(3)
    net = loaded_file(place / "torch_net.py").Net()
    torch.save(net.state_dict(), place / file) if file.endswith(".pt") else save_tensors(net.state_dict(), place / file)
    with pytest.raises(BadInput, match="--select logits"):
        open_subject(SubjectRequest("torch_net.py:model", data="rows.npz"))
    wish = SubjectRequest("torch_net.py:model", data="rows.npz", weights=place / file, select="logits")
    expected = net(torch.tensor(X))["logits"].detach().numpy()
    np.testing.assert_allclose(open_subject(wish).scores(X), expected, atol=1e-5)
    assert wish.command().endswith("--select logits")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("run") / "digits"
    recipe = parse_recipe(
        'data = {name = "digits", validation = 0.2, random_labels = 0.5}\nmodel.kind = "linear"\n'
        'training = {epochs = 2, optimiser = "sgd", rate = 0.25, batch = 32, seed = 3}'
    )
    return place, train(recipe, place)


def test_a_run_directory_tells_how_it_was_trained_and_on_what(run):
    place, outcome = run
    subject = open_subject(SubjectRequest(str(place)))
    past = subject.past
    assert (past.optimiser, past.step, past.batch, past.epochs, past.plain) == ("sgd", 0.25, 32, 2, True)
    assert np.allclose(past.losses, outcome.run.history["loss"])
    assert subject.train.count == pytest.approx(0.8 * 1297, abs=5)  # stratified by class
    assert (subject.params.layers[0].weight == outcome.model.layers[0].weight).all()
    moved = np.abs(subject.params.layers[0].weight - past.start.layers[0].weight).max()
    assert 0 < moved < 5
    assert (subject.train_scores.argmax(1) == subject.train.targets).mean() < 0.8  # half of the labels are random


def test_options_override_what_the_run_says(run):
    subject = open_subject(SubjectRequest(str(run[0]), step=0.125, batch=7))
    assert (subject.past.step, subject.past.batch) == (0.125, 7)


def test_a_recipe_is_trained_once_in_the_directory_of_the_study(place):
    (place / "small.toml").write_text('data.name = "digits"\nmodel.kind = "linear"\ntraining.epochs = 1')
    first = open_subject(SubjectRequest("small.toml"), place / "out")
    weights = place / "out" / "training" / "weights.safetensors"
    written = weights.stat().st_mtime_ns
    again = open_subject(SubjectRequest("small.toml"), place / "out")
    assert weights.stat().st_mtime_ns == written
    assert (first.params.layers[0].weight == again.params.layers[0].weight).all()


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (SubjectRequest("digitz"), "digits"),
        (SubjectRequest("none/at/all"), "There is no none/at/all"),
        (SubjectRequest("nets.py:missing", data="digits"), "missing"),
        (SubjectRequest("nets.py", data="digits"), "names no object"),
        (SubjectRequest("none.py:net", data="digits"), "There is no file none.py"),
        (SubjectRequest("broken.py:net", data="digits"), "does not run (ZeroDivisionError"),
        (SubjectRequest("nets.py:words", data="rows.npz"), "is a str, not a network"),
        (SubjectRequest("nets.py:scores", data="rows.npz"), "give the pair (f, params)"),
        (SubjectRequest("nets.py:net"), "needs data"),
        (SubjectRequest("nets.py:net", data="digitz"), "digits"),
        (SubjectRequest("nets.py:net", data="digits"), "does not take inputs of shape (8, 8)"),
        (SubjectRequest("nets.py:net", data="rows.csv"), "say with --target"),
        (SubjectRequest("nets.py:net", data="rows.csv", target="kinds"), "kind"),
        (SubjectRequest("nets.py:net", data="texts.csv", target="y"), "holds texts"),
        (SubjectRequest("nets.py:net", data="holes.csv", target="y"), "lacks 1 value"),
        (SubjectRequest("nets.py:net", data="none.npz"), "There is no file none.npz"),
        (SubjectRequest("nets.py:net", data="torn.npz"), "cannot be read as NPZ"),
        (SubjectRequest("nets.py:net", data="rows.xls"), "is not a .npz, .csv or .parquet file"),
        (SubjectRequest("nets.py:net", data="few.npz"), "There are 8 training rows"),
        (SubjectRequest("nets.py:net", data="rows.npz", weights=Path("w.safetensors")), "is of another model"),
        (
            SubjectRequest("nets.py:net", data="rows.npz", weights=Path("none.safetensors")),
            "There is no file none.safetensors",
        ),
        (SubjectRequest("empty"), "empty has no finished run"),
        (SubjectRequest("nets.py:net", data="leaving.py:rows"), "leaving.py does not run (SystemExit"),
        (SubjectRequest("leaving.py:net", data="rows.npz"), "leaving.py does not run (SystemExit"),
        (SubjectRequest("nets.py:net", data="nets.py:raises"), "does not run (RuntimeError: no rows today)"),
        (SubjectRequest("nets.py:raises", data="rows.npz"), "does not run (RuntimeError: no rows today)"),
        (SubjectRequest("nets.py:net", data="nets.py:leaves"), "does not run (SystemExit: 0)"),
        (SubjectRequest("nets.py:imaginary", data="rows.npz"), "outputs have type complex"),
        (SubjectRequest("nets.py:decisions", data="rows.npz"), "outputs have type bool"),
        (SubjectRequest("nets.py:net", data="rows.npz", step=float("inf")), "The step size is inf"),
        (SubjectRequest("nets.py:net", data="rows.npz", batch=0), "The batch size is 0"),
    ],
)
def test_what_cannot_be_studied_is_told_in_one_sentence(place, wish, told):
    (place / "empty").mkdir()
    (place / "broken.py").write_text("1 / 0")
    (place / "leaving.py").write_text("exit()")
    (place / "texts.csv").write_text("a,y\nred,0\nblue,1\n")
    (place / "holes.csv").write_text("a,y\n1.5,0\n,1\n")
    (place / "torn.npz").write_bytes((place / "rows.npz").read_bytes()[:200])
    np.savez(place / "few.npz", x=X[:10], y=Y[:10])
    save_file({"w": np.zeros(3, np.float32)}, place / "w.safetensors")
    with pytest.raises(BadInput) as mistake:
        open_subject(wish)
    assert told in str(mistake.value)
    assert "\n" not in str(mistake.value)
