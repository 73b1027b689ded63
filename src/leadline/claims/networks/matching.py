"""Two trained networks: bringing their units into one order, and the loss on the line between them."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks
from leadline.claims.networks.digit_networks import accuracies, cross_entropy, digits, member, trained
from leadline.evidence import Choice, Range, at_least, at_most, close, exactly, figure, instrument, method


@method(
    "unit-matching",
    says=(
        "Network B is aligned to A by permuting its hidden units: layer by layer, the best permutation given the "
        "others is a linear assignment, repeated to a fixed point. The objective never falls and B's function stays "
        "the same. Pairing units by correlated outputs is the alternative."
    ),
    formula=(
        r"P_\ell \leftarrow \max_P \langle A_\ell, P B_\ell P_{\ell-1}^\top \rangle + \langle a_\ell, P b_\ell \rangle"
        r" + \langle A_{\ell+1}, P_{\ell+1} B_{\ell+1} P^\top \rangle"
    ),
    sources=("eth", "penn"),
    shows=(
        "networks.match_weights",
        "networks.match_activations",
        "networks.Matching",
        "networks.unit_correlations",
        "networks.permute_units",
        "networks.random_permutations",
    ),
)
def unit_matching(
    key,
    width: Annotated[int, Range(4, 128)] = 64,
    layers: Annotated[int, Range(1, 3)] = 1,
    steps: Annotated[int, Range(0, 1000)] = 400,
):
    """Two networks trained on the digits from different starts, and a copy of the first with its units shuffled."""
    key_train, key_shuffle = jax.random.split(key)
    images = digits(jnp.float64)[2]
    stack = trained((64, *[width] * layers, 10), key_train, seeds=2, steps=max(steps, 1))
    a, b = (member(stack, i, jnp.float64) for i in range(2))

    planted = networks.random_permutations(a, key=key_shuffle)
    shuffled = networks.permute_units(a, planted)
    undone = [np.argsort(np.asarray(p)) for p in planted]
    one_layer = networks.match_weights(a, shuffled)
    yield exactly(
        np.concatenate(one_layer.permutations), np.concatenate(undone), "planted permutation, by weights"
    ).given(layers == 1, "there is one hidden layer, so that the assignment is the optimum")
    started = networks.match_activations(a, shuffled, images)
    both = networks.match_weights(a, shuffled, start=started.permutations)
    yield exactly(
        np.concatenate(both.permutations), np.concatenate(undone), "planted permutation, by outputs and then by weights"
    )

    found = networks.match_weights(a, b)
    by_output = networks.match_activations(a, b, images)
    size = abs(found.objective[-1])
    yield at_least(np.diff(found.objective), 0.0, "change of the objective in each sweep", atol=1e-12 * size)
    outputs = jax.vmap(b)(images)
    scale = float(jnp.abs(outputs).max())
    for name, moved in (("weights", found.network), ("outputs", by_output.network)):
        yield close(jax.vmap(moved)(images), outputs, f"outputs of B matched by {name}", atol=1e-12 * scale)
    again = networks.match_weights(a, found.network)
    yield exactly(
        np.concatenate(again.permutations), np.tile(np.arange(width), layers), "units moved by matching the matched B"
    ).given(layers == 1, "there is one hidden layer, so that the fixed point is the optimum")

    before, after = (networks.unit_correlations(a, net, images)[0].diagonal() for net in (b, by_output.network))
    yield at_least(
        after.sum(), before.sum(), "sum of the correlations of paired units, first layer, against B as it was"
    )
    shown = min(width, 32)
    moved = np.zeros((shown, width))
    moved[np.arange(shown), found.permutations[0][:shown]] = 1
    yield figure.beside(
        f"Matched units correlate: mean {after.mean():.2f} after, {before.mean():.2f} before",
        figure.heatmap(
            f"Assignment of {shown} units of A, {len(found.objective) - 1} sweeps",
            x="unit of B", y="unit of A", values=moved, colour="paired",
        ),
        figure.curves(
            "Correlation of the paired units of the first layer",
            x="pair, sorted", y="correlation",
            points={
                "as trained": (np.arange(width), np.sort(before)),
                "matched": (np.arange(width), np.sort(after)),
            },
        ),
    )  # fmt: skip


@instrument(
    "linear-interpolation-barrier",
    says=(
        "The barrier between two networks is the most by which the loss on the straight line between them exceeds the "
        "chord. Digit networks from two seeds have a high one; once the units of one are matched to the other's, it is "
        "less than a fifth."
    ),
    formula=r"\max_{\alpha} \left[ L((1-\alpha) A + \alpha B) - (1-\alpha) L(A) - \alpha L(B) \right]",
    sources=("eth", "penn"),
    shows=("networks.barrier", "networks.Barrier", "networks.interpolate", "networks.match_weights"),
    empirical=True,
)
def linear_interpolation_barrier(
    key,
    width: Annotated[int, Range(64, 128)] = 64,
    layers: Annotated[int, Choice(1, 2)] = 2,
    init: Annotated[str, Choice("pytorch", "lecun")] = "pytorch",
):
    """Five networks, 3000 steps of Adam at 1e-3 in batches of 64; the five pairs of neighbours around a ring."""
    seeds = 5
    images, labels, test_images, test_labels = digits()
    stack = trained((64, *[width] * layers, 10), key, seeds=seeds, steps=3000, init=init)
    loss = eqx.filter_jit(cross_entropy)
    naive, matched, tested = [], [], []
    for i in range(seeds):
        a, b = member(stack, i), member(stack, (i + 1) % seeds)
        c = networks.match_weights(a, b).network
        naive.append(networks.barrier(loss, a, b, images, labels))
        matched.append(networks.barrier(loss, a, c, images, labels))
        tested.append([networks.barrier(loss, a, net, test_images, test_labels).height for net in (b, c)])
    before, after = (np.array([found.height for found in side]) for side in (naive, matched))
    tested = np.array(tested)
    mean_ratio = after.mean() / before.mean()
    yield at_least(accuracies(stack, test_images, test_labels), 0.95, "test accuracy of each network")
    yield at_most(mean_ratio, 0.2, "matched over naive train barrier, means of 5 pairs")
    yield at_most(mean_ratio, 0.1, "matched over naive train barrier, against a tenth").given(
        layers == 2 and init == "pytorch", "two hidden layers started by PyTorch's rule, the demonstrated architecture"
    )
    yield at_most(tested[:, 1].mean() / tested[:, 0].mean(), 0.2, "matched over naive test barrier, means of 5 pairs")
    ends = [naive[0].losses[0], naive[0].losses[-1]]
    yield close(
        [matched[0].losses[0], matched[0].losses[-1]], ends, "loss at the two ends, matched against naive", rtol=1e-3
    )

    shape = "-".join(map(str, (64, *[width] * layers, 10)))
    lines = {"naive": naive, "matched": matched}
    yield figure.curves(
        f"{shape}: matching the units lowers the mean barrier from {before.mean():.2f} to {after.mean():.3f}",
        x="α, from A to B",
        y="training loss",
        points={
            name: (
                found[0].alphas,
                np.mean([f.losses for f in found], 0),
                np.min([f.losses for f in found], 0),
                np.max([f.losses for f in found], 0),
            )
            for name, found in lines.items()
        },
    )
