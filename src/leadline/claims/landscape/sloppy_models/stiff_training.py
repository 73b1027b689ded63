"""Training along stiff directions: which are learnt first, which suffice, and whether they stay where they are."""

from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data
from leadline.claims.scenarios.landscape.shallow_networks import ShallowClassifier, cross_entropy, digit_set, logits_of
from leadline.evidence import Int, Real, at_least, at_most, claim, close, mean
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.stiff_subspaces import displacement_shares, leading_subspace, subspace_overlap
from leadline.presentation import figure


@claim(sources=("penn",), shows=("landscape.sloppiness.train_in_subspace",), empirical=True)
def stiff_first_training(
    key,
    images: Int(60, 200) = 100,
    hidden: Int(8, 16) = 12,
    share: Real(0.09, 0.12) = 0.1,
    num_steps: Int(150, 400) = 200,
    seeds: Int(3, 8) = 3,
):
    r"""Stiff directions are learned first.

    On a quadratic the error along direction k is (1 − ηλₖ)ᵗ: stiff directions come first. On a digits network, too,
    the share of the displacement in the stiff directions of the start is largest early; training in the stiffest tenth
    of the directions keeps most of the accuracy, a random tenth a little less of it.

    $$w_t - w^* = \sum_k (1 - \eta \lambda_k)^t c_k v_k$$

    Check: Adam is run at 0.01, and at 0.02 on the coordinates in `share` of the directions, which are the stiff ones
    at the start or random ones. The advantage of stiff directions appears when about a tenth of them are kept: in the
    means of 12 seeds with 100 images and 910 weights, the accuracy with stiff directions less that with random ones is
    0.09 with 10% of the directions, 0.05 with 15% and none with 30%. All directions give 0.87 and the stiffest 10%
    give 0.75. With 6% (37 of 610) less than half of the accuracy may be kept.
    """
    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    curvature, start = np.geomspace(1, 1e-3, 6), rng.normal(size=6)
    hessian, w = basis * curvature @ basis.T, start
    for _ in range(50):
        w = w - 1.5 * hessian @ w
    what = "quadratic: error along each direction after 50 steps, against (1 − ηλ)⁵⁰"
    yield close(w @ basis, (1 - 1.5 * curvature) ** 50 * (start @ basis), what, atol=1e-12)
    _, _, test, labels = data.digits_split()
    net, rule = ShallowClassifier(64, hidden, 10), optax.adam(0.02)

    @jax.jit
    @partial(jax.vmap, in_axes=(0, None, None, None))
    def trained_within(basis, w, x, y):
        """The logits of the test images after training in the span of the rows."""
        end, _ = sloppiness.train_in_subspace(cross_entropy, net.network(w), basis, rule, num_steps, x, y)
        return logits_of(end, test)

    times = np.unique(np.geomspace(1, num_steps, 8).astype(int))
    k = round(share * net.size)
    dimensions = np.array([k // 4, k])
    shares, full, stiff, random = [], [], [], []
    for seed in range(seeds):
        x, y = digit_set(images, rng)
        w0 = net.draw(rng)
        path = net.train(w0, x, y, num_steps, every=1)
        vectors = net.spectrum(w0, x[:60]).vectors
        shares.append([np.cumsum(displacement_shares(v - w0, vectors)) for v in path[times]])
        other = sloppiness.random_subspace(k, net.size, key=jax.random.fold_in(key, seed))
        bases = [rows[:k] * (np.arange(k) < d)[:, None] for rows in (vectors, other) for d in dimensions]
        right = np.asarray(trained_within(np.stack(bases), w0, x, y)).argmax(axis=2) == labels
        stiff.append(right.mean(axis=1)[:2])
        random.append(right.mean(axis=1)[2:])
        full.append(np.mean(net.logits(path[-1], test).argmax(axis=1) == labels))
    shares, full, stiff, random = (np.array(v) for v in (shares, full, stiff, random))
    early, late = shares[:, 0, 39], shares[:, -1, 39]
    what = "share of the displacement in the 40 stiffest directions: first step, against the end"
    yield at_least(early, late, what, strict=True)
    what = f"test accuracy in the {k} stiffest directions over that of all {net.size}: most of it"
    yield at_least(stiff[:, -1] / full, 0.5, what)
    what = f"test accuracy in {k} stiff directions less that in random ones, mean of {seeds} runs"
    yield mean(stiff[:, -1] - random[:, -1], 0.0, what, side="at least")
    loss = net.objective(x, y)
    fallen = loss(jnp.asarray(path[-1])) / loss(jnp.asarray(w0))
    yield at_most(fallen, 0.05, "training loss at the end over that at the start")
    energy, groups = np.insert(shares.mean(axis=0), 0, 0.0, axis=1), [0, 10, 40, 160, shares.shape[2]]
    points = {f"{a + 1} to {b}": (times, energy[:, b] - energy[:, a]) for a, b in pairwise(groups)}
    title = "Share of ‖w − w₀‖² by directions of the start"
    learnt = figure.curves(title, "step", "share", points=points, log="x")
    each, rules = np.tile(dimensions, seeds), {"all directions": ("y", full.mean())}
    points = {"stiff": (each, stiff.ravel()), "random": (each, random.ravel())}
    title = f"Trained in k directions only (all: {full.mean():.2f})"
    few = figure.curves(title, "directions k", "test accuracy", points=points, rules=rules)
    title = (
        f"{early.mean():.0%} of the first step, {late.mean():.0%} of the whole way lies in the 40 stiffest of "
        f"{net.size} directions; accuracy in {k} stiff {stiff[:, -1].mean():.2f}, random {random[:, -1].mean():.2f}"
    )
    yield figure.beside(title, learnt, few)


@claim(sources=("penn",), empirical=True)
def fisher_drift(
    key,
    images: Int(15, 30) = 20,
    narrow: Int(16, 32) = 16,
    wide: Int(64, 1024, log=True) = 64,
    directions: Int(5, 15) = 10,
    num_steps: Int(300, 800) = 400,
):
    r"""Drift of the Fisher eigenspaces in training.

    The k stiffest directions of a network turn early in training, the more the larger the step size, and little late:
    late Fisher eigenspaces overlap by more than 0.7, and all overlaps are above chance, k/p. Contrary to the source,
    width does not keep the eigenspace of the start: at the larger rate the wider network leaves it further.

    $$\mathrm{overlap}(s, t) = \frac{1}{k} \| U_s^T U_t \|_F^2$$

    Assumes: late means that the training loss is below 0.1.

    Check: Adam is run at 0.001 and 0.01 on digits, and overlaps are taken between the start and 5 later times, at two
    widths. The following are means of 6 seeds with k = 10 at widths 16, 32, 64, 256 and 1024. From start to end, at
    rate 0.01, they are 0.36, 0.30, 0.21, 0.06 and 0.02; at rate 0.001 they are 0.44, 0.38, 0.28, 0.20 and 0.41, which
    is not monotone. Late in training, at rate 0.01, they are 0.98, 0.99, 1.00, 0.98 and 0.94; at rate 0.001 they are
    0.85, 0.96, 0.98, 0.99 and 0.99, where the wider networks have also come further down. Single runs go down to 0.80.
    """
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    part, multiples = num_steps // 20, [0, 1, 2, 5, 10, 20]
    times = part * np.array(multiples)
    tables, shown = {}, []
    for width in (narrow, wide):
        net = ShallowClassifier(64, width, 10)
        start = net.draw(rng)
        for rate in (1e-3, 1e-2):
            path = net.train(start, x, y, 20 * part, rate=rate, every=part)[multiples]
            spaces = [leading_subspace(net.root(w, x), directions) for w in path]
            table = np.array([[subspace_overlap(a, b) for a in spaces] for b in spaces])
            tables[width, rate], chance = table, directions / net.size
            is_late = bool(net.objective(x, y)(jnp.asarray(path[-2])) < 0.1)
            run = f"width {width}, rate {rate:g}"
            late = at_least(table[-1, -2], 0.7, f"{run}: overlap of the last two times")
            yield late.given(is_late, "the training loss is below 0.1 at both")
            yield at_least(table, chance, f"{run}: every overlap, against chance k/p")
            title = f"{run}: start to end {table[0, -1]:.2f}, chance {chance:.4f}"
            options = {"xs": times, "ys": times, "colour": "overlap", "text": True}
            shown.append(figure.heatmap(title, "step s", "step t", values=table, **options))
    for width in (narrow, wide):
        slow, fast = tables[width, 1e-3], tables[width, 1e-2]
        what = f"width {width}: overlap of the start and a tenth of training, rate 0.01, against rate 0.001"
        yield at_most(fast[0, 2], slow[0, 2], what)
        yield at_most(fast[0, 2], fast[-1, -2], f"width {width}, rate 0.01: overlap early, against late")
    what = f"rate 0.01, overlap of start and end: width {wide}, against width {narrow}"
    further = at_most(tables[wide, 1e-2][0, -1], tables[narrow, 1e-2][0, -1], what)
    yield further.given(wide >= 4 * narrow, "one network is 4 times as wide as the other")
    ends, late = ([table[at] for table in tables.values()] for at in ((0, -1), (-1, -2)))
    title = f"Late eigenspaces overlap by {min(late):.2f} or more; start and end by {min(ends):.2f} to {max(ends):.2f}"
    yield figure.beside(title, *shown)
