"""Convolutions in the fast form and their derivatives against XLA's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.differentiation.programs import canonical_convolutions, traced_program
from leadline.differentiation.programs.canonical_convolutions import CanonicalConvolutions, with_fast_steps
from leadline.differentiation.programs.patch_convolutions import patch_gradient

LAYOUTS = [
    (("NCHW", "OIHW", "NCHW"), (3, 2, 7, 6), (4, 2, 3, 3), {"padding": "SAME", "window_strides": (2, 2)}),
    (("NHWC", "HWIO", "NHWC"), (3, 7, 6, 2), (3, 2, 2, 4), {"padding": "VALID", "window_strides": (2, 1)}),
    (("NWC", "OIW", "NCW"), (3, 9, 2), (4, 2, 3), {"padding": [(2, 1)], "rhs_dilation": (2,)}),
    (("NCHW", "OIHW", "NCHW"), (3, 2, 5, 6), (4, 2, 3, 3), {"padding": [(1, 2), (0, 1)], "lhs_dilation": (2, 1)}),
    (("NCHW", "OIHW", "NCHW"), (3, 4, 7, 6), (4, 2, 3, 3), {"padding": "SAME", "feature_group_count": 2}),
]


@pytest.mark.parametrize(("kind", "many"), [(jnp.float32, 2**14), (jnp.float32, 1), (jnp.float64, 2**14)])
@pytest.mark.parametrize(("numbers", "x", "kernel", "settings"), LAYOUTS)
def test_values_and_first_and_second_derivatives_in_every_layout(numbers, x, kernel, settings, kind, many, monkeypatch):
    monkeypatch.setattr(canonical_convolutions, "MANY_POSITIONS", many)
    rng = np.random.default_rng(0)
    x, kernel, v, w = (jnp.asarray(rng.normal(size=size), kind) for size in (x, kernel, x, kernel))
    settings = {"window_strides": (1,) * (x.ndim - 2)} | settings

    def convolve(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, dimension_numbers=numbers, **settings)

    def everything(convolve):
        def loss(x, kernel):
            return jnp.sum(jnp.tanh(jax.jit(convolve)(x, kernel)) ** 2)

        gradient = jax.grad(loss, (0, 1))
        rows = jax.vmap(jax.grad(lambda k, one: loss(one[None], k)), (None, 0))
        row_axis = numbers[0].index("N")
        return {
            "value": convolve(x, kernel),
            "gradient": gradient(x, kernel),
            "product": jax.jvp(gradient, (x, kernel), (v, w))[1],
            "rows": rows(kernel, jnp.moveaxis(x, row_axis, 0)),
            "looped": jax.lax.map(lambda k: gradient(x, k), jnp.stack([kernel, w])),
        }

    found, expected = everything(CanonicalConvolutions(convolve)), everything(convolve)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11 if kind == jnp.float64 else 1e-4 * float(jnp.abs(b).max()))


def test_every_convolution_of_a_gradient_is_in_the_fast_form():
    def loss(kernel, x):
        return jnp.sum(jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME") ** 2)

    x, kernel = jnp.ones((3, 2, 7, 6), jnp.float32), jnp.ones((4, 2, 3, 3), jnp.float32)
    program = str(jax.make_jaxpr(jax.grad(CanonicalConvolutions(loss), (0, 1)))(kernel, x))
    assert program.count("canonical_convolution") == 3
    assert "conv_general_dilated" not in program


def test_the_gradient_of_a_kernel_from_many_positions_is_a_product_of_patches():
    kernel, x = jnp.ones((3, 3, 2, 4), jnp.float32), jax.ShapeDtypeStruct((16, 32, 32, 2), jnp.float32)

    def loss(kernel, x):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jnp.sum(jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers) ** 2)

    program = str(jax.make_jaxpr(jax.grad(CanonicalConvolutions(loss)))(kernel, x))
    assert program.count("canonical_convolution") == 1  # the value
    assert program.count("dot_general") == 1


@pytest.mark.parametrize(("batch", "rows"), [(6, 1024), (6, 30), (7, 30), (1, 1)])
def test_patches_of_a_few_images_at_a_time_sum_to_the_gradient(batch, rows, monkeypatch):
    monkeypatch.setattr("leadline.differentiation.programs.patch_convolutions.PATCH_ROWS", rows)
    rng = np.random.default_rng(0)
    x, cotangent = rng.normal(size=(batch, 7, 5, 2)), rng.normal(size=(batch, 3, 3, 4))  # stride 2, a border of 0 to 1
    padded = np.pad(x, ((0, 0), (0, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
    expected = np.einsum("bijrkl,bijc->klrc", windows, cotangent)
    given = jnp.asarray(cotangent), jnp.asarray(x)
    found = patch_gradient(*given, (3, 3), (2, 2), [(0, 1), (1, 1)], (1, 1))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("numbers", "x", "kernel", "settings"), LAYOUTS)
def test_convolutions_in_double_precision_without_groups_and_gaps_are_products(numbers, x, kernel, settings):
    settings = {"window_strides": (1,) * (len(x) - 2)} | settings

    def convolve(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, dimension_numbers=numbers, **settings)

    program = str(jax.make_jaxpr(CanonicalConvolutions(convolve))(jnp.ones(x), jnp.ones(kernel)))
    stays = bool({"feature_group_count", "lhs_dilation"} & set(settings))
    assert ("conv_general_dilated" in program) == stays


@pytest.mark.parametrize("kind", [jnp.float32, jnp.float64])
def test_a_traced_program_with_fast_steps_computes_the_same(kind):
    def network(kernel, x):
        return jnp.sum(jnp.tanh(jax.lax.conv_general_dilated(x[None], kernel, (2, 2), "SAME")))

    x, kernel = (jax.random.normal(jax.random.key(n), size, kind) for n, size in enumerate([(2, 7, 6), (4, 2, 3, 3)]))
    plain = traced_program(network, kernel, jax.ShapeDtypeStruct(x.shape, kind))
    fast = with_fast_steps(plain)
    assert [step.primitive for step in fast.steps] == [step.primitive for step in plain.steps]
    found, expected = (jax.grad(lambda k, p=p: p.run([k], x, {}, ())[0])(kernel) for p in (fast, plain))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_functions_without_convolutions_are_called_as_they_are():
    def scaled(p, name):
        return p["w"] * {"twice": 2.0}[name]

    assert CanonicalConvolutions(scaled)({"w": jnp.ones(2)}, "twice").tolist() == [2.0, 2.0]
