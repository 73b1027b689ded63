"""Separable kernels: a column times a row, when there is one, and sums of several."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data
from leadline.claims.scenarios.convolution.wide_kernels import scores_with_rank, wide_kernel_network
from leadline.convolution import ConvLayer
from leadline.evidence import Int, at_least, at_most, claim, close, exactly, method
from leadline.presentation import figure

COLUMN, ROW = np.array([3, 4, 5]), np.array([1, 2, 3])
SIDE = 512  # of the images whose operations are counted


@method(sources=("penn",))
def separable_convolution(
    key, side: Int(16, 64) = 32, widest: Int(9, 31) = 21, inputs: Int(1, 32) = 8, outputs: Int(1, 32) = 16
):
    r"""Separable convolution.

    A kernel that is a column times a row is applied in two passes: 2k multiplications a pixel in place of k², so that
    the gain grows as k/2. A depthwise-separable layer is something else: one kernel for each channel, then a mixture of
    channels by a 1 × 1 layer, $C k^2 + C C'$ weights.

    $$I * (u v^\top) = (I * u) * v^\top$$

    Check: Integers, both ways; operations as XLA counts them in its programs, kernels up to `widest` taps; weights of
    the layers as built.
    """
    rng = data.generator(key)
    image = rng.integers(0, 256, (side, side))
    sobel = (np.array([1, 2, 1]), np.array([1, 0, -1]))
    for name, (u, v) in {"(3, 4, 5) times (1, 2, 3)": (COLUMN, ROW), "Sobel": sobel}.items():
        passes = convolution.convolve_separable(image, u[None], v[None])
        yield exactly(passes, convolution.convolve(image, np.outer(u, v)), f"{name}: two passes against one")
    taken = [
        convolution.layer_work((1, 3, 3), (1, 1, *taps), "taps").multiply_adds for taps in ((3, 3), (3, 1), (1, 3))
    ]
    per_output = [taken[0], taken[1] // 3 + taken[2] // 3]
    yield exactly(per_output, [9, 6], "3 × 3: multiplications a pixel in one pass and in two")
    kernels = np.array([3, widest // 2 | 1, widest | 1])
    once, twice = np.array([_work(int(k)) for k in kernels]).T
    ratio = once / twice
    exact = kernels / (2 + (kernels - 1) / SIDE)  # the first pass has a border of k − 1 more columns
    yield close(ratio, exact, "operations once over operations in two passes, as XLA counts them", rtol=0.01)
    yield at_most(np.abs(2 * ratio / kernels - 1), kernels / SIDE, "distance of that ratio from k/2, relative")
    depthwise = [ConvLayer(inputs, 3, groups=inputs, bias=False), ConvLayer(outputs, 1, bias=False)]
    costs = convolution.stack_costs(depthwise, (inputs, 8, 8))
    expected = inputs * 9 + inputs * outputs
    yield exactly(costs.parameters, expected, "weights of a depthwise-separable layer, 3 × 3")
    net = convolution.ConvNetwork(depthwise, (inputs, 8, 8), activation="identity", key=key)
    built = sum(leaf.size for leaf in jax.tree.leaves(net) if hasattr(leaf, "size"))
    yield exactly(built, expected, "weights of a depthwise-separable layer, 3 × 3, as built")
    names = {"xs": [f"v = {v}" for v in ROW], "ys": [f"u = {u}" for u in COLUMN], "text": True}
    product = figure.heatmap("A column times a row", "", "", values=np.outer(COLUMN, ROW), **names)
    gain = figure.curves(
        "Operations saved",
        "taps a side k",
        "ratio",
        lines={"k/2": (np.arange(1, widest + 2), np.arange(1, widest + 2) / 2)},
        points={"counted": (kernels, ratio)},
    )
    yield figure.beside(
        f"Two passes in place of one: {ratio[-1]:.1f} times fewer operations at k = {kernels[-1]}", product, gain
    )


def _work(k):
    """Operations of one pass and of two, by XLA's count, for SIDE × SIDE outputs; nothing is run."""
    wide = SIDE + k - 1
    passes = (((1, wide, wide), (k, k)), ((1, wide, wide), (k, 1)), ((1, SIDE, wide), (1, k)))
    counts = []
    for shape, taps in passes:
        x, w = (jax.ShapeDtypeStruct(s, jnp.float64) for s in (shape, (1, 1, *taps)))
        counts.append(jax.jit(convolution.layer_correlation).lower(x, w).compile().cost_analysis()["flops"])
    return counts[0], counts[1] + counts[2]


@claim(sources=("penn",))
def separable_iff_rank_one(key, taps: Int(2, 9) = 3, kernels: Int(1, 30) = 10):
    r"""A kernel is separable if and only if its rank is one.

    The singular values tell: one that is not 0 means a column times a row, which are its first singular vectors; more
    mean that no two passes give the kernel.

    $$A = u v^\top \iff \operatorname{rank} A = 1$$

    Check: The examples of the course, random outer products and random matrices; minors of order 2, which vanish for
    rank 1 alone.
    """
    rng = data.generator(key)
    examples = (np.outer(COLUMN, ROW), convolution.FILTERS["sobel across"], convolution.FILTERS["blur"])
    ranks = [convolution.kernel_rank(a) for a in examples]
    yield exactly(ranks, 1, "rank: (3, 4, 5) times (1, 2, 3), Sobel, blur")
    yield exactly(convolution.kernel_rank(convolution.FILTERS["sharpen"]), 2, "rank of the sharpening kernel")
    outer = [np.outer(rng.normal(size=taps), rng.normal(size=taps)) for _ in range(kernels)]
    dense = [rng.normal(size=(taps, taps)) for _ in range(kernels)]
    yield exactly([convolution.kernel_rank(a) for a in outer], 1, "rank of random columns times rows")
    yield exactly([convolution.kernel_rank(a) for a in dense], taps, "rank of random matrices")
    rebuilt = [np.abs(np.outer(*convolution.separable_factors(a)) - a).max() / np.abs(a).max() for a in outer]
    yield at_most(rebuilt, 1e-12, "column times row, against the kernel: largest difference, relative")
    minors = [[_largest_minor(a) / np.abs(a).max() ** 2 for a in group] for group in (outer, dense)]
    yield at_most(minors[0], 1e-12, "random columns times rows: largest minor of order 2, relative")
    nearest = [np.linalg.norm(a - convolution.separable_sum(a, 1).kernel) / np.linalg.norm(a) for a in dense]
    yield at_least(nearest, 1e-9, "random matrices: distance to the nearest separable kernel, relative")
    order = np.arange(1, taps + 1)
    spectra = {"random": dense[0], "a column times a row": outer[0]}
    points = {}
    for name, a in spectra.items():
        values = np.linalg.svd(a, compute_uv=False)
        points[name] = (order, np.maximum(values / values[0], 1e-18))
    rules = {"tolerance": ("y", 1e-10)}
    title = "A separable kernel has one singular value above rounding, a random one has all"
    yield figure.curves(title, "index", "σ/σ₁", points=points, rules=rules, log="y")


def _largest_minor(a):
    i, j = np.triu_indices(len(a), 1)
    rows = a[i][:, None, :], a[j][:, None, :]
    k, m = np.triu_indices(a.shape[1], 1)
    return np.abs(rows[0][..., k] * rows[1][..., m] - rows[0][..., m] * rows[1][..., k]).max()


@claim(sources=("penn",))
def svd_sum_of_separable(key, taps: Int(2, 9) = 5, terms: Int(1, 8) = 2, side: Int(8, 24) = 16):
    r"""Every kernel is a sum of separable ones.

    The singular value decomposition writes a kernel as a sum of columns times rows; cut off after r terms it is the
    nearest of rank r, and the output is off by no more than the symbol of what is left. It saves work for r < k/2. A
    trained network whose kernels are cut off there, without further training, loses accuracy.

    $$A = \sum_i \sigma_i u_i v_i^\top, \qquad \|A - A_r\|_F = \sqrt{\sum_{i > r} \sigma_i^2}, \qquad
    \|(A - A_r) * x\| \le \sup_\omega |\hat A - \hat A_r| \, \|x\|$$

    Check: Random kernels; random kernels of rank r, none of which is nearer; a network on the digits with 5 × 5
    kernels, each cut off at every rank.
    """
    rng = data.generator(key)
    terms = min(terms, taps - 1)
    kernel = rng.normal(size=(taps, taps))
    cut = convolution.separable_sum(kernel, terms)
    values = np.linalg.svd(kernel, compute_uv=False)
    left = np.linalg.norm(kernel - cut.kernel)
    yield close(left, np.sqrt((values[terms:] ** 2).sum()), "distance of the cut kernel: Eckart and Young", rtol=1e-12)
    tries = rng.normal(size=(500, 2, taps, terms))
    other = np.einsum("tir,tjr->tij", tries[:, 0], tries[:, 1])
    scale = np.einsum("tij,ij->t", other, kernel) / (other**2).sum((1, 2))  # the best multiple of each
    nearest = np.linalg.norm(kernel - scale[:, None, None] * other, axis=(1, 2)).min()
    yield at_least(nearest, left, "nearest of 500 random kernels of the same rank, scaled as well as can be")
    whole = convolution.separable_sum(kernel)
    yield at_most(np.abs(whole.kernel - kernel).max(), 1e-12, "all terms: distance to the kernel")
    image = rng.normal(size=(side, side))
    passes = convolution.convolve_separable(image, cut.columns, cut.rows)
    off = np.linalg.norm(passes - convolution.convolve(image, kernel))
    bound = convolution.layer_norm_bound((kernel - cut.kernel)[None, None]).upper * np.linalg.norm(image)
    yield at_most(off, bound, "error of the output by two passes a term, against the symbol of what is left")
    network = wide_kernel_network(key)
    ranks = np.arange(1, 6)
    right, count = scores_with_rank(network, ranks)
    yield exactly(right[-1], right[0], "digits right of 500 with all 5 terms, with the trained kernels")
    share = right[1:] / count
    what = "accuracy gained by each further term, from 1 to 4 of 5"
    yield at_least(np.diff(share[:4]), 0.0, what, strict=True).as_empirical()
    yield at_most(share[1], share[-1], "accuracy with 2 terms of 5, where work is saved", strict=True).as_empirical()
    cost = 2 * ranks * 5 / 25
    lines = {"work, as a share of k²": (ranks, cost)}
    points = {"accuracy on 500 digits": (ranks, share)}
    rules = {"r = k/2": ("x", 2.5)}
    title = f"Where work is saved accuracy is lost: {share[1]:.3f} with 2 of 5 terms, {share[-1]:.3f} with all"
    yield figure.curves(title, "terms kept r", "share", lines=lines, points=points, rules=rules)
