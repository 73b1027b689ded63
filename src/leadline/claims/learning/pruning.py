"""Networks with weights removed: at random, by size, or anew at every step."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks
from leadline.evidence import Range, at_least, at_most, exactly, figure, method
from leadline.training import minimise


@method(
    "random-pruning",
    says=(
        "Three different things are called pruning: training under a fixed random mask, which shrinks the class; "
        "removing the smallest weights after training; and a new mask at every step (dropout), which keeps them all."
    ),
    formula=(
        r"w \leftarrow m \odot w: \quad m \text{ fixed},\ \ m = 1\{|w| \ge t\} \text{ after training},\ \ m_t \text{ "
        r"new at each step}"
    ),
    sources=("cam",),
    shows=(
        "learning.random_mask", "learning.magnitude_mask", "learning.apply_mask", "learning.train_masked",
        "learning.train_with_fresh_masks",
    ),
)  # fmt: skip
def random_pruning(
    key,
    width: Annotated[int, Range(16, 64)] = 32,
    samples: Annotated[int, Range(100, 400)] = 200,
    steps: Annotated[int, Range(50, 200)] = 100,
):
    """One hidden layer on a part of the digits; every share in one program."""
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
    fixed, _ = learning.train_masked(risks, copies, masks, rule, steps, train_x, train_y)
    fresh, _ = jax.jit(
        jax.vmap(
            lambda share: learning.train_with_fresh_masks(
                risk, net, share, rule, steps, train_x, train_y, key=key_fresh
            )
        )
    )(shares)
    dense, _ = minimise(risk, net, rule, steps, train_x, train_y)
    chosen = [learning.magnitude_mask(dense, float(share)) for share in shares]
    chosen = jax.tree.map(lambda *w: jnp.stack(w), *chosen)
    cut = jax.vmap(learning.apply_mask, in_axes=(None, 0))(dense, chosen)
    again, _ = learning.train_masked(risks, cut, chosen, rule, steps, train_x, train_y)

    for name, (trained, mask) in {"fixed mask": (fixed, masks), "retrained after pruning": (again, chosen)}.items():
        removed = [
            np.asarray(w.weight)[np.asarray(m.weight) == 0] for w, m in zip(trained.layers, mask.layers, strict=True)
        ]
        yield exactly(
            float(max(np.abs(r).max() for r in removed)), 0.0, f"{name}: largest removed weight after training"
        )
    counts = sum(np.asarray(m.weight).reshape(len(shares), -1).sum(axis=1) for m in chosen.layers)
    total = sum(layer.weight.size for layer in net.layers)
    yield exactly(counts, total - np.round(np.asarray(shares) * total), "weights that magnitude pruning keeps")
    for name, trained in {"fixed mask": fixed, "new masks": fresh}.items():
        gap = max(
            float(jnp.abs(w.weight[0] - v.weight).max()) for w, v in zip(trained.layers, dense.layers, strict=True)
        )
        yield at_most(gap, 1e-6, f"{name}, share 0: largest difference from the dense run's weights")
    whole = min(int(np.count_nonzero(np.abs(np.asarray(layer.weight[-1])) > 0)) for layer in fresh.layers)
    yield at_least(whole, 1, "new masks: weights that are not 0 after training, largest share")

    # Unit balls of linear functions on the masked pixels are nested, so that the largest gap between their mean
    # losses -y w·x (y = ±1 for even and odd digits) on the two samples can only fall: it is a norm.
    means = [
        jnp.mean(jnp.where(y % 2 == 0, 1.0, -1.0)[:, None] * x, axis=0)
        for x, y in ((train_x, train_y), (test_x, test_y))
    ]
    pixels = jax.vmap(lambda share: learning.random_mask(jnp.ones((1, 64)), share, key=key_mask)[0])(shares)
    gaps = np.asarray(jnp.linalg.norm(pixels * (means[0] - means[1]), axis=1))
    yield at_most(np.diff(gaps), 0.0, "rise of the uniform gap of masked linear functions with the share removed")

    each = jax.jit(jax.vmap(risk, in_axes=(0, None, None)))
    runs = {
        "fixed random mask": fixed,
        "smallest weights after training": cut,
        "the same, retrained": again,
        "new mask each step": fresh,
    }
    test = {name: np.asarray(each(nets, test_x, test_y)) for name, nets in runs.items()}
    percent = 100 * np.asarray(shares)
    yield figure.beside(
        f"Removing {percent[3]:.0f}% of the weights: test risk {test['fixed random mask'][3]:.2f} under a fixed mask, "
        f"{test['smallest weights after training'][3]:.2f} by size, {test['the same, retrained'][3]:.2f} retrained, "
        f"{test['new mask each step'][3]:.2f} with new masks (dense: {test['fixed random mask'][0]:.2f})",
        figure.curves(
            "risk on 500 test digits", x="share removed, %", y="test cross-entropy",
            points={name: (percent, values) for name, values in test.items()}, log="y",
        ),
        figure.curves(
            "uniform gap of linear functions on masked pixels", x="share removed, %", y="largest gap",
            lines={"gap without a mask · √(1 − share)": (percent, gaps[0] * np.sqrt(1 - percent / 100))},
            points={"measured": (percent, gaps)},
        ),
    )  # fmt: skip
