"""The NTK parametrisation beside the standard one and mean-field scaling."""

import equinox as eqx
import jax
import numpy as np

from leadline import data, networks, tangent
from leadline.claims.tangent.tangent_space.tangent_kernel import drawn_mlp
from leadline.evidence import Int, Real, close, erratum, mean, method


@method(sources=("eth", "sheet"))
def ntk_parametrisation(
    key,
    width: Int(16, 96) = 48,
    inputs: Int(2, 20) = 5,
    weight_scale: Real(0.5, 2.0) = 1.4,
    bias_scale: Real(0.1, 1.0) = 0.5,
    draws: Int(500, 2000) = 1000,
):
    r"""NTK parametrisation.

    Drawing all parameters from N(0, 1) and multiplying them inside the network by $\sigma_w/\sqrt{\text{fan-in}}$
    (weights) or $\sigma_b$ (biases) leaves the distribution of the function as it is and multiplies each gradient by
    the same factor, so that the tangent kernel has a limit.

    $$h^{l+1} = \frac{\sigma_w}{\sqrt{m_l}} W \varphi(h^l) + \sigma_b b, \qquad W_{ij}, b_i \sim N(0, 1)$$

    Check: Two hidden tanh layers: distributions over `draws` networks, gradients of one; then mean-field scaling.
    """
    rng = data.generator(key)
    x = rng.standard_normal((2, inputs))
    widths = (inputs, width, width, 1)
    spread = {"gain": weight_scale, "bias_scale": bias_scale}
    found = {}
    for form in ("ntk", "standard"):
        net = eqx.filter_eval_shape(networks.MLP, widths, "tanh", parametrisation=form, key=key, **spread)
        drawn = [rng.standard_normal((draws, *leaf.shape)) for leaf in jax.tree.leaves(net)]
        if form == "standard":  # the scale is in the distribution of the parameters
            drawn = [d * (bias_scale if d.ndim == 2 else weight_scale / d.shape[2] ** 0.5) for d in drawn]
        nets = jax.tree.unflatten(jax.tree.structure(net), drawn)
        out = np.asarray(eqx.filter_jit(eqx.filter_vmap(lambda net: jax.vmap(net)(x)[:, 0]))(nets))
        found[form] = np.array([out[:, 0] * out[:, 1], out[:, 0] ** 2])
    ntk, standard = found["ntk"], found["standard"]
    for name, ours, theirs in zip(("f(x)f(x')", "f(x)²"), ntk, standard, strict=True):
        yield mean(ours - theirs, 0.0, f"E {name} in the NTK form less that in the standard form")
    net = drawn_mlp(rng, widths, "tanh", **spread)
    plain = networks.mlp_from_affine(net.affine(), "tanh")
    gradient = eqx.filter_jit(eqx.filter_grad(lambda net, x: net(x)[0]))
    by_ntk, by_standard = gradient(net, x[0]), gradient(plain, x[0])
    for number, (inner, outer) in enumerate(zip(by_ntk.layers, by_standard.layers, strict=True), start=1):
        fan_in, scale = inner.weight.shape[1], np.abs(outer.weight).max()
        ours, theirs = inner.weight / scale, weight_scale / np.sqrt(fan_in) * outer.weight / scale
        what = f"gradient by W of layer {number}: σ_w/√{fan_in} times the standard one"
        yield close(ours, theirs, what, rtol=1e-12, atol=1e-14)
        what = f"gradient by b of layer {number}: σ_b times the standard one"
        yield close(inner.bias, bias_scale * outer.bias, what, rtol=1e-12)
    values = {}
    for form in ("standard", "ntk", "mean-field"):
        two = tangent.lecun_two_layer(inputs, width, "tanh", parametrisation=form, key=key)
        values[form] = np.asarray(jax.vmap(two)(x))
    what = "two layers: outputs in the standard form, against the NTK form"
    yield close(values["standard"], values["ntk"], what, rtol=1e-10, atol=1e-12)
    what = "two layers: mean-field outputs times √m, against the NTK form"
    yield close(values["mean-field"] * width**0.5, values["ntk"], what, rtol=1e-10, atol=1e-12)
    # One layer at an input of squared length m, with entries of W of variance σ_w/√m and σ_w²/m.
    z = rng.standard_normal((draws, 2)) * np.sqrt([weight_scale / width**0.5 * width, weight_scale**2])
    wrong = mean(z[:, 0] ** 2, weight_scale**2, "E z², entries of W of variance σ_w/√m, ‖x‖² = m")
    spread = 2**0.5 * weight_scale**2
    right = mean(z[:, 1] ** 2, weight_scale**2, "E z², entries of W of variance σ_w²/m, ‖x‖² = m", deviation=spread)
    yield right
    prints = "N(0, σ_w/√m): a standard deviation in the place of the variance"
    yield erratum(wrong, of=right, by="eth", prints=prints)
    b = bias_scale * rng.standard_normal(draws)
    yield mean(b**2, bias_scale**2, "share of the bias in E z²", deviation=2**0.5 * bias_scale**2)
