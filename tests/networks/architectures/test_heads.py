import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_expit, log_softmax as reference

from leadline import networks
from leadline.networks.architectures.heads import head_width

Z = np.random.default_rng(0).normal(size=(7, 4))


@pytest.mark.parametrize(
    ("task", "targets", "width"), [("regression", 1, 1), ("regression", 3, 3), ("binary", 1, 1), ("classes", 4, 4)]
)
def test_widths_and_shapes_follow_the_task(task, targets, width):
    head = eqx.filter_eval_shape(networks.TaskHead, 5, task, targets, key=jax.random.key(0))
    assert head_width(task, targets) == width
    assert head.linear.weight.shape == (width, 5)
    assert eqx.filter_eval_shape(lambda head, x: head(x), head, jnp.ones(5)).shape == (width,)


def test_decisions():
    regression, binary, classes = (
        networks.TaskHead(5, task, 4, key=jax.random.key(0)) for task in ("regression", "binary", "classes")
    )
    np.testing.assert_array_equal(regression.decide(jnp.asarray(Z)), Z)
    assert binary.decide(jnp.array([[0.3], [0.0], [-2.0]])).tolist() == [1.0, 1.0, -1.0]
    np.testing.assert_array_equal(classes.decide(jnp.asarray(Z)), Z.argmax(1))


def test_log_probabilities():
    classes = networks.TaskHead(5, "classes", 4, key=jax.random.key(0))
    np.testing.assert_allclose(classes.log_probabilities(jnp.asarray(Z)), reference(Z, axis=1), atol=1e-13)
    binary = networks.TaskHead(5, "binary", key=jax.random.key(0))
    score = Z[:, :1]
    np.testing.assert_allclose(
        binary.log_probabilities(jnp.asarray(score)), np.hstack([log_expit(-score), log_expit(score)]), atol=1e-13
    )


def test_bad_heads_are_refused():
    with pytest.raises(ValueError, match="no task 'ranking'"):
        head_width("ranking")
    with pytest.raises(ValueError, match="at least 2"):
        head_width("classes", 1)
    with pytest.raises(ValueError, match="no probabilities"):
        networks.TaskHead(2, "regression", key=jax.random.key(0)).log_probabilities(jnp.zeros(1))
