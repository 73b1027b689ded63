"""Slices against closed forms, and the invariances that filter normalisation is for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.landscape import checkpoint_plane, filter_normalised, loss_surface, random_directions, slice_curvatures

MATRIX = np.random.default_rng(0).normal(size=(4, 4))
MATRIX = MATRIX + MATRIX.T
X = np.random.default_rng(1).normal(size=(20, 3))


def quadratic(w, matrix):
    return w @ matrix @ w / 2 + jnp.sum(w)


def test_a_slice_of_a_quadratic_is_exact_and_its_hessian_too():
    w, u, v = np.random.default_rng(2).normal(size=(3, 4))
    surface = loss_surface(quadratic, w, u, v, MATRIX, a=(-2.0, 1.0), b=(0.0, 1.0), points=4, extremes=True)
    for i, b in enumerate(surface.b):
        for j, a in enumerate(surface.a):
            at = w + a * u + b * v
            assert np.isclose(surface.values[i, j], at @ MATRIX @ at / 2 + at.sum())
    seen = np.array([[u @ MATRIX @ u, u @ MATRIX @ v], [u @ MATRIX @ v, v @ MATRIX @ v]])
    assert np.allclose(surface.hessians(), seen)
    assert np.isclose(surface.centre, w @ MATRIX @ w / 2 + w.sum())
    ends = np.linalg.eigvalsh(MATRIX)[[0, -1]]
    assert np.allclose(surface.extremes.values, ends)
    assert surface.negative_share() == float(np.linalg.eigvalsh(seen)[0] < 0)
    curvatures = np.linalg.eigvalsh(slice_curvatures(quadratic, w, [u, v], MATRIX))
    assert ends[0] <= curvatures[0] <= curvatures[1] <= ends[1]


def normalised_net(params, x):
    """A dense layer, its outputs normalised by stored statistics, a ReLU and an output layer."""
    z = x @ params["w"].T
    return jax.nn.relu((z - params["mean"]) / params["deviation"]) @ params["v"]


def squared(params, x):
    return jnp.mean((normalised_net(params, x) - x[:, 0]) ** 2)


def with_statistics(params, x):
    z = x @ params["w"].T
    return params | {"mean": z.mean(0), "deviation": z.std(0)}


def test_statistics_are_frozen_or_recomputed():
    rng = np.random.default_rng(3)
    params = with_statistics({"w": rng.normal(size=(5, 3)), "v": rng.normal(size=5), "mean": 0, "deviation": 0}, X)
    still = {"frozen": ("mean", "deviation"), "vectors": "entry", "key": jax.random.key(0)}
    directions = random_directions(params, 2, **still)
    assert not np.any(directions[0]["mean"])
    frozen = loss_surface(squared, params, *directions, X, points=3)
    fresh = loss_surface(squared, params, *directions, X, points=3, recompute=with_statistics)
    assert np.isclose(frozen.centre, fresh.centre)
    corner = jax.tree.map(lambda w, u, v: w - u - v, params, *directions)
    both = jax.jit(lambda p, x: (squared(p, x), squared(with_statistics(p, x), x)))(corner, X)
    assert np.allclose((frozen.values[0, 0], fresh.values[0, 0]), both)
    assert not np.isclose(frozen.values[0, 0], fresh.values[0, 0])


def test_filters_are_rows_channels_and_layers_of_a_stack():
    rng = np.random.default_rng(4)
    params = {
        "conv": rng.normal(size=(3, 2, 5, 5)),
        "dense": rng.normal(size=(4, 6)),
        "stack": rng.normal(size=(2, 3, 4)),
    }
    draw = jax.tree.map(lambda a: rng.normal(size=a.shape), params)
    scaled = filter_normalised(draw, params, stacked=("stack",))
    for name, axes in (("conv", (1, 2, 3)), ("dense", (1,)), ("stack", (2,))):
        assert np.allclose(np.sqrt((np.asarray(scaled[name]) ** 2).sum(axes)), np.sqrt((params[name] ** 2).sum(axes)))
    whole = filter_normalised(draw, params, scaling="layer", stacked=("stack",))
    assert np.isclose(np.linalg.norm(whole["conv"]), np.linalg.norm(params["conv"]))
    assert np.allclose(
        np.linalg.norm(np.asarray(whole["stack"]).reshape(2, -1), axis=1),
        np.linalg.norm(params["stack"].reshape(2, -1), axis=1),
    )


def test_a_plane_through_checkpoints_holds_all_three():
    first, second, third = ({"w": w, "b": w[0, :1]} for w in np.random.default_rng(5).normal(size=(3, 2, 3)))
    plane = checkpoint_plane(first, second, third)
    for place, target in zip(plane.places, (first, second, third), strict=True):
        here = jax.tree.map(lambda o, u, v, p=place: o + p[0] * u + p[1] * v, plane.origin, plane.first, plane.second)
        assert all(np.allclose(here[name], target[name]) for name in target)


def test_bad_input_is_told():
    w = jnp.zeros(4)
    with pytest.raises(ValueError, match="at least 3"):
        loss_surface(quadratic, w, w, w, MATRIX, points=2)
    with pytest.raises(ValueError, match="low < high"):
        loss_surface(quadratic, w, w, w, MATRIX, a=(1.0, 0.0))
    with pytest.raises(ValueError, match="no pytree like the parameters"):
        loss_surface(quadratic, w, jnp.zeros(3), w, MATRIX)
    with pytest.raises(ValueError, match="on one line"):
        checkpoint_plane(w, w + 1, w + 2)
    with pytest.raises(ValueError, match="There is no array 'bias'"):
        random_directions({"w": w}, frozen=("bias",), key=jax.random.key(0))
    with pytest.raises(ValueError, match="linearly dependent"):
        slice_curvatures(quadratic, w, [w + 1, w + 2], MATRIX)
