"""The curvature instrument: the closed form of a linear softmax model, squared losses, steps, and what it says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from studies.small_subjects import three_clouds

from leadline import networks
from leadline.studies import as_subject
from leadline.studies.instruments.curvature import INSTRUMENT, relative_sharpness, why_not_plain
from leadline.studies.subject import TrainingHistory

TRAIN = three_clouds()


def softmax_hessian(subject):
    """Xᵀ(diag p − p pᵀ)X/n with X the inputs and a 1, in the order (weights by class, biases)."""
    x = np.c_[subject.sample.inputs.astype(float), np.ones(subject.sample.count)]
    logits = subject.scores(subject.sample.inputs).astype(float)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    M = p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :]
    H = np.einsum("ncd,ni,nj->cidj", M, x, x) / len(x)
    weights = [(c, i) for c in range(3) for i in range(4)] + [(c, 4) for c in range(3)]
    return np.array([[H[c, i, d, j] for d, j in weights] for c, i in weights])


@pytest.fixture(scope="module")
def linear():
    net = networks.MLP((4, 3), key=jax.random.key(0))
    net = eqx.tree_at(lambda n: n.layers[0].weight, net, jnp.eye(3, 4) * 1.5)
    subject = as_subject(net, TRAIN, step_size=0.5, batch=90, past=TrainingHistory(optimiser="sgd"))
    return subject, INSTRUMENT.measure(subject, subject.key("curvature"))


def test_a_linear_softmax_model_has_hessian_gauss_newton_and_fisher_in_closed_form(linear):
    subject, found = linear
    H = softmax_hessian(subject)
    values = np.linalg.eigvalsh(H)[::-1]
    np.testing.assert_allclose(found.largest, values[: len(found.largest)], atol=1e-6)
    np.testing.assert_allclose([found.least, found.apart], [values[-1], 0.0], atol=1e-6)
    np.testing.assert_allclose([found.gauss_newton, found.largest_by_rows], values[0], rtol=1e-5)
    np.testing.assert_allclose(found.trace, np.trace(H), rtol=1e-5)
    assert abs(found.density_trace - np.trace(H)) <= found.density_reach
    assert found.largest_error == 0
    np.testing.assert_allclose(found.sloppy.eigenvalues[:10], values[:10], rtol=1e-4)  # 10 = 2 free outputs x 5 inputs
    assert found.sloppy.rows == 90
    assert found.sloppy.rank == 10
    assert found.sloppy.most == 15
    np.testing.assert_allclose(found.sloppy.effective, np.sum(values / (values + 1 / 90)), rtol=1e-4)
    np.testing.assert_allclose(found.sloppy.decades, np.log10(values[0] / values[9]), rtol=1e-3)


def test_gradient_and_relative_sharpness_of_a_linear_model_in_closed_form(linear):
    subject, found = linear
    x, y = subject.sample
    x = np.c_[x.astype(float), np.ones(len(x))]
    logits = subject.train_scores.astype(float)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    residual = p - np.eye(3)[y]
    np.testing.assert_allclose(found.gradient_norm, np.linalg.norm(residual.T @ x / len(x)), rtol=1e-4)
    squares = np.sum(residual**2, axis=1) * np.sum(x**2, axis=1)
    scatter = np.sqrt((squares.mean() - found.gradient_norm**2) / len(x))
    np.testing.assert_allclose(found.gradient_scatter, scatter, rtol=1e-4)
    net = subject.module.layers[0]
    w = np.abs(np.concatenate([np.ravel(net.weight), net.bias]))
    np.testing.assert_allclose(
        found.relative, np.linalg.eigvalsh(w[:, None] * softmax_hessian(subject) * w)[-1], rtol=1e-4
    )


def test_the_card_of_a_linear_model_compares_its_sharpness_with_its_step(linear):
    subject, found = linear
    comparisons = {c.what: c for c in INSTRUMENT.compare(found, subject)}
    assert not any(str(c.verdict) == "fails" for what, c in comparisons.items() if "finding" not in what)
    against = comparisons["largest Hessian eigenvalue, 2/step"]
    assert against.predicted == 4.0
    assert against.measured == found.largest[0]
    assert str(comparisons["sharpness after rescaling the layers"].verdict) == "inapplicable"
    assert len(list(INSTRUMENT.draw(found, subject))) == 2


def test_every_outcome_has_its_sentence(linear):
    subject, found = linear
    top = float(found.largest[0])
    told = [
        found._replace(stable=10 * top, critical=True),
        found._replace(stable=1.1 * top),
        found._replace(stable=0.5 * top),
        found._replace(stable=None, critical=False, least=-top),
        found._replace(largest=-found.largest[::-1]),
    ]
    meanings = [INSTRUMENT.interpret(f, subject) for f in told]
    for meaning, words in zip(
        meanings, ("stable", "edge of stability", "unstable", "saddle", "no minimum"), strict=True
    ):
        assert words in meaning.sentence
        assert 0 <= meaning.weight <= 1
    assert "not a critical point" in meanings[3].sentence
    assert "critical" not in meanings[0].sentence
    outside = next(c for c in INSTRUMENT.compare(told[2], subject) if "2/step" in c.what)
    assert str(outside.verdict) == "fails"


def test_regression_by_a_plain_function_has_the_hessian_of_least_squares():
    x = TRAIN[0].astype(np.float64)
    subject = as_subject((lambda w, x: x @ w[:, None], jnp.ones(4)), (x, x[:, 0] + 1.0), rows=60)
    found = INSTRUMENT.measure(subject, subject.key("curvature"))
    sampled = subject.sample.inputs
    values = np.linalg.eigvalsh(2 * sampled.T @ sampled / 60)[::-1]  # of ‖f − y‖²
    np.testing.assert_allclose(found.largest, values, rtol=1e-8)
    np.testing.assert_allclose(found.sloppy.eigenvalues[:4], values / 2, rtol=1e-8)
    each = 2 * (sampled @ np.linalg.eigh(sampled.T @ sampled)[1][:, -1]) ** 2
    np.testing.assert_allclose(found.largest_error, np.std(each, ddof=1) * np.sqrt((1 - 60 / 90) / 60), rtol=1e-6)
    comparisons = list(INSTRUMENT.compare(found, subject))
    unmet = {c.what: c.unmet for c in comparisons if c.unmet}
    assert "class labels" in unmet["outlying eigenvalues against classes"]
    assert "known constant step" in unmet["largest Hessian eigenvalue against 2/step"]
    assert not any(str(c.verdict) == "fails" for c in comparisons)


def test_rescaling_the_layers_of_a_relu_network_changes_the_plain_sharpness_only():
    net = networks.MLP((4, 6, 3), key=jax.random.key(3))
    subject = as_subject(net, TRAIN)
    h = subject.shared.hessian
    (relative, _), (plain, again, _) = relative_sharpness(subject, h)
    np.testing.assert_allclose(again, relative, rtol=1e-3)
    assert abs(plain / np.linalg.eigvalsh(h.dense())[-1] - 1) > 0.05


def test_other_optimisers_are_told_why_their_step_is_not_compared():
    assert "adam" in why_not_plain(TrainingHistory(optimiser="adam", step=1e-3))
    assert why_not_plain(TrainingHistory()).endswith("decay")
