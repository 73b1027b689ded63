"""The whole comparison: what is read when, what is measured, and what is refused."""

import jax
import numpy as np
import optax
import pytest
from scipy.stats import ttest_rel

from leadline.learning import SealedPart
from leadline.regularisation import Arm, compare_regularisers

KEY = jax.random.key(0)
ARMS = (Arm("none"), Arm("decay", decay=0.3), Arm("bag", bag=2), Arm("student", teacher="bag"))
SMALL = {"hidden": (5,), "num_steps": 10, "key": KEY}


def rows(n=60, classes=3):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 3)) + np.eye(max(classes, 3))[y][:, :3], y


@pytest.fixture(scope="module")
def comparison():
    events = []

    class Watched(SealedPart):
        def open(self, reason):
            events.append("read")
            return super().open(reason)

    def keep(arm, train, untrained):
        kept[arm.name] = train()
        events.append(arm.name)
        return kept[arm.name]

    kept = {}
    x, y = rows()
    found = compare_regularisers(x, y, rows(30), arms=ARMS, keep=keep, seal=Watched, **SMALL)
    return found, kept, events


def test_the_test_rows_are_read_once_and_after_all_arms_are_trained(comparison):
    assert comparison[2] == ["none", "decay", "bag", "student", "read"]
    assert comparison[0].sizes == (48, 12, 30)


def test_the_numbers_are_those_of_the_trained_networks(comparison):
    found, kept, _ = comparison
    x, y = rows(30)
    for result in found.results:
        p = np.exp(kept[result.arm.name].log_probabilities(x.astype(np.float32)))
        np.testing.assert_allclose(result.test_error, (p.argmax(axis=2) != y).mean(axis=1))
        np.testing.assert_allclose(result.log_loss, -np.log(p[:, np.arange(30), y]).mean(axis=1), rtol=1e-5)
        np.testing.assert_allclose(result.gap, result.test_error - result.train_error)


def test_differences_are_paired_by_seed_and_corrected_for_their_number(comparison):
    found = comparison[0]
    none = found["none"].test_error
    p = []
    for result in found.results[1:]:
        expected = ttest_rel(result.test_error, none)
        difference = result.against.difference
        assert difference.mean == pytest.approx(np.mean(result.test_error - none))
        if np.ptp(result.test_error - none):
            low, high = expected.confidence_interval()
            assert (difference.low, difference.high) == pytest.approx((low, high))
            assert difference.p_value == pytest.approx(expected.pvalue)
        p.append(difference.p_value)
    assert min(result.against.adjusted for result in found.results[1:]) == pytest.approx(min(1, 3 * min(p)))


@pytest.mark.slow
def test_the_same_key_gives_the_same_numbers_and_another_other_rows():
    x, y = rows()
    options = SMALL | {"arms": ARMS[:2], "num_steps": 3}
    first, again = (compare_regularisers(x, y, **options) for _ in range(2))
    other = compare_regularisers(x, y, **(options | {"key": jax.random.key(1)}))
    assert (first["decay"].log_loss == again["decay"].log_loss).all()
    assert not np.allclose(first["decay"].log_loss, other["decay"].log_loss)


def test_an_arm_that_cannot_apply_or_diverges_is_left_out_and_said():
    x, y = rows()
    arms = (Arm("none"), Arm("student", teacher="bag"), Arm("wild", decay=1e6))
    found = compare_regularisers(x, y, arms=arms, optimiser=optax.sgd(0.1), **SMALL)
    assert [result.arm.name for result in found.results] == ["none"]
    assert "teacher" in found.left_out["student"]
    assert "finite" in found.left_out["wild"]


def test_labels_may_be_texts_or_any_whole_numbers():
    x, y = rows()
    named = np.array(["c", "a", "b"])[y]
    found = compare_regularisers(x, named, arms=ARMS[:1], **SMALL)
    assert found.classes == ("a", "b", "c")
    assert compare_regularisers(x, 10.0 * y, arms=ARMS[:1], **SMALL).classes == ("0.0", "10.0", "20.0")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x, y: (x, 0 * y), "one class, 0"),
        (lambda x, y: (x[:16], y[:16]), "13 rows to train on for 3 classes and 5 folds"),
        (lambda x, y: (np.where(np.arange(60)[:, None] == 7, np.nan, x), y), "inputs in row 7"),
        (lambda x, y: (x, np.where(y == 0, np.inf, y)), "label in row 0"),
        (
            lambda x, y: (x, y + 0.5),
            "numbers such as 0.5, not classes; regularisers are compared for classifiers alone",
        ),
        (lambda x, y: (x, np.arange(60)), "60 different numbers in 60 rows, not classes; .* above its median"),
        (lambda x, y: (x, y[:-1]), "one row of inputs"),
        (lambda x, y: (x.astype(str), y), "convert them to numbers"),
    ],
)
def test_bad_rows_are_one_sentence(change, told):
    with pytest.raises(ValueError, match=told) as mistake:
        compare_regularisers(*change(*rows()), arms=ARMS[:2], **SMALL)
    assert "\n" not in str(mistake.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"arms": (Arm("decay", decay=0.1),)}, "one the name none"),
        ({"arms": (Arm("none", decay=0.1),)}, "must change nothing"),
        ({"arms": (Arm("none"), Arm("none"))}, "a name of its own"),
        ({"seeds": 1}, "seeds = 1"),
        ({"folds": 1}, "folds = 1; give at least 2"),
        ({"random_labels": 2.0}, "a share from 0 to 1"),
        ({"batch": 1000}, "1000 of 39 training rows"),
        ({"sizes": (50, 50)}, "50 were to be trained on"),
        ({"test": rows(9, classes=4)}, "the class 3, of which there is no training row"),
        ({"test": (np.ones((4, 2)), np.zeros(4, int))}, "give the same"),
    ],
)
def test_bad_settings_are_one_sentence(options, told):
    with pytest.raises(ValueError, match=told):
        compare_regularisers(*rows(), **(SMALL | {"arms": ARMS[:2]} | options))
