"""What rows that nothing was chosen on say: sizes of test sets, and the gap of the worst of many fixed hypotheses."""

import numpy as np

from leadline import data, generalisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, frequency, reference, smaller
from leadline.generalisation.capacity.capacity_calculator import finite_class_size, finite_class_tail
from leadline.generalisation.held_out_bounds import bernstein_test_size, exact_test_size, hoeffding_test_size
from leadline.presentation import figure


def failure(n, p, eps):
    """P(|p̂ − p| > ε) of the share p̂ in n trials, exactly; p and n broadcast."""
    from scipy.special import bdtr, bdtrc

    n, p = np.broadcast_arrays(np.asarray(n, int), np.asarray(p, float))
    above = np.floor(n * (p + eps) + 1e-9)
    below = np.ceil(n * (p - eps) - 1e-9) - 1
    high = np.where(above < n, bdtrc(np.minimum(above, n), n, p), 0.0)
    return high + np.where(below >= 0, bdtr(np.maximum(below, 0), n, p), 0.0)


@claim(sources=("penn",))
def hoeffding_and_test_set_size(
    key, eps: Real(0.005, 0.1, log=True) = 0.01, delta: Real(1e-4, 0.2, log=True) = 0.05, share: Real(0.01, 0.5) = 0.05
):
    r"""Hoeffding's bound and test-set size.

    The share of errors among n fresh rows is off by more than ε with probability at most $2e^{-2n\epsilon^2}$,
    whatever the true error, so n = ⌈ln(2/δ)/(2ε²)⌉ rows certify it to ±ε: 18445 rows for ±1% at 95%. The exact
    interval of Clopper and Pearson needs about half of them, and far fewer where errors are rare.

    $$P(|\hat p - p| > \epsilon) \le 2 e^{-2 n \epsilon^2}, \quad n = \lceil \frac{\ln(2/\delta)}{2 \epsilon^2}
    \rceil$$

    Assumes: the rows are independent and nothing was chosen on them.

    Check: Exact binomial tails are computed over p = 0, 1/40, ..., 1 and n up to 2000, at ε and at the sizes that the
    bounds ask for. `share` is the largest error at which Bernstein's size and the exact size are computed.
    """
    from scipy.special import bdtr

    confidence = 1 - delta
    shares = np.linspace(0, 1, 41)
    rows = np.unique(np.geomspace(1, 2000, 60).astype(int))
    widths = np.array([eps, 0.03, 0.1, 0.3])
    exact = failure(rows[:, None, None], shares[:, None], widths)
    bound = 2 * np.exp(-2 * rows[:, None, None] * widths**2)
    tail = at_most(exact, bound, "exact binomial tail against Hoeffding's bound, n ≤ 2000, all p", rtol=1e-9)
    yield tail
    yield reference(hoeffding_test_size(0.01), 18445, "rows for ±1% at 95%", digits=5)
    enough = hoeffding_test_size(eps, confidence=confidence)
    yield at_most(failure(enough, shares, eps), delta, f"failure at Hoeffding's {enough} rows, all p", rtol=1e-9)
    bernstein = bernstein_test_size(eps, share, confidence=confidence)
    rare = failure(bernstein, np.linspace(0, share, 21), eps)
    yield at_most(rare, delta, f"failure at Bernstein's {bernstein} rows, p ≤ {share:g}", rtol=1e-9)
    clopper = exact_test_size(eps, confidence=confidence)
    yield at_most(clopper, enough, "rows of the exact interval at p = 1/2 against Hoeffding's")
    found = generalisation.exact_interval(clopper // 2, clopper, confidence=confidence)
    yield at_most(found.half, eps, f"half-width of the exact interval from {clopper} rows")
    ends = np.array([generalisation.exact_interval(k, 60, confidence=confidence)[1:3] for k in range(61)])
    first, last = (ends[:, 1] < shares[:, None]).sum(axis=1), (ends[:, 0] <= shares[:, None]).sum(axis=1) - 1
    covered = bdtr(last, 60, shares) - np.where(first > 0, bdtr(np.maximum(first - 1, 0), 60, shares), 0.0)
    yield at_least(covered, confidence, "exact coverage of the interval from 60 rows, all p", rtol=1e-9)
    normal = 2 * np.exp(-10 * 0.085**2 / (2 * 0.01 * 0.99))
    wrong = at_most(failure(10, 0.01, 0.085), normal, "tail at n = 10, p = 0.01, ε = 0.085, against 2e^(−nε²/2p(1−p))")
    yield erratum(wrong, of=tail, by="penn", prints="the bound is deduced 'from CLT', whose tail is taken at finite n")
    grid, few = np.geomspace(0.005, 0.1, 25), np.geomspace(0.005, 0.1, 8)
    bernstein = [bernstein_test_size(e, share, confidence=confidence) for e in grid]
    lines = {"Hoeffding": (grid, [hoeffding_test_size(e, confidence=confidence) for e in grid])}
    lines[f"Bernstein, error ≤ {share:g}"] = (grid, bernstein)
    points = {}
    for p in (0.5, share):
        sizes = [exact_test_size(e, p, confidence=confidence) for e in few]
        points[f"exact, error {p:g}"] = (few, sizes)
    title = f"Test rows for ±{eps:g} at {confidence:.4g}: Hoeffding {enough}, exact interval {clopper}"
    yield figure.curves(title, "half-width ε", "rows of the test set", lines=lines, points=points, log="xy")


@claim(sources=("penn",))
def finite_class_uniform_convergence(
    key, bits: Int(4, 11) = 8, n: Int(200, 5000, log=True) = 500, delta: Real(0.001, 0.2, log=True) = 0.05
):
    r"""Uniform convergence over a finite class.

    Over all members of a finite class at once, the largest gap between training and true error exceeds ε with
    probability at most $2|F|\, e^{-2n\epsilon^2}$. Where members err independently, the quantile is nearly reached;
    where they are alike, as neighbouring thresholds are, the truth is far smaller and the bound does not notice.

    $$P\left(\sup_F |\hat R - R| > \epsilon\right) \le 2 |F| e^{-2 n \epsilon^2}$$

    Assumes: losses in [0, 1]; independent rows; the class is fixed before the data.

    Check: Two classes of $2^b$ hypotheses, b = `bits`, are drawn: hypotheses that err independently with p = 1/2, and
    thresholds between 0.4 and 0.6 on uniform inputs. Each is tried on 2000 data sets.
    """
    rng = data.generator(key)
    members, trials = 2**bits, 2000
    log_size = bits * np.log(2)
    eps = float(np.sqrt((np.log(2 / delta) + log_size) / (2 * n)))
    tail = finite_class_tail(log_size, n, eps).value
    yield close(tail, delta, "2|F|e^(−2nε²) at ε = √((ln(2/δ) + ln|F|)/2n), against δ", rtol=1e-9)
    size = finite_class_size(log_size, eps, confidence=1 - delta)
    yield at_most(abs(size - n), 1, "rows that the size formula asks for at this ε, against n")
    blocks = (rng.binomial(n, 0.5, size=(100, members)) for _ in range(trials // 100))
    unlike = np.concatenate([np.abs(block / n - 0.5).max(axis=1) for block in blocks])
    cells = np.append(np.diff(np.linspace(0.4, 0.6, members), prepend=0.0), 0.4)
    counts = rng.multinomial(n, cells / cells.sum(), size=trials)[:, :-1].cumsum(axis=1)
    alike = np.abs(counts / n - np.linspace(0.4, 0.6, members)).max(axis=1)
    for name, gaps in (("members that err independently", unlike), ("neighbouring thresholds", alike)):
        yield frequency((gaps > eps).sum(), trials, delta, f"{name}: sup gap beyond ε", side="at most")
    yield smaller(alike, unlike, "sup gap of thresholds against that of independent members")

    def exact(width):
        """P(sup gap > width) of members that err independently."""
        return -np.expm1(members * np.log1p(-failure(n, 0.5, width)))

    yield at_most(exact(eps), delta, "independent members: exact P(sup gap > ε), against δ")
    beyond = (unlike > 0.8 * eps).sum()
    yield frequency(beyond, trials, exact(0.8 * eps), "independent members: sup gap beyond 0.8 ε, exact probability")
    steps = np.linspace(0.3, 1.0, 701) * eps
    quantile = steps[np.argmax(exact(steps) <= delta)]
    yield at_least(quantile / eps, 0.7, "independent members: exact quantile of the sup gap over that of the bound")
    yield figure.histogram(
        f"Largest gap of {members} members at n = {n}: the bound's ε = {eps:.3f} is {eps / quantile:.2f} times the "
        f"quantile of independent members",
        "sup |training − true error|",
        samples={"err independently": unlike, "neighbouring thresholds": alike},
        rules={f"bound, δ = {delta:g}": ("x", eps)},
    )
