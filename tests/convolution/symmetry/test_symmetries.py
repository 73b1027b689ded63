import jax
import numpy as np
import pytest

from leadline.convolution import (
    ConvLayer,
    ConvNetwork,
    DenseLayer,
    GlobalPool,
    Transformation,
    audit_scores,
    central_crops,
    circular_shifts,
    equivariance_defect,
    fit_action,
    group_test,
    layer_defects,
    occlusions,
    quarter_turns,
    rotations,
    usual_transformations,
    zero_shifts,
)
from leadline.convolution.symmetry.image_transformations import flips, interpolation_floor
from leadline.convolution.symmetry.score_audits import built_in

NOISE = np.random.default_rng(0).normal(size=(3, 6, 6))


def test_shifts_move_every_pixel():
    (t,) = circular_shifts([(1, 2)])
    moved = t(NOISE)
    assert all(moved[0, (i + 1) % 6, (j + 2) % 6] == NOISE[0, i, j] for i in range(6) for j in range(6))


def test_zero_shifts_let_zeros_in():
    (t,) = zero_shifts([(-2, 0)])
    assert (t(NOISE)[:, -2:] == 0).all()
    assert (t(NOISE)[:, :-2] == NOISE[:, 2:]).all()


def test_a_shift_past_the_border_leaves_nothing():
    assert not zero_shifts([(9, 0)])[0](NOISE).any()


@pytest.mark.parametrize("family", [quarter_turns(), flips(), circular_shifts([(0, 2 * k) for k in range(3)])])
def test_families_that_are_groups(family):
    assert group_test(family, NOISE).holds


@pytest.mark.parametrize(
    "family", [zero_shifts([(0, d) for d in (-1, 0, 1)]), central_crops((0, 1)), occlusions(6, 6, 2)]
)
def test_what_cuts_something_off_has_no_inverse(family):
    assert "inverse" in group_test(family, NOISE).failed


def test_a_transformation_that_changes_the_shape_is_refused():
    with pytest.raises(ValueError, match="shape"):
        group_test([Transformation("half", lambda x: x[:, ::2])], NOISE)


def test_quarter_turns_need_squares():
    with pytest.raises(ValueError, match="squares"):
        quarter_turns()[1](NOISE[:, :4])


def test_rotations_by_interpolation_agree_with_quarter_turns():
    from leadline.convolution.symmetry.image_transformations import rotate_images

    assert np.allclose(rotate_images(NOISE, 90), rotations([90])[0](NOISE), atol=1e-12)
    assert interpolation_floor(NOISE, 90) == 0
    assert interpolation_floor(NOISE, 20) > 0.05


def test_the_defect_of_a_linear_map_is_the_norm_of_the_commutator():
    matrix = np.random.default_rng(1).normal(size=(6, 6))
    (t,) = circular_shifts([(0, 1)])
    shift = np.roll(np.eye(6), 1, axis=1)
    found = equivariance_defect(lambda x: x @ matrix, NOISE, t, t).relative
    expected = np.linalg.norm(NOISE @ (shift @ matrix - matrix @ shift)) / np.linalg.norm(NOISE @ matrix)
    assert found == pytest.approx(expected)


def test_an_action_is_recovered():
    rows = np.random.default_rng(2).normal(size=(20, 1, 5))
    (t,) = circular_shifts([(0, 1)])
    fit = fit_action(lambda x: x[:, 0], rows, rows, t)
    assert np.allclose(fit.matrix, np.roll(np.eye(5), 1, axis=0))
    with pytest.raises(ValueError, match="as many or more"):
        fit_action(lambda x: x[:, 0], rows[:3], rows, t)


def test_the_invariant_network_is_invariant_at_any_weights_and_a_dense_one_is_not():
    layers = [ConvLayer(2, 3, padding="same", wrap=True, turn=True), GlobalPool("mean"), DenseLayer(3)]
    net = ConvNetwork(layers, (1, 6, 6), channels_last=True, key=jax.random.key(0))
    scores = jax.jit(lambda net, x: jax.vmap(net)(x))
    images = NOISE.astype(np.float32)
    kinds = usual_transformations(images)
    family = kinds["shifts"] + kinds["turns"]
    drawn = built_in(lambda p, x: scores(p, x), net, images, family, rng=np.random.default_rng(0))
    assert drawn.max() < 1e-5
    dense = built_in(lambda p, x: x.reshape(3, -1) @ p, np.ones((36, 2)), NOISE, family, rng=np.random.default_rng(0))
    assert dense.min() > 0.1


def test_decisions_and_right_ones_are_counted():
    def sides(x):
        return np.stack([x[:, :, :3].sum((1, 2)), x[:, :, 3:].sum((1, 2))], 1)

    labels = sides(NOISE).argmax(1)
    same, mirrored = audit_scores(sides, NOISE, flips()[:2], labels)
    assert (same.changed, same.right, same.relative) == (0, 3, 0.0)
    assert (mirrored.changed, mirrored.right) == (3, 0)


def test_layers_are_told_apart():
    found = layer_defects(lambda x: {"x": x, "sum": x.sum((1, 2))}, NOISE, quarter_turns()[1:])
    assert found.verdicts == ("equivariant", "invariant")
