"""Backpropagation by hand: the rule, its parts, one neuron of it, and the instrument that checks it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, differentiation, training
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.claims.scenarios.networks.layer_pairs import pair_parameters, relative_error
from leadline.differentiation.backward_pass import adjoint_steps, hand_differentiated
from leadline.differentiation.loss_pairs import loss_pair
from leadline.evidence import Figure, Int, OneOf, Real, at_most, claim, close, erratum, exactly, method
from leadline.networks import MLP, activation as activation_called
from leadline.presentation import figure
from leadline.presentation.figure.graph_pictures import chain_of_pairs, graph_pair, layered_graph

_ANALYTIC = ("identity", "tanh", "sigmoid", "swish", "sin")  # and softplus, but JAX's drops tiny imaginary parts
_KINKED = ("relu", "leaky_relu", "absolute")


_PAIRS = ("affine_pair", "pointwise_pair", "layer_norm_pair", "residual_pair")


@method(sources=("eth", "sheet", "penn"), shows=("differentiation.backpropagate", "differentiation.network_loss"))
def backpropagation(
    key,
    depth: Int(1, 20) = 4,
    width: Int(2, 32) = 8,
    activation: OneOf(*_ANALYTIC, "softplus", "gelu", "gelu_tanh", *_KINKED) = "tanh",
    loss: OneOf("squared", "cross_entropy") = "cross_entropy",
    batch: Int(1, 64) = 8,
):
    r"""Backpropagation.

    One forward pass keeps every layer's input and pre-activation; one backward pass turns the adjoint of the output
    into those of all layers and into the gradient of every weight.

    $$\delta_l = (W_{l+1}^T \delta_{l+1}) \odot \varphi'(z_l), \quad \frac{\partial \ell}{\partial W_l} = \delta_l
    h_{l-1}^T, \quad \frac{\partial \ell}{\partial b_l} = \delta_l$$

    Assumes: a pointwise activation; at a kink the derivative is a convention: φ'(0) = 0 for ReLU.

    Check: Layer widths alternate between a chosen number and one more. Besides, two ReLU networks of widths 64-64-10
    are trained on digits.
    """
    rng = data.generator(key)
    widths = (*(width + number % 2 for number in range(depth)), 3)
    net = _network(widths, activation, rng)
    x = jnp.asarray(rng.normal(size=(batch, width)))
    y = jnp.asarray(rng.integers(0, 3, batch) if loss == "cross_entropy" else rng.normal(size=(batch, 3)))
    hand, auto, bumps = _both_gradients(net, x, y, loss)
    yield at_most(relative_error(hand.gradient, auto), 1e-12, "relative error of each gradient against jax.grad")
    yield at_most(relative_error(hand.deltas, bumps), 1e-12, "relative error of each adjoint δ against jax.grad")
    report = differentiation.check_gradient(_Loss(x, y, loss), net, hand.gradient, entries=6, key=key)
    at = report.steps.index(1e-5)
    differences = [check.curve[at] for check in report.parameters if np.isfinite(check.curve[at])]
    yield at_most(differences or [0.0], 1e-6, "relative error against central differences, h = 1e-5")
    if activation in _ANALYTIC:
        exact = [np.inf if c.complex_error is None else c.complex_error for c in report.parameters]
        yield at_most(exact, 1e-13, "relative error against complex steps")
    weight, delta, h = (np.asarray(part) for part in (net.layers[0].weight, hand.deltas[0][0], x[0]))
    delta = delta / np.abs(delta).max() if delta.any() else delta
    of_s, of_h = jax.grad(lambda s, h: (s.T @ h) @ delta, argnums=(0, 1))(weight.T, h)
    outer = close(np.outer(h, delta), of_s, "h δᵀ against the gradient of S, where layers are z = Sᵀ h", atol=1e-12)
    yield outer
    yield close(weight.T @ delta, of_h, "S δ against the adjoint of h, where layers are z = Sᵀ h", atol=1e-12)
    columns = weight.size + weight.shape[0]
    wrong = exactly(columns, delta.size, "columns of ∂h/∂θ against entries of δ, to be multiplied")
    yield erratum(wrong, of=outer, by="eth", prints="the gradient of θ_l is δ_l ∂h_l/∂θ_l, δ_l a column: no transpose")
    (by_hand, losses), (by_machine, expected) = _digits_runs(rng)
    yield close(losses, expected, "losses of 100 steps on digits, by hand against jax.grad, 2 seeds", atol=1e-10)
    ends = [np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(net)]) for net in (by_hand, by_machine)]
    yield close(*ends, "weights after 100 steps on digits, by hand against jax.grad", atol=1e-10)
    norms, automatic = ([np.sqrt(np.mean(d**2)) for d in part] for part in (hand.deltas, bumps))
    layers, few = np.arange(1, depth + 1), np.arange(0, 100, 8)
    sizes = {"lines": {"jax.grad": (layers, automatic)}, "points": {"by hand": (layers, norms)}}
    paths = {"lines": {f"jax.grad, seed {s}": (np.arange(100), expected[s]) for s in (0, 1)}}
    paths["points"] = {f"by hand, seed {s}": (few, losses[s][few]) for s in (0, 1)}
    this = f"this network: {depth} layers of {activation} units"
    yield figure.beside(
        f"Adjoints flow from layer {depth} to layer 1: their size goes from {norms[-1]:.2g} to {norms[0]:.2g}",
        _unit_adjoints(rng, activation),
        figure.curves(this, "layer", "root mean square of δ", log="y", **sizes),
        figure.curves("100 steps on digits: by hand and by jax.grad the same", "step", "loss", **paths),
    )


@claim(sources=("penn",))
def one_neuron_backprop(
    key,
    x: Real(-3.0, 3.0) = 1.5,
    y: Real(-3.0, 3.0) = 1.0,
    w: Real(-3.0, 3.0) = -0.8,
    v: Real(-3.0, 3.0) = 2.0,
    activation: OneOf("sigmoid", "tanh", "softplus", "swish", "relu", "sin") = "sigmoid",
    dim: Int(1, 20) = 5,
):
    r"""Backpropagation through one neuron.

    For one neuron with a squared loss, the adjoints taken node by node, ē, v̄, h̄, z̄, w̄, x̄, are the partial
    derivatives that calculus gives in closed form.

    $$\ell = \tfrac12 (y - v\,\sigma(w \cdot x))^2: \quad \frac{\partial \ell}{\partial v} = -(y-e)\,\sigma(z), \quad
    \frac{\partial \ell}{\partial w} = -(y-e)\,v\,\sigma'(z)\,x$$

    Assumes: σ is differentiable at z.

    Check: The chosen numbers are taken first, as a graph of numbers, and then 20 neurons with random inputs.
    """
    rng = data.generator(key)
    cases = [(np.array([x]), y, np.array([w]), v)]
    cases += [(rng.normal(size=dim), rng.normal(), rng.normal(size=dim), rng.normal()) for _ in range(20)]
    found, expected = [], []
    for case in cases:
        adjoints, predicted = _tape_of_neuron(*case, activation)[1], _closed_form(*case, activation)
        scale = max(1.0, *(float(np.abs(p).max()) for p in predicted.values()))
        found += [np.ravel(adjoints[name]) / scale for name in predicted]
        expected += [np.ravel(p) / scale for p in predicted.values()]
    found, expected = np.concatenate(found), np.concatenate(expected)
    yield close(found, expected, "ē, v̄, h̄, z̄, w̄, x̄ on the tape against the closed form", atol=1e-13)
    xs, ys, ws, vs = (np.array(part) for part in zip(*cases[1:], strict=True))
    softplus = activation == "softplus"  # JAX's drops imaginary parts as small as these
    phi = (lambda z: jnp.log(1 + jnp.exp(z))) if softplus else activation_called(activation)

    def neuron(theta, x, y):
        return 0.5 * (y - theta[-1] * phi(x @ theta[:-1])) ** 2

    theta = np.concatenate([ws, vs[:, None]], axis=1)
    unit = np.eye(dim + 1) * 1e-20j
    steps = jax.vmap(jax.vmap(neuron, (0, None, None)))(jnp.asarray(theta[:, None, :] + unit), xs, ys).imag / 1e-20
    closed = [_closed_form(*case, activation) for case in cases[1:]]
    both = np.array([np.append(c["w"], c["v"]) for c in closed])
    smooth = activation != "relu" or np.abs(np.sum(xs * ws, axis=1)).min() > 0
    tiny = 1e-13 * max(1.0, np.abs(both).max())
    yield close(steps, both, "∂ℓ/∂w and ∂ℓ/∂v by complex steps against the closed form", atol=tiny).given(
        smooth, "no pre-activation at the kink"
    )
    values, adjoints = _tape_of_neuron(*cases[0], activation)
    places = {"w": (0, 2), "x": (0, 0), "z": (1, 1), "h": (2, 1), "v": (2, 2), "e": (3, 1), "ℓ": (4, 1)}
    edges = [("w", "z"), ("x", "z"), ("z", "h"), ("h", "e"), ("v", "e"), ("e", "ℓ")]
    back = f"adjoints run back to w̄ = {adjoints['w']:.3g} and v̄ = {adjoints['v']:.3g}"
    title = f"Values run up to the loss ℓ = {values['ℓ']:.3g}; {back}"
    yield graph_pair(title, places, edges, values, adjoints)


@claim(sources=("penn",), shows=tuple(f"differentiation.{name}" for name in _PAIRS))
def backprop_local_rule(key, depth: Int(2, 12) = 6, width: Int(3, 16) = 5, batch: Int(1, 16) = 4):
    r"""Backpropagation is local.

    A layer's backward step needs its own Jacobian and the adjoint of its output, nothing else: separately written
    layers can be strung together in any order, and replacing one leaves the code of the others as it is.

    $$\delta_{l-1} = \left(\frac{\partial h_l}{\partial h_{l-1}}\right)^{T} \delta_l$$

    Assumes: layers are differentiable at the values they meet.

    Check: Layers are drawn from seven kinds and strung in random order; then one of them is replaced by a newly drawn
    kind.
    """
    rng = data.generator(key)
    kinds = _pair_kinds()
    drawn = [kinds[k] for k in rng.integers(len(kinds), size=depth)]
    place = int(rng.integers(depth))
    others = [kind for kind in kinds if kind is not drawn[place]]
    replaced = [*drawn[:place], others[int(rng.integers(len(others)))], *drawn[place + 1 :]]
    h = jnp.asarray(rng.normal(size=(batch, width)))
    parameters = [pair_parameters(pair, width, rng) for pair in drawn]
    swapped = [*parameters[:place], pair_parameters(replaced[place], width, rng), *parameters[place + 1 :]]
    sizes = []
    for name, pairs, theta in (("drawn", drawn, parameters), ("replaced", replaced, swapped)):
        chain = differentiation.chain_pair(pairs)
        hand, auto, adjoints = _chain_gradients(chain, tuple(pairs), h, tuple(theta))
        what = f"relative error of the composed backward steps against jax.grad, chain as {name}"
        yield at_most(relative_error(hand, auto), 1e-12, what)
        sizes.append([np.asarray(a) for a in adjoints])
    yield exactly(sum(a is not b for a, b in zip(drawn, replaced, strict=True)), 1, "layers whose code was changed")
    # One layer on its own: its backward step is the transpose of its Jacobian, whatever adjoint comes in.
    cotangent = jnp.asarray(rng.normal(size=(batch, width)))
    alone = [_layer_alone(pair, h, theta, cotangent) for pair, theta in zip(drawn[:3], parameters[:3], strict=True)]
    errors = [relative_error(a, b) for a, b in alone]
    yield at_most(errors, 1e-12, "relative error of δ_in of a layer alone against Jᵀδ with J by forward mode")
    short = {"affine": "A", "layer norm": "N", "tanh": "t", "relu": "r", "gelu": "g"}
    names = [short.get(p.name) or "+" + short[p.name.removeprefix("residual ")] for p in replaced]
    title = (
        f"Each layer has its own forward (blue) and backward step (orange); layer {place + 1}, "
        f"{drawn[place].name} once, is now {replaced[place].name} and no other code changed "
        "(A affine, N layer norm, t tanh, r ReLU, g GELU, + residual)"
    )
    yield chain_of_pairs(title, names, *sizes[1])


class _Loss(eqx.Module):
    """The loss as a function of the network alone; the data are arguments of what is compiled."""

    x: jax.Array
    y: jax.Array
    loss: str = eqx.field(static=True)

    def __call__(self, net: MLP) -> jax.Array:
        return differentiation.network_loss(net, self.x, self.y, loss=self.loss)


def _network(widths, activation, rng) -> MLP:
    return drawn(rng, MLP, widths, activation, gain=2**0.5 if activation in _KINKED else 1.0, bias_scale=0.5)


@eqx.filter_jit
def _both_gradients(net, x, y, loss):
    """Backpropagation by hand; jax.grad; and jax.grad in perturbations of the pre-activations, which is δ."""

    def perturbed(bumps):
        phi, h = activation_called(net.activation), x
        for number, ((weight, bias), bump) in enumerate(zip(net.affine(), bumps, strict=True)):
            z = h @ weight.T + bias + bump
            h = phi(z) if number + 1 < len(net.layers) else z
        return loss_pair(loss).value(h, y)

    hand = differentiation.backpropagate(net, x, y, loss=loss)
    auto = eqx.filter_grad(_Loss(x, y, loss))(net)
    return hand, auto, jax.grad(perturbed)(tuple(jnp.zeros((len(x), n)) for n in net.widths[1:]))


def _digits_runs(rng):
    """Two 64-64-10 ReLU networks on 256 digits, 100 steps by hand-written backpropagation and 100 by jax.grad."""
    images, labels = (jnp.asarray(part[:256]) for part in data.digits_split()[:2])
    two = [drawn(rng, MLP, (64, 64, 10), "relu", bias_scale=0.5) for _ in range(2)]
    nets = jax.tree.map(lambda *leaves: jnp.stack(leaves), *two)
    rule = optax.sgd(0.1, momentum=0.9)

    def run(objective):
        end, losses = eqx.filter_vmap(lambda net: training.minimise(objective, net, rule, 100, images, labels))(nets)
        return end, np.asarray(losses)

    def plain(net, x, y):
        return differentiation.network_loss(net, x, y, loss="cross_entropy")

    return run(hand_differentiated("cross_entropy")), run(plain)


def _unit_adjoints(rng, activation) -> "Figure":
    """A small network's units with their adjoints, by the step-through."""
    net = _network((4, 6, 5, 3), activation, rng)
    steps = adjoint_steps(net, jnp.asarray(rng.normal(size=4)), jnp.asarray(0), loss="cross_entropy")
    back = {step.quantity: np.asarray(step.adjoint) for step in steps if step.direction == "backward"}
    layers, weights = [back[name] for name in ("h0", "z1", "z2", "z3")], [np.asarray(m.weight) for m in net.layers]
    return layered_graph("one example: |adjoint| of every unit", layers, weights)


def _tape_of_neuron(x, y, w, v, activation):
    """Values and adjoints of the graph z = w·x, h = σ(z), e = v h, ℓ = (y - e)²/2, by name."""
    from scipy.special import expit

    phi = {
        "sigmoid": expit,
        "tanh": np.tanh,
        "softplus": lambda z: np.log1p(np.exp(z)),
        "swish": lambda z: z * expit(z),
        "relu": lambda z: np.maximum(z, 0),
        "sin": np.sin,
    }[activation]
    tape = differentiation.Tape()
    w, x, v = tape.variable(w, "w"), tape.variable(x, "x"), tape.variable(v, "v")
    z = (w @ x).named("z")
    h = phi(z).named("h")
    e = (v * h).named("e")
    loss = ((y - e) ** 2 / 2).named("ℓ")
    nodes = {"w": w, "x": x, "z": z, "h": h, "v": v, "e": e, "ℓ": loss}
    found = tape.adjoints(loss)

    def squeeze(array):
        return array.item() if array.size == 1 else array

    values = {name: squeeze(node.value) for name, node in nodes.items()}
    return values, {name: squeeze(np.asarray(found[node.node])) for name, node in nodes.items()}


def _closed_form(x, y, w, v, activation):
    """The adjoints by calculus."""
    pair = differentiation.pointwise_pair(activation)
    z = jnp.asarray(w @ x).reshape(1, 1)
    h, slope = float(pair.forward(z, ())[0][0, 0]), float(pair.backward(jnp.ones((1, 1)), z)[0][0, 0])
    e_bar = -(y - v * h)
    z_bar = e_bar * v * slope
    return {"e": e_bar, "v": e_bar * h, "h": e_bar * v, "z": z_bar, "w": z_bar * x, "x": z_bar * w}


def _pair_kinds():
    affine, tanh = differentiation.affine_pair(), differentiation.pointwise_pair("tanh")
    return [
        affine,
        tanh,
        differentiation.pointwise_pair("relu"),
        differentiation.pointwise_pair("gelu"),
        differentiation.layer_norm_pair(),
        differentiation.residual_pair(affine),
        differentiation.residual_pair(tanh),
    ]


def _chain_gradients(chain, pairs, h, theta):
    """Gradients of |output|²/2 in the input and all parameters, by the pairs and by JAX; and the sizes on the way."""

    @jax.jit
    def compute(h, theta):
        out, cache = chain.forward(h, theta)
        hand = chain.backward(out, cache)
        auto = jax.grad(lambda h, theta: 0.5 * jnp.sum(chain.forward(h, theta)[0] ** 2), argnums=(0, 1))(h, theta)
        values, caches = [jnp.linalg.norm(h)], []
        for pair, part in zip(pairs, theta, strict=True):
            h, cache = pair.forward(h, part)
            values.append(jnp.linalg.norm(h))
            caches.append(cache)
        delta, adjoints = h, [jnp.linalg.norm(h)]
        for pair, cache in zip(reversed(pairs), reversed(caches), strict=True):
            delta, _ = pair.backward(delta, cache)
            adjoints.append(jnp.linalg.norm(delta))
        return hand, auto, (jnp.stack(values), jnp.stack(adjoints[::-1]))

    return compute(h, theta)


@eqx.filter_jit
def _layer_alone(pair, h, theta, cotangent):
    """The backward step of one layer, and Jᵀδ with the Jacobian by forward mode."""
    out, cache = pair.forward(h, theta)
    jacobian = jax.jacfwd(lambda h: pair.forward(h, theta)[0])(h).reshape(out.size, h.size)
    return pair.backward(cotangent, cache)[0], (jacobian.T @ cotangent.ravel()).reshape(h.shape)
