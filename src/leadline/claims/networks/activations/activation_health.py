"""Activations at work: which units still respond, and how deep networks of each kind train."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, training
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, instrument
from leadline.presentation import figure


@instrument(sources=("eth", "penn"))
def activation_saturation(key, width: Int(8, 128) = 40, planted: Int(0, 8) = 5, rate: Real(0.01, 3.0, log=True) = 1.0):
    r"""Dead and saturated units.

    For every unit on a data set: whether it is dead (its slope is 0 on every input; for ReLU, never above 0), how
    often it is saturated (slope below 1% of the largest), how often it is 0, and its mean and variance.

    $$\text{dead: } \varphi'(z_i) = 0 \;\forall i, \quad \text{saturated: } |\varphi'(z_i)| < 0.01 \max |\varphi'|$$

    Check: The network has one hidden layer of ReLU units and reads digits. A few units are planted dead by giving them
    the bias −1000. Then it is trained by plain gradient descent, ten times ten steps, and the units are inspected
    after every ten.
    """
    key_net, key_dead = jax.random.split(key)
    x, y, *_ = data.digits_split()
    x, y = jnp.asarray(x[:400]), jnp.asarray(y[:400])
    chosen = jnp.sort(jax.random.permutation(key_dead, width)[:planted])
    net = networks.MLP((64, width, 10), bias_scale=0.5, key=key_net)
    born_dead = np.flatnonzero(networks.unit_activity(net, x)[0].dead)
    killed = eqx.tree_at(lambda n: n.layers[0].bias, net, net.layers[0].bias.at[chosen].set(-1e3))
    found = np.flatnonzero(networks.unit_activity(killed, x)[0].dead)
    expected = np.union1d(born_dead, np.asarray(chosen))
    yield exactly(len(found), len(expected), "dead units found, against planted and already dead ones")
    yield exactly(len(np.setxor1d(found, expected)), 0, "units wrongly found dead or overlooked")
    form = eqx.filter_eval_shape(networks.MLP, (64, width, 10), "leaky_relu", key=key_net)
    leaky = jax.tree.unflatten(jax.tree.structure(form), jax.tree.leaves(killed))
    yield exactly(networks.unit_activity(leaky, x)[0].dead.sum(), 0, "dead units with leaky ReLU, same weights")
    (layer,) = networks.unit_activity(killed, x)
    z = np.asarray(x) @ np.asarray(killed.layers[0].weight).T + np.asarray(killed.layers[0].bias)
    yield close(layer.zeros, np.mean(z <= 0, axis=0), "share of zeros, against counting", atol=1e-12)
    yield close(layer.saturated, np.mean(z <= 0, axis=0), "share saturated: for ReLU that of the zeros", atol=1e-12)
    yield close(layer.pre_mean, z.mean(axis=0), "mean before the activation", rtol=1e-10, atol=1e-10)
    variance = np.maximum(z, 0).var(axis=0)
    yield close(layer.post_variance, variance, "variance after the activation", rtol=1e-9, atol=1e-12)
    wide = networks.MLP((64, width, 10), "sigmoid", gain=20.0, key=key_net)
    (layer,) = networks.unit_activity(wide, x)
    z = np.asarray(x) @ np.asarray(wide.layers[0].weight).T
    limit = np.log((1 + np.sqrt(0.99)) / (1 - np.sqrt(0.99)))  # σ'(z) = 0.0025 there
    yield close(layer.saturated, np.mean(np.abs(z) > limit, axis=0), "sigmoid saturated, |z| > 5.99", atol=1e-12)

    def loss(net, x, y):
        return learning.cross_entropy(jax.vmap(net)(x), y).mean()

    looks, state, rule = [], killed, optax.sgd(rate)
    for _ in range(11):
        looks.append(networks.unit_activity(state, x)[0])
        state, _ = training.minimise(loss, state, rule, 10, x, y)
    silent, gone = (np.stack([getattr(look, name) for look in looks], axis=1) for name in ("zeros", "dead"))
    order, dead = np.argsort(-silent[:, -1], kind="stable"), gone.sum(axis=0)  # both arrays are (units, looks)
    yield at_least(np.diff(dead), 0, "change of the number of dead units: none of them comes back")
    yield figure.heatmap(
        f"Dead ReLU units (darkest): {dead[0]} before training, {planted} of them planted; {dead[-1]} after 100 steps",
        "step",
        "unit, most silent first",
        values=silent[order] + 0.5 * gone[order],
        xs=[10 * i for i in range(11)],
        colour="zeros; dead: 1.5",
    )


COMPARED = ("relu", "leaky_relu", "swish", "gelu", "tanh", "sigmoid")
TRAINED = ("relu", "swish", "tanh", "sigmoid")


def _deep_loss(net, x, y):
    """Cross-entropy of equal layers (depth, 64, 64), taken by one scan, and a last layer (10, 64).

    The activation is a number, chosen when the compiled code runs: one compilation serves all activations and depths
    of one size.
    """
    phis = [networks.activation(name) for name in COMPARED]

    def layer(h, weight):
        return jax.lax.switch(net["activation"], phis, h @ weight.T), None

    h, _ = jax.lax.scan(layer, x, net["layers"])
    return learning.cross_entropy(h @ net["last"].T, y).mean()


_AXES = {"layers": 0, "last": 0, "activation": None}  # nets stacked along the first axis, one activation


@eqx.filter_jit
def _train_deep(nets, x, y, steps, key):
    """The last loss of each net on all data; all see the same batches."""

    def last(net):
        end, _ = training.minimise(_deep_loss, net, optax.adam(1e-3), steps, x, y, batch=32, key=key)
        return _deep_loss(end, x, y)

    return jax.vmap(last, in_axes=(_AXES,))(nets)


@jax.jit
def _gradient_norms(nets, x, y):
    """Of the loss in the weights of each layer: (nets, depth)."""

    def norms(net):
        slope = jax.grad(lambda layers: _deep_loss(net | {"layers": layers}, x, y))(net["layers"])
        return jnp.linalg.norm(slope, axis=(1, 2))

    return jax.vmap(norms, in_axes=(_AXES,))(nets)


@claim(sources=("penn",), empirical=True)
def activation_comparison_at_depth(key, depth: Int(2, 30) = 10, num_steps: Int(500, 800) = 500, seeds: Int(2, 5) = 3):
    r"""Deep sigmoid networks fail to train.

    At equal architecture and budget a deep network of ReLU-like units trains and one of sigmoids does not: each
    sigmoid layer multiplies the gradient by a slope of at most 1/4. Part of this is due to the initialisation: at its
    own critical gain each activation does better.

    $$\frac{\partial L}{\partial z_l} = \mathrm{diag}\,\varphi'(z_l)\, W_{l+1}^\top \frac{\partial L}{\partial
    z_{l+1}}, \quad \sigma' \le \tfrac14$$

    Assumes: depth at least 8 for the factor 10.

    Check: Networks of 64 units a layer without biases are trained on digits by Adam with step size 10⁻³ on batches of
    32, in single precision. The weights are drawn from N(0, g²/n): several networks with g = 1 are judged, and one
    with the mean-field critical gain is reported but not judged.
    """
    images, labels, *_ = data.digits_split()
    x, y = jnp.asarray(images, jnp.float32), jnp.asarray(labels)
    key_batches, *keys = jax.random.split(key, seeds + 1)
    draw = jax.vmap(lambda k: jax.random.normal(k, (64 * depth + 10, 64), jnp.float32) / 8)(jnp.stack(keys))
    draw = jnp.concatenate([draw, draw[:1]])  # the last net is the first again, with another gain
    common, matched, norms = {}, {}, {}
    for index, name in enumerate(COMPARED):
        gains = jnp.append(jnp.ones(seeds, jnp.float32), networks.critical_gain(name))
        layers = gains[:, None, None, None] * draw[:, : 64 * depth].reshape(-1, depth, 64, 64)
        nets = {"layers": layers.astype(x.dtype), "last": draw[:, 64 * depth :], "activation": jnp.asarray(index)}
        if name in TRAINED:
            *common[name], matched[name] = np.asarray(_train_deep(nets, x, y, num_steps, key_batches), float)
        norms[name] = np.asarray(_gradient_norms(nets, x[:300], y[:300]), float)[:seeds]
    ratio = np.array(common["sigmoid"]) / np.array(common["relu"])
    few = "8 to 10 layers: fewer and sigmoids learn too; more and ReLU at gain 1 needs more steps"
    what = f"training loss of sigmoid over ReLU after {num_steps} steps, every seed"
    yield at_least(ratio, 10.0, what, strict=True).given(8 <= depth <= 10, few)
    sigmoid, relu = norms["sigmoid"][:, 0], norms["relu"][:, 0]
    yield at_most(sigmoid, relu / 2, "gradient norm in the first layer at the start: sigmoid against half of ReLU")
    shown = {name: np.exp(np.log(np.maximum(values, 1e-40)).mean(axis=0)) for name, values in norms.items()}
    points = {name: (np.arange(1, depth + 1), values) for name, values in shown.items()}
    title = (
        f"Gradients of sigmoids fall {np.log10(shown['sigmoid'][-1] / shown['sigmoid'][0]):.1f} decades over {depth} "
        f"layers. Loss after {num_steps} steps: sigmoid {np.median(common['sigmoid']):.2g}, ReLU "
        f"{np.median(common['relu']):.2g}; at critical gain {matched['sigmoid']:.2g}, {matched['relu']:.2g}"
    )
    yield figure.curves(title, "layer", "gradient norm before training", log="y", points=points)
