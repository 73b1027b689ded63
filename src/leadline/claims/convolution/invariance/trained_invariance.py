"""What pooling does to trained classifiers of digits: heads, amounts of pooling, and changes that keep the class."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, networks, regularisation
from leadline.claims.scenarios.convolution.framed_digits import SIDE, framed_digits
from leadline.claims.scenarios.convolution.shifted_digits import framed_classifier, framed_scores, pooled_networks
from leadline.evidence import Int, at_least, at_most, claim, frequency
from leadline.presentation import figure

HEADS = {"pooled": "maximum of each channel", "dense head": "dense layer on all positions", "one number": "one mean"}


@claim(sources=("penn",), shows=("convolution.ConvNetwork", "convolution.circular_shifts"))
def shift_invariant_head(key, images: Int(2, 10) = 4, tested: Int(200, 500) = 500):
    r"""A head that pools over positions is invariant to shifts.

    Behind layers that move with the image, the maximum or mean of every channel over all positions does not change when
    the image is shifted around its ends, whatever the weights. A dense head has another weight for every position and
    changes. All positions and channels in one number is invariant too, and cannot tell ten classes apart as well.

    $$\max_p h_c(S x)_p = \max_p h_c(x)_p, \qquad \sum_{c, p} w_{cp} h_c(S x)_p \ne \sum_{c, p} w_{cp} h_c(x)_p$$

    Assumes: circular convolutions at stride 1; circular shifts.

    Check: Three trained networks of framed digits with the same convolutions, under all 144 shifts, in single
    precision. Accuracies are those of one training and an observation.
    """
    *_, test_x, test_y = framed_digits()
    chosen = data.generator(key).permutation(len(test_y))[:images]
    shifts = [(i, j) for i in range(SIDE) for j in range(SIDE)]
    moved = np.stack([np.roll(test_x[chosen], s, axis=(1, 2)) for s in shifts]).reshape(-1, SIDE, SIDE)
    spread, right, rows = {}, {}, {}
    for head, name in HEADS.items():
        net = framed_classifier(head)
        scores = np.asarray(framed_scores(net, moved), float).reshape(len(shifts), images, 10)
        size = np.abs(scores).max()
        spread[head] = np.abs(scores - scores[0]).max()
        rows[name] = scores[:SIDE, 0, test_y[chosen[0]]]
        right[head] = int((np.asarray(framed_scores(net, test_x[:tested])).argmax(1) == test_y[:tested]).sum())
        if head != "dense head":
            what = f"{name}: largest change of a score over all shifts, as a share of the largest score"
            yield at_most(spread[head] / size, 1e-5, what)
    what = "dense layer on all positions: largest change of a score over all shifts, order 1"
    yield at_least(spread["dense head"], 1.0, what)
    share = {head: n / tested for head, n in right.items()}
    what = "maximum of each channel: accuracy on test digits, 0.98 or more"
    yield frequency(right["pooled"], tested, 0.98, what, side="at least").as_empirical()
    what = "accuracy lost when one number is all that the head sees: 0.1 or more"
    yield at_least(share["pooled"] - share["one number"], 0.1, what).as_empirical()
    points = {name: (np.arange(SIDE), values) for name, values in rows.items()}
    title = f"Per-channel maxima: no change under shifts, accuracy {share['pooled']:.3f}"
    title += f"; one number: {share['one number']:.3f}"
    yield figure.curves(title, "shift to the right, pixels", "score of the true class", points=points)


@claim(sources=("penn",), empirical=True, shows=("convolution.PoolLayer", "convolution.ConvNetwork"))
def pooling_tradeoff(key, seeds: Int(3, 6) = 4, shift: Int(1, 2) = 1):
    r"""More pooling: more robust to shifts, less information.

    With maxima over larger windows before a dense head, shifts of the image matter less, and less of the image is left:
    what a linear decoder can recover of it falls, and with it, in the end, the accuracy.

    $$\mathrm{stride}\ s \in \{1, 2, 4, 8\}: \quad \min_{A} \mathbb{E}\|A z_s(x) - x\|^2 \text{ grows with } s$$

    Check: Networks of 8 × 8 digits with 16 circular 3 × 3 maps, maxima of s × s windows and a dense layer; `seeds`
    trainings of each. The decoder is fitted by least squares to training digits and judged on test digits; digits are
    shifted around their ends. Differences are means over seeds with 95% intervals.
    """
    strides = (1, 2, 4, 8)
    x, _, test_x, test_y = data.digits_split()
    images = jnp.asarray(test_x.reshape(-1, 1, 8, 8), jnp.float32)
    moves = [(0, shift), (0, -shift), (shift, 0), (-shift, 0)]
    clean, shifted, lost = np.zeros((3, len(strides), seeds))
    for row, stride in enumerate(strides):
        nets = pooled_networks(stride, seeds)
        clean[row] = _accuracies(nets, images, test_y)
        shifted[row] = np.mean([_accuracies(nets, jnp.roll(images, s, (2, 3)), test_y) for s in moves], axis=0)
        lost[row] = _decoding_errors(nets, x, test_x)
    steps = [regularisation.paired_difference(b, a) for a, b in pairwise(lost)]
    what = "decoder: test error at the next larger pooling less this one's, lower end of the interval, each step"
    yield at_least([s.low for s in steps], 0.0, what)
    gain = regularisation.paired_difference(shifted[1], shifted[0])
    yield at_least(
        gain.low, 0.0, "shifted digits: accuracy at stride 2 less that at stride 1, lower end of the interval"
    )
    best = int(clean.mean(1).argmax())
    drop = regularisation.paired_difference(clean[best], clean[-1])
    yield at_least(drop.low, 0.0, "untouched digits: best accuracy less that at stride 8, lower end of the interval")
    points = {
        name: (strides, v.mean(1), v.mean(1) - _two(v), v.mean(1) + _two(v))
        for name, v in (("untouched", clean), (f"shifted by {shift}", shifted))
    }
    title = (
        f"Stride 2 for 1: accuracy on shifted digits goes from {shifted[0].mean():.2f} to {shifted[1].mean():.2f}; "
        f"stride 8: that on untouched ones from {clean[best].mean():.2f} to {clean[-1].mean():.2f}"
    )
    first = figure.curves("mean ± 2 standard errors", "window and stride", "accuracy", points=points, log="x")
    decoded = {"linear decoder": (strides, lost.mean(1), lost.mean(1) - _two(lost), lost.mean(1) + _two(lost))}
    second = figure.curves("what is lost", "window and stride", "variance not recovered", points=decoded, log="x")
    yield figure.beside(title, first, second)


def _two(values):
    return 2 * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])


@eqx.filter_jit
def _accuracies(nets, images, labels):
    return eqx.filter_vmap(lambda net: networks.accuracy(net, images, labels))(nets)


def _decoding_errors(nets, train, test):
    """The share of the test digits' variance that the best linear decoder of pooled maps leaves, for each network."""
    found = []
    for features, others in zip(_pooled_maps(nets, train), _pooled_maps(nets, test), strict=True):
        rows, new = (np.column_stack([np.asarray(f, float), np.ones(len(f))]) for f in (features, others))
        decoder = np.linalg.lstsq(rows, train, rcond=1e-6)[0]
        found.append(((new @ decoder - test) ** 2).sum() / ((test - train.mean(0)) ** 2).sum())
    return found


@eqx.filter_jit
def _pooled_maps(nets, images):
    images = jnp.asarray(images, jnp.float32).reshape(-1, 1, 8, 8)
    return eqx.filter_vmap(lambda net: jax.vmap(lambda x: net.stages(x)[1].ravel())(images))(nets)


@claim(sources=("penn",), empirical=True, shows=("convolution.MaxoutNetwork",))
def pooling_without_convolution(key, tested: Int(200, 500) = 500, shift: Int(1, 3) = 2):
    r"""Maxima over dense units do not help against shifts.

    The maximum over a group of dense units is maxout: another activation. No unit of the group is a shifted copy of
    another, so that there is no equivariance for the maximum to turn into invariance.

    $$h_i(x) = \max_{j \le k} (w_{ij} \cdot x + b_{ij})$$

    Check: A dense network with ReLU, one with maxima over pairs of units, and a convolutional network with maxima over
    positions, about 14,000 parameters each, trained on framed digits and tested on digits shifted to the right. The two
    dense ones lose about the same, within 5 points, and both are far below the convolutional one.
    """
    *_, test_x, test_y = framed_digits()
    order = data.generator(key).permutation(len(test_y))[:tested]
    kinds = {"MLP": "dense, ReLU", "maxout": "dense, maxima of pairs", "pooled": "convolutions, maxima over positions"}
    shifts = np.arange(SIDE // 2 + 1)
    right = {
        kind: np.array(
            [
                (
                    np.asarray(framed_scores(framed_classifier(kind), np.roll(test_x[order], d, 2))).argmax(1)
                    == test_y[order]
                )
                for d in shifts
            ]
        )
        for kind in kinds
    }
    share = {kind: hits.mean(1) for kind, hits in right.items()}
    fallen = {kind: values[0] - values[shift] for kind, values in share.items()}
    apart = abs(fallen["MLP"] - fallen["maxout"])
    yield at_most(apart, 0.05, f"accuracy lost to a shift by {shift}: dense and maxout, difference")
    dense = max(share["MLP"][shift], share["maxout"][shift])
    what = f"accuracy under a shift by {shift}: convolutional less the better of the two dense ones, 0.3 or more"
    yield at_least(share["pooled"][shift] - dense, 0.3, what)
    points = {name: (shifts, share[kind]) for kind, name in kinds.items()}
    title = (
        f"Shifted by {shift}: dense {share['MLP'][shift]:.2f}, maxout {share['maxout'][shift]:.2f}, "
        f"convolutional {share['pooled'][shift]:.2f}"
    )
    yield figure.curves(title, "shift to the right, pixels", "accuracy", points=points, rules={"chance": ("y", 0.1)})


@claim(sources=("penn",), empirical=True, shows=("convolution.nuisance_curves", "convolution.usual_nuisances"))
def nuisance_robustness_curves(key, tested: Int(200, 500) = 500):
    r"""Accuracy under changes that keep the class.

    Brightness, shifts, rotations and occlusions change pixels and not the class. A dense network loses its accuracy
    within two pixels of shift; a convolutional network with pooling over positions does not. Neither has anything
    against rotations.

    $$\Pr[f(T_s x) = y], \quad T_s \in \{\text{brightness, shift, rotation, occlusion}\}$$

    Check: The networks of framed digits with about 14,000 parameters, trained on untouched digits; the numbers are of
    one training.
    """
    *_, test_x, test_y = framed_digits()
    order = data.generator(key).permutation(len(test_y))[:tested]
    nuisances = convolution.usual_nuisances(occlusions=(0, 1, 2, 3, 4, 5, 6))
    names = {"MLP": "dense", "pooled": "convolutional"}
    curves = {}
    for kind in names:
        net = framed_classifier(kind)
        curves[kind] = convolution.nuisance_curves(
            lambda x, net=net: np.asarray(framed_scores(net, x)), test_x[order], test_y[order], nuisances
        )

    def at(kind, nuisance, strength):
        return curves[kind][nuisance][nuisances[nuisance].strengths.index(strength)]

    what = "{}: right answers, {}"
    told = what.format("convolutional, shifted by 2", "0.95 or more")
    yield frequency(at("pooled", "shift", 2), tested, 0.95, told, side="at least")
    yield frequency(
        at("MLP", "shift", 2), tested, 0.4, what.format("dense, shifted by 2", "0.4 or less"), side="at most"
    )
    for kind, name in names.items():
        told = what.format(f"{name}, turned by 90°", "0.3 or less")
        yield frequency(at(kind, "rotation", 90), tested, 0.3, told, side="at most")
    lost = {kind: (curves[kind]["shift"][0] - at(kind, "shift", 2)) / tested for kind in names}
    yield at_least(lost["MLP"] - lost["pooled"], 0.3, "accuracy lost to a shift by 2: dense less convolutional")
    panels = []
    for name, nuisance in nuisances.items():
        points = {names[kind]: (nuisance.strengths, curves[kind][name] / tested) for kind in names}
        panels.append(figure.curves(name, nuisance.unit, "accuracy", points=points))
    share = {kind: at(kind, "shift", 2) / tested for kind in names}
    turned = {kind: at(kind, "rotation", 90) / tested for kind in names}
    title = (
        f"Shifted by two pixels: dense {share['MLP']:.2f}, convolutional {share['pooled']:.2f}; turned by 90°: "
        f"{turned['MLP']:.2f} and {turned['pooled']:.2f}"
    )
    yield figure.beside(title, *panels)
