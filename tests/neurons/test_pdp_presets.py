import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import neurons


def test_a_threshold_unit_runs_through_its_truth_table():
    inputs = neurons.binary_inputs(3)
    unit = neurons.gate("majority", 3)
    run = neurons.mcculloch_pitts_system(unit.weights, float(unit.threshold), inputs).run()
    np.testing.assert_array_equal(run.states[:, 0], [0, 0, 0, 1, 0, 1, 1, 1])


def test_a_perceptron_equals_the_rule_written_as_a_loop():
    random = np.random.default_rng(0)
    x, y = random.integers(-3, 4, (40, 5)).astype(float), random.choice([-1.0, 1.0], 40)
    w = np.zeros(5)
    for row, label in zip(x, y, strict=True):
        if label * (row @ w) <= 0:
            w = w + label * row
    np.testing.assert_array_equal(neurons.perceptron_system(x, y).run().connectivity.weights, w)


def test_a_hopfield_system_stores_by_hebb_and_updates_the_visited_neuron_only():
    random = np.random.default_rng(1)
    patterns, cue = random.choice([-1.0, 1.0], (3, 16)), random.choice([-1.0, 1.0], 16)
    visits = random.integers(0, 16, 50)
    run = neurons.hopfield_system(patterns, cue, visits).run()
    weights = patterns.T @ patterns / 16
    np.fill_diagonal(weights, 0)
    np.testing.assert_array_equal(run.connectivity, weights)
    state = cue.copy()
    for t, i in enumerate(visits):
        state[i] = 1.0 if weights[i] @ state >= 0 else -1.0
        np.testing.assert_array_equal(run.states[4 + t], state)


def test_a_layered_system_equals_and_learns_like_an_equinox_mlp():
    mlp = eqx.nn.MLP(3, 2, width_size=5, depth=2, activation=jnp.tanh, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (6, 3))
    target = jax.random.normal(jax.random.key(2), (6, 2))
    weights, biases = [layer.weight for layer in mlp.layers], [layer.bias for layer in mlp.layers]
    still = neurons.layered_system(weights, biases, jnp.tanh, x, target).run()
    np.testing.assert_allclose(still.states[3::4, -2:], jax.vmap(mlp)(x), atol=1e-12)
    learned = neurons.layered_system(weights, biases, jnp.tanh, x, target, rate=0.1).run()
    descent = eqx.filter_jit(eqx.filter_grad(lambda m, a, b: 0.5 * jnp.sum((m(a) - b) ** 2)))
    for row, goal in zip(x, target, strict=True):
        slope = descent(mlp, row, goal)
        mlp = eqx.apply_updates(mlp, jax.tree.map(lambda g: -0.1 * g, slope))
    np.testing.assert_allclose(learned.connectivity.weights[3:8, :3], mlp.layers[0].weight, atol=1e-12)
    np.testing.assert_allclose(learned.connectivity.weights[13:, 8:13], mlp.layers[2].weight, atol=1e-12)
    np.testing.assert_allclose(learned.connectivity.bias[8:13], mlp.layers[1].bias, atol=1e-12)
    assert float(jnp.abs(learned.connectivity.weights[:3]).max()) == 0.0
