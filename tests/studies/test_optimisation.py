"""The optimisation instrument: every constant of a linear softmax model in closed form, and what is said of it."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from leadline.studies.budget import PassCosts
from leadline.studies.instruments.optimisation import INSTRUMENT, STEP_UNKNOWN
from leadline.studies.subject import TrainingHistory
from leadline.studies.subject_making import as_subject

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
LABELS = np.argmax(X @ rng.normal(size=(3, 4)) + rng.normal(size=(120, 4)), axis=1)
W = 0.3 * rng.normal(size=(3, 4))


def linear(params, x):
    return x @ params["w"]


BASE = {}


def softmax_subject(step=0.5, batch=16, optimiser="sgd", **past):
    """One model with several pasts; what does not depend on the past is computed once."""
    if not BASE:
        BASE["subject"] = as_subject((linear, {"w": jnp.asarray(W)}), (X, LABELS))
    subject = replace(BASE["subject"], past=TrainingHistory(optimiser=optimiser, step=step, batch=batch, **past))
    subject.__dict__["shared"] = BASE["subject"].shared
    return subject


@pytest.fixture(scope="module")
def card():
    return INSTRUMENT(softmax_subject(losses=np.array([1.4, 1.3, 1.25])))


def closed_forms(w=W):
    p = np.exp(X @ w)
    p /= p.sum(1, keepdims=True)
    errors = p - np.eye(4)[LABELS]
    gradients = np.einsum("ni,nk->nik", X, errors).reshape(120, -1)
    hessian = np.zeros((12, 12))
    for x, q in zip(X, p, strict=True):
        hessian += np.kron(np.outer(x, x), np.diag(q) - np.outer(q, q)) / 120
    loss = -np.log(p[np.arange(120), LABELS]).mean()
    return loss, gradients, hessian


def test_constants_are_the_closed_forms(card):
    loss, gradients, hessian = closed_forms()
    g = gradients.mean(0)
    trace = np.sum((gradients - g) ** 2) / 120
    unbiased = np.sum((gradients - g) ** 2) / 119
    expected = {
        "loss": loss,
        "gradient_square": g @ g,
        "smoothness": np.linalg.eigvalsh(hessian)[-1],
        "gradient_curvature": g @ hessian @ g / (g @ g),
        "pl_constant": g @ g / (2 * loss),
        "noise_trace": trace,
        "critical_batch": unbiased / (g @ g - unbiased / 120),
    }
    for name, value in expected.items():
        assert np.isclose(card[name], value, rtol=1e-4), name
    assert card["critical_low"] < card["critical_batch"] < card["critical_high"]


def test_theory_stands_beside_every_measurement(card):
    verdicts = {c.what: str(c.verdict) for c in card.finding.comparisons}
    assert "fails" not in verdicts.values(), verdicts
    assert verdicts["step size, 2/L"] == "holds"
    assert sum(v == "holds" for v in verdicts.values()) == 3
    drop = card["segment"]
    assert drop["lower"] - drop["rounding"] <= drop["drop"] <= drop["upper"] + drop["rounding"]
    squares = np.asarray(card["batch_squares"])
    error = squares.std(ddof=1) / np.sqrt(len(squares))
    assert abs(squares.mean() - card["gradient_square"] - card["noise_trace"] / card["batch"]) < 4 * error
    floor = next(c for c in card.finding.comparisons if "floor" in c.what)
    assert "curves upwards" in floor.unmet  # a common shift of the scores changes nothing
    assert len(card.finding.figures) == 2


def test_drop_of_one_step_is_the_quadratic_one_for_a_small_step():
    _, gradients, hessian = closed_forms()
    g = gradients.mean(0)
    found = INSTRUMENT(softmax_subject(step=0.02))
    expected = 0.02 * g @ g - 0.0002 * g @ hessian @ g
    assert np.isclose(found["segment"]["drop"], expected, rtol=1e-3)
    assert "slow" in found.meaning.sentence
    assert found.meaning.advice.startswith("Try steps up to")


def test_a_step_above_the_limit_fails_and_is_said(card):
    limit = 2 / card["smoothness"]
    found = INSTRUMENT(softmax_subject(step=1.5 * limit))
    assert str(found.finding.comparisons[0].verdict) == "fails"
    assert "unstable" in found.meaning.sentence


def test_an_unknown_step_is_a_part_and_an_advised_one_is_tried():
    found = INSTRUMENT(softmax_subject(step=None, batch=None, optimiser=None))
    assert any(c.unmet == STEP_UNKNOWN for c in found.finding.comparisons)
    assert np.isclose(found["step"], 1 / found["smoothness"])
    adam = INSTRUMENT(softmax_subject(step=0.1, optimiser="adam"))
    assert any("adam" in c.unmet for c in adam.finding.comparisons)


def test_regression_has_a_floor_and_a_gradient_of_0_is_told():
    y = X @ np.ones((3, 1)) + 0.5 * rng.normal(size=(120, 1))
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    subject = as_subject((linear, {"w": jnp.asarray(best + 0.01)}), (X, y), optimiser="sgd", step_size=0.05, batch=8)
    found = INSTRUMENT(subject)
    assert np.isclose(found["floor"]["minimum"], np.mean((X @ best - y) ** 2), rtol=1e-5)
    equilibrium = next(c for c in found.finding.comparisons if "equilibrium" in c.what)
    assert str(equilibrium.verdict) == "holds"
    assert np.isclose(found["smoothness"], 2 * np.linalg.eigvalsh(X.T @ X / 120)[-1], rtol=1e-5)
    still = as_subject((linear, {"w": jnp.zeros((3, 1))}), (X, 0 * y), optimiser="sgd", step_size=0.05, batch=8)
    assert "nothing to optimise" in INSTRUMENT(still).meaning.sentence


def test_meaning_depends_on_the_outcome(card, monkeypatch):
    from leadline.studies.instruments import optimisation
    from leadline.studies.instruments.optimisation import interpret, measure

    subject = softmax_subject()
    found = measure(subject, subject.key("optimisation"))
    ends = np.array([found.loss] * found.run.losses.size).reshape(found.run.losses.shape)

    def said(change, **other):
        run = found.run._replace(losses=ends * (1 + change))
        return interpret(found._replace(progress=run, **other), subject)

    assert "not finished" in said(-0.5).sentence
    monkeypatch.setattr(optimisation, "NEARLY_ALL", 0.0)
    assert "right already" in said(-0.5).sentence
    assert "only larger batches" in said(0.0, critical_batch=np.inf, critical_low=0.0, critical_high=np.inf).sentence
    assert "drives the loss up" in said(0.5).sentence
    assert said(0.0, critical_low=8.0, critical_batch=20.0, critical_high=90.0).weight == 0.25
    exceeded = {"critical_batch": 2.0, "critical_low": 1.0, "critical_high": 3.0}
    assert "no longer matters" in said(0.0, **exceeded).sentence
    assert "Use batches of about 2" in said(0.0, **exceeded).advice
    adam = softmax_subject(step=0.1, optimiser="adam")
    meaning = interpret(found._replace(progress=found.run._replace(losses=ends), step_known=False, **exceeded), adam)
    assert "it was trained by adam" in meaning.sentence
    assert not meaning.advice


def test_a_budget_that_is_too_small_cuts_noisy_steps_and_runs_and_the_card_says_so():
    subject = as_subject((linear, {"w": jnp.asarray(W)}), (X, LABELS))
    subject.budget.restore(PassCosts(1e-2, 3e-2, 1e4, 1e5, 1e8), 2**30)
    card = INSTRUMENT(subject)
    assert card.sizes == {
        "rows": 64,
        "noisy steps": 4,
        "steps of SGD from here": 16,
        "looks at the whole loss": 2,
        "training rows": 120,
        "vectors of Lanczos' method": 50,
        "products of Lanczos' method": 16,
    }
    assert len(card.left_out) == 5
    assert card["rows"] == 64


def test_a_step_of_momentum_is_not_compared_with_the_limit_of_plain_descent():
    card = INSTRUMENT(softmax_subject(step=0.02, optimiser="momentum", momentum=0.9))
    assert not card["step_known"]
    assert "momentum" in next(c.unmet for c in card.finding.comparisons if c.what == "step size against 2/L")
