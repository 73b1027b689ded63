"""Ranks by hand, the sphere's derivatives by differences, wire frames that visit every edge."""

from itertools import pairwise

import numpy as np
import pytest

from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.manifolds.model_manifolds import haversine, sphere_model, wire_frame
from leadline.landscape.sloppiness.models.regression_models import linear_model


@pytest.mark.parametrize(("terms", "n"), [(1, 3), (2, 3), (2, 1), (3, 2), (3, 6)])
def test_the_dimension_is_the_smaller_of_data_and_weights_and_less_on_a_fold(terms, n):
    model = sloppiness.sum_of_exponentials(np.linspace(0.5, 3, n), terms)
    w = np.geomspace(0.3, 3.0, terms)
    assert sloppiness.local_dimension(model, w) == min(n, terms)
    if terms > 1:
        w[1] = w[0]
        assert sloppiness.local_dimension(model, w) == min(n, terms - 1)


def test_a_model_that_ignores_its_weights_has_dimension_zero():
    model = linear_model(lambda x: np.zeros((len(x), 2)), np.ones(3), ["a", "b"])
    assert sloppiness.local_dimension(model, np.ones(2)) == 0


def test_a_rate_that_goes_to_infinity_ends_at_a_finite_boundary():
    model = sloppiness.sum_of_exponentials(np.array([0.5, 1.0, 2.0]), 2)
    limit = sloppiness.boundary_limit(model, lambda s: np.array([1.0, s]), np.array([1.5, 5.0, 20.0, 80.0]))
    np.testing.assert_allclose(limit.points[-1], np.exp(-model.inputs), atol=1e-12)
    assert np.all(np.diff(limit.last_moves) < 0)
    assert limit.singular_values[-1, 1] < 1e-12


def test_the_sphere_has_its_derivatives():
    model, w, v, h = sphere_model(), np.array([0.7, 2.1]), np.array([0.4, -1.3]), 1e-4
    plus, at, minus = model.predict(np.stack([w + h * v, w, w - h * v]))
    np.testing.assert_allclose(model.jacobian(w) @ v, (plus - minus) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(model.acceleration(w, v), (plus - 2 * at + minus) / h**2, atol=1e-6)


def test_the_haversine_is_the_angle_between_the_directions():
    rng = np.random.default_rng(0)
    for a, b in rng.uniform(0, 3, size=(5, 2, 2)):
        x, y = sphere_model().predict(np.stack([a, b]))
        assert haversine(a, b) == pytest.approx(np.arccos(x @ y))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3, 3), (4, 4)])
def test_a_wire_frame_goes_along_every_edge_and_never_jumps(shape):
    surface = np.stack(np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), indexing="ij"), -1).astype(float)
    line = wire_frame(surface)
    steps = np.abs(np.diff(line, axis=0)).sum(1)
    assert np.all(steps == 1)
    edges = {tuple(sorted((tuple(a), tuple(b)))) for a, b in pairwise(line)}
    a, b = shape
    assert len(edges) == a * (b - 1) + b * (a - 1)


def test_a_grid_needs_an_axis_for_each_weight():
    with pytest.raises(ValueError, match="one axis for each"):
        sloppiness.manifold_grid(sloppiness.michaelis_menten(np.ones(2)), np.ones(3))
