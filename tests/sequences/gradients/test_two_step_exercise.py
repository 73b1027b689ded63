import jax
import numpy as np
import pytest

from leadline.sequences import TwoStep, first_wrong_term, two_step_adjoints, two_step_loss

PROBLEM = TwoStep(0.4, -0.9, 1.7, (0.3, -1.2), (0.8, -0.5))


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("activation", [jax.nn.sigmoid, jax.numpy.tanh])
def test_the_adjoints_of_the_weights_are_the_gradient(both, activation):
    problem = PROBLEM._replace(both=both)
    terms = two_step_adjoints(problem, activation)
    u, w, v = jax.grad(two_step_loss(problem, activation))((problem.u, problem.w, problem.v))
    np.testing.assert_allclose([terms["u"], terms["w"], terms["v"]], [u, w, v], rtol=1e-4)


def test_the_first_wrong_term_of_an_answer_is_named():
    right = two_step_adjoints(PROBLEM)
    assert first_wrong_term(right, PROBLEM) is None
    assert first_wrong_term(right | {"u": 9.0, "h1": 9.0}, PROBLEM) == "h1"
    assert first_wrong_term({}, PROBLEM) == "e1"
    with pytest.raises(ValueError, match="no term 'z'"):
        first_wrong_term({"z": 1.0}, PROBLEM)
