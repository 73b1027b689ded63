"""Buffers and running averages against PyTorch, closed forms and whole-data statistics."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.regularisation import (
    BatchNorm,
    Dropout,
    RegularisedMLP,
    batch_norm_buffers,
    from_torch_buffers,
    mode_gap,
    pooled_moments,
    recalibrate,
    running_average,
    running_law,
    set_batch_norm_buffers,
    torch_buffers,
)

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


def on_batch(net, state, x):
    return jax.vmap(net, in_axes=(0, None), out_axes=(0, None), axis_name="batch")(x, state)


@pytest.mark.parametrize("kind", [BatchNorm, lambda c: eqx.nn.BatchNorm(c, "batch", mode="ema")])
def test_buffers_that_are_set_are_used_and_training_goes_on_from_them(kind):
    net, state = eqx.nn.make_with_state(kind)(2)
    given = jnp.array([1.0, -1.0]), jnp.array([4.0, 9.0])
    state = set_batch_norm_buffers(net, state, {"": given})
    out, _ = on_batch(eqx.nn.inference_mode(net), state, jnp.array([[3.0, 2.0]]))
    np.testing.assert_allclose(out[0], [1.0, 1.0], rtol=1e-4)
    x = jnp.asarray(RNG.normal(size=(8, 2)))
    mean, variance = batch_norm_buffers(net, on_batch(net, state, x)[1])[""]
    np.testing.assert_allclose(mean, 0.99 * given[0] + 0.01 * x.mean(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variance, 0.99 * given[1] + 0.01 * x.var(axis=0), rtol=1e-4)


def test_the_convention_of_pytorch_goes_both_ways():
    torch = pytest.importorskip("torch")
    theirs = torch.nn.BatchNorm1d(3, momentum=0.2)
    net, state = eqx.nn.make_with_state(BatchNorm)(3, momentum=0.8)
    begun = {"": {"running_mean": np.zeros(3), "running_var": np.ones(3)}}
    state = from_torch_buffers(net, state, begun, rows=6)
    for _ in range(4):
        x = RNG.normal(size=(6, 3))
        theirs(torch.from_numpy(x).float())
        _, state = on_batch(net, state, jnp.asarray(x))
    found = torch_buffers(net, state, rows=6)[""]
    np.testing.assert_allclose(found["running_mean"], theirs.running_mean.numpy(), atol=1e-5)
    np.testing.assert_allclose(found["running_var"], theirs.running_var.numpy(), rtol=1e-4)
    assert abs(found["momentum"] - theirs.momentum) < 1e-12


def test_recalibration_gives_the_statistics_of_all_rows_whatever_the_batch_and_keeps_the_old_state():
    net, state = eqx.nn.make_with_state(RegularisedMLP)((5, 8, 8, 2), dropout=0.5, normalisation="batch", key=KEY)
    x = jnp.asarray(RNG.normal(size=(30, 5)))
    whole = recalibrate(net, state, x)
    parts = batch_norm_buffers(net, recalibrate(net, state, x, batch=7))
    h = x
    *inner, _ = net.dense.affine()
    for (w, b), (name, (mean, variance)) in zip(inner, batch_norm_buffers(net, whole).items(), strict=True):
        a = h @ w.T + b
        for found in ((mean, variance), parts[name]):
            np.testing.assert_allclose(found[0], a.mean(axis=0), atol=1e-4)
            np.testing.assert_allclose(found[1], a.var(axis=0), rtol=1e-3, atol=1e-5)
        h = jnp.maximum((a - mean) / jnp.sqrt(variance + 1e-5), 0.0)
    gap = mode_gap(net, whole, x, batch=30)
    assert float(gap.distance) < 1e-3
    assert float(mode_gap(net, whole, x, batch=3).distance) > 0.05
    assert batch_norm_buffers(net, state)["normalisations[0]"].variance.tolist() == [1.0] * 8


def test_running_averages_follow_their_law():
    values = jnp.asarray(RNG.normal(size=(12, 4000)))
    found = np.asarray(running_average(values, 0.7, 3.0))
    law = running_law(0.7, 12)
    assert abs(found[-1].mean() - 3.0 * law.start_weight) < 0.05
    assert abs(found[-1].var() / law.variance_share - 1) < 0.1
    ramp = running_average(jnp.arange(200.0), 0.7)
    assert abs(199 - float(ramp[-1]) - law.lag) < 1e-3


def test_pooled_moments_are_those_of_all_rows():
    parts = [RNG.normal(size=(n, 2)) for n in (3, 5, 9)]
    means, variances = (jnp.asarray([f(p, axis=0) for p in parts]) for f in (np.mean, np.var))
    mean, variance = pooled_moments(means, variances, jnp.array([3.0, 5.0, 9.0]))
    rows = np.concatenate(parts)
    np.testing.assert_allclose(mean, rows.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(variance, rows.var(axis=0), rtol=1e-4)


def test_bad_arguments_are_named():
    net, state = eqx.nn.make_with_state(BatchNorm)(2)
    x = jnp.ones((4, 2))
    with pytest.raises(ValueError, match="the network has"):
        set_batch_norm_buffers(net, state, {"layers": (jnp.ones(2), jnp.ones(2))})
    with pytest.raises(ValueError, match="each of its 2 channels"):
        set_batch_norm_buffers(net, state, {"": (jnp.ones(3), jnp.ones(3))})
    with pytest.raises(ValueError, match="variance -1 for the layer; give 0 or more"):
        set_batch_norm_buffers(net, state, {"": (jnp.ones(2), -jnp.ones(2))})
    with pytest.raises(ValueError, match="do not see the batch"):
        mode_gap(Dropout(0.5), state, x, batch=2)
    with pytest.raises(ValueError, match="at least 2 values"):
        torch_buffers(net, state, rows=1)
    with pytest.raises(ValueError, match="it has no buffers"):
        recalibrate(Dropout(0.5), state, x)
    for call in (recalibrate, mode_gap):
        with pytest.raises(ValueError, match="batch=9 for 4 rows"):
            call(net, state, x, batch=9)
    with pytest.raises(ValueError, match="PyTorch's momentum"):
        running_law(1.0, 3)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.99])
def test_buffers_that_are_set_are_used_whatever_the_momentum(momentum):
    net, state = eqx.nn.make_with_state(BatchNorm)(1, momentum=momentum)
    state = set_batch_norm_buffers(net, state, {"": (jnp.array([2.0]), jnp.array([9.0]))})
    assert net(jnp.array([5.0]), state, inference=True)[0].round(3).tolist() == [1.0]


def test_a_network_whose_normalisations_differ_in_their_axis_is_told_which():
    net, state = eqx.nn.make_with_state(eqx.nn.Sequential)([BatchNorm(2, "rows"), BatchNorm(2, "batch")])
    for call in (
        lambda: recalibrate(net, state, jnp.ones((4, 2))),
        lambda: mode_gap(net, state, jnp.ones((4, 2)), batch=2),
    ):
        with pytest.raises(
            ValueError, match=r"'rows' in layers\[0\], 'batch' in layers\[1\]; give all of them one name"
        ):
            call()
