"""Where a network starts decides whether it trains, and how well it generalises."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks
from leadline.claims.scenarios.networks.digit_networks import cross_entropy
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly
from leadline.presentation import figure
from leadline.training import minimise


@claim(sources=("penn",))
def symmetric_initialisation_failure(key, width: Int(4, 64) = 32, constant: Real(0.02, 0.1, log=True) = 0.05):
    r"""Symmetric initialisation never breaks symmetry.

    From all-zero weights with φ(0) = 0 every weight's gradient is exactly 0 and only the output bias learns: it learns
    the class frequencies. Units that start equal get equal gradients and stay equal for ever: every hidden layer is as
    good as one unit.

    $$W = 0,\ \varphi(0) = 0 \Rightarrow \nabla_W \ell = 0, \quad \ell \to H(\hat p); \qquad w_i = w_j \Rightarrow \dot
    w_i = \dot w_j$$

    Assumes: at least one hidden layer; plain gradient descent.

    Check: The data have unequally many digits of each class, and the network has two hidden layers; all starts are
    trained side by side.
    """
    images, labels, _, _ = data.digits_split()
    rows = np.concatenate([np.flatnonzero(labels == c)[: 10 + 6 * c] for c in range(10)])
    images, labels = jnp.asarray(images[rows]), jnp.asarray(labels[rows])
    shares = np.bincount(np.asarray(labels)) / len(rows)
    entropy = float(-shares @ np.log(shares))
    widths = (64, width, width, 10)
    ones = networks.MLP(widths, init="ones", key=key)
    starts = {
        "zero, ReLU": networks.MLP(widths, init="zeros", key=key),
        "constant, ReLU": jax.tree.map(lambda w: constant * w, ones),
        "random, ReLU": networks.MLP(widths, init="he", key=key),
        "zero, sigmoid": networks.MLP(widths, "sigmoid", init="zeros", key=key),
    }
    *relu, sigmoid = starts.values()
    model = (jax.tree.map(lambda *w: jnp.stack(w), *relu), sigmoid)

    def objective(nets, images, labels):
        first = jax.vmap(cross_entropy, in_axes=(0, None, None))(nets[0], images, labels)
        losses = jnp.append(first, cross_entropy(nets[1], images, labels))
        return jnp.sum(losses), losses

    def total(nets, images, labels):
        return objective(nets, images, labels)[0]

    look = jax.jit(jax.value_and_grad(objective, has_aux=True))
    (_, first), gradient = look(model, images, labels)
    weights = [jnp.abs(layer.weight[0]).max() for layer in gradient[0].layers]
    yield exactly(weights, 0.0, "largest weight gradient per layer at zero weights, ReLU")
    output = jnp.abs(gradient[0].layers[-1].bias[0]).max()
    yield at_least(output, 1e-3, "largest gradient of the output bias at zero weights, ReLU")
    orders = [jnp.arange(width)[::-1], jnp.roll(jnp.arange(width), 1)]
    moved = networks.permute_units(starts["constant, ReLU"], orders)
    apart = sum(jnp.sum(a.weight != constant * b.weight) for a, b in zip(moved.layers, ones.layers, strict=True))
    yield exactly(apart, 0, "weights of the constant start that permutations of its units change")

    blocks, steps, rule = 5, 100, optax.sgd(0.2)
    counts, losses = {name: [_distinct(net)] for name, net in starts.items()}, [first]
    for _ in range(blocks):
        model, _ = minimise(total, model, rule, steps, images, labels)
        losses.append(look(model, images, labels)[0][1])
        ends = [*(jax.tree.map(lambda w, i=i: w[i], model[0]) for i in range(3)), model[1]]
        for name, net in zip(starts, ends, strict=True):
            counts[name].append(_distinct(net))
    losses = dict(zip(starts, np.array(losses).T, strict=True))
    trained = dict(zip(starts, ends, strict=True))
    for name in ("zero, ReLU", "constant, ReLU", "zero, sigmoid"):
        yield exactly(np.array(counts[name]), 1, f"{name}: distinct units of each hidden layer, at every look")
    weights = [jnp.abs(layer.weight).max() for layer in trained["zero, ReLU"].layers]
    yield exactly(weights, 0.0, "zero, ReLU: largest weight of each layer after training")
    yield close(losses["zero, ReLU"][-1], entropy, "zero, ReLU: loss, against the entropy of the classes", atol=1e-3)
    for name in ("constant, ReLU", "zero, sigmoid"):
        first, second = np.transpose([np.linalg.svd(m.weight, compute_uv=False)[:2] for m in trained[name].layers])
        yield at_most(second, 1e-9 * first, f"{name}: second singular value of every layer", atol=1e-9)
    symmetric, random = (min(losses[n][-1] for n in starts if ("random" in n) == which) for which in (False, True))
    yield at_most(random, symmetric, "loss from a random start, against the best of the others", strict=True)

    looks = np.arange(blocks + 1) * steps
    curves = {name: (looks, values) for name, values in losses.items()}
    units = {name: (looks, np.array(values)[:, 0]) for name, values in counts.items()}
    rules = {f"entropy of the classes {entropy:.2f}": ("y", entropy)}
    yield figure.beside(
        f"After {blocks * steps} steps the random start is at {random:.2f}, equal units at {symmetric:.2f} or above",
        figure.curves("training loss", "step", "cross-entropy", points=curves, rules=rules),
        figure.curves("distinct units in the first hidden layer", "step", "distinct units", points=units, log="y"),
    )


def _distinct(net: networks.MLP) -> list[int]:
    """How many different units each hidden layer has, up to rounding."""
    return [
        len(np.unique(np.round(np.concatenate([layer.weight, layer.bias[:, None]], axis=1), 8), axis=0))
        for layer in net.layers[:-1]
    ]


@claim(sources=("eth", "penn"), slow="about 12 seconds", empirical=True)
def trainable_window(key, deep: Int(18, 24) = 20):
    r"""Trainable window of initial weight scales.

    Out of decades of weight scales only a window around He's trains a deep ReLU network in a fixed number of steps,
    and the window narrows with depth: at depth 5 a factor of 2 either way does no harm, at depth 20 it stops learning.

    $$\left|\log\frac{s}{s_{He}}\right| \lesssim \frac{c}{L}$$

    Assumes: trained means that the mean loss over all training images is below a quarter of log 10.

    Check: Networks of width 32 are trained on digits by 300 steps of Adam with step size 0.003 and batches of 64, with
    three starts for each scale, all with the same batches.
    """
    exponents = {5: (-3, -2, -1, 0, 1, 2, 3), deep: (-2, -1, -0.5, 0, 0.5, 1, 2)}
    limit = np.log(10) / 4
    ends = {depth: _final_losses(jax.random.fold_in(key, depth), depth, k) for depth, k in exponents.items()}
    medians = {depth: np.median(values, axis=0) for depth, values in ends.items()}
    found = {depth: dict(zip(exponents[depth], medians[depth], strict=True)) for depth in ends}
    near = [found[5][k] for k in (-1, 0, 1)]
    yield at_most(near, limit, "depth 5: median loss at the scales 2⁻¹, 2⁰ and 2¹ of He's", strict=True)
    yield at_most(found[deep][0], limit, f"depth {deep}: median loss at He's scale", strict=True)
    far = [loss for k, loss in found[deep].items() if abs(k) >= 1]
    yield at_least(far, limit, f"depth {deep}: median loss at scales a factor 2 or more away from He's")
    best = min(found[deep], key=found[deep].get)
    yield at_most(abs(best), 1, f"depth {deep}: |log₂| of the best scale over He's")
    widths = {depth: _window(np.array(exponents[depth], float), medians[depth], limit) for depth in ends}
    yield at_most(widths[deep], widths[5] / 2, f"width of the window in log₂ s at depth {deep}, against half that at 5")
    common = [k for k in exponents[5] if k in exponents[deep]]
    table = np.array([[found[depth][k] for k in common] for depth in ends])
    points = {}
    for depth, e in ends.items():
        points[f"depth {depth}"] = (exponents[depth], *np.clip([np.median(e, 0), e.min(0), e.max(0)], 1e-4, 1e4))
    over, rules = "log₂ of the scale over He's", {"a quarter of log 10": ("y", limit)}
    yield figure.beside(
        f"The window of trainable scales spans {widths[5]:.1f} octaves at depth 5, {widths[deep]:.1f} at depth {deep}",
        figure.heatmap(
            f"log₁₀ of the final loss over {limit:.2f}: below 0 it trains",
            over,
            "depth",
            values=np.clip(np.log10(table / limit), -3, 3),
            xs=common,
            ys=[5, deep],
            colour="log₁₀",
            text=True,
            diverging=True,
        ),
        figure.curves("three starts (cut at 10⁴)", over, "final training loss", points=points, rules=rules, log="y"),
    )


def _window(exponents: np.ndarray, losses: np.ndarray, limit: float) -> float:
    """The length of the interval around k = 0 where the loss, interpolated in its logarithm, is below the limit."""
    fine = np.linspace(exponents[0], exponents[-1], 2001)
    below = np.interp(fine, exponents, np.log(np.clip(losses, 1e-6, 1e6))) < np.log(limit)
    centre = int(np.argmin(np.abs(fine)))
    if not below[centre]:
        return 0.0
    left = centre - int(np.argmin(below[: centre + 1][::-1])) if not below[: centre + 1].all() else 0
    right = centre + int(np.argmin(below[centre:])) if not below[centre:].all() else len(fine) - 1
    return float(fine[right] - fine[left])


def _final_losses(key, depth: int, exponents: tuple[float, ...], width: int = 32, seeds: int = 3) -> np.ndarray:
    """Losses on all training images, (seeds, scales), after training all networks at once.

    The objective is the sum over networks, and Adam moves every weight by itself, so that each trains as if alone.
    """
    images, labels, _, _ = data.digits_split()
    images, labels = jnp.asarray(images, jnp.float32), jnp.asarray(labels)
    rng = data.generator(key)
    scales = np.tile(2.0 ** np.array(exponents), seeds).astype(np.float32)  # (runs,)

    def drawn(*shape: int, inputs: int) -> np.ndarray:
        unit = np.repeat(rng.standard_normal((seeds, *shape), dtype=np.float32), len(exponents), axis=0)
        return unit * np.float32((2 / inputs) ** 0.5) * scales.reshape(-1, *(1,) * len(shape))

    start = {
        "first": drawn(64, width, inputs=64),
        "hidden": drawn(depth - 2, width, width, inputs=width),
        "last": drawn(width, 10, inputs=width),
        "biases": np.zeros((len(scales), depth - 1, width), np.float32),
        "shift": np.zeros((len(scales), 10), np.float32),
    }

    def layer(h, weights):
        return jax.nn.relu(h @ weights[0] + weights[1]), None

    def loss(net, images, labels):
        hidden = jax.nn.relu(images @ net["first"] + net["biases"][0])
        hidden, _ = jax.lax.scan(layer, hidden, (net["hidden"], net["biases"][1:]))
        scores = hidden @ net["last"] + net["shift"]
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(scores, labels))

    each = jax.vmap(loss, in_axes=(0, None, None))

    def total(nets, images, labels):
        return jnp.sum(each(nets, images, labels))

    start, rule = jax.tree.map(jnp.asarray, start), optax.adam(3e-3)
    end, _ = minimise(total, start, rule, 300, images, labels, batch=64, key=key)
    final = np.asarray(jax.jit(each)(end, images, labels), float).reshape(seeds, -1)
    return np.where(np.isfinite(final), final, 1e6)


@claim(sources=("penn",), empirical=True)
def init_scale_generalisation(key, dim: Int(20, 24) = 20, samples: Int(150, 200) = 200):
    r"""Large initial scale generalises worse.

    Networks trained to the same training loss generalise worse from a large initial scale, where features hardly move,
    than from a small one, where they align with the target. The initial function is subtracted, so that only the scale
    differs.

    $$f(x) = f_{\theta}(x) - f_{\theta_0}(x), \qquad \theta_0 = \alpha\,\theta_{\mathrm{unit}}$$

    Assumes: gradient descent with a step size set by the scale, stopped at training loss 10⁻³.

    Check: The target is relu(x₁) − 0.4; the network has 200 ReLU units without hidden biases and with an output bias;
    three seeds are trained side by side.
    """
    rng, units, seeds, tolerance = data.generator(key), 200, 3, 1e-3
    scales = np.array([1 / 16, 1 / 4, 1.0, 4.0], np.float32)
    x = rng.standard_normal((seeds, samples + 3000, dim), dtype=np.float32)
    y = np.maximum(x[..., 0], 0) - np.float32(0.4)
    first = rng.standard_normal((seeds, units, dim), dtype=np.float32) / np.float32(dim**0.5)
    last = rng.standard_normal((seeds, units), dtype=np.float32) * np.float32((2 / units) ** 0.5)
    # The curvature of the loss grows like the squared scale; below 1/4 it is that of the solution.
    rates = np.minimum(0.2, 4 / (units * scales**2)).astype(np.float32)
    start = (scales[:, None, None, None] * first, scales[:, None, None] * last, np.zeros((4, seeds), np.float32))

    def function(net, x):
        return jax.nn.relu(x @ net[0].T) @ net[1] + net[2]

    def error(net, origin, x, y):
        return jnp.mean((function(net, x) - function(origin, x) - y) ** 2)

    each = jax.vmap(jax.vmap(error), in_axes=(0, 0, None, None))  # (scales, seeds)

    def objective(nets, origins, x, y, rates):
        # Constant below the tolerance: a network that has reached it stays where it is.
        return jnp.sum(rates[:, None] * jnp.maximum(each(nets, origins, x, y), tolerance))

    origin = jax.tree.map(jnp.asarray, start)
    end, _ = minimise(objective, origin, optax.sgd(1.0), 1500, origin, x[:, :samples], y[:, :samples], rates)
    parts = slice(0, samples), slice(samples, None)
    train, test = (np.asarray(jax.jit(each)(end, origin, x[:, rows], y[:, rows]), float) for rows in parts)
    moved = np.asarray(jnp.linalg.norm(end[0] - origin[0], axis=(2, 3)) / jnp.linalg.norm(origin[0], axis=(2, 3)))
    yield at_most(train, 1.5 * tolerance, "training loss at the stop, all runs")
    medians = np.median(test, axis=1)
    yield at_least(np.diff(medians), 0.0, "rise of the median test error from scale to scale", strict=True)
    yield at_least(medians[-1] / medians[0], 10, "median test error at scale 4 over that at 1/16")
    small, *_, large = np.median(moved, axis=1)
    yield at_most(large, 0.1 * small, "relative motion of the first layer at scale 4, against a tenth of that at 1/16")
    title = f"At training loss 0.001 the test error rises from {medians[0]:.4f} at scale 1/16 to {medians[-1]:.3f} at 4"
    points = {"median of 3 seeds, range": (scales, medians, test.min(axis=1), test.max(axis=1))}
    rules = {"training loss": ("y", tolerance)}
    yield figure.curves(title, "initial scale α", "test error", points=points, rules=rules, log="xy")
