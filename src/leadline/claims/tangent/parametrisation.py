"""The NTK parametrisation beside the standard one and mean-field scaling."""

from typing import Annotated

import equinox as eqx
import jax
import numpy as np

from leadline import data, networks, tangent
from leadline.claims.tangent.tangent_kernel import drawn_mlp
from leadline.evidence import Range, close, mean, method, printed


@method(
    "ntk-parametrisation",
    says=(
        "Drawing all parameters from N(0, 1) and multiplying them by σ_w/√fan-in (weights) or σ_b (biases) inside the "
        "network leaves the law of the function as it is and multiplies each gradient by the same factor, so that the "
        "tangent kernel has a limit."
    ),
    formula=r"h^{l+1} = \frac{\sigma_w}{\sqrt{m_l}} W \varphi(h^l) + \sigma_b b, \qquad W_{ij}, b_i \sim N(0, 1)",
    sources=("eth", "sheet"),
    shows=("networks.MLP", "tangent.lecun_two_layer"),
)
def ntk_parametrisation(
    key,
    width: Annotated[int, Range(16, 96)] = 48,
    inputs: Annotated[int, Range(2, 20)] = 5,
    weight_scale: Annotated[float, Range(0.5, 2.0)] = 1.4,
    bias_scale: Annotated[float, Range(0.1, 1.0)] = 0.5,
    draws: Annotated[int, Range(500, 2000)] = 1000,
):
    """Two hidden tanh layers. Laws over `draws` networks, gradients of one; then two layers in mean-field scaling."""
    rng = data.generator(key)
    x = rng.standard_normal((2, inputs))
    widths = (inputs, width, width, 1)

    spread = {"gain": weight_scale, "bias_scale": bias_scale}
    found = {}
    for form in ("ntk", "standard"):
        net = eqx.filter_eval_shape(networks.MLP, widths, "tanh", parametrisation=form, key=key, **spread)
        drawn = [rng.standard_normal((draws, *leaf.shape)) for leaf in jax.tree.leaves(net)]
        if form == "standard":  # the scale is in the law of the parameters
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
    factors = []
    for number, (inner, outer) in enumerate(zip(by_ntk.layers, by_standard.layers, strict=True), start=1):
        fan_in = inner.weight.shape[1]
        factors.append(weight_scale / np.sqrt(fan_in))
        scale = np.abs(outer.weight).max()
        yield close(
            inner.weight / scale, factors[-1] * outer.weight / scale,
            f"gradient by W of layer {number}: σ_w/√{fan_in} times the standard one", rtol=1e-12, atol=1e-14,
        )  # fmt: skip
        yield close(inner.bias, bias_scale * outer.bias, f"gradient by b of layer {number}: σ_b times", rtol=1e-12)

    forms = {
        form: tangent.lecun_two_layer(inputs, width, "tanh", parametrisation=form, key=key)
        for form in ("standard", "ntk", "mean-field")
    }
    values = {form: np.asarray(jax.vmap(two)(x)) for form, two in forms.items()}
    yield close(
        values["standard"], values["ntk"], "two layers: the standard and the NTK function", rtol=1e-10, atol=1e-12
    )
    yield close(values["mean-field"] * width**0.5, values["ntk"], "mean-field output times √m", rtol=1e-10, atol=1e-12)

    # One layer at an input of squared length m: pre-activations z = W x + b with the variances the sources print.
    z = rng.standard_normal((draws, 2)) * np.sqrt([weight_scale / width**0.5 * width, weight_scale**2])
    yield mean(
        z[:, 1] ** 2,
        weight_scale**2,
        "E z², entries of W of variance σ_w²/m, ‖x‖² = m",
        deviation=2**0.5 * weight_scale**2,
    )
    yield printed(
        mean(z[:, 0] ** 2, weight_scale**2, "E z², entries of W of variance σ_w/√m"), "eth", "W ~ N(0, σ_w/√m)"
    )
    b = bias_scale * rng.standard_normal(draws)
    yield mean(b**2, bias_scale**2, "share of the bias in E z²", deviation=2**0.5 * bias_scale**2)
    for source in ("eth", "sheet"):
        yield printed(
            mean((b / width) ** 2, bias_scale**2, "share of a bias times 1/m in E z²"), source, "b times 1/m_l"
        )
