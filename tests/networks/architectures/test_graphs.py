import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_models import numpy_model

from leadline.networks import MLP, DagNetwork, ResidualNetwork, mlp_graph
from leadline.networks.architectures.graphs import Affine, Concatenation, Sum, residual_graph

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def graph():
    """Two readers of one vertex, a sum with coefficients, a concatenation, a vertex that nothing reads."""
    vertices = {
        "y": Affine("c", 2),
        "c": Concatenation(("s", "x")),
        "s": Sum(("a", "b"), (1.0, -0.5)),
        "b": Affine("a", 4, "sigmoid", centred=True),
        "a": Affine("x", 4, "tanh"),
        "idle": Affine("a", 1),
    }
    return numpy_model(DagNetwork, 3, vertices, "y")


def test_values_are_those_of_the_formulas(graph):
    x = np.array([0.1, -0.7, 1.1])
    W = {name: np.asarray(layer.weight) for name, layer in graph.layers.items()}
    B = {name: np.asarray(layer.bias) for name, layer in graph.layers.items()}
    a = np.tanh(W["a"] @ x + B["a"])
    b = 1 / (1 + np.exp(-W["b"] @ a - B["b"])) - 0.5
    expected = W["y"] @ np.concatenate([a - 0.5 * b, x]) + B["y"]
    np.testing.assert_allclose(graph(jnp.asarray(x)), expected, rtol=1e-12)


def test_adjoints_are_those_of_automatic_differentiation(graph):
    x, c = jnp.array([0.1, -0.7, 1.1]), jnp.array([1.0, -2.0])
    adjoints = graph.adjoints(x, c)
    np.testing.assert_allclose(adjoints["x"], jax.grad(lambda x: c @ graph(x))(x), rtol=1e-12)
    assert adjoints["y"].tolist() == c.tolist()
    assert adjoints["idle"].tolist() == [0.0]


def test_the_order_puts_every_vertex_after_what_it_reads(graph):
    place = {name: i for i, name in enumerate(graph.order)}
    assert all(place[u] < place[v] for u, v in graph.edges)


@pytest.mark.parametrize(
    ("vertices", "output", "message"),
    [
        ({"a": Affine("b", 2), "b": Affine("a", 2)}, "a", r"edge (a -> b|b -> a) closes the cycle"),
        ({"a": Sum(("a",))}, "a", "edge a -> a closes"),
        ({"a": Affine("q", 2)}, "a", "reads 'q', which is not a vertex"),
        ({"x": Affine("x", 2)}, "x", "name of the input"),
        ({"a": Affine("x", 2)}, "z", "output 'z'"),
        ({"a": Affine("x", 2), "s": Sum(("a", "x"))}, "s", "widths must be equal"),
        ({"s": Sum(("x", "x"), (1.0,))}, "s", "one coefficient"),
        ({"c": Concatenation(())}, "c", "reads nothing"),
    ],
)
def test_a_graph_that_cannot_be_evaluated_is_refused_with_its_fault_named(vertices, output, message):
    with pytest.raises(ValueError, match=message):
        DagNetwork(3, vertices, output, key=KEY)


def test_conversions_refuse_what_they_cannot_write():
    with pytest.raises(ValueError, match="standard parametrisation"):
        mlp_graph(MLP((2, 2), bias=False, key=KEY))
    with pytest.raises(ValueError, match="one matrix per block"):
        residual_graph(ResidualNetwork(2, 2, 1, 1, two_matrices=True, key=KEY))
