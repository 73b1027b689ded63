"""What rows that nothing was chosen on say: sizes of test sets, and the gap of the worst of many fixed hypotheses."""

from typing import Annotated

import numpy as np

from leadline import data, generalisation
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, frequency, printed, smaller


def failure(n, p, eps):
    """P(|p̂ − p| > ε) of the share p̂ in n trials, exactly; p and n broadcast."""
    from scipy.special import bdtr, bdtrc

    n, p = np.broadcast_arrays(np.asarray(n, int), np.asarray(p, float))
    above = np.floor(n * (p + eps) + 1e-9)
    below = np.ceil(n * (p - eps) - 1e-9) - 1
    high = np.where(above < n, bdtrc(np.minimum(above, n), n, p), 0.0)
    return high + np.where(below >= 0, bdtr(np.maximum(below, 0), n, p), 0.0)


@claim(
    "hoeffding-and-test-set-size",
    says=(
        "The share of errors among n fresh rows is off by more than ε with probability at most 2e^(−2nε²), whatever "
        "the true error, so n = ⌈ln(2/δ)/(2ε²)⌉ rows certify it to ±ε: 18445 rows for ±1% at 95%. The exact interval "
        "of Clopper and Pearson needs about half of them, and far fewer where errors are rare."
    ),
    formula=r"P(|\hat p - p| > \epsilon) \le 2 e^{-2 n \epsilon^2}, \quad "
    r"n = \lceil \frac{\ln(2/\delta)}{2 \epsilon^2} \rceil",
    sources=("penn",),
    assumes=("the rows are independent and nothing was chosen on them",),
    shows=("generalisation.hoeffding_test_size", "generalisation.exact_test_size", "generalisation.exact_interval"),
)
def hoeffding_and_test_set_size(
    key,
    eps: Annotated[float, Range(0.005, 0.1, log=True)] = 0.01,
    delta: Annotated[float, Range(1e-4, 0.2, log=True)] = 0.05,
    share: Annotated[float, Range(0.01, 0.5)] = 0.05,
):
    """Exact binomial tails over p = 0, 1/40, ..., 1 and n up to 2000, at ε and at the sizes that bounds ask for;
    `share` is the largest error at which Bernstein's and the exact size are computed."""
    from scipy.special import bdtr

    confidence = 1 - delta
    shares = np.linspace(0, 1, 41)
    rows = np.unique(np.geomspace(1, 2000, 60).astype(int))
    widths = np.array([eps, 0.03, 0.1, 0.3])
    exact = failure(rows[:, None, None], shares[:, None], widths)
    bound = 2 * np.exp(-2 * rows[:, None, None] * widths**2)
    yield at_most(exact, np.broadcast_to(bound, exact.shape), "exact binomial tail, n ≤ 2000, all p", rtol=1e-9)
    yield exactly(generalisation.hoeffding_test_size(0.01), 18445, "rows for ±1% at 95%")
    enough = generalisation.hoeffding_test_size(eps, confidence=confidence)
    yield at_most(failure(enough, shares, eps), delta, f"failure at Hoeffding's {enough} rows, all p", rtol=1e-9)
    bernstein = generalisation.bernstein_test_size(eps, share, confidence=confidence)
    rare = np.linspace(0, share, 21)
    yield at_most(failure(bernstein, rare, eps), delta, f"failure at Bernstein's {bernstein} rows, p ≤ {share:g}",
                  rtol=1e-9)  # fmt: skip
    clopper = generalisation.exact_test_size(eps, confidence=confidence)
    yield at_most(clopper, enough, "exact size at p = 1/2 against Hoeffding's")
    found = generalisation.exact_interval(clopper // 2, clopper, confidence=confidence)
    yield at_most(found.half, eps, f"half-width of the exact interval from {clopper} rows")
    ends = np.array([generalisation.exact_interval(k, 60, confidence=confidence)[1:3] for k in range(61)])
    first, last = (ends[:, 1] < shares[:, None]).sum(axis=1), (ends[:, 0] <= shares[:, None]).sum(axis=1) - 1
    covered = bdtr(last, 60, shares) - np.where(first > 0, bdtr(np.maximum(first - 1, 0), 60, shares), 0.0)
    yield at_least(covered, confidence, "exact coverage of the interval from 60 rows, all p", rtol=1e-9)

    eighth = -(-enough // 8)
    yield printed(
        at_most(failure(eighth, 0.5, eps), delta, f"failure at an eighth of the rows ({eighth}), p = 1/2"),
        "penn", "n = Ω(ln(1/δ)/ε²) rows suffice, whatever the constant",
    )  # fmt: skip
    variance = 0.01 * 0.99
    yield printed(
        at_most(failure(10, 0.01, 0.085), 2 * np.exp(-10 * 0.085**2 / (2 * variance)), "n = 10, p = 0.01, ε = 0.085"),
        "penn", "the tail of the limit theorem as an inequality, from which the size is derived",
    )  # fmt: skip
    grid = np.geomspace(0.005, 0.1, 25)
    few = np.geomspace(0.005, 0.1, 8)
    sizes = {
        "Hoeffding": generalisation.hoeffding_test_size,
        f"Bernstein, error ≤ {share:g}": lambda e, confidence: generalisation.bernstein_test_size(
            e, share, confidence=confidence
        ),
    }
    points = {f"exact, error {p:g}": p for p in dict.fromkeys((0.5, share))}
    yield figure.curves(
        f"Test rows for ±{eps:g} at {confidence:.4g}: Hoeffding {enough}, exact interval {clopper}",
        x="half-width ε",
        y="rows of the test set",
        lines={name: (grid, [size(e, confidence=confidence) for e in grid]) for name, size in sizes.items()},
        points={
            name: (few, [generalisation.exact_test_size(e, p, confidence=confidence) for e in few])
            for name, p in points.items()
        },
        log="xy",
    )


@claim(
    "finite-class-uniform-convergence",
    says=(
        "Of all members of a finite class at once, the largest gap between training and true error exceeds ε with "
        "probability at most 2|F| e^(−2nε²). Where members err independently the quantile is nearly reached; "
        "where they are alike, as neighbouring thresholds are, the truth is far smaller and the bound does not notice."
    ),
    formula=r"P\left(\sup_F |\hat R - R| > \epsilon\right) \le 2 |F| e^{-2 n \epsilon^2}",
    sources=("penn",),
    assumes=("losses in [0, 1]", "independent rows", "the class is fixed before the data"),
    shows=("generalisation.finite_class_tail", "generalisation.finite_class_size"),
)
def finite_class_uniform_convergence(
    key,
    bits: Annotated[int, Range(4, 11)] = 8,
    n: Annotated[int, Range(200, 5000, log=True)] = 500,
    delta: Annotated[float, Range(0.001, 0.2, log=True)] = 0.05,
):
    """2^`bits` hypotheses that err independently with p = 1/2, and as many thresholds between 0.4 and 0.6 on uniform
    inputs; 2000 data sets of each."""
    rng = data.generator(key)
    members, trials = 2**bits, 2000
    log_size = bits * np.log(2)
    eps = float(np.sqrt((np.log(2 / delta) + log_size) / (2 * n)))
    yield close(generalisation.finite_class_tail(log_size, n, eps).value, delta, "2|F|e^(−2nε²) at this ε", rtol=1e-9)
    size = generalisation.finite_class_size(log_size, eps, confidence=1 - delta)
    yield at_most(abs(size - n), 1, "rows that the size formula asks for at this ε, against n")

    unlike = np.concatenate(
        [np.abs(rng.binomial(n, 0.5, size=(100, members)) / n - 0.5).max(axis=1) for _ in range(trials // 100)]
    )
    cells = np.append(np.diff(np.linspace(0.4, 0.6, members), prepend=0.0), 0.4)
    counts = rng.multinomial(n, cells / cells.sum(), size=trials)[:, :-1].cumsum(axis=1)
    alike = np.abs(counts / n - np.linspace(0.4, 0.6, members)).max(axis=1)
    for name, gaps in (("members that err independently", unlike), ("neighbouring thresholds", alike)):
        yield frequency((gaps > eps).sum(), trials, delta, f"{name}: sup gap beyond ε", side="at most")
    yield smaller(alike, unlike, "sup gap of thresholds against that of independent members")

    one = failure(n, 0.5, eps)
    together = -np.expm1(members * np.log1p(-one))
    yield at_most(together, delta, "independent members: exact P(sup gap > ε)")
    yield frequency((unlike > 0.8 * eps).sum(), trials, -np.expm1(members * np.log1p(-failure(n, 0.5, 0.8 * eps))),
                    "independent members: sup gap beyond 0.8 ε, exact law")  # fmt: skip
    steps = np.linspace(0.3, 1.0, 701) * eps
    exact = -np.expm1(members * np.log1p(-failure(n, 0.5, steps)))
    quantile = steps[np.argmax(exact <= delta)]
    yield at_least(quantile / eps, 0.7, "independent members: exact quantile over that of the bound")
    yield figure.histogram(
        f"Largest gap of {members} members at n = {n}: the bound's ε = {eps:.3f} is {eps / quantile:.2f} times the "
        f"quantile of independent members",
        x="sup |training − true error|",
        samples={"err independently": unlike, "neighbouring thresholds": alike},
        rules={f"bound, δ = {delta:g}": ("x", eps)},
    )
