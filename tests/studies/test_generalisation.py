"""The generalisation instrument on models whose numbers have a closed form, on random labels, and where it refuses."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.stats import binomtest

from leadline import data, generalisation as g
from leadline.generalisation.capacity.capacity_calculator import growth_bound
from leadline.generalisation.capacity.growth_functions import log_growth_of_network
from leadline.generalisation.margin_bounds import linear_margin_bound
from leadline.networks import MLP
from leadline.studies import subject as subjects
from leadline.studies.budget import PassCosts
from leadline.studies.instruments.generalisation import HELD_OUT, INSTRUMENT, PAC_BAYES
from leadline.studies.subject_making import as_subject
from tests.studies.small_subjects import three_clouds


@eqx.filter_jit
def trained(net, images, labels, steps):
    rule = optax.adam(3e-3)
    weights, rest = eqx.partition(net, eqx.is_array)

    def loss(weights):
        scores = jax.vmap(eqx.combine(weights, rest))(images)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(scores, labels))

    def step(carry, _):
        weights, state = carry
        updates, state = rule.update(jax.grad(loss)(weights), state)
        return (optax.apply_updates(weights, updates), state), None

    return eqx.combine(jax.lax.scan(step, (weights, rule.init(weights)), length=steps)[0][0], rest)


@pytest.fixture(scope="module")
def digits():
    images, labels, unseen, truth = (np.asarray(part) for part in data.digits_split())
    return (
        images.reshape(len(labels), -1)[:400].astype(np.float32),
        labels[:400].astype(int),
        unseen.reshape(len(truth), -1).astype(np.float32),
        truth.astype(int),
    )


def test_a_network_that_takes_long_is_scored_on_fewer_rows_and_the_card_says_so(monkeypatch, uncertified):
    monkeypatch.setattr(subjects, "SCORED", 1.0)
    net = MLP((4, 3), key=jax.random.key(0))
    train, test = three_clouds(1500), three_clouds(60, seed=1)
    few = as_subject(net, train, test, rows=20)
    assert (len(few.train_scores), len(few.test_scores)) == (subjects.TOGETHER, 60)
    card = INSTRUMENT(few)
    assert "looked at 1,024 of 1,500 training rows: the work of one pass over the data allows no more" in card.left_out
    wrong = (few.scores(few.train.inputs[:1024]).argmax(1) != few.train.targets[:1024]).sum()
    assert card["training"]["share"] == pytest.approx(wrong / 1024)


CERTIFICATE = g.network_certificate  # whichever fixture comes first


@pytest.fixture(scope="module")
def uncertified():
    """No PAC-Bayes certificate, which takes seconds; the test on random labels computes one."""

    def refuse(*args, **settings):
        raise ValueError("this test does without.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(g, "network_certificate", refuse)
        yield


@pytest.fixture(scope="module")
def linear(digits, uncertified):
    """Linear softmax scores by least squares, as a plain function, and the card."""
    x, y, unseen, truth = digits
    w = np.linalg.solve(x.T @ x + 10 * np.eye(64), x.T @ np.eye(10)[y]).astype(np.float32)
    subject = as_subject((lambda p, x: x @ p["w"], {"w": jnp.asarray(w)}), (x, y), (unseen, truth))
    return subject, w, INSTRUMENT(subject)


@pytest.fixture(scope="module")
def memorised(digits):
    x, y, unseen, truth = digits
    x, y = x[:250], y[:250]
    random = np.random.default_rng(0).integers(0, 10, len(y))
    start = MLP((64, 64, 10), "relu", key=jax.random.key(0), dtype=jnp.float32)
    net = trained(start, jnp.asarray(x), jnp.asarray(random), 300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(g, "network_certificate", partial(CERTIFICATE, num_steps=60, draws=200))
        return INSTRUMENT(as_subject(net, (x, random), (unseen, truth), start=start))


def test_random_labels_make_every_certificate_vacuous_and_show_the_gap(memorised):
    certificates = {name: b for name, b in memorised["bounds"].items() if name not in HELD_OUT}
    assert {"stored bits", "VC dimension", "Frobenius norms", "path norm", "spectral norms", PAC_BAYES} == set(
        certificates
    )
    assert all(b["valid"] and b["vacuous"] for b in certificates.values())
    assert memorised["best"] == ""
    assert memorised["training"]["share"] < 0.05
    assert memorised["gap_interval"][0] > 0.7
    assert memorised.meaning.weight > 0.9
    assert "memorised" in memorised.meaning.sentence
    assert memorised.counts()["fails"] == 0


def test_numbers_of_a_linear_model_have_closed_forms(linear, digits):
    _, w, card = linear
    x, y, unseen, truth = digits
    wrong, errors = ((x @ w).argmax(1) != y).sum(), ((unseen @ w).argmax(1) != truth).sum()
    known = binomtest(int(errors), len(truth)).proportion_ci(0.95)
    assert card["training"]["share"] == pytest.approx(wrong / 400)
    assert card["test"]["share"] == pytest.approx(errors / len(truth))
    assert (card["test"]["low"], card["test"]["high"]) == pytest.approx((known.low, known.high))
    assert card["gap"] == pytest.approx(errors / len(truth) - wrong / 400)
    assert card["gap_interval"] == pytest.approx([known.low - wrong / 400, known.high - wrong / 400])
    assert card["chance"] == pytest.approx(1 - np.bincount(y).max() / 400)
    assert card["norms"]["spectral"] == pytest.approx([np.linalg.norm(w, 2)], rel=1e-5)
    assert card["norms"]["frobenius"] == pytest.approx([np.linalg.norm(w)], rel=1e-5)
    assert card["path"] == pytest.approx(np.abs(w).sum(axis=0).max(), rel=1e-5)
    assert card["complexity"] == pytest.approx(np.linalg.norm(w, axis=0).sum(), rel=1e-5)
    bounds = card["bounds"]
    hoeffding = errors / len(truth) + np.sqrt(np.log(20) / (2 * len(truth)))
    assert bounds[HELD_OUT[1]]["value"] == pytest.approx(hoeffding)
    assert bounds["stored bits"]["value"] == pytest.approx(g.bits_bound(wrong / 400, 640, 400).value)
    margins = g.class_margins(x @ w, y)
    assert bounds["linear scores"]["value"] == pytest.approx(linear_margin_bound(margins, w.T, x).value, rel=1e-4)
    patterns = log_growth_of_network(400, [], [650], classes=10)
    assert bounds["VC dimension"]["value"] == pytest.approx(growth_bound(wrong / 400, patterns, 400).value)


def test_every_bound_is_compared_and_none_fails(linear):
    _, _, card = linear
    assert not card.finding.error
    assert card.counts()["fails"] == 0
    assert len(card.finding.comparisons) == 5
    assert len(card.finding.figures) == 2
    assert all(len(f.title) <= 110 for f in card.finding.figures)
    assert "test rows" in card.meaning.sentence


def test_the_meaning_depends_on_the_outcome(linear):
    subject, *_ = linear
    found = INSTRUMENT.measure(subject, subject.key("generalisation"))
    say = lambda **changes: INSTRUMENT.interpret(found._replace(**changes), subject)  # noqa: E731
    assert "without test rows" in say(test=None).sentence
    poor = g.exact_interval(270, 300)
    assert "not learned" in say(test=poor, training=g.exact_interval(360, 400)).sentence
    wide = g.exact_interval(90, 300)
    gap = say(test=wide, training=g.exact_interval(0, 400), gap=0.3, gap_interval=(wide.low, wide.high))
    assert "gap" in gap.sentence
    assert gap.advice
    assert "None of the" in say(best="").sentence
    assert "certifies" in say(best="stored bits").sentence


def test_without_test_rows_or_a_chain_parts_are_left_out(digits, uncertified):
    x, y, *_ = digits

    def tied(p, x):
        return jnp.tanh(x @ p["w"]) @ p["w"].T[:, :10] + x[:, :10] * p["s"]

    params = {"w": jnp.asarray(np.random.default_rng(0).normal(size=(64, 8)) / 8, jnp.float32), "s": jnp.ones(10)}
    card = INSTRUMENT(as_subject((tied, params), (x, y)))
    verdicts = {c.what: str(c.verdict) for c in card.finding.comparisons}
    assert verdicts["test error"] == "inapplicable"
    assert verdicts["norm, margin and VC bounds"] == "inapplicable"
    assert card["test"] is None
    assert card["norms"] is None
    assert verdicts["PAC-Bayes certificate"] == "inapplicable"
    assert "stored bits" in card["bounds"]


def test_regression_is_refused():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    subject = as_subject((lambda p, x: x @ p, jnp.ones((3, 1))), (x, x[:, :1]))
    assert "not class labels" in INSTRUMENT(subject).skipped


def test_a_certificate_that_the_budget_does_not_allow_is_left_out_and_said():
    x = np.random.default_rng(0).normal(size=(40, 3))
    subject = as_subject((lambda p, x: x @ p, jnp.ones((3, 2))), (x, (x[:, 0] > 0).astype(int)))
    subject.budget.restore(PassCosts(1e-2, 3e-2, 1e4, 1e5, 1e8), 2**30)
    card = INSTRUMENT(subject)
    assert card["certificate"] is None
    assert card.left_out == ("left out the PAC-Bayes certificate: the budget of 3 minutes does not allow it",)
    verdicts = {c.what: str(c.verdict) for c in card.finding.comparisons}
    assert verdicts["PAC-Bayes certificate"] == "inapplicable"
