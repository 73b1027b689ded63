import numpy as np
import pytest

from leadline import probability

P, Q = np.random.default_rng(0).dirichlet(np.ones(5), (2, 7))


def test_divergences_are_those_of_scipy():
    from scipy.spatial.distance import jensenshannon
    from scipy.stats import entropy

    assert probability.divergence(P, Q) == pytest.approx(entropy(P, Q, axis=1))
    assert probability.divergence(P, Q, "reverse kl") == pytest.approx(entropy(Q, P, axis=1))
    assert probability.divergence(P, Q, "jensen-shannon") == pytest.approx(jensenshannon(P, Q, axis=1) ** 2)
    assert probability.divergence(P, Q, "total variation") == pytest.approx(np.maximum(P - Q, 0).sum(axis=1))
    assert probability.divergence(P, Q, "hellinger") == pytest.approx(1 - np.sqrt(P * Q).sum(axis=1))
    assert probability.divergence(P, Q, "chi-square") == pytest.approx((P**2 / Q).sum(axis=1) - 1)


@pytest.mark.parametrize(("kind", "value"), [("kl", np.inf), ("chi-square", np.inf), ("reverse kl", np.log(2))])
def test_points_that_one_law_misses(kind, value):
    assert probability.divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0]), kind) == pytest.approx(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("kl", 0.5), ("total variation", 0.3829249), ("chi-square", np.e - 1), ("hellinger", 1 - np.exp(-1 / 8))],
)
def test_gaussians_one_deviation_apart(kind, value):
    def bell(centre):
        return lambda x: np.exp(-((x - centre) ** 2) / 2) / np.sqrt(2 * np.pi)

    assert probability.density_divergence(bell(0.0), bell(1.0), -12.0, 13.0, kind) == pytest.approx(value, abs=1e-7)


def test_laws_that_do_not_sum_to_one_and_empty_intervals_are_refused():
    with pytest.raises(ValueError, match=r"sums to 0\.9"):
        probability.divergence(np.array([0.5, 0.4]), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="give low < high"):
        probability.density_divergence(np.cos, np.cos, 1.0, 0.0)
