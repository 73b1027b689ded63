"""Two trained networks: bringing their units into one order, and the loss on the line between them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import networks
from leadline.claims.scenarios.networks.digit_networks import accuracies, cross_entropy, digits, member, trained
from leadline.evidence import Int, OneOf, at_least, at_most, close, exactly, instrument, method
from leadline.presentation import figure


@method(sources=("eth", "penn"))
def unit_matching(key, width: Int(4, 128) = 64, layers: Int(1, 3) = 1, num_steps: Int(0, 1000) = 400):
    r"""Matching the hidden units of two networks.

    Network B is aligned to A by permuting its hidden units: layer by layer, the best permutation given the others is a
    linear assignment, repeated to a fixed point. The objective never falls and B's function stays the same. Pairing
    units by correlated outputs is the alternative.

    $$P_\ell \leftarrow \operatorname*{arg\,max}_P \langle A_\ell, P B_\ell P_{\ell-1}^\top \rangle + \langle a_\ell, P
    b_\ell \rangle + \langle A_{\ell+1}, P_{\ell+1} B_{\ell+1} P^\top \rangle$$

    Check: Two networks are trained on the digits from different starts, and a copy of the first has its units
    shuffled.
    """
    key_train, key_shuffle = jax.random.split(key)
    images = digits(jnp.float64)[2]
    stack = trained((64, *[width] * layers, 10), key_train, seeds=2, num_steps=max(num_steps, 1))
    a, b = (member(stack, i, jnp.float64) for i in range(2))
    planted = networks.random_permutations(a, key=key_shuffle)
    shuffled = networks.permute_units(a, planted)
    undone = np.concatenate([np.argsort(p) for p in planted])
    by_weights = np.concatenate(networks.match_weights(a, shuffled).permutations)
    yield exactly(by_weights, undone, "planted permutation, found by the weights").given(
        layers == 1, "there is one hidden layer, so that the assignment is the optimum"
    )
    started = networks.match_activations(a, shuffled, images)
    both = np.concatenate(networks.match_weights(a, shuffled, start=started.permutations).permutations)
    yield exactly(both, undone, "planted permutation, found by the outputs and then by the weights")
    found = networks.match_weights(a, b)
    by_output = networks.match_activations(a, b, images)
    size = abs(found.objective[-1])
    yield at_least(np.diff(found.objective), 0.0, "change of the objective in each sweep", atol=1e-12 * size)
    outputs = jax.vmap(b)(images)
    scale = float(jnp.abs(outputs).max())
    for name, moved in (("weights", found.network), ("outputs", by_output.network)):
        yield close(jax.vmap(moved)(images), outputs, f"outputs of B matched by {name}", atol=1e-12 * scale)
    again = np.concatenate(networks.match_weights(a, found.network).permutations)
    yield exactly(
        again, np.tile(np.arange(width), layers), "units that matching pairs with those of the matched B"
    ).given(layers == 1, "there is one hidden layer, so that the fixed point is the optimum")
    before, after = (networks.unit_correlations(a, net, images)[0].diagonal() for net in (b, by_output.network))
    what = "sum of the correlations of paired units, first layer, against B as it was"
    yield at_least(after.sum(), before.sum(), what)
    shown, pair = min(width, 32), np.arange(width)
    moved = np.zeros((shown, width))
    moved[np.arange(shown), found.permutations[0][:shown]] = 1
    assignment = f"Assignment of {shown} units of A, {len(found.objective) - 1} sweeps"
    points = {"as trained": (pair, np.sort(before)), "matched": (pair, np.sort(after))}
    yield figure.beside(
        f"Matched units correlate: mean {after.mean():.2f} after, {before.mean():.2f} before",
        figure.heatmap(assignment, "unit of B", "unit of A", values=moved, colour="paired"),
        figure.curves("Correlation of paired units, first layer", "pair, sorted", "correlation", points=points),
    )


@instrument(sources=("eth", "penn"), shows=("networks.interpolate",), empirical=True)
def linear_interpolation_barrier(
    key, width: Int(64, 128) = 64, layers: OneOf(1, 2) = 2, init: OneOf("pytorch", "lecun") = "pytorch"
):
    r"""Loss barrier on the line between networks.

    The barrier between two networks is the largest amount by which the loss on the straight line between them exceeds
    the chord. Digit networks from two seeds have a high one; once the units of one are matched to the other's, it is
    less than a fifth of that.

    $$\max_{\alpha} \left[ L((1-\alpha) A + \alpha B) - (1-\alpha) L(A) - \alpha L(B) \right]$$

    Check: Five networks are trained by 3000 steps of Adam with step size 10⁻³ on batches of 64; the five pairs of
    neighbours around a ring are compared.
    """
    seeds = 5
    images, labels, test_images, test_labels = digits()
    stack = trained((64, *[width] * layers, 10), key, seeds=seeds, num_steps=3000, init=init)
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
    ends = [found[0].losses[[0, -1]] for found in (matched, naive)]
    yield close(*ends, "loss at the two ends, matched against naive", rtol=1e-3)
    points = {}
    for name, found in {"naive": naive, "matched": matched}.items():
        losses = np.array([line.losses for line in found])
        points[name] = (found[0].alphas, losses.mean(0), losses.min(0), losses.max(0))
    title = f"Matching the units lowers the mean barrier from {before.mean():.2f} to {after.mean():.3f}"
    yield figure.curves(title, "α, from A to B", "training loss", points=points)
