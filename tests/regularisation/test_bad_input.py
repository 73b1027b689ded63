"""What users of layers with a mode, of comparisons and of weights will do wrong: one sentence that says what to do."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline import regularisation, training
from leadline.regularisation import Arm, ModalObjective, RegularisedMLP

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 4)), np.arange(40) % 2
FEW = np.r_[np.ones(9), np.full(31, 1e-9)]  # weights whose effective sample size is 9


def network(**options):
    return eqx.nn.make_with_state(RegularisedMLP)((4, 6, 2), key=KEY, **options)


def trained(net, state, batch=8):
    options = {"optimiser": optax.sgd(0.1), "epochs": 1, "batch": batch, "key": KEY}
    return training.fit(net, (X, Y), objective=ModalObjective(), state=state, **options)


def in_use(net, state):
    return eqx.nn.inference_mode(net)(jnp.asarray(X[0]), state)


NONE = (Arm("none"),)


def compared(x=X, y=Y, arms=NONE, **options):
    return regularisation.compare_regularisers(x, y, arms=arms, hidden=(4,), num_steps=2, key=KEY, **options)


class DropsItsState(eqx.Module):
    inner: RegularisedMLP

    def __call__(self, x, state, key):
        return self.inner(x, state, key=key)[0]


CASES = {
    "dropout that keeps nothing": (lambda: regularisation.Dropout(1.0), "rate p = 1.0, which keeps nothing"),
    "masks of weights that keep nothing": (
        lambda: regularisation.DropConnect(eqx.nn.Linear(3, 2, key=KEY), 1.0),
        "rate p = 1.0, which keeps nothing",
    ),
    "a network whose dropout keeps nothing": (lambda: network(dropout=1.0), "rate p = 1.0, which keeps nothing"),
    "dropout in training without a key": (
        lambda: regularisation.Dropout(0.5)(jnp.ones(3)),
        "in training mode got no key",
    ),
    "a batch of one in training": (
        lambda: trained(*network(normalisation="batch"), batch=1),
        "a batch of one, whose variance is 0",
    ),
    "use before any step of training": (
        lambda: in_use(*network(normalisation="batch")),
        "The layer normalisations[0] of RegularisedMLP has seen no batch",
    ),
    "channels that the groups do not divide": (
        lambda: network(normalisation="group", groups=4),
        "6 channels for 4 groups",
    ),
    "a state that is not given": (
        lambda: trained(network(normalisation="batch")[0], None),
        "has layers with a state and was given none",
    ),
    "a network that drops its state": (
        lambda: trained(DropsItsState(network(normalisation="batch")[0]), network(normalisation="batch")[1]),
        "returns an array and drops its state",
    ),
    "rows of one class": (lambda: compared(y=0 * Y), "All rows are of one class, 0"),
    "fewer rows than folds times classes": (lambda: compared(X[:8], Y[:8]), "rows to train on for 2 classes"),
    "no arm without a regulariser": (lambda: compared(arms=(Arm("decay", decay=0.1),)), "one the name none"),
    "one seed": (lambda: compared(seeds=1), "seeds = 1; give at least 2"),
    "a second reading of the test rows": (lambda: read_twice(), "already read"),
    "a line from a handful of effective rows": (
        lambda: regularisation.weighted_least_squares(X, X[:, 0], FEW),
        "an effective sample size of 9 for 40 rows",
    ),
    "a network from a handful of effective rows": (
        lambda: regularisation.fit_weighted(
            eqx.nn.Linear(4, 2, key=KEY), (X, Y), FEW, optimiser=optax.sgd(0.1), epochs=1, key=KEY
        ),
        "an effective sample size of 9 for 40 rows",
    ),
    "samples that do not overlap": (
        lambda: regularisation.density_ratios(X, X + 100.0, key=KEY),
        "can tell every train input from every test input",
    ),
}


def read_twice():
    held = regularisation.guard(X, Y, labels=Y, key=KEY)
    held.read("the error")
    held.read("the error again")


@pytest.mark.parametrize("case", CASES)
def test_it_is_one_sentence_that_says_what_to_do(case):
    wrong, told = CASES[case]
    with pytest.raises(ValueError, match=r"\.$") as mistake:
        wrong()
    said = str(mistake.value)
    assert told in said
    assert "\n" not in said
    assert ";" in said or ":" in said or "," in said  # what was seen, and what to do


def test_an_arm_that_cannot_apply_is_left_out_with_its_reason_and_the_others_are_compared():
    arms = (Arm("none"), Arm("batch norm", normalisation="batch"), Arm("student", teacher="bag"))
    found = compared(arms=arms, batch=1, seeds=2)
    assert [result.arm.name for result in found.results] == ["none"]
    assert found.left_out == {
        "batch norm": "batch normalisation needs batches of two rows or more",
        "student": "its teacher, bag, is not among the arms before it",
    }
