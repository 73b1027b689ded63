"""Training along stiff directions: which are learnt first, which suffice, and whether they stay where they are."""

from itertools import pairwise
from typing import Annotated

import numpy as np

from leadline import data, sloppiness
from leadline.claims.landscape.shallow_networks import ShallowClassifier, digit_set, one_hot
from leadline.evidence import Range, at_least, at_most, claim, close, figure, mean, printed


@claim(
    "stiff-first-training",
    says=(
        "On a quadratic the error along direction k is (1 − ηλₖ)ᵗ: stiff directions first. On a digits network, too, "
        "the share of the displacement in the stiff directions of the start is largest early; training in the stiffest "
        "tenth of the directions keeps most of the accuracy, a random tenth a little less of it."
    ),
    formula=r"w_t - w^* = \sum_k (1 - \eta \lambda_k)^t c_k v_k",
    sources=("penn",),
    shows=(
        "sloppiness.displacement_shares",
        "sloppiness.random_subspace",
        "sloppiness.train_in_subspace",
    ),
    empirical=True,
)
def stiff_first_training(
    key,
    images: Annotated[int, Range(60, 200)] = 100,
    hidden: Annotated[int, Range(8, 16)] = 12,
    share: Annotated[float, Range(0.09, 0.12)] = 0.1,
    steps: Annotated[int, Range(150, 400)] = 200,
    seeds: Annotated[int, Range(3, 8)] = 3,
):
    """Adam at 0.01, and at 0.02 on the coordinates in `share` of the directions, stiff at the start or random.

    The advantage of stiff directions is that of about a tenth: means of 12 seeds, 100 images, 910 weights, stiff less
    random: 0.09 with 10% of the directions, 0.05 with 15%, none with 30%; all directions give 0.87, 10% stiff 0.75.
    With 6% (37 of 610) less than half of the accuracy may be kept."""
    import jax

    rng = data.generator(key)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    curvature, start = np.geomspace(1, 1e-3, 6), rng.normal(size=6)
    hessian, w = basis * curvature @ basis.T, start
    for _ in range(50):
        w = w - 1.5 * hessian @ w
    what = "quadratic, error along each direction after 50 steps, (1 − ηλ)⁵⁰"
    yield close(w @ basis, (1 - 1.5 * curvature) ** 50 * (start @ basis), what, atol=1e-12)

    _, _, test, labels = data.digits_split()
    labels = one_hot(labels, 10)
    net = ShallowClassifier(64, hidden, 10)
    times = tuple(int(t) for t in np.unique(np.geomspace(1, steps, 8).astype(int)))
    k = round(share * net.size)
    dimensions = np.array([k // 4, k])
    shares, full, stiff, random = [], [], [], []
    for seed in range(seeds):
        x, y = digit_set(images, rng)
        w0 = net.draw(rng)
        end, kept = net.train(w0, x, y, steps, keep=times)
        vectors = net.spectrum(w0, x[:60]).vectors
        shares.append([np.cumsum(sloppiness.displacement_shares(v - w0, vectors)) for v in kept.values()])
        other = sloppiness.random_subspace(k, net.size, key=jax.random.fold_in(key, seed))
        for found, rows in ((stiff, vectors), (random, other)):
            ends = [net.train(w0, x, y, steps, rate=0.02, basis=rows[:d])[0] for d in dimensions]
            found.append([net.accuracy(v, test, labels) for v in ends])
        full.append(net.accuracy(end, test, labels))
    shares, full, stiff, random = (np.array(v) for v in (shares, full, stiff, random))
    early, late = shares[:, 0, 39], shares[:, -1, 39]
    yield at_least(early, late, "share of the displacement in the 40 stiffest directions: first step, end", strict=True)
    what = f"test accuracy in the {k} stiffest directions over that of all {net.size}: most of it"
    yield at_least(stiff[:, -1] / full, 0.5, what)
    what = f"test accuracy in {k} stiff directions less that in random ones, mean of {seeds} runs"
    yield mean(stiff[:, -1] - random[:, -1], 0.0, what, side="at least")
    loss, first = net.loss(end, x, y), net.loss(w0, x, y)
    yield at_most(loss / first, 0.05, "training loss at the end over that at the start")
    yield printed(
        at_least(loss, 0.1 * first, "training loss at the end, a tenth of the first"),
        "penn",
        "sloppy directions keep the training loss away from zero: networks that interpolate reach it",
    )
    energy, groups = shares.mean(axis=0), [0, 10, 40, 160, shares.shape[2]]
    curves = {
        f"{a + 1} to {b}": (times, energy[:, b - 1] - (energy[:, a - 1] if a else 0.0)) for a, b in pairwise(groups)
    }
    scatter = {
        name: (np.tile(dimensions, seeds), found.ravel()) for name, found in (("stiff", stiff), ("random", random))
    }
    yield figure.beside(
        f"{early.mean():.0%} of the first step, {late.mean():.0%} of the whole way lies in the 40 stiffest of "
        f"{net.size} directions; accuracy in {k} stiff {stiff[:, -1].mean():.2f}, random {random[:, -1].mean():.2f}",
        figure.curves("Share of ‖w − w₀‖² by directions of the start", x="step", y="share", points=curves, log="x"),
        figure.curves(
            f"Trained in k directions only (all: {full.mean():.2f})", x="directions k", y="test accuracy",
            points=scatter, rules={"all directions": ("y", full.mean())},
        ),
    )  # fmt: skip


@claim(
    "fisher-drift",
    says=(
        "The k stiffest directions of a network turn early in training, the more the larger the step, and little late: "
        "late Fisher eigenspaces overlap by more than 0.7, all overlaps are above chance, k/p. Against the source, "
        "width does not keep the eigenspace of the start: at the larger rate the wider network leaves it further."
    ),
    formula=r"overlap(s, t) = \frac{1}{k} \| U_s^T U_t \|_F^2",
    sources=("penn",),
    shows=("sloppiness.leading_subspace", "sloppiness.subspace_overlap"),
    assumes=("late: the training loss is below 0.1",),
    empirical=True,
)
def fisher_drift(
    key,
    images: Annotated[int, Range(15, 30)] = 20,
    narrow: Annotated[int, Range(16, 32)] = 16,
    wide: Annotated[int, Range(64, 1024, log=True)] = 64,
    directions: Annotated[int, Range(5, 15)] = 10,
    steps: Annotated[int, Range(300, 800)] = 400,
):
    """Adam at 0.001 and 0.01 on digits; overlaps between the start and 5 later times, at two widths.

    Means of 6 seeds, k = 10, widths 16, 32, 64, 256, 1024. Start to end, rate 0.01: 0.36, 0.30, 0.21, 0.06, 0.02; rate
    0.001: 0.44, 0.38, 0.28, 0.20, 0.41, not monotone. Late, rate 0.01: 0.98, 0.99, 1.00, 0.98, 0.94; rate 0.001: 0.85,
    0.96, 0.98, 0.99, 0.99, where the wider ones have also come further down. Single runs go down to 0.80."""
    rng = data.generator(key)
    x, y = digit_set(images, rng)
    times = (0, *(steps // d for d in (20, 10, 4, 2, 1)))
    tables, shown = {}, []
    for width in (narrow, wide):
        net = ShallowClassifier(64, width, 10)
        start = net.draw(rng)
        for rate in (1e-3, 1e-2):
            _, kept = net.train(start, x, y, steps, rate=rate, keep=times)
            spaces = [sloppiness.leading_subspace(net.root(w, x), directions) for w in kept.values()]
            table = np.array([[sloppiness.subspace_overlap(a, b) for a in spaces] for b in spaces])
            tables[width, rate], chance = table, directions / net.size
            is_late = net.loss(kept[times[-2]], x, y) < 0.1
            what = f"width {width}, rate {rate:g}: overlap of the last two times"
            yield at_least(table[-1, -2], 0.7, what).given(is_late, "the training loss is below 0.1 at both")
            yield at_least(table, chance, f"width {width}, rate {rate:g}: every overlap, chance k/p")
            shown.append(
                figure.heatmap(
                    f"width {width}, rate {rate:g}: start to end {table[0, -1]:.2f}, chance {chance:.4f}",
                    x="step s", y="step t", values=table, xs=times, ys=times, colour="overlap", text=True,
                )
            )  # fmt: skip
    for width in (narrow, wide):
        slow, fast = tables[width, 1e-3], tables[width, 1e-2]
        yield at_most(
            fast[0, 2], slow[0, 2], f"width {width}: overlap with the start at a tenth, rate 0.01, rate 0.001"
        )
        yield at_most(fast[0, 2], fast[-1, -2], f"width {width}, rate 0.01: overlap early, late")
    what = f"rate 0.01, overlap of start and end: width {wide}, width {narrow}"
    further = at_most(tables[wide, 1e-2][0, -1], tables[narrow, 1e-2][0, -1], what)
    yield further.given(wide >= 4 * narrow, "one network is 4 times as wide as the other")
    ends = [table[0, -1] for table in tables.values()]
    yield figure.beside(
        f"Late eigenspaces overlap by {min(t[-1, -2] for t in tables.values()):.2f} or more; "
        f"start and end by {min(ends):.2f} to {max(ends):.2f}",
        *shown,
    )
