"""Deep linear networks at their critical points: finite differences, and the kinds of saddles."""

import jax
import numpy as np
import pytest

from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.deep_critical import critical_layers, deep_atlas, deep_gradient, deep_loss


@pytest.fixture
def problem():
    return deep_linear.random_problem(4, 3, 30, key=jax.random.key(2), spectrum=(3.0, 2.0, 1.0))


def test_gradient_and_hessian_are_finite_differences(problem):
    rng = np.random.default_rng(0)
    shapes = [(2, 4), (3, 2), (2, 3), (3, 2)]
    layers = [rng.normal(size=shape) for shape in shapes]
    ends = np.cumsum([np.prod(s) for s in shapes])[:-1]
    w, h = np.concatenate([layer.ravel() for layer in layers]), 1e-5

    def split(w):
        return [part.reshape(shape) for part, shape in zip(np.split(w, ends), shapes, strict=True)]

    def gradient(w):
        return np.concatenate([g.ravel() for g in deep_gradient(problem, split(w))])

    steps = h * np.eye(w.size)
    value = [(deep_loss(problem, split(w + e)) - deep_loss(problem, split(w - e))) for e in steps]
    np.testing.assert_allclose(gradient(w), np.array(value) / (2 * h), rtol=1e-6, atol=1e-7)
    second = [(gradient(w + e) - gradient(w - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(deep_linear.deep_hessian(problem, layers), second, rtol=1e-5, atol=1e-5)
    assert deep_loss(problem, layers) == pytest.approx(problem.loss(deep_linear.compose_layers(layers)))


def test_two_layers_have_the_inertia_of_the_atlas(problem):
    known = {f.indices: (f.level, f.index, f.nullity) for f in deep_linear.atlas(problem, 2)}
    for family in deep_atlas(problem, (4, 2, 3)):
        assert (family.level, *family.inertia[:2]) == known[family.indices]


def test_saddles_of_the_leading_modes_have_no_negative_curvature_from_three_layers_on(problem):
    for widths in ((4, 2, 2, 3), (4, 3, 2, 2, 3)):
        for family in deep_atlas(problem, widths):
            gradient = deep_gradient(problem, family.layers)
            assert max(np.abs(g).max() for g in gradient) < 1e-12
            assert deep_loss(problem, family.layers) == pytest.approx(family.level, rel=1e-12)
            leading = family.indices == tuple(range(len(family.indices)))
            kind = "strict saddle" if not leading else "saddle without negative curvature"
            assert family.kind == ("global minimum" if family.indices == (0, 1) else kind)


def test_bad_widths_are_said(problem):
    with pytest.raises(ValueError, match="widths"):
        critical_layers(problem, (4, 1, 3), [0, 1])
