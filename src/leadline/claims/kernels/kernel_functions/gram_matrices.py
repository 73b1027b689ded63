"""Gram matrices: why they are positive semidefinite, a test that passes by luck, and what they cost."""

import time

import jax
import numpy as np

from leadline import data, kernels
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, instrument, slope
from leadline.kernels import features
from leadline.kernels.gram.gram_cost import require_gram
from leadline.kernels.validity.positivity import least_jitter
from leadline.presentation import figure


@claim(sources=("penn", "cam"))
def gram_positive_semidefinite(
    key, points: Int(2, 30) = 10, sets: Int(50, 1000) = 300, degree: Int(1, 4) = 2, dim: Int(1, 4) = 2
):
    r"""Gram matrices are positive semidefinite.

    For k = ⟨φ, φ⟩ a quadratic form of the Gram matrix is a squared length, so it is never negative; with a Mercer
    expansion it is a weighted sum of squares. On a compact set this is equivalent to a nonnegative integral form.

    $$c^T G c = \| \sum_i c_i \varphi(x_i) \|^2 = \sum_k \lambda_k \Big(\sum_i c_i \phi_k(x_i)\Big)^2 \ge 0$$

    Check: Both sides are computed for kernels with explicit features, least eigenvalues are taken over random sets,
    and the integral form of the minimum kernel is evaluated on a grid.
    """
    rng = data.generator(key)
    x, c = rng.standard_normal((points, dim)), rng.standard_normal(points)
    steps = 256  # cells of [0, 1]
    times = rng.integers(1, steps + 1, (points, 1)) / steps
    cells = np.where((np.arange(steps) + 0.5) / steps < times, steps**-0.5, 0.0)
    angles, weights = rng.uniform(0, 2 * np.pi, points), rng.uniform(0, 1, 6)
    waves = np.exp(1j * np.arange(6) * angles[:, None])  # cos k(x − x'), k = 0, ..., 5, with weights λ_k
    circle = np.cos(np.arange(6) * (angles[:, None, None] - angles[None, :, None])) @ weights
    forms = {
        "polynomial": (kernels.Polynomial(degree, 1.0)(x, x), features.monomial_features(x, degree, offset=1.0)),
        "minimum": (kernels.Minimum()(times, times), cells),
        "waves": (circle, waves * np.sqrt(weights)),
    }
    for name, (gram, phi) in forms.items():
        size = np.abs(gram).max() * np.abs(c).sum() ** 2
        yield close(c @ gram @ c, np.sum(np.abs(c @ phi) ** 2), f"c·Gc against ‖Σ c φ(x)‖², {name}", atol=1e-12 * size)
    library = {
        "polynomial": kernels.Polynomial(degree, 1.0),
        "Gaussian": kernels.Gaussian(1.0),
        "Laplace": kernels.Laplace(1.0),
        "ReLU": kernels.ArcCosine(1),
        "erf": kernels.ArcSine(),
    }
    clouds = rng.standard_normal((sets, points, dim))
    grams = {name: np.stack([k(cloud, cloud) for cloud in clouds]) for name, k in library.items()}
    relative = {
        name: np.linalg.eigvalsh((G + G.transpose(0, 2, 1)) / 2)[:, 0] / (points * np.abs(G).max(axis=(1, 2)))
        for name, G in grams.items()
    }
    least = [v.min() for v in relative.values()]
    yield at_least(least, 0.0, f"least eigenvalue over n max|G|, {sets} sets a kernel", atol=4e-15)
    jitters = [least_jitter(G[i]) / np.abs(G[i]).max() for G in grams.values() for i in range(min(sets, 20))]
    yield at_most(jitters, 1e-13 * points, "jitter that lets Cholesky succeed, over max|G|")
    modes = np.arange(1, 4)
    amplitudes, sizes = rng.standard_normal(3), np.array([32, 64, 128, 256])
    exact = np.sum(amplitudes**2 / ((modes - 0.5) * np.pi) ** 2)
    integrals = []
    for n in sizes:
        grid = (np.arange(n) + 0.5) / n
        f = np.sqrt(2) * np.sin((modes - 0.5) * np.pi * grid[:, None]) @ amplitudes
        integrals.append(f @ kernels.Minimum()(grid, grid) @ f / n**2)
    yield at_least(integrals, 0.0, "∬ min(x, x') f(x) f(x') on grids")
    off = np.abs(np.array(integrals) - exact)
    yield slope(sizes, off, -2.0, "distance of the integral from Σ λ a², against n⁻²", within=0.05)
    title = f"Least eigenvalues of {sets} random Gram matrices: none below {min(*least, 0):.0e} n max|G|"
    samples = {name: np.log10(np.maximum(v, 1e-17)) for name, v in relative.items()}
    yield figure.histogram(title, "log₁₀ of the least eigenvalue over n max|G| (rounding: −16)", samples=samples)


@claim(sources=("penn",))
def gram_check_false_pass(key, points: Int(3, 40) = 8, gap: Real(1.01, 3.0) = 1.2):
    r"""One Gram matrix proves no kernel.

    One Gram matrix without negative eigenvalues proves nothing: the box 1{|x − x'| < 1} gives the identity on points
    more than 1 apart, and the eigenvalue 1 − √2 on the points 0, 0.75, 1.5.

    $$\lambda\begin{pmatrix} 1 & 1 & 0 \\ 1 & 1 & 1 \\ 0 & 1 & 1 \end{pmatrix} = 1 - \sqrt2,\; 1,\; 1 + \sqrt2$$

    Check: The box is evaluated on a spaced set and on the three points; then a search starts with the spaced set and
    moves its points.
    """
    rng = data.generator(key)
    spaced = np.cumsum(gap + rng.uniform(0, 1, points))
    spaced -= spaced[0]
    three = np.array([0.0, 0.75, 1.5])
    gram = _box(spaced[:, None], spaced[None, :])
    yield exactly(gram, np.eye(points), "Gram matrix of the spaced set, against I")
    passed = kernels.hunt(_box, pool=spaced.tolist(), key=key)
    yield exactly(passed.refuted, False, "the spaced set refutes the box")
    found = kernels.spectrum(_box(three[:, None], three[None, :])).eigenvalues
    yield close(found, [1 - 2**0.5, 1.0, 1 + 2**0.5], "eigenvalues on 0, 0.75, 1.5", atol=1e-14)
    move = {"neighbour": lambda x, r: x + float(r.uniform(-1.5, 1.5))}
    hunted = kernels.hunt(_box, lambda r: float(spaced[r.integers(points)]), key=key, seconds=60, **move)
    yield at_most(hunted.value, 0.0, "c·Gc of the set found by moving the spaced points", strict=True)
    three_found = close(hunted.value, 1 - 2**0.5, "c·Gc of the three points found", atol=1e-12)
    yield three_found.given(len(hunted.points) == 3, "the certificate found has three points")
    sets = {"spaced": spaced, "0, 0.75, 1.5": three, "found": np.sort(hunted.points)}
    heights = {name: (line, np.full(len(line), i + 1.0)) for i, (name, line) in enumerate(sets.items())}
    spectra = {"spaced": (np.arange(points) + 1, np.ones(points)), "0, 0.75, 1.5": (np.arange(3) + 1, found)}
    zero = {"0": ("y", 0.0)}
    yield figure.beside(
        f"{points} spaced points pass; three closer ones have the eigenvalue {found[0]:.4f}",
        figure.curves("Three sets of points", "x", "set (1: spaced, 2: three, 3: found)", points=heights),
        figure.curves("Their spectra", "eigenvalue, from the least", "value", points=spectra, rules=zero),
    )


@instrument(sources=("penn",))
def gram_cost(
    key,
    points: Int(10, 10_000_000, log=True) = 1_000_000,
    features: Int(1, 1000, log=True) = 64,
    gigabytes: Real(0.1, 1000.0, log=True) = 8.0,
    precision: OneOf("float64", "float32") = "float64",
):
    r"""Memory and time of a Gram matrix.

    The Gram matrix of n points has n² numbers, which is 8 TB in double precision for a million points, or half of that
    by symmetry. A step takes O(n) operations with the matrix stored, O(nd) without, O(p) with p explicit features;
    what does not fit is refused, and a rank that does fit is suggested.

    $$\text{bytes} = 8 n^2, \qquad \text{step: } O(n), \; O(nd), \; O(p)$$

    Check: Predicted bytes are compared with arrays and operations with the compiler's count, and the plan for the
    given size is shown.
    """
    dtype, memory = np.dtype(precision), int(gigabytes * 1e9)
    sizes = np.array([100, 316, 1000, 3162, 10_000])
    arrays = [np.empty((n, n), dtype).nbytes for n in sizes]
    stated = [kernels.gram_cost_of(int(n), features, dtype=dtype).whole_bytes for n in sizes]
    yield exactly(stated, arrays, "bytes of the Gram matrix of 100 … 10⁴ points")
    million = kernels.gram_cost_of(10**6, features)
    single = kernels.gram_cost_of(10**6, features, dtype=np.float32)
    found, what = [million.entries, million.whole_bytes, single.whole_bytes], "a million points: entries, bytes"
    yield exactly(found, [10**12, 8 * 10**12, 4 * 10**12], f"{what} in double and in single precision")
    yield close(
        million.half_bytes / million.whole_bytes,
        0.5,
        "share of the bytes of a Gram matrix that symmetry leaves",
        rtol=2e-6,
    )
    predicted = [kernels.gram_cost_of(int(n), features).computed_step for n in (100, 1000, 10_000)]
    counted = [_counted_operations(int(n), features) for n in (100, 1000, 10_000)]
    ratio = np.array(counted) / np.array(predicted)
    yield at_most(np.maximum(ratio, 1 / ratio), 2.0, "operations of a step: the compiler's count against n (2d + 4)")
    cost = kernels.gram_cost_of(points, features, dtype=dtype)
    plan = kernels.choose_method(points, features, memory, dtype=dtype)
    fits = cost.whole_bytes <= memory
    yield exactly(
        plan.method, "exact" if fits else "features", "method chosen for this number of points and this memory"
    )
    yield at_most(plan.bytes, memory, "bytes of the method, against the memory")
    one_more = (plan.rank + 1) * points * dtype.itemsize
    full = at_least(one_more, memory, "bytes of the method with one feature more, against the memory")
    yield full.given(not fits, "the Gram matrix does not fit")
    refused = False
    try:
        require_gram(points, memory, dtype=dtype)
    except MemoryError:
        refused = True
    yield exactly(refused, not fits, "the Gram matrix is refused: it does not fit")
    cheaper = exactly(plan.step < cost.stored_step, plan.rank < points, "a step with features is cheaper: p < n")
    yield cheaper.given(not fits, "the Gram matrix does not fit")
    seconds = [_seconds(int(n), features) for n in sizes]
    per_operation = np.median([t / (n * (2 * features + 4)) for t, n in zip(seconds, sizes, strict=True)])
    n = np.geomspace(1e2, 1e7, 40)
    stored = {
        "Gram matrix": (n, n**2 * dtype.itemsize),
        "half of it": (n, n * (n + 1) / 2 * dtype.itemsize),
        "1000 features": (n, n * 1000 * dtype.itemsize),
    }
    taken = {
        "column computed: n (2d + 4)": (n, n * (2 * features + 4) * per_operation),
        "column stored: 2n": (n, 2 * n * per_operation),
        "1000 features": (n, np.full(len(n), 2000 * per_operation)),
    }
    held, timed = {"Gram matrix": (sizes, arrays)}, {"column computed: n (2d + 4)": (sizes, seconds)}
    full = {"memory": ("y", memory)}
    yield figure.beside(
        f"{points:g} points: {cost.whole_bytes / 1e9:.3g} GB; with {gigabytes:g} GB: {plan.method}, rank {plan.rank}",
        figure.curves("Memory", "points n", "bytes", lines=stored, points=held, rules=full, log="xy"),
        figure.curves("Processor time of one step", "points n", "seconds", lines=taken, points=timed, log="xy"),
    )


def _box(x, z):
    """1 where |x − z| < 1: symmetric, 1 on the diagonal, and not a kernel."""
    return np.where(np.abs(x - z) < 1, 1.0, 0.0)


def _step(x, z, scores):
    """One update of the scores by a column of the Gaussian Gram matrix, from squared norms at hand."""
    squares = 2.0 - 2.0 * (x @ z)
    return scores + jax.numpy.exp(-squares)


def _counted_operations(points: int, dim: int) -> float:
    shapes = [jax.ShapeDtypeStruct(s, np.float64) for s in ((points, dim), (dim,), (points,))]
    counts = jax.jit(_step).lower(*shapes).cost_analysis()
    return float(counts["flops"] + counts.get("transcendentals", 0.0))


def _seconds(points: int, dim: int) -> float:
    """Processor time of a step, the best of several: what else is running only adds to it."""
    x, scores = np.ones((points, dim)), np.zeros(points)
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        for _ in range(3):
            scores = scores + np.exp(2.0 * (x @ x[0]) - 2.0 * dim)
        best = min(best, (time.process_time() - start) / 3)
    return max(best, 1e-7)
