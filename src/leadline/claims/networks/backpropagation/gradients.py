"""Gradients in use: checked, shared between branches, taken in the input, followed by their sign."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import as_apply, data, differentiation, networks, optimisation, robustness, training
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.claims.scenarios.networks.layer_pairs import pair_parameters
from leadline.evidence import Int, OneOf, Real, at_most, claim, close, erratum, exactly, instrument, method, slope
from leadline.presentation import figure


@instrument(sources=("penn", "sheet"), shows=("differentiation.difference_table",))
def gradient_check(
    key,
    width: Int(3, 12) = 5,
    batch: Int(2, 16) = 4,
    activation: OneOf("tanh", "sigmoid", "relu", "gelu", "sin") = "tanh",
    distance: Real(1e-8, 1e-3, log=True) = 1e-4,
):
    r"""Gradient checking.

    Compares the gradient of any layer or network, entry by entry, with central differences over steps from 10⁻² to
    10⁻¹⁰ and with complex steps; it names the wrong parameter and entry, and sets kinks aside.

    $$\frac{f(\theta + h e_i) - f(\theta - h e_i)}{2h} = \partial_i f + O(h^2) + O(\epsilon / h), \quad
    \frac{\mathrm{Im} f(\theta + i h e_i)}{h} = \partial_i f + O(h^2)$$

    Assumes: the function returns a single number; for complex steps, the function is analytic.

    Check: Correct layers are checked first, then five bugs in a two-layer network in NumPy, then a ReLU whose kink is
    a given distance away.
    """
    rng = data.generator(key)
    h = rng.normal(size=(batch, width))
    affine = differentiation.affine_pair()
    pairs = [affine, differentiation.pointwise_pair(activation), differentiation.layer_norm_pair()]
    reports = {}
    for pair in (*pairs, differentiation.residual_pair(affine)):
        parameters = pair_parameters(pair, width, rng)
        checked = differentiation.check_layer(pair.forward, pair.backward, h, parameters, entries=12, key=key)
        reports[pair.name] = checked
    errors = [report.error for report in reports.values()]
    yield at_most(errors, 1e-6, "largest relative error of right layers against central differences")
    complex_errors = [c.complex_error for r in reports.values() for c in r.parameters if c.complex_error is not None]
    yield at_most(complex_errors, 1e-12, "largest relative error of right layers against complex steps")
    shapes = {"W1": (width, width), "b1": width, "W2": (width, width), "b2": width}
    theta = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    expected = {
        "none": (),
        "missing transpose": ("input", "parameters.W1", "parameters.b1"),
        "wrong cache": ("parameters.W2",),
        "sign": ("parameters.b2",),
        "factor 2": ("parameters.W1",),
        "dropped bias": ("parameters.b1",),
    }
    found = {}
    for bug, places in expected.items():
        report = differentiation.check_layer(_numpy_forward, _numpy_backward(bug), h, theta, entries=8, key=key)
        what = "wrong gradients in a network without bugs" if bug == "none" else f"where the bug '{bug}' is found"
        yield exactly(", ".join(sorted(report.failed)), ", ".join(sorted(places)), what)
        found[bug] = report
    yield exactly(found["sign"].failure.count("sign"), 1, "times that the report of a wrong sign calls it so")
    yield exactly(found["factor 2"].failure.count("is 2 times"), 1, "times that the report of a factor 2 calls it so")
    kink = differentiation.check_gradient(_relu_sum, np.array([distance, 1.0]), np.array([1.0, 1.0]))
    yield exactly(kink["parameter"].kinks, 1, "entries flagged of max(θ₁, 0) + max(θ₂, 0), one of them near the kink")
    what = "relative error of a gradient near a kink, judged by the steps that do not reach the kink"
    yield at_most(kink.error, kink.tolerance, what)
    at_kink = differentiation.check_gradient(_relu_sum, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    yield exactly(at_kink["parameter"].set_aside, 1, "entries set aside where θ₁ = 0 is the kink itself")
    steps, best = np.array(found["none"].steps), found["none"]["parameters.W1"]
    shown = {f"{name}, {c.name.rsplit('.')[-1]}": c for name, r in reports.items() for c in r.parameters}
    smooth = (f"{activation}, input", "layer norm, input", "affine, weight")
    points = {"two-layer net, W1": (steps, best.curve)} | {name: (steps, shown[name].curve) for name in smooth}
    lines = {"∝ h²": (steps[:4], best.curve[0] * (steps[:4] / steps[0]) ** 2)}
    lines["∝ 1/h"] = (steps[4:], best.curve[-1] * steps[-1] / steps[4:])
    least = f"the two-layer net is measured best at h = {best.best_step:g}, to {min(best.curve):.1g}"
    title = f"Truncation falls as h², rounding grows as 1/h: {least}"
    yield figure.curves(title, "step h", "largest relative error", points=points, lines=lines, log="xy")


@claim(sources=("penn",))
def gradient_proportional_to_activation(
    key, s: Real(0.05, 0.9, log=True) = 0.2, features: Int(1, 12) = 4, samples: Int(50, 500) = 100
):
    r"""Gradients scale with the activations.

    A weight's gradient is the adjoint times the activation it multiplies: a branch with activations s times smaller
    gets gradients s times smaller and learns s² times slower, unless it is normalised.

    $$z = \sum_i w_i x_i \ \Rightarrow\ \bar{w}_i = \bar{z}\, x_i, \qquad \text{rate} \propto s^2$$

    Assumes: for the rates, gradient flow on a quadratic loss; uncorrelated branches of equal shape.

    Check: There are two branches of white features, the second scaled by s, and the target needs both equally. The
    step size is 0.01.
    """
    rng = data.generator(key)
    white = np.linalg.qr(rng.normal(size=(samples, 2 * features)))[0] * samples**0.5
    target = white @ np.ones(2 * features) / (2 * features) ** 0.5
    strong, weak = white[:, :features], white[:, features:]
    adjoint, shared = rng.normal(), rng.normal(size=features)
    activations = jnp.concatenate([shared, s * shared])
    gradient = jax.grad(lambda w: adjoint * (w @ activations))(jnp.ones(2 * features))
    ratio = gradient[features:] / gradient[:features]
    yield close(ratio, s, "gradient of the weak branch over that of the strong one, against s", rtol=1e-12)
    scales = np.unique(np.append(np.geomspace(0.05, 1.0, 7), s))
    times, errors = map(np.asarray, _branch_errors(strong, weak, target, scales, 0.01))
    rates = _decay_rates(times, errors)  # (scales, 2): strong, weak
    yield slope(scales, rates[:, 1], 2.0, "exponent of the weak branch's rate in s", within=0.1)
    yield close(rates[:, 0], 1.0, "rate of the strong branch, whatever s", rtol=0.02)
    here = int(np.argmin(np.abs(scales - s)))
    yield close(rates[here, 1], s**2, "rate of the weak branch at this s, against s²", rtol=0.02)
    normalised = s * weak / np.sqrt(np.mean((s * weak) ** 2))
    equal = np.asarray(_branch_errors(strong, normalised, target, np.ones(1), 0.01)[1])
    both = _decay_rates(times, equal)[0]
    yield close(both[1], both[0], "rates of the two branches after normalisation", rtol=1e-6)
    t, (first, second) = times[times <= 8.0], errors[here].T
    lines = {
        "strong, exp(−t)": (t, np.exp(-t) * first[0]),
        "weak, exp(−s² t)": (t, np.exp(-(s**2) * t) * second[0]),
        "weak after normalisation, exp(−t)": (t, np.exp(-t) * equal[0, 0, 1]),
    }
    points = {"strong": (t[::3], first[: len(t) : 3]), "weak": (t[::3], second[: len(t) : 3])}
    rate = {"lines": {"s²": (scales, scales**2)}, "points": {"measured": (scales, rates[:, 1])}}
    error = f"error of each branch, s = {s:g}"
    yield figure.beside(
        f"With activations {s:g} times as large the weak branch learns at {rates[here, 1]:.3g} of the rate",
        figure.curves(error, "time", "error of the branch", lines=lines, points=points, log="y"),
        figure.curves("rate of the weak branch", "s", "rate", log="xy", **rate),
    )


@instrument(sources=("penn",))
def input_gradient(key, hidden: Int(8, 64) = 32, num_steps: Int(20, 300) = 150, digit: Int(0, 9) = 3):
    r"""Saliency map by input gradient.

    Backpropagation carried one step further, to the input, shows how the loss or a score changes with each pixel: this
    is the saliency map. For a linear score it is the row of weights.

    $$\bar{x} = \frac{\partial \ell}{\partial x} = W_1^T \delta_1$$

    Assumes: the network is differentiable at x.

    Check: A ReLU network is trained on digits by Adam; the pictures show the first test images of a chosen digit.
    """
    net, test, labels = _digits_network(data.generator(key), hidden, num_steps)
    x, y = jnp.asarray(test[:6]), jnp.asarray(labels[:6])
    found = differentiation.input_gradient(net, x, y)
    by_product = differentiation.backpropagate(net, x, y, loss="cross_entropy").adjoints[0] * len(x)
    size = jnp.abs(found).max()
    what = "input gradient against the last adjoint of backpropagation"
    yield close(found / size, by_product / size, what, atol=1e-12)

    def loss(x):
        return differentiation.network_loss(net, x, y[:1], loss="cross_entropy")

    report = differentiation.check_gradient(loss, x[:1], found[:1], entries=None)
    yield at_most(report.error, 1e-6, "relative error of the input gradient against central differences")
    weight = net.layers[0].weight
    rows = differentiation.saliency(lambda x: weight @ x, x, 2)
    yield close(rows, jnp.abs(weight[2])[None], "saliency of a linear score against its weight row", rtol=1e-12)
    pictures = test[labels == digit][:4]
    maps = np.asarray(differentiation.saliency(net, jnp.asarray(pictures), digit))
    unit = maps / np.maximum(maps.max(axis=1, keepdims=True), 1e-300)
    rows = {"image": pictures, "saliency": unit, "overlay": unit * pictures}
    images = [(name, picture.reshape(8, 8)) for name, group in rows.items() for picture in group]
    ink = np.mean(unit[pictures > 0.5]) / np.mean(unit[pictures <= 0.5])
    title = f"What moves the score of a {digit}: inked pixels weigh {ink:.2f} times as much as the others"
    yield figure.images(title, images=images, columns=len(pictures))


@method(sources=("penn",))
def sign_gradient_perturbation(
    key, hidden: Int(16, 64) = 32, num_steps: Int(150, 300) = 200, iterations: Int(5, 20) = 10, dim: Int(1, 500) = 64
):
    r"""Fast gradient sign perturbation (FGSM).

    x + ε sign(∂ℓ/∂x) raises the loss most, to first order, among all changes of at most ε per pixel: a linear score
    moves by exactly ε‖w‖₁. Random signs of the same size do far less harm.

    $$x' = x + \epsilon\, \mathrm{sign}\left(\frac{\partial \ell}{\partial x}\right), \qquad \max_{\|d\|_\infty \le
    \epsilon} w \cdot d = \epsilon \|w\|_1$$

    Assumes: for equality, the score is linear.

    Check: A ReLU network trained on digits is attacked on the 500 test images; pixels are not clipped to [0, 1].
    """
    rng = data.generator(key)
    w, point, eps = rng.normal(size=dim), rng.normal(size=(1, dim)), 0.1

    def linear(w, x):  # class 0 has the score 0: its margin of error is the score of class 1
        return jnp.stack([jnp.zeros(len(x)), x @ w], axis=1)

    problem, most = (linear, jnp.asarray(w), jnp.asarray(point), jnp.zeros(1, int), eps), eps * np.abs(w).sum()
    several = robustness.pgd(*problem, num_steps=iterations, loss="margin").inputs
    what = f"rise of a linear score by {iterations} projected steps, against ε‖w‖₁"
    yield close((several - point)[0] @ w, most, what, rtol=1e-12)
    one = robustness.fgsm(*problem, loss="margin")
    rise = close((one - point)[0] @ w, most, "rise of a linear score by one sign step, against ε‖w‖₁", rtol=1e-12)
    yield rise
    net, test, labels = _digits_network(rng, hidden, num_steps)
    x, y = jnp.asarray(test), jnp.asarray(labels)
    sizes = np.array([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
    noise = jnp.asarray(rng.choice([-1.0, 1.0], size=(5, *test.shape)))
    once, often, random, radius = _attack(net, x, y, sizes, noise, iterations)
    yield at_most(np.diff(once), 0.01, "rise of accuracy from one ε to the next, one sign step")
    what = "accuracy after the sign step, against random signs of the same size"
    yield at_most(once[1:], random[1:], what, strict=True)
    yield at_most(often, once, "accuracy after projected steps, against one step", atol=0.01)
    yield at_most(radius, sizes * (1 + 1e-12), "largest change of a pixel by projected steps, against ε", atol=1e-15)

    # One tanh unit with target 1: at x = -3 the loss is nearly 2 and hardly moves, at x = 0 it is 1/2 and moves most.
    def loss(x):
        return 0.5 * (1 - jnp.tanh(x)) ** 2

    slopes, values = (np.asarray(jax.vmap(f)(jnp.array([-3.0, 0.0]))) for f in (jax.grad(loss), loss))
    yield at_most(abs(slopes[0]), abs(slopes[1]), "|∂ℓ/∂x| of a tanh unit at −3 against at 0", strict=True)
    wrong = at_most(values[0], values[1], "loss of a tanh unit at −3 against at 0, where its gradient is larger")
    yield erratum(wrong, of=rise, by="penn", prints="adversarial noise 'gives a large value of' the input gradient")
    shown = np.flatnonzero(np.asarray(jnp.argmax(jax.vmap(net)(x), axis=1)) == labels)[:3]
    signs = np.asarray(jnp.sign(differentiation.input_gradient(net, x[shown], y[shown])))
    moved = test[shown] + 0.1 * signs
    guesses = np.asarray(jnp.argmax(jax.vmap(net)(jnp.asarray(moved)), axis=1))
    images = [("clean", test[i]) for i in shown] + [("noise × 10", 0.5 + 0.5 * sign) for sign in signs]
    images += [(f"{labels[i]} seen as {g}", picture) for i, g, picture in zip(shown, guesses, moved, strict=True)]
    images = [(name, picture.reshape(8, 8)) for name, picture in images]
    points = {"one sign step": once, f"{iterations} projected steps": often, "random signs": random}
    points = {name: (sizes, accuracy) for name, accuracy in points.items()}
    yield figure.beside(
        f"A change of 0.1 per pixel along the gradient's sign takes accuracy from {once[0]:.1%} to {once[3]:.1%}; "
        f"random signs leave {random[3]:.1%}",
        figure.images("clean, noise and sum at ε = 0.1", images=images, columns=3),
        figure.curves("accuracy on 500 test images", "ε", "accuracy", points=points),
    )


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
    ideal = jnp.stack([part @ (part.T @ target) / jnp.sum(part[:, 0] ** 2) for part in (strong, weak)])

    def run(scale):
        parts = jnp.stack([strong, scale * weak])  # (branch, sample, feature)

        def loss(w):
            return jnp.sum((jnp.einsum("bnf,bf->n", parts, w) - target) ** 2) / (2 * samples)

        path = optimisation.gradient_path(jax.grad(loss), jnp.zeros((2, features)), step, 990)[::10]
        return jnp.linalg.norm(jnp.einsum("bnf,tbf->tbn", parts, path) - ideal, axis=2)

    return jnp.arange(100) * 10 * step, jax.vmap(run)(scales)


def _decay_rates(times, errors):
    """Rates of decay from the first to the last time at which the error is above a thousandth of the first."""
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
    start = drawn(rng, networks.MLP, (64, hidden, 10), "relu", bias_scale=0.5)
    return _train(start, train[rows], train_labels[rows]), test, labels


@eqx.filter_jit
def _train(net, images, labels):
    def losses(net, batch, *_):
        return differentiation.network_loss(net, *batch, loss="cross_entropy"), None

    def gradient(net, batch, *_):
        return differentiation.backpropagate(net, *batch, loss="cross_entropy").gradient

    return training.scan_steps(losses, net, optax.adam(3e-3), (images, labels), gradient=gradient).model


def _attack(net, x, y, sizes, noise, iterations):
    """Accuracy after one sign step, after projected steps and after random signs, and the largest change of a pixel."""
    network = as_apply(net)

    def accuracy(moved):
        return jnp.mean(jnp.argmax(network.apply(network.params, moved), axis=1) == y)

    found = []
    for size in sizes:
        often = robustness.pgd(*network, x, y, size, num_steps=iterations)
        random = jnp.mean(jnp.stack([accuracy(x + size * sign) for sign in noise]))
        once = accuracy(robustness.fgsm(*network, x, y, size))
        found.append((once, jnp.mean(~often.fooled), random, jnp.max(jnp.abs(often.inputs - x))))
    return np.array(found).T
