import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline.sequences import GRU, LSTM, Elman, last_state, run, unroll

KEY = jax.random.key(0)
XS = jax.random.normal(jax.random.key(1), (10, 2))


@pytest.mark.parametrize("kind", [Elman, GRU, LSTM])
def test_the_gradients_of_the_copies_sum_to_that_of_the_cell(kind):
    cell = kind(2, 3, key=KEY)
    tied = eqx.filter_grad(lambda c: jnp.sum(c.predict(run(c, XS).last) ** 2))(cell)
    copies = eqx.filter_grad(lambda u: jnp.sum(cell.predict(u(XS).last) ** 2))(unroll(cell, 10)).copies
    for a, b in zip(jax.tree.leaves(copies), jax.tree.leaves(tied), strict=True):
        np.testing.assert_allclose(a.sum(0), b, atol=1e-12)


@pytest.mark.parametrize("every", [1, 3, 5, 10, None])
def test_checkpoints_change_neither_the_state_nor_its_gradient(every):
    cell = GRU(2, 3, key=KEY)

    def norm(c, every):
        return jnp.sum(last_state(c, XS, every=every) ** 2)

    plain, kept = (eqx.filter_value_and_grad(norm)(cell, k) for k in (None, every))
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(kept), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: unroll(GRU(2, 3, key=KEY), 4)(XS), "over 4 steps got 10"),
        (lambda: unroll(GRU(2, 3, key=KEY), 0), "0 steps"),
        (lambda: last_state(GRU(2, 3, key=KEY), XS, every=11), "every=11 for 10 steps"),
    ],
)
def test_what_does_not_fit_is_said(call, words):
    with pytest.raises(ValueError, match=words):
        call()
