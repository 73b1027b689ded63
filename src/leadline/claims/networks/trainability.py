"""Where a network starts decides whether it trains, and how well it generalises."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure
from leadline.training import minimise


def _cross_entropy(net, images, labels):
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(images), labels))


@claim(
    "symmetric-initialisation-failure",
    says=(
        "From all-zero weights with φ(0) = 0 every weight's gradient is exactly 0 and only the output bias learns, the "
        "class frequencies. Units that start equal get equal gradients and stay equal for ever: every hidden layer is "
        "as good as one unit."
    ),
    formula=(
        r"W = 0,\ \varphi(0) = 0 \Rightarrow \nabla_W \ell = 0, \quad \ell \to H(\hat p); \qquad w_i = w_j \Rightarrow "
        r"\dot w_i = \dot w_j"
    ),
    sources=("penn",),
    assumes=("at least one hidden layer", "plain gradient descent"),
)
def symmetric_initialisation_failure(
    key,
    width: Annotated[int, Range(4, 64)] = 32,
    constant: Annotated[float, Range(0.02, 0.1, log=True)] = 0.05,
):
    """Unequally many digits of each class; two hidden layers; all starts are trained in one program."""
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

    def losses_of(nets, images, labels):
        first = jax.vmap(_cross_entropy, in_axes=(0, None, None))(nets[0], images, labels)
        return jnp.append(first, _cross_entropy(nets[1], images, labels))

    def objective(nets, images, labels):
        losses = losses_of(nets, images, labels)
        return jnp.sum(losses), losses

    def total(nets, images, labels):
        return objective(nets, images, labels)[0]

    look = jax.jit(jax.value_and_grad(objective, has_aux=True))
    (_, first), gradient = look(model, images, labels)
    weights = [float(jnp.abs(layer.weight[0]).max()) for layer in gradient[0].layers]
    yield exactly(weights, 0.0, "largest weight gradient per layer at zero, ReLU")
    yield at_least(
        float(jnp.abs(gradient[0].layers[-1].bias[0]).max()), 1e-3, "largest gradient of the output bias there"
    )
    orders = [jnp.arange(width)[::-1], jnp.roll(jnp.arange(width), 1)]
    moved = networks.permute_units(starts["constant, ReLU"], orders)
    same = all(bool(jnp.all(a.weight == constant * b.weight)) for a, b in zip(moved.layers, ones.layers, strict=True))
    yield exactly(same, True, "the constant start is its own image under permutations of its units")

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
    yield exactly(
        max(float(jnp.abs(layer.weight).max()) for layer in trained["zero, ReLU"].layers),
        0.0,
        "zero, ReLU: largest weight after training",
    )
    yield close(losses["zero, ReLU"][-1], entropy, "zero, ReLU: loss, against the entropy of the classes", atol=1e-3)
    for name in ("constant, ReLU", "zero, sigmoid"):
        second = [np.linalg.svd(np.asarray(layer.weight), compute_uv=False) for layer in trained[name].layers]
        yield at_most(
            [s[1] for s in second],
            [1e-9 * s[0] for s in second],
            f"{name}: second singular value of every layer",
            atol=1e-9,
        )
    symmetric = min(losses[name][-1] for name in starts if "random" not in name)
    yield at_most(
        losses["random, ReLU"][-1], symmetric, "loss from a random start, against the best of the others", strict=True
    )

    looks = np.arange(blocks + 1) * steps
    yield figure.beside(
        f"After {blocks * steps} steps the random start is at {losses['random, ReLU'][-1]:.2f}, equal units at "
        f"{symmetric:.2f} or above",
        figure.curves(
            "training loss", x="step", y="cross-entropy",
            points={name: (looks, values) for name, values in losses.items()},
            rules={f"entropy of the classes {entropy:.2f}": ("y", entropy)},
        ),
        figure.curves(
            "distinct units in the first hidden layer", x="step", y="distinct units",
            points={name: (looks, np.array(values)[:, 0]) for name, values in counts.items()}, log="y",
        ),
    )  # fmt: skip


def _distinct(net: networks.MLP) -> list[int]:
    """How many different units each hidden layer has, up to rounding."""
    return [
        len(np.unique(np.round(np.concatenate([layer.weight, layer.bias[:, None]], axis=1), 8), axis=0))
        for layer in net.layers[:-1]
    ]


@claim(
    "trainable-window",
    says=(
        "Of decades of weight scales only a window around He's trains a deep ReLU network in a fixed number of steps, "
        "and the window narrows with depth: at depth 5 a factor 2 either way does no harm, at depth 20 it "
        "stops learning."
    ),
    formula=r"\left|\log\frac{s}{s_{He}}\right| \lesssim \frac{c}{L}",
    sources=("eth", "penn"),
    assumes=("trained means: mean loss of all training images below a quarter of log 10",),
    slow="about 12 seconds",
    empirical=True,
)
def trainable_window(
    key,
    deep: Annotated[int, Range(18, 24)] = 20,
):
    """Width 32, digits, 300 Adam steps at 0.003 with batches of 64, three starts a scale, all with the same batches."""
    exponents = {5: (-3, -2, -1, 0, 1, 2, 3), deep: (-2, -1, -0.5, 0, 0.5, 1, 2)}
    limit = np.log(10) / 4
    ends = {depth: _final_losses(jax.random.fold_in(key, depth), depth, k) for depth, k in exponents.items()}
    medians = {depth: np.median(values, axis=0) for depth, values in ends.items()}
    inside = {depth: {k for k, m in zip(exponents[depth], medians[depth], strict=True) if m < limit} for depth in ends}
    yield exactly(
        {-1, 0, 1} <= inside[5], True, f"depth 5: scales 2⁻¹ to 2¹ train (those that do: {_listed(inside[5])})"
    )
    yield exactly(0 in inside[deep], True, f"depth {deep}: He's scale trains")
    far = [k for k in inside[deep] if abs(k) >= 1]
    yield exactly(len(far), 0, f"depth {deep}: scales that train a factor 2 or more away from He's")
    best = exponents[deep][int(np.argmin(medians[deep]))]
    yield at_most(abs(best), 1, f"depth {deep}: |log₂| of the best scale over He's")
    widths = {depth: _window(np.array(exponents[depth], float), medians[depth], limit) for depth in ends}
    yield at_most(widths[deep], widths[5] / 2, f"width of the window in log₂ s at depth {deep}, against half that at 5")

    common = [k for k in exponents[5] if k in exponents[deep]]
    table = [[medians[depth][exponents[depth].index(k)] for k in common] for depth in ends]
    yield figure.beside(
        f"The window of trainable scales spans {widths[5]:.1f} octaves at depth 5, {widths[deep]:.1f} at depth {deep}",
        figure.heatmap(
            f"log₁₀ of the final loss over {limit:.2f}: below 0 it trains", x="log₂ of the scale over He's", y="depth",
            values=np.clip(np.log10(np.array(table) / limit), -3, 3), xs=common, ys=[5, deep], colour="log₁₀",
            text=True, diverging=True,
        ),
        figure.curves(
            "median and range of three starts (cut at 10⁴)", x="log₂ of the scale over He's", y="final training loss",
            points={
                f"depth {depth}": (exponents[depth], *np.clip([np.median(e, 0), e.min(0), e.max(0)], 1e-4, 1e4))
                for depth, e in ends.items()
            },
            rules={"a quarter of log 10": ("y", limit)}, log="y",
        ),
    )  # fmt: skip


def _listed(exponents) -> str:
    return ", ".join(f"{k:g}" for k in sorted(exponents))


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

    def loss(net, images, labels):
        hidden = jax.nn.relu(images @ net["first"] + net["biases"][0])
        hidden, _ = jax.lax.scan(
            lambda h, layer: (jax.nn.relu(h @ layer[0] + layer[1]), None), hidden, (net["hidden"], net["biases"][1:])
        )
        scores = hidden @ net["last"] + net["shift"]
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(scores, labels))

    each = jax.vmap(loss, in_axes=(0, None, None))
    end, _ = minimise(
        lambda nets, *batch: jnp.sum(each(nets, *batch)), jax.tree.map(jnp.asarray, start), optax.adam(3e-3), 300,
        images, labels, batch=64, key=key,
    )  # fmt: skip
    final = np.asarray(jax.jit(each)(end, images, labels), float).reshape(seeds, -1)
    return np.where(np.isfinite(final), final, 1e6)


@claim(
    "init-scale-generalisation",
    says=(
        "Networks trained to the same training loss generalise worse from a large initial scale, where features hardly "
        "move, than from a small one, where they align with the target; the initial function is subtracted, so that "
        "only the scale differs."
    ),
    formula=r"f(x) = f_{\theta}(x) - f_{\theta_0}(x), \qquad \theta_0 = \alpha\,\theta_{unit}",
    sources=("penn",),
    assumes=("gradient descent, step size by scale, stopped at training loss 10⁻³",),
    empirical=True,
)
def init_scale_generalisation(
    key,
    dim: Annotated[int, Range(20, 24)] = 20,
    samples: Annotated[int, Range(150, 200)] = 200,
):
    """Target relu(x₁) − 0.4; 200 ReLU units without hidden bias, output bias; three seeds, all in one program."""
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
    train, test = (
        np.asarray(jax.jit(each)(end, origin, x[:, rows], y[:, rows]), float)
        for rows in (slice(0, samples), slice(samples, None))
    )
    moved = np.asarray(jnp.linalg.norm(end[0] - origin[0], axis=(2, 3)) / jnp.linalg.norm(origin[0], axis=(2, 3)))
    yield at_most(train, 1.5 * tolerance, "training loss at the stop, all runs")
    medians = np.median(test, axis=1)
    yield at_least(np.diff(medians), 0.0, "rise of the median test error from scale to scale", strict=True)
    yield at_least(medians[-1] / medians[0], 10, "median test error at scale 4 over that at 1/16")
    yield at_most(
        np.median(moved[-1]),
        0.1 * np.median(moved[0]),
        "relative motion of the first layer at 4, against a tenth of that at 1/16",
    )
    yield figure.curves(
        f"At training loss 0.001 the test error rises from {medians[0]:.4f} at scale 1/16 to {medians[-1]:.3f} at 4",
        x="initial scale α", y="test error",
        points={"median of 3 seeds, range": (scales, medians, test.min(axis=1), test.max(axis=1))},
        rules={"training loss": ("y", tolerance)}, log="xy",
    )  # fmt: skip
