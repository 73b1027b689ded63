"""The tangent instrument: closed forms of linear models, both regimes, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from studies.small_subjects import three_clouds

from leadline import networks
from leadline.studies import as_subject
from leadline.studies.instruments.tangent import INSTRUMENT
from leadline.studies.measurements.tangent_trials import kernel_targets
from leadline.studies.subject import TrainingHistory

TRAIN, TEST = three_clouds(), three_clouds(60, seed=1)


def verdicts(card):
    return {c.what: str(c.verdict) for c in card.finding.comparisons}


def descended(net, step, steps=300):
    """The network after gradient descent on the cross-entropy of the three clouds."""
    x, y = jnp.asarray(TRAIN[0]), jnp.asarray(TRAIN[1])

    def loss(net):
        logits = jax.vmap(net)(x)
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, y[:, None], 1)[:, 0])

    def one(_, net):
        return jax.tree.map(lambda a, g: a - step * g, net, jax.grad(loss)(net))

    return jax.jit(lambda net: jax.lax.fori_loop(0, steps, one, net))(net)


@pytest.fixture(scope="module")
def linear():
    start = networks.MLP((4, 3), key=jax.random.key(0))
    subject = as_subject(descended(start, 0.1, 20), TRAIN, TEST, start=start, past=TrainingHistory(init="he"))
    found = INSTRUMENT.measure(subject, subject.key("tangent"))
    return subject, found


def test_a_linear_softmax_model_has_the_kernel_of_its_inputs(linear):
    subject, found = linear
    x = subject.train.inputs.astype(float)
    K = x @ x.T + 1.0  # weights and bias, the same for each output
    values = np.linalg.eigvalsh(K)[::-1]
    np.testing.assert_allclose(found.eigenvalues[:5], values[:5], rtol=1e-5)
    np.testing.assert_allclose(found.twin.eigenvalues[:5], values[:5], rtol=1e-4)
    assert found.rank == 5
    assert found.twin.distance < 1e-6
    np.testing.assert_allclose(found.condition, values[0] / values[4], rtol=1e-4)
    y = np.eye(3)[subject.train.targets]
    centre = np.eye(len(x)) - 1 / len(x)
    Kc, Yc = centre @ K @ centre, centre @ y @ y.T @ centre
    cka = np.sum(Kc * Yc) / np.linalg.norm(Kc) / np.linalg.norm(Yc)
    np.testing.assert_allclose([found.alignment, found.alignment_start], cka, rtol=1e-4)
    assert found.alignment_chance < found.alignment


def test_a_linear_softmax_model_trains_as_its_eigenvalues_say_and_never_drifts(linear):
    subject, found = linear
    x, y = subject.train.inputs.astype(float), np.eye(3)[subject.train.targets]
    K = x @ x.T + 1.0
    residual = subject.scores(subject.train.inputs, subject.past.start).astype(float) - y
    losses = [np.mean(np.sum(residual**2, axis=1))]
    for _ in range(10):
        residual = residual - found.step * K @ residual
        losses.append(np.mean(np.sum(residual**2, axis=1)))
    assert found.times[1] == 10
    assert found.trial_rows == 90
    np.testing.assert_allclose(found.step * np.linalg.eigvalsh(K)[-1], 1.0, rtol=1e-4)
    for curve in (found.loss_predicted, found.loss_linearised, found.loss_network):
        np.testing.assert_allclose(curve[:2], [losses[0], losses[10]], rtol=1e-4)
    assert found.linear
    assert found.regime == "lazy"
    assert found.sure == 1.0
    assert found.kernel_drift < 1e-6
    assert found.linearisation_error < 1e-5
    assert abs(found.kernel_cosine - 1) < 1e-6
    before, after = (
        np.concatenate([np.ravel(v) for v in jax.tree.leaves(p)]) for p in (subject.past.start, subject.params)
    )
    np.testing.assert_allclose(found.weight_move, np.linalg.norm(after - before) / np.linalg.norm(before), rtol=1e-5)


def test_the_card_of_a_linear_model_fails_nowhere(linear):
    subject, found = linear
    comparisons = list(INSTRUMENT.compare(found, subject))
    assert len(comparisons) >= 3
    assert not any(str(c.verdict) == "fails" for c in comparisons)
    assert "linear in its parameters" in INSTRUMENT.interpret(found, subject).sentence
    assert len(list(INSTRUMENT.draw(found, subject))) == 2


@pytest.fixture(scope="module")
def wide():
    start = networks.MLP((4, 2048, 3), "relu", parametrisation="ntk", gain=2**0.5, key=jax.random.key(1))
    subject = as_subject(
        descended(start, 0.2, 60), TRAIN, TEST, start=start, past=TrainingHistory(optimiser="sgd"), step_size=0.2
    )
    return subject, INSTRUMENT.measure(subject, subject.key("tangent"))


@pytest.mark.slow
def test_a_very_wide_network_in_ntk_parametrisation_is_lazy(wide):
    subject, found = wide
    assert found.regime == "lazy"
    assert found.sure > 0.99
    assert found.basis == "its training"
    assert found.kernel_drift < 0.1
    assert found.linearisation_error < 0.1
    assert found.trial_distance < 0.1
    assert found.twin.width == 2048
    assert found.twin.distance < 0.1
    what = {c.what: str(c.verdict) for c in INSTRUMENT.compare(found, subject)}
    assert what["network's outputs off the linearised ones on the squared loss"] == "holds"
    assert what["distance of the first kernel from infinite width, of other draws"] == "holds"
    meaning = INSTRUMENT.interpret(found, subject)
    assert meaning.sentence.startswith("Training was lazy")
    assert meaning.advice
    assert "twin" in meaning.sentence


@pytest.mark.slow
def test_a_narrow_network_in_mean_field_scale_learns_features():
    start = networks.MLP((4, 16, 3), "relu", parametrisation="mean-field", gain=2**0.5, key=jax.random.key(1))
    subject = as_subject(descended(start, 8.0), TRAIN, TEST, start=start)
    card = INSTRUMENT(subject)
    assert card["regime"] == "feature learning"
    assert card["sure"] > 0.99
    assert card["kernel_drift"] > 0.5
    assert card["weight_move"] > 0.3
    assert card.meaning.sentence.startswith("Training learned features")
    assert verdicts(card)["kernel of the infinitely wide network"] == "inapplicable"


def test_without_a_start_only_the_trial_is_judged():
    x = TRAIN[0].astype(np.float64)
    subject = as_subject(
        (lambda w, x: jnp.tanh(x @ w["a"]) @ w["b"], {"a": jnp.eye(4), "b": jnp.ones((4, 1))}), (x, np.sin(x[:, 0]))
    )
    card = INSTRUMENT(subject)
    assert card["basis"] == "a trial run from the present parameters"
    assert not card["from_start"]
    assert card["kernel_drift"] is None
    assert card["twin"] is None
    assert card["regime"] in ("lazy", "between")
    assert verdicts(card)["drift of the tangent kernel"] == "inapplicable"
    assert "start=" in card.meaning.advice


def test_a_binary_classifier_with_one_output_is_judged_by_that_output():
    x, y = TRAIN
    subject = as_subject(networks.MLP((4, 1), key=jax.random.key(0)), (x, (y > 0).astype(int)))
    K = subject.train.inputs.astype(float) @ subject.train.inputs.T + 1.0
    np.testing.assert_allclose(subject.shared.tangent_kernel.here, K, rtol=1e-5, atol=1e-6)
    assert set(kernel_targets(subject).ravel()) == {-1.0, 1.0}


def test_every_outcome_has_its_sentence(wide):
    subject, found = wide
    told = [
        found,
        found._replace(regime="between"),
        found._replace(regime="feature learning", alignment=0.0),
        found._replace(basis="a trial run from the present parameters", trial_distance=np.inf),
        found._replace(basis="a trial run from the present parameters", weight_move=0.0),
        found._replace(regime=None, basis="nothing"),
        found._replace(linear=True),
    ]
    meanings = [INSTRUMENT.interpret(f, subject) for f in told]
    assert len({m.sentence for m in meanings}) == len(told)
    assert all(0 <= m.weight <= 1 for m in meanings)
    assert "no more than with shuffled" in meanings[2].sentence
    assert "diverges" in meanings[3].sentence
    next(iter(INSTRUMENT.draw(found._replace(trial_distance=np.inf), subject)))
