"""The robustness instrument: a linear softmax model in closed form, refusals, branches of its meaning."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from leadline.evidence.comparison import Verdict
from leadline.studies.instrument_contract import NotApplicable
from leadline.studies.instruments.robustness import INSTRUMENT, compare, draw, interpret
from leadline.studies.subject_making import as_subject


def linear(params, x):
    return x.reshape(len(x), -1) @ params["w"].T + params["b"]


def clouds(classes=3, rows=60):
    rng = np.random.default_rng(1)
    labels = np.arange(rows) % classes
    return (rng.normal(size=(rows, 16)) * 0.3 + np.eye(classes, 16)[labels] * 2).reshape(-1, 4, 4), labels


@pytest.fixture(scope="module")
def softmax():
    """w_k along the k-th axis: two classes differ by 2 in two inputs, so that distances are |x_y − x_k|/√2 and /2."""
    x, y = clouds()
    params = {"w": jnp.eye(3, 16), "b": jnp.zeros(3)}
    return as_subject((linear, params), (x[:40], y[:40]), (x[40:], y[40:]))


@pytest.fixture(scope="module")
def card(softmax):
    return INSTRUMENT(softmax)


@pytest.fixture(scope="module")
def found(softmax):
    return INSTRUMENT.measure(softmax, softmax.key("robustness"))


def test_a_linear_model_has_its_closed_forms(found, softmax):
    x = softmax.test.inputs.reshape(20, 16)
    right = x[:, :3].argmax(axis=1) == softmax.test.targets
    gaps = -np.sort(-x[right, :3], axis=1)
    gap = gaps[:, 0] - gaps[:, 1]
    np.testing.assert_allclose(found.lipschitz_radii, gap / math.sqrt(2), rtol=1e-3)
    assert found.rows == right.sum()
    assert found.where == "test"
    attack = np.minimum(found.deepfool_radii, found.pgd_radii)
    assert (attack >= gap / math.sqrt(2) * (1 - 1e-5)).all()  # clipping only lengthens
    low, high = found.input_range
    brute = []
    for one, label in zip(x[right], softmax.test.targets[right], strict=True):
        sizes = np.linspace(0, found.eps[-1], 2001)[:, None]
        falling, rising = np.clip(one[label] - sizes, low, high), np.clip(np.delete(one[:3], label) + sizes, low, high)
        hit = np.flatnonzero((rising >= falling).any(axis=1))
        brute.append(sizes[hit[0], 0] if len(hit) else found.eps[-1])
    np.testing.assert_allclose(np.minimum(found.interval_radii, found.eps[-1]), brute, atol=2e-3 * (high - low))


def test_all_its_comparisons_hold_and_it_draws(card):
    assert card.verdict == "holds"
    assert {c.verdict for c in card.finding.comparisons} <= {Verdict.HOLDS}
    assert len(card.finding.comparisons) >= 4
    assert len(card.finding.figures) == 3
    assert all(len(f.title) <= 110 for f in card.finding.figures)
    assert np.all(np.diff(card["attacked"]) <= 0)
    assert np.all(np.array(card["certified"]) <= card["attacked"])


def test_a_certificate_above_an_attack_fails_and_is_said(found, softmax):
    wrong = found._replace(interval_radii=found.interval_radii + 10.0)
    assert next(iter(compare(wrong, softmax))).verdict is Verdict.FAILS
    assert interpret(wrong, softmax).weight > 0.9


def test_its_meaning_depends_on_what_it_found(found, softmax):
    span = found.input_range[1] - found.input_range[0]
    none = found._replace(interval_radii=0 * found.interval_radii, certified_half=0.0)
    fragile = interpret(none._replace(half_radius=0.01 * span), softmax)
    usual = interpret(none._replace(half_radius=0.08 * span), softmax)
    sound = interpret(found._replace(half_radius=None, certified_half=0.1 * span), softmax)
    hidden = interpret(none._replace(half_radius=0.08 * span, only_one_step=50, only_many_steps=2), softmax)
    masked = interpret(found._replace(half_radius=None, only_one_step=50, only_many_steps=2), softmax)
    assert fragile.weight > usual.weight > sound.weight
    assert fragile.advice
    assert not fragile.rests_on  # that certificates stay below attacks is no reason to train against these
    assert not sound.advice
    assert "0.01 of the range" in fragile.sentence
    assert "nothing is certified beyond 0" in fragile.sentence
    assert "leaves" in sound.sentence
    assert "half of them are certified up to 0.1" in sound.sentence
    assert "hidden gradients" in hidden.sentence
    assert "gradients hide" in masked.sentence


def test_parts_that_do_not_apply_are_named(found, softmax):
    missing = (
        NotApplicable("certified accuracy", "interval bounds know every step"),
        NotApplicable("certified radius in the 2-norm", "it is a chain"),
    )
    less = found._replace(
        interval_radii=None, certified=None, certified_half=None, lipschitz_radii=None, gallery=None, parts=missing
    )
    verdicts = [c.verdict for c in compare(less, softmax)]
    assert verdicts.count(Verdict.INAPPLICABLE) == 2
    assert Verdict.FAILS not in verdicts
    assert len(list(draw(less, softmax))) == 2
    assert "certified" not in interpret(less, softmax).sentence


def test_it_refuses_what_is_not_a_classifier():
    x, _ = clouds()
    subject = as_subject((linear, {"w": jnp.eye(3, 16), "b": jnp.zeros(3)}), (x, x[:, :3, 0]))
    assert "class labels" in INSTRUMENT(subject).skipped


def test_it_says_so_where_nothing_is_classified_rightly(softmax):
    x, y = clouds()
    wrong = as_subject((linear, softmax.params), (x, (y + 1) % 3))
    assert "no row is classified rightly" in INSTRUMENT(wrong).skipped
