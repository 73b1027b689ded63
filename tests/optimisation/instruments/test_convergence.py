import numpy as np
import pytest

from leadline.optimisation import convergence_order

T = np.arange(1.0, 301.0)


@pytest.mark.parametrize(
    ("gaps", "name", "value"),
    [
        (T**-0.5, "sublinear", 0.5),
        (5 * T**-2, "sublinear", 2.0),
        (0.8**T, "linear", 0.8),
        (0.7**T + 1e-15, "linear", 0.7),
        (0.7**T - 1e-17, "linear", 0.7),  # l* a little too high: gaps below 0 at the end
        (0.9**T * (1 + 0.9 * np.sin(T)), "linear", 0.9),  # oscillates, as momentum does
        (2.0 ** -(2.0 ** np.arange(6)), "superlinear", 2.0),
        (np.array([1.0, 0.3, 1e-2, 1e-5, 1e-11, 1e-17]), "superlinear", 2.0),
        (np.full(50, 2.0), "stalled", 1.0),
        (1.2**T, "diverging", 1.2),
    ],
)
def test_known_sequences_are_named_and_fitted(gaps, name, value):
    found = convergence_order(gaps, first=1)
    assert found.name == name
    assert found.fitted.value == pytest.approx(value, rel=0.02)
    assert found.fitted.low <= found.fitted.value <= found.fitted.high


def test_an_overflow_is_divergence_up_to_the_last_finite_gap():
    found = convergence_order(np.array([1.0, 10.0, 100.0, np.inf, np.nan]))
    assert found.name == "diverging"
    assert found.window == (0, 2)
    assert found.fitted.value == pytest.approx(10)


def test_the_interval_grows_with_noise():
    noise = np.random.default_rng(0).normal(size=300)
    calm, noisy = (convergence_order(np.exp(s * noise) / T, first=1).fitted for s in (0.001, 0.05))
    assert noisy.high - noisy.low > 5 * (calm.high - calm.low)


@pytest.mark.parametrize(
    ("gaps", "options", "message"),
    [
        (np.ones(3), {}, "at least 4"),
        (np.array([0.0, 1.0, 1.0, 1.0]), {}, "smaller l"),
        (np.ones(9), {"kept": 0.0}, "above 0"),
        (np.array([1.0, 0.0, 0.0, 0.0, 0.0]), {}, "worse start"),
    ],
)
def test_bad_gaps_are_refused(gaps, options, message):
    with pytest.raises(ValueError, match=message):
        convergence_order(gaps, **options)
