"""Networks with weights removed: at random, by size, or anew at every step."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks
from leadline.evidence import Int, at_least, at_most, exactly, method
from leadline.learning.pruning import train_with_fresh_masks
from leadline.presentation import figure
from leadline.training import minimise


@method(sources=("cam",))
def random_pruning(key, width: Int(16, 64) = 32, samples: Int(100, 400) = 200, num_steps: Int(50, 200) = 100):
    r"""Random masks, magnitude pruning and dropout.

    Three different things are called pruning: training under a fixed random mask, which shrinks the class; removing
    the smallest weights after training; and a new mask at every step (dropout), which keeps all weights.

    $$w \leftarrow m \odot w: \quad m \text{ fixed},\ \ m = 1\{|w| \ge t\} \text{ after training},\ \ m_t \text{ new at
    each step}$$
    """
    key_net, key_mask, key_fresh = jax.random.split(key, 3)
    train_x, train_y, test_x, test_y = data.digits_split()
    train_x, train_y = jnp.asarray(train_x[:samples]), jnp.asarray(train_y[:samples])
    test_x, test_y = jnp.asarray(test_x), jnp.asarray(test_y)
    shares = jnp.array([0.0, 0.25, 0.5, 0.75, 0.9, 0.97])
    net = networks.MLP((64, width, 10), key=key_net)

    def risk(net, images, labels):
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(images), labels))

    def risks(nets, images, labels):
        return jnp.sum(jax.vmap(risk, in_axes=(0, None, None))(nets, images, labels))

    rule = optax.adam(1e-2)
    copies = jax.tree.map(lambda w: jnp.stack([w] * len(shares)), net)
    masks = jax.vmap(lambda share: learning.random_mask(net, share, key=key_mask))(shares)
    # Adam moves each weight by itself, so that the sum of the risks trains every network as if it were alone.
    fixed, _ = learning.train_masked(risks, copies, masks, rule, num_steps, train_x, train_y)
    new_masks = lambda share: train_with_fresh_masks(  # noqa: E731
        risk, net, share, rule, num_steps, train_x, train_y, key=key_fresh
    )
    fresh, _ = jax.jit(jax.vmap(new_masks))(shares)
    dense, _ = minimise(risk, net, rule, num_steps, train_x, train_y)
    chosen = [learning.magnitude_mask(dense, float(share)) for share in shares]
    chosen = jax.tree.map(lambda *w: jnp.stack(w), *chosen)
    cut = jax.vmap(learning.apply_mask, in_axes=(None, 0))(dense, chosen)
    again, _ = learning.train_masked(risks, cut, chosen, rule, num_steps, train_x, train_y)

    for name, (trained, mask) in {"fixed mask": (fixed, masks), "retrained after pruning": (again, chosen)}.items():
        pairs = zip(trained.layers, mask.layers, strict=True)
        removed = [np.abs(w.weight[m.weight == 0]).max() for w, m in pairs]
        yield exactly(max(removed), 0.0, f"{name}: largest removed weight after training")
    counts = sum(np.asarray(m.weight).reshape(len(shares), -1).sum(axis=1) for m in chosen.layers)
    total = sum(layer.weight.size for layer in net.layers)
    yield exactly(counts, total - np.round(np.asarray(shares) * total), "weights that magnitude pruning keeps")
    for name, trained in {"fixed mask": fixed, "new masks": fresh}.items():
        pairs = zip(trained.layers, dense.layers, strict=True)
        gap = max(jnp.abs(w.weight[0] - v.weight).max() for w, v in pairs)
        yield at_most(gap, 1e-6, f"{name}, share 0: largest difference from the dense run's weights")
    whole = min(np.count_nonzero(layer.weight[-1]) for layer in fresh.layers)
    yield at_least(whole, 1, "new masks: weights that are not 0 after training, largest share")

    # Unit balls of linear functions on the masked pixels are nested, so that the largest gap between their mean
    # losses -y w·x (y = ±1 for even and odd digits) on the two samples can only fall: it is a norm.
    signed = (jnp.where(y % 2 == 0, 1.0, -1.0)[:, None] * x for x, y in ((train_x, train_y), (test_x, test_y)))
    seen, unseen = (rows.mean(axis=0) for rows in signed)
    pixels = jax.vmap(lambda share: learning.random_mask(jnp.ones((1, 64)), share, key=key_mask)[0])(shares)
    gaps = np.asarray(jnp.linalg.norm(pixels * (seen - unseen), axis=1))
    yield at_most(np.diff(gaps), 0.0, "rise of the uniform gap of masked linear functions with the share removed")

    each = jax.jit(jax.vmap(risk, in_axes=(0, None, None)))
    names = ("fixed random mask", "smallest weights after training", "the same, retrained", "new mask each step")
    test = {
        n: np.asarray(each(nets, test_x, test_y)) for n, nets in zip(names, (fixed, cut, again, fresh), strict=True)
    }
    percent = 100 * np.asarray(shares)
    points = {name: (percent, values) for name, values in test.items()}
    title = "risk on 500 test digits"
    pruned = figure.curves(title, "share removed, %", "test cross-entropy", points=points, log="y")
    lines = {"gap without a mask · √(1 − share)": (percent, gaps[0] * np.sqrt(1 - percent / 100))}
    points, title = {"measured": (percent, gaps)}, "uniform gap of linear functions on masked pixels"
    uniform = figure.curves(title, "share removed, %", "largest gap", lines=lines, points=points)
    mask, size, retrained, anew = (test[name][3] for name in names)
    title = (
        f"Removing {percent[3]:.0f}% of the weights: test risk {mask:.2f} under a fixed mask, {size:.2f} by size, "
        f"{retrained:.2f} retrained, {anew:.2f} with new masks (dense: {test[names[0]][0]:.2f})"
    )
    yield figure.beside(title, pruned, uniform)
