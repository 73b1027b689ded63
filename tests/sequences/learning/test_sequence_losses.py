import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.sequences import SequenceObjective, Sequences, next_tokens, sequence_network, valid_steps
from leadline.training.engine.objective import mean_loss

KEY = jax.random.key(0)


def test_the_loss_of_padded_sequences_is_the_mean_over_their_tokens():
    tokens = jax.random.randint(KEY, (3, 6), 0, 4)
    lengths = [2, 6, 4]
    net = sequence_network("gru", 2, 3, 4, vocabulary=4, key=KEY)
    rows, _ = SequenceObjective()(net, next_tokens(tokens, valid_steps(jnp.array(lengths), 6)))
    alone = [
        optax.softmax_cross_entropy_with_integer_labels(net(row[: n - 1]), row[1:n])
        for row, n in zip(tokens, lengths, strict=True)
    ]
    np.testing.assert_allclose(mean_loss(rows), np.concatenate(alone).mean(), rtol=1e-12)
    assert rows.aux["accuracy"].shape == (3,)


def test_numbers_have_squared_errors_and_no_accuracy():
    net = sequence_network("lstm", 2, 3, 1, key=KEY)
    xs = jnp.ones((2, 5, 2))
    rows, _ = SequenceObjective("squared")(net, Sequences(xs, jnp.zeros((2, 5))))
    np.testing.assert_allclose(rows.losses, jax.vmap(net)(xs)[..., 0] ** 2)
    assert rows.aux == {}


def test_targets_that_do_not_fit_the_head_are_said():
    net = sequence_network("gru", 2, 3, 4, key=KEY)
    with pytest.raises(ValueError, match="give a target for each step"):
        SequenceObjective()(net, Sequences(jnp.ones((2, 5, 2)), jnp.zeros(2, int)))
