"""The tape and the modes, against JAX and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from leadline.differentiation import Dual, Tape, forward_jacobian, jvp, reverse_jacobian, vjp
from leadline.differentiation.local_rules import RULES, sum_to_shape

RNG = np.random.default_rng(0)
A, B = RNG.uniform(0.5, 2.0, (2, 3)), RNG.uniform(0.5, 2.0, 3)

FUNCTIONS = {
    "add": lambda x, xp: x + B,
    "subtract": lambda x, xp: B - x,
    "multiply": lambda x, xp: x * x * B,
    "divide": lambda x, xp: B / x + x / 2,
    "power": lambda x, xp: x**3 + 2.0**x,
    "negative": lambda x, xp: -x,
    "square": lambda x, xp: xp.square(x),
    "sqrt": lambda x, xp: xp.sqrt(x),
    "exp": lambda x, xp: xp.exp(x),
    "log": lambda x, xp: xp.log(x),
    "log1p": lambda x, xp: xp.log1p(x),
    "sin": lambda x, xp: xp.sin(x),
    "cos": lambda x, xp: xp.cos(x),
    "tanh": lambda x, xp: xp.tanh(x),
    "absolute": lambda x, xp: xp.absolute(x - 1),
    "maximum": lambda x, xp: xp.maximum(x, 1.0),
    "minimum": lambda x, xp: xp.minimum(1.0, x),
    "expit": lambda x, xp: expit(x) if xp is np else jax.nn.sigmoid(x),
    "matmul": lambda x, xp: xp.sin(x) @ B,
    "sum": lambda x, xp: xp.sum(x, axis=0) * xp.sum(x, axis=1, keepdims=True),
    "mean": lambda x, xp: xp.mean(x * x, axis=1),
    "reshape": lambda x, xp: x.reshape(3, 2) * x.reshape((6,))[:2],
    "transpose": lambda x, xp: xp.transpose(x, (1, 0)) @ x,
    "item": lambda x, xp: x[0] * x[:, 1:2],
}


@pytest.mark.parametrize("name", RULES)
def test_every_rule_gives_the_jacobian_of_jax_in_both_modes(name):
    function = FUNCTIONS[name]
    exact = np.asarray(jax.jit(jax.jacobian(lambda x: function(x, jnp)))(A)).reshape(-1, A.size)
    for mode in (forward_jacobian, reverse_jacobian):
        found = mode(lambda x: function(x, np), A)
        np.testing.assert_allclose(found.matrix, exact, rtol=1e-12, atol=1e-14)


SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((2,), (2, 3)), ((4, 2, 3), (3, 5)), ((2, 3), (4, 3, 1))]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matrix_products_of_any_dimensions_pull_back(left, right):
    a, b = RNG.normal(size=left), RNG.normal(size=right)
    tape = Tape()
    u, v = tape.variable(a), tape.variable(b)
    out = np.sin(u @ v).sum()
    exact = jax.jit(jax.grad(lambda a, b: jnp.sin(a @ b).sum(), argnums=(0, 1)))(a, b)
    np.testing.assert_allclose(tape.gradient(out, u), exact[0], rtol=1e-12)
    np.testing.assert_allclose(tape.gradient(out, v), exact[1], rtol=1e-12)


def test_adjoints_of_broadcast_arguments_are_summed():
    assert sum_to_shape(np.ones((4, 2, 3)), (1, 3)).tolist() == [[8.0, 8.0, 8.0]]
    tape = Tape()
    x = tape.variable(2.0)
    assert tape.gradient((x * np.ones((2, 5))).sum(), x) == 10.0


def test_relu_has_slope_zero_at_its_kink():
    assert jvp(lambda x: np.maximum(x, 0), np.zeros(1), np.ones(1)).tangent.tolist() == [0.0]


def test_a_node_without_a_path_to_the_output_has_gradient_zero():
    tape = Tape()
    x, y = tape.variable(np.ones(2)), tape.variable(np.ones(3))
    assert tape.gradient((x * 2).sum(), y).tolist() == [0.0, 0.0, 0.0]


def test_nothing_can_be_changed_in_place():
    tape = Tape()
    x = tape.variable(np.ones(2))
    with pytest.raises(ValueError, match="in place"):
        x += 1
    with pytest.raises(ValueError, match="in place"):
        x[0] = 3.0
    plain = np.ones(2)
    with pytest.raises(ValueError, match="in place"):
        plain += x
    with pytest.raises(ValueError, match="read-only"):
        x.value[0] = 2.0


def test_the_tape_keeps_its_own_copy_of_the_input():
    array = np.ones(2)
    tape = Tape()
    x = tape.variable(array)
    y = (x * x).sum()
    array[:] = 7.0
    assert tape.gradient(y, x).tolist() == [2.0, 2.0]


def test_single_precision_stays_single():
    tape = Tape()
    x = tape.variable(np.ones(2, np.float32))
    assert (np.tanh(x) * 2.0 + 1).value.dtype == np.float32


def test_steps_go_forward_and_then_back():
    tape = Tape()
    x = tape.variable(3.0, "x")
    steps = list(tape.steps((x * x).named("y")))
    assert [(s.direction, s.label) for s in steps] == [
        ("forward", "x"),
        ("forward", "y"),
        ("backward", "y"),
        ("backward", "x"),
    ]
    assert steps[-1].adjoint == 6.0


def test_modes_agree_with_each_other_and_constants_have_no_derivative():
    f = lambda x: np.tanh(A @ np.sin(x))  # noqa: E731
    x, u, w = RNG.normal(size=3), RNG.normal(size=2), RNG.normal(size=3)
    assert u @ jvp(f, x, w).tangent == pytest.approx(vjp(f, x, u).adjoint @ w, rel=1e-12)
    for mode in (forward_jacobian, reverse_jacobian):
        assert not mode(lambda x: np.ones(2), x).matrix.any()


def test_products_are_counted():
    tape = Tape()
    w = tape.variable(np.ones((4, 3)))
    out = (w @ np.ones((3, 5))).sum()
    assert tape.evaluated.products == 60
    tape.adjoints(out)
    assert tape.pulled.products == 60


def test_bad_input_is_refused_with_a_reason():
    tape, other = Tape(), Tape()
    x, y = tape.variable(np.ones(2)), other.variable(np.ones(2))
    with pytest.raises(ValueError, match="two tapes"):
        x + y
    with pytest.raises(ValueError, match="cotangent of that shape"):
        tape.adjoints(x * 2)
    with pytest.raises(ValueError, match="must be equal"):
        tape.adjoints(x * 2, np.ones(3))
    with pytest.raises(ValueError, match=r"no rule for differentiating numpy\.arctan"):
        np.arctan(x)
    with pytest.raises(ValueError, match=r"no rule for differentiating numpy\.sort"):
        np.sort(x)
    with pytest.raises(ValueError, match="plain array"):
        np.asarray(x)
    with pytest.raises(ValueError, match="must be equal"):
        jvp(np.sin, np.ones(2), np.ones(3))


def test_duals_of_dual_functions_nest_in_loops():
    def cube(x):
        y = x
        for _ in range(2):
            y = y * x
        return y

    assert float(cube(Dual(2.0, 1.0)).tangent) == 12.0
