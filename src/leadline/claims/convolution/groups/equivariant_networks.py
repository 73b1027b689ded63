"""A network of group convolutions, before and after training, at every layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution
from leadline.claims.scenarios.convolution.framed_digits import framed_digits
from leadline.claims.scenarios.convolution.turned_digits import trained, untrained
from leadline.evidence import Int, at_least, at_most, exactly, model
from leadline.presentation import figure

LAYERS = ("lifting", "group 1", "group 2", "scores")


@model(
    sources=("cam",),
    shows=("convolution.GroupNetwork", "convolution.layer_defects"),
    slow="half a minute the first time, when a network is trained",
)
def group_equivariant_cnn(key, images: Int(4, 200) = 40, steps: Int(100, 2000) = 400):
    r"""A group-equivariant network.

    Group convolutions, elementwise nonlinearities and biases of whole channels commute with the group, and so does any
    stack of them; pooling over the group makes scores invariant, whatever the weights: training cannot break it. Biases
    that depend on position or orientation do.

    $$\Phi = W_L \circ \sigma \circ \cdots \circ \sigma \circ W_0, \qquad \Phi(gX) = g\,\Phi(X)$$

    Assumes: quarter turns of square images; poolings that tile the image.

    Check: a p4 network on digits, layer by layer, at its start and after training, in single and double precision; the
    same network with a bias for each row of pixels, and with one for each orientation.
    """
    _, _, test, _ = framed_digits()
    test = test[:images]
    turns = convolution.quarter_turns()[1:]
    actions = [
        lambda maps, k=k: jax.vmap(lambda m: convolution.turn_maps("p4", m, k))(jnp.asarray(maps)) for k in (1, 2, 3)
    ]

    def audit(net, dtype):
        net = jax.tree.map(lambda leaf: leaf.astype(dtype) if eqx.is_array(leaf) else leaf, net)

        def stages(x):
            return dict(zip(LAYERS, _stages(net, jnp.asarray(x, dtype)), strict=True))

        room = 1e3 * float(jnp.finfo(dtype).eps)
        return convolution.layer_defects(stages, test.astype(dtype), turns, actions, tolerance=room)

    def worst(found):
        return [*found.equivariance[:3].max(1), found.invariance[3].max()]

    seed = int(jax.random.randint(key, (), 0, 2**16))
    nets = {"at its start": untrained("p4", seed), "after training": trained("p4", steps)}
    measured = {}
    for name, net in nets.items():
        for dtype in (jnp.float32, jnp.float64):
            found, precision = audit(net, dtype), np.dtype(dtype).name
            verdicts = ("equivariant", "equivariant", "equivariant", "invariant")
            yield exactly(found.verdicts, verdicts, f"{name}, {precision}: what each layer is")
            # rounding of a sum of n terms grows as √n eps; the longest sum has 576 terms, three such follow each other
            room = 3 * 24 * float(jnp.finfo(dtype).eps)
            yield at_most(worst(found), room, f"{name}, {precision}: largest relative defect of a layer")
            measured[f"{name}, {precision}"] = dict(zip(LAYERS, worst(found), strict=True))
    start = nets["at its start"]
    ramp = jnp.broadcast_to(jnp.linspace(-1, 1, 12)[:, None], (8, 1, 12, 12))
    spoilt = {
        "a bias for each row": eqx.tree_at(lambda n: n.layers[0].bias, start, ramp),
        "a bias for each orientation": eqx.tree_at(
            lambda n: n.layers[0].bias, start, jnp.broadcast_to(jnp.linspace(-1, 1, 4)[:, None, None], (8, 4, 1, 1))
        ),
    }
    for name, net in spoilt.items():
        found = audit(net, jnp.float64)
        yield at_least(found.equivariance[0].max(), 0.1, f"{name}: relative defect of the lifting layer")
        yield exactly(found.verdicts[3], "neither", f"{name}: the scores")
        measured[name] = dict(zip(LAYERS, worst(found), strict=True))
    net = nets["after training"]
    upright, turned = (_stages(net, jnp.asarray(x[:1]))[0][0] for x in (test, np.rot90(test, axes=(1, 2))))
    channel = int(upright.max((1, 2, 3)).argmax())
    shown = [(f"upright, {90 * s}°", np.asarray(upright[channel, s])) for s in range(4)]
    shown += [(f"turned, {90 * s}°", np.asarray(turned[channel, s])) for s in range(4)]
    maps = figure.images("First layer: maps turn and pass to the next orientation", images=shown, columns=4)
    points = {name: {k: max(v, 1e-17) for k, v in row.items()} for name, row in measured.items()}
    by_layer = figure.categories("Relative defect under quarter turns", "layer", "defect", points=points, log=True)
    largest = max(measured["after training, float32"].values())
    title = f"Training leaves the symmetry as it was: defect {largest:.0e} in single precision"
    yield figure.beside(title, maps, by_layer)


@eqx.filter_jit
def _stages(net, images):
    return jax.vmap(net.stages)(images)
