"""Many networks at once are trained as each would be alone."""

import jax
import numpy as np
import optax
import pytest

from leadline import training
from leadline.networks import MLP

KEY = jax.random.key(1)
X = np.random.default_rng(0).normal(size=(48, 3))
SAMPLE = (X, np.sin(X).sum(axis=1))
HELD = (X[:7] + 0.1, np.sin(X[:7] + 0.1).sum(axis=1))
SETTINGS = {"loss": "squared", "epochs": 4, "batch": 16}


@pytest.mark.slow
def test_seeds_widths_and_rates_are_trained_as_they_would_be_alone():
    nets = [MLP((3, w, 4, 1), "sigmoid", bias_scale=0.5, key=jax.random.key(w)) for w in (2, 5)]
    rates = [0.3, 0.03]
    runs = training.fit_many(nets, SAMPLE, optimiser=optax.sgd, rates=rates, validation=HELD, key=KEY, **SETTINGS)
    for net, rate, key, run in zip(nets, rates, jax.random.split(KEY, 2), runs, strict=True):
        alone = training.fit(net, SAMPLE, optimiser=optax.sgd(rate), validation=HELD, key=key, **SETTINGS)
        assert run.history.keys() == alone.history.keys()
        for name in alone.history:
            np.testing.assert_allclose(run.history[name], alone.history[name], rtol=1e-9)
        assert run.model.widths == net.widths
        for a, b in zip(run.model.layers, alone.model.layers, strict=True):
            np.testing.assert_allclose(a.weight, b.weight, rtol=1e-9, atol=1e-13)


def test_one_that_diverges_does_not_stop_the_others():
    nets = [MLP((3, 4, 1), "relu", key=jax.random.key(s)) for s in range(2)]
    runs = training.fit_many(
        nets, SAMPLE, optimiser=optax.sgd, rates=[1e-2, 1e200], key=KEY, loss="squared", epochs=3, batch=16
    )
    assert [run.reason for run in runs] == ["finished", "diverged"]
    assert np.isfinite(runs[0].history["loss"]).all()
    assert "step" in runs[1].warnings[0]


@pytest.mark.parametrize(
    ("models", "change", "message"),
    [
        ([], {}, "no models"),
        ([(3, 4, 1)], {"rates": [0.1, 0.2]}, "2 rates for 1 models"),
        ([(3, 4, 1), (3, 4, 4, 1)], {}, "one kind and depth"),
        ([(3, 4, 2, 1), (3, 2, 4, 1)], {}, "at least as wide"),
        ([(3, 4, 1)], {"batch": 49}, "choose 1 to"),
        ([(3, 4, 1)], {"epochs": 0}, "epochs=0"),
    ],
)
def test_wrong_input_is_named(models, change, message):
    nets = [MLP(widths, key=jax.random.key(0)) for widths in models]
    with pytest.raises(ValueError, match=message):
        training.fit_many(nets, SAMPLE, optimiser=optax.sgd(0.1), key=KEY, **(SETTINGS | change))


def test_a_network_that_divides_by_its_width_cannot_be_padded():
    nets = [MLP((3, w, 1), parametrisation="ntk", key=jax.random.key(w)) for w in (2, 5)]
    with pytest.raises(ValueError, match="zeros change what they compute"):
        training.fit_many(nets, SAMPLE, optimiser=optax.sgd(0.1), key=KEY, **SETTINGS)
