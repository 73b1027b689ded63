import jax
import jax.numpy as jnp
import numpy as np
import pytest
from studies.small_subjects import linear_subject

from leadline import networks
from leadline.generalisation import exact_interval
from leadline.studies import as_subject
from leadline.studies.budget import PassCosts
from leadline.studies.instruments.memorisation import INSTRUMENT, compare, interpret, measure


@pytest.fixture(scope="module")
def subject():
    return linear_subject()


@pytest.fixture(scope="module")
def found(subject):
    return measure(subject, jax.random.key(0))


def test_of_a_linear_model_every_number_has_a_closed_form(subject, found):
    (x, y), (z, t) = subject.train, subject.test
    layer = subject.module.layers[0]
    w, b = np.asarray(layer.weight, float), np.asarray(layer.bias, float)
    scores = x @ w.T + b
    log = np.log(np.exp(scores).sum(1))
    assert found.train_loss == pytest.approx((log - scores[np.arange(90), y]).mean(), rel=1e-5)
    assert found.shuffled_expected == pytest.approx(
        (log - scores.mean(1)).mean(), rel=1e-5
    )  # three classes of one size
    assert found.train_right == (scores.argmax(1) == y).mean()
    right = (z @ w.T + b).argmax(1) == t
    assert found.test_interval == exact_interval(int(right.sum()), 60, confidence=0.999)
    assert found.chance == pytest.approx(1 / 3)
    apart = np.linalg.norm(z[:, None].astype(float) - x, axis=2)
    assert np.allclose(found.neighbours.test_distance, apart.min(1))
    assert found.neighbours.right == (y[apart.argmin(1)] == t).sum()
    assert found.neighbours.features_right == found.neighbours.right  # the features are the inputs and 1
    assert found.neighbours.network_right == right.sum()


def test_the_effect_of_leaving_a_row_out_is_that_of_fitting_the_head_anew(subject, found):
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    i = found.influences
    phi, other = (np.column_stack([r.inputs, np.ones(r.count)]).astype(float) for r in (subject.train, subject.test))

    def losses(w, phi, y):
        scores = phi @ w.reshape(3, 5).T
        return (logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]).mean()

    def fitted(keep):
        x, y = phi[keep], subject.train.targets[keep]
        best = minimize(lambda w: losses(w, x, y) + i.ridge / 2 * (w @ w), np.zeros(15), tol=1e-9)
        return losses(best.x, other, subject.test.targets)

    everything = np.arange(90)
    assert i.actual[0] == pytest.approx(fitted(everything != i.removed[0]) - fitted(everything), abs=1e-4)


def test_one_shuffle_of_the_labels_has_about_the_loss_of_all_of_them(subject, found):
    order = np.random.default_rng(0).permutation(90)
    spread = subject.losses(subject.train._replace(targets=subject.train.targets[order])).std() / 90**0.5
    assert abs(found.shuffled_loss - found.shuffled_expected) < 4 * spread


def test_what_theory_says_of_it_holds(subject, found):
    verdicts = {c.what: str(c.verdict) for c in compare(found, subject)}
    assert verdicts["distance to the nearest training row: test rows, training rows"] == "holds"
    assert verdicts["effect of leaving rows out, by one Newton step: error as a share"] == "holds"


def test_a_network_that_keeps_random_labels_has_memorised():
    rng = np.random.default_rng(0)
    x, z = (rng.normal(size=(n, 6)).astype(np.float32) for n in (80, 400))
    y, t = rng.integers(0, 4, 80), rng.integers(0, 4, 400)
    # radial functions around the training rows: each recalls its own label
    params = {"centres": jnp.asarray(x), "labels": jnp.asarray(10 * np.eye(4)[y], jnp.float32)}

    def recall(p, x):
        apart = jnp.sum((x[:, None] - p["centres"]) ** 2, axis=2)
        return jax.nn.softmax(-5 * apart, axis=1) @ p["labels"]

    subject = as_subject((recall, params), (x, y), (z, t), loss="cross-entropy")
    card = INSTRUMENT(subject)
    assert card["train_right"] == 1.0
    assert card.meaning.sentence.startswith("It has memorised: 100.0% of the training rows right")
    assert card.meaning.weight == 0.95
    assert "fails" in [str(c.verdict) for c in card.finding.comparisons if c.what.startswith("test accuracy")]


@pytest.mark.parametrize(
    ("changes", "starts", "weight"),
    [
        ({"train_right": 0.3}, "It has neither memorised nor learnt", 0.3),
        ({"test_right": None}, "Without", None),
        (
            {"train_right": 0.99, "test_interval": exact_interval(45, 60, confidence=0.999)},
            "Part of what it knows is memory",
            0.6,
        ),
        ({"train_right": 0.97, "test_interval": exact_interval(58, 60, confidence=0.999)}, "It has learnt more", 0.25),
        ({"train_right": 0.7, "test_interval": exact_interval(22, 60, confidence=0.999)}, "It has memorised", 0.95),
        ({"train_right": 0.67, "test_interval": exact_interval(28, 60, confidence=0.999)}, "It knows little", 0.6),
    ],
)
def test_the_meaning_depends_on_the_outcome(subject, found, changes, starts, weight):
    base = found._replace(train_right=0.9, test_right=0.9)
    changed = base._replace(**changes)
    meaning = interpret(changed, subject)
    if weight is None:
        assert "nobody can tell memory from knowledge" in meaning.sentence
    else:
        assert meaning.sentence.startswith(starts)
        assert meaning.weight == weight


def test_test_rows_that_are_training_rows_are_told(subject, found):
    near = found.neighbours._replace(duplicates=3)
    meaning = interpret(
        found._replace(train_right=0.9, neighbours=near, test_interval=exact_interval(55, 60, confidence=0.999)),
        subject,
    )
    assert "test rows are also training rows" in meaning.sentence


def test_regression_without_test_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)).astype(np.float32)
    subject = as_subject(networks.MLP((3, 4, 1), "tanh", key=jax.random.key(0)), (x, x[:, :1]))
    card = INSTRUMENT(subject)
    assert card["neighbours"] is None
    assert card["test_right"] is None
    assert card["influences"]["others"] == "training"
    assert np.allclose(card["influences"]["predicted"], card["influences"]["actual"], rtol=1e-6)  # exact for squares
    assert card.counts()["inapplicable"] >= 1


def test_clean_labels_are_fitted_before_corrupted_ones_where_classes_lie_apart():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = (rng.normal(size=(120, 5)) + 4 * np.eye(3, 5)[y]).astype(np.float32)
    subject = as_subject(networks.MLP((5, 32, 3), key=jax.random.key(0)), (x, y))
    found = measure(subject, jax.random.key(0))
    assert found.order.lead > 0.7
    assert found.order.true[found.order.lead_at - 1] > 0.7  # of corrupted rows, said as their classes have it
    what = "30% of labels corrupted: largest lead of clean over corrupted ones in training"
    assert {c.what: str(c.verdict) for c in compare(found, subject)}[what] == "holds"
    assert "It learns signal before noise" in interpret(found, subject).sentence


def test_without_time_for_ten_epochs_the_order_is_left_out(subject):
    hurried = linear_subject()
    hurried.budget.restore(PassCosts(1.0, 3.0, 1e3, 1e3, 1e8), 2**31)
    found = measure(hurried, jax.random.key(0))
    assert found.order is None
    assert "the budget allows 10 epochs of training anew" in str(found.parts)


def test_shuffled_targets_that_come_as_easily_are_remarked(subject, found):
    own, shuffled = found.trial.own, found.trial.shuffled
    swapped = found.trial._replace(own=shuffled, shuffled=own, own_after=None)
    assert "no sign of a rule" in interpret(found._replace(trial=swapped), subject).sentence
    assert "no sign of a rule" not in interpret(found, subject).sentence


def test_test_rows_from_elsewhere_are_told(subject, found):
    near = found.neighbours._replace(test_distance=found.neighbours.test_distance + 10)
    learnt = {"train_right": 0.97, "test_interval": exact_interval(58, 60, confidence=0.999)}
    meaning = interpret(found._replace(neighbours=near, **learnt), subject)
    assert "not drawn as the training rows were" in meaning.sentence
    assert meaning.weight == 0.4
    assert "not drawn" not in interpret(found._replace(**learnt), subject).sentence
