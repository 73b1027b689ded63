"""Gradients in use: checked, shared between branches, taken in the input, followed by their sign."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, differentiation, networks
from leadline.claims.networks.backpropagation import pair_parameters
from leadline.claims.networks.drawn_networks import drawn
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    claim,
    close,
    exactly,
    figure,
    instrument,
    method,
    printed,
    slope,
)


@instrument(
    "gradient-check",
    says=(
        "Compares the gradient of any layer or network, entry by entry, with central differences over steps 1e-2 to "
        "1e-10 and with complex steps; it names the wrong parameter and entry, and sets kinks aside."
    ),
    formula=(
        r"\frac{f(\theta + h e_i) - f(\theta - h e_i)}{2h} = \partial_i f + O(h^2) + O(\epsilon / h), \quad "
        r"\frac{\mathrm{Im} f(\theta + i h e_i)}{h} = \partial_i f + O(h^2)"
    ),
    sources=("penn", "sheet"),
    assumes=("the function gives one number", "complex steps: it is analytic"),
    shows=(
        "differentiation.check_gradient",
        "differentiation.check_layer",
        "differentiation.GradientReport",
        "differentiation.ParameterCheck",
        "differentiation.difference_table",
    ),
)
def gradient_check(
    key,
    width: Annotated[int, Range(3, 12)] = 5,
    batch: Annotated[int, Range(2, 16)] = 4,
    activation: Annotated[str, Choice("tanh", "sigmoid", "relu", "gelu", "sin")] = "tanh",
    distance: Annotated[float, Range(1e-8, 1e-3, log=True)] = 1e-4,
):
    """Right layers, then five bugs in a two-layer network in NumPy, then a ReLU whose kink is `distance` away."""
    rng = data.generator(key)
    h = rng.normal(size=(batch, width))
    pairs = [
        differentiation.affine_pair(),
        differentiation.pointwise_pair(activation),
        differentiation.layer_norm_pair(),
        differentiation.residual_pair(differentiation.affine_pair()),
    ]
    reports = {
        pair.name: differentiation.check_layer(
            pair.forward, pair.backward, h, pair_parameters(pair, width, rng), entries=12, key=key
        )
        for pair in pairs
    }
    yield at_most([r.error for r in reports.values()], 1e-6, "largest relative error of right layers")
    complex_errors = [c.complex_error for r in reports.values() for c in r.parameters if c.complex_error is not None]
    yield at_most(complex_errors, 1e-12, "largest relative error of right layers against complex steps")

    theta = {
        "W1": rng.normal(size=(width, width)), "b1": rng.normal(size=width),
        "W2": rng.normal(size=(width, width)), "b2": rng.normal(size=width),
    }  # fmt: skip
    expected = {
        "none": (), "missing transpose": ("input", "parameters.W1", "parameters.b1"), "wrong cache": ("parameters.W2",),
        "sign": ("parameters.b2",), "factor 2": ("parameters.W1",), "dropped bias": ("parameters.b1",),
    }  # fmt: skip
    found = {
        bug: differentiation.check_layer(_numpy_forward, _numpy_backward(bug), h, theta, entries=8, key=key)
        for bug in expected
    }
    for bug, report in found.items():
        what = "wrong gradients in a network without bugs" if bug == "none" else f"where the bug '{bug}' is found"
        yield exactly(", ".join(sorted(report.failed)), ", ".join(sorted(expected[bug])), what)
    yield exactly("sign" in found["sign"].failure, True, "the report calls a wrong sign by its name")
    yield exactly("is 2 times" in found["factor 2"].failure, True, "the report calls a factor 2 by its name")

    kink = differentiation.check_gradient(_relu_sum, np.array([distance, 1.0]), np.array([1.0, 1.0]))
    yield exactly(kink["parameter"].kinks, 1, "entries flagged of max(θ₁, 0) + max(θ₂, 0), one of them near the kink")
    yield exactly(kink.passed, True, "its gradient passes, judged by the steps that do not reach the kink")
    at_kink = differentiation.check_gradient(_relu_sum, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    yield exactly(at_kink["parameter"].set_aside, 1, "entries set aside where θ₁ = 0 is the kink itself")

    steps = np.array(found["none"].steps)
    shown = {f"{name}, {c.name.rsplit('.')[-1]}": c for name, r in reports.items() for c in r.parameters}
    smooth = {
        name: c for name, c in shown.items() if name in (f"{activation}, input", "layer norm, input", "affine, weight")
    }
    best = found["none"]["parameters.W1"]
    curves = {"two-layer net, W1": (steps, np.array(best.curve))}
    curves |= {name: (steps, np.array(c.curve)) for name, c in smooth.items()}
    guide = np.array(best.curve)
    yield figure.curves(
        f"Truncation falls as h², rounding grows as 1/h: the two-layer net is measured best at h = {best.best_step:g}, "
        f"to {min(best.curve):.1g}",
        x="step h", y="largest relative error", points=curves,
        lines={
            "∝ h²": (steps[:4], guide[0] * (steps[:4] / steps[0]) ** 2),
            "∝ 1/h": (steps[4:], guide[-1] * steps[-1] / steps[4:]),
        },
        log="xy",
    )  # fmt: skip


@claim(
    "gradient-proportional-to-activation",
    says=(
        "A weight's gradient is the adjoint times the activation it multiplies: a branch with activations s times "
        "smaller gets gradients s times smaller and learns s² times slower, unless it is normalised."
    ),
    formula=r"z = \sum_i w_i x_i \ \Rightarrow\ \bar{w}_i = \bar{z}\, x_i, \qquad \text{rate} \propto s^2",
    sources=("penn",),
    assumes=("gradient flow on a quadratic loss, for the rates", "uncorrelated branches of equal shape"),
)
def gradient_proportional_to_activation(
    key,
    s: Annotated[float, Range(0.05, 0.9, log=True)] = 0.2,
    features: Annotated[int, Range(1, 12)] = 4,
    samples: Annotated[int, Range(50, 500)] = 100,
):
    """Two branches of white features, the second scaled by s; the target needs both equally. Steps of 0.01."""
    rng = data.generator(key)
    white = np.linalg.qr(rng.normal(size=(samples, 2 * features)))[0] * samples**0.5
    target = white @ np.ones(2 * features) / (2 * features) ** 0.5
    strong, weak = white[:, :features], white[:, features:]

    adjoint, shared = rng.normal(), rng.normal(size=features)

    def of_weights(w, x):
        return adjoint * (w @ x)

    gradient = jax.grad(of_weights)(jnp.ones(2 * features), jnp.concatenate([shared, s * shared]))
    ratio = np.asarray(gradient[features:] / gradient[:features])
    yield close(ratio, np.full(features, s), "gradient of the weak branch over that of the strong one", rtol=1e-12)
    yield printed(
        close(gradient[features:], gradient[:features], "gradient of the weak branch against the strong", rtol=1e-3),
        "penn", "the adjoint is shared equitably between the branches",
    )  # fmt: skip

    scales = np.unique(np.append(np.geomspace(0.05, 1.0, 7), s))
    step = 0.01
    times, errors = _branch_errors(
        jnp.asarray(strong), jnp.asarray(weak), jnp.asarray(target), jnp.asarray(scales), step
    )
    rates = _decay_rates(times, errors)  # (scales, 2): strong, weak
    yield slope(scales, rates[:, 1], 2.0, "exponent of the weak branch's rate in s", within=0.1)
    yield close(rates[:, 0], np.ones(len(scales)), "rate of the strong branch, whatever s", rtol=0.02)
    here = int(np.argmin(np.abs(scales - s)))
    yield close(rates[here, 1], s**2, "rate of the weak branch at this s, against s²", rtol=0.02)
    normalised = s * weak / np.sqrt(np.mean((s * weak) ** 2))
    _, equal = _branch_errors(jnp.asarray(strong), jnp.asarray(normalised), jnp.asarray(target), jnp.ones(1), step)
    both = _decay_rates(times, equal)[0]
    yield close(both[1], both[0], "rates of the two branches after normalisation", rtol=1e-6)

    shown = times <= 8.0
    t = times[shown]
    every = slice(None, None, max(1, len(t) // 25))
    yield figure.beside(
        f"With activations {s:g} times as large the weak branch learns at {rates[here, 1]:.3g} of the rate",
        figure.curves(
            f"error of each branch, s = {s:g}", x="time", y="error of the branch",
            lines={"strong, exp(−t)": (t, np.exp(-t) * errors[here, 0, 0]),
                   "weak, exp(−s² t)": (t, np.exp(-(s**2) * t) * errors[here, 0, 1]),
                   "weak after normalisation, exp(−t)": (t, np.exp(-t) * equal[0, 0, 1])},
            points={"strong": (t[every], errors[here, shown, 0][every]),
                    "weak": (t[every], errors[here, shown, 1][every])},
            log="y",
        ),
        figure.curves(
            "rate of the weak branch", x="s", y="rate", lines={"s²": (scales, scales**2)},
            points={"measured": (scales, rates[:, 1])}, log="xy",
        ),
    )  # fmt: skip


@instrument(
    "input-gradient",
    says=(
        "Backpropagation carried one step further, to the input, says how the loss or a score changes with each pixel: "
        "the saliency map. For a linear score it is the row of weights."
    ),
    formula=r"\bar{x} = \frac{\partial \ell}{\partial x} = W_1^T \delta_1",
    sources=("penn",),
    assumes=("the network is differentiable at x",),
    shows=("differentiation.input_gradient", "differentiation.saliency"),
)
def input_gradient(
    key,
    hidden: Annotated[int, Range(8, 64)] = 32,
    steps: Annotated[int, Range(20, 300)] = 150,
    digit: Annotated[int, Range(0, 9)] = 3,
):
    """A ReLU network trained on digits for `steps` steps of Adam; pictures show the first test images of `digit`."""
    net, test, labels = _digits_network(data.generator(key), hidden, steps)
    x, y = jnp.asarray(test[:6]), jnp.asarray(labels[:6])
    found = differentiation.input_gradient(net, x, y)
    by_product = differentiation.backpropagate(net, x, y, loss="cross_entropy").adjoints[0] * len(x)
    scale = float(np.abs(np.asarray(found)).max())
    yield close(
        found / scale, by_product / scale, "input gradient against the last adjoint of backpropagation", atol=1e-12
    )
    image, label = x[:1], y[:1]
    report = differentiation.check_gradient(
        lambda x: differentiation.network_loss(net, x, label, loss="cross_entropy"), image, found[:1], entries=None
    )
    yield at_most(report.error, 1e-6, "relative error of the input gradient against central differences")

    weight = np.asarray(net.layers[0].weight)
    rows = differentiation.saliency(lambda x: jnp.asarray(weight) @ x, x, 2)
    yield close(
        rows, np.tile(np.abs(weight[2]), (6, 1)), "saliency of a linear score against its weight row", rtol=1e-12
    )

    chosen = np.flatnonzero(labels == digit)[:4]
    pictures = jnp.asarray(test[chosen])
    maps = np.asarray(differentiation.saliency(net, pictures, digit))
    unit = maps / np.maximum(maps.max(axis=1, keepdims=True), 1e-300)
    rows = [("image", np.asarray(pictures)), ("saliency", unit), ("overlay", unit * np.asarray(pictures))]
    ink = float(np.mean(unit[np.asarray(pictures) > 0.5]) / np.mean(unit[np.asarray(pictures) <= 0.5]))
    yield figure.images(
        f"What moves the score of a {digit}: inked pixels weigh {ink:.2f} times as much as the others",
        images=[(name, picture.reshape(8, 8)) for name, group in rows for picture in group], columns=len(chosen),
    )  # fmt: skip


@method(
    "sign-gradient-perturbation",
    says=(
        "x + ε sign(∂ℓ/∂x) raises the loss most, to first order, among all changes of at most ε per pixel: a linear "
        "score moves by exactly ε‖w‖₁. Random signs of the same size do far less harm."
    ),
    formula=(
        r"x' = x + \epsilon\, \mathrm{sign}\left(\frac{\partial \ell}{\partial x}\right), \qquad "
        r"\max_{\|d\|_\infty \le \epsilon} w \cdot d = \epsilon \|w\|_1"
    ),
    sources=("penn",),
    assumes=("equality: the score is linear",),
    shows=("differentiation.sign_step", "differentiation.projected_sign_steps"),
)
def sign_gradient_perturbation(
    key,
    hidden: Annotated[int, Range(16, 64)] = 32,
    steps: Annotated[int, Range(150, 300)] = 200,
    iterations: Annotated[int, Range(5, 20)] = 10,
    dim: Annotated[int, Range(1, 500)] = 64,
):
    """A ReLU network trained on digits, attacked on the 500 test images; pixels are not clipped to [0, 1]."""
    rng = data.generator(key)
    w, point, eps = rng.normal(size=dim), rng.normal(size=(1, dim)), 0.1

    def score(outputs, y):
        return jnp.sum(outputs)

    def linear(x):
        return jnp.asarray(w)[None] @ x

    none = jnp.zeros((1, 1))
    attacks = {
        "one step": differentiation.sign_step(linear, jnp.asarray(point), none, eps, loss=score),
        f"{iterations} projected steps": differentiation.projected_sign_steps(
            linear, jnp.asarray(point), none, eps, steps=iterations, loss=score
        ),
    }
    for name, moved in attacks.items():
        gain = float((np.asarray(moved) - point)[0] @ w)
        yield close(gain, eps * np.abs(w).sum(), f"rise of a linear score by {name}, against ε‖w‖₁", rtol=1e-12)

    net, test, labels = _digits_network(rng, hidden, steps)
    x, y = jnp.asarray(test), jnp.asarray(labels)
    sizes = np.array([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
    noise = jnp.asarray(rng.choice([-1.0, 1.0], size=(5, *test.shape)))
    once, often, random, radius = (
        np.asarray(part) for part in _attack(net, x, y, jnp.asarray(sizes), noise, iterations)
    )
    yield at_most(np.diff(once), 0.01, "rise of accuracy from one ε to the next, one step")
    yield at_most(
        once[1:], random[1:], "accuracy after the sign step, against random signs of the same size", strict=True
    )
    yield at_most(often, once, "accuracy after projected steps, against one step", atol=0.01)
    yield at_most(radius, sizes * (1 + 1e-12), "largest change of a pixel by projected steps, against ε", atol=1e-15)

    # One tanh unit with target 1: at x = -3 the loss is nearly 2 and hardly moves, at x = 0 it is 1/2 and moves most.
    def loss(x):
        return 0.5 * (1 - jnp.tanh(x)) ** 2

    slopes, values = (np.asarray(jax.vmap(f)(jnp.array([-3.0, 0.0]))) for f in (jax.grad(loss), loss))
    yield at_least(abs(slopes[1]), abs(slopes[0]), "|∂ℓ/∂x| of a tanh unit at 0 against at −3", strict=True)
    yield printed(
        at_least(values[1], values[0], "its loss at 0, where the gradient is larger, against at −3"),
        "penn", "adversarial noise is noise that gives a large input gradient",
    )  # fmt: skip

    shown = np.flatnonzero(np.asarray(jnp.argmax(jax.vmap(net)(x), axis=1)) == labels)[:3]
    signs = np.asarray(jnp.sign(differentiation.input_gradient(net, x[shown], y[shown])))
    moved = test[shown] + 0.1 * signs
    guesses = np.asarray(jnp.argmax(jax.vmap(net)(jnp.asarray(moved)), axis=1))
    images = [("clean", test[i]) for i in shown] + [("noise x 10", 0.5 + 0.5 * sign) for sign in signs]
    images += [(f"{labels[i]} seen as {g}", picture) for i, g, picture in zip(shown, guesses, moved, strict=True)]
    yield figure.beside(
        f"A change of 0.1 per pixel along the gradient's sign takes accuracy from {once[0]:.1%} to {once[3]:.1%}; "
        f"random signs leave {random[3]:.1%}",
        figure.images(
            "clean, noise and sum at ε = 0.1", images=[(n, np.reshape(p, (8, 8))) for n, p in images], columns=3
        ),
        figure.curves(
            "accuracy on 500 test images", x="ε", y="accuracy",
            points={"one sign step": (sizes, once), f"{iterations} projected steps": (sizes, often),
                    "random signs": (sizes, random)},
        ),
    )  # fmt: skip


def _numpy_forward(h, theta):
    """A user's own two-layer network, in NumPy."""
    z = h @ theta["W1"].T + theta["b1"]
    a = np.tanh(z)
    return a @ theta["W2"].T + theta["b2"], (h, a, theta)


def _numpy_backward(bug):
    """Its backward step, with one bug."""

    def backward(delta, cache):
        h, a, theta = cache
        inner = (delta @ (theta["W2"].T if bug == "missing transpose" else theta["W2"])) * (1 - a**2)
        output = a @ theta["W2"].T + theta["b2"]
        gradient = {
            "W2": delta.T @ (output if bug == "wrong cache" else a),
            "b2": (-1 if bug == "sign" else 1) * delta.sum(axis=0),
            "W1": (2 if bug == "factor 2" else 1) * inner.T @ h,
            "b1": inner.sum(axis=0) * (bug != "dropped bias"),
        }
        return inner @ theta["W1"], gradient

    return backward


def _relu_sum(theta):
    return jnp.sum(jax.nn.relu(theta))


@jax.jit
def _branch_errors(strong, weak, target, scales, step):
    """Errors in function space of the two branches, at times 0, 10 steps, 20 steps, ... of plain descent from zero.

    With white features the target of a branch is its projection; the error is the distance of the branch's output.
    """
    features, samples = strong.shape[1], strong.shape[0]
    ideal = [part @ (part.T @ target) / jnp.sum(part[:, 0] ** 2) for part in (strong, weak)]

    def run(scale):
        parts = (strong, scale * weak)

        def ten(w, _):
            def once(w, _):
                residual = parts[0] @ w[0] + parts[1] @ w[1] - target
                return tuple(v - step * part.T @ residual / samples for v, part in zip(w, parts, strict=True)), None

            errors = [jnp.linalg.norm(part @ v - goal) for part, v, goal in zip(parts, w, ideal, strict=True)]
            return jax.lax.scan(once, w, None, length=10)[0], jnp.stack(errors)

        return jax.lax.scan(ten, (jnp.zeros(features),) * 2, None, length=100)[1]

    return jnp.arange(100) * 10 * step, jax.vmap(run)(scales)


def _decay_rates(times, errors):
    """Rates of decay from the first to the last time at which the error is above a thousandth of the first."""
    times, errors = np.asarray(times), np.asarray(errors)
    rates = np.empty((len(errors), 2))
    for i, run in enumerate(errors):
        for branch in (0, 1):
            curve = run[:, branch]
            last = int(np.flatnonzero(curve > 1e-3 * curve[0])[-1])
            rates[i, branch] = np.log(curve[0] / curve[last]) / times[last]
    return rates


def _digits_network(rng, hidden, steps):
    """A 64-hidden-10 ReLU network after `steps` steps of Adam on batches of 128 digits, and the test digits."""
    train, train_labels, test, labels = data.digits_split()
    rows = rng.integers(len(train), size=(steps, 128))
    net = _train(
        drawn(rng, networks.MLP, (64, hidden, 10), "relu", bias_scale=0.5),
        jnp.asarray(train[rows]),
        jnp.asarray(train_labels[rows]),
    )
    return net, test, labels


@jax.jit
def _train(net, images, labels):
    rule = optax.adam(3e-3)

    def step(state, batch):
        net, memory = state
        gradient = differentiation.backpropagate(net, *batch, loss="cross_entropy").gradient
        change, memory = rule.update(gradient, memory)
        return (optax.apply_updates(net, change), memory), None

    return jax.lax.scan(step, (net, rule.init(net)), (images, labels))[0][0]


def _attack(net, x, y, sizes, noise, iterations):
    @jax.jit
    def run(net, x, y, sizes, noise):
        def accuracy(moved):
            return jnp.mean(jnp.argmax(jax.vmap(net)(moved), axis=1) == y)

        def at(size):
            often = differentiation.projected_sign_steps(net, x, y, size, steps=iterations)
            once = differentiation.sign_step(net, x, y, size)
            random = jnp.mean(jax.vmap(lambda sign: accuracy(x + size * sign))(noise))
            return accuracy(once), accuracy(often), random, jnp.max(jnp.abs(often - x))

        return jax.lax.map(at, sizes)

    return run(net, x, y, sizes, noise)
