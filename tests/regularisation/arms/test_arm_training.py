"""Arms trained together against the same networks trained alone, step by step with Optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.networks import MLP
from leadline.regularisation import Arm
from leadline.regularisation.arms.arm_training import Trainer, dense_networks, penalised_rule
from leadline.regularisation.arms.seeded_rows import draw_rows

STEPS, RATE = 12, 0.02


@pytest.fixture(scope="module")
def trainer():
    rng = np.random.default_rng(0)
    x = (3 * rng.normal(size=(40, 4)) + 1).astype(np.float32)
    labels = (x[:, 0] > 1).astype(int) + (x[:, 1] > 1)
    drawn = draw_rows(labels, 3, 2, sizes=(24, 8), random_labels=0.2, key=jax.random.key(1))
    make = dense_networks((6,), 4, 3)
    return Trainer(x, drawn, 3, make, penalised_rule(optax.adam(RATE)), STEPS, 24, True, jax.random.key(2))


def alone(trainer, arm, seed, num_steps=STEPS):
    """The losses on held-out rows and the weights after each step, with a plain network and a plain loop."""
    network, member = trainer.start(arm)[seed]
    count = trainer.drawn.train
    x = (trainer.pool[member.rows] - member.shift) / member.scale
    params, rest = eqx.partition(MLP((4, 6, 3), key=jax.random.key(0)), eqx.is_inexact_array)
    params = jax.tree.unflatten(jax.tree.structure(params), jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))

    def loss(params, x, targets, decay):
        outputs = jax.vmap(eqx.combine(params, rest))(x)
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params) if leaf.ndim == 2)
        return optax.softmax_cross_entropy(outputs, targets).mean() + decay / 2 * squares

    rule = optax.adam(RATE)
    memory, found = rule.init(params), []
    for _ in range(num_steps):
        slope = jax.grad(loss)(params, x[:count], member.targets[:count], arm.decay)
        change, memory = rule.update(slope, memory)
        params = optax.apply_updates(params, change)
        found.append((float(loss(params, x[count:], member.targets[count:], 0.0)), params))
    return found


def weights(tree):
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(tree)])


@pytest.mark.parametrize("arm", [Arm("none"), Arm("d", decay=0.1), Arm("s", smoothing=0.3)], ids=lambda arm: arm.name)
def test_all_seeds_at_once_end_where_each_ends_alone(trainer, arm):
    found = trainer.train(arm)
    for seed in range(2):
        together = jax.tree.map(lambda leaf, seed=seed: leaf[seed], found.parameters)
        np.testing.assert_allclose(weights(together), weights(alone(trainer, arm, seed)[-1][1]), atol=2e-4)


def test_early_stopping_has_the_weights_that_were_best_on_the_rows_held_out(trainer):
    arm = Arm("stop", stop=STEPS)
    found = trainer.train(arm)
    for seed in range(2):
        _, best = min(alone(trainer, arm, seed), key=lambda step: step[0])
        together = jax.tree.map(lambda leaf, seed=seed: leaf[seed], found.parameters)
        np.testing.assert_allclose(weights(together), weights(best), atol=2e-4)


def test_a_bag_averages_the_probabilities_of_members_on_resamples_of_the_training_rows(trainer):
    arm = Arm("bag", bag=3)
    begun = trainer.start(arm)
    for seed in range(2):
        own = trainer.drawn.rows[seed]
        for _, member in begun[3 * seed : 3 * seed + 3]:
            assert set(member.rows[:24]) < set(own[:24])
            assert (member.rows[24:] == own[24:]).all()
    found = trainer.untrained(arm)
    x = trainer.pool[:5]
    said = np.exp(found.log_probabilities(x))
    for seed in range(2):
        each = []
        for network, member in begun[3 * seed : 3 * seed + 3]:
            z = jnp.asarray((x - member.shift) / member.scale)
            scores = [eqx.nn.inference_mode(network)(row, member.layers)[0] for row in z]
            each.append(jax.nn.softmax(jnp.stack(scores)))
        np.testing.assert_allclose(said[seed], np.mean(each, axis=0), atol=1e-5)


def test_arms_begin_with_the_same_weights_and_inputs_are_scaled_by_training_rows_alone(trainer):
    plain, other = trainer.start(Arm("none")), trainer.start(Arm("d", dropout=0.5, normalisation="batch"))
    for seed in range(2):
        first, second = (jax.tree.leaves(begun[seed][0].dense) for begun in (plain, other))
        assert all((a == b).all() for a, b in zip(first, second, strict=True))
        seen = trainer.pool[trainer.drawn.rows[seed, :24]]
        np.testing.assert_allclose(plain[seed][1].shift, seen.mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(plain[seed][1].scale, seen.std(axis=0), rtol=1e-5)


def test_soft_targets_are_for_training_rows_alone(trainer):
    said = np.full((2, 40, 3), [0.5, 0.3, 0.2], np.float32)
    for arm, teacher, expected in (
        (Arm("s", smoothing=0.3), None, None),
        (Arm("student", teacher="bag"), said, [0.5, 0.3, 0.2]),
    ):
        for seed, (_, member) in enumerate(trainer.start(arm, teacher)):
            labels = np.eye(3)[trainer.drawn.labels[seed]]
            wanted = 0.7 * labels + 0.1 if expected is None else np.tile(expected, (32, 1))
            np.testing.assert_allclose(member.targets[:24], wanted[:24], atol=1e-6)
            assert (member.targets[24:] == labels[24:]).all()


def test_dropout_noise_and_batch_norm_train_and_are_off_in_use(trainer):
    plain = weights(trainer.train(Arm("none")).parameters.dense)
    for arm in (Arm("d", dropout=0.5), Arm("n", noise=1.0), Arm("b", normalisation="batch")):
        found = trainer.train(arm)
        once, twice = (found.log_probabilities(trainer.pool) for _ in range(2))
        assert (once == twice).all()
        assert np.isfinite(once).all()
        np.testing.assert_allclose(np.exp(once).sum(axis=2), 1, atol=1e-5)
        assert not np.allclose(weights(found.parameters.dense), plain)
