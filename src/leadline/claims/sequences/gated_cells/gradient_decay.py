"""How gradients decay through gated cells."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from leadline import data, sequences
from leadline.evidence import Int, Real, at_least, claim, close, erratum
from leadline.presentation import figure

BIASES = (0.0, 1.0, 3.0, 5.0)


@claim(sources=("eth", "penn"), shows=("sequences.LSTM", "sequences.GRU", "sequences.Elman"))
def gated_gradient_decay(key, units: Int(1, 24) = 8, steps: Int(20, 120) = 60, scale: Real(0.0, 1.0) = 0.5):
    r"""Gates slow the vanishing of gradients and do not abolish it.

    The direct path through an LSTM's kept value transmits the product of the forget gates: what decides is learnt, and
    it still decays exponentially wherever f < 1. At forget bias b with nothing else at the gate it is σ(b) a step:
    0.5ᵏ at b = 0, 0.9526ᵏ at b = 3.

    $$\frac{\partial c_T}{\partial c_{T-k}} = \prod_{j=T-k+1}^{T} f_j \quad \text{along the direct path}$$

    Check: The derivative with the recurrent weights at 0, against mean log f: exactly with constant gates, and with
    gates that follow the input. Whole Jacobians of LSTM, GRU and simple networks against the lag, for the picture.
    """
    rng = data.generator(key)
    xs = jnp.asarray(rng.normal(size=(steps, 2)))
    lags = np.arange(1, steps + 1)
    curves = {}
    for bias in BIASES:
        cell = sequences.LSTM(2, units, forget_bias=bias, key=key)
        direct = eqx.tree_at(lambda c: c.weight_hh, cell, jnp.zeros_like(cell.weight_hh))
        constant = eqx.tree_at(lambda c: c.weight_ih, direct, jnp.zeros_like(cell.weight_ih))
        decay = _norms(constant, xs)
        what = f"b = {bias:g}: slope of log ‖∂c_T/∂c_{{T-k}}‖ with constant gates, against log σ(b)"
        found = close(np.diff(np.log(decay)).mean(), -np.log1p(np.exp(-bias)), what, rtol=1e-10)
        yield found
        if bias == 0:
            yield erratum(
                at_least(decay[-1], 1e-3, f"‖∂c_T/∂c_0‖ over {steps} steps at forget bias 0: does not vanish"),
                of=found,
                by="eth",
                prints="the gradient of an LSTM cannot vanish",
            )
        followed = eqx.tree_at(lambda c: c.weight_ih, direct, scale * cell.weight_ih)
        gates = jax.vmap(lambda x, c=followed: c.gates(c.init(), c.project(x)))(xs).forget
        products = np.asarray(gates)[::-1].cumprod(0).max(1)  # of the last k steps, the unit that forgets least
        what = f"b = {bias:g}: ‖∂c_T/∂c_{{T-k}}‖ of the direct path, against the largest product of forget gates"
        yield close(_norms(followed, xs), products, what, rtol=1e-10)
        curves[f"LSTM, b = {bias:g}"] = (lags, _norms(cell, xs))
    for name, cell in (("GRU", sequences.GRU(2, units, key=key)), ("simple, tanh", sequences.Elman(2, units, key=key))):
        curves[name] = (lags, _norms(cell, xs))
    yield figure.curves(
        "A forget bias decides how far back a gradient reaches; every curve is exponential",
        "lag k",
        "‖∂(state)_T/∂(state)_{T-k}‖₂",
        lines=curves,
        log="y",
    )


def _norms(cell, xs):
    """The spectral norm of the derivative of the last state with respect to that k steps before, k = 1, ..., T.

    Of an LSTM, of c alone. Products of the Jacobians of single steps, the latest on the left.
    """
    states = sequences.run(cell, xs).states
    before = jax.tree.map(lambda first, of: jnp.concatenate([first[None], of[:-1]]), cell.init(), states)
    jacobians = jax.vmap(lambda s, x: _jacobian(cell, s, x))(before, xs)
    products = jax.lax.scan(lambda p, j: (p @ j,) * 2, jnp.eye(jacobians.shape[-1]), jacobians[::-1])[1]
    kept = products if jacobians.shape[-1] == cell.output_size else products[:, cell.output_size :, cell.output_size :]
    return np.linalg.norm(np.asarray(kept), 2, axis=(1, 2))


def _jacobian(cell, state, x):
    flat, back = ravel_pytree(state)
    return jax.jacobian(lambda s: ravel_pytree(cell.update(back(s), x))[0])(flat)
