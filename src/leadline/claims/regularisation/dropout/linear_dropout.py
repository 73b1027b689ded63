"""Dropout on the inputs of a linear model: moments, the weighted ridge that it is, and masks of weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, regularisation, training
from leadline.evidence import Int, Real, at_least, claim, close, mean
from leadline.presentation import figure

RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
RUNS = 16  # of stochastic descent for each rate
STEPS = 2000
KEPT = 500  # of them, the last, are averaged


@claim(sources=("penn",), shows=("regularisation.masked_moments", "regularisation.mask_ensemble"))
def dropout_mask_moments(key, samples: Int(1, 20) = 8, dim: Int(1, 12) = 6, keep: Real(0.05, 1.0) = 0.5):
    r"""Moments of masked inputs.

    A mask keeps each entry of X with probability π, independently. The mean of the masked inputs is πX. Their second
    moment is π²XᵀX away from the diagonal and πXᵀX on it: more than the square of the mean, by π(1 − π) diag(XᵀX).

    $$E[R \circ X] = \pi X, \qquad E[(R \circ X)^\top (R \circ X)]_{ij} = \pi^2 (X^\top X)_{ij} \; (i \ne j), \quad \pi
    (X^\top X)_{ii}$$

    Check: The sum over all masks of a row, each with its probability, row by row.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    found = regularisation.masked_moments(x, keep)
    rows = jnp.asarray(x)
    firsts = regularisation.mask_ensemble(lambda b: rows * b, np.full(dim, keep)).mean
    seconds = regularisation.mask_ensemble(lambda b: (rows * b).T @ (rows * b), np.full(dim, keep)).mean
    size = np.abs(x.T @ x).max()
    yield close(found.mean, firsts, "πX, against the mean over all masks", atol=1e-12 * size)
    yield close(found.second, seconds, "second moments, against the mean over all masks", atol=1e-12 * size)
    yield close(
        np.asarray(seconds) - keep**2 * (x.T @ x),
        keep * (1 - keep) * np.diag(np.diag(x.T @ x)),
        "second moments over all masks, less π²XᵀX: π(1 − π) diag(XᵀX)",
        atol=1e-12 * size,
    )
    numbers = list(range(1, dim + 1))
    panels = [
        figure.heatmap(name, "feature", "feature", values=values, xs=numbers, ys=numbers, colour=colour, diverging=True)
        for name, values, colour in (
            ("all masks", np.asarray(seconds), "moment"),
            ("formula", found.second, "moment"),
            ("all masks, less π²XᵀX", np.asarray(seconds) - keep**2 * (x.T @ x), "difference"),
        )
    ]
    title = f"Masks with π = {keep:.2g} add π(1 − π) = {keep * (1 - keep):.2g} of the diagonal of XᵀX, and nothing else"
    yield figure.beside(title, *panels, columns=3)


@claim(sources=("penn", "sheet"), shows=("regularisation.dropout_ridge", "regularisation.dropout_loss"))
def dropout_is_weighted_ridge(key, samples: Int(40, 100) = 50, dim: Int(2, 8) = 5, rate: Real(0.05, 0.9) = 0.5):
    r"""Dropout in linear regression is a weighted ridge.

    Averaged over masks, the squared error of linear regression with dropout on its inputs is the squared error of the
    scaled weights w̃ = πw plus a ridge that weighs each feature by its own squared norm. So predictions do not depend on
    the units of the features, as those of a ridge do.

    $$E_R\|y - (R \circ X) w\|^2 = \|y - X\tilde w\|^2 + \tfrac{1-\pi}{\pi}\, \tilde w^\top \mathrm{diag}(X^\top X)\,
    \tilde w, \qquad \tilde w^* = \left(X^\top X + \tfrac{1-\pi}{\pi} \mathrm{diag}(X^\top X)\right)^{-1} X^\top y$$

    Assumes: squared error; masks independent of everything else.

    Check: All masks of each row, summed with their probabilities; and descent with inverted dropout at five rates,
    16 runs each, whose iterates have the mean w̃* once the start is forgotten, since the gradient is linear in w.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim)) @ (np.eye(dim) + 0.3 * rng.normal(size=(dim, dim)) / np.sqrt(dim))
    y = x @ rng.normal(size=dim) + rng.normal(size=samples)
    keep, w = 1 - rate, rng.normal(size=dim)
    rows, targets, weights = jnp.asarray(x), jnp.asarray(y), jnp.asarray(w)
    masked = regularisation.mask_ensemble(
        lambda b: jnp.sum((targets - (rows * b) @ weights) ** 2), np.full(dim, keep)
    ).mean
    loss = regularisation.dropout_loss(x, y, w, keep)
    yield close(loss.value, masked, "squared error and penalty, against the mean over all masks", rtol=1e-12)
    best = regularisation.dropout_ridge(x, y, keep)
    gram = x.T @ x
    solved = np.linalg.solve(gram + rate / keep * np.diag(np.diag(gram)), x.T @ y)
    yield close(best, solved, "minimiser, against the solved equation", atol=1e-10 * np.abs(solved).max())
    units = 10.0 ** rng.uniform(-2, 2, dim)
    there = (x * units) @ regularisation.dropout_ridge(x * units, y, keep)
    what = "predictions with dropout in other units, against the old ones"
    yield close(there, x @ best, what, atol=1e-9 * np.abs(y).max())
    alpha = rate / keep * float(np.mean(np.diag(gram))) / samples
    ridges = [learning.ridge(z, y, alpha, intercept=False) for z in (x, x * units)]
    change = np.abs((x * units) @ ridges[1].weights - x @ ridges[0].weights).max()
    yield at_least(change, 1e-3 * np.abs(y).max(), "largest change of a ridge's predictions in other units")
    path = np.array([regularisation.dropout_ridge(x, y, 1 - p) for p in RATES])
    ends = _descents(x, y, key)
    signs = rng.choice([-1.0, 1.0], dim)
    for p, runs, exact in zip(RATES, ends, path, strict=True):
        what = f"p = {p:g}: coefficients after descent with dropout, with signs drawn, against w̃*"
        yield mean(runs @ signs, exact @ signs, what, confidence=1 - 0.001 / len(RATES))
    grid = np.linspace(0.0, 0.95, 60)
    line = np.array([regularisation.dropout_ridge(x, y, 1 - p) for p in grid])
    lines = {f"w̃{'₁₂₃₄₅₆₇₈'[j]}": (grid, line[:, j]) for j in range(dim)}
    points = {f"w̃{'₁₂₃₄₅₆₇₈'[j]}": (RATES, ends.mean(axis=1)[:, j]) for j in range(dim)}
    title = "Descent with dropout (points) ends on the path of the weighted ridge (lines)"
    yield figure.curves(title, "dropout rate p", "coefficient w̃", lines=lines, points=points)


def _descents(x, y, key):
    """The mean of the last iterates of descent with inverted dropout, for each rate and run: (rates, runs, d)."""
    rates = np.array(RATES)
    steps = 0.3 * (1 - rates) / np.mean(np.sum(x**2, axis=1))
    keys = jax.random.split(key, (len(rates), RUNS))
    run = jax.vmap(jax.vmap(_descent, (None, None, None, None, 0)), (None, None, 0, 0, 0))
    return np.asarray(eqx.filter_jit(run)(jnp.asarray(x), jnp.asarray(y), jnp.asarray(rates), jnp.asarray(steps), keys))


def _descent(x, y, rate, step_size, key):
    dropout = eqx.tree_at(lambda layer: layer.p, regularisation.Dropout(0.5), rate)

    def loss(w, batch, key, state):
        return (y - dropout(x, key=key) @ w) ** 2 / 2, state

    ran = training.scan_steps(
        loss,
        jnp.zeros(x.shape[1]),
        optax.sgd(step_size),
        None,
        num_steps=STEPS,
        key=key,
        measure=lambda seen: seen.after.parameters,
    )
    return ran.measured[-KEPT:].mean(axis=0)


@claim(sources=("penn",), shows=("regularisation.Dropout", "regularisation.sub_network"))
def dropout_masks_inputs_or_weights(key, batch: Int(2, 64) = 12, inputs: Int(2, 12) = 8, outputs: Int(1, 5) = 1):
    r"""Masked inputs are masked weights.

    Setting inputs of a linear layer to 0 is the same as setting columns of its weights to 0. With a mask for each
    example, a batch passes through a committee of linear models with masked weights, one for each example, and the
    gradient of each reaches only the weights that its mask keeps.

    $$\sum_i w_i\,(x_i r_i) = \sum_i (w_i r_i)\, x_i$$

    Check: The layer `Dropout` before a linear layer, against `sub_network` with the masks that the same keys draw;
    outputs, gradients, and the mean over all masks.
    """
    rng = data.generator(key)
    layer = eqx.nn.Linear(inputs, outputs, use_bias=False, dtype=jnp.float64, key=key)
    x, keys = jnp.asarray(rng.normal(size=(batch, inputs))), jax.random.split(key, batch)
    dropout = regularisation.Dropout(0.5)
    masks = jax.vmap(lambda k: dropout(jnp.ones(inputs), key=k))(keys)

    def of_inputs(layer, x, key):
        return layer(dropout(x, key=key))

    def of_weights(layer, x, mask):
        return regularisation.sub_network(layer, [mask])(x)

    size = float(jnp.abs(layer.weight).sum() * jnp.abs(x).max())
    by_inputs = jax.vmap(of_inputs, (None, 0, 0))(layer, x, keys)
    by_weights = jax.vmap(of_weights, (None, 0, 0))(layer, x, masks)
    yield close(
        by_inputs, by_weights, "outputs with masked inputs, against those with masked weights", atol=1e-13 * size
    )
    of_each = jax.vmap(jax.grad(lambda m, x, k: jnp.sum(of_inputs(m, x, k) ** 2)), (None, 0, 0))(layer, x, keys).weight
    same = jax.vmap(jax.grad(lambda m, x, b: jnp.sum(of_weights(m, x, b) ** 2)), (None, 0, 0))(layer, x, masks).weight
    what = "gradients of each example's squared outputs, by the two routes"
    yield close(of_each, same, what, atol=1e-12 * size**2)
    dropped = np.broadcast_to(np.asarray(masks == 0)[:, None], of_each.shape)
    what = "gradient at the weights that an example's mask drops, relative"
    reached = np.abs(np.where(dropped, np.asarray(of_each), 0.0)).max()
    yield close(reached / size**2, 0.0, what, atol=1e-15)
    committee = regularisation.mask_ensemble(
        lambda b: jax.vmap(of_weights, (None, 0, None))(layer, x, 2 * b), np.full(inputs, 0.5)
    )
    what = "mean over all members of the committee, against the whole layer"
    yield close(committee.mean, jax.vmap(layer)(x), what, atol=1e-12 * size)
    shown = min(batch, 16)
    names, rows = list(range(1, inputs + 1)), list(range(1, shown + 1))
    masked = np.asarray(x * masks)[:shown]
    members = np.asarray(layer.weight[0] * masks)[:shown]
    panels = [
        figure.heatmap(name, "feature i", "example", values=values, xs=names, ys=rows, colour=colour, diverging=True)
        for name, values, colour in (("masked inputs", masked, "x·r"), ("masked weights", members, "w·r"))
    ]
    yield figure.beside("One batch: the same masks on the inputs, or on the weights of one model each", *panels)
