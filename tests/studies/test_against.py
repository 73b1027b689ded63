"""One network beside another, of any frameworks, from Python (the command line is in tests/cli)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import leadline
from leadline.evidence import BadInput
from leadline.studies import as_subject
from tests.studies.small_subjects import three_clouds

TRAIN, TEST = three_clouds(90), three_clouds(60, seed=1)
ONLY = ["anatomy"]


def equinox_network():
    first, second = jax.random.split(jax.random.key(0))
    return eqx.nn.Sequential(
        [eqx.nn.Linear(4, 5, key=first), eqx.nn.Lambda(jax.nn.relu), eqx.nn.Linear(5, 3, key=second)]
    )


def study(model, **options):
    return leadline.study(model, TRAIN, TEST, only=ONLY, progress=False, **options)


def test_one_network_in_three_frameworks_is_found_the_same():
    torch = pytest.importorskip("torch")
    from flax import nnx

    net = equinox_network()
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    flax = nnx.Sequential(nnx.Linear(4, 5, rngs=nnx.Rngs(0)), jax.nn.relu, nnx.Linear(5, 3, rngs=nnx.Rngs(0)))
    for place in (0, 2):
        weight, bias = (np.array(part) for part in (net.layers[place].weight, net.layers[place].bias))
        theirs[place].load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        flax.layers[place].kernel[...], flax.layers[place].bias[...] = weight.T, bias
    mine = study(net)
    for other in (theirs, flax):
        report = study(net, against=other)
        assert report.against["anatomy"]["lipschitz_upper"] == pytest.approx(
            mine["anatomy"]["lipschitz_upper"], rel=1e-4
        )
        found = report.differences()
        assert (found.not_compared, found.verdicts, found.only) == ((), (), ())
        assert "against" in report._repr_html_()


def test_the_second_is_studied_with_the_loss_and_the_rows_of_the_first_or_as_it_was_given():
    net = equinox_network()
    report = study(
        net, against=(lambda p, x: x[:, :3] * p, jnp.ones(3)), loss="squared", optimiser="sgd", step_size=0.1
    )
    assert (report.about["loss"], report.against.about["loss"]) == ("squared", "squared")
    assert (report.about["step"], report.against.about["step"]) == (0.1, None)
    known = as_subject(net, TRAIN, TEST, optimiser="sgd", step_size=0.2)
    assert study(net, against=known).against.about["step"] == 0.2
    before = study(net, name="before")
    assert study(net, against=before).against is before


def test_both_are_written_into_one_directory(tmp_path):
    study(equinox_network(), against=equinox_network(), out=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"first", "second", "against.html"}
    assert (tmp_path / "second" / "report.html").exists()
    assert "first against second" in (tmp_path / "against.html").read_text()


def test_other_data_are_not_compared_and_one_report_has_no_differences():
    net = equinox_network()
    elsewhere = leadline.study(net, three_clouds(60, seed=5), only=ONLY, progress=False)
    assert "different data" in study(net, against=elsewhere).differences().not_compared[0]
    with pytest.raises(BadInput, match="no second report"):
        elsewhere.differences()
    with pytest.raises(BadInput, match=r"against=leadline\.studies\.as_subject"):
        leadline.study(as_subject(net, TRAIN, TEST), against=net, only=ONLY, progress=False)
